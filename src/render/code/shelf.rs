//! What the words of code were told to be, kept for whoever shows that code again, and code that waits to be told.
//!
//! Reading grammars takes tens of milliseconds, their patterns hundreds when a language first appears, and a line a quarter of one:
//! nothing for a frame. So a frame takes from here what is known, shows the rest plain and leaves it here, and
//! [`tell_waiting`] does the work wherever it is called. There is one shelf a process, as there is one set of grammars; what is on it can
//! always be had again.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Highlighter, LARGEST_BLOCK, Language, set};
use crate::render::{Role, Span};

/// Bytes of code whose words are kept: what many screens hold.
const MOST_KEPT: usize = 2 * 1024 * 1024;

/// Pieces of code that wait at most; the oldest are forgotten, and asked for again when they are shown again.
const MOST_WAITING: usize = 64;

/// The words of a line: so many bytes each, and what they are.
pub(in crate::render) type Words = Vec<(usize, Role)>;

/// How some code is known again: by its language and its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key(u64);

#[derive(Debug)]
struct Waiting {
    key: Key,
    language: Tongue,
    code: String,
}

/// A language, kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::render) enum Tongue {
    Named(String),
    OfFile(String),
}

#[derive(Debug, Default)]
struct Shelf {
    told: HashMap<Key, Arc<Vec<Words>>>,
    /// Oldest first, with the bytes of their code.
    order: VecDeque<(Key, usize)>,
    kept: usize,
    waiting: VecDeque<Waiting>,
    /// Languages whose grammars have been at work.
    warm: HashSet<Tongue>,
    /// How often something was told.
    version: u64,
    /// Whether somebody is at it.
    at_work: bool,
}

/// A shelf for whoever comes.
#[derive(Debug, Default)]
struct Shared(Mutex<Shelf>);

static SHELF: LazyLock<Shared> = LazyLock::new(Shared::default);

fn shelf() -> MutexGuard<'static, Shelf> {
    SHELF.lock()
}

/// Whether some code waits until its words are told apart, and nobody is at it. It was shown plain; [`tell_waiting`] changes that.
#[must_use]
pub fn code_waits() -> bool {
    let shelf = shelf();
    !shelf.at_work && !shelf.waiting.is_empty()
}

/// How often the words of some code were told apart: what was laid out when it was another number may look otherwise now.
#[must_use]
pub fn code_told() -> u64 {
    shelf().version
}

/// Tells apart the words of all code that waits, and calls `told` after each piece of it. A piece may take half a second: this
/// belongs where nobody waits for it.
///
/// # Panics
///
/// When a piece made the highlighter panic: that piece stays plain, and the panic goes on when all the others are told.
pub fn tell_waiting(told: impl FnMut()) {
    SHELF.tell(words_of, told);
}

/// Lets go of the grammars if no words were told apart for so long; whether there are none now. What was told stays. Takes
/// milliseconds: this belongs where nobody waits for it.
#[must_use]
pub fn let_go_of_grammars(unused: Duration) -> bool {
    let grammars = {
        let mut shelf = shelf();
        if shelf.at_work || !set::is_unused(unused) {
            return false;
        }
        shelf.warm.clear();
        set::take()
    };
    // Only now: frames look at the shelf.
    drop(grammars);
    true
}

fn words_of(waiting: &Waiting) -> Vec<Words> {
    let mut highlighter = Highlighter::limited(waiting.language.known(), LARGEST_BLOCK);
    waiting.code.lines().map(|line| words(&highlighter.line(line))).collect()
}

/// The words of some clean code; `None` leaves it here to be told.
pub(in crate::render) fn told(language: Language<'_>, code: &str) -> Option<Arc<Vec<Words>>> {
    let tongue = Tongue::of(language);
    let key = key(&tongue, code.lines());
    let mut shelf = shelf();
    let known = shelf.told.get(&key).map(Arc::clone);
    if known.is_none() {
        shelf.ask(Waiting { key, language: tongue, code: code.to_owned() });
    }
    known
}

/// Whether a language's grammar has been at work, so that a line of it takes no longer than a line takes.
pub(in crate::render) fn is_warm(language: Language<'_>) -> bool {
    shelf().warm.contains(&Tongue::of(language))
}

/// Leaves code here for a grammar to begin with.
pub(in crate::render) fn warm_up(language: Language<'_>, code: &str) {
    let language = Tongue::of(language);
    let key = key(&language, code.lines());
    let mut shelf = shelf();
    // Told and the grammar still cold: it failed with this code, and would again.
    if !shelf.told.contains_key(&key) {
        shelf.ask(Waiting { key, language, code: code.to_owned() });
    }
}

/// Keeps what somebody else told.
pub(in crate::render) fn keep<'a>(
    language: Language<'_>,
    lines: impl Iterator<Item = &'a str>,
    words: Vec<Words>,
) {
    let key = key(&Tongue::of(language), lines);
    let bytes = words.iter().flatten().map(|(bytes, _)| bytes).sum();
    shelf().put(key, words, bytes);
}

fn key<'a>(tongue: &Tongue, lines: impl Iterator<Item = &'a str>) -> Key {
    let mut hasher = DefaultHasher::new();
    tongue.hash(&mut hasher);
    lines.for_each(|line| line.hash(&mut hasher));
    Key(hasher.finish())
}

/// The words of a line that was told.
pub(in crate::render) fn words(spans: &[Span]) -> Words {
    spans.iter().map(|span| (span.text.len(), span.style.role)).collect()
}

