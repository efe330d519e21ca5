//! The current time, and a random seed.

use std::time::SystemTime;

use tiller_core::unit::UnixMs;

pub(super) fn now() -> UnixMs {
    SystemTime::now().into()
}

/// Returns a seed for a retry's jitter that probably differs between processes.
pub(super) fn jitter() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(now().0)
}
