//! Formats a session's tree as text for screen readers: one line per entry, which states the entry's
//! position.

use crate::id::EntryId;
use crate::message::{AssistantMessage, Message};
use crate::session::annotations::Annotations;
use crate::session::tree::{BranchMark, TreeRow};
use crate::session::{Entry, EntryBody, Reader};

/// Maximum length of an entry's text, in characters.
const MAX_CHARS: usize = 72;

/// Maximum indentation level.
const MAX_INDENT: usize = 12;

/// Formats the tree without hidden branches.
pub(super) fn text(reader: &Reader) -> String {
    let (tree, leaf) = (reader.tree(), reader.leaf());
    let annotations = Annotations::read(reader, &tree);
    let hidden = annotations.hiding_ancestors(&tree, leaf.as_ref());
    let mut labels: Vec<Option<String>> = Vec::with_capacity(tree.nodes().len());
    // Unreadable entries are omitted; the log's findings report them.
    let _ = reader.visit(0, |entry| labels.push(entry.ok().as_ref().and_then(format_entry)));
    labels.resize(tree.nodes().len(), None);
    let rows = tree.rows(leaf.as_ref(), |at, _| labels[at].is_some() && hidden[at].is_none());
    let last = rows.iter().rposition(|row| row.on_path);
    let line = |(at, row): (usize, &TreeRow)| {
        let suffix = if Some(at) == last { ", current" } else { "" };
        let label = annotations.label(row.node).map(|label| format!(", labeled {label}")).unwrap_or_default();
        let branch = match row.branch {
            BranchMark::Continues => "",
            BranchMark::Begins | BranchMark::BeginsLast => "branch: ",
        };
        let indent = "  ".repeat(row.depth.min(MAX_INDENT));
        let id = tree.nodes()[row.node].id.short();
        let text = labels[row.node].as_deref().unwrap_or_default();
        format!("{indent}{branch}{id}{suffix}{label}: {text}\n")
    };
    let text: String = rows.iter().enumerate().map(line).collect();
    if text.is_empty() { "no messages yet\n".to_owned() } else { text }
}

/// Formats the user's messages on the path to the leaf, newest first.
pub(super) fn user_messages(reader: &Reader) -> String {
    let path = reader.leaf().and_then(|leaf| reader.path_to(&leaf).ok()).unwrap_or_default();
    let line = |id: &EntryId| {
        let entry = reader.entry(id).ok()?;
        let Message::User(user) = &**entry.body.as_message()? else { return None };
        Some(format!("{}: {}\n", id.short(), truncate(&user.content.joined_text())))
    };
    let text: String = path.iter().rev().filter_map(line).collect();
    if text.is_empty() { "no messages yet\n".to_owned() } else { text }
}

/// Returns the newest user or model message on the path to the leaf.
pub(super) fn newest_message(reader: &Reader) -> Option<EntryId> {
    let path = reader.leaf().and_then(|leaf| reader.path_to(&leaf).ok())?;
    path.into_iter().rev().find(|id| {
        let entry = reader.entry(id).ok();
        let message = entry.as_ref().and_then(|entry| entry.body.as_message());
        matches!(message.map(|message| &**message), Some(Message::User(_) | Message::Assistant(_)))
    })
}

/// Formats an entry; `None` for entries that aren't shown.
fn format_entry(entry: &Entry) -> Option<String> {
    match &entry.body {
        EntryBody::Message(entry) => match &*entry.message {
            Message::User(user) => Some(format!("you: {}", truncate(&user.content.joined_text()))),
            Message::Assistant(answer) => Some(format!("answer: {}", format_answer(answer))),
            Message::BashExecution(bash) => Some(format!("command: {}", truncate(&bash.command))),
            Message::ToolResult(_) | Message::System(_) => None,
        },
        EntryBody::Compaction(_) => Some("compacted".to_owned()),
        EntryBody::BranchSummary { .. } => Some("summary of another branch".to_owned()),
        _ => None,
    }
}

fn format_answer(answer: &AssistantMessage) -> String {
    let text = answer.joined_text();
    if !text.trim().is_empty() {
        return truncate(&text);
    }
    let calls: Vec<&str> = answer.tool_calls().map(|call| call.name.as_str()).collect();
    if calls.is_empty() { "none".to_owned() } else { format!("calls {}", calls.join(", ")) }
}

/// Shortens a string to one line.
pub(super) fn truncate(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_CHARS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::message::UserMessage;
    use crate::session::{Placement, SessionManager};
    use crate::unit::UnixMs;

    #[test]
    fn tree_text_has_branches_labels_and_position() {
        let mut writer = SessionManager::new(Placement::Memory, "/".into()).create(UnixMs(0));
        let append_user = |writer: &mut crate::session::Writer, text: &str| {
            let message = Message::User(UserMessage::text(text, UnixMs(0)));
            writer.append(EntryBody::message(Arc::new(message)), UnixMs(0)).unwrap().pop().unwrap().id
        };
        let root = append_user(&mut writer, "root");
        append_user(&mut writer, "first way");
        writer.branch(Some(&root), UnixMs(0)).unwrap();
        append_user(&mut writer, &"long ".repeat(40));
        writer.label(&root, Some("start"), UnixMs(0)).unwrap();
        let text = text(&writer.reader());
        let lines: Vec<&str> = text.lines().map(|line| line.trim_start()).collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert_eq!(lines[0], format!("{}, labeled start: you: root", root.short()));
        assert!(lines.iter().any(|line| line.starts_with("branch: ") && line.ends_with(": you: first way")));
        let current = lines.iter().find(|line| line.contains(", current")).unwrap();
        assert!(current.ends_with('…') && current.contains(": you: long long"), "{current}");
        let newest = newest_message(&writer.reader()).unwrap();
        assert_eq!(user_messages(&writer.reader()).lines().count(), 2);
        assert!(current.contains(newest.short()));
    }
}
