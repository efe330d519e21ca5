//! Rendering of streaming Markdown.
//!
//! A block that is followed by another one is finished: its lines are kept and its text isn't parsed again.
//! Only the last block is rendered again when lines are requested; of an open code block, only the last line,
//! which is highlighted once it is complete, as are code blocks inside lists and quotes. With background
//! highlighting a line is plain until the result arrives. Text whose meaning depends on what follows (a fence,
//! a table's head) is held back rather than shown and taken away.

mod code_blocks;
mod incomplete;
mod long_word;
mod paragraph;

use std::borrow::Cow;

use pulldown_cmark::{Event, Parser, Tag};

use self::code_blocks::BackgroundBlocks;
use super::code::Highlighter;
use super::code::backend;
use super::code::streaming::StreamingCode;
use super::markdown::{options, render_part, render_transient, with_wrap_marks};
use super::sanitize::{sanitized_spans, with_source_marks};
use super::{ControlChars, Highlighting, Language, LayoutOptions, Line, Role, Span, Wrap, code, sanitize};

/// Maximum size in bytes of an unfinished block; a larger one is finished at a line's end, so that rendering
/// stays cheap. Most blocks are smaller. A larger paragraph continues in its last row; lines of a larger quote
/// break as in the source until the answer is complete.
const MAX_BLOCK_BYTES: usize = 2 * 1024;

/// The same for a line without end, finished at a space; for code, at the end of a row.
const MAX_LINE_BYTES: usize = 4 * 1024;

/// The same for a block that can't be split without changing its meaning: a table.
const MAX_TABLE_BYTES: usize = 16 * 1024;

/// Maximum number of bytes parsed at once, some milliseconds' work: a backlog is processed over several frames.
const MAX_BYTES_AT_ONCE: usize = 128 * 1024;

/// Markdown text that grows at its end.
#[derive(Clone, Debug)]
pub struct MarkdownStream {
    text: String,
    layout: LayoutOptions,
    /// Lines that won't change.
    finished: Vec<Line>,
    /// Start of the unfinished text.
    unfinished: usize,
    fence: Option<Fence>,
    /// The open code block.
    code_block: CodeBlockState,
    /// Code blocks that are highlighted in the background.
    blocks: BackgroundBlocks,
    /// Remaining budget for highlighting in bytes, without the blocks above.
    code_left: usize,
    /// End of the text that was searched for finished blocks.
    searched: usize,
    continues: Continuation,
    tail: Vec<Line>,
    is_stale: bool,
}

/// The element that the unfinished text continues.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Continuation {
    #[default]
    Nothing,
    /// A block whose beginning is finished.
    Block,
    /// A paragraph whose beginning is finished, except for this row.
    Paragraph(Line),
    /// A word whose beginning is finished.
    Word,
}

/// Renders a preview of Markdown that may be incomplete: code stays plain, and open marks at the end are
/// closed.
#[must_use]
pub fn preview(text: &str, layout: impl Into<LayoutOptions>) -> Vec<Line> {
    render_transient(&incomplete::close_open_marks(text), &layout.into())
}

/// The fence of an open code block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fence {
    mark: char,
    length: usize,
}

/// The state of an open code block.
#[derive(Clone, Debug, Default)]
struct CodeBlockState {
    language: String,
    /// Its start in the text.
    start: usize,
    highlighting: BlockHighlighting,
    /// The number of finished lines.
    lines: usize,
    /// Start of a line in the text whose first rows are finished, if any.
    line: Option<usize>,
}

/// The highlighter of an open code block.
#[derive(Clone, Debug, Default)]
enum BlockHighlighting {
    /// None: it is no code, or no line is finished.
    #[default]
    Off,
    /// Immediate highlighting.
    Immediate(Highlighter),
    /// Background highlighting.
    Background(StreamingCode),
}

