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

use super::{Damage, Decode, Silence, Wire, explain};
use crate::error::{ProviderFault, Stage, without_secrets};
use crate::{FailureKind, ProviderError, ProviderStream, StreamEvent, sse};

/// Most bytes of content in an answer: 64 MiB, far above any model's limit. A server that never ends its answer would
/// fill the memory and the log.
const MAX_CONTENT_BYTES: usize = 64 * 1024 * 1024;

/// Bytes that a block counts beside its content: an endless run of empty blocks ends too.
const BLOCK_BYTES: usize = 1024;

/// An answer on its way.
pub(super) struct ResponseStream<D> {
    wire: Arc<Wire>,
    bytes: BoxStream<'static, reqwest::Result<Bytes>>,
    sse: sse::SseDecoder,
    decoder: D,
    ready: VecDeque<Result<StreamEvent, ProviderFault>>,
    progress: Progress,
    content: Content,
}

/// The content of an answer so far.
struct Content {
    /// Its size, at most [`MAX_CONTENT_BYTES`].
    bytes: usize,
    /// Blocks begun.
    blocks: usize,
    /// The time of the last part that added content.
    grew_at: Instant,
}

impl Content {
    /// Counts a part.
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
            self.grew_at = Instant::now();
        }
        if block >= self.blocks {
            self.bytes += (block + 1 - self.blocks) * BLOCK_BYTES;
            self.blocks = block + 1;
        }
        self.bytes += bytes;
        if self.bytes > MAX_CONTENT_BYTES {
            let message = format!("the answer is longer than {} MiB", MAX_CONTENT_BYTES / (1024 * 1024));
            return Err(ProviderFault::new(FailureKind::Fatal, message)
                .with_hint("ask another model (/model, --model)"));
        }
        Ok(())
    }
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

