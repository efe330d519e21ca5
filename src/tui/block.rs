//! The pieces of a transcript, and the lines each of them makes.

use super::call::{self, Call};
use super::layout::{Ctx, Folds, right_aligned, rule};
use super::receipt;
use crate::id::EntryId;
use crate::message::Image;
use crate::render::{
    self, Breaks, Carriage, Emphasis, Found, Indent, Line, MarkdownStream, PictureRoom, Role, Span, Style,
    clean, cut_to, wrap,
};
use crate::resource::typed_skill;
use crate::session::entry::Receipt;
use crate::unit::UnixMs;

/// Lines of a thought shown before it is unfolded.
const FOLDED_THOUGHT: usize = 2;

/// Bytes of a folded thought that are looked at, for each column of its lines: enough of four-byte characters for more lines than
/// are shown.
const GLANCE: usize = 4 * (FOLDED_THOUGHT + 1);

/// One piece of a transcript.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) kind: BlockKind,
    /// The entry it shows, once that is in the log.
    pub(super) entry: Option<EntryId>,
    cache: Option<Cache>,
}

/// What a piece of a transcript is.
#[derive(Clone, Debug)]
pub(super) enum BlockKind {
    /// What tiller says of itself before anything happened.
    Banner(Vec<String>),
    User {
        text: String,
        note: String,
        at: UnixMs,
        /// How it waited, if it did.
        receipt: Option<Box<Receipt>>,
    },
    /// Images that go with what stands above.
    Images(Vec<Image>),
    Answer(String),
    /// An answer that is still arriving.
    Growing(Box<MarkdownStream>),
    Thinking(String),
    Call(Box<Call>),
    Shell(Shell),
    /// A rule across the page that can be unfolded.
    Rule {
        title: String,
        text: String,
    },
    Notice {
        level: Level,
        text: String,
        hint: Option<String>,
    },
}

/// A command of the user's own.
#[derive(Clone, Debug)]
pub(super) struct Shell {
    pub(super) id: Option<EntryId>,
    pub(super) command: String,
    pub(super) output: String,
    pub(super) state: ShellState,
    /// Whether the model reads it.
    pub(super) excluded: bool,
}

/// How far a command of the user's own is.
#[derive(Clone, Debug)]
pub(super) enum ShellState {
    Runs { since: UnixMs },
    Over { note: String, failed: bool },
}

/// How bad news is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Note,
    Warning,
    Error,
}

#[derive(Clone, Debug)]
struct Cache {
    width: usize,
    folds: Folds,
    /// How much code had been told apart.
    code: u64,
    pictures: Option<PictureRoom>,
    lines: Vec<Line>,
}

impl Block {
    pub(super) fn new(kind: BlockKind) -> Self {
        Self { kind, entry: None, cache: None }
    }

    pub(super) fn of(entry: &EntryId, kind: BlockKind) -> Self {
        Self { kind, entry: Some(entry.clone()), cache: None }
    }

    pub(super) fn notice(level: Level, text: impl Into<String>, hint: Option<String>) -> Self {
        Self::new(BlockKind::Notice { level, text: text.into(), hint })
    }

    /// What changed in it must be laid out anew.
    pub(super) fn touch(&mut self) {
        self.cache = None;
    }

    /// Lays it out for `ctx`, unless it is already; says how many lines it has.
    pub(super) fn measure(&mut self, ctx: &Ctx) -> usize {
        let inner = Ctx { width: ctx.width.saturating_sub(self.inset()).max(1), ..ctx.clone() };
        if let BlockKind::Growing(stream) = &mut self.kind {
            stream.set_page(inner.page());
            stream.settle();
            return stream.len();
        }
        let is_good = |cache: &Cache| {
            (cache.width, cache.folds) == (inner.width, inner.folds)
                && (cache.code, cache.pictures) == (inner.code_told, inner.pictures)
        };
        let cache = self.cache.take().filter(is_good);
        let make = || Cache {
            width: inner.width,
            folds: inner.folds,
            code: inner.code_told,
            pictures: inner.pictures,
            lines: self.lines(&inner),
        };
        let mut cache = cache.unwrap_or_else(make);
        if let (Some(head), Some(first)) = (self.moving_head(&inner), cache.lines.first_mut()) {
            *first = head;
        }
        let count = cache.lines.len();
        self.cache = Some(cache);
        count
    }

    /// A line of it, as it was measured last.
    pub(super) fn line(&self, at: usize) -> Option<&Line> {
        match &self.kind {
            BlockKind::Growing(stream) => stream.line(at),
            _ => self.cache.as_ref()?.lines.get(at),
        }
    }

