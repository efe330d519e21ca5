//! The executor: a task that performs actions with the agent and the log. Prompts and navigation are
//! performed in order, everything else immediately. An abort returns the prompts that are still being
//! prepared ([`submissions`]).
//!
//! Slow reads of the log run in the background.

mod background;
mod credentials;
pub(crate) mod errors;
mod highlight_worker;
mod lists;
pub(crate) mod log_queries;
mod navigate;
mod open_race;
mod queue;
mod races;
pub(crate) mod result_sender;
mod rules;
mod settings;
mod submissions;
pub(crate) mod welcome;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tiller_core::counted::counted;
use tiller_core::id::SessionId;
use tiller_core::message::ThinkingLevel;
use tiller_engine::{AgentError, AgentSession, CycleDirection, Inventory};
use tiller_files::git;
use tiller_render::HighlightCache;
use tiller_session::annotations::Annotations;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::task::{JoinSet, spawn_blocking};

use crate::action::{Action, ActionRequest, SessionEdit};
use crate::address::Address;
use crate::crash_report::NewestReport;
use crate::executor::errors::failure;
use crate::executor::highlight_worker::HighlightWorker;
use crate::executor::log_queries::read_newest;
use crate::executor::open_race::{OpenRace, announce_end};
use crate::executor::result_sender::ResultSender;
use crate::executor::submissions::{SubmissionStep, Submissions};
use crate::list_data::ListContext;
use crate::message::{LoadedSession, TaskReport, TaskResult};
use crate::options::TuiOptions;
use crate::picker::session_query::SearchRequest;
use crate::session_model::Job;
use crate::session_search::browse;
use crate::{attach, list_data};

/// Capacity of the action queue: more than a user can fill while one action runs.
const ACTIONS: usize = 256;

/// Capacity of the result channel; senders wait when it is full.
const REPORTS: usize = 64;

/// Handle of the executor task; the task ends when this is dropped.
pub(super) struct Executor {
    actions: mpsc::Sender<ActionRequest>,
    task: JoinSet<()>,
    highlighter: HighlightWorker,
    results: mpsc::WeakSender<TaskReport>,
}

impl Executor {
    /// Starts the task; returns the receiver of its results.
    pub(super) fn start(
        agent: AgentSession,
        options: TuiOptions,
        highlights: HighlightCache,
        crashes: NewestReport,
    ) -> (Self, mpsc::Receiver<TaskReport>) {
        let (actions, todo) = mpsc::channel(ACTIONS);
        let (reports, received) = mpsc::channel(REPORTS);
        let mut task = JoinSet::new();
        let weak_reports = reports.downgrade();
        let program = options.services.highlighter.clone();
        let highlighter = HighlightWorker::open(program, highlights, &reports, crashes.clone());
        let worker = ExecutorWorker {
            agent,
            options,
            crashes,
            results: ResultSender::new(reports),
            race: None,
            race_session: None,
            session_search: None,
            previews: Arc::default(),
            searches: Arc::default(),
            lookup: Arc::default(),
        };
        task.spawn(worker.run(todo));
        (Self { actions, task, highlighter, results: weak_reports }, received)
    }

    /// Queues an action; returns it if the queue is full.
    pub(super) fn queue(&self, request: ActionRequest) -> Option<ActionRequest> {
        self.actions.try_send(request).err().map(TrySendError::into_inner)
    }

    /// Starts highlighting pending code, if any.
    pub(super) fn highlight(&self) {
        self.highlighter.run();
    }

    /// Returns a sender for results from other tasks; it doesn't keep the channel open.
    pub(super) fn result_sender(&self) -> mpsc::WeakSender<TaskReport> {
        self.results.clone()
    }

    /// Stops accepting actions; the results end after the queued actions. The task runs as long as the
    /// returned set lives.
    pub(super) fn finish(self) -> JoinSet<()> {
        self.task
    }
}

