//! Files, environment and keys: the only reader of any of them.
//!
//! Settings come together here: defaults, then the user's `settings.json`, then that of a trusted project, then the
//! environment, then flags. Keys of providers come from the environment, then from the user's `.env` file, then from a trusted
//! project's, then from `auth.json`; they are never settings, and never printed.

mod auth;
mod dirs;
mod dotenv;
mod edit;
mod import_dirs;
mod invalid;
mod trust;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use secrecy::SecretString;
use serde_json::Value;

use crate::files::{self, CONFIG_LIMIT};
use crate::protected_path::{ProtectedPaths, home_names};
use crate::provider::descriptor::ProviderDescriptor;
use crate::setting::{
    self, InvalidSetting, Setting, SettingScope, SettingSource, SettingValue, Settings, TABLE,
};
use crate::suggest;

pub use auth::{KeyRemoval, remove_key, store_key};
pub use dirs::Folders;
pub use edit::store_setting;
pub use import_dirs::ImportDirs;
pub use invalid::WrongSetting;
pub use trust::{Project, TrustAnswer, TrustStore};

/// Environment variables: the process's own, or a test's.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    /// The files that variables came from, where they came from files.
    files: BTreeMap<String, PathBuf>,
}

impl Environment {
    /// The process's own. Variables that aren't UTF-8 are left out.
    #[must_use]
    pub fn of_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self { variables: std::env::vars_os().filter_map(text).collect(), files: BTreeMap::new() }
    }

    /// A variable that is set to something.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Adds variables of a file where they aren't set already.
    fn fill(&mut self, variables: Vec<(String, String)>, file: &Path) {
        for (name, value) in variables {
            if let Entry::Vacant(free) = self.variables.entry(name) {
                self.files.insert(free.key().clone(), file.to_owned());
                free.insert(value);
            }
        }
    }
}

impl<const N: usize> From<[(&str, &str); N]> for Environment {
    fn from(variables: [(&str, &str); N]) -> Self {
        let owned = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self { variables: owned.into_iter().collect(), files: BTreeMap::new() }
    }
}

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

/// Where a provider is and what lets tiller in.
#[derive(Clone, Debug)]
pub struct ConfigAccess {
    /// The key; a server of one's own may need none.
    pub key: Option<SecretString>,
    /// The server, if it isn't the provider's own.
    pub base_url: Option<String>,
}

/// Where a key comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// A variable of the process.
    Variable,
    /// A variable that this `.env` file sets.
    EnvFile(PathBuf),
    /// `auth.json`.
    AuthFile,
}

/// What is said of the configuration from outside of its usual places.
#[derive(Clone, Copy, Debug, Default)]
pub struct GivenValues<'a> {
    /// Settings on the command line.
    pub flags: &'a [FlagValue],
    /// The file of keys to read instead of the user's `.env`.
    pub env_file: Option<&'a Path>,
    /// The project whose settings and `.env` count: one that the user trusts.
    pub trusted: Option<&'a Project>,
}

/// Everything that was configured.
#[derive(Debug)]
pub struct Config {
    /// Where things live.
    pub folders: Folders,
    /// All settings with their sources.
    pub settings: Settings,
    /// What was passed over, for the user to see.
    pub warnings: Vec<String>,
    /// What is wrong in settings files, in the order it was read. It isn't among the warnings.
    pub wrong: Vec<WrongSetting>,
    /// What was left unread because the project isn't trusted, with the reason. It isn't among the warnings.
    pub passed_over: Option<String>,
    environment: Environment,
    /// Those of `auth.json`.
    keys: BTreeMap<String, SecretString>,
}

/// Configuration that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// There is no home directory and no TILLER_HOME.
    #[error("there is no home directory; set TILLER_HOME to a folder for tiller's files")]
    NoHome,
    /// A file can't be read.
    #[error("{path}: can't be read")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A settings file isn't JSON.
    #[error("{path}, line {line}, column {column}: not a JSON object ({what})")]
    Json {
        /// The file.
        path: PathBuf,
        /// The line where reading ended, from 1.
        line: usize,
        /// The column, from 1; 0 where the whole is no object.
        column: usize,
        /// What is wrong there.
        what: String,
    },
    /// A setting got a value that it doesn't take.
    #[error("{origin}")]
    Setting {
        /// The file, variable or flag.
        origin: String,
        /// What is wrong.
        source: InvalidSetting,
    },
}

