//! Events as server-sent events. Pure.

use bytes::Bytes;
use serde::Serialize;
use tiller_core::event::{AssistantDelta, Event, EventKind, RunOutcome};
use tiller_core::message::Message;
use tiller_core::unit::UnixMs;

/// The name of the event that replaces lost ones: the state up to its id.
pub(crate) const SNAPSHOT: &str = "snapshot";

/// A piece of an answer.
#[derive(Serialize)]
struct DeltaView<'a> {
    #[serde(flatten)]
    piece: &'a AssistantDelta,
    seq: u64,
    time: UnixMs,
}

/// The end of a failed run, with its error.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FailedRun<'a> {
    #[serde(flatten)]
    event: &'a Event,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<&'a str>,
}

/// Encodes an event. Its data is the engine's JSON, except for deltas, which are sent without the message's
/// usage, and failed runs, which get their error.
pub(crate) fn encode(epoch: &str, event: &Event) -> Bytes {
    let Event { kind, seq, time } = event;
    match kind {
        EventKind::MessageUpdate { assistant_message_event: piece, .. } => {
            let name = match piece {
                AssistantDelta::TextDelta { .. } => "text_delta",
                AssistantDelta::ThinkingDelta { .. } => "thinking_delta",
                _ => return frame(epoch, *seq, "message_update", event),
            };
            frame(epoch, *seq, name, &DeltaView { piece, seq: *seq, time: *time })
        }
        EventKind::AgentEnd { messages, will_retry: false, outcome: RunOutcome::Failed } => {
            let error_message = messages.iter().rev().find_map(|message| match &**message {
                Message::Assistant(answer) => answer.error_message.as_deref(),
                _ => None,
            });
            frame(epoch, *seq, "error", &FailedRun { event, error_message })
        }
        EventKind::AgentEnd { will_retry: false, .. } => frame(epoch, *seq, "completed", event),
        EventKind::ToolExecutionStart { .. } => frame(epoch, *seq, "tool_call", event),
        EventKind::ToolExecutionEnd { .. } => frame(epoch, *seq, "tool_result", event),
        EventKind::ApprovalRequested(_) => frame(epoch, *seq, "approval_required", event),
        _ => {
            let json = serde_json::to_string(event).unwrap_or_default();
            // The tag is the first field.
            let name = json.strip_prefix("{\"type\":\"").and_then(|rest| rest.split_once('"'));
            text_frame(epoch, *seq, name.map_or("message", |(name, _)| name), &json)
        }
    }
}

/// Encodes data as an event of this name.
pub(crate) fn frame(epoch: &str, seq: u64, name: &str, data: &impl Serialize) -> Bytes {
    // These types have no map with keys that aren't strings.
    text_frame(epoch, seq, name, &serde_json::to_string(data).unwrap_or_default())
}

fn text_frame(epoch: &str, seq: u64, name: &str, json: &str) -> Bytes {
    Bytes::from(format!("id: {epoch}-{seq}\nevent: {name}\ndata: {json}\n\n"))
}

/// Returns the sequence number of an event id of this epoch.
pub(crate) fn seq_of(epoch: &str, id: &str) -> Option<u64> {
    id.strip_prefix(epoch)?.strip_prefix('-')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use tiller_core::message::Usage;

    use super::*;

    fn encoded(kind: EventKind) -> String {
        let event = Event { kind, seq: 7, time: UnixMs(9) };
        String::from_utf8(encode("e1", &event).to_vec()).unwrap()
    }

    fn piece(piece: AssistantDelta) -> EventKind {
        EventKind::MessageUpdate { usage: Usage::default(), assistant_message_event: piece }
    }

    #[test]
    fn encode_delta_is_its_piece() {
        let text = encoded(piece(AssistantDelta::TextDelta { content_index: 0, delta: "a\nb".into() }));
        let data = r#"{"type":"text_delta","contentIndex":0,"delta":"a\nb","seq":7,"time":9}"#;
        assert_eq!(text, format!("id: e1-7\nevent: text_delta\ndata: {data}\n\n"));
    }

    #[test]
    fn encode_names_are_those_of_the_stream_or_the_engine() {
        let end = |outcome, will_retry| EventKind::AgentEnd { messages: Vec::new(), will_retry, outcome };
        let cases = [
            (EventKind::AgentSettled, "agent_settled"),
            (EventKind::TurnStart, "turn_start"),
            (end(RunOutcome::Completed, false), "completed"),
            (end(RunOutcome::Failed, false), "error"),
            (end(RunOutcome::Failed, true), "agent_end"),
            (piece(AssistantDelta::TextStart { content_index: 0 }), "message_update"),
            (piece(AssistantDelta::ThinkingDelta { content_index: 0, delta: "h".into() }), "thinking_delta"),
            (EventKind::Trace { name: "x".into(), data: 1.into() }, "trace"),
        ];
        for (kind, name) in cases {
            let text = encoded(kind);
            assert!(text.contains(&format!("\nevent: {name}\n")), "{text}");
        }
    }

    #[test]
    fn seq_of_other_epoch_is_unknown() {
        assert_eq!(seq_of("e1", "e1-12"), Some(12));
        for id in ["e2-12", "e1", "e1-", "e1-x", "12", ""] {
            assert_eq!(seq_of("e1", id), None, "{id}");
        }
    }
}
