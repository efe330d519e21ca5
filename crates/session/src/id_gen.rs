//! Generation of ids: ULIDs that ascend within a session, even if the clock goes back.

use std::time::{Duration, SystemTime};

use tiller_core::id::{EntryId, QueueId, SessionId};
use tiller_core::unit::UnixMs;
use ulid::{Generator, Ulid};

/// Generates ids of entries, sessions and queued messages.
#[derive(Debug)]
pub struct IdGenerator {
    generator: Generator,
}

impl IdGenerator {
    /// Creates a generator whose ids are greater than `newest`, the greatest ULID in use, even if the clock
    /// went back.
    #[must_use]
    pub fn after(newest: Option<&EntryId>) -> Self {
        let mut generator = Generator::new();
        if let Some(Ok(newest)) = newest.map(|id| Ulid::from_string(id.as_str())) {
            // The generator has no starting point, but it never goes back to a time before its last id.
            let after = newest.datetime() + Duration::from_millis(1);
            let _seed = generator
                .generate_from_datetime(after)
                .unwrap_or_else(|overflow| overflow.commit_overflow_increment());
        }
        Self { generator }
    }

    /// Returns the next entry id.
    pub fn entry(&mut self, now: UnixMs) -> EntryId {
        EntryId::new(self.next(now))
    }

    /// Returns the next id of a queued message.
    pub fn queue(&mut self, now: UnixMs) -> QueueId {
        QueueId::new(self.next(now))
    }

    /// Returns the next session id.
    pub fn session(&mut self, now: UnixMs) -> SessionId {
        SessionId::new(self.next(now))
    }

    fn next(&mut self, now: UnixMs) -> String {
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(now.0).unwrap_or(0));
        let id = self
            .generator
            .generate_from_datetime(time)
            .unwrap_or_else(|overflow| overflow.commit_overflow_increment());
        id.to_string()
    }
}

/// Returns true if greater ids can be generated after this one: it is a canonical ULID below the maximum
/// time.
pub(super) fn can_generate_after(id: &EntryId) -> bool {
    Ulid::from_string(id.as_str()).is_ok_and(|ulid| has_time_left(&ulid) && ulid.to_string() == id.as_str())
}

/// Returns true if the time of a ULID is below the maximum.
pub(super) fn has_time_left(ulid: &Ulid) -> bool {
    let last_moment = (1 << Ulid::TIME_BITS) - 1;
    ulid.timestamp_ms() < last_moment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_generator_clock_going_back_keeps_ids_growing() {
        let mut ids = IdGenerator::after(None);
        let first = ids.entry(UnixMs(2_000));
        let second = ids.entry(UnixMs(1_000));
        assert!(first < second);
    }

    #[test]
    fn id_generator_starts_after_newest_id() {
        let newest = IdGenerator::after(None).entry(UnixMs(9_000_000));
        assert!(IdGenerator::after(Some(&newest)).entry(UnixMs(1)) > newest);
    }

    #[test]
    fn id_generator_foreign_id_is_ignored() {
        assert_eq!(IdGenerator::after(Some(&"7303e144".into())).entry(UnixMs(1)).as_str().len(), 26);
    }
}
