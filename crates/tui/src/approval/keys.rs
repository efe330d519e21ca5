//! Keys while a call waits for approval.
//!
//! A letter answers only where it can't be text for the editor: the editor is empty, the call has been
//! visible for a moment, and no other letter follows at once. Any other letter goes into the editor. Enter
//! only confirms an answer selected with the arrow keys.
//!
//! After an answer the user is looking, so the next call accepts keys from its first frame on, but can be
//! allowed only after it has been visible for a moment. Earlier keys and letters that may be answers are held
//! back by `debounce`. A key that is no answer is always text.

use crossterm::event::{KeyCode, KeyEvent};
use tiller_core::event::Decision;

use super::super::app::{Action, App};
use super::super::dialog::{KeyIntent, ShownSince};
use super::super::frame_pacer::Dirty;
use super::super::keymap::{Context, KeyCommand};
use super::super::overlay::Overlay;
use super::super::view;
use super::debounce::{AfterAnswer, AnsweredCall, HeldKey};
use super::{ApprovalAnswer, PanelMode, Ready};

/// Maximum time between an answer and the next request for which the user counts as looking, in milliseconds.
pub(super) const WATCHING_MS: u64 = 2_000;

/// The reason of a denial without a text from the user. The model reads it.
const DENIED: &str = "the user rejected it";

/// Separates it from the user's own reason.
const REASON_SEPARATOR: &str = ": ";

/// The part of a denial's reason that the user typed.
pub(crate) fn user_reason(reason: &str) -> Option<&str> {
    reason.strip_prefix(DENIED)?.strip_prefix(REASON_SEPARATOR)
}

impl App {
    /// Handles a key for the pending call; `None` leaves it to the next handler.
    pub(crate) fn approval_key(&mut self, key: KeyEvent) -> Option<Vec<Action>> {
        if let Some(actions) = self.debounce_key(key) {
            return Some(actions);
        }
        let Some(pending) = self.model.activity.approvals.first() else {
            return self.key_between_approvals(key);
        };
        if pending.is_writing_reason() {
            return self.reasoning_key(key);
        }
        if pending.ready == Ready::OnDraw && key.code == KeyCode::Enter && self.editor.is_empty() {
            return Some(Vec::new());
        }
        if self.is_held_down(key) {
            return Some(Vec::new());
        }
        if let Some(held) = self.model.activity.approvals[0].held_key.take() {
            return self.key_after_held(held, key);
        }
        if self.is_enter_alone(key) {
            self.flash_answer_keys();
            return Some(Vec::new());
        }
        let is_settled = self.model.activity.approvals[0].is_ready(self.now);
        let command = self.approval_command(key)?;
        if let KeyCommand::CallUp | KeyCommand::CallDown = command {
            self.scroll_approval(command);
            return Some(Vec::new());
        }
        let is_free = self.editor.is_empty() || Self::is_letter(key) && self.editor_repeats_letter(key);
        if !is_settled || !is_free || !self.command_applies(command) {
            return None;
        }
        if Self::is_letter(key) {
            self.model.activity.approvals[0].held_key = Some(HeldKey::new(key, self.now));
            return Some(Vec::new());
        }
        Some(self.run_approval_command(command, key))
    }

    /// Checks for Enter while the editor is empty and no answer is selected.
    fn is_enter_alone(&self, key: KeyEvent) -> bool {
        let is_bare = key.code == KeyCode::Enter && key.modifiers.is_empty();
        is_bare
            && self.editor.is_empty()
            && self.model.activity.approvals[0].mode == PanelMode::Choosing(None)
    }

    /// Shows the keys that answer the call.
    fn flash_answer_keys(&mut self) {
        let key = |command| self.ui.keymap.key_of(command);
        let (allow, deny, why) =
            (key(KeyCommand::Allow), key(KeyCommand::Deny), key(KeyCommand::DenyWithReason));
        self.flash_about_call(format!(
            "Press {allow} to allow, {deny} to deny, {why} to deny with a reason."
        ));
    }

    /// Handles a key after a held letter: Enter confirms it, Esc discards it, any other key makes text of it.
    fn key_after_held(&mut self, held: HeldKey, key: KeyEvent) -> Option<Vec<Action>> {
        if key.code == KeyCode::Enter {
            self.model.activity.approvals[0].held_key = Some(held);
            return Some(self.answer_approval(0));
        }
        // Esc goes back one level: it discards the letter, the run continues.
        if self.ui.keymap.command(Context::Main, key) == Some(KeyCommand::Stop) {
            return Some(Vec::new());
        }
        self.type_held_letter(held);
        if self.model.activity.approvals[0].is_writing_reason() { self.reasoning_key(key) } else { None }
    }

