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

/// The behavior of a puppet's hook.
#[derive(Clone, Default)]
enum Act<T> {
    #[default]
    Nothing,
    Say(T),
    Fail,
    Panic,
    Hang,
}

impl<T: Default + Clone + Send + 'static> Act<T> {
    fn play(&self) -> HookFuture<'static, T> {
        let act = self.clone();
        assert!(!matches!(act, Self::Panic), "told to panic");
        Box::pin(async move {
            match act {
                Self::Nothing | Self::Panic => Ok(T::default()),
                Self::Say(value) => Ok(value),
                Self::Fail => Err(HookError::new("told to fail")),
                Self::Hang => pending().await,
            }
        })
    }
}

/// An extension that behaves as configured and records its calls.
#[derive(Default)]
struct Puppet {
    name: &'static str,
    start: Act<RequestChange>,
    turn: Act<RequestChange>,
    call: Act<CallVerdict>,
    /// Arguments of the only call that it reviews; `None` for every call.
    only: Option<Value>,
    result: Act<ResultChange>,
    events: Act<()>,
    tools: Vec<Arc<dyn Tool>>,
    seen: Arc<Mutex<Vec<String>>>,
    openings: Arc<AtomicUsize>,
}

impl Puppet {
    fn note(&self, what: impl Into<String>) {
        self.seen.lock().unwrap().push(what.into());
    }
}

impl Extension for Puppet {
    fn name(&self) -> &str {
        self.name
    }

    fn before_agent_start<'a>(&'a self, _opening: &'a RequestContext) -> HookFuture<'a, RequestChange> {
        self.openings.fetch_add(1, Ordering::Relaxed);
        self.start.play()
    }

    fn turn_start<'a>(&'a self, opening: &'a RequestContext) -> HookFuture<'a, RequestChange> {
        self.note(format!("turn {} [{}] {}", opening.prompt, opening.tools.join(" "), opening.system.len()));
        self.turn.play()
    }

    fn turn_end<'a>(&'a self, answer: &'a Message, results: &'a [Arc<Message>]) -> HookFuture<'a, ()> {
        let Message::Assistant(answer) = answer else { panic!("{answer:?}") };
        self.note(format!("turn end {} {}", answer.joined_text(), results.len()));
        self.events.play()
    }

    fn tool_call<'a>(&'a self, call: &'a ToolCall) -> HookFuture<'a, CallVerdict> {
        self.note(format!("call {}", call.arguments));
        if self.only.as_ref().is_some_and(|only| *only != call.arguments) {
            return Act::Nothing.play();
        }
        self.call.play()
    }

    fn tool_result<'a>(&'a self, call: &'a ToolCall, output: &'a ToolOutput) -> HookFuture<'a, ResultChange> {
        self.note(format!("result {} {}", call.arguments, joined_text(&output.content)));
        self.result.play()
    }

    fn session_event<'a>(&'a self, event: &'a Event) -> HookFuture<'a, ()> {
        let json = serde_json::to_value(event).unwrap();
        self.note(format!("event {}", json["type"].as_str().unwrap()));
        self.events.play()
    }

    fn close(&self) -> HookFuture<'_, ()> {
        self.note("closed");
        Act::Nothing.play()
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

/// Timeout of hooks that must not time out; `SCANT` is for those that must.
const AMPLE: Duration = Duration::from_secs(30);

const SCANT: Duration = Duration::from_millis(20);

fn stage(
    puppets: Vec<Puppet>,
    answers: Vec<ScriptedAnswer>,
    change: impl FnOnce(&mut SessionParts),
) -> Stage {
    let folder = TempDir::new().unwrap();
    let placement = Placement::Flat(folder.path().join("logs"));
    let manager = SessionManager::new(placement, folder.path().canonicalize().unwrap());
    let hangs =
        puppets.iter().any(|puppet| matches!(puppet.call, Act::Hang) || matches!(puppet.events, Act::Hang));
    let stage = Stage::tuned(folder, (manager, None), Access::Writes, answers, |parts| {
        parts.extensions = Extensions::with_timeout(if hangs { SCANT } else { AMPLE });
        for puppet in puppets {
            parts.extensions.add(Arc::new(puppet));
        }
        change(parts);
    });
    stage.go.add_permits(100);
    stage
}

fn warning(event: &EventKind) -> Option<String> {
    match event {
        EventKind::Warning { message, .. } => Some(message.clone()),
        _ => None,
    }
}

