//! Tasks that a session has delegated to agents.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{CallId, EntryId, SessionId};

/// The type of the entries that notify the model of the end of a background task.
pub const AGENT_NOTE_TYPE: &str = "tiller.agent_note";

/// A task that an agent works on: an entry `tiller.agent` in the log of the delegating session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DelegatedTask {
    /// The agent's session.
    pub agent_id: SessionId,
    /// The agent's name.
    pub name: String,
    /// The task.
    pub task: String,
    /// The log of its session; `None` for one in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// The call that delegates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<CallId>,
    /// Number of the task in its call, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<usize>,
    /// The worktree that the agent works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<TaskWorktree>,
    /// True if the call returned immediately.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// Number of the lane in the session's newest race, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<usize>,
}

/// Tasks that a call has delegated to run in the background: an entry `tiller.background_tasks` in the log of the
/// delegating session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackgroundCall {
    /// The session that delegates. A fork has a copy of the entry, but doesn't wait for the tasks.
    pub session_id: SessionId,
    /// The call that delegates.
    pub tool_call_id: CallId,
    /// The tasks, in order.
    pub tasks: Vec<BackgroundTask>,
}

/// A task that runs in the background, or waits to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackgroundTask {
    /// Number of the task in its call, from 1.
    pub number: usize,
    /// The agent's name.
    pub name: String,
    /// The task.
    pub task: String,
}

/// The end of the tasks of a [`BackgroundCall`], reported to the model: an entry `tiller.background_tasks_end`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackgroundCallEnd {
    /// The call that delegated.
    pub tool_call_id: CallId,
    /// Number of the first of the tasks in its call: one call can delegate several groups of tasks.
    pub number: usize,
}

impl BackgroundCall {
    /// Returns the record of the end of its tasks.
    #[must_use]
    pub fn end(&self) -> BackgroundCallEnd {
        let number = self.tasks.first().map_or(1, |task| task.number);
        BackgroundCallEnd { tool_call_id: self.tool_call_id.clone(), number }
    }
}

impl DelegatedTask {
    /// Creates a task whose agent runs in memory and in the working directory, without a call.
    #[must_use]
    pub fn new(agent_id: SessionId, name: impl Into<String>, task: impl Into<String>) -> Self {
        Self {
            agent_id,
            name: name.into(),
            task: task.into(),
            path: None,
            tool_call_id: None,
            number: None,
            worktree: None,
            background: false,
            lane: None,
        }
    }
}

/// Maximum length of a task that tells agents of the same name apart, in characters.
const MAX_SHORT_TASK: usize = 32;

/// Shortens a task to its first words, on one line.
fn shorten_task(task: &str) -> String {
    let words = task.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.chars().nth(MAX_SHORT_TASK) {
        Some(_) => words.chars().take(MAX_SHORT_TASK - 1).chain(['…']).collect(),
        None => words,
    }
}

impl DelegatedTask {
    /// Returns the first words of the task, on one line.
    #[must_use]
    pub fn short_task(&self) -> String {
        shorten_task(&self.task)
    }
}

impl BackgroundTask {
    /// Returns the first words of the task, on one line.
    #[must_use]
    pub fn short_task(&self) -> String {
        shorten_task(&self.task)
    }
}

/// Returns the first words of tasks, numbered if there are several, on one line.
#[must_use]
pub fn short_tasks(tasks: &[BackgroundTask]) -> String {
    match tasks {
        [task] => task.short_task(),
        tasks => {
            let numbered = tasks.iter().map(|task| format!("{}. {}", task.number, task.short_task()));
            numbered.collect::<Vec<_>>().join("; ")
        }
    }
}

/// The agent that makes a request to the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestingAgent {
    /// The agent's session.
    pub agent_id: SessionId,
    /// The session that has delegated to the agent.
    pub parent_id: SessionId,
}

/// The Git worktree of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskWorktree {
    /// The branch, which keeps the changes after the worktree is removed.
    pub branch: String,
    /// The commit that the branch started from.
    pub base: String,
    /// The directory, which is removed when the task ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<PathBuf>,
}

/// The end of a delegated task: an entry `tiller.agent_end`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DelegatedTaskEnd {
    /// The agent's session.
    pub agent_id: SessionId,
    /// The error, if there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The branch with the changes that the agent made in its worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The result of a lane of a race; `None` for other tasks, and for a lane that has to be continued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<LaneResult>,
}

impl DelegatedTaskEnd {
    /// Creates the end of a task outside of a race, without changes.
    #[must_use]
    pub fn new(agent_id: SessionId, error: Option<String>) -> Self {
        Self { agent_id, error, branch: None, lane: None }
    }
}

/// The result of a lane of a race.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LaneResult {
    /// The last entry of the lane's branch in the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaf: Option<EntryId>,
    /// The outcome of the check, if the race has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckOutcome>,
}

/// The outcome of the check of a race's lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckOutcome {
    /// True if the command exited with status 0.
    pub has_passed: bool,
    /// The end of the command's output.
    pub output: String,
}
