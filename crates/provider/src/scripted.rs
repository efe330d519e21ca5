//! Plays answers from a script file: for tests, recordings and benchmarks.
//!
//! A script is JSON lines, an [`Answer`] each. Which one a request gets depends on the request alone: the one whose number is
//! how many answers the request already contains, failed ones not counted. So a session can be resumed and its script goes on. An
//! answer with `when` stands outside that count: a request whose newest message contains the words gets it. Lines that are empty or
//! begin with `#` are passed over.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use serde::Deserialize;
use serde_json::{Map, Value};
use tiller_core::id::CallId;
use tiller_core::message::{AssistantMessage, Message, StopReason, Usage, joined_text};
use tiller_core::unit::Tokens;
use tiller_files as files;
use tokio::time::{Instant, sleep_until};

use super::catalog::{ImageInput, ModelFacts};
use super::{FailureKind, Provider, ProviderError, ProviderStream, Request, StreamEvent};

/// The name of the provider.
pub const NAME: &str = "scripted";

/// Characters of one piece of text, unless the script says otherwise.
const CHUNK: usize = 12;

/// Largest script, in bytes.
const LARGEST_SCRIPT: u64 = 256 * 1024 * 1024;

/// One line of a script.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptedAnswer {
    /// Answers every request whose newest message contains this, whatever its number.
    pub when: Option<String>,
    /// Fails the request unless the newest message contains this.
    pub expect: Option<String>,
    /// What to think first.
    pub think: String,
    /// What to say.
    pub text: String,
    /// How often to say it; each time is one piece. 0 and 1 are the same.
    pub repeat: usize,
    /// The calls to make.
    pub calls: Vec<ScriptedCall>,
    /// Why the answer ends: `toolUse` with calls, else `stop`, unless given.
    pub stop: Option<StopReason>,
    /// Characters of one piece of text.
    pub chunk: Option<usize>,
    /// Milliseconds before each piece.
    pub delay_ms: u64,
    /// Tokens the answer claims to have cost.
    pub usage: Usage,
    /// What goes wrong in the end.
    pub error: Option<ScriptedError>,
    /// Says nothing more at the end, and doesn't end.
    pub hang: bool,
}

/// A call that a script makes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedCall {
    /// The call's id; one is made from the numbers of answer and call where it is missing.
    pub id: Option<String>,
    /// The tool.
    pub name: String,
    /// The arguments.
    #[serde(default)]
    pub arguments: Map<String, Value>,
}

/// A failure that a script plays.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedError {
    /// Which kind.
    pub failure: ScriptedFailure,
    /// The provider's words.
    pub message: String,
    /// How often it happens before the answer comes through; always, unless given.
    pub times: Option<u32>,
    /// Seconds that a transient one asks to wait.
    pub retry_after_s: Option<u64>,
}

/// Kinds of failure that a script plays.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are those of `Failure`")]
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

/// A script that can't be played.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file can't be read.
    #[error("script {path}: can't be read")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line is no answer.
    #[error("script {path}, line {line}: not an answer")]
    Line {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// Why.
        source: serde_json::Error,
    },
}

/// A provider that plays a script.
pub struct Scripted {
    path: PathBuf,
    answers: Vec<ScriptedAnswer>,
    /// The answers outside the count.
    whenever: Vec<ScriptedAnswer>,
    /// How often each failure that ends has happened, by its message.
    failed: Mutex<HashMap<String, u32>>,
}

impl Scripted {
    /// Reads a script.
    ///
    /// # Errors
    /// When the file can't be read, or a line is no answer.
    pub fn load(path: &Path) -> Result<Self, ScriptError> {
        let io = |source| ScriptError::Io { path: path.to_owned(), source };
        let text = files::read_text(path, LARGEST_SCRIPT).map_err(io)?;
        let lines =
            text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        let answer = |(at, line): (usize, &str)| {
            let wrong = |source| ScriptError::Line { path: path.to_owned(), line: at + 1, source };
            serde_json::from_str(line).map_err(wrong)
        };
        let answers: Vec<ScriptedAnswer> = lines.map(answer).collect::<Result<_, _>>()?;
        Ok(Self { path: path.to_owned(), ..Self::new(answers) })
    }

