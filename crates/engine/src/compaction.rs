//! Compaction: replaces the older part of a conversation with a summary. Pure.
//!
//! `machine` decides when to compact and how to use the summary. `retention` selects the messages to keep,
//! `plan` creates the requests and turns the answers into an entry, and `summary_input` renders a
//! conversation for the model that summarizes it. This module sends no requests and writes no logs: the
//! driver does. User guide: docs/compaction.md.

mod branch;
mod files;
pub(crate) mod machine;
mod plan;
mod prompt;
mod retention;
mod summary_input;

pub use branch::BranchPlan;
pub use files::Files;
pub use plan::{CompactionInput, CompactionPlan, first_message};
pub use prompt::{Prompt, RenderedRequest, SummaryRequest};
pub use retention::{RetentionLimits, truncate};

use tiller_core::event::CompactionResult;
use tiller_core::setting::{CompactionStrategy, Settings, Switch};
use tiller_core::unit::Tokens;
use tiller_session::context::Projection;
use tiller_session::entry::Compaction;

/// Default maximum of the tokens reserved for the next answer.
const RESERVE: Tokens = Tokens(16_384);

/// Default maximum of the tokens of the newest messages, which are kept verbatim.
const KEEP: Tokens = Tokens(20_000);

/// Limits and strategy of compaction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompactionOptions {
    /// The replacement for the older part.
    pub strategy: CompactionStrategy,
    /// Automatic compaction on or off.
    pub automatic: Switch,
    /// Tokens reserved for the next answer; by default 16,384, at most a quarter of the window. Never more
    /// than half of it.
    pub reserve: Option<Tokens>,
    /// Tokens of the newest messages that are kept; by default 20,000, at most a third of the window. Never
    /// more than half of the window or of `threshold`.
    pub keep: Option<Tokens>,
    /// Fraction of the window above which a context is compacted, even if more than `reserve` tokens are
    /// free; `None` for no such limit.
    pub threshold: Option<f64>,
    /// Maximum number of messages of a context; `None` for no limit.
    pub max_messages: Option<usize>,
    /// Number of messages that are kept; by default half of `max_messages`, or all of them if the strategy is
    /// to truncate. The first message of a truncated conversation counts.
    pub keep_messages: Option<usize>,
}

impl Default for CompactionOptions {
    /// Returns the defaults of the settings.
    fn default() -> Self {
        Self::from(&Settings::default())
    }
}

impl From<&Settings> for CompactionOptions {
    fn from(settings: &Settings) -> Self {
        Self {
            strategy: settings.compaction_strategy(),
            automatic: settings.compaction_enabled(),
            reserve: settings.compaction_reserve_tokens().map(Tokens),
            keep: settings.compaction_keep_tokens().map(Tokens),
            threshold: settings.compaction_threshold().filter(|threshold| *threshold > 0.0),
            max_messages: settings.compaction_max_messages(),
            keep_messages: settings.compaction_keep_messages(),
        }
    }
}

impl CompactionOptions {
    /// Returns true if contexts may be compacted automatically.
    #[must_use]
    pub(crate) fn is_automatic(&self) -> bool {
        self.automatic == Switch::On && self.strategy != CompactionStrategy::Off
    }

    /// Returns the tokens reserved in a window of this size.
    #[must_use]
    pub(crate) fn reserve(&self, window: Tokens) -> Tokens {
        limit_to_share(self.reserve, RESERVE, window, 4)
    }

    /// Returns true if compaction is due: the context exceeds the threshold, leaves less than the reserve
    /// free, or has too many messages.
    #[must_use]
    pub(crate) fn is_due(&self, size: ContextSize, window: Tokens) -> bool {
        let max_tokens = Tokens(window.0.saturating_sub(self.reserve(window).0));
        self.is_automatic()
            && (size.tokens > max_tokens
                || self.threshold(window).is_some_and(|max| size.tokens > max)
                || self.max_messages.is_some_and(|max| size.messages > max))
    }

    /// Returns the threshold in tokens.
    fn threshold(&self, window: Tokens) -> Option<Tokens> {
        self.threshold.map(|fraction| Tokens((window.0 as f64 * fraction) as u64))
    }

