//! Applies task results to the app's state.

use tiller_core::event::QueueItem;
use tiller_engine::{SessionState, SessionSwitched};

use crate::action::{Action, BackgroundJob, ListAction, UserText};
use crate::app::App;
use crate::block::notice_level::NoticeLevel;
use crate::compositor::Compositor;
use crate::frame_pacer::Dirty;
use crate::message::{LoadedSession, TaskResult};
use crate::pager::Pager;
use crate::picker::line_prompt::StatusText;
use crate::queue::QueueAction;
use crate::transcript_pane::TranscriptPane;
use crate::welcome::banner;

impl App {
    /// Switches to another session. A prompt that returns with it, and text typed while it was opening, are
    /// put before the draft.
    fn session_switched(&mut self, switched: SessionSwitched) {
        _ = self.with_overlays(Compositor::cancel_switch);
        self.compositor.overlays.clear();
        self.compositor.drop_deferred();
        self.queue.forget_removed();
        if let Some(text) = switched.editor {
            self.composer.editor.put_before(&[text]);
        }
    }

    pub(super) fn apply_result(&mut self, report: TaskResult) -> Vec<Action> {
        let Some(report) = self.model.apply_result(report, self.now) else { return Vec::new() };
        match report {
            TaskResult::Failed { what, hint, text } => self.show_failure(what, hint, text),
            TaskResult::InvalidInput { typed, what, origin } => {
                return self.with_overlays(|overlays, cx| overlays.reject_executed(typed, what, origin, cx));
            }
            TaskResult::Loaded(loaded) => return self.session_loaded(*loaded),
            TaskResult::State(state) => self.set_session_state(*state),
            TaskResult::PartRead { wanted, entries, ahead } => {
                self.transcript.insert_section(&wanted, &entries, &ahead)
            }
            TaskResult::BranchPoints { epoch, points } => self.transcript.update_branch_points(epoch, points),
            TaskResult::SearchHits(found) => self.transcript.add_search_hits(&found),
            TaskResult::ReturnedMessages(items) => self.composer.restore_messages(&items),
            TaskResult::ReturnedInput(typed) => self.composer.restore_inputs(&typed),
            TaskResult::QueueOutcome(outcome) => {
                return self.with_queue(|queue, cx| queue.apply_outcome(outcome, cx));
            }
            TaskResult::SessionSwitched(switched) => self.session_switched(switched),
            TaskResult::Dialog(dialog) => {
                return self.with_overlays(|overlays, cx| overlays.open_dialog(dialog, cx));
            }
            TaskResult::CodeHighlighted => {}
            TaskResult::Login(result) => {
                return self.with_overlays(|overlays, cx| overlays.key_changed(result, cx));
            }
            TaskResult::Page { title, lines } => {
                let page = Pager::new(&title, lines);
                return self.with_overlays(|overlays, cx| overlays.defer_page(page, cx));
            }
            TaskResult::History(prompts) => self.composer.editor.prepend_history(prompts),
            // Applied by the model, or performed by the event loop.
            TaskResult::Began(_)
            | TaskResult::Ended(_)
            | TaskResult::ForkId(_)
            | TaskResult::Branch(_)
            | TaskResult::Commands(_)
            | TaskResult::Resources(_)
            | TaskResult::Welcome(_)
            | TaskResult::AgentOpened(_) => {}
            TaskResult::Note(text) => return self.show_note(text),
            TaskResult::Warning(text) => self.show_warning(text),
            TaskResult::Resolved(text) => self.transcript.mark_outdated(&text),
            TaskResult::Attached(image) => {
                return self.with_composer(|composer, cx| composer.attach_image(image, cx));
            }
            TaskResult::Edited(text) => self.composer.editor.set_text(&text),
            TaskResult::BeforeDraft(text) => self.composer.editor.put_before(&[text]),
            TaskResult::Paste(text) => self.composer.editor.paste(&text),
            TaskResult::ThemeSetting(setting, name) => self.ui.theme.set_theme(setting, &name),
            TaskResult::List(result) => {
                return self.with_overlays(|overlays, cx| overlays.apply_result(result, cx));
            }
            TaskResult::Completion(result) => {
                return self.with_composer(|composer, cx| composer.apply_completion(result, cx));
            }
        }
        Vec::new()
    }

    /// Rejects an action because the executor's queue is full; user input returns to the editor.
    pub(crate) fn reject_action(&mut self, action: Action) {
        match action {
            Action::Background(BackgroundJob::ReadPart(wanted)) => {
                self.transcript.cancel_request(wanted.part())
            }
            Action::List(ListAction::WalkFiles(_)) => self.composer.completion.cancel_walk(),
            Action::List(ListAction::LoadArguments(_)) => self.composer.completion.cancel_gathering(),
            Action::List(ListAction::RestoreSession(path)) => self.compositor.restore_failed(path),
            Action::Attach(_, text) => self.composer.editor.paste(&text),
            Action::Navigate(_) => _ = self.with_overlays(Compositor::cancel_switch),
            Action::Queue(QueueAction::Restore(removed)) => {
                let items: Vec<QueueItem> = removed.into_iter().map(|removed| removed.item).collect();
                self.composer.restore_messages(&items);
            }
            action => {
                if let Some(typed) = action.typed() {
                    self.composer.restore_input(&typed);
                }
            }
        }
        self.flash("Busy: try again in a moment.");
        self.dirty = Dirty::ByUser;
    }

    fn show_note(&mut self, text: String) -> Vec<Action> {
        self.with_overlays(|overlays, cx| overlays.show_status(StatusText::note(text), cx))
    }

    fn show_warning(&mut self, text: String) {
        // A list would cover the transcript.
        self.compositor.show_in_list(&StatusText::error(text.as_str()));
        self.transcript.notice(NoticeLevel::Warning, text, None);
    }

    fn show_failure(&mut self, what: String, hint: Option<String>, text: Option<UserText>) {
        if let Some(text) = text {
            self.composer.restore_input(&text);
        }
        // A flash about the failed action is obsolete.
        self.flash.clear();
        _ = self.with_overlays(Compositor::uncover_error);
        self.transcript.notice(NoticeLevel::Error, what, hint);
    }

    fn session_loaded(&mut self, loaded: LoadedSession) -> Vec<Action> {
        self.apply_snapshot(loaded);
        let missed = self.model.snapshot_arrived();
        let welcomes =
            self.transcript.content().has_banner().then_some(Action::Background(BackgroundJob::Welcome));
        let mut actions: Vec<Action> = missed.iter().flat_map(|event| self.apply_event(event)).collect();
        actions.extend(self.with_transcript(TranscriptPane::restart_search));
        actions.extend(welcomes);
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
        // The snapshot says whether that dialog is still open; other deferred dialogs exist only here.
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
