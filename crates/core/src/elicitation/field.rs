//! Fields of a form: their labels, the accepted values, and the parsing of typed text.

use std::fmt::Display;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value, json};

use super::format::TextFormat;
use crate::counted::counted;

/// Units of limits, for one and for any other number.
const CHARACTERS: [&str; 2] = ["character", "characters"];
const OPTIONS: [&str; 2] = ["option", "options"];
const NO_UNIT: [&str; 2] = ["", ""];

/// A field of a form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FormField {
    /// The name in the answer.
    pub name: String,
    /// The label for display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The explanation for display.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// False if the field is optional.
    pub required: bool,
    /// The kind of value.
    #[serde(flatten)]
    pub kind: FieldKind,
    /// The value that the server suggests; valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

/// The kind of a field's value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum FieldKind {
    /// A line of text.
    Text {
        /// The required format, if any.
        #[serde(skip_serializing_if = "Option::is_none")]
        format: Option<TextFormat>,
        /// The limits of its length in characters.
        #[serde(flatten)]
        length: Limits<u64>,
    },
    /// A whole number.
    Integer(Limits<i64>),
    /// A number.
    Number(Limits<f64>),
    /// Yes or no.
    Boolean,
    /// One of several options.
    Choice {
        /// The options.
        options: Vec<ChoiceOption>,
    },
    /// Some of several options.
    Choices {
        /// The options.
        options: Vec<ChoiceOption>,
        /// The limits of the number of chosen options.
        #[serde(flatten)]
        count: Limits<u64>,
    },
}

/// Limits of a value, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits<T> {
    /// The lower limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<T>,
    /// The upper limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum: Option<T>,
}

impl<T> Default for Limits<T> {
    fn default() -> Self {
        Self { minimum: None, maximum: None }
    }
}

/// An option of a choice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChoiceOption {
    /// The value in the answer.
    pub value: String,
    /// The label for display.
    pub title: String,
}

impl FormField {
    /// Returns the label for display.
    #[must_use]
    pub fn label(&self) -> &str {
        self.title.as_deref().filter(|title| !title.trim().is_empty()).unwrap_or(&self.name)
    }

    /// Parses typed text; returns `None` for an omitted field.
    ///
    /// # Errors
    /// States in a sentence why the text is invalid.
    pub fn parse(&self, typed: &str) -> Result<Option<Value>, String> {
        let typed = typed.trim();
        if typed.is_empty() {
            return if self.required { Err("a value is required".to_owned()) } else { Ok(None) };
        }
        let value = self.kind.parse(typed)?;
        self.kind.check(&value)?;
        Ok(Some(value))
    }

    /// Returns the suggested value as a person would type it; empty if there is none.
    #[must_use]
    pub fn default_text(&self) -> String {
        match &self.default {
            None => String::new(),
            Some(Value::Bool(yes)) => if *yes { "yes" } else { "no" }.to_owned(),
            Some(Value::String(text)) => self.kind.title(text).to_owned(),
            Some(Value::Array(values)) => {
                let titles: Vec<&str> =
                    values.iter().filter_map(Value::as_str).map(|value| self.kind.title(value)).collect();
                titles.join(", ")
            }
            Some(other) => other.to_string(),
        }
    }
}

impl FieldKind {
    /// Returns the options of a choice.
    #[must_use]
    pub fn options(&self) -> &[ChoiceOption] {
        match self {
            Self::Choice { options } | Self::Choices { options, .. } => options,
            Self::Text { .. } | Self::Integer(_) | Self::Number(_) | Self::Boolean => &[],
        }
    }

