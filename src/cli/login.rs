//! `tiller login` and `tiller logout`, and what `/login` and `/logout` do on the screen: keys of providers in `auth.json`.

mod password;

use std::io::{self, BufRead, IsTerminal};
use std::sync::Arc;

use anyhow::{Context, anyhow};
use secrecy::{ExposeSecret, SecretString};

use super::args::CliArgs;
use super::run::RunInput;
use super::stdout::say;
use super::trust::{self, TrustPrompt};
use super::wiring;
use super::{CliFailure, DONE, INTERRUPTED};
use crate::agent::{CredentialChange, CredentialOrigin, CredentialStore, ProviderChange, ProviderCredential};
use crate::cli::console::stderr_line;
use crate::config::{Config, KeyRemoval, KeySource, Project, key_name, remove_key, store_key};
use crate::plain::EchoGuard;
use crate::provider::Model;
use crate::provider::demo::{self, Demo};
use crate::provider::descriptor::{self, PROVIDERS, ProviderDescriptor};
use crate::setting;
use crate::tui::ProviderKey;

/// What a key is looked up by and kept with: the arguments and the project of a call.
struct Keyring<'a> {
    arguments: &'a CliArgs,
    project: Option<&'a Project>,
}

/// `tiller login`.
pub(super) fn log_in(arguments: &CliArgs, provider: Option<&str>) -> Result<u8, CliFailure> {
    let (config, project) = trust::config(arguments, TrustPrompt::Nobody)?;
    let keyring = Keyring { arguments, project: project.as_ref() };
    let name = match provider {
        Some(typed) => known(typed)?.name,
        None => {
            let list = keyring.holders(&config).iter().map(row).collect::<String>();
            let example = PROVIDERS[0].name;
            say(&format!("{list}\n`tiller login {example}` asks for a key, or reads one from stdin.\n"))?;
            return Ok(DONE);
        }
    };
    let Some(key) = typed_key(name)? else { return Ok(INTERRUPTED) };
    tell(&keyring.keep(name, &key)?)
}

/// `tiller logout`.
pub(super) fn log_out(arguments: &CliArgs, provider: Option<&str>) -> Result<u8, CliFailure> {
    let (config, project) = trust::config(arguments, TrustPrompt::Nobody)?;
    let keyring = Keyring { arguments, project: project.as_ref() };
    match provider {
        Some(typed) => tell(&keyring.forget(typed)?),
        None => {
            say(&keyring.holders(&config).iter().map(row).collect::<String>())?;
            Err(CliFailure::usage(anyhow!("whose key?")).hint("`tiller logout PROVIDER` takes it away"))
        }
    }
}

/// What front ends do with keys. When nobody else can be asked any more, the demo can.
pub(super) fn desk(arguments: &Arc<CliArgs>, project: Option<&Project>) -> CredentialStore {
    let told = |failure: CliFailure| (format!("{:#}", failure.error), failure.hint);
    let [list, keep, forget] = [(); 3].map(|()| (Arc::clone(arguments), project.cloned()));
    let demo = Model { facts: Arc::new(Demo::facts()), provider: Arc::new(Demo) };
    let desk = CredentialStore::new(
        move || {
            let keyring = Keyring { arguments: &list.0, project: list.1.as_ref() };
            Ok(keyring.holders(&keyring.config().map_err(told)?))
        },
        move |provider, key| {
            let keyring = Keyring { arguments: &keep.0, project: keep.1.as_ref() };
            keyring.keep(provider, key).map_err(told)
        },
        move |provider| {
            let keyring = Keyring { arguments: &forget.0, project: forget.1.as_ref() };
            keyring.forget(provider).map_err(told)
        },
    );
    desk.with_last_resort(demo)
}

