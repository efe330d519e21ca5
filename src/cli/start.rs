//! The start of a session, for every front end.

use super::args::CliArgs;
use super::console::stderr_line;
use super::extensions;
use super::failure::CliFailure;
use super::frontend::FrontEnd;
use super::run_input::RunInput;
use super::wiring::{self, SessionChoice, Wired};
use crate::agent::{AgentSession, SessionParts};

/// Opens the session that the arguments name, starts the extensions, and wires everything.
pub(super) async fn wire(input: &RunInput, front: FrontEnd) -> Result<Wired, CliFailure> {
    let RunInput { arguments, config, project, .. } = input;
    let opened = wiring::open(arguments, config, front, SessionChoice::Named)?;
    let extensions = extensions::start(config, project.as_ref(), &opened).await?;
    wiring::assemble(opened, arguments, config, front, extensions)
}

/// Starts the session, and names it if a name was given.
pub(super) async fn start(input: &RunInput, parts: SessionParts) -> Result<AgentSession, CliFailure> {
    let agent = AgentSession::start(parts)?;
    input.trace(&agent);
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

/// Prints notices on stderr, and a warning if an earlier process left queued messages, which stay queued.
pub(super) async fn print_notices(notices: &[String], agent: &AgentSession, release: &str) {
    for notice in notices.iter().chain(agent.notices()) {
        stderr_line!("warning: {notice}");
    }

    let queued = agent.snapshot().await.map(|snapshot| snapshot.in_progress.queue.len()).unwrap_or_default();
    if queued > 0 {
        stderr_line!("warning: {queued} queued message(s) were not delivered; {release}");
    }
}
