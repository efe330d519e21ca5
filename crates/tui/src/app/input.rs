//! What comes in: keys, events, and what came of actions.

use std::path::PathBuf;
use std::sync::Arc;

use crossterm::event::{KeyEvent, MouseEvent};
use tiller_core::event::{Event, QueueItem};
use tiller_core::id::{EntryId, SessionId};
use tiller_core::setting::{Setting, Settings};
use tiller_engine::{SessionState, SessionSwitched, SlashCommand, Snapshot};
use tiller_render::Line;
use tiller_render::theme::{Rgb, ThemeRegistry};
use tiller_session::{BranchPoints, Entry, SessionScope};

use super::{Job, ListKind, UserText};
use crate::attach::AttachedImage;
use crate::completion::{ArgumentValues, FileList, PathListing, Ranked};
use crate::dialog::Dialog;
use crate::picker::{NarrowedList, PickerChoice, PickerItem, Sessions, StatusText, ThemeItem};
use crate::search::SearchHits;
use crate::transcript::{NewestMarker, ScrollRequest};
use crate::welcome::Welcome;
use crate::{login, queue, tree};

/// Something that came in.
#[derive(Debug)]
pub(crate) enum Msg {
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
    Report(TaskResult),
    /// The terminal said of which colour its ground is.
    Ground(Rgb),
    /// Other themes are known than before.
    Themes(Arc<ThemeRegistry>),
}

/// Where something was said that can't be meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskOrigin {
    /// In the editor: it is there again, whatever lies over it.
    Typed,
    /// In this list if that is on top, and else in the editor.
    List(ListKind),
}

/// What came of an action.
#[derive(Debug)]
pub(crate) enum TaskResult {
    /// It failed; `text` is what the user would otherwise have lost.
    Failed {
        what: String,
        hint: Option<String>,
        text: Option<UserText>,
    },
    /// It stays in the transcript as a warning.
    Warning(String),
    /// What was said in the transcript doesn't hold any more.
    Mended(String),
    /// What was typed can't be meant; it is to be mended.
    Slip {
        typed: UserText,
        what: String,
        origin: TaskOrigin,
    },
    /// The session as it is now.
    Loaded(Box<LoadedSession>),
    /// Where other branches go on, for the transcript of this number.
    BranchPoints {
        epoch: u64,
        points: Arc<BranchPoints>,
    },
    /// Facts of the session as they are now.
    State(Box<SessionState>),
    /// A part of the path, and the entries behind it in which results of its calls may stand, oldest first.
    Read {
        wanted: ScrollRequest,
        entries: Vec<Entry>,
        ahead: Vec<Entry>,
    },
    /// What a search found.
    Found(SearchHits),
    /// Messages that waited and don't any more.
    Queue(Vec<QueueItem>),
    /// What came of an order for messages that wait.
    Waiting(queue::QueueOutcome),
    Moved(SessionSwitched),
    /// What is for a list, the tree, or what is offered while one types.
    List(ListResult),
    /// Something to be chosen before the list beneath goes on.
    Ask(Dialog),
    Page {
        title: String,
        lines: Vec<Line>,
    },
    /// The prompts of earlier times, oldest first.
    Earlier(Vec<String>),
    /// The session's id, if it was forked from another one.
    Fork(Option<SessionId>),
    /// The branch of the working directory.
    Branch(Option<String>),
    /// What the agent does with a `/`, as it is now.
    Commands(Vec<SlashCommand>),
    /// Facts for the first screen.
    Welcome(Welcome),
    Note(String),
    /// A picture to go with the message.
    Attached(AttachedImage),
    /// What another editor made of the text.
    Edited(String),
    /// What is to be put into the editor as if it had been pasted.
    Pasted(String),
    /// A key was kept or taken away.
    Key(login::LoginResult),
    /// Something was begun that may take long.
    Began(Job),
    /// It is over, and told of.
    Ended(Job),
    /// The words of some code were told apart; what shows it is laid out anew.
    CodeTold,
}

/// What is for a list, the tree, or what is offered while one types.
#[derive(Debug)]
pub(crate) enum ListResult {
    /// What a list has to offer, and where it begins.
    Items { list: ListKind, items: Vec<PickerItem>, selected: usize },
    /// What came of narrowing a long list.
    Narrowed(NarrowedList),
    /// What there is to read of something that can be chosen.
    Preview { of: PickerChoice, lines: Vec<Line> },
    /// What may follow a command.
    Words { of: ArgumentValues, items: Vec<PickerItem> },
    /// The project's files.
    Files(Arc<FileList>),
    /// Those that fit what was typed.
    Ranked(Ranked),
    /// What a path may become.
    Listed(PathListing),
    /// The settings as they are now.
    Settings(Box<Settings>),
    /// The theme that one of the settings has now.
    Theme(&'static Setting, String),
    /// What the list on top should say of what was done in it.
    Said(StatusText),
    /// Sessions are others than before; perhaps one went to the trash.
    SessionsChanged { word: StatusText, trashed: Option<PathBuf> },
    /// A session could not be given the name that was typed.
    NotNamed { path: PathBuf, name: String, why: StatusText },
    /// A session could not be brought back from the trash.
    NotRestored { path: PathBuf, why: StatusText },
    /// What a look through the sessions found.
    Browsed { look: ThemeItem, scope: SessionScope, what: SessionsResult },
    /// Whether an entry, and so many with it, are to leave the tree.
    AskToHide { entry: EntryId, count: usize },
    /// What the tree asked for; the session is the one it is about.
    Tree { session: SessionId, news: tree::TreeResult },
    /// A session was made beside this one.
    Beside(SessionId),
}

impl TaskResult {
    /// What was typed can't be meant; why, and what may help, in one line.
    pub(crate) fn slip(
        typed: impl Into<UserText>,
        (what, hint): (String, Option<String>),
        origin: TaskOrigin,
    ) -> Self {
        let what = hint.map_or(what.clone(), |hint| format!("{what}; {hint}"));
        Self::Slip { typed: typed.into(), what, origin }
    }

    /// Whether words of the user's come back with it that are nowhere else.
    pub(crate) fn returns_words(&self) -> bool {
        match self {
            Self::Failed { text, .. } => text.is_some(),
            Self::Queue(items) => !items.is_empty(),
            Self::Waiting(queue::QueueOutcome::Gone(words)) => words.is_some(),
            Self::Pasted(_) | Self::Edited(_) | Self::Slip { .. } => true,
            _ => false,
        }
    }
}

/// What a look through the sessions found.
#[derive(Debug)]
pub(crate) enum SessionsResult {
    /// The sessions that are known so far.
    Sessions(Sessions),
    /// Those in which this was said.
    Hits { words: String, items: Vec<PickerItem> },
    /// How many of how many logs are read; `None` when all are.
    Indexing(Option<(usize, usize)>),
}

/// A session as the front end takes it up.
#[derive(Debug)]
pub(crate) struct LoadedSession {
    pub(crate) snapshot: Snapshot,
    pub(crate) newest: NewestMarker,
}
