//! Pipes and devices at the paths of files that git opens: git would block on them.

use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::walk::{WalkEntryKind, WalkOptions, walk};
use super::{git, open_dir};

/// Files that git opens in the top directory of a working tree.
const TOP_FILES: [&str; 3] = [".gitattributes", ".gitignore", ".mailmap"];

/// Files that git opens in every directory of a working tree that isn't ignored.
const DIR_FILES: [&str; 2] = [".gitattributes", ".gitignore"];

/// Finds a special file in the repository of a `.git`, and among the files of its working tree that git reads as
/// settings. Directories that git doesn't ignore are checked until `deadline`.
#[must_use]
pub fn find_special_file(dot_git: &Path, deadline: Instant) -> Option<PathBuf> {
    let files =
        |dir: &Path, names: &[&str]| -> Vec<PathBuf> { names.iter().map(|name| dir.join(name)).collect() };
    let top = dot_git.parent()?;
    let in_top = files(top, &TOP_FILES).into_iter().find(|path| is_special(path));
    let in_repository = || find_below(&git::common_dir(dot_git)?, deadline);
    let in_subdirectories = || {
        let entries = walk(open_dir(top).ok()?, top, WalkOptions::default());
        let entries = entries.take_while(|_| Instant::now() < deadline);
        let dirs = entries.filter(|entry| entry.kind == WalkEntryKind::Directory);
        dirs.flat_map(|dir| files(&top.join(dir.relative_path), &DIR_FILES)).find(|path| is_special(path))
    };
    in_top.or_else(in_repository).or_else(in_subdirectories)
}

fn find_below(dir: &Path, deadline: Instant) -> Option<PathBuf> {
    let mut entries = fs::read_dir(dir).ok()?.flatten().take_while(|_| Instant::now() < deadline);
    entries.find_map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => find_below(&entry.path(), deadline),
        Ok(kind) if kind.is_file() => None,
        _ => Some(entry.path()).filter(|path| is_special(path)),
    })
}

/// Returns true for a pipe, a link to one, or a device. A link to `/dev/null` is usual.
fn is_special(path: &Path) -> bool {
    let is_device = |kind: fs::FileType| kind.is_char_device() || kind.is_block_device();
    path.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo())
        || path.symlink_metadata().is_ok_and(|metadata| is_device(metadata.file_type()))
}