impl MarkdownStream {
    /// Creates an empty stream.
    #[must_use]
    pub fn new(layout: impl Into<LayoutOptions>) -> Self {
        let layout = layout.into();
        let code_left = code::max_answer_bytes(&layout.rendering.code);
        Self {
            text: String::new(),
            layout,
            finished: Vec::new(),
            unfinished: 0,
            fence: None,
            code_block: CodeBlockState::default(),
            blocks: BackgroundBlocks::default(),
            code_left,
            searched: 0,
            continues: Continuation::Nothing,
            tail: Vec::new(),
            is_stale: false,
        }
    }

    /// Appends text; costs no more than copying it.
    pub fn push(&mut self, piece: &str) {
        self.text.push_str(piece);
        self.is_stale = true;
    }

    /// All text so far.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Changes the layout, and lays out all text again.
    pub fn set_layout(&mut self, layout: impl Into<LayoutOptions>) {
        let layout = layout.into();
        if layout != self.layout {
            let text = std::mem::take(&mut self.text);
            let blocks = std::mem::take(&mut self.blocks).reset();
            *self = Self { blocks, ..Self::new(layout) };
            self.push(&text);
        }
    }

    /// Updates the lines, or some of them if there is much text; [`lags`](Self::has_pending_text) then returns true.
    pub fn update_lines(&mut self) {
        self.blocks.update(&mut self.finished, self.layout.width);
        if !std::mem::take(&mut self.is_stale) {
            return;
        }
        let start = self.unfinished;
        let mut end = self.text.floor_char_boundary(start + MAX_BYTES_AT_ONCE);
        self.finish_up_to(end);
        if self.unfinished == start && end < self.text.len() {
            // A longer line without a space.
            end = self.text.len();
            self.finish_up_to(end);
        }
        self.tail = self.render_tail(end);
        self.is_stale = end < self.text.len();
    }

    /// Returns true if the lines don't show all text yet.
    #[must_use]
    pub fn has_pending_text(&self) -> bool {
        self.is_stale
    }

    /// Finishes as much as possible of the text before `end`.
    fn finish_up_to(&mut self, end: usize) {
        loop {
            let before = (self.unfinished, self.fence);
            match self.fence {
                Some(fence) => self.finish_code_lines(fence, end),
                None => self.finish_blocks(end),
            }
            if before == (self.unfinished, self.fence) {
                break;
            }
        }
    }

    /// The lines as of the last [`settle`](Self::update_lines).
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

    /// The number of finished lines, which only highlighting changes.
    #[must_use]
    pub fn finished(&self) -> usize {
        self.finished.len()
    }

    /// The line at this index.
    #[must_use]
    pub fn line(&self, at: usize) -> Option<&Line> {
        self.finished.get(at).or_else(|| self.tail.get(at.checked_sub(self.finished.len())?))
    }

    /// Finishes blocks up to the first code block, which is entered, or up to the last block.
    fn finish_blocks(&mut self, end: usize) {
        if self.continues == Continuation::Word {
            return self.finish_word(end);
        }
        if self.enter_code(end) {
            return;
        }
        // Only complete lines decide: `|` alone ends a table that `| 1 |` continues.
        let complete = self.text[self.unfinished..end]
            .rfind('\n')
            .map_or(self.unfinished, |at| self.unfinished + at + 1);
        if complete > self.searched {
            if let Some(code) = first_code(&self.text[self.unfinished..complete]) {
                return self.finish(self.unfinished + code);
            }
            self.searched = complete;
            if let Some(last) = last_block(&self.text[self.unfinished..complete]) {
                self.finish_before(last);
            }
        }
        let rest = &self.text[self.unfinished..end];
        if rest.len() > if rest.contains('\n') { MAX_TABLE_BYTES } else { MAX_LINE_BYTES } {
            match rest.rfind(['\n', ' ']) {
                Some(split) => {
                    let is_prose = last_block(&rest[..split]).is_some_and(|last| last.is_prose);
                    self.finish_beginning(self.unfinished + split + 1, is_prose);
                }
                None => {
                    self.finish_row(Continuation::Block);
                    self.begin_word(end);
                }
            }
        }
    }

