//! The order in which the parts of the screen get a key, a paste or a mouse event.

use crossterm::event::{MouseButton, MouseEventKind};

use crate::component::FocusState;
use crate::screen_areas::ScreenPart;

/// A part of the screen that gets events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventReceiver {
    /// The overlay on top.
    Overlay,
    /// The search bar, or the focused block.
    Transcript,
    Queue,
    Approvals,
    /// Completion, and the keys that send or replace the text.
    Composer,
    /// The bindings of the screen.
    Screen,
    Plan,
    /// The bindings that scroll, fold or search the transcript, or focus a block.
    TranscriptBindings,
    /// Typing.
    Editor,
    /// The rule above the editor; a click scrolls to the end.
    TopRule,
}

/// Returns the receivers of a key, in order; the first that consumes it ends the search. The overlay on top
/// comes first, then the panel that has the keys, then the bindings of the screen, then typing.
pub(crate) const fn key_receivers(focus: FocusState) -> &'static [EventReceiver] {
    use EventReceiver::{
        Approvals, Composer, Editor, Overlay, Plan, Queue, Screen, Transcript, TranscriptBindings,
    };
    if focus.is_on_call_page {
        &[Overlay, Approvals]
    } else if focus.is_covered {
        &[Overlay]
    } else if focus.is_searching {
        &[Transcript, Screen, Plan, TranscriptBindings, Editor]
    } else if focus.is_in_queue {
        &[Queue, Composer, Screen, Plan, TranscriptBindings, Editor]
    } else {
        &[Transcript, Approvals, Composer, Screen, Plan, TranscriptBindings, Editor]
    }
}

/// Returns the receivers of a mouse event over a part of the screen, in order. An overlay gets all events; a
/// drag stays with the transcript even if the pointer leaves it.
pub(crate) const fn mouse_receivers(
    kind: MouseEventKind,
    part: ScreenPart,
    focus: FocusState,
) -> &'static [EventReceiver] {
    use EventReceiver::{Composer, Overlay, Queue, TopRule, Transcript};
    use MouseEventKind::{Down, ScrollDown, ScrollUp};
    if focus.is_covered {
        return &[Overlay];
    }
    match (kind, part) {
        (Down(MouseButton::Left) | ScrollUp | ScrollDown, ScreenPart::Completion) => &[Composer, Transcript],
        (Down(MouseButton::Left) | ScrollUp | ScrollDown, ScreenPart::Queue) => &[Queue, Transcript],
        (Down(MouseButton::Left), ScreenPart::TopRule) => &[Transcript, TopRule],
        (Down(MouseButton::Left), ScreenPart::Editor) => &[Transcript, Composer],
        _ => &[Transcript],
    }
}

pub(crate) const fn paste_receiver(focus: FocusState) -> EventReceiver {
    if focus.is_covered {
        EventReceiver::Overlay
    } else if focus.is_searching {
        EventReceiver::Transcript
    } else {
        EventReceiver::Composer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_receivers_overlay_comes_before_panels() {
        let focus = FocusState { is_searching: true, is_in_queue: true, ..FocusState::default() };
        assert_eq!(key_receivers(focus)[0], EventReceiver::Transcript, "the search bar before the queue");
        let covered = FocusState { is_covered: true, ..focus };
        assert_eq!(key_receivers(covered), [EventReceiver::Overlay], "an overlay takes all keys");
        let on_call_page = FocusState { is_on_call_page: true, ..covered };
        assert_eq!(key_receivers(on_call_page), [EventReceiver::Overlay, EventReceiver::Approvals]);
    }

    #[test]
    fn mouse_receivers_follow_the_pointer() {
        use EventReceiver::{Composer, Overlay, Queue, TopRule, Transcript};
        let press = MouseEventKind::Down(MouseButton::Left);
        let (wheel, drag) = (MouseEventKind::ScrollUp, MouseEventKind::Drag(MouseButton::Left));
        let focus = FocusState::default();
        let rows: [(MouseEventKind, ScreenPart, &[EventReceiver]); 7] = [
            (press, ScreenPart::Completion, &[Composer, Transcript]),
            (wheel, ScreenPart::Queue, &[Queue, Transcript]),
            (press, ScreenPart::TopRule, &[Transcript, TopRule]),
            (press, ScreenPart::Editor, &[Transcript, Composer]),
            (wheel, ScreenPart::Editor, &[Transcript]),
            (drag, ScreenPart::Completion, &[Transcript]),
            (press, ScreenPart::Other, &[Transcript]),
        ];
        for (kind, part, expected) in rows {
            assert_eq!(mouse_receivers(kind, part, focus), expected, "{kind:?} {part:?}");
            let covered = FocusState { is_covered: true, ..focus };
            assert_eq!(mouse_receivers(kind, part, covered), [Overlay]);
        }
    }

    #[test]
    fn paste_receiver_is_what_takes_text() {
        let focus = FocusState { is_in_queue: true, ..FocusState::default() };
        assert_eq!(paste_receiver(focus), EventReceiver::Composer);
        let searching = FocusState { is_searching: true, ..focus };
        assert_eq!(paste_receiver(searching), EventReceiver::Transcript);
        let covered = FocusState { is_covered: true, ..searching };
        assert_eq!(paste_receiver(covered), EventReceiver::Overlay);
    }

    #[test]
    fn key_receivers_typing_comes_last() {
        for focus in [FocusState::default(), FocusState { is_in_queue: true, ..FocusState::default() }] {
            assert_eq!(key_receivers(focus).last(), Some(&EventReceiver::Editor));
        }
    }
}
