//! JSON views of session data, in the protocol's format.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::agent::turn::AnnouncedRetry;
use crate::agent::{BashContext, InFlight, RunningBash, RunningCall, SlashCommand, Summarizing, SummaryOf};
use crate::event::{QueueItem, QueueKind};
use crate::id::EntryId;
use crate::message::{Message, joined_text};
use crate::provider::catalog::{ImageInput, ModelFacts};
use crate::session::annotations::Annotations;
use crate::session::tree::Tree;
use crate::session::{Reader, SessionError, SessionList, chain};

/// A model. Prices are in US dollars per million tokens, 0 if unknown.
pub(super) fn model(facts: &ModelFacts, api: &str) -> Value {
    let cost = match facts.price {
        Some(price) => json!({
            "input": price.input,
            "output": price.output,
            "cacheRead": price.cache_read,
            "cacheWrite": price.cache_write,
        }),
        None => json!({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}),
    };
    json!({
        "id": facts.id,
        "name": facts.id,
        "api": api,
        "provider": facts.provider,
        "baseUrl": "",
        "reasoning": facts.thinks(),
        "input": if facts.image_input == ImageInput::Unsupported { &["text"][..] } else { &["text", "image"] },
        "contextWindow": facts.window,
        "maxTokens": facts.max_output,
        "cost": cost,
    })
}

/// The queued messages: texts by kind, and the items themselves.
pub(super) fn queue(items: &[QueueItem]) -> Value {
    let texts = |kind: QueueKind| -> Vec<&str> {
        items.iter().filter(|item| item.kind == kind).map(|item| item.text.as_str()).collect()
    };
    json!({"steering": texts(QueueKind::Steer), "followUp": texts(QueueKind::FollowUp), "items": items})
}

/// The work in flight of a session.
pub(super) fn live(live: &InFlight) -> Value {
    json!({
        "runningSince": live.running_since,
        "partial": live.partial,
        "calls": live.calls.iter().map(running_call).collect::<Vec<_>>(),
        "queue": live.queue,
        "approvals": live.approvals,
        "bash": live.bash.as_ref().map(running_bash),
        "summary": live.summary.as_ref().map(summarizing),
        "retry": live.retry.as_ref().map(retry),
    })
}

fn retry(retry: &AnnouncedRetry) -> Value {
    json!({"attempt": retry.attempt, "maxAttempts": retry.max_attempts, "at": retry.due, "errorMessage": retry.error})
}

fn running_call(call: &RunningCall) -> Value {
    json!({
        "toolCallId": call.id,
        "toolName": call.name,
        "args": call.arguments,
        "since": call.since,
        "partialResult": call.partial,
    })
}

fn summarizing(summary: &Summarizing) -> Value {
    let (of, reason) = match summary.of {
        SummaryOf::Context(reason) => ("context", Some(reason)),
        SummaryOf::Branch => ("branch", None),
    };
    let retry = summary.retry.as_ref().map(retry);
    json!({"of": of, "reason": reason, "since": summary.since, "retry": retry, "failed": summary.failed})
}

fn running_bash(bash: &RunningBash) -> Value {
    json!({
        "entryId": bash.id,
        "command": bash.line,
        "excludeFromContext": bash.context == BashContext::Exclude,
        "since": bash.since,
        "output": bash.last_lines().text,
    })
}

/// A slash command and its source.
pub(super) fn slash_command(command: &SlashCommand) -> Value {
    let mut view = json!(command);
    view["sourceInfo"] = json!({"path": command.location});
    view
}

/// A list of sessions, with the logs that can't be read.
pub(super) fn session_list(list: &SessionList) -> Value {
    let unreadable: Vec<String> = list.unreadable.iter().map(|error| chain(error)).collect();
    json!({"sessions": list.sessions, "unreadable": unreadable})
}

/// The user's messages on the path to the leaf, for `fork`.
pub(super) fn fork_messages(reader: &Reader) -> Value {
    let path = reader.leaf().and_then(|leaf| reader.path_to(&leaf).ok()).unwrap_or_default();
    let message = |id: &EntryId| {
        let entry = reader.entry(id).ok()?;
        let Message::User(user) = &**entry.body.as_message()? else { return None };
        Some(json!({"entryId": id, "text": joined_text(&user.content.to_blocks())}))
    };
    json!({"messages": path.iter().filter_map(message).collect::<Vec<_>>()})
}

