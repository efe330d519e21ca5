//! Which projects may do more than be read: the files of a project that act, and the user's word on them.
//!
//! A project's `.tiller/settings.json`, everything beneath `.tiller/extensions` and the `.env` beside them take effect only
//! when the user has said so, of this project and of these files as they are. The word is kept in `trust.json` by the
//! project's real path and a hash over the files; a change of any of them makes it void. Nobody is asked here.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::ConfigError;
use crate::files;
use crate::files::git::up_to_repository;
use crate::unit::UnixMs;

/// The folder of a project's own.
const FOLDER: &str = ".tiller";

/// Most files beneath the folder of extensions; a project with more can't be trusted.
const MOST_FILES: usize = 2_000;

/// Most bytes of all files that act together: half a second of hashing. A project with more can't be trusted.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// Bytes hashed at once.
const CHUNK: usize = 64 * 1024;

/// A project that has files which act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    root: PathBuf,
    acting: Vec<PathBuf>,
    /// The hash over them, or why there is none.
    fingerprint: Result<String, String>,
}

/// The user's word on a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustAnswer {
    /// Its files take effect.
    Trusted,
    /// They don't, and the user need not be asked again.
    Refused,
    /// They did, until some of them changed; the user has yet to say what is to become of them as they are now.
    Changed,
    /// The user was never asked about these files as they are.
    Unasked,
}

impl Project {
    /// The project that a directory is in: the nearest folder with a `.tiller` and something that acts, from the directory up
    /// to the repository's root. One whose `.tiller` is `users_own`, the user's own configuration, is none.
    #[must_use]
    pub fn find(cwd: &Path, users_own: &Path) -> Option<Self> {
        let users_own = users_own.canonicalize().ok();
        let is_users_own = |root: &Path| users_own.as_ref().is_some_and(|own| *own == root.join(FOLDER));
        up_to_repository(cwd)
            .into_iter()
            .filter(|folder| folder.join(FOLDER).is_dir())
            .filter_map(|folder| folder.canonicalize().ok())
            .filter(|root| !is_users_own(root))
            .map(Self::read)
            .find(|project| !project.acting.is_empty())
    }

    fn read(root: PathBuf) -> Self {
        let single = [settings_of(&root), root.join(".env")];
        let mut acting: Vec<PathBuf> = single.into_iter().filter(|path| path.is_file()).collect();
        let outside = acting.iter().find(|path| !is_within(&root, path)).map(|path| link_out(path));
        let mut beneath = Vec::new();
        let listed = list(&root, &root.join(FOLDER).join("extensions"), &mut beneath);
        beneath.sort();
        acting.extend(beneath);
        let fingerprint = outside
            .map_or(listed, Err)
            .and_then(|()| fingerprint(&root, &acting))
            .map_err(|error| error.to_string());
        Self { root, acting, fingerprint }
    }

    /// Its folder; a real path.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The files that act, settings first.
    #[must_use]
    pub fn acting(&self) -> &[PathBuf] {
        &self.acting
    }

    /// Its settings, if it has some.
    pub(super) fn settings(&self) -> Option<PathBuf> {
        let path = settings_of(&self.root);
        self.acting.contains(&path).then_some(path)
    }

    /// Its `.env`, if it has one.
    pub(super) fn env_file(&self) -> Option<PathBuf> {
        let path = self.root.join(".env");
        self.acting.contains(&path).then_some(path)
    }

    /// The folder of its themes, which need not be there.
    #[must_use]
    pub fn themes(&self) -> PathBuf {
        self.root.join(FOLDER).join("themes")
    }

    /// Its extensions: the executables directly in `.tiller/extensions`, by name.
    #[must_use]
    pub fn extensions(&self) -> Vec<PathBuf> {
        executables(&self.root.join(FOLDER).join("extensions"))
    }

    /// Sentences on its scripts that would be extensions, were they executable.
    pub(super) fn idle_extensions(&self) -> Vec<String> {
        idle_scripts(&self.root.join(FOLDER).join("extensions"))
    }

