//! The editor's text with a cursor: movement by graphemes and words, edits with undo.
//!
//! `ratatui_textarea` performs the edits; it counts in `char`s and undoes each edit separately. Here
//! positions are bytes, always between two grapheme clusters (UAX #29), so that an emoji with joiners, an
//! accented letter or a flag is one step, and undo groups typing by words. The module doesn't depend on keys
//! or the screen.

use std::ops::Range;

use ratatui_textarea::{CursorMove, TextArea, WrapMode};
use unicode_segmentation::UnicodeSegmentation;

/// Maximum number of edits that can be undone.
const MAX_EDITS: usize = 2_000;

/// A text with its cursor and undo history.
#[derive(Debug)]
pub(super) struct EditorText {
    area: TextArea<'static>,
    /// The area's text as one string.
    text: String,
    cursor: usize,
    /// Changes with the text, never with the cursor.
    revision: u64,
    done: Vec<TextChange>,
    undone: Vec<TextChange>,
}

/// Edits of the area that are undone together.
#[derive(Clone, Copy, Debug)]
struct TextChange {
    count: usize,
    /// The position where further typing extends the change.
    typing_end: Option<usize>,
    ends_in_blank: bool,
}

impl EditorText {
    /// A text with the cursor at its end.
    pub(super) fn new(text: &str) -> Self {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let (area, cursor) = (area(&text), text.len());
        Self { area, text, cursor, revision: 0, done: Vec::new(), undone: Vec::new() }
    }

    /// Replaces the text without undo; the cursor goes to its end.
    pub(super) fn set(&mut self, text: &str) {
        *self = Self { revision: self.revision + 1, ..Self::new(text) };
    }

    /// Replaces the text with undo, unless the text is unchanged.
    pub(super) fn set_undoable(&mut self, text: &str) {
        if self.text.is_empty() && self.done.is_empty() {
            self.set(text);
        } else {
            self.replace(0..self.text.len(), text);
        }
    }