/// The entries after `since`, or all, as stored in the log; unreadable ones are left out.
pub(super) fn entries(reader: &Reader, since: Option<&EntryId>) -> Result<Box<RawValue>, SessionError> {
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

/// The whole tree: each entry with its children.
///
/// The depth of a tree grows with the conversation, so this is not recursive.
pub(super) fn tree(reader: &Reader) -> Result<Box<RawValue>, SessionError> {
    let tree = reader.tree();
    let annotations = Annotations::read(reader, &tree);
    let mut lines: Vec<Option<String>> = vec![None; tree.nodes().len()];
    reader.raw_lines(0..tree.nodes().len(), |at, line| {
        lines[at] = line.map(|line| line.get().to_owned());
    })?;
    let mut text = String::from("{\"tree\":[");
    let roots = (0..tree.nodes().len()).rev().filter(|&at| tree.nodes()[at].parent.is_none());
    let mut open: Vec<Visit> = roots.map(Visit::Enter).collect();
    while let Some(visit) = open.pop() {
        match visit {
            Visit::Enter(at) => {
                text.push_str(if text.ends_with('[') { "" } else { "," });
                text.push_str(&node_head(&tree, at, lines[at].take(), annotations.label(at)));
                open.push(Visit::Leave);
                open.extend(tree.children(at).iter().rev().copied().map(Visit::Enter));
            }
            Visit::Leave => text.push_str("]}"),
        }
    }
    text.push_str("],");
    Ok(with_leaf(text, tree.nodes().last().map(|node| &node.id)))
}

enum Visit {
    Enter(usize),
    Leave,
}

/// The JSON of a node up to its children.
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

    use super::*;
    use crate::message::UserMessage;
    use crate::session::{EntryBody, Placement, SessionManager, Writer};
    use crate::unit::UnixMs;

    fn append(writer: &mut Writer, text: &str) -> EntryId {
        let message = Message::User(UserMessage::text(text, UnixMs(0)));
        let appended = writer.append(EntryBody::message(Arc::new(message)), UnixMs(0)).unwrap();
        appended.last().unwrap().id.clone()
    }

    fn memory() -> Writer {
        SessionManager::new(Placement::Memory, "/".into()).create(UnixMs(0))
    }

    /// The tree as text: each message, then its children.
    fn view(node: &Value) -> String {
        let children: Vec<String> = node["children"].as_array().unwrap().iter().map(view).collect();
        let what = node["entry"]["message"]["content"][0]["text"].as_str().unwrap_or("·");
        let label = node["label"].as_str().map(|label| format!(" [{label}]")).unwrap_or_default();
        format!("{what}{label}({})", children.join(" "))
    }

    #[test]
    fn tree_has_every_branch_and_label() {
        let mut writer = memory();
        let root = append(&mut writer, "root");
        append(&mut writer, "left");
        writer.branch(Some(&root), UnixMs(0)).unwrap();
        let right = append(&mut writer, "right");
        writer.label(&root, Some("start"), UnixMs(0)).unwrap();
        let data: Value = serde_json::from_str(tree(&writer.reader()).unwrap().get()).unwrap();
        let roots: Vec<String> = data["tree"].as_array().unwrap().iter().map(view).collect();
        assert_eq!(roots, ["root [start](left() ·(right(·())))"]);
        let since = entries(&writer.reader(), Some(&right)).unwrap();
        let since: Value = serde_json::from_str(since.get()).unwrap();
        assert_eq!(since["entries"].as_array().unwrap().len(), 1, "{since}");
        assert_eq!(since["entries"][0]["type"], "label");
        assert_eq!(since["leafId"], data["leafId"]);
        assert!(entries(&writer.reader(), Some(&"nowhere".into())).is_err());
    }

    #[test]
    fn tree_deep_tree_is_encoded() {
        let mut writer = memory();
        for _ in 0..20_000 {
            append(&mut writer, "on");
        }
        let data = tree(&writer.reader()).unwrap();
        assert_eq!(data.get().matches("\"children\":[").count(), 20_000);
        assert!(data.get().starts_with(r#"{"tree":[{"entry":{"#), "{}", &data.get()[..80]);
    }

    #[test]
    fn tree_of_empty_session_has_no_leaf() {
        let reader = memory().reader();
        assert_eq!(tree(&reader).unwrap().get(), r#"{"tree":[],"leafId":null}"#);
        assert_eq!(entries(&reader, None).unwrap().get(), r#"{"entries":[],"leafId":null}"#);
        assert_eq!(fork_messages(&reader), json!({"messages": []}));
    }
}
