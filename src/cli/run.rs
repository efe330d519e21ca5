//! `tiller` itself: a session with an agent and a front end.

use std::sync::Arc;

use anyhow::{Context, anyhow};
use tokio::signal::unix::{SignalKind, signal};

use super::args::CliArgs;
use super::frontend::{FrontEnd, Stdio};
use super::trace::EventTrace;
use super::trust::{self, TrustPrompt};
use super::wiring::{self, SessionChoice, Wired};
use super::{CliFailure, extensions, log, plain, print, rpc, tui};
use crate::agent::{AgentSession, SessionParts};
use crate::cli::console::stderr_line;
use crate::config::{Config, Project, WrongSetting};

/// The arguments and configuration that a session is started with. Shared, because the TUI opens sessions on other threads.
#[derive(Clone)]
pub(super) struct RunInput {
    pub(super) arguments: Arc<CliArgs>,
    pub(super) config: Arc<Config>,
    pub(super) project: Option<Project>,
    pub(super) trace: Option<Arc<EventTrace>>,
}

impl RunInput {
    /// Has the events of this agent written to the file of `--trace`, if there is one.
    pub(super) fn trace(&self, agent: &AgentSession) {
        self.trace.iter().for_each(|trace| trace.attach(agent));
    }
}

pub(super) fn run(arguments: CliArgs) -> Result<u8, CliFailure> {
    let ends = Stdio::of_process();
    let front = FrontEnd::choose(&arguments, ends);
    if let Some(excuse) = ends.excuse(&arguments) {
        stderr_line!("{excuse}");
    }
    let asking = if front.has_person() { TrustPrompt::Terminal } else { TrustPrompt::Nobody };
    let (config, project) = trust::config(&arguments, asking)?;
    heed(&config, front)?;
    let trace = arguments.place.trace.as_deref().map(EventTrace::create).transpose()?.map(Arc::new);
    if let Some(warning) = log::begin(&config, log::Targets::choose(&arguments, front)) {
        stderr_line!("warning: {warning}");
    }
    let given =
        RunInput { arguments: Arc::new(arguments), config: Arc::new(config), project, trace: trace.clone() };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("can't start the async runtime").map_err(CliFailure::run)?;
    let done = runtime.block_on(async {
        outlive_file_limit();
        let done = match front {
            FrontEnd::Tui => tui::run(given).await,
            FrontEnd::Print => print::run(&given).await,
            FrontEnd::Rpc(_) => rpc::run(&given, front).await,
            FrontEnd::Plain(_) => plain::run(&given, front).await,
        };
        if let Some(trace) = trace {
            trace.finish().await;
        }
        done
    });
    // Whoever left while a long log was being opened doesn't wait for the rest of it.
    runtime.shutdown_background();
    done
}

/// What is wrong in settings files is told where somebody can mend it while they go on. Where nobody watches nothing runs with other
/// settings than those that were meant.
fn heed(config: &Config, front: FrontEnd) -> Result<(), CliFailure> {
    match &*config.wrong {
        _ if front.has_person() => Ok(()),
        [] => Ok(()),
        wrong => {
            let each: Vec<String> = wrong.iter().map(|wrong| wrong.what.clone()).collect();
            Err(CliFailure::usage(anyhow!(each.join("\n       "))).hint(WrongSetting::ADVICE))
        }
    }
}

/// A file that would grow over the limit on files (`ulimit -f`) is an error of the write then, which is told, and not a signal
/// that kills. The handler does nothing and is gone in the programs that are started.
fn outlive_file_limit() {
    if let Err(error) = signal(SignalKind::from_raw(nix::sys::signal::Signal::SIGXFSZ as i32)) {
        tracing::warn!(%error, "a file over the limit on files will end tiller");
    }
}

/// Opens the session that the arguments name, starts the extensions, and puts everything together.
pub(super) async fn assembled(given: &RunInput, front: FrontEnd) -> Result<Wired, CliFailure> {
    let RunInput { arguments, config, project, .. } = given;
    let opened = wiring::open(arguments, config, front, SessionChoice::Named)?;
    let extensions = extensions::start(config, project.as_ref(), &opened).await?;
    wiring::assemble_around(opened, arguments, config, front, extensions)
}

/// Starts the session, named if a name was given.
pub(super) async fn start(given: &RunInput, parts: SessionParts) -> Result<AgentSession, CliFailure> {
    let agent = AgentSession::start(parts)?;
    given.trace(&agent);
    name(&given.arguments, &agent).await?;
    Ok(agent)
}

/// Names the session, if a name was given.
pub(super) async fn name(arguments: &CliArgs, agent: &AgentSession) -> Result<(), CliFailure> {
    match &arguments.session.name {
        Some(name) => agent.rename(name.clone()).await.map_err(CliFailure::run),
        None => Ok(()),
    }
}

/// Tells on stderr what the user should know of the session, and of messages that an earlier process left waiting: they stay where
/// they are.
pub(super) async fn tell_first(notices: &[String], agent: &AgentSession, release: &str) {
    for notice in notices.iter().chain(agent.notices()) {
        stderr_line!("warning: {notice}");
    }

    let held = agent.snapshot().await.map(|snapshot| snapshot.live.queue.len()).unwrap_or_default();
    if held > 0 {
        stderr_line!("warning: {held} queued message(s) of this session still wait; {release}");
    }
}
