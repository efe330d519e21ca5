//! The JSON Schema of a tool's arguments, as declared by an extension or a server. Supports drafts 4 to
//! 2020-12; a schema without `$schema` is 2020-12.

use std::error::Error;

use boon::{CompileError, Compiler, ErrorKind, SchemaIndex, Schemas, UrlLoader, ValidationError};
use serde_json::Value;

/// Base URL of a declared schema. Nothing is ever loaded from it.
const BASE_URL: &str = "json-schema:///arguments";

/// Look-around syntax in regular expressions. The `regex` crate, which boon uses, doesn't support it.
const LOOK_AROUND: [&str; 4] = ["(?=", "(?!", "(?<=", "(?<!"];

/// A compiled schema.
pub struct ArgumentSchema {
    schemas: Schemas,
    root: SchemaIndex,
}

impl ArgumentSchema {
    /// Compiles a schema. A `pattern` with look-around isn't checked, because rejecting it would make the
    /// whole tool unusable: schema generators use such patterns, for example for email addresses.
    ///
    /// # Errors
    /// If the schema is invalid or refers to another document; a sentence.
    pub fn compile(schema: &Value) -> Result<Self, String> {
        let mut schema = schema.clone();
        remove_look_around(&mut schema);
        let mut compiler = Compiler::new();
        compiler.use_loader(Box::new(NoLoader));
        let mut schemas = Schemas::new();
        compiler.add_resource(BASE_URL, schema).map_err(|error| compile_error(&error))?;
        let compiled = compiler.compile(BASE_URL, &mut schemas).map_err(|error| compile_error(&error))?;
        Ok(Self { schemas, root: compiled })
    }

    /// Checks arguments.
    ///
    /// # Errors
    /// The first problem, with the argument that has it.
    pub fn check(&self, arguments: &Value) -> Result<(), String> {
        self.schemas.validate(arguments, self.root).map_err(|error| match locate(&error) {
            (location, problem) if location.is_empty() => problem,
            (location, problem) => format!("argument `{location}`: {problem}"),
        })
    }
}

impl ArgumentSchema {
    /// Calls `inspect` with the error if the schema doesn't allow the arguments.
    pub(super) fn inspect_error(&self, arguments: &Value, inspect: impl FnOnce(&ValidationError)) {
        if let Err(error) = self.schemas.validate(arguments, self.root) {
            inspect(&error);
        }
    }
}

/// Rejects every load: a schema must not read files or make requests. Boon's default loader reads files.
struct NoLoader;

impl UrlLoader for NoLoader {
    fn load(&self, _url: &str) -> Result<Value, Box<dyn Error>> {
        Err("references to other documents are not supported".into())
    }
}

fn remove_look_around(schema: &mut Value) {
    match schema {
        Value::Object(keywords) => {
            let has_look_around = |pattern: &str| LOOK_AROUND.iter().any(|start| pattern.contains(start));
            if keywords.get("pattern").and_then(Value::as_str).is_some_and(has_look_around) {
                keywords.remove("pattern");
            }
            keywords.values_mut().for_each(remove_look_around);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_look_around),
        _ => {}
    }
}

fn compile_error(error: &CompileError) -> String {
    match error {
        CompileError::ValidationError { src, .. } => {
            let (location, problem) = locate(src);
            format!("its schema is invalid at `/{location}`: {problem}")
        }
        // The alternate form includes the cause.
        _ => format!("{error:#}"),
    }
}

