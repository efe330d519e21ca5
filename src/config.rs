//! Configuration: the only code that reads settings files, environment variables and API keys.
//!
//! Settings are merged in this order: defaults, the user's `settings.json`, a trusted project's, the
//! environment, flags. API keys come from `models.json`, then the environment, then the user's `.env`, then a
//! trusted project's `.env`, then `auth.json`; they aren't settings and are never printed.

mod auth;
mod dirs;
mod dotenv;
mod edit;
mod environment;
mod error;
mod file_lock;
mod hooks;
mod import_dirs;
mod invalid;
mod listed_models;
mod mcp;
mod mcp_logins;
mod models;
mod rules;
mod trust;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use secrecy::SecretString;
use serde_json::Value;
use tiller_mcp::config::ParsedServers;

use crate::agent::extension::command_hook::HookSettings;
use crate::files::{self, CONFIG_LIMIT};
use crate::policy::{ConfiguredRules, RuleSource};
use crate::protected_path::{ProtectedPaths, home_names};
use crate::provider::descriptor::{LOCAL_SERVERS, PROVIDERS, ProviderDescriptor};
use crate::provider::model_list::ListedModel;
use crate::setting::{
    self, InvalidSetting, Setting, SettingScope, SettingSource, SettingValue, Settings, TABLE,
};
use crate::suggest;

pub use auth::{KeyRemoval, remove_key, store_key};
pub use dirs::AppDirs;
pub use edit::{SettingsFileChange, store_setting};
pub use environment::Environment;
pub use error::ConfigError;
use error::{read, unreadable};
pub use import_dirs::ImportDirs;
pub use invalid::WrongSetting;
use listed_models::ListedModels;
pub use listed_models::store_listed_models;
pub use mcp::ServerFile;
pub use mcp_logins::McpLogins;
pub use models::{ConfigKey, ProviderProblem, UserProvider};
pub use rules::{RulesChange, add_rules, remove_rule};
pub use trust::{Project, TrustAnswer, TrustStore};

/// A setting given on the command line.
#[derive(Clone, Debug)]
pub struct FlagValue {
    /// The setting.
    pub setting: &'static Setting,
    /// The flag, as typed: `--max-turns`.
    pub flag: &'static str,
    /// The value, as typed.
    pub value: String,
}

/// A provider's key and server.
#[derive(Clone, Debug)]
pub struct ConfigAccess {
    /// The key; a custom server may need none.
    pub key: Option<ConfigKey>,
    /// The server, unless it is the provider's default.
    pub base_url: Option<String>,
}

/// A key's source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// `models.json`.
    ModelsFile,
    /// An environment variable of the process.
    Variable,
    /// A variable that this `.env` file sets.
    EnvFile(PathBuf),
    /// `auth.json`.
    AuthFile,
}

impl KeySource {
    /// Describes where a provider's key can be changed.
    #[must_use]
    pub fn describe(&self, provider: &str) -> String {
        match self {
            Self::ModelsFile => format!("`apiKey` of {provider} in models.json"),
            Self::Variable => key_name(provider),
            Self::EnvFile(path) => format!("{} in {}", key_name(provider), path.display()),
            Self::AuthFile => "the key in auth.json".to_owned(),
        }
    }

    /// Returns the step that removes a provider's key from this source.
    #[must_use]
    pub fn removal_step(&self, provider: &str) -> String {
        match self {
            Self::ModelsFile => format!("remove `apiKey` of {provider} from models.json"),
            Self::Variable => format!("unset {}", key_name(provider)),
            Self::EnvFile(path) => format!("remove {} from {}", key_name(provider), path.display()),
            Self::AuthFile => format!("run `tiller logout {provider}`"),
        }
    }
}

/// Configuration given by the caller.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConfigOverrides<'a> {
    /// Settings on the command line.
    pub flags: &'a [FlagValue],
    /// Replaces the user's `.env`.
    pub env_file: Option<&'a Path>,
    /// The trusted project, whose settings and `.env` take effect.
    pub trusted: Option<&'a Project>,
}

/// The merged configuration.
#[derive(Debug)]
pub struct Config {
    /// tiller's directories.
    pub dirs: AppDirs,
    /// All settings with their sources.
    pub settings: Settings,
    /// Warnings for the user about ignored parts of files.
    pub warnings: Vec<String>,
    /// Problems with settings files, in the order read; not among the warnings.
    pub invalid: Vec<WrongSetting>,
    /// The MCP servers; their problems are among the warnings.
    pub mcp: ParsedServers,
    /// The policy rules of the user and of a trusted project; their problems are among the warnings.
    pub rules: ConfiguredRules,
    /// Reasons why `rules` or `hooks` may lack one that denies something; they are among the warnings or
    /// `invalid`.
    pub guard_problems: Vec<String>,
    /// The hooks of the user and of a trusted project; their problems are among the warnings.
    pub hooks: HookSettings,
    /// The ignored files of an untrusted project, and the reason; not among the warnings.
    pub ignored_project: Option<String>,
    /// The root of the project, if it is trusted.
    pub trusted_root: Option<PathBuf>,
    /// The certificates from the setting `request.ca_file`, in PEM.
    pub certificates: Option<Arc<[u8]>>,
    environment: Environment,
    /// Keys of `auth.json` by provider.
    keys: BTreeMap<String, SecretString>,
    /// The providers of `models.json`.
    models: BTreeMap<String, UserProvider>,
    listed_models: ListedModels,
}

