//! Diffs: coloured lines with their numbers, the words by which they differ, and their code highlighted.

mod words;

use super::code::{self, MOST_OF_AN_ANSWER};
use super::sanitize::sourced;
use super::{
    Breaks, ControlChars, Highlighter, Highlighting, Indent, Language, LayoutOptions, Line, Role, Span,
    sanitize, wrap,
};

/// Columns of a page that has room for the numbers of both sides.
const ROOM_FOR_BOTH: usize = 90;

/// A line of a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    /// What it is.
    pub kind: DiffKind,
    /// Its number in the old file, if it is there.
    pub old: Option<usize>,
    /// Its number in the new file, if it is there.
    pub new: Option<usize>,
    /// Its text; the words by which a changed line differs are in a role of their own. Of a gap, why something is left out, if
    /// that is known.
    pub spans: Vec<Span>,
}

/// What a line of a diff is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffKind {
    /// In both files.
    Same,
    /// In the old file.
    Removed,
    /// In the new file.
    Added,
    /// A stretch that is left out.
    Gap,
}

/// The lines of a unified diff of the file at `path`, wrapped to a page; headers of files are left out.
#[must_use]
pub fn diff(unified: &str, path: &str, page: impl Into<LayoutOptions>) -> Vec<Line> {
    let page = page.into();
    let lines = told(unified, path, page.manner.code);
    let gutter = Gutter::of(&lines, page.width);
    lines.iter().flat_map(|line| line.wrapped(gutter, page.width)).collect()
}

/// The lines of a unified diff of the file at `path`; headers of files are left out. Without a path its code isn't told apart.
#[must_use]
pub fn diff_lines(unified: &str, path: &str) -> Vec<DiffLine> {
    told(unified, path, Highlighting::Sync)
}

fn told(unified: &str, path: &str, telling: Highlighting) -> Vec<DiffLine> {
    let mut lines = read(unified);
    tell_words(&mut lines, path, telling);
    let is_there = |line: &&mut DiffLine| line.kind != DiffKind::Gap;
    for (line, source) in lines.iter_mut().filter(is_there).zip(sources(unified)) {
        line.spans = sourced(std::mem::take(&mut line.spans), source);
    }
    lines
}

fn tell_words(lines: &mut [DiffLine], path: &str, telling: Highlighting) {
    let language = Language::OfFile(path);
    if !code::is_code(language) {
        return;
    }
    let mut left = MOST_OF_AN_ANSWER;
    let mut highlight = |text: &str| match telling {
        Highlighting::Background => code::told_later(text, language),
        Highlighting::Off => Vec::new(),
        Highlighting::Sync => {
            let mut highlighter = Highlighter::limited(language, left);
            let lines = text.lines().map(|line| Line::from(highlighter.line(line))).collect();
            left = highlighter.left();
            lines
        }
    };
    for hunk in lines.split_mut(|line| line.kind == DiffKind::Gap) {
        words::tell(hunk, &mut highlight);
    }
}

/// The lines of a unified diff that are lines of its files, as these have them.
fn sources(unified: &str) -> impl Iterator<Item = &str> {
    let hunks = unified.split_terminator('\n').skip_while(|line| !line.starts_with("@@"));
    let lines = hunks.filter(|line| !line.starts_with("@@") && !line.starts_with('\\'));
    lines.map(|line| line.strip_prefix(['+', '-', ' ']).unwrap_or(line))
}

fn read(unified: &str) -> Vec<DiffLine> {
    let mut writer = Writer { old: 1, new: 1, lines: Vec::new(), change: Change::default() };
    let mut in_hunk = false;
    for line in unified.split_terminator('\n') {
        if let Some(hunk) = line.strip_prefix("@@") {
            writer.hunk(hunk);
            in_hunk = true;
        } else if in_hunk {
            writer.line(line);
        }
    }
    writer.flush();
    writer.lines
}

#[derive(Default)]
struct Change {
    removed: Vec<String>,
    added: Vec<String>,
}

struct Writer {
    old: usize,
    new: usize,
    lines: Vec<DiffLine>,
    change: Change,
}

/// First line numbers of a hunk: from ` -12,3 +14,2 @@`.
fn starts(hunk: &str) -> Option<(usize, usize)> {
    let mut words = hunk.split_whitespace();
    let mut start = |sign| words.next()?.strip_prefix(sign)?.split(',').next()?.parse().ok();
    Some((start('-')?, start('+')?))
}

impl Writer {
    fn hunk(&mut self, hunk: &str) {
        self.flush();
        if !self.lines.is_empty() {
            self.gap("");
        }
        (self.old, self.new) = starts(hunk).unwrap_or((1, 1));
    }

