//! Commands of the user's own, as blocks.

use tiller_core::ansi::{OutputBuffer, StyledText};
use tiller_core::id::EntryId;
use tiller_core::message::BashExecutionMessage;
use tiller_core::unit::UnixMs;
use tiller_render::{Breaks, Indent, Line, Role, Span, cut_to, wrap};

use crate::layout::RenderContext;
use crate::tool_call::{self, ToolCallBlock, ToolOutputBlock};

/// Bytes of a running command's output that are kept for the screen.
pub(crate) const MOST_OUTPUT: usize = 100_000;

/// What is noted of a command that is the user's alone.
const UNSENT: &str = "not sent to the model";

/// Columns before what became of it.
const GAP: usize = 2;

/// Bytes of it that are looked at while it is folded: more than a screen has.
const FOLDED_OUTPUT: usize = 16 * 1024;

/// A command of the user's own.
#[derive(Clone, Debug)]
pub(crate) struct Shell {
    pub(crate) id: Option<EntryId>,
    pub(crate) command: String,
    /// What it printed, once it is over.
    pub(crate) output: StyledText,
    pub(crate) state: ShellState,
    /// Whether the model reads it.
    pub(crate) excluded: bool,
}

/// How far a command of the user's own is.
#[derive(Clone, Debug)]
pub(crate) enum ShellState {
    /// What it prints is on the paper.
    Runs { since: UnixMs, paper: Box<OutputBuffer> },
    Over {
        note: String,
        failed: bool,
        /// How long it ran, if that is known.
        took_ms: Option<u64>,
    },
}

impl Shell {
    /// What it printed so far.
    pub(super) fn printed(&self) -> StyledText {
        match &self.state {
            ShellState::Runs { paper, .. } => paper.printed(),
            ShellState::Over { .. } => self.output.clone(),
        }
    }

    pub(super) fn lines(&self, ctx: &RenderContext) -> Vec<Line> {
        let (mut lines, output) = match &self.state {
            ShellState::Runs { since, paper } => {
                let printed = paper.end_of(if ctx.folds.output_open { MOST_OUTPUT } else { FOLDED_OUTPUT });
                let output =
                    tool_call::running_output(ToolOutputBlock::of(&printed), tool_call::FOLDED_SHELL, ctx);
                (vec![self.running_head(*since, ctx)], output)
            }
            ShellState::Over { note, failed, took_ms } => {
                let sign =
                    if *failed { Span::new("✗ ", Role::Error) } else { Span::new("✓ ", Role::Success) };
                let right = took_ms.and_then(tool_call::noticeable).map(|time| Span::new(time, Role::Muted));
                let head = self.finished_head((sign, note), right, ctx);
                (
                    head,
                    tool_call::finished_output(
                        ToolOutputBlock::of(&self.output),
                        tool_call::FOLDED_SHELL,
                        ctx,
                    ),
                )
            }
        };
        lines.extend(output);
        lines
    }

    pub(super) fn running_head(&self, since: UnixMs, ctx: &RenderContext) -> Line {
        let elapsed = Span::new(tool_call::seconds(ctx.now.since_ms(since)), Role::Muted);
        let notes = self.notes();
        let used = 5 + elapsed.width() + notes.as_ref().map_or(0, Span::width);
        let command = cut_to(&tool_call::one_line(&self.command), ctx.width.saturating_sub(used).max(8));
        let mut left = self.head(Span::new(format!("{} ", ctx.spinner()), Role::Accent), &command);
        left.extend(notes);
        ctx.right_aligned(left, Some(elapsed))
    }

    /// The whole command, with what became of it in the column of notes and how long it took at the end, as calls have them. Where a
    /// command leaves no room for that it stands beneath.
    fn finished_head(
        &self,
        (sign, note): (Span, &str),
        right: Option<Span>,
        ctx: &RenderContext,
    ) -> Vec<Line> {
        let mut lines = wrap(&self.head(sign, &self.command), ctx.width, &Indent::default(), Breaks::Words);
        let unsent = match (self.excluded, note) {
            (false, _) => "",
            (true, "") => UNSENT,
            (true, _) => ", not sent to the model",
        };
        let told = [Span::new(note, Role::Error), Span::new(unsent, Role::Muted)];
        let noted: usize = told.iter().map(Span::width).sum();
        if noted == 0 && right.is_none() {
            return lines;
        }
        // A blank at least stands before the time.
        let beside = GAP + noted + right.as_ref().map_or(0, |right| right.width() + 1);
        let mut last = lines.pop_if(|last| last.width() + beside <= ctx.width).unwrap_or_default();
        if noted > 0 {
            let most = ctx.width.saturating_sub(last.width() + beside);
            let blanks = GAP + ToolCallBlock::note_column(ctx).saturating_sub(last.width() + GAP).min(most);
            last.spans.push(Span::new(" ".repeat(blanks), Role::Muted));
            last.spans.extend(told.into_iter().filter(|span| !span.text.is_empty()));
        }
        lines.push(ctx.right_aligned(last, right));
        lines
    }

    /// How long it ran, now that there is its record. Nobody knows that of one that was cut off.
    pub(crate) fn took_ms(&self, record: &BashExecutionMessage) -> Option<u64> {
        match &self.state {
            ShellState::Runs { since, .. } => took_ms(record, *since),
            ShellState::Over { took_ms, .. } => *took_ms,
        }
    }

    fn head(&self, sign: Span, command: &str) -> Vec<Span> {
        let marks = if self.excluded { "!! " } else { "! " };
        vec![sign, Span::new(marks, Role::Accent), Span::new(tool_call::one_line(command), Role::Text)]
    }

    fn notes(&self) -> Option<Span> {
        self.excluded.then(|| Span::new(format!("  {UNSENT}"), Role::Muted))
    }
}

/// How long a command ran that began then. Of one that was cut off the record may have been written much later.
pub(crate) fn took_ms(record: &BashExecutionMessage, since: UnixMs) -> Option<u64> {
    (!record.cancelled && record.timestamp >= since).then(|| record.timestamp.since_ms(since))
}
