//! The approval policy: allow, ask or deny a tool call, from the tool's declared access, the parsed command, the mode
//! and the session's rules.
//!
//! Pure: it reads only its arguments. It protects a careful user from mistakes and is no sandbox: an allowed command
//! can do everything that the user can. Paths are checked by [`workspace`](crate::workspace).

use std::path::{Path, PathBuf};

use serde_json::Value;
use tiller_core::protected_path::{ProtectedPaths, Protection};
use tiller_core::tool_spec::{Access, ToolSpec, TouchedPaths};

mod git_config;
mod pattern;
mod reading;
mod risk;
mod rule;
mod shell;

pub use git_config::is_harmless as is_harmless_git_config;
pub use pattern::{CommandPattern, CoveredCommand};
pub use rule::{FolderAccess, PermissionRule, SessionRules};
pub use tiller_core::setting::ApprovalMode;

pub use reading::RepositoryState;
use risk::CommandFolders;

/// The source of the answer where the policy would ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AskBehavior {
    /// The user is asked.
    #[default]
    User,
    /// The answer is yes (`--yes`).
    Yes,
}

/// The decision on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyVerdict {
    /// The call may run.
    Allow,
    /// The call may run because a rule or `--yes` answered the question beforehand.
    Granted(Grant),
    /// The user has to allow the call first.
    Ask {
        /// The reason, for the user.
        reason: String,
        /// The calls that "always" allows for the rest of the session; its `Display` is the text to show.
        rule: PermissionRule,
    },
    /// The call may not run.
    Deny {
        /// The reason, for the model.
        reason: String,
    },
}

/// The reason why a call runs without a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant {
    /// A rule of the session covers the call.
    Rule(PermissionRule),
    /// `--yes`.
    Yes,
}

impl PolicyVerdict {
    /// Checks whether the call runs without a question.
    #[must_use]
    pub const fn runs(&self) -> bool {
        matches!(self, Self::Allow | Self::Granted(_))
    }
}

/// The policy of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// The approval mode.
    pub mode: ApprovalMode,
    /// The source of the answer where the policy would ask.
    pub ask_behavior: AskBehavior,
    /// The working directory; deleting inside it is less of a risk than elsewhere.
    pub root: PathBuf,
    /// The home directory and tiller's own folders; if empty, no path counts as a startup file or as tiller's.
    pub protected: ProtectedPaths,
    /// Folders outside the working directory that may be written to, with links resolved.
    pub writable: Vec<PathBuf>,
}

impl Policy {
    /// Decides on a call of the tool with this spec.
    #[must_use]
    pub fn judge(&self, spec: &ToolSpec, arguments: &Value, rules: &SessionRules) -> PolicyVerdict {
        match (self.mode, spec.traits.access) {
            (_, Access::Reads) => self.judge_named_read(spec, arguments, rules),
            (ApprovalMode::Ask | ApprovalMode::Auto, Access::Writes) => {
                self.judge_writing(&spec.name, arguments, rules)
            }
            (ApprovalMode::ReadOnly, Access::Writes | Access::Executes) => PolicyVerdict::Deny {
                reason: format!("{} may change things, and the mode is read-only", spec.name),
            },
            (ApprovalMode::Ask | ApprovalMode::Auto, Access::Executes) => {
                self.judge_execution(&spec.name, arguments, rules)
            }
        }
    }

    /// Decides on a call that reads, by its argument `path` or the default of the tool.
    fn judge_named_read(&self, spec: &ToolSpec, arguments: &Value, rules: &SessionRules) -> PolicyVerdict {
        let default = match spec.traits.paths {
            TouchedPaths::Tree => Some("."),
            TouchedPaths::File | TouchedPaths::Undeclared => None,
        };
        let Some(path) = arguments.get("path").and_then(Value::as_str).or(default) else {
            return PolicyVerdict::Allow;
        };
        let real = self.folders().resolve_path(path);
        self.judge_reading(&spec.name, path, &real, rules)
    }

    /// Decides on a call that reads a path and everything under it; `real` is the path with links resolved.
    #[must_use]
    pub fn judge_reading(&self, tool: &str, path: &str, real: &Path, rules: &SessionRules) -> PolicyVerdict {
        if !self.protected.is_credential(real) && !self.protected.holds_credentials(real) {
            return PolicyVerdict::Allow;
        }
        if self.mode == ApprovalMode::ReadOnly {
            return PolicyVerdict::Deny { reason: format!("{tool} {}", risk::READS_CREDENTIALS) };
        }
        if let Some(grant) = self.find_grant(rules.find(tool, Some(path), None)) {
            return PolicyVerdict::Granted(grant);
        }
        PolicyVerdict::Ask {
            reason: risk::READS_CREDENTIALS.into(),
            rule: PermissionRule::for_call(tool, Some(path), None),
        }
    }

