//! Command lines that a slip made a prompt of: `tiller sesions list`.
//!
//! A prompt is sent to a model, which costs money and may run things. What begins with any words at all is a prompt, though, so only
//! what is a whole command but for one letter of its first word is held back.

use anyhow::anyhow;
use clap::{Command, CommandFactory};

use super::Failure;
use super::args::Arguments;
use super::assemble::PUBLIC;
use crate::spelling;

/// Refuses words that were plainly meant as a command.
pub(super) fn refuse(words: &[String]) -> Result<(), Failure> {
    let Some(meant) = meant(words) else { return Ok(()) };
    let (said, rest) = (words.join(" "), words[1..].join(" "));
    let what = anyhow!("there is no command `{}`; did you mean `tiller {meant} {rest}`?", words[0]);
    Err(Failure::usage(what).hint(format!("`tiller -- {said}` says it to the model")))
}

/// The command that the first of these words is a slip of, if the second is one that may follow it.
fn meant(words: &[String]) -> Option<String> {
    let [first, second, ..] = words else { return None };
    let all = Arguments::command();
    let command = all.get_subcommands().find(|command| spelling::is_slip(first, command.get_name()))?;
    follows(command, second).then(|| command.get_name().to_owned())
}

fn follows(command: &Command, word: &str) -> bool {
    let takes_provider = command.get_arguments().any(|argument| argument.get_id() == "provider");
    command.get_subcommands().any(|verb| verb.get_name() == word) || takes_provider && PUBLIC.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_with_one_wrong_letter_is_understood_and_a_prompt_is_none() {
        let meant = |line: &str| meant(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for (line, expected) in [
            ("sesions list", Some("sessions")),
            ("session search the parser", Some("sessions")),
            ("sessoins list", Some("sessions")),
            ("logn anthropic", Some("login")),
            ("sesions", None),
            ("session handling is broken", None),
            ("login fails with a timeout", None),
            ("sections list", None),
            ("list sessions", None),
            ("setting up the tests", None),
        ] {
            assert_eq!(meant(line).as_deref(), expected, "{line}");
        }
    }
}
