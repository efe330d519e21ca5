//! The pieces of a transcript, and the lines each of them makes.

use super::call::{self, Call, CallState};
use super::layout::{Ctx, Folds, rule};
use super::receipt;
use crate::id::EntryId;
use crate::message::Image;
use crate::render::{
    self, Breaks, Carriage, Emphasis, Found, Indent, Joint, Line, MarkdownStream, PictureRoom, Role, Span,
    Style, clean, cut_to, wrap,
};
use crate::session::entry::Receipt;
use crate::unit::UnixMs;

/// Lines of a thought shown before it is unfolded.
const FOLDED_THOUGHT: usize = 2;

/// Bytes of a folded thought that are looked at, for each column of its lines: enough of four-byte characters for more lines than
/// are shown.
const GLANCE: usize = 4 * (FOLDED_THOUGHT + 1);

/// Lines of a message of the user's beyond which only its beginning is shown, and how many that is.
const MOST_SAID: usize = 20;
const FOLDED_SAID: usize = 12;

/// The same in bytes, for lines without end.
const LONGEST_SAID: usize = 4 * 1024;

/// One piece of a transcript.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) kind: BlockKind,
    /// The entry it shows, once that is in the log.
    pub(super) entry: Option<EntryId>,
    pub(super) fold: Fold,
    cache: Option<Cache>,
}

/// Whether a block is folded apart from all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Fold {
    /// As all of its kind.
    #[default]
    AsAll,
    Open,
    Shut,
}

/// A place in what a block says that stays where it is when the block is laid out anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// Lines that begin before it, those that only go on not counted.
    begun: usize,
    /// Characters between the beginning of its line and it, blanks not counted.
    said: usize,
}

/// What a piece of a transcript is.
#[derive(Clone, Debug)]
pub(super) enum BlockKind {
    /// What tiller says of itself before anything happened.
    Banner(Vec<String>),
    User {
        text: String,
        /// What was typed, where that isn't the text.
        typed: Option<String>,
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
        Self { kind, entry: None, fold: Fold::AsAll, cache: None }
    }

