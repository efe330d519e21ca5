//! Which paths may be touched: those beneath the working directory, and beneath folders that were added.
//!
//! A path is resolved once, following every link, and must end up beneath a root; [`Workspace::open`] then opens what was
//! resolved without following any link, so that a folder swapped for a link in between gains nothing. Whether a call may
//! run is the policy's business; what a command of the shell touches, nobody's here.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tiller_core::protected_path::ProtectedPaths;
use tiller_files::open_beneath::{self, stable_path};
use tiller_files::walk::{FileWalk, WalkEntry, WalkOptions, walk};

use self::protected::ProtectedFolders;

mod protected;

/// Why a path may not be touched. The texts are for the model.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The working directory can't be used.
    #[error("working directory {path}: not a folder that can be read")]
    NoRoot {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The path leads out.
    #[error(
        "{path} is outside the working directory {root}, where tools may not reach; started with --add-dir FOLDER tiller \
         lets them"
    )]
    Outside {
        /// The path, as given.
        path: String,
        /// The working directory.
        root: PathBuf,
    },
    /// The path may be read only.
    #[error("{path} may be read but not written")]
    ReadOnly {
        /// The path, as given.
        path: String,
    },
    /// The path lies in one of tiller's own folders.
    #[error("{path} is one of tiller's own files, which tools can't access; ask the user to change it")]
    Protected {
        /// The path, as given.
        path: String,
    },
    /// A link on the way leads nowhere, so what writing through it would make can't be told.
    #[error("{path} is a symbolic link that leads nowhere")]
    BrokenLink {
        /// The link.
        path: PathBuf,
    },
    /// A link on the way leads to where writing needs approval, which the path doesn't say.
    #[error("{path} leads by a symbolic link to where writing needs approval; name the file itself: {real}")]
    HiddenTarget {
        /// The path, as given.
        path: String,
        /// Where it leads.
        real: PathBuf,
    },
    /// The file system says no.
    #[error("{path}: {source}")]
    Io {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// What a path is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAccess {
    /// To look.
    Read,
    /// To change.
    Write,
}

/// What a folder ends with that may only be read.
const READ_ONLY: &str = ":ro";

/// Parses a folder as it is typed behind `--add-dir` and `/add-dir`: its path without links, and what tools may do there. Relative
/// paths begin at `cwd`, and `~` stands for `home`.
///
/// # Errors
/// When there is no such folder; of the kind [`io::ErrorKind::NotADirectory`] where something else is there.
pub fn parse_folder(typed: &str, cwd: &Path, home: Option<&Path>) -> io::Result<(PathBuf, FileAccess)> {
    // Also where a folder is called so: what looks protected is. That folder is typed with a slash behind it.
    let (path, purpose) =
        typed.strip_suffix(READ_ONLY).map_or((typed, FileAccess::Write), |path| (path, FileAccess::Read));
    let folder = cwd.join(expand_home(path, home).unwrap_or_else(|| path.into())).canonicalize()?;
    if folder.is_dir() {
        Ok((folder, purpose))
    } else {
        Err(io::Error::new(io::ErrorKind::NotADirectory, "not a folder"))
    }
}

/// An added folder as the model is told of it.
#[must_use]
pub fn describe_folder(path: &Path, purpose: FileAccess) -> String {
    match purpose {
        FileAccess::Read => format!("{} (to read only)", path.display()),
        FileAccess::Write => path.display().to_string(),
    }
}

/// A path with `~` as a shell reads it; `None` where that stands for a home directory that isn't known.
fn expand_home(path: &str, home: Option<&Path>) -> Option<PathBuf> {
    match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            Some(home?.join(rest.trim_start_matches('/')))
        }
        Some(_) | None => Some(PathBuf::from(path)),
    }
}

/// The folders that tools may reach.
#[derive(Clone, Debug)]
pub struct Workspace {
    /// The working directory, without links.
    root: PathBuf,
    /// Other folders, as given: they may come to be later.
    added: Vec<(PathBuf, FileAccess)>,
    /// Folders that may be read whatever the others say, and take nothing from them.
    readable: Vec<PathBuf>,
    protected: ProtectedFolders,
    /// Paths where writing needs approval; what a link hides of them is refused.
    approved: ProtectedPaths,
    /// The folders and paths that the user adds while tools work; clones share them. A lock because tools look at it on other threads, and
    /// nobody holds it for longer than a look.
    session: Arc<Mutex<(SessionFolders, Once)>>,
}

