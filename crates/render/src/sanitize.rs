//! Sanitizes untrusted text: removes escape sequences, control characters, and invisible or reordering
//! characters.
//!
//! The text remains complete, with symbols for characters that can't be shown, so that the reader of a file,
//! a diff or a command sees all of it. Command output is instead shown as a terminal would show it; see
//! [`command_output`](super::command_output()).

use std::borrow::Cow;

use tiller_core::ansi::{self, StyledText, columns};

use super::invisible::{InvisibleChars, name};
use super::{CopyAs, Span, Style};

/// Distance of tab stops in columns.
pub(super) const TAB: usize = 4;

/// The treatment of control characters in a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlChars {
    /// Shown as symbols, for files and diffs.
    Visible,
    /// Interpreted as by a terminal: a carriage return restarts the line, so that a progress bar shows its
    /// last state, and escape sequences are removed.
    Interpreted,
}

/// Expands tabs, and replaces control characters with symbols and invisible characters with their code
/// points. Newlines are kept.
#[must_use]
pub fn sanitize(text: &str, control_chars: ControlChars) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)) {
        return Cow::Borrowed(text);
    }
    match control_chars {
        ControlChars::Visible => make_visible(text),
        ControlChars::Interpreted => Cow::Owned(plain_text(text)),
    }
}

fn make_visible(text: &str) -> Cow<'_, str> {
    let mut detector = InvisibleChars::default();
    let mut chars = text.char_indices().peekable();
    let mut out = String::new();
    // `out` has the text up to `copied`; `column` is the column of `start`.
    let (mut copied, mut start, mut column) = (0, 0, 0);
    while let Some((at, c)) = chars.next() {
        let is_replaced = detector.is_invisible(c, chars.peek().map(|(_, c)| *c));
        if c == '\n' {
            (start, column) = (at + 1, 0);
        } else if is_replaced || c.is_ascii_control() {
            out.push_str(&text[copied..at]);
            column += columns(&text[start..at]);
            let visible = replacement(c, column, TAB);
            column += columns(&visible);
            out.push_str(&visible);
            copied = at + c.len_utf8();
            start = copied;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// Returns the text of [`command_output`](super::command_output).
fn plain_text(text: &str) -> String {
    let output = StyledText::parse(text).text;
    let plain = |line| expand(line, Style::default(), ansi::TAB).into_iter().map(|span| span.text).collect();
    let mut out = output.split_terminator('\n').map(plain).collect::<Vec<String>>().join("\n");
    if text.ends_with('\n') {
        out.push('\n');
    }
    out
}

/// Sanitizes a line, and marks replaced characters with their source text for copying. Tabs expand to the
/// next multiple of `tab` columns.
pub(super) fn expand(line: &str, style: Style, tab: usize) -> Vec<Span> {
    if line.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return vec![Span::new(line, style)];
    }
    let (mut detector, mut column, mut start) = (InvisibleChars::default(), 0, 0);
    let (mut spans, mut chars) = (Vec::new(), line.char_indices().peekable());
    let mut push = |text: &str, copy_as| {
        if !text.is_empty() {
            spans.push(Span::new(text, Style { copy_as, ..style }));
        }
    };
    while let Some((at, c)) = chars.next() {
        let after = chars.peek().map(|(_, c)| *c);
        if !(detector.is_invisible(c, after) || c.is_ascii_control()) {
            continue;
        }
        push(&line[start..at], CopyAs::Itself);
        column += columns(&line[start..at]);
        start = at + c.len_utf8();
        let visible = replacement(c, column, tab);
        column += columns(&visible);
        if c == '\r' && after.is_none() {
            push(&visible, CopyAs::Nothing);
        } else if c == '\t' || !c.is_control() {
            // The replacement begins with an ASCII character, one column wide.
            push(&visible[..1], CopyAs::Char(c));
            push(&visible[1..], CopyAs::Nothing);
        } else {
            push(&visible, CopyAs::Itself);
        }
    }
    push(&line[start..], CopyAs::Itself);
    spans
}

/// The same for text at the start of a line; text of several lines is sanitized without marks.
pub(super) fn sanitized_spans(text: &str, style: Style) -> Vec<Span> {
    if text.contains('\n') {
        return vec![Span::new(sanitize(text, ControlChars::Visible), style)];
    }
    expand(text, style, TAB)
}

/// Marks the spans of a sanitized line with the source text of replaced characters; `line` is the source.
pub(super) fn with_source_marks(spans: Vec<Span>, line: &str) -> Vec<Span> {
    let expanded = match sanitize(line, ControlChars::Visible) {
        Cow::Borrowed(_) => return spans,
        Cow::Owned(_) => expand(line, Style::default(), TAB),
    };
    let mut pieces = expanded.iter().map(|span| (span.text.len(), span.style.copy_as));
    let (mut out, mut next_piece) = (Vec::new(), pieces.next());
    for span in spans {
        let mut rest = span.text.as_str();
        while !rest.is_empty() {
            let (length, copy_as) = next_piece.unwrap_or((rest.len(), CopyAs::Itself));
            let cut = rest.floor_char_boundary(length);
            if cut == 0 {
                next_piece = pieces.next();
                continue;
            }
            let style = Style { copy_as, ..span.style };
            out.push(Span::new(&rest[..cut], style).with_link(span.link.clone()));
            rest = &rest[cut..];
            next_piece = if length > cut { Some((length - cut, copy_as)) } else { pieces.next() };
        }
    }
    out
}

/// Returns a string for the clipboard. Tabs and invisible characters are kept, but control characters, which
/// could act on a terminal when the text is pasted, become symbols. A carriage return at the end of a line is
/// removed.
#[must_use]
pub fn clipboard_text(text: &str) -> Cow<'_, str> {
    if !text.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')) {
        return Cow::Borrowed(text);
    }
    let text = text.replace("\r\n", "\n");
    let text = text.strip_suffix('\r').unwrap_or(&text);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            c if c.is_ascii_control() => out.push(glyph(c)),
            c if c.is_control() => out.push_str(&name(c)),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Returns the replacement of a character at this column.
