//! The state shared by the handlers.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::access::AccessRules;
use crate::host::SessionHost;
use crate::metrics::Metrics;
use crate::roots::WorkspaceRoots;
use crate::table::SessionTable;

/// Maximum number of concurrent requests. A stream counts until it begins.
const MAX_REQUESTS: usize = 512;

/// Maximum number of concurrent event streams: each is a connection, a task and 64 events on their way.
const MAX_WATCHERS: usize = 4_096;

/// The state shared by the handlers.
pub(crate) struct AppState {
    pub(crate) host: Arc<dyn SessionHost>,
    pub(crate) table: SessionTable,
    pub(crate) access: AccessRules,
    pub(crate) roots: WorkspaceRoots,
    /// The name of this server in its sessions.
    pub(crate) node: String,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) requests: Semaphore,
    pub(crate) watchers: Arc<Semaphore>,
}

impl AppState {
    /// Starts the table of sessions.
    pub(crate) fn new(
        host: Arc<dyn SessionHost>,
        access: AccessRules,
        roots: WorkspaceRoots,
        node: String,
    ) -> Self {
        let metrics = Arc::new(Metrics::default());
        Self {
            table: SessionTable::start(Arc::clone(&host), Arc::clone(&metrics)),
            host,
            access,
            roots,
            node,
            metrics,
            requests: Semaphore::new(MAX_REQUESTS),
            watchers: Arc::new(Semaphore::new(MAX_WATCHERS)),
        }
    }
}
