//! Results of MCP tools as [`ToolOutput`]: text, images and structured content.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::json;
use tiller_core::message::UserBlock;
use tiller_tools::tool::ToolOutput;

/// Image types that every provider accepts.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Maximum length of an image's base64. Anthropic accepts 5 MiB per image (API docs, Vision, November 2026), others
/// more. A larger one would fail every later request of the session.
const MAX_IMAGE_BYTES: usize = 5 * 1024 * 1024;

/// Stands for content of a later version of the protocol.
const UNKNOWN: &str = "[content of an unsupported kind]";

/// Converts a result. Structured content is for people and programs; the model gets it only if there is no other.
pub(crate) fn tool_output(result: CallToolResult) -> ToolOutput {
    let mut content: Vec<UserBlock> = result.content.into_iter().map(block).collect();
    let details = result.structured_content.map(|structured| {
        if content.is_empty() {
            content.push(text(serde_json::to_string_pretty(&structured).unwrap_or_default()));
        }
        json!({ "structuredContent": structured })
    });
    if content.is_empty() {
        content.push(text("(no output)"));
    }
    ToolOutput { content, details, is_error: result.is_error == Some(true), warning: None }
}

fn text(text: impl Into<String>) -> UserBlock {
    UserBlock::Text { text: text.into() }
}

/// Converts a piece of content.
pub(crate) fn block(block: ContentBlock) -> UserBlock {
    match block {
        ContentBlock::Text(content) => text(content.text),
        ContentBlock::Image(image) => image_or_note(image.data, &image.mime_type, "an image"),
        ContentBlock::Audio(audio) => text(note("a sound", &audio.mime_type, &audio.data)),
        ContentBlock::Resource(embedded) => resource(embedded.resource),
        ContentBlock::ResourceLink(link) => {
            let about = link.description.map(|about| format!(": {about}")).unwrap_or_default();
            text(format!("resource {} ({}){about}", link.uri, link.name))
        }
        _ => text(UNKNOWN),
    }
}

/// Converts the content of a resource.
pub(crate) fn resource(contents: ResourceContents) -> UserBlock {
    match contents {
        ResourceContents::TextResourceContents { uri, text: body, .. } => text(format!("{uri}:\n{body}")),
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            let mime_type = mime_type.unwrap_or_default();
            match mime_type.starts_with("text/").then(|| decoded_text(&blob)).flatten() {
                Some(body) => text(format!("{uri}:\n{body}")),
                None => image_or_note(blob, &mime_type, &uri),
            }
        }
        _ => text(UNKNOWN),
    }
}

fn decoded_text(base64: &str) -> Option<String> {
    String::from_utf8(STANDARD.decode(base64).ok()?).ok()
}

fn image_or_note(data: String, mime_type: &str, what: &str) -> UserBlock {
    let is_valid = || STANDARD.decode(&data).is_ok();
    if IMAGE_TYPES.contains(&mime_type) && data.len() <= MAX_IMAGE_BYTES && is_valid() {
        UserBlock::Image { data, mime_type: mime_type.to_owned() }
    } else {
        text(note(what, mime_type, &data))
    }
}

fn note(what: &str, mime_type: &str, base64: &str) -> String {
    let bytes = base64.trim_end_matches('=').len() * 3 / 4;
    format!("[{what} that can't be shown: {mime_type}, {bytes} bytes]")
}

#[cfg(test)]
mod tests {
    use rmcp::model::Resource;

    use super::*;

    fn image(data: &str, mime_type: &str) -> UserBlock {
        UserBlock::Image { data: data.into(), mime_type: mime_type.into() }
    }

    #[test]
    fn tool_output_maps_every_kind_of_content() {
        let contents = ResourceContents::text("body", "file:///a");
        let picture = ResourceContents::blob("aWNvbg==", "file:///i").with_mime_type("image/png");
        let encoded = ResourceContents::blob("aWNvbg==", "file:///t").with_mime_type("text/plain");
        let output = tool_output(CallToolResult::success(vec![
            ContentBlock::text("one"),
            ContentBlock::image("cG5n", "image/png"),
            ContentBlock::image("c3Zn", "image/svg+xml"),
            ContentBlock::image("not base64!", "image/png"),
            ContentBlock::audio("d2F2", "audio/wav"),
            ContentBlock::resource(contents),
            ContentBlock::resource(picture),
            ContentBlock::resource(encoded),
            ContentBlock::resource_link(Resource::new("x://y", "y")),
        ]));
        let expected = vec![
            text("one"),
            image("cG5n", "image/png"),
            text("[an image that can't be shown: image/svg+xml, 3 bytes]"),
            text("[an image that can't be shown: image/png, 8 bytes]"),
            text("[a sound that can't be shown: audio/wav, 3 bytes]"),
            text("file:///a:\nbody"),
            image("aWNvbg==", "image/png"),
            text("file:///t:\nicon"),
            text("resource x://y (y)"),
        ];
        assert_eq!(output, ToolOutput { content: expected, ..ToolOutput::default() });
    }

    #[test]
    fn tool_output_structured_content_is_text_if_there_is_no_other() {
        let mut result = CallToolResult::structured(json!({"n": 1}));
        result.content.clear();
        let details = Some(json!({"structuredContent": {"n": 1}}));
        let expected = ToolOutput { details: details.clone(), ..ToolOutput::text("{\n  \"n\": 1\n}") };
        assert_eq!(tool_output(result.clone()), expected);
        result.content = vec![ContentBlock::text("one")];
        assert_eq!(tool_output(result), ToolOutput { details, ..ToolOutput::text("one") });
        assert_eq!(tool_output(CallToolResult::error(vec![])), ToolOutput::error("(no output)"));
    }

    #[test]
    fn tool_output_huge_image_is_a_note() {
        let huge =
            CallToolResult::success(vec![ContentBlock::image("A".repeat(MAX_IMAGE_BYTES + 4), "image/png")]);
        let expected = ToolOutput::text("[an image that can't be shown: image/png, 3932163 bytes]");
        assert_eq!(tool_output(huge), expected);
    }
}
