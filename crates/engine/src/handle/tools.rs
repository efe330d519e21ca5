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
    /// Returns all tools, including those that aren't offered to the model.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn tools(&self) -> Result<Vec<OfferedTool>, AgentError> {
        self.send(|reply| DriverCommand::Tools { reply }).await
    }

    /// Returns the state of the session's tool servers.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn tool_servers(&self) -> Result<Vec<ToolServerStatus>, AgentError> {
        self.send(|reply| DriverCommand::ToolServers { reply }).await
    }

    /// Answers a server's question. The values of an accepted answer are sent to the server and not logged.
    ///
    /// # Errors
    /// [`AgentError::NotFound`] if the question is no longer pending, [`AgentError::InvalidAnswer`] if a
    /// value doesn't fit its field; the question then stays pending.
    pub async fn answer_elicitation(
        &self,
        id: ElicitationId,
        answer: ElicitationAnswer,
    ) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::AnswerElicitation { id, answer, reply }).await
    }

    /// Returns the servers' resources and resource templates. [`EventKind::CommandsChanged`] reports changes.
    ///
    /// [`EventKind::CommandsChanged`]: tiller_core::event::EventKind::CommandsChanged
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn served_resources(&self) -> Result<Vec<ServedResource>, AgentError> {
        self.send(|reply| DriverCommand::ServedResources { reply }).await
    }

    /// Returns the traits of all tools, including built-in ones that the session doesn't have, because its
    /// log may contain calls to them. MCP servers' tools are not included; they have the default traits. The
    /// result doesn't change during the lifetime of the handle.
    #[must_use]
    pub fn tool_catalog(&self) -> ToolCatalog {
        self.tool_catalog.clone()
    }

    /// Offers the tools with these names to the model, starting with the next request, and for sessions opened
    /// later through this handle. The choice isn't stored: the next start uses the setting `tools`.
    ///
    /// # Errors
    /// [`AgentError::NotFound`] if a name is unknown.
    pub async fn offer_tools(&self, names: Vec<String>) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::OfferTools { names, reply }).await
    }

    /// Returns the rules that the user has added for this session, in order: commands, files, and directories
    /// that tools may access.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn permissions(&self) -> Result<Vec<PermissionRule>, AgentError> {
        self.send(|reply| DriverCommand::Permission(PermissionCommand::List { reply })).await
    }

    /// Revokes a rule of this session; its calls need approval again.
    ///
    /// # Errors
    /// [`AgentError::NotFound`] if there is no such rule.
    pub async fn revoke_permission(&self, rule: PermissionRule) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::Permission(PermissionCommand::Revoke { rule, reply })).await
    }

    /// Returns the rules from settings.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn configured_rules(&self) -> Result<ConfiguredRules, AgentError> {
        self.send(|reply| DriverCommand::Permission(PermissionCommand::Configured { reply })).await
    }

    /// Sets the most permissive approval mode that can be set, and the mode if the current one is more permissive.
    pub(crate) async fn limit_approval(&self, mode: ApprovalMode) -> Result<(), AgentError> {
        let change = OptionChange::ApprovalLimit(mode);
        self.send(|reply| DriverCommand::Configure { change, reply }).await
    }

    /// Replaces the rules from settings, for this session and for sessions opened later through this handle.
    /// Resolves pending requests whose calls the rules allow or deny. Returns the calls that are still waiting
    /// for approval.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn configure_rules(&self, rules: ConfiguredRules) -> Result<Vec<CallId>, AgentError> {
        self.send(|reply| DriverCommand::Permission(PermissionCommand::Configure { rules, reply })).await
    }

    /// Replaces the rules of one settings file. [`configure_rules`](Self::configure_rules) replaces all
    /// rules.
    pub(crate) async fn configure_file_rules(
        &self,
        scope: SettingScope,
        rules: ConfiguredRules,
    ) -> Result<Vec<CallId>, AgentError> {
        self.send(|reply| DriverCommand::Permission(PermissionCommand::ConfigureFile { scope, rules, reply }))
            .await
    }

    /// Lets tools access another directory until another session is opened; with the suffix `:ro` they may
    /// only read there. A relative path is resolved against the working directory. Returns the rule, which
    /// [`revoke_permission`](Self::revoke_permission) removes. The system prompt names the directory,
    /// starting with the next request.
    ///
    /// # Errors
    /// [`AgentError::Directory`] if there is no such directory.
    pub async fn add_dir(&self, typed: impl Into<String>) -> Result<PermissionRule, AgentError> {
        let typed = typed.into();
        self.send(|reply| DriverCommand::Permission(PermissionCommand::AddDir { typed, reply })).await
    }

    /// Sets the approval mode, starting with the next call, until another session is opened, created or
    /// forked; overrides `--yes`. Resolves pending requests whose calls the mode allows or denies.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn set_approval(&self, mode: ApprovalMode) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::Configure { change: OptionChange::Approval(mode), reply }).await
    }

    /// Enters plan mode, or leaves it for the previous mode and returns the plan: the text of the newest
    /// answer since plan mode was entered.
    ///
    /// # Errors
    /// If the session is closed, or if an agent owns the session and the mode would be more permissive than that
    /// of the session that delegated to it.
    pub async fn toggle_plan(&self) -> Result<Option<String>, AgentError> {
        self.send(|reply| DriverCommand::TogglePlan { reply }).await
    }

    /// Like [`set_approval`](Self::set_approval), but also for sessions opened later through this handle.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn configure_approval(&self, mode: ApprovalMode) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::Configure { change: OptionChange::ConfiguredApproval(mode), reply })
            .await
    }
}
