//! Markdown that is still arriving.
//!
//! A block that another one follows is finished: its lines are kept and its text isn't looked at again. Only the last block is
//! rendered anew, when somebody asks for the lines; of an open code block only its last line, whose words are told apart
//! once it is complete, as are those of a code block inside a list or a quote. Where they are told beside, the line is plain until they are.
//! What can't yet be told from what it may become (a fence, a table's head) is held back rather than shown and taken away.

mod code_blocks;
mod incomplete;
mod long_word;
mod paragraph;

use std::borrow::Cow;

use pulldown_cmark::{Event, Parser, Tag};

use self::code_blocks::Blocks;
use super::code::Highlighter;
use super::code::backend;
use super::code::streaming::Arriving;
use super::markdown::{marked, options, part, passing};
use super::sanitize::{shown, sourced};
use super::{ControlChars, Highlighting, Language, LayoutOptions, Line, Role, Span, Wrap, code, sanitize};

/// Bytes of one unfinished block beyond which it is finished by force at a line's end, so that no block makes a piece dear. Most
/// blocks are shorter. A longer paragraph goes on in its last row; the lines of a longer quote break where they broke in the source,
/// until the answer is whole.
const LARGEST_BLOCK: usize = 2 * 1024;

/// The same for one line without end, finished at a space; of code at the end of a row.
const LARGEST_LINE: usize = 4 * 1024;

/// The same for a block that can't be cut without showing as something else: a table.
const LARGEST_WHOLE: usize = 16 * 1024;

/// Bytes read at once, some milliseconds' work: what came while nobody looked is caught up with over several frames.
const MOST_AT_ONCE: usize = 128 * 1024;

/// Markdown that grows at its end.
#[derive(Clone, Debug)]
pub struct MarkdownStream {
    text: String,
    page: LayoutOptions,
    /// Lines that won't change.
    finished: Vec<Line>,
    /// Where in `text` begins what isn't in `finished`.
    from: usize,
    fence: Option<Fence>,
    /// The open block of code.
    reading: Reading,
    /// The blocks of code whose words are told beside.
    blocks: Blocks,
    /// Bytes of code whose words may still be told apart, but for the blocks above.
    code_left: usize,
    /// Up to where `text` was looked at for blocks that end.
    looked: usize,
    inside: Inside,
    tail: Vec<Line>,
    stale: bool,
}

/// With what the text goes on that isn't finished.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Inside {
    #[default]
    Nothing,
    /// A block whose beginning is finished.
    Block,
    /// A paragraph whose beginning is finished, but for this row of it.
    Paragraph(Line),
    /// A word whose beginning is.
    Word,
}

/// Markdown of which only a glance is taken, which may still be arriving: its code stays plain, and what is open at its end is
/// closed.
#[must_use]
pub fn glance(text: &str, page: impl Into<LayoutOptions>) -> Vec<Line> {
    passing(&incomplete::mended(text), page.into())
}

/// An open block of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fence {
    mark: char,
    length: usize,
}

/// How far an open block of code is read.
#[derive(Clone, Debug, Default)]
struct Reading {
    language: String,
    /// Where in the text it begins.
    from: usize,
    words: Words,
    /// How many of its lines are finished.
    lines: usize,
    /// Where in the text the line begins whose first rows are finished, if one's are.
    line: Option<usize>,
}

/// Who tells the words of an open block of code apart.
#[derive(Clone, Debug, Default)]
enum Words {
    /// Nobody: it is no code, or nothing of it is finished.
    #[default]
    Untold,
    /// Whoever lays the lines out.
    Now(Highlighter),
    /// Another one, beside.
    Later(Arriving),
}

impl MarkdownStream {
    /// Nothing yet.
    #[must_use]
    pub fn new(page: impl Into<LayoutOptions>) -> Self {
        let page = page.into();
        Self {
            text: String::new(),
            page,
            finished: Vec::new(),
            from: 0,
            fence: None,
            reading: Reading::default(),
            blocks: Blocks::default(),
            code_left: code::most_of_an_answer(page.manner.code),
            looked: 0,
            inside: Inside::Nothing,
            tail: Vec::new(),
            stale: false,
        }
    }

    /// Takes the next piece. Costs no more than copying it.
    pub fn push(&mut self, piece: &str) {
        self.text.push_str(piece);
        self.stale = true;
    }

