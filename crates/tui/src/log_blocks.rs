//! Converts log entries into blocks of the transcript.

use std::collections::HashMap;
use std::sync::Arc;

use tiller_core::ansi::StyledText;
use tiller_core::background_job::JOB_NOTE_TYPE;
use tiller_core::delegated_task::AGENT_NOTE_TYPE;
use tiller_core::event::ToolOutcome;
use tiller_core::id::{CallId, EntryId};
use tiller_core::message::{
    AssistantBlock, AssistantMessage, BashExecutionMessage, Image, Message, StopReason, ToolResultMessage,
    joined_text,
};
use tiller_core::tool_catalog::ToolCatalog;
use tiller_core::unit::{Tokens, UnixMs};
use tiller_engine::built_in_tools;
use tiller_session::context::CutOffCall;
use tiller_session::entry::{Compaction, MessageEntry, TillerEntry};
use tiller_session::{BranchPoints, Entry, EntryBody, Speaker, context};

use crate::block::branch_point::{BranchPoint, BranchSide};
use crate::block::notice_level::NoticeLevel;
use crate::block::shell::{Shell, ShellState, took_ms};
use crate::block::{Block, BlockKind};
use crate::recovery::{DraftRecovery, find_recovery};
use crate::tool_call::{CallState, ToolCallBlock};

/// Builds the blocks of a section of the log.
#[derive(Debug, Default)]
pub(super) struct BlockBuilder {
    pub(super) blocks: Vec<Block>,
    /// Results whose calls precede the section, oldest first.
    orphans: Vec<Arc<Message>>,
    calls: HashMap<CallId, usize>,
    timing: CallTiming,
    last_speaker: Option<Speaker>,
    /// Time when the request of the last answer was sent; `None` if the answer failed.
    succeeded: Option<UnixMs>,
    context: PathContext,
}

/// The data, besides its entries, that the blocks of a path depend on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PathContext {
    pub(super) points: Arc<BranchPoints>,
    /// The session's tools.
    pub(super) tools: ToolCatalog,
}

impl PathContext {
    /// The context of a path without branch points.
    pub(super) fn without_branch_points(tools: ToolCatalog) -> Self {
        Self { points: Arc::default(), tools }
    }
}

impl Default for PathContext {
    /// Returns the context without a session.
    fn default() -> Self {
        Self::without_branch_points(built_in_tools())
    }
}

/// Start times of calls, derived from the log. Calls run one after the other, except read-only calls, which
/// may run in parallel.
#[derive(Debug, Default)]
struct CallTiming {
    /// Time when the answer arrived or the last exclusive call ended.
    exclusive_end: UnixMs,
    /// Time when the last call of the parallel group ended.
    group_end: UnixMs,
    /// Times when the user approved calls.
    allowed: HashMap<CallId, UnixMs>,
    /// The user's shell commands without a record yet, with their start times. Records of commands that ran
    /// during an answer follow the answer together.
    commands: Vec<(String, UnixMs)>,
}

impl CallTiming {
    /// Returns the duration of a command, from its last start before the record.
    fn took_ms(&mut self, record: &BashExecutionMessage) -> Option<u64> {
        let matches =
            |(command, since): &(String, UnixMs)| *command == record.command && *since <= record.timestamp;
        let at = self.commands.iter().rposition(matches)?;
        let (_, since) = self.commands.remove(at);
        took_ms(record, since)
    }

    fn answered(&mut self, at: UnixMs) {
        (self.exclusive_end, self.group_end) = (at, at);
    }

    /// Returns the start time of a call whose result arrived at `ended`.
    fn started_at(&mut self, call: &ToolCallBlock, ended: UnixMs) -> UnixMs {
        let started = if call.may_run_in_parallel() {
            self.exclusive_end
        } else {
            self.exclusive_end.max(self.group_end)
        };
        self.group_end = self.group_end.max(ended);
        if !call.may_run_in_parallel() {
            self.exclusive_end = ended;
        }
        self.allowed.get(&call.id).map_or(started, |allowed| started.max(*allowed))
    }
}

