//! What comes from the terminal: one event at a time, but characters that are there already in one piece.

use std::io;
use std::task::Poll;

use crossterm::event::{Event, EventStream, KeyCode, KeyEvent, KeyEventKind};
use futures_util::{StreamExt, poll};

use super::app::Input;
use super::keymap::Chord;

/// Bytes that are taken at once when characters come faster than keys can be pressed: a paste that the terminal doesn't mark.
const RUN: usize = 16 * 1024;

/// The keys, while they are read.
#[derive(Default)]
pub(super) struct Typing {
    /// `None` while somebody else reads them: what is dropped stops reading.
    stream: Option<EventStream>,
    /// What came behind a run of characters that was taken at once.
    held: Option<io::Result<Event>>,
}

impl Typing {
    /// Stops reading, until the next event is asked for.
    pub(super) fn release(&mut self) {
        self.stream = None;
    }

    /// An event that was read already.
    pub(super) fn held(&mut self) -> Option<io::Result<Event>> {
        self.held.take()
    }

    /// The next event. What is held comes first.
    pub(super) async fn next(&mut self) -> Option<io::Result<Event>> {
        self.stream.get_or_insert_with(EventStream::new).next().await
    }

    /// A key as the state takes it: with all that is typed behind it and is there already, if it types something. Never waits.
    pub(super) async fn input(&mut self, key: KeyEvent) -> Input {
        let Some(first) = typed(&key) else { return Input::Key(key) };
        let mut text = String::from(first);
        while let Some(keys) = self.stream.as_mut().filter(|_| text.len() < RUN) {
            // Asked in this task's name: the stream remembers whom to wake until the next key comes, and nobody else in between.
            match poll!(keys.next()) {
                Poll::Ready(Some(Ok(Event::Key(key)))) if let Some(c) = typed(&key) => text.push(c),
                Poll::Ready(Some(event)) => {
                    self.held = Some(event);
                    break;
                }
                // The end comes again.
                Poll::Ready(None) | Poll::Pending => break,
            }
        }
        if text.len() == first.len_utf8() { Input::Key(key) } else { Input::Typed(text) }
    }
}

/// The character that a key types, also when it is held down.
fn typed(key: &KeyEvent) -> Option<char> {
    match key.code {
        KeyCode::Char(c) if key.kind != KeyEventKind::Release && Chord::of(*key).is_text() => Some(c),
        _ => None,
    }
}
