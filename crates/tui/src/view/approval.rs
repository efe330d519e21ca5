//! The call that asks: why, the call itself as far as there is room, and what may be answered.

use std::ops::Range;

use tiller_core::unit::thousands;
use tiller_render::{Breaks, Emphasis, Indent, Line, Role, Span, Style, cut_to, wrap};

use super::super::app::App;
use super::super::approval::{ApprovalAnswer, PanelMode, PendingApproval};
use super::super::keymap::KeyCommand;
use super::super::tool_call::one_line;

/// Rows of a call without which it isn't shown at all: less says nothing.
const FEWEST: usize = 3;

/// Rows of a call from which on its end is shown beside its beginning, and the part of the rows that the end takes.
const ENDED: usize = 8;
const END_PART: usize = 3;

/// Rows from which on one is left free above the question.
const AIRY: usize = 8;

/// What of the question is on the screen.
struct PanelAreas {
    above: usize,
    head: Vec<Line>,
    /// Rows of the call itself; `None` where there is no room for any.
    body: Option<usize>,
    foot: Vec<Line>,
}

/// Rows that the question would take.
pub(super) fn wanted(app: &App) -> usize {
    let Some(asked) = app.work.approvals.first() else { return 0 };
    1 + head(app, asked).len() + asked.sheet.lines.len() + foot_rows(app, asked)
}

/// Lines of the call itself that are on the screen when the question has so many rows: from its top on, and of its end.
pub(super) fn body_rows(app: &App, height: usize) -> (usize, usize) {
    let Some(asked) = app.work.approvals.first() else { return (0, 0) };
    split(asked, parts(app, asked, height).body.unwrap_or(0))
}

/// Rows of a call in so much room: those that begin at its top, and those that show its end, where a line between them says what is
/// left out. What was scrolled to is shown without the end.
fn split(asked: &PendingApproval, room: usize) -> (usize, usize) {
    if asked.sheet.lines.len() <= room {
        return (room, 0);
    }
    let rows = room.saturating_sub(1);
    let end = if asked.sheet.top == 0 && rows >= ENDED { rows / END_PART } else { 0 };
    (rows - end, end)
}

/// The question in so many rows.
pub(super) fn lines(app: &App, height: usize) -> Vec<Line> {
    let Some(asked) = app.work.approvals.first().filter(|_| height > 0) else { return Vec::new() };
    let PanelAreas { above, head, body, foot } = parts(app, asked, height);
    let Some(body) = body else { return without_call(app, asked, height) };
    let mut lines = vec![Line::default(); above];
    lines.extend(head);
    let sheet = &asked.sheet;
    let (rows, end) = split(asked, body);
    lines.extend(sheet.lines.iter().skip(sheet.top).take(rows).cloned());
    lines.extend(more(app, asked, (rows, end)));
    lines.extend(sheet.lines[sheet.lines.len() - end..].iter().cloned());
    lines.extend(foot);
    lines
}

fn parts(app: &App, asked: &PendingApproval, height: usize) -> PanelAreas {
    let (head, foot) = (head(app, asked), foot(app, asked));
    let foot_rows = foot_rows(app, asked);
    let whole = head.len() + asked.sheet.lines.len() + foot_rows;
    let body_below = |above: usize| {
        let room = height.checked_sub(above + head.len() + foot_rows);
        room.filter(|room| *room >= FEWEST.min(asked.sheet.lines.len()))
    };
    // A free row is the first that is given up.
    let above = usize::from((height >= AIRY || height > whole) && body_below(1).is_some());
    let body = body_below(above);
    PanelAreas { above, head, body, foot }
}

fn key(app: &App, command: KeyCommand) -> Span {
    Span::new(app.place.keymap.key_of(command), Style::from(Role::Accent).with(Emphasis::BOLD))
}

fn said(text: impl Into<String>) -> Span {
    Span::new(text, Role::Muted)
}

fn hung(spans: &[Span], app: &App) -> Vec<Line> {
    let indent = Indent { first: Vec::new(), rest: vec![Span::new("    ", Role::Text)] };
    wrap(spans, usize::from(app.place.size.0).max(1), &indent, Breaks::Words)
}

