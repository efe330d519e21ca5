//! The messages that compaction keeps: selection of the point where a conversation is cut. Pure.
//!
//! A cut never separates a call from its result. It may fall inside a turn, before one of the turn's later
//! answers: then the turn is *split*, and its beginning is summarized separately.

use std::collections::HashSet;

use tiller_core::id::CallId;
use tiller_core::message::{AssistantBlock, Message, StopReason};
use tiller_core::unit::Tokens;
use tiller_session::context::{ProjectedMessage, estimate};

/// Limits of the kept part: the newest messages within both limits. The newest sent message is always kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionLimits {
    /// Maximum tokens, by estimate.
    pub tokens: Tokens,
    /// Maximum number of messages; `None` for no limit.
    pub messages: Option<usize>,
}

/// Size of the part kept so far.
#[derive(Clone, Copy, Default)]
struct KeptSize {
    tokens: Tokens,
    messages: usize,
    /// Number of messages that are sent to a provider.
    sent: usize,
}

impl KeptSize {
    fn add(&mut self, message: &Message) {
        let is_system = matches!(message, Message::System(_));
        self.messages += usize::from(!is_system);
        if is_sent(message) {
            self.sent += 1;
            self.tokens += estimate(message);
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens + other.tokens,
            messages: self.messages + other.messages,
            sent: self.sent + other.sent,
        }
    }

    fn is_within(&self, keep: RetentionLimits) -> bool {
        self.tokens <= keep.tokens && keep.messages.is_none_or(|max| self.messages <= max)
    }
}

/// Returns true for a message that is sent to a provider.
pub(super) fn is_sent(message: &Message) -> bool {
    match message {
        Message::Assistant(answer) => match answer.stop_reason {
            StopReason::Error => false,
            // Of an aborted answer, only the text is sent.
            StopReason::Aborted => answer.content.iter().any(is_text),
            StopReason::Stop | StopReason::Length | StopReason::ToolUse => !answer.content.is_empty(),
        },
        Message::BashExecution(bash) => !bash.exclude_from_context,
        Message::User(_) | Message::ToolResult(_) => true,
        Message::System(_) => false,
    }
}

fn is_text(block: &AssistantBlock) -> bool {
    matches!(block, AssistantBlock::Text { text, .. } if !text.is_empty())
}

/// Returns the estimated number of tokens that are sent to a provider.
pub(super) fn sent_tokens(messages: &[ProjectedMessage]) -> Tokens {
    let sent = messages.iter().filter(|projected| is_sent(&projected.message));
    sent.fold(Tokens(0), |sum, projected| sum + estimate(&projected.message))
}

/// A split turn is summarized whole if its remainder would be less than this fraction (1/4) of the kept part.
const FRAGMENT_DIVISOR: u64 = 4;

/// Returns the position of the first kept message. If the remainder of a split turn would be a small part of
/// the kept messages, the whole turn is summarized: one summary is more useful than a fragment and two
/// summaries.
pub(super) fn first_kept_without_fragment(messages: &[ProjectedMessage], keep: RetentionLimits) -> usize {
    let first = first_kept(messages, keep);
    if split_turn(messages, first).is_none() {
        return first;
    }
    let is_user = |projected: &ProjectedMessage| matches!(*projected.message, Message::User(_));
    let Some(next) = messages[first..].iter().position(is_user).map(|at| first + at) else { return first };
    // This repeats the search with a smaller limit, so the cut never separates a call from its result.
    let smaller = RetentionLimits { tokens: sent_tokens(&messages[next..]), ..keep };
    let is_fragment =
        sent_tokens(&messages[first..next]).0 * FRAGMENT_DIVISOR < sent_tokens(&messages[first..]).0;
    if is_fragment && first_kept(messages, smaller) == next { next } else { first }
}