    pub(super) fn of(entry: &EntryId, kind: BlockKind) -> Self {
        Self { entry: Some(entry.clone()), ..Self::new(kind) }
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
        let folds = self.fold.of(ctx.folds);
        let inner = Ctx { folds, ..ctx.indented(self.inset()) };
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

    /// Its lines, as they were measured last.
    pub(super) fn drawn(&self) -> impl Iterator<Item = &Line> {
        (0..).map_while(|at| self.line(at))
    }

    /// What one of its lines stands for; `None` of one that isn't there.
    pub(super) fn mark(&self, line: usize) -> Option<Mark> {
        self.line(line)?;
        let mut mark = Mark::default();
        for (above, next) in self.drawn().zip(self.drawn().skip(1)).take(line) {
            match next.joint {
                Joint::Begins => mark = Mark { begun: mark.begun + 1, said: 0 },
                Joint::GoesOn { .. } => mark.said += said(above),
            }
        }
        Some(mark)
    }

    /// The line that shows what a mark stands for, or the last one before it.
    pub(super) fn line_of(&self, mark: Mark) -> usize {
        let (mut begun, mut said_before, mut found) = (0, 0, 0);
        for (at, line) in self.drawn().enumerate() {
            if at > 0 && line.joint == Joint::Begins {
                (begun, said_before) = (begun + 1, 0);
            }
            if begun > mark.begun || begun == mark.begun && said_before > mark.said {
                break;
            }
            found = at;
            said_before += said(line);
        }
        found
    }

    /// Whether it is a tool call.
    pub(super) fn is_call(&self) -> bool {
        matches!(self.kind, BlockKind::Call(_))
    }

    /// Whether nothing was said in it yet.
    pub(super) fn is_blank(&self) -> bool {
        matches!(&self.kind, BlockKind::Thinking(text) if text.is_empty())
    }

    /// What is said in it, unfolded: for searching and copying.
    pub(super) fn texts(&self) -> Vec<String> {
        let clean = |text: &str| clean(text, Carriage::Returns).into_owned();
        match &self.kind {
            BlockKind::Banner(lines) => lines.clone(),
            BlockKind::User { text, typed, .. } => {
                typed.iter().chain([text]).map(|text| clean(text)).collect()
            }
            BlockKind::Answer(text) | BlockKind::Thinking(text) => {
                vec![clean(text)]
            }
            BlockKind::Growing(stream) => vec![clean(stream.text())],
            BlockKind::Call(call) => call.texts().iter().map(|text| clean(text)).collect(),
            BlockKind::Shell(shell) => vec![clean(&shell.command), clean(&shell.output)],
            BlockKind::Rule { title, text } => vec![clean(title), clean(text)],
            BlockKind::Images(_) => Vec::new(),
            BlockKind::Notice { text, hint, .. } => {
                std::iter::once(text).chain(hint).map(|text| clean(text)).collect()
            }
        }
    }

    /// Whether all of it is shown.
    pub(super) fn is_unfolded(&self, all: Folds) -> bool {
        self.is_open(self.fold.of(all))
    }

    /// Whether there may be more of it than is shown.
    pub(super) fn can_fold(&self) -> bool {
        match &self.kind {
            BlockKind::Thinking(_) | BlockKind::Shell(_) => true,
            BlockKind::Call(call) => matches!(call.state, CallState::Done { .. } | CallState::Runs { .. }),
            BlockKind::Rule { text, .. } => !text.is_empty(),
            BlockKind::User { text, typed, .. } => typed.is_some() || is_long(text),
            BlockKind::Banner(_)
            | BlockKind::Answer(_)
            | BlockKind::Growing(_)
            | BlockKind::Images(_)
            | BlockKind::Notice { .. } => false,
        }
    }

    /// Folds it, or unfolds it, apart from all others.
    pub(super) fn toggle(&mut self, all: Folds) {
        self.set_open(!self.is_open(self.fold.of(all)), all);
    }

    /// Unfolds it, if it isn't.
    pub(super) fn open(&mut self, all: Folds) {
        self.set_open(true, all);
    }

    fn set_open(&mut self, open: bool, all: Folds) {
        self.fold = match open {
            open if open == self.is_open(all) => Fold::AsAll,
            true => Fold::Open,
            false => Fold::Shut,
        };
    }

    fn is_open(&self, folds: Folds) -> bool {
        match self.kind {
            BlockKind::Thinking(_) => folds.thinking_open,
            _ => folds.output_open,
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
            BlockKind::User { text, typed, note, at, receipt } => {
                user((text, typed.as_deref()), (note, *at), receipt.as_deref(), ctx)
            }
            BlockKind::Images(images) => {
                images.iter().flat_map(|image| image_lines(&image.mime_type, &image.data, ctx)).collect()
            }
            BlockKind::Answer(text) => render::markdown(text, ctx.page()),
            BlockKind::Growing(stream) => stream.lines().cloned().collect(),
            BlockKind::Thinking(text) => thought(text, ctx),
            BlockKind::Call(call) => call.lines(ctx),
            BlockKind::Shell(shell) => shell.lines(ctx),
            BlockKind::Rule { title, text } => unfolding_rule(title, text, ctx),
            BlockKind::Notice { level, text, hint } => {
                notice(*level, text, hint.as_deref(), ctx.width.min(ctx.measure))
            }
        }
    }
}

/// An image as its line, and the picture where it is painted.
pub(super) fn image_lines(mime_type: &str, data: &str, ctx: &Ctx) -> Vec<Line> {
    render::picture(mime_type, data, ctx.width, ctx.pictures)
}

impl Fold {
    fn of(self, all: Folds) -> Folds {
        match self {
            Self::AsAll => all,
            Self::Open => Folds { output_open: true, thinking_open: true },
            Self::Shut => Folds::default(),
        }
    }
}

/// Characters of a line's text, blanks not counted.
fn said(line: &Line) -> usize {
    let text = line.said().iter().flat_map(|span| span.text.chars());
    text.filter(|c| !c.is_whitespace()).count()
}

/// Whether of a message of the user's only the beginning is shown.
fn is_long(text: &str) -> bool {
    text.len() > LONGEST_SAID || text.trim_end().lines().nth(MOST_SAID).is_some()
}

fn banner(lines: &[String], width: usize) -> Vec<Line> {
    let style =
        |at| if at == 0 { Style::from(Role::Accent).with(Emphasis::BOLD) } else { Role::Muted.into() };
    lines.iter().enumerate().flat_map(|(at, line)| render::plain(line, style(at), width)).collect()
}

fn user(
    (text, typed): (&str, Option<&str>),
    (note, at): (&str, UnixMs),
    receipt: Option<&Receipt>,
    ctx: &Ctx,
) -> Vec<Line> {
    let folded = !ctx.folds.output_open;
    let typed = typed.filter(|_| folded);
    let hint = if typed.is_some() { &*ctx.unfold } else { "" };
    let time = receipt.map_or_else(|| ctx.clock(at), |receipt| receipt::word(receipt, at, ctx));
    let words = [hint, note, time.as_str()].into_iter().filter(|word| !word.is_empty());
    let time = words.collect::<Vec<_>>().join(" ");
    let measure = ctx.width.min(ctx.measure);
    let room = measure.saturating_sub(time.chars().count() + 2).max(measure / 2);
    let text = typed.unwrap_or(text).trim_end();
    let (shown, hidden) = if folded { beginning(text) } else { (text, 0) };
    let mut lines =
        said_lines(&clean(shown, Carriage::Shown), Style::from(Role::User).with(Emphasis::BOLD), room);
    if hidden > 0 {
        let note = format!("… {hidden} more lines ({})", ctx.unfold);
        lines.extend(said_lines(&note, Role::Muted.into(), room));
    }
    if let Some(first) = lines.first_mut() {
        *first = ctx.right_aligned(std::mem::take(first), Some(Span::new(time, Role::Muted)));
    }
    let story = receipt.map(Receipt::story).filter(|story| !story.is_empty());
    if let Some(story) = story {
        let indent = Indent {
            first: vec![Span::new("▌ ", Role::Accent), Span::new("↳ ", Role::Muted)],
            rest: vec![Span::new("    ", Role::Muted)],
        };
        lines.extend(wrap(&[Span::new(story, Role::Muted)], measure, &indent, Breaks::Words));
    }
    lines
}

/// As much of a message as is shown folded, and how many lines are left out.
fn beginning(text: &str) -> (&str, usize) {
    if !is_long(text) {
        return (text, 0);
    }
    let by_lines = text.match_indices('\n').nth(FOLDED_SAID - 1).map_or(text.len(), |(at, _)| at);
    let end = text.floor_char_boundary(by_lines.min(LONGEST_SAID));
    (&text[..end], text[end..].trim_start_matches('\n').lines().count())
}

fn said_lines(text: &str, style: Style, width: usize) -> Vec<Line> {
    let bar = Indent::all(vec![Span::new("▌ ", Role::Accent)]);
    let linked = |line| render::linked(vec![Span::new(line, style)], Found::AsItIs);
    text.split('\n').flat_map(|line| wrap(&linked(line), width, &bar, Breaks::Words)).collect()
}

fn thought(text: &str, ctx: &Ctx) -> Vec<Line> {
    let style = Style::from(Role::Thinking);
    let mark = Span::new("∴ ", Role::Muted);
    let indent = Indent { first: vec![mark], rest: vec![Span::new("  ", style)] };
    if ctx.folds.thinking_open {
        let text = clean(text.trim(), Carriage::Shown);
        let spans = [Span::new(text.as_ref(), style)];
        return wrap(&spans, ctx.width.min(ctx.measure), &indent, Breaks::Words);
    }
    // A glance at the end of the thought is enough, and a long one costs no more than a short one.
    let text = text.trim();
    let from = text.ceil_char_boundary(text.len().saturating_sub(ctx.width * GLANCE));
    let (all, text) = (from == 0, clean(&text[from..], Carriage::Shown));
    let end: Vec<&str> = text.split_whitespace().collect();
    let mut lines =
        wrap(&[Span::new(end.join(" "), style)], ctx.width.min(ctx.measure), &indent, Breaks::Words);
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
    let hint = if text.is_empty() { String::new() } else { format!(" ({})", ctx.unfold) };
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
        ctx.right_aligned(left, Some(elapsed))
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
