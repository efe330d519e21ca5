//! Disk failures: the run pauses with the reason, nothing that isn't in the log takes effect, and the next prompt
//! continues.

use tiller_core::event::{QueueItem, SessionChange};
use tiller_core::setting::SyncPolicy;
use tiller_session::EntryBody;
use tiller_test_support::faulty_disk::{Fault, FaultyDisk};

use super::*;

/// Returns the answers of a run with every kind of write: a prompt, a call, its result, an answer.
fn answers() -> Vec<ScriptedAnswer> {
    vec![calls(&[json!({})]), text_answer("done"), text_answer("done again"), text_answer("and again")]
}

fn harness(disk: &FaultyDisk, sync: SyncPolicy) -> Harness {
    let dir = TempDir::new().unwrap();
    let placement = Placement::Flat(dir.path().join("logs"));
    let manager = SessionManager::new(placement, dir.path().canonicalize().unwrap());
    let manager = manager.with_fs(Arc::new(disk.clone()));
    let harness = Harness::with_manager(dir, (manager, None), Access::Writes, answers(), sync);
    // Permits for any number of calls.
    harness.permits.add_permits(100);
    harness
}

/// Prompts, and waits for the end of the run. A rejected prompt had started a run, too.
async fn try_prompt(harness: &mut Harness, text: &str) -> Result<RunOutcome, AgentError> {
    let accepted = harness.agent.prompt(text, PromptOptions::default()).await;
    let outcome = harness.settled().await;
    assert!(accepted.is_ok() || outcome == RunOutcome::Failed);
    accepted.map(|()| outcome)
}

/// Asserts that the state in memory equals the file.
#[track_caller]
fn assert_equals_file(harness: &Harness) {
    let reader = harness.agent.reader();
    let entries = |reader: &Reader| reader.entries().unwrap().0;
    match Reader::open(reader.path().unwrap()) {
        Ok(reopened) => assert_eq!(entries(&reader), entries(&reopened)),
        Err(_) => assert!(!reader.exists()),
    }
}

/// Returns the user messages, answers and results in the file.
fn logged(harness: &Harness) -> Vec<String> {
    let reader = harness.agent.reader();
    if reader.leaf().is_some() { message_lines(&reader) } else { Vec::new() }
}

/// Returns the number of writes of a run with one prompt.
async fn writes_of_a_run() -> usize {
    let disk = FaultyDisk::default();
    let mut harness = harness(&disk, SyncPolicy::Turn);
    assert_eq!(try_prompt(&mut harness, "go").await.unwrap(), RunOutcome::Completed);
    disk.writes()
}

async fn run_with_fault(fault: Fault, writes: usize) {
    let disk = FaultyDisk::default();
    let mut harness = harness(&disk, SyncPolicy::Turn);
    disk.fail_write_after(writes, fault.clone());
    let reason = match try_prompt(&mut harness, "go").await {
        Ok(outcome) => {
            assert_eq!(outcome, RunOutcome::Failed, "{fault:?} at {writes}");
            None
        }
        Err(error) => Some(error.to_string()),
    };
    let path = harness.agent.reader().path().unwrap().display().to_string();
    assert!(reason.is_none_or(|reason| reason.contains(&path)));
    assert_equals_file(&harness);
    let lines_before = logged(&harness);
    // Everything that was sent to the model or run was in the file before.
    let requests = harness.model.recorded.lock().unwrap().len();
    assert!(requests == 0 || lines_before[0] == "user go", "{lines_before:?}");
    let call_runs = 100 - harness.permits.available_permits();
    assert!(call_runs == 0 || lines_before[1].starts_with("answer"), "{lines_before:?}");
    assert!(requests < 2 || lines_before[2] == "result through", "{lines_before:?}");

    assert_eq!(try_prompt(&mut harness, "on").await.unwrap(), RunOutcome::Completed, "{fault:?} at {writes}");
    let lines_after = logged(&harness);
    assert!(lines_after.starts_with(&lines_before), "{lines_before:?} {lines_after:?}");
    assert!(
        lines_after.contains(&"user on".to_owned()) && lines_after.last().unwrap().starts_with("answer"),
        "{lines_after:?}"
    );
    let results = lines_after.iter().filter(|line| line.starts_with("result")).count();
    let call_count = lines_after.iter().filter(|line| *line == "answer  ToolUse").count();
    assert_eq!(results, call_count, "every call has its result: {lines_after:?}");
    assert_equals_file(&harness);
}

