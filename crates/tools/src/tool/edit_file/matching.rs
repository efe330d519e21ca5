//! Finds the text to replace, exactly or approximately, and replaces only that text. Pure.
//!
//! Models often get line endings, trailing spaces, typographic quotes, dashes and spaces, and the Unicode
//! normalization wrong. If the exact text isn't found, these differences are ignored; all bytes outside the
//! replaced text are kept. Several edits are all matched against the original text, and must not overlap.

use std::ops::Range;

use icu_normalizer::ComposingNormalizerBorrowed;
use similar::TextDiff;
use unicode_segmentation::UnicodeSegmentation as _;

/// Maximum number of lines that are compared to find the closest one for a hint, and maximum length of each
/// line in characters.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fidelity {
    /// Byte for byte.
    Exact,
    /// Except for line endings, `
    /// ` or `\r
    /// `.
    LineEnds,
    /// Also except for trailing spaces, the form of quotes, dashes and spaces, and the normalization of accents.
    Similar,
}

/// A text after the replacements.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EditedText {
    pub text: String,
    /// The lowest tolerance with which every `old_text` matched.
    pub fidelity: Fidelity,
    /// The number of replaced occurrences.
    pub count: usize,
    /// The line of the first occurrence, counted from 1.
    pub line: usize,
}

/// The edit that can't be made, and the reason.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FailedEdit {
    /// The index of the edit.
    pub index: usize,
    pub problem: EditProblem,
}

/// The reason a replacement can't be made.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum EditProblem {
    Missing {
        hint: Option<String>,
    },
    Ambiguous {
        lines: Vec<usize>,
    },
    /// The text is also part of an earlier edit, which starts at this line.
    Overlapping {
        line: usize,
    },
}

impl EditProblem {
    /// Describes the problem in a sentence for the model.
    pub(super) fn describe(&self, display_path: &str) -> String {
        match self {
            Self::Missing { hint: None } => format!("old_text is not in {display_path}; read the file again"),
            Self::Missing { hint: Some(hint) } => format!("old_text is not in {display_path}; {hint}"),
            Self::Ambiguous { lines } => {
                let numbers: Vec<String> = lines.iter().take(10).map(usize::to_string).collect();
                let more = if lines.len() > 10 { ", …" } else { "" };
                format!(
                    "old_text is in {display_path} {} times (lines {}{more}); include surrounding lines to make it unique, \
                     or set replace_all",
                    lines.len(),
                    numbers.join(", "),
                )
            }
            Self::Overlapping { line } => format!(
                "old_text overlaps with another edit at line {line} of {display_path}; combine the two edits"
            ),
        }
    }
}

/// The new text for a range of the original.
struct TextReplacement {
    range: Range<usize>,
    text: String,
    /// The index of the edit.
    index: usize,
}