/// The folders that the user adds for one session, all without links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionFolders {
    /// Folders as [`Workspace::with_folder`] adds them.
    pub added: Vec<(PathBuf, FileAccess)>,
    /// Folders that may be read; where writing isn't allowed it can be asked for.
    pub readable: Vec<PathBuf>,
}

/// A file or folder that one call may reach.
type Once = Option<(PathBuf, FileAccess)>;

/// A path that may be touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedPath {
    /// The root that it lies beneath, without links.
    root: PathBuf,
    /// The way from the root; empty for the root itself.
    below: PathBuf,
    /// How to show it: relative to the working directory where it lies in it, else absolute.
    shown: String,
}

impl ResolvedPath {
    /// The whole path, without links as of when it was resolved.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        if self.below.as_os_str().is_empty() { self.root.clone() } else { self.root.join(&self.below) }
    }

    /// The path to show: relative to the working directory where it lies in it (`.` for itself), else absolute.
    #[must_use]
    pub fn shown(&self) -> &str {
        &self.shown
    }
}

impl Workspace {
    /// The workspace of a working directory.
    ///
    /// # Errors
    /// When it isn't a folder.
    pub fn new(root: impl AsRef<Path>) -> Result<Self, WorkspaceError> {
        let given = root.as_ref();
        let no_root = |source| WorkspaceError::NoRoot { path: given.to_owned(), source };
        let root = fs::canonicalize(given).map_err(no_root)?;
        fs::read_dir(&root).map_err(no_root)?;
        Ok(Self {
            root,
            added: Vec::new(),
            readable: Vec::new(),
            protected: ProtectedFolders::default(),
            approved: ProtectedPaths::default(),
            session: Arc::default(),
        })
    }

    /// Adds an absolute folder, which need not exist yet, or a single file, to read from or also to write to. Where folders lie in
    /// each other, or in the working directory, the deepest decides; of a folder that is added for both, it is the one to read.
    #[must_use]
    pub fn with_folder(mut self, folder: impl Into<PathBuf>, purpose: FileAccess) -> Self {
        self.added.push((folder.into(), purpose));
        self
    }

    /// Lets an absolute folder, which need not exist yet, or a single file be read; where writing is allowed there it stays so.
    #[must_use]
    pub fn with_readable(mut self, folder: impl Into<PathBuf>) -> Self {
        self.readable.push(folder.into());
        self
    }

    /// Protects absolute folders, which need not exist yet: nothing is written beneath them, and nothing is read but what
    /// [`Workspace::with_readable`] names strictly beneath them.
    #[must_use]
    pub fn with_protected(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.protected.extend(folders);
        self
    }

    /// Refuses writes whose path hides behind a link that it leads to one of these.
    #[must_use]
    pub fn with_approved_paths(mut self, paths: ProtectedPaths) -> Self {
        self.approved = paths;
        self
    }

    /// The working directory, without links.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Finds out where a path leads, and whether it may be touched. Relative paths start at the working directory; the
    /// path need not exist.
    ///
    /// # Errors
    /// When it leads out of the workspace, or into a part that may only be read, or can't be followed; when it is to be written to and
    /// only a link tells that it is in a `.git`.
    pub fn resolve(&self, path: &str, purpose: FileAccess) -> Result<ResolvedPath, WorkspaceError> {
        let outside = || WorkspaceError::Outside { path: path.to_owned(), root: self.root.clone() };
        let meant = self.expand_home(path).ok_or_else(outside)?;
        let real = follow(&self.root, &meant)?;
        // Approvals go by the path that a call names.
        let (protection, named) = (self.approved.find(&real), self.approved.find(&self.root.join(&meant)));
        if purpose == FileAccess::Write && protection.is_some() && named != protection {
            return Err(WorkspaceError::HiddenTarget { path: path.to_owned(), real });
        }
        if self.protected.hold(&real)
            && (purpose == FileAccess::Write || !self.is_readable_though_protected(&real))
        {
            return Err(WorkspaceError::Protected { path: path.to_owned() });
        }
        if self.is_allowed_once(&real, purpose) {
            return Ok(self.beneath(deepest_folder(&real), &real));
        }
        match (self.grant(&real, purpose), purpose) {
            (None, _) => Err(outside()),
            (Some((_, FileAccess::Read)), FileAccess::Write) => {
                Err(WorkspaceError::ReadOnly { path: path.to_owned() })
            }
            (Some((folder, _)), _) => Ok(self.beneath(folder, &real)),
        }
    }

