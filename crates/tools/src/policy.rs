//! The approval policy: it allows a tool call, requires approval or denies it, based on the tool's declared
//! access, the parsed command, the mode and the session's rules.
//!
//! Pure: it reads only its arguments. It protects a careful user from mistakes and isn't a sandbox: an
//! allowed command can do everything that the [sandbox](crate::sandbox) permits, and without a sandbox
//! everything that the user can. [`workspace`](crate::workspace) checks paths.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tiller_core::protected_path::{ProtectedPaths, Protection};
use tiller_core::tool_spec::{Access, ToolSpec, TouchedPaths};

mod allowing_rules;
mod command_rules;
mod configured_rule;
mod explanation;
mod git_config;
mod line_rules;
mod network;
mod pattern;
mod proposal;
mod reading;
mod risk;
mod rule;
mod run_command;
mod shell;

pub use allowing_rules::AllowingRules;
pub use configured_rule::{ConfiguredRule, ConfiguredRules, RuleDecision, RuleSource, write_proposed};
pub use explanation::ExplainedCommand;
pub use git_config::is_harmless as is_harmless_git_config;
pub use network::{is_private, is_private_address};
pub use pattern::{CommandPattern, CoveredCommand};
pub use rule::{DirAccess, PermissionRule, SessionRules};
pub use tiller_core::setting::ApprovalMode;

use command_rules::CommandRules;
pub use reading::{ReadPath, RepositoryState};
use risk::{CommandContext, Risk, RiskKind};

use crate::process::NetworkAccess;

/// The source of answers to approval requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AskBehavior {
    /// The user answers.
    #[default]
    User,
    /// The answer is always yes (`--yes`).
    Yes,
}

/// The sandbox in which commands run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SandboxStrength {
    /// No sandbox.
    #[default]
    None,
    /// Writes are restricted; TCP isn't.
    Writes,
    /// Writes are restricted and TCP is denied.
    WritesAndTcp,
}

/// The decision on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyVerdict {
    /// The call may run.
    Allow,
    /// The call may run because a rule or `--yes` grants approval.
    Granted(AllowReason),
    /// The call needs the user's approval.
    Ask {
        /// The reason, for the user.
        reason: String,
        /// The rule that the user can allow for the rest of the session; its `Display` is the text to show.
        rule: PermissionRule,
    },
    /// The call may run only if its command is read-only.
    DenyUnlessReading {
        /// The reason, for the model.
        reason: String,
    },
    /// The call must not run.
    Deny {
        /// The reason, for the model.
        reason: String,
        /// The settings rule that denies it; `None` if the mode denies it.
        rule: Option<String>,
    },
}

/// The reason a call runs without approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowReason {
    /// A rule of the session covers the call.
    Rule(PermissionRule),
    /// Settings rules allow the call.
    Setting(AllowingRules),
    /// `--yes`.
    Yes,
}

impl PolicyVerdict {
    /// Returns the denial by a settings rule.
    #[must_use]
    pub fn denied_by(rule: &ConfiguredRule) -> Self {
        let reason = format!("{DENIED_BY_RULE} ({rule}, in {})", rule.source());
        Self::Deny { reason, rule: Some(rule.to_string()) }
    }

    /// Returns the grant by settings rules.
    fn allowed_by<'a>(rules: impl IntoIterator<Item = &'a ConfiguredRule>) -> Self {
        Self::Granted(AllowReason::Setting(rules.into_iter().collect()))
    }

    /// Returns the denial by the mode.
    fn denied_by_mode(reason: String) -> Self {
        Self::Deny { reason, rule: None }
    }

    /// Returns the denial of a command that no mode allows.
    fn denied_in_every_mode(risk: &Risk) -> Self {
        Self::denied_by_mode(format!("{} ({NEVER_RUN})", risk.reason))
    }

    /// Returns true if the call runs without approval.
    #[must_use]
    pub const fn runs(&self) -> bool {
        matches!(self, Self::Allow | Self::Granted(_))
    }
}

/// The reason for a denial by a settings rule.
const DENIED_BY_RULE: &str = "a settings rule denies this";

fn plan_reason(tool: &str) -> String {
    format!("{tool} can make changes, and plan mode forbids them")
}

/// The end of the reason for commands that no mode allows.
const NEVER_RUN: &str = "denied in every mode";

/// The policy of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// The approval mode.
    pub mode: ApprovalMode,
    /// The source of answers to approval requests.
    pub ask_behavior: AskBehavior,
    /// The working directory. Deleting inside it is less risky than elsewhere.
    pub root: PathBuf,
    /// The home directory and tiller's own directories. If empty, no path counts as a startup file or as
    /// tiller's own.
    pub protected: ProtectedPaths,
    /// Directories outside the working directory that may be written to, with links resolved.
    pub writable: Vec<PathBuf>,
    /// The sandbox for commands.
    pub sandbox: SandboxStrength,
    /// Directories and files that the user has opened for commands in the sandbox.
    pub sandbox_writable: Vec<PathBuf>,
    /// The settings rules.
    pub rules: ConfiguredRules,
}

