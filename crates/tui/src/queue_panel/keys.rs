//! Keys of the queue panel.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tiller_core::event::{QueueItem, QueueKind};

use crate::action::Action;
use crate::component::{Context, Outcome};
use crate::effect::{Effect, QueueEditRequest};
use crate::keymap::table::{KeyCommand, KeyContext};
use crate::queue::{AfterQueueEdit, MESSAGE_GONE, QueueAction, in_order};
use crate::queue_panel::focus::{QueueFocus, QueueSelection};
use crate::queue_panel::{IGNORE_MS, QueuePanel, restore_hint};

/// Returns true if a key would change the text in the editor.
fn types_text(key: KeyEvent) -> bool {
    matches!(key.code, KeyCode::Char(_) | KeyCode::Backspace | KeyCode::Delete)
        && (key.modifiers - KeyModifiers::SHIFT).is_empty()
}

impl QueuePanel {
    /// Gives the keys to the panel and selects the last message, which is next to the editor.
    pub(crate) fn enter(&mut self, cx: &mut Context<'_>) {
        if cx.model.activity.queue.is_empty() && !self.can_restore() {
            return cx.flash("No messages are queued.");
        }
        self.released.clear();
        self.select(usize::MAX, &cx.model.activity.queue);
    }

    /// Ignores keys that type or send for a moment after the panel closed automatically.
    pub(crate) fn ignores(&mut self, key: KeyEvent, cx: &mut Context<'_>) -> bool {
        self.closed_at = self.closed_at.filter(|since| cx.now.since_ms(*since) < IGNORE_MS);
        let types = types_text(key) || key.code == KeyCode::Enter;
        let is_closed = matches!(self.focus, QueueFocus::Editor) && !cx.focus.is_covered;
        let ignores = self.closed_at.is_some() && types && is_closed;
        if ignores {
            cx.flash("Ignored: the queue is empty. Keys go to the editor again.");
        }
        ignores
    }

    pub(super) fn handle_key(&mut self, key: KeyEvent, cx: &mut Context<'_>) -> Outcome {
        if !self.has_keys() {
            return Outcome::Ignored;
        }
        match cx.ui.keymap.command(KeyContext::Queue, key) {
            Some(command) => {
                let action = self.perform(command, cx);
                action.into_iter().for_each(|action| cx.push(Action::Queue(action)));
            }
            // A letter without a binding isn't meant for the editor either.
            None if types_text(key) => {}
            None => return Outcome::Ignored,
        }
        Outcome::Consumed
    }

    fn perform(&mut self, command: KeyCommand, cx: &mut Context<'_>) -> Option<QueueAction> {
        let queue = &cx.model.activity.queue;
        match command {
            KeyCommand::QueueBack => {
                self.focus = QueueFocus::Editor;
                self.expects_removal = false;
                if self.can_restore() {
                    cx.flash(restore_hint(cx));
                }
            }
            KeyCommand::QueueUndo => {
                let removed = self.removed.pop()?;
                // The flash about the removal is obsolete.
                cx.push(Effect::ClearFlash);
                self.released.retain(|id| !removed.iter().any(|back| back.item.id == *id));
                return Some(QueueAction::Restore(removed));
            }
            KeyCommand::QueueClear if !queue.is_empty() => {
                self.expects_removal = true;
                self.released = queue.iter().map(|item| item.id.clone()).collect();
                return Some(QueueAction::Clear);
            }
            command => return self.perform_on_selected(command, cx),
        }
        None
    }

    /// Selects the message of a clicked row; returns true if it was already selected. An edit in progress
    /// continues.
    pub(super) fn click(&mut self, row: usize, queue: &[QueueItem]) -> bool {
        let before = match &self.focus {
            QueueFocus::Editing(..) => return false,
            QueueFocus::Panel(chosen) => chosen.as_ref().map(|chosen| chosen.id.clone()),
            QueueFocus::Editor => None,
        };
        self.released.clear();
        self.select(row, queue);
        before.is_some() && before.as_ref() == self.focus.selected()
    }

    /// Edits the selected message.
    pub(super) fn edit_selected(&mut self, cx: &mut Context<'_>) {
        let action = self.perform(KeyCommand::QueueEdit, cx);
        action.into_iter().for_each(|action| cx.push(Action::Queue(action)));
    }

