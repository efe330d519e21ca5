//! The app's messages: keys, events, and results of actions.

use std::path::PathBuf;
use std::sync::Arc;

use crossterm::event::{KeyEvent, MouseEvent};
use tiller_core::event::{Event, QueueItem};
use tiller_core::id::{CallId, EntryId, SessionId};
use tiller_core::setting::{Setting, Settings};
use tiller_engine::ServedResource;
use tiller_engine::agents::OpenedAgent;
use tiller_engine::remote_session::ConnectionState;
use tiller_engine::{AgentCommand, SessionState, SessionSwitched, Snapshot};
use tiller_render::Line;
use tiller_render::theme::{Rgb, ThemeRegistry};
use tiller_session::{BranchPoints, Entry, SessionScope};

use crate::action::UserText;
use crate::address::Address;
use crate::attach::AttachedImage;
use crate::completion::files::{FileList, RankedFiles};
use crate::completion::paths::PathListing;
use crate::completion::values::ArgumentValues;
use crate::dialog::Dialog;
use crate::picker::item::{PickerChoice, PickerItem};
use crate::picker::line_prompt::StatusText;
use crate::picker::narrowing::NarrowedList;
use crate::picker::session_query::SessionQueryId;
use crate::picker::sessions::Sessions;
use crate::session_model::{Job, Welcome};
use crate::transcript::section::{LoadedPath, SectionRequest};
use crate::transcript_pane::lookup::SearchHits;
use crate::{login, queue, tree};

/// A message to the app.
#[derive(Debug)]
pub(crate) enum Msg {
    Key(KeyEvent),
    Mouse(MouseEvent),
    /// Characters that arrived in one read, each as if typed.
    Text(String),
    Paste(String),
    Resize {
        width: u16,
        height: u16,
    },
    Tick,
    Agent(Arc<Event>),
    /// Events were lost; a new snapshot is needed.
    Lagged,
    /// The connection to the process that has the session open was lost or restored.
    Connection(ConnectionState),
    TaskResult(TaskReport),
    /// The terminal reported its background color.
    Background(Rgb),
    /// The set of known themes changed.
    Themes(Arc<ThemeRegistry>),
}

/// An action's result, with the address of the part that requested it.
#[derive(Debug)]
pub(crate) struct TaskReport {
    pub(crate) to: Address,
    pub(crate) result: TaskResult,
}

impl From<TaskResult> for TaskReport {
    fn from(result: TaskResult) -> Self {
        Self { to: Address::Screen, result }
    }
}

/// The session of one of the shown session's agents.
pub(crate) struct NamedAgent {
    pub(crate) name: String,
    pub(crate) agent: OpenedAgent,
}

impl std::fmt::Debug for NamedAgent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.name, self.agent.session.reader().id())
    }
}

