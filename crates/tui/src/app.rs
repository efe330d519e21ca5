//! The front end's state, its messages and its actions. Pure: time is an input, actions are data.

mod action;
mod input;
mod task_results;
mod transient_state;
mod ui_context;

pub(super) use crate::session_model::{
    CallInProgress, Job, SessionActivity, SessionInfo, SessionModel, StreamingAnswer,
};
pub(super) use action::{
    Action, BackgroundJob, LineExtra, ListAction, ListKind, Navigate, SessionEdit, Submit, TerminalAction,
    UserText,
};
pub(super) use input::{ListResult, LoadedSession, Msg, SessionsResult, TaskOrigin, TaskResult};
pub(super) use transient_state::{DoubleKey, TransientState};
pub(super) use ui_context::UiContext;

use std::sync::Arc;

use tiller_core::unit::UnixMs;
use tiller_render::{self as render, ImageLimits};

use super::attach;
use super::block::NoticeLevel;
use super::completion::Completion;
use super::dialog::KeyIntent;
use super::editor::Editor;
use super::frame_pacer::Dirty;
use super::keymap::{KeyCommand, Keymap};
use super::layout::{RenderContext, TEXT_WIDTH};
use super::navigation::Navigation;
use super::overlay::Overlay;
use super::picker::LineInput as Line;
use super::queue;
use super::terminal::Images;
use super::transcript::Transcript;

/// Minimum time that a flash at the bottom of the screen stays, in milliseconds.
const FLASH_MS: u64 = 4_000;

/// Reading time per character of a flash, in milliseconds: a slow reader who looks up late.
const CHARACTER_MS: u64 = 60;

/// Maximum base64 length of a painted image: some tens of milliseconds of writing.
const MAX_PAINTED: usize = 2 * 1024 * 1024;

/// Maximum base64 length of an image sent as one control sequence: iTerm2 rejects more than 1,048,576 bytes.
const MAX_INLINE: usize = 1_000_000;

/// The front end's state.
pub(super) struct App {
    pub(super) transcript: Transcript,
    pub(super) editor: Editor,
    pub(super) overlays: Vec<Overlay>,
    pub(super) model: SessionModel,
    pub(super) queue: queue::QueuePanel,
    pub(super) ui: UiContext,
    pub(super) now: UnixMs,
    pub(super) transient: TransientState,
    pub(super) completion: Completion,
    /// The part of the screen that is out of date.
    pub(super) dirty: Dirty,
    pub(super) navigation: Navigation,
}

impl App {
    pub(super) fn new(ui: UiContext, history: Vec<String>) -> Self {
        Self {
            transcript: Transcript::default(),
            editor: Editor::new(history),
            overlays: Vec::new(),
            model: SessionModel::default(),
            queue: queue::QueuePanel::default(),
            ui,
            now: UnixMs(0),
            transient: TransientState::default(),
            completion: Completion::default(),
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
            Msg::Tick => self.tick(),
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
        self.lay_out_approval();
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

    fn tick(&mut self) -> Vec<Action> {
        self.continue_drag();
        if self.is_animated() {
            self.dirty = self.dirty.max(Dirty::BySession);
        }
        let is_read = |(text, since): &(String, UnixMs)| {
            let reading_ms = CHARACTER_MS * text.chars().count() as u64;
            self.now.since_ms(*since) >= FLASH_MS.max(reading_ms)
        };
        if self.transient.flash.as_ref().is_some_and(is_read) {
            self.transient.flash = None;
            self.dirty = Dirty::ByUser;
        }
        self.settle_held_letters()
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
        let is_short_lived = self.transient.flash.is_some() || self.transient.repeated_key.is_some();
        self.is_animated() || is_short_lived || self.navigation.mouse.wants_ticks()
    }

    /// Shows a message at the bottom of the screen for a while.
    pub(super) fn flash(&mut self, text: impl Into<String>) {
        self.transient.flash = Some((text.into(), self.now));
        self.transient.flash_call = None;
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
        self.transient.consumed_key = None;
        if self.overlays.is_empty() && self.navigation.search.is_some() {
            // A line copied from elsewhere may include its line break.
            let line = Line::from(text.trim_matches(['\r', '\n']).replace("\r\n", "\n").as_str());
            return self.edit_search(|typed| typed.push_str(line.text()));
        }
        self.defer_unread(KeyIntent::Text);
        if self.overlays.is_empty() {
            self.type_held_letters();
        }
        match self.overlays.last_mut() {
            Some(Overlay::Picker(_)) => return self.paste_into_list(text),
            Some(Overlay::Tree(tree)) => tree.paste(text),
            Some(Overlay::Pager(_)) => {}
            None => match attach::image_path(text, self.ui.home.as_deref()) {
                Some(path) => return vec![Action::Attach(path, text.to_owned())],
                None => self.editor.paste(text),
            },
        }
        Vec::new()
    }
}
