//! Applies task results to the app's state.

use tiller_engine::{SessionState, SessionSwitched};

use crate::action::{Action, ActionRequest, BackgroundJob, ListAction, UserText};
use crate::address::Address;
use crate::app::App;
use crate::block::notice_level::NoticeLevel;
use crate::component::Component;
use crate::compositor::Compositor;
use crate::frame_pacer::Dirty;
use crate::message::{LoadedSession, TaskResult};
use crate::pager::Pager;
use crate::picker::line_prompt::StatusText;
use crate::transcript_pane::TranscriptPane;
use crate::welcome::banner;

impl App {
    /// Switches to another session. A prompt returned with the switch, and text typed during the switch, are
    /// inserted before the draft.
    fn session_switched(&mut self, switched: SessionSwitched) {
        _ = self.with_overlays(Compositor::cancel_switch);
        self.compositor.overlays.clear();
        self.compositor.drop_deferred();
        self.queue.forget_removed();
        if let Some(text) = switched.editor {
            self.composer.editor.put_before(&[text]);
        }
    }

    /// Delivers a result to the model, then to the part of the screen that requested it. Results that neither
    /// handles are applied here.
    pub(super) fn deliver(&mut self, to: Address, result: TaskResult) -> Vec<ActionRequest> {
        let Some(result) = self.model.apply_result(result, self.now) else { return Vec::new() };
        let mut left = None;
        let mut actions = match to {
            Address::Screen => {
                left = Some(result);
                Vec::new()
            }
            Address::Transcript => self.with_transcript(|pane, cx| left = pane.take(result, cx)),
            Address::Composer => self.with_composer(|composer, cx| left = composer.take(result, cx)),
            Address::Queue => self.with_queue(|queue, cx| left = queue.take(result, cx)),
            Address::Overlay(id) => self.with_overlays(|overlays, cx| left = overlays.take(id, result, cx)),
        };
        actions.extend(left.into_iter().flat_map(|result| self.apply_result(to, result)));
        actions
    }

    /// Applies a result that involves several parts, or a part that didn't request it.
    fn apply_result(&mut self, to: Address, result: TaskResult) -> Vec<ActionRequest> {
        match result {
            TaskResult::Failed { message, hint, text } => self.show_failure(message, hint, text),
            TaskResult::InvalidInput { typed, message } => {
                return self.with_overlays(|overlays, cx| overlays.reject_executed(typed, message, cx));
            }
            TaskResult::Loaded(loaded) => return self.session_loaded(*loaded),
            TaskResult::State(state) => self.set_session_state(*state),
            TaskResult::SessionSwitched(switched) => self.session_switched(switched),
            TaskResult::Dialog(dialog) => {
                return self.with_overlays(|overlays, cx| overlays.open_dialog(dialog, cx));
            }
            TaskResult::Login(result) => {
                return self.with_overlays(|overlays, cx| overlays.key_changed(result, cx));
            }
            TaskResult::Page { title, lines } => {
                let page = Pager::new(&title, lines);
                return self.with_overlays(|overlays, cx| overlays.defer_page(page, cx));
            }
            TaskResult::Note(text) => {
                let status = StatusText::note(text);
                return self.with_overlays(|overlays, cx| overlays.show_status(to, status, cx));
            }
            TaskResult::Warning(text) => self.show_warning(text),
            TaskResult::Resolved(text) => self.transcript.mark_outdated(&text),
            TaskResult::ThemeSetting(setting, name) => self.ui.theme.set_theme(setting, &name),
            TaskResult::List(result) => {
                return self.with_overlays(|overlays, cx| overlays.apply_result(to, result, cx));
            }
            result @ TaskResult::QueueOutcome(_) => {
                return self.with_queue(|queue, cx| _ = queue.take(result, cx));
            }
            result @ (TaskResult::PartRead { .. }
            | TaskResult::BranchPoints { .. }
            | TaskResult::SearchHits(_)) => {
                return self.with_transcript(|pane, cx| _ = pane.take(result, cx));
            }
            result @ (TaskResult::ReturnedMessages(_)
            | TaskResult::ReturnedInput(_)
            | TaskResult::BeforeDraft(_)
            | TaskResult::History(_)
            | TaskResult::Attached(_)
            | TaskResult::Edited(_)
            | TaskResult::Paste(_)
            | TaskResult::Completion(_)) => {
                return self.with_composer(|composer, cx| _ = composer.take(result, cx));
            }
            // Applied by the model or performed by the event loop.
            TaskResult::Began(_)
            | TaskResult::Ended(_)
            | TaskResult::ForkId(_)
            | TaskResult::Branch(_)
            | TaskResult::Commands(_)
            | TaskResult::Resources(_)
            | TaskResult::Welcome(_)
            | TaskResult::CodeHighlighted
            | TaskResult::AgentOpened(_) => {}
        }
        Vec::new()
    }

