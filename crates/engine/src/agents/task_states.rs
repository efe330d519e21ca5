//! The states of a call's tasks: the lines shown while they run, and the call's result if it is stopped.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tiller_core::id::SessionId;
use tiller_tools::tool::ToolOutput;

use super::activity::AgentActivity;
use super::agent_at_work::{AgentAtWork, resume_hint};
use super::report::{NoAnswer, TaskReport};

/// The progress of a task.
pub(super) enum TaskProgress {
    /// The task's agent has started.
    Started {
        id: SessionId,
        /// The branch of the agent's worktree.
        branch: Option<String>,
    },
    /// The agent works.
    Working { activity: AgentActivity, elapsed: Duration },
}

/// The states of a call's tasks, in order. Clones share them. A mutex, because another thread requests the
/// result when the call is stopped; it is held only to read or change a state.
#[derive(Clone)]
pub(super) struct TaskStates(Arc<Mutex<Vec<TaskState>>>);

struct TaskState {
    agent: String,
    work: Option<AgentAtWork>,
    activity: AgentActivity,
    /// The time that the agent has worked.
    elapsed: Duration,
    result: Option<TaskResult>,
}

/// The part of a task in the result of its call.
struct TaskResult {
    /// The end of the task, for its line.
    end: &'static str,
    text: String,
    /// The details of its report.
    details: Option<Value>,
    is_error: bool,
}

/// Maximum number of tasks whose counts aren't shown: all their lines are visible.
const MAX_WITHOUT_COUNTS: usize = 4;

/// The phase of a task, in the order of the lines.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TaskPhase {
    Pending,
    Ended,
    Working,
    WaitingForApproval,
}

impl TaskState {
    fn phase(&self) -> TaskPhase {
        match (&self.work, &self.result) {
            (_, Some(_)) => TaskPhase::Ended,
            (None, None) => TaskPhase::Pending,
            (Some(_), None) if self.activity.approvals > 0 => TaskPhase::WaitingForApproval,
            (Some(_), None) => TaskPhase::Working,
        }
    }

    /// Returns the line of a task that has started. Its number in the call tells agents of the same
    /// name apart.
    fn line(&self, number: usize, is_alone: bool) -> Option<(TaskPhase, String)> {
        let name = if is_alone { self.agent.clone() } else { format!("{number}. {}", self.agent) };
        let line = match &self.result {
            Some(TaskResult { end, details: None, .. }) => format!("{name} {end}"),
            Some(TaskResult { end, .. }) => format!("{name} {end} · {}", self.activity.work(self.elapsed)),
            None if self.work.is_none() => return None,
            None => format!("{name} · {}", self.activity.state_after(self.elapsed)),
        };
        Some((self.phase(), line))
    }
}

/// Counts the tasks of a call by their phases.
fn counts(states: &[TaskState]) -> String {
    let phases = [
        (TaskPhase::WaitingForApproval, "waiting for approval"),
        (TaskPhase::Working, "working"),
        (TaskPhase::Ended, "ended"),
        (TaskPhase::Pending, "not started"),
    ];
    let count = |phase| states.iter().filter(|state| state.phase() == phase).count();
    let counts = phases.into_iter().map(|(phase, name)| (count(phase), name)).filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, name)| format!("{count} {name}")).collect();
    format!("{} agents: {}", states.len(), counts.join(", "))
}

