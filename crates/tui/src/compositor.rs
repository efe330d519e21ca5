//! The stack of overlays: opening, closing, and the keys of the overlay on top.
//!
//! `deferred` holds overlays that open automatically once the user isn't typing; `key_guard` protects
//! overlays from keys that were meant for something else.

mod automatic_overlays;
pub(crate) mod consumed_key;
pub(crate) mod deferred_overlay;
pub(crate) mod key_guard;
pub(crate) mod key_order;
mod results;

use std::path::PathBuf;

use ratatui::layout::Rect;
use tiller_core::event::CompactionChoice;
use tiller_core::id::{CallId, ElicitationId};
use tiller_core::unit::UnixMs;
use tiller_render::Line;

use crate::action::{Action, ListAction, SessionEdit};
use crate::address::{Address, OverlayId};
use crate::component::{Component, Context, Outcome, UiEvent, ViewContext};
use crate::compositor::consumed_key::ConsumedKey;
use crate::compositor::deferred_overlay::DeferredOverlay;
use crate::effect::{Effect, LeaveScope, OverlayRequest};
use crate::elicitation_form::ElicitationForm;
use crate::list_kind::ListKind;
use crate::navigate::Navigate;
use crate::overlay::Overlay;
use crate::pager::Pager;
use crate::picker::Picker;
use crate::picker::choices::{PromptList, Question};
use crate::picker::list_sources::list_source;
use crate::picker::session_query::SessionQueryId;
use crate::picker::settings::SettingValueList;
use crate::picker::source::ListSource;
use crate::picker::themes::theme_items;
use crate::shown_since::ShownSince;
use crate::tree::TreeView;

/// Milliseconds after which the items of a live list are loaded again.
const LIVE_LIST_MS: u64 = 1_000;

/// The overlays, and the state that outlives them.
#[derive(Debug, Default)]
pub(crate) struct Compositor {
    pub(crate) overlays: Vec<Overlay>,
    deferred: Vec<DeferredOverlay>,
    /// The key that answered a dialog or call; its repeats are ignored.
    consumed_key: Option<ConsumedKey>,
    /// Time when a click accepted a list's row.
    accepted_click: Option<ShownSince>,
    sessions: SessionLists,
    /// Time of the last request for the items of a live list.
    refreshed: UnixMs,
    /// The id of the newest overlay.
    newest: OverlayId,
}

/// State of the session lists that is kept between openings.
#[derive(Debug, Default)]
struct SessionLists {
    newest: SessionQueryId,
    /// True if a session list was open at the last input.
    is_open: bool,
    /// Sessions trashed by this process, newest last.
    trashed: Vec<PathBuf>,
}

impl SessionLists {
    /// Starts another search and returns its number.
    fn begin(&mut self) -> SessionQueryId {
        self.newest.0 += 1;
        self.newest
    }
}

impl Compositor {
    pub(crate) fn is_empty(&self) -> bool {
        self.overlays.is_empty()
    }

    pub(crate) fn top(&self) -> Option<&Overlay> {
        self.overlays.last()
    }

    fn top_picker(&mut self) -> Option<&mut Picker> {
        self.overlays.last_mut().and_then(Overlay::as_picker)
    }

    fn push(&mut self, overlay: Overlay) -> Address {
        self.newest.0 += 1;
        self.push_with_id(overlay, self.newest)
    }

    /// Opens a dialog on behalf of the overlay beneath.
    fn push_dialog(&mut self, dialog: Overlay) {
        match self.overlays.last().and_then(Overlay::id) {
            Some(id) => _ = self.push_with_id(dialog, id),
            None => _ = self.push(dialog),
        }
    }

    fn push_with_id(&mut self, mut overlay: Overlay, id: OverlayId) -> Address {
        overlay.set_id(id);
        self.overlays.push(overlay);
        Address::Overlay(id)
    }

    fn pickers(&mut self) -> impl DoubleEndedIterator<Item = &mut Picker> {
        self.overlays.iter_mut().filter_map(Overlay::as_picker)
    }

    /// Returns the tree, anywhere in the stack.
    fn tree(&mut self) -> Option<&mut TreeView> {
        self.overlays.iter_mut().find_map(Overlay::as_tree)
    }

    /// Offers an event to the overlay on top. It consumes every key, except that a pending call's page leaves
    /// the answer keys to the approval panel.
    pub(crate) fn handle(&mut self, event: &UiEvent<'_>, cx: &mut Context<'_>) -> Outcome {
        self.overlays.last_mut().map_or(Outcome::Ignored, |top| top.handle(event, cx))
    }

    /// Lays out the overlay on top.
    pub(crate) fn lay_out(&mut self, area: Rect, view: &ViewContext<'_>) {
        self.overlays.last_mut().into_iter().for_each(|top| top.lay_out(area, view));
    }

