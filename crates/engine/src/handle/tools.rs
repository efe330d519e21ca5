//! The handle's word on tools and approvals.

use tiller_core::message::ToolSpec;
use tiller_tools::policy::{ApprovalMode, PermissionRule};
use tiller_tools::tool::ToolSource;

use super::command::{Change, PermissionCommand, SessionCommand};
use super::{AgentError, AgentSession};

/// A tool of the session.
#[derive(Clone, Debug)]
pub struct OfferedTool {
    /// What the model is told of it.
    pub spec: ToolSpec,
    /// Who it is from.
    pub source: ToolSource,
    /// Whether the model is told of it, and if not, why.
    pub standing: ToolStanding,
}

/// Whether the model is told of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolStanding {
    /// It is.
    Offered,
    /// It isn't, because this says so, since the start: a flag, a setting.
    LeftOut(String),
    /// It isn't any more: [`AgentSession::offer_tools`] left it out.
    TakenAway,
}

impl OfferedTool {
    /// Whether the model is told of it.
    #[must_use]
    pub fn is_offered(&self) -> bool {
        self.standing == ToolStanding::Offered
    }
}

impl AgentSession {
    /// The tools that there are, those that are not offered to the model too.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn tools(&self) -> Result<Vec<OfferedTool>, AgentError> {
        self.ask(|reply| SessionCommand::Tools { reply }).await
    }

    /// Offers the model the tools with these names, from the next request on and in every session of this handle. Nothing is kept:
    /// the next start offers what the setting `tools` says.
    ///
    /// # Errors
    /// [`AgentError::Gone`] when there is no tool of a name.
    pub async fn offer_tools(&self, names: Vec<String>) -> Result<(), AgentError> {
        self.ask(|reply| SessionCommand::OfferTools { names, reply }).await
    }

    /// Lists what the user allowed for this session, in the order it was allowed: commands, files, and folders that tools reach.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn permissions(&self) -> Result<Vec<PermissionRule>, AgentError> {
        self.ask(|reply| SessionCommand::Permission(PermissionCommand::List { reply })).await
    }

    /// Takes back something that the user allowed for this session; what it covered asks again.
    ///
    /// # Errors
    /// [`AgentError::Gone`] when it isn't allowed any more.
    pub async fn revoke_permission(&self, rule: PermissionRule) -> Result<(), AgentError> {
        self.ask(|reply| SessionCommand::Permission(PermissionCommand::Revoke { rule, reply })).await
    }

    /// Lets tools reach another folder until another session is opened; with `:ro` behind it they may only read there. Relative
    /// ones begin at the working directory. Answers with what was allowed, which [`revoke_permission`](Self::revoke_permission) takes
    /// back. The model is told of it in the system prompt of the next request.
    ///
    /// # Errors
    /// [`AgentError::Folder`] when there is no such folder.
    pub async fn add_folder(&self, typed: impl Into<String>) -> Result<PermissionRule, AgentError> {
        let typed = typed.into();
        self.ask(|reply| SessionCommand::Permission(PermissionCommand::AddFolder { typed, reply })).await
    }

    /// Sets which calls are asked about, from the next call on until another session is opened, made or forked; what `--yes` answered
    /// is asked again. An open question is answered where the mode allows or denies the call.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn set_approval(&self, mode: ApprovalMode) -> Result<(), AgentError> {
        self.ask(|reply| SessionCommand::Configure { change: Change::Approval(mode), reply }).await
    }

    /// Sets which calls are asked about as [`set_approval`](Self::set_approval) does, and in every later session of this handle too.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn configure_approval(&self, mode: ApprovalMode) -> Result<(), AgentError> {
        self.ask(|reply| SessionCommand::Configure { change: Change::ConfiguredApproval(mode), reply }).await
    }
}
