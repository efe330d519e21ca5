//! Execution of effects, in order.

use std::sync::Arc;
use tiller_core::setting::SyncPolicy;

use tiller_core::event::{ApprovalRequest, Decider, Decision, EventKind, QueueKind, RunOutcome};
use tiller_core::message::{AssistantMessage, BashExecutionMessage, Message, ToolCall};
use tiller_core::proposed_rules::ProposedRules;
use tiller_core::tool_spec::ToolSet;
use tiller_provider::{FailureKind, ModelFacts, ProviderError, Request, ToolChoice};
use tiller_session::context::unanswered_calls;
use tiller_session::{AppendedEntry, EntryBody, ExternalChange, SessionError, chain};
use tiller_tools::tool::ToolSource;
use tokio::time::Instant;

use super::clock::now;
use super::commands::no_approver;
use super::external_appends::{self, AppendNotice};
use super::jobs::CallTarget;
use super::{Driver, QueuedEffect, ReturnQueued};
use crate::agents::describe_tasks;
use crate::approvals::Approver;
use crate::compaction::machine::{CompactionPoint, StopOrigin, SummaryInput};
use crate::extension::SessionSource;
use crate::handle::AgentError;
use crate::message_builder::MessageBuilder;
use crate::queue::Queue;
use crate::strip_images::strip_images;
use crate::turn::{AppendFailure, CallDecision, Effect, Input, TurnNumber};

impl Driver {
    /// Performs the queued effects until none are left or a sync has to finish first.
    pub(super) fn perform(&mut self) {
        while self.effects.syncs == 0 {
            match self.effects.items.pop_front() {
                None => return self.step_summary(SummaryInput::Drained),
                Some(QueuedEffect::Reply(reply)) => reply(Ok(())),
                Some(QueuedEffect::ReturnQueued(ReturnQueued { items, reply })) => reply(Ok(items)),
                Some(QueuedEffect::Effect(effect)) => self.perform_one(*effect),
            }
        }
    }

    fn perform_one(&mut self, effect: Effect) {
        match effect {
            Effect::Append(body) => {
                let record = bash_record(&body);
                if let Err(error) = self.append(body) {
                    self.handle_store_failure(&error, record);
                }
            }
            Effect::AppendAll(bodies) => {
                if let Err(error) = self.append_all(bodies) {
                    self.handle_store_failure(&error, None);
                }
            }
            Effect::RepairDanglingCalls => self.repair_dangling_calls(),
            Effect::Sync if self.services.options.sync == SyncPolicy::Turn => self.sync(),
            // With `always`, every append is already followed by a sync.
            Effect::Sync => {}
            // The run may have been stopped during the sync.
            Effect::Request { turn, .. } if self.turn.streaming() != Some(turn) => {}
            // Persist first: the request follows when the notes are synced.
            Effect::Request { .. } if self.append_job_notes() => {
                self.effects.items.push_front(QueuedEffect::Effect(Box::new(effect)));
            }
            Effect::Request { turn, tool_choice } => {
                self.check_context(CompactionPoint::Request);
                // A preceding write may have failed.
                if self.turn.streaming() == Some(turn) {
                    self.open_request(turn, tool_choice);
                }
            }
            Effect::Sleep { turn, delay } => self.jobs.sleep(turn, delay),
            // The run may have been stopped in the meantime.
            Effect::Compact if !self.turn.is_compacting() => {}
            Effect::Compact => self.step_summary(SummaryInput::Overflow),
            Effect::SwitchModel { to, cause } => self.switch_model(&to, &cause),
            Effect::RestoreModel => self.restore_model(),
            Effect::Plan { turn, calls } => self.plan_calls(turn, &calls),
            Effect::StopCompaction => {
                self.step_summary(SummaryInput::Stop(StopOrigin::TurnMachine));
            }
            Effect::Run { turn, calls } => self.run_calls(turn, calls),
            Effect::Ask { call, reason, rule } => self.ask(call, reason, rule),
            Effect::ReviewEnd { turn, .. } if self.turn.ending() != Some(turn) => {}
            Effect::ReviewEnd { turn, is_continued } => self.review_end(turn, is_continued),
            Effect::StopStream => {
                self.jobs.stop_stream();
                self.partial = None;
            }
            Effect::StopTools => {
                self.jobs.stop_tools();
                self.cancel_elicitations();
            }
            Effect::Emit(event) => self.emit(event),
        }
    }

