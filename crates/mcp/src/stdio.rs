//! Servers that are child processes. The supervisor starts them, so none outlives tiller.

use std::path::Path;

use tiller_tools::process::{PipedChild, ProcessError, Program, Runner};

use crate::config::StdioEndpoint;

/// Starts a server's program; its streams are piped.
///
/// # Errors
/// If the directory is missing or the supervisor can't be started. A program that can't be started is reported on
/// stderr, by the supervisor.
pub(crate) fn start(
    endpoint: &StdioEndpoint,
    runner: &Runner,
    cwd: &Path,
    secrets: &[String],
) -> Result<PipedChild, ProcessError> {
    let is_set = |name: &String| endpoint.env.iter().any(|(set, _)| set == name);
    runner.start_piped(&Program {
        path: endpoint.command.as_str().into(),
        arguments: endpoint.args.clone(),
        cwd: endpoint.cwd.as_deref().map_or_else(|| cwd.to_owned(), |dir| cwd.join(dir)),
        withheld: secrets.iter().filter(|name| !is_set(name)).cloned().collect(),
        variables: endpoint.env.clone(),
    })
}
