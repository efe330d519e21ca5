//! Keys of the queue panel.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tiller_core::event::{QueueItem, QueueKind};

use super::super::keymap::{Context, KeyCommand};
use super::{AfterQueueEdit, QueueAction, QueueFocus, QueueSelection, in_order, typed};
use crate::action::Action;
use crate::app::App;

/// Reports whether a key would change the text in the editor.
pub(super) fn types_text(key: KeyEvent) -> bool {
    matches!(key.code, KeyCode::Char(_) | KeyCode::Backspace | KeyCode::Delete)
        && (key.modifiers - KeyModifiers::SHIFT).is_empty()
}

impl App {
    /// Gives the keys to the panel and selects the last message, which is next to the editor.
    pub(crate) fn enter_queue(&mut self) -> Vec<Action> {
        if self.model.activity.queue.is_empty() && !self.queue.can_restore() {
            self.flash("No messages are queued.");
            return Vec::new();
        }
        self.queue.released.clear();
        self.select_queue_row(usize::MAX);
        Vec::new()
    }

    /// Handles a key while the panel or an edited message has the keys.
    pub(crate) fn queue_key(&mut self, key: KeyEvent) -> Option<Vec<Action>> {
        match &self.queue.focus {
            QueueFocus::Editor => return None,
            QueueFocus::Message { .. } => return self.editing_key(key),
            QueueFocus::Panel(_) => {}
        }
        let Some(command) = self.ui.keymap.command(Context::Queue, key) else {
            // A letter without a binding isn't meant for the editor either.
            return types_text(key).then(Vec::new);
        };
        Some(self.queue_command(command).map(Action::Queue).into_iter().collect())
    }

    fn queue_command(&mut self, command: KeyCommand) -> Option<QueueAction> {
        match command {
            KeyCommand::QueueBack => {
                self.queue.focus = QueueFocus::Editor;
                self.queue.expects_removal = false;
                if self.queue.can_restore() {
                    self.flash(self.restore_hint());
                }
            }
            KeyCommand::QueueUndo => {
                let removed = self.queue.removed.pop()?;
                // The flash about the removal is obsolete.
                self.flash.clear();
                self.queue.released.retain(|id| !removed.iter().any(|back| back.item.id == *id));
                return Some(QueueAction::Restore(removed));
            }
            KeyCommand::QueueClear if !self.model.activity.queue.is_empty() => {
                self.queue.expects_removal = true;
                self.queue.released = self.model.activity.queue.iter().map(|item| item.id.clone()).collect();
                return Some(QueueAction::Clear);
            }
            command => return self.command_for_chosen(command),
        }
        None
    }

    /// The keys that restore removed messages after the panel was left.
    pub(super) fn restore_hint(&self) -> String {
        let key = |command| self.ui.keymap.key_of(command);
        let (enter, undo) = (key(KeyCommand::EditQueue), key(KeyCommand::QueueUndo));
        format!("{enter}, then {undo} restores them")
    }

    /// Selects the message of a clicked row; returns whether it was selected before. An edit in progress
    /// continues.
    pub(crate) fn click_queued(&mut self, row: usize) -> bool {
        let before = match &self.queue.focus {
            QueueFocus::Message { .. } => return false,
            QueueFocus::Panel(chosen) => chosen.as_ref().map(|chosen| chosen.id.clone()),
            QueueFocus::Editor => None,
        };
        self.queue.released.clear();
        self.select_queue_row(row);
        before.is_some() && before.as_ref() == self.queue.selected()
    }

    /// Edits the selected message.
    pub(crate) fn edit_queued(&mut self) -> Vec<Action> {
        self.queue_command(KeyCommand::QueueEdit).map(Action::Queue).into_iter().collect()
    }

    /// Selects the next or previous message.
    pub(crate) fn step_queued(&mut self, by: isize) {
        let command = if by < 0 { KeyCommand::QueueUp } else { KeyCommand::QueueDown };
        self.command_for_chosen(command);
    }

    /// Performs a command on the selected message.
    fn command_for_chosen(&mut self, command: KeyCommand) -> Option<QueueAction> {
        let QueueFocus::Panel(Some(QueueSelection { id, row })) = &self.queue.focus else { return None };
        let (id, row) = (id.clone(), *row);
        let item = self.model.activity.queue.iter().find(|item| item.id == id)?.clone();
        match command {
            KeyCommand::QueueUp => self.select_queue_row(row.saturating_sub(1)),
            KeyCommand::QueueDown => self.select_queue_row(row + 1),
            KeyCommand::QueueEdit => return self.begin_editing(QueueSelection { id, row }, &item),
            KeyCommand::QueueEarlier => return self.swap_with(&item, row.checked_sub(1)?),
            KeyCommand::QueueLater => return self.swap_with(&item, row + 1),
            KeyCommand::QueueTurn => {
                let kind = match item.kind {
                    QueueKind::Steer => QueueKind::FollowUp,
                    QueueKind::FollowUp => QueueKind::Steer,
                };
                return Some(QueueAction::SetKind(id, kind));
            }
            KeyCommand::QueueRelease if item.held => {
                self.queue.released = vec![id.clone()];
                return Some(QueueAction::Release(id));
            }
            KeyCommand::QueueRelease => self.flash("Not held: it is delivered automatically."),
            KeyCommand::QueueRemove => return Some(self.remove(&item, row)),
            _ => {}
        }
        None
    }

