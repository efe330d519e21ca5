//! The agents that are working for the session; `child_agents` changes them.

use std::path::{Path, PathBuf};

use tiller_core::delegated_task::{DelegatedTask, RequestingAgent};
use tiller_core::elicitation::{ElicitationAction, ElicitationRequest};
use tiller_core::event::{ApprovalRequest, Decision, EventKind};
use tiller_core::id::{CallId, ElicitationId, SessionId};
use tiller_core::message::Message;
use tiller_core::setting::Switch;
use tiller_core::unit::Usd;
use tiller_tools::policy::{ApprovalMode, ConfiguredRules};
use tokio::sync::{oneshot, watch};
use tokio::task::AbortHandle;

use tokio::time::Instant;

use crate::agents::{BackgroundNote, LoggedUse, RunningAgent, UsageLimit, UsageScope};
use crate::approvals::Approver;
use crate::handle::{AgentError, AgentSession, InFlight};

/// The running agents, their requests to the user, and notes about agents that have ended in the background.
pub(super) struct ChildAgents {
    /// The usage of the session and all its agents.
    pub(super) all: UsageScope,
    limit: UsageLimit,
    /// True if [`Self::all`] includes the usage before the session was opened.
    pub(super) counts_logs: bool,
    /// True if a run of the session is counted as work.
    is_session_at_work: bool,
    /// The agents' cost, limited by the rest of the session's budgets.
    pub(super) budget: UsageScope,
    /// The cost of ended agents, which is included in the session's totals.
    pub(super) recorded: Usd,
    pub(super) children: Vec<RunningChild>,
    /// Notes for the model, added immediately when the session is idle, or else to the next request.
    pub(super) notes: Vec<BackgroundNote>,
    /// On if the deltas and partial output of agents are forwarded.
    pub(super) deltas: watch::Sender<Switch>,
    /// The number of calls whose tasks run in the background.
    pub(super) background: watch::Sender<usize>,
}

pub(super) struct RunningChild {
    pub(super) status: RunningAgent,
    pub(super) session: AgentSession,
    /// The cost of the agent's own agents, which its session records at their end.
    pub(super) nested_cost: Usd,
    /// Approval requests, with ids of this session.
    pub(super) approvals: Vec<ApprovalRequest>,
    /// Questions, with ids of this session.
    pub(super) questions: Vec<ElicitationRequest>,
    /// The task that forwards the agent's events.
    pub(super) forwarder: AbortHandle,
    /// Fails at the forwarder's end; `None` once it is awaited.
    pub(super) forwarded: Option<oneshot::Receiver<()>>,
}

/// Separates the agent's id from its own id of a call or question.
const SEPARATOR: char = '/';

/// Returns the id of an agent's call in the session that delegates.
fn call_id_above(agent: &SessionId, call: &CallId) -> CallId {
    CallId::new(format!("{}{SEPARATOR}{call}", agent.short()))
}

impl RunningChild {
    /// Sets the most permissive approval mode of the agent: that of the delegating session.
    pub(super) fn limit_approval(&self, mode: ApprovalMode) {
        self.forward(|session| async move { session.limit_approval(mode).await });
    }

    /// Tells the agent whether someone can approve calls.
    pub(super) fn set_approver(&self, approver: Approver) {
        self.forward(|session| async move { session.set_approver(approver).await });
    }

    /// Sets whether the agent forwards the deltas of its own agents.
    pub(super) fn set_agent_deltas(&self, deltas: Switch) {
        self.forward(|session| async move { session.set_agent_deltas(deltas).await });
    }

    /// Sets the agent's settings rules; returns the calls that still wait for approval, under ids of this session.
    pub(super) fn configure_rules(
        &self,
        rules: ConfiguredRules,
    ) -> impl Future<Output = Vec<CallId>> + Send + 'static {
        let (session, agent) = (self.session.clone(), self.status.start.agent_id.clone());
        async move {
            // The agent may have ended.
            let waiting = session.configure_rules(rules).await.unwrap_or_default();
            waiting.iter().map(|call| call_id_above(&agent, call)).collect()
        }
    }

    fn forward<F>(&self, change: impl FnOnce(AgentSession) -> F)
    where
        F: Future<Output = Result<(), AgentError>> + Send + 'static,
    {
        let change = change(self.session.clone());
        // The agent may have ended.
        tokio::spawn(async move { drop(change.await) });
    }

    /// Returns the id in this session for an agent's call.
    pub(super) fn call_id(&self, call: &CallId) -> CallId {
        call_id_above(&self.status.start.agent_id, call)
    }

    /// Returns the id in this session for an agent's question.
    pub(super) fn question_id(&self, question: &ElicitationId) -> ElicitationId {
        ElicitationId::new(format!("{}{SEPARATOR}{question}", self.status.start.agent_id.short()))
    }
}

