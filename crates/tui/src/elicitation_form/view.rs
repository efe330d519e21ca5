//! Drawing of a server's question.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use tiller_core::ansi::columns;
use tiller_core::elicitation::{ElicitationKind, FormField};
use tiller_render::{
    BreakMode, ControlChars, Emphasis, Indent, Line, MAX_PROSE_WIDTH, Role, Span, Style, sanitize,
    truncate_to, wrap,
};

use super::field_input::FieldInput;
use super::{ElicitationForm, FormAnswer};
use crate::component::ViewContext;
use crate::draw::{put, row, title};
use crate::keymap::table::KeyCommand;
use crate::layout::truncate_start;
use crate::text::one_line;

/// Maximum width of the column of labels.
const MAX_LABEL: usize = 30;

/// Columns before a label.
const MARK_WIDTH: usize = 4;

/// The laid-out page.
struct FormPage {
    lines: Vec<Line>,
    /// First and last line of the selected row.
    selected: (usize, usize),
    /// Column of the cursor in the first selected line.
    cursor: Option<usize>,
}

impl ElicitationForm {
    pub(super) fn draw(&self, area: Rect, buffer: &mut Buffer, view: &ViewContext<'_>) {
        let theme = &view.ui.theme;
        let (asker, back) = (one_line(&self.request.asker()), view.key_of(KeyCommand::Back));
        let (name, note) = match self.withdrawn {
            None => (format!("question from {asker}"), format!("{back} cancels")),
            Some(_) => (format!("withdrawn by {asker}"), format!("{back} closes")),
        };
        put(&title(&name, &note, area.width), row(area, 0), buffer, theme);
        let page = self.page(usize::from(area.width));
        let body = body(area);
        let top = self.top(&page, usize::from(body.height));
        for (at, line) in (0..body.height).zip(page.lines.iter().skip(top)) {
            put(line, row(body, at), buffer, theme);
        }
        let hint = match self.withdrawn {
            None => Line::new(format!("  {}", self.key_hint(view)), Role::Muted),
            Some(_) => {
                let text =
                    format!("  {asker} stopped waiting for an answer; nothing was sent · {back} closes");
                Line::new(text, Role::Warning)
            }
        };
        put(&hint, row(area, area.height.saturating_sub(1)), buffer, theme);
    }

    pub(super) fn cursor_position(&self, area: Rect) -> Option<Position> {
        let page = self.page(usize::from(area.width));
        let body = body(area);
        let line = page.selected.0.checked_sub(self.top(&page, usize::from(body.height)))?;
        let (x, y) = (u16::try_from(page.cursor?).ok()?, u16::try_from(line).ok()?);
        (y < body.height && x < area.width).then_some(Position { x: area.x + x, y: body.y + y })
    }

    /// Returns the first visible line. The selected row is visible, unless the page is scrolled away from it.
    fn top(&self, page: &FormPage, height: usize) -> usize {
        let last = page.lines.len().saturating_sub(height);
        let (first, end) = page.selected;
        let top = (end + 1).saturating_sub(height).min(first);
        top.saturating_add_signed(self.scrolled).min(last)
    }

    fn page(&self, width: usize) -> FormPage {
        let mut page = FormPage { lines: self.question(width), selected: (0, 0), cursor: None };
        let labels = self.fields().iter().map(|field| columns(&label(field)));
        let label_width = labels.max().unwrap_or(0).min(MAX_LABEL);
        for (at, (field, input)) in self.fields().iter().zip(&self.inputs).enumerate() {
            let is_selected = at == self.selected;
            let first = page.lines.len();
            let room = width.saturating_sub(MARK_WIDTH + label_width + 3);
            let (value, cursor) = value_text(input, room);
            let text = truncate_to(&label(field), label_width);
            let padded = format!("{text}{}  ", " ".repeat(label_width.saturating_sub(columns(&text))));
            page.lines.push(vec![mark(is_selected), Span::new(padded, style(is_selected)), value].into());
            if is_selected {
                page.lines.extend(self.details(field, input, width));
                let last = page.lines.len() - 1;
                let column = MARK_WIDTH + label_width + 2;
                (page.selected, page.cursor) = ((first, last), cursor.map(|cursor| column + cursor));
            }
        }
        if !self.fields().is_empty() {
            page.lines.push(Line::default());
        }
        for (at, answer) in [FormAnswer::Accept, FormAnswer::Decline].into_iter().enumerate() {
            let is_selected = self.inputs.len() + at == self.selected;
            if is_selected {
                page.selected = (page.lines.len(), page.lines.len());
            }
            let text = self.answer_text(answer, width.saturating_sub(MARK_WIDTH + 1));
            page.lines.push(vec![mark(is_selected), Span::new(text, style(is_selected))].into());
        }
        page
    }

