//! The dispatch of keys, text and pastes to the parts of the screen.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};

use crate::action::ActionRequest;
use crate::app::App;
use crate::component::{Component, Outcome, UiEvent};
use crate::compositor::consumed_key::KeyIntent;
use crate::compositor::key_order::{EventReceiver, key_receivers, paste_receiver};
use crate::effect::Effect;

/// Maximum bytes that fast typing or a slow connection delivers in one read; more count as a paste.
const FAST_TYPING: usize = 64;

impl App {
    pub(super) fn handle_key(&mut self, key: KeyEvent) -> Vec<ActionRequest> {
        let is_release = key.kind == KeyEventKind::Release;
        if is_release || self.compositor.is_consumed(key, &view!(self)) {
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
        let consumed = receivers.find_map(|receiver| self.offer(*receiver, &UiEvent::Key(key)));
        actions.extend(consumed.into_iter().flatten());
        let view = view!(self);
        self.compositor.record_consumed(key, owner, &view);
        actions
    }

    /// Offers an event to a part of the screen; `None` if the part ignored it.
    pub(super) fn offer(
        &mut self,
        receiver: EventReceiver,
        event: &UiEvent<'_>,
    ) -> Option<Vec<ActionRequest>> {
        let mut outcome = Outcome::Ignored;
        let actions = match receiver {
            EventReceiver::Overlay => self.with_overlays(|overlays, cx| outcome = overlays.handle(event, cx)),
            EventReceiver::Transcript => self.with_transcript(|pane, cx| outcome = pane.handle(event, cx)),
            EventReceiver::Queue => self.with_queue(|queue, cx| outcome = queue.handle(event, cx)),
            EventReceiver::Approvals => self.with_approvals(|panel, cx| outcome = panel.handle(event, cx)),
            EventReceiver::Composer => {
                self.with_composer(|composer, cx| outcome = composer.handle(event, cx))
            }
            EventReceiver::Screen => self.with_screen_keys(|keys, cx| outcome = keys.handle(event, cx)),
            EventReceiver::Plan => self.with_plan(|plan, cx| outcome = plan.handle(event, cx)),
            EventReceiver::TranscriptBindings => {
                self.with_transcript(|pane, cx| outcome = pane.bound_key(event, cx))
            }
            EventReceiver::TopRule => {
                outcome = Outcome::Consumed;
                self.transcript.follow();
                Vec::new()
            }
            EventReceiver::Editor => {
                self.with_composer(|composer, cx| outcome = composer.type_key(event, cx))
            }
        };
        (outcome == Outcome::Consumed).then_some(actions)
    }

    /// Handles characters that arrived in one read. Each is handled as if typed, unless it can only be text:
    /// several characters in a started message, and where a pending call would take one as its answer.
    pub(super) fn handle_text(&mut self, text: &str) -> Vec<ActionRequest> {
        let mut actions = self.with_transcript(|pane, cx| pane.unfocus_for(text, cx));
        for (at, c) in text.char_indices() {
            let (key, rest) = (KeyEvent::from(KeyCode::Char(c)), &text[at..]);
            let focus = self.focus_state();
            let inserted = if focus.is_covered || focus.is_in_queue || focus.is_searching {
                None
            } else if self.model.activity.approvals.is_empty() {
                let is_text = text.len() > FAST_TYPING && !focus.is_editor_empty;
                is_text.then(|| self.apply(Effect::InsertText(rest.to_owned())))
            } else if self.compositor.is_consumed(key, &view!(self)) {
                None
            } else {
                self.offer(EventReceiver::Approvals, &UiEvent::Text(rest))
            };
            if let Some(inserted) = inserted {
                actions.extend(inserted);
                break;
            }
            actions.extend(self.handle_key(key));
        }
        actions
    }

    pub(super) fn handle_paste(&mut self, text: &str) -> Vec<ActionRequest> {
        self.compositor.forget_consumed();
        let mut actions = self.defer_unread(KeyIntent::Text);
        let receiver = paste_receiver(self.focus_state());
        actions.extend(self.offer(receiver, &UiEvent::Paste(text)).into_iter().flatten());
        actions
    }
}
