//! Command patterns, which "allow for this session" uses. A pattern covers the same program and subcommand
//! with other operands, and with options that are known to be harmless. [`TABLE`] lists the commands for
//! which this is safe; any other command is allowed only verbatim.

use std::fmt;

use super::risk::CommandContext;
use super::shell;

mod command_pattern;
mod table;
#[cfg(test)]
mod tests;

pub use command_pattern::CommandPattern;
use command_pattern::{Operands, Options, ScriptName};
use table::{GLOBAL_OPTIONS, TABLE, UNIVERSAL_OPTIONS};

/// The part of a command that a session rule covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoveredCommand {
    pattern: &'static CommandPattern,
    /// The script or target, if the pattern has one.
    name: Option<String>,
}

impl fmt::Display for CoveredCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.pattern.command)?;
        if let Some(name) = &self.name {
            write!(f, "{name} ")?;
        }
        self.pattern.fmt(f)
    }
}

impl CoveredCommand {
    /// Returns the program and its subcommands.
    pub(super) const fn command(&self) -> &'static str {
        self.pattern.command
    }
}

impl CommandPattern {
    /// Finds the pattern that covers all words of a line; `None` if any part of the line may do more than the
    /// pattern covers.
    pub(super) fn find(line: &str, context: CommandContext<'_>) -> Option<CoveredCommand> {
        let words = shell::simple_words(line)?;
        let (program, rest) = words.split_first()?;
        let global =
            GLOBAL_OPTIONS.iter().find(|(name, _)| name == program).map_or("", |(_, options)| options);
        let global_count =
            rest.iter().take_while(|word| split_options(global).any(|option| option == *word)).count();
        let rest = &rest[global_count..];
        TABLE.iter().find_map(|pattern| {
            let mut names = pattern.command.split(' ');
            let subcommands = names.clone().count() - 1;
            let is_match = names.next() == Some(program)
                && rest.len() >= subcommands
                && names.eq(rest[..subcommands].iter());
            let operands = rest.get(subcommands..).filter(|_| is_match)?;
            let (name, operands) = match (pattern.name, operands) {
                (ScriptName::None, all) => (None, all),
                (ScriptName::Fixed, [name, operands @ ..]) if is_plain_name(name) => {
                    (Some(name.clone()), operands)
                }
                (ScriptName::Fixed, _) => return None,
            };
            pattern.cover_all(operands, context).then_some(CoveredCommand { pattern, name })
        })
    }

    fn cover_all(&self, words: &[String], context: CommandContext<'_>) -> bool {
        let operands = words.iter().filter(|word| !word.starts_with('-')).count();
        let is_count_allowed = match self.operands {
            Operands::Text | Operands::Names => true,
            Operands::Single => operands <= 1,
            Operands::None => operands == 0,
        };
        is_count_allowed && words.iter().all(|word| self.covers(word, context))
    }

    /// Returns true if a word is covered. A word that may name a credential file isn't, because the user
    /// didn't see it in the approved command.
    fn covers(&self, word: &str, context: CommandContext<'_>) -> bool {
        let is_harmless =
            if word.starts_with('-') { self.options.cover(word) } else { self.operands.cover(word) };
        is_harmless && !context.names_secret(word)
    }
}

impl Operands {
    fn cover(self, word: &str) -> bool {
        let is_upper = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let sets_variable =
            || word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && name.chars().all(is_upper));
        match self {
            Self::Text => true,
            Self::None => false,
            Self::Names | Self::Single => !word.starts_with('@') && !word.contains("://") && !sets_variable(),
        }
    }
}

/// Returns true for a word that can only be the name of a script or a target.
pub(super) fn is_plain_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphanumeric())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_:.".contains(c))
}

fn split_options(options: &str) -> impl Iterator<Item = &str> {
    options.split_ascii_whitespace()
}

impl Options {
    /// Returns true if a word that starts with `-` consists of harmless options. The position doesn't matter:
    /// words after `--` and values of other options are checked in the same way.
    fn cover(self, word: &str) -> bool {
        let (options, is_joined) = match self {
            Self::Any => return true,
            Self::Joined(options) => (options, true),
            Self::Whole(options) => (options, false),
        };
        let options = || split_options(UNIVERSAL_OPTIONS).chain(split_options(options));
        let is_number = word.len() > 1 && word[1..].chars().all(|c| c.is_ascii_digit());
        let is_listed = options().any(|option| match option.strip_suffix('=') {
            Some(name) => {
                word.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
            }
            None => word == option || (option == "-#" && is_number),
        });
        is_listed || (is_joined && !word.starts_with("--") && covers_joined(&word[1..], options))
    }
}

/// Returns true if all joined short options in a word are listed, up to one that takes the rest as its value.
fn covers_joined<'a, I: Iterator<Item = &'a str>>(letters: &str, options: impl Fn() -> I) -> bool {
    for letter in letters.chars() {
        if !letter.is_ascii_alphanumeric() {
            return false;
        }
        let mut listed =
            options().filter(|option| option.chars().skip(1).eq([letter]) || is_valued(option, letter));
        match listed.next() {
            Some(option) if is_valued(option, letter) => return true,
            Some(_) => {}
            None => return false,
        }
    }
    !letters.is_empty()
}

fn is_valued(option: &str, letter: char) -> bool {
    option.chars().skip(1).eq([letter, '='])
}
