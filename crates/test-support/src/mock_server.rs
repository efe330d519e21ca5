//! A server that plays a model from a script over HTTP, and records the requests.
//!
//! ```ignore
//! let server = MockServer::start([Reply::answer([AnswerPart::text("hello")]).split_at_random(7)]);
//! // Anthropic's base URL is then `server.url`, OpenAI's `{server.url}/v1`; any key will do.
//! assert_eq!(server.requests()[0].body["model"], "claude-opus-5-5");
//! ```
#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test that can't set up its server has failed")]

mod gemini;
mod responses;

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::Response;
use futures_util::StreamExt;
use futures_util::stream as futures;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// A part of an answer, encoded in the protocol of the request.
#[derive(Clone, Debug)]
pub enum AnswerPart {
    /// Text, in deltas of a few characters.
    Text(String),
    /// Thinking; its signature is the encrypted content in OpenAI's Responses and belongs to the first call after it in
    /// Gemini's protocol; Chat Completions have none.
    Thought { text: String, signature: String },
    /// Calls whose arguments arrive interleaved.
    Calls(Vec<ScriptedCall>),
    /// Raw data of an event.
    Raw(String),
}

/// A tool call.
#[derive(Clone, Debug)]
pub struct ScriptedCall {
    pub id: String,
    pub name: String,
    pub arguments: Value,
}

impl AnswerPart {
    pub fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    pub fn thought(text: &str, signature: &str) -> Self {
        Self::Thought { text: text.into(), signature: signature.into() }
    }

    pub fn call(id: &str, name: &str, arguments: Value) -> Self {
        Self::Calls(vec![ScriptedCall { id: id.into(), name: name.into(), arguments }])
    }
}

/// A reply to a request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A stream.
    Stream(ScriptedStream),
    /// A stream of raw bytes.
    Bytes(Vec<u8>),
    /// A status with headers and a body.
    Status { status: u16, headers: Vec<(String, String)>, body: String },
}

/// A streamed answer and its irregularities.
#[derive(Clone, Debug, Default)]
pub struct ScriptedStream {
    pub parts: Vec<AnswerPart>,
    /// Seed for splitting the bytes at random positions; `None` sends each event whole.
    pub seed: Option<u64>,
    pub crlf: bool,
    /// Adds comments and pings between the events.
    pub noise: bool,
    /// Input and output tokens in the usage.
    pub tokens: (u64, u64),
    /// Ends because of the token limit.
    pub cut_short: bool,
    pub end: StreamEnd,
    /// Time between two pieces; with zero, other tasks run in between.
    pub interval: Duration,
}

/// A stream's end. Numbers count the events sent before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamEnd {
    /// The regular end.
    #[default]
    Complete,
    /// Closes the body without the final events.
    Early(usize),
    /// Breaks the connection.
    Reset(usize),
    /// Never ends.
    Stall(usize),
    /// The regular end, after many pings in the middle with [`PING`] between them.
    Pings { after: usize, count: usize },
}

/// Interval of pings.
pub const PING: Duration = Duration::from_millis(50);

impl Reply {
    /// An answer with these parts and the regular end.
    pub fn answer(parts: impl IntoIterator<Item = AnswerPart>) -> Self {
        Self::Stream(ScriptedStream {
            parts: parts.into_iter().collect(),
            tokens: (10, 5),
            ..ScriptedStream::default()
        })
    }

    /// An error response.
    pub fn status(status: u16, body: &str) -> Self {
        Self::Status { status, headers: Vec::new(), body: body.into() }
    }

    /// Adds a header to an error response.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if let Self::Status { headers, .. } = &mut self {
            headers.push((name.into(), value.into()));
        }
        self
    }

    /// Splits the bytes at random positions, also within characters and line ends.
    pub fn split_at_random(self, seed: u64) -> Self {
        self.with(|stream| stream.seed = Some(seed))
    }

    /// Ends lines with CR LF.
    pub fn crlf(self) -> Self {
        self.with(|stream| stream.crlf = true)
    }

    /// Adds comments and pings between the events.
    pub fn with_noise(self) -> Self {
        self.with(|stream| stream.noise = true)
    }

    /// Sets the input and output tokens in the usage.
    pub fn tokens(self, input: u64, output: u64) -> Self {
        self.with(|stream| stream.tokens = (input, output))
    }

    /// Ends because of the token limit.
    pub fn cut_short(self) -> Self {
        self.with(|stream| stream.cut_short = true)
    }

    /// Sets the end of the stream.
    pub fn with_end(self, end: StreamEnd) -> Self {
        self.with(|stream| stream.end = end)
    }

    /// Sets the time between pieces.
    pub fn with_interval(self, interval: Duration) -> Self {
        self.with(|stream| stream.interval = interval)
    }

    fn with(mut self, change: impl FnOnce(&mut ScriptedStream)) -> Self {
        if let Self::Stream(stream) = &mut self {
            change(stream);
        }
        self
    }
}

