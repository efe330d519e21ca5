//! Reading of whole files, and atomic writes.

use std::fs::{self, Metadata, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};

use nix::errno::Errno;

use crate::workspace::{ParentDir, ResolvedPath, Workspace};

/// Maximum bytes of a file that is read as a whole. Larger files can be read with grep and the shell.
const MAX_READ: u64 = 64 * 1024 * 1024;

/// A file's content and metadata.
#[derive(Debug)]
pub(super) struct FileContent {
    pub bytes: Vec<u8>,
    pub metadata: Metadata,
}

/// Reads a file.
///
/// # Errors
/// A sentence for the model.
pub(super) fn read(workspace: &Workspace, resolved: &ResolvedPath) -> Result<FileContent, String> {
    let display_path = resolved.display_path();
    let file = workspace.open(resolved).map_err(|error| describe(display_path, &error))?;
    let metadata = file.metadata().map_err(|error| describe(display_path, &error))?;
    if metadata.is_dir() {
        return Err(format!("{display_path} is a directory; list_files shows what is in it"));
    }
    if !metadata.is_file() {
        return Err(not_a_file(display_path));
    }
    if metadata.len() > MAX_READ {
        return Err(too_large(display_path));
    }
    let bytes = read_whole(file, display_path)?;
    Ok(FileContent { bytes, metadata })
}

/// Reads to the end. The checked size may be wrong: a file may grow, and files in `/proc` have no size.
fn read_whole(file: impl io::Read, display_path: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = file.take(MAX_READ + 1).read_to_end(&mut bytes);
    read.map_err(|error| describe(display_path, &error))?;
    if bytes.len() as u64 > MAX_READ { Err(too_large(display_path)) } else { Ok(bytes) }
}

fn not_a_file(display_path: &str) -> String {
    format!("{display_path} is a device, pipe or socket, not a file")
}

fn too_large(display_path: &str) -> String {
    let megabytes = MAX_READ / (1024 * 1024);
    format!(
        "{display_path} is larger than {megabytes} MiB, too large to read at once; use grep or bash (sed -n)"
    )
}

/// Describes a file system error as a sentence about the path.
pub(super) fn describe(display_path: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("{display_path} does not exist"),
        io::ErrorKind::PermissionDenied => format!("{display_path}: permission denied"),
        // A socket can't be opened.
        _ if error.raw_os_error() == Some(Errno::ENXIO as i32) => not_a_file(display_path),
        // `AlreadyExists` results from creating directories if a file has the name of one.
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            format!("{display_path}: a part of the path is a file, not a directory")
        }
        _ => format!("{display_path}: {error}"),
    }
}

/// A file to write, in a directory that no other writer changes in the meantime.
pub(super) struct WriteTarget<'a> {
    resolved: &'a ResolvedPath,
    dir: ParentDir,
}

impl<'a> WriteTarget<'a> {
    /// Opens the directory, creating missing ones, and waits for other writers in it.
    ///
    /// # Errors
    /// A sentence for the model.
    pub(super) fn open(workspace: &Workspace, resolved: &'a ResolvedPath) -> Result<Self, String> {
        let dir = workspace.open_parent_dir(resolved);
        let dir = dir.map_err(|error| describe(resolved.display_path(), &error))?;
        dir.lock();
        Ok(Self { resolved, dir })
    }

    /// Writes the file atomically: into a temporary file in the same directory, which is then renamed, so
    /// that concurrent readers see the old or the new content and a crash leaves one of them. Keeps the mode
    /// and, if possible, the owner of `old`.
    ///
    /// # Errors
    /// A sentence for the model.
    pub(super) fn write(&self, bytes: &[u8], old: Option<&Metadata>) -> Result<(), String> {
        let display_path = self.resolved.display_path();
        if old.is_some_and(|metadata| metadata.permissions().readonly()) {
            return Err(format!("{display_path} is write-protected"));
        }
        self.try_write(bytes, old).map_err(|error| describe(display_path, &error))
    }

    fn try_write(&self, bytes: &[u8], old: Option<&Metadata>) -> io::Result<()> {
        let mut file = tempfile::Builder::new()
            .prefix(".tiller-")
            // The mode of any new file, reduced by the umask.
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(self.dir.path())?;
        file.write_all(bytes)?;
        if let Some(metadata) = old {
            let current = file.as_file().metadata()?;
            if (current.uid(), current.gid()) != (metadata.uid(), metadata.gid()) {
                // Only root may change the owner; other users continue as the owner.
                let _ = fchown(file.as_file(), Some(metadata.uid()), Some(metadata.gid()));
            }
            // Without set-user-ID and set-group-ID, which writing to the old file would also clear.
            file.as_file().set_permissions(Permissions::from_mode(metadata.mode() & 0o1777))?;
        }
        let target = self.dir.file();
        if fs::symlink_metadata(&target).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(io::Error::other("not a file"));
        }
        file.persist(target)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_whole_file_without_end_is_refused() {
        let error = read_whole(io::repeat(b'x'), "endless").unwrap_err();
        assert_eq!(
            error,
            "endless is larger than 64 MiB, too large to read at once; use grep or bash (sed -n)"
        );
        assert_eq!(read_whole(&b"text"[..], "a").unwrap(), b"text");
    }
}