    /// Finds out where a path leads that may not be touched only because it leads out of the workspace; `None` for any other.
    #[must_use]
    pub fn find_outside(&self, path: &str, purpose: FileAccess) -> Option<PathBuf> {
        match self.resolve(path, purpose) {
            Err(WorkspaceError::Outside { .. }) => follow(&self.root, &self.expand_home(path)?).ok(),
            Ok(_) | Err(_) => None,
        }
    }

    /// Lets calls reach a path without links, and what is beneath it, until something else is allowed or nothing is.
    pub fn allow_once(&self, path: Option<(PathBuf, FileAccess)>) {
        self.session().1 = path;
    }

    /// Sets the folders that this session adds.
    pub fn set_session_folders(&self, folders: SessionFolders) {
        self.session().0 = folders;
    }

    /// Lists the folders beside the working directory that may be written to, without links.
    #[must_use]
    pub fn list_writable(&self) -> Vec<PathBuf> {
        let added = self.session().0.added.clone();
        let writable = self.added.iter().chain(&added).filter(|(_, purpose)| *purpose == FileAccess::Write);
        writable.filter_map(|(folder, _)| folder.canonicalize().ok()).collect()
    }

    fn session(&self) -> MutexGuard<'_, (SessionFolders, Once)> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_allowed_once(&self, real: &Path, wanted: FileAccess) -> bool {
        self.session().1.as_ref().is_some_and(|(path, purpose)| {
            real.starts_with(path) && (wanted == FileAccess::Read || *purpose == FileAccess::Write)
        })
    }

    /// A path with `~` as a shell reads it. Where the home directory isn't known, taken literally it would make a folder of that name.
    fn expand_home(&self, path: &str) -> Option<PathBuf> {
        expand_home(path, self.approved.homes.last().map(PathBuf::as_path))
    }

    fn is_readable_though_protected(&self, real: &Path) -> bool {
        let readable = self.readable.iter().filter_map(|folder| folder.canonicalize().ok());
        readable.filter(|folder| real.starts_with(folder)).any(|folder| self.protected.allow_reading(&folder))
    }

    /// The folder that decides on a path, without links, and what it may be used for.
    fn grant(&self, real: &Path, wanted: FileAccess) -> Option<(PathBuf, FileAccess)> {
        let session = self.session().0.clone();
        let holding = |(folder, purpose): (&PathBuf, FileAccess)| {
            let folder = fs::canonicalize(folder).ok()?;
            real.starts_with(&folder).then_some((folder, purpose))
        };
        let own = real.starts_with(&self.root).then(|| (self.root.clone(), FileAccess::Write));
        let added = self
            .added
            .iter()
            .chain(&session.added)
            .filter_map(|(folder, purpose)| holding((folder, *purpose)));
        let depth = |(folder, purpose): &(PathBuf, FileAccess)| {
            (folder.components().count(), *purpose == FileAccess::Read)
        };
        let decides = own.into_iter().chain(added).max_by_key(depth);
        let read = if wanted == FileAccess::Read { session.readable.as_slice() } else { &[] };
        decides.or_else(|| {
            self.readable.iter().chain(read).find_map(|folder| holding((folder, FileAccess::Read)))
        })
    }

    /// A path that lies in this folder, or is this file.
    fn beneath(&self, folder: PathBuf, real: &Path) -> ResolvedPath {
        if let Ok(below) = real.strip_prefix(&self.root) {
            let shown = if below.as_os_str().is_empty() { ".".into() } else { below.display().to_string() };
            return ResolvedPath { root: self.root.clone(), below: below.to_owned(), shown };
        }
        let shown = real.display().to_string();
        let below = real.strip_prefix(&folder).unwrap_or(real);
        match (real.parent(), real.file_name()) {
            // A file that was added by itself.
            (Some(parent), Some(name)) if below.as_os_str().is_empty() && folder.is_file() => {
                ResolvedPath { root: parent.to_owned(), below: name.into(), shown }
            }
            _ => ResolvedPath { below: below.to_owned(), shown, root: folder },
        }
    }

    /// Walks a folder, leaving out protected folders and what git ignores.
    ///
    /// # Errors
    /// When it can't be opened, or the way to it became a link since it was resolved.
    pub fn walk(&self, folder: &ResolvedPath, options: WalkOptions) -> io::Result<FileWalk> {
        let opened = open_beneath::open_folder(&folder.root, &folder.below)?;
        Ok(walk(opened, &folder.path(), WalkOptions { excluded: self.protected.ids(), ..options }))
    }

    /// The path of an entry that [`Workspace::walk`] found.
    #[must_use]
    pub fn found(&self, folder: &ResolvedPath, entry: &WalkEntry) -> ResolvedPath {
        let below = folder.below.join(&entry.below);
        let path = folder.root.join(&below);
        let shown = path.strip_prefix(&self.root).unwrap_or(&path).display().to_string();
        ResolvedPath { root: folder.root.clone(), below, shown }
    }

    /// Opens a file for reading. A pipe or device is opened without waiting for its other end.
    ///
    /// # Errors
    /// When it can't be opened, or the way to it became a link since it was resolved.
    pub fn open(&self, resolved: &ResolvedPath) -> io::Result<File> {
        open_beneath::open(&resolved.root, &resolved.below)
    }

    /// The folder that a file is to be written in, made if it isn't there. Paths made from [`Folder::path`] stay in it
    /// whatever happens to its name meanwhile (on Linux).
    ///
    /// # Errors
    /// When it can't be made or opened, or the way to it became a link since it was resolved.
    pub fn folder_of(&self, resolved: &ResolvedPath) -> io::Result<Folder> {
        let below = resolved.below.parent().ok_or_else(|| io::Error::from(io::ErrorKind::IsADirectory))?;
        let name = resolved.below.file_name().unwrap_or_default().to_owned();
        let handle = open_beneath::make_folder(&resolved.root, below)?;
        let path = stable_path(&handle, resolved.root.join(below));
        Ok(Folder { _handle: handle, path, name })
    }
}

