//! The server under load: 200 sessions with 5 watchers each, the memory that this takes and gives back, and a run whose
//! watcher doesn't read. It prints the figures of docs/deployment.md (`cargo bench --bench server`); memory is known on
//! Linux only.
#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{
    AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader as AsyncBufReader, Lines,
};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::task::JoinSet;

/// Streams of each session.
const WATCHERS: usize = 5;

/// Deltas of the answer that all watch, 20 ms apart: a fast model's.
const DELTAS: usize = 300;

/// Bytes of each delta of the large answer, 2 ms apart.
const LARGE_DELTA: usize = 10_000;

/// Deltas of the large answer: more than the buffers of a connection hold.
const LARGE_DELTAS: usize = 2_000;

/// Time for a process to give memory back.
const SETTLED: Duration = Duration::from_secs(3);

fn main() {
    // `cargo test --benches` only checks that it works.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let (sessions, deltas, large_deltas) = if is_bench { (200, DELTAS, LARGE_DELTAS) } else { (2, 20, 20) };
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let dir = TempDir::new().unwrap();
        let server = Server::start(&dir);
        for round in 1..=4 {
            println!("round {round}, {sessions} sessions with {WATCHERS} watchers each:");
            load(&server, &dir, sessions, deltas).await;
        }
        stalled(&server, &dir, large_deltas).await;
    });
}

/// The server in a separate process.
struct Server {
    child: Child,
    address: String,
    token: String,
}

impl Server {
    fn start(dir: &TempDir) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tiller"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .current_dir(dir.path())
            .env("TILLER_HOME", dir.path().join("home"))
            .env("TILLER_LOCAL_SERVERS", "off")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (address, token) = line.trim().strip_prefix("http://").unwrap().split_once("/?token=").unwrap();
        Self { address: address.to_owned(), token: token.to_owned(), child }
    }

    /// Sends a request; returns the lines of the response that follow its headers.
    async fn send(&self, method: &str, path: &str, body: &str) -> Lines<AsyncBufReader<TcpStream>> {
        let Self { address, token, .. } = self;
        let mut stream = TcpStream::connect(address).await.unwrap();
        // A response of HTTP/1.0 has no chunks.
        let head = format!("{method} {path} HTTP/1.0\r\nHost: {address}\r\nAuthorization: Bearer {token}");
        let length = body.len();
        let request =
            format!("{head}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut lines = AsyncBufReader::new(stream).lines();
        let status = lines.next_line().await.unwrap().unwrap();
        assert!(status.split(' ').nth(1).unwrap().starts_with('2'), "{method} {path}: {status}");
        while lines.next_line().await.unwrap().is_some_and(|line| !line.is_empty()) {}
        lines
    }

    async fn call(&self, method: &str, path: &str, body: Value) -> Value {
        let mut text = String::new();
        self.send(method, path, &body.to_string())
            .await
            .into_inner()
            .read_to_string(&mut text)
            .await
            .unwrap();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Creates a session with this script; returns its path and the id of its newest event.
    async fn create(&self, dir: &TempDir, script: &str) -> (String, String) {
        let body = json!({ "workspacePath": dir.path(), "provider": "scripted", "model": script });
        let created = self.call("POST", "/api/sessions", body).await;
        let path = format!("/api/sessions/{}", created["id"].as_str().unwrap());
        (path, created["lastEventId"].as_str().unwrap().to_owned())
    }

    async fn chat(&self, session: &str) {
        self.call("POST", &format!("{session}/chat"), json!({ "message": "go" })).await;
    }

    /// Opens a stream after an event.
    async fn watch(&self, session: &str, last: &str) -> Lines<AsyncBufReader<TcpStream>> {
        self.send("GET", &format!("{session}/stream?lastEventId={last}"), "").await
    }

    /// A value of `/metrics`.
    async fn metric(&self, name: &str) -> u64 {
        let mut lines = self.send("GET", "/metrics", "").await;
        while let Some(line) = lines.next_line().await.unwrap() {
            if let Some(value) = line.strip_prefix(name).and_then(|rest| rest.trim().parse().ok()) {
                return value;
            }
        }
        panic!("no metric {name}");
    }

    /// Resident memory now and at most, in MB.
    fn memory(&self) -> String {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let megabytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.split_whitespace().next()?.parse::<f64>().ok()? / 1_024.0)
        };
        match (megabytes("VmRSS:"), megabytes("VmHWM:")) {
            (Some(now), Some(most)) => format!("{now:.0} MB (at most {most:.0} MB)"),
            _ => "unknown".to_owned(),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A server that has exited already.
        let _ = kill(Pid::from_raw(self.child.id().try_into().unwrap()), Signal::SIGTERM);
        let _ = self.child.wait();
    }
}

