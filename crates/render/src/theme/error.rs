//! Errors of themes, with the path of the value and a hint.

use std::io;

use tiller_core::os_error::without_code;
use tiller_core::suggest;

use super::color;
use super::role::{ALL as ROLES, name as role_name};

/// An error of a theme. The path of a value looks like `roles.accent.fg`.
#[derive(Debug, thiserror::Error)]
pub enum ThemeError {
    /// The file can't be read.
    #[error("can't read the file")]
    Io(#[from] io::Error),
    /// The text isn't JSON, or a value has the wrong type.
    #[error("{}{message}", at(.path))]
    Form {
        /// The path; empty for the entire file.
        path: String,
        /// The parser's message with line and column.
        message: String,
    },
    /// The text isn't JSON; the position and the parser's message.
    #[error("{0}")]
    NotJson(String),
    /// An unknown role.
    #[error("{}unknown role", at(.path))]
    UnknownRole {
        /// The path; its last part is the name.
        path: String,
    },
    /// An unknown color or variable.
    #[error("{}`{value}` is neither a color nor a variable", at(.path))]
    UnknownColor {
        /// The path.
        path: String,
        /// The value.
        value: String,
        /// A similar variable or color.
        nearest: Option<String>,
    },
    /// A variable that refers to itself.
    #[error("{}the variable `{variable}` refers to itself", at(.path))]
    Cycle {
        /// The path of its use.
        path: String,
        /// The variable's name.
        variable: String,
    },
    /// A color in the section `16` that isn't one of the sixteen.
    #[error("{}`{value}` is not one of the sixteen colors", at(.path))]
    NotOfSixteen {
        /// The path.
        path: String,
        /// The value.
        value: String,
    },
}

fn at(path: &str) -> String {
    // Errors about a truncated file have no path.
    if ["", ".", "?"].contains(&path) { String::new() } else { format!("at {path}: ") }
}

impl ThemeError {
    /// Returns the next step for the user, if it isn't obvious.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Io(_) | Self::Form { .. } | Self::NotJson(_) => None,
            Self::UnknownRole { path } => {
                let name = path.rsplit('.').next().unwrap_or_default();
                let names = ROLES.iter().map(|role| role_name(*role));
                Some(match suggest::nearest(name, names) {
                    Some(nearest) => format!("did you mean {nearest}?"),
                    None => "docs/themes.md lists the roles".to_owned(),
                })
            }
            Self::UnknownColor { nearest: Some(nearest), .. } => Some(format!("did you mean {nearest}?")),
            Self::UnknownColor { nearest: None, .. } => Some(
                "a color is #rrggbb, 0 to 255, a name such as blue or bright-blue, or a variable of `vars`"
                    .to_owned(),
            ),
            Self::Cycle { .. } => Some("give it a color".to_owned()),
            Self::NotOfSixteen { .. } => Some(format!("they are 0 to 15, or {}", color::NAMES.join(", "))),
        }
    }

    /// Returns the error with its cause and hint, on one line.
    #[must_use]
    pub fn full(&self) -> String {
        let cause = std::error::Error::source(self).map(|cause| format!(": {cause}")).unwrap_or_default();
        let hint = self.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
        without_code(&format!("{self}{cause}{hint}"))
    }
}
