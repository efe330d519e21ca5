//! Markdown that is still arriving.
//!
//! A block that another one follows is finished: its lines are kept and its text isn't looked at again. Only the last block is
//! rendered anew, when somebody asks for the lines; of an open code block only its last line, whose words are told apart
//! once it is complete, as are those of a code block inside a list or a quote. What can't yet be told from
//! what it may become (a fence, a table's head) is held back rather than shown and taken away.

use std::borrow::Cow;

use pulldown_cmark::{Event, Parser, Tag};

use super::code::{Highlighter, shelf};
use super::markdown::{options, part, passing};
use super::{Carriage, Language, Line, Page, Role, Span, Telling, clean, code};

/// Bytes of one unfinished block beyond which it is finished by force at a line's end, so that no block makes a piece dear. Most
/// blocks are shorter. The lines of a longer one break where they broke in the source, until the answer is whole.
const LARGEST_BLOCK: usize = 2 * 1024;

/// The same for one line without end, finished at a space.
const LARGEST_LINE: usize = 4 * 1024;

/// The same for a block that can't be cut without showing as something else: a table.
const LARGEST_WHOLE: usize = 16 * 1024;

/// Markdown that grows at its end.
#[derive(Clone, Debug)]
pub struct MarkdownStream {
    text: String,
    page: Page,
    /// Lines that won't change.
    finished: Vec<Line>,
    /// Where in `text` begins what isn't in `finished`.
    from: usize,
    fence: Option<Fence>,
    /// The open block of code.
    reading: Reading,
    /// Languages of code that stayed plain because their grammars weren't at hand.
    cold: Vec<String>,
    /// Bytes of code whose words may still be told apart.
    code_left: usize,
    /// Up to where `text` was looked at for blocks that end.
    looked: usize,
    /// Whether what isn't finished goes on with a block whose beginning is.
    inside: bool,
    tail: Vec<Line>,
    stale: bool,
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
    /// `None` while the grammar isn't at hand.
    highlighter: Option<Highlighter>,
    words: Vec<shelf::Words>,
}

