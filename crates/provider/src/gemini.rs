//! Google's Gemini API, `generateContent`, streaming (ai.google.dev/api/generate-content and
//! /gemini-api/docs/thought-signatures, seen 2026-11-23).
//!
//! `encode` builds the request's body, `decode` parses the chunks; both are pure.

mod decode;
mod encode;
mod partial_arguments;

use std::sync::Arc;

use bytes::Bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::HeaderMap;

use super::http::{EncodedRequest, Endpoint, EndpointClient};
use super::{Provider, ProviderError, ProviderStream, Request};
use decode::GeminiDecoder;
pub use encode::API;

/// Bytes that are escaped in a model's id: all but the unreserved characters (RFC 3986, 2.3).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A server with the Gemini API.
pub struct Gemini {
    wire: Arc<EndpointClient>,
}

impl Gemini {
    /// Creates the provider. Requests go to `{base_url}/models/{id}:streamGenerateContent`, with the key, if
    /// any, in the endpoint's header.
    ///
    /// # Errors
    /// If the base URL is invalid.
    pub fn new(endpoint: Endpoint) -> Result<Self, ProviderError> {
        Ok(Self { wire: Arc::new(EndpointClient::new(endpoint)?) })
    }

    /// Decodes the body of an answer, cut into pieces anywhere. For fuzzing and tests; not part of the API.
    #[doc(hidden)]
    #[must_use]
    pub fn decode(&self, pieces: Vec<Bytes>) -> ProviderStream {
        self.wire.decode(pieces, GeminiDecoder::new("decoded".into()))
    }

    fn post(&self, request: &Request) -> EncodedRequest {
        let id = utf8_percent_encode(&request.model.id, ESCAPED);
        let path = format!("/models/{id}:streamGenerateContent?alt=sse").into();
        EncodedRequest { path, headers: HeaderMap::new(), body: encode::body(request, self.wire.name()) }
    }
}

impl Provider for Gemini {
    fn name(&self) -> &str {
        self.wire.name()
    }

    fn api(&self) -> &'static str {
        API
    }

    fn stream(&self, request: Request) -> ProviderStream {
        // Calls without an id get a generated one, unique across answers.
        let stamp = ulid::Ulid::generate().to_string();
        self.wire.stream(self.post(&request), GeminiDecoder::new(stamp))
    }
}
