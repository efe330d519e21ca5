//! Slash commands: the table, the parsing of lines, and completion of command names.
//!
//! Besides the table there are the agent's commands: templates, skills and commands of extensions. The engine runs
//! those.

mod run;

use std::borrow::Cow;

use tiller_core::message::ThinkingLevel;
use tiller_core::suggest;
use tiller_engine::{ApprovalMode, SlashCommand};

use super::completion::{Candidate, OnAccept};
use super::picker::{FuzzyQuery, MatchMode};

/// A built-in slash command; the table describes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BuiltInCommand {
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

#[derive(Debug, PartialEq, Eq)]
pub(super) struct CommandSpec {
    pub(super) action: BuiltInCommand,
    pub(super) name: &'static str,
    /// Placeholder of the argument; empty if the command takes none.
    pub(super) argument: &'static str,
    pub(super) about: &'static str,
    /// Further names, most of them known from other programs.
    pub(super) aliases: &'static [&'static str],
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
pub(super) const TABLE: [CommandSpec; 31] = [
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

/// The parsed form of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ParsedLine<'a> {
    /// A built-in command with its argument.
    Known(&'static CommandSpec, &'a str),
    /// A command of the agent; the line with the command's full name.
    Agent(Cow<'a, str>),
    /// An unknown command, with the most similar name.
    Unknown { name: &'a str, nearest: Option<String> },
    /// A prompt: not a command, but for example a path, a comment or a regular expression.
    Text,
}

/// The built-in command with this name or alias.
pub(super) fn find_command(name: &str) -> Option<&'static CommandSpec> {
    let by_alias = || TABLE.iter().find(|command| command.aliases.contains(&name));
    TABLE.iter().find(|command| command.name == name).or_else(by_alias)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommandTarget<'a> {
    BuiltIn(&'static CommandSpec),
    Agent(&'a str),
}

impl<'a> CommandTarget<'a> {
    fn name(self) -> &'a str {
        match self {
            Self::BuiltIn(command) => command.name,
            Self::Agent(name) => name,
        }
    }
}

/// Returns the command that a typed name runs: the one with exactly this name or alias, or the only one with a name or
/// alias that begins with it. Skills also match by their own name. Exact matches prefer built-in names, then the
/// agent's names, then aliases.
fn resolve<'a>(typed: &str, agent_commands: &'a [SlashCommand]) -> Option<CommandTarget<'a>> {
    let names = TABLE.iter().map(|command| (command.name, CommandTarget::BuiltIn(command)));
    let agent_names =
        agent_commands.iter().map(|command| (&*command.name, CommandTarget::Agent(&command.name)));
    let aliases = TABLE.iter().flat_map(|command| {
        command.aliases.iter().map(move |alias| (*alias, CommandTarget::BuiltIn(command)))
    });
    let skills = agent_commands.iter().filter_map(|command| {
        Some((command.name.strip_prefix("skill:")?, CommandTarget::Agent(&command.name)))
    });
    let all: Vec<(&str, CommandTarget<'a>)> = names.chain(agent_names).chain(aliases).chain(skills).collect();
    if let Some((_, target)) = all.iter().find(|(name, _)| *name == typed) {
        return Some(*target);
    }
    let mut begins = all.iter().filter(|(name, _)| !typed.is_empty() && name.starts_with(typed));
    let (_, first) = begins.next()?;
    begins.all(|(_, other)| other == first).then_some(*first)
}

/// Returns the name of the command that Enter runs when this much of a name is typed, if that is certain.
pub(super) fn certain_name(typed: &str, agent_commands: &[SlashCommand]) -> Option<String> {
    resolve(typed, agent_commands).map(|target| target.name().to_owned())
}

/// Parses a line. `agent_commands` are the agent's commands.
pub(super) fn parse<'a>(line: &'a str, agent_commands: &[SlashCommand]) -> ParsedLine<'a> {
    let Some(rest) = line.strip_prefix('/') else { return ParsedLine::Text };
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    match resolve(name, agent_commands) {
        Some(CommandTarget::BuiltIn(command)) => return ParsedLine::Known(command, argument.trim()),
        Some(CommandTarget::Agent(whole)) if whole == name => return ParsedLine::Agent(line.into()),
        Some(CommandTarget::Agent(whole)) => {
            return ParsedLine::Agent(format!("/{whole}{}", &rest[name.len()..]).into());
        }
        None => {}
    }
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c)) {
        return ParsedLine::Text;
    }
    let names = TABLE.iter().flat_map(|command| [&[command.name], command.aliases].concat());
    let names = names.chain(agent_commands.iter().map(|command| command.name.as_str()));
    ParsedLine::Unknown { name, nearest: suggest::nearest(name, names).map(str::to_owned) }
}

