//! Retries of failed requests, and immediate steering.

use super::*;

fn fails(failure: &str, more: &str, text: &str) -> ScriptedAnswer {
    serde_json::from_str(&format!(
        r#"{{"text": "{text}", "error": {{"failure": "{failure}", "message": "busy"{more}}}}}"#
    ))
    .unwrap()
}

fn tries(stage: &Stage) -> usize {
    stage.requests().len()
}

#[tokio::test]
async fn retry_third_attempt_answers_and_failures_stay_in_the_log() {
    let mut stage = Stage::new(Access::Reads, vec![fails("transient", r#", "times": 2"#, "here")]);
    stage.prompt("go").await;
    let attempts = |event: &EventKind| match event {
        EventKind::AutoRetryStart { attempt, max_attempts: 5, error_message, .. } => {
            Some((*attempt, error_message.clone()))
        }
        _ => None,
    };
    for attempt in [1, 2] {
        assert_eq!(stage.until(attempts).await, (attempt, "scripted: busy".to_owned()));
    }
    let ended = |event: &EventKind| match event {
        EventKind::AutoRetryEnd { success, attempt, final_error } => {
            Some((*success, *attempt, final_error.clone()))
        }
        _ => None,
    };
    assert_eq!(stage.until(ended).await, (true, 2, None));
    assert_eq!(stage.settled().await, RunOutcome::Completed);
    assert_eq!(stage.said(), ["user go", "answer here Error", "answer here Error", "answer here Stop"]);
    for request in stage.requests() {
        assert_eq!(request.messages.len(), 1, "a failed answer is in no request");
    }
}

#[tokio::test]
async fn retry_permanent_failure_is_not_retried() {
    for failure in ["auth", "quota", "fatal"] {
        let mut stage = Stage::new(Access::Reads, vec![fails(failure, "", "")]);
        stage.prompt("go").await;
        assert_eq!((stage.settled().await, tries(&stage)), (RunOutcome::Failed, 1), "{failure}");
    }
}

#[tokio::test]
async fn retry_long_delay_is_reported_and_not_slept() {
    let mut stage = Stage::new(Access::Reads, vec![fails("transient", r#", "retry_after_s": 900"#, "")]);
    stage.prompt("go").await;
    assert_eq!((stage.settled().await, tries(&stage)), (RunOutcome::Failed, 1));
    let (entries, _) = stage.agent.reader().branch(&stage.agent.reader().leaf().unwrap()).unwrap();
    let Some(Message::Assistant(answer)) = entries.last().unwrap().body.as_message().map(|m| (**m).clone())
    else {
        panic!("no answer")
    };
    let error = answer.error_message.unwrap();
    assert!(error.ends_with("the provider asks to wait 900 s before a retry"), "{error}");
}

#[tokio::test]
async fn retry_wait_can_be_cancelled_and_steer_now_ends_it() {
    let slow = || vec![fails("transient", r#", "times": 1, "retry_after_s": 200"#, "here")];
    let waits = |event: &EventKind| match event {
        EventKind::AutoRetryStart { delay_ms, .. } => Some(*delay_ms),
        _ => None,
    };
    let mut stage = Stage::new(Access::Reads, slow());
    stage.prompt("go").await;
    assert!(stage.until(waits).await >= 200_000);
    stage.agent.abort_retry().await.unwrap();
    assert_eq!(stage.settled().await, RunOutcome::Failed);
    stage.agent.abort_retry().await.unwrap();

    let mut stage = Stage::new(Access::Reads, slow());
    stage.prompt("go").await;
    stage.until(waits).await;
    stage.agent.steer_now("now", PromptOptions::default()).await.unwrap();
    assert_eq!(stage.settled().await, RunOutcome::Completed);
    assert_eq!(stage.said(), ["user go", "answer here Error", "user now", "answer here Stop"]);
}

#[tokio::test]
async fn steer_now_stops_the_stream_and_sends_the_partial_answer() {
    let hangs = ScriptedAnswer { hang: true, ..says("so far") };
    let mut stage = Stage::new(Access::Reads, vec![hangs, says("other way")]);
    stage.prompt("go").await;
    let said = |event: &EventKind| match event {
        EventKind::MessageUpdate { assistant_message_event: AssistantDelta::TextDelta { .. }, .. } => {
            Some(())
        }
        _ => None,
    };
    stage.until(said).await;
    assert!(matches!(
        stage.agent.deliver_steering_now().await,
        Err(AgentError::NotFound("queued steering message"))
    ));
    stage.agent.steer("wait").await.unwrap();
    stage.agent.deliver_steering_now().await.unwrap();
    assert_eq!(stage.settled().await, RunOutcome::Completed);
    assert_eq!(stage.said(), ["user go", "answer so far Aborted", "user wait", "answer other way Stop"]);
    let sent: Vec<String> =
        stage.requests()[1].messages.iter().map(|message| format!("{message:?}")).collect();
    assert_eq!(sent.len(), 3);
    assert!(sent[1].contains("so far") && sent[2].contains("wait"), "{sent:?}");
}

#[tokio::test]
async fn steer_now_stops_the_running_tool() {
    let mut stage = Stage::new(Access::Writes, vec![calls(&[json!({}), json!({})]), says("done")]);
    stage.prompt("go").await;
    stage.begun.notified().await;
    stage.agent.steer_now("now", PromptOptions::default()).await.unwrap();
    assert_eq!(stage.settled().await, RunOutcome::Completed);
    assert_eq!(
        stage.said()[2..],
        [
            "result aborted: the user steered; it may have had effects",
            "result skipped: the user steered",
            "user now",
            "answer done Stop"
        ]
    );
}
