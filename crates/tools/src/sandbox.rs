//! The sandbox for the model's commands: its mode, and the files that commands may write to.
//!
//! Derives the [`SandboxProfile`] of each command from the settings and the workspace.
//! [`process`](crate::process) applies it.

mod caches;

use std::path::{Path, PathBuf};

pub use caches::create_caches;
pub use tiller_core::setting::SandboxMode;
use tiller_files::git;

use crate::policy::SandboxStrength;
use crate::process::{NetworkAccess, SandboxProfile, SandboxSupport};
use crate::workspace::Workspace;

/// Directories for temporary files, in addition to `TMPDIR`.
const TEMPORARY: &[&str] = &["/tmp", "/var/tmp", "/dev/shm"];

/// The sandbox for a session's commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandbox {
    mode: SandboxMode,
    network: NetworkAccess,
    support: SandboxSupport,
    /// Paths that may be written to in mode `workspace`, in addition to the workspace.
    writable: Vec<PathBuf>,
    /// The paths that the user has listed. In mode `workspace`, `writable` contains all of them.
    listed: Vec<PathBuf>,
}

/// The settings of a sandbox.
#[derive(Clone, Debug)]
pub struct SandboxOptions<'a> {
    /// The mode.
    pub mode: SandboxMode,
    /// Use of TCP.
    pub network: NetworkAccess,
    /// The home directory, whose caches are writable.
    pub home: Option<&'a Path>,
    /// The directory for temporary files (`TMPDIR`), if it isn't the system's.
    pub temporary: Option<&'a Path>,
    /// Additional directories or files, absolute or with `~`.
    pub writable: &'a [String],
}

impl Sandbox {
    /// Creates a sandbox that restricts nothing.
    #[must_use]
    pub const fn off() -> Self {
        let (mode, network) = (SandboxMode::Off, NetworkAccess::Allowed);
        let support = SandboxSupport::Missing;
        Self { mode, network, support, writable: Vec::new(), listed: Vec::new() }
    }

    /// Creates a sandbox for a working directory. Finds the directories of its repository now, before a
    /// command can change the target of `.git`.
    #[must_use]
    pub fn new(options: &SandboxOptions<'_>, cwd: &Path, support: SandboxSupport) -> Self {
        let SandboxOptions { mode, network, home, temporary, writable } = options;
        let temporary = temporary.iter().map(|path| path.to_path_buf());
        let temporary = temporary.chain(TEMPORARY.iter().map(PathBuf::from));
        let caches = home.iter().flat_map(|home| caches::paths(home));
        let listed: Vec<PathBuf> = writable.iter().filter_map(|path| expand(path, *home)).collect();
        let writable = match mode {
            SandboxMode::Off => Vec::new(),
            SandboxMode::ReadOnly => temporary.collect(),
            SandboxMode::Workspace => {
                temporary.chain(caches).chain(listed.iter().cloned()).chain(repository_dirs(cwd)).collect()
            }
        };
        Self { mode: *mode, network: *network, support, writable, listed }
    }

    /// Returns the directories and files that the user has opened for commands.
    #[must_use]
    pub fn listed(&self) -> &[PathBuf] {
        &self.listed
    }

    /// Returns the effective mode: off if the system has no sandbox.
    #[must_use]
    pub fn mode(&self) -> SandboxMode {
        if self.support.restricts_writing() { self.mode } else { SandboxMode::Off }
    }

    /// Returns the active restrictions.
    #[must_use]
    pub fn strength(&self) -> SandboxStrength {
        match (self.mode(), self.network) {
            (SandboxMode::Off, _) => SandboxStrength::None,
            (_, NetworkAccess::Denied) if self.support.restricts_tcp() => SandboxStrength::WritesAndTcp,
            (_, NetworkAccess::Denied | NetworkAccess::Allowed) => SandboxStrength::Writes,
        }
    }

    /// Returns this sandbox with at least this network access.
    #[must_use]
    pub fn with_network(self, network: NetworkAccess) -> Self {
        let network = if network == NetworkAccess::Allowed { network } else { self.network };
        Self { network, ..self }
    }

    /// Returns the profile of a command that starts now; `None` without a sandbox.
    #[must_use]
    pub fn profile(&self, workspace: &Workspace) -> Option<SandboxProfile> {
        let own = match self.mode() {
            SandboxMode::Off => return None,
            SandboxMode::ReadOnly => Vec::new(),
            SandboxMode::Workspace => {
                [workspace.root().to_owned()].into_iter().chain(workspace.list_writable()).collect()
            }
        };
        let writable = own.into_iter().chain(self.writable.iter().cloned()).collect();
        Some(SandboxProfile { writable, network: self.network })
    }

    /// Describes the active restrictions, as a continuation of "commands"; `None` without a sandbox.
    #[must_use]
    pub fn describe(&self) -> Option<String> {
        let places = match self.mode() {
            SandboxMode::Off => return None,
            SandboxMode::ReadOnly => "can write only to temporary directories",
            SandboxMode::Workspace => {
                "can write only to the working directory, added directories, temporary directories and caches"
            }
        };
        let tcp = match self.strength() {
            SandboxStrength::WritesAndTcp => {
                ", and can't use TCP unless a rule in the user's settings allows it"
            }
            SandboxStrength::Writes | SandboxStrength::None => "",
        };
        Some(format!("{places}{tcp}"))
    }
}

/// Expands `~`; other relative paths are ignored.
fn expand(path: &str, home: Option<&Path>) -> Option<PathBuf> {
    let path = match path.strip_prefix("~/") {
        Some(rest) => home?.join(rest),
        None => PathBuf::from(path),
    };
    path.is_absolute().then_some(path)
}

