//! The editor: text with its edit commands, placeholders for pastes and images, and the prompt history.

pub(crate) mod edit_command;
mod history_cursor;
mod kill_ring;
mod placeholders;
mod rows;
mod text;

use std::ops::Range;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use tiller_core::message::Image;

use crate::editor::edit_command::EditCommand;
use crate::editor::history_cursor::HistoryCursor;
use crate::editor::kill_ring::{KillRing, KillSide};
use crate::editor::placeholders::Placeholders;
use crate::editor::rows::{EditorRows, row_text};
use crate::editor::text::EditorText;
use crate::keymap::Keymap;
use crate::keymap::table::{KeyCommand, KeyContext};

/// Maximum size of an expanded prompt in the history, in bytes; the newest prompts are read completely at
/// every start.
const MAX_HISTORY_BYTES: usize = 16 * 1024;

/// The text that the user is writing.
#[derive(Debug)]
pub(super) struct Editor {
    text: EditorText,
    placeholders: Placeholders,
    kills: KillRing,
    history: HistoryCursor,
    rows: EditorRows,
    /// The first visible row, and the maximum number of visible rows.
    window: (usize, usize),
    /// The column that vertical moves keep.
    column: Option<usize>,
    /// Text that was inserted in place of the user's, until it is edited.
    put: Option<String>,
}

/// Returns the form of a text for the prompt history.
fn history_text(placeholders: &Placeholders, text: &str) -> String {
    let expanded = placeholders.expand(text);
    if expanded.len() <= MAX_HISTORY_BYTES { expanded } else { text.to_owned() }
}

#[derive(Debug)]
pub(super) struct EditorDraft {
    text: EditorText,
    placeholders: Placeholders,
}

impl EditorDraft {
    /// Returns the expanded text without image placeholders.
    pub(super) fn text_without_images(&self) -> String {
        self.placeholders.expand_without_images(self.text.as_str())
    }
}

impl Editor {
    pub(super) fn new(history: Vec<String>) -> Self {
        Self {
            text: EditorText::new(""),
            placeholders: Placeholders::default(),
            kills: KillRing::default(),
            history: HistoryCursor::new(history),
            rows: EditorRows::default(),
            window: (0, 1),
            column: None,
            put: None,
        }
    }

    /// Returns the text as displayed, with placeholders.
    pub(super) fn text(&self) -> String {
        self.text.as_str().to_owned()
    }

    /// Returns the text with pastes expanded.
    pub(super) fn expanded(&self) -> String {
        self.placeholders.expand(self.text.as_str())
    }

    /// Returns the expanded text without image placeholders; images are lost at exit.
    pub(super) fn text_without_images(&self) -> String {
        self.placeholders.expand_without_images(self.text.as_str())
    }

    /// Returns the text for the prompt history. Pastes are expanded up to a size limit, because placeholders
    /// have no meaning in later sessions.
    pub(super) fn history_text(&self) -> String {
        history_text(&self.placeholders, self.text.as_str())
    }

    /// Returns drafts that were replaced with recalled prompts, oldest first, each once. They exist nowhere
    /// else once the current text is sent; call this before [`Self::take_text`].
    pub(super) fn take_replaced(&mut self) -> Vec<String> {
        let replaced = self.history.take_replaced();
        let replaced = replaced.iter().filter(|text| text.as_str() != self.text.as_str());
        replaced.map(|text| history_text(&self.placeholders, text)).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.as_str().is_empty()
    }

    pub(super) fn before_cursor(&self) -> &str {
        self.text.before_cursor()
    }

    /// Returns the kind of the text: a message or a shell command.
    pub(super) fn kind(&self) -> EditKind {
        match self.text.as_str().trim_start() {
            text if text.starts_with("!!") => EditKind::PrivateCommand,
            text if text.starts_with('!') => EditKind::Command,
            _ => EditKind::Message,
        }
    }

    /// Replaces the text; undo restores the previous one.
    pub(super) fn set_text(&mut self, text: &str) {
        self.text.set_undoable(text);
        self.put = Some(text.to_owned());
        self.history.reset();
        self.after_change();
    }

    /// Inserts texts before the current one, separated by blank lines.
    pub(super) fn put_before(&mut self, texts: &[String]) {
        let mut parts = texts.to_vec();
        parts.extend((!self.is_empty()).then(|| self.text()));
        self.set_text(&parts.join("\n\n"));
    }

    /// Clears the text; undo restores it.
    pub(super) fn clear(&mut self) {
        self.text.replace(0..self.text.as_str().len(), "");
        self.history.reset();
        self.after_change();
    }

