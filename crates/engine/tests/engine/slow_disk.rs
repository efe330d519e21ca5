//! Commands that come faster than the disk: every sync delays effects, and none may be lost or performed twice.

use super::*;
use tiller_core::setting::SyncPolicy;

/// A session that syncs after every entry, so that effects wait often.
fn slow(access: Access, answers: Vec<ScriptedAnswer>) -> Stage {
    let folder = TempDir::new().unwrap();
    let logs = folder.path().join("logs");
    let manager = SessionManager::new(Placement::Flat(logs), folder.path().canonicalize().unwrap());
    Stage::with(folder, (manager, None), access, answers, SyncPolicy::Always)
}

#[tokio::test]
async fn prompt_right_after_abort_has_one_result_per_call() {
    let mut stage = slow(Access::Writes, vec![calls(&[json!({}), json!({})]), says("done")]);
    stage.prompt("go").await;
    stage.begun.notified().await;
    let (stopped, said) =
        tokio::join!(stage.agent.abort(), stage.agent.prompt("again", PromptOptions::default()));
    stopped.unwrap();
    said.unwrap();
    stage.settled().await;
    stage.settled().await;
    assert_eq!(
        stage.said()[2..],
        [
            "result aborted: the user stopped it; it may have had effects",
            "result not run: the user stopped the agent",
            "user again",
            "answer done Stop"
        ]
    );
}

#[tokio::test]
async fn abort_during_a_sync_does_not_store_the_answer_twice() {
    let mut stage = slow(Access::Writes, vec![says("one"), says("two")]);
    let (first, second) = tokio::join!(
        stage.agent.prompt("go", PromptOptions::default()),
        stage.agent.prompt("then", with(StreamingBehavior::FollowUp))
    );
    first.unwrap();
    second.unwrap();
    let answered = |event: &EventKind| match event {
        EventKind::EntryAppended { entry, .. } => entry.get().contains("assistant").then_some(()),
        _ => None,
    };
    stage.until(answered).await;
    stage.agent.abort().await.unwrap();
    stage.settled().await;
    let ones = stage.said().iter().filter(|line| line.starts_with("answer one")).count();
    assert_eq!(ones, 1, "{:?}", stage.said());
}

#[tokio::test]
async fn queue_at_close_or_interrupt_is_in_the_log() {
    let hangs = || vec![ScriptedAnswer { hang: true, ..says("so far") }];
    for interrupts in [false, true] {
        let mut stage = Stage::new(Access::Reads, hangs());
        stage.prompt("go").await;
        stage.agent.follow_up("later").await.unwrap();
        if interrupts {
            stage.agent.interrupt().await.unwrap();
            assert_eq!(stage.settled().await, RunOutcome::Aborted);
        }
        let path = stage.agent.reader().path().unwrap().to_owned();
        stage.agent.close().await.unwrap();
        let later = Stage::on(stage.folder, Access::Writes, vec![], Some(path));
        let queue = later.agent.snapshot().await.unwrap().in_progress.queue;
        assert_eq!(
            queue.iter().map(|item| (item.text.as_str(), item.held)).collect::<Vec<_>>(),
            [("later", true)]
        );
    }
}

#[tokio::test]
async fn bash_record_during_a_retry_wait_is_logged_at_once() {
    let slow = r#"{"text": "x", "error": {"failure": "transient", "message": "busy", "retry_after_s": 200}}"#;
    let mut stage = Stage::new(Access::Reads, vec![serde_json::from_str(slow).unwrap()]);
    stage.prompt("go").await;
    stage.until(|event| matches!(event, EventKind::AutoRetryStart { .. }).then_some(())).await;
    let snapshot = stage.agent.snapshot().await.unwrap();
    assert_eq!(snapshot.in_progress.retry.map(|retry| (retry.attempt, retry.max_attempts)), Some((1, 5)));
    stage.agent.bash("echo hi", BashContext::Include).await.unwrap();
    stage.until(|event| matches!(event, EventKind::BashExecutionEnd { .. }).then_some(())).await;
    assert_eq!(stage.said().last().unwrap(), "bash echo hi Some(0) hi");
    stage.agent.abort_retry().await.unwrap();
    assert_eq!(stage.settled().await, RunOutcome::Failed);
}
