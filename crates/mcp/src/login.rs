//! Logins to servers over HTTP with OAuth 2.1: discovery, registration, consent in the browser, and the stored tokens.
//!
//! The SDK does the protocol (RFC 8414, 9728, 7591, 8707, PKCE); this module has the redirect's receiver and the
//! storage.

mod redirect;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect::Policy;
use rmcp::transport::auth::{
    AuthClient, AuthError, AuthorizationManager, AuthorizationMetadataResolution, AuthorizationRequest,
    AuthorizationSession, CredentialRefreshGuard, CredentialStore, StoredCredentials,
};
use serde_json::Value;
use tiller_tools::tool::{ensure_crypto, with_causes};
use tokio::sync::mpsc;
use tokio::time::timeout;

use redirect::{RedirectListener, parse_redirect};

use crate::web_address::parse_host;

/// Time for the user to log in at the server's page.
const CONSENT_TIMEOUT: Duration = Duration::from_secs(600);

/// Storage of logins, by URL of the server, so that a login is never sent to another server of the same name.
pub trait LoginStorage: Send + Sync + fmt::Debug {
    /// Returns a stored login.
    ///
    /// # Errors
    /// A sentence without the contents.
    fn load(&self, url: &str) -> Result<Option<Value>, String>;

    /// Stores a login, or removes it; returns whether there was one.
    ///
    /// # Errors
    /// A sentence without the contents.
    fn store(&self, url: &str, login: Option<Value>) -> Result<bool, String>;

    /// Locks the storage against refreshes of other processes, which would use up each other's refresh tokens; waits
    /// for them. Dropping the result unlocks it.
    ///
    /// # Errors
    /// A sentence with the reason.
    fn lock(&self) -> Result<Box<dyn Send>, String>;
}

/// The login at one server.
struct ServerLogin {
    storage: Arc<dyn LoginStorage>,
    url: String,
}

fn store_error(reason: String) -> AuthError {
    AuthError::CredentialStoreError(reason)
}

#[async_trait::async_trait]
impl CredentialStore for ServerLogin {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let Some(login) = self.storage.load(&self.url).map_err(store_error)? else { return Ok(None) };
        let damaged = |_| store_error("the stored login is damaged; log in again".to_owned());
        serde_json::from_value(login).map(Some).map_err(damaged)
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let login = serde_json::to_value(credentials).map_err(|error| store_error(error.to_string()))?;
        self.storage.store(&self.url, Some(login)).map(drop).map_err(store_error)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.storage.store(&self.url, None).map(drop).map_err(store_error)
    }

    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let storage = Arc::clone(&self.storage);
        let locked = tokio::task::spawn_blocking(move || storage.lock()).await;
        let lock = locked.map_err(|error| store_error(error.to_string()))?.map_err(store_error)?;
        Ok(Some(CredentialRefreshGuard::new(LockGuard(lock))))
    }
}

/// The lock, for as long as a refresh takes.
struct LockGuard(#[expect(dead_code, reason = "dropping it unlocks")] Box<dyn Send>);

async fn manager(url: &str, storage: Arc<dyn LoginStorage>) -> Result<AuthorizationManager, AuthError> {
    ensure_crypto();
    // The user configured the address, which may be on their local network.
    let mut manager = AuthorizationManager::new_allowing_private_addresses(url).await?;
    manager.set_credential_store(ServerLogin { storage, url: url.to_owned() });
    Ok(manager)
}

/// Returns an HTTP client that sends the stored login and refreshes it when it has expired; `None` without a login.
///
/// # Errors
/// A sentence with the reason.
pub(crate) async fn authorized_client(
    url: &str,
    storage: &Arc<dyn LoginStorage>,
) -> Result<Option<AuthClient<reqwest::Client>>, String> {
    if storage.load(url)?.is_none() {
        return Ok(None);
    }
    let attempt = async {
        let mut manager = manager(url, Arc::clone(storage)).await?;
        discover(&mut manager, url).await?;
        Ok(manager.initialize_from_store().await?.then_some(manager))
    };
    let manager = attempt.await.map_err(|error| format!("its login can't be used: {}", describe(&error)))?;
    // A redirect would take the session's id and the configured headers to another host. Without pooled connections,
    // as in the SDK's own client, a reused one doesn't stall.
    let builder = reqwest::Client::builder().redirect(Policy::none()).pool_max_idle_per_host(0);
    let client = builder.build().map_err(|error| error.to_string())?;
    Ok(manager.map(|manager| AuthClient::new(client, manager)))
}

/// Finds the authorization server that a server declares. The SDK would otherwise guess its address, and so take tokens
/// to one that didn't issue them.
async fn discover(manager: &mut AuthorizationManager, url: &str) -> Result<(), AuthError> {
    let AuthorizationMetadataResolution { metadata, source, .. } = manager.resolve_metadata().await?;
    if !source.is_discovered() {
        return Err(AuthError::NoAuthorizationSupport);
    }
    let endpoints = [Some(&metadata.authorization_endpoint), Some(&metadata.token_endpoint)];
    for endpoint in endpoints.into_iter().chain([metadata.registration_endpoint.as_ref()]).flatten() {
        if !is_safe_endpoint(endpoint, url) {
            return Err(AuthError::MetadataError(format!("{endpoint:?} is not an https address")));
        }
    }
    manager.set_metadata(metadata);
    Ok(())
}

/// Checks that an address is one of a web page, and encrypted unless it is at this machine or the server's own host.
fn is_safe_endpoint(endpoint: &str, server: &str) -> bool {
    let parsed = |address: &str| reqwest::Url::parse(address).ok();
    let host = |url: &reqwest::Url| url.host_str().map(str::to_owned);
    let (Some(endpoint_url), Some(server)) = (parsed(endpoint), parsed(server)) else { return false };
    let is_near = host(&endpoint_url) == host(&server)
        || endpoint_url.host_str().is_some_and(|host| ["localhost", "127.0.0.1", "[::1]"].contains(&host));
    parse_host(endpoint).is_ok() && (endpoint_url.scheme() == "https" || is_near)
}

/// Returns the sentence about a server that refuses requests without a login.
pub(crate) fn needs_login(server: &str) -> String {
    format!("it needs login: tiller mcp login {server} (or set the header Authorization in `headers`)")
}

/// The user's part of a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginPrompt {
    /// The address of the page to log in at.
    pub address: String,
    /// The redirect URL that the browser ends up at, without the query that a pasted address must include.
    pub redirect: String,
}