struct ExecutorWorker {
    agent: AgentSession,
    options: TuiOptions,
    /// The report of a crash that didn't end the program.
    crashes: NewestReport,
    /// Sends the results of the current action.
    results: ResultSender,
    /// The running session search; it ends when this is dropped.
    session_search: Option<std::sync::mpsc::Sender<(ResultSender, SearchRequest)>>,
    /// Number of previews requested.
    previews: Arc<AtomicU64>,
    /// Number of tree searches started or ended; a search runs while its number is the newest.
    searches: Arc<AtomicU64>,
    /// The race of the session; its lanes are stopped when this is dropped.
    race: Option<OpenRace>,
    /// The session whose log was searched for a race.
    race_session: Option<SessionId>,
    /// Number of the newest transcript search.
    lookup: Arc<AtomicU64>,
}

impl ExecutorWorker {
    async fn run(mut self, mut todo: mpsc::Receiver<ActionRequest>) {
        let mut background = JoinSet::new();
        // Not awaited at the end: closing the session ends them.
        let mut detached = JoinSet::new();
        let mut submissions = Submissions::new(self.agent.clone(), self.options.home.clone());
        let mut is_open = true;
        loop {
            let (to, reports) = tokio::select! {
                biased;
                // First, so that the agent has a prompt without preparation before the next action.
                step = submissions.next(), if !submissions.is_empty() => match step {
                    SubmissionStep::Over(reports) => (Address::Screen, reports),
                    SubmissionStep::Navigate(target, from) => {
                        let request = ActionRequest { from, action: Action::Navigate(target) };
                        (from, self.perform_reporting(request, &mut background, &mut detached).await)
                    }
                },
                request = todo.recv(), if is_open && submissions.has_room() => match request {
                    Some(ActionRequest { from, action: Action::Submit(submit) }) => {
                        (from, submissions.submit(submit))
                    }
                    Some(ActionRequest { from, action: Action::Navigate(target) }) => {
                        submissions.navigate(target, from);
                        (from, Vec::new())
                    }
                    Some(ActionRequest { from, action: Action::Abort }) => {
                        (from, self.abort(&mut submissions).await)
                    }
                    Some(request) => {
                        let from = request.from;
                        (from, self.perform_reporting(request, &mut background, &mut detached).await)
                    }
                    None => {
                        is_open = false;
                        (Address::Screen, Vec::new())
                    }
                },
                reports = announce_end(&mut self.race), if is_open => (Address::Screen, reports),
                else => break,
            };
            self.results.set_address(to);
            for report in reports {
                if self.results.send(report).await.is_err() {
                    return;
                }
            }
        }
        self.session_search = None;
        self.lookup.store(u64::MAX, Ordering::Relaxed);
        while background.join_next().await.is_some() {}
    }

    /// Stops the agent; undelivered input returns to the user.
    async fn abort(&self, submissions: &mut Submissions) -> Vec<TaskResult> {
        let undelivered = submissions.stop();
        // The agent returns a prompt that it is still preparing to its submission, which reports it.
        let queued = match self.agent.abort().await {
            Ok(items) => TaskResult::ReturnedMessages(items),
            Err(error) => failure(&error, None),
        };
        undelivered.into_iter().chain([queued]).collect()
    }

    async fn perform_reporting(
        &mut self,
        ActionRequest { from, action }: ActionRequest,
        background: &mut JoinSet<()>,
        detached: &mut JoinSet<()>,
    ) -> Vec<TaskResult> {
        self.results.set_address(from);
        self.reap(background, detached).await;
        let text = action.typed();
        let outcome = self.perform(action, background, detached).await;
        outcome.unwrap_or_else(|error| vec![failure(&error, text)])
    }

    /// Removes finished jobs and reports panics; the other jobs continue.
    async fn reap(&self, background: &mut JoinSet<()>, detached: &mut JoinSet<()>) {
        while let Some(ended) = background.try_join_next().or_else(|| detached.try_join_next()) {
            if ended.is_err_and(|error| error.is_panic()) {
                // The loop may have ended.
                let _ = self.results.send(errors::internal_error(&self.crashes)).await;
            }
        }
    }

