//! `--otlp URL`: spans and metrics of a run at a collector.

use tiller_test_support::mock_server::{MockServer, Reply};

use crate::sandbox::Sandbox;

const SECRET: &str = "the-secret-word";

/// Runs a prompt with one tool call; returns the exported requests, by path, and stderr.
fn run(collector: &MockServer, url: &str, variables: &[(&str, &str)]) -> (Vec<(String, String)>, String) {
    let mut sandbox = Sandbox::new();
    for (name, value) in variables {
        sandbox = sandbox.with_variable(name, value);
    }
    sandbox.write("a.txt", SECRET);
    let call = r#"{"calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]}"#;
    let script = sandbox.script(&[call, &format!(r#"{{"text": "{SECRET}", "usage": {{"input": 9}}}}"#)]);
    let output = sandbox.run(&["-p", "--provider", "scripted", "--model", &script, "--otlp", url, SECRET]);
    assert_eq!((output.out.trim(), output.code), (SECRET, Some(0)), "{}", output.err);
    let exported = collector.requests().into_iter();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (exported.map(|request| (request.path, text(request.bytes))).collect(), output.err)
}

#[test]
fn telemetry_of_a_run_reaches_the_collector_without_content() {
    let collector = MockServer::start([Reply::status(200, ""), Reply::status(200, "")]);
    let (mut exported, errors) = run(&collector, &collector.url, &[]);
    exported.sort();
    let paths: Vec<&str> = exported.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!((paths, errors.as_str()), (vec!["/v1/metrics", "/v1/traces"], ""));
    // Strings are in protobuf as they are.
    for (at, text) in [
        (0, "gen_ai.client.token.usage"),
        (0, "gen_ai.client.operation.duration"),
        (1, "invoke_agent tiller"),
        (1, "execute_tool read_file"),
        (1, "gen_ai.usage.output_tokens"),
        (1, "service.name"),
    ] {
        assert!(exported[at].1.contains(text), "{text}");
    }
    assert!(exported.iter().all(|(_, text)| !text.contains(SECRET)), "nothing that was said is exported");
}

#[test]
fn telemetry_has_content_if_a_setting_says_so() {
    let collector = MockServer::start([Reply::status(200, ""), Reply::status(200, "")]);
    let url = format!("{}/base/", collector.url);
    let (exported, _) = run(&collector, &url, &[("TILLER_TELEMETRY_CONTENT", "on")]);
    let (_, spans) = exported.iter().find(|(path, _)| path == "/base/v1/traces").unwrap();
    for key in ["gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.call.result"] {
        assert!(spans.contains(key), "{key}");
    }
    assert!(spans.contains(SECRET));
}

#[test]
fn telemetry_failure_is_a_warning_at_the_end() {
    let refused = [Reply::status(403, "no"), Reply::status(403, "no")];
    let collector = MockServer::start(refused);
    let (_, errors) = run(&collector, &collector.url, &[]);
    let expected =
        "warning: --otlp: spans or metrics are missing: 2 export(s) failed: HTTP status 403 Forbidden";
    assert_eq!(errors.trim(), expected);
}

#[test]
fn telemetry_url_that_is_none_is_a_usage_error() {
    let output = Sandbox::new().run(&["-p", "--provider", "demo", "--otlp", "localhost:4318", "hi"]);
    assert_eq!(output.code, Some(2), "{}", output.err);
    assert!(
        output.err.contains("--otlp: `localhost:4318` is not an http:// or https:// URL"),
        "{}",
        output.err
    );
    assert!(output.err.contains("such as http://localhost:4318"), "{}", output.err);
}
