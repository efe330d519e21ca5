//! The front end's state, what comes in, and what is to be done about it. Pure: time comes in, actions go out as data.

use std::path::PathBuf;
use std::sync::Arc;

use crossterm::event::{KeyEvent, MouseEvent};
use jiff::tz::TimeZone;

use super::approval::{self, Asked};
use super::attach::{self, Picture};
use super::block::{Block, BlockKind, Level};
use super::browse::Ask;
use super::complete::{self, Completing, FileList, Listing, Ranked, Ranking};
use super::editor::Editor;
use super::keymap::{KeyCommand, Keymap};
use super::layout::{Ctx, Folds};
use super::login;
use super::moving::Moving;
use super::pace::Stale;
use super::picker::{Choice, Item, Narrowed, Narrowing, Picker, Sessions, Word};
use super::popup::Popup;
use super::queue;
use super::search::{Found, Lookup};
use super::terminal::Images;
use super::theme::Theme;
use super::transcript::{Copied, Transcript, Wanted};
use super::tree;
use crate::agent::turn::Retry;
use crate::agent::{
    ApprovalMode, BashContext, BranchSummary, ContextUse, Direction, Moved, SlashCommand, Snapshot, State,
    Summarizing,
};
use crate::event::{CompactionChoice, Decision, Event, QueueItem};
use crate::id::{CallId, EntryId, SessionId};
use crate::message::{Image, ModelRef, ThinkingLevel, Usage};
use crate::provider::catalog::Sight;
use crate::render::{self, Line, MEASURE, Manner, PictureRoom};
use crate::session::{Entry, Scope, Visibility};
use crate::setting::{Setting, Settings};
use crate::theme::{Library, Rgb};
use crate::unit::UnixMs;

/// How long a word at the foot of the screen stays, in milliseconds.
const FLASH_MS: u64 = 4_000;

/// Characters of base64 of the largest picture that is painted: some tens of milliseconds of writing.
const LARGEST_OVER: usize = 2 * 1024 * 1024;

/// The same where a picture is one control sequence: iTerm2 takes none of more than 1,048,576 bytes.
const LARGEST_INLINE: usize = 1_000_000;

/// Something that came in.
#[derive(Debug)]
pub(super) enum Input {
    Key(KeyEvent),
    Mouse(MouseEvent),
    /// Characters that came at once, each as if typed.
    Typed(String),
    Paste(String),
    Resize {
        width: u16,
        height: u16,
    },
    /// Time went by.
    Tick,
    Agent(Arc<Event>),
    /// Events were lost.
    Lagged,
    Report(Report),
    /// The terminal said of which colour its ground is.
    Ground(Rgb),
    /// Other themes are known than before.
    Themes(Arc<Library>),
}

