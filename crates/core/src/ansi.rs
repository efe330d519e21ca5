//! A command's output as a terminal would show it: text and its styles.
//!
//! [`OutputBuffer`] takes raw output in chunks and applies the sequences that affect the current line:
//! carriage returns, backspaces, tabs, erasing, colors and attributes. The result is [`StyledText`]: text
//! without escape sequences, which a model can read, and its [`StyleRun`]s. The cursor never moves to another
//! line, so no finished line can be overwritten; all other sequences are dropped. Pure.
//! finished line can be overwritten; all other sequences are dropped. Pure.

mod decoder;
mod output_buffer;
mod sequence;
mod style;
mod styled_text;
mod width;

use serde::Deserialize;
use serde_json::Value;

pub use decoder::Utf8Decoder;
pub use output_buffer::{OutputBuffer, TAB};
pub use style::{AnsiColor, Emphasis, SgrState};
pub use styled_text::{MAX_STYLE_RUNS, StyleRun, StyledText};
pub use width::{columns, grapheme_width};

impl StyledText {
    /// Parses the complete output of a command.
    #[must_use]
    pub fn parse(raw: &str) -> Self {
        let mut buffer = OutputBuffer::default();
        buffer.push(raw.as_bytes());
        buffer.styled_text()
    }

    /// Creates styled text from a session log. If the text contains escape sequences (other programs store
    /// raw output), it is parsed again, and the style runs, whose positions no longer fit, are dropped.
    #[must_use]
    pub fn from_stored(text: &str, style_runs: Vec<StyleRun>) -> Self {
        if Self::is_plain(text) { Self { text: text.to_owned(), style_runs } } else { Self::parse(text) }
    }
}

/// Parses styles stored as JSON; invalid items are skipped.
#[must_use]
pub fn parse_style_runs(value: &Value) -> Vec<StyleRun> {
    let style_runs = value.as_array().into_iter().flatten();
    style_runs.filter_map(|style_run| StyleRun::deserialize(style_run).ok()).take(MAX_STYLE_RUNS).collect()
}

#[cfg(test)]
mod tests;
