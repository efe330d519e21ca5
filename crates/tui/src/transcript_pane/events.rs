//! Applies the agent's events and snapshots to the blocks.

use tiller_core::event::{CompactionReason, EventKind, RunOutcome, SessionChange, ToolOutcome};
use tiller_core::message::{AssistantBlock, Message};
use tiller_engine::{BashContext, InFlight};
use tiller_render::MarkdownStream;
use tiller_session::{Entry, UNANSWERED};

use crate::agent_event::AgentEvent;
use crate::block::notice_level::NoticeLevel;
use crate::block::thinking::Thinking;
use crate::block::{Block, BlockKind};
use crate::component::ViewContext;
use crate::keymap::table::KeyCommand;
use crate::tool_call::{CallState, ToolCallBlock};
use crate::transcript::anchor::ScrollAnchor;
use crate::transcript::section::LoadedPath;
use crate::transcript_pane::TranscriptPane;
use crate::transcript_pane::shell::ShellPlacement;

impl TranscriptPane {
    /// Applies an event. The match is exhaustive, so a new event needs a decision here.
    #[allow(clippy::too_many_lines, reason = "one arm an event")]
    pub(crate) fn apply(&mut self, event: &AgentEvent<'_>) {
        match event.kind {
            EventKind::AgentEnd { will_retry: false, outcome: RunOutcome::MaxTurns, .. } => {
                let hint = Some("type \"continue\" to go on".to_owned());
                self.notice(NoticeLevel::Warning, "stopped after a final answer", hint);
            }
            EventKind::AgentSettled => {
                self.transcript.live.clear();
                self.transcript.close_calls();
            }
            EventKind::MessageStart { message } if matches!(**message, Message::Assistant(_)) => {
                self.transcript.live.clear();
                self.transcript.begin_part();
            }
            EventKind::MessageUpdate { assistant_message_event, .. } => {
                self.append_delta(assistant_message_event);
            }
            EventKind::EntryAppended { .. } => {
                if let Some(entry) = &event.entry {
                    self.show_appended(entry, event.is_answer());
                }
            }
            EventKind::ToolExecutionStart { tool_call_id, .. } => {
                let running = CallState::Running { since: event.time, partial: ToolOutcome::default() };
                self.transcript.with_call(tool_call_id, |state| *state = running);
            }
            EventKind::ToolExecutionUpdate { tool_call_id, partial_result, .. } => {
                self.transcript.with_call(tool_call_id, |state| show_partial(state, partial_result));
            }
            EventKind::ApprovalRequested(request) => {
                self.transcript.with_call(&request.tool_call_id, |state| *state = CallState::AwaitsApproval);
            }
            EventKind::ApprovalResolved { tool_call_id, .. } => {
                self.transcript.with_call(tool_call_id, clear_ask);
            }
            EventKind::BashExecutionStart { id, command, exclude_from_context } => {
                self.bash_started(id, command, *exclude_from_context, event.time);
            }
            EventKind::BashExecutionUpdate { id, delta } => self.bash_printed(id, delta),
            EventKind::BashExecutionEnd { id, message } => self.bash_ended(id, message),
            EventKind::CompactionEnd { reason, error_message: Some(error), .. } => {
                self.show_failed_compaction(*reason, error);
            }
            EventKind::Notice { .. } | EventKind::Warning { .. } => self.show_notice(event.kind),
            // The entries are read again at the same position.
            EventKind::SessionChanged { reason: SessionChange::Grown, .. } => {}
            EventKind::SessionChanged { .. } => self.transcript.drop_anchor(),
            // Turns, message ends, results, denied calls and finished jobs are drawn from their entries;
            // traces are only logged. The other events are shown elsewhere.
            EventKind::AgentStart
            | EventKind::AgentEnd { .. }
            | EventKind::TurnStart
            | EventKind::TurnEnd { .. }
            | EventKind::MessageStart { .. }
            | EventKind::MessageEnd { .. }
            | EventKind::ToolExecutionEnd { .. }
            | EventKind::ToolCallDenied(_)
            | EventKind::ElicitationRequested(_)
            | EventKind::ElicitationResolved { .. }
            | EventKind::QueueUpdate { .. }
            | EventKind::ModelChanged { .. }
            | EventKind::ThinkingLevelChanged { .. }
            | EventKind::SessionInfoChanged { .. }
            | EventKind::BackgroundJobStart(_)
            | EventKind::BackgroundJobEnd(_)
            | EventKind::AgentTaskStart(_)
            | EventKind::AgentTaskEnd(_)
            | EventKind::AgentEvent { .. }
            | EventKind::AutoRetryStart { .. }
            | EventKind::AutoRetryEnd { .. }
            | EventKind::CompactionStart { .. }
            | EventKind::CompactionFailed { .. }
            | EventKind::CompactionEnd { .. }
            | EventKind::SummaryRetry { .. }
            | EventKind::BranchSummaryStart
            | EventKind::BranchSummaryEnd { .. }
            | EventKind::ResourcesChanged { .. }
            | EventKind::CommandsChanged
            | EventKind::Trace { .. } => {}
        }
    }

