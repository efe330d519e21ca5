//! The areas of the parts of the screen.

use ratatui::layout::{Position, Rect};

/// The areas of the screen; a part without room has height 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScreenAreas {
    pub(crate) transcript: Rect,
    pub(crate) approval: Rect,
    pub(crate) status: Rect,
    pub(crate) plan: Rect,
    pub(crate) queue: Rect,
    pub(crate) completion: Rect,
    pub(crate) top_rule: Rect,
    pub(crate) editor: Rect,
    pub(crate) bottom_rule: Rect,
    pub(crate) footer: Rect,
}

/// A part of the screen that handles the mouse differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScreenPart {
    Completion,
    Queue,
    /// The rule above the editor.
    TopRule,
    Editor,
    /// The transcript, or a part that doesn't handle clicks.
    Other,
}

impl ScreenAreas {
    pub(crate) fn part_at(&self, position: Position) -> ScreenPart {
        let parts = [
            (self.completion, ScreenPart::Completion),
            (self.queue, ScreenPart::Queue),
            (self.top_rule, ScreenPart::TopRule),
            (self.editor, ScreenPart::Editor),
        ];
        parts.iter().find(|(area, _)| area.contains(position)).map_or(ScreenPart::Other, |(_, part)| *part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn screen_areas_find_the_part_at_a_position() {
        let row = |y| Rect::new(0, y, 80, 1);
        let areas = ScreenAreas {
            transcript: row(0),
            queue: row(1),
            completion: row(2),
            top_rule: row(3),
            editor: row(4),
            footer: row(5),
            ..ScreenAreas::default()
        };
        let parts = [0, 1, 2, 3, 4, 5].map(|y| areas.part_at(Position { x: 3, y }));
        let expected = [
            ScreenPart::Other,
            ScreenPart::Queue,
            ScreenPart::Completion,
            ScreenPart::TopRule,
            ScreenPart::Editor,
            ScreenPart::Other,
        ];
        assert_eq!(parts, expected);
    }
}
