//! Parser of `.env` files (`NAME=VALUE` lines), built on dotenvy. Pure: it reads neither the environment nor
//! files.

use std::cell::Cell;
use std::io::{self, Read};

/// Stands for `$` while dotenvy parses. No variable can contain it.
const DOLLAR: char = '\0';

/// The variables of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ParsedDotenv {
    pub(super) variables: Vec<(String, String)>,
    /// The numbers, from 1, of the first lines of invalid entries. Their text isn't stored, because it may be
    /// a key.
    pub(super) invalid: Vec<usize>,
}

/// Parses `NAME=VALUE` lines: `export`, single and double quotes, `\` escapes and ` # comments` as in a
/// shell, but `$` is an ordinary character. dotenvy would replace `$NAME` with a variable of the process,
/// which may be a key.
pub(super) fn parse(text: &str) -> ParsedDotenv {
    let text = text.trim_start_matches('\u{feff}');
    // dotenvy takes a space before the end of the file for an open quote.
    let hidden = hide_dollars(text) + "\n";
    let lines: Vec<&str> = text.lines().collect();
    let read = Cell::new(0);
    let mut entries = dotenvy::from_read_iter(LineReader { rest: hidden.as_bytes(), read: &read });
    let mut parsed = ParsedDotenv::default();
    loop {
        let first = first_entry(&lines, read.get());
        match entries.next() {
            None => return parsed,
            Some(Ok((name, value))) => {
                parsed.variables.push((name, value.replace(DOLLAR, "$")));
            }
            Some(Err(_)) => parsed.invalid.push(first),
        }
    }
}

/// Describes the problem with the invalid entry that begins on this line, from 1.
pub(super) fn problem(text: &str, line: usize) -> &'static str {
    let entry: String = text.split_inclusive('\n').skip(line.saturating_sub(1)).collect();
    let has_value = entry.lines().next().is_some_and(|first| first.contains('='));
    let value = entry.split_once('=').filter(|_| has_value).map_or("", |(_, value)| value.trim_start());
    match value.chars().next() {
        Some(quote @ ('"' | '\'')) if !value[1..].contains(quote) => "the quote isn't closed",
        _ => "not NAME=VALUE (a value with spaces needs quotes)",
    }
}

/// Finds the number of the next line that is neither blank nor a comment.
fn first_entry(lines: &[&str], read: usize) -> usize {
    let is_entry = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let rest = lines.get(read..).unwrap_or_default();
    read + 1 + rest.iter().position(is_entry).unwrap_or_default()
}

/// Replaces each `$` that isn't escaped with a backslash.
fn hide_dollars(text: &str) -> String {
    let mut is_escaped = false;
    let hide = |c: char| {
        let hidden = if c == '$' && !is_escaped { DOLLAR } else { c };
        is_escaped = c == '\\' && !is_escaped;
        hidden
    };
    text.chars().map(hide).collect()
}

/// Returns at most one line per call and counts the lines, so that a buffer around it never reads ahead.
struct LineReader<'a> {
    rest: &'a [u8],
    read: &'a Cell<usize>,
}

impl Read for LineReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let end = self.rest.iter().position(|byte| *byte == b'\n').map_or(self.rest.len(), |at| at + 1);
        let (line, rest) = self.rest.split_at(end.min(buffer.len()));
        buffer[..line.len()].copy_from_slice(line);
        self.rest = rest;
        self.read.set(self.read.get() + usize::from(line.ends_with(b"\n")));
        Ok(line.len())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value(line: &str) -> String {
        match &parse(line).variables[..] {
            [(_, value)] => value.clone(),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn problem_names_an_open_quote() {
        let open = "the quote isn't closed";
        assert_eq!(problem("A=1\nK=\"abc\n", 2), open);
        assert_eq!(problem("K='abc", 1), open);
        for text in ["K=two words", "K=\"a\" b\n", "nothing"] {
            assert_eq!(parse(text).invalid, [1], "{text}");
            assert_eq!(problem(text, 1), "not NAME=VALUE (a value with spaces needs quotes)", "{text}");
        }
    }

    #[test]
    fn dotenv_comments_quotes_and_export_are_not_part_of_values() {
        for (line, expected) in [
            ("K=sk-1 # mine", "sk-1"),
            ("K=sk-1 ", "sk-1"),
            ("K=sk-1\t# mine\r\n", "sk-1"),
            ("K=sk#1", "sk#1"),
            ("export K = \"two words\" # mine", "two words"),
            ("K='x=y # z'", "x=y # z"),
            ("\u{feff}K=1", "1"),
            ("K=", ""),
            ("K=\"two\nlines\"", "two\nlines"),
        ] {
            assert_eq!(value(line), expected, "{line:?}");
        }
    }

    #[test]
    fn dotenv_dollar_is_never_replaced() {
        // PATH is set in every test; a variable of the file itself would be replaced too.
        for (line, expected) in [
            ("K=a$PATH", "a$PATH"),
            ("K=\"a${PATH}b\"", "a${PATH}b"),
            ("K='a$PATH'", "a$PATH"),
            ("K=a\\$PATH", "a$PATH"),
            ("K=\"a\\\\$PATH\"", "a\\$PATH"),
            ("K='a\\$PATH'", "a\\$PATH"),
            ("K=$", "$"),
        ] {
            assert_eq!(value(line), expected, "{line:?}");
        }
        let parsed = parse("A=1\nB=$A${A}\n");
        assert_eq!(parsed.variables[1].1, "$A${A}");
    }

    #[test]
    fn dotenv_invalid_lines_are_numbered_and_the_rest_is_read() {
        let parsed = parse("# keys\nA=1\n\nnonsense\nB=\"x\ny\"\n# c\nC=two words\n1D=x\nE=5");
        let names: Vec<&str> = parsed.variables.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((names, parsed.invalid), (vec!["A", "B", "E"], vec![4, 8, 9]));
        assert_eq!(parse("A=1\n# b\nB='open\nC=3\n").invalid, [3]);
    }

    proptest! {
        #[test]
        fn dotenv_values_hold_only_what_the_file_says(text in "[A-Z=#$'\"\\\\{} \\t\\n]{0,60}") {
            let parsed = parse(&text);
            for (name, value) in &parsed.variables {
                prop_assert!(text.contains(name.as_str()));
                prop_assert!(value.chars().all(|c| text.contains(c) || c == '\n'), "{value:?}");
            }
            let lines = text.lines().count();
            prop_assert!(parsed.invalid.iter().all(|line| (1..=lines).contains(line)), "{parsed:?}");
        }
    }
}
