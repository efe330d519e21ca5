//! The way to a provider and back: one POST, its answer as a stream of [`Part`]s, every failure a [`ProviderError`].
//!
//! A protocol brings the request's body and a [`Decode`] for the events; this module brings timeouts, statuses and
//! the removal of secrets. It doesn't retry: that is the agent's, which tells people about it.

mod endpoint;
mod network_thread;
mod response;

use std::error::Error as _;
use std::sync::{Arc, Once};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use futures_util::{StreamExt, TryStreamExt};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Body, Client, Response, Url};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::error::{
    ConnectionFailure, ProviderFault, Refusal, Stage, classify, hints, refusal_in, retry_after,
    without_secrets,
};
use super::sse::SseEvent;
use super::{FailureKind, ProviderError, ProviderStream, StreamEvent};
pub use endpoint::{Endpoint, Timeouts};
use response::ResponseStream;

/// Longest wait for the text of an error.
const ERROR_BODY: Duration = Duration::from_secs(10);

/// Most bytes read of an error's text.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// Most characters of a piece of the stream that is shown in a trace.
const MAX_TRACE_CHARS: usize = 2_000;

/// Makes ring the process's cryptography. rustls comes without one, and a client built before panics; calling it
/// again does nothing, and one that an embedder has installed stays.
pub fn ensure_crypto() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error says that there is one already.
        drop(rustls::crypto::ring::default_provider().install_default());
    });
}

/// What turns a protocol's events into parts.
pub(super) trait Decode: Send {
    /// Decodes an event. An event of an unknown type is traced; one that doesn't fit the protocol ends the answer.
    fn take(&mut self, event: &SseEvent, parts: &mut Vec<StreamEvent>) -> Result<(), ProviderFault>;

    /// Takes the end of the stream: the parts that complete the answer, or an error when it isn't complete.
    fn end(&mut self, parts: &mut Vec<StreamEvent>) -> Result<(), ProviderFault>;
}

