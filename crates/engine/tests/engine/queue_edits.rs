//! The queue through the handle: edits, order, promotion, release, and restoration.

use tiller_core::message::Image;
use tiller_engine::queue::QueueEdit;

use super::*;

fn texts(items: &[tiller_core::event::QueueItem]) -> Vec<(&str, bool)> {
    items.iter().map(|item| (item.text.as_str(), item.held)).collect()
}

async fn waiting(stage: &Stage) -> Vec<tiller_core::event::QueueItem> {
    stage.agent.snapshot().await.unwrap().in_progress.queue
}

fn picture() -> Image {
    Image { data: "AA==".into(), mime_type: "image/png".into() }
}

#[tokio::test]
async fn queue_edits_apply_to_delivery_and_after_restart() {
    let mut stage = Stage::new(Access::Writes, vec![calls(&[json!({})])]);
    stage.prompt("go").await;
    stage.begun.notified().await;
    for text in ["one", "two", "three"] {
        stage.agent.follow_up(text).await.unwrap();
    }
    let ids: Vec<_> = waiting(&stage).await.into_iter().map(|item| item.id).collect();
    let last = QueueEdit { place: Some(9), text: Some("uno".into()), ..QueueEdit::default() };
    assert_eq!(stage.agent.edit_queued(ids[0].clone(), last).await.unwrap().text, "uno");
    let shown = QueueEdit { images: Some(vec![picture()]), ..QueueEdit::default() };
    stage.agent.edit_queued(ids[1].clone(), shown).await.unwrap();
    let promoted = QueueEdit { kind: Some(QueueKind::Steer), ..QueueEdit::default() };
    assert_eq!(stage.agent.edit_queued(ids[2].clone(), promoted).await.unwrap().kind, QueueKind::Steer);
    let before = waiting(&stage).await;
    assert_eq!(texts(&before), [("two", false), ("three", false), ("uno", false)]);

    let path = stage.agent.reader().path().unwrap().to_owned();
    let copy = path.with_file_name("copy.jsonl");
    std::fs::copy(&path, &copy).unwrap();
    stage.agent.abort().await.unwrap();
    assert_eq!(stage.settled().await, RunOutcome::Aborted);
    assert!(matches!(
        stage.agent.edit_queued(ids[0].clone(), QueueEdit::default()).await,
        Err(AgentError::NotFound("queued message with that id"))
    ));

    let mut later = Stage::on(stage.folder, Access::Writes, vec![], Some(copy));
    let back = waiting(&later).await;
    assert_eq!(texts(&back), [("two", true), ("three", true), ("uno", true)]);
    assert_eq!((back[0].images.to_vec(), back[1].kind), (vec![picture()], QueueKind::Steer));
    later.agent.release_queued(back[0].id.clone()).await.unwrap();
    later.settled().await;
    assert_eq!(texts(&waiting(&later).await), [("three", true), ("uno", true)]);
    let sent = format!("{:?}", later.requests()[0].messages.last());
    assert!(sent.contains("two") && sent.contains("AA=="), "{sent}");
    assert!(matches!(
        later.agent.release_queued(back[0].id.clone()).await,
        Err(AgentError::NotFound("queued message with that id"))
    ));
    let cleared = later.agent.clear_queue(Some(QueueKind::FollowUp)).await.unwrap();
    assert_eq!(texts(&cleared), [("uno", true)]);
}

#[tokio::test]
async fn queue_full_rejects_and_keeps_its_messages() {
    let mut stage = Stage::new(Access::Writes, vec![calls(&[json!({})])]);
    stage.prompt("go").await;
    stage.begun.notified().await;
    for at in 0..queue::MAX_WAITING {
        stage.agent.follow_up(format!("message {at}")).await.unwrap();
    }
    let refused = stage.agent.follow_up("one more").await.unwrap_err();
    assert!(matches!(refused, AgentError::QueueFull(queue::MAX_WAITING)), "{refused}");
    assert!(refused.to_string().starts_with("the queue is full (1000 messages)"), "{refused}");
    assert!(matches!(
        stage.agent.steer_now("now", PromptOptions::default()).await,
        Err(AgentError::QueueFull(_))
    ));
    let waiting = waiting(&stage).await;
    assert_eq!((waiting.len(), waiting[999].text.as_str()), (1_000, "message 999"));
    stage.agent.remove_queued(waiting[0].id.clone()).await.unwrap();
    stage.agent.follow_up("one more").await.unwrap();
    stage.agent.abort().await.unwrap();
    assert_eq!(stage.settled().await, RunOutcome::Aborted);
}

#[tokio::test]
async fn prompt_images_reach_the_model_and_the_log() {
    let mut stage = Stage::new(Access::Reads, vec![says("a cat")]);
    let options = PromptOptions { images: vec![picture()], ..PromptOptions::default() };
    stage.agent.prompt("what is this?", options).await.unwrap();
    assert_eq!(stage.settled().await, RunOutcome::Completed);
    let asked = stage.model.asked.lock().unwrap();
    assert!(format!("{:?}", asked[0].0.messages[0]).contains("image/png"));
    assert!(
        asked[0].1.contains(r#"{"type":"image","data":"AA==","mimeType":"image/png"}"#),
        "{}",
        asked[0].1
    );
}