    /// Selects the next or previous message.
    pub(super) fn step(&mut self, rows: isize, cx: &mut Context<'_>) {
        let command = if rows < 0 { KeyCommand::QueueUp } else { KeyCommand::QueueDown };
        self.perform_on_selected(command, cx);
    }

    /// Selects a row for the user.
    fn select(&mut self, row: usize, queue: &[QueueItem]) {
        self.moved_at = None;
        self.select_row(row, queue);
    }

    fn perform_on_selected(&mut self, command: KeyCommand, cx: &mut Context<'_>) -> Option<QueueAction> {
        let QueueFocus::Panel(Some(QueueSelection { id, row })) = &self.focus else { return None };
        let (id, row, queue) = (id.clone(), *row, &cx.model.activity.queue);
        let item = queue.iter().find(|item| item.id == id)?;
        match command {
            KeyCommand::QueueUp => self.select(row.saturating_sub(1), queue),
            KeyCommand::QueueDown => self.select(row + 1, queue),
            // The key was meant for the previously selected message.
            _ if self.moved_at.is_some_and(|moved| !moved.is_long_enough(cx.now)) => cx.flash(MESSAGE_GONE),
            KeyCommand::QueueEdit => return self.begin_edit(QueueSelection { id, row }, item, cx),
            KeyCommand::QueueEarlier => return swap_with(item, row.checked_sub(1)?, cx),
            KeyCommand::QueueLater => return swap_with(item, row + 1, cx),
            KeyCommand::QueueSwitch => {
                let kind = match item.kind {
                    QueueKind::Steer => QueueKind::FollowUp,
                    QueueKind::FollowUp => QueueKind::Steer,
                };
                return Some(QueueAction::SetKind(id, kind));
            }
            KeyCommand::QueueRelease if item.held => {
                self.released = vec![id.clone()];
                return Some(QueueAction::Release(id));
            }
            KeyCommand::QueueRelease => cx.flash("Not held: it is delivered automatically."),
            KeyCommand::QueueRemove => return Some(self.remove(item, row, queue)),
            _ => {}
        }
        None
    }

    /// Removes the selected message. The next message is selected immediately, so that the update doesn't
    /// report the removal.
    fn remove(&mut self, item: &QueueItem, row: usize, queue: &[QueueItem]) -> QueueAction {
        let position = queue.iter().position(|queued| queued.id == item.id).unwrap_or(0);
        let rows = in_order(queue);
        let next = rows.get(row + 1).or_else(|| rows.get(row.checked_sub(1)?));
        let chosen = next.map(|next| QueueSelection { id: next.id.clone(), row });
        self.focus = QueueFocus::Panel(chosen);
        self.expects_removal = true;
        QueueAction::Remove(item.id.clone(), position)
    }

    /// Moves the message to the editor. A message that could be delivered in the meantime is held during the
    /// edit.
    fn begin_edit(
        &mut self,
        chosen: QueueSelection,
        item: &QueueItem,
        cx: &mut Context<'_>,
    ) -> Option<QueueAction> {
        let then = if item.held { AfterQueueEdit::Keep } else { AfterQueueEdit::Release };
        cx.push(Effect::EditQueued(QueueEditRequest { id: item.id.clone(), shown: item.as_typed(), then }));
        self.focus = QueueFocus::Editing(chosen, then);
        (then == AfterQueueEdit::Release).then(|| QueueAction::Hold(item.id.clone()))
    }
}

/// Swaps places with the message of another row if both have the same kind; steering messages always come
/// first.
fn swap_with(item: &QueueItem, row: usize, cx: &mut Context<'_>) -> Option<QueueAction> {
    let queue = &cx.model.activity.queue;
    let other = *in_order(queue).get(row)?;
    if other.kind != item.kind {
        let key = cx.key_of(KeyCommand::QueueSwitch);
        cx.flash(format!("Steering messages go first; {key} changes the kind."));
        return None;
    }
    // The engine's position doesn't count the message itself, so the position above or below another message
    // equals that message's position.
    let position = queue.iter().position(|queued| queued.id == other.id)?;
    Some(QueueAction::Move(item.id.clone(), position))
}
