//! The form for a server's question: its fields one below the other, then the answers. It opens automatically
//! once the user isn't typing, and is guarded against keys pressed before that.

mod field_input;
#[cfg(test)]
mod tests;
mod view;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseEventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use serde_json::{Map, Value};
use tiller_core::elicitation::{ElicitationAnswer, ElicitationKind, ElicitationRequest, FormField};
use tiller_core::id::ElicitationId;
use tiller_core::unit::UnixMs;

use crate::action::{Action, BackgroundJob};
use crate::component::{Component, Context, Outcome, UiEvent, ViewContext};
use crate::effect::Effect;
use crate::keymap::table::{KeyCommand, KeyContext};
use crate::shown_since::ShownSince;
use field_input::FieldInput;

/// A server's question and the input so far.
#[derive(Clone, Debug)]
pub(crate) struct ElicitationForm {
    request: ElicitationRequest,
    /// The input of each field.
    inputs: Vec<FieldInput>,
    /// The selected row: a field, or after them an answer.
    selected: usize,
    /// The reason the selected field is invalid.
    problem: Option<String>,
    /// Number of rows that the page is scrolled, relative to the position where the selected row is visible.
    scrolled: isize,
    appeared: ShownSince,
    /// The time when the server stopped waiting for the answer.
    withdrawn: Option<ShownSince>,
}

/// An answer below the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FormAnswer {
    Accept,
    Decline,
}

impl ElicitationForm {
    pub(crate) fn new(request: ElicitationRequest, now: UnixMs) -> Self {
        let inputs: Vec<FieldInput> = fields(&request).iter().map(FieldInput::new).collect();
        let appeared = ShownSince::at(now);
        // Enter declines a question without fields, because the key may have been meant for something else.
        let selected = usize::from(inputs.is_empty());
        Self { request, inputs, selected, problem: None, scrolled: 0, appeared, withdrawn: None }
    }

    pub(crate) fn id(&self) -> &ElicitationId {
        &self.request.elicitation_id
    }

    /// Returns true if the form was visible long enough for a key to be meant for it.
    pub(crate) fn is_visible_long_enough(&self, now: UnixMs) -> bool {
        self.appeared.is_long_enough(now)
    }

    /// Marks the question as withdrawn, and keeps the form visible so that the user sees it.
    pub(crate) fn withdraw(&mut self, now: UnixMs) {
        self.withdrawn.get_or_insert(ShownSince::at(now));
        self.problem = None;
    }

    /// Handles a key after the withdrawal. Keys that were meant for the answer do nothing; they must not
    /// reach the part beneath.
    fn handle_withdrawn(&self, since: ShownSince, command: Option<KeyCommand>, cx: &mut Context<'_>) {
        match command {
            Some(KeyCommand::Back | KeyCommand::Close) => cx.push(Effect::CloseTop),
            Some(KeyCommand::Accept) if since.is_long_enough(cx.now) => cx.push(Effect::CloseTop),
            _ => {}
        }
    }

    fn fields(&self) -> &[FormField] {
        fields(&self.request)
    }

    /// The selected answer, if no field is selected.
    fn selected_answer(&self) -> Option<FormAnswer> {
        let answers = [FormAnswer::Accept, FormAnswer::Decline];
        answers.get(self.selected.checked_sub(self.inputs.len())?).copied()
    }

    fn select(&mut self, row: usize) {
        (self.selected, self.problem, self.scrolled) = (row, None, 0);
    }

    /// Moves the selection; it stops at the ends.
    fn step(&mut self, rows: isize) {
        let last = self.inputs.len() + 1;
        self.select(self.selected.saturating_add_signed(rows).min(last));
    }

    /// Handles a key that edits the selected field; returns true if it did.
    fn edit(&mut self, key: KeyEvent, command: Option<KeyCommand>) -> bool {
        let Some(input) = self.inputs.get_mut(self.selected) else { return false };
        let is_edited = input.edit(key, command);
        if is_edited {
            (self.problem, self.scrolled) = (None, 0);
        }
        is_edited
    }

    /// Handles Enter: leaves a valid field for the next row, or answers.
    fn accept_row(&mut self, cx: &mut Context<'_>) {
        match self.selected_answer() {
            Some(FormAnswer::Decline) => self.answer(ElicitationAnswer::Decline, cx),
            Some(FormAnswer::Accept) => match self.values() {
                Ok(values) => self.accept(values, cx),
                Err((row, problem)) => {
                    self.select(row);
                    self.problem = Some(problem);
                }
            },
            None => match self.inputs[self.selected].value(&self.fields()[self.selected]) {
                Ok(_) => self.step(1),
                Err(problem) => self.problem = Some(problem),
            },
        }
    }

