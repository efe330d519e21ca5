//! The link from a server's tools to its connection, which changes when the server is restarted.

use std::sync::Arc;

use rmcp::service::{Peer, RoleClient};
use tokio::sync::watch;

use crate::elicitation::ElicitationSender;
use crate::list_changes::ListChanges;
use crate::running_requests::RunningRequests;

/// A connection's state.
#[derive(Clone)]
pub(crate) enum LinkState {
    Starting,
    Live(Arc<LivePeer>),
    Failed(String),
}

/// A connected server.
pub(crate) struct LivePeer {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) requests: RunningRequests,
    pub(crate) asker: ElicitationSender,
    pub(crate) lists_changed: ListChanges,
}

/// A tool's end of the link.
#[derive(Clone)]
pub(crate) struct Link(pub(crate) watch::Receiver<LinkState>);

impl Link {
    /// Waits while the server starts.
    ///
    /// # Errors
    /// The reason it doesn't run.
    pub(crate) async fn wait_until_live(&self) -> Result<Arc<LivePeer>, String> {
        let mut changes = self.0.clone();
        loop {
            match &*changes.borrow_and_update() {
                LinkState::Live(live) if !live.peer.is_transport_closed() => return Ok(Arc::clone(live)),
                LinkState::Failed(reason) => return Err(format!("it is not running: {reason}")),
                // It has just ended, and its connection is about to restart it.
                LinkState::Live(_) | LinkState::Starting => {}
            }
            if changes.changed().await.is_err() {
                return Err("it is not running".to_owned());
            }
        }
    }
}
