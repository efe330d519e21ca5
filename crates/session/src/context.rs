//! The context: converts a path through the tree to the messages of a request. Pure.
//!
//! There are two stages. *Projection* turns entries into messages: the newest compaction's summary, the
//! messages it kept, and later ones, with edits applied; failed and aborted answers and `!!` records are
//! included. *Request messages* omit those and pair every call with one result, because providers reject
//! other conversations.

use std::cell::{Ref, RefCell};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tiller_core::id::{CallId, EntryId};
use tiller_core::message::{
    AssistantBlock, AssistantMessage, Content, Message, ModelRef, PDF_TYPE, StopReason, ThinkingLevel,
    ToolCall, ToolResultMessage, UserBlock, UserMessage,
};
use tiller_core::tool_catalog::ToolCatalog;
use tiller_core::unit::{Tokens, UnixMs};

use super::entry::{Compaction, Entry, EntryBody, Replacement, TillerEntry};
use super::id_gen::can_generate_after;

/// The result text of a call without a result: tiller died or was stopped during the call.
pub const INTERRUPTED: &str =
    "interrupted: the tool call was cut off before it had a result; it may have had effects";

/// The result text of a call that can't have started, because an earlier call was interrupted.
pub const NOT_STARTED: &str = "not started: the run stopped; it had no effects";

/// UTF-16 units per token, approximately.
const UNITS_PER_TOKEN: u64 = 4;

/// Estimated size of an image, in UTF-16 units.
const IMAGE_UNITS: u64 = 4_800;

/// Characters of a PDF file in base64 per UTF-16 unit, approximately: a page has about 100 kB and 2,000
/// tokens.
const PDF_CHARS_PER_UNIT: u64 = 16;

/// The context at a leaf.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Projection {
    /// The messages, oldest first.
    pub messages: Vec<ProjectedMessage>,
    /// The model that was selected or that answered last.
    pub model: Option<ModelRef>,
    /// The thinking level selected last.
    pub thinking: ThinkingLevel,
    /// The model and level that the user chose, if a crash ended a run in which another model answered.
    pub replaced: Option<(ModelRef, ThinkingLevel)>,
    /// The newest compaction; its summary is the first message.
    pub compaction: Option<Compaction>,
    /// The part that wasn't loaded, between a compaction's summary and the messages.
    pub unloaded: Option<UnloadedContext>,
    /// Index of the first message whose usage still measures the context: the first after the last compaction
    /// or edit.
    measured_from: usize,
    size: SizeCache,
}

/// The unloaded older part of a context that is longer than any model's window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnloadedContext {
    /// The number of messages.
    pub messages: usize,
    /// Their size, estimated from the length of their lines.
    pub tokens: Tokens,
}

impl UnloadedContext {
    /// Adds a message whose line has this length in bytes.
    pub(super) fn add(&mut self, line: usize) {
        self.messages += 1;
        self.tokens += Tokens(line as u64 / UNITS_PER_TOKEN);
    }
}

/// Cached figures of the messages. They are needed for every request, and only new messages have to be read.
/// Comparisons ignore the cache, because it is derived from the messages.
#[derive(Clone, Debug, Default)]
struct SizeCache(RefCell<ContextSize>);

/// Figures of the messages read so far.
#[derive(Clone, Debug)]
struct ContextSize {
    /// Estimated sizes of the first 0, 1, 2, … messages.
    estimates: Vec<Tokens>,
    /// The newest usable count of a provider, and the number of messages that it covers.
    measured: Option<(usize, Tokens)>,
    /// The number of system messages, which other programs write.
    system_prompts: usize,
}

impl Default for ContextSize {
    fn default() -> Self {
        Self { estimates: vec![Tokens(0)], measured: None, system_prompts: 0 }
    }
}

impl ContextSize {
    /// Adds the next message. Its usage counts if it `is_measurement` of this context.
    fn add(&mut self, message: &Message, is_measurement: bool) {
        let before = self.estimates.last().copied().unwrap_or_default();
        self.estimates.push(before + estimate(message));
        match message {
            Message::System(_) => self.system_prompts += 1,
            Message::Assistant(answer)
                if is_measurement
                    && !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted)
                    && answer.usage.total() > Tokens(0) =>
            {
                self.measured = Some((self.estimates.len() - 1, answer.usage.total()));
            }
            _ => {}
        }
    }
}

/// A provider's token count is ignored if the estimate is more than this many times larger: some servers
/// count only new tokens, or none.
const MAX_ESTIMATE_RATIO: u64 = 4;

