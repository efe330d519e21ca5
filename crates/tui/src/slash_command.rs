//! Slash commands: the table, what a line means, and what a half-typed one may become.
//!
//! Beside the table there are the agent's: templates, skills, commands of extensions. What they become is the agent's business.

mod run;

use std::borrow::Cow;

use tiller_core::message::ThinkingLevel;
use tiller_core::suggest;
use tiller_engine::{ApprovalMode, SlashCommand};

use super::completion::{Candidate, OnAccept};
use super::picker::{FuzzyQuery, MatchMode};

/// A slash command; the table says what each does.
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

/// One row of the table.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CommandSpec {
    pub(super) verb: BuiltInCommand,
    pub(super) name: &'static str,
    /// What may follow the name.
    pub(super) argument: &'static str,
    pub(super) about: &'static str,
    /// What else it goes by: names that hands know from other programs.
    pub(super) aliases: &'static [&'static str],
}

const fn row(
    verb: BuiltInCommand,
    name: &'static str,
    argument: &'static str,
    about: &'static str,
) -> CommandSpec {
    CommandSpec { verb, name, argument, about, aliases: &[] }
}

impl CommandSpec {
    const fn also(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }
}

/// Every slash command, in the order they are shown.
pub(super) const TABLE: [CommandSpec; 31] = [
    row(BuiltInCommand::New, "new", "", "begin a fresh session").also(&["clear"]),
    row(
        BuiltInCommand::Resume,
        "resume",
        "[WORDS]",
        "go to another session: by its name, or what was said in it",
    )
    .also(&["continue", "sessions"]),
    row(BuiltInCommand::Tree, "tree", "", "the session as a tree: go back to any point of it")
        .also(&["rewind"]),
    row(BuiltInCommand::Fork, "fork", "", "a new session from an earlier message of this one"),
    row(BuiltInCommand::Clone, "clone", "", "go on in a copy of this session"),
    row(BuiltInCommand::Name, "name", "NAME", "name this session").also(&["rename"]),
    row(
        BuiltInCommand::Label,
        "label",
        "[NAME]",
        "label the newest message for the tree; without NAME take its label away",
    ),
    row(
        BuiltInCommand::Compact,
        "compact",
        "[WORDS]",
        "sum up the older part of the conversation; WORDS say what matters in it",
    )
    .also(&["summarize"]),
    row(
        BuiltInCommand::Truncate,
        "truncate",
        "",
        "leave the older part of the conversation out, without a summary",
    ),
    row(BuiltInCommand::Model, "model", "[NAME[:LEVEL]]", "choose who answers").also(&["models"]),
    row(
        BuiltInCommand::Thinking,
        "thinking",
        "[LEVEL]",
        "how much the model thinks: off, minimal, low, medium, high, xhigh",
    )
    .also(&["effort"]),
    row(BuiltInCommand::Approval, "approval", "[MODE]", "which calls are asked about: ask, auto, read-only")
        .also(&["approvals"]),
    row(
        BuiltInCommand::Permissions,
        "permissions",
        "",
        "what you allowed in this session: see it, take it back",
    ),
    row(
        BuiltInCommand::AddDir,
        "add-dir",
        "PATH[:ro]",
        "let tools reach another folder in this session; :ro to read only",
    ),
    row(BuiltInCommand::Trust, "trust", "", "be asked again whether this project's own files take effect"),
    row(
        BuiltInCommand::Tools,
        "tools",
        "[NAME]",
        "the tools that the model is offered; NAME is offered, or not any more",
    ),
    row(BuiltInCommand::Settings, "settings", "[NAME [VALUE]]", "every setting: see it, change it")
        .also(&["config"]),
    row(BuiltInCommand::Copy, "copy", "[N]", "copy the last answer, or the Nth from the end"),
    row(BuiltInCommand::FollowUp, "followup", "TEXT", "say TEXT when the agent has finished"),
    row(BuiltInCommand::Session, "session", "", "facts about this session").also(&["status", "cost"]),
    row(BuiltInCommand::Context, "context", "", "the parts of the context window that are in use"),
    row(
        BuiltInCommand::Export,
        "export",
        "[FILE]",
        "write this session to a page, or to FILE.md or FILE.jsonl",
    ),
    row(BuiltInCommand::Import, "import", "[PATH]", "make sessions of those of Claude Code, Codex or pi"),
    row(BuiltInCommand::Theme, "theme", "[NAME]", "choose how the screen looks"),
    row(BuiltInCommand::Reload, "reload", "", "read settings, skills, templates and context files anew"),
    row(BuiltInCommand::Logs, "logs", "", "the end of tiller's own log, and where reports on faults are"),
    row(BuiltInCommand::Login, "login", "[PROVIDER]", "give tiller the key of a provider of models")
        .also(&["connect"]),
    row(BuiltInCommand::Logout, "logout", "[PROVIDER]", "take a key away again"),
    row(BuiltInCommand::Help, "help", "", "what can be typed here"),
    row(BuiltInCommand::Hotkeys, "hotkeys", "", "every key").also(&["keys", "keybindings"]),
    row(BuiltInCommand::Quit, "quit", "", "leave; the session is kept").also(&["exit", "q"]),
];

