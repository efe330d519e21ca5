//! Terminal input: keys, mouse, pastes, and the reply to the query of the background color.
//!
//! The reply arrives among the keys (`ESC ] 11 ; rgb:… BEL`), and crossterm 0.29 parses it as keys: Alt+],
//! its characters, then Ctrl+G, or Alt+\ if it ends with ST. Keys that may start a reply are held back for a
//! moment; if the reply completes, they become a color, otherwise they are released as keys. No other code
//! reads the terminal, nothing waits for the reply, and a reply seconds late is still recognized. Rejected
//! alternatives: reading the reply before the keys would delay every start in a terminal that doesn't reply;
//! crossterm drops the reply to `CSI ? 996 n`, and with it all keys up to the next `u` or `c`.

mod coalesce;
pub(crate) mod reader;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tiller_render::theme::Rgb;
use tokio::time::{Instant, timeout_at};

use self::reader::EventReader;
use crate::terminal::modes::TerminalModes;

/// The query: OSC 11 (xterm's "Change VT100 text background color") with `?`.
pub(super) const BACKGROUND_QUERY: &str = "\x1b]11;?\x07";

/// Time for which a key that may start a reply is held back. The bytes of a reply arrive together, and the
/// delay isn't noticeable.
const HOLD_TIMEOUT: Duration = Duration::from_millis(30);

/// Time after the query in which even Esc may start a reply that arrived in two parts; later, Esc acts
/// immediately.
const TORN_WINDOW: Duration = Duration::from_secs(2);

/// Maximum number of characters of a reply: `11;rgba:ffff/ffff/ffff/ffff`, and a few more.
const MAX_REPLY: usize = 32;

#[derive(Debug, PartialEq)]
pub(super) enum TermEvent {
    Event(Event),
    /// The background color.
    Background(Rgb),
}

pub(super) struct InputStream {
    keys: EventReader,
    replies: TerminalReplies,
    ready: VecDeque<TermEvent>,
}

impl InputStream {
    /// Starts reading.
    pub(super) fn open(modes: Arc<TerminalModes>) -> Self {
        Self { keys: EventReader::open(modes), replies: TerminalReplies::default(), ready: VecDeque::new() }
    }

    /// Records that the query was sent.
    pub(super) fn expect_reply(&mut self) {
        self.replies.expect(Instant::now());
    }

    /// The next event. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<io::Result<TermEvent>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            let event = match self.replies.deadline() {
                None => self.keys.next().await,
                Some(until) => match timeout_at(until, self.keys.next()).await {
                    Ok(event) => event,
                    Err(_) => {
                        self.ready.extend(self.replies.release());
                        continue;
                    }
                },
            };
            match event? {
                Ok(event) => self.ready.extend(self.replies.take(event, Instant::now())),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Recognizes the reply among the keys. Pure: time is an input.
#[derive(Debug, Default)]
struct TerminalReplies {
    /// Time of the query; `None` once the reply arrived.
    queried: Option<Instant>,
    /// The keys that may be the reply, and the time of the last one.
    held_keys: Vec<KeyEvent>,
    since: Option<Instant>,
}

/// The result of matching keys against a reply.
#[derive(Debug, PartialEq)]
enum Match {
    None,
    Prefix,
    Whole(Rgb),
}

impl TerminalReplies {
    /// Records that the query was sent.
    fn expect(&mut self, now: Instant) {
        self.queried = Some(now);
    }

    /// Returns the time when the held keys are released.
    fn deadline(&self) -> Option<Instant> {
        self.since.map(|since| since + HOLD_TIMEOUT)
    }

    /// Applies an event; returns the events that are no longer ambiguous.
    fn take(&mut self, event: Event, now: Instant) -> Vec<TermEvent> {
        let Some(asked) = self.queried else { return vec![TermEvent::Event(event)] };
        let key = match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => key,
            // A resize within a reply is passed on and doesn't end the reply.
            other => return vec![TermEvent::Event(other)],
        };
        self.held_keys.push(key);
        match match_reply(&self.held_keys, now.duration_since(asked) < TORN_WINDOW) {
            Match::Prefix => {
                self.since = Some(now);
                Vec::new()
            }
            Match::None => self.release(),
            Match::Whole(ground) => {
                *self = Self::default();
                vec![TermEvent::Background(ground)]
            }
        }
    }

    /// Releases the held keys.
    fn release(&mut self) -> Vec<TermEvent> {
        self.since = None;
        self.held_keys.drain(..).map(|key| TermEvent::Event(Event::Key(key))).collect()
    }
}

/// Matches keys against a reply; `is_torn` allows Esc to be separate from the next character.
fn match_reply(keys: &[KeyEvent], is_torn: bool) -> Match {
    let is_escape = |key: &KeyEvent| is_torn && key.code == KeyCode::Esc && key.modifiers.is_empty();
    let rest = match keys {
        [first] if is_escape(first) => return Match::Prefix,
        [first, rest @ ..] if is_alt(first, ']') => rest,
        [first, second, rest @ ..] if is_escape(first) && is_plain(second, ']') => rest,
        _ => return Match::None,
    };
    let mut text = String::new();
    for (at, key) in rest.iter().enumerate() {
        let (remaining, next) = (rest.len() - at - 1, rest.get(at + 1));
        let ends = is_alt(key, '\\') || is_control(key, 'g');
        match key.code {
            _ if ends && remaining == 0 => return complete_reply(&text),
            _ if is_escape(key) && remaining == 0 => break,
            _ if is_escape(key) && remaining == 1 && next.is_some_and(|key| is_plain(key, '\\')) => {
                return complete_reply(&text);
            }
            KeyCode::Char(c) if is_plain(key, c) => text.push(c),
            _ => return Match::None,
        }
    }
    if is_reply_prefix(&text) { Match::Prefix } else { Match::None }
}

