//! Carrying out what was decided: one task that asks the agent and reads the log, in the order in which it is told.
//!
//! In order, so that two messages sent quickly arrive as they were typed. What reads much of the log runs beside it.

mod keys;
mod lists;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::task::{JoinSet, spawn_blocking};

use super::app::{Action, Go, Loaded, Report, Say};
use super::attach::{self, Clip};
use super::browse::{Ask, browse};
use super::record::Stretch;
use super::search::{Found, Lookup, hits};
use super::transcript::Wanted;
use super::tree;
use super::{TuiOptions, files, gather, logs, queue, report};
use crate::agent::compaction::CompactionError;
use crate::agent::{
    AgentError, AgentSession, BranchSummary, Direction, Inventory, PromptOptions, StreamingBehavior,
};
use crate::id::{CallId, EntryId};
use crate::message::{Image, Message, ThinkingLevel};
use crate::render;
use crate::session::{Entry, Reader};
use crate::setting::Setting;
use crate::unit::UnixMs;

/// Actions that may wait: more than a person can type while one is carried out.
const ACTIONS: usize = 256;

/// Reports that may wait for the loop; whoever has more to say waits.
const REPORTS: usize = 64;

/// Entries that are read before the first frame.
const FIRST: usize = 150;

/// The task that carries actions out; it ends when this is dropped.
pub(super) struct Performer {
    actions: mpsc::Sender<Action>,
    task: JoinSet<()>,
}

impl Performer {
    /// Begins; what comes of the actions is to be received.
    pub(super) fn start(agent: AgentSession, options: TuiOptions) -> (Self, mpsc::Receiver<Report>) {
        let (actions, todo) = mpsc::channel(ACTIONS);
        let (reports, received) = mpsc::channel(REPORTS);
        let mut task = JoinSet::new();
        let (looked, searches, lookup) = (Arc::default(), Arc::default(), Arc::default());
        task.spawn(Worker { agent, options, reports, browser: None, looked, searches, lookup }.work(todo));
        (Self { actions, task }, received)
    }

    /// Tells it to carry out an action; gives it back when it has too much to do.
    pub(super) fn tell(&self, action: Action) -> Option<Action> {
        self.actions.try_send(action).err().map(TrySendError::into_inner)
    }

    /// Takes no more actions; when those it has are carried out, the reports end. The task goes on while the answer is held.
    pub(super) fn finish(self) -> JoinSet<()> {
        self.task
    }
}

struct Worker {
    agent: AgentSession,
    options: TuiOptions,
    reports: mpsc::Sender<Report>,
    /// Whoever looks through the sessions; the look ends when this is dropped.
    browser: Option<std::sync::mpsc::Sender<Ask>>,
    /// How many previews were asked for.
    looked: Arc<AtomicU64>,
    /// How many searches of the tree were begun or ended: each goes on as long as there is none after it.
    searches: Arc<AtomicU64>,
    /// The number of the newest look for words.
    lookup: Arc<AtomicU64>,
}

/// What became of an action that may go on beside.
enum Begun {
    Here,
    /// It isn't one.
    NotHere(Action),
}

impl Worker {
    async fn work(mut self, mut todo: mpsc::Receiver<Action>) {
        let mut beside = JoinSet::new();
        // Nobody waits for these in the end: closing the session stops them.
        let mut waiting = JoinSet::new();
        while let Some(action) = todo.recv().await {
            self.reap(&mut beside, &mut waiting).await;
            let text = action.typed();
            let done = match action {
                Action::Browse(ask) => self.browse(ask, &mut beside).await.map(|()| Vec::new()),
                Action::EndBrowse => {
                    self.browser = None;
                    Ok(Vec::new())
                }
                action => match self.in_list(action, &mut beside).await {
                    Ok(done) => done,
                    Err(action) => self.perform(action, &mut beside, &mut waiting).await,
                },
            };
            let reports = match done {
                Ok(reports) => reports,
                Err(error) => vec![failed(&error, text)],
            };
            for report in reports {
                if self.reports.send(report).await.is_err() {
                    return;
                }
            }
        }
        self.browser = None;
        self.lookup.store(u64::MAX, Ordering::Relaxed);
        while beside.join_next().await.is_some() {}
    }

