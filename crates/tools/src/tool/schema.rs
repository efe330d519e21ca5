//! JSON Schemas for models, derived from argument structs.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Returns the schema of `T` without keywords that a model doesn't need or a provider may reject. An optional
/// argument isn't required, rather than nullable.
pub(super) fn for_type<T: JsonSchema>() -> Value {
    let mut schema = schemars::schema_for!(T).to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("$schema");
        object.remove("title");
        object.remove("description");
        simplify_properties(object);
    }
    schema
}

fn simplify_properties(object: &mut Map<String, Value>) {
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.values_mut().filter_map(Value::as_object_mut).for_each(simplify);
    }
}

fn simplify(property: &mut Map<String, Value>) {
    if let Some(Value::Object(items)) = property.get_mut("items") {
        items.remove("description");
        simplify_properties(items);
    }
    property.remove("format");
    property.remove("default");
    let kinds = property.get("type").and_then(Value::as_array).cloned().unwrap_or_default();
    if let Some(kind) = kinds.into_iter().find(|kind| kind != "null") {
        property.insert("type".into(), kind);
    }
}

/// Parses arguments.
///
/// # Errors
/// A sentence that names the argument.
pub(super) fn parse<T: DeserializeOwned>(arguments: &Value) -> Result<T, String> {
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let path = error.path().to_string();
        let message = name_json_types(&error.inner().to_string().replace("field", "argument"));
        // serde names the argument itself.
        if path == "." || message.starts_with(&format!("unknown argument `{path}`")) {
            message
        } else {
            format!("argument `{path}`: {message}")
        }
    })
}

/// Replaces the Rust type that serde expects with the JSON type.
fn name_json_types(message: &str) -> String {
    let Some((found, expected)) = message.split_once(", expected ") else { return message.to_owned() };
    let plain = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, at least 0",
        "a nonzero u64" | "a nonzero usize" => "a whole number, at least 1",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a sequence" => "a list",
        "a map" => "an object",
        other if other.starts_with("struct ") => "an object",
        other => other,
    };
    let found = found
        .replace("floating point `", "number `")
        .replace(": sequence", ": list")
        .replace(": map", ": object");
    format!("{found}, expected {plain}")
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    /// Not for the model.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Arguments {
        /// Place.
        path: String,
        /// Maximum.
        #[serde(default)]
        #[schemars(range(min = 1))]
        limit: Option<usize>,
        /// Switch.
        #[serde(default)]
        all: bool,
    }

    #[test]
    fn schema_has_only_what_a_model_needs() {
        assert_eq!(
            for_type::<Arguments>(),
            json!({
                "type": "object",
                "properties": {
                    "path": {"description": "Place.", "type": "string"},
                    "limit": {"description": "Maximum.", "type": "integer", "minimum": 1},
                    "all": {"description": "Switch.", "type": "boolean"},
                },
                "additionalProperties": false,
                "required": ["path"],
            })
        );
    }

    #[test]
    fn parse_wrong_argument_is_named() {
        let error = |arguments| parse::<Arguments>(&arguments).unwrap_err();
        assert_eq!(error(json!({})), "missing argument `path`");
        assert_eq!(
            error(json!({"path": 3})),
            "argument `path`: invalid type: integer `3`, expected a string"
        );
        for (limit, found) in [(json!(-1), "value: integer `-1`"), (json!("x"), "type: string \"x\"")] {
            let expected = format!("argument `limit`: invalid {found}, expected a whole number, at least 0");
            assert_eq!(error(json!({"path": "x", "limit": limit})), expected);
        }
        assert_eq!(error(json!("x")), "invalid type: string \"x\", expected an object");
        assert!(
            error(json!({"path": "x", "colour": 1}))
                .starts_with("unknown argument `colour`, expected one of")
        );
        let arguments: Arguments = parse(&json!({"path": "x", "limit": null})).unwrap();
        assert_eq!((arguments.path.as_str(), arguments.limit, arguments.all), ("x", None, false));
    }
}
