//! Brings a conversion into its session: a new file that appears whole, or lines after those that are there.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tiller_core::id::EntryId;
use tiller_core::unit::UnixMs;

use super::entry_builder::{Known, Out, Sink, Tip, Written};
use super::warning::ImportWarnings;
use super::{Conversion, ImportMode, ImportStatus, Imported, Importer, Plan, skip};
use crate::entry::{self, Entry, EntryBody, TillerEntry};
use crate::error::SessionError;
use crate::id_gen::{IdGenerator, can_go_on_after};
use crate::index::EntryKind;
use crate::log::io_error;
use crate::reader::Reader;
use crate::tree::TreeNode;

/// Why a source with nothing in it is skipped.
const SILENT: &str = "nothing was said in it";

impl Importer<'_> {
    /// Makes the session, or appends to it what it lacks.
    pub(super) fn bring(
        &self,
        conversion: &Conversion<'_>,
        target: &Path,
        notes: ImportWarnings,
        imported: &mut Imported,
    ) -> Result<(), SessionError> {
        let known =
            if target.exists() { known(&Reader::open(target)?, conversion.plan)? } else { Known::default() };
        let is_new = known.tip == Tip::New;
        if is_new && self.mode == ImportMode::Write {
            return make(conversion, target, notes, imported);
        }
        let mut sink = Sink::new(&conversion.header.id, known, Out::Counted);
        let mut all_notes = notes.clone();
        conversion.run(&mut sink, &mut all_notes)?;
        imported.notes = all_notes.into_vec();
        imported.entries = sink.added();
        if sink.said() == 0 {
            return skip(imported, SILENT);
        }
        imported.status = match (is_new, sink.added()) {
            (true, _) => ImportStatus::Imported,
            (false, 0) => ImportStatus::Unchanged,
            (false, _) => ImportStatus::Updated,
        };
        if imported.status == ImportStatus::Updated && self.mode == ImportMode::Write {
            self.append(conversion, target, notes, imported)?;
        }
        Ok(())
    }

    /// Appends what the session lacks, and brings the leaf back to where somebody who went on with it left it.
    fn append(
        &self,
        conversion: &Conversion<'_>,
        target: &Path,
        mut notes: ImportWarnings,
        imported: &mut Imported,
    ) -> Result<(), SessionError> {
        let mut writer = self.manager.open(target)?;
        let before = modified(target);
        // Read under the lock: somebody may have appended since the lines were counted.
        let known = known(&writer.reader(), conversion.plan)?;
        let tip = known.tip.clone();
        let mut sink = Sink::new(&conversion.header.id, known, Out::Kept(Vec::new()));
        conversion.run(&mut sink, &mut notes)?;
        let latest = moment(sink.latest());
        let mut lines = sink.into_lines();
        imported.entries = lines.len();
        if lines.is_empty() {
            imported.status = ImportStatus::Unchanged;
            return Ok(());
        }
        if let Tip::GoneOn { leaf } = &tip {
            // In the same write: whoever is stopped in between must not find the leaf elsewhere.
            lines.push(self.way_back(leaf, &writer.reader(), &lines));
            notes.add(1, "sessions gone on with here: what is new is a branch, your place is kept");
        }
        writer.copy_in(&lines, self.now)?;
        imported.notes = notes.into_vec();
        let file = OpenOptions::new().append(true).open(target).map_err(io_error(target, "be synced"))?;
        // Neither program's sessions become the most recent by being imported.
        set_modified(&file, if matches!(tip, Tip::GoneOn { .. }) { before } else { Some(latest) });
        file.sync_all().map_err(io_error(target, "be synced"))?;
        Ok(())
    }

    /// The line that makes `leaf` the leaf again behind these.
    fn way_back(&self, leaf: &EntryId, reader: &Reader, lines: &[Written]) -> Written {
        let added = lines.iter().map(|(id, _)| id).filter(|id| can_go_on_after(id)).max();
        let greatest = reader.shared.index().greatest_id();
        let id = IdGenerator::after(greatest.as_ref().max(added)).entry(self.now);
        let (parent, body) = (Some(leaf.clone()), EntryBody::own(&TillerEntry::Leaf {}));
        let entry = Entry { id: id.clone(), parent, timestamp: self.now, body };
        (id, entry::encode(&entry).into_bytes())
    }
}

/// What a session has already.
fn known(reader: &Reader, plan: &Plan) -> Result<Known, SessionError> {
    let tree = reader.tree();
    let mut known = Known::default();
    for node in tree.nodes() {
        *known.ids.entry(node.id.clone()).or_insert(0) += 1;
    }
    known.name = reader.name();
    let nodes = tree.nodes();
    let (Some(leaf), Some(mut at)) = (reader.leaf(), nodes.len().checked_sub(1)) else { return Ok(known) };
    known.tip = if is_import(&reader.entry(&leaf)?.body) {
        while let Some(before) = nodes[at].parent.filter(|_| is_about_the_whole(reader, &nodes[at], plan)) {
            at = before;
        }
        Tip::Imported { base: Some(nodes[at].id.clone()), last: leaf }
    } else {
        Tip::GoneOn { leaf }
    };
    Ok(known)
}

