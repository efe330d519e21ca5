//! Parser of input lines. Pure.

use crate::agent::slash_command::InteractiveFrontEnd::Plain;
use crate::agent::slash_command::{self, BuiltInCommand, CommandSpec, ParsedLine, parse_level, parse_mode};
use crate::agent::{AgentCommand, ApprovalMode, BashContext, unrunnable};
use crate::id::JobId;
use crate::message::ThinkingLevel;
use crate::suggest;

/// A parsed input line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InputLine {
    Empty,
    /// A prompt, or steering while the agent works; it may be an agent command.
    Prompt(String),
    /// A prompt to send after the run.
    FollowUp(String),
    /// Steering that interrupts the current request.
    Now(String),
    /// A shell command, `!` or `!!`.
    Bash(String, BashContext),
    Command(ReplCommand),
    /// Invalid input, with an error text.
    Invalid(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReplCommand {
    Help,
    Quit,
    New,
    Resume(Option<String>),
    Name(String),
    Model(Option<String>),
    Thinking(Option<ThinkingLevel>),
    Approval(Option<ApprovalMode>),
    Plan,
    Compact(Option<String>),
    Truncate,
    Session,
    Cost,
    Context,
    Mcp,
    Agents,
    /// Lists the background jobs, or stops one.
    Jobs(Option<JobId>),
    Tree,
    Go(String),
    Fork(Option<String>),
    Clone,
    Label(Option<String>),
    /// Lists the permissions of the session, or revokes the one with this number.
    Permissions(Option<String>),
    AddDir(String),
    Queue,
    Send(String),
    Drop(String),
    Stop,
    Reload,
    Login(Option<String>),
    Logout(String),
}

impl InputLine {
    /// Parses a line. `agent_commands` are the agent's commands.
    pub(super) fn parse(line: &str, agent_commands: &[AgentCommand]) -> Self {
        let text = line.trim();
        if text.is_empty() {
            return Self::Empty;
        }
        if let Some(line) = text.strip_prefix("!!") {
            return bash(line, BashContext::Exclude);
        }
        if let Some(line) = text.strip_prefix('!') {
            return bash(line, BashContext::Include);
        }
        if let Some(text) = text.strip_prefix('>') {
            return message(text, Self::FollowUp);
        }
        if suggest::is_quit_word(text) {
            return Self::Command(ReplCommand::Quit);
        }
        match slash_command::parse(text, agent_commands, Plain) {
            Ok(ParsedLine::BuiltIn(row, argument)) => built_in(row, argument),
            Ok(ParsedLine::Agent(whole)) => Self::Prompt(whole.into_owned()),
            Ok(ParsedLine::Text) => Self::Prompt(text.to_owned()),
            Err(error) => Self::Invalid(error.to_string()),
        }
    }
}

fn bash(line: &str, context: BashContext) -> InputLine {
    match line.trim() {
        "" => InputLine::Invalid("no command given; `!COMMAND` runs one in the shell".to_owned()),
        line => match unrunnable(line) {
            Some(reason) => InputLine::Invalid(reason.message("in another terminal")),
            None => InputLine::Bash(line.to_owned(), context),
        },
    }
}

fn message(text: &str, kind: impl FnOnce(String) -> InputLine) -> InputLine {
    match text.trim() {
        "" => InputLine::Invalid("the message is empty".to_owned()),
        text => kind(text.to_owned()),
    }
}

#[allow(clippy::too_many_lines, reason = "one arm a command")]
fn built_in(row: &CommandSpec, argument: &str) -> InputLine {
    let optional = (!argument.is_empty()).then(|| argument.to_owned());
    let require = |argument: &str, command: fn(String) -> ReplCommand| match optional.clone() {
        Some(argument) => InputLine::Command(command(argument)),
        None => InputLine::Invalid(format!("/{} needs {argument}", row.name)),
    };
    InputLine::Command(match row.command {
        BuiltInCommand::Help => ReplCommand::Help,
        BuiltInCommand::Quit => ReplCommand::Quit,
        BuiltInCommand::New => ReplCommand::New,
        BuiltInCommand::Resume => ReplCommand::Resume(optional),
        BuiltInCommand::Name => return require("a name", ReplCommand::Name),
        BuiltInCommand::Model => ReplCommand::Model(optional),
        BuiltInCommand::Thinking => return choice(argument, parse_level, ReplCommand::Thinking),
        BuiltInCommand::Approval => return choice(argument, parse_mode, ReplCommand::Approval),
        BuiltInCommand::Plan => ReplCommand::Plan,
        BuiltInCommand::Compact => ReplCommand::Compact(optional),
        BuiltInCommand::Truncate => ReplCommand::Truncate,
        BuiltInCommand::Session => ReplCommand::Session,
        BuiltInCommand::Cost => ReplCommand::Cost,
        BuiltInCommand::Context => ReplCommand::Context,
        BuiltInCommand::Mcp => ReplCommand::Mcp,
        BuiltInCommand::Agents => ReplCommand::Agents,
        BuiltInCommand::Jobs => return jobs(argument),
        BuiltInCommand::Tree => ReplCommand::Tree,
        BuiltInCommand::Go => return require("an entry id; /tree shows the ids", ReplCommand::Go),
        BuiltInCommand::Fork => ReplCommand::Fork(optional),
        BuiltInCommand::Clone => ReplCommand::Clone,
        BuiltInCommand::Label => ReplCommand::Label(optional),
        BuiltInCommand::Permissions => return permissions(argument),
        BuiltInCommand::AddDir => {
            return require("a directory; the suffix :ro makes it read-only", ReplCommand::AddDir);
        }
        BuiltInCommand::Queue => ReplCommand::Queue,
        BuiltInCommand::Send => {
            return require("the number of a message; /queue lists them", ReplCommand::Send);
        }
        BuiltInCommand::Drop => {
            return require("the number of a message; /queue lists them", ReplCommand::Drop);
        }
        BuiltInCommand::Stop => ReplCommand::Stop,
        BuiltInCommand::Reload => ReplCommand::Reload,
        // A key on this line would be visible on the screen, so the rest is dropped.
        BuiltInCommand::Login => {
            ReplCommand::Login(optional.and_then(|text| text.split_whitespace().next().map(str::to_owned)))
        }
        BuiltInCommand::Logout => {
            return require("the name of a provider; /login lists them", ReplCommand::Logout);
        }
        BuiltInCommand::FollowUp => return message(argument, InputLine::FollowUp),
        BuiltInCommand::Now => return message(argument, InputLine::Now),
        // Only the TUI has these; `slash_command::parse` rejects them.
        BuiltInCommand::Trust
        | BuiltInCommand::Back
        | BuiltInCommand::Race
        | BuiltInCommand::Tools
        | BuiltInCommand::Settings
        | BuiltInCommand::Copy
        | BuiltInCommand::Export
        | BuiltInCommand::Import
        | BuiltInCommand::Theme
        | BuiltInCommand::Logs
        | BuiltInCommand::Hotkeys => return InputLine::Empty,
    })
}

/// Parses an optional argument with few valid values.
fn choice<T>(
    argument: &str,
    parse: fn(&str) -> Result<T, String>,
    command: fn(Option<T>) -> ReplCommand,
) -> InputLine {
    if argument.is_empty() {
        return InputLine::Command(command(None));
    }
    parse(argument).map_or_else(InputLine::Invalid, |value| InputLine::Command(command(Some(value))))
}

fn permissions(argument: &str) -> InputLine {
    match argument.split_whitespace().collect::<Vec<_>>()[..] {
        [] => InputLine::Command(ReplCommand::Permissions(None)),
        ["revoke", number] => InputLine::Command(ReplCommand::Permissions(Some(number.to_owned()))),
        _ => InputLine::Invalid("/permissions lists them, /permissions revoke N revokes one".to_owned()),
    }
}

fn jobs(argument: &str) -> InputLine {
    match argument.split_whitespace().collect::<Vec<_>>()[..] {
        [] => InputLine::Command(ReplCommand::Jobs(None)),
        ["stop", id] => InputLine::Command(ReplCommand::Jobs(Some(id.into()))),
        _ => InputLine::Invalid("/jobs lists them, /jobs stop ID stops one".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::slash_command::InteractiveFrontEnd::Tui;
    use crate::agent::slash_command::available_commands;
    use crate::agent::{CommandRefusal, CommandSource};

    fn skill() -> AgentCommand {
        AgentCommand {
            name: "skill:commit".to_owned(),
            description: "write a commit message".to_owned(),
            argument_hint: None,
            source: CommandSource::Skill,
            location: None,
        }
    }

    #[test]
    fn input_line_prefix_decides_its_kind() {
        let cases = [
            ("  ", InputLine::Empty),
            (" fix it ", InputLine::Prompt("fix it".into())),
            ("> then test", InputLine::FollowUp("then test".into())),
            ("/followup then test", InputLine::FollowUp("then test".into())),
            ("/now stop that", InputLine::Now("stop that".into())),
            ("!cd src", InputLine::Invalid(CommandRefusal::OnlyChangesDirectory.message(""))),
            ("!ls -l", InputLine::Bash("ls -l".into(), BashContext::Include)),
            ("!! env", InputLine::Bash("env".into(), BashContext::Exclude)),
            ("/model", InputLine::Command(ReplCommand::Model(None))),
            ("/model opus:high", InputLine::Command(ReplCommand::Model(Some("opus:high".into())))),
            ("/thinking low", InputLine::Command(ReplCommand::Thinking(Some(ThinkingLevel::Low)))),
            ("/name a b", InputLine::Command(ReplCommand::Name("a b".into()))),
            ("/approval", InputLine::Command(ReplCommand::Approval(None))),
            ("/approval read-only", InputLine::Command(ReplCommand::Approval(Some(ApprovalMode::ReadOnly)))),
            ("/skill:commit now", InputLine::Prompt("/skill:commit now".into())),
            ("/commit now", InputLine::Prompt("/skill:commit now".into())),
            ("/clear", InputLine::Command(ReplCommand::New)),
            ("/jobs stop job_2", InputLine::Command(ReplCommand::Jobs(Some("job_2".into())))),
            ("/perm revoke 2", InputLine::Command(ReplCommand::Permissions(Some("2".into())))),
            ("/login openai sk-hush", InputLine::Command(ReplCommand::Login(Some("openai".into())))),
            ("/etc/hosts has what in it?", InputLine::Prompt("/etc/hosts has what in it?".into())),
            (" exit ", InputLine::Command(ReplCommand::Quit)),
            ("quit", InputLine::Command(ReplCommand::Quit)),
            (":q", InputLine::Command(ReplCommand::Quit)),
            ("exit code 3, why?", InputLine::Prompt("exit code 3, why?".into())),
            ("// is a comment", InputLine::Prompt("// is a comment".into())),
        ];
        for (line, expected) in cases {
            assert_eq!(InputLine::parse(line, &[skill()]), expected, "{line:?}");
        }
    }

    #[test]
    fn input_line_error_says_what_to_type() {
        for (line, expected) in [
            ("/name", "/name needs a name"),
            ("/rename", "/name needs a name"),
            (
                "/thinking most",
                "unknown thinking level; choose one of off, minimal, low, medium, high, xhigh",
            ),
            ("/approval never", "unknown approval mode; choose one of ask, auto, plan, read-only"),
            ("!", "no command given; `!COMMAND` runs one in the shell"),
            ("> ", "the message is empty"),
            ("/now", "the message is empty"),
            ("/go", "/go needs an entry id; /tree shows the ids"),
            ("/modle", "unknown command /modle; did you mean /model?"),
            ("/deploy", "unknown command /deploy; /help lists all commands"),
            ("/clear up the mess", "/new takes no arguments"),
            ("/st", "unknown command /st; did you mean /stop?"),
        ] {
            assert_eq!(InputLine::parse(line, &[skill()]), InputLine::Invalid(expected.to_owned()), "{line}");
        }
    }

    #[test]
    fn input_line_command_of_the_screen_is_an_error() {
        let of_screen = available_commands(Tui).filter(|row| !row.is_available(Plain));
        let names: Vec<&str> = of_screen.map(|row| row.name).collect();
        assert_eq!(
            names,
            [
                "trust", "tools", "back", "race", "settings", "copy", "export", "import", "theme", "logs",
                "hotkeys"
            ]
        );
        for name in names {
            let message = format!("/{name} is available only in the TUI");
            assert_eq!(InputLine::parse(&format!("/{name}"), &[]), InputLine::Invalid(message));
        }
    }

    #[test]
    fn input_line_available_command_is_never_empty() {
        for row in available_commands(Plain) {
            assert_ne!(InputLine::parse(&format!("/{}", row.name), &[]), InputLine::Empty, "{}", row.name);
        }
    }
}
