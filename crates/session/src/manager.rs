//! The folder of logs: making, finding, listing, opening and forking sessions.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tiller_core::id::EntryId;
use tiller_core::unit::UnixMs;

use super::catalog::{Catalog, PageRequest, SessionList, files_of, subfolders};
use super::entry::{Header, VERSION, whole_path};
use super::error::SessionError;
use super::fork;
use super::fs::{Fs, OsFs};
use super::id_gen::IdGenerator;
use super::log::Log;
use super::reader::Reader;
use super::writer::Writer;

/// Longest name of a working directory's folder, in bytes; file systems allow 255.
const LONGEST_FOLDER: usize = 200;

/// Where logs go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Beneath this folder, one folder a working directory.
    ByDirectory(PathBuf),
    /// All directly in this folder.
    Flat(PathBuf),
    /// Nowhere: sessions live in memory.
    Memory,
}

/// Makes, finds and opens the sessions of one working directory.
#[derive(Clone, Debug)]
pub struct SessionManager {
    placement: Placement,
    cwd: PathBuf,
    disk: Arc<dyn Fs>,
    catalog_file: Option<PathBuf>,
}

impl SessionManager {
    /// Manages the sessions of `cwd`, which should be a real path.
    #[must_use]
    pub fn new(placement: Placement, cwd: PathBuf) -> Self {
        Self { placement, cwd, disk: Arc::new(OsFs), catalog_file: None }
    }

    /// Writes its logs to this disk instead of the machine's file system.
    #[must_use]
    pub fn on_disk(self, disk: Arc<dyn Fs>) -> Self {
        Self { disk, ..self }
    }

    /// Keeps what is known of the logs in this file, so that it need not be read from them every time. The file is made from
    /// them, and may be deleted whenever one likes.
    #[must_use]
    pub fn with_catalog(self, file: PathBuf) -> Self {
        Self { catalog_file: Some(file), ..self }
    }

    /// The working directory.
    #[must_use]
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// A fresh session. No file is made before there is something to keep.
    #[must_use]
    pub fn create(&self, now: UnixMs) -> Writer {
        self.create_from(None, now)
    }

    /// A fresh session that names another one as where it comes from, without taking anything from it.
    #[must_use]
    pub fn create_after(&self, parent: &Path, now: UnixMs) -> Writer {
        self.create_from(Some(whole_path(parent)), now)
    }

    /// Opens a log to go on with it.
    ///
    /// # Errors
    /// As [`Writer::open`].
    pub fn open(&self, path: &Path) -> Result<Writer, SessionError> {
        Writer::open_on(Arc::clone(&self.disk), path)
    }

    /// A new session whose log begins with another one's path up to and including `upto`, line for line, or with
    /// nothing. The file is made at once. Messages that wait in the original don't wait in it, and if the original has a
    /// name, it is called a fork of that.
    ///
    /// # Errors
    /// When there is no such entry, or reading or writing fails.
    pub fn fork(&self, from: &Reader, upto: Option<&EntryId>, now: UnixMs) -> Result<Writer, SessionError> {
        if from.header().version > VERSION {
            let (version, path) =
                (from.header().version, from.path().map(Path::to_owned).unwrap_or_default());
            return Err(SessionError::Version { path, version, action: "forked" });
        }
        // What goes on with an older log and has no file yet is a fork of that log.
        let parent = match from.path() {
            Some(path) if from.exists() => Some(whole_path(path)),
            Some(_) | None => from.header().parent_session.clone(),
        };
        let mut mint = IdGenerator::after(upto);
        let (header, log) = self.plan(&mut mint, parent, now);
        let Some(leaf) = upto else {
            let mut writer = Writer::create(header, log, mint);
            for body in fork::additions(from, &[]) {
                writer.append(body, now)?;
            }
            return Ok(writer);
        };
        let mut bytes = header.line();
        bytes.extend(from.raw_path(leaf)?);
        let additions = fork::additions(from, &from.own_facts_to(leaf)?);
        bytes.extend(fork::lines(additions, leaf, &mut mint, now).bytes());
        log.append(&bytes)?;
        Writer::adopt(log)
    }

    /// Names a session; a blank name takes its name away. When it was written to last doesn't change, so it doesn't become the one that
    /// is gone on with by default.
    ///
    /// # Errors
    /// As [`Writer::open`], or when the name could not be written.
    pub fn name(&self, path: &Path, name: &str, now: UnixMs) -> Result<(), SessionError> {
        let before = std::fs::metadata(path).and_then(|facts| facts.modified()).ok();
        let mut writer = self.open(path)?;
        writer.name(Some(name), now)?;
        if let Some(file) = writer.file() {
            super::sync(&*file).map_err(|source| SessionError::Sync { path: path.to_owned(), source })?;
        }
        let kept = before.map(|before| File::options().append(true).open(path)?.set_modified(before));
        if let Some(Err(error)) = kept {
            tracing::warn!(path = %path.display(), %error, "the session's time of change could not be kept");
        }
        Ok(())
    }

    /// The files that should be logs: of this working directory, and of others that share its folder, or all.
    ///
    /// # Errors
    /// When the folder is there and can't be read.
    pub fn logs(&self, scope: SessionScope) -> Result<Vec<PathBuf>, SessionError> {
        let folders = match scope {
            SessionScope::ThisDirectory => self.folder().into_iter().collect(),
            SessionScope::Everywhere => self.folders()?,
        };
        let mut logs: Vec<PathBuf> = files_of(&folders)?;
        logs.sort();
        Ok(logs)
    }