#[tokio::test]
async fn write_failure_pauses_the_run_and_the_next_prompt_resumes() {
    for writes in 0..writes_of_a_run().await {
        for fault in [Fault::Full, Fault::Broken, Fault::Short(0), Fault::Short(50), Fault::BrokenAfter(50)] {
            tokio::time::timeout(TIMEOUT, run_with_fault(fault, writes)).await.unwrap();
        }
    }
}

#[tokio::test]
async fn write_failure_reports_the_reason_and_the_next_step() {
    let disk = FaultyDisk::default();
    let mut harness = harness(&disk, SyncPolicy::Turn);
    // The last write: the final answer, with which the run would have ended anyway.
    disk.fail_write_after(writes_of_a_run().await - 1, Fault::Full);
    harness.prompt("go").await;
    let (message, hint) = harness
        .wait_for_event(|event| match event {
            EventKind::Warning { message, hint } => Some((message.clone(), hint.clone())),
            _ => None,
        })
        .await;
    let path = harness.agent.reader().path().unwrap().display().to_string();
    assert!(message.contains(&path) && message.contains("No space left on device"), "{message}");
    assert!(hint.unwrap().contains("free up space"));
    let warning = harness
        .wait_for_event(|event| match event {
            EventKind::AgentEnd { messages, .. } => Some(messages.len()),
            _ => None,
        })
        .await;
    assert_eq!(warning, 3, "prompt, call and result are in the file, the answer isn't");
}

#[tokio::test]
async fn sync_failure_pauses_the_run_before_the_request() {
    let disk = FaultyDisk::default();
    let mut harness = harness(&disk, SyncPolicy::Turn);
    disk.fail_syncs(true);
    let warning = |event: &EventKind| match event {
        EventKind::Warning { message, hint } => Some((message.clone(), hint.clone().unwrap())),
        _ => None,
    };
    let error = harness.agent.prompt("go", PromptOptions::default()).await.unwrap_err().to_string();
    let (message, hint) = harness.wait_for_event(warning).await;
    assert!(error.contains("can't be synced to the disk") && error == message, "{error} {message}");
    assert!(hint.contains("power failure"), "{hint}");
    assert_eq!(harness.settled().await, RunOutcome::Failed);
    assert!(harness.requests().is_empty());
    disk.fail_syncs(false);
    assert_eq!(try_prompt(&mut harness, "on").await.unwrap(), RunOutcome::Completed);
}