    /// Records that a click accepted a list's row.
    pub(crate) fn click_accepted(&mut self, now: UnixMs) {
        self.accepted_click = Some(ShownSince::at(now));
    }

    /// Returns true if a click accepted a row so recently that the next one may have been meant for the same
    /// row.
    pub(crate) fn has_accepted_click(&self, now: UnixMs) -> bool {
        self.accepted_click.is_some_and(|accepted| !accepted.is_long_enough(now))
    }

    /// Follows a change: opens deferred overlays and lets the overlays load their data.
    pub(crate) fn refresh(&mut self, cx: &mut Context<'_>) {
        self.show_elicitation(cx);
        self.open_deferred(cx);
        self.close_answered_rule_form(cx);
        if let Some(picker @ Overlay::Picker(_)) = self.overlays.last_mut() {
            picker.refresh(cx);
        }
        if cx.ui.theme.previewed.is_some() && !self.overlays.iter().any(|top| top.is_list(ListKind::Themes)) {
            cx.push(Effect::PreviewTheme(None));
        }
        let mut overlays = self.overlays.iter_mut();
        if let Some(tree) = overlays.find(|overlay| matches!(overlay, Overlay::Tree(_))) {
            tree.refresh(cx);
        }
        self.refresh_session_lists(cx);
        self.refresh_live_list(cx);
    }

    /// Returns the kind of the list on top, if its items change over time.
    pub(crate) fn live_list(&self) -> Option<ListKind> {
        let Some(Overlay::Picker(picker)) = self.overlays.last() else { return None };
        picker.kind().filter(|kind| kind.is_live())
    }

    fn refresh_live_list(&mut self, cx: &mut Context<'_>) {
        let Some(kind) = self.live_list() else { return };
        if cx.now.since_ms(self.refreshed) >= LIVE_LIST_MS {
            self.refreshed = cx.now;
            let list = self.top().map(Overlay::address).unwrap_or_default();
            cx.push_for(list, Action::List(ListAction::LoadItems(kind)));
        }
    }

    /// Closes the rule form of a call that is no longer waiting.
    fn close_answered_rule_form(&mut self, cx: &Context<'_>) {
        let waits = |call: &CallId| {
            cx.model.activity.approvals.iter().any(|pending| pending.request.tool_call_id == *call)
        };
        self.overlays.retain(|overlay| overlay.edited_call().is_none_or(waits));
    }

    /// Updates the session lists with the session that can be restored; ends the search when no list is open.
    fn refresh_session_lists(&mut self, cx: &mut Context<'_>) {
        let can_undo = !self.sessions.trashed.is_empty();
        let is_open =
            self.pickers().map(|picker| picker.set_can_undo(can_undo)).fold(false, |any, is| any | is);
        if std::mem::replace(&mut self.sessions.is_open, is_open) && !is_open {
            cx.push(Action::EndSessionSearch);
        }
    }

    /// Opens an overlay.
    pub(crate) fn open(&mut self, opening: OverlayRequest, cx: &mut Context<'_>) {
        let (overlay, action) = match opening {
            OverlayRequest::SettingValues { title, items, selected } => {
                let picker = Picker::with_items(&SettingValueList, title, items, selected);
                return self.push_dialog(Overlay::picker(picker));
            }
            OverlayRequest::Question { title, items } => {
                return self.push_dialog(Overlay::picker(Picker::with_items(&Question, title, items, 0)));
            }
            OverlayRequest::List { kind: ListKind::Themes, .. } => {
                let (items, selected) = theme_items(&cx.ui.theme);
                let source = list_source(ListKind::Themes);
                let title = source.facts().title.to_owned();
                (Overlay::picker(Picker::with_items(source, title, items, selected)), None)
            }
            OverlayRequest::List { kind, filter } => {
                self.refreshed = cx.now;
                let picker = Picker::waiting(list_source(kind)).with_filter(&filter);
                (Overlay::picker(picker), Some(load(kind)))
            }
            OverlayRequest::Login(provider) => {
                (Overlay::picker(Picker::asking_for_key(provider)), Some(load(ListKind::Logins)))
            }
            OverlayRequest::Prompts(items) => {
                let title = PromptList.facts().title.to_owned();
                (Overlay::picker(Picker::with_items(&PromptList, title, items, 0)), None)
            }
            OverlayRequest::Sessions { filter } => {
                let picker = Picker::browser(&filter, self.sessions.begin());
                let search = picker.search_request().map(Action::SearchSessions);
                (Overlay::picker(picker), search)
            }
            OverlayRequest::Help { title, lines } => {
                (Overlay::Pager(Pager::new(&title, lines).with_columns()), None)
            }
            OverlayRequest::CallPage { call, title, lines } => {
                (Overlay::Pager(Pager::new(&title, lines).for_call(call)), None)
            }
            OverlayRequest::RuleForm { call, rules, subject } => {
                let mut form = Picker::editing_rules(call, &rules, subject);
                form.set_appeared(ShownSince::at(cx.now));
                (Overlay::picker(form), Some(load(ListKind::RuleFiles)))
            }
            OverlayRequest::Tree(purpose) => (Overlay::Tree(Box::new(TreeView::new(purpose))), None),
        };
        let address = self.push(overlay);
        action.into_iter().for_each(|action| cx.push_for(address, action));
    }

