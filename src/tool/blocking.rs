//! Work that blocks on the disk, on a thread that may.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{PreviewFuture, ToolOutput};
use crate::event::Preview;

/// Tells long work that nobody waits for it any more.
#[derive(Clone, Debug, Default)]
pub(super) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Whether to stop.
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `work` on a blocking thread. Dropping the future sets its [`Stop`]; short work may ignore that.
pub(super) async fn run(work: impl FnOnce(&Stop) -> ToolOutput + Send + 'static) -> ToolOutput {
    let stop = Stop::default();
    let guard = StopOnDrop(stop.clone());
    let outcome = tokio::task::spawn_blocking(move || work(&stop)).await;
    drop(guard);
    outcome.unwrap_or_else(|error| ToolOutput::error(format!("the tool failed: {error}")))
}

/// Looks at what a call would do, on a blocking thread.
pub(super) fn preview(
    look: impl FnOnce() -> Result<Preview, String> + Send + 'static,
) -> PreviewFuture<'static> {
    Box::pin(async move {
        let looked = tokio::task::spawn_blocking(look).await;
        let looked = looked.unwrap_or_else(|error| Err(format!("the tool failed: {error}")));
        looked.unwrap_or_else(|message| Preview::Failure { message })
    })
}
