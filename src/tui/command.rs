//! Slash commands: the table, what a line means, and what a half-typed one may become.
//!
//! Beside the table there are the agent's: templates, skills, commands of extensions. What they become is the agent's business.

use super::complete::{Offer, Then};
use super::picker::{Query, Way};
use crate::agent::{ApprovalMode, SlashCommand};
use crate::message::ThinkingLevel;
use crate::spelling;

/// A slash command; the table says what each does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    New,
    Resume,
    Tree,
    Fork,
    Clone,
    Name,
    Label,
    Compact,
    Model,
    Thinking,
    Approval,
    Tools,
    Settings,
    Copy,
    FollowUp,
    Session,
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
#[derive(Debug)]
pub(super) struct Command {
    pub(super) verb: Verb,
    pub(super) name: &'static str,
    /// What may follow the name.
    pub(super) argument: &'static str,
    pub(super) about: &'static str,
}

const fn row(verb: Verb, name: &'static str, argument: &'static str, about: &'static str) -> Command {
    Command { verb, name, argument, about }
}

/// Every slash command, in the order they are shown.
pub(super) const TABLE: [Command; 26] = [
    row(Verb::New, "new", "", "begin a fresh session"),
    row(Verb::Resume, "resume", "[WORDS]", "go to another session: by its name, or what was said in it"),
    row(Verb::Tree, "tree", "", "the session as a tree: go back to any point of it"),
    row(Verb::Fork, "fork", "", "a new session from an earlier message of this one"),
    row(Verb::Clone, "clone", "", "go on in a copy of this session"),
    row(Verb::Name, "name", "NAME", "name this session"),
    row(
        Verb::Label,
        "label",
        "[NAME]",
        "label the newest message for the tree; without NAME take its label away",
    ),
    row(
        Verb::Compact,
        "compact",
        "[WORDS]",
        "sum up the older part of the conversation; WORDS say what matters in it",
    ),
    row(Verb::Model, "model", "[NAME[:LEVEL]]", "choose who answers"),
    row(
        Verb::Thinking,
        "thinking",
        "[LEVEL]",
        "how much the model thinks: off, minimal, low, medium, high, xhigh",
    ),
    row(Verb::Approval, "approval", "[MODE]", "which calls are asked about: ask, auto, read-only"),
    row(
        Verb::Tools,
        "tools",
        "[NAME]",
        "the tools that the model is offered; NAME is offered, or not any more",
    ),
    row(Verb::Settings, "settings", "[NAME]", "every setting: see it, change it"),
    row(Verb::Copy, "copy", "", "copy the last answer"),
    row(Verb::FollowUp, "followup", "TEXT", "say TEXT when the agent has finished"),
    row(Verb::Session, "session", "", "facts about this session"),
    row(Verb::Export, "export", "[FILE]", "write this session to a page, or to FILE.md or FILE.jsonl"),
    row(Verb::Import, "import", "[PATH]", "make sessions of those of Claude Code, Codex or pi"),
    row(Verb::Theme, "theme", "[NAME]", "choose how the screen looks"),
    row(Verb::Reload, "reload", "", "read skills, templates and context files anew"),
    row(Verb::Logs, "logs", "", "the end of tiller's own log, and where reports on faults are"),
    row(Verb::Login, "login", "[PROVIDER]", "give tiller the key of a provider of models"),
    row(Verb::Logout, "logout", "[PROVIDER]", "take a key away again"),
    row(Verb::Help, "help", "", "what can be typed here"),
    row(Verb::Hotkeys, "hotkeys", "", "every key"),
    row(Verb::Quit, "quit", "", "leave; the session is kept"),
];

