//! A provider whose key was taken away while a session asks it: every request fails and says so, and nothing is sent.

use std::sync::Arc;

use futures_util::{StreamExt as _, stream};

use super::{Failure, PartStream, Provider, ProviderError, Request};

/// Stands where a provider was.
pub struct Keyless {
    was: Arc<dyn Provider>,
    key_name: String,
}

impl Keyless {
    /// In the place of this provider; the variable `key_name` would hold its key.
    pub fn instead_of(was: Arc<dyn Provider>, key_name: impl Into<String>) -> Self {
        Self { was, key_name: key_name.into() }
    }
}

impl Provider for Keyless {
    fn name(&self) -> &str {
        self.was.name()
    }

    fn api(&self) -> &'static str {
        self.was.api()
    }

    fn stream(&self, _request: Request) -> PartStream {
        let error = ProviderError {
            provider: self.was.name().to_owned(),
            failure: Failure::Auth,
            message: "its key was taken away".to_owned(),
            hint: Some(format!("give it one (/login, or {}), or choose another model", self.key_name)),
        };
        stream::iter([Err(error)]).boxed()
    }
}