    /// The server's text, with the address or a warning.
    fn question(&self, width: usize) -> Vec<Line> {
        let mut lines = vec![Line::default()];
        let message = sanitize(&self.request.message, ControlChars::Visible);
        for line in message.trim().lines() {
            lines.extend(prose(line, Role::Text, width));
        }
        lines.push(Line::default());
        match &self.request.kind {
            ElicitationKind::Url { url, .. } => {
                let url = Span::new(one_line(url), Role::Code);
                lines.extend(indented(
                    &[Span::new("Address: ", Role::Muted), url],
                    width,
                    BreakMode::Anywhere,
                ));
            }
            ElicitationKind::Form { fields } if !fields.is_empty() => {
                let warning = "Don't enter passwords or keys: servers must not ask for them here.";
                lines.extend(prose(warning, Role::Muted, width));
            }
            ElicitationKind::Form { .. } => _ = lines.pop(),
        }
        lines.push(Line::default());
        lines
    }

    /// The lines below the selected field: its options, its explanation, and the problem.
    fn details(&self, field: &FormField, input: &FieldInput, width: usize) -> Vec<Line> {
        let mut lines = options(input, width);
        let deeper = |text: &str, role| {
            let indent = Indent::all(vec![Span::new(" ".repeat(MARK_WIDTH + 2), Role::Text)]);
            wrap(&[Span::new(text, role)], width.min(MAX_PROSE_WIDTH), &indent, BreakMode::Words)
        };
        if let Some(description) = field.description.as_deref().filter(|text| !text.trim().is_empty()) {
            lines.extend(deeper(&one_line(description), Role::Muted));
        }
        let hint = field.kind.hint();
        let optional = if field.required { "" } else { "optional" };
        let parts: Vec<&str> =
            [hint.as_str(), optional].into_iter().filter(|part| !part.is_empty()).collect();
        if !parts.is_empty() {
            lines.extend(deeper(&parts.join(" · "), Role::Muted));
        }
        if let Some(problem) = &self.problem {
            lines.extend(deeper(&format!("✗ {}", one_line(problem)), Role::Error));
        }
        lines
    }

    fn answer_text(&self, answer: FormAnswer, room: usize) -> String {
        let text = match (answer, &self.request.kind) {
            (FormAnswer::Accept, ElicitationKind::Url { host, .. }) => {
                // Shown beside the answer, because a long address scrolls away. The end of a host identifies
                // its owner.
                let (verb, place) = ("Open ", " in the browser");
                let host = truncate_start(&one_line(host), room.saturating_sub(verb.len() + place.len()));
                return format!("{verb}{host}{place}");
            }
            (FormAnswer::Accept, ElicitationKind::Form { fields }) if fields.is_empty() => "Accept",
            (FormAnswer::Accept, ElicitationKind::Form { .. }) => "Send the answer",
            (FormAnswer::Decline, _) => "Decline",
        };
        text.to_owned()
    }

    fn key_hint(&self, view: &ViewContext<'_>) -> String {
        let keys = [KeyCommand::Accept, KeyCommand::Up, KeyCommand::Down].map(|key| view.key_of(key));
        let [accept, up, down] = keys;
        let accepts = match (self.selected_answer(), self.inputs.get(self.selected)) {
            (Some(_), _) if self.inputs.is_empty() => format!("y n choose · {accept} answers"),
            (Some(_), _) => format!("{accept} answers"),
            (None, Some(FieldInput::One { .. })) => format!("left right choose · {accept} next field"),
            (None, Some(FieldInput::Some { .. })) => {
                format!("left right move · space chooses · {accept} next field")
            }
            (None, _) => format!("{accept} next field"),
        };
        format!("{accepts} · {up} {down} move")
    }
}

