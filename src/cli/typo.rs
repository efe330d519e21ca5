//! Command lines that look like a subcommand but aren't one: `tiller plugins`, `tiller update`, `tiller
//! sesions list`.
//!
//! A prompt is sent to a model, which costs money and may run commands. Therefore one or two plain words are
//! refused if the first is in [`WORDS`] or is a misspelled command; so is a longer line that starts with a
//! misspelled command and a word that may follow that command. An argument with a space, such as a quoted
//! prompt, is never a plain word, and anything is accepted after `--`.
//!
//! A session option is unknown after `race` and `serve`; the error says where it belongs.

use std::ffi::OsString;

use anyhow::anyhow;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};

use super::args::CliArgs;
use super::failure::CliFailure;
use crate::provider::descriptor::ProviderDescriptor;
use crate::suggest;

/// Names of subcommands in this and similar programs, each with tiller's equivalent.
const WORDS: &[(&str, Option<&str>)] = &[
    ("agent", Some("tiller agents list")),
    ("attach", Some("tiller --attach URL|ID")),
    ("auth", Some("tiller login")),
    ("chat", Some("tiller")),
    ("completion", Some("tiller completions SHELL")),
    ("config", Some("tiller settings")),
    ("configure", Some("tiller settings")),
    ("continue", Some("tiller -c")),
    ("diagnose", Some("tiller doctor")),
    ("exec", Some("tiller -p \"PROMPT\"")),
    ("export", Some("tiller sessions export")),
    ("extensions", None),
    ("hook", None),
    ("hooks", None),
    ("import", Some("tiller sessions import")),
    ("init", None),
    ("install", None),
    ("list", Some("tiller sessions list")),
    ("model", Some("tiller models")),
    ("permissions", None),
    ("plugin", None),
    ("plugins", None),
    ("resume", Some("tiller -r")),
    ("run", Some("tiller -p \"PROMPT\"")),
    ("server", Some("tiller serve")),
    ("session", Some("tiller sessions")),
    ("skills", None),
    ("status", None),
    ("themes", None),
    ("tools", None),
    ("uninstall", None),
    ("update", None),
    ("upgrade", None),
    ("version", Some("tiller --version")),
    ("whoami", Some("tiller login")),
];

/// Commands that take session options before their name.
const SESSION_COMMANDS: &[&str] = &["race", "serve"];

/// Minimum length of a command that is checked for misspellings: shorter ones are a letter away from too many
/// words.
const MIN_COMMAND_LENGTH: usize = 4;

/// Maximum number of words in a line that is refused because of its first word alone.
const MAX_WORDS: usize = 2;

/// A refused command line.
#[derive(Debug, PartialEq, Eq)]
struct TypoRefusal {
    /// The command line to use instead.
    suggestion: Option<String>,
}

/// Refuses words that were probably intended as a command.
pub(super) fn refuse(words: &[String]) -> Result<(), CliFailure> {
    let Some(TypoRefusal { suggestion }) = refusal(words) else { return Ok(()) };
    let suggestion =
        suggestion.map(|suggestion| format!("; did you mean `{suggestion}`?")).unwrap_or_default();
    let error = anyhow!("unknown command `{}`{suggestion}", words[0]);
    let hint =
        format!("`tiller -- {}` sends this as a prompt; `tiller --help` lists the commands", words.join(" "));
    Err(CliFailure::usage(error).hint(hint))
}

/// Replaces clap's tip about a session option that was given after one of [`SESSION_COMMANDS`].
pub(super) fn explain_order(error: &mut clap::Error, arguments: &[OsString]) {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg).cloned() else { return };
    let command = SESSION_COMMANDS.iter().find(|command| arguments.iter().any(|word| word == *command));
    let (ErrorKind::UnknownArgument, Some(command)) = (error.kind(), command) else { return };
    let is_known = CliArgs::command().get_arguments().any(|argument| {
        let (long, short) = (argument.get_long(), argument.get_short());
        long.is_some_and(|long| option == format!("--{long}"))
            || short.is_some_and(|short| option == format!("-{short}"))
    });
    if is_known {
        let tip = format!("session options come before `{command}`, as in `tiller {option} … {command} …`");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
}

