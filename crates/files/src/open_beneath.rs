//! Opening and creating files inside a directory without following links in the path.
//!
//! On Linux, one call opens the path: openat2(2) with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS (since 5.6,
//! 2020). On other systems, and where a sandbox forbids that call, each component is opened from the
//! descriptor of its parent.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Component, Path, PathBuf};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{Mode, mkdirat};

/// Flags for intermediate directories.
const DIR: OFlag = OFlag::O_RDONLY.union(OFlag::O_DIRECTORY);

/// Opens a directory by its path; links are followed, and other files are refused without blocking.
///
/// # Errors
/// If it can't be opened or isn't a directory.
pub(crate) fn open_root(root: &Path) -> io::Result<File> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    OpenOptions::new().read(true).custom_flags(flags.bits()).open(root)
}

/// Opens a directory by a path whose links were already resolved.
///
/// # Errors
/// If it can't be opened, isn't a directory, or its path now contains a link.
fn open_resolved_root(root: &Path) -> io::Result<File> {
    let flags = DIR | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    open_without_links(root, flags)
}

#[cfg(target_os = "linux")]
fn open_without_links(path: &Path, flags: OFlag) -> io::Result<File> {
    use nix::fcntl::{AT_FDCWD, OpenHow, ResolveFlag, openat2};

    let open_how = OpenHow::new().flags(flags).resolve(ResolveFlag::RESOLVE_NO_SYMLINKS);
    match openat2(AT_FDCWD, path, open_how) {
        Ok(descriptor) => Ok(File::from(descriptor)),
        Err(Errno::ENOSYS | Errno::EPERM) => open_if_resolved(path, flags),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn open_without_links(path: &Path, flags: OFlag) -> io::Result<File> {
    open_if_resolved(path, flags)
}

/// Opens a path after checking that it has no links. A race remains, but opening the components one by one
/// would require read permission on each directory.
fn open_if_resolved(path: &Path, flags: OFlag) -> io::Result<File> {
    if path.canonicalize()? != path {
        return Err(Errno::ELOOP.into());
    }
    let flags = flags | OFlag::O_NOFOLLOW;
    OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)
}

/// Opens a file for reading, without blocking on a pipe or a device. The links of `root` are resolved; an
/// empty `relative_path` is the root itself.
///
/// # Errors
/// If it can't be opened, or one of the paths contains a link.
pub fn open(root: &Path, relative_path: &Path) -> io::Result<File> {
    open_at(&open_resolved_root(root)?, relative_path, OFlag::O_RDONLY)
}

/// Opens a directory. The links of `root` are resolved.
///
/// # Errors
/// If it can't be opened, isn't a directory, or one of the paths contains a link.
pub fn open_dir(root: &Path, relative_path: &Path) -> io::Result<File> {
    open_at(&open_resolved_root(root)?, relative_path, DIR)
}

/// Opens a directory, and creates the missing part of the path from `root`, whose links are resolved.
///
/// # Errors
/// If it can't be created or opened, or one of the paths contains a link.
pub fn make_dir(root: &Path, relative_path: &Path) -> io::Result<File> {
    let mut dir = open_resolved_root(root)?;
    for component in relative_path.components() {
        let name = name_of(component)?;
        let next = open_at(&dir, name, DIR);
        dir = match next {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match mkdirat(&dir, name, Mode::from_bits_truncate(0o777)) {
                    Ok(()) | Err(Errno::EEXIST) => open_at(&dir, name, DIR)?,
                    Err(errno) => return Err(errno.into()),
                }
            }
            next => next?,
        };
    }
    Ok(dir)
}

/// Opens a path inside an open directory.
///
/// # Errors
/// If it can't be opened, or the path contains a link.
pub(crate) fn open_at(dir: &File, relative_path: &Path, flags: OFlag) -> io::Result<File> {
    let relative_path = if relative_path.as_os_str().is_empty() { Path::new(".") } else { relative_path };
    let flags = flags | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    open_in_one_call(dir, relative_path, flags)
}

