//! The socket through which the user's other processes connect to this one's sessions: `HOST-PID.sock` in a
//! private directory, which several machines may share.
//!
//! A front end sends one line, the session's id, and then uses the protocol of `remote_session`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use tiller_server::FoundSession;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::peer::is_started_by_tiller;
use crate::agent::AgentSession;
use crate::agent::remote_session::{self, RemoteError};
use crate::cli::failure::CliFailure;
use crate::cli::run_input::RunInput;
use crate::files;
use crate::id::SessionId;
use crate::session::LockHolder;

/// Time for a front end to name a session.
const GREETING_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum bytes of a session's id with its newline.
const MAX_ID: usize = 128;

/// Maximum characters of the machine's name in the name of a socket.
const MAX_HOST: usize = 24;

/// Delay after a failed accept, such as for lack of file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// Time for a process to answer whether it has a session; one that is suspended never does.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(2);

/// Finds an open session of this process.
pub(in crate::cli) type FindSession = Arc<dyn Fn(SessionId) -> FoundSession + Send + Sync>;

/// The open socket. Dropping it ends the connections and removes the socket.
pub(in crate::cli) struct SharedSessions {
    path: PathBuf,
    _listener: JoinSet<()>,
}

impl Drop for SharedSessions {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Shares the current session, and those of its running agents, with the user's other processes.
pub(in crate::cli) fn share_session(input: &RunInput, agent: &AgentSession) -> Option<SharedSessions> {
    let agent = agent.clone();
    let find: FindSession = Arc::new(move |id| {
        let agent = agent.clone();
        Box::pin(async move { agent.session_or_agent(id).await.ok() })
    });
    share_sessions(input, find)
}

/// Shares sessions with the user's other processes. If there is no socket, which is logged, they can't
/// attach.
pub(in crate::cli) fn share_sessions(input: &RunInput, find: FindSession) -> Option<SharedSessions> {
    if input.arguments.session.no_session {
        return None;
    }
    let dir = sockets(input);
    let path = path_of(&dir, &LockHolder::this_process());
    match listen(&dir, &path) {
        Ok(listener) => {
            let mut tasks = JoinSet::new();
            tasks.spawn(accept(listener, find));
            Some(SharedSessions { path, _listener: tasks })
        }
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "other processes can't attach to this one's sessions");
            None
        }
    }
}

/// Returns the directory of the sockets of this user's processes.
fn sockets(input: &RunInput) -> PathBuf {
    input.config.dirs.state.join("attach")
}

fn path_of(dir: &Path, LockHolder { host, pid, .. }: &LockHolder) -> PathBuf {
    dir.join(format!("{}-{pid}.sock", host_part(host)))
}

/// Returns the part of a machine's name for the name of a socket, whose path is limited to about 100 bytes.
fn host_part(host: &str) -> String {
    host.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-')).take(MAX_HOST).collect()
}

fn listen(dir: &Path, path: &Path) -> io::Result<UnixListener> {
    files::make_private_dir(dir)?;
    remove_abandoned(dir)?;
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    UnixListener::bind(path)
}

/// Removes the sockets of processes on this machine that were killed.
fn remove_abandoned(dir: &Path) -> io::Result<()> {
    for path in sockets_of_this_machine(dir)? {
        if process_of(&path).is_some_and(|process| kill(process, None) == Err(Errno::ESRCH)) {
            let _ = std::fs::remove_file(path);
        }
    }
    Ok(())
}

/// Returns the sockets of this machine's processes.
fn sockets_of_this_machine(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let paths = std::fs::read_dir(dir)?.map(|file| Ok(file?.path())).collect::<io::Result<Vec<_>>>()?;
    Ok(paths.into_iter().filter(|path| process_of(path).is_some()).collect())
}

/// Returns the process that a socket's name names, if it is one of this machine.
fn process_of(path: &Path) -> Option<Pid> {
    let prefix = format!("{}-", host_part(&LockHolder::this_process().host));
    path.file_stem()?.to_str()?.strip_prefix(&prefix)?.parse().ok().map(Pid::from_raw)
}

async fn accept(listener: UnixListener, find: FindSession) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => _ = connections.spawn(serve(stream, Arc::clone(&find))),
                Err(error) => {
                    tracing::warn!(%error, "a connection to a session can't be accepted");
                    sleep(ACCEPT_RETRY).await;
                }
            },
        }
    }
}

async fn serve(mut stream: UnixStream, find: FindSession) {
    if is_started_by_tiller(&stream) {
        return tracing::warn!("a command that tiller has started was kept from attaching to a session");
    }
    let Ok(Ok(id)) = timeout(GREETING_TIMEOUT, read_id(&mut stream)).await else { return };
    let Some(agent) = find(id).await else { return };
    if let Err(error) = remote_session::share(agent, stream, None).await {
        tracing::warn!(%error, "a connection to the session failed");
    }
}

/// Reads a line byte by byte, because the bytes after it belong to the protocol.
async fn read_id(stream: &mut UnixStream) -> io::Result<SessionId> {
    let mut line = Vec::new();
    loop {
        match stream.read_u8().await? {
            b'\n' => break,
            byte if line.len() < MAX_ID => line.push(byte),
            _ => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
    let id = String::from_utf8(line).map_err(io::Error::other)?;
    Ok(SessionId::new(id))
}

/// Returns true if a process seems to accept connections.
pub(super) fn exists(input: &RunInput, holder: &LockHolder) -> bool {
    holder.is_on_this_machine() && path_of(&sockets(input), holder).exists()
}

/// Connects to a session that another process has open.
pub(super) async fn connect(
    input: &RunInput,
    holder: &LockHolder,
    session: &SessionId,
) -> Result<AgentSession, CliFailure> {
    let connected = connect_at(&path_of(&sockets(input), holder), session).await;
    connected
        .with_context(|| format!("can't attach to session {session} ({holder})"))
        .map_err(CliFailure::run)
}

/// Connects to a session without a log, by asking the user's processes on this machine for it. A session gets its log
/// with its first message.
pub(super) async fn connect_without_log(input: &RunInput, session: &SessionId) -> Option<AgentSession> {
    for path in sockets_of_this_machine(&sockets(input)).ok()? {
        if let Ok(Ok(agent)) = timeout(SEARCH_TIMEOUT, connect_at(&path, session)).await {
            return Some(agent);
        }
    }
    None
}

async fn connect_at(path: &Path, session: &SessionId) -> Result<AgentSession, RemoteError> {
    let mut stream = UnixStream::connect(path).await.map_err(RemoteError::Connection)?;
    let line = format!("{session}\n");
    stream.write_all(line.as_bytes()).await.map_err(RemoteError::Connection)?;
    remote_session::connect(stream).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn holder(host: &str, pid: i32) -> LockHolder {
        LockHolder { host: host.to_owned(), pid, since: String::new() }
    }

    #[test]
    fn socket_of_another_machine_is_not_abandoned() {
        let dir = TempDir::new().unwrap();
        let here = LockHolder::this_process().host;
        // No process has this id.
        let [gone, other] = [&*here, "elsewhere/x"].map(|host| path_of(dir.path(), &holder(host, i32::MAX)));
        assert_eq!(other, dir.path().join("elsewherex-2147483647.sock"));
        for path in [&gone, &other] {
            std::fs::write(path, "").unwrap();
        }
        remove_abandoned(dir.path()).unwrap();
        assert_eq!([gone, other].map(|path| path.exists()), [false, true]);
    }
}
