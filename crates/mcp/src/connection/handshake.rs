//! The handshake with a server on stdio.
//!
//! A server knows the current handshake (`server/discover`), the earlier one (`initialize`), or both. `server/discover`
//! is sent first. If it isn't answered within a second, `initialize` is sent, too, because an old server may ignore
//! unknown requests and a new one may still be starting. A server that accepts `initialize` gets the earlier
//! handshake, because that request selects it; otherwise the response to `server/discover` counts.
//!
//! rmcp then does the chosen handshake; the transport responds to its first request with the known response.

use std::borrow::Cow;
use std::time::Duration;

use rmcp::ClientLifecycleMode;
use rmcp::model::{
    ClientConfig, ClientJsonRpcMessage, ClientRequest, DiscoverRequest, DiscoverRequestParams,
    InitializeRequest, ProtocolVersion, RequestId, RequestMetaObject, ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::RoleClient;
use rmcp::transport::Transport;
use tokio::time::{Instant, timeout_at};

/// Wait for one response before the other handshake is tried. Servers that run respond within milliseconds.
const SILENCE: Duration = Duration::from_secs(1);

/// Ids of the requests sent here. rmcp counts from zero.
const DISCOVER_ID: i64 = 1_000_000_000;
const INITIALIZE_ID: i64 = 1_000_000_001;

/// The current protocol version.
const VERSION: ProtocolVersion = ProtocolVersion::V_2026_07_28;

/// The reason a handshake failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum HandshakeError {
    #[error("the connection was closed")]
    Closed,
    #[error("it refused `initialize`: {0}")]
    Refused(String),
    #[error("its response to `initialize` is invalid")]
    Invalid,
}

/// The handshake with a server on HTTP, which responds to each request: the current one, or else the earlier one.
pub(super) fn http_lifecycle() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![VERSION],
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    }
}

/// A chosen handshake: rmcp's name for it, and the server's response to its first request.
pub(super) struct ChosenHandshake {
    lifecycle: ClientLifecycleMode,
    response: ServerResult,
}

/// Chooses the handshake that a server knows. Waits as long as the server needs to start.
pub(super) async fn choose<T: Transport<RoleClient>>(
    transport: &mut T,
    client: ClientConfig,
) -> Result<ChosenHandshake, HandshakeError> {
    send(transport, discover_request(&client), DISCOVER_ID).await?;
    let mut initialize = Some(initialize_request(client));
    let (mut discovered, mut refusal) = (None, None);
    let mut deadline = Some(Instant::now() + SILENCE);
    loop {
        let received = match deadline {
            Some(deadline) => timeout_at(deadline, transport.receive()).await,
            None => Ok(transport.receive().await),
        };
        let Ok(message) = received else {
            match (discovered.take(), refusal.take(), initialize.take()) {
                (Some(response), _, _) => return Ok(ChosenHandshake::modern(response)),
                (None, Some(refusal), _) => return Err(HandshakeError::Refused(refusal)),
                (None, None, request) => send_initialize(transport, request).await?,
            }
            deadline = None;
            continue;
        };
        match ServerAnswer::parse(message.ok_or(HandshakeError::Closed)?) {
            ServerAnswer::Discovered(response) if initialize.is_some() || refusal.is_some() => {
                return Ok(ChosenHandshake::modern(response));
            }
            ServerAnswer::Discovered(response) => {
                (discovered, deadline) = (Some(response), Some(Instant::now() + SILENCE));
            }
            ServerAnswer::NotDiscovered => match refusal.take() {
                Some(refusal) => return Err(HandshakeError::Refused(refusal)),
                None => {
                    send_initialize(transport, initialize.take()).await?;
                    deadline = None;
                }
            },
            ServerAnswer::Initialized(response) => return Ok(ChosenHandshake::legacy(response)),
            ServerAnswer::NotInitialized => return Err(HandshakeError::Invalid),
            ServerAnswer::Refused(reason) => match discovered.take() {
                Some(response) => return Ok(ChosenHandshake::modern(response)),
                None => (refusal, deadline) = (Some(reason), Some(Instant::now() + SILENCE)),
            },
            ServerAnswer::Other => {}
        }
    }
}

