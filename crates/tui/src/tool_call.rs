//! A tool call on the screen: its line, and what of its output is worth showing under it.

mod notes;
mod output;

pub(super) use output::ToolOutputBlock;

use serde_json::Value;
use tiller_core::ansi::{StyleRun, StyledText, strokes_of};
use tiller_core::event::ToolOutcome;
use tiller_core::id::CallId;
use tiller_core::message::{UserBlock, joined_text, runs_commands, runs_commands_elsewhere};
use tiller_core::unit::UnixMs;
use tiller_render::{self as render, ControlChars, Line, Margins, Role, Span, Style, Wrap, cut_to, sanitize};
use tiller_session::context::CutOffCall;

use super::block::image_lines;
use super::layout::RenderContext;

/// Columns of a tool's name, so that the arguments of calls stand in a column.
const NAME: usize = 10;

/// Columns of an argument that a note follows, so that notes stand in a column; on a wide screen two fifths of it. An argument that is
/// longer takes what the note leaves.
const ARGUMENT: usize = 32;

/// Columns of a note that an argument makes way for: as many as most notes have.
const NOTE: usize = 30;

/// Columns that an argument has all the same.
const LEAST_ARGUMENT: usize = 8;

/// Lines of output shown before it is unfolded: a few, and of what the user asked for as many as the smallest usual screen has room
/// for, the last ones.
const FOLDED: FoldedOutput = FoldedOutput { head: 2, tail: 2 };
pub(super) const FOLDED_SHELL: FoldedOutput = FoldedOutput { head: 0, tail: 16 };

/// Lines of a diff shown before it is unfolded.
const FOLDED_DIFF: FoldedOutput = FoldedOutput { head: 8, tail: 7 };

/// What a command without output says to the model; a person sees that there is nothing.
const NO_OUTPUT: &str = "[no output]";

/// How the result of a call that was refused begins.
const DENIED: &str = "denied:";

/// Lines of output that are shown at all; the rest is in the log.
const MOST_LINES: usize = 2_000;

/// How many lines are shown of what is folded, beside the one that says how many are not.
#[derive(Clone, Copy)]
pub(super) struct FoldedOutput {
    head: usize,
    tail: usize,
}

/// A call of a tool.
#[derive(Clone, Debug)]
pub(super) struct ToolCallBlock {
    pub(super) id: CallId,
    pub(super) name: String,
    pub(super) args: Value,
    pub(super) state: CallState,
}

/// How far a call is.
#[derive(Clone, Debug)]
pub(super) enum CallState {
    /// The model is still writing its arguments: so many bytes yet.
    Written(usize),
    /// It hasn't begun.
    Waits,
    /// It asks.
    Asks,
    /// It runs.
    Runs { since: UnixMs, partial: ToolOutcome },
    /// It has its result.
    Done { outcome: ToolOutcome, is_error: bool, took_ms: Option<u64> },
    /// It never got a result.
    Lost,
    /// Nor did it begin, for certain: one before it was cut off.
    Unbegun,
}

/// Columns of a call's line.
#[derive(Clone, Copy)]
struct ColumnWidths {
    argument: usize,
    note: usize,
}

/// How a call ended, as its sign shows it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CallEnd {
    Well,
    Badly,
    /// It never began: skipped, denied, invalid.
    Unrun,
}

impl ToolCallBlock {
    pub(super) fn lines(&self, ctx: &RenderContext) -> Vec<Line> {
        let mut lines = vec![self.head(ctx)];
        let output = match &self.state {
            CallState::Runs { partial, .. } => {
                let said = self.said(partial, 0);
                running_output(self.output_of(&said), FOLDED, ctx)
            }
            CallState::Done { outcome, is_error, .. } => {
                let mut lines = self.output(outcome, *is_error, ctx);
                lines.extend(shown_images(outcome, ctx));
                lines
            }
            CallState::Written(_)
            | CallState::Waits
            | CallState::Asks
            | CallState::Lost
            | CallState::Unbegun => Vec::new(),
        };
        lines.extend(self.whole_argument(ctx));
        lines.extend(output);
        lines
    }

    /// Whether its lines change by themselves.
    pub(super) fn is_alive(&self) -> bool {
        matches!(self.state, CallState::Runs { .. })
    }

