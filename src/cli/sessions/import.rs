//! `tiller sessions import`: which logs, and what became of each.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::anyhow;
use serde_json::json;

use super::print_json;
use crate::cli::args::ForeignProgram;
use crate::cli::{DONE, FAILED, Failure};
use crate::config::Config;
use crate::session::SessionManager;
use crate::session::import::{self as importing, Imported, Importer, Mode, Origin, Status};
use crate::unit::UnixMs;

const WHAT_TO_NAME: &str = "name logs or folders of them, or take all that there are with --all";

/// What was asked for.
pub(super) struct Wanted<'a> {
    pub(super) paths: &'a [PathBuf],
    pub(super) all: bool,
    pub(super) from: Option<ForeignProgram>,
    pub(super) dry_run: bool,
}

pub(super) fn import(
    manager: &SessionManager,
    config: &Config,
    wanted: &Wanted<'_>,
    as_json: bool,
) -> Result<u8, Failure> {
    let only = wanted.from.map(origin);
    let logs = if wanted.all { everywhere(config, only)? } else { named(wanted.paths)? };
    let mode = if wanted.dry_run { Mode::DryRun } else { Mode::Write };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = UnixMs(i64::try_from(now.as_millis()).unwrap_or(i64::MAX));
    let importer = Importer { manager, only, mode, now };
    let (mut progress, mut sessions) = (Progress::new(logs.len()), Vec::new());
    for log in &logs {
        progress.show(sessions.len());
        let imported = importer.file(log);
        if !as_json {
            progress.clear();
            tell(&imported, mode);
        }
        sessions.push(imported);
    }
    progress.clear();
    if as_json {
        print_json(&json!({ "sessions": sessions }))?;
    } else {
        sum_up(&sessions, mode);
    }
    let failed = sessions.iter().any(|imported| imported.status == Status::Failed);
    Ok(if failed { FAILED } else { DONE })
}

const fn origin(program: ForeignProgram) -> Origin {
    match program {
        ForeignProgram::Claude => Origin::Claude,
        ForeignProgram::Codex => Origin::Codex,
        ForeignProgram::Pi => Origin::Pi,
    }
}

/// Every log in the places where the programs keep them.
fn everywhere(config: &Config, only: Option<Origin>) -> Result<Vec<PathBuf>, Failure> {
    let foreign = config.foreign_logs()?;
    let places = [(Origin::Claude, foreign.claude), (Origin::Codex, foreign.codex), (Origin::Pi, foreign.pi)];
    let mut logs = Vec::new();
    for (origin, folders) in places {
        if only.is_some_and(|only| only != origin) {
            continue;
        }
        for folder in folders.iter().filter(|folder| folder.is_dir()) {
            let beneath = importing::logs_beneath(folder)?;
            logs.extend(beneath.into_iter().filter(|log| origin != Origin::Codex || is_rollout(log)));
        }
    }
    Ok(logs)
}

/// Codex keeps lists beside its logs.
fn is_rollout(log: &Path) -> bool {
    log.file_name().is_some_and(|name| name.to_string_lossy().starts_with("rollout-"))
}

/// The logs that were named, and those in the folders that were.
fn named(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut logs = Vec::new();
    if paths.is_empty() {
        return Err(Failure::usage(anyhow!("there is nothing to import")).hint(WHAT_TO_NAME));
    }
    for path in paths {
        if path.is_dir() {
            logs.extend(importing::logs_beneath(path)?);
        } else if path.exists() {
            logs.push(path.clone());
        } else {
            let missing = anyhow!("there is no file or folder {}", path.display());
            return Err(Failure::usage(missing).hint(WHAT_TO_NAME));
        }
    }
    Ok(logs)
}

fn tell(imported: &Imported, mode: Mode) {
    let source = imported.source.display();
    let id = imported.id.as_ref().map(|id| id.short()).unwrap_or_default();
    let would = if mode == Mode::DryRun { "would be " } else { "" };
    match imported.status {
        Status::Imported => println!("{id}  {would}imported: {} entries  {source}", imported.entries),
        Status::Updated => println!("{id}  {would}updated: {} new entries  {source}", imported.entries),
        Status::Unchanged => println!("{id}  already here  {source}"),
        Status::Skipped => {
            println!("skipped: {}  {source}", imported.reason.as_deref().unwrap_or_default());
        }
        Status::Failed => eprintln!("error: {}", imported.reason.as_deref().unwrap_or_default()),
    }
    if matches!(imported.status, Status::Imported | Status::Updated) {
        for note in &imported.notes {
            println!("        {}: {}, from line {} on", note.what, note.count, note.line);
        }
    }
}

fn sum_up(sessions: &[Imported], mode: Mode) {
    if sessions.is_empty() {
        eprintln!("no logs found; name the files or folders to look in");
        return;
    }
    let count = |status| sessions.iter().filter(|imported| imported.status == status).count();
    let would = if mode == Mode::DryRun { " (nothing was written)" } else { "" };
    eprintln!(
        "{} imported, {} updated, {} already here, {} skipped, {} failed{would}",
        count(Status::Imported),
        count(Status::Updated),
        count(Status::Unchanged),
        count(Status::Skipped),
        count(Status::Failed),
    );
}

/// How far it is, on a terminal.
struct Progress {
    total: usize,
    shows: bool,
}

impl Progress {
    fn new(total: usize) -> Self {
        Self { total, shows: total > 1 && std::io::stderr().is_terminal() }
    }

    fn show(&mut self, done: usize) {
        if self.shows {
            eprint!("\r\x1b[Kimporting {} of {}", done + 1, self.total);
            // A progress line that can't be shown is no reason to stop.
            let _ = std::io::stderr().flush();
        }
    }

    fn clear(&mut self) {
        if self.shows {
            eprint!("\r\x1b[K");
        }
    }
}
