//! Rules in settings files, changed at run time. The caller injects a [`RuleStore`] into front ends, which know no
//! files; changes are applied to the session here.

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
    /// Whose settings they are.
    pub scope: SettingScope,
    /// Its path; the file may not exist.
    pub path: PathBuf,
}

/// The settings files that can have rules. The functions read and write files, so they are called on other threads than
/// those of the runtime.
pub trait RuleFiles: Send + Sync {
    /// Lists the files that rules can be added to, the user's first.
    fn list(&self) -> Vec<RuleFile>;

    /// Loads the rules of all files.
    ///
    /// # Errors
    /// [`AgentError::Rules`] when a file can't be read, or a rule that denies something may be missing.
    fn load(&self) -> Result<ConfiguredRules, AgentError>;

    /// Adds rules to a file and returns the rules of all files.
    ///
    /// # Errors
    /// [`AgentError::Rules`] when a pattern is malformed, or a file can't be read or written; then nothing changes.
    fn add(&self, scope: SettingScope, rules: &ProposedRules) -> Result<ConfiguredRules, AgentError>;

    /// Removes a rule from its file and returns the rules of all files.
    ///
    /// # Errors
    /// [`AgentError::Rules`] when a file can't be read or written; then nothing changes.
    fn remove(&self, rule: &ConfiguredRule) -> Result<ConfiguredRules, AgentError>;
}

/// A shared handle of the settings files that can have rules.
#[derive(Clone)]
pub struct RuleStore(Arc<dyn RuleFiles>);

impl RuleStore {
    /// Creates a store.
    pub fn new(files: impl RuleFiles + 'static) -> Self {
        Self(Arc::new(files))
    }

    /// Returns the files that rules can be added to, the user's first.
    pub async fn files(&self) -> Vec<RuleFile> {
        let files = Arc::clone(&self.0);
        spawn_blocking(move || files.list()).await.unwrap_or_default()
    }
}

impl std::fmt::Debug for RuleStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RuleStore")
    }
}

impl AgentSession {
    /// Saves rules to a settings file; they take effect at once, for calls that wait for approval, too.
    /// Returns the calls that still wait.
    ///
    /// # Errors
    /// [`AgentError::Rules`] when a settings file can't be read, the file can't be written, or a pattern is malformed;
    /// then nothing changes.
    pub async fn save_rules(
        &self,
        store: &RuleStore,
        scope: SettingScope,
        rules: ProposedRules,
    ) -> Result<Vec<CallId>, AgentError> {
        self.apply_rules(store, move |files| files.add(scope, &rules)).await
    }

    /// Removes a rule from its settings file, at once. A rule that the file no longer has ends, too.
    ///
    /// # Errors
    /// [`AgentError::Rules`] when a settings file can't be read, or the file can't be written; then nothing changes.
    pub async fn remove_rule(&self, store: &RuleStore, rule: ConfiguredRule) -> Result<(), AgentError> {
        self.apply_rules(store, move |files| files.remove(&rule)).await.map(drop)
    }

    /// Reads the rules of the settings files again. Returns whether they have changed.
    ///
    /// # Errors
    /// [`AgentError::Rules`] when a file can't be read, or has invalid rules; then nothing changes.
    pub async fn reload_rules(&self, store: &RuleStore) -> Result<bool, AgentError> {
        let before = self.configured_rules().await?;
        self.apply_rules(store, |files| files.load()).await?;
        Ok(self.configured_rules().await? != before)
    }

    /// Applies the rules that a change of the files results in.
    async fn apply_rules(
        &self,
        store: &RuleStore,
        change: impl FnOnce(&dyn RuleFiles) -> Result<ConfiguredRules, AgentError> + Send + 'static,
    ) -> Result<Vec<CallId>, AgentError> {
        let files = Arc::clone(&store.0);
        let changed = spawn_blocking(move || change(&*files)).await;
        let failed = |error: JoinError| AgentError::Rules { message: error.to_string(), hint: None };
        let rules = changed.map_err(failed)??;
        self.configure_rules(rules).await
    }
}