impl ChosenHandshake {
    /// Returns the transport for rmcp, and the handshake that it does.
    pub(super) fn into_transport<T>(self, transport: T) -> (ClientLifecycleMode, HandshakeTransport<T>) {
        let Self { lifecycle, response } = self;
        (lifecycle, HandshakeTransport { transport, response: Some(response), ready: None })
    }

    fn modern(response: ServerResult) -> Self {
        let preferred_versions = vec![VERSION];
        Self { lifecycle: ClientLifecycleMode::Discover { preferred_versions }, response }
    }

    const fn legacy(response: ServerResult) -> Self {
        Self { lifecycle: ClientLifecycleMode::Initialize, response }
    }
}

async fn send_initialize<T: Transport<RoleClient>>(
    transport: &mut T,
    request: Option<ClientRequest>,
) -> Result<(), HandshakeError> {
    match request {
        Some(request) => send(transport, request, INITIALIZE_ID).await,
        None => Ok(()),
    }
}

async fn send<T: Transport<RoleClient>>(
    transport: &mut T,
    request: ClientRequest,
    id: i64,
) -> Result<(), HandshakeError> {
    let message = ClientJsonRpcMessage::request(request, RequestId::Number(id));
    transport.send(message).await.map_err(|_| HandshakeError::Closed)
}

fn discover_request(client: &ClientConfig) -> ClientRequest {
    let (implementation, capabilities) = (client.client_info.clone(), client.capabilities.clone());
    let mut request = DiscoverRequest::new(DiscoverRequestParams {});
    request.extensions.insert(RequestMetaObject::with_client_context(VERSION, implementation, capabilities));
    ClientRequest::DiscoverRequest(request)
}

fn initialize_request(mut client: ClientConfig) -> ClientRequest {
    client.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
    ClientRequest::InitializeRequest(InitializeRequest::new(client))
}

/// A message of the server during the choice.
enum ServerAnswer {
    Discovered(ServerResult),
    /// An error, another protocol version, or anything but a response to `server/discover`.
    NotDiscovered,
    Initialized(ServerResult),
    NotInitialized,
    /// The error message in response to `initialize`.
    Refused(String),
    Other,
}

impl ServerAnswer {
    fn parse(message: ServerJsonRpcMessage) -> Self {
        match message {
            ServerJsonRpcMessage::Response(response) if is_id(&response.id, DISCOVER_ID) => {
                match response.result {
                    ServerResult::DiscoverResult(result) if result.supported_versions.contains(&VERSION) => {
                        Self::Discovered(ServerResult::DiscoverResult(result))
                    }
                    _ => Self::NotDiscovered,
                }
            }
            ServerJsonRpcMessage::Response(response) if is_id(&response.id, INITIALIZE_ID) => {
                match response.result {
                    result @ ServerResult::InitializeResult(_) => Self::Initialized(result),
                    _ => Self::NotInitialized,
                }
            }
            ServerJsonRpcMessage::Error(error) => match &error.id {
                Some(id) if is_id(id, INITIALIZE_ID) => Self::Refused(error.error.message.into_owned()),
                // A server that can't read a request responds without its id.
                None => Self::NotDiscovered,
                Some(id) if is_id(id, DISCOVER_ID) => Self::NotDiscovered,
                Some(_) => Self::Other,
            },
            ServerJsonRpcMessage::Response(_)
            | ServerJsonRpcMessage::Request(_)
            | ServerJsonRpcMessage::Notification(_) => Self::Other,
        }
    }
}

/// Compares an id, which some servers return as a string.
fn is_id(id: &RequestId, own: i64) -> bool {
    id.to_string() == own.to_string()
}

