//! The transcript on the screen: scrolling, block focus, folding, search and the mouse selection.
//!
//! [`Transcript`] owns the blocks and the scroll position; the pane handles keys and the mouse, keeps its
//! area, and draws. The search bar and a focused block get keys first; the screen's own bindings arrive as
//! commands.

mod events;
pub(crate) mod lookup;
mod mouse;
pub(crate) mod press;
pub(crate) mod search;
pub(crate) mod search_bar;
mod shell;
mod streaming;
mod view;

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tiller_engine::BranchSummary;
use tiller_render::{Line, LinkStyle, Role, Span};

use crate::action::{Action, BackgroundJob, CopiedText, TerminalAction};
use crate::block::banner::Banner;
use crate::block::notice_level::NoticeLevel;
use crate::block::{Block, BlockKind};
use crate::component::{Component, Context, Outcome, UiEvent, ViewContext};
use crate::editor::edit_command::EditCommand;
use crate::effect::Effect;
use crate::keymap::table::{KeyCommand, KeyContext};
use crate::layout::RenderContext;
use crate::message::TaskResult;
use crate::navigate::Navigate;
use crate::terminal::image_placement::ImagePlacement;
use crate::transcript::Transcript;
use crate::transcript::chunk::BlockPos;
use crate::transcript::jump_target::{Direction, JumpTarget};
use crate::transcript::row::ShownRows;
use crate::transcript::selection::amount;
use crate::transcript_pane::press::Press;
use crate::transcript_pane::search::SearchBar;
use crate::transcript_pane::view::TranscriptView;
use crate::welcome::banner;

/// The transcript with its search, its focus and the mouse.
#[derive(Debug, Default)]
pub(crate) struct TranscriptPane {
    transcript: Transcript,
    search: Option<SearchBar>,
    /// Number of searches so far; only the newest is relevant.
    searches: u64,
    press: Option<Press>,
    /// The area of the last layout.
    area: Rect,
}

impl Component for TranscriptPane {
    fn handle(&mut self, event: &UiEvent<'_>, cx: &mut Context<'_>) -> Outcome {
        match *event {
            UiEvent::Key(key) if self.search.is_some() => self.search_key(key, cx),
            UiEvent::Key(key) => self.block_key(key, cx),
            UiEvent::Paste(text) => self.paste_into_search(text, cx),
            UiEvent::Mouse(event) => self.handle_mouse(event, cx),
            UiEvent::Text(_) => Outcome::Ignored,
        }
    }

    fn refresh(&mut self, cx: &mut Context<'_>) {
        if self.transcript.has_banner() {
            self.transcript.set_banner(banner(cx));
        }
        self.follow_search(cx);
        for request in self.transcript.take_requests() {
            cx.push(Action::Background(BackgroundJob::ReadPart(request)));
        }
    }

    fn take(&mut self, result: TaskResult, _cx: &mut Context<'_>) -> Option<TaskResult> {
        match result {
            TaskResult::PartRead { wanted, entries, ahead } => {
                self.transcript.insert_section(&wanted, &entries, &ahead);
            }
            TaskResult::BranchPoints { epoch, points } => {
                self.transcript.update_branch_points(epoch, points);
            }
            TaskResult::SearchHits(found) => self.add_search_hits(&found),
            result => return Some(result),
        }
        None
    }

    /// Requests a part again whose read was rejected.
    fn rejected(&mut self, action: Action, _cx: &mut Context<'_>) -> Option<Action> {
        let Action::Background(BackgroundJob::ReadPart(request)) = action else { return Some(action) };
        self.transcript.cancel_request(request.part());
        None
    }

    fn lay_out(&mut self, area: Rect, view: &ViewContext<'_>) {
        self.set_area(area);
        self.lay_out_rows(view);
    }

    fn render(&self, area: Rect, buffer: &mut Buffer, view: &ViewContext<'_>) {
        let (transcript, search, focus) = (&self.transcript, self.search.as_ref(), self.focused(view));
        view::draw(&TranscriptView { transcript, search, focus }, area, buffer, view);
    }

    fn status_hint(&self, view: &ViewContext<'_>) -> Option<Line> {
        self.focused(view).map(|_| view::focus_hints(view))
    }
}

impl TranscriptPane {
    /// Returns the blocks and the scroll position.
    pub(crate) fn content(&self) -> &Transcript {
        &self.transcript
    }

    /// The search bar, if it is open.
    pub(crate) fn search(&self) -> Option<&SearchBar> {
        self.search.as_ref()
    }

    /// Handles the screen's bindings that scroll, fold, search or focus a block.
    pub(crate) fn bound_key(&mut self, event: &UiEvent<'_>, cx: &mut Context<'_>) -> Outcome {
        let UiEvent::Key(key) = *event else { return Outcome::Ignored };
        let command = cx.ui.keymap.command(KeyContext::Main, key);
        command.map_or(Outcome::Ignored, |command| self.command(command, cx))
    }