    async fn perform(
        &mut self,
        action: Action,
        background: &mut JoinSet<()>,
        detached: &mut JoinSet<()>,
    ) -> Result<Vec<TaskResult>, AgentError> {
        let agent = &self.agent;
        Ok(match action {
            // Performed by `run`.
            Action::Submit(_) | Action::Abort => Vec::new(),
            Action::Navigate(target) => self.perform_navigation(target, detached).await?,
            Action::MoveToBackground => self.move_to_background().await?,
            Action::Queue(order) => queue::perform(agent, order).await?,
            Action::Decide(call, decision) => no_result(agent.decide(call, decision).await?),
            Action::AnswerElicitation(id, answer) => {
                match agent.answer_elicitation(id, answer).await {
                    // Withdrawn in the meantime.
                    Err(AgentError::NotFound(_)) => Vec::new(),
                    answered => no_result(answered?),
                }
            }
            Action::Compact(text) => self.compact(text, detached),
            Action::Truncate => self.truncate(detached),
            Action::Edit(change) => self.edit_session(change).await?,
            Action::List(job) => self.perform_list_action(job, background).await?,
            Action::Background(job) => {
                self.start_job(job, background);
                Vec::new()
            }
            Action::SearchSessions(request) => no_result(self.search_sessions(request, background).await?),
            Action::EndSessionSearch => {
                self.session_search = None;
                Vec::new()
            }
            Action::Reload => self.load().await?,
            Action::Refresh => self.refresh(background).await?,
            Action::LoadCommands => vec![
                TaskResult::Commands(agent.slash_commands().await?),
                TaskResult::Resources(agent.served_resources().await?),
            ],
            Action::ReloadResources => self.read_resources().await?,
            Action::ShowSessionInfo { width } => self.show_session_info(width).await?,
            Action::ShowCost => self.show_cost().await?,
            Action::ShowContext { width } => self.show_context(width).await?,
            Action::ShowToolServers => self.show_tool_servers().await?,
            Action::Export(file) => self.export(file, background).await?,
            Action::Attach(path, text) => self.attach(path, text, background).await?,
            // Performed by the event loop.
            Action::Terminal(_) => Vec::new(),
        })
    }

    /// Edits the session's properties.
    async fn edit_session(&self, change: SessionEdit) -> Result<Vec<TaskResult>, AgentError> {
        let agent = &self.agent;
        Ok(match change {
            SessionEdit::SetModel(text) => self.set_model(text).await?,
            SessionEdit::CycleModel(direction) => self.cycle_model(direction).await?,
            SessionEdit::SetThinking(level) => self.set_thinking(level).await?,
            SessionEdit::Rename(name) => no_result(agent.rename(name).await?),
            SessionEdit::Label(label) => self.label(label).await?,
            SessionEdit::LabelEntry(entry, label) => no_result(agent.label(entry, label).await?),
            SessionEdit::Hide(entry, visibility) => no_result(agent.hide(entry, visibility).await?),
            SessionEdit::ResolveCompaction(choice) => no_result(agent.resolve_compaction(choice).await?),
        })
    }

    async fn show_session_info(&self, width: usize) -> Result<Vec<TaskResult>, AgentError> {
        let files = self.agent.context_breakdown().await?.files().cloned().collect();
        let (home, dirs) = (self.options.home.clone(), self.options.dirs.clone());
        let about = ListContext { home, dirs, files, width };
        let lines = list_data::facts(&self.agent.state().await?.state, &self.agent.reader(), &about);
        Ok(vec![TaskResult::Page { title: "session".to_owned(), lines }])
    }

    async fn show_cost(&self) -> Result<Vec<TaskResult>, AgentError> {
        let lines = self.agent.stats().await?.cost_lines();
        let lines = list_data::text_lines(lines);
        Ok(vec![TaskResult::Page { title: "cost".to_owned(), lines }])
    }

