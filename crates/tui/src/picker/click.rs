//! Mouse clicks in a list, with the rules of all lists.

use std::ops::Range;

use ratatui::layout::Rect;

use crate::component::{Context, ViewContext};
use crate::list_click::ClickableList;
use crate::picker::{Picker, view};

impl ClickableList for Picker {
    fn rows_area(&self, view: &ViewContext<'_>) -> Rect {
        view::rows(self, self.area, view.ui)
    }

    fn visible_rows(&self, view: &ViewContext<'_>) -> Range<usize> {
        self.top(usize::from(self.rows_area(view).height))..self.matches.len()
    }

    fn select_row(&mut self, row: usize, view: &ViewContext<'_>) -> bool {
        let top = self.visible_rows(view).start;
        let was_selected = self.cursor.click(row, top, self.matches.len());
        self.selection_moved();
        was_selected
    }

    /// Accepts the selected row, except while the list prompts for a line.
    fn accept_selected(&mut self, cx: &mut Context<'_>) {
        if self.prompt().is_none() && self.is_visible_long_enough(cx.now) {
            self.set_status(None);
            self.accept(cx);
        }
    }

    fn turn_wheel(&mut self, rows: isize, _cx: &mut Context<'_>) {
        self.set_status(None);
        if self.prompt().is_none() || self.source.facts().is_form {
            self.step(rows);
        }
    }
}
