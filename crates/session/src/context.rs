//! From a path through the tree to what a model reads. Pure.
//!
//! Two stages. *Projection* turns entries into messages: the newest compaction's summary, what it kept, what followed, with
//! edits applied; failed and aborted answers and `!!` records are part of it. *Sending* leaves those out and makes the
//! calls and results pair up, for a provider refuses a conversation in which they don't.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tiller_core::id::{CallId, EntryId};
use tiller_core::message::{
    AssistantBlock, AssistantMessage, Content, Message, ModelRef, StopReason, ThinkingLevel, ToolCall,
    ToolResultMessage, UserBlock, UserMessage,
};
use tiller_core::unit::{Tokens, UnixMs};

use super::entry::{Compaction, Entry, EntryBody, Replacement};
use super::id_gen::can_go_on_after;

/// What a call without a result gets: tiller, or the program that wrote the log, died or was stopped meanwhile.
pub const INTERRUPTED: &str =
    "interrupted: the tool call was cut off before it had a result; it may have had effects";

/// What a call without a result gets that certainly never began: one before it was cut off.
pub const UNBEGUN: &str = "not begun: the run was cut off; it had no effects";

/// Tools of tiller's own that never run beside another call. Others may only read, and then they may.
const ALONE: [&str; 3] = ["bash", "edit_file", "write_file"];

/// UTF-16 units that make about one token.
const UNITS_PER_TOKEN: u64 = 4;

/// UTF-16 units that one image counts as.
const IMAGE_UNITS: u64 = 4_800;

/// What the path to a leaf says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Projection {
    /// The messages, oldest first.
    pub messages: Vec<ProjectedMessage>,
    /// The model chosen last, or the one that answered last.
    pub model: Option<ModelRef>,
    /// The thinking level chosen last.
    pub thinking: ThinkingLevel,
    /// The newest compaction; its summary is the first message.
    pub compaction: Option<Compaction>,
    /// The part that is left on disk: it stands before the messages, but after a compaction's summary.
    pub unloaded: Option<UnloadedContext>,
    /// Whether the newest usage on the path still tells the size of the context: no compaction or edit came after it.
    measured_from: usize,
    estimated: Estimated,
}

/// The older part of a context that is longer than any model reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnloadedContext {
    /// Number of messages.
    pub messages: usize,
    /// Their size, estimated from the length of their lines in the log.
    pub tokens: Tokens,
}

impl UnloadedContext {
    /// Adds a message whose line in the log has this length in bytes.
    pub(super) fn add(&mut self, line: usize) {
        self.messages += 1;
        self.tokens += Tokens(line as u64 / UNITS_PER_TOKEN);
    }
}

/// Estimates of the first 0, 1, 2, … messages, as far as they were asked for: the size is asked for at every request, and
/// then only what came since is looked at. They follow from the messages, so they don't count in a comparison.
#[derive(Clone, Debug, Default)]
struct Estimated(RefCell<Vec<Tokens>>);

/// The size that a provider counted is not believed where the text by itself, by estimate, is more than this many times as
/// large: some servers count only what is new, or nothing.
const CONTRADICTION: u64 = 4;

