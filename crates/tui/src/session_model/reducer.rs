//! All changes of the session model: by agent events, snapshots, results of jobs, and answers given
//! here.

use std::sync::Arc;

use tiller_core::event::{ApprovalRequest, AssistantDelta, Event, EventKind, RunOutcome};
use tiller_core::id::{CallId, ElicitationId};
use tiller_core::message::{Message, Usage};
use tiller_core::task_plan::TaskPlan;
use tiller_core::tool_catalog::ToolCatalog;
use tiller_core::unit::UnixMs;
use tiller_engine::remote_session::ConnectionState;
use tiller_engine::{InFlight, RetryAnnouncement, SessionState, SummaryInProgress, SummarySubject};

use super::{
    CallInProgress, Job, PendingApproval, SessionActivity, SessionInfo, SessionModel, StreamingAnswer,
};
use crate::agent_event::AgentEvent;
use crate::message::TaskResult;

impl SessionModel {
    /// Receives an event. While a snapshot is pending, the event is buffered; otherwise it is returned and
    /// must be applied.
    pub(crate) fn receive(&mut self, event: Arc<Event>) -> Option<Arc<Event>> {
        self.info.pending_snapshots.buffer(event)
    }

    /// Records that a snapshot was requested.
    pub(crate) fn expect_snapshot(&mut self) {
        self.info.pending_snapshots.open();
    }

    /// Returns true while a snapshot is pending.
    pub(crate) fn expects_snapshot(&self) -> bool {
        self.info.pending_snapshots.is_open()
    }

    /// Records that a snapshot has arrived; returns the events to apply after it.
    pub(crate) fn snapshot_arrived(&mut self) -> Vec<Arc<Event>> {
        self.info.pending_snapshots.close()
    }

    /// Records that a session is being opened.
    pub(crate) fn opening(&mut self, now: UnixMs) {
        self.activity.opening_since = Some(now);
    }

    /// Records that the session is open.
    pub(crate) fn opened(&mut self) {
        self.activity.opening_since = None;
    }

    /// Sets the state of the connection to the process that has the session open.
    pub(crate) fn set_connection(&mut self, state: ConnectionState) {
        self.info.connection = state;
    }

    /// Applies the result of a job if it concerns the session's state; otherwise returns it.
    pub(crate) fn apply_result(&mut self, result: TaskResult, now: UnixMs) -> Option<TaskResult> {
        match result {
            TaskResult::Began(job) => self.activity.jobs.push((job, now)),
            TaskResult::Ended(job) => self.end_job(job),
            TaskResult::ForkId(fork) => self.info.fork_id = fork,
            TaskResult::Branch(branch) => self.info.branch = branch,
            TaskResult::Welcome(welcome) => self.info.welcome = Some(welcome),
            TaskResult::Commands(commands) => {
                self.info.commands = commands;
                self.info.listing_changes += 1;
            }
            TaskResult::Resources(resources) => {
                self.info.resources = resources.into();
                self.info.listing_changes += 1;
            }
            result => return Some(result),
        }
        None
    }

    fn end_job(&mut self, job: Job) {
        if let Some(at) = self.activity.jobs.iter().position(|(started, _)| *started == job) {
            self.activity.jobs.remove(at);
        }
    }

