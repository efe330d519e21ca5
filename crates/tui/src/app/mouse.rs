//! Routes the mouse: lists first, then the transcript, then the rule above the editor and the editor.
//! `list_mouse` handles lists.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use crate::action::Action;
use crate::app::App;
use crate::component::{Component, Outcome, UiEvent};
use crate::composer::view::SIGN_WIDTH;
use crate::compositor::consumed_key::KeyIntent;
use crate::transcript::jump_target::Direction;
use crate::view::ScreenAreas;

/// Lines per step of the wheel.
pub(super) const WHEEL_LINES: usize = 3;

impl App {
    pub(super) fn mouse(&mut self, event: MouseEvent) -> Vec<Action> {
        let position = Position { x: event.column, y: event.row };
        let mut actions = Vec::new();
        match event.kind {
            MouseEventKind::ScrollUp => return self.wheel(position, Direction::Older),
            MouseEventKind::ScrollDown => return self.wheel(position, Direction::Newer),
            MouseEventKind::Down(MouseButton::Left) => {
                actions.extend(self.defer_unread(KeyIntent::Other));
                if let Some(clicked) = self.click_row(position) {
                    self.transcript.end_press();
                    actions.extend(clicked);
                    return actions;
                }
            }
            _ => {}
        }
        let mut outcome = Outcome::Ignored;
        actions.extend(self.with_transcript(|pane, cx| outcome = pane.handle(&UiEvent::Mouse(event), cx)));
        if outcome == Outcome::Consumed {
            return actions;
        }
        let areas = ScreenAreas::compute(self);
        if areas.top_rule.contains(position) {
            self.transcript.follow();
        } else if areas.editor.contains(position) {
            let (row, column) = (position.y - areas.editor.y, position.x.saturating_sub(SIGN_WIDTH));
            self.composer.editor.click(row, column, areas.editor.height);
        }
        actions
    }
}
