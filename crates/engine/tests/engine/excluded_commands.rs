//! Privacy of `!!` commands: no byte of any request contains their text.

use std::sync::Arc;

use tempfile::TempDir;
use tiller_core::unit::Tokens;
use tiller_engine::{AgentSession, BashContext, BranchSummary, PromptOptions, SessionBuilder};
use tiller_provider::compat::Compat;
use tiller_provider::{Anthropic, Endpoint, Gemini, OpenAiChat, OpenAiResponses, Provider, ProviderRegistry};
use tiller_test_support::mock_server::{AnswerPart, MockServer, Reply};
use tiller_tools::process::Runner;

/// Part of the command and of its output.
const SECRET: &str = "zq-hush";

/// Runs a `!!` command whose line and output contain the secret, and a `!` one with visible output.
async fn commands(agent: &AgentSession) {
    let line = format!("echo {SECRET}; echo 'hsuh-qz' | rev");
    let record = agent.execute_bash(line, BashContext::Exclude).await.unwrap();
    assert!(record.output.contains(SECRET) && record.exclude_from_context, "{record:?}");
    agent.execute_bash("echo seen-$((40+2))", BashContext::Include).await.unwrap();
}

async fn prompt(agent: &AgentSession, text: &str) {
    agent.prompt(text, PromptOptions::default()).await.unwrap();
    agent.settled().await.unwrap();
}

/// Returns a call that takes long enough for a command to run in the meantime.
fn slow_call() -> Reply {
    Reply::answer([AnswerPart::call(
        "c1",
        "bash",
        serde_json::json!({"command": "until [ -e go ]; do sleep 0.02; done"}),
    )])
}

/// Returns the provider of a wire format.
fn provider(server: &MockServer, format: usize) -> Arc<dyn Provider> {
    let endpoint = |name: &str, path: &str| {
        Endpoint::new(name, format!("{}{path}", server.url), "KEY").with_key("key".into())
    };
    match format {
        0 => Arc::new(Anthropic::new(endpoint("anthropic", "")).unwrap()),
        1 => Arc::new(OpenAiChat::new(endpoint("openai", "/v1/"), Compat::COMMON).unwrap()),
        2 => Arc::new(OpenAiResponses::new(endpoint("openai", "/v1/")).unwrap()),
        3 => Arc::new(Gemini::new(endpoint("gemini", "/v1beta")).unwrap()),
        other => panic!("no wire format has the number {other}"),
    }
}

/// Runs commands at every point of a session, each followed by a prompt.
async fn run_session(server: &MockServer, format: usize) {
    let dir = TempDir::new().unwrap();
    let setup = || {
        let mut providers = ProviderRegistry::default();
        let provider = provider(server, format);
        let facts = tiller_provider::catalog::assumed(provider.name(), "m");
        providers.add(provider, vec![facts]);
        SessionBuilder::new(providers)
            .log_dir(dir.path().join("logs"))
            .commands(Runner::with_supervisor(env!("CARGO_BIN_EXE_engine-supervisor")))
            .approve_all()
            .configure(|options| options.compaction.keep = Some(Tokens(10)))
    };
    let agent = setup().start(dir.path()).unwrap();
    commands(&agent).await;
    prompt(&agent, &format!("first {}", "words ".repeat(300))).await;
    let first_leaf = agent.reader().leaf().unwrap();

    agent.prompt("while it works", PromptOptions::default()).await.unwrap();
    let mut events = agent.subscribe();
    while agent.snapshot().await.unwrap().in_progress.calls.is_empty() {
        events.next().await.unwrap().unwrap();
    }
    commands(&agent).await;
    agent.steer("steered").await.unwrap();
    std::fs::write(dir.path().join("go"), "").unwrap();
    agent.settled().await.unwrap();
    commands(&agent).await;

    agent.navigate(first_leaf.clone(), BranchSummary::Made { instructions: None }).await.unwrap();
    prompt(&agent, "on another branch").await;
    agent.fork(first_leaf).await.unwrap();
    commands(&agent).await;
    // Long enough for a summary to be shorter.
    prompt(&agent, &format!("in a fork {}", "words ".repeat(900))).await;
    agent.clone_session().await.unwrap();
    prompt(&agent, "in a copy").await;
    commands(&agent).await;
    agent.compact(None).await.unwrap();
    prompt(&agent, "compacted").await;
    let path = agent.reader().path().unwrap().to_owned();
    agent.close().await.unwrap();

    let agent = setup().resume(&path).start(dir.path()).unwrap();
    prompt(&agent, "resumed").await;
    agent.close().await.unwrap();
    let log = std::fs::read_to_string(&path).unwrap();
    assert!(log.contains(SECRET), "it is in the log");
}

#[tokio::test]
async fn bash_excluded_command_is_in_no_byte_of_any_request() {
    for provider in [0, 1, 2, 3] {
        let answer = |text: &str| Reply::answer([AnswerPart::text(text)]);
        let script = [
            answer("one"),
            slow_call(),
            answer("two"),
            answer("what the branch was about"),
            answer("three"),
            answer("four"),
            answer("five"),
            answer("a summary"),
            answer("six"),
            answer("seven"),
            // A split turn is summarized in two requests.
            answer("eight"),
        ];
        let server = MockServer::start(script);
        run_session(&server, provider).await;
        let requests = server.requests();
        assert_eq!(requests.len(), 11);
        let mut included = 0;
        for (at, request) in requests.iter().enumerate() {
            let text =
                format!("{} {:?} {}", request.path, request.headers, String::from_utf8_lossy(&request.bytes));
            assert!(!text.contains(SECRET) && !text.contains("hsuh"), "request {at} of {provider}: {text}");
            included += usize::from(text.contains("seen-42"));
        }
        assert!(included >= 6, "what is not secret is sent: {included}");
    }
}