    /// A script that never was in a file.
    #[must_use]
    pub fn new(answers: Vec<ScriptedAnswer>) -> Self {
        let (whenever, answers) = answers.into_iter().partition(|answer| answer.when.is_some());
        Self { path: PathBuf::from("(in memory)"), answers, whenever, failed: Mutex::default() }
    }

    /// The answer without its failure, once that has happened as often as it is to happen.
    fn tried(&self, answer: &ScriptedAnswer) -> ScriptedAnswer {
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

    /// What is known of the only model: its id is the script's path.
    #[must_use]
    pub fn facts(&self) -> ModelFacts {
        facts(NAME, &self.path.display().to_string())
    }
}

/// Facts of a model that costs nothing and is never full.
pub(super) fn facts(provider: &str, id: &str) -> ModelFacts {
    ModelFacts {
        provider: provider.to_owned(),
        id: id.to_owned(),
        window: Tokens(200_000),
        max_output: Tokens(8_192),
        least_thinking: None,
        sight: ImageInput::Unknown,
        price: None,
    }
}

impl Provider for Scripted {
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
            play(vec![Beat { delay_ms: 0, part: Err(error) }], End::Close)
        };
        let newest = request.messages.last().map(|message| said(message)).unwrap_or_default();
        let is_meant =
            |answer: &&ScriptedAnswer| answer.when.as_ref().is_some_and(|words| newest.contains(words));
        let found = self.whenever.iter().find(is_meant).or_else(|| self.answers.get(number));
        let Some(answer) = found.map(|answer| self.tried(answer)) else {
            return fail(format!("script {} has no answer number {}", self.path.display(), number + 1));
        };
        match &answer.expect {
            Some(expected) if !newest.contains(expected.as_str()) => fail(format!(
                "answer number {} expects `{expected}` in the newest message, which is `{newest}`",
                number + 1
            )),
            Some(_) | None => {
                play(answer.beats(NAME, number), if answer.hang { End::Hang } else { End::Close })
            }
        }
    }
}

/// The answers that a request contains.
pub(super) fn answers_in(request: &Request) -> impl Iterator<Item = &AssistantMessage> {
    request.messages.iter().filter_map(|message| match &**message {
        Message::Assistant(answer) => Some(answer),
        _ => None,
    })
}

/// The text of a message.
pub(super) fn said(message: &Message) -> String {
    match message {
        Message::User(user) => user.content.joined_text(),
        Message::ToolResult(result) => joined_text(&result.content),
        Message::BashExecution(bash) => bash.output.clone(),
        Message::Assistant(answer) => answer.joined_text(),
        Message::System(system) => system.content.clone(),
    }
}

/// A piece, and how long to wait before it.
pub(super) struct Beat {
    delay_ms: u64,
    part: Result<StreamEvent, ProviderError>,
}

/// What comes after the last piece.
#[derive(Clone, Copy)]
pub(super) enum End {
    Close,
    Hang,
}

impl ScriptedAnswer {
    /// The pieces of the answer with number `number`, counted from 0.
    pub(super) fn beats(&self, provider: &str, number: usize) -> Vec<Beat> {
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
            let made_up = || format!("call_{}_{}", number + 1, at + 1);
            let id = CallId::new(call.id.clone().unwrap_or_else(made_up));
            parts.push(StreamEvent::Call { block, id, name: call.name.clone() });
            let json = Value::Object(call.arguments.clone()).to_string();
            parts.extend(pieces(&json, chunk).map(|json| StreamEvent::Arguments { block, json }));
        }
        let delay_ms = self.delay_ms;
        let mut beats: Vec<Beat> = parts.into_iter().map(|part| Beat { delay_ms, part: Ok(part) }).collect();
        beats.extend(self.ending(provider).into_iter().map(|part| Beat { delay_ms: 0, part }));
        beats
    }

    fn ending(&self, provider: &str) -> Vec<Result<StreamEvent, ProviderError>> {
        if let Some(error) = &self.error {
            let (failure, message) = (error.failure(), error.message.clone());
            return vec![Err(ProviderError { provider: provider.to_owned(), failure, message, hint: None })];
        }
        if self.hang {
            return Vec::new();
        }
        let natural = if self.calls.is_empty() { StopReason::Stop } else { StopReason::ToolUse };
        vec![
            Ok(StreamEvent::Usage(self.usage.clone())),
            Ok(StreamEvent::Finished(self.stop.unwrap_or(natural))),
        ]
    }
}

