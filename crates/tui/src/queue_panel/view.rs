//! The rows of the queue panel: one line for each queued message, and key hints while it has the keys.

use std::ops::Range;

use tiller_core::event::{QueueItem, QueueKind};
use tiller_render::{Emphasis, Line, Role, Span, Style, truncate_to};

use crate::component::ViewContext;
use crate::keymap::table::KeyCommand;
use crate::queue::in_order;
use crate::queue_panel::focus::QueueFocus;
use crate::text::one_line;

/// Maximum number of rows while the editor has the keys.
const MAX_ROWS: usize = 5;

/// Columns before a message's text.
const LEAD: usize = 12;

/// The parts of the panel that are drawn.
pub(super) struct PanelView<'a> {
    pub(super) focus: &'a QueueFocus,
    /// True if removed messages can be restored.
    pub(super) can_restore: bool,
}

pub(super) fn rows_needed(focus: &QueueFocus, view: &ViewContext<'_>) -> usize {
    let waiting = view.model.activity.queue.len();
    if focus.has_keys() {
        return waiting.clamp(1, usize::from(view.ui.size.1 / 3).max(1)) + 1;
    }
    waiting.min(MAX_ROWS)
}

/// Returns the visible messages, as their positions in delivery order.
pub(super) fn visible_messages(focus: &QueueFocus, height: usize, view: &ViewContext<'_>) -> Range<usize> {
    let QueueRows { top, rows, .. } = QueueRows::new(focus, height, view);
    top..view.model.activity.queue.len().min(top + rows)
}

/// The visible messages.
struct QueueRows {
    top: usize,
    rows: usize,
    /// True if the last row counts the hidden messages.
    has_more: bool,
    hint_rows: usize,
}

impl QueueRows {
    fn new(focus: &QueueFocus, height: usize, view: &ViewContext<'_>) -> Self {
        let waiting = in_order(&view.model.activity.queue);
        let hint_rows = usize::from(focus.has_keys() && height > 1);
        let room = height.saturating_sub(hint_rows);
        let has_more = !focus.has_keys() && waiting.len() > room;
        let rows = if has_more { room.saturating_sub(1) } else { room };
        let at = waiting.iter().position(|item| Some(&item.id) == focus.selected());
        let top = at.unwrap_or(0).saturating_sub(rows / 2).min(waiting.len().saturating_sub(rows));
        Self { top, rows, has_more, hint_rows }
    }
}

/// The panel in `height` rows, scrolled to the selected message.
pub(super) fn lines(shown: &PanelView<'_>, height: usize, view: &ViewContext<'_>) -> Vec<Line> {
    let focus = shown.focus;
    let waiting = in_order(&view.model.activity.queue);
    if height == 0 {
        return Vec::new();
    }
    let QueueRows { top, rows, has_more, hint_rows } = QueueRows::new(focus, height, view);
    let first_held = waiting.iter().find(|item| item.held).map(|item| &item.id);
    let names_key = first_held.or_else(|| waiting.last().map(|item| &item.id).filter(|_| !has_more));
    let messages = waiting.iter().skip(top).take(rows);
    let mut lines: Vec<Line> =
        messages.map(|item| line(focus, view, item, Some(&item.id) == names_key)).collect();
    if has_more {
        let key = view.ui.keymap.key_of(KeyCommand::EditQueue);
        lines.push(Line::new(format!("    … {} more · {key}", waiting.len() - rows), Role::Muted));
    }
    if focus.has_keys() && waiting.is_empty() {
        lines.push(Line::new("    the queue is empty", Role::Muted));
    }
    lines.extend((hint_rows > 0).then(|| hints(shown, view)));
    lines
}

