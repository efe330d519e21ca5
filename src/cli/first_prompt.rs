//! What is said first: words of the command line, files they name, stdin.

use std::io::{ErrorKind, IsTerminal, Read};
use std::path::Path;

use anyhow::Context;

use super::CliFailure;
use crate::agent::{AgentError, AgentSession, FileToAttach, LARGEST_FILE, PromptOptions, read_attachment};
use crate::files;
use crate::tool::OutputLimits;

/// What is said first.
pub(super) struct FirstPrompt {
    /// What was piped in; it comes first.
    piped: String,
    /// The message.
    said: String,
    /// The files that it names, as blocks of text.
    attached: String,
}

impl FirstPrompt {
    /// Whether there is nothing to say.
    pub(super) fn is_empty(&self) -> bool {
        self.piped.is_empty() && self.said.is_empty()
    }

    /// Returns whether there is a message besides piped text.
    pub(super) fn has_message(&self) -> bool {
        !self.said.is_empty()
    }

    /// The piped text and the message, as typed.
    pub(super) fn text(&self) -> String {
        let parts = [self.piped.as_str(), self.said.as_str()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    /// The blocks of text that go with it.
    pub(super) fn attached(&self) -> String {
        self.attached.clone()
    }

    /// The message alone.
    pub(super) fn typed(&self) -> String {
        self.said.clone()
    }

    /// The whole of it for this agent: a message that asks for a skill or a template does so behind piped text too.
    pub(super) async fn prompt_for(
        self,
        agent: &AgentSession,
    ) -> Result<(String, PromptOptions), AgentError> {
        let said = if self.piped.is_empty() { self.said } else { agent.expand(self.said).await? };
        let options = PromptOptions { attached: self.attached.clone(), ..PromptOptions::default() };
        Ok((Self { said, ..self }.text(), options))
    }
}

/// Puts the first prompt together: piped stdin, then the message, with the files that `@FILE` names behind it.
pub(super) fn first_prompt(
    words: &[String],
    cwd: &Path,
    limits: OutputLimits,
    stdin: Stdin,
) -> Result<FirstPrompt, CliFailure> {
    let mut piped = String::new();
    if stdin == Stdin::Read && !std::io::stdin().is_terminal() {
        piped = read_piped(std::io::stdin()).context("can't read stdin").map_err(CliFailure::usage)?;
        piped.truncate(piped.trim_end().len());
    }
    let (mut said, mut attached) = (Vec::new(), Vec::new());
    for word in words {
        match word.strip_prefix('@').filter(|path| !path.is_empty()) {
            Some(path) => {
                attached.push(attach(path, cwd, limits)?);
                said.push(mention(path));
            }
            None => said.push(word.clone()),
        }
    }
    Ok(FirstPrompt { piped, said: said.join(" "), attached: attached.join("\n\n") })
}

/// A file's name as it is typed in a message.
fn mention(path: &str) -> String {
    if path.contains(char::is_whitespace) { format!("@\"{path}\"") } else { format!("@{path}") }
}

/// Reads text up to the limit of a file that is put into a prompt.
fn read_piped(input: impl Read) -> std::io::Result<String> {
    let mut text = String::new();
    input.take(LARGEST_FILE + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST_FILE {
        return Err(std::io::Error::new(ErrorKind::FileTooLarge, "more than 16 MiB, which is the limit"));
    }
    Ok(text)
}

/// Whether piped stdin is part of the prompt.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stdin {
    Read,
    Leave,
}

/// A text that is given as it is, or as `@FILE`.
pub(super) fn text_or_file(text: &str, cwd: &Path) -> Result<String, CliFailure> {
    match text.strip_prefix('@') {
        Some(path) => read(path, cwd),
        None => Ok(text.to_owned()),
    }
}

fn attach(path: &str, cwd: &Path, limits: OutputLimits) -> Result<String, CliFailure> {
    let file = FileToAttach { path: cwd.join(path), name: path.to_owned() };
    unreadable(path, read_attachment(&file, limits))
}

fn read(path: &str, cwd: &Path) -> Result<String, CliFailure> {
    unreadable(path, files::read_stream(&cwd.join(path), LARGEST_FILE))
}

fn unreadable(path: &str, read: std::io::Result<String>) -> Result<String, CliFailure> {
    let read = read.with_context(|| format!("{path}: can't be read"));
    read.map_err(|error| CliFailure::usage(error).hint("a word that begins with @ names a file to attach"))
}
