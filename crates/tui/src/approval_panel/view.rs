//! The panel's rows: the reason, as much of the call as fits, and the answers.

use tiller_core::counted::counted;
use tiller_core::event::ApprovalRequest;
use tiller_render::{BreakMode, Emphasis, Indent, Line, Role, Span, Style, truncate_to, wrap};

use crate::approval_panel::answer::ApprovalAnswer;
use crate::approval_panel::{ApprovalPanel, first_request};
use crate::component::ViewContext;
use crate::keymap::table::KeyCommand;
use crate::text::one_line;

/// Minimum rows of the call; with fewer it isn't shown.
const MIN_ROWS: usize = 3;

/// Minimum rows of the call at which its end is shown too, and the end's share of the rows.
const MIN_ROWS_WITH_END: usize = 8;
const END_SHARE: usize = 3;

/// Minimum panel height with a blank row above the panel.
const MIN_SPACED_HEIGHT: usize = 8;

/// The layout of the panel.
struct PanelAreas {
    above: usize,
    head: Vec<Line>,
    /// Rows of the call; `None` if there is no room.
    body: Option<usize>,
    foot: Vec<Line>,
}

impl ApprovalPanel {
    pub(crate) fn rows_needed(&self, view: &ViewContext<'_>) -> usize {
        let Some(request) = first_request(view) else { return 0 };
        1 + head(request, view).len() + self.lines.lines.len() + foot_rows(self, request, view)
    }

    /// Returns the number of visible rows of the call, from its scroll position, in a panel of `height` rows.
    pub(super) fn body_rows(&self, height: usize, view: &ViewContext<'_>) -> usize {
        let Some(request) = first_request(view) else { return 0 };
        split(self, areas(self, request, height, view).body.unwrap_or(0)).0
    }

    /// Returns the panel's rows for a height.
    pub(super) fn rows(&self, height: usize, view: &ViewContext<'_>) -> Vec<Line> {
        let Some(request) = first_request(view).filter(|_| height > 0) else { return Vec::new() };
        let PanelAreas { above, head, body, foot } = areas(self, request, height, view);
        let Some(body) = body else { return without_call(self, request, height, view) };
        let mut lines = vec![Line::default(); above];
        lines.extend(head);
        let call = &self.lines.lines;
        let (rows, end) = split(self, body);
        lines.extend(call.iter().skip(self.lines.top).take(rows).cloned());
        lines.extend(hidden_lines(self, (rows, end), view));
        lines.extend(call[call.len() - end..].iter().cloned());
        lines.extend(foot);
        lines
    }

    /// Returns the answers below the call's page; empty if the page shows something else or has too little
    /// room for the call.
    pub(crate) fn page_foot(&self, view: &ViewContext<'_>) -> Vec<Line> {
        let request = first_request(view).filter(|_| view.focus.is_on_call_page);
        let lines = request.map(|request| answers(self, request, view)).unwrap_or_default();
        if usize::from(view.ui.size.1) < 4 * lines.len() + MIN_ROWS { Vec::new() } else { lines }
    }
}

/// Splits `room` rows between the call's current position and its end; a line between them counts the hidden
/// lines. If the call is scrolled, its end isn't shown.
fn split(panel: &ApprovalPanel, room: usize) -> (usize, usize) {
    if panel.lines.lines.len() <= room {
        return (room, 0);
    }
    let rows = room.saturating_sub(1);
    let end = if panel.lines.top == 0 && rows >= MIN_ROWS_WITH_END { rows / END_SHARE } else { 0 };
    (rows - end, end)
}

fn areas(
    panel: &ApprovalPanel,
    request: &ApprovalRequest,
    height: usize,
    view: &ViewContext<'_>,
) -> PanelAreas {
    let (head, foot) = (head(request, view), foot(panel, request, view));
    let (foot_rows, call_rows) = (foot_rows(panel, request, view), panel.lines.lines.len());
    let needed = head.len() + call_rows + foot_rows;
    let body_below = |above: usize| {
        let room = height.checked_sub(above + head.len() + foot_rows);
        room.filter(|room| *room >= MIN_ROWS.min(call_rows))
    };
    // The blank row is dropped first.
    let above = usize::from((height >= MIN_SPACED_HEIGHT || height > needed) && body_below(1).is_some());
    let body = body_below(above);
    PanelAreas { above, head, body, foot }
}

