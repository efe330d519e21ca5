//! What roles look like: themes as data, from files of tiller's own form and of pi's.
//!
//! A theme gives each [`Role`] a [`Look`]; a screen asks for it at the [`Depth`] of its terminal, and colours come out that
//! such a terminal has. Nothing here knows a terminal or a page: the terminal front end turns looks into its own styles, and
//! whoever makes pages may do the same. Start with `file` for the form, `library` for where themes are found, `colour` for how
//! one colour takes the place of another.

mod built_in;
mod color;
mod color_depth;
mod error;
mod file;
mod parse;
mod pi_format;
mod registry;
mod role;
mod style;

#[cfg(test)]
mod tests;

use serde::Deserialize;

pub use color::{Rgb, ThemeColor};
pub use color_depth::{ColorDepth, TerminalHints};
pub use error::ThemeError;
pub use registry::{RegisteredTheme, ThemeChoice, ThemeRegistry, is_path, placed};
pub use role::{ALL as ROLES, name as role_name};
pub use style::ThemeStyle;

use crate::{AnsiColor, Role};

/// What ground a theme is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThemeKind {
    /// A dark one.
    Dark,
    /// A light one.
    Light,
    /// Any.
    Both,
}

impl ThemeKind {
    /// The word for it in files and lists.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dark => "dark",
            Self::Light => "light",
            Self::Both => "both",
        }
    }
}

/// The ground of a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Background {
    /// Light text stands on it.
    #[default]
    Dark,
    /// Dark text stands on it.
    Light,
}

impl Background {
    /// The ground of this colour: light when black is easier to read on it than white.
    #[must_use]
    pub fn of(colour: Rgb) -> Self {
        if colour.contrast(Rgb::BLACK) > colour.contrast(Rgb::WHITE) { Self::Light } else { Self::Dark }
    }

    /// What the value of `COLORFGBG` says (`15;0`: foreground, background; 7 and 15 are light grounds), if it says something.
    #[must_use]
    pub fn of_variable(colorfgbg: &str) -> Option<Self> {
        match colorfgbg.rsplit(';').next()?.parse::<u8>().ok()? {
            7 | 15 => Some(Self::Light),
            0..=15 => Some(Self::Dark),
            16.. => None,
        }
    }
}

/// How everything looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Theme {
    /// What it is called.
    pub name: String,
    /// What ground it is made for.
    pub kind: ThemeKind,
    /// The ground it is made for. Never painted: pictures and tests of contrast use it.
    pub ground: Rgb,
    /// By role, for terminals with more than 16 colours.
    looks: [ThemeStyle; ROLES.len()],
    /// By role, for those with 16.
    sixteen: [ThemeStyle; ROLES.len()],
    /// How the sixteen colours look that commands paint with; without them the terminal decides.
    ansi: Option<[Rgb; 16]>,
}

impl Theme {
    /// Reads a theme of tiller's form, or of pi's: the one has `roles`, the other `colors`.
    ///
    /// # Errors
    /// When it isn't JSON, names a role, colour or variable that there isn't, or has a value of the wrong kind; the error
    /// says where.
    pub fn parse(text: &str) -> Result<Self, ThemeError> {
        match file::form(text)? {
            file::Form::Own => file::parse(text),
            file::Form::Pi => pi_format::parse(text),
        }
    }

    /// How a role looks on a terminal with that many colours.
    #[must_use]
    pub fn look(&self, role: Role, depth: ColorDepth) -> ThemeStyle {
        let at = role as usize;
        match depth {
            ColorDepth::Millions => self.looks[at],
            ColorDepth::TwoHundredFiftySix => self.looks[at].in_256(),
            ColorDepth::Sixteen => self.sixteen[at],
            ColorDepth::None => self.looks[at].without_colours(),
        }
    }

    /// How a colour looks that a command chose for what it printed; `None` where there are no colours.
    #[must_use]
    pub fn printed(&self, colour: AnsiColor, depth: ColorDepth) -> Option<ThemeColor> {
        let own = match colour {
            AnsiColor::Basic(index) | AnsiColor::Indexed(index) => ThemeColor::Indexed(index),
            AnsiColor::Rgb(red, green, blue) => ThemeColor::Rgb(Rgb(red, green, blue)),
        };
        let named = match (colour, &self.ansi) {
            (AnsiColor::Basic(index), Some(colours)) => {
                colours.get(usize::from(index)).copied().map(ThemeColor::Rgb)
            }
            _ => None,
        };
        match depth {
            ColorDepth::Millions => Some(named.unwrap_or(own)),
            ColorDepth::TwoHundredFiftySix => Some(named.unwrap_or(own).in_256()),
            // The terminal's own sixteen are what the command meant.
            ColorDepth::Sixteen => Some(own.in_16()),
            ColorDepth::None => None,
        }
    }
}
