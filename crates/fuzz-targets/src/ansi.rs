//! Terminal output as text and colors.

use tiller_core::ansi::{OutputBuffer, StyleRun, StyledText, parse_style_runs};

/// Decodes command output.
///
/// - Pieces give the same result as the whole.
/// - The text holds no control characters but newlines and tabs, and decoding it again changes nothing.
/// - Style runs are in order, don't overlap, lie within the text, and survive a round trip through JSON.
///
/// # Panics
/// If a property doesn't hold.
pub fn ansi_text(data: &[u8]) {
    let printed = decode(&[data]);
    assert_eq!(decode(&super::cut(data)), printed, "pieces differ from the whole");
    assert_eq!(decode(&data.chunks(1).collect::<Vec<_>>()), printed, "bytes differ from the whole");
    let StyledText { text, style_runs } = &printed;
    let is_forbidden = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    assert!(!text.contains(is_forbidden), "control characters in {text:?}");
    assert!(StyledText::is_plain(text));
    assert_eq!(StyledText::parse(text).text, *text, "plain text is changed");
    let mut end = 0;
    for style_run in style_runs {
        assert!(style_run.start >= end && style_run.length > 0, "style runs out of order: {style_runs:?}");
        end = style_run.end();
    }
    assert!(end <= text.chars().count(), "a style run behind the text");
    let json = serde_json::to_value(style_runs).unwrap();
    assert_eq!(parse_style_runs(&json), as_read(style_runs), "style runs change in JSON");
}

fn decode(pieces: &[&[u8]]) -> StyledText {
    let mut buffer = OutputBuffer::default();
    for piece in pieces {
        buffer.push(piece);
    }
    buffer.styled_text()
}

/// The style runs that reading returns: all of them, up to the limit.
fn as_read(style_runs: &[StyleRun]) -> &[StyleRun] {
    &style_runs[..style_runs.len().min(tiller_core::ansi::MAX_STYLE_RUNS)]
}