/// Returns a message's line. One of the lines names the key that opens the queue.
fn line(focus: &QueueFocus, view: &ViewContext<'_>, item: &QueueItem, names_key: bool) -> Line {
    let is_chosen = focus.selected() == Some(&item.id);
    let (label, role) = match (is_held(focus, item), item.kind) {
        (true, _) => ("held", Role::Warning),
        (false, QueueKind::Steer) => ("steer", Role::Accent),
        (false, QueueKind::FollowUp) => ("next", Role::Accent),
    };
    let mark = if is_chosen { "▸" } else { " " };
    let lead = Span::new(format!("{mark} ↳ {label:<7} "), role);
    let style = Style::from(if is_chosen { Role::Text } else { Role::Muted });
    let style = style.with(if is_chosen { Emphasis::BOLD } else { Emphasis::NONE });
    let note = note(focus, view, item, names_key);
    let room = usize::from(view.ui.size.0).saturating_sub(LEAD + note.chars().count() + 1);
    let text = truncate_to(&one_line(&item.as_typed()), room);
    Line::from(vec![lead, Span::new(text, style), Span::new(note, Role::Muted)])
}

/// Returns true if the user has to release the message. Messages held during an edit don't count.
fn is_held(focus: &QueueFocus, item: &QueueItem) -> bool {
    item.held && !focus.holds(&item.id)
}

/// Returns a message's note: images, the kind if it is held, and the key that sends it or opens the queue.
fn note(focus: &QueueFocus, view: &ViewContext<'_>, item: &QueueItem, names_key: bool) -> String {
    let mut notes = Vec::new();
    match item.images.len() {
        0 => {}
        1 => notes.push("1 image".to_owned()),
        count => notes.push(format!("{count} images")),
    }
    if is_held(focus, item) && item.kind == QueueKind::Steer {
        notes.push("steers".to_owned());
    }
    let keymap = &view.ui.keymap;
    let is_idle_editor = view.focus.is_editor_empty && !focus.has_keys() && !focus.is_editing();
    if focus.is_editing() && focus.selected() == Some(&item.id) {
        notes.push("editing".to_owned());
    } else if item.kind == QueueKind::Steer && !item.held && is_idle_editor {
        notes.push(format!("{} now", keymap.key_of(KeyCommand::Send)));
    }
    if names_key && !focus.has_keys() && !focus.is_editing() {
        let key = keymap.key_of(KeyCommand::EditQueue);
        notes.push(if item.held { format!("{key} edit or release") } else { format!("{key} edit") });
    }
    notes.iter().map(|note| format!(" · {note}")).collect()
}

/// Returns as many key hints for the selected message as fit.
fn hints(&PanelView { focus, can_restore }: &PanelView<'_>, view: &ViewContext<'_>) -> Line {
    let keymap = &view.ui.keymap;
    let chosen = view.model.activity.queue.iter().find(|item| Some(&item.id) == focus.selected());
    let mut actions = Vec::new();
    if let Some(item) = chosen {
        actions.push((KeyCommand::QueueEdit, "edit"));
        if item.held {
            actions.push((KeyCommand::QueueRelease, "release"));
        }
        actions.push((KeyCommand::QueueRemove, "remove"));
        let neighbor = match item.kind {
            QueueKind::Steer => "make it a follow-up",
            QueueKind::FollowUp => "steer with it",
        };
        actions.push((KeyCommand::QueueSwitch, neighbor));
        let ordered = in_order(&view.model.activity.queue);
        let row = ordered.iter().position(|neighbor| neighbor.id == item.id).unwrap_or(0);
        let is_like = |row: Option<usize>| {
            row.and_then(|row| ordered.get(row)).is_some_and(|neighbor| neighbor.kind == item.kind)
        };
        actions.extend(is_like(row.checked_sub(1)).then_some((KeyCommand::QueueEarlier, "earlier")));
        actions.extend(is_like(Some(row + 1)).then_some((KeyCommand::QueueLater, "later")));
    }
    if can_restore {
        actions.insert(0, (KeyCommand::QueueUndo, "undo removal"));
    }
    let hint = |command, about: &str| {
        [Span::new(keymap.key_of(command), Role::Text), Span::new(format!(" {about}"), Role::Muted)]
    };
    let width = |hint: &[Span]| hint.iter().map(Span::width).sum::<usize>();
    let back = hint(KeyCommand::QueueBack, "back");
    let mut line = Line::new("    ", Role::Muted);
    for (command, about) in actions {
        let spans = hint(command, &format!("{about} · "));
        if line.width() + width(&spans) + width(&back) <= usize::from(view.ui.size.0) {
            line.spans.extend(spans);
        }
    }
    line.spans.extend(back);
    line
}
