//! Draws the transcript with its focus, search matches and selection, the search bar and the key hints.

use std::ops::Range;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tiller_render::{ControlChars, Emphasis, Line, LinkStyle, Role, Span, Style, sanitize, truncate_to};

use crate::component::ViewContext;
use crate::draw::put;
use crate::keymap::KeyCommand;
use crate::layout::right_aligned;
use crate::logical_line::LogicalLine;
use crate::search_term::SearchTerm;
use crate::terminal::image_placement::ImagePlacement;
use crate::theme::ThemeState;
use crate::transcript::Transcript;
use crate::transcript::chunk::BlockPos;
use crate::transcript::row::ShownRows;
use crate::transcript_pane::TranscriptPane;
use crate::transcript_pane::search::SearchBar;

/// The prompt of the search bar.
const SEARCH: &str = "  / ";

/// Draws the rows laid out last.
pub(super) fn draw(pane: &TranscriptPane, area: Rect, buffer: &mut Buffer, view: &ViewContext<'_>) {
    let transcript = &pane.transcript;
    let mut finder = pane.search.as_ref().map(|search| SearchMatches::new(search, transcript));
    let mut focus = pane.focused(view);
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

impl TranscriptPane {
    /// The search bar, if it is open.
    pub(crate) fn search_line(&self, view: &ViewContext<'_>) -> Option<Line> {
        let search = self.search.as_ref()?;
        let width = usize::from(view.ui.size.0);
        let (nth, all, looking) = search.count();
        let more = if looking { "…" } else { "" };
        let count = match (search.typed(), all) {
            ("", _) => String::new(),
            (_, 0) if looking => "searching…".to_owned(),
            (_, 0) => "no match".to_owned(),
            _ => format!("{nth} of {all}{more}"),
        };
        let keys = format!(
            " · {} previous · {} next · {} stay · {} cancel",
            view.key_of(KeyCommand::SearchOlder),
            view.key_of(KeyCommand::SearchNewer),
            view.key_of(KeyCommand::SearchStay),
            view.key_of(KeyCommand::SearchBack)
        );
        let room = width.saturating_sub(SEARCH.len() + count.len() + 2).max(8);
        let typed = end_of(&sanitize(search.typed(), ControlChars::Visible), room);
        let used = SEARCH.len() + typed.chars().count() + count.chars().count() + 4;
        let keys = if used + keys.chars().count() <= width { keys } else { String::new() };
        let role = if all == 0 && !looking { Role::Warning } else { Role::Text };
        let left = vec![
            Span::new(SEARCH, Style::from(Role::Accent).with(Emphasis::BOLD)),
            Span::new(typed, Role::Text),
        ];
        let right = Span::new(" ".repeat(count.chars().count() + keys.chars().count()), Role::Text);
        let mut line = right_aligned(left, Some(right), width);
        line.spans.pop();
        line.spans.extend([Span::new(count, role), Span::new(keys, Role::Muted)]);
        Some(line)
    }

    /// The cursor position in the search bar, drawn in `area`.
    pub(crate) fn search_cursor(&self, area: Rect) -> Option<(u16, u16)> {
        let search = self.search.as_ref().filter(|_| !area.is_empty())?;
        let typed = Span::new(sanitize(search.typed(), ControlChars::Visible), Role::Text).width();
        let column =
            u16::try_from(SEARCH.len() + typed).unwrap_or(u16::MAX).min(area.width.saturating_sub(1));
        Some((area.x + column, area.y))
    }

    /// Key hints for the focused block.
    pub(super) fn focus_hints(&self, view: &ViewContext<'_>) -> Option<Line> {
        self.focused(view)?;
        let text = format!(
            "{} fold · {} copy · {} {} select · {} leave",
            view.key_of(KeyCommand::BlockFold),
            view.key_of(KeyCommand::BlockCopy),
            view.key_of(KeyCommand::BlockOlder),
            view.key_of(KeyCommand::BlockNewer),
            view.key_of(KeyCommand::BlockBack)
        );
        let text = truncate_to(&text, usize::from(view.ui.size.0).saturating_sub(5));
        Some(Line::from(vec![Span::new("  ▸ ", Role::Accent), Span::new(text, Role::Muted)]))
    }

    /// The label about output below the screen; `None` while the end is followed.
    pub(crate) fn below_label(&self, view: &ViewContext<'_>) -> Option<Span> {
        if self.transcript.follows() {
            return None;
        }
        let (what, role) = match self.transcript.new_below() {
            Some(0) => ("new output below".to_owned(), Role::Accent),
            Some(count) => (format!("{count} new below"), Role::Accent),
            None => ("more below".to_owned(), Role::Muted),
        };
        Some(Span::new(format!(" ↓ {what} · {} ", view.key_of(KeyCommand::Bottom)), role))
    }

    /// The link targets on the screen, if the terminal supports links.
    pub(crate) fn links(&self, view: &ViewContext<'_>) -> impl Iterator<Item = &Arc<str>> + use<'_> {
        let are_live = view.ui.render_options.links == LinkStyle::Live;
        self.transcript.links().filter(move |_| are_live)
    }

    /// The images on the screen, if nothing covers them.
    pub(crate) fn images(&self, view: &ViewContext<'_>) -> Vec<ImagePlacement> {
        let area = self.area;
        let mut placements: Vec<ImagePlacement> = Vec::new();
        if view.focus.is_covered {
            return placements;
        }
        for (row, shown) in (area.y..area.bottom()).zip(self.transcript.visible()) {
            let Some(ShownRows { inset, line, .. }) = shown else { continue };
            let Some(slice) = &line.image else { continue };
            match placements.last_mut() {
                Some(last) if Arc::ptr_eq(&last.image, &slice.image) => last.rows += 1,
                _ => {
                    let column = area.x + u16::try_from(inset + line.width()).unwrap_or(0);
                    let image = Arc::clone(&slice.image);
                    placements.push(ImagePlacement { image, column, row, from: slice.row, rows: 1 });
                }
            }
        }
        placements
    }
}

/// The end of a text that is too long.
fn end_of(text: &str, width: usize) -> String {
    let skip = text.chars().count().saturating_sub(width);
    truncate_to(&text.chars().skip(skip).collect::<String>(), width)
}
