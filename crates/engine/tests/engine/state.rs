//! State and options of a session, and their restoration.

use std::fs;
use tiller_core::setting::{DeliveryMode, SteeringPoint, Switch};

use tiller_core::event::SessionChange;
use tiller_core::message::{Image, ModelRef};
use tiller_core::unit::Usd;
use tiller_engine::{CycleDirection, CycleScope, ProviderChange};
use tiller_provider::{self, demo::Demo};
use tiller_provider::{ImageInput, ModelError, ModelFacts, catalog};
use tiller_session::EntryBody;

use super::*;

/// A named provider that plays a script.
struct Named(&'static str, ScriptedProvider);

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

/// Adds a model that supports thinking, and one whose key is missing.
fn with_thinker(parts: &mut SessionParts) {
    let text_answer = |text: &str| ScriptedAnswer { text: text.into(), ..ScriptedAnswer::default() };
    let script =
        ScriptedProvider::new(vec![text_answer("hm one"), text_answer("hm two"), text_answer("hm three")]);
    let facts = vec![catalog::assumed("anthropic", "claude-thinker")];
    parts.providers.add(Arc::new(Named("anthropic", script)), facts);
    parts.providers.add_without_key("openai", "OPENAI_API_KEY", catalog::list_models("openai"));
}

fn manager(dir: &TempDir) -> SessionManager {
    SessionManager::new(Placement::Flat(dir.path().join("logs")), dir.path().canonicalize().unwrap())
}

fn harness(answers: Vec<ScriptedAnswer>) -> Harness {
    let dir = TempDir::new().unwrap();
    let manager = manager(&dir);
    Harness::configured(dir, (manager, None), Access::Writes, answers, with_thinker)
}

/// Closes a harness's session and opens it again with parts modified by `configure`.
async fn reopened(harness: Harness, configure: impl FnOnce(&mut SessionParts)) -> Harness {
    let path = harness.agent.reader().path().unwrap().to_owned();
    harness.agent.close().await.unwrap();
    let Harness { dir, .. } = harness;
    let manager = manager(&dir);
    let answers = vec![text_answer("one"), text_answer("two"), text_answer("three")];
    Harness::configured(dir, (manager, Some(path)), Access::Writes, answers, configure)
}

async fn model_and_level(harness: &Harness) -> (String, ThinkingLevel) {
    let state = harness.agent.state().await.unwrap().state;
    (state.model.to_string(), state.thinking)
}

fn scripted() -> String {
    "scripted/(in memory)".to_owned()
}

#[tokio::test]
async fn set_model_without_key_is_refused_and_nothing_is_written() {
    let mut harness = harness(vec![text_answer("one")]);
    harness.prompt("go").await;
    harness.settled().await;
    let entries = harness.agent.reader().entry_count();
    let error = harness.agent.set_model("gpt-4.1").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "no API key for openai/gpt-4.1; set OPENAI_API_KEY, or store a key with `tiller login openai` or /login"
    );
    let unknown = harness.agent.set_model("nonsense").await.unwrap_err();
    assert!(matches!(unknown, AgentError::Model(ModelError::Unknown { .. })), "{unknown}");
    assert_eq!(harness.agent.reader().entry_count(), entries);
    assert_eq!(model_and_level(&harness).await, (scripted(), ThinkingLevel::Off));
}