/// A recorded request.
#[derive(Clone, Debug)]
pub struct RecordedRequest {
    /// The path with its query.
    pub path: String,
    /// By lower-case name.
    pub headers: BTreeMap<String, String>,
    /// The body; null if it is not JSON.
    pub body: Value,
    /// The raw body.
    pub bytes: Vec<u8>,
}

/// A server on its own thread; stopped when dropped.
pub struct MockServer {
    /// `http://127.0.0.1:PORT`, without a trailing slash.
    pub url: String,
    state: Arc<Mutex<ScriptState>>,
    stop: Option<oneshot::Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct ScriptState {
    script: VecDeque<Reply>,
    requests: Vec<RecordedRequest>,
}

impl MockServer {
    /// Answers each request with the next reply: in Anthropic's protocol for `…/messages`, in OpenAI's Responses for
    /// `…/responses`, in Gemini's for `…:streamGenerateContent`, in Chat Completions for any other path. After the last
    /// reply, requests fail with status 500 and "the script is over".
    pub fn start(script: impl IntoIterator<Item = Reply>) -> Self {
        let state =
            Arc::new(Mutex::new(ScriptState { script: script.into_iter().collect(), requests: vec![] }));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stop_signal) = oneshot::channel();
        let thread_state = Arc::clone(&state);
        let thread = std::thread::spawn(move || serve(listener, thread_state, stop_signal));
        Self { url, state, stop: Some(stop), thread: Some(thread) }
    }

    /// Adds a reply to the script, one that names the server's URL.
    pub fn push(&self, reply: Reply) {
        self.state.lock().unwrap().script.push_back(reply);
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.state.lock().unwrap().requests.clone()
    }
}

impl Drop for MockServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

fn serve(
    listener: std::net::TcpListener,
    state: Arc<Mutex<ScriptState>>,
    stop_signal: oneshot::Receiver<Infallible>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let app = Router::new().fallback(answer).with_state(state);
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        tokio::select! {
            _ = stop_signal => {}
            served = async { axum::serve(listener, app).await } => served.unwrap(),
        }
    });
    // Stalled answers never end.
    runtime.shutdown_background();
}

async fn answer(State(state): State<Arc<Mutex<ScriptState>>>, request: Request) -> Response<Body> {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let headers = head.headers.iter();
    let recorded = RecordedRequest {
        path: head.uri.path_and_query().map_or(String::new(), ToString::to_string),
        headers: headers
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect(),
        body: serde_json::from_slice(&body).unwrap_or_default(),
        bytes: body.to_vec(),
    };
    let reply = {
        let mut state = state.lock().unwrap();
        state.requests.push(recorded);
        state.script.pop_front()
    };
    match reply {
        Some(Reply::Stream(stream)) => streamed(&stream, Protocol::of_path(head.uri.path())),
        Some(Reply::Bytes(bytes)) => {
            Response::builder().header("content-type", "text/event-stream").body(Body::from(bytes)).unwrap()
        }
        Some(Reply::Status { status, headers, body }) => {
            let response = Response::builder().status(status);
            let add = |response: axum::http::response::Builder, pair: &(String, String)| {
                response.header(&pair.0, &pair.1)
            };
            headers.iter().fold(response, add).body(Body::from(body)).unwrap()
        }
        None => Response::builder().status(500).body(Body::from("the script is over")).unwrap(),
    }
}

fn streamed(reply: &ScriptedStream, protocol: Protocol) -> Response<Body> {
    let pieces = pieces(reply, protocol).into_iter().map(|piece| Ok::<_, Infallible>(Bytes::from(piece)));
    // A pause between two pieces, so that they are sent one by one.
    let (interval, start_time) = (reply.interval, Instant::now());
    let pieces = futures::iter((0..).zip(pieces)).then(move |(at, piece)| async move {
        if interval.is_zero() {
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep_until(start_time + interval * at).await;
        }
        piece
    });
    let body = match reply.end {
        StreamEnd::Complete | StreamEnd::Early(_) => Body::from_stream(pieces),
        StreamEnd::Stall(_) => Body::from_stream(pieces.chain(futures::pending())),
        StreamEnd::Pings { after, count } => Body::from_stream(with_pings(pieces, after, count)),
        StreamEnd::Reset(_) => {
            // Late enough for the previous bytes to be read.
            let reset = futures::once(async {
                tokio::time::sleep(Duration::from_millis(20)).await;
                Err(io::Error::from(io::ErrorKind::ConnectionReset))
            });
            Body::from_stream(pieces.map(|piece| piece.map_err(io::Error::other)).chain(reset))
        }
    };
    Response::builder().header("content-type", "text/event-stream; charset=utf-8").body(body).unwrap()
}

