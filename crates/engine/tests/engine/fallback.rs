//! Fallback models that answer for the rest of a run.

use tiller_core::message::{AssistantMessage, ModelRef};
use tiller_engine::ProviderChange;
use tiller_provider::{ModelFacts, ThinkingControl};
use tiller_session::EntryBody;

use super::*;

/// A scripted provider with its own name.
struct OtherProvider {
    name: &'static str,
    script: ScriptedProvider,
}

impl Provider for OtherProvider {
    fn name(&self) -> &str {
        self.name
    }

    fn api(&self) -> &'static str {
        self.script.api()
    }

    fn stream(&self, request: Request) -> ProviderStream {
        self.script.stream(request)
    }
}

fn failing(failure: &str) -> ScriptedAnswer {
    serde_json::from_value(json!({"error": {"failure": failure, "message": "busy"}})).unwrap()
}

/// Creates a session whose model gives the first answers, and the models `other/a`, `other/b` and `third/a`
/// the rest.
fn harness(first: Vec<ScriptedAnswer>, other: Vec<ScriptedAnswer>, fallback: &[&str]) -> Harness {
    harness_of(None, (first, other), fallback)
}

/// Creates the session of [`harness`] with the log at this path.
fn harness_of(
    log: Option<PathBuf>,
    (first, other): (Vec<ScriptedAnswer>, Vec<ScriptedAnswer>),
    fallback: &[&str],
) -> Harness {
    let dir = TempDir::new().unwrap();
    let manager =
        SessionManager::new(Placement::Flat(dir.path().join("logs")), dir.path().canonicalize().unwrap());
    Harness::configured(dir, (manager, log), Access::Reads, first, |parts| {
        parts.options.retry.max = 1;
        parts.options.fallback = fallback.iter().map(|name| (*name).to_owned()).collect();
        for name in ["other", "third"] {
            let script = ScriptedProvider::new(other.clone());
            let models = models(name);
            parts.providers.add(Arc::new(OtherProvider { name, script }), models);
        }
    })
}

/// Returns the models `a` and `b` of a provider, which support thinking.
fn models(provider: &str) -> Vec<ModelFacts> {
    let facts = |id: &str| ModelFacts {
        provider: provider.into(),
        id: id.into(),
        thinking: ThinkingControl::LOW_TO_HIGH,
        ..ScriptedProvider::new(Vec::new()).facts()
    };
    vec![facts("a"), facts("b")]
}

/// Returns the answers and model changes in the log, after the introduction of the session.
fn log_lines(harness: &Harness) -> Vec<String> {
    let reader = harness.agent.reader();
    let (entries, _) = reader.branch(&reader.leaf().unwrap()).unwrap();
    let answer = |answer: &AssistantMessage| {
        format!("{} {} {:?}", answer.provider, answer.joined_text(), answer.stop_reason)
    };
    let line = |body: &EntryBody| match body {
        EntryBody::ModelChange { provider, .. } => Some(format!("model of {provider}")),
        EntryBody::Message(entry) => match &*entry.message {
            Message::Assistant(message) => Some(answer(message)),
            _ => None,
        },
        _ => None,
    };
    entries.iter().filter_map(|entry| line(&entry.body)).skip(1).collect()
}

async fn warning(harness: &mut Harness) -> String {
    let warning = |event: &EventKind| match event {
        EventKind::Warning { message, .. } => Some(message.clone()),
        _ => None,
    };
    harness.wait_for_event(warning).await
}

