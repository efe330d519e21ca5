//! The front end's state, its messages and its actions. Pure: time is an input, actions are data.

mod task_results;

use std::sync::Arc;

use crossterm::event::KeyEvent;
use tiller_core::unit::UnixMs;
use tiller_render::{self as render, ImageLimits};

use super::action::{Action, BackgroundJob};
use super::approval_panel::ApprovalPanel;
use super::attach;
use super::block::NoticeLevel;
use super::component::{Component, Context, FocusState, Outcome, ViewContext};
use super::composer::Composer;
use super::dialog::{ConsumedKey, KeyIntent};
use super::effect::{Effect, FlashText};
use super::flash::Flash;
use super::frame_pacer::Dirty;
use super::keymap::{KeyCommand, Keymap};
use super::keys::DoubleKey;
use super::layout::{RenderContext, TEXT_WIDTH};
use super::message::{Msg, TaskResult};
use super::navigation::Navigation;
use super::overlay::Overlay;
use super::pager::Pager;
use super::picker::LineInput as Line;
use super::queue;
use super::session_model::SessionModel;
use super::terminal::Images;
use super::transcript::Transcript;
use super::ui_context::UiContext;

/// Maximum base64 length of a painted image: some tens of milliseconds of writing.
const MAX_PAINTED: usize = 2 * 1024 * 1024;

/// Maximum base64 length of an image sent as one control sequence: iTerm2 rejects more than 1,048,576 bytes.
const MAX_INLINE: usize = 1_000_000;

/// The front end's state.
pub(super) struct App {
    pub(super) transcript: Transcript,
    pub(super) composer: Composer,
    pub(super) approvals: ApprovalPanel,
    pub(super) overlays: Vec<Overlay>,
    pub(super) model: SessionModel,
    pub(super) queue: queue::QueuePanel,
    pub(super) ui: UiContext,
    pub(super) now: UnixMs,
    pub(super) flash: Flash,
    pub(super) double_key: Option<(DoubleKey, UnixMs)>,
    /// The key that answered a dialog or call; its repeats are ignored.
    pub(super) consumed_key: Option<ConsumedKey>,
    /// The part of the screen that is out of date.
    pub(super) dirty: Dirty,
    pub(super) navigation: Navigation,
}

impl App {
    pub(super) fn new(ui: UiContext, history: Vec<String>) -> Self {
        Self {
            transcript: Transcript::default(),
            composer: Composer::new(history),
            approvals: ApprovalPanel::default(),
            overlays: Vec::new(),
            model: SessionModel::default(),
            queue: queue::QueuePanel::default(),
            ui,
            now: UnixMs(0),
            flash: Flash::default(),
            double_key: None,
            consumed_key: None,
            dirty: Dirty::ByUser,
            navigation: Navigation::default(),
        }
    }

    /// Applies a message at a point in time; returns the actions that follow.
    pub(super) fn update(&mut self, input: Msg, now: UnixMs) -> Vec<Action> {
        self.now = now;
        self.dirty = self.dirty.max(match input {
            Msg::Tick => Dirty::No,
            // Highlighting changes the screen like the streamed code itself, so it is drawn at the same pace.
            Msg::Agent(_) | Msg::TaskResult(TaskResult::CodeHighlighted) => Dirty::BySession,
            _ => Dirty::ByUser,
        });
        let mut actions = match input {
            Msg::Key(key) => self.handle_key(key),
            Msg::Mouse(event) => self.mouse(event),
            Msg::Text(text) => self.handle_text(&text),
            Msg::Paste(text) => self.paste(&text),
            Msg::Resize { width, height } => {
                self.ui.size = (width, height);
                Vec::new()
            }
            Msg::Tick => {
                self.tick();
                Vec::new()
            }
            Msg::Agent(event) => match self.model.info.gap.buffer(event) {
                Some(event) => self.apply_event(&event),
                None => Vec::new(),
            },
            Msg::Lagged => self.reload(),
            Msg::TaskResult(report) => self.apply_result(report),
            Msg::Background(ground) => {
                self.ui.theme.set_background(ground);
                Vec::new()
            }
            Msg::Themes(library) => self.themes_changed(library),
        };
        actions.extend(self.open_deferred());
        actions.extend(self.refresh_approvals());
        self.follow_search();
        actions.extend(
            self.transcript.take_requests().into_iter().map(BackgroundJob::ReadPart).map(Action::Background),
        );
        actions.extend(self.update_list());
        actions.extend(self.update_completion());
        self.end_stale_preview();
        actions.extend(self.tree_actions());
        actions.extend(self.update_session_lists());
        self.refresh_banner();
        let reloads = actions.iter().filter(|action| matches!(action, Action::Reload));
        reloads.for_each(|_| self.model.info.gap.open());
        actions
    }

