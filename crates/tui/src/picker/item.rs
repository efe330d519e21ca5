//! One thing to choose, and what choosing it means.

use std::path::PathBuf;
use std::sync::Arc;

use tiller_core::event::CompactionChoice;
use tiller_core::id::{EntryId, SessionId};
use tiller_core::message::ThinkingLevel;
use tiller_core::setting::Setting;
use tiller_engine::{ApprovalMode, BranchSummary, Permission};
use tiller_render::{Line, Role};

use crate::app::Navigate;
use crate::keys::KeyValidity;
use crate::long_message::LongMessage;

/// Signs around a part of a label that stands out.
pub(crate) const MARKS: [char; 2] = ['\u{2}', '\u{3}'];

/// One thing to choose.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PickerItem {
    /// What is drawn before it: the branches of a tree.
    pub(crate) lead: String,
    /// What it is called; what stands between [`MARKS`] stands out.
    pub(crate) label: String,
    /// What stands at the right end.
    pub(crate) note: String,
    pub(crate) role: Role,
    pub(crate) choice: PickerChoice,
    /// What the preview says of it, if that is known already.
    pub(crate) detail: Arc<[Line]>,
    /// What it goes by, if it is a session.
    pub(crate) tag: Option<Arc<ItemTag>>,
}

/// What a session goes by, whatever of it its row shows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ItemTag {
    pub(crate) id: SessionId,
    pub(crate) name: Option<String>,
    /// What its preview shows of it.
    pub(crate) extract: Extract,
    /// Whether it is the one that is open here.
    pub(crate) is_here: bool,
}

/// What the preview of a session shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Extract {
    /// Its last exchange.
    #[default]
    End,
    /// What was said in this entry around these words.
    Around(EntryId, String),
}

impl PickerItem {
    pub(crate) fn new(label: impl Into<String>, choice: PickerChoice) -> Self {
        let (lead, note, detail) = (String::new(), String::new(), Arc::default());
        Self { lead, label: label.into(), note, role: Role::Text, choice, detail, tag: None }
    }

    /// The same with something at the right end.
    pub(crate) fn with_note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    /// The same with something before it.
    pub(crate) fn with_lead(self, lead: impl Into<String>) -> Self {
        Self { lead: lead.into(), ..self }
    }

    /// The same in another role.
    pub(crate) fn in_role(self, role: Role) -> Self {
        Self { role, ..self }
    }

    /// The same, a session that goes by this.
    pub(crate) fn tagged(self, id: SessionId, name: Option<String>) -> Self {
        let tag = ItemTag { id, name, extract: Extract::End, is_here: false };
        Self { tag: Some(Arc::new(tag)), ..self }
    }

    /// The same, of which the preview shows this.
    pub(crate) fn showing(self, extract: Extract) -> Self {
        let tag = self.tag.map(|tag| Arc::new(ItemTag { extract, ..(*tag).clone() }));
        Self { tag, ..self }
    }

    /// The same, the session that is open here.
    pub(crate) fn marked_here(self) -> Self {
        let tag = self.tag.map(|tag| Arc::new(ItemTag { is_here: true, ..(*tag).clone() }));
        Self { note: format!("open here · {}", self.note), tag, ..self }
    }

    /// What its preview is to show of it, if it is a session.
    pub(super) fn extract(&self) -> Extract {
        self.tag.as_ref().map(|tag| tag.extract.clone()).unwrap_or_default()
    }

    /// Whether it is the session that is open here.
    pub(super) fn is_here(&self) -> bool {
        self.tag.as_ref().is_some_and(|tag| tag.is_here)
    }

    /// The same with something to be read beside the list.
    pub(crate) fn with_detail(self, detail: Vec<Line>) -> Self {
        Self { detail: detail.into(), ..self }
    }
}

/// What a choice means.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PickerChoice {
    /// Go on from this entry, and tell the model this of what is left behind.
    Leave(EntryId, BranchSummary),
    /// Do so once the user has said what matters in the summary of what is left behind.
    Instruct(EntryId),
    /// Do this after a summary could not be made.
    AfterFailure(CompactionChoice),
    /// Take this entry and what follows it out of the tree.
    Hide(EntryId),
    /// Send the long message in the editor in this way.
    Long(LongMessage, KeyValidity),
    /// Leave everything as it is.
    Nothing,
    /// Stop what runs, then do this.
    Stop(Navigate),
    /// Make a session that begins with the path to this entry, and stay here.
    ForkBeside(EntryId),
    /// Go to this session.
    Open(PathBuf),
    /// Let this model answer.
    Model(String),
    /// That can't be, and why.
    Cant(String),
    /// Think so much.
    Thinking(ThinkingLevel),
    /// Ask about these calls.
    Approval(ApprovalMode),
    /// Let the files of the project take effect.
    Trust,
    /// Take back that this is allowed.
    Permission(Permission),
    /// Offer this tool to the model, or don't any more.
    Tool(String),
    /// Change this setting, whose value is typed so; empty when it is unset.
    Setting(&'static Setting, String),
    /// Write this word of the setting to the user's file.
    Word(&'static Setting, &'static str),
    /// Go to a new session that begins as this one does.
    ForkOf(PathBuf),
    /// Put this prompt into the editor.
    Prompt(String),
    /// Wear the theme of this name.
    Theme(String),
    /// A model whose provider, this one, has no key yet: ask for that.
    Locked(String),
    /// Give this provider a key.
    Login(String),
    /// Take the key of this provider away.
    Logout(String),
    /// Make a session of this log of another program.
    Import(PathBuf),
}
