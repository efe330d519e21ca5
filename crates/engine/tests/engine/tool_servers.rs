//! Servers that offer tools: requests wait for them, their tools come and go between requests, and they ask the user.

use std::sync::OnceLock;

use tiller_core::elicitation::{
    ElicitationAction, ElicitationAnswer, ElicitationKind, FieldKind, FormField, Limits,
};
use tiller_core::id::ElicitationId;
use tiller_tools::tool::{
    ConnectedServers, PromptFuture, ServedPrompt, ServedResource, ServedTool, ServerQuestion,
    ToolServerState, ToolServerStatus, ToolServers, ToolServersEvent, ToolSource,
};
use tokio::sync::{mpsc, oneshot};

use super::*;

/// A tool that returns its name.
struct NamedTool(ToolSpec);

impl Tool for NamedTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }

    fn run(&self, _: ToolInvocation) -> RunFuture<'_> {
        Box::pin(async move { ToolOutput::text(format!("from {}", self.0.name)) })
    }
}

fn served(name: &str) -> ServedTool {
    let spec = ToolSpec {
        name: name.into(),
        description: "served".into(),
        parameters: Arc::new(json!({"type": "object"})),
        traits: ToolTraits::new(Access::Reads),
    };
    ServedTool { tool: Arc::new(NamedTool(spec)), server: "s".into() }
}

/// Servers with the tools that the test sets, and the windows for which their tools were requested.
#[derive(Default)]
struct FakeServers {
    names: Mutex<Vec<&'static str>>,
    windows: Mutex<Vec<Tokens>>,
    questions: OnceLock<mpsc::Sender<ServerQuestion>>,
}

impl ToolServers for FakeServers {
    fn tools(&self, window: Tokens) -> Vec<ServedTool> {
        self.windows.lock().unwrap().push(window);
        self.names.lock().unwrap().iter().map(|name| served(name)).collect()
    }

    fn status(&self) -> Vec<ToolServerStatus> {
        vec![ToolServerStatus {
            name: "s".into(),
            transport: "stdio",
            address: "s".into(),
            origin: "test".into(),
            state: ToolServerState::Starting,
            stderr: vec![],
        }]
    }

    fn prompts(&self) -> Vec<ServedPrompt> {
        let names = self.names.lock().unwrap();
        let greet =
            ServedPrompt { command: "greet".into(), description: "Greets.".into(), argument_hint: None };
        names.contains(&"greet").then_some(greet).into_iter().collect()
    }

    fn resources(&self) -> Vec<ServedResource> {
        Vec::new()
    }

    fn takes_command(&self, command: &str) -> bool {
        command == "greet"
    }

    fn prompt_text(self: Arc<Self>, command: String, arguments: String) -> PromptFuture {
        Box::pin(async move {
            if arguments.is_empty() { Err("whom?".into()) } else { Ok(format!("{command}: {arguments}")) }
        })
    }

    fn resource_text(self: Arc<Self>, server: String, uri: String) -> PromptFuture {
        Box::pin(async move {
            if uri == "x://slow" {
                std::future::pending::<()>().await;
            }
            if uri == "x://gone" { Err("not found".into()) } else { Ok(format!("{server} has {uri}")) }
        })
    }

    fn restart_failed(&self) {
        self.names.lock().unwrap().push("restarted");
    }
}

/// Creates a session with these answers; returns its servers and the sender of their events.
fn harness(
    answers: Vec<ScriptedAnswer>,
    offer: ToolOffer,
) -> (Harness, Arc<FakeServers>, mpsc::Sender<ToolServersEvent>) {
    let dir = TempDir::new().unwrap();
    let cwd = dir.path().canonicalize().unwrap();
    let manager = SessionManager::new(Placement::Flat(dir.path().join("logs")), cwd);
    let (events, received) = mpsc::channel(8);
    let servers = Arc::new(FakeServers::default());
    let (questions, asked) = mpsc::channel(8);
    servers.questions.set(questions).unwrap();
    let connected = ConnectedServers {
        servers: Arc::clone(&servers) as Arc<dyn ToolServers>,
        events: received,
        questions: asked,
    };
    let harness = Harness::configured(dir, (manager, None), Access::Reads, answers, |parts| {
        parts.tool_servers = Some(connected);
        parts.options.offer = offer;
    });
    (harness, servers, events)
}