    /// Buffers events from now on until the requested snapshot arrives.
    pub(super) fn expect_snapshot(&mut self) {
        self.model.info.gap.open();
    }

    fn tick(&mut self) {
        self.continue_drag();
        if self.is_animated() {
            self.dirty = self.dirty.max(Dirty::BySession);
        }
        if self.flash.expire(self.now) {
            self.dirty = Dirty::ByUser;
        }
    }

    /// Reports whether the screen changes with time alone.
    pub(super) fn is_animated(&self) -> bool {
        self.model.is_working()
            || self.model.activity.opening_since.is_some()
            || self.model.activity.summary.is_some()
            || !self.model.activity.jobs.is_empty()
            || self.transcript.is_alive()
    }

    /// Reports whether the app needs [`Msg::Tick`].
    pub(super) fn wants_ticks(&self) -> bool {
        self.is_animated() || self.flash.text().is_some() || self.navigation.mouse.wants_ticks()
    }

    /// Shows a message at the bottom of the screen for a while.
    pub(super) fn flash(&mut self, text: impl Into<String>) {
        self.flash.show(FlashText { text: text.into(), call: None }, self.now);
    }

    /// Facts about who has the keys.
    pub(super) fn focus_state(&self) -> FocusState {
        FocusState {
            is_editor_empty: self.composer.editor.is_empty(),
            is_writing_reason: self.composer.is_writing_reason(),
            is_in_queue: self.queue.has_keys(),
            is_covered: !self.overlays.is_empty(),
            is_on_call_page: self.is_on_call_page(),
        }
    }