type Piece = Result<Bytes, Infallible>;

fn with_pings(
    pieces: impl futures_util::Stream<Item = Piece> + Send + 'static,
    after: usize,
    count: usize,
) -> impl futures_util::Stream<Item = Piece> + Send + 'static {
    pieces.enumerate().flat_map(move |(at, piece)| {
        let pings = if at == after { count } else { 0 };
        let pings = futures::iter(0..pings).then(|_| async {
            tokio::time::sleep(PING).await;
            Ok(Bytes::from_static(b": ping\n\n"))
        });
        pings.chain(futures::iter([piece]))
    })
}

/// Characters of a delta.
const PIECE: usize = 4;

/// The protocol of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Anthropic,
    OpenAi,
    OpenAiResponses,
    Gemini,
}

impl Protocol {
    fn of_path(path: &str) -> Self {
        if path.ends_with("/messages") {
            Self::Anthropic
        } else if path.ends_with("/responses") {
            Self::OpenAiResponses
        } else if path.ends_with(":streamGenerateContent") {
            Self::Gemini
        } else if path.ends_with("/chat/completions") {
            Self::OpenAi
        } else {
            panic!("no wire format has the path {path}")
        }
    }
}

/// An event: its name, if any, and its data.
type Frame = (Option<String>, String);

/// The pieces that are sent one by one.
pub fn pieces(stream: &ScriptedStream, protocol: Protocol) -> Vec<Vec<u8>> {
    let mut frames = match protocol {
        Protocol::Anthropic => anthropic(stream),
        Protocol::OpenAi => open_ai(stream),
        Protocol::OpenAiResponses => responses::frames(stream),
        Protocol::Gemini => gemini::frames(stream),
    };
    match stream.end {
        StreamEnd::Complete | StreamEnd::Pings { .. } => {}
        StreamEnd::Early(count) | StreamEnd::Reset(count) | StreamEnd::Stall(count) => frames.truncate(count),
    }
    let frames_text = frames.iter().map(|frame| write(frame, stream, protocol));
    match stream.seed {
        None => frames_text.map(String::into_bytes).collect(),
        Some(seed) => split_at_random(&frames_text.collect::<String>().into_bytes(), seed),
    }
}

fn write((name, data): &Frame, stream: &ScriptedStream, protocol: Protocol) -> String {
    let end = if stream.crlf { "\r\n" } else { "\n" };
    let mut text = String::new();
    if stream.noise {
        text.push_str(&[": keep-alive", "", ""].join(end));
        if protocol == Protocol::Anthropic {
            text.push_str(&["event: ping", r#"data: {"type": "ping"}"#, "", ""].join(end));
        }
    }
    if let Some(name) = name {
        text.push_str(&format!("event: {name}{end}"));
    }
    text + &format!("data: {data}{end}{end}")
}

/// Splits `bytes` into pieces of 1 to 9 bytes, sometimes more.
fn split_at_random(bytes: &[u8], seed: u64) -> Vec<Vec<u8>> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut rest = bytes;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let length = match state % 10 {
            0 => 100,
            number => usize::try_from(number).unwrap(),
        };
        let (piece, tail) = rest.split_at(length.min(rest.len()));
        pieces.push(piece.to_vec());
        rest = tail;
    }
    pieces
}

fn fragments(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(PIECE).map(|piece| piece.iter().collect()).collect()
}

/// The fragments of all calls' arguments, one of each in turn.
fn interleaved(calls: &[ScriptedCall]) -> Vec<(usize, String)> {
    let fragments: Vec<Vec<String>> =
        calls.iter().map(|call| fragments(&call.arguments.to_string())).collect();
    let longest = fragments.iter().map(Vec::len).max().unwrap_or(0);
    let turn = |at: usize| {
        fragments
            .iter()
            .enumerate()
            .filter_map(move |(call, fragments)| Some((call, fragments.get(at)?.clone())))
    };
    (0..longest).flat_map(turn).collect()
}

