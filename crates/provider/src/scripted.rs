//! A provider that replays answers from a script file, for tests, recordings and benchmarks.
//!
//! A script is JSON lines, each a [`ScriptedAnswer`]. The request alone determines its answer: the index is
//! the number of answers that the request already contains, not counting failed ones, so that a script
//! continues when a session is resumed. Answers with `when` have no index: a request whose newest message
//! contains that text gets that answer. Empty lines and lines that begin with `#` are skipped.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use serde::Deserialize;
use serde_json::{Map, Value};
use tiller_core::id::CallId;
use tiller_core::json_error;
use tiller_core::message::{AssistantMessage, Message, StopReason, Usage, joined_text};
use tiller_core::unit::Tokens;
use tiller_files as files;
use tokio::time::{Instant, sleep_until};

use super::catalog::{ImageInput, ModelFacts, ThinkingControl};
use super::{FailureKind, Provider, ProviderError, ProviderStream, Request, StreamEvent};

/// The provider's name.
pub const NAME: &str = "scripted";

/// Characters per piece of text, unless the script sets it.
const CHUNK: usize = 12;

/// Maximum size of a script, in bytes.
const MAX_SCRIPT_BYTES: u64 = 256 * 1024 * 1024;

/// One line of a script.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptedAnswer {
    /// Answers every request whose newest message contains this text, regardless of its number.
    pub when: Option<String>,
    /// Fails the request unless the newest message contains this text.
    pub expect: Option<String>,
    /// The thinking.
    pub think: String,
    /// The text.
    pub text: String,
    /// Number of repetitions of the text, each as one piece. 0 and 1 are the same.
    pub repeat: usize,
    /// The tool calls.
    pub calls: Vec<ScriptedCall>,
    /// The stop reason; by default `toolUse` with calls, else `stop`.
    pub stop: Option<StopReason>,
    /// Characters per piece of text.
    pub chunk: Option<usize>,
    /// Milliseconds before each piece.
    pub delay_ms: u64,
    /// The reported usage.
    pub usage: Usage,
    /// An error at the end.
    pub error: Option<ScriptedError>,
    /// Hangs at the end instead of ending.
    pub hang: bool,
}

/// A scripted tool call.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedCall {
    /// The call's id; by default generated from the numbers of answer and call.
    pub id: Option<String>,
    /// The tool.
    pub name: String,
    /// The arguments.
    #[serde(default)]
    pub arguments: Map<String, Value>,
}

/// A scripted failure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedError {
    /// The kind of failure.
    pub failure: ScriptedFailure,
    /// The message.
    pub message: String,
    /// Number of times it happens before the answer succeeds; unlimited by default.
    pub times: Option<u32>,
    /// Retry delay of a transient failure, in seconds.
    pub retry_after_s: Option<u64>,
}

/// Kinds of scripted failures.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are the same as in `FailureKind`")]
pub enum ScriptedFailure {
    Transient,
    Interrupted,
    Overflow,
    Auth,
    Quota,
    Fatal,
}

impl ScriptedError {
    fn failure(&self) -> FailureKind {
        match self.failure {
            ScriptedFailure::Transient => {
                FailureKind::Transient { retry_after: self.retry_after_s.map(Duration::from_secs) }
            }
            ScriptedFailure::Interrupted => FailureKind::Interrupted,
            ScriptedFailure::Overflow => FailureKind::Overflow,
            ScriptedFailure::Auth => FailureKind::Auth,
            ScriptedFailure::Quota => FailureKind::Quota,
            ScriptedFailure::Fatal => FailureKind::Fatal,
        }
    }
}

/// A script that can't be loaded.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file can't be read.
    #[error("script {path}: can't be read")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A line is not a valid answer.
    #[error("script {path}, line {line}, column {column}: not a valid answer: {problem}")]
    Line {
        /// The file.
        path: PathBuf,
        /// The line number, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// The parser's message.
        problem: String,
    },
}

