//! Targets of jumps in the transcript.

use crate::transcript::chunk::BlockPos;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Older,
    Newer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JumpTarget {
    Top,
    /// The nearest prompt before or after a position.
    Prompt {
        from: BlockPos,
        toward: Direction,
    },
    Row {
        at: BlockPos,
        row: usize,
    },
    /// A part with a search hit.
    Hit {
        part: usize,
    },
    /// The part with the top line before a reload.
    Former {
        part: usize,
    },
}

impl JumpTarget {
    /// Returns the part of the target, as far as it is known.
    pub(crate) fn part(&self) -> usize {
        match self {
            Self::Top => 0,
            Self::Prompt { from, .. } => from.part,
            Self::Row { at, .. } => at.part,
            Self::Hit { part } | Self::Former { part } => *part,
        }
    }
}