    /// Appends an entry, then emits it.
    pub(super) fn append(&mut self, body: EntryBody) -> Result<(), SessionError> {
        self.append_all(vec![body])
    }

    /// Appends entries, all or none of them, then emits them.
    pub(super) fn append_all(&mut self, bodies: Vec<EntryBody>) -> Result<(), SessionError> {
        let appended = self.active.append(bodies, &self.services.run);
        self.emit_appended(appended)
    }

    /// Appends a result for every call without one. Earlier results are already in the log.
    fn repair_dangling_calls(&mut self) {
        for (call, cut_off) in unanswered_calls(&self.active.projection.messages, &self.services.tool_catalog)
        {
            let mut result = cut_off.result(&call, now());
            let traits = self.services.tool_catalog.find(&call.name);
            if traits.is_some_and(|traits| traits.set == Some(ToolSet::Agents)) {
                // Reads logs of agents, but only after a crash.
                describe_tasks(&mut result, &call, &self.active.tasks);
            }
            let result = Arc::new(Message::ToolResult(result));
            if let Err(error) = self.append(EntryBody::message(result)) {
                return self.handle_store_failure(&error, None);
            }
        }
    }

    /// Emits the writer's findings and the appended entries. Recomputes the projection if other entries of
    /// the log have changed.
    pub(super) fn emit_appended(
        &mut self,
        appended: Result<Vec<AppendedEntry>, SessionError>,
    ) -> Result<(), SessionError> {
        let disturbances = self.active.writer.take_external_changes();
        if matches!(appended, Err(SessionError::Cut { .. }))
            || disturbances.iter().any(ExternalChange::changes_entries)
        {
            self.active.project()?;
        }
        let own_entries = appended.as_ref().map_or(0, Vec::len);
        for change in disturbances {
            self.warn_external_change(&change, own_entries);
        }
        let appended = appended?;
        let is_to_be_synced = !appended.is_empty() && self.services.options.sync == SyncPolicy::Always;
        for entry in appended {
            self.bus.emit(EventKind::EntryAppended { entry_id: entry.id, entry: entry.line });
        }
        if is_to_be_synced {
            self.sync();
        }
        Ok(())
    }

    /// Emits a warning about a change by another process; frequent warnings go to the tracing log only.
    fn warn_external_change(&mut self, change: &ExternalChange, own_entries: usize) {
        tracing::warn!("{change}");
        let mut message = change.to_string();
        if let ExternalChange::Appended { entries, .. } = change {
            self.emit_external_appends(*entries, own_entries);
            match self.active.external.warning(*entries) {
                AppendNotice::Plain => {}
                AppendNotice::Counted(count) => message = format!("{message}; {count}"),
                AppendNotice::Silent => return,
            }
        }
        let hint = Some(change.hint().to_owned());
        self.bus.emit(EventKind::Warning { message, hint });
    }

    /// Emits the entries of another process, which precede the newest `own_entries` entries.
    fn emit_external_appends(&mut self, entries: usize, own_entries: usize) {
        let reader = self.active.reader();
        let end = reader.entry_count().saturating_sub(own_entries);
        let events = external_appends::events(&reader, end.saturating_sub(entries)..end);
        events.into_iter().for_each(|event| self.bus.emit(event));
    }

    pub(super) fn sync(&mut self) {
        if let Some(file) = self.active.writer.file() {
            self.effects.syncs += 1;
            self.jobs.sync(file);
        }
    }