/// A transport that responds to the first request of the chosen handshake, and drops later responses to the other
/// one.
pub(super) struct HandshakeTransport<T> {
    transport: T,
    /// The known response, until it is requested.
    response: Option<ServerResult>,
    /// The requested response.
    ready: Option<ServerJsonRpcMessage>,
}

impl<T> HandshakeTransport<T> {
    /// Returns true for the request whose response is known.
    fn has_response(&mut self, message: &ClientJsonRpcMessage) -> bool {
        let ClientJsonRpcMessage::Request(sent) = message else { return false };
        let response = self.response.take();
        self.ready = response.map(|response| ServerJsonRpcMessage::response(response, sent.id.clone()));
        self.ready.is_some()
    }
}

fn is_late(message: &ServerJsonRpcMessage) -> bool {
    let id = match message {
        ServerJsonRpcMessage::Response(response) => Some(&response.id),
        ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
        ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => None,
    };
    id.is_some_and(|id| is_id(id, DISCOVER_ID) || is_id(id, INITIALIZE_ID))
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for HandshakeTransport<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let sent = (!self.has_response(&message)).then(|| self.transport.send(message));
        async move {
            match sent {
                Some(sent) => sent.await,
                None => Ok(()),
            }
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        if let Some(response) = self.ready.take() {
            return Some(response);
        }
        loop {
            let message = self.transport.receive().await?;
            if !is_late(&message) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.transport.close().await
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{
        DiscoverRequestMethod, DiscoverResult, ErrorData, ListToolsResult, PaginatedRequestParams,
    };
    use rmcp::service::{RequestContext, RoleServer};
    use rmcp::transport::async_rw::AsyncRwTransport;
    use rmcp::{ClientHandler, ClientServiceExt as _, ServerHandler, ServiceExt as _};
    use serde_json::{Value, json};
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, duplex, split};
    use tokio::time::sleep;

    use super::*;

    #[derive(Clone, Copy)]
    enum TestServer {
        Modern,
        Legacy,
    }

    impl ServerHandler for TestServer {
        async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
            match self {
                Self::Modern => {
                    let versions = self.supported_protocol_versions().into_owned();
                    Ok(DiscoverResult::from_server_info(versions, self.get_info()))
                }
                Self::Legacy => Err(ErrorData::method_not_found::<DiscoverRequestMethod>()),
            }
        }

        async fn list_tools(
            &self,
            _: Option<PaginatedRequestParams>,
            _: RequestContext<RoleServer>,
        ) -> Result<ListToolsResult, ErrorData> {
            Ok(ListToolsResult::default())
        }
    }

    /// Connects to a server and lists its tools; returns the version that was agreed on.
    async fn connect(near: DuplexStream) -> Result<ProtocolVersion, String> {
        let (read, write) = split(near);
        let mut transport = AsyncRwTransport::new_client(read, write);
        let chosen =
            choose(&mut transport, ClientHandler::get_info(&())).await.map_err(|error| error.to_string())?;
        let (lifecycle, transport) = chosen.into_transport(transport);
        let client = ().serve_with_lifecycle(transport, lifecycle).await;
        let client = client.map_err(|error| error.to_string())?;
        client.peer().list_all_tools().await.map_err(|error| error.to_string())?;
        Ok(client.peer().peer_info().unwrap().protocol_version.clone())
    }

    /// Connects to a server that reads nothing for some time.
    async fn connect_to_slow(server: TestServer, delay: Duration) -> Result<ProtocolVersion, String> {
        let (near, far) = duplex(1 << 16);
        tokio::spawn(async move {
            sleep(delay).await;
            let running = server.serve(far).await.map_err(|error| error.to_string())?;
            running.waiting().await.map_err(|error| error.to_string())
        });
        connect(near).await
    }

    /// Connects to a server that responds to a request with the given member of the response, or not at all.
    async fn connect_to_scripted(
        delay: Duration,
        respond: impl Fn(&str) -> Option<(&'static str, Value)> + Send + 'static,
    ) -> Result<ProtocolVersion, String> {
        let (near, far) = duplex(1 << 16);
        tokio::spawn(async move {
            sleep(delay).await;
            let (read, mut write) = split(far);
            let mut lines = BufReader::new(read).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let request: Value = serde_json::from_str(&line).unwrap();
                let response = request["method"].as_str().and_then(&respond);
                if let (Some((key, value)), Some(id)) = (response, request.get("id")) {
                    let response = json!({"jsonrpc": "2.0", "id": id, key: value});
                    write.write_all(format!("{response}\n").as_bytes()).await.unwrap();
                }
            }
        });
        connect(near).await
    }

    const LEGACY: ProtocolVersion = ProtocolVersion::LATEST_WITH_INITIALIZE;

    fn initialized() -> Option<(&'static str, Value)> {
        let server = json!({"name": "x", "version": "1"});
        Some(("result", json!({"protocolVersion": LEGACY, "capabilities": {}, "serverInfo": server})))
    }

    fn discovered() -> Option<(&'static str, Value)> {
        let result = DiscoverResult::from_server_info(vec![VERSION], TestServer::Modern.get_info());
        Some(("result", json!(ServerResult::DiscoverResult(result))))
    }

    fn refused() -> Option<(&'static str, Value)> {
        Some(("error", json!({"code": -32601, "message": "unknown method"})))
    }

    fn tools() -> Option<(&'static str, Value)> {
        Some(("result", json!({"tools": []})))
    }

    #[tokio::test(start_paused = true)]
    async fn handshake_with_slow_server_succeeds() {
        for (server, delay_ms, version) in [
            (TestServer::Modern, 500, VERSION),
            (TestServer::Modern, 25_000, LEGACY),
            (TestServer::Legacy, 500, LEGACY),
            (TestServer::Legacy, 25_000, LEGACY),
        ] {
            let (start, delay) = (Instant::now(), Duration::from_millis(delay_ms));
            assert_eq!(connect_to_slow(server, delay).await, Ok(version));
            assert_eq!(start.elapsed(), delay);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn handshake_with_server_that_ignores_discover_takes_a_second() {
        let start = Instant::now();
        let version = connect_to_scripted(Duration::ZERO, |method| match method {
            "server/discover" => None,
            "initialize" => initialized(),
            _ => tools(),
        });
        assert_eq!(version.await, Ok(LEGACY));
        assert_eq!(start.elapsed(), SILENCE);
    }

    #[tokio::test(start_paused = true)]
    async fn handshake_with_server_without_initialize_is_the_current_one() {
        for (delay_s, is_silent, extra) in
            [(0, false, Duration::ZERO), (25, false, Duration::ZERO), (25, true, SILENCE)]
        {
            let (start, delay) = (Instant::now(), Duration::from_secs(delay_s));
            let version = connect_to_scripted(delay, move |method| match method {
                "server/discover" => discovered(),
                "initialize" if is_silent => None,
                "initialize" => refused(),
                _ => tools(),
            });
            assert_eq!(version.await, Ok(VERSION));
            assert_eq!(start.elapsed(), delay + extra);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn handshake_with_empty_response_to_discover_is_the_earlier_one() {
        let version = connect_to_scripted(Duration::ZERO, |method| match method {
            "server/discover" => Some(("result", json!({}))),
            "initialize" => initialized(),
            _ => tools(),
        });
        assert_eq!(version.await, Ok(LEGACY));
    }

    #[tokio::test(start_paused = true)]
    async fn handshake_with_unusable_response_says_why() {
        let empty = connect_to_scripted(Duration::ZERO, |_| Some(("result", json!({}))));
        assert_eq!(empty.await, Err(HandshakeError::Invalid.to_string()));
        let all_refused = connect_to_scripted(Duration::ZERO, |_| refused());
        assert_eq!(all_refused.await, Err(HandshakeError::Refused("unknown method".into()).to_string()));
    }
}
