//! The front end's state, its messages and its actions. Pure: time is an input, and actions are data.

/// The state that components read, without borrowing the components.
macro_rules! view {
    ($app:expr) => {{
        let focus = $app.focus_state();
        let folds = $app.transcript.content().folds;
        crate::component::ViewContext { model: &$app.model, ui: &$app.ui, now: $app.now, focus, folds }
    }};
}

mod agent_events;
mod keys;
mod layout;
mod mouse;
mod task_results;

use std::sync::Arc;

use tiller_core::unit::UnixMs;

use crate::action::{Action, ActionRequest};
use crate::address::Address;
use crate::approval_panel::ApprovalPanel;
use crate::block::notice_level::NoticeLevel;
use crate::component::{Component, Context, FocusState, ViewContext};
use crate::composer::Composer;
use crate::composer::compose_purpose::ComposePurpose;
use crate::compositor::Compositor;
use crate::compositor::consumed_key::KeyIntent;
use crate::effect::{Effect, FlashText, LeaveScope};
use crate::flash::Flash;
use crate::frame_pacer::Dirty;
use crate::keymap::Keymap;
use crate::message::{Msg, TaskReport, TaskResult};
use crate::overlay::Overlay;
use crate::plan_panel::PlanPanel;
use crate::queue_panel::QueuePanel;
use crate::screen_areas::ScreenAreas;
use crate::screen_keys::ScreenKeys;
use crate::session_model::SessionModel;
use crate::transcript_pane::TranscriptPane;
use crate::ui_context::UiContext;

/// The front end's state.
pub(super) struct App {
    pub(super) transcript: TranscriptPane,
    pub(super) composer: Composer,
    pub(super) approvals: ApprovalPanel,
    pub(super) compositor: Compositor,
    /// Changed only by its reducer.
    model: SessionModel,
    pub(super) queue: QueuePanel,
    pub(super) plan: PlanPanel,
    pub(super) ui: UiContext,
    pub(super) now: UnixMs,
    pub(super) flash: Flash,
    pub(super) screen_keys: ScreenKeys,
    /// The areas of the last layout.
    areas: ScreenAreas,
    /// The part of the screen that is out of date.
    pub(super) dirty: Dirty,
}

impl App {
    pub(super) fn new(ui: UiContext, history: Vec<String>) -> Self {
        Self {
            transcript: TranscriptPane::default(),
            composer: Composer::new(history),
            approvals: ApprovalPanel::default(),
            compositor: Compositor::default(),
            model: SessionModel::default(),
            queue: QueuePanel::default(),
            plan: PlanPanel::default(),
            ui,
            now: UnixMs(0),
            flash: Flash::default(),
            screen_keys: ScreenKeys::default(),
            areas: ScreenAreas::default(),
            dirty: Dirty::ByUser,
        }
    }

    /// Returns the session model.
    pub(super) fn model(&self) -> &SessionModel {
        &self.model
    }

    /// Records that a session is being opened.
    pub(super) fn opening(&mut self, now: UnixMs) {
        self.now = now;
        self.model.opening(now);
    }

    /// Records that the session is open.
    pub(super) fn opened(&mut self) {
        self.model.opened();
    }

    /// Records that the event loop has requested a snapshot.
    pub(super) fn expect_snapshot(&mut self) {
        self.model.expect_snapshot();
    }

    /// Applies a message at a point in time; returns the resulting actions.
    pub(super) fn update(&mut self, input: Msg, now: UnixMs) -> Vec<ActionRequest> {
        self.now = now;
        self.dirty = self.dirty.max(match input {
            Msg::Tick => Dirty::No,
            // Highlighting changes the screen like the streamed code itself, so it is drawn at the same pace.
            Msg::Agent(_) | Msg::TaskResult(TaskReport { result: TaskResult::CodeHighlighted, .. }) => {
                Dirty::BySession
            }
            _ => Dirty::ByUser,
        });
        let mut actions = match input {
            Msg::Key(key) => self.handle_key(key),
            Msg::Mouse(event) => self.handle_mouse(event),
            Msg::Text(text) => self.handle_text(&text),
            Msg::Paste(text) => self.handle_paste(&text),
            Msg::Resize { width, height } => {
                self.ui.size = (width, height);
                Vec::new()
            }
            Msg::Tick => {
                self.tick();
                Vec::new()
            }
            Msg::Agent(event) => match self.model.receive(event) {
                Some(event) => self.apply_event(&event),
                None => Vec::new(),
            },
            Msg::Lagged => self.reload(),
            Msg::Connection(state) => {
                self.model.set_connection(state);
                self.dirty = self.dirty.max(Dirty::BySession);
                if self.model.info.connection.is_lost() { Vec::new() } else { self.reload() }
            }
            Msg::TaskResult(TaskReport { to, result }) => self.deliver(to, result),
            Msg::Background(ground) => {
                self.ui.theme.set_background(ground);
                Vec::new()
            }
            Msg::Themes(library) => {
                let changes = self.ui.theme.set_library(library);
                self.compositor.themes_changed(&self.ui.theme);
                self.apply_all(changes.effects())
            }
        };
        actions.extend(self.refresh());
        let reloads = actions.iter().filter(|action| matches!(action.action, Action::Reload));
        reloads.for_each(|_| self.model.expect_snapshot());
        actions
    }