    async fn show_context(&self, width: usize) -> Result<Vec<TaskResult>, AgentError> {
        let breakdown = self.agent.context_breakdown().await?;
        let lines = list_data::context(&breakdown, self.options.home.as_deref(), width);
        Ok(vec![TaskResult::Page { title: "context".to_owned(), lines }])
    }

    /// Moves the running command to the background. It may have ended in the meantime.
    async fn move_to_background(&self) -> Result<Vec<TaskResult>, AgentError> {
        match self.agent.move_to_background().await {
            Ok(()) => Ok(Vec::new()),
            Err(AgentError::NotFound(_)) => {
                Ok(vec![TaskResult::Note("The command has already finished.".to_owned())])
            }
            Err(error) => Err(error),
        }
    }

    async fn show_tool_servers(&self) -> Result<Vec<TaskResult>, AgentError> {
        let lines = list_data::tool_servers(&self.agent.tool_servers().await?);
        Ok(vec![TaskResult::Page { title: "MCP servers".to_owned(), lines }])
    }

    async fn set_model(&self, text: String) -> Result<Vec<TaskResult>, AgentError> {
        let model = self.agent.set_model(text).await?;
        Ok(vec![TaskResult::Note(format!("Model: {model}, starting with the next request."))])
    }

    async fn refresh(&self, background: &mut JoinSet<()>) -> Result<Vec<TaskResult>, AgentError> {
        let state = self.agent.state().await?.state;
        let cwd = state.cwd.clone();
        self.read_in_background(background, move || TaskResult::Branch(git::branch(&cwd)));
        Ok(vec![TaskResult::State(Box::new(state))])
    }

    /// Passes a request to the session search; starts the search if it isn't running.
    async fn search_sessions(
        &mut self,
        request: SearchRequest,
        background: &mut JoinSet<()>,
    ) -> Result<(), AgentError> {
        let request = match &self.session_search {
            Some(browser) => match browser.send((self.results.clone(), request)) {
                Ok(()) => return Ok(()),
                Err(unsent) => unsent.0.1,
            },
            None => request,
        };
        let catalog = self.agent.catalog().await?;
        let (sender, receiver) = std::sync::mpsc::channel();
        let session = self.agent.reader().id().clone();
        background.spawn_blocking(move || browse(catalog, session, &receiver));
        // The search has just started, so it receives this.
        let _ = sender.send((self.results.clone(), request));
        self.session_search = Some(sender);
        Ok(())
    }

    async fn set_thinking(&self, level: ThinkingLevel) -> Result<Vec<TaskResult>, AgentError> {
        let applied = self.agent.set_thinking(level).await?;
        if applied == level {
            return Ok(vec![TaskResult::Note(format!("Thinking: {}.", applied.name()))]);
        }
        let model = self.agent.state().await?.state.model;
        let levels = self.agent.thinking_levels().await?;
        let reason = match levels.iter().any(|level| *level != ThinkingLevel::Off) {
            true => format!("{} has no level {}; thinking: {}.", model.id, level.name(), applied.name()),
            false => format!("{} doesn't support thinking.", model.id),
        };
        Ok(vec![TaskResult::Note(reason)])
    }

    async fn label(&self, label: Option<String>) -> Result<Vec<TaskResult>, AgentError> {
        let reader = self.agent.reader();
        let Some(entry) = list_data::newest_message(&reader) else {
            return Ok(vec![TaskResult::Note("Nothing to label yet.".to_owned())]);
        };
        if label.is_none() && !Annotations::has_label(&reader, &entry) {
            let text = "The newest message has no label; /label NAME sets one.";
            return Ok(vec![TaskResult::Note(text.to_owned())]);
        }
        let note = label.as_ref().map_or("Label removed.".to_owned(), |label| format!("Labeled {label}."));
        self.agent.label(entry, label).await?;
        Ok(vec![TaskResult::Note(note)])
    }