fn head(app: &App, asked: &PendingApproval) -> Vec<Line> {
    let bold = Style::from(Role::Warning).with(Emphasis::BOLD);
    let tool = one_line(&asked.request.tool_name);
    let mut spans = vec![
        Span::new(format!("  ? {tool} asks: "), bold),
        Span::new(one_line(&asked.request.reason), Role::Text),
    ];
    let all = app.work.approvals.len() + app.work.approvals.last().map_or(0, |last| last.request.later);
    if all > 1 {
        spans.push(said(format!("  1 of {all}")));
    }
    hung(&spans, app)
}

/// Where the call goes on, unless it is on the screen whole.
fn more(app: &App, asked: &PendingApproval, (rows, end): (usize, usize)) -> Option<Line> {
    let (all, top) = (asked.sheet.lines.len(), asked.sheet.top);
    if all <= rows {
        return None;
    }
    let below = all.saturating_sub(top + rows + end);
    let (count, where_to, command) = match below {
        0 => (top, "above", KeyCommand::QuestionUp),
        below if end > 0 => (below, "between", KeyCommand::QuestionDown),
        below => (below, "below", KeyCommand::QuestionDown),
    };
    let noun = if count == 1 { "line" } else { "lines" };
    let words = Span::new(format!("  │ … {count} {noun} {where_to} · "), Role::Warning);
    Some(
        vec![
            words,
            key(app, command),
            said(" goes there · "),
            key(app, KeyCommand::ShowWhole),
            said(" shows it whole"),
        ]
        .into(),
    )
}

fn foot(app: &App, asked: &PendingApproval) -> Vec<Line> {
    if app.queue.has_keys() {
        let back = key(app, KeyCommand::QueueBack);
        return hung(&[said("  the waiting messages have the keys; "), back, said(" gives them back")], app);
    }
    if asked.mode == PanelMode::Reasoning {
        let (send, back) = (key(app, KeyCommand::Send), key(app, KeyCommand::Stop));
        let why = Span::new("  why not? the model reads it · ", Role::Text);
        return hung(&[why, send, said(" denies · "), back, said(" back")], app);
    }
    if !app.editor.is_empty() {
        let (send, clear) = (key(app, KeyCommand::Send), key(app, KeyCommand::Clear));
        if app.holds_answer() {
            let text = app.editor.text();
            let key = Style::from(Role::Accent).with(Emphasis::BOLD);
            let again = Span::new(text.chars().take(1).collect::<String>(), key);
            let words = format!("  `{text}` came too soon to be an answer · ");
            return hung(&[said(words), again, said(" again answers · "), clear, said(" clears it")], app);
        }
        return hung(
            &[
                said("  "),
                send,
                said(" denies and steers with what you typed · "),
                clear,
                said(" clears it, to answer"),
            ],
            app,
        );
    }
    if asked.is_seen() { answers(app, asked) } else { before_answers(app, asked) }
}

/// Rows that are kept for the foot: as many before the call was seen as after that, so that no row of it goes away beneath what is
/// said then.
fn foot_rows(app: &App, asked: &PendingApproval) -> usize {
    let after = if asked.is_seen() { 0 } else { answers(app, asked).len() };
    foot(app, asked).len().max(after)
}

/// What may be answered to a call that nobody has seen whole.
fn before_answers(app: &App, asked: &PendingApproval) -> Vec<Line> {
    let mut spans = vec![
        said("  "),
        key(app, KeyCommand::ShowWhole),
        said(" shows all of it; after that it may be allowed"),
    ];
    for answer in asked.answers().into_iter().filter(|answer| answer.denies()) {
        spans.push(said(" · "));
        spans.extend(offer(app, asked, answer));
    }
    hung(&spans, app)
}

/// The answers to a call that was seen, with numbers where they need no extra row.
fn answers(app: &App, asked: &PendingApproval) -> Vec<Line> {
    let (plain, numbered) =
        (answers_with(app, asked, Numbers::Hidden), answers_with(app, asked, Numbers::Shown));
    if numbered.len() > plain.len() { plain } else { numbered }
}

/// True if the numbers of answers are shown, which are keys too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    Shown,
    Hidden,
}