    /// Lets every component follow the last change.
    fn refresh(&mut self) -> Vec<ActionRequest> {
        let mut actions = self.with_queue(QueuePanel::refresh);
        actions.extend(self.with_overlays(Compositor::refresh));
        actions.extend(self.with_approvals(ApprovalPanel::refresh));
        actions.extend(self.with_transcript(TranscriptPane::refresh));
        actions.extend(self.with_composer(Composer::refresh));
        actions
    }

    fn tick(&mut self) {
        let view = view!(self);
        if self.transcript.continue_drag(&view) {
            self.dirty = Dirty::ByUser;
        }
        if self.is_animated() {
            self.dirty = self.dirty.max(Dirty::BySession);
        }
        if self.flash.expire(self.now) {
            self.dirty = Dirty::ByUser;
        }
    }

    /// Returns true while the screen changes with time alone.
    pub(super) fn is_animated(&self) -> bool {
        self.model.is_working()
            || self.model.activity.opening_since.is_some()
            || self.model.activity.summary.is_some()
            || !self.model.activity.jobs.is_empty()
            || self.transcript.content().is_alive()
    }

    /// Returns true if the app needs [`Msg::Tick`].
    pub(super) fn wants_ticks(&self) -> bool {
        self.is_animated()
            || self.flash.text().is_some()
            || self.compositor.live_list().is_some()
            || self.transcript.wants_ticks()
    }

    /// Shows a message at the bottom of the screen for a while.
    pub(super) fn flash(&mut self, text: impl Into<String>) {
        self.flash.show(FlashText { text: text.into(), call: None }, self.now);
    }

    /// Returns which part of the screen has the keys.
    pub(super) fn focus_state(&self) -> FocusState {
        let is_editor_empty = self.composer.editor.is_empty();
        let (is_searching, is_in_queue) = (self.transcript.is_searching(), self.queue.has_keys());
        let has_purpose = !self.composer.is_for_message();
        let page = self.compositor.top().and_then(Overlay::call);
        let first = self.model.activity.approvals.first().map(|pending| &pending.request.tool_call_id);
        FocusState {
            is_editor_empty,
            is_editor_at_line_end: self.composer.editor.is_at_line_end(),
            is_writing_reason: self.composer.is_writing_reason(),
            is_in_queue,
            is_choosing_answer: self.approvals.has_selection(),
            is_searching,
            is_typing: !is_editor_empty || has_purpose || is_searching || is_in_queue,
            is_start_screen: self.transcript.content().has_banner()
                && is_editor_empty
                && !self.model.is_working(),
            is_covered: !self.compositor.is_empty(),
            is_on_call_page: page.is_some() && page == first,
            is_click_accepted: self.compositor.has_accepted_click(self.now),
        }
    }