fn key(view: &ViewContext<'_>, command: KeyCommand) -> Span {
    Span::new(view.key_of(command), Style::from(Role::Accent).with(Emphasis::BOLD))
}

fn muted(text: impl Into<String>) -> Span {
    Span::new(text, Role::Muted)
}

fn wrapped(spans: &[Span], view: &ViewContext<'_>) -> Vec<Line> {
    let indent = Indent { first: Vec::new(), rest: vec![Span::new("    ", Role::Text)] };
    wrap(spans, usize::from(view.ui.size.0).max(1), &indent, BreakMode::Words)
}

fn head(request: &ApprovalRequest, view: &ViewContext<'_>) -> Vec<Line> {
    let bold = Style::from(Role::Warning).with(Emphasis::BOLD);
    let tool = one_line(&request.tool_name);
    let mut spans = vec![
        Span::new(format!("  ? {tool} needs approval: "), bold),
        Span::new(one_line(&request.reason), Role::Text),
    ];
    let approvals = &view.model.activity.approvals;
    let count = approvals.len() + approvals.last().map_or(0, |last| last.request.later);
    if count > 1 {
        spans.push(muted(format!("  1 of {count}")));
    }
    wrapped(&spans, view)
}

/// Returns the line with the number of the call's hidden lines.
fn hidden_lines(panel: &ApprovalPanel, (rows, end): (usize, usize), view: &ViewContext<'_>) -> Option<Line> {
    let (all, top) = (panel.lines.lines.len(), panel.lines.top);
    if all <= rows {
        return None;
    }
    let below = all.saturating_sub(top + rows + end);
    let (count, position, command) = match below {
        0 => (top, "above", KeyCommand::CallUp),
        below if end > 0 => (below, "between", KeyCommand::CallDown),
        below => (below, "below", KeyCommand::CallDown),
    };
    let count = counted(count, "more line", "more lines");
    let text = Span::new(format!("  │ … {count} {position} · "), Role::Warning);
    let (scroll, show) = (key(view, command), key(view, KeyCommand::ShowCall));
    Some(vec![text, scroll, muted(" scrolls · "), show, muted(" shows all")].into())
}

fn foot(panel: &ApprovalPanel, request: &ApprovalRequest, view: &ViewContext<'_>) -> Vec<Line> {
    if view.focus.is_in_queue {
        let back = key(view, KeyCommand::QueueBack);
        return wrapped(&[muted("  the message queue has the focus; "), back, muted(" returns here")], view);
    }
    if view.focus.is_writing_reason {
        let (send, back) = (key(view, KeyCommand::Send), key(view, KeyCommand::Stop));
        let label = Span::new("  type a reason for the model · ", Role::Text);
        return wrapped(&[label, send, muted(" denies · "), back, muted(" back")], view);
    }
    if !view.focus.is_editor_empty {
        let (send, clear) = (key(view, KeyCommand::Send), key(view, KeyCommand::Clear));
        let steers = muted(" denies and steers with your text · ");
        return wrapped(&[muted("  "), send, steers, clear, muted(" clears your text")], view);
    }
    if panel.is_shown_whole() {
        answers(panel, request, view)
    } else {
        answers_before_opening(panel, request, view)
    }
}

/// Number of rows reserved for the foot: the same before and after the call is opened, so that the call's
/// rows don't move.
fn foot_rows(panel: &ApprovalPanel, request: &ApprovalRequest, view: &ViewContext<'_>) -> usize {
    let after = if panel.is_shown_whole() { 0 } else { answers(panel, request, view).len() };
    foot(panel, request, view).len().max(after)
}

/// Returns the answers to a call that is longer than its panel and hasn't been opened.
fn answers_before_opening(
    panel: &ApprovalPanel,
    request: &ApprovalRequest,
    view: &ViewContext<'_>,
) -> Vec<Line> {
    let show = key(view, KeyCommand::ShowCall);
    let showing = vec![show, muted(" shows all; then you can allow it")];
    let denying = ApprovalAnswer::possible(request).into_iter().filter(|answer| answer.denies());
    let answers = denying.map(|answer| answer_spans(panel, request, answer, view));
    packed(std::iter::once(showing).chain(answers), view)
}

