//! Where keys are kept: handed in by whoever starts the front end, which knows neither files nor providers.

use std::sync::Arc;

use secrecy::SecretString;

use crate::agent::ProviderChange;

/// What went wrong, and what to do about it.
type Trouble = (String, Option<String>);

type List = dyn Fn() -> Result<Vec<KeyHolder>, Trouble> + Send + Sync;
type Keep = dyn Fn(&str, &SecretString) -> Result<KeyChange, Trouble> + Send + Sync;
type Forget = dyn Fn(&str) -> Result<KeyChange, Trouble> + Send + Sync;

/// A provider, and where its key comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyHolder {
    /// The provider's name.
    pub provider: String,
    /// Where its key comes from.
    pub from: KeyOrigin,
}

/// Where a key comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyOrigin {
    /// There is none.
    Nowhere,
    /// It is kept in `auth.json`.
    Kept,
    /// From here, in a few words: a variable, a file, a flag.
    Elsewhere(String),
}

/// What the keeping or the loss of a key comes to.
#[derive(Clone, Debug)]
pub struct KeyChange {
    /// What the agent is to be told.
    pub change: ProviderChange,
    /// What the user is told.
    pub said: String,
    /// What the user can do about it, if it isn't all that was wanted.
    pub hint: Option<String>,
}

/// Lists the providers, keeps keys of theirs and takes them away.
#[derive(Clone)]
pub struct KeyDesk {
    list: Arc<List>,
    keep: Arc<Keep>,
    forget: Arc<Forget>,
}

impl KeyDesk {
    /// Keys as `list` finds them at that moment. `keep` gets a provider's name and its key, `forget` a name as it was typed.
    pub fn new(
        list: impl Fn() -> Result<Vec<KeyHolder>, Trouble> + Send + Sync + 'static,
        keep: impl Fn(&str, &SecretString) -> Result<KeyChange, Trouble> + Send + Sync + 'static,
        forget: impl Fn(&str) -> Result<KeyChange, Trouble> + Send + Sync + 'static,
    ) -> Self {
        Self { list: Arc::new(list), keep: Arc::new(keep), forget: Arc::new(forget) }
    }

    pub(in crate::tui) fn list(&self) -> Result<Vec<KeyHolder>, Trouble> {
        (self.list)()
    }

    pub(in crate::tui) fn keep(&self, provider: &str, key: &SecretString) -> Result<KeyChange, Trouble> {
        (self.keep)(provider, key)
    }

    pub(in crate::tui) fn forget(&self, provider: &str) -> Result<KeyChange, Trouble> {
        (self.forget)(provider)
    }
}

impl std::fmt::Debug for KeyDesk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyDesk")
    }
}
