//! Commands that arrive faster than the disk can sync: every sync delays effects, and none may be lost or
//! performed twice.

use super::*;
use tiller_core::setting::SyncPolicy;

/// Creates a session that syncs after every entry, so that effects wait often.
fn slow_harness(access: Access, answers: Vec<ScriptedAnswer>) -> Harness {
    let dir = TempDir::new().unwrap();
    let logs = dir.path().join("logs");
    let manager = SessionManager::new(Placement::Flat(logs), dir.path().canonicalize().unwrap());
    Harness::with_manager(dir, (manager, None), access, answers, SyncPolicy::Always)
}

#[tokio::test]
async fn prompt_right_after_abort_has_one_result_per_call() {
    let mut harness = slow_harness(Access::Writes, vec![calls(&[json!({}), json!({})]), text_answer("done")]);
    harness.prompt("go").await;
    harness.started.notified().await;
    let (stopped, prompted) =
        tokio::join!(harness.agent.abort(), harness.agent.prompt("again", PromptOptions::default()));
    stopped.unwrap();
    prompted.unwrap();
    harness.settled().await;
    harness.settled().await;
    assert_eq!(
        harness.message_lines()[2..],
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
    let mut harness = slow_harness(Access::Writes, vec![text_answer("one"), text_answer("two")]);
    let (first, second) = tokio::join!(
        harness.agent.prompt("go", PromptOptions::default()),
        harness.agent.prompt("then", prompt_options(StreamingBehavior::FollowUp))
    );
    first.unwrap();
    second.unwrap();
    let answered = |event: &EventKind| match event {
        EventKind::EntryAppended { entry, .. } => entry.get().contains("assistant").then_some(()),
        _ => None,
    };
    harness.wait_for_event(answered).await;
    harness.agent.abort().await.unwrap();
    harness.settled().await;
    let ones = harness.message_lines().iter().filter(|line| line.starts_with("answer one")).count();
    assert_eq!(ones, 1, "{:?}", harness.message_lines());
}

#[tokio::test]
async fn queue_at_close_or_interrupt_is_in_the_log() {
    let hanging_answer = || vec![ScriptedAnswer { hang: true, ..text_answer("so far") }];
    for interrupts in [false, true] {
        let mut harness = Harness::new(Access::Reads, hanging_answer());
        harness.prompt("go").await;
        harness.agent.follow_up("later").await.unwrap();
        if interrupts {
            harness.agent.interrupt().await.unwrap();
            assert_eq!(harness.settled().await, RunOutcome::Aborted);
        }
        let path = harness.agent.reader().path().unwrap().to_owned();
        harness.agent.close().await.unwrap();
        let resumed = Harness::in_dir(harness.dir, Access::Writes, vec![], Some(path));
        let queue = resumed.agent.snapshot().await.unwrap().in_progress.queue;
        assert_eq!(
            queue.iter().map(|item| (item.text.as_str(), item.held)).collect::<Vec<_>>(),
            [("later", true)]
        );
    }
}

#[tokio::test]
async fn bash_record_during_a_retry_wait_is_logged_at_once() {
    let slow_harness =
        r#"{"text": "x", "error": {"failure": "transient", "message": "busy", "retry_after_s": 200}}"#;
    let mut harness = Harness::new(Access::Reads, vec![serde_json::from_str(slow_harness).unwrap()]);
    harness.prompt("go").await;
    harness.wait_for_event(|event| matches!(event, EventKind::AutoRetryStart { .. }).then_some(())).await;
    let snapshot = harness.agent.snapshot().await.unwrap();
    assert_eq!(snapshot.in_progress.retry.map(|retry| (retry.attempt, retry.max_attempts)), Some((1, 5)));
    harness.agent.bash("echo hi", BashContext::Include).await.unwrap();
    harness.wait_for_event(|event| matches!(event, EventKind::BashExecutionEnd { .. }).then_some(())).await;
    assert_eq!(harness.message_lines().last().unwrap(), "bash echo hi Some(0) hi");
    harness.agent.abort_retry().await.unwrap();
    assert_eq!(harness.settled().await, RunOutcome::Failed);
}