/// Returns the sources of providers' keys in words, for the first screen of a session whose model is of one of them.
pub(super) fn key_sources(given: &RunInput, in_use: &str) -> Vec<ProviderKey> {
    let keyring = Keyring { arguments: &given.arguments, project: given.project.as_ref() };
    let mut providers: Vec<&str> = descriptor::names().collect();
    if !providers.contains(&in_use) {
        providers.push(in_use);
    }
    let known = |provider: &str| {
        let source = keyring.source_in_words(&given.config, provider, in_use)?;
        Some(ProviderKey { provider: provider.to_owned(), source })
    };
    providers.into_iter().filter_map(known).collect()
}

/// Keeps the terminal from showing what is typed until this is dropped.
pub(super) fn unechoed() -> std::io::Result<impl Drop> {
    password::EchoOffGuard::begin()
}

/// How a terminal is kept from showing a line that is typed.
pub(super) fn hush() -> EchoGuard {
    EchoGuard::new(|| Ok(Box::new(password::EchoOffGuard::begin()?)))
}

impl Keyring<'_> {
    /// The configuration as it is now. A project that was changed has no say in where keys go.
    fn config(&self) -> Result<Config, CliFailure> {
        Ok(trust::anew(self.arguments, self.project)?.0)
    }

    fn holders(&self, config: &Config) -> Vec<ProviderCredential> {
        let holder =
            |name: &str| ProviderCredential { provider: name.to_owned(), from: self.origin(config, name) };
        descriptor::names().map(holder).collect()
    }

    fn origin(&self, config: &Config, provider: &str) -> CredentialOrigin {
        let is_named = config.settings.text(&setting::PROVIDER) == Some(provider);
        if is_named && self.arguments.model.api_key.is_some() {
            return CredentialOrigin::Elsewhere("--api-key".to_owned());
        }
        match config.key_source(provider) {
            None => CredentialOrigin::Nowhere,
            Some(KeySource::AuthFile) => CredentialOrigin::Kept,
            Some(KeySource::Variable) => CredentialOrigin::Elsewhere(key_name(provider)),
            Some(KeySource::EnvFile(path)) => {
                CredentialOrigin::Elsewhere(format!("{} in {}", key_name(provider), path.display()))
            }
        }
    }

    /// Returns the source of a provider's key in words; `None` of a provider without one that isn't in use.
    fn source_in_words(&self, config: &Config, provider: &str, in_use: &str) -> Option<String> {
        Some(match config.key_source(provider) {
            _ if self.origin(config, provider) == CredentialOrigin::Elsewhere("--api-key".to_owned()) => {
                "key from --api-key".to_owned()
            }
            Some(KeySource::AuthFile) => "key from auth.json".to_owned(),
            Some(KeySource::Variable) => {
                format!("key from the environment variable {}", key_name(provider))
            }
            Some(KeySource::EnvFile(path)) => format!("key from {}", path.display()),
            None if provider != in_use => return None,
            None if provider == demo::NAME => "offline, needs no key".to_owned(),
            None => "a server that needs no key".to_owned(),
        })
    }

    fn connect(&self, config: &Config, provider: &ProviderDescriptor) -> Result<ProviderChange, CliFailure> {
        wiring::connect_provider(self.arguments, config, provider).map_err(CliFailure::usage)
    }

    fn keep(&self, typed: &str, key: &SecretString) -> Result<CredentialChange, CliFailure> {
        let descriptor = known(typed)?;
        let name = descriptor.name;
        // What can't stand in a header is no key, and was pasted by mistake.
        if key.expose_secret().chars().any(|c| c.is_control() || c.is_whitespace() || !c.is_ascii()) {
            return Err(CliFailure::usage(anyhow!(
                "that is no key: it holds spaces or characters beyond ASCII"
            )));
        }
        let path = self.config()?.folders.auth();
        store_key(&path, name, key)?;
        let config = self.config()?;
        let path = path.display();
        let (said, hint) = match self.origin(&config, name) {
            CredentialOrigin::Elsewhere(place) => (
                format!("the key of {name} is kept in {path}, but {place} has the last word"),
                Some(format!("without {place} it is the one that counts")),
            ),
            CredentialOrigin::Kept | CredentialOrigin::Nowhere => {
                (format!("{name} can be asked now; its key is kept in {path}"), None)
            }
        };
        Ok(CredentialChange { change: self.connect(&config, descriptor)?, said, hint })
    }

    fn forget(&self, typed: &str) -> Result<CredentialChange, CliFailure> {
        let descriptor = known(typed)?;
        let name = descriptor.name;
        let path = self.config()?.folders.auth();
        let removed = remove_key(&path, name)?;
        let config = self.config()?;
        let path = path.display();
        let origin = self.origin(&config, name);
        if removed == KeyRemoval::NotThere {
            return Err(not_kept(name, origin, &path.to_string()));
        }
        let change = self.connect(&config, descriptor)?;
        let gone = format!("the key of {name} is no longer in {path}");
        let (said, hint) = match (origin, &change) {
            (CredentialOrigin::Elsewhere(place), _) => {
                (format!("{gone}, but {place} gives one"), Some(without(&place)))
            }
            (_, ProviderChange::Open(..)) => (format!("{gone}; its server is asked without one"), None),
            (_, ProviderChange::Shut { .. }) => (format!("{gone}; it can't be asked any more"), None),
        };
        Ok(CredentialChange { change, said, hint })
    }
}

