//! Performing effects, in their order.

use std::sync::Arc;

use super::{Driver, SyncPolicy, Work, now};
use crate::agent::handle::AgentError;
use crate::agent::partial::Partial;
use crate::agent::turn::{Effect, Fate, Input, TurnNumber};
use crate::event::{ApprovalRequest, EventKind};
use crate::message::{AssistantMessage, Message, ToolCall};
use crate::provider::{Request, ToolChoice};
use crate::session::context::sendable;
use crate::session::{EntryBody, SessionError};
use crate::unit::Tokens;

impl Driver {
    /// Performs what is to be done, until nothing is left or a sync has to finish first.
    pub(super) fn perform(&mut self) {
        while !self.syncing {
            match self.work.pop_front() {
                None => return,
                Some(Work::Reply(reply)) => reply(Ok(())),
                Some(Work::Effect(effect)) => {
                    if let Err(error) = self.perform_one(*effect) {
                        self.store_failed(&error);
                    }
                }
            }
        }
    }

    fn perform_one(&mut self, effect: Effect) -> Result<(), SessionError> {
        match effect {
            Effect::Append(body) => self.append(body)?,
            Effect::Sync if self.fixed.options.sync == SyncPolicy::Turn => self.sync(),
            // With `always` every append was followed by one already.
            Effect::Sync => {}
            Effect::Request { turn, tool_choice } => self.request(turn, tool_choice),
            Effect::Run { turn, calls } => self.run_calls(turn, calls),
            Effect::Ask { call, reason, rule } => self.ask(call, reason, rule),
            Effect::StopStream => {
                self.jobs.stop_stream();
                self.partial = None;
            }
            Effect::StopTools => self.jobs.stop_tools(),
            Effect::Emit(event) => self.emit(event),
        }
        Ok(())
    }

    /// Appends an entry, then tells of it.
    pub(super) fn append(&mut self, body: EntryBody) -> Result<(), SessionError> {
        let appended = self.current.append(body, self.fixed.options.mode)?;
        for entry in appended {
            self.teller.tell(EventKind::EntryAppended { entry_id: entry.id, entry: entry.line });
        }
        if self.fixed.options.sync == SyncPolicy::Always {
            self.sync();
        }
        Ok(())
    }

    fn sync(&mut self) {
        if let Some(file) = self.current.writer.file() {
            self.syncing = true;
            self.jobs.sync(file);
        }
    }

    /// What was to follow a failed write doesn't happen; the machine is told, and whoever waits for an answer.
    pub(super) fn store_failed(&mut self, error: &SessionError) {
        let reason = chain(error);
        let dropped = std::mem::take(&mut self.work);
        for work in dropped {
            if let Work::Reply(reply) = work {
                reply(Err(AgentError::Store(reason.clone())));
            }
        }
        let effects = self.turn.step(Input::StoreFailed(reason), now());
        self.queue(effects);
    }

    fn emit(&mut self, event: EventKind) {
        match &event {
            EventKind::AgentStart => self.running_since = Some(now()),
            EventKind::AgentSettled => self.running_since = None,
            EventKind::ToolExecutionEnd { tool_call_id, .. } => self.jobs.forget(tool_call_id),
            EventKind::ApprovalResolved { tool_call_id, .. } => drop(self.approvals.resolved(tool_call_id)),
            EventKind::MessageEnd { message } if matches!(**message, Message::Assistant(_)) => {
                self.partial = None;
            }
            _ => {}
        }
        self.teller.tell(event);
    }

    fn request(&mut self, turn: TurnNumber, tool_choice: ToolChoice) {
        let model = &self.current.model;
        let head = AssistantMessage {
            api: model.provider.api().to_owned(),
            provider: model.facts.provider.clone(),
            model: model.facts.id.clone(),
            timestamp: now(),
            ..AssistantMessage::default()
        };
        let request = Request {
            model: model.facts.id.clone(),
            system: self.fixed.system.clone(),
            messages: sendable(self.current.projection.messages.iter().map(|projected| &projected.message)),
            tools: self.fixed.tools.specs(),
            tool_choice,
            max_tokens: Tokens(self.fixed.options.max_tokens.0.min(model.facts.max_output.0)),
            temperature: self.fixed.options.temperature,
            thinking: self.current.thinking,
        };
        self.jobs.stream(turn, &*model.provider, request);
        let message = Arc::new(Message::Assistant(head.clone()));
        self.partial = Some(Partial::new(head));
        self.teller.tell(EventKind::MessageStart { message });
    }

    fn run_calls(&mut self, turn: TurnNumber, calls: Vec<ToolCall>) {
        for call in calls {
            match self.fixed.tools.find(&call.name) {
                Some(tool) => self.jobs.run(turn, call, tool),
                None => tracing::error!(tool = call.name, "a call of an unknown tool was to run"),
            }
        }
    }

    /// Asks, unless a rule that the user gave meanwhile answers already.
    fn ask(&mut self, call: ToolCall, reason: String, rule: String) {
        let tool = self.fixed.tools.find(&call.name);
        if tool.is_some_and(|tool| matches!(self.approvals.fate(&call, tool.spec()), Fate::Run(_))) {
            let effects = self.turn.step(Input::Cleared { call: call.id }, now());
            for effect in effects.into_iter().rev() {
                self.work.push_front(Work::Effect(Box::new(effect)));
            }
            return;
        }
        let request = ApprovalRequest {
            tool_call_id: call.id,
            tool_name: call.name,
            args: call.arguments,
            reason,
            rule,
        };
        self.approvals.ask(request.clone());
        self.teller.tell(EventKind::ApprovalRequested(request));
    }

    pub(super) fn synced(&mut self, result: std::io::Result<()>) {
        self.syncing = false;
        if let Err(source) = result {
            let path = self.current.reader().path().map_or_else(Default::default, ToOwned::to_owned);
            self.store_failed(&SessionError::Io { path, action: "be synced to the disk", source });
        }
        self.perform();
    }
}

/// An error with its causes, in one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
