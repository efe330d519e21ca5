//! What keys do while a call asks.
//!
//! A letter answers only where it can't be meant for the editor: the editor is empty, the question has been on the screen for a moment,
//! and no other letter follows at once. Every other letter goes into the editor. Enter answers only what the arrows have chosen before.
//!
//! Whoever has just answered looks at what asks next: that one takes keys from its first frame on, and an answer that came before that
//! is for nobody. What isn't an answer is a message, always.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::super::app::{Action, App};
use super::super::keymap::{Context, KeyCommand};
use super::super::pace::Stale;
use super::super::question::{Appeared, Touch};
use super::super::view;
use super::{Answer, Mode, Ready};
use crate::event::Decision;

/// How long no other key may follow one that answers an approval, in milliseconds: somebody who types "yes, but" is writing a
/// message.
pub(in crate::tui) const ANSWER_MS: u64 = 350;

/// How soon after an answer the next call has to ask for whoever gave it to be looking still, in milliseconds.
pub(super) const LOOKING_MS: u64 = 2_000;

/// Letters that are taken for answers that came too soon; more of them are a text.
const MOST_EARLY: usize = 3;

/// The reason of a plain no.
const NO: &str = "the user said no";

/// What stands between that and the words that the user has for the model.
const BEFORE_WORDS: &str = ": ";

/// Of the reason of a no what the user typed.
pub(in crate::tui) fn words_of(reason: &str) -> Option<&str> {
    reason.strip_prefix(NO)?.strip_prefix(BEFORE_WORDS)
}

impl App {
    /// Answers the call that asks, moves in it, or leaves the key to whoever comes next.
    pub(in crate::tui) fn approval_key(&mut self, key: KeyEvent) -> Option<Vec<Action>> {
        let Some(asked) = self.work.approvals.first_mut() else { return self.key_between(key) };
        if asked.mode == Mode::Reasoning {
            return self.reasoning_key(key);
        }
        if asked.ready == Ready::Drawn && self.is_early(key) {
            return Some(Vec::new());
        }
        let asked = self.work.approvals.first_mut()?;
        let is_plain = (key.modifiers - KeyModifiers::SHIFT).is_empty();
        let is_typed = is_plain && matches!(key.code, KeyCode::Char(_));
        if let Some((begun, _)) = asked.answer.take() {
            if key.code == KeyCode::Enter {
                asked.answer = Some((begun, self.now));
                return Some(self.answer_approval(0));
            }
            if is_typed {
                self.begin_text(begun);
            }
            if self.work.approvals[0].is_reasoning() {
                return self.reasoning_key(key);
            }
            // One level back: the letter is taken back, and what runs goes on.
            let takes_back = self.place.keymap.command(Context::Main, key) == Some(KeyCommand::Stop);
            return takes_back.then(Vec::new);
        }
        let is_settled = asked.is_ready(self.now);
        let command = self.place.keymap.command(Context::Approval, key)?;
        if let KeyCommand::QuestionUp | KeyCommand::QuestionDown = command {
            self.move_in_question(command);
            return Some(Vec::new());
        }
        if !is_settled || !self.editor.is_empty() || !self.means_something(command) {
            return None;
        }
        if is_typed {
            self.work.approvals[0].answer = Some((key, self.now));
            return Some(Vec::new());
        }
        Some(self.carry_answer(command))
    }

    /// Between two questions: Enter behind a letter that is none but an early answer sends nothing, and whoever types a message no
    /// longer looks at what asks.
    fn key_between(&mut self, key: KeyEvent) -> Option<Vec<Action>> {
        let answered = self.notes.answered?;
        let is_early = !Appeared::at(answered).is_noticed(self.now) && self.holds_early_answers();
        if is_early && key.code == KeyCode::Enter {
            return Some(Vec::new());
        }
        let answers = self.place.keymap.command(Context::Approval, key).is_some();
        if Touch::of(key) == Touch::Types && !(is_early && answers) {
            self.notes.answered = None;
        }
        None
    }

