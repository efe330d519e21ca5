//! Drawing of the transcript with its focus, search matches and selection.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tiller_render::{ControlChars, Emphasis, Line, Role, Span, Style, sanitize, truncate_to};

use super::super::keymap::KeyCommand;
use super::super::logical_line::LogicalLine;
use super::super::search::SearchBar;
use super::super::theme::ThemeState;
use super::super::transcript::{BlockPos, ShownRows};
use crate::app::App;
use crate::draw::put;
use crate::draw::spread;

pub(super) fn draw(app: &App, area: Rect, buffer: &mut Buffer) {
    let mut finder = app.navigation.search.as_ref().map(SearchMatches::new);
    let mut focus = app.transcript.focus().filter(|_| app.composer.editor.is_empty());
    let theme = &app.ui.theme;
    for (y, row) in (area.y..area.bottom()).zip(app.transcript.visible()) {
        let Some(row) = row else { continue };
        let inset = u16::try_from(row.inset).unwrap_or(0).min(area.width);
        let own = Rect { x: area.x + inset, y, width: area.width - inset, height: 1 };
        put(row.line, own, buffer, theme);
        if let Some(finder) = &mut finder {
            finder.mark(app, &row, own, buffer);
        }
        if let Some(columns) = app.transcript.selected(&row) {
            mark(&columns, Style::from(Role::Text).with(Emphasis::REVERSED), own, buffer, theme);
        }
        if focus == Some(row.at) {
            focus = None;
            let sign = Line::new("▸", Style::from(Role::Accent).with(Emphasis::BOLD));
            put(&sign, Rect { width: area.width.min(1), y, height: 1, ..area }, buffer, theme);
        }
    }
}

/// Applies a style to some columns of a line.
fn mark(columns: &Range<usize>, style: Style, line: Rect, buffer: &mut Buffer, theme: &ThemeState) {
    let column = |at: usize| u16::try_from(at).unwrap_or(u16::MAX).min(line.width);
    let (from, to) = (column(columns.start), column(columns.end));
    buffer.set_style(Rect { x: line.x + from, width: to - from, ..line }, theme.style(style));
}

/// Finds search matches in the rows of the screen, from top to bottom; each logical line is searched once.
struct SearchMatches<'a> {
    search: &'a SearchBar,
    term: super::super::search_term::SearchTerm,
    block: Option<BlockPos>,
    lines: Range<usize>,
    /// Lines and columns in order; the ranges of one match share its first column.
    places: Vec<(usize, Range<usize>, bool)>,
}

impl<'a> SearchMatches<'a> {
    fn new(search: &'a SearchBar) -> Self {
        Self { search, term: search.words(), block: None, lines: 0..0, places: Vec::new() }
    }

    fn mark(&mut self, app: &App, row: &ShownRows<'_>, line: Rect, buffer: &mut Buffer) {
        if self.block != Some(row.at) || !self.lines.contains(&row.number) {
            self.search_row(app, row);
        }
        for (_, columns, is_current) in self.places.iter().filter(|(line, ..)| *line == row.number) {
            let style = match is_current {
                true => Style::from(Role::Accent).with(Emphasis::REVERSED.and(Emphasis::BOLD)),
                false => Style::from(Role::Accent).with(Emphasis::UNDERLINE),
            };
            mark(columns, style, line, buffer, &app.ui.theme);
        }
    }

    fn search_row(&mut self, app: &App, row: &ShownRows<'_>) {
        let Some(block) = app.transcript.block(row.at) else { return };
        let logical = LogicalLine::around(block, row.number);
        self.places.clear();
        for found in self.term.find(&logical.text) {
            let segments = logical.places(&found);
            let is_current = segments
                .first()
                .is_some_and(|(line, columns)| self.search.is_current((row.at, *line, columns.start)));
            self.places.extend(segments.into_iter().map(|(line, columns)| (line, columns, is_current)));
        }
        (self.block, self.lines) = (Some(row.at), logical.lines);
    }
}

/// The search bar.
pub(super) fn search(app: &App) -> Option<Line> {
    let search = app.navigation.search.as_ref()?;
    let width = usize::from(app.ui.size.0);
    let (nth, all, looking) = search.count();
    let more = if looking { "…" } else { "" };
    let count = match (search.typed(), all) {
        ("", _) => String::new(),
        (_, 0) if looking => "searching…".to_owned(),
        (_, 0) => "no match".to_owned(),
        _ => format!("{nth} of {all}{more}"),
    };
    let key = |command| app.ui.keymap.key_of(command);
    let keys = format!(
        " · {} previous · {} next · {} stay · {} cancel",
        key(KeyCommand::SearchOlder),
        key(KeyCommand::SearchNewer),
        key(KeyCommand::SearchStay),
        key(KeyCommand::SearchBack)
    );
    let room = width.saturating_sub(SEARCH.len() + count.len() + 2).max(8);
    let typed = end_of(&sanitize(search.typed(), ControlChars::Visible), room);
    let used = SEARCH.len() + typed.chars().count() + count.chars().count() + 4;
    let keys = if used + keys.chars().count() <= width { keys } else { String::new() };
    let role = if all == 0 && !looking { Role::Warning } else { Role::Text };
    let left =
        vec![Span::new(SEARCH, Style::from(Role::Accent).with(Emphasis::BOLD)), Span::new(typed, Role::Text)];
    let mut line =
        spread(left, Span::new(" ".repeat(count.chars().count() + keys.chars().count()), Role::Text), width);
    line.spans.pop();
    line.spans.extend([Span::new(count, role), Span::new(keys, Role::Muted)]);
    Some(line)
}

/// The prompt of the search bar.
const SEARCH: &str = "  / ";

/// The end of a text that is too long.
fn end_of(text: &str, width: usize) -> String {
    let skip = text.chars().count().saturating_sub(width);
    truncate_to(&text.chars().skip(skip).collect::<String>(), width)
}

/// The cursor position in the search bar.
pub(super) fn search_cursor(app: &App, area: Rect) -> Option<(u16, u16)> {
    let search = app.navigation.search.as_ref().filter(|_| !area.is_empty())?;
    let typed = Span::new(sanitize(search.typed(), ControlChars::Visible), Role::Text).width();
    let column = u16::try_from(SEARCH.len() + typed).unwrap_or(u16::MAX).min(area.width.saturating_sub(1));
    Some((area.x + column, area.y))
}

/// Key hints for the focused block.
pub(super) fn chosen(app: &App) -> Option<Line> {
    app.transcript.focus().filter(|_| app.composer.editor.is_empty())?;
    let key = |command| app.ui.keymap.key_of(command);
    let text = format!(
        "{} fold · {} copy · {} {} select · {} leave",
        key(KeyCommand::BlockFold),
        key(KeyCommand::BlockCopy),
        key(KeyCommand::BlockOlder),
        key(KeyCommand::BlockNewer),
        key(KeyCommand::BlockBack)
    );
    let text = truncate_to(&text, usize::from(app.ui.size.0).saturating_sub(5));
    Some(Line::from(vec![Span::new("  ▸ ", Role::Accent), Span::new(text, Role::Muted)]))
}
