//! The dispatch of keys to the parts of the screen.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};

use crate::action::Action;
use crate::app::App;
use crate::component::{Component, Outcome};
use crate::compositor::consumed_key::KeyIntent;
use crate::compositor::key_order::{KeyReceiver, key_receivers};

/// Maximum number of bytes that fast typing or a slow connection delivers at once; more are a paste.
const FAST_TYPING: usize = 64;

impl App {
    pub(super) fn handle_key(&mut self, key: KeyEvent) -> Vec<Action> {
        let is_release = key.kind == KeyEventKind::Release;
        if is_release || self.compositor.is_consumed(key, self.now) {
            return Vec::new();
        }
        let mut is_ignored = false;
        self.with_queue(|queue, cx| is_ignored = queue.ignores(key, cx));
        if is_ignored {
            return Vec::new();
        }
        if self.screen_keys.begin_key() {
            self.flash.clear();
        }
        let mut actions = self.defer_unread(KeyIntent::from_key(key));
        let owner = self.compositor.focus_owner(&self.view_context());
        let mut receivers = key_receivers(self.focus_state()).iter();
        let consumed = receivers.find_map(|receiver| self.offer_key(*receiver, key));
        actions.extend(consumed.into_iter().flatten());
        let view = view!(self);
        self.compositor.record_consumed(key, owner, &view);
        actions
    }

    /// Offers a key to a part of the screen; `None` if that ignored it.
    fn offer_key(&mut self, receiver: KeyReceiver, key: KeyEvent) -> Option<Vec<Action>> {
        let mut outcome = Outcome::Ignored;
        let actions = match receiver {
            KeyReceiver::Overlay => self.with_overlays(|overlays, cx| outcome = overlays.handle(key, cx)),
            KeyReceiver::Transcript => self.with_transcript(|pane, cx| outcome = pane.handle(key, cx)),
            KeyReceiver::Queue => self.with_queue(|queue, cx| outcome = queue.handle(key, cx)),
            KeyReceiver::Approvals => self.with_approvals(|panel, cx| outcome = panel.handle(key, cx)),
            KeyReceiver::Composer => self.with_composer(|composer, cx| outcome = composer.handle(key, cx)),
            KeyReceiver::Screen => self.with_screen_keys(|keys, cx| outcome = keys.handle(key, cx)),
            KeyReceiver::TranscriptBindings => {
                self.with_transcript(|pane, cx| outcome = pane.bound_key(key, cx))
            }
            KeyReceiver::Editor => {
                outcome = Outcome::Consumed;
                self.with_composer(|composer, cx| composer.type_key(key, cx))
            }
        };
        (outcome == Outcome::Consumed).then_some(actions)
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
                self.screen_keys.forget();
                self.composer.editor.insert(&text[at..]);
                break;
            }
            actions.extend(self.handle_key(key));
        }
        actions
    }
}
