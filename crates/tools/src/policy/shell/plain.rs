//! Lines whose commands run with exactly the words that they show: joined by pipes, `&&`, `||` and `;`,
//! without substitutions, variables, groups, and redirections to files.

use brush_parser::ast::{
    AndOr, Command, CommandPrefixOrSuffixItem, CompoundList, IoFileRedirectKind, IoFileRedirectTarget,
    IoRedirect, Pipeline, SeparatorOperator, SimpleCommand, Word,
};
use brush_parser::word::{self, WordPiece, WordPieceWithSource};
use brush_parser::{Parser, ParserOptions};

/// Maximum number of commands in a line.
const MAX_COMMANDS: usize = 32;

/// The operator before a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::policy) enum ControlOperator {
    /// `;`, a line break, or none.
    Sequence,
    And,
    Or,
    Pipe,
}

/// A word whose text is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::policy) struct LiteralWord {
    pub text: String,
    /// True if the shell may replace it with the names of files.
    pub is_pattern: bool,
}

/// A command with known words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::policy) struct PlainCommand {
    pub joint: ControlOperator,
    pub words: Vec<LiteralWord>,
}

/// Lists the commands of a line; `None` if the shell may do anything else with the line.
pub(in crate::policy) fn plain_commands(line: &str) -> Option<Vec<PlainCommand>> {
    if line.chars().any(|c| c.is_control() && !['\t', '\n'].contains(&c)) {
        return None;
    }
    super::parse(line).ok()?;
    let options = ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() };
    let program = Parser::new(line.as_bytes(), &options).parse_program().ok()?;
    let mut commands = Vec::new();
    program.complete_commands.iter().try_for_each(|list| read_list(list, &options, &mut commands))?;
    (1..=MAX_COMMANDS).contains(&commands.len()).then_some(commands)
}

fn read_list(list: &CompoundList, options: &ParserOptions, commands: &mut Vec<PlainCommand>) -> Option<()> {
    list.0.iter().try_for_each(|item| {
        if matches!(item.1, SeparatorOperator::Async) {
            return None;
        }
        read_pipeline(&item.0.first, ControlOperator::Sequence, options, commands)?;
        item.0.additional.iter().try_for_each(|next| match next {
            AndOr::And(pipeline) => read_pipeline(pipeline, ControlOperator::And, options, commands),
            AndOr::Or(pipeline) => read_pipeline(pipeline, ControlOperator::Or, options, commands),
        })
    })
}

fn read_pipeline(
    pipeline: &Pipeline,
    joint: ControlOperator,
    options: &ParserOptions,
    commands: &mut Vec<PlainCommand>,
) -> Option<()> {
    if pipeline.bang || pipeline.timed.is_some() {
        return None;
    }
    pipeline.seq.iter().enumerate().try_for_each(|(at, command)| {
        let Command::Simple(simple) = command else { return None };
        let joint = if at == 0 { joint } else { ControlOperator::Pipe };
        commands.push(PlainCommand { joint, words: read_words(simple, options)? });
        Some(())
    })
}

fn read_words(simple: &SimpleCommand, options: &ParserOptions) -> Option<Vec<LiteralWord>> {
    let mut words = Vec::new();
    let mut read_item = |item: &CommandPrefixOrSuffixItem| match item {
        CommandPrefixOrSuffixItem::IoRedirect(redirect) => is_harmless(redirect, options).then_some(()),
        CommandPrefixOrSuffixItem::Word(word) => {
            words.push(read_word(word, options)?);
            Some(())
        }
        CommandPrefixOrSuffixItem::AssignmentWord(..)
        | CommandPrefixOrSuffixItem::ProcessSubstitution(..) => None,
    };
    let name = simple.word_or_name.as_ref()?;
    simple.prefix.iter().flat_map(|prefix| &prefix.0).try_for_each(&mut read_item)?;
    read_item(&CommandPrefixOrSuffixItem::Word(name.clone()))?;
    simple.suffix.iter().flat_map(|suffix| &suffix.0).try_for_each(&mut read_item)?;
    let is_assignment = words.first()?.text.contains('=');
    (!is_assignment).then_some(words)
}