    /// Columns left free at its left.
    pub(super) fn inset(&self) -> usize {
        match &self.kind {
            BlockKind::User { .. } | BlockKind::Rule { .. } => 0,
            _ => 2,
        }
    }

    /// Whether a line is left free between `above` and this.
    pub(super) fn stands_apart(&self, above: &Self) -> bool {
        let spoke = matches!(
            above.kind,
            BlockKind::Answer(_) | BlockKind::Growing(_) | BlockKind::Thinking(_) | BlockKind::Call(_)
        );
        !(matches!(self.kind, BlockKind::Call(_)) && spoke || matches!(self.kind, BlockKind::Images(_)))
    }

    /// Whether its lines change by themselves.
    pub(super) fn is_alive(&self) -> bool {
        match &self.kind {
            BlockKind::Call(call) => call.is_alive(),
            BlockKind::Shell(shell) => matches!(shell.state, ShellState::Runs { .. }),
            _ => false,
        }
    }

    /// The first line of what is going on, as time changes it. What stands under it is laid out when it changes only.
    fn moving_head(&self, ctx: &Ctx) -> Option<Line> {
        match &self.kind {
            BlockKind::Call(call) if call.is_alive() => Some(call.head(ctx)),
            BlockKind::Shell(shell) => match shell.state {
                ShellState::Runs { since } => Some(shell.running_head(since, ctx)),
                ShellState::Over { .. } => None,
            },
            _ => None,
        }
    }

    fn lines(&self, ctx: &Ctx) -> Vec<Line> {
        match &self.kind {
            BlockKind::Banner(lines) => banner(lines, ctx.width),
            BlockKind::User { text, note, at, receipt } => user(text, (note, *at), receipt.as_deref(), ctx),
            BlockKind::Images(images) => {
                images.iter().flat_map(|image| image_lines(&image.mime_type, &image.data, ctx)).collect()
            }
            BlockKind::Answer(text) => render::markdown(text, ctx.page()),
            BlockKind::Growing(stream) => stream.lines().cloned().collect(),
            BlockKind::Thinking(text) => thought(text, ctx),
            BlockKind::Call(call) => call.lines(ctx),
            BlockKind::Shell(shell) => shell.lines(ctx),
            BlockKind::Rule { title, text } => unfolding_rule(title, text, ctx),
            BlockKind::Notice { level, text, hint } => notice(*level, text, hint.as_deref(), ctx.width),
        }
    }
}

/// An image as its line, and the picture where it is painted.
pub(super) fn image_lines(mime_type: &str, data: &str, ctx: &Ctx) -> Vec<Line> {
    render::picture(mime_type, data, ctx.width, ctx.pictures)
}

fn banner(lines: &[String], width: usize) -> Vec<Line> {
    let style =
        |at| if at == 0 { Style::from(Role::Accent).with(Emphasis::BOLD) } else { Role::Muted.into() };
    lines.iter().enumerate().flat_map(|(at, line)| render::plain(line, style(at), width)).collect()
}

fn user(text: &str, (note, at): (&str, UnixMs), receipt: Option<&Receipt>, ctx: &Ctx) -> Vec<Line> {
    let bar = Span::new("▌ ", Role::Accent);
    let typed = typed_skill(text).filter(|_| !ctx.folds.output_open);
    let hint = if typed.is_some() { "ctrl+o" } else { "" };
    let time = receipt.map_or_else(|| ctx.clock(at), |receipt| receipt::word(receipt, at, ctx));
    let words = [hint, note, time.as_str()].into_iter().filter(|word| !word.is_empty());
    let time = words.collect::<Vec<_>>().join(" ");
    let room = ctx.width.saturating_sub(time.chars().count() + 2).max(ctx.width / 2);
    let text = clean(typed.as_deref().unwrap_or(text).trim_end(), Carriage::Shown);
    let style = Style::from(Role::User).with(Emphasis::BOLD);
    let mut lines: Vec<Line> = Vec::new();
    for line in text.split('\n') {
        let spans = render::linked(vec![Span::new(line, style)], Found::AsItIs);
        lines.extend(wrap(&spans, room, &Indent::all(vec![bar.clone()]), Breaks::Words));
    }
    if let Some(first) = lines.first_mut() {
        let left = std::mem::take(&mut first.spans);
        *first = right_aligned(left, Some(Span::new(time, Role::Muted)), ctx.width);
    }
    let story = receipt.map(Receipt::story).filter(|story| !story.is_empty());
    if let Some(story) = story {
        let indent = Indent {
            first: vec![bar, Span::new("↳ ", Role::Muted)],
            rest: vec![Span::new("    ", Role::Muted)],
        };
        lines.extend(wrap(&[Span::new(story, Role::Muted)], ctx.width, &indent, Breaks::Words));
    }
    lines
}

