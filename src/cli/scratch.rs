//! The directory for command output that exceeds the limits.

use std::path::PathBuf;

use anyhow::Context;
use tempfile::TempDir;

use super::args::CliArgs;
use super::failure::CliFailure;
use crate::config::Config;

/// The directory for command output that exceeds the limits.
pub(super) enum ScratchDir {
    Persistent(PathBuf),
    /// For sessions that store nothing; removed on drop.
    Temporary(TempDir),
}

impl ScratchDir {
    pub(super) fn choose(arguments: &CliArgs, config: &Config) -> Result<Self, CliFailure> {
        if !arguments.session.no_session {
            return Ok(Self::Persistent(config.dirs.state.join("outputs")));
        }
        let dir = tempfile::Builder::new().prefix("tiller-").tempdir();
        dir.map(Self::Temporary).context("can't make a directory for long outputs").map_err(CliFailure::run)
    }

    pub(super) fn path(&self) -> PathBuf {
        match self {
            Self::Persistent(path) => path.clone(),
            Self::Temporary(dir) => dir.path().to_owned(),
        }
    }
}
