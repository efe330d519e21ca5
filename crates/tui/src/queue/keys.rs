//! What keys do while they are the waiting messages'.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tiller_core::event::{QueueItem, QueueKind};

use super::super::app::{Action, App};
use super::super::keymap::{Context, KeyCommand};
use super::{AfterQueueEdit, QueueAction, QueueFocus, QueueSelection, in_order, typed};

/// Returns whether a key changes the text of an editor that has it.
pub(super) fn types(key: KeyEvent) -> bool {
    matches!(key.code, KeyCode::Char(_) | KeyCode::Backspace | KeyCode::Delete)
        && (key.modifiers - KeyModifiers::SHIFT).is_empty()
}

impl App {
    /// Gives the keys to the messages that wait, the last one chosen: it stands next to the editor.
    pub(crate) fn enter_queue(&mut self) -> Vec<Action> {
        if self.work.queue.is_empty() && !self.queue.can_put_back() {
            self.flash("no message waits");
            return Vec::new();
        }
        self.queue.let_go.clear();
        self.choose_row(usize::MAX);
        Vec::new()
    }

    /// What a key does with the messages that wait, if the keys are theirs.
    pub(crate) fn queue_key(&mut self, key: KeyEvent) -> Option<Vec<Action>> {
        match &self.queue.focus {
            QueueFocus::Away => return None,
            QueueFocus::Editing { .. } => return self.editing_key(key),
            QueueFocus::Choosing(_) => {}
        }
        let Some(command) = self.place.keymap.command(Context::Queue, key) else {
            // A letter that means nothing here isn't meant for the editor either.
            return types(key).then(Vec::new);
        };
        Some(self.queue_command(command).map(Action::Queue).into_iter().collect())
    }

    fn queue_command(&mut self, command: KeyCommand) -> Option<QueueAction> {
        match command {
            KeyCommand::QueueBack => {
                self.queue.focus = QueueFocus::Away;
                self.queue.expects_removal = false;
                if self.queue.can_put_back() {
                    self.flash(self.way_back());
                }
            }
            KeyCommand::QueueUndo => {
                let removed = self.queue.removed.pop()?;
                // What was said of them holds no longer.
                self.notes.flash = None;
                self.queue.let_go.retain(|id| !removed.iter().any(|back| back.item.id == *id));
                return Some(QueueAction::PutBack(removed));
            }
            KeyCommand::QueueClear if !self.work.queue.is_empty() => {
                self.queue.expects_removal = true;
                self.queue.let_go = self.work.queue.iter().map(|item| item.id.clone()).collect();
                return Some(QueueAction::Clear);
            }
            command => return self.command_for_chosen(command),
        }
        None
    }

    /// How to bring back what was taken out, for whoever has given the keys back.
    pub(super) fn way_back(&self) -> String {
        let key = |command| self.place.keymap.key_of(command);
        let (enter, undo) = (key(KeyCommand::EditQueue), key(KeyCommand::QueueUndo));
        format!("{enter}, then {undo} brings back what was removed")
    }

    /// Gives the keys to the message of a row; says whether it was chosen already. One that is edited is gone on with.
    pub(crate) fn click_waiting(&mut self, row: usize) -> bool {
        let before = match &self.queue.focus {
            QueueFocus::Editing { .. } => return false,
            QueueFocus::Choosing(chosen) => chosen.as_ref().map(|chosen| chosen.id.clone()),
            QueueFocus::Away => None,
        };
        self.queue.let_go.clear();
        self.choose_row(row);
        before.is_some() && before.as_ref() == self.queue.chosen()
    }

    /// Edits the message that is chosen.
    pub(crate) fn edit_waiting(&mut self) -> Vec<Action> {
        self.queue_command(KeyCommand::QueueEdit).map(Action::Queue).into_iter().collect()
    }

    /// Goes to the message beside the one that is chosen.
    pub(crate) fn step_waiting(&mut self, by: isize) {
        let command = if by < 0 { KeyCommand::QueueUp } else { KeyCommand::QueueDown };
        self.command_for_chosen(command);
    }

    /// What is done with the message that is chosen.
    fn command_for_chosen(&mut self, command: KeyCommand) -> Option<QueueAction> {
        let QueueFocus::Choosing(Some(QueueSelection { id, row })) = &self.queue.focus else { return None };
        let (id, row) = (id.clone(), *row);
        let item = self.work.queue.iter().find(|item| item.id == id)?.clone();
        match command {
            KeyCommand::QueueUp => self.choose_row(row.saturating_sub(1)),
            KeyCommand::QueueDown => self.choose_row(row + 1),
            KeyCommand::QueueEdit => return self.begin_editing(QueueSelection { id, row }, &item),
            KeyCommand::QueueEarlier => return self.place_beside(&item, row.checked_sub(1)?),
            KeyCommand::QueueLater => return self.place_beside(&item, row + 1),
            KeyCommand::QueueTurn => {
                let kind = match item.kind {
                    QueueKind::Steer => QueueKind::FollowUp,
                    QueueKind::FollowUp => QueueKind::Steer,
                };
                return Some(QueueAction::Turn(id, kind));
            }
            KeyCommand::QueueRelease if item.held => {
                self.queue.let_go = vec![id.clone()];
                return Some(QueueAction::Release(id));
            }
            KeyCommand::QueueRelease => self.flash("it isn't held: it goes in by itself"),
            KeyCommand::QueueRemove => return Some(self.remove(&item, row)),
            _ => {}
        }
        None
    }

