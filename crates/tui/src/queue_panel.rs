//! The queue panel: the selected message, and the removed ones.
//!
//! The engine owns the queue; the panel sends actions and follows the session. A message may be delivered or
//! removed elsewhere at any time. The panel then shows a message, and keys apply to the newly selected
//! message only after it has been selected for 0.4 s. The text of a message is edited in the composer.

mod focus;
mod keys;
mod view;

use std::ops::Range;

use crossterm::event::MouseEventKind::{ScrollDown, ScrollUp};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tiller_core::event::QueueItem;
use tiller_core::id::QueueId;
use tiller_core::unit::UnixMs;
use tiller_render::{Line, Role, Span};

use crate::action::Action;
use crate::component::{Component, Context, Outcome, UiEvent, ViewContext};
use crate::draw;
use crate::effect::Effect;
use crate::keymap::table::KeyCommand;
use crate::list_click::{ClickableList, handle_mouse};
use crate::message::TaskResult;
use crate::queue::{MESSAGE_GONE, QueueAction, QueueOutcome, RemovedMessage, in_order};
use crate::queue_panel::focus::{QueueFocus, QueueSelection};
use crate::queue_panel::view::PanelView;
use crate::shown_since::ShownSince;

/// Milliseconds for which typing keys are ignored after the panel closed automatically: enough to notice it
/// and stop typing.
const IGNORE_MS: u64 = 1_000;

/// The panel of queued messages.
#[derive(Debug, Default)]
pub(crate) struct QueuePanel {
    focus: QueueFocus,
    /// Messages removed from this session's queue, one batch per removal.
    removed: Vec<Vec<RemovedMessage>>,
    /// Messages just edited, released or removed here; no flash is shown when they leave the queue.
    released: Vec<QueueId>,
    /// True if the panel gets the keys back when the last message is removed, so that it can be restored.
    expects_removal: bool,
    /// Time when the panel closed automatically; keys for it may still arrive.
    closed_at: Option<UnixMs>,
    /// Time when the selection moved because its message left the queue; keys for that message may still
    /// arrive.
    moved_at: Option<ShownSince>,
    /// The area of the last layout.
    area: Rect,
}

impl QueuePanel {
    pub(crate) fn has_keys(&self) -> bool {
        self.focus.has_keys()
    }

    /// Returns true if the editor contains a queued message.
    #[cfg(test)]
    pub(crate) fn is_editing(&self) -> bool {
        self.focus.is_editing()
    }

    /// Clears the removed messages, which belong to the previous session.
    pub(crate) fn forget_removed(&mut self) {
        self.removed.clear();
    }

    /// Returns true if finishing the edit sends the message immediately, because the run that it was waiting
    /// for has ended.
    pub(crate) fn editing_sends(&self, view: &ViewContext<'_>) -> bool {
        let activity = &view.model.activity;
        let is_idle = activity.running_since.is_none() && !activity.last_run_failed;
        is_idle && self.focus.selected().is_some_and(|id| self.focus.holds(id))
    }

    fn can_restore(&self) -> bool {
        !self.removed.is_empty()
    }

    fn shown(&self) -> PanelView<'_> {
        PanelView { focus: &self.focus, can_restore: self.can_restore() }
    }

    pub(crate) fn rows_needed(&self, view: &ViewContext<'_>) -> usize {
        view::rows_needed(&self.focus, view)
    }

    /// Takes the keys back from the editor after the edit was finished or discarded.
    pub(crate) fn end_edit(&mut self) {
        if let QueueFocus::Editing(chosen, _) = std::mem::take(&mut self.focus) {
            self.released = vec![chosen.id.clone()];
            self.focus = QueueFocus::Panel(Some(chosen));
        }
    }

    /// Follows the queue: the selected message may have moved or left.
    fn follow_queue(&mut self, cx: &mut Context<'_>) {
        let queue = &cx.model.activity.queue;
        let row_of = |id: &QueueId| in_order(queue).iter().position(|item| item.id == *id);
        match &mut self.focus {
            QueueFocus::Editor => {}
            QueueFocus::Panel(None) if queue.is_empty() => {}
            QueueFocus::Panel(None) => self.select_row(usize::MAX, queue),
            QueueFocus::Panel(Some(chosen)) => match row_of(&chosen.id) {
                Some(row) => chosen.row = row,
                None => self.selection_removed(cx),
            },
            QueueFocus::Editing(chosen, _) => match row_of(&chosen.id) {
                Some(row) => chosen.row = row,
                // The composer reports it and keeps the text.
                None => self.focus = QueueFocus::Editor,
            },
        }
    }

    fn selection_removed(&mut self, cx: &mut Context<'_>) {
        let QueueFocus::Panel(Some(chosen)) = std::mem::take(&mut self.focus) else { return };
        self.select_row(chosen.row, &cx.model.activity.queue);
        self.record_closing(cx.now);
        if !self.released.contains(&chosen.id) {
            self.moved_at = Some(ShownSince::at(cx.now));
            cx.flash(MESSAGE_GONE);
        }
    }

    /// Records the time if the panel closed automatically.
    fn record_closing(&mut self, now: UnixMs) {
        if let QueueFocus::Editor = self.focus {
            self.closed_at = Some(now);
        }
    }

    /// Selects a row, or the last one; closes the panel if there is nothing to select or restore.
    fn select_row(&mut self, row: usize, queue: &[QueueItem]) {
        let rows = in_order(queue);
        let row = row.min(rows.len().saturating_sub(1));
        let chosen = rows.get(row).map(|item| QueueSelection { id: item.id.clone(), row });
        self.focus = match chosen {
            None if !self.can_restore() => QueueFocus::Editor,
            chosen => QueueFocus::Panel(chosen),
        };
    }

    fn apply_outcome(&mut self, outcome: QueueOutcome, cx: &mut Context<'_>) {
        match outcome {
            QueueOutcome::Removed(items) if items.is_empty() => {}
            QueueOutcome::Removed(items) => self.messages_removed(items, cx),
            QueueOutcome::Gone(None) => cx.flash(MESSAGE_GONE),
            QueueOutcome::Gone(Some(text)) => cx.push(Effect::QueueEditTooLate(text)),
        }
    }

    fn messages_removed(&mut self, items: Vec<RemovedMessage>, cx: &mut Context<'_>) {
        let (message, them) = match items.len() {
            1 => ("Removed".to_owned(), "it"),
            count => (format!("Removed {count}"), "them"),
        };
        self.removed.push(items);
        if std::mem::take(&mut self.expects_removal) && matches!(self.focus, QueueFocus::Editor) {
            self.select_row(usize::MAX, &cx.model.activity.queue);
        }
        match self.has_keys() {
            true => cx.flash(format!("{message}; {} restores {them}.", cx.key_of(KeyCommand::QueueUndo))),
            false => cx.flash(format!("{message}; {}.", restore_hint(cx))),
        }
    }
}

