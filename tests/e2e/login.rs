//! `tiller login` and `tiller logout`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::sandbox::Sandbox;
use tiller_test_support::mock_server::{AnswerPart, MockServer, Reply};
use tiller_test_support::terminal::TerminalKey;

const ASK: [&str; 5] = ["-p", "--provider", "openai", "--model", "gpt-5"];

#[test]
fn login_key_from_stdin_is_used_until_logout() {
    let server = MockServer::start([Reply::answer([AnswerPart::text("Here I am.")])]);
    let sandbox = Sandbox::new();
    let auth = sandbox.home().join("tiller/auth.json");
    let unknown = sandbox.run_with_stdin(&["login", "nobody"], "sk-hush\n");
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.err.contains("providers that take a key: anthropic, openai"), "{}", unknown.err);
    assert!(!auth.exists());
    let stored = sandbox.run_with_stdin(&["login", "openai"], "sk-hush-hush\n");
    assert_eq!(stored.code, Some(0), "{}", stored.err);
    assert!(
        stored.out.contains("stored the key for openai") && !stored.out.contains("hush"),
        "{}",
        stored.out
    );
    assert_eq!(auth.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let listed = sandbox.run(&["login"]);
    assert!(listed.out.contains("openai      key in auth.json"), "{}", listed.out);
    assert!(listed.out.contains("subscriptions (Claude, ChatGPT) are not supported"), "{}", listed.out);
    let sandbox = sandbox.with_variable("OPENAI_BASE_URL", &server.url);
    let output = sandbox.run(&[&ASK[..], &["are you there?"]].concat());
    assert_eq!((output.out.trim(), output.code), ("Here I am.", Some(0)), "{}", output.err);
    assert_eq!(server.requests()[0].headers["authorization"], "Bearer sk-hush-hush");
    let removed = sandbox.run(&["logout", "openai"]);
    assert!(removed.out.contains("removed the key for"), "{} {}", removed.out, removed.err);
    assert_eq!(fs::read_to_string(&auth).unwrap(), "{}\n");
    let second_output = sandbox.run(&["logout", "openai"]);
    assert_eq!(second_output.code, Some(2));
    assert!(second_output.err.contains("no key for openai is stored"), "{}", second_output.err);
}

#[test]
fn logout_names_the_variable_of_the_key() {
    let sandbox = Sandbox::new().with_variable("ANTHROPIC_API_KEY", "sk-hush");
    let output = sandbox.run(&["logout", "anthropic"]);
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("unset ANTHROPIC_API_KEY") && !output.err.contains("hush"), "{}", output.err);
    let stored = sandbox.run_with_stdin(&["login", "anthropic"], "sk-other\n");
    assert!(stored.out.contains("ANTHROPIC_API_KEY takes precedence"), "{}", stored.out);
}

#[test]
fn login_typed_key_is_not_echoed() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open(&["login", "anthropic"]);
    terminal.wait_for("API key for anthropic");
    terminal.send("sk-hush-hush");
    terminal.key(TerminalKey::Enter);
    assert_eq!(terminal.wait().exit_code(), 0);
    assert!(!terminal.output().contains("hush"), "{}", terminal.output());
    assert!(terminal.is_cooked());
    let auth = fs::read_to_string(sandbox.home().join("tiller/auth.json")).unwrap();
    assert!(auth.contains("sk-hush-hush"), "{auth}");
    let mut terminal = sandbox.open(&["login", "openai"]);
    terminal.wait_for("API key for openai");
    terminal.key(TerminalKey::Ctrl('c'));
    assert_eq!(terminal.wait().exit_code(), 130);
    assert!(terminal.is_cooked());
}

#[test]
fn login_key_of_a_local_server_is_sent_to_it() {
    let list = r#"{"data": [{"id": "qwen", "max_model_len": 40000}]}"#;
    let refused = || Reply::status(401, "");
    let listed = || Reply::status(200, list);
    let replies = [refused(), listed(), listed(), Reply::answer([AnswerPart::text("Here I am.")])];
    let server = MockServer::start(replies);
    let sandbox = Sandbox::new().with_variable("VLLM_BASE_URL", &format!("{}/v1", server.url));
    let ask = ["-p", "--provider", "vllm", "are you there?"];
    let output = sandbox.run(&ask);
    assert_eq!(output.code, Some(2), "{}", output.out);
    let advice = "vllm: its server returns HTTP status 401; no key: set VLLM_API_KEY, or store a key with \
                  `tiller login vllm` or /login";
    assert!(output.err.contains(advice), "{}", output.err);
    let stored = sandbox.run_with_stdin(&["login", "vllm"], "sk-hush-hush\n");
    assert!(stored.out.contains("its models are available now"), "{} {}", stored.out, stored.err);
    let output = sandbox.run(&ask);
    assert_eq!((output.out.trim(), output.code), ("Here I am.", Some(0)), "{}", output.err);
    assert_eq!(server.requests()[3].headers["authorization"], "Bearer sk-hush-hush");
    drop(server);
    let stored = sandbox.run_with_stdin(&["login", "vllm"], "sk-hush-hush\n");
    assert!(stored.out.contains("its server isn't listing any models"), "{}", stored.out);
}
