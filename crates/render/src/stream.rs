//! Rendering of streaming Markdown.
//!
//! The text up to the last top-level block is finished: its lines are kept, and it isn't parsed again. The
//! last block is rendered again whenever lines are requested; of an open code block, only the last line (see
//! `code_lines`). A huge block or line is finished in parts of equal size, so that the cost of a frame stays
//! flat. Text whose meaning depends on later text (a fence, a table's head) is held back, so that it doesn't
//! appear and then vanish.

mod code_block;
mod code_lines;
mod continuation;
mod incomplete;

use std::collections::{BTreeMap, VecDeque};

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

use self::code_block::{CodeBlock, PlainLine};
use self::continuation::Continuation;
use self::incomplete::line_start;
use super::code::streaming::StreamingCode;
use super::markdown::{options, render_part, render_transient};
use super::{LayoutOptions, Line, code};

/// Size, in bytes, of the parts in which a huge block is finished. Most blocks are smaller. After a larger
/// part, a paragraph or line of code continues in its last row, but other blocks look as in the source until
/// the answer is complete; so a part must be large enough for a table.
const MAX_PART_BYTES: usize = 8 * 1024;

/// Size, in bytes, of the text that is searched for blocks first. Otherwise a backlog of many small code
/// blocks would require a search of a full part for each block.
const NEAR_BYTES: usize = 1024;

/// Maximum number of bytes parsed at a time, some milliseconds of work; a backlog is processed over several
/// frames.
const MAX_BYTES_AT_ONCE: usize = 128 * 1024;

/// Markdown text that is appended to.
#[derive(Clone, Debug)]
pub struct MarkdownStream {
    text: String,
    layout: LayoutOptions,
    /// Lines that won't change.
    finished: Vec<Line>,
    /// Byte index of the unfinished text.
    unfinished: usize,
    continues: Continuation,
    /// The open code block.
    code: Option<CodeBlock>,
    /// Code blocks that are highlighted in the background, by their start in the text. Kept when the text is
    /// laid out again.
    background: BTreeMap<usize, StreamingCode>,
    /// Finished lines that await highlighting, oldest first.
    plain: VecDeque<PlainLine>,
    /// Remaining budget for highlighting, in bytes, not counting the blocks above.
    highlight_budget: usize,
    tail: Vec<Line>,
    is_stale: bool,
}

/// Renders a preview of Markdown that may be incomplete: code stays plain, and marks that are open at the end
/// are closed.
#[must_use]
pub fn preview(text: &str, layout: impl Into<LayoutOptions>) -> Vec<Line> {
    render_transient(&incomplete::close_open_marks(text), &layout.into())
}

impl MarkdownStream {
    /// Creates an empty stream.
    #[must_use]
    pub fn new(layout: impl Into<LayoutOptions>) -> Self {
        let layout = layout.into();
        let highlight_budget = code::max_answer_bytes(&layout.rendering.code);
        Self {
            text: String::new(),
            layout,
            finished: Vec::new(),
            unfinished: 0,
            continues: Continuation::Nothing,
            code: None,
            background: BTreeMap::new(),
            plain: VecDeque::new(),
            highlight_budget,
            tail: Vec::new(),
            is_stale: false,
        }
    }

    /// Appends text. Costs no more than copying it.
    pub fn push(&mut self, piece: &str) {
        self.text.push_str(piece);
        self.is_stale = true;
    }

    /// Returns all text so far.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Changes the layout, and lays out all text again.
    pub fn set_layout(&mut self, layout: impl Into<LayoutOptions>) {
        let layout = layout.into();
        if layout != self.layout {
            let text = std::mem::take(&mut self.text);
            let background = std::mem::take(&mut self.background);
            *self = Self { background, ..Self::new(layout) };
            self.push(&text);
        }
    }

    /// Updates the lines, or only some of them if there is much text:
    /// [`has_pending_text`](Self::has_pending_text) then returns true.
    pub fn update_lines(&mut self) {
        if std::mem::take(&mut self.is_stale) {
            let end = self.text.floor_char_boundary(self.unfinished + MAX_BYTES_AT_ONCE);
            while self.finish_part(end) {}
            self.tail = self.render_tail(end);
            self.is_stale = end < self.text.len();
        }
        self.highlight_plain_lines();
    }

    /// Returns true if the lines don't show all of the text yet.
    #[must_use]
    pub fn has_pending_text(&self) -> bool {
        self.is_stale
    }

    /// Iterates over the lines as of the last [`update_lines`](Self::update_lines).
    pub fn lines(&self) -> impl Iterator<Item = &Line> {
        self.finished.iter().chain(&self.tail)
    }

    /// The number of lines.
    #[must_use]
    pub fn len(&self) -> usize {
        self.finished.len() + self.tail.len()
    }

    /// Returns true if there are no lines.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of finished lines, which change only by highlighting.
    #[must_use]
    pub fn finished(&self) -> usize {
        self.finished.len()
    }

    /// The line at this index.
    #[must_use]
    pub fn line(&self, at: usize) -> Option<&Line> {
        self.finished.get(at).or_else(|| self.tail.get(at.checked_sub(self.finished.len())?))
    }

    /// Finishes the next part of the text before `end`. Returns false if only the last block, or the last
    /// line of an open code block, remains.
    fn finish_part(&mut self, end: usize) -> bool {
        match self.code.take() {
            Some(block) => self.finish_code(block, end),
            None => self.finish_blocks(end),
        }
    }

