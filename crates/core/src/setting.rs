//! The table of settings: name, type, default, environment variables and description.
//!
//! The settings loader (`config`), `tiller settings` and the docs read it; no default is defined elsewhere. In a
//! settings file `bash.timeout_s` is `{"bash": {"timeout_s": 120}}`, in the environment `TILLER_BASH_TIMEOUT_S`.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

/// One row of the table.
#[derive(Debug, PartialEq)]
pub struct Setting {
    /// Dotted name.
    pub name: &'static str,
    /// The accepted values.
    pub kind: SettingKind,
    /// The default, as a user would type it; empty means unset.
    pub default: &'static str,
    /// Additional environment variables, known from other programs.
    pub aliases: &'static [&'static str],
    /// The files that may set it.
    pub scope: SettingScope,
    /// The description, one sentence.
    pub about: &'static str,
}

/// The settings files that may set a setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SettingScope {
    /// The user's file, and the file of a trusted project.
    #[default]
    Project,
    /// Only the user's file, even in a trusted project: for paths to the user's own data, and commands.
    User,
}

/// The accepted values of a setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SettingKind {
    /// Any text, or unset.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A whole number in this range, or unset where the default is.
    Count {
        /// Minimum.
        min: u64,
        /// Maximum.
        max: u64,
    },
    /// A number in this range, or unset.
    Number {
        /// Minimum.
        min: f64,
        /// Maximum.
        max: f64,
    },
    /// Names separated by commas, or unset.
    List,
    /// Names separated by commas; off is an empty list, on is unset.
    ListOrSwitch,
}

