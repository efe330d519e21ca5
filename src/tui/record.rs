//! From entries of the log to blocks of the transcript.

use std::collections::HashMap;
use std::sync::Arc;

use super::block::{Block, BlockKind, Level, Shell, ShellState};
use super::call::{Call, CallState};
use crate::event::ToolOutcome;
use crate::id::CallId;
use crate::message::{
    AssistantBlock, AssistantMessage, BashExecutionMessage, Image, Message, StopReason, ToolResultMessage,
};
use crate::session::entry::{Compaction, MessageEntry};
use crate::session::{Entry, EntryBody};
use crate::unit::{Tokens, UnixMs};

/// A stretch of the log as blocks.
#[derive(Debug, Default)]
pub(super) struct Stretch {
    pub(super) blocks: Vec<Block>,
    /// Results whose calls stand before the stretch, oldest first.
    pub(super) orphans: Vec<Orphan>,
    calls: HashMap<CallId, usize>,
}

/// A result without its call.
#[derive(Clone, Debug)]
pub(super) struct Orphan {
    pub(super) message: Arc<Message>,
}

impl Orphan {
    /// The result.
    pub(super) fn result(&self) -> Option<&ToolResultMessage> {
        match &*self.message {
            Message::ToolResult(result) => Some(result),
            _ => None,
        }
    }
}

impl Stretch {
    /// Entries of a path, oldest first, as blocks.
    pub(super) fn of<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut stretch = Self::default();
        for entry in entries {
            stretch.take(entry);
        }
        stretch
    }

    fn take(&mut self, entry: &Entry) {
        match &entry.body {
            EntryBody::Message(said) => self.take_message(entry, said),
            EntryBody::Compaction(compaction) => self.push(entry, compaction_rule(compaction)),
            EntryBody::BranchSummary { summary, .. } => {
                let title = "another branch was left here: summary".to_owned();
                self.push(entry, BlockKind::Rule { title, text: summary.clone() });
            }
            EntryBody::CustomMessage { content, display: true, .. } => {
                let text = content.joined_text();
                self.push(
                    entry,
                    BlockKind::User { text, note: "added".to_owned(), at: entry.timestamp, receipt: None },
                );
            }
            EntryBody::ModelChange { .. }
            | EntryBody::ThinkingLevelChange { .. }
            | EntryBody::ContextEdit { .. }
            | EntryBody::Custom { .. }
            | EntryBody::CustomMessage { .. }
            | EntryBody::Label { .. }
            | EntryBody::SessionInfo { .. }
            | EntryBody::Usage { .. }
            | EntryBody::Unknown => {}
        }
    }

    fn take_message(&mut self, entry: &Entry, said: &MessageEntry) {
        match &*said.message {
            Message::User(user) => {
                // Logs of earlier versions have no receipts of follow-ups.
                let is_told = said.tiller_queue_id.is_none() || said.tiller_receipt.is_some();
                let note = if is_told { String::new() } else { "queued".to_owned() };
                let receipt = said.tiller_receipt.clone().map(Box::new);
                let text = user.content.joined_text();
                self.push(entry, BlockKind::User { text, note, at: entry.timestamp, receipt });
                let images: Vec<Image> = user.content.images().collect();
                if !images.is_empty() {
                    self.push(entry, BlockKind::Images(images));
                }
            }
            Message::Assistant(answer) => self.take_answer(entry, answer),
            Message::ToolResult(result) => {
                let block = self.calls.remove(&result.tool_call_id).map(|at| &mut self.blocks[at]);
                match block {
                    Some(block) => finish_call(block, result, None),
                    None => self.orphans.push(Orphan { message: Arc::clone(&said.message) }),
                }
            }
            Message::BashExecution(record) => self.push(entry, BlockKind::Shell(shell_record(record))),
            Message::System(_) => {}
        }
    }

    fn take_answer(&mut self, entry: &Entry, answer: &AssistantMessage) {
        for block in &answer.content {
            match block {
                AssistantBlock::Text { text } if !text.trim().is_empty() => {
                    self.push(entry, BlockKind::Answer(text.clone()));
                }
                AssistantBlock::Thinking { thinking, .. } if !thinking.trim().is_empty() => {
                    self.push(entry, BlockKind::Thinking(thinking.clone()));
                }
                AssistantBlock::ToolCall(call) => {
                    self.calls.insert(call.id.clone(), self.blocks.len());
                    let call = Call {
                        id: call.id.clone(),
                        name: call.name.clone(),
                        args: call.arguments.clone(),
                        state: CallState::Waits,
                    };
                    self.push(entry, BlockKind::Call(Box::new(call)));
                }
                AssistantBlock::Text { .. } | AssistantBlock::Thinking { .. } | AssistantBlock::Unknown => {}
            }
        }
        self.blocks.extend(ending(answer));
    }

    fn push(&mut self, entry: &Entry, kind: BlockKind) {
        self.blocks.push(Block::of(&entry.id, kind));
    }
}

/// What is to be said of an answer that didn't end well.
fn ending(answer: &AssistantMessage) -> Option<Block> {
    match answer.stop_reason {
        StopReason::Stop | StopReason::ToolUse => None,
        StopReason::Length => {
            let hint = Some("raise max_tokens, or say \"go on\"".to_owned());
            Some(Block::notice(Level::Warning, "the answer was cut off at the output limit", hint))
        }
        StopReason::Error => {
            let text = answer.error_message.clone().unwrap_or_else(|| "the provider failed".to_owned());
            Some(Block::notice(Level::Error, text, None))
        }
        StopReason::Aborted => Some(Block::notice(Level::Note, "stopped", None)),
    }
}

/// Gives a call its result. What it took is known when its beginning was seen.
pub(super) fn finish_call(block: &mut Block, result: &ToolResultMessage, ended: Option<UnixMs>) {
    if let BlockKind::Call(call) = &mut block.kind {
        let took_ms = match (&call.state, ended) {
            (CallState::Runs { since, .. }, Some(ended)) => Some(ended.since_ms(*since)),
            (CallState::Done { took_ms, .. }, _) => *took_ms,
            _ => None,
        };
        let outcome = ToolOutcome::from(result);
        call.state = CallState::Done { outcome, is_error: result.is_error, took_ms };
    }
    block.touch();
}

/// The block of a command of the user's own that is over.
pub(super) fn shell_record(record: &BashExecutionMessage) -> Shell {
    let (note, failed) = match (record.cancelled, record.exit_code) {
        (true, _) => ("stopped".to_owned(), true),
        (false, Some(0)) => (String::new(), false),
        (false, Some(code)) => (format!("exit {code}"), true),
        (false, None) => ("killed".to_owned(), true),
    };
    Shell {
        id: None,
        command: record.command.clone(),
        output: record.output.clone(),
        state: ShellState::Over { note, failed },
        excluded: record.exclude_from_context,
    }
}

fn compaction_rule(compaction: &Compaction) -> BlockKind {
    let after = compaction.details.as_ref().and_then(|details| details["tokensAfter"].as_u64());
    let title = match after {
        Some(after) => format!("compacted: {} → {} tokens, summary", compaction.tokens_before, Tokens(after)),
        None => format!("compacted: {} tokens before, summary", compaction.tokens_before),
    };
    BlockKind::Rule { title, text: compaction.summary.clone() }
}
