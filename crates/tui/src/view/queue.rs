//! The messages that wait, a line each, and what can be done with them while the keys are theirs.

use tiller_core::event::{QueueItem, QueueKind};
use tiller_render::{Emphasis, Line, Role, Span, Style, cut_to};

use super::super::app::App;
use super::super::keymap::KeyCommand;
use super::super::queue::{in_order, typed};
use super::super::tool_call::one_line;

/// Rows of waiting messages shown at once while the keys are the editor's.
const MOST: usize = 5;

/// Columns before the text of a message.
const LEAD: usize = 12;

/// Rows that the panel would take.
pub(super) fn wanted(app: &App) -> usize {
    let waiting = app.work.queue.len();
    if app.queue.has_keys() {
        return waiting.clamp(1, usize::from(app.place.size.1 / 3).max(1)) + 1;
    }
    waiting.min(MOST)
}

/// The message on this line of the panel in so many rows, by its number in the order of delivery.
pub(super) fn waiting_at(app: &App, height: usize, line: usize) -> Option<usize> {
    let QueueRows { top, rows, .. } = QueueRows::of(app, height);
    (line < rows && top + line < app.work.queue.len()).then_some(top + line)
}

/// Which of the messages are on the screen.
struct QueueRows {
    top: usize,
    rows: usize,
    /// Whether the last row says how many more there are.
    has_more: bool,
    hint_rows: usize,
}

impl QueueRows {
    fn of(app: &App, height: usize) -> Self {
        let waiting = in_order(&app.work.queue);
        let hint_rows = usize::from(app.queue.has_keys() && height > 1);
        let room = height.saturating_sub(hint_rows);
        let has_more = !app.queue.has_keys() && waiting.len() > room;
        let rows = if has_more { room.saturating_sub(1) } else { room };
        let at = waiting.iter().position(|item| Some(&item.id) == app.queue.chosen());
        let top = at.unwrap_or(0).saturating_sub(rows / 2).min(waiting.len().saturating_sub(rows));
        Self { top, rows, has_more, hint_rows }
    }
}

/// The panel in so many rows: what stands around the chosen message, or the first ones.
pub(super) fn lines(app: &App, height: usize) -> Vec<Line> {
    let waiting = in_order(&app.work.queue);
    if height == 0 {
        return Vec::new();
    }
    let QueueRows { top, rows, has_more, hint_rows } = QueueRows::of(app, height);
    let first_held = waiting.iter().find(|item| item.held).map(|item| &item.id);
    let names_key = first_held.or_else(|| waiting.last().map(|item| &item.id).filter(|_| !has_more));
    let shown = waiting.iter().skip(top).take(rows);
    let mut lines: Vec<Line> = shown.map(|item| line(app, item, Some(&item.id) == names_key)).collect();
    if has_more {
        let key = app.place.keymap.key_of(KeyCommand::EditQueue);
        lines.push(Line::new(format!("    … {} more · {key}", waiting.len() - rows), Role::Muted));
    }
    if app.queue.has_keys() && waiting.is_empty() {
        lines.push(Line::new("    nothing waits any more", Role::Muted));
    }
    lines.extend((hint_rows > 0).then(|| hints(app)));
    lines
}

/// A message on its line; one of them says which key leads to all.
fn line(app: &App, item: &QueueItem, names_key: bool) -> Line {
    let is_chosen = app.queue.chosen() == Some(&item.id);
    let (word, role) = match (is_held(app, item), item.kind) {
        (true, _) => ("held", Role::Warning),
        (false, QueueKind::Steer) => ("steer", Role::Accent),
        (false, QueueKind::FollowUp) => ("next", Role::Accent),
    };
    let mark = if is_chosen { "▸" } else { " " };
    let lead = Span::new(format!("{mark} ↳ {word:<7} "), role);
    let style = Style::from(if is_chosen { Role::Text } else { Role::Muted });
    let style = style.with(if is_chosen { Emphasis::BOLD } else { Emphasis::NONE });
    let note = note(app, item, names_key);
    let room = usize::from(app.place.size.0).saturating_sub(LEAD + note.chars().count() + 1);
    let text = cut_to(&one_line(&typed(item)), room);
    Line::from(vec![lead, Span::new(text, style), Span::new(note, Role::Muted)])
}

/// Whether it waits for somebody's word. One that is held while it is edited does so only as long.
fn is_held(app: &App, item: &QueueItem) -> bool {
    item.held && !app.queue.holds(&item.id)
}

/// What else there is to say of a message: its images, what it was queued for if it is held, which key sends it or leads to it.
fn note(app: &App, item: &QueueItem, names_key: bool) -> String {
    let mut notes = Vec::new();
    match item.images.len() {
        0 => {}
        1 => notes.push("1 image".to_owned()),
        count => notes.push(format!("{count} images")),
    }
    if is_held(app, item) && item.kind == QueueKind::Steer {
        notes.push("steers".to_owned());
    }
    let keymap = &app.place.keymap;
    let is_idle_editor = app.editor.is_empty() && !app.queue.has_keys() && !app.queue.is_editing();
    if app.queue.is_editing() && app.queue.chosen() == Some(&item.id) {
        notes.push("being edited".to_owned());
    } else if item.kind == QueueKind::Steer && !item.held && is_idle_editor {
        notes.push(format!("{}: now", keymap.key_of(KeyCommand::Send)));
    }
    if names_key && !app.queue.has_keys() && !app.queue.is_editing() {
        let key = keymap.key_of(KeyCommand::EditQueue);
        notes.push(if item.held { format!("{key} to edit or release it") } else { format!("{key} to edit") });
    }
    notes.iter().map(|note| format!(" · {note}")).collect()
}

/// What the keys do, the ones that mean something, as many as fit.
fn hints(app: &App) -> Line {
    let keymap = &app.place.keymap;
    let chosen = app.work.queue.iter().find(|item| Some(&item.id) == app.queue.chosen());
    let mut offers = Vec::new();
    if let Some(item) = chosen {
        offers.push((KeyCommand::QueueEdit, "edits"));
        if item.held {
            offers.push((KeyCommand::QueueRelease, "releases"));
        }
        offers.push((KeyCommand::QueueRemove, "removes"));
        let other = match item.kind {
            QueueKind::Steer => "makes it next",
            QueueKind::FollowUp => "makes it steer",
        };
        offers.push((KeyCommand::QueueTurn, other));
        let beside = in_order(&app.work.queue);
        let row = beside.iter().position(|other| other.id == item.id).unwrap_or(0);
        let is_like = |row: Option<usize>| {
            row.and_then(|row| beside.get(row)).is_some_and(|other| other.kind == item.kind)
        };
        offers.extend(is_like(row.checked_sub(1)).then_some((KeyCommand::QueueEarlier, "earlier")));
        offers.extend(is_like(Some(row + 1)).then_some((KeyCommand::QueueLater, "later")));
    }
    if app.queue.can_put_back() {
        offers.insert(0, (KeyCommand::QueueUndo, "brings back what was removed"));
    }
    let hint = |command, about: &str| {
        [Span::new(keymap.key_of(command), Role::Text), Span::new(format!(" {about}"), Role::Muted)]
    };
    let width = |hint: &[Span]| hint.iter().map(Span::width).sum::<usize>();
    let back = hint(KeyCommand::QueueBack, "back");
    let mut line = Line::new("    ", Role::Muted);
    for (command, about) in offers {
        let offer = hint(command, &format!("{about} · "));
        if line.width() + width(&offer) + width(&back) <= usize::from(app.place.size.0) {
            line.spans.extend(offer);
        }
    }
    line.spans.extend(back);
    line
}
