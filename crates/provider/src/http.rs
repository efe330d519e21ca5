//! HTTP requests to providers: one POST, the answer as a stream of events, and every failure as a
//! [`ProviderError`].
//!
//! A wire format supplies the request's body and a [`Decode`] for the events; this module handles timeouts,
//! statuses and the removal of secrets. Retries are left to the engine, because it reports them to the user.

mod api_key;
mod decode;
mod endpoint;
mod fault;
mod network_thread;
mod proxy;
mod response;

use std::borrow::Cow;
use std::sync::{Arc, Once, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use futures_util::{StreamExt, TryStreamExt};
use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Body, Certificate, Client, ClientBuilder, Response, Url};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::error::{
    ErrorResponse, ProviderFault, Stage, classify, hints, parse_error_response, retry_after, shorten,
};
use super::{FailureKind, ProviderError, ProviderStream};
pub use api_key::ApiKey;
pub(super) use decode::{Damage, Decode, filtered, incomplete, trace};
use endpoint::EndpointAccess;
pub(super) use endpoint::is_loopback;
pub use endpoint::{Endpoint, KeyHeader, Timeouts};
pub(super) use fault::into_error;
use fault::{ResponseTimeout, causes, connection_fault, host, no_stream_fault};
pub use proxy::ProxyUse;
use response::ResponseStream;

/// Timeout for reading an error response's body.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum size of an error response's body, in bytes.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// Timeout for a JSON document.
const DOCUMENT_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum size of a JSON document, in bytes. The longest model list has about 2 MB.
const MAX_DOCUMENT_BYTES: usize = 16 * 1024 * 1024;

/// Maximum characters to quote of a body of an unexpected kind.
const MAX_QUOTED_CHARS: usize = 80;

/// Installs ring as the process's crypto provider. rustls has none by default, and building a client without
/// one panics. Further calls do nothing, and a provider installed by an embedder is kept.
pub fn ensure_crypto() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error means that another thread or an embedder has installed one.
        drop(rustls::crypto::ring::default_provider().install_default());
    });
}

/// An encoded request of a wire format.
pub(super) struct EncodedRequest {
    pub(super) path: Cow<'static, str>,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
}

/// An HTTP client for one endpoint. Connections are reused.
pub(super) struct EndpointClient {
    endpoint: Arc<Endpoint>,
    /// Built for the first request: reading the system's certificates takes longer than the rest of a start.
    client: OnceLock<Client>,
}

impl EndpointClient {
    /// Checks the endpoint's settings.
    ///
    /// # Errors
    /// If the base URL or the proxy is invalid, or the certificates aren't in PEM.
    pub(super) fn new(endpoint: Endpoint) -> Result<Self, ProviderError> {
        let fault = match builder_for(&endpoint) {
            Err(problem) => Some(problem),
            Ok(_) => base_url_fault(&endpoint.base_url).map(|fault| {
                let setting = hints::server_setting(&endpoint.name);
                format!("{setting} `{}` is invalid: {fault}", endpoint.base_url)
            }),
        };
        match fault {
            None => Ok(Self { endpoint: Arc::new(endpoint), client: OnceLock::new() }),
            Some(message) => Err(into_error(&endpoint, ProviderFault::new(FailureKind::Fatal, message))),
        }
    }