fn offered(harness: &Harness) -> Vec<Vec<String>> {
    let names = |request: &Request| request.tools.iter().map(|tool| tool.name.clone()).collect();
    harness.requests().iter().map(names).collect()
}

/// Waits until the session has this many tools.
async fn until_tools(harness: &Harness, count: usize) {
    let waiting = async {
        while harness.agent.tools().await.unwrap().len() != count {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TIMEOUT, waiting).await.expect("the tools never changed");
}

async fn run(harness: &mut Harness, text: &str) {
    harness.prompt(text).await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
}

#[tokio::test]
async fn tool_servers_first_request_waits_until_they_are_ready() {
    let call = serde_json::from_value(json!({"calls": [{"name": "a"}]})).unwrap();
    let (mut harness, servers, events) = harness(vec![call, text_answer("done")], ToolOffer::All);
    harness.prompt("go").await;
    *servers.names.lock().unwrap() = vec!["a", "gate"];
    events.send(ToolServersEvent::Warning("b failed".into())).await.unwrap();
    let warning = |event: &EventKind| match event {
        EventKind::Warning { message, .. } => Some(message.clone()),
        _ => None,
    };
    assert_eq!(harness.wait_for_event(warning).await, "b failed");
    assert_eq!(harness.requests().len(), 0, "the request waits");
    events.send(ToolServersEvent::Ready).await.unwrap();
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    // A server can't replace the session's own tool.
    assert_eq!(offered(&harness), [["gate", "a"], ["gate", "a"]]);
    assert_eq!(harness.message_lines()[2], "result from a");
    let tools = harness.agent.tools().await.unwrap();
    let sources: Vec<ToolSource> = tools.into_iter().map(|tool| tool.source).collect();
    assert_eq!(sources, [ToolSource::Host, ToolSource::Server("s".into())]);
}

#[tokio::test]
async fn tool_servers_waiting_request_can_be_aborted() {
    let (mut harness, _servers, events) = harness(vec![text_answer("later")], ToolOffer::All);
    harness.prompt("go").await;
    harness.agent.abort().await.unwrap();
    assert_eq!(harness.settled().await, RunOutcome::Aborted);
    events.send(ToolServersEvent::Ready).await.unwrap();
    run(&mut harness, "again").await;
    assert_eq!(harness.requests().len(), 1);
}

#[tokio::test]
async fn tool_servers_changes_reach_the_next_request() {
    let answers = ["one", "two", "three", "four"].map(text_answer).to_vec();
    let (mut harness, servers, events) = harness(answers, ToolOffer::All);
    let change = async |names: Vec<&'static str>, event: ToolServersEvent| {
        *servers.names.lock().unwrap() = names;
        events.send(event).await.unwrap();
    };
    change(vec!["a", "b"], ToolServersEvent::Ready).await;
    run(&mut harness, "1").await;
    harness.agent.offer_tools(vec!["gate".into(), "b".into()]).await.unwrap();
    change(vec![], ToolServersEvent::Changed).await;
    until_tools(&harness, 1).await;
    run(&mut harness, "2").await;
    change(vec!["a", "b", "c"], ToolServersEvent::Changed).await;
    until_tools(&harness, 4).await;
    run(&mut harness, "3").await;
    let expected: [&[&str]; 3] = [&["gate", "a", "b"], &["gate"], &["gate", "b", "c"]];
    assert_eq!(offered(&harness), expected, "what the user switched off stays off");

    harness.agent.reload().await.unwrap();
    events.send(ToolServersEvent::Changed).await.unwrap();
    until_tools(&harness, 5).await;
    run(&mut harness, "4").await;
    assert_eq!(offered(&harness)[3], ["gate", "b", "c", "restarted"]);
}

#[tokio::test]
async fn tool_servers_unlisted_tools_are_not_offered() {
    let offer = ToolOffer::Only { names: vec!["b".into()], source: "--tools".into() };
    let (mut harness, servers, events) = harness(vec![text_answer("one")], offer);
    *servers.names.lock().unwrap() = vec!["a", "b"];
    events.send(ToolServersEvent::Ready).await.unwrap();
    run(&mut harness, "go").await;
    assert_eq!(offered(&harness), [["b"]]);
    let window = harness.agent.state().await.unwrap().state.context.window;
    assert_eq!(*servers.windows.lock().unwrap(), [window]);
}

