//! A string and its runs of characters in one style.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sequence;
use super::style::SgrState;

/// Maximum number of style runs of one output; the last ones are kept. That is two per line of the longest
/// output that a model reads. In the log they take about 80 kB.
pub const MAX_STYLE_RUNS: usize = 4_000;

/// A run of characters in one style.
///
/// In JSON `[start, length, "1;31"]`, with the style as SGR parameters (ECMA-48).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    pub style_runs: Vec<StyleRun>,
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
    /// Checks that a string has no control characters other than newlines and tabs.
    #[must_use]
    pub fn is_plain(text: &str) -> bool {
        text.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\t'))
    }

    /// Returns the beginning of the text up to a byte index, which must be a character boundary.
    #[must_use]
    pub fn prefix_to(&self, byte: usize) -> Self {
        let text = self.text[..byte].to_owned();
        let count = text.chars().count();
        let remaining = self.style_runs.iter().filter(|run| run.start < count);
        let style_runs =
            remaining.map(|run| StyleRun { length: run.length.min(count - run.start), ..*run }).collect();
        Self { text, style_runs }
    }

    /// Appends a string with its styles.
    pub fn append(&mut self, other: &Self) {
        let offset = self.text.chars().count();
        self.text.push_str(&other.text);
        self.style_runs
            .extend(other.style_runs.iter().map(|run| StyleRun { start: run.start + offset, ..*run }));
    }

    /// Returns the end of the text from a byte index; an index inside a character is rounded up.
    #[must_use]
    pub fn suffix_from(&self, byte: usize) -> Self {
        let byte = self.text.ceil_char_boundary(byte);
        let (before, text) = self.text.split_at(byte);
        Self { text: text.to_owned(), style_runs: shift_runs(&self.style_runs, before.chars().count()) }
    }
}

/// Shifts styles after `characters` characters were removed from the beginning of the text.
#[must_use]
pub(crate) fn shift_runs(style_runs: &[StyleRun], characters: usize) -> Vec<StyleRun> {
    let remaining = style_runs.iter().filter(|style_run| style_run.end() > characters);
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
