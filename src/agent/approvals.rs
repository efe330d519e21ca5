//! Whether a call may run: the policy's word, what the user allowed for this session, and whether anybody is there to ask.

use std::collections::HashSet;

use crate::event::{AllowedBy, ApprovalRequest, DenialCause};
use crate::id::CallId;
use crate::message::{ToolCall, ToolSpec};
use crate::policy::{Asking, Mode, Policy, SessionRules, Verdict};

use super::extension::Opinion;
use super::turn::{Denied, Fate};

/// Whether somebody can answer a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// A person watches.
    Somebody,
    /// Nobody does: a call that would ask is denied, with a reason.
    Nobody,
}

/// Decides on calls.
#[derive(Debug)]
pub(super) struct Approvals {
    policy: Policy,
    /// What a session begins with.
    configured: Policy,
    audience: Audience,
    rules: SessionRules,
    waiting: Vec<ApprovalRequest>,
    /// Calls that an extension wants asked about, whatever the policy thinks of them.
    insisted: HashSet<CallId>,
}

impl Approvals {
    pub(super) fn new(policy: Policy, audience: Audience) -> Self {
        Self {
            configured: policy.clone(),
            policy,
            audience,
            rules: SessionRules::default(),
            waiting: Vec::new(),
            insisted: HashSet::new(),
        }
    }

    /// What asks, as the footer names it.
    pub(super) fn mode_name(&self) -> &'static str {
        match self.policy.asking {
            Asking::User => self.policy.mode.name(),
            Asking::Yes => "yes",
        }
    }

    /// Sets what asks, from the next call on until another session begins: the user is asked again where `--yes` answered.
    pub(super) fn set_mode(&mut self, mode: Mode) {
        self.policy.mode = mode;
        self.policy.asking = Asking::User;
    }

    /// Sets what asks in this session and in those that begin later.
    pub(super) fn configure_mode(&mut self, mode: Mode) {
        self.set_mode(mode);
        self.configured.clone_from(&self.policy);
    }

    pub(super) fn audience(&self) -> Audience {
        self.audience
    }

    pub(super) fn set_audience(&mut self, audience: Audience) {
        self.audience = audience;
    }

    pub(super) fn waiting(&self) -> &[ApprovalRequest] {
        &self.waiting
    }

    /// What is to become of a call whose arguments are sound.
    pub(super) fn fate(&self, call: &ToolCall, spec: &ToolSpec) -> Fate {
        match self.policy.judge(spec, &call.arguments, &self.rules) {
            Verdict::Allow => Fate::Run(spec.access),
            Verdict::Deny { reason } => deny(DenialCause::Policy, reason, None),
            Verdict::Ask { reason, rule } if self.audience == Audience::Somebody => {
                Fate::Ask { reason, rule: rule.to_string() }
            }
            Verdict::Ask { reason, .. } => {
                deny(DenialCause::NoApprover, reason, Some(self.allowed_by(call, spec)))
            }
        }
    }

    /// Finds the least that allows a call which asks.
    fn allowed_by(&self, call: &ToolCall, spec: &ToolSpec) -> AllowedBy {
        let auto = Policy { mode: Mode::Auto, ..self.policy.clone() };
        match auto.judge(spec, &call.arguments, &self.rules) {
            Verdict::Allow => AllowedBy::Auto,
            Verdict::Ask { .. } | Verdict::Deny { .. } => AllowedBy::Yes,
        }
    }

    /// What is to become of a call in the end: the policy's word and the extensions', whichever is stricter. A guard that
    /// came to no opinion is no question that `--yes` has answered beforehand.
    pub(super) fn stricter(&mut self, call: &ToolCall, fate: Fate, opinion: Opinion) -> Fate {
        self.insisted.remove(&call.id);
        match (fate, opinion) {
            (fate @ (Fate::Refuse(_) | Fate::Deny(_)), _) | (fate, Opinion::Fine) => fate,
            (_, Opinion::Forbidden(reason)) => deny(DenialCause::Extension, reason, None),
            (fate, Opinion::Doubtful(_)) if self.policy.asking == Asking::Yes => fate,
            (_, Opinion::Doubtful(reason)) if self.audience == Audience::Nobody => {
                deny(DenialCause::NoApprover, reason, Some(AllowedBy::Yes))
            }
            (_, Opinion::Unjudged(reason)) if self.audience == Audience::Nobody => {
                deny(DenialCause::NoApprover, reason, None)
            }
            (fate, Opinion::Doubtful(reason) | Opinion::Unjudged(reason)) => self.insist(call, fate, reason),
        }
    }

    /// Asks about a call for an extension's reason, and for the policy's own if it has one.
    fn insist(&mut self, call: &ToolCall, fate: Fate, reason: String) -> Fate {
        self.insisted.insert(call.id.clone());
        let reason = match fate {
            Fate::Ask { reason: own, .. } => format!("{reason}; {own}"),
            Fate::Run(_) | Fate::Refuse(_) | Fate::Deny(_) => reason,
        };
        // No rule would keep it from being asked again.
        Fate::Ask { reason, rule: String::new() }
    }

    /// Whether a call is asked about whatever the policy thinks.
    pub(super) fn insists_on(&self, call: &CallId) -> bool {
        self.insisted.contains(call)
    }

    pub(super) fn ask(&mut self, request: ApprovalRequest) {
        self.waiting.push(request);
    }

    /// The call no longer waits.
    pub(super) fn resolved(&mut self, call: &CallId) -> Option<ApprovalRequest> {
        let at = self.waiting.iter().position(|request| request.tool_call_id == *call)?;
        Some(self.waiting.remove(at))
    }

    /// Nothing waits any more.
    pub(super) fn take_waiting(&mut self) -> Vec<ApprovalRequest> {
        std::mem::take(&mut self.waiting)
    }

    /// Another session begins: what was allowed, and the mode that was chosen, were for the one before.
    pub(super) fn forget(&mut self) {
        self.policy.clone_from(&self.configured);
        self.rules = SessionRules::default();
        self.insisted.clear();
    }

    /// Allows what the rule of a call that asked covers, until another session is opened.
    pub(super) fn allow_for_session(&mut self, request: &ApprovalRequest, spec: &ToolSpec) {
        if let Verdict::Ask { rule, .. } = self.policy.judge(spec, &request.args, &self.rules) {
            self.rules.add(rule);
        }
    }
}

fn deny(cause: DenialCause, reason: String, allowed_by: Option<AllowedBy>) -> Fate {
    Fate::Deny(Denied { cause, reason, allowed_by })
}
