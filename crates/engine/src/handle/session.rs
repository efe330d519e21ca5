//! Methods for sessions and branches.

use std::path::PathBuf;

use tiller_core::id::EntryId;
use tiller_session::{Catalog, SessionList, SessionScope, Visibility};

use super::command::{DriverCommand, ForkedSession, OtherSessionOp, SessionSwitched, SwitchTarget};
use super::summary_in_progress::BranchSummary;
use super::{AgentError, AgentSession};

impl AgentSession {
    /// Creates the session's log if it has none yet. Without this, the first message creates it, and a session
    /// without messages leaves no log.
    ///
    /// # Errors
    /// If the log could not be stored.
    pub async fn create_log(&self) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::CreateLog { reply }).await
    }

    /// Names the session.
    ///
    /// # Errors
    /// If the name could not be stored.
    pub async fn rename(&self, name: impl Into<String>) -> Result<(), AgentError> {
        let name = name.into();
        self.send(|reply| DriverCommand::Rename { name, reply }).await
    }

    /// Sets or removes the label of an entry.
    ///
    /// # Errors
    /// If there is no such entry, or the label could not be stored.
    pub async fn label(&self, entry: EntryId, label: Option<String>) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::Label { entry, label, reply }).await
    }

    /// Hides an entry and its descendants in the tree, or shows them again.
    ///
    /// # Errors
    /// If there is no such entry, if the entry to hide is on the path to the leaf, or if the change could not
    /// be stored.
    pub async fn hide(&self, entry: EntryId, visibility: Visibility) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::Hide { entry, visibility, reply }).await
    }

    /// Switches to a new session.
    ///
    /// # Errors
    /// During a run.
    pub async fn new_session(&self) -> Result<SessionSwitched, AgentError> {
        self.switch(SwitchTarget::New).await
    }

    /// Switches to a new session whose log records the log at `parent` as its origin.
    ///
    /// # Errors
    /// During a run.
    pub async fn new_session_after(&self, parent: impl Into<PathBuf>) -> Result<SessionSwitched, AgentError> {
        self.switch(SwitchTarget::NewAfter(parent.into())).await
    }

    /// Switches to a new session that starts with a copy of this session's current branch.
    ///
    /// # Errors
    /// During a run, or [`AgentError::Empty`] if there is nothing to copy.
    pub async fn clone_session(&self) -> Result<SessionSwitched, AgentError> {
        self.switch(SwitchTarget::Copy).await
    }

    /// Switches to a session on disk.
    ///
    /// # Errors
    /// During a run, or if the log can't be opened.
    pub async fn open_session(&self, path: PathBuf) -> Result<SessionSwitched, AgentError> {
        self.switch(SwitchTarget::Open(path)).await
    }

    /// Switches to a new session that starts with a copy of the current branch of the session at `path`. That
    /// session may belong to another process.
    ///
    /// # Errors
    /// During a run, [`AgentError::Empty`] if the other session is empty, or if the log can't be read.
    pub async fn fork_session(&self, path: PathBuf) -> Result<SessionSwitched, AgentError> {
        self.switch(SwitchTarget::ForkOf(path)).await
    }

    /// Names this or another session; a blank name removes the name. Doesn't change the time when the session was
    /// last used.
    ///
    /// # Errors
    /// If another process has it open for writing, or the name could not be stored.
    pub async fn name_session(&self, path: PathBuf, name: impl Into<String>) -> Result<(), AgentError> {
        self.change_session(path, OtherSessionOp::Name(name.into())).await
    }

    /// Moves a session to the user's trash.
    ///
    /// # Errors
    /// [`AgentError::SessionOpen`] if it is this session. Also fails if another process has it open for writing,
    /// or there is no trash.
    pub async fn trash_session(&self, path: PathBuf) -> Result<(), AgentError> {
        self.change_session(path, OtherSessionOp::Trash).await
    }

    /// Restores the session that was last moved to the user's trash from `path`.
    ///
    /// # Errors
    /// If it is no longer in the trash, or its path is taken.
    pub async fn restore_session(&self, path: PathBuf) -> Result<(), AgentError> {
        self.change_session(path, OtherSessionOp::Restore).await
    }

    async fn change_session(&self, path: PathBuf, operation: OtherSessionOp) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::ChangeSession { path, operation, reply }).await
    }

    /// Switches to a new session that starts with a copy of this session's path from the root to `entry`. For a
    /// user message, the copy ends just before it, and its text is returned for the editor.
    ///
    /// # Errors
    /// During a run, or if there is no such entry.
    pub async fn fork(&self, entry: EntryId) -> Result<SessionSwitched, AgentError> {
        self.switch(SwitchTarget::Fork(entry)).await
    }

    /// Creates a session that starts with a copy of this session's path from the root to `entry`, like
    /// [`AgentSession::fork`], without switching to it. Works during a run. The text of a user message is added
    /// to the new session's queue and held.
    ///
    /// # Errors
    /// If there is no such entry, if nothing precedes it ([`AgentError::Empty`]), or if the log could not be
    /// written.
    pub async fn create_fork(&self, entry: EntryId) -> Result<ForkedSession, AgentError> {
        self.send(|reply| DriverCommand::CreateFork { entry, reply }).await
    }

    /// Moves the leaf to an earlier entry of this session. For a user message, the leaf moves to just before the
    /// message, whose text is returned for the editor. `summary`, if any, tells the model about the abandoned branch.
    /// Generating it takes a while, and [`AgentSession::abort`] stops it. An empty branch gets no summary.
    ///
    /// # Errors
    /// During a run, if there is no such entry, or if the summary failed.
    pub async fn navigate(
        &self,
        entry: EntryId,
        summary: BranchSummary,
    ) -> Result<SessionSwitched, AgentError> {
        let summary = match summary {
            BranchSummary::None => None,
            BranchSummary::Text(text) => Some(text),
            BranchSummary::Made { instructions } => {
                return self.send(|reply| DriverCommand::LeaveBranch { entry, instructions, reply }).await;
            }
        };
        self.switch(SwitchTarget::Leaf { entry, summary }).await
    }

    /// Lists the sessions.
    ///
    /// # Errors
    /// If their directory can't be read.
    pub async fn sessions(&self, scope: SessionScope) -> Result<SessionList, AgentError> {
        self.send(|reply| DriverCommand::Sessions { scope, reply }).await
    }

    /// Returns the catalog for searching all sessions. Its methods read files, so use it on a blocking
    /// thread.
    ///
    /// # Errors
    /// If the catalog can't be stored, or the session is closed.
    pub async fn catalog(&self) -> Result<Catalog, AgentError> {
        self.send(|reply| DriverCommand::Catalog { reply }).await
    }

    async fn switch(&self, to: SwitchTarget) -> Result<SessionSwitched, AgentError> {
        self.send(|reply| DriverCommand::Switch { to, reply }).await
    }
}
