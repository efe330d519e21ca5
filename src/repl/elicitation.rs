//! The dialog for a server's question: first consent, then one field per line. Pure.

use serde_json::{Map, Value};

use crate::elicitation::{ElicitationAnswer, ElicitationKind, ElicitationRequest, FormField};

/// A server's question, and the answers so far.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ElicitationDialog {
    pub(super) request: ElicitationRequest,
    values: Map<String, Value>,
    /// The index of the field that the user is asked for; `None` until the user agrees to answer.
    field: Option<usize>,
}

/// The next step after a line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum DialogStep {
    /// Shows the next question after this note.
    Ask(Option<String>),
    Answer(ElicitationAnswer),
}

impl ElicitationDialog {
    pub(super) fn new(request: ElicitationRequest) -> Self {
        Self { request, values: Map::new(), field: None }
    }

    fn fields(&self) -> &[FormField] {
        match &self.request.kind {
            ElicitationKind::Form { fields } => fields,
            ElicitationKind::Url { .. } => &[],
        }
    }

    /// Returns true if the next line is the value of a field.
    pub(super) fn is_at_field(&self) -> bool {
        self.field.is_some()
    }

    /// Formats the current question.
    pub(super) fn text(&self) -> String {
        match self.field {
            Some(at) => field_text(&self.fields()[at], at + 1, self.fields().len()),
            None => self.consent_text(),
        }
    }

    fn consent_text(&self) -> String {
        // The bars distinguish the server's lines from tiller's.
        let message = self.request.message.trim().replace('\n', "\n  │ ");
        let intro = format!("question from {}\n  │ {message}\n", self.request.asker());
        let others = "n = decline; any other text = cancel";
        match &self.request.kind {
            ElicitationKind::Url { url, host } => {
                format!("{intro}  address: {url}\n  y = open it in the browser, at the host {host}; {others}")
            }
            ElicitationKind::Form { fields } if fields.is_empty() => format!("{intro}  y = accept; {others}"),
            ElicitationKind::Form { fields } => {
                let labels: Vec<&str> = fields.iter().map(FormField::label).collect();
                format!(
                    "{intro}  fields: {}\n  Don't enter passwords or keys: servers must not ask for them here.\n  \
                     y = answer; {others}",
                    labels.join(", ")
                )
            }
        }
    }

    /// Applies a line that the user typed.
    pub(super) fn answer(&mut self, line: &str) -> DialogStep {
        let Some(at) = self.field else { return self.consent(line) };
        let field = &self.fields()[at];
        let parsed = match (&field.default, line.trim()) {
            (Some(default), "") => Ok(Some(default.clone())),
            (_, typed) => field.parse(typed),
        };
        match parsed {
            Ok(value) => {
                let name = field.name.clone();
                self.values.extend(value.map(|value| (name, value)));
                self.ask_field(at + 1)
            }
            Err(problem) => DialogStep::Ask(Some(format!("invalid: {problem}"))),
        }
    }

    fn consent(&mut self, line: &str) -> DialogStep {
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" | "1" => self.ask_field(0),
            "n" | "no" => DialogStep::Answer(ElicitationAnswer::Decline),
            _ => DialogStep::Answer(ElicitationAnswer::Cancel),
        }
    }

    /// Asks for a field. After the last one, the answer is complete.
    fn ask_field(&mut self, at: usize) -> DialogStep {
        if at == self.fields().len() {
            return DialogStep::Answer(ElicitationAnswer::Accept(std::mem::take(&mut self.values)));
        }
        self.field = Some(at);
        DialogStep::Ask(None)
    }
}

