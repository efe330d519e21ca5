//! Diffs: colored lines with line numbers, marked changed words and highlighted code.

mod line;
mod words;

use super::code::{self, MAX_SYNC_BYTES};
use super::sanitize::with_source_marks;
use super::{
    BreakMode, ControlChars, Highlighter, Highlighting, Indent, Language, LayoutOptions, Line, Role, Span,
    sanitize, wrap,
};

use line::ChangedLines;
pub use line::{DiffKind, DiffLine};

/// Minimum width, in columns, for showing the line numbers of both sides.
const MIN_WIDTH_FOR_BOTH: usize = 90;

/// Renders a unified diff of the file at `path`, wrapped to the layout's width; file headers are omitted.
#[must_use]
pub fn diff(unified: &str, path: &str, options: impl Into<LayoutOptions>) -> Vec<Line> {
    let options = options.into();
    let lines = parse(unified, path, &options.rendering.code);
    let gutter = Gutter::new(&lines, options.width);
    lines.iter().flat_map(|line| line.wrapped(gutter, options.width)).collect()
}

/// Parses a unified diff of the file at `path`; file headers are omitted. Without a path its code isn't
/// highlighted.
#[must_use]
pub fn diff_lines(unified: &str, path: &str) -> Vec<DiffLine> {
    parse(unified, path, &Highlighting::Sync)
}

fn parse(unified: &str, path: &str, highlighting: &Highlighting) -> Vec<DiffLine> {
    let mut lines = parse_lines(unified);
    highlight_lines(&mut lines, path, highlighting);
    let is_content = |line: &&mut DiffLine| line.kind != DiffKind::Gap;
    for (line, source) in lines.iter_mut().filter(is_content).zip(sources(unified)) {
        line.spans = with_source_marks(std::mem::take(&mut line.spans), source);
    }
    lines
}

fn highlight_lines(lines: &mut [DiffLine], path: &str, highlighting: &Highlighting) {
    let language = Language::OfFile(path);
    if !code::is_code(language) {
        return;
    }
    let mut remaining_bytes = MAX_SYNC_BYTES;
    let mut highlight = |text: &str| match highlighting {
        Highlighting::Background(cache) => code::cached_lines(cache, text, language),
        Highlighting::Off => Vec::new(),
        Highlighting::Sync => {
            let mut highlighter = Highlighter::with_limit(language, remaining_bytes);
            let lines = text.lines().map(|line| Line::from(highlighter.line(line))).collect();
            remaining_bytes = highlighter.remaining_bytes();
            lines
        }
    };
    for hunk in lines.split_mut(|line| line.kind == DiffKind::Gap) {
        words::highlight_hunk(hunk, &mut highlight);
    }
}

/// Iterates over the content lines of a unified diff, as in the files.
fn sources(unified: &str) -> impl Iterator<Item = &str> {
    let hunks = unified.split_terminator('\n').skip_while(|line| !line.starts_with("@@"));
    let lines = hunks.filter(|line| !line.starts_with("@@") && !line.starts_with('\\'));
    lines.map(|line| line.strip_prefix(['+', '-', ' ']).unwrap_or(line))
}

fn parse_lines(unified: &str) -> Vec<DiffLine> {
    let mut parser = DiffParser { old: 1, new: 1, lines: Vec::new(), change: ChangedLines::default() };
    let mut in_hunk = false;
    for line in unified.split_terminator('\n') {
        if let Some(hunk) = line.strip_prefix("@@") {
            parser.hunk(hunk);
            in_hunk = true;
        } else if in_hunk {
            parser.line(line);
        }
    }
    parser.flush();
    parser.lines
}

struct DiffParser {
    old: usize,
    new: usize,
    lines: Vec<DiffLine>,
    change: ChangedLines,
}

/// Parses the first line numbers of a hunk from ` -12,3 +14,2 @@`.
fn hunk_starts(hunk: &str) -> Option<(usize, usize)> {
    let mut words = hunk.split_whitespace();
    let mut start = |sign| words.next()?.strip_prefix(sign)?.split(',').next()?.parse().ok();
    Some((start('-')?, start('+')?))
}

impl DiffParser {
    fn hunk(&mut self, hunk: &str) {
        self.flush();
        if !self.lines.is_empty() {
            self.gap("");
        }
        (self.old, self.new) = hunk_starts(hunk).unwrap_or((1, 1));
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
        } else if let Some(note) = line.strip_prefix('\\') {
            // "No newline at end of file" is about the line above and isn't shown.
            if !note.starts_with(" No newline") {
                self.flush();
                self.gap(&clean_rest(note.trim()));
            }
        } else {
            self.flush();
            let text = clean_rest(line.strip_prefix(' ').unwrap_or(line));
            self.push(DiffKind::Same, vec![Span::new(text, Role::Muted)]);
        }
    }

    /// Writes the collected lines of a change, removed ones first.
    fn flush(&mut self) {
        let (removed, added) = words::mark_lines(&std::mem::take(&mut self.change));
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

    fn gap(&mut self, reason: &str) {
        let spans = if reason.is_empty() { Vec::new() } else { vec![Span::new(reason, Role::Muted)] };
        self.lines.push(DiffLine { kind: DiffKind::Gap, old: None, new: None, spans });
    }
}

/// The layout of line numbers.
#[derive(Clone, Copy)]
struct Gutter {
    /// Number of digits of the largest line number.
    digits: usize,
    sides: LineNumberColumns,
}

/// The sides whose line numbers are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineNumberColumns {
    /// One number: the old file's for a removed line, otherwise the new file's.
    One,
    Both,
}

impl Gutter {
    fn new(lines: &[DiffLine], width: usize) -> Self {
        let numbers = lines.iter().flat_map(|line| [line.old, line.new]).flatten();
        let digits = numbers.max().unwrap_or(0).to_string().len().max(3);
        // The lines of a new file have numbers only on one side.
        let has_both =
            lines.iter().any(|line| line.old.is_some()) && lines.iter().any(|line| line.new.is_some());
        let sides = if has_both && width >= MIN_WIDTH_FOR_BOTH {
            LineNumberColumns::Both
        } else {
            LineNumberColumns::One
        };
        Self { digits, sides }
    }

    fn numbers(self, line: &DiffLine) -> String {
        let digits = self.digits;
        let number = |number: Option<usize>| number.map(|number| number.to_string()).unwrap_or_default();
        match self.sides {
            LineNumberColumns::One => format!("{:>digits$} ", number(line.number())),
            LineNumberColumns::Both => {
                format!("{:>digits$} {:>digits$} ", number(line.old), number(line.new))
            }
        }
    }

    const fn width(self) -> usize {
        match self.sides {
            LineNumberColumns::One => self.digits + 1,
            LineNumberColumns::Both => 2 * self.digits + 2,
        }
    }
}

impl DiffLine {
    /// Returns the line number: in the old file for a removed line, otherwise in the new one; `None` for a
    /// gap.
    #[must_use]
    pub fn number(&self) -> Option<usize> {
        self.new.or(self.old)
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
        let mut lines = wrap(&self.spans, width, &Indent { first, rest }, BreakMode::Anywhere);
        // The numbers and the sign aren't part of the code.
        if let Some(first) = lines.first_mut() {
            first.margins.before = 2;
        }
        lines
    }

    fn gap_line(&self, gutter: Gutter) -> Line {
        let digits = gutter.digits;
        let reason = self.text();
        let reason = if reason.is_empty() { reason } else { format!(" {reason}") };
        Line::new(format!("{:>digits$}{reason}", "⋯"), Role::Muted)
    }
}

#[cfg(test)]
mod tests;