/// What came of an action.
#[derive(Debug)]
pub(super) enum Report {
    /// It failed; `text` is what the user would otherwise have lost.
    Failed {
        what: String,
        hint: Option<String>,
        text: Option<String>,
    },
    /// The session as it is now.
    Loaded(Box<Loaded>),
    /// Facts of the session as they are now.
    State(Box<State>),
    /// A part of the path, and the entries behind it in which results of its calls may stand, oldest first.
    Read {
        wanted: Wanted,
        entries: Vec<Entry>,
        ahead: Vec<Entry>,
    },
    /// What a search found.
    Found(Found),
    /// Messages that waited and don't any more.
    Queue(Vec<QueueItem>),
    /// What came of an order for messages that wait.
    Waiting(queue::Outcome),
    Moved(Moved),
    /// What a list has to offer, and where it begins.
    Items {
        list: List,
        items: Vec<Item>,
        selected: usize,
    },
    /// What came of narrowing a long list.
    Narrowed(Narrowed),
    /// What there is to read of something that can be chosen.
    Preview {
        of: Choice,
        lines: Vec<Line>,
    },
    /// The names of models that can be asked.
    ModelNames(Vec<String>),
    /// The project's files.
    Files(Arc<FileList>),
    /// Those that fit what was typed.
    Ranked(Ranked),
    /// What a path may become.
    Listed(Listing),
    /// The settings as they are now.
    Settings(Box<Settings>),
    /// What the list on top should say of what was done in it.
    Said(Word),
    /// Sessions are others than before; perhaps one went to the trash.
    SessionsChanged {
        word: Word,
        trashed: Option<PathBuf>,
    },
    /// What a look through the sessions found.
    Browsed {
        scope: Scope,
        what: Browsed,
    },
    /// Something to be chosen before the list beneath goes on.
    Ask {
        title: String,
        items: Vec<Item>,
    },
    /// What the tree asked for; the session is the one it is about.
    Tree {
        session: SessionId,
        news: tree::News,
    },
    /// A session was made beside this one.
    Beside(SessionId),
    Page {
        title: String,
        lines: Vec<Line>,
    },
    /// The branch of the working directory.
    Branch(Option<String>),
    /// What the agent does with a `/`, as it is now.
    Commands(Vec<SlashCommand>),
    Note(String),
    /// A picture to go with the message.
    Attached(Picture),
    /// What another editor made of the text.
    Edited(String),
    /// What is to be put into the editor as if it had been pasted.
    Pasted(String),
    /// A key was kept or taken away.
    Key(login::News),
    /// The words of some code were told apart; what shows it is laid out anew.
    CodeTold,
}

/// What a look through the sessions found.
#[derive(Debug)]
pub(super) enum Browsed {
    /// The sessions that are known so far.
    Sessions(Sessions),
    /// Those in which this was said.
    Hits { words: String, items: Vec<Item> },
    /// How many of how many logs are read; `None` when all are.
    Indexing(Option<(usize, usize)>),
}

/// A session as the front end takes it up.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) snapshot: Snapshot,
    /// Entries of the path that are not read yet.
    pub(super) older: Vec<EntryId>,
    /// The newest entries of the path.
    pub(super) entries: Vec<Entry>,
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    Say(Say),
    Go(Go),
    Abort,
    /// Do something with messages that wait.
    Queue(queue::Order),
    Decide(CallId, Decision),
    SetModel(String),
    /// The next model of those that can be asked, or the one before.
    CycleModel(Direction),
    SetThinking(ThinkingLevel),
    Rename(String),
    /// Label the newest message, or take its label away.
    Label(Option<String>),
    LabelEntry(EntryId, Option<String>),
    /// Ask whether this entry and what follows it are to leave the tree.
    AskToHide(EntryId),
    Hide(EntryId, Visibility),
    /// Sum up the older part of the context; the words say what matters.
    Compact(Option<String>),
    /// What to do after a summary could not be made.
    ResolveCompaction(CompactionChoice),
    /// Look up what the tree wants to know.
    Tree(tree::Ask),
    /// Gather what a picker offers.
    Gather(List),
    /// Narrow a list that is long.
    Narrow(Narrowing),
    /// Read the last exchange of a session.
    Preview(PathBuf),
    NameSession(PathBuf, String),
    TrashSession(PathBuf),
    RestoreSession(PathBuf),
    SetApproval(ApprovalMode),
    /// Offer a tool to the model, or don't any more.
    ToggleTool(String),
    /// Write a setting as it was typed; empty takes it out of the file.
    Set(&'static Setting, String),
    /// Find the files beneath a directory.
    WalkFiles(PathBuf),
    RankFiles(Ranking),
    /// Look into the directory of a half-typed path.
    ListPaths(complete::Wanted),
    /// Look through the sessions.
    Browse(Ask),
    /// Nobody looks at the sessions any more.
    EndBrowse,
    /// Read a part of the path.
    Read(Wanted),
    /// Look for words; whatever was looked for before no longer matters.
    Search(Lookup),
    /// Take a snapshot and read the path anew.
    Reload,
    /// Take a snapshot for its facts.
    Refresh,
    /// Ask the agent for its commands.
    AskCommands,
    /// Have skills, templates and context files read anew.
    ReadResources,
    ShowFacts,
    /// Show the end of tiller's own log.
    ShowLogs,
    /// Tell apart the words of the code that is shown plain until then.
    TellCode,
    /// Write the session to a file, whose name may be empty.
    Export(String),
    /// Keep a key, or take one away.
    Key(login::Order),
    /// Make sessions of logs of other programs, at a path as typed.
    Import(String),
    /// Write a setting to the user's own file.
    Keep {
        setting: &'static Setting,
        value: String,
    },
    Copy(Copied),
    /// Look for a picture on the clipboard.
    PasteImage,
    /// Attach the picture in this file; if it is none, paste the text instead.
    Attach(PathBuf, String),
    Remember(String),
    EditElsewhere(String),
    Suspend,
    Quit,
}