/// The area between title and key hint.
fn body(area: Rect) -> Rect {
    Rect { y: area.y + 1.min(area.height), height: area.height.saturating_sub(2), ..area }
}

/// Returns the label; a star marks a required field.
fn label(field: &FormField) -> String {
    format!("{}{}", one_line(field.label()), if field.required { " *" } else { "" })
}

fn mark(is_selected: bool) -> Span {
    Span::new(if is_selected { "  ▸ " } else { "    " }, Role::Accent)
}

fn style(is_selected: bool) -> Style {
    let style = Style::from(Role::Text);
    if is_selected { style.with(Emphasis::BOLD) } else { style }
}

/// Returns the value for the row of its field, and the cursor's column in it.
fn value_text(input: &FieldInput, room: usize) -> (Span, Option<usize>) {
    match input {
        FieldInput::Line(line) => {
            let span = Span::new(truncate_start(line.text(), room.saturating_sub(1)), Role::Code);
            let cursor = span.width();
            (span, Some(cursor))
        }
        FieldInput::One { labels, chosen } => match chosen {
            Some(at) => (Span::new(truncate_to(&one_line(&labels[*at]), room), Role::Code), None),
            None => (Span::new("–", Role::Muted), None),
        },
        FieldInput::Some { labels, chosen, .. } => {
            let names = labels.iter().zip(chosen).filter(|(_, chosen)| **chosen);
            let names: Vec<String> = names.map(|(label, _)| one_line(label)).collect();
            match names.is_empty() {
                true => (Span::new("–", Role::Muted), None),
                false => (Span::new(truncate_to(&names.join(", "), room), Role::Code), None),
            }
        }
    }
}

/// Returns the options of a choice; if there are many, those around the chosen one or the cursor.
fn options(input: &FieldInput, width: usize) -> Vec<Line> {
    /// Number of options listed at a time.
    const SHOWN: usize = 8;
    let (labels, at) = match input {
        FieldInput::Line(_) => return Vec::new(),
        FieldInput::One { labels, chosen } => (labels, chosen.unwrap_or(0)),
        FieldInput::Some { labels, cursor, .. } => (labels, *cursor),
    };
    let first = at.saturating_sub(SHOWN / 2).min(labels.len().saturating_sub(SHOWN));
    let line = |(index, label): (usize, &String)| {
        let sign = match input {
            FieldInput::Some { chosen, .. } if chosen[index] => "[x]",
            FieldInput::Some { .. } => "[ ]",
            FieldInput::One { chosen, .. } if *chosen == Some(index) => "(•)",
            FieldInput::One { .. } | FieldInput::Line(_) => "( )",
        };
        let is_at = matches!(input, FieldInput::Some { cursor, .. } if *cursor == index);
        let lead = if is_at { "    › " } else { "      " };
        let text = truncate_to(&format!("{sign} {}", one_line(label)), width.saturating_sub(MARK_WIDTH + 2));
        Line::from(vec![Span::new(lead, Role::Accent), Span::new(text, Role::Text)])
    };
    let mut lines: Vec<Line> = labels.iter().enumerate().skip(first).take(SHOWN).map(line).collect();
    if labels.len() > SHOWN {
        lines.push(Line::new(format!("      {} of {}", at + 1, labels.len()), Role::Muted));
    }
    lines
}

fn prose(text: &str, role: Role, width: usize) -> Vec<Line> {
    indented(&[Span::new(text, role)], width.min(MAX_PROSE_WIDTH), BreakMode::Words)
}

fn indented(spans: &[Span], width: usize, breaks: BreakMode) -> Vec<Line> {
    wrap(spans, width.saturating_sub(1), &Indent::all(vec![Span::new("  ", Role::Text)]), breaks)
}
