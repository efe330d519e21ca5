//! Replaces images and PDF files with a line of text if the model or the APIs don't accept them. Pure.

use std::sync::Arc;

use tiller_core::message::{Content, Message, PDF_TYPE, ToolResultMessage, UserBlock, UserMessage};
use tiller_provider::{ImageInput, ModelFacts};

/// The image types that the APIs of all providers accept, or replace themselves.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Replaces images and PDF files that the model doesn't accept with a line of text; other messages are
/// shared.
pub(super) fn strip_images(messages: Vec<Arc<Message>>, model: &ModelFacts) -> Vec<Arc<Message>> {
    messages.into_iter().map(|message| strip(&message, model).map_or(message, Arc::new)).collect()
}

fn strip(message: &Message, model: &ModelFacts) -> Option<Message> {
    match message {
        Message::User(UserMessage { content: Content::Blocks(blocks), timestamp, typed }) => {
            let content = Content::Blocks(strip_blocks(blocks, model)?);
            Some(Message::User(UserMessage { content, timestamp: *timestamp, typed: typed.clone() }))
        }
        Message::ToolResult(result) => {
            let content = strip_blocks(&result.content, model)?;
            Some(Message::ToolResult(ToolResultMessage { content, ..result.clone() }))
        }
        Message::User(_) | Message::Assistant(_) | Message::BashExecution(_) | Message::System(_) => None,
    }
}

/// Replaces the refused blocks; `None` if there are none.
fn strip_blocks(blocks: &[UserBlock], model: &ModelFacts) -> Option<Vec<UserBlock>> {
    let replaced = |block: &UserBlock| {
        let (mime_type, _) = block.as_image()?;
        refusal(mime_type, model).map(|text| UserBlock::Text { text })
    };
    blocks
        .iter()
        .any(|block| replaced(block).is_some())
        .then(|| blocks.iter().map(|block| replaced(block).unwrap_or_else(|| block.clone())).collect())
}

/// Returns the text for an image or a PDF file that can't be sent.
fn refusal(mime_type: &str, model: &ModelFacts) -> Option<String> {
    let reason = match mime_type {
        PDF_TYPE if model.takes_pdf => return None,
        PDF_TYPE => {
            return Some(
                "[PDF file omitted: this model doesn't accept PDF files; a command may extract its text]"
                    .into(),
            );
        }
        _ if model.image_input == ImageInput::Unsupported => "this model doesn't accept images",
        _ if !IMAGE_TYPES.contains(&mime_type) => "only png, jpeg, gif and webp can be sent",
        _ => return None,
    };
    Some(format!("[image omitted ({mime_type}): {reason}]"))
}

#[cfg(test)]
mod tests {
    use tiller_core::message::Image;
    use tiller_core::unit::UnixMs;
    use tiller_provider::catalog;

    use super::*;

    #[test]
    fn strip_images_replaces_images_and_shares_other_messages() {
        let image = Image { data: "AA==".into(), mime_type: "image/png".into() };
        let with_image = Arc::new(Message::User(UserMessage::with_images("look", &[image], UnixMs(1))));
        let plain = Arc::new(Message::User(UserMessage::text("hello", UnixMs(2))));
        let result = ToolResultMessage {
            tool_call_id: "c".into(),
            tool_name: "read_file".into(),
            content: vec![UserBlock::Image { data: "AA==".into(), mime_type: "image/gif".into() }],
            details: None,
            is_error: false,
            timestamp: UnixMs(3),
        };
        let result = Arc::new(Message::ToolResult(result));
        let model = ModelFacts { image_input: ImageInput::Unsupported, ..catalog::assumed("x", "m") };
        let stripped = strip_images(vec![with_image, Arc::clone(&plain), result], &model);
        let texts = |message: &Message| match message {
            Message::User(user) => user.content.joined_text(),
            Message::ToolResult(result) => tiller_core::message::joined_text(&result.content),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            stripped.iter().map(|message| texts(message)).collect::<Vec<_>>(),
            [
                "look\n[image omitted (image/png): this model doesn't accept images]",
                "hello",
                "[image omitted (image/gif): this model doesn't accept images]"
            ]
        );
        assert!(Arc::ptr_eq(&stripped[1], &plain));
    }

    #[test]
    fn strip_images_replaces_types_that_the_model_refuses() {
        let kinds = ["image/png", "image/svg+xml", "image/bmp", "image/heic", "application/pdf"];
        let images = kinds.map(|mime_type| Image { data: "AA==".into(), mime_type: mime_type.into() });
        let message = || Arc::new(Message::User(UserMessage::with_images("look", &images, UnixMs(1))));
        let kept = |model: &ModelFacts| {
            let stripped = strip_images(vec![message()], model).remove(0);
            let Message::User(user) = &*stripped else { panic!("{stripped:?}") };
            let blocks = user.content.to_blocks();
            let kept: Vec<String> =
                blocks.iter().filter_map(UserBlock::as_image).map(|(kind, _)| kind.to_owned()).collect();
            (kept, user.content.joined_text())
        };
        let claude = catalog::facts("anthropic", "claude-opus-5-5").unwrap();
        let (types, text) = kept(&claude);
        assert_eq!(types, ["image/png", "application/pdf"]);
        assert!(
            text.contains("[image omitted (image/bmp): only png, jpeg, gif and webp can be sent]"),
            "{text}"
        );
        let (types, text) = kept(&catalog::assumed("groq", "m"));
        assert_eq!(types, ["image/png"]);
        assert!(text.contains("[PDF file omitted: this model doesn't accept PDF files;"), "{text}");
    }
}
