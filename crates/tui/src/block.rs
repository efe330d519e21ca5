//! The blocks of a transcript and their lines.

pub(crate) mod banner;
pub(crate) mod branch_point;
pub(crate) mod image;
mod lines;
pub(crate) mod notice_level;
pub(crate) mod shell;
pub(crate) mod thinking;

use tiller_core::id::EntryId;
use tiller_core::message::Image;
use tiller_core::unit::UnixMs;
use tiller_render::{self as render, ControlChars, ImageLimits, Line, MarkdownStream, Wrap, sanitize};
use tiller_session::BranchPoints;
use tiller_session::entry::DeliveryReceipt;

use crate::block::banner::Banner;
use crate::block::branch_point::BranchPoint;
use crate::block::image::image_lines;
use crate::block::notice_level::NoticeLevel;
use crate::block::shell::{Shell, ShellState};
use crate::block::thinking::Thinking;
use crate::layout::{FoldDefaults, RenderContext};
use crate::tool_call::{CallState, ToolCallBlock};

/// One block of a transcript.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) kind: BlockKind,
    /// The block's entry, once it is in the log.
    pub(super) entry: Option<EntryId>,
    pub(super) fold: FoldState,
    cache: Option<BlockCache>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FoldState {
    /// Follows the global setting for the block's kind.
    #[default]
    Inherit,
    Open,
    Closed,
}

/// A position in a block's text that stays valid after a new layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// Number of logical lines before the position.
    lines_before: usize,
    /// Number of characters between the start of the logical line and the position, without whitespace.
    chars: usize,
}

/// The kind of a block with its content.
#[derive(Clone, Debug)]
pub(super) enum BlockKind {
    /// The welcome banner.
    Banner(Box<Banner>),
    User {
        text: String,
        /// The typed text, if it differs from `text`.
        typed: Option<String>,
        note: String,
        at: UnixMs,
        /// The delivery receipt, if the message was queued.
        receipt: Option<Box<DeliveryReceipt>>,
    },
    /// Images that belong to the block above.
    Images(Vec<Image>),
    Answer(String),
    /// An answer that is being streamed.
    StreamingAnswer(Box<MarkdownStream>),
    Thinking(String),
    /// Thinking that is being streamed.
    StreamingThinking(Box<Thinking>),
    Call(Box<ToolCallBlock>),
    Shell(Shell),
    /// A horizontal rule with a title and foldable text.
    Rule {
        title: String,
        text: String,
    },
    /// A horizontal rule at a point where other branches continue.
    BranchPoint(BranchPoint),
    Notice {
        level: NoticeLevel,
        text: String,
        hint: Option<String>,
    },
    /// Consecutive requests that failed with the same error.
    Failure {
        text: String,
        times: usize,
        /// Time of the first request.
        sent: UnixMs,
    },
    /// Consecutive failed requests before a successful one.
    Recovered {
        reason: String,
        /// Number of the successful attempt, from 1.
        attempt: usize,
        /// Time from the first request to the successful one.
        waited_ms: u64,
    },
}

#[derive(Clone, Debug)]
struct BlockCache {
    width: usize,
    folds: FoldDefaults,
    /// The highlighter's generation, if some code isn't highlighted yet.
    code: Option<u64>,
    pictures: Option<ImageLimits>,
    lines: Vec<Line>,
}

impl Block {
    pub(super) fn new(kind: BlockKind) -> Self {
        Self { kind, entry: None, fold: FoldState::Inherit, cache: None }
    }

    pub(super) fn from_entry(entry: &EntryId, kind: BlockKind) -> Self {
        Self { entry: Some(entry.clone()), ..Self::new(kind) }
    }

    pub(super) fn notice(level: NoticeLevel, text: impl Into<String>, hint: Option<String>) -> Self {
        Self::new(BlockKind::Notice { level, text: text.into(), hint })
    }

    /// Merges the next block into this one if both are the same failure; returns true if it did.
    pub(super) fn absorb(&mut self, next: &Self) -> bool {
        let BlockKind::Failure { text, times: more, .. } = &next.kind else { return false };
        match &mut self.kind {
            BlockKind::Failure { text: other, times, .. } if other == text => *times += more,
            _ => return false,
        }
        self.invalidate();
        true
    }

    /// Drops the cached layout after a change.
    pub(super) fn invalidate(&mut self) {
        self.cache = None;
    }

