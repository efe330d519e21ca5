//! What is said first: words of the command line, files they name, stdin.

use std::io::{IsTerminal, Read};
use std::path::Path;

use anyhow::Context;

use super::Failure;

/// Puts the first prompt together: piped stdin, then the message with `@FILE` replaced by the file. Empty when there is
/// nothing to say.
pub(super) fn first_prompt(words: &[String], cwd: &Path, stdin: Stdin) -> Result<String, Failure> {
    let mut parts = Vec::new();
    if stdin == Stdin::Read && !std::io::stdin().is_terminal() {
        let mut piped = String::new();
        std::io::stdin().read_to_string(&mut piped).context("can't read stdin").map_err(Failure::usage)?;
        parts.push(piped.trim_end().to_owned());
    }
    let mut said = Vec::new();
    for word in words {
        match word.strip_prefix('@').filter(|path| !path.is_empty()) {
            Some(path) => said.push(file(path, cwd)?),
            None => said.push(word.clone()),
        }
    }
    parts.push(said.join(" "));
    parts.retain(|part| !part.is_empty());
    Ok(parts.join("\n\n"))
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
    let read = std::fs::read_to_string(cwd.join(path)).with_context(|| format!("{path}: can't be read"));
    read.map_err(|error| Failure::usage(error).hint("a word that begins with @ names a file to put in"))
}
