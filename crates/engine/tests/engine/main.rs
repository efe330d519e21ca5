//! `AgentSession` through its handle, with a scripted model and tools that wait for the test.
#![allow(clippy::unwrap_used, reason = "a helper of tests fails by panicking, as they do")]

mod agents;
mod approvals;
mod background_jobs;
mod bash;
mod budget;
mod command_hooks;
mod compaction;
mod compaction_timing;
mod embed;
mod excluded_commands;
mod fallback;
mod faults;
mod hooks;
mod navigation;
mod processes;
mod queue_edits;
mod races;
mod remote_session;
mod resources;
mod retry;
mod run_tracing;
mod session_control;
mod slow_disk;
mod state;
mod tool_servers;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tiller_core::setting::{Switch, SyncPolicy};

use futures_util::StreamExt;
use serde_json::{Value, json};
use tempfile::TempDir;
use tiller_core::event::{AssistantDelta, Decision, EventKind, QueueItem, QueueKind, RunOutcome};
use tiller_core::id::EntryId;
use tiller_core::message::{Message, ThinkingLevel, joined_text};
use tiller_core::tool_spec::{Access, ToolSpec, ToolTraits};
use tiller_core::unit::{Tokens, UnixMs};
use tiller_engine::agents::{UsageLimit, UsageScopes};
use tiller_engine::compaction::CompactionOptions;
use tiller_engine::extension::Extensions;
use tiller_engine::{
    AgentError, AgentOptions, AgentSession, AnswerOptions, Approver, BackgroundTasks, BashContext,
    BranchSummary, BudgetOptions, EventStream, FirstModel, ModelChoice, PromptOptions, Resources,
    RetryOptions, SessionParts, StreamingBehavior, SystemPrompt, ToolOffer, TurnOptions, queue,
};
use tiller_provider::scripted::{ScriptedAnswer, ScriptedProvider};
use tiller_provider::{Provider, ProviderRegistry, ProviderStream, Request};
use tiller_session::annotations::Annotations;
use tiller_session::entry::TillerEntry;
use tiller_session::{Placement, Reader, SessionError, SessionManager, SessionScope, Visibility, Writer};
use tiller_tools::policy::Policy;
use tiller_tools::process::Runner;
use tiller_tools::tool::{OutputLimits, OutputOptions, RunFuture, Tool, ToolInvocation, ToolOutput, Tools};
use tokio::sync::{Notify, Semaphore};

/// Maximum wait for an event.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Plays scripted answers, and records each request with the log at that moment.
struct RecordingModel {
    script: ScriptedProvider,
    recorded: Mutex<Vec<(Request, String)>>,
    logs: PathBuf,
    /// Permits for requests without tools, which are those for summaries.
    summaries: Arc<Semaphore>,
}

impl Provider for RecordingModel {
    fn name(&self) -> &str {
        self.script.name()
    }

    fn api(&self) -> &'static str {
        self.script.api()
    }

    fn stream(&self, request: Request) -> ProviderStream {
        let files = std::fs::read_dir(&self.logs).into_iter().flatten().map(|entry| entry.unwrap().path());
        let logs = files.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
        let log = logs.map(|path| std::fs::read_to_string(path).unwrap()).collect();
        self.recorded.lock().unwrap().push((request.clone(), log));
        let summaries = request.tools.is_empty().then(|| Arc::clone(&self.summaries));
        let answer = self.script.stream(request);
        let Some(summaries) = summaries else { return answer };
        let begin = async move { summaries.acquire().await.unwrap().forget() };
        Box::pin(futures_util::stream::once(begin).flat_map({
            let mut answer = Some(answer);
            move |()| answer.take().unwrap()
        }))
    }
}

/// A tool that reports its start and waits for a permit. With the argument `{"crash": true}` it panics.
struct BlockingTool {
    spec: ToolSpec,
    started: Arc<Notify>,
    permits: Arc<Semaphore>,
}

