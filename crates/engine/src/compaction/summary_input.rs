//! A conversation as plain text for the model that summarizes it. Plain text needs no pairing of calls with
//! results and no tools. Pure.

use tiller_core::message::{
    AssistantBlock, AssistantMessage, BashExecutionMessage, Message, StopReason, ToolCall, ToolResultMessage,
    UserBlock, joined_text,
};
use tiller_core::unit::thousands;
use tiller_session::context::ProjectedMessage;

use super::retention::is_sent;

/// Maximum length of a tool result, of command output, or of a call's arguments, in characters.
const SHOWN_CHARS: usize = 2_000;

/// End of the conversation block. It is escaped in messages.
const END: &str = "</conversation>";
const ESCAPED_END: &str = "<\\/conversation>";

/// Renders the messages, oldest first, in at most about `max_units` UTF-16 units. Omits the oldest messages,
/// with a note, if there are too many. `unloaded` is the number of older messages that aren't in `messages`
/// and are always omitted.
pub(super) fn transcript(messages: &[ProjectedMessage], unloaded: usize, max_units: u64) -> String {
    let texts: Vec<String> =
        messages.iter().filter_map(|projected| render_message(&projected.message)).collect();
    let mut remaining = max_units;
    let has_room = |text: &&String| {
        let units = units(text);
        let has_room = units <= remaining;
        remaining = remaining.saturating_sub(units);
        has_room
    };
    let included = texts.iter().rev().take_while(has_room).count();
    let (left_out, included) = texts.split_at(texts.len() - included);
    let mut parts: Vec<String> = included.to_vec();
    let mut left_out_count = left_out.len();
    // The end of a single message that is too long is better than nothing.
    if let (Some(newest), true) = (left_out.last(), parts.is_empty()) {
        parts.push(tail(newest, max_units));
        left_out_count -= 1;
    }
    left_out_count += unloaded;
    if left_out_count > 0 {
        parts.insert(0, left_out_note(left_out_count));
    }
    parts.join("\n\n").replace(END, ESCAPED_END)
}

fn left_out_note(count: usize) -> String {
    match count {
        1 => "[1 earlier message omitted for lack of space]".to_owned(),
        _ => format!("[{} earlier messages omitted for lack of space]", thousands(count)),
    }
}

fn units(text: &str) -> u64 {
    text.chars().map(|c| c.len_utf16() as u64).sum::<u64>() + 2
}

/// Returns the end of a string, at most this many UTF-16 units long.
fn tail(text: &str, max_units: u64) -> String {
    let mut remaining = max_units;
    let has_room = |c: &char| {
        let units = c.len_utf16() as u64;
        let has_room = units <= remaining;
        remaining = remaining.saturating_sub(units);
        has_room
    };
    let kept_bytes: usize = text.chars().rev().take_while(has_room).map(char::len_utf8).sum();
    format!("[beginning omitted] {}", &text[text.len() - kept_bytes..])
}

/// Renders a message; `None` for a message that isn't sent to models.
fn render_message(message: &Message) -> Option<String> {
    if !is_sent(message) {
        return None;
    }
    match message {
        Message::User(user) => Some(format!("[User] {}", render_content(&user.content.to_blocks()))),
        Message::Assistant(answer) => render_answer(answer),
        Message::ToolResult(result) => Some(render_result(result)),
        Message::BashExecution(bash) => Some(render_command(bash)),
        Message::System(_) => None,
    }
}

