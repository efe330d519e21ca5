//! The HTTP client of tools that use the network.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::{Arc, Once};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use reqwest::{Client, Response};

use crate::policy::is_private;

/// Timeout for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout for a request including its response.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);

/// The addresses that names may resolve to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AddressScope {
    /// Only public addresses: a name that looks public must not lead into the user's network.
    Public,
    /// All addresses.
    Anywhere,
}

/// Builds a client that follows no redirects.
///
/// # Errors
/// A sentence for the model.
pub(super) fn client(reach: AddressScope) -> Result<Client, String> {
    ensure_crypto();
    let builder = Client::builder()
        .user_agent(concat!("tiller/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(TIMEOUT)
        .redirect(Policy::none());
    let builder = match reach {
        // A proxy resolves names itself, and has an address in the user's network.
        AddressScope::Public if !has_proxy() => builder.dns_resolver(Arc::new(PublicResolver)),
        AddressScope::Public | AddressScope::Anywhere => builder,
    };
    builder.build().map_err(|error| format!("can't create the HTTP client: {}", causes(&error)))
}

/// Installs ring as the process's crypto provider, unless there is one. rustls has none by default, and
/// building a client without one panics. Further calls do nothing.
pub fn ensure_crypto() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
}

/// Reads a response's body up to a limit in bytes; returns it with true if it is complete.
///
/// # Errors
/// A sentence for the model.
pub(super) async fn read_body(mut response: Response, limit: usize) -> Result<(Vec<u8>, bool), String> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| causes(&error))? {
        let room = limit - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            return Ok((body, false));
        }
    }
    Ok((body, true))
}

/// Returns an error with its causes, without the address.
pub(super) fn causes(error: &reqwest::Error) -> String {
    let text = match error {
        error if error.is_timeout() => "timed out",
        error if error.is_connect() => "can't connect",
        _ => "the request failed",
    };
    with_causes(text.to_owned(), error)
}

/// Appends the causes of an error to its message, each once.
pub fn with_causes(mut text: String, error: &dyn Error) -> String {
    let mut cause = error.source();
    while let Some(error) = cause {
        let reason = error.to_string();
        if !text.contains(&reason) {
            text.push_str(&format!(": {reason}"));
        }
        cause = error.source();
    }
    text
}

/// Returns true if the environment sets a proxy.
fn has_proxy() -> bool {
    let names = ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
    names.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// A resolver that resolves only names of public hosts.
#[derive(Debug)]
struct PublicResolver;

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let name = name.as_str().to_owned();
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            check_public(&name, &found)?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Checks that a name resolves only to public addresses.
fn check_public(name: &str, found: &[SocketAddr]) -> Result<(), String> {
    match found.iter().find(|address| is_private(address.ip())) {
        Some(address) => Err(format!("{name} resolves to the private address {}", address.ip())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn client_for_public_hosts_reaches_no_private_one() {
        if has_proxy() {
            eprintln!("SKIPPED: there is a proxy");
            return;
        }
        let error =
            client(AddressScope::Public).unwrap().get("http://localhost:1/").send().await.unwrap_err();
        let text = causes(&error);
        assert!(text.contains("localhost resolves to the private address"), "{text}");
    }

    #[test]
    fn check_public_private_address_among_others_is_refused() {
        let addresses = |list: &[&str]| -> Vec<SocketAddr> {
            list.iter().map(|address| SocketAddr::new(address.parse().unwrap(), 0)).collect()
        };
        assert_eq!(check_public("example.org", &addresses(&["93.184.216.34", "2606:2800:220:1::"])), Ok(()));
        assert_eq!(
            check_public("evil.example", &addresses(&["93.184.216.34", "169.254.169.254"])),
            Err("evil.example resolves to the private address 169.254.169.254".into())
        );
    }
}
