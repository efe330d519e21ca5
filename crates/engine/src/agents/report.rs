//! The report on a delegated task for the delegating model.

use std::time::Duration;

use serde_json::{Value, json};
use tiller_core::id::SessionId;
use tiller_tools::tool::WorktreeChanges;

use super::answer::AgentAnswer;

/// The outcome of a task.
pub(super) struct TaskReport {
    pub agent: String,
    pub id: Option<SessionId>,
    pub outcome: Result<AgentAnswer, String>,
    pub notices: Vec<String>,
    /// The changes in the agent's worktree, if it had one.
    pub changes: Option<WorktreeChanges>,
    pub elapsed: Duration,
}

impl TaskReport {
    /// Returns the text for the delegating model: the answer, or the reason there is none.
    pub(super) fn text(&self) -> String {
        let id = self.id.as_ref().map(|id| format!(" {}", id.short())).unwrap_or_default();
        let mut text = match &self.outcome {
            Ok(answer) => {
                let AgentAnswer { text, turns, usage, reached_limit } = answer;
                let cost = usage.cost.total;
                let noun = if *turns == 1 { "turn" } else { "turns" };
                let limit = if *reached_limit { ", turn limit reached" } else { "" };
                let facts = format!(
                    "[agent {}{id}: {turns} {noun}, {} tokens, {cost}, {} s{limit}]",
                    self.agent,
                    usage.total(),
                    self.elapsed.as_secs()
                );
                format!("{}\n\n{facts}", text.trim_end())
            }
            Err(error) => format!("agent {}{id} returned no answer: {error}", self.agent),
        };
        if let Some(changes) = &self.changes {
            text.push_str(&changes_text(changes));
        }
        for notice in &self.notices {
            text.push_str(&format!("\n[{notice}]"));
        }
        text
    }

    pub(super) fn details(&self) -> Value {
        let usage = self.outcome.as_ref().ok().map(|answer| &answer.usage);
        json!({
            "agentId": self.id,
            "name": self.agent,
            "isError": self.outcome.is_err(),
            "turns": self.outcome.as_ref().ok().map(|answer| answer.turns),
            "tokens": usage.map(tiller_core::message::Usage::total),
            "cost": usage.map(|usage| usage.cost.total),
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
