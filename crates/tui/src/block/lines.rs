//! The lines of user messages, notices and failures.

use tiller_core::counted::counted;
use tiller_core::message::split_advice;
use tiller_core::unit::UnixMs;
use tiller_engine::attachment_labels;
use tiller_render::{
    self as render, AddressStyle, BreakMode, ControlChars, Emphasis, Indent, Line, Role, Span, Style,
    sanitize, truncate_to, wrap,
};
use tiller_session::entry::DeliveryReceipt;

use crate::block::notice_level::NoticeLevel;
use crate::layout::{RenderContext, rule};
use crate::receipt;
use crate::text::{one_line, short_duration};

/// Maximum lines of a user message. A longer one is folded to its first `FOLDED_HEAD` and last `FOLDED_END`
/// lines, because the question is often at the end.
const MAX_LINES: usize = 20;
const FOLDED_HEAD: usize = 8;
const FOLDED_END: usize = 4;

/// Maximum bytes of a user message, for very long lines.
const MAX_BYTES: usize = 4 * 1024;

/// Returns true if a user message is long enough to be folded.
pub(super) fn is_long(text: &str) -> bool {
    text.len() > MAX_BYTES || text.trim_end().lines().nth(MAX_LINES).is_some()
}

pub(super) fn user(
    (whole, typed): (&str, Option<&str>),
    (note, at): (&str, UnixMs),
    receipt: Option<&DeliveryReceipt>,
    ctx: &RenderContext,
) -> Vec<Line> {
    let folded = !ctx.folds.output_open;
    let typed = typed.filter(|_| folded);
    let hint = if typed.is_some() { &*ctx.unfold_key } else { "" };
    let time = receipt.map_or_else(|| ctx.clock_time(at), |receipt| receipt::label(receipt, at, ctx));
    let labels = [hint, note, time.as_str()].into_iter().filter(|label| !label.is_empty());
    let time = labels.collect::<Vec<_>>().join(" ");
    let measure = ctx.width.min(ctx.measure);
    let reserved = (time.chars().count() + 2).min(measure / 2);
    let text = typed.unwrap_or(whole).trim_end();
    let (shown, hidden, end) = if folded { ends(text) } else { (text, 0, "") };
    let bold = Style::from(Role::User).with(Emphasis::BOLD);
    let mut lines = message_lines_reserving(reserved, shown, bold, measure);
    if hidden > 0 {
        let note = format!("… {} ({})", counted(hidden, "more line", "more lines"), ctx.unfold_key);
        lines.extend(message_lines(&note, Role::Muted.into(), measure));
    }
    if !end.is_empty() {
        lines.extend(message_lines(end, bold, measure));
    }
    if typed.is_some() {
        let labels = attachment_labels(whole);
        lines.extend(labels.iter().flat_map(|label| message_lines(label, Role::Muted.into(), measure)));
    }
    if let Some(first) = lines.first_mut() {
        *first = ctx.right_aligned(std::mem::take(first), Some(Span::new(time, Role::Muted)));
    }
    let story = receipt.map(DeliveryReceipt::details).filter(|story| !story.is_empty());
    if let Some(story) = story {
        let indent = Indent {
            first: vec![Span::new("▌ ", Role::Accent), Span::new("↳ ", Role::Muted)],
            rest: vec![Span::new("    ", Role::Muted)],
        };
        lines.extend(wrap(&[Span::new(story, Role::Muted)], measure, &indent, BreakMode::Words));
    }
    lines
}

/// Returns the folded form of a message: its beginning, the number of hidden lines, its end.
fn ends(text: &str) -> (&str, usize, &str) {
    if !is_long(text) {
        return (text, 0, "");
    }
    let by_lines = text.match_indices('\n').nth(FOLDED_HEAD - 1).map_or(text.len(), |(at, _)| at);
    let head = text.floor_char_boundary(by_lines.min(MAX_BYTES / 2));
    let by_lines = text.rmatch_indices('\n').nth(FOLDED_END - 1).map_or(0, |(at, _)| at + 1);
    let tail = text.ceil_char_boundary(by_lines.max(text.len().saturating_sub(MAX_BYTES / 2)).max(head));
    let between = text[head..tail].trim_matches('\n');
    (&text[..head], between.lines().count(), &text[tail..])
}

fn message_lines(text: &str, style: Style, width: usize) -> Vec<Line> {
    message_lines_reserving(0, text, style, width)
}

