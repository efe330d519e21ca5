//! Drawing the screen: transcript, approval panel, status, queue, completion, editor, footer.

mod footer;
pub(crate) mod hit_test;
pub(crate) mod prompt;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use tiller_core::unit::thousands;
use tiller_render::{Emphasis, Line, Role, Span, Style};

use super::component::{Component, ViewContext};
use super::draw::{lines, put};
use super::editor::EditKind;
use super::frame_pacer::Dirty;
use super::overlay::Overlay;
use super::pager::Pager;
use super::welcome::placeholder;
use crate::app::App;

/// Columns of the prompt sign before the editor.
pub(super) const MARK: u16 = 3;

/// Maximum number of visible completion rows.
const MAX_COMPLETIONS: u16 = 7;

/// Screen height from which on optional blank rows are shown.
const ROOMY: u16 = 16;

/// Rows that the transcript keeps while an approval panel is shown, from `ROOMY` on.
const TRANSCRIPT_ROWS: u16 = 4;

/// The areas of the screen; a part without room has height 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ScreenAreas {
    pub(super) transcript: Rect,
    approval: Rect,
    status: Rect,
    queue: Rect,
    completion: Rect,
    pub(super) top_rule: Rect,
    pub(super) editor: Rect,
    bottom_rule: Rect,
    footer: Rect,
}

impl ScreenAreas {
    /// Divides the screen: parts take what they need in order of importance.
    pub(super) fn compute(app: &App) -> Self {
        let (width, height) = app.ui.size;
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
        let approval = take(
            count(app.approvals.rows_needed(&app.view_context())),
            if height >= ROOMY { TRANSCRIPT_ROWS } else { 0 },
        );
        // One blank row below the transcript.
        let status = take(count(prompt::status(app).len()) + u16::from(height >= ROOMY), 1);
        let queue = take(count(app.queue.rows_needed(&app.view_context())), 3);
        // The search bar has the keys, so completion is hidden.
        let offers = if app.transcript.is_searching() { 0 } else { app.composer.completion.rows() };
        let completion = take(count(offers).min(MAX_COMPLETIONS).min(height / 3), 1);
        let mut y = 0;
        let mut area = |height: u16| {
            y += height;
            Rect::new(0, y - height, width, height)
        };
        Self {
            transcript: area(room),
            approval: area(approval),
            status: area(status),
            queue: area(queue),
            completion: area(completion),
            top_rule: area(top_rule),
            editor: area(editor),
            bottom_rule: area(bottom_rule),
            footer: area(footer),
        }
    }
}

impl App {
    /// Lays out the screen; drawing then only reads.
    pub(super) fn prepare(&mut self) -> ScreenAreas {
        let areas = self.lay_out_panels();
        let ctx = self.transcript.render_context(&self.view_context());
        if let Some(Overlay::Tree(tree)) = self.compositor.top_mut() {
            tree.prepare(self.ui.size, &self.ui.keymap, &ctx);
        }
        self.lay_out_page();
        let focus = self.focus_state();
        let view = ViewContext { model: &self.model, ui: &self.ui, now: self.now, focus };
        self.transcript.lay_out(&view);
        if self.transcript.content().lags() {
            self.dirty = self.dirty.max(Dirty::BySession);
        }
        areas
    }

    /// Lays out the editor and the approval panel; gives the rest to the transcript.
    pub(super) fn lay_out_panels(&mut self) -> ScreenAreas {
        let (width, height) = self.ui.size;
        self.composer.editor.lay_out(width.saturating_sub(MARK), height / 3);
        let areas = ScreenAreas::compute(self);
        let focus = self.focus_state();
        let view = ViewContext { model: &self.model, ui: &self.ui, now: self.now, focus };
        self.approvals.lay_out(usize::from(areas.approval.height), &view);
        self.transcript.set_area(areas.transcript);
        areas
    }
}

impl App {
    /// Lays out the page over the transcript, if any.
    pub(super) fn lay_out_page(&mut self) {
        if !matches!(self.compositor.top(), Some(Overlay::Pager(_))) {
            return;
        }
        let footer = ScreenAreas::compute(self).footer.height;
        let (width, height) = self.ui.size;
        let foot = u16::try_from(self.approvals.page_foot(&self.view_context()).len()).unwrap_or(u16::MAX);
        if let Some(Overlay::Pager(page)) = self.compositor.top_mut() {
            let rows = height.saturating_sub(footer).saturating_sub(2).saturating_sub(foot);
            page.lay_out(Pager::columns(width), usize::from(rows));
        }
    }
}