/// Returns the location of the first problem (names and indexes separated by slashes, empty for the whole
/// value), and the problem.
fn locate(error: &ValidationError) -> (String, String) {
    let is_wrapper = matches!(
        error.kind,
        ErrorKind::Group | ErrorKind::Schema { .. } | ErrorKind::Reference { .. } | ErrorKind::AllOf
    );
    if let (true, Some(first)) = (is_wrapper, error.causes.first()) {
        return locate(first);
    }
    let location = error.instance_location.to_string().trim_start_matches('/').to_owned();
    let problem = match &error.kind {
        ErrorKind::AnyOf | ErrorKind::OneOf(None) => {
            let alternatives: Vec<String> = error
                .causes
                .iter()
                .map(|cause| match locate(cause) {
                    (inner, problem) if inner == location => problem,
                    (inner, problem) => format!("`{inner}`: {problem}"),
                })
                .collect();
            format!("none of the alternatives matches: {}", alternatives.join("; "))
        }
        ErrorKind::Enum { want } => format!("expected one of {}", Value::from(want.to_vec())),
        ErrorKind::Const { want } => format!("expected {want}"),
        // Without the cause, which has several lines for a regular expression.
        ErrorKind::Format { got, want, .. } => format!("{got} is not a valid {want}"),
        ErrorKind::FalseSchema => "not allowed".to_owned(),
        ErrorKind::Not => "matches the schema under `not`".to_owned(),
        kind => kind.to_string(),
    };
    (location, problem)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(schema: &Value, arguments: &Value) -> String {
        ArgumentSchema::compile(schema).unwrap().check(arguments).err().unwrap_or_default()
    }

    #[test]
    fn check_names_the_argument_and_what_is_expected() {
        let schema = json!({
            "type": "object",
            "required": ["name", "count"],
            "additionalProperties": false,
            "properties": {
                "name": {"type": "string", "minLength": 2, "pattern": "^[a-z]+$"},
                "count": {"$ref": "#/$defs/count"},
                "mode": {"enum": ["fast", "slow", null]},
                "where": {"anyOf": [{"type": "object", "properties": {"line": {"type": "integer"}}}, {"type": "null"}]},
                "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
                "gone": false,
            },
            "$defs": {"count": {"type": "integer", "minimum": 1}},
        });
        let with = |rest: Value| {
            let mut arguments = json!({"name": "ada", "count": 1});
            arguments.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            check(&schema, &arguments)
        };
        assert_eq!(with(json!({"mode": null, "where": {"line": 3}, "tags": ["a"]})), "");
        assert_eq!(check(&schema, &json!({})), "missing properties 'name', 'count'");
        assert_eq!(with(json!({"nmae": 1})), "additionalProperties 'nmae' not allowed");
        assert_eq!(with(json!({"count": "1"})), "argument `count`: want integer, but got string");
        assert_eq!(with(json!({"count": 0})), "argument `count`: must be >=1, but got 0");
        assert_eq!(
            with(json!({"name": "A", "count": 0})),
            "argument `name`: length must be >=2, but got 1",
            "the first problem alone"
        );
        assert_eq!(with(json!({"name": "A1"})), "argument `name`: 'A1' does not match pattern '^[a-z]+$'");
        assert_eq!(with(json!({"mode": "fat"})), r#"argument `mode`: expected one of ["fast","slow",null]"#);
        assert_eq!(
            with(json!({"where": {"line": "x"}})),
            "argument `where`: none of the alternatives matches: \
             `where/line`: want integer, but got string; want null, but got object"
        );
        assert_eq!(with(json!({"tags": ["a", 2]})), "argument `tags/1`: want string, but got number");
        assert_eq!(with(json!({"gone": 1})), "argument `gone`: not allowed");
    }

    #[test]
    fn compile_follows_the_draft() {
        let schema = |draft: &str, limit: Value| {
            let n = json!({"minimum": 1, "exclusiveMinimum": limit});
            json!({"$schema": draft, "type": "object", "properties": {"n": n}})
        };
        let one = json!({"n": 1});
        let excluded = "argument `n`: must be > 1 but got 1";
        assert_eq!(check(&schema("http://json-schema.org/draft-04/schema#", json!(true)), &one), excluded);
        for draft in [
            "http://json-schema.org/draft-06/schema#",
            "http://json-schema.org/draft-07/schema#",
            "https://json-schema.org/draft/2019-09/schema",
            "https://json-schema.org/draft/2020-12/schema",
        ] {
            assert_eq!(check(&schema(draft, json!(1)), &one), excluded, "{draft}");
            assert!(ArgumentSchema::compile(&schema(draft, json!(true))).is_err(), "{draft}");
        }
        let tuple = json!({"type": "object", "properties": {"n": {"prefixItems": [{"type": "string"}]}}});
        assert_ne!(check(&tuple, &json!({"n": [1]})), "", "2020-12 without $schema");
    }

    #[test]
    fn compile_loads_no_other_document() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("schema.json");
        std::fs::write(&path, "{}").unwrap();
        let file = format!("file://{}", path.display());
        for url in [file.as_str(), "http://127.0.0.1:1/schema.json", "other.json"] {
            for key in ["$ref", "$schema"] {
                let schema = json!({"type": "object", key: url});
                let error = ArgumentSchema::compile(&schema).err().unwrap_or_default();
                assert!(!error.is_empty(), "{key} {url}");
            }
        }
        let error = ArgumentSchema::compile(&json!({"$ref": file})).err().unwrap_or_default();
        assert_eq!(error, format!("error loading {file}: references to other documents are not supported"));
    }

    #[test]
    fn compile_invalid_schema_says_why() {
        let error = |schema: Value| ArgumentSchema::compile(&schema).err().unwrap_or_default();
        let parameter_error =
            |parameter: Value| error(json!({"type": "object", "properties": {"n": parameter}}));
        assert_eq!(
            parameter_error(json!({"minimum": "1"})),
            "its schema is invalid at `/properties/n/minimum`: want number, but got string"
        );
        assert_eq!(
            parameter_error(json!({"pattern": "("})),
            r#"its schema is invalid at `/properties/n/pattern`: "(" is not a valid regex"#
        );
    }

    #[test]
    fn compile_leaves_out_patterns_with_look_around() {
        for draft in
            ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"]
        {
            let mail = json!({"type": "string", "pattern": "^(?!\\.)(?!.*\\.\\.)[a-z.]+@[a-z.]+$"});
            let schema = json!({"$schema": draft, "type": "object", "properties": {"mail": mail}});
            assert_eq!(check(&schema, &json!({"mail": "..@example.com"})), "");
            assert_ne!(check(&schema, &json!({"mail": 1})), "");
        }
    }
}
