//! The interface of wire format decoders, and the errors of damaged and incomplete answers.

use serde_json::json;

use crate::StreamEvent;
use crate::error::{FailureKind, ProviderFault, hints};
use crate::sse::SseEvent;

/// A decoder of a wire format's events.
pub(crate) trait Decode: Send {
    /// Decodes an event. An event of an unknown type is traced; one that violates the protocol ends the
    /// answer.
    fn decode_event(&mut self, event: &SseEvent, parts: &mut Vec<StreamEvent>) -> Result<(), ProviderFault>;

    /// Ends the stream: adds the events that complete the answer, or returns an error if it is incomplete.
    fn end_stream(&mut self, parts: &mut Vec<StreamEvent>) -> Result<(), ProviderFault>;
}

/// A violation of the protocol within an answer. Earlier events may be incomplete too, so the answer counts
/// as interrupted and the request is retried.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Damage {
    #[error("an event is not valid UTF-8")]
    Encoding,
    #[error("invalid event: {0}")]
    Shape(#[from] serde_json::Error),
    #[error("{0}")]
    Order(&'static str),
}

impl Damage {
    /// Traces the damaged event and returns the error that ends the answer.
    pub(crate) fn report(self, event: &SseEvent, parts: &mut Vec<StreamEvent>) -> ProviderFault {
        parts.push(trace("damaged_event", event));
        ProviderFault::new(FailureKind::Interrupted, format!("the answer is damaged: {self}"))
            .with_hint(hints::INTERRUPTED)
    }
}

/// Returns the error of an answer that ended too early.
pub(crate) fn incomplete() -> ProviderFault {
    ProviderFault::new(FailureKind::Interrupted, "the answer ended before it was complete")
        .with_hint(hints::INTERRUPTED)
}

/// Returns the error of an answer that the provider's content filter stopped.
pub(crate) fn filtered() -> ProviderFault {
    ProviderFault::new(FailureKind::Fatal, "the provider's content filter stopped the answer")
        .with_hint("rephrase the request, or choose another model")
}

/// Returns a trace of an event that was not understood. Its data is shortened later, when secrets are
/// removed.
pub(crate) fn trace(name: &'static str, event: &SseEvent) -> StreamEvent {
    let raw = &event.data;
    StreamEvent::Trace { name, data: json!({ "event": event.name, "raw": raw }) }
}
