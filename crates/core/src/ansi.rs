//! What a command prints, as a terminal would show it: text, and the colours it was set in.
//!
//! [`Paper`] takes what a command prints as it comes and acts on what is said to the line at hand: carriage returns, backspaces,
//! tabs, erasing, colours and emphasis. What remains is [`Printed`]: text without any sequence in it, which a model can read, and
//! beside it [`Stroke`]s that say where it is coloured. Nothing moves to another line, so nothing that is complete can be painted over;
//! all else that is said to a terminal is left out. Pure: who gathers output, keeps it or draws it does that elsewhere.

mod decoder;
mod output_buffer;
mod sequence;
mod width;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use decoder::AnsiDecoder;
pub use output_buffer::{OutputBuffer, TAB};
pub use width::{columns, of_grapheme};

/// Most strokes that are kept of one output, the last ones: two for each line of the longest output that a model reads. In the log
/// they take some 80 kB.
pub const MOST_STROKES: usize = 4_000;

/// How a piece of text stands out from others of its role: a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Emphasis(u8);

impl Emphasis {
    /// Not at all.
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

    /// Both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` is in it.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Without any of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// A colour that a command chose for what it printed, in the terms of terminals. A theme says how the first sixteen look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AnsiColor {
    /// One of the sixteen, from 0: black, red, green, yellow, blue, magenta, cyan, white, and the same bright.
    Basic(u8),
    /// One of the 256 that begin with those sixteen; from 16 up.
    Indexed(u8),
    /// Red, green and blue.
    Rgb(u8, u8, u8),
}

/// How text is set apart from other text of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SgrState {
    /// The emphasis.
    pub emphasis: Emphasis,
    /// The colour of the text, if one was chosen.
    pub fg: Option<AnsiColor>,
    /// The colour of the ground, if one was chosen.
    pub bg: Option<AnsiColor>,
}

/// A stretch of a text that is in one pen.
///
/// In JSON `[start, length, "1;31"]`: the pen is written as a terminal is told of it (ECMA-48, SGR).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(usize, usize, String)", into = "(usize, usize, String)")]
pub struct StyleRun {
    /// Characters (Unicode scalar values) before it.
    pub start: usize,
    /// Its characters.
    pub length: usize,
    /// Its pen.
    pub pen: SgrState,
}

/// What was printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StyledText {
    /// The text: of control characters it has newlines and tabs.
    pub text: String,
    /// Where it is coloured, in order and apart from each other; what is between is in no pen.
    pub strokes: Vec<StyleRun>,
}

impl SgrState {
    /// What a terminal is told to take this pen, from none on.
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
        let chosen = emphases.iter().filter(|(emphasis, _)| self.emphasis.has(*emphasis));
        let mut numbers: Vec<String> = chosen.map(|(_, number)| (*number).to_owned()).collect();
        numbers.extend(self.fg.map(|colour| colour.sgr(30, 90)));
        numbers.extend(self.bg.map(|colour| colour.sgr(40, 100)));
        numbers.join(";")
    }
}

impl AnsiColor {
    /// The numbers for it, where the first eight begin at `base` and the bright ones at `bright`.
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
    /// The number of the character behind it.
    #[must_use]
    pub const fn end(&self) -> usize {
        self.start.saturating_add(self.length)
    }
}

impl From<(usize, usize, String)> for StyleRun {
    fn from((start, length, sgr): (usize, usize, String)) -> Self {
        Self { start, length, pen: sequence::changed_by(SgrState::default(), &sgr) }
    }
}

impl From<StyleRun> for (usize, usize, String) {
    fn from(StyleRun { start, length, pen }: StyleRun) -> Self {
        (start, length, pen.sgr())
    }
}

impl StyledText {
    /// What a command printed, all at once.
    #[must_use]
    pub fn of(raw: &str) -> Self {
        let mut paper = OutputBuffer::default();
        paper.push(raw.as_bytes());
        paper.printed()
    }

    /// Text that was kept with its strokes. Where it holds what a terminal acts on (another program kept it as it came), that is acted
    /// on here, and the strokes are about another text.
    #[must_use]
    pub fn kept(text: &str, strokes: Vec<StyleRun>) -> Self {
        if Self::is_plain(text) { Self { text: text.to_owned(), strokes } } else { Self::of(text) }
    }

    /// Whether there is nothing in a text that a terminal would act on but newlines and tabs.
    #[must_use]
    pub fn is_plain(text: &str) -> bool {
        text.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\t'))
    }

    /// The end of it, from a byte of the text on; where that is no boundary, from the next one.
    #[must_use]
    pub fn end_from(&self, byte: usize) -> Self {
        let byte = self.text.ceil_char_boundary(byte);
        let (before, text) = self.text.split_at(byte);
        Self { text: text.to_owned(), strokes: moved(&self.strokes, before.chars().count()) }
    }
}

/// Strokes as the text has them that lacks so many characters at its beginning.
#[must_use]
pub fn moved(strokes: &[StyleRun], characters: usize) -> Vec<StyleRun> {
    let left = strokes.iter().filter(|stroke| stroke.end() > characters);
    left.map(|stroke| {
        let cut = characters.saturating_sub(stroke.start);
        StyleRun { start: stroke.start.saturating_sub(characters), length: stroke.length - cut, ..*stroke }
    })
    .collect()
}

/// Strokes that were kept as JSON; what is none is left out.
#[must_use]
pub fn strokes_of(value: &Value) -> Vec<StyleRun> {
    let strokes = value.as_array().into_iter().flatten();
    strokes.filter_map(|stroke| StyleRun::deserialize(stroke).ok()).take(MOST_STROKES).collect()
}

#[cfg(test)]
mod tests;
