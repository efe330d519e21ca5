//! The supervisor of a command. It runs as `tiller __run [--sandbox …] PROGRAM ARGUMENT…`, `tiller __run
//! --converse [--sandbox …] PROGRAM ARGUMENT…`, or `tiller __run --standby`, which reads its order from
//! stdin.
//!
//! It leads its own session without a terminal, starts the program in its own process group with empty stdin,
//! and waits for the program's end or the end of its own stdin, which means that tiller died or is stopping
//! the command. In both cases it kills all descendants of the program, writes one line to stderr, and exits.
//! It has one thread, no runtime, and no state but its children. On Linux a `watchdog` runs between it and
//! tiller.
//!
//! A program with piped stdio gets the bytes of the supervisor's stdin (`stdin_pump`), has its own stderr,
//! and may run for `LEAVE_TIMEOUT` after its stdin has ended.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::iter::Peekable;
use std::os::fd::AsFd as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{self, Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use tiller_core::os_error::without_code;

use super::exit::{Exit, ExitStatus};
use super::exit_report::ExitReport;
use super::order::ReceivedOrder;
use super::sandbox::SandboxProfile;

mod arguments;
mod kill;
mod process_tree;
mod stdin_pump;
mod wait;
#[cfg(target_os = "linux")]
mod watchdog;

pub use arguments::NAME;
pub(crate) use arguments::{CONVERSE, STANDBY};
use kill::{LEAVE_TIMEOUT, POLL_INTERVAL, kill_all, until_true};
use process_tree::ProcessTree;
use stdin_pump::StdinPump;
use wait::{EarlySignals, SignalWaiter, Wakeup};

/// Time that leftover processes have to end. bash doesn't wait for `>(tee log)`, which may still write.
const GRACE: Duration = Duration::from_millis(250);

/// Runs the program named by `arguments` (those after [`NAME`]) under supervision. `main` must call it first,
/// in particular before it starts any thread.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let mut arguments = arguments.peekable();
    #[cfg(target_os = "linux")]
    if arguments.next_if(|first| first == arguments::SUPERVISED).is_none() {
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
    // The reader may be gone. A newline comes first, because the program's last line may be incomplete.
    let _ = io::stderr().write_all(format!("\n{}", report.encode()).as_bytes());
    ExitCode::SUCCESS
}

fn supervise(arguments: &mut Peekable<impl Iterator<Item = OsString>>) -> Result<Option<ExitReport>, String> {
    nix::unistd::setsid().map_err(|errno| format!("can't detach from the terminal: {errno}"))?;
    process_tree::adopt_orphans();
    #[cfg(target_os = "linux")]
    watchdog::die_with_parent();
    let Some(SupervisedCommand { mut command, stdio, sandbox }) = parse_command(arguments)? else {
        return Ok(None);
    };
    // This process doesn't need to write, and the program inherits the restriction.
    #[cfg(target_os = "linux")]
    sandbox.map_or(Ok(()), |profile| profile.restrict_this_process())?;
    #[cfg(not(target_os = "linux"))]
    let _ = sandbox;
    let early_signals = EarlySignals::install().map_err(|error| format!("can't handle signals: {error}"))?;
    let mut shell = start(&mut command, stdio).map_err(|error| {
        without_code(&format!("can't start {}: {error}", command.get_program().display()))
    })?;
    // After the start, because the program would inherit blocked signals.
    let waiter =
        SignalWaiter::open(early_signals).map_err(|errno| format!("can't watch the command: {errno}"))?;
    let tree = ProcessTree::new(&shell);
    let status = match shell.stdin.take() {
        Some(stdin) => pass_stdin_on(&mut shell, &waiter, stdin)?,
        None => wait_for_end(&mut shell, &waiter)?,
    };
    let end = match status {
        Some(status) => Exit { status: exit_status(status), leftovers: end_leftovers(&tree, &waiter) },
        None => {
            kill_all(&tree);
            Exit { status: killed_status(&mut shell), leftovers: 0 }
        }
    };
    // Reaped here, because process 1 may be slow or not an init at all.
    until_true(|| tree.is_gone());
    Ok(Some(ExitReport::Ended(end)))
}

/// A command to supervise.
struct SupervisedCommand {
    command: Command,
    stdio: ChildStdio,
    sandbox: Option<SandboxProfile>,
}

/// Parses the command to run from the arguments or the order on stdin; `None` if stdin was closed before an
/// order.
fn parse_command(
    arguments: &mut Peekable<impl Iterator<Item = OsString>>,
) -> Result<Option<SupervisedCommand>, String> {
    if arguments.next_if(|first| first == STANDBY).is_some() {
        // Unbuffered, and a duplicate: bytes after the order stay unread.
        let source = io::stdin().as_fd().try_clone_to_owned().map(File::from);
        let order = source.and_then(ReceivedOrder::read).map_err(|error| format!("no order: {error}"))?;
        let Some(ReceivedOrder { cwd, words }) = order else { return Ok(None) };
        let mut supervised = parse_words(&mut words.into_iter().peekable(), ChildStdio::Command)?;
        supervised.command.current_dir(cwd);
        return Ok(Some(supervised));
    }
    let stdio = if arguments.next_if(|first| first == CONVERSE).is_some() {
        ChildStdio::Piped
    } else {
        ChildStdio::Command
    };
    parse_words(arguments, stdio).map(Some)
}

/// Parses the sandbox, if any, the program and its arguments.
fn parse_words(
    words: &mut Peekable<impl Iterator<Item = OsString>>,
    stdio: ChildStdio,
) -> Result<SupervisedCommand, String> {
    let sandbox = SandboxProfile::take(words)?;
    let program = words.next().ok_or("no program to run")?;
    #[cfg(not(target_os = "linux"))]
    let (program, words) = {
        let mut wrapped = sandbox.as_ref().map_or(vec![program.clone()], |profile| profile.wrap(program));
        (wrapped.remove(0), wrapped.into_iter().chain(words))
    };
    let mut command = Command::new(program);
    command.args(words);
    Ok(SupervisedCommand { command, stdio, sandbox })
}

/// The program's standard streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChildStdio {
    /// A command: stdin is empty; stdout and stderr go to the supervisor's stdout.
    Command,
    /// A program with piped stdio: the supervisor's stdin is passed on, and its stderr is shared.
    Piped,
}