    /// Takes leave of what is done. What fell over is told: the rest goes on without it.
    async fn reap(&self, beside: &mut JoinSet<()>, waiting: &mut JoinSet<()>) {
        while let Some(ended) = beside.try_join_next().or_else(|| waiting.try_join_next()) {
            if ended.is_err_and(|error| error.is_panic()) {
                let what =
                    "a part of tiller failed because of a fault of its own; the rest goes on".to_owned();
                let hint =
                    report::newest().map(|path| format!("what is known of it is in {}", path.display()));
                // The loop may be gone; then nobody is to be told.
                let _ = self.reports.send(Report::Failed { what, hint, text: None }).await;
            }
        }
    }

    /// Begins what goes on beside and reports when it is done.
    fn begin(&self, action: Action, beside: &mut JoinSet<()>) -> Begun {
        match action {
            Action::Tree(ask) => self.look(ask, beside),
            Action::AskToHide(entry) => self.ask_to_hide(entry, beside),
            Action::Keep { setting, value } => self.keep(setting, value, beside),
            Action::Read(wanted) => {
                let reader = self.agent.reader();
                self.read_beside(beside, move || read_part(&reader, wanted));
            }
            Action::Search(lookup) => self.search(lookup, beside),
            Action::ShowLogs => {
                let (log, reports) = (self.options.log_file.clone(), self.options.report_folder.clone());
                self.read_beside(beside, move || logs::page(log.as_deref(), reports.as_deref()));
            }
            Action::TellCode => self.tell_code(beside),
            Action::Remember(prompt) => self.remember(prompt, beside),
            Action::PasteImage => self.read_beside(beside, || match attach::clipboard() {
                Clip::Picture(picture) => Report::Attached(picture),
                Clip::Text(text) => Report::Pasted(text),
                Clip::Nothing(why) => Report::Note(why),
            }),
            action => return Begun::NotHere(action),
        }
        Begun::Here
    }

    async fn perform(
        &self,
        action: Action,
        beside: &mut JoinSet<()>,
        waiting: &mut JoinSet<()>,
    ) -> Result<Vec<Report>, AgentError> {
        let agent = &self.agent;
        let action = match self.begin(action, beside) {
            Begun::Here => return Ok(Vec::new()),
            Begun::NotHere(action) => action,
        };
        Ok(match action {
            Action::Say(say) => self.say(say).await?,
            Action::Go(go) => self.go(go, waiting).await?,
            Action::Abort => vec![Report::Queue(agent.abort().await?)],
            Action::Queue(order) => queue::perform::perform(agent, order).await?,
            Action::Decide(call, decision) => said(agent.decide(call, decision).await?),
            Action::SetModel(words) => self.set_model(words).await?,
            Action::CycleModel(direction) => self.cycle_model(direction).await?,
            Action::SetThinking(level) => self.set_thinking(level).await?,
            Action::Rename(name) => said(agent.rename(name).await?),
            Action::Label(label) => self.label(label).await?,
            Action::LabelEntry(entry, label) => said(agent.label(entry, label).await?),
            Action::Hide(entry, visibility) => said(agent.hide(entry, visibility).await?),
            Action::Compact(words) => self.compact(words, waiting),
            Action::ResolveCompaction(choice) => said(agent.resolve_compaction(choice).await?),
            Action::Reload => self.load().await?,
            Action::AskCommands => vec![Report::Commands(agent.slash_commands().await?)],
            Action::ReadResources => self.read_resources().await?,
            Action::Refresh => self.refresh(beside).await?,
            Action::ShowFacts => self.facts().await?,
            Action::Export(file) => self.export(file, beside).await?,
            Action::Attach(path, text) => self.attach(path, text, beside).await?,
            // What lists want, and what goes on beside, is begun already; looks through sessions are begun and ended by the caller; the others need the terminal, and the loop does them itself.
            Action::Gather(_)
            | Action::Narrow(_)
            | Action::Preview(_)
            | Action::NameSession(..)
            | Action::TrashSession(_)
            | Action::RestoreSession(_)
            | Action::SetApproval(_)
            | Action::ToggleTool(_)
            | Action::Set(..)
            | Action::Key(_)
            | Action::Import(_)
            | Action::WalkFiles(_)
            | Action::RankFiles(_)
            | Action::ListPaths(_)
            | Action::Tree(_)
            | Action::AskToHide(_)
            | Action::Keep { .. }
            | Action::Read(_)
            | Action::Search(_)
            | Action::ShowLogs
            | Action::TellCode
            | Action::Remember(_)
            | Action::PasteImage
            | Action::Browse(_)
            | Action::EndBrowse
            | Action::Copy(_)
            | Action::EditElsewhere(_)
            | Action::Suspend
            | Action::Quit => Vec::new(),
        })
    }

