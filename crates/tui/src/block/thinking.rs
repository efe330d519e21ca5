//! Thinking blocks. A folded block shows its last lines; an unfolded one shows all lines, laid out
//! incrementally during streaming.
//!
//! Line breaks are preserved, because models don't write paragraphs here. Code isn't highlighted: thinking
//! has a single style.

use tiller_render::{
    self as render, BreakMode, Highlighting, Indent, LayoutOptions, Line, MAX_PROSE_WIDTH, MarkdownStream,
    RenderOptions, Role, Span, Wrap, wrap,
};

use crate::layout::RenderContext;

/// Number of lines of a folded block.
const FOLDED: usize = 2;

/// Bytes of a folded block that are laid out per column of the screen: enough four-byte characters for more
/// lines than are shown.
const FOLDED_BYTES: usize = 4 * (FOLDED + 1);

/// Prefix of the first line.
const MARK: &str = "∴ ";

/// Returns the lines of a thinking block.
pub(super) fn thinking_lines(text: &str, ctx: &RenderContext) -> Vec<Line> {
    let page = page(ctx);
    let (mut lines, mark) = if ctx.folds.thinking_open {
        (layout(text.trim(), page), MARK)
    } else {
        folded_lines(text.trim(), page, ctx.width)
    };
    if lines.is_empty() {
        lines.push(Line::default());
    }
    lines.iter_mut().enumerate().for_each(|(at, line)| style_line(line, if at == 0 { mark } else { "  " }));
    lines
}

/// Returns the layout options, without the columns of the prefix.
fn page(ctx: &RenderContext) -> LayoutOptions {
    let LayoutOptions { rendering, .. } = ctx.layout_options();
    let width = ctx.width.min(ctx.measure).saturating_sub(2).max(1);
    LayoutOptions { width, rendering: RenderOptions { code: Highlighting::Off, ..rendering } }
}

/// Styles a line as thinking and adds its prefix.
fn style_line(line: &mut Line, mark: &str) {
    for span in &mut line.spans {
        span.style = span.style.in_role(Role::Thinking);
    }
    line.prepend_margin(Span::new(mark, Role::Muted));
}

/// Returns the last lines of the text and their prefix; `columns` is the screen's width.
fn folded_lines(text: &str, page: LayoutOptions, columns: usize) -> (Vec<Line>, &'static str) {
    // Only the end is laid out, so long text costs no more than short text.
    let mut from = text.ceil_char_boundary(text.len().saturating_sub(columns * FOLDED_BYTES));
    if from > 0 {
        // Start at a paragraph, because open marks don't extend into the next one.
        let next = text[from..].find("\n\n").filter(|at| *at < (text.len() - from) / 2);
        from += next.unwrap_or(0);
    }
    let mut end = Vec::new();
    for mut line in layout(&text[from..], page.with_width(MAX_PROSE_WIDTH)) {
        // Rules and table borders are dropped.
        line.spans.retain(|span| span.style.role != Role::Muted || !span.text.starts_with('─'));
        if line.spans.is_empty() {
            continue;
        }
        let spaces = match line.wrap {
            Wrap::Soft { spaces } => spaces,
            Wrap::Hard => 1,
        };
        end.push(Span::new(" ".repeat(if end.is_empty() { 0 } else { spaces }), Role::Thinking));
        end.extend(line.spans);
    }
    let mut lines = wrap(&end, page.width.saturating_sub(1).max(1), &Indent::default(), BreakMode::Words);
    let hidden = lines.len().saturating_sub(FOLDED);
    lines.drain(..hidden);
    (lines, if hidden > 0 || from > 0 { "∴ …" } else { MARK })
}

/// The laid-out lines of a text.
fn layout(text: &str, page: LayoutOptions) -> Vec<Line> {
    let (mut breaks, mut out) = (LineBreaks::default(), String::with_capacity(text.len()));
    breaks.push(text, &mut out);
    render::preview(&out, page)
}

/// Preserves line breaks that Markdown would join, except in code blocks.
#[derive(Clone, Debug, Default)]
struct LineBreaks {
    /// The incomplete line.
    line: String,
    /// The open code fence: its character and length.
    fence: Option<(char, usize)>,
}

