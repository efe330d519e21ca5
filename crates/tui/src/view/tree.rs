//! Drawing of the tree as laid out.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::theme::ThemeState;
use super::super::tree::DrawnTree;
use crate::draw::put;

/// Draws the tree; returns the cursor position.
pub(super) fn draw(
    drawn: &DrawnTree,
    area: Rect,
    buffer: &mut Buffer,
    theme: &ThemeState,
) -> Option<(u16, u16)> {
    for (position, line) in &drawn.lines {
        put(line, position.intersection(area), buffer, theme);
    }
    Some(drawn.cursor)
}
