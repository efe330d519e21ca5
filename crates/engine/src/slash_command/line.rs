//! Parsing of typed lines: the command that a name selects, its argument, and a suggestion for an unknown
//! name. Pure.

use std::borrow::Cow;

use tiller_core::suggest;

use super::InteractiveFrontEnd::{Plain, Tui};
use super::{Availability, CommandArgument, CommandSpec, InteractiveFrontEnd, TABLE, available_commands};
use crate::resources::AgentCommand;

/// A parsed line.
#[derive(Debug, PartialEq, Eq)]
pub enum ParsedLine<'a> {
    /// A built-in command with its argument.
    BuiltIn(&'static CommandSpec, &'a str),
    /// A command of the agent: the line with the command's full name.
    Agent(Cow<'a, str>),
    /// A prompt. It may start with a slash, for example as a path, a comment or a regular expression.
    Text,
}

/// The reason a command can't be run.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SlashCommandError {
    /// No command has this name.
    #[error("unknown command /{name}; {}", suggestion(nearest.as_deref()))]
    Unknown {
        /// The name without the slash.
        name: String,
        /// The most similar name.
        nearest: Option<String>,
    },
    /// Only the TUI has this command.
    #[error("/{0} is available only in the TUI")]
    OnlyInTui(&'static str),
    /// Only `--plain` has this command.
    #[error("/{0} is available only with --plain")]
    OnlyInPlain(&'static str),
    /// Text follows a command that takes no argument.
    #[error("/{0} takes no arguments")]
    UnexpectedArgument(&'static str),
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or("/help lists all commands".to_owned(), |name| format!("did you mean /{name}?"))
}

/// Returns a front end's command with this name or alias.
#[must_use]
pub fn find_command(name: &str, front_end: InteractiveFrontEnd) -> Option<&'static CommandSpec> {
    let by_alias = || available_commands(front_end).find(|row| row.aliases.contains(&name));
    available_commands(front_end).find(|row| row.name == name).or_else(by_alias)
}

/// Returns the error for a name or alias that only another front end has.
#[must_use]
pub fn unavailable(name: &str, front_end: InteractiveFrontEnd) -> Option<SlashCommandError> {
    let row = TABLE.iter().find(|row| row.name == name || row.aliases.contains(&name))?;
    match (row.availability, front_end) {
        (Availability::Only(Tui), Plain) => Some(SlashCommandError::OnlyInTui(row.name)),
        (Availability::Only(Plain), Tui) => Some(SlashCommandError::OnlyInPlain(row.name)),
        (Availability::Both, Tui | Plain)
        | (Availability::Only(Tui), Tui)
        | (Availability::Only(Plain), Plain) => None,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommandTarget<'a> {
    BuiltIn(&'static CommandSpec),
    Agent(&'a str),
}

impl<'a> CommandTarget<'a> {
    fn name(self) -> &'a str {
        match self {
            Self::BuiltIn(row) => row.name,
            Self::Agent(name) => name,
        }
    }
}

/// Returns the command that a typed name selects: the one with exactly this name or alias, or the only one
/// with a name or alias that starts with it. Skills also match by their own name. Among exact matches,
/// built-in names come first, then the agent's names, then aliases.
fn resolve<'a>(
    typed: &str,
    agent_commands: &'a [AgentCommand],
    front_end: InteractiveFrontEnd,
) -> Result<CommandTarget<'a>, SlashCommandError> {
    let rows = || available_commands(front_end);
    let names = rows().map(|row| (row.name, CommandTarget::BuiltIn(row)));
    let agent_names =
        agent_commands.iter().map(|command| (&*command.name, CommandTarget::Agent(&command.name)));
    let aliases =
        rows().flat_map(|row| row.aliases.iter().map(move |alias| (*alias, CommandTarget::BuiltIn(row))));
    let skills = agent_commands.iter().filter_map(|command| {
        Some((command.name.strip_prefix("skill:")?, CommandTarget::Agent(&command.name)))
    });
    let targets: Vec<(&str, CommandTarget<'a>)> =
        names.chain(agent_names).chain(aliases).chain(skills).collect();
    if let Some((_, target)) = targets.iter().find(|(name, _)| *name == typed) {
        return Ok(*target);
    }
    if let Some(error) = unavailable(typed, front_end) {
        return Err(error);
    }
    let mut matching = targets.iter().filter(|(name, _)| !typed.is_empty() && name.starts_with(typed));
    match matching.next() {
        Some((_, first)) if matching.all(|(_, target)| target == first) => Ok(*first),
        Some(_) | None => Err(unknown(typed, agent_commands, front_end)),
    }
}

fn unknown(name: &str, agent_commands: &[AgentCommand], front_end: InteractiveFrontEnd) -> SlashCommandError {
    let names = available_commands(front_end).flat_map(|row| [&[row.name], row.aliases].concat());
    let names = names.chain(agent_commands.iter().map(|command| command.name.as_str()));
    let nearest = suggest::nearest(name, names).map(str::to_owned);
    SlashCommandError::Unknown { name: name.to_owned(), nearest }
}

/// Returns the name of the command that Enter runs at this point of typing, if it is certain.
#[must_use]
pub fn certain_name(
    typed: &str,
    agent_commands: &[AgentCommand],
    front_end: InteractiveFrontEnd,
) -> Option<String> {
    resolve(typed, agent_commands, front_end).ok().map(|target| target.name().to_owned())
}

/// Parses a line typed in a front end. `agent_commands` are the agent's commands.
///
/// # Errors
///
/// [`SlashCommandError`] if the front end has no command with this name, or the command takes no argument.
pub fn parse<'a>(
    line: &'a str,
    agent_commands: &[AgentCommand],
    front_end: InteractiveFrontEnd,
) -> Result<ParsedLine<'a>, SlashCommandError> {
    let Some(rest) = line.strip_prefix('/') else { return Ok(ParsedLine::Text) };
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    match resolve(name, agent_commands, front_end) {
        Ok(CommandTarget::BuiltIn(row))
            if row.usage(front_end).argument == CommandArgument::NoArgument
                && !argument.trim().is_empty() =>
        {
            Err(SlashCommandError::UnexpectedArgument(row.name))
        }
        Ok(CommandTarget::BuiltIn(row)) => Ok(ParsedLine::BuiltIn(row, argument.trim())),
        Ok(CommandTarget::Agent(whole)) if whole == name => Ok(ParsedLine::Agent(line.into())),
        Ok(CommandTarget::Agent(whole)) => {
            Ok(ParsedLine::Agent(format!("/{whole}{}", &rest[name.len()..]).into()))
        }
        Err(_) if !is_command_name(name) => Ok(ParsedLine::Text),
        Err(error) => Err(error),
    }
}

