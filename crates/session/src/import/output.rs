//! Output of a conversion: a new file that appears atomically, or lines appended to an existing session.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tiller_core::id::EntryId;
use tiller_core::unit::UnixMs;

use super::entry_builder::{EncodedLine, EntryBuilder, ExistingSession, LineOutput, SessionEnd};
use super::warning::ImportWarnings;
use super::{Conversion, ImportMode, ImportPlan, ImportResult, ImportStatus, Importer, skip};
use crate::entry::{self, Entry, EntryBody, TillerEntry};
use crate::entry_kind::EntryKind;
use crate::error::{SessionError, dir_error, io_error};
use crate::id_gen::{IdGenerator, can_generate_after};
use crate::reader::Reader;
use crate::tree::TreeNode;

/// The reason for skipping a source without messages.
const NO_MESSAGES: &str = "no messages";

impl Importer<'_> {
    /// Creates the session, or appends its missing entries.
    pub(super) fn write_session(
        &self,
        conversion: &Conversion<'_>,
        target: &Path,
        notes: ImportWarnings,
        imported: &mut ImportResult,
    ) -> Result<(), SessionError> {
        let existing = if target.exists() {
            existing_session(&Reader::open(target)?, conversion.plan)?
        } else {
            ExistingSession::default()
        };
        let is_new = existing.end == SessionEnd::New;
        if is_new && self.mode == ImportMode::Write {
            return create_session(conversion, target, notes, imported);
        }
        let mut builder = EntryBuilder::new(&conversion.header.id, existing, LineOutput::CountOnly);
        let mut all_notes = notes.clone();
        conversion.run(&mut builder, &mut all_notes)?;
        imported.notes = all_notes.into_vec();
        imported.entries = builder.added();
        if builder.message_count() == 0 {
            return skip(imported, NO_MESSAGES);
        }
        imported.status = match (is_new, builder.added()) {
            (true, _) => ImportStatus::Imported,
            (false, 0) => ImportStatus::Unchanged,
            (false, _) => ImportStatus::Updated,
        };
        if imported.status == ImportStatus::Updated && self.mode == ImportMode::Write {
            self.append(conversion, target, notes, imported)?;
        }
        Ok(())
    }

    /// Appends missing entries, and moves the leaf back in a session that the user continued.
    fn append(
        &self,
        conversion: &Conversion<'_>,
        target: &Path,
        mut notes: ImportWarnings,
        imported: &mut ImportResult,
    ) -> Result<(), SessionError> {
        let mut writer = self.manager.open(target)?;
        let modified = modified_time(target);
        // Read again under the lock: another process may have appended entries since.
        let existing = existing_session(&writer.reader(), conversion.plan)?;
        let end = existing.end.clone();
        let mut builder = EntryBuilder::new(&conversion.header.id, existing, LineOutput::Memory(Vec::new()));
        conversion.run(&mut builder, &mut notes)?;
        let latest = system_time(builder.latest());
        let mut lines = builder.into_lines();
        imported.entries = lines.len();
        if lines.is_empty() {
            imported.status = ImportStatus::Unchanged;
            return Ok(());
        }
        if let SessionEnd::Continued { leaf } = &end {
            // In the same write, so that an interruption can't leave the leaf elsewhere.
            lines.push(self.restore_leaf_line(leaf, &writer.reader(), &lines));
            notes.add(1, "session continued here: new entries form a branch, your position is kept");
        }
        writer.append_raw_lines(&lines, self.now)?;
        imported.notes = notes.into_vec();
        let file = OpenOptions::new().append(true).open(target).map_err(io_error(target, "be synced"))?;
        // An import must not make a session the most recent one.
        set_modified(
            &file,
            if matches!(end, SessionEnd::Continued { .. }) { modified } else { Some(latest) },
        );
        file.sync_all().map_err(io_error(target, "be synced"))?;
        Ok(())
    }

    /// Returns a line that moves the leaf back to `leaf` after these lines.
    fn restore_leaf_line(&self, leaf: &EntryId, reader: &Reader, lines: &[EncodedLine]) -> EncodedLine {
        let added = lines.iter().map(|(id, _)| id).filter(|id| can_generate_after(id)).max();
        let greatest = reader.shared.index().greatest_id();
        let id = IdGenerator::after(greatest.as_ref().max(added)).entry(self.now);
        let (parent, body) = (Some(leaf.clone()), EntryBody::from_tiller(&TillerEntry::Leaf {}));
        let entry = Entry { id: id.clone(), parent, timestamp: self.now, body };
        (id, entry::encode(&entry).into_bytes())
    }
}

/// Reads the state of a session before an import.
fn existing_session(reader: &Reader, plan: &ImportPlan) -> Result<ExistingSession, SessionError> {
    let tree = reader.tree();
    let mut existing = ExistingSession::default();
    for node in tree.nodes() {
        *existing.ids.entry(node.id.clone()).or_insert(0) += 1;
    }
    existing.name = reader.name();
    let nodes = tree.nodes();
    let (Some(leaf), Some(mut at)) = (reader.leaf(), nodes.len().checked_sub(1)) else { return Ok(existing) };
    existing.end = if is_import(&reader.entry(&leaf)?.body) {
        while let Some(previous) = nodes[at].parent.filter(|_| is_import_trailer(reader, &nodes[at], plan)) {
            at = previous;
        }
        SessionEnd::Imported { base: Some(nodes[at].id.clone()), last: leaf }
    } else {
        SessionEnd::Continued { leaf }
    };
    Ok(existing)
}