impl PartialEq for SizeCache {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A message and its entry.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectedMessage {
    /// The entry.
    pub entry: EntryId,
    /// The message.
    pub message: Arc<Message>,
}

/// Projects the entries of a path, root first, to messages. This is the first stage.
#[must_use]
pub fn project(path: &[Entry]) -> Projection {
    project_from(path, None)
}

/// Like [`project`], but the messages begin with the entry at the index `first` instead of the first one that
/// the compaction keeps. Earlier entries only set the model and apply edits.
pub(super) fn project_from(path: &[Entry], first: Option<usize>) -> Projection {
    let mut projection = Projection::default();
    let edits = last_edits(path);
    let compaction = path.iter().enumerate().rev().find_map(|(at, entry)| match &entry.body {
        EntryBody::Compaction(compaction) => Some((at, compaction)),
        _ => None,
    });
    let mut first_kept = 0;
    if let Some((at, compaction)) = compaction {
        projection.messages.push(summary_of(&path[at], compaction));
        projection.compaction = Some(compaction.clone());
        first_kept =
            path[..at].iter().rposition(|entry| entry.id == compaction.first_kept_entry_id).unwrap_or(at + 1);
    }
    let first_kept = first.unwrap_or(first_kept);
    let reset = path
        .iter()
        .rposition(|entry| matches!(entry.body, EntryBody::Compaction(_) | EntryBody::ContextEdit { .. }));
    for (at, entry) in path.iter().enumerate() {
        projection.apply_settings(&entry.body);
        if at >= first_kept && !matches!(entry.body, EntryBody::Compaction(_)) {
            projection.messages.extend(message_of(entry, &edits));
        }
        if reset == Some(at) {
            projection.measured_from = projection.messages.len();
        }
    }
    projection
}

pub(super) fn names_model(body: &EntryBody) -> bool {
    let mut projection = Projection::default();
    projection.apply_settings(body);
    projection.model.is_some()
}

impl Projection {
    /// Applies an entry that sets the model or the thinking level.
    pub fn apply_settings(&mut self, body: &EntryBody) {
        match body {
            EntryBody::ModelChange { provider, model_id } => {
                self.model = Some(ModelRef { provider: provider.clone(), id: model_id.clone() });
                self.replaced = None;
            }
            EntryBody::Custom { custom_type, .. } if custom_type == "tiller.fallback" => {
                if let Some(TillerEntry::Fallback { provider, model_id, thinking_level }) = body.as_tiller() {
                    self.replaced = Some((ModelRef { provider, id: model_id }, thinking_level));
                }
            }
            EntryBody::ThinkingLevelChange { thinking_level } => self.thinking = *thinking_level,
            EntryBody::Message(entry) => {
                if let Message::Assistant(answer) = &*entry.message
                    && !answer.provider.is_empty()
                {
                    self.model =
                        Some(ModelRef { provider: answer.provider.clone(), id: answer.model.clone() });
                }
            }
            _ => {}
        }
    }

    /// Adds a message that was appended to the path.
    pub fn push(&mut self, entry: EntryId, message: Arc<Message>) {
        self.messages.push(ProjectedMessage { entry, message });
    }

    /// Removes the messages of these entries. A compaction's summary is removed too if they include the first
    /// entry that it keeps: then it summarizes only earlier entries.
    #[must_use]
    pub fn without(mut self, excluded: &HashSet<&EntryId>) -> Self {
        let first_kept = self.compaction.as_ref().map(|compaction| &compaction.first_kept_entry_id);
        if first_kept.is_some_and(|first| excluded.contains(first)) {
            self.compaction = None;
            self.messages.remove(0);
        }
        self.messages.retain(|projected| !excluded.contains(&projected.entry));
        // The provider counted the removed messages too.
        self.measured_from = self.messages.len();
        self.size = SizeCache::default();
        self
    }

    /// Returns the number of messages, not counting system messages, which other programs write.
    #[must_use]
    pub fn message_count(&self) -> usize {
        let loaded = self.messages.len() - self.size().system_prompts;
        self.unloaded.unwrap_or_default().messages + loaded
    }

