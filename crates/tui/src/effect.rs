//! Requests of components, as data. The app applies effects on the screen and passes actions to the executor.

use tiller_core::event::QueueItem;
use tiller_core::id::{CallId, ElicitationId, EntryId, QueueId};
use tiller_core::proposed_rules::ProposedRules;
use tiller_render::Line;

use crate::action::{Action, TerminalAction, UserText};
use crate::address::Address;
use crate::block::notice_level::NoticeLevel;
use crate::delivery::{DeliveryTime, LongMessage};
use crate::list_kind::ListKind;
use crate::navigate::Navigate;
use crate::pattern_subject::PatternSubject;
use crate::picker::item::PickerItem;
use crate::queue::AfterQueueEdit;
use crate::tree::request::TreePurpose;

/// An effect that a component requests.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    /// Performs an action outside the screen on behalf of a part of it.
    Perform(Address, Action),
    /// Removes the message at the bottom of the screen.
    ClearFlash,
    /// Shows a message at the bottom of the screen for a while.
    Flash(FlashText),
    /// Adds a notice to the transcript.
    Notice {
        level: NoticeLevel,
        text: String,
        hint: Option<String>,
    },
    /// Marks notices with this text as outdated.
    MarkOutdated(String),
    Open(OverlayRequest),
    /// Closes the overlay on top, after a choice.
    CloseTop,
    /// Closes all overlays, after a choice.
    CloseAll,
    CloseSessionLists,
    /// Leaves overlays without a choice.
    Leave(LeaveScope),
    /// Reports that the pending call was answered here.
    CallAnswered(CallId),
    /// Reports that the server's question was answered here.
    ElicitationAnswered(ElicitationId),
    /// Starts writing the reason for denying this call in the editor.
    WriteReason(CallId),
    /// Replaces the lines of the pending call's page, if it is open.
    UpdateCallPage {
        call: CallId,
        lines: Vec<Line>,
    },
    /// Closes the page of a pending call.
    CloseCallPage(CallId),
    /// Starts editing a queued message in the editor.
    EditQueued(QueueEditRequest),
    /// The edit of a queued message ended; the queue panel gets the keys back.
    QueueEditEnded,
    /// A queued message was delivered before this edit of it was applied.
    QueueEditTooLate(String),
    /// Starts writing an instruction in the editor for the summary of the branch abandoned for this entry.
    WriteSummaryInstruction(EntryId),
    /// Reports that the draft was cleared; the next press of the same key doesn't quit.
    DraftCleared,
    /// Reports that text was typed into the editor; a focused block would take the next letters.
    Typed,
    /// Gives the keys to the queue panel.
    EnterQueue,
    /// Reports that a click accepted a list's row.
    ClickAccepted,
    /// Inserts text that arrived in one read into the editor.
    InsertText(String),
    PutBeforeDraft(String),
    RestoreMessages(Vec<QueueItem>),
    /// Puts a prompt from the history into the editor.
    RecallPrompt(String),
    /// Reports that text was sent or a command was run: the transcript follows the end.
    Sent {
        to_model: bool,
    },
    /// Moves an unanswered prompt back to the editor.
    TakeBackPrompt,
    /// Copies the answer with this number from the end; `typed` is the command, returned for correction.
    CopyAnswer {
        from_end: usize,
        typed: String,
    },
    /// Returns input to the editor for correction, with the reason.
    RejectInput {
        typed: UserText,
        reason: String,
    },
    /// Sends the long message in the editor, in this form and at this time.
    SendLong(LongMessage, DeliveryTime),
    /// Stops the agent, then navigates.
    StopAndNavigate(Navigate),
    /// Restores the session trashed last.
    RestoreLastSession,
    /// Shows a theme while its list is open; `None` ends the preview.
    PreviewTheme(Option<String>),
    /// Applies a theme, given by name or file, and saves the choice.
    ApplyTheme(String),
}

/// The overlays to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaveScope {
    Top,
    All,
}

/// An overlay to open.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum OverlayRequest {
    /// A list whose items are loaded in the background.
    List {
        kind: ListKind,
        filter: String,
    },
    /// The list of providers, with the prompt for the key of the provider with this name.
    Login(String),
    /// The values of a setting, and the index of the current one.
    SettingValues {
        title: String,
        items: Vec<PickerItem>,
        selected: usize,
    },
    /// The prompts of the history.
    Prompts(Vec<PickerItem>),
    /// A question with its answers.
    Question {
        title: String,
        items: Vec<PickerItem>,
    },
    Sessions {
        filter: String,
    },
    /// A page of help.
    Help {
        title: String,
        lines: Vec<Line>,
    },
    /// The separate page of a pending call.
    CallPage {
        call: CallId,
        title: String,
        lines: Vec<Line>,
    },
    /// The rules that would allow a pending call, for editing and saving.
    RuleForm {
        call: CallId,
        rules: ProposedRules,
        subject: PatternSubject,
    },
    Tree(TreePurpose),
}

impl OverlayRequest {
    /// A list without a filter.
    pub(crate) fn list(kind: ListKind) -> Self {
        Self::List { kind, filter: String::new() }
    }

    /// The list of sessions without a filter.
    pub(crate) fn sessions() -> Self {
        Self::Sessions { filter: String::new() }
    }
}

/// The edit of a queued message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueueEditRequest {
    pub(crate) id: QueueId,
    /// The text before the edit.
    pub(crate) shown: String,
    pub(crate) then: AfterQueueEdit,
}

/// A message at the bottom of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FlashText {
    pub(crate) text: String,
    /// The call that the message is about; both disappear together.
    pub(crate) call: Option<CallId>,
}

impl Effect {
    /// Shows a message at the bottom of the screen for a while.
    pub(crate) fn flash(text: impl Into<String>) -> Self {
        Self::Flash(FlashText { text: text.into(), call: None })
    }

    /// Ends the program.
    pub(crate) fn quit() -> Self {
        Action::Terminal(TerminalAction::Quit).into()
    }
}

impl From<Action> for Effect {
    fn from(action: Action) -> Self {
        Self::Perform(Address::Screen, action)
    }
}
