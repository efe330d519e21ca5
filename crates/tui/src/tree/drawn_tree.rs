//! The tree's last layout.

use ratatui::layout::Rect;
use tiller_render::Line;

/// The laid-out tree.
#[derive(Debug, Default)]
pub(crate) struct DrawnTree {
    /// Lines with their areas.
    pub(crate) lines: Vec<(Rect, Line)>,
    pub(crate) cursor: (u16, u16),
}
