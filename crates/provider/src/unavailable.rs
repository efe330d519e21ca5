//! A placeholder for an unavailable provider, such as one whose key was removed or never set: every request
//! fails with the reason, and nothing is sent.

use futures_util::{StreamExt as _, stream};
use tiller_core::message::ModelRef;

use super::error::hints;
use super::registry::ModelError;
use super::{FailureKind, Provider, ProviderError, ProviderStream, Request};

/// The placeholder.
pub struct UnavailableProvider {
    name: String,
    api: &'static str,
    message: String,
    hint: String,
}

impl UnavailableProvider {
    /// Creates the placeholder for a provider whose key was removed.
    pub fn for_removed_key(provider: &dyn Provider) -> Self {
        Self {
            name: provider.name().to_owned(),
            api: provider.api(),
            message: "its API key was removed".to_owned(),
            hint: "add a key again, or choose another model".to_owned(),
        }
    }

    /// Creates the placeholder for a provider that only the process with the session can use.
    #[must_use]
    pub fn for_other_process(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            api: "",
            message: "another tiller process has the session open".to_owned(),
            hint: "it sends the requests".to_owned(),
        }
    }

    /// Creates the placeholder for the provider of an unavailable model.
    pub(crate) fn for_model(model: &ModelRef, error: &ModelError) -> Self {
        const ANOTHER: &str = "choose another model (/model, --model)";
        let (message, hint) = match error {
            ModelError::NoKey { model: named, key_name } => {
                let advice = hints::for_missing_key(&model.provider, key_name);
                (format!("no API key for {named}"), format!("{advice}; or {ANOTHER}"))
            }
            ModelError::NoServer { .. }
            | ModelError::NoProvider { .. }
            | ModelError::Unknown { .. }
            | ModelError::Misconfigured { .. } => (error.to_string(), ANOTHER.to_owned()),
        };
        Self { name: model.provider.clone(), api: "", message, hint }
    }
}

impl Provider for UnavailableProvider {
    fn name(&self) -> &str {
        &self.name
    }

    fn api(&self) -> &'static str {
        self.api
    }

    fn stream(&self, _request: Request) -> ProviderStream {
        let error = ProviderError {
            provider: self.name.clone(),
            failure: FailureKind::Auth,
            message: self.message.clone(),
            hint: Some(self.hint.clone()),
        };
        stream::iter([Err(error)]).boxed()
    }
}
