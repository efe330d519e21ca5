//! Methods for tools and approvals.

use tiller_core::tool_catalog::ToolCatalog;
use tiller_tools::policy::{ApprovalMode, PermissionRule};

use super::command::{DriverCommand, OptionChange, PermissionCommand};
use super::offered_tool::OfferedTool;
use super::{AgentError, AgentSession};

impl AgentSession {
    /// Returns all tools, including those that are not offered to the model.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn tools(&self) -> Result<Vec<OfferedTool>, AgentError> {
        self.send(|reply| DriverCommand::Tools { reply }).await
    }

    /// Returns the traits of all tools, and of the built-in ones that the session doesn't have: calls of any of them
    /// may be in its log. The tools stay the same as long as the handle exists.
    #[must_use]
    pub fn tool_catalog(&self) -> ToolCatalog {
        self.tool_catalog.clone()
    }

    /// Offers the tools with these names to the model, from the next request on and in later sessions of this
    /// handle. The choice isn't stored: the next start uses the setting `tools`.
    ///
    /// # Errors
    /// [`AgentError::NotFound`] when a name is unknown.
    pub async fn offer_tools(&self, names: Vec<String>) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::OfferTools { names, reply }).await
    }

    /// Returns the rules that the user added for this session, in order: commands, files, and folders that tools
    /// reach.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn permissions(&self) -> Result<Vec<PermissionRule>, AgentError> {
        self.send(|reply| DriverCommand::Permission(PermissionCommand::List { reply })).await
    }

    /// Revokes a rule of this session; the calls that it covered need approval again.
    ///
    /// # Errors
    /// [`AgentError::NotFound`] when there is no such rule.
    pub async fn revoke_permission(&self, rule: PermissionRule) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::Permission(PermissionCommand::Revoke { rule, reply })).await
    }

    /// Lets tools reach another folder until another session is opened; with the suffix `:ro` they may only read
    /// there. A relative path starts at the working directory. Returns the rule, which
    /// [`revoke_permission`](Self::revoke_permission) removes. The system prompt of the next request names the
    /// folder.
    ///
    /// # Errors
    /// [`AgentError::Folder`] when there is no such folder.
    pub async fn add_folder(&self, typed: impl Into<String>) -> Result<PermissionRule, AgentError> {
        let typed = typed.into();
        self.send(|reply| DriverCommand::Permission(PermissionCommand::AddFolder { typed, reply })).await
    }

    /// Sets the approval mode from the next call on until another session is opened, created or forked; ends the
    /// effect of `--yes`. Pending requests are resolved if the mode allows or denies the call.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn set_approval(&self, mode: ApprovalMode) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::Configure { change: OptionChange::Approval(mode), reply }).await
    }

    /// Sets the approval mode as [`set_approval`](Self::set_approval) does, and for later sessions of this handle,
    /// too.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn configure_approval(&self, mode: ApprovalMode) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::Configure { change: OptionChange::ConfiguredApproval(mode), reply })
            .await
    }
}