    /// Enters a code block if it comes next.
    fn enter_code(&mut self, end: usize) -> bool {
        let Some((fence, language, body)) = open_fence(&self.text[self.unfinished..end]) else {
            return false;
        };
        let (label, language) = (code::label(language), language.to_owned());
        self.finish_row(Continuation::Nothing);
        self.gap();
        self.finished.extend(label);
        self.unfinished += body;
        self.fence = Some(fence);
        self.code_block = CodeBlockState { language, start: self.unfinished, ..CodeBlockState::default() };
        true
    }

    /// Finishes the blocks before the last one, and a long last one except for its last item or line.
    fn finish_before(&mut self, last: LastBlock) {
        let start = self.unfinished;
        if last.start > 0 {
            self.finish(start + last.start);
        }
        if self.searched - self.unfinished > MAX_BLOCK_BYTES
            && let Some(split) = last.split.filter(|split| *split > last.start)
        {
            self.finish_beginning(start + split, last.is_prose);
        }
    }

    /// Finishes the beginning of a block. A paragraph's last row stays open, because the next text may continue
    /// it.
    fn finish_beginning(&mut self, end: usize, is_prose: bool) {
        let before = self.finished.len();
        let continues_row = is_prose && paragraph::continues_row(&self.text[..end]);
        self.finish(end);
        let row = self.finished.pop_if(|row| continues_row && row.width() > 0);
        debug_assert!(row.is_none() || self.finished.len() >= before, "a row that stood there before");
        self.continues = row.map_or(Continuation::Block, Continuation::Paragraph);
    }

    /// Finishes the last row of a paragraph that isn't continued, and sets the new state to `then`.
    fn finish_row(&mut self, next: Continuation) {
        if let Continuation::Paragraph(row) = &mut self.continues {
            self.finished.push(std::mem::take(row));
            self.continues = next;
        }
    }

    fn finish(&mut self, end: usize) {
        let remaining_bytes = &mut self.code_left;
        let lines = match &self.continues {
            Continuation::Paragraph(row) => {
                paragraph::continue_paragraph(row, &self.text[self.unfinished - 1..end], |text| {
                    render_part(text, &self.layout, remaining_bytes)
                })
            }
            Continuation::Nothing | Continuation::Block | Continuation::Word => {
                render_part(&self.text[self.unfinished..end], &self.layout, remaining_bytes)
            }
        };
        if !lines.is_empty() {
            self.gap();
            self.finished.extend(lines);
        }
        self.unfinished = end;
    }

    /// Adds a blank line, unless the same block continues.
    fn gap(&mut self) {
        if std::mem::take(&mut self.continues) == Continuation::Nothing && !self.finished.is_empty() {
            self.finished.push(Line::default());
        }
    }

    fn finish_code_lines(&mut self, fence: Fence, end: usize) {
        let rest = &self.text[self.unfinished..end];
        if self.unfinished == self.code_block.start && (rest.contains('\n') || rest.len() > MAX_LINE_BYTES) {
            self.begin_highlighting();
        }
        while let Some(length) = self.text[self.unfinished..end].find('\n') {
            let line = &self.text[self.unfinished..self.unfinished + length];
            let closes = self.code_block.line.is_none() && fence.is_closed_by(line);
            if !closes {
                self.finish_code_line(self.unfinished + length);
            }
            self.unfinished += length + 1;
            if closes {
                self.fence = None;
                self.searched = self.unfinished;
                return self.end_highlighting();
            }
        }
        if end - self.unfinished > MAX_LINE_BYTES {
            self.finish_rows(end);
        }
    }