    async fn facts(&self) -> Result<Vec<Report>, AgentError> {
        let lines = gather::facts(&self.agent.snapshot().await?.state, &self.agent.reader());
        Ok(vec![Report::Page { title: "session".to_owned(), lines }])
    }

    /// Tells the agent, or the shell, what the user said. Pictures that are named in it go with it.
    async fn say(&self, say: Say) -> Result<Vec<Report>, AgentError> {
        let (say, mut images) = match say {
            Say::WithPictures(say, images) => (*say, images),
            say => (say, Vec::new()),
        };
        let (named, problems) = self.pictures_named(&say).await?;
        images.extend(named);
        self.tell_agent(say, images).await?;
        Ok(problems.into_iter().map(Report::Note).collect())
    }

    async fn pictures_named(&self, say: &Say) -> Result<(Vec<Image>, Vec<String>), AgentError> {
        let paths = match say {
            Say::Steer(text) | Say::SteerNow(text) | Say::FollowUp(text) => {
                attach::named_in(text, self.options.home.as_deref())
            }
            Say::Hurry | Say::Bash(..) | Say::WithPictures(..) => Vec::new(),
        };
        if paths.is_empty() {
            return Ok(Default::default());
        }
        let cwd = self.agent.snapshot().await?.state.cwd;
        let read = move || attach::files(paths.into_iter().map(|path| cwd.join(path)).collect());
        Ok(spawn_blocking(read).await.unwrap_or_default())
    }

    async fn tell_agent(&self, say: Say, images: Vec<Image>) -> Result<(), AgentError> {
        let agent = &self.agent;
        let prompt = |behavior, images| PromptOptions {
            streaming_behavior: Some(behavior),
            images,
            ..PromptOptions::default()
        };
        match say {
            Say::Steer(text) => agent.prompt(text, prompt(StreamingBehavior::Steer, images)).await,
            Say::SteerNow(text) => {
                agent.steer_now(text, PromptOptions { images, ..PromptOptions::default() }).await
            }
            Say::Hurry => match agent.hurry().await {
                // It was delivered meanwhile.
                Err(AgentError::Gone(_)) => Ok(()),
                done => done,
            },
            Say::FollowUp(text) => agent.prompt(text, prompt(StreamingBehavior::FollowUp, images)).await,
            Say::Bash(line, context) => agent.bash(line, context).await,
            // Pictures go with what is said, not with pictures.
            Say::WithPictures(..) => Ok(()),
        }
    }

    async fn set_model(&self, words: String) -> Result<Vec<Report>, AgentError> {
        let model = self.agent.set_model(words).await?;
        Ok(vec![Report::Note(format!("{model} answers from the next turn on"))])
    }

    async fn refresh(&self, beside: &mut JoinSet<()>) -> Result<Vec<Report>, AgentError> {
        let state = self.agent.snapshot().await?.state;
        let cwd = state.cwd.clone();
        self.read_beside(beside, move || Report::Branch(files::git_branch(&cwd)));
        Ok(vec![Report::State(Box::new(state))])
    }

    /// Goes to an entry at once when nothing is left behind.
    async fn ask_to_leave(&self, entry: EntryId) -> Result<Vec<Report>, AgentError> {
        Ok(vec![match gather::leaving(&self.agent.reader(), &entry) {
            Some(question) => question,
            None => Report::Moved(self.agent.navigate(entry, BranchSummary::None).await?),
        }])
    }

    fn navigate(&self, entry: EntryId, summary: BranchSummary, waiting: &mut JoinSet<()>) -> Vec<Report> {
        let agent = self.agent.clone();
        self.await_summary(
            waiting,
            async move { Ok(vec![Report::Moved(agent.navigate(entry, summary).await?)]) },
        );
        Vec::new()
    }

    fn compact(&self, words: Option<String>, waiting: &mut JoinSet<()>) -> Vec<Report> {
        let agent = self.agent.clone();
        self.await_summary(waiting, async move { agent.compact(words).await.map(|_| Vec::new()) });
        Vec::new()
    }

