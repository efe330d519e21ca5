//! The style of a piece of output.

/// A set of text attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Emphasis(u8);

impl Emphasis {
    /// No attribute.
    pub const NONE: Self = Self(0);
    /// Bold.
    pub const BOLD: Self = Self(1);
    /// Italic.
    pub const ITALIC: Self = Self(2);
    /// Underlined.
    pub const UNDERLINE: Self = Self(4);
    /// Struck through.
    pub const STRIKE: Self = Self(8);
    /// Foreground and background exchanged.
    pub const REVERSED: Self = Self(16);
    /// Dimmed.
    pub const DIM: Self = Self(32);

    /// Returns the union.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Checks whether all attributes of `other` are set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the set without the attributes of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// A color chosen by a command. A theme defines the first sixteen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AnsiColor {
    /// One of the sixteen, from 0: black, red, green, yellow, blue, magenta, cyan, white, and their bright
    /// forms.
    Basic(u8),
    /// One of the 256 colors, from 16 up; lower ones are [`AnsiColor::Basic`].
    Indexed(u8),
    /// Red, green and blue.
    Rgb(u8, u8, u8),
}

/// The style of a piece of output: attributes and colors (SGR, ECMA-48).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SgrState {
    /// The attributes.
    pub emphasis: Emphasis,
    /// The foreground color, if set.
    pub fg: Option<AnsiColor>,
    /// The background color, if set.
    pub bg: Option<AnsiColor>,
}

impl SgrState {
    /// Returns the SGR parameters that set this style from the default.
    #[must_use]
    pub fn sgr(self) -> String {
        let emphases = [
            (Emphasis::BOLD, "1"),
            (Emphasis::DIM, "2"),
            (Emphasis::ITALIC, "3"),
            (Emphasis::UNDERLINE, "4"),
            (Emphasis::REVERSED, "7"),
            (Emphasis::STRIKE, "9"),
        ];
        let set = emphases.iter().filter(|(emphasis, _)| self.emphasis.has(*emphasis));
        let mut numbers: Vec<String> = set.map(|(_, number)| (*number).to_owned()).collect();
        numbers.extend(self.fg.map(|color| color.sgr(30, 90)));
        numbers.extend(self.bg.map(|color| color.sgr(40, 100)));
        numbers.join(";")
    }
}

impl AnsiColor {
    /// Returns the SGR parameters, for colors that begin at `base` and bright ones at `bright`.
    fn sgr(self, base: u8, bright: u8) -> String {
        match self {
            Self::Basic(index @ 0..8) => (base + index).to_string(),
            Self::Basic(index) => (bright + index % 8).to_string(),
            Self::Indexed(index) => format!("{};5;{index}", base + 8),
            Self::Rgb(r, g, b) => format!("{};2;{r};{g};{b}", base + 8),
        }
    }
}
