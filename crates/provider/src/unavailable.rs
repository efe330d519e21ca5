//! A provider that can't be asked, because its key was taken away or was never there: every request fails and says so, and nothing is
//! sent.

use futures_util::{StreamExt as _, stream};
use tiller_core::message::ModelRef;

use super::error::hints;
use super::registry::ModelError;
use super::{FailureKind, Provider, ProviderError, ProviderStream, Request};

/// Stands where a provider was, or would be.
pub struct UnavailableProvider {
    name: String,
    api: &'static str,
    message: String,
    hint: String,
}

impl UnavailableProvider {
    /// In the place of this provider, whose key was taken away.
    pub fn instead_of(was: &dyn Provider) -> Self {
        Self {
            name: was.name().to_owned(),
            api: was.api(),
            message: "its key was taken away".to_owned(),
            hint: "give it one again, or choose another model".to_owned(),
        }
    }

    /// In the place of the provider of a model that can't be had.
    pub fn of(model: &ModelRef, missing: &ModelError) -> Self {
        const ANOTHER: &str = "choose another model (/model, --model)";
        let (message, hint) = match missing {
            ModelError::NoKey { model: named, key_name } => {
                let advice = hints::of_missing_key(&model.provider, key_name);
                (format!("there is no key for {named}"), format!("{advice}; or {ANOTHER}"))
            }
            ModelError::NoProvider { .. } | ModelError::Unknown { .. } | ModelError::Misconfigured { .. } => {
                (missing.to_string(), ANOTHER.to_owned())
            }
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
