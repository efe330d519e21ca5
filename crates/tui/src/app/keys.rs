//! Keys of the whole screen: their dispatch, and the bindings that concern no single part.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};
use tiller_core::unit::UnixMs;
use tiller_engine::CycleDirection;

use crate::action::{Action, ListAction, SessionEdit, TerminalAction};
use crate::app::App;
use crate::app::double_key::DoubleKey;
use crate::component::{Component, Outcome};
use crate::compositor::consumed_key::KeyIntent;
use crate::compositor::key_order::{KeyReceiver, key_receivers};
use crate::effect::{Effect, Opening};
use crate::help;
use crate::keymap::{Context, KeyCommand};
use crate::list_kind::ListKind;
use crate::queue_panel::QueuePanel;
use crate::tree::request::TreePurpose;

/// Maximum time between two presses of Esc that open the tree, in milliseconds.
const TWICE_ESCAPE_MS: u64 = 600;

/// Time after an Esc that stopped a run, or after its repeat, in which Esc does nothing else, in
/// milliseconds: the user may keep pressing it.
const STOPPING_MS: u64 = 1_000;

/// Maximum time between two presses of Ctrl+C that quit, in milliseconds.
const TWICE_INTERRUPT_MS: u64 = 2_000;

/// Maximum number of bytes that fast typing or a slow connection delivers at once; more are a paste.
const FAST_TYPING: usize = 64;

impl App {
    pub(super) fn handle_key(&mut self, key: KeyEvent) -> Vec<Action> {
        let is_release = key.kind == KeyEventKind::Release;
        if is_release || self.compositor.is_consumed(key, self.now) || self.ignores_key(key) {
            return Vec::new();
        }
        let pressed = self.double_key.take();
        if matches!(pressed, Some((DoubleKey::Interrupt | DoubleKey::Clear, _))) {
            // The flash of the first press applies to this key only.
            self.flash.clear();
        }
        let mut actions = self.defer_unread(KeyIntent::from_key(key));
        let owner = self.compositor.focus_owner(&self.view_context());
        let mut receivers = key_receivers(self.focus_state()).iter();
        let consumed = receivers.find_map(|receiver| self.offer_key(*receiver, key, pressed));
        actions.extend(consumed.into_iter().flatten());
        let view = view!(self);
        self.compositor.record_consumed(key, owner, &view);
        actions
    }

    /// Reports whether a key is ignored because the queue panel has just closed.
    fn ignores_key(&mut self, key: KeyEvent) -> bool {
        let mut ignores = false;
        _ = self.with_queue(|queue, cx| ignores = queue.ignores(key, cx));
        ignores
    }

    /// Offers a key to a part of the screen; `None` if that ignored it.
    fn offer_key(
        &mut self,
        receiver: KeyReceiver,
        key: KeyEvent,
        pressed: Option<(DoubleKey, UnixMs)>,
    ) -> Option<Vec<Action>> {
        let mut outcome = Outcome::Ignored;
        let actions = match receiver {
            KeyReceiver::Overlay => self.with_overlays(|overlays, cx| outcome = overlays.handle(key, cx)),
            KeyReceiver::Transcript => self.with_transcript(|pane, cx| outcome = pane.handle(key, cx)),
            KeyReceiver::Queue => self.with_queue(|queue, cx| outcome = queue.handle(key, cx)),
            KeyReceiver::Approvals => self.with_approvals(|panel, cx| outcome = panel.handle(key, cx)),
            KeyReceiver::Composer => self.with_composer(|composer, cx| outcome = composer.handle(key, cx)),
            KeyReceiver::Screen => return self.screen_key(key, pressed),
            KeyReceiver::Editor => {
                self.type_key(key);
                return Some(Vec::new());
            }
        };
        (outcome == Outcome::Consumed).then_some(actions)
    }

    /// Types a key into the editor. Typing ends the block's focus, which would take the first letters of the next
    /// message.
    fn type_key(&mut self, key: KeyEvent) {
        let view = view!(self);
        if self.composer.type_key(key, &view) && !self.composer.editor.is_empty() {
            self.transcript.unfocus();
        }
    }

