//! Questions of servers to the user, over both transports and in the ways of both handshakes.

use serde_json::{Map, Value, json};
use tiller_core::elicitation::{ElicitationAnswer, ElicitationKind, FieldKind, Limits};
use tiller_mcp::UserPresence;
use tiller_mcp::config::ServerConfig;
use tiller_tools::tool::{ServerQuestion, ToolOutput, ToolServersEvent};

use crate::handler::Lifecycle;
use crate::http;
use crate::servers::{TestServers, stdio, until};

const ASK: &str = "mcp__s__ask";

fn name_question() -> Value {
    let properties = json!({"name": {"type": "string", "minLength": 2}});
    let schema = json!({"type": "object", "properties": properties, "required": ["name"]});
    json!({"question": {"message": "Who?", "requestedSchema": schema}})
}

async fn started(config: ServerConfig) -> TestServers {
    let mut servers = TestServers::start(vec![config]);
    servers.wait_for(&ToolServersEvent::Ready).await;
    servers
}

/// Asks for a name and answers; returns the result as the server got it.
async fn answered(servers: &mut TestServers, answer: ElicitationAnswer) -> Value {
    let call = servers.start_call(ASK, name_question());
    let ServerQuestion { server, message, kind, reply } = servers.question().await;
    assert_eq!((server.as_str(), message.as_str()), ("s", "Who?"));
    let ElicitationKind::Form { fields } = kind else { panic!("{kind:?}") };
    let length = Limits { minimum: Some(2), maximum: None };
    assert_eq!((fields.len(), &fields[0].kind), (1, &FieldKind::Text { format: None, length }));
    reply.send(answer).unwrap();
    received(&call.await.unwrap())
}

