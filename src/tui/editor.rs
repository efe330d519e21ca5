//! The editor: a text area with our keys, pastes that collapse, and the prompts of earlier times.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget;
use ratatui_textarea::{CursorMove, TextArea, WrapMode};

/// A paste longer than this, in lines or characters, collapses to a token until it is sent.
const PASTE_LINES: usize = 8;
const PASTE_CHARS: usize = 1_000;

/// What the user is about to say.
#[derive(Debug)]
pub(super) struct Editor {
    area: TextArea<'static>,
    /// What the tokens in the text stand for.
    pastes: Vec<Paste>,
    history: Vec<String>,
    /// Which prompt of the history is shown, and what was there before.
    recalled: Option<(usize, String)>,
}

#[derive(Debug)]
struct Paste {
    token: String,
    text: String,
}

/// What was put aside.
#[derive(Debug)]
pub(super) struct Draft {
    area: TextArea<'static>,
    pastes: Vec<Paste>,
}

impl Draft {
    /// The text as it is meant.
    pub(super) fn expanded(&self) -> String {
        expanded(&self.area, &self.pastes)
    }
}

fn expanded(area: &TextArea<'_>, pastes: &[Paste]) -> String {
    pastes.iter().fold(area.lines().join("\n"), |text, paste| text.replace(&paste.token, &paste.text))
}

impl Editor {
    pub(super) fn new(history: Vec<String>) -> Self {
        Self { area: blank_area(Vec::new()), pastes: Vec::new(), history, recalled: None }
    }