    /// Removes the selected message. The next one is selected at once, so that the update doesn't report the
    /// removal.
    fn remove(&mut self, item: &QueueItem, row: usize) -> QueueAction {
        let place = self.model.activity.queue.iter().position(|queued| queued.id == item.id).unwrap_or(0);
        let rows = in_order(&self.model.activity.queue);
        let next = rows.get(row + 1).or_else(|| rows.get(row.checked_sub(1)?));
        let chosen = next.map(|next| QueueSelection { id: next.id.clone(), row });
        self.queue.focus = QueueFocus::Panel(chosen);
        self.queue.expects_removal = true;
        QueueAction::Remove(item.id.clone(), place)
    }

    /// Swaps places with the message of another row if that has the same kind; steering messages always go
    /// first.
    fn swap_with(&mut self, item: &QueueItem, row: usize) -> Option<QueueAction> {
        let other = *in_order(&self.model.activity.queue).get(row)?;
        if other.kind != item.kind {
            let key = self.ui.keymap.key_of(KeyCommand::QueueTurn);
            self.flash(format!("Steering messages go first; {key} changes the kind."));
            return None;
        }
        // The engine's position doesn't count the message itself, so above or below another one it equals
        // that one's position.
        let place = self.model.activity.queue.iter().position(|queued| queued.id == other.id)?;
        Some(QueueAction::Move(item.id.clone(), place))
    }

    /// Moves the message to the editor. One that could be delivered meanwhile is held during the edit.
    fn begin_editing(&mut self, chosen: QueueSelection, item: &QueueItem) -> Option<QueueAction> {
        let (shown, draft) = (typed(item), Box::new(self.composer.editor.stash()));
        self.composer.editor.set_text(&shown);
        let then = if item.held { AfterQueueEdit::Keep } else { AfterQueueEdit::Release };
        self.queue.focus = QueueFocus::Message { chosen, shown, draft, then };
        (then == AfterQueueEdit::Release).then(|| QueueAction::Hold(item.id.clone()))
    }

    /// Handles a key while a queued message is edited: Enter applies the edit, Esc discards it.
    fn editing_key(&mut self, key: KeyEvent) -> Option<Vec<Action>> {
        match self.ui.keymap.command(Context::Main, key)? {
            KeyCommand::Send if self.composer.editor.continue_line() => Some(Vec::new()),
            KeyCommand::Send | KeyCommand::FollowUp | KeyCommand::SteerNow => Some(self.finish_editing()),
            KeyCommand::Stop => Some(self.leave_editing()),
            KeyCommand::Clear if self.composer.editor.is_empty() => Some(self.leave_editing()),
            KeyCommand::EditQueue => Some(Vec::new()),
            _ => None,
        }
    }

    fn finish_editing(&mut self) -> Vec<Action> {
        if self.composer.editor.expanded().trim().is_empty() {
            let key = self.ui.keymap.key_of(KeyCommand::Stop);
            self.flash(format!("Nothing to send; {key} leaves the message unchanged."));
            return Vec::new();
        }
        let QueueFocus::Message { chosen, shown, draft, then } = std::mem::take(&mut self.queue.focus) else {
            return Vec::new();
        };
        let text = self.composer.editor.expanded();
        self.composer.editor.restore(*draft);
        // After a failure all messages are held until the user releases them; an edit changes only the text.
        let then = if self.model.activity.last_run_failed { AfterQueueEdit::Keep } else { then };
        let action = match then {
            _ if text != shown => Some(QueueAction::Edit(chosen.id.clone(), text, then)),
            AfterQueueEdit::Release => Some(QueueAction::Release(chosen.id.clone())),
            AfterQueueEdit::Keep => None,
        };
        self.queue.released = vec![chosen.id.clone()];
        self.queue.focus = QueueFocus::Panel(Some(chosen));
        action.map(Action::Queue).into_iter().collect()
    }

    /// Reports whether finishing the edit sends the message at once, because the run that it waited for has
    /// ended.
    pub(crate) fn editing_sends(&self) -> bool {
        let is_idle = self.model.activity.running_since.is_none() && !self.model.activity.last_run_failed;
        is_idle && self.queue.selected().is_some_and(|id| self.queue.holds(id))
    }

    /// Discards the edit; the text is saved in the history. If the run ended meanwhile, the message stays
    /// held like all others.
    fn leave_editing(&mut self) -> Vec<Action> {
        let mut action = None;
        if let QueueFocus::Message { chosen, shown, draft, then } = std::mem::take(&mut self.queue.focus) {
            let text = self.composer.editor.expanded();
            if text != shown && !text.trim().is_empty() {
                self.composer.editor.remember(&text);
            }
            self.composer.editor.restore(*draft);
            let goes = then == AfterQueueEdit::Release && self.model.activity.running_since.is_some();
            action = goes.then(|| Action::Queue(QueueAction::Release(chosen.id.clone())));
            self.queue.focus = QueueFocus::Panel(Some(chosen));
        }
        action.into_iter().collect()
    }
}
