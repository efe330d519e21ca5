//! The helper's side of a command: `tiller __run PROGRAM ARGUMENT…`.
//!
//! It leads a session of its own without a terminal, starts the program in a group of its own with stdin empty, and
//! waits for whichever comes first: the program's end, or the end of its own stdin, which means that tiller died or wants
//! it stopped. Either way it kills everything the program started, says one line on stderr, and exits. It has one
//! thread, no runtime, and no state but its children.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{self, Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::report::Report;
use super::{Exit, ExitStatus};

mod family;
mod news;

use family::Family;
use news::{Doorbell, News, Newsroom};

/// The argument that makes our binary the helper.
pub const NAME: &str = "__run";

/// How long leftovers may finish by themselves: bash doesn't wait for `>(tee log)`, which has yet to write.
const GRACE: Duration = Duration::from_millis(250);

/// How long to go on killing. Only processes stuck in the kernel survive a kill, and those die when it lets go of them.
const PERSISTENCE: Duration = Duration::from_secs(5);

/// Between two looks at who is left.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// Runs the program that `arguments` (those after [`NAME`]) name and watches over it. `main` calls it before it starts
/// anything, above all before any thread.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let report = supervise(arguments).unwrap_or_else(Report::Failed);
    // Nobody may be left to read it.
    let _ = io::stderr().write_all(report.encode().as_bytes());
    ExitCode::SUCCESS
}

fn supervise(mut arguments: impl Iterator<Item = OsString>) -> Result<Report, String> {
    let program = arguments.next().ok_or("no program to run")?;
    nix::unistd::setsid().map_err(|errno| format!("cannot leave the terminal: {errno}"))?;
    family::adopt_orphans();
    let doorbell = Doorbell::hang().map_err(|error| format!("cannot listen to signals: {error}"))?;
    let mut command = Command::new(&program);
    command.args(arguments);
    let mut shell = start(command).map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    // Only now, because the program would inherit blocked signals.
    let newsroom = Newsroom::open(doorbell).map_err(|errno| format!("cannot watch the command: {errno}"))?;
    let family = Family::of(&shell);
    let end = match wait_for_end(&mut shell, &newsroom)? {
        Some(status) => Exit { status: exit_status(status), leftovers: settle(&family, &newsroom) },
        None => {
            kill_all(&family);
            Exit { status: killed_status(&mut shell), leftovers: 0 }
        }
    };
    // Buried here and not left to process 1, which may be slow or no init at all.
    until_true(|| family.is_gone());
    Ok(Report::Ended(end))
}

/// Starts the program with both of its outputs going where ours goes.
fn start(mut command: Command) -> io::Result<Child> {
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    let errors = output.try_clone()?;
    command.stdin(Stdio::null()).stdout(output).stderr(errors).process_group(0).spawn()
}

fn exit_status(status: process::ExitStatus) -> ExitStatus {
    match status.code() {
        Some(code) => ExitStatus::Code(code),
        None => ExitStatus::Signal(status.signal().unwrap_or_default()),
    }
}

/// Waits for the shell's end, or an order to stop it (`None`).
///
/// Orphans that end in the meantime stay zombies until the shell ends: waiting for any child could take the shell's
/// status away, and nix can't read those with real-time signals.
fn wait_for_end(shell: &mut Child, newsroom: &Newsroom) -> Result<Option<process::ExitStatus>, String> {
    loop {
        if let Some(status) = shell.try_wait().map_err(|error| error.to_string())? {
            return Ok(Some(status));
        }
        if newsroom.wait(None) == News::Order {
            return Ok(None);
        }
    }
}

/// The status of a shell that was sent a kill.
fn killed_status(shell: &mut Child) -> ExitStatus {
    match shell.try_wait() {
        Ok(Some(status)) => exit_status(status),
        // Stuck in the kernel; it dies when that lets go of it.
        Ok(None) | Err(_) => ExitStatus::Signal(Signal::SIGKILL as i32),
    }
}

/// Gives what the shell left behind a moment to finish, then kills it; says how many there were to kill.
fn settle(family: &Family, newsroom: &Newsroom) -> usize {
    let deadline = Instant::now() + GRACE;
    while !family.is_gone() {
        if Instant::now() > deadline || newsroom.wait(Some(LOOK_AGAIN)) == News::Order {
            return kill_all(family);
        }
    }
    0
}

/// Kills until nobody is left; says how many fell to the first blow.
fn kill_all(family: &Family) -> usize {
    let first = family.kill();
    until_true(|| family.kill() == 0);
    first
}

fn until_true(is_done: impl Fn() -> bool) {
    let deadline = Instant::now() + PERSISTENCE;
    while !is_done() && Instant::now() < deadline {
        std::thread::sleep(LOOK_AGAIN);
    }
}
