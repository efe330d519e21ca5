//! OpenAI's Chat Completions, streaming (developers.openai.com/api/reference/resources/chat, seen
//! 2026-11-21), also supported by Ollama, llama.cpp, vLLM, LM Studio, OpenRouter, DeepSeek, Groq and others.
//!
//! `encode` builds the request's body, `decode` parses the chunks; both are pure.

mod decode;
mod encode;
mod json_extent;
mod reasoning_details;

use std::sync::Arc;

use bytes::Bytes;
use reqwest::header::HeaderMap;

use super::http::{EncodedRequest, Endpoint, EndpointClient};
use super::{Provider, ProviderError, ProviderStream, Request};
use crate::compat::Compat;
use decode::ChatDecoder;
pub use encode::API;

/// A server with Chat Completions.
pub struct OpenAiChat {
    wire: Arc<EndpointClient>,
    compat: Compat,
}

impl OpenAiChat {
    /// Creates the provider. Requests go to `{base_url}/chat/completions`, with the key, if any, in the
    /// endpoint's header. They contain only what `compat` allows, or the model's own
    /// [`compat`](crate::ModelFacts::compat).
    ///
    /// # Errors
    /// If the base URL is invalid.
    pub fn new(endpoint: Endpoint, compat: Compat) -> Result<Self, ProviderError> {
        Ok(Self { wire: Arc::new(EndpointClient::new(endpoint)?), compat })
    }

    /// Decodes the body of an answer, cut into pieces anywhere. For fuzzing; not part of the API.
    #[doc(hidden)]
    #[must_use]
    pub fn decode(&self, pieces: Vec<Bytes>) -> ProviderStream {
        self.wire.decode(pieces, ChatDecoder::new("decoded".into()))
    }

    fn post(&self, request: &Request) -> EncodedRequest {
        let compat = request.model.compat.as_ref().unwrap_or(&self.compat);
        let body = encode::body(request, compat, self.wire.name());
        EncodedRequest { path: "/chat/completions".into(), headers: HeaderMap::new(), body }
    }
}

impl Provider for OpenAiChat {
    fn name(&self) -> &str {
        self.wire.name()
    }

    fn api(&self) -> &'static str {
        API
    }

    fn stream(&self, request: Request) -> ProviderStream {
        // Calls without an id get a generated one, unique across answers.
        let stamp = ulid::Ulid::generate().to_string();
        self.wire.stream(self.post(&request), ChatDecoder::new(stamp))
    }
}