impl LineBreaks {
    /// Appends the next piece of text to `out`, with its line breaks preserved.
    fn push(&mut self, piece: &str, out: &mut String) {
        for part in piece.split_inclusive('\n') {
            let ended = part.strip_suffix('\n');
            self.line.push_str(ended.unwrap_or(part));
            out.push_str(ended.unwrap_or(part));
            if ended.is_some() {
                let line = std::mem::take(&mut self.line);
                out.push_str(self.line_end(&line));
            }
        }
    }

    /// Returns the line ending for a line.
    fn line_end(&mut self, line: &str) -> &'static str {
        let line = line.trim();
        let mark = line.chars().next().filter(|c| matches!(c, '`' | '~')).unwrap_or(' ');
        let rest = line.trim_start_matches(mark);
        let length = line.len() - rest.len();
        match self.fence {
            Some((open, open_length)) => {
                if mark == open && length >= open_length && rest.is_empty() {
                    self.fence = None;
                }
                "\n"
            }
            None if mark != ' ' && length >= 3 && !(mark == '`' && rest.contains(mark)) => {
                self.fence = Some((mark, length));
                "\n"
            }
            None if line.is_empty() => "\n",
            None => "  \n",
        }
    }
}

/// Thinking that is being streamed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Thinking {
    text: String,
    /// The layout, while the block is unfolded.
    unfolded: Option<Box<ThinkingLayout>>,
}

/// The layout of unfolded thinking. New text changes only the layout of the end.
#[derive(Clone, Debug)]
struct ThinkingLayout {
    stream: MarkdownStream,
    breaks: LineBreaks,
    /// Bytes of the text passed to the stream.
    consumed: usize,
    page: LayoutOptions,
    lines: Vec<Line>,
    /// Number of lines that are final.
    finished: usize,
}

impl Thinking {
    /// Continues `before` if its text is a prefix of `text`, and starts over otherwise.
    pub(crate) fn resume(text: &str, before: Option<Self>) -> Self {
        let known = before.filter(|before| text.starts_with(before.text()));
        let mut thinking = known.unwrap_or_default();
        let from = thinking.text.len();
        thinking.push(&text[from..]);
        thinking
    }

    /// Appends a piece of text.
    pub(crate) fn push(&mut self, piece: &str) {
        self.text.push_str(piece);
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Lays out all lines; returns their number.
    pub(super) fn unfold(&mut self, ctx: &RenderContext) -> usize {
        let page = page(ctx);
        let unfolded = self.unfolded.take().filter(|unfolded| unfolded.page == page);
        let mut unfolded = unfolded.unwrap_or_else(|| Box::new(ThinkingLayout::new(page)));
        unfolded.settle(&self.text);
        let count = unfolded.lines.len();
        self.unfolded = Some(unfolded);
        count
    }

    /// Drops the layout.
    pub(super) fn fold(&mut self) {
        self.unfolded = None;
    }

    /// Returns the lines of the last layout; `None` while folded.
    pub(super) fn lines(&self) -> Option<&[Line]> {
        self.unfolded.as_ref().map(|unfolded| unfolded.lines.as_slice())
    }

    /// Returns true if there is text that the lines don't show yet.
    pub(super) fn lags(&self) -> bool {
        self.unfolded.as_ref().is_some_and(|unfolded| unfolded.stream.has_pending_text())
    }
}

impl ThinkingLayout {
    fn new(page: LayoutOptions) -> Self {
        let stream = MarkdownStream::new(page.clone());
        Self { stream, breaks: LineBreaks::default(), consumed: 0, page, lines: Vec::new(), finished: 0 }
    }