/// What a line that begins with `/` means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ParsedLine<'a> {
    /// A command with what follows its name.
    Known(&'static CommandSpec, &'a str),
    /// The agent knows what to do with this line, in which the command has its whole name.
    Agent(Cow<'a, str>),
    /// No command goes by that name; perhaps this one was meant.
    Unknown { name: &'a str, nearest: Option<String> },
    /// Not a command: a path, a comment, a regular expression.
    Text,
}

/// The command of this name, or of this alias.
pub(super) fn named(name: &str) -> Option<&'static CommandSpec> {
    let by_alias = || TABLE.iter().find(|command| command.aliases.contains(&name));
    TABLE.iter().find(|command| command.name == name).or_else(by_alias)
}

/// A command of the table or of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommandTarget<'a> {
    Own(&'static CommandSpec),
    Agent(&'a str),
}

impl<'a> CommandTarget<'a> {
    fn name(self) -> &'a str {
        match self {
            Self::Own(command) => command.name,
            Self::Agent(name) => name,
        }
    }
}

/// Returns the command that a typed name runs: the one of exactly this name or alias, or the only one with a name or alias that
/// begins so. A skill goes by its own name too. A name counts before those of the agent, and an alias behind them.
fn resolve<'a>(typed: &str, agents: &'a [SlashCommand]) -> Option<CommandTarget<'a>> {
    let names = TABLE.iter().map(|command| (command.name, CommandTarget::Own(command)));
    let agents_names = agents.iter().map(|command| (&*command.name, CommandTarget::Agent(&command.name)));
    let aliases = TABLE
        .iter()
        .flat_map(|command| command.aliases.iter().map(move |alias| (*alias, CommandTarget::Own(command))));
    let skills = agents.iter().filter_map(|command| {
        Some((command.name.strip_prefix("skill:")?, CommandTarget::Agent(&command.name)))
    });
    let all: Vec<(&str, CommandTarget<'a>)> =
        names.chain(agents_names).chain(aliases).chain(skills).collect();
    if let Some((_, target)) = all.iter().find(|(name, _)| *name == typed) {
        return Some(*target);
    }
    let mut begins = all.iter().filter(|(name, _)| !typed.is_empty() && name.starts_with(typed));
    let (_, first) = begins.next()?;
    begins.all(|(_, other)| other == first).then_some(*first)
}

/// Returns the name of the command that Enter runs when this much of a name is typed, if that is certain.
pub(super) fn certain_name(typed: &str, agents: &[SlashCommand]) -> Option<String> {
    resolve(typed, agents).map(|target| target.name().to_owned())
}

/// Reads a line. `agents` are the commands that the agent has.
pub(super) fn parse<'a>(line: &'a str, agents: &[SlashCommand]) -> ParsedLine<'a> {
    let Some(rest) = line.strip_prefix('/') else { return ParsedLine::Text };
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    match resolve(name, agents) {
        Some(CommandTarget::Own(command)) => return ParsedLine::Known(command, argument.trim()),
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
    let names = names.chain(agents.iter().map(|command| command.name.as_str()));
    ParsedLine::Unknown { name, nearest: suggest::nearest(name, names).map(str::to_owned) }
}

