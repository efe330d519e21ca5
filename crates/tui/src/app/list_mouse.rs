//! Mouse rules for all lists: a click on a row selects it, a click on the selected row accepts it as Enter does, and
//! the wheel moves the selection. A list's initial selection doesn't count as selected by the user.
//!
//! So a stray click accepts nothing, and neither does the second click of a double click: the accepted row may have
//! been replaced with something else in the same place.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Position;

use crate::action::Action;
use crate::app::App;
use crate::app::mouse::WHEEL_LINES;
use crate::composer::Composer;
use crate::compositor::consumed_key::KeyIntent;
use crate::overlay::Overlay;
use crate::queue_panel::QueuePanel;
use crate::shown_since::ShownSince;
use crate::transcript::jump_target::Direction;
use crate::view;
use crate::view::hit_test::{HitRow, ScrollTarget};

impl App {
    /// Handles a click on a row of a list; `None` if there is none.
    pub(super) fn click_row(&mut self, position: Position) -> Option<Vec<Action>> {
        let row = HitRow::at(self, position)?;
        if self.compositor.accepted_click.is_some_and(|accepted| !accepted.is_long_enough(self.now)) {
            return Some(Vec::new());
        }
        if !self.choose_row_at(row) {
            return Some(Vec::new());
        }
        self.compositor.accepted_click = Some(ShownSince::at(self.now));
        Some(match row {
            HitRow::Popup { .. } => self.accept_row(),
            HitRow::Offer(_) => self.with_composer(Composer::accept_candidate),
            HitRow::Waiting(_) => self.with_queue(QueuePanel::edit_selected),
        })
    }

    /// Selects a row; returns whether the user had selected it before.
    fn choose_row_at(&mut self, row: HitRow) -> bool {
        match (row, self.compositor.top_mut()) {
            (HitRow::Popup { line, height }, Some(Overlay::Picker(picker))) => picker.click(line, height),
            (HitRow::Popup { line, .. }, Some(Overlay::Tree(tree))) => tree.click(line),
            (HitRow::Popup { .. }, Some(Overlay::Pager(_)) | None) => false,
            (HitRow::Offer(line), _) => self.composer.completion.click(line, view::prompt::most_offers(self)),
            (HitRow::Waiting(row), _) => self.queue.click(row, &self.model.activity.queue),
        }
    }

    /// Accepts the selected row of the top list.
    fn accept_row(&mut self) -> Vec<Action> {
        self.with_overlays(|overlays, cx| match overlays.top_mut() {
            Some(Overlay::Picker(picker)) => picker.accept_selected(cx),
            Some(Overlay::Tree(tree)) => tree.accept_selected(cx),
            Some(Overlay::Pager(_)) | None => {}
        })
    }

    /// Handles the wheel: lists move their selection, everything else scrolls.
    pub(super) fn wheel(&mut self, position: Position, toward: Direction) -> Vec<Action> {
        let (code, count) = match toward {
            Direction::Older => (KeyCode::Up, -1),
            Direction::Newer => (KeyCode::Down, 1),
        };
        let mut actions = self.defer_unread(KeyIntent::Other);
        match ScrollTarget::at(self, position) {
            ScrollTarget::Popup => actions.extend(self.handle_key(KeyEvent::from(code))),
            ScrollTarget::Offers => self.composer.completion.step_within(count),
            ScrollTarget::Waiting => actions.extend(self.with_queue(|queue, cx| queue.step(count, cx))),
            ScrollTarget::Transcript => {
                self.with_transcript(|pane, cx| pane.scroll_lines(toward, WHEEL_LINES, cx));
            }
        }
        actions
    }
}
