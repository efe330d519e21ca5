//! The workspace: the paths that tools may access, in the working directory and in added directories.
//!
//! A path is resolved once, following all links, and must end inside a root. [`Workspace::open`] then opens
//! the resolved path without following links, so that replacing a directory with a link in between has no
//! effect. The [policy](crate::policy) decides whether a call may run; the workspace doesn't restrict paths of
//! shell commands.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tiller_core::protected_path::{ProtectedPaths, Protection};
use tiller_files::open_beneath::{self, stable_path};
use tiller_files::walk::{FileWalk, WalkEntry, WalkOptions, walk};

pub use self::error::WorkspaceError;
use self::links::resolve_links;
use self::protected::ProtectedDirs;

mod error;
mod links;
mod protected;

/// The access to a path that a call needs, or that a directory allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAccess {
    /// Reading.
    Read,
    /// Reading and writing.
    Write,
}

/// Suffix of a read-only directory.
const READ_ONLY: &str = ":ro";

/// Parses a directory argument of `--add-dir` and `/add-dir`: its path with links resolved, and the access
/// that it allows. Relative paths start at `cwd`, and `~` is replaced with `home`.
///
/// # Errors
/// If there is no such directory. The kind is [`io::ErrorKind::NotADirectory`] if the path isn't a directory.
pub fn parse_dir(text: &str, cwd: &Path, home: Option<&Path>) -> io::Result<(PathBuf, FileAccess)> {
    // The suffix also applies to a directory whose name ends with it, because the argument requests
    // protection. Such a directory can be added with a trailing slash.
    let (path, access) =
        text.strip_suffix(READ_ONLY).map_or((text, FileAccess::Write), |path| (path, FileAccess::Read));
    let dir = cwd.join(expand_home(path, home).unwrap_or_else(|| path.into())).canonicalize()?;
    if dir.is_dir() {
        Ok((dir, access))
    } else {
        Err(io::Error::new(io::ErrorKind::NotADirectory, "not a directory"))
    }
}

/// Describes an added directory for the model.
#[must_use]
pub fn describe_dir(path: &Path, access: FileAccess) -> String {
    match access {
        FileAccess::Read => format!("{} (read-only)", path.display()),
        FileAccess::Write => path.display().to_string(),
    }
}

/// Expands `~` in a path as a shell does; `None` if the home directory isn't known.
fn expand_home(path: &str, home: Option<&Path>) -> Option<PathBuf> {
    match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            Some(home?.join(rest.trim_start_matches('/')))
        }
        Some(_) | None => Some(PathBuf::from(path)),
    }
}

/// The directories that tools may access.
#[derive(Clone, Debug)]
pub struct Workspace {
    /// The working directory, with links resolved.
    root: PathBuf,
    /// Additional directories, with links resolved. They may be created later.
    added: Vec<(PathBuf, FileAccess)>,
    /// Directories that are always readable. They don't restrict the access that other directories allow.
    readable: Vec<PathBuf>,
    protected: ProtectedDirs,
    /// Paths whose writes need approval; a link that hides one is rejected.
    approved: ProtectedPaths,
    /// Directories and paths that the user adds while tools are running; clones share them. A mutex, because
    /// tools read it on other threads; it is held only briefly.
    session: Arc<Mutex<(SessionDirs, AllowedOnce)>>,
}

/// The directories that the user adds for one session, all with links resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionDirs {
    /// Directories in the form of [`Workspace::with_dir`].
    pub added: Vec<(PathBuf, FileAccess)>,
    /// Readable directories; writes are allowed by other directories or by approval.
    pub readable: Vec<PathBuf>,
}

/// A file or directory that one call may access.
type AllowedOnce = Option<(PathBuf, FileAccess)>;

/// A path that may be accessed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedPath {
    /// The root that contains it, with links resolved.
    root: PathBuf,
    /// The path relative to the root; empty for the root itself.
    below: PathBuf,
    /// The display path: relative to the working directory if it is inside, else absolute.
    display_path: String,
}

impl ResolvedPath {
    /// Returns the full path, with the links resolved at the time of the check.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        if self.below.as_os_str().is_empty() { self.root.clone() } else { self.root.join(&self.below) }
    }

    /// Returns the display path: relative to the working directory if it is inside (`.` for the directory
    /// itself), else absolute.
    #[must_use]
    pub fn display_path(&self) -> &str {
        &self.display_path
    }
}

