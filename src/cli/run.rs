//! `tiller` itself: a session with an agent and a front end.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, anyhow};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::args::{Arguments, PrintMode};
use super::assemble::{self, Front};
use super::input::{self, Stdin};
use super::trust::{self, Asking};
use super::{DONE, FAILED, Failure, INTERRUPTED, USAGE, extensions, log};
use crate::agent::{AgentError, AgentSession, Parts};
use crate::config::{Config, Project};
use crate::event::RunOutcome;
use crate::print::{self, Output, PrintError};

/// Time that a stopped run has to end and its last lines have to reach stdout.
const GRACE: Duration = Duration::from_secs(3);

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let front = if arguments.prints(io::stdout().is_terminal()) { Front::Print } else { Front::Tui };
    let asking = if front == Front::Tui { Asking::Terminal } else { Asking::Nobody };
    let (config, project) = trust::config(arguments, asking)?;
    // Without a session nothing is kept on disk, and that goes for the log file too.
    let warning = if arguments.session.no_session { None } else { log::begin(&config) };
    if let Some(warning) = warning {
        eprintln!("warning: {warning}");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("can't start the async runtime").map_err(Failure::run)?;
    runtime.block_on(async {
        outlive_file_limit();
        match front {
            Front::Print => print(arguments, &config, project.as_ref()).await,
            Front::Tui => super::screen::run(arguments, &config, project.as_ref()).await,
        }
    })
}

/// A file that would grow over the limit on files (`ulimit -f`) is an error of the write then, which is told, and not a signal
/// that kills. The handler does nothing and is gone in the programs that are started.
fn outlive_file_limit() {
    if let Err(error) = signal(SignalKind::from_raw(nix::sys::signal::Signal::SIGXFSZ as i32)) {
        tracing::warn!(%error, "a file over the limit on files will end tiller");
    }
}

/// Starts the session, named if a name was given.
pub(super) async fn start(arguments: &Arguments, parts: Parts) -> Result<AgentSession, Failure> {
    let agent = AgentSession::start(parts)?;
    if let Some(name) = &arguments.session.name {
        agent.rename(name.clone()).await.map_err(Failure::run)?;
    }
    Ok(agent)
}

async fn print(arguments: &Arguments, config: &Config, project: Option<&Project>) -> Result<u8, Failure> {
    let opened = assemble::open(arguments, config, Front::Print)?;
    let extensions = extensions::start(config, project, &opened).await?;
    let assembled = assemble::assemble_around(opened, arguments, config, Front::Print, extensions)?;
    let cwd = assembled.parts.manager.cwd().to_owned();
    let prompt = input::first_prompt(&arguments.message, &cwd, Stdin::Read)?;
    if prompt.is_empty() {
        return Err(Failure::usage(anyhow!("there is nothing to ask"))
            .hint("give a message, or pipe one in: tiller -p \"what does this project do?\""));
    }
    for notice in &assembled.notices {
        eprintln!("warning: {notice}");
    }
    let output = match arguments.print.mode {
        Some(PrintMode::Json) => Output::Json,
        Some(PrintMode::Text) | None => Output::Text,
    };
    let _scratch = assembled.scratch;
    let agent = start(arguments, assembled.parts).await?;
    for notice in agent.notices() {
        eprintln!("warning: {notice}");
    }
    tell_of_held(&agent).await;
    let (mut out, mut err) = (io::BufWriter::new(io::stdout().lock()), io::stderr());
    let wrong = |error| Failure { code: USAGE, ..Failure::run(error) };
    let prompt = prompt.text_for(&agent).await.map_err(wrong)?;
    let interruption = Interruption::watch(agent.clone());
    let outcome = print::run(&agent, prompt, output, &mut out, &mut err).await;
    let _ = agent.close().await;
    out.flush().or_else(ignore_closed_pipe).context("can't write to stdout").map_err(Failure::run)?;
    if interruption.happened() { Ok(INTERRUPTED) } else { code(outcome) }
}

/// Messages that an earlier process left waiting stay where they are; whoever reads stderr learns of them.
async fn tell_of_held(agent: &AgentSession) {
    let held = agent.snapshot().await.map(|snapshot| snapshot.live.queue.len()).unwrap_or_default();
    if held > 0 {
        eprintln!(
            "warning: {held} queued message(s) of this session still wait; open it in the TUI to send or drop them"
        );
    }
}

fn code(outcome: Result<RunOutcome, PrintError>) -> Result<u8, Failure> {
    match outcome {
        Ok(RunOutcome::Completed) => Ok(DONE),
        Ok(RunOutcome::Failed | RunOutcome::Aborted | RunOutcome::MaxTurns) => Ok(FAILED),
        Err(PrintError::Stdout(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(DONE),
        // The disk said no, not the caller.
        Err(error @ PrintError::Agent(AgentError::Store(_) | AgentError::Extension(_))) => {
            Err(Failure::run(error))
        }
        Err(error @ PrintError::Agent(_)) => Err(Failure { code: USAGE, ..Failure::run(error) }),
        Err(error) => Err(Failure::run(error)),
    }
}

/// Whoever reads our output may have seen enough.
fn ignore_closed_pipe(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) }
}

/// Stops the run at SIGINT or SIGTERM; what it says to its end is still printed.
///
/// The watch is kept by a task of its own, because a stdout that nobody reads blocks the task that prints. After [`GRACE`], or at a
/// second signal, the process ends wherever it is.
struct Interruption {
    happened: Arc<AtomicBool>,
    _watcher: JoinSet<()>,
}

impl Interruption {
    fn watch(agent: AgentSession) -> Self {
        let happened = Arc::new(AtomicBool::new(false));
        let mut watcher = JoinSet::new();
        // Without handlers a signal ends the process at once, as it does any other.
        if let (Ok(interrupt), Ok(terminate)) =
            (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
        {
            watcher.spawn(end_at_signal(agent, [interrupt, terminate], Arc::clone(&happened)));
        }
        Self { happened, _watcher: watcher }
    }

    fn happened(&self) -> bool {
        self.happened.load(Ordering::Acquire)
    }
}

async fn end_at_signal(
    agent: AgentSession,
    [mut interrupt, mut terminate]: [Signal; 2],
    happened: Arc<AtomicBool>,
) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    happened.store(true, Ordering::Release);
    let ended = async {
        let _ = agent.interrupt().await;
        sleep(GRACE).await;
        // What is in the log is synced, if that can be had.
        let _ = timeout(GRACE, agent.close()).await;
    };
    tokio::select! {
        () = ended => {}
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    std::process::exit(INTERRUPTED.into());
}