/// A provider that plays a script.
pub struct ScriptedProvider {
    path: PathBuf,
    answers: Vec<ScriptedAnswer>,
    /// The answers with `when`.
    conditional: Vec<ScriptedAnswer>,
    /// Number of failures so far, by the message of a failure that is limited.
    failed: Mutex<HashMap<String, u32>>,
}

impl ScriptedProvider {
    /// Loads a script.
    ///
    /// # Errors
    /// If the file can't be read, or a line is not a valid answer.
    pub fn load(path: &Path) -> Result<Self, ScriptError> {
        let io = |source| ScriptError::Io { path: path.to_owned(), source };
        let text = files::read_text(path, MAX_SCRIPT_BYTES).map_err(io)?;
        let lines =
            text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        let answer = |(at, line): (usize, &str)| {
            let invalid = |error: serde_json::Error| ScriptError::Line {
                path: path.to_owned(),
                line: at + 1,
                column: error.column(),
                problem: json_error::without_position(&error),
            };
            serde_json::from_str(line).map_err(invalid)
        };
        let answers: Vec<ScriptedAnswer> = lines.map(answer).collect::<Result<_, _>>()?;
        Ok(Self { path: path.to_owned(), ..Self::new(answers) })
    }

    /// Creates a script in memory.
    #[must_use]
    pub fn new(answers: Vec<ScriptedAnswer>) -> Self {
        let (conditional, answers) = answers.into_iter().partition(|answer| answer.when.is_some());
        Self { path: PathBuf::from("(in memory)"), answers, conditional, failed: Mutex::default() }
    }

    /// Removes an answer's failure after it has happened the scripted number of times.
    fn limit_failures(&self, answer: &ScriptedAnswer) -> ScriptedAnswer {
        let mut answer = answer.clone();
        if let Some((message, times)) =
            answer.error.as_ref().and_then(|e| Some((e.message.clone(), e.times?)))
        {
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            let count = failed.entry(message).or_default();
            *count += 1;
            answer.error = answer.error.filter(|_| *count <= times);
        }
        answer
    }

    /// Returns the facts of the only model, whose id is the script's path.
    #[must_use]
    pub fn facts(&self) -> ModelFacts {
        facts(NAME, &self.path.display().to_string())
    }
}

/// Returns the facts of a free model.
pub(super) fn facts(provider: &str, id: &str) -> ModelFacts {
    ModelFacts {
        provider: provider.to_owned(),
        id: id.to_owned(),
        name: id.to_owned(),
        window: Tokens(200_000),
        max_output: Tokens(8_192),
        thinking: ThinkingControl::Never,
        image_input: ImageInput::Unknown,
        takes_pdf: false,
        price: None,
        compat: None,
    }
}

impl Provider for ScriptedProvider {
    fn name(&self) -> &str {
        NAME
    }

    fn api(&self) -> &'static str {
        "scripted"
    }

    fn stream(&self, request: Request) -> ProviderStream {
        let number = answers_in(&request).count();
        let fail = |message: String| {
            let error =
                ProviderError { provider: NAME.into(), failure: FailureKind::Fatal, message, hint: None };
            stream_events(vec![TimedEvent { delay_ms: 0, part: Err(error) }], ScriptEnd::Close)
        };
        let newest = request.messages.last().map(|message| text_of_message(message)).unwrap_or_default();
        let is_match =
            |answer: &&ScriptedAnswer| answer.when.as_ref().is_some_and(|words| newest.contains(words));
        let matching = self.conditional.iter().find(is_match).or_else(|| self.answers.get(number));
        let Some(answer) = matching.map(|answer| self.limit_failures(answer)) else {
            return fail(format!("script {} has no answer number {}", self.path.display(), number + 1));
        };
        match &answer.expect {
            Some(expected) if !newest.contains(expected.as_str()) => fail(format!(
                "answer number {} expects `{expected}` in the newest message, which is `{newest}`",
                number + 1
            )),
            Some(_) | None => stream_events(
                answer.events(NAME, number),
                if answer.hang { ScriptEnd::Hang } else { ScriptEnd::Close },
            ),
        }
    }
}