#[tokio::test]
async fn tool_servers_prompts_are_slash_commands() {
    let (mut harness, servers, events) = harness(vec![text_answer("hello")], ToolOffer::All);
    *servers.names.lock().unwrap() = vec!["greet"];
    events.send(ToolServersEvent::Ready).await.unwrap();
    harness.wait_for_event(|event| matches!(event, EventKind::CommandsChanged).then_some(())).await;
    let commands = harness.agent.slash_commands().await.unwrap();
    assert_eq!(commands.iter().map(|command| command.name.as_str()).collect::<Vec<_>>(), ["greet"]);
    let error = harness.agent.prompt("/greet", PromptOptions::default()).await;
    assert!(matches!(&error, Err(AgentError::Extension(reason)) if reason == "whom?"), "{error:?}");
    run(&mut harness, "/greet Ada").await;
    assert_eq!(harness.message_lines(), ["user greet: Ada", "answer hello Stop"]);
}

#[tokio::test]
async fn tool_servers_named_resources_are_attached() {
    let (mut harness, _servers, events) = harness(vec![text_answer("read")], ToolOffer::All);
    events.send(ToolServersEvent::Ready).await.unwrap();
    harness.prompt("what is in @s:x://one, @s:x://gone and @other:x://two?").await;
    let warning = |event: &EventKind| match event {
        EventKind::Warning { message, .. } => Some(message.clone()),
        _ => None,
    };
    assert_eq!(harness.wait_for_event(warning).await, "@s:x://gone can't be attached: not found");
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    let request = &harness.requests()[0];
    let Message::User(user) = &*request.messages[0] else { panic!("{:?}", request.messages) };
    let text = user.content.joined_text();
    assert!(text.contains("<resource server=\"s\" uri=\"x://one\">\ns has x://one\n</resource>"), "{text}");
    assert!(!text.contains("uri=\"x://gone") && !text.contains("uri=\"x://two"), "{text}");
}

#[tokio::test]
async fn tool_servers_slow_resource_is_stopped_by_abort() {
    let (mut harness, _servers, events) = harness(vec![text_answer("later")], ToolOffer::All);
    events.send(ToolServersEvent::Ready).await.unwrap();
    let agent = harness.agent.clone();
    let prompt = tokio::spawn(async move { agent.prompt("see @s:x://slow", PromptOptions::default()).await });
    // The response to the abort comes after the prompt was submitted, or else the next abort stops it.
    while !prompt.is_finished() {
        harness.agent.abort().await.unwrap();
        tokio::task::yield_now().await;
    }
    let refused = prompt.await.unwrap();
    assert!(
        matches!(&refused, Err(AgentError::PromptRejected(reason)) if reason == "stopped before its resources were read"),
        "{refused:?}"
    );
    run(&mut harness, "again").await;
    assert_eq!(harness.message_lines(), ["user again", "answer later Stop"]);
}

/// Asks for a number; returns the receiver of the answer.
async fn ask(servers: &FakeServers) -> oneshot::Receiver<ElicitationAnswer> {
    ask_of("s", servers).await
}

async fn ask_of(server: &str, servers: &FakeServers) -> oneshot::Receiver<ElicitationAnswer> {
    let kind = FieldKind::Integer(Limits { minimum: Some(0), maximum: None });
    let (title, description) = (None, None);
    let field = FormField { name: "n".into(), title, description, required: true, kind, default: None };
    let (reply, answer) = oneshot::channel();
    let kind = ElicitationKind::Form { fields: vec![field] };
    let question = ServerQuestion { server: server.into(), message: "How many?".into(), kind, reply };
    servers.questions.get().unwrap().send(question).await.unwrap();
    answer
}

async fn asked(harness: &mut Harness) -> ElicitationId {
    let id = |event: &EventKind| match event {
        EventKind::ElicitationRequested(request) => Some(request.elicitation_id.clone()),
        _ => None,
    };
    harness.wait_for_event(id).await
}

async fn resolved(harness: &mut Harness) -> (ElicitationId, ElicitationAction) {
    let (id, action, is_withdrawn) = resolution(harness).await;
    assert!(!is_withdrawn);
    (id, action)
}