/// Returns the lines of a user message whose first row keeps `reserved` columns free on the right.
fn message_lines_reserving(reserved: usize, text: &str, style: Style, width: usize) -> Vec<Line> {
    let bar = || Span::new("▌ ", Role::Accent);
    let mut lines = render::literal(text, style);
    if lines.is_empty() {
        lines.push(Line::default());
    }
    // Reserved while the first line is wrapped, removed afterwards.
    let mut indent =
        Indent { first: vec![bar(), Span::new(" ".repeat(reserved), Role::Text)], rest: vec![bar()] };
    let mut rows = Vec::new();
    for line in lines {
        let spans = render::link_addresses(line.spans, AddressStyle::AsItIs);
        let mut wrapped = wrap(&spans, width, &indent, BreakMode::Words);
        if rows.is_empty() {
            wrapped[0].spans.remove(1);
            wrapped[0].margins.before -= 1;
            indent = Indent::all(vec![bar()]);
        }
        rows.append(&mut wrapped);
    }
    rows
}

pub(super) fn unfolding_rule(title: &str, text: &str, ctx: &RenderContext) -> Vec<Line> {
    let hint = if text.is_empty() { String::new() } else { format!(" ({})", ctx.unfold_key) };
    let mut lines = vec![rule(&format!("{title}{hint}"), ctx.width)];
    if ctx.folds.output_open {
        // Aligned with answers.
        let mut text = render::markdown(text, ctx.indented(2).layout_options());
        text.iter_mut().for_each(|line| line.prepend_margin(Span::new("  ", Role::Text)));
        lines.extend(text);
    }
    lines
}

pub(super) fn notice(level: NoticeLevel, text: &str, hint: Option<&str>, width: usize) -> Vec<Line> {
    let (sign, role) = match level {
        NoticeLevel::Note => ("· ", Role::Muted),
        NoticeLevel::Warning => ("! ", Role::Warning),
        NoticeLevel::Error => ("✗ ", Role::Error),
    };
    let indent = Indent { first: vec![Span::new(sign, role)], rest: vec![Span::new("  ", role)] };
    let text = sanitize(text.trim(), ControlChars::Visible);
    let mut lines = wrap(&[Span::new(text.as_ref(), role)], width, &indent, BreakMode::Words);
    lines.extend(hint.map(|hint| advice(hint, width)).into_iter().flatten());
    lines
}

/// The lines of a hint under a notice.
fn advice(text: &str, width: usize) -> Vec<Line> {
    let indent =
        Indent { first: vec![Span::new("  → ", Role::Muted)], rest: vec![Span::new("    ", Role::Muted)] };
    wrap(&[Span::new(text, Role::Muted)], width, &indent, BreakMode::Words)
}

/// Returns the lines of a failed request: the error, the number of attempts, and the hint.
pub(super) fn failure(text: &str, times: usize, width: usize) -> Vec<Line> {
    let indent =
        Indent { first: vec![Span::new("✗ ", Role::Error)], rest: vec![Span::new("  ", Role::Error)] };
    let text = sanitize(text.trim(), ControlChars::Visible);
    let (error, hint) = split_advice(&text);
    let mut spans = vec![Span::new(error, Role::Error)];
    if times > 1 {
        spans.push(Span::new(format!("  {times} attempts"), Role::Muted));
    }
    let mut lines = wrap(&spans, width, &indent, BreakMode::Words);
    lines.extend(hint.map(|hint| advice(hint, width)).into_iter().flatten());
    lines
}

/// Returns the line of failed requests before a successful one.
pub(super) fn recovered(reason: &str, attempt: usize, waited_ms: u64, width: usize) -> Line {
    let waited = match waited_ms {
        0..1_000 => String::new(),
        1_000..60_000 => format!(" after {} s", waited_ms / 1_000),
        _ => format!(" after {}", short_duration(waited_ms)),
    };
    let end = format!("; attempt {attempt} succeeded{waited}");
    let room = width.saturating_sub(end.chars().count() + 2);
    let reason = truncate_to(&one_line(&sanitize(reason, ControlChars::Visible)), room);
    Line::new(format!("· {reason}{end}"), Role::Muted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::FoldDefaults;

    #[test]
    fn failure_hint_is_below_the_error() {
        let lines = failure("openai: a → b (HTTP status 401) → check OPENAI_API_KEY", 2, 60);
        let text: Vec<String> = lines.iter().map(Line::text).collect();
        assert_eq!(text, ["✗ openai: a → b (HTTP status 401)  2 attempts", "  → check OPENAI_API_KEY"]);
        assert_eq!(failure("the provider failed", 1, 60).len(), 1);
    }

    #[test]
    fn rule_unfolded_summary_is_indented() {
        let folds = FoldDefaults { output_open: true, ..FoldDefaults::default() };
        let lines = unfolding_rule(
            "compacted",
            "Some **words** that go on.",
            &RenderContext { width: 20, folds, ..RenderContext::default() },
        );
        let text: Vec<String> = lines[1..].iter().map(Line::text).collect();
        assert_eq!(text, ["  Some words that go", "  on."]);
    }
}
