//! Returns free memory to the system after sessions and streams have ended.

use std::time::Duration;

use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

/// Pause before memory is returned: other sessions and streams may end in the meantime.
const PAUSE: Duration = Duration::from_secs(1);

/// A handle of the task that returns memory.
#[derive(Clone)]
pub(crate) struct FreeMemory {
    freed: watch::Sender<()>,
}

impl FreeMemory {
    /// Starts the task, which ends with the last handle. It calls `give_back` from a blocking thread.
    pub(crate) fn start(give_back: impl Fn() + Clone + Send + Sync + 'static) -> Self {
        let (freed, receiver) = watch::channel(());
        tokio::spawn(return_memory(receiver, give_back));
        Self { freed }
    }

    /// Returns the memory that was freed, after a pause and together with what is freed meanwhile.
    pub(crate) fn return_soon(&self) {
        self.freed.send_replace(());
    }
}

async fn return_memory(mut freed: watch::Receiver<()>, give_back: impl Fn() + Clone + Send + 'static) {
    while freed.changed().await.is_ok() {
        sleep(PAUSE).await;
        freed.mark_unchanged();
        if let Err(panic) = spawn_blocking(give_back.clone()).await {
            tracing::error!(%panic, "free memory could not be returned");
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn free_memory_of_many_ends_is_returned_once() {
        let (sender, mut returns) = mpsc::unbounded_channel();
        let memory = FreeMemory::start(move || _ = sender.send(()));
        let start = Instant::now();
        for end in 0..3 {
            (0..100).for_each(|_| memory.return_soon());
            assert_eq!(returns.recv().await, Some(()));
            assert_eq!(start.elapsed(), PAUSE * (end + 1));
        }
        drop(memory);
        assert_eq!(returns.recv().await, None);
    }
}
