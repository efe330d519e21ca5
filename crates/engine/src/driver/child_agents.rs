//! Agents that are working for the session: the parts of their sessions, their events and requests, and their
//! completion.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use tiller_core::delegated_task::{BackgroundCall, DelegatedTask};
use tiller_core::elicitation::{ElicitationAction, ElicitationAnswer};
use tiller_core::event::{Decision, Event, EventKind};
use tiller_core::id::{CallId, ElicitationId, SessionId};
use tiller_core::setting::Switch;
use tiller_core::unit::Usd;
use tiller_session::{EntryBody, ModelUsage};
use tiller_tools::policy::{ApprovalMode, AskBehavior, ConfiguredRules};

use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::Driver;
use super::child_agents_state::RunningChild;
use super::clock::now;
use super::commands::send_reply;
use super::job_event::JobEvent;
use crate::agents::{
    AgentActivity, BACKGROUND_TYPE, END_TYPE, EndedTask, LoggedUse, ParentSession, RunningAgent, START_TYPE,
    UsageLimit, agent_entry, cost_of, usage_entries,
};
use crate::approvals::Approver;
use crate::budget::BudgetOptions;
use crate::handle::{AgentError, AgentSession, DelegationCommand, DriverCommand, Lag, Reply, Snapshot};
use crate::options::BackgroundTasks;
use crate::turn::EndVerdict;

/// Time for the last events of an agent to be forwarded after its session was closed.
const FORWARDING_TIMEOUT: Duration = Duration::from_secs(2);

impl Driver {
    pub(super) fn delegation_command(&mut self, command: DelegationCommand) {
        match command {
            DelegationCommand::Parent { reply } => self.send_parent(reply),
            DelegationCommand::Started { start, session, reply } => {
                let result = self.agent_started(*start, session);
                send_reply(reply, result);
            }
            DelegationCommand::Ended { task, reply } => self.end_after_last_event(task, reply),
            DelegationCommand::BackgroundStarted { call, reply } => {
                let started = self.background_tasks_started(call.as_ref());
                send_reply(reply, started);
            }
            DelegationCommand::CouldNotStart { call, number, reply } => {
                self.active.tasks.note_failure_to_start(&call, number);
                send_reply(reply, Ok(()));
            }
            DelegationCommand::Notify { note, reply } => {
                self.agents.notes.push(note);
                self.append_notes_if_idle();
                // The model is informed before a run that waits for the task may end.
                self.agents.background.send_modify(|running| *running = running.saturating_sub(1));
                send_reply(reply, Ok(()));
            }
            DelegationCommand::Used { usage, reply } => {
                let result = self.agent_used(usage);
                send_reply(reply, result);
            }
            DelegationCommand::EndInterrupted { reply } => {
                let result = self.end_interrupted_tasks();
                send_reply(reply, result);
            }
            DelegationCommand::RecordRace { entry, reply } => {
                let result = self.append(entry).map_err(AgentError::from);
                send_reply(reply, result);
            }
            DelegationCommand::List { reply } => {
                send_reply(reply, Ok(self.agents.statuses()));
            }
            DelegationCommand::Tasks { reply } => {
                send_reply(reply, Ok(self.active.tasks.all().to_vec()));
            }
            DelegationCommand::Waiting { reply } => {
                // The tasks of an earlier process don't start any more.
                let is_current = self.active.has_written_to_log();
                let waiting = if is_current { self.active.tasks.waiting() } else { Vec::new() };
                send_reply(reply, Ok(waiting));
            }
            DelegationCommand::Definitions { reply } => {
                send_reply(reply, Ok(self.resources.resources.agents().to_vec()));
            }
            DelegationCommand::Find { id, reply } => {
                let session = self.agents.child(&id).map(|child| child.session.clone());
                send_reply(reply, session.ok_or(AgentError::NotFound("running agent with that id")));
            }
        }
    }

    /// Sends the parts for the sessions of agents, once the usage before the session was opened is counted.
    fn send_parent(&mut self, reply: Reply<Box<ParentSession>>) {
        if !self.agents.needs_logs() {
            let parent = Box::new(self.parent_session());
            return send_reply(reply, Ok(parent));
        }
        let reader = self.active.reader();
        self.jobs.spawn(async move {
            let session = reader.id().clone();
            let logged = LoggedUse::read_in_background(reader).await;
            JobEvent::AgentLogsRead { session, logged, reply }
        });
    }

    /// Counts the usage before the session was opened, and sends the parts that waited for it.
    pub(super) fn agent_logs_read(
        &mut self,
        session: &SessionId,
        logged: &LoggedUse,
        reply: Reply<Box<ParentSession>>,
    ) {
        // Another session may have been opened meanwhile.
        if self.active.reader().id() == session {
            self.agents.count_logs(logged);
        }
        self.send_parent(reply);
    }

