//! Applies task results to the app's state.

use tiller_core::event::QueueItem;
use tiller_engine::{SessionState, SessionSwitched};
use tiller_provider::catalog::ImageInput;

use crate::action::{Action, BackgroundJob, ListAction, ListKind, UserText};
use crate::app::App;
use crate::attach::AttachedImage;
use crate::block::NoticeLevel;
use crate::frame_pacer::Dirty;
use crate::keymap::KeyCommand;
use crate::message::{ListResult, LoadedSession, TaskResult};
use crate::overlay::{Overlay, pickers};
use crate::pager::Pager;
use crate::picker::PickerItem;
use crate::queue;
use crate::session_model::{CallInProgress, Job, SessionActivity, SessionInfo, StreamingAnswer};

impl App {
    /// Switches to another session. A prompt that returns with it, and text typed while it was opening, are
    /// put before the draft.
    fn session_switched(&mut self, switched: SessionSwitched) {
        self.restore_typed_ahead();
        self.overlays.clear();
        self.model.activity.deferred.clear();
        self.queue.forget_removed();
        if let Some(text) = switched.editor {
            self.composer.editor.put_before(&[text]);
        }
    }

    /// Cancels a pending session switch in lists and the tree; returns the text typed during it.
    pub(crate) fn cancel_switch(&mut self) -> Option<String> {
        self.overlays.iter_mut().filter_map(Overlay::cancel_navigation).next()
    }

    /// Cancels a pending session switch and moves the text typed during it to the editor.
    pub(crate) fn restore_typed_ahead(&mut self) {
        if let Some(typed) = self.cancel_switch() {
            self.composer.editor.put_before(&[typed]);
        }
    }

    pub(super) fn apply_result(&mut self, report: TaskResult) -> Vec<Action> {
        match report {
            TaskResult::Failed { what, hint, text } => self.show_failure(what, hint, text),
            TaskResult::InvalidInput { typed, what, origin } => self.reject_executed(typed, what, origin),
            TaskResult::Loaded(loaded) => return self.session_loaded(*loaded),
            TaskResult::State(state) => self.set_session_state(*state),
            TaskResult::PartRead { wanted, entries, ahead } => {
                self.transcript.insert_section(&wanted, &entries, &ahead)
            }
            TaskResult::BranchPoints { epoch, points } => self.transcript.update_branch_points(epoch, points),
            TaskResult::SearchHits(found) => self.add_search_hits(&found),
            TaskResult::ReturnedMessages(items) => self.restore_messages(&items),
            TaskResult::QueueOutcome(outcome) => self.apply_queue_outcome(outcome),
            TaskResult::SessionSwitched(switched) => self.session_switched(switched),
            TaskResult::Dialog(question) => self.open_dialog(question),
            TaskResult::CodeHighlighted => {}
            TaskResult::Began(errand) => self.model.activity.jobs.push((errand, self.now)),
            TaskResult::Ended(errand) => self.job_ended(errand),
            TaskResult::Login(result) => return self.key_changed(result),
            TaskResult::Page { title, lines } => self.defer_page(Pager::new(&title, lines)),
            TaskResult::History(prompts) => self.composer.editor.prepend_history(prompts),
            TaskResult::ForkId(fork) => self.model.info.fork_id = fork,
            TaskResult::Branch(branch) => self.model.info.branch = branch,
            TaskResult::Commands(commands) => {
                self.model.info.commands = commands;
                self.composer.completion.invalidate();
            }
            TaskResult::Welcome(welcome) => self.model.info.welcome = Some(welcome),
            TaskResult::Note(text) => self.flash(text),
            TaskResult::Warning(text) => self.add_notice(NoticeLevel::Warning, text, None),
            TaskResult::Resolved(text) => self.transcript.mark_outdated(&text),
            TaskResult::Attached(picture) => self.attach_image(picture),
            TaskResult::Edited(text) => self.composer.editor.set_text(&text),
            TaskResult::Paste(text) => self.composer.editor.paste(&text),
            TaskResult::List(result) => return self.apply_list_result(result),
        }
        Vec::new()
    }

