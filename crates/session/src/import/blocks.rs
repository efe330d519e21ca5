//! Blocks of messages that every format has: images and calls.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tiller_core::ansi::StyledText;
use tiller_core::message::{ToolCall, UserBlock, runs_commands, runs_commands_elsewhere};

use super::source::Span;
use super::warning::ImportWarnings;

/// An image, if its data can be sent: providers refuse a request with one that is no base64.
pub(super) fn image(
    mime_type: Option<&str>,
    data: Option<&str>,
    span: Span,
    notes: &mut ImportWarnings,
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
pub(super) fn image_url(url: &str, span: Span, notes: &mut ImportWarnings) -> Option<UserBlock> {
    let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    image(inline.map(|(kind, _)| kind), inline.map(|(_, data)| data), span, notes)
}

/// A call whose arguments are JSON already; one without an id or a name can be neither sent nor answered.
pub(super) fn call(
    id: Option<&str>,
    name: Option<&str>,
    arguments: Value,
    span: Span,
    notes: &mut ImportWarnings,
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

/// Makes of what a command printed what tiller keeps of it: text as a terminal shows it, and as the result's details the colours of the
/// last. What another tool said stays as it is.
pub(super) fn printed(tool: &str, content: &mut [UserBlock]) -> Option<Value> {
    if !runs_commands(tool) && !runs_commands_elsewhere(tool) {
        return None;
    }
    let mut strokes = Vec::new();
    for block in content {
        if let UserBlock::Text { text } = block {
            (*text, strokes) = {
                let printed = StyledText::of(text);
                (printed.text, printed.strokes)
            };
        }
    }
    (!strokes.is_empty()).then(|| json!({ "strokes": strokes }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_that_no_provider_would_take_is_left_out_and_noted() {
        let (mut notes, span) = (ImportWarnings::default(), Span::at(7));
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
    fn what_a_command_printed_is_kept_as_a_terminal_shows_it() {
        let raw = "10%\r20%\n\u{1b}[31mred\u{1b}[0m\r\n";
        let text = |text: &str| UserBlock::Text { text: text.into() };
        for tool in ["Bash", "bash", "shell", "local_shell", "exec_command"] {
            let mut content = vec![text("a\rb"), text(raw)];
            let details = printed(tool, &mut content);
            assert_eq!(content, [text("b"), text("20%\nred\n")]);
            assert_eq!(details, Some(json!({"strokes": [[4, 3, "31"]]})));
        }
        let mut content = vec![text(raw)];
        assert_eq!(printed("Read", &mut content), None);
        assert_eq!(content, [text(raw)]);
        assert_eq!(printed("Bash", &mut [text("plain")]), None);
    }

    #[test]
    fn a_call_without_an_id_or_a_name_is_left_out() {
        let (mut notes, span) = (ImportWarnings::default(), Span::at(7));
        for (id, name) in [(None, Some("Bash")), (Some(""), Some("Bash")), (Some("t"), None)] {
            assert_eq!(call(id, name, Value::Null, span, &mut notes), None);
        }
        let kept = call(Some("t"), Some("Bash"), Value::String("no object".into()), span, &mut notes);
        assert_eq!(kept.and_then(|call| call.raw_arguments).as_deref(), Some("no object"));
        assert_eq!(notes.into_vec()[0].count, 3);
    }
}