/// There was no key to take away.
fn not_kept(name: &str, origin: CredentialOrigin, path: &str) -> CliFailure {
    match origin {
        CredentialOrigin::Elsewhere(place) => {
            CliFailure::usage(anyhow!("the key of {name} isn't in {path}; it comes from {place}"))
                .hint(without(&place))
        }
        CredentialOrigin::Kept | CredentialOrigin::Nowhere => {
            CliFailure::usage(anyhow!("there is no key of {name} in {path}"))
        }
    }
}

/// How to be rid of a key that isn't tiller's to take away.
fn without(place: &str) -> String {
    match place.split_once(" in ") {
        Some((variable, file)) => format!("take {variable} out of {file}, and start tiller again"),
        None if place.starts_with('-') => format!("start tiller without {place}"),
        None => format!("unset {place}, and start tiller again"),
    }
}

/// The provider that is meant.
fn known(typed: &str) -> Result<&'static ProviderDescriptor, CliFailure> {
    ProviderDescriptor::find(typed).ok_or_else(|| {
        let names: Vec<&str> = descriptor::names().collect();
        CliFailure::usage(anyhow!("there is no provider `{typed}` that takes a key"))
            .hint(format!("these do: {}", names.join(", ")))
    })
}

fn row(holder: &ProviderCredential) -> String {
    let from = match &holder.from {
        CredentialOrigin::Nowhere => "no key".to_owned(),
        CredentialOrigin::Kept => "key in auth.json".to_owned(),
        CredentialOrigin::Elsewhere(place) => format!("key from {place}"),
    };
    format!("{:<12}{from}\n", holder.provider)
}

fn tell(change: &CredentialChange) -> Result<u8, CliFailure> {
    say(&format!("{}\n", change.said))?;
    if let Some(hint) = &change.hint {
        stderr_line!("  hint: {hint}");
    }
    Ok(DONE)
}

/// The key, from the keyboard without showing it, else the first line of stdin; `None` when the user left.
fn typed_key(name: &str) -> Result<Option<SecretString>, CliFailure> {
    let cant = "can't read the key";
    let typed = if io::stdin().is_terminal() {
        match password::unseen(&format!("Key of {name} (it is not shown): "))
            .context(cant)
            .map_err(CliFailure::run)?
        {
            Some(typed) => typed,
            None => return Ok(None),
        }
    } else {
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line).context(cant).map_err(CliFailure::run)?;
        line
    };
    match typed.trim() {
        "" => Err(CliFailure::usage(anyhow!("there was no key")).hint("nothing was changed")),
        key => Ok(Some(key.to_owned().into())),
    }
}
