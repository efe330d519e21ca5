//! Slash commands: the table of built-in commands, and the parsing of lines.
//!
//! Besides the table there are the agent's commands: templates, skills and commands of extensions. The engine runs
//! those; a front end runs the built-in ones.

mod line;

use tiller_core::message::ThinkingLevel;
use tiller_tools::policy::ApprovalMode;

pub use line::{ParsedLine, certain_name, find_command, parse};

/// A built-in slash command; the table describes each.
#[allow(missing_docs, reason = "the table describes each")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltInCommand {
    New,
    Resume,
    Tree,
    Fork,
    Clone,
    Name,
    Label,
    Compact,
    Truncate,
    Model,
    Thinking,
    Approval,
    Permissions,
    AddDir,
    Trust,
    Tools,
    Settings,
    Copy,
    FollowUp,
    Session,
    Context,
    Export,
    Import,
    Theme,
    Reload,
    Logs,
    Login,
    Logout,
    Help,
    Hotkeys,
    Quit,
}

/// A row of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct CommandSpec {
    /// The command.
    pub action: BuiltInCommand,
    /// The name without the slash.
    pub name: &'static str,
    /// Placeholder of the argument; empty if the command takes none.
    pub argument: &'static str,
    /// Description in one line.
    pub about: &'static str,
    /// Further names, most of them known from other programs.
    pub aliases: &'static [&'static str],
}

const fn row(
    action: BuiltInCommand,
    name: &'static str,
    argument: &'static str,
    about: &'static str,
) -> CommandSpec {
    CommandSpec { action, name, argument, about, aliases: &[] }
}

impl CommandSpec {
    const fn also(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }
}

/// Every built-in command, in display order.
pub const TABLE: [CommandSpec; 31] = [
    row(BuiltInCommand::New, "new", "", "start a new session").also(&["clear"]),
    row(BuiltInCommand::Resume, "resume", "[QUERY]", "resume another session, found by its name or text")
        .also(&["continue", "sessions"]),
    row(BuiltInCommand::Tree, "tree", "", "show the session as a tree; go back to any point")
        .also(&["rewind"]),
    row(BuiltInCommand::Fork, "fork", "", "fork a new session from an earlier message"),
    row(BuiltInCommand::Clone, "clone", "", "continue in a copy of this session"),
    row(BuiltInCommand::Name, "name", "NAME", "name this session").also(&["rename"]),
    row(
        BuiltInCommand::Label,
        "label",
        "[NAME]",
        "label the newest message in the tree; without NAME, remove its label",
    ),
    row(
        BuiltInCommand::Compact,
        "compact",
        "[FOCUS]",
        "summarize the older part of the conversation; FOCUS says what matters",
    )
    .also(&["summarize"]),
    row(
        BuiltInCommand::Truncate,
        "truncate",
        "",
        "drop the older part of the conversation without a summary",
    ),
    row(BuiltInCommand::Model, "model", "[NAME[:LEVEL]]", "choose the model").also(&["models"]),
    row(
        BuiltInCommand::Thinking,
        "thinking",
        "[LEVEL]",
        "choose the thinking level: off, minimal, low, medium, high, xhigh",
    )
    .also(&["effort"]),
    row(BuiltInCommand::Approval, "approval", "[MODE]", "choose the approval mode: ask, auto, read-only")
        .also(&["approvals"]),
    row(BuiltInCommand::Permissions, "permissions", "", "show or revoke what you allowed for this session"),
    row(
        BuiltInCommand::AddDir,
        "add-dir",
        "PATH[:ro]",
        "give tools access to another folder for this session; :ro for read-only",
    ),
    row(BuiltInCommand::Trust, "trust", "", "decide again whether this project's own files take effect"),
    row(BuiltInCommand::Tools, "tools", "[NAME]", "show the model's tools; NAME switches a tool on or off"),
    row(BuiltInCommand::Settings, "settings", "[NAME [VALUE]]", "show or change settings").also(&["config"]),
    row(BuiltInCommand::Copy, "copy", "[N]", "copy the last answer, or the Nth from the end"),
    row(BuiltInCommand::FollowUp, "followup", "TEXT", "send TEXT after the agent has finished"),
    row(BuiltInCommand::Session, "session", "", "show information about this session")
        .also(&["status", "cost"]),
    row(BuiltInCommand::Context, "context", "", "show the use of the context window"),
    row(
        BuiltInCommand::Export,
        "export",
        "[FILE]",
        "export this session as an HTML page, or to FILE.md or FILE.jsonl",
    ),
    row(BuiltInCommand::Import, "import", "[PATH]", "import sessions of Claude Code, Codex or pi"),
    row(BuiltInCommand::Theme, "theme", "[NAME]", "choose the color theme"),
    row(BuiltInCommand::Reload, "reload", "", "reload settings, skills, templates and context files"),
    row(BuiltInCommand::Logs, "logs", "", "show the end of tiller's log, and where crash reports are"),
    row(BuiltInCommand::Login, "login", "[PROVIDER]", "store a provider's API key").also(&["connect"]),
    row(BuiltInCommand::Logout, "logout", "[PROVIDER]", "remove a provider's API key"),
    row(BuiltInCommand::Help, "help", "", "show help: commands and the most important keys"),
    row(BuiltInCommand::Hotkeys, "hotkeys", "", "show every key").also(&["keys", "keybindings"]),
    row(BuiltInCommand::Quit, "quit", "", "quit; the session is saved").also(&["exit", "q"]),
];

/// Parses the argument of `/approval`.
///
/// # Errors
///
/// A message that lists the modes.
pub fn parse_mode(argument: &str) -> Result<ApprovalMode, String> {
    ApprovalMode::parse(argument).ok_or_else(|| {
        let names: Vec<&str> = ApprovalMode::ALL.iter().map(|mode| mode.name()).collect();
        format!("unknown approval mode; choose one of {}", names.join(", "))
    })
}

/// Parses the argument of `/thinking`.
///
/// # Errors
///
/// A message that lists the levels.
pub fn parse_level(argument: &str) -> Result<ThinkingLevel, String> {
    ThinkingLevel::parse(argument).ok_or_else(|| {
        let names: Vec<&str> = ThinkingLevel::ALL.iter().map(|level| level.name()).collect();
        format!("unknown thinking level; choose one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_names_and_aliases_are_unique() {
        let names = TABLE.iter().flat_map(|command| [&[command.name], command.aliases].concat());
        let mut names: Vec<&str> = names.collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
