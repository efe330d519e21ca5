//! The permission rules: lists them, and saves and removes rules in the settings.

use tiller_core::id::CallId;
use tiller_core::proposed_rules::ProposedRules;
use tiller_core::setting::SettingScope;
use tiller_engine::{AgentError, ConfiguredRule};

use crate::executor::ExecutorWorker;
use crate::executor::lists::error_status;
use crate::message::{ListResult, TaskResult};
use crate::picker::agent_options;
use crate::picker::item::PickerItem;
use crate::picker::line_prompt::StatusText;
use crate::picker::rule_form::{rule_file_items, rules_text};
use crate::text::one_line;

/// The error of a front end that was started without settings files.
const NO_FILES: &str = "there is no settings file here";

impl ExecutorWorker {
    /// Lists the rules of the session and of the settings.
    pub(super) async fn permissions(&self) -> Result<Vec<PickerItem>, AgentError> {
        let agent = &self.agent;
        Ok(agent_options::permissions(&agent.permissions().await?, &agent.configured_rules().await?))
    }

    /// Refreshes the list of permissions, with a status.
    pub(super) async fn permissions_changed(
        &self,
        status: StatusText,
    ) -> Result<Vec<TaskResult>, AgentError> {
        let items = self.permissions().await?;
        Ok(vec![
            TaskResult::List(ListResult::Items { items, selected: 0 }),
            TaskResult::List(ListResult::Status(status)),
        ])
    }

    /// Lists the settings files that rules can be saved to.
    pub(super) async fn rule_files(&self) -> Vec<PickerItem> {
        match &self.options.services.rules {
            Some(store) => rule_file_items(&store.files().await, self.options.home.as_deref()),
            None => Vec::new(),
        }
    }

    /// Saves the edited rules of a pending call. They decide the call, unless they no longer cover it.
    pub(super) async fn save_rules(
        &self,
        call: CallId,
        scope: SettingScope,
        rules: ProposedRules,
    ) -> Result<Vec<TaskResult>, AgentError> {
        let Some(store) = &self.options.services.rules else {
            return Ok(vec![TaskResult::List(ListResult::Status(StatusText::error(NO_FILES)))]);
        };
        let saved = rules_text(&rules);
        let waiting = match self.agent.save_rules(store, scope, rules).await {
            Ok(waiting) => waiting,
            Err(error) => return Ok(vec![TaskResult::List(ListResult::Status(error_status(&error)))]),
        };
        let note = if waiting.contains(&call) {
            format!("Saved, but this call still needs approval: {saved} doesn't allow it.")
        } else {
            format!("Always allowed: {saved}. /permissions removes it.")
        };
        Ok(vec![TaskResult::List(ListResult::RulesSaved(call)), TaskResult::Note(note)])
    }

    /// Removes a rule from its settings file.
    pub(super) async fn remove_rule(&self, rule: ConfiguredRule) -> Result<Vec<TaskResult>, AgentError> {
        let removed = one_line(&rule.to_string());
        let Some(store) = &self.options.services.rules else {
            return self.permissions_changed(StatusText::error(NO_FILES)).await;
        };
        let status = match self.agent.remove_rule(store, rule).await {
            Ok(()) => StatusText::note(format!("removed: {removed}")),
            Err(error) => error_status(&error),
        };
        self.permissions_changed(status).await
    }

    /// Applies rules that were changed in the settings files. Returns true if there are changes.
    pub(super) async fn reload_rules(&self) -> bool {
        let Some(store) = &self.options.services.rules else { return false };
        self.agent.reload_rules(store).await.unwrap_or(false)
    }
}