impl PartialEq for Estimated {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A message with the entry it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectedMessage {
    /// The entry.
    pub entry: EntryId,
    /// The message.
    pub message: Arc<Message>,
}

/// First stage: what the entries on a path, root first, say to each other.
#[must_use]
pub fn project(path: &[Entry]) -> Projection {
    project_from(path, None)
}

/// The same, with the messages of the entries from the index `first` on, and not from the first that the compaction keeps:
/// those before it say who answers and what was edited.
pub(super) fn project_from(path: &[Entry], first: Option<usize>) -> Projection {
    let mut projection = Projection::default();
    let edits = last_edits(path);
    let compaction = path.iter().enumerate().rev().find_map(|(at, entry)| match &entry.body {
        EntryBody::Compaction(compaction) => Some((at, compaction)),
        _ => None,
    });
    let mut from = 0;
    if let Some((at, compaction)) = compaction {
        projection.messages.push(summary_of(&path[at], compaction));
        projection.compaction = Some(compaction.clone());
        from =
            path[..at].iter().rposition(|entry| entry.id == compaction.first_kept_entry_id).unwrap_or(at + 1);
    }
    let from = first.unwrap_or(from);
    let reset = path
        .iter()
        .rposition(|entry| matches!(entry.body, EntryBody::Compaction(_) | EntryBody::ContextEdit { .. }));
    for (at, entry) in path.iter().enumerate() {
        projection.note_state(&entry.body);
        if at >= from && !matches!(entry.body, EntryBody::Compaction(_)) {
            projection.messages.extend(message_of(entry, &edits));
        }
        if reset == Some(at) {
            projection.measured_from = projection.messages.len();
        }
    }
    projection
}

/// Whether an entry has a word on who answers.
pub(super) fn names_model(body: &EntryBody) -> bool {
    let mut projection = Projection::default();
    projection.note_state(body);
    projection.model.is_some()
}

impl Projection {
    /// Takes an entry's word on who answers and how much it thinks.
    pub fn note_state(&mut self, body: &EntryBody) {
        match body {
            EntryBody::ModelChange { provider, model_id } => {
                self.model = Some(ModelRef { provider: provider.clone(), id: model_id.clone() });
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

    /// Adds a message that was just appended after the path's end.
    pub fn push(&mut self, entry: EntryId, message: Arc<Message>) {
        self.messages.push(ProjectedMessage { entry, message });
    }

    /// What of it none of these entries says. A compaction's summary is part of that only if it stands for something else than
    /// what they say: if the first entry that it keeps isn't one of them.
    #[must_use]
    pub fn beyond(mut self, stays: &HashSet<&EntryId>) -> Self {
        let first_kept = self.compaction.as_ref().map(|compaction| &compaction.first_kept_entry_id);
        if first_kept.is_some_and(|first| stays.contains(first)) {
            self.compaction = None;
            self.messages.remove(0);
        }
        self.messages.retain(|projected| !stays.contains(&projected.entry));
        // What a provider counted was more than this.
        self.measured_from = self.messages.len();
        self.estimated = Estimated::default();
        self
    }

    /// How many messages there are, system prompts of other programs aside.
    #[must_use]
    pub fn message_count(&self) -> usize {
        let loaded =
            self.messages.iter().filter(|projected| !matches!(*projected.message, Message::System(_)));
        self.unloaded.unwrap_or_default().messages + loaded.count()
    }

    /// Size of the context: the provider's count at the newest usable answer, and an estimate of what follows it. All of it is
    /// estimated where there is no such count, or where the text is more than four times as large as the count says.
    #[must_use]
    pub fn tokens(&self) -> Tokens {
        let measured =
            self.messages.iter().enumerate().skip(self.measured_from).rev().find_map(|(at, projected)| {
                match &*projected.message {
                    Message::Assistant(answer)
                        if !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted)
                            && answer.usage.total() > Tokens(0) =>
                    {
                        Some((at + 1, answer.usage.total()))
                    }
                    _ => None,
                }
            });
        let unloaded = self.unloaded.unwrap_or_default().tokens;
        let whole = unloaded + self.estimate_of_first(self.messages.len());
        let Some((count, known)) = measured else { return whole };
        let estimated = unloaded + self.estimate_of_first(count);
        if estimated.0 > known.0.saturating_mul(CONTRADICTION) {
            return whole;
        }
        known + Tokens(whole.0 - estimated.0)
    }

    /// The estimated size of the first `count` messages.
    fn estimate_of_first(&self, count: usize) -> Tokens {
        let mut sums = self.estimated.0.borrow_mut();
        let mut sum = sums.last().copied().unwrap_or_default();
        if sums.is_empty() {
            sums.push(sum);
        }
        for projected in self.messages.get(sums.len() - 1..).unwrap_or_default() {
            sum += estimate(&projected.message);
            sums.push(sum);
        }
        sums[count]
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
        EntryBody::Message(said) => {
            ProjectedMessage { entry: entry.id.clone(), message: Arc::clone(&said.message) }
        }
        EntryBody::BranchSummary { summary, .. } => {
            let text = format!(
                "Another branch of this conversation was left; this is what happened there:\n\n<summary>\n{summary}\n</summary>"
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
            projected.message = Arc::new(replaced(&projected.message, &replacement.content))
        }
    }
    Some(projected)
}

/// The estimated size of an entry's message, before edits.
pub(super) fn size_of(entry: &Entry) -> Tokens {
    message_of(entry, &HashMap::new()).map_or(Tokens(0), |projected| estimate(&projected.message))
}

fn replaced(message: &Message, content: &Content) -> Message {
    let mut message = message.clone();
    match &mut message {
        Message::User(user) => user.content = content.clone(),
        Message::ToolResult(result) => result.content = content.to_blocks(),
        Message::Assistant(answer) => {
            // The calls stay: their results follow.
            answer.content.retain(|block| matches!(block, AssistantBlock::ToolCall(_)));
            answer.content.insert(0, AssistantBlock::Text { text: content.joined_text() });
        }
        Message::BashExecution(bash) => {
            bash.output = content.joined_text();
            bash.strokes.clear();
        }
        Message::System(system) => system.content = content.joined_text(),
    }
    message
}

/// Second stage: what goes to a provider. Every call has exactly one result, directly after its answer and in the
/// model's order; no result stands without its call.
#[must_use]
pub fn sendable<'a>(messages: impl IntoIterator<Item = &'a Arc<Message>>) -> Vec<Arc<Message>> {
    let mut sent = Vec::new();
    let mut open = OpenCalls::default();
    for message in messages {
        match &**message {
            Message::System(_) => {}
            Message::BashExecution(bash) if bash.exclude_from_context => {}
            Message::ToolResult(result) => open.answer(result, message),
            Message::User(_) | Message::BashExecution(_) => open.after.push(Arc::clone(message)),
            Message::Assistant(answer) => {
                open.close(&mut sent);
                open.begin(answer, message, &mut sent);
            }
        }
    }
    open.close(&mut sent);
    sent
}

/// [`sendable`] of a projection that only grows: what can't change any more isn't worked out again for every request.
#[derive(Debug, Default)]
pub struct RequestMessages {
    /// What the messages before the newest answer became: whatever follows, their calls are closed.
    settled: Vec<Arc<Message>>,
    /// How many messages that were.
    count: usize,
}

impl RequestMessages {
    /// What of these messages goes to a provider. They begin with those of the call before; else take a new [`Sending`].
    #[must_use]
    pub fn of(&mut self, messages: &[ProjectedMessage]) -> Vec<Arc<Message>> {
        let message = |projected: &'_ ProjectedMessage| Arc::clone(&projected.message);
        let new = messages.get(self.count..).unwrap_or_default();
        let is_answer = |projected: &ProjectedMessage| matches!(*projected.message, Message::Assistant(_));
        let newest = new.iter().rposition(is_answer).unwrap_or(0);
        let (settled, rest) = new.split_at(newest);
        if !settled.is_empty() {
            self.settled.extend(sendable(&settled.iter().map(message).collect::<Vec<_>>()));
            self.count += settled.len();
        }
        let rest = sendable(&rest.iter().map(message).collect::<Vec<_>>());
        self.settled.iter().cloned().chain(rest).collect()
    }
}

/// The calls of the newest answer, until the next one: results may come late, or not at all.
#[derive(Default)]
struct OpenCalls {
    calls: Vec<ToolCall>,
    results: HashMap<CallId, Arc<Message>>,
    after: Vec<Arc<Message>>,
    since: UnixMs,
}

/// An answer that makes a call once under each id: one result can't answer two, and providers refuse them.
fn without_doubled_calls(answer: &AssistantMessage) -> Message {
    let (mut answer, mut seen) = (answer.clone(), HashSet::new());
    answer.content.retain(|block| match block {
        AssistantBlock::ToolCall(call) => seen.insert(call.id.clone()),
        AssistantBlock::Text { .. } | AssistantBlock::Thinking { .. } | AssistantBlock::Unknown => true,
    });
    Message::Assistant(answer)
}

impl OpenCalls {
    fn begin(&mut self, answer: &AssistantMessage, message: &Arc<Message>, sent: &mut Vec<Arc<Message>>) {
        match answer.stop_reason {
            StopReason::Error => {}
            StopReason::Aborted => {
                let mut text_only = answer.clone();
                text_only
                    .content
                    .retain(|block| matches!(block, AssistantBlock::Text { text } if !text.is_empty()));
                if !text_only.content.is_empty() {
                    sent.push(Arc::new(Message::Assistant(text_only)));
                }
            }
            StopReason::Stop | StopReason::Length | StopReason::ToolUse if answer.content.is_empty() => {}
            StopReason::Stop | StopReason::Length | StopReason::ToolUse => {
                let mut seen = HashSet::new();
                self.calls = answer.tool_calls().filter(|call| seen.insert(&call.id)).cloned().collect();
                self.since = answer.timestamp;
                let is_plain = answer.tool_calls().count() == self.calls.len();
                sent.push(if is_plain {
                    Arc::clone(message)
                } else {
                    Arc::new(without_doubled_calls(answer))
                });
            }
        }
    }

    fn answer(&mut self, result: &ToolResultMessage, message: &Arc<Message>) {
        if self.calls.iter().any(|call| call.id == result.tool_call_id) {
            self.results.entry(result.tool_call_id.clone()).or_insert_with(|| Arc::clone(message));
        }
    }

    fn close(&mut self, sent: &mut Vec<Arc<Message>>) {
        for call in self.calls.drain(..) {
            let result = self.results.remove(&call.id);
            sent.push(result.unwrap_or_else(|| {
                Arc::new(Message::ToolResult(CutOffCall::MayHaveRun.result(&call, self.since)))
            }));
        }
        self.results.clear();
        sent.append(&mut self.after);
    }
}

/// What is known of a call that was left without a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutOffCall {
    /// It may have been at work.
    MayHaveRun,
    /// It certainly never began.
    Unbegun,
}

/// Says of those calls of an answer that have no result what is known of them; of the others nothing. `calls` are all of the answer's,
/// in its order: the tool's name, and whether there is a result.
///
/// Tiller runs calls one after the other, and side by side only such as read. So none began behind one that has no result, unless
/// all from that one on may have read. Answers that another program wrote down tell nothing: it may have run them otherwise.
#[must_use]
pub fn cut_off<'a>(
    answer: &EntryId,
    calls: impl IntoIterator<Item = (&'a str, bool)>,
) -> Vec<Option<CutOffCall>> {
    let (mut is_in_order, mut fates) = (can_go_on_after(answer), Vec::new());
    // Whether one that runs alone is among those from the first without a result on; `None` before there is one.
    let mut alone: Option<bool> = None;
    for (name, has_result) in calls {
        let runs_alone = ALONE.contains(&name);
        let waited = alone.is_some_and(|alone| alone || runs_alone);
        is_in_order &= !(waited && has_result);
        fates.push((!has_result).then_some(if waited {
            CutOffCall::Unbegun
        } else {
            CutOffCall::MayHaveRun
        }));
        alone = if has_result { alone } else { Some(waited || runs_alone) };
    }
    if !is_in_order {
        fates.iter_mut().flatten().for_each(|fate| *fate = CutOffCall::MayHaveRun);
    }
    fates
}

impl CutOffCall {
    /// What the model reads of such a call.
    #[must_use]
    pub fn said(self) -> &'static str {
        match self {
            Self::MayHaveRun => INTERRUPTED,
            Self::Unbegun => UNBEGUN,
        }
    }