/// An action's result.
#[derive(Debug)]
pub(crate) enum TaskResult {
    /// The action failed; `text` is user input that would otherwise be lost.
    Failed {
        message: String,
        hint: Option<String>,
        text: Option<UserText>,
    },
    /// A warning for the transcript.
    Warning(String),
    /// A warning in the transcript no longer applies.
    Resolved(String),
    /// The input is invalid and returns for correction.
    InvalidInput {
        typed: UserText,
        message: String,
    },
    BeforeDraft(String),
    /// The session's current state and newest entries.
    Loaded(Box<LoadedSession>),
    /// Entries where other branches continue, for the transcript with this epoch.
    BranchPoints {
        epoch: u64,
        points: Arc<BranchPoints>,
    },
    /// The session's current properties.
    State(Box<SessionState>),
    /// A part of the path, and the entries after it that may contain results of its calls, oldest first.
    PartRead {
        wanted: SectionRequest,
        entries: Vec<Entry>,
        ahead: Vec<Entry>,
    },
    SearchHits(SearchHits),
    /// Messages removed from the queue, returned to the user.
    ReturnedMessages(Vec<QueueItem>),
    /// Input that wasn't delivered because the user stopped everything, in order.
    ReturnedInput(Vec<UserText>),
    QueueOutcome(queue::QueueOutcome),
    SessionSwitched(SessionSwitched),
    /// A result for a list or the tree.
    List(ListResult),
    Completion(CompletionResult),
    ThemeSetting(&'static Setting, String),
    /// A dialog that must be answered before the list beneath continues.
    Dialog(Dialog),
    Page {
        title: String,
        lines: Vec<Line>,
    },
    /// The prompt history, oldest first.
    History(Vec<String>),
    /// The session's id, if it is a fork.
    ForkId(Option<SessionId>),
    /// The git branch of the working directory.
    Branch(Option<String>),
    /// The agent's current slash commands.
    Commands(Vec<AgentCommand>),
    Resources(Vec<ServedResource>),
    /// An agent's session to show.
    AgentOpened(Box<NamedAgent>),
    Welcome(Welcome),
    Note(String),
    /// An image for the next message.
    Attached(AttachedImage),
    /// The text from the external editor.
    Edited(String),
    /// Text to insert into the editor like a paste.
    Paste(String),
    /// An API key was stored or removed.
    Login(login::LoginResult),
    /// A long-running job started.
    Began(Job),
    /// The job ended; its result was reported.
    Ended(Job),
    /// New highlighting is available; blocks with code are laid out again.
    CodeHighlighted,
}

#[derive(Debug)]
pub(crate) enum CompletionResult {
    ArgumentValues {
        of: ArgumentValues,
        items: Vec<PickerItem>,
    },
    Files(Arc<FileList>),
    /// The files that match the completed word.
    Ranked(RankedFiles),
    Paths(PathListing),
}

/// A result for a list or the tree.
#[derive(Debug)]
pub(crate) enum ListResult {
    /// The items of the list and the initially selected one.
    Items {
        items: Vec<PickerItem>,
        selected: usize,
    },
    /// The result of filtering a long list.
    Narrowed(NarrowedList),
    Preview {
        of: PickerChoice,
        lines: Vec<Line>,
    },
    Settings(Box<Settings>),
    Status(StatusText),
    /// The session list changed; `trashed` is a session that was moved to the trash.
    SessionsChanged {
        word: StatusText,
        trashed: Option<PathBuf>,
    },
    RenameFailed {
        path: PathBuf,
        name: String,
        reason: StatusText,
    },
    /// Restoring a session from the trash failed.
    RestoreFailed {
        path: PathBuf,
        reason: StatusText,
    },
    Sessions {
        query_id: SessionQueryId,
        scope: SessionScope,
        result: SessionsResult,
    },
    /// The rules that were edited for this call are saved.
    RulesSaved(CallId),
    /// Requests confirmation to hide an entry and `count` entries with it.
    AskToHide {
        entry: EntryId,
        count: usize,
    },
    Tree {
        session: SessionId,
        news: tree::request::TreeResult,
    },
    /// A fork of this session was created without switching to it.
    ForkCreated(SessionId),
}

impl TaskResult {
    /// Returns the result for invalid input, with the reason and a hint on one line.
    pub(crate) fn invalid_input(
        typed: impl Into<UserText>,
        (message, hint): (String, Option<String>),
    ) -> Self {
        let message = hint.map_or(message.clone(), |hint| format!("{message}; {hint}"));
        Self::InvalidInput { typed: typed.into(), message }
    }

    /// Returns true if the result contains user input that exists nowhere else.
    pub(crate) fn returns_input(&self) -> bool {
        match self {
            Self::Failed { text, .. } => text.is_some(),
            Self::ReturnedMessages(items) => !items.is_empty(),
            Self::ReturnedInput(typed) => !typed.is_empty(),
            Self::QueueOutcome(queue::QueueOutcome::Gone(words)) => words.is_some(),
            Self::Paste(_) | Self::Edited(_) | Self::InvalidInput { .. } => true,
            _ => false,
        }
    }
}

/// The result of a session search.
#[derive(Debug)]
pub(crate) enum SessionsResult {
    /// The sessions known so far.
    Sessions(Sessions),
    /// Sessions whose text matches.
    Hits { words: String, items: Vec<PickerItem> },
    /// Number of logs indexed so far and their total; `None` when done.
    Indexing(Option<(usize, usize)>),
}

/// A session's snapshot and newest entries, for display.
#[derive(Debug)]
pub(crate) struct LoadedSession {
    pub(crate) snapshot: Snapshot,
    pub(crate) newest: LoadedPath,
}
