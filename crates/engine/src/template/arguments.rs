//! Parser of a template's arguments, similar to a shell. Pure.
//!
//! Arguments are more often prose and pasted text than words for a program, so three rules differ from a
//! shell: an apostrophe within a word is literal, a quote that is never closed is literal, and so is a
//! backslash that precedes anything but a space, a quote or a backslash.

use std::iter::Peekable;
use std::str::CharIndices;

/// The arguments, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TemplateArguments {
    words: Vec<String>,
    /// Whitespace before each argument: a line break with its indentation, or one space.
    gaps: Vec<String>,
}

impl TemplateArguments {
    /// Splits a string into arguments.
    pub(super) fn parse(text: &str) -> Self {
        let mut arguments = Self::default();
        let mut chars = text.char_indices().peekable();
        loop {
            let gap = take_gap(text, &mut chars);
            if chars.peek().is_none() {
                return arguments;
            }
            arguments.words.push(take_word(text, &mut chars));
            arguments.gaps.push(gap);
        }
    }

    /// Returns an argument by its number, from 1.
    pub(super) fn at(&self, number: usize) -> Option<&str> {
        self.words.get(number.checked_sub(1)?).map(String::as_str)
    }

    /// Returns at most `count` arguments, starting with a number counted from 1, with the whitespace between
    /// them.
    pub(super) fn from(&self, number: usize, count: usize) -> String {
        let mut text = String::new();
        let chosen = self.gaps.iter().zip(&self.words).skip(number.saturating_sub(1)).take(count);
        for (at, (gap, argument)) in chosen.enumerate() {
            if at > 0 {
                text.push_str(gap);
            }
            text.push_str(argument);
        }
        text
    }

    /// Returns all arguments.
    pub(super) fn all(&self) -> String {
        self.from(1, usize::MAX)
    }
}

type Chars<'a> = Peekable<CharIndices<'a>>;

/// Consumes the whitespace before an argument.
fn take_gap(text: &str, chars: &mut Chars<'_>) -> String {
    let start = chars.peek().map_or(text.len(), |(at, _)| *at);
    while chars.next_if(|(_, c)| c.is_whitespace()).is_some() {}
    let end = chars.peek().map_or(text.len(), |(at, _)| *at);
    let gap = &text[start..end];
    if gap.contains('\n') { gap.to_owned() } else { " ".to_owned() }
}

/// Consumes an argument up to the next whitespace.
fn take_word(text: &str, chars: &mut Chars<'_>) -> String {
    let mut argument = String::new();
    let mut before = None;
    while let Some((at, c)) = chars.next_if(|(_, c)| !c.is_whitespace()) {
        let rest = &text[at + c.len_utf8()..];
        let is_apostrophe = c == '\'' && before.is_some_and(char::is_alphanumeric);
        match c {
            '\'' if !is_apostrophe && rest.contains('\'') => {
                argument.extend(chars.map_while(|(_, c)| (c != '\'').then_some(c)));
            }
            '"' if find_closing_quote(rest).is_some() => double_quoted(chars, &mut argument),
            '\\' => argument.push(take_escaped(chars).unwrap_or('\\')),
            c => argument.push(c),
        }
        before = Some(c);
    }
    argument
}

/// Returns the position of the closing double quote.
fn find_closing_quote(rest: &str) -> Option<usize> {
    let mut escaped = false;
    rest.find(|c| {
        let closes = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        closes
    })
}

fn double_quoted(chars: &mut Chars<'_>, argument: &mut String) {
    while let Some((_, c)) = chars.next() {
        match c {
            '"' => return,
            '\\' => match chars.next_if(|(_, c)| matches!(c, '"' | '\\')) {
                Some((_, escaped)) => argument.push(escaped),
                None => argument.push('\\'),
            },
            c => argument.push(c),
        }
    }
}

/// Returns the character after a backslash if the backslash escapes it.
fn take_escaped(chars: &mut Chars<'_>) -> Option<char> {
    let (_, c) = chars.next_if(|(_, c)| matches!(c, ' ' | '\t' | '"' | '\'' | '\\'))?;
    Some(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        TemplateArguments::parse(text).words
    }

    #[test]
    fn parse_arguments_are_quoted_as_in_a_shell() {
        assert_eq!(words("  a  b\tc "), ["a", "b", "c"]);
        assert_eq!(
            words(r#""two words" 'three "more" words' x"y z""#),
            ["two words", "three \"more\" words", "xy z"]
        );
        assert_eq!(words(r#"a\ b \"c\" "d \"e\" \\f" \\"#), ["a b", "\"c\"", "d \"e\" \\f", "\\"]);
        assert_eq!(words(r#""" ''"#), ["", ""]);
        assert!(words(" \n ").is_empty());
    }

    #[test]
    fn parse_prose_keeps_apostrophes_and_backslashes() {
        assert_eq!(words("it's broken, don't ask"), ["it's", "broken,", "don't", "ask"]);
        assert_eq!(words(r#"a "b c"#), ["a", "\"b", "c"]);
        assert_eq!(words(r"C:\temp \d+ 'open"), [r"C:\temp", r"\d+", "'open"]);
        assert_eq!(words("größer „als“ 🥊"), ["größer", "„als“", "🥊"]);
    }

    #[test]
    fn parse_line_breaks_between_arguments_are_kept() {
        let arguments = TemplateArguments::parse("one  two\n    three\tfour");
        assert_eq!(arguments.all(), "one two\n    three four");
        assert_eq!(arguments.from(2, 2), "two\n    three");
        assert_eq!((arguments.from(0, 1), arguments.from(5, 9)), ("one".to_owned(), String::new()));
        assert_eq!((arguments.at(4), arguments.at(5), arguments.at(0)), (Some("four"), None, None));
    }
}