impl Action {
    /// What the user typed for it, and would lose if it failed.
    pub(super) fn typed(&self) -> Option<String> {
        match self {
            Self::Say(say) => say.text(),
            Self::Queue(queue::Order::Edit(_, words)) => Some(words.clone()),
            Self::Decide(_, Decision::Deny { reason }) => approval::words_of(reason).map(str::to_owned),
            _ => None,
        }
    }
}

/// Something that the user says, to the agent or to the shell.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Say {
    Steer(String),
    /// Stop what is in flight and go on with this, and with what steers and waits already.
    SteerNow(String),
    /// As that, with what waits already.
    Hurry,
    FollowUp(String),
    Bash(String, BashContext),
    /// One of the others, but `Bash`, with pictures.
    WithPictures(Box<Self>, Vec<Image>),
}

impl Say {
    /// What the user typed.
    pub(super) fn text(&self) -> Option<String> {
        match self {
            Self::Steer(text) | Self::SteerNow(text) | Self::FollowUp(text) => Some(text.clone()),
            Self::Bash(command, BashContext::Include) => Some(format!("!{command}")),
            Self::Bash(command, BashContext::Exclude) => Some(format!("!!{command}")),
            Self::Hurry => None,
            Self::WithPictures(say, _) => say.text(),
        }
    }
}

/// Somewhere else to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Go {
    New,
    Open(PathBuf),
    Fork(EntryId),
    /// In a new session that begins with the whole of the one at this path.
    ForkOf(PathBuf),
    /// Nowhere, but make a session that begins with the path to this entry.
    ForkBeside(EntryId),
    /// In a new session that begins with the path of this one.
    Clone,
    /// From this entry, but ask first what the model is to be told of what is left behind, if anything is.
    AskToLeave(EntryId),
    Navigate(EntryId, BranchSummary),
}

/// What a picker offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    Models,
    Thinking,
    Approval,
    Tools,
    Settings,
    Themes,
    Logins,
    Logouts,
    /// Logs of other programs.
    Foreign,
}

/// The front end's state.
pub(super) struct App {
    pub(super) transcript: Transcript,
    pub(super) editor: Editor,
    pub(super) popups: Vec<Popup>,
    pub(super) facts: Facts,
    pub(super) work: Work,
    /// Who has the keys of the messages that wait.
    pub(super) queue: queue::Panel,
    pub(super) place: Place,
    pub(super) folds: Folds,
    pub(super) size: (u16, u16),
    pub(super) now: UnixMs,
    pub(super) notes: Notes,
    /// What the agent does with a `/`: templates, skills.
    pub(super) commands: Vec<SlashCommand>,
    /// What the text before the cursor may become.
    pub(super) complete: Completing,
    /// How far what is on the screen is out of date.
    pub(super) stale: Stale,
    pub(super) moving: Moving,
    /// Whether sessions were looked through when the last input came.
    is_browsing: bool,
    /// Where to go as soon as the user has said what matters in the summary of what is left behind.
    pub(super) leaving: Option<EntryId>,
}

/// What the session is.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// Events up to this one are known.
    pub(super) seq: u64,
    gap: Gap,
    pub(super) name: Option<String>,
    pub(super) model: Option<ModelRef>,
    pub(super) thinking: ThinkingLevel,
    /// Whether the model takes images.
    pub(super) sight: Sight,
    pub(super) context: ContextUse,
    pub(super) usage: Usage,
    pub(super) approval: String,
    pub(super) branch: Option<String>,
}