    /// Handles a key on the call's own page. As in the panel, a letter answers if no other key follows.
    pub(crate) fn call_page_key(&mut self, key: KeyEvent) -> Option<Vec<Action>> {
        let pending = self.approval_on_page()?;
        if let Some(Overlay::Pager(page)) = self.overlays.last()
            && page.find().is_some()
        {
            return None;
        }
        if pending.held_key.is_some() {
            if self.is_held_down(key) {
                return Some(Vec::new());
            }
            if key.code == KeyCode::Enter {
                return Some(self.answer_approval(0));
            }
            let held = self.model.activity.approvals[0].held_key.take();
            if self.ui.keymap.command(Context::Main, key) == Some(KeyCommand::Stop) {
                return Some(Vec::new());
            }
            return if Self::is_letter(key) { Some(self.type_into_editor(held, key)) } else { None };
        }
        let means_else = |context| self.ui.keymap.command(context, key).is_some();
        let is_free = !means_else(Context::Popup) && !means_else(Context::Page);
        let Some(command) = self.approval_command(key).filter(|command| self.command_applies(*command))
        else {
            return (is_free && Self::is_letter(key)).then(|| self.type_into_editor(None, key));
        };
        let allows = matches!(command, KeyCommand::Allow | KeyCommand::AllowSession);
        let denies = matches!(command, KeyCommand::Deny | KeyCommand::DenyWithReason);
        if !is_free || !(allows || denies) {
            return None;
        }
        // Allowing requires that the page shows the answers.
        if allows && !view::page_says_answers(self) {
            return Some(Vec::new());
        }
        if allows && !self.model.activity.approvals[0].is_seen_long_enough(self.now) {
            return Some(Vec::new());
        }
        if Self::is_letter(key) {
            self.model.activity.approvals[0].held_key = Some(HeldKey::new(key, self.now));
            return Some(Vec::new());
        }
        Some(self.run_approval_command(command, key))
    }

    /// Closes the call's page and types the held letter and this key into the editor.
    fn type_into_editor(&mut self, held: Option<HeldKey>, key: KeyEvent) -> Vec<Action> {
        self.close_call_page();
        held.into_iter().for_each(|held| self.type_held_letter(held));
        self.handle_key(key)
    }

    fn close_call_page(&mut self) {
        if self.approval_on_page().is_some() {
            self.overlays.pop();
        }
    }

    /// Handles a key between two pending calls. Enter after a letter that may be an early answer sends
    /// nothing; typing a message means that the user is no longer looking.
    fn key_between_approvals(&mut self, key: KeyEvent) -> Option<Vec<Action>> {
        let answered = self
            .transient
            .answered_call
            .as_mut()
            .filter(|answered| answered.after == AfterAnswer::MoreCalls)?;
        let is_recent = answered.is_recent(self.now);
        let is_early = is_recent && self.editor_holds_early_answers();
        if is_early && key.code == KeyCode::Enter {
            return Some(Vec::new());
        }
        if KeyIntent::from_key(key) == KeyIntent::Text && !(is_early && self.approval_command(key).is_some())
        {
            self.transient.answered_call = None;
        }
        None
    }

    pub(super) fn begin_reason(&mut self) {
        self.close_call_page();
        let Some(pending) = self.model.activity.approvals.first_mut() else { return };
        pending.mode = PanelMode::WritingReason;
        let reason = std::mem::take(&mut pending.reason);
        if !reason.is_empty() {
            self.editor.set_text(&reason);
        }
    }

    /// Checks whether a command applies now: Enter and Esc need a selected answer, "this session" needs a
    /// rule.
    pub(super) fn command_applies(&self, command: KeyCommand) -> bool {
        let Some(pending) = self.model.activity.approvals.first() else { return false };
        match command {
            KeyCommand::GiveAnswer | KeyCommand::ClearAnswer => pending.mode != PanelMode::Choosing(None),
            KeyCommand::AllowSession => !pending.request.rule.is_empty(),
            _ => true,
        }
    }

    pub(super) fn run_approval_command(&mut self, command: KeyCommand, key: KeyEvent) -> Vec<Action> {
        match command {
            KeyCommand::Allow => return self.answer(ApprovalAnswer::Once, key),
            KeyCommand::AllowSession => return self.answer(ApprovalAnswer::Session, key),
            KeyCommand::Deny => return self.answer(ApprovalAnswer::Deny, key),
            KeyCommand::DenyWithReason => return self.answer(ApprovalAnswer::DenyWithReason, key),
            KeyCommand::GiveAnswer => {
                if let Some(PanelMode::Choosing(Some(answer))) =
                    self.model.activity.approvals.first().map(|pending| pending.mode)
                {
                    return self.answer(answer, key);
                }
            }
            KeyCommand::NextAnswer => self.choose_answer(1),
            KeyCommand::PreviousAnswer => self.choose_answer(-1),
            KeyCommand::ClearAnswer => self.set_mode(PanelMode::Choosing(None)),
            KeyCommand::ShowCall => self.open_call_page(),
            _ => {}
        }
        Vec::new()
    }

