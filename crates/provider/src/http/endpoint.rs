//! A provider's endpoint: its base URL, API key and timeouts.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};

use super::api_key::ApiKey;
use super::proxy::ProxyUse;
use crate::FailureKind;
use crate::error::{ProviderFault, redact_secrets};

/// Timeout for connecting: longer than any handshake takes.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout for the answer's first byte: a server may take minutes to process a long uncached prompt.
const FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(300);

/// Timeout for the first byte from a server on this machine or network, which is slower and may have to load
/// the model first.
const LOCAL_FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(900);

/// Timeout for data within an answer: providers ping every few seconds while the model thinks.
const STALL_TIMEOUT: Duration = Duration::from_secs(120);

/// The timeouts of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection; 10 s.
    pub connect: Duration,
    /// From sending the request to the answer's first byte; 300 s, for a local server 900 s. Also the maximum
    /// time without content during the answer, not counting pings.
    pub first_byte: Duration,
    /// Between two pieces of the answer, pings included; 120 s.
    pub stall: Duration,
}

impl Timeouts {
    /// Returns the timeouts for a server at `base_url`.
    #[must_use]
    pub(crate) fn for_url(base_url: &str) -> Self {
        let first_byte = if is_local(base_url) { LOCAL_FIRST_BYTE_TIMEOUT } else { FIRST_BYTE_TIMEOUT };
        Self { connect: CONNECT_TIMEOUT, first_byte, stall: STALL_TIMEOUT }
    }

    /// Returns the maximum time without content during an answer. Models think for minutes while the server
    /// pings.
    pub(super) fn without_content(&self) -> Duration {
        self.first_byte.max(self.stall)
    }
}

enum ServerHost {
    Address(IpAddr),
    Name(String),
}

fn server_host(base_url: &str) -> Option<ServerHost> {
    let url = Url::parse(base_url).ok()?;
    let name = url.host_str()?.trim_matches(['[', ']']);
    Some(name.parse().map_or_else(|_| ServerHost::Name(name.to_owned()), ServerHost::Address))
}

