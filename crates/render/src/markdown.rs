//! Renders Markdown for reading: marks are omitted if a style expresses the same.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::link::{AddressStyle, is_misleading, link_addresses, safe_address};
use super::sanitize::sanitized_spans;
use super::table::Table;
use super::wrap::is_margin;
use super::{
    BreakMode, ControlChars, Emphasis, Indent, LayoutOptions, Line, LinkStyle, MAX_PROSE_WIDTH, Role, Span,
    Style, Wrap, code, sanitize, wrap,
};

/// Returns the parser options: the Markdown extensions beyond CommonMark.
#[must_use]
pub fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
}

/// Renders Markdown as lines for the given layout.
#[must_use]
pub fn markdown(text: &str, layout: impl Into<LayoutOptions>) -> Vec<Line> {
    let layout = layout.into();
    let mut left = code::max_answer_bytes(&layout.rendering.code);
    render_part(text, &layout, &mut left)
}

/// Renders part of a longer text; `remaining_bytes` is the remaining budget for highlighting.
pub(super) fn render_part(text: &str, layout: &LayoutOptions, remaining_bytes: &mut usize) -> Vec<Line> {
    let mut writer =
        MarkdownWriter::new(layout, CodeHighlighting::Enabled { remaining_bytes: *remaining_bytes });
    writer.read(text);
    if let CodeHighlighting::Enabled { remaining_bytes: rest } = writer.highlighting {
        *remaining_bytes = rest;
    }
    writer.lines
}

/// Renders a part without highlighting, because it will soon be rendered again.
pub(super) fn render_transient(text: &str, layout: &LayoutOptions) -> Vec<Line> {
    let mut writer = MarkdownWriter::new(layout, CodeHighlighting::Disabled);
    writer.read(text);
    writer.lines
}

struct MarkdownWriter {
    layout: LayoutOptions,
    highlighting: CodeHighlighting,
    lines: Vec<Line>,
    /// Text of the current paragraph, heading, item or cell.
    inline: Vec<Span>,
    styles: Vec<Style>,
    containers: Vec<Container>,
    /// True if a blank line must be written before the next block.
    needs_blank_line: bool,
    /// True if the source has a blank line above the current block.
    has_blank_line_above: bool,
    table: Option<Table>,
    /// The open links; an image may be inside a link.
    links: Vec<OpenLink>,
    code: Option<OpenCodeBlock>,
}

/// The highlighting of code blocks.
enum CodeHighlighting {
    Enabled { remaining_bytes: usize },
    Disabled,
}

/// A block that contains other blocks.
enum Container {
    Quote,
    List { next: Option<u64> },
    Item { marker: Option<Span>, width: usize },
}

struct OpenLink {
    address: String,
    start: usize,
}

#[derive(Default)]
struct OpenCodeBlock {
    language: String,
    text: String,
}

impl MarkdownWriter {
    fn new(layout: &LayoutOptions, highlighting: CodeHighlighting) -> Self {
        Self {
            layout: layout.clone(),
            highlighting,
            lines: Vec::new(),
            inline: Vec::new(),
            styles: Vec::new(),
            containers: Vec::new(),
            needs_blank_line: false,
            has_blank_line_above: false,
            table: None,
            links: Vec::new(),
            code: None,
        }
    }

