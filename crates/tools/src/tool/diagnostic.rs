//! Problems with the arguments of a call, for programs that read the log or the events.

use boon::{ErrorKind, ValidationError};
use serde::Serialize;
use serde_json::{Value, json};

use super::argument_schema::ArgumentSchema;

/// The kind of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DiagnosticKind {
    /// The tool doesn't exist.
    UnknownTool,
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
    /// The position in the arguments as a JSON pointer; empty for the whole object.
    #[serde(rename = "where")]
    pub location: String,
    /// The expected names or values, or a description.
    pub expected: Value,
    /// The actual value; `null` if there is none.
    pub got: Value,
}

impl ArgumentDiagnostic {
    /// Returns the diagnostic for a call of a tool that doesn't exist.
    #[must_use]
    pub fn unknown_tool(name: &str, known: &[&str]) -> Self {
        Self {
            kind: DiagnosticKind::UnknownTool,
            location: String::new(),
            expected: json!(known),
            got: json!(name),
        }
    }

    /// Lists the problems of arguments according to their schema. If there are none, `reason` is the problem.
    #[must_use]
    pub fn list(schema: &Value, arguments: &Value, reason: &str) -> Vec<Self> {
        let mut found = Vec::new();
        if let Ok(schema) = ArgumentSchema::compile(schema) {
            schema.inspect_error(arguments, |error| add(error, arguments, &mut found));
        }
        if found.is_empty() {
            let (location, expected) = (String::new(), json!(reason));
            found.push(Self { kind: DiagnosticKind::Value, location, expected, got: Value::Null });
        }
        found
    }
}

/// Adds the innermost problems of an error; alternatives that don't match count as one problem.
fn add(error: &ValidationError, arguments: &Value, found: &mut Vec<ArgumentDiagnostic>) {
    let location = error.instance_location.to_string();
    let got = arguments.pointer(&location).cloned().unwrap_or_default();
    let mut push = |kind, expected, got| {
        found.push(ArgumentDiagnostic { kind, location: location.clone(), expected, got });
    };
    match &error.kind {
        ErrorKind::Required { want } => push(DiagnosticKind::Missing, json!(want), Value::Null),
        ErrorKind::AdditionalProperties { got } => {
            push(DiagnosticKind::Unexpected, Value::Null, json!(got));
        }
        ErrorKind::Type { want, .. } => {
            let names: Vec<String> = want.iter().map(|name| name.to_string()).collect();
            push(DiagnosticKind::Type, json!(names.join(" or ")), got);
        }
        ErrorKind::Enum { want } => push(DiagnosticKind::Value, json!(want), got),
        ErrorKind::AnyOf | ErrorKind::OneOf(_) => {
            push(DiagnosticKind::Value, json!("one of the alternatives"), got)
        }
        _ if !error.causes.is_empty() => error.causes.iter().for_each(|cause| add(cause, arguments, found)),
        kind => push(DiagnosticKind::Value, json!(kind.to_string()), got),
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
                r#"{"kind":"missing","where":"","expected":["limit"],"got":null}"#,
                r#"{"kind":"missing","where":"/edits/0","expected":["old"],"got":null}"#,
                r#"{"kind":"type","where":"/path","expected":"string","got":1}"#,
                r#"{"kind":"unexpected","where":"","expected":null,"got":["extra"]}"#,
                r#"{"kind":"value","where":"/mode","expected":["a","b"],"got":"c"}"#,
            ]
        );
        let value =
            json!([{"kind": "value", "where": "/limit", "expected": "must be >=1, but got 0", "got": 0}]);
        assert_eq!(list(json!({"path": "x", "limit": 0})), value);
        let other = json!([{"kind": "value", "where": "", "expected": "too long", "got": null}]);
        assert_eq!(list(json!({"path": "x", "limit": 1})), other);
    }
}
