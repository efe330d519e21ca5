//! The event stream: order, continuation, slow watchers.

use serde_json::json;

use crate::support::{SseEvent, TestServer};

fn seqs(events: &[SseEvent]) -> Vec<u64> {
    events.iter().map(SseEvent::seq).collect()
}

fn text(events: &[SseEvent]) -> String {
    let deltas = events.iter().filter(|event| event.name == "text_delta");
    deltas.map(|event| event.data["delta"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn stream_has_every_event_in_order() {
    let call = json!({"think": "Hm.", "calls": [{"name": "list_files", "arguments": {}}]});
    let server = TestServer::start(&[call, json!({"text": "All done, as you asked."})]);
    let session = server.create().await;
    let events = server.chat(&session, "hello").await;
    assert_eq!(events[0].name, "snapshot");
    let first = events[0].seq();
    assert_eq!(seqs(&events), (first..first + events.len() as u64).collect::<Vec<_>>());
    let names = ["agent_start", "thinking_delta", "tool_call", "tool_result", "text_delta", "completed"];
    let places: Vec<_> =
        names.iter().map(|name| events.iter().position(|event| event.name == *name).expect(name)).collect();
    assert!(places.is_sorted(), "{places:?}");
    assert_eq!(text(&events), "All done, as you asked.");
    let completed = events.iter().find(|event| event.name == "completed").unwrap();
    assert_eq!(completed.data["outcome"], "completed");
}

#[tokio::test]
async fn stream_failed_run_is_an_error_event() {
    let server = TestServer::start(&[json!({"error": {"failure": "auth", "message": "no entry"}})]);
    let session = server.create().await;
    let events = server.chat(&session, "hello").await;
    let error = events.iter().find(|event| event.name == "error").expect("an error");
    assert!(error.data["errorMessage"].as_str().unwrap().contains("no entry"), "{}", error.data);
    assert!(!events.iter().any(|event| event.name == "completed"));
}

#[tokio::test]
async fn stream_continues_after_last_event_id() {
    let server =
        TestServer::start(&[json!({"text": "A longer answer, in some pieces."}), json!({"text": "Two."})]);
    let session = server.create().await;
    let all = server.chat(&session, "hello").await;
    let middle = all.len() / 2;
    let mut rest = server.watch(&session, Some(&all[middle].id)).await;
    assert_eq!(rest.until("agent_settled").await, all[middle + 1..]);
    // It stays open, and live.
    server.post(&format!("{session}/chat"), json!({"message": "more"})).await;
    let next = rest.next().await.unwrap();
    assert_eq!(next.seq(), all.last().unwrap().seq() + 1);
}

#[tokio::test]
async fn stream_from_creation_misses_nothing() {
    let server = TestServer::start(&[json!({"text": "One."})]);
    let session = server.create().await;
    let id = server.get(&session).await.json()["lastEventId"].as_str().unwrap().to_owned();
    let all = server.chat(&session, "hello").await;
    let mut late = server.watch(&session, Some(&id)).await;
    assert_eq!(late.until("agent_settled").await, all[1..]);
}

#[tokio::test]
async fn stream_unknown_event_id_gets_a_snapshot() {
    let server = TestServer::start(&[json!({"text": "One."})]);
    let session = server.create_and_chat().await;
    let newest = server.get(&session).await.json()["lastEventId"].as_str().unwrap().to_owned();
    let epoch = newest.split_once('-').unwrap().0;
    for id in ["other-1", "nonsense", "", &format!("{epoch}-9999")] {
        let first = server.watch(&session, Some(id)).await.next().await.unwrap();
        assert_eq!((first.name.as_str(), first.id.as_str()), ("snapshot", newest.as_str()), "{id}");
        assert_eq!(first.data["state"]["sessionId"], json!(session.rsplit('/').next().unwrap()));
    }
}

#[tokio::test]
async fn stream_ids_of_an_earlier_opening_are_unknown() {
    let server = TestServer::start(&[json!({"text": "One."})]);
    let session = server.create().await;
    let events = server.chat(&session, "hello").await;
    let server = server.restart().await;
    server.post(&format!("{session}/resume"), json!({})).await;
    let first = server.watch(&session, Some(&events[1].id)).await.next().await.unwrap();
    assert_eq!(first.name, "snapshot");
}

#[tokio::test]
async fn stream_watcher_that_reads_nothing_slows_nobody() {
    // More events than are kept for late watchers.
    let server = TestServer::start(&[json!({"text": "word ", "repeat": 20_000}), json!({"text": "Two."})]);
    let session = server.create().await;
    let mut stalled = server.watch(&session, None).await;
    let first = stalled.next().await.unwrap();
    let events = server.chat(&session, "hello").await;
    assert_eq!(events.last().unwrap().name, "agent_settled");
    let resync = stalled.next().await.unwrap();
    assert_eq!(resync.name, "snapshot");
    assert!(resync.seq() > first.seq() + 20_000);
    // From here on it misses nothing.
    server.post(&format!("{session}/chat"), json!({"message": "more"})).await;
    let rest = stalled.until("agent_settled").await;
    assert_eq!(rest[0].seq(), resync.seq() + 1);
    assert_eq!(text(&rest), "Two.");
    let metrics = server.get("/metrics").await.text;
    assert!(!metrics.contains("tiller_stream_resyncs_total 0\n"), "{metrics}");
}

#[tokio::test]
async fn stream_end_of_a_long_answer_is_not_lost() {
    // The last events have the whole answer each, in a row.
    let server = TestServer::start(&[json!({"text": "word ".repeat(120_000), "chunk": 600_000})]);
    let session = server.create().await;
    let events = server.chat(&session, "hello").await;
    let names: Vec<&str> = events[1..].iter().map(|event| &*event.name).collect();
    assert!(names.contains(&"completed") && !names.contains(&"snapshot"), "{names:?}");
}

#[tokio::test]
async fn stream_watchers_get_the_same_events() {
    let server = TestServer::start(&[json!({"text": "One."})]);
    let session = server.create().await;
    let mut watchers = Vec::new();
    for _ in 0..50 {
        watchers.push(server.watch_from_now(&session).await.0);
    }
    let all = server.chat(&session, "hello").await;
    for mut watcher in watchers {
        assert_eq!(watcher.until("agent_settled").await, all[1..]);
    }
}

#[tokio::test(start_paused = true)]
async fn stream_without_events_gets_heartbeats() {
    let server = TestServer::start(&[]);
    let session = server.create().await;
    let mut events = server.watch(&session, None).await;
    events.until("snapshot").await;
    let start = tokio::time::Instant::now();
    assert_eq!(events.next_text().await, ": ping\n\n");
    assert_eq!(start.elapsed().as_secs(), 15);
}