impl Tool for BlockingTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, arguments: &Value) -> Result<(), String> {
        if arguments.get("wrong").is_some() { Err("`wrong` is wrong".into()) } else { Ok(()) }
    }

    fn run(&self, invocation: ToolInvocation) -> RunFuture<'_> {
        Box::pin(async move {
            assert!(invocation.arguments.get("crash").is_none(), "told to crash");
            self.started.notify_one();
            self.permits.acquire().await.unwrap().forget();
            ToolOutput::text("through")
        })
    }
}

/// A session with its model and its tool's gate.
struct Harness {
    agent: AgentSession,
    events: EventStream,
    model: Arc<RecordingModel>,
    started: Arc<Notify>,
    permits: Arc<Semaphore>,
    dir: TempDir,
}

impl Harness {
    fn new(access: Access, answers: Vec<ScriptedAnswer>) -> Self {
        Self::in_dir(TempDir::new().unwrap(), access, answers, None)
    }

    fn in_dir(dir: TempDir, access: Access, answers: Vec<ScriptedAnswer>, open: Option<PathBuf>) -> Self {
        let logs = dir.path().join("logs");
        let manager = SessionManager::new(Placement::Flat(logs), dir.path().canonicalize().unwrap());
        Self::with_manager(dir, (manager, open), access, answers, SyncPolicy::Turn)
    }

    /// Creates a harness in the directory, on a new session of the manager or the one at `path`.
    fn with_manager(
        dir: TempDir,
        (manager, open): (SessionManager, Option<PathBuf>),
        access: Access,
        answers: Vec<ScriptedAnswer>,
        sync: SyncPolicy,
    ) -> Self {
        Self::configured(dir, (manager, open), access, answers, |parts| parts.options.sync = sync)
    }

    /// Creates a harness like [`Harness::with_manager`], with modified parts.
    fn configured(
        dir: TempDir,
        (manager, open): (SessionManager, Option<PathBuf>),
        access: Access,
        answers: Vec<ScriptedAnswer>,
        configure: impl FnOnce(&mut SessionParts),
    ) -> Self {
        let logs = dir.path().join("logs");
        let writer = match open {
            Some(path) => manager.open(&path).unwrap(),
            None => manager.create(UnixMs(1_700_000_000_000)),
        };
        let script = ScriptedProvider::new(answers);
        let facts = script.facts();
        let summaries = Arc::new(Semaphore::new(Semaphore::MAX_PERMITS));
        let model = Arc::new(RecordingModel { script, recorded: Mutex::default(), logs, summaries });
        let mut providers = ProviderRegistry::default();
        providers.add(Arc::clone(&model) as Arc<dyn Provider>, vec![facts]);
        let chosen = providers.models().remove(0);
        let (started, permits) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(0)));
        let spec = ToolSpec {
            name: "gate".into(),
            description: "waits".into(),
            parameters: Arc::new(json!({"type": "object"})),
            traits: ToolTraits::new(access),
        };
        let gate = BlockingTool { spec, started: Arc::clone(&started), permits: Arc::clone(&permits) };
        let mut parts = SessionParts {
            manager,
            writer,
            providers,
            first: FirstModel {
                model: chosen,
                thinking: ThinkingLevel::Off,
                choice: ModelChoice::Log,
                thinking_choice: ModelChoice::Log,
            },
            tools: Tools::new([Arc::new(gate) as Arc<dyn Tool>]),
            extensions: Extensions::default(),
            tool_servers: None,
            agent_link: None,
            runner: Runner::with_supervisor(env!("CARGO_BIN_EXE_engine-supervisor")),
            system_prompt: SystemPrompt::default(),
            resources: Resources::default(),
            options: options(dir.path().join("outputs")),
        };
        configure(&mut parts);
        let agent = AgentSession::start(parts).unwrap();
        let events = agent.subscribe();
        Self { agent, events, model, started, permits, dir }
    }

    async fn prompt(&self, text: &str) {
        self.agent.prompt(text, PromptOptions::default()).await.unwrap();
    }

    /// Waits for an event that `select` accepts.
    async fn wait_for_event<T>(&mut self, select: impl Fn(&EventKind) -> Option<T>) -> T {
        loop {
            // Fails with a message instead of hanging.
            let event =
                tokio::time::timeout(TIMEOUT, self.events.next()).await.expect("the event never came");
            let event = event.unwrap().unwrap();
            if let Some(selected) = select(&event.kind) {
                return selected;
            }
        }
    }

    async fn settled(&mut self) -> RunOutcome {
        let end = |event: &EventKind| match event {
            EventKind::AgentEnd { outcome, will_retry: false, .. } => Some(*outcome),
            _ => None,
        };
        let outcome = self.wait_for_event(end).await;
        self.wait_for_event(|event| matches!(event, EventKind::AgentSettled).then_some(())).await;
        outcome
    }

    fn message_lines(&self) -> Vec<String> {
        message_lines(&self.agent.reader())
    }

    fn requests(&self) -> Vec<Request> {
        self.model.recorded.lock().unwrap().iter().map(|(request, _)| request.clone()).collect()
    }
}