    /// Closes overlays that the user leaves without a choice. Leaving the dialog about a failed summary
    /// changes nothing.
    pub(crate) fn leave(&mut self, scope: LeaveScope, cx: &mut Context<'_>) {
        self.cancel_switch(cx);
        let from = match scope {
            LeaveScope::Top => self.overlays.len().saturating_sub(1),
            LeaveScope::All => 0,
        };
        let left = self.overlays.split_off(from);
        if left.iter().any(Overlay::is_failure_dialog) {
            cx.push(Action::Edit(SessionEdit::ResolveCompaction(CompactionChoice::GoOn)));
        }
        if left.iter().any(|overlay| matches!(overlay, Overlay::Tree(_))) {
            cx.push(TreeView::end_search());
        }
    }

    /// Cancels a pending session switch in lists and the tree; text typed in the meantime goes to the editor.
    pub(crate) fn cancel_switch(&mut self, cx: &mut Context<'_>) {
        let typed = self.overlays.iter_mut().filter_map(Overlay::cancel_navigation).next();
        typed.into_iter().for_each(|typed| cx.push(Effect::PutBeforeDraft(typed)));
    }

    /// Closes the overlay on top after a choice.
    pub(crate) fn close_top(&mut self) {
        self.overlays.pop();
    }

    pub(crate) fn close_session_lists(&mut self) {
        let is_session_list = |overlay: &mut Overlay| {
            overlay.as_picker().is_some_and(|picker| picker.session_browser().is_some())
        };
        self.overlays.retain_mut(|overlay| !is_session_list(overlay));
    }

    /// Navigates once the agent has stopped.
    pub(crate) fn navigate_once_stopped(&mut self, navigate: Navigate) {
        if let Some(tree) = self.tree() {
            tree.navigate_once_stopped(navigate);
        }
    }

    /// Restores the session trashed last.
    pub(crate) fn restore_last_session(&mut self, cx: &mut Context<'_>) {
        let Some(path) = self.sessions.trashed.pop() else { return };
        self.pickers().for_each(|picker| picker.await_session(&path));
        cx.push(Action::List(ListAction::RestoreSession(path)));
    }

    /// Replaces the lines of a pending call's page, if the page is open.
    pub(crate) fn update_call_page(&mut self, call: &CallId, lines: Vec<Line>) {
        let page = self.overlays.iter_mut().find(|overlay| overlay.call() == Some(call));
        if let Some(page) = page.and_then(Overlay::as_pager) {
            page.replace_lines(lines);
        }
    }

    /// Shows a server's first question once the user isn't typing. If a question is resolved elsewhere, its
    /// form stays until the user closes it, unless it was open too briefly to be noticed.
    fn show_elicitation(&mut self, cx: &mut Context<'_>) {
        let pending = &cx.model.activity.elicitations;
        self.overlays.retain_mut(|overlay| match overlay {
            Overlay::Form(form) if pending.iter().all(|request| request.elicitation_id != *form.id()) => {
                form.withdraw(cx.now);
                form.is_visible_long_enough(cx.now)
            }
            Overlay::Form(_) | Overlay::Picker(_) | Overlay::Pager(_) | Overlay::Tree(_) => true,
        });
        if let Some(request) = pending.first().filter(|_| self.overlays.is_empty() && !cx.focus.is_typing) {
            let form = ElicitationForm::new(request.clone(), cx.now);
            self.push(Overlay::Form(Box::new(form)));
        }
    }

    /// Closes the form of a question.
    pub(crate) fn close_form(&mut self, id: &ElicitationId) {
        self.overlays.retain(|overlay| overlay.as_form().is_none_or(|form| form.id() != id));
    }

    /// Closes the page of a pending call.
    pub(crate) fn close_call_page(&mut self, call: &CallId) {
        self.overlays.retain(|overlay| overlay.call() != Some(call));
    }
}

/// Returns the action that loads a list's items.
fn load(kind: ListKind) -> Action {
    Action::List(ListAction::LoadItems(kind))
}

impl Overlay {
    fn picker(picker: Picker) -> Self {
        Self::Picker(Box::new(picker))
    }
}

#[cfg(test)]
mod tests;
