//! The lines of a streaming code block, and their highlighting so far.

use super::backend::{HighlightRequest, HighlightResponse, StreamPosition, TokenSpans};
use super::language::LanguageId;
use super::limits::{CacheKey, HighlightedPrefix, truncated};

#[derive(Debug)]
pub(super) struct StreamingLines {
    language: LanguageId,
    prefix: HighlightedPrefix,
    /// The lines within the size limits.
    lines: Vec<String>,
    tokens: Vec<TokenSpans>,
    has_ended: bool,
    has_failed: bool,
    /// True while a handle exists.
    is_held: bool,
}

impl StreamingLines {
    pub(super) fn new(language: LanguageId) -> Self {
        Self {
            prefix: HighlightedPrefix::new(&language),
            language,
            lines: Vec::new(),
            tokens: Vec::new(),
            has_ended: false,
            has_failed: false,
            is_held: true,
        }
    }

    pub(super) fn add_line(&mut self, at: usize, line: &str) {
        if at == self.lines.len() && self.prefix.add(line) {
            self.lines.push(truncated(line).to_owned());
        }
    }

    pub(super) fn tokens(&self, at: usize) -> Option<TokenSpans> {
        let stays_plain = self.has_failed || at >= self.lines.len();
        self.tokens.get(at).cloned().or_else(|| stays_plain.then(TokenSpans::new))
    }

    /// Returns true if lines await highlighting.
    pub(super) fn has_work(&self) -> bool {
        !self.has_failed && self.tokens.len() < self.lines.len()
    }

    /// Returns true if the block is unused and has no lines that await highlighting.
    pub(super) fn is_done(&self) -> bool {
        !self.is_held && !self.has_work()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Returns the request for the lines that await highlighting.
    pub(super) fn request(&self, number: u64) -> HighlightRequest {
        let first = self.tokens.len();
        let stream = Some(StreamPosition { number, from: first });
        HighlightRequest { language: self.language.clone(), stream, lines: self.lines[first..].to_vec() }
    }

    /// Stores the response to such a request.
    pub(super) fn store_response(&mut self, response: HighlightResponse) {
        match response {
            HighlightResponse::Tokens(tokens) => self.tokens.extend(tokens),
            // Start again from the first line, which depends on no earlier state.
            HighlightResponse::StateLost if !self.tokens.is_empty() => self.tokens.clear(),
            HighlightResponse::StateLost | HighlightResponse::Failed => self.has_failed = true,
        }
    }

    /// Marks the block as ended; returns true the first time.
    pub(super) fn end(&mut self) -> bool {
        !std::mem::replace(&mut self.has_ended, true)
    }

    /// Marks the block as unused.
    pub(super) fn release(&mut self) {
        self.is_held = false;
    }

    /// Returns the cache key, the token spans so far, and the size in bytes.
    pub(super) fn cache_entry(&self) -> (CacheKey, Vec<TokenSpans>, usize) {
        (self.prefix.key(), self.tokens.clone(), self.prefix.bytes())
    }
}
