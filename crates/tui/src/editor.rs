//! The editor: a text, what its keys do to it, signs that stand for pastes and pictures, and the prompts of earlier times.

mod history_cursor;
mod kill_ring;
mod placeholders;
mod rows;
mod text;

use std::ops::Range;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use tiller_core::message::Image;

use self::history_cursor::HistoryCursor;
use self::kill_ring::{KillRing, KillSide};
use self::placeholders::Placeholders;
use self::rows::{EditorRows, row_text};
use self::text::EditorText;
use super::keymap::{Context, KeyCommand, Keymap};

/// Bytes of a prompt with its pastes up to which they are remembered with it: the newest prompts are read whole at every start.
const MOST_REMEMBERED: usize = 16 * 1024;

/// What the user is about to say.
#[derive(Debug)]
pub(super) struct Editor {
    text: EditorText,
    tokens: Placeholders,
    kills: KillRing,
    recall: HistoryCursor,
    rows: EditorRows,
    /// The first row that is shown, and how many may be.
    window: (usize, usize),
    /// The column that moves up and down keep to.
    column: Option<usize>,
}

/// A text as it is kept among the prompts of earlier times.
fn remembered(tokens: &Placeholders, text: &str) -> String {
    let meant = tokens.expand(text);
    if meant.len() <= MOST_REMEMBERED { meant } else { text.to_owned() }
}

/// Something that a key does to the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum EditCommand {
    Left,
    Right,
    Up,
    Down,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
    TextStart,
    TextEnd,
    DeleteBack,
    DeleteForward,
    DeleteWordBack,
    DeleteWordForward,
    DeleteToLineStart,
    DeleteToLineEnd,
    Yank,
    YankBefore,
    Undo,
    Redo,
}

/// What was put aside.
#[derive(Debug)]
pub(super) struct EditorDraft {
    text: EditorText,
    tokens: Placeholders,
}

impl EditorDraft {
    /// The text as it is meant, as far as it lasts.
    pub(super) fn lasting(&self) -> String {
        self.tokens.lasting(self.text.as_str())
    }
}

impl Editor {
    pub(super) fn new(history: Vec<String>) -> Self {
        Self {
            text: EditorText::new(""),
            tokens: Placeholders::default(),
            kills: KillRing::default(),
            recall: HistoryCursor::new(history),
            rows: EditorRows::default(),
            window: (0, 1),
            column: None,
        }
    }

    /// The text as it is shown, tokens unexpanded.
    pub(super) fn text(&self) -> String {
        self.text.as_str().to_owned()
    }

    /// The text as it is meant.
    pub(super) fn expanded(&self) -> String {
        self.tokens.expand(self.text.as_str())
    }

    /// The text as it is meant, as far as it lasts: pictures are gone with the program.
    pub(super) fn lasting(&self) -> String {
        self.tokens.lasting(self.text.as_str())
    }

    /// The text as it is kept among the prompts of earlier times: a paste of some pages with it, for its sign would stand for nothing
    /// later on, or for another one.
    pub(super) fn to_remember(&self) -> String {
        remembered(&self.tokens, self.text.as_str())
    }

    /// What was typed and gave its place to a prompt of earlier times, once, oldest first: it is nowhere else when what is there now
    /// is sent. To be asked for before that is taken.
    pub(super) fn take_replaced(&mut self) -> Vec<String> {
        let replaced = self.recall.take_replaced();
        let replaced = replaced.iter().filter(|text| text.as_str() != self.text.as_str());
        replaced.map(|text| remembered(&self.tokens, text)).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.as_str().is_empty()
    }

    /// What stands before the cursor.
    pub(super) fn before_cursor(&self) -> &str {
        self.text.before_cursor()
    }

    /// What a line of the shell, or a message, begins with; see [`Kind`].
    pub(super) fn kind(&self) -> EditKind {
        match self.text.as_str().trim_start() {
            text if text.starts_with("!!") => EditKind::PrivateCommand,
            text if text.starts_with('!') => EditKind::Command,
            _ => EditKind::Message,
        }
    }

    /// Puts another text in the place of what is there, which can be had back by undoing.
    pub(super) fn set_text(&mut self, text: &str) {
        self.text.renew(text);
        self.recall.leave();
        self.moved();
    }

