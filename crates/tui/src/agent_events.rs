//! Applies the agent's events to the app's state.

mod approvals;
mod shell;
mod streaming;
mod summary;

use std::sync::Arc;

use serde_json::value::RawValue;
use tiller_core::event::{Event, EventKind, RunOutcome, SessionChange, ToolOutcome};
use tiller_core::id::{CallId, EntryId};
use tiller_core::message::{AssistantBlock, Message};
use tiller_core::unit::UnixMs;
use tiller_engine::AnnouncedRetry;
use tiller_engine::{BashContext, InFlight, SummaryOf};
use tiller_render::MarkdownStream;
use tiller_session::entry::TillerEntry;
use tiller_session::{Entry, EntryBody};

use self::shell::ShellPlacement;
use super::block::{Block, BlockKind, NoticeLevel, Thinking};
use super::tool_call::{CallState, ToolCallBlock};
use super::transcript::ScrollAnchor;
use crate::action::{Action, BackgroundJob};
use crate::app::App;
use crate::session_model::{CallInProgress, StreamingAnswer};

impl App {
    /// Applies an event, unless a snapshot included it already.
    pub(super) fn apply_event(&mut self, event: &Event) -> Vec<Action> {
        if event.seq <= self.model.info.seq {
            self.show_notice(&event.kind);
            return Vec::new();
        }
        self.model.info.seq = event.seq;
        match &event.kind {
            EventKind::CompactionStart { reason } => {
                self.compositor.close_failure_dialog();
                self.summary_started(SummaryOf::Context(*reason), event.time);
            }
            EventKind::CompactionFailed { error_message, .. } => {
                self.open_failure_dialog(error_message);
            }
            EventKind::CompactionEnd { reason, error_message, .. } => {
                self.compaction_ended(*reason, error_message.as_deref());
                return vec![Action::Refresh];
            }
            EventKind::BranchSummaryStart => self.summary_started(SummaryOf::Branch, event.time),
            EventKind::BranchSummaryEnd { .. } => self.model.activity.summary = None,
            EventKind::AgentSettled => return self.run_settled(),
            EventKind::TurnEnd { .. } => return vec![Action::Refresh],
            EventKind::ModelChanged { model } => {
                self.model.info.model = Some(model.clone());
                return vec![Action::Refresh];
            }
            EventKind::SessionChanged { reason: SessionChange::Grown, .. } => return self.reload(),
            EventKind::SessionChanged { .. } => {
                self.transcript.transcript.drop_anchor();
                self.compositor.drop_deferred();
                return vec![Action::Reload];
            }
            EventKind::ThinkingLevelChanged { level } => self.model.info.thinking = *level,
            EventKind::SessionInfoChanged { name } => self.model.info.name.clone_from(name),
            EventKind::QueueUpdate { items, .. } => self.queue_changed(items),
            EventKind::EntryAppended { entry_id, entry } => {
                self.compositor.outdate_tree();
                return self.entry_appended(entry_id, entry, event.time);
            }
            EventKind::ResourcesChanged { .. } => {
                self.flash("Skills, templates or context files have changed; the new versions are in use.");
                return vec![Action::LoadCommands];
            }
            kind @ (EventKind::Notice { .. } | EventKind::Warning { .. }) => self.show_notice(kind),
            kind => self.apply_run_event(kind, event.time),
        }
        Vec::new()
    }

    /// Shows notices and warnings, which no snapshot includes.
    fn show_notice(&mut self, kind: &EventKind) {
        match kind {
            EventKind::Notice { message } => self.add_notice(NoticeLevel::Note, message, None),
            EventKind::Warning { message, hint } => {
                self.add_notice(NoticeLevel::Warning, message, hint.clone())
            }
            _ => {}
        }
    }

    /// Requests a snapshot because events were missed; the screen keeps its position.
    pub(super) fn reload(&mut self) -> Vec<Action> {
        // A pending switch to another session takes precedence.
        if !self.model.info.gap.is_open() {
            self.transcript.transcript.keep_anchor();
        }
        vec![Action::Reload]
    }

