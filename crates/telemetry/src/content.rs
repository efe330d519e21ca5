//! Messages as the conventions' JSON strings: `gen_ai.input.messages` and `gen_ai.output.messages`.

use serde_json::{Value, json};
use tiller_core::event::ToolOutcome;
use tiller_core::message::{AssistantBlock, AssistantMessage, StopReason, UserMessage};

/// The message that started a run; images are omitted.
pub(crate) fn input_messages(message: &UserMessage) -> String {
    json!([{"role": "user", "parts": [{"type": "text", "content": message.content.joined_text()}]}])
        .to_string()
}

/// A model's answer.
pub(crate) fn output_messages(answer: &AssistantMessage) -> String {
    let parts: Vec<Value> = answer.content.iter().filter_map(part).collect();
    let finish_reason = finish_reason(answer.stop_reason);
    json!([{"role": "assistant", "parts": parts, "finish_reason": finish_reason}]).to_string()
}

fn part(block: &AssistantBlock) -> Option<Value> {
    Some(match block {
        AssistantBlock::Text { text, .. } => json!({"type": "text", "content": text}),
        AssistantBlock::Thinking { thinking, .. } => json!({"type": "reasoning", "content": thinking}),
        AssistantBlock::ToolCall(call) => {
            json!({"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments})
        }
        AssistantBlock::Unknown => return None,
    })
}

/// The text of a tool's result.
pub(crate) fn result_text(result: &ToolOutcome) -> String {
    result.content.iter().filter_map(|block| block.as_text()).collect::<Vec<_>>().join("\n")
}

/// The conventions' name of the reason for an answer's end.
pub(crate) const fn finish_reason(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Stop => "stop",
        StopReason::Length => "length",
        StopReason::ToolUse => "tool_call",
        StopReason::Error | StopReason::Aborted => "error",
    }
}