fn complete_reply(text: &str) -> Match {
    let color = text.strip_prefix("11;").and_then(Rgb::parse_x11);
    color.map_or(Match::None, Match::Whole)
}

/// Returns true if the text may be the start of a reply.
fn is_reply_prefix(text: &str) -> bool {
    let is_color = |c: char| c.is_ascii_hexdigit() || c == '/';
    let prefixes = ["11;rgb:", "11;rgba:"];
    text.len() <= MAX_REPLY
        && prefixes.iter().any(|prefixes| match text.strip_prefix(prefixes) {
            Some(color) => color.chars().all(is_color),
            None => prefixes.starts_with(text),
        })
}

fn is_plain(key: &KeyEvent, c: char) -> bool {
    key.code == KeyCode::Char(c) && (key.modifiers - KeyModifiers::SHIFT).is_empty()
}

fn is_alt(key: &KeyEvent, c: char) -> bool {
    key.code == KeyCode::Char(c) && key.modifiers == KeyModifiers::ALT
}

fn is_control(key: &KeyEvent, c: char) -> bool {
    key.code == KeyCode::Char(c) && key.modifiers == KeyModifiers::CONTROL
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alt(c: char) -> KeyEvent {
        KeyEvent::new(KeyCode::Char(c), KeyModifiers::ALT)
    }

    fn plain(text: &str) -> Vec<KeyEvent> {
        text.chars().map(|c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE)).collect()
    }

    const BELL: KeyEvent = KeyEvent::new(KeyCode::Char('g'), KeyModifiers::CONTROL);
    const ESCAPE: KeyEvent = KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE);

    /// Returns the events decided after keys that arrive in one read.
    fn decided(replies: &mut TerminalReplies, keys: &[KeyEvent]) -> Vec<TermEvent> {
        let now = Instant::now();
        keys.iter().flat_map(|key| replies.take(Event::Key(*key), now)).collect()
    }

    fn queried() -> TerminalReplies {
        let mut replies = TerminalReplies::default();
        replies.expect(Instant::now());
        replies
    }

    fn keys(keys: &[KeyEvent]) -> Vec<TermEvent> {
        keys.iter().map(|key| TermEvent::Event(Event::Key(*key))).collect()
    }

    fn reply(end: &[KeyEvent]) -> Vec<KeyEvent> {
        [&[alt(']')], &plain("11;rgb:fdfd/f6f6/e3e3")[..], end].concat()
    }

    const CREAM: Rgb = Rgb(0xfd, 0xf6, 0xe3);

    #[test]
    fn replies_color_is_parsed_with_any_terminator() {
        for end in [vec![BELL], vec![alt('\\')], vec![ESCAPE, plain("\\")[0]]] {
            assert_eq!(decided(&mut queried(), &reply(&end)), [TermEvent::Background(CREAM)], "{end:?}");
        }
    }

    #[test]
    fn replies_escape_may_arrive_alone() {
        let torn = [&[ESCAPE], &plain("]11;rgb:0/0/0")[..], &[BELL]].concat();
        assert_eq!(decided(&mut queried(), &torn), [TermEvent::Background(Rgb::BLACK)]);
    }

    #[test]
    fn replies_other_keys_are_released() {
        for typed in [
            [&[alt(']')], &plain("hello")[..]].concat(),
            [&[alt(']')], &plain("11;x")[..]].concat(),
            [&[alt(']')], &plain("11;rgb:zz")[..]].concat(),
            [&[alt(']')], &plain("11;rgb:")[..], &[BELL]].concat(),
            vec![ESCAPE, BELL],
            plain("]11;rgb:0/0/0"),
        ] {
            assert_eq!(decided(&mut queried(), &typed), keys(&typed), "{typed:?}");
        }
    }

    #[test]
    fn replies_hold_no_keys_before_query_and_after_reply() {
        assert_eq!(decided(&mut TerminalReplies::default(), &reply(&[BELL])), keys(&reply(&[BELL])));
        let mut replies = queried();
        decided(&mut replies, &reply(&[BELL]));
        assert_eq!(decided(&mut replies, &[ESCAPE]), keys(&[ESCAPE]));
    }

    #[test]
    fn replies_escape_is_held_only_shortly_after_query() {
        let mut replies = queried();
        assert_eq!(decided(&mut replies, &[ESCAPE]), []);
        assert!(replies.deadline().is_some());
        assert_eq!(replies.release(), keys(&[ESCAPE]));
        assert_eq!(replies.deadline(), None);
        let late = Instant::now() + TORN_WINDOW;
        assert_eq!(replies.take(Event::Key(ESCAPE), late), keys(&[ESCAPE]));
        // A late reply is still recognized.
        let late: Vec<TermEvent> =
            reply(&[BELL]).into_iter().flat_map(|key| replies.take(Event::Key(key), late)).collect();
        assert_eq!(late, [TermEvent::Background(CREAM)]);
    }

    #[test]
    fn replies_resize_within_reply_is_passed_on() {
        let mut replies = queried();
        let keys = reply(&[BELL]);
        decided(&mut replies, &keys[..5]);
        let resize = Event::Resize(80, 24);
        assert_eq!(replies.take(resize.clone(), Instant::now()), [TermEvent::Event(resize)]);
        assert_eq!(decided(&mut replies, &keys[5..]), [TermEvent::Background(CREAM)]);
    }
}
