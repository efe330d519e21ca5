//! What is to be done, as data.

use std::path::PathBuf;

use tiller_core::event::{CompactionChoice, Decision};
use tiller_core::id::{CallId, EntryId};
use tiller_core::message::{Image, ThinkingLevel};
use tiller_core::setting::Setting;
use tiller_engine::{ApprovalMode, BashContext, BranchSummary, Direction, Permission};
use tiller_session::Visibility;

use crate::completion::{self, ArgumentValues, Ranking};
use crate::picker::{Extract, NarrowingJob};
use crate::search::Lookup;
use crate::session_search::SearchRequest;
use crate::transcript::{CopiedText, ScrollRequest};
use crate::{approval, login, queue, tree};

/// Something to be done.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    Say(Submit),
    Go(Navigate),
    Abort,
    /// Do something with messages that wait.
    Queue(queue::QueueAction),
    Decide(CallId, Decision),
    /// Sum up the older part of the context; the words say what matters.
    Compact(Option<String>),
    /// Leave the older part of the context out.
    Truncate,
    /// Change something of the session.
    Change(SessionEdit),
    /// What lists want, and what is done in them.
    InList(ListAction),
    /// Something that goes on beside, while other actions are carried out.
    Beside(BackgroundJob),
    /// Look through the sessions.
    Browse(SearchRequest),
    /// Nobody looks at the sessions any more.
    EndBrowse,
    /// Take a snapshot and read the path anew.
    Reload,
    /// Take a snapshot for its facts.
    Refresh,
    /// Ask the agent for its commands.
    AskCommands,
    /// Have skills, templates and context files read anew.
    ReadResources,
    ShowFacts {
        /// Columns of a line of the page.
        width: usize,
    },
    ShowContext {
        /// Columns of a line of the page.
        width: usize,
    },
    /// Write the session to a file, whose name may be empty.
    Export(String),
    /// Attach the picture in this file; if it is none, paste the text instead.
    Attach(PathBuf, String),
    Own(TerminalAction),
}

/// A change of the session.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SessionEdit {
    SetModel(String),
    /// The next model of those that can be asked, or the one before.
    CycleModel(Direction),
    SetThinking(ThinkingLevel),
    Rename(String),
    /// Label the newest message, or take its label away.
    Label(Option<String>),
    LabelEntry(EntryId, Option<String>),
    Hide(EntryId, Visibility),
    /// What to do after a summary could not be made.
    ResolveCompaction(CompactionChoice),
}

/// What lists want, what is offered while one types among it, and what is done in lists.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ListAction {
    /// Gather what a picker offers.
    Gather(ListKind),
    /// Gather what may follow a command.
    GatherWords(ArgumentValues),
    /// Narrow a list that is long.
    Narrow(NarrowingJob),
    /// Find the files beneath a directory.
    WalkFiles(PathBuf),
    RankFiles(Ranking),
    /// Look into the directory of a half-typed path.
    ListPaths(completion::PathQuery),
    /// Read the last exchange of a session.
    Preview(PathBuf, Extract),
    NameSession(PathBuf, String),
    TrashSession(PathBuf),
    RestoreSession(PathBuf),
    SetApproval(ApprovalMode),
    /// Trust the project as it was asked about.
    Trust,
    /// Take back something that was allowed for the session.
    Revoke(Permission),
    /// Let tools reach this folder too, as typed.
    AddFolder(String),
    /// Offer a tool to the model, or don't any more.
    ToggleTool(String),
    /// Write a setting as it was typed; empty takes it out of the file.
    Set(&'static Setting, String),
    /// Keep a key, or take one away.
    Key(login::LoginRequest),
    /// Make sessions of logs of other programs, at a path as typed.
    Import(String),
}

/// What goes on beside, and reports when it is done.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum BackgroundJob {
    /// Look up what the tree wants to know.
    Tree(tree::TreeRequest),
    /// Ask whether this entry and what follows it are to leave the tree.
    AskToHide(EntryId),
    /// Write a setting to the user's own file.
    Keep { setting: &'static Setting, value: String },
    /// Read a part of the path.
    Read(ScrollRequest),
    /// Count the other branches along the path anew, for the transcript of this number.
    CountBranches(u64),
    /// Look for words; whatever was looked for before no longer matters.
    Search(Lookup),
    /// Show the end of tiller's own log.
    ShowLogs,
    /// Keep prompts for other times, oldest first.
    Remember(Vec<String>),
    /// Look for a picture on the clipboard.
    PasteImage,
    /// Look up facts for the first screen.
    Welcome,
}

/// What the loop does itself: it needs the terminal, or ends it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TerminalAction {
    Copy(CopiedText),
    EditElsewhere(String),
    Suspend,
    Quit,
}

impl Action {
    /// What the user typed for it, and would lose if it failed.
    pub(crate) fn typed(&self) -> Option<UserText> {
        match self {
            Self::Say(say) => say.typed(),
            Self::Go(Navigate::New) => Some("/new".to_owned().into()),
            Self::Go(Navigate::Clone) => Some("/clone".to_owned().into()),
            Self::Change(SessionEdit::SetModel(words)) => Some(format!("/model {words}").into()),
            Self::Queue(queue::QueueAction::Edit(_, words, _)) => Some(words.clone().into()),
            Self::Decide(_, Decision::Deny { reason }) => {
                approval::words_of(reason).map(|words| words.to_owned().into())
            }
            _ => None,
        }
    }
}

/// Something that the user typed, with the pictures that signs in it stand for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UserText {
    pub(crate) text: String,
    pub(crate) images: Vec<Image>,
}

impl From<String> for UserText {
    fn from(text: String) -> Self {
        Self { text, images: Vec::new() }
    }
}

/// Something that the user says, to the agent or to the shell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Submit {
    Steer(String),
    /// Stop what is in flight and go on with this, and with what steers and waits already.
    SteerNow(String),
    /// As that, with what waits already.
    Hurry,
    FollowUp(String),
    Bash(String, BashContext),
    /// One of the others, but `Bash`, with pictures.
    WithPictures(Box<Self>, Vec<Image>),
    /// A message, with what is to be done about the files that go with it or about its length.
    With(Box<Self>, LineExtra),
}

/// The special treatment of a message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LineExtra {
    /// These blocks of text go with it; the files it names were read already.
    Attached(String),
    /// Only the files that this part of it names go with it: the rest is a paste.
    FilesOf(String),
    /// It stands for this long text, which goes to a file.
    AsFile(String),
    /// It goes out though it is longer than the model's window.
    AnyLength,
}

impl Submit {
    /// What the user typed.
    pub(crate) fn typed(&self) -> Option<UserText> {
        match self {
            Self::Steer(text) | Self::SteerNow(text) | Self::FollowUp(text) => Some(text.clone().into()),
            Self::Bash(command, BashContext::Include) => Some(format!("!{command}").into()),
            Self::Bash(command, BashContext::Exclude) => Some(format!("!!{command}").into()),
            Self::Hurry => None,
            Self::With(_, LineExtra::AsFile(whole)) => Some(whole.clone().into()),
            Self::With(say, LineExtra::Attached(_) | LineExtra::FilesOf(_) | LineExtra::AnyLength) => {
                say.typed()
            }
            Self::WithPictures(say, images) => Some(UserText { images: images.clone(), ..say.typed()? }),
        }
    }
}

/// Somewhere else to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Navigate {
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
pub(crate) enum ListKind {
    Models,
    Thinking,
    Approval,
    Permissions,
    Trust,
    Tools,
    Settings,
    Themes,
    Logins,
    Logouts,
    /// Logs of other programs.
    Foreign,
}