impl TaskStates {
    pub(super) fn new<'a>(agents: impl IntoIterator<Item = &'a str>) -> Self {
        let state = |agent: &str| TaskState {
            agent: agent.to_owned(),
            work: None,
            activity: AgentActivity::default(),
            elapsed: Duration::ZERO,
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
        (state.activity, state.elapsed) = (report.work(), report.elapsed);
        let is_error = report.outcome.is_err();
        let end = match &report.outcome {
            Ok(_) => "has finished",
            Err(NoAnswer::Stopped) => "was stopped",
            Err(NoAnswer::Failed(_)) => "has failed",
        };
        let (text, details) = (report.text(), Some(report.details()));
        state.result = Some(TaskResult { end, text, details, is_error });
    }

    /// Sets the result of the task at an index, which continues in the background or couldn't start.
    pub(super) fn detach(&self, at: usize, started: Result<String, String>) {
        let is_error = started.is_err();
        let text = started.unwrap_or_else(|error| error);
        let end = if is_error { "couldn't start" } else { "runs in the background" };
        self.states()[at].result = Some(TaskResult { end, text, details: None, is_error });
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

    /// Returns a line for each agent that has started. Of the lines of a running call, front ends show the last
    /// ones: those of the agents that need the user come after the others, and the counts of many agents last.
    pub(super) fn lines(&self) -> String {
        let states = self.states();
        let is_alone = states.len() == 1;
        let mut lines: Vec<(TaskPhase, String)> =
            states.iter().enumerate().filter_map(|(at, state)| state.line(at + 1, is_alone)).collect();
        lines.sort_by_key(|(phase, _)| *phase);
        let counts = (states.len() > MAX_WITHOUT_COUNTS).then(|| counts(&states));
        lines.into_iter().map(|(_, line)| line).chain(counts).collect::<Vec<_>>().join("\n")
    }

    /// Returns the result of a call that has just been stopped.
    pub(super) fn stopped_output(&self) -> ToolOutput {
        let states = self.states();
        let text = |state: &TaskState| match (&state.result, &state.work) {
            (Some(result), _) => result.text.clone(),
            (None, Some(work)) => format!(
                "{} was stopped after {}{}",
                work.name(&state.agent),
                state.activity.facts(),
                work.branch_clause()
            ),
            (None, None) => format!("the task for {} was not started", state.agent),
        };
        let details = states.iter().filter_map(|state| match (&state.result, &state.work) {
            (Some(result), _) => result.details.clone(),
            (None, Some(work)) => Some(json!({
                "agentId": work.id,
                "name": state.agent,
                "isError": true,
                "turns": state.activity.turns,
                "tokens": state.activity.tokens,
                "cost": state.activity.cost,
                "branch": work.branch,
            })),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn started(id: &str) -> TaskProgress {
        TaskProgress::Started { id: id.into(), branch: None }
    }

    fn working(approvals: usize) -> TaskProgress {
        let activity = AgentActivity { turns: 2, approvals, ..AgentActivity::default() };
        TaskProgress::Working { activity, elapsed: Duration::from_secs(3) }
    }

    #[test]
    fn lines_end_with_what_needs_the_user_and_the_counts() {
        let states = TaskStates::new(["a"; 5]);
        for at in 0..4 {
            states.update(at, started("an-agent"));
            states.update(at, working(usize::from(at == 1)));
        }
        let report = TaskReport {
            agent: "a".to_owned(),
            id: Some("an-agent".into()),
            outcome: Err(NoAnswer::Stopped),
            activity: AgentActivity { turns: 1, ..AgentActivity::default() },
            notices: Vec::new(),
            changes: None,
            elapsed: Duration::from_secs(9),
        };
        states.end(2, &report);
        let expected = [
            "3. a was stopped · 1 turn · 0 tokens · 9s",
            "1. a · 2 turns · 0 tokens · 3s",
            "4. a · 2 turns · 0 tokens · 3s",
            "2. a · 2 turns · 0 tokens · 3s · waiting for approval",
            "5 agents: 1 waiting for approval, 2 working, 1 ended, 1 not started",
        ];
        assert_eq!(states.lines().lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn line_of_a_single_task_has_no_number() {
        let states = TaskStates::new(["a"]);
        states.update(0, started("an-agent"));
        states.update(0, working(0));
        assert_eq!(states.lines(), "a · 2 turns · 0 tokens · 3s");
    }

    #[test]
    fn stopped_output_has_the_work_so_far() {
        let states = TaskStates::new(["a"]);
        states.update(0, started("an-agent"));
        states.update(0, working(0));
        let output = states.stopped_output();
        let details = &output.details.unwrap()["agents"][0];
        assert_eq!((&details["turns"], &details["cost"]), (&json!(2), &json!(0.0)));
        let text = tiller_core::message::joined_text(&output.content);
        assert!(text.contains("was stopped after 2 turns, 0 tokens, $0.00"), "{text}");
    }
}
