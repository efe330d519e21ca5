//! The one table of settings: name, type, default, environment names and description.
//!
//! The loader (`config`), `tiller settings` and the docs read it; nobody else knows a setting's default. In a settings
//! file `bash.timeout_s` is `{"bash": {"timeout_s": 120}}`, in the environment `TILLER_BASH_TIMEOUT_S`.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

/// One row of the table.
#[derive(Debug, PartialEq)]
pub struct Setting {
    /// Dotted name.
    pub name: &'static str,
    /// What values it takes.
    pub kind: SettingKind,
    /// The default, in the form it is typed in; empty means unset.
    pub default: &'static str,
    /// Names of the environment under which other programs know it.
    pub aliases: &'static [&'static str],
    /// Who may set it.
    pub scope: SettingScope,
    /// What it does, in one sentence.
    pub about: &'static str,
}

/// Who may set a setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SettingScope {
    /// The user, and a project that the user trusts.
    #[default]
    Project,
    /// The user alone, whoever is trusted: where the user's own things are kept, and whatever names a command to run.
    User,
}

/// What values a setting takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SettingKind {
    /// Any text, or unset.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A whole number in this range, or unset where the default is.
    Count {
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
    },
    /// A number in this range, or unset.
    Number {
        /// The smallest.
        min: f64,
        /// The largest.
        max: f64,
    },
    /// Names separated by commas, or unset.
    List,
    /// Names separated by commas; off is none of them, on is unset.
    ListOrSwitch,
}

