//! The selected row of a list, and its changes by keys and clicks.

/// The selected row of a list.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListCursor {
    pub(crate) row: usize,
    /// True if the user selected the row by a click or a key; a click then accepts it.
    pub(crate) is_user_selected: bool,
    /// The first visible row at the last click. Rows stay in place under the mouse.
    clicked_top: Option<usize>,
}

impl ListCursor {
    /// Selects a row of a list of this length for the user, at most the last one.
    pub(crate) fn select(&mut self, row: usize, len: usize) {
        self.row = row.min(len.saturating_sub(1));
        self.is_user_selected = true;
    }

    /// Moves by this number of rows, stopping at the ends.
    pub(crate) fn step(&mut self, rows: isize, len: usize) {
        self.select(self.row.saturating_add_signed(rows), len);
        self.release();
    }

    /// Selects a clicked row, and keeps the first visible row, `top`, in place; returns true if the user had
    /// already selected the row.
    pub(crate) fn click(&mut self, row: usize, top: usize, len: usize) -> bool {
        let (before, was_user_selected) = (self.row, self.is_user_selected);
        self.select(row, len);
        self.clicked_top = Some(top);
        was_user_selected && self.row == before
    }

    /// Lets the rows scroll again after a click.
    pub(crate) fn release(&mut self) {
        self.clicked_top = None;
    }

    /// Returns true if the rows stay in place because one was clicked.
    pub(crate) fn is_clicked(&self) -> bool {
        self.clicked_top.is_some()
    }

    /// Follows the selected item to its row in a changed list; selects the first row if the item is gone.
    pub(crate) fn follow(&mut self, row: Option<usize>) {
        self.row = row.unwrap_or(0);
        self.is_user_selected &= row.is_some();
    }

    /// Returns the first visible row in a window of this height: `usual`, unless a row was clicked.
    pub(crate) fn top(&self, usual: usize, height: usize) -> usize {
        let min = (self.row + 1).saturating_sub(height);
        self.clicked_top.map_or(usual, |top| top.clamp(min, self.row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_cursor_click_selects_then_accepts() {
        let mut cursor = ListCursor { row: 2, ..ListCursor::default() };
        assert!(!cursor.click(2, 0, 5), "the initial selection");
        assert!(cursor.click(2, 0, 5));
        assert!(!cursor.click(9, 0, 5), "another row");
        assert_eq!(cursor.row, 4, "the last one");
    }

    #[test]
    fn list_cursor_rows_stay_under_the_mouse() {
        let mut cursor = ListCursor::default();
        assert_eq!(cursor.top(7, 5), 7);
        cursor.click(13, 10, 100);
        assert_eq!((cursor.row, cursor.top(7, 5)), (13, 10));
        cursor.select(20, 100);
        assert_eq!(cursor.top(7, 5), 16, "the selected row stays visible");
        cursor.step(-1, 100);
        assert_eq!((cursor.row, cursor.top(7, 5)), (19, 7), "a key scrolls again");
    }

    #[test]
    fn list_cursor_follows_its_item() {
        let mut cursor = ListCursor::default();
        cursor.select(3, 5);
        cursor.follow(Some(1));
        assert!(cursor.row == 1 && cursor.is_user_selected);
        cursor.follow(None);
        assert!(cursor.row == 0 && !cursor.is_user_selected);
    }
}
