//! Opening a connection: the child process or the HTTP client, and the handshake.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::service::{ClientInitializeError, Peer, RoleClient, RunningService};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError};
use rmcp::transport::{StreamableHttpClientTransport, Transport};
use rmcp::{ClientHandler as _, ClientServiceExt as _};
use tiller_tools::process::{NetworkAccess, Runner, SandboxProfile};
use tiller_tools::tool::{ensure_crypto, with_causes};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::announcements::CountingTransport;
use super::handshake::{self, HandshakeError};
use crate::config::{ConfigOrigin, Endpoint, HttpEndpoint, StdioEndpoint};
use crate::elicitation::ElicitationSender;
use crate::handler::ConnectionHandler;
use crate::login;
use crate::options::McpOptions;
use crate::server::Server;
use crate::stdio;
use crate::tool_name::server_prefix;

/// Longest wait for the report about the end of a process that has closed its output: more than the supervisor takes to
/// kill it.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// An open connection. Dropping it ends the server's process.
pub(super) struct OpenConnection {
    pub(super) peer: Peer<RoleClient>,
    pub(super) handler: ConnectionHandler,
    /// Ends with the connection.
    service: JoinSet<()>,
    /// Reads the stderr of a process; yields the description of its end.
    stderr: JoinSet<String>,
}

/// Connects to a server.
///
/// # Errors
/// The reason, as a sentence.
pub(super) async fn open(
    server: &Arc<Server>,
    options: &McpOptions,
    asker: ElicitationSender,
) -> Result<OpenConnection, String> {
    match &server.config.endpoint {
        Endpoint::Stdio(endpoint) => open_stdio(server, endpoint, options, asker).await,
        Endpoint::Http(endpoint) => open_http(server, endpoint, options, asker).await,
    }
}

async fn open_stdio(
    server: &Arc<Server>,
    endpoint: &StdioEndpoint,
    options: &McpOptions,
    asker: ElicitationSender,
) -> Result<OpenConnection, String> {
    let runner = sandbox_of(server, options).into_iter().fold(options.runner.clone(), Runner::with_sandbox);
    let child = stdio::start(endpoint, &runner, &options.cwd, &options.secrets);
    let child = child.map_err(|error| error.to_string())?;
    let mut stderr = JoinSet::new();
    stderr.spawn(server.stderr.clone().follow(server.name().to_owned(), child.stderr));
    let handler = ConnectionHandler::new(asker);
    let transport = AsyncRwTransport::new_client(child.stdout, child.stdin);
    let reason = match connect(transport, &handler).await {
        Ok(service) => return Ok(OpenConnection::new(service, handler, stderr)),
        // The program's end says more than the closed connection.
        Err(error @ HandshakeError::Closed) => {
            end_of_process(&mut stderr).await.unwrap_or_else(|| error.to_string())
        }
        Err(error) => error.to_string(),
    };
    Err(reason)
}

async fn connect<T: Transport<RoleClient> + 'static>(
    mut transport: T,
    handler: &ConnectionHandler,
) -> Result<RunningService<RoleClient, ConnectionHandler>, HandshakeError> {
    let chosen = handshake::choose(&mut transport, handler.get_info()).await?;
    let (lifecycle, transport) = chosen.into_transport(transport);
    let transport = CountingTransport::new(transport, handler.lists_changed.clone());
    // The response is valid, so only the connection can fail.
    handler.clone().serve_with_lifecycle(transport, lifecycle).await.map_err(|_| HandshakeError::Closed)
}

/// Returns the sandbox for a server's program: one that a project's file configures may use TCP only if a rule
/// allows it. A server at an address has no program.
fn sandbox_of(server: &Server, options: &McpOptions) -> Option<SandboxProfile> {
    let (ConfigOrigin::Project(_), Endpoint::Stdio(_)) = (&server.config.origin, &server.config.endpoint)
    else {
        return None;
    };
    let mut profile = options.sandbox.clone()?;
    if options.networked.iter().any(|name| name == server.name()) {
        profile.network = NetworkAccess::Allowed;
    }
    Some(profile)
}

/// Adds the way to TCP to the reason why a server without it failed.
pub(super) fn explain_failure(reason: String, server: &Server, options: &McpOptions) -> String {
    match sandbox_of(server, options) {
        Some(profile) if profile.network == NetworkAccess::Denied => with_network_hint(reason, server.name()),
        Some(_) | None => reason,
    }
}

