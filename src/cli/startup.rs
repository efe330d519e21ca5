//! The start of every command: its configuration and working directory.

use std::path::PathBuf;

use anyhow::{Context, anyhow};

use super::args::CliArgs;
use super::failure::CliFailure;
use crate::config::{Config, ConfigOverrides, Environment, Project};
use crate::unit::UnixMs;

/// Loads the configuration for these arguments, including that of the trusted project.
pub(super) fn config(arguments: &CliArgs, trusted: Option<&Project>) -> Result<Config, CliFailure> {
    let (flags, env_file) = (arguments.settings(), arguments.environment.env_file.as_deref());
    Ok(Config::load(Environment::of_process(), ConfigOverrides { flags: &flags, env_file, trusted })?)
}

/// Returns the canonical path of the working directory.
pub(super) fn cwd(arguments: &CliArgs) -> Result<PathBuf, CliFailure> {
    let cwd = arguments.environment.cwd.clone().unwrap_or_else(|| PathBuf::from("."));
    let canonical =
        cwd.canonicalize().with_context(|| format!("can't use {} as the working directory", cwd.display()));
    let canonical = canonical.map_err(CliFailure::usage)?;
    if canonical.is_dir() {
        Ok(canonical)
    } else {
        Err(CliFailure::usage(anyhow!("{} is not a directory", canonical.display())))
    }
}

pub(super) fn now() -> UnixMs {
    std::time::SystemTime::now().into()
}
