//! The commands of a shell command line.

mod braces;
mod parser;
mod plain;
mod segment;
mod words;

pub(super) use parser::parse;
pub(super) use plain::{ControlOperator, PlainCommand, plain_commands};
pub(super) use segment::{Segment, SelfCall, UnparsedLine};
pub(super) use words::{SUBSTITUTION, WILDCARDS};

/// Lists the commands of a line; none if the line isn't valid shell syntax.
pub(super) fn segments(line: &str) -> Vec<Segment> {
    parse(line).unwrap_or_default()
}

/// Characters with which a shell does more than run one command with plain arguments.
const METACHARACTERS: &str = ";&|<>()`$\\{}!#";

/// Metacharacters that are plain text in double quotes.
const PLAIN_IN_DOUBLE_QUOTES: &str = "|()";

/// Returns true for a line with an unquoted metacharacter, a control character, or an unclosed quote.
fn has_metacharacter(line: &str) -> bool {
    let mut quote = None;
    for c in line.chars() {
        let is_meta = match (quote, c) {
            (_, c) if c.is_control() => c != '\t',
            (None, '\'' | '"') => {
                quote = Some(c);
                false
            }
            (Some(open), _) if open == c => {
                quote = None;
                false
            }
            (Some('\''), _) => false,
            (Some(_), c) if PLAIN_IN_DOUBLE_QUOTES.contains(c) => false,
            (Some(_) | None, c) => METACHARACTERS.contains(c),
        };
        if is_meta {
            return true;
        }
    }
    quote.is_some()
}

/// Returns the words of a line that is one command with plain arguments. Returns `None` for lists, pipes,
/// redirections, substitutions, assignments, and wildcards that may become options or lead out of the
/// directory.
pub(super) fn simple_words(line: &str) -> Option<Vec<String>> {
    if has_metacharacter(line) {
        return None;
    }
    if has_risky_wildcard(line) {
        return None;
    }
    let mut segments = segments(line);
    let segment = segments.pop().filter(|_| segments.is_empty())?;
    (!segment.words.first()?.contains('=')).then_some(segment.words)
}

/// Returns true if a wildcard starts a word, which may become an option (a file can be named `--output=x`),
/// or is in a path that is absolute, leads upward or is hidden. The line has no escapes outside of single
/// quotes.
fn has_risky_wildcard(line: &str) -> bool {
    any_wildcard(line, is_risky_before_wildcard)
}

/// Quotes words for a line; `None` for a word with both kinds of quotes.
pub(super) fn quote_words<'a>(words: impl Iterator<Item = &'a str>) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,@%+".contains(c);
    let quoted = words.map(|word| match word {
        word if !word.is_empty() && word.chars().all(plain) => Some(word.to_owned()),
        word if !word.contains('\'') => Some(format!("'{word}'")),
        word if !word.contains(['"', '\\']) => Some(format!("\"{word}\"")),
        _ => None,
    });
    quoted.collect::<Option<Vec<_>>>().map(|words| words.join(" "))
}

/// Returns true for an unquoted wildcard after a word prefix for which `is_match` returns true.
fn any_wildcard(line: &str, is_match: impl Fn(&str) -> bool) -> bool {
    let mut quote = None;
    let mut word = String::new();
    for c in line.chars() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, ' ' | '\t' | '\n') => word.clear(),
            (None, '*' | '?' | '[') if is_match(&word) => return true,
            (None | Some(_), _) => word.push(c),
        }
    }
    false
}

fn is_risky_before_wildcard(word: &str) -> bool {
    let rest = word.strip_prefix("./").unwrap_or(word);
    word.is_empty() || rest.starts_with(['/', '~', '.']) || rest.contains("/.")
}

#[cfg(test)]
mod tests;
