//! A bench for tests of the composer: keys, clicks and results in; text, rows, actions and messages out.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tiller_core::event::QueueKind;
use tiller_core::unit::UnixMs;

use crate::action::Action;
use crate::address::Address;
use crate::approval_panel::tests::approval_request;
use crate::component::testing::{Bench, queue_item};
use crate::component::{Component, Context, Outcome, UiEvent};
use crate::composer::Composer;
use crate::composer::view::completion_lines;
use crate::effect::{Effect, QueueEditRequest};
use crate::message::TaskResult;
use crate::queue::AfterQueueEdit;
use crate::session_model::PendingApproval;

/// A composer with one prompt in its history, and the keys that reach it in the app.
pub(crate) struct ComposerBench {
    pub(crate) bench: Bench<Composer>,
    /// The message at the bottom of the screen.
    pub(crate) flash: String,
}

impl ComposerBench {
    pub(crate) fn new() -> Self {
        let composer = Composer::new(vec!["an earlier prompt".into()]);
        Self { bench: Bench::of(composer, Address::Composer), flash: String::new() }
    }

    pub(crate) fn text(&self) -> String {
        self.bench.component.editor.text()
    }

    /// Returns the effects of some work, and of what follows it.
    fn follow(&mut self, mut effects: Vec<Effect>) -> Vec<Effect> {
        self.bench.focus.is_editor_empty = self.bench.component.editor.is_empty();
        effects.extend(self.bench.refresh());
        for effect in &effects {
            match effect {
                Effect::Flash(message) => self.flash.clone_from(&message.text),
                Effect::ClearFlash => self.flash.clear(),
                _ => {}
            }
        }
        effects
    }

    /// Runs a function on the composer; returns the effects.
    pub(crate) fn work(&mut self, work: impl FnOnce(&mut Composer, &mut Context<'_>)) -> Vec<Effect> {
        let effects = self.bench.work(work);
        self.follow(effects)
    }

    /// Returns the effects of a key, which is typed if nothing else takes it.
    pub(crate) fn effects(&mut self, key: KeyEvent) -> Vec<Effect> {
        let event = UiEvent::Key(key);
        self.work(|composer, cx| {
            if composer.handle(&event, cx) == Outcome::Ignored {
                composer.type_key(&event, cx);
            }
        })
    }

    pub(crate) fn press(&mut self, code: KeyCode, modifiers: KeyModifiers) -> Vec<Action> {
        actions(self.effects(KeyEvent::new(code, modifiers)))
    }

    pub(crate) fn key(&mut self, code: KeyCode) -> Vec<Action> {
        self.press(code, KeyModifiers::NONE)
    }

    pub(crate) fn control(&mut self, c: char) -> Vec<Action> {
        self.press(KeyCode::Char(c), KeyModifiers::CONTROL)
    }

    pub(crate) fn type_text(&mut self, text: &str) {
        text.chars().for_each(|c| _ = self.key(KeyCode::Char(c)));
    }

    pub(crate) fn paste(&mut self, text: &str) -> Vec<Action> {
        actions(self.work(|composer, cx| _ = composer.handle(&UiEvent::Paste(text), cx)))
    }

    /// Puts this message into the queue, and edits it once the run ends.
    pub(crate) fn edit_queued(&mut self, text: &str) {
        self.bench.model.activity.running_since = Some(UnixMs(0));
        self.bench.model.activity.queue = vec![queue_item("q1", QueueKind::FollowUp, text)];
        let edit = QueueEditRequest { id: "q1".into(), shown: text.into(), then: AfterQueueEdit::Release };
        self.work(|composer, _| composer.edit_queued(edit));
    }

    /// Writes the reason for denying a pending call.
    pub(crate) fn write_reason(&mut self, reason: &str) {
        let request = approval_request("ls");
        self.bench.model.activity.approvals = vec![PendingApproval { request, since: UnixMs(0) }];
        self.work(|composer, _| composer.write_reason("c1".into()));
        self.type_text(reason);
    }

    /// Delivers a result; returns the actions that follow.
    pub(crate) fn report(&mut self, result: TaskResult) -> Vec<Action> {
        actions(self.work(|composer, cx| assert!(composer.take(result, cx).is_none())))
    }

    pub(crate) fn reject(&mut self, action: Action) {
        self.work(|composer, cx| assert!(composer.rejected(action, cx).is_none()));
    }

    /// Returns the rows of the candidates.
    pub(crate) fn screen(&self) -> String {
        let lines = completion_lines(&self.bench.component.completion, &self.bench.view());
        lines.iter().map(|line| line.text().trim_end().to_owned()).collect::<Vec<_>>().join("\n")
    }
}

/// Returns the actions among the effects.
pub(crate) fn actions(effects: Vec<Effect>) -> Vec<Action> {
    let action = |effect| match effect {
        Effect::Perform(_, action) => Some(action),
        _ => None,
    };
    effects.into_iter().filter_map(action).collect()
}
