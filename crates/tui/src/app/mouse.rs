//! The dispatch of the mouse to the parts of the screen.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use crate::action::ActionRequest;
use crate::app::App;
use crate::component::UiEvent;
use crate::compositor::consumed_key::KeyIntent;
use crate::compositor::key_order::{EventReceiver, mouse_receivers};

impl App {
    pub(super) fn handle_mouse(&mut self, event: MouseEvent) -> Vec<ActionRequest> {
        let mut actions = match event.kind {
            MouseEventKind::Down(MouseButton::Left)
            | MouseEventKind::ScrollUp
            | MouseEventKind::ScrollDown => self.defer_unread(KeyIntent::Other),
            _ => Vec::new(),
        };
        let part = self.areas.part_at(Position { x: event.column, y: event.row });
        let receivers = mouse_receivers(event.kind, part, self.focus_state());
        if receivers[0] != EventReceiver::Transcript && !is_wheel(event.kind) {
            // Another part has captured the button.
            self.transcript.end_press();
        }
        let event = UiEvent::Mouse(event);
        actions.extend(
            receivers.iter().find_map(|receiver| self.offer(*receiver, &event)).into_iter().flatten(),
        );
        actions
    }
}

fn is_wheel(kind: MouseEventKind) -> bool {
    matches!(kind, MouseEventKind::ScrollUp | MouseEventKind::ScrollDown)
}