    /// Returns the size of the context: the provider's count at the newest usable answer, plus an estimate of
    /// later messages. Without such a count, or if the estimate is more than four times as large, everything
    /// is estimated.
    #[must_use]
    pub fn tokens(&self) -> Tokens {
        let size = self.size();
        let unloaded = self.unloaded.unwrap_or_default().tokens;
        let estimate = unloaded + size.estimates[self.messages.len()];
        let Some((count, measured)) = size.measured else { return estimate };
        let estimated = unloaded + size.estimates[count];
        if estimated.0 > measured.0.saturating_mul(MAX_ESTIMATE_RATIO) {
            return estimate;
        }
        measured + Tokens(estimate.0 - estimated.0)
    }

    /// Returns the figures of all messages.
    fn size(&self) -> Ref<'_, ContextSize> {
        {
            let mut size = self.size.0.borrow_mut();
            let read = size.estimates.len() - 1;
            for (at, projected) in self.messages.iter().enumerate().skip(read) {
                size.add(&projected.message, at >= self.measured_from);
            }
        }
        self.size.0.borrow()
    }
}

fn last_edits(path: &[Entry]) -> HashMap<&EntryId, Option<&Replacement>> {
    path.iter()
        .filter_map(|entry| match &entry.body {
            EntryBody::ContextEdit { target_id, replacement } => Some((target_id, replacement.as_ref())),
            _ => None,
        })
        .collect()
}

fn summary_of(entry: &Entry, compaction: &Compaction) -> ProjectedMessage {
    let text = format!(
        "The conversation before this point was compacted into this summary:\n\n<summary>\n{}\n</summary>",
        compaction.summary
    );
    user_message(entry, Content::Text(text))
}

fn user_message(entry: &Entry, content: Content) -> ProjectedMessage {
    let message = Message::User(UserMessage { content, timestamp: entry.timestamp, typed: None });
    ProjectedMessage { entry: entry.id.clone(), message: Arc::new(message) }
}

fn message_of(entry: &Entry, edits: &HashMap<&EntryId, Option<&Replacement>>) -> Option<ProjectedMessage> {
    let mut projected = match &entry.body {
        EntryBody::Message(entry_message) => {
            ProjectedMessage { entry: entry.id.clone(), message: Arc::clone(&entry_message.message) }
        }
        EntryBody::BranchSummary { summary, .. } => {
            let text = format!(
                "Another branch of this conversation was abandoned; this is what happened there:\n\n<summary>\n{summary}\n</summary>"
            );
            user_message(entry, Content::Text(text))
        }
        EntryBody::CustomMessage { content, .. } => user_message(entry, content.clone()),
        _ => return None,
    };
    match edits.get(&entry.id) {
        None => {}
        Some(None) => return None,
        Some(Some(replacement)) => {
            projected.message = Arc::new(with_content(&projected.message, &replacement.content))
        }
    }
    Some(projected)
}

/// Estimates an entry's message, before edits.
pub(super) fn estimate_entry(entry: &Entry) -> Tokens {
    message_of(entry, &HashMap::new()).map_or(Tokens(0), |projected| estimate(&projected.message))
}

fn with_content(message: &Message, content: &Content) -> Message {
    let mut message = message.clone();
    match &mut message {
        Message::User(user) => user.content = content.clone(),
        Message::ToolResult(result) => result.content = content.to_blocks(),
        Message::Assistant(answer) => {
            // The calls remain, because their results follow.
            answer.content.retain(|block| matches!(block, AssistantBlock::ToolCall(_)));
            answer.content.insert(0, AssistantBlock::text(content.joined_text()));
        }
        Message::BashExecution(bash) => {
            bash.output = content.joined_text();
            bash.style_runs.clear();
        }
        Message::System(system) => system.content = content.joined_text(),
    }
    message
}

/// Returns the messages of a request. This is the second stage. Every call has exactly one result, directly
/// after its answer and in the model's order; every result has its call.
#[must_use]
pub fn request_messages<'a>(messages: impl IntoIterator<Item = &'a Arc<Message>>) -> Vec<Arc<Message>> {
    let mut request = Vec::new();
    let mut open = OpenCalls::default();
    for message in messages {
        match &**message {
            Message::System(_) => {}
            Message::BashExecution(bash) if bash.exclude_from_context => {}
            Message::ToolResult(result) => open.answer(result, message),
            Message::User(_) | Message::BashExecution(_) => open.messages_after.push(Arc::clone(message)),
            Message::Assistant(answer) => {
                open.close(&mut request);
                open.begin(answer, message, &mut request);
            }
        }
    }
    open.close(&mut request);
    request
}

