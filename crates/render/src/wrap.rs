//! Wraps styled text by graphemes and their widths.

use std::sync::Arc;

use tiller_core::ansi::grapheme_width;
use unicode_segmentation::UnicodeSegmentation;

use super::{Line, Margins, Span, Style, Wrap};

/// The spans before the lines of a wrapped text.
#[derive(Clone, Debug, Default)]
pub struct Indent {
    /// Before the first line.
    pub first: Vec<Span>,
    /// Before every other line.
    pub rest: Vec<Span>,
}

impl Indent {
    /// Uses the same spans for every line.
    #[must_use]
    pub fn all(spans: Vec<Span>) -> Self {
        Self { first: spans.clone(), rest: spans }
    }
}

/// The positions at which a line may be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakMode {
    /// Between words, or inside a word that is wider than the line.
    Words,
    /// Anywhere, keeping every space: for code and output.
    Anywhere,
}

struct GraphemeCell<'a> {
    text: &'a str,
    width: usize,
    style: Style,
    link: Option<&'a Arc<str>>,
}

/// Wraps `spans` into lines of at most `width` columns, including indents. A newline in the text ends a line
/// too. There is at least one line, and every line of nonempty text has at least one grapheme, however narrow
/// the width.
#[must_use]
pub fn wrap(spans: &[Span], width: usize, indent: &Indent, breaks: BreakMode) -> Vec<Line> {
    let cells: Vec<GraphemeCell<'_>> = spans.iter().flat_map(cells_of).collect();
    let mut lines = Vec::new();
    let (mut rest, mut wrap_kind) = (cells.as_slice(), Wrap::Hard);
    loop {
        let indent = if lines.is_empty() { &indent.first } else { &indent.rest };
        let available = width.saturating_sub(indent.iter().map(Span::width).sum()).max(1);
        let (fitting, consumed) = break_line(rest, available, breaks);
        lines.push(Line { wrap: wrap_kind, ..line_of(indent, &rest[..fitting]) });
        wrap_kind = match &rest[fitting..consumed] {
            [.., last] if last.text == "\n" => Wrap::Hard,
            spaces => Wrap::Soft { spaces: spaces.len() },
        };
        rest = &rest[consumed..];
        if rest.is_empty() {
            return lines;
        }
    }
}

fn cells_of(span: &Span) -> impl Iterator<Item = GraphemeCell<'_>> {
    let cell = |text| GraphemeCell {
        text,
        width: grapheme_width(text),
        style: span.style,
        link: span.link.as_ref(),
    };
    span.text.graphemes(true).map(cell)
}

