//! Replacement text for content that the wire formats can't carry: user commands and results without text.

use tiller_core::message::{BashExecutionMessage, Content, UserBlock, joined_text};

/// The text of a result without text: providers reject empty ones.
pub(super) const NO_OUTPUT: &str = "(no output)";

/// The replacement of an image where only text is allowed.
pub(super) const IMAGE: &str = "[image]";

/// Checks whether a provider accepts `text` as a block; Anthropic rejects pure whitespace.
pub(super) fn is_text(text: &str) -> bool {
    !text.trim().is_empty()
}

/// Returns the blocks of a user message that a provider accepts.
pub(super) fn user_blocks(content: &Content) -> Vec<UserBlock> {
    let mut blocks = content.to_blocks();
    blocks.retain(is_sendable);
    blocks
}

/// Checks whether a provider accepts `block`.
pub(super) fn is_sendable(block: &UserBlock) -> bool {
    match block {
        UserBlock::Text { text } => is_text(text),
        UserBlock::Image { data, .. } => is_base64(data),
        UserBlock::Unknown => false,
    }
}

/// Checks for base64 with padding, without decoding it: images are large, and each request contains all of
/// them.
fn is_base64(data: &str) -> bool {
    let digits = data.strip_suffix("==").or_else(|| data.strip_suffix('=')).unwrap_or(data);
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    !digits.is_empty() && data.len().is_multiple_of(4) && digits.bytes().all(is_digit)
}

/// Returns the text of a result, never empty.
pub(super) fn result_text(blocks: &[UserBlock]) -> String {
    let text = joined_text(blocks);
    if is_text(&text) { text } else { NO_OUTPUT.to_owned() }
}

/// Describes a user command for the model; `None` if it is excluded from the context.
pub(super) fn bash_text(message: &BashExecutionMessage) -> Option<String> {
    if message.exclude_from_context {
        return None;
    }
    let mut text = format!("Ran `{}`\n", message.command);
    if is_text(&message.output) {
        text.push_str("```\n");
        text.push_str(message.output.trim_end_matches('\n'));
        text.push_str("\n```\n");
    } else {
        text.push_str("(no output)\n");
    }
    text.push_str(&match (message.cancelled, message.exit_code) {
        (true, _) => "(canceled)".to_owned(),
        (false, Some(code)) => format!("(exit code {code})"),
        (false, None) => "(killed)".to_owned(),
    });
    if message.truncated {
        text.push_str(match message.full_output_path {
            Some(_) => "\n(output truncated; full output in ",
            None => "\n(output truncated",
        });
        text.push_str(message.full_output_path.as_deref().unwrap_or_default());
        text.push(')');
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_sendable_image_is_base64() {
        let image = |data: &str| UserBlock::Image { data: data.into(), mime_type: "image/png".into() };
        assert!(["aW1n", "aW1nYQ==", "aW1nYWE=", "+/+/"].into_iter().all(|data| is_sendable(&image(data))));
        let invalid = ["", "==", "aW1", "aW1n\n", "a===", "-_-_", "not base64!!"];
        assert!(invalid.into_iter().all(|data| !is_sendable(&image(data))));
    }

    #[test]
    fn bash_text_has_command_output_and_end() {
        let execution = BashExecutionMessage {
            command: "ls".into(),
            output: "a\nb\n".into(),
            exit_code: Some(2),
            ..BashExecutionMessage::default()
        };
        assert_eq!(bash_text(&execution).unwrap(), "Ran `ls`\n```\na\nb\n```\n(exit code 2)");
        let cut = BashExecutionMessage {
            output: "  \n".into(),
            exit_code: None,
            truncated: true,
            full_output_path: Some("/tmp/x".into()),
            ..execution.clone()
        };
        assert_eq!(
            bash_text(&cut).unwrap(),
            "Ran `ls`\n(no output)\n(killed)\n(output truncated; full output in /tmp/x)"
        );
        let hidden = BashExecutionMessage { exclude_from_context: true, ..execution };
        assert_eq!(bash_text(&hidden), None);
    }
}
