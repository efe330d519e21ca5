//! The files that the model read and modified, derived from its tool calls. Pure.

use std::collections::HashSet;

use serde_json::{Value, json};
use tiller_core::id::CallId;
use tiller_core::message::{Message, ToolCall};
use tiller_core::tool_catalog::ToolCatalog;
use tiller_core::tool_spec::{Access, TouchedPaths};
use tiller_session::context::ProjectedMessage;
use tiller_tools::tool::SeenHashes;

/// Maximum number of files of each kind in a summary; the entry's details name all of them.
const MAX_LISTED: usize = 100;

/// Files that were read and files that were modified, most recent last. No file is in both lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// Files that were only read.
    pub read: Vec<String>,
    /// Files that were written or edited.
    pub modified: Vec<String>,
    /// The contents that the model has seen.
    pub seen: SeenHashes,
}

impl Files {
    /// Parses the `details` of a compaction or of a branch summary.
    #[must_use]
    pub(crate) fn from_details(details: &Value) -> Self {
        let list = |key: &str| {
            let names = details.get(key).and_then(Value::as_array).into_iter().flatten();
            names.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
        };
        let mut files = Self::default();
        files.add(list("readFiles"), list("modifiedFiles"));
        files.seen.add(details);
        files
    }

    /// Returns the `details` for the log.
    #[must_use]
    pub(crate) fn to_details(&self) -> Value {
        let mut details = json!({ "readFiles": self.read, "modifiedFiles": self.modified });
        self.seen.add_to_details(&mut details);
        details
    }

    /// Adds the files of later details.
    pub fn merge(&mut self, later: Self) {
        self.add(later.read, later.modified);
        self.seen.merge(later.seen);
    }

    /// Adds the files of the successful calls among these messages, according to the tools' traits, and the contents
    /// in their results.
    pub(crate) fn add_calls(&mut self, messages: &[ProjectedMessage], tools: &ToolCatalog) {
        let successful: HashSet<&CallId> = messages
            .iter()
            .filter_map(|projected| match &*projected.message {
                Message::ToolResult(result) if !result.is_error => Some(&result.tool_call_id),
                _ => None,
            })
            .collect();
        for projected in messages {
            match &*projected.message {
                Message::Assistant(answer) => answer
                    .tool_calls()
                    .filter(|call| successful.contains(&call.id))
                    .for_each(|call| self.add_call(call, tools)),
                Message::ToolResult(result) => {
                    result.details.iter().for_each(|details| self.seen.add(details));
                }
                _ => {}
            }
        }
    }

    /// Formats the lists as the end of a summary; empty if there are no files.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (tag, names) in [("files-modified", &self.modified), ("files-read", &self.read)] {
            if names.is_empty() {
                continue;
            }
            let unnamed = names.len().saturating_sub(MAX_LISTED);
            text.push_str(&format!("\n\n<{tag}>\n"));
            if unnamed > 0 {
                text.push_str(&format!("({unnamed} earlier ones are not named here)\n"));
            }
            text.push_str(&names[unnamed..].join("\n"));
            text.push_str(&format!("\n</{tag}>"));
        }
        text
    }

    fn add_call(&mut self, call: &ToolCall, tools: &ToolCatalog) {
        let Some(path) = call.arguments.get("path").and_then(Value::as_str) else { return };
        let traits = tools.traits(&call.name);
        match (traits.paths, traits.access) {
            (TouchedPaths::File, Access::Reads) => self.add(vec![path.to_owned()], Vec::new()),
            (TouchedPaths::File, Access::Writes) => self.add(Vec::new(), vec![path.to_owned()]),
            (TouchedPaths::File, Access::Network | Access::Publishes | Access::Executes)
            | (TouchedPaths::Tree | TouchedPaths::Undeclared, _) => {}
        }
    }

    fn add(&mut self, read: Vec<String>, modified: Vec<String>) {
        move_to_end(&mut self.modified, modified);
        move_to_end(&mut self.read, read);
        let modified: HashSet<&String> = self.modified.iter().collect();
        self.read.retain(|name| !modified.contains(name));
    }
}

