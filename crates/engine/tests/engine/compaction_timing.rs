//! Compactions with unlucky timing: every start event has one end event, and no run waits forever.

use tiller_engine::{RunRequest, SessionBuilder, run};
use tiller_test_support::faulty_disk::{Fault, FaultyDisk};

use super::*;

/// Returns a prompt that is too long to be kept.
fn long_prompt(word: &str) -> String {
    format!("{word} {}", "lorem ipsum ".repeat(400))
}

fn answer(value: Value) -> ScriptedAnswer {
    serde_json::from_value(value).unwrap()
}

fn summary() -> ScriptedAnswer {
    answer(json!({"when": "<conversation>", "text": "Short.", "usage": {"input": 280, "output": 20}}))
}

/// Returns an answer that leaves the window nearly full.
fn filling_answer(text: &str) -> ScriptedAnswer {
    answer(json!({"text": text, "usage": {"totalTokens": 190_000}}))
}

fn harness(disk: &FaultyDisk, answers: Vec<ScriptedAnswer>, approver: Approver) -> Harness {
    let dir = TempDir::new().unwrap();
    let logs = dir.path().join("logs");
    let manager = SessionManager::new(Placement::Flat(logs), dir.path().canonicalize().unwrap());
    let manager = manager.with_fs(Arc::new(disk.clone()));
    Harness::configured(dir, (manager, None), Access::Reads, answers, |parts| {
        parts.options.compaction.keep = Some(Tokens(1_500));
        parts.options.approver = approver;
    })
}

async fn prompt_long(harness: &mut Harness, text: &str) {
    harness.agent.prompt(long_prompt(text), PromptOptions::default()).await.unwrap();
    harness.settled().await;
}

/// Returns the names of the events up to the one with this name, and of those that are available after it.
async fn event_names_until(harness: &mut Harness, last: &str) -> Vec<String> {
    let mut names = Vec::new();
    loop {
        let event = tokio::time::timeout(TIMEOUT, harness.events.next())
            .await
            .expect("the event never came")
            .unwrap();
        let name = serde_json::to_value(&event.unwrap().kind).unwrap()["type"].as_str().unwrap().to_owned();
        names.push(name);
        if names.last().is_some_and(|name| name == last) {
            return names;
        }
    }
}

fn count(names: &[String], name: &str) -> usize {
    names.iter().filter(|known| *known == name).count()
}

#[tokio::test]
async fn compaction_finished_during_a_sync_serves_the_overflow() {
    let disk = FaultyDisk::default();
    let overflows = json!({"failure": "overflow", "message": "prompt is too long", "times": 1});
    let answers = vec![
        filling_answer("one"),
        answer(json!({"text": "fits", "error": overflows})),
        summary(),
        text_answer("x"),
        text_answer("y"),
    ];
    let mut harness = harness(&disk, answers, Approver::Present);
    prompt_long(&mut harness, "zero").await;
    harness.model.summaries.forget_permits(Semaphore::MAX_PERMITS);
    disk.slow_syncs(200);
    harness.agent.prompt(long_prompt("second"), PromptOptions::default()).await.unwrap();
    harness.wait_for_event(|event| matches!(event, EventKind::CompactionStart { .. }).then_some(())).await;
    harness
        .wait_for_event(|event| matches!(event, EventKind::AgentEnd { will_retry: true, .. }).then_some(()))
        .await;
    // The sync before the compaction is in progress now.
    harness.model.summaries.add_permits(9);
    let names = event_names_until(&mut harness, "agent_settled").await;
    assert_eq!(count(&names, "compaction_end"), 1, "{names:?}");
    assert!(!harness.agent.state().await.unwrap().activity.is_running);
}

#[tokio::test]
async fn compaction_write_failure_after_the_run_ends_it_once() {
    let disk = FaultyDisk::default();
    let mut harness =
        harness(&disk, vec![filling_answer("one"), text_answer("two"), summary()], Approver::Absent);
    prompt_long(&mut harness, "first").await;
    harness.model.summaries.forget_permits(Semaphore::MAX_PERMITS);
    harness.agent.prompt(long_prompt("second"), PromptOptions::default()).await.unwrap();
    harness.wait_for_event(|event| matches!(event, EventKind::AgentEnd { .. }).then_some(())).await;
    // Waits for the sync at the end of the run.
    harness.agent.snapshot().await.unwrap();
    disk.fail_write_after(0, Fault::Full);
    harness.model.summaries.add_permits(1);
    let names = event_names_until(&mut harness, "agent_settled").await;
    assert_eq!(count(&names, "agent_end"), 0, "{names:?}");
    assert_eq!(harness.agent.settled().await.unwrap().outcome, RunOutcome::Completed);
}

#[tokio::test]
async fn compaction_write_failure_is_reported_once() {
    let disk = FaultyDisk::default();
    let answers = vec![text_answer("one"), filling_answer("two"), text_answer("three"), summary()];
    let mut harness = harness(&disk, answers, Approver::Present);
    prompt_long(&mut harness, "first").await;
    harness.model.summaries.forget_permits(Semaphore::MAX_PERMITS);
    prompt_long(&mut harness, "second").await;
    disk.fail_write_after(0, Fault::Full);
    let error = harness.agent.prompt("third", PromptOptions::default()).await;
    assert!(error.is_err());
    let names = event_names_until(&mut harness, "agent_settled").await;
    assert_eq!(count(&names, "compaction_end"), 1, "{names:?}");
}

#[tokio::test]
async fn branch_summary_ends_the_compaction_of_the_context() {
    let disk = FaultyDisk::default();
    let mut harness =
        harness(&disk, vec![text_answer("one"), text_answer("two"), summary()], Approver::Present);
    prompt_long(&mut harness, "first").await;
    let first = harness.agent.reader().leaf().unwrap();
    prompt_long(&mut harness, "second").await;
    harness.model.summaries.forget_permits(Semaphore::MAX_PERMITS);
    let agent = harness.agent.clone();
    let compacting = tokio::spawn(async move { agent.compact(None).await });
    harness.wait_for_event(|event| matches!(event, EventKind::CompactionStart { .. }).then_some(())).await;
    let agent = harness.agent.clone();
    let summary_choice = BranchSummary::Made { instructions: None };
    let navigating = tokio::spawn(async move { agent.navigate(first, summary_choice).await });
    let names = event_names_until(&mut harness, "branch_summary_start").await;
    assert_eq!(count(&names, "compaction_end"), 1, "{names:?}");
    harness.model.summaries.add_permits(9);
    navigating.await.unwrap().unwrap();
    let stopped = compacting.await.unwrap().unwrap_err();
    assert!(matches!(stopped, AgentError::Compaction(_)), "{stopped:?}");
}

#[tokio::test]
async fn settled_after_a_retry_has_all_messages_of_the_run() {
    let dir = TempDir::new().unwrap();
    let error = json!({"failure": "transient", "message": "busy", "times": 1});
    let script = ScriptedProvider::new(vec![answer(json!({"text": "Fine.", "error": error}))]);
    let facts = vec![script.facts()];
    let mut providers = ProviderRegistry::default();
    providers.add(Arc::new(script) as Arc<dyn Provider>, facts);
    let setup =
        SessionBuilder::new(providers).configure(|options| options.retry.base = Duration::from_millis(1));
    let result = run(RunRequest::new("hi", setup), dir.path()).await.unwrap();
    assert!(matches!(&*result.messages[0], Message::User(_)), "{:?}", result.messages);
    assert_eq!((result.messages.len(), result.text.as_str()), (3, "Fine."));
}
