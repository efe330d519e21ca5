//! A server that serves some of its models in another wire format.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{Provider, ProviderStream, Request};

/// A provider whose server serves some models in another wire format.
pub struct MixedFormats {
    usual: Arc<dyn Provider>,
    /// By the model's id.
    others: BTreeMap<String, Arc<dyn Provider>>,
}

impl MixedFormats {
    /// Combines the provider of most models with the providers of single models, by model id.
    #[must_use]
    pub fn new(usual: Arc<dyn Provider>, others: BTreeMap<String, Arc<dyn Provider>>) -> Self {
        Self { usual, others }
    }
}

impl Provider for MixedFormats {
    fn name(&self) -> &str {
        self.usual.name()
    }

    fn api(&self) -> &'static str {
        self.usual.api()
    }

    fn for_model(&self, id: &str) -> Option<Arc<dyn Provider>> {
        Some(Arc::clone(self.others.get(id).unwrap_or(&self.usual)))
    }

    fn stream(&self, request: Request) -> ProviderStream {
        self.others.get(&request.model.id).unwrap_or(&self.usual).stream(request)
    }
}
