//! The log as one JSON value: its entries as stored, or its tree.

use serde_json::json;
use serde_json::value::RawValue;
use tiller_core::id::EntryId;

use crate::annotations::Annotations;
use crate::error::SessionError;
use crate::reader::Reader;
use crate::tree::Tree;

/// Returns `{"entries", "leafId"}`: the entries after `since`, or all, as stored in the log. Unreadable
/// entries are omitted.
///
/// # Errors
/// If there is no such entry, or the log can't be read.
pub fn entries_json(reader: &Reader, since: Option<&EntryId>) -> Result<Box<RawValue>, SessionError> {
    let tree = reader.tree();
    let nodes = tree.nodes();
    let from = match since {
        None => 0,
        Some(id) => {
            let at = nodes.iter().rposition(|node| node.id == *id);
            at.ok_or_else(|| SessionError::NoEntry(id.clone()))? + 1
        }
    };
    let mut text = String::from("{\"entries\":[");
    reader.raw_lines(from..nodes.len(), |_, line| {
        if let Some(line) = line {
            text.push_str(if text.ends_with('[') { "" } else { "," });
            text.push_str(line.get());
        }
    })?;
    text.push_str("],");
    Ok(with_leaf(text, nodes.last().map(|node| &node.id)))
}

/// Returns `{"tree", "leafId"}`: each entry with its label and its children.
///
/// # Errors
/// If the log can't be read.
pub fn tree_json(reader: &Reader) -> Result<Box<RawValue>, SessionError> {
    let tree = reader.tree();
    let annotations = Annotations::read(reader, &tree);
    // The depth of the tree grows with the conversation, so recursion could overflow the stack.
    let mut lines: Vec<Option<String>> = vec![None; tree.nodes().len()];
    reader.raw_lines(0..tree.nodes().len(), |at, line| {
        lines[at] = line.map(|line| line.get().to_owned());
    })?;
    let mut text = String::from("{\"tree\":[");
    let roots = (0..tree.nodes().len()).rev().filter(|&at| tree.nodes()[at].parent.is_none());
    let mut open: Vec<TreeVisit> = roots.map(TreeVisit::Enter).collect();
    while let Some(visit) = open.pop() {
        match visit {
            TreeVisit::Enter(at) => {
                text.push_str(if text.ends_with('[') { "" } else { "," });
                text.push_str(&node_head(&tree, at, lines[at].take(), annotations.label(at)));
                open.push(TreeVisit::Leave);
                open.extend(tree.children(at).iter().rev().copied().map(TreeVisit::Enter));
            }
            TreeVisit::Leave => text.push_str("]}"),
        }
    }
    text.push_str("],");
    Ok(with_leaf(text, tree.nodes().last().map(|node| &node.id)))
}

enum TreeVisit {
    Enter(usize),
    Leave,
}

/// Returns the JSON of a node up to its children.
fn node_head(tree: &Tree, at: usize, line: Option<String>, label: Option<&str>) -> String {
    let damaged = || json!({"type": "damaged", "id": tree.nodes()[at].id}).to_string();
    let label = label.map(|label| format!(",\"label\":{}", json!(label))).unwrap_or_default();
    format!("{{\"entry\":{}{label},\"children\":[", line.unwrap_or_else(damaged))
}

/// Completes an object with `leafId`.
fn with_leaf(text: String, leaf: Option<&EntryId>) -> Box<RawValue> {
    let text = format!("{text}\"leafId\":{}}}", json!(leaf));
    RawValue::from_string(text).expect("it is made of JSON")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::Value;

    use super::*;
    use tiller_core::message::{Message, UserMessage};
    use tiller_core::unit::UnixMs;

    use crate::{EntryBody, Placement, SessionManager, Writer};

    fn append(writer: &mut Writer, text: &str) -> EntryId {
        let message = Message::User(UserMessage::text(text, UnixMs(0)));
        let appended = writer.append(EntryBody::message(Arc::new(message)), UnixMs(0)).unwrap();
        appended.last().unwrap().id.clone()
    }

    fn memory() -> Writer {
        SessionManager::new(Placement::Memory, "/".into()).create(UnixMs(0))
    }

    /// Formats the tree: each message, then its children.
    fn view(node: &Value) -> String {
        let children: Vec<String> = node["children"].as_array().unwrap().iter().map(view).collect();
        let text = node["entry"]["message"]["content"][0]["text"].as_str().unwrap_or("·");
        let label = node["label"].as_str().map(|label| format!(" [{label}]")).unwrap_or_default();
        format!("{text}{label}({})", children.join(" "))
    }

    #[test]
    fn tree_has_every_branch_and_label() {
        let mut writer = memory();
        let root = append(&mut writer, "root");
        append(&mut writer, "left");
        writer.branch(Some(&root), UnixMs(0)).unwrap();
        let right = append(&mut writer, "right");
        writer.label(&root, Some("start"), UnixMs(0)).unwrap();
        let data: Value = serde_json::from_str(tree_json(&writer.reader()).unwrap().get()).unwrap();
        let roots: Vec<String> = data["tree"].as_array().unwrap().iter().map(view).collect();
        assert_eq!(roots, ["root [start](left() ·(right(·())))"]);
        let since = entries_json(&writer.reader(), Some(&right)).unwrap();
        let since: Value = serde_json::from_str(since.get()).unwrap();
        assert_eq!(since["entries"].as_array().unwrap().len(), 1, "{since}");
        assert_eq!(since["entries"][0]["type"], "label");
        assert_eq!(since["leafId"], data["leafId"]);
        assert!(entries_json(&writer.reader(), Some(&"nowhere".into())).is_err());
    }

    #[test]
    fn tree_deep_tree_is_encoded() {
        let mut writer = memory();
        for _ in 0..20_000 {
            append(&mut writer, "on");
        }
        let data = tree_json(&writer.reader()).unwrap();
        assert_eq!(data.get().matches("\"children\":[").count(), 20_000);
        assert!(data.get().starts_with(r#"{"tree":[{"entry":{"#), "{}", &data.get()[..80]);
    }

    #[test]
    fn tree_of_empty_session_has_no_leaf() {
        let reader = memory().reader();
        assert_eq!(tree_json(&reader).unwrap().get(), r#"{"tree":[],"leafId":null}"#);
        assert_eq!(entries_json(&reader, None).unwrap().get(), r#"{"entries":[],"leafId":null}"#);
    }
}