/// Incremental [`request_messages`] for a growing projection: settled messages aren't computed again for each
/// request.
#[derive(Debug, Default)]
pub struct RequestMessages {
    /// The request messages before the newest answer; all their calls have results.
    settled: Vec<Arc<Message>>,
    /// The number of projected messages in `settled`.
    count: usize,
    /// True if a message has an image or a PDF file.
    has_attachments: bool,
}

impl RequestMessages {
    /// Returns the request messages of a projection that extends the previous call's; for another one create
    /// a new value.
    #[must_use]
    pub fn update(&mut self, messages: &[ProjectedMessage]) -> Vec<Arc<Message>> {
        let message = |projected: &'_ ProjectedMessage| Arc::clone(&projected.message);
        let new = messages.get(self.count..).unwrap_or_default();
        self.has_attachments |= new.iter().any(|projected| has_attachments(&projected.message));
        let is_answer = |projected: &ProjectedMessage| matches!(*projected.message, Message::Assistant(_));
        let newest = new.iter().rposition(is_answer).unwrap_or(0);
        let (settled, rest) = new.split_at(newest);
        if !settled.is_empty() {
            self.settled.extend(request_messages(&settled.iter().map(message).collect::<Vec<_>>()));
            self.count += settled.len();
        }
        let rest = request_messages(&rest.iter().map(message).collect::<Vec<_>>());
        self.settled.iter().cloned().chain(rest).collect()
    }

    /// Returns true if a message of the conversation has an image or a PDF file.
    #[must_use]
    pub fn has_attachments(&self) -> bool {
        self.has_attachments
    }
}

fn has_attachments(message: &Message) -> bool {
    let blocks = match message {
        Message::User(UserMessage { content: Content::Blocks(blocks), .. }) => blocks,
        Message::ToolResult(result) => &result.content,
        Message::User(_) | Message::Assistant(_) | Message::BashExecution(_) | Message::System(_) => {
            return false;
        }
    };
    blocks.iter().any(|block| block.as_image().is_some())
}

/// The calls of the newest answer, until the next answer: results may arrive late, or never.
#[derive(Default)]
struct OpenCalls {
    calls: Vec<ToolCall>,
    results: HashMap<CallId, Arc<Message>>,
    messages_after: Vec<Arc<Message>>,
    timestamp: UnixMs,
}

/// Keeps only the first call of each id: a result can't answer two calls, and providers reject duplicates.
fn without_duplicate_calls(answer: &AssistantMessage) -> Message {
    let (mut answer, mut seen) = (answer.clone(), HashSet::new());
    answer.content.retain(|block| match block {
        AssistantBlock::ToolCall(call) => seen.insert(call.id.clone()),
        AssistantBlock::Text { .. } | AssistantBlock::Thinking { .. } | AssistantBlock::Unknown => true,
    });
    Message::Assistant(answer)
}

impl OpenCalls {
    fn begin(&mut self, answer: &AssistantMessage, message: &Arc<Message>, request: &mut Vec<Arc<Message>>) {
        match answer.stop_reason {
            StopReason::Error => {}
            StopReason::Aborted => {
                let mut text_only = answer.clone();
                text_only
                    .content
                    .retain(|block| matches!(block, AssistantBlock::Text { text, .. } if !text.is_empty()));
                if !text_only.content.is_empty() {
                    request.push(Arc::new(Message::Assistant(text_only)));
                }
            }
            StopReason::Stop | StopReason::Length | StopReason::ToolUse if answer.content.is_empty() => {}
            StopReason::Stop | StopReason::Length | StopReason::ToolUse => {
                let mut seen = HashSet::new();
                self.calls = answer.tool_calls().filter(|call| seen.insert(&call.id)).cloned().collect();
                self.timestamp = answer.timestamp;
                let is_plain = answer.tool_calls().count() == self.calls.len();
                request.push(if is_plain {
                    Arc::clone(message)
                } else {
                    Arc::new(without_duplicate_calls(answer))
                });
            }
        }
    }

    fn answer(&mut self, result: &ToolResultMessage, message: &Arc<Message>) {
        if self.calls.iter().any(|call| call.id == result.tool_call_id) {
            self.results.entry(result.tool_call_id.clone()).or_insert_with(|| Arc::clone(message));
        }
    }

    fn close(&mut self, request: &mut Vec<Arc<Message>>) {
        for call in self.calls.drain(..) {
            let result = self.results.remove(&call.id);
            request.push(result.unwrap_or_else(|| {
                Arc::new(Message::ToolResult(CutOffCall::MayHaveRun.result(&call, self.timestamp)))
            }));
        }
        self.results.clear();
        request.append(&mut self.messages_after);
    }
}

