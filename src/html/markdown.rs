//! Renders Markdown as HTML. HTML in the Markdown is escaped, links may lead only to the web or to mail, and
//! images aren't loaded.

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Parser, Tag, TagEnd};

use super::markup::{Markup, safe_address};
use crate::render::{Highlighting, Language, highlight, markdown_options};

pub(super) fn markdown(text: &str) -> Markup {
    let mut writer = HtmlWriter::default();
    for event in Parser::new_ext(text, markdown_options()) {
        writer.handle(event);
    }
    writer.out
}

/// Renders highlighted code.
pub(super) fn code(text: &str, language: Language<'_>) -> Markup {
    let mut out = Markup::default();
    out.tags("<pre tabindex=\"0\"><code>");
    for line in highlight(text, language, &Highlighting::Sync) {
        out.spans(&line.spans).tags("\n");
    }
    out.tags("</code></pre>");
    out
}

#[derive(Default)]
struct HtmlWriter {
    out: Markup,
    code: Option<(String, String)>,
    /// The addresses of the open links; `None` for one that isn't allowed.
    links: Vec<Option<String>>,
    alignments: Vec<Alignment>,
    column: usize,
    in_head: bool,
}

impl HtmlWriter {
    fn handle(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => _ = self.out.text(&text),
            },
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.out.tags("<code>").text(&text).tags("</code>");
            }
            Event::Html(text) | Event::InlineHtml(text) => _ = self.out.text(&text),
            Event::FootnoteReference(name) => _ = self.out.tags("[^").text(&name).tags("]"),
            Event::SoftBreak => _ = self.out.tags("\n"),
            Event::HardBreak => _ = self.out.tags("<br>\n"),
            Event::Rule => _ = self.out.tags("<hr>\n"),
            Event::TaskListMarker(done) => {
                self.out.tags(if done {
                    "<span class=\"task\" role=\"img\" aria-label=\"done\">☑</span> "
                } else {
                    "<span class=\"task\" role=\"img\" aria-label=\"open\">☐</span> "
                });
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => _ = self.out.tags("<p>"),
            Tag::Heading { level, .. } => _ = self.out.tags(heading(level).0),
            Tag::BlockQuote(_) => _ = self.out.tags("<blockquote>\n"),
            Tag::HtmlBlock => _ = self.out.tags("<p class=\"raw\">"),
            Tag::CodeBlock(kind) => {
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(None) => _ = self.out.tags("<ul>\n"),
            Tag::List(Some(first)) => {
                self.out.tags("<ol").attribute("start", &first.to_string()).tags(">\n");
            }
            Tag::Item => _ = self.out.tags("<li>"),
            Tag::Table(alignments) => {
                self.alignments = alignments;
                self.out.tags("<div class=\"wide\" tabindex=\"0\" role=\"group\"><table>\n");
            }
            Tag::TableHead => {
                (self.column, self.in_head) = (0, true);
                self.out.tags("<thead><tr>");
            }
            Tag::TableRow => {
                self.column = 0;
                self.out.tags("<tr>");
            }
            Tag::TableCell => self.cell(),
            Tag::FootnoteDefinition(name) => {
                self.out.tags("<div class=\"note\">[^").text(&name).tags("] ");
            }
            Tag::Emphasis => _ = self.out.tags("<em>"),
            Tag::Strong => _ = self.out.tags("<strong>"),
            Tag::Strikethrough => _ = self.out.tags("<s>"),
            Tag::Link { dest_url, .. } => self.link(&dest_url),
            Tag::Image { dest_url, .. } => {
                self.link(&dest_url);
                self.out.tags("image: ");
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => _ = self.out.tags("</p>\n"),
            TagEnd::Heading(level) => _ = self.out.tags(heading(level).1),
            TagEnd::BlockQuote(_) => _ = self.out.tags("</blockquote>\n"),
            TagEnd::CodeBlock => {
                if let Some((language, text)) = self.code.take() {
                    self.out.markup(&code(&text, Language::Named(&language))).tags("\n");
                }
            }
            TagEnd::List(false) => _ = self.out.tags("</ul>\n"),
            TagEnd::List(true) => _ = self.out.tags("</ol>\n"),
            TagEnd::Item => _ = self.out.tags("</li>\n"),
            TagEnd::Table => _ = self.out.tags("</tbody></table></div>\n"),
            TagEnd::TableHead => {
                self.in_head = false;
                self.out.tags("</tr></thead>\n<tbody>\n");
            }
            TagEnd::TableRow => _ = self.out.tags("</tr>\n"),
            TagEnd::FootnoteDefinition => _ = self.out.tags("</div>\n"),
            TagEnd::TableCell => _ = self.out.tags(if self.in_head { "</th>" } else { "</td>" }),
            TagEnd::Emphasis => _ = self.out.tags("</em>"),
            TagEnd::Strong => _ = self.out.tags("</strong>"),
            TagEnd::Strikethrough => _ = self.out.tags("</s>"),
            TagEnd::Link | TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    fn cell(&mut self) {
        let alignment = self.alignments.get(self.column).copied().unwrap_or(Alignment::None);
        self.column += 1;
        self.out.tags(if self.in_head { "<th" } else { "<td" });
        match alignment {
            Alignment::Right => _ = self.out.attribute("class", "right"),
            Alignment::Center => _ = self.out.attribute("class", "centre"),
            Alignment::None | Alignment::Left => {}
        }
        self.out.tags(">");
    }

    fn end_link(&mut self) {
        if self.links.pop().flatten().is_some() {
            self.out.tags("</a>");
        }
    }

    /// Begins a link. HTML has no nested links, so an inner one is dropped.
    fn link(&mut self, address: &str) {
        let inside = self.links.iter().any(Option::is_some);
        let address = safe_address(address).filter(|_| !inside).map(str::to_owned);
        if let Some(address) = &address {
            self.out.tags("<a rel=\"noopener noreferrer\"").attribute("href", address).tags(">");
        }
        self.links.push(address);
    }
}

/// Returns the tags of a heading. The page's title is level 1, an entry's header level 2.
const fn heading(level: HeadingLevel) -> (&'static str, &'static str) {
    match level {
        HeadingLevel::H1 => ("<h3 class=\"first\">", "</h3>\n"),
        HeadingLevel::H2 => ("<h3>", "</h3>\n"),
        HeadingLevel::H3 => ("<h4>", "</h4>\n"),
        HeadingLevel::H4 => ("<h5>", "</h5>\n"),
        HeadingLevel::H5 | HeadingLevel::H6 => ("<h6>", "</h6>\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_html_is_escaped_and_images_are_links() {
        let html = markdown("<script>a</script>\n\nb <b onclick='x'>c</b> ![d](http://e/f.png) ![g](data:x)");
        assert_eq!(
            html.as_str(),
            "<p class=\"raw\">&lt;script&gt;a&lt;/script&gt;\n</p>\n<p>b &lt;b onclick=&#39;x&#39;&gt;c&lt;/b&gt; \
             <a rel=\"noopener noreferrer\" href=\"http://e/f.png\">image: d</a> image: g</p>\n"
        );
    }

    #[test]
    fn markdown_unsafe_links_are_text() {
        let html =
            markdown("[a](javascript:alert(1)) [b](<java\tscript:x>) [c](HTTP://d?\"e) <mailto:f@g.h>");
        assert_eq!(
            html.as_str(),
            "<p>a b <a rel=\"noopener noreferrer\" href=\"HTTP://d?&quot;e\">c</a> \
             <a rel=\"noopener noreferrer\" href=\"mailto:f@g.h\">mailto:f@g.h</a></p>\n"
        );
    }

    #[test]
    fn markdown_blocks_and_code_have_their_tags() {
        let html = markdown("# A\n- [x] b\n\n```rust\nlet <c>;\n```\n\n|d|e|\n|-|-:|\n|1|2|");
        assert_eq!(
            html.as_str(),
            "<h3 class=\"first\">A</h3>\n<ul>\n<li><span class=\"task\" role=\"img\" aria-label=\"done\">☑</span> b</li>\n</ul>\n\
             <pre tabindex=\"0\"><code><span class=\"k\">let</span> <span class=\"o\">&lt;</span>c<span class=\"o\">&gt;</span>;\n</code></pre>\n\
             <div class=\"wide\" tabindex=\"0\" role=\"group\"><table>\n<thead><tr><th>d</th><th class=\"right\">e</th></tr></thead>\n\
             <tbody>\n<tr><td>1</td><td class=\"right\">2</td></tr>\n</tbody></table></div>\n"
        );
    }
}
