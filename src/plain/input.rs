//! What a line means. Pure.

use crate::agent::{BashContext, unrunnable};
use crate::message::ThinkingLevel;
use crate::suggest;

/// What a line means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InputLine {
    /// Nothing.
    Nothing,
    /// Something for the agent; it steers one that works.
    Say(String),
    /// Something for the agent when it has finished.
    FollowUp(String),
    /// Something for the agent at once, whatever it is doing.
    Now(String),
    /// `!` or `!!`.
    Bash(String, BashContext),
    /// A command of this front end.
    Command(ReplCommand),
    /// `/NAME …` of another kind: a skill, a template, an extension's command.
    Other { name: String, whole: String },
    /// Something that is wrong, and why.
    Wrong(String),
}

/// A command of this front end.
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
            return Self::Nothing;
        }
        if let Some(line) = text.strip_prefix("!!") {
            return bash(line, BashContext::Exclude);
        }
        if let Some(line) = text.strip_prefix('!') {
            return bash(line, BashContext::Include);
        }
        if let Some(text) = text.strip_prefix('>') {
            return said(text, Self::FollowUp);
        }
        if suggest::is_quit_word(text) {
            return Self::Command(ReplCommand::Quit);
        }
        match text.strip_prefix('/') {
            // A path or a comment is something to say.
            Some(rest) if rest.starts_with(|c: char| c.is_ascii_alphabetic()) => slash(rest, text),
            Some(_) | None => Self::Say(text.to_owned()),
        }
    }
}

fn bash(line: &str, context: BashContext) -> InputLine {
    match line.trim() {
        "" => InputLine::Wrong("which command? ! runs one in the shell".to_owned()),
        line => match unrunnable(line) {
            Some(why) => InputLine::Wrong(why.message("in another one")),
            None => InputLine::Bash(line.to_owned(), context),
        },
    }
}

fn said(text: &str, kind: impl FnOnce(String) -> InputLine) -> InputLine {
    match text.trim() {
        "" => InputLine::Wrong("there is nothing to say".to_owned()),
        text => kind(text.to_owned()),
    }
}

fn slash(rest: &str, whole: &str) -> InputLine {
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if name.contains('/') {
        return InputLine::Say(whole.to_owned());
    }
    let argument = argument.trim();
    let maybe = (!argument.is_empty()).then(|| argument.to_owned());
    let needed = |what: &str, command: fn(String) -> ReplCommand| match maybe.clone() {
        Some(argument) => InputLine::Command(command(argument)),
        None => InputLine::Wrong(format!("/{name} wants {what}")),
    };
    InputLine::Command(match name {
        "help" => ReplCommand::Help,
        "quit" | "exit" => ReplCommand::Quit,
        "new" => ReplCommand::New,
        "resume" => ReplCommand::Resume(maybe),
        "name" => return needed("a name", ReplCommand::Name),
        "model" => ReplCommand::Model(maybe),
        "thinking" => return thinking(maybe),
        "compact" => ReplCommand::Compact(maybe),
        "truncate" => ReplCommand::Truncate,
        "session" => ReplCommand::Session,
        "context" => ReplCommand::Context,
        "tree" => ReplCommand::Tree,
        "go" => return needed("the id of an entry; /tree shows them", ReplCommand::Go),
        "fork" => ReplCommand::Fork(maybe),
        "clone" => ReplCommand::Clone,
        "label" => ReplCommand::Label(maybe),
        "permissions" => return permissions(argument),
        "add-dir" => {
            return needed("a folder; :ro behind it lets tools only read there", ReplCommand::AddDir);
        }
        "queue" => ReplCommand::Queue,
        "send" => return needed("the number of a message; /queue lists them", ReplCommand::Send),
        "drop" => return needed("the number of a message; /queue lists them", ReplCommand::Drop),
        "stop" => ReplCommand::Stop,
        "reload" => ReplCommand::Reload,
        // A key doesn't go into that line: it would be shown.
        "login" => {
            ReplCommand::Login(maybe.and_then(|words| words.split_whitespace().next().map(str::to_owned)))
        }
        "logout" => return needed("the name of a provider; /login lists them", ReplCommand::Logout),
        "followup" => return said(argument, InputLine::FollowUp),
        "now" => return said(argument, InputLine::Now),
        name => return InputLine::Other { name: name.to_owned(), whole: whole.to_owned() },
    })
}

fn permissions(argument: &str) -> InputLine {
    match argument.split_whitespace().collect::<Vec<_>>()[..] {
        [] => InputLine::Command(ReplCommand::Permissions(None)),
        ["revoke", number] => InputLine::Command(ReplCommand::Permissions(Some(number.to_owned()))),
        _ => InputLine::Wrong("/permissions lists them, /permissions revoke N takes one back".to_owned()),
    }
}

fn thinking(level: Option<String>) -> InputLine {
    match level.map(|level| ThinkingLevel::parse(&level)) {
        None => InputLine::Command(ReplCommand::Thinking(None)),
        Some(Some(level)) => InputLine::Command(ReplCommand::Thinking(Some(level))),
        Some(None) => InputLine::Wrong("levels are off, minimal, low, medium, high and xhigh".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Unrunnable;

    #[test]
    fn a_line_means_what_its_beginning_says() {
        let other = |name: &str, whole: &str| InputLine::Other { name: name.into(), whole: whole.into() };
        let cases = [
            ("  ", InputLine::Nothing),
            (" fix it ", InputLine::Say("fix it".into())),
            ("> then test", InputLine::FollowUp("then test".into())),
            ("/followup then test", InputLine::FollowUp("then test".into())),
            ("/now stop that", InputLine::Now("stop that".into())),
            ("!cd src", InputLine::Wrong(Unrunnable::OnlyChangesDirectory.message(""))),
            ("!ls -l", InputLine::Bash("ls -l".into(), BashContext::Include)),
            ("!! env", InputLine::Bash("env".into(), BashContext::Exclude)),
            ("/model", InputLine::Command(ReplCommand::Model(None))),
            ("/model opus:high", InputLine::Command(ReplCommand::Model(Some("opus:high".into())))),
            ("/thinking low", InputLine::Command(ReplCommand::Thinking(Some(ThinkingLevel::Low)))),
            ("/name a b", InputLine::Command(ReplCommand::Name("a b".into()))),
            ("/skill:commit now", other("skill:commit", "/skill:commit now")),
            ("/etc/hosts has what in it?", InputLine::Say("/etc/hosts has what in it?".into())),
            (" exit ", InputLine::Command(ReplCommand::Quit)),
            ("quit", InputLine::Command(ReplCommand::Quit)),
            (":q", InputLine::Command(ReplCommand::Quit)),
            ("exit code 3, why?", InputLine::Say("exit code 3, why?".into())),
            ("// is a comment", InputLine::Say("// is a comment".into())),
        ];
        for (line, expected) in cases {
            assert_eq!(InputLine::parse(line), expected, "{line:?}");
        }
    }

    #[test]
    fn what_a_command_lacks_is_said() {
        for (line, word) in [
            ("/name", "a name"),
            ("/thinking most", "minimal"),
            ("!", "which command"),
            ("> ", "nothing to say"),
            ("/go", "/tree"),
        ] {
            let InputLine::Wrong(why) = InputLine::parse(line) else { panic!("{line}") };
            assert!(why.contains(word), "{line}: {why}");
        }
    }
}
