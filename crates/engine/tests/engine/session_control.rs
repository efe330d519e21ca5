//! Options that change at run time, and operations on other sessions.

use tiller_engine::{
    ApprovalMode, CredentialStore, KeyChangeOutcome, OfferState, OfferedTool, ProviderChange,
};
use tiller_provider::Model;
use tiller_provider::demo::Demo;

use super::*;

fn stage(answers: Vec<ScriptedAnswer>) -> Stage {
    Stage::new(Access::Executes, answers)
}

impl Stage {
    async fn approval(&self) -> String {
        self.agent.state().await.unwrap().state.approval
    }
}

#[tokio::test]
async fn tool_not_offered_is_not_sent_and_can_be_offered_again() {
    let mut stage = stage(vec![says("one"), says("two")]);
    let tools = stage.agent.tools().await.unwrap();
    assert!(!tools.is_empty() && tools.iter().all(OfferedTool::is_offered));
    let names: Vec<String> = tools.iter().map(|tool| tool.spec.name.clone()).collect();
    stage.agent.offer_tools(Vec::new()).await.unwrap();
    let taken = stage.agent.tools().await.unwrap();
    assert!(taken.iter().all(|tool| tool.offer == OfferState::Removed));
    stage.prompt("go").await;
    stage.settled().await;
    stage.agent.offer_tools(names.clone()).await.unwrap();
    stage.prompt("go on").await;
    stage.settled().await;
    let told: Vec<usize> = stage.requests().iter().map(|request| request.tools.len()).collect();
    assert_eq!(told, [0, names.len()]);
    assert!(matches!(stage.agent.offer_tools(vec!["nothing".into()]).await, Err(AgentError::NotFound(_))));
}

#[tokio::test]
async fn approval_mode_applies_from_the_next_call_on() {
    let mut stage = stage(vec![calls(&[json!({})]), says("no then")]);
    stage.agent.set_approval(ApprovalMode::ReadOnly).await.unwrap();
    assert_eq!(stage.agent.state().await.unwrap().state.approval, "read-only");
    stage.prompt("go").await;
    stage.settled().await;
    let said = stage.said().join("\n");
    assert!(said.contains("the mode is read-only"), "{said}");
}

#[tokio::test]
async fn approval_mode_ends_with_its_session_unless_configured() {
    let mut stage = stage(vec![says("one")]);
    let began_with = stage.approval().await;
    stage.prompt("go").await;
    stage.settled().await;
    let first = stage.agent.reader().path().unwrap().to_owned();
    for step in ["new", "resumed", "forked"] {
        stage.agent.set_approval(ApprovalMode::ReadOnly).await.unwrap();
        assert_eq!(stage.approval().await, "read-only", "{step}");
        match step {
            "new" => stage.agent.new_session().await.unwrap(),
            "resumed" => stage.agent.open_session(first.clone()).await.unwrap(),
            _ => stage.agent.fork_session(first.clone()).await.unwrap(),
        };
        assert_eq!(stage.approval().await, began_with, "{step}");
    }
    stage.agent.configure_approval(ApprovalMode::Auto).await.unwrap();
    stage.agent.set_approval(ApprovalMode::ReadOnly).await.unwrap();
    stage.agent.new_session().await.unwrap();
    assert_eq!(stage.approval().await, "auto");
}

#[tokio::test]
async fn session_other_is_named_and_forked_and_active_is_not_trashed() {
    let mut stage = stage(vec![says("one"), says("two")]);
    stage.prompt("the first").await;
    stage.settled().await;
    let first = stage.agent.reader().path().unwrap().to_owned();
    assert!(matches!(stage.agent.trash_session(first.clone()).await, Err(AgentError::SessionOpen)));
    stage.agent.name_session(first.clone(), "here").await.unwrap();
    assert_eq!(stage.agent.reader().name().as_deref(), Some("here"));
    stage.agent.new_session().await.unwrap();
    stage.agent.name_session(first.clone(), "there").await.unwrap();
    assert_eq!(Reader::open(&first).unwrap().name().as_deref(), Some("there"));
    stage.agent.fork_session(first.clone()).await.unwrap();
    let fork = stage.agent.reader();
    assert_ne!(fork.path(), Some(&*first));
    assert_eq!(fork.first_prompt().as_deref(), Some("the first"));
}

#[tokio::test]
async fn session_active_one_is_recognized_by_another_path() {
    let mut stage = stage(vec![says("one")]);
    stage.prompt("go").await;
    stage.settled().await;
    let path = stage.agent.reader().path().unwrap().to_owned();
    let link = path.with_file_name("link.jsonl");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(stage.agent.reader().is_at(&link) && !stage.agent.reader().is_at(&path.with_extension("other")));
    stage.agent.open_session(link.clone()).await.unwrap();
    assert_eq!(stage.agent.reader().path(), Some(&*path), "nobody else holds it");
    assert!(matches!(stage.agent.trash_session(link.clone()).await, Err(AgentError::SessionOpen)));
    stage.agent.name_session(link, "here").await.unwrap();
    assert_eq!(stage.agent.reader().name().as_deref(), Some("here"));
}

#[tokio::test]
async fn fallback_model_answers_when_no_other_is_usable() {
    let stage = stage(vec![says("one")]);
    let no = || ("no".to_owned(), None);
    let desk = CredentialStore::new(|| Ok(Vec::new()), move |_, _| Err(no()), move |_| Err(no()));
    let demo = Model { facts: Arc::new(Demo::facts()), provider: Arc::new(Demo) };
    let shut =
        |provider: &str| ProviderChange::Remove { provider: provider.into(), key_name: "A_KEY".into() };
    let asked = stage.agent.state().await.unwrap().state.model.provider;
    let answers = stage.agent.change_key(&desk, shut("elsewhere")).await.unwrap();
    assert_eq!(answers, KeyChangeOutcome::Unchanged);
    let answers = stage.agent.change_key(&desk, shut(&asked)).await.unwrap();
    assert_eq!(answers, KeyChangeOutcome::NoModel, "there is no last resort");
    let desk = desk.with_fallback(demo);
    let answers = stage.agent.change_key(&desk, shut(&asked)).await.unwrap();
    assert!(
        matches!(&answers, KeyChangeOutcome::SwitchedToFallback(model) if model.provider == "demo"),
        "{answers:?}"
    );
    assert_eq!(stage.agent.state().await.unwrap().state.model.provider, "demo");
}
