//! The fields of a requested form.

use rmcp::model::{
    ConstTitle, ElicitationSchema, EnumSchema, MultiSelectEnumSchema, PrimitiveSchemaDefinition,
    SingleSelectEnumSchema, StringFormat,
};
use serde_json::Value;
use tiller_core::elicitation::{ChoiceOption, FieldKind, FormField, Limits, TextFormat};

/// Maximum number of fields of a form, and of options of a field: more can't be answered by hand.
const MAX_FIELDS: usize = 50;
const MAX_OPTIONS: usize = 500;

/// Maximum length of a label, and of an explanation, in characters.
const MAX_LABEL: usize = 200;
const MAX_DESCRIPTION: usize = 1_000;

/// The description of a field, before its kind is known.
#[derive(Default)]
struct FieldDescription {
    title: Option<String>,
    description: Option<String>,
    default: Option<Value>,
}

/// Converts a schema to its fields, in the server's order.
///
/// # Errors
/// The reason the form can't be shown.
pub(super) fn fields(schema: ElicitationSchema) -> Result<Vec<FormField>, &'static str> {
    let required = schema.required.unwrap_or_default();
    let order = schema.property_order.unwrap_or_default();
    let mut properties = schema.properties;
    let mut ordered: Vec<(String, PrimitiveSchemaDefinition)> =
        order.into_iter().filter_map(|name| properties.remove_entry(&name)).collect();
    ordered.extend(properties);
    if ordered.len() > MAX_FIELDS {
        return Err("its form has too many fields");
    }
    let field = |(name, definition): (String, PrimitiveSchemaDefinition)| {
        let required = required.contains(&name);
        field(name, required, definition)
    };
    ordered.into_iter().map(field).collect()
}

fn field(
    name: String,
    required: bool,
    definition: PrimitiveSchemaDefinition,
) -> Result<FormField, &'static str> {
    let (kind, described) = kind(definition)?;
    if kind.options().len() > MAX_OPTIONS {
        return Err("its form has a field with too many options");
    }
    let FieldDescription { title, description, default } = described;
    Ok(FormField {
        name,
        title: title.map(|title| cut(&title, MAX_LABEL)),
        description: description.map(|text| cut(&text, MAX_DESCRIPTION)),
        required,
        // A suggestion that the server would not accept is none.
        default: default.filter(|value| kind.check(value).is_ok()),
        kind,
    })
}

fn kind(definition: PrimitiveSchemaDefinition) -> Result<(FieldKind, FieldDescription), &'static str> {
    macro_rules! described {
        ($schema:expr) => {
            FieldDescription {
                title: $schema.title.map(Into::into),
                description: $schema.description.map(Into::into),
                default: $schema.default.map(Value::from),
            }
        };
    }
    Ok(match definition {
        PrimitiveSchemaDefinition::String(schema) => {
            let length = Limits {
                minimum: schema.min_length.map(u64::from),
                maximum: schema.max_length.map(u64::from),
            };
            let format = schema.format.map(format).transpose()?;
            (FieldKind::Text { format, length }, described!(schema))
        }
        PrimitiveSchemaDefinition::Integer(schema) => {
            let limits = Limits { minimum: schema.minimum, maximum: schema.maximum };
            (FieldKind::Integer(limits), described!(schema))
        }
        PrimitiveSchemaDefinition::Number(schema) => {
            let limits = Limits { minimum: schema.minimum, maximum: schema.maximum };
            (FieldKind::Number(limits), described!(schema))
        }
        PrimitiveSchemaDefinition::Boolean(schema) => (FieldKind::Boolean, described!(schema)),
        PrimitiveSchemaDefinition::Enum(EnumSchema::Single(SingleSelectEnumSchema::Untitled(schema))) => {
            (FieldKind::Choice { options: untitled(schema.enum_) }, described!(schema))
        }
        PrimitiveSchemaDefinition::Enum(EnumSchema::Single(SingleSelectEnumSchema::Titled(schema))) => {
            (FieldKind::Choice { options: titled(schema.one_of) }, described!(schema))
        }
        PrimitiveSchemaDefinition::Enum(EnumSchema::Legacy(schema)) => {
            let options = with_names(schema.enum_, schema.enum_names.unwrap_or_default());
            (FieldKind::Choice { options }, described!(schema))
        }
        PrimitiveSchemaDefinition::Enum(EnumSchema::Multi(MultiSelectEnumSchema::Untitled(schema))) => {
            let count = Limits { minimum: schema.min_items, maximum: schema.max_items };
            (FieldKind::Choices { options: untitled(schema.items.enum_), count }, described!(schema))
        }
        PrimitiveSchemaDefinition::Enum(EnumSchema::Multi(MultiSelectEnumSchema::Titled(schema))) => {
            let count = Limits { minimum: schema.min_items, maximum: schema.max_items };
            (FieldKind::Choices { options: titled(schema.items.any_of), count }, described!(schema))
        }
        _ => return Err("its form has a field type that tiller doesn't support"),
    })
}