    fn parent_session(&self) -> ParentSession {
        let reader = self.active.reader();
        let mut options = self.services.options.clone();
        options.policy = self.approvals.policy().clone();
        options.approver = self.approvals.approver();
        options.agent_deltas = *self.agents.deltas.borrow();
        self.limit_agents_to_budget();
        options.budget = BudgetOptions::default();
        options.limits = options.limits.with(self.agents.all.clone()).with(self.agents.budget.clone());
        options.agent_limit = UsageLimit::default();
        ParentSession {
            manager: self.services.manager.for_agents_of(&reader),
            reader,
            tasks: self.active.tasks.all().to_vec(),
            providers: self.services.providers.clone(),
            model: self.active.model.clone(),
            thinking: self.active.thinking,
            tools: self.services.offered_tools.for_another_session(),
            guards: self.hooks.extensions.guards(),
            runner: self.services.runner.clone(),
            system_prompt: self.resources.prompt_settings(),
            resources: (*self.resources.resources).clone(),
            link: self.services.agent_link.clone().map(|link| Box::new(link) as Box<dyn Any + Send + Sync>),
            options,
        }
    }

    /// Records the background tasks of a call, some of which may have to wait before they start.
    fn background_tasks_started(&mut self, call: Option<&BackgroundCall>) -> Result<(), AgentError> {
        if let Some(call) = call {
            self.append(agent_entry(BACKGROUND_TYPE, call))?;
        }
        self.agents.background.send_modify(|running| *running += 1);
        Ok(())
    }

    fn agent_started(&mut self, start: DelegatedTask, session: AgentSession) -> Result<(), AgentError> {
        self.append(agent_entry(START_TYPE, &start)).map_err(AgentError::from)?;
        let mut events = session.subscribe();
        let (agent, sender, watched) = (start.agent_id.clone(), self.jobs.sender(), session.downgrade());
        let deltas = self.agents.deltas.subscribe();
        let (is_forwarding, forwarded) = oneshot::channel::<()>();
        let forwarder = self.jobs.spawn_silent(async move {
            // Dropped at the end.
            let _is_forwarding = is_forwarding;
            while let Some(received) = events.next().await {
                let (agent, deltas) = (agent.clone(), *deltas.borrow());
                let forwarded = match received {
                    Ok(event) if !is_forwarded(&event.kind, deltas) => continue,
                    Ok(event) => JobEvent::AgentEvent { agent, event },
                    // The agent's log has the other missed events.
                    Err(Lag(_)) => match watched.send(|reply| DriverCommand::Snapshot { reply }).await {
                        Ok(snapshot) => JobEvent::AgentMissed { agent, snapshot },
                        Err(_) => return,
                    },
                };
                if sender.send(forwarded).await.is_err() {
                    return;
                }
            }
        });
        self.bus.emit(EventKind::AgentTaskStart(start.clone()));
        let status = RunningAgent { start, since: now(), activity: AgentActivity::default() };
        let (nested_cost, approvals, questions) = (Usd::default(), Vec::new(), Vec::new());
        let forwarded = Some(forwarded);
        self.agents.all.enter(Instant::now());
        let child = RunningChild { status, session, nested_cost, approvals, questions, forwarder, forwarded };
        // The mode and the rules may have changed since the agent started. A change of the mode ends `--yes`.
        let policy = self.approvals.policy();
        if policy.ask_behavior == AskBehavior::User {
            child.limit_approval(policy.mode);
        }
        tokio::spawn(child.configure_rules(self.approvals.configured_rules().clone()));
        child.set_approver(self.approvals.approver());
        child.set_agent_deltas(*self.agents.deltas.borrow());
        self.agents.children.push(child);
        Ok(())
    }

    /// Records the end of tasks that an earlier process left open, with their usage. To be called before the log of
    /// such a task is opened, because only a log that isn't open can be read for that.
    fn end_interrupted_tasks(&mut self) -> Result<(), AgentError> {
        if !self.active.has_interrupted_tasks() {
            return Ok(());
        }
        // This process's first entries record this.
        Ok(self.append_all(Vec::new())?)
    }

    /// Ends a task as soon as the last events of its agent, whose session is closed, are forwarded.
    fn end_after_last_event(&mut self, task: EndedTask, reply: Reply<()>) {
        let child = self.agents.child_mut(&task.end.agent_id);
        let forwarded = child.and_then(|child| child.forwarded.take());
        self.jobs.spawn(async move {
            if let Some(forwarded) = forwarded {
                // The session stays open if it doesn't stop; then its end isn't awaited.
                let _ = timeout(FORWARDING_TIMEOUT, forwarded).await;
            }
            JobEvent::AgentEnded { task, reply }
        });
    }

