//! `tiller login` and `tiller logout`, and the credential store behind `/login` and `/logout`: API keys in
//! `auth.json`.

mod password;

use std::io::{self, BufRead, IsTerminal};
use std::sync::Arc;

use anyhow::{Context, anyhow};
use secrecy::{ExposeSecret, SecretString};

use super::args::CliArgs;
use super::failure::{CliFailure, DONE, INTERRUPTED};
use super::run_input::RunInput;
use super::stdout::print_text;
use super::trust::{self, TrustPrompt};
use super::trusted_project::TrustedProject;
use super::wiring;
use crate::agent::{
    CredentialChange, CredentialOrigin, CredentialStore, ProviderChange, ProviderCredential,
    SUBSCRIPTION_NOTE,
};
use crate::cli::console::stderr_line;
use crate::config::{Config, KeyRemoval, KeySource, Project, key_name, remove_key, store_key};
use crate::provider::Model;
use crate::provider::demo::{self, Demo};
use crate::provider::descriptor::{self, LOCAL_SERVERS, PROVIDERS, ProviderDescriptor};
use crate::repl::EchoGuard;
use crate::tui::ProviderKey;

/// Access to stored keys, for a command line and a project.
struct Keyring<'a> {
    arguments: &'a CliArgs,
    project: Option<&'a Project>,
}

/// `tiller login`.
pub(super) fn log_in(arguments: &CliArgs, provider: Option<&str>) -> Result<u8, CliFailure> {
    let (config, project) = trust::config(arguments, TrustPrompt::Nobody)?;
    let keyring = Keyring { arguments, project: project.as_ref() };
    let name = match provider {
        Some(name_argument) => resolve_provider(name_argument)?.name,
        None => {
            let list = keyring.holders(&config).iter().map(row).collect::<String>();
            let example = PROVIDERS[0].name;
            print_text(&format!(
                "{list}\n`tiller login {example}` prompts for a key, or reads one from stdin.\n{SUBSCRIPTION_NOTE}\n"
            ))?;
            return Ok(DONE);
        }
    };
    let Some(key) = read_key(name)? else { return Ok(INTERRUPTED) };
    report(&keyring.store(name, &key)?)
}

/// `tiller logout`.
pub(super) fn log_out(arguments: &CliArgs, provider: &str) -> Result<u8, CliFailure> {
    let (_, project) = trust::config(arguments, TrustPrompt::Nobody)?;
    report(&Keyring { arguments, project: project.as_ref() }.forget(provider)?)
}

/// Builds the credential store of the front ends, which falls back to the demo model when no provider is
/// left.
pub(super) fn credential_store(arguments: &Arc<CliArgs>, trusted: &TrustedProject) -> CredentialStore {
    let describe = |failure: CliFailure| (failure.text(), failure.hint);
    let [list, store, remove] = [(); 3].map(|()| (Arc::clone(arguments), trusted.clone()));
    let demo = Model { facts: Arc::new(Demo::facts()), provider: Arc::new(Demo) };
    let credential_store = CredentialStore::new(
        move || {
            let project = list.1.current();
            let keyring = Keyring { arguments: &list.0, project: project.as_ref() };
            Ok(keyring.holders(&keyring.config().map_err(describe)?))
        },
        move |provider, key| {
            let project = store.1.current();
            let keyring = Keyring { arguments: &store.0, project: project.as_ref() };
            keyring.store(provider, key).map_err(describe)
        },
        move |provider| {
            let project = remove.1.current();
            let keyring = Keyring { arguments: &remove.0, project: project.as_ref() };
            keyring.forget(provider).map_err(describe)
        },
    );
    credential_store.with_fallback(demo)
}

/// Describes the source of each provider's key, for the first screen of a session whose model is from
/// provider `in_use`.
pub(super) fn key_sources(input: &RunInput, in_use: &str) -> Vec<ProviderKey> {
    let keyring = Keyring { arguments: &input.arguments, project: input.project.as_ref() };
    let mut providers: Vec<&str> = descriptor::names().collect();
    if !providers.contains(&in_use) {
        providers.push(in_use);
    }
    let resolve_provider = |provider: &str| {
        let source = keyring.describe_key_source(&input.config, provider, in_use)?;
        Some(ProviderKey { provider: provider.to_owned(), source })
    };
    providers.into_iter().filter_map(resolve_provider).collect()
}

