//! Replacement of images by a line of text, for models without image support. Pure.

use std::sync::Arc;

use tiller_core::message::{Content, Message, ToolResultMessage, UserBlock, UserMessage};

/// Replaces every image by a line of text; messages without images are shared.
pub(super) fn strip_images(messages: Vec<Arc<Message>>) -> Vec<Arc<Message>> {
    messages.into_iter().map(|message| strip(&message).map_or(message, Arc::new)).collect()
}

fn strip(message: &Message) -> Option<Message> {
    match message {
        Message::User(UserMessage { content: Content::Blocks(blocks), timestamp, typed }) => {
            let content = Content::Blocks(strip_blocks(blocks)?);
            Some(Message::User(UserMessage { content, timestamp: *timestamp, typed: typed.clone() }))
        }
        Message::ToolResult(result) => {
            let content = strip_blocks(&result.content)?;
            Some(Message::ToolResult(ToolResultMessage { content, ..result.clone() }))
        }
        Message::User(_) | Message::Assistant(_) | Message::BashExecution(_) | Message::System(_) => None,
    }
}

/// Returns `None` if there is no image.
fn strip_blocks(blocks: &[UserBlock]) -> Option<Vec<UserBlock>> {
    blocks.iter().any(|block| block.as_image().is_some()).then(|| blocks.iter().map(strip_block).collect())
}

fn strip_block(block: &UserBlock) -> UserBlock {
    match block.as_image() {
        Some((mime_type, _)) => UserBlock::Text {
            text: format!("[image omitted ({mime_type}): this model doesn't accept images]"),
        },
        None => block.clone(),
    }
}

#[cfg(test)]
mod tests {
    use tiller_core::message::Image;
    use tiller_core::unit::UnixMs;

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
        let stripped = strip_images(vec![with_image, Arc::clone(&plain), result]);
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
}
