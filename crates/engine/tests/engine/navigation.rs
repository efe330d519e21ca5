//! Navigation and forks during a run: refused, or without attaching entries to the wrong branch.

use super::*;

/// A stage whose run waits for a tool, after a first prompt with its answer; with the ids of both prompts.
async fn at_work() -> (Stage, EntryId, EntryId) {
    let answers = vec![says("one"), calls(&[json!({}), json!({})]), says("elsewhere")];
    let mut stage = Stage::new(Access::Writes, answers);
    stage.prompt("first").await;
    stage.settled().await;
    stage.prompt("second").await;
    stage.begun.notified().await;
    let prompts = prompts(&stage.agent.reader());
    let [first, second] = prompts.as_slice() else { panic!("{prompts:?}") };
    let (first, second) = (first.clone(), second.clone());
    (stage, first, second)
}

fn prompts(reader: &Reader) -> Vec<EntryId> {
    let entries = reader.entries().unwrap().0.into_iter();
    let is_prompt = |message: &Arc<Message>| matches!(**message, Message::User(_));
    entries.filter(|entry| entry.body.as_message().is_some_and(is_prompt)).map(|entry| entry.id).collect()
}

#[tokio::test]
async fn navigate_during_a_run_is_refused() {
    let (stage, first, _) = at_work().await;
    let before = stage.agent.reader().entry_count();
    for summary in [BranchSummary::None, BranchSummary::Made { instructions: None }] {
        let refused = stage.agent.navigate(first.clone(), summary).await.unwrap_err();
        assert!(matches!(refused, AgentError::Running), "{refused}");
    }
    assert!(matches!(stage.agent.fork(first).await.unwrap_err(), AgentError::Running));
    assert_eq!(stage.agent.reader().entry_count(), before);
}

#[tokio::test]
async fn navigate_results_of_an_aborted_run_stay_on_their_branch() {
    let (mut stage, _, second) = at_work().await;
    stage.agent.abort().await.unwrap();
    assert_eq!(stage.settled().await, RunOutcome::Aborted);
    stage.agent.navigate(second, BranchSummary::None).await.unwrap();
    // The tools' late results must be dropped.
    stage.go.add_permits(10);
    stage.prompt("other").await;
    stage.settled().await;
    // The model calls the same tools again, and these may run.
    let said = stage.said();
    assert_eq!(said[..4], ["user first", "answer one Stop", "user other", "answer  ToolUse"]);
    assert_eq!(said[4..], ["result through", "result through", "answer elsewhere Stop"]);
    let reader = stage.agent.reader();
    let tree = reader.tree();
    let kept = reader.entries().unwrap().0;
    let position = |id: &EntryId| tree.nodes().iter().position(|node| node.id == *id).unwrap();
    let left = prompts(&reader)[1].clone();
    let follows = |id: &EntryId| {
        let mut above = std::iter::successors(Some(position(id)), |at| tree.nodes()[*at].parent);
        above.any(|at| at == position(&left))
    };
    let of_left: Vec<String> = kept
        .iter()
        .filter(|entry| follows(&entry.id))
        .filter_map(|entry| match entry.body.as_message().map(|said| &**said) {
            Some(Message::ToolResult(result)) => Some(joined_text(&result.content)),
            _ => None,
        })
        .collect();
    assert_eq!(of_left.len(), 2, "each call has one, where it was made: {of_left:?}");
    assert!(of_left.iter().all(|said| said != "through"), "{of_left:?}");
}

#[tokio::test]
async fn fork_during_a_run_leaves_the_run_alone() {
    let (mut stage, first, second) = at_work().await;
    let here = stage.agent.reader().id().clone();
    let beside = stage.agent.create_fork(second).await.unwrap();
    assert_ne!(stage.agent.create_fork(first).await.unwrap().session, beside.session);
    stage.go.add_permits(10);
    assert_eq!(stage.settled().await, RunOutcome::Completed);
    assert_eq!(stage.agent.reader().id(), &here);
    assert_eq!(stage.said().last().unwrap(), "answer elsewhere Stop");
    let path = beside.path.unwrap();
    let reader = Reader::open(&path).unwrap();
    assert_eq!(
        (reader.id(), said(&reader)),
        (&beside.session, vec!["user first".into(), "answer one Stop".into()])
    );
    // The text belongs to no one until the fork is opened, and is queued in it then.
    stage.agent.open_session(path).await.unwrap();
    let queue = stage.agent.snapshot().await.unwrap().in_progress.queue;
    let waiting: Vec<_> = queue.iter().map(|item| (item.text.as_str(), item.held)).collect();
    assert_eq!(waiting, [("second", true)]);
}
