//! Finds the text to replace, exactly or approximately, and replaces only that text. Pure.
//!
//! Models often get line ends, trailing spaces, and typographic quotes, dashes and spaces wrong. If the exact text
//! isn't found, these are treated as equal; all bytes outside the replaced text are kept.

use std::ops::Range;

use similar::TextDiff;

/// Maximum number of lines that are compared to find the closest one for a hint, and of characters of each.
const HINT_LINES: usize = 5_000;
const HINT_CHARS: usize = 200;

/// Minimum similarity of a line for a hint; 1 is equal.
const HINT_RATIO: f32 = 0.6;

/// A replacement to make.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edit<'a> {
    pub old: &'a str,
    pub new: &'a str,
    /// True to replace all occurrences instead of the only one.
    pub replace_all: bool,
}

/// The tolerance with which the old text matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fidelity {
    /// Byte for byte.
    Exact,
    /// Except for line ends, `\n` or `\r\n`.
    LineEnds,
    /// Also except for trailing spaces, and the form of quotes, dashes and spaces.
    Similar,
}

/// A text after the replacement.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Edited {
    pub text: String,
    pub fidelity: Fidelity,
    /// The number of replaced occurrences.
    pub count: usize,
    /// The line of the first occurrence, counted from 1.
    pub line: usize,
}

/// The reason why a replacement can't be made.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Problem {
    Missing { hint: Option<String> },
    Ambiguous { lines: Vec<usize> },
}

impl Problem {
    /// Describes the problem in a sentence for the model.
    pub(super) fn describe(&self, display_path: &str) -> String {
        match self {
            Self::Missing { hint: None } => format!("old_text is not in {display_path}; read the file again"),
            Self::Missing { hint: Some(hint) } => format!("old_text is not in {display_path}; {hint}"),
            Self::Ambiguous { lines } => {
                let numbers: Vec<String> = lines.iter().take(10).map(usize::to_string).collect();
                let more = if lines.len() > 10 { ", …" } else { "" };
                format!(
                    "old_text is in {display_path} {} times (lines {}{more}); add the lines around the one you mean, or set \
                     replace_all",
                    lines.len(),
                    numbers.join(", "),
                )
            }
        }
    }
}

impl Edit<'_> {
    /// Makes the replacement.
    pub(super) fn apply(self, text: &str) -> Result<Edited, Problem> {
        for fidelity in [Fidelity::Exact, Fidelity::LineEnds, Fidelity::Similar] {
            let places = find(text, self.old, fidelity);
            if places.len() > 1 && !self.replace_all {
                let lines = places.iter().map(|range| line_at(text, range.start)).collect();
                return Err(Problem::Ambiguous { lines });
            }
            if let Some(first) = places.first() {
                let line = line_at(text, first.start);
                return Ok(Edited {
                    text: self.replace(text, &places, fidelity),
                    fidelity,
                    count: places.len(),
                    line,
                });
            }
        }
        Err(Problem::Missing { hint: hint(text, self.old) })
    }

    fn replace(self, text: &str, places: &[Range<usize>], fidelity: Fidelity) -> String {
        let mut replaced = String::with_capacity(text.len() + self.new.len());
        let mut at = 0;
        for range in places {
            replaced.push_str(&text[at..range.start]);
            replaced.push_str(&self.new_text(text, range, fidelity));
            at = range.end;
        }
        replaced.push_str(&text[at..]);
        replaced
    }

    /// Returns the new text with the line ends that the file has at that position.
    fn new_text(self, text: &str, range: &Range<usize>, fidelity: Fidelity) -> String {
        // An old text with a `\r` is about the line ends themselves.
        if fidelity == Fidelity::Exact && self.old.contains('\r') {
            return self.new.to_owned();
        }
        let new = self.new.replace("\r\n", "\n");
        if ends_with_crlf_at(text, range) { new.replace('\n', "\r\n") } else { new }
    }
}

fn line_at(text: &str, at: usize) -> usize {
    memchr::memchr_iter(b'\n', &text.as_bytes()[..at]).count() + 1
}

/// Returns true if lines at a position end with `\r\n`: the first line end in it, after it, or before it decides.
fn ends_with_crlf_at(text: &str, range: &Range<usize>) -> bool {
    let after = text[range.start..].find('\n').map(|at| range.start + at);
    let newline = after.or_else(|| text[..range.start].rfind('\n'));
    newline.is_some_and(|at| text[..at].ends_with('\r'))
}

fn find(text: &str, old: &str, fidelity: Fidelity) -> Vec<Range<usize>> {
    if fidelity == Fidelity::Exact {
        return text.match_indices(old).map(|(at, found)| at..at + found.len()).collect();
    }
    let (haystack, needle) = (Folded::new(text, fidelity), Folded::new(old, fidelity));
    if needle.text.trim().is_empty() {
        return Vec::new();
    }
    let dropped_spaces = fidelity == Fidelity::Similar && old.ends_with([' ', '\t']);
    haystack
        .text
        .match_indices(&needle.text)
        .map(|(at, found)| at..at + found.len())
        // A trailing space that was dropped from the old text still means that the word ends there.
        .filter(|range| {
            !dropped_spaces || matches!(haystack.text[range.end..].chars().next(), None | Some('\n'))
        })
        .map(|range| haystack.original(&range))
        .collect()
}

/// A normalized text, with the positions in the original.
struct Folded {
    text: String,
    /// For each character: its start in `text`, and its range in the original.
    spans: Vec<(usize, Range<usize>)>,
}