    fn command(&mut self, command: KeyCommand, cx: &mut Context<'_>) -> Outcome {
        let at_rest = cx.focus.is_editor_empty;
        match command {
            KeyCommand::UnfoldOutput => {
                self.transcript.folds.output_open = !self.transcript.folds.output_open;
                self.transcript.reset_folds();
            }
            KeyCommand::UnfoldThinking => {
                self.transcript.folds.thinking_open = !self.transcript.folds.thinking_open;
                self.transcript.reset_folds();
            }
            KeyCommand::PageUp => self.scroll_page(Direction::Older, cx),
            KeyCommand::PageDown => self.scroll_page(Direction::Newer, cx),
            KeyCommand::Top if at_rest => self.transcript.jump_to(JumpTarget::Top),
            // The rule above the editor always shows this key, so a second press at the line's end scrolls to
            // the end.
            KeyCommand::Bottom if cx.focus.is_editor_at_line_end => self.transcript.follow(),
            KeyCommand::Oldest => self.transcript.jump_to(JumpTarget::Top),
            KeyCommand::Newest => self.transcript.follow(),
            KeyCommand::OlderPrompt => self.transcript.go_to_prompt(Direction::Older),
            KeyCommand::NewerPrompt => self.transcript.go_to_prompt(Direction::Newer),
            KeyCommand::ChooseOlder => self.focus_block(Direction::Older, cx),
            KeyCommand::ChooseNewer => self.focus_block(Direction::Newer, cx),
            KeyCommand::Search => self.begin_search(),
            _ => return Outcome::Ignored,
        }
        Outcome::Consumed
    }

    /// Handles keys of a focused block.
    fn block_key(&mut self, key: KeyEvent, cx: &mut Context<'_>) -> Outcome {
        let Some(at) = self.focused(cx) else { return Outcome::Ignored };
        match cx.ui.keymap.command(KeyContext::Block, key) {
            Some(KeyCommand::BlockOlder) => self.focus_block(Direction::Older, cx),
            Some(KeyCommand::BlockNewer) => self.focus_block(Direction::Newer, cx),
            Some(KeyCommand::BlockFold) if self.fold(at, cx) => {}
            Some(KeyCommand::BlockFold) => cx.flash("Nothing to fold in this block."),
            Some(KeyCommand::BlockCopy) => self.copy_block(at, cx),
            Some(KeyCommand::BlockBack) => self.unfocus(),
            _ => return Outcome::Ignored,
        }
        Outcome::Consumed
    }

    /// Returns the focused block; `None` while text is typed, when the focus has no effect.
    fn focused(&self, view: &ViewContext<'_>) -> Option<BlockPos> {
        self.transcript.focus().filter(|_| view.focus.is_editor_empty)
    }

    /// Focuses a block, unless text is being typed, because the text would get the block's keys.
    fn focus_block(&mut self, toward: Direction, cx: &mut Context<'_>) {
        if !cx.focus.is_editor_empty {
            let clear = cx.key_of(KeyCommand::Clear);
            let undo = cx.key_of(KeyCommand::Edit(EditCommand::Undo));
            return cx.flash(format!(
                "Clear the prompt to select a block: {clear} clears it, {undo} restores it."
            ));
        }
        let ctx = self.render_context(cx);
        self.transcript.move_focus(toward, usize::from(self.area.height), &ctx);
    }

    /// Ends the block's focus, which would take the first letters of the next message.
    pub(crate) fn unfocus(&mut self) {
        self.transcript.set_focus(None);
    }

    /// Ends the block's focus for characters that arrived in one read, if any of them has no binding there,
    /// because they are a message.
    pub(crate) fn unfocus_for(&mut self, text: &str, view: &ViewContext<'_>) {
        let is_elsewhere = view.focus.is_covered || view.focus.is_in_queue || self.search.is_some();
        let keymap = &view.ui.keymap;
        let means_nothing =
            |c: char| keymap.command(KeyContext::Block, KeyEvent::from(KeyCode::Char(c))).is_none();
        if !is_elsewhere && text.chars().any(means_nothing) {
            self.unfocus();
        }
    }

    /// Toggles the fold of a block; returns false if there is nothing to fold.
    fn fold(&mut self, at: BlockPos, view: &ViewContext<'_>) -> bool {
        let ctx = self.render_context(view);
        self.transcript.toggle(at, &ctx)
    }

    fn copy_block(&self, at: BlockPos, cx: &mut Context<'_>) {
        let text = self.transcript.block(at).map(Block::copy_text).unwrap_or_default();
        if text.is_empty() {
            return cx.flash("Nothing to copy in this block.");
        }
        cx.push(Action::Terminal(TerminalAction::Copy(CopiedText { summary: amount(&text), text })));
    }

    /// Returns the action that moves an unanswered prompt back to the editor; `None` if there is none, or a
    /// run is in progress.
    pub(crate) fn take_back_prompt(&self, view: &ViewContext<'_>) -> Option<Action> {
        let prompt = self.transcript.unanswered().filter(|_| !view.model.is_working())?;
        Some(Action::Navigate(Navigate::ToEntry(prompt.clone(), BranchSummary::None)))
    }

