//! Many logs at once: lists of them, what was said in them, and which one is meant.
//!
//! A catalog keeps what it reads in a small database beside the logs' folder; the logs stay the truth, and without the
//! file everything works, only slower. It reads a log from where it ended last time, and the newest logs first. Files are
//! found and dated by `folder`, read by `digest` and `line`, kept by `database`, and searched through `query`; `backlog` reads many at
//! once, and `choice` tells which one somebody means.

mod database;
mod extract;
mod index_queue;
mod log_record;
mod query;
mod resolve;
mod scan;
mod summary;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use self::database::{Database, Each, Extent, Known, is_busy, is_damage};
use self::log_record::LogRecord;
use self::scan::{File, Found, Stamp};
use super::error::SessionError;
use super::log::io_error;
use super::manager::{SessionManager, SessionScope};

pub use self::index_queue::{IndexProgress, IndexQueue};
pub use self::query::{SearchHit, Snippet};
pub use self::summary::{PageRequest, SessionList, SessionSummary};

/// Many logs.
#[derive(Debug)]
pub struct Catalog {
    manager: SessionManager,
    /// The working directory as a header has it, which is not what the system calls it where the name is no Unicode.
    cwd: String,
    database: Database,
    /// How many times the database failed and was begun anew.
    restarts: usize,
    /// Whether another tiller was writing into the database when this one wanted to; it isn't waited for twice.
    is_held: bool,
}

/// The logs there are, and what was known of them at the last look.
struct Survey {
    files: Vec<File>,
    known: HashMap<PathBuf, Known>,
    /// Folders that can't be listed, with the reason.
    closed: Vec<(PathBuf, SessionError)>,
}

/// What is known of a log before it is looked into.
enum Standing<'a> {
    /// Everything.
    Fresh(&'a Known),
    /// It changed since.
    Stale,
    Unknown,
}

impl Survey {
    fn standing(&self, file: &File) -> Standing<'_> {
        match self.known.get(&file.path) {
            Some(known) if known.stamp == file.stamp => Standing::Fresh(known),
            Some(_) => Standing::Stale,
            None => Standing::Unknown,
        }
    }
}