    /// The text as it is shown, tokens unexpanded.
    pub(super) fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// The text as it is meant.
    pub(super) fn expanded(&self) -> String {
        expanded(&self.area, &self.pastes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// Puts another text in the place of what is there.
    pub(super) fn set_text(&mut self, text: &str) {
        self.area = blank_area(text.split('\n').map(str::to_owned).collect());
        self.area.move_cursor(CursorMove::Bottom);
        self.area.move_cursor(CursorMove::End);
        self.recalled = None;
    }

    /// Puts texts before what is there.
    pub(super) fn put_before(&mut self, texts: &[String]) {
        let mut parts = texts.to_vec();
        parts.extend((!self.is_empty()).then(|| self.text()));
        self.set_text(&parts.join("\n\n"));
    }

    /// Empties it; what was there can be had back by undoing.
    pub(super) fn clear(&mut self) {
        self.area.select_all();
        self.area.cut();
        self.recalled = None;
    }

    /// Takes the text as it is meant, and empties the editor for good.
    pub(super) fn take(&mut self) -> String {
        let text = self.expanded();
        self.area = blank_area(Vec::new());
        self.pastes.clear();
        self.recalled = None;
        text
    }

    /// Puts what is there aside, and empties the editor.
    pub(super) fn put_aside(&mut self) -> Draft {
        let area = std::mem::replace(&mut self.area, blank_area(Vec::new()));
        self.recalled = None;
        Draft { area, pastes: std::mem::take(&mut self.pastes) }
    }

    /// Takes up what was put aside, in the place of what is there.
    pub(super) fn take_up(&mut self, draft: Draft) {
        (self.area, self.pastes, self.recalled) = (draft.area, draft.pastes, None);
    }

    /// Puts a prompt into the history; false when it is the same as the newest there.
    pub(super) fn remember(&mut self, text: &str) -> bool {
        if self.history.last().is_some_and(|last| last == text) {
            return false;
        }
        self.history.push(text.to_owned());
        true
    }

    /// Prompts of earlier times, oldest first.
    pub(super) fn history(&self) -> &[String] {
        &self.history
    }

    pub(super) fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let lines = text.lines().count();
        if lines <= PASTE_LINES && text.len() <= PASTE_CHARS {
            self.area.insert_str(&text);
            return;
        }
        let number = self.pastes.len() + 1;
        let token = if lines > 1 {
            format!("[paste #{number}: {lines} lines]")
        } else {
            format!("[paste #{number}: {} characters]", text.chars().count())
        };
        self.area.insert_str(&token);
        self.pastes.push(Paste { token, text });
    }

    pub(super) fn newline(&mut self) {
        self.area.insert_newline();
    }

    /// Takes away a backslash before the cursor and breaks the line there; false when there is none.
    pub(super) fn continue_line(&mut self) -> bool {
        let continues = self.before_cursor().ends_with('\\');
        if continues {
            self.area.delete_char();
            self.newline();
        }
        continues
    }

    /// The line of the cursor, up to it.
    pub(super) fn before_cursor(&self) -> String {
        let cursor = self.area.cursor();
        self.area.lines().get(cursor.0).map(|line| line.chars().take(cursor.1).collect()).unwrap_or_default()
    }

    /// Puts a text in the place of so many characters before the cursor.
    pub(super) fn replace_before(&mut self, count: usize, text: &str) {
        for _ in 0..count {
            self.area.delete_char();
        }
        self.area.insert_str(text);
    }

    /// Does what a key does in a text; false when it does nothing there.
    pub(super) fn key(&mut self, key: KeyEvent) -> bool {
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match key.code {
            KeyCode::Char(c) if ctrl => self.control(c),
            KeyCode::Char(c) if alt => self.meta(c),
            KeyCode::Char(c) => self.area.insert_char(c),
            KeyCode::Backspace if ctrl || alt => _ = self.area.delete_word(),
            KeyCode::Backspace => self.backspace(),
            KeyCode::Delete => _ = self.area.delete_next_char(),
            KeyCode::Left if ctrl || alt => self.area.move_cursor(CursorMove::WordBack),
            KeyCode::Right if ctrl || alt => self.area.move_cursor(CursorMove::WordForward),
            KeyCode::Left => self.area.move_cursor(CursorMove::Back),
            KeyCode::Right => self.area.move_cursor(CursorMove::Forward),
            KeyCode::Up => return self.up(),
            KeyCode::Down => return self.down(),
            KeyCode::Home => self.area.move_cursor(CursorMove::Head),
            KeyCode::End => self.area.move_cursor(CursorMove::End),
            _ => return false,
        }
        true
    }

    fn control(&mut self, c: char) {
        match c.to_ascii_lowercase() {
            'a' => self.area.move_cursor(CursorMove::Head),
            'e' => self.area.move_cursor(CursorMove::End),
            'b' => self.area.move_cursor(CursorMove::Back),
            'h' => self.backspace(),
            'w' => _ = self.area.delete_word(),
            'u' => _ = self.area.delete_line_by_head(),
            'k' => _ = self.area.delete_line_by_end(),
            'y' => _ = self.area.paste(),
            // Ctrl+_ as terminals without the keyboard protocol send it, and with it.
            '_' | '-' | '7' => _ = self.area.undo(),
            _ => {}
        }
    }

    fn meta(&mut self, c: char) {
        match c.to_ascii_lowercase() {
            'b' => self.area.move_cursor(CursorMove::WordBack),
            'f' => self.area.move_cursor(CursorMove::WordForward),
            'd' => _ = self.area.delete_next_word(),
            'u' => _ = self.area.undo(),
            'r' | '_' => _ = self.area.redo(),
            _ => {}
        }
    }

    /// A token goes as a whole.
    fn backspace(&mut self) {
        let before = self.before_cursor();
        let token = self.pastes.iter().find(|paste| before.ends_with(&paste.token));
        let count = token.map_or(1, |paste| paste.token.chars().count());
        for _ in 0..count {
            self.area.delete_char();
        }
    }

    fn up(&mut self) -> bool {
        if self.area.screen_cursor().row > 0 {
            self.area.move_cursor(CursorMove::Up);
            return true;
        }
        let at = self.recalled.as_ref().map_or(self.history.len(), |(at, _)| *at);
        at.checked_sub(1).is_some_and(|at| self.recall(at))
    }

    fn down(&mut self) -> bool {
        let before = self.area.cursor();
        self.area.move_cursor(CursorMove::Down);
        if self.area.cursor().0 != before.0
            || self.area.screen_cursor().row > 0 && self.area.cursor() != before
        {
            return true;
        }
        let Some((at, _)) = &self.recalled else { return false };
        self.recall(at + 1)
    }

    /// Shows a prompt that is in the history; what is there now comes back below the newest.
    pub(super) fn recall_text(&mut self, text: &str) {
        if let Some(at) = self.history.iter().rposition(|prompt| prompt == text) {
            self.recall(at);
        }
    }

    /// Shows a prompt of the history, or after the newest what was there before.
    fn recall(&mut self, at: usize) -> bool {
        let before = match self.recalled.take() {
            Some((_, before)) => before,
            None => self.text(),
        };
        match self.history.get(at).cloned() {
            Some(text) => {
                self.set_text(&text);
                self.recalled = Some((at, before));
            }
            None => self.set_text(&before),
        }
        true
    }

    /// Rows that the text takes at a width, if they are fewer than `most`; else `most`.
    pub(super) fn height(&self, width: u16, most: u16) -> u16 {
        // No character is longer than four bytes: what is over this can't be fewer rows.
        let bytes = 4 * usize::from(width.max(1)) * usize::from(most);
        let lines = self.area.lines();
        if lines.len() >= usize::from(most) || lines.iter().any(|line| line.len() > bytes) {
            return most;
        }
        let mut copy = blank_area(lines.to_vec());
        copy.move_cursor(CursorMove::Bottom);
        copy.move_cursor(CursorMove::End);
        let area = Rect::new(0, 0, width.max(1), 1);
        (&copy).render(area, &mut Buffer::empty(area));
        u16::try_from(copy.screen_cursor().row + 1).unwrap_or(u16::MAX).min(most)
    }

    /// Whether the text begins with a slash and is one line.
    pub(super) fn begins_command(&self) -> bool {
        matches!(self.area.lines(), [line] if line.starts_with('/'))
    }

    /// Puts the cursor where somebody clicked: a row and a column of what is drawn.
    pub(super) fn click(&mut self, row: u16, column: u16) {
        let (top, left) = self.area.scroll_offset();
        let place = self.area.screen_to_data(usize::from(row + top), usize::from(column + left));
        let narrow = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
        self.area.move_cursor(CursorMove::Jump(narrow(place.0), narrow(place.1)));
    }

    /// Draws the text; says where the cursor stands.
    pub(super) fn draw(&self, area: Rect, buffer: &mut Buffer) -> (u16, u16) {
        (&self.area).render(area, buffer);
        let cursor = self.area.screen_cursor();
        let (top, left) = self.area.scroll_offset();
        let place = |at: usize, offset: u16, length: u16| {
            u16::try_from(at).unwrap_or(u16::MAX).saturating_sub(offset).min(length.saturating_sub(1))
        };
        (area.x + place(cursor.col, left, area.width), area.y + place(cursor.row, top, area.height))
    }
}

fn blank_area(lines: Vec<String>) -> TextArea<'static> {
    let mut area = TextArea::new(lines);
    area.set_wrap_mode(WrapMode::WordOrGlyph);
    area.set_cursor_line_style(Style::default());
    // The terminal's own cursor stands there, so that input methods know the place.
    area.set_cursor_style(Style::default());
    area.set_max_histories(200);
    area
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(editor: &mut Editor, code: KeyCode, modifiers: KeyModifiers) -> bool {
        editor.key(KeyEvent::new(code, modifiers))
    }