/// Returns the number of cells on the next line, and the number of cells consumed.
fn break_line(cells: &[GraphemeCell<'_>], available: usize, breaks: BreakMode) -> (usize, usize) {
    let (mut used, mut word_end) = (0, None);
    for (at, cell) in cells.iter().enumerate() {
        if cell.text == "\n" {
            return (at, at + 1);
        }
        let is_space = cell.text == " ";
        if breaks == BreakMode::Words && at > 0 && may_break(&cells[at - 1], cell) {
            word_end = Some(at);
        }
        if used + cell.width > available && !(is_space && breaks == BreakMode::Words) {
            let at = word_end.unwrap_or(at).max(1);
            return (without_trailing_spaces(cells, at, breaks), at);
        }
        used += cell.width;
    }
    (without_trailing_spaces(cells, cells.len(), breaks), cells.len())
}

fn may_break(previous: &GraphemeCell<'_>, next: &GraphemeCell<'_>) -> bool {
    next.width == 2 || (next.text != " " && (previous.text == " " || previous.width == 2))
}

/// Returns the end of a line without trailing spaces, which aren't drawn.
fn without_trailing_spaces(cells: &[GraphemeCell<'_>], end: usize, breaks: BreakMode) -> usize {
    match breaks {
        BreakMode::Words => cells[..end].iter().rposition(|cell| cell.text != " ").map_or(0, |last| last + 1),
        BreakMode::Anywhere => end,
    }
}

/// Builds a line with exact capacities: a long answer has hundreds of thousands of lines.
fn line_of(indent: &[Span], cells: &[GraphemeCell<'_>]) -> Line {
    let pieces = cells.chunk_by(|one, next| one.style == next.style && one.link == next.link);
    let mut spans = Vec::with_capacity(indent.len() + pieces.clone().count());
    spans.extend_from_slice(indent);
    spans.extend(pieces.filter_map(span_of));
    let margins =
        Margins { before: indent.iter().take_while(|span| is_margin(&span.text)).count(), after: 0 };
    Line { margins, ..Line::from(spans) }
}

/// Joins cells of one style.
fn span_of(cells: &[GraphemeCell<'_>]) -> Option<Span> {
    let first = cells.first()?;
    let mut text = String::with_capacity(cells.iter().map(|cell| cell.text.len()).sum());
    text.extend(cells.iter().map(|cell| cell.text));
    Some(Span::new(text, first.style).with_link(first.link.cloned()))
}

/// Returns true if the text before a line isn't part of its content, unlike an item's marker.
pub(super) fn is_margin(text: &str) -> bool {
    text.chars().all(|c| matches!(c, ' ' | '│' | '▌' | '∴' | '…'))
}

/// Truncates `text` to `width` columns, with `…` at the end.
#[must_use]
pub fn truncate_to(text: &str, width: usize) -> String {
    let cut_at = |end| if width == 0 { String::new() } else { format!("{}…", &text[..end]) };
    let head = &text.as_bytes()[..text.len().min(width.saturating_add(1))];
    // Long texts are cut often, most of them ASCII: what follows the cut isn't read.
    if head.iter().all(|byte| (b' '..=b'~').contains(byte)) {
        return if text.len() <= width { text.to_owned() } else { cut_at(width.saturating_sub(1)) };
    }
    let (mut used, mut end) = (0, 0);
    for (at, grapheme) in text.grapheme_indices(true) {
        used += grapheme_width(grapheme);
        if used > width {
            return cut_at(end);
        }
        // The `…` takes a column.
        if used < width {
            end = at + grapheme.len();
        }
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::{Role, texts};
    use super::*;

    fn wrapped(text: &str, width: usize, breaks: BreakMode) -> Vec<String> {
        wrap(&[Span::new(text, Role::Text)], width, &Indent::default(), breaks)
            .iter()
            .map(Line::text)
            .collect()
    }

    #[test]
    fn wrap_words_stay_whole() {
        assert_eq!(wrapped("the quick  brown fox", 10, BreakMode::Words), ["the quick", "brown fox"]);
    }

    #[test]
    fn wrap_lines_have_exact_capacity() {
        let spans =
            [Span::new("some words of a text ".repeat(9), Role::Text), Span::new("and code", Role::Code)];
        let lines = wrap(&spans, 30, &Indent::all(vec![Span::new("│ ", Role::Muted)]), BreakMode::Words);
        assert!(lines.len() > 5, "{lines:?}");
        for line in lines {
            assert_eq!(line.spans.capacity(), line.spans.len());
            assert!(line.spans.iter().all(|span| span.text.capacity() == span.text.len()), "{line:?}");
        }
    }

    #[test]
    fn wrap_long_word_is_broken() {
        assert_eq!(wrapped("abcdefgh ij", 3, BreakMode::Words), ["abc", "def", "gh", "ij"]);
    }

    #[test]
    fn wrap_wide_characters_count_two() {
        assert_eq!(wrapped("日本語テキスト", 5, BreakMode::Words), ["日本", "語テ", "キス", "ト"]);
    }

    #[test]
    fn wrap_graphemes_are_not_split() {
        let family = "👨\u{200d}👩\u{200d}👧";
        assert_eq!(wrapped(&format!("{family}{family}"), 2, BreakMode::Words), [family, family]);
        assert_eq!(wrapped("e\u{301}e\u{301}", 1, BreakMode::Anywhere), ["e\u{301}", "e\u{301}"]);
    }

    #[test]
    fn wrap_anywhere_keeps_spaces() {
        assert_eq!(wrapped("  a  b", 3, BreakMode::Anywhere), ["  a", "  b"]);
    }

    #[test]
    fn wrap_width_zero_terminates() {
        assert_eq!(wrapped("日a", 0, BreakMode::Words), ["日", "a"]);
        assert_eq!(wrapped("", 0, BreakMode::Words), [""]);
    }

    #[test]
    fn wrap_keeps_indents_and_styles() {
        let indent =
            Indent { first: vec![Span::new("- ", Role::Muted)], rest: vec![Span::new("  ", Role::Muted)] };
        let spans = [Span::new("one ", Role::Text), Span::new("two three", Role::Code)];
        let lines = wrap(&spans, 9, &indent, BreakMode::Words);
        assert_eq!(texts(&lines), ["- one two", "  three"]);
        assert_eq!(lines[1].spans[1], Span::new("three", Role::Code));
    }

    #[test]
    fn wrap_lines_have_joint_and_margins() {
        let indent = Indent {
            first: vec![Span::new("│ ", Role::Quote), Span::new("• ", Role::Accent)],
            ..Indent::all(vec![Span::new("│   ", Role::Quote)])
        };
        let lines = wrap(&[Span::new("one  twothree\nfour", Role::Text)], 8, &indent, BreakMode::Words);
        let actual: Vec<(String, Wrap, usize)> =
            lines.iter().map(|line| (line.text(), line.wrap, line.margins.before)).collect();
        let soft = |spaces| Wrap::Soft { spaces };
        assert_eq!(
            actual,
            [
                ("│ • one".to_owned(), Wrap::Hard, 1),
                ("│   twot".to_owned(), soft(2), 1),
                ("│   hree".to_owned(), soft(0), 1),
                ("│   four".to_owned(), Wrap::Hard, 1),
            ]
        );
    }

    #[test]
    fn cut_to_adds_an_ellipsis() {
        assert_eq!(truncate_to("日本語", 4), "日…");
        assert_eq!(truncate_to("abc", 3), "abc");
        assert_eq!(truncate_to("abc", 0), "");
    }
}
