//! Actions: the app's decisions as data.

use std::path::PathBuf;

use tiller_core::elicitation::ElicitationAnswer;
use tiller_core::event::{CompactionChoice, Decision};
use tiller_core::id::{CallId, ElicitationId, EntryId, JobId, SessionId};
use tiller_core::message::{Image, ThinkingLevel};
use tiller_core::proposed_rules::ProposedRules;
use tiller_core::setting::{Setting, SettingScope};
use tiller_engine::agents::RaceOptions;
use tiller_engine::{ApprovalMode, BashContext, ConfiguredRule, CycleDirection, Permission};
use tiller_session::Visibility;

use crate::address::Address;
use crate::completion::files::FileRankingJob;
use crate::completion::paths::PathQuery;
use crate::completion::values::ArgumentValues;
use crate::denial::user_reason;
use crate::list_kind::ListKind;
use crate::navigate::Navigate;
use crate::picker::narrowing::NarrowingJob;
use crate::picker::session_query::{SearchRequest, SessionExcerpt};
use crate::transcript::section::SectionRequest;
use crate::transcript_pane::lookup::SearchJob;
use crate::tree::request::TreeRequest;
use crate::{login, queue};

/// An action, and the part of the screen that requests it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ActionRequest {
    pub(crate) from: Address,
    pub(crate) action: Action,
}

impl From<Action> for ActionRequest {
    fn from(action: Action) -> Self {
        Self { from: Address::Screen, action }
    }
}

/// An action for the event loop or the executor.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    Submit(Submit),
    Navigate(Navigate),
    Abort,
    /// Moves the agent's running command to the background.
    MoveToBackground,
    Queue(queue::QueueAction),
    Decide(CallId, Decision),
    AnswerElicitation(ElicitationId, ElicitationAnswer),
    /// Compacts the context; the text is an instruction for the summary.
    Compact(Option<String>),
    /// Drops the older part of the context without a summary.
    Truncate,
    Edit(SessionEdit),
    List(ListAction),
    /// A job that runs in the background while other actions are performed.
    Background(BackgroundJob),
    SearchSessions(SearchRequest),
    EndSessionSearch,
    /// Takes a snapshot and reloads the path.
    Reload,
    /// Takes a snapshot of the session's properties only.
    Refresh,
    /// Requests the agent's slash commands.
    LoadCommands,
    /// Reloads skills, templates and context files.
    ReloadResources,
    ShowSessionInfo {
        /// Width of the page in columns.
        width: usize,
    },
    ShowCost,
    ShowContext {
        /// Width of the page in columns.
        width: usize,
    },
    ShowToolServers,
    /// Exports the session to this file; an empty name means the default name.
    Export(String),
    /// Attaches the image in this file, or pastes the text if it isn't an image.
    Attach(PathBuf, String),
    Terminal(TerminalAction),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SessionEdit {
    SetModel(String),
    /// Selects the next or previous available model.
    CycleModel(CycleDirection),
    SetThinking(ThinkingLevel),
    Rename(String),
    /// Sets or removes the newest message's label.
    Label(Option<String>),
    LabelEntry(EntryId, Option<String>),
    Hide(EntryId, Visibility),
    /// Resolves a failed compaction.
    ResolveCompaction(CompactionChoice),
}

/// Work for lists and completion, and actions started in lists.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ListAction {
    /// Loads a picker's items.
    LoadItems(ListKind),
    /// Loads the values of a command's argument.
    LoadArguments(ArgumentValues),
    /// Filters a long list.
    Filter(NarrowingJob),
    /// Lists the files under a directory.
    WalkFiles(PathBuf),
    RankFiles(FileRankingJob),
    /// Lists the directory of a partially typed path.
    ListPaths(PathQuery),
    /// Reads the last exchange of a session.
    Preview(PathBuf, SessionExcerpt),
    NameSession(PathBuf, String),
    TrashSession(PathBuf),
    RestoreSession(PathBuf),
    SetApproval(ApprovalMode),
    /// Enters plan mode, or leaves it and prefills the plan as the next prompt.
    TogglePlan,
    /// Trusts the project as described in the question.
    Trust,
    /// Revokes a permission granted for the session.
    Revoke(Permission),
    /// Saves the edited rules for a pending call.
    SaveRules {
        call: CallId,
        scope: SettingScope,
        rules: ProposedRules,
    },
    /// Removes a rule from its settings file.
    RemoveRule(Box<ConfiguredRule>),
    /// Opens the session of one of the session's agents.
    OpenAgent {
        id: SessionId,
        name: String,
    },
    StartRace(RaceOptions),
    /// Continues with this lane of the race.
    PickLane(usize),
    /// Continues the interrupted lanes of the race.
    ResumeRace,
    /// Stops the race, unless all lanes have ended.
    StopRace,
    /// Discards the results of the race.
    DiscardRace,
    /// Stops one of the agent's background jobs.
    StopJob(JobId),
    /// Gives tools access to this directory, written as typed.
    AddDir(String),
    /// Enables or disables a tool for the model.
    ToggleTool(String),
    /// Writes a setting as typed; an empty value removes it from the file.
    Set(&'static Setting, String),
    /// Stores or removes an API key.
    Key(login::LoginRequest),
    /// Imports sessions from other programs' logs; the path is as typed.
    Import(String),
}