async fn resolution(harness: &mut Harness) -> (ElicitationId, ElicitationAction, bool) {
    let resolved = |event: &EventKind| match event {
        EventKind::ElicitationResolved { elicitation_id, action, withdrawn } => {
            Some((elicitation_id.clone(), *action, *withdrawn))
        }
        _ => None,
    };
    harness.wait_for_event(resolved).await
}

fn number(n: i64) -> ElicitationAnswer {
    ElicitationAnswer::Accept([("n".to_owned(), json!(n))].into_iter().collect())
}

#[tokio::test]
async fn elicitation_answers_are_checked_and_sent_in_any_order() {
    let (mut harness, servers, _events) = harness(vec![], ToolOffer::All);
    harness.agent.set_approver(Approver::Present).await.unwrap();
    let (first_answer, second_answer) = (ask(&servers).await, ask(&servers).await);
    let (first, second) = (asked(&mut harness).await, asked(&mut harness).await);
    let pending = harness.agent.snapshot().await.unwrap().in_progress.elicitations;
    assert_eq!(pending.iter().map(|request| &request.elicitation_id).collect::<Vec<_>>(), [&first, &second]);

    let invalid = harness.agent.answer_elicitation(second.clone(), number(-1)).await;
    assert!(
        matches!(&invalid, Err(AgentError::InvalidAnswer(problem)) if problem == "n: must be at least 0"),
        "{invalid:?}"
    );
    harness.agent.answer_elicitation(second.clone(), number(2)).await.unwrap();
    assert_eq!(second_answer.await, Ok(number(2)));
    assert_eq!(resolved(&mut harness).await, (second.clone(), ElicitationAction::Accept));
    harness.agent.answer_elicitation(first.clone(), ElicitationAnswer::Decline).await.unwrap();
    assert_eq!(first_answer.await, Ok(ElicitationAnswer::Decline));
    assert_eq!(resolved(&mut harness).await, (first, ElicitationAction::Decline));
    let again = harness.agent.answer_elicitation(second, number(2)).await;
    assert!(matches!(again, Err(AgentError::NotFound(_))), "{again:?}");
}

#[tokio::test]
async fn elicitation_withdrawn_question_is_resolved_as_cancelled() {
    let (mut harness, servers, _events) = harness(vec![], ToolOffer::All);
    harness.agent.set_approver(Approver::Present).await.unwrap();
    let answer = ask(&servers).await;
    let id = asked(&mut harness).await;
    drop(answer);
    assert_eq!(resolution(&mut harness).await, (id, ElicitationAction::Cancel, true));
    assert!(harness.agent.snapshot().await.unwrap().in_progress.elicitations.is_empty());
}

#[tokio::test]
async fn elicitation_without_approver_has_no_answer() {
    let (mut harness, servers, _events) = harness(vec![], ToolOffer::All);
    harness.agent.set_approver(Approver::Absent).await.unwrap();
    assert!(ask(&servers).await.await.is_err(), "nobody is asked");
    harness.agent.set_approver(Approver::Present).await.unwrap();
    let answer = ask(&servers).await;
    let id = asked(&mut harness).await;
    harness.agent.set_approver(Approver::Absent).await.unwrap();
    assert!(answer.await.is_err());
    assert_eq!(resolved(&mut harness).await, (id, ElicitationAction::Decline));
}

#[tokio::test]
async fn elicitation_cancel_is_for_the_whole_server_and_abort_for_all() {
    let (mut harness, servers, _events) = harness(vec![], ToolOffer::All);
    harness.agent.set_approver(Approver::Present).await.unwrap();
    let cancel = ElicitationAnswer::Cancel;
    let answers = [ask_of("s", &servers).await, ask_of("s", &servers).await, ask_of("other", &servers).await];
    let [first, second, other] =
        [asked(&mut harness).await, asked(&mut harness).await, asked(&mut harness).await];
    harness.agent.answer_elicitation(first.clone(), cancel.clone()).await.unwrap();
    let pending = harness.agent.snapshot().await.unwrap().in_progress.elicitations;
    assert_eq!(pending.iter().map(|request| &request.elicitation_id).collect::<Vec<_>>(), [&other]);
    harness.agent.abort().await.unwrap();
    for id in [first, second, other] {
        assert_eq!(resolved(&mut harness).await, (id, ElicitationAction::Cancel));
    }
    for answer in answers {
        assert_eq!(answer.await, Ok(cancel.clone()));
    }
}
