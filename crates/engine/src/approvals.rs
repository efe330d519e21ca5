//! The decision on a tool call: the policy's verdict, the session's rules, the extensions' verdict, and the presence
//! of an approver.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use tiller_core::event::{AllowedBy, ApprovalRequest, Decider, DenialCause};
use tiller_core::id::CallId;
use tiller_core::message::ToolCall;
use tiller_core::tool_spec::{Access, ToolSpec};
use tiller_tools::policy::{
    ApprovalMode, AskBehavior, FolderAccess, Grant, PermissionRule, Policy, PolicyVerdict, SessionRules,
};
use tiller_tools::tool::ToolSource;
use tiller_tools::workspace::{FileAccess, SessionFolders, Workspace, describe_folder};

use super::extension::CallOpinion;
use super::turn::{CallDecision, DeniedCall};

mod repository;

/// Presence of a person who can answer approval requests.
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
    /// The policy that each session begins with.
    configured: Policy,
    approver: Approver,
    rules: SessionRules,
    pending: Vec<ApprovalRequest>,
    /// Calls for which an extension demands approval, whatever the policy's verdict is.
    extension_asks: HashSet<CallId>,
    /// The folders that the built-in tools may reach.
    workspace: Option<Workspace>,
    /// Paths outside the workspace that calls of the current assistant message name.
    outside_paths: HashMap<CallId, OutsidePath>,
}

/// A path outside the workspace, symbolic links resolved, that a call of a built-in tool names.
#[derive(Clone, Debug)]
struct OutsidePath {
    path: PathBuf,
    purpose: FileAccess,
    /// The rule that the approval request offers.
    rule: Option<PermissionRule>,
}

/// The policy's verdict on a call.
struct Assessment {
    verdict: PolicyVerdict,
    /// True for a command that can only read, and reads only paths that tools may read without approval.
    only_reads: bool,
}

impl OutsidePath {
    fn reason(&self) -> String {
        let verb = match self.purpose {
            FileAccess::Read => "reads",
            FileAccess::Write => "writes",
        };
        format!("{verb} outside the working directory: {}", self.path.display())
    }

    fn new(path: PathBuf, purpose: FileAccess, policy: &Policy) -> Self {
        let rule = Self::find_rule(&path, purpose, policy);
        Self { path, purpose, rule }
    }

    /// Returns the rule offered for the session: the folder, unless it holds secrets or is the file system's root.
    fn find_rule(path: &Path, purpose: FileAccess, policy: &Policy) -> Option<PermissionRule> {
        let folder = if path.is_dir() { Some(path) } else { path.parent() };
        let protected = &policy.protected;
        let is_secret = |folder: &Path| {
            protected.is_secret(folder)
                || protected.holds_credentials(folder)
                || protected.find(folder).is_some()
                || protected.find(path).is_some()
        };
        let folder = folder.filter(|folder| folder.parent().is_some() && !is_secret(folder))?;
        let access = match purpose {
            FileAccess::Read => FolderAccess::ReadWhenAsked,
            FileAccess::Write => FolderAccess::Write,
        };
        Some(PermissionRule::Folder { folder: folder.to_owned(), access })
    }
}

impl Approvals {
    pub(super) fn new(policy: Policy, approver: Approver, workspace: Option<Workspace>) -> Self {
        let mut approvals = Self {
            configured: policy.clone(),
            policy,
            approver,
            rules: SessionRules::default(),
            pending: Vec::new(),
            extension_asks: HashSet::new(),
            workspace,
            outside_paths: HashMap::new(),
        };
        approvals.share_folders();
        approvals.configured.clone_from(&approvals.policy);
        approvals
    }