/// State of a call without a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutOffCall {
    /// It may have run.
    MayHaveRun,
    /// It can't have started.
    NotStarted,
}

/// Classifies the calls of an answer: `None` for a call with a result. `calls` are all calls of the answer in
/// order: the tool's name, and true if there is a result.
///
/// tiller runs calls one after the other, except that read-only ones may run in parallel. So no call started
/// after one without a result, unless that one and all later ones may be read-only, which also holds for
/// unknown tools. For answers logged by another program nothing is certain, because it may run calls in
/// another order.
#[must_use]
pub fn classify_cut_off_calls<'a>(
    answer: &EntryId,
    calls: impl IntoIterator<Item = (&'a str, bool)>,
    tools: &ToolCatalog,
) -> Vec<Option<CutOffCall>> {
    let (mut is_in_order, mut outcomes) = (can_generate_after(answer), Vec::new());
    // Set from the first call without a result on: true if a call that runs alone is among the calls since
    // then.
    let mut runs_alone_since: Option<bool> = None;
    for (name, has_result) in calls {
        let runs_alone = tools.find(name).is_some_and(|traits| traits.always_runs_alone());
        let is_waiting = runs_alone_since.is_some_and(|runs_alone_since| runs_alone_since || runs_alone);
        is_in_order &= !(is_waiting && has_result);
        outcomes.push((!has_result).then_some(if is_waiting {
            CutOffCall::NotStarted
        } else {
            CutOffCall::MayHaveRun
        }));
        runs_alone_since = if has_result { runs_alone_since } else { Some(is_waiting || runs_alone) };
    }
    if !is_in_order {
        outcomes.iter_mut().flatten().for_each(|outcome| *outcome = CutOffCall::MayHaveRun);
    }
    outcomes
}

impl CutOffCall {
    /// Returns the result text for the model.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::MayHaveRun => INTERRUPTED,
            Self::NotStarted => NOT_STARTED,
        }
    }

    /// Returns the result message for such a call.
    #[must_use]
    pub fn result(self, call: &ToolCall, timestamp: UnixMs) -> ToolResultMessage {
        ToolResultMessage {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            content: vec![UserBlock::Text { text: self.text().to_owned() }],
            details: None,
            is_error: true,
            timestamp,
        }
    }
}

/// Returns the calls of the last answer without a result, with their state: they need results before the
/// session continues.
#[must_use]
pub fn unanswered_calls(messages: &[ProjectedMessage], tools: &ToolCatalog) -> Vec<(ToolCall, CutOffCall)> {
    let results: HashSet<&CallId> = messages
        .iter()
        .rev()
        .map_while(|projected| match &*projected.message {
            Message::ToolResult(result) => Some(&result.tool_call_id),
            _ => None,
        })
        .collect();
    let newest =
        messages.iter().rev().find(|projected| !matches!(*projected.message, Message::ToolResult(_)));
    match newest.map(|projected| (&projected.entry, &*projected.message)) {
        Some((entry, Message::Assistant(answer)))
            if !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) =>
        {
            let calls = answer.tool_calls().map(|call| (call.name.as_str(), results.contains(&call.id)));
            let outcomes = classify_cut_off_calls(entry, calls, tools);
            let open = answer.tool_calls().zip(outcomes);
            open.filter_map(|(call, outcome)| Some((call.clone(), outcome?))).collect()
        }
        _ => Vec::new(),
    }
}

/// Estimates the tokens of a message.
#[must_use]
pub fn estimate(message: &Message) -> Tokens {
    let units = match message {
        Message::User(user) => match &user.content {
            Content::Text(text) => utf16_units(text),
            Content::Blocks(blocks) => block_units(blocks),
        },
        Message::Assistant(answer) => answer.content.iter().map(answer_units).sum(),
        Message::ToolResult(result) => block_units(&result.content),
        Message::BashExecution(bash) => utf16_units(&bash.command) + utf16_units(&bash.output),
        Message::System(_) => 0,
    };
    Tokens(units.div_ceil(UNITS_PER_TOKEN))
}

/// Estimates the tokens of a string.
#[must_use]
pub fn estimate_text(text: &str) -> Tokens {
    Tokens(utf16_units(text).div_ceil(UNITS_PER_TOKEN))
}