impl Workspace {
    /// Creates the workspace of a working directory.
    ///
    /// # Errors
    /// If it isn't a readable directory.
    pub fn new(root: impl AsRef<Path>) -> Result<Self, WorkspaceError> {
        let path = root.as_ref();
        let no_root = |source| WorkspaceError::NoRoot { path: path.to_owned(), source };
        let root = fs::canonicalize(path).map_err(no_root)?;
        fs::read_dir(&root).map_err(no_root)?;
        Ok(Self {
            root,
            added: Vec::new(),
            readable: Vec::new(),
            protected: ProtectedDirs::default(),
            approved: ProtectedPaths::default(),
            session: Arc::default(),
        })
    }

    /// Adds an absolute directory, which need not exist yet, or a single file, for reading or for reading and
    /// writing. If directories contain each other, or the working directory, the deepest decides; for a
    /// directory that is added twice, the read-only entry does. Links in its path are resolved now; if it
    /// becomes a link later, it can't be accessed.
    #[must_use]
    pub fn with_dir(mut self, dir: impl Into<PathBuf>, access: FileAccess) -> Self {
        let dir = dir.into();
        self.added.push((resolve_links(Path::new("/"), &dir).unwrap_or(dir), access));
        self
    }

    /// Makes an absolute directory, which need not exist yet, or a single file readable. Doesn't change where
    /// writing is allowed.
    #[must_use]
    pub fn with_readable(mut self, dir: impl Into<PathBuf>) -> Self {
        self.readable.push(dir.into());
        self
    }

    /// Protects absolute directories, which need not exist yet: nothing in them can be written, and only
    /// paths strictly inside them that [`Workspace::with_readable`] has added can be read.
    #[must_use]
    pub fn with_protected(mut self, dirs: impl IntoIterator<Item = PathBuf>) -> Self {
        self.protected.extend(dirs);
        self
    }

    /// Rejects writes to these paths through a link that hides them.
    #[must_use]
    pub fn with_approved_paths(mut self, paths: ProtectedPaths) -> Self {
        self.approved = paths;
        self
    }

    /// Returns a workspace with another working directory, without the directories added to this one.
    #[must_use]
    pub fn at(&self, root: &Path) -> Self {
        let root = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
        Self { root, added: Vec::new(), session: Arc::default(), ..self.clone() }
    }

    /// Returns the same workspace for another session. Directories that are added to one of them later don't
    /// affect the other.
    #[must_use]
    pub fn for_another_session(&self) -> Self {
        let dirs = self.session().0.clone();
        Self { session: Arc::new(Mutex::new((dirs, None))), ..self.clone() }
    }

    /// Returns the working directory, with links resolved.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Resolves a path and checks that it may be accessed. Relative paths start at the working directory; the path need
    /// not exist.
    ///
    /// # Errors
    /// If the path leads out of the workspace, or into a read-only part, or can't be resolved; for writing,
    /// also if a link hides that the target needs approval.
    pub fn resolve(&self, path: &str, access: FileAccess) -> Result<ResolvedPath, WorkspaceError> {
        let outside = || WorkspaceError::Outside { path: path.to_owned(), root: self.root.clone() };
        let expanded = self.expand_home(path).ok_or_else(outside)?;
        let real = resolve_links(&self.root, &expanded)?;
        if self.is_protected(&real, access) {
            return Err(WorkspaceError::Protected { path: path.to_owned() });
        }
        // Approvals check the path that a call names.
        let (protection, named) = (self.approved.find(&real), self.approved.find(&self.root.join(&expanded)));
        if access == FileAccess::Write && protection.is_some() && named != protection {
            return Err(WorkspaceError::HiddenTarget { path: path.to_owned(), real });
        }
        if self.is_allowed_once(&real, access) {
            return Ok(self.resolved(deepest_dir(&real), &real));
        }
        match (self.grant(&real, access), access) {
            (None, _) => Err(outside()),
            (Some((_, FileAccess::Read)), FileAccess::Write) => {
                Err(WorkspaceError::ReadOnly { path: path.to_owned() })
            }
            (Some((dir, _)), _) => Ok(self.resolved(dir, &real)),
        }
    }