/// Logs in at a server: `show` presents the page to the user, and `pasted` has the redirect's address if the user
/// pastes it, because the browser runs on another machine.
///
/// # Errors
/// A sentence with the reason.
pub async fn log_in(
    url: &str,
    storage: Arc<dyn LoginStorage>,
    show: impl FnOnce(&LoginPrompt),
    pasted: mpsc::Receiver<String>,
    complain: impl Fn(&str),
) -> Result<(), String> {
    let listener = RedirectListener::bind().await?;
    let session = session(url, storage, listener.address()).await.map_err(|error| describe(&error))?;
    let address = session.get_authorization_url().to_owned();
    let state = state_of(&address)?;
    show(&LoginPrompt { address, redirect: listener.address().to_owned() });
    let redirected = timeout(CONSENT_TIMEOUT, wait_for_redirect(&listener, &state, pasted, complain)).await;
    let redirected = redirected.map_err(|_| "no login within 10 minutes".to_owned())??;
    let exchanged = session.handle_callback_url(&redirected).await;
    exchanged.map(drop).map_err(|error| describe(&error))
}

async fn session(
    url: &str,
    storage: Arc<dyn LoginStorage>,
    redirect: &str,
) -> Result<AuthorizationSession, AuthError> {
    let mut manager = manager(url, storage).await?;
    discover(&mut manager, url).await?;
    let request = AuthorizationRequest::new(redirect)
        .with_client_name("tiller")
        .with_application_type("native")
        .with_initial_scope_selection();
    AuthorizationSession::new(manager, request).await.map_err(|(_, error)| error)
}

/// Returns the `state` of an authorization's address.
fn state_of(address: &str) -> Result<String, String> {
    let parsed = reqwest::Url::parse(address).map_err(|error| error.to_string())?;
    let state = parsed.query_pairs().find(|(name, _)| name == "state");
    state.map(|(_, state)| state.into_owned()).ok_or_else(|| "the login address has no state".to_owned())
}

/// Waits for the redirect of this login, in the browser or pasted. Requests with another state are refused and don't
/// end the wait, so that no other page can end the login.
async fn wait_for_redirect(
    listener: &RedirectListener,
    state: &str,
    mut pasted: mpsc::Receiver<String>,
    complain: impl Fn(&str),
) -> Result<String, String> {
    loop {
        tokio::select! {
            redirect = listener.accept(state) => return redirect?.into_result(),
            Some(line) = pasted.recv() => match parse_redirect(line.trim(), state) {
                Ok(redirect) => return redirect.into_result(),
                Err(problem) => complain(&problem),
            },
        }
    }
}

/// Returns a sentence about a failed login. It has no secrets: the SDK's errors name addresses and error codes.
fn describe(error: &AuthError) -> String {
    match error {
        AuthError::NoAuthorizationSupport => "the server doesn't offer a login (OAuth)".to_owned(),
        error => with_causes(error.to_string(), error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_safe_endpoint_is_encrypted_or_near() {
        for (endpoint, expected) in [
            ("https://auth.example.org/authorize", true),
            ("http://auth.example.org/authorize", false),
            ("http://mcp.example.org:8080/authorize", true),
            ("http://127.0.0.1:3000/token", true),
            ("smb://mcp.example.org/share", false),
            ("file:///etc/passwd", false),
            ("vscode://mcp.example.org/x", false),
            ("https://me@evil.org/authorize", false),
        ] {
            assert_eq!(is_safe_endpoint(endpoint, "http://mcp.example.org/mcp"), expected, "{endpoint}");
        }
    }
}
