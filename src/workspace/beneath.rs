//! Opening what lies beneath a folder without following a link on the way.
//!
//! Linux does it in one call, openat2(2) with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS (since 5.6, 2020). Elsewhere, and
//! where a sandbox forbids that call, the file is opened first and its way looked at again after.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;

/// Opens a file for reading.
pub(super) fn open(root: &Path, below: &Path) -> io::Result<File> {
    open_with(root, below, OFlag::O_RDONLY)
}

/// Opens a folder, and gives a path to it that survives its renaming where there is such a thing.
pub(super) fn open_folder(root: &Path, below: &Path) -> io::Result<(File, PathBuf)> {
    let folder = open_with(root, below, OFlag::O_RDONLY | OFlag::O_DIRECTORY)?;
    let path = path_of(&folder).unwrap_or_else(|| root.join(below));
    Ok((folder, path))
}

#[cfg(target_os = "linux")]
fn path_of(folder: &File) -> Option<PathBuf> {
    use std::os::fd::AsRawFd as _;

    let path = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    path.is_dir().then_some(path)
}

#[cfg(not(target_os = "linux"))]
fn path_of(_folder: &File) -> Option<PathBuf> {
    None
}

#[cfg(target_os = "linux")]
fn open_with(root: &Path, below: &Path, flags: OFlag) -> io::Result<File> {
    use nix::errno::Errno;
    use nix::fcntl::{OpenHow, ResolveFlag, openat2};

    let folder = File::open(root)?;
    let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
    let how = OpenHow::new()
        .flags(flags | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)
        .resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS);
    match openat2(&folder, below, how) {
        Ok(descriptor) => Ok(File::from(descriptor)),
        Err(Errno::ENOSYS | Errno::EPERM) => open_then_look(root, below, flags),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn open_with(root: &Path, below: &Path, flags: OFlag) -> io::Result<File> {
    open_then_look(root, below, flags)
}

fn open_then_look(root: &Path, below: &Path, flags: OFlag) -> io::Result<File> {
    let path = root.join(below);
    let flags = flags | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits()).open(&path)?;
    if path.canonicalize()? != path.components().collect::<PathBuf>() {
        return Err(io::Error::other("a folder on the way became a symbolic link"));
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn without_openat2_a_link_on_the_way_is_noticed_too() {
        let folder = tempfile::TempDir::new().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("real")).unwrap();
        fs::write(root.join("real/file"), "x").unwrap();
        std::os::unix::fs::symlink("real", root.join("link")).unwrap();
        assert!(open_then_look(&root, Path::new("real/file"), OFlag::O_RDONLY).is_ok());
        assert!(open_then_look(&root, Path::new("link/file"), OFlag::O_RDONLY).is_err());
        assert!(open_then_look(&root, Path::new(""), OFlag::O_RDONLY | OFlag::O_DIRECTORY).is_ok());
    }
}