    /// All text so far.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Is for another page from now on.
    pub fn set_page(&mut self, page: impl Into<LayoutOptions>) {
        let page = page.into();
        if page != self.page {
            let text = std::mem::take(&mut self.text);
            let blocks = std::mem::take(&mut self.blocks).again();
            *self = Self { blocks, ..Self::new(page) };
            self.push(&text);
        }
    }

    /// Brings the lines up to date, or nearer to it: of a lot of text it takes a part, and [`lags`](Self::lags) then.
    pub fn settle(&mut self) {
        self.blocks.settle(&mut self.finished, self.page.width);
        if !std::mem::take(&mut self.stale) {
            return;
        }
        let from = self.from;
        let mut end = self.text.floor_char_boundary(from + MOST_AT_ONCE);
        self.finish_up_to(end);
        if self.from == from && end < self.text.len() {
            // A line without a space that is longer than that.
            end = self.text.len();
            self.finish_up_to(end);
        }
        self.tail = self.render_tail(end);
        self.stale = end < self.text.len();
    }

    /// Whether there is text that the lines don't show yet.
    #[must_use]
    pub fn lags(&self) -> bool {
        self.stale
    }

    /// Finishes what can be of the text before `end`.
    fn finish_up_to(&mut self, end: usize) {
        loop {
            let before = (self.from, self.fence);
            match self.fence {
                Some(fence) => self.finish_code_lines(fence, end),
                None => self.finish_blocks(end),
            }
            if before == (self.from, self.fence) {
                break;
            }
        }
    }

    /// The lines, as of the last [`settle`](Self::settle).
    pub fn lines(&self) -> impl Iterator<Item = &Line> {
        self.finished.iter().chain(&self.tail)
    }

    /// How many lines there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.finished.len() + self.tail.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many of the lines, from the first on, are finished: nothing changes them any more but the words of their code being told.
    #[must_use]
    pub fn finished(&self) -> usize {
        self.finished.len()
    }

    /// One line, from 0.
    #[must_use]
    pub fn line(&self, at: usize) -> Option<&Line> {
        self.finished.get(at).or_else(|| self.tail.get(at.checked_sub(self.finished.len())?))
    }

    /// Moves blocks into the finished lines, up to the first block of code, which it enters, or the last block.
    fn finish_blocks(&mut self, end: usize) {
        if self.inside == Inside::Word {
            return self.finish_word(end);
        }
        if self.enter_code(end) {
            return;
        }
        // Only whole lines decide: `|` alone ends a table that `| 1 |` goes on with.
        let whole = self.text[self.from..end].rfind('\n').map_or(self.from, |at| self.from + at + 1);
        if whole > self.looked {
            if let Some(code) = first_code(&self.text[self.from..whole]) {
                return self.finish(self.from + code);
            }
            self.looked = whole;
            if let Some(last) = last_block(&self.text[self.from..whole]) {
                self.finish_before(last);
            }
        }
        let rest = &self.text[self.from..end];
        if rest.len() > if rest.contains('\n') { LARGEST_WHOLE } else { LARGEST_LINE } {
            match rest.rfind(['\n', ' ']) {
                Some(cut) => {
                    let is_prose = last_block(&rest[..cut]).is_some_and(|last| last.is_prose);
                    self.finish_beginning(self.from + cut + 1, is_prose);
                }
                None => {
                    self.let_go(Inside::Block);
                    self.begin_word(end);
                }
            }
        }
    }

    /// Enters the block of code that comes next, if one does.
    fn enter_code(&mut self, end: usize) -> bool {
        let Some((fence, language, body)) = open_fence(&self.text[self.from..end]) else { return false };
        let (label, language) = (code::label(language), language.to_owned());
        self.let_go(Inside::Nothing);
        self.gap();
        self.finished.extend(label);
        self.from += body;
        self.fence = Some(fence);
        self.reading = Reading { language, from: self.from, ..Reading::default() };
        true
    }

    /// Finishes what stands before the last block, and of a long one all but its last item or line.
    fn finish_before(&mut self, last: LastBlock) {
        let start = self.from;
        if last.from > 0 {
            self.finish(start + last.from);
        }
        if self.looked - self.from > LARGEST_BLOCK
            && let Some(cut) = last.cut.filter(|cut| *cut > last.from)
        {
            self.finish_beginning(start + cut, last.is_prose);
        }
    }

