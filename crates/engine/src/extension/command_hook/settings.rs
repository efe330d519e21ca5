//! Hooks in a settings file: parsing, and matching against events. Pure.

use crate::foreign_tools::FOREIGN_TOOLS;
use std::time::Duration;

use regex::Regex;
use serde_json::{Map, Value};

/// Default time limit of a command.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum time limit, in seconds: a day.
const MAX_TIMEOUT_S: u64 = 86_400;

/// A moment at which hook commands run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HookMoment {
    SessionStart,
    UserPromptSubmit,
    PreToolUse,
    PostToolUse,
    Stop,
    PreCompact,
}

impl HookMoment {
    const ALL: [Self; 6] = [
        Self::SessionStart,
        Self::UserPromptSubmit,
        Self::PreToolUse,
        Self::PostToolUse,
        Self::Stop,
        Self::PreCompact,
    ];

    /// Returns its name in settings and in the input of a hook.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::Stop => "Stop",
            Self::PreCompact => "PreCompact",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|moment| moment.name() == name)
    }

    const fn is_about_tools(self) -> bool {
        matches!(self, Self::PreToolUse | Self::PostToolUse)
    }
}

/// A hook: a command and the events that run it.
#[derive(Clone, Debug)]
pub(super) struct HookCommand {
    pub(super) moment: HookMoment,
    matcher: Option<Regex>,
    /// The command line for the shell.
    pub(super) line: String,
    pub(super) timeout: Duration,
}

impl HookCommand {
    /// Returns true if an event runs this hook. `subject` is compared with the matcher: a tool's name, the
    /// source of a session, the trigger of a compaction; empty for other events.
    fn matches(&self, moment: HookMoment, subject: &str) -> bool {
        let is_named = |matcher: &Regex| {
            let is_foreign = |(name, own): &(&str, &str)| *own == subject && matcher.is_match(name);
            matcher.is_match(subject) || (moment.is_about_tools() && FOREIGN_TOOLS.iter().any(is_foreign))
        };
        let is_subject = |matcher: &Regex| subject.is_empty() || is_named(matcher);
        self.moment == moment && self.matcher.as_ref().is_none_or(is_subject)
    }
}

/// The hooks of all settings files.
#[derive(Clone, Debug, Default)]
pub struct HookSettings {
    commands: Vec<HookCommand>,
}

/// Problems of hooks in a settings file, one sentence each.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HookProblems {
    /// Hooks that are ignored, or never run.
    pub warnings: Vec<String>,
    /// Ignored hooks that could have denied calls.
    pub broken_guards: Vec<String>,
}

impl HookSettings {
    /// Adds the value of the key `hooks` from the file `origin`. Skips invalid parts.
    pub fn add(&mut self, value: &Value, origin: &str) -> HookProblems {
        let mut reading =
            HookFileReader { origin, commands: &mut self.commands, problems: HookProblems::default() };
        match value.as_object() {
            Some(moments) => moments.iter().for_each(|(name, groups)| reading.read_moment(name, groups)),
            None => reading.guard_problem("hooks", "expected an object"),
        }
        reading.problems
    }

    /// Returns whether there are no hooks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// Returns one line per hook, with its event and its command.
    #[must_use]
    pub fn list(&self) -> Vec<String> {
        self.commands.iter().map(|hook| format!("{}: {}", hook.moment.name(), hook.line)).collect()
    }

    pub(super) fn has(&self, moment: HookMoment) -> bool {
        self.commands.iter().any(|hook| hook.moment == moment)
    }

    /// Returns the hooks that an event runs, each command once.
    pub(super) fn matching(&self, moment: HookMoment, subject: &str) -> Vec<HookCommand> {
        let mut found: Vec<HookCommand> = Vec::new();
        for hook in self.commands.iter().filter(|hook| hook.matches(moment, subject)) {
            if found.iter().all(|known| known.line != hook.line) {
                found.push(hook.clone());
            }
        }
        found
    }

    /// Returns the longest time limit.
    pub(super) fn longest_timeout(&self) -> Duration {
        self.commands.iter().map(|hook| hook.timeout).max().unwrap_or(TIMEOUT)
    }
}

/// Parser of one file's hooks.
struct HookFileReader<'a> {
    origin: &'a str,
    commands: &'a mut Vec<HookCommand>,
    problems: HookProblems,
}