    /// Records the end of a task. If the agent's messages become a branch of the session, they include the
    /// usage.
    pub(super) fn agent_ended(
        &mut self,
        EndedTask { mut end, usage, graft }: EndedTask,
    ) -> Result<(), AgentError> {
        let grafted = graft.map(|graft| {
            let appended = self.active.writer.graft(&graft, now());
            self.emit_appended(appended).map_err(AgentError::from)
        });
        if matches!(grafted, Some(Err(_))) {
            end.lane = None;
        }
        self.agents.recorded += cost_of(&usage);
        let is_grafted = matches!(grafted, Some(Ok(())));
        let mut entries: Vec<EntryBody> =
            usage_entries(if is_grafted { Vec::new() } else { usage }).collect();
        entries.push(agent_entry(END_TYPE, &end));
        let lane = self.agents.child(&end.agent_id).and_then(|child| child.status.start.lane);
        let leaf = end.lane.as_ref().and_then(|result| result.leaf.clone());
        let recorded = self.append_all(entries).map_err(AgentError::from);
        let labeled = recorded.and_then(|()| match (lane, leaf) {
            // The tree shows which branch is which lane's.
            (Some(lane), Some(leaf)) => self.label(&leaf, Some(&format!("lane {lane}"))),
            _ => Ok(()),
        });
        if let Err(error) = labeled {
            self.bus.warn(error.to_string());
        }
        let at = self.agents.children.iter().position(|child| child.status.start.agent_id == end.agent_id);
        let result = grafted.unwrap_or(Ok(()));
        let Some(at) = at else { return result };
        self.agents.all.leave(Instant::now());
        let child = self.agents.children.remove(at);
        child.forwarder.abort();
        for request in child.approvals {
            let decision = Decision::Deny { reason: "the agent was stopped".to_owned() };
            self.bus.emit(EventKind::ApprovalResolved { tool_call_id: request.tool_call_id, decision });
        }
        for question in child.questions {
            let (elicitation_id, action) = (question.elicitation_id, ElicitationAction::Cancel);
            self.bus.emit(EventKind::ElicitationResolved { elicitation_id, action, withdrawn: true });
        }
        self.bus.emit(EventKind::AgentTaskEnd(end));
        result
    }

    /// Records an agent's usage outside of a task.
    fn agent_used(&mut self, usage: Vec<ModelUsage>) -> Result<(), AgentError> {
        self.agents.recorded += cost_of(&usage);
        Ok(self.append_all(usage_entries(usage).collect())?)
    }

    /// Updates an agent's requests from a snapshot of its session after events were missed.
    pub(super) fn agent_missed_events(&mut self, agent: &SessionId, snapshot: &Snapshot) {
        let (root, above) = (self.approvals.policy().root.clone(), self.active.reader().id().clone());
        let Some(child) = self.agents.child_mut(agent) else { return };
        child.catch_up(&snapshot.in_progress, &above, &root).into_iter().for_each(|kind| self.bus.emit(kind));
    }

    /// Handles an event of an agent. Requests to the user become requests of this session; other events are
    /// forwarded.
    pub(super) fn agent_event(&mut self, agent: &SessionId, event: &Arc<Event>) {
        let (root, above) = (self.approvals.policy().root.clone(), self.active.reader().id().clone());
        let Some(child) = self.agents.child_mut(agent) else { return };
        child.status.activity.update(&event.kind);
        match &event.kind {
            EventKind::ApprovalRequested(request) => {
                let requested = child.adopt_approval_request(request.clone(), &above, &root);
                requested.into_iter().for_each(|kind| self.bus.emit(kind));
            }
            EventKind::ApprovalResolved { tool_call_id, decision } => {
                let (tool_call_id, decision) = (child.call_id(tool_call_id), decision.clone());
                child.approvals.retain(|request| request.tool_call_id != tool_call_id);
                self.bus.emit(EventKind::ApprovalResolved { tool_call_id, decision });
            }
            EventKind::ElicitationRequested(request) => {
                let requested = child.adopt_question(request.clone(), &above);
                requested.into_iter().for_each(|kind| self.bus.emit(kind));
            }
            EventKind::ElicitationResolved { elicitation_id, action, withdrawn } => {
                let (elicitation_id, action, withdrawn) =
                    (child.question_id(elicitation_id), *action, *withdrawn);
                child.questions.retain(|request| request.elicitation_id != elicitation_id);
                self.bus.emit(EventKind::ElicitationResolved { elicitation_id, action, withdrawn });
            }
            EventKind::AgentEvent { event: nested, .. } => {
                child.count_nested(&nested.kind);
                self.bus.emit(event.kind.clone());
            }
            _ => {
                let parent_id = above;
                let (agent_id, name) = (agent.clone(), child.status.start.name.clone());
                let event = Arc::clone(event);
                self.bus.emit(EventKind::AgentEvent { agent_id, parent_id, name, event });
            }
        }
    }

