//! The reason to release the terminal.

use std::io;

use tokio::task::JoinHandle;

/// A suspension's state. It is stored here because the loop's future may be dropped and restarted during
/// the suspension, for example when the session opens.
pub(crate) enum SuspendReason {
    /// Stops the process until SIGCONT.
    Stop,
    /// Waits for SIGCONT.
    AwaitContinue,
    /// Opens this draft in the external editor.
    Edit(String),
    /// Waits for the editor to exit.
    Editing(JoinHandle<io::Result<String>>),
}