impl ConfigError {
    /// What to do about it, if that isn't plain.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Json { .. } => Some("mend it in an editor; until then it isn't written to"),
            Self::NoHome | Self::Io { .. } | Self::Setting { .. } => None,
        }
    }

    fn not_json(path: &Path, error: &serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        let what = error.to_string();
        let what = what.trim_end_matches(&format!(" at line {line} column {column}")).to_owned();
        Self::Json { path: path.to_owned(), line, column, what }
    }
}

impl Config {
    /// Reads everything. What is wrong in a settings file costs its own settings alone.
    ///
    /// # Errors
    /// When a file is there and can't be read, or a variable or a flag has a value that its setting doesn't take.
    pub fn load(mut environment: Environment, given: GivenValues<'_>) -> Result<Self, ConfigError> {
        let folders = Folders::find(&environment)?;
        let dotenv = folders.config.join(".env");
        let mut warnings = Vec::new();
        if let Some(path) = given.env_file.or_else(|| dotenv.exists().then_some(&*dotenv)) {
            let text = files::read_stream(path, CONFIG_LIMIT).map_err(unreadable(path))?;
            let parsed = dotenv::parse(&text);
            let invalid = parsed.invalid.iter();
            warnings.extend(invalid.map(|line| {
                format!("{}, line {line}: not NAME=VALUE (a value with spaces needs quotes)", path.display())
            }));
            environment.fill(parsed.variables, path);
        }
        if let Some((project, path)) = given.trusted.and_then(|it| Some((it, it.env_file()?))) {
            // Whatever else is in it is the project's own programs' affair.
            let variables = dotenv::parse(&read_of_project(project, &path)?).variables;
            let variables = variables.into_iter().filter(|(name, _)| is_a_projects(name)).collect();
            environment.fill(variables, &path);
        }
        let auth::StoredKeys { keys, warnings: of_keys } = auth::keys(&folders.auth())?;
        warnings.extend(of_keys);
        let mut settings = Settings::default();
        let own = folders.config.join("settings.json");
        let mut wrong = Vec::new();
        let mut complaints = Complaints { warnings: &mut warnings, wrong: &mut wrong };
        if own.exists() {
            take_file(&mut settings, (&own, &read(&own)?), SettingScope::User, &mut complaints);
        }
        if let Some((project, path)) = given.trusted.and_then(|it| Some((it, it.settings()?))) {
            let text = read_of_project(project, &path)?;
            take_file(&mut settings, (&path, &text), SettingScope::Project, &mut complaints);
        }
        warnings.extend(trust::idle_scripts(&folders.config.join("extensions")));
        warnings.extend(given.trusted.map(Project::idle_extensions).into_iter().flatten());
        take_environment(&mut settings, &environment)?;
        for flag in given.flags {
            let wrong = |source| ConfigError::Setting { origin: flag.flag.to_owned(), source };
            let value = flag.setting.parse(&flag.value).map_err(wrong)?;
            settings.set(flag.setting, value, SettingSource::Flag(flag.flag.to_owned()));
        }
        wrong.iter_mut().for_each(|wrong| wrong.settle(&settings));
        Ok(Self { folders, settings, warnings, wrong, passed_over: None, environment, keys })
    }

    /// Everything that the user is told of it, a sentence each.
    pub fn notices(&self) -> impl Iterator<Item = String> {
        let wrong = self.wrong.iter().map(WrongSetting::warning);
        self.warnings.iter().cloned().chain(self.passed_over.clone()).chain(wrong)
    }

    /// Executables in the user's own folder of extensions, by name.
    #[must_use]
    pub fn own_extensions(&self) -> Vec<PathBuf> {
        self.folders.extensions()
    }

    /// Names of the variables that hold keys, tokens and passwords, going by name and by addresses with a password in them:
    /// what an extension has no business with.
    #[must_use]
    pub fn secret_names(&self) -> Vec<String> {
        let variables = self.environment.variables.iter();
        let secret = variables.filter(|(name, value)| is_secret(name) || holds_password(value));
        secret.map(|(name, _)| name.clone()).collect()
    }

