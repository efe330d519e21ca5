//! Parser of input lines. Pure.

use crate::agent::{BashContext, unrunnable};
use crate::message::ThinkingLevel;
use crate::suggest;

/// A parsed input line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InputLine {
    Empty,
    /// A prompt, or steering while the agent works.
    Prompt(String),
    /// A prompt for after the run.
    FollowUp(String),
    /// Steering that interrupts the current request.
    Now(String),
    /// A shell command, `!` or `!!`.
    Bash(String, BashContext),
    Command(ReplCommand),
    /// `/NAME …` of a skill, a template or an extension's command.
    Other {
        name: String,
        line: String,
    },
    /// Invalid input, with an error text.
    Invalid(String),
}

/// A command of the REPL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReplCommand {
    Help,
    Quit,
    New,
    Resume(Option<String>),
    Name(String),
    Model(Option<String>),
    Thinking(Option<ThinkingLevel>),
    Compact(Option<String>),
    Truncate,
    Session,
    Context,
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
    pub(super) fn parse(line: &str) -> Self {
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
        match text.strip_prefix('/') {
            // A path or a comment is a prompt.
            Some(rest) if rest.starts_with(|c: char| c.is_ascii_alphabetic()) => slash(rest, text),
            Some(_) | None => Self::Prompt(text.to_owned()),
        }
    }
}

fn bash(line: &str, context: BashContext) -> InputLine {
    match line.trim() {
        "" => InputLine::Invalid("no command given; `!COMMAND` runs one in the shell".to_owned()),
        line => match unrunnable(line) {
            Some(reason) => InputLine::Invalid(reason.message("in another one")),
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

fn slash(rest: &str, line: &str) -> InputLine {
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if name.contains('/') {
        return InputLine::Prompt(line.to_owned());
    }
    let argument = argument.trim();
    let optional = (!argument.is_empty()).then(|| argument.to_owned());
    let needed = |what: &str, command: fn(String) -> ReplCommand| match optional.clone() {
        Some(argument) => InputLine::Command(command(argument)),
        None => InputLine::Invalid(format!("/{name} needs {what}")),
    };
    InputLine::Command(match name {
        "help" => ReplCommand::Help,
        "quit" | "exit" => ReplCommand::Quit,
        "new" => ReplCommand::New,
        "resume" => ReplCommand::Resume(optional),
        "name" => return needed("a name", ReplCommand::Name),
        "model" => ReplCommand::Model(optional),
        "thinking" => return thinking(optional),
        "compact" => ReplCommand::Compact(optional),
        "truncate" => ReplCommand::Truncate,
        "session" => ReplCommand::Session,
        "context" => ReplCommand::Context,
        "tree" => ReplCommand::Tree,
        "go" => return needed("the id of an entry; /tree shows them", ReplCommand::Go),
        "fork" => ReplCommand::Fork(optional),
        "clone" => ReplCommand::Clone,
        "label" => ReplCommand::Label(optional),
        "permissions" => return permissions(argument),
        "add-dir" => {
            return needed("a folder; the suffix :ro makes it read-only", ReplCommand::AddDir);
        }
        "queue" => ReplCommand::Queue,
        "send" => return needed("the number of a message; /queue lists them", ReplCommand::Send),
        "drop" => return needed("the number of a message; /queue lists them", ReplCommand::Drop),
        "stop" => ReplCommand::Stop,
        "reload" => ReplCommand::Reload,
        // A key on this line would be shown, so the rest is dropped.
        "login" => {
            ReplCommand::Login(optional.and_then(|text| text.split_whitespace().next().map(str::to_owned)))
        }
        "logout" => return needed("the name of a provider; /login lists them", ReplCommand::Logout),
        "followup" => return message(argument, InputLine::FollowUp),
        "now" => return message(argument, InputLine::Now),
        name => return InputLine::Other { name: name.to_owned(), line: line.to_owned() },
    })
}

fn permissions(argument: &str) -> InputLine {
    match argument.split_whitespace().collect::<Vec<_>>()[..] {
        [] => InputLine::Command(ReplCommand::Permissions(None)),
        ["revoke", number] => InputLine::Command(ReplCommand::Permissions(Some(number.to_owned()))),
        _ => InputLine::Invalid("/permissions lists them, /permissions revoke N revokes one".to_owned()),
    }
}

fn thinking(level: Option<String>) -> InputLine {
    match level.map(|level| ThinkingLevel::parse(&level)) {
        None => InputLine::Command(ReplCommand::Thinking(None)),
        Some(Some(level)) => InputLine::Command(ReplCommand::Thinking(Some(level))),
        Some(None) => InputLine::Invalid("levels: off, minimal, low, medium, high, xhigh".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Unrunnable;

    #[test]
    fn input_line_prefix_decides_its_kind() {
        let other = |name: &str, line: &str| InputLine::Other { name: name.into(), line: line.into() };
        let cases = [
            ("  ", InputLine::Empty),
            (" fix it ", InputLine::Prompt("fix it".into())),
            ("> then test", InputLine::FollowUp("then test".into())),
            ("/followup then test", InputLine::FollowUp("then test".into())),
            ("/now stop that", InputLine::Now("stop that".into())),
            ("!cd src", InputLine::Invalid(Unrunnable::OnlyChangesDirectory.message(""))),
            ("!ls -l", InputLine::Bash("ls -l".into(), BashContext::Include)),
            ("!! env", InputLine::Bash("env".into(), BashContext::Exclude)),
            ("/model", InputLine::Command(ReplCommand::Model(None))),
            ("/model opus:high", InputLine::Command(ReplCommand::Model(Some("opus:high".into())))),
            ("/thinking low", InputLine::Command(ReplCommand::Thinking(Some(ThinkingLevel::Low)))),
            ("/name a b", InputLine::Command(ReplCommand::Name("a b".into()))),
            ("/skill:commit now", other("skill:commit", "/skill:commit now")),
            ("/etc/hosts has what in it?", InputLine::Prompt("/etc/hosts has what in it?".into())),
            (" exit ", InputLine::Command(ReplCommand::Quit)),
            ("quit", InputLine::Command(ReplCommand::Quit)),
            (":q", InputLine::Command(ReplCommand::Quit)),
            ("exit code 3, why?", InputLine::Prompt("exit code 3, why?".into())),
            ("// is a comment", InputLine::Prompt("// is a comment".into())),
        ];
        for (line, expected) in cases {
            assert_eq!(InputLine::parse(line), expected, "{line:?}");
        }
    }

    #[test]
    fn input_line_missing_argument_is_an_error() {
        for (line, expected) in [
            ("/name", "a name"),
            ("/thinking most", "minimal"),
            ("!", "no command given"),
            ("> ", "message is empty"),
            ("/go", "/tree"),
        ] {
            let InputLine::Invalid(reason) = InputLine::parse(line) else { panic!("{line}") };
            assert!(reason.contains(expected), "{line}: {reason}");
        }
    }
}
