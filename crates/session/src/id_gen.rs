//! Makes ids: ULIDs that only ever grow within one session, whatever the clock does.

use std::time::{Duration, SystemTime};

use tiller_core::id::{EntryId, QueueId, SessionId};
use tiller_core::unit::UnixMs;
use ulid::{Generator, Ulid};

/// Makes ids.
#[derive(Debug)]
pub struct IdGenerator {
    generator: Generator,
}

impl IdGenerator {
    /// A mint whose ids come after `newest`, the greatest ULID already in use, even if the clock went back since.
    #[must_use]
    pub fn after(newest: Option<&EntryId>) -> Self {
        let mut generator = Generator::new();
        if let Some(Ok(newest)) = newest.map(|id| Ulid::from_string(id.as_str())) {
            // The generator can't begin at an id, but never goes behind the time of the one it made last.
            let after = newest.datetime() + Duration::from_millis(1);
            let _seed = generator
                .generate_from_datetime(after)
                .unwrap_or_else(|overflow| overflow.commit_overflow_increment());
        }
        Self { generator }
    }

    /// The next entry's id.
    pub fn entry(&mut self, now: UnixMs) -> EntryId {
        EntryId::new(self.next(now))
    }

    /// The next queued message's id.
    pub fn queue(&mut self, now: UnixMs) -> QueueId {
        QueueId::new(self.next(now))
    }

    /// The next session's id.
    pub fn session(&mut self, now: UnixMs) -> SessionId {
        SessionId::new(self.next(now))
    }

    fn next(&mut self, now: UnixMs) -> String {
        let moment = SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(now.0).unwrap_or(0));
        let id = self
            .generator
            .generate_from_datetime(moment)
            .unwrap_or_else(|overflow| overflow.commit_overflow_increment());
        id.to_string()
    }
}

/// Whether ids can grow after this one: it is a ULID as tiller writes them, and not at the end of all time.
pub(super) fn can_go_on_after(id: &EntryId) -> bool {
    Ulid::from_string(id.as_str()).is_ok_and(|ulid| has_time_left(&ulid) && ulid.to_string() == id.as_str())
}

/// Whether there is a moment after a ULID's.
pub(super) fn has_time_left(ulid: &Ulid) -> bool {
    let last_moment = (1 << Ulid::TIME_BITS) - 1;
    ulid.timestamp_ms() < last_moment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_grow_when_the_clock_goes_back() {
        let mut mint = IdGenerator::after(None);
        let first = mint.entry(UnixMs(2_000));
        let second = mint.entry(UnixMs(1_000));
        assert!(first < second);
    }

    #[test]
    fn a_mint_goes_on_after_the_newest_id_of_a_log() {
        let newest = IdGenerator::after(None).entry(UnixMs(9_000_000));
        assert!(IdGenerator::after(Some(&newest)).entry(UnixMs(1)) > newest);
    }

    #[test]
    fn an_id_of_another_program_does_not_disturb_the_mint() {
        assert_eq!(IdGenerator::after(Some(&"7303e144".into())).entry(UnixMs(1)).as_str().len(), 26);
    }
}