    /// Returns the limits of the messages that are kept in a window of this size.
    #[must_use]
    pub fn keep(&self, window: Tokens) -> RetentionLimits {
        // A summary costs a request, so it should last for a while; truncation is free.
        let max_messages = self.max_messages.map(|max| match self.strategy {
            CompactionStrategy::Truncate => max,
            CompactionStrategy::Summarize | CompactionStrategy::Off => (max / 2).max(1),
        });
        // A context that is due must have something to replace.
        let max_tokens = self.threshold(window).map_or(window, |threshold| Tokens(threshold.0 / 2));
        RetentionLimits {
            tokens: limit_to_share(self.keep, KEEP, window, 3).min(max_tokens),
            messages: self.keep_messages.or(max_messages),
        }
    }
}

/// Returns the limits for a conversation that the provider rejected as too long: at most half of `keep` and half of
/// the estimated size, because the real window may be smaller than the known one.
#[must_use]
pub(crate) fn keep_after_overflow(projection: &Projection, keep: RetentionLimits) -> RetentionLimits {
    let size = retention::sent_tokens(&projection.messages);
    RetentionLimits { tokens: Tokens(keep.tokens.min(size).0 / 2), ..keep }
}

/// Returns the configured number of tokens, at most half of the window; or the default, at most a part of it.
fn limit_to_share(configured: Option<Tokens>, usual: Tokens, window: Tokens, part: u64) -> Tokens {
    match configured {
        Some(configured) => configured.min(Tokens(window.0 / 2)),
        None => usual.min(Tokens(window.0 / part)),
    }
}

/// Size of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContextSize {
    /// Tokens, by the provider's count if there is one.
    pub tokens: Tokens,
    /// Number of messages, including those that aren't loaded.
    pub messages: usize,
}

impl From<&Projection> for ContextSize {
    fn from(projection: &Projection) -> Self {
        Self { tokens: projection.tokens(), messages: projection.message_count() }
    }
}

/// Returns true if a context is compacted automatically ([`CompactionOptions`]).
#[must_use]
pub fn due(projection: &Projection, window: Tokens, options: &CompactionOptions) -> bool {
    options.is_due(projection.into(), window)
}

/// Converts a compaction entry for events.
pub(crate) fn to_result(entry: &Compaction) -> CompactionResult {
    CompactionResult {
        summary: entry.summary.clone(),
        first_kept_entry_id: entry.first_kept_entry_id.clone(),
        tokens_before: entry.tokens_before,
        details: entry.details.clone(),
    }
}

/// The reason for not compacting a context.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompactionError {
    /// Compaction is turned off in the settings.
    #[error("compaction is off (setting compaction.strategy)")]
    Off,
    /// Everything would be kept.
    #[error(
        "nothing to {}: the newest {kept} tokens of messages are always kept (setting compaction.keep_tokens)",
        if *.strategy == CompactionStrategy::Truncate { "drop" } else { "compact" }
    )]
    Nothing {
        /// The strategy, which decides what happens to older messages.
        strategy: CompactionStrategy,
        /// Limit of the kept part, by estimate.
        kept: Tokens,
    },
    /// The part that must be kept is longer than the model's window.
    #[error("the newest message has about {kept} tokens, more than the model's context window ({window})")]
    TooLong {
        /// Size of the kept part, by estimate.
        kept: Tokens,
        /// Size of the model's window.
        window: Tokens,
    },
    /// The conversation doesn't fit into the model's window, even as a transcript with most of it omitted.
    #[error("the model's context window is too small for a summary request")]
    NoRoom,
    /// The model's answer contains no text.
    #[error("the summary is empty")]
    Empty,
    /// The summary is at least as long as the messages that it replaces.
    #[error("the summary would not make the context smaller: {before} tokens before, {after} after")]
    NotSmaller {
        /// Estimate of the replaced messages.
        before: Tokens,
        /// Estimate of the summary.
        after: Tokens,
    },
    /// Compaction was stopped on request.
    #[error("stopped before the summary was finished")]
    Stopped,
    /// The conversation has changed since the summary was started.
    #[error("the summary was discarded: the conversation changed in the meantime")]
    Outdated,
    /// The request failed.
    #[error("{0}")]
    Provider(String),
}