    /// Returns the expanded text and empties the editor without undo. Call [`Self::images`] first.
    pub(super) fn take_text(&mut self) -> String {
        let text = self.expanded();
        self.text.set("");
        self.history.reset();
        self.after_change();
        self.history.expand_replaced(|text| history_text(&self.placeholders, text));
        self.placeholders.retire();
        text
    }

    /// Returns the images that belong to the text.
    pub(super) fn images(&self) -> Vec<Image> {
        self.placeholders.images(self.text.as_str())
    }

    /// Stashes the text and empties the editor.
    pub(super) fn stash(&mut self) -> EditorDraft {
        let draft = EditorDraft {
            text: self.text.swap(EditorText::new("")),
            placeholders: std::mem::take(&mut self.placeholders),
        };
        self.history.reset();
        self.after_change();
        draft
    }

    /// Restores a stashed text in place of the current one.
    pub(super) fn restore(&mut self, draft: EditorDraft) {
        self.text.swap(draft.text);
        self.put = Some(self.text());
        self.placeholders = draft.placeholders;
        self.history.reset();
        self.after_change();
    }

    /// Adds a prompt to the history; returns false if it equals the newest one.
    pub(super) fn remember(&mut self, text: &str) -> bool {
        self.history.remember(text)
    }

    /// Adds older prompts before the history.
    pub(super) fn prepend_history(&mut self, prompts: Vec<String>) {
        self.history.prepend(prompts);
    }

    /// Returns the prompt history, oldest first.
    pub(super) fn history(&self) -> &[String] {
        self.history.prompts()
    }

    /// Pastes text on separate lines at the end.
    pub(super) fn paste_on_new_line(&mut self, text: &str) {
        self.edit(EditCommand::TextEnd);
        if !self.is_empty() {
            self.newline();
        }
        self.paste(text);
    }

