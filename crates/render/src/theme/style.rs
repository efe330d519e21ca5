//! How one role looks: colours and emphasis.

use super::color::ThemeColor;
use crate::Emphasis;

/// How a role looks; a colour that is `None` is the terminal's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThemeStyle {
    /// The colour of the text.
    pub fg: Option<ThemeColor>,
    /// The ground.
    pub bg: Option<ThemeColor>,
    /// What makes it stand out beside colours.
    pub emphasis: Emphasis,
}

impl ThemeStyle {
    /// As the terminal shows text anyway.
    pub(super) const PLAIN: Self = Self { fg: None, bg: None, emphasis: Emphasis::NONE };

    /// Text in a colour.
    pub(super) const fn of(fg: ThemeColor) -> Self {
        Self { fg: Some(fg), ..Self::PLAIN }
    }

    pub(super) const fn with(self, emphasis: Emphasis) -> Self {
        Self { emphasis: self.emphasis.and(emphasis), ..self }
    }

    pub(super) fn in_256(self) -> Self {
        Self { fg: self.fg.map(ThemeColor::in_256), bg: self.bg.map(ThemeColor::ground_in_256), ..self }
    }

    pub(super) const fn without_colours(self) -> Self {
        Self { fg: None, bg: None, ..self }
    }
}
