//! Tool calls as blocks: their summary line and their output.

pub(crate) mod output;
mod truncation_notes;

use serde_json::Value;
use tiller_core::ansi::{StyleRun, StyledText, parse_style_runs};
use tiller_core::event::ToolOutcome;
use tiller_core::id::CallId;
use tiller_core::message::{ToolCall, UserBlock, joined_text};
use tiller_core::tool_catalog::ToolCatalog;
use tiller_core::tool_spec::{OutputKind, ToolTraits};
use tiller_core::unit::UnixMs;
use tiller_render::{
    self as render, ControlChars, Line, Margins, Role, Span, Style, Wrap, sanitize, truncate_to,
};
use tiller_session::context::CutOffCall;

use crate::block::image::image_lines;
use crate::layout::RenderContext;
use crate::text::{noticeable_time, one_line};
use crate::tool_call::output::{MAX_LINES, ToolOutputBlock};

/// Column width of tool names.
const NAME_WIDTH: usize = 10;

/// Minimum width of the argument column; on a wide screen it takes two fifths of the width. A longer argument
/// extends up to the note.
const ARGUMENT_WIDTH: usize = 32;

/// Columns reserved for a note after a long argument, the length of most notes.
const NOTE_WIDTH: usize = 30;

/// Minimum columns of an argument beside a note, unless that is more than half of the room for both.
const MIN_ARGUMENT: usize = 8;

/// Lines of folded output. A user's shell command shows as many of its last lines as the smallest common
/// screen has room for.
const FOLDED: FoldedOutput = FoldedOutput { head: 2, tail: 2 };
pub(super) const FOLDED_SHELL: FoldedOutput = FoldedOutput { head: 0, tail: 16 };

/// Lines of a folded diff.
const FOLDED_DIFF: FoldedOutput = FoldedOutput { head: 8, tail: 7 };

/// The text that informs the model of empty output; not shown.
const NO_OUTPUT: &str = "[no output]";

/// Prefix of the result of a denied call.
const DENIED: &str = "denied:";

/// The numbers of lines of folded output, in addition to the line that counts the hidden ones.
#[derive(Clone, Copy)]
pub(super) struct FoldedOutput {
    head: usize,
    tail: usize,
}

#[derive(Clone, Debug)]
pub(super) struct ToolCallBlock {
    pub(super) id: CallId,
    pub(super) name: String,
    pub(super) args: Value,
    pub(super) traits: ToolTraits,
    pub(super) state: CallState,
}

#[derive(Clone, Debug)]
pub(super) enum CallState {
    /// The model is writing the arguments, with the number of bytes so far.
    Streaming(usize),
    /// Not started.
    Pending,
    AwaitsApproval,
    Running {
        since: UnixMs,
        partial: ToolOutcome,
    },
    Done {
        outcome: ToolOutcome,
        is_error: bool,
        took_ms: Option<u64>,
    },
    /// Interrupted without a result.
    Lost,
    /// Not started, because the turn was interrupted.
    NotRun,
}

/// Column widths of a call's line.
#[derive(Clone, Copy)]
struct ColumnWidths {
    argument: usize,
    note: usize,
}

/// The outcome of a call, shown by its sign.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CallEnd {
    Success,
    Failure,
    /// Not run: skipped, denied, invalid.
    NotRun,
}

impl ToolCallBlock {
    /// Creates a call that hasn't started.
    pub(super) fn new(call: &ToolCall, tools: &ToolCatalog) -> Self {
        Self {
            id: call.id.clone(),
            name: call.name.clone(),
            args: call.arguments.clone(),
            traits: tools.traits(&call.name),
            state: CallState::Pending,
        }
    }

    pub(super) fn lines(&self, ctx: &RenderContext) -> Vec<Line> {
        let mut lines = vec![self.head(ctx)];
        let output = match &self.state {
            CallState::Running { partial, .. } => {
                let text = self.result_text(partial, 0);
                running_output(self.output_of(&text), FOLDED, ctx)
            }
            CallState::Done { outcome, is_error, .. } => {
                let mut lines = self.output(outcome, *is_error, ctx);
                lines.extend(shown_images(outcome, ctx));
                lines
            }
            CallState::Streaming(_)
            | CallState::Pending
            | CallState::AwaitsApproval
            | CallState::Lost
            | CallState::NotRun => Vec::new(),
        };
        lines.extend(self.whole_argument(ctx));
        lines.extend(output);
        lines
    }