    /// What it was asked and what came of it.
    pub(super) fn texts(&self) -> Vec<String> {
        let outcome = match &self.state {
            CallState::Runs { partial, .. } => Some(partial),
            CallState::Done { outcome, .. } => Some(outcome),
            _ => None,
        };
        let mut texts = vec![argument(&self.name, &self.args)];
        let diff = outcome.and_then(|outcome| outcome.details.as_ref()?["diff"].as_str());
        match (diff, outcome) {
            (Some(diff), _) => texts.push(diff.to_owned()),
            (None, Some(outcome)) => texts.push(self.said(outcome, 0).text),
            (None, None) => {}
        }
        texts
    }

    /// Whether it may still get a result.
    pub(super) fn is_open(&self) -> bool {
        !matches!(self.state, CallState::Done { .. } | CallState::Lost | CallState::Unbegun)
    }

    /// Whether its tool only reads, so that it may run beside others of its kind.
    pub(super) fn reads(&self) -> bool {
        matches!(self.name.as_str(), "read_file" | "grep" | "list_files" | "find_files")
    }

    /// Its line.
    pub(super) fn head(&self, ctx: &RenderContext) -> Line {
        let (sign, role) = self.sign(ctx);
        let mut left = vec![Span::new(format!("{sign} "), role)];
        let name_style = if self.unrun() { Role::Muted } else { Role::Text };
        left.push(Span::new(self.padded_name(), name_style));
        let right = self.elapsed(ctx).map(|text| Span::new(text, Role::Muted));
        let room = self.room(ctx);
        let mut argument = cut_to(&self.shown_argument(), room.argument);
        let (note, note_role) = self.note();
        if note.is_empty() {
            left.push(Span::new(argument, Role::Muted));
        } else {
            let width = Span::new(argument.clone(), Role::Muted).width();
            argument.push_str(&" ".repeat(room.argument.saturating_sub(width)));
            left.push(Span::new(argument, Role::Muted));
            left.push(Span::new(format!("  {}", cut_to(&note, room.note)), note_role));
        }
        let left = Line { margins: Margins { before: 1, behind: 0 }, ..Line::from(left) };
        ctx.right_aligned(left, right)
    }

    /// The column in which a note begins beside an argument that isn't longer than most.
    pub(super) fn note_column(ctx: &RenderContext) -> usize {
        2 + NAME + 1 + ARGUMENT.max(ctx.width.min(ctx.measure) * 2 / 5) + 2
    }

    fn padded_name(&self) -> String {
        let name = sanitize(&self.name, ControlChars::Visible);
        let padding = NAME.saturating_sub(name.chars().count()) + 1;
        format!("{name}{}", " ".repeat(padding))
    }

    /// How its line is shared out. A note begins where the others do, unless the argument is longer: that goes on as far as the note
    /// stays whole. On a screen that is too narrow for a column a note begins as soon as it can.
    fn room(&self, ctx: &RenderContext) -> ColumnWidths {
        let right = self.elapsed(ctx).map_or(0, |text| Span::new(text, Role::Muted).width() + 2);
        let used = 2 + Span::new(self.padded_name(), Role::Text).width() + right;
        let page = ctx.width.min(ctx.measure);
        let free = page.saturating_sub(used);
        let note = Span::new(self.note().0, Role::Muted).width();
        if note == 0 {
            return ColumnWidths { argument: free, note };
        }
        let column = ARGUMENT.max(page * 2 / 5);
        let beside = free.saturating_sub(note.min(NOTE) + 2).max(free.min(LEAST_ARGUMENT));
        let wanted = Span::new(self.shown_argument(), Role::Muted).width();
        let argument = wanted.min(free.saturating_sub(note + 2)).max(column.min(beside));
        ColumnWidths { argument, note: free.saturating_sub(argument + 2).max(NOTE) }
    }

    /// Its argument on one line.
    fn shown_argument(&self) -> String {
        one_line(&argument(&self.name, &self.args))
    }

    /// Its argument, where it is unfolded and its line has no room for all of it.
    fn whole_argument(&self, ctx: &RenderContext) -> Vec<Line> {
        let shown = self.shown_argument();
        let is_whole = Span::new(shown.as_str(), Role::Muted).width() <= self.room(ctx).argument;
        if !ctx.folds.output_open || is_whole && !shown.contains('⏎') {
            return Vec::new();
        }
        let text = argument(&self.name, &self.args);
        indented(render::plain(text.trim(), Role::Text, read_width(ctx)), "    ", Role::Text)
    }

