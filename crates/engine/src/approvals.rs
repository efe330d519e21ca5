//! The decision on a tool call, from the policy's verdict, the session's rules, the extensions' verdict, and
//! whether an approver is present.

use std::collections::{HashMap, HashSet};

use tiller_core::event::{AllowedBy, ApprovalRequest, Decider, DenialCause};
use tiller_core::id::{CallId, EntryId};
use tiller_core::message::ToolCall;
use tiller_core::proposed_rules::ProposedRules;
use tiller_core::tool_spec::ToolSpec;
use tiller_tools::policy::{
    AllowReason, ApprovalMode, AskBehavior, ConfiguredRules, DirAccess, PermissionRule, Policy,
    PolicyVerdict, SessionRules,
};
use tiller_tools::tool::ToolSource;
use tiller_tools::workspace::{FileAccess, SessionDirs, Workspace, describe_dir};

use super::approval_strictness::is_looser;
use super::extension::CallOpinion;
use super::repetition::{LOOP_LENGTH, Repetition};
use super::turn::{CallDecision, DeniedCall, PlannedCall};

mod call_judge;
mod outside_path;
mod repository;
mod shell_pattern;

pub use call_judge::only_reads;
use call_judge::{Assessment, CallJudge};
use outside_path::OutsidePath;

/// Tells whether a person can answer approval requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approver {
    /// A person answers.
    Present,
    /// Calls that need approval are denied, with a reason.
    Absent,
}

/// Decides on tool calls.
#[derive(Debug)]
pub(super) struct Approvals {
    policy: Policy,
    /// The policy that each new session starts with.
    configured: Policy,
    /// The most permissive mode that can be set; `None` for any.
    loosest: Option<ApprovalMode>,
    approver: Approver,
    /// The mode before plan mode, restored when plan mode ends.
    before_plan: ApprovalMode,
    /// The newest entry at the time when plan mode was entered.
    plan_start: Option<EntryId>,
    rules: SessionRules,
    pending: Vec<ApprovalRequest>,
    /// Calls for which an extension or a repetition requires approval, regardless of the policy's verdict.
    demanded: HashSet<CallId>,
    repetition: Repetition,
    /// The calls that need approval as repetitions.
    repeated: HashSet<CallId>,
    /// The directories that the built-in tools may access.
    workspace: Option<Workspace>,
    /// Paths outside the workspace that calls of the current answer name.
    outside_paths: HashMap<CallId, OutsidePath>,
}

impl Approvals {
    pub(super) fn new(
        (policy, loosest): (Policy, Option<ApprovalMode>),
        approver: Approver,
        workspace: Option<Workspace>,
    ) -> Self {
        let mut approvals = Self {
            configured: policy.clone(),
            policy,
            loosest,
            approver,
            before_plan: ApprovalMode::default(),
            plan_start: None,
            rules: SessionRules::default(),
            pending: Vec::new(),
            demanded: HashSet::new(),
            repetition: Repetition::default(),
            repeated: HashSet::new(),
            workspace,
            outside_paths: HashMap::new(),
        };
        approvals.share_dirs();
        approvals.configured.clone_from(&approvals.policy);
        approvals
    }

