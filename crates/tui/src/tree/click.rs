//! What a click does in the tree: the same as in every list.

use ratatui::layout::Rect;

use super::{PendingNavigation, TreeView};

impl TreeView {
    /// Where its rows stand on a screen of this size.
    pub(crate) fn rows_area(&self, size: (u16, u16)) -> Rect {
        self.areas(size).list
    }

    /// Whether an entry stands on this line of those on the screen, and can be gone to.
    pub(crate) fn has_line(&self, line: usize) -> bool {
        let is_free = self.labelling.is_none() && matches!(self.going, PendingNavigation::Nowhere);
        is_free && self.place.top + line < self.rows.len()
    }

    /// Goes to the entry on this line; says whether the user had chosen that already. What is on the screen stays where it is under the mouse.
    pub(crate) fn click(&mut self, line: usize) -> bool {
        let (before, was_users) = (self.place.row, self.place.is_users);
        self.place.refused = None;
        self.place.is_clicked = true;
        self.go_to(self.place.top + line);
        was_users && self.place.row == before
    }
}
