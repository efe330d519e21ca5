//! `tiller sessions import`: which logs, and what became of each.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::anyhow;
use serde_json::json;

use super::{print_json, say};
use crate::cli::args::ForeignProgram;
use crate::cli::console::{clear_line, stderr_line, stderr_text};
use crate::cli::{CliFailure, DONE, FAILED};
use crate::config::Config;
use crate::session::SessionManager;
use crate::session::import::{
    self as importing, FoundLogs, ImportMode, ImportStatus, Imported, Importer, SourceFormat,
};
use crate::unit::UnixMs;

const WHAT_TO_NAME: &str = "name logs or folders of them, or take all that there are with --all";

/// What was asked for.
pub(super) struct ImportSelection<'a> {
    pub(super) paths: &'a [PathBuf],
    pub(super) all: bool,
    pub(super) from: Option<ForeignProgram>,
    pub(super) dry_run: bool,
}

pub(super) fn import(
    manager: &SessionManager,
    config: &Config,
    wanted: &ImportSelection<'_>,
    as_json: bool,
) -> Result<u8, CliFailure> {
    let only = wanted.from.map(origin);
    let FoundLogs { logs, unlisted } =
        if wanted.all { everywhere(config, only)? } else { named(wanted.paths)? };
    for error in &unlisted {
        stderr_line!("error: {}", importing::with_hint(error));
    }
    let mode = if wanted.dry_run { ImportMode::DryRun } else { ImportMode::Write };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = UnixMs(i64::try_from(now.as_millis()).unwrap_or(i64::MAX));
    let importer = Importer { manager, only, mode, now };
    let (mut progress, mut sessions) = (ImportProgress::new(logs.len()), Vec::new());
    for log in &logs {
        progress.show(sessions.len());
        let imported = importer.file(log);
        if !as_json {
            progress.clear();
            say(&told(&imported, mode))?;
        }
        sessions.push(imported);
    }
    progress.clear();
    if as_json {
        print_json(&json!({ "sessions": sessions }))?;
    } else {
        sum_up(&sessions, mode);
    }
    let failed =
        !unlisted.is_empty() || sessions.iter().any(|imported| imported.status == ImportStatus::Failed);
    Ok(if failed { FAILED } else { DONE })
}

const fn origin(program: ForeignProgram) -> SourceFormat {
    match program {
        ForeignProgram::Claude => SourceFormat::Claude,
        ForeignProgram::Codex => SourceFormat::Codex,
        ForeignProgram::Pi => SourceFormat::Pi,
    }
}

/// Every log in the places where the programs keep them.
pub(in crate::cli) fn everywhere(
    config: &Config,
    only: Option<SourceFormat>,
) -> Result<FoundLogs, CliFailure> {
    let mut found = FoundLogs::default();
    let wanted = |(origin, _): &(SourceFormat, PathBuf)| only.is_none_or(|only| only == *origin);
    for (origin, folder) in places(config)?.into_iter().filter(wanted).filter(|(_, folder)| folder.is_dir()) {
        let beneath = importing::logs_beneath(&folder);
        let logs = beneath.logs.into_iter();
        found.logs.extend(logs.filter(|log| origin != SourceFormat::Codex || is_rollout(log)));
        found.unlisted.extend(beneath.unlisted);
    }
    Ok(found)
}

/// The folders in which programs keep their logs, whether they are there or not.
pub(in crate::cli) fn places(config: &Config) -> Result<Vec<(SourceFormat, PathBuf)>, CliFailure> {
    let foreign = config.foreign_logs()?;
    let of = |origin, folders: Vec<PathBuf>| folders.into_iter().map(move |folder| (origin, folder));
    let claude = of(SourceFormat::Claude, foreign.claude);
    Ok(claude.chain(of(SourceFormat::Codex, foreign.codex)).chain(of(SourceFormat::Pi, foreign.pi)).collect())
}

/// Codex keeps lists beside its logs.
fn is_rollout(log: &Path) -> bool {
    log.file_name().is_some_and(|name| name.to_string_lossy().starts_with("rollout-"))
}

/// The logs that were named, and those in the folders that were.
pub(in crate::cli) fn named(paths: &[PathBuf]) -> Result<FoundLogs, CliFailure> {
    let mut found = FoundLogs::default();
    if paths.is_empty() {
        return Err(CliFailure::usage(anyhow!("there is nothing to import")).hint(WHAT_TO_NAME));
    }
    for path in paths {
        if path.is_dir() {
            let beneath = importing::logs_beneath(path);
            found.logs.extend(beneath.logs);
            found.unlisted.extend(beneath.unlisted);
        } else if path.exists() {
            found.logs.push(path.clone());
        } else {
            let missing = anyhow!("there is no file or folder {}", path.display());
            return Err(CliFailure::usage(missing).hint(WHAT_TO_NAME));
        }
    }
    Ok(found)
}

/// What is said on stdout of one log; why one failed goes to stderr.
fn told(imported: &Imported, mode: ImportMode) -> String {
    let source = imported.source.display();
    let id = imported.id.as_ref().map(|id| id.short()).unwrap_or_default();
    let would = if mode == ImportMode::DryRun { "would be " } else { "" };
    let reason = imported.reason.as_deref().unwrap_or_default();
    let mut told = match imported.status {
        ImportStatus::Imported => format!("{id}  {would}imported: {} entries  {source}\n", imported.entries),
        ImportStatus::Updated => {
            format!("{id}  {would}updated: {} new entries  {source}\n", imported.entries)
        }
        ImportStatus::Unchanged => format!("{id}  already here  {source}\n"),
        ImportStatus::Skipped => format!("skipped: {reason}  {source}\n"),
        ImportStatus::Failed => {
            stderr_line!("error: {reason}");
            String::new()
        }
    };
    if matches!(imported.status, ImportStatus::Imported | ImportStatus::Updated) {
        for note in &imported.notes {
            told += &format!("        {}: {}, from line {} on\n", note.what, note.count, note.line);
        }
    }
    told
}

fn sum_up(sessions: &[Imported], mode: ImportMode) {
    if sessions.is_empty() {
        stderr_line!("no logs found; name the files or folders to look in");
        return;
    }
    let count = |status| sessions.iter().filter(|imported| imported.status == status).count();
    let would = if mode == ImportMode::DryRun { " (nothing was written)" } else { "" };
    stderr_line!(
        "{} imported, {} updated, {} already here, {} skipped, {} failed{would}",
        count(ImportStatus::Imported),
        count(ImportStatus::Updated),
        count(ImportStatus::Unchanged),
        count(ImportStatus::Skipped),
        count(ImportStatus::Failed),
    );
}

/// How far it is, on a terminal.
struct ImportProgress {
    total: usize,
    shows: bool,
}

impl ImportProgress {
    fn new(total: usize) -> Self {
        Self { total, shows: total > 1 && std::io::stderr().is_terminal() }
    }

    fn show(&mut self, done: usize) {
        if self.shows {
            clear_line();
            stderr_text!("importing {} of {}", done + 1, self.total);
        }
    }

    fn clear(&mut self) {
        if self.shows {
            clear_line();
        }
    }
}
