//! Drawing of lists.
//!
//! Layout: a title rule with counts, the filter or a wrapped input line, the rows, and key hints. The preview
//! is beside the rows on a wide screen, below them on a tall one, and hidden otherwise.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use tiller_core::unit::thousands;
use tiller_render::{BreakMode, Emphasis, Indent, Line, Role, Span, Style, truncate_to, wrap};
use tiller_session::SessionScope;

use crate::draw::{put, row, title};
use crate::fuzzy::FuzzyQuery;
use crate::keymap::Keymap;
use crate::layout::{limit_rows, right_aligned, truncate_start};
use crate::list_kind::ListKind;
use crate::match_marks::{pieces, spans};
use crate::picker::input_rows::{max_input_rows, typed, wrapped};
use crate::picker::item::{MARKS, PickerChoice, PickerItem};
use crate::picker::line_prompt::StatusText;
use crate::picker::{ItemPreview, Picker};
use crate::preview_area::{PreviewSplit, split};
use crate::ui_context::UiContext;

/// Minimum width of a screen with the preview beside the rows.
const WIDE: u16 = 100;

/// Minimum width of rows if there is room, so that the notes of most lists end in the same column.
const MIN_ROW_WIDTH: usize = 80;

/// Minimum width of a preview beside the rows.
const MIN_PREVIEW_WIDTH: u16 = 40;

/// Minimum body height for a preview below the rows.
const HIGH: u16 = 16;

struct ListAreas {
    rows: Rect,
    preview: Option<Rect>,
    is_beside: bool,
    foot: Rect,
}

impl ListAreas {
    /// Computes the areas between a head and a foot of some rows.
    fn of(picker: &Picker, area: Rect, [head, foot]: [usize; 2]) -> Self {
        let [head, foot] = [head, foot].map(|rows| u16::try_from(rows).unwrap_or(u16::MAX));
        let height = area.height.saturating_sub(head.saturating_add(foot));
        let body = Rect { y: area.y + head.min(area.height), height, ..area };
        let foot = Rect { y: body.bottom(), height: foot.min(area.bottom() - body.bottom()), ..area };
        if *picker.preview() == ItemPreview::None {
            return Self { rows: body, preview: None, is_beside: false, foot };
        }
        let beside = width_beside(picker, area.width);
        let PreviewSplit { rows, preview } = split(body, beside, HIGH);
        Self { rows, preview, is_beside: beside.is_some(), foot }
    }
}

/// Returns the width of the rows beside a preview; `None` if there is no room for both. Models are chosen by
/// their notes, which must fit; sessions have long titles. For other lists the preview shows the truncated
/// text.
fn width_beside(picker: &Picker, width: u16) -> Option<u16> {
    let usual = match picker.session_browser() {
        Some(_) => (width * 2 / 3).min(width.saturating_sub(MIN_PREVIEW_WIDTH)),
        None => width * 11 / 20,
    };
    let needed = match picker.kind() {
        Some(ListKind::Models) => picker.items.iter().map(full_width).max().unwrap_or(0) + 1,
        _ => 0,
    };
    let rows = usual.max(u16::try_from(needed).unwrap_or(u16::MAX));
    (width >= WIDE && (rows == usual || rows <= width - MIN_PREVIEW_WIDTH)).then_some(rows)
}

/// The area of a list's rows.
pub(super) fn rows(picker: &Picker, area: Rect, ui: &UiContext) -> Rect {
    let head = 1 + input(picker, ui).0.len();
    ListAreas::of(picker, area, [head, feet(picker, area, &ui.keymap).len()]).rows
}

/// Returns the lines at the foot of a list, if there is room for them.
fn feet(picker: &Picker, area: Rect, keymap: &Keymap) -> Vec<Line> {
    if area.height >= 8 { foot(picker, keymap, usize::from(area.width)) } else { Vec::new() }
}

pub(super) fn draw(picker: &Picker, area: Rect, buffer: &mut Buffer, ui: &UiContext) {
    let theme = &ui.theme;
    let (matches, all) = picker.counts();
    let note =
        if matches == all { thousands(all) } else { format!("{} of {}", thousands(matches), thousands(all)) };
    let note = if has_only_reason(picker) { String::new() } else { note };
    put(&title(&picker.title, &note, area.width), row(area, 0), buffer, theme);
    let (lines, _) = input(picker, ui);
    for (at, line) in (1..).zip(&lines) {
        put(line, row(area, at), buffer, theme);
    }
    let foot = feet(picker, area, &ui.keymap);
    let parts = ListAreas::of(picker, area, [1 + lines.len(), foot.len()]);
    if let Some(words) = empty(picker, matches, &ui.keymap) {
        put(&Line::new(format!("   {words}"), Role::Muted), row(parts.rows, 0), buffer, theme);
    }
    let width = usize::from(parts.rows.width).saturating_sub(1);
    let mut query = picker.query();
    let shown: Vec<(&PickerItem, bool)> = picker.window(usize::from(parts.rows.height)).collect();
    let edge =
        shown.iter().map(|(item, _)| full_width(item)).max().unwrap_or(0).max(MIN_ROW_WIDTH).min(width);
    let note_column = note_column(picker, width);
    for (at, (item, chosen)) in (0..).zip(shown) {
        let line = item_line(item, chosen, &mut query, edge, note_column);
        put(&line, row(parts.rows, at), buffer, theme);
    }
    if let Some(area) = parts.preview {
        for (at, line) in (0..).zip(preview(picker, area, parts.is_beside)) {
            put(&line, row(area, at), buffer, theme);
        }
    }
    for (at, line) in (0..).zip(foot) {
        put(&line, row(parts.foot, at), buffer, theme);
    }
}

