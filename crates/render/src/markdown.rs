//! Markdown as a person reads it in a column of text: no marks where a style says the same.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::link::{LinkSource, linked, misleads, safe_address};
use super::sanitize::shown;
use super::table::Table;
use super::wrap::is_margin;
use super::{
    Breaks, ControlChars, Emphasis, Indent, LayoutOptions, Line, LinkStyle, MEASURE, Role, Span, Style, Wrap,
    code, sanitize, wrap,
};

/// What of Markdown is understood beyond CommonMark.
#[must_use]
pub fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
}

/// Markdown as lines that a page has room for.
#[must_use]
pub fn markdown(text: &str, page: impl Into<LayoutOptions>) -> Vec<Line> {
    let page = page.into();
    part(text, page, &mut { code::most_of_an_answer(page.manner.code) })
}

/// A part of a longer text, of whose code `left` bytes may still be told apart.
pub(super) fn part(text: &str, page: LayoutOptions, left: &mut usize) -> Vec<Line> {
    let mut writer = Writer::new(page, Words::Told { left: *left });
    writer.read(text);
    if let Words::Told { left: rest } = writer.words {
        *left = rest;
    }
    writer.lines
}

/// The same for a part that is soon shown anew, so that telling the words of its code apart would be work in vain.
pub(super) fn passing(text: &str, page: LayoutOptions) -> Vec<Line> {
    let mut writer = Writer::new(page, Words::Untold);
    writer.read(text);
    writer.lines
}

struct Writer {
    page: LayoutOptions,
    words: Words,
    lines: Vec<Line>,
    /// What the paragraph, heading, item or cell being read says so far.
    inline: Vec<Span>,
    styles: Vec<Style>,
    containers: Vec<Container>,
    /// Whether the next block stands apart from what is above it.
    gap: bool,
    /// Whether a line is free above the block that begins, in the source.
    is_apart: bool,
    table: Option<Table>,
    /// Those that are open; an image may stand in a link.
    links: Vec<Link>,
    code: Option<Code>,
}

/// Whether the words of code are told apart.
enum Words {
    Told { left: usize },
    Untold,
}

/// What a block stands in.
enum Container {
    Quote,
    List { next: Option<u64> },
    Item { marker: Option<Span>, width: usize },
}

struct Link {
    address: String,
    from: usize,
}

#[derive(Default)]
struct Code {
    language: String,
    text: String,
}

impl Writer {
    fn new(page: LayoutOptions, words: Words) -> Self {
        Self {
            page,
            words,
            lines: Vec::new(),
            inline: Vec::new(),
            styles: Vec::new(),
            containers: Vec::new(),
            gap: false,
            is_apart: false,
            table: None,
            links: Vec::new(),
            code: None,
        }
    }

