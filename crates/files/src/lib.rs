//! Safe file access for all files that tiller reads on its own, such as configuration, ignore files,
//! instructions, logs and prompts.
//!
//! A path may come from a cloned repository, so it may lead to a pipe, a device, a link out of the project or
//! a file of gigabytes. The functions open without blocking, check the opened descriptor, and read up to a
//! limit:
//!
//! - [`open`] and [`read`] for paths that the user chose: links are followed, the target must be a regular
//!   file.
//! - `read_within` for files of a project: links may not lead out of its root.
//! - [`read_stream`] for arguments such as `@FILE`, where a shell's `<(command)` gives a pipe.
//! - [`open_dir`] for directories that the user named.
//! - [`create_private`] for output files that the user named.
//! - [`walk`] lists a directory as git sees it, [`git`] finds the files of a repository,
//!   [`find_special_file`] finds pipes that git would block on, [`open_beneath`] opens inside a directory
//!   without following links.
//!
//! `tests/library/edges.rs` fails when other code opens such files directly.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use nix::sys::stat::FileStat;

pub use special_file::find_special_file;

pub mod git;
pub mod open_beneath;
pub mod search_path;
mod special_file;
pub mod walk;
pub mod web_page;

/// Maximum size of a configuration or ignore file, in bytes.
pub const CONFIG_LIMIT: u64 = 1024 * 1024;

/// A file's identity on this machine, independent of its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl From<&Metadata> for FileId {
    fn from(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

impl From<&FileStat> for FileId {
    fn from(stat: &FileStat) -> Self {
        // The types differ between systems; on macOS a device is an i32.
        #[allow(clippy::unnecessary_cast, clippy::cast_sign_loss, reason = "needed elsewhere")]
        Self { device: stat.st_dev as u64, inode: stat.st_ino as u64 }
    }
}

/// Opens a regular file for reading. Links are followed; pipes and devices are refused without blocking.
///
/// # Errors
/// If it can't be opened, or isn't a regular file.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(path, OpenOptions::new().read(true))
}

/// Opens a regular file with these options, without blocking on a pipe.
///
/// # Errors
/// If it can't be opened, or isn't a regular file.
pub fn open_with(path: &Path, options: &OpenOptions) -> io::Result<File> {
    // Opening some devices has an effect, so the type is checked first; the check of the descriptor is
    // decisive.
    require_regular(&path.metadata()?)?;
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let file = options.clone().custom_flags(flags.bits()).open(path)?;
    require_regular(&file.metadata()?)?;
    Ok(file)
}

/// Opens a directory that the user specified, for a walk. Links are followed.
///
/// # Errors
/// If it can't be opened, or isn't a directory.
pub fn open_dir(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(OFlag::O_DIRECTORY.bits()).open(path)
}

/// Reads a regular file of at most `limit` bytes. Links are followed.
///
/// # Errors
/// If it can't be read, isn't a regular file, or is larger.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    if is_null_device(path) {
        return Ok(Vec::new());
    }
    read_limited(open(path)?, limit)
}

/// Reads a regular UTF-8 file of at most `limit` bytes. Links are followed.
///
/// # Errors
/// Returns the same errors as [`read`], and one if it isn't UTF-8.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    into_text(read(path, limit)?)
}

/// Opens a regular file whose real path lies inside `root`.
///
/// # Errors
/// Returns the same errors as [`open`], and one if a link leads out of `root`.
pub fn open_within(root: &Path, path: &Path) -> io::Result<File> {
    let root = root.canonicalize()?;
    let real = path.canonicalize()?;
    let below = real.strip_prefix(&root).map_err(|_| io::Error::other(OUTSIDE))?;
    let file = open_beneath::open(&root, below)?;
    require_regular(&file.metadata()?)?;
    Ok(file)
}

/// The error for a link that leads out of the project.
pub const OUTSIDE: &str = "it lies outside the project";

/// Reads a regular file of at most `limit` bytes whose real path lies inside `root`.
///
/// # Errors
/// Returns the same errors as [`read`], and one if a link leads out of `root`.
pub(crate) fn read_within(root: &Path, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_limited(open_within(root, path)?, limit)
}