fn format(format: StringFormat) -> Result<TextFormat, &'static str> {
    match format {
        StringFormat::Email => Ok(TextFormat::Email),
        StringFormat::Uri => Ok(TextFormat::Uri),
        StringFormat::Date => Ok(TextFormat::Date),
        StringFormat::DateTime => Ok(TextFormat::DateTime),
        _ => Err("its form has a field format that tiller doesn't support"),
    }
}

fn untitled(values: Vec<String>) -> Vec<ChoiceOption> {
    with_names(values, Vec::new())
}

fn titled(options: Vec<ConstTitle>) -> Vec<ChoiceOption> {
    let option =
        |option: ConstTitle| ChoiceOption { value: option.const_, title: cut(&option.title, MAX_LABEL) };
    options.into_iter().map(option).collect()
}

/// Gives values their labels; one without a label is its own.
fn with_names(values: Vec<String>, names: Vec<String>) -> Vec<ChoiceOption> {
    let names = names.into_iter().map(Some).chain(std::iter::repeat(None));
    let option = |(value, name): (String, Option<String>)| {
        let title = cut(&name.unwrap_or_else(|| value.clone()), MAX_LABEL);
        ChoiceOption { value, title }
    };
    values.into_iter().zip(names).map(option).collect()
}

/// Cuts a string to a number of characters.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed(properties: &Value, required: &[&str]) -> Result<Vec<FormField>, &'static str> {
        let schema = json!({"type": "object", "properties": properties, "required": required});
        fields(serde_json::from_value(schema).unwrap())
    }

    fn option(value: &str, title: &str) -> ChoiceOption {
        ChoiceOption { value: value.into(), title: title.into() }
    }

    #[test]
    fn fields_are_in_the_servers_order() {
        let properties = json!({
            "zip": {"type": "string", "title": "Zip code", "minLength": 5, "maxLength": 5},
            "age": {"type": "integer", "minimum": 0, "default": 7, "description": "In years."},
            "mail": {"type": "string", "format": "email", "default": "nonsense"},
        });
        let found = parsed(&properties, &["zip"]).unwrap();
        let names: Vec<(&str, bool)> =
            found.iter().map(|field| (field.name.as_str(), field.required)).collect();
        assert_eq!(names, [("zip", true), ("age", false), ("mail", false)]);
        assert_eq!(found[0].label(), "Zip code");
        let length = Limits { minimum: Some(5), maximum: Some(5) };
        assert_eq!(found[0].kind, FieldKind::Text { format: None, length });
        assert_eq!(
            (&found[1].default, found[1].description.as_deref()),
            (&Some(json!(7)), Some("In years."))
        );
        assert_eq!(found[2].default, None, "an invalid suggestion is left out");
    }

    #[test]
    fn fields_choices_have_labels() {
        let properties = json!({
            "a": {"type": "string", "enum": ["x", "y"]},
            "b": {"type": "string", "oneOf": [{"const": "x", "title": "The x"}]},
            "c": {"type": "string", "enum": ["x", "y"], "enumNames": ["The x"]},
            "d": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}, "maxItems": 1, "default": ["y"]},
            "e": {"type": "array", "items": {"anyOf": [{"const": "x", "title": "The x"}]}},
        });
        let found = parsed(&properties, &[]).unwrap();
        let kinds: Vec<&FieldKind> = found.iter().map(|field| &field.kind).collect();
        let plain = vec![option("x", "x"), option("y", "y")];
        let count = Limits { minimum: None, maximum: Some(1) };
        let expected = [
            FieldKind::Choice { options: plain.clone() },
            FieldKind::Choice { options: vec![option("x", "The x")] },
            FieldKind::Choice { options: vec![option("x", "The x"), option("y", "y")] },
            FieldKind::Choices { options: plain, count },
            FieldKind::Choices { options: vec![option("x", "The x")], count: Limits::default() },
        ];
        assert_eq!(kinds, expected.iter().collect::<Vec<_>>());
        assert_eq!(found[3].default, Some(json!(["y"])));
    }

    #[test]
    fn fields_too_many_are_refused() {
        let many: serde_json::Map<String, Value> =
            (0..=MAX_FIELDS).map(|n| (n.to_string(), json!({"type": "boolean"}))).collect();
        assert_eq!(parsed(&many.into(), &[]), Err("its form has too many fields"));
    }
}