macro_rules! table {
    ($($(#[doc = $about:literal])+ $konst:ident = $name:literal, $kind:expr, $default:literal
        $(, aliases $aliases:expr)? $(, scope $scope:expr)?;)*) => {
        $($(#[doc = $about])+ pub static $konst: Setting = Setting {
            name: $name, kind: $kind, default: $default, aliases: table!(@ $($aliases)?),
            scope: table!(@scope $($scope)?), about: concat!($($about),+),
        };)*
        /// Every setting there is, in the order they are shown.
        pub static TABLE: &[&Setting] = &[$(&$konst),*];
    };
    (@scope $scope:expr) => { $scope };
    (@scope) => { SettingScope::Project };
    (@ $aliases:expr) => { $aliases };
    (@) => { &[] };
}

table! {
    /// Provider to use when no model is named.
    PROVIDER = "provider", SettingKind::Text, "";
    /// Model to start with: `[provider/]id[:thinking]`.
    MODEL = "model", SettingKind::Text, "";
    /// Tokens that a model takes of which tiller's catalogue knows nothing; unset is 128000.
    WINDOW = "window", SettingKind::Count { min: 1_024, max: 100_000_000 }, "";
    /// Models to cycle through: patterns in order, each with `:thinking` if it shall think so much; unset is all of them.
    MODELS = "models", SettingKind::List, "";
    /// How much the model thinks before it answers.
    THINKING = "thinking", SettingKind::Choice(&["off", "minimal", "low", "medium", "high", "xhigh"]), "off";
    /// Sampling temperature; unset is not sent.
    TEMPERATURE = "temperature", SettingKind::Number { min: 0.0, max: 2.0 }, "";
    /// Most tokens of one answer, thinking included; never above the model's own limit. Unset is that limit, at most 32000.
    MAX_TOKENS = "max_tokens", SettingKind::Count { min: 1, max: 1_000_000 }, "", aliases &["AGENT_MAX_TOKENS"];
    /// Which calls are asked about: those that run something, only risky ones, or none because nothing may change.
    APPROVAL = "approval", SettingKind::Choice(&["ask", "auto", "read-only"]), "ask";
    /// Most model requests of one run; unset is no limit in the TUI and 100 where nobody watches.
    MAX_TURNS = "max_turns", SettingKind::Count { min: 1, max: 1_000_000 }, "", aliases &["AGENT_MAX_ITERATIONS"];
    /// Tools to offer; unset or on is all of them, off is none.
    TOOLS = "tools", SettingKind::ListOrSwitch, "", aliases &["TOOLS_ENABLED"];
    /// Whether skills of the project, of the user and of tiller are loaded.
    SKILLS = "skills", SettingKind::Choice(&["on", "off"]), "on";
    /// Whether prompt templates of the project, of the user and of tiller are loaded.
    TEMPLATES = "templates", SettingKind::Choice(&["on", "off"]), "on";
    /// Whether AGENTS.md, CLAUDE.md and AGENT.md of the user and of the project are read.
    CONTEXT_FILES = "context_files", SettingKind::Choice(&["on", "off"]), "on";
    /// Whether the mouse scrolls, folds and selects in the TUI; off leaves it to the terminal.
    MOUSE = "mouse", SettingKind::Choice(&["on", "off"]), "on", scope SettingScope::User;
    /// Whether changed skills, templates and context files are noticed by themselves while tiller runs.
    WATCH = "watch", SettingKind::Choice(&["on", "off"]), "on";
    /// When a steering message is delivered.
    STEERING_POINT = "steering_point", SettingKind::Choice(&["between-tools", "after-answer"]), "between-tools";
    /// How many waiting steering messages are delivered at once.
    STEERING_MODE = "steering_mode", SettingKind::Choice(&["one-at-a-time", "all"]), "all";
    /// How many waiting follow-ups are delivered at once.
    FOLLOW_UP_MODE = "follow_up_mode", SettingKind::Choice(&["one-at-a-time", "all"]), "one-at-a-time";
    /// Whether consecutive calls of tools that only read run side by side.
    PARALLEL_TOOLS = "parallel_tools", SettingKind::Choice(&["on", "off"]), "on";
    /// Whether failed requests that may succeed are sent again.
    RETRY_ENABLED = "retry.enabled", SettingKind::Choice(&["on", "off"]), "on";
    /// Most tries after the first.
    RETRY_MAX = "retry.max", SettingKind::Count { min: 0, max: 100 }, "5";
    /// Milliseconds before the first of them, doubled from try to try, with jitter.
    RETRY_BASE_MS = "retry.base_ms", SettingKind::Count { min: 0, max: 3_600_000 }, "2000";
    /// Most milliseconds between two tries, unless the provider asks for more.
    RETRY_CAP_MS = "retry.cap_ms", SettingKind::Count { min: 0, max: 3_600_000 }, "60000";
    /// Seconds to wait for an answer's first byte, and within it for more content, whatever pings come; unset is 300, and 900 for a
    /// server on this machine or network.
    REQUEST_FIRST_BYTE_S = "request.first_byte_s", SettingKind::Count { min: 1, max: 86_400 }, "";
    /// Seconds of silence within an answer after which it counts as broken off; pings are no silence.
    REQUEST_STALL_S = "request.stall_s", SettingKind::Count { min: 1, max: 86_400 }, "120";
    /// Seconds after which a command of the bash tool is stopped, unless the call asks for more.
    BASH_TIMEOUT_S = "bash.timeout_s", SettingKind::Count { min: 1, max: 86_400 }, "120";
    /// Most seconds that a call of the bash tool may ask for.
    BASH_MAX_TIMEOUT_S = "bash.max_timeout_s", SettingKind::Count { min: 1, max: 86_400 }, "600";
    /// Shell that commands run in: an absolute path, or a name on PATH; unset is bash, else sh.
    BASH_SHELL = "bash.shell", SettingKind::Text, "", scope SettingScope::User;
    /// Line for the shell that stands before every command, such as `source .venv/bin/activate`.
    BASH_PREFIX = "bash.prefix", SettingKind::Text, "", scope SettingScope::User;
    /// Whether commands get the variables that hold providers' keys.
    BASH_INHERIT_KEYS = "bash.inherit_keys", SettingKind::Choice(&["off", "on"]), "off", scope SettingScope::User;
    /// Most lines of one tool result.
    TOOL_OUTPUT_MAX_LINES = "tool_output.max_lines", SettingKind::Count { min: 1, max: 1_000_000 }, "2000";
    /// Most characters of one tool result.
    TOOL_OUTPUT_MAX_CHARS = "tool_output.max_chars", SettingKind::Count { min: 1, max: 10_000_000 }, "40000";
    /// Whether a conversation that gets too long for the model's window is compacted by itself.
    COMPACTION_ENABLED = "compaction.enabled", SettingKind::Choice(&["on", "off"]), "on", aliases &["COMPACT_ENABLED"];
    /// What takes the place of its older part: a summary made by the model, or nothing but its first message.
    COMPACTION_STRATEGY = "compaction.strategy", SettingKind::Choice(&["summarize", "truncate", "off"]), "summarize";
    /// Tokens of the window that stay free; unset is 16,384, at most a quarter of the window.
    COMPACTION_RESERVE_TOKENS = "compaction.reserve_tokens", SettingKind::Count { min: 1, max: 10_000_000 }, "";
    /// Tokens of the newest messages that stay as they are; unset is 20,000, at most a third of the window.
    COMPACTION_KEEP_TOKENS = "compaction.keep_tokens", SettingKind::Count { min: 1, max: 10_000_000 }, "";
    /// Messages above which a conversation is compacted, whatever their size; unset is no limit.
    COMPACTION_MAX_MESSAGES = "compaction.max_messages", SettingKind::Count { min: 2, max: 1_000_000 }, "", aliases &["AGENT_MAX_MESSAGES", "COMPACT_THRESHOLD"];
    /// Messages that stay as they are; unset is half of compaction.max_messages, or all of it with the strategy truncate.
    COMPACTION_KEEP_MESSAGES = "compaction.keep_messages", SettingKind::Count { min: 1, max: 1_000_000 }, "", aliases &["COMPACT_KEEP_RECENT"];
    /// When the session log is synced to disk: every entry, user messages and turn ends, or never.
    SYNC = "sync", SettingKind::Choice(&["always", "turn", "never"]), "turn";
    /// Folder that holds the logs themselves instead of one folder a working directory.
    SESSION_DIR = "session_dir", SettingKind::Text, "", scope SettingScope::User;
    /// Milliseconds that an extension may take over a hook; one that guards calls and takes longer has the call asked about.
    EXTENSIONS_TIMEOUT_MS = "extensions.timeout_ms", SettingKind::Count { min: 10, max: 600_000 }, "5000";
    /// Whether images are painted beneath their line where the terminal can, or stay a line.
    IMAGES = "images", SettingKind::Choice(&["auto", "line"]), "auto";
    /// How the screen looks: the name of a theme, the path of its file, or auto: theme_dark or theme_light, as the terminal's ground is.
    THEME = "theme", SettingKind::Text, "auto";
    /// The theme for terminals with a dark ground.
    THEME_DARK = "theme_dark", SettingKind::Text, "dark";
    /// The theme for terminals with a light ground.
    THEME_LIGHT = "theme_light", SettingKind::Text, "light";
    /// How many colours the terminal has; auto goes by what its environment says.
    COLOURS = "colours", SettingKind::Choice(&["auto", "24bit", "256", "16", "none"]), "auto";
    /// Whether the terminal's title says which session this is and what it is doing.
    TERMINAL_TITLE = "terminal.title", SettingKind::Choice(&["on", "off"]), "on";
    /// Whether the terminal is told that work goes on (OSC 9;4): by itself where that is understood, always, or never.
    TERMINAL_PROGRESS = "terminal.progress", SettingKind::Choice(&["auto", "on", "off"]), "auto";
    /// What calls you when a long run ends or a call asks while you look elsewhere: a notification if the terminal has them, the bell, or nothing.
    NOTIFY = "notify.mode", SettingKind::Choice(&["auto", "bell", "off"]), "auto";
    /// Seconds that a run takes at least for its end to be told so.
    NOTIFY_AFTER_S = "notify.after_s", SettingKind::Count { min: 0, max: 86_400 }, "10";
    /// What goes to the log file of tiller itself.
    LOG_LEVEL = "log.level", SettingKind::Choice(&["off", "error", "warn", "info", "debug", "trace"]), "warn";
    /// Where that file is, beginning at the state folder; unset is `tiller.log`.
    LOG_FILE = "log.file", SettingKind::Text, "", scope SettingScope::User;
}

/// The setting of this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Setting> {
    TABLE.iter().copied().find(|setting| setting.name == name)
}

