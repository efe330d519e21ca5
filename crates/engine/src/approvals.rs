//! Whether a call may run: the policy's word, what the user allowed for this session, and whether anybody is there to ask.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use tiller_core::event::{AllowedBy, ApprovalRequest, Decider, DenialCause};
use tiller_core::id::CallId;
use tiller_core::message::{Access, ToolCall, ToolSpec};
use tiller_tools::policy::{
    ApprovalMode, AskBehavior, FolderAccess, Grant, PermissionRule, Policy, PolicyVerdict, SessionRules,
};
use tiller_tools::tool::ToolSource;
use tiller_tools::workspace::{FileAccess, SessionFolders, Workspace, describe_folder};

use super::extension::CallOpinion;
use super::turn::{CallDecision, DeniedCall};

mod repository;

/// Whether somebody can answer a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approver {
    /// A person watches.
    Present,
    /// Nobody does: a call that would ask is denied, with a reason.
    Absent,
}

/// Decides on calls.
#[derive(Debug)]
pub(super) struct Approvals {
    policy: Policy,
    /// What a session begins with.
    configured: Policy,
    audience: Approver,
    rules: SessionRules,
    waiting: Vec<ApprovalRequest>,
    /// Calls that an extension wants asked about, whatever the policy thinks of them.
    insisted: HashSet<CallId>,
    /// The folders that the built-in tools may reach.
    workspace: Option<Workspace>,
    /// The calls of the answer at hand that lead out of it.
    outside: HashMap<CallId, OutsidePath>,
}

/// A path outside of the workspace, without links, that a call of a built-in tool names.
#[derive(Clone, Debug)]
struct OutsidePath {
    path: PathBuf,
    purpose: FileAccess,
    /// The rule that the question offers.
    rule: Option<PermissionRule>,
}

/// The policy's word on a call.
struct Assessment {
    verdict: PolicyVerdict,
    /// True for a command that can only read, and only what tools may read without a question.
    only_reads: bool,
}

impl OutsidePath {
    fn reason(&self) -> String {
        let what = match self.purpose {
            FileAccess::Read => "reads",
            FileAccess::Write => "writes",
        };
        format!("{what} outside the working directory: {}", self.path.display())
    }

    fn new(path: PathBuf, purpose: FileAccess, policy: &Policy) -> Self {
        let rule = Self::find_rule(&path, purpose, policy);
        Self { path, purpose, rule }
    }

    /// The rule offered for the session: the folder, unless it holds secrets or is the root of the disk.
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
    pub(super) fn new(policy: Policy, audience: Approver, workspace: Option<Workspace>) -> Self {
        let mut approvals = Self {
            configured: policy.clone(),
            policy,
            audience,
            rules: SessionRules::default(),
            waiting: Vec::new(),
            insisted: HashSet::new(),
            workspace,
            outside: HashMap::new(),
        };
        approvals.share_folders();
        approvals.configured.clone_from(&approvals.policy);
        approvals
    }

