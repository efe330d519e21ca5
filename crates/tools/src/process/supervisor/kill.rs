//! Repeated kills, and the time limits of an end.

use std::time::{Duration, Instant};

use super::process_tree::ProcessTree;

/// Time that a program with piped stdio has after its stdin has ended: enough to read buffered input, even on
/// a busy machine.
pub(super) const LEAVE_TIMEOUT: Duration = Duration::from_millis(500);

/// Time for which kills are repeated. Only processes stuck in a system call survive a kill, and they die when
/// the call returns.
pub(super) const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Poll interval for remaining processes.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Repeats the kill until no process is left; returns the number of processes hit by the first one.
pub(super) fn kill_all(tree: &ProcessTree) -> usize {
    let first = tree.kill();
    until_true(|| tree.kill() == 0);
    first
}

pub(super) fn until_true(is_done: impl Fn() -> bool) {
    let deadline = Instant::now() + KILL_TIMEOUT;
    while !is_done() && Instant::now() < deadline {
        std::thread::sleep(POLL_INTERVAL);
    }
}
