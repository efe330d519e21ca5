//! The cost of an answer of 100,000 deltas in each wire format, compared to `curl`, which only reads it. It prints its
//! measurements (`cargo bench --bench deltas`).
#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use serde_json::json;
use tempfile::TempDir;
use tiller_test_support::mock_server::{AnswerPart, MockServer, Reply};

const DELTAS: usize = 100_000;

/// Text of a delta; the server sends four characters in each.
const DELTA: &str = "word";

/// Name, `api` in models.json, and path of a request of each format.
const FORMATS: [(&str, &str, &str); 4] = [
    ("Anthropic Messages", "anthropic-messages", "/v1/messages"),
    ("OpenAI Chat Completions", "openai-completions", "/v1/chat/completions"),
    ("OpenAI Responses", "openai-responses", "/v1/responses"),
    ("Gemini", "google-generative-ai", "/v1/models/m:streamGenerateContent"),
];

fn main() {
    // `cargo test --benches` only checks that it builds and starts.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let deltas = if is_bench { DELTAS } else { 1 };
    for (name, api, path) in FORMATS {
        let answer = || Reply::answer([AnswerPart::text(&DELTA.repeat(deltas))]);
        let server = MockServer::start([answer(), answer()]);
        let tiller = cpu_of(&mut tiller(&server.url, api, TempDir::new().unwrap().path()));
        let curl = cpu_of(Command::new("curl").args(["-sN", "-d", "{}", &(server.url.clone() + path)]));
        let ratio = tiller.as_secs_f64() / curl.as_secs_f64().max(f64::EPSILON);
        println!("{deltas} deltas, {name}: tiller {tiller:.0?} of CPU, curl {curl:.0?}, ratio {ratio:.1}");
    }
}

/// A prompt to a provider of this format at this address.
fn tiller(url: &str, api: &str, home: &Path) -> Command {
    let provider = json!({
        "baseUrl": format!("{url}/v1"), "api": api, "apiKey": "none", "models": [{ "id": "m" }]
    });
    let models = json!({ "providers": { "bench": provider } });
    for dir in ["tiller", "work"] {
        fs::create_dir_all(home.join(dir)).unwrap();
    }
    fs::write(home.join("tiller/models.json"), models.to_string()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tiller"));
    command
        .args(["-p", "--model", "bench/m", "--no-tools", "go"])
        .current_dir(home.join("work"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", home)
        .env("TILLER_HOME", home.join("tiller"));
    command
}

/// Runs a command to its end; returns its CPU time.
fn cpu_of(command: &mut Command) -> Duration {
    let before = cpu_of_children();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap();
    assert!(status.success(), "{command:?}: {status}");
    cpu_of_children() - before
}

fn cpu_of_children() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let micros =
        |time: nix::sys::time::TimeVal| u64::try_from(time.tv_sec() * 1_000_000 + time.tv_usec()).unwrap();
    Duration::from_micros(micros(usage.user_time()) + micros(usage.system_time()))
}
