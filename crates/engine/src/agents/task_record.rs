//! The tasks that a session has delegated, derived from its log.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tiller_core::delegated_task::{
    BackgroundCall, BackgroundCallEnd, BackgroundTask, DelegatedTask, DelegatedTaskEnd,
};
use tiller_core::id::SessionId;
use tiller_core::unit::UnixMs;
use tiller_session::{Entry, EntryBody, Reader};

use super::log_entries::{BACKGROUND_END_TYPE, BACKGROUND_TYPE, END_TYPE, START_TYPE};

/// The newest task that a session has delegated to one agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskRecord {
    /// The record of the task's start.
    #[serde(flatten)]
    pub start: DelegatedTask,
    /// The time when the task started.
    pub since: UnixMs,
    /// The record of the task's end; `None` while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<DelegatedTaskEnd>,
}

impl TaskRecord {
    /// Returns the worktree if it is still there: its changes aren't on the branch yet.
    pub(super) fn leftover_worktree(&self) -> Option<PathBuf> {
        let dir = self.start.worktree.as_ref()?.dir.as_ref()?;
        dir.is_dir().then(|| dir.clone())
    }
}

/// The tasks that a session has delegated, one per agent, in the order in which they started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TaskRecords {
    /// The directory of the agents' logs.
    pub(super) dir: Option<PathBuf>,
    session: SessionId,
    pub(super) tasks: Vec<TaskRecord>,
    /// The calls whose background tasks the model hasn't been told about.
    pub(super) background: Vec<BackgroundCall>,
}

impl TaskRecords {
    /// Reads the tasks from a log's entries of tiller's own types.
    pub(crate) fn new(reader: &Reader, entries: &[Entry]) -> Self {
        let mut records = Self::empty(reader.id().clone(), reader.agents_dir());
        entries.iter().for_each(|entry| records.apply(&entry.body, entry.timestamp));
        records
    }

    /// Returns the records of a session without tasks.
    pub(super) fn empty(session: SessionId, dir: Option<PathBuf>) -> Self {
        Self { dir, session, tasks: Vec::new(), background: Vec::new() }
    }

    /// Applies an entry of the log, written at the given time.
    pub(crate) fn apply(&mut self, body: &EntryBody, at: UnixMs) {
        let EntryBody::Custom { custom_type, data: Some(data) } = body else { return };
        if custom_type == START_TYPE
            && let Ok(mut start) = serde_json::from_value::<DelegatedTask>(data.clone())
        {
            start.path = start.path.map(|path| self.moved(path));
            self.tasks.retain(|task| task.start.agent_id != start.agent_id);
            self.tasks.push(TaskRecord { start, since: at, end: None });
        } else if custom_type == END_TYPE
            && let Ok(end) = serde_json::from_value::<DelegatedTaskEnd>(data.clone())
            && let Some(task) = self.tasks.iter_mut().find(|task| task.start.agent_id == end.agent_id)
        {
            task.end = Some(end);
        } else if custom_type == BACKGROUND_TYPE
            && let Ok(call) = serde_json::from_value::<BackgroundCall>(data.clone())
            && call.session_id == self.session
        {
            self.background.push(call);
        } else if custom_type == BACKGROUND_END_TYPE
            && let Ok(end) = serde_json::from_value::<BackgroundCallEnd>(data.clone())
        {
            self.background.retain(|call| call.end() != end);
        }
    }

    /// Returns the current path of an agent's log if the session's log was moved. A fork keeps the paths of
    /// the other session's agents.
    fn moved(&self, path: PathBuf) -> PathBuf {
        let dir = self.dir.as_ref().filter(|dir| path.parent().and_then(Path::file_name) == dir.file_name());
        dir.zip(path.file_name()).map_or(path.clone(), |(dir, name)| dir.join(name))
    }

    pub(crate) fn all(&self) -> &[TaskRecord] {
        &self.tasks
    }

    /// Returns the background tasks that haven't started.
    pub(crate) fn waiting(&self) -> Vec<BackgroundTask> {
        let has_started = |call: &BackgroundCall, task: &BackgroundTask| {
            self.tasks.iter().any(|it| {
                it.start.tool_call_id.as_ref() == Some(&call.tool_call_id)
                    && it.start.number == Some(task.number)
            })
        };
        let waiting = |call| move |task: &&BackgroundTask| !has_started(call, task);
        self.background.iter().flat_map(|call| call.tasks.iter().filter(waiting(call)).cloned()).collect()
    }

    /// Returns true if a task has no end, or the model hasn't been told about background tasks.
    pub(crate) fn has_open(&self) -> bool {
        !self.background.is_empty() || self.tasks.iter().any(|task| task.end.is_none())
    }
}

/// Finds the task of an agent by a part of its id.
pub(super) fn find_task(tasks: &[TaskRecord], agent: &str, id: &str) -> Result<TaskRecord, String> {
    let Some(task) = tasks.iter().rev().find(|task| task.start.agent_id.matches(id)) else {
        return Err(format!("no agent with the id {id} in this session; list_agents shows the ids"));
    };
    let start = &task.start;
    if start.name != agent {
        return Err(format!("the agent with the id {id} is {}, not {agent}", start.name));
    }
    if start.path.is_none() {
        return Err("an in-memory session can't be resumed".to_owned());
    }
    Ok(task.clone())
}