/// A violation of the protocol within an answer. What came before it can't be trusted to be whole, so the answer
/// counts as broken off and the request is retried.
#[derive(Debug, thiserror::Error)]
pub(super) enum Damage {
    #[error("an event holds bytes that are not UTF-8")]
    Encoding,
    #[error("an event is not what the protocol says: {0}")]
    Shape(#[from] serde_json::Error),
    #[error("{0}")]
    Order(&'static str),
}

impl Damage {
    /// Traces the damaged event and returns the error that ends the answer.
    pub(super) fn report(self, event: &SseEvent, parts: &mut Vec<StreamEvent>) -> ProviderFault {
        parts.push(trace("damaged_event", event));
        ProviderFault::new(FailureKind::Interrupted, format!("the answer is damaged: {self}"))
            .with_hint(hints::BROKEN_OFF)
    }
}

/// The error of an answer that ended too early.
pub(super) fn incomplete() -> ProviderFault {
    ProviderFault::new(FailureKind::Interrupted, "the answer ended before it was complete")
        .with_hint(hints::BROKEN_OFF)
}

/// A request in a protocol's own words.
pub(super) struct Post {
    pub(super) path: &'static str,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
}

/// A client for one endpoint. Connections are kept between requests.
pub(super) struct Wire {
    endpoint: Endpoint,
    client: Client,
}

impl Wire {
    /// Builds the client.
    ///
    /// # Errors
    /// When the base URL isn't one, or the system's certificates can't be read.
    pub(super) fn new(endpoint: Endpoint) -> Result<Self, ProviderError> {
        ensure_crypto();
        let client = Client::builder()
            .user_agent(concat!("tiller/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(endpoint.timeouts.connect)
            // A redirected POST becomes a GET without its body, and would take the key to another host.
            .redirect(Policy::none())
            .build();
        let client = client.map_err(|error| {
            let fault = ProviderFault::new(FailureKind::Fatal, format!("no HTTP client: {}", causes(&error)));
            explain(&endpoint, fault)
        })?;
        match base_url_fault(&endpoint.base_url) {
            None => Ok(Self { endpoint, client }),
            Some(fault) => {
                let setting = hints::server_setting(&endpoint.name);
                let message = format!("{setting} is `{}`: {fault}", endpoint.base_url);
                Err(explain(&endpoint, ProviderFault::new(FailureKind::Fatal, message)))
            }
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.endpoint.name
    }

    /// Whether requests go to `host`.
    pub(super) fn is_at(&self, host: &str) -> bool {
        Url::parse(&self.endpoint.base_url).is_ok_and(|url| url.host_str() == Some(host))
    }

    /// The header that carries the key, behind `prefix`; none without a key.
    pub(super) fn key_header(&self, prefix: &str) -> Result<Option<HeaderValue>, ProviderFault> {
        let Some(key) = &self.endpoint.key else { return Ok(None) };
        let mut value = HeaderValue::from_str(&format!("{prefix}{}", key.expose_secret().trim()))
            .map_err(|_| ProviderFault::new(FailureKind::Auth, "the key holds characters that no key has"))?;
        value.set_sensitive(true);
        Ok(Some(value))
    }

    /// Sends `post` and decodes the answer. Nothing happens before the stream is polled.
    pub(super) fn stream(
        self: &Arc<Self>,
        post: Result<Post, ProviderFault>,
        decoder: impl Decode + 'static,
    ) -> ProviderStream {
        let wire = Arc::clone(self);
        let opened = async move {
            let deadline = Instant::now() + wire.endpoint.timeouts.first_byte;
            let response = match post {
                Ok(post) => wire.open(post, deadline).await,
                Err(fault) => Err(fault),
            };
            match response {
                Ok(response) => Ok(ResponseStream::new(wire, response, decoder, deadline).into_parts()),
                Err(fault) => Err(explain(&wire.endpoint, fault)),
            }
        };
        network_thread::read(Box::pin(stream::once(opened).try_flatten())).unwrap_or_else(|error| {
            let fault =
                ProviderFault::new(FailureKind::Fatal, format!("no thread to read answers on: {error}"));
            Box::pin(stream::iter([Err(explain(&self.endpoint, fault))]))
        })
    }

    /// Decodes an answer whose body is at hand in pieces, without a server or the network thread.
    pub(super) fn decode(
        self: &Arc<Self>,
        pieces: Vec<Bytes>,
        decoder: impl Decode + 'static,
    ) -> ProviderStream {
        let deadline = Instant::now() + self.endpoint.timeouts.first_byte;
        let bytes = stream::iter(pieces.into_iter().map(Ok)).boxed();
        ResponseStream::from_bytes(Arc::clone(self), bytes, decoder, deadline).into_parts()
    }

    async fn open(&self, post: Post, deadline: Instant) -> Result<Response, ProviderFault> {
        let url = format!("{}{}", self.endpoint.base_url.trim_end_matches('/'), post.path);
        let request = self.client.post(url).headers(post.headers).json(&post.body).build();
        let request = request.map_err(|error| self.unreachable(error))?;
        let (provider, begun) = (self.name(), Instant::now());
        let bytes = request.body().and_then(Body::as_bytes).map_or(0, <[u8]>::len);
        tracing::debug!(provider, host = self.host(), bytes, "request goes out");
        let response = match timeout_at(deadline, self.client.execute(request)).await {
            Ok(sent) => sent.map_err(|error| self.unreachable(error))?,
            Err(_) => return Err(Silence::Unanswered.fault(self.endpoint.timeouts)),
        };
        let (status, took) = (response.status().as_u16(), begun.elapsed());
        tracing::debug!(provider, status, took_ms = took.as_millis(), "server answers");
        match response.status().as_u16() {
            200..=299 if is_stream(response.headers()) => Ok(response),
            _ => Err(refused(response).await),
        }
    }

    /// The server's host, with its port where the URL has one.
    fn host(&self) -> String {
        let url = Url::parse(&self.endpoint.base_url).ok();
        let host = url.as_ref().and_then(|url| Some((url.host_str()?, url.port())));
        match host {
            Some((host, Some(port))) => format!("{host}:{port}"),
            Some((host, None)) => host.to_owned(),
            None => self.endpoint.base_url.clone(),
        }
    }

    fn unreachable(&self, error: reqwest::Error) -> ProviderFault {
        let error = error.without_url();
        if error.is_builder() {
            return ProviderFault::new(
                FailureKind::Fatal,
                format!("the request can't be sent: {}", causes(&error)),
            );
        }
        self.connection_fault(&error, Stage::BeforeAnswer)
    }

    /// The fault of a connection that failed; the libraries' own words go to the log.
    fn connection_fault(&self, error: &reqwest::Error, stage: Stage) -> ProviderFault {
        let (provider, host) = (self.name(), self.host());
        tracing::debug!(provider, host, error = causes(error), "connection failed");
        let cause = ConnectionFailure::of(error);
        let advice = hints::of_connection(&cause, &hints::server_setting(provider));
        let failure = match stage {
            Stage::BeforeAnswer => FailureKind::Transient { retry_after: None },
            Stage::WithinAnswer => FailureKind::Interrupted,
        };
        ProviderFault::new(failure, cause.message(&host, stage)).with_hint(advice)
    }
}

/// The fault of a base URL that can't be used.
fn base_url_fault(base_url: &str) -> Option<String> {
    match Url::parse(base_url) {
        Ok(url) if !matches!(url.scheme(), "http" | "https") => {
            Some(format!("the scheme is `{}`, not http or https", url.scheme()))
        }
        Ok(url) => (!url.has_host()).then(|| "it has no host".to_owned()),
        Err(error) => Some(error.to_string()),
    }
}

/// Servers that forget the header still stream; a page or a document is none.
fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    !kind.starts_with("text/html") && !kind.starts_with("application/json")
}

async fn refused(response: Response) -> ProviderFault {
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let body = error_text(response).await;
    let said = refusal_in(status, &body);
    match status {
        200..=299 if said.message.is_empty() || body.starts_with('<') => ProviderFault::new(
            FailureKind::Fatal,
            format!("the answer is no event stream but {}", start_of(&body)),
        )
        .with_hint("check the base URL"),
        // An error sent with a success status: only its text tells.
        200..=299 => classify(&Refusal { status: 0, ..said }),
        300..=399 => {
            let to = headers.get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or("elsewhere");
            ProviderFault::new(FailureKind::Fatal, format!("redirected to {to} (HTTP status {status})"))
                .with_hint("set the base URL to where the server is")
        }
        _ => classify(&Refusal { retry_after: retry_after(&headers, jiff::Timestamp::now()), ..said }),
    }
}

fn start_of(body: &str) -> String {
    if body.is_empty() {
        "empty".to_owned()
    } else {
        format!("`{}`", body.chars().take(80).collect::<String>())
    }
}

/// As much of the body as comes in time; an error's text is a courtesy.
async fn error_text(response: Response) -> String {
    let deadline = Instant::now() + ERROR_BODY;
    let mut body = Vec::new();
    let mut bytes = response.bytes_stream();
    while let Ok(Some(Ok(chunk))) = timeout_at(deadline, bytes.next()).await {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_ERROR_BYTES {
            body.truncate(MAX_ERROR_BYTES);
            break;
        }
    }
    String::from_utf8_lossy(&body).into_owned()
}

/// A server's silence that lasted too long.
#[derive(Clone, Copy)]
enum Silence {
    /// Before the first byte of an answer.
    Unanswered,
    /// Within an answer.
    Stalled,
    /// Within an answer that goes on without content: pings, comments, empty deltas.
    Empty,
}

impl Silence {
    fn fault(self, timeouts: Timeouts) -> ProviderFault {
        let (what, limit, setting) = match self {
            Self::Unanswered => ("no answer", timeouts.first_byte, "request.first_byte_s"),
            Self::Stalled => ("the answer stalled: nothing", timeouts.stall, "request.stall_s"),
            Self::Empty => {
                ("the answer stalled: no content", timeouts.without_content(), "request.first_byte_s")
            }
        };
        ProviderFault::new(FailureKind::Interrupted, format!("{what} within {} s", limit.as_secs_f64()))
            .with_hint(hints::of_silence(setting))
    }
}

/// What caused the error; reqwest's own words, taken only where there is no cause, say little.
fn causes(error: &reqwest::Error) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !texts.iter().any(|earlier| earlier.contains(&text)) {
            texts.push(text);
        }
        cause = error.source();
    }
    if texts.is_empty() { error.to_string() } else { texts.join(": ") }
}

/// Says whose fault it was, without secrets.
fn explain(endpoint: &Endpoint, fault: ProviderFault) -> ProviderError {
    let key = endpoint.key.as_ref().map(ExposeSecret::expose_secret);
    let hint = fault.hint.or_else(|| {
        let is_there = endpoint.key.is_some();
        let advice = || hints::of_key(&endpoint.name, &endpoint.key_name, is_there);
        (fault.failure == FailureKind::Auth).then(advice)
    });
    ProviderError {
        provider: endpoint.name.clone(),
        failure: fault.failure,
        message: without_secrets(&fault.message, key),
        hint,
    }
}

/// Shows an event that nobody understood.
pub(super) fn trace(name: &'static str, event: &SseEvent) -> StreamEvent {
    let raw: String = event.data.chars().take(MAX_TRACE_CHARS).collect();
    StreamEvent::Trace { name, data: json!({ "event": event.name, "raw": raw }) }
}

/// Builds headers from names and values known in advance.
pub(super) fn headers<const N: usize>(pairs: [(&'static str, &'static str); N]) -> HeaderMap {
    pairs
        .into_iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_that_is_none_is_refused() {
        for url in ["", "api.openai.com/v1", "file:///etc/passwd"] {
            let error = Wire::new(Endpoint::new("x", url, "X_KEY")).err().unwrap();
            assert_eq!(error.failure, FailureKind::Fatal, "{url}");
        }
        let error = Wire::new(Endpoint::new("openai", "htp://localhost", "X_KEY")).err().unwrap();
        let message = "OPENAI_BASE_URL is `htp://localhost`: the scheme is `htp`, not http or https";
        assert_eq!(error.message, message);
    }

    #[test]
    fn a_hint_names_where_the_key_comes_from() {
        let endpoint = Endpoint::new("x", "http://localhost", "X_KEY");
        let error = explain(&endpoint, ProviderFault::new(FailureKind::Auth, "no"));
        assert_eq!(error.hint.as_deref(), Some("no key: set X_KEY"));
        let error = explain(
            &endpoint.with_key("hush-hush-key".into()),
            ProviderFault::new(FailureKind::Auth, "hush-hush-key refused"),
        );
        assert_eq!((error.hint.as_deref(), error.message.as_str()), (Some("check X_KEY"), "[key] refused"));
    }
}