    fn typed(text: &str) -> Editor {
        let mut editor = Editor::new(vec!["first".into(), "second\nline".into()]);
        for c in text.chars() {
            press(&mut editor, KeyCode::Char(c), KeyModifiers::NONE);
        }
        editor
    }

    #[test]
    fn words_are_killed_and_yanked_and_undone() {
        let mut editor = typed("one two");
        press(&mut editor, KeyCode::Char('w'), KeyModifiers::CONTROL);
        assert_eq!(editor.text(), "one ");
        press(&mut editor, KeyCode::Char('a'), KeyModifiers::CONTROL);
        press(&mut editor, KeyCode::Char('y'), KeyModifiers::CONTROL);
        assert_eq!(editor.text(), "twoone ");
        press(&mut editor, KeyCode::Char('u'), KeyModifiers::ALT);
        assert_eq!(editor.text(), "one ");
    }

    #[test]
    fn a_cleared_text_comes_back_by_undoing() {
        let mut editor = typed("dear draft");
        editor.clear();
        assert!(editor.is_empty());
        press(&mut editor, KeyCode::Char('u'), KeyModifiers::ALT);
        assert_eq!(editor.text(), "dear draft");
    }

    #[test]
    fn a_long_paste_is_a_token_until_it_is_taken() {
        let mut editor = typed("see ");
        let long = "line\r\n".repeat(20);
        editor.paste(&long);
        assert_eq!(editor.text(), "see [paste #1: 20 lines]");
        editor.paste("!");
        assert_eq!(editor.take(), format!("see {}!", "line\n".repeat(20)));
        assert!(editor.is_empty());
    }

    #[test]
    fn a_token_is_erased_as_a_whole() {
        let mut editor = typed("a");
        editor.paste(&"x".repeat(2_000));
        press(&mut editor, KeyCode::Backspace, KeyModifiers::NONE);
        assert_eq!(editor.text(), "a");
    }

    #[test]
    fn history_is_walked_at_the_edges_and_the_draft_is_kept() {
        let mut editor = typed("draft");
        assert!(press(&mut editor, KeyCode::Up, KeyModifiers::NONE));
        assert_eq!(editor.text(), "second\nline");
        press(&mut editor, KeyCode::Up, KeyModifiers::NONE);
        press(&mut editor, KeyCode::Up, KeyModifiers::NONE);
        assert_eq!(editor.text(), "first");
        assert!(!press(&mut editor, KeyCode::Up, KeyModifiers::NONE));
        press(&mut editor, KeyCode::Down, KeyModifiers::NONE);
        press(&mut editor, KeyCode::Down, KeyModifiers::NONE);
        assert_eq!(editor.text(), "draft");
    }

    #[test]
    fn a_backslash_before_enter_breaks_the_line() {
        let mut editor = typed("one\\");
        assert!(editor.continue_line());
        assert_eq!(editor.text(), "one\n");
        assert!(!editor.continue_line());
    }

    #[test]
    fn height_counts_wrapped_rows() {
        assert_eq!(typed("").height(10, 8), 1);
        assert_eq!(typed("one two three").height(8, 8), 2);
        assert_eq!(typed("日本語日本語").height(6, 8), 2);
        assert_eq!(typed("日本語日本語日本語").height(2, 8), 8);
        assert_eq!(typed(&"long ".repeat(100)).height(10, 8), 8);
    }
}
