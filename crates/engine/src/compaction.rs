//! Compaction: a summary takes the place of the older part of a conversation. Pure.
//!
//! Whether it is time is told by [`due`]; `cut` says what stays, `plan` what is asked and what becomes of the answers,
//! `transcript` how a conversation reads to the one who sums it up. Nothing here asks a model or writes a log: that is the
//! driver's. What people should know of it: docs/compaction.md.

mod branch;
mod cut;
mod files;
mod plan;
mod prompt;
mod transcript;

pub use branch::BranchPlan;
pub use cut::{Keep, truncate};
pub use files::Files;
pub use plan::{Material, Plan, first_message};
pub use prompt::{Ask, Prompt, SummaryRequest};

use tiller_core::unit::Tokens;
use tiller_session::context::Projection;

/// Most tokens that stay free for the next answer, unless a setting says otherwise.
const RESERVE: Tokens = Tokens(16_384);

/// Most tokens of the newest messages that stay as they are, unless a setting says otherwise.
const KEEP: Tokens = Tokens(20_000);

/// How contexts are kept within a model's window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactionOptions {
    /// What takes the place of the older part.
    pub strategy: Strategy,
    /// Whether it happens by itself.
    pub automatic: Automatic,
    /// Tokens that stay free; by default 16,384, at most a quarter of the window. Never more than half of it.
    pub reserve: Option<Tokens>,
    /// Tokens of the newest messages that stay; by default 20,000, at most a third of the window. Never more than half of it.
    pub keep: Option<Tokens>,
    /// Messages that a context may have; `None` for no limit.
    pub max_messages: Option<usize>,
    /// Messages that stay; by default half of `max_messages`, or as many where the strategy is to truncate. A truncated
    /// conversation's first message is one of them.
    pub keep_messages: Option<usize>,
}

/// What takes the place of the older part of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// A summary that the model makes.
    #[default]
    Summarize,
    /// The first message and a note that others were left out; no model is asked.
    Truncate,
    /// Nothing: a context that is too long is an error.
    Off,
}

/// Whether compaction happens by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Automatic {
    /// When the context gets too long.
    #[default]
    On,
    /// Only when the user says so.
    Off,
}

impl CompactionOptions {
    /// Whether a context may be compacted without anybody's asking for it.
    #[must_use]
    pub fn is_automatic(&self) -> bool {
        self.automatic == Automatic::On && self.strategy != Strategy::Off
    }

    /// Tokens that are to stay free in a window of this size.
    #[must_use]
    pub fn reserve(&self, window: Tokens) -> Tokens {
        share(self.reserve, RESERVE, window, 4)
    }

    /// What is to stay of a conversation in a window of this size.
    #[must_use]
    pub fn keep(&self, window: Tokens) -> Keep {
        // A summary costs a request, so there should be some room until the next one; leaving out costs nothing.
        let most = self.max_messages.map(|most| match self.strategy {
            Strategy::Truncate => most,
            Strategy::Summarize | Strategy::Off => (most / 2).max(1),
        });
        Keep { tokens: share(self.keep, KEEP, window, 3), messages: self.keep_messages.or(most) }
    }
}

/// What is to stay of a conversation that a provider found too long: at most half of what `keep` says and half of what there
/// is by estimate, for the window may be another than it seems.
#[must_use]
pub fn keep_after_overflow(projection: &Projection, keep: Keep) -> Keep {
    let there_is = cut::weight(&projection.messages);
    Keep { tokens: Tokens(keep.tokens.min(there_is).0 / 2), ..keep }
}

/// What was asked for, at most half of the window; or else the usual, at most a part of it.
fn share(asked: Option<Tokens>, usual: Tokens, window: Tokens, part: u64) -> Tokens {
    match asked {
        Some(asked) => asked.min(Tokens(window.0 / 2)),
        None => usual.min(Tokens(window.0 / part)),
    }
}

/// Whether it is time: the context leaves less than the reserve free in the window, or has more messages than it may.
#[must_use]
pub fn due(projection: &Projection, window: Tokens, options: &CompactionOptions) -> bool {
    if !options.is_automatic() {
        return false;
    }
    let most = window.0.saturating_sub(options.reserve(window).0);
    projection.tokens() > Tokens(most)
        || options.max_messages.is_some_and(|most| projection.message_count() > most)
}