    fn line(&mut self, line: &str) {
        let clean_rest = |rest| sanitize(rest, ControlChars::Visible).into_owned();
        if let Some(rest) = line.strip_prefix('-') {
            if !self.change.added.is_empty() {
                self.flush();
            }
            self.change.removed.push(clean_rest(rest));
        } else if let Some(rest) = line.strip_prefix('+') {
            self.change.added.push(clean_rest(rest));
        } else if let Some(remark) = line.strip_prefix('\\') {
            // That a last line has no end belongs to the line above and says nothing about it that shows.
            if !remark.starts_with(" No newline") {
                self.flush();
                self.gap(&clean_rest(remark.trim()));
            }
        } else {
            self.flush();
            let text = clean_rest(line.strip_prefix(' ').unwrap_or(line));
            self.push(DiffKind::Same, vec![Span::new(text, Role::Muted)]);
        }
    }

    /// Writes the lines of a change that were gathered: first what went, then what came.
    fn flush(&mut self) {
        let (removed, added) = words::marked_lines(&std::mem::take(&mut self.change));
        removed.into_iter().for_each(|spans| self.push(DiffKind::Removed, spans));
        added.into_iter().for_each(|spans| self.push(DiffKind::Added, spans));
    }

    fn push(&mut self, kind: DiffKind, spans: Vec<Span>) {
        let take = |number: &mut usize| {
            *number = number.saturating_add(1);
            *number - 1
        };
        let old = (kind != DiffKind::Added).then(|| take(&mut self.old));
        let new = (kind != DiffKind::Removed).then(|| take(&mut self.new));
        self.lines.push(DiffLine { kind, old, new, spans });
    }

    fn gap(&mut self, why: &str) {
        let spans = if why.is_empty() { Vec::new() } else { vec![Span::new(why, Role::Muted)] };
        self.lines.push(DiffLine { kind: DiffKind::Gap, old: None, new: None, spans });
    }
}

/// How numbers stand before the lines.
#[derive(Clone, Copy)]
struct Gutter {
    /// Columns of the largest.
    digits: usize,
    sides: Sides,
}

/// Whose numbers are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sides {
    /// The line's own: of a removed line the old file's, of any other the new one's.
    Own,
    Both,
}

impl Gutter {
    fn of(lines: &[DiffLine], width: usize) -> Self {
        let numbers = lines.iter().flat_map(|line| [line.old, line.new]).flatten();
        let digits = numbers.max().unwrap_or(0).to_string().len().max(3);
        // Of a new file one side has no numbers at all.
        let has_both =
            lines.iter().any(|line| line.old.is_some()) && lines.iter().any(|line| line.new.is_some());
        let sides = if has_both && width >= ROOM_FOR_BOTH { Sides::Both } else { Sides::Own };
        Self { digits, sides }
    }

    fn numbers(self, line: &DiffLine) -> String {
        let digits = self.digits;
        let number = |number: Option<usize>| number.map(|number| number.to_string()).unwrap_or_default();
        match self.sides {
            Sides::Own => format!("{:>digits$} ", number(line.number())),
            Sides::Both => format!("{:>digits$} {:>digits$} ", number(line.old), number(line.new)),
        }
    }

    const fn width(self) -> usize {
        match self.sides {
            Sides::Own => self.digits + 1,
            Sides::Both => 2 * self.digits + 2,
        }
    }
}

impl DiffLine {
    /// Its number: of a removed line in the old file, of any other in the new one; a gap has none.
    #[must_use]
    pub fn number(&self) -> Option<usize> {
        self.new.or(self.old)
    }

    fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    fn wrapped(&self, gutter: Gutter, width: usize) -> Vec<Line> {
        let (sign, role) = match self.kind {
            DiffKind::Gap => return vec![self.gap_line(gutter)],
            DiffKind::Same => (' ', Role::Muted),
            DiffKind::Removed => ('-', Role::DiffRemoved),
            DiffKind::Added => ('+', Role::DiffAdded),
        };
        let first = vec![Span::new(gutter.numbers(self), Role::Muted), Span::new(format!("{sign} "), role)];
        let rest = vec![Span::new(" ".repeat(gutter.width() + 2), Role::Muted)];
        let mut lines = wrap(&self.spans, width, &Indent { first, rest }, Breaks::Anywhere);
        // Numbers and signs are no part of the code.
        if let Some(first) = lines.first_mut() {
            first.margins.before = 2;
        }
        lines
    }

    fn gap_line(&self, gutter: Gutter) -> Line {
        let digits = gutter.digits;
        let why = self.text();
        let why = if why.is_empty() { why } else { format!(" {why}") };
        Line::new(format!("{:>digits$}{why}", "⋯"), Role::Muted)
    }
}

#[cfg(test)]
mod tests;