    /// Lays the block out for `ctx`, unless the layout is cached; returns the number of lines.
    pub(super) fn lay_out(&mut self, ctx: &RenderContext) -> usize {
        let folds = self.fold.resolve(ctx.folds);
        let inner = RenderContext { folds, ..ctx.indented(self.inset()) };
        if let BlockKind::StreamingAnswer(stream) = &mut self.kind {
            stream.set_layout(inner.layout_options());
            stream.update_lines();
            return stream.len();
        }
        if let BlockKind::StreamingThinking(thinking) = &mut self.kind {
            if inner.folds.thinking_open {
                return thinking.unfold(&inner);
            }
            thinking.fold();
        }
        let is_valid = |cache: &BlockCache| {
            (cache.width, cache.folds) == (inner.width, inner.folds)
                && cache.code.is_none_or(|code| code == inner.code_generation)
                && cache.pictures == inner.images
        };
        let cache = self.cache.take().filter(is_valid);
        let make = || {
            let (lines, lacks_highlight) =
                render::lay_out_tracking_plain_code(&inner.options.code, || self.lines(&inner));
            let code = lacks_highlight.then_some(inner.code_generation);
            BlockCache { width: inner.width, folds: inner.folds, code, pictures: inner.images, lines }
        };
        let mut cache = cache.unwrap_or_else(make);
        if let (Some(head), Some(first)) = (self.animated_head(&inner), cache.lines.first_mut()) {
            *first = head;
        }
        let count = cache.lines.len();
        self.cache = Some(cache);
        count
    }

    /// Returns a line of the last layout.
    pub(super) fn line(&self, at: usize) -> Option<&Line> {
        match &self.kind {
            BlockKind::StreamingAnswer(stream) => stream.line(at),
            BlockKind::StreamingThinking(thinking) if thinking.lines().is_some() => thinking.lines()?.get(at),
            _ => self.cache.as_ref()?.lines.get(at),
        }
    }

    /// Returns the lines of the last layout.
    pub(super) fn lines_laid_out(&self) -> impl Iterator<Item = &Line> {
        (0..).map_while(|at| self.line(at))
    }

    /// Returns the text position of a line; `None` if there is no such line.
    pub(super) fn mark(&self, line: usize) -> Option<Mark> {
        self.line(line)?;
        let mut mark = Mark::default();
        for (above, next) in self.lines_laid_out().zip(self.lines_laid_out().skip(1)).take(line) {
            match next.wrap {
                Wrap::Hard => mark = Mark { lines_before: mark.lines_before + 1, chars: 0 },
                Wrap::Soft { .. } => mark.chars += visible_chars(above),
            }
        }
        Some(mark)
    }

    /// Returns the line that shows a text position, or the last line before it.
    pub(super) fn line_of(&self, mark: Mark) -> usize {
        let (mut lines_before, mut chars_before, mut found) = (0, 0, 0);
        for (at, line) in self.lines_laid_out().enumerate() {
            if at > 0 && line.wrap == Wrap::Hard {
                (lines_before, chars_before) = (lines_before + 1, 0);
            }
            if lines_before > mark.lines_before
                || lines_before == mark.lines_before && chars_before > mark.chars
            {
                break;
            }
            found = at;
            chars_before += visible_chars(line);
        }
        found
    }

    pub(super) fn is_call(&self) -> bool {
        matches!(self.kind, BlockKind::Call(_))
    }

    /// Returns true for thinking without text yet.
    pub(super) fn is_blank(&self) -> bool {
        match &self.kind {
            BlockKind::Thinking(text) => text.is_empty(),
            BlockKind::StreamingThinking(thinking) => thinking.text().is_empty(),
            _ => false,
        }
    }

    /// Marks a notice with this text as outdated.
    pub(super) fn mark_outdated(&mut self, other: &str) {
        if let BlockKind::Notice { level, text, hint } = &mut self.kind
            && text == other
        {
            (*level, *hint) = (NoticeLevel::Note, Some("outdated".to_owned()));
            self.invalidate();
        }
    }

    /// Returns true for a warning whose text is part of `other`; duplicates are shown once.
    pub(super) fn is_warning_in(&self, other: &str) -> bool {
        matches!(&self.kind, BlockKind::Notice { level: NoticeLevel::Warning, text, hint: None } if other.contains(text))
    }

    /// Returns the block's text, unfolded and sanitized, for searching.
    pub(super) fn texts(&self) -> Vec<String> {
        self.raw_texts().iter().map(|text| sanitize(text, ControlChars::Visible).into_owned()).collect()
    }

    /// Returns the block's text, unfolded, for the clipboard.
    pub(super) fn copy_text(&self) -> String {
        let texts = self.raw_texts();
        texts
            .iter()
            .map(|text| render::clipboard_text(text))
            .collect::<Vec<_>>()
            .join("\n")
            .trim_end()
            .to_owned()
    }

    fn raw_texts(&self) -> Vec<String> {
        match &self.kind {
            BlockKind::Banner(banner) => banner.texts(),
            BlockKind::User { text, typed, .. } => typed.iter().chain([text]).cloned().collect(),
            BlockKind::Answer(text) | BlockKind::Thinking(text) => vec![text.clone()],
            BlockKind::StreamingAnswer(stream) => vec![stream.text().to_owned()],
            BlockKind::StreamingThinking(thinking) => vec![thinking.text().to_owned()],
            BlockKind::Call(call) => call.texts(),
            BlockKind::Shell(shell) => vec![shell.command.clone(), shell.printed().text],
            BlockKind::Rule { title, text } => vec![title.clone(), text.clone()],
            BlockKind::BranchPoint(point) => {
                std::iter::once(point.title()).chain(point.summary.clone()).collect()
            }
            BlockKind::Images(_) => Vec::new(),
            BlockKind::Notice { text, hint, .. } => std::iter::once(text).chain(hint).cloned().collect(),
            BlockKind::Failure { text, .. } => vec![text.clone()],
            BlockKind::Recovered { reason, .. } => vec![reason.clone()],
        }
    }

