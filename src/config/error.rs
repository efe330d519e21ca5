//! The error of an unusable configuration, and file reading with that error.

use std::path::{Path, PathBuf};

use tiller_core::json_error;

use crate::files::{self, CONFIG_LIMIT};
use crate::setting::InvalidSetting;

/// An error that makes the configuration unusable.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Neither a home directory nor `TILLER_HOME` is known.
    #[error("no home directory found; set TILLER_HOME to a directory for tiller's files")]
    NoHome,
    /// A file can't be read or written.
    #[error("can't access {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file isn't JSON.
    #[error("{path}, {problem}")]
    Json {
        /// The file.
        path: PathBuf,
        /// The position and the parser's message.
        problem: String,
    },
    /// A settings file's JSON value isn't an object.
    #[error("{path}: expected a JSON object, found {found}")]
    NotObject {
        /// The file.
        path: PathBuf,
        /// The value that it has.
        found: &'static str,
    },
    /// A file's MCP servers aren't an object.
    #[error("{path}: `{key}` must be an object that maps names to servers")]
    Servers {
        /// The file.
        path: PathBuf,
        /// The key of the servers in the file.
        key: &'static str,
    },
    /// A file's rules can't be changed.
    #[error("{path}: {problem}")]
    Rules {
        /// The file.
        path: PathBuf,
        /// The problem.
        problem: &'static str,
    },
    /// A rule in a file is invalid, or the rules aren't a list.
    #[error("{0}")]
    BrokenRule(String),
    /// A setting's value is invalid.
    #[error("{origin}")]
    Setting {
        /// The file or variable.
        origin: String,
        /// The problem.
        source: InvalidSetting,
    },
    /// The value of a flag, or of a variable without a setting, is invalid.
    #[error("{flag}: `{value}` is not {expected}")]
    Flag {
        /// The flag or variable.
        flag: &'static str,
        /// The rejected value.
        value: String,
        /// The accepted values.
        expected: String,
    },
}

impl ConfigError {
    /// Returns the next step for the user, if it isn't obvious.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Json { .. } | Self::NotObject { .. } => {
                Some("fix the file in an editor; tiller won't write to it until it is valid")
            }
            Self::NoHome
            | Self::Io { .. }
            | Self::Servers { .. }
            | Self::Rules { .. }
            | Self::BrokenRule(_)
            | Self::Setting { .. }
            | Self::Flag { .. } => None,
        }
    }

    pub(super) fn not_json(path: &Path, error: &serde_json::Error) -> Self {
        let path = path.to_owned();
        if error.is_data() {
            return Self::NotObject { path, found: found_value(&error.to_string()) };
        }
        Self::Json { path, problem: json_error::in_file(error) }
    }

    pub(super) fn not_jsonc(path: &Path, error: &jsonc_parser::errors::ParseError) -> Self {
        let (line, column) = (error.line_display(), error.column_display());
        let problem = lower_first(&error.kind().to_string());
        Self::Json {
            path: path.to_owned(),
            problem: format!("line {line}, column {column}: invalid JSON: {problem}"),
        }
    }
}

/// Returns the text with a small first letter.
fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(chars).collect()
}

/// Returns the value that an error of serde names: `invalid type: sequence, expected a map`.
fn found_value(message: &str) -> &'static str {
    let found = message.strip_prefix("invalid type: ").unwrap_or_default();
    match found.split([' ', ',']).next().unwrap_or_default() {
        "sequence" => "an array",
        "string" => "a string",
        "boolean" => "a boolean",
        "null" => "null",
        "integer" | "floating" => "a number",
        _ => "another value",
    }
}

pub(super) fn read(path: &Path) -> Result<String, ConfigError> {
    files::read_text(path, CONFIG_LIMIT).map_err(unreadable(path))
}

pub(super) fn unreadable(path: &Path) -> impl FnOnce(std::io::Error) -> ConfigError {
    |source| ConfigError::Io { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value};

    use super::*;

    #[test]
    fn not_json_names_the_value_that_is_no_object() {
        let message = |text: &str| {
            let error = serde_json::from_str::<Map<String, Value>>(text).unwrap_err();
            ConfigError::not_json(Path::new("s.json"), &error).to_string()
        };
        let found = ["[1]", "\"a\"", "1", "1.5", "true", "null"].map(message);
        let values = ["an array", "a string", "a number", "a number", "a boolean", "null"];
        assert_eq!(found, values.map(|value| format!("s.json: expected a JSON object, found {value}")));
        assert_eq!(message("{"), "s.json, line 1: invalid JSON: unexpected end of file");
    }
}
