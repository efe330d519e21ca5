//! Trust in projects: the files of a project that take effect only if trusted, and the user's decisions about
//! them.
//!
//! A project's `.tiller/settings.json`, everything below `.tiller/extensions`, `.tiller/hooks`,
//! `.tiller/agents` and `.claude/agents`, its `.mcp.json` and its `.env` take effect only after the user has
//! trusted these files in their current state. Decisions are stored in `trust.json` by the project's
//! canonical path and a hash of the files; any change invalidates them. This module doesn't ask the user.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::ConfigError;
use super::file_lock::FileLock;
use super::mcp::PROJECT_FILE;
use crate::files;
use crate::files::git::up_to_repository;
use crate::unit::UnixMs;

/// Name of a project's directory for tiller.
const PROJECT_DIR: &str = ".tiller";

/// Claude Code's directory for agents.
const CLAUDE_AGENTS: &str = ".claude/agents";

/// Directories whose files need trust: extensions, scripts for hooks, and agents.
const TRUSTED_DIRS: [&str; 4] = [".tiller/extensions", ".tiller/hooks", ".tiller/agents", CLAUDE_AGENTS];

/// Maximum number of files below each of these directories; a project with more can't be trusted.
const MAX_FILES: usize = 2_000;

/// Maximum total size of the files, in bytes, which takes half a second to hash. A larger project can't be
/// trusted.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Buffer size for hashing, in bytes.
const CHUNK: usize = 64 * 1024;

/// A project that has files that need trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    root: PathBuf,
    active_files: Vec<PathBuf>,
    /// The digest of each file, or the reason the project can't be trusted.
    digests: Result<Vec<FileDigest>, String>,
}

/// The digest of a file; trust in the file ends when it changes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileDigest {
    is_executable: bool,
    content_hash: String,
}

/// The user's decision about a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustAnswer {
    /// The files take effect.
    Trusted,
    /// The files are ignored, and the user isn't prompted again.
    Refused,
    /// The files were trusted but have changed since.
    Changed,
    /// The user hasn't decided about these files.
    Undecided,
}

impl Project {
    /// Finds the project of a directory: the nearest directory with a `.tiller`, `.mcp.json` or
    /// `.claude/agents` that contains files that need trust, from `cwd` up to the repository's root.
    /// `user_config`, the user's own configuration directory, isn't a project.
    #[must_use]
    pub fn find(cwd: &Path, user_config: &Path) -> Option<Self> {
        let user_config = user_config.canonicalize().ok();
        let is_user_config = |root: &Path| {
            user_config.as_ref().is_some_and(|config_dir| *config_dir == root.join(PROJECT_DIR))
        };
        up_to_repository(cwd)
            .into_iter()
            .filter(|dir| {
                let has_dir = [PROJECT_DIR, CLAUDE_AGENTS].iter().any(|name| dir.join(name).is_dir());
                has_dir || dir.join(PROJECT_FILE).is_file()
            })
            .filter_map(|dir| dir.canonicalize().ok())
            .filter(|root| !is_user_config(root))
            .map(Self::read)
            .find(|project| !project.active_files.is_empty())
    }

    fn read(root: PathBuf) -> Self {
        // If there is only an `.mcp.json`, `.env` is for the project's own programs.
        let env = root.join(PROJECT_DIR).is_dir().then(|| root.join(".env"));
        let single = [settings_path(&root), root.join(PROJECT_FILE)].into_iter().chain(env);
        let mut active_files: Vec<PathBuf> = single.filter(|path| path.is_file()).collect();
        let outside =
            active_files.iter().find(|path| !is_within(&root, path)).map(|path| outside_link_error(path));
        let mut found = Vec::new();
        let listed = TRUSTED_DIRS.iter().try_for_each(|name| list(&root, &root.join(name), &mut found));
        found.sort();
        active_files.extend(found);
        let digests = outside
            .map_or(listed, Err)
            .and_then(|()| file_digests(&root, &active_files))
            .map_err(|error| error.to_string());
        Self { root, active_files, digests }
    }

    /// Returns the canonical path of the project's directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the files that need trust, settings first.
    #[must_use]
    pub fn active_files(&self) -> &[PathBuf] {
        &self.active_files
    }

    /// Returns the path of its settings file, if it exists.
    pub(super) fn settings(&self) -> Option<PathBuf> {
        let path = settings_path(&self.root);
        self.active_files.contains(&path).then_some(path)
    }

