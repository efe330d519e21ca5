//! The tree, drawn as it was laid out.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::theme::Theme;
use super::super::tree::Drawn;
use super::put;

/// Draws the tree; says where something is being typed in it.
pub(super) fn draw(drawn: &Drawn, area: Rect, buffer: &mut Buffer, theme: &Theme) -> Option<(u16, u16)> {
    for (place, line) in &drawn.lines {
        put(line, place.intersection(area), buffer, theme);
    }
    Some(drawn.cursor)
}