#[tokio::test]
async fn model_and_level_are_restored_on_resume_fork_and_navigate() {
    let mut harness = harness(vec![text_answer("one"), text_answer("two")]);
    harness.prompt("first").await;
    harness.settled().await;
    let first_leaf = harness.agent.reader().leaf().unwrap();
    harness.agent.set_model("thinker:high").await.unwrap();
    let thinking = (THINKER.to_owned(), ThinkingLevel::High);
    let first_log = harness.agent.reader().path().unwrap().to_owned();

    let harness = reopened(harness, with_thinker).await;
    assert_eq!(model_and_level(&harness).await, thinking, "at the start");
    harness.agent.new_session().await.unwrap();
    harness.agent.set_model("scripted").await.unwrap();
    harness.agent.open_session(first_log).await.unwrap();
    assert_eq!(model_and_level(&harness).await, thinking, "after a look at another session");
    let mut harness = harness;
    harness.prompt("second").await;
    harness.settled().await;
    let late = harness.agent.reader().leaf().unwrap();
    harness.agent.navigate(first_leaf.clone(), BranchSummary::None).await.unwrap();
    assert_eq!(model_and_level(&harness).await, (scripted(), ThinkingLevel::Off), "where it was said");
    harness.agent.navigate(late.clone(), BranchSummary::None).await.unwrap();
    assert_eq!(model_and_level(&harness).await, thinking, "and back");
    harness.agent.fork(first_leaf).await.unwrap();
    assert_eq!(model_and_level(&harness).await, (scripted(), ThinkingLevel::Off), "in a fork");
}

#[tokio::test]
async fn model_chosen_on_resume_is_restored_without_a_message() {
    let mut harness = harness(vec![text_answer("one")]);
    harness.prompt("first").await;
    harness.settled().await;
    let harness = reopened(harness, with_thinker).await;
    harness.agent.set_model(THINKER).await.unwrap();
    let harness = reopened(harness, with_thinker).await;
    assert_eq!(model_and_level(&harness).await, (THINKER.to_owned(), ThinkingLevel::Off));
    harness.agent.set_thinking(ThinkingLevel::Low).await.unwrap();
    let harness = reopened(harness, with_thinker).await;
    assert_eq!(model_and_level(&harness).await, (THINKER.to_owned(), ThinkingLevel::Low));
}

#[tokio::test]
async fn model_chosen_during_an_answer_is_restored() {
    let mut harness = harness(vec![calls(&[json!({})]), text_answer("never said")]);
    harness.prompt("go").await;
    harness.started.notified().await;
    harness.agent.set_model(THINKER).await.unwrap();
    harness.permits.add_permits(1);
    harness.settled().await;
    let last = |reader: &Reader| message_lines(reader).pop().unwrap();
    assert_eq!(last(&harness.agent.reader()), "answer hm two Stop", "the next turn is the other one's");

    let hanging_answer = ScriptedAnswer { hang: true, ..text_answer("so far") };
    let mut harness = self::harness(vec![hanging_answer]);
    harness.prompt("go").await;
    harness.wait_for_event(|event| matches!(event, EventKind::MessageUpdate { .. }).then_some(())).await;
    harness.agent.set_model("thinker:low").await.unwrap();
    harness.agent.abort().await.unwrap();
    harness.settled().await;
    let harness = reopened(harness, with_thinker).await;
    assert_eq!(model_and_level(&harness).await, (THINKER.to_owned(), ThinkingLevel::Low));
}