impl MarkdownStream {
    /// Nothing yet.
    #[must_use]
    pub fn new(page: impl Into<Page>) -> Self {
        Self {
            text: String::new(),
            page: page.into(),
            finished: Vec::new(),
            from: 0,
            fence: None,
            reading: Reading::default(),
            cold: Vec::new(),
            code_left: code::MOST_OF_AN_ANSWER,
            looked: 0,
            inside: false,
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

    /// Is for another page from now on. Code is read again, too, that was plain because its grammar wasn't at hand and now is.
    pub fn set_page(&mut self, page: impl Into<Page>) {
        let page = page.into();
        let warmed = self.cold.iter().any(|language| shelf::is_warm(Language::Named(language)));
        if page != self.page || warmed {
            let text = std::mem::take(&mut self.text);
            *self = Self::new(page);
            self.push(&text);
        }
    }

    /// Brings the lines up to date.
    pub fn settle(&mut self) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        loop {
            let before = (self.from, self.fence);
            match self.fence {
                Some(fence) => self.finish_code_lines(fence),
                None => self.finish_blocks(),
            }
            if before == (self.from, self.fence) {
                break;
            }
        }
        self.tail = self.render_tail();
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

    /// One line, from 0.
    #[must_use]
    pub fn line(&self, at: usize) -> Option<&Line> {
        self.finished.get(at).or_else(|| self.tail.get(at.checked_sub(self.finished.len())?))
    }

    /// Moves every block but the last into the finished lines, and enters a code block that is open.
    fn finish_blocks(&mut self) {
        // Only whole lines decide: `|` alone ends a table that `| 1 |` goes on with.
        let whole = self.text[self.from..].rfind('\n').map_or(self.from, |at| self.from + at + 1);
        if whole > self.looked {
            self.looked = whole;
            if let Some(last) = last_block(&self.text[self.from..whole]) {
                self.finish_before(last);
            }
        }
        let rest = &self.text[self.from..];
        if let Some((fence, language, body)) = open_fence(rest) {
            let (label, language) = (code::label(language), language.to_owned());
            self.gap();
            self.finished.extend(label);
            self.from += body;
            self.fence = Some(fence);
            self.reading = Reading { language, from: self.from, ..Reading::default() };
        } else if rest.len() > if rest.contains('\n') { LARGEST_WHOLE } else { LARGEST_LINE }
            && let Some(end) = rest.rfind(['\n', ' '])
        {
            self.finish(self.from + end + 1);
            self.inside = true;
        }
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
            self.finish(start + cut);
            self.inside = true;
        }
    }

    fn finish(&mut self, end: usize) {
        let lines = part(&self.text[self.from..end], self.page, &mut self.code_left);
        if !lines.is_empty() {
            self.gap();
            self.finished.extend(lines);
        }
        self.from = end;
    }

    /// Leaves a line free, unless the same block goes on.
    fn gap(&mut self) {
        if !std::mem::take(&mut self.inside) && !self.finished.is_empty() {
            self.finished.push(Line::default());
        }
    }

    fn finish_code_lines(&mut self, fence: Fence) {
        if self.from == self.reading.from && self.text[self.from..].contains('\n') {
            self.begin_reading();
        }
        while let Some(end) = self.text[self.from..].find('\n') {
            let line = &self.text[self.from..self.from + end];
            let closes = fence.is_closed_by(line);
            if !closes {
                let line = clean(line.trim_end_matches('\r'), Carriage::Shown);
                let spans = self.reading.line(&line);
                self.finished.extend(code::code_line(&spans, self.page.width));
            }
            self.from += end + 1;
            if closes {
                self.fence = None;
                self.looked = self.from;
                return self.end_reading(self.from - end - 1);
            }
        }
    }

    /// Takes the grammar for the block of code that begins, if that costs no more than its lines.
    fn begin_reading(&mut self) {
        let language = Language::Named(&self.reading.language);
        let later = self.page.manner.code == Telling::Later && code::is_code(language);
        if !later || shelf::is_warm(language) {
            self.reading.highlighter = Some(Highlighter::limited(language, self.code_left));
        } else if !self.cold.contains(&self.reading.language) {
            let end = self.text[self.from..].find('\n').map_or(self.text.len(), |at| self.from + at);
            shelf::warm_up(language, &clean(&self.text[self.from..end], Carriage::Shown));
            self.cold.push(self.reading.language.clone());
        }
    }

    /// The block of code ends before `end`. What its words are is kept for the answer that this becomes.
    fn end_reading(&mut self, end: usize) {
        let reading = std::mem::take(&mut self.reading);
        let Some(highlighter) = reading.highlighter else { return };
        self.code_left = highlighter.left();
        if self.page.manner.code == Telling::Later && self.code_left > 0 {
            let code = clean(&self.text[reading.from..end], Carriage::Shown);
            shelf::keep(Language::Named(&reading.language), code.lines(), reading.words);
        }
    }

    fn render_tail(&self) -> Vec<Line> {
        let rest = &self.text[self.from..];
        if let Some(fence) = self.fence {
            let begins_to_close = !rest.is_empty() && rest.trim().chars().all(|c| c == fence.mark);
            if begins_to_close || rest.is_empty() {
                return Vec::new();
            }
            let span = Span::new(clean(rest, Carriage::Shown), self.reading.ground());
            return code::code_line(&[span], self.page.width);
        }
        let mut lines = passing(&mended(steady(rest)), self.page);
        if !lines.is_empty() && !self.finished.is_empty() && !self.inside {
            lines.insert(0, Line::default());
        }
        lines
    }
}

impl Reading {
    fn line(&mut self, line: &str) -> Vec<Span> {
        let ground = self.ground();
        let Some(highlighter) = &mut self.highlighter else {
            return if line.is_empty() { Vec::new() } else { vec![Span::new(line, ground)] };
        };
        let spans = highlighter.line(line);
        self.words.push(shelf::words(&spans));
        spans
    }