/// Events that came while a snapshot was on its way: it may not know of them yet.
#[derive(Clone, Debug, Default)]
struct Gap {
    /// Snapshots that were asked for and have not arrived.
    expected: usize,
    events: Vec<Arc<Event>>,
}

/// What the session is doing.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    /// Since when the session is being opened.
    pub(super) opening_since: Option<UnixMs>,
    pub(super) running_since: Option<UnixMs>,
    /// Calls at work, with the names of their tools.
    pub(super) calls: Vec<(CallId, String)>,
    /// Why there is no summary; what to do is asked as soon as nobody is typing.
    pub(super) unasked: Option<String>,
    /// The next try of a request that failed.
    pub(super) retry: Option<Retry>,
    /// Since when a command of the user's own is at work.
    pub(super) bash_since: Option<UnixMs>,
    /// The summary that is being made.
    pub(super) summary: Option<Summarizing>,
    pub(super) queue: Vec<QueueItem>,
    pub(super) approvals: Vec<Asked>,
    /// Output tokens of the answer that is arriving.
    pub(super) output: u64,
    /// Whether the last run ended because something failed.
    pub(super) failed: bool,
}

/// Where the front end runs.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) cwd: PathBuf,
    pub(super) home: Option<PathBuf>,
    pub(super) zone: TimeZone,
    pub(super) theme: Theme,
    pub(super) banner: Vec<String>,
    pub(super) keymap: Arc<Keymap>,
    /// In what manner text becomes lines.
    pub(super) manner: Manner,
    pub(super) images: Images,
    /// The width and height of a cell in pixels.
    pub(super) cell: (u16, u16),
}

/// Short-lived words to the user, and keys that mean something when pressed twice.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes {
    pub(super) flash: Option<(String, UnixMs)>,
    pub(super) pressed: Option<(Twice, UnixMs)>,
    /// When what is in the editor came to mean something else without the user's doing: Enter isn't meant for that yet.
    pub(super) shifted: Option<UnixMs>,
    /// What was not sent at once, because the model doesn't take what goes with it.
    pub(super) held_back: Option<String>,
}

/// A key that means something when pressed twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Twice {
    Escape,
    Interrupt,
}

impl App {
    pub(super) fn new(place: Place, history: Vec<String>) -> Self {
        Self {
            transcript: Transcript::default(),
            editor: Editor::new(history),
            popups: Vec::new(),
            facts: Facts::default(),
            work: Work::default(),
            queue: queue::Panel::default(),
            place,
            folds: Folds::default(),
            size: (80, 24),
            now: UnixMs(0),
            notes: Notes::default(),
            commands: Vec::new(),
            complete: Completing::default(),
            stale: Stale::ByUser,
            moving: Moving::default(),
            is_browsing: false,
            leaving: None,
        }
    }

    /// Takes an input at a moment; says what is to be done about it.
    pub(super) fn update(&mut self, input: Input, now: UnixMs) -> Vec<Action> {
        self.now = now;
        self.stale = self.stale.max(match input {
            Input::Tick => Stale::No,
            Input::Agent(_) => Stale::BySession,
            _ => Stale::ByUser,
        });
        let mut actions = match input {
            Input::Key(key) => self.key(key),
            Input::Mouse(event) => self.mouse(event),
            Input::Typed(text) => self.typed(&text),
            Input::Paste(text) => self.pasted(&text),
            Input::Resize { width, height } => {
                self.size = (width, height);
                Vec::new()
            }
            Input::Tick => self.tick(),
            Input::Agent(event) if self.facts.gap.expected > 0 => {
                self.facts.gap.events.push(event);
                Vec::new()
            }
            Input::Agent(event) => self.agent(&event),
            Input::Lagged => vec![Action::Reload],
            Input::Report(report) => self.report(report),
            Input::Ground(ground) => {
                self.place.theme.learn(ground);
                Vec::new()
            }
            Input::Themes(library) => self.restock(library),
        };
        if self.editor.is_empty()
            && self.popups.is_empty()
            && let Some(error) = self.work.unasked.take()
        {
            self.ask_what_to_do(&error);
        }
        self.look_at_question();
        self.follow_search();
        actions.extend(self.transcript.take_wanted().into_iter().map(Action::Read));
        actions.extend(self.mind_list());
        actions.extend(self.mind_completion());
        self.mind_theme();
        actions.extend(self.tree_actions());
        let is_browsing = self.popups.iter().any(Popup::is_browser);
        if std::mem::replace(&mut self.is_browsing, is_browsing) && !is_browsing {
            actions.push(Action::EndBrowse);
        }
        let reloads = actions.iter().filter(|action| matches!(action, Action::Reload)).count();
        self.facts.gap.expected += reloads;
        actions
    }