impl Config {
    /// Loads the configuration. A problem in a settings file affects only its own settings.
    ///
    /// # Errors
    /// If an existing file can't be read, or a variable or flag has an invalid value.
    pub fn load(mut environment: Environment, inputs: ConfigOverrides<'_>) -> Result<Self, ConfigError> {
        let dirs = AppDirs::find(&environment)?;
        let mut warnings = fill_environment(&mut environment, &dirs, inputs)?;
        let auth::StoredKeys { keys, warnings: auth_warnings } = auth::keys(&dirs.auth())?;
        warnings.extend(auth_warnings);
        let models = models::load(&dirs.models(), &environment)?;
        warnings.extend(models.warnings);
        let listed_models = listed_models::load(&dirs.listed_models());
        let mut settings = Settings::default();
        let user_path = dirs.config.join("settings.json");
        let mut loaded = LoadedFiles { warnings, ..LoadedFiles::default() };
        let mut user_servers = None;
        if user_path.exists() {
            let text = read(&user_path)?;
            user_servers = apply_file(&mut settings, (&user_path, &text), SettingScope::User, &mut loaded);
        }
        if let Some((project, path)) = inputs.trusted.and_then(|project| Some((project, project.settings()?)))
        {
            let text = read_of_project(project, &path)?;
            let servers = apply_file(&mut settings, (&path, &text), SettingScope::Project, &mut loaded);
            loaded.warnings.extend(servers.map(|_| misplaced_servers(&path)));
        }
        let project_servers = match inputs.trusted.and_then(|project| Some((project, project.mcp_file()?))) {
            Some((project, path)) => Some((read_of_project(project, &path)?, path)),
            None => None,
        };
        let LoadedFiles { mut warnings, mut invalid, guard_problems, rules, hooks } = loaded;
        let mcp = mcp::load(
            user_servers.map(|servers| (&*user_path, servers)),
            project_servers.as_ref().map(|(text, path)| (&**path, &**text)),
            &environment,
        );
        warnings.extend(mcp.problems.iter().cloned());
        warnings.extend(trust::non_executable_warnings(&dirs.config.join("extensions")));
        warnings.extend(inputs.trusted.map(Project::non_executable_warnings).into_iter().flatten());
        apply_environment(&mut settings, &environment)?;
        apply_flags(&mut settings, inputs.flags)?;
        let certificates = read_certificates(&settings)?;
        invalid.iter_mut().for_each(|invalid| invalid.set_replacement(&settings));
        Ok(Self {
            trusted_root: inputs.trusted.map(|project| project.root().to_owned()),
            dirs,
            settings,
            warnings,
            invalid,
            mcp,
            rules,
            guard_problems,
            hooks,
            ignored_project: None,
            certificates,
            environment,
            keys,
            models: models.providers,
            listed_models,
        })
    }

    /// Iterates over all messages for the user, one sentence each.
    pub fn notices(&self) -> impl Iterator<Item = String> {
        let invalid = self.invalid.iter().map(WrongSetting::warning);
        self.warnings.iter().cloned().chain(self.ignored_project.clone()).chain(invalid)
    }

    /// Lists the executables in the user's extension directory, sorted by name.
    #[must_use]
    pub fn user_extensions(&self) -> Vec<PathBuf> {
        self.dirs.extensions()
    }

    /// Lists the variables that extensions, hooks and MCP servers don't get: the [`Self::key_variables`], and
    /// those that probably have keys, tokens or passwords.
    #[must_use]
    pub fn withheld_variables(&self) -> Vec<String> {
        self.secret_names().into_iter().chain(self.key_variables()).collect()
    }

    /// Lists the variables that probably have keys, tokens or passwords, judging by their names, or by a URL
    /// with a password in their values.
    fn secret_names(&self) -> Vec<String> {
        let variables = self.environment.variables.iter();
        let secret = variables.filter(|(name, value)| is_secret(name) || contains_url_password(value));
        secret.map(|(name, _)| name.clone()).collect()
    }

    /// Returns a provider's key and server: from `models.json`, else from the provider's variables
    /// (`ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL`), else the key in `auth.json`. `None` if there is neither.
    #[must_use]
    pub fn access(&self, provider: &str) -> Option<ConfigAccess> {
        let user = self.models.get(provider);
        let variable =
            || self.environment.value(&key_name(provider)).map(|key| SecretString::from(key.to_owned()));
        let key = user.and_then(|user| user.key.clone());
        let key =
            key.or_else(|| variable().or_else(|| self.keys.get(provider).cloned()).map(ConfigKey::Value));
        let descriptor = ProviderDescriptor::find(provider);
        let variable_url = || self.environment.value(descriptor?.base_url_variable).map(str::to_owned);
        let base_url = user.and_then(|user| user.base_url.clone()).or_else(variable_url);
        (key.is_some() || base_url.is_some()).then_some(ConfigAccess { key, base_url })
    }

    /// Lists the variables for API keys, including those that `models.json` names.
    #[must_use]
    pub fn key_variables(&self) -> Vec<String> {
        let own = self
            .models
            .iter()
            .flat_map(|(name, user)| std::iter::once(key_name(name)).chain(user.variables.iter().cloned()));
        key_names().into_iter().chain(own).collect()
    }

    /// Returns the entry of a provider in `models.json`.
    #[must_use]
    pub fn user_provider(&self, provider: &str) -> Option<&UserProvider> {
        self.models.get(provider)
    }

    /// Returns the models that a provider's server listed when it was last queried.
    #[must_use]
    pub fn listed_models(&self, provider: &str) -> &[ListedModel] {
        self.listed_models.of(provider)
    }

    /// Iterates over the providers in `models.json` that aren't built in.
    pub fn own_providers(&self) -> impl Iterator<Item = &str> {
        self.models.keys().map(String::as_str).filter(|name| ProviderDescriptor::find(name).is_none())
    }

