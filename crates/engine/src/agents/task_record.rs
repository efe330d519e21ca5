//! The tasks that a session has delegated, derived from its log, and the closing of interrupted ones.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tiller_core::delegated_task::{AGENT_NOTE_TYPE, DelegatedTask, DelegatedTaskEnd};
use tiller_core::message::Content;
use tiller_core::unit::UnixMs;
use tiller_session::{Entry, EntryBody, ModelUsage, Reader, SessionError, Totals, Writer};

use super::agent_at_work::{AgentAtWork, resume_hint};
use super::log_entries::{END_TYPE, START_TYPE, agent_entry, usage_entries, usage_since};

/// Reason recorded for a task that had no end when its session was opened again.
const INTERRUPTED: &str = "interrupted when tiller exited";

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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TaskRecords {
    /// The directory of the agents' logs.
    dir: Option<PathBuf>,
    tasks: Vec<TaskRecord>,
}

impl TaskRecords {
    /// Reads the tasks from a log's entries of tiller's own types.
    pub(crate) fn new(reader: &Reader, entries: &[Entry]) -> Self {
        let mut records = Self { dir: reader.agents_dir(), tasks: Vec::new() };
        entries.iter().for_each(|entry| records.apply(&entry.body, entry.timestamp));
        records
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

    /// Returns entries that end all tasks without an end, with the usage of their agents. To be called while
    /// no agent of the session runs. Skips tasks that a fork has copied, which belong to the other session,
    /// and tasks whose log is open in another process.
    pub(crate) fn interrupted_entries(&self) -> Vec<EntryBody> {
        let mut entries = Vec::new();
        for task @ TaskRecord { start, since, end } in &self.tasks {
            let (None, Some(path)) = (end, &start.path) else { continue };
            if path.parent() != self.dir.as_deref() {
                continue;
            }
            match path.exists().then(|| used_since(path, *since)).transpose() {
                Ok(used) => entries.extend(usage_entries(used.unwrap_or_default())),
                Err(SessionError::Locked { .. }) => continue,
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "the usage of an agent can't be read")
                }
            }
            let (agent_id, error) = (start.agent_id.clone(), Some(INTERRUPTED.to_owned()));
            let branch = start.worktree.as_ref().map(|worktree| worktree.branch.clone());
            if start.background {
                let leftover = task.leftover_worktree();
                let work = AgentAtWork { id: start.agent_id.clone(), branch: branch.clone(), leftover };
                entries.push(interrupted_note(&start.name, &work));
            }
            entries.push(agent_entry(
                END_TYPE,
                &DelegatedTaskEnd { branch, ..DelegatedTaskEnd::new(agent_id, error) },
            ));
        }
        entries
    }
}

/// Returns the note that tells the model about an interrupted background task.
fn interrupted_note(agent: &str, work: &AgentAtWork) -> EntryBody {
    let (name, changes) = (work.name(agent), work.branch_clause());
    let text = format!("The {name} in the background was {INTERRUPTED}{changes}.\n\n{}", resume_hint());
    let custom_type = AGENT_NOTE_TYPE.to_owned();
    EntryBody::CustomMessage { custom_type, content: Content::Text(text), display: true }
}

/// Returns an agent's usage since a time, read from its log. The agent's own agents were interrupted too;
/// their usage is recorded first.
fn used_since(path: &Path, since: UnixMs) -> Result<Vec<ModelUsage>, SessionError> {
    let mut writer = Writer::open(path)?;
    let reader = writer.reader();
    let ends = TaskRecords::new(&reader, &reader.tiller_entries()?.0).interrupted_entries();
    if !ends.is_empty() {
        writer.append_all(ends, SystemTime::now().into())?;
    }
    let (mut all, mut before) = (Totals::default(), Totals::default());
    reader.visit(0, |entry| {
        let Ok(entry) = entry else { return };
        all.add(&entry.body);
        if entry.timestamp < since {
            before.add(&entry.body);
        }
    })?;
    Ok(usage_since(&before.models, all.models))
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