impl Policy {
    /// Decides on a call to the tool with this specification.
    #[must_use]
    pub fn judge(&self, spec: &ToolSpec, arguments: &Value, rules: &SessionRules) -> PolicyVerdict {
        let rule = self.find_configured(spec, arguments);
        if let Some(rule) = rule.filter(|rule| rule.decision() == RuleDecision::Deny) {
            return PolicyVerdict::denied_by(rule);
        }
        let verdict = match (rule, self.judge_by_mode(spec, arguments, rules)) {
            // Another rule may allow a dangerous command of the same line.
            (Some(rule), PolicyVerdict::Allow | PolicyVerdict::Granted(AllowReason::Setting(_)))
                if rule.decision() == RuleDecision::Ask =>
            {
                let reason = format!("a rule requires approval ({rule}, in {})", rule.source());
                self.ask_for_rule(reason, spec, arguments, rules)
            }
            (Some(rule), verdict) if rule.decision() == RuleDecision::Allow => {
                self.apply_allow(rule, spec, arguments, verdict)
            }
            (_, verdict) => verdict,
        };
        let is_free =
            matches!(verdict, PolicyVerdict::Allow | PolicyVerdict::Granted(AllowReason::Setting(_)));
        match is_free.then(|| self.find_possible(spec, arguments)).flatten() {
            Some(rule) => {
                let reason = format!("a rule may apply to this command ({rule}, in {})", rule.source());
                self.ask_for_rule(reason, spec, arguments, rules)
            }
            None => verdict,
        }
    }

    /// Finds a settings rule that denies or asks for a command that the call may run.
    fn find_possible<'a>(&'a self, spec: &'a ToolSpec, arguments: &Value) -> Option<&'a ConfiguredRule> {
        let line = arguments.get("command").and_then(Value::as_str);
        let line = line.filter(|_| spec.traits.access == Access::Executes)?;
        line_rules::find_possible_rule(CommandRules::new(&self.rules, &spec.name), line)
    }

