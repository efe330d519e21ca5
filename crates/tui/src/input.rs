//! What comes from the terminal: keys, and among them its answer to the one question it is asked, the colour of its ground.
//!
//! The answer comes in the stream of keys (`ESC ] 11 ; rgb:… BEL`), where crossterm 0.29 takes it for keys: Alt+], then its
//! characters, then Ctrl+G, or Alt+\ when it ends with ST. So what begins like it is held back for a moment, becomes a colour when
//! it goes on like one, and keys again when it doesn't. Nobody else reads the terminal, nothing waits for the answer, and one that
//! comes seconds late is heard all the same. The other ways were worse: to read the answer before the keys are read would hold up
//! every start in a terminal that doesn't answer, and of the answer to `CSI ? 996 n` crossterm makes nothing, and nothing of the
//! keys after it, until a `u` or a `c` is typed.

mod coalesce;
mod reader;

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tokio::time::{Instant, timeout_at};

use self::reader::EventReader;
pub(super) use self::reader::open_terminal;
use tiller_render::theme::Rgb;

/// The question: OSC 11 (xterm's "Change VT100 text background color"), asked with `?`.
pub(super) const QUESTION: &str = "\x1b]11;?\x07";

/// How long a key is held back that may begin the answer: the bytes of an answer come together, and nobody notices so little.
const HOLD: Duration = Duration::from_millis(30);

/// How long after the question even Esc may be the beginning of an answer that was torn in two: later on it acts at once.
const TORN: Duration = Duration::from_secs(2);

/// Most characters of an answer: `11;rgba:ffff/ffff/ffff/ffff`, and some more.
const LONGEST: usize = 32;

/// Something that came from the terminal.
#[derive(Debug, PartialEq)]
pub(super) enum TermEvent {
    Event(Event),
    /// The colour of its ground.
    Ground(Rgb),
}

/// The keys and whatever else comes from the terminal.
pub(super) struct InputStream {
    keys: EventReader,
    answers: TerminalReplies,
    heard: VecDeque<TermEvent>,
}

impl InputStream {
    /// Begins to listen.
    pub(super) fn open() -> Self {
        Self { keys: EventReader::open(), answers: TerminalReplies::default(), heard: VecDeque::new() }
    }

    /// The terminal was asked.
    pub(super) fn expect(&mut self) {
        self.answers.expect(Instant::now());
    }

