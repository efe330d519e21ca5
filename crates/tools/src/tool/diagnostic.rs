//! Problems with the arguments of a call, for programs that read the log or the events.

use boon::{ErrorKind, ValidationError};
use serde::Serialize;
use serde_json::{Value, json};

use super::argument_schema::ArgumentSchema;

/// Maximum length of quoted arguments, in characters.
const MAX_QUOTED: usize = 200;

/// The kind of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DiagnosticKind {
    /// The tool doesn't exist.
    UnknownTool,
    /// The arguments aren't a JSON object.
    Malformed,
    /// A required argument is missing.
    Missing,
    /// An argument is unknown.
    Unexpected,
    /// A value has the wrong type.
    Type,
    /// A value has the right type, but isn't allowed.
    Value,
}

/// A problem with a call, in the form of `details.diagnostics`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArgumentDiagnostic {
    /// The kind.
    pub kind: DiagnosticKind,
    /// JSON pointer to the argument, even if it is missing; empty for the whole object.
    #[serde(rename = "where")]
    pub location: String,
    /// The expected type or values, or a description; `null` if there are none.
    pub expected: Value,
    /// The actual value; `null` if there is none.
    pub got: Value,
}

impl ArgumentDiagnostic {
    /// Returns the diagnostic for a call to a tool that doesn't exist.
    #[must_use]
    pub fn unknown_tool(name: &str, known: &[&str]) -> Self {
        Self {
            kind: DiagnosticKind::UnknownTool,
            location: String::new(),
            expected: json!(known),
            got: json!(name),
        }
    }

    /// Returns the diagnostic for arguments that aren't a JSON object. `raw` is their text.
    #[must_use]
    pub fn malformed(raw: &str) -> Self {
        Self {
            kind: DiagnosticKind::Malformed,
            location: String::new(),
            expected: json!("a JSON object"),
            got: json!(shorten(raw)),
        }
    }

    /// Lists the problems of arguments according to their schema. If there are none, `reason` is the problem.
    #[must_use]
    pub fn list(schema: &Value, arguments: &Value, reason: &str) -> Vec<Self> {
        let mut found = Vec::new();
        if let Ok(compiled) = ArgumentSchema::compile(schema) {
            let arguments = CheckedArguments { schema, arguments };
            compiled.inspect_error(arguments.arguments, |error| arguments.add(error, &mut found));
        }
        if found.is_empty() {
            let (location, expected) = split_reason(reason);
            let got = arguments.pointer(&location).filter(|_| !location.is_empty()).cloned();
            let (kind, expected) = (DiagnosticKind::Value, json!(expected));
            found.push(Self { kind, location, expected, got: got.unwrap_or_default() });
        }
        found
    }
}

/// Splits a sentence such as "argument `edits[1].old_text`: must not be empty" into the JSON pointer to the
/// argument and the expectation. The pointer is empty if the sentence names no argument; the expectation is the
/// sentence if it has no other part.
fn split_reason(reason: &str) -> (String, &str) {
    let named = reason.split_once("argument `").and_then(|(_, rest)| rest.split_once('`'));
    let Some((name, rest)) = named else { return (String::new(), reason) };
    let parts = name.split(['.', '[', ']']).filter(|part| !part.is_empty());
    (parts.map(|part| format!("/{part}")).collect(), rest.strip_prefix(": ").unwrap_or(reason))
}

/// Returns the reason for refusing arguments that aren't a JSON object. `raw` is their text.
#[must_use]
pub fn describe_malformed(raw: &str) -> String {
    let problem = match serde_json::from_str::<Value>(raw) {
        Ok(_) => "not a JSON object".to_owned(),
        Err(error) => format!("not valid JSON ({error})"),
    };
    format!("{problem}: `{}`", shorten(raw))
}

/// Returns the beginning of a text, with `…` if there is more.
fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Arguments with their schema.
struct CheckedArguments<'a> {
    schema: &'a Value,
    arguments: &'a Value,
}