    /// Copies the answer with this number from the end. `typed` is the command, returned for correction.
    pub(crate) fn copy_answer(&self, from_end: usize, typed: String, cx: &mut Context<'_>) {
        if let Some(text) = self.transcript.answer(from_end) {
            let (text, summary) = (
                text.to_owned(),
                match from_end {
                    1 => "the last answer".to_owned(),
                    from_end => format!("answer {from_end} from the end"),
                },
            );
            return cx.push(Action::Terminal(TerminalAction::Copy(CopiedText { text, summary })));
        }
        let reason = match (self.transcript.answers(), self.transcript.is_read_whole()) {
            (0, _) => return cx.flash("No answer to copy yet."),
            (1, true) => "there is only one answer; copy it with /copy".to_owned(),
            (count, true) => format!("there are only {count} answers; /copy {count} copies the first"),
            (count, false) => format!("only the last {count} answers are loaded; scroll up to load more"),
        };
        cx.push(Effect::RejectInput { typed: typed.into(), reason });
    }

    /// Scrolls by a page with an overlap of two lines.
    fn scroll_page(&mut self, direction: Direction, view: &ViewContext<'_>) {
        let rows = usize::from(self.area.height).saturating_sub(2).max(1);
        self.scroll_lines(direction, rows, view);
    }

    fn scroll_lines(&mut self, direction: Direction, count: usize, view: &ViewContext<'_>) {
        let ctx = self.render_context(view);
        match direction {
            Direction::Older => self.transcript.scroll_up(count, &ctx),
            Direction::Newer => self.transcript.scroll_down(count, &ctx),
        }
    }

    /// Scrolls to the end and follows it.
    pub(crate) fn follow(&mut self) {
        self.transcript.follow();
    }

    pub(crate) fn set_area(&mut self, area: Rect) {
        self.area = area;
    }

    fn lay_out_rows(&mut self, view: &ViewContext<'_>) {
        self.follow_search(view);
        let ctx = self.render_context(view);
        self.transcript.lay_out(usize::from(self.area.height), &ctx);
    }

    /// The context for laying out blocks.
    pub(crate) fn render_context(&self, view: &ViewContext<'_>) -> RenderContext {
        RenderContext { folds: self.transcript.folds, ..view.render_context() }
    }

    /// Adds a notice from tiller.
    pub(crate) fn notice(&mut self, level: NoticeLevel, text: impl Into<String>, hint: Option<String>) {
        self.transcript.notice(level, text, hint);
        self.transcript.note_growth();
    }

    /// Marks notices with this text as outdated.
    pub(crate) fn mark_outdated(&mut self, text: &str) {
        self.transcript.mark_outdated(text);
    }

    /// Shows the banner above an empty session.
    pub(crate) fn show_banner(&mut self, banner: Banner) {
        self.transcript.insert_first(Block::new(BlockKind::Banner(Box::new(banner))));
    }

    /// Returns the label about output below the screen; `None` while the end is followed.
    pub(crate) fn below_label(&self, view: &ViewContext<'_>) -> Option<Span> {
        if self.transcript.follows() {
            return None;
        }
        let (label, role) = match self.transcript.new_below() {
            Some(0) => ("new output below".to_owned(), Role::Accent),
            Some(count) => (format!("{count} new below"), Role::Accent),
            None => ("more below".to_owned(), Role::Muted),
        };
        Some(Span::new(format!(" ↓ {label} · {} ", view.key_of(KeyCommand::Bottom)), role))
    }

    /// The link targets on the screen, if the terminal supports links.
    pub(crate) fn links(&self, view: &ViewContext<'_>) -> impl Iterator<Item = &Arc<str>> + use<'_> {
        let are_live = view.ui.render_options.links == LinkStyle::Live;
        self.transcript.links().filter(move |_| are_live)
    }

    /// Returns the images on the screen, if they aren't covered.
    pub(crate) fn images(&self, view: &ViewContext<'_>) -> Vec<ImagePlacement> {
        let area = self.area;
        let mut placements: Vec<ImagePlacement> = Vec::new();
        if view.focus.is_covered {
            return placements;
        }
        for (row, shown) in (area.y..area.bottom()).zip(self.transcript.visible()) {
            let Some(ShownRows { inset, line, .. }) = shown else { continue };
            let Some(slice) = &line.image else { continue };
            match placements.last_mut() {
                Some(last) if Arc::ptr_eq(&last.image, &slice.image) => last.rows += 1,
                _ => {
                    let column = area.x + u16::try_from(inset + line.width()).unwrap_or(0);
                    let image = Arc::clone(&slice.image);
                    placements.push(ImagePlacement { image, column, row, from: slice.row, rows: 1 });
                }
            }
        }
        placements
    }
}

#[cfg(test)]
mod tests;