    /// Returns the client. The first call reads the certificates, which takes some milliseconds.
    fn client(&self) -> Result<&Client, ProviderFault> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let built = builder_for(&self.endpoint)
            .and_then(|builder| build(builder.connect_timeout(self.endpoint.timeouts.connect)));
        let client = built.map_err(|problem| {
            ProviderFault::new(FailureKind::Fatal, problem).with_hint(match self.endpoint.certificates {
                Some(_) => "check request.ca_file and the system's certificates",
                None => "check the system's certificates (package `ca-certificates`)",
            })
        })?;
        Ok(self.client.get_or_init(|| client))
    }

    pub(super) fn name(&self) -> &str {
        &self.endpoint.name
    }

    /// Sends `post` and decodes the answer. Nothing happens before the stream is polled.
    pub(super) fn stream(
        self: &Arc<Self>,
        post: EncodedRequest,
        decoder: impl Decode + 'static,
    ) -> ProviderStream {
        let wire = Arc::clone(self);
        let opened = async move {
            let deadline = Instant::now() + wire.endpoint.timeouts.first_byte;
            match wire.open(post, deadline).await {
                Ok(response) => {
                    let endpoint = Arc::clone(&wire.endpoint);
                    Ok(ResponseStream::new(endpoint, response, decoder, deadline).into_stream())
                }
                Err(fault) => Err(into_error(&wire.endpoint, fault)),
            }
        };
        network_thread::read(Box::pin(stream::once(opened).try_flatten())).unwrap_or_else(|error| {
            let fault =
                ProviderFault::new(FailureKind::Fatal, format!("can't start the network thread: {error}"));
            Box::pin(stream::iter([Err(into_error(&self.endpoint, fault))]))
        })
    }

    /// Decodes an answer whose body is already in memory, without a server or the network thread.
    pub(super) fn decode(
        self: &Arc<Self>,
        pieces: Vec<Bytes>,
        decoder: impl Decode + 'static,
    ) -> ProviderStream {
        let deadline = Instant::now() + self.endpoint.timeouts.first_byte;
        let bytes = stream::iter(pieces.into_iter().map(Ok)).boxed();
        ResponseStream::from_bytes(Arc::clone(&self.endpoint), bytes, decoder, deadline).into_stream()
    }

    /// Sends a request. If the server rejects a key or header that can be loaded again, such as an expired
    /// token, the request is sent once more with the new value.
    async fn open(&self, post: EncodedRequest, deadline: Instant) -> Result<Response, ProviderFault> {
        let access = self.endpoint.resolve_access().await?;
        let fault = match self.send(&post, &access, deadline).await {
            Err(fault) if fault.failure == FailureKind::Auth => fault,
            result => return result,
        };
        match self.endpoint.replace_access(access).await? {
            Some(access) => self.send(&post, &access, deadline).await,
            None => Err(fault),
        }
    }

    async fn send(
        &self,
        post: &EncodedRequest,
        access: &EndpointAccess,
        deadline: Instant,
    ) -> Result<Response, ProviderFault> {
        let url = url_of(&self.endpoint.base_url, &post.path);
        let access = self.endpoint.access_headers(access)?;
        let client = self.client()?;
        let request = client.post(url).headers(post.headers.clone()).headers(access);
        let request = request.json(&post.body).build();
        let request = request.map_err(|error| self.unreachable(error))?;
        let (provider, started) = (self.name(), Instant::now());
        let bytes = request.body().and_then(Body::as_bytes).map_or(0, <[u8]>::len);
        tracing::debug!(provider, host = host(&self.endpoint), bytes, "sending the request");
        let response = match timeout_at(deadline, client.execute(request)).await {
            Ok(response) => response.map_err(|error| self.unreachable(error))?,
            Err(_) => return Err(ResponseTimeout::FirstByte.fault(self.endpoint.timeouts)),
        };
        let (status, took) = (response.status().as_u16(), started.elapsed());
        tracing::debug!(provider, status, took_ms = took.as_millis(), "received the response's head");
        match response.status().as_u16() {
            200..=299 if is_stream(response.headers()) => Ok(response),
            _ => Err(self.parse_error(response).await),
        }
    }

    /// Reads a JSON document.
    pub(super) async fn get(&self, path: &str) -> Result<Value, ProviderFault> {
        let url = url_of(&self.endpoint.base_url, path);
        let access = self.endpoint.access_headers(&self.endpoint.resolve_access().await?)?;
        let request = self.client()?.get(url).headers(access).header("anthropic-version", "2023-06-01");
        let deadline = Instant::now() + DOCUMENT_TIMEOUT;
        let response = match timeout_at(deadline, request.send()).await {
            Ok(response) => response.map_err(|error| self.unreachable(error))?,
            Err(_) => {
                let message = format!("no response within {} s", DOCUMENT_TIMEOUT.as_secs());
                return Err(ProviderFault::new(FailureKind::Interrupted, message));
            }
        };
        if !response.status().is_success() {
            return Err(self.parse_error(response).await);
        }
        let body = body_text(response, deadline, MAX_DOCUMENT_BYTES).await;
        serde_json::from_str(&body).map_err(|_| {
            ProviderFault::new(FailureKind::Fatal, format!("expected JSON, got {}", self.quote_start(&body)))
                .with_hint(format!("check {}", hints::server_setting(&self.endpoint.name)))
        })
    }

    fn unreachable(&self, error: reqwest::Error) -> ProviderFault {
        let error = error.without_url();
        if error.is_builder() {
            return ProviderFault::new(
                FailureKind::Fatal,
                format!("the request can't be sent: {}", causes(&error)),
            );
        }
        connection_fault(&self.endpoint, &error, Stage::BeforeAnswer)
    }

    async fn parse_error(&self, response: Response) -> ProviderFault {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let body = body_text(response, Instant::now() + ERROR_BODY_TIMEOUT, MAX_ERROR_BYTES).await;
        let error = parse_error_response(status, &body);
        match status {
            200..=299 if error.message.is_empty() || body.starts_with('<') => {
                // The message about a page is its title.
                let got = if body.starts_with('<') { error.message } else { self.quote_start(&body) };
                no_stream_fault(&self.endpoint, &got)
            }
            400 if self.endpoint.silent_overflow && error.message.is_empty() => {
                ProviderFault::new(FailureKind::Overflow, format!("HTTP status {status}"))
            }
            // An error sent with a success status can only be classified by its text.
            200..=299 => classify(&ErrorResponse { status: 0, ..error }),
            300..=399 => {
                let location = headers.get(LOCATION).and_then(|value| value.to_str().ok());
                let message = format!("redirected to {}", location.unwrap_or("another address"));
                let fault = ProviderFault::new(FailureKind::Fatal, message);
                ProviderFault { status: Some(status), ..fault }.with_hint(format!(
                    "set {} to the server's address",
                    hints::server_setting(&self.endpoint.name)
                ))
            }
            _ => classify(&ErrorResponse {
                retry_after: retry_after(&headers, jiff::Timestamp::now()),
                ..error
            }),
        }
    }

    /// Quotes the beginning of a body, without secrets.
    fn quote_start(&self, body: &str) -> String {
        match body {
            "" => "empty".to_owned(),
            _ => format!("`{}`", shorten(&self.endpoint.redact(body), MAX_QUOTED_CHARS)),
        }
    }
}

