//! A session's tree as text: a line an entry, told in words where it stands.

use crate::id::EntryId;
use crate::message::{AssistantMessage, Message};
use crate::session::annotations::Annotations;
use crate::session::tree::{BranchMark, TreeRow};
use crate::session::{Entry, EntryBody, Reader};

/// Characters of a text that are shown.
const SHOWN: usize = 72;

/// Deepest branch that is still moved to the right.
const DEEPEST: usize = 12;

/// The whole tree without what is hidden.
pub(super) fn text(reader: &Reader) -> String {
    let (tree, leaf) = (reader.tree(), reader.leaf());
    let marks = Annotations::of(reader, &tree);
    let hidden = marks.hidden_with(&tree, leaf.as_ref());
    let mut labels: Vec<Option<String>> = Vec::with_capacity(tree.nodes().len());
    // One that can't be read is shown by nobody; the log's findings name it.
    let _ = reader.visit(0, |entry| labels.push(entry.ok().as_ref().and_then(told)));
    labels.resize(tree.nodes().len(), None);
    let rows = tree.rows(leaf.as_ref(), |at, _| labels[at].is_some() && hidden[at].is_none());
    let last = rows.iter().rposition(|row| row.on_path);
    let line = |(at, row): (usize, &TreeRow)| {
        let place = if Some(at) == last { ", you are here" } else { "" };
        let label = marks.label(row.node).map(|label| format!(", labelled {label}")).unwrap_or_default();
        let branch = match row.branch {
            BranchMark::Continues => "",
            BranchMark::Begins | BranchMark::BeginsLast => "branch: ",
        };
        let lead = "  ".repeat(row.depth.min(DEEPEST));
        let id = tree.nodes()[row.node].id.short();
        let what = labels[row.node].as_deref().unwrap_or_default();
        format!("{lead}{branch}{id}{place}{label}: {what}\n")
    };
    let text: String = rows.iter().enumerate().map(line).collect();
    if text.is_empty() { "nothing was said yet\n".to_owned() } else { text }
}

/// What the user said on the path to the leaf, newest first.
pub(super) fn said(reader: &Reader) -> String {
    let path = reader.leaf().and_then(|leaf| reader.path_to(&leaf).ok()).unwrap_or_default();
    let line = |id: &EntryId| {
        let entry = reader.entry(id).ok()?;
        let Message::User(user) = &**entry.body.as_message()? else { return None };
        Some(format!("{}: {}\n", id.short(), cut(&user.content.joined_text())))
    };
    let text: String = path.iter().rev().filter_map(line).collect();
    if text.is_empty() { "nothing was said yet\n".to_owned() } else { text }
}

/// What was said last on the path to the leaf, by the user or the model.
pub(super) fn newest_message(reader: &Reader) -> Option<EntryId> {
    let path = reader.leaf().and_then(|leaf| reader.path_to(&leaf).ok())?;
    path.into_iter().rev().find(|id| {
        let entry = reader.entry(id).ok();
        let message = entry.as_ref().and_then(|entry| entry.body.as_message());
        matches!(message.map(|message| &**message), Some(Message::User(_) | Message::Assistant(_)))
    })
}

/// How an entry is told; `None` for those that aren't.
fn told(entry: &Entry) -> Option<String> {
    match &entry.body {
        EntryBody::Message(said) => match &*said.message {
            Message::User(user) => Some(format!("you: {}", cut(&user.content.joined_text()))),
            Message::Assistant(answer) => Some(format!("answer: {}", answered(answer))),
            Message::BashExecution(bash) => Some(format!("command: {}", cut(&bash.command))),
            Message::ToolResult(_) | Message::System(_) => None,
        },
        EntryBody::Compaction(_) => Some("compacted".to_owned()),
        EntryBody::BranchSummary { .. } => Some("summary of another branch".to_owned()),
        _ => None,
    }
}

fn answered(answer: &AssistantMessage) -> String {
    let text = answer.joined_text();
    if !text.trim().is_empty() {
        return cut(&text);
    }
    let calls: Vec<&str> = answer.tool_calls().map(|call| call.name.as_str()).collect();
    if calls.is_empty() { "none".to_owned() } else { format!("calls {}", calls.join(", ")) }
}

/// A text on one line, as much of it as is shown.
pub(super) fn cut(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
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
    fn a_tree_is_told_in_words() {
        let mut writer = SessionManager::new(Placement::Memory, "/".into()).create(UnixMs(0));
        let say = |writer: &mut crate::session::Writer, text: &str| {
            let message = Message::User(UserMessage::text(text, UnixMs(0)));
            writer.append(EntryBody::message(Arc::new(message)), UnixMs(0)).unwrap().pop().unwrap().id
        };
        let root = say(&mut writer, "root");
        say(&mut writer, "first way");
        writer.branch(Some(&root), UnixMs(0)).unwrap();
        say(&mut writer, &"long ".repeat(40));
        writer.label(&root, Some("start"), UnixMs(0)).unwrap();
        let text = text(&writer.reader());
        let lines: Vec<&str> = text.lines().map(|line| line.trim_start()).collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert_eq!(lines[0], format!("{}, labelled start: you: root", root.short()));
        assert!(lines.iter().any(|line| line.starts_with("branch: ") && line.ends_with(": you: first way")));
        let here = lines.iter().find(|line| line.contains("you are here")).unwrap();
        assert!(here.ends_with('…') && here.contains(": you: long long"), "{here}");
        let newest = newest_message(&writer.reader()).unwrap();
        assert_eq!(said(&writer.reader()).lines().count(), 2);
        assert!(here.contains(newest.short()));
    }
}
