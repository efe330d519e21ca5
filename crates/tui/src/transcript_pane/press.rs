//! A press of the mouse button.

use ratatui::layout::Position;
use tiller_core::unit::UnixMs;

use crate::transcript::jump_target::Direction;
use crate::transcript::selection::TextPos;

/// A press of the button in the transcript.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Press {
    /// The position on the screen.
    pub(crate) position: Position,
    /// The position in the transcript.
    pub(crate) text_pos: TextPos,
    pub(crate) since: UnixMs,
    /// Number of successive clicks.
    pub(crate) clicks: usize,
    pub(crate) state: PressState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PressState {
    /// Held without motion.
    Still,
    Dragged,
    /// Dragged beyond an edge.
    Beyond(Direction),
    /// Released; `folded` if it folded a block.
    Released {
        folded: bool,
    },
}