    /// Replaces the text and its history; returns the previous one.
    pub(super) fn swap(&mut self, other: Self) -> Self {
        let revision = self.revision.max(other.revision) + 1;
        std::mem::replace(self, Self { revision, ..other })
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    pub(super) const fn cursor(&self) -> usize {
        self.cursor
    }

    pub(super) const fn revision(&self) -> u64 {
        self.revision
    }

    pub(super) fn before_cursor(&self) -> &str {
        &self.text[..self.cursor]
    }

    /// Moves the cursor to a position, or to the nearest grapheme boundary before it.
    pub(super) fn move_to(&mut self, at: usize) {
        let at = self.text.floor_char_boundary(at);
        let line = self.line_of(at);
        let inside = at - line.start;
        let ends = self.text[line.clone()].grapheme_indices(true).map(|(start, _)| start);
        let nearest = ends.take_while(|start| *start <= inside).last().unwrap_or(0);
        self.cursor = if at == line.end { at } else { line.start + nearest };
    }

    /// The line around a position, without its line break.
    pub(super) fn line_of(&self, at: usize) -> Range<usize> {
        let start = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let end = self.text[at..].find('\n').map_or(self.text.len(), |end| at + end);
        start..end
    }

    /// The position one grapheme before the cursor.
    pub(super) fn left(&self) -> usize {
        let line = self.line_of(self.cursor);
        let before = self.text[line.start..self.cursor].graphemes(true).next_back();
        self.cursor - before.map_or_else(|| line.start.min(1), str::len)
    }

    /// The position one grapheme after the cursor.
    pub(super) fn right(&self) -> usize {
        let line = self.line_of(self.cursor);
        let after = self.text[self.cursor..line.end].graphemes(true).next();
        (self.cursor + after.map_or(1, str::len)).min(self.text.len())
    }

    /// The beginning of the word before the cursor.
    pub(super) fn word_left(&self) -> usize {
        let before = self.before_cursor();
        let words = before.split_word_bound_indices().rev();
        words.map_while(|(at, word)| word.chars().all(char::is_whitespace).then_some(at)).last().map_or_else(
            || before.split_word_bound_indices().next_back().map_or(0, |(at, _)| at),
            |at| before[..at].split_word_bound_indices().next_back().map_or(0, |(at, _)| at),
        )
    }

    /// The end of the word after the cursor.
    pub(super) fn word_right(&self) -> usize {
        let after = &self.text[self.cursor..];
        let mut end = self.cursor;
        for word in after.split_word_bounds() {
            end += word.len();
            if !word.chars().all(char::is_whitespace) {
                break;
            }
        }
        end
    }

    /// Replaces a range; the cursor goes to the end of the new text.
    pub(super) fn replace(&mut self, range: Range<usize>, with: &str) {
        let with = with.replace("\r\n", "\n").replace('\r', "\n");
        let removed = self.text[range.clone()].chars().count();
        let count = usize::from(removed > 0) + usize::from(!with.is_empty());
        if count == 0 {
            return;
        }
        let end = range.start + with.len();
        if !self.move_area_cursor(range.start) {
            self.text.replace_range(range, &with);
            let text = std::mem::take(&mut self.text);
            self.set(&text);
            self.cursor = end;
            return;
        }
        self.area.delete_str(removed);
        self.area.insert_str(&with);
        let is_typing = removed == 0 && with.graphemes(true).nth(1).is_none() && with != "\n";
        let edit = TextChange {
            count,
            typing_end: is_typing.then_some(end),
            ends_in_blank: with.ends_with(char::is_whitespace),
        };
        self.record(edit, range.start);
        self.text.replace_range(range, &with);
        self.cursor = end;
        self.revision += 1;
    }

    /// Records an edit for undo, merged with the previous one if both type within a word.
    fn record(&mut self, edit: TextChange, at: usize) {
        self.undone.clear();
        let extends_last = |last: &&mut TextChange| {
            edit.typing_end.is_some()
                && last.typing_end == Some(at)
                && (!last.ends_in_blank || edit.ends_in_blank)
        };
        match self.done.last_mut().filter(extends_last) {
            Some(last) => *last = TextChange { count: last.count + edit.count, ..edit },
            None => self.done.push(edit),
        }
    }

    pub(super) fn insert(&mut self, text: &str) {
        self.replace(self.cursor..self.cursor, text);
    }

    /// Removes the text between the cursor and a position; returns it.
    pub(super) fn remove_to(&mut self, at: usize) -> String {
        let range = self.cursor.min(at)..self.cursor.max(at);
        let removed = self.text[range.clone()].to_owned();
        self.replace(range, "");
        removed
    }

    /// Undoes the last edit; returns false if there is none.
    pub(super) fn undo(&mut self) -> bool {
        let Some(edit) = self.done.pop() else { return false };
        let undone = (0..edit.count).filter(|_| self.area.undo()).count();
        self.undone.push(TextChange { count: undone, typing_end: None, ..edit });
        self.sync_from_area();
        undone > 0
    }

    /// Redoes the last undone edit; returns false if there is none.
    pub(super) fn redo(&mut self) -> bool {
        let Some(edit) = self.undone.pop() else { return false };
        let redone = (0..edit.count).filter(|_| self.area.redo()).count();
        self.done.push(edit);
        self.sync_from_area();
        redone > 0
    }

    /// Moves the area's cursor to a position. Returns false beyond 65,535 lines or columns, the limit of the
    /// area's jumps; an edit there starts a new area and can't be undone.
    fn move_area_cursor(&mut self, at: usize) -> bool {
        let line = self.line_of(at);
        let row = self.text[..line.start].matches('\n').count();
        let column = self.text[line.start..at].chars().count();
        let (Ok(row), Ok(column)) = (u16::try_from(row), u16::try_from(column)) else { return false };
        self.area.move_cursor(CursorMove::Jump(row, column));
        true
    }

    fn sync_from_area(&mut self) {
        self.text = self.area.lines().join("\n");
        let (row, column) = (self.area.cursor().0, self.area.cursor().1);
        let start: usize = self.area.lines()[..row].iter().map(|line| line.len() + 1).sum();
        let before = self.area.lines()[row].char_indices().nth(column);
        self.cursor = start + before.map_or(self.area.lines()[row].len(), |(at, _)| at);
        self.revision += 1;
    }
}

fn area(text: &str) -> TextArea<'static> {
    let mut area = TextArea::new(text.split('\n').map(str::to_owned).collect());
    area.set_wrap_mode(WrapMode::None);
    area.set_max_histories(MAX_EDITS);
    area
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn typed(words: &str) -> EditorText {
        let mut text = EditorText::new("");
        words.graphemes(true).for_each(|grapheme| text.insert(grapheme));
        text
    }