#[tokio::test]
async fn fallback_model_finishes_the_run_and_the_users_model_returns() {
    let fallback = ["nobody/x", "scripted/(in memory)", "other/a"];
    let failures = vec![failing("transient"), failing("transient")];
    let mut harness = harness(failures, vec![text_answer("here"), text_answer("there")], &fallback);
    for _ in 0..2 {
        harness.prompt("go").await;
        assert_eq!(warning(&mut harness).await, "scripted: busy; using other/a for the rest of this run");
        assert_eq!(warning(&mut harness).await, "back to scripted/(in memory)");
        assert_eq!(harness.settled().await, RunOutcome::Completed);
    }
    let run =
        ["scripted  Error", "scripted  Error", "model of other", "other here Stop", "model of scripted"];
    assert_eq!(log_lines(&harness)[..5], run);
    assert_eq!(harness.requests().len(), 4, "each run begins with the user's model");
    let state = harness.agent.state().await.unwrap().state;
    assert_eq!(state.model, ModelRef { provider: "scripted".into(), id: "(in memory)".into() });
}

#[tokio::test]
async fn fallback_for_quota_and_key_needs_another_provider() {
    for failure in ["quota", "auth"] {
        let mut harness = harness(vec![failing(failure)], vec![failing(failure)], &["other/a", "other/b"]);
        harness.prompt("go").await;
        assert_eq!(harness.settled().await, RunOutcome::Failed);
        let run = ["scripted  Error", "model of other", "other  Error", "model of scripted"];
        assert_eq!(log_lines(&harness), run, "{failure}");
    }
}

#[tokio::test]
async fn fallback_is_not_used_for_an_invalid_request() {
    let mut harness = harness(vec![failing("fatal")], vec![text_answer("here")], &["other/a"]);
    harness.prompt("go").await;
    assert_eq!(harness.settled().await, RunOutcome::Failed);
    assert_eq!(log_lines(&harness), ["scripted  Error"]);
}

#[tokio::test]
async fn fallback_cut_off_by_a_crash_leaves_the_users_model() {
    let calls = calls(&[json!({})]);
    let mut harness = harness(vec![failing("quota")], vec![calls, text_answer("done")], &["other/a:high"]);
    harness.prompt("go").await;
    harness.started.notified().await;
    let log = harness.agent.state().await.unwrap().state.path.unwrap();
    let copy = harness.dir.path().join("copy.jsonl");
    std::fs::copy(log, &copy).unwrap();
    let mut resumed = harness_of(Some(copy), (vec![text_answer(""), text_answer("back")], Vec::new()), &[]);
    let state = resumed.agent.state().await.unwrap().state;
    assert_eq!((state.model.provider.as_str(), state.thinking), ("scripted", ThinkingLevel::Off));
    resumed.prompt("go on").await;
    assert_eq!(resumed.settled().await, RunOutcome::Completed);
    assert_eq!(log_lines(&resumed).last().unwrap(), "scripted back Stop");
    harness.permits.add_permits(1);
    assert_eq!(harness.settled().await, RunOutcome::Completed);
}

#[tokio::test]
async fn fallback_keeps_its_level_when_its_provider_changes() {
    let calls = calls(&[json!({})]);
    let mut harness = harness(vec![failing("quota")], vec![calls, text_answer("done")], &["other/a:high"]);
    harness.prompt("go").await;
    harness.started.notified().await;
    let script = ScriptedProvider::new(vec![text_answer(""), text_answer("done")]);
    let models = models("other").into_iter().map(|facts| facts.with_window(Tokens(50_000))).collect();
    let change = ProviderChange::Add(Arc::new(OtherProvider { name: "other", script }), models);
    harness.agent.change_provider(change).await.unwrap();
    assert_eq!(harness.agent.state().await.unwrap().state.thinking, ThinkingLevel::High);
    harness.permits.add_permits(1);
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    assert_eq!(harness.agent.state().await.unwrap().state.thinking, ThinkingLevel::Off);
}

#[tokio::test]
async fn fallback_ends_when_the_user_chooses_a_model() {
    let calls = calls(&[json!({})]);
    let mut harness = harness(vec![failing("quota")], vec![calls, text_answer("done")], &["other/a:high"]);
    harness.prompt("go").await;
    harness.started.notified().await;
    harness.agent.set_model("third/b").await.unwrap();
    harness.permits.add_permits(1);
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    let state = harness.agent.state().await.unwrap().state;
    assert_eq!(state.model, ModelRef { provider: "third".into(), id: "b".into() });
}
