//! The state shared by the handlers.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::access::AccessRules;
use crate::free_memory::FreeMemory;
use crate::host::SessionHost;
use crate::metrics::Metrics;
use crate::roots::WorkspaceRoots;
use crate::table::SessionTable;
use crate::watchers::WatcherLimit;

/// Maximum number of concurrent requests. A stream counts until it begins.
const MAX_REQUESTS: usize = 512;

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
    pub(crate) watchers: WatcherLimit,
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
        let memory = FreeMemory::start(tiller_allocator::return_free_memory);
        Self {
            table: SessionTable::start(Arc::clone(&host), Arc::clone(&metrics), memory.clone()),
            host,
            access,
            roots,
            node,
            metrics,
            requests: Semaphore::new(MAX_REQUESTS),
            watchers: WatcherLimit::new(memory),
        }
    }
}