    fn settle(&mut self, text: &str) {
        let mut new = &text[self.consumed..];
        if self.stream.text().is_empty() {
            new = new.trim_start();
        }
        self.consumed = text.len();
        let mut out = String::new();
        self.breaks.push(new, &mut out);
        self.stream.push(&out);
        self.stream.update_lines();
        self.lines.truncate(self.finished);
        for at in self.finished..self.stream.len().max(1) {
            let mut line = self.stream.line(at).cloned().unwrap_or_default();
            style_line(&mut line, if at == 0 { MARK } else { "  " });
            self.lines.push(line);
        }
        self.finished = self.stream.finished();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::FoldDefaults;

    fn shown(text: &str, open: bool) -> Vec<String> {
        let folds = FoldDefaults { thinking_open: open, ..FoldDefaults::default() };
        thinking_lines(text, &RenderContext { width: 30, folds, ..RenderContext::default() })
            .iter()
            .map(Line::text)
            .collect()
    }

    #[test]
    fn thinking_markdown_is_rendered_in_both_folds() {
        let text = "**Looking at the lexer**\n\nIt counts `\\r` **twice**.";
        assert_eq!(shown(text, false), ["∴ Looking at the lexer It", "  counts \\r twice."]);
        assert_eq!(shown(text, true), ["∴ Looking at the lexer", "  ", "  It counts \\r twice."]);
        assert_eq!(shown("**Looking at", false), ["∴ Looking at"], "what still arrives has its marks closed");
        assert_eq!(shown("one\n\n---\n\ntwo", false), ["∴ one two"]);
        assert_eq!(
            shown("one\ntwo\n- three\n- four", true),
            ["∴ one", "  two", "  ", "  • three", "  • four"]
        );
    }

    #[test]
    fn thinking_folded_shows_the_end_within_width() {
        let text = "word ".repeat(2_000) + "\n\n**End** of it.";
        let lines = shown(&text, false);
        assert_eq!(lines, ["∴ …word word word word End of", "  it."]);
        let wide = "日本".repeat(500);
        assert!(
            thinking_lines(&wide, &RenderContext { width: 30, ..RenderContext::default() })
                .iter()
                .all(|line| line.width() <= 30)
        );
        assert_eq!(shown("", false), ["∴ "]);
    }

    #[test]
    fn thinking_dashes_of_the_text_are_kept() {
        assert_eq!(shown("─ one\n\n───\n\n---\n\ntwo", false), ["∴ ─ one ─── two"]);
    }

    #[test]
    fn thinking_code_line_breaks_are_unchanged() {
        let text = "look\n```rust\nlet a;\n  ~~~\n```\nand\nthen\n\n~~~~\n```\nb\n~~~~\n\nend";
        let lines = shown(text, true);
        let code = ["    rust", "    let a;", "      ~~~", "  ", "  and", "  then", "  ", "    ```", "    b"];
        assert_eq!((&*lines[0], &lines[2..lines.len() - 2]), ("∴ look", &code.map(String::from)[..]));
    }

    fn unfolded(width: usize) -> RenderContext {
        RenderContext {
            width,
            folds: FoldDefaults { thinking_open: true, ..FoldDefaults::default() },
            ..RenderContext::default()
        }
    }

    fn said(thinking: &Thinking) -> Vec<String> {
        thinking.lines().unwrap_or_default().iter().map(Line::text).collect()
    }

    #[test]
    fn thinking_streamed_layout_equals_final_layout() {
        let text = "\n  **Looking** at\nthe lexer\n- one\n- two\n\n```rust\nlet a;\n\nlet b;\n```\n\nIt counts \
                    `\\r` twice, and that is more than a line.\n\nSo.";
        let ctx = unfolded(30);
        for size in [1, 2, 7, 1_000] {
            let mut thinking = Thinking::default();
            for piece in text.as_bytes().chunks(size) {
                thinking.push(std::str::from_utf8(piece).expect("ascii"));
                assert!(thinking.unfold(&ctx) > 0);
            }
            assert_eq!(thinking.lines().expect("unfolded"), thinking_lines(text, &ctx), "by {size}");
        }
    }

    #[test]
    fn thinking_streaming_relayouts_only_the_end() {
        let (mut thinking, ctx) = (Thinking::default(), unfolded(30));
        thinking.push("one\n\ntwo\n\nthr");
        thinking.unfold(&ctx);
        let lines = &mut thinking.unfolded.as_mut().expect("unfolded").lines;
        lines[0] = Line::new("as it was", Role::Thinking);
        thinking.push("ee");
        thinking.unfold(&ctx);
        assert_eq!(said(&thinking), ["as it was", "  ", "  two", "  ", "  three"]);
        thinking.unfold(&unfolded(20));
        assert_eq!(said(&thinking)[0], "∴ one", "on another page all of it is");
        let mut again = Thinking::resume("one\n\ntwo\n\nthree four", Some(thinking.clone()));
        again.unfold(&unfolded(20));
        assert_eq!(said(&again)[4], "  three four");
        assert_eq!(Thinking::resume("another", Some(thinking)).text(), "another");
    }
}
