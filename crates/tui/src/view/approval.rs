//! The approval panel: the reason, the call as far as there is room, and the answers.

use std::ops::Range;

use tiller_core::unit::thousands;
use tiller_render::{Breaks, Emphasis, Indent, Line, Role, Span, Style, truncate_to, wrap};

use super::super::app::App;
use super::super::approval::{ApprovalAnswer, ApprovalPrompt, PanelMode};
use super::super::keymap::KeyCommand;
use super::super::tool_call::one_line;

/// Minimum rows of the call; with fewer it isn't shown.
const MIN_ROWS: usize = 3;

/// Rows of the call from which on its end is shown too, and the end's share of the rows.
const MIN_ROWS_WITH_END: usize = 8;
const END_SHARE: usize = 3;

/// Panel height from which on a blank row precedes it.
const ROOMY_PANEL: usize = 8;

/// The layout of the panel.
struct PanelAreas {
    above: usize,
    head: Vec<Line>,
    /// Rows of the call; `None` if there is no room.
    body: Option<usize>,
    foot: Vec<Line>,
}

/// Rows that the panel needs.
pub(super) fn rows_needed(app: &App) -> usize {
    let Some(pending) = app.model.activity.approvals.first() else { return 0 };
    1 + head(app, pending).len() + pending.detail.lines.len() + foot_rows(app, pending)
}

/// Visible rows of the call in a panel of `height` rows: from its scroll position, and of its end.
pub(super) fn body_rows(app: &App, height: usize) -> (usize, usize) {
    let Some(pending) = app.model.activity.approvals.first() else { return (0, 0) };
    split(pending, parts(app, pending, height).body.unwrap_or(0))
}

/// Splits `room` rows between the call's current position and its end; a line between them counts the hidden ones. A
/// scrolled call shows no end.
fn split(pending: &ApprovalPrompt, room: usize) -> (usize, usize) {
    if pending.detail.lines.len() <= room {
        return (room, 0);
    }
    let rows = room.saturating_sub(1);
    let end = if pending.detail.top == 0 && rows >= MIN_ROWS_WITH_END { rows / END_SHARE } else { 0 };
    (rows - end, end)
}

/// The panel in `height` rows.
pub(super) fn lines(app: &App, height: usize) -> Vec<Line> {
    let Some(pending) = app.model.activity.approvals.first().filter(|_| height > 0) else {
        return Vec::new();
    };
    let PanelAreas { above, head, body, foot } = parts(app, pending, height);
    let Some(body) = body else { return without_call(app, pending, height) };
    let mut lines = vec![Line::default(); above];
    lines.extend(head);
    let sheet = &pending.detail;
    let (rows, end) = split(pending, body);
    lines.extend(sheet.lines.iter().skip(sheet.top).take(rows).cloned());
    lines.extend(more(app, pending, (rows, end)));
    lines.extend(sheet.lines[sheet.lines.len() - end..].iter().cloned());
    lines.extend(foot);
    lines
}

fn parts(app: &App, pending: &ApprovalPrompt, height: usize) -> PanelAreas {
    let (head, foot) = (head(app, pending), foot(app, pending));
    let foot_rows = foot_rows(app, pending);
    let whole = head.len() + pending.detail.lines.len() + foot_rows;
    let body_below = |above: usize| {
        let room = height.checked_sub(above + head.len() + foot_rows);
        room.filter(|room| *room >= MIN_ROWS.min(pending.detail.lines.len()))
    };
    // The blank row is given up first.
    let above = usize::from((height >= ROOMY_PANEL || height > whole) && body_below(1).is_some());
    let body = body_below(above);
    PanelAreas { above, head, body, foot }
}

fn key(app: &App, command: KeyCommand) -> Span {
    Span::new(app.ui.keymap.key_of(command), Style::from(Role::Accent).with(Emphasis::BOLD))
}

fn muted(text: impl Into<String>) -> Span {
    Span::new(text, Role::Muted)
}

fn wrapped(spans: &[Span], app: &App) -> Vec<Line> {
    let indent = Indent { first: Vec::new(), rest: vec![Span::new("    ", Role::Text)] };
    wrap(spans, usize::from(app.ui.size.0).max(1), &indent, Breaks::Words)
}