    /// Returns the state that components read.
    pub(super) fn view_context(&self) -> ViewContext<'_> {
        view!(self)
    }

    /// Opens the session picker at the start, once the user isn't typing.
    pub(super) fn offer_sessions(&mut self, now: UnixMs) -> Vec<ActionRequest> {
        self.now = now;
        self.with_overlays(Compositor::offer_sessions)
    }

    /// Defers an overlay that is too recent to have been read.
    pub(super) fn defer_unread(&mut self, intent: KeyIntent) -> Vec<ActionRequest> {
        self.with_overlays(|overlays, cx| overlays.defer_unread(intent, cx))
    }

    /// Applies effects in order; returns the actions that leave the screen.
    fn apply_all(&mut self, effects: Vec<Effect>) -> Vec<ActionRequest> {
        effects.into_iter().flat_map(|effect| self.apply(effect)).collect()
    }

    /// Applies an effect; returns the actions that leave the screen.
    #[allow(clippy::too_many_lines, reason = "one arm an effect")]
    pub(super) fn apply(&mut self, effect: Effect) -> Vec<ActionRequest> {
        match effect {
            Effect::Perform(from, action) => return vec![ActionRequest { from, action }],
            Effect::ClearFlash => self.flash.clear(),
            Effect::Flash(message) => self.flash.show(message, self.now),
            Effect::Notice { level, text, hint } => self.transcript.notice(level, text, hint),
            Effect::Open(opening) => return self.with_overlays(|overlays, cx| overlays.open(opening, cx)),
            Effect::CloseTop => self.compositor.close_top(),
            Effect::CloseAll => self.compositor.overlays.clear(),
            Effect::CloseSessionLists => self.compositor.close_session_lists(),
            Effect::Leave(scope) => {
                if scope == LeaveScope::Top {
                    self.screen_keys.overlay_left(self.ui.agents.len(), self.now);
                }
                return self.with_overlays(|overlays, cx| overlays.leave(scope, cx));
            }
            Effect::CallAnswered(call) => {
                self.flash.clear_about(&call);
                self.composer.drop_reason(&call);
                self.model.call_answered(&call);
                self.dirty = Dirty::ByUser;
            }
            Effect::ElicitationAnswered(id) => {
                self.compositor.close_form(&id);
                self.model.question_answered(&id);
            }
            Effect::WriteReason(call) => self.composer.write_reason(call),
            Effect::UpdateCallPage { call, lines } => self.compositor.update_call_page(&call, lines),
            Effect::CloseCallPage(call) => self.compositor.close_call_page(&call),
            Effect::WriteSummaryInstruction(entry) => {
                self.composer.purpose = ComposePurpose::SummaryInstruction(entry);
            }
            Effect::ClickAccepted => self.compositor.click_accepted(self.now),
            Effect::InsertText(text) => {
                self.screen_keys.forget();
                self.composer.editor.insert(&text);
            }
            Effect::PutBeforeDraft(text) => self.composer.editor.put_before(&[text]),
            Effect::RestoreMessages(items) => self.composer.restore_messages(&items),
            Effect::RecallPrompt(text) => self.composer.editor.recall_text(&text),
            Effect::EditQueued(edit) => self.composer.edit_queued(edit),
            Effect::QueueEditEnded => self.queue.end_edit(),
            Effect::DraftCleared => self.screen_keys.draft_cleared(self.now),
            Effect::Typed => self.transcript.unfocus(),
            Effect::EnterQueue => return self.with_queue(QueuePanel::enter),
            Effect::Sent { to_model } => return self.with_transcript(|pane, cx| pane.sent(to_model, cx)),
            Effect::TakeBackPrompt => {
                let action = self.transcript.take_back_prompt(&self.view_context());
                return action.into_iter().map(ActionRequest::from).collect();
            }
            Effect::CopyAnswer { from_end, typed } => {
                return self.with_transcript(|pane, cx| pane.copy_answer(from_end, typed, cx));
            }
            Effect::QueueEditTooLate(text) => {
                return self.with_composer(|composer, cx| composer.queued_message_removed(Some(text), cx));
            }
            Effect::RejectInput { typed, reason } => {
                return self.with_composer(|composer, cx| composer.reject_input(typed, reason, cx));
            }
            Effect::SendLong(choice, when) => {
                return self.with_composer(|composer, cx| composer.send(when, Some(choice), cx));
            }
            Effect::StopAndNavigate(navigate) => {
                self.compositor.navigate_once_stopped(navigate);
                return if self.model.is_working() { vec![Action::Abort.into()] } else { Vec::new() };
            }
            Effect::RestoreLastSession => return self.with_overlays(Compositor::restore_last_session),
            Effect::PreviewTheme(name) => self.ui.theme.preview(name.as_deref()),
            Effect::ApplyTheme(name) => {
                let effects = self.ui.choose_theme(&name);
                return self.apply_all(effects);
            }
            Effect::MarkOutdated(text) => self.transcript.mark_outdated(&text),
        }
        Vec::new()
    }

    /// Replaces the keymap. Removes notices about problems that are gone from the keymap file, adds notices
    /// for new ones, and returns the new ones.
    pub(super) fn set_keymap(&mut self, keymap: Keymap) -> Vec<String> {
        let before = std::mem::replace(&mut self.ui.keymap, Arc::new(keymap));
        let now = Arc::clone(&self.ui.keymap);
        for resolved in before.problems().iter().filter(|problem| !now.problems().contains(problem)) {
            self.transcript.mark_outdated(resolved);
        }
        let is_new = |problem: &&String| !before.problems().contains(problem);
        let new: Vec<String> = now.problems().iter().filter(is_new).cloned().collect();
        new.iter().for_each(|problem| self.transcript.notice(NoticeLevel::Warning, problem, None));
        new
    }
}

/// Defines the methods that let a component work and apply the effects that it requests. They return the
/// actions that have effects outside the screen.
macro_rules! component_methods {
    ($($name:ident: $field:ident, $component:ty, $address:ident;)*) => {
        impl App {
            $(pub(super) fn $name(
                &mut self,
                work: impl FnOnce(&mut $component, &mut Context<'_>),
            ) -> Vec<ActionRequest> {
                let mut cx = Context::new(view!(self), Address::$address);
                work(&mut self.$field, &mut cx);
                let effects = cx.into_effects();
                self.apply_all(effects)
            })*
        }
    };
}

component_methods! {
    with_transcript: transcript, TranscriptPane, Transcript;
    with_composer: composer, Composer, Composer;
    with_approvals: approvals, ApprovalPanel, Screen;
    with_queue: queue, QueuePanel, Queue;
    with_plan: plan, PlanPanel, Screen;
    with_overlays: compositor, Compositor, Screen;
    with_screen_keys: screen_keys, ScreenKeys, Screen;
}