impl Setting {
    /// The environment variable that sets it: `TILLER_BASH_TIMEOUT_S`.
    #[must_use]
    pub fn env_name(&self) -> String {
        format!("TILLER_{}", self.name.replace('.', "_").to_uppercase())
    }

    /// What it does, without the marks that set words of a program apart in it.
    #[must_use]
    pub fn plain_about(&self) -> String {
        self.about.trim().replace('`', "")
    }

    /// Reads a value as a person types it. Empty text means unset; what is on or off may also be true or false, 1 or 0.
    ///
    /// # Errors
    /// When the setting doesn't take that value; the text says what it takes.
    pub fn parse(&self, text: &str) -> Result<Option<SettingValue>, InvalidSetting> {
        let text = text.trim();
        if text.is_empty() || text == "none" {
            return if self.default.is_empty() { Ok(None) } else { Err(self.invalid(text)) };
        }
        let value = match self.kind {
            SettingKind::Text => SettingValue::Text(text.to_owned()),
            SettingKind::Choice(words) if words.contains(&text) => SettingValue::Text(text.to_owned()),
            SettingKind::Choice(SWITCH) if let Some(word) = switch(text) => {
                SettingValue::Text(word.to_owned())
            }
            SettingKind::Count { min, max } => match text.parse() {
                Ok(count) if (min..=max).contains(&count) => SettingValue::Count(count),
                Ok(_) | Err(_) => return Err(self.invalid(text)),
            },
            SettingKind::Number { min, max } => match text.parse() {
                Ok(number) if (min..=max).contains(&number) => SettingValue::Number(number),
                Ok(_) | Err(_) => return Err(self.invalid(text)),
            },
            SettingKind::ListOrSwitch if let Some(word) = switch(text) => match word {
                "off" => SettingValue::List(Vec::new()),
                _ => return Ok(None),
            },
            SettingKind::List | SettingKind::ListOrSwitch => SettingValue::List(
                text.split(',').map(|name| name.trim().to_owned()).filter(|n| !n.is_empty()).collect(),
            ),
            SettingKind::Choice(_) => return Err(self.invalid(text)),
        };
        Ok(Some(value))
    }

