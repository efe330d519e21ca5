//! `tiller sessions`: looking at logs without changing them, and bringing in those of other programs.

mod import;
mod list;
mod show;
mod tree;

use std::path::Path;

use serde_json::{Value, json};

use super::args::{Arguments, SessionsCommand};
use super::{DONE, Failure, assemble};
use crate::session::{Entry, Reader};

/// Longest line of a list or tree that shows a text, in characters.
const SHOWN: usize = 72;

pub(super) fn run(arguments: &Arguments, command: &SessionsCommand) -> Result<u8, Failure> {
    let config = assemble::config(arguments)?;
    let manager = assemble::manager(arguments, &config, assemble::cwd(arguments)?);
    let open = |words: &str| -> Result<Reader, Failure> { Ok(Reader::open(&manager.find(words)?)?) };
    match command {
        SessionsCommand::List { all, json } => list::list(&manager, *all, *json)?,
        SessionsCommand::Show { session, context: true, json, .. } => show::context(&open(session)?, *json)?,
        SessionsCommand::Show { session, stats: true, json, .. } => show::stats(&open(session)?, *json)?,
        SessionsCommand::Show { session, json, .. } => show::show(&open(session)?, *json)?,
        SessionsCommand::Import { paths, all, from, dry_run, json } => {
            let wanted = import::Wanted { paths, all: *all, from: *from, dry_run: *dry_run };
            return import::import(&manager, &config, &wanted, *json);
        }
        SessionsCommand::Tree { session, json } => tree::tree(&open(session)?, *json)?,
    }
    Ok(DONE)
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
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= SHOWN { line } else { line.chars().take(SHOWN - 1).chain(['…']).collect() }
}

fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(Failure::run)?;
    println!("{text}");
    Ok(())
}
