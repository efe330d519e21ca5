//! When the next frame is due. Pure: moments come in, as time since the front end began.

use std::time::Duration;

/// Least time from one frame's end to the next: 60 a second are as many as a screen shows. From its end, so that however dear frames
/// are there is time between them to take what is typed.
const FRAME: Duration = Duration::from_micros(16_667);

/// Least time between two frames that nobody but the agent asks for: text that comes in more pieces than that is read no faster.
const QUIET_FRAME: Duration = Duration::from_millis(50);

/// Of the time between frames that nobody but the agent asks for, drawing takes at most one part in this many.
const SHARE: u32 = 56;

/// Longest time that a screen out of date stays so, however dear its frames are.
const LONGEST: Duration = Duration::from_millis(120);

/// How far the screen is out of date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Dirty {
    /// It shows what is.
    #[default]
    No,
    /// Something went on in the session, or time went by.
    BySession,
    /// The user did something and waits to see it.
    ByUser,
}

/// The frames drawn so far, as far as the next one depends on them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FramePacer {
    last: Option<DrawnFrame>,
}

#[derive(Clone, Copy, Debug)]
struct DrawnFrame {
    at: Duration,
    took: Duration,
}

impl FramePacer {
    /// When a frame is to be drawn; `None` while there is nothing new to show.
    pub(super) fn due(&self, stale: Dirty) -> Option<Duration> {
        let after = |drawn: DrawnFrame| match stale {
            Dirty::BySession => drawn.at + QUIET_FRAME.max((drawn.took * SHARE).min(LONGEST)),
            Dirty::No | Dirty::ByUser => drawn.at + FRAME,
        };
        (stale != Dirty::No).then(|| self.last.map_or(Duration::ZERO, after))
    }

    /// A frame was done at a moment, and took so long.
    pub(super) fn drew(&mut self, at: Duration, took: Duration) {
        self.last = Some(DrawnFrame { at, took });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    /// Frames drawn in a second in which something comes every millisecond.
    fn frames(stale: Dirty, took: Duration) -> usize {
        let (mut pace, mut count) = (FramePacer::default(), 0);
        for at in (0..1_000).map(ms) {
            if pace.due(stale).is_some_and(|due| due <= at) {
                pace.drew(at, took);
                count += 1;
            }
        }
        count
    }

    #[test]
    fn a_thousand_pieces_a_second_make_no_more_frames_than_one_can_see() {
        assert_eq!(frames(Dirty::BySession, ms(0)), 20);
        assert_eq!(frames(Dirty::ByUser, ms(0)), 59);
        assert_eq!(frames(Dirty::No, ms(0)), 0);
    }

    #[test]
    fn dear_frames_are_fewer_unless_the_user_waits_for_them() {
        assert_eq!(frames(Dirty::BySession, ms(2)), 9);
        assert_eq!(frames(Dirty::BySession, ms(100)), 9);
        assert_eq!(frames(Dirty::ByUser, ms(4)), 59);
    }

    #[test]
    fn the_first_frame_and_one_after_a_rest_are_due_at_once() {
        let mut pace = FramePacer::default();
        assert_eq!(pace.due(Dirty::BySession), Some(ms(0)));
        pace.drew(ms(0), ms(1));
        assert!(pace.due(Dirty::BySession).unwrap() < ms(500));
    }
}