#[tokio::test]
async fn open_session_of_another_directory_gives_a_notice() {
    let mut harness = harness(vec![text_answer("one")]);
    harness.prompt("first").await;
    harness.settled().await;
    let log = harness.agent.reader().path().unwrap().to_owned();
    let first_log = tempfile::tempdir().unwrap();
    let foreign = first_log.path().join("foreign.jsonl");
    let home = format!("\"cwd\":{}", serde_json::to_string(&first_log.path()).unwrap());
    let text = fs::read_to_string(log).unwrap();
    let own = serde_json::to_string(&harness.agent.state().await.unwrap().state.cwd).unwrap();
    assert!(text.contains(&format!("\"cwd\":{own}")), "{text}");
    fs::write(&foreign, text.replace(&format!("\"cwd\":{own}"), &home)).unwrap();
    harness.agent.open_session(foreign).await.unwrap();
    let warned = |event: &EventKind| match event {
        EventKind::Warning { message, .. } => Some(message.clone()),
        _ => None,
    };
    let warning = harness.wait_for_event(warned).await;
    assert!(warning.contains("this session belongs to") && warning.contains("commands run in"), "{warning}");
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
    let (demo, thinking_model) = ("demo/tour".to_owned(), "anthropic/claude-thinker".to_owned());
    let mut harness = harness(vec![text_answer("one")]);
    harness.agent.set_model("thinker").await.unwrap();
    for words in ["first", "second"] {
        harness.prompt(words).await;
        harness.settled().await;
    }
    let log = harness.agent.reader().path().unwrap().to_owned();
    let first = harness.agent.reader().entries().unwrap().0;
    let answer = first.iter().find(|entry| {
        entry.body.as_message().is_some_and(|message| matches!(**message, Message::Assistant(_)))
    });
    let answer = answer.unwrap().id.clone();
    let mut harness = reopened(harness, with_demo_only).await;
    assert_eq!(model_and_level(&harness).await.0, thinking_model);
    harness.prompt("go on").await;
    assert_eq!(harness.settled().await, RunOutcome::Failed);
    harness.agent.new_session().await.unwrap();
    assert_eq!(model_and_level(&harness).await.0, demo, "that log names no model");
    harness.agent.open_session(log).await.unwrap();
    assert_eq!(model_and_level(&harness).await.0, thinking_model);
    harness.agent.set_model("demo/tour").await.unwrap();
    harness.agent.navigate(answer, BranchSummary::None).await.unwrap();
    assert_eq!(model_and_level(&harness).await.0, demo, "it was chosen here");
}

#[tokio::test]
async fn model_unavailable_gives_a_notice_and_another_one_answers() {
    let mut harness = harness(vec![text_answer("one")]);
    harness.agent.set_model("thinker:high").await.unwrap();
    harness.prompt("first").await;
    harness.settled().await;
    let log = harness.agent.reader().path().unwrap().to_owned();
    let mut harness = reopened(harness, |_| {}).await;
    let notices = harness.agent.notices().join(" ");
    assert!(
        notices.contains("`anthropic` is not available") && notices.contains("continuing with scripted"),
        "{notices}"
    );
    assert_eq!(model_and_level(&harness).await, (scripted(), ThinkingLevel::Off));
    harness.agent.new_session().await.unwrap();
    harness.agent.open_session(log).await.unwrap();
    // Emitted after the switch, because front ends start a new transcript at a switch.
    let opened = |event: &EventKind| {
        let reason = SessionChange::Open;
        matches!(event, EventKind::SessionChanged { reason: change, .. } if *change == reason).then_some(())
    };
    harness.wait_for_event(opened).await;
    let warned = |event: &EventKind| match event {
        EventKind::Warning { message, .. } => Some(message.clone()),
        _ => None,
    };
    assert!(harness.wait_for_event(warned).await.contains("continuing with scripted"));
    harness.prompt("second").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    let entries = harness.agent.reader().entries().unwrap().0;
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
    let dir = TempDir::new().unwrap();
    let manager = manager(&dir);
    let configure = |parts: &mut SessionParts| {
        with_thinker(parts);
        let list = ["scripted".to_owned(), "thinker:medium".to_owned(), "gpt-4.1".to_owned()];
        assert_eq!(parts.providers.limit_scope(&list), ["gpt-4.1"], "it has no key");
    };
    let harness = Harness::configured(dir, (manager, None), Access::Reads, vec![], configure);
    assert_eq!(harness.agent.scoped_models().await.unwrap().len(), 2);
    let next = harness.agent.cycle_model(CycleDirection::Forward).await.unwrap().unwrap();
    assert_eq!((next.model.to_string(), next.thinking), (THINKER.to_owned(), ThinkingLevel::Medium));
    assert_eq!(next.scope, CycleScope::Listed);
    let back = harness.agent.cycle_model(CycleDirection::Back).await.unwrap().unwrap();
    assert_eq!((back.model.to_string(), back.thinking), (scripted(), ThinkingLevel::Off));

    let alone = Harness::new(Access::Reads, vec![]);
    assert_eq!(alone.agent.cycle_model(CycleDirection::Forward).await.unwrap(), None);
}

