//! Themes: the mapping of roles to colors and emphasis, loaded from files in tiller's format or in pi's.
//!
//! A theme gives each [`Role`](crate::Role) a [`ThemeStyle`]. A front end requests it for the [`ColorDepth`]
//! of its terminal, and gets colors that such a terminal has. Nothing here depends on a terminal or a page:
//! front ends convert the styles to their own. Start with `file` for the format, `registry` for the search
//! paths, `color` for the replacement of colors.

mod built_in;
mod color;
mod color_depth;
mod definition;
mod error;
mod file;
mod parse;
mod pi_format;
mod registry;
mod role;
mod style;

#[cfg(test)]
mod tests;

pub use color::{Rgb, ThemeColor};
pub use color_depth::{ColorDepth, TerminalHints};
pub use definition::{Background, Theme, ThemeKind};
pub use error::ThemeError;
pub use registry::{RegisteredTheme, ThemeChoice, ThemeRegistry, is_path, resolve_theme};
pub use role::{ALL as ROLES, name as role_name};
pub use style::ThemeStyle;

impl Theme {
    /// Parses a theme in tiller's format (with `roles`) or in pi's (with `colors`).
    ///
    /// # Errors
    /// If the text isn't JSON, names an unknown role, color or variable, or has a value of the wrong type;
    /// the error names the path of the value.
    pub fn parse(text: &str) -> Result<Self, ThemeError> {
        match file::detect_format(text)? {
            file::ThemeFormat::Tiller => file::parse(text),
            file::ThemeFormat::Pi => pi_format::parse(text),
        }
    }
}
