//! Popups: a panel over everything but the facts.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::{Clear, Widget};

use super::super::popup::{Page, Picker, Popup};
use super::super::theme::Colours;
use super::{put, spread};
use crate::render::{Breaks, Emphasis, Indent, Line, Role, Span, Style, cut_to, wrap};

/// Draws a popup; says where the cursor stands, if it has one.
pub(super) fn draw(popup: &Popup, area: Rect, buffer: &mut Buffer, colours: Colours) -> Option<(u16, u16)> {
    Clear.render(area, buffer);
    match popup {
        Popup::Pick(picker) => draw_picker(picker, area, buffer, colours),
        Popup::Read(page) => {
            draw_page(page, area, buffer, colours);
            None
        }
    }
}

fn row(area: Rect, at: u16) -> Rect {
    Rect { y: area.y + at, height: u16::from(at < area.height), ..area }
}

/// A title set into a rule.
fn title(words: &str, note: &str, width: u16) -> Line {
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

fn draw_picker(picker: &Picker, area: Rect, buffer: &mut Buffer, colours: Colours) -> Option<(u16, u16)> {
    let (matches, all) = picker.counts();
    let note = if matches == all { all.to_string() } else { format!("{matches} of {all}") };
    put(&title(&picker.title, &note, area.width), row(area, 0), buffer, colours);
    let filter = Line::from(vec![
        Span::new(" ❯ ", Style::from(Role::Accent).with(Emphasis::BOLD)),
        Span::new(picker.filter(), Role::Text),
    ]);
    put(&filter, row(area, 1), buffer, colours);
    // Two rows above the list, and one for the keys where there is room.
    let keys = u16::from(area.height >= 8);
    let height = area.height.saturating_sub(2 + keys);
    let empty = match (picker.waiting, matches) {
        (true, _) => Some("looking…"),
        (false, 0) => Some("nothing fits"),
        (false, _) => None,
    };
    if let Some(words) = empty {
        put(&Line::new(format!("   {words}"), Role::Muted), row(area, 2), buffer, colours);
    }
    for (at, (item, chosen)) in (2..).zip(picker.window(usize::from(height))) {
        let width = usize::from(area.width).saturating_sub(1);
        let mark = if chosen { " ▸ " } else { "   " };
        let label = Style::from(item.role).with(if chosen { Emphasis::BOLD } else { Emphasis::NONE });
        let room = width.saturating_sub(3 + item.lead.chars().count() + item.note.chars().count() + 2);
        let left = vec![
            Span::new(mark, Role::Accent),
            Span::new(item.lead.clone(), Role::Muted),
            Span::new(
                cut_to(&item.label, room.max(8)),
                if chosen { label.in_role(Role::Accent) } else { label },
            ),
        ];
        put(&spread(left, Span::new(item.note.clone(), Role::Muted), width), row(area, at), buffer, colours);
    }
    if keys > 0 {
        let words = format!("   {}", picker.keys());
        put(&Line::new(words, Role::Muted), row(area, area.height - 1), buffer, colours);
    }
    let column = u16::try_from(filter.width()).unwrap_or(0).min(area.width.saturating_sub(1));
    Some((area.x + column, area.y + 1.min(area.height.saturating_sub(1))))
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

fn draw_page(page: &Page, area: Rect, buffer: &mut Buffer, colours: Colours) {
    let height = usize::from(area.height.saturating_sub(2));
    let width = usize::from(area.width.saturating_sub(3)).max(1);
    let lines: Vec<Line> = page.lines.iter().flat_map(|line| hung(line, width)).collect();
    let top = page.top.min(lines.len().saturating_sub(height));
    let note = if lines.len() > height { "↑↓ pgup pgdn · esc" } else { "esc" };
    put(&title(&page.title, note, area.width), row(area, 0), buffer, colours);
    for (at, line) in (2..area.height).zip(lines.iter().skip(top)) {
        let inner =
            Rect { x: area.x + 2.min(area.width), width: area.width.saturating_sub(2), ..row(area, at) };
        put(line, inner, buffer, colours);
    }
}
