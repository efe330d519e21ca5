//! Navigation and forks during a run: refused, or without attaching entries to the wrong branch.

use super::*;

/// Creates a harness whose run waits for a tool, after a first prompt with its answer; also returns the ids
/// of both prompts.
async fn at_work() -> (Harness, EntryId, EntryId) {
    let answers = vec![text_answer("one"), calls(&[json!({}), json!({})]), text_answer("elsewhere")];
    let mut harness = Harness::new(Access::Writes, answers);
    harness.prompt("first").await;
    harness.settled().await;
    harness.prompt("second").await;
    harness.started.notified().await;
    let prompts = prompts(&harness.agent.reader());
    let [first, second] = prompts.as_slice() else { panic!("{prompts:?}") };
    let (first, second) = (first.clone(), second.clone());
    (harness, first, second)
}

fn prompts(reader: &Reader) -> Vec<EntryId> {
    let entries = reader.entries().unwrap().0.into_iter();
    let is_prompt = |message: &Arc<Message>| matches!(**message, Message::User(_));
    entries.filter(|entry| entry.body.as_message().is_some_and(is_prompt)).map(|entry| entry.id).collect()
}

#[tokio::test]
async fn navigate_during_a_run_is_refused() {
    let (harness, first, _) = at_work().await;
    let before = harness.agent.reader().entry_count();
    for summary in [BranchSummary::None, BranchSummary::Made { instructions: None }] {
        let error = harness.agent.navigate(first.clone(), summary).await.unwrap_err();
        assert!(matches!(error, AgentError::Running), "{error}");
    }
    assert!(matches!(harness.agent.fork(first).await.unwrap_err(), AgentError::Running));
    assert_eq!(harness.agent.reader().entry_count(), before);
}

#[tokio::test]
async fn navigate_results_of_an_aborted_run_stay_on_their_branch() {
    let (mut harness, _, second) = at_work().await;
    harness.agent.abort().await.unwrap();
    assert_eq!(harness.settled().await, RunOutcome::Aborted);
    harness.agent.navigate(second, BranchSummary::None).await.unwrap();
    // The tools' late results must be dropped.
    harness.permits.add_permits(10);
    harness.prompt("other").await;
    harness.settled().await;
    // The model calls the same tools again, and these may run.
    let lines = harness.message_lines();
    assert_eq!(lines[..4], ["user first", "answer one Stop", "user other", "answer  ToolUse"]);
    assert_eq!(lines[4..], ["result through", "result through", "answer elsewhere Stop"]);
    let reader = harness.agent.reader();
    let tree = reader.tree();
    let entries = reader.entries().unwrap().0;
    let position = |id: &EntryId| tree.nodes().iter().position(|node| node.id == *id).unwrap();
    let left_prompt = prompts(&reader)[1].clone();
    let follows = |id: &EntryId| {
        let mut ancestors = std::iter::successors(Some(position(id)), |at| tree.nodes()[*at].parent);
        ancestors.any(|at| at == position(&left_prompt))
    };
    let branch_results: Vec<String> = entries
        .iter()
        .filter(|entry| follows(&entry.id))
        .filter_map(|entry| match entry.body.as_message().map(|message| &**message) {
            Some(Message::ToolResult(result)) => Some(joined_text(&result.content)),
            _ => None,
        })
        .collect();
    assert_eq!(branch_results.len(), 2, "each call has one, where it was made: {branch_results:?}");
    assert!(branch_results.iter().all(|result| result != "through"), "{branch_results:?}");
}

#[tokio::test]
async fn fork_during_a_run_leaves_the_run_alone() {
    let (mut harness, first, second) = at_work().await;
    let current = harness.agent.reader().id().clone();
    let beside = harness.agent.create_fork(second).await.unwrap();
    assert_ne!(harness.agent.create_fork(first).await.unwrap().session, beside.session);
    harness.permits.add_permits(10);
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    assert_eq!(harness.agent.reader().id(), &current);
    assert_eq!(harness.message_lines().last().unwrap(), "answer elsewhere Stop");
    let path = beside.path.unwrap();
    let reader = Reader::open(&path).unwrap();
    assert_eq!(
        (reader.id(), message_lines(&reader)),
        (&beside.session, vec!["user first".into(), "answer one Stop".into()])
    );
    // The text has no owner until the fork is opened; then it is queued there.
    harness.agent.open_session(path).await.unwrap();
    let queue = harness.agent.snapshot().await.unwrap().in_progress.queue;
    let waiting: Vec<_> = queue.iter().map(|item| (item.text.as_str(), item.held)).collect();
    assert_eq!(waiting, [("second", true)]);
}
