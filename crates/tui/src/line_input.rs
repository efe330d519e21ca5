//! A single-line input with the cursor at its end: filters, searches, names, values.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_segmentation::UnicodeSegmentation;

use crate::keymap::table::KeyCommand;

#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct LineInput(String);

/// The text may be an API key and must not be printed.
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

    /// Handles a key and the command that it is bound to; returns true if it edits the line.
    pub(crate) fn edit(&mut self, key: KeyEvent, command: Option<KeyCommand>) -> bool {
        match (command, typed_char(key)) {
            (Some(KeyCommand::ClearFilter), _) => self.clear(),
            (Some(KeyCommand::DeleteWord), _) => self.pop_word(),
            (None, Some(c)) => self.push(c.encode_utf8(&mut [0; 4])),
            (None, None) if key.code == KeyCode::Backspace => self.pop(),
            _ => return false,
        }
        true
    }

    /// Appends typed or pasted text. Whitespace becomes a space; control characters are dropped.
    pub(crate) fn push(&mut self, text: &str) {
        let visible = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c });
        self.0.extend(visible.filter(|c| !c.is_control()));
    }

    /// Deletes the last grapheme.
    pub(crate) fn pop(&mut self) {
        pop_grapheme(&mut self.0);
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

/// Returns the character that a key types, if any.
pub(crate) fn typed_char(key: KeyEvent) -> Option<char> {
    match key.code {
        KeyCode::Char(c) if (key.modifiers - KeyModifiers::SHIFT).is_empty() => Some(c),
        _ => None,
    }
}

/// Deletes the last grapheme of a string.
pub(crate) fn pop_grapheme(text: &mut String) {
    let end = text.grapheme_indices(true).next_back().map_or(0, |(at, _)| at);
    text.truncate(end);
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
    fn line_input_keys_edit_unless_they_are_bound() {
        let key = |code| KeyEvent::from(code);
        let control = KeyEvent::new(KeyCode::Char('x'), KeyModifiers::CONTROL);
        let rows = [
            (key(KeyCode::Char('Z')), None, Some("one twe\u{301}Z")),
            (key(KeyCode::Backspace), None, Some("one tw")),
            (control, Some(KeyCommand::DeleteWord), Some("one ")),
            (control, Some(KeyCommand::ClearFilter), Some("")),
            (control, None, None),
            (key(KeyCode::Char('j')), Some(KeyCommand::Down), None),
            (key(KeyCode::Enter), None, None),
        ];
        for (key, command, expected) in rows {
            let mut line = LineInput::from("one twe\u{301}");
            assert_eq!(line.edit(key, command), expected.is_some(), "{key:?}");
            assert_eq!(line.text(), expected.unwrap_or("one twe\u{301}"), "{key:?}");
        }
    }

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