impl CompactionError {
    /// Returns true if the summary itself failed, so that truncation can still succeed.
    #[must_use]
    pub(crate) fn is_summary_failure(&self) -> bool {
        match self {
            Self::NoRoom | Self::Empty | Self::Provider(_) => true,
            Self::Off
            | Self::Nothing { .. }
            | Self::TooLong { .. }
            | Self::NotSmaller { .. }
            | Self::Stopped
            | Self::Outdated => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use tiller_core::message::{Message, UserMessage};
    use tiller_core::setting::{COMPACTION_THRESHOLD, SettingSource};
    use tiller_core::unit::UnixMs;
    use tiller_session::context::project;
    use tiller_session::{Entry, EntryBody};

    use super::*;

    use std::sync::Arc;

    fn context(messages: usize, chars: usize) -> Projection {
        let entry = |at: usize| Entry {
            id: format!("e{at}").as_str().into(),
            parent: None,
            timestamp: UnixMs(1),
            body: EntryBody::message(Arc::new(Message::User(UserMessage::text(
                "x".repeat(chars),
                UnixMs(1),
            )))),
        };
        project(&(0..messages).map(entry).collect::<Vec<_>>())
    }

    #[test]
    fn compaction_options_defaults_fit_small_windows() {
        let options = CompactionOptions::default();
        assert_eq!(options.reserve(Tokens(200_000)), Tokens(16_384));
        assert_eq!(options.reserve(Tokens(8_000)), Tokens(2_000));
        assert_eq!(options.keep(Tokens(200_000)).tokens, Tokens(20_000));
        assert_eq!(options.keep(Tokens(9_000)).tokens, Tokens(3_000));
        let greedy = CompactionOptions { reserve: Some(Tokens(9_000)), ..options };
        assert_eq!(greedy.reserve(Tokens(10_000)), Tokens(5_000));
    }

    #[test]
    fn due_when_less_than_the_reserve_is_free() {
        let options = CompactionOptions { reserve: Some(Tokens(100)), ..CompactionOptions::default() };
        assert!(!due(&context(9, 400), Tokens(1_000), &options));
        assert!(due(&context(10, 361), Tokens(1_000), &options));
    }

    #[test]
    fn due_when_there_are_too_many_messages() {
        let options = CompactionOptions { max_messages: Some(4), ..CompactionOptions::default() };
        assert!(!due(&context(4, 1), Tokens(200_000), &options));
        assert!(due(&context(5, 1), Tokens(200_000), &options));
        assert_eq!(options.keep(Tokens(200_000)).messages, Some(2));
        let truncated = CompactionOptions { strategy: CompactionStrategy::Truncate, ..options };
        assert_eq!(truncated.keep(Tokens(200_000)).messages, Some(4));
    }

    #[test]
    fn due_above_a_fraction_of_the_window() {
        let options = |threshold| CompactionOptions { threshold, ..CompactionOptions::default() };
        let window = Tokens(1_000);
        assert!(!due(&context(7, 400), window, &options(Some(0.7))));
        assert!(due(&context(7, 401), window, &options(Some(0.7))));
        assert!(!due(&context(7, 401), window, &options(None)));
        assert!(due(&context(8, 400), window, &options(Some(1.0))), "the reserve is reached first");
    }

    #[test]
    fn keep_is_at_most_half_of_the_threshold() {
        let options = |threshold| CompactionOptions { threshold, ..CompactionOptions::default() };
        assert_eq!(options(Some(0.5)).keep(Tokens(200_000)).tokens, Tokens(20_000));
        assert_eq!(options(Some(0.1)).keep(Tokens(200_000)).tokens, Tokens(10_000));
    }

    #[test]
    fn compaction_options_threshold_zero_is_off() {
        let options = |text: &str| {
            let mut settings = Settings::default();
            let value = COMPACTION_THRESHOLD.parse(text).unwrap();
            settings.set(&COMPACTION_THRESHOLD, value, SettingSource::Flag(String::new()));
            CompactionOptions::from(&settings).threshold
        };
        assert_eq!([options(""), options("0"), options("0.8")], [None, None, Some(0.8)]);
        assert!(COMPACTION_THRESHOLD.parse("1.1").is_err() && COMPACTION_THRESHOLD.parse("80").is_err());
    }

    #[test]
    fn keep_after_overflow_is_less_than_the_context() {
        let keep = CompactionOptions::default().keep(Tokens(128_000));
        assert_eq!(keep_after_overflow(&context(4, 4_000), keep).tokens, Tokens(2_000));
        assert_eq!(keep_after_overflow(&context(400, 4_000), keep).tokens, Tokens(10_000));
    }

    #[test]
    fn compaction_options_strategy_off_never_compacts() {
        let full = context(10, 4_000);
        let options = |strategy, automatic| CompactionOptions { strategy, automatic, ..Default::default() };
        assert!(due(&full, Tokens(1_000), &options(CompactionStrategy::Truncate, Switch::On)));
        assert!(!due(&full, Tokens(1_000), &options(CompactionStrategy::Summarize, Switch::Off)));
        assert!(!due(&full, Tokens(1_000), &options(CompactionStrategy::Off, Switch::On)));
    }
}