    /// A snapshot was asked for: what happens from here on waits for it.
    pub(super) fn expect_snapshot(&mut self) {
        self.facts.gap.expected += 1;
    }

    fn tick(&mut self) -> Vec<Action> {
        self.drag_on();
        if self.is_animated() {
            self.stale = self.stale.max(Stale::BySession);
        }
        if self.notes.flash.as_ref().is_some_and(|(_, since)| self.now.since_ms(*since) >= FLASH_MS) {
            self.notes.flash = None;
            self.stale = Stale::ByUser;
        }
        self.answer_approval(super::approval::ANSWER_MS)
    }

    /// Whether time alone changes the screen.
    pub(super) fn is_animated(&self) -> bool {
        self.is_working()
            || self.work.opening_since.is_some()
            || self.work.summary.is_some()
            || self.transcript.is_alive()
    }

    /// Whether ticks are wanted.
    pub(super) fn wants_ticks(&self) -> bool {
        self.is_animated() || self.notes.flash.is_some() || self.moving.mouse.wants_ticks()
    }

    /// Whether the agent or a command of the user's own is at work.
    pub(super) fn is_working(&self) -> bool {
        self.work.running_since.is_some() || self.work.bash_since.is_some()
    }

    /// Says something at the foot of the screen for a while.
    pub(super) fn flash(&mut self, text: impl Into<String>) {
        self.notes.flash = Some((text.into(), self.now));
    }

    /// Says something in the transcript.
    pub(super) fn say(&mut self, level: Level, text: impl Into<String>, hint: Option<String>) {
        self.transcript.say(level, text, hint);
        self.transcript.grew();
    }

    /// Room for pictures, where they are painted: a third of the screen for one.
    fn picture_room(&self) -> Option<PictureRoom> {
        let (cell, rows) = (self.place.cell, self.size.1 / 3);
        let most = match self.place.images {
            Images::Line => return None,
            Images::Painted => LARGEST_OVER,
            Images::Inline => LARGEST_INLINE,
        };
        Some(PictureRoom { cell, rows, most })
    }

    /// What blocks are laid out by.
    pub(super) fn ctx(&self) -> Ctx {
        Ctx {
            width: usize::from(self.size.0).saturating_sub(1).max(1),
            measure: MEASURE,
            folds: self.folds,
            now: self.now,
            zone: self.place.zone.clone(),
            unfold: self.place.keymap.key_of(KeyCommand::UnfoldOutput).into(),
            manner: self.place.manner,
            code_told: render::code_told(),
            pictures: self.picture_room(),
        }
    }

    fn pasted(&mut self, text: &str) -> Vec<Action> {
        if self.popups.is_empty() && self.moving.search.is_some() {
            return self.search_for(|typed| typed.extend(text.chars().filter(|c| !c.is_control())));
        }
        if self.popups.is_empty() {
            self.take_answer_back();
        }
        match self.popups.last_mut() {
            Some(Popup::Pick(_)) => return self.paste_into_list(text),
            Some(Popup::Tree(tree)) => tree.paste(text),
            Some(Popup::Read(_)) => {}
            None => match attach::path_of(text, self.place.home.as_deref()) {
                Some(path) => return vec![Action::Attach(path, text.to_owned())],
                None => self.editor.paste(text),
            },
        }
        Vec::new()
    }

