//! Blocks of the user's shell commands (`!` and `!!`).

use tiller_core::ansi::{OutputBuffer, StyledText};
use tiller_core::id::EntryId;
use tiller_core::message::BashExecutionMessage;
use tiller_core::unit::UnixMs;
use tiller_render::{BreakMode, Indent, Line, Role, Span, truncate_to, wrap};

use crate::layout::RenderContext;
use crate::tool_call::output::ToolOutputBlock;
use crate::tool_call::{self, ToolCallBlock};

/// Maximum output of a running command kept for the screen, in bytes.
pub(crate) const MAX_OUTPUT: usize = 100_000;

/// Note about a `!!` command.
const UNSENT: &str = "not sent to the model";

/// Columns before the note.
const GAP: usize = 2;

/// Maximum output processed while the block is folded, in bytes: more than a screen shows.
const FOLDED_OUTPUT: usize = 16 * 1024;

/// A user's shell command.
#[derive(Clone, Debug)]
pub(crate) struct Shell {
    pub(crate) id: Option<EntryId>,
    pub(crate) command: String,
    /// The output of a finished command.
    pub(crate) output: StyledText,
    pub(crate) state: ShellState,
    /// True if the command is hidden from the model.
    pub(crate) excluded: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum ShellState {
    /// Running; `paper` contains the output so far.
    Running { since: UnixMs, paper: Box<OutputBuffer> },
    Finished {
        note: String,
        failed: bool,
        /// Duration in milliseconds, if known.
        took_ms: Option<u64>,
    },
}

impl Shell {
    pub(super) fn printed(&self) -> StyledText {
        match &self.state {
            ShellState::Running { paper, .. } => paper.styled_text(),
            ShellState::Finished { .. } => self.output.clone(),
        }
    }

    pub(super) fn lines(&self, ctx: &RenderContext) -> Vec<Line> {
        let (mut lines, output) = match &self.state {
            ShellState::Running { since, paper } => {
                let printed = paper.tail(if ctx.folds.output_open { MAX_OUTPUT } else { FOLDED_OUTPUT });
                let output = tool_call::running_output(
                    ToolOutputBlock::from_styled(&printed),
                    tool_call::FOLDED_SHELL,
                    ctx,
                );
                (vec![self.running_head(*since, ctx)], output)
            }
            ShellState::Finished { note, failed, took_ms } => {
                let sign =
                    if *failed { Span::new("✗ ", Role::Error) } else { Span::new("✓ ", Role::Success) };
                let right =
                    took_ms.and_then(crate::text::noticeable_time).map(|time| Span::new(time, Role::Muted));
                let head = self.finished_head((sign, note), right, ctx);
                (
                    head,
                    tool_call::finished_output(
                        ToolOutputBlock::from_styled(&self.output),
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
        let elapsed = Span::new(crate::text::short_duration(ctx.now.since_ms(since)), Role::Muted);
        let notes = self.notes();
        let used = 5 + elapsed.width() + notes.as_ref().map_or(0, Span::width);
        let command =
            truncate_to(&crate::text::one_line(&self.command), ctx.width.saturating_sub(used).max(8));
        let mut left = self.head(Span::new(format!("{} ", ctx.spinner()), Role::Accent), &command);
        left.extend(notes);
        ctx.right_aligned(left, Some(elapsed))
    }

    /// Returns the whole command with its note in the column of call notes and its duration at the right end.
    /// They are on a separate line if they don't fit.
    fn finished_head(
        &self,
        (sign, note): (Span, &str),
        right: Option<Span>,
        ctx: &RenderContext,
    ) -> Vec<Line> {
        let mut lines =
            wrap(&self.head(sign, &self.command), ctx.width, &Indent::default(), BreakMode::Words);
        let unsent = match (self.excluded, note) {
            (false, _) => "",
            (true, "") => UNSENT,
            (true, _) => ", not sent to the model",
        };
        let notes = [Span::new(note, Role::Error), Span::new(unsent, Role::Muted)];
        let notes_width: usize = notes.iter().map(Span::width).sum();
        if notes_width == 0 && right.is_none() {
            return lines;
        }
        // At least one space precedes the duration.
        let beside = GAP + notes_width + right.as_ref().map_or(0, |right| right.width() + 1);
        let mut last = lines.pop_if(|last| last.width() + beside <= ctx.width).unwrap_or_default();
        if notes_width > 0 {
            let most = ctx.width.saturating_sub(last.width() + beside);
            let blanks = GAP + ToolCallBlock::note_column(ctx).saturating_sub(last.width() + GAP).min(most);
            last.spans.push(Span::new(" ".repeat(blanks), Role::Muted));
            last.spans.extend(notes.into_iter().filter(|span| !span.text.is_empty()));
        }
        lines.push(ctx.right_aligned(last, right));
        lines
    }

    /// Returns the duration according to the command's record; `None` if it was canceled.
    pub(crate) fn took_ms(&self, record: &BashExecutionMessage) -> Option<u64> {
        match &self.state {
            ShellState::Running { since, .. } => took_ms(record, *since),
            ShellState::Finished { took_ms, .. } => *took_ms,
        }
    }

    fn head(&self, sign: Span, command: &str) -> Vec<Span> {
        let marks = if self.excluded { "!! " } else { "! " };
        vec![sign, Span::new(marks, Role::Accent), Span::new(crate::text::one_line(command), Role::Text)]
    }

    fn notes(&self) -> Option<Span> {
        self.excluded.then(|| Span::new(format!("  {UNSENT}"), Role::Muted))
    }
}

/// Returns the duration of a command that started at `since`. The record of a canceled command may be much
/// later than its end.
pub(crate) fn took_ms(record: &BashExecutionMessage, since: UnixMs) -> Option<u64> {
    (!record.cancelled && record.timestamp >= since).then(|| record.timestamp.since_ms(since))
}