    /// Resolves a path that is rejected only because it is outside the workspace; `None` for any other path.
    #[must_use]
    pub fn find_outside(&self, path: &str, access: FileAccess) -> Option<PathBuf> {
        match self.resolve(path, access) {
            Err(WorkspaceError::Outside { .. }) => resolve_links(&self.root, &self.expand_home(path)?).ok(),
            Ok(_) | Err(_) => None,
        }
    }

    /// Lets calls access a path (with links resolved) and everything in it, until it is replaced or set to
    /// `None`.
    pub fn allow_once(&self, path: Option<(PathBuf, FileAccess)>) {
        self.session().1 = path;
    }

    /// Sets the directories that the user has added to this session.
    pub fn set_session_dirs(&self, dirs: SessionDirs) {
        self.session().0 = dirs;
    }

    /// Lists the directories outside the working directory that may be written to, with links resolved.
    #[must_use]
    pub fn list_writable(&self) -> Vec<PathBuf> {
        let added = self.session().0.added.clone();
        let writable = self.added.iter().chain(&added).filter(|(_, access)| *access == FileAccess::Write);
        writable.map(|(dir, _)| dir).filter(|dir| is_resolved(dir)).cloned().collect()
    }

    fn session(&self) -> MutexGuard<'_, (SessionDirs, AllowedOnce)> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_allowed_once(&self, real: &Path, access: FileAccess) -> bool {
        self.session().1.as_ref().is_some_and(|(path, granted)| {
            real.starts_with(path) && (access == FileAccess::Read || *granted == FileAccess::Write)
        })
    }

    /// Expands `~` in a path. If the home directory isn't known, a literal `~` would create a directory of that name.
    fn expand_home(&self, path: &str) -> Option<PathBuf> {
        expand_home(path, self.approved.homes.last().map(PathBuf::as_path))
    }

    /// Returns true if a path with links resolved belongs to tiller and doesn't allow this access.
    fn is_protected(&self, real: &Path, access: FileAccess) -> bool {
        match access {
            // The name counts regardless of case, because in some file systems a new directory of that name
            // is tiller's.
            FileAccess::Write => {
                self.protected.contains(real) || self.approved.find(real) == Some(Protection::Own)
            }
            FileAccess::Read => self.protected.contains(real) && !self.is_readable_though_protected(real),
        }
    }

    fn is_readable_though_protected(&self, real: &Path) -> bool {
        let readable = self.readable.iter().filter_map(|dir| dir.canonicalize().ok());
        readable.filter(|dir| real.starts_with(dir)).any(|dir| self.protected.allow_reading(&dir))
    }

    /// Returns the directory that decides on a path, with links resolved, and the access that it allows.
    fn grant(&self, real: &Path, access: FileAccess) -> Option<(PathBuf, FileAccess)> {
        let session = self.session().0.clone();
        let root = real.starts_with(&self.root).then(|| (self.root.clone(), FileAccess::Write));
        let added = self
            .added
            .iter()
            .chain(&session.added)
            .filter(|(dir, _)| real.starts_with(dir) && is_resolved(dir))
            .cloned();
        let depth =
            |(dir, access): &(PathBuf, FileAccess)| (dir.components().count(), *access == FileAccess::Read);
        let decisive = root.into_iter().chain(added).max_by_key(depth);
        let read = if access == FileAccess::Read { session.readable.as_slice() } else { &[] };
        decisive.or_else(|| {
            let mut readable = self.readable.iter().chain(read).filter_map(|dir| dir.canonicalize().ok());
            readable.find(|dir| real.starts_with(dir)).map(|dir| (dir, FileAccess::Read))
        })
    }

    /// Returns a path in this directory, or this file.
    fn resolved(&self, dir: PathBuf, real: &Path) -> ResolvedPath {
        if let Ok(below) = real.strip_prefix(&self.root) {
            let display_path =
                if below.as_os_str().is_empty() { ".".into() } else { below.display().to_string() };
            return ResolvedPath { root: self.root.clone(), below: below.to_owned(), display_path };
        }
        let display_path = real.display().to_string();
        let below = real.strip_prefix(&dir).unwrap_or(real);
        match (real.parent(), real.file_name()) {
            // A single file that was added.
            (Some(parent), Some(name)) if below.as_os_str().is_empty() && dir.is_file() => {
                ResolvedPath { root: parent.to_owned(), below: name.into(), display_path }
            }
            _ => ResolvedPath { below: below.to_owned(), display_path, root: dir },
        }
    }

    /// Walks a directory; skips protected directories and files ignored by git.
    ///
    /// # Errors
    /// If it can't be opened, or a component of its path has become a link since it was resolved.
    pub fn walk(&self, dir: &ResolvedPath, options: WalkOptions) -> io::Result<FileWalk> {
        let opened = open_beneath::open_dir(&dir.root, &dir.below)?;
        Ok(walk(opened, &dir.path(), WalkOptions { excluded: self.protected.ids(), ..options }))
    }

    /// Returns the path of an entry that [`Workspace::walk`] has found.
    #[must_use]
    pub fn resolve_entry(&self, dir: &ResolvedPath, entry: &WalkEntry) -> ResolvedPath {
        let below = dir.below.join(&entry.relative_path);
        let path = dir.root.join(&below);
        let display_path = path.strip_prefix(&self.root).unwrap_or(&path).display().to_string();
        ResolvedPath { root: dir.root.clone(), below, display_path }
    }

    /// Opens a file for reading. Opening a pipe or device doesn't wait for its other end.
    ///
    /// # Errors
    /// If it can't be opened, or a component of its path has become a link since it was resolved.
    pub fn open(&self, resolved: &ResolvedPath) -> io::Result<File> {
        open_beneath::open(&resolved.root, &resolved.below)
    }

    /// Opens the directory for writing a file, creating it if necessary. Paths from
    /// [`ParentDir::path`] stay in it even if it is renamed in the meantime (on Linux).
    ///
    /// # Errors
    /// If it can't be created or opened, or a component of its path has become a link since it was resolved.
    pub fn open_parent_dir(&self, resolved: &ResolvedPath) -> io::Result<ParentDir> {
        let below = resolved.below.parent().ok_or_else(|| io::Error::from(io::ErrorKind::IsADirectory))?;
        let name = resolved.below.file_name().unwrap_or_default().to_owned();
        let handle = open_beneath::make_dir(&resolved.root, below)?;
        let path = stable_path(&handle, resolved.root.join(below));
        Ok(ParentDir { handle, path, name })
    }
}