    /// Finds the settings rule that decides on a call, by the call's command, path or address, or by the tool
    /// alone.
    pub fn find_configured<'a>(
        &'a self,
        spec: &'a ToolSpec,
        arguments: &Value,
    ) -> Option<&'a ConfiguredRule> {
        let tool = &*spec.name;
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        if let Some(line) = text("command").filter(|_| spec.traits.access == Access::Executes) {
            return line_rules::find_rule(CommandRules::new(&self.rules, tool), line);
        }
        let default = Some(".").filter(|_| spec.traits.paths == TouchedPaths::Tree);
        match (text("path").or(default), text("url")) {
            (Some(path), _) => self.find_path_rule(tool, &self.context().resolve_path(path)),
            (None, Some(address)) => self.rules.find(tool, |rule| rule.covers_address(address)),
            (None, None) => self.rules.find(tool, ConfiguredRule::is_general),
        }
    }

    /// Returns the network access that the settings rules grant in addition to the default: TCP for a command
    /// in the sandbox, and the local network for a page on a host named by a rule with `network`.
    #[must_use]
    pub fn network_access(&self, spec: &ToolSpec, arguments: &Value) -> NetworkAccess {
        let line = arguments.get("command").and_then(Value::as_str).filter(|_| spec.traits.uses_sandbox);
        let rules = CommandRules::new(&self.rules, &spec.name);
        let has_tcp = line.is_some_and(|line| line_rules::allow_tcp(rules, line));
        let is_opened = || {
            let rule = self.find_configured(spec, arguments);
            rule.is_some_and(|rule| rule.decision() != RuleDecision::Deny && rule.opens_own_network())
        };
        if has_tcp || (spec.traits.access == Access::Network && is_opened()) {
            NetworkAccess::Allowed
        } else {
            NetworkAccess::Denied
        }
    }

    /// Finds the settings rule that decides on calls of a tool with a path.
    #[must_use]
    pub fn find_path_rule(&self, tool: &str, path: &Path) -> Option<&ConfiguredRule> {
        self.rules.find(tool, |rule| rule.covers_path(path, &self.root, &self.protected.homes))
    }

    /// Requires approval because of a rule, unless the user has granted it in advance.
    fn ask_for_rule(
        &self,
        reason: String,
        spec: &ToolSpec,
        arguments: &Value,
        rules: &SessionRules,
    ) -> PolicyVerdict {
        let subject = ["command", "path"].iter().find_map(|name| arguments.get(name).and_then(Value::as_str));
        match self.find_grant(rules.find(&spec.name, subject, None)) {
            Some(grant) => PolicyVerdict::Granted(grant),
            None => PolicyVerdict::Ask { reason, rule: PermissionRule::for_call(&spec.name, subject, None) },
        }
    }

    /// Applies a rule that grants approval and may open a path outside the working directory. A rule for all
    /// calls of a tool doesn't cover protected paths, credential files or hosts of the local network. A rule
    /// with wildcards covers a host of the local network only with `network`. Risky commands are judged with
    /// the rules taken into account.
    fn apply_allow(
        &self,
        rule: &ConfiguredRule,
        spec: &ToolSpec,
        arguments: &Value,
        verdict: PolicyVerdict,
    ) -> PolicyVerdict {
        let granted = || PolicyVerdict::allowed_by([rule]);
        let access = spec.traits.access_with(arguments);
        let is_command = access == Access::Executes && arguments.get("command").is_some();
        let path =
            arguments.get("path").and_then(Value::as_str).map(|path| self.context().resolve_path(path));
        let is_outside = path.as_ref().is_some_and(|path| !path.starts_with(&self.root));
        match verdict {
            PolicyVerdict::Ask { .. } if is_command => verdict,
            PolicyVerdict::Ask { .. }
                if path.is_some_and(|path| self.is_guarded(&path)) && !rule.is_exact() =>
            {
                verdict
            }
            PolicyVerdict::Ask { .. }
                if access == Access::Network && !rule.is_exact() && !rule.opens_own_network() =>
            {
                let address = arguments.get("url").and_then(Value::as_str).unwrap_or_default();
                if network::is_private_address(address) { verdict } else { granted() }
            }
            PolicyVerdict::Ask { .. } => granted(),
            PolicyVerdict::Allow if is_outside && !rule.is_general() => granted(),
            PolicyVerdict::Allow
            | PolicyVerdict::Granted(_)
            | PolicyVerdict::DenyUnlessReading { .. }
            | PolicyVerdict::Deny { .. } => verdict,
        }
    }

    /// Returns true for a path that is protected, or is or contains a file with keys or passwords.
    #[must_use]
    pub fn is_guarded(&self, path: &Path) -> bool {
        let protected = &self.protected;
        protected.find(path).is_some() || protected.is_credential(path) || protected.holds_credentials(path)
    }

    /// Decides on a call without a settings rule.
    fn judge_by_mode(&self, spec: &ToolSpec, arguments: &Value, rules: &SessionRules) -> PolicyVerdict {
        match (self.mode, spec.traits.access_with(arguments)) {
            (_, Access::Reads) => self.judge_named_read(spec, arguments, rules),
            (ApprovalMode::Ask | ApprovalMode::Auto, Access::Writes) => {
                self.judge_writing(&spec.name, arguments, rules)
            }
            (_, Access::Network) => self.judge_network(&spec.name, arguments, rules),
            (ApprovalMode::ReadOnly, Access::Writes | Access::Publishes | Access::Executes) => {
                let reason = format!("{} can make changes, and read-only mode forbids them", spec.name);
                PolicyVerdict::denied_by_mode(reason)
            }
            (ApprovalMode::Plan, Access::Writes | Access::Publishes) => {
                PolicyVerdict::denied_by_mode(plan_reason(&spec.name))
            }
            (ApprovalMode::Plan, Access::Executes) => {
                PolicyVerdict::DenyUnlessReading { reason: plan_reason(&spec.name) }
            }
            (ApprovalMode::Ask | ApprovalMode::Auto, Access::Publishes) => {
                self.judge_publishing(&spec.name, rules)
            }
            (ApprovalMode::Ask | ApprovalMode::Auto, Access::Executes) => {
                self.judge_execution(spec, arguments, rules)
            }
        }
    }

    /// Returns true for a call that requests to run its command outside the active sandbox.
    #[must_use]
    pub fn leaves_sandbox(&self, spec: &ToolSpec, arguments: &Value) -> bool {
        let is_asked_for = arguments.get("unsandboxed").and_then(Value::as_bool) == Some(true);
        self.sandbox != SandboxStrength::None && spec.traits.uses_sandbox && is_asked_for
    }

    /// Decides on a command outside the sandbox. Only this exact command can be allowed for the session.
    fn judge_unsandboxed(&self, tool: &str, arguments: &Value, rules: &SessionRules) -> PolicyVerdict {
        let line = arguments.get("command").and_then(Value::as_str).unwrap_or_default();
        let rule = PermissionRule::Unsandboxed { tool: tool.to_owned(), line: line.to_owned() };
        if let Some(grant) = self.find_grant(rules.iter().find(|known| **known == rule)) {
            return PolicyVerdict::Granted(grant);
        }
        let risk = risk::find_risk(line, self.context());
        let risk = risk.map(|risk| format!("; {}", risk.reason)).unwrap_or_default();
        PolicyVerdict::Ask { reason: format!("runs a command without the sandbox{risk}"), rule }
    }

    /// Decides on a call that reads the path in its argument `path`, or the tool's default path.
    fn judge_named_read(&self, spec: &ToolSpec, arguments: &Value, rules: &SessionRules) -> PolicyVerdict {
        let default = match spec.traits.paths {
            TouchedPaths::Tree => Some("."),
            TouchedPaths::File | TouchedPaths::Undeclared => None,
        };
        let Some(path) = arguments.get("path").and_then(Value::as_str).or(default) else {
            return PolicyVerdict::Allow;
        };
        let real = self.context().resolve_path(path);
        self.judge_reading(&spec.name, path, &real, rules)
    }

    /// Decides on a call that reads a path and everything under it; `real` is the path with links resolved.
    #[must_use]
    pub fn judge_reading(&self, tool: &str, path: &str, real: &Path, rules: &SessionRules) -> PolicyVerdict {
        if !self.protected.is_credential(real) && !self.protected.holds_credentials(real) {
            return PolicyVerdict::Allow;
        }
        if self.mode == ApprovalMode::ReadOnly {
            return PolicyVerdict::denied_by_mode(format!("{tool} {}", risk::READS_CREDENTIALS));
        }
        if let Some(grant) = self.find_grant(rules.find(tool, Some(path), None)) {
            return PolicyVerdict::Granted(grant);
        }
        PolicyVerdict::Ask {
            reason: risk::READS_CREDENTIALS.into(),
            rule: PermissionRule::for_call(tool, Some(path), None),
        }
    }

    /// Decides on a call that writes the path in its argument `path`.
    fn judge_writing(&self, tool: &str, arguments: &Value, rules: &SessionRules) -> PolicyVerdict {
        let path = arguments.get("path").and_then(Value::as_str);
        let protected = path.and_then(|path| Some((path, self.context().protection(path)?)));
        // The workspace denies access to tiller's own files, so no approval is needed.
        let Some((path, protection)) = protected.filter(|(_, it)| *it != Protection::Own) else {
            return PolicyVerdict::Allow;
        };
        if let Some(grant) = self.find_grant(rules.find(tool, Some(path), None)) {
            return PolicyVerdict::Granted(grant);
        }
        PolicyVerdict::Ask {
            reason: protection.reason().into(),
            rule: PermissionRule::for_call(tool, Some(path), None),
        }
    }

    /// Decides on a call that reads from the host in its argument `url`. `--yes` doesn't grant approval for
    /// hosts of the user's local network.
    fn judge_network(&self, tool: &str, arguments: &Value, rules: &SessionRules) -> PolicyVerdict {
        let address = arguments.get("url").and_then(Value::as_str).unwrap_or_default();
        let is_private = network::is_private_address(address);
        if self.mode == ApprovalMode::Auto && !is_private {
            return PolicyVerdict::Allow;
        }
        let host = network::host_of(address).unwrap_or_else(|| address.to_owned());
        let rule = PermissionRule::Host { tool: tool.to_owned(), host: host.clone() };
        let known = rules.iter().find(|known| **known == rule);
        match self.find_grant(known).filter(|grant| !is_private || *grant != AllowReason::Yes) {
            Some(grant) => PolicyVerdict::Granted(grant),
            None => {
                let place = network::private_place(address).unwrap_or("the network");
                PolicyVerdict::Ask { reason: format!("reads from {place}: {host}"), rule }
            }
        }
    }

    /// Decides on a call that publishes something, which can't be undone.
    fn judge_publishing(&self, tool: &str, rules: &SessionRules) -> PolicyVerdict {
        match self.find_grant(rules.find(tool, None, None)) {
            Some(grant) => PolicyVerdict::Granted(grant),
            None => PolicyVerdict::Ask {
                reason: "publishes in your name".into(),
                rule: PermissionRule::for_call(tool, None, None),
            },
        }
    }

    fn judge_execution(&self, spec: &ToolSpec, arguments: &Value, rules: &SessionRules) -> PolicyVerdict {
        let tool = &*spec.name;
        let command = arguments.get("command").and_then(Value::as_str);
        let configured = CommandRules::new(&self.rules, tool);
        let context = self.context().with_rules(configured);
        let named = command.is_none().then(|| self.find_named_risk(arguments)).flatten();
        let found = command.and_then(|line| risk::find_risk(line, context));
        let open = found.as_ref().filter(|risk| !risk.is_covered());
        let risk = open.or(named.as_ref().map(|(_, risk)| risk)).cloned();
        let covering: Vec<&ConfiguredRule> = found.iter().flat_map(|risk| &risk.covered_by).collect();
        if let Some(risk) = risk.as_ref().filter(|risk| risk.kind == RiskKind::Destroys) {
            return PolicyVerdict::denied_in_every_mode(risk);
        }
        if self.leaves_sandbox(spec, arguments) {
            return self.judge_unsandboxed(tool, arguments, rules);
        }
        let is_contained = spec.traits.uses_sandbox && self.contains_commands();
        if risk.is_none() && (self.mode == ApprovalMode::Auto || is_contained) {
            return if covering.is_empty() {
                PolicyVerdict::Allow
            } else {
                PolicyVerdict::allowed_by(covering)
            };
        }
        let allowing = command.filter(|_| risk.is_none());
        let allowing = allowing.map(|line| line_rules::list_allowing(configured, line)).unwrap_or_default();
        if !allowing.is_empty() {
            return PolicyVerdict::allowed_by(allowing.into_iter().chain(covering));
        }
        let pattern =
            command.filter(|_| risk.is_none()).and_then(|line| CommandPattern::find(line, self.context()));
        let subject = command.or_else(|| named.as_ref().map(|(name, _)| name.as_str()));
        if let Some(grant) = self.find_grant(rules.find(tool, subject, pattern.as_ref())) {
            return PolicyVerdict::Granted(grant);
        }
        let rule = PermissionRule::for_call(tool, subject, pattern);
        let reason = risk.map(|risk| risk.reason).unwrap_or_else(|| match command {
            Some(_) => "runs a command".into(),
            None if spec.traits.uses_sandbox => format!("{tool} runs the repository's hooks and filters"),
            None => format!("{tool} can run arbitrary code"),
        });
        PolicyVerdict::Ask { reason, rule }
    }

    /// Finds an argument that names a protected path, a credential file or a host on the user's local network. A
    /// tool without a command may do anything with it.
    fn find_named_risk(&self, arguments: &Value) -> Option<(String, Risk)> {
        match arguments {
            Value::String(text) if !text.contains('\n') => {
                let path = self.context().resolve_path(text);
                let risk = if self.protected.is_credential(&path) {
                    Risk::new(RiskKind::ReadsCredentials, risk::READS_CREDENTIALS)
                } else if let Some(protection) = self.context().protection(text) {
                    Risk::protected(protection)
                } else if let Some(place) = network::private_place(text) {
                    Risk::new(RiskKind::Dangerous, format!("names a host on {place}"))
                } else {
                    return None;
                };
                Some((text.clone(), risk))
            }
            Value::Array(values) => values.iter().find_map(|value| self.find_named_risk(value)),
            Value::Object(fields) => fields.values().find_map(|value| self.find_named_risk(value)),
            _ => None,
        }
    }

    /// Returns true if commands in the sandbox can change only files that file tools may change without
    /// approval.
    fn contains_commands(&self) -> bool {
        let ProtectedPaths { homes, tiller_dirs, startup, .. } = &self.protected;
        let context = || [&self.root].into_iter().chain(&self.writable).chain(&self.sandbox_writable);
        let is_writable = |path: &PathBuf| context().any(|dir| path.starts_with(dir));
        // Caches are in the home directory, but not in its protected directories.
        let is_inside = || context().any(|dir| self.protected.find(dir) == Some(Protection::Home));
        let mut protected = homes.iter().chain(tiller_dirs).chain(startup);
        self.sandbox == SandboxStrength::WritesAndTcp && !protected.any(is_writable) && !is_inside()
    }

    /// Lists the paths that a line of read-only commands reads. Such a line needs no approval if all of them
    /// are in the workspace. Returns `None` for any other line, and for a line that can't be parsed.
    /// `repository` is called only for git commands.
    #[must_use]
    pub fn list_read_paths(
        &self,
        line: &str,
        repository: impl FnOnce() -> RepositoryState,
    ) -> Option<Vec<ReadPath>> {
        // Every file in such a directory may be a secret.
        let is_secret = self.protected.is_secret(&self.root) || self.protected.is_credential(&self.root);
        let paths = (!is_secret).then(|| reading::list_paths(line, self.context(), repository)).flatten();
        paths.filter(|_| risk::find_risk(line, self.context()).is_none())
    }

    fn find_grant(&self, rule: Option<&PermissionRule>) -> Option<AllowReason> {
        let yes = (self.ask_behavior == AskBehavior::Yes).then_some(AllowReason::Yes);
        rule.map(|rule| AllowReason::Rule(rule.clone())).or(yes)
    }

    fn context(&self) -> CommandContext<'_> {
        let is_contained = self.mode == ApprovalMode::Ask && self.contains_commands();
        CommandContext::new(&self.root, &self.protected)
            .with_writable(&self.writable)
            .with_containment(is_contained)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use tiller_core::tool_spec::ToolTraits;

    use super::*;
    use crate::tool::built_in_tools;

    fn at_home() -> ProtectedPaths {
        ProtectedPaths { homes: vec!["/home/me".into()], ..ProtectedPaths::default() }
    }

    fn spec(name: &str, access: Access) -> ToolSpec {
        ToolSpec {
            name: name.into(),
            description: String::new(),
            parameters: Arc::new(json!({})),
            traits: ToolTraits { access, ..built_in_tools().traits(name) },
        }
    }

    /// Formats the verdict: `allow`, `deny` or `ask RULE: REASON`.
    fn judge(policy: &Policy, name: &str, access: Access, arguments: &Value, rules: &SessionRules) -> String {
        match policy.judge(&spec(name, access), arguments, rules) {
            PolicyVerdict::Allow | PolicyVerdict::Granted(_) => "allow".into(),
            PolicyVerdict::Deny { .. } | PolicyVerdict::DenyUnlessReading { .. } => "deny".into(),
            PolicyVerdict::Ask { reason, rule } => format!("ask {rule}: {reason}"),
        }
    }

    #[test]
    fn judge_each_mode_and_access_decides() {
        let (read, write) = (("read_file", Access::Reads, ""), ("edit_file", Access::Writes, ""));
        let (test, sudo) = (("bash", Access::Executes, "cargo test"), ("bash", Access::Executes, "sudo ls"));
        for (mode, ask_behavior, (name, access, command), expected) in [
            (ApprovalMode::Ask, AskBehavior::User, read, "allow"),
            (ApprovalMode::Ask, AskBehavior::User, write, "allow"),
            (
                ApprovalMode::Ask,
                AskBehavior::User,
                test,
                "ask cargo test [any arguments, safe options]: runs a command",
            ),
            (
                ApprovalMode::Ask,
                AskBehavior::User,
                sudo,
                "ask exactly `sudo ls`: runs as another user (sudo)",
            ),
            (ApprovalMode::Ask, AskBehavior::Yes, sudo, "allow"),
            (ApprovalMode::Auto, AskBehavior::User, write, "allow"),
            (ApprovalMode::Auto, AskBehavior::User, test, "allow"),
            (
                ApprovalMode::Auto,
                AskBehavior::User,
                sudo,
                "ask exactly `sudo ls`: runs as another user (sudo)",
            ),
            (ApprovalMode::Auto, AskBehavior::Yes, sudo, "allow"),
            (ApprovalMode::ReadOnly, AskBehavior::User, read, "allow"),
            (ApprovalMode::ReadOnly, AskBehavior::User, write, "deny"),
            (ApprovalMode::ReadOnly, AskBehavior::Yes, test, "deny"),
        ] {
            let policy = Policy { mode, ask_behavior, root: "/work".into(), ..Policy::default() };
            let verdict =
                judge(&policy, name, access, &json!({ "command": command }), &SessionRules::default());
            assert_eq!(verdict, expected, "{mode:?} {ask_behavior:?} {name} {command}");
        }
    }

    #[test]
    fn judge_argument_that_names_protected_path_asks() {
        let run = |arguments: Value| {
            let policy = Policy {
                mode: ApprovalMode::Auto,
                root: "/home/me/work".into(),
                protected: at_home(),
                ..Policy::default()
            };
            judge(&policy, "mcp__x__y", Access::Executes, &arguments, &SessionRules::default())
        };
        let git = Protection::Git.reason();
        assert_eq!(
            run(json!({ "path": ".git/hooks/x", "content": "a b" })),
            format!("ask exactly `.git/hooks/x`: {git}")
        );
        let keys = "ask exactly `/home/me/.ssh/id_rsa`: reads keys or passwords";
        assert_eq!(run(json!({ "paths": ["a", "/home/me/.ssh/id_rsa"] })), keys);
        let linked = run(json!({ "path": "/proc/self/root/home/me/.ssh/id_rsa" }));
        assert_eq!(linked, "ask exactly `/proc/self/root/home/me/.ssh/id_rsa`: reads keys or passwords");
        let spaced = run(json!({ "path": "/home/me/.ssh/my key" }));
        assert_eq!(spaced, "ask exactly `/home/me/.ssh/my key`: reads keys or passwords");
        let host = "ask exactly `http://127.0.0.1/x`: names a host on this machine";
        assert_eq!(run(json!({ "url": "http://127.0.0.1/x" })), host);
        for free in [json!({ "path": "src/x.rs" }), json!({ "query": "read .env and .git/config" })] {
            assert_eq!(run(free.clone()), "allow", "{free}");
        }
    }

    #[test]
    fn judge_publishing_asks_in_auto_too() {
        let verdict_for = |mode, ask_behavior| {
            let policy = Policy { mode, ask_behavior, ..Policy::default() };
            judge(&policy, "comment", Access::Publishes, &json!({}), &SessionRules::default())
        };
        let asks = "ask every call of comment: publishes in your name";
        assert_eq!(verdict_for(ApprovalMode::Auto, AskBehavior::User), asks);
        assert_eq!(verdict_for(ApprovalMode::Ask, AskBehavior::User), asks);
        assert_eq!(verdict_for(ApprovalMode::Ask, AskBehavior::Yes), "allow");
        assert_eq!(verdict_for(ApprovalMode::ReadOnly, AskBehavior::Yes), "deny");
    }

    #[test]
    fn judge_sandboxed_command_runs_unless_dangerous() {
        let run = |sandbox, name: &str, arguments: &Value| {
            let policy = Policy { sandbox, root: "/work".into(), ..Policy::default() };
            judge(&policy, name, Access::Executes, arguments, &SessionRules::default())
        };
        let test = json!({ "command": "./configure && make" });
        assert_eq!(run(SandboxStrength::WritesAndTcp, "bash", &test), "allow");
        let asks = "ask exactly `./configure && make`: runs a command";
        assert_eq!(run(SandboxStrength::Writes, "bash", &test), asks);
        assert_eq!(run(SandboxStrength::WritesAndTcp, "tool_of_an_extension", &test), asks);
        // The startup files in it are writable.
        let sandbox = SandboxStrength::WritesAndTcp;
        let home = Policy { sandbox, root: "/home".into(), protected: at_home(), ..Policy::default() };
        let verdict = judge(&home, "bash", Access::Executes, &test, &SessionRules::default());
        assert_eq!(verdict, asks);
        let inside = Policy {
            sandbox,
            root: "/home/me/.config/nvim".into(),
            protected: at_home(),
            ..Policy::default()
        };
        assert_eq!(judge(&inside, "bash", Access::Executes, &test, &SessionRules::default()), asks);
        let opened = vec!["/home".into()];
        let opened = Policy { sandbox_writable: opened, root: "/work".into(), ..home };
        assert_eq!(judge(&opened, "bash", Access::Executes, &test, &SessionRules::default()), asks);
        let docker = json!({ "command": "cd x && docker run -v /:/h a" });
        let asks = "ask exactly `cd x && docker run -v /:/h a`: lets another program act outside the sandbox (docker)";
        assert_eq!(run(SandboxStrength::WritesAndTcp, "bash", &docker), asks);
        let push = json!({ "command": "git push" });
        assert!(run(SandboxStrength::WritesAndTcp, "bash", &push).starts_with("ask"));
        // The same result as `bash` with `git commit`.
        for tool in ["git_add", "git_commit", "git_branch"] {
            assert_eq!(run(SandboxStrength::WritesAndTcp, tool, &json!({ "name": "x" })), "allow", "{tool}");
            let asks = format!("ask every call of {tool}: {tool} runs the repository's hooks and filters");
            assert_eq!(run(SandboxStrength::Writes, tool, &json!({ "name": "x" })), asks);
        }
    }

    #[test]
    fn judge_unsandboxed_asks_in_every_mode_but_yes() {
        let arguments = json!({ "command": "cargo test", "unsandboxed": true });
        let run = |policy: &Policy, rules: &SessionRules| {
            judge(policy, "bash", Access::Executes, &arguments, rules)
        };
        let mut rules = SessionRules::default();
        let pattern = CommandPattern::find("cargo test", Policy::default().context());
        rules.add(PermissionRule::for_call("bash", Some("cargo test"), pattern));
        rules.add(PermissionRule::for_call("bash", Some("cargo test"), None));
        let asks = "ask exactly `cargo test`, without the sandbox: runs a command without the sandbox";
        for (mode, ask_behavior, sandbox, expected) in [
            (ApprovalMode::Ask, AskBehavior::User, SandboxStrength::WritesAndTcp, asks),
            (ApprovalMode::Auto, AskBehavior::User, SandboxStrength::Writes, asks),
            (ApprovalMode::Auto, AskBehavior::Yes, SandboxStrength::Writes, "allow"),
            (ApprovalMode::ReadOnly, AskBehavior::Yes, SandboxStrength::Writes, "deny"),
            (ApprovalMode::Auto, AskBehavior::User, SandboxStrength::None, "allow"),
        ] {
            let policy = Policy { mode, ask_behavior, sandbox, ..Policy::default() };
            assert_eq!(run(&policy, &rules), expected, "{mode:?} {ask_behavior:?} {sandbox:?}");
        }
        rules.add(PermissionRule::Unsandboxed { tool: "bash".into(), line: "cargo test".into() });
        let policy = Policy { sandbox: SandboxStrength::WritesAndTcp, ..Policy::default() };
        assert_eq!(run(&policy, &rules), "allow");
    }

    #[test]
    fn judge_web_page_asks_for_each_host() {
        let mut rules = SessionRules::default();
        let verdict_for = |mode, address: &str, rules: &SessionRules| {
            let policy = Policy { mode, ..Policy::default() };
            judge(&policy, "web_fetch", Access::Network, &json!({ "url": address }), rules)
        };
        let (public, private) = ("https://docs.rs/x", "http://localhost:3000/");
        let asks_public = "ask reading from docs.rs: reads from the network: docs.rs";
        let asks_private = "ask reading from localhost: reads from this machine: localhost";
        for (mode, address, expected) in [
            (ApprovalMode::Ask, public, asks_public),
            (ApprovalMode::Ask, private, asks_private),
            (ApprovalMode::Auto, public, "allow"),
            (ApprovalMode::Auto, private, asks_private),
            (ApprovalMode::ReadOnly, public, asks_public),
        ] {
            assert_eq!(verdict_for(mode, address, &rules), expected, "{mode:?} {address}");
        }
        let yes = Policy { ask_behavior: AskBehavior::Yes, ..Policy::default() };
        for (address, expected) in [
            (public, "allow"),
            (private, asks_private),
            (
                "http://169.254.169.254/latest",
                "ask reading from 169.254.169.254: reads from the local network: 169.254.169.254",
            ),
        ] {
            let verdict = judge(&yes, "web_fetch", Access::Network, &json!({ "url": address }), &rules);
            assert_eq!(verdict, expected, "{address}");
        }
        rules.add(PermissionRule::Host { tool: "web_fetch".into(), host: "docs.rs".into() });
        assert_eq!(verdict_for(ApprovalMode::Ask, "http://DOCS.rs/y", &rules), "allow");
        assert_ne!(verdict_for(ApprovalMode::Ask, "https://docs.rs.example.org/", &rules), "allow");
    }

    #[test]
    fn judge_write_in_git_dir_asks_for_each_file() {
        let verdict_for = |path: &str, mode, ask_behavior, root: &str, rules: &SessionRules| {
            let policy = Policy { mode, ask_behavior, root: root.into(), ..Policy::default() };
            let arguments = json!({ "path": path });
            judge(&policy, "write_file", Access::Writes, &arguments, rules)
        };
        let mut rules = SessionRules::default();
        for mode in [ApprovalMode::Ask, ApprovalMode::Auto] {
            for path in [".git/hooks/pre-commit", "sub/.git", "a/../.git/config", "/work/.GIT/x"] {
                let expected = format!("ask exactly `{path}`: writes to .git, where git may run files");
                assert_eq!(verdict_for(path, mode, AskBehavior::User, "/work", &rules), expected);
                assert_eq!(verdict_for(path, mode, AskBehavior::Yes, "/work", &rules), "allow");
            }
            for path in [".gitignore", ".github/workflows/ci.yml", "src/git/hooks", ""] {
                assert_eq!(verdict_for(path, mode, AskBehavior::User, "/work", &rules), "allow", "{path}");
            }
            assert!(
                verdict_for("hooks/pre-commit", mode, AskBehavior::User, "/work/.git", &rules)
                    .starts_with("ask")
            );
        }
        assert_eq!(
            verdict_for(".git/config", ApprovalMode::ReadOnly, AskBehavior::User, "/work", &rules),
            "deny"
        );
        rules.add(PermissionRule::for_call("write_file", Some(".git/config"), None));
        assert_eq!(
            verdict_for(".git/config", ApprovalMode::Ask, AskBehavior::User, "/work", &rules),
            "allow"
        );
        assert!(
            verdict_for(".git/hooks/x", ApprovalMode::Ask, AskBehavior::User, "/work", &rules)
                .starts_with("ask")
        );
    }

    #[test]
    fn judge_write_to_project_configuration_asks_in_every_mode() {
        for path in [".tiller/hooks/check.sh", "sub/.tiller/settings.json", ".mcp.json"] {
            for (mode, ask_behavior, expected) in [
                (ApprovalMode::Ask, AskBehavior::User, "ask"),
                (ApprovalMode::Auto, AskBehavior::User, "ask"),
                (ApprovalMode::Auto, AskBehavior::Yes, "allow"),
                (ApprovalMode::Plan, AskBehavior::Yes, "deny"),
            ] {
                let policy = Policy { mode, ask_behavior, root: "/work".into(), ..Policy::default() };
                let arguments = json!({ "path": path });
                let verdict =
                    judge(&policy, "write_file", Access::Writes, &arguments, &SessionRules::default());
                let asks = format!("ask exactly `{path}`: {}", Protection::Project.reason());
                assert_eq!(verdict, if expected == "ask" { &*asks } else { expected }, "{mode:?} {path}");
            }
        }
    }

    #[test]
    fn judge_write_to_home_startup_file_asks_in_every_mode() {
        for (path, root) in [
            (".bashrc", "/home/me"),
            ("../.bashrc", "/home/me/work"),
            ("/home/me/.ssh/config", "/home/me/work"),
            ("~/.zshrc", "/work"),
            ("x/../.config/fish/config.fish", "/home/me"),
            ("init.lua", "/home/me/.config/nvim"),
        ] {
            for (mode, ask_behavior, expected) in [
                (ApprovalMode::Ask, AskBehavior::User, "ask"),
                (ApprovalMode::Auto, AskBehavior::User, "ask"),
                (ApprovalMode::Auto, AskBehavior::Yes, "allow"),
                (ApprovalMode::ReadOnly, AskBehavior::User, "deny"),
            ] {
                let policy = Policy {
                    mode,
                    ask_behavior,
                    root: root.into(),
                    protected: at_home(),
                    ..Policy::default()
                };
                let arguments = json!({ "path": path });
                let verdict =
                    judge(&policy, "write_file", Access::Writes, &arguments, &SessionRules::default());
                let reason = "changes startup or credential files in your home directory";
                let expected = match expected {
                    "ask" => format!("ask exactly `{path}`: {reason}"),
                    other => other.to_owned(),
                };
                assert_eq!(verdict, expected, "{mode:?} {ask_behavior:?} {path}");
            }
        }
        let policy = Policy { root: "/home/me/work".into(), protected: at_home(), ..Policy::default() };
        for path in [".npmrc", ".config/x", "bin/x", ".bashrc", "src/lib.rs"] {
            let arguments = json!({ "path": path });
            let verdict = judge(&policy, "write_file", Access::Writes, &arguments, &SessionRules::default());
            assert_eq!(verdict, "allow", "{path}");
        }
    }

    #[test]
    fn judge_reading_credentials_asks() {
        let judge = |mode, root: &str, tool: &str, arguments: Value| {
            let policy = Policy { mode, root: root.into(), protected: at_home(), ..Policy::default() };
            judge(&policy, tool, Access::Reads, &arguments, &SessionRules::default())
        };
        let verdict_for = |path: &str| format!("ask exactly `{path}`: reads keys or passwords");
        for mode in [ApprovalMode::Ask, ApprovalMode::Auto, ApprovalMode::ReadOnly] {
            for (root, tool, path) in [
                ("/home/me", "read_file", ".ssh/id_rsa"),
                ("/home/me/work", "read_file", "../.ssh/id_rsa"),
                ("/work", "read_file", "~/.netrc"),
                ("/home/me", "list_files", ".ssh"),
                ("/home/me", "grep", "."),
                ("/home/me/work", "grep", ".."),
                ("/work", "grep", "/home/me/.config"),
                ("/work", "read_file", ".env"),
                ("/work", "read_file", "sub/.env.local"),
                ("/work", "read_file", "/etc/shadow"),
            ] {
                let expected =
                    if mode == ApprovalMode::ReadOnly { "deny".to_owned() } else { verdict_for(path) };
                assert_eq!(
                    judge(mode, root, tool, json!({ "path": path })),
                    expected,
                    "{root} {tool} {path}"
                );
            }
            for (root, path) in [
                ("/home/me/work", "."),
                ("/home/me/work", "src/a.rs"),
                ("/home/me/work", ".ssh/x"),
                ("/home/me", ".bashrc"),
                ("/home/me", ".ssh/id_rsa.pub"),
                ("/work", ".env.example"),
            ] {
                assert_eq!(judge(mode, root, "read_file", json!({ "path": path })), "allow", "{root} {path}");
            }
        }
        assert_eq!(judge(ApprovalMode::Auto, "/home/me", "grep", json!({})), verdict_for("."));
        assert_eq!(judge(ApprovalMode::Auto, "/home/me/work", "grep", json!({})), "allow");
        assert_eq!(judge(ApprovalMode::Auto, "/home/me", "web_search", json!({})), "allow");
    }

    #[test]
    fn judge_command_writing_protected_path_asks() {
        for mode in [ApprovalMode::Ask, ApprovalMode::Auto] {
            for (line, protection) in [
                ("x >| .git/config", Protection::Git),
                ("git log -1 --output=.git/hooks/pre-commit", Protection::Git),
                ("echo x >> ~/.bashrc", Protection::Home),
            ] {
                let policy =
                    Policy { mode, root: "/home/me/work".into(), protected: at_home(), ..Policy::default() };
                let mut rules = SessionRules::default();
                let arguments = json!({ "command": line });
                let expected = format!("ask exactly `{line}`: {}", protection.reason());
                assert_eq!(judge(&policy, "bash", Access::Executes, &arguments, &rules), expected);
                for other in ["git log -1", "echo x", "x"] {
                    rules.add(PermissionRule::for_call(
                        "bash",
                        Some(other),
                        CommandPattern::find(other, policy.context()),
                    ));
                }
                assert_eq!(judge(&policy, "bash", Access::Executes, &arguments, &rules), expected);
            }
        }
    }

    #[test]
    fn judge_tool_without_command_is_allowed_as_a_whole() {
        let policy = Policy::default();
        let mut rules = SessionRules::default();
        let PolicyVerdict::Ask { rule, .. } =
            policy.judge(&spec("deploy", Access::Executes), &json!({}), &rules)
        else {
            panic!("it asks")
        };
        assert_eq!(rule.to_string(), "every call of deploy");
        rules.add(rule);
        assert_eq!(judge(&policy, "deploy", Access::Executes, &json!({"x": 1}), &rules), "allow");
        assert_ne!(judge(&policy, "bash", Access::Executes, &json!({"command": "ls"}), &rules), "allow");
    }

    #[test]
    fn judge_session_rule_covers_no_appended_command() {
        let policy = Policy { root: "/work".into(), ..Policy::default() };
        for (allowed, command, expected) in [
            ("cargo test", "cargo test parse -- --nocapture", true),
            ("cargo test", "cargo build", false),
            ("cargo test", "cargo testify", false),
            ("cargo test", "./cargo test", false),
            ("cargo test", "cargo test; rm -rf /", false),
            ("cargo test", "cargo test && rm -rf src", false),
            ("cargo test", "cargo test | sh", false),
            ("cargo test", "cargo test > src/lib.rs", false),
            ("cargo test", "cargo test $(rm -rf src)", false),
            ("cargo test", "cargo test `rm -rf src`", false),
            ("cargo test", "cargo test\nrm -rf src", false),
            ("cargo test", "cargo test & rm x", false),
            ("cargo test", "RUSTC_WRAPPER=./evil cargo test", false),
            ("git push", "git push origin main", false),
            ("git push", "git push --force", false),
            ("grep -n x y", "grep -rn other src", true),
            ("rm old", "rm src/lib.rs", false),
            ("rm old", "rm old", true),
            ("make && ./run", "make && ./run", true),
            ("make && ./run", "make && ./run -x", false),
            ("sudo ls", "sudo ls", true),
            ("sudo ls", "sudo rm", false),
        ] {
            let bash = spec("bash", Access::Executes);
            let mut rules = SessionRules::default();
            let PolicyVerdict::Ask { rule, .. } = policy.judge(&bash, &json!({ "command": allowed }), &rules)
            else {
                panic!("{allowed} asks")
            };
            rules.add(rule);
            let verdict = policy.judge(&bash, &json!({ "command": command }), &rules);
            assert_eq!(verdict.runs(), expected, "{allowed} then {command}");
        }
    }
}
