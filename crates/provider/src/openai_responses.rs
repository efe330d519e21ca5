//! OpenAI's Responses, streaming and without stored responses
//! (developers.openai.com/api/reference/resources/responses, copies read 2026-11-23), also supported by
//! Azure, xAI, OpenRouter, DeepSeek, LM Studio, Ollama, vLLM and others.
//!
//! `encode` builds the request's body; `decode` parses the events, whose shapes are in `events`, into the
//! items of `output_item`. All are pure. `reasoning_item` is the form in which reasoning is stored in a
//! session and sent back.

mod decode;
mod encode;
mod events;
mod message_signature;
mod output_item;
mod reasoning_item;

use std::sync::Arc;

use bytes::Bytes;
use reqwest::header::HeaderMap;

use super::http::{EncodedRequest, Endpoint, EndpointClient};
use super::{Provider, ProviderError, ProviderStream, Request};
use decode::ResponsesDecoder;
pub use encode::API;

/// A server with Responses.
pub struct OpenAiResponses {
    wire: Arc<EndpointClient>,
}

impl OpenAiResponses {
    /// Creates the provider. Requests go to `{base_url}/responses`, with the key, if any, in the endpoint's
    /// header.
    ///
    /// # Errors
    /// If the base URL is invalid.
    pub fn new(endpoint: Endpoint) -> Result<Self, ProviderError> {
        Ok(Self { wire: Arc::new(EndpointClient::new(endpoint)?) })
    }

    /// Decodes the body of an answer, cut into pieces anywhere. For fuzzing; not part of the API.
    #[doc(hidden)]
    #[must_use]
    pub fn decode(&self, pieces: Vec<Bytes>) -> ProviderStream {
        self.wire.decode(pieces, ResponsesDecoder::new("decoded".into()))
    }

    fn post(&self, request: &Request) -> EncodedRequest {
        let body = encode::body(request, self.wire.name());
        EncodedRequest { path: "/responses".into(), headers: HeaderMap::new(), body }
    }
}

impl Provider for OpenAiResponses {
    fn name(&self) -> &str {
        self.wire.name()
    }

    fn api(&self) -> &'static str {
        API
    }

    fn stream(&self, request: Request) -> ProviderStream {
        // Calls without an id get a generated one, unique across answers.
        let stamp = ulid::Ulid::generate().to_string();
        self.wire.stream(self.post(&request), ResponsesDecoder::new(stamp))
    }
}
