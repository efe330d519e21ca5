//! Commands of the user's own, as blocks.

use crate::ansi::{Paper, Printed};
use crate::id::EntryId;
use crate::render::{Breaks, Indent, Line, Role, Span, cut_to, wrap};
use crate::tui::call::{self, Output};
use crate::tui::layout::Ctx;
use crate::unit::UnixMs;

/// Bytes of a running command's output that are kept for the screen.
pub(in crate::tui) const MOST_OUTPUT: usize = 100_000;

/// Bytes of it that are looked at while it is folded: more than a screen has.
const FOLDED_OUTPUT: usize = 16 * 1024;

/// A command of the user's own.
#[derive(Clone, Debug)]
pub(in crate::tui) struct Shell {
    pub(in crate::tui) id: Option<EntryId>,
    pub(in crate::tui) command: String,
    /// What it printed, once it is over.
    pub(in crate::tui) output: Printed,
    pub(in crate::tui) state: ShellState,
    /// Whether the model reads it.
    pub(in crate::tui) excluded: bool,
}

/// How far a command of the user's own is.
#[derive(Clone, Debug)]
pub(in crate::tui) enum ShellState {
    /// What it prints is on the paper.
    Runs {
        since: UnixMs,
        paper: Box<Paper>,
    },
    Over {
        note: String,
        failed: bool,
    },
}

impl Shell {
    /// What it printed so far.
    pub(super) fn printed(&self) -> Printed {
        match &self.state {
            ShellState::Runs { paper, .. } => paper.printed(),
            ShellState::Over { .. } => self.output.clone(),
        }
    }

    pub(super) fn lines(&self, ctx: &Ctx) -> Vec<Line> {
        let (mut lines, output) = match &self.state {
            ShellState::Runs { since, paper } => {
                let printed = paper.end_of(if ctx.folds.output_open { MOST_OUTPUT } else { FOLDED_OUTPUT });
                let output = call::running_output(Output::of(&printed), call::FOLDED_SHELL, ctx);
                (vec![self.running_head(*since, ctx)], output)
            }
            ShellState::Over { note, failed } => {
                let sign =
                    if *failed { Span::new("✗ ", Role::Error) } else { Span::new("✓ ", Role::Success) };
                let mut left = self.head(sign, &self.command);
                left.extend(self.notes(note));
                let head = wrap(&left, ctx.width, &Indent::default(), Breaks::Words);
                (head, call::finished_output(Output::of(&self.output), call::FOLDED_SHELL, ctx))
            }
        };
        lines.extend(output);
        lines
    }

    pub(super) fn running_head(&self, since: UnixMs, ctx: &Ctx) -> Line {
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