    /// The result of such a call.
    #[must_use]
    pub fn result(self, call: &ToolCall, timestamp: UnixMs) -> ToolResultMessage {
        ToolResultMessage {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            content: vec![UserBlock::Text { text: self.said().to_owned() }],
            details: None,
            is_error: true,
            timestamp,
        }
    }
}

/// Calls of the newest message's answer that have no result, with what is known of them: to be answered before the session goes on.
#[must_use]
pub fn unanswered(messages: &[ProjectedMessage]) -> Vec<(ToolCall, CutOffCall)> {
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
            let fates = cut_off(entry, calls);
            let open = answer.tool_calls().zip(fates);
            open.filter_map(|(call, fate)| Some((call.clone(), fate?))).collect()
        }
        _ => Vec::new(),
    }
}

/// About how many tokens a message takes.
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

/// About how many tokens a text takes.
#[must_use]
pub fn estimate_text(text: &str) -> Tokens {
    Tokens(utf16_units(text).div_ceil(UNITS_PER_TOKEN))
}

fn block_units(blocks: &[UserBlock]) -> u64 {
    let units = |block: &UserBlock| match block {
        UserBlock::Text { text } => utf16_units(text),
        UserBlock::Image { .. } => IMAGE_UNITS,
        UserBlock::Unknown => 0,
    };
    blocks.iter().map(units).sum()
}