impl BlockBuilder {
    /// Builds the blocks of a path's entries, oldest first.
    pub(super) fn from_entries<'a>(
        entries: impl IntoIterator<Item = &'a Entry>,
        context: &PathContext,
    ) -> Self {
        let mut builder = Self { context: context.clone(), ..Self::default() };
        for entry in entries {
            builder.push_entry(entry);
        }
        builder
    }

    /// Adds results of this section's calls from the entries after it.
    pub(super) fn push_results(&mut self, entries: &[Entry]) {
        for entry in entries {
            match entry.body.as_message().map(|message| &**message) {
                Some(Message::ToolResult(result)) => _ = self.finish(entry, result),
                Some(_) => {}
                None => self.record_decision(entry),
            }
        }
    }

    /// Results whose calls precede the section.
    pub(super) fn results(&self) -> impl Iterator<Item = &ToolResultMessage> {
        self.orphans.iter().filter_map(|message| match &**message {
            Message::ToolResult(result) => Some(result),
            _ => None,
        })
    }

    /// Returns true if the last message is the model's.
    pub(super) fn ends_with_answer(&self) -> bool {
        matches!(self.last_speaker, Some(Speaker::Model))
    }

    /// Returns the time when the request of the last answer was sent; `None` if the answer failed.
    pub(super) fn succeeded(&self) -> Option<UnixMs> {
        self.succeeded
    }

    /// Returns true if the last message is the user's.
    pub(super) fn ends_with_prompt(&self) -> bool {
        self.unanswered().is_some()
    }

    /// Returns the last prompt if no answer follows.
    pub(super) fn unanswered(&self) -> Option<EntryId> {
        match &self.last_speaker {
            Some(Speaker::User(entry)) => Some(entry.clone()),
            Some(Speaker::Model) | None => None,
        }
    }

    fn record_decision(&mut self, entry: &Entry) {
        let EntryBody::Custom { custom_type, .. } = &entry.body else { return };
        if !matches!(custom_type.as_str(), "tiller.bash" | "tiller.approval") {
            return;
        }
        match entry.body.as_tiller() {
            Some(TillerEntry::Bash { command, .. }) => self.timing.commands.push((command, entry.timestamp)),
            Some(TillerEntry::Approval { tool_call_id, .. }) => {
                self.timing.allowed.insert(tool_call_id, entry.timestamp);
            }
            _ => {}
        }
    }

    /// Sets the result of a call in this section; returns true if the call exists.
    fn finish(&mut self, entry: &Entry, result: &ToolResultMessage) -> bool {
        let Some(at) = self.calls.remove(&result.tool_call_id) else { return false };
        if let BlockKind::Call(call) = &mut self.blocks[at].kind {
            let since = self.timing.started_at(call, entry.timestamp);
            call.state = CallState::Running { since, partial: ToolOutcome::default() };
        }
        set_call_result(&mut self.blocks[at], result, Some(entry.timestamp));
        true
    }

    pub(super) fn push_entry(&mut self, entry: &Entry) {
        let is_summary = matches!(entry.body, EntryBody::BranchSummary { .. });
        if let Some(others) = self.context.points.before(&entry.id).filter(|_| !is_summary) {
            self.push_point(entry, BranchSide::Before, others, None);
        }
        self.push_body(entry);
        if let Some(others) = self.context.points.after(&entry.id) {
            self.push_point(entry, BranchSide::After, others, None);
        }
    }

    fn push_point(&mut self, entry: &Entry, side: BranchSide, others: usize, summary: Option<&String>) {
        let point = BranchPoint { side, others, summary: summary.cloned() };
        self.push(entry, BlockKind::BranchPoint(point));
    }

    fn push_body(&mut self, entry: &Entry) {
        match &entry.body {
            EntryBody::Message(message) => self.push_message(entry, message),
            EntryBody::Compaction(compaction) => self.push(entry, compaction_rule(compaction)),
            EntryBody::BranchSummary { summary, .. } => {
                let others = self.context.points.before(&entry.id).unwrap_or(0);
                self.push_point(entry, BranchSide::Before, others, Some(summary));
            }
            EntryBody::CustomMessage { custom_type, content, display: true }
                if [JOB_NOTE_TYPE, AGENT_NOTE_TYPE].contains(&custom_type.as_str()) =>
            {
                let (level, text) = (NoticeLevel::Note, content.joined_text());
                self.push(entry, BlockKind::Notice { level, text, hint: None });
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
            EntryBody::Custom { .. } => self.record_decision(entry),
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

    fn push_message(&mut self, entry: &Entry, message: &MessageEntry) {
        self.last_speaker = Speaker::of(entry).or_else(|| self.last_speaker.take());
        match &*message.message {
            Message::User(user) => {
                // Logs of earlier versions have no receipts for follow-ups.
                let has_receipt = message.tiller_queue_id.is_none() || message.tiller_receipt.is_some();
                let note = if has_receipt { String::new() } else { "queued".to_owned() };
                let receipt = message.tiller_receipt.clone().map(Box::new);
                let text = user.content.joined_text();
                let typed = user.short();
                self.push(entry, BlockKind::User { text, typed, note, at: entry.timestamp, receipt });
                let images: Vec<Image> = user.content.images().collect();
                if !images.is_empty() {
                    self.push(entry, BlockKind::Images(images));
                }
            }
            Message::Assistant(answer) => self.push_answer(entry, answer),
            Message::ToolResult(result) => {
                if !self.finish(entry, result) {
                    self.orphans.push(Arc::clone(&message.message));
                }
            }
            Message::BashExecution(record) => {
                let took_ms = self.timing.took_ms(record);
                self.push(entry, BlockKind::Shell(shell_record(record, took_ms)));
            }
            Message::System(_) => {}
        }
    }

    fn push_answer(&mut self, entry: &Entry, answer: &AssistantMessage) {
        self.timing.answered(entry.timestamp);
        let is_success = !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
        self.succeeded = is_success.then_some(answer.timestamp);
        if is_success {
            self.recover(answer.timestamp);
        }
        for block in &answer.content {
            match block {
                AssistantBlock::Text { text, .. } if !text.trim().is_empty() => {
                    self.push(entry, BlockKind::Answer(text.clone()));
                }
                AssistantBlock::Thinking { thinking, .. } if !thinking.trim().is_empty() => {
                    self.push(entry, BlockKind::Thinking(thinking.clone()));
                }
                AssistantBlock::ToolCall(call) => {
                    self.calls.insert(call.id.clone(), self.blocks.len());
                    let call = ToolCallBlock::new(call, &self.context.tools);
                    self.push(entry, BlockKind::Call(Box::new(call)));
                }
                AssistantBlock::Text { .. } | AssistantBlock::Thinking { .. } | AssistantBlock::Unknown => {}
            }
        }
        if let Some(kind) = ending(answer) {
            let block = Block::from_entry(&entry.id, kind);
            if !self.blocks.last_mut().is_some_and(|last| last.absorb(&block)) {
                self.blocks.push(block);
            }
        }
    }

    /// Merges the failed requests before a successful answer into one line.
    fn recover(&mut self, sent: UnixMs) {
        let Some(DraftRecovery { at, block, missing }) = find_recovery(&self.blocks, sent) else { return };
        self.blocks[at] = block;
        self.calls.retain(|_, call| *call != at && !missing.contains(call));
        for missing in missing {
            self.blocks.remove(missing);
            self.calls.values_mut().filter(|call| **call > missing).for_each(|call| *call -= 1);
        }
    }

    fn push(&mut self, entry: &Entry, kind: BlockKind) {
        self.blocks.push(Block::from_entry(&entry.id, kind));
    }
}

/// Returns the block for an answer that is empty or ended early.
fn ending(answer: &AssistantMessage) -> Option<BlockKind> {
    let notice = |level, text: &str, hint: Option<&str>| {
        Some(BlockKind::Notice { level, text: text.to_owned(), hint: hint.map(str::to_owned) })
    };
    match answer.stop_reason {
        StopReason::Stop if answer.content.is_empty() => notice(
            NoticeLevel::Warning,
            "the model's answer is empty",
            Some("send the message again, or choose another model (/model)"),
        ),
        StopReason::Stop | StopReason::ToolUse => None,
        StopReason::Length => notice(
            NoticeLevel::Warning,
            "the answer reached the output limit",
            Some("raise max_tokens, or type \"continue\""),
        ),
        StopReason::Error => {
            let text = answer.error_message.as_deref().unwrap_or("the provider failed").to_owned();
            Some(BlockKind::Failure { text, times: 1, sent: answer.timestamp })
        }
        StopReason::Aborted => notice(NoticeLevel::Note, "stopped", None),
    }
}

/// Sets the result of a call. The duration is known if the start was seen.
pub(super) fn set_call_result(block: &mut Block, result: &ToolResultMessage, ended: Option<UnixMs>) {
    if let BlockKind::Call(call) = &mut block.kind {
        let took_ms = match (&call.state, ended) {
            (CallState::Running { since, .. }, Some(ended)) => Some(ended.since_ms(*since)),
            (CallState::Done { took_ms, .. }, _) => *took_ms,
            _ => None,
        };
        let outcome = ToolOutcome::from(result);
        call.state = CallState::Done { outcome, is_error: result.is_error, took_ms };
    }
    if let Some(outcome) = cut_off_call(result) {
        set_cut_off(block, outcome);
    }
    block.invalidate();
}

/// Returns the kind of an interrupted call from its result; `None` for any other result.
fn cut_off_call(result: &ToolResultMessage) -> Option<CutOffCall> {
    let text = joined_text(&result.content);
    let fates = [CutOffCall::MayHaveRun, CutOffCall::NotStarted];
    fates.into_iter().find(|outcome| result.is_error && text == outcome.text())
}

/// Marks calls without a result as interrupted.
pub(super) fn mark_cut_off<'a>(blocks: impl Iterator<Item = &'a mut Block>, tools: &ToolCatalog) {
    let mut calls: Vec<&mut Block> = blocks.filter(|block| block.is_call()).collect();
    for answer in calls.chunk_by_mut(|one, other| one.entry == other.entry) {
        let Some(entry) = answer[0].entry.clone() else { continue };
        let calls = answer.iter().filter_map(|block| match &block.kind {
            BlockKind::Call(call) => Some((call.name.as_str(), !call.is_open())),
            _ => None,
        });
        let fates = context::classify_cut_off_calls(&entry, calls, tools);
        for (block, outcome) in answer.iter_mut().zip(fates) {
            outcome.into_iter().for_each(|outcome| set_cut_off(block, outcome));
        }
    }
}

fn set_cut_off(block: &mut Block, outcome: CutOffCall) {
    let BlockKind::Call(call) = &mut block.kind else { return };
    call.state = match outcome {
        CutOffCall::MayHaveRun => CallState::Lost,
        CutOffCall::NotStarted => CallState::NotRun,
    };
    block.invalidate();
}

/// Returns the block of a user's finished shell command.
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
        output: StyledText::from_stored(&record.output, record.style_runs.clone()),
        state: ShellState::Finished { note, failed, took_ms },
        excluded: record.exclude_from_context,
    }
}

