//! Failing servers, and retries.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::sandbox::{RunOutput, Sandbox};
use tiller_test_support::mock_server::{AnswerPart, MockServer, Protocol, Reply, StreamEnd, pieces};

fn sandbox(server: &str) -> Sandbox {
    Sandbox::new()
        .with_variable("ANTHROPIC_API_KEY", "sk-ant-secret")
        .with_variable("ANTHROPIC_BASE_URL", server)
        .with_variable("TILLER_RETRY_BASE_MS", "1")
        .with_variable("TILLER_RETRY_CAP_MS", "1")
        .with_variable("TILLER_REQUEST_STALL_S", "1")
        .with_variable("TILLER_REQUEST_FIRST_BYTE_S", "1")
}

fn ask(sandbox: &Sandbox) -> RunOutput {
    sandbox.run(&["-p", "--mode", "json", "--provider", "anthropic", "--model", "claude-sonnet-5-5", "go"])
}

fn events(output: &RunOutput) -> Vec<Value> {
    output.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The delays of retries in milliseconds.
fn retry_delays(output: &RunOutput) -> Vec<u64> {
    let events = events(output);
    let starts = events.iter().filter(|event| event["type"] == "auto_retry_start");
    starts.map(|event| event["delayMs"].as_u64().unwrap()).collect()
}

/// The stop reasons of the answers in the log.
fn endings(sandbox: &Sandbox) -> Vec<String> {
    let log = std::fs::read_to_string(sandbox.logs().remove(0)).unwrap();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ending = |line: Value| line["message"]["stopReason"].as_str().map(str::to_owned);
    lines.filter_map(ending).collect()
}

fn hello() -> Reply {
    Reply::answer([AnswerPart::text("hello at last")])
}

#[test]
fn retry_network_errors_only_the_log_keeps_them() {
    let overloaded = Reply::status(529, r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#);
    let failures = [
        overloaded,
        Reply::status(500, "<html>"),
        hello().with_end(StreamEnd::Early(4)),
        hello().with_end(StreamEnd::Reset(4)),
        hello().with_end(StreamEnd::Stall(0)),
    ];
    let server = MockServer::start(failures.into_iter().chain([hello()]));
    let sandbox = sandbox(&server.url);
    let output = ask(&sandbox);
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert_eq!(retry_delays(&output).len(), 5);
    assert_eq!(endings(&sandbox), ["error", "error", "error", "error", "error", "stop"]);
    let requests = server.requests();
    for request in &requests[1..] {
        assert_eq!(request.body["messages"], requests[0].body["messages"], "a failed answer is never sent");
    }
    assert_eq!(requests.len(), 6);
    assert!(output.out.contains("hello at last"));
}

#[test]
fn retry_stalled_answer() {
    let server = MockServer::start([hello().with_end(StreamEnd::Stall(4)), hello()]);
    let sandbox = sandbox(&server.url);
    let output = ask(&sandbox);
    assert_eq!((output.code, endings(&sandbox)), (Some(0), vec!["error".to_owned(), "stop".to_owned()]));
    let event = events(&output).into_iter().find(|event| event["type"] == "auto_retry_start").unwrap();
    assert!(event["errorMessage"].as_str().unwrap().contains("the answer stalled"), "{event}");
}

#[test]
fn retry_after_header_is_honored_in_each_format() {
    let date = |seconds| {
        let retry_time = SystemTime::now() + Duration::from_secs(seconds);
        let retry_time = jiff::Timestamp::try_from(retry_time).unwrap();
        jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&retry_time).unwrap()
    };
    let busy = |name: &str, value: &str| Reply::status(429, "slow down").header(name, value);
    let server = MockServer::start([
        busy("retry-after", "1"),
        busy("retry-after-ms", "250"),
        busy("retry-after", &date(4)),
        hello(),
    ]);
    let output = ask(&sandbox(&server.url));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let [seconds, milliseconds, date] = retry_delays(&output)[..] else { panic!("{}", output.out) };
    assert_eq!((seconds, milliseconds), (1_000, 250));
    assert!((100..=4_000).contains(&date), "{date}");
}

#[test]
fn retry_after_more_than_five_minutes_is_reported() {
    let server = MockServer::start([Reply::status(429, "slow down").header("retry-after", "301"), hello()]);
    let sandbox = sandbox(&server.url);
    let output = ask(&sandbox);
    assert_eq!((output.code, server.requests().len()), (Some(1), 1));
    assert!(output.out.contains("the provider requested a wait of 301 s"), "{}", output.out);
}

#[test]
fn retry_unreachable_server_up_to_the_setting() {
    let url = MockServer::start([]).url.clone();
    let sandbox = sandbox(&url).with_variable("TILLER_RETRY_MAX", "2");
    let output = ask(&sandbox);
    assert_eq!((output.code, endings(&sandbox).len()), (Some(1), 3));
    assert!(output.out.contains("nothing is listening at 127.0.0.1"), "{}", output.out);
    assert!(output.out.contains("→ start the server, or check"), "{}", output.out);
}

#[test]
fn fallback_model_answers_for_an_overloaded_provider() {
    let busy = MockServer::start([Reply::status(503, "overloaded")]);
    let other = MockServer::start([hello()]);
    let sandbox = sandbox(&busy.url)
        .with_variable("OPENAI_API_KEY", "sk-other")
        .with_variable("OPENAI_BASE_URL", &format!("{}/v1", other.url))
        .with_variable("TILLER_RETRY_MAX", "0")
        .with_variable("TILLER_FALLBACK", "nobody/model,openai/gpt-5");
    let output = sandbox.run(&["-p", "--provider", "anthropic", "--model", "claude-sonnet-5-5", "go"]);
    assert_eq!((output.code, output.out.trim()), (Some(0), "hello at last"), "{}", output.err);
    assert_eq!(endings(&sandbox), ["error", "stop"]);
    assert_eq!((busy.requests().len(), other.requests().len()), (1, 1));
    assert_eq!(other.requests()[0].body["model"], "gpt-5");
    for warning in [
        "fallback: no usable model matches `nobody/model`",
        "anthropic: overloaded (HTTP status 503); using openai/gpt-5 for the rest of this run",
        "back to anthropic/claude-sonnet-5-5",
    ] {
        assert!(output.err.contains(warning), "{warning}: {}", output.err);
    }
}

#[test]
fn retry_damaged_call_never_runs() {
    let call = |path: &str| {
        Reply::answer([AnswerPart::call("c", "write_file", json!({ "path": path, "content": "a" }))])
    };
    let frames = |reply: &Reply| {
        let Reply::Stream(stream) = reply else { unreachable!("a stream") };
        pieces(stream, Protocol::Anthropic)
    };
    let mut cut = frames(&call("cut.txt"));
    cut[4] = b"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"ind\n\n".to_vec();
    let mut without_start = frames(&call("start.txt"));
    without_start.remove(1);
    let damaged = [cut, without_start].map(|frames| Reply::Bytes(frames.concat()));
    let server = MockServer::start(damaged.into_iter().chain([hello()]));
    let sandbox = sandbox(&server.url).with_variable("TILLER_APPROVAL", "auto");
    let output = ask(&sandbox);
    assert_eq!(
        (output.code, endings(&sandbox)),
        (Some(0), ["error", "error", "stop"].map(str::to_owned).to_vec())
    );
    let event = events(&output).into_iter().find(|event| event["type"] == "auto_retry_start").unwrap();
    assert!(event["errorMessage"].as_str().unwrap().contains("the answer is damaged"), "{event}");
    assert_eq!(std::fs::read_dir(sandbox.project()).unwrap().count(), 0, "nothing was written");
}
