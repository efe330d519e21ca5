//! The tasks that a session has delegated, derived from its log.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tiller_core::delegated_task::{
    BackgroundCall, BackgroundCallEnd, BackgroundTask, DelegatedTask, DelegatedTaskEnd, TaskWorktree,
};
use tiller_core::id::{CallId, SessionId};
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
    /// Returns the agent's worktree, unless it was removed with its branch because there were no changes: the name of
    /// the branch may be another agent's now.
    pub(super) fn remaining_worktree(&self) -> Option<&TaskWorktree> {
        let is_removed = self.end.as_ref().is_some_and(|end| end.branch.is_none());
        self.start.worktree.as_ref().filter(|_| !is_removed)
    }

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
    /// The calls whose background tasks haven't been reported to the model.
    pub(super) unreported: Vec<UnreportedCall>,
}

/// A call whose background tasks haven't been reported to the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnreportedCall {
    pub call: BackgroundCall,
    /// The numbers and agents of the tasks that have started. An agent's record may be that of a later task.
    pub started: Vec<(usize, SessionId)>,
    /// The numbers of the tasks that couldn't start.
    pub failed: Vec<usize>,
}

impl UnreportedCall {
    /// Returns the agent that has started to work on a task.
    pub(super) fn agent_of(&self, task: &BackgroundTask) -> Option<&SessionId> {
        self.started.iter().find(|(number, _)| *number == task.number).map(|(_, agent)| agent)
    }

    fn is_waiting(&self, task: &BackgroundTask) -> bool {
        self.agent_of(task).is_none() && !self.failed.contains(&task.number)
    }
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
        Self { dir, session, tasks: Vec::new(), unreported: Vec::new() }
    }

    /// Applies an entry of the log, written at the given time.
    pub(crate) fn apply(&mut self, body: &EntryBody, at: UnixMs) {
        let EntryBody::Custom { custom_type, data: Some(data) } = body else { return };
        if custom_type == START_TYPE
            && let Ok(mut start) = serde_json::from_value::<DelegatedTask>(data.clone())
        {
            start.path = start.path.map(|path| self.moved(path));
            self.note_start(&start);
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
            self.unreported.push(UnreportedCall { call, started: Vec::new(), failed: Vec::new() });
        } else if custom_type == BACKGROUND_END_TYPE
            && let Ok(end) = serde_json::from_value::<BackgroundCallEnd>(data.clone())
        {
            self.unreported.retain(|unreported| unreported.call.end() != end);
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

    /// Notes that a background task has started.
    fn note_start(&mut self, start: &DelegatedTask) {
        let Some(number) = start.number else { return };
        let is_of_start = |call: &BackgroundCall| {
            start.tool_call_id.as_ref() == Some(&call.tool_call_id)
                && call.tasks.iter().any(|task| task.number == number)
        };
        if let Some(unreported) = self.unreported.iter_mut().find(|it| is_of_start(&it.call)) {
            unreported.started.push((number, start.agent_id.clone()));
        }
    }

    /// Notes that a background task can't start.
    pub(crate) fn note_failure_to_start(&mut self, call: &CallId, number: usize) {
        if let Some(unreported) = self.unreported.iter_mut().find(|it| it.call.tool_call_id == *call) {
            unreported.failed.push(number);
        }
    }

    /// Returns the background tasks that are waiting to start.
    pub(crate) fn waiting(&self) -> Vec<BackgroundTask> {
        let waiting = |unreported: &UnreportedCall| {
            let tasks = unreported.call.tasks.iter();
            tasks.filter(|task| unreported.is_waiting(task)).cloned().collect::<Vec<_>>()
        };
        self.unreported.iter().flat_map(waiting).collect()
    }

    /// Returns true if a task has no end, or background tasks haven't been reported to the model.
    pub(crate) fn has_open(&self) -> bool {
        !self.unreported.is_empty() || self.tasks.iter().any(|task| task.end.is_none())
    }
}

/// Finds the task of an agent by a part of its id, to continue it; the session's agents have their logs in `dir`.
pub(super) fn find_task(
    tasks: &[TaskRecord],
    agent: &str,
    id: &str,
    dir: Option<&Path>,
) -> Result<TaskRecord, String> {
    let Some(task) = tasks.iter().rev().find(|task| task.start.agent_id.matches(id)) else {
        return Err(format!("no agent with the id {id} in this session; list_agents shows the ids"));
    };
    let start = &task.start;
    if start.name != agent {
        return Err(format!("the agent with the id {id} is {}, not {agent}", start.name));
    }
    match &start.path {
        None => Err("an in-memory session can't be resumed".to_owned()),
        Some(path) if path.parent() != dir => Err(format!(
            "agent {} {} belongs to the session that this one was forked from; delegate the task to a new agent",
            start.name,
            start.agent_id.short()
        )),
        Some(_) => Ok(task.clone()),
    }
}
