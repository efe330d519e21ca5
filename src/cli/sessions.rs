//! `tiller sessions`: looking at logs without changing them.

mod list;
mod search;
mod show;
mod tree;

use std::path::Path;

use serde_json::{Value, json};

use super::args::{Arguments, SessionsCommand};
use super::{DONE, Failure, assemble, log};
use crate::render::{Carriage, clean};
use crate::session::{Entry, Page, Reader, Scope, SessionSummary};
use crate::unit::UnixMs;

/// Longest line of a list or tree that shows a text, in characters.
const SHOWN: usize = 72;

pub(super) fn run(arguments: &Arguments, command: &SessionsCommand) -> Result<u8, Failure> {
    let config = assemble::config(arguments)?;
    if let Some(warning) = log::begin(&config) {
        eprintln!("warning: {warning}");
    }
    let manager = assemble::manager(arguments, &config, assemble::cwd(arguments)?);
    let open = |words: &str| -> Result<Reader, Failure> { Ok(Reader::open(&manager.find(words)?)?) };
    match command {
        SessionsCommand::List { all, json, limit, offset } => {
            let page = Page { offset: *offset, limit: (*limit > 0).then_some(*limit) };
            list::list(&manager, scope(*all), page, *json)?;
        }
        SessionsCommand::Search { query, all, json, limit } => {
            search::search(&manager, &query.join(" "), (scope(*all), *limit), *json)?;
        }
        SessionsCommand::Show { session, context: true, json, .. } => show::context(&open(session)?, *json)?,
        SessionsCommand::Show { session, stats: true, json, .. } => show::stats(&open(session)?, *json)?,
        SessionsCommand::Show { session, json, .. } => show::show(&open(session)?, *json)?,
        SessionsCommand::Tree { session, json } => tree::tree(&open(session)?, *json)?,
    }
    Ok(DONE)
}

fn scope(all: bool) -> Scope {
    if all { Scope::Everywhere } else { Scope::ThisDirectory }
}

/// Whether a list says where its sessions are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    /// They may be anywhere.
    Shown,
    /// They are all in one place.
    Known,
}

/// A session on one line: id, date, title, and perhaps its directory.
pub(super) fn row(session: &SessionSummary, place: Where) -> String {
    let title = one_line(session.title().unwrap_or("(empty)"));
    let cwd = if place == Where::Shown { format!("  {}", one_line(&session.cwd)) } else { String::new() };
    format!("{}  {}  {title}{cwd}", session.id.short(), moment(session.modified))
}

/// `2026-11-21 03:16`, UTC.
fn moment(moment: UnixMs) -> String {
    let iso = moment.to_iso();
    format!("{} {}", &iso[..10], &iso[11..16])
}

fn entry_json(entry: &Entry) -> Value {
    let mut value = json!({"id": entry.id, "parentId": entry.parent, "timestamp": entry.timestamp.to_iso()});
    if let (Some(object), Ok(Value::Object(body))) =
        (value.as_object_mut(), serde_json::to_value(&entry.body))
    {
        object.extend(body);
    }
    value
}

fn branch(reader: &Reader) -> Result<Vec<Entry>, Failure> {
    let Some(leaf) = reader.leaf() else { return Ok(Vec::new()) };
    let (entries, damaged) = reader.branch(&leaf)?;
    for finding in reader.findings().iter().chain(&damaged) {
        let path = reader.path().unwrap_or(Path::new("")).display();
        eprintln!("warning: {path}, line {} (byte {}): {}", finding.line, finding.byte, finding.what);
    }
    Ok(entries)
}

fn one_line(text: &str) -> String {
    // What a log says must not move a cursor.
    let line = clean(&text.split_whitespace().collect::<Vec<_>>().join(" "), Carriage::Shown).into_owned();
    if line.chars().count() <= SHOWN { line } else { line.chars().take(SHOWN - 1).chain(['…']).collect() }
}

fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(Failure::run)?;
    println!("{text}");
    Ok(())
}