/// The commands that begin as what was typed after the slash, then those that are meant less plainly. A skill is found by its own
/// name too.
pub(super) fn offers(typed: &str, agents: &[SlashCommand]) -> Vec<Candidate> {
    let own = TABLE.iter().map(|command| (command.name, command.argument, command.about));
    let others = agents.iter().map(|command| {
        (&*command.name, command.argument_hint.as_deref().unwrap_or_default(), &*command.description)
    });
    let all: Vec<(&str, &str, &str)> = own.chain(others).collect();
    let begins = |name: &str| {
        let skill = name.strip_prefix("skill:").filter(|_| !typed.is_empty());
        name.starts_with(typed) || skill.is_some_and(|skill| skill.starts_with(typed))
    };
    let ranked = FuzzyQuery::new(typed, MatchMode::Names).rank(&all, |(name, ..)| (name, ""));
    let offer = |at: usize| {
        let (name, argument, about) = all[at];
        offer_of(name, argument, about)
    };
    let plain = (0..all.len()).filter(|at| begins(all[*at].0)).map(offer);
    let others = ranked.into_iter().filter(|at| !begins(all[*at].0)).map(offer);
    let mut offers: Vec<Candidate> = plain.chain(aliases(typed, agents)).collect();
    for other in others {
        // A command that is offered by an alias is offered once.
        if offers.iter().all(|offer| offer.insert != other.insert) {
            offers.push(other);
        }
    }
    offers
}

fn offer_of(name: &str, argument: &str, about: &str) -> Candidate {
    let wants_more = !argument.is_empty() && !argument.starts_with('[');
    Candidate {
        name: format!("/{name}"),
        argument: argument.to_owned(),
        about: about.to_owned(),
        insert: format!("/{name} "),
        then: if wants_more { OnAccept::GoOn } else { OnAccept::Send },
    }
}

/// Aliases that begin as what was typed, unless their command does so itself: each offers its command.
fn aliases<'a>(typed: &'a str, agents: &'a [SlashCommand]) -> impl Iterator<Item = Candidate> + 'a {
    let meant = move |command: &CommandSpec| !typed.is_empty() && !command.name.starts_with(typed);
    let fits =
        move |alias: &&str| alias.starts_with(typed) && agents.iter().all(|command| command.name != **alias);
    TABLE.iter().filter(move |command| meant(command)).filter_map(move |command| {
        let alias = command.aliases.iter().find(|alias| fits(alias))?;
        let offer = offer_of(command.name, command.argument, command.about);
        Some(Candidate { name: format!("/{alias}"), argument: format!("= /{}", command.name), ..offer })
    })
}

/// What `/approval` may be followed by.
pub(super) fn mode(argument: &str) -> Result<ApprovalMode, String> {
    ApprovalMode::parse(argument).ok_or_else(|| {
        let names: Vec<&str> = ApprovalMode::ALL.iter().map(|mode| mode.name()).collect();
        format!("approval is one of {}", names.join(", "))
    })
}