fn move_to_end(names: &mut Vec<String>, later: Vec<String>) {
    for name in later {
        names.retain(|existing| *existing != name);
        names.push(name);
    }
}

#[cfg(test)]
mod tests {
    use tiller_core::message::{AssistantBlock, AssistantMessage, ToolResultMessage};
    use tiller_core::unit::UnixMs;
    use tiller_tools::tool::built_in_tools;

    use super::*;

    use std::sync::Arc;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn call_with_result(id: &str, tool: &str, path: &str, is_error: bool) -> Vec<ProjectedMessage> {
        let arguments = json!({ "path": path }).to_string();
        let call = ToolCall::from_streamed(id.into(), tool.into(), &arguments);
        let answer = AssistantMessage { content: vec![AssistantBlock::ToolCall(call)], ..Default::default() };
        let result = ToolResultMessage {
            tool_call_id: id.into(),
            tool_name: tool.into(),
            content: Vec::new(),
            details: None,
            is_error,
            timestamp: UnixMs(1),
        };
        let projected = |message| ProjectedMessage { entry: "e".into(), message: Arc::new(message) };
        vec![projected(Message::Assistant(answer)), projected(Message::ToolResult(result))]
    }

    #[test]
    fn files_successful_calls_are_listed() {
        let calls = [
            call_with_result("1", "read_file", "a.rs", false),
            call_with_result("2", "read_file", "b.rs", false),
            call_with_result("3", "edit_file", "b.rs", false),
            call_with_result("4", "write_file", "c.rs", false),
            call_with_result("5", "read_file", "lost.rs", true),
            call_with_result("6", "bash", "d.rs", false),
            call_with_result("7", "read_file", "a.rs", false),
        ];
        let mut files = Files::default();
        files.add_calls(&calls.concat(), &built_in_tools());
        assert_eq!(
            files,
            Files { read: names(&["a.rs"]), modified: names(&["b.rs", "c.rs"]), ..Files::default() }
        );
    }

    #[test]
    fn files_call_without_result_is_not_listed() {
        let mut files = Files::default();
        files.add_calls(&call_with_result("1", "read_file", "a.rs", false)[..1], &built_in_tools());
        assert_eq!(files, Files::default());
    }

    #[test]
    fn files_details_round_trip() {
        let mut seen = SeenHashes::default();
        seen.add(&json!({"seen": {"path": "a", "sha256": "1f"}}));
        let files = Files { read: names(&["a"]), modified: names(&["b"]), seen };
        assert_eq!(files.to_details()["seen"], json!([{"path": "a", "sha256": "1f"}]));
        assert_eq!(Files::from_details(&files.to_details()), files);
        assert_eq!(Files::from_details(&json!({"readFiles": 7, "modifiedFiles": [1, "x"]})).modified, ["x"]);
    }

    #[test]
    fn files_modified_later_are_no_longer_read_only() {
        let mut files = Files { read: names(&["a", "b"]), ..Files::default() };
        files.merge(Files { read: names(&["a"]), modified: names(&["b"]), ..Files::default() });
        assert_eq!(files, Files { read: names(&["a"]), modified: names(&["b"]), ..Files::default() });
        assert_eq!(
            files.to_text(),
            "\n\n<files-modified>\nb\n</files-modified>\n\n<files-read>\na\n</files-read>"
        );
    }

    #[test]
    fn files_long_list_names_the_latest() {
        let files =
            Files { read: (0..MAX_LISTED + 2).map(|at| at.to_string()).collect(), ..Files::default() };
        let listed = files.to_text();
        assert!(
            listed.starts_with("\n\n<files-read>\n(2 earlier ones are not named here)\n2\n3\n"),
            "{listed}"
        );
        assert_eq!(files.to_details()["readFiles"].as_array().map(Vec::len), Some(MAX_LISTED + 2));
    }
}
