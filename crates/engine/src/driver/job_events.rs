//! Handling of job events.

use serde_json::json;
use tiller_core::ansi::StyledText;
use tiller_core::event::{EventKind, ToolOutcome};
use tiller_core::id::CallId;
use tiller_core::message::{AssistantMessage, StopReason, ToolCall, ToolResultMessage, UserBlock};
use tiller_provider::{FailureKind, ProviderError, StreamEvent};

use super::jobs::JobEvent;
use super::{Driver, now};
use crate::message_builder::MessageUpdate;
use crate::retry::{self, Tried};
use crate::turn::{CallDecision, Input, PartialOutput, PlannedCall, TurnNumber};

impl Driver {
    pub(super) fn report(&mut self, report: JobEvent) {
        match report {
            JobEvent::Part { turn, part } if self.turn.streaming() == Some(turn) => match part {
                Ok(part) => self.part(turn, part),
                Err(error) => self.failed(turn, &error),
            },
            JobEvent::StreamEnded { turn } if self.turn.streaming() == Some(turn) => {
                let provider = self.current.asked.provider.clone();
                let message = "the stream ended before the answer was complete".to_owned();
                self.failed(
                    turn,
                    &ProviderError { provider, failure: FailureKind::Interrupted, message, hint: None },
                );
            }
            JobEvent::Opened { turn, tool_choice, before, after } => {
                self.opened((turn, tool_choice), &before, *after);
            }
            JobEvent::Previewed(request) => self.previewed(request),
            JobEvent::Judged { turn, considered } => self.judged(turn, considered),
            JobEvent::CommandEnded { id, outcome } => self.command_ended(id, outcome),
            JobEvent::Warned(warning) => self.teller.warn_unlogged(warning),
            JobEvent::Awake { turn } => self.apply(Input::Awake { turn }),
            JobEvent::Summary { number, news } => self.summary(number, news),
            JobEvent::Part { .. } | JobEvent::StreamEnded { .. } => {}
            JobEvent::ToolProgress { call, printed } => self.tool_progress(&call, printed),
            JobEvent::ToolEnded { turn, result, warning } => self.tool_ended(turn, result, warning),
            JobEvent::BashOutput { id, delta, output } => self.bash_output(&id, delta, *output),
            JobEvent::BashEnded { id, end } => self.bash_ended(&id, end),
            JobEvent::ResourcesRead(read) => self.resources_read(read),
            JobEvent::Synced(result) => self.synced(result),
        }
    }

    fn part(&mut self, turn: TurnNumber, part: StreamEvent) {
        let Some(partial) = &mut self.partial else { return };
        if let StreamEvent::Call { name, .. } = &part
            && let Some(tool) = self.fixed.tools.find(name)
        {
            tool.prepare();
        }
        for growth in partial.take(part) {
            match growth {
                MessageUpdate::Delta(delta) => {
                    let usage =
                        self.partial.as_ref().map(|partial| partial.usage().clone()).unwrap_or_default();
                    self.teller.tell(EventKind::MessageUpdate { usage, assistant_message_event: delta });
                }
                MessageUpdate::Trace(name, data) => {
                    self.teller.tell(EventKind::Trace { name: name.to_owned(), data })
                }
                MessageUpdate::Finished(stop_reason) => {
                    let mut answer = self.answer_so_far();
                    answer.stop_reason = stop_reason;
                    self.answered(turn, answer);
                }
            }
        }
    }

    fn failed(&mut self, turn: TurnNumber, error: &ProviderError) {
        self.heed_window(error);
        let mut answer = self.answer_so_far();
        answer.stop_reason = StopReason::Error;
        let has_compacted = self.turn.has_compacted() || !self.summaries.options().is_automatic();
        let tried = Tried { times: self.turn.tries(), has_compacted };
        let (then, note) = retry::after(error.failure, tried, &self.retry, jitter());
        let note = note.map(|note| format!("; {note}")).unwrap_or_default();
        answer.error_message = Some(format!("{}{note}", error.told()));
        self.jobs.stop_stream();
        self.partial = None;
        self.apply(Input::Failed { turn, answer, then });
    }

    /// Returns the partial answer with its cost.
    pub(super) fn answer_so_far(&self) -> AssistantMessage {
        let mut answer = self.partial.as_ref().map(|partial| partial.message()).unwrap_or_default();
        answer.usage.cost = self.current.asked.cost(&answer.usage);
        answer.usage.total_tokens = answer.usage.total();
        answer
    }

    /// Returns the partial output of everything in progress.
    pub(super) fn so_far(&self) -> PartialOutput {
        PartialOutput {
            answer: self.partial.as_ref().map(|_| self.answer_so_far()),
            calls: self.jobs.remains(),
        }
    }

    fn answered(&mut self, turn: TurnNumber, answer: AssistantMessage) {
        let facts = &self.current.asked;
        if retry::is_silent_overflow(&answer, facts.window) {
            let message = format!("no answer: the conversation fills the window of {}", facts.id);
            let provider = facts.provider.clone();
            let error = ProviderError { provider, failure: FailureKind::Overflow, message, hint: None };
            return self.failed(turn, &error);
        }
        self.jobs.stop_stream();
        self.partial = None;
        self.apply(Input::Answered { turn, answer });
    }

    /// Decides on a call: the tool must exist, the arguments must be valid, then the policy decides.
    pub(super) fn plan(&mut self, call: &ToolCall) -> PlannedCall {
        let fate = match (self.offered().find(&call.name), &call.raw_arguments) {
            (None, _) => {
                let specs = self.offered().specs();
                let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
                CallDecision::Refuse(format!("unknown tool `{}`; there are: {}", call.name, names.join(", ")))
            }
            (Some(_), Some(_)) => {
                CallDecision::Refuse("invalid arguments: they are not a JSON object".to_owned())
            }
            (Some(tool), None) => match tool.check(&call.arguments) {
                Ok(()) => {
                    let source = self.offered().source(&call.name).cloned();
                    self.approvals.plan(call, tool.spec(), source.as_ref())
                }
                Err(reason) => CallDecision::Refuse(format!("invalid arguments: {reason}")),
            },
        };
        PlannedCall { call: call.clone(), fate }
    }

    fn tool_progress(&mut self, call: &CallId, StyledText { text, strokes }: StyledText) {
        let Some(running) = self.jobs.call_mut(call) else { return };
        let details = (!strokes.is_empty()).then(|| json!({ "strokes": strokes }));
        running.partial = ToolOutcome { content: vec![UserBlock::Text { text }], details };
        let update = EventKind::ToolExecutionUpdate {
            tool_call_id: call.clone(),
            tool_name: running.name.clone(),
            args: running.arguments.clone(),
            partial_result: running.partial.clone(),
        };
        self.teller.tell(update);
    }

    fn tool_ended(&mut self, turn: TurnNumber, mut result: ToolResultMessage, warning: Option<String>) {
        let arguments = self.jobs.call_mut(&result.tool_call_id).map(|running| running.arguments.clone());
        self.note_rewrite(&mut result, arguments);
        self.approvals.open_path_of(&[]);
        if let Some(warning) = warning {
            self.teller.warn(warning);
        }
        self.apply(Input::ToolEnded { turn, result });
    }
}

/// Returns a seed for a retry's jitter that two processes are unlikely to share.
pub(super) fn jitter() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(now().0)
}