    /// Returns true if the block's lines change with time.
    pub(super) fn is_alive(&self) -> bool {
        matches!(self.state, CallState::Running { .. })
    }

    /// Returns the argument and the output, for searching and copying.
    pub(super) fn texts(&self) -> Vec<String> {
        let outcome = match &self.state {
            CallState::Running { partial, .. } => Some(partial),
            CallState::Done { outcome, .. } => Some(outcome),
            _ => None,
        };
        let mut texts = vec![self.argument()];
        let diff = outcome.and_then(|outcome| outcome.details.as_ref()?["diff"].as_str());
        match (diff, outcome) {
            (Some(diff), _) => texts.push(diff.to_owned()),
            (None, Some(outcome)) => texts.push(self.result_text(outcome, 0).text),
            (None, None) => {}
        }
        texts
    }

    /// Returns true if the call may still get a result.
    pub(super) fn is_open(&self) -> bool {
        !matches!(self.state, CallState::Done { .. } | CallState::Lost | CallState::NotRun)
    }

    /// Returns true if the call may run in parallel with others.
    pub(super) fn may_run_in_parallel(&self) -> bool {
        !self.traits.always_runs_alone()
    }

    /// Returns true if a successful result is folded away.
    fn is_quiet(&self) -> bool {
        match self.traits.output {
            OutputKind::File | OutputKind::Listing => true,
            OutputKind::Text | OutputKind::Command | OutputKind::Diff => false,
        }
    }

    /// The summary line.
    pub(super) fn head(&self, ctx: &RenderContext) -> Line {
        let (sign, role) = self.sign(ctx);
        let mut left = vec![Span::new(format!("{sign} "), role)];
        let name_style = if self.was_not_run() { Role::Muted } else { Role::Text };
        left.push(Span::new(self.padded_name(), name_style));
        let right = self.elapsed(ctx).map(|text| Span::new(text, Role::Muted));
        let room = self.room(ctx);
        let mut argument = truncate_to(&self.shown_argument(), room.argument);
        let (note, note_role) = self.note();
        if note.is_empty() {
            left.push(Span::new(argument, Role::Muted));
        } else {
            let width = Span::new(argument.clone(), Role::Muted).width();
            argument.push_str(&" ".repeat(room.argument.saturating_sub(width)));
            left.push(Span::new(argument, Role::Muted));
            left.push(Span::new(format!("  {}", truncate_to(&note, room.note)), note_role));
        }
        let left = Line { margins: Margins { before: 1, after: 0 }, ..Line::from(left) };
        ctx.right_aligned(left, right)
    }

    /// Returns the column where notes start, unless the argument is longer than its column.
    pub(super) fn note_column(ctx: &RenderContext) -> usize {
        2 + NAME_WIDTH + 1 + ARGUMENT_WIDTH.max(ctx.width.min(ctx.measure) * 2 / 5) + 2
    }

    fn padded_name(&self) -> String {
        let name = sanitize(&self.name, ControlChars::Visible);
        let padding = NAME_WIDTH.saturating_sub(name.chars().count()) + 1;
        format!("{name}{}", " ".repeat(padding))
    }

    /// Distributes the width of the line. A note starts in the note column. If the argument is longer, it
    /// takes everything but the note's room. On a screen too narrow for columns, the note directly follows
    /// the argument, and the time is dropped first.
    fn room(&self, ctx: &RenderContext) -> ColumnWidths {
        let right = self.elapsed(ctx).map_or(0, |text| Span::new(text, Role::Muted).width() + 2);
        let used = 2 + Span::new(self.padded_name(), Role::Text).width();
        let page = ctx.width.min(ctx.measure);
        let free = page.saturating_sub(used);
        let free = free.checked_sub(right).filter(|rest| *rest >= 2 * MIN_ARGUMENT).unwrap_or(free);
        let note = Span::new(self.note().0, Role::Muted).width();
        if note == 0 {
            return ColumnWidths { argument: free, note };
        }
        let column = ARGUMENT_WIDTH.max(page * 2 / 5);
        let available = free.saturating_sub(note.min(NOTE_WIDTH) + 2).max(MIN_ARGUMENT.min(free / 2));
        let needed = Span::new(self.shown_argument(), Role::Muted).width();
        let argument = needed.min(free.saturating_sub(note + 2)).max(column.min(available));
        ColumnWidths { argument, note: free.saturating_sub(argument + 2) }
    }