    /// The key and server of a provider, by the names it uses itself (`ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL`), else the key
    /// in `auth.json`. One of them is enough.
    #[must_use]
    pub fn access(&self, provider: &ProviderDescriptor) -> Option<ConfigAccess> {
        let key = self.environment.value(provider.key_variable).map(|key| SecretString::from(key.to_owned()));
        let key = key.or_else(|| self.keys.get(provider.name).cloned());
        let base_url = self.environment.value(provider.base_url_variable).map(str::to_owned);
        (key.is_some() || base_url.is_some()).then_some(ConfigAccess { key, base_url })
    }

    /// Where the key of a provider comes from; `None` where there is none.
    #[must_use]
    pub fn key_source(&self, provider: &str) -> Option<KeySource> {
        let name = key_name(provider);
        if self.environment.value(&name).is_some() {
            let file = self.environment.files.get(&name).cloned();
            return Some(file.map_or(KeySource::Variable, KeySource::EnvFile));
        }
        self.keys.contains_key(provider).then_some(KeySource::AuthFile)
    }

    /// Where other programs keep their logs.
    ///
    /// # Errors
    /// When there is no home directory.
    pub fn foreign_logs(&self) -> Result<ImportDirs, ConfigError> {
        ImportDirs::find(&self.environment)
    }

    /// The names of the home directory, absolute: as `HOME` says, and with links resolved if that is another one.
    #[must_use]
    pub fn home_folders(&self) -> Vec<PathBuf> {
        let named = self.environment.value("HOME").map(PathBuf::from).or_else(::dirs::home_dir);
        let named = named.filter(|home| home.is_absolute());
        let real = named.as_ref().and_then(|home| home.canonicalize().ok());
        let real = real.filter(|real| Some(real) != named.as_ref());
        named.into_iter().chain(real).collect()
    }

    /// Lists the folders that tools never reach: tiller's own, and where the sessions are kept if that is elsewhere, unless it
    /// holds the working directory.
    #[must_use]
    pub fn private_folders(&self, cwd: &Path) -> Vec<PathBuf> {
        let named = self.settings.text(&setting::SESSION_DIR).map(|folder| cwd.join(folder));
        let sessions = named.filter(|folder| {
            let real = folder.canonicalize();
            !cwd.starts_with(real.as_ref().unwrap_or(folder))
        });
        self.folders.all().into_iter().chain(sessions).collect()
    }

    /// The folders that commands and writing tools may not reach without a question.
    #[must_use]
    pub fn protected_paths(&self, cwd: &Path) -> ProtectedPaths {
        let named = |folders: Vec<PathBuf>| {
            let real = folders.iter().filter_map(|folder| folder.canonicalize().ok());
            let mut all: Vec<PathBuf> = real.chain(folders.iter().cloned()).collect();
            all.sort();
            all.dedup();
            all
        };
        let homes = self.home_folders();
        let names = homes.iter().flat_map(|home| home_names().map(move |name| home.join(name)));
        let private = self.private_folders(cwd);
        let own_targets: Vec<PathBuf> =
            files::list_own_entries(&private).filter_map(|path| files::link_target(&path)).collect();
        ProtectedPaths {
            startup: names.filter_map(|path| files::link_target(&path)).collect(),
            own: named(private.into_iter().chain(own_targets).collect()),
            readable: named(self.folders.readable()),
            homes,
        }
    }

    /// An environment variable that isn't a setting: `NO_COLOR`, `EDITOR`.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.environment.value(name)
    }
}

/// Services that sell what models say, as their variables name them.
const SELLERS: [&str; 14] = [
    "ANTHROPIC",
    "CEREBRAS",
    "DEEPSEEK",
    "FIREWORKS",
    "GEMINI",
    "GOOGLE",
    "GROQ",
    "MISTRAL",
    "MOONSHOT",
    "OPENAI",
    "OPENROUTER",
    "TOGETHER",
    "XAI",
    "ZAI",
];

/// The variables that hold the keys of providers, those that tiller can't ask yet among them.
#[must_use]
pub fn key_names() -> Vec<String> {
    let keys = SELLERS.iter().map(|seller| key_name(seller));
    keys.chain(["ANTHROPIC_AUTH_TOKEN".to_owned(), "CLAUDE_CODE_OAUTH_TOKEN".to_owned()]).collect()
}

/// The variable that holds a provider's key.
#[must_use]
pub fn key_name(provider: &str) -> String {
    format!("{}_API_KEY", provider.to_uppercase())
}

