//! The built-in demo: a guided tour for users without an API key.
//!
//! Offline and deterministic. Its answers are the files `demo/*.md`; the tools that it calls really run. It
//! is stateless: the step of the tour follows from the conversation in the request.

use serde_json::{Map, Value, json};
use tiller_core::counted::counted;
use tiller_core::message::{AssistantMessage, Message, ToolResultMessage, Usage};
use tiller_core::tool_spec::ToolSpec;
use tiller_core::unit::Tokens;

use super::catalog::{ImageInput, ModelFacts};
use super::scripted::{
    ScriptEnd, ScriptedAnswer, ScriptedCall, answers_in, facts, stream_events, text_of_message,
};
use super::{Provider, ProviderStream, Request};

/// The provider's name.
pub const NAME: &str = "demo";

/// The id of its only model.
pub const MODEL: &str = "tour";

/// Characters per piece, and the pause before each: a fast, readable stream.
const CHUNK: usize = 6;
const PAUSE_MS: u64 = 45;

/// Duration of the answer during which the user tries queueing and steering.
const LONG_ANSWER_MS: u64 = 30_000;

/// Runs long enough for the user to read two lines and type a third.
const SLOW_COMMAND: &str = "sleep 7";

/// Text in the result of a call that was skipped for a steering message.
const STEERED: &str = "the user steered";

/// The beginning of the result of a denied call.
const DENIED_PREFIX: &str = "denied:";

/// Prefix of a request for a summary.
const SUMMARY_PREFIX: &str = "<conversation>";

const WELCOME: &str = include_str!("demo/welcome.md");
const STEERING: &str = include_str!("demo/steering.md");
const STEERED_WELL: &str = include_str!("demo/steered.md");
const UNSTEERED: &str = include_str!("demo/unsteered.md");
const DENIED: &str = include_str!("demo/denied.md");
const UNFINISHED: &str = include_str!("demo/unfinished.md");
const FOLLOW_UP: &str = include_str!("demo/follow-up.md");
const TREE: &str = include_str!("demo/tree.md");
const LOOKED: &str = include_str!("demo/looked.md");
const SUMMARY: &str = include_str!("demo/summary.md");
const FREE: &str = include_str!("demo/free.md");
const NO_TOOLS: &str = include_str!("demo/no-tools.md");

/// The demo provider.
#[derive(Debug, Default)]
pub struct Demo;

impl Demo {
    /// Returns the facts of its model: it is free and accepts only text.
    #[must_use]
    pub fn facts() -> ModelFacts {
        ModelFacts { image_input: ImageInput::Unsupported, ..facts(NAME, MODEL) }
    }
}

impl Provider for Demo {
    fn name(&self) -> &str {
        NAME
    }

    fn api(&self) -> &'static str {
        "demo"
    }

    fn stream(&self, request: Request) -> ProviderStream {
        let number = answers_in(&request).count();
        let mut answer = next_answer(&request);
        let messages: usize = request.messages.iter().map(|message| text_of_message(message).len()).sum();
        let tool_chars = |tool: &ToolSpec| tool.description.len() + tool.parameters.to_string().len();
        let tools: usize = request.tools.iter().map(tool_chars).sum();
        let input_chars = request.system.len() + tools + messages;
        let output_tokens = answer.text.len() / 4;
        answer.usage = Usage {
            input: Tokens(input_chars as u64 / 4),
            output: Tokens(output_tokens as u64),
            total_tokens: Tokens((input_chars / 4 + output_tokens) as u64),
            ..Usage::default()
        };
        answer.chunk = Some(CHUNK);
        if answer.delay_ms == 0 {
            answer.delay_ms = PAUSE_MS;
        }
        stream_events(answer.events(NAME, number), ScriptEnd::Close)
    }
}

/// Steps of the tour, in order. Each is recognized by the opening line of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TourStep {
    Welcome,
    Steering,
    FollowUp,
    Tree,
    Free,
}

/// Returns the demo's answer to a conversation. It calls only tools that are offered.
fn next_answer(request: &Request) -> ScriptedAnswer {
    let next = tour_answer(request);
    let is_offered = |call: &ScriptedCall| request.tools.iter().any(|tool| *tool.name == *call.name);
    if next.calls.iter().all(is_offered) { next } else { answer(NO_TOOLS.to_owned(), Vec::new()) }
}

