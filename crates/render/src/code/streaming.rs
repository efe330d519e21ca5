//! Streaming code blocks, highlighted line by line. A line is plain until its highlighting arrives.

use std::sync::Arc;

use super::backend::TokenSpans;
use super::cache::HighlightCache;
use super::language::{Language, LanguageId};
use super::streaming_lines::StreamingLines;

/// A handle to a streaming code block. The highlighting moves to the cache when the last handle is dropped,
/// or when the block [ends](Self::end).
#[derive(Clone, Debug)]
pub(crate) struct StreamingCode(Arc<StreamingBlock>);

/// A block in its cache.
#[derive(Debug)]
struct StreamingBlock {
    cache: HighlightCache,
    number: u64,
}

impl StreamingCode {
    /// Starts a block without lines.
    pub(crate) fn start(cache: &HighlightCache, language: Language<'_>) -> Self {
        let number = cache.lock().add_streaming(StreamingLines::new(LanguageId::new(language)));
        Self(Arc::new(StreamingBlock { cache: cache.clone(), number }))
    }

    /// Adds the sanitized line with this index, unless the block has it.
    pub(crate) fn add_line(&self, at: usize, line: &str) {
        if let Some(lines) = self.0.cache.lock().streaming(self.0.number) {
            lines.add_line(at, line);
        }
    }

    /// Returns the token spans of a line; `None` if it awaits highlighting.
    pub(crate) fn tokens(&self, at: usize) -> Option<TokenSpans> {
        // A block that the cache has dropped is never highlighted.
        let mut cache = self.0.cache.lock();
        cache.streaming(self.0.number).map_or_else(|| Some(TokenSpans::new()), |lines| lines.tokens(at))
    }

    /// Marks the block as complete.
    pub(crate) fn end(&self) {
        self.0.cache.lock().end_streaming(self.0.number);
    }
}

impl Drop for StreamingBlock {
    fn drop(&mut self) {
        let mut cache = self.cache.lock();
        cache.end_streaming(self.number);
        cache.release(self.number);
    }
}
