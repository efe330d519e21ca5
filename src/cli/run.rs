//! Runs a session with an agent and a front end.

use std::sync::Arc;

use anyhow::{Context, anyhow};
use tokio::signal::unix::{SignalKind, signal};

use super::args::CliArgs;
use super::frontend::{FrontEnd, Stdio};
use super::trace::EventTrace;
use super::trust::{self, TrustPrompt};
use super::wiring::{self, SessionChoice, Wired};
use super::{CliFailure, extensions, log, print, repl, rpc, tui};
use crate::agent::{AgentSession, SessionParts};
use crate::cli::console::stderr_line;
use crate::config::{Config, Project, WrongSetting};

/// The inputs of a session. Shared, because the TUI opens sessions on other threads.
#[derive(Clone)]
pub(super) struct RunInput {
    pub(super) arguments: Arc<CliArgs>,
    pub(super) config: Arc<Config>,
    pub(super) project: Option<Project>,
    pub(super) trace: Option<Arc<EventTrace>>,
}

impl RunInput {
    /// Writes the agent's events to the file of `--trace`, if there is one.
    pub(super) fn trace(&self, agent: &AgentSession) {
        self.trace.iter().for_each(|trace| trace.attach(agent));
    }
}

pub(super) fn run(arguments: CliArgs) -> Result<u8, CliFailure> {
    let stdio = Stdio::from_process();
    let front = FrontEnd::choose(&arguments, stdio);
    if let Some(notice) = stdio.fallback_notice(&arguments) {
        stderr_line!("{notice}");
    }
    let trust_prompt = if front.has_person() { TrustPrompt::Terminal } else { TrustPrompt::Nobody };
    let (config, project) = trust::config(&arguments, trust_prompt)?;
    reject_wrong_settings(&config, front)?;
    let trace = arguments.environment.trace.as_deref().map(EventTrace::create).transpose()?.map(Arc::new);
    if let Some(warning) = log::begin(&config, log::LogTargets::choose(&arguments, front)) {
        stderr_line!("warning: {warning}");
    }
    let input =
        RunInput { arguments: Arc::new(arguments), config: Arc::new(config), project, trace: trace.clone() };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("can't start the async runtime").map_err(CliFailure::run)?;
    let outcome = runtime.block_on(async {
        ignore_file_size_signal();
        let outcome = match front {
            FrontEnd::Tui => tui::run(input).await,
            FrontEnd::Print => print::run(&input).await,
            FrontEnd::Rpc(_) => rpc::run(&input, front).await,
            FrontEnd::Plain(_) => repl::run(&input, front).await,
        };
        if let Some(trace) = trace {
            trace.finish().await;
        }
        outcome
    });
    // If the user quit while a long log was being opened, don't wait for the rest of it.
    runtime.shutdown_background();
    outcome
}

/// Rejects wrong settings where nobody watches: such a run must not use other settings than intended. A person
/// sees them as warnings instead and can fix them while working.
fn reject_wrong_settings(config: &Config, front: FrontEnd) -> Result<(), CliFailure> {
    match &*config.invalid {
        _ if front.has_person() => Ok(()),
        [] => Ok(()),
        invalid => {
            let messages: Vec<String> = invalid.iter().map(|invalid| invalid.problem.clone()).collect();
            Err(CliFailure::usage(anyhow!(messages.join("\n       "))).hint(WrongSetting::HINT))
        }
    }
}

/// Turns exceeding the file size limit (`ulimit -f`) into a write error, which is reported, instead of a fatal
/// signal. Child processes don't inherit the handler.
fn ignore_file_size_signal() {
    if let Err(error) = signal(SignalKind::from_raw(nix::sys::signal::Signal::SIGXFSZ as i32)) {
        tracing::warn!(%error, "a file over the limit on files will end tiller");
    }
}

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
