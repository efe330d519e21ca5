//! Detection of invisible characters and characters that reorder text.
//!
//! Joiners, variation selectors and tags are kept inside emoji and the scripts that use them. Anywhere else
//! they make different strings look alike, or hide text that only a model reads. There, and everywhere for
//! characters that reorder text, the code point is shown: `<U+202E>`.

/// Maximum number of tags in a region's flag, including the end tag.
const MAX_TAGS: u8 = 7;

const FLAG: char = '\u{1f3f4}';
const END_OF_TAGS: char = '\u{e007f}';

/// Checks a string character by character, each with its successor.
#[derive(Debug, Default)]
pub(super) struct InvisibleChars {
    before: Option<char>,
    /// Number of tags that may still follow the preceding flag.
    tags: u8,
}

impl InvisibleChars {
    /// Returns true if `c` must be made visible.
    pub(super) fn is_invisible(&mut self, c: char, after: Option<char>) -> bool {
        if c < '\u{80}' {
            (self.before, self.tags) = (Some(c), 0);
            return false;
        }
        let before = self.before.replace(c);
        let tags = std::mem::take(&mut self.tags);
        match c {
            FLAG => {
                self.tags = MAX_TAGS;
                false
            }
            '\u{e0020}'..=END_OF_TAGS => {
                self.tags = if c == END_OF_TAGS { 0 } else { tags.saturating_sub(1) };
                tags == 0
            }
            '\u{200c}' | '\u{200d}' => !(before.is_some_and(may_join) && after.is_some_and(may_join)),
            '\u{fe00}'..='\u{fe0f}' | '\u{180b}'..='\u{180d}' => {
                let key = before.is_some_and(|c| c.is_ascii_digit() || matches!(c, '#' | '*'));
                let keycap = key && after == Some('\u{20e3}');
                !(keycap || before.is_some_and(may_join))
            }
            '\u{e0100}'..='\u{e01ef}' => !before.is_some_and(is_ideograph),
            c => has_no_glyph(c),
        }
    }
}

/// Returns the visible form of an invisible character.
pub(super) fn name(c: char) -> String {
    format!("<U+{:04X}>", u32::from(c))
}

/// Returns true if a joiner or selector is meaningful next to `c`.
fn may_join(c: char) -> bool {
    let selects = matches!(c, '\u{fe00}'..='\u{fe0e}' | '\u{180b}'..='\u{180d}' | '\u{e0100}'..='\u{e01ef}');
    c > '\u{a0}' && !selects && !has_no_glyph(c) && !matches!(c, '\u{200c}' | '\u{200d}')
}

const fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Checks for characters without a glyph (Unicode 16: default ignorable, bidirectional controls, line
/// separators, annotations), except those that [`InvisibleChars`] handles.
const fn has_no_glyph(c: char) -> bool {
    matches!(
        c,
        '\u{80}'..='\u{9f}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180e}'
            | '\u{180f}'
            | '\u{200b}'
            | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the text with invisible characters replaced.
    fn replaced(text: &str) -> String {
        let (mut detector, mut out) = (InvisibleChars::default(), String::new());
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match detector.is_invisible(c, chars.peek().copied()) {
                true => out.push_str(&name(c)),
                false => out.push(c),
            }
        }
        out
    }

    #[test]
    fn invisible_chars_in_emoji_and_scripts_stay() {
        for text in [
            "👨\u{200d}👩\u{200d}👧",
            "❤\u{fe0f}\u{200d}🔥",
            "1\u{fe0f}\u{20e3}",
            "©\u{fe0f}",
            "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
            "می\u{200c}خواهم",
            "葛\u{e0100}",
            "e\u{301} ñ שלום",
        ] {
            assert_eq!(replaced(text), text);
        }
    }

    #[test]
    fn invisible_chars_elsewhere_are_named() {
        assert_eq!(replaced("a\u{202e}b"), "a<U+202E>b");
        assert_eq!(replaced("us\u{200b}er\u{200d}s"), "us<U+200B>er<U+200D>s");
        assert_eq!(replaced("x\u{fe01}\u{fe02}"), "x<U+FE01><U+FE02>");
        assert_eq!(replaced("日\u{fe01}\u{fe02}"), "日\u{fe01}<U+FE02>");
        assert_eq!(replaced("hi\u{e0068}\u{e0069}"), "hi<U+E0068><U+E0069>");
        let hidden_text = format!("🏴{}", "\u{e0061}".repeat(9));
        assert_eq!(replaced(&hidden_text).matches("<U+E0061>").count(), 2);
    }
}
