//! A session with its driver at one end of a connection and a front end at the other.

use tiller_engine::remote_session::{RemoteError, connect, share};
use tokio::io::{AsyncWriteExt, duplex};

use super::*;

/// Connects a front end to the harness's session.
async fn front_end(harness: &Harness) -> AgentSession {
    let (near, far) = duplex(4096);
    tokio::spawn(share(harness.agent.clone(), far));
    connect(near).await.unwrap()
}

/// Waits until a front end has mirrored what the log has now.
async fn mirrored(front: &AgentSession, harness: &Harness) {
    let expected = harness.agent.reader().lines().unwrap();
    for _ in 0..1_000 {
        if front.reader().lines().unwrap() == expected {
            return;
        }
        // An answer comes after the events before it.
        front.state().await.unwrap();
    }
    panic!("{:?} instead of {expected:?}", front.reader().lines().unwrap());
}

#[tokio::test]
async fn remote_prompt_runs_and_all_front_ends_see_it() {
    let mut harness = Harness::new(Access::Reads, vec![text_answer("one"), text_answer("two")]);
    harness.prompt("first").await;
    harness.settled().await;
    let (one, two) = (front_end(&harness).await, front_end(&harness).await);
    mirrored(&one, &harness).await;
    let mut events = two.subscribe();
    two.state().await.unwrap();
    one.prompt("second", PromptOptions::default()).await.unwrap();
    harness.settled().await;
    let settled = one.settled().await.unwrap();
    assert_eq!((settled.outcome, settled.messages.len()), (RunOutcome::Completed, 2));
    for front in [&one, &two] {
        mirrored(front, &harness).await;
        assert_eq!(message_lines(&front.reader()), harness.message_lines());
        let (near, far) = (front.snapshot().await.unwrap(), harness.agent.snapshot().await.unwrap());
        assert_eq!((near.seq, near.state.session), (far.seq, far.state.session));
        let (near, far) = (front.stats().await.unwrap(), harness.agent.stats().await.unwrap());
        assert_eq!((near.session.usage, near.context), (far.session.usage, far.context));
        assert_eq!(front.messages().await.unwrap(), harness.agent.messages().await.unwrap());
    }
    let mut typed = Vec::new();
    while let Some(event) = events.try_next() {
        if let EventKind::MessageEnd { message } = &event.unwrap().kind
            && let Message::User(message) = &**message
        {
            typed.push(message.content.joined_text());
        }
    }
    assert_eq!(typed, ["second"]);
}

#[tokio::test]
async fn remote_queue_approvals_and_branches_are_those_of_the_session() {
    let answers = vec![calls(&[json!({})]), text_answer("done")];
    let mut harness = Harness::new(Access::Executes, answers);
    let front = front_end(&harness).await;
    let mut events = front.subscribe();
    front.prompt("go", PromptOptions::default()).await.unwrap();
    let request = loop {
        if let EventKind::ApprovalRequested(request) = &events.next().await.unwrap().unwrap().kind {
            break request.clone();
        }
    };
    front.follow_up("later").await.unwrap();
    let queue = front.snapshot().await.unwrap().in_progress.queue;
    assert_eq!(queue, harness.agent.snapshot().await.unwrap().in_progress.queue);
    let removed = front.remove_queued(queue[0].id.clone()).await.unwrap();
    assert_eq!(removed, queue[0]);
    let gone = front.remove_queued(queue[0].id.clone()).await.unwrap_err();
    assert!(matches!(gone, AgentError::NotFound(_)), "{gone}");
    front.decide(request.tool_call_id, Decision::Deny { reason: "no".into() }).await.unwrap();
    harness.settled().await;
    mirrored(&front, &harness).await;
    let first =
        front.reader().entries().unwrap().0.into_iter().find(|entry| entry.body.as_message().is_some());
    let moved = front.navigate(first.unwrap().id, BranchSummary::None).await.unwrap();
    assert_eq!(moved.editor.as_deref(), Some("go"));
    mirrored(&front, &harness).await;
    assert_eq!(front.reader().leaf(), harness.agent.reader().leaf());
    let refused = front.new_session().await.unwrap_err();
    assert!(matches!(refused, AgentError::OpenElsewhere), "{refused}");
}

#[tokio::test]
async fn remote_new_session_of_the_owner_is_followed() {
    let mut harness = Harness::new(Access::Reads, vec![text_answer("one"), text_answer("two")]);
    let front = front_end(&harness).await;
    let mut events = front.subscribe();
    harness.prompt("first").await;
    harness.settled().await;
    harness.agent.new_session().await.unwrap();
    loop {
        if let EventKind::SessionChanged { .. } = &events.next().await.unwrap().unwrap().kind {
            break;
        }
    }
    assert_eq!(front.reader().id(), harness.agent.reader().id());
    harness.prompt("second").await;
    harness.settled().await;
    mirrored(&front, &harness).await;
}

#[tokio::test]
async fn remote_close_ends_the_connection_and_not_the_session() {
    let mut harness = Harness::new(Access::Reads, vec![text_answer("one")]);
    let front = front_end(&harness).await;
    front.close().await.unwrap();
    assert!(matches!(front.state().await.unwrap_err(), AgentError::Closed));
    harness.prompt("first").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);

    let front = front_end(&harness).await;
    let mut events = front.subscribe();
    harness.agent.close().await.unwrap();
    while events.next().await.is_some() {}
    assert!(matches!(front.state().await.unwrap_err(), AgentError::Closed));
}

#[tokio::test]
async fn connect_refuses_other_versions_and_other_programs() {
    for (sent, expected) in [
        ("", "ended the connection"),
        ("{\"hello\": {\"version\": \"tiller 0.0.1\"}}\n", "open in tiller 0.0.1"),
        ("HTTP/1.1 400 Bad Request\n", "an invalid line"),
    ] {
        let (near, mut far) = duplex(4096);
        far.write_all(sent.as_bytes()).await.unwrap();
        drop(far);
        let error = connect(near).await.map(drop).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(!matches!(error, RemoteError::Log(_)));
    }
}
