//! Tracing of a session for diagnosis: the start and end of operations.
//!
//! Derived from events. The trace contains no content: no prompts, answers, call arguments or output, and
//! nothing about the user's shell commands.

use std::collections::HashMap;

use tiller_core::event::{EventKind, RunOutcome};
use tiller_core::id::CallId;
use tiller_core::message::{AssistantMessage, Message, StopReason};
use tiller_core::unit::UnixMs;
use tiller_session::Reader;

/// Maximum length of an error in the trace, in characters: a server may answer with a whole page.
const MAX_ERROR_CHARS: usize = 300;

/// Start times of the operations in progress.
#[derive(Debug, Default)]
pub(super) struct RunTracer {
    run: Option<UnixMs>,
    request: Option<UnixMs>,
    calls: HashMap<CallId, UnixMs>,
}

/// Logs the opening of a session.
pub(super) fn opened(reader: &Reader) {
    let (session, path) = (reader.id(), reader.path().unwrap_or("(in memory)".as_ref()));
    tracing::info!(%session, path = %path.display(), entries = reader.entry_count(), "session opened");
}

/// Logs the closing of a session.
pub(super) fn closed(reader: &Reader) {
    tracing::info!(session = %reader.id(), entries = reader.entry_count(), "session closed");
}

impl RunTracer {
    /// Logs an event if it helps with diagnosis.
    pub(super) fn note(&mut self, event: &EventKind, time: UnixMs) {
        match event {
            EventKind::AgentStart if self.run.is_none() => {
                self.run = Some(time);
                tracing::info!("run begun");
            }
            EventKind::AgentEnd { will_retry: false, outcome, .. } => {
                let took_ms = elapsed_ms(self.run.take(), time);
                tracing::info!(outcome = outcome_name(*outcome), took_ms, "run ended");
            }
            EventKind::TurnStart => self.request = Some(time),
            EventKind::MessageEnd { message } => {
                if let Message::Assistant(answer) = &**message {
                    answered(answer, elapsed_ms(self.request.take(), time));
                }
            }
            EventKind::AutoRetryStart { attempt, max_attempts, delay_ms, error_message } => {
                note_retry("request", (*attempt, *max_attempts), *delay_ms, error_message);
            }
            EventKind::SummaryRetry { attempt, max_attempts, delay_ms, error_message } => {
                note_retry("summary", (*attempt, *max_attempts), *delay_ms, error_message);
            }
            EventKind::ModelChanged { model } => tracing::info!(%model, "model changed"),
            EventKind::ThinkingLevelChanged { level } => {
                tracing::info!(level = level.name(), "thinking changed");
            }
            event => self.note_call(event, time),
        }
    }

    fn note_call(&mut self, event: &EventKind, time: UnixMs) {
        match event {
            EventKind::ToolExecutionStart { tool_call_id, tool_name, .. } => {
                self.calls.insert(tool_call_id.clone(), time);
                tracing::debug!(tool = tool_name.as_str(), call = tool_call_id.as_str(), "call begun");
            }
            EventKind::ToolExecutionEnd { tool_call_id, tool_name, is_error, .. } => {
                let took_ms = elapsed_ms(self.calls.remove(tool_call_id), time);
                let outcome = if *is_error { "error" } else { "well" };
                let (tool, call) = (tool_name.as_str(), tool_call_id.as_str());
                tracing::debug!(tool, call, outcome, took_ms, "call ended");
            }
            EventKind::ApprovalRequested(request) => {
                let (tool, call) = (request.tool_name.as_str(), request.tool_call_id.as_str());
                tracing::debug!(tool, call, "approval requested");
            }
            EventKind::ApprovalResolved { tool_call_id, decision } => {
                let call = tool_call_id.as_str();
                tracing::debug!(call, decision = decision.name(), "approval answered");
            }
            EventKind::ElicitationRequested(request) => {
                let (asker, question) = (request.asker(), request.elicitation_id.as_str());
                tracing::debug!(asker, question, "question to the user");
            }
            EventKind::ElicitationResolved { elicitation_id, action, withdrawn } => {
                let question = elicitation_id.as_str();
                tracing::debug!(question, ?action, withdrawn, "question to the user resolved");
            }
            event => note_summary(event),
        }
    }
}

fn note_retry(operation: &str, (attempt, max_attempts): (u32, u32), wait_ms: u64, error: &str) {
    tracing::debug!(attempt, most = max_attempts, wait_ms, reason = shorten(error), "retrying {operation}");
}

fn note_summary(event: &EventKind) {
    match event {
        EventKind::CompactionStart { reason } => tracing::info!(?reason, "compaction begun"),
        EventKind::CompactionFailed { error_message, .. } => {
            tracing::warn!(reason = shorten(error_message), "compaction failed");
        }
        EventKind::CompactionEnd { error_message: Some(error), .. } => {
            tracing::warn!(reason = shorten(error), "compaction failed");
        }
        EventKind::CompactionEnd { aborted, .. } => tracing::info!(aborted, "compaction ended"),
        EventKind::BranchSummaryStart => tracing::info!("branch summary started"),
        EventKind::BranchSummaryEnd { error_message: Some(error), .. } => {
            tracing::warn!(reason = shorten(error), "branch summary failed");
        }
        EventKind::BranchSummaryEnd { aborted, .. } => tracing::info!(aborted, "branch summary ended"),
        // Other events don't help, or are logged at their source.
        _ => {}
    }
}

fn answered(answer: &AssistantMessage, took_ms: u64) {
    let (provider, model) = (answer.provider.as_str(), answer.model.as_str());
    if answer.stop_reason == StopReason::Error {
        let reason = shorten(answer.error_message.as_deref().unwrap_or_default());
        return tracing::warn!(provider, model, took_ms, reason, "request failed");
    }
    let (input, output) = (answer.usage.input.0, answer.usage.output.0);
    let (from_cache, to_cache) = (answer.usage.cache_read.0, answer.usage.cache_write.0);
    let stop_reason = &answer.stop_reason;
    tracing::debug!(
        provider,
        model,
        took_ms,
        ?stop_reason,
        input,
        output,
        from_cache,
        to_cache,
        "request answered"
    );
}

/// Returns the milliseconds since an operation started; 0 if its start was not emitted.
fn elapsed_ms(since: Option<UnixMs>, time: UnixMs) -> u64 {
    since.map_or(0, |since| time.since_ms(since))
}

fn shorten(error: &str) -> String {
    error.chars().take(MAX_ERROR_CHARS).collect()
}

fn outcome_name(outcome: RunOutcome) -> &'static str {
    match outcome {
        RunOutcome::Completed => "completed",
        RunOutcome::Failed => "failed",
        RunOutcome::Aborted => "aborted",
        RunOutcome::MaxTurns => "max_turns",
    }
}