    /// Handles a failed write: drops the remaining effects, and informs the machine and the waiting callers.
    /// Unwritten records of commands are kept for later, and the queue is restored from the log.
    pub(super) fn handle_store_failure(
        &mut self,
        error: &SessionError,
        record: Option<BashExecutionMessage>,
    ) {
        let reason = chain(error);
        tracing::error!(reason, "the session could not be written");
        self.step_summary(SummaryInput::StoreFailed { reason: reason.clone() });
        let hint = error.hint().map(str::to_owned);
        let mut records = Vec::from_iter(record);
        let logged = self.active.reader().tiller_entries().map(|(entries, _)| Queue::restore(&entries));
        let queue = logged.unwrap_or_else(|_| self.turn.queue().clone());
        for work in std::mem::take(&mut self.effects.items) {
            match work {
                QueuedEffect::Reply(reply) => reply(Err(AgentError::Store(reason.clone()))),
                QueuedEffect::ReturnQueued(back) => back.fail(&queue, &reason),
                QueuedEffect::Effect(effect) => {
                    if let Effect::Append(body) = *effect {
                        records.extend(bash_record(&body));
                    }
                }
            }
        }
        self.leave_fallback();
        for request in self.approvals.take_pending() {
            let decision = Decision::Deny { reason: "the session could not be written".to_owned() };
            let tool_call_id = request.tool_call_id;
            self.bus.emit(EventKind::ApprovalResolved { tool_call_id, decision });
        }
        let events = self.bus.open.clone();
        let failed = AppendFailure { reason, hint, open_events: events, queue, records };
        let effects = self.turn.step(Input::StoreFailed(failed), now());
        self.enqueue(effects);
    }

    fn emit(&mut self, event: EventKind) {
        match &event {
            // An operation without a start event gets no end event.
            EventKind::CompactionEnd { .. } if self.bus.open.compaction.is_none() => return,
            EventKind::AutoRetryEnd { .. } if self.bus.open.retry.is_none() => return,
            EventKind::AgentSettled => {
                let approver = self.approvals.approver();
                return self.step_summary(SummaryInput::RunSettled { approver });
            }
            EventKind::AgentEnd {
                will_retry: false,
                outcome: RunOutcome::Completed | RunOutcome::MaxTurns,
                ..
            } => self.check_context(CompactionPoint::End),
            EventKind::AgentStart => {
                self.step_summary(SummaryInput::RunStarted);
                self.mark_run_start();
                self.agents.enter_run(Instant::now());
            }
            EventKind::ToolExecutionEnd { tool_call_id, .. } => self.jobs.remove_call(tool_call_id),
            EventKind::QueueUpdate { .. } => self.end_waits_if_steered(),
            EventKind::ApprovalResolved { tool_call_id, .. } => {
                drop(self.approvals.remove_request(tool_call_id))
            }
            _ => {}
        }
        self.bus.settle_waiters.record(&event);
        let compacted = match &event {
            EventKind::CompactionEnd { result: Some(result), .. } => Some((**result).clone()),
            _ => None,
        };
        self.bus.emit(event);
        if compacted.is_some() {
            self.run_session_hooks(SessionSource::Compact);
        }
        // The caller that requested the compaction gets its reply last.
        compacted.into_iter().for_each(|result| self.step_summary(SummaryInput::Appended(result)));
    }

    pub(super) fn send_request(&mut self, turn: TurnNumber, tool_choice: ToolChoice) {
        let model = &self.active.model;
        let head = AssistantMessage {
            api: model.provider.api().to_owned(),
            provider: model.facts.provider.clone(),
            model: model.facts.id.clone(),
            timestamp: now(),
            ..AssistantMessage::default()
        };
        let messages = self.active.request_messages.update(&self.active.projection.messages);
        let messages = match self.active.request_messages.has_attachments() {
            true => strip_images(messages, &model.facts),
            false => messages,
        };
        let request = Request {
            model: Arc::clone(&model.facts),
            system: self.system().to_owned(),
            messages,
            tools: self.offered_tools().specs(),
            tool_choice,
            max_tokens: self.services.options.answers.max_tokens(
                &model.facts,
                self.active.thinking,
                self.active.projection.tokens(),
                self.summaries.machine.options().reserve(model.facts.window),
            ),
            temperature: self.services.options.answers.temperature,
            thinking: self.active.thinking,
            cache_key: Some(self.active.reader().id().to_string()),
        };
        let (provider, name, messages) = (&model.facts.provider, &request.model.id, request.messages.len());
        tracing::debug!(provider, model = name, messages, thinking = request.thinking.name(), "request");
        match self.active.unsendable_reason() {
            None => self.jobs.stream(turn, &*model.provider, request),
            Some(message) => self.jobs.refuse(turn, unsendable_error(&model.facts, message)),
        }
        self.services.runner.renew_standby();
        self.active.requested_model = Arc::clone(&self.active.model.facts);
        let message = Arc::new(Message::Assistant(head.clone()));
        self.partial = Some(MessageBuilder::new(head));
        self.bus.emit(EventKind::TurnStart);
        self.bus.emit(EventKind::MessageStart { message });
    }