fn head(app: &App, pending: &ApprovalPrompt) -> Vec<Line> {
    let bold = Style::from(Role::Warning).with(Emphasis::BOLD);
    let tool = one_line(&pending.request.tool_name);
    let mut spans = vec![
        Span::new(format!("  ? {tool} needs approval: "), bold),
        Span::new(one_line(&pending.request.reason), Role::Text),
    ];
    let all = app.model.activity.approvals.len()
        + app.model.activity.approvals.last().map_or(0, |last| last.request.later);
    if all > 1 {
        spans.push(muted(format!("  1 of {all}")));
    }
    wrapped(&spans, app)
}

/// The line that counts hidden lines of the call.
fn more(app: &App, pending: &ApprovalPrompt, (rows, end): (usize, usize)) -> Option<Line> {
    let (all, top) = (pending.detail.lines.len(), pending.detail.top);
    if all <= rows {
        return None;
    }
    let below = all.saturating_sub(top + rows + end);
    let (count, position, command) = match below {
        0 => (top, "above", KeyCommand::CallUp),
        below if end > 0 => (below, "between", KeyCommand::CallDown),
        below => (below, "below", KeyCommand::CallDown),
    };
    let noun = if count == 1 { "line" } else { "lines" };
    let words = Span::new(format!("  │ … {count} more {noun} {position} · "), Role::Warning);
    Some(
        vec![
            words,
            key(app, command),
            muted(" scrolls · "),
            key(app, KeyCommand::ShowCall),
            muted(" shows all"),
        ]
        .into(),
    )
}

fn foot(app: &App, pending: &ApprovalPrompt) -> Vec<Line> {
    if app.queue.has_keys() {
        let back = key(app, KeyCommand::QueueBack);
        return wrapped(&[muted("  the message queue has the keys; "), back, muted(" returns here")], app);
    }
    if pending.mode == PanelMode::WritingReason {
        let (send, back) = (key(app, KeyCommand::Send), key(app, KeyCommand::Stop));
        let label = Span::new("  type a reason for the model · ", Role::Text);
        return wrapped(&[label, send, muted(" denies · "), back, muted(" back")], app);
    }
    if !app.editor.is_empty() {
        let (send, clear) = (key(app, KeyCommand::Send), key(app, KeyCommand::Clear));
        if app.editor_holds_answer() {
            let text = app.editor.text();
            let key = Style::from(Role::Accent).with(Emphasis::BOLD);
            let repeated_key = Span::new(text.chars().take(1).collect::<String>(), key);
            let words = format!("  ignored `{text}`: pressed too soon · ");
            return wrapped(
                &[muted(words), repeated_key, muted(" again answers · "), clear, muted(" clears it")],
                app,
            );
        }
        return wrapped(
            &[
                muted("  "),
                send,
                muted(" denies and steers with your text · "),
                clear,
                muted(" clears your text"),
            ],
            app,
        );
    }
    if pending.is_seen() { answers(app, pending) } else { before_answers(app, pending) }
}

/// Rows reserved for the foot: the same before and after the call was seen, so that no row of the call moves.
fn foot_rows(app: &App, pending: &ApprovalPrompt) -> usize {
    let after = if pending.is_seen() { 0 } else { answers(app, pending).len() };
    foot(app, pending).len().max(after)
}

/// The answers to a call that was not completely on the screen.
fn before_answers(app: &App, pending: &ApprovalPrompt) -> Vec<Line> {
    let mut spans =
        vec![muted("  "), key(app, KeyCommand::ShowCall), muted(" shows all of it; then you can allow it")];
    for answer in pending.answers().into_iter().filter(|answer| answer.denies()) {
        spans.push(muted(" · "));
        spans.extend(answer_spans(app, pending, answer));
    }
    wrapped(&spans, app)
}

/// The answers to a call that was seen, numbered if that takes no extra row.
fn answers(app: &App, pending: &ApprovalPrompt) -> Vec<Line> {
    let (plain, numbered) =
        (answers_with(app, pending, Numbers::Hidden), answers_with(app, pending, Numbers::Shown));
    if numbered.len() > plain.len() { plain } else { numbered }
}

/// Display of the answers' numbers, which are keys too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    Shown,
    Hidden,
}