/// What a line that begins with `/` means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meaning<'a> {
    /// A command with what follows its name.
    Known(Verb, &'a str),
    /// The agent knows what to do with it.
    Agent,
    /// No command goes by that name; perhaps this one was meant.
    Unknown { name: &'a str, nearest: Option<String> },
    /// Not a command: a path, a comment, a regular expression.
    Text,
}

/// Reads a line; `agents` are the commands that the agent has.
pub(super) fn parse<'a>(line: &'a str, agents: &[SlashCommand]) -> Meaning<'a> {
    let Some(rest) = line.strip_prefix('/') else { return Meaning::Text };
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if let Some(command) = TABLE.iter().find(|command| command.name == name) {
        return Meaning::Known(command.verb, argument.trim());
    }
    if agents.iter().any(|command| command.name == name) {
        return Meaning::Agent;
    }
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c)) {
        return Meaning::Text;
    }
    let names = TABLE.iter().map(|command| command.name);
    let names = names.chain(agents.iter().map(|command| command.name.as_str()));
    Meaning::Unknown { name, nearest: spelling::nearest(name, names).map(str::to_owned) }
}

/// The commands that begin as what was typed after the slash, then those that are meant less plainly. A skill is found by its own
/// name too.
pub(super) fn offers(typed: &str, agents: &[SlashCommand]) -> Vec<Offer> {
    let own = TABLE.iter().map(|command| (command.name, command.argument, command.about));
    let agents = agents.iter().map(|command| {
        (&*command.name, command.argument_hint.as_deref().unwrap_or_default(), &*command.description)
    });
    let all: Vec<(&str, &str, &str)> = own.chain(agents).collect();
    let begins = |name: &str| {
        let skill = name.strip_prefix("skill:").filter(|_| !typed.is_empty());
        name.starts_with(typed) || skill.is_some_and(|skill| skill.starts_with(typed))
    };
    let ranked = Query::new(typed, Way::Names).rank(&all, |(name, ..)| (name, ""));
    let plain = (0..all.len()).filter(|at| begins(all[*at].0));
    let others = ranked.into_iter().filter(|at| !begins(all[*at].0));
    let offer = |at: usize| {
        let (name, argument, about) = all[at];
        let wants_more = !argument.is_empty() && !argument.starts_with('[');
        Offer {
            name: format!("/{name}"),
            argument: argument.to_owned(),
            about: about.to_owned(),
            insert: format!("/{name} "),
            then: if wants_more { Then::GoOn } else { Then::Send },
        }
    };
    plain.chain(others).map(offer).collect()
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
    use super::*;
    use crate::agent::CommandSource;

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

    #[test]
    fn a_line_is_a_command_with_its_argument() {
        assert_eq!(parse("/name  my session ", &[]), Meaning::Known(Verb::Name, "my session"));
        assert_eq!(parse("/tree", &[]), Meaning::Known(Verb::Tree, ""));
    }

    #[test]
    fn templates_and_skills_are_the_agents() {
        let agents = agents();
        assert_eq!(parse("/review src\nnow", &agents), Meaning::Agent);
        assert_eq!(parse("/skill:commit", &agents), Meaning::Agent);
        let unknown = |name, nearest: Option<&str>| {
            let nearest = nearest.map(str::to_owned);
            Meaning::Unknown { name, nearest }
        };
        assert_eq!(parse("/skill:comit x", &agents), unknown("skill:comit", Some("skill:commit")));
        assert_eq!(parse("/reviw", &agents), unknown("reviw", Some("review")));
    }

    #[test]
    fn a_path_is_no_command() {
        assert_eq!(parse("/usr/bin is on the path", &[]), Meaning::Text);
        assert_eq!(parse("// a comment", &[]), Meaning::Text);
        assert_eq!(parse("/", &[]), Meaning::Text);
    }

    #[test]
    fn an_unknown_command_suggests_the_nearest() {
        assert_eq!(parse("/modle", &[]), Meaning::Unknown { name: "modle", nearest: Some("model".into()) });
        assert_eq!(parse("/exit", &[]), Meaning::Unknown { name: "exit", nearest: Some("quit".into()) });
        assert_eq!(parse("/deploy", &[]), Meaning::Unknown { name: "deploy", nearest: None });
        assert_eq!(
            parse("/follow", &[]),
            Meaning::Unknown { name: "follow", nearest: Some("followup".into()) }
        );
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