#[tokio::test]
async fn thinking_level_is_clamped_and_the_request_remembered() {
    let harness = harness(vec![]);
    let levels = harness.agent.thinking_levels().await.unwrap();
    assert_eq!((levels, harness.agent.cycle_thinking().await.unwrap()), (vec![ThinkingLevel::Off], None));
    harness.agent.set_model(THINKER).await.unwrap();
    assert_eq!(harness.agent.set_thinking(ThinkingLevel::High).await.unwrap(), ThinkingLevel::High);
    assert_eq!(harness.agent.cycle_thinking().await.unwrap(), Some(ThinkingLevel::Xhigh));
    assert_eq!(harness.agent.cycle_thinking().await.unwrap(), Some(ThinkingLevel::Off));
    harness.agent.set_thinking(ThinkingLevel::High).await.unwrap();
    harness.agent.set_model("scripted").await.unwrap();
    assert_eq!(model_and_level(&harness).await.1, ThinkingLevel::Off);
    harness.agent.set_model(THINKER).await.unwrap();
    assert_eq!(model_and_level(&harness).await.1, ThinkingLevel::High);
    assert_eq!(harness.agent.thinking_levels().await.unwrap(), ThinkingLevel::ALL);
}

#[tokio::test]
async fn cost_is_priced_by_the_answering_model() {
    let dear = |facts: ModelFacts| ModelFacts { price: catalog::list_models("anthropic")[0].price, ..facts };
    let spends = json!({"text": "x", "repeat": 20, "delay_ms": 10, "usage": {"input": 1000}});
    let dir = TempDir::new().unwrap();
    let manager = manager(&dir);
    let configure = |parts: &mut SessionParts| {
        with_thinker(parts);
        parts.first.model.facts = Arc::new(dear((*parts.first.model.facts).clone()));
    };
    let answers = vec![serde_json::from_value(spends).unwrap()];
    let mut harness = Harness::configured(dir, (manager, None), Access::Writes, answers, configure);
    harness.prompt("go").await;
    harness.wait_for_event(|event| matches!(event, EventKind::MessageUpdate { .. }).then_some(())).await;
    harness.agent.set_model(THINKER).await.unwrap();
    harness.settled().await;
    let stats = harness.agent.stats().await.unwrap();
    let [spent] = stats.session.models.as_slice() else { panic!("{:?}", stats.session.models) };
    assert_eq!(spent.model.to_string(), scripted());
    assert!(spent.usage.cost.total.0 > 0.0, "the other one is free");
    assert_eq!(stats.session.usage, harness.agent.reader().usage());
}

#[tokio::test]
async fn images_for_text_only_model_are_replaced_but_logged() {
    let blind = |parts: &mut SessionParts| {
        let facts = ModelFacts { image_input: ImageInput::Unsupported, ..(*parts.first.model.facts).clone() };
        parts.first.model.facts = Arc::new(facts);
    };
    let dir = TempDir::new().unwrap();
    let manager = manager(&dir);
    let mut harness =
        Harness::configured(dir, (manager, None), Access::Reads, vec![text_answer("I see nothing")], blind);
    let images = vec![Image { data: "AA==".into(), mime_type: "image/png".into() }];
    harness
        .agent
        .prompt("look", PromptOptions { images: images.clone(), ..PromptOptions::default() })
        .await
        .unwrap();
    let warned = harness
        .wait_for_event(|event| match event {
            EventKind::Warning { message, .. } => Some(message.clone()),
            _ => None,
        })
        .await;
    assert!(
        warned.ends_with("does not accept images: each image is replaced with a line of text"),
        "{warned}"
    );
    harness.settled().await;
    let Message::User(sent) = &*harness.requests()[0].messages[0] else { panic!("no user message") };
    assert_eq!(
        sent.content.joined_text(),
        "look\n[image omitted (image/png): this model doesn't accept images]"
    );
    assert_eq!(sent.content.images().count(), 0);
    let logged = harness.agent.messages().await.unwrap();
    let Message::User(logged) = &*logged[0] else { panic!("no user message") };
    assert_eq!(logged.content.images().collect::<Vec<_>>(), images);
}

