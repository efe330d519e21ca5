//! The message at the bottom of the screen that disappears after a while.

use tiller_core::id::CallId;
use tiller_core::unit::UnixMs;

use crate::effect::FlashText;

/// Minimum time that a message is shown, in milliseconds.
const FLASH_MS: u64 = 4_000;

/// Reading time per character, in milliseconds, for a slow reader who looks up late.
const CHARACTER_MS: u64 = 60;

/// The message shown now, with the time when it appeared.
#[derive(Debug, Default)]
pub(crate) struct Flash(Option<(FlashText, UnixMs)>);

impl Flash {
    /// Shows a message in place of the previous one.
    pub(crate) fn show(&mut self, message: FlashText, now: UnixMs) {
        self.0 = Some((message, now));
    }

    pub(crate) fn clear(&mut self) {
        self.0 = None;
    }

    /// Removes the message if it belongs to this call.
    pub(crate) fn clear_about(&mut self, call: &CallId) {
        self.0.take_if(|(message, _)| message.call.as_ref() == Some(call));
    }

    /// Removes the message once there was time to read it; returns true if it was removed.
    pub(crate) fn expire(&mut self, now: UnixMs) -> bool {
        let is_read = |(message, since): &mut (FlashText, UnixMs)| {
            let reading_ms = CHARACTER_MS * message.text.chars().count() as u64;
            now.since_ms(*since) >= FLASH_MS.max(reading_ms)
        };
        self.0.take_if(is_read).is_some()
    }

    pub(crate) fn text(&self) -> Option<&str> {
        self.0.as_ref().map(|(message, _)| message.text.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flash(text: &str, call: Option<&str>) -> Flash {
        let mut flash = Flash::default();
        flash.show(FlashText { text: text.into(), call: call.map(CallId::from) }, UnixMs(0));
        flash
    }

    #[test]
    fn flash_long_text_stays_longer() {
        for (text, ms) in [("copied", 4_000), ("x".repeat(100).as_str(), 6_000)] {
            let mut flash = flash(text, None);
            assert!(!flash.expire(UnixMs(ms - 1)) && flash.text().is_some());
            assert!(flash.expire(UnixMs(ms)) && flash.text().is_none());
            assert!(!flash.expire(UnixMs(ms)), "only once");
        }
    }

    #[test]
    fn flash_about_call_disappears_with_it() {
        for (about, remains) in [(None, true), (Some("c1"), false), (Some("c2"), true)] {
            let mut flash = flash("too soon", about);
            flash.clear_about(&"c1".into());
            assert_eq!(flash.text().is_some(), remains, "{about:?}");
        }
    }
}
