//! An API key: known from the start, or loaded when the first request needs it.

use std::sync::{Arc, Mutex, PoisonError};

use secrecy::{ExposeSecret as _, SecretString};

use crate::FailureKind;
use crate::error::ProviderFault;

/// An API key. Copies share the loaded value.
#[derive(Clone)]
pub struct ApiKey {
    value: Arc<Mutex<Option<SecretString>>>,
    load: Option<Arc<LoadKey>>,
}

/// Loads a key; the error is a message for the user. It may block.
type LoadKey = dyn Fn() -> Result<SecretString, String> + Send + Sync;

impl ApiKey {
    /// Creates a key from its value.
    #[must_use]
    pub fn new(value: SecretString) -> Self {
        Self { value: Arc::new(Mutex::new(Some(value))), load: None }
    }

    /// Creates a key that is loaded before the first request, on a thread that may block, and again after the server
    /// has refused it.
    #[must_use]
    pub fn lazy(load: impl Fn() -> Result<SecretString, String> + Send + Sync + 'static) -> Self {
        Self { value: Arc::default(), load: Some(Arc::new(load)) }
    }

    /// Returns the key if it is known already.
    pub(super) fn known(&self) -> Option<SecretString> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the key, loaded if necessary.
    pub(super) async fn resolve(&self) -> Result<SecretString, ProviderFault> {
        if let Some(key) = self.known() {
            return Ok(key);
        }
        let Some(load) = self.load.clone() else {
            return Err(ProviderFault::new(FailureKind::Auth, "there is no API key"));
        };
        let loaded = tokio::task::spawn_blocking(move || load()).await;
        let loaded = loaded.unwrap_or_else(|error| Err(error.to_string()));
        let key = loaded.map_err(|message| ProviderFault::new(FailureKind::Auth, message))?;
        *self.value.lock().unwrap_or_else(PoisonError::into_inner) = Some(key.clone());
        Ok(key)
    }

    /// Forgets a key that can be loaded again.
    pub(super) fn forget(&self) {
        if self.load.is_some() {
            *self.value.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.load.is_some() { "ApiKey(lazy)" } else { "ApiKey" })
    }
}

/// The key's text, for the removal of secrets from messages.
pub(super) fn exposed(key: Option<&SecretString>) -> Option<&str> {
    key.map(|key| key.expose_secret())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

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
        key.forget();
        assert_eq!(key.clone().resolve().await.unwrap().expose_secret(), "key 1");
        assert_eq!(key.known().unwrap().expose_secret(), "key 1");
    }

    #[tokio::test]
    async fn lazy_key_reports_its_failure() {
        let key = ApiKey::lazy(|| Err("the command for the key failed".to_owned()));
        let fault = key.resolve().await.unwrap_err();
        assert_eq!((fault.failure, &*fault.message), (FailureKind::Auth, "the command for the key failed"));
        let fixed = ApiKey::new("k".into());
        fixed.forget();
        assert_eq!(fixed.resolve().await.unwrap().expose_secret(), "k");
    }
}