/// Candidates for a partial command name: those that begin with it, then fuzzy matches. Skills also match by their own
/// name.
pub(super) fn candidates(typed: &str, agent_commands: &[SlashCommand]) -> Vec<Candidate> {
    let built_in = TABLE.iter().map(|command| (command.name, command.argument, command.about));
    let others = agent_commands.iter().map(|command| {
        (&*command.name, command.argument_hint.as_deref().unwrap_or_default(), &*command.description)
    });
    let all: Vec<(&str, &str, &str)> = built_in.chain(others).collect();
    let begins = |name: &str| {
        let skill = name.strip_prefix("skill:").filter(|_| !typed.is_empty());
        name.starts_with(typed) || skill.is_some_and(|skill| skill.starts_with(typed))
    };
    let ranked = FuzzyQuery::new(typed, MatchMode::Names).rank(&all, |(name, ..)| (name, ""));
    let build = |at: usize| {
        let (name, argument, about) = all[at];
        candidate(name, argument, about)
    };
    let prefixed = (0..all.len()).filter(|at| begins(all[*at].0)).map(build);
    let fuzzy = ranked.into_iter().filter(|at| !begins(all[*at].0)).map(build);
    let mut candidates: Vec<Candidate> = prefixed.chain(aliases(typed, agent_commands)).collect();
    for other in fuzzy {
        // Skip commands already offered by an alias.
        if candidates.iter().all(|offer| offer.insert != other.insert) {
            candidates.push(other);
        }
    }
    candidates
}

fn candidate(name: &str, argument: &str, about: &str) -> Candidate {
    let wants_more = !argument.is_empty() && !argument.starts_with('[');
    Candidate {
        name: format!("/{name}"),
        argument: argument.to_owned(),
        about: about.to_owned(),
        insert: format!("/{name} "),
        then: if wants_more { OnAccept::GoOn } else { OnAccept::Send },
    }
}

/// Candidates from aliases that begin with the typed text, unless the command's own name does.
fn aliases<'a>(typed: &'a str, agent_commands: &'a [SlashCommand]) -> impl Iterator<Item = Candidate> + 'a {
    let meant = move |command: &CommandSpec| !typed.is_empty() && !command.name.starts_with(typed);
    let fits = move |alias: &&str| {
        alias.starts_with(typed) && agent_commands.iter().all(|command| command.name != **alias)
    };
    TABLE.iter().filter(move |command| meant(command)).filter_map(move |command| {
        let alias = command.aliases.iter().find(|alias| fits(alias))?;
        let offer = candidate(command.name, command.argument, command.about);
        Some(Candidate { name: format!("/{alias}"), argument: format!("= /{}", command.name), ..offer })
    })
}

