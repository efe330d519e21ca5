//! The helper's side of a command: `tiller __run PROGRAM ARGUMENT…`, `tiller __run --converse PROGRAM ARGUMENT…`, or
//! `tiller __run --standby`, which reads what to run from stdin.
//!
//! It leads a session of its own without a terminal, starts the program in a group of its own with stdin empty, and
//! waits for whichever comes first: the program's end, or the end of its own stdin, which means that tiller died or wants
//! it stopped. Either way it kills everything the program started, says one line on stderr, and exits. It has one
//! thread, no runtime, and no state but its children. On Linux a `watchdog` stands between it and tiller.
//!
//! A program to converse with gets what comes on the helper's stdin (`pump`), has a stderr of its own, and is given a moment
//! to end by itself when its stdin ends.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::iter::Peekable;
use std::os::fd::AsFd as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{self, Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::exit_report::ExitReport;
use super::order::ReceivedOrder;
use super::{Exit, ExitStatus};

mod process_tree;
mod stdin_pump;
mod wait;
#[cfg(target_os = "linux")]
mod watchdog;

use process_tree::ProcessTree;
use stdin_pump::Pump;
use wait::{Doorbell, Newsroom, Wakeup};

/// The argument that makes our binary the helper.
pub const NAME: &str = "__run";

/// The argument after [`NAME`] that passes stdin through and keeps stderr apart.
pub const CONVERSE: &str = "--converse";

/// The argument after [`NAME`] that makes the helper wait for an order on stdin.
pub const STANDBY: &str = "--standby";

/// How long leftovers may finish by themselves: bash doesn't wait for `>(tee log)`, which has yet to write.
const GRACE: Duration = Duration::from_millis(250);

/// How long a program to converse with may go on after its stdin has ended: what was on its way has to be read, also on a
/// busy machine.
const LEAVE_TIMEOUT: Duration = Duration::from_millis(500);

/// How long to go on killing. Only processes stuck in the kernel survive a kill, and those die when it lets go of them.
const PERSISTENCE: Duration = Duration::from_secs(5);

/// Between two looks at who is left.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// Runs the program that `arguments` (those after [`NAME`]) name and watches over it. `main` calls it before it starts
/// anything, above all before any thread.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let mut arguments = arguments.peekable();
    #[cfg(target_os = "linux")]
    if arguments.next_if(|first| first == watchdog::SUPERVISED).is_none() {
        return match watchdog::watch(arguments) {
            Ok(()) => ExitCode::SUCCESS,
            Err(reason) => report(&ExitReport::Failed(reason)),
        };
    }
    match supervise(&mut arguments) {
        Ok(Some(end)) => report(&end),
        Ok(None) => ExitCode::SUCCESS,
        Err(reason) => report(&ExitReport::Failed(reason)),
    }
}

fn report(report: &ExitReport) -> ExitCode {
    // Nobody may be left to read it. It has a line of its own, also after a program that left its last one open.
    let _ = io::stderr().write_all(format!("\n{}", report.encode()).as_bytes());
    ExitCode::SUCCESS
}

fn supervise(arguments: &mut Peekable<impl Iterator<Item = OsString>>) -> Result<Option<ExitReport>, String> {
    nix::unistd::setsid().map_err(|errno| format!("cannot leave the terminal: {errno}"))?;
    process_tree::adopt_orphans();
    #[cfg(target_os = "linux")]
    watchdog::die_with_parent();
    let Some((mut command, manner)) = command(arguments)? else { return Ok(None) };
    let doorbell = Doorbell::hang().map_err(|error| format!("cannot listen to signals: {error}"))?;
    let mut shell = start(&mut command, manner)
        .map_err(|error| format!("cannot start {}: {error}", command.get_program().display()))?;
    // Only now, because the program would inherit blocked signals.
    let newsroom = Newsroom::open(doorbell).map_err(|errno| format!("cannot watch the command: {errno}"))?;
    let family = ProcessTree::of(&shell);
    let ended = match shell.stdin.take() {
        Some(stdin) => converse(&mut shell, &newsroom, stdin)?,
        None => wait_for_end(&mut shell, &newsroom)?,
    };
    let end = match ended {
        Some(status) => Exit { status: exit_status(status), leftovers: settle(&family, &newsroom) },
        None => {
            kill_all(&family);
            Exit { status: killed_status(&mut shell), leftovers: 0 }
        }
    };
    // Buried here and not left to process 1, which may be slow or no init at all.
    until_true(|| family.is_gone());
    Ok(Some(ExitReport::Ended(end)))
}

/// The command to run, from the arguments or the order on stdin; `None` if stdin was closed before an order came.
fn command(
    arguments: &mut Peekable<impl Iterator<Item = OsString>>,
) -> Result<Option<(Command, Manner)>, String> {
    if arguments.next_if(|first| first == STANDBY).is_some() {
        // Unbuffered, and a duplicate: what comes after the order isn't read here.
        let source = io::stdin().as_fd().try_clone_to_owned().map(File::from);
        let order = source.and_then(ReceivedOrder::read).map_err(|error| format!("no order: {error}"))?;
        return Ok(order.map(|ReceivedOrder { cwd, program, arguments }| {
            let mut command = Command::new(program);
            command.args(arguments).current_dir(cwd);
            (command, Manner::Run)
        }));
    }
    let manner =
        if arguments.next_if(|first| first == CONVERSE).is_some() { Manner::Converse } else { Manner::Run };
    let mut command = Command::new(arguments.next().ok_or("no program to run")?);
    command.args(arguments);
    Ok(Some((command, manner)))
}

/// What the program is to its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// A command: nothing to read, and both of its outputs go where ours goes.
    Run,
    /// Somebody to talk to: what we read is for it, and its stderr is ours.
    Converse,
}

fn start(command: &mut Command, manner: Manner) -> io::Result<Child> {
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    let (input, errors) = match manner {
        Manner::Run => (Stdio::null(), output.try_clone()?),
        Manner::Converse => (Stdio::piped(), io::stderr().as_fd().try_clone_to_owned()?),
    };
    command.stdin(input).stdout(output).stderr(errors).process_group(0).spawn()
}

/// Passes on what comes for the program until it ends, or until nothing more comes and it had a moment to end by itself
/// (`None`).
fn converse(
    program: &mut Child,
    newsroom: &Newsroom,
    stdin: process::ChildStdin,
) -> Result<Option<process::ExitStatus>, String> {
    let mut pump = Pump::new(stdin).map_err(|errno| format!("cannot pass stdin on: {errno}"))?;
    let mut deadline = None;
    loop {
        if let Some(status) = program.try_wait().map_err(|error| error.to_string())? {
            return Ok(Some(status));
        }
        if pump.has_ended() {
            // Whatever it still reads or saves, it has this long.
            let deadline = *deadline.get_or_insert_with(|| Instant::now() + LEAVE_TIMEOUT);
            if Instant::now() > deadline {
                return Ok(None);
            }
        }
        if newsroom.wait_for_pump(&mut pump, deadline.map(|_| LOOK_AGAIN)) == Wakeup::Order {
            return Ok(None);
        }
    }
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
        if newsroom.wait(None) == Wakeup::Order {
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
fn settle(family: &ProcessTree, newsroom: &Newsroom) -> usize {
    let deadline = Instant::now() + GRACE;
    while !family.is_gone() {
        if Instant::now() > deadline || newsroom.wait(Some(LOOK_AGAIN)) == Wakeup::Order {
            return kill_all(family);
        }
    }
    0
}

/// Kills until nobody is left; says how many fell to the first blow.
fn kill_all(family: &ProcessTree) -> usize {
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