    async fn cycle_model(&self, direction: CycleDirection) -> Result<Vec<TaskResult>, AgentError> {
        let note = match self.agent.cycle_model(direction).await? {
            Some(chosen) => format!("Model: {}, starting with the next request.", chosen.model),
            None => "No other model is available.".to_owned(),
        };
        Ok(vec![TaskResult::Note(note)])
    }

    async fn export(
        &self,
        file: String,
        background: &mut JoinSet<()>,
    ) -> Result<Vec<TaskResult>, AgentError> {
        let Some(exporter) = self.options.services.exporter.clone() else {
            return Ok(vec![TaskResult::Note("Export is not available.".to_owned())]);
        };
        let cwd = self.agent.state().await?.state.cwd;
        let reader = self.agent.reader();
        self.run_job(Job::Export, background, move || match exporter.export(&reader, &cwd, &file) {
            Ok(path) => TaskResult::Note(format!("Exported to {}.", path.display())),
            // The command returns to the editor for correction.
            Err((message, hint)) => {
                TaskResult::Failed { message, hint, text: Some(format!("/export {file}").into()) }
            }
        });
        Ok(Vec::new())
    }

    async fn load(&mut self) -> Result<Vec<TaskResult>, AgentError> {
        let snapshot = *self.agent.snapshot().await?;
        let (reader, tools) = (self.agent.reader(), self.agent.tool_catalog());
        let cwd = snapshot.state.cwd.clone();
        let fork_id = reader.header().parent_session.as_ref().map(|_| snapshot.state.session.clone());
        let read = move || (read_newest(&reader, tools), git::branch(&cwd));
        let read = spawn_blocking(read).await;
        let fault = read.is_err().then(|| errors::internal_error(&self.crashes));
        let (newest, branch) = read.unwrap_or_default();
        let loaded = TaskResult::Loaded(Box::new(LoadedSession { snapshot, newest }));
        // The session is shown even if its commands can't be listed.
        let commands = self.agent.slash_commands().await.map(TaskResult::Commands);
        let commands = commands.unwrap_or_else(|error| failure(&error, None));
        let results = [loaded, TaskResult::Branch(branch), TaskResult::ForkId(fork_id), commands];
        for result in results.into_iter().chain(fault) {
            // The loop may have ended.
            let _ = self.results.send(result).await;
        }
        Ok([self.find_interrupted_agents().await, self.find_race().await].into_iter().flatten().collect())
    }

    async fn read_resources(&self) -> Result<Vec<TaskResult>, AgentError> {
        let Inventory { skills, templates, context_files, problems } = self.agent.reload().await?;
        let trouble = if problems == 0 { String::new() } else { format!("; {problems} with problems") };
        let skills = counted(skills, "skill", "skills");
        let templates = counted(templates, "template", "templates");
        let files = counted(context_files, "context file", "context files");
        let note = format!("{skills}, {templates}, {files}{trouble}");
        let (settings, failures) = self.reload_settings().await;
        let note = settings.map_or(note.clone(), |settings| format!("{settings} · {note}"));
        Ok([TaskResult::Note(note)].into_iter().chain(failures).collect())
    }

    /// Attaches the image in a file whose path was pasted, or pastes the text.
    async fn attach(
        &self,
        path: PathBuf,
        text: String,
        background: &mut JoinSet<()>,
    ) -> Result<Vec<TaskResult>, AgentError> {
        let path = self.agent.state().await?.state.cwd.join(path);
        let reports = self.results.clone();
        background.spawn_blocking(move || {
            let (pasted, error) = match attach::file(&path) {
                Ok(picture) => (TaskResult::Attached(picture), None),
                Err(_) if !path.is_file() => (TaskResult::Paste(text), None),
                Err(error) => (TaskResult::Paste(text), Some(error)),
            };
            let _ = reports.blocking_send(pasted);
            if let Some(error) = error {
                let _ = reports.blocking_send(TaskResult::Note(error));
            }
        });
        Ok(Vec::new())
    }
}

/// Returns no result, because an event reports the change.
fn no_result((): ()) -> Vec<TaskResult> {
    Vec::new()
}