    /// Decides on a call that writes, by its argument `path`.
    fn judge_writing(&self, tool: &str, arguments: &Value, rules: &SessionRules) -> PolicyVerdict {
        let path = arguments.get("path").and_then(Value::as_str);
        let protected = path.and_then(|path| Some((path, self.folders().protection(path)?)));
        // The workspace refuses tiller's own files, so there is nothing to ask.
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

    fn judge_execution(&self, tool: &str, arguments: &Value, rules: &SessionRules) -> PolicyVerdict {
        let command = arguments.get("command").and_then(Value::as_str);
        let risk = command.and_then(|line| risk::find_risk(line, self.folders()));
        let is_free = self.mode == ApprovalMode::Auto && risk.is_none();
        let pattern =
            command.filter(|_| risk.is_none()).and_then(|line| CommandPattern::find(line, self.folders()));
        if is_free {
            return PolicyVerdict::Allow;
        }
        if let Some(grant) = self.find_grant(rules.find(tool, command, pattern.as_ref())) {
            return PolicyVerdict::Granted(grant);
        }
        let rule = PermissionRule::for_call(tool, command, pattern);
        let reason = risk.unwrap_or_else(|| match command {
            Some(_) => "runs a command".into(),
            None => format!("{tool} may do anything"),
        });
        PolicyVerdict::Ask { reason, rule }
    }

    /// Lists the paths that a read-only command reads; such a command needs no question if all of them lie in the
    /// workspace. Returns `None` for any other command, and for one that can't be parsed. `repository` is called for
    /// git commands only.
    #[must_use]
    pub fn list_read_paths(
        &self,
        line: &str,
        repository: impl FnOnce() -> RepositoryState,
    ) -> Option<Vec<String>> {
        // Every file there may be a secret.
        let is_secret = self.protected.is_secret(&self.root) || self.protected.is_credential(&self.root);
        (!is_secret).then(|| reading::list_paths(line, self.folders(), repository)).flatten()
    }

    fn find_grant(&self, rule: Option<&PermissionRule>) -> Option<Grant> {
        let yes = (self.ask_behavior == AskBehavior::Yes).then_some(Grant::Yes);
        rule.map(|rule| Grant::Rule(rule.clone())).or(yes)
    }

    fn folders(&self) -> CommandFolders<'_> {
        CommandFolders::new(&self.root, &self.protected).with_writable(&self.writable)
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

    /// `allow`, `deny` or `ask RULE: REASON`.
    fn judge(policy: &Policy, name: &str, access: Access, arguments: &Value, rules: &SessionRules) -> String {
        match policy.judge(&spec(name, access), arguments, rules) {
            PolicyVerdict::Allow | PolicyVerdict::Granted(_) => "allow".into(),
            PolicyVerdict::Deny { .. } => "deny".into(),
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
    fn judge_write_in_git_folder_asks_for_each_file() {
        let verdict_for = |path: &str, mode, ask_behavior, root: &str, rules: &SessionRules| {
            let policy = Policy { mode, ask_behavior, root: root.into(), ..Policy::default() };
            let arguments = json!({ "path": path });
            judge(&policy, "write_file", Access::Writes, &arguments, rules)
        };
        let mut rules = SessionRules::default();
        for mode in [ApprovalMode::Ask, ApprovalMode::Auto] {
            for path in [".git/hooks/pre-commit", "sub/.git", "a/../.git/config", "/work/.GIT/x"] {
                let expected = format!("ask exactly `{path}`: writes to .git, whose files git may run");
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
        let verdict_for =
            |path: &str| format!("ask exactly `{path}`: reads keys or passwords in your home directory");
        for mode in [ApprovalMode::Ask, ApprovalMode::Auto, ApprovalMode::ReadOnly] {
            for (root, tool, path) in [
                ("/home/me", "read_file", ".ssh/id_rsa"),
                ("/home/me/work", "read_file", "../.ssh/id_rsa"),
                ("/work", "read_file", "~/.netrc"),
                ("/home/me", "list_files", ".ssh"),
                ("/home/me", "grep", "."),
                ("/home/me/work", "grep", ".."),
                ("/work", "grep", "/home/me/.config"),
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
                        CommandPattern::find(other, policy.folders()),
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