/// Returns the answer that the tour has next.
fn tour_answer(request: &Request) -> ScriptedAnswer {
    let (results, user) = since_last_answer(request);
    if user.starts_with(SUMMARY_PREFIX) {
        return answer(SUMMARY.to_owned(), Vec::new());
    }
    let current_step = current_step(request);
    let steered = results.iter().any(|result| result.is_error && text_of(result).contains(STEERED));
    let is_denied =
        |result: &&&ToolResultMessage| result.is_error && text_of(result).starts_with(DENIED_PREFIX);
    let denied = results.iter().filter(is_denied).count();
    let finished = results.iter().filter(|result| !result.is_error).count();
    match current_step {
        TourStep::Welcome => answer(WELCOME.to_owned(), vec![call("list_files", &json!({"path": "."}))]),
        TourStep::Steering if steered => answer(steered_text(&results, &user), Vec::new()),
        TourStep::Steering => {
            let slow = || call("bash", &json!({"command": SLOW_COMMAND}));
            let entries = format_count(&results, "files", ["entry", "entries"]);
            answer(STEERING.replace("{entries}", &entries), vec![slow(), slow(), slow()])
        }
        TourStep::FollowUp if steered => answer(steered_text(&results, &user), Vec::new()),
        TourStep::FollowUp if denied > 0 => answer(denied_text(denied, results.len()), Vec::new()),
        TourStep::FollowUp if finished < results.len() => {
            answer(unfinished_text(finished, results.len()), Vec::new())
        }
        TourStep::FollowUp if !results.is_empty() => answer(UNSTEERED.to_owned(), Vec::new()),
        TourStep::FollowUp => {
            let answer = answer(FOLLOW_UP.replace("{said}", &quoted(&user)), Vec::new());
            let pieces = answer.text.chars().count().div_ceil(CHUNK) as u64;
            ScriptedAnswer { delay_ms: LONG_ANSWER_MS / pieces.max(1), ..answer }
        }
        TourStep::Tree => answer(TREE.replace("{said}", &quoted(&user)), Vec::new()),
        TourStep::Free if !results.is_empty() => answer(
            LOOKED.replace("{matches}", &format_count(&results, "matches", ["match", "matches"])),
            Vec::new(),
        ),
        TourStep::Free => {
            let word = user.split_whitespace().max_by_key(|word| word.len()).unwrap_or("the").to_owned();
            let query = json!({"pattern": word, "literal": true, "limit": 20});
            answer(FREE.replace("{word}", &word), vec![call("grep", &query)])
        }
    }
}

/// Formats a count from the details of results.
fn format_count(results: &[&ToolResultMessage], key: &str, [one, many]: [&str; 2]) -> String {
    let count =
        |result: &ToolResultMessage| result.details.as_ref().and_then(|details| details[key].as_u64());
    counted(results.iter().filter_map(|result| count(result)).sum::<u64>(), one, many)
}

/// Returns the step after the last one that was answered in the conversation.
fn current_step(request: &Request) -> TourStep {
    let answers: Vec<&AssistantMessage> = answers_in(request).collect();
    let has_answer =
        |text: &str| answers.iter().any(|answer| answer.joined_text().starts_with(opening_line(text)));
    let steering_is_over = [STEERED_WELL, UNSTEERED, DENIED, UNFINISHED].into_iter().any(has_answer);
    if has_answer(TREE) {
        TourStep::Free
    } else if has_answer(FOLLOW_UP) {
        TourStep::Tree
    } else if has_answer(STEERING) || steering_is_over {
        TourStep::FollowUp
    } else if has_answer(WELCOME) {
        TourStep::Steering
    } else {
        TourStep::Welcome
    }
}

/// Returns the first line of a string up to its first placeholder, by which its answers are recognized.
fn opening_line(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    line.split('{').next().unwrap_or_default()
}

/// Returns the results since the newest answer, and the user's last message.
fn since_last_answer(request: &Request) -> (Vec<&ToolResultMessage>, String) {
    let newest =
        || request.messages.iter().rev().take_while(|message| !matches!(***message, Message::Assistant(_)));
    let mut results: Vec<&ToolResultMessage> = newest()
        .filter_map(|message| match &**message {
            Message::ToolResult(result) => Some(result),
            _ => None,
        })
        .collect();
    results.reverse();
    let user = newest().find(|message| matches!(***message, Message::User(_)));
    (results, user.map(|message| text_of_message(message)).unwrap_or_default())
}

fn steered_text(results: &[&ToolResultMessage], user: &str) -> String {
    let run_count = results.iter().filter(|result| !text_of(result).contains(STEERED)).count();
    let place = match run_count {
        0 => "before the first call".to_owned(),
        count => format!("after {count} of {}", counted(results.len(), "call", "calls")),
    };
    STEERED_WELL.replace("{place}", &place).replace("{said}", &quoted(user))
}

fn denied_text(denied: usize, calls: usize) -> String {
    let [calls, they, them] = match denied {
        1 => ["a call was", "it", "it"],
        _ if denied == calls => ["the calls were", "they", "them"],
        _ => ["some calls were", "they", "them"],
    };
    DENIED.replace("{calls}", calls).replace("{they}", they).replace("{them}", them)
}

