//! Output limits: truncation to whole lines, from the beginning or from the end.

use tiller_core::setting::Settings;

/// Limits of one tool result; the first limit that is reached applies. Notices aren't counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputLimits {
    /// Maximum number of lines.
    pub max_lines: usize,
    /// Maximum number of characters.
    pub max_chars: usize,
}

impl Default for OutputLimits {
    /// Returns the defaults of the settings.
    fn default() -> Self {
        Self::from(&Settings::default())
    }
}

impl From<&Settings> for OutputLimits {
    fn from(settings: &Settings) -> Self {
        Self { max_lines: settings.tool_output_max_lines(), max_chars: settings.tool_output_max_chars() }
    }
}

/// A truncated text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TruncatedText<'a> {
    /// The remaining part.
    pub text: &'a str,
    /// The number of its lines.
    pub lines: usize,
    /// The extent of the truncation.
    pub extent: TruncationExtent,
}

/// The extent of a truncation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TruncationExtent {
    /// Nothing was removed.
    Whole,
    /// Whole lines remain.
    Lines,
    /// Part of a single line remains, because the line alone exceeds the limit.
    PartOfLine,
}

impl OutputLimits {
    /// Truncates a string, keeping its beginning.
    #[must_use]
    pub fn head<'a>(&self, text: &'a str) -> TruncatedText<'a> {
        let (lines, bytes) = self.count_fitting(text.split_inclusive('\n'));
        if bytes == 0 && !text.is_empty() {
            let end = text.char_indices().nth(self.max_chars).map_or(text.len(), |(at, _)| at);
            return TruncatedText { text: &text[..end], lines: 1, extent: TruncationExtent::PartOfLine };
        }
        TruncatedText { text: &text[..bytes], lines, extent: extent_of(bytes, text) }
    }

    /// Truncates a string, keeping its end.
    #[must_use]
    pub fn tail<'a>(&self, text: &'a str) -> TruncatedText<'a> {
        let (lines, bytes) = self.count_fitting(text.split_inclusive('\n').rev());
        if bytes == 0 && !text.is_empty() {
            let last = self.max_chars.saturating_sub(1);
            let start = text.char_indices().rev().nth(last).map_or(0, |(at, _)| at);
            return TruncatedText { text: &text[start..], lines: 1, extent: TruncationExtent::PartOfLine };
        }
        TruncatedText { text: &text[text.len() - bytes..], lines, extent: extent_of(bytes, text) }
    }

    /// Divides the limits: a quarter for the beginning of the output, the rest for its end.
    pub(super) const fn split(self) -> (Self, Self) {
        let (lines, chars) = (self.max_lines / 4, self.max_chars / 4);
        let end = Self { max_lines: self.max_lines - lines, max_chars: self.max_chars - chars };
        (Self { max_lines: lines, max_chars: chars }, end)
    }

    /// Counts the lines that fit, and their bytes.
    fn count_fitting<'a>(&self, lines: impl Iterator<Item = &'a str>) -> (usize, usize) {
        let (mut count, mut chars, mut bytes) = (0, 0, 0);
        for line in lines.take(self.max_lines) {
            chars += line.chars().count();
            if chars > self.max_chars {
                break;
            }
            count += 1;
            bytes += line.len();
        }
        (count, bytes)
    }
}

fn extent_of(bytes: usize, text: &str) -> TruncationExtent {
    if bytes == text.len() { TruncationExtent::Whole } else { TruncationExtent::Lines }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: OutputLimits = OutputLimits { max_lines: 2, max_chars: 6 };

    #[test]
    fn limits_whole_lines_are_kept_up_to_either_limit() {
        let truncated = |text, lines, extent| TruncatedText { text, lines, extent };
        for (text, head, tail) in [
            ("", truncated("", 0, TruncationExtent::Whole), truncated("", 0, TruncationExtent::Whole)),
            (
                "a\nb\n",
                truncated("a\nb\n", 2, TruncationExtent::Whole),
                truncated("a\nb\n", 2, TruncationExtent::Whole),
            ),
            (
                "a\nb\nc",
                truncated("a\nb\n", 2, TruncationExtent::Lines),
                truncated("b\nc", 2, TruncationExtent::Lines),
            ),
            (
                "äöü\nöäüß\n",
                truncated("äöü\n", 1, TruncationExtent::Lines),
                truncated("öäüß\n", 1, TruncationExtent::Lines),
            ),
            (
                "öäüöäüß",
                truncated("öäüöäü", 1, TruncationExtent::PartOfLine),
                truncated("äüöäüß", 1, TruncationExtent::PartOfLine),
            ),
        ] {
            assert_eq!((LIMITS.head(text), LIMITS.tail(text)), (head, tail), "{text:?}");
        }
    }
}