    /// Waits for a summary while other actions are carried out. That it was stopped is no news to whoever stopped it.
    fn await_summary(
        &self,
        waiting: &mut JoinSet<()>,
        made: impl Future<Output = Result<Vec<Report>, AgentError>> + Send + 'static,
    ) {
        let reports = self.reports.clone();
        waiting.spawn(async move {
            let news = match made.await {
                Ok(news) => news,
                Err(AgentError::Compaction(CompactionError::Stopped)) => {
                    vec![Report::Note("stopped; everything is as it was".to_owned())]
                }
                Err(error) => vec![failed(&error, None)],
            };
            for report in news {
                if reports.send(report).await.is_err() {
                    return;
                }
            }
        });
    }

    async fn go(&self, go: Go, waiting: &mut JoinSet<()>) -> Result<Vec<Report>, AgentError> {
        let agent = &self.agent;
        Ok(match go {
            Go::New => vec![Report::Moved(agent.new_session().await?)],
            Go::ForkOf(path) => vec![Report::Moved(agent.fork_session(path).await?)],
            // A list's.
            Go::Open(_) => Vec::new(),
            Go::Fork(entry) => vec![Report::Moved(agent.fork(entry).await?)],
            Go::ForkBeside(entry) => vec![Report::Beside(agent.fork_beside(entry).await?.session)],
            Go::Clone => self.copy_session().await?,
            Go::AskToLeave(entry) => self.ask_to_leave(entry).await?,
            Go::Navigate(entry, summary) => self.navigate(entry, summary, waiting),
        })
    }

    /// Asks whoever looks through the sessions, or sends somebody.
    async fn browse(&mut self, ask: Ask, beside: &mut JoinSet<()>) -> Result<(), AgentError> {
        let ask = match &self.browser {
            Some(browser) => match browser.send(ask) {
                Ok(()) => return Ok(()),
                Err(unsent) => unsent.0,
            },
            None => ask,
        };
        let catalog = self.agent.catalog().await?;
        let (asks, asked) = std::sync::mpsc::channel();
        let reports = self.reports.clone();
        beside.spawn_blocking(move || browse(catalog, &asked, reports));
        // It has only begun, so it listens.
        let _ = asks.send(ask);
        self.browser = Some(asks);
        Ok(())
    }

    fn remember(&self, prompt: String, beside: &mut JoinSet<()>) {
        if let Some(path) = self.options.history_file.clone() {
            beside.spawn_blocking(move || files::store_prompt(&path, &prompt));
        }
    }

    async fn set_thinking(&self, level: ThinkingLevel) -> Result<Vec<Report>, AgentError> {
        let level = self.agent.set_thinking(level).await?;
        Ok(vec![Report::Note(format!("thinking: {}", level.name()))])
    }

    async fn label(&self, label: Option<String>) -> Result<Vec<Report>, AgentError> {
        let Some(entry) = gather::newest_message(&self.agent.reader()) else {
            return Ok(vec![Report::Note("there is nothing to label yet".to_owned())]);
        };
        let note = label.as_ref().map_or("its label is gone".to_owned(), |label| format!("labelled {label}"));
        self.agent.label(entry, label).await?;
        Ok(vec![Report::Note(note)])
    }

    fn ask_to_hide(&self, entry: EntryId, beside: &mut JoinSet<()>) {
        let reader = self.agent.reader();
        self.read_beside(beside, move || gather::hiding(&reader, entry));
    }

    /// Looks up what the tree wants to know.
    fn look(&self, ask: tree::Ask, beside: &mut JoinSet<()>) {
        let (reader, reports) = (self.agent.reader(), self.reports.clone());
        let session = reader.id().clone();
        let tell = move |news| {
            let report = Report::Tree { session: session.clone(), news };
            if reports.blocking_send(report).is_ok() { tree::Wanted::Yes } else { tree::Wanted::No }
        };
        let number = match &ask {
            tree::Ask::Search(_) | tree::Ask::EndSearch => self.searches.fetch_add(1, Ordering::Relaxed) + 1,
            tree::Ask::Shape | tree::Ask::Texts(_) | tree::Ask::Preview(_) => 0,
        };
        let searches = Arc::clone(&self.searches);
        beside.spawn_blocking(move || match &ask {
            tree::Ask::Search(query) => {
                let newest = || searches.load(Ordering::Relaxed) == number;
                let is_wanted = || if newest() { tree::Wanted::Yes } else { tree::Wanted::No };
                tree::find(&reader, query, is_wanted, tell);
            }
            ask => tree::look(&reader, ask).into_iter().for_each(|news| _ = tell(news)),
        });
    }

