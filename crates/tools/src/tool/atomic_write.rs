//! Whole-file reads, and atomic writes.

use std::fs::{self, Metadata, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};

use crate::workspace::{ResolvedPath, Workspace};

/// Maximum size of a file that is read as a whole, in bytes. Larger files are for grep and the shell.
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
    let mut file = workspace.open(resolved).map_err(|error| describe(display_path, &error))?;
    let metadata = file.metadata().map_err(|error| describe(display_path, &error))?;
    if metadata.is_dir() {
        return Err(format!("{display_path} is a folder; list_files shows what is in it"));
    }
    if !metadata.is_file() {
        return Err(format!("{display_path} is a device, pipe or socket, not a file"));
    }
    if metadata.len() > MAX_READ {
        let megabytes = metadata.len() / (1024 * 1024);
        return Err(format!(
            "{display_path} has {megabytes} MiB, too much to read as a whole; use grep or bash (sed -n)"
        ));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| describe(display_path, &error))?;
    Ok(FileContent { bytes, metadata })
}

/// Describes an error of the file system as a sentence about the path.
pub(super) fn describe(display_path: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("{display_path} does not exist"),
        io::ErrorKind::PermissionDenied => format!("{display_path}: permission denied"),
        // `AlreadyExists` comes from creating folders where a file has the name of one.
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            format!("{display_path}: a part of the path is a file, not a folder")
        }
        _ => format!("{display_path}: {error}"),
    }
}

/// Writes a file atomically: into a temporary file in the same folder, which is then renamed, so that concurrent
/// readers see the old or the new content and a crash leaves one of them. Mode and, if possible, owner stay those of
/// `old`.
///
/// # Errors
/// A sentence for the model.
pub(super) fn write(
    workspace: &Workspace,
    resolved: &ResolvedPath,
    bytes: &[u8],
    old: Option<&Metadata>,
) -> Result<(), String> {
    let display_path = resolved.display_path();
    if old.is_some_and(|metadata| metadata.permissions().readonly()) {
        return Err(format!("{display_path} is write-protected"));
    }
    let outcome = try_write(workspace, resolved, bytes, old);
    outcome.map_err(|error| describe(display_path, &error))
}

fn try_write(
    workspace: &Workspace,
    resolved: &ResolvedPath,
    bytes: &[u8],
    old: Option<&Metadata>,
) -> io::Result<()> {
    let folder = workspace.open_parent_folder(resolved)?;
    let mut file = tempfile::Builder::new()
        .prefix(".tiller-")
        // The mode of any new file, less the umask.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder.path())?;
    file.write_all(bytes)?;
    if let Some(metadata) = old {
        let current = file.as_file().metadata()?;
        if (current.uid(), current.gid()) != (metadata.uid(), metadata.gid()) {
            // Only root may change the owner; other users continue as the owner.
            let _ = fchown(file.as_file(), Some(metadata.uid()), Some(metadata.gid()));
        }
        file.as_file().set_permissions(metadata.permissions())?;
    }
    let target = folder.file();
    if fs::symlink_metadata(&target).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(io::Error::other("not a file"));
    }
    file.persist(target)?;
    Ok(())
}