/// Why a context is not compacted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompactionError {
    /// The settings forbid it.
    #[error("compaction is off; the setting compaction.strategy says so")]
    Off,
    /// Everything there is would be kept.
    #[error(
        "nothing to compact: the newest messages, up to {kept} tokens of them, stay as they are (setting compaction.keep_tokens)"
    )]
    Nothing {
        /// How much stays at most, by estimate.
        kept: Tokens,
    },
    /// The part that has to stay is longer than the model's window by itself.
    #[error("the newest message alone has about {kept} tokens, more than the model reads at once ({window})")]
    TooLong {
        /// The size of what stays, by estimate.
        kept: Tokens,
        /// The model's window.
        window: Tokens,
    },
    /// The conversation is too long for the model even as text with most of it left out.
    #[error("the model's window has no room for a request for a summary")]
    NoRoom,
    /// The model answered without a word.
    #[error("the summary is empty")]
    Empty,
    /// The summary is as long as what it stands for.
    #[error("the summary would not make the context smaller: {before} tokens before, {after} after")]
    NotSmaller {
        /// Estimate of what it stands for.
        before: Tokens,
        /// Estimate of the summary.
        after: Tokens,
    },
    /// Somebody stopped it.
    #[error("stopped before the summary was there")]
    Stopped,
    /// The conversation it was made for is no longer the one at hand.
    #[error("the summary came too late: the conversation has gone elsewhere meanwhile")]
    Overtaken,
    /// The model could not be asked.
    #[error("{0}")]
    Provider(String),
}

impl CompactionError {
    /// Whether it is for want of a summary: to truncate would do without.
    #[must_use]
    pub fn is_of_the_model(&self) -> bool {
        match self {
            Self::NoRoom | Self::Empty | Self::Provider(_) => true,
            Self::Off
            | Self::Nothing { .. }
            | Self::TooLong { .. }
            | Self::NotSmaller { .. }
            | Self::Stopped
            | Self::Overtaken => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use tiller_core::message::{Message, UserMessage};
    use tiller_core::unit::UnixMs;
    use tiller_session::context::project;
    use tiller_session::{Entry, EntryBody};

    use super::*;

    use std::sync::Arc;

    fn context(messages: usize, chars: usize) -> Projection {
        let said = |at: usize| Entry {
            id: format!("e{at}").as_str().into(),
            parent: None,
            timestamp: UnixMs(1),
            body: EntryBody::message(Arc::new(Message::User(UserMessage::text(
                "x".repeat(chars),
                UnixMs(1),
            )))),
        };
        project(&(0..messages).map(said).collect::<Vec<_>>())
    }

    #[test]
    fn small_windows_get_a_share_and_large_ones_the_usual() {
        let options = CompactionOptions::default();
        assert_eq!(options.reserve(Tokens(200_000)), Tokens(16_384));
        assert_eq!(options.reserve(Tokens(8_000)), Tokens(2_000));
        assert_eq!(options.keep(Tokens(200_000)).tokens, Tokens(20_000));
        assert_eq!(options.keep(Tokens(9_000)).tokens, Tokens(3_000));
        let greedy = CompactionOptions { reserve: Some(Tokens(9_000)), ..options };
        assert_eq!(greedy.reserve(Tokens(10_000)), Tokens(5_000));
    }

    #[test]
    fn it_is_time_when_less_than_the_reserve_is_free() {
        let options = CompactionOptions { reserve: Some(Tokens(100)), ..CompactionOptions::default() };
        assert!(!due(&context(9, 400), Tokens(1_000), &options));
        assert!(due(&context(10, 361), Tokens(1_000), &options));
    }

    #[test]
    fn it_is_time_when_there_are_more_messages_than_there_may_be() {
        let options = CompactionOptions { max_messages: Some(4), ..CompactionOptions::default() };
        assert!(!due(&context(4, 1), Tokens(200_000), &options));
        assert!(due(&context(5, 1), Tokens(200_000), &options));
        assert_eq!(options.keep(Tokens(200_000)).messages, Some(2));
        let truncated = CompactionOptions { strategy: Strategy::Truncate, ..options };
        assert_eq!(truncated.keep(Tokens(200_000)).messages, Some(4));
    }

    #[test]
    fn after_an_overflow_something_can_go_however_large_the_window_seems() {
        let keep = CompactionOptions::default().keep(Tokens(128_000));
        assert_eq!(keep_after_overflow(&context(4, 4_000), keep).tokens, Tokens(2_000));
        assert_eq!(keep_after_overflow(&context(400, 4_000), keep).tokens, Tokens(10_000));
    }

    #[test]
    fn what_is_off_never_happens_by_itself() {
        let full = context(10, 4_000);
        let off = |strategy, automatic| CompactionOptions { strategy, automatic, ..Default::default() };
        assert!(due(&full, Tokens(1_000), &off(Strategy::Truncate, Automatic::On)));
        assert!(!due(&full, Tokens(1_000), &off(Strategy::Summarize, Automatic::Off)));
        assert!(!due(&full, Tokens(1_000), &off(Strategy::Off, Automatic::On)));
    }
}
