//! List items and their choices.

use std::path::PathBuf;
use std::sync::Arc;

use tiller_core::event::CompactionChoice;
use tiller_core::id::{CallId, EntryId, JobId, SessionId};
use tiller_core::message::ThinkingLevel;
use tiller_core::setting::{Setting, SettingScope};
use tiller_engine::{ApprovalMode, BranchSummary, ConfiguredRule, Permission};
use tiller_render::{Line, Role};

use crate::delivery::{DeliveryTime, LongMessage};
use crate::navigate::Navigate;
use crate::pattern_subject::PatternSubject;
use crate::picker::session_query::SessionExcerpt;

/// Markers around the highlighted part of a label.
pub(crate) const MARKS: [char; 2] = ['\u{2}', '\u{3}'];

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PickerItem {
    /// Text drawn before the label, such as the lines of a tree.
    pub(crate) lead: String,
    /// The label; text between [`MARKS`] is highlighted.
    pub(crate) label: String,
    /// Right-aligned text.
    pub(crate) note: String,
    pub(crate) role: Role,
    pub(crate) choice: PickerChoice,
    /// Identifies the item in a refreshed list, if its choice changes with its state.
    identity: Option<PickerChoice>,
    /// The part of the preview that needs no loading.
    pub(crate) detail: Arc<[Line]>,
    /// Data about the session, if the item is one.
    pub(crate) tag: Option<Arc<SessionTag>>,
}

/// Data about a session, independent of its row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SessionTag {
    pub(crate) id: SessionId,
    pub(crate) name: Option<String>,
    /// The excerpt shown in the preview.
    pub(crate) extract: SessionExcerpt,
    pub(crate) is_open: bool,
}

impl PickerItem {
    pub(crate) fn new(label: impl Into<String>, choice: PickerChoice) -> Self {
        let (lead, note, detail) = (String::new(), String::new(), Arc::default());
        Self { lead, label: label.into(), note, role: Role::Text, choice, identity: None, detail, tag: None }
    }

    /// Sets the identity of an item whose choice changes with its state.
    pub(crate) fn identified_by(self, identity: PickerChoice) -> Self {
        Self { identity: Some(identity), ..self }
    }

    /// Identifies the item in a refreshed list.
    pub(super) fn identity(&self) -> &PickerChoice {
        self.identity.as_ref().unwrap_or(&self.choice)
    }

    /// Sets the right-aligned text.
    pub(crate) fn with_note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    /// Sets the text before the label.
    pub(crate) fn with_lead(self, lead: impl Into<String>) -> Self {
        Self { lead: lead.into(), ..self }
    }

    /// Sets the style role.
    pub(crate) fn in_role(self, role: Role) -> Self {
        Self { role, ..self }
    }

    /// Marks the item as a session.
    pub(crate) fn with_session(self, id: SessionId, name: Option<String>) -> Self {
        let tag = SessionTag { id, name, extract: SessionExcerpt::End, is_open: false };
        Self { tag: Some(Arc::new(tag)), ..self }
    }

    /// Sets the excerpt in the preview.
    pub(crate) fn with_excerpt(self, extract: SessionExcerpt) -> Self {
        let tag = self.tag.map(|tag| Arc::new(SessionTag { extract, ..(*tag).clone() }));
        Self { tag, ..self }
    }

    pub(crate) fn marked_open(self) -> Self {
        let tag = self.tag.map(|tag| Arc::new(SessionTag { is_open: true, ..(*tag).clone() }));
        Self { note: format!("open · {}", self.note), tag, ..self }
    }

    /// Returns the excerpt shown in the preview.
    pub(super) fn extract(&self) -> SessionExcerpt {
        self.tag.as_ref().map(|tag| tag.extract.clone()).unwrap_or_default()
    }

    pub(super) fn is_open(&self) -> bool {
        self.tag.as_ref().is_some_and(|tag| tag.is_open)
    }

    /// Sets the part of the preview that needs no loading.
    pub(crate) fn with_detail(self, detail: Vec<Line>) -> Self {
        Self { detail: detail.into(), ..self }
    }
}

/// The effect of accepting an item.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PickerChoice {
    /// Continues from this entry, with or without a summary of the abandoned branch.
    Leave(EntryId, BranchSummary),
    /// Continues from this entry after the user has written an instruction for the summary.
    Instruct(EntryId),
    /// Resolves a failed summary.
    AfterFailure(CompactionChoice),
    /// Hides this entry and its descendants in the tree.
    Hide(EntryId),
    /// Sends the long message in the editor in this form, at this time.
    LongMessage(LongMessage, DeliveryTime),
    /// No effect.
    Nothing,
    /// Stops the agent, then navigates.
    Stop(Navigate),
    /// Forks a session with the path to this entry, without opening it.
    ForkBeside(EntryId),
    /// Opens this session.
    Open(PathBuf),
    /// Selects this model.
    Model(String),
    /// Unavailable, for this reason.
    Unavailable(String),
    Thinking(ThinkingLevel),
    Approval(ApprovalMode),
    /// Trusts the project's files.
    Trust,
    /// Revokes this permission.
    Permission(Permission),
    /// Requests confirmation to remove this rule from its settings file.
    ConfiguredRule(Box<ConfiguredRule>),
    /// Removes this rule from its settings file.
    RemoveRule(Box<ConfiguredRule>),
    /// Edits the rules for a pending call of the tool.
    Rules(CallId, String, PatternSubject),
    /// Saves rules to these settings.
    RuleFile(SettingScope),
    Agent {
        id: SessionId,
        name: String,
    },
    /// Continues with this lane of the race.
    Lane(usize),
    /// Continues the interrupted lanes of the race.
    ResumeRace,
    /// Stops the race.
    StopRace,
    /// Discards the results of the race.
    DiscardRace,
    /// Stops this background job.
    Job(JobId),
    /// Enables or disables this tool.
    Tool(String),
    /// Changes this setting; the text is its current value, empty if unset.
    Setting(&'static Setting, String),
    /// Writes this value of the setting to the user's file.
    SettingValue(&'static Setting, &'static str),
    ForkOf(PathBuf),
    /// Attaches to this session, which another process has open.
    Attach(PathBuf),
    /// Puts this prompt into the editor.
    Prompt(String),
    Theme(String),
    /// A model whose provider has no key. Prompts for the key.
    LockedModel(String),
    /// Prompts for this provider's key.
    Login(String),
    /// Removes this provider's key.
    Logout(String),
    /// Imports this log of another program.
    Import(PathBuf),
}