/// Appends a path to a base URL. The base URL's query is appended to the path's.
fn url_of(base_url: &str, path: &str) -> String {
    let (base, query) =
        base_url.split_once('?').map_or((base_url, None), |(base, query)| (base, Some(query)));
    let url = format!("{}{path}", base.trim_end_matches('/'));
    match query {
        None => url,
        Some(query) if path.contains('?') => format!("{url}&{query}"),
        Some(query) => format!("{url}?{query}"),
    }
}

/// Builds the client for a server. It trusts the system's certificates and these (PEM), uses the system's
/// proxies unless the server is on this machine, and follows no redirects. A client that connects directly to `http://`
/// loads no system certificates, so it works without any.
///
/// # Errors
/// Describes in a sentence that there is no usable certificate, that the proxy's variable is invalid, or that
/// the client can't be created.
pub fn http_client(
    base_url: &str,
    connect_timeout: Duration,
    certificates: Option<&[u8]>,
    proxy: &ProxyUse,
) -> Result<Client, String> {
    build(client_builder(base_url, certificates, proxy)?.connect_timeout(connect_timeout))
}

fn builder_for(endpoint: &Endpoint) -> Result<ClientBuilder, String> {
    client_builder(&endpoint.base_url, endpoint.certificates.as_deref(), &endpoint.proxy)
}

fn build(builder: ClientBuilder) -> Result<Client, String> {
    builder.build().map_err(|error| format!("can't create the HTTP client: {}", causes(&error)))
}