    /// Forwards a decision to the agent that made the request; returns the arguments if it wasn't an agent.
    pub(super) fn decide_for_agent(
        &self,
        call: CallId,
        decision: Decision,
        reply: Reply<()>,
    ) -> Option<(CallId, Decision, Reply<()>)> {
        let Some((child, own)) = self.agents.owner(call.as_str()) else {
            return Some((call, decision, reply));
        };
        let (session, own) = (child.session.clone(), CallId::new(own));
        tokio::spawn(async move { send_reply(reply, session.decide(own, decision).await) });
        None
    }

    /// Forwards an answer to the agent that made the request; returns the arguments if it wasn't an agent.
    pub(super) fn answer_for_agent(
        &self,
        id: ElicitationId,
        answer: ElicitationAnswer,
        reply: Reply<()>,
    ) -> Option<(ElicitationId, ElicitationAnswer, Reply<()>)> {
        let Some((child, own)) = self.agents.owner(id.as_str()) else { return Some((id, answer, reply)) };
        let (session, own) = (child.session.clone(), ElicitationId::new(own));
        tokio::spawn(async move { send_reply(reply, session.answer_elicitation(own, answer).await) });
        None
    }

    /// Closes the sessions of the agents that are working for this session.
    pub(super) fn close_agents(&self) {
        for child in &self.agents.children {
            let session = child.session.clone();
            // The agent may have ended.
            tokio::spawn(async move { drop(session.close().await) });
        }
    }

    /// Forwards a change of the approval mode to the agents, whose modes can't be more permissive.
    pub(super) fn share_approval_mode(&self, mode: ApprovalMode) {
        self.agents.children.iter().for_each(|child| child.limit_approval(mode));
    }

    /// Forwards the settings rules to the agents. The jobs return the calls that still wait for approval, under ids of
    /// this session.
    pub(super) fn share_rules(&self, rules: &ConfiguredRules) -> JoinSet<Vec<CallId>> {
        self.agents.children.iter().map(|child| child.configure_rules(rules.clone())).collect()
    }

    /// Sets whether the deltas and partial output of agents are forwarded, at every depth.
    pub(super) fn set_agent_deltas(&self, deltas: Switch) {
        self.agents.deltas.send_replace(deltas);
        self.agents.children.iter().for_each(|child| child.set_agent_deltas(deltas));
    }

    /// Tells the agents whether an approver is present.
    pub(super) fn share_approver(&self, approver: Approver) {
        self.agents.children.iter().for_each(|child| child.set_approver(approver));
    }

    /// Returns the number of tasks in the background, if the end of a run waits for them.
    pub(super) fn awaited_tasks(&self) -> Option<watch::Receiver<usize>> {
        match self.services.options.background_tasks {
            BackgroundTasks::Await => Some(self.agents.background.subscribe()),
            BackgroundTasks::Continue => None,
        }
    }

    /// Returns true if the end of a run waits until the model is informed about ended tasks.
    pub(super) fn tells_notes(&self) -> bool {
        self.services.options.background_tasks == BackgroundTasks::Await && !self.agents.notes.is_empty()
    }

    /// Returns the result of reviewing a run's end.
    pub(super) fn end_verdict(&self, instruction: Option<String>) -> EndVerdict {
        match instruction {
            Some(instruction) => EndVerdict::Instruct(instruction),
            None if self.tells_notes() => EndVerdict::TellNotes,
            None => EndVerdict::End,
        }
    }

    /// Limits the agents to the rest of the budgets. An agent's usage is added to the totals only at its end,
    /// but nested agents count in the scope immediately.
    fn limit_agents_to_budget(&self) {
        let left =
            self.budgets().into_iter().map(|budget| budget.allowed.0 - budget.spent.0).reduce(f64::min);
        let recorded = self.agents.recorded.0;
        self.agents.budget.set_max_cost(left.map(|left| Usd(recorded + left.max(0.0))));
    }
}

/// Returns true for events of an agent that are forwarded. Deltas of answers and of output are many, and most
/// front ends don't show them.
fn is_forwarded(event: &EventKind, deltas: Switch) -> bool {
    match event {
        EventKind::MessageUpdate { .. }
        | EventKind::ToolExecutionUpdate { .. }
        | EventKind::BashExecutionUpdate { .. } => deltas == Switch::On,
        EventKind::EntryAppended { .. } | EventKind::Trace { .. } => false,
        // All others.
        _ => true,
    }
}
