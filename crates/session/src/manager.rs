//! The session directory: creating, finding, listing, opening and forking sessions.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tiller_core::id::EntryId;
use tiller_core::unit::UnixMs;

use super::catalog::scan::{log_files, subdirs};
use super::entry::{Header, VERSION, absolute_path};
use super::error::SessionError;
use super::fnv::fnv1a;
use super::fork;
use super::fs::{Fs, OsFs};
use super::id_gen::IdGenerator;
use super::log::Log;
use super::reader::Reader;
use super::writer::Writer;

/// Maximum length of a directory name, in bytes; file systems allow 255.
const MAX_DIR_NAME: usize = 200;

/// Location of logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// One directory per working directory, below this directory.
    ByDirectory(PathBuf),
    /// All logs directly in this directory.
    Flat(PathBuf),
    /// In memory only.
    Memory,
}

/// Creates, finds and opens the sessions of one working directory.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use std::time::SystemTime;
///
/// use tiller_core::message::{Message, UserMessage};
/// use tiller_session::{EntryBody, Placement, SessionManager};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// # let logs = dir.path().to_owned();
/// let manager = SessionManager::new(Placement::Flat(logs), "/my/project".into());
/// let now = SystemTime::now().into();
/// let mut writer = manager.create(now);
/// let message = Message::User(UserMessage::text("Hello", now));
/// writer.append(EntryBody::message(Arc::new(message)), now)?;
/// drop(writer);
///
/// let newest = manager.most_recent()?.expect("there is a session");
/// let reader = manager.open(&newest)?.reader();
/// assert_eq!(reader.first_prompt().as_deref(), Some("Hello"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SessionManager {
    placement: Placement,
    cwd: PathBuf,
    fs: Arc<dyn Fs>,
    catalog_file: Option<PathBuf>,
}

impl SessionManager {
    /// Creates a manager for `cwd`, which should be a canonical path.
    #[must_use]
    pub fn new(placement: Placement, cwd: PathBuf) -> Self {
        Self { placement, cwd, fs: Arc::new(OsFs), catalog_file: None }
    }

    /// Writes logs to this file system instead of the operating system's.
    #[must_use]
    pub fn with_fs(self, fs: Arc<dyn Fs>) -> Self {
        Self { fs, ..self }
    }

    /// Stores the session catalog in this file, so that logs need not be read every time. The catalog is
    /// derived from the logs and may be deleted at any time.
    #[must_use]
    pub fn with_catalog(self, file: PathBuf) -> Self {
        Self { catalog_file: Some(file), ..self }
    }

    /// The working directory.
    #[must_use]
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Creates a session. Its file is created with the first message, summary or command.
    #[must_use]
    pub fn create(&self, now: UnixMs) -> Writer {
        self.create_from(None, now)
    }

    /// Creates an empty session with another one as its parent.
    #[must_use]
    pub fn create_after(&self, parent: &Path, now: UnixMs) -> Writer {
        self.create_from(Some(absolute_path(parent)), now)
    }

    /// Returns a manager for another working directory that stores logs in the same place.
    #[must_use]
    pub fn with_cwd(&self, cwd: PathBuf) -> Self {
        Self { cwd, ..self.clone() }
    }

    /// Returns a manager for the agent sessions of a session. Their logs are in a separate directory next to
    /// the session's, so that lists and searches omit them; lookups by id find them.
    #[must_use]
    pub fn for_agents_of(&self, session: &Reader) -> Self {
        let placement = session.agents_dir().map_or(Placement::Memory, Placement::Flat);
        Self { placement, catalog_file: None, ..self.clone() }
    }

    /// Opens a log for appending.
    ///
    /// # Errors
    /// Returns the same errors as [`Writer::open`].
    pub fn open(&self, path: &Path) -> Result<Writer, SessionError> {
        Writer::open_on(Arc::clone(&self.fs), path)
    }

    /// Creates a session whose log starts with a copy of `from`'s branch up to and including `last_entry`; its file is
    /// created immediately. Without `last_entry`, no entries are copied, and the file is created with the first prompt
    /// or `!` command. The new session has no queued messages, and its name is the original's with a fork suffix.
    ///
    /// # Errors
    /// If there is no such entry, or reading or writing fails.
    pub fn fork(
        &self,
        from: &Reader,
        last_entry: Option<&EntryId>,
        now: UnixMs,
    ) -> Result<Writer, SessionError> {
        if from.header().version > VERSION {
            let (version, path) =
                (from.header().version, from.path().map(Path::to_owned).unwrap_or_default());
            return Err(SessionError::Version { path, version, action: "forked" });
        }
        // A migrated log may not have a file yet; then the original is the parent.
        let parent = match from.path() {
            Some(path) if from.exists() => Some(absolute_path(path)),
            Some(_) | None => from.header().parent_session.clone(),
        };
        let mut ids = IdGenerator::after(last_entry);
        let (header, log) = self.new_log(&mut ids, parent, now);
        let Some(leaf) = last_entry else {
            let mut writer = Writer::create(header, log, ids);
            for body in fork::fork_entries(from, &[]) {
                writer.append(body, now)?;
            }
            return Ok(writer);
        };
        let mut bytes = header.line();
        bytes.extend(from.raw_path(leaf)?);
        let entries = fork::fork_entries(from, &from.tiller_entries_to(leaf)?);
        bytes.extend(fork::encode_lines(entries, leaf, &mut ids, now).bytes());
        log.append(&bytes)?;
        Writer::from_log(log)
    }

