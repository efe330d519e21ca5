//! Breaking styled text into lines of a width, by graphemes and the columns they take.

use std::sync::Arc;

use tiller_core::ansi::{columns, of_grapheme};
use unicode_segmentation::UnicodeSegmentation;

use super::{Line, Margins, Span, Style, Wrap};

/// What stands before the lines of a wrapped text.
#[derive(Clone, Debug, Default)]
pub struct Indent {
    /// Before the first.
    pub first: Vec<Span>,
    /// Before every other.
    pub rest: Vec<Span>,
}

impl Indent {
    /// The same before every line.
    #[must_use]
    pub fn all(spans: Vec<Span>) -> Self {
        Self { first: spans.clone(), rest: spans }
    }
}

/// Where a line may be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breaks {
    /// Between words, or inside one that is wider than the line.
    Words,
    /// Anywhere, keeping every space: for code and output.
    Anywhere,
}

struct Cell<'a> {
    text: &'a str,
    width: usize,
    style: Style,
    link: Option<&'a Arc<str>>,
}

/// Breaks `spans` into lines of at most `width` columns, indents included. A newline in the text breaks too. There is always a
/// line, and every line holds at least one grapheme, however narrow the width.
#[must_use]
pub fn wrap(spans: &[Span], width: usize, indent: &Indent, breaks: Breaks) -> Vec<Line> {
    let cells: Vec<Cell<'_>> = spans.iter().flat_map(cells_of).collect();
    let mut lines = Vec::new();
    let (mut rest, mut joint) = (cells.as_slice(), Wrap::Hard);
    loop {
        let before = if lines.is_empty() { &indent.first } else { &indent.rest };
        let room = width.saturating_sub(before.iter().map(Span::width).sum()).max(1);
        let (take, pass) = cut(rest, room, breaks);
        lines.push(Line { joint, ..line_of(before, &rest[..take]) });
        joint = match &rest[take..pass] {
            [.., last] if last.text == "\n" => Wrap::Hard,
            spaces => Wrap::Soft { spaces: spaces.len() },
        };
        rest = &rest[pass..];
        if rest.is_empty() {
            return lines;
        }
    }
}

fn cells_of(span: &Span) -> impl Iterator<Item = Cell<'_>> {
    let cell = |text| Cell { text, width: of_grapheme(text), style: span.style, link: span.link.as_ref() };
    span.text.graphemes(true).map(cell)
}

