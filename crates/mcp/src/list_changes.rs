//! Changes of a server's lists, from their announcement until the lists have been read again.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

/// Maximum time that a call's result waits for the lists. The server may be slow to list its tools.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// The number of announced changes, and of those read.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListChanges {
    announced: Arc<watch::Sender<u64>>,
    read: Arc<watch::Sender<u64>>,
}

impl ListChanges {
    pub(crate) fn announce(&self) {
        self.announced.send_modify(|count| *count += 1);
    }

    /// Returns the number of announced changes.
    pub(crate) fn announced(&self) -> u64 {
        *self.announced.borrow()
    }

    /// Waits for a change that hasn't been read.
    pub(crate) async fn wait_for_next(&self) {
        let read = *self.read.borrow();
        // This value holds the sender.
        let _ = self.announced.subscribe().wait_for(|count| *count > read).await;
    }

    /// Records that the lists have been read after this number of changes.
    pub(crate) fn mark_read(&self, count: u64) {
        self.read.send_replace(count);
    }

    /// Waits until the changes announced so far have been read, for a limited time.
    pub(crate) async fn wait_until_read(&self) {
        let announced = self.announced();
        let mut read = self.read.subscribe();
        let _ = timeout(MAX_WAIT, read.wait_for(|count| *count >= announced)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn list_changes_are_awaited_until_read() {
        let changes = ListChanges::default();
        changes.wait_until_read().await;
        changes.announce();
        changes.wait_for_next().await;
        let waiting = tokio::spawn({
            let changes = changes.clone();
            async move { changes.wait_until_read().await }
        });
        for _ in 0..16 {
            tokio::task::yield_now().await;
        }
        assert!(!waiting.is_finished());
        changes.mark_read(changes.announced());
        waiting.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn list_changes_that_are_never_read_dont_block() {
        let changes = ListChanges::default();
        changes.announce();
        changes.wait_until_read().await;
        assert_eq!(*changes.read.borrow(), 0);
    }
}
