//! What the mouse does in lists, one rule for all of them: a click on a row chooses it, a click on the chosen row takes it as Enter does,
//! and the wheel goes to the rows beside it. The row that a list begins with, or that fits best what was typed, nobody has chosen yet.
//!
//! So a stray click takes nothing, and neither does the second of a double one: what has just been taken may have been replaced by
//! something else in the same place.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Position;

use super::app::{Action, App};
use super::mouse::WHEEL;
use super::popup::Popup;
use super::question::{Appeared, Touch};
use super::transcript::Toward;
use super::view::{self, Row, Wheeled};

impl App {
    /// A click on a row of a list; `None` where there is none.
    pub(super) fn click_row(&mut self, place: Position) -> Option<Vec<Action>> {
        let row = Row::at(self, place)?;
        if self.moving.mouse.took.is_some_and(|took| !took.is_noticed(self.now)) {
            return Some(Vec::new());
        }
        if !self.choose_row_at(row) {
            return Some(Vec::new());
        }
        self.moving.mouse.took = Some(Appeared::at(self.now));
        Some(match row {
            Row::Popup { .. } => self.take_row(),
            Row::Offer(_) => self.take_chosen_offer(),
            Row::Waiting(_) => self.edit_waiting(),
        })
    }

    /// Goes to a row; says whether the user had gone there already.
    fn choose_row_at(&mut self, row: Row) -> bool {
        match (row, self.popups.last_mut()) {
            (Row::Popup { line, height }, Some(Popup::Pick(picker))) => picker.click(line, height),
            (Row::Popup { line, .. }, Some(Popup::Tree(tree))) => tree.click(line),
            (Row::Popup { .. }, Some(Popup::Read(_)) | None) => false,
            (Row::Offer(line), _) => self.complete.click(line, view::most_offers(self)),
            (Row::Waiting(row), _) => self.click_waiting(row),
        }
    }

    /// Takes the chosen row of the list on top.
    fn take_row(&mut self) -> Vec<Action> {
        match self.popups.last() {
            Some(Popup::Pick(_)) => self.accept_clicked(),
            Some(Popup::Tree(_)) => self.accept_in_tree(),
            Some(Popup::Read(_)) | None => Vec::new(),
        }
    }

    /// The wheel was turned there: lists go to the next row, the rest scrolls.
    pub(super) fn wheel(&mut self, place: Position, toward: Toward) -> Vec<Action> {
        let (code, by) = match toward {
            Toward::Older => (KeyCode::Up, -1),
            Toward::Newer => (KeyCode::Down, 1),
        };
        self.put_off(Touch::Moves);
        match Wheeled::at(self, place) {
            Wheeled::Popup => return self.key(KeyEvent::from(code)),
            Wheeled::Offers => self.complete.step_within(by),
            Wheeled::Waiting => self.step_waiting(by),
            Wheeled::Transcript => self.scroll_lines(toward, WHEEL),
        }
        Vec::new()
    }
}