/// A line in its words. Words of another line make other pieces of it, and never another text.
pub(in crate::render) fn spans(line: &str, words: &Words) -> Vec<Span> {
    let (mut spans, mut rest) = (Vec::with_capacity(words.len()), line);
    for (bytes, role) in words {
        let Some((word, after)) = rest.split_at_checked(*bytes) else { break };
        spans.push(Span::new(word, *role));
        rest = after;
    }
    if !rest.is_empty() {
        spans.push(Span::new(rest, Role::Text));
    }
    spans
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Shelf> {
        // Whoever panicked meanwhile left at worst something untold.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells all that waits. A piece whose telling panics costs only itself; the panic goes on when the others are told.
    fn tell(&self, words_of: impl Fn(&Waiting) -> Vec<Words>, mut told: impl FnMut()) {
        let mut fault = None;
        loop {
            // The shelf is free again before the work begins: frames look at it meanwhile.
            let next = self.lock().next_waiting();
            let Some(next) = next else { break };
            // Nothing that was in the making is seen later: the words of a piece are its own.
            let words = catch_unwind(AssertUnwindSafe(|| words_of(&next)));
            match words {
                Ok(words) => self.lock().take(next, words),
                Err(panic) => {
                    self.lock().give_up(&next);
                    fault = Some(panic);
                }
            }
            told();
        }
        if let Some(panic) = fault {
            resume_unwind(panic);
        }
    }
}

impl Shelf {
    fn next_waiting(&mut self) -> Option<Waiting> {
        let next = self.waiting.pop_front();
        self.at_work = next.is_some();
        next
    }

    fn take(&mut self, told: Waiting, words: Vec<Words>) {
        self.put(told.key, words, told.code.len());
        self.warm.insert(told.language);
        self.version += 1;
    }

    /// Keeps a piece without words: it is plain, and isn't asked for again. Its grammar isn't let near a frame.
    fn give_up(&mut self, untold: &Waiting) {
        self.put(untold.key, Vec::new(), untold.code.len());
        self.version += 1;
    }

    fn put(&mut self, key: Key, words: Vec<Words>, bytes: usize) {
        if self.told.insert(key, Arc::new(words)).is_none() {
            self.order.push_back((key, bytes));
            self.kept += bytes;
        }
        while self.kept > MOST_KEPT
            && let Some((oldest, bytes)) = self.order.pop_front()
        {
            self.told.remove(&oldest);
            self.kept -= bytes;
        }
    }

    fn ask(&mut self, waiting: Waiting) {
        if self.waiting.iter().any(|other| other.key == waiting.key) {
            return;
        }
        if self.waiting.len() == MOST_WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back(waiting);
    }
}

impl Tongue {
    fn of(language: Language<'_>) -> Self {
        match language {
            Language::Named(name) => Self::Named(super::grammar::first_word(name).to_lowercase()),
            // Files of one kind have one grammar, which is as warm for all of them.
            Language::OfFile(path) => Self::OfFile(super::grammar::kind_of_file(path).to_owned()),
        }
    }

    fn known(&self) -> Language<'_> {
        match self {
            Self::Named(name) => Language::Named(name),
            Self::OfFile(path) => Language::OfFile(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_plain_until_it_was_told_and_then_known_by_its_text() {
        let (language, code) = (Language::Named("rust"), "let shelf = 1;\n// told");
        assert!(told(language, code).is_none() && code_waits());
        let before = code_told();
        let mut count = 0;
        tell_waiting(|| count += 1);
        assert!(count > 0);
        assert!(code_told() > before);
        let words = told(language, code).expect("told");
        assert_eq!(words[0][0], (3, Role::Keyword));
        assert_eq!(spans("// told", &words[1])[0].style.role, Role::Comment);
        assert!(is_warm(language) && told(Language::Named("c"), code).is_none());
    }

    #[test]
    fn a_piece_whose_telling_panics_stays_plain_and_costs_no_other() {
        let shelf = Shared::default();
        let named = |language: &str| Tongue::Named(language.into());
        for (at, language, code) in [(0, "c", "int bad = 7;"), (1, "rust", "let good = 7;")] {
            let (key, language) = (Key(at), named(language));
            shelf.lock().ask(Waiting { key, language, code: code.into() });
        }
        let telling = |piece: &Waiting| match piece.code.contains("bad") {
            true => panic!("a fault of the highlighter's"),
            false => words_of(piece),
        };
        let ended = catch_unwind(AssertUnwindSafe(|| shelf.tell(telling, || ())));
        assert!(ended.is_err(), "the fault is told");
        let shelf = shelf.lock();
        assert_eq!(shelf.warm, HashSet::from([named("rust")]));
        assert!(!shelf.at_work && shelf.waiting.is_empty(), "whoever comes next begins anew");
        assert!(shelf.told[&Key(0)].is_empty(), "plain, and not asked for again");
        assert_eq!(shelf.told[&Key(1)][0][0], (3, Role::Keyword));
    }

    #[test]
    fn words_of_another_line_change_no_text() {
        let text = |spans: Vec<Span>| spans.into_iter().map(|span| span.text).collect::<String>();
        for words in [vec![(1, Role::Name)], vec![(2, Role::Name), (900, Role::Type)], Vec::new()] {
            assert_eq!(text(spans("日本 x", &words)), "日本 x");
        }
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut shelf = Shelf::default();
        for at in 0..100 {
            shelf.put(Key(at), vec![vec![(1, Role::Text)]], MOST_KEPT / 10);
            shelf.ask(Waiting { key: Key(at), language: Tongue::Named(String::new()), code: String::new() });
        }
        assert_eq!((shelf.told.len(), shelf.order.len(), shelf.waiting.len()), (10, 10, MOST_WAITING));
        assert!(shelf.told.contains_key(&Key(99)));
    }
}