    fn read(&mut self, text: &str) {
        for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
            if is_block(&event) {
                self.is_apart = follows_free_line(text, range.start);
            }
            self.take(event);
        }
        self.flush();
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) => {
                let style = self.style().in_role(Role::Code);
                self.push(&text, style);
            }
            Event::InlineMath(text) | Event::DisplayMath(text) => self.push(&text, Role::Code.into()),
            Event::Html(text) | Event::InlineHtml(text) => self.push(&text, Role::Muted.into()),
            // As it stands: a part of a text may be read without the note.
            Event::FootnoteReference(name) => self.push(&format!("[^{name}]"), self.style()),
            Event::SoftBreak => self.push(" ", self.style()),
            Event::HardBreak => self.inline.push(Span::new("\n", Role::Text)),
            Event::Rule => {
                self.begin_block();
                let room = self.room().min(MEASURE);
                self.emit(Line::new("─".repeat(room), Role::Muted));
                self.gap = true;
            }
            Event::TaskListMarker(done) => self.mark_task(done),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.begin_block(),
            Tag::Heading { level, .. } => {
                self.begin_block();
                self.styles.push(heading(level));
                if level >= HeadingLevel::H3 {
                    self.push(&format!("{} ", "›".repeat(level as usize - 2)), Role::Muted.into());
                }
            }
            Tag::FootnoteDefinition(name) => self.begin_note(&name),
            Tag::BlockQuote(_) => {
                self.begin_block();
                self.containers.push(Container::Quote);
            }
            Tag::CodeBlock(kind) => {
                self.begin_block();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some(Code { language, text: String::new() });
            }
            Tag::List(next) => {
                self.begin_block();
                self.containers.push(Container::List { next });
            }
            Tag::Item => self.begin_item(),
            Tag::Table(alignments) => {
                self.begin_block();
                self.table = Some(Table { alignments, ..Table::default() });
            }
            Tag::Emphasis => self.styles.push(self.style().with(Emphasis::ITALIC)),
            Tag::Strong => self.styles.push(self.style().with(Emphasis::BOLD)),
            Tag::Strikethrough => self.styles.push(self.style().with(Emphasis::STRIKE)),
            Tag::Link { dest_url, .. } => self.begin_link(&dest_url),
            Tag::Image { dest_url, .. } => {
                self.push("▣ ", Role::Muted.into());
                self.begin_link(&dest_url);
            }
            _ => {}
        }
    }

    fn begin_note(&mut self, name: &str) {
        self.begin_block();
        let text = sanitize(&format!("[^{name}] "), ControlChars::Visible).into_owned();
        let marker = Span::new(text, Role::Accent);
        self.containers.push(Container::Item { width: marker.width(), marker: Some(marker) });
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_block(),
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.end_block();
            }
            TagEnd::BlockQuote(_) | TagEnd::List(_) => {
                self.containers.pop();
                self.gap = true;
            }
            TagEnd::FootnoteDefinition => {
                self.flush_item();
                self.containers.pop();
                self.gap = true;
            }
            TagEnd::Item => {
                self.flush_item();
                self.containers.pop();
                self.gap = true;
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::Table => {
                let table = self.table.take().unwrap_or_default();
                table.render(self.room()).into_iter().for_each(|line| self.emit(line));
                self.gap = true;
            }
            TagEnd::TableCell => self.end_cell(),
            TagEnd::TableHead => self.end_row(|table, row| table.header = row),
            TagEnd::TableRow => self.end_row(|table, row| table.rows.push(row)),
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    fn end_code(&mut self) {
        let code = self.code.take().unwrap_or_default();
        let page = self.page.of_width(self.room());
        let lines = match &mut self.words {
            Words::Told { left } => code::code_block(&code.text, &code.language, page, left),
            Words::Untold => code::unread_block(&code.text, &code.language, page),
        };
        marked(lines).into_iter().for_each(|line| self.emit(line));
        self.gap = true;
    }

    fn text(&mut self, text: &str) {
        match &mut self.code {
            Some(code) => code.text.push_str(text),
            None => self.push(text, self.style()),
        }
    }

    fn push(&mut self, text: &str, style: Style) {
        self.inline.extend(shown(text, style));
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn begin_link(&mut self, address: &str) {
        self.links.push(Link { address: address.to_owned(), from: self.inline.len() });
        self.styles.push(self.style().in_role(Role::Link).with(Emphasis::UNDERLINE));
    }

    /// Makes the text lead to the address, and writes that behind it where the text says something else and nothing but the
    /// address would tell.
    fn end_link(&mut self) {
        self.styles.pop();
        let Some(link) = self.links.pop() else { return };
        let leads_to = safe_address(&link.address);
        let text = &mut self.inline[link.from..];
        let said: String = text.iter().map(|span| span.text.as_str()).collect();
        if leads_to.is_some() {
            text.iter_mut().for_each(|span| span.link.clone_from(&leads_to));
        }
        let live = self.page.manner.links == LinkStyle::Live && leads_to.is_some();
        let is_same = said == link.address || format!("mailto:{said}") == link.address;
        let told = is_same || (live && !said.trim().is_empty() && !misleads(&said, &link.address));
        if !told {
            let address = sanitize(&link.address, ControlChars::Visible);
            self.inline.push(Span::new(format!(" ({address})"), Role::Muted).leading_to(leads_to));
        }
    }

    fn begin_item(&mut self) {
        self.flush_item();
        if std::mem::take(&mut self.gap) && self.is_apart {
            self.free_line();
        }
        let text = match self.containers.last_mut() {
            Some(Container::List { next: Some(number) }) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "• ".to_owned(),
        };
        let marker = Span::new(text, Role::Accent);
        self.containers.push(Container::Item { width: marker.width(), marker: Some(marker) });
    }

    fn mark_task(&mut self, done: bool) {
        if let Some(Container::Item { marker: Some(marker), width }) = self.containers.last_mut() {
            *marker = if done { Span::new("☑ ", Role::Success) } else { Span::new("☐ ", Role::Muted) };
            *width = marker.width();
        }
    }

    fn end_cell(&mut self) {
        let cell = linked(std::mem::take(&mut self.inline), LinkSource::AsLink);
        if let Some(table) = &mut self.table {
            table.open.push(cell);
        }
    }

    fn end_row(&mut self, put: impl FnOnce(&mut Table, Vec<Vec<Span>>)) {
        if let Some(table) = &mut self.table {
            let row = std::mem::take(&mut table.open);
            put(table, row);
        }
    }

    /// A block begins: what an item said before it is written, and a line is left free if one should be. In an item that is where the
    /// source has one: the parser's word depends on what comes later, also in other items.
    fn begin_block(&mut self) {
        self.flush();
        let is_in_item = matches!(self.containers.last(), Some(Container::Item { .. }));
        if std::mem::take(&mut self.gap) && (self.is_apart || !is_in_item) {
            self.free_line();
        }
    }

    fn free_line(&mut self) {
        let before = self.prefix();
        self.lines.push(Line::from(before));
    }

    fn end_block(&mut self) {
        self.flush();
        self.gap = true;
    }

    /// Writes the paragraph read so far.
    fn flush(&mut self) {
        if self.inline.is_empty() {
            return;
        }
        let first = self.marked_prefix();
        let indent = Indent { first, rest: self.prefix() };
        let spans = linked(std::mem::take(&mut self.inline), LinkSource::AsLink);
        self.lines.extend(wrap(&spans, self.page.width.min(MEASURE), &indent, Breaks::Words));
    }

    /// Writes what an item said; an item that said nothing still has its mark.
    fn flush_item(&mut self) {
        self.flush();
        if matches!(self.containers.last(), Some(Container::Item { marker: Some(_), .. })) {
            let spans = self.marked_prefix();
            self.lines.push(Line::from(spans));
        }
    }

    fn emit(&mut self, mut line: Line) {
        let before = self.marked_prefix();
        if before.iter().all(|span| is_margin(&span.text)) {
            line.margins.before += before.len();
        } else {
            line.margins.before = 0;
        }
        line.spans.splice(0..0, before);
        self.lines.push(line);
    }

    fn room(&self) -> usize {
        self.page.width.saturating_sub(self.prefix().iter().map(Span::width).sum()).max(1)
    }

    /// What stands before every line but an item's first.
    fn prefix(&self) -> Vec<Span> {
        self.containers.iter().filter_map(Container::spacing).collect()
    }

    /// What stands before the next line; an item's mark stands there once.
    fn marked_prefix(&mut self) -> Vec<Span> {
        let before = |container: &mut Container| match container {
            Container::Item { marker, .. } => marker.take().or_else(|| container.spacing()),
            Container::Quote | Container::List { .. } => container.spacing(),
        };
        self.containers.iter_mut().filter_map(before).collect()
    }
}

impl Container {
    fn spacing(&self) -> Option<Span> {
        match self {
            Self::Quote => Some(Span::new("│ ", Role::Quote)),
            Self::List { .. } => None,
            Self::Item { width, .. } => Some(Span::new(" ".repeat(*width), Role::Text)),
        }
    }
}

/// Whether a block begins. Looking for the line above each emphasis of a long line would take time by the square of its length.
fn is_block(event: &Event<'_>) -> bool {
    match event {
        Event::Start(tag) => !matches!(
            tag,
            Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. }
        ),
        Event::Rule => true,
        _ => false,
    }
}

