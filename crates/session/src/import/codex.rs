//! Codex CLI's logs: `<home>/sessions/**/rollout-*.jsonl`.
//!
//! They hold two histories: what the model was given and gave (`response_item`), and what the screen was told
//! (`event_msg`). The first becomes the messages; of the second only what the first lacks is taken: usage, names, what was
//! aborted, failed or rolled back. The log is a line, not a tree; going back some turns makes a branch. What is known of
//! the format is in docs/import.md.

mod answer;
mod convert;
mod item;

use serde_json::Value;
use tiller_core::unit::UnixMs;
use tiller_files as files;

use super::source::{self, Source, text};
use super::warning::ImportWarnings;
use super::{About, End, Look, SourceFormat, Work};
use crate::error::SessionError;

/// Largest list of names that is read, in bytes.
const NAMES_LIMIT: u64 = 64 * 1024 * 1024;

/// Codex's list of names, beside the folders of its logs.
const NAMES: &str = "session_index.jsonl";

/// How far above a log that list may be: `sessions/2026/11/21/rollout-….jsonl`.
const NAMES_ABOVE: usize = 6;

/// What a log says of itself.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) about: About,
    provider: String,
    /// The name in Codex's list.
    listed_name: Option<String>,
}

impl Plan {
    pub(super) fn make(source: &Source) -> Result<Look, SessionError> {
        let (mut meta, mut first_time) = (None, None);
        source.scan(|line| {
            let read = line.bytes().and_then(|bytes| source::parse(bytes).ok());
            if let Some((value, _)) = read {
                first_time = first_time.or_else(|| text(&value, "timestamp").and_then(UnixMs::from_iso));
                if text(&value, "type") == Some("session_meta") {
                    // A fork copies the lines of the session it is from, its `session_meta` among them: the first counts.
                    meta = value.get("payload").cloned();
                }
            }
            meta.is_none()
        })?;
        let meta = meta.unwrap_or(Value::Null);
        if meta.pointer("/source/subagent").is_some() {
            return Ok(Look::Nothing(Some(SourceFormat::Codex), "the log of a sub-agent"));
        }
        let stem = source.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let session = text(&meta, "id").map_or(stem, str::to_owned);
        let start = text(&meta, "timestamp").and_then(UnixMs::from_iso).or(first_time);
        let about = About {
            origin: SourceFormat::Codex,
            version: text(&meta, "cli_version").map(str::to_owned),
            cwd: text(&meta, "cwd").unwrap_or_default().to_owned(),
            start: start.unwrap_or_default(),
            session,
        };
        let provider = text(&meta, "model_provider").unwrap_or("openai").to_owned();
        let listed_name = listed_name(source, &about.session);
        Ok(Look::Plan(super::Plan::Codex(Self { about, provider, listed_name })))
    }

    pub(super) fn convert(&self, work: &mut Work<'_, '_>) -> Result<End, SessionError> {
        let end = convert::walk(work, &self.provider)?;
        Ok(End { name: end.name.or_else(|| self.listed_name.clone()), ..end })
    }
}

/// The name that Codex's list has for a session; the last one counts.
fn listed_name(source: &Source, session: &str) -> Option<String> {
    let list = source.path.ancestors().skip(1).take(NAMES_ABOVE).map(|folder| folder.join(NAMES));
    let bytes = list.into_iter().find_map(|path| files::read(&path, NAMES_LIMIT).ok())?;
    let lines = bytes.split(|&byte| byte == b'\n').rev();
    let named = |line: &[u8]| {
        let (value, _) = source::parse(line).ok()?;
        let is_this = text(&value, "id") == Some(session);
        text(&value, "thread_name").filter(|name| is_this && !name.is_empty()).map(str::to_owned)
    };
    lines.into_iter().find_map(named)
}

/// Reads a source from its first line on.
fn lines(
    source: &Source,
    notes: &mut ImportWarnings,
    mut visit: impl FnMut(source::Span, &Value, &mut ImportWarnings) -> Result<(), SessionError>,
) -> Result<(), SessionError> {
    source.objects(notes, |span, line, notes| match line {
        Some(line) => visit(span, &line, notes),
        None => Ok(()),
    })
}