/// Disables the terminal's echo until the result is dropped.
pub(super) fn disable_echo() -> std::io::Result<impl Drop> {
    password::EchoOffGuard::begin()
}

/// Returns the REPL's way to disable the terminal's echo for a line.
pub(super) fn echo_guard() -> EchoGuard {
    EchoGuard::new(|| Ok(Box::new(password::EchoOffGuard::begin()?)))
}

impl Keyring<'_> {
    /// Loads the current configuration. A project that has changed can't determine where keys are stored.
    fn config(&self) -> Result<Config, CliFailure> {
        Ok(trust::reload(self.arguments, self.project)?.0)
    }

    fn holders(&self, config: &Config) -> Vec<ProviderCredential> {
        let holder =
            |name: &str| ProviderCredential { provider: name.to_owned(), origin: self.origin(config, name) };
        descriptor::names().chain(LOCAL_SERVERS.iter().map(|server| server.name)).map(holder).collect()
    }

    /// Returns true if the command line has the provider's key.
    fn is_flag(&self, config: &Config, provider: &str) -> bool {
        wiring::has_flag_key(self.arguments, config, provider)
    }

    fn origin(&self, config: &Config, provider: &str) -> CredentialOrigin {
        if self.is_flag(config, provider) {
            return CredentialOrigin::External("--api-key".to_owned());
        }
        match config.key_source(provider) {
            None => CredentialOrigin::Missing,
            Some(KeySource::AuthFile) => CredentialOrigin::Stored,
            Some(source) => CredentialOrigin::External(source.describe(provider)),
        }
    }

    /// Describes the source of a provider's key; `None` for a provider without a key that isn't in use.
    fn describe_key_source(&self, config: &Config, provider: &str, in_use: &str) -> Option<String> {
        Some(match config.key_source(provider) {
            _ if self.is_flag(config, provider) => "key from --api-key".to_owned(),
            Some(KeySource::ModelsFile) => "key from models.json".to_owned(),
            Some(KeySource::AuthFile) => "key from auth.json".to_owned(),
            Some(KeySource::Variable) => {
                format!("key from the environment variable {}", key_name(provider))
            }
            Some(KeySource::EnvFile(path)) => format!("key from {}", path.display()),
            None if provider != in_use => return None,
            None if provider == demo::NAME => "offline, needs no key".to_owned(),
            None => "needs no key".to_owned(),
        })
    }

    fn connect(&self, config: &Config, provider: &str) -> Result<ProviderChange, CliFailure> {
        let change = wiring::connect_provider(self.arguments, config, provider).map_err(CliFailure::usage)?;
        // Only a local provider's server knows its models.
        Ok(wiring::find_local_models(self.arguments, config, provider).unwrap_or(change))
    }

    fn store(&self, name_argument: &str, key: &SecretString) -> Result<CredentialChange, CliFailure> {
        let descriptor = resolve_provider(name_argument)?;
        let name = descriptor.name;
        // A value that can't be sent in a header was pasted by mistake.
        if key.expose_secret().chars().any(|c| c.is_control() || c.is_whitespace() || !c.is_ascii()) {
            return Err(CliFailure::usage(anyhow!(
                "not a valid key: it contains spaces or characters outside ASCII"
            )));
        }
        let path = self.config()?.dirs.auth();
        store_key(&path, name, key)?;
        let config = self.config()?;
        let path = path.display();
        let change = self.connect(&config, name)?;
        let has_models = matches!(&change, ProviderChange::Add(_, models) if !models.is_empty());
        let (message, hint) = match self.origin(&config, name) {
            CredentialOrigin::External(source) => (
                format!("stored the key for {name} in {path}, but {source} takes precedence"),
                Some(format!("without {source}, the stored key is used")),
            ),
            CredentialOrigin::Stored | CredentialOrigin::Missing if has_models => {
                (format!("stored the key for {name} in {path}; its models are available now"), None)
            }
            CredentialOrigin::Stored | CredentialOrigin::Missing => (
                format!("stored the key for {name} in {path}; its server isn't listing any models"),
                Some(format!("start it, or set {}", descriptor.base_url_variable)),
            ),
        };
        Ok(CredentialChange { change, message, hint })
    }

    fn forget(&self, name_argument: &str) -> Result<CredentialChange, CliFailure> {
        let descriptor = resolve_provider(name_argument)?;
        let name = descriptor.name;
        let path = self.config()?.dirs.auth();
        let removed = remove_key(&path, name)?;
        let config = self.config()?;
        let path = path.display();
        if removed == KeyRemoval::NotStored {
            return Err(self.key_not_stored(&config, name, &path.to_string()));
        }
        let change = self.connect(&config, name)?;
        let removed = format!("removed the key for {name} from {path}");
        let (message, hint) = match (self.origin(&config, name), &change) {
            (CredentialOrigin::External(source), _) => {
                (format!("{removed}, but {source} provides one"), self.removal_hint(&config, name))
            }
            (_, ProviderChange::Add(..)) => (format!("{removed}; its server needs no key"), None),
            (_, ProviderChange::Remove { .. }) => {
                (format!("{removed}; its models are no longer available"), None)
            }
        };
        Ok(CredentialChange { change, message, hint })
    }

    /// Returns the error for a key that can't be removed because it isn't stored.
    fn key_not_stored(&self, config: &Config, name: &str, path: &str) -> CliFailure {
        let failure = match self.origin(config, name) {
            CredentialOrigin::External(source) => {
                anyhow!("the key for {name} isn't stored in {path}; it comes from {source}")
            }
            CredentialOrigin::Stored | CredentialOrigin::Missing => {
                anyhow!("no key for {name} is stored in {path}")
            }
        };
        let hint = self.removal_hint(config, name);
        hint.into_iter().fold(CliFailure::usage(failure), CliFailure::hint)
    }

    /// Returns the hint for a provider's key, if there is one.
    fn removal_hint(&self, config: &Config, provider: &str) -> Option<String> {
        if self.is_flag(config, provider) {
            return Some("restart tiller without --api-key".to_owned());
        }
        let step = config.key_source(provider)?.removal_step(provider);
        Some(format!("{step} and restart tiller"))
    }
}