    /// Whether a key is an answer before its question was drawn, and not part of a message.
    fn is_early(&self, key: KeyEvent) -> bool {
        let answers = || self.place.keymap.command(Context::Approval, key).is_some();
        self.editor.is_empty() && Touch::of(key) == Touch::Types && (key.code == KeyCode::Enter || answers())
    }

    /// Whether nothing is in the editor but what somebody types who answers in a rhythm, or nothing at all.
    pub(super) fn holds_early_answers(&self) -> bool {
        let answers = |letter| {
            let key = KeyEvent::from(KeyCode::Char(letter));
            self.place.keymap.command(Context::Approval, key).is_some()
        };
        let text = self.editor.text();
        text.len() <= MOST_EARLY && text.chars().all(answers)
    }

    /// More follows a letter that was to answer: it was the beginning of a text, or of the reason if it is the one that asks for it.
    fn begin_text(&mut self, letter: KeyEvent) {
        if self.place.keymap.command(Context::Approval, letter) == Some(KeyCommand::DenyWithWord) {
            self.begin_reason();
        } else {
            self.editor.key(letter, &self.place.keymap);
        }
    }

    fn begin_reason(&mut self) {
        let Some(asked) = self.work.approvals.first_mut() else { return };
        asked.mode = Mode::Reasoning;
        let reason = std::mem::take(&mut asked.reason);
        if !reason.is_empty() {
            self.editor.set_text(&reason);
        }
    }

    /// Whether a call asks and nothing is in the editor but a letter that would answer it: whoever answers in a rhythm typed it before
    /// the question was there.
    pub(in crate::tui) fn holds_answer(&self) -> bool {
        let text = self.editor.text();
        let mut letters = text.chars();
        let (Some(letter), None) = (letters.next(), letters.next()) else { return false };
        let key = KeyEvent::from(KeyCode::Char(letter));
        let command = self.place.keymap.command(Context::Approval, key);
        let is_asked = self.work.approvals.first().is_some_and(|asked| asked.mode != Mode::Reasoning);
        is_asked && command.is_some_and(|command| self.means_something(command))
    }

    /// A letter that was to answer was the beginning of what comes now.
    pub(in crate::tui) fn take_answer_back(&mut self) {
        let held = self.work.approvals.first_mut().and_then(|asked| asked.answer.take());
        if let Some((letter, _)) = held {
            self.begin_text(letter);
        }
    }

    /// Takes the letter that answers the first call that asks, once it stands for so long.
    pub(in crate::tui) fn answer_approval(&mut self, after_ms: u64) -> Vec<Action> {
        let Some(asked) = self.work.approvals.first_mut() else { return Vec::new() };
        let Some((key, _)) = asked.answer.take_if(|(_, at)| self.now.since_ms(*at) >= after_ms) else {
            return Vec::new();
        };
        let command = self.place.keymap.command(Context::Approval, key);
        command.map(|command| self.carry_answer(command)).unwrap_or_default()
    }

    /// Whether a key of the question does anything at the moment: Enter and Esc belong to the arrows' choice, and without a rule
    /// there is nothing to allow for the session.
    fn means_something(&self, command: KeyCommand) -> bool {
        let Some(asked) = self.work.approvals.first() else { return false };
        match command {
            KeyCommand::TakeAnswer | KeyCommand::NoAnswer => asked.mode != Mode::Choosing(None),
            KeyCommand::AllowSession => !asked.request.rule.is_empty(),
            _ => true,
        }
    }

    fn carry_answer(&mut self, command: KeyCommand) -> Vec<Action> {
        match command {
            KeyCommand::Allow => return self.answer(Answer::Once),
            KeyCommand::AllowSession => return self.answer(Answer::Session),
            KeyCommand::Deny => return self.answer(Answer::Deny),
            KeyCommand::DenyWithWord => return self.answer(Answer::DenyWithWord),
            KeyCommand::TakeAnswer => {
                if let Some(Mode::Choosing(Some(answer))) =
                    self.work.approvals.first().map(|asked| asked.mode)
                {
                    return self.answer(answer);
                }
            }
            KeyCommand::NextAnswer => self.choose_answer(1),
            KeyCommand::PreviousAnswer => self.choose_answer(-1),
            KeyCommand::NoAnswer => self.set_mode(Mode::Choosing(None)),
            KeyCommand::ShowWhole => self.show_whole(),
            _ => {}
        }
        Vec::new()
    }

