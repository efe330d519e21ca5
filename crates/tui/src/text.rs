//! Short texts for one line of the screen.

use tiller_core::message::UserMessage;
use tiller_core::unit::UnixMs;
use tiller_render::{ControlChars, sanitize};

/// A text on one line with visible line breaks.
pub(crate) fn one_line(text: &str) -> String {
    sanitize(text.trim(), ControlChars::Visible).replace('\n', " ⏎ ")
}

/// Formats a duration: `0.4s`, `12s`, `3m 05s`.
pub(crate) fn short_duration(ms: u64) -> String {
    match ms / 1_000 {
        0..=9 => format!("{}.{}s", ms / 1_000, ms % 1_000 / 100),
        s @ 10..=59 => format!("{s}s"),
        s => format!("{}m {:02}s", s / 60, s % 60),
    }
}

/// Formats a duration of at least a tenth of a second; `None` for shorter ones.
pub(crate) fn noticeable_time(ms: u64) -> Option<String> {
    (ms >= 100).then(|| short_duration(ms))
}

/// Formats the age of a time: `now`, `5m ago`.
pub(crate) fn age(time: UnixMs, now: UnixMs) -> String {
    let age = time.age(now);
    if age == "now" { age } else { format!("{age} ago") }
}

/// Maximum characters of a label that are drawn and searched.
pub(crate) const MAX_CHARS: usize = 300;

/// Returns the text of a message as the user typed it.
pub(crate) fn typed(user: &UserMessage) -> String {
    user.as_typed()
}

/// Returns a text on one line with whitespace collapsed.
pub(crate) fn spaced(text: &str) -> String {
    one_line(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}
