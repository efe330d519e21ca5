//! Blocking work of tools, run on tokio's blocking threads.

use tiller_core::event::Preview;
use tiller_files::walk::CancelFlag;

use super::{PreviewFuture, ToolOutput};

struct CancelOnDrop(CancelFlag);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Runs `work` on a blocking thread. Dropping the future abandons the work and sets its cancel flag, which
/// short work may ignore.
pub(super) async fn run(work: impl FnOnce(&CancelFlag) -> ToolOutput + Send + 'static) -> ToolOutput {
    let cancel = CancelFlag::default();
    let guard = CancelOnDrop(cancel.clone());
    let outcome = tokio::task::spawn_blocking(move || work(&cancel)).await;
    drop(guard);
    outcome.unwrap_or_else(|error| ToolOutput::error(format!("the tool failed: {error}")))
}

/// Computes the preview of a call on a blocking thread.
pub(super) fn preview(
    compute: impl FnOnce() -> Result<Preview, String> + Send + 'static,
) -> PreviewFuture<'static> {
    Box::pin(async move {
        let preview = tokio::task::spawn_blocking(compute).await;
        let preview = preview.unwrap_or_else(|error| Err(format!("the tool failed: {error}")));
        preview.unwrap_or_else(|message| Preview::Failure { message })
    })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn run_dropped_while_blocked_returns_and_cancels() {
        let (release, released) = mpsc::channel::<()>();
        let (report, reported) = tokio::sync::oneshot::channel();
        let mut work = Box::pin(run(move |cancel| {
            // Like a read from an unresponsive file system.
            let _ = released.recv();
            let _ = report.send(cancel.is_set());
            ToolOutput::text("")
        }));
        assert!(futures_util::poll!(&mut work).is_pending());
        drop(work);
        drop(release);
        assert!(reported.await.unwrap(), "the work sees the cancel flag");
    }
}