impl RunningChild {
    /// Converts an agent's approval request into a request of this session, which works in the directory
    /// `root`. Returns its event, unless the request is already known.
    pub(super) fn adopt_approval_request(
        &mut self,
        mut request: ApprovalRequest,
        above: &SessionId,
        root: &Path,
    ) -> Option<EventKind> {
        request.tool_call_id = self.call_id(&request.tool_call_id);
        if self.approvals.iter().any(|known| known.tool_call_id == request.tool_call_id) {
            return None;
        }
        request.reason = format!("agent {}", self.introduce(&request.reason, request.agent.as_ref()));
        request.agent.get_or_insert_with(|| self.requester(above));
        let dir = || PathBuf::from(&self.session.reader().header().cwd);
        request.cwd = request.cwd.or_else(|| Some(dir()).filter(|dir| dir != root));
        self.approvals.push(request.clone());
        Some(EventKind::ApprovalRequested(request))
    }

    /// Returns the text of a request with the agent's name before it. The first words of its task follow unless an
    /// agent below it made the request: several agents can have the same name.
    fn introduce(&self, text: &str, below: Option<&RequestingAgent>) -> String {
        let DelegatedTask { name, .. } = &self.status.start;
        match below {
            None => format!("{name}: {text} (task: {})", self.status.start.short_task()),
            Some(_) => format!("{name}: {text}"),
        }
    }

    /// Adds the cost of an answer of the agent's own agents.
    pub(super) fn count_nested(&mut self, event: &EventKind) {
        if let EventKind::MessageEnd { message } = event
            && let Message::Assistant(answer) = &**message
        {
            self.nested_cost += answer.usage.cost.total;
        }
    }

    fn requester(&self, above: &SessionId) -> RequestingAgent {
        RequestingAgent { agent_id: self.status.start.agent_id.clone(), parent_id: above.clone() }
    }

    /// Converts an agent's question into a question of this session. Returns its event, unless the
    /// question is already known.
    pub(super) fn adopt_question(
        &mut self,
        mut request: ElicitationRequest,
        above: &SessionId,
    ) -> Option<EventKind> {
        request.elicitation_id = self.question_id(&request.elicitation_id);
        if self.questions.iter().any(|known| known.elicitation_id == request.elicitation_id) {
            return None;
        }
        request.message = format!("Agent {}", self.introduce(&request.message, request.agent.as_ref()));
        request.agent.get_or_insert_with(|| self.requester(above));
        self.questions.push(request.clone());
        Some(EventKind::ElicitationRequested(request))
    }

    /// Adopts the pending requests of the agent's session and drops all others; returns the events of both.
    pub(super) fn catch_up(&mut self, pending: &InFlight, above: &SessionId, root: &Path) -> Vec<EventKind> {
        let InFlight { approvals, elicitations, .. } = pending;
        self.status.activity.approvals = approvals.len();
        let calls: Vec<CallId> =
            approvals.iter().map(|request| self.call_id(&request.tool_call_id)).collect();
        let questions: Vec<ElicitationId> =
            elicitations.iter().map(|request| self.question_id(&request.elicitation_id)).collect();
        let resolved_calls = self.approvals.extract_if(.., |known| !calls.contains(&known.tool_call_id));
        let resolved_calls = resolved_calls.map(|request| EventKind::ApprovalResolved {
            tool_call_id: request.tool_call_id,
            decision: Decision::Deny { reason: "it stopped waiting".to_owned() },
        });
        let mut events: Vec<EventKind> = resolved_calls.collect();
        let resolved_questions =
            self.questions.extract_if(.., |known| !questions.contains(&known.elicitation_id));
        events.extend(resolved_questions.map(|question| EventKind::ElicitationResolved {
            elicitation_id: question.elicitation_id,
            action: ElicitationAction::Cancel,
            withdrawn: true,
        }));
        events.extend(approvals.iter().filter_map(|it| self.adopt_approval_request(it.clone(), above, root)));
        events.extend(elicitations.iter().filter_map(|it| self.adopt_question(it.clone(), above)));
        events
    }
}

impl ChildAgents {
    pub(super) fn new(limit: UsageLimit, deltas: Switch) -> Self {
        Self {
            all: UsageScope::with_agents(limit),
            limit,
            counts_logs: false,
            is_session_at_work: false,
            budget: UsageScope::budget(),
            recorded: Usd::default(),
            children: Vec::new(),
            notes: Vec::new(),
            deltas: watch::Sender::new(deltas),
            background: watch::Sender::default(),
        }
    }

    /// Prepares for another session, for which no agent is working.
    pub(super) fn switch_session(&mut self) {
        self.notes.clear();
        (self.all, self.counts_logs) = (UsageScope::with_agents(self.limit), false);
        self.is_session_at_work = false;
    }

    /// Adds the usage before the session was opened, once.
    pub(super) fn count_logs(&mut self, logged: &LoggedUse) {
        if !std::mem::replace(&mut self.counts_logs, true) {
            self.all.add_logged(logged);
        }
    }

