//! Text from outside made harmless: no escape sequence, no control character, no invisible reordering gets through.

use std::borrow::Cow;

use unicode_width::UnicodeWidthStr;

/// Columns from one tab stop to the next.
const TAB: usize = 4;

/// What a carriage return inside a line does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carriage {
    /// It is shown: in files and diffs it is something to see.
    Shown,
    /// It begins the line again, as on a terminal: of a progress bar the last state stays.
    Returns,
}

/// Removes escape sequences, expands tabs, and shows control characters as glyphs. Newlines stay.
#[must_use]
pub fn clean(text: &str, carriage: Carriage) -> Cow<'_, str> {
    if text.chars().all(is_harmless) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        clean_line(line, carriage, &mut out);
        out.push_str(end);
    }
    Cow::Owned(out)
}

fn is_harmless(c: char) -> bool {
    c == '\n' || !(c.is_ascii_control() || ('\u{80}'..='\u{9f}').contains(&c) || reorders(c))
}

/// Characters that change the order in which others are drawn, and so can hide what a command does.
const fn reorders(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

fn clean_line(line: &str, carriage: Carriage, out: &mut String) {
    let line = match carriage {
        Carriage::Shown => line,
        Carriage::Returns => {
            let line = line.trim_end_matches('\r');
            line.rsplit_once('\r').map_or(line, |(_, last)| last)
        }
    };
    let start = out.len();
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => skip_escape(&mut rest),
            '\u{9b}' => skip_sequence(&mut rest),
            '\t' => {
                let column = out[start..].width();
                out.extend(std::iter::repeat_n(' ', TAB - column % TAB));
            }
            c if is_harmless(c) => out.push(c),
            c if c.is_ascii_control() => out.push(glyph(c)),
            _ => out.push('\u{fffd}'),
        }
    }
}

/// The picture of a control character: `␍` for a carriage return.
fn glyph(c: char) -> char {
    match c {
        '\u{7f}' => '␡',
        c => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
    }
}

fn skip_escape(rest: &mut std::str::Chars<'_>) {
    match rest.clone().next() {
        Some('[') => {
            rest.next();
            skip_sequence(rest);
        }
        Some(']' | 'P' | '_' | '^' | 'X') => skip_string(rest),
        Some('(' | ')' | '#' | '%') => {
            rest.nth(1);
        }
        Some(_) => {
            rest.next();
        }
        None => {}
    }
}

/// A control sequence ends with its first byte from `@` to `~`.
fn skip_sequence(rest: &mut std::str::Chars<'_>) {
    rest.find(|c| ('@'..='~').contains(c) || !c.is_ascii());
}

/// A string (a title, a link's address) ends with BEL or `ESC \`; one that doesn't ends with the line.
fn skip_string(rest: &mut std::str::Chars<'_>) {
    while let Some(c) = rest.next() {
        if c == '\u{7}' {
            return;
        }
        if c == '\u{1b}' {
            rest.next();
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_go_and_what_they_coloured_stays() {
        let text = "\u{1b}[1;31mred\u{1b}[0m \u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{1b}\\ \u{1b}(Bend";
        assert_eq!(clean(text, Carriage::Shown), "red link end");
    }

    #[test]
    fn a_lone_escape_at_the_end_of_a_line_swallows_nothing_after_it() {
        assert_eq!(clean("a\u{1b}\nb\u{1b}]0;title\nc", Carriage::Shown), "a\nb\nc");
    }

    #[test]
    fn control_characters_become_pictures() {
        assert_eq!(clean("a\r\u{8}\u{7f}\u{0}\u{85}b", Carriage::Shown), "a␍␈␡␀\u{fffd}b");
    }

    #[test]
    fn text_that_would_be_drawn_in_another_order_is_marked() {
        assert_eq!(clean("rm \u{202e}txt.a", Carriage::Shown), "rm \u{fffd}txt.a");
    }

    #[test]
    fn tabs_go_to_the_next_stop_by_columns() {
        assert_eq!(clean("\ta\tb\n日\tc", Carriage::Shown), "    a   b\n日  c");
    }

    #[test]
    fn of_a_progress_bar_the_last_state_stays() {
        assert_eq!(clean("10%\r50%\r100%\r\ndone\r\n", Carriage::Returns), "100%\ndone\n");
    }
}