/// Checks whether the server is on this machine.
pub(crate) fn is_loopback(base_url: &str) -> bool {
    match server_host(base_url) {
        Some(ServerHost::Address(ip)) => ip.is_loopback() || ip.is_unspecified(),
        Some(ServerHost::Name(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

/// Checks whether the server is on this machine or in a private network.
fn is_local(base_url: &str) -> bool {
    is_loopback(base_url)
        || match server_host(base_url) {
            Some(ServerHost::Address(IpAddr::V4(ip))) => ip.is_private(),
            Some(ServerHost::Address(IpAddr::V6(ip))) => ip.is_unique_local(),
            Some(ServerHost::Name(name)) => !name.contains('.') || name.ends_with(".local"),
            None => false,
        }
}

/// The header with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyHeader {
    /// `authorization: Bearer KEY`.
    Bearer,
    /// `x-api-key: KEY`.
    XApiKey,
    /// `api-key: KEY`.
    ApiKey,
    /// `x-goog-api-key: KEY`.
    XGoogApiKey,
}

impl KeyHeader {
    /// Returns the header's name, and the text before the key.
    pub(super) const fn parts(self) -> (&'static str, &'static str) {
        match self {
            Self::Bearer => ("authorization", "Bearer "),
            Self::XApiKey => ("x-api-key", ""),
            Self::ApiKey => ("api-key", ""),
            Self::XGoogApiKey => ("x-goog-api-key", ""),
        }
    }
}

/// The endpoint of a provider.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The provider's name: `anthropic`, `openai`, or the user's name for their own server.
    pub name: String,
    /// The URL to which the paths of the wire format are appended, with or without a trailing slash.
    pub base_url: String,
    /// The key; a local server needs none.
    pub key: Option<ApiKey>,
    /// The key's source, for hints: `ANTHROPIC_API_KEY`; without a key, where to set it.
    pub key_name: String,
    /// The header with the key.
    pub key_header: KeyHeader,
    /// Further headers of every request; their values may be secret, and may have to be loaded like a key.
    pub headers: Vec<(String, ApiKey)>,
    /// Certificates to trust in addition to the system's, in PEM.
    pub certificates: Option<Arc<[u8]>>,
    /// The proxy for requests.
    pub proxy: ProxyUse,
    /// The timeouts.
    pub timeouts: Timeouts,
    /// True for a server that reports a conversation that exceeds the window with status 400 and no message.
    pub silent_overflow: bool,
}

/// The secrets of an endpoint: its key, and the values of its headers, in their order.
pub(crate) struct EndpointAccess {
    key: Option<SecretString>,
    headers: Vec<SecretString>,
}

/// Maximum size of a string from which secrets are removed, in bytes. A longer one is cut first, because only
/// a small part of it is shown.
const MAX_REDACTED: usize = 64 * 1024;

impl Endpoint {
    /// Creates an endpoint without a key, with the timeouts for its URL.
    pub fn new(name: impl Into<String>, base_url: impl Into<String>, key_name: impl Into<String>) -> Self {
        let base_url = base_url.into();
        let timeouts = Timeouts::for_url(&base_url);
        Self {
            name: name.into(),
            base_url,
            key: None,
            key_name: key_name.into(),
            key_header: KeyHeader::Bearer,
            headers: Vec::new(),
            certificates: None,
            proxy: ProxyUse::System,
            timeouts,
            silent_overflow: false,
        }
    }

    /// Removes the key and the values of the headers from a string.
    pub(super) fn redact(&self, text: &str) -> String {
        let text = &text[..text.floor_char_boundary(MAX_REDACTED)];
        let secrets = self.key.iter().chain(self.headers.iter().map(|(_, value)| value));
        let secrets = secrets.filter_map(ApiKey::known);
        let without_known = redact_secrets(text, None);
        secrets.fold(without_known, |text, secret| redact_secrets(&text, Some(secret.expose_secret())))
    }

    /// Returns the key and the values of the headers, loaded if necessary.
    pub(crate) async fn resolve_access(&self) -> Result<EndpointAccess, ProviderFault> {
        let key = match &self.key {
            Some(key) => Some(key.resolve().await?),
            None => None,
        };
        let mut headers = Vec::with_capacity(self.headers.len());
        for (_, value) in &self.headers {
            headers.push(value.resolve().await?);
        }
        Ok(EndpointAccess { key, headers })
    }

    /// Returns new secrets if at least one differs from the rejected ones, else `None`.
    pub(super) async fn replace_access(
        &self,
        refused: EndpointAccess,
    ) -> Result<Option<EndpointAccess>, ProviderFault> {
        let EndpointAccess { mut key, mut headers } = refused;
        let of_key = self.key.iter().zip(key.as_mut());
        let of_headers = self.headers.iter().map(|(_, value)| value).zip(&mut headers);
        let mut is_replaced = false;
        for (source, value) in of_key.chain(of_headers) {
            if let Some(replacement) = source.replace(value).await? {
                *value = replacement;
                is_replaced = true;
            }
        }
        Ok(is_replaced.then_some(EndpointAccess { key, headers }))
    }

    /// Returns the headers: the one with the key, if any, and those that the user added.
    pub(crate) fn access_headers(&self, access: &EndpointAccess) -> Result<HeaderMap, ProviderFault> {
        let mut headers = HeaderMap::new();
        if let Some(key) = &access.key {
            let (name, prefix) = self.key_header.parts();
            let value = secret_value(&format!("{prefix}{}", key.expose_secret().trim()))
                .ok_or_else(|| ProviderFault::new(FailureKind::Auth, "the API key has invalid characters"))?;
            headers.insert(name, value);
        }
        for ((name, _), value) in self.headers.iter().zip(&access.headers) {
            let header = HeaderName::try_from(name).ok().zip(secret_value(value.expose_secret()));
            let Some((header, value)) = header else {
                let message = format!("the header `{name}` has an invalid name or value");
                return Err(ProviderFault::new(FailureKind::Fatal, message));
            };
            headers.insert(header, value);
        }
        Ok(headers)
    }

    /// Sets a known key.
    #[must_use]
    pub fn with_key(self, key: SecretString) -> Self {
        self.with_api_key(ApiKey::new(key))
    }

    /// Sets a key that may have to be loaded.
    #[must_use]
    pub fn with_api_key(self, key: ApiKey) -> Self {
        Self { key: Some(key), ..self }
    }
}

fn secret_value(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_local_server_gets_more_time() {
        for url in [
            "http://localhost:11434/v1",
            "http://127.0.0.1:8080",
            "http://[::1]:1234/v1",
            "http://nas.local",
            "http://192.168.1.5/v1",
            "http://ollama:11434",
        ] {
            assert_eq!(Timeouts::for_url(url).first_byte, LOCAL_FIRST_BYTE_TIMEOUT, "{url}");
        }
        for url in ["https://api.anthropic.com", "https://8.8.8.8/v1", "nonsense"] {
            assert_eq!(Timeouts::for_url(url).first_byte, FIRST_BYTE_TIMEOUT, "{url}");
        }
    }

    #[test]
    fn is_loopback_only_on_this_machine() {
        for url in [
            "http://localhost:1",
            "http://a.localhost",
            "http://127.9.9.9",
            "http://[::1]",
            "http://0.0.0.0:8",
        ] {
            assert!(is_loopback(url), "{url}");
        }
        for url in
            ["http://nas.local", "http://10.0.0.1", "http://localhost.example", "http://[fd00::1]", "x"]
        {
            assert!(!is_loopback(url), "{url}");
        }
    }

    #[test]
    fn endpoint_debug_hides_the_key() {
        let endpoint = Endpoint::new("x", "http://localhost", "X_KEY").with_key("hush-hush".into());
        assert!(!format!("{endpoint:?}").contains("hush"));
    }
}