/// The text that the server returned, as JSON.
fn received(output: &ToolOutput) -> Value {
    let text = output.content[0].as_text().unwrap();
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn accepted(values: Value) -> ElicitationAnswer {
    let Value::Object(values) = values else { panic!("{values}") };
    ElicitationAnswer::Accept(values)
}

async fn check_answers(servers: &mut TestServers) {
    let accept = answered(servers, accepted(json!({"name": "Ada"}))).await;
    assert_eq!(accept, json!({"action": "accept", "content": {"name": "Ada"}}));
    assert_eq!(answered(servers, ElicitationAnswer::Decline).await, json!({"action": "decline"}));
    assert_eq!(answered(servers, ElicitationAnswer::Cancel).await, json!({"action": "cancel"}));
}

#[tokio::test]
async fn elicitation_answers_reach_the_server_over_stdio() {
    for mode in ["modern", "legacy"] {
        check_answers(&mut started(stdio("s", mode)).await).await;
    }
}

#[tokio::test]
async fn elicitation_answers_reach_the_server_over_http() {
    for lifecycle in [Lifecycle::Modern, Lifecycle::Legacy] {
        let (url, task) = http::serve(lifecycle).await;
        let config = ServerConfig { name: "s".into(), ..http::config(&url, Some("k")) };
        check_answers(&mut started(config).await).await;
        task.abort();
    }
}

#[tokio::test]
async fn elicitation_stopped_call_withdraws_the_question() {
    for mode in ["modern", "legacy"] {
        let mut servers = started(stdio("s", mode)).await;
        let call = servers.start_call(ASK, name_question());
        let mut question = servers.question().await;
        call.abort();
        question.reply.closed().await;
        if mode == "legacy" {
            until(|| servers.status().stderr.contains(&r#"answered {"action":"cancel"}"#.to_owned())).await;
        }
        let accept = answered(&mut servers, accepted(json!({"name": "Ada"}))).await;
        assert_eq!(accept["action"], "accept", "the next question works");
    }
}

#[tokio::test]
async fn elicitation_several_questions_wait_side_by_side() {
    let mut servers = started(stdio("s", "legacy")).await;
    let calls = [servers.start_call(ASK, name_question()), servers.start_call(ASK, name_question())];
    let questions = [servers.question().await, servers.question().await];
    for (question, name) in questions.into_iter().zip(["Ada", "Bob"]) {
        question.reply.send(accepted(json!({"name": name}))).unwrap();
    }
    let mut names = Vec::new();
    for call in calls {
        names.push(received(&call.await.unwrap())["content"]["name"].as_str().unwrap().to_owned());
    }
    names.sort();
    assert_eq!(names, ["Ada", "Bob"]);
}

#[tokio::test]
async fn elicitation_cancel_holds_for_the_rest_of_the_call() {
    for mode in ["modern", "legacy"] {
        let mut servers = started(stdio("s", mode)).await;
        let mut arguments = name_question();
        arguments["times"] = json!(3);
        let call = servers.start_call(ASK, arguments);
        servers.question().await.reply.send(ElicitationAnswer::Decline).unwrap();
        servers.question().await.reply.send(ElicitationAnswer::Cancel).unwrap();
        let expected = json!([{"action": "decline"}, {"action": "cancel"}, {"action": "cancel"}]);
        assert_eq!(received(&call.await.unwrap()), expected, "{mode}");
        let accept = answered(&mut servers, accepted(json!({"name": "Ada"}))).await;
        assert_eq!(accept["action"], "accept", "the next call may ask");
    }
}

#[tokio::test]
async fn elicitation_many_pending_questions_are_declined() {
    let mut servers = started(stdio("s", "legacy")).await;
    let mut arguments = name_question();
    (arguments["times"], arguments["at_once"]) = (json!(10), json!(true));
    let call = servers.start_call(ASK, arguments);
    let mut questions = Vec::new();
    for _ in 0..8 {
        questions.push(servers.question().await);
    }
    // The others are declined while these wait.
    servers.call("mcp__s__echo", json!({"text": "x"})).await;
    for question in questions {
        question.reply.send(accepted(json!({"name": "Ada"}))).unwrap();
    }
    let output = call.await.unwrap();
    let Value::Array(answers) = received(&output) else { panic!("{output:?}") };
    let declined = answers.iter().filter(|answer| **answer == json!({"action": "decline"}));
    assert_eq!((answers.len(), declined.count()), (10, 2));
    let note = "[The server asked the user for input. It was declined: too many of its questions are already waiting.]";
    assert_eq!([&output.content[1], &output.content[2]].map(|note| note.as_text()), [Some(note); 2]);
}

#[tokio::test]
async fn elicitation_without_user_is_declined_with_the_reason() {
    let note = "[The server asked the user for input. It was declined: the session is non-interactive.]";
    for mode in ["modern", "legacy"] {
        let mut servers = TestServers::start_with(vec![stdio("s", mode)], |options| {
            options.presence = UserPresence::Absent;
        });
        servers.wait_for(&ToolServersEvent::Ready).await;
        let output = servers.call(ASK, name_question()).await;
        assert_eq!(received(&output), json!({"action": "decline"}), "{mode}");
        assert_eq!(output.content[1].as_text(), Some(note), "{mode}");
    }
    // The front end has left.
    let mut servers = started(stdio("s", "legacy")).await;
    let call = servers.start_call(ASK, name_question());
    drop(servers.question().await);
    let output = call.await.unwrap();
    assert_eq!((received(&output), output.content[1].as_text()), (json!({"action": "decline"}), Some(note)));
}

#[tokio::test]
async fn elicitation_address_is_passed_on_only_for_web_pages() {
    for mode in ["modern", "legacy"] {
        let mut servers = started(stdio("s", mode)).await;
        let question = |url: &str| {
            let url = json!({"mode": "url", "message": "Sign in.", "url": url, "elicitationId": "1"});
            json!({"question": url})
        };
        let call = servers.start_call(ASK, question("https://x.org/in"));
        let asked = servers.question().await;
        assert_eq!(asked.kind, ElicitationKind::Url { url: "https://x.org/in".into(), host: "x.org".into() });
        asked.reply.send(ElicitationAnswer::Accept(Map::new())).unwrap();
        assert_eq!(received(&call.await.unwrap()), json!({"action": "accept"}));

        let output = servers.call(ASK, question("file:///etc/passwd")).await;
        assert_eq!(received(&output), json!({"action": "decline"}));
        let note = "[The server asked the user for input. It was declined: its address is not a web address (http or https).]";
        assert_eq!(output.content[1].as_text(), Some(note));
    }
}

#[tokio::test]
async fn elicitation_required_visit_is_offered() {
    let mut servers = started(stdio("s", "legacy")).await;
    for (answer, text) in [
        (
            ElicitationAnswer::Accept(Map::new()),
            "which has been opened. Call it again when the user has finished there.",
        ),
        (ElicitationAnswer::Decline, "and that was declined."),
    ] {
        let call = servers.start_call("mcp__s__visit", json!({}));
        let asked = servers.question().await;
        assert_eq!(asked.kind, ElicitationKind::Url { url: "https://x.org/in".into(), host: "x.org".into() });
        asked.reply.send(answer).unwrap();
        let expected = format!("MCP server s: it needs the user to visit a web page first, {text}");
        assert_eq!(call.await.unwrap(), ToolOutput::error(expected));
    }
}

#[tokio::test]
async fn elicitation_unknown_form_is_refused_with_the_reason() {
    let mut servers = started(stdio("s", "legacy")).await;
    let nested = json!({"type": "object", "properties": {"a": {"type": "object"}}});
    let question = json!({"question": {"message": "?", "requestedSchema": nested}});
    let output = servers.call(ASK, question).await;
    assert!(
        output.content[0].as_text().unwrap().contains("the requested form doesn't conform to the protocol")
    );
    let note = "[The server asked the user for input. It was refused: the requested form doesn't conform to the protocol.]";
    assert_eq!(output.content[1].as_text(), Some(note));
    let accept = answered(&mut servers, accepted(json!({"name": "Ada"}))).await;
    assert_eq!(accept["action"], "accept");
}
