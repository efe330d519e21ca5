//! Repair of arguments whose meaning is clear although their type is wrong: models write numbers, switches and objects
//! as strings. Pure.

use serde_json::Value;

/// Returns the arguments with strings in the place of other values parsed, as a tool's JSON Schema demands; `None` if
/// there is nothing to repair.
#[must_use]
pub fn repair(schema: &Value, arguments: &Value) -> Option<Value> {
    let mut repaired = arguments.clone();
    repair_value(schema, &mut repaired);
    (repaired != *arguments).then_some(repaired)
}

fn repair_value(schema: &Value, value: &mut Value) {
    if let Some(parsed) = value.as_str().and_then(|text| parse(schema, text)) {
        *value = parsed;
    }
    match value {
        Value::Object(entries) => {
            for (name, entry) in entries {
                repair_value(&schema["properties"][name], entry);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| repair_value(&schema["items"], item)),
        _ => {}
    }
}

/// Parses a text where the schema allows no text.
fn parse(schema: &Value, text: &str) -> Option<Value> {
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    if kinds.contains(&"string") {
        return None;
    }
    let parsed: Value = serde_json::from_str(text.trim()).ok()?;
    let kind = match &parsed {
        Value::Null | Value::String(_) => return None,
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let is_allowed = kinds.contains(&kind) || kind == "integer" && kinds.contains(&"number");
    is_allowed.then_some(parsed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn repair_only_what_can_mean_one_thing() {
        let schema = json!({
            "type": "object",
            "properties": {
                "limit": {"type": "integer"},
                "rate": {"type": ["number", "null"]},
                "all": {"type": "boolean"},
                "text": {"type": "string"},
                "either": {"type": ["string", "integer"]},
                "edits": {"type": "array", "items": {"type": "object", "properties": {"count": {"type": "integer"}}}},
            },
        });
        for (arguments, expected) in [
            (json!({"limit": "20"}), Some(json!({"limit": 20}))),
            (json!({"rate": "3"}), Some(json!({"rate": 3}))),
            (json!({"all": " true "}), Some(json!({"all": true}))),
            (json!({"edits": "[{\"count\": \"2\"}]"}), Some(json!({"edits": [{"count": 2}]}))),
            (json!("{\"limit\": 3}"), Some(json!({"limit": 3}))),
            (json!({"limit": "2.5"}), None),
            (json!({"limit": "many"}), None),
            (json!({"limit": "null"}), None),
            (json!({"text": "20", "either": "20", "unknown": "20"}), None),
            (json!({"limit": 20}), None),
        ] {
            assert_eq!(repair(&schema, &arguments), expected, "{arguments}");
        }
    }
}
