//! An API key, or another secret in a header: given at the start, or loaded when the first request needs it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::timeout;

use crate::FailureKind;
use crate::error::ProviderFault;

/// Timeout for loading a key: a password manager may ask the user.
const LOAD_TIMEOUT: Duration = Duration::from_secs(60);

/// An API key or the value of another header. Copies share the loaded value.
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

    /// Creates a key that is loaded on a blocking thread before the first request, and again after the server
    /// rejects it.
    #[must_use]
    pub fn lazy(load: impl Fn() -> Result<SecretString, String> + Send + Sync + 'static) -> Self {
        Self { value: Arc::default(), load: Some(Arc::new(load)) }
    }

    /// Returns the last known key, which the server may have rejected.
    pub(super) fn known(&self) -> Option<SecretString> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the key, loaded if necessary.
    pub(super) async fn resolve(&self) -> Result<SecretString, ProviderFault> {
        match (self.known(), &self.load) {
            (Some(key), _) => Ok(key),
            (None, Some(load)) => self.load(Arc::clone(load)).await,
            (None, None) => Err(ProviderFault::new(FailureKind::Auth, "there is no API key")),
        }
    }

    /// Returns the replacement of a rejected key: one that another request has already loaded, or one loaded
    /// now. `None` if the key is unchanged.
    pub(super) async fn replace(
        &self,
        refused: &SecretString,
    ) -> Result<Option<SecretString>, ProviderFault> {
        let other = |key: &SecretString| key.expose_secret() != refused.expose_secret();
        match (self.known().filter(other), &self.load) {
            (None, Some(load)) => Ok(Some(self.load(Arc::clone(load)).await?).filter(other)),
            (known, _) => Ok(known),
        }
    }

    async fn load(&self, load: Arc<LoadKey>) -> Result<SecretString, ProviderFault> {
        let loading = tokio::task::spawn_blocking(move || load());
        let loaded = match timeout(LOAD_TIMEOUT, loading).await {
            Ok(loaded) => loaded.unwrap_or_else(|error| Err(error.to_string())),
            Err(_) => Err(format!("the command returned nothing within {} s", LOAD_TIMEOUT.as_secs())),
        };
        let key = loaded.map_err(|message| ProviderFault::new(FailureKind::Auth, message))?;
        *self.value.lock().unwrap_or_else(PoisonError::into_inner) = Some(key.clone());
        Ok(key)
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

    use super::*;

    fn text(key: Option<SecretString>) -> Option<String> {
        key.map(|key| key.expose_secret().to_owned())
    }

    #[tokio::test]
    async fn lazy_key_is_loaded_once_until_it_is_refused() {
        let loads = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&loads);
        let key = ApiKey::lazy(move || {
            let number = counter.fetch_add(1, Ordering::Relaxed).min(1);
            Ok(SecretString::from(format!("key {number}")))
        });
        assert!(key.known().is_none());
        for _ in 0..2 {
            assert_eq!(key.resolve().await.unwrap().expose_secret(), "key 0");
        }
        let copy = key.clone();
        assert_eq!(text(key.replace(&"key 0".into()).await.unwrap()).as_deref(), Some("key 1"));
        assert_eq!(text(copy.replace(&"key 0".into()).await.unwrap()).as_deref(), Some("key 1"));
        assert_eq!(loads.load(Ordering::Relaxed), 2, "another request has replaced it");
        assert_eq!(text(key.replace(&"key 1".into()).await.unwrap()), None);
    }

    #[tokio::test]
    async fn lazy_key_reports_its_failure() {
        let key = ApiKey::lazy(|| Err("the command for the key failed".to_owned()));
        let fault = key.resolve().await.unwrap_err();
        assert_eq!((fault.failure, &*fault.message), (FailureKind::Auth, "the command for the key failed"));
        let fixed = ApiKey::new("k".into());
        assert_eq!(fixed.resolve().await.unwrap().expose_secret(), "k");
        assert_eq!(text(fixed.replace(&"k".into()).await.unwrap()), None);
    }
}
