//! Protection from keys that were pressed before their receiver could be read, and from repeats of an
//! answering key.
//!
//! No key opens a dialog that appears automatically, so the next key may have been meant for something else.
//! For a moment, keys don't answer the dialog. Over the transcript, a key closes the dialog, and it opens
//! again once the user isn't typing; over a list it stays open, but Enter is ignored. A loaded page closes
//! only for text, since other keys do no harm.
//!
//! In turn, the key that answered is consumed: its repeats don't reach what appears beneath. After a digit that
//! answered a call, neither does another digit: it would stay in the editor, where it keeps the next answer from
//! counting.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tiller_core::id::CallId;

use crate::component::{Context, ViewContext};
use crate::compositor::Compositor;
use crate::compositor::consumed_key::{ConsumedKey, FocusOwner, KeyIntent};
use crate::compositor::deferred_overlay::DeferredOverlay;
use crate::keymap::table::{KeyCommand, KeyContext};
use crate::overlay::Overlay;
use crate::shown_since::ShownSince;

/// Time after a digit that answered a call in which a digit isn't typed, in milliseconds.
const STRAY_DIGIT_MS: u64 = 1_000;

impl Compositor {
    /// Defers the overlay over the transcript if it is too recent to have been read.
    pub(crate) fn defer_unread(&mut self, intent: KeyIntent, cx: &mut Context<'_>) {
        if matches!(self.overlays.as_slice(), [Overlay::Form(form)] if !form.is_visible_long_enough(cx.now)) {
            // It opens again once the user isn't typing.
            return self.overlays.clear();
        }
        let deferred = match self.overlays.as_slice() {
            [top @ Overlay::Picker(_)] if top.edited_call().is_some() => return,
            [Overlay::Picker(picker)] if !picker.is_visible_long_enough(cx.now) => {
                match picker.session_browser() {
                    Some(_) => DeferredOverlay::Sessions,
                    None => DeferredOverlay::Dialog(picker.as_dialog()),
                }
            }
            [Overlay::Pager(page)] if intent == KeyIntent::Text && !page.is_visible_long_enough(cx.now) => {
                DeferredOverlay::Page(Box::new(page.clone()))
            }
            _ => return,
        };
        if intent == KeyIntent::Text {
            deferred.flash_hint(cx);
        }
        self.deferred.insert(0, deferred);
        self.overlays.clear();
    }

    /// Returns the owner of the next key.
    pub(crate) fn focus_owner(&self, view: &ViewContext<'_>) -> Option<FocusOwner> {
        let height = self.overlays.len();
        match self.overlays.last() {
            Some(Overlay::Picker(picker)) if picker.is_deferred() => Some(FocusOwner::Dialog(height)),
            Some(Overlay::Form(_)) => Some(FocusOwner::Dialog(height)),
            Some(Overlay::Picker(_)) if height > 1 => Some(FocusOwner::List(height)),
            Some(_) if !view.focus.is_on_call_page => None,
            Some(_) | None => first_call(view).map(FocusOwner::Call),
        }
    }

    /// Records a key as consumed if it answered the owner's question.
    pub(crate) fn record_consumed(
        &mut self,
        key: KeyEvent,
        owner: Option<FocusOwner>,
        view: &ViewContext<'_>,
    ) {
        let accepts = view.ui.keymap.command(KeyContext::Popup, key) == Some(KeyCommand::Accept);
        let answered_call = matches!(owner, Some(FocusOwner::Call(_)));
        let is_over = match owner {
            None => false,
            Some(FocusOwner::Dialog(height)) => self.overlays.len() < height,
            Some(FocusOwner::List(height)) => accepts && self.overlays.len() < height,
            Some(FocusOwner::Call(call)) => first_call(view) != Some(call),
        };
        if is_over {
            let since = ShownSince::at(view.now);
            self.consumed_key = Some(ConsumedKey { key: (key.code, key.modifiers), since, answered_call });
        }
    }

    /// Reports whether a key repeats the one that has just answered something, or is a digit that is meant for an
    /// answered call; such keys are ignored.
    pub(crate) fn is_consumed(&mut self, key: KeyEvent, view: &ViewContext<'_>) -> bool {
        let is_digit = |(code, modifiers): (KeyCode, KeyModifiers)| {
            modifiers.is_empty() && matches!(code, KeyCode::Char('0'..='9'))
        };
        let (pressed, now) = ((key.code, key.modifiers), view.now);
        let is_repeat = |consumed: &ConsumedKey| {
            consumed.key == pressed && !consumed.since.is_long_enough(now)
                || consumed.answered_call
                    && is_digit(consumed.key)
                    && is_digit(pressed)
                    && first_call(view).is_none()
                    && view.focus.is_editor_empty
                    && consumed.since.is_within(STRAY_DIGIT_MS, now)
        };
        self.consumed_key = self.consumed_key.take().filter(is_repeat);
        if let Some(consumed) = &mut self.consumed_key {
            consumed.since = ShownSince::at(now);
        }
        self.consumed_key.is_some()
    }

    /// Clears the consumed key, because something else was typed.
    pub(crate) fn forget_consumed(&mut self) {
        self.consumed_key = None;
    }
}

fn first_call(view: &ViewContext<'_>) -> Option<CallId> {
    view.model.activity.approvals.first().map(|pending| pending.request.tool_call_id.clone())
}
