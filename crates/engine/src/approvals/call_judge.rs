//! The policy's verdict on a call. It considers the arguments, the targets of links, and whether a command
//! only reads.

use std::path::Path;

use serde_json::Value;
use tiller_core::message::ToolCall;
use tiller_core::tool_spec::{Access, ToolSpec};
use tiller_tools::policy::{
    AllowReason, ApprovalMode, ConfiguredRules, PermissionRule, Policy, PolicyVerdict, ReadPath,
    RuleDecision, SessionRules,
};
use tiller_tools::tool::ToolSource;
use tiller_tools::workspace::{FileAccess, Workspace};

use super::outside_path::OutsidePath;
use super::{repository, shell_pattern};

#[derive(Clone, Copy)]
pub(super) struct CallJudge<'a> {
    pub(super) policy: &'a Policy,
    pub(super) rules: &'a SessionRules,
    pub(super) workspace: Option<&'a Workspace>,
}

pub(super) struct Assessment {
    pub(super) verdict: PolicyVerdict,
    /// True for a command that can only read, and reads only paths that tools may read without approval.
    pub(super) only_reads: bool,
}

impl CallJudge<'_> {
    /// Returns the policy's verdict on a call and whether its command only reads.
    pub(super) fn assess(&self, call: &ToolCall, spec: &ToolSpec, source: Option<&ToolSource>) -> Assessment {
        let verdict = self.judge(call, spec, source);
        let asks_by_rule = || {
            let rule = self.policy.find_configured(spec, &call.arguments);
            rule.is_some_and(|rule| rule.decision() == RuleDecision::Ask)
        };
        let may_read = source == Some(&ToolSource::BuiltIn)
            && !asks_by_rule()
            && matches!(
                verdict,
                PolicyVerdict::Granted(_)
                    | PolicyVerdict::Ask { .. }
                    | PolicyVerdict::DenyUnlessReading { .. }
            );
        Assessment { only_reads: may_read && self.only_reads(call, spec), verdict }
    }

    /// Returns the policy's verdict on a call. For a built-in tool the targets of symbolic links are judged
    /// too.
    pub(super) fn judge(
        &self,
        call: &ToolCall,
        spec: &ToolSpec,
        source: Option<&ToolSource>,
    ) -> PolicyVerdict {
        let verdict = self.policy.judge(spec, &call.arguments, self.rules);
        if matches!(verdict, PolicyVerdict::Granted(AllowReason::Setting(_)))
            && source != Some(&ToolSource::BuiltIn)
            && !self.is_target_ruled(call, spec)
        {
            return self.without_settings_rules().judge(spec, &call.arguments, self.rules);
        }
        let purpose = match spec.traits.access_with(&call.arguments) {
            Access::Reads => FileAccess::Read,
            Access::Writes => FileAccess::Write,
            Access::Network | Access::Publishes | Access::Executes => return verdict,
        };
        let path = call.arguments.get("path").and_then(Value::as_str);
        let named = path.filter(|_| source == Some(&ToolSource::BuiltIn)).zip(self.workspace);
        let Some((path, real)) = named.and_then(|(path, workspace)| {
            let outside = workspace.find_outside(path, purpose);
            Some((path, outside.or_else(|| Some(workspace.resolve(path, purpose).ok()?.path()))?))
        }) else {
            return verdict;
        };
        self.judge_target(verdict, (call, spec), (path, &real), purpose)
    }

    /// Returns true if the rule that allows a call of a server's or an extension's tool also covers the
    /// target of the call's path.
    fn is_target_ruled(&self, call: &ToolCall, spec: &ToolSpec) -> bool {
        let path = call.arguments.get("path").and_then(Value::as_str).zip(self.workspace);
        let Some(real) = path.and_then(|(path, workspace)| {
            let outside = workspace.find_outside(path, FileAccess::Read);
            outside.or_else(|| Some(workspace.resolve(path, FileAccess::Read).ok()?.path()))
        }) else {
            return true;
        };
        let rule = self.policy.find_path_rule(&spec.name, &real);
        rule.is_some_and(|rule| {
            rule.decision() == RuleDecision::Allow && (rule.is_exact() || !self.policy.is_guarded(&real))
        })
    }

    /// Returns the policy without the rules of the settings.
    fn without_settings_rules(&self) -> Policy {
        Policy { rules: ConfiguredRules::default(), ..self.policy.clone() }
    }

    /// Returns the verdict on a call whose path leads to `real`. A settings rule applies only if it covers
    /// that path.
    fn judge_target(
        &self,
        verdict: PolicyVerdict,
        (call, spec): (&ToolCall, &ToolSpec),
        (path, real): (&str, &Path),
        purpose: FileAccess,
    ) -> PolicyVerdict {
        let rule = self.policy.find_path_rule(&spec.name, real);
        let decision = rule.map(|rule| rule.decision());
        if let Some(rule) = rule.filter(|_| decision == Some(RuleDecision::Deny)) {
            return PolicyVerdict::denied_by(rule);
        }
        let verdict = match verdict {
            PolicyVerdict::Granted(AllowReason::Setting(_)) if decision != Some(RuleDecision::Allow) => {
                self.without_settings_rules().judge(spec, &call.arguments, self.rules)
            }
            verdict => verdict,
        };
        let is_named = rule.is_some_and(|rule| rule.is_exact()) && decision == Some(RuleDecision::Allow);
        match verdict {
            PolicyVerdict::Allow | PolicyVerdict::Granted(AllowReason::Setting(_))
                if purpose == FileAccess::Read && !is_named =>
            {
                match self.policy.judge_reading(&spec.name, path, real, self.rules) {
                    PolicyVerdict::Allow => verdict,
                    stricter => stricter,
                }
            }
            PolicyVerdict::Granted(AllowReason::Setting(_))
                if !is_named && self.policy.protected.find(real).is_some() =>
            {
                let reason = "writes to a protected path".to_owned();
                PolicyVerdict::Ask { reason, rule: PermissionRule::Tool { tool: spec.name.clone() } }
            }
            verdict => verdict,
        }
    }

    /// Returns true for a call of a command that only reads, and only paths that tools may read without
    /// approval.
    fn only_reads(&self, call: &ToolCall, spec: &ToolSpec) -> bool {
        let command = call.arguments.get("command").and_then(Value::as_str);
        let command = command
            .filter(|_| spec.traits.access == Access::Executes)
            .filter(|_| !self.policy.leaves_sandbox(spec, &call.arguments));
        let named = command.zip(self.workspace);
        named.is_some_and(|(line, workspace)| only_reads(self.policy, workspace, line))
    }

    /// Returns the path outside the workspace that a call of a built-in tool names. Returns `None` in read-only
    /// mode, where the tool itself refuses the path.
    pub(super) fn find_outside(
        &self,
        call: &ToolCall,
        spec: &ToolSpec,
        source: Option<&ToolSource>,
    ) -> Option<OutsidePath> {
        let purpose = match spec.traits.access_with(&call.arguments) {
            Access::Reads => FileAccess::Read,
            Access::Writes => FileAccess::Write,
            Access::Network | Access::Publishes | Access::Executes => return None,
        };
        let needs_approval =
            source == Some(&ToolSource::BuiltIn) && self.policy.mode != ApprovalMode::ReadOnly;
        let named = call.arguments.get("path").and_then(Value::as_str).filter(|_| needs_approval)?;
        let path = self.workspace?.find_outside(named, purpose)?;
        Some(OutsidePath::new(path, purpose, self.policy))
    }
}

/// Returns true for a line that runs without approval because its commands only read, and only paths that tools may
/// read without approval.
#[must_use]
pub fn only_reads(policy: &Policy, workspace: &Workspace, line: &str) -> bool {
    if ![ApprovalMode::Ask, ApprovalMode::Plan].contains(&policy.mode) {
        return false;
    }
    let protected = &policy.protected;
    let is_free = |real: &Path| !protected.is_credential(real) && !protected.holds_credentials(real);
    let may_read = |path: &str| {
        let resolved = workspace.resolve(path, FileAccess::Read).ok().map(|resolved| resolved.path());
        resolved.filter(|real| is_free(real))
    };
    let is_readable = |path: &ReadPath| match path {
        ReadPath::Named(path) => may_read(path).is_some(),
        ReadPath::File(path) => may_read(path).is_some_and(|real| !real.is_dir()),
        ReadPath::Pattern(pattern) => shell_pattern::expand(workspace.root(), pattern)
            .is_some_and(|paths| paths.iter().all(|path| may_read(path).is_some())),
    };
    let paths = policy.list_read_paths(line, || repository::inspect(&policy.root));
    paths.is_some_and(|paths| paths.iter().all(is_readable))
}