    /// Takes the chosen message out; the next one is chosen already, so that nobody is told that it is gone.
    fn remove(&mut self, item: &QueueItem, row: usize) -> QueueAction {
        let place = self.work.queue.iter().position(|waiting| waiting.id == item.id).unwrap_or(0);
        let rows = in_order(&self.work.queue);
        let next = rows.get(row + 1).or_else(|| rows.get(row.checked_sub(1)?));
        let chosen = next.map(|next| QueueSelection { id: next.id.clone(), row });
        self.queue.focus = QueueFocus::Choosing(chosen);
        self.queue.expects_removal = true;
        QueueAction::Remove(item.id.clone(), place)
    }

    /// Changes places with the message of another row, if that is of the same kind: what steers always goes first.
    fn place_beside(&mut self, item: &QueueItem, row: usize) -> Option<QueueAction> {
        let other = *in_order(&self.work.queue).get(row)?;
        if other.kind != item.kind {
            let key = self.place.keymap.key_of(KeyCommand::QueueTurn);
            self.flash(format!("what steers goes first; {key} changes when it goes in"));
            return None;
        }
        // The engine counts without the message itself: before one above it, behind one below it, both are that one's place.
        let place = self.work.queue.iter().position(|waiting| waiting.id == other.id)?;
        Some(QueueAction::Place(item.id.clone(), place))
    }

    /// A message that might go in any moment is held for as long as it is edited.
    fn begin_editing(&mut self, chosen: QueueSelection, item: &QueueItem) -> Option<QueueAction> {
        let (shown, draft) = (typed(item), Box::new(self.editor.put_aside()));
        self.editor.set_text(&shown);
        let then = if item.held { AfterQueueEdit::Stays } else { AfterQueueEdit::Goes };
        self.queue.focus = QueueFocus::Editing { chosen, shown, draft, then };
        (then == AfterQueueEdit::Goes).then(|| QueueAction::Hold(item.id.clone()))
    }

    /// While a message that waits is in the editor, Enter puts it back in its place and Esc leaves it as it was.
    fn editing_key(&mut self, key: KeyEvent) -> Option<Vec<Action>> {
        match self.place.keymap.command(Context::Main, key)? {
            KeyCommand::Send if self.editor.continue_line() => Some(Vec::new()),
            KeyCommand::Send | KeyCommand::FollowUp | KeyCommand::SteerNow => Some(self.finish_editing()),
            KeyCommand::Stop => Some(self.leave_editing()),
            KeyCommand::Clear if self.editor.is_empty() => Some(self.leave_editing()),
            KeyCommand::EditQueue => Some(Vec::new()),
            _ => None,
        }
    }

    fn finish_editing(&mut self) -> Vec<Action> {
        if self.editor.expanded().trim().is_empty() {
            let key = self.place.keymap.key_of(KeyCommand::Stop);
            self.flash(format!("there is nothing to send; {key} leaves it as it was"));
            return Vec::new();
        }
        let QueueFocus::Editing { chosen, shown, draft, then } = std::mem::take(&mut self.queue.focus) else {
            return Vec::new();
        };
        let words = self.editor.expanded();
        self.editor.take_up(*draft);
        // After a failure everything waits for the user's word, and this is about its words.
        let then = if self.work.failed { AfterQueueEdit::Stays } else { then };
        let order = match then {
            _ if words != shown => Some(QueueAction::Edit(chosen.id.clone(), words, then)),
            AfterQueueEdit::Goes => Some(QueueAction::Release(chosen.id.clone())),
            AfterQueueEdit::Stays => None,
        };
        self.queue.let_go = vec![chosen.id.clone()];
        self.queue.focus = QueueFocus::Choosing(Some(chosen));
        order.map(Action::Queue).into_iter().collect()
    }

    /// Whether a message that is edited goes in at once when that is done: the run it waited for is over.
    pub(crate) fn editing_sends(&self) -> bool {
        let is_idle = self.work.running_since.is_none() && !self.work.failed;
        is_idle && self.queue.chosen().is_some_and(|id| self.queue.holds(id))
    }

    /// Leaves the message as it was. What was typed is in the history. When the run ended meanwhile it waits held, like all others.
    fn leave_editing(&mut self) -> Vec<Action> {
        let mut order = None;
        if let QueueFocus::Editing { chosen, shown, draft, then } = std::mem::take(&mut self.queue.focus) {
            let words = self.editor.expanded();
            if words != shown && !words.trim().is_empty() {
                self.editor.remember(&words);
            }
            self.editor.take_up(*draft);
            let goes = then == AfterQueueEdit::Goes && self.work.running_since.is_some();
            order = goes.then(|| Action::Queue(QueueAction::Release(chosen.id.clone())));
            self.queue.focus = QueueFocus::Choosing(Some(chosen));
        }
        order.into_iter().collect()
    }
}