    fn sign(&self, ctx: &RenderContext) -> (&'static str, Role) {
        match &self.state {
            CallState::Written(_) | CallState::Waits => ("○", Role::Muted),
            CallState::Asks => ("?", Role::Warning),
            CallState::Runs { .. } => (ctx.spinner(), Role::Accent),
            CallState::Done { .. } => match self.end() {
                CallEnd::Well => ("✓", Role::Success),
                CallEnd::Badly => ("✗", Role::Error),
                CallEnd::Unrun => ("–", Role::Muted),
            },
            CallState::Lost => ("–", Role::Warning),
            CallState::Unbegun => ("–", Role::Muted),
        }
    }

    fn unrun(&self) -> bool {
        matches!(self.state, CallState::Unbegun)
            || matches!(self.state, CallState::Done { .. }) && self.end() == CallEnd::Unrun
    }

    fn end(&self) -> CallEnd {
        let CallState::Done { outcome, is_error, .. } = &self.state else { return CallEnd::Well };
        if !is_error {
            return match exit_code(outcome) {
                Some(code) if code != 0 => CallEnd::Badly,
                Some(_) | None => CallEnd::Well,
            };
        }
        let text = joined_text(&outcome.content);
        let unrun = ["skipped:", DENIED, "not run:", "not begun:", "aborted:"];
        if unrun.iter().any(|word| text.starts_with(word)) { CallEnd::Unrun } else { CallEnd::Badly }
    }

    /// What it came to, in a few words.
    fn note(&self) -> (String, Role) {
        match &self.state {
            CallState::Written(0) | CallState::Waits | CallState::Runs { .. } => (String::new(), Role::Muted),
            CallState::Written(bytes) => (format!("writing… {bytes} bytes"), Role::Muted),
            CallState::Asks => ("asks".to_owned(), Role::Warning),
            CallState::Lost => ("cut off, no result".to_owned(), Role::Warning),
            CallState::Unbegun => (unrun_note(CutOffCall::Unbegun.said()), Role::Muted),
            CallState::Done { outcome, .. } => match self.end() {
                CallEnd::Unrun => (unrun_note(&joined_text(&outcome.content)), Role::Muted),
                CallEnd::Well => (facts(outcome), Role::Muted),
                CallEnd::Badly => (facts(outcome), Role::Error),
            },
        }
    }

    fn elapsed(&self, ctx: &RenderContext) -> Option<String> {
        match &self.state {
            CallState::Runs { since, .. } => noticeable(ctx.now.since_ms(*since)),
            CallState::Done { took_ms: Some(ms), .. } if self.end() != CallEnd::Unrun => noticeable(*ms),
            _ => None,
        }
    }

    fn output(&self, outcome: &ToolOutcome, is_error: bool, ctx: &RenderContext) -> Vec<Line> {
        let detail = |key: &str| outcome.details.as_ref().and_then(|details| details[key].as_str());
        if let Some(diff) = detail("diff") {
            let page = ctx.page().of_width(ctx.width.saturating_sub(4).max(1));
            let lines = render::diff(diff, detail("path").unwrap_or_default(), page);
            return indented(folded(lines, FOLDED_DIFF, ctx), "    ", Role::Text);
        }
        let text = joined_text(&outcome.content);
        let end = self.end();
        let quiet = self.reads();
        if end == CallEnd::Unrun {
            // Why somebody refused is theirs to say, so what the line had no room for is told beneath; the other phrases are known.
            let is_wanted = text.starts_with(DENIED) || ctx.folds.output_open;
            let is_long = Span::new(self.note().0, Role::Muted).width() > self.room(ctx).note;
            let first = outcome.content.first().and_then(UserBlock::as_text).unwrap_or_default();
            let is_cut = is_long || first.trim_end().contains('\n');
            let told = usize::from(!(is_wanted && is_cut));
            let remains = self.said(outcome, told);
            let is_nothing = remains.text.is_empty();
            return if is_nothing {
                Vec::new()
            } else {
                finished_output(self.output_of(&remains), FOLDED, ctx)
            };
        }
        if quiet && !is_error && !ctx.folds.output_open {
            return Vec::new();
        }
        // A command that failed still printed what it printed; what a tool says of its own failure is the error.
        let said = self.said(outcome, 0);
        let output = self.output_of(&said);
        match exit_code(outcome) {
            Some(code) if runs_commands(&self.name) => {
                finished_output(output.with_text(printed(&said.text, code)), FOLDED, ctx)
            }
            None if is_error && !was_run(outcome) => {
                let width = read_width(ctx);
                with_notes(ToolOutputBlock::Literal(&text), FOLDED, ctx, |output| {
                    render::plain(output.text(), Role::Error, width)
                })
            }
            Some(_) | None => finished_output(output, FOLDED, ctx),
        }
    }

