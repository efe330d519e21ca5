//! Starts supervisors: on demand, or ahead of time.
//!
//! A supervisor takes a few milliseconds to start. A [`Standby`] holds one that was started while the model
//! was still writing its answer. It waits for its order (`process/order.rs`) on stdin, so that starting a
//! command takes only a write and a fork.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::process::{Child, ChildStderr, ChildStdout};

use super::order::CommandOrder;
use super::supervisor;

/// The settings for starting supervisors.
#[derive(Clone, Debug)]
pub(super) struct Launcher {
    /// The supervisor's program; empty if commands can't be run.
    pub program: PathBuf,
    /// Names of environment variables withheld from commands.
    pub withheld: Arc<[String]>,
}

/// A started supervisor.
#[derive(Debug)]
pub(super) struct Supervisor {
    /// The supervisor's stdin; when it closes, the supervisor kills the command.
    pub lifeline: OwnedFd,
    pub output: ChildStdout,
    pub reports: ChildStderr,
    pub process: Child,
}

impl Launcher {
    /// Starts a supervisor with these arguments after [`supervisor::NAME`].
    pub(super) fn start<I>(&self, arguments: I, cwd: &Path) -> io::Result<Supervisor>
    where
        I: IntoIterator<Item: AsRef<OsStr>>,
    {
        let mut command = tokio::process::Command::new(&self.program);
        for name in &*self.withheld {
            command.env_remove(name);
        }
        let mut process = command
            .arg(supervisor::NAME)
            .args(arguments)
            .current_dir(cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        Ok(Supervisor {
            lifeline: process.stdin.take().expect("stdin is piped").into_owned_fd()?,
            output: process.stdout.take().expect("stdout is piped"),
            reports: process.stderr.take().expect("stderr is piped"),
            process,
        })
    }
}

/// At most one supervisor that is waiting for its order.
#[derive(Debug, Default)]
pub(super) struct Standby {
    // A mutex, because tools use it from their own tasks. It is held while a supervisor is started, which
    // takes no longer than starting a second one would.
    state: Mutex<StandbyState>,
}

#[derive(Debug, Default)]
struct StandbyState {
    is_requested: bool,
    ready: Option<Supervisor>,
}

impl Standby {
    fn state(&self) -> MutexGuard<'_, StandbyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a supervisor if none is waiting. Call it within a tokio runtime.
    pub(super) fn start(self: &Arc<Self>, launcher: &Launcher) {
        {
            // If it is locked, a supervisor is being started.
            let Ok(mut state) = self.state.try_lock() else { return };
            state.is_requested = true;
            if state.ready.is_some() || launcher.program.as_os_str().is_empty() {
                return;
            }
        }
        let (standby, launcher) = (Arc::clone(self), launcher.clone());
        tokio::task::spawn_blocking(move || {
            let mut state = standby.state();
            if state.is_requested && state.ready.is_none() {
                // It runs in `/`, since a command may remove its own working directory. A failure will occur
                // again, and be reported, when the command starts its own supervisor.
                state.ready = launcher.start([supervisor::STANDBY], Path::new("/")).ok();
            }
        });
    }

    /// Returns true if a supervisor was requested and not ended.
    pub(super) fn is_requested(&self) -> bool {
        self.state.try_lock().is_ok_and(|state| state.is_requested)
    }

    /// Ends the waiting supervisor.
    pub(super) fn end(&self) {
        let mut state = self.state();
        state.is_requested = false;
        state.ready = None;
    }

    /// Sends the order to the waiting supervisor. Returns `None` if there is none, or it has died.
    pub(super) fn take(&self, order: &CommandOrder<'_>) -> Option<Supervisor> {
        let order = order.encode()?;
        let supervisor = self.state().ready.take()?;
        let mut lifeline = File::from(supervisor.lifeline);
        lifeline.write_all(&order).ok()?;
        Some(Supervisor { lifeline: lifeline.into(), ..supervisor })
    }
}