    /// Applies an event of a run, a tool call or a `!` command.
    fn apply_run_event(&mut self, kind: &EventKind, time: UnixMs) {
        match kind {
            EventKind::AgentStart => {
                self.model.activity.running_since.get_or_insert(time);
                self.model.activity.last_run_failed = false;
                self.model.activity.retry = None;
            }
            EventKind::AgentEnd { will_retry: false, outcome, .. } => self.run_ended(*outcome),
            EventKind::AutoRetryStart { attempt, max_attempts, delay_ms, error_message } => {
                let retry = AnnouncedRetry::new((*attempt, *max_attempts), time, *delay_ms, error_message);
                self.model.activity.retry = Some(retry);
            }
            EventKind::SummaryRetry { attempt, max_attempts, delay_ms, error_message } => {
                if let Some(summary) = &mut self.model.activity.summary {
                    let retry =
                        AnnouncedRetry::new((*attempt, *max_attempts), time, *delay_ms, error_message);
                    summary.retry = Some(retry);
                }
            }
            EventKind::AutoRetryEnd { .. } => self.model.activity.retry = None,
            EventKind::MessageStart { message } => self.message_started(message),
            EventKind::MessageUpdate { usage, assistant_message_event } => {
                self.append_delta(usage, assistant_message_event)
            }
            EventKind::BashExecutionStart { id, command, exclude_from_context } => {
                self.bash_started(id, command, *exclude_from_context, time);
            }
            EventKind::BashExecutionUpdate { id, delta } => self.bash_printed(id, delta),
            EventKind::BashExecutionEnd { id, message } => self.bash_ended(id, message),
            kind => self.apply_call_event(kind, time),
        }
    }

    /// Applies an event of a tool call. The match is exhaustive, so a new event needs a decision here or
    /// above.
    fn apply_call_event(&mut self, kind: &EventKind, time: UnixMs) {
        match kind {
            EventKind::ToolExecutionStart { tool_call_id, tool_name, .. } => {
                let (id, name) = (tool_call_id.clone(), tool_name.clone());
                self.model.activity.calls.push(CallInProgress { id, name, since: time });
                let running = CallState::Running { since: time, partial: ToolOutcome::default() };
                self.transcript.transcript.with_call(tool_call_id, |state| *state = running);
            }
            EventKind::ToolExecutionUpdate { tool_call_id, partial_result, .. } => {
                self.transcript
                    .transcript
                    .with_call(tool_call_id, |state| show_partial(state, partial_result));
            }
            EventKind::ToolExecutionEnd { tool_call_id, .. } => self.call_ended(tool_call_id),
            EventKind::ApprovalRequested(request) => {
                self.approval_requested(request);
                self.transcript
                    .transcript
                    .with_call(&request.tool_call_id, |state| *state = CallState::AwaitsApproval);
            }
            EventKind::ApprovalResolved { tool_call_id, .. } => {
                self.approval_resolved(tool_call_id);
                self.transcript.transcript.with_call(tool_call_id, clear_ask);
            }
            // Turns, message ends and denied calls are drawn from their entries; traces are for the log only.
            EventKind::TurnStart
            | EventKind::MessageEnd { .. }
            | EventKind::ToolCallDenied(_)
            | EventKind::Trace { .. } => {}
            // Handled above.
            EventKind::AgentStart
            | EventKind::AgentEnd { .. }
            | EventKind::AgentSettled
            | EventKind::TurnEnd { .. }
            | EventKind::MessageStart { .. }
            | EventKind::MessageUpdate { .. }
            | EventKind::QueueUpdate { .. }
            | EventKind::EntryAppended { .. }
            | EventKind::ModelChanged { .. }
            | EventKind::ThinkingLevelChanged { .. }
            | EventKind::SessionChanged { .. }
            | EventKind::SessionInfoChanged { .. }
            | EventKind::BashExecutionStart { .. }
            | EventKind::BashExecutionUpdate { .. }
            | EventKind::BashExecutionEnd { .. }
            | EventKind::AutoRetryStart { .. }
            | EventKind::AutoRetryEnd { .. }
            | EventKind::SummaryRetry { .. }
            | EventKind::CompactionStart { .. }
            | EventKind::CompactionFailed { .. }
            | EventKind::CompactionEnd { .. }
            | EventKind::BranchSummaryStart
            | EventKind::BranchSummaryEnd { .. }
            | EventKind::ResourcesChanged { .. }
            | EventKind::Notice { .. }
            | EventKind::Warning { .. } => {}
        }
    }

    fn run_ended(&mut self, outcome: RunOutcome) {
        self.model.activity.last_run_failed = outcome == RunOutcome::Failed;
        if outcome == RunOutcome::MaxTurns {
            let hint = Some("type \"go on\" to continue, or raise max_turns".to_owned());
            self.add_notice(NoticeLevel::Warning, "stopped: turn limit reached", hint);
        }
    }

    fn run_settled(&mut self) -> Vec<Action> {
        self.model.activity.running_since = None;
        self.model.activity.calls.clear();
        self.model.activity.streaming = StreamingAnswer::default();
        self.transcript.transcript.live.clear();
        self.transcript.transcript.close_calls();
        vec![Action::Refresh]
    }

