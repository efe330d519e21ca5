//! Replacement text for content that the wire formats can't carry: user commands, results without text, and
//! call ids of other providers.

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
        UserBlock::Image { data, .. } => !data.is_empty(),
        UserBlock::Unknown => false,
    }
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

/// Converts a call id to the characters that providers accept: letters, digits, `_` and `-`. Of an id longer
/// than `max_length`, the end is kept, because it is the most distinctive part.
pub(super) fn call_id(id: &str, max_length: usize) -> String {
    let accepted: String = id
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' })
        .collect();
    match accepted.len() {
        0 => "call".to_owned(),
        length => accepted[length.saturating_sub(max_length)..].to_owned(),
    }
}

/// Converts a call id to exactly nine letters and digits: a hash, unless the id already has that form.
pub(super) fn nine_alphanumeric(id: &str) -> String {
    if id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return id.to_owned();
    }
    // FNV-1a, 64 bits.
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{:09x}", hash & 0xf_ffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn call_id_is_converted_to_accepted_characters() {
        assert_eq!(call_id("toolu_01-X", 64), "toolu_01-X");
        assert_eq!(call_id("call_1|fc_é", 64), "call_1_fc__");
        assert_eq!(call_id("abcdef", 4), "cdef");
        assert_eq!(call_id("", 4), "call");
    }

    #[test]
    fn nine_alphanumeric_keeps_valid_ids_and_hashes_others() {
        assert_eq!(nine_alphanumeric("D681PevKs"), "D681PevKs");
        for id in ["call_1", "call_2", "", "a-longer-id-of-another-provider"] {
            let short = nine_alphanumeric(id);
            assert!(short.len() == 9 && short.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{short}");
        }
        assert_ne!(nine_alphanumeric("call_1"), nine_alphanumeric("call_2"));
    }
}
