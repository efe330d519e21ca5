//! The transcript's rows, and what is marked in them: the chosen block, what is searched for, what is selected.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tiller_render::{ControlChars, Emphasis, Line, Role, Span, Style, cut_to, sanitize};

use super::super::app::App;
use super::super::keymap::KeyCommand;
use super::super::logical_line::LogicalLine;
use super::super::search::SearchBar;
use super::super::theme::ThemeState;
use super::super::transcript::{BlockPos, ShownRows};
use super::{put, spread};

/// Draws the rows that are on the screen.
pub(super) fn draw(app: &App, area: Rect, buffer: &mut Buffer) {
    let mut finder = app.moving.search.as_ref().map(SearchMatches::new);
    let mut focus = app.transcript.focus().filter(|_| app.editor.is_empty());
    let theme = &app.place.theme;
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

/// Changes how some columns of a line look.
fn mark(columns: &Range<usize>, style: Style, line: Rect, buffer: &mut Buffer, theme: &ThemeState) {
    let column = |at: usize| u16::try_from(at).unwrap_or(u16::MAX).min(line.width);
    let (from, to) = (column(columns.start), column(columns.end));
    buffer.set_style(Rect { x: line.x + from, width: to - from, ..line }, theme.style(style));
}

/// Finds what is searched for on the rows of the screen, from top to bottom: a passage is looked through once.
struct SearchMatches<'a> {
    search: &'a SearchBar,
    words: super::super::search_term::SearchTerm,
    block: Option<BlockPos>,
    lines: Range<usize>,
    /// Lines and columns, in order; those of one place share its first column.
    places: Vec<(usize, Range<usize>, bool)>,
}

impl<'a> SearchMatches<'a> {
    fn new(search: &'a SearchBar) -> Self {
        Self { search, words: search.words(), block: None, lines: 0..0, places: Vec::new() }
    }

    fn mark(&mut self, app: &App, row: &ShownRows<'_>, line: Rect, buffer: &mut Buffer) {
        if self.block != Some(row.at) || !self.lines.contains(&row.number) {
            self.look_through(app, row);
        }
        for (_, columns, is_current) in self.places.iter().filter(|(line, ..)| *line == row.number) {
            let style = match is_current {
                true => Style::from(Role::Accent).with(Emphasis::REVERSED.and(Emphasis::BOLD)),
                false => Style::from(Role::Accent).with(Emphasis::UNDERLINE),
            };
            mark(columns, style, line, buffer, &app.place.theme);
        }
    }

    fn look_through(&mut self, app: &App, row: &ShownRows<'_>) {
        let Some(block) = app.transcript.block(row.at) else { return };
        let passage = LogicalLine::around(block, row.number);
        self.places.clear();
        for found in self.words.find(&passage.text) {
            let places = passage.places(&found);
            let is_current = places
                .first()
                .is_some_and(|(line, columns)| self.search.is_current((row.at, *line, columns.start)));
            self.places.extend(places.into_iter().map(|(line, columns)| (line, columns, is_current)));
        }
        (self.block, self.lines) = (Some(row.at), passage.lines);
    }
}

/// What is searched for, and how much of it there is.
pub(super) fn search(app: &App) -> Option<Line> {
    let search = app.moving.search.as_ref()?;
    let width = usize::from(app.place.size.0);
    let (nth, all, looking) = search.count();
    let more = if looking { "…" } else { "" };
    let count = match (search.typed(), all) {
        ("", _) => String::new(),
        (_, 0) if looking => "looking…".to_owned(),
        (_, 0) => "not found".to_owned(),
        _ => format!("{nth} of {all}{more}"),
    };
    let key = |command| app.place.keymap.key_of(command);
    let keys = format!(
        " · {} up · {} down · {} stays · {} back",
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

/// What stands before what is searched for.
const SEARCH: &str = "  / ";

/// Of a text that is too long its end, where one types.
fn end_of(text: &str, width: usize) -> String {
    let skip = text.chars().count().saturating_sub(width);
    cut_to(&text.chars().skip(skip).collect::<String>(), width)
}

/// Where the cursor stands while something is searched for.
pub(super) fn search_cursor(app: &App, area: Rect) -> Option<(u16, u16)> {
    let search = app.moving.search.as_ref().filter(|_| !area.is_empty())?;
    let typed = Span::new(sanitize(search.typed(), ControlChars::Visible), Role::Text).width();
    let column = u16::try_from(SEARCH.len() + typed).unwrap_or(u16::MAX).min(area.width.saturating_sub(1));
    Some((area.x + column, area.y))
}

/// What can be done with the block that is chosen.
pub(super) fn chosen(app: &App) -> Option<Line> {
    app.transcript.focus().filter(|_| app.editor.is_empty())?;
    let key = |command| app.place.keymap.key_of(command);
    let words = format!(
        "{} folds · {} copies · {} {} choose · {} leaves",
        key(KeyCommand::BlockFold),
        key(KeyCommand::BlockCopy),
        key(KeyCommand::BlockOlder),
        key(KeyCommand::BlockNewer),
        key(KeyCommand::BlockBack)
    );
    let words = cut_to(&words, usize::from(app.place.size.0).saturating_sub(5));
    Some(Line::from(vec![Span::new("  ▸ ", Role::Accent), Span::new(words, Role::Muted)]))
}