impl HookFileReader<'_> {
    fn read_moment(&mut self, name: &str, groups: &Value) {
        let key = format!("hooks.{name}");
        let Some(moment) = HookMoment::parse(name) else {
            let names = HookMoment::ALL.map(HookMoment::name).join(", ");
            return self.warn(&key, &format!("unknown event; its hooks will never run. Events: {names}"));
        };
        let Some(groups) = groups.as_array() else {
            return self.problem(moment, &key, "expected a list");
        };
        for (at, group) in groups.iter().enumerate() {
            self.read_group(moment, &format!("{key}[{at}]"), group);
        }
    }

    fn read_group(&mut self, moment: HookMoment, key: &str, group: &Value) {
        let hooks = group.as_object().and_then(|group| Some((group, group.get("hooks")?.as_array()?)));
        let Some((group, hooks)) = hooks else {
            return self.problem(moment, key, "expected an object with a list `hooks`");
        };
        let matcher = match parse_matcher(group.get("matcher")) {
            Ok(matcher) => matcher,
            Err(reason) => return self.problem(moment, &format!("{key}.matcher"), &reason),
        };
        for (at, hook) in hooks.iter().enumerate() {
            match hook.as_object().ok_or_else(|| "expected an object".to_owned()).and_then(parse_command) {
                Ok((line, timeout)) => {
                    self.commands.push(HookCommand { moment, matcher: matcher.clone(), line, timeout });
                }
                Err(reason) => self.problem(moment, &format!("{key}.hooks[{at}]"), &reason),
            }
        }
    }

    fn problem(&mut self, moment: HookMoment, key: &str, reason: &str) {
        match moment {
            HookMoment::PreToolUse => self.guard_problem(key, reason),
            _ => self.problems.warnings.push(format!("{}: ignoring `{key}`: {reason}", self.origin)),
        }
    }

    fn guard_problem(&mut self, key: &str, reason: &str) {
        self.problems.broken_guards.push(format!("{}: `{key}`: {reason}", self.origin));
    }

    fn warn(&mut self, key: &str, reason: &str) {
        self.problems.warnings.push(format!("{}: `{key}`: {reason}", self.origin));
    }
}

/// Parses a matcher; `None` matches everything.
fn parse_matcher(matcher: Option<&Value>) -> Result<Option<Regex>, String> {
    let pattern = match matcher {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(pattern)) => pattern.as_str(),
        Some(_) => return Err("expected a string".to_owned()),
    };
    if matches!(pattern, "" | "*") {
        return Ok(None);
    }
    let whole = Regex::new(&format!("^(?:{pattern})$"));
    whole.map(Some).map_err(|_| format!("`{pattern}` is not a valid regular expression"))
}