    fn read(&mut self, text: &str) {
        for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
            if is_block(&event) {
                self.has_blank_line_above = follows_blank_line(text, range.start);
            }
            self.handle(event);
        }
        self.flush();
    }

    fn handle(&mut self, event: Event<'_>) {
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
            // Left as in the source, because the note may be in another part of the text.
            Event::FootnoteReference(name) => self.push(&format!("[^{name}]"), self.style()),
            Event::SoftBreak => self.push(" ", self.style()),
            Event::HardBreak => self.inline.push(Span::new("\n", Role::Text)),
            Event::Rule => {
                self.begin_block();
                let available_width = self.available_width().min(MAX_PROSE_WIDTH);
                self.emit(Line::new("─".repeat(available_width), Role::Muted));
                self.needs_blank_line = true;
            }
            Event::TaskListMarker(is_checked) => self.mark_task(is_checked),
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
                self.code = Some(OpenCodeBlock { language, text: String::new() });
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
                self.needs_blank_line = true;
            }
            TagEnd::FootnoteDefinition => {
                self.flush_item();
                self.containers.pop();
                self.needs_blank_line = true;
            }
            TagEnd::Item => {
                self.flush_item();
                self.containers.pop();
                self.needs_blank_line = true;
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::Table => {
                let table = self.table.take().unwrap_or_default();
                table.render(self.available_width()).into_iter().for_each(|line| self.emit(line));
                self.needs_blank_line = true;
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
        let layout = self.layout.with_width(self.available_width());
        let lines = match &mut self.highlighting {
            CodeHighlighting::Enabled { remaining_bytes } => {
                code::code_block(&code.text, &code.language, &layout, remaining_bytes)
            }
            CodeHighlighting::Disabled => code::plain_block(&code.text, &code.language, &layout),
        };
        with_wrap_marks(lines).into_iter().for_each(|line| self.emit(line));
        self.needs_blank_line = true;
    }

    fn text(&mut self, text: &str) {
        match &mut self.code {
            Some(code) => code.text.push_str(text),
            None => self.push(text, self.style()),
        }
    }

    fn push(&mut self, text: &str, style: Style) {
        self.inline.extend(sanitized_spans(text, style));
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn begin_link(&mut self, address: &str) {
        self.links.push(OpenLink { address: address.to_owned(), start: self.inline.len() });
        self.styles.push(self.style().in_role(Role::Link).with(Emphasis::UNDERLINE));
    }

    /// Turns the text into a link, and writes the address after it unless the text or the link shows it.
    fn end_link(&mut self) {
        self.styles.pop();
        let Some(link) = self.links.pop() else { return };
        let target = safe_address(&link.address);
        let text = &mut self.inline[link.start..];
        let content: String = text.iter().map(|span| span.text.as_str()).collect();
        if target.is_some() {
            text.iter_mut().for_each(|span| span.link.clone_from(&target));
        }
        let is_live = self.layout.rendering.links == LinkStyle::Live && target.is_some();
        let is_same = content == link.address || format!("mailto:{content}") == link.address;
        let is_address_shown =
            is_same || (is_live && !content.trim().is_empty() && !is_misleading(&content, &link.address));
        if !is_address_shown {
            let address = sanitize(&link.address, ControlChars::Visible);
            self.inline.push(Span::new(format!(" ({address})"), Role::Muted).with_link(target));
        }
    }

    fn begin_item(&mut self) {
        self.flush_item();
        if std::mem::take(&mut self.needs_blank_line) && self.has_blank_line_above {
            self.blank_line();
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

    fn mark_task(&mut self, is_checked: bool) {
        if let Some(Container::Item { marker: Some(marker), width }) = self.containers.last_mut() {
            *marker =
                if is_checked { Span::new("☑ ", Role::Success) } else { Span::new("☐ ", Role::Muted) };
            *width = marker.width();
        }
    }

    fn end_cell(&mut self) {
        let cell = link_addresses(std::mem::take(&mut self.inline), AddressStyle::AsLink);
        if let Some(table) = &mut self.table {
            table.current_row.push(cell);
        }
    }

    fn end_row(&mut self, put: impl FnOnce(&mut Table, Vec<Vec<Span>>)) {
        if let Some(table) = &mut self.table {
            let row = std::mem::take(&mut table.current_row);
            put(table, row);
        }
    }

    /// Begins a block: writes the preceding text of the item, and a blank line if needed. Within an item,
    /// blank lines are those of the source, because the parser's notion of a loose list depends on later
    /// text, even in other items.
    fn begin_block(&mut self) {
        self.flush();
        let is_in_item = matches!(self.containers.last(), Some(Container::Item { .. }));
        if std::mem::take(&mut self.needs_blank_line) && (self.has_blank_line_above || !is_in_item) {
            self.blank_line();
        }
    }

    fn blank_line(&mut self) {
        let prefix = self.prefix();
        self.lines.push(Line::from(prefix));
    }

    fn end_block(&mut self) {
        self.flush();
        self.needs_blank_line = true;
    }

    /// Writes the current paragraph.
    fn flush(&mut self) {
        if self.inline.is_empty() {
            return;
        }
        let first = self.marked_prefix();
        let indent = Indent { first, rest: self.prefix() };
        let spans = link_addresses(std::mem::take(&mut self.inline), AddressStyle::AsLink);
        self.lines.extend(wrap(&spans, self.layout.width.min(MAX_PROSE_WIDTH), &indent, BreakMode::Words));
    }

    /// Writes an item's text; an empty item still gets a marker.
    fn flush_item(&mut self) {
        self.flush();
        if matches!(self.containers.last(), Some(Container::Item { marker: Some(_), .. })) {
            let spans = self.marked_prefix();
            self.lines.push(Line::from(spans));
        }
    }

    fn emit(&mut self, mut line: Line) {
        let prefix = self.marked_prefix();
        if prefix.iter().all(|span| is_margin(&span.text)) {
            line.margins.before += prefix.len();
        } else {
            line.margins.before = 0;
        }
        line.spans.splice(0..0, prefix);
        self.lines.push(line);
    }

    fn available_width(&self) -> usize {
        self.layout.width.saturating_sub(self.prefix().iter().map(Span::width).sum()).max(1)
    }

    /// Returns the spans before a line that isn't an item's first.
    fn prefix(&self) -> Vec<Span> {
        self.containers.iter().filter_map(Container::spacing).collect()
    }

    /// Returns the spans before the next line, with the item's marker the first time.
    fn marked_prefix(&mut self) -> Vec<Span> {
        let spans = |container: &mut Container| match container {
            Container::Item { marker, .. } => marker.take().or_else(|| container.spacing()),
            Container::Quote | Container::List { .. } => container.spacing(),
        };
        self.containers.iter_mut().filter_map(spans).collect()
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

/// Returns true for the start of a block. Checking the line above every inline element would take quadratic
/// time in a long line.
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

/// Returns true if the line above this position is blank except for quote marks.
fn follows_blank_line(text: &str, at: usize) -> bool {
    let above = text[..at].rfind('\n').map(|end| &text[..end]);
    above.is_some_and(|above| {
        let line = &above[above.rfind('\n').map_or(0, |end| end + 1)..];
        line.chars().all(|c| c.is_whitespace() || c == '>')
    })
}

/// Marks rows that continue the row above, for code.
pub(super) fn with_wrap_marks(mut rows: Vec<Line>) -> Vec<Line> {
    for row in rows.iter_mut().filter(|row| row.wrap != Wrap::Hard) {
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
        // Lower levels have one `›` per level, because there are too few text styles to distinguish them.
        HeadingLevel::H3 | HeadingLevel::H4 => style.with(Emphasis::BOLD),
        HeadingLevel::H5 | HeadingLevel::H6 => style.with(Emphasis::ITALIC),
    }
}

#[cfg(test)]
mod tests;