    /// Returns the source of a provider's key; `None` without a key.
    #[must_use]
    pub fn key_source(&self, provider: &str) -> Option<KeySource> {
        if self.models.get(provider).is_some_and(|user| user.key.is_some()) {
            return Some(KeySource::ModelsFile);
        }
        let name = key_name(provider);
        if self.environment.value(&name).is_some() {
            let file = self.environment.files.get(&name).cloned();
            return Some(file.map_or(KeySource::Variable, KeySource::EnvFile));
        }
        self.keys.contains_key(provider).then_some(KeySource::AuthFile)
    }

    /// Returns the log directories of other programs.
    ///
    /// # Errors
    /// If no home directory is known.
    pub fn foreign_logs(&self) -> Result<ImportDirs, ConfigError> {
        ImportDirs::find(&self.environment)
    }

    /// Returns the absolute paths of the home directory: the one in `HOME`, and its canonical path if that
    /// differs.
    #[must_use]
    pub fn home_dirs(&self) -> Vec<PathBuf> {
        let home = self.environment.value("HOME").map(PathBuf::from).or_else(::dirs::home_dir);
        let home = home.filter(|home| home.is_absolute());
        let canonical = home.as_ref().and_then(|home| home.canonicalize().ok());
        let canonical = canonical.filter(|canonical| Some(canonical) != home.as_ref());
        home.into_iter().chain(canonical).collect()
    }

    /// Returns the directories that tools never access: tiller's own, and a separate session directory unless
    /// it contains the working directory.
    #[must_use]
    pub fn private_dirs(&self, cwd: &Path) -> Vec<PathBuf> {
        let session_dir = self.settings.session_dir().map(|dir| cwd.join(dir));
        let sessions = session_dir.filter(|dir| {
            let canonical = dir.canonicalize();
            !cwd.starts_with(canonical.as_ref().unwrap_or(dir))
        });
        self.dirs.all().into_iter().chain(sessions).collect()
    }

    /// Returns the paths that commands and writing tools can't access without approval.
    #[must_use]
    pub fn protected_paths(&self, cwd: &Path) -> ProtectedPaths {
        let with_targets = |dirs: Vec<PathBuf>| {
            let targets = dirs.iter().filter_map(|dir| dir.canonicalize().ok());
            let mut paths: Vec<PathBuf> = targets.chain(dirs.iter().cloned()).collect();
            paths.sort();
            paths.dedup();
            paths
        };
        let homes = self.home_dirs();
        let names = homes.iter().flat_map(|home| home_names().map(move |name| home.join(name)));
        let private = self.private_dirs(cwd);
        let own_targets: Vec<PathBuf> =
            files::list_own_entries(&private).filter_map(|path| files::link_target(&path)).collect();
        ProtectedPaths {
            startup: names.filter_map(|path| files::link_target(&path)).collect(),
            tiller_dirs: with_targets(private.into_iter().chain(own_targets).collect()),
            readable: with_targets(self.dirs.readable()),
            homes,
        }
    }

    /// Returns an environment variable that isn't a setting, such as `NO_COLOR` or `EDITOR`.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.environment.value(name)
    }
}

/// Sets variables that aren't set from the `.env` files of the user and of a trusted project. Returns
/// warnings.
fn fill_environment(
    environment: &mut Environment,
    dirs: &AppDirs,
    inputs: ConfigOverrides<'_>,
) -> Result<Vec<String>, ConfigError> {
    let dotenv = dirs.config.join(".env");
    let mut warnings = Vec::new();
    if let Some(path) = inputs.env_file.or_else(|| dotenv.exists().then_some(&*dotenv)) {
        let text = files::read_stream(path, CONFIG_LIMIT).map_err(unreadable(path))?;
        let parsed = dotenv::parse(&text);
        let invalid = parsed.invalid.iter();
        warnings.extend(
            invalid.map(|line| format!("{}, line {line}: {}", path.display(), dotenv::problem(&text, *line))),
        );
        environment.fill(parsed.variables, path);
    }
    if let Some((project, path)) = inputs.trusted.and_then(|project| Some((project, project.env_file()?))) {
        // Other variables in the file are for the project's own programs.
        let variables = dotenv::parse(&read_of_project(project, &path)?).variables;
        let variables = variables.into_iter().filter(|(name, _)| may_project_set(name)).collect();
        environment.fill(variables, &path);
    }
    Ok(warnings)
}

fn apply_flags(settings: &mut Settings, flags: &[FlagValue]) -> Result<(), ConfigError> {
    for flag in flags {
        let invalid = |error: InvalidSetting| ConfigError::Flag {
            flag: flag.flag,
            value: error.value,
            expected: error.expected,
        };
        let value = flag.setting.parse(&flag.value).map_err(invalid)?;
        settings.set(flag.setting, value, SettingSource::Flag(flag.flag.to_owned()));
    }
    Ok(())
}

/// Reads the file that the setting `request.ca_file` names.
fn read_certificates(settings: &Settings) -> Result<Option<Arc<[u8]>>, ConfigError> {
    let path = settings.request_ca_file().map(Path::new);
    path.map(|path| Ok(files::read(path, CONFIG_LIMIT).map_err(unreadable(path))?.into())).transpose()
}

/// Variables with keys that tiller doesn't use itself.
const FOREIGN_KEYS: [&str; 6] = [
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "GOOGLE_API_KEY",
    "KIMI_API_KEY",
    "PERPLEXITY_API_KEY",
    "VERTEX_API_KEY",
];

/// Lists the variables for API keys, including those of providers that tiller doesn't support.
fn key_names() -> Vec<String> {
    let known = PROVIDERS.iter().chain(LOCAL_SERVERS).map(|provider| provider.key_variable);
    known.chain(FOREIGN_KEYS).map(str::to_owned).collect()
}