/// Draws the screen as laid out.
pub(super) fn view(app: &App, areas: &ScreenAreas, frame: &mut Frame<'_>) {
    let buffer = frame.buffer_mut();
    let theme = &app.ui.theme;
    app.transcript.render(areas.transcript, buffer, &app.view_context());
    app.approvals.render(areas.approval, buffer, &app.view_context());
    let status = prompt::status(app);
    lines(&status, bottom_rows(areas.status, status.len()), buffer, theme);
    app.queue.render(areas.queue, buffer, &app.view_context());
    lines(&prompt::completion(app), areas.completion, buffer, theme);
    let [above, below] = hidden(app, areas.editor);
    lines(&[top_rule(app, above)], areas.top_rule, buffer, theme);
    let cursor = editor(app, areas.editor, buffer);
    let cursor = app.transcript.search_cursor(bottom_rows(areas.status, 1)).unwrap_or(cursor);
    lines(&[bottom_rule(app, below)], areas.bottom_rule, buffer, theme);
    lines(&[footer::line(app)], areas.footer, buffer, theme);
    let over = app.compositor.top().map(|overlay| {
        let area = frame.area();
        let area = Rect { height: area.height - areas.footer.height, ..area };
        let view = app.view_context();
        overlay.render(area, frame.buffer_mut(), &view);
        let cursor = overlay.cursor(area, &view).map(Into::into);
        let foot = app.approvals.page_foot(&app.view_context());
        let rows = u16::try_from(foot.len()).unwrap_or(u16::MAX).min(area.height);
        let area = Rect { y: area.bottom() - rows, height: rows, ..area };
        lines(&foot, area, frame.buffer_mut(), &app.ui.theme);
        cursor
    });
    if let Some(cursor) = over.unwrap_or(Some(cursor)) {
        frame.set_cursor_position(Position::from(cursor));
    }
}

fn bottom_rows(area: Rect, rows: usize) -> Rect {
    let height = area.height.min(u16::try_from(rows).unwrap_or(u16::MAX));
    Rect { y: area.y + area.height - height, height, ..area }
}

/// Number of prompt rows hidden above and below the editor.
fn hidden(app: &App, area: Rect) -> [usize; 2] {
    if area.is_empty() { [0, 0] } else { app.composer.editor.hidden(area.height) }
}

/// The rule above the editor: hidden prompt rows, and new output below the screen.
fn top_rule(app: &App, above: usize) -> Line {
    let width = usize::from(app.ui.size.0);
    let mut line = hidden_rows_rule('↑', above);
    let Some(label) = app.transcript.below_label(&app.view_context()) else {
        line.spans.push(Span::new("─".repeat(width.saturating_sub(line.width())), Role::Muted));
        return line;
    };
    let rule = "─".repeat(width.saturating_sub(line.width() + label.text.chars().count() + 2));
    line.spans.extend([Span::new(rule, Role::Muted), label, Span::new("──", Role::Muted)]);
    line
}

/// The rule below the editor: hidden prompt rows.
fn bottom_rule(app: &App, below: usize) -> Line {
    let width = usize::from(app.ui.size.0);
    let mut line = hidden_rows_rule('↓', below);
    line.spans.push(Span::new("─".repeat(width.saturating_sub(line.width())), Role::Muted));
    line
}

/// The beginning of a rule that counts hidden prompt rows; empty if there are none.
fn hidden_rows_rule(arrow: char, hidden: usize) -> Line {
    match hidden {
        0 => Line::default(),
        count => Line::new(format!("── {arrow} {} more ", thousands(count)), Role::Muted),
    }
}

fn editor(app: &App, area: Rect, buffer: &mut Buffer) -> (u16, u16) {
    if area.is_empty() {
        return (0, 0);
    }
    let (sign, role) = match app.composer.editor.kind() {
        EditKind::Message if app.model.is_working() => (" ❯ ", Role::Muted),
        EditKind::Message => (" ❯ ", Role::Accent),
        EditKind::Command => (" ! ", Role::Warning),
        EditKind::PrivateCommand => ("!! ", Role::Warning),
    };
    let mark = Line::new(sign, Style::from(role).with(Emphasis::BOLD));
    put(&mark, Rect { height: 1, ..area }, buffer, &app.ui.theme);
    let inset = MARK.min(area.width.saturating_sub(1));
    let inner = Rect { x: area.x + inset, width: area.width - inset, ..area };
    if let Some(words) = placeholder(&app.view_context()) {
        put(&Line::new(words, Role::Muted), Rect { height: 1, ..inner }, buffer, &app.ui.theme);
    }
    app.composer.editor.draw(inner, app.ui.theme.style(Role::Text.into()), buffer)
}
