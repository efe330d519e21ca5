//! Session summaries and pages for lists.

use std::path::PathBuf;

use serde::Serialize;
use tiller_core::id::SessionId;
use tiller_core::unit::{Tokens, UnixMs, Usd};

use super::log_record::LogRecord;
use super::scan::FileStamp;
use crate::error::SessionError;

/// Summary of a session for lists.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionSummary {
    /// The file.
    pub path: PathBuf,
    /// The session's id.
    pub id: SessionId,
    /// The working directory it belongs to: the one it was last used in.
    pub cwd: String,
    /// Its name, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The first user message, at most 1,000 characters.
    pub first_prompt: Option<String>,
    /// Number of entries on all branches.
    pub entries: usize,
    /// Number of messages among them.
    pub messages: usize,
    /// Tokens of all branches.
    pub tokens: Tokens,
    /// Cost of all branches.
    pub cost: Usd,
    /// The time at which the file was last written to.
    pub modified: UnixMs,
    /// Timestamp of the newest entry.
    pub last_activity: UnixMs,
    /// The model, as `provider/model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The `origin` URL of the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// The log it was forked from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
    /// Length of the file in bytes.
    pub bytes: u64,
}

/// A list of sessions.
#[derive(Debug, Default)]
pub struct SessionList {
    /// The sessions, most recently written first.
    pub sessions: Vec<SessionSummary>,
    /// Errors of files that can't be read as logs, and of directories that can't be listed.
    pub unreadable: Vec<SessionError>,
    /// True if more sessions follow.
    pub more: bool,
}

/// A page of a list; the default page is the entire list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageRequest {
    /// Number of the newest sessions to skip.
    pub offset: usize,
    /// Maximum number of sessions; `None` for all.
    pub limit: Option<usize>,
}

impl SessionSummary {
    pub(super) fn new(path: PathBuf, stamp: &FileStamp, record: LogRecord) -> Self {
        Self {
            path,
            id: SessionId::new(record.id),
            cwd: record.cwd,
            name: record.name,
            first_prompt: record.first_prompt,
            entries: record.totals.entries,
            messages: record.totals.messages,
            tokens: record.totals.tokens,
            cost: record.totals.cost,
            modified: stamp.modified(),
            last_activity: record.last_activity,
            model: record.model,
            remote: record.remote,
            parent_session: record.parent_session,
            bytes: stamp.size,
        }
    }

    /// Returns the title for lists: the name, or else the first prompt.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.name.as_deref().or(self.first_prompt.as_deref())
    }
}
