//! An answer as it streams in: bytes to events to parts, with an eye on the clock.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use reqwest::Response;
use secrecy::ExposeSecret;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::{Decode, Silence, Wire, causes, explain};
use crate::provider::error::{Fault, advice, without_secrets};
use crate::provider::{Failure, Part, PartStream, ProviderError, sse};

/// An answer on its way.
pub(super) struct Answer<D> {
    wire: Arc<Wire>,
    bytes: BoxStream<'static, reqwest::Result<Bytes>>,
    sse: sse::Decoder,
    decoder: D,
    ready: VecDeque<Result<Part, Fault>>,
    progress: Progress,
}

/// How far an answer has come.
#[derive(Clone, Copy)]
enum Progress {
    /// Not a byte of it; to come until then.
    Silent(Instant),
    /// Some of it.
    Begun,
    /// All of it, or as much as there will be.
    Over,
}

impl<D: Decode + 'static> Answer<D> {
    pub(super) fn new(wire: Arc<Wire>, response: Response, decoder: D, deadline: Instant) -> Self {
        Self {
            wire,
            bytes: response.bytes_stream().boxed(),
            sse: sse::Decoder::default(),
            decoder,
            ready: VecDeque::new(),
            progress: Progress::Silent(deadline),
        }
    }

    pub(super) fn into_parts(self) -> PartStream {
        Box::pin(stream::unfold(self, |mut answer| async move { Some((answer.next().await?, answer)) }))
    }

    /// The next part. Nothing comes after the first error or after the end.
    async fn next(&mut self) -> Option<Result<Part, ProviderError>> {
        loop {
            match self.ready.pop_front() {
                Some(Ok(part)) => {
                    if matches!(part, Part::Finished(_)) {
                        self.close();
                    }
                    return Some(Ok(self.cleaned(part)));
                }
                Some(Err(fault)) => {
                    self.close();
                    return Some(Err(explain(&self.wire.endpoint, fault)));
                }
                None if matches!(self.progress, Progress::Over) => return None,
                None => self.read().await,
            }
        }
    }

    fn close(&mut self) {
        self.ready.clear();
        self.progress = Progress::Over;
        self.bytes = stream::empty().boxed();
    }

    /// A trace quotes what came; it may quote the key.
    fn cleaned(&self, part: Part) -> Part {
        match part {
            Part::Trace { name, data: Value::Object(mut fields) } => {
                let key = self.wire.endpoint.key.as_ref().map(ExposeSecret::expose_secret);
                for value in fields.values_mut() {
                    if let Value::String(text) = value {
                        *text = without_secrets(text, key);
                    }
                }
                Part::Trace { name, data: Value::Object(fields) }
            }
            other => other,
        }
    }

    async fn read(&mut self) {
        let timeouts = self.wire.endpoint.timeouts;
        let (deadline, silence) = match self.progress {
            Progress::Silent(deadline) => (deadline, Silence::Unanswered),
            Progress::Begun | Progress::Over => (Instant::now() + timeouts.stall, Silence::Stalled),
        };
        match timeout_at(deadline, self.bytes.next()).await {
            Ok(Some(Ok(bytes))) => {
                self.progress = Progress::Begun;
                self.take(&bytes);
            }
            Ok(Some(Err(error))) => {
                let message = format!("the answer broke off: {}", causes(&error.without_url()));
                let fault = Fault::new(Failure::Interrupted, message).with_hint(advice::BROKEN_OFF);
                self.ready.push_back(Err(fault));
            }
            Ok(None) => self.take_end(),
            Err(_) => self.ready.push_back(Err(silence.fault(timeouts))),
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        let mut parts = Vec::new();
        match self.sse.push(bytes) {
            Ok(events) => events.iter().for_each(|event| self.decoder.take(event, &mut parts)),
            Err(error) => parts.push(Err(Fault::new(Failure::Fatal, error.to_string()))),
        }
        self.ready.extend(parts);
    }

    fn take_end(&mut self) {
        let mut parts = Vec::new();
        if let Some(event) = std::mem::take(&mut self.sse).finish() {
            self.decoder.take(&event, &mut parts);
        }
        if !parts.iter().any(|part| matches!(part, Err(_) | Ok(Part::Finished(_)))) {
            let unfinished = || Fault::new(Failure::Interrupted, "the answer ended before it was complete");
            parts.push(self.decoder.end().ok_or_else(unfinished));
        }
        self.ready.extend(parts);
    }
}
