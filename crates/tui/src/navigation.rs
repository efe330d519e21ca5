//! Keys that move through the transcript, and the state of search and mouse.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tiller_engine::BranchSummary;

use super::block::Block;
use super::editor::EditCommand;
use super::keymap::{Context, KeyCommand};
use super::mouse::Mouse;
use super::search::SearchBar;
use super::transcript::{BlockPos, CopiedText, Direction, JumpTarget, amount};
use super::view::ScreenAreas;
use crate::action::{Action, Navigate, TerminalAction};
use crate::app::App;

/// The state of the search, the session lists and the mouse.
#[derive(Debug, Default)]
pub(super) struct Navigation {
    pub(super) search: Option<SearchBar>,
    /// Number of searches so far; only the newest counts.
    pub(super) searches: u64,
    pub(super) mouse: Mouse,
}

impl App {
    /// Handles keys of a focused block.
    pub(super) fn block_key(&mut self, key: KeyEvent) -> Option<Vec<Action>> {
        let at = self.transcript.focus().filter(|_| self.composer.editor.is_empty())?;
        match self.ui.keymap.command(Context::Block, key)? {
            KeyCommand::BlockOlder => self.focus_block(Direction::Older),
            KeyCommand::BlockNewer => self.focus_block(Direction::Newer),
            KeyCommand::BlockFold if self.fold(at) => {}
            KeyCommand::BlockFold => self.flash("Nothing to fold in this block."),
            KeyCommand::BlockCopy => return Some(self.copy_block(at)),
            KeyCommand::BlockBack => self.transcript.set_focus(None),
            _ => return None,
        }
        Some(Vec::new())
    }

    /// Ends the block's focus for characters that arrived at once if any of them has no binding there: they
    /// are a message.
    pub(super) fn unfocus_block_for(&mut self, text: &str) {
        let is_elsewhere =
            !self.compositor.is_empty() || self.navigation.search.is_some() || self.queue.has_keys();
        let keymap = &self.ui.keymap;
        let means_nothing =
            |c: char| keymap.command(Context::Block, KeyEvent::from(KeyCode::Char(c))).is_none();
        if !is_elsewhere && text.chars().any(means_nothing) {
            self.transcript.set_focus(None);
        }
    }

    /// Handles commands that scroll to a place in the transcript or focus a block.
    pub(super) fn transcript_move_key(&mut self, command: KeyCommand) -> Option<Vec<Action>> {
        match command {
            KeyCommand::Oldest => self.transcript.jump_to(JumpTarget::Top),
            KeyCommand::Newest => self.transcript.follow(),
            KeyCommand::OlderPrompt => self.transcript.go_to_prompt(Direction::Older),
            KeyCommand::NewerPrompt => self.transcript.go_to_prompt(Direction::Newer),
            KeyCommand::ChooseOlder => self.focus_block(Direction::Older),
            KeyCommand::ChooseNewer => self.focus_block(Direction::Newer),
            KeyCommand::Search => return Some(self.begin_search()),
            _ => return None,
        }
        Some(Vec::new())
    }

    /// Focuses a block unless text is being typed: its keys would go to the text.
    fn focus_block(&mut self, toward: Direction) {
        if !self.composer.editor.is_empty() {
            let key = |command| self.ui.keymap.key_of(command);
            let (clear, undo) = (key(KeyCommand::Clear), key(KeyCommand::Edit(EditCommand::Undo)));
            self.flash(format!("Clear the prompt to select a block: {clear} clears it, {undo} restores it."));
            return;
        }
        let (ctx, height) =
            (self.render_context(), usize::from(ScreenAreas::compute(self).transcript.height));
        self.transcript.move_focus(toward, height, &ctx);
    }

    /// Toggles the fold of a block; returns false if there is nothing to fold.
    pub(super) fn fold(&mut self, at: BlockPos) -> bool {
        let ctx = self.render_context();
        self.transcript.toggle(at, &ctx)
    }

    fn copy_block(&mut self, at: BlockPos) -> Vec<Action> {
        let text = self.transcript.block(at).map(Block::copy_text).unwrap_or_default();
        if text.is_empty() {
            self.flash("Nothing to copy in this block.");
            return Vec::new();
        }
        vec![Action::Terminal(TerminalAction::Copy(CopiedText { what: amount(&text), text }))]
    }

    /// Handles keys of the transcript search.
    pub(super) fn search_key(&mut self, key: KeyEvent) -> Option<Vec<Action>> {
        match self.ui.keymap.command(Context::Search, key) {
            Some(KeyCommand::SearchOlder) => self.step_search(Direction::Older),
            Some(KeyCommand::SearchNewer) => self.step_search(Direction::Newer),
            Some(KeyCommand::SearchStay) => return Some(self.accept_search()),
            Some(KeyCommand::SearchClear) => return Some(self.edit_search(String::clear)),
            Some(KeyCommand::SearchBack) => return Some(self.cancel_search()),
            _ => return self.search_text_key(key),
        }
        Some(Vec::new())
    }

    /// Edits the search text; keys that scroll, fold or suspend are passed on.
    fn search_text_key(&mut self, key: KeyEvent) -> Option<Vec<Action>> {
        let is_plain = (key.modifiers - KeyModifiers::SHIFT).is_empty();
        match key.code {
            KeyCode::Char(c) if is_plain => Some(self.edit_search(|typed| typed.push(c))),
            KeyCode::Backspace
                if self.navigation.search.as_ref().is_some_and(|search| search.typed().is_empty()) =>
            {
                Some(self.cancel_search())
            }
            KeyCode::Backspace => Some(self.edit_search(|typed| _ = typed.pop())),
            _ => match self.ui.keymap.command(Context::Main, key) {
                Some(
                    KeyCommand::PageUp
                    | KeyCommand::PageDown
                    | KeyCommand::UnfoldOutput
                    | KeyCommand::UnfoldThinking
                    | KeyCommand::Suspend,
                ) => None,
                _ => Some(Vec::new()),
            },
        }
    }

    /// Moves an unanswered prompt back to the editor.
    pub(super) fn take_back_prompt(&mut self) -> Option<Vec<Action>> {
        let prompt = self.transcript.unanswered().filter(|_| !self.model.is_working())?;
        Some(vec![Action::Navigate(Navigate::ToEntry(prompt.clone(), BranchSummary::None))])
    }
}
