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
use crate::composer::view::max_candidates;
use crate::compositor::Compositor;
use crate::compositor::consumed_key::KeyIntent;
use crate::queue_panel::QueuePanel;
use crate::shown_since::ShownSince;
use crate::transcript::jump_target::Direction;
use crate::view::hit_test::{HitRow, ScrollTarget};

impl App {
    /// Handles a click on a row of a list; `None` if there is none.
    pub(super) fn click_row(&mut self, position: Position) -> Option<Vec<Action>> {
        let row = HitRow::at(self, position)?;
        if self.compositor.accepted_click.is_some_and(|accepted| !accepted.is_long_enough(self.now)) {
            return Some(Vec::new());
        }
        let was_selected = match row {
            HitRow::Popup { line, height } => self.compositor.select_row(line, height),
            HitRow::Offer(line) => {
                let height = max_candidates(&view!(self));
                self.composer.completion.click(line, height)
            }
            HitRow::Waiting(row) => self.queue.click(row, &self.model.activity.queue),
        };
        if !was_selected {
            return Some(Vec::new());
        }
        self.compositor.accepted_click = Some(ShownSince::at(self.now));
        Some(match row {
            HitRow::Popup { .. } => self.with_overlays(Compositor::accept_selected),
            HitRow::Offer(_) => self.with_composer(Composer::accept_candidate),
            HitRow::Waiting(_) => self.with_queue(QueuePanel::edit_selected),
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