/// Parses the argument of `/approval`.
///
/// # Errors
///
/// A message that lists the modes.
pub(super) fn parse_mode(argument: &str) -> Result<ApprovalMode, String> {
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
pub(super) fn parse_level(argument: &str) -> Result<ThinkingLevel, String> {
    ThinkingLevel::parse(argument).ok_or_else(|| {
        let names: Vec<&str> = ThinkingLevel::ALL.iter().map(|level| level.name()).collect();
        format!("unknown thinking level; choose one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use tiller_engine::CommandSource;

    use super::*;

    fn agent_commands() -> Vec<SlashCommand> {
        let command = |name: &str, hint: Option<&str>, source| SlashCommand {
            name: name.into(),
            description: "does it".into(),
            argument_hint: hint.map(str::to_owned),
            source,
            location: None,
        };
        vec![
            command("review", Some("[file]"), CommandSource::Prompt),
            command("skill:commit", None, CommandSource::Skill),
        ]
    }

    fn known(line: &str) -> Option<(BuiltInCommand, &str)> {
        match parse(line, &agent_commands()) {
            ParsedLine::Known(command, argument) => Some((command.action, argument)),
            _ => None,
        }
    }

    #[test]
    fn aliases_name_the_same_commands_as_elsewhere() {
        for (alias, verb) in [
            ("/clear", BuiltInCommand::New),
            ("/continue", BuiltInCommand::Resume),
            ("/status", BuiltInCommand::Session),
            ("/approvals", BuiltInCommand::Approval),
            ("/config", BuiltInCommand::Settings),
            ("/exit", BuiltInCommand::Quit),
        ] {
            assert_eq!(known(alias), Some((verb, "")), "{alias}");
        }
        assert_eq!(known("/approvals auto"), Some((BuiltInCommand::Approval, "auto")));
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
    fn parse_template_name_beats_alias() {
        let clear = SlashCommand { name: "clear".into(), ..agent_commands().remove(0) };
        assert_eq!(parse("/clear", std::slice::from_ref(&clear)), ParsedLine::Agent("/clear".into()));
        let offered = candidates("clear", &[clear]);
        assert_eq!(offered.iter().filter(|offer| offer.name == "/clear").count(), 1);
        assert_eq!(offered[0].insert, "/clear ");
    }

    #[test]
    fn candidates_aliases_follow_names() {
        let shown = |typed| {
            let offers = candidates(typed, &[]).into_iter();
            offers
                .map(|offer| format!("{} {} → {}", offer.name, offer.argument, offer.insert))
                .collect::<Vec<_>>()
        };
        assert_eq!(shown("clea")[0], "/clear = /new → /new ");
        assert_eq!(shown("rena")[0], "/rename = /name → /name ");
        assert_eq!(
            shown("c")[..3],
            ["/clone  → /clone ", "/compact [FOCUS] → /compact ", "/copy [N] → /copy "]
        );
        assert!(!shown("m").iter().any(|shown| shown.starts_with("/models")), "its command begins so too");
        assert!(shown("").iter().all(|shown| !shown.contains(" = /")));
    }

    #[test]
    fn parse_line_has_command_and_argument() {
        assert_eq!(known("/name  my session "), Some((BuiltInCommand::Name, "my session")));
        assert_eq!(known("/tree"), Some((BuiltInCommand::Tree, "")));
    }

    #[test]
    fn parse_template_or_skill_is_for_the_agent() {
        let agent_commands = agent_commands();
        assert_eq!(parse("/review src\nnow", &agent_commands), ParsedLine::Agent("/review src\nnow".into()));
        assert_eq!(parse("/skill:commit", &agent_commands), ParsedLine::Agent("/skill:commit".into()));
        let unknown = |name, nearest: Option<&str>| {
            let nearest = nearest.map(str::to_owned);
            ParsedLine::Unknown { name, nearest }
        };
        assert_eq!(parse("/skill:comit x", &agent_commands), unknown("skill:comit", Some("skill:commit")));
        assert_eq!(parse("/reviw", &agent_commands), unknown("reviw", Some("review")));
    }

    #[test]
    fn parse_path_is_text() {
        assert_eq!(parse("/usr/bin is on the path", &[]), ParsedLine::Text);
        assert_eq!(parse("// a comment", &[]), ParsedLine::Text);
        assert_eq!(parse("/", &[]), ParsedLine::Text);
    }

    #[test]
    fn parse_unknown_command_suggests_nearest() {
        assert_eq!(
            parse("/modle", &[]),
            ParsedLine::Unknown { name: "modle", nearest: Some("model".into()) }
        );
        assert_eq!(parse("/exti", &[]), ParsedLine::Unknown { name: "exti", nearest: Some("exit".into()) });
        assert_eq!(parse("/deploy", &[]), ParsedLine::Unknown { name: "deploy", nearest: None });
        assert_eq!(parse("/init", &[]), ParsedLine::Unknown { name: "init", nearest: None });
        assert_eq!(parse("/re x", &[]), ParsedLine::Unknown { name: "re", nearest: Some("resume".into()) });
    }

    #[test]
    fn parse_unique_prefix_is_its_command() {
        let agent_commands = agent_commands();
        assert_eq!(known("/follow and then"), Some((BuiltInCommand::FollowUp, "and then")));
        assert_eq!(known("/exi"), Some((BuiltInCommand::Quit, "")));
        assert_eq!(parse("/rev src", &agent_commands), ParsedLine::Agent("/review src".into()));
        assert_eq!(parse("/commit now", &agent_commands), ParsedLine::Agent("/skill:commit now".into()));
        assert_eq!(known("/mo"), Some((BuiltInCommand::Model, "")), "the name and the alias are one command");
    }

    #[test]
    fn certain_name_is_exact_or_a_unique_prefix() {
        let agent_commands = agent_commands();
        let cases = [
            ("model", Some("model")),
            ("q", Some("quit")),
            ("clear", Some("new")),
            ("commit", Some("skill:commit")),
            ("comm", Some("skill:commit")),
            ("comp", Some("compact")),
            ("com", None),
            ("re", None),
            ("ide", None),
            ("rsm", None),
            ("", None),
        ];
        for (typed, expected) in cases {
            assert_eq!(certain_name(typed, &agent_commands).as_deref(), expected, "{typed}");
        }
    }

    #[test]
    fn candidates_command_matched_by_alias_is_listed_once() {
        let offered = candidates("re", &[]);
        let trees: Vec<&str> = offered
            .iter()
            .filter(|offer| offer.insert == "/tree ")
            .map(|offer| offer.name.as_str())
            .collect();
        assert_eq!(trees, ["/rewind"]);
    }

    #[test]
    fn candidates_prefix_matches_come_first() {
        let agent_commands = agent_commands();
        let names = |typed| {
            candidates(typed, &agent_commands).into_iter().map(|offer| offer.name).collect::<Vec<_>>()
        };
        assert_eq!(names("h")[..2], ["/help", "/hotkeys"]);
        assert_eq!(names("re")[..3], ["/resume", "/reload", "/review"]);
        assert_eq!(names("skill:c"), ["/skill:commit"]);
        assert_eq!(names("com")[..2], ["/compact", "/skill:commit"]);
        assert_eq!(names("comm"), ["/skill:commit"]);
        assert_eq!(names("rsm"), ["/resume"]);
        assert_eq!(names("").len(), TABLE.len() + 2);
        assert_eq!(candidates("review", &agent_commands)[0].argument, "[file]");
    }
}
