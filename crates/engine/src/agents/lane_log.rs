//! The work of a race's lane so far, read from the log of its agent.

use tiller_core::id::EntryId;
use tiller_core::message::{Message, StopReason};
use tiller_session::entry::TillerEntry;
use tiller_session::{Entry, Reader, SessionError};

use super::activity::AgentActivity;

/// The work of a lane so far.
#[derive(Debug, Default, PartialEq)]
pub(super) struct LaneLog {
    pub activity: AgentActivity,
    /// The duration of the lane's answers and calls in milliseconds.
    pub elapsed_ms: u64,
    pub progress: LaneProgress,
}

/// The next step of a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum LaneProgress {
    /// The agent hasn't got the prompt.
    #[default]
    Waiting,
    /// The agent has no final answer yet.
    Working,
    /// The agent has answered.
    Answered,
}

impl LaneLog {
    /// Reads the work that follows an entry of the delegating session; all of it without one.
    pub(super) fn read(reader: &Reader, from: Option<&EntryId>) -> Result<Self, SessionError> {
        let entries = match reader.leaf() {
            Some(leaf) => reader.branch(&leaf)?.0,
            None => Vec::new(),
        };
        let common = entries.iter().position(|entry| Some(&entry.id) == from).map_or(0, |at| at + 1);
        Ok(Self::from_entries(&entries[common..]))
    }

    fn from_entries(entries: &[Entry]) -> Self {
        let (mut log, mut before) = (Self::default(), None);
        for entry in entries {
            if let Some(TillerEntry::Approval { decision, .. }) = entry.body.as_tiller()
                && decision == "deny"
            {
                log.activity.denied += 1;
            }
            let message = entry.body.as_message().map(|message| &**message);
            if let Some(message) = message {
                log.progress = progress(message);
            }
            if let Some(Message::Assistant(answer)) = message {
                log.activity.add_answer(answer);
            }
            if let (Some(Message::Assistant(_) | Message::ToolResult(_)), Some(before)) = (message, before) {
                log.elapsed_ms += entry.timestamp.since_ms(before);
            }
            before = Some(entry.timestamp);
        }
        log
    }
}

/// Returns the progress of a lane whose newest message is this one.
fn progress(message: &Message) -> LaneProgress {
    match message {
        Message::Assistant(answer)
            if answer.tool_calls().next().is_none()
                && !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) =>
        {
            LaneProgress::Answered
        }
        _ => LaneProgress::Working,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};
    use tiller_core::unit::{Tokens, UnixMs};
    use tiller_session::EntryBody;

    use super::*;

    fn entry(at: i64, message: Value) -> Entry {
        let message: Message = serde_json::from_value(message).unwrap();
        let body = EntryBody::message(Arc::new(message));
        Entry { id: format!("{at}").as_str().into(), parent: None, timestamp: UnixMs(at), body }
    }

    fn answer(at: i64, content: Value, stop_reason: &str) -> Entry {
        let usage = json!({ "totalTokens": 10 });
        let answer =
            json!({ "role": "assistant", "content": content, "usage": usage, "stopReason": stop_reason });
        entry(at, answer)
    }

    #[test]
    fn lane_log_has_the_progress_and_the_use_so_far() {
        let prompt = entry(1_000, json!({ "role": "user", "content": "Go." }));
        let call = json!([{ "type": "toolCall", "id": "c", "name": "bash", "arguments": {} }]);
        let calling = answer(3_000, call, "toolUse");
        let result = json!({ "role": "toolResult", "toolCallId": "c", "toolName": "bash", "content": [],
            "isError": false });
        let denial = TillerEntry::Approval {
            tool_call_id: "c".into(),
            decision: "deny".to_owned(),
            rule: None,
            by: "user".to_owned(),
        };
        let denial = Entry { body: EntryBody::from_tiller(&denial), ..entry(3_500, result.clone()) };
        let result = entry(4_000, result);
        let text = json!([{ "type": "text", "text": "Done." }]);
        let done = answer(5_000, text.clone(), "stop");
        let all = [prompt, calling, denial, result, done];
        let progress = |count: usize| LaneLog::from_entries(&all[..count]).progress;
        use LaneProgress::{Answered, Waiting, Working};
        assert_eq!([0, 1, 2, 3, 4, 5].map(progress), [Waiting, Working, Working, Working, Working, Answered]);
        let activity = AgentActivity { turns: 2, tokens: Tokens(20), denied: 1, ..AgentActivity::default() };
        let log = LaneLog::from_entries(&all);
        assert_eq!((log.activity, log.elapsed_ms), (activity, 3_500));
        let aborted = LaneLog::from_entries(&[answer(1_000, text, "aborted")]);
        assert_eq!(aborted.progress, Working);
    }
}
