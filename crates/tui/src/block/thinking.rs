//! What the model says to itself: folded its last lines, unfolded all of it, laid out piece by piece while it arrives.
//!
//! Its lines stay lines, for what thinks doesn't lay out paragraphs, and its code stays plain: all of it has one look.

use tiller_render::{
    self as render, Breaks, Highlighting, Indent, LayoutOptions, Line, MEASURE, MarkdownStream,
    RenderOptions, Role, Span, Wrap, wrap,
};

use crate::layout::RenderContext;

/// Lines of a thought shown before it is unfolded.
const FOLDED: usize = 2;

/// Bytes of a folded thought that are looked at, for each column of its lines: enough of four-byte characters for more lines than
/// are shown.
const GLANCE: usize = 4 * (FOLDED + 1);

/// What stands before the first line of a thought.
const MARK: &str = "∴ ";

/// The lines of a thought.
pub(super) fn thought(text: &str, ctx: &RenderContext) -> Vec<Line> {
    let page = page(ctx);
    let (mut lines, mark) = if ctx.folds.thinking_open {
        (glance(text.trim(), page), MARK)
    } else {
        end_of_thought(text.trim(), page, ctx.width)
    };
    if lines.is_empty() {
        lines.push(Line::default());
    }
    lines.iter_mut().enumerate().for_each(|(at, line)| dress(line, if at == 0 { mark } else { "  " }));
    lines
}

/// What a thought is laid out for, but for what stands before its lines.
fn page(ctx: &RenderContext) -> LayoutOptions {
    let LayoutOptions { manner, .. } = ctx.page();
    let width = ctx.width.min(ctx.measure).saturating_sub(2).max(1);
    LayoutOptions { width, manner: RenderOptions { code: Highlighting::Off, ..manner } }
}

/// Gives a line the look of a thought's.
fn dress(line: &mut Line, mark: &str) {
    for span in &mut line.spans {
        span.style = span.style.in_role(Role::Thinking);
    }
    line.set_in(Span::new(mark, Role::Muted));
}

/// The last lines of a thought, and the mark before them; `columns` are those of the screen.
fn end_of_thought(text: &str, page: LayoutOptions, columns: usize) -> (Vec<Line>, &'static str) {
    // A glance at the end of the thought is enough, and a long one costs no more than a short one.
    let mut from = text.ceil_char_boundary(text.len().saturating_sub(columns * GLANCE));
    if from > 0 {
        // Nothing that is marked goes on into the next paragraph.
        let next = text[from..].find("\n\n").filter(|at| *at < (text.len() - from) / 2);
        from += next.unwrap_or(0);
    }
    let mut end = Vec::new();
    for mut line in glance(&text[from..], page.of_width(MEASURE)) {
        // Of strokes only what they stand between is said.
        line.spans.retain(|span| span.style.role != Role::Muted || !span.text.starts_with('─'));
        if line.spans.is_empty() {
            continue;
        }
        let spaces = match line.joint {
            Wrap::Soft { spaces } => spaces,
            Wrap::Hard => 1,
        };
        end.push(Span::new(" ".repeat(if end.is_empty() { 0 } else { spaces }), Role::Thinking));
        end.extend(line.spans);
    }
    let mut lines = wrap(&end, page.width.saturating_sub(1).max(1), &Indent::default(), Breaks::Words);
    let hidden = lines.len().saturating_sub(FOLDED);
    lines.drain(..hidden);
    (lines, if hidden > 0 || from > 0 { "∴ …" } else { MARK })
}

/// What a thought means.
fn glance(text: &str, page: LayoutOptions) -> Vec<Line> {
    let (mut breaks, mut kept) = (LineBreaks::default(), String::with_capacity(text.len()));
    breaks.keep(text, &mut kept);
    render::glance(&kept, page)
}

/// Keeps the ends of lines that Markdown would run together. Code has its own, and none is added to it.
#[derive(Clone, Debug, Default)]
struct LineBreaks {
    /// The line so far that isn't ended.
    line: String,
    /// The mark that the open block of code begins with, and how often.
    fence: Option<(char, usize)>,
}

