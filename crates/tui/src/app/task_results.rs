//! Applies task results to the app's state.

use tiller_core::event::QueueItem;
use tiller_engine::{SessionState, SessionSwitched};
use tiller_provider::catalog::ImageInput;

use super::{
    Action, App, BackgroundJob, CallInProgress, Job, ListAction, ListKind, ListResult, LoadedSession,
    SessionActivity, SessionInfo, TaskResult, UserText,
};
use crate::approval::PendingApproval;
use crate::attach::AttachedImage;
use crate::block::NoticeLevel;
use crate::frame_pacer::Dirty;
use crate::keymap::KeyCommand;
use crate::overlay::{Overlay, pickers};
use crate::pager::Pager;
use crate::picker::PickerItem;
use crate::queue;

impl App {
    /// Switches to another session. A prompt that returns with it, and text typed while it was opening, are
    /// put before the draft.
    fn session_switched(&mut self, switched: SessionSwitched) {
        self.keep_typed_ahead();
        self.popups.clear();
        self.work.unasked.clear();
        self.queue.forget_removed();
        if let Some(text) = switched.editor {
            self.editor.put_before(&[text]);
        }
    }

    /// Cancels a pending session switch in lists and the tree; returns the text typed during it.
    pub(crate) fn stay(&mut self) -> Option<String> {
        self.popups.iter_mut().filter_map(Overlay::stay).next()
    }

    /// Cancels a pending session switch and moves the text typed during it to the editor.
    pub(crate) fn keep_typed_ahead(&mut self) {
        if let Some(typed) = self.stay() {
            self.editor.put_before(&[typed]);
        }
    }

    pub(super) fn report(&mut self, report: TaskResult) -> Vec<Action> {
        match report {
            TaskResult::Failed { what, hint, text } => self.show_failure(what, hint, text),
            TaskResult::Slip { typed, what, origin } => self.slipped(typed, what, origin),
            TaskResult::Loaded(loaded) => return self.session_loaded(*loaded),
            TaskResult::State(state) => self.set_session_state(*state),
            TaskResult::Read { wanted, entries, ahead } => self.transcript.take(&wanted, &entries, &ahead),
            TaskResult::BranchPoints { epoch, points } => self.transcript.recount(epoch, points),
            TaskResult::Found(found) => self.found(&found),
            TaskResult::Queue(items) => self.restore_messages(&items),
            TaskResult::Waiting(outcome) => self.apply_queue_outcome(outcome),
            TaskResult::Moved(switched) => self.session_switched(switched),
            TaskResult::Ask(question) => self.ask(question),
            TaskResult::CodeTold => {}
            TaskResult::Began(errand) => self.work.errands.push((errand, self.now)),
            TaskResult::Ended(errand) => self.job_ended(errand),
            TaskResult::Key(result) => return self.key_changed(result),
            TaskResult::Page { title, lines } => self.defer_page(Pager::new(&title, lines)),
            TaskResult::Earlier(prompts) => self.editor.know_earlier(prompts),
            TaskResult::Fork(fork) => self.facts.fork = fork,
            TaskResult::Branch(branch) => self.facts.branch = branch,
            TaskResult::Commands(commands) => {
                self.facts.commands = commands;
                self.complete.forget();
            }
            TaskResult::Welcome(welcome) => self.facts.welcome = Some(welcome),
            TaskResult::Note(text) => self.flash(text),
            TaskResult::Warning(text) => self.say(NoticeLevel::Warning, text, None),
            TaskResult::Resolved(text) => self.transcript.overcome(&text),
            TaskResult::Attached(picture) => self.attach_image(picture),
            TaskResult::Edited(text) => self.editor.set_text(&text),
            TaskResult::Paste(text) => self.editor.paste(&text),
            TaskResult::List(result) => return self.apply_list_result(result),
        }
        Vec::new()
    }

