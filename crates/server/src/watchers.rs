//! The limit of the front ends that watch sessions: event streams and attached TUIs.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::free_memory::FreeMemory;
use crate::problem::{OVERLOADED, Problem};

/// Maximum number of concurrent event streams: each is a connection, a task and 64 events on their way.
const MAX_WATCHERS: usize = 4_096;

/// The permits of all watchers.
pub(crate) struct WatcherLimit {
    permits: Arc<Semaphore>,
    memory: FreeMemory,
}

/// A watcher's permit, which it holds until it ends. Its memory is returned to the system afterwards.
pub(crate) struct WatcherPermit {
    _permit: OwnedSemaphorePermit,
    memory: FreeMemory,
}

impl WatcherLimit {
    pub(crate) fn new(memory: FreeMemory) -> Self {
        Self { permits: Arc::new(Semaphore::new(MAX_WATCHERS)), memory }
    }

    pub(crate) fn acquire(&self) -> Result<WatcherPermit, Problem> {
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        let permit = permit.map_err(|_| OVERLOADED.detail("too many concurrent event streams"))?;
        Ok(WatcherPermit { _permit: permit, memory: self.memory.clone() })
    }
}

impl Drop for WatcherPermit {
    fn drop(&mut self) {
        self.memory.return_soon();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::mpsc;
    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn watcher_end_returns_its_memory() {
        let (sender, mut returns) = mpsc::unbounded_channel();
        let limit = WatcherLimit::new(FreeMemory::start(move || _ = sender.send(())));
        let permits: Vec<WatcherPermit> = (0..MAX_WATCHERS).map(|_| limit.acquire().unwrap()).collect();
        assert!(limit.acquire().is_err());
        let minute = Duration::from_secs(60);
        assert!(timeout(minute, returns.recv()).await.is_err());
        drop(permits);
        assert_eq!(returns.recv().await, Some(()));
        assert!(limit.acquire().is_ok());
    }
}