    /// Rejects an action that can't be performed now, with the reason. It returns to the part that asked; text that it
    /// holds returns to the editor.
    pub(crate) fn reject(&mut self, ActionRequest { from, action }: ActionRequest, reason: &str) {
        let mut left = None;
        _ = match from {
            Address::Screen | Address::Composer => {
                left = Some(action);
                Vec::new()
            }
            Address::Transcript => self.with_transcript(|pane, cx| left = pane.rejected(action, cx)),
            Address::Queue => self.with_queue(|queue, cx| left = queue.rejected(action, cx)),
            Address::Overlay(id) => {
                self.with_overlays(|overlays, cx| left = overlays.rejected(id, action, cx))
            }
        };
        match left {
            Some(Action::List(ListAction::RestoreSession(path))) => self.compositor.restore_failed(path),
            Some(action) => _ = self.with_composer(|composer, cx| _ = composer.rejected(action, cx)),
            None => {}
        }
        self.flash(reason);
        self.dirty = Dirty::ByUser;
    }

    fn show_warning(&mut self, text: String) {
        // A list would cover the transcript.
        self.compositor.show_in_list(&StatusText::error(text.as_str()));
        self.transcript.notice(NoticeLevel::Warning, text, None);
    }

    fn show_failure(&mut self, message: String, hint: Option<String>, text: Option<UserText>) {
        if let Some(text) = text {
            self.composer.restore_input(&text);
        }
        // A flash about the failed action is obsolete.
        self.flash.clear();
        _ = self.with_overlays(Compositor::uncover_error);
        self.transcript.notice(NoticeLevel::Error, message, hint);
    }

    fn session_loaded(&mut self, loaded: LoadedSession) -> Vec<ActionRequest> {
        self.apply_snapshot(loaded);
        let missed = self.model.snapshot_arrived();
        let welcomes =
            self.transcript.content().has_banner().then_some(Action::Background(BackgroundJob::Welcome));
        let mut actions: Vec<ActionRequest> =
            missed.iter().flat_map(|event| self.apply_event(event)).collect();
        actions.extend(self.with_transcript(TranscriptPane::restart_search));
        actions.extend(welcomes.map(ActionRequest::from));
        actions
    }

    fn apply_snapshot(&mut self, loaded: LoadedSession) {
        let LoadedSession { snapshot, newest } = loaded;
        let live = snapshot.in_progress;
        self.compositor.outdate_tree();
        let former = self.transcript.replace(newest);
        self.set_session_state(snapshot.state);
        self.model.set_tools(self.transcript.content().context().tools.clone());
        let answered = self.model.restore(snapshot.seq, &live, self.now);
        answered.iter().for_each(|call| self.flash.clear_about(call));
        // The snapshot shows whether the dialog is still needed; other deferred dialogs exist only here.
        self.compositor.close_failure_dialog();
        // If entries are still unread, the context's size shows whether the session is new.
        let content = self.transcript.content();
        let is_new = content.is_single_part() || self.model.info.context.used.0 == 0;
        if is_new && content.is_empty() {
            self.with_transcript(|pane, cx| pane.show_banner(banner(cx)));
        }
        if let Some(error) = live.summary.as_ref().and_then(|summary| summary.failed.clone()) {
            _ = self.with_overlays(|overlays, cx| overlays.open_failure_dialog(&error, cx));
        }
        self.with_transcript(|pane, cx| pane.restore(&live, former, cx));
        let arrived = self.transcript.content().arrived();
        self.model.set_streamed_bytes(u64::try_from(arrived).unwrap_or_default());
    }

    fn set_session_state(&mut self, state: SessionState) {
        if self.ui.cwd != state.cwd {
            self.composer.completion.forget_files();
        }
        self.ui.cwd.clone_from(&state.cwd);
        self.model.set_state(state);
    }
}