fn answer_units(block: &AssistantBlock) -> u64 {
    match block {
        AssistantBlock::Text { text } => utf16_units(text),
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
        AssistantBlock::Text { text: text.into() }
    }

    fn result(id: &str, said: &str) -> Message {
        Message::ToolResult(ToolResultMessage {
            tool_call_id: id.into(),
            tool_name: "bash".into(),
            content: vec![UserBlock::Text { text: said.into() }],
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

    fn said(id: &str, message: Message) -> Entry {
        entry(id, EntryBody::message(Arc::new(message)))
    }

    fn interrupted_result(id: &str) -> Message {
        let call = ToolCall::from_streamed(id.into(), "bash".into(), "");
        Message::ToolResult(CutOffCall::MayHaveRun.result(&call, UnixMs(0)))
    }

    #[test]
    fn behind_a_call_that_was_cut_off_none_began_unless_all_of_them_may_read() {
        let (ours, theirs) = ("01JAV7E0000000000000000000", "7303e144");
        for (answer, calls, expected) in [
            (ours, "bash! bash! grep!", "ran unbegun unbegun"),
            (ours, "grep bash! bash!", "- ran unbegun"),
            (ours, "grep! grep! bash! grep!", "ran ran unbegun unbegun"),
            (ours, "grep! grep mcp_tool! grep!", "ran - ran ran"),
            (ours, "mcp_tool! edit_file!", "ran unbegun"),
            // Whoever wrote this ran calls side by side.
            (ours, "bash! bash bash!", "ran - ran"),
            (theirs, "bash! bash!", "ran ran"),
            (ours, "bash", "-"),
        ] {
            let calls = calls.split(' ').map(|call| (call.trim_end_matches('!'), !call.ends_with('!')));
            let told = cut_off(&answer.into(), calls).into_iter().map(|fate| match fate {
                None => "-",
                Some(CutOffCall::MayHaveRun) => "ran",
                Some(CutOffCall::Unbegun) => "unbegun",
            });
            assert_eq!(told.collect::<Vec<_>>().join(" "), expected, "{answer} {expected}");
        }
    }

    #[test]
    fn of_calls_with_one_id_in_one_answer_the_first_is_sent_with_the_result() {
        let doubled = answer(StopReason::ToolUse, vec![call("c1"), text("and"), call("c1"), call("c2")]);
        let log = arcs(vec![user("go"), doubled, result("c1", "one"), result("c2", "two")]);
        let plain = answer(StopReason::ToolUse, vec![call("c1"), text("and"), call("c2")]);
        assert_eq!(sendable(&log), arcs(vec![user("go"), plain, result("c1", "one"), result("c2", "two")]));
    }

    #[test]
    fn a_call_cut_off_by_a_crash_is_answered_before_what_the_user_said_next() {
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
        assert_eq!(sendable(&log), expected);
    }

    #[test]
    fn a_failed_answer_is_not_sent_and_an_aborted_one_only_as_text() {
        let log = arcs(vec![
            user("go"),
            answer(StopReason::Error, vec![text("half")]),
            answer(StopReason::Aborted, vec![text("said"), call("a")]),
            result("a", "late"),
            answer(StopReason::Aborted, vec![call("b")]),
            user("on"),
        ]);
        assert_eq!(
            sendable(&log),
            arcs(vec![user("go"), answer(StopReason::Aborted, vec![text("said")]), user("on")])
        );
    }

    #[test]
    fn what_a_double_bang_printed_is_never_sent() {
        let secret = Message::BashExecution(BashExecutionMessage {
            command: "env".into(),
            output: "SECRET".into(),
            exclude_from_context: true,
            ..BashExecutionMessage::default()
        });
        assert_eq!(sendable(&arcs(vec![secret, user("go")])), arcs(vec![user("go")]));
    }

    #[test]
    fn a_compaction_stands_for_what_it_did_not_keep() {
        let compaction = Compaction {
            summary: "S".into(),
            first_kept_entry_id: "b".into(),
            tokens_before: Tokens(9),
            details: None,
            usage: None,
            made_by: None,
        };
        let path = [
            said("a", user("1")),
            said("b", user("2")),
            entry("c", EntryBody::Compaction(compaction)),
            said("d", user("3")),
        ];
        let projection = project(&path);
        let ids: Vec<&str> = projection.messages.iter().map(|projected| projected.entry.as_str()).collect();
        assert_eq!(ids, ["c", "b", "d"]);
    }

    #[test]
    fn the_last_edit_of_an_entry_counts() {
        let edit = |replacement: Option<&str>| EntryBody::ContextEdit {
            target_id: "a".into(),
            replacement: replacement.map(|text| Replacement { content: Content::Text(text.into()) }),
        };
        let path = [said("a", user("old")), entry("e", edit(None)), entry("f", edit(Some("new")))];
        let Message::User(shown) = &*project(&path).messages[0].message else { panic!("a user message") };
        assert_eq!(shown.content.joined_text(), "new");
        assert!(project(&path[..2]).messages.is_empty());
    }

    #[test]
    fn an_estimate_that_goes_on_from_the_last_one_is_that_of_the_whole() {
        let counted = AssistantMessage {
            usage: Usage { input: Tokens(500), ..Usage::default() },
            ..AssistantMessage::default()
        };
        let said = |text: &str| Message::User(UserMessage::text(text, UnixMs(0)));
        let messages =
            [said("four"), said("and eight"), Message::Assistant(counted), said("more"), said("yet more")];
        let (mut grown, mut all) = (Projection::default(), Vec::new());
        for (at, message) in messages.into_iter().enumerate() {
            let (id, message) = (EntryId::new(at.to_string()), Arc::new(message));
            all.push(ProjectedMessage { entry: id.clone(), message: Arc::clone(&message) });
            grown.push(id, message);
            let fresh = Projection { messages: all.clone(), ..Projection::default() };
            assert_eq!((grown.tokens(), grown.tokens()), (fresh.tokens(), fresh.tokens()), "after {at}");
        }
        assert_eq!(grown.tokens(), Tokens(500 + 1 + 2));
        let stays = EntryId::new("0");
        let left = grown.beyond(&HashSet::from([&stays]));
        assert_eq!(left.tokens(), Tokens(3 + 1 + 2), "nothing that was known of the whole counts for a part");
    }

    #[test]
    fn tokens_far_below_what_the_text_says_are_not_believed() {
        let counted = |count| {
            let usage = Usage { total_tokens: Tokens(count), ..Usage::default() };
            let answer = AssistantMessage { usage, ..AssistantMessage::default() };
            let messages = [
                said("a", user(&"x".repeat(1_600))),
                said("b", Message::Assistant(answer)),
                said("c", user("four")),
            ];
            project(&messages)
        };
        assert_eq!(counted(100).tokens(), Tokens(101));
        assert_eq!(counted(99).tokens(), Tokens(401));
        // Most of the text may not even be loaded.
        let mut long = counted(100);
        long.unloaded = Some(UnloadedContext { messages: 9, tokens: Tokens(3_000) });
        assert_eq!((long.tokens(), long.message_count()), (Tokens(3_401), 12));
    }

    #[test]
    fn the_context_is_measured_by_the_last_good_answer_and_estimated_after_it() {
        let mut good = AssistantMessage { stop_reason: StopReason::Stop, ..AssistantMessage::default() };
        good.usage = Usage { total_tokens: Tokens(110), ..Usage::default() };
        let path = [said("a", user("x")), said("b", Message::Assistant(good)), said("c", user("12345"))];
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
        fn what_is_sent_of_a_growing_log_is_what_would_be_sent_of_all_of_it(
            log in prop::collection::vec(any_message(), 0..24),
            pauses in prop::collection::vec(0..5_usize, 1..9),
        ) {
            let log = arcs(log);
            let projected: Vec<ProjectedMessage> = log
                .iter()
                .map(|message| ProjectedMessage { entry: "e".into(), message: Arc::clone(message) })
                .collect();
            let (mut sending, mut upto) = (RequestMessages::default(), 0);
            for pause in pauses {
                upto = (upto + pause).min(log.len());
                prop_assert_eq!(sending.of(&projected[..upto]), sendable(&log[..upto]));
            }
        }

        #[test]
        fn whatever_the_log_every_call_has_one_result_and_every_result_its_call(
            log in prop::collection::vec(any_message(), 0..24)
        ) {
            let sent = sendable(&arcs(log));
            let mut waiting: Vec<CallId> = Vec::new();
            for message in &sent {
                match &**message {
                    Message::ToolResult(result) => {
                        prop_assert_eq!(waiting.first(), Some(&result.tool_call_id));
                        waiting.remove(0);
                    }
                    Message::Assistant(answer) => {
                        prop_assert!(waiting.is_empty());
                        let mut seen = HashSet::new();
                        waiting = answer.tool_calls().map(|call| call.id.clone()).filter(|id| seen.insert(id.clone())).collect();
                    }
                    _ => prop_assert!(waiting.is_empty()),
                }
            }
            prop_assert!(waiting.is_empty());
        }
    }
}
