//! Decides whether and when to retry a failed request. Pure.

use std::time::Duration;
use tiller_core::setting::{Settings, Switch};

use backon::{BackoffBuilder, ExponentialBuilder};
use tiller_core::message::{AssistantMessage, StopReason};
use tiller_core::unit::Tokens;
use tiller_provider::FailureKind;

use super::turn::AfterFailure;

/// Maximum delay requested by a provider that is honored; a longer one is reported to the user.
const MAX_WAIT: Duration = Duration::from_secs(300);

/// Hint for a conversation that doesn't fit and can't be compacted.
pub(crate) const TOO_LONG_HELP: &str =
    "use a model with a larger window, continue from an earlier point, or start a new session";

/// Options for retrying failed requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryOptions {
    /// Retries on or off.
    pub mode: Switch,
    /// Maximum number of retries.
    pub max: u32,
    /// Delay before the first retry; it doubles with each retry.
    pub base: Duration,
    /// Maximum delay after doubling.
    pub cap: Duration,
}

impl Default for RetryOptions {
    /// Returns the defaults of the settings.
    fn default() -> Self {
        Self::from(&Settings::default())
    }
}

impl From<&Settings> for RetryOptions {
    fn from(settings: &Settings) -> Self {
        Self {
            mode: settings.retry_enabled(),
            max: settings.retry_max(),
            base: Duration::from_millis(settings.retry_base_ms()),
            cap: Duration::from_millis(settings.retry_cap_ms()),
        }
    }
}

/// Attempts so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attempts {
    /// Number of retries of the request.
    pub retries: u32,
    /// True if the context was compacted for the request, or can't be compacted.
    pub has_compacted: bool,
}

/// Decides on a failed request; also returns a hint for the user. `seed` determines the jitter.
#[must_use]
pub(crate) fn decide(
    failure: FailureKind,
    tried: Attempts,
    options: &RetryOptions,
    seed: u64,
) -> (AfterFailure, Option<String>) {
    let requested = match failure {
        FailureKind::Overflow if !tried.has_compacted => return (AfterFailure::Compact, None),
        FailureKind::Overflow => return (AfterFailure::GiveUp, Some(TOO_LONG_HELP.to_owned())),
        FailureKind::Unreachable | FailureKind::Auth | FailureKind::Quota | FailureKind::Fatal => {
            return (AfterFailure::GiveUp, None);
        }
        FailureKind::Transient { retry_after } => retry_after,
        FailureKind::Interrupted => None,
    };
    if options.mode == Switch::Off || tried.retries >= options.max {
        return (AfterFailure::GiveUp, None);
    }
    if let Some(requested) = requested.filter(|requested| *requested > MAX_WAIT) {
        let notice = format!("the provider requested a wait of {} s before a retry", requested.as_secs());
        return (AfterFailure::GiveUp, Some(notice));
    }
    let delay = requested.unwrap_or_default().max(backoff(tried.retries, options, seed));
    (AfterFailure::Retry { delay, max_attempts: options.max }, None)
}

/// Returns true for an answer without content that indicates a context longer than the window: some servers
/// truncate the context and then have no room left for the answer.
#[must_use]
pub(crate) fn is_silent_overflow(answer: &AssistantMessage, window: Tokens) -> bool {
    let input_tokens = answer.usage.input.0 + answer.usage.cache_read.0 + answer.usage.cache_write.0;
    let is_full = u128::from(input_tokens) * 100 >= u128::from(window.0) * 99;
    let says_nothing = answer.tool_calls().next().is_none() && answer.joined_text().trim().is_empty();
    answer.stop_reason == StopReason::Length && says_nothing && window.0 > 0 && is_full
}

/// Returns the base delay, doubled with each retry, plus jitter of up to the same length, so that many
/// clients don't return at once.
fn backoff(tries: u32, options: &RetryOptions, seed: u64) -> Duration {
    let mut backoffs = ExponentialBuilder::new()
        .with_min_delay(options.base)
        .with_factor(2.0)
        .with_max_delay(options.cap)
        .with_max_times(tries as usize + 1)
        .with_jitter()
        .with_jitter_seed(seed)
        .build();
    backoffs.nth(tries as usize).unwrap_or(options.cap).min(options.cap)
}