    /// Applies a result for a list, the tree or the completion.
    fn apply_list_result(&mut self, result: ListResult) -> Vec<Action> {
        match result {
            ListResult::Items { list, items, selected } => self.fill_list(list, items, selected),
            ListResult::Narrowed(done) => {
                pickers(&mut self.overlays).for_each(|picker| picker.apply_narrowed(&done));
            }
            ListResult::Preview { of, lines } => {
                pickers(&mut self.overlays).for_each(|picker| picker.show_preview(&of, lines.clone()));
            }
            ListResult::ArgumentValues { of, items } => self.show_argument_values(of, items),
            ListResult::Files(files) => return self.set_project_files(files),
            ListResult::Ranked(ranked) => return self.show_ranked_files(ranked),
            ListResult::Paths(listing) => return self.show_listed_paths(listing),
            ListResult::Settings(settings) => self.settings_changed(&settings),
            ListResult::Theme(setting, name) => self.theme_setting_changed(setting, &name),
            ListResult::Status(word) => {
                self.cancel_switch();
                self.show_list_status(word);
            }
            ListResult::SessionsChanged { word, trashed } => return self.sessions_changed(word, trashed),
            ListResult::RenameFailed { path, name, reason } => {
                self.prompt_for_name_again(&path, &name);
                self.show_list_status(reason);
            }
            ListResult::RestoreFailed { path, reason } => {
                self.restore_failed(path);
                self.show_list_status(reason);
            }
            ListResult::Sessions { look, scope, what } => self.show_browse_result(look, scope, &what),
            ListResult::AskToHide { entry, count } => self.ask_to_hide(entry, count),
            ListResult::Tree { session, news } => self.handle_tree_result(&session, news),
            ListResult::ForkCreated(session) => self.forked_beside(&session),
        }
        Vec::new()
    }

    fn fill_list(&mut self, list: ListKind, items: Vec<PickerItem>, selected: usize) {
        if let Some(picker) = pickers(&mut self.overlays).rfind(|picker| picker.list == Some(list)) {
            picker.fill(items, selected);
        }
    }

    fn job_ended(&mut self, job: Job) {
        let at = self.model.activity.jobs.iter().position(|(started, _)| *started == job);
        at.map(|at| self.model.activity.jobs.remove(at));
    }

    /// Moves messages from the queue to the editor, in the order of the queue panel.
    fn restore_messages(&mut self, items: &[QueueItem]) {
        let adopt = |item: &QueueItem| self.composer.editor.restore_images(&item.as_typed(), &item.images);
        let texts: Vec<String> = queue::in_order(items).into_iter().map(adopt).collect();
        if !texts.is_empty() {
            self.composer.editor.put_before(&texts);
        }
    }

    /// Reports whether images can accompany the text in the editor.
    pub(crate) fn accepts_images(&self) -> bool {
        !self.queue.is_editing() && !self.composer.is_writing_reason()
    }

    /// Attaches an image to the text in the editor, unless that is sent as text only.
    fn attach_image(&mut self, AttachedImage { image, size }: AttachedImage) {
        if !self.accepts_images() {
            self.flash("Images can't be attached here; send them with a message.");
            return;
        }
        self.composer.editor.attach(image, size);
        if self.model.info.image_input == ImageInput::Unsupported {
            let (model, models) = (self.model.model_name(), self.ui.keymap.key_of(KeyCommand::PickModel));
            self.flash(format!("{model} takes no images; {models} chooses another model."));
        }
    }

    /// Rejects an action because the executor's queue is full; user input returns to the editor.
    pub(crate) fn reject_action(&mut self, action: Action) {
        match action {
            Action::Background(BackgroundJob::ReadPart(wanted)) => {
                self.transcript.cancel_request(wanted.part())
            }
            Action::List(ListAction::WalkFiles(_)) => self.composer.completion.cancel_walk(),
            Action::List(ListAction::LoadArguments(_)) => self.composer.completion.cancel_gathering(),
            Action::List(ListAction::RestoreSession(path)) => self.restore_failed(path),
            Action::Attach(_, text) => self.composer.editor.paste(&text),
            Action::Navigate(_) => self.restore_typed_ahead(),
            Action::Queue(queue::QueueAction::Restore(removed)) => {
                let items: Vec<QueueItem> = removed.into_iter().map(|removed| removed.item).collect();
                self.restore_messages(&items);
            }
            action => {
                if let Some(typed) = action.typed() {
                    self.restore_input(&typed);
                }
            }
        }
        self.flash("Busy: try again in a moment.");
        self.dirty = Dirty::ByUser;
    }