/// Returns the variable for a provider's key.
#[must_use]
pub fn key_name(provider: &str) -> String {
    match ProviderDescriptor::find(provider) {
        Some(descriptor) => descriptor.key_variable.to_owned(),
        None => format!("{}_API_KEY", provider.to_uppercase().replace(['-', '.'], "_")),
    }
}

/// A variable of other programs that turns the agent into a plain chat.
const AGENT_MODE: &str = "AGENT_MODE";

/// A variable of other programs, in some of them a fraction of the context window, in others a number of
/// messages.
const COMPACT_THRESHOLD: &str = "COMPACT_THRESHOLD";

/// Returns true if a project's `.env` may set a variable: those for keys and servers of providers, and for
/// settings that a project may set.
fn may_project_set(name: &str) -> bool {
    let names = |setting: &&Setting| setting.env_name() == name || setting.aliases.contains(&name);
    match TABLE.iter().copied().find(names) {
        Some(setting) => setting.scope == SettingScope::Project,
        None if name == AGENT_MODE => setting::TOOLS.scope == SettingScope::Project,
        None => {
            name.ends_with("_API_KEY")
                || name.ends_with("_BASE_URL")
                || PROVIDERS.iter().any(|provider| provider.key_variable == name)
        }
    }
}

/// Returns true if a variable with this name probably holds a secret.
fn is_secret(name: &str) -> bool {
    let name = name.to_uppercase();
    let ends = ["KEY", "TOKEN", "PASSWORD", "PASSPHRASE", "CREDENTIALS"];
    let parts = ["PASS", "PWD", "PAT", "AUTH", "APIKEY", "WEBHOOK"];
    // Working directories, and the agent's socket: programs need these.
    let harmless = ["PWD", "OLDPWD", "SSH_AUTH_SOCK"];
    ends.iter().any(|end| name == *end || name.ends_with(&format!("_{end}")))
        || ["SECRET", "ACCESS_KEY", "API_KEY"].iter().any(|part| name.contains(part))
        || !harmless.contains(&&*name) && name.split('_').any(|part| parts.contains(&part))
}

/// Returns true if a string contains a URL with a password: `scheme://user:password@host`.
fn contains_url_password(text: &str) -> bool {
    text.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let user = authority.rsplit_once('@').map(|(user, _)| user);
        user.and_then(|user| user.split_once(':')).is_some_and(|(_, password)| !password.is_empty())
    })
}

fn read_of_project(project: &Project, path: &Path) -> Result<String, ConfigError> {
    files::read_text_within(project.root(), path, CONFIG_LIMIT).map_err(unreadable(path))
}

/// The messages about settings files, and the rules and hooks in them.
#[derive(Default)]
struct LoadedFiles {
    warnings: Vec<String>,
    guard_problems: Vec<String>,
    invalid: Vec<WrongSetting>,
    rules: ConfiguredRules,
    hooks: HookSettings,
}

/// Applies a settings file of the user or a project, except for its MCP servers, which are returned.
fn apply_file(
    settings: &mut Settings,
    (path, text): (&Path, &str),
    scope: SettingScope,
    loaded: &mut LoadedFiles,
) -> Option<Value> {
    let file = path.display().to_string();
    let (source, rule_source) = match scope {
        SettingScope::User => (SettingSource::File(file.clone()), RuleSource::User(file)),
        SettingScope::Project => (SettingSource::Project(file.clone()), RuleSource::Project(file)),
    };
    let mut object: serde_json::Map<String, Value> = match serde_json::from_str(text) {
        Ok(object) => object,
        Err(error) => {
            let error = ConfigError::not_json(path, &error);
            loaded.invalid.push(WrongSetting::file(&error));
            loaded.guard_problems.push(error.to_string());
            invalid::set_strict_approval(settings, source);
            return None;
        }
    };
    let servers = mcp::take_setting(&mut object);
    let problems = take_rules_and_hooks(&mut object, &rule_source, loaded);
    let mut values = Vec::new();
    flatten("", &object, &mut values);
    for (name, value) in values {
        match TABLE.iter().find(|setting| setting.name == name) {
            None => loaded.warnings.push(unknown_setting(path, &name)),
            Some(setting) if (scope, setting.scope) == (SettingScope::Project, SettingScope::User) => loaded
                .warnings
                .push(format!("{}: `{name}` can only be set by the user, not by a project", path.display())),
            Some(setting) => match setting.parse_json(&value) {
                Ok(value) => settings.set(setting, value, source.clone()),
                Err(error) => {
                    loaded.invalid.push(WrongSetting::value(setting, path, &error));
                    if **setting == setting::APPROVAL {
                        invalid::set_strict_approval(settings, source.clone());
                    }
                }
            },
        }
    }
    if !problems.is_empty() {
        // The invalid part may contain a rule that denies something.
        let note = |problem| format!("{problem}; until it is fixed, the approval mode is read-only");
        loaded.warnings.extend(problems.iter().map(note));
        loaded.guard_problems.extend(problems);
        invalid::set_strict_approval(settings, source);
    }
    servers
}

/// Removes the rules and hooks from a settings file's object and adds them to `loaded`. Returns problems
/// with those that may deny something; other problems become warnings.
fn take_rules_and_hooks(
    object: &mut serde_json::Map<String, Value>,
    source: &RuleSource,
    loaded: &mut LoadedFiles,
) -> Vec<String> {
    let rules = rules::take_setting(object);
    let mut problems = rules.map(|rules| loaded.rules.add(&rules, source)).unwrap_or_default();
    if let Some(hooks) = hooks::take_setting(object) {
        let found = loaded.hooks.add(&hooks, &source.to_string());
        loaded.warnings.extend(found.warnings);
        problems.extend(found.broken_guards);
    }
    problems
}

