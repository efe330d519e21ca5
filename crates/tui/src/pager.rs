//! A page of text: its layout for the screen, the visible rows, and its filter. Pure.

use crossterm::event::{KeyCode, KeyEvent, MouseEventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tiller_core::id::CallId;
use tiller_core::unit::UnixMs;
use tiller_render::{BreakMode, Indent, Line, MAX_PROSE_WIDTH, Role, Span, wrap};

use crate::component::{Component, Context, Outcome, UiEvent, ViewContext};
use crate::draw::{put, row, title};
use crate::effect::{Effect, LeaveScope};
use crate::keymap::table::{KeyCommand, KeyContext};
use crate::layout::right_aligned;
use crate::line_input::LineInput;
use crate::overlay::scroll::{WHEEL_LINES, scroll_rows};
use crate::shown_since::ShownSince;
use crate::text::one_line;

/// Maximum width of the left column; longer text is wrapped.
const MAX_LEFT_WIDTH: usize = 31;

/// Columns between the left column and its description.
const GAP: usize = 2;

/// Layout of lines that consist of several spans.
#[derive(Clone, Copy, Debug, Default)]
enum Columns {
    /// Spans follow one another.
    #[default]
    None,
    /// A table; `left` is the width of the first column.
    Table { left: usize },
}

/// A page of text.
#[derive(Clone, Debug, Default)]
pub(super) struct Pager {
    pub(super) title: String,
    lines: Vec<Line>,
    /// With columns, a line's spans are the item, its description and its name.
    columns: Columns,
    /// The pending call shown on the page.
    pending_call: Option<CallId>,
    /// Time when the page appeared, if later than the key that opened it.
    appeared: Option<ShownSince>,
    /// The search text; only lines that contain it are shown.
    find: Option<LineInput>,
    /// The lines laid out for `width`.
    rows: Vec<Line>,
    width: usize,
    height: usize,
    top: usize,
}

impl Pager {
    pub(super) fn new(title: &str, lines: Vec<Line>) -> Self {
        Self { title: title.to_owned(), lines, ..Self::default() }
    }

    /// Returns the width of the page's rows on a screen of `screen` columns.
    pub(super) fn columns(screen: u16) -> usize {
        usize::from(screen.saturating_sub(3)).max(1)
    }

    /// Lays out lines as a table whose first column is as wide as its content, up to `MAX_LEFT_WIDTH`.
    pub(super) fn with_columns(self) -> Self {
        let wide = |line: &Line| match line.spans.as_slice() {
            [item, _, ..] => item_of(item).width(),
            _ => 0,
        };
        let left = self.lines.iter().map(wide).max().unwrap_or_default().min(MAX_LEFT_WIDTH);
        Self { columns: Columns::Table { left }, ..self }
    }

    /// Shows a pending call.
    pub(super) fn for_call(self, call: CallId) -> Self {
        Self { pending_call: Some(call), ..self }
    }

    pub(super) fn replace_lines(&mut self, lines: Vec<Line>) {
        (self.lines, self.width) = (lines, 0);
    }

    /// Sets the time when the page appeared, to guard against keys pressed earlier.
    pub(super) fn with_appeared(self, appeared: ShownSince) -> Self {
        Self { appeared: Some(appeared), ..self }
    }

    /// Returns true if the page was visible long enough for a key to be meant for it.
    pub(super) fn is_visible_long_enough(&self, now: UnixMs) -> bool {
        self.appeared.is_none_or(|appeared| appeared.is_long_enough(now))
    }

    /// The pending call that it shows.
    pub(super) fn call(&self) -> Option<&CallId> {
        self.pending_call.as_ref()
    }

    /// Lays out the rows if needed, and shows `height` of them.
    fn lay_out_rows(&mut self, width: usize, height: usize) {
        if self.width != width {
            self.width = width;
            self.reset_layout();
        }
        self.height = height;
        self.step(0);
    }

    fn reset_layout(&mut self) {
        let filter = self.find().map(str::to_lowercase);
        let fits =
            |line: &&Line| filter.as_ref().is_none_or(|text| line.text().to_lowercase().contains(text));
        let shown = self.lines.iter().filter(fits);
        self.rows = shown.flat_map(|line| laid_out(line, self.columns, self.width)).collect();
    }

    /// Scrolls by `rows`, stopping at the ends.
    pub(super) fn step(&mut self, rows: isize) {
        let last = self.rows.len().saturating_sub(self.height);
        self.top = self.top.saturating_add_signed(rows).min(last);
    }

    /// The rows on the screen.
    pub(super) fn shown(&self) -> impl Iterator<Item = &Line> {
        self.rows.iter().skip(self.top).take(self.height)
    }

    /// The share of the page up to the lower end of the screen, in percent; `None` if all of it fits.
    pub(super) fn percent(&self) -> Option<usize> {
        let total = self.rows.len();
        (total > self.height).then(|| (self.top + self.height).min(total) * 100 / total.max(1))
    }

    pub(super) fn find(&self) -> Option<&str> {
        self.find.as_ref().map(LineInput::text)
    }

    /// Filters lines by a new text, or shows all with `None`, and scrolls to the top.
    pub(super) fn filter_by(&mut self, find: Option<LineInput>) {
        (self.find, self.top) = (find, 0);
        self.reset_layout();
    }
}

impl Component for Pager {
    /// Handles an event. Typed characters extend the search text while there is one. Keys without a meaning
    /// are ignored only on the page of a pending call, where they may answer.
    fn handle(&mut self, event: &UiEvent<'_>, cx: &mut Context<'_>) -> Outcome {
        let key = match *event {
            UiEvent::Key(key) => key,
            UiEvent::Mouse(event) => return self.turn_wheel(event.kind),
            UiEvent::Text(_) | UiEvent::Paste(_) => return Outcome::Ignored,
        };
        let command = cx.ui.keymap.command(KeyContext::Popup, key);
        let page_command = cx.ui.keymap.command(KeyContext::Page, key);
        if !self.search_key(key, command, page_command) {
            let rows = command.and_then(|command| scroll_rows(command, cx.ui.size));
            match (command, page_command) {
                (_, Some(KeyCommand::LeavePage)) => cx.push(Effect::CloseTop),
                (Some(KeyCommand::Back), _) => cx.push(Effect::Leave(LeaveScope::Top)),
                (Some(KeyCommand::Close), _) => cx.push(Effect::Leave(LeaveScope::All)),
                (None, None) if self.pending_call.is_some() => return Outcome::Ignored,
                _ => rows.into_iter().for_each(|rows| self.step(rows)),
            }
        }
        Outcome::Consumed
    }

    fn lay_out(&mut self, area: Rect, _view: &ViewContext<'_>) {
        self.lay_out_rows(Self::columns(area.width), usize::from(area.height.saturating_sub(2)));
    }

    fn render(&self, area: Rect, buffer: &mut Buffer, view: &ViewContext<'_>) {
        let theme = &view.ui.theme;
        let mut notes = Vec::new();
        notes.extend(self.find().map(|query| format!("/{}", one_line(query))));
        if let Some(percent) = self.percent() {
            let keys =
                [KeyCommand::PopupPageUp, KeyCommand::PopupPageDown].map(|command| view.key_of(command));
            notes.extend([format!("{percent}%"), keys.join(" ")]);
        }
        notes.push(view.key_of(KeyCommand::Back));
        put(&title(&self.title, &notes.join(" · "), area.width), row(area, 0), buffer, theme);
        for (at, line) in (2..area.height).zip(self.shown()) {
            let (left, line_area) = (2.min(area.width), row(area, at));
            let inner = Rect { x: area.x + left, width: area.width.saturating_sub(2), ..line_area };
            put(line, inner, buffer, theme);
        }
    }
}

impl Pager {
    fn turn_wheel(&mut self, kind: MouseEventKind) -> Outcome {
        match kind {
            MouseEventKind::ScrollUp => self.step(-WHEEL_LINES.cast_signed()),
            MouseEventKind::ScrollDown => self.step(WHEEL_LINES.cast_signed()),
            _ => return Outcome::Ignored,
        }
        Outcome::Consumed
    }

    /// Handles a key of the search in the page; returns false if the key has another meaning.
    fn search_key(
        &mut self,
        key: KeyEvent,
        command: Option<KeyCommand>,
        page_command: Option<KeyCommand>,
    ) -> bool {
        let find = match self.find.clone() {
            None if page_command == Some(KeyCommand::FindInPage) => Some(LineInput::default()),
            None => return false,
            Some(_) if command == Some(KeyCommand::Back) => None,
            Some(line) if line.is_empty() && key.code == KeyCode::Backspace => None,
            Some(mut line) => match line.edit(key, None) {
                true => Some(line),
                false => return false,
            },
        };
        self.filter_by(find);
        true
    }
}

fn laid_out(line: &Line, columns: Columns, width: usize) -> Vec<Line> {
    match (columns, line.spans.as_slice()) {
        // The description needs more room than the item.
        (Columns::Table { left }, [item, about, name @ ..]) if width >= 24 => side_by_side(
            (&item_of(item), left.min(width / 3)),
            (about, name.first()),
            width.min(MAX_PROSE_WIDTH),
        ),
        _ => hanging_indent(line, width),
    }
}

/// The item without trailing blanks.
fn item_of(item: &Span) -> Span {
    Span { text: item.text.trim_end().to_owned(), ..item.clone() }
}

/// Lays out the columns side by side, each wrapped. The name is right-aligned on the last line, or below if
/// it doesn't fit.
fn side_by_side(
    (item, left): (&Span, usize),
    (about, name): (&Span, Option<&Span>),
    width: usize,
) -> Vec<Line> {
    let room = width - left - GAP;
    let whole =
        |span: &Span, width| wrap(std::slice::from_ref(span), width, &Indent::default(), BreakMode::Words);
    let (items, mut abouts) = (whole(item, left), whole(about, room));
    if let Some(name) = name {
        let fits = abouts.last().is_some_and(|last| last.width() + 2 + name.width() <= room);
        let last = if fits { abouts.pop().unwrap_or_default() } else { Line::default() };
        abouts.push(right_aligned(last, Some(name.clone()), room));
    }
    let rows = items.len().max(abouts.len());
    let line = |at: usize| {
        let mut spans = items.get(at).map(|line| line.spans.clone()).unwrap_or_default();
        let used: usize = spans.iter().map(Span::width).sum();
        spans.push(Span::new(" ".repeat((left + GAP).saturating_sub(used)), Role::Text));
        spans.extend(abouts.get(at).into_iter().flat_map(|line| line.spans.clone()));
        spans.into()
    };
    (0..rows).map(line).collect()
}

/// Lays out a line of two columns; the second is wrapped with a hanging indent if there is room.
fn hanging_indent(line: &Line, width: usize) -> Vec<Line> {
    let column = match line.spans.as_slice() {
        [first, _] if first.width() * 2 <= width => first.width(),
        _ => 2,
    };
    let rest = vec![Span::new(" ".repeat(column.min(width / 2)), Role::Text)];
    // Without columns, two spaces separate the name.
    let mut spans = line.spans.clone();
    if let [_, _, name] = spans.as_mut_slice() {
        name.text.insert_str(0, "  ");
    }
    wrap(&spans, width, &Indent { first: Vec::new(), rest }, BreakMode::Words)
}

#[cfg(test)]
mod tests {
    mod pages;

    use crossterm::event::KeyModifiers;

    use super::*;
    use crate::address::Address;
    use crate::component::testing::Bench;

    fn page(rows: &[[&str; 3]]) -> Pager {
        let line = |row: &[&str; 3]| Line::from(row.map(|text| Span::new(text, Role::Text)).to_vec());
        Pager::new("keys", rows.iter().map(line).collect()).with_columns()
    }

    fn shown(page: &Pager) -> Vec<String> {
        page.shown().map(|line| line.text().trim_end().to_owned()).collect()
    }

    #[test]
    fn pager_long_column_keeps_alignment() {
        let mut page = page(&[["alt+u, ctrl+7", "take the last edit back", "undo"], ["up", "one up", "up"]]);
        page.lay_out_rows(36, 10);
        assert_eq!(
            shown(&page),
            [
                "alt+u,        take the last edit",
                "ctrl+7        back              undo",
                "up            one up              up",
            ]
        );
        page.lay_out_rows(60, 10);
        assert_eq!(
            shown(&page)[1].find("one up"),
            Some("alt+u, ctrl+7".len() + GAP),
            "as wide as it must be"
        );
    }

    #[test]
    fn pager_filter_hides_other_lines() {
        let mut page = page(&[["up", "one up", "up"], ["left", "fold", "fold"]]);
        page.lay_out_rows(40, 10);
        page.filter_by(Some(LineInput::from("FOLD")));
        page.lay_out_rows(40, 10);
        assert_eq!(shown(&page).len(), 1);
        page.filter_by(None);
        page.lay_out_rows(40, 10);
        assert_eq!(shown(&page).len(), 2);
    }

    fn top(page: &Pager) -> String {
        page.shown().next().map(|line| line.text().trim().to_owned()).unwrap_or_default()
    }

    #[test]
    fn pager_keys_scroll_search_and_leave() {
        let lines = (0..30).map(|n| Line::new(format!("line {n}"), Role::Text)).collect();
        let mut bench = Bench::of(Pager::new("a page", lines), Address::Screen).sized(40, 6);
        insta::assert_snapshot!(bench.drawn(), @r"
        ── a page ───── 13% · pgup pgdn · esc ──

          line 0
          line 1
          line 2
          line 3
        ");
        let leave = |scope| (Outcome::Consumed, vec![Effect::Leave(scope)]);
        bench.key(KeyCode::Down);
        assert!(bench.drawn().contains("line 4") && !bench.drawn().contains("line 0"), "{}", bench.drawn());
        bench.key(KeyCode::End);
        assert!(bench.drawn().ends_with("line 29"), "{}", bench.drawn());
        assert_eq!(bench.key(KeyCode::Esc), leave(LeaveScope::Top));
        bench.key(KeyCode::Char('/'));
        bench.type_keys("e\u{301}");
        bench.key(KeyCode::Backspace);
        bench.type_keys("27");
        assert_eq!(bench.component.find(), Some("27"), "Backspace removes the whole letter");
        assert!(bench.drawn().ends_with("line 27"), "{}", bench.drawn());
        assert_eq!(bench.key(KeyCode::Esc), (Outcome::Consumed, vec![]), "it ends the search");
        assert_eq!(bench.chord(KeyModifiers::CONTROL, 'c'), leave(LeaveScope::All));
        assert_eq!(bench.key(KeyCode::Char('z')), (Outcome::Consumed, vec![]), "a page takes every key");
    }

    #[test]
    fn pager_wheel_scrolls_as_in_the_transcript() {
        let lines = (0..30).map(|n| Line::new(format!("line {n}"), Role::Text)).collect();
        let mut bench = Bench::of(Pager::new("a page", lines), Address::Screen).sized(40, 6);
        bench.drawn();
        bench.wheel(MouseEventKind::ScrollDown);
        assert_eq!(top(&bench.component), "line 3");
        bench.wheel(MouseEventKind::ScrollUp);
        assert_eq!(top(&bench.component), "line 0");
    }

    #[test]
    fn pager_of_a_call_leaves_the_answers_to_the_panel() {
        let page = Pager::new("bash", vec![Line::new("ls", Role::Text)]).for_call("c1".into());
        let mut bench = Bench::of(page, Address::Screen).sized(40, 6);
        assert_eq!(bench.key(KeyCode::Char('y')), (Outcome::Ignored, vec![]));
        assert_eq!(bench.key(KeyCode::Down), (Outcome::Consumed, vec![]));
    }

    #[test]
    fn pager_scroll_stops_at_the_ends() {
        let mut page = Pager::new("a page", (0..30).map(|n| Line::new(format!("{n}"), Role::Text)).collect());
        page.lay_out_rows(20, 10);
        page.step(isize::MAX / 2);
        assert_eq!(top(&page), "20");
        page.step(-1);
        assert_eq!(top(&page), "19");
    }

    #[test]
    fn pager_long_line_scrolls_to_its_end() {
        let words: Vec<String> = (0..100).map(|n| format!("word{n:02}")).collect();
        let mut page = Pager::new("a page", vec![Line::new(words.join(" "), Role::Text)]);
        page.lay_out_rows(10, 10);
        assert!(page.percent().is_some());
        page.step(isize::MAX / 2);
        assert_eq!(top(&page), "word90");
        page.lay_out_rows(1_000, 10);
        assert_eq!(top(&page), words.join(" "));
    }
}
