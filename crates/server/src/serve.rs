//! The server: its router, and the loop that accepts connections.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use rustls::ServerConfig;
use tiller_core::id::SessionId;
use tiller_engine::AgentSession;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::access::AccessRules;
use crate::app_state::AppState;
use crate::connection;
use crate::host::SessionHost;
use crate::roots::WorkspaceRoots;
use crate::router::router;

/// Maximum number of connections. Further ones wait in the listener's queue.
const MAX_CONNECTIONS: usize = 8_192;

/// Time for the last responses after all sessions were closed.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Time after a failed accept, such as for lack of file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// The search for an open session.
pub type FoundSession = Pin<Box<dyn Future<Output = Option<AgentSession>> + Send>>;

/// Sessions over HTTP.
pub struct HttpServer {
    state: Arc<AppState>,
    router: Router,
}

/// A socket that is listened on.
pub struct BoundSocket {
    /// The socket.
    pub listener: TcpListener,
    /// The certificate and its key; without them, connections are plain.
    pub tls: Option<Arc<ServerConfig>>,
}

impl HttpServer {
    /// Creates a server without open sessions; `node` is its name in them. Must be called on a tokio runtime.
    #[must_use]
    pub fn new(host: Arc<dyn SessionHost>, access: AccessRules, roots: WorkspaceRoots, node: String) -> Self {
        let base_path = access.base_path.clone();
        let state = Arc::new(AppState::new(host, access, roots, node));
        Self { router: base_path.mount(router(Arc::clone(&state))), state }
    }

    /// Returns the router, for callers that accept connections themselves.
    pub fn router(&self) -> Router {
        self.router.clone()
    }

    /// Serves connections until `shutdown` resolves. Then no more are accepted, and the sessions are closed: running
    /// work is stopped and recorded, which also ends the event streams.
    pub async fn run(self, listening: BoundSocket, shutdown: impl Future<Output = ()>) {
        let BoundSocket { listener, tls } = listening;
        let tls = tls.map(TlsAcceptor::from);
        let (begin_shutdown, is_shutting_down) = watch::channel(false);
        let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let mut connections = JoinSet::new();
        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            let accept = async {
                let permit = Arc::clone(&permits).acquire_owned().await;
                (permit, listener.accept().await)
            };
            tokio::select! {
                biased;
                () = shutdown.as_mut() => break,
                Some(_) = connections.join_next() => {}
                (permit, accepted) = accept => match accepted {
                    Ok((stream, _)) => {
                        let serve =
                            connection::serve(stream, tls.clone(), self.router.clone(), is_shutting_down.clone());
                        connections.spawn(async move {
                            let _permit = permit;
                            serve.await;
                        });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "a connection can't be accepted");
                        sleep(ACCEPT_RETRY).await;
                    }
                },
            }
        }
        drop(listener);
        begin_shutdown.send_replace(true);
        self.close().await;
        let _ = timeout(DRAIN_TIMEOUT, async { while connections.join_next().await.is_some() {} }).await;
    }

    /// Returns a function that finds an open session, or that of a running agent.
    pub fn finder(&self) -> impl Fn(SessionId) -> FoundSession + Send + Sync + use<> {
        let state = Arc::clone(&self.state);
        move |id| {
            let state = Arc::clone(&state);
            Box::pin(async move {
                if let Some(session) = state.table.find(&id).await.ok()? {
                    return Some(session.agent.clone());
                }
                for session in state.table.list().await.ok()? {
                    if let Ok(found) = session.agent.session_or_agent(id.clone()).await {
                        return Some(found);
                    }
                }
                None
            })
        }
    }

    /// Closes all sessions; afterwards none can be opened.
    pub async fn close(&self) {
        self.state.table.shut_down().await;
    }
}