    /// Puts texts before what is there.
    pub(super) fn put_before(&mut self, texts: &[String]) {
        let mut parts = texts.to_vec();
        parts.extend((!self.is_empty()).then(|| self.text()));
        self.set_text(&parts.join("\n\n"));
    }

    /// Empties it; what was there can be had back by undoing.
    pub(super) fn clear(&mut self) {
        self.text.replace(0..self.text.as_str().len(), "");
        self.recall.leave();
        self.moved();
    }

    /// Takes the text as it is meant, and empties the editor for good. Its pictures are to be taken before.
    pub(super) fn take(&mut self) -> String {
        let text = self.expanded();
        self.text.set("");
        self.recall.leave();
        self.moved();
        self.recall.expand_replaced(|text| remembered(&self.tokens, text));
        self.tokens.retire();
        text
    }

    /// The pictures that are sent with the text.
    pub(super) fn pictures(&self) -> Vec<Image> {
        self.tokens.pictures(self.text.as_str())
    }

    /// Puts what is there aside, and empties the editor.
    pub(super) fn put_aside(&mut self) -> EditorDraft {
        let draft = EditorDraft {
            text: self.text.swap(EditorText::new("")),
            tokens: std::mem::take(&mut self.tokens),
        };
        self.recall.leave();
        self.moved();
        draft
    }

    /// Takes up what was put aside, in the place of what is there.
    pub(super) fn take_up(&mut self, draft: EditorDraft) {
        self.text.swap(draft.text);
        self.tokens = draft.tokens;
        self.recall.leave();
        self.moved();
    }

    /// Puts a prompt into the history; false when it is the same as the newest there.
    pub(super) fn remember(&mut self, text: &str) -> bool {
        self.recall.remember(text)
    }

    /// Takes prompts from before all those that it has.
    pub(super) fn know_earlier(&mut self, prompts: Vec<String>) {
        self.recall.know_earlier(prompts);
    }

    /// Prompts of earlier times, oldest first.
    pub(super) fn history(&self) -> &[String] {
        self.recall.prompts()
    }

    /// Pastes a text on lines of its own behind what is typed.
    pub(super) fn paste_apart(&mut self, text: &str) {
        self.edit(EditCommand::TextEnd);
        if !self.is_empty() {
            self.newline();
        }
        self.paste(text);
    }