    /// Reads a value of a settings file: a string, number, boolean (`on`/`off`), list of strings or null.
    ///
    /// # Errors
    /// As [`Setting::parse`].
    pub fn parse_json(&self, value: &Value) -> Result<Option<SettingValue>, InvalidSetting> {
        match value {
            Value::Null => self.parse(""),
            Value::String(text) => self.parse(text),
            Value::Number(number) => self.parse(&number.to_string()),
            Value::Bool(flag) => self.parse(if *flag { "on" } else { "off" }),
            Value::Array(items) if items.is_empty() && self.kind == SettingKind::ListOrSwitch => {
                self.parse("off")
            }
            Value::Array(items) if items.iter().all(Value::is_string) => {
                let names: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
                self.parse(&names.join(","))
            }
            Value::Array(_) | Value::Object(_) => Err(self.invalid(&value.to_string())),
        }
    }

    fn invalid(&self, given: &str) -> InvalidSetting {
        InvalidSetting { name: self.name, given: given.to_owned(), expected: self.kind.to_string() }
    }
}

/// The words of a setting that is on or off.
const SWITCH: &[&str] = &["on", "off"];

/// The same in the words of other programs.
fn switch(text: &str) -> Option<&'static str> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some("on"),
        "off" | "false" | "no" | "0" => Some("off"),
        _ => None,
    }
}