    /// Returns the approval mode as the footer shows it.
    pub(super) fn mode_name(&self) -> &'static str {
        match self.policy.ask_behavior {
            AskBehavior::User => self.policy.mode.name(),
            AskBehavior::Yes => "yes",
        }
    }

    /// Sets the approval mode for the rest of this session and ends the effect of `--yes`.
    pub(super) fn set_mode(&mut self, mode: ApprovalMode) {
        self.policy.mode = mode;
        self.policy.ask_behavior = AskBehavior::User;
    }

    /// Sets the approval mode of this session and of the sessions that follow.
    pub(super) fn configure_mode(&mut self, mode: ApprovalMode) {
        self.set_mode(mode);
        self.configured.clone_from(&self.policy);
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

    /// Decides on a call with valid arguments before the calls in front of it have run. A command that would run
    /// because it only reads asks at this point: its paths may lead elsewhere by the time it runs, so it is
    /// checked again when its turn comes.
    ///
    /// Records the call's path outside the workspace: an allowed call reaches this path and no other.
    pub(super) fn plan(
        &mut self,
        call: &ToolCall,
        spec: &ToolSpec,
        source: Option<&ToolSource>,
    ) -> CallDecision {
        let outside_path = self.find_outside(call, spec, source);
        let decision = match self.assess(call, spec, source) {
            Assessment { verdict: PolicyVerdict::Ask { reason, rule }, only_reads: true } => {
                CallDecision::Ask { reason, rule: rule.to_string() }
            }
            assessment => self.apply_verdict(call, spec, assessment, outside_path.as_ref()),
        };
        match outside_path {
            Some(outside_path) => _ = self.outside_paths.insert(call.id.clone(), outside_path),
            None => _ = self.outside_paths.remove(&call.id),
        }
        decision
    }

    /// Returns the policy's verdict on a call and whether its command only reads.
    fn assess(&self, call: &ToolCall, spec: &ToolSpec, source: Option<&ToolSource>) -> Assessment {
        let verdict = self.judge(call, spec, source);
        let may_read = source == Some(&ToolSource::BuiltIn)
            && matches!(verdict, PolicyVerdict::Granted(_) | PolicyVerdict::Ask { .. });
        Assessment { only_reads: may_read && self.only_reads(call, spec), verdict }
    }

    /// Returns the policy's verdict on a call. For a read by a built-in tool the target of symbolic links is judged,
    /// too.
    fn judge(&self, call: &ToolCall, spec: &ToolSpec, source: Option<&ToolSource>) -> PolicyVerdict {
        let verdict = self.policy.judge(spec, &call.arguments, &self.rules);
        let is_read = source == Some(&ToolSource::BuiltIn) && spec.traits.access == Access::Reads;
        let path = call.arguments.get("path").and_then(Value::as_str);
        let path = path.filter(|_| is_read && verdict == PolicyVerdict::Allow);
        let real = path.zip(self.workspace.as_ref()).and_then(|(path, workspace)| {
            Some((path, workspace.resolve(path, FileAccess::Read).ok()?.path()))
        });
        match real {
            Some((path, real)) => self.policy.judge_reading(&spec.name, path, &real, &self.rules),
            None => verdict,
        }
    }

    /// Decides on a call with valid arguments that is about to run.
    pub(super) fn decide(
        &self,
        call: &ToolCall,
        spec: &ToolSpec,
        source: Option<&ToolSource>,
    ) -> CallDecision {
        let outside_path = self.find_outside(call, spec, source);
        self.apply_verdict(call, spec, self.assess(call, spec, source), outside_path.as_ref())
    }

    fn apply_verdict(
        &self,
        call: &ToolCall,
        spec: &ToolSpec,
        Assessment { verdict, only_reads }: Assessment,
        outside_path: Option<&OutsidePath>,
    ) -> CallDecision {
        let decision = match verdict {
            PolicyVerdict::Allow => CallDecision::Run(spec.traits.access),
            PolicyVerdict::Deny { reason } => deny(DenialCause::Policy, reason, None),
            PolicyVerdict::Granted(_) | PolicyVerdict::Ask { .. } if only_reads => {
                CallDecision::Run(spec.traits.access)
            }
            PolicyVerdict::Granted(Grant::Rule(rule)) => {
                CallDecision::Granted { decider: Decider::Rule, rule: Some(rule.to_string()) }
            }
            PolicyVerdict::Granted(Grant::Yes) => {
                CallDecision::Granted { decider: Decider::YesFlag, rule: None }
            }
            PolicyVerdict::Ask { reason, rule } if self.approver == Approver::Present => {
                CallDecision::Ask { reason, rule: rule.to_string() }
            }
            PolicyVerdict::Ask { reason, .. } => {
                deny(DenialCause::NoApprover, reason, Some(self.find_least_permission(call, spec)))
            }
        };
        match outside_path {
            Some(outside_path) => self.apply_outside(decision, outside_path),
            None => decision,
        }
    }

    /// Returns the least permissive option that would allow a call that needs approval.
    fn find_least_permission(&self, call: &ToolCall, spec: &ToolSpec) -> AllowedBy {
        let auto = Policy { mode: ApprovalMode::Auto, ..self.policy.clone() };
        match auto.judge(spec, &call.arguments, &self.rules) {
            PolicyVerdict::Allow | PolicyVerdict::Granted(_) => AllowedBy::Auto,
            PolicyVerdict::Ask { .. } | PolicyVerdict::Deny { .. } => AllowedBy::Yes,
        }
    }

    /// Adjusts the decision on a call that leaves the workspace.
    fn apply_outside(&self, decision: CallDecision, outside_path: &OutsidePath) -> CallDecision {
        let reason = outside_path.reason();
        match decision {
            CallDecision::Refuse(_) | CallDecision::Deny(_) => decision,
            CallDecision::Ask { reason: policy_reason, .. } => {
                CallDecision::Ask { reason: format!("{policy_reason}; {reason}"), rule: String::new() }
            }
            CallDecision::Run(_) | CallDecision::Granted { .. }
                if self.policy.ask_behavior == AskBehavior::Yes =>
            {
                CallDecision::Granted { decider: Decider::YesFlag, rule: None }
            }
            CallDecision::Run(_) | CallDecision::Granted { .. } if self.approver == Approver::Absent => {
                let reason = format!("{reason} (--add-dir FOLDER lets tools reach it)");
                deny(DenialCause::NoApprover, reason, Some(AllowedBy::Yes))
            }
            CallDecision::Run(_) | CallDecision::Granted { .. } => {
                let rule = outside_path.rule.as_ref();
                CallDecision::Ask { reason, rule: rule.map(ToString::to_string).unwrap_or_default() }
            }
        }
    }

    /// Returns whether a call runs a command that can only read, and reads only paths that tools may read without
    /// approval.
    fn only_reads(&self, call: &ToolCall, spec: &ToolSpec) -> bool {
        let command = call.arguments.get("command").and_then(Value::as_str);
        let command = command
            .filter(|_| spec.traits.access == Access::Executes && self.policy.mode == ApprovalMode::Ask);
        let repository = || repository::inspect(&self.policy.root);
        let paths = command.and_then(|line| self.policy.list_read_paths(line, repository));
        let protected = &self.policy.protected;
        let is_free = |real: &Path| !protected.is_credential(real) && !protected.holds_credentials(real);
        let may_read = |workspace: &Workspace, paths: &[String]| {
            paths.iter().all(|path| {
                workspace.resolve(path, FileAccess::Read).is_ok_and(|resolved| is_free(&resolved.path()))
            })
        };
        self.workspace.as_ref().zip(paths).is_some_and(|(workspace, paths)| may_read(workspace, &paths))
    }

    /// Returns the path outside the workspace that a call of a built-in tool names. Returns `None` in read-only
    /// mode, where the tool itself refuses the path.
    fn find_outside(
        &self,
        call: &ToolCall,
        spec: &ToolSpec,
        source: Option<&ToolSource>,
    ) -> Option<OutsidePath> {
        let purpose = match spec.traits.access {
            Access::Reads => FileAccess::Read,
            Access::Writes => FileAccess::Write,
            Access::Executes => return None,
        };
        let needs_approval =
            source == Some(&ToolSource::BuiltIn) && self.policy.mode != ApprovalMode::ReadOnly;
        let named = call.arguments.get("path").and_then(Value::as_str).filter(|_| needs_approval)?;
        let path = self.workspace.as_ref()?.find_outside(named, purpose)?;
        Some(OutsidePath::new(path, purpose, &self.policy))
    }

    /// Forgets the outside paths of the previous assistant message.
    pub(super) fn clear_outside_paths(&mut self) {
        self.outside_paths.clear();
        self.open_outside_path(&[]);
    }

    /// Opens the outside path that these calls were allowed to reach, and closes the previous one. Only a single
    /// call can have such a path.
    pub(super) fn open_outside_path(&self, calls: &[ToolCall]) {
        let Some(workspace) = &self.workspace else { return };
        let outside_path = match calls {
            [call] => self.outside_paths.get(&call.id),
            _ => None,
        };
        workspace
            .allow_once(outside_path.map(|outside_path| (outside_path.path.clone(), outside_path.purpose)));
    }

    /// Combines the policy's decision with the extensions' verdict; the stricter one wins. `--yes` doesn't answer
    /// for a guard that failed to reach a verdict.
    pub(super) fn apply_opinion(
        &mut self,
        call: &ToolCall,
        decision: CallDecision,
        opinion: CallOpinion,
    ) -> CallDecision {
        self.extension_asks.remove(&call.id);
        match (decision, opinion) {
            (decision @ (CallDecision::Refuse(_) | CallDecision::Deny(_)), _)
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
                self.ask_for_extension(call, decision, reason)
            }
        }
    }

    /// Requests approval for an extension's reason, joined with the policy's reason if there is one.
    fn ask_for_extension(&mut self, call: &ToolCall, decision: CallDecision, reason: String) -> CallDecision {
        self.extension_asks.insert(call.id.clone());
        let reason = match decision {
            CallDecision::Ask { reason: policy_reason, .. } => format!("{reason}; {policy_reason}"),
            CallDecision::Run(_)
            | CallDecision::Granted { .. }
            | CallDecision::Refuse(_)
            | CallDecision::Deny(_) => reason,
        };
        // No rule would keep the extension from asking again.
        CallDecision::Ask { reason, rule: String::new() }
    }

    /// Returns whether a call needs approval whatever the policy's verdict is.
    pub(super) fn is_asked_by_extension(&self, call: &CallId) -> bool {
        self.extension_asks.contains(call)
    }

    pub(super) fn ask(&mut self, request: ApprovalRequest) {
        self.pending.push(request);
    }

    /// Removes the pending request of a call.
    pub(super) fn remove_request(&mut self, call: &CallId) -> Option<ApprovalRequest> {
        let at = self.pending.iter().position(|request| request.tool_call_id == *call)?;
        Some(self.pending.remove(at))
    }

    /// Removes all pending requests.
    pub(super) fn take_pending(&mut self) -> Vec<ApprovalRequest> {
        std::mem::take(&mut self.pending)
    }

    /// Drops the session's rules and restores the configured mode, because another session begins.
    pub(super) fn reset(&mut self) {
        self.policy.clone_from(&self.configured);
        self.rules = SessionRules::default();
        self.extension_asks.clear();
        self.clear_outside_paths();
        self.share_folders();
    }

    /// Adds the rule that the pending request of a call offered, and no other, until another session is opened.
    pub(super) fn allow_for_session(
        &mut self,
        request: &ApprovalRequest,
        spec: &ToolSpec,
        source: Option<&ToolSource>,
    ) {
        let (id, name) = (request.tool_call_id.clone(), request.tool_name.clone());
        let call = ToolCall { id, name, arguments: request.args.clone(), raw_arguments: None };
        let rule = match (self.outside_paths.get(&request.tool_call_id), self.judge(&call, spec, source)) {
            (Some(outside_path), _) => outside_path.rule.clone(),
            (None, PolicyVerdict::Ask { rule, .. }) => Some(rule),
            (None, PolicyVerdict::Allow | PolicyVerdict::Granted(_) | PolicyVerdict::Deny { .. }) => None,
        };
        let offered = rule.filter(|rule| rule.to_string() == request.rule);
        offered.into_iter().for_each(|rule| self.add_rule(rule));
    }

    /// Returns the rules that the user added for the session.
    pub(super) fn rules(&self) -> Vec<PermissionRule> {
        self.rules.iter().cloned().collect()
    }

    /// Adds a rule until another session is opened.
    pub(super) fn add_rule(&mut self, rule: PermissionRule) {
        self.rules.add(rule);
        self.share_folders();
    }

    /// Removes a rule; returns `false` if it isn't one of the session's.
    pub(super) fn revoke(&mut self, rule: &PermissionRule) -> bool {
        let is_gone = self.rules.remove(rule);
        self.share_folders();
        is_gone
    }

    /// Returns the folders that tools reach in this session only, as the system prompt lists them.
    pub(super) fn session_folders(&self) -> Vec<String> {
        let describe = |rule: &PermissionRule| match rule {
            PermissionRule::Folder { folder, access: FolderAccess::Write } => {
                Some(describe_folder(folder, FileAccess::Write))
            }
            PermissionRule::Folder { folder, .. } => Some(describe_folder(folder, FileAccess::Read)),
            PermissionRule::Pattern { .. } | PermissionRule::Exact { .. } | PermissionRule::Tool { .. } => {
                None
            }
        };
        self.rules.iter().filter_map(describe).collect()
    }

    /// Passes the folders of the session's rules on to the tools and the policy.
    fn share_folders(&mut self) {
        let Some(workspace) = &self.workspace else { return };
        let mut folders = SessionFolders::default();
        for rule in self.rules.iter() {
            let PermissionRule::Folder { folder, access } = rule else { continue };
            match access {
                FolderAccess::ReadWhenAsked => folders.readable.push(folder.clone()),
                FolderAccess::ReadOnly => folders.added.push((folder.clone(), FileAccess::Read)),
                FolderAccess::Write => folders.added.push((folder.clone(), FileAccess::Write)),
            }
        }
        workspace.set_session_folders(folders);
        self.policy.writable = workspace.list_writable();
    }
}

fn deny(cause: DenialCause, reason: String, allowed_by: Option<AllowedBy>) -> CallDecision {
    CallDecision::Deny(DeniedCall { cause, reason, allowed_by })
}