#[tokio::test]
async fn stats_separate_the_branch_from_the_session() {
    let spends = |text: &str| -> ScriptedAnswer {
        serde_json::from_value(json!({"text": text, "usage": {"input": 10, "output": 5}})).unwrap()
    };
    let mut harness = harness(vec![calls(&[json!({})]), spends("one"), spends("two")]);
    harness.permits.add_permits(1);
    harness.prompt("first").await;
    harness.settled().await;
    let fork = harness.agent.reader().leaf().unwrap();
    harness.prompt("second").await;
    harness.settled().await;
    harness.agent.navigate(fork, BranchSummary::None).await.unwrap();
    let stats = harness.agent.stats().await.unwrap();
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
    assert_eq!(harness.agent.messages().await.unwrap().len(), 4);
    assert_eq!(harness.agent.last_answer_text().await.unwrap().as_deref(), Some("one"));
}

#[tokio::test]
async fn status_has_activity_queue_and_leaf() {
    let mut harness = harness(vec![calls(&[json!({})]), text_answer("done")]);
    let idle_state = harness.agent.state().await.unwrap();
    assert_eq!((idle_state.activity.is_running, idle_state.leaf, idle_state.messages), (false, None, 0));
    harness.prompt("go").await;
    harness.started.notified().await;
    harness.agent.follow_up("later").await.unwrap();
    let busy_state = harness.agent.state().await.unwrap();
    assert!(
        busy_state.activity.is_running
            && !busy_state.activity.is_retrying
            && !busy_state.activity.is_compacting
    );
    assert_eq!((busy_state.queue.items[0].text.as_str(), busy_state.messages), ("later", 2));
    harness.agent.abort().await.unwrap();
    harness.settled().await;
    let after = harness.agent.state().await.unwrap();
    assert_eq!((after.activity.is_running, after.leaf), (false, harness.agent.reader().leaf()));
}

#[tokio::test]
async fn retry_pending_is_shown_and_can_be_turned_off() {
    let busy_state = |times: u32| -> ScriptedAnswer {
        let error = json!({"failure": "transient", "message": "busy", "times": times, "retry_after_s": 200});
        serde_json::from_value(json!({"text": "here", "error": error})).unwrap()
    };
    let mut harness = harness(vec![busy_state(2)]);
    harness.prompt("go").await;
    harness.wait_for_event(|event| matches!(event, EventKind::AutoRetryStart { .. }).then_some(())).await;
    let state = harness.agent.state().await.unwrap();
    assert!(state.activity.is_running && state.activity.is_retrying);
    harness.agent.set_auto_retry(Switch::Off).await.unwrap();
    harness.agent.abort_retry().await.unwrap();
    assert_eq!(harness.settled().await, RunOutcome::Failed);
    harness.prompt("again").await;
    assert_eq!(harness.settled().await, RunOutcome::Failed);
    assert_eq!(harness.requests().len(), 2, "the second prompt was tried once");
    assert_eq!(harness.agent.state().await.unwrap().auto_retry, Switch::Off);
}