    fn message_started(&mut self, message: &Message) {
        if matches!(message, Message::Assistant(_)) {
            self.transcript.transcript.live.clear();
            self.transcript.transcript.begin_part();
            self.model.activity.streaming = StreamingAnswer::default();
        }
    }

    fn call_ended(&mut self, id: &CallId) {
        self.model.activity.calls.retain(|call| call.id != *id);
        self.approval_resolved(id);
    }

    fn entry_appended(&mut self, id: &EntryId, raw: &Arc<RawValue>, at: UnixMs) -> Vec<Action> {
        let Ok(body) = serde_json::from_str::<EntryBody>(raw.get()) else { return Vec::new() };
        let hides = matches!(body.as_tiller(), Some(TillerEntry::Hide { .. }));
        self.show_appended(id, body, at);
        if hides {
            vec![Action::Background(BackgroundJob::CountBranches(self.transcript.transcript.epoch()))]
        } else {
            Vec::new()
        }
    }

    fn show_appended(&mut self, id: &EntryId, body: EntryBody, at: UnixMs) {
        let took_ms = match body.as_message().map(|message| &**message) {
            Some(Message::BashExecution(record)) => match self.place_shell_entry(id, record) {
                ShellPlacement::InPlace => return,
                ShellPlacement::Below(took_ms) => took_ms,
            },
            Some(_) | None => None,
        };
        let is_answer = matches!(body.as_message().map(|message| &**message), Some(Message::Assistant(_)));
        if is_answer {
            self.model.activity.streaming = StreamingAnswer::default();
        }
        if self.transcript.transcript.shows(id) {
            if is_answer {
                self.transcript.transcript.end_streaming();
            }
            return;
        }
        if body.creates_file() {
            self.transcript.transcript.remove_banner();
        }
        let entry = Entry { id: id.clone(), parent: None, timestamp: at, body };
        self.transcript.transcript.append(&entry, at);
        if let Some(took_ms) = took_ms {
            self.set_shell_duration(id, took_ms);
        }
    }

    /// Restores the in-flight state of a snapshot.
    pub(super) fn restore_in_flight(&mut self, live: &InFlight, mut former: ScrollAnchor) {
        let mut previous = std::mem::take(&mut former.live).into_iter();
        for block in live.partial.iter().flat_map(|partial| &partial.content) {
            let before = previous.next().map(|block| block.kind);
            let kind = match block {
                AssistantBlock::Text { text } => {
                    BlockKind::StreamingAnswer(Box::new(continue_stream(text, before)))
                }
                AssistantBlock::Thinking { thinking, .. } => {
                    let before = match before {
                        Some(BlockKind::StreamingThinking(thinking)) => Some(*thinking),
                        _ => None,
                    };
                    BlockKind::StreamingThinking(Box::new(Thinking::resume(thinking, before)))
                }
                AssistantBlock::ToolCall(call) => BlockKind::Call(Box::new(ToolCallBlock::new(
                    call,
                    &self.transcript.transcript.context().tools,
                ))),
                AssistantBlock::Unknown => BlockKind::Thinking(String::new()),
            };
            self.transcript.transcript.live.push(Block::new(kind));
        }
        for call in &live.calls {
            let running = CallState::Running { since: call.since, partial: call.partial.clone() };
            self.transcript.transcript.with_call(&call.id, |state| *state = running);
        }
        for request in &live.approvals {
            self.transcript
                .transcript
                .with_call(&request.tool_call_id, |state| *state = CallState::AwaitsApproval);
        }
        if let Some(bash) = &live.bash {
            self.bash_started(&bash.id, &bash.line, bash.context == BashContext::Exclude, bash.since);
            self.restore_bash_output(&bash.id, &bash.output);
        }
        self.model.activity.streaming.bytes =
            u64::try_from(self.transcript.transcript.arrived()).unwrap_or_default();
        self.transcript.transcript.restore_anchor(former);
    }
}

/// The stream of a partial answer; continues the stream on the screen if that is a prefix.
fn continue_stream(text: &str, before: Option<BlockKind>) -> MarkdownStream {
    let known = match before {
        Some(BlockKind::StreamingAnswer(stream)) if text.starts_with(stream.text()) => Some(*stream),
        _ => None,
    };
    let mut stream = known.unwrap_or_else(|| MarkdownStream::new(80));
    let from = stream.text().len();
    stream.push(&text[from..]);
    stream
}

fn show_partial(state: &mut CallState, newest: &ToolOutcome) {
    if let CallState::Running { partial, .. } = state {
        partial.clone_from(newest);
    }
}

fn clear_ask(state: &mut CallState) {
    if matches!(state, CallState::AwaitsApproval) {
        *state = CallState::Pending;
    }
}