fn misplaced_servers(path: &Path) -> String {
    let (file, name, project_file) = (path.display(), mcp::SETTING, mcp::PROJECT_FILE);
    format!("{file}: `{name}` can only be set by the user; a project's MCP servers are in {project_file}")
}

fn unknown_setting(path: &Path, name: &str) -> String {
    let names = || TABLE.iter().map(|setting| setting.name).chain([rules::SETTING]);
    if names().any(|known| known.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))) {
        return format!("{}: `{name}` must be an object", path.display());
    }
    let near = suggest::nearest(name, TABLE.iter().map(|setting| setting.name));
    let suggestion = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    format!("{}: unknown setting `{name}`{suggestion}", path.display())
}

/// Flattens nested objects: `{"bash": {"timeout_s": 1}}` equals `{"bash.timeout_s": 1}`.
fn flatten(prefix: &str, object: &serde_json::Map<String, Value>, values: &mut Vec<(String, Value)>) {
    for (name, value) in object {
        let name = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match value {
            Value::Object(inner) => flatten(&name, inner, values),
            value => values.push((name, value.clone())),
        }
    }
}

/// Applies the `TILLER_*` variables, or else those of other programs.
fn apply_environment(settings: &mut Settings, environment: &Environment) -> Result<(), ConfigError> {
    for setting in TABLE {
        let own_name = setting.env_name();
        let names = std::iter::once(own_name.as_str()).chain(setting.aliases.iter().copied());
        let mut values = names.filter_map(|name| environment.value(name).map(|value| (name, value)));
        let variable = values.find(|(name, value)| {
            *name != COMPACT_THRESHOLD || compact_threshold(value).name == setting.name
        });
        if let Some((name, value)) = variable {
            let invalid = |source| ConfigError::Setting { origin: name.to_owned(), source };
            settings.set(
                setting,
                setting.parse(value).map_err(invalid)?,
                SettingSource::Environment(name.to_owned()),
            );
        }
    }
    apply_agent_mode(settings, environment)
}

/// Returns the setting for a value of `COMPACT_THRESHOLD`.
fn compact_threshold(value: &str) -> &'static Setting {
    match value.trim().parse::<f64>() {
        Ok(fraction) if fraction > 0.0 && fraction < 1.0 => &setting::COMPACTION_THRESHOLD,
        Ok(_) | Err(_) => &setting::COMPACTION_MAX_MESSAGES,
    }
}

