//! The calls that the user allowed for the rest of the session, no wider than what they saw when they did.

use std::fmt;
use std::path::PathBuf;

use super::pattern::CoveredCommand;

/// The calls that one "always" covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionRule {
    /// Commands of a tool with other operands, unless they look dangerous.
    Pattern {
        /// The tool.
        tool: String,
        /// The commands.
        pattern: CoveredCommand,
    },
    /// This very command line, or for a tool that writes, this very file.
    Exact {
        /// The tool.
        tool: String,
        /// The line, or the path as it was given.
        line: String,
    },
    /// Every call of a tool that takes no command.
    Tool {
        /// The tool.
        tool: String,
    },
    /// Files in a folder outside of the working directory.
    Folder {
        /// The folder, without links.
        folder: PathBuf,
        /// True if they may be read, or written as well.
        access: FolderAccess,
    },
}

/// Access of tools to a folder outside of the working directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderAccess {
    /// They were asked whether they may read there: they may, and writing asks.
    ReadWhenAsked,
    /// The folder was added to be read only: they may read there, and writing is refused.
    ReadOnly,
    /// They may read and write there.
    Write,
}

impl fmt::Display for PermissionRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pattern { pattern, .. } => pattern.fmt(f),
            Self::Exact { line, .. } => write!(f, "exactly `{line}`"),
            Self::Tool { tool } => write!(f, "every call of {tool}"),
            Self::Folder { folder, access: FolderAccess::Write } => {
                write!(f, "reading and writing in {}", folder.display())
            }
            Self::Folder { folder, access: FolderAccess::ReadOnly | FolderAccess::ReadWhenAsked } => {
                write!(f, "reading in {}", folder.display())
            }
        }
    }
}

impl PermissionRule {
    /// The tools that it is about, for people.
    #[must_use]
    pub fn tool(&self) -> &str {
        match self {
            Self::Pattern { tool, .. } | Self::Exact { tool, .. } | Self::Tool { tool } => tool,
            Self::Folder { .. } => "file tools",
        }
    }

    /// The rule to offer for a call: for its pattern if it has one, else for its very command or path, if it has one.
    pub(super) fn for_call(tool: &str, command: Option<&str>, pattern: Option<CoveredCommand>) -> Self {
        let tool = tool.to_owned();
        match (command, pattern) {
            (Some(_), Some(pattern)) => Self::Pattern { tool, pattern },
            (Some(line), None) => Self::Exact { tool, line: line.to_owned() },
            (None, _) => Self::Tool { tool },
        }
    }
}

/// All that the user allowed for the rest of the session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionRules {
    rules: Vec<PermissionRule>,
}

impl SessionRules {
    /// Adds what a [`Verdict::Ask`](super::Verdict::Ask) offered.
    pub fn add(&mut self, rule: PermissionRule) {
        if !self.rules.contains(&rule) {
            self.rules.push(rule);
        }
    }

    /// The rules, in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = &PermissionRule> {
        self.rules.iter()
    }

    /// Takes a rule back; `false` where it isn't one of them.
    pub fn remove(&mut self, rule: &PermissionRule) -> bool {
        let before = self.rules.len();
        self.rules.retain(|own| own != rule);
        self.rules.len() < before
    }

    /// Finds the rule that covers a call: the one that would be offered for it, or the one for its very command.
    pub(super) fn find(
        &self,
        tool: &str,
        command: Option<&str>,
        pattern: Option<&CoveredCommand>,
    ) -> Option<&PermissionRule> {
        let find = |pattern| {
            let rule = PermissionRule::for_call(tool, command, pattern);
            self.rules.iter().find(|own| **own == rule)
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
    use crate::policy::risk::CommandFolders;

    #[test]
    fn rule_for_call_shows_what_it_covers() {
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
                CommandFolders::new(Path::new("/work"), &ProtectedPaths::default()),
            );
            assert_eq!(PermissionRule::for_call("bash", Some(line), pattern).to_string(), shown);
        }
    }
}
