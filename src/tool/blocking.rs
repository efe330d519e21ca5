//! Work that blocks on the disk, on a thread that may.

use super::{PreviewFuture, ToolOutput};
use crate::event::Preview;
use crate::files::walk::CancelFlag;

struct CancelOnDrop(CancelFlag);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Runs `work` on a blocking thread. Dropping the future abandons it and sets its flag; short work may ignore that.
pub(super) async fn run(work: impl FnOnce(&CancelFlag) -> ToolOutput + Send + 'static) -> ToolOutput {
    let cancel = CancelFlag::default();
    let guard = CancelOnDrop(cancel.clone());
    let outcome = tokio::task::spawn_blocking(move || work(&cancel)).await;
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
