//! The input line of a list: a prompt or the filter, wrapped to the screen.

use tiller_render::{BreakMode, Emphasis, Indent, Line, Role, Span, Style, wrap};

use crate::picker::credentials::masked;
use crate::picker::line_prompt::{EchoMode, LinePrompt};
use crate::ui_context::UiContext;

/// Returns true if the whole line of a prompt is visible.
pub(super) fn is_wholly_shown(prompt: &LinePrompt, ui: &UiContext) -> bool {
    wrapped(typed(Some(prompt), ""), ui.size.0).0.len() <= max_input_rows(ui)
}

/// Returns the maximum rows of the input line that leave room for the title, two rows of the list and the
/// lines at the foot of the screen.
pub(super) fn max_input_rows(ui: &UiContext) -> usize {
    usize::from(ui.size.1.saturating_sub(9)).max(1)
}

/// Wraps a line whose cursor is at its end, with room for the cursor.
pub(super) fn wrapped((line, column): (Line, usize), width: u16) -> (Vec<Line>, usize) {
    let width = usize::from(width);
    if line.width() < width || column < line.width() {
        return (vec![line], column);
    }
    let indent = Indent { first: Vec::new(), rest: vec![Span::new("   ", Role::Text)] };
    let lines = wrap(&line.spans, width.saturating_sub(1), &indent, BreakMode::Anywhere);
    let column = lines.last().map_or(0, Line::width);
    (lines, column)
}

/// Returns the input line and the cursor's column.
pub(super) fn typed(prompt: Option<&LinePrompt>, filter: &str) -> (Line, usize) {
    let mark = Span::new(" ❯ ", Style::from(Role::Accent).with(Emphasis::BOLD));
    if let Some(asking) = prompt {
        let label = Span::new(format!(" {}", asking.label), Style::from(Role::Accent).with(Emphasis::BOLD));
        let mut line = Line::from(vec![label, mark]);
        return match asking.echo {
            EchoMode::Open => {
                line.spans.push(Span::new(asking.typed.text(), Role::Text));
                let column = line.width();
                if asking.typed.is_empty() {
                    line.spans.push(Span::new(asking.blank, Role::Muted));
                }
                (line, column)
            }
            EchoMode::Masked => {
                let [dots, count] = masked(asking.typed.count());
                line.spans.push(dots);
                let column = line.width();
                line.spans.push(count);
                (line, column)
            }
        };
    }
    let column = mark.width();
    if filter.is_empty() {
        let line = Line::from(vec![mark, Span::new("type to filter", Role::Muted)]);
        return (line, column);
    }
    let line = Line::from(vec![mark, Span::new(filter, Role::Text)]);
    let column = line.width();
    (line, column)
}
