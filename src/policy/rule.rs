//! The calls that the user allowed for the rest of the session, no wider than what they saw when they did.

use std::fmt;

use super::pattern::CommandPattern;

/// The calls that one "always" covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Commands of a tool with other operands, unless they look dangerous.
    Pattern {
        /// The tool.
        tool: String,
        /// The commands.
        pattern: &'static CommandPattern,
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
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pattern { pattern, .. } => pattern.fmt(f),
            Self::Exact { line, .. } => write!(f, "exactly `{line}`"),
            Self::Tool { tool } => write!(f, "every call of {tool}"),
        }
    }
}

impl Rule {
    /// The rule to offer for a call: for its pattern if it has one, else for its very command or path, if it has one.
    pub(super) fn for_call(
        tool: &str,
        command: Option<&str>,
        pattern: Option<&'static CommandPattern>,
    ) -> Self {
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
    rules: Vec<Rule>,
}

impl SessionRules {
    /// Adds what a [`Verdict::Ask`](super::Verdict::Ask) offered.
    pub fn add(&mut self, rule: Rule) {
        if !self.rules.contains(&rule) {
            self.rules.push(rule);
        }
    }

    /// The rules, in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter()
    }

    /// Checks whether one of the rules covers a call: the rule that would be offered for it, or the one for its very command.
    pub(super) fn allow(
        &self,
        tool: &str,
        command: Option<&str>,
        pattern: Option<&'static CommandPattern>,
    ) -> bool {
        let covers = |pattern| self.rules.contains(&Rule::for_call(tool, command, pattern));
        covers(pattern) || covers(None)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::policy::risk::CommandFolders;
    use crate::protected_path::ProtectedPaths;

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
            ("npm run build", "exactly `npm run build`"),
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
            assert_eq!(Rule::for_call("bash", Some(line), pattern).to_string(), shown);
        }
    }
}
