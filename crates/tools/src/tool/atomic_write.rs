//! Writing a file as a whole or not at all.

use std::fs::{self, Metadata, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};

use crate::workspace::{ResolvedPath, Workspace};

/// Most bytes of a file that is read as a whole, to show or to edit it. Larger ones are for grep and the shell.
const MAX_READ: u64 = 64 * 1024 * 1024;

/// A file as it is.
#[derive(Debug)]
pub(super) struct Content {
    pub bytes: Vec<u8>,
    pub metadata: Metadata,
}

/// Reads a file.
///
/// # Errors
/// A sentence for the model.
pub(super) fn read(workspace: &Workspace, resolved: &ResolvedPath) -> Result<Content, String> {
    let shown = resolved.shown();
    let mut file = workspace.open(resolved).map_err(|error| describe(shown, &error))?;
    let metadata = file.metadata().map_err(|error| describe(shown, &error))?;
    if metadata.is_dir() {
        return Err(format!("{shown} is a folder; list_files shows what is in it"));
    }
    if !metadata.is_file() {
        return Err(format!("{shown} is a device, pipe or socket, not a file"));
    }
    if metadata.len() > MAX_READ {
        let megabytes = metadata.len() / (1024 * 1024);
        return Err(format!(
            "{shown} has {megabytes} MiB, too much to read as a whole; use grep or bash (sed -n)"
        ));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| describe(shown, &error))?;
    Ok(Content { bytes, metadata })
}

/// An error of the file system as a sentence about the path.
pub(super) fn describe(shown: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("{shown} does not exist"),
        io::ErrorKind::PermissionDenied => format!("{shown}: permission denied"),
        // The latter from making folders where a file has the name of one.
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            format!("{shown}: a part of the path is a file, not a folder")
        }
        _ => format!("{shown}: {error}"),
    }
}

/// Puts `bytes` where the path leads: into a temporary file beside it, which then takes its name, so that whoever reads
/// meanwhile sees the old or the new and a crash leaves one of them. Mode and, if possible, owner stay those of `old`.
///
/// # Errors
/// A sentence for the model.
pub(super) fn write(
    workspace: &Workspace,
    resolved: &ResolvedPath,
    bytes: &[u8],
    old: Option<&Metadata>,
) -> Result<(), String> {
    let shown = resolved.shown();
    if old.is_some_and(|metadata| metadata.permissions().readonly()) {
        return Err(format!("{shown} is write-protected"));
    }
    let outcome = try_write(workspace, resolved, bytes, old);
    outcome.map_err(|error| describe(shown, &error))
}

fn try_write(
    workspace: &Workspace,
    resolved: &ResolvedPath,
    bytes: &[u8],
    old: Option<&Metadata>,
) -> io::Result<()> {
    let folder = workspace.folder_of(resolved)?;
    let mut file = tempfile::Builder::new()
        .prefix(".tiller-")
        // As any new file: what the umask leaves of it.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder.path())?;
    file.write_all(bytes)?;
    if let Some(metadata) = old {
        let own = file.as_file().metadata()?;
        if (own.uid(), own.gid()) != (metadata.uid(), metadata.gid()) {
            // Only root may; everybody else goes on as the owner.
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
