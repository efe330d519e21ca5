//! What jobs report, and what it means.

use std::sync::Arc;

use super::jobs::Report;
use super::{Driver, now};
use crate::agent::bash::BashEnd;
use crate::agent::partial::Growth;
use crate::agent::retry::{self, Tried};
use crate::agent::turn::{Fate, Input, Planned, TurnNumber};
use crate::event::{EventKind, ToolOutcome};
use crate::id::{CallId, EntryId};
use crate::message::{
    AssistantMessage, BashExecutionMessage, StopReason, ToolCall, ToolResultMessage, UserBlock,
};
use crate::provider::{Failure, Part, ProviderError};

impl Driver {
    pub(super) fn report(&mut self, report: Report) {
        match report {
            Report::Part { turn, part } if self.turn.streaming() == Some(turn) => match part {
                Ok(part) => self.part(turn, part),
                Err(error) => self.failed(turn, &error),
            },
            Report::StreamEnded { turn } if self.turn.streaming() == Some(turn) => {
                let provider = self.current.model.facts.provider.clone();
                let message = "the stream ended before the answer was complete".to_owned();
                self.failed(
                    turn,
                    &ProviderError { provider, failure: Failure::Interrupted, message, hint: None },
                );
            }
            Report::Awake { turn } => self.apply(Input::Awake { turn }),
            Report::Part { .. } | Report::StreamEnded { .. } => {}
            Report::ToolProgress { call, text } => self.tool_progress(&call, text),
            Report::ToolEnded { turn, result, warning } => self.tool_ended(turn, result, warning),
            Report::BashOutput { id, delta, glance } => self.bash_output(&id, delta, glance),
            Report::BashEnded { id, end } => self.bash_ended(&id, end),
            Report::Synced(result) => self.synced(result),
        }
    }

    fn part(&mut self, turn: TurnNumber, part: Part) {
        let Some(partial) = &mut self.partial else { return };
        for growth in partial.take(part) {
            match growth {
                Growth::Delta(delta) => {
                    let usage =
                        self.partial.as_ref().map(|partial| partial.usage().clone()).unwrap_or_default();
                    self.teller.tell(EventKind::MessageUpdate { usage, assistant_message_event: delta });
                }
                Growth::Trace(name, data) => {
                    self.teller.tell(EventKind::Trace { name: name.to_owned(), data })
                }
                Growth::Finished(stop_reason) => {
                    let mut answer = self.answer_so_far();
                    answer.stop_reason = stop_reason;
                    self.answered(turn, answer);
                }
            }
        }
    }

    fn failed(&mut self, turn: TurnNumber, error: &ProviderError) {
        let mut answer = self.answer_so_far();
        answer.stop_reason = StopReason::Error;
        let hint = error.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        let tried = Tried { times: self.turn.tries(), has_compacted: self.turn.has_compacted() };
        let (then, note) = retry::after(error.failure, tried, &self.fixed.options.retry, jitter());
        let note = note.map(|note| format!("; {note}")).unwrap_or_default();
        answer.error_message = Some(format!("{error}{hint}{note}"));
        self.jobs.stop_stream();
        self.apply(Input::Failed { turn, answer, then });
    }

    /// The answer in flight as far as it goes, with its price.
    pub(super) fn answer_so_far(&self) -> AssistantMessage {
        let mut answer = self.partial.as_ref().map(|partial| partial.message()).unwrap_or_default();
        answer.usage.cost = self.current.model.facts.cost(&answer.usage);
        answer.usage.total_tokens = answer.usage.total();
        answer
    }

    fn answered(&mut self, turn: TurnNumber, answer: AssistantMessage) {
        self.jobs.stop_stream();
        self.apply(Input::Answered { turn, answer });
    }

    /// What is to become of a call: its tool is known, its arguments are sound, and the policy has its say.
    pub(super) fn plan(&self, call: &ToolCall) -> Planned {
        let fate = match (self.fixed.tools.find(&call.name), &call.raw_arguments) {
            (None, _) => {
                let specs = self.fixed.tools.specs();
                let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
                Fate::Refuse(format!("unknown tool `{}`; there are: {}", call.name, names.join(", ")))
            }
            (Some(_), Some(_)) => Fate::Refuse("invalid arguments: they are not a JSON object".to_owned()),
            (Some(tool), None) => match tool.check(&call.arguments) {
                Ok(()) => self.approvals.fate(call, tool.spec()),
                Err(reason) => Fate::Refuse(format!("invalid arguments: {reason}")),
            },
        };
        Planned { call: call.clone(), fate }
    }

    fn tool_progress(&mut self, call: &CallId, text: String) {
        let Some(running) = self.jobs.call_mut(call) else { return };
        running.partial = ToolOutcome { content: vec![UserBlock::Text { text }], details: None };
        let update = EventKind::ToolExecutionUpdate {
            tool_call_id: call.clone(),
            tool_name: running.name.clone(),
            args: running.arguments.clone(),
            partial_result: running.partial.clone(),
        };
        self.teller.tell(update);
    }

    fn tool_ended(&mut self, turn: TurnNumber, result: ToolResultMessage, warning: Option<String>) {
        if let Some(warning) = warning {
            self.teller.warn(warning);
        }
        self.apply(Input::ToolEnded { turn, result });
    }

    fn bash_output(&mut self, id: &EntryId, delta: String, glance: String) {
        let Some(bash) = self.jobs.bash_mut().filter(|bash| bash.shown.id == *id) else { return };
        bash.shown.output = glance;
        if !delta.is_empty() {
            self.teller.tell(EventKind::BashExecutionUpdate { id: id.clone(), delta });
        }
    }

    fn bash_ended(&mut self, id: &EntryId, end: BashEnd) {
        if self.jobs.bash_running().is_none_or(|running| running.id != *id) {
            return;
        }
        if let Some(trouble) = &end.trouble {
            self.teller.warn(trouble.clone());
        }
        if let Some(bash) = self.jobs.take_bash() {
            self.keep_bash(bash.into_record(end, now()), id.clone());
        }
    }

    /// Keeps the record of a command, then tells of its end.
    pub(super) fn keep_bash(&mut self, record: BashExecutionMessage, id: EntryId) {
        self.apply(Input::BashEnded(record.clone()));
        self.teller.tell(EventKind::BashExecutionEnd { id, message: Arc::new(record) });
    }
}

/// What decides on a wait's jitter: something that two processes hardly share.
fn jitter() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(now().0)
}
