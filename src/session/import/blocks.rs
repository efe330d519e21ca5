//! Blocks of messages that every format has: images and calls.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::note::Notes;
use super::source::Span;
use crate::message::{ToolCall, UserBlock};

/// An image, if its data can be sent: providers refuse a request with one that is no base64.
pub(super) fn image(
    mime_type: Option<&str>,
    data: Option<&str>,
    span: Span,
    notes: &mut Notes,
) -> Option<UserBlock> {
    let (Some(mime_type), Some(data)) = (mime_type, data) else {
        notes.add(span.number, "images left out, not in the log");
        return None;
    };
    if !mime_type.starts_with("image/") || STANDARD.decode(data).is_err() {
        notes.add(span.number, "images left out, not readable");
        return None;
    }
    Some(UserBlock::Image { data: data.to_owned(), mime_type: mime_type.to_owned() })
}

/// An image in a `data:` URL.
pub(super) fn image_url(url: &str, span: Span, notes: &mut Notes) -> Option<UserBlock> {
    let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    image(inline.map(|(kind, _)| kind), inline.map(|(_, data)| data), span, notes)
}

/// A call whose arguments are JSON already; one without an id or a name can be neither sent nor answered.
pub(super) fn call(
    id: Option<&str>,
    name: Option<&str>,
    arguments: Value,
    span: Span,
    notes: &mut Notes,
) -> Option<ToolCall> {
    let (id, name) = id.zip(name).filter(|(id, name)| !id.is_empty() && !name.is_empty()).or_else(|| {
        notes.add(span.number, "calls left out, without a name or an id");
        None
    })?;
    Some(match arguments {
        Value::Object(_) => ToolCall { id: id.into(), name: name.to_owned(), arguments, raw_arguments: None },
        Value::Null => ToolCall::from_streamed(id.into(), name.to_owned(), ""),
        Value::String(text) => ToolCall::from_streamed(id.into(), name.to_owned(), &text),
        other => ToolCall::from_streamed(id.into(), name.to_owned(), &other.to_string()),
    })
}
