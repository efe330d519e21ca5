//! The declaration of a tool: for the model, for the policy, and for the display of its calls.
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
        }
    }
}

impl Default for ToolTraits {
    /// The traits of an unknown tool.
    fn default() -> Self {
        Self::new(Access::Executes)
    }
}

/// A tool's access to the machine, by its own declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Only reads; calls may run in parallel.
    Reads,
    /// Changes files in the working directory.
    Writes,
    /// Runs programs, with any effect.
    Executes,
}

/// The argument that identifies a call on the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShownArgument {
    /// The first text of `path`, `command`, `pattern`, `query`, `url` and `name`, or else of any argument.
    #[default]
    FirstText,
    /// The text argument of this name.
    Named(&'static str),
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
            Self::PatternAndPath => format!("{:?} {}", text("pattern"), text("path")).trim_end().to_owned(),
        }
    }

    /// Returns the first line of the argument's text that isn't blank, without control characters, and with `…` if
    /// more follow.
    #[must_use]
    pub fn one_line(self, arguments: &Value) -> String {
        let text = self.text(arguments);
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let first = lines.next().unwrap_or_default().replace(char::is_control, " ");
        if lines.next().is_some() { format!("{first} …") } else { first }
    }
}

/// The kind of a tool's results, which decides about their display.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputKind {
    /// Any text.
    #[default]
    Text,
    /// Command output: escape sequences are interpreted; the exit code stands in `details` and at the end of the text.
    Command,
    /// The content of the file in the argument `path`. A successful result is folded away.
    File,
    /// Names or lines of files. A successful result is folded away.
    Listing,
    /// A change of a file, with the diff in `details`.
    Diff,
}

/// The files that a call reads or writes, by its arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TouchedPaths {
    /// The tool doesn't say. The policy still judges the argument `path`, if the call has one.
    #[default]
    Undeclared,
    /// The file in `path`.
    File,
    /// The file or folder in `path` with everything below it; by default the working directory.
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
            (search, Value::Null, "\"\""),
        ] {
            assert_eq!(argument.text(&arguments), expected, "{argument:?} of {arguments}");
        }
    }
}