/// Parses a hook into its command line and time limit.
fn parse_command(hook: &Map<String, Value>) -> Result<(String, Duration), String> {
    match hook.get("type").map(Value::as_str) {
        None | Some(Some("command")) => {}
        Some(Some(other)) => return Err(format!("type `{other}` is not supported; write `command`")),
        Some(None) => return Err("`type`: expected `command`".to_owned()),
    }
    let line = hook.get("command").and_then(Value::as_str).filter(|line| !line.trim().is_empty());
    let line = line.ok_or("`command`: expected a command line")?;
    let timeout = match hook.get("timeout") {
        None | Some(Value::Null) => TIMEOUT,
        Some(value) => value
            .as_u64()
            .filter(|seconds| (1..=MAX_TIMEOUT_S).contains(seconds))
            .map(Duration::from_secs)
            .ok_or_else(|| format!("`timeout`: expected seconds from 1 to {MAX_TIMEOUT_S}"))?,
    };
    Ok((line.to_owned(), timeout))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: &Value) -> (HookSettings, HookProblems) {
        let mut settings = HookSettings::default();
        let problems = settings.add(value, "f");
        (settings, problems)
    }

    /// Lines of the hooks that run at a moment.
    fn lines(settings: &HookSettings, moment: HookMoment, subject: &str) -> Vec<String> {
        settings.matching(moment, subject).into_iter().map(|hook| hook.line).collect()
    }

    fn command(line: &str) -> Value {
        json!({"type": "command", "command": line})
    }

    #[test]
    fn hook_settings_matcher_covers_the_whole_name() {
        let group = |matcher: Value, line: &str| json!({"matcher": matcher, "hooks": [command(line)]});
        let groups = json!([
            group(json!("bash|edit_file|mcp__.*"), "some"),
            group(json!("file"), "part"),
            group(json!(""), "empty"),
            group(json!("*"), "star"),
            {"hooks": [command("none"), command("star")]},
        ]);
        let (settings, problems) = read(&json!({"PreToolUse": groups}));
        assert_eq!(problems, HookProblems::default());
        for (tool, expected) in [
            ("bash", vec!["some", "empty", "star", "none"]),
            ("mcp__a__b", vec!["some", "empty", "star", "none"]),
            ("write_file", vec!["empty", "star", "none"]),
            ("file", vec!["part", "empty", "star", "none"]),
        ] {
            assert_eq!(lines(&settings, HookMoment::PreToolUse, tool), expected, "{tool}");
        }
        assert!(lines(&settings, HookMoment::PostToolUse, "bash").is_empty());
    }

    #[test]
    fn hook_settings_matcher_knows_tools_of_claude_code() {
        let group = json!({"matcher": "Edit|MultiEdit|Bash", "hooks": [command("guard")]});
        let (settings, problems) = read(&json!({"PreToolUse": [group], "SessionStart": [group]}));
        assert_eq!(problems, HookProblems::default());
        for tool in ["edit_file", "bash"] {
            assert_eq!(lines(&settings, HookMoment::PreToolUse, tool), ["guard"], "{tool}");
        }
        assert!(lines(&settings, HookMoment::PreToolUse, "write_file").is_empty());
        assert!(lines(&settings, HookMoment::SessionStart, "bash").is_empty());
    }

    #[test]
    fn hook_settings_timeout_is_in_seconds() {
        let hooks = json!([{"command": "a", "timeout": 5, "later": 1}, command("b")]);
        let (settings, problems) = read(&json!({"Stop": [{"matcher": "x", "hooks": hooks}]}));
        assert_eq!(problems, HookProblems::default());
        let timeouts: Vec<u64> =
            settings.matching(HookMoment::Stop, "").iter().map(|hook| hook.timeout.as_secs()).collect();
        assert_eq!((timeouts, settings.longest_timeout().as_secs()), (vec![5, 60], 60));
        assert_eq!(settings.list(), ["Stop: a", "Stop: b"]);
    }

    #[test]
    fn hook_settings_problems_name_place_and_remedy() {
        let stop = |group: Value| json!({"Stop": [group]});
        for (value, expected) in [
            (
                json!({"Notification": []}),
                "`hooks.Notification`: unknown event; its hooks will never run. Events: SessionStart, UserPromptSubmit, PreToolUse, PostToolUse, Stop, PreCompact",
            ),
            (json!({"Stop": {}}), "ignoring `hooks.Stop`: expected a list"),
            (
                stop(json!({"command": "a"})),
                "ignoring `hooks.Stop[0]`: expected an object with a list `hooks`",
            ),
            (
                stop(json!({"hooks": [{"type": "prompt"}]})),
                "ignoring `hooks.Stop[0].hooks[0]`: type `prompt` is not supported; write `command`",
            ),
            (
                stop(json!({"hooks": [{"type": "command"}]})),
                "ignoring `hooks.Stop[0].hooks[0]`: `command`: expected a command line",
            ),
            (
                stop(json!({"hooks": [{"command": "a", "timeout": 0}]})),
                "ignoring `hooks.Stop[0].hooks[0]`: `timeout`: expected seconds from 1 to 86400",
            ),
        ] {
            let (_, problems) = read(&value);
            assert_eq!(problems.warnings, [format!("f: {expected}")]);
            assert!(problems.broken_guards.is_empty(), "{problems:?}");
        }
    }

    #[test]
    fn hook_settings_invalid_guard_is_told_apart() {
        let guard =
            json!({"PreToolUse": [{"matcher": "(", "hooks": [command("a")]}, {"hooks": [command("b")]}]});
        let (settings, problems) = read(&guard);
        let expected = "f: `hooks.PreToolUse[0].matcher`: `(` is not a valid regular expression";
        assert_eq!(problems.broken_guards, [expected]);
        assert_eq!(lines(&settings, HookMoment::PreToolUse, "bash"), ["b"]);
        assert_eq!(read(&json!([])).1.broken_guards, ["f: `hooks`: expected an object"]);
    }
}
