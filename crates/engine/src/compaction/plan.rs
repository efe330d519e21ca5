//! A single compaction: the kept part, the summary requests, and the entry created from the answers. Pure.

use std::collections::HashMap;
use tiller_core::setting::CompactionStrategy;

use serde_json::Value;
use tiller_core::event::CompactionReason;
use tiller_core::id::EntryId;
use tiller_core::message::{Message, UserMessage};
use tiller_core::task_plan::TaskPlan;
use tiller_core::tool_catalog::ToolCatalog;
use tiller_core::unit::{Tokens, UnixMs, thousands};
use tiller_session::context::{ProjectedMessage, Projection, UnloadedContext, estimate};
use tiller_session::entry::Compaction;

use super::retention::{first_kept_without_fragment, is_sent, sent_tokens, split_turn};
use super::{
    CompactionError, CompactionOptions, Files, Prompt, RetentionLimits, SummaryRequest, keep_after_overflow,
    truncate,
};
use crate::task_plan;

/// Maximum length of the first message in a summary, in characters.
const QUOTED_CHARS: usize = 2_000;

/// Key in a compaction's details: the estimated size of the context afterwards.
const TOKENS_AFTER: &str = "tokensAfter";

/// Start of the task plan that follows a summary.
const PLAN_TAG: &str = "\n\n<plan>\n";

const FIRST_MESSAGE_TAGS: (&str, &str) = ("<first-message>\n", "\n</first-message>");
const OMISSION_NOTE: &str = "\n\n[The messages that followed were omitted to save space and are not summarized; what \
                             comes next is the newest part of the conversation.]";

/// Input of a compaction.
#[derive(Clone, Debug, Default)]
pub struct CompactionInput {
    /// The current conversation.
    pub projection: Projection,
    /// The branch's first user message.
    pub first_message: Option<String>,
    /// The details of branch summaries among the messages, by entry.
    pub branch_details: HashMap<EntryId, Value>,
    /// The tools that the conversation may have called.
    pub tools: ToolCatalog,
}

/// A planned compaction.
#[derive(Clone, Debug)]
pub struct CompactionPlan {
    first_kept: EntryId,
    tokens_before: Tokens,
    first_message: Option<String>,
    /// The text of the previous summary, without the quoted first message and the file lists.
    previous: Option<String>,
    /// The messages to summarize.
    older: Vec<ProjectedMessage>,
    /// The part before `older`, which isn't loaded.
    unloaded: UnloadedContext,
    /// The beginning of a split turn, summarized separately.
    turn: Vec<ProjectedMessage>,
    /// Estimated size of the kept part.
    kept_tokens: Tokens,
    files: Files,
    /// The task plan at the end of the replaced part.
    task_plan: Option<TaskPlan>,
    replaced: ReplacedSize,
}

/// Size of the replaced messages; the summary must be smaller.
#[derive(Clone, Copy, Debug)]
struct ReplacedSize {
    /// Estimated tokens.
    tokens: Tokens,
    /// The number of messages, if it has to decrease.
    messages: Option<usize>,
}

