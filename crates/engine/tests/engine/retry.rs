//! Retries of failed requests, and immediate steering.

use super::*;

fn failing_answer(failure: &str, fields: &str, text: &str) -> ScriptedAnswer {
    serde_json::from_str(&format!(
        r#"{{"text": "{text}", "error": {{"failure": "{failure}", "message": "busy"{fields}}}}}"#
    ))
    .unwrap()
}

fn request_count(harness: &Harness) -> usize {
    harness.requests().len()
}

#[tokio::test]
async fn retry_third_attempt_answers_and_failures_stay_in_the_log() {
    let mut harness =
        Harness::new(Access::Reads, vec![failing_answer("transient", r#", "times": 2"#, "here")]);
    harness.prompt("go").await;
    let attempts = |event: &EventKind| match event {
        EventKind::AutoRetryStart { attempt, max_attempts: 5, error_message, .. } => {
            Some((*attempt, error_message.clone()))
        }
        _ => None,
    };
    for attempt in [1, 2] {
        assert_eq!(harness.wait_for_event(attempts).await, (attempt, "scripted: busy".to_owned()));
    }
    let ended = |event: &EventKind| match event {
        EventKind::AutoRetryEnd { success, attempt, final_error } => {
            Some((*success, *attempt, final_error.clone()))
        }
        _ => None,
    };
    assert_eq!(harness.wait_for_event(ended).await, (true, 2, None));
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    assert_eq!(
        harness.message_lines(),
        ["user go", "answer here Error", "answer here Error", "answer here Stop"]
    );
    for request in harness.requests() {
        assert_eq!(request.messages.len(), 1, "a failed answer is in no request");
    }
}

#[tokio::test]
async fn retry_permanent_failure_is_not_retried() {
    for failure in ["auth", "quota", "fatal"] {
        let mut harness = Harness::new(Access::Reads, vec![failing_answer(failure, "", "")]);
        harness.prompt("go").await;
        assert_eq!((harness.settled().await, request_count(&harness)), (RunOutcome::Failed, 1), "{failure}");
    }
}

#[tokio::test]
async fn retry_long_delay_is_reported_and_not_slept() {
    let mut harness =
        Harness::new(Access::Reads, vec![failing_answer("transient", r#", "retry_after_s": 900"#, "")]);
    harness.prompt("go").await;
    assert_eq!((harness.settled().await, request_count(&harness)), (RunOutcome::Failed, 1));
    let (entries, _) = harness.agent.reader().branch(&harness.agent.reader().leaf().unwrap()).unwrap();
    let Some(Message::Assistant(answer)) = entries.last().unwrap().body.as_message().map(|m| (**m).clone())
    else {
        panic!("no answer")
    };
    let error = answer.error_message.unwrap();
    assert!(error.ends_with("the provider requested a wait of 900 s before a retry"), "{error}");
}

#[tokio::test]
async fn retry_wait_can_be_cancelled_and_steer_now_ends_it() {
    let slow_retry = || vec![failing_answer("transient", r#", "times": 1, "retry_after_s": 200"#, "here")];
    let retry_started = |event: &EventKind| match event {
        EventKind::AutoRetryStart { delay_ms, .. } => Some(*delay_ms),
        _ => None,
    };
    let mut harness = Harness::new(Access::Reads, slow_retry());
    harness.prompt("go").await;
    assert!(harness.wait_for_event(retry_started).await >= 200_000);
    harness.agent.abort_retry().await.unwrap();
    assert_eq!(harness.settled().await, RunOutcome::Failed);
    harness.agent.abort_retry().await.unwrap();

    let mut harness = Harness::new(Access::Reads, slow_retry());
    harness.prompt("go").await;
    harness.wait_for_event(retry_started).await;
    harness.agent.steer_now("now", PromptOptions::default()).await.unwrap();
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    assert_eq!(harness.message_lines(), ["user go", "answer here Error", "user now", "answer here Stop"]);
}

#[tokio::test]
async fn steer_now_stops_the_stream_and_sends_the_partial_answer() {
    let hanging_answer = ScriptedAnswer { hang: true, ..text_answer("so far") };
    let mut harness = Harness::new(Access::Reads, vec![hanging_answer, text_answer("other way")]);
    harness.prompt("go").await;
    let text_delta = |event: &EventKind| match event {
        EventKind::MessageUpdate { assistant_message_event: AssistantDelta::TextDelta { .. }, .. } => {
            Some(())
        }
        _ => None,
    };
    harness.wait_for_event(text_delta).await;
    assert!(matches!(
        harness.agent.deliver_steering_now().await,
        Err(AgentError::NotFound("queued steering message"))
    ));
    harness.agent.steer("wait").await.unwrap();
    harness.agent.deliver_steering_now().await.unwrap();
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    assert_eq!(
        harness.message_lines(),
        ["user go", "answer so far Aborted", "user wait", "answer other way Stop"]
    );
    let messages: Vec<String> =
        harness.requests()[1].messages.iter().map(|message| format!("{message:?}")).collect();
    assert_eq!(messages.len(), 3);
    assert!(messages[1].contains("so far") && messages[2].contains("wait"), "{messages:?}");
}

#[tokio::test]
async fn steer_now_stops_the_running_tool() {
    let mut harness = Harness::new(Access::Writes, vec![calls(&[json!({}), json!({})]), text_answer("done")]);
    harness.prompt("go").await;
    harness.started.notified().await;
    harness.agent.steer_now("now", PromptOptions::default()).await.unwrap();
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    assert_eq!(
        harness.message_lines()[2..],
        [
            "result aborted: the user steered; it may have had effects",
            "result skipped: the user steered",
            "user now",
            "answer done Stop"
        ]
    );
}
