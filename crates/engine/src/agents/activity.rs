//! The activity of a running agent, derived from its events, and the status line that shows it. Pure.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tiller_core::counted::counted;
use tiller_core::event::EventKind;
use tiller_core::message::{AssistantMessage, Message, StopReason};
use tiller_core::unit::{Tokens, UnixMs, Usd};

/// The work of an agent on its current task, derived from its session's events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentActivity {
    /// Number of the agent's answers.
    pub turns: u64,
    /// Tokens used by the agent's requests.
    pub tokens: Tokens,
    /// Cost of the agent's requests.
    pub cost: Usd,
    /// The running tool, with the argument that identifies the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Number of calls that wait for approval.
    pub approvals: usize,
    /// Number of denied calls.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub denied: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Maximum length of a call in the status line, in characters: the line then fits into 80 columns.
const MAX_CALL: usize = 36;

/// Truncates a call to [`MAX_CALL`].
fn truncate_call(call: &str) -> String {
    match call.chars().nth(MAX_CALL) {
        Some(_) => call.chars().take(MAX_CALL - 1).chain(['…']).collect(),
        None => call.to_owned(),
    }
}

/// Returns true if an answer counts as a turn. A request that failed, was stopped or wasn't sent has none.
pub(super) fn is_turn(answer: &AssistantMessage) -> bool {
    !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted)
}

impl AgentActivity {
    /// Applies an event of the agent's session.
    pub fn update(&mut self, event: &EventKind) {
        match event {
            EventKind::MessageEnd { message } => {
                if let Message::Assistant(answer) = &**message {
                    self.add_answer(answer);
                }
            }
            EventKind::ToolExecutionStart { tool_name, args, .. } => {
                let argument = tiller_core::tool_spec::ShownArgument::FirstText.one_line(args);
                let call = format!("{tool_name} {argument}");
                self.tool = Some(truncate_call(call.trim_end()));
            }
            EventKind::ToolExecutionEnd { .. } => self.tool = None,
            EventKind::ToolCallDenied(_) => self.denied += 1,
            EventKind::ApprovalRequested(_) => self.approvals += 1,
            EventKind::ApprovalResolved { .. } => self.approvals = self.approvals.saturating_sub(1),
            // Other events don't change the line.
            _ => {}
        }
    }

    /// Counts an answer.
    pub(super) fn add_answer(&mut self, answer: &AssistantMessage) {
        self.turns += u64::from(is_turn(answer));
        self.tokens += answer.usage.total();
        self.cost += answer.usage.cost.total;
    }

    /// Returns the activity with the counts of earlier work added.
    pub(super) fn after(&self, earlier: &Self) -> Self {
        Self {
            turns: earlier.turns + self.turns,
            tokens: earlier.tokens + self.tokens,
            cost: earlier.cost + self.cost,
            denied: earlier.denied + self.denied,
            ..self.clone()
        }
    }

    /// Returns turns, tokens and cost for the delegating model.
    pub(super) fn facts(&self) -> String {
        format!("{}, {}, {}", self.turns_text(), self.tokens_text(), self.cost)
    }

    fn turns_text(&self) -> String {
        counted(self.turns, "turn", "turns")
    }

    fn tokens_text(&self) -> String {
        counted(self.tokens, "token", "tokens")
    }

    /// Returns turns, tokens and time for the status line.
    pub(super) fn work(&self, elapsed: Duration) -> String {
        format!("{} · {} · {}s", self.turns_text(), self.tokens_text(), elapsed.as_secs())
    }

    /// Returns the status line of an agent that has worked since a time, without its name.
    #[must_use]
    pub fn state(&self, since: UnixMs, now: UnixMs) -> String {
        self.state_after(Duration::from_millis(now.since_ms(since)))
    }

    /// Returns the status line of an agent that has worked for a time, without its name.
    pub(super) fn state_after(&self, elapsed: Duration) -> String {
        let doing = match (&self.tool, self.approvals) {
            (_, 1..) => " · waiting for approval".to_owned(),
            (Some(tool), 0) => format!(" · {tool}"),
            (None, 0) => String::new(),
        };
        format!("{}{doing}", self.work(elapsed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncate_call_marks_what_is_cut() {
        assert_eq!(truncate_call("bash cargo test"), "bash cargo test");
        let exact = "x".repeat(MAX_CALL);
        assert_eq!(truncate_call(&exact), exact);
        let cut = truncate_call(&"x".repeat(MAX_CALL + 1));
        assert_eq!((cut.chars().count(), cut.ends_with("x…")), (MAX_CALL, true));
    }
}
