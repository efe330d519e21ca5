//! Code that arrives line by line: its words are told while it does, and a line is plain until its own are.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Language;
use super::backend::{HighlightRequest, HighlightResponse, LanguageId, Thread, TokenSpans};
use super::cache::{Key, shelf};
use super::limits::{Extent, sent};

/// One block of code that arrives. What was told of it is kept for whoever shows the block as a whole when the last of these is
/// dropped, or before, when it has [ended](Self::end).
#[derive(Clone, Debug)]
pub(crate) struct Arriving(Arc<Number>);

#[derive(Debug)]
struct Number(u64);

impl Arriving {
    /// Before its first line.
    pub(crate) fn begin(language: Language<'_>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        shelf().begins(number, Lines::new(LanguageId::of(language)));
        Self(Arc::new(Number(number)))
    }

    /// Takes the line with this number, from 0, which is clean; its words, if they are told.
    pub(crate) fn line(&self, at: usize, line: &str) -> Option<TokenSpans> {
        shelf().arriving(self.0.0)?.line(at, line)
    }

    /// The words of a line that came.
    pub(crate) fn words(&self, at: usize) -> Option<TokenSpans> {
        // Of one that isn't known any more nothing will be told.
        shelf().arriving(self.0.0).map_or_else(|| Some(TokenSpans::new()), |lines| lines.words(at))
    }

    /// No more lines come.
    pub(crate) fn end(&self) {
        shelf().ended(self.0.0);
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        let mut shelf = shelf();
        shelf.ended(self.0);
        shelf.left(self.0);
    }
}

/// The lines of a block so far.
#[derive(Debug)]
pub(super) struct Lines {
    language: LanguageId,
    extent: Extent,
    /// As far as their words are told at all.
    lines: Vec<String>,
    words: Vec<TokenSpans>,
    has_ended: bool,
    has_failed: bool,
    /// Whether somebody may still ask for a line's words.
    is_held: bool,
}

impl Lines {
    pub(super) fn new(language: LanguageId) -> Self {
        Self {
            extent: Extent::new(&language),
            language,
            lines: Vec::new(),
            words: Vec::new(),
            has_ended: false,
            has_failed: false,
            is_held: true,
        }
    }

    pub(super) fn line(&mut self, at: usize, line: &str) -> Option<TokenSpans> {
        if at == self.lines.len() && self.extent.takes(line) {
            self.lines.push(sent(line).to_owned());
        }
        self.words(at)
    }

    fn words(&self, at: usize) -> Option<TokenSpans> {
        let stays_plain = self.has_failed || at >= self.lines.len();
        self.words.get(at).cloned().or_else(|| stays_plain.then(TokenSpans::new))
    }

    /// Whether lines of it are to be told.
    pub(super) fn waits(&self) -> bool {
        !self.has_failed && self.words.len() < self.lines.len()
    }

    /// Whether nobody asks for it any more, and nothing of it is to be told.
    pub(super) fn is_done(&self) -> bool {
        !self.is_held && !self.waits()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// What of it is to be told.
    pub(super) fn piece(&self, number: u64) -> HighlightRequest {
        let from = self.words.len();
        let thread = Some(Thread { number, from });
        HighlightRequest { language: self.language.clone(), thread, lines: self.lines[from..].to_vec() }
    }

    /// Takes the words of such a piece.
    pub(super) fn told(&mut self, told: HighlightResponse) {
        match told {
            HighlightResponse::Words(words) => self.words.extend(words),
            // From the beginning, then: from there on it can't be lost.
            HighlightResponse::LostThread if !self.words.is_empty() => self.words.clear(),
            HighlightResponse::LostThread | HighlightResponse::Failed => self.has_failed = true,
        }
    }

    /// No more lines come; whether that is new.
    pub(super) fn end(&mut self) -> bool {
        !std::mem::replace(&mut self.has_ended, true)
    }

    /// Nobody asks for it any more.
    pub(super) fn leave(&mut self) {
        self.is_held = false;
    }

    /// How all of it is known again, the words so far, and the bytes of it.
    pub(super) fn known(&self) -> (Key, Vec<TokenSpans>, usize) {
        (self.extent.key(), self.words.clone(), self.extent.bytes())
    }
}
