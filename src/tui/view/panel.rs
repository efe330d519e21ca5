//! Popups: a panel over everything but the facts.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::{Clear, Widget};

use super::super::popup::{Item, MARKS, Page, Picker, Popup};
use super::super::theme::Theme;
use super::{put, spread};
use crate::render::{Breaks, Emphasis, Indent, Line, Role, Span, Style, cut_to, wrap};
use crate::session::Scope;
use crate::unit::thousands;

/// Draws a popup; says where the cursor stands, if it has one.
pub(super) fn draw(popup: &Popup, area: Rect, buffer: &mut Buffer, theme: &Theme) -> Option<(u16, u16)> {
    Clear.render(area, buffer);
    match popup {
        Popup::Pick(picker) => draw_picker(picker, area, buffer, theme),
        Popup::Read(page) => {
            draw_page(page, area, buffer, theme);
            None
        }
        Popup::Tree(tree) => super::tree::draw(&tree.drawn, area, buffer, theme),
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

fn draw_picker(picker: &Picker, area: Rect, buffer: &mut Buffer, theme: &Theme) -> Option<(u16, u16)> {
    let (matches, all) = picker.counts();
    let note = if matches == all { all.to_string() } else { format!("{matches} of {all}") };
    put(&title(&picker.title, &note, area.width), row(area, 0), buffer, theme);
    let filter = Line::from(vec![
        Span::new(" ❯ ", Style::from(Role::Accent).with(Emphasis::BOLD)),
        Span::new(picker.filter(), Role::Text),
    ]);
    put(&filter, row(area, 1), buffer, theme);
    // Two rows above the list, and below it, where there is room, one for the keys and one for how far it is.
    let foot = if area.height >= 8 { foot(picker) } else { Vec::new() };
    let foot_rows = u16::try_from(foot.len()).unwrap_or(u16::MAX);
    let height = area.height.saturating_sub(2 + foot_rows);
    if let Some(words) = empty(picker, matches) {
        put(&Line::new(format!("   {words}"), Role::Muted), row(area, 2), buffer, theme);
    }
    let width = usize::from(area.width).saturating_sub(1);
    for (at, (item, chosen)) in (2..).zip(picker.window(usize::from(height))) {
        put(&item_line(item, chosen, width), row(area, at), buffer, theme);
    }
    for (at, words) in (area.height.saturating_sub(foot_rows)..).zip(foot) {
        put(&Line::new(format!("   {words}"), Role::Muted), row(area, at), buffer, theme);
    }
    let column = u16::try_from(filter.width()).unwrap_or(0).min(area.width.saturating_sub(1));
    Some((area.x + column, area.y + 1.min(area.height.saturating_sub(1))))
}

/// What stands where there is nothing to choose.
fn empty(picker: &Picker, matches: usize) -> Option<&'static str> {
    let here = picker.browsing().map(|browser| browser.scope);
    match (picker.waiting, matches) {
        (true, _) => Some("looking…"),
        (false, 0) if picker.filter().is_empty() && here == Some(Scope::ThisDirectory) => {
            Some("no sessions of this directory; tab shows those of all")
        }
        (false, 0) => Some("nothing fits"),
        (false, _) => None,
    }
}

fn foot(picker: &Picker) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some((done, all)) = picker.browsing().and_then(|browser| browser.indexing) {
        lines.push(format!("indexing {} of {}", thousands(done), thousands(all)));
    }
    lines.push(picker.keys().to_owned());
    lines
}

fn item_line(item: &Item, chosen: bool, width: usize) -> Line {
    let style = Style::from(item.role).with(if chosen { Emphasis::BOLD } else { Emphasis::NONE });
    let style = if chosen { style.in_role(Role::Accent) } else { style };
    let room = width.saturating_sub(3 + item.lead.chars().count() + item.note.chars().count() + 2).max(8);
    let mut left = vec![
        Span::new(if chosen { " ▸ " } else { "   " }, Role::Accent),
        Span::new(item.lead.clone(), Role::Muted),
    ];
    left.extend(label(&item.label, style, room));
    spread(left, Span::new(item.note.clone(), Role::Muted), width)
}

/// A label in so much room, what is marked in it standing out.
fn label(text: &str, style: Style, mut room: usize) -> Vec<Span> {
    let plain: String = text.chars().filter(|c| !MARKS.contains(c)).collect();
    let shown = cut_to(&plain, room);
    if !text.contains(MARKS[0]) {
        return vec![Span::new(shown, style)];
    }
    let marked = style.in_role(Role::Accent).with(Emphasis::BOLD);
    let (mut spans, mut current) = (Vec::new(), style);
    for part in text.split_inclusive(MARKS) {
        let words = cut_to(part.trim_end_matches(MARKS), room);
        let span = Span::new(words, current);
        room = room.saturating_sub(span.width());
        spans.push(span);
        current = if part.ends_with(MARKS[0]) { marked } else { style };
        if room == 0 {
            break;
        }
    }
    spans
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

fn draw_page(page: &Page, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    let height = usize::from(area.height.saturating_sub(2));
    let width = usize::from(area.width.saturating_sub(3)).max(1);
    let lines: Vec<Line> = page.lines.iter().flat_map(|line| hung(line, width)).collect();
    let top = page.top.min(lines.len().saturating_sub(height));
    let note = if lines.len() > height { "↑↓ pgup pgdn · esc" } else { "esc" };
    put(&title(&page.title, note, area.width), row(area, 0), buffer, theme);
    for (at, line) in (2..area.height).zip(lines.iter().skip(top)) {
        let inner =
            Rect { x: area.x + 2.min(area.width), width: area.width.saturating_sub(2), ..row(area, at) };
        put(line, inner, buffer, theme);
    }
}