    /// Applies a result for a list, the tree or the completion.
    fn apply_list_result(&mut self, result: ListResult) -> Vec<Action> {
        match result {
            ListResult::Items { list, items, selected } => self.fill_list(list, items, selected),
            ListResult::Narrowed(done) => {
                pickers(&mut self.popups).for_each(|picker| picker.narrowed(&done));
            }
            ListResult::Preview { of, lines } => {
                pickers(&mut self.popups).for_each(|picker| picker.show(&of, lines.clone()));
            }
            ListResult::Words { of, items } => self.know_words(of, items),
            ListResult::Files(files) => return self.know_files(files),
            ListResult::Ranked(ranked) => return self.files_ranked(ranked),
            ListResult::Listed(listing) => return self.paths_listed(listing),
            ListResult::Settings(settings) => self.settings_changed(&settings),
            ListResult::Theme(setting, name) => self.theme_setting_changed(setting, &name),
            ListResult::Said(word) => {
                self.stay();
                self.say_in_list(word);
            }
            ListResult::SessionsChanged { word, trashed } => return self.sessions_changed(word, trashed),
            ListResult::NotNamed { path, name, why } => {
                self.ask_for_name_again(&path, &name);
                self.say_in_list(why);
            }
            ListResult::NotRestored { path, why } => {
                self.not_restored(path);
                self.say_in_list(why);
            }
            ListResult::Browsed { look, scope, what } => self.browsed(look, scope, &what),
            ListResult::AskToHide { entry, count } => self.ask_to_hide(entry, count),
            ListResult::Tree { session, news } => self.tree_news(&session, news),
            ListResult::Beside(session) => self.forked_beside(&session),
        }
        Vec::new()
    }

    fn fill_list(&mut self, list: ListKind, items: Vec<PickerItem>, selected: usize) {
        if let Some(picker) = pickers(&mut self.popups).rfind(|picker| picker.list == Some(list)) {
            picker.fill(items, selected);
        }
    }

    fn job_ended(&mut self, job: Job) {
        let at = self.work.errands.iter().position(|(started, _)| *started == job);
        at.map(|at| self.work.errands.remove(at));
    }

    /// Moves messages from the queue to the editor, in the order of the queue panel.
    fn restore_messages(&mut self, items: &[QueueItem]) {
        let adopt = |item: &QueueItem| self.editor.adopt(&item.as_typed(), &item.images);
        let texts: Vec<String> = queue::in_order(items).into_iter().map(adopt).collect();
        if !texts.is_empty() {
            self.editor.put_before(&texts);
        }
    }

    /// The name of the current model.
    pub(crate) fn model_name(&self) -> &str {
        self.facts.model.as_ref().map_or("this model", |model| model.id.as_str())
    }

    /// Reports whether images can accompany the text in the editor.
    pub(crate) fn takes_pictures(&self) -> bool {
        let is_reason = self.work.approvals.first().is_some_and(PendingApproval::is_reasoning);
        !self.queue.is_editing() && !is_reason
    }

    /// Attaches an image to the text in the editor, unless that is sent as text only.
    fn attach_image(&mut self, AttachedImage { image, size }: AttachedImage) {
        if !self.takes_pictures() {
            self.flash("Images can't be attached here; send them with a message.");
            return;
        }
        self.editor.attach(image, size);
        if self.facts.sight == ImageInput::Unsupported {
            let (model, models) = (self.model_name(), self.place.keymap.key_of(KeyCommand::PickModel));
            self.flash(format!("{model} takes no images; {models} chooses another model"));
        }
    }

