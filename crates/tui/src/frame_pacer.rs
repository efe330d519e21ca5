//! Frame pacing. Pure: times are inputs, relative to the front end's start.

use std::time::Duration;

/// Minimum time from the end of a frame to the next one: 60 frames per second, as many as a screen shows.
/// Measured from the end, so that slow frames leave time to read keys.
const MIN_FRAME: Duration = Duration::from_micros(16_667);

/// Minimum time between frames caused only by the agent; faster text can't be read.
const MIN_SESSION_FRAME: Duration = Duration::from_millis(50);

/// Divisor of the time for frames caused only by the agent: drawing takes at most this fraction.
const DRAW_SHARE: u32 = 56;

/// Maximum time that the screen stays out of date, even if its frames are slow.
const MAX_DELAY: Duration = Duration::from_millis(120);

/// The reason the screen is out of date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Dirty {
    /// The screen is up to date.
    #[default]
    No,
    /// The session changed, or time passed.
    BySession,
    /// The user did something and is waiting for the result.
    ByUser,
}

/// Decides when frames are due.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FramePacer {
    last: Option<DrawnFrame>,
}

#[derive(Clone, Copy, Debug)]
struct DrawnFrame {
    at: Duration,
    duration: Duration,
}

impl FramePacer {
    /// The time of the next frame; `None` if nothing changed.
    pub(super) fn due(&self, stale: Dirty) -> Option<Duration> {
        let after = |drawn: DrawnFrame| match stale {
            Dirty::BySession => {
                drawn.at + MIN_SESSION_FRAME.max((drawn.duration * DRAW_SHARE).min(MAX_DELAY))
            }
            Dirty::No | Dirty::ByUser => drawn.at + MIN_FRAME,
        };
        (stale != Dirty::No).then(|| self.last.map_or(Duration::ZERO, after))
    }

    /// Records a frame by its end and duration.
    pub(super) fn frame_drawn(&mut self, at: Duration, took: Duration) {
        self.last = Some(DrawnFrame { at, duration: took });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    /// Returns the number of frames in a second with an event every millisecond.
    fn frames(stale: Dirty, took: Duration) -> usize {
        let (mut pace, mut count) = (FramePacer::default(), 0);
        for at in (0..1_000).map(ms) {
            if pace.due(stale).is_some_and(|due| due <= at) {
                pace.frame_drawn(at, took);
                count += 1;
            }
        }
        count
    }

    #[test]
    fn frame_pacer_limits_the_frame_rate() {
        assert_eq!(frames(Dirty::BySession, ms(0)), 20);
        assert_eq!(frames(Dirty::ByUser, ms(0)), 59);
        assert_eq!(frames(Dirty::No, ms(0)), 0);
    }

    #[test]
    fn frame_pacer_slow_frames_are_fewer_unless_caused_by_the_user() {
        assert_eq!(frames(Dirty::BySession, ms(2)), 9);
        assert_eq!(frames(Dirty::BySession, ms(100)), 9);
        assert_eq!(frames(Dirty::ByUser, ms(4)), 59);
    }

    #[test]
    fn frame_pacer_first_frame_and_after_a_pause_is_due_at_once() {
        let mut pace = FramePacer::default();
        assert_eq!(pace.due(Dirty::BySession), Some(ms(0)));
        pace.frame_drawn(ms(0), ms(1));
        assert!(pace.due(Dirty::BySession).unwrap() < ms(500));
    }
}
