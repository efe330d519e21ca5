//! Export of sessions: raw lines, or a Markdown transcript.
//!
//! Lines are copied as bytes, so unknown types and keys are included. HTML export is in the root package's
//! `html`.

mod markdown;

use std::io::{self, Write};

use tiller_core::id::EntryId;
use tiller_core::unit::UnixMs;
use tiller_files as files;

use super::entry::{Header, HeaderKind, VERSION, absolute_path};
use super::error::{SessionError, io_error};
use super::id_gen::IdGenerator;
use super::reader::Reader;

pub use markdown::{partial_transcript, transcript};

/// Bytes copied at a time.
const CHUNK: u64 = 1 << 20;

/// A failed export.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The log can't be read.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The output can't be written to.
    #[error("can't write the export")]
    Write(#[from] io::Error),
}

/// Writes the complete log with all branches, byte for byte.
///
/// # Errors
/// If the log can't be read or `out` can't be written to.
pub fn export_log(reader: &Reader, out: &mut dyn Write) -> Result<(), ExportError> {
    if let Some(path) = reader.path().filter(|_| reader.header().version < VERSION) {
        // A log in memory is already migrated.
        let mut file = files::open(path).map_err(io_error(path, "be opened"))?;
        return Ok(io::copy(&mut file, out).map(drop)?);
    }
    let (log, mut offset) = (&reader.shared.log, 0);
    let end = log.length()?;
    while offset < end {
        let count = (end - offset).min(CHUNK);
        out.write_all(&log.read_at(offset, usize::try_from(count).unwrap_or(usize::MAX))?)?;
        offset += count;
    }
    Ok(())
}

/// Writes a branch as a new log: a header with this log as its parent, and the lines of the path to `leaf`,
/// byte for byte; without a leaf the header alone.
///
/// # Errors
/// If there is no such entry, the log can't be read or `out` can't be written to.
pub fn export_branch(
    reader: &Reader,
    leaf: Option<&EntryId>,
    now: UnixMs,
    out: &mut dyn Write,
) -> Result<(), ExportError> {
    let lines = leaf.map(|leaf| reader.raw_path(leaf)).transpose()?.unwrap_or_default();
    let header = Header {
        kind: HeaderKind::Session,
        version: VERSION.max(reader.header().version),
        id: IdGenerator::after(leaf).session(now),
        timestamp: now.to_iso(),
        cwd: reader.header().cwd.clone(),
        parent_session: reader.path().map(absolute_path),
    };
    serde_json::to_writer(&mut *out, &header).map_err(io::Error::from)?;
    out.write_all(b"\n")?;
    Ok(out.write_all(&lines)?)
}
