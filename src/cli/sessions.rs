//! `tiller sessions`: looking at logs, bringing in those of other programs, and what is done to them besides going on.

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
use super::stdout::{columns, fit, heard, say};
use super::{CliFailure, DONE, log, wiring};
use crate::cli::console::{self, stderr_line};
use crate::config::WrongSetting;
use crate::render::{ControlChars, sanitize};
use crate::session::{
    DeleteMode, Entry, Finding, PageRequest, Reader, SessionScope, SessionSummary, Visibility,
};
use crate::unit::UnixMs;

/// Longest line of a list or tree that shows a text, in characters.
const SHOWN: usize = 72;

pub(super) fn run(arguments: &CliArgs, command: &SessionsCommand) -> Result<u8, CliFailure> {
    // No setting that a project may have has a word on sessions.
    let config = wiring::config(arguments, None)?;
    let wrong = config.wrong.iter().map(WrongSetting::warning);
    for warning in wrong.chain(log::begin(&config, log::Targets::of_command(arguments))) {
        stderr_line!("warning: {warning}");
    }
    let manager = wiring::manager(arguments, &config, wiring::cwd(arguments)?);
    let open = |words: &str| -> Result<Reader, CliFailure> { Ok(Reader::open(&manager.find(words)?)?) };
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
        SessionsCommand::Move { from, json } => return move_dir::relocate(&manager, from, *json),
        SessionsCommand::Rm { sessions, yes, permanently, json } => {
            let farewell = if *permanently { DeleteMode::ForGood } else { DeleteMode::ToTrash };
            let asking = if *yes { rm::Confirmation::No } else { rm::Confirmation::Yes };
            rm::rm(&manager, sessions, (farewell, asking), *json)?;
        }
        SessionsCommand::Export { session, format, all_branches, entry, output, force, json } => {
            let asked = export::ExportRequest {
                format: *format,
                part: export::ExportPart::of(*all_branches, entry.as_deref()),
                output: output.as_deref(),
                force: *force,
                pages: None,
            };
            export::export(&open(session)?, manager.cwd(), &asked, *json)?;
        }
        SessionsCommand::Import { paths, all, from, dry_run, json } => {
            let wanted = import::ImportSelection { paths, all: *all, from: *from, dry_run: *dry_run };
            return import::import(&manager, &config, &wanted, *json);
        }
    }
    Ok(DONE)
}

fn scope(all: bool) -> SessionScope {
    if all { SessionScope::Everywhere } else { SessionScope::ThisDirectory }
}

/// Whether a list says where its sessions are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionsScope {
    /// They may be anywhere.
    Shown,
    /// They are all in one place.
    Known,
}

/// A session on one line: id, date, title, and perhaps its directory.
pub(super) fn row(session: &SessionSummary, place: SessionsScope) -> String {
    let title = one_line(session.title().unwrap_or("(empty)"));
    let cwd =
        if place == SessionsScope::Shown { format!("  {}", one_line(&session.cwd)) } else { String::new() };
    fit(&format!("{}  {}  {title}{cwd}", one_line(session.id.short()), moment(session.modified)), columns())
}

/// `2026-11-21 03:16`, UTC.
fn moment(moment: UnixMs) -> String {
    let iso = moment.to_iso();
    format!("{} {}", &iso[..10], &iso[11..16])
}

/// Prints entries as they stand in the file as a JSON list, a line each, between what begins and what ends the document.
fn print_raw(
    reader: &Reader,
    positions: impl IntoIterator<Item = usize>,
    (begin, end): (&str, &str),
) -> Result<(), CliFailure> {
    let mut out = io::BufWriter::new(console::stdout());
    let (mut separator, mut written) = ("\n", write!(out, "{begin}["));
    let mut unreadable = 0;
    reader.raw_lines(positions, |_, line| match line {
        Some(line) if written.is_ok() => {
            written = write!(out, "{separator}  {line}");
            separator = ",\n";
        }
        Some(_) => {}
        None => unreadable += 1,
    })?;
    if unreadable > 0 {
        stderr_line!(
            "warning: {unreadable} entries are no JSON and left out; `tiller sessions verify` names them"
        );
    }
    heard(written.and_then(|()| writeln!(out, "\n]{end}")).and_then(|()| out.flush()))
}

fn warn(reader: &Reader, findings: &[Finding]) {
    let path = reader.path().unwrap_or(Path::new("")).display();
    for Finding { line, byte, what } in findings {
        stderr_line!("warning: {path}, line {line} (byte {byte}): {}", sanitize(what, ControlChars::Visible));
    }
}

/// The current branch; what is wrong with it goes to stderr.
pub(super) fn branch(reader: &Reader) -> Result<Vec<Entry>, CliFailure> {
    let Some(leaf) = reader.leaf() else { return Ok(Vec::new()) };
    let (entries, damaged) = reader.branch(&leaf)?;
    warn(reader, &reader.findings());
    warn(reader, &damaged);
    Ok(entries)
}

/// A text of a log on one line that fits into a list.
pub(super) fn one_line(text: &str) -> String {
    // What a log says must not move a cursor.
    let line =
        sanitize(&text.split_whitespace().collect::<Vec<_>>().join(" "), ControlChars::Visible).into_owned();
    if line.chars().count() <= SHOWN { line } else { line.chars().take(SHOWN - 1).chain(['…']).collect() }
}

fn print_json(value: &impl serde::Serialize) -> Result<(), CliFailure> {
    let text = serde_json::to_string_pretty(value).map_err(CliFailure::run)?;
    say(&(text + "\n"))
}