macro_rules! table {
    ($($(#[doc = $about:literal])+ $konst:ident = $name:literal, $kind:expr, $default:literal
        $(, aliases $aliases:expr)? $(, scope $scope:expr)?;)*) => {
        $($(#[doc = $about])+ pub static $konst: Setting = Setting {
            name: $name, kind: $kind, default: $default, aliases: table!(@ $($aliases)?),
            scope: table!(@scope $($scope)?), about: concat!($($about),+),
        };)*
        /// All settings, in display order.
        pub static TABLE: &[&Setting] = &[$(&$konst),*];
    };
    (@scope $scope:expr) => { $scope };
    (@scope) => { SettingScope::Project };
    (@ $aliases:expr) => { $aliases };
    (@) => { &[] };
}

table! {
    /// Provider to use if no model is given.
    PROVIDER = "provider", SettingKind::Text, "";
    /// Model to start with: `[provider/]id[:thinking]`.
    MODEL = "model", SettingKind::Text, "";
    /// Context window, in tokens, of models that tiller's catalog doesn't know; unset: 128000.
    WINDOW = "window", SettingKind::Count { min: 1_024, max: 100_000_000 }, "";
    /// Models to cycle through: patterns in order, each optionally with `:thinking`; unset: all models.
    MODELS = "models", SettingKind::List, "";
    /// Thinking level of the model.
    THINKING = "thinking", SettingKind::Choice(&["off", "minimal", "low", "medium", "high", "xhigh"]), "off";
    /// Sampling temperature; unset: the provider's default.
    TEMPERATURE = "temperature", SettingKind::Number { min: 0.0, max: 2.0 }, "";
    /// Maximum tokens per answer, thinking included, capped at the model's own limit; unset: that limit, at most 32000.
    MAX_TOKENS = "max_tokens", SettingKind::Count { min: 1, max: 1_000_000 }, "", aliases &["AGENT_MAX_TOKENS"];
    /// Tool calls that need approval: all that run something, only risky ones, or `read-only` to forbid all changes.
    APPROVAL = "approval", SettingKind::Choice(&["ask", "auto", "read-only"]), "ask";
    /// Maximum number of model requests in a run; unset: no limit in the TUI, 100 elsewhere.
    MAX_TURNS = "max_turns", SettingKind::Count { min: 1, max: 1_000_000 }, "", aliases &["AGENT_MAX_ITERATIONS"];
    /// Tools to offer the model; unset or on: all, off: none.
    TOOLS = "tools", SettingKind::ListOrSwitch, "", aliases &["TOOLS_ENABLED"];
    /// Load skills of the project, the user and tiller.
    SKILLS = "skills", SettingKind::Choice(&["on", "off"]), "on";
    /// Load prompt templates of the project, the user and tiller.
    TEMPLATES = "templates", SettingKind::Choice(&["on", "off"]), "on";
    /// Read AGENTS.md, CLAUDE.md and AGENT.md of the user and the project.
    CONTEXT_FILES = "context_files", SettingKind::Choice(&["on", "off"]), "on";
    /// Use the mouse to scroll, fold and select in the TUI; off leaves the mouse to the terminal.
    MOUSE = "mouse", SettingKind::Choice(&["on", "off"]), "on", scope SettingScope::User;
    /// Reload skills, templates and context files when they change.
    WATCH = "watch", SettingKind::Choice(&["on", "off"]), "on";
    /// When steering messages are delivered.
    STEERING_POINT = "steering_point", SettingKind::Choice(&["between-tools", "after-answer"]), "between-tools";
    /// Number of waiting steering messages delivered at once.
    STEERING_MODE = "steering_mode", SettingKind::Choice(&["one-at-a-time", "all"]), "all";
    /// Number of waiting follow-up messages delivered at once.
    FOLLOW_UP_MODE = "follow_up_mode", SettingKind::Choice(&["one-at-a-time", "all"]), "one-at-a-time";
    /// Run consecutive calls of read-only tools in parallel.
    PARALLEL_TOOLS = "parallel_tools", SettingKind::Choice(&["on", "off"]), "on";
    /// Retry requests that failed with a transient error.
    RETRY_ENABLED = "retry.enabled", SettingKind::Choice(&["on", "off"]), "on";
    /// Maximum number of retries.
    RETRY_MAX = "retry.max", SettingKind::Count { min: 0, max: 100 }, "5";
    /// Milliseconds before the first retry, doubled for each further one, with jitter.
    RETRY_BASE_MS = "retry.base_ms", SettingKind::Count { min: 0, max: 3_600_000 }, "2000";
    /// Maximum milliseconds between two retries, unless the provider asks for more.
    RETRY_CAP_MS = "retry.cap_ms", SettingKind::Count { min: 0, max: 3_600_000 }, "60000";
    /// Seconds to wait for the first byte of an answer, and for further content within it (pings don't count); unset:
    /// 300, or 900 for a server on this machine or the local network.
    REQUEST_FIRST_BYTE_S = "request.first_byte_s", SettingKind::Count { min: 1, max: 86_400 }, "";
    /// Seconds without any data, pings included, after which an answer counts as interrupted.
    REQUEST_STALL_S = "request.stall_s", SettingKind::Count { min: 1, max: 86_400 }, "120";
    /// Seconds after which a command of the bash tool is stopped, unless the call asks for more.
    BASH_TIMEOUT_S = "bash.timeout_s", SettingKind::Count { min: 1, max: 86_400 }, "120";
    /// Maximum seconds that a call of the bash tool may ask for.
    BASH_MAX_TIMEOUT_S = "bash.max_timeout_s", SettingKind::Count { min: 1, max: 86_400 }, "600";
    /// Shell for commands: an absolute path, or a name on PATH; unset: bash, else sh.
    BASH_SHELL = "bash.shell", SettingKind::Text, "", scope SettingScope::User;
    /// Shell line that runs before every command, such as `source .venv/bin/activate`.
    BASH_PREFIX = "bash.prefix", SettingKind::Text, "", scope SettingScope::User;
    /// Pass the environment variables with providers' API keys to commands.
    BASH_INHERIT_KEYS = "bash.inherit_keys", SettingKind::Choice(&["off", "on"]), "off", scope SettingScope::User;
    /// Maximum lines of a tool result.
    TOOL_OUTPUT_MAX_LINES = "tool_output.max_lines", SettingKind::Count { min: 1, max: 1_000_000 }, "2000";
    /// Maximum characters of a tool result.
    TOOL_OUTPUT_MAX_CHARS = "tool_output.max_chars", SettingKind::Count { min: 1, max: 10_000_000 }, "40000";
    /// Compact the conversation automatically before it exceeds the model's context window.
    COMPACTION_ENABLED = "compaction.enabled", SettingKind::Choice(&["on", "off"]), "on", aliases &["COMPACT_ENABLED"];
    /// Replacement for older messages: a summary by the model, or only the first message.
    COMPACTION_STRATEGY = "compaction.strategy", SettingKind::Choice(&["summarize", "truncate", "off"]), "summarize";
    /// Tokens of the context window to keep free; unset: 16,384, at most a quarter of the window.
    COMPACTION_RESERVE_TOKENS = "compaction.reserve_tokens", SettingKind::Count { min: 1, max: 10_000_000 }, "";
    /// Tokens of recent messages that compaction keeps; unset: 20,000, at most a third of the window.
    COMPACTION_KEEP_TOKENS = "compaction.keep_tokens", SettingKind::Count { min: 1, max: 10_000_000 }, "";
    /// Number of messages above which a conversation is compacted; unset: no limit.
    COMPACTION_MAX_MESSAGES = "compaction.max_messages", SettingKind::Count { min: 2, max: 1_000_000 }, "", aliases &["AGENT_MAX_MESSAGES", "COMPACT_THRESHOLD"];
    /// Number of recent messages that compaction keeps; unset: half of compaction.max_messages, or all of it with
    /// strategy truncate.
    COMPACTION_KEEP_MESSAGES = "compaction.keep_messages", SettingKind::Count { min: 1, max: 1_000_000 }, "", aliases &["COMPACT_KEEP_RECENT"];
    /// When the session log is synced to disk: after every entry, after user messages and turns, or never.
    SYNC = "sync", SettingKind::Choice(&["always", "turn", "never"]), "turn";
    /// Folder for session logs, without a subfolder for each working directory.
    SESSION_DIR = "session_dir", SettingKind::Text, "", scope SettingScope::User;
    /// Maximum milliseconds for an extension's hook; if a hook that guards calls takes longer, the call needs approval.
    EXTENSIONS_TIMEOUT_MS = "extensions.timeout_ms", SettingKind::Count { min: 10, max: 600_000 }, "5000";
    /// Show images inline if the terminal supports it, or as a line of text.
    IMAGES = "images", SettingKind::Choice(&["auto", "line"]), "auto";
    /// Theme: a name, the path of a theme file, or `auto` to follow the terminal background (`theme_dark` /
    /// `theme_light`).
    THEME = "theme", SettingKind::Text, "auto";
    /// Theme for dark terminal backgrounds.
    THEME_DARK = "theme_dark", SettingKind::Text, "dark";
    /// Theme for light terminal backgrounds.
    THEME_LIGHT = "theme_light", SettingKind::Text, "light";
    /// Number of colors of the terminal; auto detects it from the environment.
    COLOURS = "colours", SettingKind::Choice(&["auto", "24bit", "256", "16", "none"]), "auto";
    /// Show the session's name and state in the terminal title.
    TERMINAL_TITLE = "terminal.title", SettingKind::Choice(&["on", "off"]), "on";
    /// Report progress to the terminal (OSC 9;4): if supported, always, or never.
    TERMINAL_PROGRESS = "terminal.progress", SettingKind::Choice(&["auto", "on", "off"]), "auto";
    /// Alert when a long run ends or a call needs approval while the terminal is unfocused: desktop notification, bell
    /// or off.
    NOTIFY = "notify.mode", SettingKind::Choice(&["auto", "bell", "off"]), "auto";
    /// Minimum duration, in seconds, of a run whose end triggers an alert.
    NOTIFY_AFTER_S = "notify.after_s", SettingKind::Count { min: 0, max: 86_400 }, "10";
    /// Level of messages in tiller's own log file.
    LOG_LEVEL = "log.level", SettingKind::Choice(&["off", "error", "warn", "info", "debug", "trace"]), "warn";
    /// Path of the log file, relative to the state folder; unset: `tiller.log`.
    LOG_FILE = "log.file", SettingKind::Text, "", scope SettingScope::User;
}

/// Finds a setting by name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Setting> {
    TABLE.iter().copied().find(|setting| setting.name == name)
}

