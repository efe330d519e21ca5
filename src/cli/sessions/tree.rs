//! `tiller sessions tree`.

use serde_json::{Value, json};

use super::{entry_json, one_line, print_json};
use crate::cli::Failure;
use crate::message::{Message, joined_text};
use crate::session::tree::{BranchMark, Node, Row};
use crate::session::{Entry, EntryBody, EntryKind, Reader};

pub(super) fn tree(reader: &Reader, as_json: bool) -> Result<(), Failure> {
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

fn is_said(_: usize, node: &Node) -> bool {
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
