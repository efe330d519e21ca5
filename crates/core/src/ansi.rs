//! A command's output as a terminal would show it: text and its styles.
//!
//! [`OutputBuffer`] takes raw output in pieces and applies the sequences that act on the current line: carriage
//! returns, backspaces, tabs, erasing, colors and emphasis. The result is [`StyledText`]: text without escape
//! sequences, which a model can read, and [`StyleRun`]s with its styles. The cursor never moves to another line, so no
//! finished line can be overwritten; all other sequences are dropped. Pure.

mod decoder;
mod output_buffer;
mod sequence;
mod width;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use decoder::Utf8Decoder;
pub use output_buffer::{OutputBuffer, TAB};
pub use width::{columns, grapheme_width};

/// Maximum number of style runs of one output; the last ones are kept. That is two per line of the longest output that
/// a model reads. In the log they take about 80 kB.
pub const MAX_STYLE_RUNS: usize = 4_000;

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
    /// One of the sixteen, from 0: black, red, green, yellow, blue, magenta, cyan, white, and their bright forms.
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

/// A run of characters in one style.
///
/// In JSON `[start, length, "1;31"]`, with the style in SGR parameters (ECMA-48).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(usize, usize, String)", into = "(usize, usize, String)")]
pub struct StyleRun {
    /// Index of the first character (Unicode scalar value) in the text.
    pub start: usize,
    /// Number of characters.
    pub length: usize,
    /// The style.
    pub style: SgrState,
}

/// A command's output as text and styles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StyledText {
    /// The text. Its only control characters are newlines and tabs.
    pub text: String,
    /// The styles, in order and without overlaps; other characters have the default style.
    pub strokes: Vec<StyleRun>,
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

impl StyleRun {
    /// Returns the index after the last character.
    #[must_use]
    pub const fn end(&self) -> usize {
        self.start.saturating_add(self.length)
    }
}

impl From<(usize, usize, String)> for StyleRun {
    fn from((start, length, sgr): (usize, usize, String)) -> Self {
        Self { start, length, style: sequence::apply_sgr(SgrState::default(), &sgr) }
    }
}

impl From<StyleRun> for (usize, usize, String) {
    fn from(StyleRun { start, length, style: sgr }: StyleRun) -> Self {
        (start, length, sgr.sgr())
    }
}

impl StyledText {
    /// Converts a command's whole output.
    #[must_use]
    pub fn parse(raw: &str) -> Self {
        let mut buffer = OutputBuffer::default();
        buffer.push(raw.as_bytes());
        buffer.styled_text()
    }

    /// Creates a stored text with its styles. If the text has escape sequences (another program stored it raw), they
    /// are applied, and the given styles are dropped, because their positions refer to another text.
    #[must_use]
    pub fn from_stored(text: &str, strokes: Vec<StyleRun>) -> Self {
        if Self::is_plain(text) { Self { text: text.to_owned(), strokes } } else { Self::parse(text) }
    }

    /// Checks that a text has no control characters but newlines and tabs.
    #[must_use]
    pub fn is_plain(text: &str) -> bool {
        text.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\t'))
    }

    /// Returns the end of the text from a byte index on; an index inside a character is moved to the next one.
    #[must_use]
    pub fn suffix_from(&self, byte: usize) -> Self {
        let byte = self.text.ceil_char_boundary(byte);
        let (before, text) = self.text.split_at(byte);
        Self { text: text.to_owned(), strokes: shift_runs(&self.strokes, before.chars().count()) }
    }
}

/// Shifts styles after `characters` characters were removed from the beginning of the text.
#[must_use]
pub(crate) fn shift_runs(strokes: &[StyleRun], characters: usize) -> Vec<StyleRun> {
    let remaining = strokes.iter().filter(|style_run| style_run.end() > characters);
    remaining
        .map(|style_run| {
            let cut = characters.saturating_sub(style_run.start);
            StyleRun {
                start: style_run.start.saturating_sub(characters),
                length: style_run.length - cut,
                ..*style_run
            }
        })
        .collect()
}

/// Parses styles stored as JSON; invalid items are skipped.
#[must_use]
pub fn parse_style_runs(value: &Value) -> Vec<StyleRun> {
    let strokes = value.as_array().into_iter().flatten();
    strokes.filter_map(|style_run| StyleRun::deserialize(style_run).ok()).take(MAX_STYLE_RUNS).collect()
}

#[cfg(test)]
mod tests;
