//! Creates providers from a [`ProviderDescriptor`] and a wire format. Separate from the descriptors, because
//! hints for failed requests depend on those.

use std::sync::Arc;

use crate::anthropic::Anthropic;
use crate::compat::Compat;
use crate::descriptor::ProviderDescriptor;
use crate::gemini::Gemini;
use crate::openai_chat::OpenAiChat;
use crate::openai_responses::OpenAiResponses;
use crate::wire_format::WireFormat;
use crate::{Endpoint, Provider, ProviderError};

impl ProviderDescriptor {
    /// Creates a provider that sends requests to an endpoint in this descriptor's wire format.
    ///
    /// # Errors
    /// If the endpoint's URL is invalid, or the system's certificates can't be read.
    pub fn connect(&self, endpoint: Endpoint) -> Result<Arc<dyn Provider>, ProviderError> {
        self.wire_format_at(&endpoint).connect(endpoint, self.compat)
    }
}

impl WireFormat {
    /// Creates a provider that sends requests to an endpoint; `compat` applies to Chat Completions.
    ///
    /// # Errors
    /// If the endpoint's URL is invalid, or the system's certificates can't be read.
    pub fn connect(self, endpoint: Endpoint, compat: Compat) -> Result<Arc<dyn Provider>, ProviderError> {
        Ok(match self {
            Self::AnthropicMessages => Arc::new(Anthropic::new(endpoint)?),
            Self::Gemini => Arc::new(Gemini::new(endpoint)?),
            Self::OpenAiChat => Arc::new(OpenAiChat::new(endpoint, compat)?),
            Self::OpenAiResponses => Arc::new(OpenAiResponses::new(endpoint)?),
        })
    }
}
