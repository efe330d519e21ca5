//! The session builder and `run`, as used by embedding programs.

use tiller_core::message::{AssistantMessage, Image, StopReason, UserMessage};
use tiller_engine::{EmbedError, RunRequest, SessionBuilder, run};
use tiller_provider::ModelError;
use tiller_tools::policy::RuleSource;
use tiller_tools::tool::{BashTimes, ToolEnvironment};
use tiller_tools::workspace::Workspace;

use super::*;

fn scripted(answers: Vec<ScriptedAnswer>) -> (ProviderRegistry, Arc<RecordingModel>) {
    let script = ScriptedProvider::new(answers);
    let facts = vec![script.facts()];
    let summaries = Arc::new(Semaphore::new(Semaphore::MAX_PERMITS));
    let model = Arc::new(RecordingModel {
        script,
        recorded: Mutex::default(),
        logs: PathBuf::from("none"),
        summaries,
    });
    let mut providers = ProviderRegistry::default();
    providers.add(Arc::clone(&model) as Arc<dyn Provider>, facts);
    (providers, model)
}

fn builder(answers: Vec<ScriptedAnswer>) -> SessionBuilder {
    SessionBuilder::new(scripted(answers).0)
}

fn user(text: &str) -> Message {
    Message::User(UserMessage::text(text, UnixMs(1)))
}

fn answer(text: &str) -> Message {
    let content = vec![tiller_core::message::AssistantBlock::text(text)];
    Message::Assistant(AssistantMessage {
        content,
        provider: "scripted".into(),
        ..AssistantMessage::default()
    })
}

#[tokio::test]
async fn run_sends_a_prompt_and_returns_the_result() {
    let dir = TempDir::new().unwrap();
    let final_answer = json!({"text": "Fine.", "usage": {"input": 7, "output": 3}});
    let tool_answer = json!({"calls": [{"name": "list_files"}], "usage": {"input": 5, "output": 1}});
    let script = [tool_answer, final_answer].map(|line| serde_json::from_value(line).unwrap()).to_vec();
    let (providers, model) = scripted(script);
    let picture = Image { data: "AA==".into(), mime_type: "image/png".into() };
    let builder = SessionBuilder::new(providers).log_dir(dir.path().join("logs"));
    let request = RunRequest { images: vec![picture], ..RunRequest::new("how are you?", builder) };
    let result = run(request, dir.path()).await.unwrap();
    assert_eq!((result.text.as_str(), result.outcome, result.error), ("Fine.", RunOutcome::Completed, None));
    assert_eq!((result.usage.total(), result.messages.len()), (Tokens(16), 4));
    let path = result.path.unwrap();
    assert_eq!(*Reader::open(&path).unwrap().id(), result.session);
    SessionManager::new(Placement::Memory, dir.path().into()).open(&path).expect("the lock is free");
    let requests = model.recorded.lock().unwrap();
    assert!(format!("{:?}", requests[0].0.messages).contains("image/png"));
    let offered: Vec<String> = requests[0].0.tools.iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(
        offered,
        [
            "read_file",
            "list_files",
            "find_files",
            "grep",
            "edit_file",
            "write_file",
            "web_fetch",
            "update_plan"
        ],
        "no bash unasked"
    );
}

#[tokio::test]
async fn builder_resumed_session_keeps_its_thinking_level() {
    let dir = TempDir::new().unwrap();
    let builder = || {
        let script = ScriptedProvider::new(vec![text_answer("one")]);
        let facts = vec![tiller_provider::ModelFacts {
            thinking: tiller_provider::ThinkingControl::LOW_TO_HIGH,
            ..script.facts()
        }];
        let mut providers = ProviderRegistry::default();
        providers.add(Arc::new(script) as Arc<dyn Provider>, facts);
        SessionBuilder::new(providers).model("scripted").log_dir(dir.path().join("logs"))
    };
    let request = RunRequest::new("go", builder().thinking(ThinkingLevel::High));
    let path = run(request, dir.path()).await.unwrap().path.unwrap();
    for (builder, expected) in [
        (builder(), ThinkingLevel::High),
        (builder().model("scripted:low"), ThinkingLevel::Low),
        (builder().thinking(ThinkingLevel::Off), ThinkingLevel::Off),
    ] {
        let agent = builder.resume(&path).start(dir.path()).unwrap();
        assert_eq!(agent.state().await.unwrap().state.thinking, expected);
        agent.close().await.unwrap();
    }
}

#[tokio::test]
async fn run_keeps_to_the_environment_and_rules_of_its_program() {
    let dir = TempDir::new().unwrap();
    let bash = |command: &str| json!({"calls": [{"name": "bash", "arguments": {"command": command}}]});
    let lines = [bash("exec sleep 600"), bash("git push"), bash("echo $MARK."), json!({"text": "done"})];
    let script = lines.map(|line| serde_json::from_value(line).unwrap()).to_vec();
    let runner = Runner::with_supervisor(env!("CARGO_BIN_EXE_engine-supervisor"))
        .with_prefix("MARK=1")
        .without_variables(["PATH_TO_KEYS".to_owned()]);
    let workspace = Workspace::new(dir.path()).unwrap();
    let environment = ToolEnvironment {
        bash: BashTimes { timeout_s: 1, max_timeout_s: 1 },
        ..ToolEnvironment::new(workspace, runner.clone(), dir.path().join("outputs"))
    };
    let tools = Tools::built_in(environment).restrict(&["bash".to_owned()]).unwrap();
    let builder = builder(script).tools(tools).commands(runner).configure(|options| {
        let rules = json!([
            {"tool": "bash", "match": "git push*", "decision": "deny"},
            {"tool": "bash", "decision": "allow"},
        ]);
        assert_eq!(
            options.policy.rules.add(&rules, &RuleSource::Program("this program".into())),
            [] as [String; 0]
        );
    });
    let result = run(RunRequest::new("go", builder), dir.path()).await.unwrap();
    let results: Vec<String> = result
        .messages
        .iter()
        .filter_map(|message| match &**message {
            Message::ToolResult(result) => Some(joined_text(&result.content)),
            _ => None,
        })
        .collect();
    assert_eq!(results.len(), 3, "{results:?}");
    assert!(results[0].contains("stopped after 1 s"), "{}", results[0]);
    assert!(results[1].starts_with("denied: "), "{}", results[1]);
    assert_eq!(results[2], "1.\n");
}

