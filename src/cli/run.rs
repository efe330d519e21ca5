//! `tiller` itself: a session with an agent and a front end.

use std::io::{self, IsTerminal, Write};

use anyhow::{Context, anyhow};

use super::args::{Arguments, PrintMode};
use super::assemble::{self, Front};
use super::input::{self, Stdin};
use super::{DONE, FAILED, Failure, INTERRUPTED, USAGE, log};
use crate::agent::{AgentSession, Parts};
use crate::config::Config;
use crate::event::RunOutcome;
use crate::print::{self, Output, PrintError};

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let config = assemble::config(arguments)?;
    // Without a session nothing is kept on disk, and that goes for the log file too.
    let warning = if arguments.session.no_session { None } else { log::begin(&config) };
    if let Some(warning) = warning {
        eprintln!("warning: {warning}");
    }
    let front = if arguments.prints(io::stdout().is_terminal()) { Front::Print } else { Front::Tui };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("can't start the async runtime").map_err(Failure::run)?;
    runtime.block_on(async {
        match front {
            Front::Print => print(arguments, &config).await,
            Front::Tui => super::screen::run(arguments, &config).await,
        }
    })
}

/// Starts the session, named if a name was given.
pub(super) async fn start(arguments: &Arguments, parts: Parts) -> Result<AgentSession, Failure> {
    let agent = AgentSession::start(parts)?;
    if let Some(name) = &arguments.session.name {
        agent.rename(name.clone()).await.map_err(Failure::run)?;
    }
    Ok(agent)
}

async fn print(arguments: &Arguments, config: &Config) -> Result<u8, Failure> {
    let assembled = assemble::assemble(arguments, config, Front::Print)?;
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
    tell_of_held(&agent).await;
    let (mut out, mut err) = (io::BufWriter::new(io::stdout().lock()), io::stderr());
    let run = print::run(&agent, prompt, output, &mut out, &mut err);
    let code = tokio::select! {
        outcome = run => code(outcome),
        signal = interrupted() => {
            let _ = agent.abort().await;
            Ok(signal)
        }
    };
    let _ = agent.close().await;
    out.flush().or_else(ignore_closed_pipe).context("can't write to stdout").map_err(Failure::run)?;
    code
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
        Err(error @ PrintError::Agent(_)) => Err(Failure { code: USAGE, ..Failure::run(error) }),
        Err(error) => Err(Failure::run(error)),
    }
}

/// Whoever reads our output may have seen enough.
fn ignore_closed_pipe(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) }
}

/// Waits for SIGINT or SIGTERM; answers with the exit code for it.
async fn interrupted() -> u8 {
    use tokio::signal::unix::{SignalKind, signal};
    match (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) {
        (Ok(mut interrupt), Ok(mut terminate)) => {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        }
        _ => std::future::pending().await,
    }
    INTERRUPTED
}
