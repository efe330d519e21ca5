//! `tiller -p`: runs one prompt and prints the answer or the events to stdout.

use std::io::{self, Write};

use anyhow::{Context, anyhow};

use super::args::PrintMode;
use super::failure::{CliFailure, DONE, FAILED, INTERRUPTED, USAGE};
use super::first_prompt::{self, Stdin};
use super::frontend::FrontEnd;
use super::run_input::RunInput;
use super::signals::SignalGuard;
use super::start::{print_notices, start, wire};
use super::wiring::output_limits;
use crate::agent::AgentError;
use crate::cli::console;
use crate::event::RunOutcome;
use crate::print::{self, PrintError, PrintOutput};

pub(super) async fn run(input: &RunInput) -> Result<u8, CliFailure> {
    let arguments = &input.arguments;
    let wired = wire(input, FrontEnd::Print).await?;
    let cwd = wired.parts.manager.cwd().to_owned();
    let prompt =
        first_prompt::read_first_prompt(&arguments.message, &cwd, output_limits(&input.config), Stdin::Read)?;
    if prompt.is_empty() {
        return Err(CliFailure::usage(anyhow!("no prompt"))
            .hint("pass a message, as in tiller -p \"what does this project do?\", or pipe one in"));
    }
    let output = match arguments.print.mode {
        Some(PrintMode::Json) => PrintOutput::Json,
        Some(PrintMode::Text | PrintMode::Rpc) | None => PrintOutput::Text,
    };
    let _scratch = wired.scratch;
    let agent = start(input, wired.parts).await?;
    print_notices(&wired.notices, &agent, "open it in the TUI to send or drop them").await;
    let (mut out, mut err) = (io::BufWriter::new(console::stdout()), console::stderr());
    let usage_error = |error| CliFailure { code: USAGE, ..CliFailure::run(error) };
    let prompt = prompt.prompt_for(&agent).await.map_err(usage_error)?;
    let interruption = SignalGuard::watch(agent.clone());
    let outcome = print::run(&agent, prompt, output, &mut out, &mut err).await;
    let _ = agent.close().await;
    out.flush().or_else(ignore_closed_pipe).context("can't write to stdout").map_err(CliFailure::run)?;
    if interruption.was_triggered() { Ok(INTERRUPTED) } else { code(outcome) }
}

fn code(outcome: Result<RunOutcome, PrintError>) -> Result<u8, CliFailure> {
    match outcome {
        Ok(RunOutcome::Completed) => Ok(DONE),
        Ok(RunOutcome::Failed | RunOutcome::Aborted | RunOutcome::MaxTurns) => Ok(FAILED),
        Err(PrintError::Stdout(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(DONE),
        // A failure of the disk or an extension isn't the caller's.
        Err(
            error @ PrintError::Agent(
                AgentError::Store(_) | AgentError::Extension(_) | AgentError::PromptRejected(_),
            ),
        ) => Err(CliFailure::run(error)),
        Err(error @ PrintError::Agent(_)) => Err(CliFailure { code: USAGE, ..CliFailure::run(error) }),
        Err(error) => Err(CliFailure::run(error)),
    }
}

/// Ignores a closed stdout, whose reader may exit early.
fn ignore_closed_pipe(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) }
}