/// Maximum wait for another writer, which needs only milliseconds.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// Delay between two attempts.
const LOCK_RETRY: Duration = Duration::from_millis(5);

/// An open directory for writing, and the name of the target file.
#[derive(Debug)]
pub struct ParentDir {
    handle: File,
    path: PathBuf,
    name: OsString,
}

impl ParentDir {
    /// Waits until no other writer, in this process or another, holds the directory's lock, and holds it
    /// until this value is dropped. If a program holds the lock for longer than any write takes, or a network
    /// file system can't lock directories, the directory is written to without the lock.
    pub fn lock(&self) {
        self.lock_within(LOCK_WAIT);
    }

    /// Returns true if the lock is held.
    fn lock_within(&self, wait: Duration) -> bool {
        let end = Instant::now() + wait;
        loop {
            match self.handle.try_lock() {
                Ok(()) => return true,
                Err(TryLockError::WouldBlock) if Instant::now() < end => thread::sleep(LOCK_RETRY),
                Err(TryLockError::WouldBlock | TryLockError::Error(_)) => return false,
            }
        }
    }

    /// Returns a path to the directory, valid while this value exists.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a path to the target file.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.path.join(&self.name)
    }
}

/// Checks that a path whose links were resolved exists and still has no links.
fn is_resolved(path: &Path) -> bool {
    path.canonicalize().is_ok_and(|real| real == path)
}

