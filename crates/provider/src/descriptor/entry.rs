//! Facts about one provider: server, key, wire format.

use reqwest::Url;

use crate::Endpoint;
use crate::compat::Compat;
use crate::http::KeyHeader;
use crate::wire_format::WireFormat;

/// A provider that tiller knows.
#[derive(Debug, PartialEq, Eq)]
pub struct ProviderDescriptor {
    /// The name in settings, logs and model references: `anthropic`.
    pub name: &'static str,
    /// The display name: `Anthropic`.
    pub display_name: &'static str,
    /// The environment variable of the API key.
    pub key_variable: &'static str,
    /// The header with the key.
    pub key_header: KeyHeader,
    /// The page where the user gets a key, or the server's home page.
    pub page: &'static str,
    /// The environment variable with the base URL of another server.
    pub base_url_variable: &'static str,
    /// The base URL of the public or usual server; empty if it must be configured.
    pub base_url: &'static str,
    /// The format of requests and answers.
    pub wire_format: WireFormat,
    /// The format for a server that the user configures.
    pub custom_server_format: WireFormat,
    /// Parameters that its server accepts in Chat Completions.
    pub compat: Compat,
    /// True if its server reports a conversation that exceeds the window with status 400 and no message.
    pub silent_overflow: bool,
    /// The command that makes a local server serve a window of 32,768 tokens; empty for other providers.
    pub window_advice: &'static str,
}

impl ProviderDescriptor {
    /// Returns the endpoint at a server, by default the usual one, without a key.
    #[must_use]
    pub fn endpoint(&self, base_url: Option<&str>) -> Endpoint {
        let endpoint = Endpoint::new(self.name, base_url.unwrap_or(self.base_url), self.key_variable);
        Endpoint { key_header: self.key_header, silent_overflow: self.silent_overflow, ..endpoint }
    }

    /// Returns the wire format at an endpoint. Subdomains of the usual server are the vendor's regions.
    #[must_use]
    pub fn wire_format_at(&self, endpoint: &Endpoint) -> WireFormat {
        let host = |url: &str| Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
        let (usual, named) = (host(self.base_url), host(&endpoint.base_url));
        let is_usual = usual.zip(named).is_some_and(|(usual, named)| {
            named.strip_suffix(usual.as_str()).is_some_and(|start| start.is_empty() || start.ends_with('.'))
        });
        if is_usual { self.wire_format } else { self.custom_server_format }
    }
}