    /// What unmarked code of it is.
    fn ground(&self) -> Role {
        match &self.highlighter {
            Some(highlighter) => highlighter.ground(),
            None => code::unread(Language::Named(&self.language)),
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
                    (_, _) if depth == 0 => last = Some(LastBlock { from: range.start, cut }),
                    (Some(list), Tag::Item) if depth == 1 => list.cut = Some(range.start),
                    _ => {}
                }
                depth += 1;
            }
            Event::End(_) => depth -= 1,
            Event::Rule if depth == 0 => last = Some(LastBlock { from: range.start, cut: None }),
            _ => {}
        }
    }
    last
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

/// Leaves out an end that may yet turn into something else: a line of marks, a fence without its end, a table's head.
fn steady(text: &str) -> &str {
    let start = text.rfind('\n').map_or(0, |at| at + 1);
    let line = text[start..].trim_start();
    if line.starts_with("```") || line.starts_with("~~~") {
        return &text[..start];
    }
    if !line.is_empty() && line.chars().all(|c| "-=*_#>`~+ ".contains(c)) {
        return &text[..start];
    }
    let block = text.rfind("\n\n").map_or(0, |at| at + 2);
    if text[block..].trim_start().starts_with('|') {
        let rows = text[block..].matches('\n').count();
        return if rows < 2 { &text[..block] } else { &text[..start] };
    }
    text
}

