//! Mouse clicks in the tree, with the rules of all lists.

use ratatui::layout::Rect;

use super::{PendingNavigation, TreeView};

impl TreeView {
    /// The area of the rows on a screen of this size.
    pub(crate) fn rows_area(&self, size: (u16, u16)) -> Rect {
        self.areas(size).list
    }

    /// Returns true if there is a selectable entry on this visible line.
    pub(crate) fn has_line(&self, line: usize) -> bool {
        let is_free = self.labelling.is_none() && matches!(self.going, PendingNavigation::Nowhere);
        is_free && self.place.top + line < self.rows.len()
    }

    /// Selects the entry on a visible line without scrolling; returns whether the user had selected it before.
    pub(crate) fn click(&mut self, line: usize) -> bool {
        let (before, was_user_selected) = (self.place.row, self.place.is_user_selected);
        self.place.refused = None;
        self.place.is_clicked = true;
        self.go_to(self.place.top + line);
        was_user_selected && self.place.row == before
    }
}
