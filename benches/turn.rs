//! The cost of a turn over HTTP: a tool call compared to the bare command, and a one-shot prompt. It prints its
//! measurements (`cargo bench --bench turn`).
#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use serde_json::json;
use tempfile::TempDir;

/// Calls in one run.
const CALLS: usize = 50;

/// Runs whose CPU time is averaged.
const ONE_SHOTS: u32 = 10;

/// The model's time for the arguments of a call: about two tokens.
const ARGUMENTS: Duration = Duration::from_millis(20);

/// The model's behavior.
#[derive(Clone, Copy)]
enum Answer {
    /// Calls `true` in bash this many times, with this pause within each call, then ends.
    Calls(usize, Duration),
    /// This many deltas of text.
    Text(usize),
}

/// A model over HTTP that measures the time from the end of each answer to the next request.
struct Model {
    url: String,
    gaps: Arc<Mutex<Vec<Duration>>>,
}

impl Model {
    fn start(answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let gaps = Arc::new(Mutex::new(Vec::new()));
        let shared_gaps = Arc::clone(&gaps);
        spawn(move || {
            let (mut count, mut ended) = (0, None::<Instant>);
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                stream.set_nodelay(true).unwrap();
                read_request(&stream);
                shared_gaps.lock().unwrap().extend(ended.map(|ended| ended.elapsed()));
                stream.write_all(HEAD.as_bytes()).unwrap();
                reply(&mut stream, answer, count);
                count += 1;
                ended = Some(Instant::now());
            }
        });
        Self { url, gaps }
    }

    /// Runs a prompt to its end; returns the CPU time, including its commands'.
    fn run(&self) -> Duration {
        let (work_dir, home) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let before = cpu_of_children();
        let status = Command::new(env!("CARGO_BIN_EXE_tiller"))
            .args(["-p", "--yes", "--model", "anthropic/claude-sonnet-5-5", "go"])
            .current_dir(work_dir.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", home.path())
            .env("TILLER_HOME", home.path().join("tiller"))
            .env("ANTHROPIC_API_KEY", "none")
            .env("ANTHROPIC_BASE_URL", &self.url)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "{status}");
        cpu_of_children() - before
    }
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

fn read_request(stream: &TcpStream) {
    let (mut reader, mut length) = (BufReader::new(stream), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    reader.read_exact(&mut vec![0; length]).unwrap();
}

fn reply(stream: &mut TcpStream, answer: Answer, count: usize) {
    let message = json!({"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [],
        "usage": {"input_tokens": 10, "output_tokens": 1}});
    let start = event("message_start", json!({"message": message}));
    let (block, pieces, pause, stop) = match answer {
        Answer::Calls(calls, pause) if count < calls => {
            let tool = json!({"type": "tool_use", "id": format!("t{count}"), "name": "bash", "input": {}});
            // Equal calls would be taken for a loop.
            let arguments = json!({ "command": format!("true {count}") }).to_string();
            let piece = json!({"type": "input_json_delta", "partial_json": arguments});
            (tool, vec![piece], pause, "tool_use")
        }
        Answer::Calls(..) => (text(), vec![json!({"type": "text_delta", "text": "done"})], NONE, "end_turn"),
        Answer::Text(count) => {
            (text(), vec![json!({"type": "text_delta", "text": "word "}); count], NONE, "end_turn")
        }
    };
    stream
        .write_all(
            (start + &event("content_block_start", json!({"index": 0, "content_block": block}))).as_bytes(),
        )
        .unwrap();
    sleep(pause);
    for pieces in pieces.chunks(1_000) {
        let events: String = pieces
            .iter()
            .map(|piece| event("content_block_delta", json!({"index": 0, "delta": piece})))
            .collect();
        stream.write_all(events.as_bytes()).unwrap();
    }
    let end = event("content_block_stop", json!({"index": 0}))
        + &event("message_delta", json!({"delta": {"stop_reason": stop}, "usage": {"output_tokens": 20}}))
        + &event("message_stop", json!({}));
    stream.write_all(end.as_bytes()).unwrap();
}

const NONE: Duration = Duration::ZERO;

fn text() -> serde_json::Value {
    json!({"type": "text", "text": ""})
}

fn event(name: &str, mut data: serde_json::Value) -> String {
    data["type"] = name.into();
    format!("event: {name}\ndata: {data}\n\n")
}

fn cpu_of_children() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let micros =
        |time: nix::sys::time::TimeVal| u64::try_from(time.tv_sec() * 1_000_000 + time.tv_usec()).unwrap();
    Duration::from_micros(micros(usage.user_time()) + micros(usage.system_time()))
}

fn bare_bash() -> Duration {
    let start = Instant::now();
    let status = Command::new("bash").args(["-c", "true"]).stdin(Stdio::null()).status().unwrap();
    assert!(status.success());
    start.elapsed()
}

fn main() {
    // `cargo test --benches` only checks that it builds and starts.
    if !std::env::args().any(|argument| argument == "--bench") {
        Model::start(Answer::Calls(1, NONE)).run();
        return;
    }
    for (label, pause) in [("written in 20 ms", ARGUMENTS), ("written at once", NONE)] {
        let model = Model::start(Answer::Calls(CALLS, pause));
        model.run();
        let turns = median(&mut model.gaps.lock().unwrap());
        let bare = median(&mut (0..CALLS).map(|_| bare_bash()).collect::<Vec<_>>());
        println!(
            "a turn that calls `true` in bash, the call {label}: {} ms; bare `bash -c true`: {} ms",
            ms(turns),
            ms(bare)
        );
    }
    let model = Model::start(Answer::Text(20));
    let cpu: Duration = (0..ONE_SHOTS).map(|_| model.run()).sum();
    println!("a one-shot prompt: {} ms of CPU", ms(cpu / ONE_SHOTS));
}

fn ms(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1_000.0)
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