fn answers_with(app: &App, pending: &ApprovalPrompt, numbers: Numbers) -> Vec<Line> {
    let mut spans = vec![muted("  ")];
    for (number, answer) in (1..).zip(pending.answers()) {
        spans.extend((spans.len() > 1).then(|| muted(" · ")));
        spans.extend((numbers == Numbers::Shown).then(|| muted(format!("{number} "))));
        spans.extend(answer_spans(app, pending, answer));
    }
    wrapped(&spans, app)
}

/// The foot of the pending call's page: unseen lines and answers, with the same number of rows before and after the
/// call was seen. Empty if there is hardly room for the call.
pub(super) fn page_foot(app: &App) -> Vec<Line> {
    let Some(pending) = app.approval_on_page() else { return Vec::new() };
    let before = page_foot_lines(app, pending, pending.detail.seen.first_gap().as_ref());
    let after = page_foot_lines(app, pending, None);
    let rows = before.len().max(after.len());
    if usize::from(app.ui.size.1) < 4 * rows + MIN_ROWS {
        return Vec::new();
    }
    let mut lines = before;
    lines.resize(rows, Line::default());
    lines
}

fn page_foot_lines(app: &App, pending: &ApprovalPrompt, unseen: Option<&Range<usize>>) -> Vec<Line> {
    let mut spans = vec![muted("  ")];
    if let Some(unseen) = unseen {
        let (first, last) = (thousands(unseen.start + 1), thousands(unseen.end));
        let which = if first == last { format!("line {last}") } else { format!("lines {first}–{last}") };
        let all = thousands(pending.detail.lines.len());
        spans.push(Span::new(format!("{which} of {all} not shown yet"), Role::Warning));
    }
    for answer in pending.answers() {
        if unseen.is_none() || answer.denies() {
            spans.extend((spans.len() > 1).then(|| muted(" · ")));
            spans.extend(answer_spans(app, pending, answer));
        }
    }
    wrapped(&spans, app)
}

/// An answer with its key.
fn answer_spans(app: &App, pending: &ApprovalPrompt, answer: ApprovalAnswer) -> Vec<Span> {
    let (command, words) = match answer {
        ApprovalAnswer::Once => (KeyCommand::Allow, "once".to_owned()),
        ApprovalAnswer::Session => (KeyCommand::AllowSession, format!("session: {}", rule(pending))),
        ApprovalAnswer::Deny => (KeyCommand::Deny, "deny".to_owned()),
        ApprovalAnswer::DenyWithReason => (KeyCommand::DenyWithReason, "deny, say why".to_owned()),
    };
    let is_chosen = pending.mode == PanelMode::Choosing(Some(answer));
    let style = if is_chosen { Style::from(Role::Accent).with(Emphasis::BOLD) } else { Role::Muted.into() };
    let mark = is_chosen.then(|| Span::new("▸ ", Role::Accent));
    mark.into_iter().chain([key(app, command), Span::new(format!(" {words}"), style)]).collect()
}

/// The rule for the session. A rule that equals the command is on the screen already.
fn rule(pending: &ApprovalPrompt) -> String {
    let rule = &pending.request.rule;
    let whole = pending.request.args["command"].as_str().map(|command| format!("exactly `{command}`"));
    if whole.as_ref() == Some(rule) { "exactly this command".to_owned() } else { one_line(rule) }
}

/// The panel without room for the call: the reason and the denying answers, or less.
fn without_call(app: &App, pending: &ApprovalPrompt, height: usize) -> Vec<Line> {
    let mut lines = head(app, pending);
    let mut answers = vec![muted("  "), key(app, KeyCommand::ShowCall), muted(" shows it")];
    for answer in pending.answers().into_iter().filter(|answer| answer.denies()) {
        answers.push(muted(" · "));
        answers.extend(answer_spans(app, pending, answer));
    }
    lines.extend(wrapped(&answers, app));
    if lines.len() <= height
        && app.editor.is_empty()
        && pending.mode != PanelMode::WritingReason
        && !app.queue.has_keys()
    {
        return lines;
    }
    let name = truncate_to(&one_line(&pending.request.tool_name), 12);
    let bold = Style::from(Role::Warning).with(Emphasis::BOLD);
    let spans = [
        Span::new(format!("? {name} needs approval; "), bold),
        key(app, KeyCommand::ShowCall),
        Span::new(" shows it (the screen is too small)", Role::Text),
    ];
    wrap(&spans, usize::from(app.ui.size.0).max(1), &Indent::default(), Breaks::Words)
}
