//! The pieces of a transcript, and the lines each of them makes.

use super::call::{self, Call};
use super::layout::{Ctx, Folds, right_aligned, rule};
use crate::id::EntryId;
use crate::render::{
    self, Breaks, Carriage, Emphasis, Indent, Line, MarkdownStream, Role, Span, Style, clean, wrap,
};
use crate::unit::UnixMs;

/// Lines of a thought shown before it is unfolded.
const FOLDED_THOUGHT: usize = 2;

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
    },
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
            stream.set_width(inner.width);
            stream.settle();
            return stream.len();
        }
        let fresh = |cache: &Cache| cache.width == inner.width && cache.folds == inner.folds;
        if self.is_alive() || !self.cache.as_ref().is_some_and(fresh) {
            self.cache = Some(Cache { width: inner.width, folds: inner.folds, lines: self.lines(&inner) });
        }
        self.cache.as_ref().map_or(0, |cache| cache.lines.len())
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
        !(matches!(self.kind, BlockKind::Call(_)) && spoke)
    }

    /// Whether its lines change by themselves.
    pub(super) fn is_alive(&self) -> bool {
        match &self.kind {
            BlockKind::Call(call) => call.is_alive(),
            BlockKind::Shell(shell) => matches!(shell.state, ShellState::Runs { .. }),
            _ => false,
        }
    }

    fn lines(&self, ctx: &Ctx) -> Vec<Line> {
        match &self.kind {
            BlockKind::Banner(lines) => banner(lines, ctx.width),
            BlockKind::User { text, note, at } => user(text, note, *at, ctx),
            BlockKind::Answer(text) => render::markdown(text, ctx.width),
            BlockKind::Growing(stream) => stream.lines().cloned().collect(),
            BlockKind::Thinking(text) => thought(text, ctx),
            BlockKind::Call(call) => call.lines(ctx),
            BlockKind::Shell(shell) => shell.lines(ctx),
            BlockKind::Rule { title, text } => unfolding_rule(title, text, ctx),
            BlockKind::Notice { level, text, hint } => notice(*level, text, hint.as_deref(), ctx.width),
        }
    }
}

fn banner(lines: &[String], width: usize) -> Vec<Line> {
    let style =
        |at| if at == 0 { Style::from(Role::Accent).with(Emphasis::BOLD) } else { Role::Muted.into() };
    lines.iter().enumerate().flat_map(|(at, line)| render::plain(line, style(at), width)).collect()
}

fn user(text: &str, note: &str, at: UnixMs, ctx: &Ctx) -> Vec<Line> {
    let bar = Span::new("▌ ", Role::Accent);
    let time = ctx.clock(at);
    let time = format!("{note}{}{time}", if note.is_empty() || time.is_empty() { "" } else { " " });
    let room = ctx.width.saturating_sub(time.chars().count() + 2).max(ctx.width / 2);
    let text = clean(text.trim_end(), Carriage::Shown);
    let style = Style::from(Role::User).with(Emphasis::BOLD);
    let mut lines: Vec<Line> = Vec::new();
    for line in text.split('\n') {
        lines.extend(wrap(&[Span::new(line, style)], room, &Indent::all(vec![bar.clone()]), Breaks::Words));
    }
    if let Some(first) = lines.first_mut() {
        let left = std::mem::take(&mut first.spans);
        *first = right_aligned(left, Some(Span::new(time, Role::Muted)), ctx.width);
    }
    lines
}

fn thought(text: &str, ctx: &Ctx) -> Vec<Line> {
    let style = Style::from(Role::Thinking);
    let mark = Span::new("∴ ", Role::Muted);
    let indent = Indent { first: vec![mark], rest: vec![Span::new("  ", style)] };
    let text = clean(text.trim(), Carriage::Shown);
    if ctx.folds.thinking_open {
        let spans = [Span::new(text.as_ref(), style)];
        return wrap(&spans, ctx.width, &indent, Breaks::Words);
    }
    // A glance at the end of the thought is enough, and a long one costs no more than a short one.
    let words: Vec<&str> = text.split_whitespace().rev().take(ctx.width).collect();
    let all = words.len() < ctx.width;
    let end: Vec<&str> = words.into_iter().rev().collect();
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
        lines.extend(render::markdown(text, ctx.width));
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
        let (sign, role) = match &self.state {
            ShellState::Runs { .. } => (ctx.spinner(), Role::Accent),
            ShellState::Over { failed: true, .. } => ("✗", Role::Error),
            ShellState::Over { failed: false, .. } => ("✓", Role::Success),
        };
        let marks = if self.excluded { "!!" } else { "!" };
        let mut left = vec![
            Span::new(format!("{sign} "), role),
            Span::new(format!("{marks} "), Role::Accent),
            Span::new(call::one_line(&self.command), Role::Text),
        ];
        let mut notes: Vec<String> = Vec::new();
        if let ShellState::Over { note, .. } = &self.state {
            notes.extend((!note.is_empty()).then(|| note.clone()));
        }
        notes.extend(self.excluded.then(|| "not sent to the model".to_owned()));
        if !notes.is_empty() {
            left.push(Span::new(format!("  {}", notes.join(", ")), Role::Muted));
        }
        let mut lines = match &self.state {
            ShellState::Runs { since } => {
                let elapsed = Span::new(call::seconds(ctx.now.since_ms(*since)), Role::Muted);
                vec![right_aligned(left, Some(elapsed), ctx.width)]
            }
            ShellState::Over { .. } => wrap(&left, ctx.width, &Indent::default(), Breaks::Words),
        };
        lines.extend(match &self.state {
            ShellState::Runs { .. } => call::running_output(&self.output, ctx),
            ShellState::Over { .. } => call::finished_output(&self.output, ctx),
        });
        lines
    }
}
