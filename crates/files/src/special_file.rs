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

/// Files that git opens in the directory that all working trees share, for every command.
const COMMON_FILES: [&str; 7] =
    ["HEAD", "commondir", "config", "index", "info/attributes", "info/exclude", "packed-refs"];

/// Finds a pipe or device in a repository's `.git`, or in place of a `.gitignore`, `.gitattributes` or `.mailmap`.
/// The files that git always opens are checked first; subdirectories that git doesn't ignore, and the rest of `.git`
/// without its objects, until `deadline`.
#[must_use]
pub fn find_special_file(dot_git: &Path, deadline: Instant) -> Option<PathBuf> {
    let files =
        |dir: &Path, names: &[&str]| -> Vec<PathBuf> { names.iter().map(|name| dir.join(name)).collect() };
    let top = dot_git.parent()?;
    let common = git::common_dir(dot_git);
    let in_common = common.iter().flat_map(|dir| files(dir, &COMMON_FILES));
    let mut always = files(top, &TOP_FILES).into_iter().chain(in_common);
    let in_subdirectories = || {
        let entries = walk(open_dir(top).ok()?, top, WalkOptions::default());
        let entries = entries.take_while(|_| Instant::now() < deadline);
        let dirs = entries.filter(|entry| entry.kind == WalkEntryKind::Directory);
        dirs.flat_map(|dir| files(&top.join(dir.relative_path), &DIR_FILES)).find(|path| is_special(path))
    };
    let in_repository = || find_in_repository(common.as_deref()?, deadline);
    always.find(|path| is_special(path)).or_else(in_subdirectories).or_else(in_repository)
}

/// Searches the directory of a repository, whose `.git` may name any other directory.
fn find_in_repository(dir: &Path, deadline: Instant) -> Option<PathBuf> {
    dir.join("HEAD").symlink_metadata().ok()?;
    let objects = dir.join("objects");
    let mut waiting = vec![dir.to_owned(), objects.join("info")];
    while let Some(dir) = waiting.pop() {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            if Instant::now() >= deadline {
                return None;
            }
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_file() => {}
                Ok(kind) if kind.is_dir() => waiting.extend(Some(path).filter(|path| *path != objects)),
                _ if is_special(&path) => return Some(path),
                _ => {}
            }
        }
    }
    None
}

/// Returns true for a pipe, a link to one, or a device. A link to `/dev/null` is usual.
fn is_special(path: &Path) -> bool {
    let is_device = |kind: fs::FileType| kind.is_char_device() || kind.is_block_device();
    path.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo())
        || path.symlink_metadata().is_ok_and(|metadata| is_device(metadata.file_type()))
}