    /// Returns user input to the editor, with its images.
    pub(crate) fn restore_input(&mut self, typed: &UserText) {
        let text = self.composer.editor.restore_images(&typed.text, &typed.images);
        self.composer.editor.put_before(&[text]);
    }

    fn show_failure(&mut self, what: String, hint: Option<String>, text: Option<UserText>) {
        if let Some(text) = text {
            self.restore_input(&text);
        }
        // A flash about the failed action is obsolete.
        self.flash.clear();
        // A list would cover the error; but the dialog about a failed summary blocks the agent, so it stays.
        if matches!(self.overlays.last(), Some(Overlay::Picker(_) | Overlay::Tree(_))) {
            self.restore_typed_ahead();
            self.overlays.retain(Overlay::is_failure_dialog);
        }
        self.add_notice(NoticeLevel::Error, what, hint);
    }

    fn session_loaded(&mut self, loaded: LoadedSession) -> Vec<Action> {
        self.apply_snapshot(loaded);
        let missed = self.model.info.gap.close();
        let welcomes = self.transcript.has_banner().then_some(Action::Background(BackgroundJob::Welcome));
        let mut actions: Vec<Action> = missed.iter().flat_map(|event| self.apply_event(event)).collect();
        actions.extend(self.restart_search());
        actions.extend(welcomes);
        actions
    }

    fn apply_snapshot(&mut self, loaded: LoadedSession) {
        let LoadedSession { snapshot, newest } = loaded;
        let live = snapshot.in_progress;
        self.outdate_tree();
        self.model.info.seq = snapshot.seq;
        let former = self.transcript.replace(newest);
        self.set_session_state(snapshot.state);
        self.model.info.tools = self.transcript.context().tools.clone();
        self.set_approvals(&live.approvals);
        // The snapshot says whether that dialog is still open; other deferred dialogs exist only here.
        self.close_failure_dialog();
        self.model.activity = SessionActivity {
            opening_since: None,
            retry: live.retry.clone(),
            deferred: std::mem::take(&mut self.model.activity.deferred),
            running_since: live.running_since,
            calls: live.calls.iter().map(CallInProgress::from).collect(),
            bash_since: live.bash.as_ref().map(|bash| bash.since),
            summary: live.summary.clone(),
            jobs: std::mem::take(&mut self.model.activity.jobs),
            queue: Vec::new(),
            approvals: std::mem::take(&mut self.model.activity.approvals),
            streaming: StreamingAnswer::default(),
            last_run_failed: false,
        };
        self.queue_changed(&live.queue);
        // If entries are still unread, the context's size shows whether the session is new.
        let is_new = self.transcript.is_single_part() || self.model.info.context.used.0 == 0;
        if is_new && self.transcript.is_empty() {
            self.open_with_banner();
        }
        if let Some(error) = live.summary.as_ref().and_then(|summary| summary.failed.clone()) {
            self.open_failure_dialog(&error);
        }
        self.restore_in_flight(&live, former);
        if live.running_since.is_none() {
            self.transcript.close_calls();
            self.warn_unanswered();
        }
    }

    /// Warns that the last prompt in the log has no answer, and how to send it again.
    fn warn_unanswered(&mut self) {
        if self.transcript.unanswered().is_some() {
            let send = self.ui.keymap.key_of(KeyCommand::Send);
            let hint = Some(format!("{send} in an empty editor moves it back to the editor"));
            let what = "not answered: tiller stopped first; a partial answer is lost";
            self.transcript.notice(NoticeLevel::Warning, what, hint);
        }
    }

    fn set_session_state(&mut self, state: SessionState) {
        if self.ui.cwd != state.cwd {
            self.composer.completion.forget_files();
        }
        self.ui.cwd = state.cwd;
        self.model.info = SessionInfo {
            seq: self.model.info.seq,
            gap: std::mem::take(&mut self.model.info.gap),
            branch: self.model.info.branch.take(),
            fork_id: self.model.info.fork_id.take(),
            commands: std::mem::take(&mut self.model.info.commands),
            tools: std::mem::take(&mut self.model.info.tools),
            welcome: self.model.info.welcome.take(),
            name: state.name,
            model: Some(state.model),
            thinking: state.thinking,
            image_input: state.image_input,
            context: state.context,
            usage: state.usage,
            approval: state.approval,
        };
    }
}