/// Like [`http_client`], with options to add.
pub(super) fn client_builder(
    base_url: &str,
    certificates: Option<&[u8]>,
    proxy: &ProxyUse,
) -> Result<ClientBuilder, String> {
    ensure_crypto();
    let mut builder = Client::builder()
        .user_agent(concat!("tiller/", env!("CARGO_PKG_VERSION")))
        // After a redirect, a POST becomes a GET without its body, and the key would be sent to another host.
        .redirect(Policy::none());
    // A remote proxy would connect to itself instead of this machine.
    let is_direct = is_loopback(base_url) || *proxy == ProxyUse::Direct;
    if let (false, ProxyUse::Invalid(fault)) = (is_direct, proxy) {
        return Err(fault.clone());
    }
    if is_direct {
        builder = builder.no_proxy();
        if base_url.starts_with("http://") {
            builder = builder.tls_certs_only([]);
        }
    }
    if let Some(pem) = certificates {
        builder = builder.tls_certs_merge(parse_certificates(pem)?);
    }
    Ok(builder)
}

fn parse_certificates(pem: &[u8]) -> Result<Vec<Certificate>, String> {
    let invalid = |problem: String| format!("request.ca_file has no usable certificate: {problem}");
    let read = Certificate::from_pem_bundle(pem).map_err(|error| invalid(error.to_string()))?;
    if read.is_empty() { Err(invalid("it is empty or not in PEM".to_owned())) } else { Ok(read) }
}

/// Returns the reason a base URL is invalid.
pub fn base_url_fault(base_url: &str) -> Option<String> {
    const EXPECTED: &str = "expected http:// or https://";
    match Url::parse(base_url) {
        Ok(url) if !matches!(url.scheme(), "http" | "https") => Some(EXPECTED.to_owned()),
        Err(_) if !base_url.contains("://") => Some(EXPECTED.to_owned()),
        Ok(url) => (!url.has_host()).then(|| "it has no host".to_owned()),
        Err(error) => Some(error.to_string()),
    }
}

/// Checks the content type. Some servers that stream omit the header; an HTML page or a JSON document isn't a
/// stream.
fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    !kind.starts_with("text/html") && !kind.starts_with("application/json")
}

/// Reads the part of a body that arrives before the deadline, at most `limit` bytes.
async fn body_text(response: Response, deadline: Instant, limit: usize) -> String {
    let mut body = Vec::new();
    let mut bytes = response.bytes_stream();
    while let Ok(Some(Ok(chunk))) = timeout_at(deadline, bytes.next()).await {
        body.extend_from_slice(&chunk);
        if body.len() > limit {
            body.truncate(limit);
            break;
        }
    }
    String::from_utf8_lossy(&body).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ConnectionFailure;

    #[test]
    fn url_query_of_the_base_follows_the_path() {
        assert_eq!(url_of("http://x/v1/", "/models"), "http://x/v1/models");
        assert_eq!(
            url_of("http://x/v1?api-version=preview", "/responses"),
            "http://x/v1/responses?api-version=preview"
        );
        assert_eq!(url_of("http://x/v1/?a=1&b=/", "/models?limit=2"), "http://x/v1/models?limit=2&a=1&b=/");
    }

    #[tokio::test]
    async fn proxy_failures_are_told_apart() {
        ensure_crypto();
        let asking = tiller_test_support::mock_server::MockServer::start([
            tiller_test_support::mock_server::Reply::status(407, ""),
        ]);
        for (proxy, expected) in [
            ("http://127.0.0.1:1", ConnectionFailure::NoProxy),
            (asking.url.as_str(), ConnectionFailure::ProxyLogin),
        ] {
            let client = Client::builder().proxy(reqwest::Proxy::all(proxy).unwrap()).build().unwrap();
            let error = client.get("https://api.example.test").send().await.unwrap_err();
            assert_eq!(ConnectionFailure::from_error(&error), expected, "{proxy}");
        }
    }

    #[test]
    fn wire_invalid_base_url_is_refused() {
        for url in ["", "api.openai.com/v1", "file:///etc/passwd"] {
            let error = EndpointClient::new(Endpoint::new("x", url, "X_KEY")).err().unwrap();
            assert_eq!(error.failure, FailureKind::Fatal, "{url}");
        }
        let error = EndpointClient::new(Endpoint::new("openai", "htp://localhost", "X_KEY")).err().unwrap();
        let message = "OPENAI_BASE_URL `htp://localhost` is invalid: expected http:// or https://";
        assert_eq!(error.message, message);
        let error = EndpointClient::new(Endpoint::new("mine", "nope", "X_KEY")).err().unwrap();
        assert_eq!(error.message, "the base URL `nope` is invalid: expected http:// or https://");
    }
}
