//! State and options of a session, and their restoration.

use std::fs;
use tiller_core::setting::{DeliveryMode, SteeringPoint, Switch};

use tiller_core::event::SessionChange;
use tiller_core::message::{Image, ModelRef};
use tiller_engine::{CycleDirection, CycleScope, ProviderChange};
use tiller_provider::{self, demo::Demo};
use tiller_provider::{ImageInput, ModelError, ModelFacts, catalog};
use tiller_session::EntryBody;

use super::*;

/// A named provider that plays a script.
struct Named(&'static str, Scripted);

impl Provider for Named {
    fn name(&self) -> &str {
        self.0
    }

    fn api(&self) -> &'static str {
        "named"
    }

    fn stream(&self, request: Request) -> ProviderStream {
        self.1.stream(request)
    }
}

const THINKER: &str = "anthropic/claude-thinker";

/// Adds a model that thinks, and one whose key is missing.
fn with_thinker(parts: &mut SessionParts) {
    let says = |text: &str| ScriptedAnswer { text: text.into(), ..ScriptedAnswer::default() };
    let script = Scripted::new(vec![says("hm one"), says("hm two"), says("hm three")]);
    let facts = vec![catalog::assumed("anthropic", "claude-thinker")];
    parts.providers.add(Arc::new(Named("anthropic", script)), facts);
    parts.providers.add_without_key("openai", "OPENAI_API_KEY", catalog::list_models("openai"));
}

fn manager(folder: &TempDir) -> SessionManager {
    SessionManager::new(Placement::Flat(folder.path().join("logs")), folder.path().canonicalize().unwrap())
}

fn stage(answers: Vec<ScriptedAnswer>) -> Stage {
    let folder = TempDir::new().unwrap();
    let manager = manager(&folder);
    Stage::tuned(folder, (manager, None), Access::Writes, answers, with_thinker)
}

/// Closes a stage's session and opens it again with parts modified by `tune`.
async fn reopened(stage: Stage, tune: impl FnOnce(&mut SessionParts)) -> Stage {
    let path = stage.agent.reader().path().unwrap().to_owned();
    stage.agent.close().await.unwrap();
    let Stage { folder, .. } = stage;
    let manager = manager(&folder);
    let answers = vec![says("one"), says("two"), says("three")];
    Stage::tuned(folder, (manager, Some(path)), Access::Writes, answers, tune)
}

async fn chosen(stage: &Stage) -> (String, ThinkingLevel) {
    let state = stage.agent.state().await.unwrap().state;
    (state.model.to_string(), state.thinking)
}

fn scripted() -> String {
    "scripted/(in memory)".to_owned()
}

#[tokio::test]
async fn set_model_without_key_is_refused_and_nothing_is_written() {
    let mut stage = stage(vec![says("one")]);
    stage.prompt("go").await;
    stage.settled().await;
    let entries = stage.agent.reader().entry_count();
    let refused = stage.agent.set_model("gpt-4.1").await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "no API key for openai/gpt-4.1; set OPENAI_API_KEY, or store one with `tiller login openai` or /login"
    );
    let unknown = stage.agent.set_model("nonsense").await.unwrap_err();
    assert!(matches!(unknown, AgentError::Model(ModelError::Unknown { .. })), "{unknown}");
    assert_eq!(stage.agent.reader().entry_count(), entries);
    assert_eq!(chosen(&stage).await, (scripted(), ThinkingLevel::Off));
}

#[tokio::test]
async fn model_and_level_are_restored_on_resume_fork_and_navigate() {
    let mut stage = stage(vec![says("one"), says("two")]);
    stage.prompt("first").await;
    stage.settled().await;
    let early = stage.agent.reader().leaf().unwrap();
    stage.agent.set_model("thinker:high").await.unwrap();
    let thinking = (THINKER.to_owned(), ThinkingLevel::High);
    let other = stage.agent.reader().path().unwrap().to_owned();

    let stage = reopened(stage, with_thinker).await;
    assert_eq!(chosen(&stage).await, thinking, "at the start");
    stage.agent.new_session().await.unwrap();
    stage.agent.set_model("scripted").await.unwrap();
    stage.agent.open_session(other).await.unwrap();
    assert_eq!(chosen(&stage).await, thinking, "after a look at another session");
    let mut stage = stage;
    stage.prompt("second").await;
    stage.settled().await;
    let late = stage.agent.reader().leaf().unwrap();
    stage.agent.navigate(early.clone(), BranchSummary::None).await.unwrap();
    assert_eq!(chosen(&stage).await, (scripted(), ThinkingLevel::Off), "where it was said");
    stage.agent.navigate(late.clone(), BranchSummary::None).await.unwrap();
    assert_eq!(chosen(&stage).await, thinking, "and back");
    stage.agent.fork(early).await.unwrap();
    assert_eq!(chosen(&stage).await, (scripted(), ThinkingLevel::Off), "in a fork");
}