    /// Checks a value.
    ///
    /// # Errors
    /// States in a sentence why the value is invalid.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        match self {
            Self::Text { format, length } => {
                let text = value.as_str().ok_or("not text")?;
                length.check(text.chars().count() as u64, CHARACTERS)?;
                format.map_or(Ok(()), |format| format.check(text))
            }
            Self::Integer(limits) => limits.check(value.as_i64().ok_or("not a whole number")?, NO_UNIT),
            Self::Number(limits) => limits.check(value.as_f64().ok_or("not a number")?, NO_UNIT),
            Self::Boolean => value.as_bool().map(drop).ok_or_else(|| "not yes or no".to_owned()),
            Self::Choice { options } => check_option(options, value),
            Self::Choices { options, count } => {
                let chosen = value.as_array().ok_or("not a list of options")?;
                chosen.iter().try_for_each(|value| check_option(options, value))?;
                if chosen.iter().enumerate().any(|(at, value)| chosen[..at].contains(value)) {
                    return Err("an option is chosen twice".to_owned());
                }
                count.check(chosen.len() as u64, OPTIONS)
            }
        }
    }

    /// Returns a short description of the accepted input; empty if all input is accepted.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Text { format, length } => {
                let format = format.map(|format| format.label().to_owned());
                let parts: Vec<String> = format.into_iter().chain(length.text(CHARACTERS)).collect();
                parts.join(", ")
            }
            Self::Integer(limits) => join_hint("a whole number", limits.text(NO_UNIT)),
            Self::Number(limits) => join_hint("a number", limits.text(NO_UNIT)),
            Self::Boolean => "yes or no".to_owned(),
            Self::Choice { .. } => "one option".to_owned(),
            Self::Choices { count, .. } => count.text(OPTIONS).unwrap_or_else(|| "any options".to_owned()),
        }
    }

    /// Returns the label of an option's value, or the value itself.
    fn title<'a>(&'a self, value: &'a str) -> &'a str {
        self.options().iter().find(|option| option.value == value).map_or(value, |option| &option.title)
    }

    fn parse(&self, typed: &str) -> Result<Value, String> {
        match self {
            Self::Text { .. } => Ok(typed.into()),
            Self::Integer(_) => {
                typed.parse::<i64>().map(Value::from).map_err(|_| "not a whole number".to_owned())
            }
            Self::Number(_) => {
                let number = typed.parse::<f64>().ok().and_then(Number::from_f64);
                number.map(Value::Number).ok_or_else(|| "not a number".to_owned())
            }
            Self::Boolean => match typed.to_lowercase().as_str() {
                "y" | "yes" | "true" => Ok(true.into()),
                "n" | "no" | "false" => Ok(false.into()),
                _ => Err("not yes or no".to_owned()),
            },
            Self::Choice { options } => find_option(options, typed).map(Value::from),
            Self::Choices { options, .. } => {
                let words = typed.split(',').map(str::trim).filter(|word| !word.is_empty());
                let values: Result<Vec<String>, String> =
                    words.map(|word| find_option(options, word)).collect();
                Ok(json!(values?))
            }
        }
    }
}

/// Finds an option by its value, its label or its number from 1, in this order.
fn find_option(options: &[ChoiceOption], typed: &str) -> Result<String, String> {
    let by_text = options
        .iter()
        .find(|option| option.value == typed)
        .or_else(|| options.iter().find(|option| option.title.eq_ignore_ascii_case(typed)));
    let numbered = || options.get(typed.parse::<usize>().ok()?.checked_sub(1)?);
    match by_text.or_else(numbered) {
        Some(option) => Ok(option.value.clone()),
        None => Err(format!("{typed} is not one of the options")),
    }
}

fn check_option(options: &[ChoiceOption], value: &Value) -> Result<(), String> {
    let is_option = options.iter().any(|option| value.as_str() == Some(&option.value));
    if is_option { Ok(()) } else { Err(format!("{value} is not one of the options")) }
}

fn join_hint(what: &str, limits: Option<String>) -> String {
    limits.map_or_else(|| what.to_owned(), |limits| format!("{what}, {limits}"))
}

impl<T: PartialOrd + Copy + Display + From<u8>> Limits<T> {
    fn check(&self, value: T, unit: [&str; 2]) -> Result<(), String> {
        let is_below = self.minimum.is_some_and(|minimum| value < minimum);
        let is_above = self.maximum.is_some_and(|maximum| value > maximum);
        match self.text(unit).filter(|_| is_below || is_above) {
            Some(limits) => Err(format!("must be {limits}")),
            None => Ok(()),
        }
    }

