//! Overlays that open automatically, once the user isn't typing and nothing else is open.

use tiller_core::event::CompactionChoice;

use crate::action::Action;
use crate::component::Context;
use crate::compositor::Compositor;
use crate::compositor::deferred_overlay::DeferredOverlay;
use crate::dialog::Dialog;
use crate::effect::OverlayRequest;
use crate::overlay::Overlay;
use crate::pager::Pager;
use crate::picker::Picker;
use crate::picker::choices::Question;
use crate::picker::item::{PickerChoice, PickerItem};
use crate::shown_since::ShownSince;
use crate::text::one_line;

impl Compositor {
    /// Opens a dialog immediately if it results from an action in a list, otherwise once the user isn't
    /// typing.
    pub(crate) fn open_dialog(&mut self, dialog: Dialog, cx: &mut Context<'_>) {
        if dialog.is_of_failure() || self.overlays.is_empty() {
            self.deferred.push(DeferredOverlay::Dialog(dialog));
        } else {
            self.show_dialog(dialog, cx);
        }
    }

    /// Opens a loaded page once the user isn't typing.
    pub(crate) fn defer_page(&mut self, page: Pager, cx: &mut Context<'_>) {
        let page = DeferredOverlay::Page(Box::new(page));
        if cx.focus.is_typing || !self.overlays.is_empty() {
            page.flash_hint(cx);
        }
        self.deferred.push(page);
    }

    /// Opens the session picker at the start. If the user has already typed, the editor keeps the keys.
    pub(crate) fn offer_sessions(&mut self, cx: &mut Context<'_>) {
        self.deferred.push(DeferredOverlay::Sessions);
        if cx.focus.is_typing {
            DeferredOverlay::Sessions.flash_hint(cx);
        }
        self.open_deferred(cx);
    }

    /// Opens the next deferred overlay unless the user is typing.
    pub(super) fn open_deferred(&mut self, cx: &mut Context<'_>) {
        if cx.focus.is_typing || !self.overlays.is_empty() || self.deferred.is_empty() {
            return;
        }
        let appeared = ShownSince::at(cx.now);
        match self.deferred.remove(0) {
            DeferredOverlay::Dialog(dialog) => self.show_dialog(dialog, cx),
            DeferredOverlay::Page(page) => _ = self.push(Overlay::Pager(page.with_appeared(appeared))),
            DeferredOverlay::Sessions => {
                // Results of an earlier list don't belong to this one.
                cx.push(Action::EndSessionSearch);
                self.open(OverlayRequest::sessions(), cx);
                self.top_picker().into_iter().for_each(|picker| picker.set_appeared(appeared));
            }
        }
    }

    fn show_dialog(&mut self, Dialog { title, items }: Dialog, cx: &mut Context<'_>) {
        self.cancel_switch(cx);
        let mut picker = Picker::with_items(&Question, title, items, 0);
        picker.set_appeared(ShownSince::at(cx.now));
        self.push_dialog(Overlay::picker(picker));
    }

    /// Opens the dialog about a failed summary.
    pub(crate) fn open_failure_dialog(&mut self, error: &str, cx: &mut Context<'_>) {
        self.close_failure_dialog();
        let item = |choice: CompactionChoice| {
            let label = match choice {
                CompactionChoice::Retry => "try again",
                CompactionChoice::Truncate => "drop the older messages without a summary",
                CompactionChoice::GoOn => "continue without compacting",
            };
            PickerItem::new(label, PickerChoice::AfterFailure(choice))
        };
        let title = format!("summary failed: {}", one_line(error));
        self.open_dialog(Dialog { title, items: CompactionChoice::ALL.map(item).to_vec() }, cx);
    }

    /// Closes the dialog about a failed summary, open or deferred.
    pub(crate) fn close_failure_dialog(&mut self) {
        self.overlays.retain(|overlay| !overlay.is_failure_dialog());
        self.deferred.retain(|deferred| !deferred.is_of_failure());
    }

    /// Drops deferred overlays, which belong to another session.
    pub(crate) fn drop_deferred(&mut self) {
        self.deferred.clear();
    }
}