#[tokio::test]
async fn model_chosen_on_resume_is_restored_without_a_message() {
    let mut stage = stage(vec![says("one")]);
    stage.prompt("first").await;
    stage.settled().await;
    let stage = reopened(stage, with_thinker).await;
    stage.agent.set_model(THINKER).await.unwrap();
    let stage = reopened(stage, with_thinker).await;
    assert_eq!(chosen(&stage).await, (THINKER.to_owned(), ThinkingLevel::Off));
    stage.agent.set_thinking(ThinkingLevel::Low).await.unwrap();
    let stage = reopened(stage, with_thinker).await;
    assert_eq!(chosen(&stage).await, (THINKER.to_owned(), ThinkingLevel::Low));
}

#[tokio::test]
async fn model_chosen_during_an_answer_is_restored() {
    let mut stage = stage(vec![calls(&[json!({})]), says("never said")]);
    stage.prompt("go").await;
    stage.begun.notified().await;
    stage.agent.set_model(THINKER).await.unwrap();
    stage.go.add_permits(1);
    stage.settled().await;
    let last = |reader: &Reader| said(reader).pop().unwrap();
    assert_eq!(last(&stage.agent.reader()), "answer hm two Stop", "the next turn is the other one's");

    let hangs = ScriptedAnswer { hang: true, ..says("so far") };
    let mut stage = self::stage(vec![hangs]);
    stage.prompt("go").await;
    stage.until(|event| matches!(event, EventKind::MessageUpdate { .. }).then_some(())).await;
    stage.agent.set_model("thinker:low").await.unwrap();
    stage.agent.abort().await.unwrap();
    stage.settled().await;
    let stage = reopened(stage, with_thinker).await;
    assert_eq!(chosen(&stage).await, (THINKER.to_owned(), ThinkingLevel::Low));
}

#[tokio::test]
async fn open_session_of_another_directory_gives_a_notice() {
    let mut stage = stage(vec![says("one")]);
    stage.prompt("first").await;
    stage.settled().await;
    let log = stage.agent.reader().path().unwrap().to_owned();
    let other = tempfile::tempdir().unwrap();
    let foreign = other.path().join("foreign.jsonl");
    let home = format!("\"cwd\":{}", serde_json::to_string(&other.path()).unwrap());
    let text = fs::read_to_string(log).unwrap();
    let own = serde_json::to_string(&stage.agent.state().await.unwrap().state.cwd).unwrap();
    assert!(text.contains(&format!("\"cwd\":{own}")), "{text}");
    fs::write(&foreign, text.replace(&format!("\"cwd\":{own}"), &home)).unwrap();
    stage.agent.open_session(foreign).await.unwrap();
    let warned = |event: &EventKind| match event {
        EventKind::Warning { message, .. } => Some(message.clone()),
        _ => None,
    };
    let told = stage.until(warned).await;
    assert!(told.contains("this session belongs to") && told.contains("commands run in"), "{told}");
}

/// Leaves only the demo model.
fn with_demo_only(parts: &mut SessionParts) {
    parts.providers = ProviderRegistry::default();
    parts.providers.add_without_key("anthropic", "ANTHROPIC_API_KEY", Vec::new());
    parts.providers.add(Arc::new(Demo), vec![Demo::facts()]);
    parts.first.model = tiller_provider::Model { facts: Arc::new(Demo::facts()), provider: Arc::new(Demo) };
}

