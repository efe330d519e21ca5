//! The folder of logs: making, finding, listing, opening and forking sessions.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Serialize;

use super::entry::{Header, HeaderKind, VERSION};
use super::error::SessionError;
use super::log::{Log, io_error};
use super::mint::Mint;
use super::reader::Reader;
use super::writer::Writer;
use crate::id::{EntryId, SessionId};
use crate::unit::UnixMs;

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
}

/// What a list shows of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionSummary {
    /// The file.
    pub path: PathBuf,
    /// The session's id.
    pub id: SessionId,
    /// The working directory it belongs to.
    pub cwd: String,
    /// Its name, if it got one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The first thing the user said.
    pub first_prompt: Option<String>,
    /// How many entries it has, on all branches.
    pub entries: usize,
    /// When something was last written to it.
    pub modified: UnixMs,
}

/// What a look through the folder found.
#[derive(Debug, Default)]
pub struct Listing {
    /// The sessions, the one written to last first.
    pub sessions: Vec<SessionSummary>,
    /// Files that look like logs and can't be read as such, with the reason.
    pub unreadable: Vec<SessionError>,
}

impl SessionManager {
    /// Manages the sessions of `cwd`, which should be a real path.
    #[must_use]
    pub fn new(placement: Placement, cwd: PathBuf) -> Self {
        Self { placement, cwd }
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

    /// Opens a log to go on with it.
    ///
    /// # Errors
    /// As [`Writer::open`].
    pub fn open(&self, path: &Path) -> Result<Writer, SessionError> {
        Writer::open(path)
    }

    /// A new session whose log begins with another one's path up to and including `upto`, line for line, or with
    /// nothing. The file is made at once.
    ///
    /// # Errors
    /// When there is no such entry, or reading or writing fails.
    pub fn fork(&self, from: &Reader, upto: Option<&EntryId>, now: UnixMs) -> Result<Writer, SessionError> {
        let parent = from.path().map(|path| path.display().to_string());
        let mut mint = Mint::after(upto);
        let (header, log) = self.plan(&mut mint, parent, now);
        let Some(leaf) = upto else { return Ok(Writer::create(header, log, mint)) };
        let mut bytes = serde_json::to_vec(&header).expect("a header has only string keys");
        bytes.push(b'\n');
        bytes.extend(from.raw_path(leaf)?);
        log.append(&bytes)?;
        Writer::adopt(log)
    }

    /// Looks through all sessions of this working directory, or of every one.
    ///
    /// # Errors
    /// When the folder is there and can't be read.
    pub fn list(&self, scope: Scope) -> Result<Listing, SessionError> {
        let mut listing = Listing::default();
        // As the header has it, which is not what the system calls it where the name is no Unicode.
        let cwd = self.cwd.display().to_string();
        for path in self.files(scope)? {
            match Reader::open(&path) {
                Ok(reader) if scope == Scope::Everywhere || reader.header().cwd == cwd => {
                    listing.sessions.push(summary(path, &reader));
                }
                Ok(_) => {}
                Err(error) => listing.unreadable.push(error),
            }
        }
        listing.sessions.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| b.id.cmp(&a.id)));
        Ok(listing)
    }

    /// The session of this working directory that was written to last.
    ///
    /// # Errors
    /// As [`SessionManager::list`].
    pub fn most_recent(&self) -> Result<Option<SessionSummary>, SessionError> {
        Ok(self.list(Scope::ThisDirectory)?.sessions.into_iter().next())
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
        let sessions = self.list(Scope::Everywhere)?.sessions;
        let named: Vec<&SessionSummary> =
            sessions.iter().filter(|session| session.id.matches(words)).collect();
        match named.as_slice() {
            [session] => Ok(session.path.clone()),
            [] if words.chars().count() < crate::id::SHORTEST_FRAGMENT => {
                let least = crate::id::SHORTEST_FRAGMENT;
                Err(SessionError::NotFound(format!(
                    "`{words}` is too short for a part of an id; give {least} characters or more"
                )))
            }
            [] => Err(SessionError::NotFound(format!("no session's id begins or ends with `{words}`"))),
            several => match several.iter().find(|session| session.id.as_str() == words) {
                Some(session) => Ok(session.path.clone()),
                None => Err(SessionError::NotFound(format!(
                    "`{words}` names {} sessions; give more of the id",
                    several.len()
                ))),
            },
        }
    }

    /// Where the log of a session goes that belongs to `cwd`; `None` when sessions live in memory.
    pub(super) fn place(&self, cwd: &Path, timestamp: &str, id: &SessionId) -> Option<PathBuf> {
        let folder = match &self.placement {
            Placement::ByDirectory(root) => root.join(folder_name(cwd)),
            Placement::Flat(folder) => folder.clone(),
            Placement::Memory => return None,
        };
        let stamp = timestamp.replace([':', '.'], "-");
        Some(folder.join(format!("{stamp}_{id}.jsonl")))
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
        let mut mint = Mint::after(None);
        let (header, log) = self.plan(&mut mint, parent, now);
        Writer::create(header, log, mint)
    }

    fn plan(&self, mint: &mut Mint, parent_session: Option<String>, now: UnixMs) -> (Header, Log) {
        let id = mint.session(now);
        let timestamp = now.to_iso();
        let log = self.place(&self.cwd, &timestamp, &id).map_or_else(Log::in_memory, Log::planned);
        let cwd = self.cwd.display().to_string();
        (Header { kind: HeaderKind::Session, version: VERSION, id, timestamp, cwd, parent_session }, log)
    }

    fn files(&self, scope: Scope) -> Result<Vec<PathBuf>, SessionError> {
        let folders = match (&self.placement, scope) {
            (Placement::Memory, _) => Vec::new(),
            (Placement::Flat(folder), _) => vec![folder.clone()],
            (Placement::ByDirectory(root), Scope::ThisDirectory) => vec![root.join(folder_name(&self.cwd))],
            (Placement::ByDirectory(root), Scope::Everywhere) => entries_of(root)?,
        };
        let mut files = Vec::new();
        for folder in folders.iter().filter(|folder| folder.is_dir()) {
            files.extend(
                entries_of(folder)?.into_iter().filter(|path| path.extension().is_some_and(|e| e == "jsonl")),
            );
        }
        Ok(files)
    }
}

/// Which sessions to look through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Those of the working directory.
    ThisDirectory,
    /// All.
    Everywhere,
}

fn entries_of(folder: &Path) -> Result<Vec<PathBuf>, SessionError> {
    match fs::read_dir(folder) {
        Ok(entries) => Ok(entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(io_error(folder, "be listed")(error)),
    }
}

fn summary(path: PathBuf, reader: &Reader) -> SessionSummary {
    let modified = fs::metadata(&path).and_then(|facts| facts.modified()).map_or(UnixMs(0), |moment| {
        let since = moment.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        UnixMs(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    });
    SessionSummary {
        path,
        id: reader.id().clone(),
        cwd: reader.header().cwd.clone(),
        name: reader.name(),
        first_prompt: reader.first_prompt(),
        entries: reader.entry_count(),
        modified,
    }
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
fn fnv1a(bytes: &[u8]) -> u64 {
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