    /// Returns the path of its `.mcp.json`, if it exists.
    pub(super) fn mcp_file(&self) -> Option<PathBuf> {
        let path = self.root.join(PROJECT_FILE);
        self.active_files.contains(&path).then_some(path)
    }

    /// Returns the path of its `.env`, if it exists.
    pub(super) fn env_file(&self) -> Option<PathBuf> {
        let path = self.root.join(".env");
        self.active_files.contains(&path).then_some(path)
    }

    /// Returns the directory for its themes, which may not exist.
    #[must_use]
    pub fn themes(&self) -> PathBuf {
        self.root.join(PROJECT_DIR).join("themes")
    }

    /// Lists its extensions: the executables directly in `.tiller/extensions`, sorted by name.
    #[must_use]
    pub fn extensions(&self) -> Vec<PathBuf> {
        executables(&self.root.join(PROJECT_DIR).join("extensions"))
    }

    /// Returns warnings about scripts in its extension directory that aren't executable.
    pub(super) fn non_executable_warnings(&self) -> Vec<String> {
        non_executable_warnings(&self.root.join(PROJECT_DIR).join("extensions"))
    }

    /// Returns the reason it can't be trusted, if any.
    #[must_use]
    pub fn trust_obstacle(&self) -> Option<&str> {
        self.digests.as_ref().err().map(String::as_str)
    }

    /// Returns the settings file that tiller may write for the user, which may not exist. `None` if the
    /// project has no directory for it, because creating one would let other files take effect.
    #[must_use]
    pub fn writable_settings(&self) -> Option<PathBuf> {
        let dir = self.root.join(PROJECT_DIR);
        (dir.is_dir() && is_within(&self.root, &dir)).then(|| settings_path(&self.root))
    }

    /// Returns true if its settings file had this text, or didn't exist for `None`, when this value was
    /// created.
    pub(super) fn has_settings(&self, text: Option<&str>) -> bool {
        let settings = settings_path(&self.root);
        let trusted = self.files().map(|mut files| files.find(|(path, _)| **path == settings));
        let hash = text.map(|text| hex(&Sha256::digest(text.as_bytes())));
        trusted.is_ok_and(|file| file.map(|(_, file)| &file.content_hash) == hash.as_ref())
    }

    /// Returns the project after its settings file was changed to this text; `None` if the file has another
    /// text, or if another file has changed.
    #[must_use]
    pub fn with_settings(&self, text: &str) -> Option<Self> {
        let now = Self::read(self.root.clone());
        let settings = settings_path(&self.root);
        let others = |project: &Self| -> Option<Vec<(PathBuf, FileDigest)>> {
            let files = project.files().ok()?.filter(|(path, _)| **path != settings);
            Some(files.map(|(path, file)| (path.clone(), file.clone())).collect())
        };
        let is_written = now.files().ok()?.any(|(path, file)| {
            *path == settings && file.content_hash == hex(&Sha256::digest(text.as_bytes()))
        });
        let before = others(self)?;
        (is_written && others(&now)? == before).then_some(now)
    }

    /// Returns the files with their digests.
    fn files(&self) -> Result<impl Iterator<Item = (&PathBuf, &FileDigest)>, &str> {
        let digests = self.digests.as_ref().map_err(String::as_str)?;
        Ok(self.active_files.iter().zip(digests))
    }

    /// Returns the hash of the files' names and digests.
    fn fingerprint(&self) -> Option<String> {
        let mut digest = Sha256::new();
        let mut field = |bytes: &[u8]| {
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(bytes);
        };
        for (path, file) in self.files().ok()? {
            field(path.strip_prefix(&self.root).unwrap_or(path).as_os_str().as_bytes());
            field(&[u8::from(file.is_executable)]);
            field(file.content_hash.as_bytes());
        }
        Some(hex(&digest.finalize()))
    }

    /// Returns true if the files haven't changed since this value was created.
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        *self == Self::read(self.root.clone())
    }
}

fn settings_path(root: &Path) -> PathBuf {
    root.join(PROJECT_DIR).join("settings.json")
}

/// Lists the executables directly in a directory, sorted by name.
pub(super) fn executables(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut executables: Vec<PathBuf> = entries.filter(|path| is_executable(path)).collect();
    executables.sort();
    executables
}

