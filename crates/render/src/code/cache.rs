//! What the words of code were told to be, kept for whoever shows that code again, and code that waits to be told.
//!
//! Reading grammars takes tens of milliseconds, their patterns hundreds when a language first appears, and a line a quarter of one:
//! nothing for a frame. So a frame takes from here what is known, shows the rest plain and leaves it here, and
//! [`tell_waiting`] does the work wherever it is called. There is one shelf a process; what is on it can always be had again.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use super::Language;
use super::backend::{HighlightBackend, HighlightRequest, HighlightResponse, LanguageId, TokenSpans};
use super::limits::Extent;
use super::streaming::Lines;

/// Bytes of code whose words are kept: what many screens hold.
const MOST_KEPT: usize = 1024 * 1024;

/// Pieces of code that wait at most; the oldest are forgotten, and asked for again when they are shown again.
const MOST_WAITING: usize = 64;

/// How some code is known again: by its language and its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key(pub(super) u64);

/// Code that is there as a whole and waits to be told.
#[derive(Debug)]
struct Waiting {
    key: Key,
    piece: HighlightRequest,
    bytes: usize,
}

/// What is told next.
enum Task {
    Whole(Waiting),
    /// Some lines of what arrives under this number.
    Arriving(u64, HighlightRequest),
}

#[derive(Debug, Default)]
pub(super) struct HighlightCache {
    told: HashMap<Key, Arc<Vec<TokenSpans>>>,
    /// Oldest first, with the bytes of their code.
    order: VecDeque<(Key, usize)>,
    kept: usize,
    waiting: VecDeque<Waiting>,
    /// Code that arrives, and what has arrived and isn't told to its end.
    arriving: BTreeMap<u64, Lines>,
    /// How often something was told that may have been laid out plain.
    version: u64,
    /// Whether somebody is at it.
    at_work: bool,
}

/// A shelf for whoever comes.
#[derive(Debug, Default)]
struct Shared {
    shelf: Mutex<HighlightCache>,
    /// Held by whoever tells: two at once would tell the same lines.
    work: Mutex<()>,
}

static SHELF: LazyLock<Shared> = LazyLock::new(Shared::default);

pub(super) fn shelf() -> MutexGuard<'static, HighlightCache> {
    SHELF.lock()
}

/// Whether some code waits until its words are told apart, and nobody is at it. It was shown plain; [`tell_waiting`] changes that.
#[must_use]
pub fn code_waits() -> bool {
    shelf().waits()
}

/// How often the words of some code were told apart: what was laid out when it was another number may look otherwise now. What
/// still arrives doesn't count: [`MarkdownStream::settle`](crate::MarkdownStream::settle) looks for it.
#[must_use]
pub fn code_told() -> u64 {
    shelf().version
}

/// Has `teller` tell apart the words of all code that waits, and asks `told` after each piece of it whether to go on. A piece may take
/// half a second: this belongs where nobody waits for it.
///
/// # Panics
///
/// When a piece made the teller panic: that piece stays plain, and the panic goes on when all the others are told.
pub fn tell_waiting(teller: &mut impl HighlightBackend, told: impl FnMut() -> ControlFlow<()>) {
    SHELF.tell(teller, told);
}

