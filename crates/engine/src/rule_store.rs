//! Rules in settings files, changed at run time. The caller injects a [`RuleStore`] into front ends, which
//! don't access files; changes are applied to the session here.

use std::path::PathBuf;
use std::sync::Arc;

use tiller_core::id::CallId;
use tiller_core::proposed_rules::ProposedRules;
use tiller_core::setting::SettingScope;
use tiller_tools::policy::{ConfiguredRule, ConfiguredRules};
use tokio::task::{JoinError, spawn_blocking};

use super::{AgentError, AgentSession};

/// A settings file that can have rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleFile {
    /// The scope of the file's settings.
    pub scope: SettingScope,
    /// Path of the file, which may not exist.
    pub path: PathBuf,
}

/// The settings files that can have rules. The methods read and write files, so they must be called on
/// blocking threads.
pub trait RuleFiles: Send + Sync {
    /// Lists the files that rules can be added to, the user's first.
    fn list(&self) -> Vec<RuleFile>;

    /// Loads the rules of all files.
    ///
    /// # Errors
    /// [`AgentError::Rules`] if a file can't be read, or a deny rule may be missing.
    fn load(&self) -> Result<ConfiguredRules, AgentError>;

    /// Adds rules to a file and returns all rules of the file.
    ///
    /// # Errors
    /// [`AgentError::Rules`] if a pattern is malformed, or the file can't be read or written; nothing changes in that
    /// case.
    fn add(&self, scope: SettingScope, rules: &ProposedRules) -> Result<ConfiguredRules, AgentError>;

    /// Removes a rule from a file, if it is there, and returns the other rules of the file.
    ///
    /// # Errors
    /// [`AgentError::Rules`] if the file can't be read or written; nothing changes in that case.
    fn remove(&self, scope: SettingScope, rule: &ConfiguredRule) -> Result<ConfiguredRules, AgentError>;
}

/// A shared handle to the settings files that can have rules.
#[derive(Clone)]
pub struct RuleStore(Arc<dyn RuleFiles>);

impl RuleStore {
    /// Creates a store over the settings files.
    pub fn new(files: impl RuleFiles + 'static) -> Self {
        Self(Arc::new(files))
    }

    /// Returns the files that rules can be added to, the user's first.
    pub async fn files(&self) -> Vec<RuleFile> {
        self.run(|files| Ok(files.list())).await.unwrap_or_default()
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn RuleFiles) -> Result<T, AgentError> + Send + 'static,
    ) -> Result<T, AgentError> {
        let files = Arc::clone(&self.0);
        let done = spawn_blocking(move || work(&*files)).await;
        let failed = |error: JoinError| AgentError::Rules { message: error.to_string(), hint: None };
        done.map_err(failed)?
    }
}

impl std::fmt::Debug for RuleStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RuleStore")
    }
}

impl AgentSession {
    /// Saves rules to a settings file. All rules in this file take effect immediately, including for calls that
    /// are waiting for approval; rules in other files don't change. Returns the calls that are still
    /// waiting.
    ///
    /// # Errors
    /// [`AgentError::Rules`] if the file can't be read or written, or a pattern is malformed; nothing changes in that
    /// case.
    pub async fn save_rules(
        &self,
        store: &RuleStore,
        scope: SettingScope,
        rules: ProposedRules,
    ) -> Result<Vec<CallId>, AgentError> {
        let of_file = store.run(move |files| files.add(scope, &rules)).await?;
        self.configure_file_rules(scope, of_file).await
    }

    /// Removes a rule from its settings file and from the session, even if the file no longer contains it.
    ///
    /// # Errors
    /// [`AgentError::Rules`] if the rule is in no file, or its file can't be read or written; nothing changes in that
    /// case.
    pub async fn remove_rule(&self, store: &RuleStore, rule: ConfiguredRule) -> Result<(), AgentError> {
        let scope = rule.source().scope().ok_or_else(|| {
            let message = format!("the rule isn't in a file; it comes from {}", rule.source());
            AgentError::Rules { message, hint: None }
        })?;
        let of_file = store.run(move |files| files.remove(scope, &rule)).await?;
        self.configure_file_rules(scope, of_file).await.map(drop)
    }

    /// Reloads the rules of the settings files. Returns true if they have changed.
    ///
    /// # Errors
    /// [`AgentError::Rules`] if a file can't be read, or has invalid rules; nothing changes in that case.
    pub async fn reload_rules(&self, store: &RuleStore) -> Result<bool, AgentError> {
        let before = self.configured_rules().await?;
        let rules = store.run(|files| files.load()).await?;
        self.configure_rules(rules).await?;
        Ok(self.configured_rules().await? != before)
    }
}