fn compaction_rule(compaction: &Compaction) -> BlockKind {
    let after = compaction.details.as_ref().and_then(|details| details["tokensAfter"].as_u64());
    let title = match after {
        Some(after) => format!("compacted: {} → {} tokens, summary", compaction.tokens_before, Tokens(after)),
        None => format!("compacted (was {} tokens): summary", compaction.tokens_before),
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
        entry(at, EntryBody::from_tiller(&TillerEntry::Bash { command: command.to_owned(), exclude: false }))
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
    fn empty_answer_has_a_notice() {
        let text = |answer: &AssistantMessage| match ending(answer) {
            Some(BlockKind::Notice { text, .. }) => Some(text),
            _ => None,
        };
        let answer = AssistantMessage { stop_reason: StopReason::Stop, ..AssistantMessage::default() };
        assert_eq!(text(&answer).as_deref(), Some("the model's answer is empty"));
        let content = vec![AssistantBlock::Text { text: "Hi.".into(), text_signature: None }];
        assert_eq!(text(&AssistantMessage { content, ..answer }), None);
    }

    #[test]
    fn call_timing_late_records_keep_durations() {
        // The first command never got a record.
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
            BlockKind::Shell(Shell { state: ShellState::Finished { took_ms, .. }, .. }) => *took_ms,
            _ => panic!("{block:?}"),
        };
        let took: Vec<Option<u64>> =
            BlockBuilder::from_entries(&log, &PathContext::default()).blocks.iter().map(took).collect();
        assert_eq!(took, [Some(3_000), Some(300), Some(2_000), None]);
    }
}
