//! The states of a call's tasks: the lines shown while they run, and the call's result if it is stopped.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tiller_core::id::SessionId;
use tiller_tools::tool::ToolOutput;

use super::agent_at_work::{AgentAtWork, resume_hint};
use super::report::TaskReport;

/// The progress of a task.
pub(super) enum TaskProgress {
    /// The task's agent has started.
    Started {
        id: SessionId,
        /// The branch of the agent's worktree.
        branch: Option<String>,
    },
    /// The agent's line has changed.
    Line(String),
}

/// The states of a call's tasks, in order. Clones share them. A mutex, because another thread requests the
/// result when the call is stopped; it is held only to read or change a state.
#[derive(Clone)]
pub(super) struct TaskStates(Arc<Mutex<Vec<TaskState>>>);

struct TaskState {
    agent: String,
    work: Option<AgentAtWork>,
    line: String,
    result: Option<TaskResult>,
}

/// The part of a task in the result of its call.
struct TaskResult {
    text: String,
    /// The details of its report.
    details: Option<Value>,
    is_error: bool,
}

impl TaskStates {
    pub(super) fn new<'a>(agents: impl IntoIterator<Item = &'a str>) -> Self {
        let state = |agent: &str| TaskState {
            agent: agent.to_owned(),
            work: None,
            line: String::new(),
            result: None,
        };
        Self(Arc::new(Mutex::new(agents.into_iter().map(state).collect())))
    }

    fn states(&self) -> MutexGuard<'_, Vec<TaskState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies the progress of the task at an index.
    pub(super) fn update(&self, at: usize, progress: TaskProgress) {
        let state = &mut self.states()[at];
        match progress {
            TaskProgress::Started { id, branch } => {
                state.work = Some(AgentAtWork { id, branch, leftover: None })
            }
            TaskProgress::Working { activity, elapsed } => {
                (state.activity, state.elapsed) = (activity, elapsed);
            }
        }
    }

    /// Ends the task at an index.
    pub(super) fn end(&self, at: usize, report: &TaskReport) {
        let state = &mut self.states()[at];
        let end = if report.outcome.is_err() { "has failed" } else { "has finished" };
        state.line = format!("{} {end}", report.agent);
        let is_error = report.outcome.is_err();
        state.result = Some(TaskResult { text: report.text(), details: Some(report.details()), is_error });
    }

    /// Sets the result of the task at an index, which continues in the background or couldn't start.
    pub(super) fn detach(&self, at: usize, started: Result<String, String>) {
        let is_error = started.is_err();
        let text = started.unwrap_or_else(|error| error);
        self.states()[at].result = Some(TaskResult { text, details: None, is_error });
    }

    /// Returns the result of a call whose tasks have ended or are detached.
    pub(super) fn output(&self) -> ToolOutput {
        let states = self.states();
        let results: Vec<(&str, &TaskResult)> =
            states.iter().filter_map(|state| Some((state.agent.as_str(), state.result.as_ref()?))).collect();
        let text = sections(results.iter().map(|(agent, result)| (*agent, result.text.clone())));
        let details: Vec<&Value> = results.iter().filter_map(|(_, result)| result.details.as_ref()).collect();
        let details = Some(json!({ "agents": details }));
        let has_failed = results.iter().any(|(_, result)| result.is_error);
        let output = if has_failed { ToolOutput::error(text) } else { ToolOutput::text(text) };
        ToolOutput { details, ..output }
    }

    /// Returns the lines of the agents that have started.
    pub(super) fn lines(&self) -> String {
        let states = self.states();
        let lines: Vec<&str> =
            states.iter().map(|state| state.line.as_str()).filter(|it| !it.is_empty()).collect();
        lines.join("\n")
    }

    /// Returns the result of a call that has just been stopped.
    pub(super) fn stopped_output(&self) -> ToolOutput {
        let states = self.states();
        let text = |state: &TaskState| match (&state.result, &state.work) {
            (Some(result), _) => result.text.clone(),
            (None, Some(work)) => format!("{} was stopped{}", work.name(&state.agent), work.branch_clause()),
            (None, None) => format!("the task for {} was not started", state.agent),
        };
        let details = states.iter().filter_map(|state| match (&state.result, &state.work) {
            (Some(result), _) => result.details.clone(),
            (None, Some(work)) => Some(
                json!({ "agentId": work.id, "name": state.agent, "isError": true, "branch": work.branch }),
            ),
            (None, None) => None,
        });
        let details = json!({ "agents": details.collect::<Vec<_>>() });
        let mut text = sections(states.iter().map(|state| (state.agent.as_str(), text(state))));
        if states.iter().any(|state| state.result.is_none()) {
            text = format!("{}\n\n{}", text.trim_end(), resume_hint());
        }
        ToolOutput { details: Some(details), ..ToolOutput::error(text) }
    }
}

/// Returns the texts of tasks, with agent names as headings; a single task has no heading.
pub(super) fn sections<'a>(texts: impl ExactSizeIterator<Item = (&'a str, String)>) -> String {
    let is_alone = texts.len() == 1;
    let section = |(at, (agent, text)): (usize, (&str, String))| match is_alone {
        true => text,
        false => format!("## {}. {agent}\n\n{text}\n", at + 1),
    };
    texts.enumerate().map(section).collect::<Vec<_>>().join("\n")
}