    /// Returns true if the usage before the session was opened matters and isn't counted yet.
    pub(super) fn needs_logs(&self) -> bool {
        !self.counts_logs && self.all.is_limited()
    }

    /// Starts counting the time of the session's own run.
    pub(super) fn enter_run(&mut self, now: Instant) {
        if !std::mem::replace(&mut self.is_session_at_work, true) {
            self.all.enter(now);
        }
    }

    /// Stops counting the time of the session's own run.
    pub(super) fn leave_run(&mut self, now: Instant) {
        if std::mem::take(&mut self.is_session_at_work) {
            self.all.leave(now);
        }
    }

    /// Returns the running agents, in the order in which they started.
    pub(super) fn statuses(&self) -> Vec<RunningAgent> {
        self.children.iter().map(|child| child.status.clone()).collect()
    }

    /// Returns the cost of the running agents' tasks.
    pub(super) fn running_cost(&self) -> Usd {
        let cost = |child: &RunningChild| child.status.activity.cost + child.nested_cost;
        self.children.iter().fold(Usd::default(), |sum, child| sum + cost(child))
    }

    pub(super) fn child(&self, id: &SessionId) -> Option<&RunningChild> {
        self.children.iter().find(|child| child.status.start.agent_id == *id)
    }

    pub(super) fn child_mut(&mut self, id: &SessionId) -> Option<&mut RunningChild> {
        self.children.iter_mut().find(|child| child.status.start.agent_id == *id)
    }

    /// Returns the agent that made the request with this id, and the agent's own id.
    pub(super) fn owner<'a>(&self, id: &'a str) -> Option<(&RunningChild, &'a str)> {
        let (agent, own) = id.split_once(SEPARATOR)?;
        let child = self.children.iter().find(|child| child.status.start.agent_id.short() == agent)?;
        Some((child, own))
    }

    pub(super) fn approvals(&self) -> impl Iterator<Item = &ApprovalRequest> {
        self.children.iter().flat_map(|child| &child.approvals)
    }

    pub(super) fn questions(&self) -> impl Iterator<Item = &ElicitationRequest> {
        self.children.iter().flat_map(|child| &child.questions)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use tiller_core::unit::UnixMs;
    use tiller_provider::ProviderRegistry;
    use tiller_provider::demo::Demo;

    use super::*;
    use crate::agents::AgentActivity;
    use crate::embed::SessionBuilder;

    fn request(id: &str) -> ApprovalRequest {
        ApprovalRequest {
            tool_call_id: id.into(),
            tool_name: "bash".to_owned(),
            args: json!({}),
            reason: "it writes".to_owned(),
            rule: String::new(),
            proposed: None,
            agent: None,
            cwd: None,
            preview: None,
            later: 0,
        }
    }

    /// Formats events as strings.
    fn words(events: Vec<EventKind>) -> Vec<String> {
        let word = |event| match event {
            EventKind::ApprovalRequested(request) => format!("asked {}", request.tool_call_id),
            EventKind::ApprovalResolved { tool_call_id, .. } => format!("resolved {tool_call_id}"),
            other => format!("{other:?}"),
        };
        events.into_iter().map(word).collect()
    }

    #[tokio::test]
    async fn catch_up_asks_and_resolves_what_was_missed() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let mut providers = ProviderRegistry::default();
        providers.add(Arc::new(Demo), vec![Demo::facts()]);
        let session = SessionBuilder::new(providers).start(&root).unwrap();
        let start = DelegatedTask::new("an-agent-HELPER".into(), "helper", "Fix it.");
        let mut child = RunningChild {
            status: RunningAgent { start, since: UnixMs(0), activity: AgentActivity::default() },
            session,
            nested_cost: Usd::default(),
            approvals: Vec::new(),
            questions: Vec::new(),
            forwarder: tokio::spawn(async {}).abort_handle(),
            forwarded: None,
        };
        let pending = |ids: &[&str]| {
            let approvals = ids.iter().map(|id| request(id)).collect();
            InFlight { approvals, ..InFlight::default() }
        };
        let own = |event: &str| event.replace("/", &format!("{}/", child_short()));
        assert_eq!(
            words(child.catch_up(&pending(&["a", "b"]), &"above".into(), &root)),
            [own("asked /a"), own("asked /b")]
        );
        assert_eq!(child.approvals[0].reason, "agent helper: it writes (task: Fix it.)");
        let requester = RequestingAgent { agent_id: "an-agent-HELPER".into(), parent_id: "above".into() };
        assert_eq!(child.approvals[0].agent, Some(requester));
        let events = child.catch_up(&pending(&["b", "c"]), &"above".into(), &root);
        assert_eq!(words(events), [own("resolved /a"), own("asked /c")]);
        assert_eq!(child.status.activity.approvals, 2);
        assert!(child.catch_up(&pending(&["b", "c"]), &"above".into(), &root).is_empty());
    }

    fn child_short() -> String {
        SessionId::new("an-agent-HELPER").short().to_owned()
    }
}
