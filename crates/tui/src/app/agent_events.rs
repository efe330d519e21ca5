//! Applies the agent's events and snapshots. [`SessionModel::apply`] and [`TranscriptPane::apply`] change
//! their own state; the app handles effects that involve several parts.
//!
//! [`SessionModel::apply`]: crate::session_model::SessionModel::apply
//! [`TranscriptPane::apply`]: crate::transcript_pane::TranscriptPane::apply

use tiller_core::event::{Event, EventKind, SessionChange};
use tiller_core::message::{Message, StopReason};

use crate::action::{Action, ActionRequest, BackgroundJob};
use crate::address::Address;
use crate::agent_event::AgentEvent;
use crate::app::App;

impl App {
    /// Applies an event, unless a snapshot included it already.
    pub(crate) fn apply_event(&mut self, event: &Event) -> Vec<ActionRequest> {
        if event.seq <= self.model.info.seq {
            self.transcript.show_notice(&event.kind);
            return Vec::new();
        }
        let event = AgentEvent::parse(event, self.now);
        self.model.apply(&event);
        self.transcript.apply(&event);
        self.follow_event(&event)
    }

    /// Applies the effects of an event beyond the session model and the transcript.
    fn follow_event(&mut self, event: &AgentEvent<'_>) -> Vec<ActionRequest> {
        match event.kind {
            EventKind::CompactionStart { .. } => self.compositor.close_failure_dialog(),
            EventKind::CompactionFailed { error_message, .. } => {
                return self.with_overlays(|overlays, cx| overlays.open_failure_dialog(error_message, cx));
            }
            EventKind::CompactionEnd { .. } => {
                self.compositor.close_failure_dialog();
                return vec![Action::Refresh.into()];
            }
            EventKind::AgentSettled
            | EventKind::TurnEnd { .. }
            | EventKind::ModelChanged { .. }
            | EventKind::AgentTaskEnd(_) => return vec![Action::Refresh.into()],
            // An answer's cost is known before the tools that it calls have run.
            EventKind::AgentEvent { event: of_agent, .. } if is_answer(&of_agent.kind) => {
                return vec![Action::Refresh.into()];
            }
            EventKind::MessageEnd { message } if has_calls(message) => return vec![Action::Refresh.into()],
            EventKind::SessionChanged { reason: SessionChange::Grown, .. } => return self.reload(),
            EventKind::SessionChanged { .. } => {
                self.compositor.drop_deferred();
                return vec![Action::Reload.into()];
            }
            EventKind::ToolExecutionEnd { tool_call_id, .. }
            | EventKind::ApprovalResolved { tool_call_id, .. } => self.flash.clear_about(tool_call_id),
            EventKind::EntryAppended { .. } => {
                self.compositor.outdate_tree();
                if event.hides() {
                    let epoch = self.transcript.content().epoch();
                    let action = Action::Background(BackgroundJob::CountBranches(epoch));
                    return vec![ActionRequest { from: Address::Transcript, action }];
                }
            }
            EventKind::ResourcesChanged { .. } => {
                self.flash("Skills, templates or context files have changed; the new versions are in use.");
                return vec![Action::LoadCommands.into()];
            }
            EventKind::BackgroundJobEnd(job) => {
                self.flash(format!("{}: {}. /jobs lists all.", job.job_id, job.status))
            }
            EventKind::CommandsChanged => return vec![Action::LoadCommands.into()],
            _ => {}
        }
        Vec::new()
    }

    /// Requests a snapshot because events were missed; the scroll position doesn't change.
    pub(crate) fn reload(&mut self) -> Vec<ActionRequest> {
        // A pending switch to another session takes precedence.
        if !self.model.expects_snapshot() {
            self.transcript.keep_anchor();
        }
        vec![Action::Reload.into()]
    }
}

/// Returns true for an answer that calls tools, at whose end the turn goes on.
fn has_calls(message: &Message) -> bool {
    matches!(message, Message::Assistant(answer) if answer.stop_reason == StopReason::ToolUse)
}

/// Returns true if the event ends an answer.
fn is_answer(event: &EventKind) -> bool {
    matches!(event, EventKind::MessageEnd { message } if matches!(**message, Message::Assistant(_)))
}
