//! The mouse in lists: a click on a row selects it, a click on the selected row accepts it like Enter, and
//! the wheel moves the selection. A list's initial selection doesn't count as selected by the user.
//!
//! So a stray click accepts nothing, and neither does the second click of a double click: another row may
//! have taken the place of the accepted one.

use std::ops::Range;

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use crate::component::{Context, Outcome, ViewContext};
use crate::effect::Effect;

/// A list whose rows can be clicked.
pub(crate) trait ClickableList {
    /// Returns the area of the rows in the last layout.
    fn rows_area(&self, view: &ViewContext<'_>) -> Rect;

    /// Returns the selectable rows, from the first visible one.
    fn visible_rows(&self, view: &ViewContext<'_>) -> Range<usize>;

    /// Selects a row; returns true if the user had already selected it.
    fn select_row(&mut self, row: usize, view: &ViewContext<'_>) -> bool;

    /// Accepts the selected row like Enter.
    fn accept_selected(&mut self, cx: &mut Context<'_>);

    /// Moves the selection by this number of rows, stopping at the ends.
    fn turn_wheel(&mut self, rows: isize, cx: &mut Context<'_>);
}

/// Handles a click or the wheel; ignores a click next to the rows.
pub(crate) fn handle_mouse(
    list: &mut impl ClickableList,
    event: MouseEvent,
    cx: &mut Context<'_>,
) -> Outcome {
    match event.kind {
        MouseEventKind::ScrollUp => list.turn_wheel(-1, cx),
        MouseEventKind::ScrollDown => list.turn_wheel(1, cx),
        MouseEventKind::Down(MouseButton::Left) => {
            let area = list.rows_area(cx);
            if !area.contains(Position { x: event.column, y: event.row }) {
                return Outcome::Ignored;
            }
            let line = usize::from(event.row - area.y);
            let Some(row) = list.visible_rows(cx).nth(line) else { return Outcome::Ignored };
            if !cx.focus.is_click_accepted && list.select_row(row, cx) {
                cx.push(Effect::ClickAccepted);
                list.accept_selected(cx);
            }
        }
        _ => return Outcome::Ignored,
    }
    Outcome::Consumed
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyModifiers;
    use tiller_core::unit::UnixMs;

    use super::*;
    use crate::address::Address;
    use crate::component::FocusState;
    use crate::layout::FoldDefaults;
    use crate::session_model::SessionModel;
    use crate::ui_context::UiContext;

    /// Three rows, starting at row 2; the first one is selected, but not by the user.
    #[derive(Default)]
    struct Rows {
        selected: usize,
        is_user_selected: bool,
        accepted: Vec<usize>,
    }

    impl ClickableList for Rows {
        fn rows_area(&self, _view: &ViewContext<'_>) -> Rect {
            Rect::new(0, 2, 10, 5)
        }

        fn visible_rows(&self, _view: &ViewContext<'_>) -> Range<usize> {
            0..3
        }

        fn select_row(&mut self, row: usize, _view: &ViewContext<'_>) -> bool {
            let was_selected = self.is_user_selected && self.selected == row;
            (self.selected, self.is_user_selected) = (row, true);
            was_selected
        }

        fn accept_selected(&mut self, _cx: &mut Context<'_>) {
            self.accepted.push(self.selected);
        }

        fn turn_wheel(&mut self, rows: isize, _cx: &mut Context<'_>) {
            self.selected = self.selected.saturating_add_signed(rows);
        }
    }

    fn send(rows: &mut Rows, kind: MouseEventKind, row: u16, focus: FocusState) -> (Outcome, Vec<Effect>) {
        let (model, ui) = (SessionModel::default(), UiContext::example());
        let view =
            ViewContext { model: &model, ui: &ui, now: UnixMs(0), focus, folds: FoldDefaults::default() };
        let mut cx = Context::new(view, Address::Screen);
        let event = MouseEvent { kind, column: 1, row, modifiers: KeyModifiers::NONE };
        let outcome = handle_mouse(rows, event, &mut cx);
        (outcome, cx.into_effects())
    }

    const DOWN: MouseEventKind = MouseEventKind::Down(MouseButton::Left);

    #[test]
    fn list_click_selects_then_accepts() {
        let (mut rows, focus) = (Rows::default(), FocusState::default());
        assert_eq!(send(&mut rows, DOWN, 2, focus), (Outcome::Consumed, vec![]), "the initial selection");
        assert_eq!(send(&mut rows, DOWN, 3, focus), (Outcome::Consumed, vec![]));
        assert_eq!(send(&mut rows, DOWN, 3, focus), (Outcome::Consumed, vec![Effect::ClickAccepted]));
        assert_eq!(rows.accepted, [1]);
    }

    #[test]
    fn list_click_after_accepted_one_does_nothing() {
        let focus = FocusState { is_click_accepted: true, ..FocusState::default() };
        let mut rows = Rows { is_user_selected: true, ..Rows::default() };
        assert_eq!(send(&mut rows, DOWN, 2, focus), (Outcome::Consumed, vec![]));
        assert_eq!(send(&mut rows, DOWN, 3, focus), (Outcome::Consumed, vec![]));
        assert_eq!((rows.selected, rows.accepted.len()), (0, 0));
    }

    #[test]
    fn list_click_beside_the_rows_is_ignored() {
        let (mut rows, focus) = (Rows::default(), FocusState::default());
        for row in [1, 5, 7] {
            assert_eq!(send(&mut rows, DOWN, row, focus), (Outcome::Ignored, vec![]), "{row}");
        }
        send(&mut rows, MouseEventKind::ScrollDown, 0, focus);
        assert_eq!(rows.selected, 1, "the wheel turns anywhere over the list");
    }
}