#[tokio::test]
async fn delivery_modes_are_set_at_run_time_and_stay() {
    let answers = vec![calls(&[json!({}), json!({})]), text_answer("both"), text_answer("all")];
    let mut harness = harness(answers);
    harness.agent.new_session().await.unwrap();
    harness.agent.set_steering_point(SteeringPoint::AfterAnswer).await.unwrap();
    harness.agent.set_steering_mode(DeliveryMode::All).await.unwrap();
    harness.agent.set_follow_up_mode(DeliveryMode::All).await.unwrap();
    harness.agent.new_session().await.unwrap();
    harness.prompt("go").await;
    harness.started.notified().await;
    for text in ["a", "b"] {
        harness.agent.steer(text).await.unwrap();
        harness.agent.follow_up(format!("then {text}")).await.unwrap();
    }
    harness.permits.add_permits(2);
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    assert_eq!(
        harness.message_lines(),
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
    let queue = harness.agent.state().await.unwrap().queue;
    assert_eq!((queue.steering_point, queue.steering_mode), (SteeringPoint::AfterAnswer, DeliveryMode::All));
}

#[tokio::test]
async fn clone_session_copies_the_branch_and_new_names_its_parent() {
    let mut harness = harness(vec![ScriptedAnswer { hang: true, ..ScriptedAnswer::default() }]);
    assert!(matches!(harness.agent.clone_session().await, Err(AgentError::Empty)));
    harness.prompt("unanswered").await;
    harness.agent.abort().await.unwrap();
    harness.settled().await;
    let (original, before) = (harness.agent.reader().path().unwrap().to_owned(), harness.message_lines());
    let moved = harness.agent.clone_session().await.unwrap();
    assert_eq!(moved.editor, None);
    assert_eq!(harness.message_lines(), before, "the user's last words are part of it");
    assert_ne!(harness.agent.reader().path().unwrap(), original);
    harness.agent.new_session_after(&original).await.unwrap();
    let header = harness.agent.reader().header().clone();
    assert_eq!(header.parent_session.as_deref(), original.to_str());
    assert_eq!(harness.agent.reader().leaf(), None);
}

#[tokio::test]
async fn rename_is_emitted_and_belongs_to_its_session() {
    let mut harness = harness(vec![text_answer("one")]);
    harness.agent.rename(" parser\n\u{1b}bug ").await.unwrap();
    let named = |event: &EventKind| match event {
        EventKind::SessionInfoChanged { name } => Some(name.clone()),
        _ => None,
    };
    assert_eq!(harness.wait_for_event(named).await.as_deref(), Some("parser bug"));
    harness.prompt("go").await;
    harness.settled().await;
    let path = harness.agent.reader().path().unwrap().to_owned();
    harness.agent.new_session().await.unwrap();
    assert_eq!(harness.agent.state().await.unwrap().state.name, None);
    harness.agent.open_session(path).await.unwrap();
    assert_eq!(harness.agent.state().await.unwrap().state.name.as_deref(), Some("parser bug"));
    let model = ModelRef { provider: "scripted".into(), id: "(in memory)".into() };
    assert_eq!(harness.agent.state().await.unwrap().state.model, model);
}

#[tokio::test]
async fn change_provider_adds_and_removes_while_its_model_answers() {
    let mut harness = harness(vec![text_answer("one")]);
    let (provider, key_name) = ("openai".to_owned(), "OPENAI_API_KEY".to_owned());
    let open = || {
        let script = ScriptedProvider::new(vec![
            text_answer("from openai"),
            text_answer("again"),
            text_answer("and again"),
        ]);
        ProviderChange::Add(Arc::new(Named("openai", script)), catalog::list_models("openai"))
    };
    harness.agent.change_provider(open()).await.unwrap();
    assert!(harness.agent.locked_models().await.unwrap().is_empty());
    harness.agent.set_model("gpt-5").await.unwrap();
    harness.prompt("first").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);

    harness.agent.change_provider(ProviderChange::Remove { provider, key_name }).await.unwrap();
    let error = harness.agent.set_model("gpt-5-mini").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "no API key for openai/gpt-5-mini; set OPENAI_API_KEY, or store a key with `tiller login openai` or /login"
    );
    assert_eq!(model_and_level(&harness).await.0, "openai/gpt-5", "no other model was chosen");
    harness.prompt("second").await;
    assert_eq!(harness.settled().await, RunOutcome::Failed);
    let answer = harness.agent.messages().await.unwrap().pop().unwrap();
    let Message::Assistant(answer) = &*answer else { panic!("{answer:?}") };
    assert_eq!(
        answer.error_message.as_deref(),
        Some("openai: its API key was removed → add a key again, or choose another model")
    );

    harness.agent.change_provider(open()).await.unwrap();
    harness.prompt("third").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
}