/// Disables all tools if `AGENT_MODE` is off. It takes precedence over `TOOLS_ENABLED`, which may have the
/// list for when it is on, but not over `TILLER_TOOLS`.
fn apply_agent_mode(settings: &mut Settings, environment: &Environment) -> Result<(), ConfigError> {
    let Some(text) = environment.value(AGENT_MODE) else { return Ok(()) };
    let is_on = setting::parse_switch(AGENT_MODE, text).map_err(|error| ConfigError::Flag {
        flag: error.name,
        value: error.value,
        expected: error.expected,
    })?;
    if !is_on && environment.value(&setting::TOOLS.env_name()).is_none() {
        let none = SettingValue::List(Vec::new());
        settings.set(&setting::TOOLS, Some(none), SettingSource::Environment(AGENT_MODE.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::{ApprovalMode, SyncPolicy};
    use secrecy::ExposeSecret;

    fn home_with(settings: &str) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("settings.json"), settings).unwrap();
        home
    }

    fn load(
        home: &tempfile::TempDir,
        variables: &[(&str, &str)],
        flags: &[FlagValue],
    ) -> Result<Config, ConfigError> {
        let mut environment = Environment::from([("TILLER_HOME", home.path().to_str().unwrap())]);
        environment
            .variables
            .extend(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        Config::load(environment, ConfigOverrides { flags, ..ConfigOverrides::default() })
    }

    #[test]
    fn config_protected_paths_include_link_targets() {
        let home = home_with("{}");
        let real = home.path().canonicalize().unwrap();
        std::fs::create_dir(real.join("dot")).unwrap();
        for (link, target) in [(".bashrc", "bashrc"), ("auth.json", "auth.json")] {
            std::fs::write(real.join("dot").join(target), "{}").unwrap();
            std::os::unix::fs::symlink(real.join("dot").join(target), real.join(link)).unwrap();
        }
        let config = load(&home, &[("HOME", real.to_str().unwrap())], &[]).unwrap();
        let protected = config.protected_paths(&real.join("work"));
        assert_eq!(protected.startup, [real.join("dot/bashrc")]);
        assert!(protected.is_private(&real.join("dot/auth.json")));
    }

    #[test]
    fn config_home_link_has_both_paths() {
        let home = home_with("{}");
        let real = home.path().canonicalize().unwrap();
        let link = real.join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let dirs = |named: &str| load(&home, &[("HOME", named)], &[]).unwrap().home_dirs();
        assert_eq!(dirs(link.to_str().unwrap()), [link.clone(), real.clone()]);
        assert_eq!(dirs(real.to_str().unwrap()), [real]);
        assert_eq!(dirs("relative"), Vec::<PathBuf>::new());
    }

    /// Loads a home directory with `user` as settings, and a trusted project with these settings and this
    /// `.env`.
    fn load_trusting(
        user: &str,
        project: &str,
        env: &str,
    ) -> (tempfile::TempDir, Result<Config, ConfigError>) {
        let home = home_with(user);
        let root = home.path().join("project");
        std::fs::create_dir_all(root.join(".tiller")).unwrap();
        std::fs::write(root.join(".tiller/settings.json"), project).unwrap();
        std::fs::write(root.join(".env"), env).unwrap();
        let project = Project::find(&root, home.path()).unwrap();
        let environment = Environment::from([("TILLER_HOME", home.path().to_str().unwrap())]);
        let config = Config::load(
            environment,
            ConfigOverrides { trusted: Some(&project), ..ConfigOverrides::default() },
        );
        (home, config)
    }

    #[test]
    fn config_project_ranks_between_user_file_and_environment() {
        let user = r#"{"sync": "never", "max_turns": 1, "session_dir": "mine"}"#;
        let project = r#"{"sync": "always", "max_turns": 2, "session_dir": "theirs"}"#;
        let env = "TILLER_MAX_TURNS=3\nTILLER_SESSION_DIR=theirs\nVISUAL=./evil\nOPENAI_API_KEY=theirs\n";
        let (home, config) = load_trusting(user, project, env);
        let config = config.unwrap();
        let path = home.path().canonicalize().unwrap().join("project/.tiller/settings.json");
        let path = path.display().to_string();
        assert_eq!(config.settings.sync_policy(), SyncPolicy::Always);
        assert_eq!(config.settings.value(&setting::SYNC).1, &SettingSource::Project(path.clone()));
        assert_eq!(config.settings.max_turns(), Some(3));
        assert_eq!(config.settings.session_dir(), Some("mine"));
        assert_eq!((config.variable("VISUAL"), key(&config, "openai").as_str()), (None, "theirs"));
        let warning = format!("{path}: `session_dir` can only be set by the user, not by a project");
        assert_eq!(config.warnings, [warning]);
    }

    #[test]
    fn config_hooks_of_user_and_trusted_project_are_joined() {
        let hooks =
            |line: &str| format!(r#"{{"hooks": {{"Stop": [{{"hooks": [{{"command": "{line}"}}]}}]}}}}"#);
        let (_home, config) = load_trusting(&hooks("user"), &hooks("project"), "");
        let config = config.unwrap();
        assert_eq!(config.hooks.list(), ["Stop: user", "Stop: project"]);
        assert_eq!(config.warnings, [""; 0]);
    }

    #[test]
    fn config_broken_guard_makes_approval_read_only() {
        let hooks = r#"{"approval": "auto", "hooks": {"Notification": [], "PreToolUse": {}}}"#;
        let home = home_with(hooks);
        let config = load(&home, &[], &[]).unwrap();
        let path = home.path().join("settings.json");
        assert!(config.warnings[0].contains("`hooks.Notification`: unknown event"));
        let guard = format!(
            "{}: `hooks.PreToolUse`: expected a list; until it is fixed, the approval mode is read-only",
            path.display()
        );
        assert_eq!(config.warnings[1..], [guard]);
        assert_eq!(config.settings.approval_mode(), ApprovalMode::ReadOnly);
    }

    #[test]
    fn config_broken_project_file_is_ignored_and_approval_read_only() {
        let (_home, config) = load_trusting(r#"{"sync": "never"}"#, "{\n  \"sync\": always\n}", "");
        let config = config.unwrap();
        let warnings = config.invalid[0].warning();
        assert!(
            warnings
                .contains("project/.tiller/settings.json, line 2, column 11: invalid JSON: expected value"),
            "{warnings}"
        );
        assert!(
            warnings.ends_with("the entire file is ignored, and the approval mode is read-only"),
            "{warnings}"
        );
        assert_eq!(config.settings.sync_policy(), SyncPolicy::Never);
    }

    #[test]
    fn config_non_executable_script_is_a_warning() {
        let home = home_with("{}");
        let extensions = home.path().join("extensions");
        std::fs::create_dir(&extensions).unwrap();
        std::fs::write(extensions.join("guard.py"), "#!/usr/bin/python3\n").unwrap();
        std::fs::write(extensions.join("notes.md"), "# Notes").unwrap();
        std::fs::write(extensions.join("empty"), "").unwrap();
        let script = extensions.join("guard.py");
        let expected = format!("{}: not started: it is not executable (chmod +x)", script.display());
        assert_eq!(load(&home, &[], &[]).unwrap().warnings, [expected]);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(script, mode).unwrap();
        assert!(load(&home, &[], &[]).unwrap().warnings.is_empty());
    }

    #[test]
    fn is_secret_matches_names_of_secrets() {
        let secrets = [
            "ANTHROPIC_API_KEY",
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_ACCESS_KEY_ID",
            "db_password",
            "DB_PASS",
            "MYSQL_PWD",
            "GITHUB_PAT",
            "NPM_AUTH",
            "OPENAI_APIKEY",
            "SLACK_WEBHOOK_URL",
        ];
        for name in secrets {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "PATH",
            "TILLER_MAX_TOKENS",
            "KEYBOARD",
            "MONKEY",
            "SSH_AUTH_SOCK",
            "PWD",
            "OLDPWD",
            "COMPASS",
            "AUTHOR",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn config_url_with_password_is_a_secret() {
        let home = home_with("{}");
        let variables = [("DATABASE_URL", "postgres://me:pw@host/db"), ("HOMEPAGE", "https://host:80/a@b")];
        assert_eq!(load(&home, &variables, &[]).unwrap().secret_names(), ["DATABASE_URL"]);
    }

    #[test]
    fn config_flag_environment_file_default_in_order() {
        let home = home_with(r#"{"max_turns": 1, "bash": {"timeout_s": 5}, "sync": "never"}"#);
        let flag = FlagValue { setting: &setting::MAX_TURNS, flag: "--max-turns", value: "3".into() };
        let variables = [("TILLER_MAX_TURNS", "2"), ("TILLER_SYNC", "always")];
        let settings = load(&home, &variables, &[flag]).unwrap().settings;
        assert_eq!(settings.max_turns(), Some(3));
        assert_eq!(settings.sync_policy(), SyncPolicy::Always);
        assert_eq!(settings.bash_timeout_s(), 5);
        assert_eq!(settings.bash_max_timeout_s(), 600);
    }

    #[test]
    fn config_environment_alias_sets_its_setting() {
        let home = home_with("{}");
        let rows = [
            ("AGENT_MAX_ITERATIONS", "7", &setting::MAX_TURNS, "7"),
            ("AGENT_MAX_TOKENS", "900", &setting::MAX_TOKENS, "900"),
            ("AGENT_MAX_MESSAGES", "40", &setting::COMPACTION_MAX_MESSAGES, "40"),
            ("COMPACT_THRESHOLD", "50", &setting::COMPACTION_MAX_MESSAGES, "50"),
            ("COMPACT_THRESHOLD", "0.8", &setting::COMPACTION_THRESHOLD, "0.8"),
            ("COMPACT_KEEP_RECENT", "9", &setting::COMPACTION_KEEP_MESSAGES, "9"),
            ("COMPACT_ENABLED", "false", &setting::COMPACTION_ENABLED, "off"),
            ("TOOLS_ENABLED", "grep,bash", &setting::TOOLS, "grep,bash"),
            ("TOOLS_ENABLED", "no", &setting::TOOLS, "off"),
            ("AGENT_MODE", "0", &setting::TOOLS, "off"),
            (
                "GITHUB_API_URL",
                "https://git.example.org/api/v3",
                &setting::GITHUB_API_URL,
                "https://git.example.org/api/v3",
            ),
        ];
        for (alias, text, setting, expected) in rows {
            let settings = load(&home, &[(alias, text)], &[]).unwrap().settings;
            let (value, source) = settings.value(setting);
            assert_eq!(value.unwrap().to_string(), expected, "{alias}={text}");
            assert_eq!(source, &SettingSource::Environment(alias.into()), "{alias}");
        }
        for alias in TABLE.iter().flat_map(|setting| setting.aliases) {
            assert!(rows.iter().any(|row| row.0 == *alias), "{alias} has no row");
        }
    }

    #[test]
    fn config_environment_alias_yields_to_own_name() {
        let home = home_with("{}");
        let variables = [("AGENT_MAX_ITERATIONS", "7"), ("TILLER_MAX_TURNS", "3")];
        assert_eq!(load(&home, &variables, &[]).unwrap().settings.max_turns(), Some(3));
    }

    #[test]
    fn config_compact_threshold_is_fraction_or_messages() {
        let home = home_with("{}");
        let threshold = |text: &str| {
            let settings = load(&home, &[("COMPACT_THRESHOLD", text)], &[]).unwrap().settings;
            (settings.compaction_threshold(), settings.compaction_max_messages())
        };
        assert_eq!(threshold("0.8"), (Some(0.8), None));
        assert_eq!(threshold("50"), (None, Some(50)));
        for invalid in ["0", "1", "1.5", "-0.5", "most"] {
            let error = load(&home, &[("COMPACT_THRESHOLD", invalid)], &[]).unwrap_err();
            assert_eq!(error.to_string(), "COMPACT_THRESHOLD", "{invalid}");
        }
        let variables = [("COMPACT_THRESHOLD", "0.8"), ("AGENT_MAX_MESSAGES", "40")];
        let settings = load(&home, &variables, &[]).unwrap().settings;
        assert_eq!(
            (settings.compaction_threshold(), settings.compaction_max_messages()),
            (Some(0.8), Some(40))
        );
        let own = [("COMPACT_THRESHOLD", "0.8"), ("TILLER_COMPACTION_THRESHOLD", "0.5")];
        assert_eq!(load(&home, &own, &[]).unwrap().settings.compaction_threshold(), Some(0.5));
    }

    #[test]
    fn config_tools_enabled_is_switch_or_list() {
        let home = home_with(r#"{"tools": ["grep"]}"#);
        let tools = |variables: &[(&str, &str)]| {
            let settings = load(&home, variables, &[]).unwrap().settings;
            settings.tools().map(<[String]>::to_vec)
        };
        for on in ["true", "1", "yes", "on", "TRUE"] {
            assert_eq!(tools(&[("TOOLS_ENABLED", on)]), None, "{on}");
        }
        for off in ["false", "0", "no", "off", "False"] {
            assert_eq!(tools(&[("TOOLS_ENABLED", off)]), Some(vec![]), "{off}");
        }
        assert_eq!(tools(&[("TOOLS_ENABLED", "bash")]), Some(vec!["bash".to_owned()]));
    }

    #[test]
    fn config_agent_mode_off_offers_no_tools() {
        let home = home_with("{}");
        let tools = |variables: &[(&str, &str)]| {
            load(&home, variables, &[]).map(|config| config.settings.tools().map(<[String]>::len))
        };
        for (variables, expected) in [
            (&[("AGENT_MODE", "false")][..], Some(0)),
            (&[("AGENT_MODE", "true")], None),
            (&[("AGENT_MODE", "false"), ("TOOLS_ENABLED", "bash")], Some(0)),
            (&[("AGENT_MODE", "true"), ("TOOLS_ENABLED", "bash")], Some(1)),
            (&[("AGENT_MODE", "false"), ("TILLER_TOOLS", "bash")], Some(1)),
        ] {
            assert_eq!(tools(variables).unwrap(), expected, "{variables:?}");
        }
        let error = tools(&[("AGENT_MODE", "chat")]).unwrap_err();
        assert_eq!(error.to_string(), "AGENT_MODE: `chat` is not on or off");
    }

    #[test]
    fn config_env_file_value_ends_before_comment() {
        let home = home_with("{}");
        let text = "OPENAI_API_KEY=sk-1 # mine\nANTHROPIC_API_KEY sk-2\n";
        std::fs::write(home.path().join(".env"), text).unwrap();
        let config = load(&home, &[], &[]).unwrap();
        assert_eq!(key(&config, "openai"), "sk-1");
        let file = home.path().join(".env").display().to_string();
        assert!(config.warnings[0].starts_with(&format!("{file}, line 2: not NAME=VALUE")));
        assert!(!config.warnings[0].contains("sk-2"), "{:?}", config.warnings);
    }

    #[test]
    fn config_unknown_setting_gets_a_suggestion() {
        let home = home_with(r#"{"thinkin": "high", "bash": {"timout_s": 3}}"#);
        let warnings = load(&home, &[], &[]).unwrap().warnings;
        assert!(warnings[0].ends_with("`thinkin`; did you mean `thinking`?"), "{warnings:?}");
        assert!(warnings[1].ends_with("did you mean `bash.timeout_s`?"), "{warnings:?}");
    }

    #[test]
    fn config_group_that_is_no_object_is_named() {
        let home = home_with(r#"{"policy": 5, "retry": "x", "server": 5}"#);
        let file = home.path().join("settings.json").display().to_string();
        let expected =
            ["policy", "retry", "server"].map(|name| format!("{file}: `{name}` must be an object"));
        assert_eq!(load(&home, &[], &[]).unwrap().warnings, expected);
    }

    #[test]
    fn config_invalid_values_in_file_affect_only_themselves() {
        let home = home_with(r#"{"sync": "sometimes", "max_turns": "x", "bash": {"timeout_s": 5}}"#);
        let config = load(&home, &[("TILLER_MAX_TURNS", "9")], &[]).unwrap();
        let file = home.path().join("settings.json").display().to_string();
        let warnings: Vec<String> = config.invalid.iter().map(WrongSetting::warning).collect();
        let expected = [
            "`sync`: `sometimes` is not one of always, turn, never; using the default",
            "`max_turns`: `x` is not a whole number from 1 to 1000000; ignoring it; \
             9 from TILLER_MAX_TURNS is used instead",
        ];
        assert_eq!(warnings, expected.map(|text| format!("{file}: {text}")));
        assert_eq!(config.settings.bash_timeout_s(), 5);
    }

    #[test]
    fn config_invalid_approval_is_strictest_unless_flag_is_set() {
        let home = home_with(r#"{"approval": "readonly"}"#);
        let config = load(&home, &[], &[]).unwrap();
        assert_eq!(config.settings.approval_mode(), ApprovalMode::ReadOnly);
        assert!(config.invalid[0].replacement.contains("read-only, the strictest"), "{:?}", config.invalid);
        let flag = FlagValue { setting: &setting::APPROVAL, flag: "--approval", value: "auto".into() };
        assert_eq!(load(&home, &[], &[flag]).unwrap().settings.approval_mode(), ApprovalMode::Auto);
    }

    #[test]
    fn config_invalid_variable_or_flag_is_an_error() {
        let home = home_with("{}");
        let error = load(&home, &[("TILLER_SYNC", "sometimes")], &[]).unwrap_err();
        assert_eq!(error.to_string(), "TILLER_SYNC");
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert_eq!(source, "`sync`: `sometimes` is not one of always, turn, never");
        let flag = FlagValue { setting: &setting::SYNC, flag: "--sync", value: "x".into() };
        let error = load(&home, &[], &[flag]).unwrap_err();
        assert_eq!(error.to_string(), "--sync: `x` is not one of always, turn, never");
    }

    #[test]
    fn config_unknown_setting_is_a_warning() {
        let home = home_with(r#"{"weather": "red"}"#);
        let warnings = load(&home, &[], &[]).unwrap().warnings;
        assert!(warnings[0].ends_with("unknown setting `weather`"), "{warnings:?}");
    }

    fn key(config: &Config, provider: &str) -> String {
        config
            .access(provider)
            .and_then(|access| match access.key? {
                ConfigKey::Value(key) => Some(key.expose_secret().to_owned()),
                ConfigKey::Command(command) => Some(format!("!{command}")),
            })
            .unwrap()
    }

    #[test]
    fn config_env_file_does_not_override_environment() {
        let home = home_with("{}");
        std::fs::write(home.path().join(".env"), "OPENAI_API_KEY=file\nANTHROPIC_API_KEY=file\n").unwrap();
        let config = load(&home, &[("OPENAI_API_KEY", "environment")], &[]).unwrap();
        assert_eq!(key(&config, "openai"), "environment");
        assert_eq!(key(&config, "anthropic"), "file");
    }

    #[test]
    fn config_auth_json_ranks_last_for_keys() {
        let home = home_with("{}");
        store_key(&home.path().join("auth.json"), "anthropic", &"auth".into()).unwrap();
        store_key(&home.path().join("auth.json"), "openai", &"auth".into()).unwrap();
        let config = load(&home, &[("OPENAI_API_KEY", "environment")], &[]).unwrap();
        assert_eq!(
            (key(&config, "anthropic"), key(&config, "openai")),
            ("auth".into(), "environment".into())
        );
        assert_eq!(config.key_source("openai"), Some(KeySource::Variable));
        assert_eq!(config.key_source("anthropic"), Some(KeySource::AuthFile));
        assert_eq!(config.key_source("gemini"), None);
        let file = home.path().join(".env");
        std::fs::write(&file, "ANTHROPIC_API_KEY=file\n").unwrap();
        let config = load(&home, &[], &[]).unwrap();
        assert_eq!(key(&config, "anthropic"), "file");
        assert_eq!(config.key_source("anthropic"), Some(KeySource::EnvFile(file)));
        assert!(!format!("{config:?}").contains("\"auth\""), "keys are never printed");
    }
}
