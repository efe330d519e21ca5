//! What a terminal's output says, without what it does to the terminal.

use std::iter::Peekable;
use std::str::Chars;

/// Takes out escape sequences and control characters, so that the text can harm no terminal and costs no tokens for
/// colours. A line that was overwritten with `\r` keeps what was written last; tabs and line ends stay.
#[must_use]
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => plain.push(c),
            '\r' => {
                let ends_line = matches!(chars.peek(), Some('\n' | '\r') | None);
                if !ends_line {
                    plain.truncate(plain.rfind('\n').map_or(0, |at| at + 1));
                }
            }
            '\u{1b}' => skip_escape(&mut chars),
            c if c.is_control() => {}
            c => plain.push(c),
        }
    }
    plain
}

/// Skips the rest of an escape sequence (ECMA-48): a control sequence, a string, or a single function.
fn skip_escape(chars: &mut Peekable<Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
            chars.next_if(|c| matches!(c, '@'..='~'));
        }
        Some(']' | 'P' | 'X' | '^' | '_') => skip_string(chars),
        Some(_) => {
            while chars.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            chars.next_if(|c| matches!(c, '0'..='~'));
        }
        None => {}
    }
}

/// Skips a string up to BEL or ESC `\`; one that never ends, up to the end of its line.
fn skip_string(chars: &mut Peekable<Chars<'_>>) {
    while let Some(c) = chars.next_if(|c| *c != '\n') {
        match c {
            '\u{7}' => return,
            '\u{1b}' => {
                chars.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_to_be_read_is_left() {
        for (text, expected) in [
            ("a\tb\nc", "a\tb\nc"),
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}x\u{1b}]8;;u\u{1b}\\y", "xy"),
            ("\u{1b}(Bx\u{1b}cy", "xy"),
            ("10%\r50%\r100%\ndone", "100%\ndone"),
            ("a\r\nb\r\r\n", "a\nb\n"),
            ("nul\0 bell\u{7} c1\u{9b} del\u{7f}", "nul bell c1 del"),
            ("cut \u{1b}[3", "cut "),
            ("open \u{1b}]0;title\nnext", "open \nnext"),
        ] {
            assert_eq!(plain(text), expected, "{text:?}");
        }
    }
}
