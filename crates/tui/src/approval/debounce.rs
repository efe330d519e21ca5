//! Letters that may be answers, held back until it is known what they are.
//!
//! A letter that is pressed where it would answer a call answers it when no other letter follows. One that is pressed again just after it
//! answered is for nobody yet: somebody answers in a rhythm, or holds the key down, or a message begins like that. What follows tells:
//! another key makes a message of it, and so does silence, unless there were so many of them that the key was held down. So nothing that
//! was typed is lost, and nothing is answered that wasn't read.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tiller_core::unit::UnixMs;

use super::super::app::{Action, App};
use super::super::dialog::ShownSince;
use super::super::keymap::{Context, KeyCommand};
use super::Ready;

/// How long no other key may follow one that answers an approval, in milliseconds: somebody who types "yes, but" is writing a
/// message.
pub(crate) const ANSWER_MS: u64 = 350;

/// How often a letter comes at least, one soon after the other, when its key is held down.
const HELD_DOWN: usize = 3;

/// Letters that may be answers which came too soon; more of them are a text.
const MOST_EARLY: usize = 3;

/// A letter, how often it came, and when it came last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldKey {
    key: KeyEvent,
    count: usize,
    last: UnixMs,
}

/// The key that answered a call last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnsweredCall {
    key: KeyEvent,
    pub(super) at: UnixMs,
    pub(super) after: AfterAnswer,
}

/// What follows the answer to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterAnswer {
    /// Others of the same answer of the model's are going to ask, and whoever pressed the key looks for them.
    Others,
    /// Nothing that is looked for.
    Nothing,
}

impl HeldKey {
    pub(super) fn new(key: KeyEvent, now: UnixMs) -> Self {
        Self { key, count: 1, last: now }
    }

    /// Takes the same letter once more.
    fn takes(&mut self, key: KeyEvent, now: UnixMs) -> bool {
        let is_same = is_again(self.key, key);
        if is_same {
            (self.count, self.last) = (self.count + 1, now);
        }
        is_same
    }

    /// Whether nothing has followed it for so long.
    fn is_alone(&self, now: UnixMs, for_ms: u64) -> bool {
        now.since_ms(self.last) >= for_ms
    }
}

/// Whether a key types the letter that another one typed: with Ctrl or Alt it is another key.
fn is_again(before: KeyEvent, key: KeyEvent) -> bool {
    App::is_letter(before) && App::is_letter(key) && before.code == key.code
}

impl AnsweredCall {
    pub(super) fn new(key: KeyEvent, at: UnixMs, after: AfterAnswer) -> Self {
        Self { key, at, after }
    }

    /// Whether a key that is pressed now may be pressed for the reason that this one was.
    pub(super) fn is_recent(&self, now: UnixMs) -> bool {
        !ShownSince::at(self.at).is_noticed(now)
    }
}

impl App {
    /// What a key does to a call that asks; the only place that knows.
    pub(super) fn answer_of(&self, key: KeyEvent) -> Option<KeyCommand> {
        self.place.keymap.command(Context::Approval, key).or_else(|| self.numbered_answer(key))
    }

    /// The answer whose number a key types, as they are listed: other programs number theirs.
    fn numbered_answer(&self, key: KeyEvent) -> Option<KeyCommand> {
        let KeyCode::Char(digit) = key.code else { return None };
        let at = usize::try_from(digit.to_digit(10)?).ok()?.checked_sub(1)?;
        let asked = self.work.approvals.first().filter(|_| key.modifiers.is_empty())?;
        asked.answers().get(at).map(|answer| answer.command())
    }

    /// Whether a key types something.
    pub(super) fn is_letter(key: KeyEvent) -> bool {
        matches!(key.code, KeyCode::Char(_)) && (key.modifiers - KeyModifiers::SHIFT).is_empty()
    }

    /// Takes a key that goes on with letters which are for nobody yet, or begins them.
    pub(super) fn echo_key(&mut self, key: KeyEvent) -> Option<Vec<Action>> {
        if let Some(echo) = &mut self.notes.echo {
            if echo.takes(key, self.now) {
                return Some(Vec::new());
            }
            return self.end_echo(key);
        }
        let answered = self.notes.answered.filter(|answered| answered.is_recent(self.now))?;
        let is_again = is_again(answered.key, key) && self.editor.is_empty();
        let first = self.work.approvals.first();
        let takes_it =
            first.is_some_and(|asked| matches!(asked.ready, Ready::Now(_)) || asked.is_reasoning());
        if !is_again || takes_it {
            return None;
        }
        self.notes.echo = Some(HeldKey::new(key, self.now));
        Some(Vec::new())
    }

    /// Another key follows: Esc takes the letters back, and anything else makes them the beginning of a text.
    fn end_echo(&mut self, key: KeyEvent) -> Option<Vec<Action>> {
        if self.place.keymap.command(Context::Main, key) == Some(KeyCommand::Stop) {
            self.notes.echo = None;
            return Some(Vec::new());
        }
        self.type_echo();
        None
    }

