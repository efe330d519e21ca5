//! Opens the first session: an existing one, a new one, a fork, or one that the user chose.

use std::path::{Path, PathBuf};

use crate::cli::args::CliArgs;
use crate::cli::failure::CliFailure;
use crate::cli::frontend::FrontEnd;
use crate::cli::git_remote;
use crate::cli::resume::{self, Resolution};
use crate::cli::startup::{cwd, now};
use crate::config::Config;
use crate::id::SessionId;
use crate::session::{Placement, Reader, SessionError, SessionManager, Writer};

/// The session manager for a directory.
pub(in crate::cli) fn manager(arguments: &CliArgs, config: &Config, cwd: PathBuf) -> SessionManager {
    let placement = if arguments.session.no_session {
        Placement::Memory
    } else if let Some(dir) = config.settings.session_dir() {
        Placement::Flat(cwd.join(dir))
    } else {
        Placement::ByDirectory(config.dirs.sessions())
    };
    let is_stored = placement != Placement::Memory;
    let manager = SessionManager::new(placement, cwd);
    if is_stored { manager.with_catalog(config.dirs.state.join("sessions.db")) } else { manager }
}

/// A session open for writing, its manager, and a notice about its origin.
pub(in crate::cli) struct OpenedLog {
    pub(super) manager: SessionManager,
    pub(super) start: SessionStart,
    /// The URL of the repository's remote.
    pub(super) remote: Option<String>,
}

pub(in crate::cli) enum SessionChoice {
    /// The session that the arguments name.
    Named,
    /// A fork of the session at this path; the session that the arguments name is ignored.
    ForkOf(PathBuf),
    /// The session that the user chose.
    Chosen(Resolution),
}

/// Opens or creates a session.
pub(in crate::cli) fn open(
    arguments: &CliArgs,
    config: &Config,
    front: FrontEnd,
    choice: SessionChoice,
) -> Result<OpenedLog, CliFailure> {
    let manager = manager(arguments, config, cwd(arguments)?);
    let remote = git_remote::find_remote(manager.cwd(), config);
    let start = match choice {
        SessionChoice::Named => session(arguments, &manager, remote.as_deref(), front)?,
        SessionChoice::Chosen(resolution) => start_session(&manager, resolution)?,
        SessionChoice::ForkOf(path) => {
            let reader = Reader::open(&path)?;
            let notice = Some(format!("forked from {}", path.display()));
            SessionStart { notice, ..manager.fork(&reader, reader.leaf().as_ref(), now())?.into() }
        }
    };
    Ok(OpenedLog { manager, start, remote })
}

impl OpenedLog {
    pub(in crate::cli) fn session(&self) -> SessionId {
        self.start.writer.reader().id().clone()
    }

    pub(in crate::cli) fn cwd(&self) -> &Path {
        self.manager.cwd()
    }
}

/// The first session, and the way it was found.
pub(super) struct SessionStart {
    pub(super) writer: Writer,
    notice: Option<String>,
    pub(super) pick: bool,
}

impl From<Writer> for SessionStart {
    fn from(writer: Writer) -> Self {
        Self { writer, notice: None, pick: false }
    }
}

impl SessionStart {
    /// Notices about the session's origin and its log.
    pub(super) fn notices(&self, cwd: &Path) -> Vec<String> {
        self.notice.clone().into_iter().chain(self.writer.reader().warnings(cwd)).collect()
    }
}

fn session(
    arguments: &CliArgs,
    manager: &SessionManager,
    remote: Option<&str>,
    front: FrontEnd,
) -> Result<SessionStart, CliFailure> {
    let session_arguments = &arguments.session;
    if let Some(query) = &session_arguments.session {
        return Ok(manager.open(&manager.find(query)?)?.into());
    }
    if let Some(query) = &session_arguments.fork {
        let (path, entry) = resolve_fork(manager, query)?;
        let reader = Reader::open(&path)?;
        let entry = entry.map(|entry| reader.find(entry)).transpose()?.or_else(|| reader.leaf());
        return Ok(manager.fork(&reader, entry.as_ref(), now())?.into());
    }
    let chosen = match &session_arguments.resume {
        Some(query) => resume::find_by_query(manager, query, remote, front)?,
        None if session_arguments.recent => resume::most_recent(manager, remote, front)?,
        None => Resolution::Fresh,
    };
    start_session(manager, chosen)
}

fn start_session(manager: &SessionManager, resolution: Resolution) -> Result<SessionStart, CliFailure> {
    Ok(match resolution {
        Resolution::Log(path) => manager.open(&path)?.into(),
        Resolution::Moved(path, notice) => {
            SessionStart { notice: Some(notice), ..manager.open(&path)?.into() }
        }
        Resolution::Fresh => manager.create(now()).into(),
        Resolution::Pick => SessionStart { pick: true, ..manager.create(now()).into() },
    })
}

/// Resolves the argument of `--fork`. Because a path may contain `@`, the entire argument is tried first.
fn resolve_fork<'a>(
    manager: &SessionManager,
    query: &'a str,
) -> Result<(PathBuf, Option<&'a str>), SessionError> {
    match (manager.find(query), query.rsplit_once('@')) {
        (Err(SessionError::NotFound(_)), Some((session, entry))) if !entry.contains('/') => {
            Ok((manager.find(session)?, Some(entry)))
        }
        (resolution, _) => Ok((resolution?, None)),
    }
}
