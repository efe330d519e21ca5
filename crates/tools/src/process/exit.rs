//! A command's end.

use nix::sys::signal::Signal;

/// A command's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// The shell's own exit status.
    pub status: ExitStatus,
    /// Number of processes that the shell left behind and that were killed.
    pub leftovers: usize,
}

/// The exit status of the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// The shell exited with this code.
    Code(i32),
    /// The shell was killed by this signal.
    Signal(i32),
}

impl ExitStatus {
    /// Returns the exit code; `None` if a signal killed the command.
    #[must_use]
    pub const fn code(self) -> Option<i32> {
        match self {
            Self::Code(code) => Some(code),
            Self::Signal(_) => None,
        }
    }

    /// Describes a failure for the model: `exit code 1`, `killed by signal 9 (SIGKILL)`; `None` after a success.
    #[must_use]
    pub fn failure(self) -> Option<String> {
        match self {
            Self::Code(0) => None,
            Self::Code(code) => Some(format!("exit code {code}")),
            Self::Signal(signal) => Some(match Signal::try_from(signal) {
                Ok(name) => format!("killed by signal {signal} ({name})"),
                Err(_) => format!("killed by signal {signal}"),
            }),
        }
    }
}