#[tokio::test]
async fn change_provider_takes_the_facts_of_the_active_model() {
    let mut harness = harness(vec![]);
    let add = |window, is_priced: bool| {
        let script =
            ScriptedProvider::new(vec![serde_json::from_value(json!({"usage": {"input": 1_000}})).unwrap()]);
        let facts = catalog::assumed("ollama", "qwen3").with_window(Tokens(window));
        let price = is_priced.then(|| catalog::list_models("anthropic")[0].price).flatten();
        ProviderChange::Add(Arc::new(Named("ollama", script)), vec![ModelFacts { price, ..facts }])
    };
    harness.agent.change_provider(add(8_192, false)).await.unwrap();
    harness.agent.set_model("ollama/qwen3").await.unwrap();
    harness.agent.change_provider(add(32_768, true)).await.unwrap();
    assert_eq!(harness.agent.stats().await.unwrap().context.window, Tokens(32_768));
    harness.prompt("go").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    assert!(harness.agent.stats().await.unwrap().branch.usage.cost.total > Usd(0.0));
}

#[tokio::test]
async fn small_window_of_a_local_server_is_warned_about() {
    let dir = TempDir::new().unwrap();
    let manager = manager(&dir);
    let configure = |parts: &mut SessionParts| {
        let facts = |id| catalog::assumed("llamacpp", id).with_window(Tokens(4_096));
        let provider = Arc::new(Named("llamacpp", ScriptedProvider::new(vec![])));
        parts.providers.add(provider, vec![facts("first"), facts("second")]);
        parts.first.model = parts.providers.find("llamacpp/first").unwrap().model;
    };
    let mut harness = Harness::configured(dir, (manager, None), Access::Reads, vec![], configure);
    let warning = |id| {
        format!(
            "llamacpp/{id} has a context window of only 4.1k tokens, too small for most tasks; to enlarge it: \
             llama-server -c 32768"
        )
    };
    assert_eq!(harness.agent.notices(), [warning("first")]);
    harness.agent.set_model("llamacpp/second").await.unwrap();
    let warned = |event: &EventKind| match event {
        EventKind::Warning { message, .. } => Some(message.clone()),
        _ => None,
    };
    assert_eq!(harness.wait_for_event(warned).await, warning("second"));
}

#[tokio::test]
async fn add_provider_replaces_a_model_that_has_said_nothing() {
    let mut harness = Harness::new(Access::Reads, vec![text_answer("one")]);
    let add = |name: &'static str| {
        let provider = Arc::new(Named(name, ScriptedProvider::new(vec![])));
        ProviderChange::Add(provider, vec![catalog::assumed(name, "qwen3")])
    };
    let active = async |harness: &Harness| harness.agent.state().await.unwrap().state.model.to_string();
    let scripted = active(&harness).await;
    harness.agent.add_provider(add("vllm"), "demo").await.unwrap();
    assert_eq!(active(&harness).await, scripted, "the demo isn't active");
    harness.agent.add_provider(add("ollama"), "scripted").await.unwrap();
    assert_eq!(active(&harness).await, "ollama/qwen3");
    harness.agent.set_model(scripted.clone()).await.unwrap();
    harness.prompt("go").await;
    harness.settled().await;
    harness.agent.add_provider(add("ollama"), "scripted").await.unwrap();
    assert_eq!(active(&harness).await, scripted, "it has answered");
}

#[tokio::test]
async fn set_model_unlisted_id_like_a_listed_one_is_warned_about() {
    let mut harness = Harness::new(Access::Reads, vec![]);
    let provider = Arc::new(Named("ollama", ScriptedProvider::new(vec![])));
    let change = ProviderChange::Add(provider, vec![catalog::assumed("ollama", "qwen3-coder")]);
    harness.agent.change_provider(change).await.unwrap();
    harness.agent.set_model("ollama/qwen3-codr").await.unwrap();
    let warned = |event: &EventKind| match event {
        EventKind::Warning { message, .. } => Some(message.clone()),
        _ => None,
    };
    let expected = "ollama/qwen3-codr is not a listed model; did you mean ollama/qwen3-coder?";
    assert_eq!(harness.wait_for_event(warned).await, expected);
}
