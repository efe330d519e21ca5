//! Codex CLI's logs: `<home>/sessions/**/rollout-*.jsonl`.
//!
//! They contain two histories: the model's (`response_item`) and the screen's (`event_msg`). The first
//! becomes the messages; the second only adds missing data: usage, names, aborts, failures and rollbacks. The
//! log is linear, not a tree; a rollback starts a branch. The format is described in docs/import.md.

mod answer;
mod convert;
mod item;

use serde_json::Value;
use tiller_core::unit::UnixMs;
use tiller_files as files;

use super::conversion::{ConversionContext, Inspection};
use super::detect::SourceFormat;
use super::entry_builder::ConversionEnd;
use super::source::{self, SourceLog, text};
use super::source_info::SourceInfo;
use crate::error::SessionError;

/// Maximum size of Codex's list of names, in bytes.
const NAME_LIST_LIMIT: u64 = 64 * 1024 * 1024;

/// Codex's list of session names, in a directory above the logs.
const NAME_LIST: &str = "session_index.jsonl";

/// Number of parent directories to search for the list: `sessions/2026/11/21/rollout-….jsonl`.
const NAME_LIST_DEPTH: usize = 6;

/// The metadata of a log.
#[derive(Debug)]
pub(super) struct CodexPlan {
    pub(super) info: SourceInfo,
    provider: String,
    /// The name in Codex's list.
    listed_name: Option<String>,
}

impl CodexPlan {
    pub(super) fn inspect(source: &SourceLog) -> Result<Inspection<Self>, SessionError> {
        let (mut meta, mut first_time) = (None, None);
        source.scan(|line| {
            let read = line.bytes().and_then(|bytes| source::parse(bytes).ok());
            if let Some((value, _)) = read {
                first_time = first_time.or_else(|| text(&value, "timestamp").and_then(UnixMs::from_iso));
                if text(&value, "type") == Some("session_meta") {
                    // A fork copies its parent's lines including `session_meta`; its own is the first one.
                    meta = value.get("payload").cloned();
                }
            }
            meta.is_none()
        })?;
        let meta = meta.unwrap_or(Value::Null);
        if meta.pointer("/source/subagent").is_some() {
            return Ok(Inspection::Skip(Some(SourceFormat::Codex), "log of a sub-agent"));
        }
        let stem = source.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let session = text(&meta, "id").map_or(stem, str::to_owned);
        let start = text(&meta, "timestamp").and_then(UnixMs::from_iso).or(first_time);
        let info = SourceInfo {
            origin: SourceFormat::Codex,
            version: text(&meta, "cli_version").map(str::to_owned),
            cwd: text(&meta, "cwd").unwrap_or_default().to_owned(),
            start: start.unwrap_or_default(),
            session,
        };
        let provider = text(&meta, "model_provider").unwrap_or("openai").to_owned();
        let listed_name = listed_name(source, &info.session);
        Ok(Inspection::Plan(Self { info, provider, listed_name }))
    }

    pub(super) fn convert(
        &self,
        context: &mut ConversionContext<'_, '_>,
    ) -> Result<ConversionEnd, SessionError> {
        let end = convert::convert(context, &self.provider)?;
        Ok(ConversionEnd { name: end.name.or_else(|| self.listed_name.clone()), ..end })
    }
}

/// Finds the name of a session in Codex's list, where the last one counts.
fn listed_name(source: &SourceLog, session: &str) -> Option<String> {
    let list = source.path.ancestors().skip(1).take(NAME_LIST_DEPTH).map(|dir| dir.join(NAME_LIST));
    let bytes = list.into_iter().find_map(|path| files::read(&path, NAME_LIST_LIMIT).ok())?;
    let lines = bytes.split(|&byte| byte == b'\n').rev();
    let named = |line: &[u8]| {
        let (value, _) = source::parse(line).ok()?;
        let is_this = text(&value, "id") == Some(session);
        text(&value, "thread_name").filter(|name| is_this && !name.is_empty()).map(str::to_owned)
    };
    lines.into_iter().find_map(named)
}
