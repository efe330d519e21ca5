//! The style of a role.

use super::color::ThemeColor;
use crate::Emphasis;

/// A role's colors and emphasis; `None` is the terminal's default color.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThemeStyle {
    /// The text's color.
    pub fg: Option<ThemeColor>,
    /// The background color.
    pub bg: Option<ThemeColor>,
    /// Emphasis besides colors.
    pub emphasis: Emphasis,
}

impl ThemeStyle {
    /// The terminal's default.
    pub(super) const PLAIN: Self = Self { fg: None, bg: None, emphasis: Emphasis::NONE };

    pub(super) const fn from_fg(fg: ThemeColor) -> Self {
        Self { fg: Some(fg), ..Self::PLAIN }
    }

    pub(super) const fn with(self, emphasis: Emphasis) -> Self {
        Self { emphasis: self.emphasis.and(emphasis), ..self }
    }

    pub(super) fn in_256(self) -> Self {
        Self { fg: self.fg.map(ThemeColor::in_256), bg: self.bg.map(ThemeColor::background_in_256), ..self }
    }

    pub(super) const fn without_colors(self) -> Self {
        Self { fg: None, bg: None, ..self }
    }
}