    /// Handles characters that arrived at once, each as if typed. Where they can only be text they are inserted
    /// together: many of them, and any that answer a pending call, because an answer is a single key.
    pub(super) fn handle_text(&mut self, text: &str) -> Vec<Action> {
        let mut actions = self.with_transcript(|pane, cx| pane.unfocus_for(text, cx));
        for (at, c) in text.char_indices() {
            let key = KeyEvent::from(KeyCode::Char(c));
            let focus = self.focus_state();
            let is_elsewhere = focus.is_covered || focus.is_in_queue || focus.is_searching;
            let is_text = match self.model.activity.approvals.is_empty() {
                true => text.len() > FAST_TYPING && !focus.is_editor_empty,
                false => text.chars().nth(1).is_some() && !self.compositor.is_consumed(key, self.now),
            };
            if is_text && !is_elsewhere {
                self.double_key = None;
                self.composer.editor.insert(&text[at..]);
                break;
            }
            actions.extend(self.handle_key(key));
        }
        actions
    }

    /// Handles the bindings of the screen.
    fn screen_key(&mut self, key: KeyEvent, pressed: Option<(DoubleKey, UnixMs)>) -> Option<Vec<Action>> {
        let command = self.ui.keymap.command(Context::Main, key)?;
        let at_rest = self.composer.editor.is_empty();
        Some(match command {
            KeyCommand::Stop => self.escape(pressed),
            KeyCommand::Clear => self.interrupt(pressed),
            KeyCommand::Quit if at_rest && !self.model.is_working() => {
                vec![Action::Terminal(TerminalAction::Quit)]
            }
            // It does nothing during a run, so that no run is stopped by accident.
            KeyCommand::Quit if at_rest => {
                let (stop, quit) =
                    [KeyCommand::Stop, KeyCommand::Quit].map(|key| self.ui.keymap.key_of(key)).into();
                self.flash(format!("Still running: {stop} stops it, then {quit} quits."));
                Vec::new()
            }
            KeyCommand::EditQueue => self.with_queue(QueuePanel::enter),
            KeyCommand::PickModel => self.apply(Effect::Open(Opening::list(ListKind::Models))),
            KeyCommand::NextModel => vec![Action::Edit(SessionEdit::CycleModel(CycleDirection::Forward))],
            KeyCommand::PreviousModel => vec![Action::Edit(SessionEdit::CycleModel(CycleDirection::Back))],
            KeyCommand::NextThinking => {
                vec![Action::Edit(SessionEdit::SetThinking(self.model.next_thinking()))]
            }
            KeyCommand::NextApproval => {
                vec![Action::List(ListAction::SetApproval(self.model.next_approval()))]
            }
            KeyCommand::Suspend => vec![Action::Terminal(TerminalAction::Suspend)],
            KeyCommand::Help if at_rest => {
                let lines = help::page(&self.ui.keymap, &self.model.info.commands);
                self.apply(Effect::Open(Opening::Help { title: "help".to_owned(), lines }))
            }
            command => return self.offer_transcript(|pane, cx| pane.command(command, cx)),
        })
    }

    fn escape(&mut self, pressed: Option<(DoubleKey, UnixMs)>) -> Vec<Action> {
        let is_working = self.model.is_stoppable();
        if is_working || self.is_second(pressed, DoubleKey::Stopping, STOPPING_MS) {
            self.double_key = Some((DoubleKey::Stopping, self.now));
            return if is_working { vec![Action::Abort] } else { Vec::new() };
        }
        if !self.composer.editor.is_empty() {
            return Vec::new();
        }
        if self.is_second(pressed, DoubleKey::Escape, TWICE_ESCAPE_MS) {
            return self.apply(Effect::Open(Opening::Tree(TreePurpose::Go)));
        }
        self.double_key = Some((DoubleKey::Escape, self.now));
        Vec::new()
    }

    /// Stops the agent; if nothing runs, quits on the second press. The composer clears a draft first.
    fn interrupt(&mut self, pressed: Option<(DoubleKey, UnixMs)>) -> Vec<Action> {
        if self.model.is_stoppable() {
            return vec![Action::Abort];
        }
        if self.is_second(pressed, DoubleKey::Interrupt, TWICE_INTERRUPT_MS) {
            return vec![Action::Terminal(TerminalAction::Quit)];
        }
        let clear = self.ui.keymap.key_of(KeyCommand::Clear);
        self.flash(format!("Press {clear} again to quit."));
        self.double_key = Some((DoubleKey::Interrupt, self.now));
        Vec::new()
    }

    fn is_second(&self, pressed: Option<(DoubleKey, UnixMs)>, key: DoubleKey, within_ms: u64) -> bool {
        pressed.is_some_and(|(before, at)| before == key && self.now.since_ms(at) <= within_ms)
    }
}