    fn type_echo(&mut self) {
        if let Some(echo) = self.notes.echo.take() {
            self.type_held(echo.key, echo.count);
        }
    }

    /// The call that a letter was to answer asks no longer: the letter is a draft, which Enter doesn't send at once.
    pub(super) fn keep_letter(&mut self, held: HeldKey) {
        self.type_held(held.key, held.count);
        self.notes.shifted = Some(self.now);
    }

    fn type_held(&mut self, letter: KeyEvent, count: usize) {
        (0..count).for_each(|_| _ = self.editor.key(letter, &self.place.keymap));
    }

    /// Nothing followed for a while: a key that was held down meant nothing more, and anything else is there to be seen.
    fn settle_echo(&mut self) {
        let is_over = |echo: &HeldKey| echo.is_alone(self.now, ANSWER_MS);
        if self.notes.echo.as_ref().is_some_and(is_over) {
            match self.notes.echo.take_if(|echo| echo.count >= HELD_DOWN) {
                Some(_) => {}
                None => self.type_echo(),
            }
            self.stale = super::super::frame_pacer::Dirty::ByUser;
        }
    }

    /// Goes on with the letter that answers the call, if it is that one again.
    pub(super) fn holds_on(&mut self, key: KeyEvent) -> bool {
        let now = self.now;
        let asked = self.work.approvals.first_mut();
        asked.and_then(|asked| asked.answer.as_mut()).is_some_and(|held| held.takes(key, now))
    }

    /// More follows a letter that was to answer: it was the beginning of a text, or of the reason if it is the one that asks for it.
    pub(super) fn begin_text(&mut self, held: HeldKey) {
        match self.answer_of(held.key) {
            Some(KeyCommand::DenyWithWord) => {
                self.begin_reason();
                self.type_held(held.key, held.count - 1);
            }
            _ => self.type_held(held.key, held.count),
        }
    }

    /// Letters that were to answer were the beginning of what comes now.
    pub(crate) fn take_answer_back(&mut self) {
        self.type_echo();
        let held = self.work.approvals.first_mut().and_then(|asked| asked.answer.take());
        held.into_iter().for_each(|held| self.begin_text(held));
    }

    /// Takes what letters turned out to be by now that nothing followed.
    pub(crate) fn settle_letters(&mut self) -> Vec<Action> {
        self.settle_echo();
        self.answer_approval(ANSWER_MS)
    }

    /// Takes the letter that answers the first call that asks, once it stands for so long, and one that allows it not before somebody can
    /// have read the call. One that is held down since it answered the
    /// call before answers no other.
    pub(super) fn answer_approval(&mut self, after_ms: u64) -> Vec<Action> {
        let now = self.now;
        let Some(asked) = self.work.approvals.first() else { return Vec::new() };
        let Some(held) = asked.answer.filter(|held| held.is_alone(now, after_ms)) else { return Vec::new() };
        let command = self.answer_of(held.key);
        let allows = matches!(command, Some(KeyCommand::Allow | KeyCommand::AllowSession));
        let is_held_down = matches!(asked.ready, Ready::Now(_)) && held.count > 1;
        if allows && !is_held_down && !asked.is_readable(now) {
            return Vec::new();
        }
        self.work.approvals[0].answer = None;
        if is_held_down {
            self.notes.echo = Some(held);
            self.settle_echo();
            return Vec::new();
        }
        let Some(command) = command else { return Vec::new() };
        if self.holds_letters(held.key) {
            // They were the same answer, too soon.
            self.editor.take();
        }
        self.carry_answer(command, held.key)
    }

    /// Whether nothing is in the editor but this letter, as somebody types it who answers before the question is there.
    pub(super) fn holds_letters(&self, key: KeyEvent) -> bool {
        let text = self.editor.text();
        let is_it = |letter| key.code == KeyCode::Char(letter);
        !text.is_empty() && text.len() <= MOST_EARLY && text.chars().all(is_it)
    }

    /// Whether nothing is in the editor but what somebody types who answers in a rhythm, or nothing at all.
    pub(super) fn holds_early_answers(&self) -> bool {
        let text = self.editor.text();
        let answers = |letter| self.answer_of(KeyEvent::from(KeyCode::Char(letter))).is_some();
        text.len() <= MOST_EARLY && text.chars().all(answers)
    }

    /// Whether a call asks and nothing is in the editor but a letter that would answer it, once or more: whoever answers in a rhythm
    /// typed it before the question was there.
    pub(crate) fn holds_answer(&self) -> bool {
        let Some(letter) = self.editor.text().chars().next() else { return false };
        let key = KeyEvent::from(KeyCode::Char(letter));
        let is_asked = self.work.approvals.first().is_some_and(|asked| !asked.is_reasoning());
        is_asked
            && self.holds_letters(key)
            && self.answer_of(key).is_some_and(|command| self.means_something(command))
    }
}
