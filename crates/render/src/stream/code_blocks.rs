//! The code blocks of a streaming answer that are highlighted in the background.

use std::collections::VecDeque;
use std::ops::Range;

use crate::code::streaming::StreamingCode;
use crate::code::{self, backend};
use crate::markdown::with_wrap_marks;
use crate::sanitize::with_source_marks;
use crate::{ControlChars, HighlightCache, Language, Line, sanitize};

/// The code blocks of an answer, and the lines that await highlighting.
#[derive(Clone, Debug, Default)]
pub(super) struct BackgroundBlocks {
    /// With the start of each block in the text; kept when the text is laid out again.
    blocks: Vec<(usize, StreamingCode)>,
    /// Finished lines that await highlighting, oldest first.
    plain: VecDeque<PlainLine>,
}

#[derive(Clone, Debug)]
struct PlainLine {
    block: StreamingCode,
    /// Its index in the block.
    line: usize,
    /// The source line.
    source: String,
    /// Its rows among the finished lines.
    rows: Range<usize>,
}

impl BackgroundBlocks {
    /// The block that begins at `from` in the text.
    pub(super) fn start_block(
        &mut self,
        from: usize,
        cache: &HighlightCache,
        language: Language<'_>,
    ) -> StreamingCode {
        if let Some((_, block)) = self.blocks.iter().find(|(begins, _)| *begins == from) {
            return block.clone();
        }
        let block = StreamingCode::start(cache, language);
        self.blocks.push((from, block.clone()));
        block
    }

    /// Keeps the blocks for another layout of the same text.
    pub(super) fn reset(self) -> Self {
        Self { plain: VecDeque::new(), ..self }
    }

    /// Adds a finished line that awaits highlighting.
    pub(super) fn add_plain_line(
        &mut self,
        block: StreamingCode,
        line: usize,
        source: String,
        rows: Range<usize>,
    ) {
        self.plain.push_back(PlainLine { block, line, source, rows });
    }

    /// Updates the lines whose highlighting has arrived.
    pub(super) fn update(&mut self, finished: &mut [Line], width: usize) {
        while let Some(first) = self.plain.front()
            && let Some(tokens) = first.block.tokens(first.line)
        {
            let line = sanitize(&first.source, ControlChars::Visible);
            let highlighted = with_source_marks(backend::spans(&line, &tokens), &first.source);
            let rows = with_wrap_marks(code::code_line(&highlighted, width));
            // Highlighting doesn't change line breaks; if it did, the line stays plain.
            if let Some(plain) =
                finished.get_mut(first.rows.clone()).filter(|plain| plain.len() == rows.len())
            {
                plain.clone_from_slice(&rows);
            }
            self.plain.pop_front();
        }
    }
}