/// Returns the deepest existing directory in a path.
fn deepest_dir(real: &Path) -> PathBuf {
    real.ancestors().find(|path| path.is_dir()).unwrap_or_else(|| Path::new("/")).to_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    /// Creates a directory `inside` with `sub/file`, a directory `outside` with `secret` next to it, and
    /// links between them.
    fn dirs() -> (TempDir, Workspace) {
        let dir = TempDir::new().unwrap();
        let (inside, outside) = (dir.path().join("inside"), dir.path().join("outside"));
        fs::create_dir_all(inside.join("sub")).unwrap();
        fs::create_dir_all(&outside).unwrap();
        fs::write(inside.join("sub/file"), "f").unwrap();
        fs::write(outside.join("secret"), "s").unwrap();
        symlink("../outside", inside.join("way-out")).unwrap();
        symlink("../outside/new", inside.join("broken")).unwrap();
        symlink("sub", inside.join("way-in")).unwrap();
        let workspace = Workspace::new(&inside).unwrap();
        (dir, workspace)
    }

    fn display_path(workspace: &Workspace, path: &str) -> Result<String, String> {
        let resolved = workspace.resolve(path, FileAccess::Write).map_err(|error| error.to_string())?;
        Ok(resolved.display_path().to_owned())
    }

    #[test]
    fn lock_of_another_program_is_not_waited_for_forever() {
        let (_dir, workspace) = dirs();
        let resolved = workspace.resolve("sub/file", FileAccess::Write).unwrap();
        let target = workspace.open_parent_dir(&resolved).unwrap();
        let other = File::open(target.path()).unwrap();
        other.lock().unwrap();
        assert!(!target.lock_within(Duration::ZERO));
        drop(other);
        assert!(target.lock_within(Duration::ZERO));
    }

    #[test]
    fn resolve_path_inside_root_is_ok() {
        let (_dir, workspace) = dirs();
        let absolute = workspace.root().join("sub/file").display().to_string();
        for (path, expected) in [
            ("sub/file", "sub/file"),
            ("./sub/../sub//file", "sub/file"),
            ("way-in/file", "sub/file"),
            ("way-in/new/deep", "sub/new/deep"),
            ("no/such/../file", "no/file"),
            ("../inside/sub", "sub"),
            (&absolute, "sub/file"),
            (".", "."),
            ("", "."),
        ] {
            assert_eq!(display_path(&workspace, path), Ok(expected.to_owned()), "{path}");
        }
    }

    #[test]
    fn resolve_path_outside_root_is_refused() {
        let (_dir, workspace) = dirs();
        let root = workspace.root().display().to_string();
        for path in [
            "..",
            "../outside/secret",
            "/etc/passwd",
            "way-out/secret",
            "way-out/new",
            "no/../../outside/x",
            "/",
            "~/x",
        ] {
            let refusal = format!(
                "{path} is outside the working directory {root}, and tools can't access it; start tiller with --add-dir DIR to add the directory"
            );
            assert_eq!(display_path(&workspace, path), Err(refusal));
        }
        assert!(
            display_path(&workspace, "broken").unwrap_err().ends_with("broken is a dangling symbolic link")
        );
        assert!(display_path(&workspace, &format!("{root}-sibling")).is_err());
    }

    #[test]
    fn resolve_write_to_git_through_link_is_refused() {
        let (_dir, workspace) = dirs();
        let root = workspace.root();
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        symlink(".git/hooks", root.join("hooks")).unwrap();
        let real = root.join(".git/hooks/pre-commit").display().to_string();
        let refusal = format!(
            "hooks/pre-commit is a symbolic link to a file that can't be written without approval; use its real path: {real}"
        );
        assert_eq!(display_path(&workspace, "hooks/pre-commit"), Err(refusal));
        assert_eq!(display_path(&workspace, ".git/hooks/pre-commit"), Ok(".git/hooks/pre-commit".into()));
        assert!(workspace.resolve("hooks/pre-commit", FileAccess::Read).is_ok());
    }

    #[test]
    fn resolve_link_to_startup_file_is_refused() {
        let (dir, workspace) = dirs();
        let home = dir.path().canonicalize().unwrap();
        fs::write(home.join(".bashrc"), "").unwrap();
        symlink("../.bashrc", home.join("inside/notes")).unwrap();
        let paths = ProtectedPaths { homes: vec![home.clone()], ..ProtectedPaths::default() };
        let workspace = workspace.with_dir(&home, FileAccess::Write).with_approved_paths(paths);
        assert!(display_path(&workspace, "notes").unwrap_err().contains("written without approval"));
        assert!(display_path(&workspace, "../.bashrc").is_ok(), "the question has been asked");
        assert!(workspace.resolve("notes", FileAccess::Read).is_ok());
    }

    #[test]
    fn resolve_added_dir_allows_its_access() {
        let (dir, workspace) = dirs();
        let outside = dir.path().join("outside");
        let workspace = workspace.with_dir(&outside, FileAccess::Read);
        let secret = outside.join("secret").display().to_string();
        let resolved = workspace.resolve("way-out/secret", FileAccess::Read).unwrap();
        assert_eq!(resolved.path(), fs::canonicalize(outside.join("secret")).unwrap());
        assert_eq!(display_path(&workspace, &secret), Err(format!("{secret} is read-only")));
    }

    #[test]
    fn resolve_nested_dirs_deepest_decides() {
        let (dir, workspace) = dirs();
        let (inside, outside) = (dir.path().join("inside"), dir.path().join("outside"));
        fs::create_dir_all(outside.join("open/closed")).unwrap();
        fs::create_dir_all(inside.join("skills")).unwrap();
        let workspace = workspace
            .with_dir(inside.join("sub"), FileAccess::Read)
            .with_dir(outside.join("open"), FileAccess::Write)
            .with_dir(&outside, FileAccess::Read)
            .with_dir(outside.join("open/closed"), FileAccess::Read)
            .with_dir(outside.join("open/closed"), FileAccess::Write)
            .with_readable(outside.join("open/skills"))
            .with_readable(inside.join("skills"));
        fs::create_dir_all(outside.join("open/skills")).unwrap();
        for (path, is_writable) in [
            ("sub/file", false),
            ("way-in/new", false),
            ("sub", false),
            ("beside", true),
            ("skills/one", true),
            ("way-out/secret", false),
            ("way-out/open/new", true),
            ("way-out/open/skills/one", true),
            ("way-out/open/closed/new", false),
        ] {
            assert!(workspace.resolve(path, FileAccess::Read).is_ok(), "{path}");
            let refusal = format!("{path} is read-only");
            let expected = if is_writable { None } else { Some(refusal) };
            assert_eq!(display_path(&workspace, path).err(), expected, "{path}");
        }
        let file = workspace.resolve("sub/file", FileAccess::Read).unwrap();
        assert_eq!((file.display_path(), file.path()), ("sub/file", workspace.root().join("sub/file")));
    }

    #[test]
    fn resolve_read_only_dir_refuses_write() {
        let (dir, workspace) = dirs();
        let secret = dir.path().join("outside/secret").display().to_string();
        let workspace = workspace.with_readable(dir.path().join("outside"));
        assert!(workspace.resolve(&secret, FileAccess::Read).is_ok());
        assert_eq!(display_path(&workspace, &secret), Err(format!("{secret} is read-only")));
    }

    #[test]
    fn resolve_added_file_excludes_its_neighbors() {
        let (dir, workspace) = dirs();
        let outside = dir.path().canonicalize().unwrap().join("outside");
        fs::write(outside.join("one"), "1").unwrap();
        fs::write(outside.join("two"), "2").unwrap();
        let workspace = workspace.with_dir(outside.join("one"), FileAccess::Read);
        let one = workspace.resolve(outside.join("one").to_str().unwrap(), FileAccess::Read).unwrap();
        let mut text = String::new();
        io::Read::read_to_string(&mut workspace.open(&one).unwrap(), &mut text).unwrap();
        assert_eq!((text.as_str(), one.path()), ("1", outside.join("one")));
        assert!(workspace.resolve(outside.join("one").to_str().unwrap(), FileAccess::Write).is_err());
        assert!(workspace.resolve(outside.join("two").to_str().unwrap(), FileAccess::Read).is_err());
    }

    #[test]
    fn allow_once_path_is_reached_until_revoked() {
        let (dir, workspace) = dirs();
        let outside = dir.path().canonicalize().unwrap().join("outside");
        let text = |name: &str| outside.join(name).display().to_string();
        let clone = workspace.clone();
        let resolved_path = |path: &str, access| clone.resolve(path, access).map(|it| it.path()).ok();
        for (path, access) in [("secret", FileAccess::Read), ("new/deep", FileAccess::Write)] {
            let real = workspace.find_outside(&text(path), access).unwrap();
            assert_eq!(real, outside.join(path));
            workspace.allow_once(Some((real.clone(), access)));
            assert_eq!(resolved_path(&text(path), access), Some(real));
            assert_eq!(resolved_path(&text("other"), FileAccess::Read), None);
            workspace.allow_once(None);
            assert_eq!(resolved_path(&text(path), access), None);
        }
        workspace.allow_once(Some((outside.join("secret"), FileAccess::Read)));
        assert_eq!(resolved_path(&text("secret"), FileAccess::Write), None);
        assert_eq!(workspace.find_outside("sub/file", FileAccess::Read), None);
    }

    #[test]
    fn session_dirs_are_shared_and_replaced() {
        let (dir, workspace) = dirs();
        let outside = dir.path().canonicalize().unwrap().join("outside");
        let secret = outside.join("secret").display().to_string();
        let clone = workspace.clone();
        let can = |access| clone.resolve(&secret, access).is_ok();
        let readable = vec![outside.clone()];
        workspace.set_session_dirs(SessionDirs { readable, ..SessionDirs::default() });
        assert_eq!((can(FileAccess::Read), can(FileAccess::Write)), (true, false));
        assert!(clone.find_outside(&secret, FileAccess::Write).is_some(), "it can be asked for");
        let added = vec![(outside.clone(), FileAccess::Write)];
        workspace.set_session_dirs(SessionDirs { added, ..SessionDirs::default() });
        assert_eq!((can(FileAccess::Read), can(FileAccess::Write)), (true, true));
        assert_eq!(workspace.list_writable(), [outside]);
        workspace.set_session_dirs(SessionDirs::default());
        assert_eq!((can(FileAccess::Read), can(FileAccess::Write)), (false, false));
    }

    #[test]
    fn open_dir_swapped_for_link_is_not_followed() {
        let (dir, workspace) = dirs();
        let resolved = workspace.resolve("sub/file", FileAccess::Write).unwrap();
        let fresh = workspace.resolve("sub/secret", FileAccess::Write).unwrap();
        let sub = dir.path().join("inside/sub");
        fs::rename(&sub, dir.path().join("inside/moved")).unwrap();
        symlink("../outside", &sub).unwrap();
        assert!(workspace.open(&resolved).is_err());
        assert!(workspace.open(&fresh).is_err());
        assert!(workspace.open_parent_dir(&fresh).is_err());
    }

    #[test]
    fn open_root_swapped_for_link_is_not_followed() {
        let (dir, workspace) = dirs();
        let parent = dir.path().canonicalize().unwrap();
        let (inside, outside, added) = (parent.join("inside"), parent.join("outside"), parent.join("added"));
        fs::create_dir(&added).unwrap();
        fs::write(added.join("secret"), "mine").unwrap();
        let workspace = workspace.with_dir(&added, FileAccess::Write);
        let path = added.join("secret").display().to_string();
        let resolved = workspace.resolve(&path, FileAccess::Write).unwrap();
        assert!(workspace.open(&resolved).is_ok());
        for swapped in [&inside, &added] {
            fs::rename(swapped, swapped.with_extension("moved")).unwrap();
            symlink(&outside, swapped).unwrap();
        }
        assert!(workspace.open(&resolved).is_err());
        assert!(workspace.open_parent_dir(&resolved).is_err());
        assert!(
            workspace.resolve(&path, FileAccess::Read).is_err(),
            "an added directory isn't followed elsewhere"
        );
        assert!(workspace.list_writable().is_empty());
        let below = workspace.resolve("secret", FileAccess::Read).unwrap();
        assert!(workspace.open(&below).is_err());
        assert!(workspace.walk(&below, WalkOptions::default()).is_err());
    }

    #[test]
    fn open_parent_dir_held_open_stays_itself() {
        let (dir, workspace) = dirs();
        let resolved = workspace.resolve("sub/made", FileAccess::Write).unwrap();
        let dir_file = workspace.open_parent_dir(&resolved).unwrap();
        let inside = dir.path().join("inside");
        fs::rename(inside.join("sub"), inside.join("moved")).unwrap();
        symlink("../outside", inside.join("sub")).unwrap();
        if cfg!(target_os = "linux") {
            fs::write(dir_file.file(), "x").unwrap();
            assert!(inside.join("moved/made").exists());
        }
        assert!(!dir.path().join("outside/made").exists());
    }
}
