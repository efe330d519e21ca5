//! A theme, and the backgrounds for which a theme may be made.

use serde::Deserialize;

use super::color::{Rgb, ThemeColor};
use super::color_depth::ColorDepth;
use super::role::ALL as ROLES;
use super::style::ThemeStyle;
use crate::{AnsiColor, Role};

/// The background for which a theme is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThemeKind {
    /// Dark.
    Dark,
    /// Light.
    Light,
    /// Any.
    Both,
}

impl ThemeKind {
    /// Returns the name in files and lists.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dark => "dark",
            Self::Light => "light",
            Self::Both => "both",
        }
    }
}

/// The background of a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Background {
    /// Light text on a dark background.
    #[default]
    Dark,
    /// Dark text on a light background.
    Light,
}

impl Background {
    /// Classifies a background color: light if black contrasts with it more than white does.
    #[must_use]
    pub fn from_color(color: Rgb) -> Self {
        if color.contrast(Rgb::BLACK) > color.contrast(Rgb::WHITE) { Self::Light } else { Self::Dark }
    }

    /// Parses the value of `COLORFGBG`, such as `15;0`: foreground, background. 7 and 15 are light
    /// backgrounds.
    #[must_use]
    pub fn parse_colorfgbg(colorfgbg: &str) -> Option<Self> {
        match colorfgbg.rsplit(';').next()?.parse::<u8>().ok()? {
            7 | 15 => Some(Self::Light),
            0..=15 => Some(Self::Dark),
            16.. => None,
        }
    }
}

/// The styles of all roles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Theme {
    /// The theme's name.
    pub name: String,
    /// The background for which it is made.
    pub kind: ThemeKind,
    /// The background color for which it is made. Never drawn, but used for images and contrast tests.
    pub background: Rgb,
    /// Styles by role, for terminals with more than 16 colors.
    pub(super) styles: [ThemeStyle; ROLES.len()],
    /// Styles by role, for terminals with 16 colors.
    pub(super) styles_16: [ThemeStyle; ROLES.len()],
    /// The sixteen colors for command output; without them, the terminal's own are used.
    pub(super) ansi: Option<[Rgb; 16]>,
}

impl Theme {
    /// Returns the style of a role at a color depth.
    #[must_use]
    pub fn style(&self, role: Role, depth: ColorDepth) -> ThemeStyle {
        let at = role as usize;
        match depth {
            ColorDepth::Millions => self.styles[at],
            ColorDepth::TwoHundredFiftySix => self.styles[at].in_256(),
            ColorDepth::Sixteen => self.styles_16[at],
            ColorDepth::None => self.styles[at].without_colors(),
        }
    }

    /// Returns the theme's color for a color of command output; `None` without colors.
    #[must_use]
    pub fn ansi_color(&self, color: AnsiColor, depth: ColorDepth) -> Option<ThemeColor> {
        let literal = match color {
            AnsiColor::Basic(index) | AnsiColor::Indexed(index) => ThemeColor::Indexed(index),
            AnsiColor::Rgb(red, green, blue) => ThemeColor::Rgb(Rgb(red, green, blue)),
        };
        let themed = match (color, &self.ansi) {
            (AnsiColor::Basic(index), Some(colors)) => {
                colors.get(usize::from(index)).copied().map(ThemeColor::Rgb)
            }
            _ => None,
        };
        match depth {
            ColorDepth::Millions => Some(themed.unwrap_or(literal)),
            ColorDepth::TwoHundredFiftySix => Some(themed.unwrap_or(literal).in_256()),
            // The command chose one of the terminal's own sixteen colors.
            ColorDepth::Sixteen => Some(literal.in_16()),
            ColorDepth::None => None,
        }
    }
}