/// Iterates over the answers in a request.
pub(super) fn answers_in(request: &Request) -> impl Iterator<Item = &AssistantMessage> {
    request.messages.iter().filter_map(|message| match &**message {
        Message::Assistant(answer) => Some(answer),
        _ => None,
    })
}

pub(super) fn text_of_message(message: &Message) -> String {
    match message {
        Message::User(user) => user.content.joined_text(),
        Message::ToolResult(result) => joined_text(&result.content),
        Message::BashExecution(bash) => bash.output.clone(),
        Message::Assistant(answer) => answer.joined_text(),
        Message::System(system) => system.content.clone(),
    }
}

/// A stream event and the delay before it.
pub(super) struct TimedEvent {
    delay_ms: u64,
    part: Result<StreamEvent, ProviderError>,
}

/// The behavior after the last event.
#[derive(Clone, Copy)]
pub(super) enum ScriptEnd {
    Close,
    Hang,
}

impl ScriptedAnswer {
    /// Returns the events of the answer with number `number`, counted from 0.
    pub(super) fn events(&self, provider: &str, number: usize) -> Vec<TimedEvent> {
        let mut parts: Vec<StreamEvent> = Vec::new();
        let chunk = self.chunk.unwrap_or(CHUNK).max(1);
        let mut block = 0;
        if !self.think.is_empty() {
            parts.extend(pieces(&self.think, chunk).map(|text| StreamEvent::Thinking { block, text }));
            block += 1;
        }
        if !self.text.is_empty() && self.repeat > 1 {
            parts.extend((0..self.repeat).map(|_| StreamEvent::Text { block, text: self.text.clone() }));
        } else if !self.text.is_empty() {
            parts.extend(pieces(&self.text, chunk).map(|text| StreamEvent::Text { block, text }));
        }
        for (at, call) in self.calls.iter().enumerate() {
            block += 1;
            let generated = || format!("call_{}_{}", number + 1, at + 1);
            let id = CallId::new(call.id.clone().unwrap_or_else(generated));
            parts.push(StreamEvent::Call { block, id, name: call.name.clone() });
            let json = Value::Object(call.arguments.clone()).to_string();
            parts.extend(pieces(&json, chunk).map(|json| StreamEvent::Arguments { block, json }));
        }
        let delay_ms = self.delay_ms;
        let mut events: Vec<TimedEvent> =
            parts.into_iter().map(|part| TimedEvent { delay_ms, part: Ok(part) }).collect();
        events.extend(self.final_events(provider).into_iter().map(|part| TimedEvent { delay_ms: 0, part }));
        events
    }

    fn final_events(&self, provider: &str) -> Vec<Result<StreamEvent, ProviderError>> {
        if let Some(error) = &self.error {
            let (failure, message) = (error.failure(), error.message.clone());
            return vec![Err(ProviderError { provider: provider.to_owned(), failure, message, hint: None })];
        }
        if self.hang {
            return Vec::new();
        }
        let default_reason = if self.calls.is_empty() { StopReason::Stop } else { StopReason::ToolUse };
        vec![
            Ok(StreamEvent::Usage(self.usage.clone())),
            Ok(StreamEvent::Finished(self.stop.unwrap_or(default_reason))),
        ]
    }
}

/// Streams events on a fixed schedule, which continues even if the stream isn't polled, as with a server.
pub(super) fn stream_events(events: Vec<TimedEvent>, end: ScriptEnd) -> ProviderStream {
    let mut due = None;
    let timed = stream::iter(events).then(move |event| {
        let at = due.unwrap_or_else(Instant::now) + Duration::from_millis(event.delay_ms);
        due = Some(at);
        async move {
            if event.delay_ms > 0 {
                sleep_until(at).await;
            }
            event.part
        }
    });
    match end {
        ScriptEnd::Close => Box::pin(timed),
        ScriptEnd::Hang => Box::pin(timed.chain(stream::pending())),
    }
}