    /// The session is elsewhere. A prompt that comes back with it doesn't take the place of a draft.
    fn moved(&mut self, moved: Moved) {
        self.popups.clear();
        if let Some(text) = moved.editor {
            self.editor.put_before(&[text]);
        }
    }

    fn report(&mut self, report: Report) -> Vec<Action> {
        match report {
            Report::Failed { what, hint, text } => self.failed(what, hint, text),
            Report::Loaded(loaded) => return self.take_loaded(*loaded),
            Report::State(state) => self.know(*state),
            Report::Read { wanted, entries, ahead } => self.transcript.take(&wanted, &entries, &ahead),
            Report::Found(found) => self.found(&found),
            Report::Queue(items) => self.handed_back(items),
            Report::Waiting(outcome) => self.queue_outcome(outcome),
            Report::Moved(moved) => self.moved(moved),
            Report::Items { list, items, selected } => {
                let mut pickers = self.popups.iter_mut().rev().filter_map(Popup::as_picker);
                if let Some(picker) = pickers.find(|picker| picker.list == Some(list)) {
                    picker.fill(items, selected);
                }
            }
            Report::Narrowed(done) => {
                let pickers = self.popups.iter_mut().filter_map(Popup::as_picker);
                pickers.for_each(|picker| picker.narrowed(&done));
            }
            Report::Preview { of, lines } => {
                let pickers = self.popups.iter_mut().filter_map(Popup::as_picker);
                pickers.for_each(|picker| picker.show(&of, lines.clone()));
            }
            Report::ModelNames(names) => self.complete.know_models(names),
            Report::Files(files) => return self.know_files(files),
            Report::Ranked(ranked) => self.files_ranked(ranked),
            Report::Listed(listing) => self.paths_listed(listing),
            Report::Settings(settings) => self.settings_changed(&settings),
            Report::Said(word) => self.say_in_list(word),
            Report::SessionsChanged { word, trashed } => return self.sessions_changed(word, trashed),
            Report::Browsed { scope, what } => {
                let pickers = self.popups.iter_mut().filter_map(Popup::as_picker);
                pickers.for_each(|picker| picker.browsed(scope, &what));
            }
            Report::Ask { title, items } => {
                self.popups.push(Popup::Pick(Box::new(Picker::of(&title, items))))
            }
            Report::CodeTold => {}
            Report::Key(news) => self.key_changed(news),
            Report::Tree { session, news } => self.tree_news(&session, news),
            Report::Beside(session) => self.forked_beside(&session),
            Report::Page { title, lines } => {
                self.popups.push(Popup::Read(super::popup::Page::new(&title, lines)));
            }
            Report::Branch(branch) => self.facts.branch = branch,
            Report::Commands(commands) => {
                self.commands = commands;
                self.complete.forget();
            }
            Report::Note(text) => self.flash(text),
            Report::Attached(picture) => self.attached(picture),
            Report::Edited(text) => self.editor.set_text(&text),
            Report::Pasted(text) => self.editor.paste(&text),
        }
        Vec::new()
    }

    /// Messages that waited are in the editor again.
    fn handed_back(&mut self, items: Vec<QueueItem>) {
        items.iter().for_each(|item| self.editor.adopt(&item.text, &item.images));
        let texts: Vec<String> = items.iter().map(QueueItem::as_typed).collect();
        if !texts.is_empty() {
            self.editor.put_before(&texts);
        }
    }

    /// What the model that answers is called.
    pub(super) fn model_name(&self) -> &str {
        self.facts.model.as_ref().map_or("this model", |model| model.id.as_str())
    }

    /// Whether pictures can go with what is in the editor.
    pub(super) fn takes_pictures(&self) -> bool {
        let gives_reason = self.work.approvals.first().is_some_and(Asked::is_reasoning);
        !self.queue.is_editing() && !gives_reason
    }