    fn argument(&self) -> String {
        let details = match &self.state {
            CallState::Done { outcome, .. } => outcome.details.as_ref(),
            _ => None,
        };
        self.traits.shown_argument.text(render::final_arguments(&self.args, details))
    }

    fn shown_argument(&self) -> String {
        one_line(&self.argument())
    }

    /// Returns the full argument, if the block is unfolded and the line is too short for it.
    fn whole_argument(&self, ctx: &RenderContext) -> Vec<Line> {
        let shown = self.shown_argument();
        let is_whole = Span::new(shown.as_str(), Role::Muted).width() <= self.room(ctx).argument;
        if !ctx.folds.output_open || is_whole && !shown.contains('⏎') {
            return Vec::new();
        }
        let text = self.argument();
        indented(render::plain(text.trim(), Role::Text, text_width(ctx)), "    ", Role::Text)
    }

    fn sign(&self, ctx: &RenderContext) -> (&'static str, Role) {
        match &self.state {
            CallState::Streaming(_) | CallState::Pending => ("○", Role::Muted),
            CallState::AwaitsApproval => ("?", Role::Warning),
            CallState::Running { .. } => (ctx.spinner(), Role::Accent),
            CallState::Done { .. } => match self.end() {
                CallEnd::Success => ("✓", Role::Success),
                CallEnd::Failure => ("✗", Role::Error),
                CallEnd::NotRun => ("–", Role::Muted),
            },
            CallState::Lost => ("–", Role::Warning),
            CallState::NotRun => ("–", Role::Muted),
        }
    }

    fn was_not_run(&self) -> bool {
        matches!(self.state, CallState::NotRun)
            || matches!(self.state, CallState::Done { .. }) && self.end() == CallEnd::NotRun
    }

    fn end(&self) -> CallEnd {
        let CallState::Done { outcome, is_error, .. } = &self.state else { return CallEnd::Success };
        if !is_error {
            return match exit_code(outcome) {
                Some(code) if code != 0 => CallEnd::Failure,
                Some(_) | None => CallEnd::Success,
            };
        }
        let text = joined_text(&outcome.content);
        // Older logs have "not begun:".
        let prefixes = ["skipped:", DENIED, "not run:", "not started:", "not begun:", "aborted:"];
        if prefixes.iter().any(|prefix| text.starts_with(prefix)) {
            CallEnd::NotRun
        } else {
            CallEnd::Failure
        }
    }

    /// The note: a short form of the result.
    fn note(&self) -> (String, Role) {
        match &self.state {
            CallState::Streaming(0) | CallState::Pending | CallState::Running { .. } => {
                (String::new(), Role::Muted)
            }
            CallState::Streaming(bytes) => (format!("writing… {bytes} bytes"), Role::Muted),
            CallState::AwaitsApproval => ("needs approval".to_owned(), Role::Warning),
            CallState::Lost => ("interrupted, no result".to_owned(), Role::Warning),
            CallState::NotRun => (not_run_note(CutOffCall::NotStarted.text()), Role::Muted),
            CallState::Done { outcome, .. } => match self.end() {
                CallEnd::NotRun => (not_run_note(&joined_text(&outcome.content)), Role::Muted),
                CallEnd::Success => (render::result_note(outcome.details.as_ref()), Role::Muted),
                CallEnd::Failure => (render::result_note(outcome.details.as_ref()), Role::Error),
            },
        }
    }

    fn elapsed(&self, ctx: &RenderContext) -> Option<String> {
        match &self.state {
            CallState::Running { since, .. } => noticeable_time(ctx.now.since_ms(*since)),
            CallState::Done { took_ms: Some(ms), .. } if self.end() != CallEnd::NotRun => {
                noticeable_time(*ms)
            }
            _ => None,
        }
    }

