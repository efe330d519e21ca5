//! The reason to release the terminal.

use std::io;

use tokio::task::JoinHandle;

/// The state of a suspension. It is kept here because the loop's future may be dropped and restarted in
/// between, as when the session opens.
pub(crate) enum SuspendReason {
    /// Stop the process until SIGCONT.
    Stop,
    /// Wait for SIGCONT.
    AwaitContinue,
    /// Open this draft in the external editor.
    Edit(String),
    /// Wait for the editor to exit.
    Editing(JoinHandle<io::Result<String>>),
}