fn with_network_hint(reason: String, name: &str) -> String {
    // The supervisor's message: the program couldn't be started.
    if reason.starts_with("can't start ") {
        return reason;
    }
    let rule = format!(r#"{{"tool": "{}*", "decision": "ask", "network": true}}"#, server_prefix(name));
    format!(
        "{reason}; it can't use TCP in its sandbox; if it needs TCP, add the rule {rule} to `policy.rules`"
    )
}

async fn open_http(
    server: &Server,
    endpoint: &HttpEndpoint,
    options: &McpOptions,
    asker: ElicitationSender,
) -> Result<OpenConnection, String> {
    ensure_crypto();
    let config = StreamableHttpClientTransportConfig::with_uri(endpoint.url.as_str());
    let config = config.custom_headers(headers(&endpoint.headers)?);
    let handler = ConnectionHandler::new(asker);
    let has_header = endpoint.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    let login = match has_header {
        true => None,
        false => login::authorized_client(&endpoint.url, &options.logins).await?,
    };
    let started = match login {
        Some(client) => {
            let transport = StreamableHttpClientTransport::with_client(client, config);
            let transport = CountingTransport::new(transport, handler.lists_changed.clone());
            handler.clone().serve_with_lifecycle(transport, handshake::http_lifecycle()).await
        }
        None => {
            let transport = StreamableHttpClientTransport::from_config(config);
            let transport = CountingTransport::new(transport, handler.lists_changed.clone());
            handler.clone().serve_with_lifecycle(transport, handshake::http_lifecycle()).await
        }
    };
    match started {
        Ok(service) => Ok(OpenConnection::new(service, handler, JoinSet::new())),
        Err(error) if error.is_authorization_required() => Err(login::needs_login(server.name())),
        Err(error) => Err(describe(&error)),
    }
}

impl OpenConnection {
    fn new(
        running: RunningService<RoleClient, ConnectionHandler>,
        handler: ConnectionHandler,
        stderr: JoinSet<String>,
    ) -> Self {
        let (peer, mut service) = (running.peer().clone(), JoinSet::new());
        service.spawn(async move { drop(running.waiting().await) });
        Self { peer, handler, service, stderr }
    }

    /// Waits for the end of the server and returns its reason. Cancel-safe.
    pub(super) async fn ended(&mut self) -> String {
        let _ = self.service.join_next().await;
        let reason = end_of_process(&mut self.stderr).await;
        reason.unwrap_or_else(|| "the connection was closed".to_owned())
    }
}

/// Returns the description of a process's end, if it ends soon; its output is closed already.
async fn end_of_process(stderr: &mut JoinSet<String>) -> Option<String> {
    timeout(END_TIMEOUT, stderr.join_next()).await.ok()??.ok()
}

/// Returns a sentence with the causes of an error, which name the server's address.
fn describe(error: &ClientInitializeError) -> String {
    let outermost: &dyn Error = match error {
        // Its own text names types of the transport, which doesn't name the HTTP client's error as its source.
        ClientInitializeError::TransportError { error, .. } => match error.error.downcast_ref() {
            Some(StreamableHttpError::Client(client)) => client as &reqwest::Error,
            Some(_) | None => error.error.as_ref(),
        },
        error => error,
    };
    with_causes(outermost.to_string(), outermost)
}

fn headers(headers: &[(String, String)]) -> Result<HashMap<HeaderName, HeaderValue>, String> {
    let header = |(name, value): &(String, String)| {
        let valid_name =
            name.parse::<HeaderName>().map_err(|_| format!("`{name}` is not the name of a header"))?;
        let mut valid =
            value.parse::<HeaderValue>().map_err(|_| format!("the header {name} has an invalid value"))?;
        valid.set_sensitive(true);
        Ok((valid_name, valid))
    };
    headers.iter().map(header).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_hint_is_left_out_if_the_program_cannot_start() {
        let ended = with_network_hint("it ended with exit code 3".to_owned(), "db");
        assert!(ended.starts_with("it ended with exit code 3; it can't use TCP in its sandbox; "), "{ended}");
        let missing = "can't start /nope: No such file or directory";
        assert_eq!(with_network_hint(missing.to_owned(), "db"), missing);
    }
}