    fn answer(&mut self, answer: Answer) -> Vec<Action> {
        let Some(asked) = self.work.approvals.first() else { return Vec::new() };
        let allows = matches!(answer, Answer::Once | Answer::Session);
        if allows && !asked.is_seen() {
            let key = self.place.keymap.key_of(KeyCommand::ShowWhole);
            self.flash(format!("not all of it has been on the screen yet; {key} shows it"));
            return Vec::new();
        }
        match answer {
            Answer::Once => self.decide(Decision::Once),
            Answer::Session => self.decide(Decision::Session),
            Answer::Deny => self.decide(Decision::Deny { reason: NO.to_owned() }),
            Answer::DenyWithWord => {
                self.begin_reason();
                Vec::new()
            }
        }
    }

    fn decide(&mut self, decision: Decision) -> Vec<Action> {
        let asked = self.work.approvals.remove(0);
        self.stale = Stale::ByUser;
        match self.work.approvals.first_mut() {
            Some(next) => next.ready = Ready::Drawn,
            None => self.notes.answered = (asked.request.later > 0).then_some(self.now),
        }
        vec![Action::Decide(asked.request.tool_call_id, decision)]
    }

    fn set_mode(&mut self, mode: Mode) {
        if let Some(asked) = self.work.approvals.first_mut() {
            asked.mode = mode;
        }
    }

    /// Goes to the next answer or the one before; the first key goes to an end.
    fn choose_answer(&mut self, by: isize) {
        let Some(asked) = self.work.approvals.first_mut() else { return };
        let answers = asked.answers();
        let chosen = match asked.mode {
            Mode::Choosing(Some(chosen)) => answers.iter().position(|answer| *answer == chosen),
            Mode::Choosing(None) | Mode::Reasoning => None,
        };
        let at = match chosen {
            Some(at) => at.saturating_add_signed(by).min(answers.len() - 1),
            None if by > 0 => 0,
            None => answers.len() - 1,
        };
        asked.mode = Mode::Choosing(Some(answers[at]));
    }

    fn move_in_question(&mut self, command: KeyCommand) {
        let rows = view::question_rows(self);
        // A line stays, so that the eye finds its place again.
        let page = isize::try_from(rows.saturating_sub(1).max(1)).unwrap_or(1);
        let by = if command == KeyCommand::QuestionUp { -page } else { page };
        if let Some(asked) = self.work.approvals.first_mut() {
            asked.sheet.step(by, rows);
        }
    }

    /// While the user writes why not, the editor's text is for the model: Enter sends it, Esc puts it aside.
    fn reasoning_key(&mut self, key: KeyEvent) -> Option<Vec<Action>> {
        match self.place.keymap.command(Context::Main, key)? {
            KeyCommand::Send if self.editor.continue_line() => Some(Vec::new()),
            KeyCommand::Send | KeyCommand::SteerNow | KeyCommand::FollowUp => {
                let words = self.editor.take();
                let reason = match words.trim() {
                    "" => NO.to_owned(),
                    words => format!("{NO}{BEFORE_WORDS}{words}"),
                };
                Some(self.decide(Decision::Deny { reason }))
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
        let words = self.editor.take();
        if !words.trim().is_empty() {
            // The call may be answered elsewhere: then the history still has it.
            self.editor.remember(&words);
        }
        if let Some(asked) = self.work.approvals.first_mut() {
            asked.reason = words;
            asked.mode = Mode::Choosing(None);
            asked.ready = Ready::Noticed(Appeared::at(self.now));
        }
    }
}