    /// Applies an event. The match is exhaustive, so a new event needs a decision here.
    #[allow(clippy::too_many_lines, reason = "one arm an event")]
    pub(crate) fn apply(&mut self, event: &AgentEvent<'_>) {
        self.info.seq = event.seq;
        let activity = &mut self.activity;
        match event.kind {
            EventKind::AgentStart => {
                activity.running_since.get_or_insert(event.time);
                activity.last_run_failed = false;
                activity.retry = None;
            }
            EventKind::AgentTaskStart(_) => activity.agents += 1,
            EventKind::AgentTaskEnd(_) => activity.agents = activity.agents.saturating_sub(1),
            EventKind::AgentEnd { will_retry: false, outcome, .. } => {
                activity.last_run_failed = *outcome == RunOutcome::Failed;
            }
            EventKind::AgentSettled => {
                activity.running_since = None;
                activity.calls.clear();
                activity.streaming = StreamingAnswer::default();
            }
            EventKind::MessageStart { message } if matches!(**message, Message::Assistant(_)) => {
                activity.streaming = StreamingAnswer::default();
            }
            EventKind::MessageUpdate { usage, assistant_message_event } => {
                activity.streaming.add(usage, assistant_message_event);
            }
            EventKind::EntryAppended { .. } if event.is_answer() => {
                activity.streaming = StreamingAnswer::default();
            }
            EventKind::ToolExecutionStart { tool_call_id, tool_name, .. } => {
                let (id, name) = (tool_call_id.clone(), tool_name.clone());
                activity.calls.push(CallInProgress { id, name, since: event.time });
            }
            EventKind::ToolExecutionEnd { tool_call_id, result, is_error, .. } => {
                activity.calls.retain(|call| call.id != *tool_call_id);
                let plan = result.details.as_ref().filter(|_| !is_error).and_then(TaskPlan::from_details);
                if plan.is_some() {
                    self.info.plan = plan;
                }
                self.end_approval(tool_call_id);
            }
            EventKind::ApprovalRequested(request) => {
                activity.approvals.push(PendingApproval { request: request.clone(), since: event.now });
            }
            EventKind::ApprovalResolved { tool_call_id, .. } => self.end_approval(tool_call_id),
            EventKind::ElicitationRequested(request) => activity.elicitations.push(request.clone()),
            EventKind::ElicitationResolved { elicitation_id, .. } => self.end_elicitation(elicitation_id),
            EventKind::QueueUpdate { items, .. } => {
                activity.queue = items.iter().map(|item| (**item).clone()).collect();
            }
            EventKind::ModelChanged { model } => self.info.model = Some(model.clone()),
            EventKind::ThinkingLevelChanged { level } => self.info.thinking = *level,
            EventKind::SessionInfoChanged { name } => self.info.name.clone_from(name),
            EventKind::BashExecutionStart { .. } => activity.bash_since = Some(event.time),
            EventKind::BashExecutionEnd { .. } => activity.bash_since = None,
            EventKind::BackgroundJobStart(_) => activity.background_jobs += 1,
            EventKind::BackgroundJobEnd(_) => {
                activity.background_jobs = activity.background_jobs.saturating_sub(1);
            }
            EventKind::AutoRetryStart { attempt, max_attempts, delay_ms, error_message } => {
                let numbers = (*attempt, *max_attempts);
                activity.retry = Some(RetryAnnouncement::new(numbers, event.time, *delay_ms, error_message));
            }
            EventKind::AutoRetryEnd { .. } => activity.retry = None,
            EventKind::SummaryRetry { attempt, max_attempts, delay_ms, error_message } => {
                if let Some(summary) = &mut activity.summary {
                    let numbers = (*attempt, *max_attempts);
                    summary.retry =
                        Some(RetryAnnouncement::new(numbers, event.time, *delay_ms, error_message));
                }
            }
            EventKind::CompactionStart { reason } => {
                self.begin_summary(SummarySubject::Context(*reason), event.time);
            }
            EventKind::BranchSummaryStart => self.begin_summary(SummarySubject::Branch, event.time),
            EventKind::CompactionEnd { .. } | EventKind::BranchSummaryEnd { .. } => activity.summary = None,
            // A retried run continues. Turns, message ends and denied calls are drawn from their entries;
            // traces are only logged. The other events lead to a snapshot, a message or a dialog.
            EventKind::AgentEnd { will_retry: true, .. }
            | EventKind::TurnStart
            | EventKind::TurnEnd { .. }
            | EventKind::MessageStart { .. }
            | EventKind::MessageEnd { .. }
            | EventKind::EntryAppended { .. }
            | EventKind::ToolExecutionUpdate { .. }
            | EventKind::ToolCallDenied(_)
            | EventKind::SessionChanged { .. }
            | EventKind::BashExecutionUpdate { .. }
            | EventKind::CompactionFailed { .. }
            | EventKind::ResourcesChanged { .. }
            | EventKind::CommandsChanged
            | EventKind::Notice { .. }
            | EventKind::Warning { .. }
            | EventKind::AgentEvent { .. }
            | EventKind::Trace { .. } => {}
        }
    }

    fn begin_summary(&mut self, of: SummarySubject, since: UnixMs) {
        self.activity.summary = Some(SummaryInProgress { of, since, retry: None, failed: None });
    }