fn block_units(blocks: &[UserBlock]) -> u64 {
    let units = |block: &UserBlock| match block {
        UserBlock::Text { text } => utf16_units(text),
        UserBlock::Image { data, mime_type } if mime_type == PDF_TYPE => {
            IMAGE_UNITS.max(data.len() as u64 / PDF_CHARS_PER_UNIT)
        }
        UserBlock::Image { .. } => IMAGE_UNITS,
        UserBlock::Unknown => 0,
    };
    blocks.iter().map(units).sum()
}

fn answer_units(block: &AssistantBlock) -> u64 {
    match block {
        AssistantBlock::Text { text, .. } => utf16_units(text),
        AssistantBlock::Thinking { thinking, .. } => utf16_units(thinking),
        AssistantBlock::ToolCall(call) => utf16_units(&call.name) + utf16_units(&call.arguments.to_string()),
        AssistantBlock::Unknown => 0,
    }
}

fn utf16_units(text: &str) -> u64 {
    text.chars().map(|c| c.len_utf16() as u64).sum()
}

#[cfg(test)]
mod tests {
    use tiller_core::message::{BashExecutionMessage, Usage};
    use tiller_core::tool_spec::{Access, ToolTraits};

    use super::*;
    use proptest::prelude::*;

    fn user(text: &str) -> Message {
        Message::User(UserMessage::text(text, UnixMs(1)))
    }

    fn call(id: &str) -> AssistantBlock {
        AssistantBlock::ToolCall(ToolCall::from_streamed(id.into(), "bash".into(), ""))
    }

    fn answer(stop_reason: StopReason, content: Vec<AssistantBlock>) -> Message {
        Message::Assistant(AssistantMessage { content, stop_reason, ..AssistantMessage::default() })
    }

    fn text(text: &str) -> AssistantBlock {
        AssistantBlock::text(text)
    }

    fn result(id: &str, text: &str) -> Message {
        Message::ToolResult(ToolResultMessage {
            tool_call_id: id.into(),
            tool_name: "bash".into(),
            content: vec![UserBlock::Text { text: text.into() }],
            details: None,
            is_error: false,
            timestamp: UnixMs(1),
        })
    }

    fn arcs(messages: Vec<Message>) -> Vec<Arc<Message>> {
        messages.into_iter().map(Arc::new).collect()
    }

    fn entry(id: &str, body: EntryBody) -> Entry {
        Entry { id: id.into(), parent: None, timestamp: UnixMs(1), body }
    }

    fn message_entry(id: &str, message: Message) -> Entry {
        entry(id, EntryBody::message(Arc::new(message)))
    }

    fn interrupted_result(id: &str) -> Message {
        let call = ToolCall::from_streamed(id.into(), "bash".into(), "");
        Message::ToolResult(CutOffCall::MayHaveRun.result(&call, UnixMs(0)))
    }

    #[test]
    fn cut_off_calls_after_exclusive_tool_never_began() {
        let (own_id, foreign_id) = ("01JAV7E0000000000000000000", "7303e144");
        let tools_by_access =
            [("bash", Access::Executes), ("edit_file", Access::Writes), ("grep", Access::Reads)];
        let tools = tools_by_access.map(|(name, access)| (name.to_owned(), ToolTraits::new(access)));
        let tools = ToolCatalog::from_iter(tools);
        for (answer, calls, expected) in [
            (own_id, "bash! bash! grep!", "ran unbegun unbegun"),
            (own_id, "grep bash! bash!", "- ran unbegun"),
            (own_id, "grep! grep! bash! grep!", "ran ran unbegun unbegun"),
            (own_id, "grep! grep mcp_tool! grep!", "ran - ran ran"),
            (own_id, "mcp_tool! edit_file!", "ran unbegun"),
            // A later call has a result, so the calls ran in parallel.
            (own_id, "bash! bash bash!", "ran - ran"),
            (foreign_id, "bash! bash!", "ran ran"),
            (own_id, "bash", "-"),
        ] {
            let calls = calls.split(' ').map(|call| (call.trim_end_matches('!'), !call.ends_with('!')));
            let outcomes =
                classify_cut_off_calls(&answer.into(), calls, &tools).into_iter().map(
                    |outcome| match outcome {
                        None => "-",
                        Some(CutOffCall::MayHaveRun) => "ran",
                        Some(CutOffCall::NotStarted) => "unbegun",
                    },
                );
            assert_eq!(outcomes.collect::<Vec<_>>().join(" "), expected, "{answer} {expected}");
        }
    }