impl Setting {
    /// Returns the environment variable that sets it: `TILLER_BASH_TIMEOUT_S`.
    #[must_use]
    pub fn env_name(&self) -> String {
        format!("TILLER_{}", self.name.replace('.', "_").to_uppercase())
    }

    /// Returns the description without Markdown code marks.
    #[must_use]
    pub fn plain_about(&self) -> String {
        self.about.trim().replace('`', "")
    }

    /// Parses a value as a user types it. Empty text means unset; on and off may also be true and false, 1 and 0.
    ///
    /// # Errors
    /// When the setting doesn't accept the value; the error describes the accepted values.
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

    /// Parses a value of a settings file: a string, number, boolean (`on`/`off`), list of strings or null.
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

    fn invalid(&self, value: &str) -> InvalidSetting {
        InvalidSetting { name: self.name, value: value.to_owned(), expected: self.kind.to_string() }
    }
}

/// The values of a setting that is on or off.
const SWITCH: &[&str] = &["on", "off"];

/// Parses on or off, also in the spellings of other programs.
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
        None => Err(InvalidSetting { name, value: text.to_owned(), expected: "on or off".to_owned() }),
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

/// An error for a value that a setting doesn't accept.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("setting {name}: `{value}` is not {expected}")]
pub struct InvalidSetting {
    /// The setting's name.
    pub name: &'static str,
    /// The rejected value.
    pub value: String,
    /// The accepted values.
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

/// The source of a value; later ones take precedence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingSource {
    /// The table's default.
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
    /// Returns the precedence of the source; the higher one wins.
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

/// All settings with their values and sources.
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
    /// Sets a value, unless one from a source of higher precedence is set.
    pub fn set(&mut self, setting: &Setting, value: Option<SettingValue>, source: SettingSource) {
        let slot = self.values.get_mut(setting.name).expect("the table holds every setting");
        if source.rank() >= slot.1.rank() {
            *slot = (value, source);
        }
    }

