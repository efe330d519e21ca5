//! In-process extensions: their changes, their verdicts, and the containment of their failures.

use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};

use tiller_core::event::Event;
use tiller_core::message::{ToolCall, UserBlock};
use tiller_engine::Expansion;
use tiller_engine::extension::{
    CallVerdict, CommandOutcome, Extension, ExtensionCommand, HookError, HookFuture, RequestChange,
    RequestContext, ResultChange,
};
use tiller_tools::policy::AskBehavior;

use super::*;

/// The behavior of an extension's hook.
#[derive(Clone, Default)]
enum Behavior<T> {
    #[default]
    Nothing,
    Return(T),
    Fail,
    Panic,
    Hang,
}

impl<T: Default + Clone + Send + 'static> Behavior<T> {
    fn run(&self) -> HookFuture<'static, T> {
        let behavior = self.clone();
        assert!(!matches!(behavior, Self::Panic), "told to panic");
        Box::pin(async move {
            match behavior {
                Self::Nothing | Self::Panic => Ok(T::default()),
                Self::Return(value) => Ok(value),
                Self::Fail => Err(HookError::new("told to fail")),
                Self::Hang => pending().await,
            }
        })
    }
}

/// An extension that behaves as configured and records its calls.
#[derive(Default)]
struct ScriptedExtension {
    name: &'static str,
    start: Behavior<RequestChange>,
    turn: Behavior<RequestChange>,
    call: Behavior<CallVerdict>,
    /// Arguments of the only call that it reviews; `None` for all calls.
    only_arguments: Option<Value>,
    result: Behavior<ResultChange>,
    events: Behavior<()>,
    tools: Vec<Arc<dyn Tool>>,
    records: Arc<Mutex<Vec<String>>>,
    starts: Arc<AtomicUsize>,
}

impl ScriptedExtension {
    fn record(&self, line: impl Into<String>) {
        self.records.lock().unwrap().push(line.into());
    }
}

impl Extension for ScriptedExtension {
    fn name(&self) -> &str {
        self.name
    }

    fn before_agent_start<'a>(&'a self, _context: &'a RequestContext) -> HookFuture<'a, RequestChange> {
        self.starts.fetch_add(1, Ordering::Relaxed);
        self.start.run()
    }

    fn turn_start<'a>(&'a self, context: &'a RequestContext) -> HookFuture<'a, RequestChange> {
        self.record(format!(
            "turn {} [{}] {}",
            context.prompt,
            context.tools.join(" "),
            context.system.len()
        ));
        self.turn.run()
    }

    fn turn_end<'a>(&'a self, answer: &'a Message, results: &'a [Arc<Message>]) -> HookFuture<'a, ()> {
        let Message::Assistant(answer) = answer else { panic!("{answer:?}") };
        self.record(format!("turn end {} {}", answer.joined_text(), results.len()));
        self.events.run()
    }

    fn tool_call<'a>(&'a self, call: &'a ToolCall) -> HookFuture<'a, CallVerdict> {
        self.record(format!("call {}", call.arguments));
        if self.only_arguments.as_ref().is_some_and(|only_arguments| *only_arguments != call.arguments) {
            return Behavior::Nothing.run();
        }
        self.call.run()
    }

    fn tool_result<'a>(&'a self, call: &'a ToolCall, output: &'a ToolOutput) -> HookFuture<'a, ResultChange> {
        self.record(format!("result {} {}", call.arguments, joined_text(&output.content)));
        self.result.run()
    }

    fn session_event<'a>(&'a self, event: &'a Event) -> HookFuture<'a, ()> {
        let json = serde_json::to_value(event).unwrap();
        self.record(format!("event {}", json["type"].as_str().unwrap()));
        self.events.run()
    }

    fn close(&self) -> HookFuture<'_, ()> {
        self.record("closed");
        Behavior::Nothing.run()
    }

    fn commands(&self) -> Vec<ExtensionCommand> {
        let command = |name: &str| ExtensionCommand {
            name: name.into(),
            description: "does".into(),
            argument_hint: None,
        };
        ["ask", "tell", "fail", "hang"].map(command).to_vec()
    }

    fn run_command<'a>(&'a self, name: &'a str, arguments: &'a str) -> HookFuture<'a, CommandOutcome> {
        Box::pin(async move {
            match name {
                "ask" => Ok(CommandOutcome::Prompt(format!("/tell me of {arguments}"))),
                "tell" => Ok(CommandOutcome::Notice(format!("told: {arguments}"))),
                "hang" => pending().await,
                _ => Err(HookError::new("it never works")),
            }
        })
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.tools.clone()
    }
}