    /// Applies an input; its effects precede all queued effects.
    pub(super) fn step_next(&mut self, input: Input) {
        let effects = self.turn.step(input, now());
        for effect in effects.into_iter().rev() {
            self.effects.items.push_front(QueuedEffect::Effect(Box::new(effect)));
        }
    }

    /// Finds the tool of a call. Limits the results of all tools but the built-in ones, which know best what
    /// to omit.
    fn find_callee(&self, ToolCall { name, arguments, .. }: &ToolCall) -> Option<CallTarget> {
        let tools = &self.services.tools;
        let is_limited = tools.source(name) != Some(&ToolSource::BuiltIn);
        let limited = is_limited.then(|| self.services.options.output.clone());
        let tool = tools.find(name)?;
        let network = self.approvals.policy().network_access(tool.spec(), arguments);
        Some(CallTarget { tool, host: self.hooks.extensions().clone(), limited, network })
    }

    fn run_calls(&mut self, turn: TurnNumber, calls: Vec<ToolCall>) {
        self.approvals.open_outside_path(&calls);
        for call in calls.into_iter().filter(|call| self.turn.awaits(&call.id)).collect::<Vec<_>>() {
            match self.find_callee(&call) {
                Some(callee) => self.jobs.run(turn, call, callee),
                None => tracing::error!(tool = call.name, "a call of an unknown tool was to run"),
            }
        }
        self.end_waits_if_steered();
    }

    /// Ends the waits of running calls while a steering message waits for the next gap.
    fn end_waits_if_steered(&self) {
        if self.turn.queue().has_waiting(QueueKind::Steer) {
            self.jobs.end_waits();
        }
    }

    /// Requests approval, with a preview, unless the call is already decided by a rule, a change of mode, or
    /// because a command still only reads.
    fn ask(&mut self, call: ToolCall, reason: String, rule: String) {
        if let Some(denied) = self.approvals.deny_declined(&call) {
            return self.step_next(Input::ApprovalDenied { call: call.id, denied });
        }
        match self.decide_call(&call) {
            Some(CallDecision::Run(_)) => {
                return self.step_next(Input::ApprovalWaived { call: call.id, grant: None });
            }
            Some(CallDecision::Granted { decider, rule }) => {
                return self.step_next(Input::ApprovalWaived { call: call.id, grant: Some((decider, rule)) });
            }
            Some(CallDecision::Deny(denied)) => {
                return self.step_next(Input::ApprovalDenied { call: call.id, denied });
            }
            Some(CallDecision::Ask { .. } | CallDecision::Refuse { .. }) | None => {}
        }
        let proposed = self.propose_rules(&call);
        // The preview reads the path, too; `previewed` closes it again.
        self.approvals.open_outside_path(std::slice::from_ref(&call));
        let tool = self.services.tools.find(&call.name);
        let later =
            self.turn.calls_awaiting_approval().filter(|call| self.still_needs_approval(call)).count();
        let request = ApprovalRequest {
            tool_call_id: call.id,
            tool_name: call.name,
            args: call.arguments,
            reason,
            rule,
            proposed,
            agent: None,
            cwd: None,
            preview: None,
            later,
        };
        match tool.filter(|tool| tool.preview(&request.args).is_some()) {
            Some(tool) => self.jobs.preview(tool, request),
            None => {
                self.approvals.open_outside_path(&[]);
                self.emit_request(request);
            }
        }
    }

