//! Draws the transcript with its focus, search matches and selection, the search bar and the key hints.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use tiller_render::{ControlChars, Emphasis, Line, Role, Span, Style, sanitize, truncate_to};

use crate::component::ViewContext;
use crate::draw::put;
use crate::keymap::table::KeyCommand;
use crate::layout::right_aligned;
use crate::logical_line::LogicalLine;
use crate::search_term::SearchTerm;
use crate::theme::ThemeState;
use crate::transcript::Transcript;
use crate::transcript::chunk::BlockPos;
use crate::transcript::row::ShownRows;
use crate::transcript_pane::search::SearchBar;

/// The prompt of the search bar.
const SEARCH: &str = "  / ";

/// The parts of the pane that are drawn.
pub(super) struct TranscriptView<'a> {
    pub(super) transcript: &'a Transcript,
    pub(super) search: Option<&'a SearchBar>,
    pub(super) focus: Option<BlockPos>,
}

/// Draws the rows of the last layout, with search matches and the sign of the focused block.
pub(super) fn draw(shown: &TranscriptView<'_>, area: Rect, buffer: &mut Buffer, view: &ViewContext<'_>) {
    let &TranscriptView { transcript, search, mut focus } = shown;
    let mut finder = search.map(|search| SearchMatches::new(search, transcript));
    let theme = &view.ui.theme;
    for (y, row) in (area.y..area.bottom()).zip(transcript.visible()) {
        let Some(row) = row else { continue };
        let inset = u16::try_from(row.inset).unwrap_or(0).min(area.width);
        let own = Rect { x: area.x + inset, y, width: area.width - inset, height: 1 };
        put(row.line, own, buffer, theme);
        if let Some(finder) = &mut finder {
            finder.mark(&row, own, buffer, theme);
        }
        if let Some(columns) = transcript.selected(&row) {
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
    transcript: &'a Transcript,
    term: SearchTerm,
    block: Option<BlockPos>,
    lines: Range<usize>,
    /// Lines and columns in order; the ranges of one match share its first column.
    places: Vec<(usize, Range<usize>, bool)>,
}

impl<'a> SearchMatches<'a> {
    fn new(search: &'a SearchBar, transcript: &'a Transcript) -> Self {
        let term = search.words();
        Self { search, transcript, term, block: None, lines: 0..0, places: Vec::new() }
    }

    fn mark(&mut self, row: &ShownRows<'_>, line: Rect, buffer: &mut Buffer, theme: &ThemeState) {
        if self.block != Some(row.at) || !self.lines.contains(&row.number) {
            self.search_row(row);
        }
        for (_, columns, is_current) in self.places.iter().filter(|(line, ..)| *line == row.number) {
            let style = match is_current {
                true => Style::from(Role::Accent).with(Emphasis::REVERSED.and(Emphasis::BOLD)),
                false => Style::from(Role::Accent).with(Emphasis::UNDERLINE),
            };
            mark(columns, style, line, buffer, theme);
        }
    }

    fn search_row(&mut self, row: &ShownRows<'_>) {
        let Some(block) = self.transcript.block(row.at) else { return };
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

impl SearchBar {
    pub(crate) fn line(&self, view: &ViewContext<'_>) -> Line {
        let width = usize::from(view.ui.size.0);
        let (nth, all, looking) = self.count();
        let more = if looking { "…" } else { "" };
        let count = match (self.typed(), all) {
            ("", _) => String::new(),
            (_, 0) if looking => "searching…".to_owned(),
            (_, 0) => "no match".to_owned(),
            _ => format!("{nth} of {all}{more}"),
        };
        let keys = [
            (KeyCommand::SearchOlder, "previous"),
            (KeyCommand::SearchNewer, "next"),
            (KeyCommand::SearchStay, "stay"),
            (KeyCommand::SearchBack, "cancel"),
        ]
        .map(|(command, action)| format!(" · {} {action}", view.key_of(command)));
        let room = width.saturating_sub(SEARCH.len() + count.len() + 2).max(8);
        let typed = end_of(&sanitize(self.typed(), ControlChars::Visible), room);
        let used = SEARCH.len() + typed.chars().count() + count.chars().count() + 4;
        // The last ones are the least known.
        let keys = (0..=keys.len()).map(|first| keys[first..].concat());
        let keys = keys.into_iter().find(|keys| used + keys.chars().count() <= width).unwrap_or_default();
        let role = if all == 0 && !looking { Role::Warning } else { Role::Text };
        let left = vec![
            Span::new(SEARCH, Style::from(Role::Accent).with(Emphasis::BOLD)),
            Span::new(typed, Role::Text),
        ];
        right_aligned(left, [Span::new(count, role), Span::new(keys, Role::Muted)], width)
    }

    /// The cursor position in the search bar, drawn in `area`.
    pub(crate) fn cursor(&self, area: Rect) -> Position {
        let typed = Span::new(sanitize(self.typed(), ControlChars::Visible), Role::Text).width();
        let column =
            u16::try_from(SEARCH.len() + typed).unwrap_or(u16::MAX).min(area.width.saturating_sub(1));
        Position::new(area.x + column, area.y)
    }
}

/// Key hints for the focused block.
pub(super) fn focus_hints(view: &ViewContext<'_>) -> Line {
    let text = format!(
        "{} fold · {} copy · {} {} select · {} leave",
        view.key_of(KeyCommand::BlockFold),
        view.key_of(KeyCommand::BlockCopy),
        view.key_of(KeyCommand::BlockOlder),
        view.key_of(KeyCommand::BlockNewer),
        view.key_of(KeyCommand::BlockBack)
    );
    let text = truncate_to(&text, usize::from(view.ui.size.0).saturating_sub(5));
    Line::from(vec![Span::new("  ▸ ", Role::Accent), Span::new(text, Role::Muted)])
}

/// Returns the end of a text that is too long.
fn end_of(text: &str, width: usize) -> String {
    let skip = text.chars().count().saturating_sub(width);
    truncate_to(&text.chars().skip(skip).collect::<String>(), width)
}