/// Timeout of hooks that must not time out; `SHORT_TIMEOUT` is for those that must.
const LONG_TIMEOUT: Duration = Duration::from_secs(30);

const SHORT_TIMEOUT: Duration = Duration::from_millis(20);

fn harness(
    extensions: Vec<ScriptedExtension>,
    answers: Vec<ScriptedAnswer>,
    change: impl FnOnce(&mut SessionParts),
) -> Harness {
    let dir = TempDir::new().unwrap();
    let placement = Placement::Flat(dir.path().join("logs"));
    let manager = SessionManager::new(placement, dir.path().canonicalize().unwrap());
    let hangs = extensions.iter().any(|extension| {
        matches!(extension.call, Behavior::Hang) || matches!(extension.events, Behavior::Hang)
    });
    let harness = Harness::configured(dir, (manager, None), Access::Writes, answers, |parts| {
        parts.extensions = Extensions::with_timeout(if hangs { SHORT_TIMEOUT } else { LONG_TIMEOUT });
        for extension in extensions {
            parts.extensions.add(Arc::new(extension));
        }
        change(parts);
    });
    harness.permits.add_permits(100);
    harness
}

fn warning(event: &EventKind) -> Option<String> {
    match event {
        EventKind::Warning { message, .. } => Some(message.clone()),
        _ => None,
    }
}

/// Returns the user messages, the end of the system prompt and the tools of a request.
fn request_parts(request: &Request) -> (Vec<String>, &str, Vec<&str>) {
    let users = request.messages.iter().filter_map(|message| match &**message {
        Message::User(user) => Some(user.content.joined_text()),
        _ => None,
    });
    let system = request.system.lines().last().unwrap_or_default();
    (users.collect(), system, request.tools.iter().map(|tool| tool.name.as_str()).collect())
}

#[tokio::test]
async fn request_change_applies_to_one_request_and_log_keeps_both() {
    let change = RequestChange {
        prompt: Some("be kind, and go".into()),
        system: Some("You are a gatekeeper.".into()),
        tools: Some(Vec::new()),
    };
    let extension =
        ScriptedExtension { name: "kind", start: Behavior::Return(change), ..ScriptedExtension::default() };
    let records = Arc::clone(&extension.records);
    let mut harness = harness(
        vec![extension],
        vec![calls(&[json!({})]), text_answer("done"), text_answer("again")],
        |_| {},
    );
    harness.prompt("go").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    let requests = harness.requests();
    assert_eq!(
        request_parts(&requests[0]),
        (vec!["be kind, and go".into()], "You are a gatekeeper.", vec![])
    );
    let (users, system, tools) = request_parts(&requests[1]);
    assert_eq!((users, tools), (vec!["be kind, and go".to_owned()], vec!["gate"]));
    assert_ne!(system, "You are a gatekeeper.");
    // The request that called the tool did not offer it.
    let error = "result unknown tool `gate`; available: ";
    assert_eq!(harness.message_lines(), ["user go", "answer  ToolUse", error, "answer done Stop"]);
    let records = records.lock().unwrap();
    let turns: Vec<&String> = records
        .iter()
        .filter(|line| line.starts_with("turn "))
        .filter(|line| !line.starts_with("turn end"))
        .collect();
    assert!(
        turns[0].starts_with("turn be kind, and go [] 21"),
        "it sees what the first hook changed: {turns:?}"
    );
    assert!(turns[1].starts_with("turn go [gate]"), "it sees what the user said: {turns:?}");
}

