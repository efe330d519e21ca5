//! Drawing the screen: transcript, approval panel, status, plan, queue, completion, editor, footer.

use ratatui::Frame;
use ratatui::layout::Rect;
use tiller_core::unit::thousands;
use tiller_render::{Line, Role, Span};

use super::component::{Component, ViewContext};
use super::composer;
use super::draw::lines;
use super::footer;
use super::layout::MIN_SPACED_HEIGHT;
use super::status_line::StatusLine;
use crate::app::App;
use crate::screen_areas::ScreenAreas;

/// Rows that the transcript keeps while an approval panel is shown, on screens of at least `MIN_SPACED_HEIGHT`.
const TRANSCRIPT_ROWS: u16 = 4;

impl ScreenAreas {
    /// Divides the screen. Parts take the rows they need in order of importance.
    pub(super) fn compute(app: &App) -> Self {
        let ((width, height), view) = (app.ui.size, &app.view_context());
        let count = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
        let mut room = height;
        let mut take = |rows: u16, leave: u16| {
            let rows = rows.min(room.saturating_sub(leave));
            room -= rows;
            rows
        };
        let editor = take(app.composer.editor.height(), 0);
        let footer = take(u16::from(height >= 4), 1);
        let top_rule = take(u16::from(height >= 8), 1);
        let bottom_rule = take(u16::from(height >= 12), 1);
        let is_spaced = height >= MIN_SPACED_HEIGHT;
        // On a small screen the transcript gives way to a request, but the status row, with its messages, doesn't.
        let approval =
            take(count(app.approvals.rows_needed(view)), if is_spaced { TRANSCRIPT_ROWS } else { 1 });
        // One blank row below the transcript.
        let status_rows = count(status_lines(app, view).len()) + u16::from(is_spaced);
        let status = take(status_rows, u16::from(is_spaced || approval == 0));
        let plan = take(count(app.plan.rows_needed(view)), TRANSCRIPT_ROWS);
        let queue = take(count(app.queue.rows_needed(view)), 3);
        // The search bar has the keys, so completion is hidden.
        let offers = if app.transcript.is_searching() { 0 } else { app.composer.completion.rows() };
        let most = if height < 3 { 0 } else { composer::view::max_candidates(view) };
        let completion = take(count(offers.min(most)), 1);
        let mut y = 0;
        let mut area = |height: u16| {
            y += height;
            Rect::new(0, y - height, width, height)
        };
        Self {
            transcript: area(room),
            approval: area(approval),
            status: area(status),
            plan: area(plan),
            queue: area(queue),
            completion: area(completion),
            top_rule: area(top_rule),
            editor: area(editor),
            bottom_rule: area(bottom_rule),
            footer: area(footer),
        }
    }
}

fn status_lines(app: &App, view: &ViewContext<'_>) -> Vec<Line> {
    let hint = app.transcript.status_hint(view);
    let hint = hint.or_else(|| app.composer.status_hint(view)).or_else(|| app.queue.status_hint(view));
    let arriving = app.transcript.content().live.last().map(|block| &block.kind);
    let search = app.transcript.search().map(|search| search.line(view));
    StatusLine { search, flash: app.flash.text(), hint, arriving }.lines(view)
}

