//! The first prompt: message arguments, the files that they mention, and stdin.

use std::io::{ErrorKind, IsTerminal, Read};
use std::path::Path;

use anyhow::Context;

use super::failure::CliFailure;
use crate::agent::{
    AgentError, AgentSession, FileToAttach, MAX_FILE_BYTES, PromptOptions, read_attachment, read_media,
};
use crate::files;
use crate::message::Image;
use crate::tool::OutputLimits;

/// The first prompt and its attachments.
pub(super) struct PromptInput {
    /// Text from stdin, which precedes the message.
    piped: String,
    message: String,
    /// The attached text files as blocks of text.
    attached: String,
    /// The attached images and PDF files.
    images: Vec<Image>,
}

impl PromptInput {
    pub(super) fn is_empty(&self) -> bool {
        self.piped.is_empty() && self.message.is_empty()
    }

    /// Returns true if there is a message besides piped text.
    pub(super) fn has_message(&self) -> bool {
        !self.message.is_empty()
    }

    /// Returns the piped text and the message, as typed.
    pub(super) fn text(&self) -> String {
        let parts = [self.piped.as_str(), self.message.as_str()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    pub(super) fn typed(&self) -> String {
        self.message.clone()
    }

    /// Returns the text, and the options with the attached files.
    pub(super) fn into_parts(self) -> (String, PromptOptions) {
        let (text, Self { attached, images, .. }) = (self.text(), self);
        (text, PromptOptions { attached, images, ..PromptOptions::default() })
    }

    /// Returns the prompt with the message's templates and skills expanded, even if it follows piped text.
    pub(super) async fn prompt_for(
        self,
        agent: &AgentSession,
    ) -> Result<(String, PromptOptions), AgentError> {
        let message = match self.piped.is_empty() {
            true => self.message,
            false => agent.expand(self.message).await?,
        };
        Ok(Self { message, ..self }.into_parts())
    }
}

/// Assembles the first prompt: piped stdin, then the message, then the files mentioned as `@FILE`.
pub(super) fn read_first_prompt(
    words: &[String],
    cwd: &Path,
    limits: OutputLimits,
    stdin: Stdin,
) -> Result<PromptInput, CliFailure> {
    let mut piped = String::new();
    if stdin == Stdin::Read && !std::io::stdin().is_terminal() {
        piped = read_piped(std::io::stdin()).context("can't read stdin").map_err(CliFailure::usage)?;
        piped.truncate(piped.trim_end().len());
    }
    let (mut message, mut attached, mut images) = (Vec::new(), Vec::new(), Vec::new());
    for word in words {
        match word.strip_prefix('@').filter(|path| !path.is_empty()) {
            Some(path) => {
                match unreadable(path, read_media(&cwd.join(path)))? {
                    Some(image) => images.push(image),
                    None => attached.push(attach(path, cwd, limits)?),
                }
                message.push(mention(path));
            }
            None => message.push(word.clone()),
        }
    }
    Ok(PromptInput { piped, message: message.join(" "), attached: attached.join("\n\n"), images })
}

/// Formats a path as a message mentions it.
fn mention(path: &str) -> String {
    if path.contains(char::is_whitespace) { format!("@\"{path}\"") } else { format!("@{path}") }
}

/// Reads text up to the size limit of an attached file.
fn read_piped(input: impl Read) -> std::io::Result<String> {
    let mut text = String::new();
    let read = input.take(MAX_FILE_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| match error.kind() {
        ErrorKind::InvalidData => std::io::Error::new(error.kind(), "not UTF-8 text"),
        _ => error,
    })?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(std::io::Error::new(ErrorKind::FileTooLarge, "larger than the limit of 16 MiB"));
    }
    Ok(text)
}

/// The use of piped stdin.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stdin {
    Read,
    Ignore,
}

/// Returns the text, or the content of the file for `@FILE`.
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
    unreadable(path, files::read_stream(&cwd.join(path), MAX_FILE_BYTES))
}

fn unreadable<T>(path: &str, read: std::io::Result<T>) -> Result<T, CliFailure> {
    read.map_err(|error| {
        let is_missing = error.kind() == ErrorKind::NotFound;
        let failure = CliFailure::usage(anyhow::Error::new(error).context(format!("can't read {path}")));
        match is_missing {
            true => failure.hint("an argument that begins with @ is read as a file name"),
            false => failure,
        }
    })
}