    /// Rejects an action because the executor's queue is full; user input returns to the editor.
    pub(crate) fn refused(&mut self, action: Action) {
        match action {
            Action::Beside(BackgroundJob::Read(wanted)) => self.transcript.unask(wanted.part()),
            Action::InList(ListAction::WalkFiles(_)) => self.complete.walk_refused(),
            Action::InList(ListAction::GatherWords(_)) => self.complete.words_refused(),
            Action::InList(ListAction::RestoreSession(path)) => self.not_restored(path),
            Action::Attach(_, text) => self.editor.paste(&text),
            Action::Go(_) => self.keep_typed_ahead(),
            Action::Queue(queue::QueueAction::PutBack(removed)) => {
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
        self.stale = Dirty::ByUser;
    }

    /// Returns user input to the editor, with its images.
    pub(crate) fn restore_input(&mut self, typed: &UserText) {
        let text = self.editor.adopt(&typed.text, &typed.images);
        self.editor.put_before(&[text]);
    }

    fn show_failure(&mut self, what: String, hint: Option<String>, text: Option<UserText>) {
        if let Some(text) = text {
            self.restore_input(&text);
        }
        // A flash about the failed action is obsolete.
        self.notes.flash = None;
        // A list would cover the error; but the dialog about a failed summary blocks the agent, so it stays.
        if matches!(self.popups.last(), Some(Overlay::Pick(_) | Overlay::Tree(_))) {
            self.keep_typed_ahead();
            self.popups.retain(Overlay::is_of_failure);
        }
        self.say(NoticeLevel::Error, what, hint);
    }

    fn session_loaded(&mut self, loaded: LoadedSession) -> Vec<Action> {
        self.apply_snapshot(loaded);
        let missed = self.facts.gap.close();
        let welcomes = self.transcript.has_banner().then_some(Action::Beside(BackgroundJob::Welcome));
        let mut actions: Vec<Action> = missed.iter().flat_map(|event| self.agent(event)).collect();
        actions.extend(self.search_anew());
        actions.extend(welcomes);
        actions
    }

    fn apply_snapshot(&mut self, loaded: LoadedSession) {
        let LoadedSession { snapshot, newest } = loaded;
        let live = snapshot.live;
        self.outdate_tree();
        self.facts.seq = snapshot.seq;
        let former = self.transcript.replace(newest);
        self.set_session_state(snapshot.state);
        self.set_approvals(&live.approvals);
        // The snapshot says whether that dialog is still open; other deferred dialogs exist only here.
        self.close_failure_dialog();
        self.work = SessionActivity {
            opening_since: None,
            retry: live.retry.clone(),
            unasked: std::mem::take(&mut self.work.unasked),
            running_since: live.running_since,
            calls: live.calls.iter().map(CallInProgress::from).collect(),
            bash_since: live.bash.as_ref().map(|bash| bash.since),
            summary: live.summary.clone(),
            errands: std::mem::take(&mut self.work.errands),
            queue: Vec::new(),
            approvals: std::mem::take(&mut self.work.approvals),
            output: super::StreamingAnswer::default(),
            failed: false,
        };
        self.queue_changed(&live.queue);
        // If entries are still unread, the context's size shows whether the session is new.
        let is_new = self.transcript.is_whole() || self.facts.context.used.0 == 0;
        if is_new && self.transcript.is_empty() {
            self.open_with_banner();
        }
        if let Some(error) = live.summary.as_ref().and_then(|summary| summary.failed.clone()) {
            self.open_failure_dialog(&error);
        }
        self.take_up(&live, former);
        if live.running_since.is_none() {
            self.transcript.settle();
            self.warn_unanswered();
        }
    }

    /// Warns that the last prompt in the log has no answer, and how to send it again.
    fn warn_unanswered(&mut self) {
        if self.transcript.unanswered().is_some() {
            let send = self.place.keymap.key_of(KeyCommand::Send);
            let hint = Some(format!("{send} in an empty editor moves it back to the editor"));
            let what = "not answered: tiller stopped first; a partial answer is lost";
            self.transcript.say(NoticeLevel::Warning, what, hint);
        }
    }

    fn set_session_state(&mut self, state: SessionState) {
        if self.place.cwd != state.cwd {
            self.complete.forget_files();
        }
        self.place.cwd = state.cwd;
        self.facts = SessionInfo {
            seq: self.facts.seq,
            gap: std::mem::take(&mut self.facts.gap),
            branch: self.facts.branch.take(),
            fork: self.facts.fork.take(),
            commands: std::mem::take(&mut self.facts.commands),
            welcome: self.facts.welcome.take(),
            name: state.name,
            model: Some(state.model),
            thinking: state.thinking,
            sight: state.sight,
            context: state.context,
            usage: state.usage,
            approval: state.approval,
        };
    }
}
