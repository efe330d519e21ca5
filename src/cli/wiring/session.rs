//! The session to begin with: opened, made, forked or chosen.

use std::path::{Path, PathBuf};

use super::{cwd, now};
use crate::cli::args::CliArgs;
use crate::cli::frontend::FrontEnd;
use crate::cli::resume::{self, Resolution};
use crate::cli::{CliFailure, git_remote};
use crate::config::Config;
use crate::id::SessionId;
use crate::session::{Placement, Reader, SessionError, SessionManager, Writer};
use crate::setting;

/// The sessions of a directory.
pub(in crate::cli) fn manager(arguments: &CliArgs, config: &Config, cwd: PathBuf) -> SessionManager {
    let placement = if arguments.session.no_session {
        Placement::Memory
    } else if let Some(folder) = config.settings.text(&setting::SESSION_DIR) {
        Placement::Flat(cwd.join(folder))
    } else {
        Placement::ByDirectory(config.folders.sessions())
    };
    let is_kept = placement != Placement::Memory;
    let manager = SessionManager::new(placement, cwd);
    if is_kept { manager.with_catalog(config.folders.state.join("sessions.db")) } else { manager }
}

/// A session that is open for writing, the folder it belongs to, and how it was come by.
pub(in crate::cli) struct OpenedLog {
    pub(super) manager: SessionManager,
    pub(super) begun: SessionStart,
    /// The repository's origin.
    pub(super) remote: Option<String>,
}

/// Which session is to be opened.
pub(in crate::cli) enum SessionChoice {
    /// The one that the arguments name.
    Named,
    /// A fork of the one at this path, whatever they name.
    ForkOf(PathBuf),
    /// The one that was chosen.
    Chosen(Resolution),
}

/// Opens or makes a session.
pub(in crate::cli) fn open(
    arguments: &CliArgs,
    config: &Config,
    front: FrontEnd,
    which: SessionChoice,
) -> Result<OpenedLog, CliFailure> {
    let manager = manager(arguments, config, cwd(arguments)?);
    let remote = git_remote::of(manager.cwd());
    let begun = match which {
        SessionChoice::Named => session(arguments, &manager, remote.as_deref(), front)?,
        SessionChoice::Chosen(found) => begin(&manager, found)?,
        SessionChoice::ForkOf(path) => {
            let reader = Reader::open(&path)?;
            let notice = Some(format!("this is a fork of {}", path.display()));
            SessionStart { notice, ..manager.fork(&reader, reader.leaf().as_ref(), now())?.into() }
        }
    };
    Ok(OpenedLog { manager, begun, remote })
}

impl OpenedLog {
    pub(in crate::cli) fn session(&self) -> SessionId {
        self.begun.writer.reader().id().clone()
    }

    pub(in crate::cli) fn cwd(&self) -> &Path {
        self.manager.cwd()
    }
}

/// The session to begin with.
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
    /// What there is to be said of it: how it was come by, and what is to be known of its log.
    pub(super) fn notices(&self, cwd: &Path) -> Vec<String> {
        self.notice.clone().into_iter().chain(self.writer.reader().remarks(cwd)).collect()
    }
}

fn session(
    arguments: &CliArgs,
    manager: &SessionManager,
    remote: Option<&str>,
    front: FrontEnd,
) -> Result<SessionStart, CliFailure> {
    let asked = &arguments.session;
    if let Some(words) = &asked.session {
        return Ok(manager.open(&manager.find(words)?)?.into());
    }
    if let Some(words) = &asked.fork {
        let (path, entry) = forked(manager, words)?;
        let reader = Reader::open(&path)?;
        let entry = entry.map(|entry| reader.find(entry)).transpose()?.or_else(|| reader.leaf());
        return Ok(manager.fork(&reader, entry.as_ref(), now())?.into());
    }
    let chosen = match &asked.resume {
        Some(words) => resume::by_words(manager, words, remote, front)?,
        None if asked.recent => resume::most_recent(manager, remote, front)?,
        None => Resolution::Fresh,
    };
    begin(manager, chosen)
}

fn begin(manager: &SessionManager, found: Resolution) -> Result<SessionStart, CliFailure> {
    Ok(match found {
        Resolution::Log(path) => manager.open(&path)?.into(),
        Resolution::Moved(path, notice) => {
            SessionStart { notice: Some(notice), ..manager.open(&path)?.into() }
        }
        Resolution::Fresh => manager.create(now()).into(),
        Resolution::Pick => SessionStart { pick: true, ..manager.create(now()).into() },
    })
}

/// The log to fork and the entry that was named. A path may hold an `@` of its own, so all of the words come first.
fn forked<'a>(manager: &SessionManager, words: &'a str) -> Result<(PathBuf, Option<&'a str>), SessionError> {
    match (manager.find(words), words.rsplit_once('@')) {
        (Err(SessionError::NotFound(_)), Some((session, entry))) if !entry.contains('/') => {
            Ok((manager.find(session)?, Some(entry)))
        }
        (found, _) => Ok((found?, None)),
    }
}