impl CompactionPlan {
    /// Selects the messages to summarize and those to keep.
    ///
    /// # Errors
    /// [`CompactionError::Off`] if compaction is turned off in the settings, [`CompactionError::Nothing`] if
    /// everything would be kept.
    pub fn new(
        input: &CompactionInput,
        keep: RetentionLimits,
        options: &CompactionOptions,
    ) -> Result<Self, CompactionError> {
        let projection = &input.projection;
        let messages = &projection.messages;
        let head = usize::from(projection.compaction.is_some());
        let first = match options.strategy {
            CompactionStrategy::Off => return Err(CompactionError::Off),
            CompactionStrategy::Summarize => {
                head + first_kept_without_fragment(&messages[head.min(messages.len())..], keep)
            }
            CompactionStrategy::Truncate => match truncate(messages, keep)[..] {
                // All of them: if the first message is kept too, nothing is left to omit.
                [_, 1, ..] => head,
                [_, first, ..] => first,
                [_] | [] => messages.len(),
            },
        };
        let nothing = CompactionError::Nothing { strategy: options.strategy, kept: keep.tokens };
        let Some(kept) = messages.get(first) else { return Err(nothing) };
        let replaced = &messages[head..first];
        let unloaded = projection.unloaded.unwrap_or_default();
        let is_any_sent = replaced.iter().any(|projected| is_sent(&projected.message));
        if unloaded.messages == 0 && !is_any_sent {
            return Err(nothing);
        }
        let (older, turn) = match split_turn(messages, first).map(|at| at.saturating_sub(head)) {
            // Without earlier messages, only the beginning of the turn is summarized.
            Some(at) if replaced[..at].iter().any(|projected| is_sent(&projected.message)) => {
                replaced.split_at(at)
            }
            Some(_) | None => (replaced, &replaced[..0]),
        };
        let has_too_many = options.max_messages.is_some_and(|max| projection.message_count() > max);
        Ok(Self {
            first_kept: kept.entry.clone(),
            tokens_before: projection.tokens(),
            first_message: input.first_message.as_deref().map(quote),
            previous: projection
                .compaction
                .as_ref()
                .map(|earlier| strip_additions(&earlier.summary).to_owned()),
            older: older.to_vec(),
            unloaded,
            turn: turn.to_vec(),
            kept_tokens: messages[first..].iter().fold(Tokens(0), |sum, text| sum + estimate(&text.message)),
            files: collect_files(input, replaced),
            task_plan: task_plan::last(replaced)
                .or_else(|| task_plan::from_compaction(&input.projection))
                .filter(|plan| !plan.is_finished()),
            replaced: ReplacedSize {
                tokens: unloaded.tokens + sent_tokens(&messages[..first]),
                messages: has_too_many.then_some(unloaded.messages + first),
            },
        })
    }

    /// Selects the messages for a compaction in a window of this size.
    ///
    /// # Errors
    /// Returns the same errors as [`CompactionPlan::new`], and [`CompactionError::TooLong`] if the kept part
    /// doesn't fit into the window even with a minimal summary.
    pub(crate) fn for_window(
        input: &CompactionInput,
        reason: CompactionReason,
        options: &CompactionOptions,
        window: Tokens,
    ) -> Result<Self, CompactionError> {
        let keep = match reason {
            CompactionReason::Overflow => keep_after_overflow(&input.projection, options.keep(window)),
            CompactionReason::Manual | CompactionReason::Threshold => options.keep(window),
        };
        let plan = Self::new(input, keep, options)?;
        match plan.kept_tokens {
            kept if kept > window => Err(CompactionError::TooLong { kept, window }),
            _ => Ok(plan),
        }
    }

    /// Returns the first entry that is kept.
    #[must_use]
    pub(crate) fn first_kept(&self) -> &EntryId {
        &self.first_kept
    }

    /// Returns the summary requests. [`CompactionPlan::summary_entry`] expects the answers in the same order.
    #[must_use]
    pub fn requests(&self) -> Vec<SummaryRequest> {
        let prompt = match &self.previous {
            None => Prompt::Summary,
            Some(previous) => Prompt::Update { previous: previous.clone() },
        };
        let main = SummaryRequest { prompt, messages: self.older.clone(), unloaded: self.unloaded.messages };
        let of_turn =
            || SummaryRequest { prompt: Prompt::SplitTurn, messages: self.turn.clone(), unloaded: 0 };
        std::iter::once(main).chain((!self.turn.is_empty()).then(of_turn)).collect()
    }

    /// Creates the entry from the answers.
    ///
    /// # Errors
    /// If an answer is empty, or the context would not get smaller.
    pub fn summary_entry(&self, answers: &[String]) -> Result<Compaction, CompactionError> {
        if answers.iter().any(|answer| answer.trim().is_empty()) {
            return Err(CompactionError::Empty);
        }
        let answers: Vec<&str> = answers.iter().map(|answer| answer.trim()).collect();
        self.entry(&answers.join("\n\n---\n\n## The Beginning of the Current Turn\n"))
    }

    /// Creates the entry without a request: it quotes the first message, keeps the previous summary, and
    /// notes that the rest is omitted.
    ///
    /// # Errors
    /// If the context would not get smaller.
    pub fn truncation_entry(&self) -> Result<Compaction, CompactionError> {
        let earlier = self.previous.as_deref().unwrap_or_default();
        let text = earlier.strip_suffix(OMISSION_NOTE.trim_start()).unwrap_or(earlier).trim_end();
        self.entry(format!("{text}{OMISSION_NOTE}").trim_start())
    }

