//! The set of grammars: read when code is to be told apart, and let go of when that was a while ago.
//!
//! A language that is at work takes some fifteen megabytes, most of them compiled patterns. What its words were is kept elsewhere
//! ([`shelf`](super::shelf)), so a session at rest needs none of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use syntect::parsing::SyntaxSet;

static HELD: Mutex<Option<Held>> = Mutex::new(None);

struct Held {
    grammars: Arc<SyntaxSet>,
    /// When somebody last asked for it.
    asked: Instant,
}

fn held() -> MutexGuard<'static, Option<Held>> {
    // Whoever panicked meanwhile left it as it was.
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The grammars. To read them takes tens of milliseconds.
pub(super) fn grammars() -> Arc<SyntaxSet> {
    let (mut held, asked) = (held(), Instant::now());
    match &mut *held {
        Some(held) => {
            held.asked = asked;
            Arc::clone(&held.grammars)
        }
        None => {
            let grammars = Arc::new(two_face::syntax::extra_newlines());
            *held = Some(Held { grammars: Arc::clone(&grammars), asked });
            grammars
        }
    }
}

/// Whether nobody asked for them for so long, if they are there at all.
pub(super) fn is_unused(time: Duration) -> bool {
    held().as_ref().is_none_or(|held| held.asked.elapsed() >= time)
}

/// The grammars, which are read anew for whoever asks next.
pub(super) fn take() -> Option<Arc<SyntaxSet>> {
    held().take().map(|held| held.grammars)
}