#[tokio::test]
async fn demo_answers_only_where_chosen_or_in_a_new_session() {
    let (demo, thinker) = ("demo/tour".to_owned(), "anthropic/claude-thinker".to_owned());
    let mut stage = stage(vec![says("one")]);
    stage.agent.set_model("thinker").await.unwrap();
    for words in ["first", "second"] {
        stage.prompt(words).await;
        stage.settled().await;
    }
    let log = stage.agent.reader().path().unwrap().to_owned();
    let first = stage.agent.reader().entries().unwrap().0;
    let answer = first
        .iter()
        .find(|entry| entry.body.as_message().is_some_and(|said| matches!(**said, Message::Assistant(_))));
    let answer = answer.unwrap().id.clone();
    let mut stage = reopened(stage, with_demo_only).await;
    assert_eq!(chosen(&stage).await.0, thinker);
    stage.prompt("go on").await;
    assert_eq!(stage.settled().await, RunOutcome::Failed);
    stage.agent.new_session().await.unwrap();
    assert_eq!(chosen(&stage).await.0, demo, "that one names nobody");
    stage.agent.open_session(log).await.unwrap();
    assert_eq!(chosen(&stage).await.0, thinker);
    stage.agent.set_model("demo/tour").await.unwrap();
    stage.agent.navigate(answer, BranchSummary::None).await.unwrap();
    assert_eq!(chosen(&stage).await.0, demo, "it was chosen here");
}