fn options(scratch: PathBuf) -> AgentOptions {
    AgentOptions {
        turn: TurnOptions::default(),
        retry: RetryOptions { base: Duration::from_millis(1), ..RetryOptions::default() },
        fallback: Vec::new(),
        budget: BudgetOptions::default(),
        limits: UsageScopes::default(),
        agent_limit: UsageLimit::default(),
        compaction: CompactionOptions::default(),
        sync: SyncPolicy::Turn,
        answers: AnswerOptions { max_tokens: Some(Tokens(100)), temperature: None },
        loosest_approval: None,
        policy: Policy::default(),
        approver: Approver::Present,
        output: OutputOptions { limits: OutputLimits::default(), scratch },
        offer: ToolOffer::All,
        background_tasks: BackgroundTasks::default(),
        agent_deltas: Switch::Off,
        mode: "test",
        remote: None,
    }
}

/// Returns the messages of the current branch, one per line.
fn message_lines(reader: &Reader) -> Vec<String> {
    let (entries, _) = reader.branch(&reader.leaf().unwrap()).unwrap();
    let line = |message: &Arc<Message>| match &**message {
        Message::User(user) => format!("user {}", user.content.joined_text()),
        Message::Assistant(answer) => format!("answer {} {:?}", answer.joined_text(), answer.stop_reason),
        Message::ToolResult(result) => format!("result {}", joined_text(&result.content)),
        Message::BashExecution(bash) => {
            format!("bash {} {:?} {}", bash.command, bash.exit_code, bash.output.trim())
        }
        Message::System(_) => "system".into(),
    };
    entries.iter().filter_map(|entry| entry.body.as_message()).map(line).collect()
}

fn text_answer(text: &str) -> ScriptedAnswer {
    ScriptedAnswer { text: text.into(), ..ScriptedAnswer::default() }
}

fn calls(arguments: &[Value]) -> ScriptedAnswer {
    let calls: Vec<Value> = arguments.iter().map(|a| json!({"name": "gate", "arguments": a})).collect();
    serde_json::from_value(json!({"calls": calls})).unwrap()
}

fn prompt_options(behavior: StreamingBehavior) -> PromptOptions {
    PromptOptions { streaming_behavior: Some(behavior), ..PromptOptions::default() }
}

#[tokio::test]
async fn prompt_is_in_the_log_before_the_request() {
    let mut harness = Harness::new(Access::Reads, vec![text_answer("yes")]);
    harness.prompt("is it there?").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    let recorded = harness.model.recorded.lock().unwrap();
    assert!(recorded[0].1.ends_with("}\n") && recorded[0].1.contains("is it there?"), "{}", recorded[0].1);
}