/// Returns warnings about scripts directly in a directory that aren't executable.
pub(super) fn non_executable_warnings(dir: &Path) -> Vec<String> {
    let has_shebang = |path: &PathBuf| {
        let mut start = [0; 2];
        let read = files::open(path).and_then(|mut file| file.read_exact(&mut start));
        read.is_ok() && start == *b"#!"
    };
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut non_executable: Vec<PathBuf> =
        entries.filter(|path| !is_executable(path) && has_shebang(path)).collect();
    non_executable.sort();
    non_executable
        .iter()
        .map(|path| format!("{}: not started: it is not executable (chmod +x)", path.display()))
        .collect()
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Lists every file below a directory, including links to files in the project. A link to a directory, or out
/// of the project, is an error: it may form a cycle, or its target may change unnoticed.
fn list(root: &Path, dir: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            list(root, &path, files)?;
            continue;
        }
        let trust_obstacle = match () {
            () if path.is_dir() => {
                Some(io::Error::other(format!("{} is a link to a directory", path.display())))
            }
            () if !is_within(root, &path) => Some(outside_link_error(&path)),
            () => None,
        };
        files.push(path);
        if let Some(trust_obstacle) = trust_obstacle {
            return Err(trust_obstacle);
        }
        if files.len() > MAX_FILES {
            return Err(io::Error::other(format!("more than {MAX_FILES} files in {}", dir.display())));
        }
    }
    Ok(())
}

/// Returns true if a path, with links resolved, is inside the project, or if it doesn't exist.
fn is_within(root: &Path, path: &Path) -> bool {
    path.canonicalize().map_or(true, |real| real.starts_with(root))
}

fn outside_link_error(path: &Path) -> io::Error {
    io::Error::other(format!("{} is a link to a file outside the project", path.display()))
}

/// Computes the digests of files.
fn file_digests(root: &Path, files: &[PathBuf]) -> io::Result<Vec<FileDigest>> {
    let mut budget = MAX_BYTES;
    let digest = |path: &PathBuf| {
        let content_hash = content_hash(root, path, &mut budget)?;
        Ok(FileDigest { is_executable: is_executable(path), content_hash })
    };
    files.iter().map(digest).collect()
}