/// The variable of other programs that turns the agent into a plain chat.
const AGENT_MODE: &str = "AGENT_MODE";

/// Whether a project's `.env` may set a variable: keys and servers of providers, and settings that a project may set.
fn is_a_projects(name: &str) -> bool {
    let names = |setting: &&Setting| setting.env_name() == name || setting.aliases.contains(&name);
    match TABLE.iter().copied().find(names) {
        Some(setting) => setting.scope == SettingScope::Project,
        None if name == AGENT_MODE => setting::TOOLS.scope == SettingScope::Project,
        None => name.ends_with("_API_KEY") || name.ends_with("_BASE_URL"),
    }
}

/// Whether a variable of that name holds a secret.
fn is_secret(name: &str) -> bool {
    let name = name.to_uppercase();
    let ends = ["KEY", "TOKEN", "PASSWORD", "PASSPHRASE", "CREDENTIALS"];
    let parts = ["PASS", "PWD", "PAT", "AUTH", "APIKEY", "WEBHOOK"];
    // The working directories and the agent's socket, which programs need.
    let harmless = ["PWD", "OLDPWD", "SSH_AUTH_SOCK"];
    ends.iter().any(|end| name == *end || name.ends_with(&format!("_{end}")))
        || ["SECRET", "ACCESS_KEY", "API_KEY"].iter().any(|part| name.contains(part))
        || !harmless.contains(&&*name) && name.split('_').any(|part| parts.contains(&part))
}

/// Whether a text has an address with a password: `scheme://user:password@host`.
fn holds_password(text: &str) -> bool {
    text.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let user = authority.rsplit_once('@').map(|(user, _)| user);
        user.and_then(|user| user.split_once(':')).is_some_and(|(_, password)| !password.is_empty())
    })
}

fn read(path: &Path) -> Result<String, ConfigError> {
    files::read_text(path, CONFIG_LIMIT).map_err(unreadable(path))
}

fn read_of_project(project: &Project, path: &Path) -> Result<String, ConfigError> {
    files::read_text_within(project.root(), path, CONFIG_LIMIT).map_err(unreadable(path))
}

fn unreadable(path: &Path) -> impl FnOnce(std::io::Error) -> ConfigError {
    |source| ConfigError::Io { path: path.to_owned(), source }
}

/// What there is to say of settings files.
struct Complaints<'a> {
    warnings: &'a mut Vec<String>,
    wrong: &'a mut Vec<WrongSetting>,
}

/// Takes the text of a settings file of the user or of a project.
fn take_file(
    settings: &mut Settings,
    (path, text): (&Path, &str),
    whose: SettingScope,
    complaints: &mut Complaints<'_>,
) {
    let source = match whose {
        SettingScope::User => SettingSource::File(path.display().to_string()),
        SettingScope::Project => SettingSource::Project(path.display().to_string()),
    };
    let object: serde_json::Map<String, Value> = match serde_json::from_str(text) {
        Ok(object) => object,
        Err(error) => {
            complaints.wrong.push(WrongSetting::file(&ConfigError::not_json(path, &error)));
            invalid::be_strict(settings, source);
            return;
        }
    };
    let mut values = Vec::new();
    flatten("", &object, &mut values);
    for (name, value) in values {
        match TABLE.iter().find(|setting| setting.name == name) {
            None => complaints.warnings.push(unknown_setting(path, &name)),
            Some(setting) if (whose, setting.scope) == (SettingScope::Project, SettingScope::User) => {
                complaints
                    .warnings
                    .push(format!("{}: `{name}` is for the user alone to set, not a project", path.display()))
            }
            Some(setting) => match setting.parse_json(&value) {
                Ok(value) => settings.set(setting, value, source.clone()),
                Err(error) => {
                    complaints.wrong.push(WrongSetting::value(setting, path, &error));
                    if **setting == setting::APPROVAL {
                        invalid::be_strict(settings, source.clone());
                    }
                }
            },
        }
    }
}

fn unknown_setting(path: &Path, name: &str) -> String {
    let near = suggest::nearest(name, TABLE.iter().map(|setting| setting.name));
    let meant = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    format!("{}: there is no setting `{name}`{meant}", path.display())
}