/// Draws the last layout of the screen.
pub(super) fn view(app: &App, areas: &ScreenAreas, frame: &mut Frame<'_>) {
    let (view, theme) = (&app.view_context(), &app.ui.theme);
    let buffer = frame.buffer_mut();
    app.transcript.render(areas.transcript, buffer, view);
    app.approvals.render(areas.approval, buffer, view);
    let status = status_lines(app, view);
    lines(&status, bottom_rows(areas.status, status.len()), buffer, theme);
    app.plan.render(areas.plan, buffer, view);
    app.queue.render(areas.queue, buffer, view);
    lines(&composer::view::completion_lines(&app.composer.completion, view), areas.completion, buffer, theme);
    let [above, below] = hidden(app, areas.editor);
    lines(&[top_rule(above, app.transcript.below_label(view), view)], areas.top_rule, buffer, theme);
    app.composer.render(areas.editor, buffer, view);
    lines(&[bottom_rule(below, view)], areas.bottom_rule, buffer, theme);
    lines(&[footer::line(view)], areas.footer, buffer, theme);
    let search_area = bottom_rows(areas.status, 1);
    let search = app.transcript.search().filter(|_| !search_area.is_empty());
    let search_cursor = search.map(|search| search.cursor(search_area));
    let mut cursor = search_cursor.or_else(|| app.composer.cursor(areas.editor, view));
    if let Some(overlay) = app.compositor.top() {
        let area = frame.area();
        let area = Rect { height: area.height - areas.footer.height, ..area };
        overlay.render(area, frame.buffer_mut(), view);
        cursor = overlay.cursor(area, view);
        let foot = app.approvals.page_foot(view);
        lines(&foot, bottom_rows(area, foot.len()), frame.buffer_mut(), theme);
    }
    if let Some(cursor) = cursor {
        frame.set_cursor_position(cursor);
    }
}

fn bottom_rows(area: Rect, rows: usize) -> Rect {
    let height = area.height.min(u16::try_from(rows).unwrap_or(u16::MAX));
    Rect { y: area.y + area.height - height, height, ..area }
}

/// Returns the number of prompt rows hidden above and below the editor.
fn hidden(app: &App, area: Rect) -> [usize; 2] {
    if area.is_empty() { [0, 0] } else { app.composer.editor.hidden(area.height) }
}

/// Returns the rule above the editor, with the number of hidden prompt rows and new output below the screen.
fn top_rule(above: usize, label: Option<Span>, view: &ViewContext<'_>) -> Line {
    let width = usize::from(view.ui.size.0);
    let mut line = hidden_rows_rule('↑', above);
    let Some(label) = label else {
        line.spans.push(Span::new("─".repeat(width.saturating_sub(line.width())), Role::Muted));
        return line;
    };
    let rule = "─".repeat(width.saturating_sub(line.width() + label.text.chars().count() + 2));
    line.spans.extend([Span::new(rule, Role::Muted), label, Span::new("──", Role::Muted)]);
    line
}

/// Returns the rule below the editor, with the number of hidden prompt rows.
fn bottom_rule(below: usize, view: &ViewContext<'_>) -> Line {
    let width = usize::from(view.ui.size.0);
    let mut line = hidden_rows_rule('↓', below);
    line.spans.push(Span::new("─".repeat(width.saturating_sub(line.width())), Role::Muted));
    line
}

/// Returns the start of a rule that counts hidden prompt rows; empty if there are none.
fn hidden_rows_rule(arrow: char, hidden: usize) -> Line {
    match hidden {
        0 => Line::default(),
        count => Line::new(format!("── {arrow} {} more ", thousands(count)), Role::Muted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui_context::UiContext;

    #[test]
    fn screen_areas_give_way_in_order_of_importance() {
        let heights = |height| {
            let mut app = App::new(UiContext { size: (80, height), ..UiContext::example() }, Vec::new());
            let areas = app.lay_out_panels();
            let areas = [
                areas.transcript,
                areas.status,
                areas.top_rule,
                areas.editor,
                areas.bottom_rule,
                areas.footer,
            ];
            assert_eq!(areas.iter().map(|area| area.height).sum::<u16>(), height);
            areas.map(|area| area.height)
        };
        // Transcript, status, rule, editor, rule, footer.
        assert_eq!(heights(1), [0, 0, 0, 1, 0, 0]);
        assert_eq!(heights(3), [2, 0, 0, 1, 0, 0]);
        assert_eq!(heights(4), [2, 0, 0, 1, 0, 1]);
        assert_eq!(heights(8), [5, 0, 1, 1, 0, 1]);
        assert_eq!(heights(12), [8, 0, 1, 1, 1, 1]);
        assert_eq!(heights(16), [11, 1, 1, 1, 1, 1], "a blank row above the editor");
        assert_eq!(heights(40), [35, 1, 1, 1, 1, 1]);
    }
}