    pub(super) fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let shown = self.placeholders.add_paste(text);
        self.insert(&shown);
    }

    /// Inserts a placeholder for an image of `size` pixels.
    pub(super) fn attach(&mut self, image: Image, size: (usize, usize)) {
        let placeholder = self.placeholders.add_image(image, size);
        let gap = if self.before_cursor().ends_with(|c: char| !c.is_whitespace()) { " " } else { "" };
        self.insert(&format!("{gap}{placeholder} "));
    }

    /// Registers the images of a returned message; returns the text with placeholders for them.
    pub(super) fn restore_images(&mut self, text: &str, images: &[Image]) -> String {
        self.placeholders.adopt(text, images)
    }

    /// Inserts text at the cursor.
    pub(super) fn insert(&mut self, text: &str) {
        self.text.insert(text);
        self.after_change();
    }

    pub(super) fn newline(&mut self) {
        self.insert("\n");
    }

    /// Replaces a backslash before the cursor with a line break; returns false if there is none.
    pub(super) fn continue_line(&mut self) -> bool {
        let continues = self.before_cursor().ends_with('\\');
        if continues {
            self.text.remove_to(self.text.cursor() - 1);
            self.newline();
        }
        continues
    }

    /// Returns true if the cursor is at the end of its line.
    pub(super) fn is_at_line_end(&self) -> bool {
        self.text.cursor() == self.text.line_of(self.text.cursor()).end
    }

    /// Returns the current line up to the cursor.
    pub(super) fn line_before_cursor(&self) -> &str {
        let before = self.before_cursor();
        &before[before.rfind('\n').map_or(0, |at| at + 1)..]
    }

    /// Returns true if the user hasn't typed the text: it is an unedited prompt from the history, or was
    /// inserted by tiller.
    pub(super) fn is_unedited(&self) -> bool {
        let text = self.text.as_str();
        self.history.is_showing(text) || self.put.as_deref() == Some(text)
    }

    /// Replaces `count` characters before the cursor.
    pub(super) fn replace_before(&mut self, count: usize, text: &str) {
        let before = self.before_cursor();
        let from = before.char_indices().rev().nth(count.wrapping_sub(1)).map_or(before.len(), |(at, _)| at);
        self.text.remove_to(from);
        self.insert(text);
    }

    /// Handles a key; returns false if the key has no meaning in text.
    pub(super) fn key(&mut self, key: KeyEvent, keymap: &Keymap) -> bool {
        if let Some(KeyCommand::Edit(edit)) = keymap.command(KeyContext::Editor, key) {
            return self.edit(edit);
        }
        let is_typed = (key.modifiers - KeyModifiers::SHIFT).is_empty();
        match key.code {
            KeyCode::Char(c) if is_typed => self.insert(c.encode_utf8(&mut [0; 4])),
            _ => return false,
        }
        true
    }

    /// Performs an edit or movement; returns false if it has no effect.
    pub(super) fn edit(&mut self, edit: EditCommand) -> bool {
        let column = self.column.take();
        match edit {
            EditCommand::Up | EditCommand::Down => return self.move_by_rows(edit, column),
            EditCommand::Yank | EditCommand::YankBefore => return self.yank(edit),
            EditCommand::Undo | EditCommand::Redo => self.undo_or_redo(edit),
            EditCommand::DeleteBack | EditCommand::DeleteForward => {
                _ = self.text.remove_to(self.target(edit))
            }
            EditCommand::DeleteWordBack | EditCommand::DeleteToLineStart => {
                return self.kill(edit, KillSide::Before);
            }
            EditCommand::DeleteWordForward | EditCommand::DeleteToLineEnd => {
                return self.kill(edit, KillSide::After);
            }
            _ => self.text.move_to(self.target(edit)),
        }
        self.after_change();
        true
    }

    /// Returns the target of a movement or deletion. A placeholder is one step.
    fn target(&self, edit: EditCommand) -> usize {
        let text = &self.text;
        let (cursor, line) = (text.cursor(), text.line_of(text.cursor()));
        match edit {
            EditCommand::Left | EditCommand::DeleteBack => self
                .placeholders
                .at_end(text.before_cursor())
                .map_or_else(|| text.left(), |length| cursor - length),
            EditCommand::Right | EditCommand::DeleteForward => {
                let after = &text.as_str()[cursor..];
                self.placeholders.at_start(after).map_or_else(|| text.right(), |length| cursor + length)
            }
            EditCommand::WordLeft | EditCommand::DeleteWordBack => {
                let before = text.before_cursor().trim_end();
                self.placeholders
                    .at_end(before)
                    .map_or_else(|| text.word_left(), |length| before.len() - length)
            }
            EditCommand::WordRight | EditCommand::DeleteWordForward => {
                let after = text.as_str()[cursor..].trim_start();
                let start = text.as_str().len() - after.len();
                self.placeholders.at_start(after).map_or_else(|| text.word_right(), |length| start + length)
            }
            // At the line's end, delete the line break.
            EditCommand::DeleteToLineStart if cursor == line.start => text.left(),
            EditCommand::DeleteToLineEnd if cursor == line.end => text.right(),
            EditCommand::LineStart | EditCommand::DeleteToLineStart => line.start,
            EditCommand::LineEnd | EditCommand::DeleteToLineEnd => line.end,
            EditCommand::TextStart => 0,
            EditCommand::TextEnd => text.as_str().len(),
            EditCommand::Up
            | EditCommand::Down
            | EditCommand::Yank
            | EditCommand::YankBefore
            | EditCommand::Undo
            | EditCommand::Redo => cursor,
        }
    }

    /// Undoes or redoes an edit, including the replacement of a draft with a recalled prompt.
    fn undo_or_redo(&mut self, edit: EditCommand) {
        let before = self.text();
        let was_changed = if edit == EditCommand::Undo { self.text.undo() } else { self.text.redo() };
        if was_changed {
            self.history.after_undo(&before, self.text.as_str());
        }
    }

    fn kill(&mut self, edit: EditCommand, side: KillSide) -> bool {
        let killed = self.text.remove_to(self.target(edit));
        self.scroll();
        self.kills.push(&killed, side);
        true
    }

    fn yank(&mut self, edit: EditCommand) -> bool {
        let at = self.text.cursor();
        let yanked = match edit {
            EditCommand::YankBefore => self.kills.yank_before(),
            _ => self.kills.yank(at).map(|text| (at..at, text)),
        };
        let Some((range, text)) = yanked else { return false };
        self.text.replace(range, text);
        self.scroll();
        true
    }

    /// Moves by screen rows. Beyond the first and the last row, moves through the prompt history.
    fn move_by_rows(&mut self, edit: EditCommand, column: Option<usize>) -> bool {
        self.refresh_rows();
        let text = self.text.as_str();
        let (row, at) = self.rows.place(text, self.text.cursor());
        let column = column.unwrap_or(at);
        let next = if edit == EditCommand::Up { row.checked_sub(1) } else { Some(row + 1) };
        if let Some(row) = next.filter(|row| *row < self.rows.count()) {
            let at = self.rows.at(text, row, column);
            // A placeholder may span rows: skip it, so that the move isn't stuck.
            let placeholder = self.placeholders.around(text, at);
            let beyond = |placeholder: Range<usize>| {
                if edit == EditCommand::Up { placeholder.start } else { placeholder.end }
            };
            self.text.move_to(placeholder.map_or(at, beyond));
            self.after_change();
            self.column = Some(column);
            return true;
        }
        let recalled =
            if edit == EditCommand::Up { self.history.previous(text) } else { self.history.next(text) };
        match recalled {
            Some(prompt) => self.show(&prompt),
            // On the last row, go to the end of the text.
            None if edit == EditCommand::Down && self.text.cursor() < self.text.as_str().len() => {
                return self.edit(EditCommand::TextEnd);
            }
            None => return false,
        }
        true
    }

    /// Shows a prompt of the history. The current text comes after the newest prompt.
    pub(super) fn recall_text(&mut self, text: &str) {
        if let Some(prompt) = self.history.find(text, self.text.as_str()) {
            self.show(&prompt);
        }
    }

    fn show(&mut self, prompt: &str) {
        self.text.set_undoable(prompt);
        self.after_change();
    }

    /// Resets column and kill state after a movement or an edit other than kill and yank.
    fn after_change(&mut self) {
        self.put.take_if(|put| put != self.text.as_str());
        self.column = None;
        self.kills.end_sequence();
        self.scroll();
    }

    fn refresh_rows(&mut self) {
        self.rows.refresh(self.text.as_str(), self.text.revision());
    }

    /// Wraps the text at `columns`, with at most `most_rows` visible rows. One column is reserved for the cursor.
    pub(super) fn lay_out(&mut self, columns: u16, most_rows: u16) {
        self.window.1 = usize::from(most_rows.max(1));
        let width = usize::from(columns.saturating_sub(1).max(1));
        self.rows.lay_out(self.text.as_str(), self.text.revision(), width);
        self.scroll();
    }

    /// Scrolls so that the cursor is visible and no row stays empty while others are hidden.
    fn scroll(&mut self) {
        if !self.rows.is_laid_out() {
            return;
        }
        self.refresh_rows();
        let (row, _) = self.rows.place(self.text.as_str(), self.text.cursor());
        let (top, height) = self.window;
        let top = top.min(row).max((row + 1).saturating_sub(height));
        self.window.0 = top.min(self.rows.count().saturating_sub(height));
    }

    /// Returns the number of visible rows.
    pub(super) fn height(&self) -> u16 {
        u16::try_from(self.rows.count().min(self.window.1)).unwrap_or(u16::MAX)
    }

    /// Returns true if the text is a single line that begins with a slash.
    pub(super) fn begins_command(&self) -> bool {
        let text = self.text.as_str();
        text.starts_with('/') && !text.contains('\n')
    }

    /// Moves the cursor to a clicked row and column of the drawn area. In a placeholder, moves to the nearer
    /// end.
    pub(super) fn click(&mut self, row: u16, column: u16, height: u16) {
        let row = self.top(height) + usize::from(row);
        let at = self.rows.at(self.text.as_str(), row, usize::from(column));
        let placeholder = self.placeholders.around(self.text.as_str(), at);
        let nearer = |placeholder: Range<usize>| match at - placeholder.start < placeholder.end - at {
            true => placeholder.start,
            false => placeholder.end,
        };
        self.text.move_to(placeholder.map_or(at, nearer));
        self.after_change();
    }

    /// Returns the first drawn row. An area may have fewer rows than the window, and the cursor's row is
    /// always drawn.
    fn top(&self, height: u16) -> usize {
        let (row, _) = self.rows.place(self.text.as_str(), self.text.cursor());
        self.window.0.max((row + 1).saturating_sub(usize::from(height.max(1))))
    }

    /// Returns the number of rows hidden above and below an area of `height` rows.
    pub(super) fn hidden(&self, height: u16) -> [usize; 2] {
        let top = self.top(height);
        [top, self.rows.count().saturating_sub(top + usize::from(height))]
    }

    /// Draws the text as laid out.
    pub(super) fn draw(&self, area: Rect, style: Style, buffer: &mut Buffer) {
        let text = self.text.as_str();
        for (y, at) in (area.y..area.bottom()).zip(self.top(area.height)..self.rows.count()) {
            let shown = row_text(&text[self.rows.row(at)]);
            buffer.set_stringn(area.x, y, shown, usize::from(area.width), style);
        }
    }

    pub(super) fn cursor(&self, area: Rect) -> Position {
        let (row, column) = self.rows.place(self.text.as_str(), self.text.cursor());
        let clamp =
            |at: usize, length: u16| u16::try_from(at).unwrap_or(u16::MAX).min(length.saturating_sub(1));
        let row = row.saturating_sub(self.top(area.height));
        Position { x: area.x + clamp(column, area.width), y: area.y + clamp(row, area.height) }
    }
}

/// The kind of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EditKind {
    Message,
    /// A shell command whose output the model sees.
    Command,
    /// A shell command hidden from the model.
    PrivateCommand,
}

#[cfg(test)]
mod tests;
