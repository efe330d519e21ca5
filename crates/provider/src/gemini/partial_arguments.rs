//! Call arguments that arrive in pieces: values with their JSON paths
//! (docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling,
//! `streamFunctionCallArguments`).
//!
//! tiller doesn't request them, but a gateway in between may.

use serde::Deserialize;
use serde_json::{Map, Number, Value};

use crate::http::Damage;

const INVALID_PATH: Damage = Damage::Order("a piece of arguments has an invalid path");

/// Maximum depth of the arguments, as for complete JSON.
const MAX_DEPTH: usize = 127;

/// A value, or a piece of a string.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PartialArgument {
    json_path: String,
    string_value: Option<String>,
    number_value: Option<Number>,
    bool_value: Option<bool>,
}

/// The arguments so far.
#[derive(Default)]
pub(super) struct PartialArguments(Value);

impl PartialArguments {
    /// Sets the value at the piece's path, or appends to the string there.
    pub(super) fn add(&mut self, piece: PartialArgument) -> Result<(), Damage> {
        let place = value_at_path(&mut self.0, &piece.json_path)?;
        match (piece.string_value, place) {
            (Some(text), Value::String(so_far)) => so_far.push_str(&text),
            (Some(text), place) => *place = Value::String(text),
            (None, place) => {
                let number = piece.number_value.map(Value::Number);
                *place = number.or(piece.bool_value.map(Value::Bool)).unwrap_or_default();
            }
        }
        Ok(())
    }

    /// Returns the arguments as JSON; `None` if there are none.
    pub(super) fn json(&self) -> Option<String> {
        (!self.0.is_null()).then(|| self.0.to_string())
    }
}

/// Returns the value at a path such as `$.files[0].name`; missing values are added. List elements arrive in
/// order.
fn value_at_path<'a>(root: &'a mut Value, path: &str) -> Result<&'a mut Value, Damage> {
    let mut rest = path.strip_prefix('$').ok_or(INVALID_PATH)?;
    let mut value = root;
    for _ in 0..MAX_DEPTH {
        let (step, after) = match rest.chars().next() {
            None => return Ok(value),
            Some('.') => {
                let name = &rest[1..];
                name.split_at(name.find(['.', '[']).unwrap_or(name.len()))
            }
            Some('[') => rest[1..].split_once(']').ok_or(INVALID_PATH)?,
            Some(_) => return Err(INVALID_PATH),
        };
        value = if rest.starts_with('.') {
            member(value, step)?
        } else {
            match step.strip_prefix(['\'', '"']) {
                Some(name) => member(value, name.strip_suffix(['\'', '"']).ok_or(INVALID_PATH)?)?,
                None => element(value, step.parse().map_err(|_| INVALID_PATH)?)?,
            }
        };
        rest = after;
    }
    Err(INVALID_PATH)
}

fn member<'a>(value: &'a mut Value, name: &str) -> Result<&'a mut Value, Damage> {
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(members) if !name.is_empty() => Ok(members.entry(name).or_insert(Value::Null)),
        _ => Err(INVALID_PATH),
    }
}

fn element(value: &mut Value, index: usize) -> Result<&mut Value, Damage> {
    if value.is_null() {
        *value = Value::Array(Vec::new());
    }
    let elements = value.as_array_mut().ok_or(INVALID_PATH)?;
    if index == elements.len() {
        elements.push(Value::Null);
    }
    elements.get_mut(index).ok_or(INVALID_PATH)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn add(arguments: &mut PartialArguments, piece: Value) -> Result<(), Damage> {
        arguments.add(serde_json::from_value(piece).unwrap())
    }

    #[test]
    fn pieces_of_every_kind_are_put_together() {
        let mut arguments = PartialArguments::default();
        assert_eq!(arguments.json(), None);
        let pieces = [
            json!({"jsonPath": "$.files[0].name", "stringValue": "a", "willContinue": true}),
            json!({"jsonPath": "$.files[0].name", "stringValue": ".rs"}),
            json!({"jsonPath": "$.files[1].line", "numberValue": 0.5}),
            json!({"jsonPath": "$['all of it']", "boolValue": true}),
            json!({"jsonPath": "$[\"depth\"]", "nullValue": null}),
        ];
        for piece in pieces {
            add(&mut arguments, piece).unwrap();
        }
        let expected = json!({"files": [{"name": "a.rs"}, {"line": 0.5}], "all of it": true, "depth": null});
        assert_eq!(serde_json::from_str::<Value>(&arguments.json().unwrap()).unwrap(), expected);
    }

    #[test]
    fn pieces_with_invalid_paths_are_damage() {
        let deep = format!("${}", ".a".repeat(MAX_DEPTH + 1));
        for path in ["", "a", "$a", "$.", "$.a[", "$.a[x]", "$.a[1]", "$.a[-1]", "$['a]", "$.s.b", &deep] {
            let mut arguments = PartialArguments(json!({"s": "text"}));
            assert!(add(&mut arguments, json!({"jsonPath": path, "numberValue": 1})).is_err(), "{path}");
        }
    }
}