fn refusal(words: &[String]) -> Option<TypoRefusal> {
    let (first, rest) = words.split_first()?;
    let is_short = words.len() <= MAX_WORDS && words.iter().all(|word| is_plain(word));
    let word = first.to_lowercase();
    if is_short && let Some((_, suggestion)) = WORDS.iter().find(|(typo, _)| *typo == word) {
        return Some(TypoRefusal { suggestion: suggestion.map(str::to_owned) });
    }
    let command_line = CliArgs::command();
    let mut commands =
        command_line.get_subcommands().filter(|command| command.get_name().len() >= MIN_COMMAND_LENGTH);
    let command = commands.find(|command| suggest::is_typo(&word, command.get_name()))?;
    let is_followed = rest.first().is_some_and(|second| follows(command, second));
    (is_short || is_followed).then(|| TypoRefusal { suggestion: Some(valid_line(command.get_name(), rest)) })
}

/// Returns the command line of a command with as many of the words as it accepts.
fn valid_line(command: &str, words: &[String]) -> String {
    let line = |count: usize| {
        let words = words[..count].iter().map(String::as_str);
        ["tiller", command].into_iter().chain(words).collect::<Vec<_>>()
    };
    let is_accepted = |count: &usize| match CliArgs::command().try_get_matches_from(line(*count)) {
        Ok(_) => true,
        // The user will add it.
        Err(error) => matches!(
            error.kind(),
            ErrorKind::MissingRequiredArgument
                | ErrorKind::MissingSubcommand
                | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        ),
    };
    let count = (0..=words.len()).rev().find(is_accepted).unwrap_or_default();
    line(count).join(" ")
}

/// Returns true for a word as in subcommands and their arguments: no spaces, no `@FILE`, no punctuation of a
/// sentence, except in a URL, which may contain a token.
fn is_plain(word: &str) -> bool {
    let is_url = word.starts_with("http://") || word.starts_with("https://");
    is_url || !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_./:".contains(c))
}

fn follows(command: &Command, word: &str) -> bool {
    let takes_provider = command.get_arguments().any(|argument| argument.get_id() == "provider");
    command.get_subcommands().any(|verb| verb.get_name() == word)
        || takes_provider && ProviderDescriptor::find(word).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn refuse_subcommand_lookalike_is_refused() {
        for (line, suggestion) in [
            ("plugins", None),
            ("Plugins", None),
            ("update", None),
            ("config set", Some("tiller settings")),
            ("attach", Some("tiller --attach URL|ID")),
            ("attach 46Y3GH", Some("tiller --attach URL|ID")),
            ("attach http://127.0.0.1:4747/api/sessions/x?token=y", Some("tiller --attach URL|ID")),
            ("version", Some("tiller --version")),
            ("sesions", Some("tiller sessions")),
            ("model opus", Some("tiller models")),
            ("sesions lst", Some("tiller sessions")),
            ("session search the parser", Some("tiller sessions search the parser")),
            ("sessoins list", Some("tiller sessions list")),
            ("logn anthropic", Some("tiller login anthropic")),
            ("logn anthropic now please", Some("tiller login anthropic")),
            ("sesions show", Some("tiller sessions show")),
        ] {
            let expected = TypoRefusal { suggestion: suggestion.map(str::to_owned) };
            assert_eq!(refusal(&words(line)), Some(expected), "{line}");
        }
    }

    #[test]
    fn refuse_prompt_is_accepted() {
        for line in [
            "session handling is broken",
            "login fails with a timeout",
            "sections list",
            "list all sessions",
            "setting up the tests",
            "update the docs",
            "attach the log",
            "why?",
            "map",
            "run @tests.md",
            "explain",
        ] {
            assert_eq!(refusal(&words(line)), None, "{line}");
        }
        for quoted in ["update the docs", "doctor who", "mcp list"] {
            assert_eq!(refusal(&[quoted.to_owned()]), None, "{quoted}");
        }
        assert_eq!(refusal(&[]), None);
    }

    #[test]
    fn refuse_word_list_is_sorted_and_has_no_commands() {
        let command_line = CliArgs::command();
        let names: Vec<&str> = WORDS.iter().map(|(word, _)| *word).collect();
        assert!(names.is_sorted(), "{names:?}");
        for command in command_line.get_subcommands() {
            assert!(!names.contains(&command.get_name()), "{} is a command", command.get_name());
        }
    }
}