fn start(command: &mut Command, stdio: ChildStdio) -> io::Result<Child> {
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    let (input, errors) = match stdio {
        ChildStdio::Command => (Stdio::null(), output.try_clone()?),
        ChildStdio::Piped => (Stdio::piped(), io::stderr().as_fd().try_clone_to_owned()?),
    };
    command.stdin(input).stdout(output).stderr(errors).process_group(0).spawn()
}

/// Passes stdin on until the program ends; `None` if stdin ended and the program then ran for longer than
/// [`LEAVE_TIMEOUT`], or had to be stopped.
fn pass_stdin_on(
    program: &mut Child,
    waiter: &SignalWaiter,
    stdin: process::ChildStdin,
) -> Result<Option<process::ExitStatus>, String> {
    let mut pump = StdinPump::new(stdin).map_err(|errno| format!("can't forward stdin: {errno}"))?;
    let mut deadline = None;
    loop {
        if let Some(status) = program.try_wait().map_err(|error| error.to_string())? {
            return Ok(Some(status));
        }
        if pump.has_ended() {
            // Until then, the program may still read or save.
            let deadline = *deadline.get_or_insert_with(|| Instant::now() + LEAVE_TIMEOUT);
            if Instant::now() > deadline {
                return Ok(None);
            }
        }
        if waiter.wait_for_pump(&mut pump, deadline.map(|_| POLL_INTERVAL)) == Wakeup::Order {
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

/// Waits for the shell's end, or for an order to stop it (`None`).
///
/// Orphans that end in the meantime stay zombies until the shell ends: waiting for any child could consume
/// the shell's status, and nix can't decode statuses with real-time signals.
fn wait_for_end(shell: &mut Child, waiter: &SignalWaiter) -> Result<Option<process::ExitStatus>, String> {
    loop {
        if let Some(status) = shell.try_wait().map_err(|error| error.to_string())? {
            return Ok(Some(status));
        }
        if waiter.wait(None) == Wakeup::Order {
            return Ok(None);
        }
    }
}

/// Returns the status of a shell after SIGKILL.
fn killed_status(shell: &mut Child) -> ExitStatus {
    match shell.try_wait() {
        Ok(Some(status)) => exit_status(status),
        // Stuck in a system call; it dies when the call returns.
        Ok(None) | Err(_) => ExitStatus::Signal(Signal::SIGKILL as i32),
    }
}

/// Waits [`GRACE`] for leftover processes, then kills them; returns the number of killed processes.
fn end_leftovers(tree: &ProcessTree, waiter: &SignalWaiter) -> usize {
    let deadline = Instant::now() + GRACE;
    while !tree.is_gone() {
        if Instant::now() > deadline || waiter.wait(Some(POLL_INTERVAL)) == Wakeup::Order {
            return kill_all(tree);
        }
    }
    0
}