    /// Why it can't be trusted, if it can't.
    #[must_use]
    pub fn hindrance(&self) -> Option<&str> {
        self.fingerprint.as_ref().err().map(String::as_str)
    }

    /// Whether its files are still what they were when this was made.
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        *self == Self::read(self.root.clone())
    }
}

fn settings_of(root: &Path) -> PathBuf {
    root.join(FOLDER).join("settings.json")
}

/// The executables directly in a folder, by name.
pub(super) fn executables(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries.filter(|path| is_executable(path)).collect();
    found.sort();
    found
}

/// Sentences on the scripts directly in a folder that nobody made executable.
pub(super) fn idle_scripts(folder: &Path) -> Vec<String> {
    let begins_as_script = |path: &PathBuf| {
        let mut start = [0; 2];
        let read = files::open(path).and_then(|mut file| file.read_exact(&mut start));
        read.is_ok() && start == *b"#!"
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut idle: Vec<PathBuf> =
        entries.filter(|path| !is_executable(path) && begins_as_script(path)).collect();
    idle.sort();
    idle.iter()
        .map(|path| format!("{}: not started: it is not executable (chmod +x)", path.display()))
        .collect()
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

/// Lists every file beneath a folder, links to files of the project included. A link to a folder or out of the project is an
/// error: what lies behind it may be anything, may lead in circles, and may change without being noticed.
fn list(root: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
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
        let hindrance = match () {
            () if path.is_dir() => {
                Some(io::Error::other(format!("{} is a link to a folder", path.display())))
            }
            () if !is_within(root, &path) => Some(link_out(&path)),
            () => None,
        };
        files.push(path);
        if let Some(hindrance) = hindrance {
            return Err(hindrance);
        }
        if files.len() > MOST_FILES {
            return Err(io::Error::other(format!("more than {MOST_FILES} files in {}", folder.display())));
        }
    }
    Ok(())
}

/// Decides whether a path, links followed, lies in the project; one that leads nowhere does.
fn is_within(root: &Path, path: &Path) -> bool {
    path.canonicalize().map_or(true, |real| real.starts_with(root))
}

fn link_out(path: &Path) -> io::Error {
    io::Error::other(format!("{} is a link to a file outside of the project", path.display()))
}

/// A hash over names, executable bits and contents.
fn fingerprint(root: &Path, files: &[PathBuf]) -> io::Result<String> {
    let mut digest = Sha256::new();
    let mut field = |bytes: &[u8]| {
        digest.update((bytes.len() as u64).to_le_bytes());
        digest.update(bytes);
    };
    let mut left = MOST_BYTES;
    for path in files {
        field(path.strip_prefix(root).unwrap_or(path).as_os_str().as_bytes());
        field(&[u8::from(is_executable(path))]);
        field(content_hash(root, path, &mut left)?.as_bytes());
    }
    Ok(hex(&digest.finalize()))
}

/// Hashes a file of at most `left` bytes, and takes its size from them. A link that leads nowhere, a pipe and a device have no
/// content.
fn content_hash(root: &Path, path: &Path, left: &mut u64) -> io::Result<String> {
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
        *left = left.checked_sub(count as u64).ok_or_else(|| {
            io::Error::other(format!("its files have more than {} MiB", MOST_BYTES / (1024 * 1024)))
        })?;
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Largest store that is read, in bytes: about 100,000 projects.
const STORE_LIMIT: u64 = 16 * 1024 * 1024;

/// The user's words on projects, on disk.
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
    /// When it was said, ISO-8601.
    said: String,
}

impl TrustStore {
    /// The store in that file, which need not exist.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// What the user said of a project as it is now. A store that can't be read knows nothing.
    #[must_use]
    pub fn word(&self, project: &Project) -> TrustAnswer {
        let words = self.load();
        let kept = project.root.to_str().and_then(|root| words.projects.get(root));
        match (kept, &project.fingerprint) {
            (Some(kept), Ok(fingerprint)) => match (kept.trusted, kept.sha256 == *fingerprint) {
                (true, true) => TrustAnswer::Trusted,
                (false, true) => TrustAnswer::Refused,
                (true, false) => TrustAnswer::Changed,
                (false, false) => TrustAnswer::Unasked,
            },
            _ => TrustAnswer::Unasked,
        }
    }

    /// Keeps the user's word on a project as it is now. A project whose path is no text, or that can't be trusted, isn't kept.
    ///
    /// # Errors
    /// When the store can't be written.
    pub fn remember(&self, project: &Project, word: TrustAnswer, now: UnixMs) -> Result<(), ConfigError> {
        let (Some(root), Ok(sha256)) = (project.root.to_str(), &project.fingerprint) else { return Ok(()) };
        let mut words = self.load();
        let trusted = match word {
            TrustAnswer::Trusted => true,
            TrustAnswer::Refused => false,
            TrustAnswer::Changed | TrustAnswer::Unasked => return Ok(()),
        };
        let kept = StoredTrust { sha256: sha256.clone(), trusted, said: now.to_iso() };
        words.projects.insert(root.to_owned(), kept);
        self.store(&words).map_err(|source| ConfigError::Io { path: self.path.clone(), source })
    }

    fn load(&self) -> TrustRecords {
        let text = match files::read(&self.path, STORE_LIMIT) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return TrustRecords::default(),
            Err(error) => {
                tracing::warn!(path = %self.path.display(), %error, "can't be read: no project is trusted");
                return TrustRecords::default();
            }
        };
        serde_json::from_slice(&text).unwrap_or_else(|error| {
            tracing::warn!(path = %self.path.display(), %error, "can't be understood: no project is trusted");
            TrustRecords::default()
        })
    }

    /// A new file, for the user's eyes only, takes the old one's place.
    fn store(&self, words: &TrustRecords) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        files::make_private_folder(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer_pretty(&mut file, words)?;
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
    fn the_nearest_folder_counts_and_none_above_the_repository_does() {
        let folder = TempDir::new().unwrap();
        let root = folder.path().canonicalize().unwrap();
        write(&root, ".tiller/settings.json", "{}");
        fs::create_dir_all(root.join("repo/.git")).unwrap();
        fs::create_dir_all(root.join("repo/a/b")).unwrap();
        assert_eq!(find(&root.join("repo/a/b")), None);
        write(&root, "repo/.tiller/settings.json", "{}");
        assert_eq!(find(&root.join("repo/a/b")).unwrap().root(), root.join("repo"));
        write(&root, "repo/a/.tiller/settings.json", "{}");
        assert_eq!(find(&root.join("repo/a/b")).unwrap().root(), root.join("repo/a"));
        fs::remove_dir(root.join("repo/.git")).unwrap();
        assert_eq!(find(&root.join("repo/a/b")), None, "outside of a repository only the directory counts");
    }

    #[test]
    fn a_project_of_texts_alone_needs_no_trust_and_the_users_own_folder_is_no_project() {
        let folder = TempDir::new().unwrap();
        write(folder.path(), ".tiller/skills/x/SKILL.md", "text");
        assert_eq!(find(folder.path()), None);
        write(folder.path(), ".tiller/settings.json", "{}");
        assert!(find(folder.path()).is_some());
        assert_eq!(Project::find(folder.path(), &folder.path().join(".tiller")), None);
    }

    #[test]
    fn what_acts_is_named_and_only_executables_are_extensions() {
        let folder = TempDir::new().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let settings = write(&root, ".tiller/settings.json", "{}");
        let guard = write(&root, ".tiller/extensions/guard.py", "#!/usr/bin/python3");
        let part = write(&root, ".tiller/extensions/lib/part.py", "x = 1");
        let env = write(&root, ".env", "A=1");
        make_executable(&guard);
        let project = find(&root).unwrap();
        assert_eq!(project.acting(), [settings, env, guard.clone(), part]);
        assert_eq!(project.extensions(), [guard]);
    }

    #[test]
    fn a_word_is_kept_until_any_file_changes() {
        let folder = TempDir::new().unwrap();
        let guard = write(folder.path(), ".tiller/extensions/guard", "1");
        let store = TrustStore::at(folder.path().join("state/trust.json"));
        let trust = |word| store.remember(&find(folder.path()).unwrap(), word, UnixMs(0)).unwrap();
        let word = || store.word(&find(folder.path()).unwrap());
        assert_eq!(word(), TrustAnswer::Unasked);
        trust(TrustAnswer::Refused);
        assert_eq!(word(), TrustAnswer::Refused);
        trust(TrustAnswer::Trusted);
        assert_eq!(word(), TrustAnswer::Trusted);
        let mode = store.path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);

        let changes: [&dyn Fn(); 4] = [
            &|| fs::write(&guard, "2").unwrap(),
            &|| make_executable(&guard),
            &|| drop(write(folder.path(), ".tiller/extensions/lib/new", "")),
            &|| drop(write(folder.path(), ".env", "A=1")),
        ];
        for change in changes {
            let before = find(folder.path()).unwrap();
            change();
            assert_eq!((word(), before.is_unchanged()), (TrustAnswer::Changed, false));
            trust(TrustAnswer::Trusted);
            assert_eq!(word(), TrustAnswer::Trusted);
        }
    }

    #[test]
    fn what_can_be_no_file_neither_hangs_nor_hides() {
        let folder = TempDir::new().unwrap();
        write(folder.path(), ".tiller/extensions/guard", "1");
        let pipe = folder.path().join(".tiller/extensions/pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        std::os::unix::fs::symlink("/no/where", folder.path().join(".tiller/extensions/astray")).unwrap();
        let project = find(folder.path()).unwrap();
        assert_eq!((project.acting().len(), project.hindrance()), (3, None));
    }

    #[test]
    fn what_lies_behind_a_linked_folder_cannot_be_trusted() {
        let folder = TempDir::new().unwrap();
        write(folder.path(), ".tiller/settings.json", "{}");
        let outside = TempDir::new().unwrap();
        let link = folder.path().canonicalize().unwrap().join(".tiller/extensions/lib");
        fs::create_dir(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(outside.path(), &link).unwrap();
        let project = find(folder.path()).unwrap();
        let expected = format!("{} is a link to a folder", link.display());
        assert_eq!(project.hindrance(), Some(expected.as_str()));
    }

    #[test]
    fn a_folder_of_texts_hides_no_project_above_it() {
        let folder = TempDir::new().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".git")).unwrap();
        write(&root, ".tiller/settings.json", "{}");
        write(&root, "a/.tiller/skills/x/SKILL.md", "text");
        assert_eq!(find(&root.join("a")).unwrap().root(), root);
    }

    #[test]
    fn too_many_files_cannot_be_trusted() {
        let folder = TempDir::new().unwrap();
        for number in 0..=MOST_FILES {
            write(folder.path(), &format!(".tiller/extensions/{number}"), "");
        }
        let project = find(folder.path()).unwrap();
        assert!(project.hindrance().unwrap().starts_with("more than 2000 files in "));
        let store = TrustStore::at(folder.path().join("trust.json"));
        store.remember(&project, TrustAnswer::Trusted, UnixMs(0)).unwrap();
        assert_eq!(store.word(&project), TrustAnswer::Unasked);
    }

    #[test]
    fn a_damaged_store_trusts_nobody_and_is_written_anew() {
        let folder = TempDir::new().unwrap();
        write(folder.path(), ".tiller/settings.json", "{}");
        let store = TrustStore::at(write(folder.path(), "trust.json", "{\"projects\": 3}"));
        let project = find(folder.path()).unwrap();
        assert_eq!(store.word(&project), TrustAnswer::Unasked);
        store.remember(&project, TrustAnswer::Trusted, UnixMs(0)).unwrap();
        assert_eq!(store.word(&project), TrustAnswer::Trusted);
    }
}