#[tokio::test]
async fn result_over_the_limit_is_cut_and_stored() {
    let dir = TempDir::new().unwrap();
    let outputs = dir.path().join("outputs");
    let manager = SessionManager::new(Placement::Memory, dir.path().canonicalize().unwrap());
    let answers = vec![calls(&[json!({})]), text_answer("done")];
    let limits = OutputLimits { max_lines: 3, max_chars: 4 };
    let mut harness = Harness::configured(dir, (manager, None), Access::Reads, answers, |parts| {
        parts.options.output.limits = limits;
    });
    harness.permits.add_permits(1);
    harness.prompt("go").await;
    let warning = |event: &EventKind| match event {
        EventKind::Warning { message, .. } => Some(message.clone()),
        _ => None,
    };
    let warning = harness.wait_for_event(warning).await;
    harness.settled().await;
    let file = std::fs::read_dir(outputs).unwrap().next().unwrap().unwrap().path();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "through");
    let notice =
        format!("OUTPUT TRUNCATED: showing 4 of 7 characters from gate; full output in {}", file.display());
    assert!(warning.ends_with(&notice), "{warning}");
    assert_eq!(harness.message_lines()[2], format!("result thro\n[{notice}]"));
}

#[tokio::test]
async fn prompt_during_a_run_needs_a_streaming_behavior() {
    let harness = Harness::new(Access::Writes, vec![calls(&[json!({})]), text_answer("done")]);
    harness.prompt("go").await;
    harness.started.notified().await;
    let error = harness.agent.prompt("more", PromptOptions::default()).await;
    assert!(matches!(error, Err(AgentError::Busy)), "{error:?}");
}

