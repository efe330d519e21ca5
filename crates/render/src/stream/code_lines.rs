//! The code blocks of a streaming answer, which are finished and highlighted line by line. With background
//! highlighting, a line is plain until the result arrives.

use crate::code::streaming::StreamingCode;
use crate::code::{self, Highlighter};
use crate::markdown::with_wrap_marks;
use crate::sanitize::sanitized_spans;
use crate::stream::code_block::{BlockHighlighting, CodeBlock, PlainLine, rows};
use crate::stream::continuation::Continuation;
use crate::stream::{MAX_PART_BYTES, MarkdownStream};
use crate::{ControlChars, Highlighting, Language, Line, Role, sanitize};

impl MarkdownStream {
    /// Enters the code block at the start of the unfinished text.
    pub(super) fn enter_code(&mut self, language: &str) {
        self.gap();
        self.continues = Continuation::Nothing;
        self.finished.extend(code::label(language));
        let rest = &self.text[self.unfinished..];
        let start = self.unfinished + rest.find('\n').unwrap_or(rest.len()) + 1;
        let language = Language::Named(language);
        let role = code::base_role(language, &self.layout.rendering.code);
        let highlighting = self.begin_highlighting(language, start);
        let fence = &self.text[self.unfinished..start - 1];
        self.code = Some(CodeBlock::open(fence, role, highlighting, start));
        self.unfinished = start;
    }

    fn begin_highlighting(&mut self, language: Language<'_>, start: usize) -> BlockHighlighting {
        match &self.layout.rendering.code {
            Highlighting::Sync => {
                BlockHighlighting::Immediate(Highlighter::with_limit(language, self.highlight_budget))
            }
            Highlighting::Background(cache) if code::is_code(language) => {
                let begin = || StreamingCode::start(cache, language);
                let block = self.background.entry(start).or_insert_with(begin);
                BlockHighlighting::Background(block.clone())
            }
            Highlighting::Background(_) | Highlighting::Off => BlockHighlighting::Off,
        }
    }

    /// Finishes the next line of code before `end`, or the rows of a huge line. Returns false if there is
    /// neither.
    pub(super) fn finish_code(&mut self, mut block: CodeBlock, end: usize) -> bool {
        let rest = &self.text[self.unfinished..end];
        let Some(length) = rest.find('\n') else {
            let is_huge = rest.len() > MAX_PART_BYTES;
            if is_huge {
                let rows = self.code_rows(rest, block.role);
                self.finished.extend(rows);
                self.reopen_row();
                self.unfinished = end;
            }
            self.code = Some(block);
            return is_huge;
        };
        let end = self.unfinished + length;
        if block.line_start == self.unfinished && block.is_closed_by(&rest[..length]) {
            self.highlight_budget = block.highlighting.end(self.highlight_budget);
        } else {
            self.finish_code_line(&mut block, end);
            self.code = Some(block);
        }
        self.unfinished = end + 1;
        true
    }

    /// Finishes the line of code that ends at `end`.
    fn finish_code_line(&mut self, block: &mut CodeBlock, end: usize) {
        let source = self.text[block.line_start..end].trim_end_matches('\r');
        let spans = block.highlight_line(&sanitize(source, ControlChars::Visible));
        if block.line_start < self.unfinished {
            let rest = self.text[self.unfinished..end].trim_end_matches('\r');
            let rows = self.code_rows(rest, block.role);
            self.finished.extend(rows);
            self.continues = Continuation::Nothing;
        } else {
            let first_row = self.finished.len();
            self.finished.extend(rows(spans, source, self.layout.width));
            if let BlockHighlighting::Background(code) = &block.highlighting {
                self.plain.push_back(PlainLine {
                    block: code.clone(),
                    line: block.lines,
                    source: source.to_owned(),
                    rows: first_row..self.finished.len(),
                });
            }
        }
        block.lines += 1;
        block.line_start = end + 1;
    }

    /// Highlights the finished lines whose highlighting has arrived.
    pub(super) fn highlight_plain_lines(&mut self) {
        while let Some(line) = self.plain.front()
            && let Some(rows) = line.highlighted(self.layout.width)
        {
            // Highlighting doesn't change line breaks; if it did, the line stays plain.
            let plain = self.finished.get_mut(line.rows.clone());
            if let Some(plain) = plain.filter(|plain| plain.len() == rows.len()) {
                plain.clone_from_slice(&rows);
            }
            self.plain.pop_front();
        }
    }

    /// Lays out an unfinished line of code, unless it may turn out to be the closing fence.
    pub(super) fn tail_of_code(&self, block: &CodeBlock, end: usize) -> Vec<Line> {
        let rest = &self.text[self.unfinished..end];
        let may_close = block.line_start == self.unfinished && block.may_be_closed_by(rest);
        if may_close { Vec::new() } else { self.code_rows(rest, block.role) }
    }

    /// Lays out the rest of a line of code, without highlighting.
    fn code_rows(&self, rest: &str, role: Role) -> Vec<Line> {
        let spans = sanitized_spans(&(self.continues.placeholder() + rest), role.into());
        self.continues.with_row(with_wrap_marks(code::code_line(&spans, self.layout.width)))
    }
}