    pub(super) fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let shown = self.tokens.paste(text);
        self.insert(&shown);
    }

    /// Puts a sign for a picture of so many columns and rows of pixels at the cursor.
    pub(super) fn attach(&mut self, image: Image, size: (usize, usize)) {
        let token = self.tokens.picture(image, size);
        let gap = if self.before_cursor().ends_with(|c: char| !c.is_whitespace()) { " " } else { "" };
        self.insert(&format!("{gap}{token} "));
    }

    /// Takes up pictures of a message that comes back, so that the tokens in the text that this answers with stand for them again.
    pub(super) fn adopt(&mut self, text: &str, pictures: &[Image]) -> String {
        self.tokens.adopt(text, pictures)
    }

    /// Puts a text in at the cursor.
    pub(super) fn insert(&mut self, text: &str) {
        self.text.insert(text);
        self.moved();
    }

    pub(super) fn newline(&mut self) {
        self.insert("\n");
    }

    /// Takes away a backslash before the cursor and breaks the line there; false when there is none.
    pub(super) fn continue_line(&mut self) -> bool {
        let continues = self.before_cursor().ends_with('\\');
        if continues {
            self.text.remove_to(self.text.cursor() - 1);
            self.newline();
        }
        continues
    }

    /// Whether the cursor stands at the end of its line, or nothing is typed.
    pub(super) fn is_at_line_end(&self) -> bool {
        self.text.cursor() == self.text.line_of(self.text.cursor()).end
    }

    /// The line of the cursor, up to it.
    pub(super) fn line_before_cursor(&self) -> &str {
        let before = self.before_cursor();
        &before[before.rfind('\n').map_or(0, |at| at + 1)..]
    }

    /// Whether it shows a prompt of earlier times as that was.
    pub(super) fn is_recalled(&self) -> bool {
        self.recall.shows(self.text.as_str())
    }

    /// Puts a text in the place of so many characters before the cursor.
    pub(super) fn replace_before(&mut self, count: usize, text: &str) {
        let before = self.before_cursor();
        let from = before.char_indices().rev().nth(count.wrapping_sub(1)).map_or(before.len(), |(at, _)| at);
        self.text.remove_to(from);
        self.insert(text);
    }

    /// Does what a key does in a text; false when it does nothing there.
    pub(super) fn key(&mut self, key: KeyEvent, keymap: &Keymap) -> bool {
        if let Some(KeyCommand::Edit(edit)) = keymap.command(Context::Editor, key) {
            return self.edit(edit);
        }
        let types = (key.modifiers - KeyModifiers::SHIFT).is_empty();
        match key.code {
            KeyCode::Char(c) if types => self.insert(c.encode_utf8(&mut [0; 4])),
            _ => return false,
        }
        true
    }

    /// Does something to the text, or moves in it; false when there is nothing to be done.
    pub(super) fn edit(&mut self, edit: EditCommand) -> bool {
        let column = self.column.take();
        match edit {
            EditCommand::Up | EditCommand::Down => return self.by_rows(edit, column),
            EditCommand::Yank | EditCommand::YankBefore => return self.yank(edit),
            EditCommand::Undo | EditCommand::Redo => self.take_back(edit),
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
        self.moved();
        true
    }

    /// Where a move goes to, and how far a deletion goes. A token is one step.
    fn target(&self, edit: EditCommand) -> usize {
        let text = &self.text;
        let (cursor, line) = (text.cursor(), text.line_of(text.cursor()));
        match edit {
            EditCommand::Left | EditCommand::DeleteBack => {
                self.tokens.at_end(text.before_cursor()).map_or_else(|| text.left(), |length| cursor - length)
            }
            EditCommand::Right | EditCommand::DeleteForward => {
                let after = &text.as_str()[cursor..];
                self.tokens.at_start(after).map_or_else(|| text.right(), |length| cursor + length)
            }
            EditCommand::WordLeft | EditCommand::DeleteWordBack => {
                let before = text.before_cursor().trim_end();
                self.tokens.at_end(before).map_or_else(|| text.word_left(), |length| before.len() - length)
            }
            EditCommand::WordRight | EditCommand::DeleteWordForward => {
                let after = text.as_str()[cursor..].trim_start();
                let start = text.as_str().len() - after.len();
                self.tokens.at_start(after).map_or_else(|| text.word_right(), |length| start + length)
            }
            // At the end already, the line is joined with its neighbour.
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

    /// Takes an edit back, or makes it again. That a prompt of earlier times took the place of a draft is one.
    fn take_back(&mut self, edit: EditCommand) {
        let before = self.text();
        let was_made = if edit == EditCommand::Undo { self.text.undo() } else { self.text.redo() };
        if was_made {
            self.recall.taken_back(&before, self.text.as_str());
        }
    }

    fn kill(&mut self, edit: EditCommand, side: KillSide) -> bool {
        let killed = self.text.remove_to(self.target(edit));
        self.scroll();
        self.kills.keep(&killed, side);
        true
    }

    fn yank(&mut self, edit: EditCommand) -> bool {
        let at = self.text.cursor();
        let put_in = match edit {
            EditCommand::YankBefore => self.kills.yank_before(),
            _ => self.kills.yank(at).map(|text| (at..at, text)),
        };
        let Some((range, text)) = put_in else { return false };
        self.text.replace(range, text);
        self.scroll();
        true
    }

    /// Up and down by rows of the screen; beyond the first and the last, to the prompts of earlier times.
    fn by_rows(&mut self, edit: EditCommand, column: Option<usize>) -> bool {
        self.renew();
        let text = self.text.as_str();
        let (row, at) = self.rows.place(text, self.text.cursor());
        let column = column.unwrap_or(at);
        let next = if edit == EditCommand::Up { row.checked_sub(1) } else { Some(row + 1) };
        if let Some(row) = next.filter(|row| *row < self.rows.count()) {
            let at = self.rows.at(text, row, column);
            // A token may hang over several rows: beyond it, and one gets past it.
            let token = self.tokens.around(text, at);
            let beyond = |token: Range<usize>| if edit == EditCommand::Up { token.start } else { token.end };
            self.text.move_to(token.map_or(at, beyond));
            self.moved();
            self.column = Some(column);
            return true;
        }
        let recalled =
            if edit == EditCommand::Up { self.recall.earlier(text) } else { self.recall.later(text) };
        match recalled {
            Some(prompt) => self.show(&prompt),
            // Below the last row there is nothing but its end.
            None if edit == EditCommand::Down && self.text.cursor() < self.text.as_str().len() => {
                return self.edit(EditCommand::TextEnd);
            }
            None => return false,
        }
        true
    }

    /// Shows a prompt that is in the history; what is there now comes back below the newest.
    pub(super) fn recall_text(&mut self, text: &str) {
        if let Some(prompt) = self.recall.find(text, self.text.as_str()) {
            self.show(&prompt);
        }
    }

    fn show(&mut self, prompt: &str) {
        self.text.renew(prompt);
        self.moved();
    }

    /// The cursor stands elsewhere now, or the text is another one, and not by cutting or putting in.
    fn moved(&mut self) {
        self.column = None;
        self.kills.rest();
        self.scroll();
    }

    fn renew(&mut self) {
        self.rows.renew(self.text.as_str(), self.text.revision());
    }

    /// Lays the text out in so many columns, of which at most so many rows are to be seen. A column stays free for the cursor.
    pub(super) fn lay_out(&mut self, columns: u16, most_rows: u16) {
        self.window.1 = usize::from(most_rows.max(1));
        let width = usize::from(columns.saturating_sub(1).max(1));
        self.rows.lay_out(self.text.as_str(), self.text.revision(), width);
        self.scroll();
    }

    /// Moves the window so that the cursor is in it, and so that no row stays empty while others are hidden.
    fn scroll(&mut self) {
        if !self.rows.is_laid_out() {
            return;
        }
        self.renew();
        let (row, _) = self.rows.place(self.text.as_str(), self.text.cursor());
        let (top, height) = self.window;
        let top = top.min(row).max((row + 1).saturating_sub(height));
        self.window.0 = top.min(self.rows.count().saturating_sub(height));
    }

    /// Rows that are to be seen.
    pub(super) fn height(&self) -> u16 {
        u16::try_from(self.rows.count().min(self.window.1)).unwrap_or(u16::MAX)
    }

    /// Whether the text begins with a slash and is one line.
    pub(super) fn begins_command(&self) -> bool {
        let text = self.text.as_str();
        text.starts_with('/') && !text.contains('\n')
    }

    /// Puts the cursor where somebody clicked: a row and a column of what is drawn, of so many rows. In a token, to its nearer end.
    pub(super) fn click(&mut self, row: u16, column: u16, height: u16) {
        let row = self.top(height) + usize::from(row);
        let at = self.rows.at(self.text.as_str(), row, usize::from(column));
        let token = self.tokens.around(self.text.as_str(), at);
        let nearer = |token: Range<usize>| match at - token.start < token.end - at {
            true => token.start,
            false => token.end,
        };
        self.text.move_to(token.map_or(at, nearer));
        self.moved();
    }

    /// The first row that is drawn: an area may have fewer rows than the window, and the cursor's is among them.
    fn top(&self, height: u16) -> usize {
        let (row, _) = self.rows.place(self.text.as_str(), self.text.cursor());
        self.window.0.max((row + 1).saturating_sub(usize::from(height.max(1))))
    }

    /// Rows of the text that are above and below what is drawn of it in so many rows.
    pub(super) fn hidden(&self, height: u16) -> [usize; 2] {
        let top = self.top(height);
        [top, self.rows.count().saturating_sub(top + usize::from(height))]
    }

    /// Draws the text as it was laid out; says where the cursor stands.
    pub(super) fn draw(&self, area: Rect, style: Style, buffer: &mut Buffer) -> (u16, u16) {
        let text = self.text.as_str();
        let (row, column) = self.rows.place(text, self.text.cursor());
        let top = self.top(area.height);
        for (y, at) in (area.y..area.bottom()).zip(top..self.rows.count()) {
            let shown = row_text(&text[self.rows.row(at)]);
            buffer.set_stringn(area.x, y, shown, usize::from(area.width), style);
        }
        let place =
            |at: usize, length: u16| u16::try_from(at).unwrap_or(u16::MAX).min(length.saturating_sub(1));
        (area.x + place(column, area.width), area.y + place(row.saturating_sub(top), area.height))
    }
}

/// What the text is going to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EditKind {
    Message,
    /// A command for the shell, whose output the model reads.
    Command,
    /// A command for the shell that the model never sees.
    PrivateCommand,
}

#[cfg(test)]
mod tests;
