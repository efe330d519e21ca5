//! A session with its driver at one end of a connection and a front end at the other.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tiller_core::id::EntryId;
use tiller_core::message::{Image, UserBlock};
use tiller_engine::StreamingBehavior;
use tiller_engine::remote_session::{
    ConnectionState, Redial, RedialError, RemoteError, connect, connect_again, share,
};
use tiller_session::Reader;
use tokio::io::{AsyncWriteExt, DuplexStream, duplex};
use tokio::task::JoinHandle;

use super::*;

/// Connects a front end to the harness's session.
async fn front_end(harness: &Harness) -> AgentSession {
    let (near, far) = duplex(4096);
    tokio::spawn(share(harness.agent.clone(), far, None));
    connect(near).await.unwrap()
}

/// Waits until a front end has mirrored the current log.
async fn mirrored(front: &AgentSession, harness: &Harness) {
    let expected = harness.agent.reader().lines().unwrap();
    for _ in 0..1_000 {
        if front.reader().lines().unwrap() == expected {
            return;
        }
        // A response follows all earlier events.
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
        ("", "has closed this session"),
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

/// Reconnects to the harness's session, at the attempts that aren't refused.
struct Dialer {
    agent: AgentSession,
    known: Arc<Mutex<Vec<Option<EntryId>>>>,
    attempts: VecDeque<Result<(), RedialError>>,
}

impl Redial for Dialer {
    type Stream = DuplexStream;

    async fn redial(&mut self, known: &Reader) -> Result<DuplexStream, RedialError> {
        self.known.lock().unwrap().push(known.leaf());
        self.attempts.pop_front().unwrap_or(Ok(()))?;
        let (near, far) = duplex(4096);
        tokio::spawn(share(self.agent.clone(), far, known.leaf()));
        Ok(near)
    }
}

/// Connects to the harness's session; the task is the other end of the connection.
async fn lasting_front_end(
    harness: &Harness,
    attempts: impl IntoIterator<Item = Result<(), RedialError>>,
) -> (AgentSession, JoinHandle<Result<(), RemoteError>>, Arc<Mutex<Vec<Option<EntryId>>>>) {
    let (near, far) = duplex(4096);
    let other_end = tokio::spawn(share(harness.agent.clone(), far, None));
    let known = Arc::<Mutex<Vec<Option<EntryId>>>>::default();
    let agent = harness.agent.clone();
    let dialer = Dialer { agent, known: Arc::clone(&known), attempts: attempts.into_iter().collect() };
    (connect_again(near, dialer).await.unwrap(), other_end, known)
}

#[tokio::test]
async fn remote_lost_connection_is_made_again() {
    let mut harness = Harness::new(Access::Reads, vec![text_answer("one"), text_answer("two")]);
    harness.prompt("first").await;
    harness.settled().await;
    let gone = || Err(RedialError::Unreachable("connection refused".into()));
    let (front, other_end, known) = lasting_front_end(&harness, [gone()]).await;
    mirrored(&front, &harness).await;
    let before = front.reader().leaf();
    let mut state = front.connection().unwrap();
    other_end.abort();
    state.wait_for(|state| *state == ConnectionState::Lost { attempt: 2 }).await.unwrap();
    let refused = front.prompt("lost", PromptOptions::default()).await.unwrap_err();
    assert!(matches!(refused, AgentError::Disconnected), "{refused}");
    harness.prompt("second").await;
    harness.settled().await;
    state.wait_for(|state| *state == ConnectionState::Connected).await.unwrap();
    mirrored(&front, &harness).await;
    assert_eq!(front.snapshot().await.unwrap().seq, harness.agent.snapshot().await.unwrap().seq);
    assert_eq!(*known.lock().unwrap(), [before.clone(), before]);
}

#[tokio::test]
async fn remote_refused_connection_ends_the_front_end() {
    let harness = Harness::new(Access::Reads, Vec::new());
    let refused = RedialError::Refused("closed".into());
    let (front, other_end, _) = lasting_front_end(&harness, [Err(refused)]).await;
    let (mut events, state) = (front.subscribe(), front.connection().unwrap());
    other_end.abort();
    while events.next().await.is_some() {}
    assert_eq!(*state.borrow(), ConnectionState::Ended { reason: "closed".into() });
    assert!(matches!(front.state().await.unwrap_err(), AgentError::Closed));
}

#[tokio::test]
async fn remote_error_keeps_its_kind_and_hint() {
    let mut harness = Harness::new(Access::Reads, vec![text_answer("one")]);
    let front = front_end(&harness).await;
    let unknown = front.prompt("/skill:none", PromptOptions::default()).await.unwrap_err();
    assert!(matches!(&unknown, AgentError::UnknownSkill { name, .. } if name == "none"), "{unknown:?}");
    let model = front.set_model("no-such-model").await.unwrap_err();
    let here = harness.agent.set_model("no-such-model").await.unwrap_err();
    assert_eq!((model.to_string(), model.hint()), (here.to_string(), here.hint()));
    assert!(model.hint().is_some());
    harness.prompt("first").await;
    harness.settled().await;
}

#[tokio::test]
async fn remote_queued_image_is_delivered() {
    let answers = vec![calls(&[json!({})]), text_answer("one"), text_answer("two")];
    let mut harness = Harness::new(Access::Executes, answers);
    let (front, other) = (front_end(&harness).await, front_end(&harness).await);
    let mut events = front.subscribe();
    front.prompt("go", PromptOptions::default()).await.unwrap();
    let request = loop {
        if let EventKind::ApprovalRequested(request) = &events.next().await.unwrap().unwrap().kind {
            break request.clone();
        }
    };
    let image = Image { data: "AA==".into(), mime_type: "image/png".into() };
    let images = vec![image.clone()];
    let streaming_behavior = Some(StreamingBehavior::FollowUp);
    let options = PromptOptions { images, streaming_behavior, ..PromptOptions::default() };
    front.prompt("look", options).await.unwrap();
    let queue = other.snapshot().await.unwrap().in_progress.queue;
    assert_eq!((&*queue[0].text, &*queue[0].images), ("look", &[image.clone()][..]));
    front.decide(request.tool_call_id, Decision::Deny { reason: "no".into() }).await.unwrap();
    harness.settled().await;
    mirrored(&other, &harness).await;
    let (entries, _) = other.reader().entries().unwrap();
    let sent = entries.iter().rev().find_map(|entry| match &**entry.body.as_message()? {
        Message::User(message) => Some(message.content.to_blocks()),
        _ => None,
    });
    let block = UserBlock::Image { data: image.data, mime_type: image.mime_type };
    assert!(sent.unwrap().contains(&block));
}
