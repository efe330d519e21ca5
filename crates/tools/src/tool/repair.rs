//! Repair of arguments that have the wrong type but a clear meaning: models write numbers, booleans and
//! objects as strings, whole numbers as `2.0`, and a list of one string as the string. Pure.

use serde_json::Value;

/// Maximum number of references and alternatives that are followed for one value, because a schema may refer
/// to itself.
const MAX_REF_STEPS: usize = 16;

/// Converts values where a tool's JSON Schema requires another type, and returns the repaired arguments;
/// `None` if there is nothing to repair. Follows references within the schema. For nested values, selects the
/// alternative of `anyOf` or `oneOf` that is the only one for the value's type.
#[must_use]
pub fn repair(schema: &Value, arguments: &Value) -> Option<Value> {
    let mut repaired = arguments.clone();
    Repairer { root: schema }.repair_value(schema, &mut repaired);
    (repaired != *arguments).then_some(repaired)
}

struct Repairer<'a> {
    /// The schema that references are relative to.
    root: &'a Value,
}

impl<'a> Repairer<'a> {
    fn repair_value(&self, schema: &'a Value, value: &mut Value) {
        let schemas = self.list_alternatives(schema, MAX_REF_STEPS);
        if let Some(parsed) = value.as_str().and_then(|text| parse(&schemas, text)) {
            *value = parsed;
        }
        if let Some(whole) = whole_number(&schemas, value) {
            *value = whole;
        }
        if let Value::String(text) = value
            && !schemas.iter().any(|schema| allows(schema, "string"))
            && schemas.iter().any(|schema| lists_strings(schema))
            && is_one_word(text)
        {
            *value = Value::Array(vec![std::mem::take(value)]);
        }
        let mut fitting = schemas.into_iter().filter(|schema| allows(schema, kind_of(value)));
        let (Some(schema), None) = (fitting.next(), fitting.next()) else { return };
        match value {
            Value::Object(entries) => {
                for (name, entry) in entries {
                    self.repair_value(&schema["properties"][name], entry);
                }
            }
            Value::Array(items) => {
                items.iter_mut().for_each(|item| self.repair_value(&schema["items"], item));
            }
            _ => {}
        }
    }

    /// Lists the schemas of which a value has to match one, with references resolved.
    fn list_alternatives(&self, schema: &'a Value, steps: usize) -> Vec<&'a Value> {
        let Some(steps) = steps.checked_sub(1) else { return vec![&Value::Null] };
        if let Some(reference) = schema["$ref"].as_str() {
            let target = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
            return self.list_alternatives(target.unwrap_or(&Value::Null), steps);
        }
        match ["anyOf", "oneOf"].iter().find_map(|name| schema[name].as_array()) {
            Some(branches) if schema.get("type").is_none() => {
                branches.iter().flat_map(|branch| self.list_alternatives(branch, steps)).collect()
            }
            Some(_) | None => vec![schema],
        }
    }
}

/// Parses a string if no alternative allows a string, and one allows the parsed value.
fn parse(schemas: &[&Value], text: &str) -> Option<Value> {
    if schemas.iter().any(|schema| allows(schema, "string")) {
        return None;
    }
    let parsed = match text.trim() {
        // Python's spelling.
        "True" => Value::Bool(true),
        "False" => Value::Bool(false),
        text => serde_json::from_str(text).ok()?,
    };
    let parsed = whole_number(schemas, &parsed).unwrap_or(parsed);
    let is_clear = !matches!(parsed, Value::Null | Value::String(_));
    (is_clear && schemas.iter().any(|schema| allows(schema, kind_of(&parsed)))).then_some(parsed)
}

/// Returns a number like `2.0` as a whole number, if no alternative allows fractions.
fn whole_number(schemas: &[&Value], value: &Value) -> Option<Value> {
    if schemas.iter().any(|schema| allows(schema, "number")) {
        return None;
    }
    let number = value.as_f64().filter(|number| number.fract() == 0.0 && value.is_f64())?;
    // Without `.0`; a number with an exponent can't be parsed.
    serde_json::from_str(&format!("{number:.0}")).ok().filter(Value::is_i64)
}

/// Returns true for a schema of lists whose items are strings.
fn lists_strings(schema: &Value) -> bool {
    schema["type"] == "array" && schema["items"]["type"] == "string"
}

/// Returns true for text that isn't a list of several words.
fn is_one_word(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || ",[]".contains(c))
}