    fn output(&self, outcome: &ToolOutcome, is_error: bool, ctx: &RenderContext) -> Vec<Line> {
        let detail = |key: &str| outcome.details.as_ref().and_then(|details| details[key].as_str());
        if let Some(diff) = detail("diff") {
            let page = ctx.layout_options().with_width(ctx.width.saturating_sub(4).max(1));
            let lines = render::diff(diff, detail("path").unwrap_or_default(), page);
            return indented(folded(lines, FOLDED_DIFF, ctx), "    ", Role::Text);
        }
        let text = joined_text(&outcome.content);
        let end = self.end();
        if end == CallEnd::NotRun {
            // A denial's reason is written by a person, so a truncated one is repeated below; the other
            // phrases are fixed.
            let shows_reason = text.starts_with(DENIED) || ctx.folds.output_open;
            let is_long = Span::new(self.note().0, Role::Muted).width() > self.room(ctx).note;
            let first = outcome.content.first().and_then(UserBlock::as_text).unwrap_or_default();
            let is_cut = is_long || first.trim_end().contains('\n');
            let skipped = usize::from(!(shows_reason && is_cut));
            let remains = self.result_text(outcome, skipped);
            let is_nothing = remains.text.is_empty();
            return if is_nothing {
                Vec::new()
            } else {
                finished_output(self.output_of(&remains), FOLDED, ctx)
            };
        }
        if self.is_quiet() && !is_error && !ctx.folds.output_open {
            return Vec::new();
        }
        // A failed command has output; the text of any other failed tool is an error message.
        let result = self.result_text(outcome, 0);
        let output = self.output_of(&result);
        match exit_code(outcome) {
            Some(code) if self.traits.output == OutputKind::Command => {
                finished_output(output.with_text(printed(&result.text, code)), FOLDED, ctx)
            }
            None if is_error && !was_run(outcome) => {
                let width = text_width(ctx);
                with_notes(ToolOutputBlock::Literal(&text), FOLDED, ctx, |output| {
                    render::plain(output.text(), Role::Error, width)
                })
            }
            Some(_) | None => finished_output(output, FOLDED, ctx),
        }
    }

    /// Returns the text of a result without its first `skipped` blocks; the style runs belong to the last
    /// block. Escape sequences are interpreted only in a command's text. In any other text they are shown,
    /// and styles are applied if it has no escape sequences. Imported command output contains none.
    fn result_text(&self, outcome: &ToolOutcome, skipped: usize) -> StyledText {
        let blocks = outcome.content.get(skipped..).unwrap_or_default();
        let text = joined_text(blocks);
        let style_runs =
            outcome.details.as_ref().map(|details| parse_style_runs(&details["strokes"])).unwrap_or_default();
        let last = blocks.iter().rev().find_map(UserBlock::as_text).unwrap_or_default();
        let before = text.chars().count() - last.chars().count();
        let shifted = style_runs
            .into_iter()
            .map(|stroke| StyleRun { start: stroke.start.saturating_add(before), ..stroke });
        match self.traits.output {
            OutputKind::Command => StyledText::from_stored(&text, shifted.collect()),
            OutputKind::Text | OutputKind::File | OutputKind::Listing | OutputKind::Diff => {
                let style_runs = if StyledText::is_plain(&text) { shifted.collect() } else { Vec::new() };
                StyledText { text, style_runs }
            }
        }
    }

    fn output_of<'a>(&self, text: &'a StyledText) -> ToolOutputBlock<'a> {
        if self.traits.output == OutputKind::Command || !text.style_runs.is_empty() {
            ToolOutputBlock::from_styled(text)
        } else {
            ToolOutputBlock::Literal(&text.text)
        }
    }
}

/// Returns the images of a result: their description lines, and the images if the terminal can display them.
fn shown_images(outcome: &ToolOutcome, ctx: &RenderContext) -> Vec<Line> {
    let inner = ctx.indented(4);
    let images = outcome.content.iter().filter_map(UserBlock::as_image);
    indented(images.flat_map(|(kind, data)| image_lines(kind, data, &inner)).collect(), "    ", Role::Text)
}

