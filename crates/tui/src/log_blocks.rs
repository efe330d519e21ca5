//! From entries of the log to blocks of the transcript.

use std::collections::HashMap;
use std::sync::Arc;

use tiller_core::ansi::StyledText;
use tiller_core::event::ToolOutcome;
use tiller_core::id::{CallId, EntryId};
use tiller_core::message::{
    AssistantBlock, AssistantMessage, BashExecutionMessage, Image, Message, StopReason, ToolResultMessage,
    joined_text,
};
use tiller_core::unit::{Tokens, UnixMs};
use tiller_session::context::{self, CutOffCall};
use tiller_session::entry::{Compaction, MessageEntry, TillerEntry};
use tiller_session::{BranchPoints, Entry, EntryBody};

use super::block::{Block, BlockKind, BranchPoint, BranchSide, NoticeLevel, Shell, ShellState, took_ms};
use super::recovery::{Recovery, find_recovery};
use super::tool_call::{CallState, ToolCallBlock};

/// A stretch of the log as blocks.
#[derive(Debug, Default)]
pub(super) struct BlockBuilder {
    pub(super) blocks: Vec<Block>,
    /// Results whose calls stand before the stretch, oldest first.
    orphans: Vec<Arc<Message>>,
    calls: HashMap<CallId, usize>,
    clock: CallTiming,
    /// Who spoke last.
    spoke: Option<LastSpeaker>,
    /// When the request of the last answer was sent, if that answer didn't fail.
    succeeded: Option<UnixMs>,
    points: Arc<BranchPoints>,
}

#[derive(Clone, Debug)]
enum LastSpeaker {
    User(EntryId),
    Model,
}

/// When calls began, as far as a log tells: one after the other, but for those that only read, which may run side by side.
#[derive(Debug, Default)]
struct CallTiming {
    /// When the answer was there, or the last call that ran alone was over.
    free: UnixMs,
    /// When the last of those side by side was over.
    group: UnixMs,
    /// When the user let a call run.
    allowed: HashMap<CallId, UnixMs>,
    /// The user's own commands that have no record yet, and when they began: one after the other, but of those that ran beside an
    /// answer the records come together.
    commands: Vec<(String, UnixMs)>,
}

impl CallTiming {
    /// How long a command took: from the last time it was begun before it was over.
    fn took_ms(&mut self, record: &BashExecutionMessage) -> Option<u64> {
        let is_it =
            |(command, since): &(String, UnixMs)| *command == record.command && *since <= record.timestamp;
        let at = self.commands.iter().rposition(is_it)?;
        let (_, since) = self.commands.remove(at);
        took_ms(record, since)
    }

    fn answered(&mut self, at: UnixMs) {
        (self.free, self.group) = (at, at);
    }

    /// When a call began whose result was there at `ended`.
    fn began(&mut self, call: &ToolCallBlock, ended: UnixMs) -> UnixMs {
        let began = if call.reads() { self.free } else { self.free.max(self.group) };
        self.group = self.group.max(ended);
        if !call.reads() {
            self.free = ended;
        }
        self.allowed.get(&call.id).map_or(began, |allowed| began.max(*allowed))
    }
}

