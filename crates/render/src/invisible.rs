//! Characters that nobody sees, or that change how others are seen, where they have no business.
//!
//! Joiners, variation selectors and tags belong inside emoji and some scripts, and stay there. Anywhere else they make two
//! texts look alike that aren't, or carry words that only a model reads; there, as everywhere those that reorder text, their
//! number is shown in their place: `<U+202E>`.

/// Tags that a flag of a region has at most, its end among them.
const MOST_TAGS: u8 = 7;

const FLAG: char = '\u{1f3f4}';
const END_OF_TAGS: char = '\u{e007f}';

/// Looks at one character after the other, each with the one that follows.
#[derive(Debug, Default)]
pub(super) struct InvisibleChars {
    before: Option<char>,
    /// How many more tags the flag before may have.
    tags: u8,
}

impl InvisibleChars {
    /// Whether `c` must be made visible.
    pub(super) fn finds(&mut self, c: char, after: Option<char>) -> bool {
        if c < '\u{80}' {
            (self.before, self.tags) = (Some(c), 0);
            return false;
        }
        let before = self.before.replace(c);
        let tags = std::mem::take(&mut self.tags);
        match c {
            FLAG => {
                self.tags = MOST_TAGS;
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
            c => is_hidden(c),
        }
    }
}

/// How a character is shown that can't be shown as itself.
pub(super) fn name(c: char) -> String {
    format!("<U+{:04X}>", u32::from(c))
}

/// Whether a joiner or a selector has something to do beside `c`.
fn may_join(c: char) -> bool {
    let selects = matches!(c, '\u{fe00}'..='\u{fe0e}' | '\u{180b}'..='\u{180d}' | '\u{e0100}'..='\u{e01ef}');
    c > '\u{a0}' && !selects && !is_hidden(c) && !matches!(c, '\u{200c}' | '\u{200d}')
}

const fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Characters without a look of their own (Unicode 16: default ignorable, bidirectional controls, line separators,
/// annotations), but for those that [`Watch`] tells apart.
const fn is_hidden(c: char) -> bool {
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

    /// The text with what is found in its place.
    fn shown(text: &str) -> String {
        let (mut watch, mut out) = (InvisibleChars::default(), String::new());
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match watch.finds(c, chars.peek().copied()) {
                true => out.push_str(&name(c)),
                false => out.push(c),
            }
        }
        out
    }

    #[test]
    fn what_belongs_to_emoji_and_to_scripts_stays() {
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
            assert_eq!(shown(text), text);
        }
    }

    #[test]
    fn what_hides_or_reorders_is_named() {
        assert_eq!(shown("a\u{202e}b"), "a<U+202E>b");
        assert_eq!(shown("us\u{200b}er\u{200d}s"), "us<U+200B>er<U+200D>s");
        assert_eq!(shown("x\u{fe01}\u{fe02}"), "x<U+FE01><U+FE02>");
        assert_eq!(shown("日\u{fe01}\u{fe02}"), "日\u{fe01}<U+FE02>");
        assert_eq!(shown("hi\u{e0068}\u{e0069}"), "hi<U+E0068><U+E0069>");
        let smuggled = format!("🏴{}", "\u{e0061}".repeat(9));
        assert_eq!(shown(&smuggled).matches("<U+E0061>").count(), 2);
    }
}