/// The words of some clean code; `None` leaves it here to be told.
pub(super) fn told(language: Language<'_>, code: &str) -> Option<Arc<Vec<TokenSpans>>> {
    SHELF.told(language, code)
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, HighlightCache> {
        // Whoever panicked meanwhile left at worst something untold.
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The words of some clean code; `None` leaves it here to be told.
    fn told(&self, language: Language<'_>, code: &str) -> Option<Arc<Vec<TokenSpans>>> {
        let extent = Extent::of(&LanguageId::of(language), code);
        let key = extent.key();
        let mut shelf = self.lock();
        let known = shelf.told.get(&key).map(Arc::clone);
        if known.is_none() && !shelf.is_asked(key) {
            shelf.ask(Waiting { key, piece: HighlightRequest::of(language, code), bytes: extent.bytes() });
        }
        known
    }

    /// Tells all that waits. A piece whose telling panics costs only itself; the panic goes on when the others are told.
    fn tell(&self, teller: &mut impl HighlightBackend, mut told: impl FnMut() -> ControlFlow<()>) {
        let _work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        let mut fault = None;
        loop {
            // The shelf is free again before the work begins: frames look at it meanwhile.
            let next = self.lock().next_task();
            let Some(task) = next else { break };
            // Nothing that was in the making is seen later: the words of a piece are its own.
            let came = catch_unwind(AssertUnwindSafe(|| teller.tell(task.piece())));
            let came = came.unwrap_or_else(|panic| {
                fault = Some(panic);
                HighlightResponse::Failed
            });
            self.lock().take(task, came);
            if told().is_break() {
                self.lock().at_work = false;
                break;
            }
        }
        if let Some(panic) = fault {
            resume_unwind(panic);
        }
    }
}

impl Task {
    fn piece(&self) -> &HighlightRequest {
        match self {
            Self::Whole(waiting) => &waiting.piece,
            Self::Arriving(_, piece) => piece,
        }
    }
}

impl HighlightCache {
    /// Whether something is to be told, and nobody is at it.
    fn waits(&self) -> bool {
        !self.at_work && (!self.waiting.is_empty() || self.arriving.values().any(Lines::waits))
    }

    /// What arrives is looked at, so it comes first.
    fn next_task(&mut self) -> Option<Task> {
        let arriving = self.arriving.iter().find(|(_, lines)| lines.waits());
        let task = arriving.map(|(&number, lines)| Task::Arriving(number, lines.piece(number)));
        let task = task.or_else(|| self.waiting.pop_front().map(Task::Whole));
        self.at_work = task.is_some();
        task
    }

    fn take(&mut self, task: Task, told: HighlightResponse) {
        match (task, told) {
            (Task::Whole(Waiting { key, bytes, .. }), told) => {
                // Without words it is plain, and isn't asked for again.
                let words = if let HighlightResponse::Words(words) = told { words } else { Vec::new() };
                self.put(key, words, bytes);
                self.version += 1;
            }
            (Task::Arriving(number, _), told) => {
                let Some(lines) = self.arriving.get_mut(&number) else { return };
                lines.told(told);
                if lines.has_ended() && !lines.waits() {
                    let (key, words, bytes) = lines.known();
                    self.put(key, words, bytes);
                    self.version += 1;
                }
                self.forget_if_done(number);
            }
        }
    }

    /// Some code begins to arrive.
    pub(super) fn begins(&mut self, number: u64, lines: Lines) {
        self.arriving.insert(number, lines);
    }

    pub(super) fn arriving(&mut self, number: u64) -> Option<&mut Lines> {
        self.arriving.get_mut(&number)
    }

    /// All of it is there: it may be asked for as a whole from now on, though the last lines' words may come later.
    pub(super) fn ended(&mut self, number: u64) {
        let Some(lines) = self.arriving.get_mut(&number) else { return };
        if lines.end() {
            let (key, words, bytes) = lines.known();
            self.put(key, words, bytes);
        }
    }

    /// Nobody asks for its lines any more.
    pub(super) fn left(&mut self, number: u64) {
        if let Some(lines) = self.arriving.get_mut(&number) {
            lines.leave();
        }
        self.forget_if_done(number);
    }

    fn forget_if_done(&mut self, number: u64) {
        if self.arriving.get(&number).is_some_and(Lines::is_done) {
            self.arriving.remove(&number);
        }
    }

    fn is_asked(&self, key: Key) -> bool {
        self.waiting.iter().any(|other| other.key == key)
    }

    fn ask(&mut self, waiting: Waiting) {
        if self.waiting.len() == MOST_WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back(waiting);
    }

    fn put(&mut self, key: Key, words: Vec<TokenSpans>, bytes: usize) {
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
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::backend::{InProcess, spans};
    use super::super::streaming::Arriving;
    use super::*;
    use crate::Role;

    /// Tells words apart, but falls over what is bad.
    struct Clumsy(InProcess);

    impl HighlightBackend for Clumsy {
        fn tell(&mut self, piece: &HighlightRequest) -> HighlightResponse {
            assert!(!piece.lines.iter().any(|line| line.contains("bad")), "a fault of the highlighter's");
            self.0.tell(piece)
        }
    }

    fn waiting(at: u64, language: &str, code: &str) -> Waiting {
        let language = LanguageId::Named(language.into());
        let lines = code.lines().map(str::to_owned).collect();
        Waiting { key: Key(at), piece: HighlightRequest { language, thread: None, lines }, bytes: code.len() }
    }

    fn go_on() -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn tell(shelf: &Shared) {
        shelf.tell(&mut InProcess::default(), go_on);
    }

    #[test]
    fn code_is_plain_until_it_was_told_and_then_known_by_its_text() {
        let shelf = Shared::default();
        let (language, code) = (Language::Named("rust"), "let shelf = 1;\n// told");
        assert!(shelf.told(language, code).is_none() && shelf.lock().waits());
        let mut count = 0;
        shelf.tell(&mut InProcess::default(), || {
            count += 1;
            ControlFlow::Continue(())
        });
        assert_eq!((count, shelf.lock().version), (1, 1));
        let words = shelf.told(language, code).expect("told");
        assert_eq!(words[0][0], (3, Role::Keyword));
        assert_eq!(spans("// told", &words[1])[0].style.role, Role::Comment);
        assert!(!shelf.lock().waits() && shelf.told(Language::Named("c"), code).is_none());
    }

    #[test]
    fn a_piece_whose_telling_panics_stays_plain_and_costs_no_other() {
        let shelf = Shared::default();
        shelf.lock().ask(waiting(0, "c", "int bad = 7;"));
        shelf.lock().ask(waiting(1, "rust", "let good = 7;"));
        let telling = || shelf.tell(&mut Clumsy(InProcess::default()), go_on);
        assert!(catch_unwind(AssertUnwindSafe(telling)).is_err(), "the fault is told");
        let shelf = shelf.lock();
        assert!(!shelf.at_work && shelf.waiting.is_empty(), "whoever comes next begins anew");
        assert!(shelf.told[&Key(0)].is_empty(), "plain, and not asked for again");
        assert_eq!(shelf.told[&Key(1)][0][0], (3, Role::Keyword));
    }

    #[test]
    fn lines_are_told_as_they_arrive_and_the_whole_is_known_when_they_are_all_there() {
        let shelf = Shared::default();
        shelf.lock().begins(1, Lines::new(LanguageId::Named("rust".into())));
        let line = |at, text| shelf.lock().arriving(1).expect("there").line(at, text);
        assert_eq!(line(0, "/* it arrives"), None);
        assert!(shelf.lock().waits());
        tell(&shelf);
        // It is said once more, on another page.
        assert_eq!(line(0, "/* it arrives").expect("told")[0].1, Role::Comment);
        assert_eq!(line(1, "bit by bit */"), None);
        shelf.lock().ended(1);
        let (language, code) = (Language::Named("rust"), "/* it arrives\nbit by bit */\n");
        assert_eq!(shelf.told(language, code).expect("the first line's words").len(), 1);
        assert_eq!(shelf.lock().version, 0);
        tell(&shelf);
        assert_eq!(shelf.lock().version, 1, "it was laid out with a plain line");
        assert_eq!(shelf.told(language, code).expect("told")[1][0].1, Role::Comment);
        assert_eq!(line(1, "").expect("still to be had")[0].1, Role::Comment);
        shelf.lock().left(1);
        assert!(shelf.lock().arriving.is_empty());
    }

    #[test]
    fn code_that_nobody_watches_any_more_is_told_to_its_end_and_forgotten() {
        let arriving = Arriving::begin(Language::Named("rust"));
        arriving.line(0, "let nobody_watches = 1;");
        drop(arriving);
        // Another test may tell it, too.
        tell_waiting(&mut InProcess::default(), go_on);
        let words = told(Language::Named("rust"), "let nobody_watches = 1;").expect("told");
        assert_eq!(words[0][0].1, Role::Keyword);
        assert!(!shelf().arriving.values().any(Lines::is_done));
    }

    #[test]
    fn a_lost_thread_is_taken_up_from_its_beginning_and_a_failing_one_stays_plain() {
        let shelf = Shared::default();
        shelf.lock().begins(1, Lines::new(LanguageId::Named("rust".into())));
        let line = |at, text| shelf.lock().arriving(1).expect("there").line(at, text);
        line(0, "/* one");
        tell(&shelf);
        line(1, "two */");
        // Another teller, as after a rest.
        tell(&shelf);
        assert_eq!(line(1, "").expect("told")[0].1, Role::Comment);

        struct Failing(AtomicUsize);
        impl HighlightBackend for Failing {
            fn tell(&mut self, _: &HighlightRequest) -> HighlightResponse {
                self.0.fetch_add(1, Ordering::Relaxed);
                HighlightResponse::Failed
            }
        }
        line(2, "let");
        let mut failing = Failing(AtomicUsize::new(0));
        shelf.tell(&mut failing, go_on);
        assert_eq!(line(2, ""), Some(TokenSpans::new()));
        assert_eq!(line(3, "let"), Some(TokenSpans::new()), "nor is it tried again");
        shelf.tell(&mut failing, go_on);
        assert_eq!(failing.0.into_inner(), 1);
        assert_eq!(line(1, "").expect("told before")[0].1, Role::Comment);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut shelf = HighlightCache::default();
        for at in 0..100 {
            shelf.put(Key(at), vec![vec![(1, Role::Text)]], MOST_KEPT / 10);
            shelf.ask(waiting(at, "", ""));
        }
        assert_eq!((shelf.told.len(), shelf.order.len(), shelf.waiting.len()), (10, 10, MOST_WAITING));
        assert!(shelf.told.contains_key(&Key(99)));
    }
}