    fn text(&self, unit @ [one, many]: [&str; 2]) -> Option<String> {
        let with_unit = |limit: T| match unit {
            NO_UNIT => limit.to_string(),
            _ => counted(limit, one, many),
        };
        Some(match (self.minimum, self.maximum) {
            (None, None) => return None,
            (Some(minimum), None) => format!("at least {}", with_unit(minimum)),
            (None, Some(maximum)) => format!("at most {}", with_unit(maximum)),
            (Some(minimum), Some(maximum)) => format!("{minimum} to {}", with_unit(maximum)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elicitation::ElicitationKind;

    fn field(name: &str, required: bool, kind: FieldKind) -> FormField {
        FormField { name: name.into(), title: None, description: None, required, kind, default: None }
    }

    fn options(names: &[&str]) -> Vec<ChoiceOption> {
        names.iter().map(|name| ChoiceOption { value: (*name).into(), title: name.to_uppercase() }).collect()
    }

    fn limits<T>(minimum: T, maximum: T) -> Limits<T> {
        Limits { minimum: Some(minimum), maximum: Some(maximum) }
    }

    #[test]
    fn parse_text_checks_length_and_format() {
        let name = field("name", true, FieldKind::Text { format: None, length: limits(2, 3) });
        assert_eq!(name.parse(" Ada "), Ok(Some("Ada".into())));
        assert_eq!(name.parse("éàü"), Ok(Some("éàü".into())), "characters, not bytes");
        assert_eq!(name.parse("A"), Err("must be 2 to 3 characters".into()));
        assert_eq!(name.parse(" "), Err("a value is required".into()));
        let any = FieldKind::Text { format: None, length: Limits { minimum: Some(1), maximum: None } };
        assert_eq!(any.hint(), "at least 1 character");
        let mail = FieldKind::Text { format: Some(TextFormat::Email), length: Limits::default() };
        let mail = field("mail", false, mail);
        assert_eq!(mail.parse(""), Ok(None));
        assert_eq!(mail.parse("ada"), Err("not an e-mail address: name@example.org".into()));
    }

    #[test]
    fn parse_numbers_checks_limits() {
        let age = field("age", true, FieldKind::Integer(limits(0, 150)));
        assert_eq!(age.parse("36"), Ok(Some(36.into())));
        assert_eq!(age.parse("3.5"), Err("not a whole number".into()));
        assert_eq!(age.parse("151"), Err("must be 0 to 150".into()));
        let rate = field("rate", true, FieldKind::Number(Limits { minimum: Some(0.5), maximum: None }));
        assert_eq!(rate.parse("0.5"), Ok(Some(json!(0.5))));
        assert_eq!(rate.parse("0.4"), Err("must be at least 0.5".into()));
        assert_eq!(rate.parse("NaN"), Err("not a number".into()));
    }

    #[test]
    fn parse_choices_takes_values_labels_and_numbers() {
        let one = field("one", true, FieldKind::Choice { options: options(&["red", "blue"]) });
        let parsed = ["red", "BLUE", "2"].map(|typed| one.parse(typed).unwrap().unwrap());
        assert_eq!(parsed, ["red", "blue", "blue"]);
        assert_eq!(one.parse("3"), Err("3 is not one of the options".into()));
        assert_eq!(one.parse("0"), Err("0 is not one of the options".into()));
        let kind = FieldKind::Choices { options: options(&["a", "b", "c"]), count: limits(1, 2) };
        let some = field("some", true, kind);
        assert_eq!(some.parse("a, 3"), Ok(Some(json!(["a", "c"]))));
        assert_eq!(some.parse("a,a"), Err("an option is chosen twice".into()));
        assert_eq!(some.parse("a,b,c"), Err("must be 1 to 2 options".into()));
        let yes = field("yes", true, FieldKind::Boolean);
        assert_eq!([yes.parse("Y"), yes.parse("false")], [Ok(Some(true.into())), Ok(Some(false.into()))]);
    }

    #[test]
    fn check_names_the_invalid_field() {
        let kind = ElicitationKind::Form {
            fields: vec![
                field("age", true, FieldKind::Integer(limits(0, 9))),
                field("on", false, FieldKind::Boolean),
            ],
        };
        let check = |values: Value| kind.check(values.as_object().unwrap());
        assert_eq!(check(json!({"age": 3})), Ok(()));
        assert_eq!(check(json!({"on": true})), Err("age: a value is required".into()));
        assert_eq!(check(json!({"age": 10})), Err("age: must be 0 to 9".into()));
        assert_eq!(check(json!({"age": 3, "on": "yes"})), Err("on: not yes or no".into()));
        assert_eq!(check(json!({"age": 3, "x": 1})), Err("no field is named x".into()));
    }

    #[test]
    fn default_text_can_be_typed_again() {
        for (kind, default) in [
            (FieldKind::Boolean, json!(false)),
            (FieldKind::Choice { options: options(&["a", "b"]) }, json!("b")),
            (
                FieldKind::Choices { options: options(&["a", "b"]), count: Limits::default() },
                json!(["a", "b"]),
            ),
            (FieldKind::Integer(Limits::default()), json!(7)),
            (FieldKind::Text { format: None, length: Limits::default() }, json!("x y")),
        ] {
            let field = FormField { default: Some(default.clone()), ..field("f", true, kind) };
            assert_eq!(field.parse(&field.default_text()), Ok(Some(default)));
        }
    }
}
