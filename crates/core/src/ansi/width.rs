//! How many columns of a terminal a text takes.
//!
//! By graphemes, as terminals and the cells of a screen have them: a text is as wide as its graphemes together, and nothing that two
//! of them might be drawn as (an Arabic ligature) makes it narrower.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Columns that a text takes.
#[must_use]
pub fn columns(text: &str) -> usize {
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return text.len();
    }
    text.graphemes(true).map(of_grapheme).sum()
}

/// Columns that one grapheme takes.
#[must_use]
pub fn of_grapheme(grapheme: &str) -> usize {
    if grapheme.len() == 1 {
        return usize::from(grapheme != "\n");
    }
    // The two marks of halfwidth katakana: a cell of the screen counts a column more for each.
    let marks = grapheme.chars().filter(|c| matches!(c, '\u{ff9e}' | '\u{ff9f}')).count();
    grapheme.width() + marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_as_wide_as_its_graphemes() {
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