    /// What a result says but for its first `skipped` blocks; the colours are those of what stands last.
    fn said(&self, outcome: &ToolOutcome, skipped: usize) -> StyledText {
        let blocks = outcome.content.get(skipped..).unwrap_or_default();
        let text = joined_text(blocks);
        if self.is_literal(&text) {
            return StyledText { text, strokes: Vec::new() };
        }
        let strokes =
            outcome.details.as_ref().map(|details| strokes_of(&details["strokes"])).unwrap_or_default();
        let last = blocks.iter().rev().find_map(UserBlock::as_text).unwrap_or_default();
        let before = text.chars().count() - last.chars().count();
        let moved = strokes
            .into_iter()
            .map(|stroke| StyleRun { start: stroke.start.saturating_add(before), ..stroke });
        StyledText::kept(&text, moved.collect())
    }

    /// How what it says is to be read.
    fn output_of<'a>(&self, said: &'a StyledText) -> ToolOutputBlock<'a> {
        if self.is_literal(&said.text) {
            ToolOutputBlock::Literal(&said.text)
        } else {
            ToolOutputBlock::of(said)
        }
    }

    /// Whether nothing in a text of its is obeyed. What other programs' commands printed was read when it was imported: there is nothing
    /// left to obey in it, but it has colours.
    fn is_literal(&self, text: &str) -> bool {
        let is_imported = || runs_commands_elsewhere(&self.name) && StyledText::is_plain(text);
        !runs_commands(&self.name) && !is_imported()
    }
}

/// The images of a result, each as its line and, where it is painted, the picture.
fn shown_images(outcome: &ToolOutcome, ctx: &RenderContext) -> Vec<Line> {
    let inner = ctx.indented(4);
    let images = outcome.content.iter().filter_map(UserBlock::as_image);
    indented(images.flat_map(|(kind, data)| image_lines(kind, data, &inner)).collect(), "    ", Role::Text)
}

/// What a command printed, without what its line already says: that it failed, that there is nothing.
fn printed(text: &str, code: i64) -> &str {
    let text = text.trim_end();
    let text = text.strip_suffix(&format!("[exit code {code}]")).unwrap_or(text).trim_end();
    match text.strip_prefix(NO_OUTPUT) {
        Some(rest) if rest.is_empty() || rest.starts_with("\n[") => rest.trim_start(),
        Some(_) | None => text,
    }
}

/// Of a command at work the newest lines are the ones to see.
pub(super) fn running_output(
    output: ToolOutputBlock<'_>,
    folded: FoldedOutput,
    ctx: &RenderContext,
) -> Vec<Line> {
    let few = folded.head + 1 + folded.tail;
    let most = if ctx.folds.output_open { MOST_LINES } else { few };
    let mut lines = output.trimmed().last_lines(most, most * ctx.width, ctx);
    if !ctx.folds.output_open && lines.len() > few {
        lines.drain(..lines.len() - few);
    }
    indented(lines, "  │ ", Role::Muted)
}

/// Output that is complete, folded.
pub(super) fn finished_output(
    output: ToolOutputBlock<'_>,
    folded: FoldedOutput,
    ctx: &RenderContext,
) -> Vec<Line> {
    with_notes(output, folded, ctx, |output| output.lines(ctx))
}