/// How many cells go on this line, and how many are then done with.
fn cut(cells: &[Cell<'_>], room: usize, breaks: Breaks) -> (usize, usize) {
    let (mut used, mut word_end) = (0, None);
    for (at, cell) in cells.iter().enumerate() {
        if cell.text == "\n" {
            return (at, at + 1);
        }
        let is_space = cell.text == " ";
        if breaks == Breaks::Words && at > 0 && may_break(&cells[at - 1], cell) {
            word_end = Some(at);
        }
        if used + cell.width > room && !(is_space && breaks == Breaks::Words) {
            let at = word_end.unwrap_or(at).max(1);
            return (trimmed(cells, at, breaks), at);
        }
        used += cell.width;
    }
    (trimmed(cells, cells.len(), breaks), cells.len())
}

fn may_break(before: &Cell<'_>, after: &Cell<'_>) -> bool {
    after.width == 2 || (after.text != " " && (before.text == " " || before.width == 2))
}

/// Spaces at the end of a line are not drawn.
fn trimmed(cells: &[Cell<'_>], end: usize, breaks: Breaks) -> usize {
    match breaks {
        Breaks::Words => cells[..end].iter().rposition(|cell| cell.text != " ").map_or(0, |last| last + 1),
        Breaks::Anywhere => end,
    }
}

/// A line of these. A long answer is hundreds of thousands of lines, so none takes more room than it needs.
fn line_of(before: &[Span], cells: &[Cell<'_>]) -> Line {
    let pieces = cells.chunk_by(|one, next| one.style == next.style && one.link == next.link);
    let mut spans = Vec::with_capacity(before.len() + pieces.clone().count());
    spans.extend_from_slice(before);
    spans.extend(pieces.filter_map(span_of));
    let margins =
        Margins { before: before.iter().take_while(|span| is_margin(&span.text)).count(), behind: 0 };
    Line { margins, ..Line::from(spans) }
}

/// Cells of one style as one span.
fn span_of(cells: &[Cell<'_>]) -> Option<Span> {
    let first = cells.first()?;
    let mut text = String::with_capacity(cells.iter().map(|cell| cell.text.len()).sum());
    text.extend(cells.iter().map(|cell| cell.text));
    Some(Span::new(text, first.style).leading_to(first.link.cloned()))
}

/// Whether what stands before a text is no part of it: an item's mark is.
pub(super) fn is_margin(text: &str) -> bool {
    text.chars().all(|c| matches!(c, ' ' | '│' | '▌' | '∴' | '…'))
}

/// The beginning of `text` that fits into `width` columns, ending in `…` when something is left out.
#[must_use]
pub fn cut_to(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 1;
    for grapheme in text.graphemes(true) {
        used += of_grapheme(grapheme);
        if used > width {
            break;
        }
        out.push_str(grapheme);
    }
    if width > 0 {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::{Role, texts};
    use super::*;

    fn wrapped(text: &str, width: usize, breaks: Breaks) -> Vec<String> {
        wrap(&[Span::new(text, Role::Text)], width, &Indent::default(), breaks)
            .iter()
            .map(Line::text)
            .collect()
    }

    #[test]
    fn words_stay_whole_and_the_space_between_lines_goes() {
        assert_eq!(wrapped("the quick  brown fox", 10, Breaks::Words), ["the quick", "brown fox"]);
    }

    #[test]
    fn a_line_takes_no_more_room_than_it_needs() {
        let spans =
            [Span::new("some words of a text ".repeat(9), Role::Text), Span::new("and code", Role::Code)];
        let lines = wrap(&spans, 30, &Indent::all(vec![Span::new("│ ", Role::Muted)]), Breaks::Words);
        assert!(lines.len() > 5, "{lines:?}");
        for line in lines {
            assert_eq!(line.spans.capacity(), line.spans.len());
            assert!(line.spans.iter().all(|span| span.text.capacity() == span.text.len()), "{line:?}");
        }
    }

    #[test]
    fn a_word_wider_than_the_line_is_broken() {
        assert_eq!(wrapped("abcdefgh ij", 3, Breaks::Words), ["abc", "def", "gh", "ij"]);
    }

    #[test]
    fn wide_characters_count_two_and_break_between_each_other() {
        assert_eq!(wrapped("日本語テキスト", 5, Breaks::Words), ["日本", "語テ", "キス", "ト"]);
    }

    #[test]
    fn joined_characters_are_never_torn() {
        let family = "👨\u{200d}👩\u{200d}👧";
        assert_eq!(wrapped(&format!("{family}{family}"), 2, Breaks::Words), [family, family]);
        assert_eq!(wrapped("e\u{301}e\u{301}", 1, Breaks::Anywhere), ["e\u{301}", "e\u{301}"]);
    }

    #[test]
    fn code_keeps_its_spaces() {
        assert_eq!(wrapped("  a  b", 3, Breaks::Anywhere), ["  a", "  b"]);
    }

    #[test]
    fn a_width_of_nothing_still_ends() {
        assert_eq!(wrapped("日a", 0, Breaks::Words), ["日", "a"]);
        assert_eq!(wrapped("", 0, Breaks::Words), [""]);
    }

    #[test]
    fn indents_and_styles_are_kept_over_the_break() {
        let indent =
            Indent { first: vec![Span::new("- ", Role::Muted)], rest: vec![Span::new("  ", Role::Muted)] };
        let spans = [Span::new("one ", Role::Text), Span::new("two three", Role::Code)];
        let lines = wrap(&spans, 9, &indent, Breaks::Words);
        assert_eq!(texts(&lines), ["- one two", "  three"]);
        assert_eq!(lines[1].spans[1], Span::new("three", Role::Code));
    }

    #[test]
    fn lines_tell_what_was_broken_and_what_stands_beside_the_text() {
        let indent = Indent {
            first: vec![Span::new("│ ", Role::Quote), Span::new("• ", Role::Accent)],
            ..Indent::all(vec![Span::new("│   ", Role::Quote)])
        };
        let lines = wrap(&[Span::new("one  twothree\nfour", Role::Text)], 8, &indent, Breaks::Words);
        let told: Vec<(String, Wrap, usize)> =
            lines.iter().map(|line| (line.text(), line.joint, line.margins.before)).collect();
        let goes_on = |spaces| Wrap::Soft { spaces };
        assert_eq!(
            told,
            [
                ("│ • one".to_owned(), Wrap::Hard, 1),
                ("│   twot".to_owned(), goes_on(2), 1),
                ("│   hree".to_owned(), goes_on(0), 1),
                ("│   four".to_owned(), Wrap::Hard, 1),
            ]
        );
    }

    #[test]
    fn a_cut_text_says_so() {
        assert_eq!(cut_to("日本語", 4), "日…");
        assert_eq!(cut_to("abc", 3), "abc");
        assert_eq!(cut_to("abc", 0), "");
    }
}
