//! Slash commands: the table, what a line means, and what a half-typed one may become.

use crate::message::ThinkingLevel;

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
    Model,
    Thinking,
    Copy,
    FollowUp,
    Session,
    Export,
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
pub(super) const TABLE: [Command; 16] = [
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
    row(Verb::Model, "model", "[NAME[:LEVEL]]", "choose who answers"),
    row(
        Verb::Thinking,
        "thinking",
        "[LEVEL]",
        "how much the model thinks: off, minimal, low, medium, high, xhigh",
    ),
    row(Verb::Copy, "copy", "", "copy the last answer"),
    row(Verb::FollowUp, "followup", "TEXT", "say TEXT when the agent has finished"),
    row(Verb::Session, "session", "", "facts about this session"),
    row(Verb::Export, "export", "[FILE]", "write this session to a page, or to FILE.md or FILE.jsonl"),
    row(Verb::Help, "help", "", "what can be typed here"),
    row(Verb::Hotkeys, "hotkeys", "", "every key"),
    row(Verb::Quit, "quit", "", "leave; the session is kept"),
];

/// What a line that begins with `/` means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meaning<'a> {
    /// A command with what follows its name.
    Known(Verb, &'a str),
    /// No command goes by that name; perhaps this one was meant.
    Unknown { name: &'a str, nearest: Option<&'static str> },
    /// Not a command: a path, a comment, a regular expression.
    Text,
}

/// Reads a line.
pub(super) fn parse(line: &str) -> Meaning<'_> {
    let Some(rest) = line.strip_prefix('/') else { return Meaning::Text };
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c)) {
        return Meaning::Text;
    }
    match TABLE.iter().find(|command| command.name == name) {
        Some(command) => Meaning::Known(command.verb, argument.trim()),
        None => Meaning::Unknown { name, nearest: nearest(name) },
    }
}

/// The command whose name differs least, if it differs little.
fn nearest(name: &str) -> Option<&'static str> {
    let most = (name.chars().count() / 2).clamp(1, 3);
    let distances = TABLE.iter().map(|command| (distance(name, command.name), command.name));
    let starts = TABLE.iter().find(|command| command.name.starts_with(name)).map(|command| command.name);
    starts.or_else(|| distances.min().filter(|(distance, _)| *distance <= most).map(|(_, name)| name))
}

/// How many letters have to be put in, taken out or changed (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let change = corner + usize::from(x != *y);
            corner = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

/// The commands that a half-typed line may become; none once its name is complete and something follows.
pub(super) fn completions(line: &str) -> Vec<&'static Command> {
    match line.strip_prefix('/') {
        Some(name) if !name.contains(char::is_whitespace) => {
            TABLE.iter().filter(|command| command.name.starts_with(name)).collect()
        }
        Some(_) | None => Vec::new(),
    }
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

    #[test]
    fn a_line_is_a_command_with_its_argument() {
        assert_eq!(parse("/name  my session "), Meaning::Known(Verb::Name, "my session"));
        assert_eq!(parse("/tree"), Meaning::Known(Verb::Tree, ""));
    }

    #[test]
    fn a_path_is_no_command() {
        assert_eq!(parse("/usr/bin is on the path"), Meaning::Text);
        assert_eq!(parse("// a comment"), Meaning::Text);
        assert_eq!(parse("/"), Meaning::Text);
    }

    #[test]
    fn an_unknown_command_suggests_the_nearest() {
        assert_eq!(parse("/modle"), Meaning::Unknown { name: "modle", nearest: Some("model") });
        assert_eq!(parse("/exit"), Meaning::Unknown { name: "exit", nearest: Some("quit") });
        assert_eq!(parse("/deploy"), Meaning::Unknown { name: "deploy", nearest: None });
        assert_eq!(parse("/follow"), Meaning::Unknown { name: "follow", nearest: Some("followup") });
    }

    #[test]
    fn a_beginning_is_completed() {
        let names = |line| completions(line).iter().map(|command| command.name).collect::<Vec<_>>();
        assert_eq!(names("/h"), ["help", "hotkeys"]);
        assert_eq!(names("/").len(), TABLE.len());
        assert!(names("/name x").is_empty());
        assert!(names("name").is_empty());
    }
}
