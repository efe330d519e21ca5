//! A streamed response: decodes bytes into [`StreamEvent`]s, with timeouts.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use reqwest::Response;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::decode::{Damage, Decode};
use super::endpoint::Endpoint;
use super::fault::{ResponseTimeout, connection_fault, into_error, no_stream_fault};
use crate::error::{ProviderFault, Stage, parse_error_response};
use crate::{FailureKind, ProviderError, ProviderStream, StreamEvent, sse};

/// Maximum content of an answer, in bytes: 64 MiB, far above any model's limit. An endless answer would fill
/// memory and the log.
const MAX_CONTENT_BYTES: usize = 64 * 1024 * 1024;

/// Maximum characters of the stream's data in a trace.
const MAX_TRACE_CHARS: usize = 2_000;

/// Bytes to count for a block in addition to its content, so that an endless sequence of empty blocks ends
/// too.
const BLOCK_BYTES: usize = 1024;

/// A response that is being streamed.
pub(super) struct ResponseStream<D> {
    endpoint: Arc<Endpoint>,
    bytes: BoxStream<'static, reqwest::Result<Bytes>>,
    sse: sse::SseDecoder,
    decoder: D,
    events: VecDeque<Result<StreamEvent, ProviderFault>>,
    progress: ResponseProgress,
    content: ContentCount,
}

/// The amount of content so far.
struct ContentCount {
    /// Its size, at most [`MAX_CONTENT_BYTES`].
    bytes: usize,
    /// Number of blocks started.
    blocks: usize,
    /// The time of the last event that added content.
    last_growth: Instant,
}