fn resolve_provider(name_argument: &str) -> Result<&'static ProviderDescriptor, CliFailure> {
    ProviderDescriptor::find(name_argument).ok_or_else(|| {
        let local = LOCAL_SERVERS.iter().map(|server| server.name);
        let names: Vec<&str> = descriptor::names().chain(local).collect();
        CliFailure::usage(anyhow!("unknown provider `{name_argument}`"))
            .hint(format!("providers that take a key: {}", names.join(", ")))
    })
}

fn row(holder: &ProviderCredential) -> String {
    let source = match &holder.origin {
        CredentialOrigin::Missing if holder.needs_no_key() => "no key (not required)".to_owned(),
        CredentialOrigin::Missing => "no key".to_owned(),
        CredentialOrigin::Stored => "key in auth.json".to_owned(),
        CredentialOrigin::External(source) => format!("key from {source}"),
    };
    format!("{:<12}{source}\n", holder.provider)
}

fn report(change: &CredentialChange) -> Result<u8, CliFailure> {
    print_text(&format!("{}\n", change.message))?;
    if let Some(hint) = &change.hint {
        stderr_line!("  hint: {hint}");
    }
    Ok(DONE)
}

/// Reads the key from the terminal without echo, or the first line of stdin; `None` if the user cancels.
fn read_key(name: &str) -> Result<Option<SecretString>, CliFailure> {
    let cant = "can't read the key";
    let name_argument = if io::stdin().is_terminal() {
        match password::read_hidden(&format!("API key for {name} (hidden): "))
            .context(cant)
            .map_err(CliFailure::run)?
        {
            Some(name_argument) => name_argument,
            None => return Ok(None),
        }
    } else {
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line).context(cant).map_err(CliFailure::run)?;
        line
    };
    match name_argument.trim() {
        "" => Err(CliFailure::usage(anyhow!("no key given; nothing changed"))
            .hint(format!("type the key at the prompt, or pipe it in: tiller login {name} < key.txt"))),
        key => Ok(Some(key.to_owned().into())),
    }
}