    /// Removes a call that was answered here; its event follows.
    pub(crate) fn call_answered(&mut self, call: &CallId) {
        self.end_approval(call);
    }

    /// Removes a server's question that was answered here; its event follows.
    pub(crate) fn question_answered(&mut self, id: &ElicitationId) {
        self.end_elicitation(id);
    }

    fn end_elicitation(&mut self, id: &ElicitationId) {
        self.activity.elicitations.retain(|request| request.elicitation_id != *id);
    }

    fn end_approval(&mut self, call: &CallId) {
        self.activity.approvals.retain(|pending| pending.request.tool_call_id != *call);
    }

    /// Replaces the activity with that of a snapshot, except state that exists only here. Returns the calls
    /// that no longer wait for approval.
    pub(crate) fn restore(&mut self, seq: u64, live: &InFlight, now: UnixMs) -> Vec<CallId> {
        self.info.seq = seq;
        let answered = self.replace_approvals(&live.approvals, now);
        self.activity = SessionActivity {
            opening_since: None,
            retry: live.retry.clone(),
            running_since: live.running_since,
            calls: live.calls.iter().map(CallInProgress::from).collect(),
            bash_since: live.bash.as_ref().map(|bash| bash.since),
            background_jobs: live.background_jobs.iter().filter(|job| job.status.is_running()).count(),
            agents: live.agents.len(),
            summary: live.summary.clone(),
            jobs: std::mem::take(&mut self.activity.jobs),
            queue: live.queue.clone(),
            elicitations: live.elicitations.clone(),
            approvals: std::mem::take(&mut self.activity.approvals),
            streaming: StreamingAnswer::default(),
            last_run_failed: false,
        };
        answered
    }

    /// Sets the tools that the session's calls may name.
    pub(crate) fn set_tools(&mut self, tools: ToolCatalog) {
        self.info.tools = tools;
    }

    /// Sets the bytes of the streaming answer in a snapshot.
    pub(crate) fn set_streamed_bytes(&mut self, bytes: u64) {
        self.activity.streaming.bytes = bytes;
    }

    /// Replaces the pending calls; those that remain keep their times. Returns the removed ones.
    fn replace_approvals(&mut self, requests: &[ApprovalRequest], now: UnixMs) -> Vec<CallId> {
        let before = std::mem::take(&mut self.activity.approvals);
        let since = |request: &ApprovalRequest| {
            let known = before.iter().find(|pending| pending.request == *request);
            known.map_or(now, |pending| pending.since)
        };
        let pending =
            |request: &ApprovalRequest| PendingApproval { request: request.clone(), since: since(request) };
        self.activity.approvals = requests.iter().map(pending).collect();
        let gone = before.into_iter().map(|pending| pending.request);
        gone.filter(|request| !requests.contains(request)).map(|request| request.tool_call_id).collect()
    }

    /// Replaces the session's properties with those of a snapshot, except properties with another source.
    pub(crate) fn set_state(&mut self, state: SessionState) {
        self.info = SessionInfo {
            connection: std::mem::take(&mut self.info.connection),
            seq: self.info.seq,
            pending_snapshots: std::mem::take(&mut self.info.pending_snapshots),
            branch: self.info.branch.take(),
            fork_id: self.info.fork_id.take(),
            commands: std::mem::take(&mut self.info.commands),
            tools: std::mem::take(&mut self.info.tools),
            resources: std::mem::take(&mut self.info.resources),
            listing_changes: self.info.listing_changes,
            welcome: self.info.welcome.take(),
            name: state.name,
            model: Some(state.model),
            thinking: state.thinking,
            image_input: state.image_input,
            context: state.context,
            usage: state.usage,
            approval: state.approval,
            plan: state.plan,
        };
    }
}

impl StreamingAnswer {
    /// Adds a delta of the answer to the counts.
    fn add(&mut self, usage: &Usage, delta: &AssistantDelta) {
        self.counted_tokens = usage.output;
        if let AssistantDelta::TextDelta { delta, .. }
        | AssistantDelta::ThinkingDelta { delta, .. }
        | AssistantDelta::ToolcallDelta { delta, .. } = delta
        {
            self.bytes += delta.len() as u64;
        }
    }
}

#[cfg(test)]
mod tests;