/// Streams pieces in their time, which goes on whether anybody takes them or not, as it does with a server.
pub(super) fn play(beats: Vec<Beat>, end: End) -> ProviderStream {
    let mut due = None;
    let played = stream::iter(beats).then(move |beat| {
        let at = due.unwrap_or_else(Instant::now) + Duration::from_millis(beat.delay_ms);
        due = Some(at);
        async move {
            if beat.delay_ms > 0 {
                sleep_until(at).await;
            }
            beat.part
        }
    });
    match end {
        End::Close => Box::pin(played),
        End::Hang => Box::pin(played.chain(stream::pending())),
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
mod tests {
    use std::sync::Arc;

    use tiller_core::message::{ThinkingLevel, UserMessage};
    use tiller_core::unit::UnixMs;

    use super::*;
    use crate::ToolChoice;

    fn request(messages: Vec<Message>) -> Request {
        Request {
            model: "m".into(),
            system: String::new(),
            messages: messages.into_iter().map(Arc::new).collect(),
            tools: Arc::from([]),
            tool_choice: ToolChoice::Auto,
            max_tokens: Tokens(1),
            temperature: None,
            thinking: ThinkingLevel::Off,
        }
    }

    async fn parts(script: &Scripted, messages: Vec<Message>) -> Vec<Result<StreamEvent, ProviderError>> {
        script.stream(request(messages)).collect().await
    }

    fn user(text: &str) -> Message {
        Message::User(UserMessage::text(text, UnixMs(0)))
    }

    #[tokio::test]
    async fn the_answer_is_the_one_whose_turn_it_is() {
        let answer =
            |text: &str| ScriptedAnswer { text: text.into(), chunk: Some(99), ..ScriptedAnswer::default() };
        let script = Scripted::new(vec![answer("one"), answer("two")]);
        let said_before = Message::Assistant(AssistantMessage::default());
        let second = parts(&script, vec![user("a"), said_before, user("b")]).await;
        assert_eq!(second[0], Ok(StreamEvent::Text { block: 0, text: "two".into() }));
        assert_eq!(second.last(), Some(&Ok(StreamEvent::Finished(StopReason::Stop))));
    }

    #[tokio::test]
    async fn a_failure_ends_when_it_happened_often_enough_and_some_answers_have_no_number() {
        let lines = [
            r#"{"text": "through", "chunk": 99, "error": {"failure": "transient", "message": "busy", "times": 2}}"#,
            r#"{"when": "sum", "text": "aside", "chunk": 99}"#,
        ];
        let script = Scripted::new(lines.map(|line| serde_json::from_str(line).unwrap()).to_vec());
        for fails in [true, true, false] {
            let parts = parts(&script, vec![user("a")]).await;
            assert_eq!(parts.last().unwrap().is_err(), fails);
        }
        let aside = parts(&script, vec![user("sum it up")]).await;
        assert_eq!(aside[0], Ok(StreamEvent::Text { block: 0, text: "aside".into() }));
    }

    #[tokio::test]
    async fn a_script_that_is_over_says_so() {
        let error = parts(&Scripted::new(Vec::new()), vec![user("a")]).await.remove(0).unwrap_err();
        assert_eq!(error.to_string(), "scripted: script (in memory) has no answer number 1");
    }

    #[tokio::test]
    async fn what_was_expected_and_did_not_come_fails_the_request() {
        let script =
            Scripted::new(vec![ScriptedAnswer { expect: Some("x".into()), ..ScriptedAnswer::default() }]);
        let error = parts(&script, vec![user("a")]).await.remove(0).unwrap_err();
        assert!(error.message.contains("expects `x`"), "{error}");
    }

    #[test]
    fn a_wrong_line_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "# a comment\n\n{\"text\": \"a\"}\n{\"txt\": 1}\n").unwrap();
        let error = Scripted::load(file.path()).err().unwrap();
        assert!(error.to_string().ends_with("line 4: not an answer"), "{error}");
    }
}
