//! Anthropic's Messages API, version 2023-06-01, streaming
//! (platform.claude.com/docs/en/api/messages and /docs/en/build-with-claude/streaming, seen 2026-11-21).
//!
//! `encode` builds the request's body, `decode` parses the events; both are pure.

mod decode;
mod encode;

use std::sync::Arc;

use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderValue};

use super::http::{EncodedRequest, Endpoint, EndpointClient};
use super::{Provider, ProviderError, ProviderStream, Request};
use decode::MessagesDecoder;
pub use encode::API;

/// The beta header of requests in which the server drops thinking that no longer fits the conversation,
/// instead of rejecting the request.
const BINDING_CONTROLS: &str = "thinking-binding-controls-2026-08-01";

/// A server with the Messages API.
pub struct Anthropic {
    wire: Arc<EndpointClient>,
}

impl Anthropic {
    /// Creates the provider. Requests go to `{base_url}/v1/messages`, with the key in the endpoint's header.
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
        self.wire.decode(pieces, MessagesDecoder::default())
    }

    fn post(&self, request: &Request) -> EncodedRequest {
        let mut headers = HeaderMap::new();
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
        let plan = encode::ThinkingPlan::new(request, self.wire.name());
        if plan.sends_binding() {
            headers.insert("anthropic-beta", HeaderValue::from_static(BINDING_CONTROLS));
        }
        EncodedRequest {
            path: "/v1/messages".into(),
            headers,
            body: encode::body(request, &plan, self.wire.name()),
        }
    }
}

impl Provider for Anthropic {
    fn name(&self) -> &str {
        self.wire.name()
    }

    fn api(&self) -> &'static str {
        API
    }

    fn stream(&self, request: Request) -> ProviderStream {
        self.wire.stream(self.post(&request), MessagesDecoder::default())
    }
}