#[tokio::test]
async fn request_change_of_the_prompt_is_written_once() {
    let change = RequestChange { prompt: Some("go, gently".into()), ..RequestChange::default() };
    let extension =
        ScriptedExtension { name: "p", turn: Behavior::Return(change), ..ScriptedExtension::default() };
    let records = Arc::clone(&extension.records);
    let mut harness =
        harness(vec![extension], vec![calls(&[json!({})]), calls(&[json!({})]), text_answer("done")], |_| {});
    harness.prompt("go").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    let records = records.lock().unwrap();
    assert_eq!(records.iter().filter(|line| line.starts_with("turn go [")).count(), 3, "{records:?}");
    for request in harness.requests() {
        assert_eq!(request_parts(&request).0, ["go, gently"]);
    }
    let log = std::fs::read_to_string(harness.agent.reader().path().unwrap()).unwrap();
    assert_eq!(log.matches(r#""type":"context_edit""#).count(), 1, "{log}");
}

#[tokio::test]
async fn request_retry_is_the_same_request_for_extensions() {
    let failing: ScriptedAnswer = serde_json::from_value(
        json!({"error": {"failure": "transient", "message": "busy", "times": 1}, "text": "done"}),
    )
    .unwrap();
    let change = RequestChange { system: Some("Changed.".into()), ..RequestChange::default() };
    let extension =
        ScriptedExtension { name: "p", start: Behavior::Return(change), ..ScriptedExtension::default() };
    let (starts, records) = (Arc::clone(&extension.starts), Arc::clone(&extension.records));
    let mut harness = harness(vec![extension], vec![failing], |_| {});
    harness.prompt("go").await;
    harness.wait_for_event(|event| matches!(event, EventKind::AgentSettled).then_some(())).await;
    let systems: Vec<String> = harness.requests().into_iter().map(|request| request.system).collect();
    assert_eq!(systems, ["Changed.", "Changed."]);
    let turns = records.lock().unwrap().iter().filter(|line| line.starts_with("turn go")).count();
    assert_eq!((starts.load(Ordering::Relaxed), turns), (1, 1));
}

#[tokio::test]
async fn request_change_with_unknown_tool_is_ignored_with_a_warning() {
    let change = RequestChange { tools: Some(vec!["gate".into(), "gat".into()]), ..RequestChange::default() };
    let extension =
        ScriptedExtension { name: "p", turn: Behavior::Return(change), ..ScriptedExtension::default() };
    let mut harness = harness(vec![extension], vec![text_answer("done")], |_| {});
    harness.prompt("go").await;
    assert_eq!(harness.wait_for_event(warning).await, "extension p: turn_start failed: unknown tool gat");
    harness.settled().await;
    assert_eq!(request_parts(&harness.requests()[0]).2, ["gate"]);
}

/// Runs one call with these extensions; returns its result as the model gets it.
async fn run_call(extensions: Vec<ScriptedExtension>, change: impl FnOnce(&mut SessionParts)) -> String {
    let mut harness = harness(extensions, vec![calls(&[json!({"n": 1})]), text_answer("done")], change);
    harness.prompt("go").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    harness.message_lines()[2].clone()
}

fn reviewer(name: &'static str, call: Behavior<CallVerdict>) -> ScriptedExtension {
    ScriptedExtension { name, call, ..ScriptedExtension::default() }
}

fn ask(reason: &str) -> Behavior<CallVerdict> {
    Behavior::Return(CallVerdict::Ask { reason: reason.into() })
}

fn deny(reason: &str) -> Behavior<CallVerdict> {
    Behavior::Return(CallVerdict::Deny { reason: reason.into() })
}

fn rewrite(arguments: Value) -> Behavior<CallVerdict> {
    Behavior::Return(CallVerdict::Rewrite { arguments, approval: None })
}

#[tokio::test]
async fn tool_call_declined_for_an_extension_may_be_asked_about_again() {
    let answers = vec![calls(&[json!({"n": 1}), json!({"n": 1})]), text_answer("done")];
    let mut harness = harness(vec![reviewer("a", ask("hm"))], answers, |_| {});
    harness.prompt("go").await;
    let request = harness.approval_requested().await;
    harness.answer(&request, Decision::Deny { reason: "not yet".into() }).await;
    let request = harness.approval_requested().await;
    harness.answer(&request, Decision::Once).await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    assert_eq!(harness.message_lines()[2..4], ["result denied: not yet", "result through"]);
}

#[tokio::test]
async fn tool_call_strictest_verdict_counts() {
    let no_approver = |parts: &mut SessionParts| parts.options.approver = Approver::Absent;
    let allowed = run_call(vec![reviewer("a", Behavior::Nothing)], |_| {}).await;
    assert_eq!(allowed, "result through");
    let denied = run_call(
        vec![reviewer("a", ask("hm")), reviewer("b", deny("no")), reviewer("c", Behavior::Panic)],
        |_| {},
    )
    .await;
    assert_eq!(denied, "result denied: no (extension b)");
    let unasked = run_call(vec![reviewer("a", ask("hm"))], no_approver).await;
    assert!(unasked.starts_with("result denied: hm (extension a), and no one can approve it"), "{unasked}");
    let approved = run_call(vec![reviewer("a", ask("hm"))], |parts| {
        parts.options.policy.ask_behavior = AskBehavior::Yes
    })
    .await;
    assert_eq!(approved, "result through");
}

#[tokio::test]
async fn tool_call_ask_verdict_is_not_covered_by_session_rules() {
    let two = calls(&[json!({"n": 1}), json!({"n": 2})]);
    let mut harness = harness(vec![reviewer("a", ask("sure?"))], vec![two, text_answer("done")], |_| {});
    harness.prompt("go").await;
    let request = |event: &EventKind| match event {
        EventKind::ApprovalRequested(request) => Some(request.clone()),
        _ => None,
    };
    for number in [1, 2] {
        let requested = harness.wait_for_event(request).await;
        assert_eq!((requested.reason.as_str(), requested.rule.as_str()), ("sure? (extension a)", ""));
        assert_eq!(requested.args, json!({"n": number}));
        harness.agent.decide(requested.tool_call_id, Decision::Session).await.unwrap();
        let decided = |event: &EventKind| match event {
            EventKind::ApprovalResolved { decision, .. } => Some(decision.clone()),
            _ => None,
        };
        assert_eq!(harness.wait_for_event(decided).await, Decision::Once, "there is no rule to go on");
    }
    assert_eq!(harness.settled().await, RunOutcome::Completed);
}

#[tokio::test]
async fn tool_call_missing_verdict_is_no_consent() {
    for (behavior, reason) in [
        (Behavior::Fail, "extension guard, which reviews calls, failed: told to fail"),
        (Behavior::Panic, "extension guard, which reviews calls, crashed"),
        (Behavior::Hang, "extension guard, which reviews calls, took longer than 20 ms"),
        (
            rewrite(json!({"wrong": 1})),
            "extension guard changed its arguments to invalid ones: `wrong` is wrong",
        ),
    ] {
        for ask_behavior in [AskBehavior::User, AskBehavior::Yes] {
            let denied = run_call(vec![reviewer("guard", behavior.clone())], |parts| {
                parts.options.approver = Approver::Absent;
                parts.options.policy.ask_behavior = ask_behavior;
            })
            .await;
            assert_eq!(denied, format!("result denied: {reason}, and no one can approve it"));
        }
    }
}

#[tokio::test]
async fn tool_call_missing_verdict_asks_despite_advance_approval() {
    let guard = vec![reviewer("guard", Behavior::Fail)];
    let mut harness = harness(guard, vec![calls(&[json!({"n": 1})]), text_answer("done")], |parts| {
        parts.options.policy.ask_behavior = AskBehavior::Yes;
    });
    harness.prompt("go").await;
    let request = |event: &EventKind| match event {
        EventKind::ApprovalRequested(request) => Some(request.clone()),
        _ => None,
    };
    let requested = harness.wait_for_event(request).await;
    assert_eq!(requested.reason, "extension guard, which reviews calls, failed: told to fail");
    harness.agent.decide(requested.tool_call_id, Decision::Once).await.unwrap();
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    assert_eq!(harness.message_lines()[2], "result through");
}

#[tokio::test]
async fn tool_call_rewrites_chain_and_are_validated_and_noted() {
    let first = ScriptedExtension {
        only_arguments: Some(json!({"n": 1})),
        ..reviewer("a", rewrite(json!({"n": 2})))
    };
    let (first, second) = (first, reviewer("b", rewrite(json!({"n": 3}))));
    let records = [Arc::clone(&first.records), Arc::clone(&second.records)];
    let mut harness =
        harness(vec![first, second], vec![calls(&[json!({"n": 1})]), text_answer("done")], |_| {});
    harness.prompt("go").await;
    let is_start = |event: &EventKind| match event {
        EventKind::ToolExecutionStart { args, .. } => Some(args.clone()),
        _ => None,
    };
    assert_eq!(harness.wait_for_event(is_start).await, json!({"n": 3}));
    harness.settled().await;
    let calls_seen = |at: usize| {
        let records: &Mutex<Vec<String>> = &records[at];
        records.lock().unwrap().iter().filter(|line| line.starts_with("call")).cloned().collect()
    };
    let (first, second): (Vec<String>, Vec<String>) = (calls_seen(0), calls_seen(1));
    assert_eq!(first, [r#"call {"n":1}"#, r#"call {"n":3}"#], "asked once more about what runs");
    assert_eq!(second, [r#"call {"n":2}"#], "what it gave itself it isn't asked about");
    let log = std::fs::read_to_string(harness.agent.reader().path().unwrap()).unwrap();
    assert!(log.contains(r#""details":{"rewritten":{"by":["a","b"],"arguments":{"n":3}}}"#), "{log}");

    let wrong = run_call(vec![reviewer("a", rewrite(json!({"wrong": 1})))], |parts| {
        parts.options.approver = Approver::Absent;
    })
    .await;
    let expected = "result denied: extension a changed its arguments to invalid ones: `wrong` is wrong, and";
    assert!(wrong.starts_with(expected), "{wrong}");
}

#[tokio::test]
async fn tool_call_rewrite_does_not_bypass_an_earlier_guard() {
    let no_approver = |parts: &mut SessionParts| {
        parts.options.approver = Approver::Absent;
        parts.options.policy.ask_behavior = AskBehavior::Yes;
    };
    let guard =
        ScriptedExtension { only_arguments: Some(json!({"n": 2})), ..reviewer("guard", deny("not 2")) };
    let denied = run_call(vec![guard, reviewer("b", rewrite(json!({"n": 2})))], no_approver).await;
    assert_eq!(denied, "result denied: not 2 (extension guard)");
    let conflicting = vec![reviewer("a", rewrite(json!({"n": 2}))), reviewer("b", rewrite(json!({"n": 3})))];
    let error = run_call(conflicting, no_approver).await;
    let expected =
        "result denied: extension a tried to change the final arguments, and no one can approve it";
    assert_eq!(error, expected);
}

#[tokio::test]
async fn tool_call_rewritten_is_judged_by_the_policy_again() {
    let extension = reviewer("a", rewrite(json!({"command": "sudo rm x"})));
    let mut harness =
        harness(vec![extension], vec![calls(&[json!({"command": "ls"})]), text_answer("done")], |parts| {
            let spec = ToolSpec {
                name: "gate".into(),
                description: String::new(),
                parameters: Arc::new(json!({"type": "object"})),
                traits: ToolTraits::new(Access::Executes),
            };
            let (started, permits) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(1)));
            parts.tools = Tools::new([Arc::new(BlockingTool { spec, started, permits }) as Arc<dyn Tool>]);
            parts.options.policy.mode = tiller_tools::policy::ApprovalMode::Auto;
        });
    harness.prompt("go").await;
    let reason = |event: &EventKind| match event {
        EventKind::ApprovalRequested(request) => Some((request.reason.clone(), request.args.clone())),
        _ => None,
    };
    let (reason, args) = harness.wait_for_event(reason).await;
    assert_eq!((reason.as_str(), args), ("runs as another user (sudo)", json!({"command": "sudo rm x"})));
}

#[tokio::test]
async fn tool_result_can_be_replaced_and_failures_are_harmless() {
    let content = Some(vec![UserBlock::Text { text: "better".into() }]);
    let change = ResultChange { content, is_error: Some(true) };
    let extensions = vec![
        ScriptedExtension { name: "a", result: Behavior::Return(change), ..ScriptedExtension::default() },
        ScriptedExtension { name: "b", result: Behavior::Panic, ..ScriptedExtension::default() },
    ];
    let records = Arc::clone(&extensions[1].records);
    assert_eq!(run_call(extensions, |_| {}).await, "result better");
    assert!(records.lock().unwrap().contains(&r#"result {"n":1} better"#.to_owned()));
}

#[tokio::test]
async fn hook_failure_is_reported_once_per_kind() {
    let extension = ScriptedExtension {
        name: "p",
        start: Behavior::Panic,
        turn: Behavior::Fail,
        events: Behavior::Hang,
        ..ScriptedExtension::default()
    };
    let mut harness = harness(vec![extension], vec![text_answer("one"), text_answer("two")], |_| {});
    harness.prompt("first").await;
    let mut warnings = Vec::new();
    while warnings.len() < 4 {
        warnings.push(harness.wait_for_event(warning).await);
    }
    warnings.sort();
    let expected = [
        "before_agent_start crashed",
        "session_event took longer than 20 ms",
        "turn_end took longer than 20 ms",
        "turn_start failed: told to fail",
    ];
    assert_eq!(warnings, expected.map(|line| format!("extension p: {line}")));

    let mut events = harness.agent.subscribe();
    harness.prompt("second").await;
    while harness.message_lines().len() < 4 {
        tokio::task::yield_now().await;
    }
    harness.agent.close().await.unwrap();
    while let Some(Ok(event)) = events.next().await {
        assert_eq!(warning(&event.kind), None);
    }
}

#[tokio::test]
async fn session_events_come_in_order_and_before_close() {
    let extension = ScriptedExtension { name: "p", ..ScriptedExtension::default() };
    let records = Arc::clone(&extension.records);
    let mut harness = harness(vec![extension], vec![text_answer("a long answer in pieces")], |_| {});
    harness.prompt("go").await;
    harness.settled().await;
    harness.agent.close().await.unwrap();
    let records = records.lock().unwrap();
    let records: Vec<&str> = records
        .iter()
        .map(String::as_str)
        .filter(|line| !line.starts_with("turn go") && *line != "event entry_appended")
        .collect();
    assert_eq!(
        records,
        [
            "event agent_start",
            "event message_start",
            "event message_end",
            "event turn_start",
            "event message_start",
            "event message_end",
            "turn end a long answer in pieces 0",
            "event turn_end",
            "event agent_end",
            "event agent_settled",
            "closed",
        ]
    );
}

#[tokio::test]
async fn command_becomes_a_verbatim_prompt() {
    let mut harness = harness(
        vec![ScriptedExtension { name: "p", ..ScriptedExtension::default() }],
        vec![text_answer("one"), text_answer("two")],
        |_| {},
    );
    harness.prompt("/ask  the weather ").await;
    harness.settled().await;
    harness.prompt("/unknown is text").await;
    harness.settled().await;
    let expected =
        ["user /tell me of the weather", "answer one Stop", "user /unknown is text", "answer two Stop"];
    assert_eq!(harness.message_lines(), expected);
}

#[tokio::test]
async fn command_notice_sends_no_request() {
    let mut harness =
        harness(vec![ScriptedExtension { name: "p", ..ScriptedExtension::default() }], vec![], |_| {});
    harness.prompt("/tell x y").await;
    let notice = |event: &EventKind| match event {
        EventKind::Notice { message } => Some(message.clone()),
        _ => None,
    };
    assert_eq!(harness.wait_for_event(notice).await, "told: x y");
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    assert_eq!((harness.requests().len(), harness.agent.reader().leaf()), (0, None));

    let failed = harness.agent.prompt("/fail", PromptOptions::default()).await.unwrap_err();
    assert_eq!(failed.to_string(), "extension p: command /fail failed: it never works");
    let verbatim = PromptOptions { expand_templates: Expansion::Verbatim, ..PromptOptions::default() };
    harness.agent.prompt("/fail", verbatim).await.unwrap();
}

#[tokio::test]
async fn command_that_hangs_is_aborted_and_delays_nothing() {
    let mut harness = harness(
        vec![ScriptedExtension { name: "p", ..ScriptedExtension::default() }],
        vec![text_answer("meanwhile")],
        |_| {},
    );
    let agent = harness.agent.clone();
    let hanging = tokio::spawn(async move { agent.prompt("/hang", PromptOptions::default()).await });
    harness.prompt("go").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    harness.agent.abort().await.unwrap();
    assert_eq!(hanging.await.unwrap().unwrap_err().to_string(), "the command was stopped");
}

#[tokio::test]
async fn abort_does_not_wait_for_a_hook() {
    let extension = ScriptedExtension { name: "p", turn: Behavior::Hang, ..ScriptedExtension::default() };
    let mut context = harness(vec![extension], vec![text_answer("never")], |_| {});
    context.prompt("go").await;
    context.agent.abort().await.unwrap();
    assert_eq!(context.settled().await, RunOutcome::Aborted);
    assert_eq!(context.requests().len(), 0);

    let mut planning = harness(
        vec![reviewer("p", Behavior::Hang)],
        vec![calls(&[json!({})]), text_answer("never")],
        |parts| {
            let slow = Extensions::with_timeout(LONG_TIMEOUT);
            parts.extensions = slow;
            parts.extensions.add(Arc::new(reviewer("p", Behavior::Hang)));
        },
    );
    planning.prompt("go").await;
    planning
        .wait_for_event(|event| {
            matches!(event, EventKind::MessageEnd { message } if matches!(**message, Message::Assistant(_)))
                .then_some(())
        })
        .await;
    planning.agent.abort().await.unwrap();
    assert_eq!(planning.settled().await, RunOutcome::Aborted);
    assert_eq!(planning.message_lines()[2], "result not run: the user stopped the agent");
}

#[tokio::test]
async fn tool_of_extension_is_offered_unless_its_name_is_taken() {
    let tool = |name: &str| {
        let spec = ToolSpec {
            name: name.into(),
            description: String::new(),
            parameters: Arc::new(json!({"type": "object"})),
            traits: ToolTraits::new(Access::Reads),
        };
        let (started, permits) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(1)));
        Arc::new(BlockingTool { spec, started, permits }) as Arc<dyn Tool>
    };
    let extension = ScriptedExtension {
        name: "p",
        tools: vec![tool("gate"), tool("door")],
        ..ScriptedExtension::default()
    };
    let open: ScriptedAnswer = serde_json::from_value(json!({"calls": [{"name": "door"}]})).unwrap();
    let mut harness = harness(vec![extension], vec![open, text_answer("done")], |_| {});
    assert_eq!(
        harness.agent.notices(),
        ["extension p: its tool gate is ignored: there is already a tool with that name"]
    );
    harness.prompt("go").await;
    harness.settled().await;
    assert_eq!(harness.message_lines()[2], "result through");
    assert_eq!(request_parts(&harness.requests()[0]).2, ["gate", "door"]);
}
