//! The input of a field: a line of text, or a choice of options.

use crossterm::event::{KeyCode, KeyEvent};
use serde_json::{Value, json};
use tiller_core::elicitation::{FieldKind, FormField};

use crate::keymap::table::KeyCommand;
use crate::line_input::LineInput;

#[derive(Clone, Debug)]
pub(super) enum FieldInput {
    /// Text and numbers.
    Line(LineInput),
    /// One of several options, including yes and no.
    One { labels: Vec<String>, chosen: Option<usize> },
    /// Any number of options; the cursor is on one of them.
    Some { labels: Vec<String>, chosen: Vec<bool>, cursor: usize },
}

impl FieldInput {
    /// Creates the input with the suggested value.
    pub(super) fn new(field: &FormField) -> Self {
        let labels: Vec<String> = field.kind.options().iter().map(|option| option.title.clone()).collect();
        let is_default = |value: &str| match &field.default {
            Some(Value::Array(values)) => values.iter().any(|chosen| chosen == value),
            Some(chosen) => chosen == value,
            None => false,
        };
        let chosen: Vec<bool> = field.kind.options().iter().map(|option| is_default(&option.value)).collect();
        match &field.kind {
            FieldKind::Text { .. } | FieldKind::Integer(_) | FieldKind::Number(_) => {
                Self::Line(LineInput::from(field.default_text().as_str()))
            }
            FieldKind::Boolean => {
                let chosen = field.default.as_ref().and_then(Value::as_bool).map(|yes| usize::from(!yes));
                Self::One { labels: vec!["yes".to_owned(), "no".to_owned()], chosen }
            }
            FieldKind::Choice { .. } => {
                Self::One { chosen: chosen.iter().position(|is_chosen| *is_chosen), labels }
            }
            FieldKind::Choices { .. } => Self::Some { labels, chosen, cursor: 0 },
        }
    }

    /// Returns the value; `None` for an omitted field.
    pub(super) fn value(&self, field: &FormField) -> Result<Option<Value>, String> {
        let value = match self {
            Self::Line(line) => return field.parse(line.text()),
            Self::One { chosen: None, .. } => None,
            Self::One { chosen: Some(at), .. } if field.kind == FieldKind::Boolean => Some(json!(*at == 0)),
            Self::One { chosen: Some(at), .. } => Some(json!(field.kind.options()[*at].value)),
            Self::Some { chosen, .. } => {
                let options = field.kind.options().iter().zip(chosen);
                let values: Vec<&str> =
                    options.filter(|(_, chosen)| **chosen).map(|(option, _)| option.value.as_str()).collect();
                (field.required || !values.is_empty()).then(|| json!(values))
            }
        };
        match &value {
            Some(value) => field.kind.check(value)?,
            None if field.required => return Err("a choice is required".to_owned()),
            None => {}
        }
        Ok(value)
    }

    /// Handles a key; returns whether it had an effect.
    pub(super) fn edit(&mut self, key: KeyEvent, command: Option<KeyCommand>) -> bool {
        match self {
            Self::Line(line) => line.edit(key, command),
            Self::One { labels, chosen } => choose_one(chosen, labels.len(), key),
            Self::Some { chosen, cursor, .. } => choose_some(chosen, cursor, key),
        }
    }

    pub(super) fn paste(&mut self, text: &str) {
        if let Self::Line(line) = self {
            line.push(text);
        }
    }
}

/// Handles a key of a single choice: Left and Right choose the previous or next option; Space chooses the
/// next one and wraps around; Backspace clears the choice.
fn choose_one(chosen: &mut Option<usize>, options: usize, key: KeyEvent) -> bool {
    let last = options.saturating_sub(1);
    *chosen = match (key.code, *chosen) {
        (KeyCode::Right | KeyCode::Char(' '), None) | (KeyCode::Left, Some(0)) => Some(0),
        (KeyCode::Left, None) => Some(last),
        (KeyCode::Left, Some(at)) => Some(at - 1),
        (KeyCode::Right, Some(at)) => Some((at + 1).min(last)),
        (KeyCode::Char(' '), Some(at)) => Some(if at == last { 0 } else { at + 1 }),
        (KeyCode::Backspace, _) => None,
        _ => return false,
    };
    true
}

/// Handles a key of a multiple choice: Left and Right move between the options; Space toggles one.
fn choose_some(chosen: &mut [bool], cursor: &mut usize, key: KeyEvent) -> bool {
    match key.code {
        KeyCode::Left => *cursor = cursor.saturating_sub(1),
        KeyCode::Right => *cursor = (*cursor + 1).min(chosen.len().saturating_sub(1)),
        KeyCode::Char(' ') => chosen.iter_mut().skip(*cursor).take(1).for_each(|chosen| *chosen = !*chosen),
        _ => return false,
    }
    true
}