    /// Finishes a line of code that ends before `end`.
    fn finish_code_line(&mut self, end: usize) {
        let line_start = self.code_block.line;
        let source = self.text[line_start.unwrap_or(self.unfinished)..end].trim_end_matches('\r');
        let line = sanitize(source, ControlChars::Visible);
        let rest = self.text[self.unfinished..end].trim_end_matches('\r');
        let number = self.code_block.lines;
        let highlighted = self.code_block.highlight_line(&line);
        match line_start {
            None => {
                let spans = with_source_marks(highlighted.spans, source);
                let rows = with_wrap_marks(code::code_line(&spans, self.layout.width));
                let first_row = self.finished.len();
                if let Some(block) = highlighted.pending {
                    self.blocks.add_plain_line(
                        block,
                        number,
                        source.to_owned(),
                        first_row..first_row + rows.len(),
                    );
                }
                self.finished.extend(rows);
            }
            Some(_) if rest.is_empty() => {}
            Some(_) => self.finished.extend(self.rows_of_rest(rest)),
        }
        self.code_block.line = None;
    }

    /// Finishes the rows of a long line of code that continues beyond `end`, except for the last one. It isn't
    /// highlighted.
    fn finish_rows(&mut self, end: usize) {
        let rest = &self.text[self.unfinished..end];
        let (mut rows, mut split) = (self.rows_of_rest(rest), end);
        // With replaced characters the start of a row in the text is unknown: then the last row ends here.
        if matches!(sanitize(rest, ControlChars::Visible), Cow::Borrowed(_)) {
            let last = rows.pop().unwrap_or_default();
            split = end - last.content().iter().map(|span| span.text.len()).sum::<usize>();
        }
        if !rows.is_empty() {
            self.code_block.line.get_or_insert(self.unfinished);
            self.finished.extend(rows);
            self.unfinished = split;
        }
    }

    /// The rows of the rest of an unfinished line of code.
    fn rows_of_rest(&self, rest: &str) -> Vec<Line> {
        let spans = sanitized_spans(rest, self.code_block.base_role().into());
        let mut rows = code::code_line(&spans, self.layout.width);
        if let (Some(_), Some(first)) = (self.code_block.line, rows.first_mut()) {
            first.wrap = Wrap::Soft { spaces: 0 };
        }
        with_wrap_marks(rows)
    }

    /// Starts the highlighting of a code block.
    fn begin_highlighting(&mut self) {
        let language = Language::Named(&self.code_block.language);
        self.code_block.highlighting = match &self.layout.rendering.code {
            Highlighting::Sync => {
                BlockHighlighting::Immediate(Highlighter::with_limit(language, self.code_left))
            }
            Highlighting::Background(cache) if code::is_code(language) => {
                BlockHighlighting::Background(self.blocks.start_block(self.code_block.start, cache, language))
            }
            Highlighting::Background(_) | Highlighting::Off => BlockHighlighting::Off,
        };
    }

    /// Ends a code block. Its highlighting is cached for the final layout of the answer.
    fn end_highlighting(&mut self) {
        match std::mem::take(&mut self.code_block).highlighting {
            BlockHighlighting::Immediate(highlighter) => self.code_left = highlighter.remaining_bytes(),
            BlockHighlighting::Background(block) => block.end(),
            BlockHighlighting::Off => {}
        }
    }

    fn render_tail(&self, end: usize) -> Vec<Line> {
        let rest = &self.text[self.unfinished..end];
        if let Some(fence) = self.fence {
            let may_close = self.code_block.line.is_none();
            let begins_to_close =
                may_close && !rest.is_empty() && rest.trim().chars().all(|c| c == fence.mark);
            if begins_to_close || rest.is_empty() {
                return Vec::new();
            }
            return self.rows_of_rest(rest);
        }
        if self.continues == Continuation::Word {
            return self.tail_of_word(rest);
        }
        let sanitized_spans = incomplete::shown_part(rest);
        let mut lines = match &self.continues {
            Continuation::Paragraph(row) => {
                let between = &self.text[self.unfinished - 1..self.unfinished];
                paragraph::continue_paragraph(row, &format!("{between}{sanitized_spans}"), |text| {
                    render_transient(text, &self.layout)
                })
            }
            Continuation::Nothing | Continuation::Block | Continuation::Word => {
                render_transient(&sanitized_spans, &self.layout)
            }
        };
        if !lines.is_empty() && !self.finished.is_empty() && self.continues == Continuation::Nothing {
            lines.insert(0, Line::default());
        }
        lines
    }
}