    /// Names a session; a blank name removes its name. The file's modification time is preserved, so that the
    /// session doesn't become the most recent one.
    ///
    /// # Errors
    /// Returns the same errors as [`Writer::open`]. Also fails if the name could not be written.
    pub fn name(&self, path: &Path, name: &str, now: UnixMs) -> Result<(), SessionError> {
        let modified = std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
        let mut writer = self.open(path)?;
        writer.name(Some(name), now)?;
        if let Some(file) = writer.file() {
            super::sync(&*file).map_err(|source| SessionError::Sync { path: path.to_owned(), source })?;
        }
        let restored =
            modified.map(|modified| File::options().append(true).open(path)?.set_modified(modified));
        if let Some(Err(error)) = restored {
            tracing::warn!(path = %path.display(), %error, "the session's modification time could not be restored");
        }
        Ok(())
    }

    /// Returns the paths of all log files for this working directory (and any others whose logs are
    /// stored in the same directory), or for all directories.
    ///
    /// # Errors
    /// If the directory exists but can't be read.
    pub fn logs(&self, scope: SessionScope) -> Result<Vec<PathBuf>, SessionError> {
        let dirs = match scope {
            SessionScope::ThisDirectory => self.dir().into_iter().collect(),
            SessionScope::Everywhere => self.dirs()?,
        };
        let mut logs: Vec<PathBuf> = log_files(&dirs)?;
        logs.sort();
        Ok(logs)
    }

    /// Returns the most recently written log of this working directory.
    ///
    /// # Errors
    /// Returns the same errors as [`SessionManager::list`].
    pub fn most_recent(&self) -> Result<Option<PathBuf>, SessionError> {
        self.catalog()?.most_recent()
    }

    /// Finds a log by its path, its id, or a prefix or suffix of the id.
    ///
    /// # Errors
    /// If no session, or more than one, matches.
    pub fn find(&self, query: &str) -> Result<PathBuf, SessionError> {
        let path = Path::new(query);
        if path.is_file() {
            return Ok(path.to_owned());
        }
        if path.extension().is_some_and(|extension| extension == "jsonl") || query.contains('/') {
            return Err(SessionError::NotFound(format!("there is no session file {query}")));
        }
        self.catalog()?.find_by_id(query)
    }

    /// Returns the path for a new log of `cwd`; `None` if sessions are in memory.
    pub(super) fn log_path(&self, cwd: &Path, header: &Header) -> Option<PathBuf> {
        Some(self.dir_of(cwd)?.join(header.file_name()))
    }

    /// Returns true if a file is in the session directory.
    pub(super) fn contains(&self, path: &Path) -> bool {
        match &self.placement {
            Placement::ByDirectory(root) | Placement::Flat(root) => {
                root.canonicalize().is_ok_and(|root| path.starts_with(root))
            }
            Placement::Memory => false,
        }
    }

    fn create_from(&self, parent: Option<String>, now: UnixMs) -> Writer {
        let mut ids = IdGenerator::after(None);
        let (header, log) = self.new_log(&mut ids, parent, now);
        Writer::create(header, log, ids)
    }

    fn new_log(&self, ids: &mut IdGenerator, parent_session: Option<String>, now: UnixMs) -> (Header, Log) {
        let cwd = self.cwd.display().to_string();
        let header = Header::new(ids.session(now), cwd, parent_session, now);
        let log = match self.log_path(&self.cwd, &header) {
            Some(path) => Log::with_path(Arc::clone(&self.fs), path),
            None => Log::in_memory(),
        };
        (header, log)
    }

    /// Returns the directory for logs of this working directory.
    pub(super) fn dir(&self) -> Option<PathBuf> {
        self.dir_of(&self.cwd)
    }

    fn dir_of(&self, cwd: &Path) -> Option<PathBuf> {
        match &self.placement {
            Placement::ByDirectory(root) => Some(root.join(dir_name(cwd))),
            Placement::Flat(dir) => Some(dir.clone()),
            Placement::Memory => None,
        }
    }

    /// The root directory of all logs.
    pub(super) fn root(&self) -> Option<&Path> {
        match &self.placement {
            Placement::ByDirectory(root) | Placement::Flat(root) => Some(root),
            Placement::Memory => None,
        }
    }

    /// All directories with logs.
    pub(super) fn dirs(&self) -> Result<Vec<PathBuf>, SessionError> {
        match &self.placement {
            Placement::Memory => Ok(Vec::new()),
            Placement::Flat(dir) => Ok(vec![dir.clone()]),
            Placement::ByDirectory(root) => subdirs(root),
        }
    }

    pub(super) fn catalog_file(&self) -> Option<&Path> {
        self.catalog_file.as_deref()
    }
}

/// The set of sessions to list or search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionScope {
    /// Sessions of the working directory.
    ThisDirectory,
    /// All sessions.
    Everywhere,
}

/// Returns the directory name for a working directory: `--home-me-code--`. It isn't unique, so lookups check
/// the header.
fn dir_name(cwd: &Path) -> String {
    let flat = cwd.display().to_string().trim_start_matches('/').replace(['/', '\\', ':'], "-");
    if flat.len() <= MAX_DIR_NAME {
        return format!("--{flat}--");
    }
    let cut = (0..=MAX_DIR_NAME - 17).rev().find(|&at| flat.is_char_boundary(at)).unwrap_or(0);
    format!("--{}-{:016x}--", &flat[..cut], fnv1a(flat.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dir_name_encodes_directory() {
        assert_eq!(dir_name(Path::new("/home/dev/project")), "--home-dev-project--");
    }

    #[test]
    fn dir_name_long_directory_is_cut_and_hashed() {
        let (a, b) = (format!("/{}a", "ö".repeat(150)), format!("/{}b", "ö".repeat(150)));
        let (a, b) = (dir_name(Path::new(&a)), dir_name(Path::new(&b)));
        assert!(a.len() <= MAX_DIR_NAME + 4 && a != b, "{a}");
    }
}
