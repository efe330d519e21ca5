//! Text from outside made harmless: no escape sequence, no control character, no invisible reordering gets through.
//!
//! A text is shown whole, with pictures for what can't be shown: whoever reads a file, a diff or a command to be approved reads all of
//! it. What a command printed is shown as a terminal would show it instead; see [`printed`](super::printed()).

use std::borrow::Cow;

use tiller_core::ansi::columns;

use super::command_output::bare;
use super::invisible::{InvisibleChars, name};
use super::{CopyAs, Span, Style};

/// Columns from one tab stop to the next.
pub(super) const TAB: usize = 4;

/// What a carriage return inside a line does, and with it every other control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlChars {
    /// It is shown: in files and diffs it is something to see, as an escape sequence is.
    Visible,
    /// It begins the line again, as on a terminal: of a progress bar the last state stays, and escape sequences go.
    Interpreted,
}

/// Expands tabs, and shows control characters as glyphs and what nobody would see by its number. Newlines stay.
#[must_use]
pub fn sanitize(text: &str, carriage: ControlChars) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)) {
        return Cow::Borrowed(text);
    }
    match carriage {
        ControlChars::Visible => show(text),
        ControlChars::Interpreted => Cow::Owned(bare(text)),
    }
}

fn show(text: &str) -> Cow<'_, str> {
    let mut watch = InvisibleChars::default();
    let mut chars = text.char_indices().peekable();
    let mut out = String::new();
    // Up to `copied` the text is in `out`; from `from` on its columns aren't in `column` yet.
    let (mut copied, mut from, mut column) = (0, 0, 0);
    while let Some((at, c)) = chars.next() {
        let found = watch.finds(c, chars.peek().map(|(_, c)| *c));
        if c == '\n' {
            (from, column) = (at + 1, 0);
        } else if found || c.is_ascii_control() {
            out.push_str(&text[copied..at]);
            column += columns(&text[from..at]);
            let seen = seen(c, column, TAB);
            column += columns(&seen);
            out.push_str(&seen);
            copied = at + c.len_utf8();
            from = copied;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// A line in one style as it is shown, its pieces knowing what stands in their place in the source. Tabs go to every `tab`th column.
pub(super) fn spelled(line: &str, style: Style, tab: usize) -> Vec<Span> {
    if line.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return vec![Span::new(line, style)];
    }
    let (mut watch, mut column, mut from) = (InvisibleChars::default(), 0, 0);
    let (mut spans, mut chars) = (Vec::new(), line.char_indices().peekable());
    let mut push = |text: &str, stands| {
        if !text.is_empty() {
            spans.push(Span::new(text, Style { stands, ..style }));
        }
    };
    while let Some((at, c)) = chars.next() {
        let after = chars.peek().map(|(_, c)| *c);
        if !(watch.finds(c, after) || c.is_ascii_control()) {
            continue;
        }
        push(&line[from..at], CopyAs::ForItself);
        column += columns(&line[from..at]);
        from = at + c.len_utf8();
        let seen = seen(c, column, tab);
        column += columns(&seen);
        if c == '\r' && after.is_none() {
            push(&seen, CopyAs::ForNothing);
        } else if c == '\t' || !c.is_control() {
            // All that is seen of it begins with one column of ASCII.
            push(&seen[..1], CopyAs::For(c));
            push(&seen[1..], CopyAs::ForNothing);
        } else {
            push(&seen, CopyAs::ForItself);
        }
    }
    push(&line[from..], CopyAs::ForItself);
    spans
}

/// The same of a text whose columns are reckoned from its beginning on; one of several lines is only cleaned.
pub(super) fn shown(text: &str, style: Style) -> Vec<Span> {
    if text.contains('\n') {
        return vec![Span::new(sanitize(text, ControlChars::Visible), style)];
    }
    spelled(text, style, TAB)
}

/// The pieces of a line that was cleaned, knowing what stands in their place in the source: its `line` before it was.
pub(super) fn sourced(spans: Vec<Span>, line: &str) -> Vec<Span> {
    let spelled = match sanitize(line, ControlChars::Visible) {
        Cow::Borrowed(_) => return spans,
        Cow::Owned(_) => spelled(line, Style::default(), TAB),
    };
    let mut pieces = spelled.iter().map(|span| (span.text.len(), span.style.stands));
    let (mut out, mut left) = (Vec::new(), pieces.next());
    for span in spans {
        let mut rest = span.text.as_str();
        while !rest.is_empty() {
            let (length, stands) = left.unwrap_or((rest.len(), CopyAs::ForItself));
            let cut = rest.floor_char_boundary(length);
            if cut == 0 {
                left = pieces.next();
                continue;
            }
            let style = Style { stands, ..span.style };
            out.push(Span::new(&rest[..cut], style).leading_to(span.link.clone()));
            rest = &rest[cut..];
            left = if length > cut { Some((length - cut, stands)) } else { pieces.next() };
        }
    }
    out
}

/// A text as it may be copied: with its own tabs and all that is only hard to see, but without the control characters on which a
/// terminal acts when the text is pasted there. These are pictures; a carriage return at a line's end goes.
#[must_use]
pub fn copied(text: &str) -> Cow<'_, str> {
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

/// What stands for a character in some column that can't stand for itself.
fn seen(c: char, column: usize, tab: usize) -> String {
    match c {
        '\t' => " ".repeat(tab - column % tab),
        c if c.is_ascii_control() => glyph(c).to_string(),
        c => name(c),
    }
}

/// The picture of a control character: `␍` for a carriage return.
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
    fn escape_sequences_are_shown_in_a_text_and_go_from_what_a_command_printed() {
        let text = "\u{1b}[1;31mred\u{1b}[0m \u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{1b}\\ \u{1b}(Bend";
        assert_eq!(sanitize(text, ControlChars::Interpreted), "red link end");
        assert_eq!(sanitize("\u{1b}[31mred\u{1b}]0;x\u{7}", ControlChars::Visible), "␛[31mred␛]0;x␇");
    }

    #[test]
    fn control_characters_become_pictures() {
        assert_eq!(sanitize("a\r\u{8}\u{7f}\u{0}\u{85}b", ControlChars::Visible), "a␍␈␡␀<U+0085>b");
    }

    #[test]
    fn text_that_would_be_drawn_in_another_order_is_marked() {
        for carriage in [ControlChars::Visible, ControlChars::Interpreted] {
            assert_eq!(sanitize("rm \u{202e}txt.a", carriage), "rm <U+202E>txt.a");
        }
    }

    #[test]
    fn tabs_go_to_the_next_stop_by_columns() {
        assert_eq!(sanitize("\ta\tb\n日\tc\t", ControlChars::Visible), "    a   b\n日  c   ");
    }

    #[test]
    fn of_a_progress_bar_the_last_state_stays() {
        assert_eq!(sanitize("10%\r50%\r100%\r\ndone\r\n", ControlChars::Interpreted), "100%\ndone\n");
    }

    fn pieces(spans: &[Span]) -> Vec<(&str, CopyAs)> {
        spans.iter().map(|span| (span.text.as_str(), span.style.stands)).collect()
    }

    #[test]
    fn what_is_shown_in_anothers_place_knows_it_unless_that_would_do_harm() {
        use CopyAs::{For, ForItself, ForNothing};
        assert_eq!(
            pieces(&spelled("a\tb\u{202e}\u{1b}c\u{85}\r", Style::default(), TAB)),
            [
                ("a", ForItself),
                (" ", For('\t')),
                ("  ", ForNothing),
                ("b", ForItself),
                ("<", For('\u{202e}')),
                ("U+202E>", ForNothing),
                ("␛", ForItself),
                ("c", ForItself),
                ("<U+0085>", ForItself),
                ("␍", ForNothing),
            ]
        );
        let told = vec![Span::new("    if", Role::Keyword), Span::new(" x", Role::Text)];
        let sourced = sourced(told, "\tif x");
        assert_eq!(
            pieces(&sourced),
            [(" ", For('\t')), ("   ", ForNothing), ("if", ForItself), (" x", ForItself)]
        );
        assert_eq!(sourced[2].style.role, Role::Keyword);
    }

    #[test]
    fn a_copied_text_is_the_sources_but_for_what_a_terminal_acts_on() {
        assert_eq!(copied("\ta\u{202e}\r\nb\rc\u{1b}[31m\u{9b}m\r"), "\ta\u{202e}\nb␍c␛[31m<U+009B>m");
    }

    #[test]
    fn harmless_text_is_not_copied() {
        assert!(matches!(sanitize("日本 é 👍🏽\nplain", ControlChars::Visible), Cow::Borrowed(_)));
    }
}
