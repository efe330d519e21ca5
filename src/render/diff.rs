//! Unified diffs: coloured lines with their numbers, and the words by which they differ.

use similar::{ChangeTag, TextDiff};

use super::{Breaks, Carriage, Indent, Line, Role, Span, Style, clean, wrap};

/// Lines of one change beyond which words aren't compared: whoever rewrote that much rewrote it all.
const MOST_COMPARED: usize = 200;

/// A line of a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    /// What it is.
    pub kind: DiffKind,
    /// Its number: of a removed line in the old file, of any other in the new one.
    pub number: usize,
    /// Its text; the words by which a changed line differs are in a role of their own.
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

/// The lines of a unified diff, wrapped to `width`; headers of files are left out.
#[must_use]
pub fn diff(unified: &str, width: usize) -> Vec<Line> {
    let digits = digits(unified);
    diff_lines(unified).iter().flat_map(|line| line.wrapped(digits, width)).collect()
}

/// The lines of a unified diff; headers of files are left out.
#[must_use]
pub fn diff_lines(unified: &str) -> Vec<DiffLine> {
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

/// Columns of the largest line number.
fn digits(unified: &str) -> usize {
    let starts = unified.lines().filter_map(|line| line.strip_prefix("@@")).filter_map(starts);
    let largest = starts.map(|(old, new)| old.max(new)).max().unwrap_or(0) + unified.lines().count();
    largest.to_string().len().max(3)
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
            self.lines.push(DiffLine { kind: DiffKind::Gap, number: 0, spans: Vec::new() });
        }
        (self.old, self.new) = starts(hunk).unwrap_or((1, 1));
    }

    fn line(&mut self, line: &str) {
        let clean_rest = |rest| clean(rest, Carriage::Shown).into_owned();
        if let Some(rest) = line.strip_prefix('-') {
            if !self.change.added.is_empty() {
                self.flush();
            }
            self.change.removed.push(clean_rest(rest));
        } else if let Some(rest) = line.strip_prefix('+') {
            self.change.added.push(clean_rest(rest));
        } else if line.starts_with('\\') {
            // `\ No newline at end of file` belongs to the line above and says nothing about it that shows.
        } else {
            self.flush();
            let text = clean_rest(line.strip_prefix(' ').unwrap_or(line));
            self.push(DiffKind::Same, self.new, vec![Span::new(text, Role::Muted)]);
            self.old += 1;
            self.new += 1;
        }
    }

    /// Writes the lines of a change that were gathered: first what went, then what came.
    fn flush(&mut self) {
        let change = std::mem::take(&mut self.change);
        let (removed, added) = change.spans();
        for spans in removed {
            self.push(DiffKind::Removed, self.old, spans);
            self.old += 1;
        }
        for spans in added {
            self.push(DiffKind::Added, self.new, spans);
            self.new += 1;
        }
    }

    fn push(&mut self, kind: DiffKind, number: usize, spans: Vec<Span>) {
        self.lines.push(DiffLine { kind, number, spans });
    }
}

impl DiffLine {
    fn wrapped(&self, digits: usize, width: usize) -> Vec<Line> {
        let (sign, role) = match self.kind {
            DiffKind::Gap => return vec![Line::new(format!("{:>digits$}", "⋯"), Role::Muted)],
            DiffKind::Same => (' ', Role::Muted),
            DiffKind::Removed => ('-', Role::DiffRemoved),
            DiffKind::Added => ('+', Role::DiffAdded),
        };
        let gutter = vec![
            Span::new(format!("{:>digits$} ", self.number), Role::Muted),
            Span::new(format!("{sign} "), role),
        ];
        let rest = vec![Span::new(" ".repeat(digits + 3), Role::Muted)];
        let mut lines = wrap(&self.spans, width, &Indent { first: gutter, rest }, Breaks::Anywhere);
        // Numbers and signs are no part of the code.
        if let Some(first) = lines.first_mut() {
            first.margins.before = 2;
        }
        lines
    }
}

impl Change {
    /// The lines with the words marked by which they differ, when old and new stand side by side.
    fn spans(&self) -> (Vec<Vec<Span>>, Vec<Vec<Span>>) {
        let compared = !self.removed.is_empty()
            && !self.added.is_empty()
            && self.removed.len() + self.added.len() <= MOST_COMPARED;
        if !compared {
            let whole = |lines: &[String], role: Role| {
                lines.iter().map(|line| vec![Span::new(line.clone(), role)]).collect()
            };
            return (whole(&self.removed, Role::DiffRemoved), whole(&self.added, Role::DiffAdded));
        }
        let closed = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let (old, new) = (closed(&self.removed), closed(&self.added));
        let diff = TextDiff::from_lines(&old, &new);
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        for change in diff.ops().iter().flat_map(|op| diff.iter_inline_changes(op)) {
            let values: Vec<(bool, String)> =
                change.iter_strings_lossy().map(|(marked, text)| (marked, text.into_owned())).collect();
            if change.tag() != ChangeTag::Insert {
                removed.push(marked(&values, Role::DiffRemoved, Role::DiffRemovedWord));
            }
            if change.tag() != ChangeTag::Delete {
                added.push(marked(&values, Role::DiffAdded, Role::DiffAddedWord));
            }
        }
        (removed, added)
    }
}

fn marked(values: &[(bool, String)], line: Role, word: Role) -> Vec<Span> {
    let span = |(marked, text): &(bool, String)| {
        Span::new(text.trim_end_matches('\n'), Style::from(if *marked { word } else { line }))
    };
    values.iter().map(span).filter(|span| !span.text.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::texts;
    use super::*;

    const DIFF: &str = "--- a/x\n+++ b/x\n@@ -9,4 +9,4 @@ fn main\n let a = 1;\n-let b = 2;\n+let b = 3;\n }\n@@ -40 +40,2 @@\n+new\r\n end\n\\ No newline at end of file\n";

    #[test]
    fn every_line_has_its_number_and_its_sign() {
        assert_eq!(
            texts(&diff(DIFF, 40)),
            [
                "  9   let a = 1;",
                " 10 - let b = 2;",
                " 10 + let b = 3;",
                " 11   }",
                "  ⋯",
                " 40 + new␍",
                " 41   end"
            ]
        );
    }

    #[test]
    fn the_words_that_differ_are_marked() {
        let lines = diff(DIFF, 40);
        let words: Vec<&Span> = lines
            .iter()
            .flat_map(|line| &line.spans)
            .filter(|span| span.style.role == Role::DiffAddedWord)
            .collect();
        assert_eq!(words.iter().map(|span| span.text.as_str()).collect::<Vec<_>>(), ["3"]);
    }

    #[test]
    fn a_long_line_goes_on_below_itself() {
        let lines = diff("@@ -1 +1 @@\n+abcdefghij\n", 12);
        assert_eq!(texts(&lines), ["  1 + abcdef", "      ghij"]);
    }
}
