//! The JSON of responses, with the protocol's names. Each type borrows from the engine's. The types of the
//! session's state are in the engine's `views`.

pub(super) mod log;

use std::path::Path;

use serde::Serialize;

use crate::agent::AgentCommand;
use crate::id::{EntryId, SessionId};
use crate::session::{SearchHit, SessionList, SessionSummary, chain};

/// An agent slash command.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CommandView<'a> {
    #[serde(flatten)]
    command: &'a AgentCommand,
    source_info: SourceInfo<'a>,
}

#[derive(Serialize)]
struct SourceInfo<'a> {
    path: Option<&'a Path>,
}

impl<'a> From<&'a AgentCommand> for CommandView<'a> {
    fn from(command: &'a AgentCommand) -> Self {
        Self { command, source_info: SourceInfo { path: command.location.as_deref() } }
    }
}

/// Sessions, and the logs that can't be read.
#[derive(Serialize)]
pub(super) struct SessionListView<'a> {
    sessions: &'a [SessionSummary],
    unreadable: Vec<String>,
}

impl<'a> From<&'a SessionList> for SessionListView<'a> {
    fn from(list: &'a SessionList) -> Self {
        let unreadable = list.unreadable.iter().map(|error| chain(error)).collect();
        Self { sessions: &list.sessions, unreadable }
    }
}

/// A hit of a search.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HitView<'a> {
    session: &'a SessionSummary,
    entry_id: &'a EntryId,
    text: String,
}

impl<'a> From<&'a SearchHit> for HitView<'a> {
    fn from(hit: &'a SearchHit) -> Self {
        let text = hit.snippet.iter().map(|piece| piece.text.as_str()).collect();
        Self { session: &hit.session, entry_id: &hit.entry, text }
    }
}

/// The response to commands that open another session.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SwitchedView {
    pub(super) cancelled: bool,
    pub(super) text: String,
    pub(super) session_id: SessionId,
}