    async fn copy_session(&self) -> Result<Vec<Report>, AgentError> {
        let moved = self.agent.clone_session().await?;
        let note = format!("this is a copy now, session {}", moved.session.short());
        Ok(vec![Report::Moved(moved), Report::Note(note)])
    }

    async fn cycle_model(&self, direction: Direction) -> Result<Vec<Report>, AgentError> {
        let note = match self.agent.cycle_model(direction).await? {
            Some(chosen) => format!("{} answers from the next turn on", chosen.model),
            None => "there is no other model to choose".to_owned(),
        };
        Ok(vec![Report::Note(note)])
    }

    /// Keeps a setting for the next time.
    fn keep(&self, setting: &'static Setting, value: String, beside: &mut JoinSet<()>) {
        let Some(desk) = self.options.desk.clone() else { return };
        self.read_beside(beside, move || match desk.write(setting, &value) {
            Ok(()) => Report::Note(format!("{} is {value} from now on", setting.name)),
            Err((what, hint)) => Report::Failed { what, hint, text: None },
        });
    }

    async fn export(&self, file: String, beside: &mut JoinSet<()>) -> Result<Vec<Report>, AgentError> {
        let Some(exporter) = self.options.exporter.clone() else {
            return Ok(vec![Report::Note("there is nothing here to export with".to_owned())]);
        };
        let cwd = self.agent.snapshot().await?.state.cwd;
        let reader = self.agent.reader();
        self.read_beside(beside, move || match exporter.export(&reader, &cwd, &file) {
            Ok(path) => Report::Note(format!("exported to {}", path.display())),
            Err((what, hint)) => Report::Failed { what, hint, text: None },
        });
        Ok(Vec::new())
    }

    async fn load(&self) -> Result<Vec<Report>, AgentError> {
        let snapshot = *self.agent.snapshot().await?;
        let reader = self.agent.reader();
        let cwd = snapshot.state.cwd.clone();
        let read = move || (newest(&reader), files::git_branch(&cwd));
        let ((older, entries), branch) = spawn_blocking(read).await.unwrap_or_default();
        let loaded = Report::Loaded(Box::new(Loaded { snapshot, older, entries }));
        let commands = Report::Commands(self.agent.slash_commands().await?);
        let names = self.agent.models().await?.iter().map(|model| model.reference().to_string()).collect();
        Ok(vec![loaded, Report::Branch(branch), commands, Report::ModelNames(names)])
    }

    async fn read_resources(&self) -> Result<Vec<Report>, AgentError> {
        let Inventory { skills, templates, context_files, problems } = self.agent.reload().await?;
        let trouble = if problems == 0 { String::new() } else { format!("; {problems} with problems") };
        let note = format!("{skills} skills, {templates} templates, {context_files} context files{trouble}");
        Ok(vec![Report::Note(note)])
    }

    /// Looks for words; a newer look ends this one.
    fn search(&self, lookup: Lookup, beside: &mut JoinSet<()>) {
        self.lookup.store(lookup.number, Ordering::Relaxed);
        let (newest, reader, reports) = (Arc::clone(&self.lookup), self.agent.reader(), self.reports.clone());
        beside.spawn_blocking(move || {
            look_up(&reader, &lookup, |found| {
                newest.load(Ordering::Relaxed) == lookup.number
                    && reports.blocking_send(Report::Found(found)).is_ok()
            });
        });
    }

    /// Attaches the picture in a file whose path was pasted, or pastes what was pasted.
    async fn attach(
        &self,
        path: PathBuf,
        text: String,
        beside: &mut JoinSet<()>,
    ) -> Result<Vec<Report>, AgentError> {
        let path = self.agent.snapshot().await?.state.cwd.join(path);
        let reports = self.reports.clone();
        beside.spawn_blocking(move || {
            let (pasted, why) = match attach::file(&path) {
                Ok(picture) => (Report::Attached(picture), None),
                Err(_) if !path.is_file() => (Report::Pasted(text), None),
                Err(why) => (Report::Pasted(text), Some(why)),
            };
            let _ = reports.blocking_send(pasted);
            if let Some(why) = why {
                let _ = reports.blocking_send(Report::Note(why));
            }
        });
        Ok(Vec::new())
    }

    fn tell_code(&self, beside: &mut JoinSet<()>) {
        let reports = self.reports.clone();
        // Nobody listens any more when the front end has ended.
        beside.spawn_blocking(move || render::tell_waiting(|| _ = reports.blocking_send(Report::CodeTold)));
    }