impl CheckedArguments<'_> {
    /// Adds the innermost problems of an error; alternatives that don't match count as one problem.
    fn add(&self, error: &ValidationError, found: &mut Vec<ArgumentDiagnostic>) {
        let location = error.instance_location.to_string();
        let got = |location: &str| self.arguments.pointer(location).cloned().unwrap_or_default();
        let member = |name: &str| format!("{location}/{}", name.replace('~', "~0").replace('/', "~1"));
        let mut push = |kind, location: String, expected| {
            let got = got(&location);
            found.push(ArgumentDiagnostic { kind, location, expected, got });
        };
        match &error.kind {
            ErrorKind::Required { want } => want.iter().map(|name| member(name)).for_each(|location| {
                let expected = self.expected_type(&location);
                push(DiagnosticKind::Missing, location, expected);
            }),
            ErrorKind::AdditionalProperties { got } => got.iter().for_each(|name| {
                push(DiagnosticKind::Unexpected, member(name), Value::Null);
            }),
            ErrorKind::Type { want, .. } => {
                let names: Vec<String> = want.iter().map(|name| name.to_string()).collect();
                push(DiagnosticKind::Type, location.clone(), json!(names.join(" or ")));
            }
            ErrorKind::Enum { want } => push(DiagnosticKind::Value, location.clone(), json!(want)),
            ErrorKind::AnyOf | ErrorKind::OneOf(_) => {
                push(DiagnosticKind::Value, location.clone(), json!("one of the alternatives"));
            }
            _ if !error.causes.is_empty() => error.causes.iter().for_each(|cause| self.add(cause, found)),
            kind => push(DiagnosticKind::Value, location.clone(), json!(kind.to_string())),
        }
    }

    /// Returns the declared type of the value at a location; `null` if it isn't declared there.
    fn expected_type(&self, location: &str) -> Value {
        let declared = location.split('/').skip(1).fold(self.schema, |schema, part| {
            if part.parse::<usize>().is_ok() { &schema["items"] } else { &schema["properties"][part] }
        });
        declared["type"].clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_names_each_problem_with_its_place() {
        let schema = json!({
            "type": "object",
            "required": ["path", "limit"],
            "additionalProperties": false,
            "properties": {
                "path": {"type": "string"},
                "limit": {"type": "integer", "minimum": 1},
                "mode": {"enum": ["a", "b"]},
                "edits": {"type": "array", "items": {"type": "object", "required": ["old"]}},
            },
        });
        let list = |arguments: Value| json!(ArgumentDiagnostic::list(&schema, &arguments, "too long"));
        let all = list(json!({"path": 1, "mode": "c", "edits": [{}], "extra": 1}));
        let mut all: Vec<String> = all.as_array().unwrap().iter().map(ToString::to_string).collect();
        all.sort();
        assert_eq!(
            all,
            [
                r#"{"kind":"missing","where":"/edits/0/old","expected":null,"got":null}"#,
                r#"{"kind":"missing","where":"/limit","expected":"integer","got":null}"#,
                r#"{"kind":"type","where":"/path","expected":"string","got":1}"#,
                r#"{"kind":"unexpected","where":"/extra","expected":null,"got":1}"#,
                r#"{"kind":"value","where":"/mode","expected":["a","b"],"got":"c"}"#,
            ]
        );
        let value =
            json!([{"kind": "value", "where": "/limit", "expected": "must be >=1, but got 0", "got": 0}]);
        assert_eq!(list(json!({"path": "x", "limit": 0})), value);
        let other = json!([{"kind": "value", "where": "", "expected": "too long", "got": null}]);
        assert_eq!(list(json!({"path": "x", "limit": 1})), other);
    }

    #[test]
    fn describe_malformed_names_the_error_and_quotes_the_beginning() {
        let long = format!("[{}", "1,".repeat(MAX_QUOTED));
        let beginning = format!("{}…", &long[..MAX_QUOTED]);
        let cut_off = "not valid JSON (EOF while parsing an object at line 1 column 16)";
        let no_end = format!("not valid JSON (EOF while parsing a value at line 1 column {})", long.len());
        for (raw, problem, quoted) in [
            (r#"{"path": "f.txt""#, cut_off, r#"{"path": "f.txt""#),
            (
                r#"{"path":"f.txt"}}"#,
                "not valid JSON (trailing characters at line 1 column 17)",
                r#"{"path":"f.txt"}}"#,
            ),
            (
                "{'path': 'f.txt'}",
                "not valid JSON (key must be a string at line 1 column 2)",
                "{'path': 'f.txt'}",
            ),
            ("[1]", "not a JSON object", "[1]"),
            (&long, &no_end, &beginning),
        ] {
            assert_eq!(describe_malformed(raw), format!("{problem}: `{quoted}`"));
            let expected =
                json!({"kind": "malformed", "where": "", "expected": "a JSON object", "got": quoted});
            assert_eq!(json!(ArgumentDiagnostic::malformed(raw)), expected);
        }
    }

    #[test]
    fn list_takes_the_place_of_another_problem_from_its_sentence() {
        let schema = json!({"type": "object"});
        let arguments = json!({"edits": [{"old_text": ""}]});
        for (reason, location, expected, got) in [
            (
                "argument `edits[0].old_text`: must not be empty",
                "/edits/0/old_text",
                "must not be empty",
                json!(""),
            ),
            ("missing argument `path`", "/path", "missing argument `path`", Value::Null),
            ("too long: a: b", "", "too long: a: b", Value::Null),
        ] {
            let listed = json!(ArgumentDiagnostic::list(&schema, &arguments, reason));
            let expected = json!([{"kind": "value", "where": location, "expected": expected, "got": got}]);
            assert_eq!(listed, expected);
        }
    }
}
