//! `tiller` itself: a session with an agent and a front end.

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};

use super::args::Arguments;
use super::front::{Ends, Front};
use super::{Failure, assemble, log, plain, print, rpc, screen};
use crate::agent::{AgentSession, Parts};

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let config = assemble::config(arguments)?;
    // Without a session nothing is kept on disk, and that goes for the log file too.
    let warning = if arguments.session.no_session { None } else { log::begin(&config) };
    if let Some(warning) = warning {
        eprintln!("warning: {warning}");
    }
    let front = Front::choose(arguments, Ends::of_process());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("can't start the async runtime").map_err(Failure::run)?;
    runtime.block_on(async {
        outlive_file_limit();
        match front {
            Front::Tui => screen::run(arguments, &config).await,
            Front::Print => print::run(arguments, &config).await,
            Front::Rpc(_) => rpc::run(arguments, &config, front).await,
            Front::Plain(_) => plain::run(arguments, &config, front).await,
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

/// Tells on stderr what the user should know of the session, and of messages that an earlier process left waiting: they stay where
/// they are.
pub(super) async fn tell_first(notices: &[String], agent: &AgentSession, release: &str) {
    for notice in notices.iter().chain(agent.notices()) {
        eprintln!("warning: {notice}");
    }
    let held = agent.snapshot().await.map(|snapshot| snapshot.live.queue.len()).unwrap_or_default();
    if held > 0 {
        eprintln!("warning: {held} queued message(s) of this session still wait; {release}");
    }
}