pub(super) fn cursor(picker: &Picker, area: Rect, ui: &UiContext) -> Position {
    let (lines, column) = input(picker, ui);
    let column = u16::try_from(column).unwrap_or(0).min(area.width.saturating_sub(1));
    let row = u16::try_from(lines.len()).unwrap_or(u16::MAX).min(area.height.saturating_sub(1));
    Position { x: area.x + column, y: area.y + row }
}

/// Returns as many rows of the input line as fit, and the cursor's column in the last one.
fn input(picker: &Picker, ui: &UiContext) -> (Vec<Line>, usize) {
    let (lines, column) = wrapped(typed(picker.prompt(), picker.filter()), ui.size.0);
    (limit_rows(lines, max_input_rows(ui), usize::from(ui.size.0).saturating_sub(1)), column)
}

fn empty(picker: &Picker, matches: usize, keymap: &Keymap) -> Option<String> {
    use crate::keymap::table::KeyCommand::{ClearFilter, Switch};
    let scope = picker.session_browser().map(|browser| browser.scope);
    match (picker.waiting, matches) {
        (true, _) => Some("loading…".to_owned()),
        (false, 0) if !picker.filter().is_empty() => {
            Some(format!("no match; {} clears the filter", keymap.key_of(ClearFilter)))
        }
        (false, 0) if scope == Some(SessionScope::ThisDirectory) => {
            Some(format!("no sessions in this directory; {} shows all directories", keymap.key_of(Switch)))
        }
        (false, 0) => Some(picker.source.facts().empty_text.to_owned()),
        (false, _) => None,
    }
}

fn foot(picker: &Picker, keymap: &Keymap, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some((done, all)) = picker.session_browser().and_then(|browser| browser.indexing) {
        let text = format!("   indexing {} of {}", thousands(done), thousands(all));
        lines.push(Line::new(text, Role::Muted));
    }
    let status = picker.status();
    lines.extend(status.into_iter().flat_map(|status| status_lines(status, width)));
    if status.is_none() || picker.source.facts().keeps_hints {
        lines.push(hints(picker, keymap, width));
    }
    lines
}

/// The wrapped status text.
fn status_lines(status: &StatusText, width: usize) -> Vec<Line> {
    /// Maximum number of rows.
    const MAX_ROWS: usize = 3;
    let inset = Span::new("   ", status.role);
    let further = if status.role == Role::Error { "     " } else { "   " };
    let indent = Indent { first: vec![inset], rest: vec![Span::new(further, status.role)] };
    let text = [Span::new(status.text.as_str(), status.role)];
    let width = width.saturating_sub(1).max(1);
    limit_rows(wrap(&text, width, &indent, BreakMode::Words), MAX_ROWS, width)
}

/// Width below which labels have priority over notes.
const NARROW: usize = 60;

/// Returns as many key hints as fit.
fn hints(picker: &Picker, keymap: &Keymap, width: usize) -> Line {
    let mut line = Line::new("   ", Role::Muted);
    for (command, label) in picker.hints() {
        let key = keymap.key_of(command);
        let gap = if line.spans.len() > 1 { " · " } else { "" };
        let hint = [
            Span::new(gap, Role::Muted),
            Span::new(key, Role::Text),
            Span::new(format!(" {label}"), Role::Muted),
        ];
        let is_bound = !hint[1].text.is_empty();
        if is_bound && line.width() + hint.iter().map(Span::width).sum::<usize>() < width {
            line.spans.extend(hint);
        }
    }
    line
}

/// Returns the full width of a row, including a gap between label and note.
fn full_width(item: &PickerItem) -> usize {
    let [lead, label, note] = [&item.lead, &item.label, &item.note].map(|text| columns(text));
    3 + lead + label + 4 + note
}

fn columns(text: &str) -> usize {
    Span::new(text, Role::Text).width()
}

/// Returns true if the only row states why there is nothing to choose.
fn has_only_reason(picker: &Picker) -> bool {
    let [item] = &*picker.items else { return false };
    matches!(&item.choice, PickerChoice::Unavailable(reason) if *reason == item.label)
}