    #[test]
    fn text_grapheme_is_one_step() {
        for one in ["é", "👩‍👩‍👧‍👦", "🇩🇪", "e\u{301}", "👍🏽", "한", "क्षि"]
        {
            let mut text = EditorText::new(&format!("a{one}b"));
            text.move_to(1 + one.len());
            assert_eq!(text.left(), 1, "{one}");
            text.move_to(1);
            assert_eq!(text.right(), 1 + one.len(), "{one}");
            text.move_to(2);
            assert_eq!(
                text.cursor(),
                if one.len() == 1 { 2 } else { 1 },
                "{one}: the cursor never stands inside"
            );
        }
    }

    #[test]
    fn text_steps_cross_lines_and_stop_at_ends() {
        let mut text = EditorText::new("ab\ncd");
        text.move_to(3);
        assert_eq!(text.left(), 2);
        text.move_to(2);
        assert_eq!(text.right(), 3);
        text.move_to(0);
        assert_eq!(text.left(), 0);
        text.move_to(5);
        assert_eq!(text.right(), 5);
    }

    #[test]
    fn text_words_follow_unicode() {
        let mut text = EditorText::new("look at  can't 日本 (x)");
        let mut stops = vec![text.cursor()];
        while *stops.last().unwrap() > 0 {
            text.move_to(text.word_left());
            stops.push(text.cursor());
        }
        let words: Vec<&str> = stops.windows(2).map(|pair| &text.as_str()[pair[1]..pair[0]]).collect();
        assert_eq!(words, [")", "x", "(", "本 ", "日", "can't ", "at  ", "look "]);
        assert_eq!(text.word_right(), 4);
        text.move_to(4);
        assert_eq!(text.word_right(), 7);
    }

    #[test]
    fn text_undo_groups_typing_by_words() {
        let mut text = typed("one two");
        assert!(text.undo());
        assert_eq!(text.as_str(), "one ");
        assert!(text.undo());
        assert_eq!(text.as_str(), "");
        assert!(!text.undo());
        assert!(text.redo() && text.redo() && !text.redo());
        assert_eq!((text.as_str(), text.cursor()), ("one two", 7));
    }

    #[test]
    fn text_position_beyond_area_limit_is_reached() {
        for long in ["\n".repeat(66_000), "é".repeat(66_000)] {
            let mut text = EditorText::new(&long);
            text.insert("!");
            assert!(text.as_str().ends_with('!') && text.cursor() == text.as_str().len());
            assert!(!text.undo());
            text.move_to(0);
            text.insert("?");
            assert!(text.undo());
            assert_eq!(text.as_str(), format!("{long}!"));
        }
    }

    #[test]
    fn text_undo_restores_removed_text() {
        let mut text = typed("one two");
        text.move_to(3);
        assert_eq!(text.remove_to(0), "one");
        text.insert("1");
        assert!(text.undo() && text.undo());
        assert_eq!((text.as_str(), text.cursor()), ("one two", 3));
        text.insert("!");
        assert!(!text.redo(), "another edit was made since");
    }

    #[derive(Clone, Debug)]
    enum CursorStep {
        Move(usize),
        Replace(usize, usize, String),
        Undo,
        Redo,
    }

    fn step() -> impl Strategy<Value = CursorStep> {
        prop_oneof![
            (0_usize..40).prop_map(CursorStep::Move),
            (0_usize..40, 0_usize..6, "(a| |é|e\u{301}|👩‍👩‍👧|日|\n|\r\n|\t){0,4}")
                .prop_map(|(at, length, with)| CursorStep::Replace(at, length, with)),
            Just(CursorStep::Undo),
            Just(CursorStep::Redo),
        ]
    }

    proptest! {
        #[test]
        fn text_stays_equal_to_area(steps in prop::collection::vec(step(), 0..40)) {
            let mut text = EditorText::new("one\n👍🏽 two");
            for step in steps {
                match step {
                    CursorStep::Move(at) => text.move_to(at),
                    CursorStep::Replace(at, length, with) => {
                        text.move_to(at);
                        let start = text.cursor();
                        text.move_to(start + length);
                        text.replace(start.min(text.cursor())..text.cursor().max(start), &with);
                    }
                    CursorStep::Undo => _ = text.undo(),
                    CursorStep::Redo => _ = text.redo(),
                }
                prop_assert_eq!(text.area.lines().join("\n"), text.as_str());
                prop_assert!(text.as_str().is_char_boundary(text.cursor()));
            }
            while text.undo() {}
            prop_assert_eq!(text.as_str(), "one\n👍🏽 two");
        }
    }
}