    /// A picture is there. What goes to the agent as words only takes none.
    fn attached(&mut self, Picture { image, size }: Picture) {
        if !self.takes_pictures() {
            self.flash("no picture can go with this; it goes with a message of its own");
            return;
        }
        self.editor.attach(image, size);
        if self.facts.sight == Sight::Blind {
            let (model, models) = (self.model_name(), self.place.keymap.key_of(KeyCommand::PickModel));
            self.flash(format!("{model} takes no images; {models} chooses another model"));
        }
    }

    /// There is too much to do for this to be done; what the user said is a draft again.
    pub(super) fn refused(&mut self, action: Action) {
        match action {
            Action::Read(wanted) => self.transcript.unask(wanted.part()),
            Action::Say(say) => {
                if let Some(text) = say.text() {
                    self.editor.put_before(&[text]);
                }
            }
            _ => {}
        }
        self.flash("busy; try again in a moment");
        self.stale = Stale::ByUser;
    }

    fn failed(&mut self, what: String, hint: Option<String>, text: Option<String>) {
        if let Some(text) = text {
            self.editor.put_before(&[text]);
        }
        // A list would lie over what went wrong; but the agent waits for the answer to a failed summary.
        if matches!(self.popups.last(), Some(Popup::Pick(_) | Popup::Tree(_))) {
            self.popups.retain(Popup::is_of_failure);
        }
        self.say(Level::Error, what, hint);
    }

    fn take_loaded(&mut self, loaded: Loaded) -> Vec<Action> {
        self.load(loaded);
        let mut actions = self.close_gap();
        actions.extend(self.search_anew());
        actions
    }

    fn load(&mut self, loaded: Loaded) {
        let Loaded { snapshot, older, entries } = loaded;
        let live = snapshot.live;
        self.outdate_tree();
        self.facts.seq = snapshot.seq;
        self.transcript.replace(older, &entries);
        self.know(snapshot.state);
        self.questions_are(&live.approvals);
        self.work = Work {
            opening_since: None,
            retry: live.retry,
            unasked: None,
            running_since: live.running_since,
            calls: live.calls.iter().map(|call| (call.id.clone(), call.name.clone())).collect(),
            bash_since: live.bash.as_ref().map(|bash| bash.since),
            summary: live.summary.clone(),
            queue: Vec::new(),
            approvals: std::mem::take(&mut self.work.approvals),
            output: 0,
            failed: false,
        };
        self.queue_changed(&live.queue);
        if self.transcript.is_empty() {
            self.transcript.push(Block::new(BlockKind::Banner(self.place.banner.clone())));
        }
        if let Some(error) = live.summary.as_ref().and_then(|summary| summary.failed.clone()) {
            self.ask_what_to_do(&error);
        }
        self.take_up(&live);
        if live.running_since.is_none() {
            self.transcript.settle();
            self.say_unanswered();
        }
    }

    /// Says of a prompt at the end of the log that nobody answered it, and how to send it again.
    fn say_unanswered(&mut self) {
        if self.transcript.unanswered().is_some() {
            let send = self.place.keymap.key_of(KeyCommand::Send);
            let hint = Some(format!("{send} takes it back into the editor, to be sent again"));
            self.transcript.say(
                Level::Warning,
                "not answered: tiller was stopped before the model said anything",
                hint,
            );
        }
    }

    /// Takes the events that the snapshot doesn't know of. While another one is on its way they go on waiting for it too.
    fn close_gap(&mut self) -> Vec<Action> {
        self.facts.gap.expected = self.facts.gap.expected.saturating_sub(1);
        let events = match self.facts.gap.expected {
            0 => std::mem::take(&mut self.facts.gap.events),
            _ => self.facts.gap.events.clone(),
        };
        events.iter().flat_map(|event| self.agent(event)).collect()
    }

    fn know(&mut self, state: State) {
        if self.place.cwd != state.cwd {
            self.complete.forget_files();
        }
        self.place.cwd = state.cwd;
        self.facts = Facts {
            seq: self.facts.seq,
            gap: std::mem::take(&mut self.facts.gap),
            branch: self.facts.branch.take(),
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
