//! Slash commands: the table of built-in commands, and the parsing of lines.
//!
//! Completion, help pages and the docs are generated from the table; the front ends run the commands. The
//! agent's commands ([`AgentCommand`](crate::AgentCommand)) aren't in the table: templates, skills and
//! extension commands, which the engine runs.

mod line;

use std::fmt;

use tiller_core::message::ThinkingLevel;
use tiller_tools::policy::ApprovalMode;

use self::BuiltInCommand as C;
use self::CommandArgument::{NoArgument, Optional, Required};
use self::InteractiveFrontEnd::{Plain, Tui};

pub use line::{ParsedLine, SlashCommandError, certain_name, find_command, parse, unavailable};

/// A built-in slash command, described in the table.
#[allow(missing_docs, reason = "the table describes each")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltInCommand {
    New,
    Resume,
    Tree,
    Go,
    Fork,
    Clone,
    Name,
    Label,
    Compact,
    Truncate,
    Model,
    Thinking,
    Approval,
    Plan,
    Permissions,
    AddDir,
    Trust,
    Tools,
    Mcp,
    Jobs,
    Agents,
    Back,
    Race,
    Settings,
    Copy,
    FollowUp,
    Now,
    Queue,
    Send,
    Drop,
    Stop,
    Session,
    Cost,
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

/// A front end where the user types commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InteractiveFrontEnd {
    /// The TUI.
    Tui,
    /// `--plain`.
    Plain,
}

/// The front ends that run a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    /// Every interactive front end.
    Both,
    /// One front end.
    Only(InteractiveFrontEnd),
}

/// The argument of a command, with its placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandArgument {
    /// The command takes no argument.
    NoArgument,
    /// The argument is optional.
    Optional(&'static str),
    /// The argument is required.
    Required(&'static str),
}

impl fmt::Display for CommandArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoArgument => Ok(()),
            Self::Optional(placeholder) => write!(f, "[{placeholder}]"),
            Self::Required(placeholder) => f.write_str(placeholder),
        }
    }
}

/// The argument of a command and its one-line summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandUsage {
    /// The argument.
    pub argument: CommandArgument,
    /// The summary.
    pub summary: &'static str,
}

/// A row of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct CommandSpec {
    /// The command.
    pub command: BuiltInCommand,
    /// The name without the slash.
    pub name: &'static str,
    /// Additional names, most of them known from other programs.
    pub aliases: &'static [&'static str],
    /// The front ends that run it.
    pub availability: Availability,
    usage: CommandUsage,
    /// The usage with `--plain`, if it differs.
    plain_usage: Option<CommandUsage>,
}

impl CommandSpec {
    /// Returns whether a front end runs the command.
    #[must_use]
    pub fn is_available(&self, front_end: InteractiveFrontEnd) -> bool {
        match self.availability {
            Availability::Both => true,
            Availability::Only(only) => only == front_end,
        }
    }

    /// Returns the usage of the command in a front end.
    #[must_use]
    pub fn usage(&self, front_end: InteractiveFrontEnd) -> CommandUsage {
        match front_end {
            InteractiveFrontEnd::Tui => self.usage,
            InteractiveFrontEnd::Plain => self.plain_usage.unwrap_or(self.usage),
        }
    }

    /// Returns the name with the argument: `/model [NAME]`.
    #[must_use]
    pub fn synopsis(&self, front_end: InteractiveFrontEnd) -> String {
        format!("/{} {}", self.name, self.usage(front_end).argument).trim_end().to_owned()
    }

    /// Returns the summary with the aliases, for a help page.
    #[must_use]
    pub fn description(&self, front_end: InteractiveFrontEnd) -> String {
        let summary = self.usage(front_end).summary;
        let aliases: Vec<String> = self.aliases.iter().map(|alias| format!("/{alias}")).collect();
        if aliases.is_empty() {
            summary.to_owned()
        } else {
            format!("{summary} (also {})", aliases.join(" "))
        }
    }

    const fn also(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    const fn only(self, front_end: InteractiveFrontEnd) -> Self {
        Self { availability: Availability::Only(front_end), ..self }
    }

    const fn with_plain_usage(self, argument: CommandArgument, summary: &'static str) -> Self {
        Self { plain_usage: Some(CommandUsage { argument, summary }), ..self }
    }

    const fn with_plain_argument(self, argument: CommandArgument) -> Self {
        let summary = self.usage.summary;
        self.with_plain_usage(argument, summary)
    }
}

/// Returns the built-in commands of a front end, in display order.
pub fn available_commands(
    front_end: InteractiveFrontEnd,
) -> impl Iterator<Item = &'static CommandSpec> + Clone {
    TABLE.iter().filter(move |row| row.is_available(front_end))
}

