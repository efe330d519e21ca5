//! The session catalog: lists, full-text search and lookup over many logs.
//!
//! The catalog caches records of logs in a small database next to the session directory. It is derived from
//! the logs: without it everything works, only slower. A log is read from where the last scan ended, and the
//! newest logs first. `scan` lists files, `log_record` and `extract` read them, `database` stores the
//! records, `usage_table` their usage, `query` searches them, `index_queue` scans many logs, and `resolve`
//! finds the session that a user means.

mod database;
mod extract;
mod index_queue;
mod log_record;
mod query;
mod resolve;
pub(super) mod scan;
mod summary;
mod usage_table;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use tiller_core::unit::UnixMs;

use self::database::{Database, KnownLog, SearchFilter, SearchUnit, is_busy, is_damage};
use self::log_record::LogRecord;
use self::scan::{FileStamp, LogFile, ScannedDirs};
use super::error::{SessionError, io_error};
use super::manager::{SessionManager, SessionScope};

pub use self::index_queue::{IndexProgress, IndexQueue};
pub use self::query::{SearchHit, Snippet};
pub use self::summary::{PageRequest, SessionList, SessionSummary};
pub use self::usage_table::QuarterUsage;

/// The catalog of a manager's logs.
#[derive(Debug)]
pub struct Catalog {
    manager: SessionManager,
    /// The working directory as written in a header; it differs from the path if that isn't Unicode.
    cwd: String,
    database: Database,
    /// Number of times that the database failed and was recreated.
    restarts: usize,
    /// True after another process blocked a write to the database; writes are skipped until the next scan.
    is_database_busy: bool,
}

/// All log files, and their records as of the last scan.
struct Scan {
    files: Vec<LogFile>,
    known: HashMap<PathBuf, KnownLog>,
    /// Directories that can't be listed, with the error.
    unlisted: Vec<(PathBuf, SessionError)>,
}

enum RecordState<'a> {
    /// The record is up to date.
    Fresh(&'a KnownLog),
    /// The log has changed since.
    Stale,
    Unknown,
}

impl Scan {
    fn record_state(&self, file: &LogFile) -> RecordState<'_> {
        match self.known.get(&file.path) {
            Some(known) if known.stamp == file.stamp => RecordState::Fresh(known),
            Some(_) => RecordState::Stale,
            None => RecordState::Unknown,
        }
    }
}

impl SessionManager {
    /// Opens the catalog, for lists, searches and lookups.
    ///
    /// # Errors
    /// If it can't be stored in its file or in a temporary one.
    pub fn catalog(&self) -> Result<Catalog, SessionError> {
        Catalog::open(self.clone())
    }

    /// Lists the sessions of this working directory, or all sessions.
    ///
    /// # Errors
    /// If the directory exists but can't be read.
    pub fn list(&self, scope: SessionScope) -> Result<SessionList, SessionError> {
        self.catalog()?.page(scope, PageRequest::default())
    }
}