/// What `/thinking` may be followed by.
pub(super) fn level(argument: &str) -> Result<ThinkingLevel, String> {
    ThinkingLevel::parse(argument).ok_or_else(|| {
        let names: Vec<&str> = ThinkingLevel::ALL.iter().map(|level| level.name()).collect();
        format!("thinking is one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use tiller_engine::CommandSource;

    use super::*;

    fn agents() -> Vec<SlashCommand> {
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
        match parse(line, &agents()) {
            ParsedLine::Known(command, argument) => Some((command.verb, argument)),
            _ => None,
        }
    }

    #[test]
    fn names_of_other_programs_mean_what_they_mean_there() {
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
    fn a_name_is_no_alias_and_no_two_commands_have_one_alias() {
        let names = TABLE.iter().flat_map(|command| [&[command.name], command.aliases].concat());
        let mut names: Vec<&str> = names.collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn an_alias_gives_way_to_a_template_of_its_name() {
        let clear = SlashCommand { name: "clear".into(), ..agents().remove(0) };
        assert_eq!(parse("/clear", std::slice::from_ref(&clear)), ParsedLine::Agent("/clear".into()));
        let offered = offers("clear", &[clear]);
        assert_eq!(offered.iter().filter(|offer| offer.name == "/clear").count(), 1);
        assert_eq!(offered[0].insert, "/clear ");
    }

    #[test]
    fn an_alias_is_offered_as_what_it_is_behind_the_names_that_begin_so() {
        let shown = |typed| {
            let offers = offers(typed, &[]).into_iter();
            offers
                .map(|offer| format!("{} {} → {}", offer.name, offer.argument, offer.insert))
                .collect::<Vec<_>>()
        };
        assert_eq!(shown("clea")[0], "/clear = /new → /new ");
        assert_eq!(shown("rena")[0], "/rename = /name → /name ");
        assert_eq!(
            shown("c")[..3],
            ["/clone  → /clone ", "/compact [WORDS] → /compact ", "/copy [N] → /copy "]
        );
        assert!(!shown("m").iter().any(|shown| shown.starts_with("/models")), "its command begins so too");
        assert!(shown("").iter().all(|shown| !shown.contains(" = /")));
    }

    #[test]
    fn a_line_is_a_command_with_its_argument() {
        assert_eq!(known("/name  my session "), Some((BuiltInCommand::Name, "my session")));
        assert_eq!(known("/tree"), Some((BuiltInCommand::Tree, "")));
    }

    #[test]
    fn templates_and_skills_are_the_agents() {
        let agents = agents();
        assert_eq!(parse("/review src\nnow", &agents), ParsedLine::Agent("/review src\nnow".into()));
        assert_eq!(parse("/skill:commit", &agents), ParsedLine::Agent("/skill:commit".into()));
        let unknown = |name, nearest: Option<&str>| {
            let nearest = nearest.map(str::to_owned);
            ParsedLine::Unknown { name, nearest }
        };
        assert_eq!(parse("/skill:comit x", &agents), unknown("skill:comit", Some("skill:commit")));
        assert_eq!(parse("/reviw", &agents), unknown("reviw", Some("review")));
    }

    #[test]
    fn a_path_is_no_command() {
        assert_eq!(parse("/usr/bin is on the path", &[]), ParsedLine::Text);
        assert_eq!(parse("// a comment", &[]), ParsedLine::Text);
        assert_eq!(parse("/", &[]), ParsedLine::Text);
    }

    #[test]
    fn an_unknown_command_suggests_the_nearest() {
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
        let agents = agents();
        assert_eq!(known("/follow and then"), Some((BuiltInCommand::FollowUp, "and then")));
        assert_eq!(known("/exi"), Some((BuiltInCommand::Quit, "")));
        assert_eq!(parse("/rev src", &agents), ParsedLine::Agent("/review src".into()));
        assert_eq!(parse("/commit now", &agents), ParsedLine::Agent("/skill:commit now".into()));
        assert_eq!(known("/mo"), Some((BuiltInCommand::Model, "")), "the name and the alias are one command");
    }

    #[test]
    fn certain_name_is_exact_or_a_unique_prefix() {
        let agents = agents();
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
            assert_eq!(certain_name(typed, &agents).as_deref(), expected, "{typed}");
        }
    }

    #[test]
    fn offers_command_offered_by_alias_is_offered_once() {
        let offered = offers("re", &[]);
        let trees: Vec<&str> = offered
            .iter()
            .filter(|offer| offer.insert == "/tree ")
            .map(|offer| offer.name.as_str())
            .collect();
        assert_eq!(trees, ["/rewind"]);
    }

    #[test]
    fn a_beginning_is_completed() {
        let agents = agents();
        let names = |typed| offers(typed, &agents).into_iter().map(|offer| offer.name).collect::<Vec<_>>();
        assert_eq!(names("h")[..2], ["/help", "/hotkeys"]);
        assert_eq!(names("re")[..3], ["/resume", "/reload", "/review"]);
        assert_eq!(names("skill:c"), ["/skill:commit"]);
        assert_eq!(names("com")[..2], ["/compact", "/skill:commit"]);
        assert_eq!(names("comm"), ["/skill:commit"]);
        assert_eq!(names("rsm"), ["/resume"]);
        assert_eq!(names("").len(), TABLE.len() + 2);
        assert_eq!(offers("review", &agents)[0].argument, "[file]");
    }
}