/// Returns the directories that git writes to if they are outside the working directory: the repository of a
/// parent directory, or of a worktree.
fn repository_dirs(cwd: &Path) -> Vec<PathBuf> {
    let Some(dot_git) = git::find(cwd) else { return Vec::new() };
    match git::dir(&dot_git) {
        Some(dir) if dir == dot_git && dir.parent() != Some(cwd) => vec![dir],
        Some(dir) if dir != dot_git => worktree_repository(&dot_git, &dir).into_iter().collect(),
        Some(_) | None => Vec::new(),
    }
}

/// Returns the repository of a worktree if it contains a record of the worktree. A command in the sandbox can
/// change the file `.git`, but it can't create a repository elsewhere.
fn worktree_repository(dot_git: &Path, dir: &Path) -> Option<PathBuf> {
    let dir = dir.canonicalize().ok()?;
    let back = git::read_file(&dir, "gitdir")?;
    let worktrees =
        dir.parent().filter(|parent| parent.file_name().is_some_and(|name| name == "worktrees"))?;
    let repository = worktrees.parent()?;
    let is_repository = repository.join("HEAD").is_file() && repository.join("objects").is_dir();
    let knows = Path::new(back.trim()).canonicalize().ok()? == dot_git.canonicalize().ok()?;
    (is_repository && knows).then(|| repository.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const LANDLOCK: SandboxSupport = SandboxSupport::Landlock { abi: 4 };

    fn options<'a>(mode: SandboxMode, writable: &'a [String]) -> SandboxOptions<'a> {
        let home = Some(Path::new("/home/me"));
        let temporary = Some(Path::new("/scratch"));
        SandboxOptions { mode, network: NetworkAccess::Denied, home, temporary, writable }
    }

    fn writable(sandbox: &Sandbox, root: &Path) -> Vec<PathBuf> {
        let workspace = Workspace::new(root).unwrap();
        sandbox.profile(&workspace).map(|profile| profile.writable).unwrap_or_default()
    }

    #[test]
    fn sandbox_profile_follows_the_mode() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let listed = ["~/out".to_owned(), "/srv".to_owned(), "relative".to_owned()];
        let of_mode = |mode| writable(&Sandbox::new(&options(mode, &listed), &root, LANDLOCK), &root);
        let temporary = ["/scratch", "/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from);
        assert_eq!(of_mode(SandboxMode::ReadOnly), temporary);
        assert_eq!(of_mode(SandboxMode::Off), Vec::<PathBuf>::new());
        let workspace = of_mode(SandboxMode::Workspace);
        assert_eq!((&workspace[0], &workspace[1..5]), (&root, &temporary[..]));
        assert_eq!(workspace[workspace.len() - 2..], [PathBuf::from("/home/me/out"), PathBuf::from("/srv")]);
        for cache in [".cargo/registry", ".cache/go-build"] {
            assert!(workspace.contains(&Path::new("/home/me").join(cache)));
        }
        for other in ["", ".cache", ".cache/tiller", ".cache/p10k-instant-prompt-me.zsh", "Library/Caches"] {
            let path = Path::new("/home/me").join(other);
            assert!(!workspace.iter().any(|writable| path.starts_with(writable)), "{other}");
        }
    }

    #[test]
    fn sandbox_without_support_is_off() {
        let sandbox =
            Sandbox::new(&options(SandboxMode::Workspace, &[]), Path::new("/"), SandboxSupport::Missing);
        assert_eq!(
            (sandbox.mode(), sandbox.strength(), sandbox.describe()),
            (SandboxMode::Off, SandboxStrength::None, None)
        );
    }

    #[test]
    fn sandbox_strength_depends_on_tcp() {
        for (abi, network, expected) in [
            (4, NetworkAccess::Denied, SandboxStrength::WritesAndTcp),
            (3, NetworkAccess::Denied, SandboxStrength::Writes),
            (4, NetworkAccess::Allowed, SandboxStrength::Writes),
        ] {
            let options = SandboxOptions { network, ..options(SandboxMode::Workspace, &[]) };
            let sandbox = Sandbox::new(&options, Path::new("/"), SandboxSupport::Landlock { abi });
            let says_so = sandbox.describe().unwrap().contains("can't use TCP");
            assert_eq!(sandbox.strength(), expected, "{abi} {network:?}");
            assert_eq!(says_so, expected == SandboxStrength::WritesAndTcp);
        }
    }

    #[test]
    fn repository_dirs_outside_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (main, tree) = (root.join("main"), root.join("tree"));
        let own = main.join(".git/worktrees/tree");
        for path in [&own, &main.join(".git/objects"), &main.join("src"), &tree] {
            fs::create_dir_all(path).unwrap();
        }
        fs::write(main.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(tree.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        fs::write(own.join("gitdir"), format!("{}\n", tree.join(".git").display())).unwrap();
        assert_eq!(repository_dirs(&main), Vec::<PathBuf>::new());
        assert_eq!(repository_dirs(&main.join("src")), [main.join(".git")]);
        assert_eq!(repository_dirs(&tree), [main.join(".git")]);
        // Directories that only look like a worktree's directories.
        fs::write(own.join("gitdir"), "/elsewhere/.git\n").unwrap();
        assert_eq!(repository_dirs(&tree), Vec::<PathBuf>::new());
        fs::write(own.join("gitdir"), format!("{}\n", tree.join(".git").display())).unwrap();
        fs::remove_file(main.join(".git/HEAD")).unwrap();
        assert_eq!(repository_dirs(&tree), Vec::<PathBuf>::new());
    }
}