struct HighlightedLine {
    spans: Vec<Span>,
    /// The block that will be highlighted later.
    pending: Option<StreamingCode>,
}

impl CodeBlockState {
    /// Highlights the next complete line.
    fn highlight_line(&mut self, line: &str) -> HighlightedLine {
        let number = self.lines;
        self.lines += 1;
        let plain = |role| if line.is_empty() { Vec::new() } else { vec![Span::new(line, role)] };
        let base_role = self.base_role();
        match &mut self.highlighting {
            BlockHighlighting::Off => HighlightedLine { spans: plain(base_role), pending: None },
            BlockHighlighting::Immediate(highlighter) => {
                HighlightedLine { spans: highlighter.line(line), pending: None }
            }
            BlockHighlighting::Background(block) => match block.line(number, line) {
                Some(highlighting) => {
                    HighlightedLine { spans: backend::spans(line, &highlighting), pending: None }
                }
                None => HighlightedLine { spans: plain(base_role), pending: Some(block.clone()) },
            },
        }
    }

    /// The role of unmarked code.
    fn base_role(&self) -> Role {
        match &self.highlighting {
            BlockHighlighting::Immediate(highlighter) => highlighter.base_role(),
            BlockHighlighting::Background(_) | BlockHighlighting::Off => {
                code::plain_role(Language::Named(&self.language))
            }
        }
    }
}

impl Fence {
    fn is_closed_by(self, line: &str) -> bool {
        let line = line.trim_end();
        let mark = line.trim_start_matches(' ');
        line.len() - mark.len() < 4 && mark.len() >= self.length && mark.chars().all(|c| c == self.mark)
    }
}

/// The last top-level block of a text.
#[derive(Clone, Copy)]
struct LastBlock {
    start: usize,
    /// A position where it may be split: before its last item or line; `None` if it may not be.
    split: Option<usize>,
    is_prose: bool,
}

fn last_block(text: &str) -> Option<LastBlock> {
    let before_last_line = text.trim_end_matches('\n').rfind('\n').map(|at| at + 1);
    let (mut depth, mut last) = (0_usize, None);
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                let split = match tag {
                    Tag::Paragraph | Tag::BlockQuote(_) if depth == 0 => before_last_line,
                    _ => None,
                };
                match (&mut last, &tag) {
                    (_, _) if depth == 0 => {
                        let is_prose = tag == Tag::Paragraph;
                        // The indentation makes it code.
                        let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
                        last = Some(LastBlock { start, split, is_prose });
                    }
                    (Some(list), Tag::Item) if depth == 1 => list.split = Some(range.start),
                    _ => {}
                }
                depth += 1;
            }
            Event::End(_) => depth -= 1,
            Event::Rule if depth == 0 => {
                last = Some(LastBlock { start: range.start, split: None, is_prose: false });
            }
            _ => {}
        }
    }
    last
}

/// The start of the first top-level code block that follows other blocks, unless another fence precedes it.
fn first_code(text: &str) -> Option<usize> {
    let mut lines = text.split_inclusive('\n').scan(0, |start, line| {
        *start += line.len();
        Some((*start - line.len(), line))
    });
    let (start, line) = lines.find(|(_, line)| open_fence(line).is_some())?;
    let is_block = || last_block(&text[..start + line.len()]).is_some_and(|last| last.start == start);
    (start > 0 && is_block()).then_some(start)
}

/// The fence that opens `text`, its language, and the start of its first line.
fn open_fence(text: &str) -> Option<(Fence, &str, usize)> {
    let (first, _) = text.split_once('\n')?;
    let line = first.trim_start_matches(' ');
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let language = line.trim_start_matches(mark);
    let length = line.len() - language.len();
    let opens = length >= 3 && first.len() - line.len() < 4 && !(mark == '`' && language.contains('`'));
    opens.then(|| (Fence { mark, length }, language.trim(), first.len() + 1))
}

#[cfg(test)]
mod tests;
