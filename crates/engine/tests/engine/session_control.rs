//! Options that change at run time, and operations on other sessions.

use tiller_engine::{
    ApprovalMode, CredentialStore, KeyChangeOutcome, OfferState, OfferedTool, ProviderChange,
};
use tiller_provider::Model;
use tiller_provider::demo::Demo;

use super::*;

fn harness(answers: Vec<ScriptedAnswer>) -> Harness {
    Harness::new(Access::Executes, answers)
}

impl Harness {
    async fn approval(&self) -> String {
        self.agent.state().await.unwrap().state.approval
    }
}

#[tokio::test]
async fn tool_not_offered_is_not_sent_and_can_be_offered_again() {
    let mut harness = harness(vec![text_answer("one"), text_answer("two")]);
    let tools = harness.agent.tools().await.unwrap();
    assert!(!tools.is_empty() && tools.iter().all(OfferedTool::is_offered));
    let names: Vec<String> = tools.iter().map(|tool| tool.spec.name.clone()).collect();
    harness.agent.offer_tools(Vec::new()).await.unwrap();
    let tools_after = harness.agent.tools().await.unwrap();
    assert!(tools_after.iter().all(|tool| tool.offer == OfferState::Removed));
    harness.prompt("go").await;
    harness.settled().await;
    harness.agent.offer_tools(names.clone()).await.unwrap();
    harness.prompt("go on").await;
    harness.settled().await;
    let tool_counts: Vec<usize> = harness.requests().iter().map(|request| request.tools.len()).collect();
    assert_eq!(tool_counts, [0, names.len()]);
    assert!(matches!(harness.agent.offer_tools(vec!["nothing".into()]).await, Err(AgentError::NotFound(_))));
}

#[tokio::test]
async fn approval_mode_applies_from_the_next_call_on() {
    let mut harness = harness(vec![calls(&[json!({})]), text_answer("no then")]);
    harness.agent.set_approval(ApprovalMode::ReadOnly).await.unwrap();
    assert_eq!(harness.agent.state().await.unwrap().state.approval, "read-only");
    harness.prompt("go").await;
    harness.settled().await;
    let lines = harness.message_lines().join("\n");
    assert!(lines.contains("read-only mode forbids them"), "{lines}");
}

#[tokio::test]
async fn approval_mode_ends_with_its_session_unless_configured() {
    let mut harness = harness(vec![text_answer("one")]);
    let began_with = harness.approval().await;
    harness.prompt("go").await;
    harness.settled().await;
    let first = harness.agent.reader().path().unwrap().to_owned();
    for step in ["new", "resumed", "forked"] {
        harness.agent.set_approval(ApprovalMode::ReadOnly).await.unwrap();
        assert_eq!(harness.approval().await, "read-only", "{step}");
        match step {
            "new" => harness.agent.new_session().await.unwrap(),
            "resumed" => harness.agent.open_session(first.clone()).await.unwrap(),
            _ => harness.agent.fork_session(first.clone()).await.unwrap(),
        };
        assert_eq!(harness.approval().await, began_with, "{step}");
    }
    harness.agent.configure_approval(ApprovalMode::Auto).await.unwrap();
    harness.agent.set_approval(ApprovalMode::ReadOnly).await.unwrap();
    harness.agent.new_session().await.unwrap();
    assert_eq!(harness.approval().await, "auto");
}

#[tokio::test]
async fn session_other_is_named_and_forked_and_active_is_not_trashed() {
    let mut harness = harness(vec![text_answer("one"), text_answer("two")]);
    harness.prompt("the first").await;
    harness.settled().await;
    let first = harness.agent.reader().path().unwrap().to_owned();
    assert!(matches!(harness.agent.trash_session(first.clone()).await, Err(AgentError::SessionOpen)));
    harness.agent.name_session(first.clone(), "here").await.unwrap();
    assert_eq!(harness.agent.reader().name().as_deref(), Some("here"));
    harness.agent.new_session().await.unwrap();
    harness.agent.name_session(first.clone(), "there").await.unwrap();
    assert_eq!(Reader::open(&first).unwrap().name().as_deref(), Some("there"));
    harness.agent.fork_session(first.clone()).await.unwrap();
    let fork = harness.agent.reader();
    assert_ne!(fork.path(), Some(&*first));
    assert_eq!(fork.first_prompt().as_deref(), Some("the first"));
}

#[tokio::test]
async fn session_active_one_is_recognized_by_another_path() {
    let mut harness = harness(vec![text_answer("one")]);
    harness.prompt("go").await;
    harness.settled().await;
    let path = harness.agent.reader().path().unwrap().to_owned();
    let link = path.with_file_name("link.jsonl");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(
        harness.agent.reader().is_at(&link) && !harness.agent.reader().is_at(&path.with_extension("other"))
    );
    harness.agent.open_session(link.clone()).await.unwrap();
    assert_eq!(harness.agent.reader().path(), Some(&*path), "no other process holds it");
    assert!(matches!(harness.agent.trash_session(link.clone()).await, Err(AgentError::SessionOpen)));
    harness.agent.name_session(link, "here").await.unwrap();
    assert_eq!(harness.agent.reader().name().as_deref(), Some("here"));
}

#[tokio::test]
async fn fallback_model_answers_when_no_other_is_usable() {
    let harness = harness(vec![text_answer("one")]);
    let failure = || ("no".to_owned(), None);
    let store = CredentialStore::new(|| Ok(Vec::new()), move |_, _| Err(failure()), move |_| Err(failure()));
    let demo = Model { facts: Arc::new(Demo::facts()), provider: Arc::new(Demo) };
    let shut =
        |provider: &str| ProviderChange::Remove { provider: provider.into(), key_name: "A_KEY".into() };
    let provider = harness.agent.state().await.unwrap().state.model.provider;
    let answers = harness.agent.change_key(&store, shut("elsewhere")).await.unwrap();
    assert_eq!(answers, KeyChangeOutcome::Unchanged);
    let answers = harness.agent.change_key(&store, shut(&provider)).await.unwrap();
    assert_eq!(answers, KeyChangeOutcome::NoModel, "there is no last resort");
    let store = store.with_fallback(demo);
    let answers = harness.agent.change_key(&store, shut(&provider)).await.unwrap();
    assert!(
        matches!(&answers, KeyChangeOutcome::SwitchedToFallback(model) if model.provider == "demo"),
        "{answers:?}"
    );
    assert_eq!(harness.agent.state().await.unwrap().state.model.provider, "demo");
}