#[cfg(test)]
mod tests {
    use tiller_core::message::{AssistantBlock, Usage};

    use super::*;

    const TRANSIENT: FailureKind = FailureKind::Transient { retry_after: None };

    fn attempts(times: u32) -> Attempts {
        Attempts { retries: times, has_compacted: false }
    }

    fn delay(failure: FailureKind, times: u32, seed: u64) -> Option<Duration> {
        match decide(failure, attempts(times), &RetryOptions::default(), seed).0 {
            AfterFailure::Retry { delay, max_attempts: 5 } => Some(delay),
            _ => None,
        }
    }

    #[test]
    fn decide_backoff_doubles_with_jitter_up_to_the_cap() {
        for (times, min_s, max_s) in [(0, 2, 4), (1, 4, 8), (2, 8, 16), (3, 16, 32), (4, 32, 60)] {
            for seed in 0..50 {
                let delay = delay(TRANSIENT, times, seed).unwrap();
                let range = Duration::from_secs(min_s)..=Duration::from_secs(max_s);
                assert!(range.contains(&delay), "{times}: {delay:?}");
            }
        }
        assert_ne!(delay(TRANSIENT, 1, 1), delay(TRANSIENT, 1, 2), "two clients don't come back at once");
        assert_eq!(delay(TRANSIENT, 5, 0), None);
    }

    #[test]
    fn decide_provider_delay_is_honored_unless_too_long() {
        let transient = |s| FailureKind::Transient { retry_after: Some(Duration::from_secs(s)) };
        assert_eq!(delay(transient(200), 0, 0), Some(Duration::from_secs(200)));
        assert!(delay(transient(0), 0, 0).unwrap() >= Duration::from_secs(2));
        let (action, notice) = decide(transient(301), attempts(0), &RetryOptions::default(), 0);
        assert_eq!(action, AfterFailure::GiveUp);
        assert_eq!(notice.unwrap(), "the provider requested a wait of 301 s before a retry");
    }

    #[test]
    fn silent_overflow_is_an_empty_answer_in_a_full_window() {
        let answer = |input, stop_reason| AssistantMessage {
            stop_reason,
            usage: Usage { input: Tokens(input), cache_read: Tokens(90), ..Usage::default() },
            ..AssistantMessage::default()
        };
        let window = Tokens(1_000);
        assert!(is_silent_overflow(&answer(900, StopReason::Length), window));
        assert!(!is_silent_overflow(&answer(899, StopReason::Length), window));
        assert!(!is_silent_overflow(&answer(900, StopReason::Stop), window));
        let text = vec![AssistantBlock::text("so")];
        let cut_off = AssistantMessage { content: text, ..answer(900, StopReason::Length) };
        assert!(!is_silent_overflow(&cut_off, window));
    }

    #[test]
    fn decide_transient_failures_retry_and_overflow_compacts_once() {
        assert!(delay(FailureKind::Interrupted, 0, 0).is_some());
        for failure in [FailureKind::Unreachable, FailureKind::Auth, FailureKind::Quota, FailureKind::Fatal] {
            assert_eq!(decide(failure, attempts(0), &RetryOptions::default(), 0).0, AfterFailure::GiveUp);
        }
        let overflow = |has_compacted| {
            decide(FailureKind::Overflow, Attempts { retries: 0, has_compacted }, &RetryOptions::default(), 0)
                .0
        };
        assert_eq!((overflow(false), overflow(true)), (AfterFailure::Compact, AfterFailure::GiveUp));
        let options = RetryOptions { mode: Switch::Off, ..RetryOptions::default() };
        assert_eq!(decide(TRANSIENT, attempts(0), &options, 0).0, AfterFailure::GiveUp);
    }
}
