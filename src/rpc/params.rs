//! Parameters of commands for which a derived parser isn't enough.

use crate::setting::{ApprovalMode, DeliveryMode};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;
use serde_json::Value;

use crate::message::Image;
use crate::session::SessionScope;

/// A string that isn't blank.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct NonBlank(pub(super) String);

impl TryFrom<String> for NonBlank {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text.trim().is_empty() { Err("must not be empty") } else { Ok(Self(text)) }
    }
}

/// The name of an approval mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct ApprovalModeParam(pub(super) ApprovalMode);

impl TryFrom<String> for ApprovalModeParam {
    type Error = String;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        let expected = || format!("expected one of {}", ApprovalMode::ALL.map(ApprovalMode::name).join(", "));
        ApprovalMode::parse(&name).map(Self).ok_or_else(expected)
    }
}

/// An image: `{"type": "image", "data": base64, "mimeType": …}`, or with a `source` that contains its data,
/// as in an earlier version of the protocol.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct ImageParam(pub(super) Image);

impl TryFrom<Value> for ImageParam {
    type Error = &'static str;

    /// Rejects images that no provider could read, because they would be sent with every request.
    fn try_from(value: Value) -> Result<Self, Self::Error> {
        let source = value.get("source").unwrap_or(&value);
        let text = |name: &str| source.get(name).and_then(Value::as_str);
        let data = text("data").filter(|data| BASE64.decode(data).is_ok());
        let mime_type = text("mimeType").or_else(|| text("mediaType"));
        match (data, mime_type.filter(|mime_type| mime_type.starts_with("image/"))) {
            (Some(data), Some(mime_type)) => {
                Ok(Self(Image { data: data.to_owned(), mime_type: mime_type.to_owned() }))
            }
            _ => Err("expected {\"type\": \"image\", \"data\": base64, \"mimeType\": \"image/…\"}"),
        }
    }
}

/// The number of waiting messages that are delivered at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ModeParam {
    OneAtATime,
    All,
}

impl From<ModeParam> for DeliveryMode {
    fn from(mode: ModeParam) -> Self {
        match mode {
            ModeParam::OneAtATime => Self::OneAtATime,
            ModeParam::All => Self::All,
        }
    }
}

/// The sessions to list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ScopeParam {
    #[default]
    Current,
    All,
}

impl From<ScopeParam> for SessionScope {
    fn from(scope: ScopeParam) -> Self {
        match scope {
            ScopeParam::Current => Self::ThisDirectory,
            ScopeParam::All => Self::Everywhere,
        }
    }
}

/// The summary of an abandoned branch: generated, none, or the text itself.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected true, false or the summary's text")]
pub(super) enum SummaryParam {
    Generate(bool),
    Text(String),
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn image_param_accepts_both_shapes() {
        let image = ImageParam(Image { data: "AA==".into(), mime_type: "image/png".into() });
        let flat = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
        let source = json!({"type": "base64", "mediaType": "image/png", "data": "AA=="});
        for value in [flat, json!({"type": "image", "source": source})] {
            assert_eq!(serde_json::from_value::<ImageParam>(value).unwrap(), image);
        }
    }

    #[test]
    fn image_param_without_base64_is_an_error() {
        let value = json!({"type": "image", "data": "%", "mimeType": "image/png"});
        let error = serde_json::from_value::<ImageParam>(value).unwrap_err().to_string();
        assert!(error.contains("mimeType"), "{error}");
    }
}
