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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_that_no_provider_would_take_is_left_out_and_noted() {
        let (mut notes, span) = (Notes::default(), Span::at(7));
        let good = image_url("data:image/png;base64,iVBORw0KGgo=", span, &mut notes);
        let expected = UserBlock::Image { data: "iVBORw0KGgo=".into(), mime_type: "image/png".into() };
        assert_eq!(good, Some(expected));
        for url in ["data:image/png;base64,not base64!", "data:text/html;base64,iVBORw0KGgo="] {
            assert_eq!(image_url(url, span, &mut notes), None);
        }
        assert_eq!(image_url("https://example.org/a.png", span, &mut notes), None);
        let told: Vec<_> = notes.into_vec().into_iter().map(|note| (note.line, note.count)).collect();
        assert_eq!(told, [(7, 2), (7, 1)]);
    }

    #[test]
    fn a_call_without_an_id_or_a_name_is_left_out() {
        let (mut notes, span) = (Notes::default(), Span::at(7));
        for (id, name) in [(None, Some("Bash")), (Some(""), Some("Bash")), (Some("t"), None)] {
            assert_eq!(call(id, name, Value::Null, span, &mut notes), None);
        }
        let kept = call(Some("t"), Some("Bash"), Value::String("no object".into()), span, &mut notes);
        assert_eq!(kept.and_then(|call| call.raw_arguments).as_deref(), Some("no object"));
        assert_eq!(notes.into_vec()[0].count, 3);
    }
}
