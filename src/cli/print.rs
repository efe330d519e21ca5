//! `tiller -p`: one prompt to its end, the answer or the events on stdout.

use std::io::{self, Write};

use anyhow::{Context, anyhow};

use super::args::PrintMode;
use super::first_prompt::{self, Stdin};
use super::frontend::FrontEnd;
use super::run::{RunInput, assembled, start, tell_first};
use super::signals::Interruption;
use super::wiring::output_limits;
use super::{CliFailure, DONE, FAILED, INTERRUPTED, USAGE};
use crate::agent::AgentError;
use crate::cli::console;
use crate::event::RunOutcome;
use crate::print::{self, PrintError, PrintOutput};

pub(super) async fn run(given: &RunInput) -> Result<u8, CliFailure> {
    let arguments = &given.arguments;
    let assembled = assembled(given, FrontEnd::Print).await?;
    let cwd = assembled.parts.manager.cwd().to_owned();
    let prompt =
        first_prompt::first_prompt(&arguments.message, &cwd, output_limits(&given.config), Stdin::Read)?;
    if prompt.is_empty() {
        return Err(CliFailure::usage(anyhow!("there is nothing to ask"))
            .hint("give a message, or pipe one in: tiller -p \"what does this project do?\""));
    }
    let output = match arguments.print.mode {
        Some(PrintMode::Json) => PrintOutput::Json,
        Some(PrintMode::Text | PrintMode::Rpc) | None => PrintOutput::Text,
    };
    let _scratch = assembled.scratch;
    let agent = start(given, assembled.parts).await?;
    tell_first(&assembled.notices, &agent, "open it in the TUI to send or drop them").await;
    let (mut out, mut err) = (io::BufWriter::new(console::stdout()), console::stderr());
    let wrong = |error| CliFailure { code: USAGE, ..CliFailure::run(error) };
    let prompt = prompt.prompt_for(&agent).await.map_err(wrong)?;
    let interruption = Interruption::watch(agent.clone());
    let outcome = print::run(&agent, prompt, output, &mut out, &mut err).await;
    let _ = agent.close().await;
    out.flush().or_else(ignore_closed_pipe).context("can't write to stdout").map_err(CliFailure::run)?;
    if interruption.happened() { Ok(INTERRUPTED) } else { code(outcome) }
}

fn code(outcome: Result<RunOutcome, PrintError>) -> Result<u8, CliFailure> {
    match outcome {
        Ok(RunOutcome::Completed) => Ok(DONE),
        Ok(RunOutcome::Failed | RunOutcome::Aborted | RunOutcome::MaxTurns) => Ok(FAILED),
        Err(PrintError::Stdout(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(DONE),
        // The disk said no, not the caller.
        Err(error @ PrintError::Agent(AgentError::Store(_) | AgentError::Extension(_))) => {
            Err(CliFailure::run(error))
        }
        Err(error @ PrintError::Agent(_)) => Err(CliFailure { code: USAGE, ..CliFailure::run(error) }),
        Err(error) => Err(CliFailure::run(error)),
    }
}

/// Whoever reads our output may have seen enough.
fn ignore_closed_pipe(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) }
}