    /// Finishes the beginning of a block. The last row of a paragraph isn't: what comes next may stand on it.
    fn finish_beginning(&mut self, end: usize, is_prose: bool) {
        let before = self.finished.len();
        let goes_on = is_prose && paragraph::goes_on(&self.text[..end]);
        self.finish(end);
        let row = self.finished.pop_if(|row| goes_on && row.width() > 0);
        debug_assert!(row.is_none() || self.finished.len() >= before, "a row that stood there before");
        self.inside = row.map_or(Inside::Block, Inside::Paragraph);
    }

    /// What comes next doesn't go on in the last row of the paragraph, so that is finished; `then` it is inside this.
    fn let_go(&mut self, then: Inside) {
        if let Inside::Paragraph(row) = &mut self.inside {
            self.finished.push(std::mem::take(row));
            self.inside = then;
        }
    }

    fn finish(&mut self, end: usize) {
        let left = &mut self.code_left;
        let lines = match &self.inside {
            Inside::Paragraph(row) => {
                paragraph::go_on(row, &self.text[self.from - 1..end], |text| part(text, self.page, left))
            }
            Inside::Nothing | Inside::Block | Inside::Word => {
                part(&self.text[self.from..end], self.page, left)
            }
        };
        if !lines.is_empty() {
            self.gap();
            self.finished.extend(lines);
        }
        self.from = end;
    }

    /// Leaves a line free, unless the same block goes on.
    fn gap(&mut self) {
        if std::mem::take(&mut self.inside) == Inside::Nothing && !self.finished.is_empty() {
            self.finished.push(Line::default());
        }
    }

    fn finish_code_lines(&mut self, fence: Fence, end: usize) {
        let rest = &self.text[self.from..end];
        if self.from == self.reading.from && (rest.contains('\n') || rest.len() > LARGEST_LINE) {
            self.begin_reading();
        }
        while let Some(length) = self.text[self.from..end].find('\n') {
            let line = &self.text[self.from..self.from + length];
            let closes = self.reading.line.is_none() && fence.is_closed_by(line);
            if !closes {
                self.finish_code_line(self.from + length);
            }
            self.from += length + 1;
            if closes {
                self.fence = None;
                self.looked = self.from;
                return self.end_reading();
            }
        }
        if end - self.from > LARGEST_LINE {
            self.finish_rows(end);
        }
    }

    /// Finishes a line of code, which ends before `end`.
    fn finish_code_line(&mut self, end: usize) {
        let begin = self.reading.line;
        let source = self.text[begin.unwrap_or(self.from)..end].trim_end_matches('\r');
        let line = sanitize(source, ControlChars::Visible);
        let rest = self.text[self.from..end].trim_end_matches('\r');
        let number = self.reading.lines;
        let told = self.reading.tell(&line);
        match begin {
            None => {
                let spans = sourced(told.spans, source);
                let rows = marked(code::code_line(&spans, self.page.width));
                let from = self.finished.len();
                if let Some(block) = told.later {
                    self.blocks.wait(block, number, source.to_owned(), from..from + rows.len());
                }
                self.finished.extend(rows);
            }
            Some(_) if rest.is_empty() => {}
            Some(_) => self.finished.extend(self.going_on(rest)),
        }
        self.reading.line = None;
    }

    /// Finishes the rows of a long line of code that goes on beyond `end`, but for the last of them. Its words aren't told apart.
    fn finish_rows(&mut self, end: usize) {
        let rest = &self.text[self.from..end];
        let (mut rows, mut cut) = (self.going_on(rest), end);
        // Where signs stand for what can't be shown nobody knows where in the text a row begins: then the last one ends here.
        if matches!(sanitize(rest, ControlChars::Visible), Cow::Borrowed(_)) {
            let last = rows.pop().unwrap_or_default();
            cut = end - last.content().iter().map(|span| span.text.len()).sum::<usize>();
        }
        if !rows.is_empty() {
            self.reading.line.get_or_insert(self.from);
            self.finished.extend(rows);
            self.from = cut;
        }
    }

    /// The rows of the rest of a line of code that isn't finished.
    fn going_on(&self, rest: &str) -> Vec<Line> {
        let spans = shown(rest, self.reading.ground().into());
        let mut rows = code::code_line(&spans, self.page.width);
        if let (Some(_), Some(first)) = (self.reading.line, rows.first_mut()) {
            first.joint = Wrap::Soft { spaces: 0 };
        }
        marked(rows)
    }

    /// The words of the block of code that begins are told from now on.
    fn begin_reading(&mut self) {
        let language = Language::Named(&self.reading.language);
        self.reading.words = match self.page.manner.code {
            Highlighting::Sync => Words::Now(Highlighter::limited(language, self.code_left)),
            Highlighting::Background if code::is_code(language) => {
                Words::Later(self.blocks.begin(self.reading.from, language))
            }
            Highlighting::Background | Highlighting::Off => Words::Untold,
        };
    }