fn answers_with(app: &App, asked: &PendingApproval, numbers: Numbers) -> Vec<Line> {
    let mut spans = vec![said("  ")];
    for (number, answer) in (1..).zip(asked.answers()) {
        spans.extend((spans.len() > 1).then(|| said(" · ")));
        spans.extend((numbers == Numbers::Shown).then(|| said(format!("{number} "))));
        spans.extend(offer(app, asked, answer));
    }
    hung(&spans, app)
}

/// What stands at the foot of the call's own page: what of it nobody has seen, and the answers; as many rows before it was seen as
/// after that, so that none goes away beneath it. Nothing where there is hardly room for the call.
pub(super) fn page_foot(app: &App) -> Vec<Line> {
    let Some(asked) = app.asked_on_page() else { return Vec::new() };
    let said_before = page_foot_lines(app, asked, asked.sheet.seen.first_gap().as_ref());
    let said_after = page_foot_lines(app, asked, None);
    let rows = said_before.len().max(said_after.len());
    if usize::from(app.place.size.1) < 4 * rows + FEWEST {
        return Vec::new();
    }
    let mut lines = said_before;
    lines.resize(rows, Line::default());
    lines
}

fn page_foot_lines(app: &App, asked: &PendingApproval, unseen: Option<&Range<usize>>) -> Vec<Line> {
    let mut spans = vec![said("  ")];
    if let Some(unseen) = unseen {
        let (first, last) = (thousands(unseen.start + 1), thousands(unseen.end));
        let which = if first == last { format!("line {last}") } else { format!("lines {first}–{last}") };
        let all = thousands(asked.sheet.lines.len());
        spans.push(Span::new(format!("{which} of {all} not seen yet"), Role::Warning));
    }
    for answer in asked.answers() {
        if unseen.is_none() || answer.denies() {
            spans.extend((spans.len() > 1).then(|| said(" · ")));
            spans.extend(offer(app, asked, answer));
        }
    }
    hung(&spans, app)
}

/// An answer with its key.
fn offer(app: &App, asked: &PendingApproval, answer: ApprovalAnswer) -> Vec<Span> {
    let (command, words) = match answer {
        ApprovalAnswer::Once => (KeyCommand::Allow, "once".to_owned()),
        ApprovalAnswer::Session => (KeyCommand::AllowSession, format!("this session: {}", rule(asked))),
        ApprovalAnswer::Deny => (KeyCommand::Deny, "no".to_owned()),
        ApprovalAnswer::DenyWithWord => (KeyCommand::DenyWithWord, "no, say why".to_owned()),
    };
    let is_chosen = asked.mode == PanelMode::Choosing(Some(answer));
    let style = if is_chosen { Style::from(Role::Accent).with(Emphasis::BOLD) } else { Role::Muted.into() };
    let mark = is_chosen.then(|| Span::new("▸ ", Role::Accent));
    mark.into_iter().chain([key(app, command), Span::new(format!(" {words}"), style)]).collect()
}

/// What "always" would allow. A rule that is the whole command is on the screen already.
fn rule(asked: &PendingApproval) -> String {
    let rule = &asked.request.rule;
    let whole = asked.request.args["command"].as_str().map(|command| format!("exactly `{command}`"));
    if whole.as_ref() == Some(rule) { "exactly this command".to_owned() } else { one_line(rule) }
}

/// What is said where the call has no room: why it asks and what can be answered without seeing it, or less.
fn without_call(app: &App, asked: &PendingApproval, height: usize) -> Vec<Line> {
    let mut lines = head(app, asked);
    let mut answers = vec![said("  "), key(app, KeyCommand::ShowWhole), said(" shows it")];
    for answer in asked.answers().into_iter().filter(|answer| answer.denies()) {
        answers.push(said(" · "));
        answers.extend(offer(app, asked, answer));
    }
    lines.extend(hung(&answers, app));
    if lines.len() <= height
        && app.editor.is_empty()
        && asked.mode != PanelMode::Reasoning
        && !app.queue.has_keys()
    {
        return lines;
    }
    let name = cut_to(&one_line(&asked.request.tool_name), 12);
    let bold = Style::from(Role::Warning).with(Emphasis::BOLD);
    let spans = [
        Span::new(format!("? {name} asks; "), bold),
        key(app, KeyCommand::ShowWhole),
        Span::new(" shows it (the screen is too small)", Role::Text),
    ];
    wrap(&spans, usize::from(app.place.size.0).max(1), &Indent::default(), Breaks::Words)
}
