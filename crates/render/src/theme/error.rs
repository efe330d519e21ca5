//! What can be wrong with a theme, where, and what to do about it.

use std::io;

use tiller_core::suggest;

use super::{ROLES, color, role_name};

/// A theme that can't be used. The place is the path to the value in the file: `roles.accent.fg`.
#[derive(Debug, thiserror::Error)]
pub enum ThemeError {
    /// The file can't be read.
    #[error("can't be read")]
    Io(#[from] io::Error),
    /// It isn't JSON, or a value is of the wrong kind.
    #[error("{}{what}", at(.place))]
    Form {
        /// Where; empty for the whole.
        place: String,
        /// What is wrong, in the words of the reader, with line and column.
        what: String,
    },
    /// No role goes by that name.
    #[error("{}there is no such role", at(.place))]
    UnknownRole {
        /// Where; the name is its last part.
        place: String,
    },
    /// No colour and no variable goes by that name.
    #[error("{}`{value}` is no colour and no variable", at(.place))]
    UnknownColour {
        /// Where.
        place: String,
        /// What stands there.
        value: String,
        /// The variable or colour that may have been meant.
        nearest: Option<String>,
    },
    /// A variable leads back to itself.
    #[error("{}the variable `{variable}` leads back to itself", at(.place))]
    Circle {
        /// Where it was used.
        place: String,
        /// Its name.
        variable: String,
    },
    /// On sixteen colours something else was named.
    #[error("{}`{value}` is none of the sixteen colours", at(.place))]
    NotOfSixteen {
        /// Where.
        place: String,
        /// What stands there.
        value: String,
    },
}

fn at(place: &str) -> String {
    // Where a file ends too early there is no place in it.
    if ["", ".", "?"].contains(&place) { String::new() } else { format!("at {place}: ") }
}

impl ThemeError {
    /// What to do about it, if that isn't plain.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Io(_) | Self::Form { .. } => None,
            Self::UnknownRole { place } => {
                let name = place.rsplit('.').next().unwrap_or_default();
                let names = ROLES.iter().map(|role| role_name(*role));
                Some(match suggest::nearest(name, names) {
                    Some(nearest) => format!("did you mean {nearest}?"),
                    None => "docs/themes.md lists the roles".to_owned(),
                })
            }
            Self::UnknownColour { nearest: Some(nearest), .. } => Some(format!("did you mean {nearest}?")),
            Self::UnknownColour { nearest: None, .. } => Some(
                "a colour is #rrggbb, 0 to 255, a name such as blue or bright-blue, or a variable of `vars`"
                    .to_owned(),
            ),
            Self::Circle { .. } => Some("give it a colour".to_owned()),
            Self::NotOfSixteen { .. } => Some(format!("they are 0 to 15, or {}", color::NAMES.join(", "))),
        }
    }

    /// All of it in one line, with what to do about it.
    #[must_use]
    pub fn full(&self) -> String {
        let cause = std::error::Error::source(self).map(|cause| format!(": {cause}")).unwrap_or_default();
        let hint = self.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("{self}{cause}{hint}")
    }
}
