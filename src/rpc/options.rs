//! Options of the RPC front end, and its error.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use crate::agent::RuleStore;
use crate::session::Reader;

/// Data and services for a client, besides the session.
#[derive(Clone, Default)]
pub struct RpcOptions {
    /// The result of `get_settings`: every setting with its value and source.
    pub settings: Value,
    /// The service behind `export_html`; without it, the command fails.
    pub exporter: Option<RpcExporter>,
    /// Saves rules for `approve` with `always`, which fails without it.
    pub rules: Option<RuleStore>,
}

/// A function that writes a session to a file. Injected, because another front end renders the pages.
#[derive(Clone)]
pub struct RpcExporter(Arc<Export>);

/// Takes a session, the working directory and an optional file name; returns the path of the new file, or an
/// error text.
type Export = dyn Fn(&Reader, &Path, Option<&str>) -> Result<PathBuf, String> + Send + Sync;

impl RpcExporter {
    /// Uses this function to export.
    pub fn new(
        export: impl Fn(&Reader, &Path, Option<&str>) -> Result<PathBuf, String> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(export))
    }

    pub(super) fn export(&self, reader: &Reader, cwd: &Path, file: Option<&str>) -> Result<PathBuf, String> {
        (self.0)(reader, cwd, file)
    }
}

/// An error that ends the front end.
#[derive(Debug, thiserror::Error)]
pub enum RpcError {
    /// Stdout can't be written to.
    #[error("can't write to stdout")]
    Stdout(#[source] io::Error),
}