    #[test]
    fn projection_names_the_replaced_model_until_the_next_change() {
        let model = |provider: &str| ModelRef { provider: provider.into(), id: "m".into() };
        let change = |provider: &str| {
            entry(provider, EntryBody::ModelChange { provider: provider.into(), model_id: "m".into() })
        };
        let fallback = TillerEntry::Fallback {
            provider: "mine".into(),
            model_id: "m".into(),
            thinking_level: ThinkingLevel::High,
        };
        let path =
            [change("mine"), change("other"), entry("f", EntryBody::from_tiller(&fallback)), change("mine")];
        let replaced = |length: usize| project(&path[..length]).replaced;
        assert_eq!(replaced(2), None);
        assert_eq!(replaced(3), Some((model("mine"), ThinkingLevel::High)));
        assert_eq!(replaced(4), None);
    }

    #[test]
    fn sendable_duplicate_call_ids_keep_first_call() {
        let doubled = answer(StopReason::ToolUse, vec![call("c1"), text("and"), call("c1"), call("c2")]);
        let log = arcs(vec![user("go"), doubled, result("c1", "one"), result("c2", "two")]);
        let plain = answer(StopReason::ToolUse, vec![call("c1"), text("and"), call("c2")]);
        assert_eq!(
            request_messages(&log),
            arcs(vec![user("go"), plain, result("c1", "one"), result("c2", "two")])
        );
    }

    #[test]
    fn sendable_missing_result_is_added_before_next_prompt() {
        let log = arcs(vec![
            user("go"),
            answer(StopReason::ToolUse, vec![call("a"), call("b")]),
            result("b", "B"),
            user("on"),
        ]);
        let expected = arcs(vec![
            user("go"),
            answer(StopReason::ToolUse, vec![call("a"), call("b")]),
            interrupted_result("a"),
            result("b", "B"),
            user("on"),
        ]);
        assert_eq!(request_messages(&log), expected);
    }

    #[test]
    fn sendable_drops_failed_answers_and_aborted_calls() {
        let log = arcs(vec![
            user("go"),
            answer(StopReason::Error, vec![text("half")]),
            answer(StopReason::Aborted, vec![text("said"), call("a")]),
            result("a", "late"),
            answer(StopReason::Aborted, vec![call("b")]),
            user("on"),
        ]);
        assert_eq!(
            request_messages(&log),
            arcs(vec![user("go"), answer(StopReason::Aborted, vec![text("said")]), user("on")])
        );
    }

    #[test]
    fn sendable_drops_double_bang_output() {
        let secret = Message::BashExecution(BashExecutionMessage {
            command: "env".into(),
            output: "SECRET".into(),
            exclude_from_context: true,
            ..BashExecutionMessage::default()
        });
        assert_eq!(request_messages(&arcs(vec![secret, user("go")])), arcs(vec![user("go")]));
    }

    #[test]
    fn project_compaction_replaces_older_messages() {
        let compaction = Compaction {
            summary: "S".into(),
            first_kept_entry_id: "b".into(),
            tokens_before: Tokens(9),
            details: None,
            usage: None,
            made_by: None,
        };
        let path = [
            message_entry("a", user("1")),
            message_entry("b", user("2")),
            entry("c", EntryBody::Compaction(compaction)),
            message_entry("d", user("3")),
        ];
        let projection = project(&path);
        let ids: Vec<&str> = projection.messages.iter().map(|projected| projected.entry.as_str()).collect();
        assert_eq!(ids, ["c", "b", "d"]);
    }

    #[test]
    fn project_last_edit_wins() {
        let edit = |replacement: Option<&str>| EntryBody::ContextEdit {
            target_id: "a".into(),
            replacement: replacement.map(|text| Replacement { content: Content::Text(text.into()) }),
        };
        let path = [message_entry("a", user("old")), entry("e", edit(None)), entry("f", edit(Some("new")))];
        let Message::User(shown) = &*project(&path).messages[0].message else { panic!("a user message") };
        assert_eq!(shown.content.joined_text(), "new");
        assert!(project(&path[..2]).messages.is_empty());
    }

