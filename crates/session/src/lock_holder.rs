//! The process that holds a log's lock, as identified in its note.

use std::fmt;
use std::time::SystemTime;

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::{Pid, gethostname};
use serde::{Deserialize, Serialize};
use tiller_core::unit::UnixMs;

/// The process that has a log open for writing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockHolder {
    /// Process id.
    pub pid: i32,
    /// The machine it runs on.
    pub host: String,
    /// The time at which it acquired the lock, ISO-8601 UTC.
    pub since: String,
}

impl LockHolder {
    /// Returns this process, as if it had just acquired a lock.
    #[must_use]
    pub fn this_process() -> Self {
        let since = UnixMs::from(SystemTime::now()).to_iso();
        Self { pid: Pid::this().as_raw(), host: host_name(), since }
    }

    /// Returns true if the process runs on this machine.
    #[must_use]
    pub fn is_on_this_machine(&self) -> bool {
        self.host == host_name()
    }

    /// Returns true if the process has ended: its note is still there, and the current holder has not written
    /// one yet.
    pub(super) fn is_stale(&self) -> bool {
        self.is_on_this_machine() && kill(Pid::from_raw(self.pid), None) == Err(Errno::ESRCH)
    }
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pid {} on {}, since {}", self.pid, self.host, self.since)
    }
}

/// Returns the name of this machine.
#[must_use]
pub fn host_name() -> String {
    gethostname().map_or_else(|_| "an unnamed host".to_owned(), |name| name.to_string_lossy().into_owned())
}
