//! A provider whose key was taken away while a session asks it: every request fails and says so, and nothing is sent.

use std::sync::Arc;

use futures_util::{StreamExt as _, stream};

use super::{Failure, PartStream, Provider, ProviderError, Request};

/// Stands where a provider was.
pub struct Keyless(Arc<dyn Provider>);

impl Keyless {
    /// In the place of this provider.
    pub fn instead_of(was: Arc<dyn Provider>) -> Self {
        Self(was)
    }
}

impl Provider for Keyless {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn api(&self) -> &'static str {
        self.0.api()
    }

    fn stream(&self, _request: Request) -> PartStream {
        let error = ProviderError {
            provider: self.0.name().to_owned(),
            failure: Failure::Auth,
            message: "its key was taken away".to_owned(),
            hint: Some("give it one again, or choose another model".to_owned()),
        };
        stream::iter([Err(error)]).boxed()
    }
}
