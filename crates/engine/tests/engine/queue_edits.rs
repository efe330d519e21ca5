//! The queue through the handle: edits, order, promotion, release, and restoration.

use tiller_core::message::Image;
use tiller_engine::queue::QueueEdit;

use super::*;

fn texts(items: &[tiller_core::event::QueueItem]) -> Vec<(&str, bool)> {
    items.iter().map(|item| (item.text.as_str(), item.held)).collect()
}

async fn queue(harness: &Harness) -> Vec<tiller_core::event::QueueItem> {
    harness.agent.snapshot().await.unwrap().in_progress.queue
}

fn picture() -> Image {
    Image { data: "AA==".into(), mime_type: "image/png".into() }
}

#[tokio::test]
async fn queue_edits_apply_to_delivery_and_after_restart() {
    let mut harness = Harness::new(Access::Writes, vec![calls(&[json!({})])]);
    harness.prompt("go").await;
    harness.started.notified().await;
    for text in ["one", "two", "three"] {
        harness.agent.follow_up(text).await.unwrap();
    }
    let ids: Vec<_> = queue(&harness).await.into_iter().map(|item| item.id).collect();
    let last = QueueEdit { place: Some(9), text: Some("uno".into()), ..QueueEdit::default() };
    assert_eq!(harness.agent.edit_queued(ids[0].clone(), last).await.unwrap().text, "uno");
    let with_image = QueueEdit { images: Some(vec![picture()]), ..QueueEdit::default() };
    harness.agent.edit_queued(ids[1].clone(), with_image).await.unwrap();
    let promoted = QueueEdit { kind: Some(QueueKind::Steer), ..QueueEdit::default() };
    assert_eq!(harness.agent.edit_queued(ids[2].clone(), promoted).await.unwrap().kind, QueueKind::Steer);
    let before = queue(&harness).await;
    assert_eq!(texts(&before), [("two", false), ("three", false), ("uno", false)]);

    let path = harness.agent.reader().path().unwrap().to_owned();
    let copy = path.with_file_name("copy.jsonl");
    std::fs::copy(&path, &copy).unwrap();
    harness.agent.abort().await.unwrap();
    assert_eq!(harness.settled().await, RunOutcome::Aborted);
    assert!(matches!(
        harness.agent.edit_queued(ids[0].clone(), QueueEdit::default()).await,
        Err(AgentError::NotFound("queued message with that id"))
    ));

    let mut resumed = Harness::in_dir(harness.dir, Access::Writes, vec![], Some(copy));
    let back = queue(&resumed).await;
    assert_eq!(texts(&back), [("two", true), ("three", true), ("uno", true)]);
    assert_eq!((back[0].images.to_vec(), back[1].kind), (vec![picture()], QueueKind::Steer));
    resumed.agent.release_queued(back[0].id.clone()).await.unwrap();
    resumed.settled().await;
    assert_eq!(texts(&queue(&resumed).await), [("three", true), ("uno", true)]);
    let messages = format!("{:?}", resumed.requests()[0].messages.last());
    assert!(messages.contains("two") && messages.contains("AA=="), "{messages}");
    assert!(matches!(
        resumed.agent.release_queued(back[0].id.clone()).await,
        Err(AgentError::NotFound("queued message with that id"))
    ));
    let cleared = resumed.agent.clear_queue(Some(QueueKind::FollowUp)).await.unwrap();
    assert_eq!(texts(&cleared), [("uno", true)]);
}

#[tokio::test]
async fn queue_full_rejects_and_keeps_its_messages() {
    let mut harness = Harness::new(Access::Writes, vec![calls(&[json!({})])]);
    harness.prompt("go").await;
    harness.started.notified().await;
    for at in 0..queue::MAX_WAITING {
        harness.agent.follow_up(format!("message {at}")).await.unwrap();
    }
    let error = harness.agent.follow_up("one more").await.unwrap_err();
    assert!(matches!(error, AgentError::QueueFull(queue::MAX_WAITING)), "{error}");
    assert!(error.to_string().starts_with("the queue is full (1000 messages)"), "{error}");
    assert!(matches!(
        harness.agent.steer_now("now", PromptOptions::default()).await,
        Err(AgentError::QueueFull(_))
    ));
    let queue = queue(&harness).await;
    assert_eq!((queue.len(), queue[999].text.as_str()), (1_000, "message 999"));
    harness.agent.remove_queued(queue[0].id.clone()).await.unwrap();
    harness.agent.follow_up("one more").await.unwrap();
    harness.agent.abort().await.unwrap();
    assert_eq!(harness.settled().await, RunOutcome::Aborted);
}

#[tokio::test]
async fn prompt_images_reach_the_model_and_the_log() {
    let mut harness = Harness::new(Access::Reads, vec![text_answer("a cat")]);
    let options = PromptOptions { images: vec![picture()], ..PromptOptions::default() };
    harness.agent.prompt("what is this?", options).await.unwrap();
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    let requests = harness.model.recorded.lock().unwrap();
    assert!(format!("{:?}", requests[0].0.messages[0]).contains("image/png"));
    assert!(
        requests[0].1.contains(r#"{"type":"image","data":"AA==","mimeType":"image/png"}"#),
        "{}",
        requests[0].1
    );
}