    fn answer(&mut self, answer: ApprovalAnswer, key: KeyEvent) -> Vec<Action> {
        let Some(pending) = self.model.activity.approvals.first() else { return Vec::new() };
        let allows = matches!(answer, ApprovalAnswer::Once | ApprovalAnswer::Session);
        if allows && !pending.is_seen() {
            let key = self.ui.keymap.key_of(KeyCommand::ShowCall);
            self.flash_about_call(format!("Scroll through the whole call first; {key} shows it."));
            return Vec::new();
        }
        if allows && !pending.is_readable(self.now) {
            let key = self.ui.keymap.key_of(KeyCommand::GiveAnswer);
            self.flash_about_call(format!("Ignored: pressed too soon. Press {key} again to allow."));
            return Vec::new();
        }
        match answer {
            ApprovalAnswer::Once => self.decide(Decision::Once, key),
            ApprovalAnswer::Session => self.decide(Decision::Session, key),
            ApprovalAnswer::Deny => self.decide(Decision::Deny { reason: DENIED.to_owned() }, key),
            ApprovalAnswer::DenyWithReason => {
                self.begin_reason();
                Vec::new()
            }
        }
    }

    fn decide(&mut self, decision: Decision, key: KeyEvent) -> Vec<Action> {
        self.close_call_page();
        let pending = self.model.activity.approvals.remove(0);
        self.clear_flash_about(&pending.request.tool_call_id);
        self.dirty = Dirty::ByUser;
        let next = self.model.activity.approvals.first_mut();
        let is_looking = next.is_none() && pending.request.later > 0;
        let after = if is_looking { AfterAnswer::MoreCalls } else { AfterAnswer::Nothing };
        self.transient.answered_call = Some(AnsweredCall::new(key, self.now, after));
        next.into_iter().for_each(|next| next.ready = Ready::OnDraw);
        vec![Action::Decide(pending.request.tool_call_id, decision)]
    }

    fn set_mode(&mut self, mode: PanelMode) {
        if let Some(pending) = self.model.activity.approvals.first_mut() {
            pending.mode = mode;
        }
    }

    /// Selects the next or previous answer; the first key selects the first or last.
    fn choose_answer(&mut self, by: isize) {
        let Some(pending) = self.model.activity.approvals.first_mut() else { return };
        let answers = pending.answers();
        let chosen = match pending.mode {
            PanelMode::Choosing(Some(chosen)) => answers.iter().position(|answer| *answer == chosen),
            PanelMode::Choosing(None) | PanelMode::WritingReason => None,
        };
        let at = match chosen {
            Some(at) => at.saturating_add_signed(by).min(answers.len() - 1),
            None if by > 0 => 0,
            None => answers.len() - 1,
        };
        pending.mode = PanelMode::Choosing(Some(answers[at]));
    }

    fn scroll_approval(&mut self, command: KeyCommand) {
        let (rows, _) = view::approval_rows(self);
        // One line overlaps, for orientation.
        let page = isize::try_from(rows.saturating_sub(1).max(1)).unwrap_or(1);
        let by = if command == KeyCommand::CallUp { -page } else { page };
        if let Some(pending) = self.model.activity.approvals.first_mut() {
            pending.detail.scroll(by, rows);
        }
    }

    /// Handles a key while the user writes a reason: Enter sends it to the model, Esc puts it aside.
    fn reasoning_key(&mut self, key: KeyEvent) -> Option<Vec<Action>> {
        match self.ui.keymap.command(Context::Main, key)? {
            KeyCommand::Send if self.editor.continue_line() => Some(Vec::new()),
            KeyCommand::Send | KeyCommand::SteerNow | KeyCommand::FollowUp => {
                let words = self.editor.take_text();
                let reason = match words.trim() {
                    "" => DENIED.to_owned(),
                    words => format!("{DENIED}{REASON_SEPARATOR}{words}"),
                };
                Some(self.decide(Decision::Deny { reason }, key))
            }
            KeyCommand::Stop => {
                self.put_reason_aside();
                Some(Vec::new())
            }
            KeyCommand::Clear if self.editor.is_empty() => {
                self.put_reason_aside();
                Some(Vec::new())
            }
            _ => None,
        }
    }

    fn put_reason_aside(&mut self) {
        let words = self.editor.take_text();
        if !words.trim().is_empty() {
            // If the call is answered elsewhere, the reason is still in the history.
            self.editor.remember(&words);
        }
        if let Some(pending) = self.model.activity.approvals.first_mut() {
            pending.reason = words;
            pending.mode = PanelMode::Choosing(None);
            pending.ready = Ready::AfterDelay(ShownSince::at(self.now));
        }
    }
}
