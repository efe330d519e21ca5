//! Pipes, devices and sockets at the paths of files that git opens: git would block on them.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::walk::{WalkEntryKind, WalkOptions, walk};
use super::{git, open_dir};

/// Files that git opens in the top directory of a working tree.
const TOP_FILES: [&str; 3] = [".gitattributes", ".gitignore", ".mailmap"];

/// Files that git opens in every directory of a working tree that isn't ignored.
const DIR_FILES: [&str; 2] = [".gitattributes", ".gitignore"];

/// Files that git opens in the directory that all working trees share.
const COMMON_FILES: [&str; 4] = ["HEAD", "config", "info/attributes", "info/exclude"];

/// Finds a special file in the working tree of a `.git`. Subdirectories that git doesn't ignore are checked
/// until `deadline`. Links aren't followed.
#[must_use]
pub fn find_special_file(dot_git: &Path, deadline: Instant) -> Option<PathBuf> {
    let files =
        |dir: &Path, names: &[&str]| -> Vec<PathBuf> { names.iter().map(|name| dir.join(name)).collect() };
    let top = dot_git.parent()?;
    let common = git::common_dir(dot_git).map(|dir| files(&dir, &COMMON_FILES));
    let always = files(top, &TOP_FILES).into_iter().chain(common.into_iter().flatten());
    let in_subdirectories = || {
        let entries = walk(open_dir(top).ok()?, top, WalkOptions::default());
        let entries = entries.take_while(|_| Instant::now() < deadline);
        let dirs = entries.filter(|entry| entry.kind == WalkEntryKind::Directory);
        dirs.flat_map(|dir| files(&top.join(dir.relative_path), &DIR_FILES)).find(|path| is_special(path))
    };
    always.into_iter().find(|path| is_special(path)).or_else(in_subdirectories)
}

fn is_special(path: &Path) -> bool {
    let kind = path.symlink_metadata().map(|metadata| metadata.file_type());
    kind.is_ok_and(|kind| !kind.is_file() && !kind.is_dir() && !kind.is_symlink())
}
