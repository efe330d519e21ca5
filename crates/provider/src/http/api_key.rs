//! An API key: known from the start, or loaded when the first request needs it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use secrecy::SecretString;
use tokio::time::timeout;

use crate::FailureKind;
use crate::error::ProviderFault;

/// Timeout for loading a key: a password manager may ask the user.
const LOAD: Duration = Duration::from_secs(60);

/// An API key. Copies share the loaded value.
#[derive(Clone)]
pub struct ApiKey {
    state: Arc<Mutex<KeyState>>,
    load: Option<Arc<LoadKey>>,
}

#[derive(Default)]
struct KeyState {
    /// The last value, also after the server has refused it: messages that quote it are still to come.
    value: Option<SecretString>,
    is_refused: bool,
}

/// Loads a key; the error is a message for the user. It may block.
type LoadKey = dyn Fn() -> Result<SecretString, String> + Send + Sync;

impl ApiKey {
    /// Creates a key from its value.
    #[must_use]
    pub fn new(value: SecretString) -> Self {
        let state = KeyState { value: Some(value), is_refused: false };
        Self { state: Arc::new(Mutex::new(state)), load: None }
    }

    /// Creates a key that is loaded before the first request, on a thread that may block, and again after the server
    /// has refused it.
    #[must_use]
    pub fn lazy(load: impl Fn() -> Result<SecretString, String> + Send + Sync + 'static) -> Self {
        Self { state: Arc::default(), load: Some(Arc::new(load)) }
    }

    fn state(&self) -> MutexGuard<'_, KeyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the last known key, which may have been refused.
    pub(super) fn known(&self) -> Option<SecretString> {
        self.state().value.clone()
    }

    /// Returns the key, loaded if necessary.
    pub(super) async fn resolve(&self) -> Result<SecretString, ProviderFault> {
        let usable =
            Some(self.state()).filter(|state| !state.is_refused).and_then(|state| state.value.clone());
        if let Some(key) = usable {
            return Ok(key);
        }
        let Some(load) = self.load.clone() else {
            return Err(ProviderFault::new(FailureKind::Auth, "there is no API key"));
        };
        let loading = tokio::task::spawn_blocking(move || load());
        let loaded = match timeout(LOAD, loading).await {
            Ok(loaded) => loaded.unwrap_or_else(|error| Err(error.to_string())),
            Err(_) => Err(format!("the key was not there within {} s", LOAD.as_secs())),
        };
        let key = loaded.map_err(|message| ProviderFault::new(FailureKind::Auth, message))?;
        *self.state() = KeyState { value: Some(key.clone()), is_refused: false };
        Ok(key)
    }

    /// Has a key that can be loaded again loaded before the next request.
    pub(super) fn refuse(&self) {
        self.state().is_refused = self.load.is_some();
    }
}

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.load.is_some() { "ApiKey(lazy)" } else { "ApiKey" })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use secrecy::ExposeSecret as _;

    use super::*;

    #[tokio::test]
    async fn lazy_key_is_loaded_once_until_it_is_refused() {
        let loads = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&loads);
        let key = ApiKey::lazy(move || {
            Ok(SecretString::from(format!("key {}", counter.fetch_add(1, Ordering::Relaxed))))
        });
        assert!(key.known().is_none());
        for _ in 0..2 {
            assert_eq!(key.resolve().await.unwrap().expose_secret(), "key 0");
        }
        key.refuse();
        assert_eq!(key.known().unwrap().expose_secret(), "key 0", "messages may still quote it");
        assert_eq!(key.clone().resolve().await.unwrap().expose_secret(), "key 1");
        assert_eq!(key.known().unwrap().expose_secret(), "key 1");
    }

    #[tokio::test]
    async fn lazy_key_reports_its_failure() {
        let key = ApiKey::lazy(|| Err("the command for the key failed".to_owned()));
        let fault = key.resolve().await.unwrap_err();
        assert_eq!((fault.failure, &*fault.message), (FailureKind::Auth, "the command for the key failed"));
        let fixed = ApiKey::new("k".into());
        fixed.refuse();
        assert_eq!(fixed.resolve().await.unwrap().expose_secret(), "k");
    }
}
