//! Resolution of links in paths that need not exist.

use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use super::error::WorkspaceError;

/// Resolves all links in the existing part of `path`, like the system.
pub(super) fn resolve_links(root: &Path, path: &Path) -> Result<PathBuf, WorkspaceError> {
    let mut real = root.to_owned();
    for component in path.components() {
        match component {
            Component::RootDir => real = PathBuf::from("/"),
            Component::ParentDir => {
                real.pop();
            }
            Component::Normal(name) => real = resolve_component(&real, Path::new(name))?,
            Component::CurDir | Component::Prefix(_) => {}
        }
    }
    Ok(real)
}

fn resolve_component(from: &Path, name: &Path) -> Result<PathBuf, WorkspaceError> {
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
