//! The text of a word as the policy sees it, and the command lines in its substitutions.

use brush_parser::word::{self, TildeExpr, WordPiece, WordPieceWithSource};
use brush_parser::{ParserOptions, ast};

use super::braces::{self, CLOSE, OPEN};

/// The placeholder of a substitution in a word.
pub(in crate::policy) const SUBSTITUTION: &str = "$(…)";

/// Command lines that print the current directory, and the variable with it.
const PRINTING_CURRENT: [&str; 3] = ["pwd", "pwd -L", "pwd -P"];
const CURRENT: &str = "$PWD";

/// A word without quotes, with alternatives in braces expanded, and the command lines in its substitutions.
#[derive(Debug, Default)]
pub(super) struct PlainWord {
    /// More than one text for `a{b,c}`.
    pub texts: Vec<String>,
    pub substitutions: Vec<String>,
    /// True if there is a wildcard outside of quotes.
    pub has_wildcard: bool,
}

/// Characters for which the shell inserts the names of files.
pub(in crate::policy) const WILDCARDS: [char; 3] = ['*', '?', '['];

impl PlainWord {
    /// Parses a word as it is written. Variables aren't replaced: `$X`. `$(pwd)` is the variable `$PWD`.
    pub(super) fn parse(source: &str, options: &ParserOptions) -> Option<Self> {
        let pieces = word::parse(source, options).ok()?;
        // The parser takes a `)` in a comment after two blanks for the end of a substitution.
        let has_comment = ["  #", " \t#", "\t #", "\t\t#"].iter().any(|start| source.contains(start));
        if has_comment && source.contains(['(', '`']) {
            return None;
        }
        let mut reader = WordReader::new(source, options);
        reader.read_pieces(&pieces, IsQuoted::No)?;
        let texts = braces::expand(&reader.text).into_iter().map(unmark).collect();
        Some(Self { texts, substitutions: reader.substitutions, has_wildcard: reader.has_wildcard })
    }

    /// Lists the command lines in the substitutions of text where quotes have no meaning, such as a
    /// here-document.
    pub(super) fn list_substitutions(source: &str, options: &ParserOptions) -> Option<Vec<String>> {
        let pieces = word::parse_heredoc(source, options).ok()?;
        let mut reader = WordReader::new(source, options);
        reader.read_pieces(&pieces, IsQuoted::Yes)?;
        Some(reader.substitutions)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum IsQuoted {
    No,
    Yes,
}

struct WordReader<'a> {
    source: &'a str,
    options: &'a ParserOptions,
    text: String,
    substitutions: Vec<String>,
    has_wildcard: bool,
}

impl<'a> WordReader<'a> {
    const fn new(source: &'a str, options: &'a ParserOptions) -> Self {
        Self { source, options, text: String::new(), substitutions: Vec::new(), has_wildcard: false }
    }

    fn read_pieces(&mut self, pieces: &[WordPieceWithSource], quoted: IsQuoted) -> Option<()> {
        pieces.iter().try_for_each(|piece| self.read_piece(piece, quoted))
    }

    fn read_piece(&mut self, piece: &WordPieceWithSource, quoted: IsQuoted) -> Option<()> {
        match &piece.piece {
            // The parser takes a parameter that it doesn't know for text.
            WordPiece::Text(text) if text.contains("${") => return None,
            // The alternatives of braces outside of quotes are separate words.
            WordPiece::Text(text) if quoted == IsQuoted::No => {
                self.has_wildcard |= text.contains(WILDCARDS);
                self.text.extend(text.chars().map(|c| match c {
                    '{' => OPEN,
                    '}' => CLOSE,
                    c => c,
                }));
            }
            WordPiece::Text(text) | WordPiece::SingleQuotedText(text) => self.text.push_str(text),
            WordPiece::AnsiCQuotedText(text) => self.text.push_str(&unescape(text)),
            WordPiece::DoubleQuotedSequence(inner) | WordPiece::GettextDoubleQuotedSequence(inner) => {
                self.read_pieces(inner, IsQuoted::Yes)?;
            }
            WordPiece::TildeExpansion(tilde) => self.text.push_str(&tilde_text(tilde)),
            WordPiece::ParameterExpansion(_) => {
                let written = self.source.get(piece.start_index..piece.end_index)?;
                self.text.push_str(written);
                self.read_parameter(written)?;
            }
            WordPiece::CommandSubstitution(line) | WordPiece::BackquotedCommandSubstitution(line) => {
                let is_current = PRINTING_CURRENT.contains(&line.trim());
                self.text.push_str(if is_current { CURRENT } else { SUBSTITUTION });
                self.substitutions.push(line.clone());
            }
            WordPiece::EscapeSequence(escape) => {
                self.text.push_str(escape.strip_prefix('\\').unwrap_or(escape).trim_matches('\n'));
            }
            WordPiece::ArithmeticExpression(ast::UnexpandedArithmeticExpr { value }) => {
                self.text.push_str("$((…))");
                self.substitutions.extend(PlainWord::list_substitutions(value, self.options)?);
            }
        }
        Some(())
    }

    /// Reads the substitutions in `${X:-$(line)}`.
    fn read_parameter(&mut self, written: &str) -> Option<()> {
        let inner = written.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).unwrap_or_default();
        if inner.contains(['$', '`']) {
            self.substitutions.extend(PlainWord::list_substitutions(inner, self.options)?);
        }
        Some(())
    }
}

fn tilde_text(tilde: &TildeExpr) -> String {
    match tilde {
        TildeExpr::Home => "~".into(),
        TildeExpr::UserHome(name) => format!("~{name}"),
        TildeExpr::WorkingDir => "~+".into(),
        TildeExpr::OldWorkingDir => "~-".into(),
        TildeExpr::NthDirFromTopOfDirStack { n, .. } => format!("~+{n}"),
        TildeExpr::NthDirFromBottomOfDirStack { n } => format!("~-{n}"),
    }
}

/// Returns a word as the user typed it.
fn unmark(word: String) -> String {
    word.replace(OPEN, "{").replace(CLOSE, "}")
}

/// Replaces the escapes of `$'…'` with their characters; a control character becomes a space.
fn unescape(text: &str) -> String {
    let (mut rest, mut plain) = (text, String::new());
    while let Some(c) = take(&mut rest, |_| true) {
        plain.push(if c == '\\' { take_escape(&mut rest) } else { c });
    }
    plain
}

/// Removes and returns the first character, if it matches.
fn take(rest: &mut &str, is_match: impl Fn(char) -> bool) -> Option<char> {
    let first = rest.chars().next().filter(|c| is_match(*c))?;
    *rest = &rest[first.len_utf8()..];
    Some(first)
}

/// Parses the escape after a backslash in `$'…'` and returns its character; a control character becomes a space.
fn take_escape(rest: &mut &str) -> char {
    let Some(c) = take(rest, |_| true) else { return '\\' };
    let (radix, max, first) = match c {
        'x' => (16, 2, 0),
        'u' => (16, 4, 0),
        'U' => (16, 8, 0),
        '0'..='7' => (8, 2, c.to_digit(8).unwrap_or_default()),
        'a' | 'b' | 'c' | 'e' | 'E' | 'f' | 'n' | 'r' | 't' | 'v' => return ' ',
        _ => return c,
    };
    let mut code = first;
    for _ in 0..max {
        let Some(digit) = take(rest, |next| next.is_digit(radix)) else { break };
        code = code * radix + digit.to_digit(radix).unwrap_or_default();
    }
    char::from_u32(code).filter(|c| !c.is_control()).unwrap_or(' ')
}