#[tokio::test]
async fn steering_skips_waiting_calls_and_follow_ups_come_last() {
    let answers =
        vec![calls(&[json!({}), json!({}), json!({})]), text_answer("steered"), text_answer("followed")];
    let mut harness = Harness::new(Access::Writes, answers);
    harness.prompt("go").await;
    harness.started.notified().await;
    harness.agent.follow_up("and then").await.unwrap();
    harness.agent.steer("wait").await.unwrap();
    harness.permits.add_permits(1);
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    let skipped = "result skipped: the user steered";
    assert_eq!(
        harness.message_lines(),
        [
            "user go",
            "answer  ToolUse",
            "result through",
            skipped,
            skipped,
            "user wait",
            "answer steered Stop",
            "user and then",
            "answer followed Stop"
        ]
    );
    let log = std::fs::read_to_string(harness.agent.reader().path().unwrap()).unwrap();
    assert!(log.contains(r#""tillerReceipt":{"afterCalls":1,"skippedCalls":2,"queuedAt":"#), "{log}");
}

#[tokio::test]
async fn abort_keeps_partial_output_and_returns_the_queue() {
    let answer = ScriptedAnswer { text: "half an answer".into(), hang: true, ..ScriptedAnswer::default() };
    let mut harness = Harness::new(Access::Reads, vec![answer]);
    harness.prompt("go").await;
    let last_piece = |event: &EventKind| match event {
        EventKind::MessageUpdate {
            assistant_message_event: AssistantDelta::TextDelta { delta, .. }, ..
        } => (delta == "er").then_some(()),
        _ => None,
    };
    harness.wait_for_event(last_piece).await;
    harness.agent.prompt("later", prompt_options(StreamingBehavior::FollowUp)).await.unwrap();
    let back = harness.agent.abort().await.unwrap();
    assert_eq!(back.iter().map(|item| item.text.as_str()).collect::<Vec<_>>(), ["later"]);
    assert_eq!(harness.settled().await, RunOutcome::Aborted);
    assert_eq!(harness.message_lines(), ["user go", "answer half an answer Aborted"]);
    assert!(harness.agent.snapshot().await.unwrap().in_progress.queue.is_empty());
}

#[tokio::test]
async fn tool_that_panics_has_a_result_and_the_run_continues() {
    let mut harness =
        Harness::new(Access::Writes, vec![calls(&[json!({"crash": true})]), text_answer("survived")]);
    harness.prompt("go").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    let lines = harness.message_lines();
    assert!(lines[2].starts_with("result crashed"), "{lines:?}");
    assert_eq!(lines[3], "answer survived Stop");
}

#[tokio::test]
async fn tool_unknown_or_invalid_arguments_are_reported_to_the_model() {
    let unknown = serde_json::from_value(json!({"calls": [{"name": "magic"}]})).unwrap();
    let mut harness =
        Harness::new(Access::Reads, vec![unknown, calls(&[json!({"wrong": 1})]), text_answer("ok")]);
    harness.prompt("go").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    let lines = harness.message_lines();
    assert_eq!(lines[2], "result unknown tool `magic`; available: gate");
    assert_eq!(lines[4], "result invalid arguments: `wrong` is wrong");
    let messages = harness.requests().last().unwrap().messages.clone();
    let diagnostics: Vec<Value> = messages
        .iter()
        .filter_map(|message| match &**message {
            Message::ToolResult(result) => Some(result.details.clone()?["diagnostics"].clone()),
            _ => None,
        })
        .collect();
    let expected = [
        json!([{"kind": "unknown_tool", "where": "", "expected": ["gate"], "got": "magic"}]),
        json!([{"kind": "value", "where": "", "expected": "`wrong` is wrong", "got": null}]),
    ];
    assert_eq!(diagnostics, expected);
}

#[tokio::test]
async fn approval_for_the_session_covers_calls_of_the_same_answer() {
    let mut harness =
        Harness::new(Access::Executes, vec![calls(&[json!({}), json!({})]), text_answer("done")]);
    harness.permits.add_permits(2);
    harness.prompt("go").await;
    let call = harness
        .wait_for_event(|event| match event {
            EventKind::ApprovalRequested(request) => Some(request.tool_call_id.clone()),
            _ => None,
        })
        .await;
    harness.agent.decide(call.clone(), Decision::Session).await.unwrap();
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    assert_eq!(harness.message_lines()[2..4], ["result through", "result through"]);
    assert!(matches!(harness.agent.decide(call, Decision::Once).await, Err(AgentError::NotFound(_))));
}

#[tokio::test]
async fn approval_request_counts_later_requests_of_its_answer() {
    let mut harness =
        Harness::new(Access::Executes, vec![calls(&[json!({}), json!({}), json!({})]), text_answer("done")]);
    harness.permits.add_permits(3);
    harness.prompt("go").await;
    for (later, decision) in [(2, Decision::Once), (1, Decision::Session)] {
        let request = harness.wait_for_event(|event| match event {
            EventKind::ApprovalRequested(request) => Some(request.clone()),
            _ => None,
        });
        let request = request.await;
        assert_eq!(request.later, later);
        harness.agent.decide(request.tool_call_id, decision).await.unwrap();
    }
    assert_eq!(harness.settled().await, RunOutcome::Completed);
}

#[tokio::test]
async fn approval_for_the_session_ends_with_it() {
    let answers = (0..3).flat_map(|_| [calls(&[json!({})]), text_answer("done")]);
    let mut harness = Harness::new(Access::Executes, answers.collect());
    harness.permits.add_permits(3);
    let approval_requested = |event: &EventKind| match event {
        EventKind::ApprovalRequested(request) => Some(request.tool_call_id.clone()),
        _ => None,
    };
    harness.prompt("go").await;
    for is_fork in [true, false] {
        let call = harness.wait_for_event(approval_requested).await;
        harness.agent.decide(call, Decision::Session).await.unwrap();
        assert_eq!(harness.settled().await, RunOutcome::Completed);
        if is_fork {
            harness.agent.clone_session().await.unwrap();
        } else {
            harness.agent.new_session().await.unwrap();
        }
        harness.prompt("again").await;
    }
    harness.wait_for_event(approval_requested).await;
}

#[tokio::test]
async fn queue_of_a_crashed_process_is_restored_held() {
    let harness = Harness::new(Access::Writes, vec![calls(&[json!({})])]);
    harness.prompt("go").await;
    harness.started.notified().await;
    harness.agent.steer("remember me").await.unwrap();
    let log = harness.agent.reader().path().unwrap().to_owned();
    let copy = harness.dir.path().join("logs/copy.jsonl");
    std::fs::copy(&log, &copy).unwrap();

    let dir = TempDir::new().unwrap();
    let mut resumed =
        Harness::in_dir(dir, Access::Writes, vec![text_answer("first"), text_answer("second")], Some(copy));
    let queue = resumed.agent.snapshot().await.unwrap().in_progress.queue;
    assert_eq!(
        queue.iter().map(|item| (item.text.as_str(), item.held)).collect::<Vec<_>>(),
        [("remember me", true)]
    );
    resumed.prompt("go on").await;
    assert_eq!(resumed.settled().await, RunOutcome::Completed);
    let lines = resumed.message_lines();
    assert!(lines[2].starts_with("result interrupted"), "{lines:?}");
    assert_eq!(lines[3..], ["user go on", "answer second Stop"], "a held message is not sent");
    let cleared = resumed.agent.clear_queue(None).await.unwrap();
    assert_eq!(cleared[0].text, "remember me");
    assert!(resumed.agent.snapshot().await.unwrap().in_progress.queue.is_empty());
}

#[tokio::test]
async fn bash_excluded_output_is_in_the_log_and_in_no_request() {
    let mut harness = Harness::new(Access::Reads, vec![text_answer("ok")]);
    let ended = |event: &EventKind| matches!(event, EventKind::BashExecutionEnd { .. }).then_some(());
    harness.agent.bash("echo $((40+2)) to-the-model", BashContext::Include).await.unwrap();
    harness.wait_for_event(ended).await;
    harness.agent.bash("echo hush-$((40+2))", BashContext::Exclude).await.unwrap();
    harness.wait_for_event(ended).await;
    harness.prompt("go").await;
    harness.settled().await;
    assert_eq!(
        harness.message_lines(),
        [
            "bash echo $((40+2)) to-the-model Some(0) 42 to-the-model",
            "bash echo hush-$((40+2)) Some(0) hush-42",
            "user go",
            "answer ok Stop"
        ]
    );
    let sent = format!("{:?}", harness.requests()[0].messages);
    assert!(sent.contains("42 to-the-model") && !sent.contains("hush"), "{sent}");
}

#[tokio::test]
async fn bash_abort_keeps_the_output() {
    let mut harness = Harness::new(Access::Reads, vec![]);
    harness.agent.bash("echo begun; sleep 60", BashContext::Include).await.unwrap();
    harness
        .wait_for_event(|event| matches!(event, EventKind::BashExecutionUpdate { .. }).then_some(()))
        .await;
    harness.agent.abort().await.unwrap();
    let record = harness
        .wait_for_event(|event| match event {
            EventKind::BashExecutionEnd { message, .. } => Some(Arc::clone(message)),
            _ => None,
        })
        .await;
    assert!(record.cancelled && record.exit_code.is_none(), "{record:?}");
    assert_eq!(harness.message_lines(), ["bash echo begun; sleep 60 None begun"]);
}

#[tokio::test]
async fn navigate_back_starts_a_branch_with_text_in_the_editor() {
    let mut harness = Harness::new(Access::Reads, vec![text_answer("one"), text_answer("two")]);
    harness.prompt("first").await;
    harness.settled().await;
    harness.prompt("second").await;
    harness.settled().await;
    let reader = harness.agent.reader();
    let second =
        reader.entries().unwrap().0.into_iter().rev().find(|entry| {
            entry.body.as_message().is_some_and(|message| matches!(&**message, Message::User(_)))
        });
    let second = second.unwrap().id;
    let moved = harness.agent.navigate(second.clone(), BranchSummary::None).await.unwrap();
    assert_eq!(moved.editor.as_deref(), Some("second"));
    harness.prompt("other").await;
    harness.settled().await;
    assert_eq!(harness.message_lines(), ["user first", "answer one Stop", "user other", "answer two Stop"]);
    assert_eq!(harness.agent.reader().tree().branch_count(), 2);

    let fork = harness.agent.fork(second).await.unwrap();
    assert_eq!(fork.editor.as_deref(), Some("second"));
    assert_eq!(message_lines(&harness.agent.reader()), ["user first", "answer one Stop"]);
    assert_eq!(harness.agent.sessions(SessionScope::ThisDirectory).await.unwrap().sessions.len(), 2);
    harness.agent.new_session().await.unwrap();
    assert_eq!(harness.agent.reader().leaf(), None);
}

#[tokio::test]
async fn navigate_with_label_and_summary_sends_the_summary() {
    let mut harness =
        Harness::new(Access::Reads, vec![text_answer("one"), text_answer("two"), text_answer("three")]);
    harness.prompt("first").await;
    harness.settled().await;
    harness.prompt("second").await;
    harness.settled().await;
    let reader = harness.agent.reader();
    let path = reader.path_to(&reader.leaf().unwrap()).unwrap();
    let answer = path.last().unwrap().clone();
    let second = path[path.len() - 2].clone();
    harness.agent.label(answer.clone(), Some("dead end".into())).await.unwrap();
    let error = harness.agent.hide(second.clone(), Visibility::Hidden).await.unwrap_err();
    assert!(matches!(error, AgentError::Session(SessionError::InUse(_))), "{error}");
    let moved =
        harness.agent.navigate(second.clone(), BranchSummary::Text("It led nowhere.".into())).await.unwrap();
    assert_eq!(moved.editor.as_deref(), Some("second"));
    harness.agent.hide(second.clone(), Visibility::Hidden).await.unwrap();
    harness.prompt("third").await;
    harness.settled().await;
    let request = format!("{:?}", harness.requests().last().unwrap().messages);
    assert!(request.contains("It led nowhere.") && !request.contains("second"), "{request}");
    let reader = harness.agent.reader();
    let tree = reader.tree();
    let marks = Annotations::read(&reader, &tree);
    let position = |id: &EntryId| tree.nodes().iter().position(|node| node.id == *id).unwrap();
    assert_eq!(marks.label(position(&answer)), Some("dead end"));
    assert!(marks.is_hidden(position(&second)));
}

#[tokio::test]
async fn queue_held_messages_stay_when_a_session_is_forked() {
    let mut harness = Harness::new(Access::Reads, vec![text_answer("one")]);
    harness.prompt("first").await;
    harness.settled().await;
    let path = harness.agent.reader().path().unwrap().to_owned();
    harness.agent.close().await.unwrap();
    let mut writer = Writer::open(&path).unwrap();
    let (kind, images) = (QueueKind::FollowUp, [].into());
    let item = QueueItem { id: "q".into(), kind, text: "later".into(), typed: None, images, held: true };
    writer.append(queue::added(&item), UnixMs(1)).unwrap();
    drop(writer);
    let Harness { dir, .. } = harness;
    let harness = Harness::in_dir(dir, Access::Reads, vec![], Some(path));
    let waiting = async || harness.agent.snapshot().await.unwrap().in_progress.queue.len();
    assert_eq!(waiting().await, 1);
    let leaf = harness.agent.reader().leaf().unwrap();
    harness.agent.fork(leaf).await.unwrap();
    assert_eq!(waiting().await, 0);
}

#[tokio::test]
async fn events_slow_subscriber_does_not_stall_the_agent() {
    let answer = ScriptedAnswer { text: "word ".into(), repeat: 30_000, ..ScriptedAnswer::default() };
    let mut harness = Harness::new(Access::Reads, vec![answer]);
    let mut slow_events = harness.agent.subscribe();
    harness.prompt("go").await;
    let running = loop {
        match harness.events.next().await.unwrap() {
            Ok(event) if matches!(event.kind, EventKind::AgentSettled) => break false,
            Ok(_) | Err(_) => {}
        }
    };
    assert!(!running);
    assert!(slow_events.next().await.unwrap().is_err(), "the lag is reported");
    assert_eq!(harness.message_lines()[1].len(), "answer  Stop".len() + 5 * 30_000);
}

#[tokio::test]
async fn snapshot_shows_operations_in_progress() {
    let mut harness = Harness::new(Access::Writes, vec![calls(&[json!({"n": 1})]), text_answer("done")]);
    harness.prompt("go").await;
    harness.started.notified().await;
    harness.agent.follow_up("later").await.unwrap();
    let snapshot = harness.agent.snapshot().await.unwrap();
    assert!(snapshot.in_progress.running_since.is_some());
    assert_eq!(snapshot.in_progress.calls[0].arguments, json!({"n": 1}));
    assert_eq!(snapshot.in_progress.queue[0].text, "later");
    let first_seq = harness.events.next().await.unwrap().unwrap().seq;
    assert!(first_seq <= snapshot.seq);
}

#[tokio::test]
async fn close_releases_the_log() {
    let mut harness = Harness::new(Access::Reads, vec![text_answer("one")]);
    harness.prompt("go").await;
    harness.settled().await;
    let path = harness.agent.reader().path().unwrap().to_owned();
    let manager = SessionManager::new(Placement::Memory, harness.dir.path().to_owned());
    assert!(manager.open(&path).is_err(), "it is held");
    let second_handle = harness.agent.clone();
    harness.agent.close().await.unwrap();
    assert!(matches!(second_handle.steer("x").await, Err(AgentError::Closed)));
    manager.open(&path).unwrap();
}

#[tokio::test]
async fn events_end_with_the_session() {
    let mut harness = Harness::new(Access::Reads, vec![]);
    harness.agent.close().await.unwrap();
    assert!(harness.events.next().await.is_none());
    assert!(harness.agent.subscribe().next().await.is_none());
}

#[tokio::test]
async fn damaged_message_on_the_path_is_reported_on_resume() {
    let mut harness = Harness::new(Access::Reads, vec![text_answer("one")]);
    harness.prompt("first").await;
    harness.settled().await;
    let log = harness.agent.reader().path().unwrap().to_owned();
    let text = std::fs::read_to_string(&log).unwrap().replace(r#""role":"user""#, r#""role":7"#);
    let copy = harness.dir.path().join("logs/damaged.jsonl");
    std::fs::write(&copy, text).unwrap();
    let resumed = Harness::in_dir(TempDir::new().unwrap(), Access::Reads, vec![], Some(copy));
    let notices = resumed.agent.notices();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].contains("is damaged"), "{notices:?}");
}

#[tokio::test]
async fn bash_commands_cut_off_by_a_crash_get_records() {
    let dir = TempDir::new().unwrap();
    let harness = Harness::new(Access::Writes, vec![calls(&[json!({})])]);
    harness.prompt("go").await;
    harness.started.notified().await;
    harness.agent.bash("true", BashContext::Include).await.unwrap();
    while harness.agent.snapshot().await.unwrap().in_progress.bash.is_some() {
        tokio::task::yield_now().await;
    }
    harness.agent.bash("sleep 60", BashContext::Exclude).await.unwrap();
    let copy = dir.path().join("copy.jsonl");
    std::fs::copy(harness.agent.reader().path().unwrap(), &copy).unwrap();

    let mut resumed =
        Harness::in_dir(dir, Access::Writes, vec![text_answer("one"), text_answer("two")], Some(copy));
    resumed.prompt("on").await;
    resumed.settled().await;
    let lines = resumed.message_lines();
    let records: Vec<&String> = lines.iter().filter(|line| line.starts_with("bash")).collect();
    assert_eq!(records, ["bash true None ", "bash sleep 60 None "]);
}

#[tokio::test]
async fn session_resumed_elsewhere_stays_in_its_existing_directory() {
    let mut harness = Harness::new(Access::Reads, vec![text_answer("one"), text_answer("two")]);
    harness.prompt("here").await;
    harness.settled().await;
    let path = harness.agent.reader().path().unwrap().to_owned();
    harness.agent.close().await.unwrap();
    // Resumed in another directory.
    let mut later = Harness::in_dir(
        TempDir::new().unwrap(),
        Access::Reads,
        vec![text_answer("three")],
        Some(path.clone()),
    );
    later.prompt("there").await;
    later.settled().await;
    let (entries, _) = later.agent.reader().entries().unwrap();
    let runs: Vec<Option<String>> = entries
        .iter()
        .filter_map(|entry| match entry.body.as_tiller() {
            Some(TillerEntry::Run { cwd, .. }) => Some(cwd),
            _ => None,
        })
        .collect();
    assert_eq!(runs, [None, None]);
}
