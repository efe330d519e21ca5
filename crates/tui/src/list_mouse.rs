//! What the mouse does in lists, one rule for all of them: a click on a row chooses it, a click on the chosen row takes it as Enter does,
//! and the wheel goes to the rows beside it. The row that a list begins with, or that fits best what was typed, nobody has chosen yet.
//!
//! So a stray click takes nothing, and neither does the second of a double one: what has just been taken may have been replaced by
//! something else in the same place.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Position;

use super::app::{Action, App};
use super::dialog::{KeyIntent, ShownSince};
use super::mouse::WHEEL;
use super::overlay::Overlay;
use super::transcript::Direction;
use super::view::{self, HitRow, ScrollTarget};

impl App {
    /// A click on a row of a list; `None` where there is none.
    pub(super) fn click_row(&mut self, place: Position) -> Option<Vec<Action>> {
        let row = HitRow::at(self, place)?;
        if self.moving.mouse.took.is_some_and(|took| !took.is_noticed(self.now)) {
            return Some(Vec::new());
        }
        if !self.choose_row_at(row) {
            return Some(Vec::new());
        }
        self.moving.mouse.took = Some(ShownSince::at(self.now));
        Some(match row {
            HitRow::Popup { .. } => self.take_row(),
            HitRow::Offer(_) => self.take_chosen_offer(),
            HitRow::Waiting(_) => self.edit_waiting(),
        })
    }

    /// Goes to a row; says whether the user had gone there already.
    fn choose_row_at(&mut self, row: HitRow) -> bool {
        match (row, self.popups.last_mut()) {
            (HitRow::Popup { line, height }, Some(Overlay::Pick(picker))) => picker.click(line, height),
            (HitRow::Popup { line, .. }, Some(Overlay::Tree(tree))) => tree.click(line),
            (HitRow::Popup { .. }, Some(Overlay::Read(_)) | None) => false,
            (HitRow::Offer(line), _) => self.complete.click(line, view::most_offers(self)),
            (HitRow::Waiting(row), _) => self.click_waiting(row),
        }
    }

    /// Takes the chosen row of the list on top.
    fn take_row(&mut self) -> Vec<Action> {
        match self.popups.last() {
            Some(Overlay::Pick(_)) => self.accept_clicked(),
            Some(Overlay::Tree(_)) => self.accept_in_tree(),
            Some(Overlay::Read(_)) | None => Vec::new(),
        }
    }

    /// The wheel was turned there: lists go to the next row, the rest scrolls.
    pub(super) fn wheel(&mut self, place: Position, toward: Direction) -> Vec<Action> {
        let (code, by) = match toward {
            Direction::Older => (KeyCode::Up, -1),
            Direction::Newer => (KeyCode::Down, 1),
        };
        self.put_off(KeyIntent::Moves);
        match ScrollTarget::at(self, place) {
            ScrollTarget::Popup => return self.key(KeyEvent::from(code)),
            ScrollTarget::Offers => self.complete.step_within(by),
            ScrollTarget::Waiting => self.step_waiting(by),
            ScrollTarget::Transcript => self.scroll_lines(toward, WHEEL),
        }
        Vec::new()
    }
}
