//! The width of text in terminal columns.
//!
//! Text is measured by graphemes, as terminals do: its width is the sum of their widths. A ligature of
//! several graphemes, as in Arabic, doesn't reduce it.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Returns the width of a string in columns.
#[must_use]
pub fn columns(text: &str) -> usize {
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return text.len();
    }
    text.graphemes(true).map(grapheme_width).sum()
}

/// Returns the width of one grapheme in columns.
#[must_use]
pub fn grapheme_width(grapheme: &str) -> usize {
    if grapheme.len() == 1 {
        return usize::from(grapheme != "\n");
    }
    // The two voiced sound marks of halfwidth katakana: each takes a column of its own.
    let marks = grapheme.chars().filter(|c| matches!(c, '\u{ff9e}' | '\u{ff9f}')).count();
    grapheme.width() + marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_text_is_as_wide_as_its_graphemes() {
        for (text, wide) in [
            ("abc", 3),
            ("日本", 4),
            ("e\u{301}x", 2),
            ("👨\u{200d}👩\u{200d}👧!", 3),
            ("🇩🇪🇫🇷", 4),
            ("👍🏽", 2),
            ("❤\u{fe0f}", 2),
            // Lam and alef: one glyph in two cells.
            ("لا", 2),
        ] {
            assert_eq!(columns(text), wide, "{text}");
        }
    }
}