impl ContentCount {
    /// Counts an event.
    fn add(&mut self, part: &StreamEvent) -> Result<(), ProviderFault> {
        let (block, bytes) = match part {
            StreamEvent::Text { block, text }
            | StreamEvent::Thinking { block, text }
            | StreamEvent::Signature { block, text } => (*block, text.len()),
            StreamEvent::Arguments { block, json } => (*block, json.len()),
            StreamEvent::Call { block, id, name } => (*block, id.as_str().len() + name.len()),
            StreamEvent::End { .. }
            | StreamEvent::Usage(_)
            | StreamEvent::Finished(_)
            | StreamEvent::Trace { .. } => return Ok(()),
        };
        if bytes > 0 {
            self.last_growth = Instant::now();
        }
        if block >= self.blocks {
            self.bytes += (block + 1 - self.blocks) * BLOCK_BYTES;
            self.blocks = block + 1;
        }
        self.bytes += bytes;
        if self.bytes > MAX_CONTENT_BYTES {
            let message = format!("the answer is longer than {} MiB", MAX_CONTENT_BYTES / (1024 * 1024));
            return Err(ProviderFault::new(FailureKind::Fatal, message)
                .with_hint("choose another model (/model, --model)"));
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum ResponseProgress {
    /// No data yet; the deadline for the first byte.
    Waiting(Instant),
    /// Some data has arrived.
    Started,
    /// Ended, or failed.
    Ended,
}

impl<D: Decode + 'static> ResponseStream<D> {
    pub(super) fn new(endpoint: Arc<Endpoint>, response: Response, decoder: D, deadline: Instant) -> Self {
        Self::from_bytes(endpoint, response.bytes_stream().boxed(), decoder, deadline)
    }

    /// Creates the stream of an answer with this body.
    pub(super) fn from_bytes(
        endpoint: Arc<Endpoint>,
        bytes: BoxStream<'static, reqwest::Result<Bytes>>,
        decoder: D,
        deadline: Instant,
    ) -> Self {
        Self {
            endpoint,
            bytes,
            sse: sse::SseDecoder::default(),
            decoder,
            events: VecDeque::new(),
            progress: ResponseProgress::Waiting(deadline),
            content: ContentCount { bytes: 0, blocks: 0, last_growth: Instant::now() },
        }
    }

    pub(super) fn into_stream(self) -> ProviderStream {
        Box::pin(stream::unfold(self, |mut answer| async move { Some((answer.next().await?, answer)) }))
    }

    /// Returns the next event. The stream ends after the first error or the last event.
    async fn next(&mut self) -> Option<Result<StreamEvent, ProviderError>> {
        loop {
            match self.events.pop_front() {
                Some(Ok(part)) => {
                    if matches!(part, StreamEvent::Finished(_)) {
                        self.close();
                    }
                    return Some(Ok(self.redact_trace(part)));
                }
                Some(Err(fault)) => {
                    self.close();
                    return Some(Err(into_error(&self.endpoint, fault)));
                }
                None if matches!(self.progress, ResponseProgress::Ended) => return None,
                None => self.read().await,
            }
        }
    }

    fn close(&mut self) {
        self.events.clear();
        self.progress = ResponseProgress::Ended;
        self.bytes = stream::empty().boxed();
    }

    /// Removes secrets from a trace, which quotes data of the stream, and shortens it.
    fn redact_trace(&self, part: StreamEvent) -> StreamEvent {
        match part {
            StreamEvent::Trace { name, data: Value::Object(mut fields) } => {
                for value in fields.values_mut() {
                    if let Value::String(text) = value {
                        *text = self.endpoint.redact(text).chars().take(MAX_TRACE_CHARS).collect();
                    }
                }
                StreamEvent::Trace { name, data: Value::Object(fields) }
            }
            other => other,
        }
    }

    async fn read(&mut self) {
        let timeouts = self.endpoint.timeouts;
        let (deadline, timeout) = match self.progress {
            ResponseProgress::Waiting(deadline) => (deadline, ResponseTimeout::FirstByte),
            ResponseProgress::Started | ResponseProgress::Ended => {
                let stalled = Instant::now() + timeouts.stall;
                let empty = self.content.last_growth + timeouts.without_content();
                if stalled <= empty {
                    (stalled, ResponseTimeout::Data)
                } else {
                    (empty, ResponseTimeout::Content)
                }
            }
        };
        // The timeout future fires only when the stream is pending; a flood of pings never is.
        if deadline <= Instant::now() {
            return self.events.push_back(Err(timeout.fault(timeouts)));
        }
        match timeout_at(deadline, self.bytes.next()).await {
            Ok(Some(Ok(bytes))) => {
                if matches!(self.progress, ResponseProgress::Waiting(_)) {
                    self.content.last_growth = Instant::now();
                }
                let is_first = !matches!(self.progress, ResponseProgress::Started);
                self.progress = ResponseProgress::Started;
                match describe_page(&bytes).filter(|_| is_first) {
                    Some(page) => self.events.push_back(Err(no_stream_fault(&self.endpoint, &page))),
                    None => self.decode_bytes(&bytes),
                }
            }
            Ok(Some(Err(error))) => {
                let fault = connection_fault(&self.endpoint, &error.without_url(), Stage::DuringAnswer);
                self.events.push_back(Err(fault));
            }
            Ok(None) => self.end_stream(),
            Err(_) => self.events.push_back(Err(timeout.fault(timeouts))),
        }
    }

    fn decode_bytes(&mut self, bytes: &[u8]) {
        let events = match self.sse.push(bytes) {
            Ok(events) => events,
            Err(error) => {
                return self.events.push_back(Err(ProviderFault::new(FailureKind::Fatal, error.to_string())));
            }
        };
        for event in &events {
            if !self.decode_event(event) {
                return;
            }
        }
    }

    /// Decodes an event. Returns false if the answer has ended, successfully or not.
    fn decode_event(&mut self, event: &sse::SseEvent) -> bool {
        let mut parts = Vec::new();
        let decoded = if event.is_damaged {
            Err(Damage::Encoding.report(event, &mut parts))
        } else {
            self.decoder.decode_event(event, &mut parts)
        };
        self.queue(parts, decoded)
    }

    fn end_stream(&mut self) {
        if let Some(event) = std::mem::take(&mut self.sse).finish()
            && !self.decode_event(&event)
        {
            return;
        }
        let mut parts = Vec::new();
        let result = self.decoder.end_stream(&mut parts);
        self.queue(parts, result);
    }

    /// Queues events, then the error, if any. Returns false if the answer has ended, successfully or not.
    fn queue(&mut self, parts: Vec<StreamEvent>, decoded: Result<(), ProviderFault>) -> bool {
        let mut decoded = decoded;
        let mut is_finished = false;
        for part in parts {
            if let Err(fault) = self.content.add(&part) {
                decoded = Err(fault);
                break;
            }
            is_finished |= matches!(part, StreamEvent::Finished(_));
            self.events.push_back(Ok(part));
        }
        let is_open = decoded.is_ok() && !is_finished;
        self.events.extend(decoded.err().map(Err));
        is_open
    }
}

/// Describes the web page that begins with these bytes; `None` if they aren't a page. A stream of events never
/// begins with `<`.
fn describe_page(bytes: &[u8]) -> Option<String> {
    let start = String::from_utf8_lossy(bytes);
    start.trim_start().starts_with('<').then(|| parse_error_response(0, &start).message)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tiller_core::message::StopReason;

    use super::*;
    use crate::http::Timeouts;

    /// Decodes the data of each event as text; `.` ends the answer.
    struct Plain;

    impl Decode for Plain {
        fn decode_event(
            &mut self,
            event: &sse::SseEvent,
            parts: &mut Vec<StreamEvent>,
        ) -> Result<(), ProviderFault> {
            parts.push(match event.data.as_str() {
                "." => StreamEvent::Finished(StopReason::Stop),
                text => StreamEvent::Text { block: 0, text: text.to_owned() },
            });
            Ok(())
        }

        fn end_stream(&mut self, _parts: &mut Vec<StreamEvent>) -> Result<(), ProviderFault> {
            Err(crate::http::decode::incomplete())
        }
    }

    const STALL: Duration = Duration::from_secs(10);
    const CONTENT: Duration = Duration::from_secs(30);

    fn endpoint() -> Endpoint {
        let timeouts = Timeouts { connect: STALL, first_byte: CONTENT, stall: STALL };
        Endpoint { timeouts, ..Endpoint::new("x", "http://localhost", "X_KEY") }
    }

    /// Reads an answer whose pieces arrive after their delays; returns the number of text pieces and the
    /// result.
    async fn read_pieces(pieces: Vec<(Duration, Bytes)>) -> (usize, Result<(), String>) {
        let endpoint = Arc::new(endpoint());
        let bytes = stream::iter(pieces).then(|(wait, bytes)| async move {
            tokio::time::sleep(wait).await;
            Ok(bytes)
        });
        let answer = ResponseStream::from_bytes(endpoint, bytes.boxed(), Plain, Instant::now() + CONTENT);
        let parts: Vec<_> = answer.into_stream().collect().await;
        let texts = parts.iter().filter(|part| matches!(part, Ok(StreamEvent::Text { .. }))).count();
        (texts, parts.into_iter().last().unwrap().map(drop).map_err(|error| error.message))
    }

    fn pieces(wait_s: u64, piece: &'static str, count: usize) -> Vec<(Duration, Bytes)> {
        vec![(Duration::from_secs(wait_s), Bytes::from_static(piece.as_bytes())); count]
    }

    #[tokio::test(start_paused = true)]
    async fn response_content_within_the_limits_continues() {
        let text = pieces(9, "data: a\n\n", 20);
        let pings = pieces(9, ": ping\n\n", 3);
        let end = pieces(1, "data: .\n\n", 1);
        assert_eq!(read_pieces([pings.clone(), text, pings, end].concat()).await, (20, Ok(())));
    }

    #[tokio::test(start_paused = true)]
    async fn response_of_only_pings_is_interrupted() {
        let message = "the answer stalled: no content within 30 s";
        for ping in [": ping\n\n", "data: \n\n", "\n"] {
            for wait_s in [9, 0] {
                let start = Instant::now();
                let mut body = pieces(0, "data: a\n\n", 1);
                body.extend(pieces(wait_s, ping, 100));
                body.extend(pieces(31, "data: .\n\n", 1));
                let (_, result) = read_pieces(body).await;
                let stalled = "the answer stalled: nothing within 10 s";
                assert_eq!(result, Err(if wait_s == 0 { stalled } else { message }.to_owned()), "{ping:?}");
                assert!(start.elapsed() <= CONTENT);
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn response_with_a_flood_of_pings_is_interrupted() {
        let endpoint = Arc::new(endpoint());
        let pings = stream::iter((0..1_000).map(|_| Ok(Bytes::from_static(b": ping\n\n"))));
        let mut answer = ResponseStream::from_bytes(endpoint, pings.boxed(), Plain, Instant::now() + CONTENT);
        answer.progress = ResponseProgress::Started;
        tokio::time::advance(CONTENT).await;
        let error = answer.next().await.unwrap().unwrap_err();
        assert_eq!(error.message, "the answer stalled: no content within 30 s");
    }

    #[tokio::test(start_paused = true)]
    async fn response_with_too_much_content_is_an_error() {
        let piece = Bytes::from(format!("data: {}\n\n", "x".repeat(1024 * 1024)));
        let (texts, result) = read_pieces(vec![(Duration::ZERO, piece); 80]).await;
        assert_eq!((texts, result), (63, Err("the answer is longer than 64 MiB".to_owned())));
    }
}