/// Reads a regular UTF-8 file of at most `limit` bytes whose real path lies inside `root`.
///
/// # Errors
/// As `read_within`, and if it isn't UTF-8.
pub fn read_text_within(root: &Path, path: &Path, limit: u64) -> io::Result<String> {
    into_text(read_within(root, path, limit)?)
}

/// Reads UTF-8 text of at most `limit` bytes from a regular file or a pipe that the user named; a pipe may
/// block until its writer has finished.
///
/// # Errors
/// If it can't be read, is a device, directory or socket, is larger, or isn't UTF-8.
pub fn read_stream(path: &Path, limit: u64) -> io::Result<String> {
    if !path.metadata()?.file_type().is_fifo() {
        return read_text(path, limit);
    }
    into_text(read_limited(OpenOptions::new().read(true).open(path)?, limit)?)
}

/// Checks for `/dev/null`, which users pass for an empty file.
fn is_null_device(path: &Path) -> bool {
    let device =
        |path: &Path| path.metadata().ok().filter(|it| it.file_type().is_char_device()).map(|it| it.rdev());
    device(path).is_some_and(|device_id| device(Path::new("/dev/null")) == Some(device_id))
}

/// Reads the rest of an open file, at most `limit` bytes.
///
/// # Errors
/// If it can't be read or is larger.
pub(crate) fn read_limited(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    if length > limit {
        return Err(too_large(limit));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(too_large(limit)) } else { Ok(bytes) }
}

/// Lists the entries of tiller's own directories and of `extensions` in them; unreadable directories count as
/// empty.
pub fn list_own_entries(dirs: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    let dirs = dirs.iter().flat_map(|dir| [dir.clone(), dir.join("extensions")]);
    dirs.flat_map(|dir| fs::read_dir(dir).into_iter().flatten().flatten()).map(|entry| entry.path())
}

/// Returns the real path of a link's target; `None` for any other file.
#[must_use]
pub fn link_target(path: &Path) -> Option<PathBuf> {
    path.is_symlink().then(|| path.canonicalize().ok()).flatten()
}

/// Creates a directory and its missing parents, accessible by the user only, regardless of the umask.
///
/// # Errors
/// If it can't be created.
pub fn make_private_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Creates or truncates a file that the user specified, accessible by the user only, regardless of the umask.
/// Links are followed; pipes and devices are refused.
///
/// # Errors
/// If it can't be created or truncated, or isn't a regular file.
pub fn create_private(path: &Path) -> io::Result<File> {
    match path.metadata() {
        Ok(metadata) => require_regular(&metadata)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    // Truncated only after it is known to be a regular file, and private.
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600).custom_flags(flags.bits());
    let file = options.open(path)?;
    require_regular(&file.metadata()?)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.set_len(0)?;
    Ok(file)
}

/// Opens or creates an empty file that is only locked. A link isn't followed, so that no file is created
/// elsewhere.
///
/// # Errors
/// If it can't be opened or created.
pub fn open_lock(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags.bits()).open(path)
}

/// Removes all permissions of other users from a file or directory of tiller's own.
///
/// # Errors
/// If its permissions can't be read or set.
pub fn make_private(path: &Path) -> io::Result<()> {
    let permissions = path.metadata()?.permissions();
    let mode = permissions.mode() & 0o700;
    if permissions.mode() & 0o077 == 0 {
        Ok(())
    } else {
        fs::set_permissions(path, Permissions::from_mode(mode))
    }
}

fn into_text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not UTF-8 text"))
}

fn require_regular(metadata: &Metadata) -> io::Result<()> {
    let kind = metadata.file_type();
    let name = match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => return Err(io::Error::from(io::ErrorKind::IsADirectory)),
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    };
    Err(io::Error::other(format!("{name}, not a regular file")))
}

fn too_large(limit: u64) -> io::Error {
    let limit = match limit / (1024 * 1024) {
        0 => format!("{} KiB", limit / 1024),
        mebibytes => format!("{mebibytes} MiB"),
    };
    io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than the limit of {limit}"))
}

#[cfg(test)]
mod tests;