/// Returns true for text that can be the name of a command, unlike a path or a comment.
fn is_command_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::CommandSource;
    use crate::slash_command::BuiltInCommand;

    fn agent_commands() -> Vec<AgentCommand> {
        let command = |name: &str, hint: Option<&str>, source| AgentCommand {
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

    fn parse_known(line: &str) -> Option<(BuiltInCommand, &str)> {
        match parse(line, &agent_commands(), Tui) {
            Ok(ParsedLine::BuiltIn(row, argument)) => Some((row.command, argument)),
            _ => None,
        }
    }

    fn agent(line: &str) -> Result<ParsedLine<'_>, SlashCommandError> {
        Ok(ParsedLine::Agent(line.into()))
    }

    fn unknown<'a>(name: &str, nearest: Option<&str>) -> Result<ParsedLine<'a>, SlashCommandError> {
        Err(SlashCommandError::Unknown { name: name.to_owned(), nearest: nearest.map(str::to_owned) })
    }

    #[test]
    fn find_command_aliases_match_other_programs() {
        for (alias, verb) in [
            ("/clear", BuiltInCommand::New),
            ("/continue", BuiltInCommand::Resume),
            ("/status", BuiltInCommand::Session),
            ("/approvals", BuiltInCommand::Approval),
            ("/config", BuiltInCommand::Settings),
            ("/exit", BuiltInCommand::Quit),
        ] {
            assert_eq!(parse_known(alias), Some((verb, "")), "{alias}");
        }
        assert_eq!(parse_known("/approvals auto"), Some((BuiltInCommand::Approval, "auto")));
    }

    #[test]
    fn parse_template_name_beats_alias() {
        let clear = AgentCommand { name: "clear".into(), ..agent_commands().remove(0) };
        assert_eq!(parse("/clear", std::slice::from_ref(&clear), Tui), agent("/clear"));
    }

    #[test]
    fn parse_line_has_command_and_argument() {
        assert_eq!(parse_known("/name  my session "), Some((BuiltInCommand::Name, "my session")));
        assert_eq!(parse_known("/tree"), Some((BuiltInCommand::Tree, "")));
    }

    #[test]
    fn parse_template_or_skill_is_for_the_agent() {
        let agent_commands = agent_commands();
        assert_eq!(parse("/review src\nnow", &agent_commands, Tui), agent("/review src\nnow"));
        assert_eq!(parse("/skill:commit", &agent_commands, Tui), agent("/skill:commit"));
        let parsed = |line| parse(line, &agent_commands, Tui);
        assert_eq!(parsed("/skill:comit x"), unknown("skill:comit", Some("skill:commit")));
        assert_eq!(parsed("/reviw"), unknown("reviw", Some("review")));
    }

    #[test]
    fn parse_path_is_text() {
        for line in ["/usr/bin is on the path", "// a comment", "/"] {
            assert_eq!(parse(line, &[], Tui), Ok(ParsedLine::Text), "{line}");
        }
    }

    #[test]
    fn parse_unknown_command_suggests_nearest() {
        assert_eq!(parse("/modle", &[], Tui), unknown("modle", Some("model")));
        assert_eq!(parse("/exti", &[], Tui), unknown("exti", Some("exit")));
        assert_eq!(parse("/deploy", &[], Tui), unknown("deploy", None));
        assert_eq!(parse("/init", &[], Tui), unknown("init", None));
        assert_eq!(parse("/re x", &[], Tui), unknown("re", Some("resume")));
        assert_eq!(parse("/quue", &[], Plain), unknown("quue", Some("queue")));
        assert_eq!(parse("/quue", &[], Tui), unknown("quue", None));
    }

    #[test]
    fn parse_command_of_the_other_front_end_is_an_error() {
        let error = |line, front_end| parse(line, &[], front_end).unwrap_err().to_string();
        assert_eq!(error("/theme dark", Plain), "/theme is available only in the TUI");
        assert_eq!(error("/keys", Plain), "/hotkeys is available only in the TUI");
        assert_eq!(error("/stop", Tui), "/stop is available only with --plain");
        let goal = AgentCommand { name: "goal".into(), ..agent_commands().remove(0) };
        assert_eq!(parse("/go", std::slice::from_ref(&goal), Tui), Err(SlashCommandError::OnlyInPlain("go")));
        let go = AgentCommand { name: "go".into(), ..goal };
        assert_eq!(parse("/go", &[go], Tui), agent("/go"));
    }

    #[test]
    fn parse_unexpected_argument_is_an_error() {
        let error = |line, front_end| parse(line, &[], front_end).unwrap_err().to_string();
        assert_eq!(error("/clear up the mess", Plain), "/new takes no arguments");
        assert_eq!(error("/fork 2", Tui), "/fork takes no arguments");
        assert!(parse("/fork 2", &[], Plain).is_ok());
        assert_eq!(error("/queue up", Tui), "/queue is available only with --plain");
    }

    #[test]
    fn parse_prefix_ignores_commands_of_the_other_front_end() {
        let command = |line, front_end| match parse(line, &[], front_end) {
            Ok(ParsedLine::BuiltIn(row, _)) => Some(row.command),
            Ok(ParsedLine::Agent(_) | ParsedLine::Text) | Err(_) => None,
        };
        assert_eq!(command("/sta", Plain), Some(BuiltInCommand::Session));
        assert_eq!(command("/st", Plain), None, "stop or status");
        assert_eq!(command("/st", Tui), Some(BuiltInCommand::Session));
        assert_eq!(command("/t", Tui), None);
        assert_eq!(command("/th", Plain), Some(BuiltInCommand::Thinking));
    }

    #[test]
    fn slash_command_error_names_the_next_step() {
        let text = |name: &str, nearest: Option<&str>| {
            let nearest = nearest.map(str::to_owned);
            SlashCommandError::Unknown { name: name.into(), nearest }.to_string()
        };
        assert_eq!(text("modle", Some("model")), "unknown command /modle; did you mean /model?");
        assert_eq!(text("deploy", None), "unknown command /deploy; /help lists all commands");
    }

    #[test]
    fn parse_unique_prefix_is_its_command() {
        let agent_commands = agent_commands();
        assert_eq!(parse_known("/follow and then"), Some((BuiltInCommand::FollowUp, "and then")));
        assert_eq!(parse_known("/exi"), Some((BuiltInCommand::Quit, "")));
        assert_eq!(parse("/rev src", &agent_commands, Tui), agent("/review src"));
        assert_eq!(parse("/commit now", &agent_commands, Tui), agent("/skill:commit now"));
        assert_eq!(
            parse_known("/mo"),
            Some((BuiltInCommand::Model, "")),
            "the name and the alias are one command"
        );
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
            assert_eq!(certain_name(typed, &agent_commands, Tui).as_deref(), expected, "{typed}");
        }
    }
}