impl BlockBuilder {
    /// Entries of a path, oldest first, as blocks.
    pub(super) fn of<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        Self::branching(entries, &Arc::default())
    }

    /// The same, with the path's branch points.
    pub(super) fn branching<'a>(
        entries: impl IntoIterator<Item = &'a Entry>,
        points: &Arc<BranchPoints>,
    ) -> Self {
        let mut stretch = Self { points: Arc::clone(points), ..Self::default() };
        for entry in entries {
            stretch.take(entry);
        }
        stretch
    }

    /// Takes of the entries that follow the results of calls in this stretch.
    pub(super) fn take_results(&mut self, entries: &[Entry]) {
        for entry in entries {
            match entry.body.as_message().map(|message| &**message) {
                Some(Message::ToolResult(result)) => _ = self.finish(entry, result),
                Some(_) => {}
                None => self.note_decision(entry),
            }
        }
    }

    /// Results whose calls stand before the stretch.
    pub(super) fn results(&self) -> impl Iterator<Item = &ToolResultMessage> {
        self.orphans.iter().filter_map(|message| match &**message {
            Message::ToolResult(result) => Some(result),
            _ => None,
        })
    }

    /// Whether the model spoke last.
    pub(super) fn answers(&self) -> bool {
        matches!(self.spoke, Some(LastSpeaker::Model))
    }

    /// When the request of the last answer was sent, if that answer didn't fail.
    pub(super) fn succeeded(&self) -> Option<UnixMs> {
        self.succeeded
    }

    /// Whether the user spoke last.
    pub(super) fn asks(&self) -> bool {
        self.unanswered().is_some()
    }

    /// The prompt that nothing follows.
    pub(super) fn unanswered(&self) -> Option<EntryId> {
        match &self.spoke {
            Some(LastSpeaker::User(entry)) => Some(entry.clone()),
            Some(LastSpeaker::Model) | None => None,
        }
    }

    fn note_decision(&mut self, entry: &Entry) {
        let EntryBody::Custom { custom_type, .. } = &entry.body else { return };
        if !matches!(custom_type.as_str(), "tiller.bash" | "tiller.approval") {
            return;
        }
        match entry.body.as_own() {
            Some(TillerEntry::Bash { command, .. }) => self.clock.commands.push((command, entry.timestamp)),
            Some(TillerEntry::Approval { tool_call_id, .. }) => {
                self.clock.allowed.insert(tool_call_id, entry.timestamp);
            }
            _ => {}
        }
    }

    /// Gives the call of a result that stands in this stretch its result.
    fn finish(&mut self, entry: &Entry, result: &ToolResultMessage) -> bool {
        let Some(at) = self.calls.remove(&result.tool_call_id) else { return false };
        if let BlockKind::Call(call) = &mut self.blocks[at].kind {
            let since = self.clock.began(call, entry.timestamp);
            call.state = CallState::Runs { since, partial: ToolOutcome::default() };
        }
        finish_call(&mut self.blocks[at], result, Some(entry.timestamp));
        let cut_off = told_of_cut(result);
        if let Some(fate) = cut_off {
            cut(&mut self.blocks[at], fate);
        }
        true
    }

    /// Takes the next entry.
    pub(super) fn take(&mut self, entry: &Entry) {
        let is_summary = matches!(entry.body, EntryBody::BranchSummary { .. });
        if let Some(others) = self.points.before(&entry.id).filter(|_| !is_summary) {
            self.push_point(entry, BranchSide::Before, others, None);
        }
        self.take_body(entry);
        if let Some(others) = self.points.after(&entry.id) {
            self.push_point(entry, BranchSide::After, others, None);
        }
    }

    fn push_point(&mut self, entry: &Entry, side: BranchSide, others: usize, summary: Option<&String>) {
        let point = BranchPoint { side, others, summary: summary.cloned() };
        self.push(entry, BlockKind::BranchPoint(point));
    }

    fn take_body(&mut self, entry: &Entry) {
        match &entry.body {
            EntryBody::Message(said) => self.take_message(entry, said),
            EntryBody::Compaction(compaction) => self.push(entry, compaction_rule(compaction)),
            EntryBody::BranchSummary { summary, .. } => {
                let others = self.points.before(&entry.id).unwrap_or(0);
                self.push_point(entry, BranchSide::Before, others, Some(summary));
            }
            EntryBody::CustomMessage { content, display: true, .. } => {
                let text = content.joined_text();
                self.push(
                    entry,
                    BlockKind::User {
                        text,
                        typed: None,
                        note: "added".to_owned(),
                        at: entry.timestamp,
                        receipt: None,
                    },
                );
            }
            EntryBody::Custom { .. } => self.note_decision(entry),
            EntryBody::ModelChange { .. }
            | EntryBody::ThinkingLevelChange { .. }
            | EntryBody::ContextEdit { .. }
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
                let typed = user.short();
                self.push(entry, BlockKind::User { text, typed, note, at: entry.timestamp, receipt });
                let images: Vec<Image> = user.content.images().collect();
                if !images.is_empty() {
                    self.push(entry, BlockKind::Images(images));
                }
                self.spoke = Some(LastSpeaker::User(entry.id.clone()));
            }
            Message::Assistant(answer) => {
                self.take_answer(entry, answer);
                self.spoke = Some(LastSpeaker::Model);
            }
            Message::ToolResult(result) => {
                if !self.finish(entry, result) {
                    self.orphans.push(Arc::clone(&said.message));
                }
            }
            Message::BashExecution(record) => {
                let took_ms = self.clock.took_ms(record);
                self.push(entry, BlockKind::Shell(shell_record(record, took_ms)));
            }
            Message::System(_) => {}
        }
    }

    fn take_answer(&mut self, entry: &Entry, answer: &AssistantMessage) {
        self.clock.answered(entry.timestamp);
        let is_success = !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
        self.succeeded = is_success.then_some(answer.timestamp);
        if is_success {
            self.recover(answer.timestamp);
        }
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
                    let call = ToolCallBlock {
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
        if let Some(kind) = ending(answer) {
            let block = Block::of(&entry.id, kind);
            if !self.blocks.last_mut().is_some_and(|last| last.absorb(&block)) {
                self.blocks.push(block);
            }
        }
    }

    /// An answer follows: the requests before it that failed are one line now.
    fn recover(&mut self, sent: UnixMs) {
        let Some(Recovery { at, block, gone }) = find_recovery(&self.blocks, sent) else { return };
        self.blocks[at] = block;
        self.calls.retain(|_, call| *call != at && !gone.contains(call));
        for gone in gone {
            self.blocks.remove(gone);
            self.calls.values_mut().filter(|call| **call > gone).for_each(|call| *call -= 1);
        }
    }

    fn push(&mut self, entry: &Entry, kind: BlockKind) {
        self.blocks.push(Block::of(&entry.id, kind));
    }
}

