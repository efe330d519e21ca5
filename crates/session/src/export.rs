//! Taking a session out of its folder: its lines as they stand, or its words as Markdown.
//!
//! Lines are copied as bytes, so types and keys that tiller doesn't know come along. Pages for a browser are made by `html`.

mod transcript;

use std::io::{self, Write};

use tiller_core::id::EntryId;
use tiller_core::unit::UnixMs;
use tiller_files as files;

use super::entry::{Header, HeaderKind, VERSION, whole_path};
use super::error::SessionError;
use super::id_gen::IdGenerator;
use super::log::io_error;
use super::reader::Reader;

pub use transcript::{part, transcript};

/// Bytes that are copied at a time.
const CHUNK: u64 = 1 << 20;

/// Why a session could not be taken out.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The log can't be read.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// What it is written to said no.
    #[error("can't write what is exported")]
    Write(#[from] io::Error),
}

/// Writes the whole log, all branches, byte for byte.
///
/// # Errors
/// When the log can't be read or `out` not be written.
pub fn whole(reader: &Reader, out: &mut dyn Write) -> Result<(), ExportError> {
    if let Some(path) = reader.path().filter(|_| reader.header().version < VERSION) {
        // In memory it is of the present version already.
        let mut file = files::open(path).map_err(io_error(path, "be opened"))?;
        return Ok(io::copy(&mut file, out).map(drop)?);
    }
    let (log, mut at) = (&reader.shared.log, 0);
    let end = log.length()?;
    while at < end {
        let count = (end - at).min(CHUNK);
        out.write_all(&log.read_at(at, usize::try_from(count).unwrap_or(usize::MAX))?)?;
        at += count;
    }
    Ok(())
}

/// Writes a log of its own: a new header that names this one as its parent, and the lines of the path to `leaf`, byte for
/// byte; without a leaf the header alone.
///
/// # Errors
/// When there is no such entry, the log can't be read or `out` not be written.
pub fn branch(
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
        parent_session: reader.path().map(whole_path),
    };
    serde_json::to_writer(&mut *out, &header).map_err(io::Error::from)?;
    out.write_all(b"\n")?;
    Ok(out.write_all(&lines)?)
}