#[cfg(target_os = "linux")]
fn open_in_one_call(dir: &File, relative_path: &Path, flags: OFlag) -> io::Result<File> {
    use nix::fcntl::{OpenHow, ResolveFlag, openat2};

    let open_how =
        OpenHow::new().flags(flags).resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS);
    match openat2(dir, relative_path, open_how) {
        Ok(descriptor) => Ok(File::from(descriptor)),
        Err(Errno::ENOSYS | Errno::EPERM) => open_step_by_step(dir, relative_path, flags),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn open_in_one_call(dir: &File, relative_path: &Path, flags: OFlag) -> io::Result<File> {
    open_step_by_step(dir, relative_path, flags)
}

fn open_step_by_step(dir: &File, relative_path: &Path, flags: OFlag) -> io::Result<File> {
    let mut at = dir.try_clone()?;
    let mut components = relative_path.components().peekable();
    while let Some(component) = components.next() {
        let flags = if components.peek().is_some() { DIR | OFlag::O_CLOEXEC } else { flags };
        let name = match component {
            Component::CurDir => Path::new("."),
            component => name_of(component)?,
        };
        at = File::from(openat(&at, name, flags | OFlag::O_NOFOLLOW, Mode::empty())?);
    }
    Ok(at)
}

fn name_of(component: Component<'_>) -> io::Result<&Path> {
    match component {
        Component::Normal(name) => Ok(Path::new(name)),
        Component::CurDir | Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
            Err(io::Error::from(io::ErrorKind::InvalidInput))
        }
    }
}

/// Returns a path to an open directory that stays valid when the directory is renamed; `fallback` on systems
/// without such paths.
#[must_use]
pub fn stable_path(dir: &File, fallback: PathBuf) -> PathBuf {
    descriptor_path(dir).unwrap_or(fallback)
}

#[cfg(target_os = "linux")]
fn descriptor_path(dir: &File) -> Option<PathBuf> {
    use std::os::fd::AsRawFd as _;

    let path = PathBuf::from(format!("/proc/self/fd/{}", dir.as_raw_fd()));
    path.is_dir().then_some(path)
}

#[cfg(not(target_os = "linux"))]
fn descriptor_path(_dir: &File) -> Option<PathBuf> {
    None
}

/// Opens a directory as a stream of its entries.
pub(super) fn entries_of(dir: &File) -> io::Result<Dir> {
    // A new descriptor: duplicates share the read position.
    Ok(Dir::openat(dir, ".", DIR | OFlag::O_CLOEXEC, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// Creates a root with `real/file`, a link `link` to `real`, and a link `out` to a directory next to the
    /// root.
    fn dirs() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::TempDir::new().unwrap();
        let root = dir.path().canonicalize().unwrap().join("root");
        fs::create_dir_all(root.join("real")).unwrap();
        fs::create_dir(dir.path().join("outside")).unwrap();
        fs::write(root.join("real/file"), "x").unwrap();
        symlink("real", root.join("link")).unwrap();
        symlink("../outside", root.join("out")).unwrap();
        (dir, root)
    }

    #[test]
    fn open_link_in_path_is_refused_by_both_methods() {
        let (_dir, root) = dirs();
        let opened = File::open(&root).unwrap();
        for open in [open_at, open_step_by_step] {
            assert!(open(&opened, Path::new("real/file"), OFlag::O_RDONLY).is_ok());
            assert!(open(&opened, Path::new("real/missing"), OFlag::O_RDONLY).is_err());
            assert!(open(&opened, Path::new("link/file"), OFlag::O_RDONLY).is_err());
            assert!(open(&opened, Path::new("link"), OFlag::O_RDONLY).is_err());
            assert!(open(&opened, Path::new("real/../../outside"), DIR).is_err());
            assert!(open(&opened, Path::new("."), DIR).is_ok());
        }
    }

    #[test]
    fn open_root_that_became_a_link_is_refused() {
        let (dir, root) = dirs();
        let flags = DIR | OFlag::O_CLOEXEC;
        for path in [root.clone(), root.join("real")] {
            assert!(open_without_links(&path, flags).is_ok());
            assert!(open_if_resolved(&path, flags).is_ok());
        }
        fs::rename(&root, dir.path().join("moved")).unwrap();
        symlink("moved", &root).unwrap();
        for path in [root.clone(), root.join("real")] {
            assert!(open_without_links(&path, flags).is_err());
            assert!(open_if_resolved(&path, flags).is_err());
        }
        assert!(open(&root, Path::new("real/file")).is_err());
        assert!(open_dir(&root, Path::new("real")).is_err());
        assert!(make_dir(&root, Path::new("real/new")).is_err());
    }

    #[test]
    fn make_dir_creates_nothing_behind_a_link() {
        let (dir, root) = dirs();
        make_dir(&root, Path::new("real/a/b")).unwrap();
        assert!(root.join("real/a/b").is_dir());
        assert!(make_dir(&root, Path::new("out/a/b")).is_err());
        assert!(make_dir(&root, Path::new("real/file/a")).is_err());
        assert_eq!(fs::read_dir(dir.path().join("outside")).unwrap().count(), 0);
    }
}
