//! The watchdog: the process between tiller and a command's supervisor. Linux only.
//!
//! A command knows its parent, the supervisor, and can kill it (`kill -9 $PPID`). Its processes then become
//! children of the watchdog, which adopts orphans like the supervisor and kills all of them when the
//! supervisor ends for any reason. All processes below the watchdog belong to one command, so other children
//! of tiller aren't affected. If the watchdog is killed, the supervisor gets its parent-death signal and
//! kills the command.

use std::ffi::OsString;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::arguments::{NAME, SUPERVISED};
use super::kill::{KILL_TIMEOUT, LEAVE_TIMEOUT, kill_all, until_true};
use super::process_tree;
use super::process_tree::ProcessTree;
use super::wait::{EarlySignals, SignalWaiter, WatchdogWakeup};
use crate::process::program_path::this_program;

/// Maximum time that a supervisor takes to stop: its own timeouts, plus one second to report. A suspended
/// supervisor never stops.
const STOP_TIMEOUT: Duration =
    LEAVE_TIMEOUT.saturating_add(KILL_TIMEOUT).saturating_add(Duration::from_secs(1));

/// Starts the supervisor with these arguments, waits for its end, and kills all remaining processes.
pub(super) fn watch(arguments: impl Iterator<Item = OsString>) -> Result<(), String> {
    nix::unistd::setsid().map_err(|errno| format!("can't detach from the terminal: {errno}"))?;
    process_tree::adopt_orphans();
    let early_signals = EarlySignals::install().map_err(|error| format!("can't handle signals: {error}"))?;
    let program = this_program().map_err(|error| format!("can't determine this program's path: {error}"))?;
    let mut command = Command::new(program);
    command.args([NAME, SUPERVISED]).args(arguments);
    let mut supervisor = command.spawn().map_err(|error| format!("can't start the supervisor: {error}"))?;
    // After the start, because the supervisor would inherit blocked signals.
    let waiter =
        SignalWaiter::open(early_signals).map_err(|errno| format!("can't watch the supervisor: {errno}"))?;
    wait_for_end(&mut supervisor, &waiter);
    let tree = ProcessTree::new(&supervisor);
    if !tree.is_gone() {
        kill_all(&tree);
        until_true(|| tree.is_gone());
    }
    Ok(())
}

/// Makes the kernel end this process when the watchdog that started it ends.
pub(super) fn die_with_parent() {
    // Linux since 2.1.57. If it fails, the watchdog is still unlikely to be killed by accident.
    let _ = prctl::set_pdeathsig(Signal::SIGTERM);
}

/// Waits for the supervisor's end, or until its time to stop has passed.
fn wait_for_end(supervisor: &mut Child, waiter: &SignalWaiter) {
    let mut deadline: Option<Instant> = None;
    while let Ok(None) = supervisor.try_wait() {
        let remaining = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if remaining.is_some_and(|remaining| remaining.is_zero()) {
            return;
        }
        match waiter.wait_for_hangup(remaining) {
            WatchdogWakeup::Signal => {
                // It may already be gone; the next `try_wait` then notices.
                let _ = i32::try_from(supervisor.id()).map(|pid| kill(Pid::from_raw(pid), Signal::SIGTERM));
                deadline.get_or_insert_with(|| Instant::now() + STOP_TIMEOUT);
            }
            WatchdogWakeup::Hangup => {
                deadline.get_or_insert_with(|| Instant::now() + STOP_TIMEOUT);
            }
            WatchdogWakeup::Other => {}
        }
    }
}
