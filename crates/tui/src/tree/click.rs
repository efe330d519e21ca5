//! Mouse clicks in the tree, with the rules of all lists.

use std::ops::Range;

use ratatui::layout::Rect;

use super::{PendingNavigation, TreeView};
use crate::component::{Context, ViewContext};
use crate::keymap::table::KeyCommand;
use crate::list_click::ClickableList;

impl TreeView {
    /// Returns true if the selection can be moved: no label is being edited, and no navigation is pending.
    fn is_free(&self) -> bool {
        self.labelling.is_none() && matches!(self.going, PendingNavigation::Nowhere)
    }
}

impl ClickableList for TreeView {
    fn rows_area(&self, _view: &ViewContext<'_>) -> Rect {
        self.areas(self.area).rows
    }

    fn visible_rows(&self, _view: &ViewContext<'_>) -> Range<usize> {
        if self.is_free() { self.place.top..self.rows.len() } else { 0..0 }
    }

    /// Selects without scrolling.
    fn select_row(&mut self, row: usize, _view: &ViewContext<'_>) -> bool {
        self.place.refused = None;
        let was_selected = self.place.cursor.click(row, self.place.top, self.rows.len());
        self.selection_moved();
        was_selected
    }

    fn accept_selected(&mut self, cx: &mut Context<'_>) {
        let outcome = self.command(KeyCommand::Accept);
        self.apply(outcome, cx);
    }

    fn turn_wheel(&mut self, rows: isize, _cx: &mut Context<'_>) {
        self.place.refused = None;
        self.place.cursor.release();
        if self.labelling.is_none() && !matches!(self.going, PendingNavigation::Leaving(_)) {
            self.step(rows);
        }
    }
}