/// What is to be said of an answer that didn't end well.
fn ending(answer: &AssistantMessage) -> Option<BlockKind> {
    let notice = |level, text: &str, hint: Option<&str>| {
        Some(BlockKind::Notice { level, text: text.to_owned(), hint: hint.map(str::to_owned) })
    };
    match answer.stop_reason {
        StopReason::Stop | StopReason::ToolUse => None,
        StopReason::Length => notice(
            NoticeLevel::Warning,
            "the answer was cut off at the output limit",
            Some("raise max_tokens, or say \"go on\""),
        ),
        StopReason::Error => {
            let text = answer.error_message.as_deref().unwrap_or("the provider failed").to_owned();
            Some(BlockKind::Failure { text, times: 1, sent: answer.timestamp })
        }
        StopReason::Aborted => notice(NoticeLevel::Note, "stopped", None),
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

/// What the result of a call that was cut off says of it; `None` of any other.
fn told_of_cut(result: &ToolResultMessage) -> Option<CutOffCall> {
    let told = joined_text(&result.content);
    let fates = [CutOffCall::MayHaveRun, CutOffCall::Unbegun];
    fates.into_iter().find(|fate| result.is_error && told == fate.said())
}

/// Calls that have no result by now won't get one.
pub(super) fn cut_off<'a>(blocks: impl Iterator<Item = &'a mut Block>) {
    let mut calls: Vec<&mut Block> = blocks.filter(|block| block.is_call()).collect();
    for answer in calls.chunk_by_mut(|one, other| one.entry == other.entry) {
        let Some(entry) = answer[0].entry.clone() else { continue };
        let told = answer.iter().filter_map(|block| match &block.kind {
            BlockKind::Call(call) => Some((call.name.as_str(), !call.is_open())),
            _ => None,
        });
        let fates = context::cut_off(&entry, told);
        for (block, fate) in answer.iter_mut().zip(fates) {
            fate.into_iter().for_each(|fate| cut(block, fate));
        }
    }
}

/// Cuts a call off.
fn cut(block: &mut Block, fate: CutOffCall) {
    let BlockKind::Call(call) = &mut block.kind else { return };
    call.state = match fate {
        CutOffCall::MayHaveRun => CallState::Lost,
        CutOffCall::Unbegun => CallState::Unbegun,
    };
    block.touch();
}

/// The block of a command of the user's own that is over.
pub(super) fn shell_record(record: &BashExecutionMessage, took_ms: Option<u64>) -> Shell {
    let (note, failed) = match (record.cancelled, record.exit_code) {
        (true, _) => ("stopped".to_owned(), true),
        (false, Some(0)) => (String::new(), false),
        (false, Some(code)) => (format!("exit {code}"), true),
        (false, None) => ("killed".to_owned(), true),
    };
    Shell {
        id: None,
        command: record.command.clone(),
        output: StyledText::kept(&record.output, record.strokes.clone()),
        state: ShellState::Over { note, failed, took_ms },
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn entry(at: i64, body: EntryBody) -> Entry {
        Entry { id: EntryId::new(format!("e{at}")), parent: None, timestamp: UnixMs(at), body }
    }

    fn begins(at: i64, command: &str) -> Entry {
        entry(at, EntryBody::own(&TillerEntry::Bash { command: command.to_owned(), exclude: false }))
    }

    fn ended(at: i64, command: &str, over: i64) -> Entry {
        let record = BashExecutionMessage {
            command: command.to_owned(),
            exit_code: Some(0),
            timestamp: UnixMs(over),
            ..BashExecutionMessage::default()
        };
        entry(at, EntryBody::message(Arc::new(Message::BashExecution(record))))
    }

    #[test]
    fn commands_whose_records_come_together_took_as_long_as_each_did() {
        // The first one never had a record.
        let log = [
            begins(100, "make"),
            begins(1_000, "make"),
            begins(5_000, "ls"),
            begins(7_000, "make"),
            ended(20_000, "make", 4_000),
            ended(20_000, "ls", 5_300),
            ended(20_000, "make", 9_000),
            ended(20_000, "never begun", 9_000),
        ];
        let took = |block: &Block| match &block.kind {
            BlockKind::Shell(Shell { state: ShellState::Over { took_ms, .. }, .. }) => *took_ms,
            _ => panic!("{block:?}"),
        };
        let took: Vec<Option<u64>> = BlockBuilder::of(&log).blocks.iter().map(took).collect();
        assert_eq!(took, [Some(3_000), Some(300), Some(2_000), None]);
    }
}
