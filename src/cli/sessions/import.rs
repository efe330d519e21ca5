//! `tiller sessions import`: imports other programs' logs and reports the result of each.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::anyhow;
use serde_json::json;

use super::output::print_json;
use crate::cli::args::ForeignProgram;
use crate::cli::console::{clear_line, stderr_line, stderr_text};
use crate::cli::failure::{CliFailure, DONE, FAILED};
use crate::cli::stdout::print_text;
use crate::config::Config;
use crate::session::SessionManager;
use crate::session::import::{
    self as importing, FoundLogs, ImportMode, ImportResult, ImportStatus, Importer, SourceFormat,
};
use crate::unit::UnixMs;

const USAGE_HINT: &str = "pass log files or directories, or --all for the default locations";

/// The logs to import.
pub(super) struct ImportSelection<'a> {
    pub(super) paths: &'a [PathBuf],
    pub(super) all: bool,
    pub(super) from: Option<ForeignProgram>,
    pub(super) dry_run: bool,
}

pub(super) fn import(
    manager: &SessionManager,
    config: &Config,
    selection: &ImportSelection<'_>,
    as_json: bool,
) -> Result<u8, CliFailure> {
    let only = selection.from.map(format);
    let FoundLogs { logs, unlisted } =
        if selection.all { find_all(config, only)? } else { find_in(selection.paths)? };
    for error in &unlisted {
        stderr_line!("error: {}", importing::with_hint(error));
    }
    let mode = if selection.dry_run { ImportMode::DryRun } else { ImportMode::Write };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = UnixMs(i64::try_from(now.as_millis()).unwrap_or(i64::MAX));
    let importer = Importer { manager, only, mode, now };
    let (mut progress, mut sessions) = (ImportProgress::new(logs.len()), Vec::new());
    for log in &logs {
        progress.show(sessions.len());
        let imported = importer.file(log);
        if !as_json {
            progress.clear();
            print_text(&describe(&imported, mode))?;
        }
        sessions.push(imported);
    }
    progress.clear();
    if as_json {
        print_json(&json!({ "sessions": sessions }))?;
    } else {
        print_summary(&sessions, mode);
    }
    let failed =
        !unlisted.is_empty() || sessions.iter().any(|imported| imported.status == ImportStatus::Failed);
    Ok(if failed { FAILED } else { DONE })
}

const fn format(program: ForeignProgram) -> SourceFormat {
    match program {
        ForeignProgram::Claude => SourceFormat::Claude,
        ForeignProgram::Codex => SourceFormat::Codex,
        ForeignProgram::Pi => SourceFormat::Pi,
    }
}

/// Finds every log in the programs' default locations.
pub(in crate::cli) fn find_all(config: &Config, only: Option<SourceFormat>) -> Result<FoundLogs, CliFailure> {
    let mut found = FoundLogs::default();
    let selection = |(format, _): &(SourceFormat, PathBuf)| only.is_none_or(|only| only == *format);
    for (format, dir) in default_dirs(config)?.into_iter().filter(selection).filter(|(_, dir)| dir.is_dir()) {
        let below = importing::find_logs(&dir);
        let logs = below.logs.into_iter();
        found.logs.extend(logs.filter(|log| format != SourceFormat::Codex || is_rollout(log)));
        found.unlisted.extend(below.unlisted);
    }
    Ok(found)
}

/// Returns the directories in which the programs store their logs; they may not exist.
pub(in crate::cli) fn default_dirs(config: &Config) -> Result<Vec<(SourceFormat, PathBuf)>, CliFailure> {
    let foreign = config.foreign_logs()?;
    let with_format = |format, dirs: Vec<PathBuf>| dirs.into_iter().map(move |dir| (format, dir));
    let claude = with_format(SourceFormat::Claude, foreign.claude);
    Ok(claude
        .chain(with_format(SourceFormat::Codex, foreign.codex))
        .chain(with_format(SourceFormat::Pi, foreign.pi))
        .collect())
}

/// Returns true for a log. Codex also stores lists next to its logs.
fn is_rollout(log: &Path) -> bool {
    log.file_name().is_some_and(|name| name.to_string_lossy().starts_with("rollout-"))
}

/// Finds the logs at these paths, and those in the directories among them.
pub(in crate::cli) fn find_in(paths: &[PathBuf]) -> Result<FoundLogs, CliFailure> {
    let mut found = FoundLogs::default();
    if paths.is_empty() {
        return Err(CliFailure::usage(anyhow!("nothing to import")).hint(USAGE_HINT));
    }
    for path in paths {
        if path.is_dir() {
            let below = importing::find_logs(path);
            found.logs.extend(below.logs);
            found.unlisted.extend(below.unlisted);
        } else if path.exists() {
            found.logs.push(path.clone());
        } else {
            let error = anyhow!("no file or directory at {}", path.display());
            return Err(CliFailure::usage(error).hint(USAGE_HINT));
        }
    }
    Ok(found)
}

/// Formats the result of one log for stdout; a failure's reason goes to stderr.
fn describe(imported: &ImportResult, mode: ImportMode) -> String {
    let source = imported.source.display();
    let id = imported.id.as_ref().map(|id| id.short()).unwrap_or_default();
    let would = if mode == ImportMode::DryRun { "would be " } else { "" };
    let reason = imported.reason.as_deref().unwrap_or_default();
    let mut text = match imported.status {
        ImportStatus::Imported => format!("{id}  {would}imported: {} entries  {source}\n", imported.entries),
        ImportStatus::Updated => {
            format!("{id}  {would}updated: {} new entries  {source}\n", imported.entries)
        }
        ImportStatus::Unchanged => format!("{id}  already imported  {source}\n"),
        ImportStatus::Skipped => format!("skipped: {reason}  {source}\n"),
        ImportStatus::Failed => {
            stderr_line!("error: {reason}");
            String::new()
        }
    };
    if matches!(imported.status, ImportStatus::Imported | ImportStatus::Updated) {
        for note in &imported.notes {
            text += &format!(
                "        {}: {}, starting at line {}
",
                note.what, note.count, note.line
            );
        }
    }
    text
}

fn print_summary(sessions: &[ImportResult], mode: ImportMode) {
    if sessions.is_empty() {
        stderr_line!("no logs found; pass the files or directories to search");
        return;
    }
    let count = |status| sessions.iter().filter(|imported| imported.status == status).count();
    let would = if mode == ImportMode::DryRun { " (nothing was written)" } else { "" };
    stderr_line!(
        "{} imported, {} updated, {} already imported, {} skipped, {} failed{would}",
        count(ImportStatus::Imported),
        count(ImportStatus::Updated),
        count(ImportStatus::Unchanged),
        count(ImportStatus::Skipped),
        count(ImportStatus::Failed),
    );
}

/// A progress line on stderr, shown only on a terminal.
struct ImportProgress {
    total: usize,
    is_shown: bool,
}

impl ImportProgress {
    fn new(total: usize) -> Self {
        Self { total, is_shown: total > 1 && std::io::stderr().is_terminal() }
    }

    fn show(&mut self, done: usize) {
        if self.is_shown {
            clear_line();
            stderr_text!("importing {} of {}", done + 1, self.total);
        }
    }

    fn clear(&mut self) {
        if self.is_shown {
            clear_line();
        }
    }
}