    #[test]
    fn tokens_incremental_estimate_equals_full_estimate() {
        let measured = AssistantMessage {
            usage: Usage { input: Tokens(500), ..Usage::default() },
            ..AssistantMessage::default()
        };
        let user_message = |text: &str| Message::User(UserMessage::text(text, UnixMs(0)));
        let messages = [
            user_message("four"),
            user_message("and eight"),
            Message::Assistant(measured),
            user_message("more"),
            user_message("yet more"),
        ];
        let (mut incremental, mut projected) = (Projection::default(), Vec::new());
        for (at, message) in messages.into_iter().enumerate() {
            let (id, message) = (EntryId::new(at.to_string()), Arc::new(message));
            projected.push(ProjectedMessage { entry: id.clone(), message: Arc::clone(&message) });
            incremental.push(id, message);
            let full = Projection { messages: projected.clone(), ..Projection::default() };
            assert_eq!(
                (incremental.tokens(), incremental.tokens()),
                (full.tokens(), full.tokens()),
                "after {at}"
            );
        }
        assert_eq!(incremental.tokens(), Tokens(500 + 1 + 2));
        let excluded = EntryId::new("0");
        let remaining = incremental.without(&HashSet::from([&excluded]));
        assert_eq!(
            remaining.tokens(),
            Tokens(3 + 1 + 2),
            "nothing that was known of the whole counts for a part"
        );
    }

    #[test]
    fn tokens_implausible_count_is_ignored() {
        let project_measured = |count| {
            let usage = Usage { total_tokens: Tokens(count), ..Usage::default() };
            let answer = AssistantMessage { usage, ..AssistantMessage::default() };
            let messages = [
                message_entry("a", user(&"x".repeat(1_600))),
                message_entry("b", Message::Assistant(answer)),
                message_entry("c", user("four")),
            ];
            project(&messages)
        };
        assert_eq!(project_measured(100).tokens(), Tokens(101));
        assert_eq!(project_measured(99).tokens(), Tokens(401));
        // Most of the text may not have been loaded.
        let mut projection = project_measured(100);
        projection.unloaded = Some(UnloadedContext { messages: 9, tokens: Tokens(3_000) });
        assert_eq!((projection.tokens(), projection.message_count()), (Tokens(3_401), 12));
    }

    #[test]
    fn tokens_after_last_answer_are_estimated() {
        let mut answer = AssistantMessage { stop_reason: StopReason::Stop, ..AssistantMessage::default() };
        answer.usage = Usage { total_tokens: Tokens(110), ..Usage::default() };
        let path = [
            message_entry("a", user("x")),
            message_entry("b", Message::Assistant(answer)),
            message_entry("c", user("12345")),
        ];
        assert_eq!(project(&path).tokens(), Tokens(112));
        assert_eq!(project(&path[..1]).tokens(), Tokens(1));
    }

    fn any_message() -> impl Strategy<Value = Message> {
        let id = prop::sample::select(vec!["a", "b", "c"]);
        let stop = prop::sample::select(vec![
            StopReason::ToolUse,
            StopReason::Stop,
            StopReason::Error,
            StopReason::Aborted,
        ]);
        prop_oneof![
            Just(user("u")),
            id.clone().prop_map(|id| result(id, "r")),
            (stop, prop::collection::vec(id, 0..4))
                .prop_map(|(stop, ids)| answer(stop, ids.into_iter().map(call).collect())),
        ]
    }

    proptest! {
        #[test]
        fn request_messages_incremental_equals_full(
            log in prop::collection::vec(any_message(), 0..24),
            pauses in prop::collection::vec(0..5_usize, 1..9),
        ) {
            let log = arcs(log);
            let projected: Vec<ProjectedMessage> = log
                .iter()
                .map(|message| ProjectedMessage { entry: "e".into(), message: Arc::clone(message) })
                .collect();
            let (mut sending, mut end) = (RequestMessages::default(), 0);
            for pause in pauses {
                end = (end + pause).min(log.len());
                prop_assert_eq!(sending.update(&projected[..end]), request_messages(&log[..end]));
            }
        }

        #[test]
        fn sendable_pairs_every_call_and_result(
            log in prop::collection::vec(any_message(), 0..24)
        ) {
            let request = request_messages(&arcs(log));
            let mut open_calls: Vec<CallId> = Vec::new();
            for message in &request {
                match &**message {
                    Message::ToolResult(result) => {
                        prop_assert_eq!(open_calls.first(), Some(&result.tool_call_id));
                        open_calls.remove(0);
                    }
                    Message::Assistant(answer) => {
                        prop_assert!(open_calls.is_empty());
                        let mut seen = HashSet::new();
                        open_calls = answer.tool_calls().map(|call| call.id.clone()).filter(|id| seen.insert(id.clone())).collect();
                    }
                    _ => prop_assert!(open_calls.is_empty()),
                }
            }
            prop_assert!(open_calls.is_empty());
        }
    }
}