/// Returns the user messages, the end of the system prompt and the tools of a request.
fn asked(request: &Request) -> (Vec<String>, &str, Vec<&str>) {
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
    let puppet = Puppet { name: "kind", start: Act::Say(change), ..Puppet::default() };
    let seen = Arc::clone(&puppet.seen);
    let mut stage = stage(vec![puppet], vec![calls(&[json!({})]), says("done"), says("again")], |_| {});
    stage.prompt("go").await;
    assert_eq!(stage.settled().await, RunOutcome::Completed);
    let requests = stage.requests();
    assert_eq!(asked(&requests[0]), (vec!["be kind, and go".into()], "You are a gatekeeper.", vec![]));
    let (users, system, tools) = asked(&requests[1]);
    assert_eq!((users, tools), (vec!["be kind, and go".to_owned()], vec!["gate"]));
    assert_ne!(system, "You are a gatekeeper.");
    // The request that called the tool did not offer it.
    let refused = "result unknown tool `gate`; there are: ";
    assert_eq!(stage.said(), ["user go", "answer  ToolUse", refused, "answer done Stop"]);
    let seen = seen.lock().unwrap();
    let turns: Vec<&String> = seen
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
    let puppet = Puppet { name: "p", turn: Act::Say(change), ..Puppet::default() };
    let seen = Arc::clone(&puppet.seen);
    let mut stage = stage(vec![puppet], vec![calls(&[json!({})]), calls(&[json!({})]), says("done")], |_| {});
    stage.prompt("go").await;
    assert_eq!(stage.settled().await, RunOutcome::Completed);
    let seen = seen.lock().unwrap();
    assert_eq!(seen.iter().filter(|line| line.starts_with("turn go [")).count(), 3, "{seen:?}");
    for request in stage.requests() {
        assert_eq!(asked(&request).0, ["go, gently"]);
    }
    let log = std::fs::read_to_string(stage.agent.reader().path().unwrap()).unwrap();
    assert_eq!(log.matches(r#""type":"context_edit""#).count(), 1, "{log}");
}

#[tokio::test]
async fn request_retry_is_the_same_request_for_extensions() {
    let failing: ScriptedAnswer = serde_json::from_value(
        json!({"error": {"failure": "transient", "message": "busy", "times": 1}, "text": "done"}),
    )
    .unwrap();
    let change = RequestChange { system: Some("Changed.".into()), ..RequestChange::default() };
    let puppet = Puppet { name: "p", start: Act::Say(change), ..Puppet::default() };
    let (openings, seen) = (Arc::clone(&puppet.openings), Arc::clone(&puppet.seen));
    let mut stage = stage(vec![puppet], vec![failing], |_| {});
    stage.prompt("go").await;
    stage.until(|event| matches!(event, EventKind::AgentSettled).then_some(())).await;
    let systems: Vec<String> = stage.requests().into_iter().map(|request| request.system).collect();
    assert_eq!(systems, ["Changed.", "Changed."]);
    let turns = seen.lock().unwrap().iter().filter(|line| line.starts_with("turn go")).count();
    assert_eq!((openings.load(Ordering::Relaxed), turns), (1, 1));
}

#[tokio::test]
async fn request_change_with_unknown_tool_is_ignored_with_a_warning() {
    let change = RequestChange { tools: Some(vec!["gate".into(), "gat".into()]), ..RequestChange::default() };
    let puppet = Puppet { name: "p", turn: Act::Say(change), ..Puppet::default() };
    let mut stage = stage(vec![puppet], vec![says("done")], |_| {});
    stage.prompt("go").await;
    assert_eq!(stage.until(warning).await, "extension p: turn_start failed: unknown tool gat");
    stage.settled().await;
    assert_eq!(asked(&stage.requests()[0]).2, ["gate"]);
}

/// Runs one call with these extensions; returns its result as the model gets it.
async fn run_call(puppets: Vec<Puppet>, change: impl FnOnce(&mut SessionParts)) -> String {
    let mut stage = stage(puppets, vec![calls(&[json!({"n": 1})]), says("done")], change);
    stage.prompt("go").await;
    assert_eq!(stage.settled().await, RunOutcome::Completed);
    stage.said()[2].clone()
}

fn caller(name: &'static str, call: Act<CallVerdict>) -> Puppet {
    Puppet { name, call, ..Puppet::default() }
}

fn ask(reason: &str) -> Act<CallVerdict> {
    Act::Say(CallVerdict::Ask { reason: reason.into() })
}

fn deny(reason: &str) -> Act<CallVerdict> {
    Act::Say(CallVerdict::Deny { reason: reason.into() })
}

fn rewrite(arguments: Value) -> Act<CallVerdict> {
    Act::Say(CallVerdict::Rewrite { arguments })
}

#[tokio::test]
async fn tool_call_strictest_verdict_counts() {
    let nobody = |parts: &mut SessionParts| parts.options.approver = Approver::Absent;
    let allowed = run_call(vec![caller("a", Act::Nothing)], |_| {}).await;
    assert_eq!(allowed, "result through");
    let denied =
        run_call(vec![caller("a", ask("hm")), caller("b", deny("no")), caller("c", Act::Panic)], |_| {})
            .await;
    assert_eq!(denied, "result denied: no (extension b)");
    let unasked = run_call(vec![caller("a", ask("hm"))], nobody).await;
    assert!(unasked.starts_with("result denied: hm (extension a), and no one can approve it"), "{unasked}");
    let yes =
        run_call(vec![caller("a", ask("hm"))], |parts| parts.options.policy.asking = AskBehavior::Yes).await;
    assert_eq!(yes, "result through");
}

#[tokio::test]
async fn tool_call_ask_verdict_is_not_covered_by_session_rules() {
    let two = calls(&[json!({"n": 1}), json!({"n": 2})]);
    let mut stage = stage(vec![caller("a", ask("sure?"))], vec![two, says("done")], |_| {});
    stage.prompt("go").await;
    let request = |event: &EventKind| match event {
        EventKind::ApprovalRequested(request) => Some(request.clone()),
        _ => None,
    };
    for number in [1, 2] {
        let asked = stage.until(request).await;
        assert_eq!((asked.reason.as_str(), asked.rule.as_str()), ("sure? (extension a)", ""));
        assert_eq!(asked.args, json!({"n": number}));
        stage.agent.decide(asked.tool_call_id, Decision::Session).await.unwrap();
        let decided = |event: &EventKind| match event {
            EventKind::ApprovalResolved { decision, .. } => Some(decision.clone()),
            _ => None,
        };
        assert_eq!(stage.until(decided).await, Decision::Once, "there is no rule to go on");
    }
    assert_eq!(stage.settled().await, RunOutcome::Completed);
}

#[tokio::test]
async fn tool_call_missing_verdict_is_no_consent() {
    for (act, why) in [
        (Act::Fail, "extension guard, which reviews calls, failed: told to fail"),
        (Act::Panic, "extension guard, which reviews calls, crashed"),
        (Act::Hang, "extension guard, which reviews calls, took longer than 20 ms"),
        (
            rewrite(json!({"wrong": 1})),
            "extension guard changed its arguments to invalid ones: `wrong` is wrong",
        ),
    ] {
        for asking in [AskBehavior::User, AskBehavior::Yes] {
            let denied = run_call(vec![caller("guard", act.clone())], |parts| {
                parts.options.approver = Approver::Absent;
                parts.options.policy.asking = asking;
            })
            .await;
            assert_eq!(denied, format!("result denied: {why}, and no one can approve it"));
        }
    }
}

#[tokio::test]
async fn tool_call_missing_verdict_asks_despite_advance_approval() {
    let guard = vec![caller("guard", Act::Fail)];
    let mut stage = stage(guard, vec![calls(&[json!({"n": 1})]), says("done")], |parts| {
        parts.options.policy.asking = AskBehavior::Yes;
    });
    stage.prompt("go").await;
    let request = |event: &EventKind| match event {
        EventKind::ApprovalRequested(request) => Some(request.clone()),
        _ => None,
    };
    let asked = stage.until(request).await;
    assert_eq!(asked.reason, "extension guard, which reviews calls, failed: told to fail");
    stage.agent.decide(asked.tool_call_id, Decision::Once).await.unwrap();
    assert_eq!(stage.settled().await, RunOutcome::Completed);
    assert_eq!(stage.said()[2], "result through");
}

#[tokio::test]
async fn tool_call_rewrites_chain_and_are_validated_and_noted() {
    let first = Puppet { only: Some(json!({"n": 1})), ..caller("a", rewrite(json!({"n": 2}))) };
    let (first, second) = (first, caller("b", rewrite(json!({"n": 3}))));
    let seen = [Arc::clone(&first.seen), Arc::clone(&second.seen)];
    let mut stage = stage(vec![first, second], vec![calls(&[json!({"n": 1})]), says("done")], |_| {});
    stage.prompt("go").await;
    let began = |event: &EventKind| match event {
        EventKind::ToolExecutionStart { args, .. } => Some(args.clone()),
        _ => None,
    };
    assert_eq!(stage.until(began).await, json!({"n": 3}));
    stage.settled().await;
    let calls_seen = |at: usize| {
        let seen: &Mutex<Vec<String>> = &seen[at];
        seen.lock().unwrap().iter().filter(|line| line.starts_with("call")).cloned().collect()
    };
    let (first, second): (Vec<String>, Vec<String>) = (calls_seen(0), calls_seen(1));
    assert_eq!(first, [r#"call {"n":1}"#, r#"call {"n":3}"#], "asked once more about what runs");
    assert_eq!(second, [r#"call {"n":2}"#], "what it gave itself it isn't asked about");
    let log = std::fs::read_to_string(stage.agent.reader().path().unwrap()).unwrap();
    assert!(log.contains(r#""details":{"rewritten":{"by":["a","b"],"arguments":{"n":3}}}"#), "{log}");

    let wrong = run_call(vec![caller("a", rewrite(json!({"wrong": 1})))], |parts| {
        parts.options.approver = Approver::Absent;
    })
    .await;
    let expected = "result denied: extension a changed its arguments to invalid ones: `wrong` is wrong, and";
    assert!(wrong.starts_with(expected), "{wrong}");
}

#[tokio::test]
async fn tool_call_rewrite_does_not_bypass_an_earlier_guard() {
    let nobody = |parts: &mut SessionParts| {
        parts.options.approver = Approver::Absent;
        parts.options.policy.asking = AskBehavior::Yes;
    };
    let guard = Puppet { only: Some(json!({"n": 2})), ..caller("guard", deny("not 2")) };
    let denied = run_call(vec![guard, caller("b", rewrite(json!({"n": 2})))], nobody).await;
    assert_eq!(denied, "result denied: not 2 (extension guard)");
    let quarrel = vec![caller("a", rewrite(json!({"n": 2}))), caller("b", rewrite(json!({"n": 3})))];
    let refused = run_call(quarrel, nobody).await;
    let expected =
        "result denied: extension a wants to change the final arguments, and no one can approve it";
    assert_eq!(refused, expected);
}

#[tokio::test]
async fn tool_call_rewritten_is_judged_by_the_policy_again() {
    let puppet = caller("a", rewrite(json!({"command": "sudo rm x"})));
    let mut stage = stage(vec![puppet], vec![calls(&[json!({"command": "ls"})]), says("done")], |parts| {
        let spec = ToolSpec {
            name: "gate".into(),
            description: String::new(),
            parameters: Arc::new(json!({"type": "object"})),
            traits: ToolTraits::new(Access::Executes),
        };
        let (begun, go) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(1)));
        parts.tools = Tools::new([Arc::new(Gate { spec, begun, go }) as Arc<dyn Tool>]);
        parts.options.policy.mode = tiller_tools::policy::ApprovalMode::Auto;
    });
    stage.prompt("go").await;
    let reason = |event: &EventKind| match event {
        EventKind::ApprovalRequested(request) => Some((request.reason.clone(), request.args.clone())),
        _ => None,
    };
    let (reason, args) = stage.until(reason).await;
    assert_eq!((reason.as_str(), args), ("runs as another user (sudo)", json!({"command": "sudo rm x"})));
}

#[tokio::test]
async fn tool_result_can_be_replaced_and_failures_are_harmless() {
    let content = Some(vec![UserBlock::Text { text: "better".into() }]);
    let change = ResultChange { content, is_error: Some(true) };
    let puppets = vec![
        Puppet { name: "a", result: Act::Say(change), ..Puppet::default() },
        Puppet { name: "b", result: Act::Panic, ..Puppet::default() },
    ];
    let seen = Arc::clone(&puppets[1].seen);
    assert_eq!(run_call(puppets, |_| {}).await, "result better");
    assert!(seen.lock().unwrap().contains(&r#"result {"n":1} better"#.to_owned()));
}

#[tokio::test]
async fn hook_failure_is_reported_once_per_kind() {
    let puppet =
        Puppet { name: "p", start: Act::Panic, turn: Act::Fail, events: Act::Hang, ..Puppet::default() };
    let mut stage = stage(vec![puppet], vec![says("one"), says("two")], |_| {});
    stage.prompt("first").await;
    let mut warnings = Vec::new();
    while warnings.len() < 4 {
        warnings.push(stage.until(warning).await);
    }
    warnings.sort();
    let expected = [
        "before_agent_start crashed",
        "session_event took longer than 20 ms",
        "turn_end took longer than 20 ms",
        "turn_start failed: told to fail",
    ];
    assert_eq!(warnings, expected.map(|what| format!("extension p: {what}")));

    let mut events = stage.agent.subscribe();
    stage.prompt("second").await;
    while stage.said().len() < 4 {
        tokio::task::yield_now().await;
    }
    stage.agent.close().await.unwrap();
    while let Some(Ok(event)) = events.next().await {
        assert_eq!(warning(&event.kind), None);
    }
}

#[tokio::test]
async fn session_events_come_in_order_and_before_close() {
    let puppet = Puppet { name: "p", ..Puppet::default() };
    let seen = Arc::clone(&puppet.seen);
    let mut stage = stage(vec![puppet], vec![says("a long answer in pieces")], |_| {});
    stage.prompt("go").await;
    stage.settled().await;
    stage.agent.close().await.unwrap();
    let seen = seen.lock().unwrap();
    let seen: Vec<&str> = seen
        .iter()
        .map(String::as_str)
        .filter(|line| !line.starts_with("turn go") && *line != "event entry_appended")
        .collect();
    assert_eq!(
        seen,
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
    let mut stage =
        stage(vec![Puppet { name: "p", ..Puppet::default() }], vec![says("one"), says("two")], |_| {});
    stage.prompt("/ask  the weather ").await;
    stage.settled().await;
    stage.prompt("/unknown is text").await;
    stage.settled().await;
    let expected =
        ["user /tell me of the weather", "answer one Stop", "user /unknown is text", "answer two Stop"];
    assert_eq!(stage.said(), expected);
}

#[tokio::test]
async fn command_notice_sends_no_request() {
    let mut stage = stage(vec![Puppet { name: "p", ..Puppet::default() }], vec![], |_| {});
    stage.prompt("/tell x y").await;
    let notice = |event: &EventKind| match event {
        EventKind::Notice { message } => Some(message.clone()),
        _ => None,
    };
    assert_eq!(stage.until(notice).await, "told: x y");
    assert_eq!(stage.settled().await, RunOutcome::Completed);
    assert_eq!((stage.requests().len(), stage.agent.reader().leaf()), (0, None));

    let failed = stage.agent.prompt("/fail", PromptOptions::default()).await.unwrap_err();
    assert_eq!(failed.to_string(), "extension p: command /fail failed: it never works");
    let verbatim = PromptOptions { expand_templates: Expansion::Verbatim, ..PromptOptions::default() };
    stage.agent.prompt("/fail", verbatim).await.unwrap();
}

#[tokio::test]
async fn command_that_hangs_is_aborted_and_delays_nothing() {
    let mut stage = stage(vec![Puppet { name: "p", ..Puppet::default() }], vec![says("meanwhile")], |_| {});
    let agent = stage.agent.clone();
    let hanging = tokio::spawn(async move { agent.prompt("/hang", PromptOptions::default()).await });
    stage.prompt("go").await;
    assert_eq!(stage.settled().await, RunOutcome::Completed);
    stage.agent.abort().await.unwrap();
    assert_eq!(hanging.await.unwrap().unwrap_err().to_string(), "the command was stopped");
}

#[tokio::test]
async fn abort_does_not_wait_for_a_hook() {
    let puppet = Puppet { name: "p", turn: Act::Hang, ..Puppet::default() };
    let mut opening = stage(vec![puppet], vec![says("never")], |_| {});
    opening.prompt("go").await;
    opening.agent.abort().await.unwrap();
    assert_eq!(opening.settled().await, RunOutcome::Aborted);
    assert_eq!(opening.requests().len(), 0);

    let mut planning =
        stage(vec![caller("p", Act::Hang)], vec![calls(&[json!({})]), says("never")], |parts| {
            let slow = Extensions::with_timeout(AMPLE);
            parts.extensions = slow;
            parts.extensions.add(Arc::new(caller("p", Act::Hang)));
        });
    planning.prompt("go").await;
    planning
        .until(|event| {
            matches!(event, EventKind::MessageEnd { message } if matches!(**message, Message::Assistant(_)))
                .then_some(())
        })
        .await;
    planning.agent.abort().await.unwrap();
    assert_eq!(planning.settled().await, RunOutcome::Aborted);
    assert_eq!(planning.said()[2], "result not run: the user stopped the agent");
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
        let (begun, go) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(1)));
        Arc::new(Gate { spec, begun, go }) as Arc<dyn Tool>
    };
    let puppet = Puppet { name: "p", tools: vec![tool("gate"), tool("door")], ..Puppet::default() };
    let open: ScriptedAnswer = serde_json::from_value(json!({"calls": [{"name": "door"}]})).unwrap();
    let mut stage = stage(vec![puppet], vec![open, says("done")], |_| {});
    assert_eq!(
        stage.agent.notices(),
        ["extension p: its tool gate is ignored: there is a tool of that name"]
    );
    stage.prompt("go").await;
    stage.settled().await;
    assert_eq!(stage.said()[2], "result through");
    assert_eq!(asked(&stage.requests()[0]).2, ["gate", "door"]);
}