    /// Returns the decision on a call that is about to run; `None` if approval is required regardless of the
    /// policy.
    fn decide_call(&self, call: &ToolCall) -> Option<CallDecision> {
        let tool =
            self.services.tools.find(&call.name).filter(|_| !self.approvals.requires_approval(&call.id))?;
        Some(self.approvals.decide(call, tool.spec(), self.services.tools.source(&call.name)))
    }

    /// Returns rules that would allow a call, unless approval is required regardless of rules.
    fn propose_rules(&mut self, call: &ToolCall) -> Option<ProposedRules> {
        let tool =
            self.services.tools.find(&call.name).filter(|_| !self.approvals.requires_approval(&call.id))?;
        self.approvals.propose_rules(call, tool.spec(), self.services.tools.source(&call.name))
    }

    /// Returns true if a call that was about to request approval still needs it.
    fn still_needs_approval(&self, call: &ToolCall) -> bool {
        !matches!(self.decide_call(call), Some(CallDecision::Run(_) | CallDecision::Granted { .. }))
    }

    /// Resolves the pending requests that a new approval mode or new rules decide.
    pub(super) fn resolve_pending(&mut self) {
        for request in self.approvals.pending().to_vec() {
            if let Some((decision, decider, rule)) = self.decide_request(&request) {
                drop(self.approvals.remove_request(&request.tool_call_id));
                self.apply(Input::Decided { call: request.tool_call_id, decision, decider, rule });
            }
        }
    }

    /// Returns the decision of the mode or a rule on a request, with the decider and the rule; `None` if the
    /// user must decide.
    fn decide_request(&self, request: &ApprovalRequest) -> Option<(Decision, Decider, Option<String>)> {
        let (id, name) = (request.tool_call_id.clone(), request.tool_name.clone());
        let call = ToolCall {
            id,
            name,
            arguments: request.args.clone(),
            raw_arguments: None,
            thought_signature: None,
        };
        match self.decide_call(&call)? {
            CallDecision::Run(_) => Some((Decision::Once, Decider::Mode, None)),
            CallDecision::Granted { decider, rule } => Some((Decision::Once, decider, rule)),
            CallDecision::Deny(denied) => {
                let decider = denied.decider();
                Some((Decision::Deny { reason: denied.reason }, decider, denied.rule))
            }
            CallDecision::Ask { .. } | CallDecision::Refuse { .. } => None,
        }
    }

    fn emit_request(&mut self, request: ApprovalRequest) {
        self.approvals.ask(request.clone());
        self.bus.emit(EventKind::ApprovalRequested(request));
    }

    /// Emits an approval request with its preview, unless the call has been decided or the approver has left.
    pub(super) fn previewed(&mut self, request: ApprovalRequest) {
        self.approvals.open_outside_path(&[]);
        if !self.turn.asks(&request.tool_call_id, &request.args) {
            return;
        }
        let (decision, decider, rule) = match self.decide_request(&request) {
            _ if self.approvals.approver() == Approver::Absent => (no_approver(), Decider::Nobody, None),
            // The mode or a rule has changed during the preview.
            Some(decided) => decided,
            None => return self.emit_request(request),
        };
        self.apply(Input::Decided { call: request.tool_call_id, decision, decider, rule });
    }

    pub(super) fn synced(&mut self, result: std::io::Result<()>) {
        self.effects.syncs = self.effects.syncs.saturating_sub(1);
        if let Err(source) = result {
            let path = self.active.reader().path().map_or_else(Default::default, ToOwned::to_owned);
            self.handle_store_failure(&SessionError::Sync { path, source }, None);
        }
        self.perform();
    }
}

/// Returns the error of a request that no model could accept. It leads to a compaction, like a request that
/// the provider rejected as too long.
fn unsendable_error(model: &ModelFacts, message: String) -> ProviderError {
    ProviderError { provider: model.provider.clone(), failure: FailureKind::Overflow, message, hint: None }
}

fn bash_record(body: &EntryBody) -> Option<BashExecutionMessage> {
    match body.as_message().map(|message| &**message) {
        Some(Message::BashExecution(record)) => Some(record.clone()),
        _ => None,
    }
}
