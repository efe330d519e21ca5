//! What `/import` does on the screen: as `tiller sessions import`, with a list of what is found.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::anyhow;

use super::run::RunInput;
use super::sessions::import::{everywhere, named, places};
use super::wiring;
use super::{CliFailure, args::CliArgs};
use crate::config::Config;
use crate::session::import::{ImportMode, Imported, Importer, glance};
use crate::tui::{ForeignLog, ForeignLogs, ImportService};
use crate::unit::UnixMs;

/// Most logs that are offered: the newest.
const OFFERED: usize = 100;

pub(super) fn desk(given: &RunInput) -> ImportService {
    let told = |failure: CliFailure| (format!("{:#}", failure.error), failure.hint);
    let (config, arguments) = (Arc::clone(&given.config), Arc::clone(&given.arguments));
    let found = Arc::clone(&given.config);
    ImportService::new(
        move || find(&found).map_err(told),
        move |cwd, typed| take(&arguments, &config, cwd, typed).map_err(told),
    )
}

/// The newest logs of other programs.
fn find(config: &Config) -> Result<ForeignLogs, CliFailure> {
    let dated = |path: PathBuf| -> Option<(UnixMs, PathBuf)> {
        let modified = path.metadata().and_then(|facts| facts.modified()).ok()?;
        (!is_of_a_helper(&path)).then(|| (modified.into(), path))
    };
    let mut logs: Vec<(UnixMs, PathBuf)> =
        everywhere(config, None)?.logs.into_iter().filter_map(dated).collect();
    logs.sort_by(|one, other| other.cmp(one));
    logs.truncate(OFFERED);
    let log = |(modified, path): (UnixMs, PathBuf)| ForeignLog { glance: glance(&path), modified, path };
    let looked_in = places(config)?.into_iter().map(|(origin, path)| (origin.name(), path)).collect();
    Ok(ForeignLogs { logs: logs.into_iter().map(log).collect(), looked_in })
}

/// Claude Code keeps what its helpers said beside its sessions; that alone is no session.
fn is_of_a_helper(log: &Path) -> bool {
    log.file_name().is_some_and(|name| name.to_string_lossy().starts_with("agent-"))
}

fn take(arguments: &CliArgs, config: &Config, cwd: &Path, typed: &str) -> Result<Vec<Imported>, CliFailure> {
    if arguments.session.no_session {
        let refused = anyhow!("nothing is kept on disk here, so nothing can be imported");
        return Err(CliFailure::usage(refused).hint("start tiller without --no-session"));
    }
    // On the screen there is no --all; the list of what there is takes its place.
    let logs = named(&[place(config, cwd, typed)])
        .map_err(|failure| failure.hint("/import alone lists the logs that there are"))?
        .logs;
    let manager = wiring::manager(arguments, config, cwd.to_owned());
    let now = SystemTime::now().into();
    let importer = Importer { manager: &manager, only: None, mode: ImportMode::Write, now };
    Ok(logs.iter().map(|log| importer.file(log)).collect())
}

/// A path as typed: from the working directory on, and `~` is the user's home.
fn place(config: &Config, cwd: &Path, typed: &str) -> PathBuf {
    let home = config.variable("HOME").map(Path::new);
    match (typed.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => cwd.join(typed),
    }
}
