//! The report on a delegated task for the delegating model.

use std::time::Duration;

use serde_json::{Value, json};
use tiller_core::id::SessionId;
use tiller_tools::tool::WorktreeChanges;

use super::activity::AgentActivity;
use super::answer::{AgentAnswer, AgentFailure};

/// The reason a task has no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoAnswer {
    /// The user stopped the agent. This isn't a failure: other tasks of the call go on.
    #[error("{}", AgentFailure::Stopped)]
    Stopped,
    #[error("{0}")]
    Failed(String),
}

impl From<String> for NoAnswer {
    fn from(reason: String) -> Self {
        Self::Failed(reason)
    }
}

impl From<AgentFailure> for NoAnswer {
    fn from(failure: AgentFailure) -> Self {
        match failure {
            AgentFailure::Stopped => Self::Stopped,
            failure => Self::Failed(failure.to_string()),
        }
    }
}

/// The outcome of a task.
pub(super) struct TaskReport {
    pub agent: String,
    pub id: Option<SessionId>,
    pub outcome: Result<AgentAnswer, NoAnswer>,
    /// The agent's work on the task, for a task without an answer.
    pub activity: AgentActivity,
    pub notices: Vec<String>,
    /// The changes in the agent's worktree, if it had one.
    pub changes: Option<WorktreeChanges>,
    pub elapsed: Duration,
}

impl TaskReport {
    /// Returns the text for the delegating model: the answer, or the reason there is none.
    pub(super) fn text(&self) -> String {
        let id = self.id.as_ref().map(|id| format!(" {}", id.short())).unwrap_or_default();
        let limit = match &self.outcome {
            Ok(AgentAnswer { reached_limit: true, .. }) => ", turn limit reached",
            _ => "",
        };
        let (facts, seconds) = (self.work().facts(), self.elapsed.as_secs());
        let facts = format!("[agent {}{id}: {facts}, {seconds} s{limit}]", self.agent);
        let mut text = match &self.outcome {
            Ok(answer) => format!("{}\n\n{facts}", answer.text.trim_end()),
            Err(error) if self.id.is_none() => format!("agent {} returned no answer: {error}", self.agent),
            Err(error) => format!("agent {}{id} returned no answer: {error}\n\n{facts}", self.agent),
        };
        if let Some(changes) = &self.changes {
            text.push_str(&changes_text(changes));
        }
        for notice in &self.notices {
            text.push_str(&format!("\n[{notice}]"));
        }
        text
    }

    /// Returns true if the task has failed. A task that the user stopped hasn't.
    pub(super) fn has_failed(&self) -> bool {
        matches!(self.outcome, Err(NoAnswer::Failed(_)))
    }

    /// Returns the turns, tokens and cost of the task.
    pub(super) fn work(&self) -> AgentActivity {
        match &self.outcome {
            Ok(AgentAnswer { turns, usage, .. }) => AgentActivity {
                turns: *turns,
                tokens: usage.total(),
                cost: usage.cost.total,
                ..AgentActivity::default()
            },
            Err(_) => self.activity.clone(),
        }
    }

    pub(super) fn details(&self) -> Value {
        let work = self.work();
        json!({
            "agentId": self.id,
            "name": self.agent,
            "isError": self.outcome.is_err(),
            "turns": work.turns,
            "tokens": work.tokens,
            "cost": work.cost,
            "changes": self.changes,
            "elapsedMs": u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX),
        })
    }
}

/// Maximum length of a diff in a report, in characters.
const MAX_DIFF: usize = 20_000;

/// Describes the changes on a branch, with the diff.
fn changes_text(changes: &WorktreeChanges) -> String {
    let Some(branch) = &changes.branch else {
        return "\n[it changed no files]".to_owned();
    };
    let diff = String::from_utf8_lossy(&changes.patch);
    let diff = match diff.char_indices().nth(MAX_DIFF) {
        Some((end, _)) => format!("{}\n[diff truncated; full diff: git diff HEAD...{branch}]", &diff[..end]),
        None => diff.into_owned(),
    };
    format!(
        "\n[its changes are on the branch {branch}, not in the working directory: {changes}]\n\n{}",
        diff.trim_end()
    )
}