/// Returns true for a redirection that drops output, or joins standard output and standard error.
fn is_harmless(redirect: &IoRedirect, options: &ParserOptions) -> bool {
    let IoRedirect::File(_, kind, target) = redirect else { return false };
    let text = match target {
        IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word) => {
            read_word(word, options).map(|word| word.text)
        }
        IoFileRedirectTarget::Fd(number) => Some(number.to_string()),
        IoFileRedirectTarget::ProcessSubstitution(..) => None,
    };
    let Some(text) = text else { return false };
    match kind {
        IoFileRedirectKind::Write | IoFileRedirectKind::Append | IoFileRedirectKind::Clobber => {
            text == "/dev/null"
        }
        IoFileRedirectKind::DuplicateOutput => ["1", "2"].contains(&&*text),
        IoFileRedirectKind::Read | IoFileRedirectKind::ReadAndWrite | IoFileRedirectKind::DuplicateInput => {
            false
        }
    }
}

/// Reads a word of plain and quoted text. A word with a wildcard has no quotes.
fn read_word(word: &Word, options: &ParserOptions) -> Option<LiteralWord> {
    let pieces = word::parse(&word.value, options).ok()?;
    let mut text = String::new();
    let mut is_pattern = false;
    for piece in &pieces {
        match &piece.piece {
            WordPiece::Text(plain) if !plain.contains(['{', '}', '[', '$', '`']) => {
                is_pattern |= plain.contains(['*', '?']);
                text.push_str(plain);
            }
            WordPiece::SingleQuotedText(quoted) => text.push_str(quoted),
            WordPiece::DoubleQuotedSequence(inner) => text.push_str(&read_quoted(inner)?),
            WordPiece::EscapeSequence(escape) => text.push_str(read_escape(escape)?),
            _ => return None,
        }
    }
    (!is_pattern || pieces.len() == 1).then_some(LiteralWord { text, is_pattern })
}

fn read_quoted(pieces: &[WordPieceWithSource]) -> Option<String> {
    pieces
        .iter()
        .map(|piece| match &piece.piece {
            WordPiece::Text(text) if !text.contains(['$', '`']) => Some(text.as_str()),
            WordPiece::EscapeSequence(escape) => read_escape(escape),
            _ => None,
        })
        .collect()
}

/// Returns the character that a backslash escapes; `None` for a line break, which the backslash removes.
fn read_escape(escape: &str) -> Option<&str> {
    escape.strip_prefix('\\').filter(|escaped| !escaped.contains('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formats the commands with their operators; a word with a wildcard is in angle brackets.
    fn listed(line: &str) -> Option<String> {
        let word = |word: &LiteralWord| match word.is_pattern {
            true => format!("<{}>", word.text),
            false => word.text.clone(),
        };
        let command = |command: &PlainCommand| {
            let words: Vec<String> = command.words.iter().map(word).collect();
            format!("{:?} {}", command.joint, words.join(" "))
        };
        Some(plain_commands(line)?.iter().map(command).collect::<Vec<_>>().join(", "))
    }

    #[test]
    fn plain_commands_known_words_are_listed() {
        for (line, expected) in [
            ("ls -l", "Sequence ls -l"),
            (
                "cd a && ls | head -3; pwd || true",
                "Sequence cd a, And ls, Pipe head -3, Sequence pwd, Or true",
            ),
            ("ls\ncat 'a b'\"c d\"\\ e", "Sequence ls, Sequence cat a bc d e"),
            ("ls x 2>/dev/null >/dev/null 2>&1", "Sequence ls x"),
            ("wc -l src/*.rs a?", "Sequence wc -l <src/*.rs> <a?>"),
            ("grep -E 'a|b$' \"x (y)\"", "Sequence grep -E a|b$ x (y)"),
        ] {
            assert_eq!(listed(line).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn plain_commands_anything_else_is_none() {
        for line in [
            "",
            "ls > x",
            "ls < x",
            "ls &",
            "ls & pwd",
            "X=1 ls",
            "X=1",
            "ls $X",
            "ls \"$X\"",
            "ls $(x)",
            "ls \"`x`\"",
            "ls ~/x",
            "ls {a,b}",
            "ls [ab]",
            "ls 'a'*",
            "ls $'a'",
            "(ls)",
            "{ ls; }",
            "! ls",
            "time ls",
            "if a; then b; fi",
            "f() { ls; }",
            "cat <<E\nx\nE",
            "cat <<< x",
            "cat <(ls)",
            "ls 'x",
            "ls 2>x",
            "ls >&x",
            "ls &>/dev/null",
        ] {
            assert_eq!(listed(line), None, "{line}");
        }
    }
}
