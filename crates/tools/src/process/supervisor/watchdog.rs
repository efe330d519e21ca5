//! The watchdog: the process between tiller and a command's supervisor. Linux only.
//!
//! A command knows its supervisor, its parent, and can kill it (`kill -9 $PPID`). What it started then falls to the
//! watchdog, which adopts orphans like the supervisor does and kills all it has when the supervisor ends, however it ends.
//! Everything below the watchdog belongs to one command, so no other child of tiller's can be hit. A watchdog that is
//! killed takes the supervisor along, by its parent-death signal, and that one the command.

use std::ffi::OsString;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::process_tree::ProcessTree;
use super::wait::{Doorbell, Newsroom, WatchdogWakeup};
use super::{LEAVE_TIMEOUT, NAME, PERSISTENCE, kill_all, process_tree, until_true};
use crate::process::this_program;

/// The argument after [`NAME`] that makes the process the supervisor.
pub(super) const SUPERVISED: &str = "--supervised";

/// How long a supervisor that was told to stop may take: its own limits, and a moment to say how it went. One that is
/// suspended never does.
const STOP_TIMEOUT: Duration =
    LEAVE_TIMEOUT.saturating_add(PERSISTENCE).saturating_add(Duration::from_secs(1));

/// Starts the supervisor with these arguments, waits for its end, and kills what is left.
pub(super) fn watch(arguments: impl Iterator<Item = OsString>) -> Result<(), String> {
    nix::unistd::setsid().map_err(|errno| format!("cannot leave the terminal: {errno}"))?;
    process_tree::adopt_orphans();
    let doorbell = Doorbell::hang().map_err(|error| format!("cannot listen to signals: {error}"))?;
    let program = this_program().map_err(|error| format!("cannot name this program: {error}"))?;
    let mut command = Command::new(program);
    command.args([NAME, SUPERVISED]).args(arguments);
    let mut supervisor = command.spawn().map_err(|error| format!("cannot start the supervisor: {error}"))?;
    // Only now, because the supervisor would inherit blocked signals.
    let newsroom =
        Newsroom::open(doorbell).map_err(|errno| format!("cannot watch the supervisor: {errno}"))?;
    wait_for_end(&mut supervisor, &newsroom);
    let family = ProcessTree::of(&supervisor);
    if !family.is_gone() {
        kill_all(&family);
        until_true(|| family.is_gone());
    }
    Ok(())
}

/// Ends this process with the watchdog that started it.
pub(super) fn die_with_parent() {
    // Linux since 2.1.57. Should it fail after all, the watchdog is one process that nobody kills by accident.
    let _ = prctl::set_pdeathsig(Signal::SIGTERM);
}

/// Waits for the supervisor's end, or until it had time enough to stop.
fn wait_for_end(supervisor: &mut Child, newsroom: &Newsroom) {
    let mut deadline: Option<Instant> = None;
    while let Ok(None) = supervisor.try_wait() {
        let rest = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if rest.is_some_and(|rest| rest.is_zero()) {
            return;
        }
        match newsroom.wait_for_hangup(rest) {
            WatchdogWakeup::Signal => {
                // It may be gone already, and is then noticed at the next look.
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
