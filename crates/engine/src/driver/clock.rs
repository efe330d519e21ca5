//! The time, and a seed of randomness.

use std::time::SystemTime;

use tiller_core::unit::UnixMs;

/// Returns the current time.
pub(super) fn now() -> UnixMs {
    SystemTime::now().into()
}

/// Returns a seed for a retry's jitter that two processes are unlikely to share.
pub(super) fn jitter() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(now().0)
}