    /// Shows notices and warnings, which snapshots don't include.
    pub(crate) fn show_notice(&mut self, kind: &EventKind) {
        match kind {
            EventKind::Notice { message } => self.notice(NoticeLevel::Note, message, None),
            EventKind::Warning { message, hint } => self.notice(NoticeLevel::Warning, message, hint.clone()),
            _ => {}
        }
    }

    fn show_failed_compaction(&mut self, reason: CompactionReason, error: &str) {
        match reason {
            // The command's own result reports it.
            CompactionReason::Manual => {}
            CompactionReason::Threshold => {
                self.notice(NoticeLevel::Warning, format!("compaction failed: {error}"), None);
            }
            CompactionReason::Overflow => {
                let hint = "use /model, /tree or /new to continue".to_owned();
                self.notice(NoticeLevel::Error, error, Some(hint));
            }
        }
    }

    fn show_appended(&mut self, entry: &Entry, is_answer: bool) {
        let took_ms = match entry.body.as_message().map(|message| &**message) {
            Some(Message::BashExecution(record)) => match self.place_shell_entry(&entry.id, record) {
                ShellPlacement::InPlace => return,
                ShellPlacement::Below(took_ms) => took_ms,
            },
            Some(_) | None => None,
        };
        if self.transcript.shows(&entry.id) {
            if is_answer {
                self.transcript.end_streaming();
            }
            return;
        }
        if entry.body.creates_file() {
            self.transcript.remove_banner();
        }
        self.transcript.append(entry, entry.timestamp);
        if let Some(took_ms) = took_ms {
            self.set_shell_duration(&entry.id, took_ms);
        }
    }

    /// Replaces the blocks with those of a path that was read; returns the state for [`Self::restore`].
    pub(crate) fn replace(&mut self, newest: LoadedPath) -> ScrollAnchor {
        self.transcript.replace(newest)
    }

    /// Preserves the top line when the same session is read again.
    pub(crate) fn keep_anchor(&mut self) {
        self.transcript.keep_anchor();
    }

    /// Adds the blocks in progress from a snapshot, and returns to the former top line.
    pub(crate) fn restore(&mut self, live: &InFlight, mut former: ScrollAnchor, view: &ViewContext<'_>) {
        let mut previous = std::mem::take(&mut former.live).into_iter();
        for block in live.partial.iter().flat_map(|partial| &partial.content) {
            let before = previous.next().map(|block| block.kind);
            let kind = match block {
                AssistantBlock::Text { text, .. } => {
                    BlockKind::StreamingAnswer(Box::new(continue_stream(text, before)))
                }
                AssistantBlock::Thinking { thinking, .. } => {
                    let before = match before {
                        Some(BlockKind::StreamingThinking(thinking)) => Some(*thinking),
                        _ => None,
                    };
                    BlockKind::StreamingThinking(Box::new(Thinking::resume(thinking, before)))
                }
                AssistantBlock::ToolCall(call) => {
                    BlockKind::Call(Box::new(ToolCallBlock::new(call, &self.transcript.context().tools)))
                }
                AssistantBlock::Unknown => BlockKind::Thinking(String::new()),
            };
            self.transcript.live.push(Block::new(kind));
        }
        for call in &live.calls {
            let running = CallState::Running { since: call.since, partial: call.partial.clone() };
            self.transcript.with_call(&call.id, |state| *state = running);
        }
        for request in &live.approvals {
            self.transcript.with_call(&request.tool_call_id, |state| *state = CallState::AwaitsApproval);
        }
        if let Some(bash) = &live.bash {
            self.bash_started(&bash.id, &bash.line, bash.context == BashContext::Exclude, bash.since);
            self.restore_bash_output(&bash.id, &bash.output);
        }
        self.transcript.restore_anchor(former);
        if live.running_since.is_none() {
            self.transcript.close_calls();
            self.warn_unanswered(view);
        }
    }

    /// Warns that the last prompt in the log has no answer, with the way to send it again.
    fn warn_unanswered(&mut self, view: &ViewContext<'_>) {
        if self.transcript.unanswered().is_some() {
            let send = view.key_of(KeyCommand::Send);
            let hint = Some(format!("{send} in an empty editor moves it back to the editor"));
            self.transcript.notice(NoticeLevel::Warning, UNANSWERED, hint);
        }
    }
}

/// Returns the stream of a partial answer; continues the stream on the screen if its text is a prefix.
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
