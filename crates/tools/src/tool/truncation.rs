//! How much of a text a model gets to read: whole lines, from the beginning or from the end.

/// Most that one tool result may hold, whichever is reached first. Notices come on top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputLimits {
    /// Most lines.
    pub max_lines: usize,
    /// Most characters.
    pub max_chars: usize,
}

impl Default for OutputLimits {
    /// The defaults of the settings `tool_output.max_lines` and `tool_output.max_chars`.
    fn default() -> Self {
        Self { max_lines: 2_000, max_chars: 40_000 }
    }
}

/// What the limits leave of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncated<'a> {
    /// The part that is left.
    pub text: &'a str,
    /// How many lines that is.
    pub lines: usize,
    /// What became of the rest.
    pub extent: TruncationExtent,
}

/// How much of a text is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TruncationExtent {
    /// All of it.
    Whole,
    /// Some whole lines.
    Lines,
    /// A part of one line, which alone is over the limit.
    PartOfLine,
}

impl OutputLimits {
    /// Keeps the beginning of a text.
    #[must_use]
    pub fn head<'a>(&self, text: &'a str) -> Truncated<'a> {
        let (lines, bytes) = self.fitting(text.split_inclusive('\n'));
        if bytes == 0 && !text.is_empty() {
            let end = text.char_indices().nth(self.max_chars).map_or(text.len(), |(at, _)| at);
            return Truncated { text: &text[..end], lines: 1, extent: TruncationExtent::PartOfLine };
        }
        Truncated { text: &text[..bytes], lines, extent: extent_of(bytes, text) }
    }

    /// Keeps the end of a text.
    #[must_use]
    pub fn tail<'a>(&self, text: &'a str) -> Truncated<'a> {
        let (lines, bytes) = self.fitting(text.split_inclusive('\n').rev());
        if bytes == 0 && !text.is_empty() {
            let last = self.max_chars.saturating_sub(1);
            let start = text.char_indices().rev().nth(last).map_or(0, |(at, _)| at);
            return Truncated { text: &text[start..], lines: 1, extent: TruncationExtent::PartOfLine };
        }
        Truncated { text: &text[text.len() - bytes..], lines, extent: extent_of(bytes, text) }
    }

    /// How many of the lines fit, and their bytes.
    fn fitting<'a>(&self, lines: impl Iterator<Item = &'a str>) -> (usize, usize) {
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
    fn whole_lines_are_kept_up_to_either_limit() {
        let kept = |text, lines, extent| Truncated { text, lines, extent };
        for (text, head, tail) in [
            ("", kept("", 0, TruncationExtent::Whole), kept("", 0, TruncationExtent::Whole)),
            (
                "a\nb\n",
                kept("a\nb\n", 2, TruncationExtent::Whole),
                kept("a\nb\n", 2, TruncationExtent::Whole),
            ),
            ("a\nb\nc", kept("a\nb\n", 2, TruncationExtent::Lines), kept("b\nc", 2, TruncationExtent::Lines)),
            (
                "äöü\nöäüß\n",
                kept("äöü\n", 1, TruncationExtent::Lines),
                kept("öäüß\n", 1, TruncationExtent::Lines),
            ),
            (
                "öäüöäüß",
                kept("öäüöäü", 1, TruncationExtent::PartOfLine),
                kept("äüöäüß", 1, TruncationExtent::PartOfLine),
            ),
        ] {
            assert_eq!((LIMITS.head(text), LIMITS.tail(text)), (head, tail), "{text:?}");
        }
    }
}
