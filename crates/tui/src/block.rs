//! The pieces of a transcript, and the lines each of them makes.

mod branch_point;
mod lines;
mod shell;
mod thinking;

pub(super) use branch_point::{BranchPoint, BranchSide};
pub(super) use shell::{MOST_OUTPUT, Shell, ShellState, took_ms};
pub(super) use thinking::Thinking;

use tiller_core::id::EntryId;
use tiller_core::message::Image;
use tiller_core::unit::UnixMs;
use tiller_render::{self as render, ControlChars, ImageLimits, Line, MarkdownStream, Wrap, sanitize};
use tiller_session::entry::DeliveryReceipt;

use super::layout::{Folds, RenderContext};
use super::tool_call::{CallState, ToolCallBlock};
use super::welcome::Banner;

/// One piece of a transcript.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) kind: BlockKind,
    /// The entry it shows, once that is in the log.
    pub(super) entry: Option<EntryId>,
    pub(super) fold: Fold,
    cache: Option<BlockCache>,
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
    Banner(Box<Banner>),
    User {
        text: String,
        /// What was typed, where that isn't the text.
        typed: Option<String>,
        note: String,
        at: UnixMs,
        /// How it waited, if it did.
        receipt: Option<Box<DeliveryReceipt>>,
    },
    /// Images that go with what stands above.
    Images(Vec<Image>),
    Answer(String),
    /// An answer that is still arriving.
    Growing(Box<MarkdownStream>),
    Thinking(String),
    /// A thought that is still arriving.
    Musing(Box<Thinking>),
    Call(Box<ToolCallBlock>),
    Shell(Shell),
    /// A rule across the page that can be unfolded.
    Rule {
        title: String,
        text: String,
    },
    /// A rule across the page where other branches go on.
    BranchPoint(BranchPoint),
    Notice {
        level: NoticeLevel,
        text: String,
        hint: Option<String>,
    },
    /// Requests in a row that failed with the same error.
    Failure {
        text: String,
        times: usize,
        /// When the first of them was sent.
        sent: UnixMs,
    },
    /// Requests in a row that failed before one that didn't.
    Recovered {
        reason: String,
        /// Which try succeeded, from 1.
        attempt: usize,
        /// Time from the first request to that one.
        waited_ms: u64,
    },
}

/// How bad news is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoticeLevel {
    Note,
    Warning,
    Error,
}

#[derive(Clone, Debug)]
struct BlockCache {
    width: usize,
    folds: Folds,
    /// How much code had been told apart, if some of its own wasn't yet.
    code: Option<u64>,
    pictures: Option<ImageLimits>,
    lines: Vec<Line>,
}

impl Block {
    pub(super) fn new(kind: BlockKind) -> Self {
        Self { kind, entry: None, fold: Fold::AsAll, cache: None }
    }

    pub(super) fn of(entry: &EntryId, kind: BlockKind) -> Self {
        Self { entry: Some(entry.clone()), ..Self::new(kind) }
    }

    pub(super) fn notice(level: NoticeLevel, text: impl Into<String>, hint: Option<String>) -> Self {
        Self::new(BlockKind::Notice { level, text: text.into(), hint })
    }

    /// Takes in the block that follows it in the log, where that says the same again; false if it doesn't.
    pub(super) fn absorb(&mut self, next: &Self) -> bool {
        let BlockKind::Failure { text, times: again, .. } = &next.kind else { return false };
        match &mut self.kind {
            BlockKind::Failure { text: said, times, .. } if said == text => *times += again,
            _ => return false,
        }
        self.touch();
        true
    }

    /// What changed in it must be laid out anew.
    pub(super) fn touch(&mut self) {
        self.cache = None;
    }

