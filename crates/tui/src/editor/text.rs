//! A text with a cursor: moves by what a reader takes for one character or one word, edits that can be taken back.
//!
//! The edits are `ratatui_textarea`'s, which counts in `char`s and takes each back alone. Here positions are bytes, always between two
//! grapheme clusters (UAX #29): an emoji with its joiners, a letter with its accents and a flag are one step each; and what was
//! typed is taken back by words. It knows nothing of keys and of the screen.

use std::ops::Range;

use ratatui_textarea::{CursorMove, TextArea, WrapMode};
use unicode_segmentation::UnicodeSegmentation;

/// Edits that can be taken back: more than anybody remembers having made.
const MOST_EDITS: usize = 2_000;

/// A text, a place in it, and how it came to be.
#[derive(Debug)]
pub(super) struct EditorText {
    area: TextArea<'static>,
    /// What the area holds, in one piece.
    text: String,
    cursor: usize,
    /// Changes with the text, never with the cursor.
    revision: u64,
    done: Vec<TextChange>,
    undone: Vec<TextChange>,
}

/// Edits of the area that are taken back at once.
#[derive(Clone, Copy, Debug)]
struct TextChange {
    count: usize,
    /// Where typing would go on with it.
    typed_to: Option<usize>,
    ends_in_blank: bool,
}

impl EditorText {
    /// A text with the cursor at its end.
    pub(super) fn new(text: &str) -> Self {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let (area, cursor) = (area(&text), text.len());
        Self { area, text, cursor, revision: 0, done: Vec::new(), undone: Vec::new() }
    }

    /// Begins anew with another text, the cursor at its end.
    pub(super) fn set(&mut self, text: &str) {
        *self = Self { revision: self.revision + 1, ..Self::new(text) };
    }

    /// Begins anew with another text where there is nothing to be taken back; else it is an edit like others.
    pub(super) fn renew(&mut self, text: &str) {
        if self.text.is_empty() && self.done.is_empty() {
            self.set(text);
        } else {
            self.replace(0..self.text.len(), text);
        }
    }

    /// Puts another text in its place; says what was there.
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

    /// Puts the cursor at a place, or at the nearest one before it where it may stand.
    pub(super) fn move_to(&mut self, at: usize) {
        let at = self.text.floor_char_boundary(at);
        let line = self.line_of(at);
        let inside = at - line.start;
        let ends = self.text[line.clone()].grapheme_indices(true).map(|(start, _)| start);
        let fits = ends.take_while(|start| *start <= inside).last().unwrap_or(0);
        self.cursor = if at == line.end { at } else { line.start + fits };
    }

    /// The line around a place, without its end.
    pub(super) fn line_of(&self, at: usize) -> Range<usize> {
        let start = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let end = self.text[at..].find('\n').map_or(self.text.len(), |end| at + end);
        start..end
    }

    /// The place one character before.
    pub(super) fn left(&self) -> usize {
        let line = self.line_of(self.cursor);
        let before = self.text[line.start..self.cursor].graphemes(true).next_back();
        self.cursor - before.map_or_else(|| line.start.min(1), str::len)
    }

    /// The place one character after.
    pub(super) fn right(&self) -> usize {
        let line = self.line_of(self.cursor);
        let after = self.text[self.cursor..line.end].graphemes(true).next();
        (self.cursor + after.map_or(1, str::len)).min(self.text.len())
    }

    /// The beginning of the word before.
    pub(super) fn word_left(&self) -> usize {
        let before = self.before_cursor();
        let words = before.split_word_bound_indices().rev();
        words.map_while(|(at, word)| word.chars().all(char::is_whitespace).then_some(at)).last().map_or_else(
            || before.split_word_bound_indices().next_back().map_or(0, |(at, _)| at),
            |at| before[..at].split_word_bound_indices().next_back().map_or(0, |(at, _)| at),
        )
    }

    /// The end of the word after.
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

    /// Puts `with` in the place of what stands there; the cursor comes to stand behind it.
    pub(super) fn replace(&mut self, range: Range<usize>, with: &str) {
        let with = with.replace("\r\n", "\n").replace('\r', "\n");
        let removed = self.text[range.clone()].chars().count();
        let count = usize::from(removed > 0) + usize::from(!with.is_empty());
        if count == 0 {
            return;
        }
        let end = range.start + with.len();
        if !self.place_area_at(range.start) {
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
            typed_to: is_typing.then_some(end),
            ends_in_blank: with.ends_with(char::is_whitespace),
        };
        self.keep(edit, range.start);
        self.text.replace_range(range, &with);
        self.cursor = end;
        self.revision += 1;
    }

    /// Keeps an edit to be taken back: with the one before it, if both are typing within a word.
    fn keep(&mut self, edit: TextChange, at: usize) {
        self.undone.clear();
        let goes_on = |last: &&mut TextChange| {
            edit.typed_to.is_some()
                && last.typed_to == Some(at)
                && (!last.ends_in_blank || edit.ends_in_blank)
        };
        match self.done.last_mut().filter(goes_on) {
            Some(last) => *last = TextChange { count: last.count + edit.count, ..edit },
            None => self.done.push(edit),
        }
    }

    pub(super) fn insert(&mut self, text: &str) {
        self.replace(self.cursor..self.cursor, text);
    }

    /// Takes out what stands between the cursor and a place; says what it was.
    pub(super) fn remove_to(&mut self, at: usize) -> String {
        let range = self.cursor.min(at)..self.cursor.max(at);
        let removed = self.text[range.clone()].to_owned();
        self.replace(range, "");
        removed
    }

    /// Takes the last edit back; false when there is none.
    pub(super) fn undo(&mut self) -> bool {
        let Some(edit) = self.done.pop() else { return false };
        let undone = (0..edit.count).filter(|_| self.area.undo()).count();
        self.undone.push(TextChange { count: undone, typed_to: None, ..edit });
        self.take_from_area();
        undone > 0
    }

    /// Makes the edit again that was taken back last; false when there is none.
    pub(super) fn redo(&mut self) -> bool {
        let Some(edit) = self.undone.pop() else { return false };
        let redone = (0..edit.count).filter(|_| self.area.redo()).count();
        self.done.push(edit);
        self.take_from_area();
        redone > 0
    }

    /// Puts the area's cursor at a place; false where its jumps don't reach, beyond 65,535 lines or characters of a line. An edit
    /// there begins another area, and can't be taken back.
    fn place_area_at(&mut self, at: usize) -> bool {
        let line = self.line_of(at);
        let row = self.text[..line.start].matches('\n').count();
        let column = self.text[line.start..at].chars().count();
        let (Ok(row), Ok(column)) = (u16::try_from(row), u16::try_from(column)) else { return false };
        self.area.move_cursor(CursorMove::Jump(row, column));
        true
    }

    fn take_from_area(&mut self) {
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
    area.set_max_histories(MOST_EDITS);
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
    fn what_reads_as_one_character_is_one_step() {
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
    fn steps_go_over_the_ends_of_lines_and_stop_at_those_of_the_text() {
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
    fn words_are_words_of_any_script() {
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
    fn typing_is_taken_back_by_words_and_made_again() {
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
    fn a_place_beyond_the_jumps_of_the_area_is_reached() {
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
    fn what_was_taken_out_comes_back_where_it_was() {
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
        fn the_text_and_what_its_edits_made_of_it_never_part(steps in prop::collection::vec(step(), 0..40)) {
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