/// What was printed, folded, and beneath it what is to be said of it.
fn with_notes(
    output: ToolOutputBlock<'_>,
    shown: FoldedOutput,
    ctx: &RenderContext,
    lay_out: impl Fn(ToolOutputBlock<'_>) -> Vec<Line>,
) -> Vec<Line> {
    let (printed, said) = notes::split(output.text());
    let printed =
        if printed.is_empty() { Vec::new() } else { folded(lay_out(output.with_text(printed)), shown, ctx) };
    let mut lines = indented(printed, "  │ ", Role::Muted);
    lines.extend(indented(notes::lines(said, read_width(ctx)), "    ", Role::Muted));
    lines
}

/// Columns of words under a call that are read as a sentence is. What a command prints is laid out by whoever made it, and has the
/// page.
fn read_width(ctx: &RenderContext) -> usize {
    ctx.width.min(ctx.measure).saturating_sub(4).max(1)
}

/// The first and the last lines, with what is between them counted.
fn folded(mut lines: Vec<Line>, FoldedOutput { head, tail }: FoldedOutput, ctx: &RenderContext) -> Vec<Line> {
    let hidden = lines.len().saturating_sub(head + tail);
    if ctx.folds.output_open || hidden <= 2 {
        return lines;
    }
    // A line that goes on in several rows is one line, as whoever printed it sees it.
    let begun = lines[head..head + hidden].iter().filter(|line| line.joint == Wrap::Hard).count();
    let what = match begun {
        0 => format!("{hidden} more rows"),
        1 => "1 more line".to_owned(),
        _ => format!("{begun} more lines"),
    };
    let note = Line::new(format!("… {what} ({})", ctx.unfold), Role::Muted);
    lines.splice(head..head + hidden, [note]);
    lines
}

fn indented(lines: Vec<Line>, indent: &str, role: Role) -> Vec<Line> {
    let put = |mut line: Line| {
        line.set_in(Span::new(indent, Style::from(role)));
        line
    };
    lines.into_iter().map(put).collect()
}

/// Whether it is the result of a command that ran, however that ended.
fn was_run(outcome: &ToolOutcome) -> bool {
    outcome.details.as_ref().is_some_and(|details| details["timedOut"].is_boolean())
}

fn exit_code(outcome: &ToolOutcome) -> Option<i64> {
    outcome.details.as_ref()?["exitCode"].as_i64()
}

/// What the details of a result say, short.
fn facts(outcome: &ToolOutcome) -> String {
    let Some(details) = &outcome.details else { return String::new() };
    let count = |key: &str| details[key].as_u64();
    if let (Some(added), Some(removed)) = (count("added"), count("removed")) {
        return format!("+{added} −{removed}");
    }
    if details["timedOut"].as_bool() == Some(true) {
        return "timed out".to_owned();
    }
    let plural = |n: u64, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    match (count("lines"), count("matches"), count("files"), exit_code(outcome)) {
        (Some(n), ..) => plural(n, "line", "lines"),
        (_, Some(n), ..) => plural(n, "match", "matches"),
        (_, _, Some(n), _) => plural(n, "entry", "entries"),
        (.., Some(code)) if code != 0 => format!("exit {code}"),
        _ => String::new(),
    }
}

/// The argument by which a person recognises a call.
pub(super) fn argument(name: &str, args: &Value) -> String {
    let text = |key: &str| args[key].as_str().unwrap_or_default().to_owned();
    match name {
        "bash" => text("command"),
        "grep" | "find_files" => {
            [format!("{:?}", text("pattern")), text("path")].join(" ").trim_end().to_owned()
        }
        _ => {
            let known = ["path", "command", "pattern", "query", "url", "name"];
            let found = known.iter().find_map(|key| args[*key].as_str());
            let any = || args.as_object()?.values().find_map(Value::as_str);
            found.or_else(any).unwrap_or_default().to_owned()
        }
    }
}

/// A text on one line, line ends shown.
pub(super) fn one_line(text: &str) -> String {
    sanitize(text.trim(), ControlChars::Visible).replace('\n', " ⏎ ")
}

/// Why a call didn't run. What tiller adds to its own words behind a semicolon is for the model.
fn unrun_note(text: &str) -> String {
    let line = first_line(text);
    match line.split_once(';') {
        Some((why, _)) if !line.starts_with(DENIED) => why.to_owned(),
        Some(_) | None => line,
    }
}

fn first_line(text: &str) -> String {
    sanitize(text.lines().next().unwrap_or_default(), ControlChars::Visible).into_owned()
}

/// A span of time: `0.4s`, `12s`, `3m 05s`.
pub(super) fn seconds(ms: u64) -> String {
    match ms / 1_000 {
        0..=9 => format!("{}.{}s", ms / 1_000, ms % 1_000 / 100),
        s @ 10..=59 => format!("{s}s"),
        s => format!("{}m {:02}s", s / 60, s % 60),
    }
}

/// A span of time that somebody can notice; nothing of one under a tenth of a second.
pub(super) fn noticeable(ms: u64) -> Option<String> {
    (ms >= 100).then(|| seconds(ms))
}

#[cfg(test)]
mod tests {
    use tiller_core::ansi::AnsiColor;

    use super::*;
    use crate::layout::{Folds, READ};
    use serde_json::json;

    fn done(name: &str, args: Value, text: &str, details: Value, is_error: bool) -> ToolCallBlock {
        let content = vec![UserBlock::Text { text: text.into() }];
        let outcome = ToolOutcome { content, details: Some(details) };
        let state = CallState::Done { outcome, is_error, took_ms: Some(1_250) };
        ToolCallBlock { id: "c".into(), name: name.into(), args, state }
    }

    fn shown(call: &ToolCallBlock, width: usize) -> Vec<String> {
        let lines = call.lines(&RenderContext { width, ..RenderContext::default() });
        lines.iter().map(|line| line.text().trim_end().to_owned()).collect()
    }

    #[test]
    fn a_call_is_one_line_with_what_it_came_to() {
        let call = done("grep", json!({"pattern": "\\n", "path": "src"}), "…", json!({"matches": 6}), false);
        assert_eq!(
            shown(&call, 70),
            [r#"✓ grep       "\\n" src                         6 matches          1.2s"#]
        );
        assert_eq!(shown(&call, 24), [r#"✓ grep       "\\n…  6 matches"#]);
    }

    #[test]
    fn only_what_commands_print_acts_as_on_a_terminal() {
        let open = RenderContext {
            width: 60,
            folds: Folds { output_open: true, ..Folds::default() },
            ..RenderContext::default()
        };
        let text = "10%\r20%\n\u{1b}[31mred\u{1b}[0m\r\n";
        let lines = |name: &str, details: Value| -> Vec<String> {
            let call = done(name, json!({"path": "x"}), text, details, false);
            call.lines(&open)[1..].iter().map(|line| line.text().trim_end().to_owned()).collect()
        };
        let as_it_is = ["  │ 10%␍20%", "  │ ␛[31mred␛[0m␍"];
        for name in ["read_file", "grep", "guard_look", "mcp"] {
            assert_eq!(lines(name, json!({})), as_it_is);
            assert_eq!(lines(name, json!({"exitCode": 0, "strokes": [[0, 3, "31"]]})), as_it_is);
        }
        for name in ["Bash", "shell", "local_shell", "exec_command"] {
            assert_eq!(lines(name, json!({"exitCode": 0, "strokes": [[0, 3, "31"]]})), as_it_is, "{name}");
        }
        assert_eq!(lines("bash", json!({"exitCode": 0})), ["  │ 20%", "  │ red"]);
    }

    #[test]
    fn an_output_has_the_colours_that_were_kept_of_it() {
        let red = |call: &ToolCallBlock| -> String {
            let lines = call.lines(&RenderContext { width: 70, ..RenderContext::default() });
            let spans = lines.into_iter().flat_map(|line| line.spans);
            spans.filter(|span| span.style.fg == Some(AnsiColor::Basic(1))).map(|span| span.text).collect()
        };
        let strokes = json!([[4, 3, "31"]]);
        let ended = json!({"exitCode": 1, "timedOut": false, "strokes": strokes});
        let call = done("bash", json!({"command": "x"}), "one red two\n[exit code 1]", ended, true);
        assert_eq!(red(&call), "red");
        let late = json!({"exitCode": null, "timedOut": true, "strokes": strokes});
        let call = done("bash", json!({"command": "x"}), "one red two\n[stopped after 1 s]", late, true);
        assert_eq!(red(&call), "red");
        let imported = done("shell", json!({}), "one red two", json!({"strokes": strokes}), false);
        assert_eq!(red(&imported), "red");
        let mut call = done(
            "bash",
            json!({"command": "x"}),
            "aborted: the user stopped it",
            json!({"strokes": strokes}),
            true,
        );
        let CallState::Done { outcome, .. } = &mut call.state else { unreachable!() };
        outcome.content.push(UserBlock::Text { text: "one red two".into() });
        assert_eq!(red(&call), "red");
        call.state = CallState::Runs { since: UnixMs(0), partial: outcome_of("one red two", strokes) };
        assert_eq!(red(&call), "red");
    }

    fn outcome_of(text: &str, strokes: Value) -> ToolOutcome {
        let content = vec![UserBlock::Text { text: text.into() }];
        ToolOutcome { content, details: Some(json!({ "strokes": strokes })) }
    }

    #[test]
    fn a_call_that_never_ran_says_why_and_shows_no_output() {
        let call = done("edit_file", json!({"path": "a.rs"}), "skipped: the user steered", json!({}), true);
        assert_eq!(
            shown(&call, 70),
            ["– edit_file  a.rs                            skipped: the user steered"]
        );
    }

    #[test]
    fn what_became_of_a_call_stands_in_its_column_however_long_the_command_is() {
        let long =
            "find . -name '*.rs' -newer Cargo.toml -exec grep -n 'unwrap()' {} + | sort | head -40 | tac";
        let said =
            "denied: the user said no: not all of them, only those under src, and no tests at all please";
        for width in [79, 119] {
            let column = |command: &str, words: &str, state: Option<CallState>| {
                let mut call = done("bash", json!({"command": command}), said, json!({}), true);
                call.state = state.unwrap_or(call.state);
                let line = shown(&call, width).swap_remove(0);
                assert!(Span::new(line.clone(), Role::Text).width() <= width, "{line}");
                line.split_once(words).map(|(before, _)| before.chars().count())
            };
            let at = column("ls", "denied: the user said no", None);
            assert!(at.is_some());
            assert_eq!(column(long, "denied: the user said no", None), at);
            assert_eq!(column("ls", "asks", Some(CallState::Asks)), at);
            // A short word leaves room for more of the command.
            assert!(column(long, "asks", Some(CallState::Asks)) > at);
        }
    }

    #[test]
    fn an_argument_goes_on_as_far_as_what_became_of_it_stays_whole() {
        let path = "src/a/rather/long/path/that/is/longer/than/the/column/of/arguments.rs";
        let call = done("read_file", json!({"path": path}), "…", json!({"lines": 212}), false);
        let expected = format!("✓ read_file  {path}  212 lines            1.2s");
        assert_eq!(shown(&call, 109)[0], expected);
        let cut = &shown(&call, 79)[0];
        assert!(cut.contains("/longer/than/the/c…  212 lines  1.2s"), "{cut}");
        let wide = shown(&done("bash", json!({"command": "x".repeat(300)}), "", json!({}), false), 199);
        assert_eq!(Span::new(wide[0].as_str(), Role::Text).width(), READ, "no further than text goes");
    }

    #[test]
    fn unfolded_a_call_shows_all_of_an_argument_that_its_line_cuts() {
        let unfolded = |command: &str| {
            let call = done("bash", json!({"command": command}), "", json!({"exitCode": 0}), false);
            let folds = Folds { output_open: true, ..Folds::default() };
            let lines = call.lines(&RenderContext { width: 60, folds, ..RenderContext::default() });
            lines.iter().map(|line| line.text().trim_end().to_owned()).skip(1).collect::<Vec<_>>()
        };
        assert_eq!(unfolded("cd src\ncargo test"), ["    cd src", "    cargo test"]);
        assert_eq!(unfolded("cargo test"), Vec::<String>::new());
        assert_eq!(unfolded(&["word"; 20].join(" ")).len(), 2);
    }

    #[test]
    fn what_a_tool_says_of_its_failure_is_as_wide_as_text_and_what_a_command_prints_as_the_page() {
        let words = ["word"; 40].join(" ");
        let widest =
            |call: &ToolCallBlock| shown(call, 199)[1..].iter().map(|line| line.chars().count()).max();
        let failed = done("edit_file", json!({"path": "x"}), &words, json!({}), true);
        assert!(widest(&failed) <= Some(READ), "{:?}", widest(&failed));
        let printed = done("bash", json!({"command": "x"}), &words, json!({"exitCode": 0}), false);
        assert!(widest(&printed) > Some(READ), "{:?}", widest(&printed));
    }

    #[test]
    fn what_a_line_has_no_room_for_of_a_refusal_is_told_beneath() {
        let why = "denied: the user said no: not all of them, only those in src";
        let call = done("bash", json!({"command": "ls"}), why, json!({}), true);
        assert_eq!(
            shown(&call, 70),
            [
                "– bash       ls                         denied: the user said no: not…",
                "  │ denied: the user said no: not all of them, only those in src"
            ]
        );
        let why = "denied: the user said no: only those in src";
        let call = done("bash", json!({"command": "ls"}), why, json!({}), true);
        assert_eq!(shown(&call, 140).len(), 1);
        let call = done("bash", json!({"command": "ls"}), &format!("{why}\nand no tests"), json!({}), true);
        assert_eq!(shown(&call, 140)[1..], [format!("  │ {why}"), "  │ and no tests".to_owned()]);
        let why = "aborted: the user stopped it; it may have had effects";
        let call = done("bash", json!({"command": "ls"}), why, json!({}), true);
        assert_eq!(
            shown(&call, 77),
            ["– bash       ls                                aborted: the user stopped it"]
        );
    }

    #[test]
    fn a_call_that_was_stopped_shows_what_it_had_printed() {
        let mut call = done("bash", json!({"command": "x"}), "aborted: the user stopped it", json!({}), true);
        let CallState::Done { outcome, .. } = &mut call.state else { unreachable!() };
        outcome.content.push(UserBlock::Text { text: "one\ntwo\n".into() });
        assert_eq!(
            shown(&call, 72),
            [
                "– bash       x                              aborted: the user stopped it",
                "  │ one",
                "  │ two"
            ]
        );
    }

    #[test]
    fn long_output_shows_its_ends() {
        let text: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        let call = done("bash", json!({"command": "x"}), &text, json!({"exitCode": 1}), false);
        assert_eq!(
            shown(&call, 60)[1..],
            ["  │ line 1", "  │ line 2", "  │ … 16 more lines (ctrl+o)", "  │ line 19", "  │ line 20"]
        );
        assert!(shown(&call, 60)[0].starts_with("✗ bash"));
    }

    #[test]
    fn lines_that_are_left_out_are_counted_as_they_were_printed() {
        let text: String = (1..=9).map(|n| format!("{n} {}\n", "x".repeat(70))).collect();
        let call = done("bash", json!({"command": "x"}), &text, json!({"exitCode": 0}), false);
        assert_eq!(shown(&call, 60)[3], "  │ … 7 more lines (ctrl+o)");
        let call = done("bash", json!({"command": "x"}), &"x".repeat(900), json!({"exitCode": 0}), false);
        assert_eq!(shown(&call, 60)[3], "  │ … 13 more rows (ctrl+o)");
    }

    #[test]
    fn long_output_that_was_cut_shows_its_last_lines_and_beneath_them_where_all_of_it_is() {
        let text: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        let cut = "output cut: the last 20 of 99 lines are shown; all of it is in /tmp/tiller/output-a1.txt";
        let call = done(
            "bash",
            json!({"command": "x"}),
            &format!("{text}[{cut}]\n[exit code 1]"),
            json!({"exitCode": 1}),
            false,
        );
        let expected = [
            "  │ line 1",
            "  │ line 2",
            "  │ … 16 more lines (ctrl+o)",
            "  │ line 19",
            "  │ line 20",
            "    output cut: the last 20 of 99 lines are shown; all of it is in",
            "    /tmp/tiller/output-a1.txt",
        ];
        assert_eq!(shown(&call, 70)[1..], expected);
        let record = finished_output(
            ToolOutputBlock::Literal(&format!("{text}\n{cut}")),
            FOLDED,
            &RenderContext { width: 70, ..RenderContext::default() },
        );
        assert_eq!(record.iter().map(|line| line.text().trim_end().to_owned()).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_command_that_prints_nothing_shows_nothing() {
        let quiet =
            |text, code| done("bash", json!({"command": "x"}), text, json!({"exitCode": code}), code != 0);
        assert_eq!(shown(&quiet("[no output]", 0), 60).len(), 1);
        assert_eq!(shown(&quiet("[no output]\n[exit code 3]", 3), 60).len(), 1);
        assert_eq!(shown(&quiet("", 0), 60).len(), 1);
        assert_eq!(shown(&quiet("so\n[exit code 3]", 3), 60)[1..], ["  │ so"]);
    }

    #[test]
    fn what_a_tool_says_of_its_failure_keeps_its_words_whole() {
        let call =
            done("edit_file", json!({"path": "x"}), "the text to replace is not there", json!({}), true);
        assert_eq!(shown(&call, 26)[1..], ["  │ the text to replace is", "  │ not there"]);
    }

    #[test]
    fn an_edit_shows_its_diff() {
        let details = json!({"diff": "@@ -3 +3 @@\n-a\n+b\n", "added": 1, "removed": 1});
        let call = done("edit_file", json!({"path": "x"}), "", details, false);
        assert_eq!(shown(&call, 60)[1..], ["      3 - a", "      3 + b"]);
    }

    #[test]
    fn times_are_short() {
        assert_eq!([seconds(40), seconds(12_400), seconds(185_000)], ["0.0s", "12s", "3m 05s"]);
        assert_eq!([noticeable(99), noticeable(100)], [None, Some("0.1s".to_owned())]);
    }
}
