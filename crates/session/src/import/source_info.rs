//! Metadata of a source.

use tiller_core::unit::UnixMs;

use super::detect::SourceFormat;

#[derive(Clone, Debug)]
pub(super) struct SourceInfo {
    pub(super) origin: SourceFormat,
    /// The session's id in the program that wrote it.
    pub(super) session: String,
    /// The program's version.
    pub(super) version: Option<String>,
    pub(super) cwd: String,
    pub(super) start: UnixMs,
}