impl Catalog {
    /// Opens the catalog of a manager, or a temporary one if its file can't be used.
    pub(super) fn open(manager: SessionManager) -> Result<Self, SessionError> {
        let stored = manager.catalog_file().and_then(|path| match Database::open(path) {
            Ok(database) => Some(database),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "the session catalog can't be stored; using a temporary one");
                None
            }
        });
        let database = stored.map_or_else(Database::temporary, Ok).map_err(unusable)?;
        Ok(Self {
            cwd: manager.cwd().display().to_string(),
            manager,
            database,
            restarts: 0,
            is_database_busy: false,
        })
    }

    /// Returns a page of the list of sessions. Reads only logs of this page whose records are missing or
    /// stale.
    ///
    /// # Errors
    /// If a directory exists but can't be read.
    pub fn page(&mut self, scope: SessionScope, page: PageRequest) -> Result<SessionList, SessionError> {
        let mut scan = self.scan()?;
        let (mut list, mut skip) = (SessionList::default(), page.offset);
        let unlisted = scan.unlisted.drain(..).map(|(_, error)| error);
        list.unreadable.extend(unlisted);
        for file in &scan.files {
            let record = match self.record_in_scope(scope, file, &scan) {
                Ok(Some(record)) => record,
                Ok(None) => continue,
                Err(error) => {
                    list.unreadable.push(error);
                    continue;
                }
            };
            if skip > 0 {
                skip -= 1;
            } else if page.limit.is_some_and(|limit| list.sessions.len() >= limit) {
                list.more = true;
                break;
            } else {
                list.sessions.push(SessionSummary::new(file.path.clone(), &file.stamp, record));
            }
        }
        Ok(list)
    }

    /// Returns the sessions with a record, most recently written first; opens no log.
    ///
    /// # Errors
    /// If a directory exists but can't be read.
    pub fn indexed_sessions(&mut self, scope: SessionScope) -> Result<Vec<SessionSummary>, SessionError> {
        let scan = self.scan()?;
        let mut sessions = Vec::new();
        for file in &scan.files {
            let Some(known) = scan.known.get(&file.path) else { continue };
            if scope == SessionScope::ThisDirectory && known.cwd != self.cwd {
                continue;
            }
            if let Some((_, record)) = self.with_database(|database| database.record(&file.path))?
                && record.problem.is_none()
            {
                sessions.push(SessionSummary::new(file.path.clone(), &file.stamp, record));
            }
        }
        Ok(sessions)
    }

    /// Returns the most recently written log of this working directory. A log without a record is read only
    /// if its header names this directory.
    ///
    /// # Errors
    /// If a directory exists but can't be read.
    pub fn most_recent(&mut self) -> Result<Option<PathBuf>, SessionError> {
        let scan = self.scan()?;
        for file in &scan.files {
            let is_in_directory = match scan.record_state(file) {
                RecordState::Fresh(known) => known.cwd == self.cwd,
                RecordState::Stale => self.was_used_in_cwd(file),
                // The header names the initial directory; the session may have been resumed elsewhere.
                RecordState::Unknown => {
                    self.may_belong_to_cwd(file)
                        && log_record::header_cwd(&file.path).as_ref() == Some(&self.cwd)
                        && self.was_used_in_cwd(file)
                }
            };
            if is_in_directory {
                return Ok(Some(file.path.clone()));
            }
        }
        // The unlisted directory may contain this directory's sessions.
        let project_dir = self.manager.dir();
        let unlisted = scan.unlisted.into_iter().find(|(dir, _)| project_dir.as_ref() == Some(dir));
        unlisted.map_or(Ok(None), |(_, error)| Err(error))
    }

    /// Finds the entries that contain all of these words, best matches first, then by time. The last
    /// word matches as a prefix. Logs without a record are not searched.
    ///
    /// # Errors
    /// If the catalog can't be used.
    pub fn search(
        &mut self,
        query: &str,
        scope: SessionScope,
        limit: usize,
    ) -> Result<Vec<SearchHit>, SessionError> {
        self.search_each(SearchUnit::Entry, query, scope, limit)
    }

    fn search_each(
        &mut self,
        each: SearchUnit,
        query: &str,
        scope: SessionScope,
        limit: usize,
    ) -> Result<Vec<SearchHit>, SessionError> {
        let (Some(query), Some(root)) = (query::fts_query(query), self.manager.root().map(Path::to_owned))
        else {
            return Ok(Vec::new());
        };
        let cwd = (scope == SessionScope::ThisDirectory).then(|| self.cwd.clone());
        let filter = SearchFilter { root: &root, cwd: cwd.as_deref(), limit, unit: each };
        let restarts = self.restarts;
        let hits = self.with_database(|database| query::hits(database, &query, &filter))?;
        if self.restarts == restarts {
            return Ok(hits);
        }
        // The database was recreated empty.
        self.refresh(scope, |_| ())?;
        self.with_database(|database| query::hits(database, &query, &filter))
    }

    /// Like [`Catalog::search`], with only the best entry of each session.
    ///
    /// # Errors
    /// Returns the same errors as [`Catalog::search`].
    pub fn search_sessions(
        &mut self,
        query: &str,
        scope: SessionScope,
        limit: usize,
    ) -> Result<Vec<SearchHit>, SessionError> {
        self.search_each(SearchUnit::Session, query, scope, limit)
    }

    /// Returns usage in all directories by time, starting with the quarter of an hour that contains `since`.
    /// Entries that a fork copied count only in their original log. Logs without a record are missing; those
    /// that grew count as of their last scan.
    ///
    /// # Errors
    /// If the catalog can't be used.
    pub fn usage_since(&mut self, since: UnixMs) -> Result<Vec<QuarterUsage>, SessionError> {
        let Some(root) = self.manager.root().map(Path::to_owned) else { return Ok(Vec::new()) };
        self.with_database(|database| database.usage_since(&root, since))
    }

    /// Returns the record of a log; `None` if the log isn't in this scope.
    fn record_in_scope(
        &mut self,
        scope: SessionScope,
        file: &LogFile,
        scan: &Scan,
    ) -> Result<Option<LogRecord>, SessionError> {
        let may_match = match scan.record_state(file) {
            RecordState::Fresh(known) => {
                known.cwd == self.cwd || known.cwd.is_empty() && self.may_belong_to_cwd(file)
            }
            RecordState::Stale => true,
            RecordState::Unknown => {
                let header_cwd = || log_record::header_cwd(&file.path);
                self.may_belong_to_cwd(file) && header_cwd().is_none_or(|cwd| cwd == self.cwd)
            }
        };
        if scope == SessionScope::ThisDirectory && !may_match {
            return Ok(None);
        }
        let record = match self.record(file) {
            Err(_) if scope == SessionScope::ThisDirectory && !self.may_belong_to_cwd(file) => {
                return Ok(None);
            }
            record => record?,
        };
        Ok((scope == SessionScope::Everywhere || record.cwd == self.cwd).then_some(record))
    }

    /// Returns true if a log without a record may belong to this working directory, judging by the log's
    /// directory.
    fn may_belong_to_cwd(&self, file: &LogFile) -> bool {
        self.manager.dir().as_deref() == file.path.parent()
    }

    /// Returns true if a log was last used in this working directory.
    fn was_used_in_cwd(&mut self, file: &LogFile) -> bool {
        self.record(file).is_ok_and(|record| record.cwd == self.cwd)
    }

    /// Returns the record of a log, reading the log if necessary.
    fn record(&mut self, file: &LogFile) -> Result<LogRecord, SessionError> {
        let record = match self.with_database(|database| database.record(&file.path))? {
            Some((stamp, record)) if stamp == file.stamp => return require_session(&file.path, record),
            record => record.and_then(|record| if_appended_only(file, record)),
        };
        let start = record.as_ref().map_or(0, |record| record.progress.upto);
        let scan = log_record::scan_log(&file.path, record).map_err(io_error(&file.path, "be read"))?;
        let record = scan.record.clone();
        let scans = [(file.path.clone(), file.stamp, start, scan)];
        self.store_results(|database| database.store(&scans))?;
        require_session(&file.path, record)
    }

    fn scan(&mut self) -> Result<Scan, SessionError> {
        self.is_database_busy = false;
        let Some(root) = self.manager.root().map(Path::to_owned) else {
            return Ok(Scan { files: Vec::new(), known: HashMap::new(), unlisted: Vec::new() });
        };
        let ScannedDirs { files, unlisted } = scan::scan_dirs(&self.manager.dirs()?);
        let mut known: HashMap<PathBuf, KnownLog> =
            self.with_database(|database| database.known(&root))?.into_iter().collect();
        let existing: HashSet<&Path> = files.iter().map(|file| file.path.as_path()).collect();
        // Files in an unlisted directory may still exist.
        let is_in_unlisted =
            |path: &Path| unlisted.iter().any(|(dir, _)| path.parent() == Some(dir.as_path()));
        let is_missing = |path: &Path| !existing.contains(path) && !is_in_unlisted(path);
        let missing: Vec<PathBuf> = known.keys().filter(|path| is_missing(path)).cloned().collect();
        // If no files at all are left, the directory is probably not mounted.
        if !missing.is_empty() && !files.is_empty() {
            self.store_results(|database| database.remove(&missing))?;
        }
        known.retain(|path, _| existing.contains(path.as_path()));
        Ok(Scan { files, known, unlisted })
    }

    /// Stores the results of a lookup. If another process is writing, they are dropped and the log is read
    /// again next time.
    fn store_results(
        &mut self,
        mut run: impl FnMut(&mut Database) -> rusqlite::Result<()>,
    ) -> Result<(), SessionError> {
        if self.is_database_busy {
            return Ok(());
        }
        let mut found_busy = false;
        let result = self.with_database(|database| match run(database) {
            Err(error) if is_busy(&error) => {
                found_busy = true;
                Ok(())
            }
            result => result,
        });
        self.is_database_busy = found_busy;
        result
    }

    /// Runs a query. A damaged database is recreated; after another error it is replaced with a temporary
    /// one.
    fn with_database<T>(
        &mut self,
        mut run: impl FnMut(&mut Database) -> rusqlite::Result<T>,
    ) -> Result<T, SessionError> {
        let error = match run(&mut self.database) {
            Ok(result) => return Ok(result),
            Err(error) => error,
        };
        tracing::warn!(%error, "the session catalog failed; it is rebuilt");
        self.restarts += 1;
        let recreated = self.database.path().filter(|_| is_damage(&error)).map(Database::recreate);
        self.database =
            recreated.and_then(Result::ok).map_or_else(Database::temporary, Ok).map_err(unusable)?;
        run(&mut self.database).map_err(unusable)
    }
}

/// Returns the old record of a log, if the file may only have grown since.
fn if_appended_only(file: &LogFile, (stamp, record): (FileStamp, LogRecord)) -> Option<LogRecord> {
    file.stamp.may_be_growth_of(&stamp).then_some(record)
}

fn unusable(error: rusqlite::Error) -> SessionError {
    SessionError::Catalog(Box::new(error))
}

fn require_session(path: &Path, record: LogRecord) -> Result<LogRecord, SessionError> {
    match record.problem {
        Some(problem) => Err(SessionError::Header { path: path.to_owned(), problem }),
        None => Ok(record),
    }
}
