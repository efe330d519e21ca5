//! Text from outside made harmless: no escape sequence, no control character, no invisible reordering gets through.
//!
//! A text is shown whole, with pictures for what can't be shown: whoever reads a file, a diff or a command to be approved reads all of
//! it. What a command printed is shown as a terminal would show it instead; see [`printed`](super::printed()).

use std::borrow::Cow;

use super::columns::columns;
use super::hidden::{Watch, name};
use super::printed::bare;

/// Columns from one tab stop to the next.
const TAB: usize = 4;

/// What a carriage return inside a line does, and with it every other control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carriage {
    /// It is shown: in files and diffs it is something to see, as an escape sequence is.
    Shown,
    /// It begins the line again, as on a terminal: of a progress bar the last state stays, and escape sequences go.
    Returns,
}

/// Expands tabs, and shows control characters as glyphs and what nobody would see by its number. Newlines stay.
#[must_use]
pub fn clean(text: &str, carriage: Carriage) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)) {
        return Cow::Borrowed(text);
    }
    match carriage {
        Carriage::Shown => shown(text),
        Carriage::Returns => Cow::Owned(bare(text)),
    }
}

fn shown(text: &str) -> Cow<'_, str> {
    let mut watch = Watch::default();
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
            let seen = seen(c, column);
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

/// What stands for a character in some column that can't stand for itself.
fn seen(c: char, column: usize) -> String {
    match c {
        '\t' => " ".repeat(TAB - column % TAB),
        c if c.is_ascii_control() => glyph(c).to_string(),
        c => name(c),
    }
}

/// The picture of a control character: `␍` for a carriage return.
pub(super) fn glyph(c: char) -> char {
    match c {
        '\u{7f}' => '␡',
        c => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_shown_in_a_text_and_go_from_what_a_command_printed() {
        let text = "\u{1b}[1;31mred\u{1b}[0m \u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{1b}\\ \u{1b}(Bend";
        assert_eq!(clean(text, Carriage::Returns), "red link end");
        assert_eq!(clean("\u{1b}[31mred\u{1b}]0;x\u{7}", Carriage::Shown), "␛[31mred␛]0;x␇");
    }

    #[test]
    fn control_characters_become_pictures() {
        assert_eq!(clean("a\r\u{8}\u{7f}\u{0}\u{85}b", Carriage::Shown), "a␍␈␡␀<U+0085>b");
    }

    #[test]
    fn text_that_would_be_drawn_in_another_order_is_marked() {
        for carriage in [Carriage::Shown, Carriage::Returns] {
            assert_eq!(clean("rm \u{202e}txt.a", carriage), "rm <U+202E>txt.a");
        }
    }

    #[test]
    fn tabs_go_to_the_next_stop_by_columns() {
        assert_eq!(clean("\ta\tb\n日\tc\t", Carriage::Shown), "    a   b\n日  c   ");
    }

    #[test]
    fn of_a_progress_bar_the_last_state_stays() {
        assert_eq!(clean("10%\r50%\r100%\r\ndone\r\n", Carriage::Returns), "100%\ndone\n");
    }

    #[test]
    fn harmless_text_is_not_copied() {
        assert!(matches!(clean("日本 é 👍🏽\nplain", Carriage::Shown), Cow::Borrowed(_)));
    }
}