    /// The values of all fields, or the row of the first invalid one with the reason.
    fn values(&self) -> Result<Map<String, Value>, (usize, String)> {
        let mut values = Map::new();
        for (row, (field, input)) in self.fields().iter().zip(&self.inputs).enumerate() {
            if let Some(value) = input.value(field).map_err(|problem| (row, problem))? {
                values.insert(field.name.clone(), value);
            }
        }
        Ok(values)
    }

    fn accept(&self, values: Map<String, Value>, cx: &mut Context<'_>) {
        if let ElicitationKind::Url { url, .. } = &self.request.kind {
            // Keeps the address readable if no browser opens here, such as on a remote machine.
            cx.note(format!("{}: {url}", self.request.asker()), None);
            cx.push(Action::Background(BackgroundJob::OpenPage(url.clone())));
        }
        self.answer(ElicitationAnswer::Accept(values), cx);
    }

    fn answer(&self, answer: ElicitationAnswer, cx: &mut Context<'_>) {
        cx.push(Effect::ElicitationAnswered(self.id().clone()));
        cx.push(Action::AnswerElicitation(self.id().clone(), answer));
    }
}

impl Component for ElicitationForm {
    fn handle(&mut self, event: &UiEvent<'_>, cx: &mut Context<'_>) -> Outcome {
        match *event {
            UiEvent::Key(key) => self.handle_key(key, cx),
            UiEvent::Paste(text) => self.paste(text),
            UiEvent::Mouse(event) => return self.turn_wheel(event.kind),
            UiEvent::Text(_) => return Outcome::Ignored,
        }
        Outcome::Consumed
    }

    fn render(&self, area: Rect, buffer: &mut Buffer, view: &ViewContext<'_>) {
        self.draw(area, buffer, view);
    }

    fn cursor(&self, area: Rect, _view: &ViewContext<'_>) -> Option<Position> {
        self.cursor_position(area).filter(|_| self.withdrawn.is_none())
    }
}

impl ElicitationForm {
    fn turn_wheel(&mut self, kind: MouseEventKind) -> Outcome {
        let rows = match kind {
            MouseEventKind::ScrollUp => -1,
            MouseEventKind::ScrollDown => 1,
            _ => return Outcome::Ignored,
        };
        if self.withdrawn.is_none() {
            self.step(rows);
        }
        Outcome::Consumed
    }

    fn handle_key(&mut self, key: KeyEvent, cx: &mut Context<'_>) {
        let command = cx.ui.keymap.command(KeyContext::Popup, key);
        if let Some(since) = self.withdrawn {
            return self.handle_withdrawn(since, command, cx);
        }
        let plain = (key.modifiers - KeyModifiers::SHIFT).is_empty();
        let page = isize::try_from(cx.ui.size.1 / 2).unwrap_or(1);
        match (command, key.code) {
            (Some(KeyCommand::Back | KeyCommand::Close), _) => self.answer(ElicitationAnswer::Cancel, cx),
            (Some(KeyCommand::Accept), _) => self.accept_row(cx),
            (_, KeyCode::BackTab) => self.step(-1),
            (_, KeyCode::Tab) if plain => self.step(1),
            (Some(KeyCommand::Up | KeyCommand::Down), _) if self.edit(key, command) => {}
            (Some(KeyCommand::Up), _) => self.step(-1),
            (Some(KeyCommand::Down), _) => self.step(1),
            (Some(KeyCommand::PopupPageUp), _) => self.scrolled -= page,
            (Some(KeyCommand::PopupPageDown), _) => self.scrolled += page,
            (_, KeyCode::Char('y')) if plain && self.inputs.is_empty() => self.select(0),
            (_, KeyCode::Char('n')) if plain && self.inputs.is_empty() => self.select(1),
            _ => _ = self.edit(key, command),
        }
    }

    fn paste(&mut self, text: &str) {
        if self.withdrawn.is_none()
            && let Some(input) = self.inputs.get_mut(self.selected)
        {
            input.paste(text);
            self.problem = None;
        }
    }
}

fn fields(request: &ElicitationRequest) -> &[FormField] {
    match &request.kind {
        ElicitationKind::Form { fields } => fields,
        ElicitationKind::Url { .. } => &[],
    }
}
