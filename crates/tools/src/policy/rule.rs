//! Session rules: the calls that the user has allowed for the rest of the session. A rule covers no more than
//! the call that was shown.

use std::fmt;
use std::path::PathBuf;

use super::pattern::CoveredCommand;

/// The calls covered by one answer "for this session".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionRule {
    /// Commands that match a pattern, unless they look dangerous.
    Pattern {
        /// The tool's name.
        tool: String,
        /// The pattern.
        pattern: CoveredCommand,
    },
    /// One command line, or for a tool that writes, one file.
    Exact {
        /// The tool's name.
        tool: String,
        /// The line, or the path as given.
        line: String,
    },
    /// One command line outside the sandbox.
    Unsandboxed {
        /// The tool's name.
        tool: String,
        /// The line.
        line: String,
    },
    /// All calls of a tool that takes no command.
    Tool {
        /// The tool's name.
        tool: String,
    },
    /// Calls of a tool that reads from one host.
    Host {
        /// The tool's name.
        tool: String,
        /// The host as in the address.
        host: String,
    },
    /// Files in a directory outside the working directory.
    Directory {
        /// The directory, with links resolved.
        dir: PathBuf,
        /// The access that is granted.
        access: DirAccess,
    },
}

/// Access of tools to a directory outside the working directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirAccess {
    /// Reading, granted after a question; writing needs approval.
    ReadWhenAsked,
    /// Reading, for a directory that was added read-only; writing is denied.
    ReadOnly,
    /// Reading and writing.
    Write,
}

impl fmt::Display for PermissionRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pattern { pattern, .. } => pattern.fmt(f),
            Self::Exact { line, .. } => write!(f, "exactly `{line}`"),
            Self::Unsandboxed { line, .. } => write!(f, "exactly `{line}`, without the sandbox"),
            Self::Tool { tool } => write!(f, "every call of {tool}"),
            Self::Host { host, .. } => write!(f, "reading from {host}"),
            Self::Directory { dir, access: DirAccess::Write } => {
                write!(f, "reading and writing in {}", dir.display())
            }
            Self::Directory { dir, access: DirAccess::ReadOnly | DirAccess::ReadWhenAsked } => {
                write!(f, "reading in {}", dir.display())
            }
        }
    }
}

impl PermissionRule {
    /// Returns the tool's name, for display.
    #[must_use]
    pub fn tool(&self) -> &str {
        match self {
            Self::Pattern { tool, .. }
            | Self::Exact { tool, .. }
            | Self::Unsandboxed { tool, .. }
            | Self::Tool { tool }
            | Self::Host { tool, .. } => tool,
            Self::Directory { .. } => "file tools",
        }
    }

    /// Returns the rule to offer for a call: its pattern if it has one, else its exact command or path, else
    /// the tool.
    pub(super) fn for_call(tool: &str, command: Option<&str>, pattern: Option<CoveredCommand>) -> Self {
        let tool = tool.to_owned();
        match (command, pattern) {
            (Some(_), Some(pattern)) => Self::Pattern { tool, pattern },
            (Some(line), None) => Self::Exact { tool, line: line.to_owned() },
            (None, _) => Self::Tool { tool },
        }
    }
}

/// The rules that the user allowed for the rest of the session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionRules {
    rules: Vec<PermissionRule>,
}

impl SessionRules {
    /// Adds the rule of a [`PolicyVerdict::Ask`](super::PolicyVerdict::Ask); a duplicate is ignored.
    pub fn add(&mut self, rule: PermissionRule) {
        if !self.rules.contains(&rule) {
            self.rules.push(rule);
        }
    }

    /// Iterates over the rules in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &PermissionRule> {
        self.rules.iter()
    }

    /// Removes a rule; returns `false` if it isn't present.
    pub fn remove(&mut self, rule: &PermissionRule) -> bool {
        let before = self.rules.len();
        self.rules.retain(|existing| existing != rule);
        self.rules.len() < before
    }

    /// Finds the rule that covers a call: the one that would be offered for it, or the one for its exact
    /// command.
    pub(super) fn find(
        &self,
        tool: &str,
        command: Option<&str>,
        pattern: Option<&CoveredCommand>,
    ) -> Option<&PermissionRule> {
        let find = |pattern| {
            let rule = PermissionRule::for_call(tool, command, pattern);
            self.rules.iter().find(|existing| **existing == rule)
        };
        find(pattern.cloned()).or_else(|| find(None))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tiller_core::protected_path::ProtectedPaths;

    use super::*;
    use crate::policy::CommandPattern;
    use crate::policy::risk::CommandContext;

    #[test]
    fn rule_for_call_displays_its_coverage() {
        for (line, shown) in [
            ("cargo test --all", "cargo test [any arguments, safe options]"),
            ("git --no-pager log", "git log [any arguments, safe options]"),
            ("docker compose ps", "docker compose ps [any arguments, safe options]"),
            ("ls", "ls [any arguments]"),
            ("cargo test --config x", "exactly `cargo test --config x`"),
            ("git log --output=x", "exactly `git log --output=x`"),
            ("git branch", "exactly `git branch`"),
            ("git push origin", "exactly `git push origin`"),
            ("npm run build", "npm run build [safe options]"),
            ("make test -j4", "exactly `make test -j4`"),
            ("make test", "make test [safe options]"),
            ("python3 -m unittest x", "python3 -m unittest [any arguments, safe options]"),
            ("python3 -m json.tool x", "python3 -m json.tool [any file, safe options]"),
            ("python3 -m http.server", "exactly `python3 -m http.server`"),
            ("python3 -c 'x'", "exactly `python3 -c 'x'`"),
            ("npx tsc", "exactly `npx tsc`"),
            ("npm run -- x", "exactly `npm run -- x`"),
            ("git -c alias.x=!sh x", "exactly `git -c alias.x=!sh x`"),
            ("python3 script.py", "exactly `python3 script.py`"),
            ("rm -r target", "exactly `rm -r target`"),
            ("bash -c ls", "exactly `bash -c ls`"),
            ("cargo test | tail", "exactly `cargo test | tail`"),
            ("make", "exactly `make`"),
        ] {
            let pattern = CommandPattern::find(
                line,
                CommandContext::new(Path::new("/work"), &ProtectedPaths::default()),
            );
            assert_eq!(PermissionRule::for_call("bash", Some(line), pattern).to_string(), shown);
        }
    }
}
