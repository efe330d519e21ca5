//! A line that is typed in a list: what narrows it, a new name, a value. The cursor stands at its end.

use unicode_segmentation::UnicodeSegmentation;

/// The line.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct LineInput(String);

/// It may be a key, so it isn't printed.
impl std::fmt::Debug for LineInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Typed({} bytes)", self.0.len())
    }
}

impl LineInput {
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// How many characters there are, as a person counts them.
    pub(crate) fn count(&self) -> usize {
        self.0.graphemes(true).count()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds what was typed or pasted; what isn't visible is left out, a new line becomes a space.
    pub(crate) fn push(&mut self, text: &str) {
        let visible = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c });
        self.0.extend(visible.filter(|c| !c.is_control()));
    }

    /// Takes back the last character.
    pub(crate) fn pop(&mut self) {
        let end = self.0.grapheme_indices(true).next_back().map_or(0, |(at, _)| at);
        self.0.truncate(end);
    }

    /// Takes back the last word.
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
        let mut typed = Self::default();
        typed.push(text);
        typed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_and_words_are_taken_back_from_the_end() {
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