/// Renders the blocks' text; images are only mentioned.
fn render_content(blocks: &[UserBlock]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        UserBlock::Text { text } => Some(text.clone()),
        UserBlock::Image { mime_type, .. } => Some(format!("[image: {mime_type}]")),
        UserBlock::Unknown => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn render_answer(answer: &AssistantMessage) -> Option<String> {
    let text = answer.joined_text();
    let stopped = answer.stop_reason == StopReason::Aborted;
    let mut lines = Vec::new();
    if !text.trim().is_empty() {
        let end = if stopped { " [the user stopped the answer here]" } else { "" };
        lines.push(format!("[Assistant] {text}{end}"));
    }
    if !stopped {
        lines.extend(answer.content.iter().filter_map(render_call));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn render_call(block: &AssistantBlock) -> Option<String> {
    let AssistantBlock::ToolCall(ToolCall { name, arguments, raw_arguments, .. }) = block else {
        return None;
    };
    let arguments = raw_arguments.clone().unwrap_or_else(|| arguments.to_string());
    Some(format!("[Assistant calls {name}] {}", head(&arguments)))
}

fn render_result(result: &ToolResultMessage) -> String {
    let failed = if result.is_error { ", which failed" } else { "" };
    let pictures = result.content.iter().filter(|block| matches!(block, UserBlock::Image { .. })).count();
    let picture_note = if pictures > 0 { " [with an image]" } else { "" };
    format!("[Result of {}{failed}] {}{picture_note}", result.tool_name, head(&joined_text(&result.content)))
}

fn render_command(bash: &BashExecutionMessage) -> String {
    let end = match (bash.cancelled, bash.exit_code) {
        (true, _) => ", stopped".to_owned(),
        (false, Some(0) | None) => String::new(),
        (false, Some(code)) => format!(", exit code {code}"),
    };
    format!("[User runs a command{end}] $ {}\n{}", bash.command, head(&bash.output))
}

/// Returns the beginning of a string, with a note about the number of omitted characters.
fn head(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => {
            let left_out_count = text[end..].chars().count();
            format!("{} [… {} more characters]", &text[..end], thousands(left_out_count))
        }
    }
}

#[cfg(test)]
mod tests {
    use tiller_core::message::{Content, UserMessage};
    use tiller_core::unit::UnixMs;

    use super::*;

    use std::sync::Arc;

    use crate::compaction::retention::tests::conversation;

    fn projected(message: Message) -> ProjectedMessage {
        ProjectedMessage { entry: "e".into(), message: Arc::new(message) }
    }

    fn user(text: &str) -> ProjectedMessage {
        projected(Message::User(UserMessage::text(text, UnixMs(1))))
    }

    #[test]
    fn transcript_names_the_speaker_of_each_message() {
        let text = transcript(&conversation("u a12 r1 ! !! e a"), 0, 10_000);
        assert_eq!(
            text,
            "[User] said\n\n[Assistant calls lo] {}\n[Assistant calls lo] {}\n\n[Result of look] said\n\n\
             [User runs a command] $ said\n\n\n[Assistant] said"
        );
    }

    #[test]
    fn transcript_long_result_is_cut_and_the_rest_counted() {
        let result = ToolResultMessage {
            tool_call_id: "1".into(),
            tool_name: "read_file".into(),
            content: vec![
                UserBlock::Text { text: "ä".repeat(SHOWN_CHARS + 1_234) },
                UserBlock::Image { data: "aW1n".into(), mime_type: "image/png".into() },
            ],
            details: None,
            is_error: true,
            timestamp: UnixMs(1),
        };
        let text = transcript(&[projected(Message::ToolResult(result))], 0, 10_000);
        let expected = format!(
            "[Result of read_file, which failed] {} [… 1,234 more characters] [with an image]",
            "ä".repeat(SHOWN_CHARS)
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn transcript_stopped_answer_is_text_only_without_thinking() {
        let thought = AssistantBlock::Thinking { thinking: "hm".into(), thinking_signature: None };
        let text = AssistantBlock::text("I will");
        let call = AssistantBlock::ToolCall(ToolCall::from_streamed("1".into(), "bash".into(), ""));
        let answer = AssistantMessage {
            content: vec![thought, text, call],
            stop_reason: StopReason::Aborted,
            ..AssistantMessage::default()
        };
        let text = transcript(&[projected(Message::Assistant(answer))], 0, 10_000);
        assert_eq!(text, "[Assistant] I will [the user stopped the answer here]");
    }

    #[test]
    fn transcript_oldest_messages_are_left_out_with_a_note() {
        let messages = [user("one"), user("two"), user("three")];
        let newest_two = units("[User] two") + units("[User] three");
        assert_eq!(
            transcript(&messages, 0, newest_two),
            "[1 earlier message omitted for lack of space]\n\n[User] two\n\n[User] three"
        );
        assert_eq!(
            transcript(&messages, 0, newest_two - 1),
            "[2 earlier messages omitted for lack of space]\n\n[User] three"
        );
    }

    #[test]
    fn transcript_too_long_message_shows_its_end() {
        assert_eq!(transcript(&[user("a😀bc")], 0, 4), "[beginning omitted] 😀bc");
        assert_eq!(transcript(&[user("a😀bc")], 0, 3), "[beginning omitted] bc");
        let expected = "[1 earlier message omitted for lack of space]\n\n[beginning omitted] bc";
        assert_eq!(transcript(&[user("a"), user("a😀bc")], 0, 3), expected);
    }

    #[test]
    fn transcript_image_is_mentioned_and_end_tag_is_escaped() {
        let content = Content::Blocks(vec![
            UserBlock::Text { text: "look </conversation>".into() },
            UserBlock::Image { data: "aW1n".into(), mime_type: "image/png".into() },
        ]);
        let user = projected(Message::User(UserMessage { content, timestamp: UnixMs(1), typed: None }));
        assert_eq!(transcript(&[user], 0, 10_000), "[User] look <\\/conversation>\n[image: image/png]");
    }
}
