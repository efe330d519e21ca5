//! A single-line input with the cursor at its end: filters, names, values.

use unicode_segmentation::UnicodeSegmentation;

#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct LineInput(String);

/// The text may be an API key and isn't printed.
impl std::fmt::Debug for LineInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LineInput({} bytes)", self.0.len())
    }
}

impl LineInput {
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Number of graphemes.
    pub(crate) fn count(&self) -> usize {
        self.0.graphemes(true).count()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends typed or pasted text; whitespace becomes a space, control characters are dropped.
    pub(crate) fn push(&mut self, text: &str) {
        let visible = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c });
        self.0.extend(visible.filter(|c| !c.is_control()));
    }

    /// Deletes the last grapheme.
    pub(crate) fn pop(&mut self) {
        let end = self.0.grapheme_indices(true).next_back().map_or(0, |(at, _)| at);
        self.0.truncate(end);
    }

    /// Deletes the last word.
    pub(crate) fn pop_word(&mut self) {
        let rest = self.0.trim_end();
        let end = rest.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        self.0.truncate(end);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl From<&str> for LineInput {
    fn from(text: &str) -> Self {
        let mut line = Self::default();
        line.push(text);
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_input_pops_graphemes_and_words() {
        let mut typed = LineInput::from("one two\nthree e\u{301}");
        assert_eq!(typed.text(), "one two three e\u{301}");
        typed.pop();
        assert_eq!(typed.text(), "one two three ");
        typed.pop_word();
        assert_eq!(typed.text(), "one two ");
        typed.pop_word();
        typed.pop_word();
        typed.pop_word();
        typed.pop();
        assert!(typed.is_empty());
    }
}