const fn row(
    command: BuiltInCommand,
    name: &'static str,
    argument: CommandArgument,
    summary: &'static str,
) -> CommandSpec {
    CommandSpec {
        command,
        name,
        aliases: &[],
        availability: Availability::Both,
        usage: CommandUsage { argument, summary },
        plain_usage: None,
    }
}

/// Every built-in command, in display order.
const TABLE: &[CommandSpec] = &[
    row(C::New, "new", NoArgument, "start a new session").also(&["clear"]),
    row(C::Resume, "resume", Optional("QUERY"), "resume another session, found by its name or text")
        .also(&["continue", "sessions"])
        .with_plain_usage(
            Optional("ID"),
            "list the sessions in this directory, or open one by its id or name",
        ),
    row(C::Tree, "tree", NoArgument, "show the session as a tree; go back to any point")
        .also(&["rewind"])
        .with_plain_usage(NoArgument, "show the session as a tree; /go continues from an entry"),
    row(C::Go, "go", Required("ID"), "continue from an entry; /tree shows the ids").only(Plain),
    row(C::Fork, "fork", NoArgument, "fork a new session from an earlier message").with_plain_usage(
        Optional("ID"),
        "fork a new session from an earlier message; without ID, list them",
    ),
    row(C::Clone, "clone", NoArgument, "continue in a copy of this session"),
    row(C::Name, "name", Required("NAME"), "name this session").also(&["rename"]),
    row(
        C::Label,
        "label",
        Optional("NAME"),
        "label the newest message in the tree; without NAME, remove its label",
    ),
    row(
        C::Compact,
        "compact",
        Optional("FOCUS"),
        "summarize the older part of the conversation; FOCUS: what to emphasize",
    )
    .also(&["summarize"]),
    row(C::Truncate, "truncate", NoArgument, "drop the older part of the conversation without a summary"),
    row(C::Model, "model", Optional("NAME[:LEVEL]"), "choose the model").also(&["models"]),
    row(
        C::Thinking,
        "thinking",
        Optional("LEVEL"),
        "choose the thinking level: off, minimal, low, medium, high, xhigh",
    )
    .also(&["effort"]),
    row(C::Approval, "approval", Optional("MODE"), "choose the approval mode: ask, auto, plan, read-only")
        .also(&["approvals"]),
    row(
        C::Plan,
        "plan",
        NoArgument,
        "toggle plan mode (read-only); leaving it puts the plan into the editor",
    )
    .with_plain_usage(NoArgument, "toggle plan mode (read-only)"),
    row(
        C::Permissions,
        "permissions",
        NoArgument,
        "show or remove rules from this session and from settings",
    )
    .with_plain_argument(Optional("revoke N")),
    row(
        C::AddDir,
        "add-dir",
        Required("PATH[:ro]"),
        "give tools access to another directory for this session; :ro for read-only",
    ),
    row(C::Trust, "trust", NoArgument, "change whether you trust this project").only(Tui),
    row(C::Tools, "tools", Optional("NAME"), "show the model's tools; NAME switches a tool on or off")
        .only(Tui),
    row(C::Mcp, "mcp", NoArgument, "show the MCP servers: state, tools, last lines of stderr"),
    row(
        C::Agents,
        "agents",
        NoArgument,
        "list running, finished and available agents; Enter opens a running or finished one",
    )
    .with_plain_usage(NoArgument, "list running, finished and available agents"),
    row(C::Back, "back", NoArgument, "return from an agent's session to the session that started it")
        .only(Tui),
    row(
        C::Race,
        "race",
        Optional("PROMPT"),
        "give a prompt to several agents and pick a result; without PROMPT, show or resume the race",
    )
    .only(Tui),
    row(C::Jobs, "jobs", NoArgument, "show or stop the background jobs")
        .with_plain_usage(Optional("stop ID"), "list the background jobs, or stop one"),
    row(C::Settings, "settings", Optional("NAME [VALUE]"), "show or change settings")
        .also(&["config"])
        .only(Tui),
    row(C::Copy, "copy", Optional("N"), "copy the last answer, or the Nth from the end").only(Tui),
    row(C::FollowUp, "followup", Required("TEXT"), "send TEXT after the agent has finished"),
    row(
        C::Now,
        "now",
        Required("TEXT"),
        "interrupt the current request, keep its text, and continue with TEXT",
    )
    .only(Plain),
    row(C::Queue, "queue", NoArgument, "list the queued messages").only(Plain),
    row(C::Send, "send", Required("N"), "deliver a held message; /queue shows its number").only(Plain),
    row(C::Drop, "drop", Required("N"), "remove a queued message; /queue shows its number").only(Plain),
    row(C::Stop, "stop", NoArgument, "stop the run").only(Plain),
    row(C::Session, "session", NoArgument, "show information about this session").also(&["status"]),
    row(C::Cost, "cost", NoArgument, "show the cost of this session by model").also(&["usage"]),
    row(C::Context, "context", NoArgument, "show context window usage"),
    row(
        C::Export,
        "export",
        Optional("FILE"),
        "export this session as an HTML page, or to FILE.md or FILE.jsonl",
    )
    .only(Tui),
    row(C::Import, "import", Optional("PATH"), "import sessions from Claude Code, Codex or pi").only(Tui),
    row(C::Theme, "theme", Optional("NAME"), "choose the color theme").only(Tui),
    row(
        C::Reload,
        "reload",
        NoArgument,
        "reload settings, skills, templates, agents and context files; restart failed MCP servers",
    )
    .with_plain_usage(
        NoArgument,
        "reload skills, templates, agents and context files; restart failed MCP servers",
    ),
    row(C::Logs, "logs", NoArgument, "show the end of tiller's log and the crash report directory").only(Tui),
    row(C::Login, "login", Optional("PROVIDER"), "store a provider's API key").also(&["connect"]),
    row(C::Logout, "logout", Optional("PROVIDER"), "remove a provider's API key")
        .with_plain_argument(Required("PROVIDER")),
    row(C::Help, "help", NoArgument, "show help: commands and the most important keys")
        .with_plain_usage(NoArgument, "show help: input and commands"),
    row(C::Hotkeys, "hotkeys", NoArgument, "show every key").also(&["keys", "keybindings"]).only(Tui),
    row(C::Quit, "quit", NoArgument, "quit; the session is saved").also(&["exit", "q"]),
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
    use std::fmt::Write;

    use super::*;

    /// Returns the table in docs/lists.md.
    fn markdown() -> String {
        let mut out = "\n| command | aliases | description | `--plain` |\n|---|---|---|---|\n".to_owned();
        for row in TABLE {
            let is_plain_only = row.availability == Availability::Only(Plain);
            let front_end = if is_plain_only { Plain } else { Tui };
            let aliases: Vec<String> = row.aliases.iter().map(|alias| format!("`/{alias}`")).collect();
            let (synopsis, summary) = (row.synopsis(front_end), row.usage(front_end).summary);
            writeln!(out, "| `{synopsis}` | {} | {summary} | {} |", aliases.join(" "), in_plain(row))
                .unwrap();
        }
        out
    }

    /// Returns the cell about `--plain`.
    fn in_plain(row: &CommandSpec) -> String {
        match (row.availability, row.plain_usage) {
            (Availability::Only(Tui), _) => "no".to_owned(),
            (Availability::Only(Plain), _) => "only".to_owned(),
            (Availability::Both, None) => "yes".to_owned(),
            (Availability::Both, Some(usage)) if usage.summary == row.usage.summary => {
                format!("`{}`", row.synopsis(Plain))
            }
            (Availability::Both, Some(usage)) => format!("`{}`: {}", row.synopsis(Plain), usage.summary),
        }
    }

    #[test]
    fn command_docs_match_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/lists.md");
        let page = std::fs::read_to_string(path).unwrap();
        let (_, rest) = page.split_once("<!-- commands -->\n").unwrap();
        let (commands, _) = rest.split_once("\n<!-- end of commands -->").unwrap();
        assert!(commands == markdown(), "between its marks it is to be:\n{}", markdown());
    }

    #[test]
    fn table_names_and_aliases_are_unique() {
        let names = TABLE.iter().flat_map(|command| [&[command.name], command.aliases].concat());
        let mut names: Vec<&str> = names.collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
    #[test]
    fn synopsis_and_description_depend_on_the_front_end() {
        let line = |name: &str, front_end| {
            let row = find_command(name, front_end).unwrap();
            format!("{}: {}", row.synopsis(front_end), row.description(front_end))
        };
        assert_eq!(line("name", Tui), "/name NAME: name this session (also /rename)");
        assert_eq!(line("name", Plain), line("name", Tui));
        assert_eq!(line("fork", Tui), "/fork: fork a new session from an earlier message");
        assert_eq!(
            line("fork", Plain),
            "/fork [ID]: fork a new session from an earlier message; without ID, list them"
        );
        assert_eq!(line("go", Plain), "/go ID: continue from an entry; /tree shows the ids");
    }

    #[test]
    fn find_command_of_the_other_front_end_is_none() {
        assert_eq!(find_command("go", Tui), None);
        assert_eq!(find_command("keys", Plain), None);
        assert_eq!(find_command("keys", Tui).map(|row| row.command), Some(C::Hotkeys));
    }
}