    /// What there is to look through: lists, words that were said, a session's place.
    ///
    /// # Errors
    /// When there is no room for it, neither in its file nor in a passing one.
    pub fn catalog(&self) -> Result<Catalog, SessionError> {
        Catalog::open(self.clone())
    }

    /// Looks through all sessions of this working directory, or of every one.
    ///
    /// # Errors
    /// When the folder is there and can't be read.
    pub fn list(&self, scope: SessionScope) -> Result<SessionList, SessionError> {
        self.catalog()?.page(scope, PageRequest::default())
    }

    /// The log of the session of this working directory that was written to last.
    ///
    /// # Errors
    /// As [`SessionManager::list`].
    pub fn most_recent(&self) -> Result<Option<PathBuf>, SessionError> {
        self.catalog()?.most_recent()
    }

    /// The log that a person's words name: a path, an id, or a prefix or suffix of one.
    ///
    /// # Errors
    /// When nothing, or more than one session, goes by them.
    pub fn find(&self, words: &str) -> Result<PathBuf, SessionError> {
        let path = Path::new(words);
        if path.is_file() {
            return Ok(path.to_owned());
        }
        if path.extension().is_some_and(|ending| ending == "jsonl") || words.contains('/') {
            return Err(SessionError::NotFound(format!("there is no session file {words}")));
        }
        self.catalog()?.named(words)
    }

    /// Where the log of a session goes that belongs to `cwd`; `None` when sessions live in memory.
    pub(super) fn place(&self, cwd: &Path, header: &Header) -> Option<PathBuf> {
        Some(self.folder_of(cwd)?.join(header.file_name()))
    }

    /// Whether a file lies in the folder of logs.
    pub(super) fn holds(&self, path: &Path) -> bool {
        match &self.placement {
            Placement::ByDirectory(root) | Placement::Flat(root) => {
                root.canonicalize().is_ok_and(|root| path.starts_with(root))
            }
            Placement::Memory => false,
        }
    }

    fn create_from(&self, parent: Option<String>, now: UnixMs) -> Writer {
        let mut mint = IdGenerator::after(None);
        let (header, log) = self.plan(&mut mint, parent, now);
        Writer::create(header, log, mint)
    }

    fn plan(&self, mint: &mut IdGenerator, parent_session: Option<String>, now: UnixMs) -> (Header, Log) {
        let cwd = self.cwd.display().to_string();
        let header = Header::new(mint.session(now), cwd, parent_session, now);
        let log = match self.place(&self.cwd, &header) {
            Some(path) => Log::planned(Arc::clone(&self.disk), path),
            None => Log::in_memory(),
        };
        (header, log)
    }

    /// Where the logs of this working directory are put.
    pub(super) fn folder(&self) -> Option<PathBuf> {
        self.folder_of(&self.cwd)
    }

    fn folder_of(&self, cwd: &Path) -> Option<PathBuf> {
        match &self.placement {
            Placement::ByDirectory(root) => Some(root.join(folder_name(cwd))),
            Placement::Flat(folder) => Some(folder.clone()),
            Placement::Memory => None,
        }
    }

    /// The folder beneath which all logs are.
    pub(super) fn root(&self) -> Option<&Path> {
        match &self.placement {
            Placement::ByDirectory(root) | Placement::Flat(root) => Some(root),
            Placement::Memory => None,
        }
    }

    /// Every folder that logs are in.
    pub(super) fn folders(&self) -> Result<Vec<PathBuf>, SessionError> {
        match &self.placement {
            Placement::Memory => Ok(Vec::new()),
            Placement::Flat(folder) => Ok(vec![folder.clone()]),
            Placement::ByDirectory(root) => subfolders(root),
        }
    }

    pub(super) fn catalog_file(&self) -> Option<&Path> {
        self.catalog_file.as_deref()
    }
}

/// Which sessions to look through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionScope {
    /// Those of the working directory.
    ThisDirectory,
    /// All.
    Everywhere,
}

/// A folder's name for a working directory: `--home-me-code--`. It loses information, so look-ups go by the header.
fn folder_name(cwd: &Path) -> String {
    let flat = cwd.display().to_string().trim_start_matches('/').replace(['/', '\\', ':'], "-");
    if flat.len() <= LONGEST_FOLDER {
        return format!("--{flat}--");
    }
    let cut = (0..=LONGEST_FOLDER - 17).rev().find(|&at| flat.is_char_boundary(at)).unwrap_or(0);
    format!("--{}-{:016x}--", &flat[..cut], fnv1a(flat.as_bytes()))
}

/// FNV-1a, 64 bits: the same in every process and version, which std's hasher doesn't promise.
pub(super) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_named_for_its_working_directory() {
        assert_eq!(folder_name(Path::new("/home/dev/project")), "--home-dev-project--");
    }

    #[test]
    fn a_very_long_directory_is_cut_and_stays_distinct() {
        let (a, b) = (format!("/{}a", "ö".repeat(150)), format!("/{}b", "ö".repeat(150)));
        let (a, b) = (folder_name(Path::new(&a)), folder_name(Path::new(&b)));
        assert!(a.len() <= LONGEST_FOLDER + 4 && a != b, "{a}");
    }
}