impl Folded {
    fn new(original: &str, fidelity: Fidelity) -> Self {
        let mut folded = Self { text: String::with_capacity(original.len()), spans: Vec::new() };
        let mut start = 0;
        for line in original.split_inclusive('\n') {
            let body = line.strip_suffix('\n').unwrap_or(line);
            let body = body.strip_suffix('\r').filter(|_| line.ends_with('\n')).unwrap_or(body);
            let content = if fidelity == Fidelity::Similar { body.trim_end() } else { body };
            for (at, c) in content.char_indices() {
                let span = start + at..start + at + c.len_utf8();
                folded.push(if fidelity == Fidelity::Similar { fold(c) } else { c }, span);
            }
            if line.ends_with('\n') {
                folded.push('\n', start + body.len()..start + line.len());
            }
            start += line.len();
        }
        folded
    }

    fn push(&mut self, c: char, span: Range<usize>) {
        self.spans.push((self.text.len(), span));
        self.text.push(c);
    }

    fn original(&self, range: &Range<usize>) -> Range<usize> {
        let first = self.spans.partition_point(|(at, _)| *at < range.start);
        let last = self.spans.partition_point(|(at, _)| *at < range.end) - 1;
        self.spans[first].1.start..self.spans[last].1.end
    }
}

/// Returns the plain form of a typographic character.
fn fold(c: char) -> char {
    match c {
        '\u{2018}'..='\u{201b}' | '\u{2032}' => '\'',
        '\u{201c}'..='\u{201f}' | '\u{2033}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        c => c,
    }
}

/// Returns a hint at the probable position: the line most similar to the first line of the old text.
fn hint(text: &str, old: &str) -> Option<String> {
    let first_line = old.lines().map(str::trim).find(|line| !line.is_empty())?;
    let lines = || text.lines().enumerate().take(HINT_LINES).map(|(index, line)| (index + 1, line.trim()));
    if let Some((number, _)) = lines().find(|(_, line)| *line == first_line) {
        return Some(format!(
            "its first line is line {number}, but then the texts differ; read the file there"
        ));
    }
    let first_line = truncate(first_line);
    let ratio = |line: &str| TextDiff::from_chars(first_line, truncate(line)).ratio();
    let similar =
        lines().filter(|(_, line)| !line.is_empty()).map(|(number, line)| (ratio(line), number, line));
    let (ratio, number, line) = similar.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (ratio >= HINT_RATIO)
        .then(|| format!("the closest to its first line is line {number}: `{}`", truncate(line)))
}

fn truncate(line: &str) -> &str {
    line.char_indices().nth(HINT_CHARS).map_or(line, |(at, _)| &line[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(text: &str, old: &str, new: &str) -> Result<(String, Fidelity), String> {
        let edited = Edit { old, new, replace_all: false }.apply(text);
        edited.map(|edited| (edited.text, edited.fidelity)).map_err(|problem| problem.describe("f"))
    }

    #[test]
    fn apply_exact_or_similar_text_replaces_only_it() {
        for (text, old, new, expected, fidelity) in [
            ("a\nb\nc\n", "b\n", "x\ny\n", "a\nx\ny\nc\n", Fidelity::Exact),
            ("a\r\nb\r\nc", "b", "x\ny", "a\r\nx\r\ny\r\nc", Fidelity::Exact),
            ("a\r\nb\r\nc", "a\nb", "x\ny\nz", "x\r\ny\r\nz\r\nc", Fidelity::LineEnds),
            ("a\nb\nc", "a\r\nb", "x\r\ny", "x\ny\nc", Fidelity::LineEnds),
            ("a\r\nb\r\n", "a\r\nb\r\n", "a\nb\n", "a\nb\n", Fidelity::Exact),
            ("a\nb\r\nc\n", "b", "x\ny", "a\nx\r\ny\r\nc\n", Fidelity::Exact),
            ("\u{feff}a\nb", "a\n", "x\n", "\u{feff}x\nb", Fidelity::Exact),
            ("a  \nb \nc  \n", "a\nb", "x", "x \nc  \n", Fidelity::Similar),
            ("say “hi” – now", "say \"hi\" - now", "x", "x", Fidelity::Similar),
            ("ä “b” ö", "\"b\"", "x", "ä x ö", Fidelity::Similar),
            ("a\nfoo\nbar", "foo  ", "x", "a\nx\nbar", Fidelity::Similar),
        ] {
            assert_eq!(apply(text, old, new), Ok((expected.into(), fidelity)), "{text:?} {old:?}");
        }
    }

    #[test]
    fn apply_ambiguous_or_missing_text_is_explained() {
        let ambiguous = "old_text is in f 2 times (lines 1, 3); add the lines around the one you mean, or set replace_all";
        let hint = "old_text is not in f; the closest to its first line is line 2: `let total = 1;`";
        let differs =
            "old_text is not in f; its first line is line 2, but then the texts differ; read the file there";
        for (text, old, expected) in [
            ("a\nb\na\n", "a", ambiguous),
            ("“q”\nb\n“q”\n", "\"q\"", ambiguous),
            ("fn main() {\n  let total = 1;\n}", "let totals = 1;", hint),
            ("{\n  x = 1\n}", "x = 1\ny = 2", differs),
            ("foobar", "foo ", "old_text is not in f; the closest to its first line is line 1: `foobar`"),
            ("a\n\n\nb", "zzz", "old_text is not in f; read the file again"),
        ] {
            assert_eq!(apply(text, old, "new"), Err(expected.into()), "{text:?} {old:?}");
        }
    }

    #[test]
    fn apply_replace_all_replaces_every_place() {
        let edited = Edit { old: "a", new: "bb", replace_all: true }.apply("x\na a\na").unwrap();
        assert_eq!(
            edited,
            Edited { text: "x\nbb bb\nbb".into(), fidelity: Fidelity::Exact, count: 3, line: 2 }
        );
    }
}