/// Returns the column of the notes, if they are descriptions, whose truncated texts should begin in one column.
/// Other notes are right-aligned.
fn note_column(picker: &Picker, width: usize) -> Option<usize> {
    let end = |item: &PickerItem| 3 + columns(&item.lead) + columns(&item.label) + 2;
    let column = || picker.items.iter().map(end).max().unwrap_or(0).min(width / 2);
    (picker.kind() == Some(ListKind::Agents)).then(column)
}

fn item_line(
    item: &PickerItem,
    chosen: bool,
    query: &mut FuzzyQuery,
    width: usize,
    note_column: Option<usize>,
) -> Line {
    let style = Style::from(item.role).with(if chosen { Emphasis::BOLD } else { Emphasis::NONE });
    let style = if chosen { style.in_role(Role::Accent) } else { style };
    let lead = Span::new(item.lead.clone(), Role::Muted);
    let mut left = vec![Span::new(if chosen { " ▸ " } else { "   " }, Role::Accent), lead];
    let before = 3 + left[1].width();
    if let Some(column) = note_column {
        left.extend(label(&item.label, style, query, column.saturating_sub(before + 2)));
        let gap = column.saturating_sub(left.iter().map(Span::width).sum());
        left.push(Span::new(" ".repeat(gap), Role::Muted));
        left.push(Span::new(truncate_to(&item.note, width.saturating_sub(column)), Role::Muted));
        return Line::from(left);
    }
    // The note is dropped if it would leave the label less than half of the width, or less than 3/4 on a
    // narrow screen.
    let beside = Span::new(item.note.clone(), Role::Muted);
    let whole = width.saturating_sub(before);
    let least = if width < NARROW { whole * 3 / 4 } else { whole / 2 };
    let room = whole.saturating_sub(beside.width() + 2).max(least);
    left.extend(label(&item.label, style, query, room));
    let rest = width.saturating_sub(left.iter().map(Span::width).sum::<usize>() + 2);
    // A session's id is at the end of its note, and is needed to identify it.
    let note =
        if item.tag.is_some() { truncate_start(&item.note, rest) } else { truncate_to(&item.note, rest) };
    right_aligned(left, Some(Span::new(note, Role::Muted)), width)
}

/// Returns a label truncated to `room` columns, with matches highlighted.
pub(crate) fn label(text: &str, style: Style, query: &mut FuzzyQuery, room: usize) -> Vec<Span> {
    let parts = if text.contains(MARKS[0]) { marked(text) } else { pieces(text, &query.marks(text)) };
    let found = style.in_role(Role::Accent).with(Emphasis::BOLD.and(Emphasis::UNDERLINE));
    spans(parts, style, found, room)
}

/// Splits a label at its own markers.
fn marked(text: &str) -> Vec<(String, bool)> {
    let mut is_marked = false;
    let mut parts = Vec::new();
    for part in text.split_inclusive(MARKS) {
        parts.push((part.trim_end_matches(MARKS).to_owned(), is_marked));
        is_marked = part.ends_with(MARKS[0]);
    }
    parts
}

/// Returns the indentation of a wrapped line's continuation rows: the width of a fact's name, or a prompt's
/// bar.
fn hanging(line: &Line) -> Option<Span> {
    let first = line.spans.first()?;
    let is_name = line.spans.len() > 1 && first.text.ends_with(' ') && first.style == Role::Muted.into();
    match first.text.starts_with("▌ ") {
        true => Some(Span::new("▌ ", first.style)),
        false => is_name.then(|| Span::new(" ".repeat(first.width()), first.style)),
    }
}

/// The wrapped preview with its separator.
fn preview(picker: &Picker, area: Rect, is_beside: bool) -> Vec<Line> {
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    let waiting = [Line::new("…", Role::Muted)];
    let (detail, more) = match picker.preview() {
        ItemPreview::None => return Vec::new(),
        ItemPreview::Waiting => (waiting.as_slice(), [].as_slice()),
        ItemPreview::Lines { detail, more } => (&**detail, more.as_slice()),
    };
    let (bar, above) =
        if is_beside { (" │ ", None) } else { ("   ", Some(Line::new("─".repeat(width), Role::Muted))) };
    let bar = Span::new(bar, Role::Muted);
    let room = width.saturating_sub(1).max(4);
    let wrapped = detail.iter().chain(more).flat_map(|line| {
        let rest = std::iter::once(bar.clone()).chain(hanging(line)).collect();
        wrap(&line.spans, room, &Indent { first: vec![bar.clone()], rest }, BreakMode::Words)
    });
    let mut all: Vec<Line> = above.into_iter().chain(wrapped).take(height).collect();
    if is_beside {
        all.resize(height, Line::new(" │", Role::Muted));
    }
    all
}
