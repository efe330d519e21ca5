//! The agents that work for the session; `child_agents` changes them.

use tiller_core::elicitation::ElicitationRequest;
use tiller_core::event::ApprovalRequest;
use tiller_core::id::{CallId, ElicitationId, SessionId};
use tiller_core::unit::Usd;
use tokio::task::AbortHandle;

use crate::agents::{AgentRegistry, RunningAgent, UsageLimit, UsageScope};
use crate::handle::AgentSession;

/// The running agents, their requests to the user, and notes about those that have ended in the background.
pub(super) struct ChildAgents {
    /// The agents that a program has registered.
    pub(super) registry: AgentRegistry,
    /// The usage of all of them.
    pub(super) all: UsageScope,
    /// Their cost, limited by what is left of the session's budgets.
    pub(super) budget: UsageScope,
    /// The cost of agents that have ended, which is in the session's totals.
    pub(super) recorded: Usd,
    pub(super) children: Vec<RunningChild>,
    /// Texts for the model, added to the next request.
    pub(super) notes: Vec<String>,
}

pub(super) struct RunningChild {
    pub(super) status: RunningAgent,
    pub(super) session: AgentSession,
    /// Approval requests, under ids of this session.
    pub(super) approvals: Vec<ApprovalRequest>,
    /// Questions, under ids of this session.
    pub(super) questions: Vec<ElicitationRequest>,
    /// Forwards its events.
    pub(super) forwarder: AbortHandle,
}

/// Separates the agent's id from its own id of a call or question.
const SEPARATOR: char = '/';

impl RunningChild {
    /// Returns the id in this session of a call of the agent.
    pub(super) fn call_id(&self, call: &CallId) -> CallId {
        CallId::new(format!("{}{SEPARATOR}{call}", self.status.start.agent_id.short()))
    }

    /// Returns the id in this session of a question of the agent.
    pub(super) fn question_id(&self, question: &ElicitationId) -> ElicitationId {
        ElicitationId::new(format!("{}{SEPARATOR}{question}", self.status.start.agent_id.short()))
    }
}

impl ChildAgents {
    pub(super) fn new(limit: UsageLimit, registry: AgentRegistry) -> Self {
        Self {
            registry,
            all: UsageScope::all_agents(limit),
            budget: UsageScope::budget(),
            recorded: Usd::default(),
            children: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The agents at work, in the order of their starts.
    pub(super) fn statuses(&self) -> Vec<RunningAgent> {
        self.children.iter().map(|child| child.status.clone()).collect()
    }

    pub(super) fn child(&self, id: &SessionId) -> Option<&RunningChild> {
        self.children.iter().find(|child| child.status.start.agent_id == *id)
    }

    pub(super) fn child_mut(&mut self, id: &SessionId) -> Option<&mut RunningChild> {
        self.children.iter_mut().find(|child| child.status.start.agent_id == *id)
    }

    /// Returns the agent that a request of this id comes from, and the agent's own id.
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