/// Hashes a file of at most `budget` bytes, and subtracts its size from `budget`. Dangling links, pipes and
/// devices have no content.
fn content_hash(root: &Path, path: &Path, budget: &mut u64) -> io::Result<String> {
    if !path.is_file() {
        return Ok(format!("no file: {:?}", fs::read_link(path).unwrap_or_default()));
    }
    let mut file = files::open_within(root, path)?;
    let (mut digest, mut chunk) = (Sha256::new(), vec![0; CHUNK]);
    loop {
        let count = file.read(&mut chunk)?;
        if count == 0 {
            return Ok(hex(&digest.finalize()));
        }
        digest.update(&chunk[..count]);
        *budget = budget
            .checked_sub(count as u64)
            .ok_or_else(|| io::Error::other(format!("its files exceed {} MiB", MAX_BYTES / (1024 * 1024))))?;
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Maximum size of the store in bytes, enough for about 100,000 projects.
const STORE_LIMIT: u64 = 16 * 1024 * 1024;

/// The user's decisions about projects, stored in a file.
#[derive(Clone, Debug)]
pub struct TrustStore {
    path: PathBuf,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct TrustRecords {
    #[serde(default)]
    projects: BTreeMap<String, StoredTrust>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredTrust {
    sha256: String,
    trusted: bool,
    /// The time of the decision, ISO 8601.
    #[serde(rename = "said")]
    decided_at: String,
}

impl TrustStore {
    /// Uses the store in this file, which may not exist.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns the user's decision about a project in its current state. An unreadable store has no
    /// decisions.
    #[must_use]
    pub fn answer(&self, project: &Project) -> TrustAnswer {
        let records = self.load();
        let record = project.root.to_str().and_then(|root| records.projects.get(root));
        match (record, project.fingerprint()) {
            (Some(record), Some(fingerprint)) => match (record.trusted, record.sha256 == fingerprint) {
                (true, true) => TrustAnswer::Trusted,
                (false, true) => TrustAnswer::Refused,
                (true, false) => TrustAnswer::Changed,
                (false, false) => TrustAnswer::Undecided,
            },
            _ => TrustAnswer::Undecided,
        }
    }

    /// Stores the user's decision about a project in its current state. Nothing is stored for a project that
    /// can't be trusted or whose path isn't UTF-8.
    ///
    /// # Errors
    /// If the store can't be written.
    pub fn remember(&self, project: &Project, answer: TrustAnswer, now: UnixMs) -> Result<(), ConfigError> {
        let (Some(root), Some(sha256)) = (project.root.to_str(), project.fingerprint()) else {
            return Ok(());
        };
        let trusted = match answer {
            TrustAnswer::Trusted => true,
            TrustAnswer::Refused => false,
            TrustAnswer::Changed | TrustAnswer::Undecided => return Ok(()),
        };
        let io_error = |source| ConfigError::Io { path: self.path.clone(), source };
        let _lock = FileLock::acquire(&self.path).map_err(io_error)?;
        let mut records = self.load();
        let record = StoredTrust { sha256, trusted, decided_at: now.to_iso() };
        records.projects.insert(root.to_owned(), record);
        self.store(&records).map_err(io_error)
    }

    fn load(&self) -> TrustRecords {
        let text = match files::read(&self.path, STORE_LIMIT) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return TrustRecords::default(),
            Err(error) => {
                tracing::warn!(path = %self.path.display(), %error, "can't read the trust store: no project is trusted");
                return TrustRecords::default();
            }
        };
        serde_json::from_slice(&text).unwrap_or_else(|error| {
            tracing::warn!(path = %self.path.display(), %error, "can't parse the trust store: no project is trusted");
            TrustRecords::default()
        })
    }

    /// Replaces the file atomically; it is readable by the user only.
    fn store(&self, records: &TrustRecords) -> io::Result<()> {
        let dir = self.path.parent().unwrap_or(Path::new("."));
        files::make_private_dir(dir)?;
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        serde_json::to_writer_pretty(&mut file, records)?;
        file.write_all(b"\n")?;
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn write(root: &Path, name: &str, text: &str) -> PathBuf {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn make_executable(path: &Path) {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn find(cwd: &Path) -> Option<Project> {
        Project::find(cwd, Path::new("/no/config"))
    }

    #[test]
    fn project_find_stops_at_nearest_dir_in_repository() {
        let dir = TempDir::new().unwrap();
        let root = dir.path().canonicalize().unwrap();
        write(&root, ".tiller/settings.json", "{}");
        fs::create_dir_all(root.join("repo/.git")).unwrap();
        fs::create_dir_all(root.join("repo/a/b")).unwrap();
        assert_eq!(find(&root.join("repo/a/b")), None);
        write(&root, "repo/.tiller/settings.json", "{}");
        assert_eq!(find(&root.join("repo/a/b")).unwrap().root(), root.join("repo"));
        write(&root, "repo/a/.tiller/settings.json", "{}");
        assert_eq!(find(&root.join("repo/a/b")).unwrap().root(), root.join("repo/a"));
        fs::remove_dir(root.join("repo/.git")).unwrap();
        assert_eq!(
            find(&root.join("repo/a/b")),
            None,
            "outside a repository only the directory itself counts"
        );
    }

    #[test]
    fn project_find_ignores_text_files_and_user_config() {
        let dir = TempDir::new().unwrap();
        write(dir.path(), ".tiller/skills/x/SKILL.md", "text");
        assert_eq!(find(dir.path()), None);
        write(dir.path(), ".tiller/settings.json", "{}");
        assert!(find(dir.path()).is_some());
        assert_eq!(Project::find(dir.path(), &dir.path().join(".tiller")), None);
    }

    #[test]
    fn project_lists_active_files_and_executable_extensions() {
        let dir = TempDir::new().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let settings = write(&root, ".tiller/settings.json", "{}");
        let guard = write(&root, ".tiller/extensions/guard.py", "#!/usr/bin/python3");
        let part = write(&root, ".tiller/extensions/lib/part.py", "x = 1");
        let env = write(&root, ".env", "A=1");
        make_executable(&guard);
        let hook = write(&root, ".tiller/hooks/check.sh", "exit 2");
        let project = find(&root).unwrap();
        assert_eq!(project.active_files(), [settings, env, guard.clone(), part, hook]);
        assert_eq!(project.extensions(), [guard]);
    }

    #[test]
    fn trust_store_answer_is_void_after_any_change() {
        let dir = TempDir::new().unwrap();
        let guard = write(dir.path(), ".tiller/extensions/guard", "1");
        let store = TrustStore::new(dir.path().join("state/trust.json"));
        let trust = |answer| store.remember(&find(dir.path()).unwrap(), answer, UnixMs(0)).unwrap();
        let answer = || store.answer(&find(dir.path()).unwrap());
        assert_eq!(answer(), TrustAnswer::Undecided);
        trust(TrustAnswer::Refused);
        assert_eq!(answer(), TrustAnswer::Refused);
        trust(TrustAnswer::Trusted);
        assert_eq!(answer(), TrustAnswer::Trusted);
        let mode = store.path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);

        let changes: [&dyn Fn(); 5] = [
            &|| drop(write(dir.path(), ".tiller/hooks/check.sh", "exit 2")),
            &|| fs::write(&guard, "2").unwrap(),
            &|| make_executable(&guard),
            &|| drop(write(dir.path(), ".tiller/extensions/lib/new", "")),
            &|| drop(write(dir.path(), ".env", "A=1")),
        ];
        for change in changes {
            let before = find(dir.path()).unwrap();
            change();
            assert_eq!((answer(), before.is_unchanged()), (TrustAnswer::Changed, false));
            trust(TrustAnswer::Trusted);
            assert_eq!(answer(), TrustAnswer::Trusted);
        }
    }

    #[test]
    fn project_with_settings_accepts_that_change_only() {
        let dir = TempDir::new().unwrap();
        let env = write(dir.path(), ".env", "A=1");
        let settings = write(dir.path(), ".tiller/settings.json", "{}");
        let project = find(dir.path()).unwrap();
        assert_eq!(project.writable_settings().unwrap(), settings.canonicalize().unwrap());
        fs::write(&settings, "{\"a\": 1}").unwrap();
        let changed = project.with_settings("{\"a\": 1}").unwrap();
        assert!(changed.is_unchanged());
        assert_eq!(project.with_settings("{}"), None, "the file has another text");
        fs::write(env, "A=2").unwrap();
        assert_eq!(project.with_settings("{\"a\": 1}"), None, "another file has changed");
    }

    #[test]
    fn project_without_dir_has_no_writable_settings() {
        let dir = TempDir::new().unwrap();
        write(dir.path(), ".mcp.json", "{}");
        assert_eq!(find(dir.path()).unwrap().writable_settings(), None);
        let outside = TempDir::new().unwrap();
        std::os::unix::fs::symlink(outside.path(), dir.path().join(".tiller")).unwrap();
        assert_eq!(find(dir.path()).unwrap().writable_settings(), None);
    }

    #[test]
    fn project_pipe_and_dangling_link_are_listed() {
        let dir = TempDir::new().unwrap();
        write(dir.path(), ".tiller/extensions/guard", "1");
        let pipe = dir.path().join(".tiller/extensions/pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        std::os::unix::fs::symlink("/no/where", dir.path().join(".tiller/extensions/astray")).unwrap();
        let project = find(dir.path()).unwrap();
        assert_eq!((project.active_files().len(), project.trust_obstacle()), (3, None));
    }

    #[test]
    fn project_linked_dir_cannot_be_trusted() {
        let dir = TempDir::new().unwrap();
        write(dir.path(), ".tiller/settings.json", "{}");
        let outside = TempDir::new().unwrap();
        let link = dir.path().canonicalize().unwrap().join(".tiller/extensions/lib");
        fs::create_dir(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(outside.path(), &link).unwrap();
        let project = find(dir.path()).unwrap();
        let expected = format!("{} is a link to a directory", link.display());
        assert_eq!(project.trust_obstacle(), Some(expected.as_str()));
    }

    #[test]
    fn project_find_skips_dir_of_text_files() {
        let dir = TempDir::new().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".git")).unwrap();
        write(&root, ".tiller/settings.json", "{}");
        write(&root, "a/.tiller/skills/x/SKILL.md", "text");
        assert_eq!(find(&root.join("a")).unwrap().root(), root);
    }

    #[test]
    fn project_too_many_files_cannot_be_trusted() {
        let dir = TempDir::new().unwrap();
        for number in 0..=MAX_FILES {
            write(dir.path(), &format!(".tiller/extensions/{number}"), "");
        }
        let project = find(dir.path()).unwrap();
        assert!(project.trust_obstacle().unwrap().starts_with("more than 2000 files in "));
        let store = TrustStore::new(dir.path().join("trust.json"));
        store.remember(&project, TrustAnswer::Trusted, UnixMs(0)).unwrap();
        assert_eq!(store.answer(&project), TrustAnswer::Undecided);
    }

    #[test]
    fn trust_store_damaged_trusts_nothing_and_is_replaced() {
        let dir = TempDir::new().unwrap();
        write(dir.path(), ".tiller/settings.json", "{}");
        let store = TrustStore::new(write(dir.path(), "trust.json", "{\"projects\": 3}"));
        let project = find(dir.path()).unwrap();
        assert_eq!(store.answer(&project), TrustAnswer::Undecided);
        store.remember(&project, TrustAnswer::Trusted, UnixMs(0)).unwrap();
        assert_eq!(store.answer(&project), TrustAnswer::Trusted);
    }
}