    /// Copies the value and source of one setting from other settings.
    pub fn copy_from(&mut self, setting: &Setting, other: &Self) {
        if let Some(slot) = self.values.get_mut(setting.name) {
            slot.clone_from(&other.values[setting.name]);
        }
    }

    /// Iterates over the settings whose values differ.
    pub fn differing(&self, other: &Self) -> impl Iterator<Item = &'static Setting> {
        TABLE.iter().copied().filter(|setting| self.value(setting).0 != other.value(setting).0)
    }

    /// Returns a setting's value and its source.
    #[must_use]
    pub fn value(&self, setting: &Setting) -> (Option<&SettingValue>, &SettingSource) {
        let (value, source) = &self.values[setting.name];
        (value.as_ref(), source)
    }

    /// Returns the value of a text or choice setting, if set.
    #[must_use]
    pub fn text(&self, setting: &Setting) -> Option<&str> {
        match self.value(setting).0 {
            Some(SettingValue::Text(text)) => Some(text),
            Some(SettingValue::Count(_) | SettingValue::Number(_) | SettingValue::List(_)) | None => None,
        }
    }

    /// Checks whether a choice setting has this value.
    #[must_use]
    pub fn is(&self, setting: &Setting, word: &str) -> bool {
        self.text(setting) == Some(word)
    }

    /// Returns the value of a count setting, if set.
    #[must_use]
    pub fn count(&self, setting: &Setting) -> Option<u64> {
        match self.value(setting).0 {
            Some(SettingValue::Count(count)) => Some(*count),
            Some(SettingValue::Text(_) | SettingValue::Number(_) | SettingValue::List(_)) | None => None,
        }
    }

    /// Returns the value of a number setting, if set.
    #[must_use]
    pub fn number(&self, setting: &Setting) -> Option<f64> {
        match self.value(setting).0 {
            Some(SettingValue::Number(number)) => Some(*number),
            Some(SettingValue::Text(_) | SettingValue::Count(_) | SettingValue::List(_)) | None => None,
        }
    }

    /// Returns the value of a list setting, if set.
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
    fn table_every_default_is_valid() {
        let settings = Settings::default();
        assert_eq!(settings.count(&BASH_TIMEOUT_S), Some(120));
        assert_eq!(settings.count(&MAX_TURNS), None);
        assert!(settings.is(&STEERING_POINT, "between-tools"));
    }

    #[test]
    fn parse_invalid_value_error_lists_accepted_values() {
        let error = STEERING_MODE.parse("some").unwrap_err();
        assert_eq!(error.to_string(), "setting steering_mode: `some` is not one of one-at-a-time, all");
        assert!(BASH_TIMEOUT_S.parse("0").is_err());
        assert!(BASH_TIMEOUT_S.parse("").is_err(), "a count with a default can't be unset");
    }

    #[test]
    fn parse_switch_accepts_words_of_other_programs() {
        for (text, word) in [("on", "on"), ("TRUE", "on"), ("1", "on"), ("false", "off"), ("0", "off")] {
            let value = COMPACTION_ENABLED.parse(text).unwrap();
            assert_eq!(value, Some(SettingValue::Text(word.into())), "{text}");
        }
        assert!(COMPACTION_ENABLED.parse("2").is_err());
        assert!(SYNC.parse("true").is_err(), "a choice of other words takes only those");
    }

    #[test]
    fn set_source_of_higher_precedence_wins() {
        let mut settings = Settings::default();
        settings.set(&SYNC, SYNC.parse("never").unwrap(), SettingSource::Flag("--sync".into()));
        settings.set(&SYNC, SYNC.parse("always").unwrap(), SettingSource::File("settings.json".into()));
        assert!(settings.is(&SYNC, "never"));
    }

    #[test]
    fn env_name_is_derived_from_the_name() {
        assert_eq!(BASH_TIMEOUT_S.env_name(), "TILLER_BASH_TIMEOUT_S");
    }
}