/// Whether an entry is a name or an origin: what an import ends with.
fn is_about_the_whole(reader: &Reader, node: &TreeNode, plan: &Plan) -> bool {
    match node.kind {
        // Names in pi's logs are lines of their own, which others follow.
        EntryKind::SessionInfo => !matches!(plan, Plan::Pi(_)),
        EntryKind::Custom => reader.entry(&node.id).is_ok_and(|entry| is_import(&entry.body)),
        _ => false,
    }
}

fn is_import(body: &EntryBody) -> bool {
    matches!(body.as_own(), Some(TillerEntry::Import { .. }))
}

/// Makes a session: beside its place under another name, then moved there whole.
fn make(
    conversion: &Conversion<'_>,
    target: &Path,
    mut notes: ImportWarnings,
    imported: &mut Imported,
) -> Result<(), SessionError> {
    let unfinished = Unfinished::begin(target)?;
    let path = unfinished.path.clone();
    let mut file = BufWriter::with_capacity(1 << 18, &unfinished.file);
    let mut header = serde_json::to_vec(conversion.header).expect("a header has only string keys");
    header.push(b'\n');
    file.write_all(&header).map_err(io_error(&path, "be written"))?;
    let out = Out::File(&mut file, &path);
    let mut sink = Sink::new(&conversion.header.id, Known::default(), out);
    conversion.run(&mut sink, &mut notes)?;
    let (said, added, latest) = (sink.said(), sink.added(), sink.latest());
    file.flush().map_err(io_error(&path, "be written"))?;
    drop(file);
    imported.notes = notes.into_vec();
    if said == 0 {
        return skip(imported, SILENT);
    }
    unfinished.finish(target, latest)?;
    imported.entries = added;
    imported.status = ImportStatus::Imported;
    Ok(())
}

/// A session that isn't whole yet: a hidden file that no look-up takes for one. It goes away when it is dropped; one that
/// a killed import left is written over by the next.
struct Unfinished {
    path: PathBuf,
    file: File,
    is_finished: bool,
}

impl Unfinished {
    fn begin(target: &Path) -> Result<Self, SessionError> {
        Self::begin_with(target, |path| {
            OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)
        })
    }

    fn begin_with(target: &Path, open: impl Fn(&Path) -> io::Result<File>) -> Result<Self, SessionError> {
        let folder = target.parent().unwrap_or(Path::new("."));
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(io_error(folder, "be made as a folder"))?;
        let name = target.file_stem().unwrap_or_default().to_string_lossy();
        let path = folder.join(format!(".{name}.importing"));
        loop {
            let file = open(&path).map_err(io_error(&path, "be made"))?;
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => return Err(SessionError::Held { path, holder: None }),
                // Without locks two imports at a time are the user's to avoid.
                Ok(()) | Err(TryLockError::Error(_)) => {}
            }
            // Between opening and locking, another import may have finished: what is locked is its session then.
            if is_at(&file, &path)? {
                file.set_len(0).map_err(io_error(&path, "be emptied"))?;
                return Ok(Self { path, file, is_finished: false });
            }
        }
    }

    fn finish(mut self, target: &Path, latest: UnixMs) -> Result<(), SessionError> {
        set_modified(&self.file, Some(moment(latest)));
        self.file.sync_all().map_err(io_error(&self.path, "be synced"))?;
        if target.exists() {
            return Err(SessionError::Held { path: target.to_owned(), holder: None });
        }
        fs::rename(&self.path, target).map_err(io_error(&self.path, "be moved to its place"))?;
        self.is_finished = true;
        let folder = target.parent().unwrap_or(Path::new("."));
        // Some filesystems don't sync folders; the session is whole all the same.
        if let Err(error) = File::open(folder).and_then(|folder| folder.sync_all()) {
            tracing::warn!(folder = %folder.display(), %error, "the folder could not be synced");
        }
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // What has its name when it is finished is another import's.
        if !self.is_finished {
            // What can't be removed is written over by the next.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whether an open file is the one that stands at a path.
fn is_at(file: &File, path: &Path) -> Result<bool, SessionError> {
    let facts = file.metadata().map_err(io_error(path, "be looked at"))?;
    match fs::symlink_metadata(path) {
        Ok(there) => Ok((facts.dev(), facts.ino()) == (there.dev(), there.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(io_error(path, "be looked at")(error)),
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|facts| facts.modified()).ok()
}

/// Lists go by the time of the last change, so an imported session gets that of its last entry.
fn set_modified(file: &File, moment: Option<SystemTime>) {
    if let Some(moment) = moment
        && let Err(error) = file.set_modified(moment)
    {
        tracing::warn!(%error, "an imported session's time could not be set");
    }
}

fn moment(at: UnixMs) -> SystemTime {
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
    fn a_session_that_another_import_finished_before_it_was_locked_is_not_emptied() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a.jsonl");
        let others = Cell::new(true);
        let unfinished = Unfinished::begin_with(&target, |path| {
            let file = open(path)?;
            if others.take() {
                fs::write(path, "all of it\n")?;
                fs::rename(path, &target)?;
            }
            Ok(file)
        })
        .unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "all of it\n");
        assert!(is_at(&unfinished.file, &unfinished.path).unwrap());
        assert!(unfinished.finish(&target, UnixMs(0)).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
