//! The words that both protocols put for what they can't carry as it is: commands the user ran, results without text,
//! ids that another provider made up.

use tiller_core::message::{BashExecutionMessage, Content, UserBlock, joined_text};

/// What a result says that has no text: providers refuse empty ones.
pub(super) const NO_OUTPUT: &str = "(no output)";

/// What stands for an image where only text may go.
pub(super) const IMAGE: &str = "[image]";

/// Whether a provider would take `text` as a block; Anthropic refuses what is only white space.
pub(super) fn is_text(text: &str) -> bool {
    !text.trim().is_empty()
}

/// The blocks of a user's message that a provider would take.
pub(super) fn user_blocks(content: &Content) -> Vec<UserBlock> {
    let mut blocks = content.to_blocks();
    blocks.retain(is_sendable);
    blocks
}

/// Whether a provider would take `block`.
pub(super) fn is_sendable(block: &UserBlock) -> bool {
    match block {
        UserBlock::Text { text } => is_text(text),
        UserBlock::Image { data, .. } => !data.is_empty(),
        UserBlock::Unknown => false,
    }
}

/// The text of a result, never empty.
pub(super) fn result_text(blocks: &[UserBlock]) -> String {
    let text = joined_text(blocks);
    if is_text(&text) { text } else { NO_OUTPUT.to_owned() }
}

/// A command that the user ran, told to the model; `None` when it isn't to know.
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
        (true, _) => "(cancelled)".to_owned(),
        (false, Some(code)) => format!("(exit code {code})"),
        (false, None) => "(killed)".to_owned(),
    });
    if message.truncated {
        text.push_str(match message.full_output_path {
            Some(_) => "\n(output truncated; all of it: ",
            None => "\n(output truncated",
        });
        text.push_str(message.full_output_path.as_deref().unwrap_or_default());
        text.push(')');
    }
    Some(text)
}

/// An id of a call as a provider takes it: letters, digits, `_` and `-`, at most `longest` of them. Another provider
/// may have made it up; the end of an id is its most distinctive part.
pub(super) fn call_id(id: &str, longest: usize) -> String {
    let clean: String = id
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' })
        .collect();
    match clean.len() {
        0 => "call".to_owned(),
        length => clean[length.saturating_sub(longest)..].to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_told_with_output_and_end() {
        let ran = BashExecutionMessage {
            command: "ls".into(),
            output: "a\nb\n".into(),
            exit_code: Some(2),
            ..BashExecutionMessage::default()
        };
        assert_eq!(bash_text(&ran).unwrap(), "Ran `ls`\n```\na\nb\n```\n(exit code 2)");
        let cut = BashExecutionMessage {
            output: "  \n".into(),
            exit_code: None,
            truncated: true,
            full_output_path: Some("/tmp/x".into()),
            ..ran.clone()
        };
        assert_eq!(
            bash_text(&cut).unwrap(),
            "Ran `ls`\n(no output)\n(killed)\n(output truncated; all of it: /tmp/x)"
        );
        let hidden = BashExecutionMessage { exclude_from_context: true, ..ran };
        assert_eq!(bash_text(&hidden), None);
    }

    #[test]
    fn an_id_is_made_acceptable() {
        assert_eq!(call_id("toolu_01-X", 64), "toolu_01-X");
        assert_eq!(call_id("call_1|fc_é", 64), "call_1_fc__");
        assert_eq!(call_id("abcdef", 4), "cdef");
        assert_eq!(call_id("", 4), "call");
    }
}
