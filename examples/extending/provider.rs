//! A custom provider: a parrot that repeats the user's message, and counts words on request.

use std::pin::Pin;

use futures_util::{Stream, stream};
use tiller::message::{Message, StopReason, joined_text};
use tiller::provider::{ModelFacts, Provider, ProviderError, Request, StreamEvent, catalog};
use tiller::unit::Tokens;

/// Repeats the user's message; for "count: TEXT" it calls a tool.
pub(crate) struct Parrot;

impl Parrot {
    /// Its only model: a small window and no price.
    pub(crate) fn facts() -> ModelFacts {
        ModelFacts { window: Tokens(8_000), max_output: Tokens(1_000), ..catalog::assumed("parrot", "grey") }
    }
}

impl Provider for Parrot {
    fn name(&self) -> &str {
        "parrot"
    }

    fn api(&self) -> &'static str {
        "parrot"
    }

    fn stream(
        &self,
        request: Request,
    ) -> Pin<Box<dyn Stream<Item = Result<StreamEvent, ProviderError>> + Send>> {
        // A real provider sends the request here, and converts the response to events as it arrives.
        let events = match request.messages.last().map(|message| &**message) {
            Some(Message::User(user)) => match user.content.joined_text().strip_prefix("count:") {
                Some(text) => tool_call(text.trim()),
                None => text_answer(&user.content.joined_text()),
            },
            Some(Message::ToolResult(result)) => text_answer(&joined_text(&result.content)),
            _ => text_answer("?"),
        };
        Box::pin(stream::iter(events.into_iter().map(Ok)))
    }
}

/// A text answer. A block is complete with the answer, unless an `End` completes it earlier.
fn text_answer(text: &str) -> Vec<StreamEvent> {
    vec![StreamEvent::Text { block: 0, text: text.to_owned() }, StreamEvent::Finished(StopReason::Stop)]
}

/// An answer that calls a tool. Arguments may come in any number of pieces.
fn tool_call(text: &str) -> Vec<StreamEvent> {
    let json = serde_json::json!({ "text": text }).to_string();
    vec![
        StreamEvent::Call { block: 0, id: "call-1".into(), name: "count_words".to_owned() },
        StreamEvent::Arguments { block: 0, json },
        StreamEvent::Finished(StopReason::ToolUse),
    ]
}