fn pieces(text: &str, chunk: usize) -> impl Iterator<Item = String> {
    let mut rest = text.chars().peekable();
    std::iter::from_fn(move || {
        rest.peek()?;
        Some(rest.by_ref().take(chunk).collect())
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use tiller_core::message::{ThinkingLevel, UserMessage};
    use tiller_core::unit::UnixMs;

    use super::*;
    use crate::ToolChoice;

    pub(crate) fn request(messages: Vec<Message>) -> Request {
        Request {
            model: Arc::new(facts("p", "m")),
            system: String::new(),
            messages: messages.into_iter().map(Arc::new).collect(),
            tools: Arc::from([]),
            tool_choice: ToolChoice::Auto,
            max_tokens: Tokens(1),
            temperature: None,
            thinking: ThinkingLevel::Off,
            cache_key: None,
        }
    }

    async fn parts(
        script: &ScriptedProvider,
        messages: Vec<Message>,
    ) -> Vec<Result<StreamEvent, ProviderError>> {
        script.stream(request(messages)).collect().await
    }

    fn user(text: &str) -> Message {
        Message::User(UserMessage::text(text, UnixMs(0)))
    }

    #[tokio::test]
    async fn scripted_answer_follows_the_answer_count() {
        let answer =
            |text: &str| ScriptedAnswer { text: text.into(), chunk: Some(99), ..ScriptedAnswer::default() };
        let script = ScriptedProvider::new(vec![answer("one"), answer("two")]);
        let said_before = Message::Assistant(AssistantMessage::default());
        let second = parts(&script, vec![user("a"), said_before, user("b")]).await;
        assert_eq!(second[0], Ok(StreamEvent::Text { block: 0, text: "two".into() }));
        assert_eq!(second.last(), Some(&Ok(StreamEvent::Finished(StopReason::Stop))));
    }

    #[tokio::test]
    async fn scripted_failure_is_limited_and_when_is_not_counted() {
        let lines = [
            r#"{"text": "through", "chunk": 99, "error": {"failure": "transient", "message": "busy", "times": 2}}"#,
            r#"{"when": "sum", "text": "aside", "chunk": 99}"#,
        ];
        let script = ScriptedProvider::new(lines.map(|line| serde_json::from_str(line).unwrap()).to_vec());
        for fails in [true, true, false] {
            let parts = parts(&script, vec![user("a")]).await;
            assert_eq!(parts.last().unwrap().is_err(), fails);
        }
        let summary_parts = parts(&script, vec![user("sum it up")]).await;
        assert_eq!(summary_parts[0], Ok(StreamEvent::Text { block: 0, text: "aside".into() }));
    }

    #[tokio::test]
    async fn scripted_after_the_last_answer_is_an_error() {
        let error = parts(&ScriptedProvider::new(Vec::new()), vec![user("a")]).await.remove(0).unwrap_err();
        assert_eq!(error.to_string(), "scripted: script (in memory) has no answer number 1");
    }

    #[tokio::test]
    async fn scripted_unmet_expectation_fails_the_request() {
        let script = ScriptedProvider::new(vec![ScriptedAnswer {
            expect: Some("x".into()),
            ..ScriptedAnswer::default()
        }]);
        let error = parts(&script, vec![user("a")]).await.remove(0).unwrap_err();
        assert!(error.message.contains("expects `x`"), "{error}");
    }

    #[test]
    fn load_invalid_line_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "# a comment\n\n{\"text\": \"a\"}\n{\"txt\": 1}\n").unwrap();
        let error = ScriptedProvider::load(file.path()).err().unwrap();
        let position = format!("script {}, line 4, column 6: not a valid answer: ", file.path().display());
        let problem = error.to_string().strip_prefix(&position).unwrap().to_owned();
        assert!(
            problem.starts_with("unknown field `txt`, expected") && !problem.contains(" at line"),
            "{problem}"
        );
    }
}