    /// The block of code is over. What its words are is kept for the answer that this becomes.
    fn end_reading(&mut self) {
        match std::mem::take(&mut self.reading).words {
            Words::Now(highlighter) => self.code_left = highlighter.left(),
            Words::Later(block) => block.end(),
            Words::Untold => {}
        }
    }

    fn render_tail(&self, end: usize) -> Vec<Line> {
        let rest = &self.text[self.from..end];
        if let Some(fence) = self.fence {
            let may_close = self.reading.line.is_none();
            let begins_to_close =
                may_close && !rest.is_empty() && rest.trim().chars().all(|c| c == fence.mark);
            if begins_to_close || rest.is_empty() {
                return Vec::new();
            }
            return self.going_on(rest);
        }
        if self.inside == Inside::Word {
            return self.tail_of_word(rest);
        }
        let shown = incomplete::arriving(rest);
        let mut lines = match &self.inside {
            Inside::Paragraph(row) => {
                let between = &self.text[self.from - 1..self.from];
                paragraph::go_on(row, &format!("{between}{shown}"), |text| passing(text, self.page))
            }
            Inside::Nothing | Inside::Block | Inside::Word => passing(&shown, self.page),
        };
        if !lines.is_empty() && !self.finished.is_empty() && self.inside == Inside::Nothing {
            lines.insert(0, Line::default());
        }
        lines
    }
}

/// The pieces of a line.
struct Pieces {
    spans: Vec<Span>,
    /// The block that has its words later.
    later: Option<Arriving>,
}

impl Reading {
    /// The words of the next line, which is whole.
    fn tell(&mut self, line: &str) -> Pieces {
        let number = self.lines;
        self.lines += 1;
        let plain = |role| if line.is_empty() { Vec::new() } else { vec![Span::new(line, role)] };
        let ground = self.ground();
        match &mut self.words {
            Words::Untold => Pieces { spans: plain(ground), later: None },
            Words::Now(highlighter) => Pieces { spans: highlighter.line(line), later: None },
            Words::Later(block) => match block.line(number, line) {
                Some(words) => Pieces { spans: backend::spans(line, &words), later: None },
                None => Pieces { spans: plain(ground), later: Some(block.clone()) },
            },
        }
    }

    /// What unmarked code of it is.
    fn ground(&self) -> Role {
        match &self.words {
            Words::Now(highlighter) => highlighter.ground(),
            Words::Later(_) | Words::Untold => code::unread(Language::Named(&self.language)),
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
    /// Where it begins.
    from: usize,
    /// Where it may be cut: before its last item, or its last line; `None` where it may not.
    cut: Option<usize>,
    /// Whether it is a paragraph.
    is_prose: bool,
}

fn last_block(text: &str) -> Option<LastBlock> {
    let before_last_line = text.trim_end_matches('\n').rfind('\n').map(|at| at + 1);
    let (mut depth, mut last) = (0_usize, None);
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                let cut = match tag {
                    Tag::Paragraph | Tag::BlockQuote(_) if depth == 0 => before_last_line,
                    _ => None,
                };
                match (&mut last, &tag) {
                    (_, _) if depth == 0 => {
                        let is_prose = tag == Tag::Paragraph;
                        // The indent of code is what makes it code.
                        let from = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
                        last = Some(LastBlock { from, cut, is_prose });
                    }
                    (Some(list), Tag::Item) if depth == 1 => list.cut = Some(range.start),
                    _ => {}
                }
                depth += 1;
            }
            Event::End(_) => depth -= 1,
            Event::Rule if depth == 0 => {
                last = Some(LastBlock { from: range.start, cut: None, is_prose: false });
            }
            _ => {}
        }
    }
    last
}

/// Where the first block of code begins that is behind other blocks and in none of them, unless a fence before it is.
fn first_code(text: &str) -> Option<usize> {
    let mut lines = text.split_inclusive('\n').scan(0, |from, line| {
        *from += line.len();
        Some((*from - line.len(), line))
    });
    let (from, line) = lines.find(|(_, line)| open_fence(line).is_some())?;
    let is_block = || last_block(&text[..from + line.len()]).is_some_and(|last| last.from == from);
    (from > 0 && is_block()).then_some(from)
}

/// The fence that opens `text`, its language, and where its first line begins.
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