impl Catalog {
    /// Opens what is known of a manager's logs. Where that can't be kept, it is gathered anew in a passing file.
    pub(super) fn open(manager: SessionManager) -> Result<Self, SessionError> {
        let kept = manager.catalog_file().and_then(|path| match Database::open(path) {
            Ok(database) => Some(database),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "the catalog of sessions can't be kept");
                None
            }
        });
        let database = kept.map_or_else(Database::passing, Ok).map_err(unusable)?;
        Ok(Self { cwd: manager.cwd().display().to_string(), manager, database, restarts: 0, is_held: false })
    }

    /// A part of the list of sessions. Only the logs of this part are read, where they aren't known yet.
    ///
    /// # Errors
    /// When a folder is there and can't be read.
    pub fn page(&mut self, scope: SessionScope, page: PageRequest) -> Result<SessionList, SessionError> {
        let mut survey = self.survey()?;
        let (mut listing, mut skip) = (SessionList::default(), page.offset);
        let closed = survey.closed.drain(..).map(|(_, error)| error);
        listing.unreadable.extend(closed);
        for file in &survey.files {
            let digest = match self.digest_in(scope, file, &survey) {
                Ok(Some(digest)) => digest,
                Ok(None) => continue,
                Err(error) => {
                    listing.unreadable.push(error);
                    continue;
                }
            };
            if skip > 0 {
                skip -= 1;
            } else if page.limit.is_some_and(|limit| listing.sessions.len() >= limit) {
                listing.more = true;
                break;
            } else {
                listing.sessions.push(SessionSummary::new(file.path.clone(), &file.stamp, digest));
            }
        }
        Ok(listing)
    }

    /// Sessions that are known already, the one written to last first; no log is opened.
    ///
    /// # Errors
    /// When a folder is there and can't be read.
    pub fn known(&mut self, scope: SessionScope) -> Result<Vec<SessionSummary>, SessionError> {
        let survey = self.survey()?;
        let mut sessions = Vec::new();
        for file in &survey.files {
            let Some(known) = survey.known.get(&file.path) else { continue };
            if scope == SessionScope::ThisDirectory && known.cwd != self.cwd {
                continue;
            }
            if let Some((_, digest)) = self.ask(|database| database.digest(&file.path))?
                && digest.problem.is_none()
            {
                sessions.push(SessionSummary::new(file.path.clone(), &file.stamp, digest));
            }
        }
        Ok(sessions)
    }

    /// The log of this working directory that was written to last. Of logs that aren't known only those are read whose
    /// header names this directory.
    ///
    /// # Errors
    /// When a folder is there and can't be read.
    pub fn most_recent(&mut self) -> Result<Option<PathBuf>, SessionError> {
        let survey = self.survey()?;
        for file in &survey.files {
            let is_ours = match survey.standing(file) {
                Standing::Fresh(known) => known.cwd == self.cwd,
                Standing::Stale => self.is_at_home(file),
                // The header says where it began; it may have been gone on with elsewhere.
                Standing::Unknown => {
                    self.may_be_here(file)
                        && log_record::header_cwd(&file.path).as_ref() == Some(&self.cwd)
                        && self.is_at_home(file)
                }
            };
            if is_ours {
                return Ok(Some(file.path.clone()));
            }
        }
        // This directory's sessions may be there all the same.
        let own = self.manager.folder();
        let closed = survey.closed.into_iter().find(|(folder, _)| own.as_ref() == Some(folder));
        closed.map_or(Ok(None), |(_, error)| Err(error))
    }

    /// Entries in which all of these words were said, the best first; of equals the newest. The last word may go on. Logs that
    /// have not been read are not found.
    ///
    /// # Errors
    /// When the catalog can't be used.
    pub fn search(
        &mut self,
        words: &str,
        scope: SessionScope,
        limit: usize,
    ) -> Result<Vec<SearchHit>, SessionError> {
        self.search_each(Each::Entry, words, scope, limit)
    }

    fn search_each(
        &mut self,
        each: Each,
        words: &str,
        scope: SessionScope,
        limit: usize,
    ) -> Result<Vec<SearchHit>, SessionError> {
        let (Some(words), Some(root)) = (query::expression(words), self.manager.root().map(Path::to_owned))
        else {
            return Ok(Vec::new());
        };
        let cwd = (scope == SessionScope::ThisDirectory).then(|| self.cwd.clone());
        let extent = Extent { root: &root, cwd: cwd.as_deref(), limit, each };
        let restarts = self.restarts;
        let hits = self.ask(|database| query::hits(database, &words, &extent))?;
        if self.restarts == restarts {
            return Ok(hits);
        }
        // What was asked knew nothing any more.
        self.refresh(scope, |_| ())?;
        self.ask(|database| query::hits(database, &words, &extent))
    }

    /// As [`Catalog::search`], with the best entry of each session only.
    ///
    /// # Errors
    /// As [`Catalog::search`].
    pub fn sessions_saying(
        &mut self,
        words: &str,
        scope: SessionScope,
        limit: usize,
    ) -> Result<Vec<SearchHit>, SessionError> {
        self.search_each(Each::Session, words, scope, limit)
    }

    /// What a log of this scope says; `None` when it is of another.
    fn digest_in(
        &mut self,
        scope: SessionScope,
        file: &File,
        survey: &Survey,
    ) -> Result<Option<LogRecord>, SessionError> {
        let may_be_ours = match survey.standing(file) {
            Standing::Fresh(known) => known.cwd == self.cwd || known.cwd.is_empty() && self.may_be_here(file),
            Standing::Stale => true,
            Standing::Unknown => {
                let header = || log_record::header_cwd(&file.path);
                self.may_be_here(file) && header().is_none_or(|cwd| cwd == self.cwd)
            }
        };
        if scope == SessionScope::ThisDirectory && !may_be_ours {
            return Ok(None);
        }
        let digest = match self.look_into(file) {
            Err(_) if scope == SessionScope::ThisDirectory && !self.may_be_here(file) => return Ok(None),
            digest => digest?,
        };
        Ok((scope == SessionScope::Everywhere || digest.cwd == self.cwd).then_some(digest))
    }

    /// Whether a log that nothing is known of may be one of this directory, going by where it is.
    fn may_be_here(&self, file: &File) -> bool {
        self.manager.folder().as_deref() == file.path.parent()
    }

    /// Whether a log says that it was last worked on in this directory.
    fn is_at_home(&mut self, file: &File) -> bool {
        self.look_into(file).is_ok_and(|digest| digest.cwd == self.cwd)
    }

    /// What a log says, as it is known or read.
    fn look_into(&mut self, file: &File) -> Result<LogRecord, SessionError> {
        let before = match self.ask(|database| database.digest(&file.path))? {
            Some((stamp, digest)) if stamp == file.stamp => return session_of(&file.path, digest),
            before => before.and_then(|before| grown(file, before)),
        };
        let from = before.as_ref().map_or(0, |digest| digest.extent.upto);
        let look = log_record::look(&file.path, before).map_err(io_error(&file.path, "be read"))?;
        let digest = look.digest.clone();
        let looks = [(file.path.clone(), file.stamp, from, look)];
        self.keep(|database| database.store(&looks))?;
        session_of(&file.path, digest)
    }

    fn survey(&mut self) -> Result<Survey, SessionError> {
        self.is_held = false;
        let Some(root) = self.manager.root().map(Path::to_owned) else {
            return Ok(Survey { files: Vec::new(), known: HashMap::new(), closed: Vec::new() });
        };
        let Found { files, closed } = scan::files(&self.manager.folders()?);
        let mut known: HashMap<PathBuf, Known> =
            self.ask(|database| database.known(&root))?.into_iter().collect();
        let there: HashSet<&Path> = files.iter().map(|file| file.path.as_path()).collect();
        // Nobody can tell what is still in a folder that can't be listed.
        let is_hidden =
            |path: &Path| closed.iter().any(|(folder, _)| path.parent() == Some(folder.as_path()));
        let is_gone = |path: &Path| !there.contains(path) && !is_hidden(path);
        let gone: Vec<PathBuf> = known.keys().filter(|path| is_gone(path)).cloned().collect();
        // A folder that is empty of a sudden is more likely not mounted.
        if !gone.is_empty() && !files.is_empty() {
            self.keep(|database| database.forget(&gone))?;
        }
        known.retain(|path, _| there.contains(path.as_path()));
        Ok(Survey { files, known, closed })
    }

    /// Writes into the database what a look-up found. While another tiller writes that is left: it is read again next time.
    fn keep(
        &mut self,
        mut what: impl FnMut(&mut Database) -> rusqlite::Result<()>,
    ) -> Result<(), SessionError> {
        if self.is_held {
            return Ok(());
        }
        let mut is_held = false;
        let answer = self.ask(|database| match what(database) {
            Err(error) if is_busy(&error) => {
                is_held = true;
                Ok(())
            }
            answer => answer,
        });
        self.is_held = is_held;
        answer
    }

    /// Asks the database. One that is damaged is made anew; one that fails otherwise is left alone from here on.
    fn ask<T>(
        &mut self,
        mut what: impl FnMut(&mut Database) -> rusqlite::Result<T>,
    ) -> Result<T, SessionError> {
        let error = match what(&mut self.database) {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        tracing::warn!(%error, "the catalog of sessions failed; it is gathered anew");
        self.restarts += 1;
        let anew = self.database.path().filter(|_| is_damage(&error)).map(Database::make_anew);
        self.database = anew.and_then(Result::ok).map_or_else(Database::passing, Ok).map_err(unusable)?;
        what(&mut self.database).map_err(unusable)
    }
}

/// What was known of a log, if it holds for its beginning still.
fn grown(file: &File, (stamp, digest): (Stamp, LogRecord)) -> Option<LogRecord> {
    file.stamp.may_be_growth_of(&stamp).then_some(digest)
}

fn unusable(error: rusqlite::Error) -> SessionError {
    SessionError::Catalog(Box::new(error))
}

fn session_of(path: &Path, digest: LogRecord) -> Result<LogRecord, SessionError> {
    match digest.problem {
        Some(what) => Err(SessionError::Header { path: path.to_owned(), what }),
        None => Ok(digest),
    }
}

/// Every log in these folders.
pub(super) fn files_of(folders: &[PathBuf]) -> Result<Vec<PathBuf>, SessionError> {
    let found = scan::files(folders);
    match found.closed.into_iter().next() {
        Some((_, error)) => Err(error),
        None => Ok(found.files.into_iter().map(|file| file.path).collect()),
    }
}

/// The folders in a folder.
pub(super) fn subfolders(folder: &Path) -> Result<Vec<PathBuf>, SessionError> {
    let entries = scan::entries(folder)?.into_iter();
    Ok(entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect())
}