fn thought(text: &str, ctx: &Ctx) -> Vec<Line> {
    let style = Style::from(Role::Thinking);
    let mark = Span::new("∴ ", Role::Muted);
    let indent = Indent { first: vec![mark], rest: vec![Span::new("  ", style)] };
    if ctx.folds.thinking_open {
        let text = clean(text.trim(), Carriage::Shown);
        let spans = [Span::new(text.as_ref(), style)];
        return wrap(&spans, ctx.width, &indent, Breaks::Words);
    }
    // A glance at the end of the thought is enough, and a long one costs no more than a short one.
    let text = text.trim();
    let from = text.ceil_char_boundary(text.len().saturating_sub(ctx.width * GLANCE));
    let (all, text) = (from == 0, clean(&text[from..], Carriage::Shown));
    let end: Vec<&str> = text.split_whitespace().collect();
    let mut lines = wrap(&[Span::new(end.join(" "), style)], ctx.width, &indent, Breaks::Words);
    let hidden = lines.len().saturating_sub(FOLDED_THOUGHT);
    if hidden > 0 || !all {
        lines.drain(..hidden);
        if let Some(first) = lines.first_mut() {
            first.spans[0] = Span::new("∴ …", Role::Muted);
        }
    }
    lines
}

fn unfolding_rule(title: &str, text: &str, ctx: &Ctx) -> Vec<Line> {
    let hint = if text.is_empty() { "" } else { " (ctrl+o)" };
    let mut lines = vec![rule(&format!("{title}{hint}"), ctx.width)];
    if ctx.folds.output_open {
        lines.extend(render::markdown(text, ctx.page()));
    }
    lines
}

fn notice(level: Level, text: &str, hint: Option<&str>, width: usize) -> Vec<Line> {
    let (sign, role) = match level {
        Level::Note => ("· ", Role::Muted),
        Level::Warning => ("! ", Role::Warning),
        Level::Error => ("✗ ", Role::Error),
    };
    let indent = Indent { first: vec![Span::new(sign, role)], rest: vec![Span::new("  ", role)] };
    let text = clean(text.trim(), Carriage::Shown);
    let mut lines = wrap(&[Span::new(text.as_ref(), role)], width, &indent, Breaks::Words);
    if let Some(hint) = hint {
        let indent = Indent {
            first: vec![Span::new("  → ", Role::Muted)],
            rest: vec![Span::new("    ", Role::Muted)],
        };
        lines.extend(wrap(&[Span::new(hint, Role::Muted)], width, &indent, Breaks::Words));
    }
    lines
}

impl Shell {
    fn lines(&self, ctx: &Ctx) -> Vec<Line> {
        let (mut lines, output) = match &self.state {
            ShellState::Runs { since } => {
                (vec![self.running_head(*since, ctx)], call::running_output(&self.output, ctx))
            }
            ShellState::Over { note, failed } => {
                let sign =
                    if *failed { Span::new("✗ ", Role::Error) } else { Span::new("✓ ", Role::Success) };
                let mut left = self.head(sign, &self.command);
                left.extend(self.notes(note));
                let head = wrap(&left, ctx.width, &Indent::default(), Breaks::Words);
                (head, call::finished_output(&self.output, ctx))
            }
        };
        lines.extend(output);
        lines
    }

    fn running_head(&self, since: UnixMs, ctx: &Ctx) -> Line {
        let elapsed = Span::new(call::seconds(ctx.now.since_ms(since)), Role::Muted);
        let notes = self.notes("");
        let used = 5 + elapsed.width() + notes.as_ref().map_or(0, Span::width);
        let command = cut_to(&call::one_line(&self.command), ctx.width.saturating_sub(used).max(8));
        let mut left = self.head(Span::new(format!("{} ", ctx.spinner()), Role::Accent), &command);
        left.extend(notes);
        right_aligned(left, Some(elapsed), ctx.width)
    }

    fn head(&self, sign: Span, command: &str) -> Vec<Span> {
        let marks = if self.excluded { "!! " } else { "! " };
        vec![sign, Span::new(marks, Role::Accent), Span::new(call::one_line(command), Role::Text)]
    }

    fn notes(&self, note: &str) -> Option<Span> {
        let unsent = if self.excluded { "not sent to the model" } else { "" };
        let notes: Vec<&str> = [note, unsent].into_iter().filter(|note| !note.is_empty()).collect();
        (!notes.is_empty()).then(|| Span::new(format!("  {}", notes.join(", ")), Role::Muted))
    }
}