    fn entry(&self, text: &str) -> Result<Compaction, CompactionError> {
        let first = self.first_message.as_ref();
        let first = first
            .map(|text| format!("{}{text}{}\n\n", FIRST_MESSAGE_TAGS.0, FIRST_MESSAGE_TAGS.1))
            .unwrap_or_default();
        let plan = self.task_plan.as_ref();
        let plan_text = plan.map(|plan| format!("{PLAN_TAG}{}</plan>", plan.to_text())).unwrap_or_default();
        let summary = format!("{first}{text}{plan_text}{}", self.files.to_text());
        let after = estimate(&Message::User(UserMessage::text(&*summary, UnixMs(0))));
        let is_smaller =
            after < self.replaced.tokens || self.replaced.messages.is_some_and(|before| before > 1);
        if !is_smaller {
            return Err(CompactionError::NotSmaller { before: self.replaced.tokens, after });
        }
        let mut details = self.files.to_details();
        if let Some(plan) = plan {
            plan.add_to_details(&mut details);
        }
        details[TOKENS_AFTER] = (self.kept_tokens + after).0.into();
        Ok(Compaction {
            summary,
            first_kept_entry_id: self.first_kept.clone(),
            tokens_before: self.tokens_before,
            details: Some(details),
            usage: None,
            made_by: None,
        })
    }
}

/// Returns the files named by the previous compaction, by branch summaries, and by the calls in the replaced
/// messages, in this order.
fn collect_files(input: &CompactionInput, replaced: &[ProjectedMessage]) -> Files {
    let earlier = input.projection.compaction.as_ref().and_then(|earlier| earlier.details.as_ref());
    let mut files = earlier.map(Files::from_details).unwrap_or_default();
    for projected in replaced {
        if let Some(details) = input.branch_details.get(&projected.entry) {
            files.merge(Files::from_details(details));
        }
    }
    files.add_calls(replaced, &input.tools);
    files
}

fn quote(text: &str) -> String {
    match text.char_indices().nth(QUOTED_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => {
            let missing = thousands(text[end..].chars().count());
            format!("{} [… {missing} more characters]", &text[..end])
        }
    }
}

/// Strips tiller's additions from a summary: the first message before it, and the plan and the file lists
/// after it.
fn strip_additions(summary: &str) -> &str {
    let text = summary
        .strip_prefix(FIRST_MESSAGE_TAGS.0)
        .and_then(|rest| rest.rsplit_once(&format!("{}\n\n", FIRST_MESSAGE_TAGS.1)))
        .map_or(summary, |(_, text)| text);
    let end = [PLAN_TAG, "\n\n<files-modified>\n", "\n\n<files-read>\n"]
        .iter()
        .filter_map(|tag| text.find(tag))
        .min();
    text[..end.unwrap_or(text.len())].trim()
}

