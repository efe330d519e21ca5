use std::sync::{Arc, Mutex};
use std::time::Duration;

use tempfile::TempDir;
use tiller_engine::SessionBuilder;
use tiller_engine::extension::{Extension, Extensions, HookFuture, PromptVerdict};
use tiller_provider::scripted::ScriptedProvider;
use tiller_provider::{Provider, ProviderRegistry};
use tiller_render::HighlightCache;
use tokio::sync::{Notify, mpsc};

use super::*;
use crate::action::{Action, SessionEdit};
use crate::crash_report::NewestReport;
use crate::executor::Executor;
use crate::message::TaskReport;
use crate::options::TuiOptions;

/// An extension that records prompts and holds each until it is released.
#[derive(Default)]
struct Reviewer {
    seen: Mutex<Vec<String>>,
    release: Notify,
}

impl Extension for Reviewer {
    fn name(&self) -> &str {
        "reviewer"
    }

    fn prompt_submit<'a>(&'a self, prompt: &'a str) -> HookFuture<'a, PromptVerdict> {
        Box::pin(async move {
            self.seen.lock().unwrap().push(prompt.to_owned());
            self.release.notified().await;
            Ok(PromptVerdict::Reject { reason: "reviewed".into() })
        })
    }
}

struct Harness {
    agent: AgentSession,
    reviewer: Arc<Reviewer>,
    executor: Executor,
    results: mpsc::Receiver<TaskReport>,
    _dir: TempDir,
}

impl Harness {
    fn new() -> Self {
        let script = ScriptedProvider::new(Vec::new());
        let (facts, mut providers) = (vec![script.facts()], ProviderRegistry::default());
        providers.add(Arc::new(script) as Arc<dyn Provider>, facts);
        let (dir, reviewer) = (tempfile::tempdir().unwrap(), Arc::new(Reviewer::default()));
        let mut extensions = Extensions::with_timeout(Duration::from_secs(600));
        extensions.add(Arc::clone(&reviewer) as Arc<dyn Extension>);
        let agent = SessionBuilder::new(providers).extensions(extensions).start(dir.path()).unwrap();
        let (executor, results) = Executor::start(
            agent.clone(),
            TuiOptions::default(),
            HighlightCache::default(),
            NewestReport::default(),
        );
        Self { agent, reviewer, executor, results, _dir: dir }
    }

    fn queue(&self, actions: impl IntoIterator<Item = Action>) {
        actions.into_iter().for_each(|action| assert_eq!(self.executor.queue(action.into()), None));
    }

    /// Waits for a result that `find` accepts.
    async fn result<T>(&mut self, find: impl Fn(&TaskResult) -> Option<T>) -> T {
        loop {
            let result = self.results.recv().await.unwrap().result;
            if let Some(found) = find(&result) {
                return found;
            }
        }
    }

    async fn returned(&mut self) -> Vec<String> {
        let texts = |typed: &Vec<UserText>| typed.iter().map(|typed| typed.text.clone()).collect();
        self.result(|result| match result {
            TaskResult::ReturnedInput(typed) => Some(texts(typed)),
            _ => None,
        })
        .await
    }

    async fn failed(&mut self) -> Option<String> {
        self.result(|result| match result {
            TaskResult::Failed { text, .. } => Some(text.as_ref().map(|typed| typed.text.clone())),
            _ => None,
        })
        .await
    }

    fn seen(&self) -> Vec<String> {
        self.reviewer.seen.lock().unwrap().clone()
    }
}

fn prompt(text: &str) -> Action {
    Action::Submit(Submit::Steer(text.into()))
}

#[tokio::test]
async fn submissions_other_actions_overtake_a_slow_prompt() {
    let mut harness = Harness::new();
    let rename = Action::Edit(SessionEdit::Rename("named".into()));
    harness.queue([prompt("slow"), prompt("next"), rename, Action::LoadCommands]);
    harness.result(|result| matches!(result, TaskResult::Commands(_)).then_some(())).await;
    assert_eq!(harness.agent.state().await.unwrap().state.name.as_deref(), Some("named"));
    harness.queue([Action::Abort]);
    assert_eq!(harness.returned().await, ["next"]);
    assert_eq!(harness.failed().await.as_deref(), Some("slow"), "the agent returns it");
    assert!(harness.seen().len() <= 1, "the second prompt never reached the agent");
}

#[tokio::test]
async fn submissions_abort_returns_prompts_in_preparation() {
    let mut harness = Harness::new();
    let new = Action::Navigate(Navigate::New);
    harness.queue([prompt("look at @a.png"), prompt("and then"), new, Action::Abort]);
    assert_eq!(harness.returned().await, ["look at @a.png", "and then"]);
    harness.result(|result| matches!(result, TaskResult::SessionSwitched(_)).then_some(())).await;
    harness.queue([prompt("later")]);
    harness.reviewer.release.notify_one();
    assert_eq!(harness.failed().await.as_deref(), Some("later"), "rejected by the review");
    assert_eq!(harness.seen(), ["later"]);
}

#[tokio::test]
async fn submissions_prompts_and_navigation_stay_in_order() {
    let mut harness = Harness::new();
    let session = harness.agent.reader().id().clone();
    harness.queue([prompt("slow @a.png"), prompt("next"), Action::Navigate(Navigate::New)]);
    for text in ["slow @a.png", "next"] {
        assert_eq!(*harness.agent.reader().id(), session);
        harness.reviewer.release.notify_one();
        assert_eq!(harness.failed().await.as_deref(), Some(text));
    }
    assert_eq!(harness.seen(), ["slow @a.png", "next"]);
    harness.result(|result| matches!(result, TaskResult::SessionSwitched(_)).then_some(())).await;
}
