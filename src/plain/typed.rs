//! What a line means. Pure.

use crate::agent::{BashContext, unrunnable};
use crate::message::ThinkingLevel;
use crate::suggest;

/// What a line means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Typed {
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
    Command(Command),
    /// `/NAME …` of another kind: a skill, a template, an extension's command.
    Other { name: String, whole: String },
    /// Something that is wrong, and why.
    Wrong(String),
}

/// A command of this front end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
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

impl Typed {
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
            return Self::Command(Command::Quit);
        }
        match text.strip_prefix('/') {
            // A path or a comment is something to say.
            Some(rest) if rest.starts_with(|c: char| c.is_ascii_alphabetic()) => slash(rest, text),
            Some(_) | None => Self::Say(text.to_owned()),
        }
    }
}

fn bash(line: &str, context: BashContext) -> Typed {
    match line.trim() {
        "" => Typed::Wrong("which command? ! runs one in the shell".to_owned()),
        line => match unrunnable(line) {
            Some(why) => Typed::Wrong(why.message("in another one")),
            None => Typed::Bash(line.to_owned(), context),
        },
    }
}

fn said(text: &str, kind: impl FnOnce(String) -> Typed) -> Typed {
    match text.trim() {
        "" => Typed::Wrong("there is nothing to say".to_owned()),
        text => kind(text.to_owned()),
    }
}

fn slash(rest: &str, whole: &str) -> Typed {
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if name.contains('/') {
        return Typed::Say(whole.to_owned());
    }
    let argument = argument.trim();
    let maybe = (!argument.is_empty()).then(|| argument.to_owned());
    let needed = |what: &str, command: fn(String) -> Command| match maybe.clone() {
        Some(argument) => Typed::Command(command(argument)),
        None => Typed::Wrong(format!("/{name} wants {what}")),
    };
    Typed::Command(match name {
        "help" => Command::Help,
        "quit" | "exit" => Command::Quit,
        "new" => Command::New,
        "resume" => Command::Resume(maybe),
        "name" => return needed("a name", Command::Name),
        "model" => Command::Model(maybe),
        "thinking" => return thinking(maybe),
        "compact" => Command::Compact(maybe),
        "truncate" => Command::Truncate,
        "session" => Command::Session,
        "context" => Command::Context,
        "tree" => Command::Tree,
        "go" => return needed("the id of an entry; /tree shows them", Command::Go),
        "fork" => Command::Fork(maybe),
        "clone" => Command::Clone,
        "label" => Command::Label(maybe),
        "permissions" => return permissions(argument),
        "add-dir" => return needed("a folder; :ro behind it lets tools only read there", Command::AddDir),
        "queue" => Command::Queue,
        "send" => return needed("the number of a message; /queue lists them", Command::Send),
        "drop" => return needed("the number of a message; /queue lists them", Command::Drop),
        "stop" => Command::Stop,
        "reload" => Command::Reload,
        // A key doesn't go into that line: it would be shown.
        "login" => Command::Login(maybe.and_then(|words| words.split_whitespace().next().map(str::to_owned))),
        "logout" => return needed("the name of a provider; /login lists them", Command::Logout),
        "followup" => return said(argument, Typed::FollowUp),
        "now" => return said(argument, Typed::Now),
        name => return Typed::Other { name: name.to_owned(), whole: whole.to_owned() },
    })
}

fn permissions(argument: &str) -> Typed {
    match argument.split_whitespace().collect::<Vec<_>>()[..] {
        [] => Typed::Command(Command::Permissions(None)),
        ["revoke", number] => Typed::Command(Command::Permissions(Some(number.to_owned()))),
        _ => Typed::Wrong("/permissions lists them, /permissions revoke N takes one back".to_owned()),
    }
}

fn thinking(level: Option<String>) -> Typed {
    match level.map(|level| ThinkingLevel::parse(&level)) {
        None => Typed::Command(Command::Thinking(None)),
        Some(Some(level)) => Typed::Command(Command::Thinking(Some(level))),
        Some(None) => Typed::Wrong("levels are off, minimal, low, medium, high and xhigh".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Unrunnable;

    #[test]
    fn a_line_means_what_its_beginning_says() {
        let other = |name: &str, whole: &str| Typed::Other { name: name.into(), whole: whole.into() };
        let cases = [
            ("  ", Typed::Nothing),
            (" fix it ", Typed::Say("fix it".into())),
            ("> then test", Typed::FollowUp("then test".into())),
            ("/followup then test", Typed::FollowUp("then test".into())),
            ("/now stop that", Typed::Now("stop that".into())),
            ("!cd src", Typed::Wrong(Unrunnable::OnlyChangesDirectory.message(""))),
            ("!ls -l", Typed::Bash("ls -l".into(), BashContext::Include)),
            ("!! env", Typed::Bash("env".into(), BashContext::Exclude)),
            ("/model", Typed::Command(Command::Model(None))),
            ("/model opus:high", Typed::Command(Command::Model(Some("opus:high".into())))),
            ("/thinking low", Typed::Command(Command::Thinking(Some(ThinkingLevel::Low)))),
            ("/name a b", Typed::Command(Command::Name("a b".into()))),
            ("/skill:commit now", other("skill:commit", "/skill:commit now")),
            ("/etc/hosts has what in it?", Typed::Say("/etc/hosts has what in it?".into())),
            (" exit ", Typed::Command(Command::Quit)),
            ("quit", Typed::Command(Command::Quit)),
            (":q", Typed::Command(Command::Quit)),
            ("exit code 3, why?", Typed::Say("exit code 3, why?".into())),
            ("// is a comment", Typed::Say("// is a comment".into())),
        ];
        for (line, expected) in cases {
            assert_eq!(Typed::parse(line), expected, "{line:?}");
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
            let Typed::Wrong(why) = Typed::parse(line) else { panic!("{line}") };
            assert!(why.contains(word), "{line}: {why}");
        }
    }
}