#[tokio::test]
async fn sync_policies_sync_after_entries_turns_or_at_close() {
    for (sync, syncs) in [(SyncPolicy::Never, 0), (SyncPolicy::Turn, 3)] {
        let disk = FaultyDisk::default();
        let mut harness = harness(&disk, sync);
        assert_eq!(try_prompt(&mut harness, "go").await.unwrap(), RunOutcome::Completed);
        assert_eq!(disk.syncs(), syncs, "{sync:?}");
        harness.agent.close().await.unwrap();
        assert_eq!(disk.syncs(), syncs + 1, "{sync:?}");
    }
    let disk = FaultyDisk::default();
    let mut harness = harness(&disk, SyncPolicy::Always);
    assert_eq!(try_prompt(&mut harness, "go").await.unwrap(), RunOutcome::Completed);
    // The first write also holds the entries before the prompt.
    assert_eq!((disk.syncs(), disk.writes()), (5, writes_of_a_run().await));
    let first = harness.agent.reader().tree().nodes()[0].id.clone();
    harness.agent.navigate(first, BranchSummary::None).await.unwrap();
    while disk.syncs() < 6 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn external_appends_are_reported_and_in_the_next_request() {
    let disk = FaultyDisk::default();
    let mut harness = harness(&disk, SyncPolicy::Turn);
    assert_eq!(try_prompt(&mut harness, "go").await.unwrap(), RunOutcome::Completed);
    let path = harness.agent.reader().path().unwrap().to_owned();
    let leaf = harness.agent.reader().leaf().unwrap();
    let message = json!({"role": "user", "content": "from elsewhere", "timestamp": 1});
    let line = json!({"type": "message", "id": "x", "parentId": leaf, "timestamp": "2026-11-21T03:16:58.249Z",
                      "message": message});
    let text = std::fs::read_to_string(&path).unwrap() + &format!("{line}\n");
    std::fs::write(&path, text).unwrap();
    harness.prompt("on").await;
    let shown = harness
        .wait_for_event(|event| match event {
            EventKind::EntryAppended { entry_id, entry } => Some((entry_id.clone(), entry.get().to_owned())),
            _ => None,
        })
        .await;
    assert_eq!(shown, ("x".into(), line.to_string()), "before everything that follows it");
    let warning = harness
        .wait_for_event(|event| match event {
            EventKind::Warning { message, .. } => Some(message.clone()),
            _ => None,
        })
        .await;
    assert!(warning.contains("another program appended to it (1 entry)"), "{warning}");
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    let messages = format!("{:?}", harness.requests().last().unwrap().messages);
    assert!(messages.contains("from elsewhere"), "{messages}");
    let entry = harness.agent.reader().entry(&"x".into()).unwrap();
    assert!(matches!(entry.body, EntryBody::Message(_)));
}

#[tokio::test]
async fn external_appends_many_lines_are_reported_as_a_count() {
    let disk = FaultyDisk::default();
    let mut harness = harness(&disk, SyncPolicy::Turn);
    assert_eq!(try_prompt(&mut harness, "go").await.unwrap(), RunOutcome::Completed);
    let path = harness.agent.reader().path().unwrap().to_owned();
    let mut parent = harness.agent.reader().leaf().unwrap().as_str().to_owned();
    let mut text = std::fs::read_to_string(&path).unwrap();
    for n in 0..200 {
        let message = json!({"role": "user", "content": format!("elsewhere {n}"), "timestamp": 1});
        let line = json!({"type": "message", "id": format!("x{n}"), "parentId": parent,
                          "timestamp": "2026-11-21T03:16:58.249Z", "message": message});
        (text, parent) = (text + &format!("{line}\n"), format!("x{n}"));
    }
    std::fs::write(&path, text).unwrap();
    harness.prompt("on").await;
    let warning = harness
        .wait_for_event(|event| match event {
            EventKind::SessionChanged { reason, .. } => Some(*reason),
            EventKind::EntryAppended { entry_id, .. } => panic!("{entry_id} was reported first"),
            _ => None,
        })
        .await;
    assert_eq!(warning, SessionChange::Grown);
    let warning = harness
        .wait_for_event(|event| match event {
            EventKind::Warning { message, .. } => Some(message.clone()),
            EventKind::EntryAppended { entry_id, .. } => panic!("{entry_id} was reported first"),
            _ => None,
        })
        .await;
    assert!(warning.contains("another program appended to it (200 entries)"), "{warning}");
    harness.settled().await;
    let messages = format!("{:?}", harness.requests().last().unwrap().messages);
    assert!(messages.contains("elsewhere 0") && messages.contains("elsewhere 199"), "{messages}");
}

#[tokio::test]
async fn external_appends_on_another_branch_make_clients_reload() {
    let disk = FaultyDisk::default();
    let mut harness = harness(&disk, SyncPolicy::Turn);
    assert_eq!(try_prompt(&mut harness, "go").await.unwrap(), RunOutcome::Completed);
    let path = harness.agent.reader().path().unwrap().to_owned();
    let message = json!({"role": "user", "content": "another root", "timestamp": 1});
    let line = json!({"type": "message", "id": "x", "parentId": null, "timestamp": "2026-11-21T03:16:58.249Z",
                      "message": message});
    let text = std::fs::read_to_string(&path).unwrap() + &format!("{line}\n");
    std::fs::write(&path, text).unwrap();
    harness.prompt("on").await;
    let reason = harness
        .wait_for_event(|event| match event {
            EventKind::SessionChanged { reason, .. } => Some(*reason),
            EventKind::EntryAppended { entry_id, .. } => panic!("{entry_id} was reported first"),
            _ => None,
        })
        .await;
    assert_eq!(reason, SessionChange::Leaf);
    harness.settled().await;
    let reader = harness.agent.reader();
    assert_eq!(reader.path_to(&reader.leaf().unwrap()).unwrap()[0], "x".into());
}

#[tokio::test]
async fn log_cut_short_pauses_the_run_and_the_rest_is_sent() {
    let disk = FaultyDisk::default();
    let mut harness = harness(&disk, SyncPolicy::Turn);
    assert_eq!(try_prompt(&mut harness, "go").await.unwrap(), RunOutcome::Completed);
    let path = harness.agent.reader().path().unwrap().to_owned();
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let shortened = lines[..lines.len() - 1].join("\n") + "\n";
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(shortened.len() as u64).unwrap();
    let error = try_prompt(&mut harness, "lost").await.unwrap_err().to_string();
    assert!(error.contains("1 entry is lost"), "{error}");
    assert_eq!(try_prompt(&mut harness, "on").await.unwrap(), RunOutcome::Completed);
    let messages = format!("{:?}", harness.requests().last().unwrap().messages);
    assert!(
        messages.contains("through") && !messages.contains("\"done\"") && !messages.contains("lost"),
        "{messages}"
    );
}

#[tokio::test]
async fn file_system_without_locks_is_reported_at_first_write() {
    let disk = FaultyDisk::default().without_locks();
    let mut harness = harness(&disk, SyncPolicy::Turn);
    harness.prompt("go").await;
    let warning = harness
        .wait_for_event(|event| match event {
            EventKind::Warning { message, .. } => Some(message.clone()),
            _ => None,
        })
        .await;
    assert!(warning.contains("has no locks"), "{warning}");
    harness.settled().await;
    let path = harness.agent.reader().path().unwrap().to_owned();
    let Harness { dir, agent, .. } = harness;
    agent.close().await.unwrap();
    let manager = SessionManager::new(Placement::Memory, dir.path().to_owned()).with_fs(Arc::new(disk));
    let resumed =
        Harness::with_manager(dir, (manager, Some(path)), Access::Writes, Vec::new(), SyncPolicy::Turn);
    let notices = resumed.agent.notices();
    assert!(notices.iter().any(|notice| notice.contains("has no locks")), "{notices:?}");
}

#[tokio::test]
async fn removed_queue_items_are_returned_though_the_disk_fails() {
    let disk = FaultyDisk::default();
    let mut harness = harness(&disk, SyncPolicy::Always);
    assert_eq!(try_prompt(&mut harness, "go").await.unwrap(), RunOutcome::Completed);
    let wait = async |text: &str| {
        let id = tiller_core::id::QueueId::from(text);
        let item = QueueItem {
            id: id.clone(),
            kind: QueueKind::FollowUp,
            text: text.into(),
            typed: None,
            images: [].into(),
            held: true,
        };
        harness.agent.put_back(item, 0).await.unwrap();
        id
    };
    let first = wait("first").await;
    wait("second").await;
    disk.fail_syncs(true);
    assert_eq!(harness.agent.remove_queued(first).await.unwrap().text, "first");
    let cleared = harness.agent.clear_queue(None).await.unwrap();
    assert_eq!(cleared.iter().map(|item| &*item.text).collect::<Vec<_>>(), ["second"]);
    disk.fail_syncs(false);
    // Messages that could not be removed stay in the queue.
    wait("third").await;
    disk.fail_write_after(0, Fault::Full);
    harness.agent.clear_queue(None).await.unwrap_err();
    assert_eq!(harness.agent.clear_queue(None).await.unwrap().len(), 1);
}
