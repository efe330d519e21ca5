//! The user's time zone.

use std::sync::{Arc, OnceLock};

use jiff::tz::TimeZone;

/// The time zone of times on the screen. The system's is looked up when the first time is shown, because that lists
/// hundreds of zones, and a new session's first frame has no times. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalZone(Arc<OnceLock<TimeZone>>);

impl LocalZone {
    pub(crate) fn get(&self) -> &TimeZone {
        self.0.get_or_init(TimeZone::system)
    }
}

impl From<TimeZone> for LocalZone {
    fn from(zone: TimeZone) -> Self {
        Self(Arc::new(zone.into()))
    }
}