/// Writes a script with one answer; returns its path.
fn script(dir: &TempDir, name: &str, answer: &Value) -> String {
    let path = dir.path().join(name);
    fs::write(&path, answer.to_string()).unwrap();
    path.display().to_string()
}

/// The events of a run that a watcher got.
#[derive(Default)]
struct Seen {
    events: usize,
    snapshots: usize,
}

/// Reads a run to its end. Every event's number must be the next one, unless a snapshot reports lost ones.
async fn follow(mut lines: Lines<AsyncBufReader<TcpStream>>, last: &str) -> Seen {
    let seq = |id: &str| id.rsplit_once('-').unwrap().1.parse::<u64>().unwrap();
    let (mut newest, mut id, mut seen) = (seq(last), 0, Seen::default());
    loop {
        let line = lines.next_line().await.unwrap().expect("the end of the run");
        if let Some(text) = line.strip_prefix("id: ") {
            id = seq(text);
        } else if let Some(name) = line.strip_prefix("event: ") {
            if name == "snapshot" {
                assert!(id > newest, "snapshot {id} after event {newest}");
                seen.snapshots += 1;
            } else {
                assert_eq!(id, newest + 1, "event {name}");
                seen.events += 1;
            }
            newest = id;
            if name == "agent_settled" {
                return seen;
            }
        } else if line.starts_with("data: {\"runningSince\":null") {
            // A snapshot after the run.
            return seen;
        }
    }
}

/// Runs a prompt in many sessions concurrently, with watchers.
async fn load(server: &Server, dir: &TempDir, sessions: usize, deltas: usize) {
    let answer = json!({ "text": "some words ", "repeat": deltas, "delay_ms": 20 });
    let script = script(dir, "load.jsonl", &answer);
    println!("  before: {}", server.memory());
    let start = Instant::now();
    let mut open = Vec::new();
    for _ in 0..sessions {
        open.push(server.create(dir, &script).await);
    }
    println!("  created in {:.1?}: {}", start.elapsed(), server.memory());
    let mut watchers = JoinSet::new();
    for (session, last) in &open {
        for _ in 0..WATCHERS {
            let (lines, last) = (server.watch(session, last).await, last.clone());
            watchers.spawn(async move { follow(lines, &last).await });
        }
    }
    let start = Instant::now();
    for (session, _) in &open {
        server.chat(session).await;
    }
    let started = start.elapsed();
    let seen = watchers.join_all().await;
    let (events, snapshots) =
        seen.iter().fold((0, 0), |(events, snapshots), one| (events + one.events, snapshots + one.snapshots));
    let elapsed = start.elapsed();
    println!(
        "  {events} events in order and {snapshots} snapshots in {elapsed:.1?} (all prompts sent in {started:.1?}; \
         an answer takes {:.1} s): {}",
        deltas as f64 * 0.02,
        server.memory()
    );
    for (session, _) in &open {
        server.call("POST", &format!("{session}/close"), json!({})).await;
    }
    assert_eq!(server.metric("tiller_sessions_open").await, 0);
    tokio::time::sleep(SETTLED).await;
    println!("  closed: {}", server.memory());
}

/// Times a run of a large answer with a watcher that reads, alone and together with one that doesn't.
async fn stalled(server: &Server, dir: &TempDir, deltas: usize) {
    let answer = json!({ "text": "x".repeat(LARGE_DELTA), "repeat": deltas, "delay_ms": 2 });
    let script = script(dir, "large.jsonl", &answer);
    let megabytes = deltas * LARGE_DELTA / 1_000_000;
    for label in ["alone", "beside a watcher that doesn't read", "alone"] {
        let (session, last) = server.create(dir, &script).await;
        let reading = server.watch(&session, &last).await;
        let idle = if label == "alone" { None } else { Some(server.watch(&session, &last).await) };
        let start = Instant::now();
        server.chat(&session).await;
        let seen = follow(reading, &last).await;
        println!(
            "a watcher of {megabytes} MB {label}: {:.2?}, {} snapshots: {}",
            start.elapsed(),
            seen.snapshots,
            server.memory()
        );
        if let Some(idle) = idle {
            let Seen { events, snapshots } = follow(idle, &last).await;
            println!("  the other one then reads {events} events and {snapshots} snapshots");
        }
        server.call("POST", &format!("{session}/close"), json!({})).await;
    }
}
