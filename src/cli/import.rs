//! The service behind `/import` in the TUI, which lists foreign logs and imports them like `tiller sessions
//! import`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::anyhow;

use super::args::CliArgs;
use super::failure::CliFailure;
use super::run_input::RunInput;
use super::sessions::import::{default_dirs, find_all, find_in};
use super::wiring;
use crate::config::Config;
use crate::session::import::{ImportMode, ImportResult, Importer, peek};
use crate::tui::{ForeignLog, ForeignLogs, ImportService};
use crate::unit::UnixMs;

/// Maximum number of logs to list; the newest are kept.
const MAX_LOGS: usize = 100;

pub(super) fn import_service(input: &RunInput) -> ImportService {
    let describe = |failure: CliFailure| (failure.text(), failure.hint);
    let (config, arguments) = (Arc::clone(&input.config), Arc::clone(&input.arguments));
    let list_config = Arc::clone(&input.config);
    ImportService::new(
        move || find(&list_config).map_err(describe),
        move |cwd, path| import(&arguments, &config, cwd, path).map_err(describe),
    )
}

/// Lists other programs' newest logs.
fn find(config: &Config) -> Result<ForeignLogs, CliFailure> {
    let dated = |path: PathBuf| -> Option<(UnixMs, PathBuf)> {
        let modified = path.metadata().and_then(|facts| facts.modified()).ok()?;
        (!is_sub_agent_log(&path)).then(|| (modified.into(), path))
    };
    let mut logs: Vec<(UnixMs, PathBuf)> =
        find_all(config, None)?.logs.into_iter().filter_map(dated).collect();
    logs.sort_by(|one, other| other.cmp(one));
    logs.truncate(MAX_LOGS);
    let log = |(modified, path): (UnixMs, PathBuf)| ForeignLog { peek: peek(&path), modified, path };
    let looked_in = default_dirs(config)?.into_iter().map(|(format, path)| (format.name(), path)).collect();
    Ok(ForeignLogs { logs: logs.into_iter().map(log).collect(), looked_in })
}

/// Returns true for logs of Claude Code's subagents, which are stored next to its sessions but aren't
/// sessions.
fn is_sub_agent_log(log: &Path) -> bool {
    log.file_name().is_some_and(|name| name.to_string_lossy().starts_with("agent-"))
}

fn import(
    arguments: &CliArgs,
    config: &Config,
    cwd: &Path,
    path: &str,
) -> Result<Vec<ImportResult>, CliFailure> {
    if arguments.session.no_session {
        let error = anyhow!("can't import: this session stores nothing on disk");
        return Err(CliFailure::usage(error).hint("start tiller without --no-session"));
    }
    // The TUI has no `--all`, because it lists the logs.
    let logs = find_in(&[resolve(config, cwd, path)])
        .map_err(|failure| failure.hint("/import without a path lists the logs that were found"))?
        .logs;
    let manager = wiring::manager(arguments, config, cwd.to_owned());
    let now = SystemTime::now().into();
    let importer = Importer { manager: &manager, only: None, mode: ImportMode::Write, now };
    Ok(logs.iter().map(|log| importer.file(log)).collect())
}

/// Resolves a typed path: relative to the working directory, with `~` for the user's home directory.
fn resolve(config: &Config, cwd: &Path, path: &str) -> PathBuf {
    let home = config.variable("HOME").map(Path::new);
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => cwd.join(path),
    }
}