fn field_text(field: &FormField, number: usize, total: usize) -> String {
    let mut text = format!("question: {} ({number} of {total})", field.label());
    let mut add = |line: &str| {
        text.push_str("\n  ");
        text.push_str(&line.trim().replace('\n', "\n  "));
    };
    if let Some(description) = &field.description {
        add(description);
    }
    for (at, option) in field.kind.options().iter().enumerate() {
        add(&format!("{} = {}", at + 1, option.title));
    }
    let mut notes = vec![field.kind.hint()];
    if matches!(field.kind, crate::elicitation::FieldKind::Choices { .. }) {
        notes.push("separated by commas".to_owned());
    }
    match (&field.default, field.required) {
        (Some(_), _) => notes.push(format!("empty = {}", field.default_text())),
        (None, false) => notes.push("empty = omit".to_owned()),
        (None, true) => {}
    }
    notes.retain(|note| !note.is_empty());
    if !notes.is_empty() {
        add(&notes.join("; "));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::elicitation::{ChoiceOption, FieldKind, Limits};

    fn dialog(kind: ElicitationKind) -> ElicitationDialog {
        let (message, server) = ("Who\nare you?".to_owned(), Some("shop".to_owned()));
        ElicitationDialog::new(ElicitationRequest {
            elicitation_id: "e1".into(),
            server,
            agent: None,
            message,
            kind,
        })
    }

    fn form() -> ElicitationDialog {
        let field = |name: &str, required, kind, default| FormField {
            name: name.into(),
            title: None,
            description: None,
            required,
            kind,
            default,
        };
        let option = |value: &str| ChoiceOption { value: value.into(), title: value.to_uppercase() };
        let count = Limits { minimum: None, maximum: Some(1) };
        dialog(ElicitationKind::Form {
            fields: vec![
                field("age", true, FieldKind::Integer(Limits { minimum: Some(0), maximum: None }), None),
                field(
                    "tags",
                    false,
                    FieldKind::Choices { options: vec![option("a"), option("b")], count },
                    None,
                ),
                field("news", true, FieldKind::Boolean, Some(json!(true))),
            ],
        })
    }

    #[test]
    fn dialog_asks_for_consent_then_for_each_field() {
        let mut dialog = form();
        assert_eq!(
            dialog.text(),
            "question from MCP server shop\n  │ Who\n  │ are you?\n  fields: age, tags, news\n  Don't enter passwords or keys: servers must not ask for them here.\n  y = answer; n = decline; any other text = cancel"
        );
        assert_eq!(dialog.answer("y"), DialogStep::Ask(None));
        assert_eq!(dialog.text(), "question: age (1 of 3)\n  a whole number, at least 0");
        assert_eq!(dialog.answer("-1"), DialogStep::Ask(Some("invalid: must be at least 0".into())));
        assert_eq!(dialog.answer("7"), DialogStep::Ask(None));
        assert_eq!(
            dialog.text(),
            "question: tags (2 of 3)\n  1 = A\n  2 = B\n  at most 1 option; separated by commas; empty = omit"
        );
        assert_eq!(dialog.answer(""), DialogStep::Ask(None));
        assert_eq!(dialog.text(), "question: news (3 of 3)\n  yes or no; empty = yes");
        let Value::Object(values) = json!({"age": 7, "news": true}) else { panic!("it is an object") };
        assert_eq!(dialog.answer(""), DialogStep::Answer(ElicitationAnswer::Accept(values)));
    }

    #[test]
    fn dialog_only_clear_answers_count() {
        let answered = |line: &str| form().answer(line);
        assert_eq!(answered(" No "), DialogStep::Answer(ElicitationAnswer::Decline));
        assert_eq!(answered("hm"), DialogStep::Answer(ElicitationAnswer::Cancel));
        assert_eq!(answered(""), DialogStep::Answer(ElicitationAnswer::Cancel));
        let mut page = dialog(ElicitationKind::Url { url: "https://x.org/in".into(), host: "x.org".into() });
        assert_eq!(
            page.text(),
            "question from MCP server shop\n  │ Who\n  │ are you?\n  address: https://x.org/in\n  y = open it in the browser, at the host x.org; n = decline; any other text = cancel"
        );
        assert_eq!(page.answer("y"), DialogStep::Answer(ElicitationAnswer::Accept(Map::new())));
    }
}