    fn read_beside(&self, beside: &mut JoinSet<()>, read: impl FnOnce() -> Report + Send + 'static) {
        let reports = self.reports.clone();
        beside.spawn_blocking(move || _ = reports.blocking_send(read()));
    }
}

/// Nothing is to be reported: an event tells it.
fn said((): ()) -> Vec<Report> {
    Vec::new()
}

fn failed(error: &AgentError, text: Option<String>) -> Report {
    let mut what = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !what.ends_with(&cause_text) {
            what = format!("{what}: {cause_text}");
        }
        source = cause.source();
    }
    let hint = match error {
        AgentError::Session(error) => error.hint().map(str::to_owned),
        AgentError::Model(_) => Some("ctrl+l shows the models that can be asked".to_owned()),
        AgentError::UnknownSkill { .. } => Some("/help lists the skills".to_owned()),
        AgentError::Busy
        | AgentError::Running
        | AgentError::BashRunning
        | AgentError::Empty
        | AgentError::Store(_)
        | AgentError::Extension(_)
        | AgentError::Gone(_)
        | AgentError::InUse
        | AgentError::Compaction(_)
        | AgentError::Summarizing
        | AgentError::Closed => None,
    };
    Report::Failed { what, hint, text }
}

/// The newest entries of the path to the leaf, and the ids of those before them.
pub(super) fn newest(reader: &Reader) -> (Vec<EntryId>, Vec<Entry>) {
    let mut older = reader.leaf().and_then(|leaf| reader.path_to(&leaf).ok()).unwrap_or_default();
    let ids = older.split_off(older.len().saturating_sub(FIRST));
    (older, read(reader, &ids))
}

/// A part of the path, and of what follows it as much as it takes for its calls to have their results.
pub(super) fn read_part(reader: &Reader, wanted: Wanted) -> Report {
    let entries = read(reader, &wanted.ids);
    let ahead = read_results(reader, &entries, &wanted.ahead);
    Report::Read { wanted, entries, ahead }
}

/// Of the entries after some others those that hold results of their calls, and what stands between.
fn read_results(reader: &Reader, entries: &[Entry], after: &[EntryId]) -> Vec<Entry> {
    let mut open = HashSet::new();
    let mut ahead = Vec::new();
    entries.iter().for_each(|entry| note_calls(&mut open, entry));
    for id in after {
        if open.is_empty() {
            break;
        }
        if let Ok(entry) = reader.entry(id) {
            let answers = matches!(entry.body.as_message().map(|said| &**said), Some(Message::Assistant(_)));
            if answers {
                break;
            }
            note_calls(&mut open, &entry);
            ahead.push(entry);
        }
    }
    ahead
}

fn note_calls(open: &mut HashSet<CallId>, entry: &Entry) {
    match entry.body.as_message().map(|said| &**said) {
        Some(Message::Assistant(answer)) => open.extend(answer.tool_calls().map(|call| call.id.clone())),
        Some(Message::ToolResult(result)) => _ = open.remove(&result.tool_call_id),
        _ => {}
    }
}

/// Looks through parts of the path for words, until the report isn't wanted any more.
pub(super) fn look_up(reader: &Reader, lookup: &Lookup, mut report: impl FnMut(Found) -> bool) {
    /// Parts after which somebody is told even that there was nothing.
    const OFTEN: usize = 20;
    let mut after: &[EntryId] = &[];
    for (at, unseen) in lookup.parts.iter().enumerate() {
        let entries = read(reader, &unseen.ids);
        let mut stretch = Stretch::of(&entries);
        stretch.take_results(&read_results(reader, &entries, after));
        after = &unseen.ids;
        let hits = hits(&stretch.blocks, &lookup.words);
        let is_last = at + 1 == lookup.parts.len();
        let tells = !hits.is_empty() || is_last || at % OFTEN == 0;
        if tells && !report(Found { number: lookup.number, part: unseen.part, hits, is_last }) {
            return;
        }
    }
}

/// Entries by their ids; a damaged one costs only itself.
pub(super) fn read(reader: &Reader, ids: &[EntryId]) -> Vec<Entry> {
    ids.iter().filter_map(|id| reader.entry(id).ok()).collect()
}

/// The time.
pub(super) fn now() -> UnixMs {
    UnixMs(jiff::Timestamp::now().as_millisecond())
}
