//! What lists tell of sessions.

use std::path::PathBuf;

use serde::Serialize;
use tiller_core::id::SessionId;
use tiller_core::unit::{Tokens, UnixMs, Usd};

use super::log_record::LogRecord;
use super::scan::Stamp;
use crate::error::SessionError;

/// What a list shows of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionSummary {
    /// The file.
    pub path: PathBuf,
    /// The session's id.
    pub id: SessionId,
    /// The working directory it belongs to: the last one it was gone on with in.
    pub cwd: String,
    /// Its name, if it got one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The first thing the user said, at most its first thousand characters.
    pub first_prompt: Option<String>,
    /// How many entries it has, on all branches.
    pub entries: usize,
    /// How many of them are messages.
    pub messages: usize,
    /// Tokens of all branches together.
    pub tokens: Tokens,
    /// What they cost.
    pub cost: Usd,
    /// When the file was last written to.
    pub modified: UnixMs,
    /// When the newest entry says it was made.
    pub last_activity: UnixMs,
    /// Who answers, as `provider/model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The repository's origin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// The log it was forked from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
    /// Length of the file.
    pub bytes: u64,
}

/// What a look through the logs found.
#[derive(Debug, Default)]
pub struct SessionList {
    /// The sessions, the one written to last first.
    pub sessions: Vec<SessionSummary>,
    /// Files that look like logs and can't be read as such, with the reason.
    pub unreadable: Vec<SessionError>,
    /// Whether there are sessions after these.
    pub more: bool,
}

/// A part of a list; the default is all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageRequest {
    /// How many of the newest to pass over.
    pub offset: usize,
    /// How many to list at most.
    pub limit: Option<usize>,
}

impl SessionSummary {
    pub(super) fn new(path: PathBuf, stamp: &Stamp, digest: LogRecord) -> Self {
        Self {
            path,
            id: SessionId::new(digest.id),
            cwd: digest.cwd,
            name: digest.name,
            first_prompt: digest.first_prompt,
            entries: digest.sums.entries,
            messages: digest.sums.messages,
            tokens: digest.sums.tokens,
            cost: digest.sums.cost,
            modified: stamp.modified(),
            last_activity: digest.last_activity,
            model: digest.model,
            remote: digest.remote,
            parent_session: digest.parent_session,
            bytes: stamp.size,
        }
    }

    /// What a list calls it: its name, or what was said first.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.name.as_deref().or(self.first_prompt.as_deref())
    }
}
