//! What the user allowed for the rest of the session, no wider than what they saw when they did.

use std::fmt;

use super::shell;

/// Programs that run whatever their first argument says to; only these two words together mean something.
const WITH_SUBCOMMANDS: &[&str] = &[
    "apt",
    "brew",
    "bun",
    "bundle",
    "cargo",
    "composer",
    "conda",
    "deno",
    "docker",
    "dotnet",
    "flutter",
    "gh",
    "git",
    "go",
    "gradle",
    "helm",
    "jj",
    "just",
    "kubectl",
    "make",
    "mix",
    "mvn",
    "npm",
    "pip",
    "pip3",
    "pnpm",
    "podman",
    "poetry",
    "rustup",
    "swift",
    "terraform",
    "uv",
    "yarn",
    "zig",
];

/// Subcommands that run something else, or change what later ones do: allowed only word for word.
const OPEN_ENDED: &[&str] = &[
    "alias",
    "bisect",
    "config",
    "create",
    "dlx",
    "eval",
    "exec",
    "filter-branch",
    "install",
    "rebase",
    "run",
    "script",
    "shell",
    "submodule",
    "tool",
    "x",
];

/// Programs that only look, whatever their arguments.
const LOOKING: &[&str] =
    &["cat", "cut", "df", "diff", "du", "echo", "grep", "head", "ls", "pwd", "stat", "tail", "wc", "which"];

/// What one "always" covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Simple commands of a tool that begin with these words, unless they look dangerous.
    Program {
        /// The tool.
        tool: String,
        /// The first word or two.
        words: Vec<String>,
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
            Self::Program { words, .. } => write!(f, "{} …", words.join(" ")),
            Self::Exact { line, .. } => write!(f, "exactly `{line}`"),
            Self::Tool { tool } => write!(f, "every call of {tool}"),
        }
    }
}

impl Rule {
    /// The rule to offer for a call.
    pub(super) fn for_call(tool: &str, command: Option<&str>, risk: Option<&str>) -> Self {
        let tool = tool.to_owned();
        let Some(line) = command else { return Self::Tool { tool } };
        let words = if risk.is_some() { None } else { shell::simple_words(line).and_then(prefix) };
        match words {
            Some(words) => Self::Program { tool, words },
            None => Self::Exact { tool, line: line.to_owned() },
        }
    }

    fn covers(&self, call_tool: &str, command: Option<&str>, risk: Option<&str>) -> bool {
        match (self, command) {
            (Self::Program { tool, words }, Some(line)) => {
                tool == call_tool
                    && risk.is_none()
                    && shell::simple_words(line).is_some_and(|line_words| line_words.starts_with(words))
            }
            (Self::Exact { tool, line }, Some(call_line)) => tool == call_tool && line == call_line,
            (Self::Tool { tool }, None) => tool == call_tool,
            (Self::Program { .. } | Self::Exact { .. }, None) | (Self::Tool { .. }, Some(_)) => false,
        }
    }
}

/// The words that say what a simple command does, if they say it whatever follows.
fn prefix(words: Vec<String>) -> Option<Vec<String>> {
    let program = words.first()?.as_str();
    if LOOKING.contains(&program) {
        return Some(vec![program.to_owned()]);
    }
    let subcommand = words.get(1)?.as_str();
    let is_word = subcommand.starts_with(|c: char| c.is_ascii_alphabetic())
        && subcommand.chars().all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c));
    let is_closed = is_word && !OPEN_ENDED.contains(&subcommand);
    (WITH_SUBCOMMANDS.contains(&program) && is_closed).then(|| words[..2].to_vec())
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

    pub(super) fn allow(&self, tool: &str, command: Option<&str>, risk: Option<&str>) -> bool {
        self.rules.iter().any(|rule| rule.covers(tool, command, risk))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_no_wider_than_the_words_that_say_what_happens() {
        for (line, shown) in [
            ("cargo test --all", "cargo test …"),
            ("git status", "git status …"),
            ("ls", "ls …"),
            ("npm run build", "exactly `npm run build`"),
            ("git -c alias.x=!sh x", "exactly `git -c alias.x=!sh x`"),
            ("python3 script.py", "exactly `python3 script.py`"),
            ("rm -r target", "exactly `rm -r target`"),
            ("bash -c ls", "exactly `bash -c ls`"),
            ("cargo test | tail", "exactly `cargo test | tail`"),
            ("make", "exactly `make`"),
        ] {
            assert_eq!(Rule::for_call("bash", Some(line), None).to_string(), shown);
        }
    }
}