#[tokio::test]
async fn model_unavailable_gives_a_notice_and_another_one_answers() {
    let mut stage = stage(vec![says("one")]);
    stage.agent.set_model("thinker:high").await.unwrap();
    stage.prompt("first").await;
    stage.settled().await;
    let gone = stage.agent.reader().path().unwrap().to_owned();
    let mut stage = reopened(stage, |_| {}).await;
    let notices = stage.agent.notices().join(" ");
    assert!(
        notices.contains("`anthropic` is not available") && notices.contains("continuing with scripted"),
        "{notices}"
    );
    assert_eq!(chosen(&stage).await, (scripted(), ThinkingLevel::Off));
    stage.agent.new_session().await.unwrap();
    stage.agent.open_session(gone).await.unwrap();
    // Emitted after the switch: front ends start a new page at it.
    let opened = |event: &EventKind| {
        let reason = SessionChange::Open;
        matches!(event, EventKind::SessionChanged { reason: change, .. } if *change == reason).then_some(())
    };
    stage.until(opened).await;
    let warned = |event: &EventKind| match event {
        EventKind::Warning { message, .. } => Some(message.clone()),
        _ => None,
    };
    assert!(stage.until(warned).await.contains("continuing with scripted"));
    stage.prompt("second").await;
    assert_eq!(stage.settled().await, RunOutcome::Completed);
    let entries = stage.agent.reader().entries().unwrap().0;
    let models: Vec<&str> = entries
        .iter()
        .filter_map(|entry| match &entry.body {
            EntryBody::ModelChange { provider, .. } => Some(provider.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(models, ["anthropic", "scripted"], "the log says who went on");
}

#[tokio::test]
async fn cycle_model_uses_the_list_with_its_levels() {
    let folder = TempDir::new().unwrap();
    let manager = manager(&folder);
    let tune = |parts: &mut SessionParts| {
        with_thinker(parts);
        let list = ["scripted".to_owned(), "thinker:medium".to_owned(), "gpt-4.1".to_owned()];
        assert_eq!(parts.providers.limit_scope(&list), ["gpt-4.1"], "it has no key");
    };
    let stage = Stage::tuned(folder, (manager, None), Access::Reads, vec![], tune);
    assert_eq!(stage.agent.scoped_models().await.unwrap().len(), 2);
    let next = stage.agent.cycle_model(CycleDirection::Forward).await.unwrap().unwrap();
    assert_eq!((next.model.to_string(), next.thinking), (THINKER.to_owned(), ThinkingLevel::Medium));
    assert_eq!(next.scope, CycleScope::Listed);
    let back = stage.agent.cycle_model(CycleDirection::Back).await.unwrap().unwrap();
    assert_eq!((back.model.to_string(), back.thinking), (scripted(), ThinkingLevel::Off));

    let alone = Stage::new(Access::Reads, vec![]);
    assert_eq!(alone.agent.cycle_model(CycleDirection::Forward).await.unwrap(), None);
}

#[tokio::test]
async fn thinking_level_is_clamped_and_the_request_remembered() {
    let stage = stage(vec![]);
    let levels = stage.agent.thinking_levels().await.unwrap();
    assert_eq!((levels, stage.agent.cycle_thinking().await.unwrap()), (vec![ThinkingLevel::Off], None));
    stage.agent.set_model(THINKER).await.unwrap();
    assert_eq!(stage.agent.set_thinking(ThinkingLevel::High).await.unwrap(), ThinkingLevel::High);
    assert_eq!(stage.agent.cycle_thinking().await.unwrap(), Some(ThinkingLevel::Xhigh));
    assert_eq!(stage.agent.cycle_thinking().await.unwrap(), Some(ThinkingLevel::Off));
    stage.agent.set_thinking(ThinkingLevel::High).await.unwrap();
    stage.agent.set_model("scripted").await.unwrap();
    assert_eq!(chosen(&stage).await.1, ThinkingLevel::Off);
    stage.agent.set_model(THINKER).await.unwrap();
    assert_eq!(chosen(&stage).await.1, ThinkingLevel::High);
    assert_eq!(stage.agent.thinking_levels().await.unwrap(), ThinkingLevel::ALL);
}

#[tokio::test]
async fn cost_is_priced_by_the_answering_model() {
    let dear = |facts: ModelFacts| ModelFacts { price: catalog::list_models("anthropic")[0].price, ..facts };
    let spends = json!({"text": "x", "repeat": 20, "delay_ms": 10, "usage": {"input": 1000}});
    let folder = TempDir::new().unwrap();
    let manager = manager(&folder);
    let tune = |parts: &mut SessionParts| {
        with_thinker(parts);
        parts.first.model.facts = Arc::new(dear((*parts.first.model.facts).clone()));
    };
    let answers = vec![serde_json::from_value(spends).unwrap()];
    let mut stage = Stage::tuned(folder, (manager, None), Access::Writes, answers, tune);
    stage.prompt("go").await;
    stage.until(|event| matches!(event, EventKind::MessageUpdate { .. }).then_some(())).await;
    stage.agent.set_model(THINKER).await.unwrap();
    stage.settled().await;
    let stats = stage.agent.stats().await.unwrap();
    let [spent] = stats.session.models.as_slice() else { panic!("{:?}", stats.session.models) };
    assert_eq!(spent.model.to_string(), scripted());
    assert!(spent.usage.cost.total.0 > 0.0, "the other one is free");
    assert_eq!(stats.session.usage, stage.agent.reader().usage());
}

#[tokio::test]
async fn images_for_text_only_model_are_replaced_but_logged() {
    let blind = |parts: &mut SessionParts| {
        let facts = ModelFacts { image_input: ImageInput::Unsupported, ..(*parts.first.model.facts).clone() };
        parts.first.model.facts = Arc::new(facts);
    };
    let folder = TempDir::new().unwrap();
    let manager = manager(&folder);
    let mut stage = Stage::tuned(folder, (manager, None), Access::Reads, vec![says("I see nothing")], blind);
    let images = vec![Image { data: "AA==".into(), mime_type: "image/png".into() }];
    stage
        .agent
        .prompt("look", PromptOptions { images: images.clone(), ..PromptOptions::default() })
        .await
        .unwrap();
    let warned = stage
        .until(|event| match event {
            EventKind::Warning { message, .. } => Some(message.clone()),
            _ => None,
        })
        .await;
    assert!(warned.ends_with("does not accept images: each image is replaced by a line of text"), "{warned}");
    stage.settled().await;
    let Message::User(sent) = &*stage.requests()[0].messages[0] else { panic!("no user message") };
    assert_eq!(sent.content.joined_text(), "look\n[an image, image/png; this model takes none]");
    assert_eq!(sent.content.images().count(), 0);
    let logged = stage.agent.messages().await.unwrap();
    let Message::User(logged) = &*logged[0] else { panic!("no user message") };
    assert_eq!(logged.content.images().collect::<Vec<_>>(), images);
}

#[tokio::test]
async fn stats_separate_the_branch_from_the_session() {
    let spends = |text: &str| -> ScriptedAnswer {
        serde_json::from_value(json!({"text": text, "usage": {"input": 10, "output": 5}})).unwrap()
    };
    let mut stage = stage(vec![calls(&[json!({})]), spends("one"), spends("two")]);
    stage.go.add_permits(1);
    stage.prompt("first").await;
    stage.settled().await;
    let fork = stage.agent.reader().leaf().unwrap();
    stage.prompt("second").await;
    stage.settled().await;
    stage.agent.navigate(fork, BranchSummary::None).await.unwrap();
    let stats = stage.agent.stats().await.unwrap();
    let counts = |tally: &tiller_session::Totals| {
        (
            tally.user_messages,
            tally.assistant_messages,
            tally.tool_calls,
            tally.tool_results,
            tally.usage.input,
        )
    };
    assert_eq!(counts(&stats.session), (2, 3, 1, 1, Tokens(20)));
    assert_eq!(counts(&stats.branch), (1, 2, 1, 1, Tokens(10)));
    assert_eq!((stats.context.used, stats.branch.messages()), (Tokens(15), 4));
    assert_eq!(stage.agent.messages().await.unwrap().len(), 4);
    assert_eq!(stage.agent.last_answer_text().await.unwrap().as_deref(), Some("one"));
}

#[tokio::test]
async fn status_has_activity_queue_and_leaf() {
    let mut stage = stage(vec![calls(&[json!({})]), says("done")]);
    let idle = stage.agent.state().await.unwrap();
    assert_eq!((idle.activity.is_running, idle.leaf, idle.messages), (false, None, 0));
    stage.prompt("go").await;
    stage.begun.notified().await;
    stage.agent.follow_up("later").await.unwrap();
    let busy = stage.agent.state().await.unwrap();
    assert!(busy.activity.is_running && !busy.activity.is_retrying && !busy.activity.is_compacting);
    assert_eq!((busy.queue.items[0].text.as_str(), busy.messages), ("later", 2));
    stage.agent.abort().await.unwrap();
    stage.settled().await;
    let after = stage.agent.state().await.unwrap();
    assert_eq!((after.activity.is_running, after.leaf), (false, stage.agent.reader().leaf()));
}

#[tokio::test]
async fn retry_pending_is_shown_and_can_be_turned_off() {
    let busy = |times: u32| -> ScriptedAnswer {
        let error = json!({"failure": "transient", "message": "busy", "times": times, "retry_after_s": 200});
        serde_json::from_value(json!({"text": "here", "error": error})).unwrap()
    };
    let mut stage = stage(vec![busy(2)]);
    stage.prompt("go").await;
    stage.until(|event| matches!(event, EventKind::AutoRetryStart { .. }).then_some(())).await;
    let state = stage.agent.state().await.unwrap();
    assert!(state.activity.is_running && state.activity.is_retrying);
    stage.agent.set_auto_retry(Switch::Off).await.unwrap();
    stage.agent.abort_retry().await.unwrap();
    assert_eq!(stage.settled().await, RunOutcome::Failed);
    stage.prompt("again").await;
    assert_eq!(stage.settled().await, RunOutcome::Failed);
    assert_eq!(stage.requests().len(), 2, "the second prompt was tried once");
    assert_eq!(stage.agent.state().await.unwrap().auto_retry, Switch::Off);
}

#[tokio::test]
async fn delivery_modes_are_set_at_run_time_and_stay() {
    let answers = vec![calls(&[json!({}), json!({})]), says("both"), says("all")];
    let mut stage = stage(answers);
    stage.agent.new_session().await.unwrap();
    stage.agent.set_steering_point(SteeringPoint::AfterAnswer).await.unwrap();
    stage.agent.set_steering_mode(DeliveryMode::All).await.unwrap();
    stage.agent.set_follow_up_mode(DeliveryMode::All).await.unwrap();
    stage.agent.new_session().await.unwrap();
    stage.prompt("go").await;
    stage.begun.notified().await;
    for text in ["a", "b"] {
        stage.agent.steer(text).await.unwrap();
        stage.agent.follow_up(format!("then {text}")).await.unwrap();
    }
    stage.go.add_permits(2);
    assert_eq!(stage.settled().await, RunOutcome::Completed);
    assert_eq!(
        stage.said(),
        [
            "user go",
            "answer  ToolUse",
            "result through",
            "result through",
            "user a",
            "user b",
            "answer both Stop",
            "user then a",
            "user then b",
            "answer all Stop"
        ]
    );
    let queue = stage.agent.state().await.unwrap().queue;
    assert_eq!((queue.steering_point, queue.steering_mode), (SteeringPoint::AfterAnswer, DeliveryMode::All));
}

#[tokio::test]
async fn clone_session_copies_the_branch_and_new_names_its_parent() {
    let mut stage = stage(vec![ScriptedAnswer { hang: true, ..ScriptedAnswer::default() }]);
    assert!(matches!(stage.agent.clone_session().await, Err(AgentError::Empty)));
    stage.prompt("unanswered").await;
    stage.agent.abort().await.unwrap();
    stage.settled().await;
    let (original, before) = (stage.agent.reader().path().unwrap().to_owned(), stage.said());
    let moved = stage.agent.clone_session().await.unwrap();
    assert_eq!(moved.editor, None);
    assert_eq!(stage.said(), before, "the user's last words are part of it");
    assert_ne!(stage.agent.reader().path().unwrap(), original);
    stage.agent.new_session_after(&original).await.unwrap();
    let header = stage.agent.reader().header().clone();
    assert_eq!(header.parent_session.as_deref(), original.to_str());
    assert_eq!(stage.agent.reader().leaf(), None);
}

#[tokio::test]
async fn rename_is_emitted_and_belongs_to_its_session() {
    let mut stage = stage(vec![says("one")]);
    stage.agent.rename(" parser ").await.unwrap();
    let named = |event: &EventKind| match event {
        EventKind::SessionInfoChanged { name } => Some(name.clone()),
        _ => None,
    };
    assert_eq!(stage.until(named).await.as_deref(), Some("parser"));
    stage.prompt("go").await;
    stage.settled().await;
    let path = stage.agent.reader().path().unwrap().to_owned();
    stage.agent.new_session().await.unwrap();
    assert_eq!(stage.agent.state().await.unwrap().state.name, None);
    stage.agent.open_session(path).await.unwrap();
    assert_eq!(stage.agent.state().await.unwrap().state.name.as_deref(), Some("parser"));
    let model = ModelRef { provider: "scripted".into(), id: "(in memory)".into() };
    assert_eq!(stage.agent.state().await.unwrap().state.model, model);
}

#[tokio::test]
async fn change_provider_adds_and_removes_while_its_model_answers() {
    let mut stage = stage(vec![says("one")]);
    let (provider, key_name) = ("openai".to_owned(), "OPENAI_API_KEY".to_owned());
    let open = || {
        let script = Scripted::new(vec![says("from openai"), says("again"), says("and again")]);
        ProviderChange::Add(Arc::new(Named("openai", script)), catalog::list_models("openai"))
    };
    stage.agent.change_provider(open()).await.unwrap();
    assert!(stage.agent.locked_models().await.unwrap().is_empty());
    stage.agent.set_model("gpt-5").await.unwrap();
    stage.prompt("first").await;
    assert_eq!(stage.settled().await, RunOutcome::Completed);

    stage.agent.change_provider(ProviderChange::Remove { provider, key_name }).await.unwrap();
    let refused = stage.agent.set_model("gpt-5-mini").await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "no API key for openai/gpt-5-mini; set OPENAI_API_KEY, or store one with `tiller login openai` or /login"
    );
    assert_eq!(chosen(&stage).await.0, "openai/gpt-5", "nobody chose another one");
    stage.prompt("second").await;
    assert_eq!(stage.settled().await, RunOutcome::Failed);
    let answer = stage.agent.messages().await.unwrap().pop().unwrap();
    let Message::Assistant(answer) = &*answer else { panic!("{answer:?}") };
    assert_eq!(
        answer.error_message.as_deref(),
        Some("openai: its API key was removed → add a key again, or choose another model")
    );

    stage.agent.change_provider(open()).await.unwrap();
    stage.prompt("third").await;
    assert_eq!(stage.settled().await, RunOutcome::Completed);
}
