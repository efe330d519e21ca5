//! The guard against keys that were pressed before their receiver was visible.

use tiller_core::unit::UnixMs;

/// Milliseconds that a dialog must be visible before keys answer it: longer than the delay of a key that is
/// already on its way.
const VISIBLE_MS: u64 = 400;

/// The time when a part with an answer appeared on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShownSince(UnixMs);

impl ShownSince {
    pub(crate) fn at(now: UnixMs) -> Self {
        Self(now)
    }

    /// Reports whether at most this time has passed.
    pub(crate) fn is_within(self, ms: u64, now: UnixMs) -> bool {
        now.since_ms(self.0) <= ms
    }

    /// Returns true if the part has been visible long enough for a key to be meant for it.
    pub(crate) fn is_long_enough(self, now: UnixMs) -> bool {
        now.since_ms(self.0) >= VISIBLE_MS
    }
}