/// Makes all replacements, each matched against the original text.
pub(super) fn apply(edits: &[Edit<'_>], text: &str) -> Result<EditedText, FailedEdit> {
    let (mut replacements, mut fidelity) = (Vec::new(), Fidelity::Exact);
    for (index, edit) in edits.iter().enumerate() {
        let (ranges, found) = edit.find(text).map_err(|problem| FailedEdit { index, problem })?;
        fidelity = fidelity.max(found);
        replacements.extend(ranges.into_iter().map(|range| {
            let text = edit.new_text(text, &range, found);
            TextReplacement { range, text, index }
        }));
    }
    replacements.sort_by_key(|replacement| replacement.range.start);
    if let Some([first, second]) = replacements.array_windows().find(|[a, b]| a.range.end > b.range.start) {
        let (index, line) = (first.index.max(second.index), line_at(text, first.range.start));
        return Err(FailedEdit { index, problem: EditProblem::Overlapping { line } });
    }
    let line = replacements.first().map_or(1, |first| line_at(text, first.range.start));
    Ok(EditedText { text: replace(text, &replacements), fidelity, count: replacements.len(), line })
}

fn replace(text: &str, replacements: &[TextReplacement]) -> String {
    let (mut replaced, mut at) = (String::with_capacity(text.len()), 0);
    for replacement in replacements {
        replaced.push_str(&text[at..replacement.range.start]);
        replaced.push_str(&replacement.text);
        at = replacement.range.end;
    }
    replaced.push_str(&text[at..]);
    replaced
}

impl Edit<'_> {
    /// Finds the text to replace.
    fn find(self, text: &str) -> Result<(Vec<Range<usize>>, Fidelity), EditProblem> {
        for fidelity in [Fidelity::Exact, Fidelity::LineEnds, Fidelity::Similar] {
            let places = find(text, self.old, fidelity);
            if places.len() > 1 && !self.replace_all {
                let lines = places.iter().map(|range| line_at(text, range.start)).collect();
                return Err(EditProblem::Ambiguous { lines });
            }
            if !places.is_empty() {
                return Ok((places, fidelity));
            }
        }
        Err(EditProblem::Missing { hint: hint(text, self.old) })
    }

    /// Returns the new text with the file's line endings at that position.
    fn new_text(self, text: &str, range: &Range<usize>, fidelity: Fidelity) -> String {
        // An old text with a `\r` is about the line endings themselves.
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

/// Returns true if lines at a position end with `\r
/// `, according to the first line ending in it, after it, or before it.
fn ends_with_crlf_at(text: &str, range: &Range<usize>) -> bool {
    let after = text[range.start..].find('\n').map(|at| range.start + at);
    let newline = after.or_else(|| text[..range.start].rfind('\n'));
    newline.is_some_and(|at| text[..at].ends_with('\r'))
}

fn find(text: &str, old: &str, fidelity: Fidelity) -> Vec<Range<usize>> {
    if fidelity == Fidelity::Exact {
        return text.match_indices(old).map(|(at, found)| at..at + found.len()).collect();
    }
    let (haystack, needle) = (NormalizedText::new(text, fidelity), NormalizedText::new(old, fidelity));
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
struct NormalizedText {
    text: String,
    /// For each character: its start in `text`, and its range in the original.
    spans: Vec<(usize, Range<usize>)>,
}

impl NormalizedText {
    fn new(original: &str, fidelity: Fidelity) -> Self {
        let mut folded = Self { text: String::with_capacity(original.len()), spans: Vec::new() };
        let mut start = 0;
        for line in original.split_inclusive('\n') {
            let body = line.strip_suffix('\n').unwrap_or(line);
            let body = body.strip_suffix('\r').filter(|_| line.ends_with('\n')).unwrap_or(body);
            let content = if fidelity == Fidelity::Similar { body.trim_end() } else { body };
            if fidelity == Fidelity::Similar {
                folded.push_similar(content, start);
            } else {
                let spans = content.char_indices().map(|(at, c)| (c, start + at..start + at + c.len_utf8()));
                spans.for_each(|(c, span)| folded.push(c, span));
            }
            if line.ends_with('\n') {
                folded.push('\n', start + body.len()..start + line.len());
            }
            start += line.len();
        }
        folded
    }

    /// Adds a string in its plain form; accents are composed with their letters.
    fn push_similar(&mut self, content: &str, start: usize) {
        let normalizer = ComposingNormalizerBorrowed::new_nfc();
        for (at, grapheme) in content.grapheme_indices(true) {
            let span = start + at..start + at + grapheme.len();
            if grapheme.is_ascii() {
                grapheme.chars().for_each(|c| self.push(c, span.clone()));
            } else {
                normalizer.normalize(grapheme).chars().for_each(|c| self.push(fold(c), span.clone()));
            }
        }
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

/// Returns a hint about the probable position: the line most similar to the first line of the old text.
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
        let edited = super::apply(&[Edit { old, new, replace_all: false }], text);
        edited.map(|edited| (edited.text, edited.fidelity)).map_err(|failed| failed.problem.describe("f"))
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
            ("let cafe\u{301} = 1", "café", "x", "let x = 1", Fidelity::Similar),
            ("le café", "cafe\u{301}", "x", "le x", Fidelity::Similar),
        ] {
            assert_eq!(apply(text, old, new), Ok((expected.into(), fidelity)), "{text:?} {old:?}");
        }
    }

    #[test]
    fn apply_ambiguous_or_missing_text_is_explained() {
        let ambiguous = "old_text is in f 2 times (lines 1, 3); include surrounding lines to make it unique, or set replace_all";
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
        let edited = super::apply(&[Edit { old: "a", new: "bb", replace_all: true }], "x\na a\na").unwrap();
        assert_eq!(
            edited,
            EditedText { text: "x\nbb bb\nbb".into(), fidelity: Fidelity::Exact, count: 3, line: 2 }
        );
    }

    fn edit<'a>(old: &'a str, new: &'a str) -> Edit<'a> {
        Edit { old, new, replace_all: false }
    }

    #[test]
    fn apply_several_edits_match_the_original() {
        let edited = super::apply(&[edit("c\n", "a\n"), edit("a\n", "c\n")], "a\nb\nc\n").unwrap();
        assert_eq!((edited.text.as_str(), edited.line, edited.count), ("c\nb\na\n", 1, 2));
        let second = |edits: &[Edit<'_>]| super::apply(edits, "one two\nthree\n").unwrap_err();
        let missing = second(&[edit("one", "1"), edit("four", "4")]);
        assert_eq!((missing.index, missing.problem), (1, EditProblem::Missing { hint: None }));
        let overlapping = second(&[edit("two\nthree", "x"), edit("one two", "y")]);
        assert_eq!((overlapping.index, overlapping.problem), (1, EditProblem::Overlapping { line: 1 }));
    }
}