/// Returns the output of a command without the parts that its summary line shows: exit code, `[no output]`.
fn printed(text: &str, code: i64) -> &str {
    let text = text.trim_end();
    let text = text.strip_suffix(&format!("[exit code {code}]")).unwrap_or(text).trim_end();
    match text.strip_prefix(NO_OUTPUT) {
        Some(rest) if rest.is_empty() || rest.starts_with("\n[") => rest.trim_start(),
        Some(_) | None => text,
    }
}

/// The newest lines of a running command's output.
pub(super) fn running_output(
    output: ToolOutputBlock<'_>,
    folded: FoldedOutput,
    ctx: &RenderContext,
) -> Vec<Line> {
    let few = folded.head + 1 + folded.tail;
    let most = if ctx.folds.output_open { MAX_LINES } else { few };
    let mut lines = output.trimmed().last_lines(most, most * ctx.width, ctx);
    if !ctx.folds.output_open && lines.len() > few {
        lines.drain(..lines.len() - few);
    }
    indented(lines, "  │ ", Role::Muted)
}

/// The folded output of a finished command.
pub(super) fn finished_output(
    output: ToolOutputBlock<'_>,
    folded: FoldedOutput,
    ctx: &RenderContext,
) -> Vec<Line> {
    with_notes(output, folded, ctx, |output| output.lines(ctx))
}

/// The folded output and the notes under it.
fn with_notes(
    output: ToolOutputBlock<'_>,
    shown: FoldedOutput,
    ctx: &RenderContext,
    lay_out: impl Fn(ToolOutputBlock<'_>) -> Vec<Line>,
) -> Vec<Line> {
    let (printed, notes) = truncation_notes::split(output.text());
    let printed =
        if printed.is_empty() { Vec::new() } else { folded(lay_out(output.with_text(printed)), shown, ctx) };
    let mut lines = indented(printed, "  │ ", Role::Muted);
    lines.extend(indented(truncation_notes::lines(notes, text_width(ctx)), "    ", Role::Muted));
    lines
}

/// Returns the width of prose under a call. Command output is formatted by its command and takes the whole
/// width.
fn text_width(ctx: &RenderContext) -> usize {
    ctx.width.min(ctx.measure).saturating_sub(4).max(1)
}

/// Returns the first and last lines, with a count of the lines in between.
fn folded(mut lines: Vec<Line>, FoldedOutput { head, tail }: FoldedOutput, ctx: &RenderContext) -> Vec<Line> {
    let hidden = lines.len().saturating_sub(head + tail);
    if ctx.folds.output_open || hidden <= 2 {
        return lines;
    }
    // Count logical lines, as printed by the command.
    let count = lines[head..head + hidden].iter().filter(|line| line.wrap == Wrap::Hard).count();
    let message = match count {
        0 => format!("{hidden} more rows"),
        1 => "1 more line".to_owned(),
        _ => format!("{count} more lines"),
    };
    let note = Line::new(format!("… {message} ({})", ctx.unfold_key), Role::Muted);
    lines.splice(head..head + hidden, [note]);
    lines
}

fn indented(lines: Vec<Line>, indent: &str, role: Role) -> Vec<Line> {
    let indent_line = |mut line: Line| {
        line.prepend_margin(Span::new(indent, Style::from(role)));
        line
    };
    lines.into_iter().map(indent_line).collect()
}

/// Returns true for the result of a command that ran, with any exit code.
fn was_run(outcome: &ToolOutcome) -> bool {
    outcome.details.as_ref().is_some_and(|details| details["timedOut"].is_boolean())
}

fn exit_code(outcome: &ToolOutcome) -> Option<i64> {
    outcome.details.as_ref()?["exitCode"].as_i64()
}

/// Returns the reason a call didn't run. The part after a semicolon is only for the model.
fn not_run_note(text: &str) -> String {
    let line = first_line(text);
    match line.split_once(';') {
        Some((why, _)) if !line.starts_with(DENIED) => why.to_owned(),
        Some(_) | None => line,
    }
}

fn first_line(text: &str) -> String {
    sanitize(text.lines().next().unwrap_or_default(), ControlChars::Visible).into_owned()
}

#[cfg(test)]
mod tests;