    /// The state that components read.
    pub(super) fn view_context(&self) -> ViewContext<'_> {
        ViewContext { model: &self.model, ui: &self.ui, now: self.now, focus: self.focus_state() }
    }

    /// Offers a key to the approval panel; `None` if it ignored the key.
    pub(super) fn approval_key(&mut self, key: KeyEvent) -> Option<Vec<Action>> {
        let focus = self.focus_state();
        let mut cx = Context::new(ViewContext { model: &self.model, ui: &self.ui, now: self.now, focus });
        let outcome = self.approvals.handle(key, &mut cx);
        let effects = cx.into_effects();
        (outcome == Outcome::Consumed).then(|| self.apply_effects(effects))
    }

    /// Offers a key to the editor while it takes the reason of a denial; `None` if it ignored the key.
    pub(super) fn reason_key(&mut self, key: KeyEvent) -> Option<Vec<Action>> {
        let focus = self.focus_state();
        let mut cx = Context::new(ViewContext { model: &self.model, ui: &self.ui, now: self.now, focus });
        let outcome = self.composer.handle_reason_key(key, &mut cx);
        let effects = cx.into_effects();
        (outcome == Outcome::Consumed).then(|| self.apply_effects(effects))
    }

    fn refresh_approvals(&mut self) -> Vec<Action> {
        let focus = self.focus_state();
        let mut cx = Context::new(ViewContext { model: &self.model, ui: &self.ui, now: self.now, focus });
        self.approvals.refresh(&mut cx);
        let effects = cx.into_effects();
        self.apply_effects(effects)
    }

    /// Applies effects in order; returns the actions that leave the screen.
    pub(super) fn apply_effects(&mut self, effects: Vec<Effect>) -> Vec<Action> {
        effects.into_iter().filter_map(|effect| self.apply_effect(effect)).collect()
    }

    fn apply_effect(&mut self, effect: Effect) -> Option<Action> {
        match effect {
            Effect::Perform(action) => return Some(action),
            Effect::Flash(message) => self.flash.show(message, self.now),
            Effect::CallAnswered(call) => {
                self.flash.clear_about(&call);
                self.model.activity.approvals.retain(|pending| pending.request.tool_call_id != call);
                self.dirty = Dirty::ByUser;
            }
            Effect::WriteReason(call) => self.composer.write_reason(call),
            Effect::OpenCallPage { call, title, lines } => {
                self.overlays.push(Overlay::Pager(Pager::new(&title, lines).for_call(call)));
            }
            Effect::UpdateCallPage { call, lines } => {
                let shows = |overlay: &&mut Overlay| overlay.call() == Some(&call);
                if let Some(Overlay::Pager(page)) = self.overlays.iter_mut().find(shows) {
                    page.replace_lines(lines);
                }
            }
            Effect::CloseCallPage(call) => self.overlays.retain(|overlay| overlay.call() != Some(&call)),
        }
        None
    }

    /// Reports whether the overlay on top is the page of the first pending call.
    fn is_on_call_page(&self) -> bool {
        let shown = self.overlays.last().and_then(Overlay::call);
        let first = self.model.activity.approvals.first().map(|pending| &pending.request.tool_call_id);
        shown.is_some() && shown == first
    }

    /// Adds a notice to the transcript.
    pub(super) fn add_notice(&mut self, level: NoticeLevel, text: impl Into<String>, hint: Option<String>) {
        self.transcript.notice(level, text, hint);
        self.transcript.note_growth();
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
        new.iter().for_each(|problem| self.add_notice(NoticeLevel::Warning, problem, None));
        new
    }

    /// The size limits of an image where images are painted: one takes at most a third of the screen.
    fn image_limits(&self) -> Option<ImageLimits> {
        let (cell, rows) = (self.ui.cell_pixels, self.ui.size.1 / 3);
        let max = match self.ui.images {
            Images::Line => return None,
            Images::Painted => MAX_PAINTED,
            Images::Inline => MAX_INLINE,
        };
        Some(ImageLimits { cell, rows, max_base64: max })
    }

    /// The context for laying out blocks.
    pub(super) fn render_context(&self) -> RenderContext {
        RenderContext {
            width: usize::from(self.ui.size.0).saturating_sub(1).max(1),
            measure: TEXT_WIDTH,
            folds: self.transcript.folds,
            now: self.now,
            zone: self.ui.zone.clone(),
            unfold_key: self.ui.keymap.key_of(KeyCommand::UnfoldOutput).into(),
            options: self.ui.render_options,
            code_generation: render::highlight_generation(),
            images: self.image_limits(),
        }
    }

    fn paste(&mut self, text: &str) -> Vec<Action> {
        self.consumed_key = None;
        if self.overlays.is_empty() && self.navigation.search.is_some() {
            // A line copied from elsewhere may include its line break.
            let line = Line::from(text.trim_matches(['\r', '\n']).replace("\r\n", "\n").as_str());
            return self.edit_search(|typed| typed.push_str(line.text()));
        }
        self.defer_unread(KeyIntent::Text);
        match self.overlays.last_mut() {
            Some(Overlay::Picker(_)) => return self.paste_into_list(text),
            Some(Overlay::Tree(tree)) => tree.paste(text),
            Some(Overlay::Pager(_)) => {}
            None => match attach::image_path(text, self.ui.home.as_deref()) {
                Some(path) => return vec![Action::Attach(path, text.to_owned())],
                None => self.composer.editor.paste(text),
            },
        }
        Vec::new()
    }
}
