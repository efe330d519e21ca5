//! Methods for tools, their servers and approvals.

use tiller_core::elicitation::ElicitationAnswer;
use tiller_core::id::{CallId, ElicitationId};
use tiller_core::setting::SettingScope;
use tiller_core::tool_catalog::ToolCatalog;
use tiller_tools::policy::{ApprovalMode, ConfiguredRules, PermissionRule};
use tiller_tools::tool::{ServedResource, ToolServerStatus};

use super::command::{DriverCommand, OptionChange, PermissionCommand};
use super::offered_tool::OfferedTool;
use super::{AgentError, AgentSession};

impl AgentSession {
    /// Returns all tools, including those that are not offered to the model.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn tools(&self) -> Result<Vec<OfferedTool>, AgentError> {
        self.send(|reply| DriverCommand::Tools { reply }).await
    }

    /// Returns the state of the servers whose tools the session has.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn tool_servers(&self) -> Result<Vec<ToolServerStatus>, AgentError> {
        self.send(|reply| DriverCommand::ToolServers { reply }).await
    }

    /// Answers a server's question. The values of an accepted answer go to the server and nowhere else.
    ///
    /// # Errors
    /// [`AgentError::NotFound`] if the question isn't pending anymore, [`AgentError::InvalidAnswer`] if a value
    /// doesn't fit its field; the question stays pending then.
    pub async fn answer_elicitation(
        &self,
        id: ElicitationId,
        answer: ElicitationAnswer,
    ) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::AnswerElicitation { id, answer, reply }).await
    }

    /// Returns the resources of the servers, and their templates; [`EventKind::CommandsChanged`] reports their
    /// changes.
    ///
    /// [`EventKind::CommandsChanged`]: tiller_core::event::EventKind::CommandsChanged
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn served_resources(&self) -> Result<Vec<ServedResource>, AgentError> {
        self.send(|reply| DriverCommand::ServedResources { reply }).await
    }

    /// Returns the traits of all tools, and of the built-in ones that the session doesn't have: calls of any of them
    /// may be in its log. Tools of servers are missing; they have the default
    /// traits. The result stays the same as long as the handle exists.
    #[must_use]
    pub fn tool_catalog(&self) -> ToolCatalog {
        self.tool_catalog.clone()
    }

    /// Offers the tools with these names to the model, from the next request on and in later sessions of this
    /// handle. The choice isn't stored: the next start uses the setting `tools`.
    ///
    /// # Errors
    /// [`AgentError::NotFound`] if a name is unknown.
    pub async fn offer_tools(&self, names: Vec<String>) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::OfferTools { names, reply }).await
    }

    /// Returns the rules that the user added for this session, in order: commands, files, and directories that tools
    /// reach.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn permissions(&self) -> Result<Vec<PermissionRule>, AgentError> {
        self.send(|reply| DriverCommand::Permission(PermissionCommand::List { reply })).await
    }

    /// Revokes a rule of this session; the calls that it covered need approval again.
    ///
    /// # Errors
    /// [`AgentError::NotFound`] if there is no such rule.
    pub async fn revoke_permission(&self, rule: PermissionRule) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::Permission(PermissionCommand::Revoke { rule, reply })).await
    }

    /// Returns the settings rules.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn configured_rules(&self) -> Result<ConfiguredRules, AgentError> {
        self.send(|reply| DriverCommand::Permission(PermissionCommand::Configured { reply })).await
    }

    /// Sets an approval mode unless the current one is stricter.
    pub(crate) async fn tighten_approval(&self, mode: ApprovalMode) -> Result<(), AgentError> {
        let change = OptionChange::TightenApproval(mode);
        self.send(|reply| DriverCommand::Configure { change, reply }).await
    }

    /// Replaces the settings rules, in this session and in later ones of this handle. Pending requests are resolved if
    /// the rules allow or deny the call. Returns the calls that still wait for approval.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn configure_rules(&self, rules: ConfiguredRules) -> Result<Vec<CallId>, AgentError> {
        self.send(|reply| DriverCommand::Permission(PermissionCommand::Configure { rules, reply })).await
    }

    /// Replaces the rules of one settings file, as [`configure_rules`](Self::configure_rules) replaces all.
    pub(crate) async fn configure_file_rules(
        &self,
        scope: SettingScope,
        rules: ConfiguredRules,
    ) -> Result<Vec<CallId>, AgentError> {
        self.send(|reply| DriverCommand::Permission(PermissionCommand::ConfigureFile { scope, rules, reply }))
            .await
    }

    /// Lets tools reach another directory until another session is opened; with the suffix `:ro` they may only read
    /// there. A relative path starts at the working directory. Returns the rule, which
    /// [`revoke_permission`](Self::revoke_permission) removes. The system prompt of the next request names the
    /// directory.
    ///
    /// # Errors
    /// [`AgentError::Directory`] if there is no such directory.
    pub async fn add_dir(&self, typed: impl Into<String>) -> Result<PermissionRule, AgentError> {
        let typed = typed.into();
        self.send(|reply| DriverCommand::Permission(PermissionCommand::AddDir { typed, reply })).await
    }

    /// Sets the approval mode from the next call on until another session is opened, created or forked; ends the
    /// effect of `--yes`. Pending requests are resolved if the mode allows or denies the call.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn set_approval(&self, mode: ApprovalMode) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::Configure { change: OptionChange::Approval(mode), reply }).await
    }

    /// Enters plan mode, or leaves it for the mode before and returns the plan: the text of the newest answer since
    /// plan mode was entered.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn toggle_plan(&self) -> Result<Option<String>, AgentError> {
        self.send(|reply| DriverCommand::TogglePlan { reply }).await
    }

    /// Sets the approval mode as [`set_approval`](Self::set_approval) does, and for later sessions of this handle,
    /// too.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn configure_approval(&self, mode: ApprovalMode) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::Configure { change: OptionChange::ConfiguredApproval(mode), reply })
            .await
    }
}