    /// The next thing; can be given up at any moment.
    pub(super) async fn next(&mut self) -> Option<io::Result<TermEvent>> {
        loop {
            if let Some(heard) = self.heard.pop_front() {
                return Some(Ok(heard));
            }
            let event = match self.answers.until() {
                None => self.keys.next().await,
                Some(until) => match timeout_at(until, self.keys.next()).await {
                    Ok(event) => event,
                    Err(_) => {
                        self.heard.extend(self.answers.release());
                        continue;
                    }
                },
            };
            match event? {
                Ok(event) => self.heard.extend(self.answers.take(event, Instant::now())),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// The answer among the keys; pure, but for the kind of clock.
#[derive(Debug, Default)]
struct TerminalReplies {
    /// When the terminal was asked; `None` once it answered.
    asked: Option<Instant>,
    /// The keys that may be its answer, and since when they are held.
    held: Vec<KeyEvent>,
    since: Option<Instant>,
}

/// How keys look as the beginning of an answer.
#[derive(Debug, PartialEq)]
enum Match {
    None,
    Beginning,
    Whole(Rgb),
}

impl TerminalReplies {
    /// The terminal was asked.
    fn expect(&mut self, now: Instant) {
        self.asked = Some(now);
    }

    /// When what is held is to be given up on.
    fn until(&self) -> Option<Instant> {
        self.since.map(|since| since + HOLD)
    }

    /// Takes what came; answers with what is known of it now.
    fn take(&mut self, event: Event, now: Instant) -> Vec<TermEvent> {
        let Some(asked) = self.asked else { return vec![TermEvent::Event(event)] };
        let key = match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => key,
            // A resize in the midst of an answer is none of it, and doesn't end it.
            other => return vec![TermEvent::Event(other)],
        };
        self.held.push(key);
        match likeness(&self.held, now.duration_since(asked) < TORN) {
            Match::Beginning => {
                self.since = Some(now);
                Vec::new()
            }
            Match::None => self.release(),
            Match::Whole(ground) => {
                *self = Self::default();
                vec![TermEvent::Ground(ground)]
            }
        }
    }

    /// What was held was keys after all.
    fn release(&mut self) -> Vec<TermEvent> {
        self.since = None;
        self.held.drain(..).map(|key| TermEvent::Event(Event::Key(key))).collect()
    }
}

/// What keys are as an answer; `is_torn` says whether Esc may have come apart from what belongs to it.
fn likeness(keys: &[KeyEvent], is_torn: bool) -> Match {
    let is_escape = |key: &KeyEvent| is_torn && key.code == KeyCode::Esc && key.modifiers.is_empty();
    let rest = match keys {
        [first] if is_escape(first) => return Match::Beginning,
        [first, rest @ ..] if is_alt(first, ']') => rest,
        [first, second, rest @ ..] if is_escape(first) && is_plain(second, ']') => rest,
        _ => return Match::None,
    };
    let mut text = String::new();
    for (at, key) in rest.iter().enumerate() {
        let (left, next) = (rest.len() - at - 1, rest.get(at + 1));
        let ends = is_alt(key, '\\') || is_control(key, 'g');
        match key.code {
            _ if ends && left == 0 => return whole(&text),
            _ if is_escape(key) && left == 0 => break,
            _ if is_escape(key) && left == 1 && next.is_some_and(|key| is_plain(key, '\\')) => {
                return whole(&text);
            }
            KeyCode::Char(c) if is_plain(key, c) => text.push(c),
            _ => return Match::None,
        }
    }
    if begins(&text) { Match::Beginning } else { Match::None }
}

fn whole(text: &str) -> Match {
    let colour = text.strip_prefix("11;").and_then(Rgb::parse_x11);
    colour.map_or(Match::None, Match::Whole)
}

/// Whether an answer may begin like that.
fn begins(text: &str) -> bool {
    let is_colour = |c: char| c.is_ascii_hexdigit() || c == '/';
    let known = ["11;rgb:", "11;rgba:"];
    text.len() <= LONGEST
        && known.iter().any(|known| match text.strip_prefix(known) {
            Some(colour) => colour.chars().all(is_colour),
            None => known.starts_with(text),
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

    /// What is heard of keys that come at once.
    fn heard(answers: &mut TerminalReplies, keys: &[KeyEvent]) -> Vec<TermEvent> {
        let now = Instant::now();
        keys.iter().flat_map(|key| answers.take(Event::Key(*key), now)).collect()
    }

    fn asked() -> TerminalReplies {
        let mut answers = TerminalReplies::default();
        answers.expect(Instant::now());
        answers
    }

    fn keys(keys: &[KeyEvent]) -> Vec<TermEvent> {
        keys.iter().map(|key| TermEvent::Event(Event::Key(*key))).collect()
    }

    fn answer(end: &[KeyEvent]) -> Vec<KeyEvent> {
        [&[alt(']')], &plain("11;rgb:fdfd/f6f6/e3e3")[..], end].concat()
    }

    const CREAM: Rgb = Rgb(0xfd, 0xf6, 0xe3);

    #[test]
    fn an_answer_is_a_colour_however_it_ends() {
        for end in [vec![BELL], vec![alt('\\')], vec![ESCAPE, plain("\\")[0]]] {
            assert_eq!(heard(&mut asked(), &answer(&end)), [TermEvent::Ground(CREAM)], "{end:?}");
        }
    }

    #[test]
    fn an_answer_whose_escape_came_alone_is_one_too() {
        let torn = [&[ESCAPE], &plain("]11;rgb:0/0/0")[..], &[BELL]].concat();
        assert_eq!(heard(&mut asked(), &torn), [TermEvent::Ground(Rgb::BLACK)]);
    }

    #[test]
    fn what_turns_out_to_be_typed_is_typed() {
        for typed in [
            [&[alt(']')], &plain("hello")[..]].concat(),
            [&[alt(']')], &plain("11;x")[..]].concat(),
            [&[alt(']')], &plain("11;rgb:zz")[..]].concat(),
            [&[alt(']')], &plain("11;rgb:")[..], &[BELL]].concat(),
            vec![ESCAPE, BELL],
            plain("]11;rgb:0/0/0"),
        ] {
            assert_eq!(heard(&mut asked(), &typed), keys(&typed), "{typed:?}");
        }
    }

    #[test]
    fn nothing_is_held_back_before_the_question_and_after_the_answer() {
        assert_eq!(heard(&mut TerminalReplies::default(), &answer(&[BELL])), keys(&answer(&[BELL])));
        let mut answers = asked();
        heard(&mut answers, &answer(&[BELL]));
        assert_eq!(heard(&mut answers, &[ESCAPE]), keys(&[ESCAPE]));
    }

    #[test]
    fn escape_is_held_only_while_an_answer_may_be_torn() {
        let mut answers = asked();
        assert_eq!(heard(&mut answers, &[ESCAPE]), []);
        assert!(answers.until().is_some());
        assert_eq!(answers.release(), keys(&[ESCAPE]));
        assert_eq!(answers.until(), None);
        let late = Instant::now() + TORN;
        assert_eq!(answers.take(Event::Key(ESCAPE), late), keys(&[ESCAPE]));
        // And an answer is heard however late it is.
        let late: Vec<TermEvent> =
            answer(&[BELL]).into_iter().flat_map(|key| answers.take(Event::Key(key), late)).collect();
        assert_eq!(late, [TermEvent::Ground(CREAM)]);
    }

    #[test]
    fn a_resize_within_an_answer_is_heard_at_once() {
        let mut answers = asked();
        let keys = answer(&[BELL]);
        heard(&mut answers, &keys[..5]);
        let resize = Event::Resize(80, 24);
        assert_eq!(answers.take(resize.clone(), Instant::now()), [TermEvent::Event(resize)]);
        assert_eq!(heard(&mut answers, &keys[5..]), [TermEvent::Ground(CREAM)]);
    }
}