fn anthropic(stream: &ScriptedStream) -> Vec<Frame> {
    let (input, output) = stream.tokens;
    let mut events = vec![json!({
        "type": "message_start",
        "message": { "id": "msg_1", "role": "assistant", "content": [], "usage": { "input_tokens": input, "output_tokens": 1 } },
    })];
    let mut frames = Vec::new();
    let mut index = 0;
    for part in &stream.parts {
        match part {
            AnswerPart::Text(text) => {
                let deltas =
                    fragments(text).into_iter().map(|text| json!({ "type": "text_delta", "text": text }));
                events.extend(block(index, json!({ "type": "text", "text": "" }), deltas.collect()));
                index += 1;
            }
            AnswerPart::Thought { text, signature } => {
                let deltas = fragments(text)
                    .into_iter()
                    .map(|text| json!({ "type": "thinking_delta", "thinking": text }));
                let signature = json!({ "type": "signature_delta", "signature": signature });
                let start = json!({ "type": "thinking", "thinking": "", "signature": "" });
                events.extend(block(index, start, deltas.chain([signature]).collect()));
                index += 1;
            }
            AnswerPart::Calls(calls) => {
                events.extend(anthropic_calls(index, calls));
                index += calls.len();
            }
            AnswerPart::Raw(data) => {
                frames.extend(events.drain(..).map(|event| frame(&event)));
                frames.push((None, data.clone()));
            }
        }
    }
    let reason = match (stream.cut_short, has_calls(stream)) {
        (true, _) => "max_tokens",
        (false, true) => "tool_use",
        (false, false) => "end_turn",
    };
    events.push(json!({
        "type": "message_delta",
        "delta": { "stop_reason": reason, "stop_sequence": null },
        "usage": { "output_tokens": output },
    }));
    events.push(json!({ "type": "message_stop" }));
    frames.extend(events.iter().map(frame));
    frames
}

fn block(index: usize, start: Value, deltas: Vec<Value>) -> Vec<Value> {
    let mut events = vec![json!({ "type": "content_block_start", "index": index, "content_block": start })];
    let delta = |delta| json!({ "type": "content_block_delta", "index": index, "delta": delta });
    events.extend(deltas.into_iter().map(delta));
    events.push(json!({ "type": "content_block_stop", "index": index }));
    events
}

fn anthropic_calls(first: usize, calls: &[ScriptedCall]) -> Vec<Value> {
    let start = |(at, call): (usize, &ScriptedCall)| {
        let block = json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": {} });
        json!({ "type": "content_block_start", "index": first + at, "content_block": block })
    };
    let delta = |(at, json): (usize, String)| {
        let delta = json!({ "type": "input_json_delta", "partial_json": json });
        json!({ "type": "content_block_delta", "index": first + at, "delta": delta })
    };
    let stop = |at: usize| json!({ "type": "content_block_stop", "index": first + at });
    let mut events: Vec<Value> = calls.iter().enumerate().map(start).collect();
    events.extend(interleaved(calls).into_iter().map(delta));
    events.extend((0..calls.len()).map(stop));
    events
}

fn frame(event: &Value) -> Frame {
    (event["type"].as_str().map(str::to_owned), event.to_string())
}

fn has_calls(stream: &ScriptedStream) -> bool {
    stream.parts.iter().any(|part| matches!(part, AnswerPart::Calls(_)))
}

fn open_ai(stream: &ScriptedStream) -> Vec<Frame> {
    let chunk = |delta: Value, reason: Option<&str>| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
        let chunk = json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice], "usage": null });
        (None, chunk.to_string())
    };
    let mut frames = vec![chunk(json!({ "role": "assistant", "content": "" }), None)];
    let mut index = 0;
    for part in &stream.parts {
        match part {
            AnswerPart::Text(text) => {
                frames
                    .extend(fragments(text).into_iter().map(|text| chunk(json!({ "content": text }), None)));
            }
            AnswerPart::Thought { text, .. } => {
                let delta = |text| chunk(json!({ "reasoning_content": text }), None);
                frames.extend(fragments(text).into_iter().map(delta));
            }
            AnswerPart::Calls(calls) => {
                let deltas = open_ai_calls(index, calls);
                frames.extend(deltas.into_iter().map(|delta| chunk(json!({ "tool_calls": [delta] }), None)));
                index += calls.len();
            }
            AnswerPart::Raw(data) => frames.push((None, data.clone())),
        }
    }
    let reason = match (stream.cut_short, has_calls(stream)) {
        (true, _) => "length",
        (false, true) => "tool_calls",
        (false, false) => "stop",
    };
    frames.push(chunk(json!({}), Some(reason)));
    let (input, output) = stream.tokens;
    let usage =
        json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output });
    frames.push((None, json!({ "choices": [], "usage": usage }).to_string()));
    frames.push((None, "[DONE]".to_owned()));
    frames
}

fn open_ai_calls(first: usize, calls: &[ScriptedCall]) -> Vec<Value> {
    let start = |(at, call): (usize, &ScriptedCall)| {
        let function = json!({ "name": call.name, "arguments": "" });
        json!({ "index": first + at, "id": call.id, "type": "function", "function": function })
    };
    let delta =
        |(at, json): (usize, String)| json!({ "index": first + at, "function": { "arguments": json } });
    let mut deltas: Vec<Value> = calls.iter().enumerate().map(start).collect();
    deltas.extend(interleaved(calls).into_iter().map(delta));
    deltas
}