/// Returns true if a schema allows values of a kind. A schema without types may allow any.
fn allows(schema: &Value, kind: &str) -> bool {
    let is_kind = |allowed: &Value| allowed == kind || (allowed == "number" && kind == "integer");
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(is_kind),
        Value::Null => true,
        allowed => is_kind(allowed),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::String(_) => "string",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
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
                "paths": {"type": "array", "items": {"type": "string"}},
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
            (json!({"limit": 2.0}), Some(json!({"limit": 2}))),
            (json!({"limit": "2.0"}), Some(json!({"limit": 2}))),
            (json!({"all": "False"}), Some(json!({"all": false}))),
            (json!({"all": "True"}), Some(json!({"all": true}))),
            (json!({"paths": "src/a.rs"}), Some(json!({"paths": ["src/a.rs"]}))),
            (json!({"paths": "[\"a\", \"b\"]"}), Some(json!({"paths": ["a", "b"]}))),
            (json!({"paths": "a b"}), None),
            (json!({"paths": "a,b"}), None),
            (json!({"edits": "a"}), None),
            (json!({"rate": 2.0, "text": "False"}), None),
            (json!({"limit": 1e30}), None),
            (json!({"limit": "2.5"}), None),
            (json!({"limit": "many"}), None),
            (json!({"limit": "null"}), None),
            (json!({"text": "20", "either": "20", "unknown": "20"}), None),
            (json!({"limit": 20}), None),
        ] {
            assert_eq!(repair(&schema, &arguments), expected, "{arguments}");
        }
    }

    #[test]
    fn repair_follows_references_and_alternatives() {
        let schema = json!({
            "type": "object",
            "$defs": {
                "Count": {"type": "integer"},
                "Node": {"type": "object", "properties": {
                    "size": {"$ref": "#/$defs/Count"},
                    "child": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
                }},
                "Loop": {"$ref": "#/$defs/Loop"},
            },
            "properties": {
                "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                "count": {"$ref": "#/$defs/Count"},
                "node": {"$ref": "#/$defs/Node"},
                "edits": {"oneOf": [{"type": "array", "items": {"$ref": "#/$defs/Node"}}, {"type": "boolean"}]},
                "numbers": {"anyOf": [{"type": "integer"}, {"type": "number"}]},
                "text": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
                "choice": {"anyOf": [{"type": "integer"}, {"enum": ["1", "2"]}]},
                "loop": {"$ref": "#/$defs/Loop"},
                "remote": {"$ref": "https://example.org/schema"},
            },
        });
        for (arguments, expected) in [
            (json!({"limit": "3"}), Some(json!({"limit": 3}))),
            (json!({"count": "3"}), Some(json!({"count": 3}))),
            (
                json!({"node": {"child": "{\"child\": {\"size\": \"2\"}}"}}),
                Some(json!({"node": {"child": {"child": {"size": 2}}}})),
            ),
            (json!({"edits": "[{\"size\": \"2\"}]"}), Some(json!({"edits": [{"size": 2}]}))),
            (json!({"edits": "true"}), Some(json!({"edits": true}))),
            (json!({"limit": "null"}), None),
            (json!({"limit": "2.5"}), None),
            (json!({"numbers": "3"}), Some(json!({"numbers": 3}))),
            (json!({"numbers": "2.5"}), Some(json!({"numbers": 2.5}))),
            (json!({"text": "3", "choice": "1", "loop": "1", "remote": "1"}), None),
        ] {
            assert_eq!(repair(&schema, &arguments), expected, "{arguments}");
        }
    }
}