impl LineBreaks {
    /// Takes the next piece of a text; adds it as it is to be read to `kept`.
    fn keep(&mut self, piece: &str, kept: &mut String) {
        for part in piece.split_inclusive('\n') {
            let said = part.strip_suffix('\n');
            self.line.push_str(said.unwrap_or(part));
            kept.push_str(said.unwrap_or(part));
            if said.is_some() {
                let line = std::mem::take(&mut self.line);
                kept.push_str(self.after(&line));
            }
        }
    }

    /// What ends this line.
    fn after(&mut self, line: &str) -> &'static str {
        let line = line.trim();
        let mark = line.chars().next().filter(|c| matches!(c, '`' | '~')).unwrap_or(' ');
        let rest = line.trim_start_matches(mark);
        let length = line.len() - rest.len();
        match self.fence {
            Some((open, least)) => {
                if mark == open && length >= least && rest.is_empty() {
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

/// A thought that is still arriving.
#[derive(Clone, Debug, Default)]
pub(crate) struct Thinking {
    text: String,
    /// All of it, while it is unfolded.
    unfolded: Option<Box<Unfolded>>,
}

/// What is laid out of a thought. Only its end is laid out anew when more of it arrives.
#[derive(Clone, Debug)]
struct Unfolded {
    stream: MarkdownStream,
    breaks: LineBreaks,
    /// How many bytes of the text the stream has.
    taken: usize,
    page: LayoutOptions,
    lines: Vec<Line>,
    /// How many of them won't change.
    finished: usize,
}

impl Thinking {
    /// A thought of which so much has arrived, on from what was on the screen of it.
    pub(crate) fn grown_to(text: &str, before: Option<Self>) -> Self {
        let known = before.filter(|before| text.starts_with(before.text()));
        let mut musing = known.unwrap_or_default();
        let from = musing.text.len();
        musing.push(&text[from..]);
        musing
    }

    /// Takes the next piece.
    pub(crate) fn push(&mut self, piece: &str) {
        self.text.push_str(piece);
    }

    /// All of it so far.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Lays all of it out; says how many lines it has.
    pub(super) fn unfold(&mut self, ctx: &RenderContext) -> usize {
        let page = page(ctx);
        let unfolded = self.unfolded.take().filter(|unfolded| unfolded.page == page);
        let mut unfolded = unfolded.unwrap_or_else(|| Box::new(Unfolded::new(page)));
        unfolded.settle(&self.text);
        let count = unfolded.lines.len();
        self.unfolded = Some(unfolded);
        count
    }

    /// Lets go of what was laid out.
    pub(super) fn fold(&mut self) {
        self.unfolded = None;
    }

    /// The lines as they were last unfolded; `None` while it is folded.
    pub(super) fn lines(&self) -> Option<&[Line]> {
        self.unfolded.as_ref().map(|unfolded| unfolded.lines.as_slice())
    }

    /// Whether there is text that the lines don't show yet.
    pub(super) fn lags(&self) -> bool {
        self.unfolded.as_ref().is_some_and(|unfolded| unfolded.stream.lags())
    }
}

impl Unfolded {
    fn new(page: LayoutOptions) -> Self {
        let stream = MarkdownStream::new(page);
        Self { stream, breaks: LineBreaks::default(), taken: 0, page, lines: Vec::new(), finished: 0 }
    }

    fn settle(&mut self, text: &str) {
        let mut new = &text[self.taken..];
        if self.stream.text().is_empty() {
            new = new.trim_start();
        }
        self.taken = text.len();
        let mut kept = String::new();
        self.breaks.keep(new, &mut kept);
        self.stream.push(&kept);
        self.stream.settle();
        self.lines.truncate(self.finished);
        for at in self.finished..self.stream.len().max(1) {
            let mut line = self.stream.line(at).cloned().unwrap_or_default();
            dress(&mut line, if at == 0 { MARK } else { "  " });
            self.lines.push(line);
        }
        self.finished = self.stream.finished();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Folds;

    fn shown(text: &str, open: bool) -> Vec<String> {
        let folds = Folds { thinking_open: open, ..Folds::default() };
        thought(text, &RenderContext { width: 30, folds, ..RenderContext::default() })
            .iter()
            .map(Line::text)
            .collect()
    }

    #[test]
    fn a_thought_is_shown_as_what_it_means_whether_it_is_folded_or_not() {
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
    fn of_a_long_thought_the_end_is_shown_and_nothing_is_too_wide() {
        let text = "word ".repeat(2_000) + "\n\n**End** of it.";
        let lines = shown(&text, false);
        assert_eq!(lines, ["∴ …word word word word End of", "  it."]);
        let wide = "日本".repeat(500);
        assert!(
            thought(&wide, &RenderContext { width: 30, ..RenderContext::default() })
                .iter()
                .all(|line| line.width() <= 30)
        );
        assert_eq!(shown("", false), ["∴ "]);
    }

    #[test]
    fn strokes_that_the_model_made_are_said() {
        assert_eq!(shown("─ one\n\n───\n\n---\n\ntwo", false), ["∴ ─ one ─── two"]);
    }

    #[test]
    fn code_has_its_own_line_breaks_and_nothing_is_added_to_it() {
        let text = "look\n```rust\nlet a;\n  ~~~\n```\nand\nthen\n\n~~~~\n```\nb\n~~~~\n\nend";
        let lines = shown(text, true);
        let code = ["    rust", "    let a;", "      ~~~", "  ", "  and", "  then", "  ", "    ```", "    b"];
        assert_eq!((&*lines[0], &lines[2..lines.len() - 2]), ("∴ look", &code.map(String::from)[..]));
    }

    fn unfolded(width: usize) -> RenderContext {
        RenderContext {
            width,
            folds: Folds { thinking_open: true, ..Folds::default() },
            ..RenderContext::default()
        }
    }

    fn said(musing: &Thinking) -> Vec<String> {
        musing.lines().unwrap_or_default().iter().map(Line::text).collect()
    }

    #[test]
    fn a_thought_that_arrives_is_laid_out_as_it_is_when_all_of_it_is_there() {
        let text = "\n  **Looking** at\nthe lexer\n- one\n- two\n\n```rust\nlet a;\n\nlet b;\n```\n\nIt counts \
                    `\\r` twice, and that is more than a line.\n\nSo.";
        let ctx = unfolded(30);
        for size in [1, 2, 7, 1_000] {
            let mut musing = Thinking::default();
            for piece in text.as_bytes().chunks(size) {
                musing.push(std::str::from_utf8(piece).expect("ascii"));
                assert!(musing.unfold(&ctx) > 0);
            }
            assert_eq!(musing.lines().expect("unfolded"), thought(text, &ctx), "by {size}");
        }
    }

    #[test]
    fn of_an_unfolded_thought_that_arrives_only_the_end_is_laid_out_anew() {
        let (mut musing, ctx) = (Thinking::default(), unfolded(30));
        musing.push("one\n\ntwo\n\nthr");
        musing.unfold(&ctx);
        let lines = &mut musing.unfolded.as_mut().expect("unfolded").lines;
        lines[0] = Line::new("as it was", Role::Thinking);
        musing.push("ee");
        musing.unfold(&ctx);
        assert_eq!(said(&musing), ["as it was", "  ", "  two", "  ", "  three"]);
        musing.unfold(&unfolded(20));
        assert_eq!(said(&musing)[0], "∴ one", "on another page all of it is");
        let mut again = Thinking::grown_to("one\n\ntwo\n\nthree four", Some(musing.clone()));
        again.unfold(&unfolded(20));
        assert_eq!(said(&again)[4], "  three four");
        assert_eq!(Thinking::grown_to("another", Some(musing)).text(), "another");
    }
}
