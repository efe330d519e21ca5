//! Who tells the words of code apart, and what is asked of them.
//!
//! Grammars at work take some fifteen megabytes a language, which nobody gets back from a process that goes on, and hundreds of
//! milliseconds when a language first appears. So a front end has its code told by another process ([`serve`](super::serve)), which
//! ends when it has nothing to do; [`Here`] does the same work at once.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::limits::{Extent, sent};
use super::{Highlighter, LARGEST_BLOCK, Language, grammar};
use crate::{Role, Span};

/// Threads that are remembered, for code that arrives in several places at once.
const THREADS: usize = 8;

/// The words of a line: so many bytes each, and what they are. What is behind the last of them is nothing in particular.
pub type TokenSpans = Vec<(u32, Role)>;

/// A language, kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum LanguageId {
    Named(String),
    OfFile(String),
}

/// Lines of code whose words are to be told apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HighlightRequest {
    pub(super) language: LanguageId,
    /// What they go on from; `None` for code that is all there.
    pub(super) thread: Option<Thread>,
    /// Clean, without newlines.
    pub(super) lines: Vec<String>,
}

impl HighlightRequest {
    /// Some clean code that is all there; of what is too long the beginning.
    #[must_use]
    pub fn of(language: Language<'_>, code: &str) -> Self {
        let language = LanguageId::of(language);
        let mut extent = Extent::new(&language);
        let lines = code.lines().take_while(|line| extent.takes(line)).map(|line| sent(line).to_owned());
        Self { lines: lines.collect(), language, thread: None }
    }
}

/// Code that arrives bit by bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Thread {
    /// Which it is, for whoever asks.
    pub(super) number: u64,
    /// How many of its lines came before.
    pub(super) from: usize,
}

/// What came of a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HighlightResponse {
    /// The words of each of its lines.
    Words(Vec<TokenSpans>),
    /// What came before it isn't known any more: it has to be told again from the first line on.
    LostThread,
    /// Nobody can tell.
    Failed,
}

/// Tells the words of code apart.
pub trait HighlightBackend {
    /// Tells those of a piece, which may take half a second when its language first appears.
    fn tell(&mut self, piece: &HighlightRequest) -> HighlightResponse;
}

/// Tells words apart in this process.
#[derive(Debug, Default)]
pub struct InProcess {
    /// Where the newest threads are, with the number of lines told of each; the newest last.
    threads: VecDeque<(Thread, Highlighter)>,
}

impl HighlightBackend for InProcess {
    fn tell(&mut self, piece: &HighlightRequest) -> HighlightResponse {
        let Some(mut highlighter) = self.take_up(piece) else { return HighlightResponse::LostThread };
        let told = piece.lines.iter().map(|line| words(&highlighter.line(line))).collect();
        if let Some(Thread { number, from }) = piece.thread {
            self.threads.push_back((Thread { number, from: from + piece.lines.len() }, highlighter));
            if self.threads.len() > THREADS {
                self.threads.pop_front();
            }
        }
        HighlightResponse::Words(told)
    }
}

impl InProcess {
    /// The highlighter where a piece goes on; `None` when it isn't there any more.
    fn take_up(&mut self, piece: &HighlightRequest) -> Option<Highlighter> {
        let begin = || Highlighter::limited(piece.language.known(), LARGEST_BLOCK);
        let Some(wanted) = piece.thread else { return Some(begin()) };
        let at = self.threads.iter().position(|(thread, _)| thread.number == wanted.number);
        let known = at.and_then(|at| self.threads.remove(at)).filter(|(thread, _)| *thread == wanted);
        match (known, wanted.from) {
            (Some((_, highlighter)), _) => Some(highlighter),
            (None, 0) => Some(begin()),
            (None, _) => None,
        }
    }
}

/// The words of a line that was told.
fn words(spans: &[Span]) -> TokenSpans {
    let length = |span: &Span| u32::try_from(span.text.len()).unwrap_or(u32::MAX);
    spans.iter().map(|span| (length(span), span.style.role)).collect()
}

/// A line in its words. Words of another line make other pieces of it, and never another text.
pub(crate) fn spans(line: &str, words: &[(u32, Role)]) -> Vec<Span> {
    let (mut spans, mut rest) = (Vec::with_capacity(words.len()), line);
    for (bytes, role) in words {
        let Some((word, after)) = rest.split_at_checked(*bytes as usize) else { break };
        spans.push(Span::new(word, *role));
        rest = after;
    }
    if !rest.is_empty() {
        spans.push(Span::new(rest, Role::Text));
    }
    spans
}

impl LanguageId {
    pub(crate) fn of(language: Language<'_>) -> Self {
        match language {
            Language::Named(name) => Self::Named(grammar::first_word(name).to_lowercase()),
            // Files of one kind have one grammar.
            Language::OfFile(path) => Self::OfFile(grammar::kind_of_file(path).to_owned()),
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

    fn piece(lines: &[&str], thread: Option<(u64, usize)>) -> HighlightRequest {
        HighlightRequest {
            language: LanguageId::of(Language::Named("c")),
            thread: thread.map(|(number, from)| Thread { number, from }),
            lines: lines.iter().map(|&line| line.to_owned()).collect(),
        }
    }

    fn first_roles(told: HighlightResponse) -> Vec<Role> {
        let HighlightResponse::Words(words) = told else { panic!("{told:?}") };
        words.iter().map(|line| line[0].1).collect()
    }

    #[test]
    fn code_that_arrives_bit_by_bit_is_told_as_if_it_were_all_there() {
        let lines = ["int a; /* one", "two", "three */ int b;", "int c;"];
        let whole = first_roles(InProcess::default().tell(&piece(&lines, None)));
        assert_eq!(whole[1], Role::Comment);
        let (mut here, mut bits) = (InProcess::default(), Vec::new());
        for (at, line) in lines.iter().enumerate() {
            bits.extend(first_roles(here.tell(&piece(&[line], Some((7, at))))));
            // Others are told meanwhile.
            assert_eq!(first_roles(here.tell(&piece(&["int x;"], Some((8 + at as u64, 0)))))[0], whole[3]);
            assert_eq!(first_roles(here.tell(&piece(&["int x;"], None)))[0], whole[3]);
        }
        assert_eq!(bits, whole);
    }

    #[test]
    fn a_thread_that_was_lost_is_begun_anew_by_whoever_asks() {
        let mut here = InProcess::default();
        assert_eq!(here.tell(&piece(&["int b;"], Some((1, 1)))), HighlightResponse::LostThread);
        assert!(matches!(
            here.tell(&piece(&["int a;", "int b;"], Some((1, 0)))),
            HighlightResponse::Words(_)
        ));
        assert_eq!(here.tell(&piece(&["int d;"], Some((1, 3)))), HighlightResponse::LostThread);
        for number in 2..=THREADS as u64 + 2 {
            here.tell(&piece(&["int a;"], Some((number, 0))));
        }
        assert_eq!(
            here.tell(&piece(&["int b;"], Some((2, 1)))),
            HighlightResponse::LostThread,
            "the oldest are forgotten"
        );
        assert!(matches!(here.tell(&piece(&["int b;"], Some((3, 1)))), HighlightResponse::Words(_)));
    }

    #[test]
    fn words_of_another_line_change_no_text() {
        let text = |spans: Vec<Span>| spans.into_iter().map(|span| span.text).collect::<String>();
        for words in [vec![(1, Role::Name)], vec![(2, Role::Name), (900, Role::Type)], Vec::new()] {
            assert_eq!(text(spans("日本 x", &words)), "日本 x");
        }
    }
}