/// Closes what the last line leaves open, so that a word doesn't show its marks before it shows its style.
fn mended(text: &str) -> Cow<'_, str> {
    let bare = text.trim_end_matches(['*', '_', '`']);
    let text = if bare.is_empty() || bare.ends_with(char::is_whitespace) { bare } else { text };
    let line = text.rsplit('\n').next().unwrap_or_default();
    if line.matches('`').count() % 2 == 1 {
        return format!("{}`", text.trim_end()).into();
    }
    if line.matches("**").count() % 2 == 1 {
        return format!("{}**", text.trim_end().trim_end_matches('*')).into();
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::super::{Role, markdown, texts};
    use super::*;

    const TEXT: &str = "# Plan\n\nFirst **look** at `x`:\n\n- one\n- two\n  - deep\n\n```rust\nfn a() {\n\n    b();\n}\n```\nThen\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> quote\n\nend.";

    fn lines(stream: &mut MarkdownStream) -> Vec<Line> {
        stream.settle();
        stream.lines().cloned().collect()
    }

    #[test]
    fn however_it_is_cut_the_end_is_the_same() {
        let whole = texts(&markdown(TEXT, 30));
        for size in [1, 2, 3, 7, 50] {
            let mut stream = MarkdownStream::new(30);
            let chars: Vec<char> = TEXT.chars().collect();
            for piece in chars.chunks(size) {
                stream.push(&piece.iter().collect::<String>());
                stream.settle();
            }
            assert_eq!(texts(&lines(&mut stream)), whole, "pieces of {size}");
        }
    }

    #[test]
    fn however_code_is_cut_its_words_are_the_same() {
        let whole = markdown(TEXT, 30);
        for size in [1, 3, 40] {
            let mut stream = MarkdownStream::new(30);
            let chars: Vec<char> = TEXT.chars().collect();
            for piece in chars.chunks(size) {
                stream.push(&piece.iter().collect::<String>());
                stream.settle();
            }
            let code = |lines: Vec<Line>| {
                let is_code = |line: &Line| line.text().contains("fn a()");
                lines.into_iter().find(is_code).map(|line| line.spans)
            };
            assert_eq!(code(lines(&mut stream)), code(whole.clone()), "pieces of {size}");
        }
    }

    #[test]
    fn a_line_of_code_gets_its_colours_when_it_is_complete_and_keeps_them() {
        let mut stream = MarkdownStream::new(30);
        stream.push("```rust\nlet a = 1;\nlet");
        let shown = lines(&mut stream);
        assert_eq!(shown[1].spans[1], Span::new("let", Role::Keyword));
        assert_eq!(shown[2].spans[1], Span::new("let", Role::Text));
        stream.push(" b;\n");
        let then = lines(&mut stream);
        assert_eq!(then[..2], shown[..2]);
        assert_eq!(then[2].spans[1], Span::new("let", Role::Keyword));
    }

    #[test]
    fn of_a_very_long_answer_the_same_code_is_told_apart_however_it_comes() {
        let piece = "```rust\nlet a = 1;\n```\n\n- in a list\n  ```rust\n  let b;\n  ```\n\n";
        let text = piece.repeat(code::MOST_OF_AN_ANSWER / 15);
        let mut stream = MarkdownStream::new(30);
        for at in (0..text.len()).step_by(997) {
            stream.push(&text[at..text.len().min(at + 997)]);
            stream.settle();
        }
        stream.push("end\n");
        let (told, whole) = (lines(&mut stream), markdown(&format!("{text}end\n"), 30));
        assert!(told == whole);
        let keywords = whole.iter().flat_map(|line| &line.spans).filter(|s| s.style.role == Role::Keyword);
        assert_eq!(keywords.count(), code::MOST_OF_AN_ANSWER / (11 + 7) * 2);
    }

    #[test]
    fn lines_once_shown_are_not_taken_away() {
        let mut stream = MarkdownStream::new(30);
        let mut most = 0;
        for c in TEXT.chars() {
            stream.push(&c.to_string());
            let count = lines(&mut stream).len();
            assert!(count >= most, "{most} lines became {count} after {:?}", stream.text());
            most = count;
        }
    }

    #[test]
    fn marks_of_things_to_come_are_not_shown() {
        let mut stream = MarkdownStream::new(30);
        let mut shown = Vec::new();
        for c in "say **so** and `do`\n\n```sh\nls\n```\n".chars() {
            stream.push(&c.to_string());
            shown.extend(texts(&lines(&mut stream)));
        }
        assert!(shown.iter().all(|line| !line.contains(['*', '`'])), "{shown:?}");
    }

    #[test]
    fn a_finished_block_is_not_looked_at_again() {
        let mut stream = MarkdownStream::new(30);
        stream.push("one\n\ntwo\n\nthree\nfo");
        stream.settle();
        assert_eq!(&stream.text()[stream.from..], "three\nfo");
        stream.push("ur\n\n```\na\nb\nc");
        stream.settle();
        assert_eq!(&stream.text()[stream.from..], "c");
    }

    #[test]
    fn a_block_without_end_is_finished_by_force() {
        let mut stream = MarkdownStream::new(30);
        for _ in 0..20 {
            stream.push(&"- another item of a list\n".repeat(100));
            stream.settle();
            assert!(stream.text.len() - stream.from <= LARGEST_BLOCK);
        }
        assert_eq!(texts(&lines(&mut stream)), vec!["• another item of a list"; 2_000]);
    }

    #[test]
    fn a_long_paragraph_is_finished_line_by_line_and_a_long_table_in_one() {
        let mut stream = MarkdownStream::new(30);
        for _ in 0..200 {
            stream.push("some **words** of a paragraph\n");
            stream.settle();
            assert!(stream.text.len() - stream.from <= LARGEST_BLOCK + 30);
        }
        assert_eq!(texts(&lines(&mut stream)).iter().filter(|line| line.is_empty()).count(), 0);
        stream.push("\n| a | b |\n|---|---|\n");
        for _ in 0..50 {
            stream.push(&"| one | two |\n".repeat(10));
            stream.settle();
        }
        assert_eq!(texts(&lines(&mut stream)).iter().filter(|line| *line == "one  two").count(), 500);
    }

    #[test]
    fn a_long_text_without_any_line_end_is_finished_too() {
        let mut stream = MarkdownStream::new(30);
        for _ in 0..500 {
            stream.push(&"again and ".repeat(10));
            stream.settle();
        }
        assert!(stream.text.len() - stream.from <= LARGEST_LINE);
    }

    #[test]
    fn another_width_wraps_everything_anew() {
        let mut stream = MarkdownStream::new(30);
        stream.push("one two three\n\nfour five");
        stream.settle();
        stream.set_page(8);
        assert_eq!(texts(&lines(&mut stream)), ["one two", "three", "", "four", "five"]);
    }
}
