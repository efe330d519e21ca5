//! Tool declarations: for the model, for the policy, and for the display of calls.
//!
//! A tool's own file declares its [`ToolTraits`]; all other code finds them in a spec, or by name in a
//! [`ToolCatalog`](crate::tool_catalog::ToolCatalog), and never compares names of tools.

use std::sync::Arc;

use serde_json::Value;

/// The declaration of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// The tool's name, as the model calls it.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// JSON Schema of its arguments: an object.
    pub parameters: Arc<Value>,
    /// The tool's properties, which the model doesn't see.
    pub traits: ToolTraits,
}

/// Properties of a tool's calls and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolTraits {
    /// The tool's access to the machine.
    pub access: Access,
    /// The argument that identifies a call.
    pub shown_argument: ShownArgument,
    /// The kind of its results.
    pub output: OutputKind,
    /// The files that a call reads or writes.
    pub paths: TouchedPaths,
    /// The argument without which a call only reads, whatever `access` says.
    pub reads_without: Option<&'static str>,
    /// The tool set that it belongs to.
    pub set: Option<ToolSet>,
    /// True if the programs that it runs are restricted by the sandbox, unless a call says `unsandboxed`.
    pub uses_sandbox: bool,
    /// True if a running call can be moved to the background.
    pub has_jobs: bool,
    /// The argument with which a call waits (`action: wait`); identical waiting calls aren't counted as a loop.
    pub waiting: Option<WaitingArgument>,
    /// True if calls never run in parallel with others, even if they only read.
    pub never_parallel: bool,
}

/// An argument with the value that makes a call wait for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingArgument {
    /// The argument's name.
    pub name: &'static str,
    /// Its value.
    pub value: &'static str,
}

impl ToolTraits {
    /// Creates the traits of a tool that declares only its access.
    #[must_use]
    pub const fn new(access: Access) -> Self {
        Self {
            access,
            shown_argument: ShownArgument::FirstText,
            output: OutputKind::Text,
            paths: TouchedPaths::Undeclared,
            reads_without: None,
            set: None,
            uses_sandbox: false,
            has_jobs: false,
            waiting: None,
            never_parallel: false,
        }
    }

    /// Returns true if a call with these arguments waits for something.
    #[must_use]
    pub fn waits_with(&self, arguments: &Value) -> bool {
        self.waiting.is_some_and(|waiting| arguments[waiting.name] == waiting.value)
    }

    /// Returns the access of a call with these arguments.
    #[must_use]
    pub fn access_with(&self, arguments: &Value) -> Access {
        match self.reads_without {
            Some(argument) if arguments[argument].is_null() => Access::Reads,
            _ => self.access,
        }
    }

    /// Returns true if no call of the tool runs in parallel with others.
    #[must_use]
    pub fn always_runs_alone(&self) -> bool {
        self.never_parallel || (self.access != Access::Reads && self.reads_without.is_none())
    }
}

impl Default for ToolTraits {
    /// The traits of an unknown tool.
    fn default() -> Self {
        Self::new(Access::Executes)
    }
}

/// A tool's access to the machine, as declared by the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Only reads; calls may run in parallel, unless the tool declares that they run alone.
    Reads,
    /// Changes files in the working directory.
    Writes,
    /// Reads from a network host, which the argument `url` names.
    Network,
    /// Publishes something in the user's name.
    Publishes,
    /// Runs programs, with any effect.
    Executes,
}

/// Sets of tools that are enabled together by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolSet {
    /// Tools for files.
    Files,
    /// The shell.
    Bash,
    /// Tools for the Git repository, offered only inside one.
    Git,
    /// Tools for the repository on GitHub, offered if there is one and a token is set.
    Github,
    /// Tools for web pages.
    Web,
    /// The plan.
    Plan,
    /// Agents to delegate to.
    Agents,
    /// Tools of MCP servers.
    Mcp,
}

impl ToolSet {
    /// All sets.
    pub const ALL: &[Self] =
        &[Self::Files, Self::Bash, Self::Git, Self::Github, Self::Web, Self::Plan, Self::Agents, Self::Mcp];

    /// Returns the name for the setting `tools`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Bash => "bash",
            Self::Git => "git",
            Self::Github => "github",
            Self::Web => "web",
            Self::Plan => "plan",
            Self::Agents => "agents",
            Self::Mcp => "mcp",
        }
    }
}