impl ClickableList for QueuePanel {
    fn rows_area(&self, _view: &ViewContext<'_>) -> Rect {
        self.area
    }

    fn visible_rows(&self, view: &ViewContext<'_>) -> Range<usize> {
        view::visible_messages(&self.focus, usize::from(self.area.height), view)
    }

    fn select_row(&mut self, row: usize, view: &ViewContext<'_>) -> bool {
        self.click(row, &view.model.activity.queue)
    }

    fn accept_selected(&mut self, cx: &mut Context<'_>) {
        self.edit_selected(cx);
    }

    fn turn_wheel(&mut self, rows: isize, cx: &mut Context<'_>) {
        self.step(rows, cx);
    }
}

/// Returns a hint about the keys that restore removed messages, for use after the panel was left.
fn restore_hint(view: &ViewContext<'_>) -> String {
    let (enter, undo) = (view.key_of(KeyCommand::EditQueue), view.key_of(KeyCommand::QueueUndo));
    format!("{enter}, then {undo} restores them")
}

impl Component for QueuePanel {
    fn handle(&mut self, event: &UiEvent<'_>, cx: &mut Context<'_>) -> Outcome {
        match *event {
            UiEvent::Key(key) => self.handle_key(key, cx),
            UiEvent::Mouse(event) if event.kind == ScrollUp || event.kind == ScrollDown => {
                if !self.has_keys() {
                    return Outcome::Ignored;
                }
                handle_mouse(self, event, cx)
            }
            UiEvent::Mouse(event) => handle_mouse(self, event, cx),
            UiEvent::Text(_) | UiEvent::Paste(_) => Outcome::Ignored,
        }
    }

    fn refresh(&mut self, cx: &mut Context<'_>) {
        self.follow_queue(cx);
    }

    fn take(&mut self, result: TaskResult, cx: &mut Context<'_>) -> Option<TaskResult> {
        match result {
            TaskResult::QueueOutcome(outcome) => self.apply_outcome(outcome, cx),
            result => return Some(result),
        }
        None
    }

    /// Turns messages that can't be put back into drafts.
    fn rejected(&mut self, action: Action, cx: &mut Context<'_>) -> Option<Action> {
        let Action::Queue(QueueAction::Restore(removed)) = action else { return Some(action) };
        cx.push(Effect::RestoreMessages(removed.into_iter().map(|removed| removed.item).collect()));
        None
    }

    fn lay_out(&mut self, area: Rect, _view: &ViewContext<'_>) {
        self.area = area;
    }

    fn render(&self, area: Rect, buffer: &mut Buffer, view: &ViewContext<'_>) {
        let lines = view::lines(&self.shown(), usize::from(area.height), view);
        draw::lines(&lines, area, buffer, &view.ui.theme);
    }

    fn status_hint(&self, view: &ViewContext<'_>) -> Option<Line> {
        let QueueFocus::Editing(..) = self.focus else { return None };
        let (send, stop) = (view.key_of(KeyCommand::Send), view.key_of(KeyCommand::Stop));
        let does = if self.editing_sends(view) { "sends it" } else { "saves" };
        let text = format!("editing a queued message: {send} {does} · {stop} discards the change");
        Some(Line::from(vec![Span::new("  ✎ ", Role::Accent), Span::new(text, Role::Text)]))
    }
}

#[cfg(test)]
mod tests;