/// Returns the position of the first kept message: the oldest possible cut with everything after it within
/// the limits. Returns the number of messages if none is kept.
pub(super) fn first_kept(messages: &[ProjectedMessage], keep: RetentionLimits) -> usize {
    let (mut first, mut kept, mut unit) = (messages.len(), KeptSize::default(), KeptSize::default());
    let mut results = HashSet::new();
    for (at, projected) in messages.iter().enumerate().rev() {
        unit.add(&projected.message);
        match &*projected.message {
            // A result is sent only if the answer before it makes the call, and then once.
            Message::ToolResult(result) => {
                unit.sent -= 1;
                results.insert(&result.tool_call_id);
            }
            Message::Assistant(answer) => {
                let makes_calls = is_sent(&projected.message) && answer.stop_reason != StopReason::Aborted;
                let is_answered = |id: &&CallId| answer.tool_calls().any(|call| call.id == **id);
                unit.sent += results.drain().filter(|id| makes_calls && is_answered(id)).count();
            }
            Message::User(_) | Message::BashExecution(_) | Message::System(_) => {}
        }
        // No call can precede the very first message.
        if at > 0 && !results.is_empty() {
            continue;
        }
        let more = kept.plus(unit);
        if kept.sent > 0 && !more.is_within(keep) {
            break;
        }
        (first, kept, unit) = (at, more, KeptSize::default());
    }
    first
}

/// Returns the position of the user message of the turn that a cut before `first_kept` splits. `None` if the
/// cut falls between two turns, or if the beginning of the turn is already gone.
pub(super) fn split_turn(messages: &[ProjectedMessage], first_kept: usize) -> Option<usize> {
    let speaks = |projected: &&ProjectedMessage| {
        matches!(*projected.message, Message::User(_) | Message::Assistant(_))
    };
    let next = messages[first_kept..].iter().find(speaks)?;
    if matches!(*next.message, Message::User(_)) {
        return None;
    }
    messages[..first_kept].iter().rposition(|projected| matches!(*projected.message, Message::User(_)))
}

