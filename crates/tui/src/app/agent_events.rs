//! Applies the agent's events and snapshots: [`SessionModel::apply`] and [`TranscriptPane::apply`] change their own
//! state; the app does what concerns several parts.
//!
//! [`SessionModel::apply`]: crate::session_model::SessionModel::apply
//! [`TranscriptPane::apply`]: crate::transcript_pane::TranscriptPane::apply

use tiller_core::event::{CompactionChoice, Event, EventKind, SessionChange};
use tiller_core::id::CallId;

use crate::action::{Action, BackgroundJob};
use crate::agent_event::AgentEvent;
use crate::app::App;
use crate::dialog::Dialog;
use crate::picker::item::{PickerChoice, PickerItem};
use crate::text::one_line;

impl App {
    /// Applies an event, unless a snapshot included it already.
    pub(crate) fn apply_event(&mut self, event: &Event) -> Vec<Action> {
        if event.seq <= self.model.info.seq {
            self.transcript.show_notice(&event.kind);
            return Vec::new();
        }
        let event = AgentEvent::parse(event, self.now);
        self.model.apply(&event);
        self.transcript.apply(&event);
        self.follow_event(&event)
    }

    /// Does what an event requires beyond the session's state and the transcript.
    fn follow_event(&mut self, event: &AgentEvent<'_>) -> Vec<Action> {
        match event.kind {
            EventKind::CompactionStart { .. } => self.compositor.close_failure_dialog(),
            EventKind::CompactionFailed { error_message, .. } => self.open_failure_dialog(error_message),
            EventKind::CompactionEnd { .. } => {
                self.compositor.close_failure_dialog();
                return vec![Action::Refresh];
            }
            EventKind::AgentSettled | EventKind::TurnEnd { .. } | EventKind::ModelChanged { .. } => {
                return vec![Action::Refresh];
            }
            EventKind::SessionChanged { reason: SessionChange::Grown, .. } => return self.reload(),
            EventKind::SessionChanged { .. } => {
                self.compositor.drop_deferred();
                return vec![Action::Reload];
            }
            EventKind::ToolExecutionEnd { tool_call_id, .. }
            | EventKind::ApprovalResolved { tool_call_id, .. } => self.approval_ended(tool_call_id),
            EventKind::EntryAppended { .. } => {
                self.compositor.outdate_tree();
                if event.hides() {
                    let epoch = self.transcript.content().epoch();
                    return vec![Action::Background(BackgroundJob::CountBranches(epoch))];
                }
            }
            EventKind::ResourcesChanged { .. } => {
                self.flash("Skills, templates or context files have changed; the new versions are in use.");
                return vec![Action::LoadCommands];
            }
            _ => {}
        }
        Vec::new()
    }

    /// Requests a snapshot because events were missed; the screen keeps its position.
    pub(crate) fn reload(&mut self) -> Vec<Action> {
        // A pending switch to another session takes precedence.
        if !self.model.info.gap.is_open() {
            self.transcript.keep_anchor();
        }
        vec![Action::Reload]
    }

    /// Ends what is about a pending call that was answered here or elsewhere, or whose run ended.
    pub(crate) fn approval_ended(&mut self, call: &CallId) {
        self.flash.clear_about(call);
    }

    /// Opens the dialog about a failed summary.
    pub(crate) fn open_failure_dialog(&mut self, error: &str) {
        self.compositor.close_failure_dialog();
        let item = |choice: CompactionChoice| {
            let label = match choice {
                CompactionChoice::Retry => "try again",
                CompactionChoice::Truncate => "drop the older messages without a summary",
                CompactionChoice::GoOn => "continue without compacting",
            };
            PickerItem::new(label, PickerChoice::AfterFailure(choice))
        };
        let title = format!("summary failed: {}", one_line(error));
        let items = CompactionChoice::ALL.map(item).to_vec();
        let dialog = Dialog { title, items };
        _ = self.with_overlays(|overlays, cx| overlays.open_dialog(dialog, cx));
    }
}
