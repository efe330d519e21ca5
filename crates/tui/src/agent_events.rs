//! Applies the agent's events and snapshots: [`SessionModel::apply`] and [`TranscriptPane::apply`] change their own
//! state; the app does what concerns several parts.
//!
//! [`SessionModel::apply`]: crate::session_model::SessionModel::apply
//! [`TranscriptPane::apply`]: crate::transcript_pane::TranscriptPane::apply

use tiller_core::event::{CompactionChoice, Event, EventKind, SessionChange};
use tiller_core::id::CallId;
use tiller_core::message::Message;
use tiller_core::unit::UnixMs;
use tiller_session::entry::TillerEntry;
use tiller_session::{Entry, EntryBody};

use super::app::App;
use super::dialog::Dialog;
use super::picker::{PickerChoice, PickerItem};
use super::tool_call::one_line;
use crate::action::{Action, BackgroundJob};

/// An event of the agent, as it arrives here.
#[derive(Debug)]
pub(super) struct AgentEvent<'a> {
    pub(super) kind: &'a EventKind,
    pub(super) seq: u64,
    pub(super) time: UnixMs,
    /// Time of arrival.
    pub(super) now: UnixMs,
    /// The appended entry; `None` also if it can't be read.
    pub(super) entry: Option<Entry>,
}

impl<'a> AgentEvent<'a> {
    /// Parses the entry of an event that appends one.
    pub(super) fn parse(event: &'a Event, now: UnixMs) -> Self {
        let entry = match &event.kind {
            EventKind::EntryAppended { entry_id, entry } => {
                let body = serde_json::from_str::<EntryBody>(entry.get()).ok();
                body.map(|body| Entry { id: entry_id.clone(), parent: None, timestamp: event.time, body })
            }
            _ => None,
        };
        Self { kind: &event.kind, seq: event.seq, time: event.time, now, entry }
    }

    /// Reports whether it appends an answer.
    pub(super) fn is_answer(&self) -> bool {
        let message = self.entry.as_ref().and_then(|entry| entry.body.as_message());
        matches!(message.map(|message| &**message), Some(Message::Assistant(_)))
    }

    /// Reports whether it hides a branch, or shows it again.
    fn hides(&self) -> bool {
        let entry = self.entry.as_ref().and_then(|entry| entry.body.as_tiller());
        matches!(entry, Some(TillerEntry::Hide { .. }))
    }
}

impl App {
    /// Applies an event, unless a snapshot included it already.
    pub(super) fn apply_event(&mut self, event: &Event) -> Vec<Action> {
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
            EventKind::QueueUpdate { .. } => self.queue_changed(),
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
    pub(super) fn reload(&mut self) -> Vec<Action> {
        // A pending switch to another session takes precedence.
        if !self.model.info.gap.is_open() {
            self.transcript.keep_anchor();
        }
        vec![Action::Reload]
    }

    /// Ends what is about a pending call that was answered here or elsewhere, or whose run ended.
    pub(super) fn approval_ended(&mut self, call: &CallId) {
        self.flash.clear_about(call);
        if self.composer.end_reason(call, self.now) {
            self.flash("Already answered elsewhere; your text is kept as a draft.");
        }
    }

    /// Tells the user that a message doesn't wait for the running `!` command.
    pub(super) fn flash_command_runs(&mut self) {
        if self.model.activity.bash_since.is_some() && self.transcript.runs_included_command() {
            self.flash("The model doesn't wait for the command; it gets the output with a later request.");
        }
    }

    /// Opens the dialog about a failed summary.
    pub(super) fn open_failure_dialog(&mut self, error: &str) {
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