    /// Lays it out for `ctx`, unless it is already; says how many lines it has.
    pub(super) fn measure(&mut self, ctx: &RenderContext) -> usize {
        let folds = self.fold.of(ctx.folds);
        let inner = RenderContext { folds, ..ctx.indented(self.inset()) };
        if let BlockKind::Growing(stream) = &mut self.kind {
            stream.set_page(inner.page());
            stream.settle();
            return stream.len();
        }
        if let BlockKind::Musing(musing) = &mut self.kind {
            if inner.folds.thinking_open {
                return musing.unfold(&inner);
            }
            musing.fold();
        }
        let is_good = |cache: &BlockCache| {
            (cache.width, cache.folds) == (inner.width, inner.folds)
                && cache.code.is_none_or(|code| code == inner.code_told)
                && cache.pictures == inner.pictures
        };
        let cache = self.cache.take().filter(is_good);
        let make = || {
            let (lines, is_plain) = render::leaves_plain(|| self.lines(&inner));
            let code = is_plain.then_some(inner.code_told);
            BlockCache { width: inner.width, folds: inner.folds, code, pictures: inner.pictures, lines }
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
            BlockKind::Musing(musing) if musing.lines().is_some() => musing.lines()?.get(at),
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
                Wrap::Hard => mark = Mark { begun: mark.begun + 1, said: 0 },
                Wrap::Soft { .. } => mark.said += said(above),
            }
        }
        Some(mark)
    }

    /// The line that shows what a mark stands for, or the last one before it.
    pub(super) fn line_of(&self, mark: Mark) -> usize {
        let (mut begun, mut said_before, mut found) = (0, 0, 0);
        for (at, line) in self.drawn().enumerate() {
            if at > 0 && line.joint == Wrap::Hard {
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
        match &self.kind {
            BlockKind::Thinking(text) => text.is_empty(),
            BlockKind::Musing(musing) => musing.text().is_empty(),
            _ => false,
        }
    }

    /// What was said doesn't hold any more.
    pub(super) fn overcome(&mut self, said: &str) {
        if let BlockKind::Notice { level, text, hint } = &mut self.kind
            && text == said
        {
            (*level, *hint) = (NoticeLevel::Note, Some("no longer so".to_owned()));
            self.touch();
        }
    }

    /// Whether it warns of what a text says, too: what is told twice is shown once.
    pub(super) fn is_warning_in(&self, said: &str) -> bool {
        matches!(&self.kind, BlockKind::Notice { level: NoticeLevel::Warning, text, hint: None } if said.contains(text))
    }

    /// What is said in it, unfolded and as it is shown: for searching.
    pub(super) fn texts(&self) -> Vec<String> {
        self.raw_texts().iter().map(|text| sanitize(text, ControlChars::Visible).into_owned()).collect()
    }

    /// What is said in it, unfolded and as it may be copied.
    pub(super) fn copied(&self) -> String {
        let texts = self.raw_texts();
        texts.iter().map(|text| render::copied(text)).collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }

    fn raw_texts(&self) -> Vec<String> {
        match &self.kind {
            BlockKind::Banner(banner) => banner.texts(),
            BlockKind::User { text, typed, .. } => typed.iter().chain([text]).cloned().collect(),
            BlockKind::Answer(text) | BlockKind::Thinking(text) => vec![text.clone()],
            BlockKind::Growing(stream) => vec![stream.text().to_owned()],
            BlockKind::Musing(musing) => vec![musing.text().to_owned()],
            BlockKind::Call(call) => call.texts(),
            BlockKind::Shell(shell) => vec![shell.command.clone(), shell.printed().text],
            BlockKind::Rule { title, text } => vec![title.clone(), text.clone()],
            BlockKind::BranchPoint(point) => {
                std::iter::once(point.words()).chain(point.summary.clone()).collect()
            }
            BlockKind::Images(_) => Vec::new(),
            BlockKind::Notice { text, hint, .. } => std::iter::once(text).chain(hint).cloned().collect(),
            BlockKind::Failure { text, .. } => vec![text.clone()],
            BlockKind::Recovered { reason, .. } => vec![reason.clone()],
        }
    }

    /// Whether all of it is shown.
    pub(super) fn is_unfolded(&self, all: Folds) -> bool {
        self.is_open(self.fold.of(all))
    }

    /// Whether there may be more of it than is shown.
    pub(super) fn can_fold(&self) -> bool {
        match &self.kind {
            BlockKind::Thinking(_) | BlockKind::Musing(_) | BlockKind::Shell(_) => true,
            BlockKind::Call(call) => matches!(call.state, CallState::Done { .. } | CallState::Runs { .. }),
            BlockKind::Rule { text, .. } => !text.is_empty(),
            BlockKind::BranchPoint(point) => point.summary.is_some(),
            BlockKind::User { text, typed, .. } => typed.is_some() || lines::is_long(text),
            BlockKind::Banner(_)
            | BlockKind::Answer(_)
            | BlockKind::Growing(_)
            | BlockKind::Images(_)
            | BlockKind::Notice { .. }
            | BlockKind::Failure { .. }
            | BlockKind::Recovered { .. } => false,
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
            BlockKind::Thinking(_) | BlockKind::Musing(_) => folds.thinking_open,
            _ => folds.output_open,
        }
    }

    /// Columns left free at its left.
    pub(super) fn inset(&self) -> usize {
        match &self.kind {
            BlockKind::User { .. } | BlockKind::Rule { .. } | BlockKind::BranchPoint(_) => 0,
            _ => 2,
        }
    }

    /// Whether a line is left free between `above` and this.
    pub(super) fn stands_apart(&self, above: &Self) -> bool {
        let spoke = matches!(
            above.kind,
            BlockKind::Answer(_)
                | BlockKind::Growing(_)
                | BlockKind::Thinking(_)
                | BlockKind::Musing(_)
                | BlockKind::Call(_)
        );
        !(matches!(self.kind, BlockKind::Call(_)) && spoke || matches!(self.kind, BlockKind::Images(_)))
    }

    /// Whether it has text that its lines don't show yet.
    pub(super) fn lags(&self) -> bool {
        match &self.kind {
            BlockKind::Growing(stream) => stream.lags(),
            BlockKind::Musing(musing) => musing.lags(),
            _ => false,
        }
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
    fn moving_head(&self, ctx: &RenderContext) -> Option<Line> {
        match &self.kind {
            BlockKind::Call(call) if call.is_alive() => Some(call.head(ctx)),
            BlockKind::Shell(shell) => match shell.state {
                ShellState::Runs { since, .. } => Some(shell.running_head(since, ctx)),
                ShellState::Over { .. } => None,
            },
            _ => None,
        }
    }

    fn lines(&self, ctx: &RenderContext) -> Vec<Line> {
        match &self.kind {
            BlockKind::Banner(banner) => banner.rows(ctx.width),
            BlockKind::User { text, typed, note, at, receipt } => {
                lines::user((text, typed.as_deref()), (note, *at), receipt.as_deref(), ctx)
            }
            BlockKind::Images(images) => {
                images.iter().flat_map(|image| image_lines(&image.mime_type, &image.data, ctx)).collect()
            }
            BlockKind::Answer(text) => render::markdown(text, ctx.page()),
            BlockKind::Growing(stream) => stream.lines().cloned().collect(),
            BlockKind::Thinking(text) => thinking::thought(text, ctx),
            BlockKind::Musing(musing) => thinking::thought(musing.text(), ctx),
            BlockKind::Call(call) => call.lines(ctx),
            BlockKind::Shell(shell) => shell.lines(ctx),
            BlockKind::Rule { title, text } => lines::unfolding_rule(title, text, ctx),
            BlockKind::BranchPoint(point) => point.lines(ctx),
            BlockKind::Notice { level, text, hint } => {
                lines::notice(*level, text, hint.as_deref(), ctx.width.min(ctx.measure))
            }
            BlockKind::Failure { text, times, .. } => {
                lines::failure(text, *times, ctx.width.min(ctx.measure))
            }
            BlockKind::Recovered { reason, attempt, waited_ms } => {
                vec![lines::recovered(reason, *attempt, *waited_ms, ctx.width.min(ctx.measure))]
            }
        }
    }
}

/// An image as its line, and the picture where it is painted.
pub(super) fn image_lines(mime_type: &str, data: &str, ctx: &RenderContext) -> Vec<Line> {
    render::render_image(mime_type, data, ctx.width, ctx.pictures)
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
    let text = line.content().iter().flat_map(|span| span.text.chars());
    text.filter(|c| !c.is_whitespace()).count()
}

#[cfg(test)]
mod tests;
