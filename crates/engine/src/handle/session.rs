//! The handle's word on sessions: which one, which branch of it, and what it is called.

use std::path::PathBuf;

use tiller_core::id::EntryId;
use tiller_session::{Catalog, SessionList, SessionScope, Visibility};

use super::command::{ForkedSession, OtherSessionOp, SessionCommand, SessionSwitched, SwitchTarget};
use super::compaction::BranchSummary;
use super::{AgentError, AgentSession};

impl AgentSession {
    /// Names the session.
    ///
    /// # Errors
    /// When the name could not be kept.
    pub async fn rename(&self, name: impl Into<String>) -> Result<(), AgentError> {
        let name = name.into();
        self.ask(|reply| SessionCommand::Rename { name, reply }).await
    }

    /// Labels an entry, or takes its label away.
    ///
    /// # Errors
    /// When there is no such entry, or the label could not be kept.
    pub async fn label(&self, entry: EntryId, label: Option<String>) -> Result<(), AgentError> {
        self.ask(|reply| SessionCommand::Label { entry, label, reply }).await
    }

    /// Takes an entry and everything that follows it out of the drawn tree, or brings them back.
    ///
    /// # Errors
    /// When there is no such entry, when it is to be hidden and lies on the path to the leaf, or when that could not be kept.
    pub async fn hide(&self, entry: EntryId, visibility: Visibility) -> Result<(), AgentError> {
        self.ask(|reply| SessionCommand::Hide { entry, visibility, reply }).await
    }

    /// Goes to a fresh session.
    ///
    /// # Errors
    /// While the agent works.
    pub async fn new_session(&self) -> Result<SessionSwitched, AgentError> {
        self.switch(SwitchTarget::New).await
    }

    /// Goes to a fresh session whose log names the one at `parent` as where it comes from.
    ///
    /// # Errors
    /// While the agent works.
    pub async fn new_session_after(&self, parent: impl Into<PathBuf>) -> Result<SessionSwitched, AgentError> {
        self.switch(SwitchTarget::NewAfter(parent.into())).await
    }

    /// Goes to a copy of this session: a new one that begins with the whole of this one's path.
    ///
    /// # Errors
    /// While the agent works, or [`AgentError::Empty`] when there is nothing to copy.
    pub async fn clone_session(&self) -> Result<SessionSwitched, AgentError> {
        self.switch(SwitchTarget::Copy).await
    }

    /// Goes to a session on disk.
    ///
    /// # Errors
    /// While the agent works, or when the log can't be opened.
    pub async fn open_session(&self, path: PathBuf) -> Result<SessionSwitched, AgentError> {
        self.switch(SwitchTarget::Open(path)).await
    }

    /// Goes to a new session that begins with the whole path of the session at `path`, which may be another process's.
    ///
    /// # Errors
    /// While the agent works, [`AgentError::Empty`] when there is nothing in it, or when the log can't be read.
    pub async fn fork_session(&self, path: PathBuf) -> Result<SessionSwitched, AgentError> {
        self.switch(SwitchTarget::ForkOf(path)).await
    }

    /// Names a session, this one or another; a blank name takes its name away. When it was gone on with last doesn't change.
    ///
    /// # Errors
    /// When another process writes to it, or the name could not be kept.
    pub async fn name_session(&self, path: PathBuf, name: impl Into<String>) -> Result<(), AgentError> {
        self.elsewhere(path, OtherSessionOp::Name(name.into())).await
    }

    /// Moves a session to the user's trash.
    ///
    /// # Errors
    /// [`AgentError::InUse`] when it is this one; when another process writes to it, or there is no trash.
    pub async fn trash_session(&self, path: PathBuf) -> Result<(), AgentError> {
        self.elsewhere(path, OtherSessionOp::Trash).await
    }

    /// Brings a session back from the user's trash: the one that was moved there last from `path`.
    ///
    /// # Errors
    /// When it isn't there any more, or something else has its place.
    pub async fn restore_session(&self, path: PathBuf) -> Result<(), AgentError> {
        self.elsewhere(path, OtherSessionOp::Restore).await
    }

    async fn elsewhere(&self, path: PathBuf, what: OtherSessionOp) -> Result<(), AgentError> {
        self.ask(|reply| SessionCommand::Elsewhere { path, what, reply }).await
    }

    /// Goes to a new session that begins with this one's path up to `entry`; if that is a user message, up to just
    /// before it, with its text for the editor.
    ///
    /// # Errors
    /// While the agent works, or when there is no such entry.
    pub async fn fork(&self, entry: EntryId) -> Result<SessionSwitched, AgentError> {
        self.switch(SwitchTarget::Fork(entry)).await
    }

    /// Makes a session that begins with this one's path up to `entry`, as [`AgentSession::fork`] does, and stays here: that works
    /// while the agent does. The text of a user message waits in it, held.
    ///
    /// # Errors
    /// When there is no such entry, when nothing stands before it ([`AgentError::Empty`]), or when the log could not be written.
    pub async fn fork_beside(&self, entry: EntryId) -> Result<ForkedSession, AgentError> {
        self.ask(|reply| SessionCommand::ForkBeside { entry, reply }).await
    }

    /// Goes on from an earlier entry of this session; if that is a user message, from just before it, with its text for
    /// the editor. With a summary the model there is told of the branch that is left; one that a model makes takes a while, and
    /// [`AgentSession::abort`] stops it. Where nothing is left behind none is made.
    ///
    /// # Errors
    /// While the agent works, when there is no such entry, or when no summary could be made.
    pub async fn navigate(
        &self,
        entry: EntryId,
        summary: BranchSummary,
    ) -> Result<SessionSwitched, AgentError> {
        let summary = match summary {
            BranchSummary::None => None,
            BranchSummary::Text(text) => Some(text),
            BranchSummary::Made { instructions } => {
                return self.ask(|reply| SessionCommand::Leave { entry, instructions, reply }).await;
            }
        };
        self.switch(SwitchTarget::Leaf { entry, summary }).await
    }

    /// The sessions there are.
    ///
    /// # Errors
    /// When their folder can't be read.
    pub async fn sessions(&self, scope: SessionScope) -> Result<SessionList, AgentError> {
        self.ask(|reply| SessionCommand::Sessions { scope, reply }).await
    }

    /// What there is to look through all sessions with. It reads files: use it where that may take its time.
    ///
    /// # Errors
    /// When there is no room for it, or the session is closed.
    pub async fn catalog(&self) -> Result<Catalog, AgentError> {
        self.ask(|reply| SessionCommand::Catalog { reply }).await
    }

    async fn switch(&self, to: SwitchTarget) -> Result<SessionSwitched, AgentError> {
        self.ask(|reply| SessionCommand::Switch { to, reply }).await
    }
}
