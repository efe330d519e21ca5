//! Holds back letters that may be answers until their meaning is known.
//!
//! A letter pressed where it would answer a call does so only when no other letter follows. The same letter
//! pressed again just after it answered is undecided: the user answers several calls in a rhythm, holds the
//! key down, or begins a message. Another key makes text of it, and so does silence, unless it came so often
//! that the key was held down. So no typed text is lost, and no unread call is answered.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tiller_core::unit::UnixMs;

use super::super::app::{Action, App};
use super::super::dialog::ShownSince;
use super::super::keymap::{Context, KeyCommand};
use super::Ready;

/// Time without another key after which a letter answers an approval, in milliseconds. A user who types "yes,
/// but" is writing a message.
pub(crate) const ANSWER_MS: u64 = 350;

/// Minimum number of quick repeats that count as holding the key down.
const HELD_DOWN: usize = 3;

/// Maximum number of letters in the editor that count as early answers; more are text.
const MAX_EARLY: usize = 3;

/// A letter that is held back, its number of presses, and the time of the last one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldKey {
    key: KeyEvent,
    count: usize,
    last: UnixMs,
}

/// The key that answered the last call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnsweredCall {
    key: KeyEvent,
    pub(super) at: UnixMs,
    pub(super) after: AfterAnswer,
}

/// The expectation after the answer to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterAnswer {
    /// Other calls of the same response will ask, and the user is watching for them.
    MoreCalls,
    /// No other call is expected.
    Nothing,
}

impl HeldKey {
    pub(super) fn new(key: KeyEvent, now: UnixMs) -> Self {
        Self { key, count: 1, last: now }
    }

    /// Counts a repeat of the same letter; returns whether it was one.
    fn count_repeat(&mut self, key: KeyEvent, now: UnixMs) -> bool {
        let is_same = is_same_letter(self.key, key);
        if is_same {
            (self.count, self.last) = (self.count + 1, now);
        }
        is_same
    }

    /// Reports whether no key has followed it for `for_ms` milliseconds.
    fn is_unfollowed(&self, now: UnixMs, for_ms: u64) -> bool {
        now.since_ms(self.last) >= for_ms
    }
}

/// Reports whether a key types the same letter as an earlier one. Ctrl or Alt make it another key.
fn is_same_letter(before: KeyEvent, key: KeyEvent) -> bool {
    App::is_letter(before) && App::is_letter(key) && before.code == key.code
}

impl AnsweredCall {
    pub(super) fn new(key: KeyEvent, at: UnixMs, after: AfterAnswer) -> Self {
        Self { key, at, after }
    }

    /// Reports whether a key pressed now may still belong to this answer.
    pub(super) fn is_recent(&self, now: UnixMs) -> bool {
        !ShownSince::at(self.at).is_long_enough(now)
    }
}

impl App {
    /// The command of a key for a pending call; no other function decides this.
    pub(super) fn approval_command(&self, key: KeyEvent) -> Option<KeyCommand> {
        self.ui.keymap.command(Context::Approval, key).or_else(|| self.numbered_answer(key))
    }

    /// The answer at the position of a digit key: other agents number their answers.
    fn numbered_answer(&self, key: KeyEvent) -> Option<KeyCommand> {
        let KeyCode::Char(digit) = key.code else { return None };
        let at = usize::try_from(digit.to_digit(10)?).ok()?.checked_sub(1)?;
        let pending = self.model.activity.approvals.first().filter(|_| key.modifiers.is_empty())?;
        pending.answers().get(at).map(|answer| answer.command())
    }

    /// Reports whether a key types a character.
    pub(super) fn is_letter(key: KeyEvent) -> bool {
        matches!(key.code, KeyCode::Char(_)) && (key.modifiers - KeyModifiers::SHIFT).is_empty()
    }

    /// Holds back a key that may repeat the last answer, or ends the repeats.
    pub(super) fn debounce_key(&mut self, key: KeyEvent) -> Option<Vec<Action>> {
        if let Some(held) = &mut self.transient.repeated_key {
            if held.count_repeat(key, self.now) {
                return Some(Vec::new());
            }
            return self.end_repeats(key);
        }
        let answered = self.transient.answered_call.filter(|answered| answered.is_recent(self.now))?;
        let is_again = is_same_letter(answered.key, key) && self.editor.is_empty();
        let first = self.model.activity.approvals.first();
        let accepts_key = first
            .is_some_and(|pending| matches!(pending.ready, Ready::Visible(_)) || pending.is_writing_reason());
        if !is_again || accepts_key {
            return None;
        }
        self.transient.repeated_key = Some(HeldKey::new(key, self.now));
        Some(Vec::new())
    }

    /// Ends the repeats at another key: Esc discards them, any other key makes text of them.
    fn end_repeats(&mut self, key: KeyEvent) -> Option<Vec<Action>> {
        if self.ui.keymap.command(Context::Main, key) == Some(KeyCommand::Stop) {
            self.transient.repeated_key = None;
            return Some(Vec::new());
        }
        self.type_repeats();
        None
    }

