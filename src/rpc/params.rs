//! The fields of a command, taken one by one; what is missing or wrong is named.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value};

use crate::message::Image;

/// The fields of one command.
#[derive(Debug)]
pub(super) struct Fields(Map<String, Value>);

/// Why a field can't be taken.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FieldError {
    #[error("the field `{0}` is missing")]
    Missing(&'static str),
    #[error("the field `{field}` must be {expected}")]
    Wrong { field: &'static str, expected: &'static str },
}

impl Fields {
    pub(super) fn new(fields: Map<String, Value>) -> Self {
        Self(fields)
    }

    /// A field as it is; `null` counts as left out.
    pub(super) fn take(&mut self, field: &'static str) -> Option<Value> {
        self.0.remove(field).filter(|value| !value.is_null())
    }

    pub(super) fn text(&mut self, field: &'static str) -> Result<String, FieldError> {
        self.maybe_text(field)?.ok_or(FieldError::Missing(field))
    }

    pub(super) fn maybe_text(&mut self, field: &'static str) -> Result<Option<String>, FieldError> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(FieldError::Wrong { field, expected: "a string" }),
        }
    }

    pub(super) fn switch(&mut self, field: &'static str) -> Result<bool, FieldError> {
        self.maybe_switch(field)?.ok_or(FieldError::Missing(field))
    }

    pub(super) fn maybe_switch(&mut self, field: &'static str) -> Result<Option<bool>, FieldError> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::Bool(switch)) => Ok(Some(switch)),
            Some(_) => Err(FieldError::Wrong { field, expected: "true or false" }),
        }
    }

    pub(super) fn maybe_count(&mut self, field: &'static str) -> Result<Option<usize>, FieldError> {
        let Some(value) = self.take(field) else { return Ok(None) };
        let count = value.as_u64().and_then(|count| usize::try_from(count).ok());
        count.map(Some).ok_or(FieldError::Wrong { field, expected: "a number from 0" })
    }

    /// One of a few words, read by `parse`; `expected` lists them.
    pub(super) fn word<T>(
        &mut self,
        field: &'static str,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, FieldError> {
        self.maybe_word(field, expected, parse)?.ok_or(FieldError::Missing(field))
    }

    pub(super) fn maybe_word<T>(
        &mut self,
        field: &'static str,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, FieldError> {
        let wrong = FieldError::Wrong { field, expected };
        match self.take(field) {
            None => Ok(None),
            Some(Value::String(word)) => parse(&word).map(Some).ok_or(wrong),
            Some(_) => Err(wrong),
        }
    }

    /// The images of `images`; none when it is left out.
    pub(super) fn images(&mut self) -> Result<Vec<Image>, FieldError> {
        Ok(self.maybe_images()?.unwrap_or_default())
    }

    pub(super) fn maybe_images(&mut self) -> Result<Option<Vec<Image>>, FieldError> {
        let wrong = FieldError::Wrong {
            field: "images",
            expected: "a list of {\"type\": \"image\", \"data\": base64, \"mimeType\": …}",
        };
        let Some(value) = self.take("images") else { return Ok(None) };
        let Value::Array(images) = value else { return Err(wrong) };
        let images: Option<Vec<Image>> = images.into_iter().map(image).collect();
        images.map(Some).ok_or(wrong)
    }
}

/// An image as the protocol has it, or with a `source` around its data, as it had it once. One that no provider could read
/// isn't taken: it would be sent again with every request.
fn image(value: Value) -> Option<Image> {
    let source = value.get("source").unwrap_or(&value);
    let data = source.get("data")?.as_str()?;
    let mime_type = source.get("mimeType").or(source.get("mediaType"))?.as_str()?;
    let is_image = mime_type.starts_with("image/") && BASE64.decode(data).is_ok();
    is_image.then(|| Image { data: data.to_owned(), mime_type: mime_type.to_owned() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(value: Value) -> Fields {
        let Value::Object(fields) = value else { panic!("{value}") };
        Fields::new(fields)
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let mut given = fields(json!({"a": 1, "b": null, "c": "x", "images": [{"data": 1}]}));
        assert_eq!(given.maybe_text("b"), Ok(None));
        assert_eq!(given.text("b"), Err(FieldError::Missing("b")));
        assert_eq!(given.switch("c"), Err(FieldError::Wrong { field: "c", expected: "true or false" }));
        let error = given.text("a").unwrap_err();
        assert_eq!(error.to_string(), "the field `a` must be a string");
        let error = given.images().unwrap_err().to_string();
        assert!(error.contains("`images`") && error.contains("mimeType"), "{error}");
    }

    #[test]
    fn images_come_in_both_shapes() {
        let image = Image { data: "AA==".into(), mime_type: "image/png".into() };
        let flat = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
        let source = json!({"type": "base64", "mediaType": "image/png", "data": "AA=="});
        let mut given = fields(json!({"images": [flat, {"type": "image", "source": source}]}));
        assert_eq!(given.images(), Ok(vec![image.clone(), image]));
    }
}
