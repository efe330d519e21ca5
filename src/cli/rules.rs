//! The rule store of the front ends: rules in the user's and the trusted project's settings.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;

use super::args::CliArgs;
use super::failure::CliFailure;
use super::run_input::RunInput;
use super::trust;
use super::trusted_project::TrustedProject;
use crate::agent::{AgentError, RuleFile, RuleFiles, RuleStore};
use crate::config::{ConfigError, Project, RulesChange, add_rules, remove_rule};
use crate::policy::{ConfiguredRule, ConfiguredRules};
use crate::proposed_rules::ProposedRules;
use crate::setting::SettingScope;

/// Builds the rule store of a front end, which reads rules as they are read at startup.
pub(super) fn rule_store(input: &RunInput, trusted: TrustedProject) -> RuleStore {
    let user_file = input.config.dirs.config.join("settings.json");
    let arguments = Arc::clone(&input.arguments);
    RuleStore::new(SettingsRules { arguments, user_file, trusted })
}

/// The settings files that can have rules.
struct SettingsRules {
    arguments: Arc<CliArgs>,
    user_file: PathBuf,
    trusted: TrustedProject,
}

impl RuleFiles for SettingsRules {
    /// Lists the files that can be written. With `--no-session` no trust is stored, so a change to the
    /// project's file would end the trust in it.
    fn list(&self) -> Vec<RuleFile> {
        let user = RuleFile { scope: SettingScope::User, path: self.user_file.clone() };
        let project = self.trusted.current().filter(|_| !self.arguments.session.no_session);
        let project = project.and_then(|project| project.writable_settings());
        let project = project.map(|path| RuleFile { scope: SettingScope::Project, path });
        [user].into_iter().chain(project).collect()
    }

    fn load(&self) -> Result<ConfiguredRules, AgentError> {
        self.load_all().map_err(rules_error)
    }

    fn add(&self, scope: SettingScope, rules: &ProposedRules) -> Result<ConfiguredRules, AgentError> {
        let checked = ConfiguredRules::check_proposed(rules).map_err(|problem| anyhow!(problem));
        checked.map_err(CliFailure::run).map_err(rules_error)?;
        self.change(scope, |path, trusted| add_rules(path, trusted, rules)).map_err(rules_error)
    }

    fn remove(&self, scope: SettingScope, rule: &ConfiguredRule) -> Result<ConfiguredRules, AgentError> {
        self.change(scope, |path, trusted| remove_rule(path, trusted, rule)).map_err(rules_error)
    }
}

fn rules_error(failure: CliFailure) -> AgentError {
    AgentError::Rules { message: failure.text(), hint: failure.hint }
}

impl SettingsRules {
    /// Loads the rules of all files. Fails if one that denies something may be missing.
    fn load_all(&self) -> Result<ConfiguredRules, CliFailure> {
        let (config, changed) = trust::reload(&self.arguments, self.trusted.current().as_ref())?;
        match changed.or_else(|| config.guard_problems.first().cloned()) {
            Some(problem) => Err(CliFailure::run(anyhow!(problem))),
            None => Ok(config.rules),
        }
    }

    /// Changes a file and returns its rules; the other file isn't read. If the project can't be trusted after
    /// the change, the change is undone.
    fn change(
        &self,
        scope: SettingScope,
        change: impl FnOnce(&Path, Option<&Project>) -> Result<RulesChange, ConfigError>,
    ) -> Result<ConfiguredRules, CliFailure> {
        let file = self.list().into_iter().find(|file| file.scope == scope);
        let file =
            file.ok_or_else(|| CliFailure::run(anyhow!("the project's settings can't be changed here")))?;
        let project = self.trusted.current().filter(|_| scope == SettingScope::Project);
        let RulesChange { file, rules } = change(&file.path, project.as_ref())?;
        if let Some(project) = project
            && let Err(failure) = self.trust_change(&project, file.text())
        {
            file.undo()?;
            return Err(failure);
        }
        Ok(rules)
    }

    /// Trusts the project with the settings that were just written for the user, unless another file has
    /// changed.
    fn trust_change(&self, project: &Project, text: &str) -> Result<(), CliFailure> {
        let changed = project.with_settings(text);
        let changed =
            changed.ok_or_else(|| CliFailure::run(anyhow!("other files of the project have changed")))?;
        trust::remember(&changed, &self.arguments)?;
        self.trusted.set(changed);
        Ok(())
    }
}