/// A background job that reports its result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum BackgroundJob {
    Tree(TreeRequest),
    /// Counts the entries that hiding this one would hide, then asks for confirmation.
    AskToHide(EntryId),
    /// Writes a setting to the user's settings file.
    SaveSetting {
        setting: &'static Setting,
        value: String,
    },
    /// Reads one part of the path.
    ReadPart(SectionRequest),
    /// Recounts the branches along the path, for the transcript with this epoch.
    CountBranches(u64),
    /// Searches the transcript; replaces the previous search.
    Search(SearchJob),
    /// Shows the end of tiller's own log.
    ShowLogs,
    /// Appends prompts to the history, oldest first.
    AppendHistory(Vec<String>),
    /// Reads an image from the clipboard.
    PasteImage,
    /// Collects the data of the welcome screen.
    Welcome,
    /// Opens an address in the browser, after the user's consent.
    OpenPage(String),
}

/// An action that the event loop performs itself, because it uses the terminal or ends the loop.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TerminalAction {
    Copy(CopiedText),
    EditExternally(String),
    Suspend,
    /// Returns from an agent to the session that delegated its task.
    LeaveAgent,
    /// Ends the loop, to attach to the session in this file.
    Attach(PathBuf),
    Quit,
}

impl Action {
    /// Returns the user's input in this action, which would be lost if the action failed.
    pub(crate) fn typed(&self) -> Option<UserText> {
        match self {
            Self::Submit(say) => say.typed(),
            Self::Navigate(Navigate::New) => Some("/new".to_owned().into()),
            Self::Navigate(Navigate::Clone) => Some("/clone".to_owned().into()),
            Self::Edit(SessionEdit::SetModel(words)) => Some(format!("/model {words}").into()),
            Self::Queue(queue::QueueAction::Edit(_, words, _)) => Some(words.clone().into()),
            Self::Decide(_, Decision::Deny { reason }) => {
                user_reason(reason).map(|reason| reason.to_owned().into())
            }
            _ => None,
        }
    }
}

/// User input with the images of its placeholders.
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

/// Input for the agent or the shell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Submit {
    Steer(String),
    /// Interrupts the request in flight and sends this message after the waiting steering messages.
    SteerNow(String),
    /// Interrupts the request in flight and sends the waiting steering messages.
    DeliverSteeringNow,
    FollowUp(String),
    Bash(String, BashContext),
    /// One of the other variants except `Bash`, with images.
    WithImages(Box<Self>, Vec<Image>),
    /// A message with attached files or an override of the length check.
    WithExtra(Box<Self>, MessageExtra),
}

/// Special handling of a message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum MessageExtra {
    /// Sends these text blocks after the message; its files have been read.
    Attached(String),
    /// Attaches only the files that this part of the text mentions; the rest is a paste.
    FilesOf(String),
    /// Replaces the message with a reference to a file that contains this long text.
    AsFile(String),
    /// Skips the check against the model's context window.
    AnyLength,
}

impl Submit {
    /// Returns the text as the user typed it.
    pub(crate) fn typed(&self) -> Option<UserText> {
        match self {
            Self::Steer(text) | Self::SteerNow(text) | Self::FollowUp(text) => Some(text.clone().into()),
            Self::Bash(command, BashContext::Include) => Some(format!("!{command}").into()),
            Self::Bash(command, BashContext::Exclude) => Some(format!("!!{command}").into()),
            Self::DeliverSteeringNow => None,
            Self::WithExtra(_, MessageExtra::AsFile(whole)) => Some(whole.clone().into()),
            Self::WithExtra(
                say,
                MessageExtra::Attached(_) | MessageExtra::FilesOf(_) | MessageExtra::AnyLength,
            ) => say.typed(),
            Self::WithImages(say, images) => Some(UserText { images: images.clone(), ..say.typed()? }),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CopiedText {
    pub(crate) text: String,
    /// A short description for the message, such as `3 lines`.
    pub(crate) summary: String,
}
