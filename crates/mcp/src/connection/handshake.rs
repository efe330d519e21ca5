//! The handshake with a server on stdio.
//!
//! rmcp requests the current protocol with `server/discover`. After 10 s without a response it sends `initialize`, the
//! handshake of earlier versions, and takes the next response for the response to `initialize`. A server that needs
//! longer to start responds to both requests, so the first of these responses is dropped here.

use std::borrow::Cow;

use rmcp::ClientLifecycleMode;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ProtocolVersion, RequestId, ServerJsonRpcMessage};
use rmcp::service::RoleClient;
use rmcp::transport::Transport;

/// The handshake: the current one, or else the one of earlier versions.
pub(super) fn lifecycle() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    }
}

/// A transport that drops the answer to `server/discover` once `initialize` was sent.
pub(super) struct HandshakeTransport<T> {
    transport: T,
    /// The last `server/discover`.
    discover: Option<RequestId>,
    has_initialized: bool,
}

impl<T> HandshakeTransport<T> {
    pub(super) fn new(transport: T) -> Self {
        Self { transport, discover: None, has_initialized: false }
    }

    fn note(&mut self, message: &ClientJsonRpcMessage) {
        let ClientJsonRpcMessage::Request(sent) = message else { return };
        match &sent.request {
            ClientRequest::DiscoverRequest(_) => self.discover = Some(sent.id.clone()),
            ClientRequest::InitializeRequest(_) => self.has_initialized = true,
            _ => {}
        }
    }

    fn is_late(&self, message: &ServerJsonRpcMessage) -> bool {
        let id = match message {
            ServerJsonRpcMessage::Response(response) => Some(&response.id),
            ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
            ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => None,
        };
        self.has_initialized && id.is_some() && id == self.discover.as_ref()
    }
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
        self.note(&message);
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let message = self.transport.receive().await?;
            if !self.is_late(&message) {
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
    use std::time::Duration;

    use rmcp::model::{
        DiscoverRequestMethod, DiscoverResult, ErrorData, ListToolsResult, PaginatedRequestParams,
    };
    use rmcp::service::{RequestContext, RoleServer};
    use rmcp::transport::async_rw::AsyncRwTransport;
    use rmcp::{ClientServiceExt as _, ServerHandler, ServiceExt as _};
    use tokio::time::{Instant, sleep};

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

    /// Connects to a server that reads nothing for some time; returns the version that was agreed on.
    async fn connect_to_slow(server: TestServer, delay: Duration) -> Result<ProtocolVersion, String> {
        let (near, far) = tokio::io::duplex(1 << 16);
        tokio::spawn(async move {
            sleep(delay).await;
            let running = server.serve(far).await.map_err(|error| error.to_string())?;
            running.waiting().await.map_err(|error| error.to_string())
        });
        let (read, write) = tokio::io::split(near);
        let transport = HandshakeTransport::new(AsyncRwTransport::new_client(read, write));
        let client = ().serve_with_lifecycle(transport, lifecycle()).await;
        let client = client.map_err(|error| error.to_string())?;
        client.peer().list_all_tools().await.map_err(|error| error.to_string())?;
        Ok(client.peer().peer_info().unwrap().protocol_version.clone())
    }

    #[tokio::test(start_paused = true)]
    async fn handshake_with_slow_server_succeeds() {
        let legacy = ProtocolVersion::LATEST_WITH_INITIALIZE;
        for (server, delay, version) in [
            (TestServer::Modern, 1, ProtocolVersion::V_2026_07_28),
            (TestServer::Modern, 25, legacy.clone()),
            (TestServer::Legacy, 1, legacy.clone()),
            (TestServer::Legacy, 25, legacy),
        ] {
            let (start, delay) = (Instant::now(), Duration::from_secs(delay));
            assert_eq!(connect_to_slow(server, delay).await, Ok(version));
            assert_eq!(start.elapsed(), delay);
        }
    }
}
