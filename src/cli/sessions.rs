//! `tiller sessions`: looking at logs without changing them.

use std::path::Path;

use serde_json::{Value, json};

use super::args::{Arguments, SessionsCommand};
use super::{DONE, Failure, assemble, transcript};
use crate::message::{Message, Usage, joined_text};
use crate::session::context::{self, Projection};
use crate::session::tree::{BranchMark, Node, Row};
use crate::session::{Entry, EntryBody, EntryKind, Reader, Scope, SessionManager};

/// Longest line of a list or tree that shows a text, in characters.
const SHOWN: usize = 72;

pub(super) fn run(arguments: &Arguments, command: &SessionsCommand) -> Result<u8, Failure> {
    let config = assemble::config(arguments)?;
    let manager = assemble::manager(arguments, &config, assemble::cwd(arguments)?);
    let open = |words: &str| -> Result<Reader, Failure> { Ok(Reader::open(&manager.find(words)?)?) };
    match command {
        SessionsCommand::List { all, json } => list(&manager, *all, *json)?,
        SessionsCommand::Show { session, context: true, json, .. } => show_context(&open(session)?, *json)?,
        SessionsCommand::Show { session, stats: true, json, .. } => show_stats(&open(session)?, *json)?,
        SessionsCommand::Show { session, json, .. } => show(&open(session)?, *json)?,
        SessionsCommand::Tree { session, json } => tree(&open(session)?, *json)?,
    }
    Ok(DONE)
}

fn list(manager: &SessionManager, all: bool, as_json: bool) -> Result<(), Failure> {
    let scope = if all { Scope::Everywhere } else { Scope::ThisDirectory };
    let listing = manager.list(scope)?;
    for error in &listing.unreadable {
        eprintln!("warning: {error}");
    }
    if as_json {
        return print_json(&listing.sessions);
    }
    if listing.sessions.is_empty() {
        eprintln!("no sessions of {}; `--all` shows those of other directories", manager.cwd().display());
    }
    for session in &listing.sessions {
        let title = session.name.as_deref().or(session.first_prompt.as_deref()).unwrap_or("(empty)");
        let modified = session.modified.to_iso();
        let place = if all { format!("  {}", session.cwd) } else { String::new() };
        println!(
            "{}  {} {}  {}{place}",
            session.id.short(),
            &modified[..10],
            &modified[11..16],
            one_line(title)
        );
    }
    Ok(())
}

fn show(reader: &Reader, as_json: bool) -> Result<(), Failure> {
    let entries = branch(reader)?;
    if as_json {
        return print_json(&entries.iter().map(entry_json).collect::<Vec<_>>());
    }
    print!("{}", transcript::transcript(&entries));
    Ok(())
}

fn show_context(reader: &Reader, as_json: bool) -> Result<(), Failure> {
    let projection = context::project(&branch(reader)?);
    let sent = context::sendable(projection.messages.iter().map(|projected| &projected.message));
    if as_json {
        return print_json(&sent);
    }
    for message in sent {
        println!("{}", transcript::message(&message, false));
    }
    Ok(())
}

fn show_stats(reader: &Reader, as_json: bool) -> Result<(), Failure> {
    let entries = branch(reader)?;
    let stats = stats(reader, &context::project(&entries))?;
    if as_json {
        return print_json(&stats);
    }
    for (name, value) in stats.as_object().into_iter().flatten() {
        match value {
            Value::String(text) => println!("{name:<16} {text}"),
            value => println!("{name:<16} {value}"),
        }
    }
    Ok(())
}

fn stats(reader: &Reader, projection: &Projection) -> Result<Value, Failure> {
    let (all, mut warnings) = reader.entries()?;
    warnings.extend(reader.findings());
    let mut usage = Usage::default();
    for entry in &all {
        match &entry.body {
            EntryBody::Usage { usage: spent, .. } => usage.add(spent),
            EntryBody::Compaction(compaction) => usage.add(&compaction.usage.clone().unwrap_or_default()),
            EntryBody::BranchSummary { usage: Some(spent), .. } => usage.add(spent),
            body => {
                if let Some(Message::Assistant(answer)) = body.as_message().map(|message| &**message) {
                    usage.add(&answer.usage);
                }
            }
        }
    }
    let mut stats = json!({
        "path": reader.path(),
        "id": reader.id(),
        "version": reader.header().version,
        "cwd": reader.header().cwd,
        "entries": reader.entry_count(),
        "branches": reader.tree().branch_count(),
        "leaf": reader.leaf(),
        "contextMessages": projection.message_count(),
        "contextTokens": projection.tokens(),
        "thinkingLevel": projection.thinking,
        "usage": usage,
        "warnings": warnings,
    });
    if let Some(name) = reader.name() {
        stats["name"] = name.into();
    }
    if let Some(model) = &projection.model {
        stats["model"] = json!({"provider": model.provider, "id": model.id});
    }
    Ok(stats)
}

fn tree(reader: &Reader, as_json: bool) -> Result<(), Failure> {
    let tree = reader.tree();
    let leaf = reader.leaf();
    if as_json {
        let (entries, _) = reader.entries()?;
        let rows: Vec<Value> = entries.iter().map(entry_json).collect();
        return print_json(&json!({"leafId": leaf, "entries": rows}));
    }
    for row in tree.rows(leaf.as_ref(), is_said) {
        let node = &tree.nodes()[row.node];
        let text = reader.entry(&node.id).map_or_else(|error| error.to_string(), |entry| headline(&entry));
        println!("{}{}  {}", drawn(&row), node.id.short(), one_line(&text));
    }
    Ok(())
}

fn is_said(node: &Node) -> bool {
    matches!(
        node.kind,
        EntryKind::Message | EntryKind::Compaction | EntryKind::BranchSummary | EntryKind::CustomMessage
    )
}

/// The lines before a row: `*` on the path to the leaf.
fn drawn(row: &Row) -> String {
    let sign = if row.on_path { "* " } else { "  " };
    match row.branch {
        BranchMark::Continues => format!("{sign}{}", "│  ".repeat(row.depth)),
        BranchMark::Begins => format!("{sign}{}├─ ", "│  ".repeat(row.depth.saturating_sub(1))),
        BranchMark::BeginsLast => format!("{sign}{}└─ ", "│  ".repeat(row.depth.saturating_sub(1))),
    }
}

fn headline(entry: &Entry) -> String {
    match &entry.body {
        EntryBody::Message(said) => match &*said.message {
            Message::User(user) => format!("> {}", user.content.joined_text()),
            Message::Assistant(answer) => {
                let calls: Vec<&str> = answer.tool_calls().map(|call| call.name.as_str()).collect();
                let calls = if calls.is_empty() { String::new() } else { format!(" [{}]", calls.join(", ")) };
                format!("{}{calls}", answer.joined_text())
            }
            Message::ToolResult(result) => {
                format!("  {}: {}", result.tool_name, joined_text(&result.content))
            }
            Message::BashExecution(bash) => format!("!{}", bash.command),
            Message::System(_) => "(system prompt)".to_owned(),
        },
        EntryBody::Compaction(_) => "(compacted)".to_owned(),
        EntryBody::BranchSummary { summary, .. } => format!("(another branch) {summary}"),
        EntryBody::CustomMessage { content, .. } => content.joined_text(),
        _ => String::new(),
    }
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
