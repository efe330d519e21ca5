//! The start of a session, the same for every front end.

use tiller_core::counted::counted;
use tokio::task::spawn_blocking;

use super::args::CliArgs;
use super::console::stderr_line;
use super::extensions;
use super::failure::CliFailure;
use super::frontend::FrontEnd;
use super::run_input::RunInput;
use super::wiring::{self, SessionChoice, SessionSetup};
use crate::agent::{AgentSession, SessionParts};

/// Opens the session that the arguments name, starts the extensions, and assembles everything. Reading a long
/// log and waiting for local model servers may each take a second.
pub(super) async fn wire(input: &RunInput, front: FrontEnd) -> Result<SessionSetup, CliFailure> {
    let open =
        move |input: RunInput| wiring::open(&input.arguments, &input.config, front, SessionChoice::Named);
    let opened = run_blocking(input, open).await?;
    let extensions = extensions::start(&input.config, input.project.as_ref(), &opened).await?;
    let assemble =
        move |input: RunInput| wiring::assemble(opened, &input.arguments, &input.config, front, extensions);
    let assembled = run_blocking(input, assemble).await;
    if assembled.is_err() {
        // They may name the cause: a model of an unreadable models.json is unknown.
        input.config.notices().for_each(|notice| stderr_line!("warning: {notice}"));
    }
    assembled
}

/// Runs slow work on a blocking thread.
pub(super) async fn run_blocking<T: Send + 'static>(
    input: &RunInput,
    job: impl FnOnce(RunInput) -> Result<T, CliFailure> + Send + 'static,
) -> Result<T, CliFailure> {
    let input = input.clone();
    match spawn_blocking(move || job(input)).await {
        Ok(done) => done,
        // The task is never canceled, so the error is a panic, which is resumed.
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// Starts the session, and names it if a name was given.
pub(super) async fn start(input: &RunInput, parts: SessionParts) -> Result<AgentSession, CliFailure> {
    let agent = AgentSession::start(parts)?;
    input.record_events(&agent);
    wiring::renew_local_windows(input, &agent);
    name(&input.arguments, &agent).await?;
    Ok(agent)
}

/// Names the session if a name was given.
pub(super) async fn name(arguments: &CliArgs, agent: &AgentSession) -> Result<(), CliFailure> {
    match &arguments.session.name {
        Some(name) => agent.rename(name.clone()).await.map_err(CliFailure::run),
        None => Ok(()),
    }
}

/// Prints notices on stderr, with a warning if an earlier process left queued messages, which stay queued.
pub(super) async fn print_notices(notices: &[String], agent: &AgentSession, release: &str) {
    for notice in notices.iter().chain(agent.notices()) {
        stderr_line!("warning: {notice}");
    }

    let queued = agent.snapshot().await.map(|snapshot| snapshot.in_progress.queue.len()).unwrap_or_default();
    if queued > 0 {
        let undelivered = counted(queued, "queued message was", "queued messages were");
        stderr_line!("warning: {undelivered} not delivered; {release}");
    }
}
