//! Rules in settings files, changed at run time. The caller injects a [`RuleStore`] into front ends, which know no
//! files; changes are applied to the session here.

use std::path::PathBuf;
use std::sync::Arc;

use tiller_core::id::CallId;
use tiller_core::proposed_rules::ProposedRules;
use tiller_core::setting::SettingScope;
use tiller_tools::policy::{ConfiguredRule, ConfiguredRules};
use tokio::task::spawn_blocking;

use super::{AgentError, AgentSession};

/// An error message and a hint.
type ErrorWithHint = (String, Option<String>);

type ListFiles = dyn Fn() -> Vec<RuleFile> + Send + Sync;
type LoadRules = dyn Fn() -> Result<ConfiguredRules, ErrorWithHint> + Send + Sync;
type AddRules = dyn Fn(SettingScope, &ProposedRules) -> Result<ConfiguredRules, ErrorWithHint> + Send + Sync;
type RemoveRule = dyn Fn(&ConfiguredRule) -> Result<ConfiguredRules, ErrorWithHint> + Send + Sync;

/// A settings file that can have rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleFile {
    /// Whose settings they are.
    pub scope: SettingScope,
    /// Its path; the file may not exist.
    pub path: PathBuf,
}

/// Reads, adds and removes the rules of the settings. Its functions read and write files, so they are called on other
/// threads than those of the runtime.
#[derive(Clone)]
pub struct RuleStore {
    files: Arc<ListFiles>,
    load: Arc<LoadRules>,
    add: Arc<AddRules>,
    remove: Arc<RemoveRule>,
}

impl RuleStore {
    /// Creates a store. `files` lists the files that rules can be added to, the user's first. `load` returns the rules
    /// of all files; `add` writes rules to a file and `remove` removes one from its file, and both return the rules
    /// after that.
    pub fn new(
        files: impl Fn() -> Vec<RuleFile> + Send + Sync + 'static,
        load: impl Fn() -> Result<ConfiguredRules, ErrorWithHint> + Send + Sync + 'static,
        add: impl Fn(SettingScope, &ProposedRules) -> Result<ConfiguredRules, ErrorWithHint>
        + Send
        + Sync
        + 'static,
        remove: impl Fn(&ConfiguredRule) -> Result<ConfiguredRules, ErrorWithHint> + Send + Sync + 'static,
    ) -> Self {
        Self { files: Arc::new(files), load: Arc::new(load), add: Arc::new(add), remove: Arc::new(remove) }
    }

    /// Returns the files that rules can be added to, the user's first.
    pub async fn files(&self) -> Vec<RuleFile> {
        let files = Arc::clone(&self.files);
        spawn_blocking(move || files()).await.unwrap_or_default()
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
        let add = Arc::clone(&store.add);
        self.apply_rules(move || add(scope, &rules)).await
    }

    /// Removes a rule from its settings file, at once. A rule that the file no longer has ends, too.
    ///
    /// # Errors
    /// [`AgentError::Rules`] when a settings file can't be read, or the file can't be written; then nothing changes.
    pub async fn remove_rule(&self, store: &RuleStore, rule: ConfiguredRule) -> Result<(), AgentError> {
        let remove = Arc::clone(&store.remove);
        self.apply_rules(move || remove(&rule)).await.map(drop)
    }

    /// Reads the rules of the settings files again. Returns whether they have changed.
    ///
    /// # Errors
    /// [`AgentError::Rules`] when a file can't be read, or has invalid rules; then nothing changes.
    pub async fn reload_rules(&self, store: &RuleStore) -> Result<bool, AgentError> {
        let (before, load) = (self.configured_rules().await?, Arc::clone(&store.load));
        self.apply_rules(move || load()).await?;
        Ok(self.configured_rules().await? != before)
    }

    /// Applies the rules that a change of the files results in.
    async fn apply_rules(
        &self,
        change: impl FnOnce() -> Result<ConfiguredRules, ErrorWithHint> + Send + 'static,
    ) -> Result<Vec<CallId>, AgentError> {
        let failed = |(message, hint)| AgentError::Rules { message, hint };
        let changed = spawn_blocking(change).await;
        let rules = changed.unwrap_or_else(|error| Err((error.to_string(), None))).map_err(failed)?;
        self.configure_rules(rules).await
    }
}
