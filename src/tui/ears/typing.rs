//! Characters that are there already, in one piece.

use std::io;
use std::task::Poll;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind};
use futures_util::{StreamExt, poll};
use nix::sys::termios;
use tokio::time::Instant;

use super::{Ears, Heard};
use crate::tui::app::Input;
use crate::tui::keymap::Chord;

/// Bytes that are taken at once when characters come faster than keys can be pressed: a paste that the terminal doesn't mark.
const RUN: usize = 16 * 1024;

/// Events in a row that may be a full buffer of crossterm's: it reads a kilobyte at a time, and an event has at most some ten bytes.
pub(super) const FULL: usize = 100;

impl Ears {
    /// The next event, waiting for it.
    pub(super) async fn event(&mut self) -> Option<io::Result<Event>> {
        if let Poll::Ready(event) = poll!(self.keys.next()) {
            self.burst += 1;
            return event;
        }
        if std::mem::take(&mut self.burst) >= FULL {
            tell_anew();
        }
        self.keys.next().await
    }

    /// A key as the state takes it: with all that is typed behind it and is there already, if it types something. Never waits.
    pub(in crate::tui) async fn input(&mut self, key: KeyEvent) -> Input {
        let Some(first) = typed(&key) else { return Input::Key(key) };
        let mut text = String::from(first);
        while text.len() < RUN {
            match self.there().await {
                Some(Heard::Event(Event::Key(key))) if let Some(c) = typed(&key) => text.push(c),
                Some(other) => {
                    self.heard.push_front(other);
                    break;
                }
                None => break,
            }
        }
        if text.len() == first.len_utf8() { Input::Key(key) } else { Input::Typed(text) }
    }

    /// What is there already; an error or the end comes again.
    async fn there(&mut self) -> Option<Heard> {
        while self.heard.is_empty() && self.answers.until().is_none() {
            // Asked in this task's name: the stream remembers whom to wake until the next key comes, and nobody else in between.
            let Poll::Ready(Some(Ok(event))) = poll!(self.keys.next()) else { return None };
            self.burst += 1;
            self.heard.extend(self.answers.take(event, Instant::now()));
        }
        self.heard.pop_front()
    }
}

/// Has the terminal tell again that there is something to read. crossterm 0.29 is told once of what arrives together, reads a
/// kilobyte, and leaves the rest lying until the next key (it waits by epoll's edges). Setting the modes that are set already
/// wakes whoever waits for the terminal.
fn tell_anew() {
    let input = std::io::stdin();
    if let Ok(modes) = termios::tcgetattr(&input) {
        let _ = termios::tcsetattr(&input, termios::SetArg::TCSANOW, &modes);
    }
}

/// The character that a key types, also when it is held down.
fn typed(key: &KeyEvent) -> Option<char> {
    match key.code {
        KeyCode::Char(c) if key.kind != KeyEventKind::Release && Chord::of(*key).is_text() => Some(c),
        _ => None,
    }
}