    /// What asks, as the footer names it.
    pub(super) fn mode_name(&self) -> &'static str {
        match self.policy.asking {
            AskBehavior::User => self.policy.mode.name(),
            AskBehavior::Yes => "yes",
        }
    }

    /// Sets what asks, from the next call on until another session begins: the user is asked again where `--yes` answered.
    pub(super) fn set_mode(&mut self, mode: ApprovalMode) {
        self.policy.mode = mode;
        self.policy.asking = AskBehavior::User;
    }

    /// Sets what asks in this session and in those that begin later.
    pub(super) fn configure_mode(&mut self, mode: ApprovalMode) {
        self.set_mode(mode);
        self.configured.clone_from(&self.policy);
    }

    pub(super) fn audience(&self) -> Approver {
        self.audience
    }

    pub(super) fn set_audience(&mut self, audience: Approver) {
        self.audience = audience;
    }

    pub(super) fn waiting(&self) -> &[ApprovalRequest] {
        &self.waiting
    }

    /// What is to become of a call whose arguments are sound, as far as that is known before the calls in front of it have run. A command
    /// that runs because it only reads asks until then: what its paths lead to may change, and it is looked at again when it is to ask.
    ///
    /// Notes where the call leads: allowed, it reaches this path and no other.
    pub(super) fn plan(
        &mut self,
        call: &ToolCall,
        spec: &ToolSpec,
        source: Option<&ToolSource>,
    ) -> CallDecision {
        let outside = self.find_outside(call, spec, source);
        let fate = match self.assess(call, spec, source) {
            Assessment { verdict: PolicyVerdict::Ask { reason, rule }, only_reads: true } => {
                CallDecision::Ask { reason, rule: rule.to_string() }
            }
            assessment => self.decide(call, spec, assessment, outside.as_ref()),
        };
        match outside {
            Some(outside) => _ = self.outside.insert(call.id.clone(), outside),
            None => _ = self.outside.remove(&call.id),
        }
        fate
    }

    /// The policy's word on a call, and whether a command only reads.
    fn assess(&self, call: &ToolCall, spec: &ToolSpec, source: Option<&ToolSource>) -> Assessment {
        let verdict = self.judge(call, spec, source);
        let may_read = source == Some(&ToolSource::BuiltIn)
            && matches!(verdict, PolicyVerdict::Granted(_) | PolicyVerdict::Ask { .. });
        Assessment { only_reads: may_read && self.only_reads(call, spec), verdict }
    }

    /// The policy's word on a call, also about where the links lead in the path that a built-in tool reads.
    fn judge(&self, call: &ToolCall, spec: &ToolSpec, source: Option<&ToolSource>) -> PolicyVerdict {
        let verdict = self.policy.judge(spec, &call.arguments, &self.rules);
        let is_read = source == Some(&ToolSource::BuiltIn) && spec.access == Access::Reads;
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

    /// What is to become of a call whose arguments are sound, if it is to run now.
    pub(super) fn fate(&self, call: &ToolCall, spec: &ToolSpec, source: Option<&ToolSource>) -> CallDecision {
        let outside = self.find_outside(call, spec, source);
        self.decide(call, spec, self.assess(call, spec, source), outside.as_ref())
    }

    fn decide(
        &self,
        call: &ToolCall,
        spec: &ToolSpec,
        Assessment { verdict, only_reads }: Assessment,
        outside: Option<&OutsidePath>,
    ) -> CallDecision {
        let fate = match verdict {
            PolicyVerdict::Allow => CallDecision::Run(spec.access),
            PolicyVerdict::Deny { reason } => deny(DenialCause::Policy, reason, None),
            PolicyVerdict::Granted(_) | PolicyVerdict::Ask { .. } if only_reads => {
                CallDecision::Run(spec.access)
            }
            PolicyVerdict::Granted(Grant::Rule(rule)) => {
                CallDecision::Granted { by: Decider::Rule, rule: Some(rule.to_string()) }
            }
            PolicyVerdict::Granted(Grant::Yes) => CallDecision::Granted { by: Decider::YesFlag, rule: None },
            PolicyVerdict::Ask { reason, rule } if self.audience == Approver::Present => {
                CallDecision::Ask { reason, rule: rule.to_string() }
            }
            PolicyVerdict::Ask { reason, .. } => {
                deny(DenialCause::NoApprover, reason, Some(self.allowed_by(call, spec)))
            }
        };
        match outside {
            Some(outside) => self.fate_outside(fate, outside),
            None => fate,
        }
    }

    /// Finds the least that allows a call which asks.
    fn allowed_by(&self, call: &ToolCall, spec: &ToolSpec) -> AllowedBy {
        let auto = Policy { mode: ApprovalMode::Auto, ..self.policy.clone() };
        match auto.judge(spec, &call.arguments, &self.rules) {
            PolicyVerdict::Allow | PolicyVerdict::Granted(_) => AllowedBy::Auto,
            PolicyVerdict::Ask { .. } | PolicyVerdict::Deny { .. } => AllowedBy::Yes,
        }
    }

    /// Decides on a call that leads out of the workspace.
    fn fate_outside(&self, fate: CallDecision, outside: &OutsidePath) -> CallDecision {
        let reason = outside.reason();
        match fate {
            CallDecision::Refuse(_) | CallDecision::Deny(_) => fate,
            CallDecision::Ask { reason: own, .. } => {
                CallDecision::Ask { reason: format!("{own}; {reason}"), rule: String::new() }
            }
            CallDecision::Run(_) | CallDecision::Granted { .. } if self.policy.asking == AskBehavior::Yes => {
                CallDecision::Granted { by: Decider::YesFlag, rule: None }
            }
            CallDecision::Run(_) | CallDecision::Granted { .. } if self.audience == Approver::Absent => {
                let reason = format!("{reason} (--add-dir FOLDER lets tools reach it)");
                deny(DenialCause::NoApprover, reason, Some(AllowedBy::Yes))
            }
            CallDecision::Run(_) | CallDecision::Granted { .. } => {
                let rule = outside.rule.as_ref();
                CallDecision::Ask { reason, rule: rule.map(ToString::to_string).unwrap_or_default() }
            }
        }
    }

    /// Returns whether a call runs a command that can only read, and only what tools may read without a question.
    fn only_reads(&self, call: &ToolCall, spec: &ToolSpec) -> bool {
        let command = call.arguments.get("command").and_then(Value::as_str);
        let command =
            command.filter(|_| spec.access == Access::Executes && self.policy.mode == ApprovalMode::Ask);
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

    /// The path outside of the workspace that a call of a built-in tool names. In a mode in which nothing asks there is none:
    /// the tool refuses it.
    fn find_outside(
        &self,
        call: &ToolCall,
        spec: &ToolSpec,
        source: Option<&ToolSource>,
    ) -> Option<OutsidePath> {
        let purpose = match spec.access {
            Access::Reads => FileAccess::Read,
            Access::Writes => FileAccess::Write,
            Access::Executes => return None,
        };
        let asks = source == Some(&ToolSource::BuiltIn) && self.policy.mode != ApprovalMode::ReadOnly;
        let named = call.arguments.get("path").and_then(Value::as_str).filter(|_| asks)?;
        let path = self.workspace.as_ref()?.find_outside(named, purpose)?;
        Some(OutsidePath::new(path, purpose, &self.policy))
    }

    /// The calls of another answer come.
    pub(super) fn forget_paths(&mut self) {
        self.outside.clear();
        self.open_path_of(&[]);
    }

    /// Lets tools reach the path outside of the workspace that these calls were allowed, which only a single call may have; closes
    /// the one before.
    pub(super) fn open_path_of(&self, calls: &[ToolCall]) {
        let Some(workspace) = &self.workspace else { return };
        let outside = match calls {
            [call] => self.outside.get(&call.id),
            _ => None,
        };
        workspace.allow_once(outside.map(|outside| (outside.path.clone(), outside.purpose)));
    }

    /// What is to become of a call in the end: the policy's word and the extensions', whichever is stricter. A guard that
    /// came to no opinion is no question that `--yes` has answered beforehand.
    pub(super) fn stricter(
        &mut self,
        call: &ToolCall,
        fate: CallDecision,
        opinion: CallOpinion,
    ) -> CallDecision {
        self.insisted.remove(&call.id);
        match (fate, opinion) {
            (fate @ (CallDecision::Refuse(_) | CallDecision::Deny(_)), _) | (fate, CallOpinion::Fine) => fate,
            (_, CallOpinion::Forbidden(reason)) => deny(DenialCause::Extension, reason, None),
            (fate @ CallDecision::Granted { .. }, CallOpinion::Doubtful(_))
                if self.policy.asking == AskBehavior::Yes =>
            {
                fate
            }
            (_, CallOpinion::Doubtful(_)) if self.policy.asking == AskBehavior::Yes => {
                CallDecision::Granted { by: Decider::YesFlag, rule: None }
            }
            (_, CallOpinion::Doubtful(reason)) if self.audience == Approver::Absent => {
                deny(DenialCause::NoApprover, reason, Some(AllowedBy::Yes))
            }
            (_, CallOpinion::Unjudged(reason)) if self.audience == Approver::Absent => {
                deny(DenialCause::NoApprover, reason, None)
            }
            (fate, CallOpinion::Doubtful(reason) | CallOpinion::Unjudged(reason)) => {
                self.insist(call, fate, reason)
            }
        }
    }

    /// Asks about a call for an extension's reason, and for the policy's own if it has one.
    fn insist(&mut self, call: &ToolCall, fate: CallDecision, reason: String) -> CallDecision {
        self.insisted.insert(call.id.clone());
        let reason = match fate {
            CallDecision::Ask { reason: own, .. } => format!("{reason}; {own}"),
            CallDecision::Run(_)
            | CallDecision::Granted { .. }
            | CallDecision::Refuse(_)
            | CallDecision::Deny(_) => reason,
        };
        // No rule would keep it from being asked again.
        CallDecision::Ask { reason, rule: String::new() }
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
        self.forget_paths();
        self.share_folders();
    }

    /// Allows what the rule of a call that asked covers, until another session is opened: the rule that the question showed, and no
    /// other.
    pub(super) fn allow_for_session(
        &mut self,
        request: &ApprovalRequest,
        spec: &ToolSpec,
        source: Option<&ToolSource>,
    ) {
        let (id, name) = (request.tool_call_id.clone(), request.tool_name.clone());
        let call = ToolCall { id, name, arguments: request.args.clone(), raw_arguments: None };
        let rule = match (self.outside.get(&request.tool_call_id), self.judge(&call, spec, source)) {
            (Some(outside), _) => outside.rule.clone(),
            (None, PolicyVerdict::Ask { rule, .. }) => Some(rule),
            (None, PolicyVerdict::Allow | PolicyVerdict::Granted(_) | PolicyVerdict::Deny { .. }) => None,
        };
        let shown = rule.filter(|rule| rule.to_string() == request.rule);
        shown.into_iter().for_each(|rule| self.add_rule(rule));
    }

    /// The rules that the user allowed for the session.
    pub(super) fn rules(&self) -> Vec<PermissionRule> {
        self.rules.iter().cloned().collect()
    }

    /// Allows what a rule covers until another session is opened.
    pub(super) fn add_rule(&mut self, rule: PermissionRule) {
        self.rules.add(rule);
        self.share_folders();
    }

    /// Takes a rule back; `false` where it isn't one of the session's.
    pub(super) fn revoke(&mut self, rule: &PermissionRule) -> bool {
        let is_gone = self.rules.remove(rule);
        self.share_folders();
        is_gone
    }

    /// The folders that tools reach in this session only, as the model is told of them.
    pub(super) fn session_folders(&self) -> Vec<String> {
        let told = |rule: &PermissionRule| match rule {
            PermissionRule::Folder { folder, access: FolderAccess::Write } => {
                Some(describe_folder(folder, FileAccess::Write))
            }
            PermissionRule::Folder { folder, .. } => Some(describe_folder(folder, FileAccess::Read)),
            PermissionRule::Pattern { .. } | PermissionRule::Exact { .. } | PermissionRule::Tool { .. } => {
                None
            }
        };
        self.rules.iter().filter_map(told).collect()
    }

    /// Tells the tools and the policy which folders the rules add.
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
