//! `tiller sessions`: lists, shows, checks, edits, imports, exports and removes sessions.

mod edit;
pub(super) mod export;
mod html_worker;
pub(super) mod import;
mod list;
mod move_dir;
mod rm;
mod search;
mod show;
mod tree;
mod verify;

use std::io::{self, Write};
use std::path::Path;

use super::args::{CliArgs, SessionsCommand};
use super::stdout::{columns, fit, ignore_broken_pipe, print_text};
use super::{CliFailure, DONE, log, wiring};
use crate::cli::console::{self, stderr_line};
use crate::config::WrongSetting;
use crate::render::{ControlChars, sanitize};
use crate::session::{
    DeleteMode, Entry, Finding, PageRequest, Reader, SessionScope, SessionSummary, Visibility,
};
use crate::unit::UnixMs;

/// Maximum length of a text in a list or tree, in characters.
const MAX_CHARS: usize = 72;

pub(super) fn run(arguments: &CliArgs, command: &SessionsCommand) -> Result<u8, CliFailure> {
    // Settings of a project can't influence sessions.
    let config = wiring::config(arguments, None)?;
    let invalid = config.invalid.iter().map(WrongSetting::warning);
    for warning in invalid.chain(log::begin(&config, log::LogTargets::for_command(arguments))) {
        stderr_line!("warning: {warning}");
    }
    let manager = wiring::manager(arguments, &config, wiring::cwd(arguments)?);
    let open = |query: &str| -> Result<Reader, CliFailure> { Ok(Reader::open(&manager.find(query)?)?) };
    match command {
        SessionsCommand::List { all, json, limit, offset } => {
            let page = PageRequest { offset: *offset, limit: (*limit > 0).then_some(*limit) };
            list::list(&manager, scope(*all), page, *json)?;
        }
        SessionsCommand::Search { query, all, json, limit } => {
            search::search(&manager, &query.join(" "), (scope(*all), *limit), *json)?;
        }
        SessionsCommand::Show { session, context: true, json, .. } => show::context(&open(session)?, *json)?,
        SessionsCommand::Show { session, stats: true, json, .. } => show::stats(&open(session)?, *json)?,
        SessionsCommand::Show { session, json, .. } => show::show(&open(session)?, *json)?,
        SessionsCommand::Tree { session, all, json } => tree::tree(&open(session)?, *all, *json)?,
        SessionsCommand::Verify { sessions, json, .. } => return verify::verify(&manager, sessions, *json),
        SessionsCommand::Rename { session, name, json } => edit::rename(&manager, session, name, *json)?,
        SessionsCommand::Label { session, entry, label, json } => {
            edit::label(&manager, (session, entry), label.as_deref(), *json)?;
        }
        SessionsCommand::Hide { session, entry, undo, json } => {
            let visibility = if *undo { Visibility::Shown } else { Visibility::Hidden };
            edit::hide(&manager, (session, entry), visibility, *json)?;
        }
        SessionsCommand::Branch { session, entry, summary, json } => {
            edit::branch(&manager, (session, entry), summary.as_deref(), *json)?;
        }
        SessionsCommand::Move { from, json } => return move_dir::move_sessions(&manager, from, *json),
        SessionsCommand::Rm { sessions, yes, permanently, json } => {
            let delete_mode = if *permanently { DeleteMode::Permanently } else { DeleteMode::ToTrash };
            let confirmation = if *yes { rm::Confirmation::Skip } else { rm::Confirmation::Ask };
            rm::rm(&manager, sessions, (delete_mode, confirmation), *json)?;
        }
        SessionsCommand::Export { session, format, all_branches, entry, output, force, json } => {
            let request = export::ExportRequest {
                format: *format,
                part: export::ExportPart::from_flags(*all_branches, entry.as_deref()),
                output: output.as_deref(),
                force: *force,
                html_worker: None,
            };
            export::export(&open(session)?, manager.cwd(), &request, *json)?;
        }
        SessionsCommand::Import { paths, all, from, dry_run, json } => {
            let selection = import::ImportSelection { paths, all: *all, from: *from, dry_run: *dry_run };
            return import::import(&manager, &config, &selection, *json);
        }
    }
    Ok(DONE)
}

fn scope(all: bool) -> SessionScope {
    if all { SessionScope::Everywhere } else { SessionScope::ThisDirectory }
}

/// The directory column of a session list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DirectoryColumn {
    /// Sessions of several directories.
    Shown,
    /// Sessions of one directory.
    Hidden,
}

/// Formats a session as one line: id, date, title and, if asked for, directory.
pub(super) fn row(session: &SessionSummary, column: DirectoryColumn) -> String {
    let title = one_line(session.title().unwrap_or("(empty)"));
    let cwd = if column == DirectoryColumn::Shown {
        format!("  {}", one_line(&session.cwd))
    } else {
        String::new()
    };
    fit(
        &format!("{}  {}  {title}{cwd}", one_line(session.id.short()), format_time(session.modified)),
        columns(),
    )
}

/// `2026-11-21 03:16`, UTC.
fn format_time(time: UnixMs) -> String {
    let iso = time.to_iso();
    format!("{} {}", &iso[..10], &iso[11..16])
}

/// Prints entries as stored in the file, as a JSON list between `begin` and `end`, one a line.
fn print_raw(
    reader: &Reader,
    positions: impl IntoIterator<Item = usize>,
    (begin, end): (&str, &str),
) -> Result<(), CliFailure> {
    let mut out = io::BufWriter::new(console::stdout());
    let (mut separator, mut outcome) = ("\n", write!(out, "{begin}["));
    let mut unreadable = 0;
    reader.raw_lines(positions, |_, line| match line {
        Some(line) if outcome.is_ok() => {
            outcome = write!(out, "{separator}  {line}");
            separator = ",\n";
        }
        Some(_) => {}
        None => unreadable += 1,
    })?;
    if unreadable > 0 {
        stderr_line!(
            "warning: {unreadable} entries are invalid JSON and left out; `tiller sessions verify` lists them"
        );
    }
    ignore_broken_pipe(outcome.and_then(|()| writeln!(out, "\n]{end}")).and_then(|()| out.flush()))
}

fn warn(reader: &Reader, findings: &[Finding]) {
    let path = reader.path().unwrap_or(Path::new("")).display();
    for Finding { line, byte, what } in findings {
        stderr_line!("warning: {path}, line {line} (byte {byte}): {}", sanitize(what, ControlChars::Visible));
    }
}

/// The current branch; its problems are reported on stderr.
pub(super) fn branch(reader: &Reader) -> Result<Vec<Entry>, CliFailure> {
    let Some(leaf) = reader.leaf() else { return Ok(Vec::new()) };
    let (entries, damaged) = reader.branch(&leaf)?;
    warn(reader, &reader.findings());
    warn(reader, &damaged);
    Ok(entries)
}

/// Formats a text of a log for one line of a list.
pub(super) fn one_line(text: &str) -> String {
    // Text from a log must not move the cursor.
    let line =
        sanitize(&text.split_whitespace().collect::<Vec<_>>().join(" "), ControlChars::Visible).into_owned();
    if line.chars().count() <= MAX_CHARS {
        line
    } else {
        line.chars().take(MAX_CHARS - 1).chain(['…']).collect()
    }
}

fn print_json(value: &impl serde::Serialize) -> Result<(), CliFailure> {
    let text = serde_json::to_string_pretty(value).map_err(CliFailure::run)?;
    print_text(&(text + "\n"))
}