/// Returns true for the entries that end an import: the name and the import entry.
fn is_import_trailer(reader: &Reader, node: &TreeNode, plan: &ImportPlan) -> bool {
    match node.kind {
        // In pi's logs a name is an ordinary entry, which may have children.
        EntryKind::SessionInfo => !matches!(plan, ImportPlan::Pi(_)),
        EntryKind::Custom => reader.entry(&node.id).is_ok_and(|entry| is_import(&entry.body)),
        _ => false,
    }
}

fn is_import(body: &EntryBody) -> bool {
    matches!(body.as_tiller(), Some(TillerEntry::Import { .. }))
}

/// Creates a session under a temporary name in its directory, then renames it.
fn create_session(
    conversion: &Conversion<'_>,
    target: &Path,
    mut notes: ImportWarnings,
    imported: &mut ImportResult,
) -> Result<(), SessionError> {
    let partial = PartialSession::create(target)?;
    let path = partial.path.clone();
    let mut file = BufWriter::with_capacity(1 << 18, &partial.file);
    let mut header = serde_json::to_vec(conversion.header).expect("a header has only string keys");
    header.push(b'\n');
    file.write_all(&header).map_err(io_error(&path, "be written"))?;
    let out = LineOutput::File(&mut file, &path);
    let mut builder = EntryBuilder::new(&conversion.header.id, ExistingSession::default(), out);
    conversion.run(&mut builder, &mut notes)?;
    let (message_count, added, latest) = (builder.message_count(), builder.added(), builder.latest());
    file.flush().map_err(io_error(&path, "be written"))?;
    drop(file);
    imported.notes = notes.into_vec();
    if message_count == 0 {
        return skip(imported, NO_MESSAGES);
    }
    partial.finish(target, latest)?;
    imported.entries = added;
    imported.status = ImportStatus::Imported;
    Ok(())
}

/// An incomplete session: a hidden file that lookups ignore. It is deleted on drop; if an import is killed,
/// the next one overwrites it.
struct PartialSession {
    path: PathBuf,
    file: File,
    is_finished: bool,
}

impl PartialSession {
    fn create(target: &Path) -> Result<Self, SessionError> {
        Self::create_with(target, |path| {
            OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)
        })
    }

    fn create_with(target: &Path, open: impl Fn(&Path) -> io::Result<File>) -> Result<Self, SessionError> {
        let dir = target.parent().unwrap_or(Path::new("."));
        let created = DirBuilder::new().recursive(true).mode(0o700).create(dir);
        created.map_err(dir_error(dir))?;
        let name = target.file_stem().unwrap_or_default().to_string_lossy();
        let path = dir.join(format!(".{name}.importing"));
        loop {
            let file = open(&path).map_err(io_error(&path, "be created"))?;
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => return Err(SessionError::Locked { path, holder: None }),
                // Without locks, the user must avoid concurrent imports.
                Ok(()) | Err(TryLockError::Error(_)) => {}
            }
            // Another import may have finished between opening and locking; then the locked file is its
            // session.
            if is_same_file(&file, &path)? {
                file.set_len(0).map_err(io_error(&path, "be emptied"))?;
                return Ok(Self { path, file, is_finished: false });
            }
        }
    }

    fn finish(mut self, target: &Path, latest: UnixMs) -> Result<(), SessionError> {
        set_modified(&self.file, Some(system_time(latest)));
        self.file.sync_all().map_err(io_error(&self.path, "be synced"))?;
        if target.exists() {
            return Err(SessionError::Locked { path: target.to_owned(), holder: None });
        }
        fs::rename(&self.path, target).map_err(io_error(&self.path, "be moved to its place"))?;
        self.is_finished = true;
        let dir = target.parent().unwrap_or(Path::new("."));
        // Some file systems can't sync directories; the session is complete anyway.
        if let Err(error) = File::open(dir).and_then(|dir| dir.sync_all()) {
            tracing::warn!(dir = %dir.display(), %error, "the directory could not be synced");
        }
        Ok(())
    }
}

impl Drop for PartialSession {
    fn drop(&mut self) {
        // After the rename, the name may belong to another import.
        if !self.is_finished {
            // If it can't be removed, the next import overwrites it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Returns true if an open file is the one at a path.
fn is_same_file(file: &File, path: &Path) -> Result<bool, SessionError> {
    let metadata = file.metadata().map_err(io_error(path, "be inspected"))?;
    match fs::symlink_metadata(path) {
        Ok(at_path) => Ok((metadata.dev(), metadata.ino()) == (at_path.dev(), at_path.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(io_error(path, "be inspected")(error)),
    }
}

fn modified_time(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

/// Sets the modification time. Lists are sorted by it, so an imported session gets the time of its last
/// entry.
fn set_modified(file: &File, time: Option<SystemTime>) {
    if let Some(time) = time
        && let Err(error) = file.set_modified(time)
    {
        tracing::warn!(%error, "an imported session's time could not be set");
    }
}

fn system_time(at: UnixMs) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(at.0).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn open(path: &Path) -> io::Result<File> {
        OpenOptions::new().write(true).create(true).truncate(false).open(path)
    }

    #[test]
    fn partial_session_finished_elsewhere_is_not_truncated() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("a.jsonl");
        let is_first = Cell::new(true);
        let partial = PartialSession::create_with(&target, |path| {
            let file = open(path)?;
            if is_first.take() {
                fs::write(path, "all of it\n")?;
                fs::rename(path, &target)?;
            }
            Ok(file)
        })
        .unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "all of it\n");
        assert!(is_same_file(&partial.file, &partial.path).unwrap());
        assert!(partial.finish(&target, UnixMs(0)).is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