#[tokio::test]
async fn run_that_fails_is_a_result_with_the_error() {
    let error = json!({"error": {"failure": "auth", "message": "no such key"}});
    let builder = builder(vec![serde_json::from_value(error).unwrap()]);
    let result = run(RunRequest::new("go", builder), &std::env::temp_dir()).await.unwrap();
    assert_eq!((result.outcome, result.path), (RunOutcome::Failed, None));
    assert_eq!(result.error.as_deref(), Some("scripted: no such key"));
}

#[tokio::test]
async fn builder_session_with_messages_continues_from_them() {
    let dir = TempDir::new().unwrap();
    let (providers, model) = scripted(vec![text_answer("first"), text_answer("And you are Ada.")]);
    let builder = SessionBuilder::new(providers)
        .log_dir(dir.path().join("logs"))
        .messages(vec![user("I am Ada."), answer("Hello, Ada.")]);
    let agent = builder.start(dir.path()).unwrap();
    let path = agent.reader().path().unwrap().to_owned();
    assert_eq!(
        message_lines(&Reader::open(&path).unwrap()),
        ["user I am Ada.", "answer Hello, Ada. Stop"],
        "at once"
    );
    agent.prompt("who am I?", PromptOptions::default()).await.unwrap();
    let settled = agent.settled().await.unwrap();
    assert_eq!((settled.outcome, settled.messages.len()), (RunOutcome::Completed, 2));
    let request = model.recorded.lock().unwrap()[0].0.messages.clone();
    assert_eq!((request.len(), &*request[0]), (3, &user("I am Ada.")));
    agent.close().await.unwrap();

    let agent =
        self::builder(vec![]).log_dir(dir.path().join("logs")).resume(&path).start(dir.path()).unwrap();
    assert_eq!(agent.messages().await.unwrap().len(), 4);
}

#[tokio::test]
async fn builder_messages_with_an_unanswered_call_get_a_result() {
    let mut asks = AssistantMessage { stop_reason: StopReason::ToolUse, ..AssistantMessage::default() };
    let call = tiller_core::message::ToolCall::from_streamed("c1".into(), "bash".into(), "{}");
    asks.content.push(tiller_core::message::AssistantBlock::ToolCall(call));
    let (providers, model) = scripted(vec![text_answer("one"), text_answer("two")]);
    let builder = SessionBuilder::new(providers).messages(vec![user("go"), Message::Assistant(asks)]);
    let agent = builder.start(&std::env::temp_dir()).unwrap();
    agent.prompt("go on", PromptOptions::default()).await.unwrap();
    agent.settled().await.unwrap();
    let request = model.recorded.lock().unwrap()[0].0.messages.clone();
    let roles: Vec<&str> = request
        .iter()
        .map(|message| match &**message {
            Message::User(_) => "user",
            Message::Assistant(_) => "assistant",
            Message::ToolResult(_) => "result",
            _ => "other",
        })
        .collect();
    assert_eq!(roles, ["user", "assistant", "result", "user"]);
}

#[tokio::test]
async fn settled_ends_with_the_run_and_fails_without_one() {
    let harness = Harness::new(Access::Writes, vec![calls(&[json!({})]), text_answer("done")]);
    assert!(matches!(harness.agent.settled().await, Err(AgentError::Empty)));
    harness.prompt("go").await;
    harness.started.notified().await;
    let (first, second) = (harness.agent.clone(), harness.agent.clone());
    let first_end = tokio::spawn(async move { first.settled().await });
    let second_end = tokio::spawn(async move { second.settled().await });
    harness.agent.follow_up("more").await.unwrap();
    harness.agent.abort().await.unwrap();
    for settled in [first_end, second_end] {
        assert_eq!(settled.await.unwrap().unwrap().outcome, RunOutcome::Aborted);
    }
    assert_eq!(harness.agent.settled().await.unwrap().messages.len(), 3, "and afterwards at once");
}

#[tokio::test]
async fn builder_invalid_setup_is_an_error() {
    let dir = TempDir::new().unwrap();
    let no_model = SessionBuilder::new(ProviderRegistry::default()).start(dir.path()).err().unwrap();
    assert!(matches!(no_model, EmbedError::Model(ModelError::Unknown { .. })), "{no_model}");
    let no_dir = builder(vec![]).start(&dir.path().join("gone")).err().unwrap();
    assert!(matches!(no_dir, EmbedError::Workspace(_)), "{no_dir}");
    let no_log = builder(vec![]).resume(dir.path().join("none.jsonl")).start(dir.path()).err().unwrap();
    assert!(matches!(no_log, EmbedError::Session(_)), "{no_log}");
    let agent = builder(vec![]).start(dir.path()).unwrap();
    let record = agent.execute_bash("true", BashContext::Include).await.unwrap();
    assert_eq!(record.output, "commands can't be run: no supervisor program is configured");
}