    /// Finishes the blocks before the last one or the first code block, enters that code block, or finishes
    /// the beginning of a huge block.
    fn finish_blocks(&mut self, end: usize) -> bool {
        let limit = self.text.floor_char_boundary(end.min(self.unfinished + MAX_PART_BYTES));
        let part = self.part(limit);
        // Incomplete lines are misleading: `|` alone ends a table that `| 1 |` would continue.
        let complete = &part[..line_start(&part, part.len())];
        let near = line_start(complete, complete.floor_char_boundary(NEAR_BYTES));
        let near_block = last_block(&complete[..near]).filter(TopBlock::completes_previous_blocks);
        match near_block.or_else(|| last_block(complete)) {
            Some(TopBlock { start: 0, kind: MarkdownBlockKind::Fence(language), .. }) => {
                self.enter_code(&language)
            }
            Some(block) if block.start > 0 => {
                self.finish(&part[..block.start]);
                if let MarkdownBlockKind::Fence(language) = block.kind {
                    self.enter_code(&language);
                }
            }
            block if limit < end => self.finish_beginning(&part, block.or_else(|| last_block(&part))),
            _ => return false,
        }
        true
    }

    /// Finishes the beginning of a huge block, up to its last item, line or word. A paragraph's last row is
    /// left open, because the next text continues it.
    fn finish_beginning(&mut self, part: &str, block: Option<TopBlock>) {
        let from = part.ceil_char_boundary(self.continues.placeholder().len() + 1);
        let last = |c: char| part[from..].rfind(c).map(|at| from + at);
        let split = last('\n').or_else(|| last(' ')).unwrap_or(part.len());
        let next = part.len().min(split + 1);
        let is_hard_break = part[..next].ends_with("  \n") || part[..next].ends_with("\\\n");
        if matches!(block, Some(TopBlock { kind: MarkdownBlockKind::Paragraph, .. })) && !is_hard_break {
            self.finish(&part[..split]);
            self.reopen_row();
        } else {
            let last_item = block.and_then(|block| block.last_item);
            self.finish(&part[..last_item.unwrap_or(next)]);
            self.continues = Continuation::Block;
        }
    }

    /// Finishes the beginning of the unfinished [`part`](Self::part).
    fn finish(&mut self, part: &str) {
        let placeholder = self.continues.placeholder().len();
        let lines = render_part(part, &self.layout, &mut self.highlight_budget);
        let lines = self.continues.with_row(lines);
        if !lines.is_empty() {
            self.gap();
            self.finished.extend(lines);
        }
        self.continues = Continuation::Nothing;
        self.unfinished += part.len() - placeholder;
    }

    /// Reopens the last finished row, so that the next text continues it.
    fn reopen_row(&mut self) {
        let row = self.finished.pop_if(|row| row.width() > 0);
        self.continues = row.map_or(Continuation::Block, Continuation::Row);
    }

    /// Adds a blank line, unless the same block continues.
    fn gap(&mut self) {
        if self.continues == Continuation::Nothing && !self.finished.is_empty() {
            self.finished.push(Line::default());
        }
    }

    /// Returns the unfinished text before `end`, after a placeholder for the row that it continues.
    fn part(&self, end: usize) -> String {
        self.continues.placeholder() + &self.text[self.unfinished..end]
    }

    fn render_tail(&self, end: usize) -> Vec<Line> {
        if let Some(block) = &self.code {
            return self.tail_of_code(block, end);
        }
        let part = self.part(end);
        let lines = render_transient(&incomplete::shown_part(&part), &self.layout);
        let mut lines = self.continues.with_row(lines);
        if !lines.is_empty() && !self.finished.is_empty() && self.continues == Continuation::Nothing {
            lines.insert(0, Line::default());
        }
        lines
    }
}

struct TopBlock {
    start: usize,
    kind: MarkdownBlockKind,
    /// The start of the last item of a list, if it has several.
    last_item: Option<usize>,
}

enum MarkdownBlockKind {
    Paragraph,
    /// Fenced code, with its language.
    Fence(String),
    Other,
}

/// Finds the last top-level block of a string, or the first one with fenced code.
fn last_block(text: &str) -> Option<TopBlock> {
    let (mut depth, mut last) = (0_usize, None::<TopBlock>);
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        // The indentation belongs to the block, because it may be code.
        let start = || line_start(text, range.start);
        match (&event, &mut last) {
            (Event::Start(_) | Event::Rule, _) if depth == 0 => {
                let kind = MarkdownBlockKind::of(&event);
                let block = last.insert(TopBlock { start: start(), kind, last_item: None });
                if matches!(block.kind, MarkdownBlockKind::Fence(_)) {
                    break;
                }
            }
            (Event::Start(Tag::Item), Some(list)) if depth == 1 => {
                list.last_item = Some(start()).filter(|start| *start > list.start);
            }
            _ => {}
        }
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            _ => {}
        }
    }
    last
}

impl TopBlock {
    /// Returns true if the blocks before this one can be finished, or if it is code, which must be entered.
    fn completes_previous_blocks(&self) -> bool {
        self.start > 0 || matches!(self.kind, MarkdownBlockKind::Fence(_))
    }
}

impl MarkdownBlockKind {
    fn of(event: &Event<'_>) -> Self {
        match event {
            Event::Start(Tag::Paragraph) => Self::Paragraph,
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                Self::Fence(language.to_string())
            }
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests;
