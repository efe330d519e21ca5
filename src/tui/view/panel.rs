//! Popups: a panel over everything but the facts.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::{Clear, Widget};

use super::super::app::Place;
use super::super::keymap::KeyCommand;
use super::super::popup::{Page, Popup};
use super::{list, put};
use crate::render::{Breaks, Emphasis, Indent, Line, Role, Span, Style, wrap};

/// Draws a popup; says where the cursor stands, if it has one.
pub(super) fn draw(popup: &Popup, area: Rect, buffer: &mut Buffer, place: &Place) -> Option<(u16, u16)> {
    Clear.render(area, buffer);
    match popup {
        Popup::Pick(picker) => list::draw(picker, area, buffer, place),
        Popup::Read(page) => {
            draw_page(page, area, buffer, place);
            None
        }
        Popup::Tree(tree) => super::tree::draw(&tree.drawn, area, buffer, &place.theme),
    }
}

pub(super) fn row(area: Rect, at: u16) -> Rect {
    Rect { y: area.y + at, height: u16::from(at < area.height), ..area }
}

/// A title set into a rule.
pub(super) fn title(words: &str, note: &str, width: u16) -> Line {
    let bold = Style::from(Role::Accent).with(Emphasis::BOLD);
    let used = words.chars().count() + note.chars().count() + 8;
    let rule = "─".repeat(usize::from(width).saturating_sub(used));
    vec![
        Span::new("── ", Role::Muted),
        Span::new(words, bold),
        Span::new(format!(" {rule} "), Role::Muted),
        Span::new(note, Role::Muted),
        Span::new(" ──", Role::Muted),
    ]
    .into()
}

/// A line of two columns, its second one wrapped beneath itself where there is room for that.
fn hung(line: &Line, width: usize) -> Vec<Line> {
    let column = match line.spans.as_slice() {
        [first, _] if first.width() * 2 <= width => first.width(),
        _ => 2,
    };
    let rest = vec![Span::new(" ".repeat(column.min(width / 2)), Role::Text)];
    wrap(&line.spans, width, &Indent { first: Vec::new(), rest }, Breaks::Words)
}

fn draw_page(page: &Page, area: Rect, buffer: &mut Buffer, place: &Place) {
    let (theme, keymap) = (&place.theme, &place.keymap);
    let height = usize::from(area.height.saturating_sub(2));
    let width = usize::from(area.width.saturating_sub(3)).max(1);
    let lines: Vec<Line> = page.lines.iter().flat_map(|line| hung(line, width)).collect();
    let top = page.top.min(lines.len().saturating_sub(height));
    let key = |command| keymap.key_of(command);
    let mut note = key(KeyCommand::Back);
    if lines.len() > height {
        note = format!("{} {} · {note}", key(KeyCommand::PopupPageUp), key(KeyCommand::PopupPageDown));
    }
    put(&title(&page.title, &note, area.width), row(area, 0), buffer, theme);
    for (at, line) in (2..area.height).zip(lines.iter().skip(top)) {
        let inner =
            Rect { x: area.x + 2.min(area.width), width: area.width.saturating_sub(2), ..row(area, at) };
        put(line, inner, buffer, theme);
    }
}