/// Whether the line above the one of this place is free, but for the marks of quotes.
fn follows_free_line(text: &str, at: usize) -> bool {
    let above = text[..at].rfind('\n').map(|end| &text[..end]);
    above.is_some_and(|above| {
        let line = &above[above.rfind('\n').map_or(0, |end| end + 1)..];
        line.chars().all(|c| c.is_whitespace() || c == '>')
    })
}

/// Rows of code, those with a mark beside them that go on with the row above.
pub(super) fn marked(mut rows: Vec<Line>) -> Vec<Line> {
    for row in rows.iter_mut().filter(|row| row.joint != Wrap::Hard) {
        if let Some(margin) = row.spans.first_mut().filter(|margin| margin.text == code::INDENT) {
            *margin = Span::new("↳ ", Role::Muted);
        }
    }
    rows
}

fn heading(level: HeadingLevel) -> Style {
    let style = Style::from(Role::Heading);
    match level {
        HeadingLevel::H1 => style.with(Emphasis::BOLD).with(Emphasis::UNDERLINE),
        HeadingLevel::H2 => style.with(Emphasis::BOLD),
        // Those below have a mark for each level more: there are no more ways to stand out than people tell apart.
        HeadingLevel::H3 | HeadingLevel::H4 => style.with(Emphasis::BOLD),
        HeadingLevel::H5 | HeadingLevel::H6 => style.with(Emphasis::ITALIC),
    }
}

#[cfg(test)]
mod tests;
