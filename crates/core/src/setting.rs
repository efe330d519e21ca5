//! The table of settings: name, type, default, environment variables and description.
//!
//! The settings loader (`config`), `tiller settings` and the docs read it; it has all defaults. In a settings
//! file `bash.timeout_s` is `{"bash": {"timeout_s": 120}}`, in the environment `TILLER_BASH_TIMEOUT_S`.

mod choice;
mod table;
mod value;

pub use choice::{
    ApprovalMode, ColorMode, CompactionStrategy, DeliveryMode, ImageMode, LogLevel, NotifyMode, ProgressMode,
    SandboxMode, SteeringPoint, Switch, SyncPolicy, ThinkingLevel,
};
pub use table::*;
pub use value::SettingValue;

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
    /// A whole number in this range, or unset if that is the default.
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
    /// A comma-separated list, or unset.
    List,
    /// A comma-separated list; off is an empty list, on is unset.
    ListOrSwitch,
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

    /// Parses a value as a user types it. Empty text means unset, and so does `none`, except for tools,
    /// which it turns off; on and off may also be true and false, 1 and 0.
    ///
    /// # Errors
    /// If the setting doesn't accept the value; the error describes the accepted values.
    pub fn parse(&self, text: &str) -> Result<Option<SettingValue>, InvalidSetting> {
        let text = text.trim();
        if text.is_empty() || (text == "none" && self.kind != SettingKind::ListOrSwitch) {
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
            SettingKind::ListOrSwitch
                if let Some(word) = switch(text).or((text == "none").then_some("off")) =>
            {
                match word {
                    "off" => SettingValue::List(Vec::new()),
                    _ => return Ok(None),
                }
            }
            SettingKind::List | SettingKind::ListOrSwitch => SettingValue::List(
                text.split(',').map(|name| name.trim().to_owned()).filter(|n| !n.is_empty()).collect(),
            ),
            SettingKind::Choice(_) => return Err(self.invalid(text)),
        };
        Ok(Some(value))
    }

    /// Parses a value from a settings file: a string, number, boolean (`on`/`off`), list of strings or null. The
    /// value of a text setting must be a string.
    ///
    /// # Errors
    /// Returns the same errors as [`Setting::parse`].
    pub fn parse_json(&self, value: &Value) -> Result<Option<SettingValue>, InvalidSetting> {
        match value {
            Value::Null => self.parse(""),
            Value::String(text) => self.parse(text),
            _ if self.kind == SettingKind::Text => {
                let (value, expected) = (value.to_string(), "a string".to_owned());
                Err(InvalidSetting { name: self.name, value, expected })
            }
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
/// If it is neither.
pub fn parse_switch(name: &'static str, text: &str) -> Result<bool, InvalidSetting> {
    match switch(text.trim()) {
        Some(word) => Ok(word == "on"),
        None => Err(InvalidSetting { name, value: text.to_owned(), expected: "on or off".to_owned() }),
    }
}

impl fmt::Display for SettingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => f.write_str("text"),
            Self::Choice(words) => write!(f, "one of {}", words.join(", ")),
            Self::Count { min, max } => write!(f, "a whole number from {min} to {max}"),
            Self::Number { min, max } => write!(f, "a number from {min} to {max}"),
            Self::List => f.write_str("a comma-separated list"),
            Self::ListOrSwitch => f.write_str("on, off, or a comma-separated list"),
        }
    }
}

/// An error for a value that a setting doesn't accept.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}`: `{value}` is not {expected}")]
pub struct InvalidSetting {
    /// The setting's name.
    pub name: &'static str,
    /// The rejected value.
    pub value: String,
    /// The accepted values.
    pub expected: String,
}

/// A value's source; later ones take precedence.
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
    /// A command-line flag, by name.
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_every_default_is_valid() {
        let settings = Settings::default();
        assert_eq!(settings.bash_timeout_s(), 120);
        assert_eq!(settings.max_turns(), None);
        assert_eq!(settings.steering_point(), SteeringPoint::BetweenTools);
    }

    #[test]
    fn parse_invalid_value_error_lists_accepted_values() {
        let error = STEERING_MODE.parse("some").unwrap_err();
        assert_eq!(error.to_string(), "`steering_mode`: `some` is not one of one-at-a-time, all");
        assert!(BASH_TIMEOUT_S.parse("0").is_err());
        assert!(BASH_TIMEOUT_S.parse("").is_err(), "a count with a default can't be unset");
    }

    #[test]
    fn parse_json_of_a_text_accepts_only_strings() {
        assert_eq!(MODEL.parse_json(&"opus".into()), Ok(Some(SettingValue::Text("opus".into()))));
        assert_eq!(MODEL.parse_json(&Value::Null), Ok(None));
        for value in [3.into(), true.into(), Value::from(vec!["opus"])] {
            let error = MODEL.parse_json(&value).unwrap_err().to_string();
            assert_eq!(error, format!("`model`: `{value}` is not a string"));
        }
        assert_eq!(BASH_TIMEOUT_S.parse_json(&"5".into()), Ok(Some(SettingValue::Count(5))));
    }

    #[test]
    fn parse_switch_accepts_words_of_other_programs() {
        for (text, word) in [("on", "on"), ("TRUE", "on"), ("1", "on"), ("false", "off"), ("0", "off")] {
            let value = COMPACTION_ENABLED.parse(text).unwrap();
            assert_eq!(value, Some(SettingValue::Text(word.into())), "{text}");
        }
        assert!(COMPACTION_ENABLED.parse("2").is_err());
        for off in ["none", "off", "false"] {
            assert_eq!(TOOLS.parse(off), Ok(Some(SettingValue::List(Vec::new()))), "{off}");
        }
        assert!(SYNC.parse("true").is_err(), "a choice of other words takes only those");
    }

    #[test]
    fn set_source_of_higher_precedence_wins() {
        let mut settings = Settings::default();
        settings.set(&SYNC, SYNC.parse("never").unwrap(), SettingSource::Flag("--sync".into()));
        settings.set(&SYNC, SYNC.parse("always").unwrap(), SettingSource::File("settings.json".into()));
        assert_eq!(settings.sync_policy(), SyncPolicy::Never);
    }

    #[test]
    fn env_name_is_derived_from_the_name() {
        assert_eq!(BASH_TIMEOUT_S.env_name(), "TILLER_BASH_TIMEOUT_S");
    }
}