/// Parses a variable that is on or off: true/false, yes/no, 1/0.
///
/// # Errors
/// When it is neither.
pub fn parse_switch(name: &'static str, text: &str) -> Result<bool, InvalidSetting> {
    match switch(text.trim()) {
        Some(word) => Ok(word == "on"),
        None => Err(InvalidSetting { name, given: text.to_owned(), expected: "on or off".to_owned() }),
    }
}

impl fmt::Display for SettingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => f.write_str("a text"),
            Self::Choice(words) => write!(f, "one of {}", words.join(", ")),
            Self::Count { min, max } => write!(f, "a whole number from {min} to {max}"),
            Self::Number { min, max } => write!(f, "a number from {min} to {max}"),
            Self::List => f.write_str("names separated by commas"),
            Self::ListOrSwitch => f.write_str("on, off, or names separated by commas"),
        }
    }
}

/// A value that a setting doesn't take.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("setting {name}: `{given}` is not {expected}")]
pub struct InvalidSetting {
    /// The setting.
    pub name: &'static str,
    /// What was given.
    pub given: String,
    /// What it takes.
    pub expected: String,
}

/// A setting's value.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingValue {
    /// For text and choices.
    Text(String),
    /// For counts.
    Count(u64),
    /// For numbers.
    Number(f64),
    /// For lists.
    List(Vec<String>),
}

impl fmt::Display for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Count(count) => write!(f, "{count}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::List(items) if items.is_empty() => f.write_str("off"),
            Self::List(items) => f.write_str(&items.join(",")),
        }
    }
}

/// Where a value came from; later ones win.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingSource {
    /// The table.
    Default,
    /// The user's settings file, by path.
    File(String),
    /// The settings file of a project that the user trusts, by path.
    Project(String),
    /// An environment variable, by name.
    Environment(String),
    /// A flag of the command line, by name.
    Flag(String),
}

impl SettingSource {
    /// The place of this kind of source in the order in which later ones win.
    const fn rank(&self) -> u8 {
        match self {
            Self::Default => 0,
            Self::File(_) => 1,
            Self::Project(_) => 2,
            Self::Environment(_) => 3,
            Self::Flag(_) => 4,
        }
    }
}

impl fmt::Display for SettingSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(name) | Self::Project(name) | Self::Environment(name) | Self::Flag(name) => {
                f.write_str(name)
            }
        }
    }
}

/// All settings with their values and where these came from.
#[derive(Clone, Debug)]
pub struct Settings {
    values: BTreeMap<&'static str, (Option<SettingValue>, SettingSource)>,
}

impl Default for Settings {
    fn default() -> Self {
        let values = TABLE.iter().map(|setting| {
            let value = setting.parse(setting.default).expect("every default is a value of its setting");
            (setting.name, (value, SettingSource::Default))
        });
        Self { values: values.collect() }
    }
}

impl Settings {
    /// Sets a value, unless one of a later kind of source stands already.
    pub fn set(&mut self, setting: &Setting, value: Option<SettingValue>, source: SettingSource) {
        let slot = self.values.get_mut(setting.name).expect("the table holds every setting");
        if source.rank() >= slot.1.rank() {
            *slot = (value, source);
        }
    }

    /// Takes the value of one setting, and where that came from, as others have it.
    pub fn adopt(&mut self, setting: &Setting, others: &Self) {
        if let Some(slot) = self.values.get_mut(setting.name) {
            slot.clone_from(&others.values[setting.name]);
        }
    }