    pub(super) fn is_unfolded(&self, folds: FoldDefaults) -> bool {
        self.is_open(self.fold.resolve(folds))
    }

    /// Returns true if the block may have more text than is shown.
    pub(super) fn can_fold(&self) -> bool {
        match &self.kind {
            BlockKind::Thinking(_) | BlockKind::StreamingThinking(_) | BlockKind::Shell(_) => true,
            BlockKind::Call(call) => matches!(call.state, CallState::Done { .. } | CallState::Running { .. }),
            BlockKind::Rule { text, .. } => !text.is_empty(),
            BlockKind::BranchPoint(point) => point.summary.is_some(),
            BlockKind::User { text, typed, .. } => typed.is_some() || lines::is_long(text),
            BlockKind::Banner(_)
            | BlockKind::Answer(_)
            | BlockKind::StreamingAnswer(_)
            | BlockKind::Images(_)
            | BlockKind::Notice { .. }
            | BlockKind::Failure { .. }
            | BlockKind::Recovered { .. } => false,
        }
    }

    /// Folds or unfolds the block, independent of the global setting.
    pub(super) fn toggle(&mut self, folds: FoldDefaults) {
        self.set_open(!self.is_open(self.fold.resolve(folds)), folds);
    }

    /// Unfolds the block.
    pub(super) fn open(&mut self, folds: FoldDefaults) {
        self.set_open(true, folds);
    }

    fn set_open(&mut self, open: bool, folds: FoldDefaults) {
        self.fold = match open {
            open if open == self.is_open(folds) => FoldState::Inherit,
            true => FoldState::Open,
            false => FoldState::Closed,
        };
    }

    fn is_open(&self, folds: FoldDefaults) -> bool {
        match self.kind {
            BlockKind::Thinking(_) | BlockKind::StreamingThinking(_) => folds.thinking_open,
            _ => folds.output_open,
        }
    }

    /// Returns the indentation of the block's lines, in columns.
    pub(super) fn inset(&self) -> usize {
        match &self.kind {
            BlockKind::User { .. } | BlockKind::Rule { .. } | BlockKind::BranchPoint(_) => 0,
            _ => 2,
        }
    }

    /// Returns true if the block has text that its lines don't show yet.
    pub(super) fn lags(&self) -> bool {
        match &self.kind {
            BlockKind::StreamingAnswer(stream) => stream.has_pending_text(),
            BlockKind::StreamingThinking(thinking) => thinking.lags(),
            _ => false,
        }
    }

    /// Returns true if the block's lines change with time.
    pub(super) fn is_animated(&self) -> bool {
        match &self.kind {
            BlockKind::Call(call) => call.is_alive(),
            BlockKind::Shell(shell) => matches!(shell.state, ShellState::Running { .. }),
            _ => false,
        }
    }

    /// Returns the animated first line of a running block. The lines below it are laid out only when they
    /// change.
    fn animated_head(&self, ctx: &RenderContext) -> Option<Line> {
        match &self.kind {
            BlockKind::Call(call) if call.is_alive() => Some(call.head(ctx)),
            BlockKind::Shell(shell) => match shell.state {
                ShellState::Running { since, .. } => Some(shell.running_head(since, ctx)),
                ShellState::Finished { .. } => None,
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
            BlockKind::Answer(text) => render::markdown(text, ctx.layout_options()),
            BlockKind::StreamingAnswer(stream) => stream.lines().cloned().collect(),
            BlockKind::Thinking(text) => thinking::thinking_lines(text, ctx),
            BlockKind::StreamingThinking(thinking) => thinking::thinking_lines(thinking.text(), ctx),
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

impl Block {
    /// Returns true for a branch point without a summary.
    pub(crate) fn is_bare_point(&self) -> bool {
        matches!(&self.kind, BlockKind::BranchPoint(point) if point.summary.is_none())
    }

    /// Updates a branch point after branches were hidden or restored.
    pub(crate) fn recount(&mut self, points: &BranchPoints) {
        if let (BlockKind::BranchPoint(point), Some(entry)) = (&mut self.kind, &self.entry) {
            point.update_branch_count(entry, points);
            self.invalidate();
        }
    }

    /// Returns true for a branch point that needs no line.
    pub(crate) fn is_silent(&self) -> bool {
        matches!(&self.kind, BlockKind::BranchPoint(point) if point.is_empty_point())
    }
}

impl FoldState {
    fn resolve(self, folds: FoldDefaults) -> FoldDefaults {
        match self {
            Self::Inherit => folds,
            Self::Open => FoldDefaults { output_open: true, thinking_open: true },
            Self::Closed => FoldDefaults::default(),
        }
    }
}

/// Returns the number of characters in a line's content, without whitespace.
fn visible_chars(line: &Line) -> usize {
    let text = line.content().iter().flat_map(|span| span.text.chars());
    text.filter(|c| !c.is_whitespace()).count()
}

#[cfg(test)]
mod tests;