/// `{"bash": {"timeout_s": 1}}` and `{"bash.timeout_s": 1}` are the same.
fn flatten(prefix: &str, object: &serde_json::Map<String, Value>, values: &mut Vec<(String, Value)>) {
    for (name, value) in object {
        let name = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match value {
            Value::Object(inner) => flatten(&name, inner, values),
            value => values.push((name, value.clone())),
        }
    }
}

/// Takes `TILLER_*`, else the names other programs use.
fn take_environment(settings: &mut Settings, environment: &Environment) -> Result<(), ConfigError> {
    for setting in TABLE {
        let own = setting.env_name();
        let names = std::iter::once(own.as_str()).chain(setting.aliases.iter().copied());
        let found = names.filter_map(|name| environment.value(name).map(|value| (name, value))).next();
        if let Some((name, value)) = found {
            let wrong = |source| ConfigError::Setting { origin: name.to_owned(), source };
            settings.set(
                setting,
                setting.parse(value).map_err(wrong)?,
                SettingSource::Environment(name.to_owned()),
            );
        }
    }
    take_agent_mode(settings, environment)
}

/// Offers no tools where `AGENT_MODE` is off, which is a plain chat. It counts before TOOLS_ENABLED, which may be a list for the
/// times when it is on, but not before TILLER_TOOLS.
fn take_agent_mode(settings: &mut Settings, environment: &Environment) -> Result<(), ConfigError> {
    let Some(text) = environment.value(AGENT_MODE) else { return Ok(()) };
    let is_on = setting::parse_switch(AGENT_MODE, text)
        .map_err(|source| ConfigError::Setting { origin: AGENT_MODE.to_owned(), source })?;
    if !is_on && environment.value(&setting::TOOLS.env_name()).is_none() {
        let none = SettingValue::List(Vec::new());
        settings.set(&setting::TOOLS, Some(none), SettingSource::Environment(AGENT_MODE.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret;

    fn home_with(settings: &str) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("settings.json"), settings).unwrap();
        home
    }

    fn load(
        home: &tempfile::TempDir,
        more: &[(&str, &str)],
        flags: &[FlagValue],
    ) -> Result<Config, ConfigError> {
        let mut environment = Environment::from([("TILLER_HOME", home.path().to_str().unwrap())]);
        environment
            .variables
            .extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        Config::load(environment, GivenValues { flags, ..GivenValues::default() })
    }

    #[test]
    fn protected_paths_include_what_links_lead_to() {
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
    fn home_folders_link_has_both_names() {
        let home = home_with("{}");
        let real = home.path().canonicalize().unwrap();
        let link = real.join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let folders = |named: &str| load(&home, &[("HOME", named)], &[]).unwrap().home_folders();
        assert_eq!(folders(link.to_str().unwrap()), [link.clone(), real.clone()]);
        assert_eq!(folders(real.to_str().unwrap()), [real]);
        assert_eq!(folders("relative"), Vec::<PathBuf>::new());
    }

    /// A home with `user` as settings, and a trusted project in it with these settings and this `.env`.
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
        let config =
            Config::load(environment, GivenValues { trusted: Some(&project), ..GivenValues::default() });
        (home, config)
    }

    #[test]
    fn a_trusted_project_stands_between_the_users_file_and_the_environment() {
        let user = r#"{"sync": "never", "max_turns": 1, "session_dir": "mine"}"#;
        let project = r#"{"sync": "always", "max_turns": 2, "session_dir": "theirs"}"#;
        let env = "TILLER_MAX_TURNS=3\nTILLER_SESSION_DIR=theirs\nVISUAL=./evil\nOPENAI_API_KEY=theirs\n";
        let (home, config) = load_trusting(user, project, env);
        let config = config.unwrap();
        let path = home.path().canonicalize().unwrap().join("project/.tiller/settings.json");
        let path = path.display().to_string();
        assert_eq!(config.settings.text(&setting::SYNC), Some("always"));
        assert_eq!(config.settings.value(&setting::SYNC).1, &SettingSource::Project(path.clone()));
        assert_eq!(config.settings.count(&setting::MAX_TURNS), Some(3));
        assert_eq!(config.settings.text(&setting::SESSION_DIR), Some("mine"));
        assert_eq!((config.variable("VISUAL"), key(&config, "openai").as_str()), (None, "theirs"));
        let warning = format!("{path}: `session_dir` is for the user alone to set, not a project");
        assert_eq!(config.warnings, [warning]);
    }

    #[test]
    fn a_broken_file_of_a_trusted_project_is_told_with_its_place_and_counts_for_nothing_but_strictness() {
        let (_home, config) = load_trusting(r#"{"sync": "never"}"#, "{\n  \"sync\": always\n}", "");
        let config = config.unwrap();
        let told = config.wrong[0].warning();
        assert!(
            told.contains("project/.tiller/settings.json, line 2, column 11: not a JSON object"),
            "{told}"
        );
        assert!(told.ends_with("nothing in it counts, and approval is read-only"), "{told}");
        assert!(config.settings.is(&setting::SYNC, "never"));
    }

    #[test]
    fn a_script_that_is_not_executable_is_told_of_and_other_files_are_not() {
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
    fn names_of_secrets_are_known_by_their_form() {
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
    fn an_address_with_a_password_is_a_secret_whatever_its_name() {
        let home = home_with("{}");
        let more = [("DATABASE_URL", "postgres://me:pw@host/db"), ("HOMEPAGE", "https://host:80/a@b")];
        assert_eq!(load(&home, &more, &[]).unwrap().secret_names(), ["DATABASE_URL"]);
    }

    #[test]
    fn a_flag_beats_the_environment_beats_the_file_beats_the_default() {
        let home = home_with(r#"{"max_turns": 1, "bash": {"timeout_s": 5}, "sync": "never"}"#);
        let flag = FlagValue { setting: &setting::MAX_TURNS, flag: "--max-turns", value: "3".into() };
        let more = [("TILLER_MAX_TURNS", "2"), ("TILLER_SYNC", "always")];
        let settings = load(&home, &more, &[flag]).unwrap().settings;
        assert_eq!(settings.count(&setting::MAX_TURNS), Some(3));
        assert_eq!(settings.text(&setting::SYNC), Some("always"));
        assert_eq!(settings.count(&setting::BASH_TIMEOUT_S), Some(5));
        assert_eq!(settings.count(&setting::BASH_MAX_TIMEOUT_S), Some(600));
    }

    #[test]
    fn environment_alias_sets_its_setting() {
        let home = home_with("{}");
        let rows = [
            ("AGENT_MAX_ITERATIONS", "7", &setting::MAX_TURNS, "7"),
            ("AGENT_MAX_TOKENS", "900", &setting::MAX_TOKENS, "900"),
            ("AGENT_MAX_MESSAGES", "40", &setting::COMPACTION_MAX_MESSAGES, "40"),
            ("COMPACT_THRESHOLD", "50", &setting::COMPACTION_MAX_MESSAGES, "50"),
            ("COMPACT_KEEP_RECENT", "9", &setting::COMPACTION_KEEP_MESSAGES, "9"),
            ("COMPACT_ENABLED", "false", &setting::COMPACTION_ENABLED, "off"),
            ("TOOLS_ENABLED", "grep,bash", &setting::TOOLS, "grep,bash"),
            ("TOOLS_ENABLED", "no", &setting::TOOLS, "off"),
            ("AGENT_MODE", "0", &setting::TOOLS, "off"),
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
    fn environment_alias_yields_to_tillers_own_name() {
        let home = home_with("{}");
        let more = [("AGENT_MAX_ITERATIONS", "7"), ("TILLER_MAX_TURNS", "3")];
        assert_eq!(load(&home, &more, &[]).unwrap().settings.count(&setting::MAX_TURNS), Some(3));
    }

    #[test]
    fn tools_enabled_is_a_switch_or_a_list() {
        let home = home_with(r#"{"tools": ["grep"]}"#);
        let tools = |more: &[(&str, &str)]| {
            let settings = load(&home, more, &[]).unwrap().settings;
            settings.list(&setting::TOOLS).map(<[String]>::to_vec)
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
    fn agent_mode_off_offers_no_tools() {
        let home = home_with("{}");
        let tools = |more: &[(&str, &str)]| {
            load(&home, more, &[]).map(|it| it.settings.list(&setting::TOOLS).map(<[String]>::len))
        };
        for (more, expected) in [
            (&[("AGENT_MODE", "false")][..], Some(0)),
            (&[("AGENT_MODE", "true")], None),
            (&[("AGENT_MODE", "false"), ("TOOLS_ENABLED", "bash")], Some(0)),
            (&[("AGENT_MODE", "true"), ("TOOLS_ENABLED", "bash")], Some(1)),
            (&[("AGENT_MODE", "false"), ("TILLER_TOOLS", "bash")], Some(1)),
        ] {
            assert_eq!(tools(more).unwrap(), expected, "{more:?}");
        }
        let error = tools(&[("AGENT_MODE", "chat")]).unwrap_err();
        assert_eq!(error.to_string(), "AGENT_MODE");
        assert!(format!("{error:?}").contains("on or off"), "{error:?}");
    }

    #[test]
    fn env_file_value_ends_before_its_comment() {
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
    fn unknown_setting_gets_a_suggestion() {
        let home = home_with(r#"{"thinkin": "high", "bash": {"timout_s": 3}}"#);
        let warnings = load(&home, &[], &[]).unwrap().warnings;
        assert!(warnings[0].ends_with("`thinkin`; did you mean `thinking`?"), "{warnings:?}");
        assert!(warnings[1].ends_with("did you mean `bash.timeout_s`?"), "{warnings:?}");
    }

    #[test]
    fn a_wrong_value_in_a_file_costs_itself_alone_and_all_of_them_are_told() {
        let home = home_with(r#"{"sync": "sometimes", "max_turns": "x", "bash": {"timeout_s": 5}}"#);
        let config = load(&home, &[("TILLER_MAX_TURNS", "9")], &[]).unwrap();
        let file = home.path().join("settings.json").display().to_string();
        let told: Vec<String> = config.wrong.iter().map(WrongSetting::warning).collect();
        let expected = [
            "setting sync: `sometimes` is not one of always, turn, never; turn counts instead (default)",
            "setting max_turns: `x` is not a whole number from 1 to 1000000; 9 counts instead (TILLER_MAX_TURNS)",
        ];
        assert_eq!(told, expected.map(|said| format!("{file}: {said}")));
        assert_eq!(config.settings.count(&setting::BASH_TIMEOUT_S), Some(5));
    }

    #[test]
    fn an_approval_that_is_not_understood_is_the_strictest_unless_a_flag_says_more() {
        let home = home_with(r#"{"approval": "readonly"}"#);
        let config = load(&home, &[], &[]).unwrap();
        assert!(config.settings.is(&setting::APPROVAL, "read-only"));
        assert!(config.wrong[0].instead.contains("read-only, the strictest"), "{:?}", config.wrong);
        let flag = FlagValue { setting: &setting::APPROVAL, flag: "--approval", value: "auto".into() };
        assert!(load(&home, &[], &[flag]).unwrap().settings.is(&setting::APPROVAL, "auto"));
    }

    #[test]
    fn a_wrong_variable_or_flag_is_an_error_that_names_it() {
        let home = home_with("{}");
        let error = load(&home, &[("TILLER_SYNC", "sometimes")], &[]).unwrap_err();
        assert_eq!(error.to_string(), "TILLER_SYNC");
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert_eq!(source, "setting sync: `sometimes` is not one of always, turn, never");
        let flag = FlagValue { setting: &setting::SYNC, flag: "--sync", value: "x".into() };
        assert_eq!(load(&home, &[], &[flag]).unwrap_err().to_string(), "--sync");
    }

    #[test]
    fn an_unknown_setting_is_passed_over_with_a_warning() {
        let home = home_with(r#"{"weather": "red"}"#);
        let warnings = load(&home, &[], &[]).unwrap().warnings;
        assert!(warnings[0].ends_with("there is no setting `weather`"), "{warnings:?}");
    }

    fn key(config: &Config, provider: &str) -> String {
        config
            .access(ProviderDescriptor::find(provider).unwrap())
            .unwrap()
            .key
            .unwrap()
            .expose_secret()
            .to_owned()
    }

    #[test]
    fn a_key_of_the_env_file_does_not_override_the_environment() {
        let home = home_with("{}");
        std::fs::write(home.path().join(".env"), "OPENAI_API_KEY=file\nANTHROPIC_API_KEY=file\n").unwrap();
        let config = load(&home, &[("OPENAI_API_KEY", "environment")], &[]).unwrap();
        assert_eq!(key(&config, "openai"), "environment");
        assert_eq!(key(&config, "anthropic"), "file");
    }

    #[test]
    fn auth_json_has_the_last_word_on_a_key_and_its_source_is_known() {
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
        assert!(!format!("{config:?}").contains("\"auth\""), "a key is never printed");
    }
}