/// The argument that identifies a call on the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShownArgument {
    /// The first text of `path`, `command`, `pattern`, `query`, `url` and `name`, or else of any argument.
    #[default]
    FirstText,
    /// The text argument of this name.
    Named(&'static str),
    /// The first text of these arguments.
    FirstOf(&'static [&'static str]),
    /// The text of these arguments, separated by spaces.
    Joined(&'static [&'static str]),
    /// `pattern` in quotes, and `path`.
    PatternAndPath,
}

/// Arguments that identify a call of any tool, in order of preference.
const USUAL_ARGUMENTS: [&str; 6] = ["path", "command", "pattern", "query", "url", "name"];

impl ShownArgument {
    /// Returns the argument's text in a call with these arguments; empty if there is none.
    #[must_use]
    pub fn text(self, arguments: &Value) -> String {
        let text = |name: &str| arguments[name].as_str().unwrap_or_default();
        match self {
            Self::FirstText => {
                let usual = USUAL_ARGUMENTS.iter().find_map(|name| arguments[*name].as_str());
                let any = || arguments.as_object()?.values().find_map(Value::as_str);
                usual.or_else(any).unwrap_or_default().to_owned()
            }
            Self::Named(name) => text(name).to_owned(),
            Self::FirstOf(names) => {
                names.iter().find_map(|name| arguments[*name].as_str()).unwrap_or_default().to_owned()
            }
            Self::Joined(names) => {
                let texts: Vec<&str> = names.iter().filter_map(|name| arguments[*name].as_str()).collect();
                texts.join(" ")
            }
            Self::PatternAndPath => format!("{:?} {}", text("pattern"), text("path")).trim_end().to_owned(),
        }
    }

    /// Returns the first line of the argument's text that isn't blank, without control characters, and with
    /// `…` if more follow.
    #[must_use]
    pub fn one_line(self, arguments: &Value) -> String {
        let text = self.text(arguments);
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let first = lines.next().unwrap_or_default().replace(char::is_control, " ");
        if lines.next().is_some() { format!("{first} …") } else { first }
    }
}

/// The kind of a tool's results, which determines how they are displayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputKind {
    /// Any text.
    #[default]
    Text,
    /// Command output: escape sequences are interpreted; the exit code is in `details` and at the end of the
    /// text.
    Command,
    /// The content of the file in the argument `path`. A successful result is folded away.
    File,
    /// Names or lines of files, or a page. A successful result is folded away.
    Listing,
    /// A change to a file, with the diff in `details`.
    Diff,
}

/// The files that a call reads or writes, by its arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TouchedPaths {
    /// Not declared. The policy still checks the argument `path`, if the call has one.
    #[default]
    Undeclared,
    /// The file in `path`.
    File,
    /// The file or directory in `path` with everything below it; by default the working directory.
    Tree,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shown_argument_one_line_has_no_control_characters() {
        let arguments = json!({"command": "\n cargo test\u{1b}[1m\nls"});
        assert_eq!(ShownArgument::FirstText.one_line(&arguments), "cargo test [1m …");
        assert_eq!(ShownArgument::FirstText.one_line(&json!({})), "");
    }

    #[test]
    fn shown_argument_is_the_declared_one() {
        let (command, search) = (ShownArgument::Named("command"), ShownArgument::PatternAndPath);
        for (argument, arguments, expected) in [
            (ShownArgument::FirstText, json!({"name": "n", "path": "src/a.rs"}), "src/a.rs"),
            (ShownArgument::FirstText, json!({"count": 3, "city": "Oslo"}), "Oslo"),
            (ShownArgument::FirstText, json!({}), ""),
            (command, json!({"path": "x", "command": "cd src\nls"}), "cd src\nls"),
            (command, json!({"path": "x"}), ""),
            (search, json!({"path": "src", "pattern": "\\n"}), r#""\\n" src"#),
            (search, json!({"pattern": "fn main"}), r#""fn main""#),
            (
                ShownArgument::Joined(&["action", "id"]),
                json!({"id": "job_1", "action": "stop"}),
                "stop job_1",
            ),
            (ShownArgument::Joined(&["action", "id"]), json!({"action": "list"}), "list"),
            (search, Value::Null, "\"\""),
        ] {
            assert_eq!(argument.text(&arguments), expected, "{argument:?} of {arguments}");
        }
    }
}