fn replacement(c: char, column: usize, tab: usize) -> String {
    match c {
        '\t' => " ".repeat(tab - column % tab),
        c if c.is_ascii_control() => glyph(c).to_string(),
        c => name(c),
    }
}

/// Returns the symbol of a control character: `␍` for a carriage return.
fn glyph(c: char) -> char {
    match c {
        '\u{7f}' => '␡',
        c => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Role;
    use super::*;

    #[test]
    fn sanitize_escape_sequences_are_shown_or_removed() {
        let text = "\u{1b}[1;31mred\u{1b}[0m \u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{1b}\\ \u{1b}(Bend";
        assert_eq!(sanitize(text, ControlChars::Interpreted), "red link end");
        assert_eq!(sanitize("\u{1b}[31mred\u{1b}]0;x\u{7}", ControlChars::Visible), "␛[31mred␛]0;x␇");
    }

    #[test]
    fn sanitize_control_characters_become_symbols() {
        assert_eq!(sanitize("a\r\u{8}\u{7f}\u{0}\u{85}b", ControlChars::Visible), "a␍␈␡␀<U+0085>b");
    }

    #[test]
    fn sanitize_reordering_characters_are_named() {
        for control_chars in [ControlChars::Visible, ControlChars::Interpreted] {
            assert_eq!(sanitize("rm \u{202e}txt.a", control_chars), "rm <U+202E>txt.a");
        }
    }

    #[test]
    fn sanitize_tabs_expand_by_columns() {
        assert_eq!(sanitize("\ta\tb\n日\tc\t", ControlChars::Visible), "    a   b\n日  c   ");
    }

    #[test]
    fn sanitize_progress_bar_keeps_last_state() {
        assert_eq!(sanitize("10%\r50%\r100%\r\ndone\r\n", ControlChars::Interpreted), "100%\ndone\n");
    }

    fn pieces(spans: &[Span]) -> Vec<(&str, CopyAs)> {
        spans.iter().map(|span| (span.text.as_str(), span.style.copy_as)).collect()
    }

    #[test]
    fn expand_marks_source_of_replaced_characters() {
        use CopyAs::{Char, Itself, Nothing};
        assert_eq!(
            pieces(&expand("a\tb\u{202e}\u{1b}c\u{85}\r", Style::default(), TAB)),
            [
                ("a", Itself),
                (" ", Char('\t')),
                ("  ", Nothing),
                ("b", Itself),
                ("<", Char('\u{202e}')),
                ("U+202E>", Nothing),
                ("␛", Itself),
                ("c", Itself),
                ("<U+0085>", Itself),
                ("␍", Nothing),
            ]
        );
        let highlighted = vec![Span::new("    if", Role::Keyword), Span::new(" x", Role::Text)];
        let marked = with_source_marks(highlighted, "\tif x");
        assert_eq!(pieces(&marked), [(" ", Char('\t')), ("   ", Nothing), ("if", Itself), (" x", Itself)]);
        assert_eq!(marked[2].style.role, Role::Keyword);
    }

    #[test]
    fn copied_control_characters_become_symbols() {
        assert_eq!(
            clipboard_text("\ta\u{202e}\r\nb\rc\u{1b}[31m\u{9b}m\r"),
            "\ta\u{202e}\nb␍c␛[31m<U+009B>m"
        );
    }

    #[test]
    fn sanitize_harmless_text_is_borrowed() {
        assert!(matches!(sanitize("日本 é 👍🏽\nplain", ControlChars::Visible), Cow::Borrowed(_)));
    }
}