    /// The settings that have another value among these than among the others.
    pub fn differing(&self, others: &Self) -> impl Iterator<Item = &'static Setting> {
        TABLE.iter().copied().filter(|setting| self.value(setting).0 != others.value(setting).0)
    }

    /// A setting's value and where it came from.
    #[must_use]
    pub fn value(&self, setting: &Setting) -> (Option<&SettingValue>, &SettingSource) {
        let (value, source) = &self.values[setting.name];
        (value.as_ref(), source)
    }

    /// The text of a setting of kind text or choice, if set.
    #[must_use]
    pub fn text(&self, setting: &Setting) -> Option<&str> {
        match self.value(setting).0 {
            Some(SettingValue::Text(text)) => Some(text),
            Some(SettingValue::Count(_) | SettingValue::Number(_) | SettingValue::List(_)) | None => None,
        }
    }

    /// Whether a choice stands at this word.
    #[must_use]
    pub fn is(&self, setting: &Setting, word: &str) -> bool {
        self.text(setting) == Some(word)
    }

    /// The number of a setting of kind count, if set.
    #[must_use]
    pub fn count(&self, setting: &Setting) -> Option<u64> {
        match self.value(setting).0 {
            Some(SettingValue::Count(count)) => Some(*count),
            Some(SettingValue::Text(_) | SettingValue::Number(_) | SettingValue::List(_)) | None => None,
        }
    }

    /// The number of a setting of kind number, if set.
    #[must_use]
    pub fn number(&self, setting: &Setting) -> Option<f64> {
        match self.value(setting).0 {
            Some(SettingValue::Number(number)) => Some(*number),
            Some(SettingValue::Text(_) | SettingValue::Count(_) | SettingValue::List(_)) | None => None,
        }
    }

    /// The names of a setting of kind list, if set.
    #[must_use]
    pub fn list(&self, setting: &Setting) -> Option<&[String]> {
        match self.value(setting).0 {
            Some(SettingValue::List(items)) => Some(items),
            Some(SettingValue::Text(_) | SettingValue::Count(_) | SettingValue::Number(_)) | None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_a_value_of_its_setting() {
        let settings = Settings::default();
        assert_eq!(settings.count(&BASH_TIMEOUT_S), Some(120));
        assert_eq!(settings.count(&MAX_TURNS), None);
        assert!(settings.is(&STEERING_POINT, "between-tools"));
    }

    #[test]
    fn a_wrong_value_says_what_is_taken() {
        let error = STEERING_MODE.parse("some").unwrap_err();
        assert_eq!(error.to_string(), "setting steering_mode: `some` is not one of one-at-a-time, all");
        assert!(BASH_TIMEOUT_S.parse("0").is_err());
        assert!(BASH_TIMEOUT_S.parse("").is_err(), "a count with a default can't be unset");
    }

    #[test]
    fn what_is_on_or_off_takes_the_words_of_other_programs() {
        for (text, word) in [("on", "on"), ("TRUE", "on"), ("1", "on"), ("false", "off"), ("0", "off")] {
            let value = COMPACTION_ENABLED.parse(text).unwrap();
            assert_eq!(value, Some(SettingValue::Text(word.into())), "{text}");
        }
        assert!(COMPACTION_ENABLED.parse("2").is_err());
        assert!(SYNC.parse("true").is_err(), "a choice of other words takes only those");
    }

    #[test]
    fn a_later_source_wins_whatever_the_order_of_setting() {
        let mut settings = Settings::default();
        settings.set(&SYNC, SYNC.parse("never").unwrap(), SettingSource::Flag("--sync".into()));
        settings.set(&SYNC, SYNC.parse("always").unwrap(), SettingSource::File("settings.json".into()));
        assert!(settings.is(&SYNC, "never"));
    }

    #[test]
    fn the_environment_name_follows_from_the_name() {
        assert_eq!(BASH_TIMEOUT_S.env_name(), "TILLER_BASH_TIMEOUT_S");
    }
}
