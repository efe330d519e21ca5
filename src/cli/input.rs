//! What is said first: words of the command line, files they name, stdin.

use std::io::{ErrorKind, IsTerminal, Read};
use std::path::Path;

use anyhow::Context;

use super::Failure;
use crate::agent::{AgentError, AgentSession};
use crate::files;

/// Largest file that `@FILE`, or text that stdin, puts into a prompt, in bytes: more than any model's window holds.
const LARGEST_FILE: u64 = 16 * 1024 * 1024;

/// What is said first.
pub(super) struct FirstPrompt {
    /// What was piped in; it comes first.
    piped: String,
    /// The message.
    said: String,
}

impl FirstPrompt {
    /// Whether there is nothing to say.
    pub(super) fn is_empty(&self) -> bool {
        self.piped.is_empty() && self.said.is_empty()
    }

    /// Whether there is a message besides piped text.
    pub(super) fn has_message(&self) -> bool {
        !self.said.is_empty()
    }

    /// The whole of it.
    pub(super) fn text(&self) -> String {
        let parts = [self.piped.as_str(), self.said.as_str()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    /// The whole of it for this agent: a message that asks for a skill or a template does so behind piped text too.
    pub(super) async fn text_for(self, agent: &AgentSession) -> Result<String, AgentError> {
        let said = if self.piped.is_empty() { self.said } else { agent.expand(self.said).await? };
        Ok(Self { said, piped: self.piped }.text())
    }
}

/// Puts the first prompt together: piped stdin, then the message with `@FILE` replaced by the file.
pub(super) fn first_prompt(words: &[String], cwd: &Path, stdin: Stdin) -> Result<FirstPrompt, Failure> {
    let mut piped = String::new();
    if stdin == Stdin::Read && !std::io::stdin().is_terminal() {
        piped = read_piped(std::io::stdin()).context("can't read stdin").map_err(Failure::usage)?;
        piped.truncate(piped.trim_end().len());
    }
    let mut said = Vec::new();
    for word in words {
        match word.strip_prefix('@').filter(|path| !path.is_empty()) {
            Some(path) => said.push(file(path, cwd)?),
            None => said.push(word.clone()),
        }
    }
    Ok(FirstPrompt { piped, said: said.join(" ") })
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
pub(super) fn text_or_file(text: &str, cwd: &Path) -> Result<String, Failure> {
    match text.strip_prefix('@') {
        Some(path) => read(path, cwd),
        None => Ok(text.to_owned()),
    }
}

fn file(path: &str, cwd: &Path) -> Result<String, Failure> {
    let text = read(path, cwd)?;
    Ok(format!("\n<file path=\"{path}\">\n{}\n</file>\n", text.trim_end()))
}

fn read(path: &str, cwd: &Path) -> Result<String, Failure> {
    let read =
        files::read_stream(&cwd.join(path), LARGEST_FILE).with_context(|| format!("{path}: can't be read"));
    read.map_err(|error| Failure::usage(error).hint("a word that begins with @ names a file to put in"))
}