impl<D: Decode + 'static> ResponseStream<D> {
    pub(super) fn new(wire: Arc<Wire>, response: Response, decoder: D, deadline: Instant) -> Self {
        Self::from_bytes(wire, response.bytes_stream().boxed(), decoder, deadline)
    }

    /// An answer whose body comes from `bytes`.
    pub(super) fn from_bytes(
        wire: Arc<Wire>,
        bytes: BoxStream<'static, reqwest::Result<Bytes>>,
        decoder: D,
        deadline: Instant,
    ) -> Self {
        Self {
            wire,
            bytes,
            sse: sse::SseDecoder::default(),
            decoder,
            ready: VecDeque::new(),
            progress: Progress::Silent(deadline),
            content: Content { bytes: 0, blocks: 0, grew_at: Instant::now() },
        }
    }

    pub(super) fn into_parts(self) -> ProviderStream {
        Box::pin(stream::unfold(self, |mut answer| async move { Some((answer.next().await?, answer)) }))
    }

    /// The next part. Nothing comes after the first error or after the end.
    async fn next(&mut self) -> Option<Result<StreamEvent, ProviderError>> {
        loop {
            match self.ready.pop_front() {
                Some(Ok(part)) => {
                    if matches!(part, StreamEvent::Finished(_)) {
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
    fn cleaned(&self, part: StreamEvent) -> StreamEvent {
        match part {
            StreamEvent::Trace { name, data: Value::Object(mut fields) } => {
                let key = self.wire.endpoint.key.as_ref().map(ExposeSecret::expose_secret);
                for value in fields.values_mut() {
                    if let Value::String(text) = value {
                        *text = without_secrets(text, key);
                    }
                }
                StreamEvent::Trace { name, data: Value::Object(fields) }
            }
            other => other,
        }
    }

    async fn read(&mut self) {
        let timeouts = self.wire.endpoint.timeouts;
        let (deadline, silence) = match self.progress {
            Progress::Silent(deadline) => (deadline, Silence::Unanswered),
            Progress::Begun | Progress::Over => {
                let stalled = Instant::now() + timeouts.stall;
                let empty = self.content.grew_at + timeouts.without_content();
                if stalled <= empty { (stalled, Silence::Stalled) } else { (empty, Silence::Empty) }
            }
        };
        // A timeout is noticed only where the stream has to be waited for; a flood of pings never has.
        if deadline <= Instant::now() {
            return self.ready.push_back(Err(silence.fault(timeouts)));
        }
        match timeout_at(deadline, self.bytes.next()).await {
            Ok(Some(Ok(bytes))) => {
                if matches!(self.progress, Progress::Silent(_)) {
                    self.content.grew_at = Instant::now();
                }
                self.progress = Progress::Begun;
                self.take(&bytes);
            }
            Ok(Some(Err(error))) => {
                let fault = self.wire.connection_fault(&error.without_url(), Stage::WithinAnswer);
                self.ready.push_back(Err(fault));
            }
            Ok(None) => self.take_end(),
            Err(_) => self.ready.push_back(Err(silence.fault(timeouts))),
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        let events = match self.sse.push(bytes) {
            Ok(events) => events,
            Err(error) => {
                return self.ready.push_back(Err(ProviderFault::new(FailureKind::Fatal, error.to_string())));
            }
        };
        for event in &events {
            if !self.take_event(event) {
                return;
            }
        }
    }

    /// Decodes an event. False once the answer has ended, well or not.
    fn take_event(&mut self, event: &sse::SseEvent) -> bool {
        let mut parts = Vec::new();
        let decoded = if event.is_damaged {
            Err(Damage::Encoding.report(event, &mut parts))
        } else {
            self.decoder.take(event, &mut parts)
        };
        self.pass_on(parts, decoded)
    }

    fn take_end(&mut self) {
        if let Some(event) = std::mem::take(&mut self.sse).finish()
            && !self.take_event(&event)
        {
            return;
        }
        let mut parts = Vec::new();
        let ended = self.decoder.end(&mut parts);
        self.pass_on(parts, ended);
    }

    /// Queues parts, then the error behind them, if any. False once the answer has ended, well or not.
    fn pass_on(&mut self, parts: Vec<StreamEvent>, decoded: Result<(), ProviderFault>) -> bool {
        let mut decoded = decoded;
        let mut is_finished = false;
        for part in parts {
            if let Err(fault) = self.content.add(&part) {
                decoded = Err(fault);
                break;
            }
            is_finished |= matches!(part, StreamEvent::Finished(_));
            self.ready.push_back(Ok(part));
        }
        let may_go_on = decoded.is_ok() && !is_finished;
        self.ready.extend(decoded.err().map(Err));
        may_go_on
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tiller_core::message::StopReason;

    use super::*;
    use crate::{Endpoint, Timeouts};

    /// Each event's data is a text; `.` ends the answer.
    struct Plain;

    impl Decode for Plain {
        fn take(&mut self, event: &sse::SseEvent, parts: &mut Vec<StreamEvent>) -> Result<(), ProviderFault> {
            parts.push(match event.data.as_str() {
                "." => StreamEvent::Finished(StopReason::Stop),
                text => StreamEvent::Text { block: 0, text: text.to_owned() },
            });
            Ok(())
        }

        fn end(&mut self, _parts: &mut Vec<StreamEvent>) -> Result<(), ProviderFault> {
            Err(crate::http::incomplete())
        }
    }

    const STALL: Duration = Duration::from_secs(10);
    const CONTENT: Duration = Duration::from_secs(30);

    fn wire() -> Wire {
        let timeouts = Timeouts { connect: STALL, first_byte: CONTENT, stall: STALL };
        Wire::new(Endpoint { timeouts, ..Endpoint::new("x", "http://localhost", "X_KEY") }).unwrap()
    }

    /// The texts and the error of an answer whose pieces come one after the other, each after its time.
    async fn play(pieces: Vec<(Duration, Bytes)>) -> (usize, Result<(), String>) {
        let wire = Arc::new(wire());
        let bytes = stream::iter(pieces).then(|(wait, bytes)| async move {
            tokio::time::sleep(wait).await;
            Ok(bytes)
        });
        let answer = ResponseStream::from_bytes(wire, bytes.boxed(), Plain, Instant::now() + CONTENT);
        let parts: Vec<_> = answer.into_parts().collect().await;
        let texts = parts.iter().filter(|part| matches!(part, Ok(StreamEvent::Text { .. }))).count();
        (texts, parts.into_iter().last().unwrap().map(drop).map_err(|error| error.message))
    }

    fn pieces(wait_s: u64, piece: &'static str, count: usize) -> Vec<(Duration, Bytes)> {
        vec![(Duration::from_secs(wait_s), Bytes::from_static(piece.as_bytes())); count]
    }

    #[tokio::test(start_paused = true)]
    async fn answer_content_within_the_limits_goes_on() {
        let text = pieces(9, "data: a\n\n", 20);
        let pings = pieces(9, ": ping\n\n", 3);
        let end = pieces(1, "data: .\n\n", 1);
        assert_eq!(play([pings.clone(), text, pings, end].concat()).await, (20, Ok(())));
    }

    #[tokio::test(start_paused = true)]
    async fn answer_of_nothing_but_pings_is_broken_off() {
        let message = "the answer stalled: no content within 30 s";
        for ping in [": ping\n\n", "data: \n\n", "\n"] {
            for wait_s in [9, 0] {
                let began = Instant::now();
                let mut all = pieces(0, "data: a\n\n", 1);
                all.extend(pieces(wait_s, ping, 100));
                all.extend(pieces(31, "data: .\n\n", 1));
                let (_, ended) = play(all).await;
                let stalled = "the answer stalled: nothing within 10 s";
                assert_eq!(ended, Err(if wait_s == 0 { stalled } else { message }.to_owned()), "{ping:?}");
                assert!(began.elapsed() <= CONTENT);
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn answer_with_a_flood_of_pings_is_broken_off() {
        let wire = Arc::new(wire());
        let pings = stream::iter((0..1_000).map(|_| Ok(Bytes::from_static(b": ping\n\n"))));
        let mut answer = ResponseStream::from_bytes(wire, pings.boxed(), Plain, Instant::now() + CONTENT);
        answer.progress = Progress::Begun;
        tokio::time::advance(CONTENT).await;
        let error = answer.next().await.unwrap().unwrap_err();
        assert_eq!(error.message, "the answer stalled: no content within 30 s");
    }

    #[tokio::test(start_paused = true)]
    async fn answer_of_too_much_content_is_broken_off() {
        let piece = Bytes::from(format!("data: {}\n\n", "x".repeat(1024 * 1024)));
        let (texts, ended) = play(vec![(Duration::ZERO, piece); 80]).await;
        assert_eq!((texts, ended), (63, Err("the answer is longer than 64 MiB".to_owned())));
    }
}
