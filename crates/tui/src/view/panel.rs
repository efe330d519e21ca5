//! Overlays: panels over everything but the footer.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::{Clear, Widget};
use tiller_render::{Emphasis, Line, Role, Span, Style};

use super::super::keymap::KeyCommand;
use super::super::overlay::Overlay;
use super::super::pager::Pager;
use super::super::tool_call::one_line;
use super::list;
use crate::draw::put;
use crate::ui_context::UiContext;

/// Draws an overlay; returns the cursor position, if it has one.
pub(super) fn draw(popup: &Overlay, area: Rect, buffer: &mut Buffer, ui: &UiContext) -> Option<(u16, u16)> {
    Clear.render(area, buffer);
    match popup {
        Overlay::Picker(picker) => list::draw(picker, area, buffer, ui),
        Overlay::Pager(page) => {
            draw_page(page, area, buffer, ui);
            None
        }
        Overlay::Tree(tree) => super::tree::draw(&tree.drawn, area, buffer, &ui.theme),
    }
}

pub(super) fn row(area: Rect, at: u16) -> Rect {
    Rect { y: area.y + at, height: u16::from(at < area.height), ..area }
}

/// A title in a horizontal rule.
pub(super) fn title(text: &str, note: &str, width: u16) -> Line {
    let bold = Style::from(Role::Accent).with(Emphasis::BOLD);
    let used = text.chars().count() + note.chars().count() + 8;
    let rule = "─".repeat(usize::from(width).saturating_sub(used));
    vec![
        Span::new("── ", Role::Muted),
        Span::new(text, bold),
        Span::new(format!(" {rule} "), Role::Muted),
        Span::new(note, Role::Muted),
        Span::new(" ──", Role::Muted),
    ]
    .into()
}

fn draw_page(page: &Pager, area: Rect, buffer: &mut Buffer, ui: &UiContext) {
    let (theme, keymap) = (&ui.theme, &ui.keymap);
    let key = |command| keymap.key_of(command);
    let mut notes = Vec::new();
    notes.extend(page.find().map(|query| format!("/{}", one_line(query))));
    if let Some(percent) = page.percent() {
        notes.push(format!("{percent}%"));
        notes.push(format!("{} {}", key(KeyCommand::PopupPageUp), key(KeyCommand::PopupPageDown)));
    }
    notes.push(key(KeyCommand::Back));
    put(&title(&page.title, &notes.join(" · "), area.width), row(area, 0), buffer, theme);
    for (at, line) in (2..area.height).zip(page.shown()) {
        let inner =
            Rect { x: area.x + 2.min(area.width), width: area.width.saturating_sub(2), ..row(area, at) };
        put(line, inner, buffer, theme);
    }
}
