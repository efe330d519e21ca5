//! Drawing the editor and the completion list.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tiller_render::{Emphasis, Line, Role, Span, Style, truncate_to};

use crate::completion::Completion;
use crate::completion::candidate::Candidate;
use crate::component::ViewContext;
use crate::draw;
use crate::editor::{EditKind, Editor};
use crate::layout::right_aligned;
use crate::picker::view::label;
use crate::text::one_line;
use crate::welcome::placeholder;

/// Columns of the prompt sign before the editor.
pub(crate) const SIGN_WIDTH: u16 = 3;

/// Maximum number of visible candidates.
const MAX_CANDIDATES: u16 = 7;

/// Column of a candidate's description, unless its name is longer.
const ABOUT: usize = 29;

/// Columns between a candidate's name and its description.
const GAP: usize = 2;

/// Returns the maximum number of visible candidates on this screen.
pub(crate) fn max_candidates(view: &ViewContext<'_>) -> usize {
    usize::from(MAX_CANDIDATES.min((view.ui.size.1 / 3).max(1)))
}

/// Draws the prompt sign and the text.
pub(super) fn draw(editor: &Editor, area: Rect, buffer: &mut Buffer, view: &ViewContext<'_>) {
    let (sign, role) = match editor.kind() {
        EditKind::Message if view.model.is_working() => (" ❯ ", Role::Muted),
        EditKind::Message => (" ❯ ", Role::Accent),
        EditKind::Command => (" ! ", Role::Warning),
        EditKind::PrivateCommand => ("!! ", Role::Warning),
    };
    let theme = &view.ui.theme;
    let sign = Line::new(sign, Style::from(role).with(Emphasis::BOLD));
    draw::put(&sign, draw::row(area, 0), buffer, theme);
    let text_area = text_area(area);
    if let Some(placeholder) = placeholder(view) {
        draw::put(&Line::new(placeholder, Role::Muted), draw::row(text_area, 0), buffer, theme);
    }
    editor.draw(text_area, theme.style(Role::Text.into()), buffer);
}

/// Returns the part of the editor's area after the prompt sign.
pub(super) fn text_area(area: Rect) -> Rect {
    let inset = SIGN_WIDTH.min(area.width.saturating_sub(1));
    Rect { x: area.x + inset, width: area.width - inset, ..area }
}

pub(crate) fn completion_lines(completion: &Completion, view: &ViewContext<'_>) -> Vec<Line> {
    let candidates = completion.candidates();
    // The usual case; setting up the matcher takes time.
    if candidates.is_empty() && completion.hint().is_none() {
        return Vec::new();
    }
    let height = max_candidates(view);
    let top = completion.top(height);
    let width = usize::from(view.ui.size.0);
    let mut query = completion.query();
    if let Some(hint) = completion.hint() {
        return vec![argument_hint(hint, width)];
    }
    let last = top + height - 1;
    let mut row = |(at, candidate): (usize, &Candidate)| {
        // If not all candidates fit, the last row shows the count.
        let count = (at == last && candidates.len() > height)
            .then(|| format!("  {} of {}", at + 1, candidates.len()));
        let width = width.saturating_sub(count.as_ref().map_or(0, String::len));
        let chosen = at == completion.selected();
        let (mark, role) = if chosen { ("▸ ", Role::Accent) } else { ("  ", Role::Text) };
        let name = one_line(&candidate.name);
        let room = if candidate.about.is_empty() { width.saturating_sub(4) } else { width / 2 };
        let mut line = Line::new(format!(" {mark}"), Role::Accent);
        line.spans.extend(label(&name, role.into(), &mut query, room));
        line.spans.push(Span::new(argument(candidate, line.width(), width), Role::Muted));
        let gap = ABOUT.saturating_sub(line.width()).max(GAP);
        let about = truncate_to(&one_line(&candidate.about), width.saturating_sub(line.width() + gap + 1));
        line.spans.push(Span::new(" ".repeat(gap) + &about, Role::Muted));
        match count {
            Some(count) => {
                right_aligned(line, Some(Span::new(count.clone(), Role::Muted)), width + count.len())
            }
            None => line,
        }
    };
    candidates.iter().enumerate().skip(top).take(height).map(&mut row).collect()
}

/// Returns a candidate's argument after its name, truncated to the room before the description.
fn argument(candidate: &Candidate, column: usize, width: usize) -> String {
    /// Minimum number of columns.
    const MIN_COLUMNS: usize = 5;
    let whole = format!(" {}", one_line(&candidate.argument));
    let end = if candidate.about.is_empty() { width.saturating_sub(1) } else { ABOUT - GAP };
    match end.saturating_sub(column) {
        room if room < MIN_COLUMNS || candidate.argument.is_empty() => String::new(),
        room => truncate_to(&whole, room),
    }
}

/// Returns the hint about a command's argument, which can't be selected.
fn argument_hint(hint: &Candidate, width: usize) -> Line {
    let hint_text = format!("   {} {}", one_line(&hint.name), one_line(&hint.argument));
    let gap = ABOUT.saturating_sub(Span::new(hint_text.as_str(), Role::Muted).width()).max(GAP);
    let text = format!("{hint_text}{}{}", " ".repeat(gap), one_line(&hint.about));
    Line::new(truncate_to(&text, width.saturating_sub(1)), Role::Muted)
}
