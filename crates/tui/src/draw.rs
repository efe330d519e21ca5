//! Draws styled lines into the screen's buffer.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use tiller_render::{Emphasis, Line, Role, Span, Style};

use crate::terminal::links::mark;
use crate::theme::ThemeState;

/// Draws lines from the top of an area.
pub(crate) fn lines(lines: &[Line], area: Rect, buffer: &mut Buffer, theme: &ThemeState) {
    for (y, line) in (area.y..area.bottom()).zip(lines) {
        put(line, Rect { y, height: 1, ..area }, buffer, theme);
    }
}

/// Draws one line, clipped.
pub(crate) fn put(line: &Line, area: Rect, buffer: &mut Buffer, theme: &ThemeState) {
    let mut x = area.x;
    for span in &line.spans {
        if x >= area.right() || area.height == 0 {
            return;
        }
        let room = usize::from(area.right() - x);
        let style = theme.style(span.style).underline_color(mark(span.link.as_deref()));
        x = put_text(&span.text, Position { x, y: area.y }, room, style, buffer);
    }
}

/// Draws text, truncated to `room` columns; returns the next column. Most text is ASCII with one column per
/// byte, and splitting it into graphemes takes a large part of a frame's time.
fn put_text(text: &str, at: Position, room: usize, style: ratatui::style::Style, buffer: &mut Buffer) -> u16 {
    if !text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return buffer.set_stringn(at.x, at.y, text, room, style).0;
    }
    let mut x = at.x;
    for char in text.chars().take(room) {
        let Some(cell) = buffer.cell_mut((x, at.y)) else { break };
        cell.set_char(char).set_style(style);
        x += 1;
    }
    x
}

/// Returns the row of an area at an offset.
pub(crate) fn row(area: Rect, at: u16) -> Rect {
    Rect { y: area.y + at, height: u16::from(at < area.height), ..area }
}

/// Returns a horizontal rule with a title.
pub(crate) fn title(text: &str, note: &str, width: u16) -> Line {
    let bold = Style::from(Role::Accent).with(Emphasis::BOLD);
    let note = if note.is_empty() { String::new() } else { format!(" {note} ") };
    let used = text.chars().count() + note.chars().count() + 6;
    let rule = "─".repeat(usize::from(width).saturating_sub(used));
    vec![
        Span::new("── ", Role::Muted),
        Span::new(text, bold),
        Span::new(format!(" {rule}"), Role::Muted),
        Span::new(note, Role::Muted),
        Span::new("──", Role::Muted),
    ]
    .into()
}
