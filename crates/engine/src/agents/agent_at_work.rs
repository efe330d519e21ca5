//! A started agent, as tool results name it for the model. Pure.

use std::path::PathBuf;

use tiller_core::id::SessionId;

/// The name of the tool that delegates one task, or continues an agent.
pub(super) const DELEGATE_TOOL: &str = "delegate_to_agent";

#[derive(Clone)]
pub(super) struct AgentAtWork {
    pub id: SessionId,
    pub branch: Option<String>,
    /// The worktree that a crash has left, with changes that aren't on the branch yet.
    pub leftover: Option<PathBuf>,
}

impl AgentAtWork {
    /// The agent, as the subject of a sentence.
    pub(super) fn name(&self, agent: &str) -> String {
        format!("agent {agent} {}", self.id.short())
    }

    /// Returns a clause with the branch that holds the changes of an agent without a report.
    pub(super) fn branch_clause(&self) -> String {
        match (&self.branch, &self.leftover) {
            (None, _) => String::new(),
            (Some(branch), None) => format!("; its changes are kept on the branch {branch}"),
            (Some(branch), Some(dir)) => {
                format!("; its changes are in its worktree {} with the branch {branch}", dir.display())
            }
        }
    }
}

/// Returns a sentence that tells the model how to continue an agent.
pub(super) fn resume_hint() -> String {
    format!(
        "[to continue an agent that was stopped or interrupted, call {DELEGATE_TOOL} with its name as `agent` and its id as \
         `resume`: it keeps its conversation and its worktree; delegate tasks that were not started again]"
    )
}
