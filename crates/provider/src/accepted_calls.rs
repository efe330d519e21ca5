//! Ids and names of tool calls in the form that servers accept. A conversation contains those of other
//! providers, ids that a server repeats in each answer, and names of tools that a model made up.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tiller_core::id::CallId;
use tiller_core::message::{AssistantBlock, AssistantMessage, Message, ToolCall, ToolResultMessage};

use crate::Request;

/// Maximum length of a tool's name, which is the smallest limit among the servers.
const MAX_NAME: usize = 64;

/// Returns the request with an accepted name in each call, and an accepted id that no other call has. Each
/// result gets those of its call. Names of the request's own tools stay.
pub(super) fn with_accepted_calls(request: &Request, accepted_id: impl Fn(&str) -> String) -> Request {
    let mut converter =
        Converter { request, accepted_id, used: HashSet::new(), counts: HashMap::new(), open: Vec::new() };
    let messages = request.messages.iter().map(|message| converter.message(message)).collect();
    Request { messages, ..request.clone() }
}

struct Converter<'a, F> {
    request: &'a Request,
    accepted_id: F,
    /// The ids in the request so far.
    used: HashSet<String>,
    /// The number of ids tried for each original one.
    counts: HashMap<&'a CallId, usize>,
    /// The original and new ids of the newest answer's calls without a result.
    open: Vec<(&'a CallId, CallId)>,
}

impl<'a, F: Fn(&str) -> String> Converter<'a, F> {
    fn message(&mut self, message: &'a Arc<Message>) -> Arc<Message> {
        let converted = match &**message {
            Message::Assistant(answer) => self.answer(answer).map(Message::Assistant),
            Message::ToolResult(result) => self.result(result).map(Message::ToolResult),
            Message::User(_) | Message::BashExecution(_) | Message::System(_) => None,
        };
        converted.map_or_else(|| Arc::clone(message), Arc::new)
    }

    /// Converts an answer; `None` if it stays as it is.
    fn answer(&mut self, answer: &'a AssistantMessage) -> Option<AssistantMessage> {
        self.open.clear();
        let mut changed: Option<AssistantMessage> = None;
        for (at, block) in answer.content.iter().enumerate() {
            let AssistantBlock::ToolCall(call) = block else { continue };
            let (id, name) = (self.unique_id(&call.id), self.name(&call.name));
            self.open.push((&call.id, id.clone()));
            if id != call.id || name != call.name {
                let converted = ToolCall { id, name, ..call.clone() };
                changed.get_or_insert_with(|| answer.clone()).content[at] =
                    AssistantBlock::ToolCall(converted);
            }
        }
        changed
    }

    /// Converts a result; `None` if it stays as it is.
    fn result(&mut self, result: &ToolResultMessage) -> Option<ToolResultMessage> {
        let id = match self.open.iter().position(|(original, _)| **original == result.tool_call_id) {
            Some(at) => self.open.remove(at).1,
            None => CallId::new((self.accepted_id)(result.tool_call_id.as_str())),
        };
        let name = self.name(&result.tool_name);
        let is_same = id == result.tool_call_id && name == result.tool_name;
        (!is_same).then(|| ToolResultMessage { tool_call_id: id, tool_name: name, ..result.clone() })
    }

    fn unique_id(&mut self, id: &'a CallId) -> CallId {
        let count = self.counts.entry(id).or_default();
        loop {
            *count += 1;
            let accepted = match *count {
                1 => (self.accepted_id)(id.as_str()),
                count => (self.accepted_id)(&format!("{id}-{count}")),
            };
            if self.used.insert(accepted.clone()) {
                return CallId::new(accepted);
            }
        }
    }

    fn name(&self, name: &str) -> String {
        match self.request.tools.iter().any(|tool| tool.name == name) {
            true => name.to_owned(),
            false => accepted_name(name),
        }
    }
}

