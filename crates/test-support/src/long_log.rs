//! Generated logs of any length: prompts, calls, results and answers, with compactions in between.
//! Deterministic.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tiller_core::message::{
    AssistantBlock, AssistantMessage, Message, StopReason, ToolCall, ToolResultMessage, Usage, UserBlock,
    UserMessage,
};
use tiller_core::unit::{Tokens, UnixMs};
use tiller_session::entry::Compaction;
use tiller_session::{EntryBody, Placement, SessionManager};

/// The timestamp of all entries.
const NOW: UnixMs = UnixMs(1_795_231_018_249);

/// Number of entries that a compaction keeps.
const KEPT: usize = 40;

/// The length of a log.
#[derive(Clone, Copy, Debug)]
pub struct LogLength {
    /// Number of entries.
    pub entries: usize,
    /// Approximate size of the file in bytes.
    pub bytes: usize,
    /// Number of entries between compactions; 0 for none.
    pub compacted_every: usize,
}

/// Writes a log into `dir` and returns its path.
///
/// # Panics
/// If it can't be written.
pub fn write(dir: &Path, length: LogLength) -> PathBuf {
    let manager = SessionManager::new(Placement::Flat(dir.into()), "/home/dev/project".into());
    let mut writer = manager.create(NOW);
    // The results, a quarter of the entries, make up nearly all of the size.
    let output = (length.bytes / length.entries.max(1)).saturating_sub(300) * 4;
    let mut ids = Vec::with_capacity(length.entries);
    for at in 0..length.entries {
        let compacts =
            length.compacted_every > 0 && at % length.compacted_every == length.compacted_every - 1;
        let body = match ids.len().checked_sub(KEPT) {
            Some(first) if compacts => EntryBody::Compaction(Compaction {
                summary: format!("Up to here {at} things happened, and all of them went well. ").repeat(40),
                first_kept_entry_id: tiller_core::id::EntryId::clone(&ids[first]),
                tokens_before: Tokens(170_000),
                details: None,
                usage: None,
                made_by: None,
            }),
            Some(_) | None => EntryBody::message(Arc::new(message(at, output))),
        };
        ids.extend(writer.append(body, NOW).expect("the log can be written").into_iter().map(|one| one.id));
    }
    writer.reader().path().expect("the log is a file").to_owned()
}

/// The message at this position of a log; results have about `output` bytes.
pub fn message(at: usize, output: usize) -> Message {
    let (prompt, id) = (at / 4, format!("call_{}", at / 4));
    match at % 4 {
        0 => Message::User(UserMessage::text(format!("Prompt {prompt}: please look at this too."), NOW)),
        1 => {
            let call =
                ToolCall::from_streamed(id.as_str().into(), "bash".into(), r#"{"command":"cargo test"}"#);
            let content = vec![text("I'll run the tests."), AssistantBlock::ToolCall(call)];
            answer(content, StopReason::ToolUse)
        }
        2 => {
            let line = "test a_line_of_output ... \"ok\"\n";
            Message::ToolResult(ToolResultMessage {
                tool_call_id: id.as_str().into(),
                tool_name: "bash".into(),
                content: vec![UserBlock::Text { text: line.repeat(output / line.len() + 1) }],
                details: None,
                is_error: false,
                timestamp: NOW,
            })
        }
        _ => answer(vec![text(&"All of them pass. ".repeat(10))], StopReason::Stop),
    }
}

fn text(text: &str) -> AssistantBlock {
    AssistantBlock::text(text)
}

fn answer(content: Vec<AssistantBlock>, stop_reason: StopReason) -> Message {
    let usage =
        Usage { input: Tokens(1_200), output: Tokens(80), total_tokens: Tokens(1_280), ..Usage::default() };
    Message::Assistant(AssistantMessage {
        content,
        api: "anthropic-messages".into(),
        provider: "anthropic".into(),
        model: "claude-opus-5-5".into(),
        usage,
        stop_reason,
        error_message: None,
        timestamp: NOW,
    })
}
