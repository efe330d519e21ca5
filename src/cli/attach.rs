//! Sessions that another process has open. `--attach` shows one in the TUI.

mod http;
mod socket;

use std::path::Path;

use anyhow::anyhow;

use super::args::CliArgs;
use super::failure::CliFailure;
use super::frontend::FrontEnd;
use super::run_input::RunInput;
use super::start::run_blocking;
use super::startup;
use super::wiring;
use crate::agent::AgentSession;
use crate::session::{Reader, SessionError, lock_holder};

pub(super) use socket::{SharedSessions, share_session, share_sessions};

/// Checks that the front end is the TUI if a session of another process is requested.
pub(super) fn check(arguments: &CliArgs, front: FrontEnd) -> Result<(), CliFailure> {
    if arguments.session.attach.is_none() || front == FrontEnd::Tui {
        return Ok(());
    }
    Err(CliFailure::usage(anyhow!("--attach needs the TUI, which needs a terminal"))
        .hint("programs use the API of `tiller serve`"))
}

/// Connects to the session that `--attach` names: by the URL of a session on a server, or by the id or file
/// of one that another tiller process of this user has open.
pub(super) async fn connect(input: &RunInput, target: &str) -> Result<AgentSession, CliFailure> {
    if target.starts_with("http://") || target.starts_with("https://") {
        return http::connect(target).await;
    }
    let words = target.to_owned();
    let path = run_blocking(input, move |input| {
        let cwd = startup::cwd(&input.arguments)?;
        Ok(wiring::manager(&input.arguments, &input.config, cwd).find(&words)?)
    })
    .await?;
    connect_to_log(input, &path).await
}

/// Connects to this user's process that has a log open.
pub(super) async fn connect_to_log(input: &RunInput, path: &Path) -> Result<AgentSession, CliFailure> {
    let log = path.to_owned();
    let (session, holder) =
        run_blocking(input, move |_| Ok((Reader::open(&log)?.id().clone(), lock_holder(&log)))).await?;
    let Some(holder) = holder else {
        return Err(CliFailure::usage(anyhow!("no other tiller has session {session} open"))
            .hint(format!("open it here: tiller --session {session}")));
    };
    socket::connect(input, &holder, &session).await
}

/// Returns true if it is possible to connect to the process that has this log open.
pub(super) fn is_reachable(input: &RunInput, error: &SessionError) -> bool {
    match error {
        SessionError::Locked { holder: Some(holder), .. } => socket::exists(input, holder),
        _ => false,
    }
}
