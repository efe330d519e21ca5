//! An open code block of a streaming answer, and its lines that await highlighting.

use std::ops::Range;

use crate::code::streaming::StreamingCode;
use crate::code::{self, Highlighter, backend};
use crate::markdown::with_wrap_marks;
use crate::sanitize::with_source_marks;
use crate::{ControlChars, Line, Role, Span, sanitize};

#[derive(Clone, Debug)]
pub(super) struct CodeBlock {
    /// The character that its fence consists of.
    fence_mark: char,
    fence_length: usize,
    /// The role of code that isn't highlighted.
    pub(super) role: Role,
    pub(super) highlighting: BlockHighlighting,
    /// The number of finished lines.
    pub(super) lines: usize,
    /// Byte index of the unfinished line; its first rows may be finished.
    pub(super) line_start: usize,
}

/// The highlighter of an open code block.
#[derive(Clone, Debug)]
pub(super) enum BlockHighlighting {
    Off,
    Immediate(Highlighter),
    Background(StreamingCode),
}

/// A finished line that awaits highlighting.
#[derive(Clone, Debug)]
pub(super) struct PlainLine {
    pub(super) block: StreamingCode,
    /// Its index in the block.
    pub(super) line: usize,
    pub(super) source: String,
    /// Its rows among the finished lines.
    pub(super) rows: Range<usize>,
}

/// Lays out a complete line of code in rows.
pub(super) fn rows(spans: Vec<Span>, source: &str, width: usize) -> Vec<Line> {
    with_wrap_marks(code::code_line(&with_source_marks(spans, source), width))
}

impl CodeBlock {
    /// Creates the block whose opening fence is `line`; its code begins at `start`.
    pub(super) fn open(line: &str, role: Role, highlighting: BlockHighlighting, start: usize) -> Self {
        let fence = line.trim_start();
        let fence_mark = if fence.starts_with('~') { '~' } else { '`' };
        let fence_length = fence.len() - fence.trim_start_matches(fence_mark).len();
        Self { fence_mark, fence_length, role, highlighting, lines: 0, line_start: start }
    }

    /// Returns true if the rest of a line may turn out to be the closing fence.
    pub(super) fn may_be_closed_by(&self, rest: &str) -> bool {
        rest.trim().chars().all(|c| c == self.fence_mark)
    }

    /// Highlights the next complete line, or adds it to the lines to highlight in the background.
    pub(super) fn highlight_line(&mut self, line: &str) -> Vec<Span> {
        match &mut self.highlighting {
            BlockHighlighting::Immediate(highlighter) => return highlighter.line(line),
            BlockHighlighting::Background(block) => block.add_line(self.lines, line),
            BlockHighlighting::Off => {}
        }
        code::plain(line, self.role)
    }

    /// Returns true if a complete line is the closing fence.
    pub(super) fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim_end();
        let fence = line.trim_start_matches(' ');
        line.len() - fence.len() < 4
            && fence.len() >= self.fence_length
            && fence.chars().all(|c| c == self.fence_mark)
    }
}

impl PlainLine {
    /// Returns the highlighted rows for a layout of this width, if the highlighting has arrived.
    pub(super) fn highlighted(&self, width: usize) -> Option<Vec<Line>> {
        let tokens = self.block.tokens(self.line)?;
        let spans = backend::spans(&sanitize(&self.source, ControlChars::Visible), &tokens);
        Some(rows(spans, &self.source, width))
    }
}

impl BlockHighlighting {
    /// Ends the block; returns the remaining budget. Background highlighting is cached for the final layout
    /// of the answer.
    pub(super) fn end(self, remaining_bytes: usize) -> usize {
        match self {
            Self::Immediate(highlighter) => return highlighter.remaining_bytes(),
            Self::Background(block) => block.end(),
            Self::Off => {}
        }
        remaining_bytes
    }
}
