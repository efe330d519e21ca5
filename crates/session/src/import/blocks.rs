//! Message blocks that all formats have: images, calls and command output.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tiller_core::ansi::StyledText;
use tiller_core::message::{ToolCall, UserBlock};

use super::foreign_tools::prints_command_output;
use super::source::LineSpan;
use super::warning::ImportWarnings;

/// Returns an image block, if its data is valid base64: providers reject requests with invalid data.
pub(super) fn image(
    mime_type: Option<&str>,
    data: Option<&str>,
    span: LineSpan,
    warnings: &mut ImportWarnings,
) -> Option<UserBlock> {
    let (Some(mime_type), Some(data)) = (mime_type, data) else {
        warnings.add(span.number, "skipped images that are not in the log");
        return None;
    };
    if !mime_type.starts_with("image/") || STANDARD.decode(data).is_err() {
        warnings.add(span.number, "skipped unreadable images");
        return None;
    }
    Some(UserBlock::Image { data: data.to_owned(), mime_type: mime_type.to_owned() })
}

/// Returns an image block for a `data:` URL.
pub(super) fn image_url(url: &str, span: LineSpan, warnings: &mut ImportWarnings) -> Option<UserBlock> {
    let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    image(inline.map(|(kind, _)| kind), inline.map(|(_, data)| data), span, warnings)
}

/// Returns a call with JSON arguments; a call without an id or a name is dropped, because it can't be sent.
pub(super) fn tool_call(
    id: Option<&str>,
    name: Option<&str>,
    arguments: Value,
    span: LineSpan,
    warnings: &mut ImportWarnings,
) -> Option<ToolCall> {
    let (id, name) = id.zip(name).filter(|(id, name)| !id.is_empty() && !name.is_empty()).or_else(|| {
        warnings.add(span.number, "skipped calls without a name or an id");
        None
    })?;
    Some(match arguments {
        Value::Object(_) => ToolCall {
            id: id.into(),
            name: name.to_owned(),
            arguments,
            raw_arguments: None,
            thought_signature: None,
        },
        Value::Null => ToolCall::from_streamed(id.into(), name.to_owned(), ""),
        Value::String(text) => ToolCall::from_streamed(id.into(), name.to_owned(), &text),
        other => ToolCall::from_streamed(id.into(), name.to_owned(), &other.to_string()),
    })
}

/// Converts command output to text as a terminal shows it; returns the styles of the last block as the
/// result's details. Results of other tools are unchanged.
pub(super) fn render_output(tool: &str, content: &mut [UserBlock]) -> Option<Value> {
    if !prints_command_output(tool) {
        return None;
    }
    let mut style_runs = Vec::new();
    for block in content {
        if let UserBlock::Text { text } = block {
            (*text, style_runs) = {
                let printed = StyledText::parse(text);
                (printed.text, printed.style_runs)
            };
        }
    }
    (!style_runs.is_empty()).then(|| json!({ "strokes": style_runs }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_invalid_data_is_dropped_with_warning() {
        let (mut warnings, span) = (ImportWarnings::default(), LineSpan::at(7));
        let image = image_url("data:image/png;base64,iVBORw0KGgo=", span, &mut warnings);
        let expected = UserBlock::Image { data: "iVBORw0KGgo=".into(), mime_type: "image/png".into() };
        assert_eq!(image, Some(expected));
        for url in ["data:image/png;base64,not base64!", "data:text/html;base64,iVBORw0KGgo="] {
            assert_eq!(image_url(url, span, &mut warnings), None);
        }
        assert_eq!(image_url("https://example.org/a.png", span, &mut warnings), None);
        let counts: Vec<_> =
            warnings.into_vec().into_iter().map(|warning| (warning.line, warning.count)).collect();
        assert_eq!(counts, [(7, 2), (7, 1)]);
    }

    #[test]
    fn render_output_applies_terminal_sequences() {
        let raw = "10%\r20%\n\u{1b}[31mred\u{1b}[0m\r\n";
        let text = |text: &str| UserBlock::Text { text: text.into() };
        for tool in ["Bash", "bash", "shell", "local_shell", "exec_command"] {
            let mut content = vec![text("a\rb"), text(raw)];
            let details = render_output(tool, &mut content);
            assert_eq!(content, [text("b"), text("20%\nred\n")]);
            assert_eq!(details, Some(json!({"strokes": [[4, 3, "31"]]})));
        }
        let mut content = vec![text(raw)];
        assert_eq!(render_output("Read", &mut content), None);
        assert_eq!(content, [text(raw)]);
        assert_eq!(render_output("Bash", &mut [text("plain")]), None);
    }

    #[test]
    fn tool_call_without_id_or_name_is_dropped() {
        let (mut warnings, span) = (ImportWarnings::default(), LineSpan::at(7));
        for (id, name) in [(None, Some("Bash")), (Some(""), Some("Bash")), (Some("t"), None)] {
            assert_eq!(tool_call(id, name, Value::Null, span, &mut warnings), None);
        }
        let call = tool_call(Some("t"), Some("Bash"), Value::String("no object".into()), span, &mut warnings);
        assert_eq!(call.and_then(|call| call.raw_arguments).as_deref(), Some("no object"));
        assert_eq!(warnings.into_vec()[0].count, 3);
    }
}