/// Returns the positions of the messages to keep when the middle of a conversation is omitted: the first
/// message and the newest ones within the limits. The first message counts towards the limits. Calls are kept
/// with their results. Returns all positions if everything is within the limits.
#[must_use]
pub fn truncate(messages: &[ProjectedMessage], keep: RetentionLimits) -> Vec<usize> {
    let Some((first, rest)) = messages.split_first() else { return Vec::new() };
    let mut load = KeptSize::default();
    load.add(&first.message);
    let keep = RetentionLimits {
        tokens: Tokens(keep.tokens.0.saturating_sub(load.tokens.0)),
        messages: keep.messages.map(|max| max.saturating_sub(load.messages)),
    };
    let from = 1 + first_kept(rest, keep);
    std::iter::once(0).chain(from..messages.len()).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    use std::sync::Arc;

    use proptest::prelude::*;
    use tiller_core::message::{
        AssistantMessage, BashExecutionMessage, ToolCall, ToolResultMessage, UserBlock, UserMessage,
    };
    use tiller_core::unit::UnixMs;
    use tiller_session::{Entry, EntryBody};

    /// Parses a conversation in shorthand: `u` is a user message, `a` an answer, `a1` an answer with call 1,
    /// `a12` one with calls 1 and 2, `r1` the result of call 1, `e` a failed answer, `s1` an answer without
    /// text that was aborted before call 1 was complete, `!` a command, `!!` a command excluded from the
    /// context. Each text has 4 characters, one token.
    pub(in crate::compaction) fn conversation(words: &str) -> Vec<ProjectedMessage> {
        let message = |(at, word): (usize, &str)| ProjectedMessage {
            entry: format!("e{at}").as_str().into(),
            message: Arc::new(message(word)),
        };
        words.split_whitespace().enumerate().map(message).collect()
    }

    /// Parses the same shorthand into log entries.
    pub(in crate::compaction) fn entries(words: &str) -> Vec<Entry> {
        let entry = |ProjectedMessage { entry, message }| Entry {
            id: entry,
            parent: None,
            timestamp: UnixMs(1),
            body: EntryBody::message(message),
        };
        conversation(words).into_iter().map(entry).collect()
    }

    fn message(word: &str) -> Message {
        let text = || UserBlock::Text { text: "said".into() };
        let rest = &word[1..];
        match &word[..1] {
            "u" => Message::User(UserMessage::text("said", UnixMs(1))),
            "r" => Message::ToolResult(ToolResultMessage {
                tool_call_id: rest.into(),
                tool_name: "look".into(),
                content: vec![text()],
                details: None,
                is_error: false,
                timestamp: UnixMs(1),
            }),
            "!" => Message::BashExecution(BashExecutionMessage {
                command: "said".into(),
                exclude_from_context: rest == "!",
                ..BashExecutionMessage::default()
            }),
            kind => {
                let call = |id: char| {
                    let id = id.to_string().as_str().into();
                    AssistantBlock::ToolCall(ToolCall::from_streamed(id, "lo".into(), ""))
                };
                let stop_reason = match kind {
                    "e" => StopReason::Error,
                    "s" => StopReason::Aborted,
                    _ if rest.is_empty() => StopReason::Stop,
                    _ => StopReason::ToolUse,
                };
                let plain = rest.is_empty().then(|| AssistantBlock::text("said"));
                let content = plain.into_iter().chain(rest.chars().map(call)).collect();
                Message::Assistant(AssistantMessage { content, stop_reason, ..Default::default() })
            }
        }
    }

    fn tokens(max: u64) -> RetentionLimits {
        RetentionLimits { tokens: Tokens(max), messages: None }
    }

    fn messages(max: usize) -> RetentionLimits {
        RetentionLimits { tokens: Tokens(u64::MAX), messages: Some(max) }
    }

    #[test]
    fn first_kept_newest_messages_within_the_limit_stay() {
        let conversation = conversation("u a u a u a");
        assert_eq!(first_kept(&conversation, tokens(3)), 3);
        assert_eq!(first_kept(&conversation, messages(2)), 4);
        assert_eq!(first_kept(&conversation, RetentionLimits { tokens: Tokens(4), messages: Some(1) }), 5);
        assert_eq!(first_kept(&conversation, tokens(6)), 0);
    }

    #[test]
    fn first_kept_stopped_answer_without_text_is_not_counted() {
        assert_eq!(first_kept(&conversation("u a u s12"), messages(1)), 2);
        assert_eq!(first_kept(&conversation("u a u s12 r1 r2"), messages(1)), 2);
        assert_eq!(first_kept(&conversation("u a u s"), messages(1)), 3);
    }

    #[test]
    fn first_kept_call_stays_with_its_results() {
        let conversation = conversation("u a12 r1 r2 a");
        assert_eq!(first_kept(&conversation, messages(2)), 4);
        assert_eq!(first_kept(&conversation, messages(3)), 4);
        assert_eq!(first_kept(&conversation, messages(4)), 1);
    }

    #[test]
    fn first_kept_late_result_keeps_everything_between() {
        let conversation = conversation("u a12 r1 u r2 u a");
        assert_eq!(first_kept(&conversation, messages(4)), 5);
        assert_eq!(first_kept(&conversation, messages(6)), 1);
    }

    #[test]
    fn first_kept_newest_sent_message_stays_at_any_size() {
        assert_eq!(first_kept(&conversation("u a u e"), tokens(0)), 2);
        assert_eq!(first_kept(&conversation("u a1 r1"), tokens(0)), 1);
        assert_eq!(first_kept(&conversation("u a u !!"), messages(1)), 2);
        assert_eq!(
            first_kept(&conversation("u a u e r1"), messages(1)),
            2,
            "a result without its call is not sent"
        );
        assert_eq!(first_kept(&conversation("u a u e1 r1"), messages(1)), 2);
        assert_eq!(first_kept(&conversation("u a2 r1"), messages(1)), 1);
    }

    #[test]
    fn first_kept_unsent_messages_have_no_size() {
        assert_eq!(first_kept(&conversation("u a !! e u a"), tokens(3)), 1);
    }

    #[test]
    fn split_turn_cut_before_a_later_answer_splits() {
        let conversation = conversation("u a u a1 r1 a2 r2 ! a u");
        assert_eq!(split_turn(&conversation, 5), Some(2));
        assert_eq!(split_turn(&conversation, 7), Some(2));
        assert_eq!(split_turn(&conversation, 9), None);
        assert_eq!(split_turn(&conversation, 2), None);
    }

    #[test]
    fn first_kept_small_rest_of_a_turn_is_not_kept() {
        let first_kept = |words, max| first_kept_without_fragment(&conversation(words), tokens(max));
        assert_eq!(first_kept("u a u a u a", 5), 2, "one of five");
        assert_eq!(first_kept("u a u a", 3), 1, "one of three");
        assert_eq!(first_kept("u a1 r1 a u a u a", 5), 4);
        assert_eq!(first_kept("u a1 r1 a2 r2 a", 4), 3, "no other turn follows");
        assert_eq!(first_kept("u a u a u a", 4), 2);
    }

    #[test]
    fn split_turn_command_between_turns_splits_none() {
        assert_eq!(split_turn(&conversation("u a ! u a"), 2), None);
        assert_eq!(split_turn(&conversation("u a !"), 2), None);
    }

    #[test]
    fn truncate_keeps_the_first_message_and_whole_pairs() {
        let conversation = conversation("u a1 r1 a2 r2 a");
        assert_eq!(truncate(&conversation, messages(4)), [0, 3, 4, 5]);
        assert_eq!(truncate(&conversation, messages(3)), [0, 5]);
        assert_eq!(truncate(&conversation, messages(6)), [0, 1, 2, 3, 4, 5]);
        assert!(truncate(&[], messages(1)).is_empty());
    }

    fn any_conversation() -> impl Strategy<Value = Vec<ProjectedMessage>> {
        let word =
            prop::sample::select(vec!["u", "a", "a1", "a12", "a3", "r1", "r2", "r3", "e", "e1", "!", "!!"]);
        prop::collection::vec(word, 0..24).prop_map(|words| conversation(&words.join(" ")))
    }

    /// Returns true if a call before the cut has its result after the cut, and the result would have been
    /// sent.
    fn is_torn(conversation: &[ProjectedMessage], first: usize) -> bool {
        let mut open: HashSet<&str> = HashSet::new();
        for (at, projected) in conversation.iter().enumerate() {
            match &*projected.message {
                Message::Assistant(_) if at >= first => return false,
                Message::Assistant(answer) => {
                    open = answer.tool_calls().map(|call| call.id.as_str()).collect()
                }
                Message::ToolResult(result) if at < first => drop(open.remove(result.tool_call_id.as_str())),
                Message::ToolResult(result) if open.contains(result.tool_call_id.as_str()) => return true,
                _ => {}
            }
        }
        false
    }

    proptest! {
        #[test]
        fn first_kept_never_separates_a_call_from_its_result(conversation in any_conversation(), most in 0..9_u64, count in 1..9_usize) {
            for keep in [tokens(most), messages(count)] {
                let first = first_kept(&conversation, keep);
                prop_assert!(!is_torn(&conversation, first));
                if conversation.iter().any(|projected| is_sent(&projected.message) && !matches!(*projected.message, Message::ToolResult(_))) {
                    prop_assert!(conversation[first..].iter().any(|projected| is_sent(&projected.message)));
                }
                let kept = truncate(&conversation, keep);
                prop_assert!(kept.first().is_none_or(|first| *first == 0));
                prop_assert!(kept.is_sorted());
            }
        }
    }
}
