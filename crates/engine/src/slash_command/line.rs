//! Parsing of lines: the command that a typed name runs, its argument, and a suggestion for an unknown name. Pure.

use std::borrow::Cow;

use tiller_core::suggest;

use super::{CommandSpec, TABLE};
use crate::resources::SlashCommand;

/// The parsed form of a line.
#[derive(Debug, PartialEq, Eq)]
pub enum ParsedLine<'a> {
    /// A built-in command with its argument.
    Known(&'static CommandSpec, &'a str),
    /// A command of the agent; the line with the command's full name.
    Agent(Cow<'a, str>),
    /// An unknown command, with the most similar name.
    Unknown {
        /// The name without the slash.
        name: &'a str,
        /// A known name.
        nearest: Option<String>,
    },
    /// A prompt: not a command, but for example a path, a comment or a regular expression.
    Text,
}

/// The built-in command with this name or alias.
pub fn find_command(name: &str) -> Option<&'static CommandSpec> {
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
pub fn certain_name(typed: &str, agent_commands: &[SlashCommand]) -> Option<String> {
    resolve(typed, agent_commands).map(|target| target.name().to_owned())
}

/// Parses a line. `agent_commands` are the agent's commands.
pub fn parse<'a>(line: &'a str, agent_commands: &[SlashCommand]) -> ParsedLine<'a> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::CommandSource;
    use crate::slash_command::BuiltInCommand;

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
    fn parse_template_name_beats_alias() {
        let clear = SlashCommand { name: "clear".into(), ..agent_commands().remove(0) };
        assert_eq!(parse("/clear", std::slice::from_ref(&clear)), ParsedLine::Agent("/clear".into()));
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
}
