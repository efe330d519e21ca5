//! `tiller sessions show`: a branch as a transcript, as messages for the model, or as statistics.

use std::fmt;
use std::path::Path;

use serde::Serialize;
use tiller_core::counted::counted;

use super::output::{branch, print_json, print_raw, warn};
use crate::cli::failure::CliFailure;
use crate::cli::stdout::print_text;
use crate::cli::transcript;
use crate::id::{EntryId, SessionId};
use crate::message::{ModelRef, ThinkingLevel, Usage};
use crate::session::context::{Projection, request_messages};
use crate::session::{Finding, Reader};
use crate::unit::Tokens;

pub(super) fn show(reader: &Reader, as_json: bool) -> Result<(), CliFailure> {
    if as_json {
        warn(reader, &reader.findings());
        let path = reader.leaf().map(|leaf| reader.tree().path(&leaf)).unwrap_or_default();
        return print_raw(reader, path, ("", ""));
    }
    print_text(&transcript::transcript(&branch(reader)?))
}

pub(super) fn context(reader: &Reader, as_json: bool) -> Result<(), CliFailure> {
    let (projection, damaged) = projection(reader)?;
    warn(reader, &damaged);
    let request = request_messages(projection.messages.iter().map(|projected| &projected.message));
    if as_json {
        return print_json(&request);
    }
    let messages: Vec<String> = request.iter().map(|message| transcript::message(message, None)).collect();
    print_text(&(messages.join("\n") + "\n"))
}

pub(super) fn stats(reader: &Reader, as_json: bool) -> Result<(), CliFailure> {
    let stats = StatsOutput::new(reader)?;
    if as_json { print_json(&stats) } else { print_text(&stats.to_string()) }
}

fn projection(reader: &Reader) -> Result<(Projection, Vec<Finding>), CliFailure> {
    match reader.leaf() {
        Some(leaf) => Ok(reader.projection(&leaf)?),
        None => Ok((Projection::default(), Vec::new())),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StatsOutput<'a> {
    path: Option<&'a Path>,
    id: &'a SessionId,
    version: u64,
    cwd: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    entries: usize,
    branches: usize,
    leaf: Option<EntryId>,
    context_messages: usize,
    context_tokens: Tokens,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<ModelRef>,
    thinking_level: ThinkingLevel,
    usage: Usage,
    warnings: Vec<Finding>,
}

impl<'a> StatsOutput<'a> {
    fn new(reader: &'a Reader) -> Result<Self, CliFailure> {
        let (projection, damaged) = projection(reader)?;
        let header = reader.header();
        Ok(Self {
            path: reader.path(),
            id: reader.id(),
            version: header.version,
            cwd: &header.cwd,
            name: reader.name(),
            entries: reader.entry_count(),
            branches: reader.tree().branch_count(),
            leaf: reader.leaf(),
            context_messages: projection.message_count(),
            context_tokens: projection.tokens(),
            model: projection.model,
            thinking_level: projection.thinking,
            usage: reader.usage(),
            warnings: [reader.findings(), damaged].concat(),
        })
    }
}

impl fmt::Display for StatsOutput<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut row = |name: &str, value: &dyn fmt::Display| writeln!(f, "{name:<10} {value}");
        row("session", self.id)?;
        if let Some(name) = &self.name {
            row("name", name)?;
        }
        if let Some(path) = self.path {
            row("file", &format_args!("{} (version {})", path.display(), self.version))?;
        }
        row("directory", &self.cwd)?;
        if let Some(model) = &self.model {
            row("model", &format_args!("{model}, thinking {}", self.thinking_level.name()))?;
        }
        let branches = counted(self.branches, "branch", "branches");
        row("entries", &format_args!("{} on {branches}", self.entries))?;
        if let Some(leaf) = &self.leaf {
            row("leaf", leaf)?;
        }
        row(
            "context",
            &format_args!(
                "{}, {}",
                counted(self.context_messages, "message", "messages"),
                counted(self.context_tokens, "token", "tokens")
            ),
        )?;
        let Usage { input, output, cache_read, cache_write, cost, .. } = &self.usage;
        row("total", &format_args!("{}, {}", counted(self.usage.total(), "token", "tokens"), cost.total))?;
        row(
            "",
            &format_args!("{input} in, {output} out, cache read {cache_read}, cache write {cache_write}"),
        )?;
        for Finding { line, byte, what } in &self.warnings {
            row("warning", &format_args!("line {line} (byte {byte}): {what}"))?;
        }
        Ok(())
    }
}