fn unfinished_text(finished: usize, calls: usize) -> String {
    UNFINISHED
        .replace("{finished}", &finished.to_string())
        .replace("{calls}", &counted(calls, "call", "calls"))
}

fn text_of(result: &ToolResultMessage) -> String {
    tiller_core::message::joined_text(&result.content)
}

fn quoted(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let short: String = line.chars().take(60).collect();
    if short.len() < line.len() { format!("{short}…") } else { short }
}

fn answer(text: String, calls: Vec<ScriptedCall>) -> ScriptedAnswer {
    ScriptedAnswer { text: text.trim_end().to_owned(), calls, ..ScriptedAnswer::default() }
}

fn call(name: &str, arguments: &Value) -> ScriptedCall {
    let arguments = arguments.as_object().cloned().unwrap_or_else(Map::new);
    ScriptedCall { id: None, name: name.to_owned(), arguments }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tiller_core::message::{AssistantBlock, UserBlock, UserMessage};
    use tiller_core::tool_spec::{Access, ToolTraits};
    use tiller_core::unit::UnixMs;

    use super::*;
    use crate::scripted::tests::request;

    fn said(text: &str) -> Message {
        Message::User(UserMessage::text(text, UnixMs(0)))
    }

    fn answered(text: &str) -> Message {
        let content = vec![AssistantBlock::text(text)];
        Message::Assistant(AssistantMessage { content, ..AssistantMessage::default() })
    }

    fn result(text: &str) -> ToolResultMessage {
        ToolResultMessage {
            tool_call_id: "c".into(),
            tool_name: "grep".into(),
            content: vec![UserBlock::Text { text: text.into() }],
            details: None,
            is_error: false,
            timestamp: UnixMs(0),
        }
    }

    #[test]
    fn steered_text_counts_the_calls_of_the_answer() {
        let (done, skipped) = (result("done"), result("skipped: the user steered"));
        let counts = |results: &[&ToolResultMessage]| {
            let text = steered_text(results, "stop");
            let (_, counts) = text.split_once("delivered ").unwrap();
            counts.split_once('.').unwrap().0.to_owned()
        };
        assert_eq!(counts(&[&skipped]), "before the first call");
        assert_eq!(counts(&[&done, &skipped, &skipped]), "after 1 of 3 calls");
    }

    #[test]
    fn next_answer_after_stopped_calls_says_they_did_not_finish() {
        let stopped = ToolResultMessage { is_error: true, ..result("not run: the user stopped the agent") };
        let calls = [result("done"), stopped.clone(), stopped].map(Message::ToolResult);
        let mut messages = vec![answered(STEERING)];
        messages.extend(calls);
        messages.push(said("what now?"));
        let answer = next_answer(&request(messages.clone()));
        assert!(
            answer.text.starts_with("**Not finished**: 1 of 3 calls ran to completion;"),
            "{}",
            answer.text
        );

        messages.extend([answered(&answer.text), said("next")]);
        assert!(next_answer(&request(messages)).text.starts_with(opening_line(FOLLOW_UP)));
    }

    #[test]
    fn next_answer_calls_only_offered_tools() {
        let offered = ToolSpec {
            name: "list_files".into(),
            description: String::new(),
            parameters: Arc::new(json!({"type": "object"})),
            traits: ToolTraits::new(Access::Reads),
        };
        for (tools, calls) in [(vec![offered], 1), (Vec::new(), 0)] {
            let request = Request { tools: tools.into(), ..request(vec![said("hi")]) };
            let answer = next_answer(&request);
            assert_eq!(answer.calls.len(), calls);
            assert_eq!(answer.text.starts_with(opening_line(NO_TOOLS)), calls == 0, "{}", answer.text);
        }
    }

    #[test]
    fn denied_text_names_the_calls() {
        let openings = [(1, 3), (2, 3), (3, 3)].map(|(denied, calls)| {
            let text = denied_text(denied, calls);
            text.split_once(". ").unwrap().0.to_owned()
        });
        let expected = [
            "**Not allowed**: a call was denied, so it didn't run",
            "**Not allowed**: some calls were denied, so they didn't run",
            "**Not allowed**: the calls were denied, so they didn't run",
        ];
        assert_eq!(openings, expected);
    }

    #[test]
    fn format_count_is_as_in_the_call() {
        let result = |matches: u64| ToolResultMessage {
            details: Some(json!({ "matches": matches })),
            ..result("[no matches]")
        };
        let format = |matches| format_count(&[&result(matches)], "matches", ["match", "matches"]);
        assert_eq!([0, 1, 2].map(format), ["0 matches", "1 match", "2 matches"]);
    }
}