/// A folder held open to write in, and the name that was asked for in it.
#[derive(Debug)]
pub struct Folder {
    _handle: File,
    path: PathBuf,
    name: OsString,
}

impl Folder {
    /// A path to the folder, good as long as this value lives.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path to the file that was asked for.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.path.join(&self.name)
    }
}

/// The deepest folder on the way to a path that is there.
fn deepest_folder(real: &Path) -> PathBuf {
    real.ancestors().find(|path| path.is_dir()).unwrap_or_else(|| Path::new("/")).to_owned()
}

/// Where `path` leads when every link is followed, as the system would, through the part of it that exists.
fn follow(root: &Path, path: &Path) -> Result<PathBuf, WorkspaceError> {
    let mut real = root.to_owned();
    for component in path.components() {
        match component {
            Component::RootDir => real = PathBuf::from("/"),
            Component::ParentDir => {
                real.pop();
            }
            Component::Normal(name) => real = step(&real, Path::new(name))?,
            Component::CurDir | Component::Prefix(_) => {}
        }
    }
    Ok(real)
}

fn step(from: &Path, name: &Path) -> Result<PathBuf, WorkspaceError> {
    let next = from.join(name);
    let is_link = match next.symlink_metadata() {
        Ok(metadata) => metadata.is_symlink(),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => false,
        Err(source) => return Err(WorkspaceError::Io { path: next, source }),
    };
    if !is_link {
        return Ok(next);
    }
    match fs::canonicalize(&next) {
        Ok(real) => Ok(real),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(WorkspaceError::BrokenLink { path: next })
        }
        Err(source) => Err(WorkspaceError::Io { path: next, source }),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    /// A folder `inside` with `sub/file`, beside it a folder `outside` with `secret`, and links from the one to the other.
    fn folders() -> (TempDir, Workspace) {
        let folder = TempDir::new().unwrap();
        let (inside, outside) = (folder.path().join("inside"), folder.path().join("outside"));
        fs::create_dir_all(inside.join("sub")).unwrap();
        fs::create_dir_all(&outside).unwrap();
        fs::write(inside.join("sub/file"), "f").unwrap();
        fs::write(outside.join("secret"), "s").unwrap();
        symlink("../outside", inside.join("way-out")).unwrap();
        symlink("../outside/new", inside.join("broken")).unwrap();
        symlink("sub", inside.join("way-in")).unwrap();
        let workspace = Workspace::new(&inside).unwrap();
        (folder, workspace)
    }

    fn shown(workspace: &Workspace, path: &str) -> Result<String, String> {
        let resolved = workspace.resolve(path, FileAccess::Write).map_err(|error| error.to_string())?;
        Ok(resolved.shown().to_owned())
    }

    #[test]
    fn paths_beneath_the_root_resolve_wherever_they_wander() {
        let (_folder, workspace) = folders();
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
            assert_eq!(shown(&workspace, path), Ok(expected.to_owned()), "{path}");
        }
    }

    #[test]
    fn paths_that_lead_out_are_refused_with_the_root() {
        let (_folder, workspace) = folders();
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
                "{path} is outside the working directory {root}, where tools may not reach; started with --add-dir FOLDER tiller lets them"
            );
            assert_eq!(shown(&workspace, path), Err(refusal));
        }
        assert!(
            shown(&workspace, "broken")
                .unwrap_err()
                .ends_with("broken is a symbolic link that leads nowhere")
        );
        assert!(shown(&workspace, &format!("{root}-sibling")).is_err());
    }

    #[test]
    fn what_is_in_git_is_written_only_by_a_path_that_says_so() {
        let (_folder, workspace) = folders();
        let root = workspace.root();
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        symlink(".git/hooks", root.join("hooks")).unwrap();
        let real = root.join(".git/hooks/pre-commit").display().to_string();
        let refusal = format!(
            "hooks/pre-commit leads by a symbolic link to where writing needs approval; name the file itself: {real}"
        );
        assert_eq!(shown(&workspace, "hooks/pre-commit"), Err(refusal));
        assert_eq!(shown(&workspace, ".git/hooks/pre-commit"), Ok(".git/hooks/pre-commit".into()));
        assert!(workspace.resolve("hooks/pre-commit", FileAccess::Read).is_ok());
    }

    #[test]
    fn resolve_link_to_a_startup_file_is_refused() {
        let (folder, workspace) = folders();
        let home = folder.path().canonicalize().unwrap();
        fs::write(home.join(".bashrc"), "").unwrap();
        symlink("../.bashrc", home.join("inside/notes")).unwrap();
        let paths = ProtectedPaths { homes: vec![home.clone()], ..ProtectedPaths::default() };
        let workspace = workspace.with_folder(&home, FileAccess::Write).with_approved_paths(paths);
        assert!(shown(&workspace, "notes").unwrap_err().contains("to where writing needs approval"));
        assert!(shown(&workspace, "../.bashrc").is_ok(), "the question has been asked");
        assert!(workspace.resolve("notes", FileAccess::Read).is_ok());
    }

    #[test]
    fn an_added_folder_is_reached_for_what_it_was_added_for() {
        let (folder, workspace) = folders();
        let outside = folder.path().join("outside");
        let workspace = workspace.with_folder(&outside, FileAccess::Read);
        let secret = outside.join("secret").display().to_string();
        let resolved = workspace.resolve("way-out/secret", FileAccess::Read).unwrap();
        assert_eq!(resolved.path(), fs::canonicalize(outside.join("secret")).unwrap());
        assert_eq!(shown(&workspace, &secret), Err(format!("{secret} may be read but not written")));
    }

    #[test]
    fn of_folders_in_each_other_the_deepest_decides() {
        let (folder, workspace) = folders();
        let (inside, outside) = (folder.path().join("inside"), folder.path().join("outside"));
        fs::create_dir_all(outside.join("open/closed")).unwrap();
        fs::create_dir_all(inside.join("skills")).unwrap();
        let workspace = workspace
            .with_folder(inside.join("sub"), FileAccess::Read)
            .with_folder(outside.join("open"), FileAccess::Write)
            .with_folder(&outside, FileAccess::Read)
            .with_folder(outside.join("open/closed"), FileAccess::Read)
            .with_folder(outside.join("open/closed"), FileAccess::Write)
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
            let refusal = format!("{path} may be read but not written");
            let expected = if is_writable { None } else { Some(refusal) };
            assert_eq!(shown(&workspace, path).err(), expected, "{path}");
        }
        let file = workspace.resolve("sub/file", FileAccess::Read).unwrap();
        assert_eq!((file.shown(), file.path()), ("sub/file", workspace.root().join("sub/file")));
    }

    #[test]
    fn what_is_only_readable_is_not_written() {
        let (folder, workspace) = folders();
        let secret = folder.path().join("outside/secret").display().to_string();
        let workspace = workspace.with_readable(folder.path().join("outside"));
        assert!(workspace.resolve(&secret, FileAccess::Read).is_ok());
        assert_eq!(shown(&workspace, &secret), Err(format!("{secret} may be read but not written")));
    }

    #[test]
    fn an_added_file_is_reached_and_its_neighbours_are_not() {
        let (folder, workspace) = folders();
        let outside = folder.path().canonicalize().unwrap().join("outside");
        fs::write(outside.join("one"), "1").unwrap();
        fs::write(outside.join("two"), "2").unwrap();
        let workspace = workspace.with_folder(outside.join("one"), FileAccess::Read);
        let one = workspace.resolve(outside.join("one").to_str().unwrap(), FileAccess::Read).unwrap();
        let mut text = String::new();
        io::Read::read_to_string(&mut workspace.open(&one).unwrap(), &mut text).unwrap();
        assert_eq!((text.as_str(), one.path()), ("1", outside.join("one")));
        assert!(workspace.resolve(outside.join("one").to_str().unwrap(), FileAccess::Write).is_err());
        assert!(workspace.resolve(outside.join("two").to_str().unwrap(), FileAccess::Read).is_err());
    }

    #[test]
    fn allow_once_path_outside_is_reached_until_taken_back() {
        let (folder, workspace) = folders();
        let outside = folder.path().canonicalize().unwrap().join("outside");
        let text = |name: &str| outside.join(name).display().to_string();
        let clone = workspace.clone();
        let reached = |path: &str, purpose| clone.resolve(path, purpose).map(|it| it.path()).ok();
        for (path, purpose) in [("secret", FileAccess::Read), ("new/deep", FileAccess::Write)] {
            let real = workspace.find_outside(&text(path), purpose).unwrap();
            assert_eq!(real, outside.join(path));
            workspace.allow_once(Some((real.clone(), purpose)));
            assert_eq!(reached(&text(path), purpose), Some(real));
            assert_eq!(reached(&text("other"), FileAccess::Read), None);
            workspace.allow_once(None);
            assert_eq!(reached(&text(path), purpose), None);
        }
        workspace.allow_once(Some((outside.join("secret"), FileAccess::Read)));
        assert_eq!(reached(&text("secret"), FileAccess::Write), None);
        assert_eq!(workspace.find_outside("sub/file", FileAccess::Read), None);
    }

    #[test]
    fn session_folders_are_shared_and_replaced() {
        let (folder, workspace) = folders();
        let outside = folder.path().canonicalize().unwrap().join("outside");
        let secret = outside.join("secret").display().to_string();
        let clone = workspace.clone();
        let can = |purpose| clone.resolve(&secret, purpose).is_ok();
        let readable = vec![outside.clone()];
        workspace.set_session_folders(SessionFolders { readable, ..SessionFolders::default() });
        assert_eq!((can(FileAccess::Read), can(FileAccess::Write)), (true, false));
        assert!(clone.find_outside(&secret, FileAccess::Write).is_some(), "it can be asked for");
        let added = vec![(outside.clone(), FileAccess::Write)];
        workspace.set_session_folders(SessionFolders { added, ..SessionFolders::default() });
        assert_eq!((can(FileAccess::Read), can(FileAccess::Write)), (true, true));
        assert_eq!(workspace.list_writable(), [outside]);
        workspace.set_session_folders(SessionFolders::default());
        assert_eq!((can(FileAccess::Read), can(FileAccess::Write)), (false, false));
    }

    #[test]
    fn a_folder_swapped_for_a_link_after_the_check_is_not_followed() {
        let (folder, workspace) = folders();
        let resolved = workspace.resolve("sub/file", FileAccess::Write).unwrap();
        let fresh = workspace.resolve("sub/secret", FileAccess::Write).unwrap();
        let sub = folder.path().join("inside/sub");
        fs::rename(&sub, folder.path().join("inside/moved")).unwrap();
        symlink("../outside", &sub).unwrap();
        assert!(workspace.open(&resolved).is_err());
        assert!(workspace.open(&fresh).is_err());
        assert!(workspace.folder_of(&fresh).is_err());
    }

    #[test]
    fn a_folder_held_open_stays_itself() {
        let (folder, workspace) = folders();
        let resolved = workspace.resolve("sub/made", FileAccess::Write).unwrap();
        let held = workspace.folder_of(&resolved).unwrap();
        let inside = folder.path().join("inside");
        fs::rename(inside.join("sub"), inside.join("moved")).unwrap();
        symlink("../outside", inside.join("sub")).unwrap();
        if cfg!(target_os = "linux") {
            fs::write(held.file(), "x").unwrap();
            assert!(inside.join("moved/made").exists());
        }
        assert!(!folder.path().join("outside/made").exists());
    }
}
