//! Coalesces characters that arrived together into one message.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind};
use tokio::time::Instant;

use super::{InputStream, TermEvent};
use crate::keymap::chord::Chord;
use crate::message::Msg;

/// Maximum bytes coalesced when characters arrive faster than a user can type, as in an unmarked paste.
const MAX_RUN: usize = 16 * 1024;

impl InputStream {
    /// Returns the message for a key and the characters that arrived right after it. Never waits.
    pub(crate) fn coalesce(&mut self, key: KeyEvent) -> Msg {
        let Some(first) = typed_char(&key) else { return Msg::Key(key) };
        let mut text = String::from(first);
        while text.len() < MAX_RUN {
            match self.try_next() {
                Some(TermEvent::Event(Event::Key(key))) if let Some(c) = typed_char(&key) => text.push(c),
                Some(other) => {
                    self.ready.push_front(other);
                    break;
                }
                None => break,
            }
        }
        if text.len() == first.len_utf8() { Msg::Key(key) } else { Msg::Text(text) }
    }

    /// Returns the next event if it has arrived; an error or the end is returned by `next`.
    fn try_next(&mut self) -> Option<TermEvent> {
        while self.ready.is_empty() && self.replies.deadline().is_none() {
            let event = self.keys.try_next()?;
            self.ready.extend(self.replies.take(event, Instant::now()));
        }
        self.ready.pop_front()
    }
}

/// Returns the character that a key types, on press and repeat.
fn typed_char(key: &KeyEvent) -> Option<char> {
    match key.code {
        KeyCode::Char(c) if key.kind != KeyEventKind::Release && Chord::from_event(*key).is_text() => Some(c),
        _ => None,
    }
}
