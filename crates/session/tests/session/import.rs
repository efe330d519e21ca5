//! Tests of imports. The sources below `tests/foreign` are invented, in the formats that the programs write.

mod claude;
mod codex;
mod garbage;
mod pi;
mod reimport;

use std::time::SystemTime;

use tiller_core::message::{AssistantBlock, AssistantMessage, StopReason, Usage, UserBlock};
use tiller_session::EntryKind;
use tiller_session::import::{ImportMode, ImportResult, ImportStatus, Importer, SourceFormat, find_logs};

use super::*;

fn foreign(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/foreign").join(name)
}

impl Sandbox {
    fn importer(&self, mode: ImportMode) -> Importer<'_> {
        Importer { manager: &self.manager, only: None, mode, now: NOW }
    }

    fn import(&self, source: &Path) -> ImportResult {
        self.importer(ImportMode::Write).file(source)
    }

    /// Copies a source, to change it.
    fn copy(&self, name: &str) -> PathBuf {
        let source = foreign(name);
        let copy = self.root.path().join(source.file_name().unwrap());
        fs::copy(source, &copy).unwrap();
        copy
    }

    /// Writes a source of these lines.
    fn source(&self, name: &str, lines: &[impl AsRef<str>]) -> PathBuf {
        let path = self.root.path().join(name);
        let text: String = lines.iter().map(|line| format!("{}\n", line.as_ref())).collect();
        fs::write(&path, text).unwrap();
        path
    }
}

/// Imports a source, asserts that the session has no findings, and opens it.
fn import_source(sandbox: &Sandbox, source: &Path) -> (ImportResult, Reader) {
    let imported = sandbox.import(source);
    let path = imported.path.as_ref().unwrap_or_else(|| panic!("{imported:?}"));
    let reader = Reader::open(path).unwrap();
    assert_eq!(reader.findings(), []);
    entries_of(&reader);
    (imported, reader)
}

/// The warnings in short: line, count, kind.
fn warnings(imported: &ImportResult) -> Vec<(u64, u64, &str)> {
    imported.notes.iter().map(|warning| (warning.line, warning.count, warning.what.as_str())).collect()
}

/// A message as one line of text.
fn describe(message: &Message) -> String {
    match message {
        Message::User(user) => format!("user: {}", blocks(&user.content.to_blocks())),
        Message::Assistant(answer) => {
            let parts: Vec<String> = answer.content.iter().map(part).collect();
            let end = match answer.stop_reason {
                StopReason::Error => format!("error {}", answer.error_message.as_deref().unwrap_or_default()),
                reason => format!("{reason:?}"),
            };
            format!("{}/{}: {} ({end})", answer.provider, answer.model, parts.join(" "))
        }
        Message::ToolResult(result) => {
            let label = if result.is_error { "error" } else { "result" };
            format!("{label} {} {}: {}", result.tool_call_id, result.tool_name, blocks(&result.content))
        }
        Message::BashExecution(bash) => format!("!{}: {:?}", bash.command, bash.output),
        Message::System(system) => format!("system: {}", system.content),
    }
}

fn blocks(blocks: &[UserBlock]) -> String {
    let block = |block: &UserBlock| match block {
        UserBlock::Text { text } => text.clone(),
        UserBlock::Image { data, mime_type } => format!("[{mime_type} {data}]"),
        UserBlock::Unknown => "?".into(),
    };
    blocks.iter().map(block).collect::<Vec<_>>().join(" ")
}

fn part(part: &AssistantBlock) -> String {
    match part {
        AssistantBlock::Text { text, .. } => text.clone(),
        AssistantBlock::Thinking { thinking, thinking_signature } => {
            format!("{{{thinking}|{}}}", thinking_signature.as_deref().unwrap_or_default())
        }
        AssistantBlock::ToolCall(call) => match &call.raw_arguments {
            Some(raw) => format!("<{} {} {raw:?}>", call.id, call.name),
            None => format!("<{} {} {}>", call.id, call.name, call.arguments),
        },
        AssistantBlock::Unknown => "?".into(),
    }
}

/// The request messages at the current leaf.
fn request(reader: &Reader) -> Vec<String> {
    let projection = projection(reader);
    let request = context::request_messages(projection.messages.iter().map(|projected| &projected.message));
    request.iter().map(|message| describe(message)).collect()
}

/// Every message in file order.
fn messages(reader: &Reader) -> Vec<String> {
    let entries = entries_of(reader);
    entries.iter().filter_map(|entry| entry.body.as_message()).map(|message| describe(message)).collect()
}

/// Total usage of all answers.
fn total_usage(reader: &Reader) -> [u64; 5] {
    let mut sum = Usage::default();
    for entry in entries_of(reader) {
        if let Some(Message::Assistant(AssistantMessage { usage, .. })) =
            entry.body.as_message().map(|message| &**message)
        {
            sum.add(usage);
        }
    }
    [sum.input, sum.output, sum.cache_read, sum.cache_write, sum.total_tokens].map(|tokens| tokens.0)
}

/// The kinds of entry on the path to the leaf.
fn kinds(reader: &Reader) -> Vec<EntryKind> {
    let tree = reader.tree();
    let kind = |id: &EntryId| tree.nodes().iter().find(|node| node.id == *id).unwrap().kind;
    reader.path_to(&reader.leaf().unwrap()).unwrap().iter().map(kind).collect()
}

#[test]
fn import_command_output_keeps_text_and_colors() {
    for (source, expected) in
        [("codex/sessions/rollout-mill.jsonl", "\"Wednesday\""), ("claude/orchard.jsonl", "\"apple\\npear\"")]
    {
        let sandbox = Sandbox::new();
        let log = fs::read_to_string(foreign(source)).unwrap();
        let log = log.replacen(expected, r#""10%\r20%\n\u001b[31mred\u001b[0m""#, 1);
        let (_, reader) =
            import_source(&sandbox, &sandbox.source("rollout-printed.jsonl", &[log.trim_end()]));
        let results =
            entries_of(&reader).into_iter().filter_map(|entry| match &**entry.body.as_message()? {
                Message::ToolResult(result) => Some((blocks(&result.content), result.details.clone())),
                _ => None,
            });
        let printed = ("20%\nred".to_owned(), Some(serde_json::json!({"strokes": [[4, 3, "31"]]})));
        assert!(results.into_iter().any(|result| result == printed), "{source}");
    }
}