/// Returns the text of the user's first message, if it contains text.
#[must_use]
pub fn first_message(message: &Message) -> Option<String> {
    match message {
        Message::User(user) => Some(user.content.joined_text()).filter(|text| !text.trim().is_empty()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use tiller_session::context::project;

    use super::*;

    use crate::compaction::retention::tests::entries;
    use std::sync::Arc;

    const NOTHING: CompactionError =
        CompactionError::Nothing { strategy: CompactionStrategy::Summarize, kept: Tokens(u64::MAX) };

    fn keep(messages: usize) -> RetentionLimits {
        RetentionLimits { tokens: Tokens(u64::MAX), messages: Some(messages) }
    }

    fn input(words: &str) -> CompactionInput {
        CompactionInput {
            projection: project(&entries(words)),
            first_message: Some("Fix it.".into()),
            ..CompactionInput::default()
        }
    }

    /// Returns a conversation whose messages are long enough for a summary.
    fn long_input(words: &str) -> CompactionInput {
        let mut input = input(words);
        for projected in &mut input.projection.messages {
            if let Message::User(user) = Arc::make_mut(&mut projected.message) {
                *user = UserMessage::text("said ".repeat(200), UnixMs(1));
            }
        }
        input
    }

    fn plan(input: &CompactionInput, messages: usize) -> Result<CompactionPlan, CompactionError> {
        CompactionPlan::new(input, keep(messages), &CompactionOptions::default())
    }

    fn ids(messages: &[ProjectedMessage]) -> Vec<&str> {
        messages.iter().map(|projected| projected.entry.as_str()).collect()
    }

    #[test]
    fn plan_messages_not_kept_are_summarized() {
        let plan = plan(&long_input("u a u a"), 2).unwrap();
        let [SummaryRequest { prompt: Prompt::Summary, messages: older, .. }] = &plan.requests()[..] else {
            panic!("one summary")
        };
        assert_eq!(ids(older), ["e0", "e1"]);
        let entry = plan.summary_entry(&["  ## Goal\nA.\n".into()]).unwrap();
        assert_eq!(entry.summary, "<first-message>\nFix it.\n</first-message>\n\n## Goal\nA.");
        assert_eq!(entry.first_kept_entry_id.as_str(), "e2");
        let details = entry.details.unwrap();
        assert_eq!(Files::from_details(&details), Files::default());
        // Two messages of 250 and 1 tokens are kept, and the summary has 52 characters.
        assert_eq!(details["tokensAfter"], 250 + 1 + 13);
    }

    #[test]
    fn plan_split_turn_gets_its_own_summary() {
        let plan = plan(&long_input("u a u a1 r1 a2 r2"), 2).unwrap();
        let [main, split] = &plan.requests()[..] else { panic!("two summaries") };
        assert_eq!((&main.prompt, &split.prompt), (&Prompt::Summary, &Prompt::SplitTurn));
        let (older, turn) = (&main.messages, &split.messages);
        assert_eq!((ids(older), ids(turn)), (vec!["e0", "e1"], vec!["e2", "e3", "e4"]));
        let entry = plan.summary_entry(&["Main.".into(), "Turn.".into()]).unwrap();
        assert!(
            entry.summary.ends_with("Main.\n\n---\n\n## The Beginning of the Current Turn\nTurn."),
            "{entry:?}"
        );
    }

    #[test]
    fn plan_split_first_turn_is_summarized_as_a_whole() {
        let plan = plan(&long_input("u a1 r1 a2 r2"), 2).unwrap();
        let [SummaryRequest { prompt: Prompt::Summary, messages: older, .. }] = &plan.requests()[..] else {
            panic!("one summary")
        };
        assert_eq!(ids(older), ["e0", "e1", "e2"]);
    }

    #[test]
    fn plan_unloaded_messages_count_and_are_not_sent() {
        let mut input = long_input("u a u a");
        let unloaded = UnloadedContext { messages: 7, tokens: Tokens(5_000) };
        input.projection.unloaded = Some(unloaded);
        let plan = plan(&input, 2).unwrap();
        let [question] = &plan.requests()[..] else { panic!("one summary") };
        assert_eq!((ids(&question.messages), question.unloaded), (vec!["e0", "e1"], 7));
        // Longer than the loaded part, but shorter than everything it replaces.
        let entry = plan.summary_entry(&["word ".repeat(1_000)]).unwrap();
        assert_eq!(entry.tokens_before, Tokens(5_000 + 2 * 251));
    }

    /// Returns a conversation that continues after a compaction.
    fn compacted(entry: Compaction, words: &str) -> CompactionInput {
        let mut input = long_input(words);
        let summary = Message::User(UserMessage::text(&*entry.summary, UnixMs(1)));
        let first = ProjectedMessage { entry: "c".into(), message: Arc::new(summary) };
        input.projection.messages.insert(0, first);
        input.projection.compaction = Some(entry);
        input
    }

    #[test]
    fn plan_earlier_summary_is_updated_and_first_message_stays() {
        let mut first = long_input("u a u");
        first
            .branch_details
            .insert("e0".into(), Files { read: vec!["a.rs".into()], ..Files::default() }.to_details());
        let entry = plan(&first, 1).unwrap().summary_entry(&["Main.".into()]).unwrap();
        assert!(entry.summary.ends_with("Main.\n\n<files-read>\na.rs\n</files-read>"), "{entry:?}");
        let second = plan(&compacted(entry, "u a u"), 1).unwrap();
        let [SummaryRequest { prompt: Prompt::Update { previous }, messages: newer, .. }] =
            &second.requests()[..]
        else {
            panic!("an update")
        };
        assert_eq!((previous.as_str(), ids(newer)), ("Main.", vec!["e0", "e1"]));
        let entry = second.summary_entry(&["More.".into()]).unwrap();
        let expected =
            "<first-message>\nFix it.\n</first-message>\n\nMore.\n\n<files-read>\na.rs\n</files-read>";
        assert_eq!(entry.summary, expected);
    }

    #[test]
    fn plan_summary_alone_is_not_compacted_again() {
        let entry = plan(&long_input("u a u"), 1).unwrap().summary_entry(&["Main.".into()]).unwrap();
        assert_eq!(plan(&compacted(entry, "u a"), 2).unwrap_err(), NOTHING);
    }

    #[test]
    fn plan_everything_kept_is_nothing_to_compact() {
        for words in ["", "u", "u a", "!! u a", "e u"] {
            assert_eq!(plan(&long_input(words), 2).unwrap_err(), NOTHING, "{words}");
        }
    }

    #[test]
    fn truncation_short_conversation_is_left_alone() {
        let options =
            CompactionOptions { strategy: CompactionStrategy::Truncate, ..CompactionOptions::default() };
        let nothing =
            CompactionError::Nothing { strategy: CompactionStrategy::Truncate, kept: Tokens(u64::MAX) };
        assert!(nothing.to_string().starts_with("nothing to drop: "), "{nothing}");
        for words in ["u a", "u a u a", "u a1 r1 a"] {
            assert_eq!(
                CompactionPlan::new(&long_input(words), keep(4), &options).unwrap_err(),
                nothing,
                "{words}"
            );
        }
        assert!(CompactionPlan::new(&long_input("u a u a u"), keep(4), &options).is_ok());
    }

    #[test]
    fn plan_empty_or_longer_summary_is_an_error() {
        let plan = plan(&input("u a u"), 1).unwrap();
        assert_eq!(plan.summary_entry(&[" \n".into()]), Err(CompactionError::Empty));
        let error = plan.summary_entry(&["Too long by far.".into()]).unwrap_err();
        assert!(matches!(error, CompactionError::NotSmaller { before: Tokens(2), .. }), "{error}");
    }

    #[test]
    fn plan_longer_summary_may_lower_the_message_count() {
        let options = CompactionOptions { max_messages: Some(2), ..CompactionOptions::default() };
        let plan = CompactionPlan::new(&input("u a u"), keep(1), &options).unwrap();
        assert!(plan.summary_entry(&["Longer than before.".into()]).is_ok());
    }

    #[test]
    fn truncation_quotes_the_first_message_and_notes_the_omission() {
        let options =
            CompactionOptions { strategy: CompactionStrategy::Truncate, ..CompactionOptions::default() };
        let entry = CompactionPlan::new(&long_input("u a1 r1 a2 r2 a"), keep(4), &options)
            .unwrap()
            .truncation_entry()
            .unwrap();
        assert_eq!(entry.first_kept_entry_id.as_str(), "e3");
        let expected =
            format!("<first-message>\nFix it.\n</first-message>\n\n{}", OMISSION_NOTE.trim_start());
        assert_eq!(entry.summary, expected);
        let next = CompactionPlan::new(&compacted(entry, "u a u"), keep(2), &options)
            .unwrap()
            .truncation_entry()
            .unwrap();
        assert_eq!(next.summary, expected);
    }

    #[test]
    fn truncation_keeps_the_earlier_summary() {
        let entry = plan(&long_input("u a u"), 1).unwrap().summary_entry(&["Main.".into()]).unwrap();
        let options =
            CompactionOptions { strategy: CompactionStrategy::Truncate, ..CompactionOptions::default() };
        let later = CompactionPlan::new(&compacted(entry, "u a u"), keep(2), &options)
            .unwrap()
            .truncation_entry()
            .unwrap();
        let expected = format!("<first-message>\nFix it.\n</first-message>\n\nMain.{OMISSION_NOTE}");
        assert_eq!(later.summary, expected);
    }

    #[test]
    fn plan_long_first_message_is_quoted_up_to_a_limit() {
        let mut input = long_input(&"u ".repeat(40));
        input.first_message = Some("é".repeat(QUOTED_CHARS + 7));
        let entry = plan(&input, 1).unwrap().summary_entry(&["Main.".into()]).unwrap();
        assert!(entry.summary.contains("é [… 7 more characters]\n</first-message>\n\nMain."), "{entry:?}");
    }

    #[test]
    fn plan_strategy_off_is_refused() {
        let options = CompactionOptions { strategy: CompactionStrategy::Off, ..CompactionOptions::default() };
        let refused = CompactionPlan::new(&long_input("u a u"), keep(1), &options).unwrap_err();
        assert_eq!(refused, CompactionError::Off);
    }
}
