//! Sessions that another process has open. `--attach` shows one in the TUI.

mod http;
mod peer;
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
use crate::id::SessionId;
use crate::session::{LockHolder, Reader, lock_holder};

pub(super) use socket::{SharedSessions, share_session, share_sessions};

/// Checks that the front end is the TUI if a session of another process is requested.
pub(super) fn check(arguments: &CliArgs, front: FrontEnd) -> Result<(), CliFailure> {
    if arguments.session.attach.is_none() || front == FrontEnd::Tui {
        return Ok(());
    }
    Err(CliFailure::usage(anyhow!("--attach needs the TUI, which needs a terminal"))
        .hint("from a program, use the API of `tiller serve`"))
}

/// A session of another process.
pub(super) struct AttachedSession {
    pub(super) agent: AgentSession,
    /// The command line that attaches to it again.
    pub(super) return_command: String,
    /// The command line that opens it here when the other process has closed it.
    pub(super) open_command: Option<String>,
}

impl AttachedSession {
    fn of_this_machine(agent: AgentSession, session: &SessionId) -> Self {
        let (return_command, open_command) =
            (format!("tiller --attach {session}"), Some(format!("tiller --session {session}")));
        Self { agent, return_command, open_command }
    }
}

/// Connects to the session that `--attach` names: the URL of one that a server has open, or an id or a file of one that
/// another tiller of this user has open.
pub(super) async fn connect(input: &RunInput, target: &str) -> Result<AttachedSession, CliFailure> {
    if target.starts_with("http://") || target.starts_with("https://") {
        let (agent, url) = http::connect(target).await?;
        let return_command = format!("tiller --attach {url}");
        return Ok(AttachedSession { agent, return_command, open_command: None });
    }
    let words = target.to_owned();
    let found = run_blocking(input, move |input| {
        let cwd = startup::cwd(&input.arguments)?;
        Ok(wiring::manager(&input.arguments, &input.config, cwd).find(&words)?)
    });
    match found.await {
        Ok(path) => connect_to_log(input, &path).await,
        Err(failure) => {
            let session = SessionId::new(target);
            let found = socket::connect_without_log(input, &session).await;
            let attached = |agent: AgentSession| {
                let session = agent.reader().id().clone();
                AttachedSession::of_this_machine(agent, &session)
            };
            found.map(attached).ok_or(failure)
        }
    }
}

/// Connects to the process of this user that has a log open.
pub(super) async fn connect_to_log(input: &RunInput, path: &Path) -> Result<AttachedSession, CliFailure> {
    let log = path.to_owned();
    let (session, holder) =
        run_blocking(input, move |_| Ok((Reader::open(&log)?.id().clone(), lock_holder(&log)))).await?;
    let Some(holder) = holder else {
        return Err(CliFailure::usage(anyhow!("no other tiller has session {session} open"))
            .hint(format!("open it here: tiller --session {session}")));
    };
    let agent = socket::connect(input, &holder, &session).await?;
    Ok(AttachedSession::of_this_machine(agent, &session))
}

/// Returns true if it is possible to connect to the process that has a log open.
pub(super) fn is_reachable(input: &RunInput, holder: &LockHolder) -> bool {
    socket::exists(input, holder)
}