    fn type_repeats(&mut self) {
        if let Some(held) = self.transient.repeated_key.take() {
            self.type_held(held.key, held.count);
        }
    }

    /// Types a held letter whose call is no longer pending into the editor; Enter doesn't send it at once.
    pub(super) fn keep_as_draft(&mut self, held: HeldKey) {
        self.type_held(held.key, held.count);
        self.transient.repurposed_at = Some(self.now);
    }

    fn type_held(&mut self, letter: KeyEvent, count: usize) {
        (0..count).for_each(|_| _ = self.editor.key(letter, &self.ui.keymap));
    }

    /// Ends the repeats after a pause: a key that was held down is discarded, anything else becomes text.
    fn settle_repeats(&mut self) {
        let is_over = |held: &HeldKey| held.is_unfollowed(self.now, ANSWER_MS);
        if self.transient.repeated_key.as_ref().is_some_and(is_over) {
            match self.transient.repeated_key.take_if(|held| held.count >= HELD_DOWN) {
                Some(_) => {}
                None => self.type_repeats(),
            }
            self.dirty = super::super::frame_pacer::Dirty::ByUser;
        }
    }

    /// Counts a repeat of the letter that is about to answer the call.
    pub(super) fn is_held_down(&mut self, key: KeyEvent) -> bool {
        let now = self.now;
        let pending = self.model.activity.approvals.first_mut();
        pending.and_then(|pending| pending.held_key.as_mut()).is_some_and(|held| held.count_repeat(key, now))
    }

    /// Makes text of a held letter: the start of a message, or of the reason if the letter asks for one.
    pub(super) fn type_held_letter(&mut self, held: HeldKey) {
        match self.approval_command(held.key) {
            Some(KeyCommand::DenyWithReason) => {
                self.begin_reason();
                self.type_held(held.key, held.count - 1);
            }
            _ => self.type_held(held.key, held.count),
        }
    }

    /// Makes text of all held letters.
    pub(crate) fn type_held_letters(&mut self) {
        self.type_repeats();
        let held = self.model.activity.approvals.first_mut().and_then(|pending| pending.held_key.take());
        held.into_iter().for_each(|held| self.type_held_letter(held));
    }

    /// Decides held letters whose time has passed.
    pub(crate) fn settle_held_letters(&mut self) -> Vec<Action> {
        self.settle_repeats();
        self.answer_approval(ANSWER_MS)
    }

    /// Gives the answer of the first call's held letter once it is `after_ms` milliseconds old; an allowing
    /// answer also waits until the call was readable. A key held down since it answered the previous call
    /// doesn't answer this one.
    pub(super) fn answer_approval(&mut self, after_ms: u64) -> Vec<Action> {
        let now = self.now;
        let Some(pending) = self.model.activity.approvals.first() else { return Vec::new() };
        let Some(held) = pending.held_key.filter(|held| held.is_unfollowed(now, after_ms)) else {
            return Vec::new();
        };
        let command = self.approval_command(held.key);
        let allows = matches!(command, Some(KeyCommand::Allow | KeyCommand::AllowSession));
        let is_held_down = matches!(pending.ready, Ready::Visible(_)) && held.count > 1;
        if allows && !is_held_down && !pending.is_readable(now) {
            return Vec::new();
        }
        self.model.activity.approvals[0].held_key = None;
        if is_held_down {
            self.transient.repeated_key = Some(held);
            self.settle_repeats();
            return Vec::new();
        }
        let Some(command) = command else { return Vec::new() };
        if self.editor_repeats_letter(held.key) {
            // The letters in the editor were the same answer, pressed too soon.
            self.editor.take_text();
        }
        self.run_approval_command(command, held.key)
    }

    /// Reports whether the editor holds only this letter, as typed by a user who answers before the call
    /// appears.
    pub(super) fn editor_repeats_letter(&self, key: KeyEvent) -> bool {
        let text = self.editor.text();
        let is_it = |letter| key.code == KeyCode::Char(letter);
        !text.is_empty() && text.len() <= MAX_EARLY && text.chars().all(is_it)
    }

    /// Reports whether the editor is empty or holds only letters that would be early answers.
    pub(super) fn editor_holds_early_answers(&self) -> bool {
        let text = self.editor.text();
        let answers = |letter| self.approval_command(KeyEvent::from(KeyCode::Char(letter))).is_some();
        text.len() <= MAX_EARLY && text.chars().all(answers)
    }

    /// Reports whether a call is pending and the editor holds only a letter that would answer it, typed
    /// before the call appeared.
    pub(crate) fn editor_holds_answer(&self) -> bool {
        let Some(letter) = self.editor.text().chars().next() else { return false };
        let key = KeyEvent::from(KeyCode::Char(letter));
        let is_asked =
            self.model.activity.approvals.first().is_some_and(|pending| !pending.is_writing_reason());
        is_asked
            && self.editor_repeats_letter(key)
            && self.approval_command(key).is_some_and(|command| self.command_applies(command))
    }
}