    fn call_judge(&self) -> CallJudge<'_> {
        CallJudge { policy: &self.policy, rules: &self.rules, workspace: self.workspace.as_ref() }
    }

    /// Returns the approval mode as the footer shows it.
    pub(super) fn mode_name(&self) -> &'static str {
        match (self.policy.ask_behavior, self.policy.mode) {
            (AskBehavior::Yes, ApprovalMode::Ask | ApprovalMode::Auto) => "yes",
            (_, mode) => mode.name(),
        }
    }

    /// Checks that the user may set a mode; the error is the most permissive mode that can be set.
    pub(super) fn check_mode(&self, mode: ApprovalMode) -> Result<(), ApprovalMode> {
        match self.loosest {
            Some(loosest) if is_looser(mode, loosest) => Err(loosest),
            _ => Ok(()),
        }
    }

    /// Sets the most permissive mode that can be set.
    pub(super) fn set_loosest(&mut self, mode: ApprovalMode) {
        self.loosest = Some(mode);
    }

    /// Sets the approval mode for the rest of this session and overrides `--yes`. `leaf` is the newest entry.
    pub(super) fn set_mode(&mut self, mode: ApprovalMode, leaf: Option<EntryId>) {
        if mode == ApprovalMode::Plan && !self.is_planning() {
            self.before_plan = self.policy.mode;
            self.plan_start = leaf;
        }
        self.policy.mode = mode;
        self.policy.ask_behavior = AskBehavior::User;
    }

    /// Returns plan mode, or in plan mode, the mode before it.
    pub(super) fn toggled_plan(&self) -> ApprovalMode {
        if self.is_planning() { self.before_plan } else { ApprovalMode::Plan }
    }

    pub(super) fn plan_start(&self) -> Option<&EntryId> {
        self.plan_start.as_ref()
    }

    pub(super) fn is_planning(&self) -> bool {
        self.policy.mode == ApprovalMode::Plan
    }

    /// Keeps the current approval mode for later sessions of this process.
    pub(super) fn keep_mode(&mut self) {
        self.configured.clone_from(&self.policy);
    }

    pub(super) fn configured_rules(&self) -> &ConfiguredRules {
        &self.policy.rules
    }

    /// Sets the settings rules for this session and later ones of this process.
    pub(super) fn configure_rules(&mut self, rules: ConfiguredRules) {
        self.configured.rules.clone_from(&rules);
        self.policy.rules = rules;
    }

    /// Proposes settings rules that would allow a call to run without approval.
    pub(super) fn propose_rules(
        &mut self,
        call: &ToolCall,
        spec: &ToolSpec,
        source: Option<&ToolSource>,
    ) -> Option<ProposedRules> {
        let proposed = self.policy.propose(spec, &call.arguments)?;
        let trial = self.policy.with_proposed(&proposed).ok()?;
        // Links may lead to paths that the rules don't cover.
        let policy = std::mem::replace(&mut self.policy, trial);
        let decision = self.decide(call, spec, source);
        self.policy = policy;
        let is_allowed = matches!(decision, CallDecision::Run(_) | CallDecision::Granted { .. });
        is_allowed.then_some(proposed)
    }

    pub(super) fn policy(&self) -> &Policy {
        &self.policy
    }

    pub(super) fn approver(&self) -> Approver {
        self.approver
    }

    pub(super) fn set_approver(&mut self, approver: Approver) {
        self.approver = approver;
    }

    pub(super) fn pending(&self) -> &[ApprovalRequest] {
        &self.pending
    }

    /// Decides on a call with valid arguments before the preceding calls have run. A command that would run
    /// because it only reads needs approval at this point: its paths may lead elsewhere by the time it runs,
    /// so it is checked again right before.
    ///
    /// Records the call's path outside the workspace: an allowed call may access this path and no other.
    pub(super) fn plan(
        &mut self,
        call: &ToolCall,
        spec: &ToolSpec,
        source: Option<&ToolSource>,
    ) -> CallDecision {
        let outside_path = self.call_judge().find_outside(call, spec, source);
        let decision = match self.call_judge().assess(call, spec, source) {
            Assessment { verdict: PolicyVerdict::Ask { reason, rule }, only_reads: true } => {
                CallDecision::Ask { reason, rule: rule.to_string() }
            }
            Assessment { verdict: PolicyVerdict::DenyUnlessReading { reason }, only_reads: true } => {
                CallDecision::Ask { reason, rule: String::new() }
            }
            assessment => self.apply_verdict(call, spec, assessment, outside_path.as_ref()),
        };
        match outside_path {
            Some(outside_path) => _ = self.outside_paths.insert(call.id.clone(), outside_path),
            None => _ = self.outside_paths.remove(&call.id),
        }
        decision
    }

    /// Decides on a call with valid arguments that is about to run.
    pub(super) fn decide(
        &self,
        call: &ToolCall,
        spec: &ToolSpec,
        source: Option<&ToolSource>,
    ) -> CallDecision {
        let outside_path = self.call_judge().find_outside(call, spec, source);
        self.apply_verdict(call, spec, self.call_judge().assess(call, spec, source), outside_path.as_ref())
    }

    fn apply_verdict(
        &self,
        call: &ToolCall,
        spec: &ToolSpec,
        Assessment { verdict, only_reads }: Assessment,
        outside_path: Option<&OutsidePath>,
    ) -> CallDecision {
        let decision = match verdict {
            PolicyVerdict::Allow => CallDecision::Run(spec.traits.access_with(&call.arguments)),
            PolicyVerdict::Granted(_)
            | PolicyVerdict::Ask { .. }
            | PolicyVerdict::DenyUnlessReading { .. }
                if only_reads =>
            {
                CallDecision::Run(spec.traits.access_with(&call.arguments))
            }
            PolicyVerdict::Deny { reason, rule } => {
                CallDecision::Deny(DeniedCall { cause: DenialCause::Policy, reason, allowed_by: None, rule })
            }
            PolicyVerdict::DenyUnlessReading { reason } => deny(DenialCause::Policy, reason, None),
            PolicyVerdict::Granted(AllowReason::Rule(rule)) => {
                CallDecision::Granted { decider: Decider::Rule, rule: Some(rule.to_string()) }
            }
            PolicyVerdict::Granted(AllowReason::Setting(rule)) => {
                let (decider, rule) = (Decider::Rule, Some(rule.to_string()));
                // A rule for a path also opens the path.
                return CallDecision::Granted { decider, rule };
            }
            PolicyVerdict::Granted(AllowReason::Yes) => {
                CallDecision::Granted { decider: Decider::YesFlag, rule: None }
            }
            PolicyVerdict::Ask { reason, rule } if self.approver == Approver::Present => {
                CallDecision::Ask { reason, rule: rule.to_string() }
            }
            PolicyVerdict::Ask { reason, .. } => {
                deny(DenialCause::NoApprover, reason, self.find_least_permission(call, spec))
            }
        };
        match outside_path {
            Some(outside_path) => self.apply_outside(decision, outside_path),
            None => decision,
        }
    }

    /// Returns the least permissive option that would allow a call that needs approval; `None` if only a rule
    /// would.
    fn find_least_permission(&self, call: &ToolCall, spec: &ToolSpec) -> Option<AllowedBy> {
        let auto = Policy { mode: ApprovalMode::Auto, ..self.policy.clone() };
        let yes = Policy { ask_behavior: AskBehavior::Yes, ..auto.clone() };
        let runs = |policy: Policy| policy.judge(spec, &call.arguments, &self.rules).runs();
        match runs(auto) {
            true => Some(AllowedBy::Auto),
            false => runs(yes).then_some(AllowedBy::Yes),
        }
    }

    /// Adjusts the decision on a call that accesses a path outside the workspace.
    fn apply_outside(&self, decision: CallDecision, outside_path: &OutsidePath) -> CallDecision {
        let reason = outside_path.reason();
        match decision {
            CallDecision::Refuse { .. } | CallDecision::Deny(_) => decision,
            CallDecision::Ask { reason: policy_reason, .. } => {
                CallDecision::Ask { reason: format!("{policy_reason}; {reason}"), rule: String::new() }
            }
            CallDecision::Run(_) | CallDecision::Granted { .. }
                if self.policy.ask_behavior == AskBehavior::Yes =>
            {
                CallDecision::Granted { decider: Decider::YesFlag, rule: None }
            }
            CallDecision::Run(_) | CallDecision::Granted { .. } if self.approver == Approver::Absent => {
                let reason = format!("{reason} (--add-dir DIR lets tools reach it)");
                deny(DenialCause::NoApprover, reason, Some(AllowedBy::Yes))
            }
            CallDecision::Run(_) | CallDecision::Granted { .. } => {
                let rule = outside_path.rule.as_ref();
                CallDecision::Ask { reason, rule: rule.map(ToString::to_string).unwrap_or_default() }
            }
        }
    }

    /// Clears the outside paths of the previous answer.
    pub(super) fn clear_outside_paths(&mut self) {
        self.outside_paths.clear();
        self.open_outside_path(&[]);
    }

    /// Opens the outside path that these calls may access, and closes the previous one. Only a single call
    /// can have such a path.
    pub(super) fn open_outside_path(&self, calls: &[ToolCall]) {
        let Some(workspace) = &self.workspace else { return };
        let outside_path = match calls {
            [call] => self.outside_paths.get(&call.id),
            _ => None,
        };
        workspace
            .allow_once(outside_path.map(|outside_path| (outside_path.path.clone(), outside_path.purpose)));
    }

    /// Requires approval for a call that the model repeats, regardless of other rules. Denies the call if
    /// there is no approver, and after a refusal, so that the run ends.
    fn guard_repetition(&mut self, planned: PlannedCall) -> PlannedCall {
        let PlannedCall { call, decision } = planned;
        let count = self.repetition.count(&call);
        if count < LOOP_LENGTH {
            return PlannedCall { call, decision };
        }
        let reason = format!("the same call for the {count}th time in a row");
        let is_refused = matches!(decision, CallDecision::Refuse { .. } | CallDecision::Deny(_))
            || self.repetition.is_declined(&call)
            || self.approver == Approver::Absent;
        let decision = match is_refused {
            true => deny(DenialCause::Loop, reason, None),
            false => {
                self.repeated.insert(call.id.clone());
                self.demand_approval(&call, decision, reason)
            }
        };
        PlannedCall { call, decision }
    }

    /// Completes the plan of an answer's calls: repeated calls need approval, unless they wait for something.
    pub(super) fn guard_repetitions(
        &mut self,
        plan: Vec<PlannedCall>,
        waits: impl Fn(&ToolCall) -> bool,
    ) -> Vec<PlannedCall> {
        let guarded = plan.into_iter().map(|planned| {
            if waits(&planned.call) {
                self.repetition.count(&planned.call);
                return planned;
            }
            self.guard_repetition(planned)
        });
        guarded.collect()
    }

    /// Returns the denial of a repeated call that the user has declined earlier in the same answer.
    pub(super) fn deny_declined(&self, call: &ToolCall) -> Option<DeniedCall> {
        let is_declined = self.repeated.contains(&call.id) && self.repetition.is_declined(call);
        let reason = "the user declined the same call".to_owned();
        is_declined.then_some(DeniedCall { cause: DenialCause::Loop, reason, allowed_by: None, rule: None })
    }

    /// Clears the recorded calls of the previous run.
    pub(super) fn begin_run(&mut self) {
        self.repetition = Repetition::default();
        self.repeated.clear();
    }

    /// Combines the policy's decision with the extensions' verdict; the stricter one wins. `--yes` doesn't
    /// cover a guard that failed to reach a verdict.
    pub(super) fn apply_opinion(
        &mut self,
        call: &ToolCall,
        decision: CallDecision,
        opinion: CallOpinion,
    ) -> CallDecision {
        self.demanded.remove(&call.id);
        match (decision, opinion) {
            (decision @ (CallDecision::Refuse { .. } | CallDecision::Deny(_)), _)
            | (decision, CallOpinion::Allow) => decision,
            (_, CallOpinion::Deny(reason)) => deny(DenialCause::Extension, reason, None),
            (decision @ CallDecision::Granted { .. }, CallOpinion::Ask(_))
                if self.policy.ask_behavior == AskBehavior::Yes =>
            {
                decision
            }
            (_, CallOpinion::Ask(_)) if self.policy.ask_behavior == AskBehavior::Yes => {
                CallDecision::Granted { decider: Decider::YesFlag, rule: None }
            }
            (_, CallOpinion::Ask(reason)) if self.approver == Approver::Absent => {
                deny(DenialCause::NoApprover, reason, Some(AllowedBy::Yes))
            }
            (_, CallOpinion::Failed(reason)) if self.approver == Approver::Absent => {
                deny(DenialCause::NoApprover, reason, None)
            }
            (decision, CallOpinion::Ask(reason) | CallOpinion::Failed(reason)) => {
                self.demand_approval(call, decision, reason)
            }
        }
    }

    /// Requests approval for a reason that no rule can override, joined with the policy's reason if there is
    /// one.
    fn demand_approval(&mut self, call: &ToolCall, decision: CallDecision, reason: String) -> CallDecision {
        self.demanded.insert(call.id.clone());
        let reason = match decision {
            CallDecision::Ask { reason: policy_reason, .. } => format!("{reason}; {policy_reason}"),
            CallDecision::Run(_)
            | CallDecision::Granted { .. }
            | CallDecision::Refuse { .. }
            | CallDecision::Deny(_) => reason,
        };
        CallDecision::Ask { reason, rule: String::new() }
    }

    /// Returns true for a call that needs approval regardless of the policy's verdict.
    pub(super) fn requires_approval(&self, call: &CallId) -> bool {
        self.demanded.contains(call)
    }

    pub(super) fn ask(&mut self, request: ApprovalRequest) {
        self.pending.push(request);
    }

    /// Removes the pending request of a call.
    pub(super) fn remove_request(&mut self, call: &CallId) -> Option<ApprovalRequest> {
        let at = self.pending.iter().position(|request| request.tool_call_id == *call)?;
        Some(self.pending.remove(at))
    }

    /// Applies the user's answer to the count of equal calls: after a "yes" it starts again.
    pub(super) fn note_answer(&mut self, request: &ApprovalRequest, is_allowed: bool) {
        self.repetition.note_answer((&request.tool_name, &request.args), is_allowed);
    }

    /// Removes all pending requests.
    pub(super) fn take_pending(&mut self) -> Vec<ApprovalRequest> {
        std::mem::take(&mut self.pending)
    }

    /// Drops the session's rules and restores the configured mode for another session, whose newest entry is
    /// `leaf`.
    pub(super) fn reset(&mut self, leaf: Option<EntryId>) {
        self.policy.clone_from(&self.configured);
        self.plan_start = leaf;
        self.rules = SessionRules::default();
        self.demanded.clear();
        self.clear_outside_paths();
        self.share_dirs();
    }

    /// Adds the rule that the pending request of a call offered. It is in effect until another session is
    /// opened.
    pub(super) fn allow_for_session(
        &mut self,
        request: &ApprovalRequest,
        spec: &ToolSpec,
        source: Option<&ToolSource>,
    ) {
        let (id, name) = (request.tool_call_id.clone(), request.tool_name.clone());
        let call = ToolCall {
            id,
            name,
            arguments: request.args.clone(),
            raw_arguments: None,
            thought_signature: None,
        };
        let rule = match (
            self.outside_paths.get(&request.tool_call_id),
            self.call_judge().judge(&call, spec, source),
        ) {
            (Some(outside_path), _) => outside_path.rule.clone(),
            (None, PolicyVerdict::Ask { rule, .. }) => Some(rule),
            (None, _) => None,
        };
        let offered = rule.filter(|rule| rule.to_string() == request.rule);
        offered.into_iter().for_each(|rule| self.add_rule(rule));
    }

    /// Returns the rules that the user has added for the session.
    pub(super) fn rules(&self) -> Vec<PermissionRule> {
        self.rules.iter().cloned().collect()
    }

    /// Adds a rule until another session is opened.
    pub(super) fn add_rule(&mut self, rule: PermissionRule) {
        self.rules.add(rule);
        self.share_dirs();
    }

    /// Removes a rule; returns `false` if the session doesn't have it.
    pub(super) fn revoke(&mut self, rule: &PermissionRule) -> bool {
        let is_gone = self.rules.remove(rule);
        self.share_dirs();
        is_gone
    }

    /// Returns the directories that tools may access in this session only, in the form for the system prompt.
    pub(super) fn session_dirs(&self) -> Vec<String> {
        let describe = |rule: &PermissionRule| match rule {
            PermissionRule::Directory { dir, access: DirAccess::Write } => {
                Some(describe_dir(dir, FileAccess::Write))
            }
            PermissionRule::Directory { dir, .. } => Some(describe_dir(dir, FileAccess::Read)),
            PermissionRule::Pattern { .. }
            | PermissionRule::Exact { .. }
            | PermissionRule::Unsandboxed { .. }
            | PermissionRule::Tool { .. }
            | PermissionRule::Host { .. } => None,
        };
        self.rules.iter().filter_map(describe).collect()
    }

    /// Passes the directories of the session's rules to the tools and the policy.
    fn share_dirs(&mut self) {
        let Some(workspace) = &self.workspace else { return };
        let mut dirs = SessionDirs::default();
        for rule in self.rules.iter() {
            let PermissionRule::Directory { dir, access } = rule else { continue };
            match access {
                DirAccess::ReadWhenAsked => dirs.readable.push(dir.clone()),
                DirAccess::ReadOnly => dirs.added.push((dir.clone(), FileAccess::Read)),
                DirAccess::Write => dirs.added.push((dir.clone(), FileAccess::Write)),
            }
        }
        workspace.set_session_dirs(dirs);
        self.policy.writable = workspace.list_writable();
    }
}

fn deny(cause: DenialCause, reason: String, allowed_by: Option<AllowedBy>) -> CallDecision {
    CallDecision::Deny(DeniedCall { cause, reason, allowed_by, rule: None })
}