fn answers(panel: &ApprovalPanel, request: &ApprovalRequest, view: &ViewContext<'_>) -> Vec<Line> {
    let answers = ApprovalAnswer::possible(request).into_iter();
    packed(answers.map(|answer| answer_spans(panel, request, answer, view)), view)
}

/// Returns rows of answers, which break only between two answers if that takes no extra row.
fn packed(answers: impl Iterator<Item = Vec<Span>>, view: &ViewContext<'_>) -> Vec<Line> {
    let answers: Vec<Vec<Span>> = answers.collect();
    let joined = answers.iter().enumerate().flat_map(|(at, answer)| {
        std::iter::once(muted(if at == 0 { "  " } else { " · " })).chain(answer.iter().cloned())
    });
    let wrapped_anywhere = wrapped(&joined.collect::<Vec<_>>(), view);
    let width = |spans: &[Span]| spans.iter().map(Span::width).sum::<usize>();
    let mut rows: Vec<Vec<Span>> = Vec::new();
    for answer in answers {
        match rows.last_mut() {
            Some(row) if width(row) + width(&answer) + 3 <= usize::from(view.ui.size.0) => {
                row.push(muted(" · "));
                row.extend(answer);
            }
            last => {
                let indent = muted(if last.is_none() { "  " } else { "    " });
                rows.push(std::iter::once(indent).chain(answer).collect());
            }
        }
    }
    let rows: Vec<Line> = rows.iter().flat_map(|row| wrapped(row, view)).collect();
    if rows.len() > wrapped_anywhere.len() { wrapped_anywhere } else { rows }
}

fn answer_spans(
    panel: &ApprovalPanel,
    request: &ApprovalRequest,
    answer: ApprovalAnswer,
    view: &ViewContext<'_>,
) -> Vec<Span> {
    let text = match answer {
        ApprovalAnswer::Once => "once".to_owned(),
        ApprovalAnswer::Session => format!("{}, for this session", rule(request)),
        ApprovalAnswer::Always => "always…".to_owned(),
        ApprovalAnswer::Deny => "deny".to_owned(),
        ApprovalAnswer::DenyWithReason => "deny + why".to_owned(),
    };
    let is_selected = panel.selected == Some(answer);
    let style = if is_selected { Style::from(Role::Accent).with(Emphasis::BOLD) } else { Role::Muted.into() };
    let mark = is_selected.then(|| Span::new("▸ ", Role::Accent));
    let answer = [muted("["), key(view, answer.command()), muted("]"), Span::new(format!(" {text}"), style)];
    mark.into_iter().chain(answer).collect()
}

/// Returns the rule for the session; empty if the rule equals the command, which is already on the screen.
fn rule(request: &ApprovalRequest) -> String {
    let exact = request.args["command"].as_str().map(|command| format!("exactly `{command}`"));
    if exact.as_ref() == Some(&request.rule) { "this command".to_owned() } else { one_line(&request.rule) }
}

/// Returns the panel without room for the call: the reason and the denying answers, or less.
fn without_call(
    panel: &ApprovalPanel,
    request: &ApprovalRequest,
    height: usize,
    view: &ViewContext<'_>,
) -> Vec<Line> {
    let mut lines = head(request, view);
    let mut answers = vec![muted("  "), key(view, KeyCommand::ShowCall), muted(" shows it")];
    for answer in ApprovalAnswer::possible(request).into_iter().filter(|answer| answer.denies()) {
        answers.push(muted(" · "));
        answers.extend(answer_spans(panel, request, answer, view));
    }
    lines.extend(wrapped(&answers, view));
    let takes_answers =
        view.focus.is_editor_empty && !view.focus.is_writing_reason && !view.focus.is_in_queue;
    if lines.len() <= height && takes_answers {
        return lines;
    }
    let name = truncate_to(&one_line(&request.tool_name), 12);
    let bold = Style::from(Role::Warning).with(Emphasis::BOLD);
    let spans = [
        Span::new(format!("? {name} needs approval; "), bold),
        key(view, KeyCommand::ShowCall),
        Span::new(" shows it (the screen is too small)", Role::Text),
    ];
    wrap(&spans, usize::from(view.ui.size.0).max(1), &Indent::default(), BreakMode::Words)
}