/// Converts the name of a tool: letters, digits, `_` and `-`, not beginning with a digit or `-` (Gemini).
fn accepted_name(name: &str) -> String {
    let accepted = accepted_characters(name);
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
    let start = if accepted.starts_with(is_start) { "" } else { "_" };
    let mut name = format!("{start}{accepted}");
    name.truncate(MAX_NAME);
    name
}

/// Converts a call id to the characters that providers accept: letters, digits, `_` and `-`. Of an id longer
/// than `max_length`, the end is kept, because it is the most distinctive part.
pub(super) fn call_id(id: &str, max_length: usize) -> String {
    let accepted = accepted_characters(id);
    match accepted.len() {
        0 => "call".to_owned(),
        length => accepted[length.saturating_sub(max_length)..].to_owned(),
    }
}

fn accepted_characters(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect()
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
    use tiller_core::message::ThinkingLevel;
    use tiller_core::unit::{Tokens, UnixMs};

    use super::*;
    use crate::{ToolChoice, catalog};

    fn answer(ids: &[&str]) -> Message {
        let call = |id: &&str| ToolCall::from_streamed((*id).into(), "bash".into(), "{}");
        let content = ids.iter().map(call).map(AssistantBlock::ToolCall).collect();
        Message::Assistant(AssistantMessage { content, ..AssistantMessage::default() })
    }

    fn result(id: &str) -> Message {
        Message::ToolResult(ToolResultMessage {
            tool_call_id: id.into(),
            tool_name: "bash".into(),
            content: Vec::new(),
            details: None,
            is_error: false,
            timestamp: UnixMs(0),
        })
    }

    /// The ids of calls and results in the converted conversation.
    fn converted_ids(messages: Vec<Message>, accepted_id: impl Fn(&str) -> String) -> Vec<String> {
        let request = Request {
            model: Arc::new(catalog::assumed("mistral", "m")),
            system: String::new(),
            messages: messages.into_iter().map(Arc::new).collect(),
            tools: Arc::new([]),
            tool_choice: ToolChoice::Auto,
            max_tokens: Tokens(1),
            temperature: None,
            thinking: ThinkingLevel::Off,
            cache_key: None,
        };
        let messages = with_accepted_calls(&request, accepted_id).messages;
        let ids = messages.iter().flat_map(|message| match &**message {
            Message::Assistant(answer) => answer.tool_calls().map(|call| call.id.to_string()).collect(),
            Message::ToolResult(result) => vec![result.tool_call_id.to_string()],
            _ => Vec::new(),
        });
        ids.collect()
    }

    #[test]
    fn calls_repeated_ids_become_unique_and_results_follow() {
        let log = || vec![answer(&["a", "a"]), result("a"), result("a"), answer(&["a", "b"]), result("b")];
        let ids = converted_ids([log(), vec![result("a")]].concat(), |id| call_id(id, 64));
        assert_eq!(ids, ["a", "a-2", "a", "a-2", "a-3", "b", "b", "a-3"]);
        let ids = converted_ids(log(), nine_alphanumeric);
        assert_eq!(HashSet::<&String>::from_iter([&ids[0], &ids[1], &ids[4], &ids[5]]).len(), 4, "{ids:?}");
        assert!(ids.iter().all(|id| id.len() == 9), "{ids:?}");
    }

    #[test]
    fn calls_different_ids_stay_different() {
        let ids = converted_ids(vec![answer(&["x|1", "x_1", "x_1-2"])], |id| call_id(id, 64));
        assert_eq!(ids, ["x_1", "x_1-2", "x_1-2-2"]);
    }

    #[test]
    fn accepted_name_has_accepted_characters_and_length() {
        assert_eq!(accepted_name("read_file-2"), "read_file-2");
        assert_eq!(accepted_name("functions.bash<|channel|>json"), "functions_bash__channel__json");
        assert_eq!(accepted_name("größe 3"), "gr__e_3");
        assert_eq!([accepted_name(""), accepted_name("3d"), accepted_name("-x")], ["_", "_3d", "_-x"]);
        assert_eq!(accepted_name(&"é".repeat(200)), "_".repeat(64));
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
