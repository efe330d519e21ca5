//! Delegation to agents: their sessions, answers, limits, requests to the user, and ends.

use std::collections::HashMap;

use super::*;
use tiller_core::delegated_task::BackgroundTask;
use tiller_core::message::Usage;
use tiller_core::unit::Usd;
use tiller_engine::agents::{
    Agent, AgentAnswer, AgentFailure, AgentFuture, AgentRegistry, AgentSpec, AgentTask, Delegation,
    DelegationLimits, Isolation, Logger, Middleware, Next, OutputGuardrail, Recovery, RunningAgent,
    SpawnOptions, Timeout, UsageLimit,
};
use tiller_engine::{ConfiguredRules, ResourcePaths, RuleSource, SessionBuilder, WatchMode};
use tiller_provider::ModelFacts;
use tiller_provider::catalog::Price;
use tiller_session::EntryBody;
use tiller_tools::policy::{ApprovalMode, AskBehavior};

/// A model for each agent: the agent's instructions start with the name of its script.
struct ScriptedModels {
    scripts: HashMap<&'static str, ScriptedProvider>,
    requests: Mutex<Vec<Request>>,
}

impl Provider for ScriptedModels {
    fn name(&self) -> &str {
        "cast"
    }

    fn api(&self) -> &'static str {
        "scripted"
    }

    fn stream(&self, request: Request) -> ProviderStream {
        self.requests.lock().unwrap().push(request.clone());
        let is_meant = |name: &str| request.system.contains(&format!("[{name}]"));
        let script = self.scripts.iter().find(|(name, _)| is_meant(name)).map(|(_, script)| script);
        script.expect("a script").stream(request)
    }
}

struct Fixture {
    agent: AgentSession,
    events: EventStream,
    models: Arc<ScriptedModels>,
    registry: AgentRegistry,
    dir: TempDir,
}

fn call(tool: &str, arguments: Value) -> ScriptedAnswer {
    serde_json::from_value(json!({ "calls": [{ "name": tool, "arguments": arguments }] })).unwrap()
}

fn failing() -> ScriptedAnswer {
    serde_json::from_value(json!({ "error": { "failure": "fatal", "message": "no such luck" } })).unwrap()
}

type Script = (&'static str, Vec<ScriptedAnswer>);

fn models(scripts: Vec<Script>) -> (Arc<ScriptedModels>, ProviderRegistry) {
    let scripts = scripts.into_iter().map(|(name, answers)| (name, ScriptedProvider::new(answers))).collect();
    let models = Arc::new(ScriptedModels { scripts, requests: Mutex::default() });
    let dollar = Usd(1.0);
    let price = Price { input: dollar, output: dollar, cache_read: dollar, cache_write: dollar };
    let facts = ModelFacts {
        provider: "cast".into(),
        id: "one".into(),
        price: Some(price),
        ..ScriptedProvider::new(Vec::new()).facts()
    };
    let mut providers = ProviderRegistry::default();
    providers.add(Arc::clone(&models) as Arc<dyn Provider>, vec![facts]);
    (models, providers)
}

/// Creates a session `[main]` with the agents `helper`, `other` and `gated`, whose only own tool needs
/// approval.
fn stage(scripts: Vec<Script>, limits: DelegationLimits) -> Fixture {
    stage_in(TempDir::new().unwrap(), scripts, limits, None)
}

fn stage_in(dir: TempDir, scripts: Vec<Script>, limits: DelegationLimits, open: Option<PathBuf>) -> Fixture {
    build(dir, scripts, limits, open, |_| ())
}

/// Creates a session with modified options.
fn configured(scripts: Vec<Script>, configure: impl FnOnce(&mut AgentOptions) + Send + 'static) -> Fixture {
    build(TempDir::new().unwrap(), scripts, DelegationLimits::default(), None, configure)
}

fn build(
    dir: TempDir,
    scripts: Vec<Script>,
    limits: DelegationLimits,
    open: Option<PathBuf>,
    configure: impl FnOnce(&mut AgentOptions) + Send + 'static,
) -> Fixture {
    let (models, providers) = models(scripts);
    let registry = AgentRegistry::default();
    for name in ["helper", "other"] {
        registry.register(name, format!("is {name}"), move || AgentSpec::new(name, "", format!("[{name}]")));
    }
    registry.register("frugal", "stops early", || {
        let limit = UsageLimit { tokens: Some(Tokens(500_000)), ..UsageLimit::default() };
        AgentSpec { limit, ..AgentSpec::new("frugal", "", "[frugal]") }
    });
    registry.register("brief", "has few turns", || AgentSpec {
        max_turns: Some(2),
        ..AgentSpec::new("brief", "", "[brief]")
    });
    registry.register("later", "isn't waited for", || AgentSpec {
        background: true,
        ..AgentSpec::new("later", "", "[later]")
    });
    registry.register("gated", "asks", || {
        let spec = ToolSpec {
            name: "danger".into(),
            description: "is dangerous".into(),
            parameters: Arc::new(json!({"type": "object"})),
            traits: ToolTraits::new(Access::Executes),
        };
        AgentSpec::new("gated", "", "[gated]").tool(Arc::new(Danger(spec)))
    });
    let delegation = Delegation::new(registry.clone(), limits);
    let prompt = SystemPrompt { replacement: Some("[main]".into()), ..SystemPrompt::default() };
    let root = dir.path().canonicalize().unwrap();
    let builder = SessionBuilder::new(providers)
        .tools(Tools::default())
        .system_prompt(prompt)
        .request_approvals()
        .log_dir(root.join("logs"));
    let builder = open.into_iter().fold(builder, SessionBuilder::resume);
    let builder = builder.configure(configure);
    let agent = delegation.equip(builder).start(&root).unwrap();
    let events = agent.subscribe();
    Fixture { agent, events, models, registry, dir }
}

struct Danger(ToolSpec);

impl Tool for Danger {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }

    fn run(&self, _: ToolInvocation) -> RunFuture<'_> {
        Box::pin(async { ToolOutput::text("done") })
    }
}

impl Fixture {
    async fn run(&mut self, text: &str) -> RunOutcome {
        self.agent.prompt(text, PromptOptions::default()).await.unwrap();
        tokio::time::timeout(TIMEOUT, self.agent.settled()).await.unwrap().unwrap().outcome
    }

    fn lines(&self) -> Vec<String> {
        message_lines(&self.agent.reader())
    }

    /// Returns the result of the session's first call, without ids and seconds.
    fn result(&self) -> String {
        let result = self.lines().into_iter().find(|line| line.starts_with("result ")).unwrap();
        let id = self.starts().first().map(|start| start["agentId"].as_str().unwrap().to_owned());
        let id = id.map(|id| id[id.len() - 6..].to_owned()).unwrap_or_default();
        result.replace(&id, "ID")
    }

    fn entries(&self, kind: &str) -> Vec<Value> {
        let reader = self.agent.reader();
        let (entries, _) = reader.branch(&reader.leaf().unwrap()).unwrap();
        let data = |body: &EntryBody| match body {
            EntryBody::Custom { custom_type, data } if custom_type == kind => data.clone(),
            _ => None,
        };
        entries.iter().filter_map(|entry| data(&entry.body)).collect()
    }

    /// Returns the notes for the model on the current branch.
    fn notes(&self) -> Vec<String> {
        let reader = self.agent.reader();
        let (entries, _) = reader.branch(&reader.leaf().unwrap()).unwrap();
        let text = |body: &EntryBody| match body {
            EntryBody::CustomMessage { custom_type, content, .. } if custom_type == "tiller.agent_note" => {
                Some(content.joined_text())
            }
            _ => None,
        };
        entries.iter().filter_map(|entry| text(&entry.body)).collect()
    }

    fn starts(&self) -> Vec<Value> {
        self.entries("tiller.agent")
    }

    async fn event<T>(&mut self, select: impl Fn(&EventKind) -> Option<T>) -> T {
        loop {
            let event =
                tokio::time::timeout(TIMEOUT, self.events.next()).await.expect("the event never came");
            if let Some(selected) = select(&event.unwrap().unwrap().kind) {
                return selected;
            }
        }
    }

    /// Waits for an event of an agent.
    async fn agent_event(&mut self, is_meant: impl Fn(&EventKind) -> bool) {
        self.event(|event| match event {
            EventKind::AgentEvent { event, .. } => is_meant(&event.kind).then_some(()),
            _ => None,
        })
        .await;
    }

    async fn agents_have_ended(&self) {
        let ended = async {
            while !self.agent.running_agents().await.unwrap().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(TIMEOUT, ended).await.expect("an agent never ended");
    }
}

fn delegate(agent: &str) -> ScriptedAnswer {
    call("delegate_to_agent", json!({ "agent": agent, "task": "Do it." }))
}

fn dear(text: &str) -> ScriptedAnswer {
    let usage = Usage { output: Tokens(1_000_000), ..Usage::default() };
    ScriptedAnswer { text: text.into(), usage, ..ScriptedAnswer::default() }
}

#[tokio::test]
async fn delegated_task_has_its_own_session_and_returns_the_answer() {
    let scripts = vec![
        ("main", vec![delegate("helper"), text_answer("thanks")]),
        ("helper", vec![dear("It is done.")]),
    ];
    let mut stage = stage(scripts, DelegationLimits::default());
    assert_eq!(stage.run("go").await, RunOutcome::Completed);
    let result = stage.result();
    assert!(
        result.starts_with("result It is done.\n\n[agent helper ID: 1 turn, 1.0M tokens, $1.00, "),
        "{result}"
    );

    let starts = stage.starts();
    let path = PathBuf::from(starts[0]["path"].as_str().unwrap());
    let parent = stage.agent.reader().path().unwrap().to_owned();
    assert_eq!(path.parent().unwrap(), parent.with_extension("agents"));
    assert_eq!(starts[0]["task"], "Do it.");
    assert!(starts[0]["toolCallId"].is_string(), "{starts:?}");
    let child = Reader::open(&path).unwrap();
    assert_eq!(message_lines(&child), ["user Do it.", "answer It is done. Stop"]);
    assert_eq!(child.header().parent_session.as_deref(), parent.to_str());
    assert_eq!(stage.entries("tiller.agent_end").len(), 1);
    let totals = stage.agent.stats().await.unwrap().session;
    assert_eq!(totals.usage.cost.total, Usd(1.0), "the agent's cost is the session's");
    assert!(stage.agent.running_agents().await.unwrap().is_empty());
}

#[tokio::test]
async fn delegation_is_refused_with_a_reason() {
    let blank = call("delegate_to_agent", json!({ "agent": "helper", "task": " " }));
    let scripts = vec![
        ("main", vec![delegate("nobody"), blank, delegate("helper"), text_answer("ok")]),
        ("helper", vec![delegate("helper"), text_answer("done")]),
    ];
    let mut stage = stage(scripts, DelegationLimits::default());
    stage.run("go").await;
    let lines = stage.lines();
    let unknown = "result agent nobody returned no answer: no agent named nobody; available: brief, frugal, gated, helper, later, other";
    assert!(lines.contains(&unknown.to_owned()), "{lines:?}");
    assert!(lines.iter().any(|line| line.ends_with("`task` is empty")), "{lines:?}");
    let path = PathBuf::from(stage.starts()[0]["path"].as_str().unwrap());
    let child = message_lines(&Reader::open(&path).unwrap());
    let own = "result agent helper returned no answer: helper can't delegate to itself; do the task, or choose another agent";
    assert!(child.contains(&own.to_owned()), "{child:?}");
}

#[tokio::test]
async fn delegation_reports_unknown_tools_and_skills() {
    let scripts =
        vec![("main", vec![delegate("picky"), text_answer("ok")]), ("picky", vec![text_answer("done")])];
    let mut stage = stage(scripts, DelegationLimits::default());
    stage.registry.register("picky", "is picky", || AgentSpec {
        inherited_tools: Some(vec!["raed_file".into()]),
        excluded_tools: vec!["bsh".into()],
        skills: Some(vec!["nowhere".into()]),
        ..AgentSpec::new("picky", "", "[picky]")
    });
    stage.run("go").await;
    let result = stage.result();
    assert!(result.contains("unavailable tools: raed_file, bsh"), "{result}");
    assert!(result.contains("none of its tools is available, so it has none"), "{result}");
    assert!(result.contains("unknown skills: nowhere"), "{result}");
}

#[tokio::test]
async fn delegation_ends_at_the_greatest_depth() {
    let scripts = vec![
        ("main", vec![delegate("helper"), text_answer("ok")]),
        ("helper", vec![delegate("other"), text_answer("helped")]),
        ("other", vec![text_answer("deep")]),
    ];
    let mut stage = stage(scripts, DelegationLimits { depth: 1, ..DelegationLimits::default() });
    stage.run("go").await;
    let child = PathBuf::from(stage.starts()[0]["path"].as_str().unwrap());
    let lines = message_lines(&Reader::open(&child).unwrap());
    let reason = "maximum delegation depth (1) reached; do the task yourself";
    assert!(lines.iter().any(|line| line.ends_with(reason)), "{lines:?}");
}

#[tokio::test]
async fn agents_side_by_side_are_collected_in_order() {
    let tasks = json!([{"agent": "helper", "task": "a"}, {"agent": "other", "task": "b"}]);
    let spawn = call("spawn_agents", json!({ "tasks": tasks, "on_error": "collect" }));
    let scripts = vec![
        ("main", vec![spawn, text_answer("ok")]),
        ("helper", vec![failing()]),
        ("other", vec![text_answer("fine")]),
    ];
    let mut stage = stage(scripts, DelegationLimits::default());
    stage.run("go").await;
    let result = stage.result();
    let (first, second) = result.split_once("## 2. other").unwrap();
    assert!(
        first.starts_with("result ## 1. helper\n\nagent helper ") && first.contains("no such luck"),
        "{result}"
    );
    assert!(second.starts_with("\n\nfine\n\n[agent other "), "{result}");
}

#[tokio::test]
async fn agents_side_by_side_are_cancelled_by_the_first_error() {
    let tasks = json!([{"agent": "helper", "task": "a"}, {"agent": "other", "task": "b"}]);
    let spawn = call("spawn_agents", json!({ "tasks": tasks }));
    let hanging = ScriptedAnswer { hang: true, ..text_answer("slow") };
    let scripts =
        vec![("main", vec![spawn, text_answer("ok")]), ("helper", vec![failing()]), ("other", vec![hanging])];
    let mut stage = stage(scripts, DelegationLimits::default());
    assert_eq!(stage.run("go").await, RunOutcome::Completed);
    let result = stage.result();
    let (_, other) = result.split_once("## 2. other\n\nagent other ").unwrap();
    let ends = [
        "returned no answer: not started, because another task failed\n",
        "stopped because another task failed\n",
    ];
    assert!(ends.iter().any(|end| other.contains(end)), "{result}");
}

#[tokio::test]
async fn agent_that_the_user_stops_cancels_no_others() {
    let tasks = json!([{"agent": "helper", "task": "a"}, {"agent": "gated", "task": "b"}]);
    let spawn = call("spawn_agents", json!({ "tasks": tasks }));
    let hanging = ScriptedAnswer { hang: true, ..text_answer("slow") };
    let scripts = vec![
        ("main", vec![spawn, text_answer("ok")]),
        ("helper", vec![dear_call(call("list_agents", json!({}))), hanging]),
        ("gated", vec![call("danger", json!({})), text_answer("did it")]),
    ];
    let mut stage = stage(scripts, DelegationLimits::default());
    stage.agent.prompt("go", PromptOptions::default()).await.unwrap();
    let call = stage
        .event(|event| match event {
            EventKind::ApprovalRequested(request) => Some(request.tool_call_id.clone()),
            _ => None,
        })
        .await;
    let helper = loop {
        let running = stage.agent.running_agents().await.unwrap();
        let is_meant = |agent: &&RunningAgent| agent.start.name == "helper" && agent.activity.turns == 1;
        if let Some(agent) = running.iter().find(is_meant) {
            break agent.start.agent_id.clone();
        }
        tokio::task::yield_now().await;
    };
    stage.agent.running_agent(helper).await.unwrap().abort().await.unwrap();
    stage.event(|event| matches!(event, EventKind::AgentTaskEnd(_)).then_some(())).await;
    stage.agent.decide(call, Decision::Once).await.unwrap();
    stage.agent.settled().await.unwrap();
    let result = stage.result();
    let (first, second) = result.split_once("## 2. gated\n\n").unwrap();
    assert!(first.contains("returned no answer: stopped\n\n[agent helper "), "{result}");
    assert!(first.contains(", 1.0M tokens, $1.00, "), "{result}");
    assert!(second.starts_with("did it"), "{result}");
}

#[tokio::test]
async fn agents_side_by_side_are_all_known_or_none_starts() {
    let names = ["helper", "nobody", "other", "nothing"];
    let tasks = names.map(|agent| json!({ "agent": agent, "task": "a" }));
    let spawn = |background: bool| call("spawn_agents", json!({ "tasks": tasks, "background": background }));
    let scripts = vec![("main", vec![spawn(false), spawn(true), text_answer("ok")])];
    let mut stage = stage(scripts, DelegationLimits::default());
    stage.run("go").await;
    let result = "result no task was started\ntask 2: no agent named nobody\ntask 4: no agent named nothing\n\
                  available: brief, frugal, gated, helper, later, other";
    let lines = stage.lines();
    assert_eq!(lines.iter().filter(|line| *line == result).count(), 2, "{lines:?}");
    assert_eq!(stage.starts(), Vec::<Value>::new());
}

#[tokio::test]
async fn agents_side_by_side_wait_for_no_background_agent() {
    let tasks = json!([{"agent": "later", "task": "a"}, {"agent": "helper", "task": "b"}]);
    let scripts = vec![
        (
            "main",
            vec![call("spawn_agents", json!({ "tasks": tasks })), text_answer("so far"), text_answer("ok")],
        ),
        ("helper", vec![text_answer("fine")]),
        ("later", vec![listing(), text_answer("found it")]),
    ];
    let mut stage = configured(scripts, |options| options.background_tasks = BackgroundTasks::Await);
    assert_eq!(stage.run("go").await, RunOutcome::Completed);
    let result = stage.result();
    let expected = "result ## 1. later\n\nlater runs in the background, at most 4 agents at a time; you are notified when it finishes.\n\n\
                    ## 2. helper\n\nfine\n\n[agent helper ";
    assert!(result.starts_with(expected), "{result}");
    let notes = stage.notes();
    assert!(notes.len() == 1 && notes[0].contains("found it"), "{notes:?}");
    let later = stage.starts().into_iter().find(|start| start["name"] == "later").unwrap();
    assert_eq!((&later["background"], &later["number"]), (&json!(true), &json!(1)));
}

#[tokio::test]
async fn agents_at_work_are_named_if_the_run_is_stopped() {
    let hanging = ScriptedAnswer { hang: true, ..text_answer("half") };
    let tasks = ["helper", "other", "brief"].map(|agent| json!({ "agent": agent, "task": "a" }));
    let scripts = vec![
        ("main", vec![call("spawn_agents", json!({ "tasks": tasks }))]),
        ("helper", vec![text_answer("fine")]),
        ("other", vec![hanging]),
    ];
    let mut stage = stage(scripts, DelegationLimits { parallel: 1, ..DelegationLimits::default() });
    stage.agent.prompt("go", PromptOptions::default()).await.unwrap();
    stage
        .event(|event| match event {
            EventKind::AgentEvent { name, event, .. } if name == "other" => {
                matches!(event.kind, EventKind::TurnStart).then_some(())
            }
            _ => None,
        })
        .await;
    stage.agent.abort().await.unwrap();
    let lines = stage.lines();
    let result = lines.iter().find(|line| line.starts_with("result ")).unwrap();
    let id = stage.starts()[1]["agentId"].as_str().unwrap().to_owned();
    let stopped = format!(
        "## 2. other\n\nagent other {} was stopped after 0 turns, 0 tokens, $0.00\n",
        &id[id.len() - 6..]
    );
    assert!(
        result.contains("## 1. helper\n\nfine\n\n[agent helper ") && result.contains(&stopped),
        "{result}"
    );
    assert!(result.contains("## 3. brief\n\nthe task for brief was not started\n\n[to continue"), "{result}");
}

#[tokio::test]
async fn interrupted_call_names_its_agents_and_their_answers() {
    let hanging = ScriptedAnswer { hang: true, ..text_answer("half") };
    let tasks = ["helper", "other", "brief"].map(|agent| json!({ "agent": agent, "task": "a" }));
    let scripts = vec![
        ("main", vec![call("spawn_agents", json!({ "tasks": tasks }))]),
        ("helper", vec![text_answer("It is in lib.rs.")]),
        ("other", vec![call("list_agents", json!({})), hanging]),
    ];
    let mut stage = stage(scripts, DelegationLimits { parallel: 1, ..DelegationLimits::default() });
    stage.agent.prompt("go", PromptOptions::default()).await.unwrap();
    stage
        .event(|event| match event {
            EventKind::AgentEvent { name, event, .. } if name == "other" => {
                matches!(event.kind, EventKind::ToolExecutionEnd { .. }).then_some(())
            }
            _ => None,
        })
        .await;
    let ids: Vec<String> =
        stage.starts().iter().map(|it| it["agentId"].as_str().unwrap().to_owned()).collect();
    let short = |at: usize| &ids[at][ids[at].len() - 6..];
    let (dir, log) = crashed(&stage);
    let scripts = vec![("main", vec![text_answer("unused"), text_answer("ok")])];
    let mut again = stage_in(dir, scripts, DelegationLimits::default(), Some(log));
    assert_eq!(again.run("what about them?").await, RunOutcome::Completed);
    let lines = again.lines();
    let result = lines.iter().find(|line| line.starts_with("result ")).unwrap();
    let (_, tasks) = result.split_once("## 1. ").unwrap();
    let expected = format!(
        "helper\n\nIt is in lib.rs.\n\n[agent helper {} finished]\n\n## 2. other\n\n\
         agent other {} was interrupted\n\n## 3. brief\n\nthe task for brief was not started\n\n\
         [to continue an agent that was stopped or interrupted, call delegate_to_agent with its name as `agent` and \
         its id as `resume`: it keeps its conversation and its worktree; delegate tasks that were not started again]",
        short(0),
        short(1)
    );
    assert_eq!(tasks, expected);
}

#[tokio::test]
async fn agents_approval_is_asked_in_the_delegating_session() {
    let scripts = vec![
        ("main", vec![delegate("gated"), text_answer("ok")]),
        ("gated", vec![call("danger", json!({})), text_answer("did it")]),
    ];
    let mut stage = stage(scripts, DelegationLimits::default());
    stage.agent.prompt("go", PromptOptions::default()).await.unwrap();
    let request = stage
        .event(|event| match event {
            EventKind::ApprovalRequested(request) => Some(request.clone()),
            _ => None,
        })
        .await;
    let reason = &request.reason;
    assert!(reason.starts_with("agent gated: ") && reason.ends_with(" (task: Do it.)"), "{reason}");
    let ids = request.agent.clone().map(|agent| (agent.agent_id, agent.parent_id)).unwrap();
    let agent_id = stage.starts()[0]["agentId"].as_str().unwrap().into();
    assert_eq!(ids, (agent_id, stage.agent.reader().id().clone()));
    let snapshot = stage.agent.snapshot().await.unwrap().in_progress;
    assert_eq!(snapshot.approvals, *std::slice::from_ref(&request));
    let running = stage.agent.running_agents().await.unwrap();
    assert_eq!((running[0].start.name.as_str(), running[0].activity.approvals), ("gated", 1));
    stage.agent.decide(request.tool_call_id, Decision::Once).await.unwrap();
    stage.agent.settled().await.unwrap();
    assert!(stage.result().starts_with("result did it"), "{}", stage.result());
}

#[tokio::test]
async fn agents_call_is_approved_by_yes_of_the_session() {
    let scripts = vec![
        ("main", vec![delegate("gated"), text_answer("ok")]),
        ("gated", vec![call("danger", json!({})), text_answer("did it")]),
    ];
    let mut stage = configured(scripts, |options| {
        options.policy.ask_behavior = AskBehavior::Yes;
    });
    // A request for approval would wait for ever.
    stage.run("go").await;
    assert!(stage.result().starts_with("result did it"), "{}", stage.result());
}

#[tokio::test]
async fn agents_call_is_decided_by_a_rule_that_is_saved_above() {
    let scripts = vec![
        ("main", vec![delegate("helper"), text_answer("ok")]),
        ("helper", vec![delegate("gated"), text_answer("helped")]),
        ("gated", vec![call("danger", json!({})), text_answer("did it")]),
    ];
    let mut stage = stage(scripts, DelegationLimits::default());
    stage.agent.prompt("go", PromptOptions::default()).await.unwrap();
    let request = stage
        .event(|event| match event {
            EventKind::ApprovalRequested(request) => Some(request.clone()),
            _ => None,
        })
        .await;
    let waiting = stage.agent.configure_rules(ConfiguredRules::default()).await.unwrap();
    assert_eq!(waiting, [request.tool_call_id]);
    let mut rules = ConfiguredRules::default();
    let proposed = request.proposed.expect("the answers are those of the agent's own session");
    rules.add_proposed(&proposed, &RuleSource::Program("test".to_owned())).unwrap();
    assert_eq!(stage.agent.configure_rules(rules).await.unwrap(), []);
    assert_eq!(stage.agent.settled().await.unwrap().outcome, RunOutcome::Completed);
    assert!(stage.result().starts_with("result helped"), "{}", stage.result());
}

#[tokio::test]
async fn agents_deltas_are_turned_on_while_they_work() {
    let (mut stage, other) = nested().await;
    stage.agent.set_agent_deltas(Switch::On).await.unwrap();
    while stage.events.try_next().is_some() {}
    other.steer_now("Hurry.", PromptOptions::default()).await.unwrap();
    let delta = |event: &EventKind| match event {
        EventKind::AgentEvent { name, event, .. } => {
            matches!(event.kind, EventKind::MessageUpdate { .. }).then(|| name.clone())
        }
        _ => None,
    };
    assert_eq!(stage.event(delta).await, "other");
}

#[tokio::test]
async fn agents_events_are_passed_on_without_pieces() {
    let scripts =
        vec![("main", vec![delegate("helper"), text_answer("ok")]), ("helper", vec![text_answer("yes")])];
    let mut stage = stage(scripts, DelegationLimits::default());
    stage.run("go").await;
    let mut kinds = Vec::new();
    while let Some(Ok(event)) = stage.events.try_next() {
        if let EventKind::AgentEvent { name, event, parent_id, .. } = &event.kind {
            assert_eq!((name.as_str(), parent_id), ("helper", stage.agent.reader().id()));
            kinds.push(serde_json::to_value(&**event).unwrap()["type"].as_str().unwrap().to_owned());
        }
    }
    assert!(kinds.contains(&"turn_start".to_owned()) && kinds.contains(&"agent_end".to_owned()), "{kinds:?}");
    assert!(!kinds.contains(&"message_update".to_owned()), "{kinds:?}");
}

#[tokio::test]
async fn agents_deltas_are_passed_on_from_every_depth_on_demand() {
    let scripts = vec![
        ("main", vec![delegate("helper"), text_answer("ok")]),
        ("helper", vec![delegate("other"), text_answer("yes")]),
        ("other", vec![text_answer("deep")]),
    ];
    let mut stage = configured(scripts, |options| options.agent_deltas = Switch::On);
    stage.run("go").await;
    let main = stage.agent.reader().id().clone();
    let helper = tiller_core::id::SessionId::new(stage.starts()[0]["agentId"].as_str().unwrap());
    let mut senders = Vec::new();
    while let Some(Ok(event)) = stage.events.try_next() {
        if let EventKind::AgentEvent { name, event, parent_id, .. } = &event.kind
            && matches!(event.kind, EventKind::MessageUpdate { .. })
        {
            senders.push((name.clone(), parent_id.clone()));
        }
    }
    for sender in [("helper".to_owned(), main), ("other".to_owned(), helper)] {
        assert!(senders.contains(&sender), "{sender:?} {senders:?}");
    }
}

#[tokio::test]
async fn agents_stop_with_the_run_and_can_be_resumed() {
    let hanging = ScriptedAnswer { hang: true, ..text_answer("half") };
    let scripts = vec![("main", vec![delegate("helper"), text_answer("ok")]), ("helper", vec![hanging])];
    let mut stage = stage(scripts, DelegationLimits::default());
    stage.agent.prompt("go", PromptOptions::default()).await.unwrap();
    stage.agent_event(|event| matches!(event, EventKind::TurnStart)).await;
    stage.agent.abort().await.unwrap();
    stage.agents_have_ended().await;
    assert_eq!(stage.entries("tiller.agent_end")[0]["error"], "stopped");
    let id = stage.starts()[0]["agentId"].as_str().unwrap().to_owned();
    let path = stage.agent.reader().path().unwrap().to_owned();
    stage.agent.close().await.unwrap();

    let resume = |background: bool| {
        let arguments =
            json!({ "agent": "helper", "task": "Go on.", "resume": id, "background": background });
        call("delegate_to_agent", arguments)
    };
    let (whole, ok) = (|| text_answer("whole"), || text_answer("ok"));
    let hanging = ScriptedAnswer { hang: true, ..text_answer("half") };
    let scripts = vec![
        ("main", vec![text_answer("unused"), resume(false), ok(), resume(true), ok(), resume(false), ok()]),
        ("helper", vec![whole(), whole(), hanging]),
    ];
    let mut again = stage_in(stage.dir, scripts, DelegationLimits::default(), Some(path));
    assert_eq!(again.run("once more").await, RunOutcome::Completed);
    let child = PathBuf::from(again.starts()[0]["path"].as_str().unwrap());
    let lines = message_lines(&Reader::open(&child).unwrap());
    assert_eq!((lines[0].as_str(), lines.last().unwrap().as_str()), ("user Do it.", "answer whole Stop"));
    again.run("in the background").await;
    while again.agent.running_agents().await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    again.run("twice").await;
    let refusal = "helper is still working on its task; wait for its answer";
    assert!(again.lines().iter().any(|line| line.contains(refusal)), "{:?}", again.lines());
}

/// The end of one agent is in progress when another one fails; its progress differs from round to round.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_end_is_recorded_if_another_one_fails_meanwhile() {
    for _ in 0..20 {
        let tasks = ["other", "other", "helper", "other"].map(|agent| json!({"agent": agent, "task": "a"}));
        let fine = || text_answer("fine");
        let scripts = vec![
            ("main", vec![call("spawn_agents", json!({ "tasks": tasks })), text_answer("ok")]),
            ("helper", vec![failing()]),
            ("other", vec![fine(), fine(), fine()]),
        ];
        let mut stage = stage(scripts, DelegationLimits::default());
        stage.run("go").await;
        stage.agents_have_ended().await;
        assert_eq!(stage.entries("tiller.agent_end").len(), stage.starts().len());
    }
}

#[tokio::test]
async fn agents_in_the_background_are_awaited_on_demand() {
    let background = json!({ "agent": "helper", "task": "Do it.", "background": true });
    let nested = json!({ "agent": "other", "task": "Look.", "background": true });
    let scripts = vec![
        ("main", vec![call("delegate_to_agent", background), text_answer("waiting"), text_answer("I see")]),
        ("helper", vec![call("delegate_to_agent", nested), text_answer("not yet"), text_answer("found it")]),
        ("other", vec![call("list_agents", json!({})), text_answer("seen")]),
    ];
    let mut stage = configured(scripts, |options| options.background_tasks = BackgroundTasks::Await);
    assert_eq!(stage.run("go").await, RunOutcome::Completed);
    let lines = stage.lines();
    assert_eq!(lines[lines.len() - 2..], ["answer waiting Stop", "answer I see Stop"]);
    let notes = stage.notes();
    assert!(notes.len() == 1 && notes[0].contains("found it"), "{notes:?}");
    let child = PathBuf::from(stage.starts()[0]["path"].as_str().unwrap());
    let child = message_lines(&Reader::open(&child).unwrap());
    assert_eq!(child.last().unwrap(), "answer found it Stop", "an agent waits for its own");
}

#[tokio::test]
async fn tasks_in_the_background_are_reported_after_a_crash() {
    let hanging = ScriptedAnswer { hang: true, ..text_answer("half") };
    let tasks = ["helper", "other", "brief"].map(|agent| json!({ "agent": agent, "task": "a" }));
    let background = json!({ "tasks": tasks, "background": true });
    let scripts = vec![
        ("main", vec![call("spawn_agents", background), text_answer("waiting")]),
        ("helper", vec![text_answer("It is in lib.rs.")]),
        ("other", vec![hanging]),
    ];
    let limits = DelegationLimits { parallel: 1, ..DelegationLimits::default() };
    let mut stage = stage(scripts, limits);
    stage.run("go").await;
    while stage.starts().len() < 2 {
        tokio::task::yield_now().await;
    }
    let ids: Vec<String> =
        stage.starts().iter().map(|it| it["agentId"].as_str().unwrap().to_owned()).collect();
    let short = |at: usize| &ids[at][ids[at].len() - 6..];
    let waiting = BackgroundTask { number: 3, name: "brief".to_owned(), task: "a".to_owned() };
    assert_eq!(stage.agent.waiting_tasks().await.unwrap(), [waiting]);
    let (dir, log) = crashed(&stage);
    let unused = || text_answer("unused");
    let scripts = vec![("main", vec![unused(), unused(), text_answer("ok"), text_answer("ok")])];
    let mut again = stage_in(dir, scripts, limits, Some(log));
    assert_eq!(again.agent.waiting_tasks().await.unwrap(), []);
    again.run("and?").await;
    again.run("and now?").await;
    let expected = format!(
        "tiller exited before its background tasks had finished: 1. a; 2. a; 3. a\n\n\
         ## 1. helper\n\nIt is in lib.rs.\n\n[agent helper {} finished]\n\n\
         ## 2. other\n\nagent other {} was interrupted\n\n\
         ## 3. brief\n\nthe task for brief was not started\n\n[to continue an agent",
        short(0),
        short(1)
    );
    let notes = again.notes();
    assert!(notes.len() == 1 && notes[0].starts_with(&expected), "{notes:?}");
}

#[tokio::test]
async fn task_that_cannot_start_is_not_waiting() {
    let hanging = ScriptedAnswer { hang: true, ..text_answer("half") };
    let tasks = ["stray", "other"].map(|agent| json!({ "agent": agent, "task": "a" }));
    let background = json!({ "tasks": tasks, "background": true, "on_error": "collect" });
    let scripts = vec![
        ("main", vec![call("spawn_agents", background), text_answer("waiting")]),
        ("other", vec![hanging]),
    ];
    let limits = DelegationLimits { parallel: 1, ..DelegationLimits::default() };
    let mut stage = stage(scripts, limits);
    // The directory is no repository.
    stage.registry.register("stray", "needs a worktree", || AgentSpec {
        isolation: Isolation::Worktree,
        ..AgentSpec::new("stray", "", "")
    });
    stage.run("go").await;
    while stage.starts().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(stage.agent.waiting_tasks().await.unwrap(), []);
}

#[tokio::test]
async fn agents_in_the_background_are_told_with_the_next_request() {
    let background = json!({ "agent": "helper", "task": "Do it.", "background": true });
    let scripts = vec![
        ("main", vec![call("delegate_to_agent", background), text_answer("waiting"), text_answer("I see")]),
        ("helper", vec![text_answer("found it")]),
    ];
    let mut stage = stage(scripts, DelegationLimits::default());
    stage.run("go").await;
    let noted = async {
        while !stage.notes().iter().any(|note| note.contains("found it")) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TIMEOUT, noted).await.expect("the end isn't in the log of the idle session");
    stage.run("and?").await;
    let requests = stage.models.requests.lock().unwrap();
    let last = format!("{:?}", requests.last().unwrap().messages);
    assert!(last.contains("A background task has ended: Do it.") && last.contains("found it"), "{last}");
}

/// Records its start and end.
struct Note(&'static str, Arc<Mutex<Vec<String>>>);

impl Middleware for Note {
    fn handle<'a>(&'a self, task: AgentTask<'a>, next: Next<'a>) -> AgentFuture<'a> {
        Box::pin(async move {
            self.1.lock().unwrap().push(format!("{} begins", self.0));
            let outcome = next.run(task).await;
            self.1.lock().unwrap().push(format!("{} ends", self.0));
            outcome
        })
    }
}

pub(super) fn start(spec: AgentSpec, answers: Vec<ScriptedAnswer>) -> (Agent, TempDir) {
    let dir = TempDir::new().unwrap();
    let (_, providers) = models(vec![("solo", answers)]);
    let spec = AgentSpec { instructions: "[solo]".into(), ..spec };
    let agent = Agent::start(spec, SessionBuilder::new(providers), dir.path()).unwrap();
    (agent, dir)
}

pub(super) fn solo() -> AgentSpec {
    AgentSpec::new("solo", "", "")
}

#[tokio::test]
async fn agent_alone_has_the_tools_and_skills_of_its_definition() {
    let dir = TempDir::new().unwrap();
    let root = dir.path().canonicalize().unwrap();
    for name in ["tidy", "other"] {
        let skills = root.join(".tiller/skills");
        std::fs::create_dir_all(&skills).unwrap();
        let text = format!("---\nname: {name}\ndescription: Is {name}.\n---\nWork.\n");
        std::fs::write(skills.join(format!("{name}.md")), text).unwrap();
    }
    let paths = ResourcePaths::usual(&root, &root.join("config"), None);
    let resources = Resources::load(ResourcePaths { watch: WatchMode::Off, ..paths });
    let (models, providers) = models(vec![("solo", vec![text_answer("ok")])]);
    let spec = AgentSpec {
        instructions: "[solo]".into(),
        inherited_tools: Some(vec!["files".into()]),
        excluded_tools: vec!["write_file".into(), "edit_file".into()],
        skills: Some(vec!["tidy".into()]),
        ..solo()
    };
    let own = |name: &str| {
        Arc::new(Danger(ToolSpec {
            name: name.into(),
            description: "is the agent's".into(),
            parameters: Arc::new(json!({"type": "object"})),
            traits: ToolTraits::new(Access::Executes),
        }))
    };
    let spec = spec.tool(own("danger")).tool(own("grep"));
    let agent = Agent::start(spec, SessionBuilder::new(providers).resources(resources), &root).unwrap();
    agent.chat("go").await.unwrap();
    let requests = models.requests.lock().unwrap();
    let mut tools: Vec<&str> = requests[0].tools.iter().map(|tool| tool.name.as_str()).collect();
    tools.sort_unstable();
    assert_eq!(tools, ["danger", "find_files", "grep", "list_files", "read_file"]);
    let own = requests[0].tools.iter().filter(|tool| tool.description == "is the agent's");
    assert_eq!(own.map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["grep", "danger"]);
    assert!(requests[0].system.contains("Is tidy.") && !requests[0].system.contains("Is other."));
}

#[tokio::test]
async fn middleware_runs_in_order_and_the_conversation_continues() {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let spec =
        solo().with(Logger).with(Note("outer", Arc::clone(&notes))).with(Note("inner", Arc::clone(&notes)));
    let (agent, _dir) = start(spec, vec![text_answer("one"), text_answer("two")]);
    let answer = agent.chat("a").await.unwrap();
    assert_eq!((answer.text.as_str(), answer.turns), ("one", 1));
    assert_eq!(agent.chat("b").await.unwrap().text, "two");
    let order = ["outer begins", "inner begins", "inner ends", "outer ends"];
    assert_eq!(*notes.lock().unwrap(), [order, order].concat());
}

/// Panics at the first task.
struct Panicking;

impl Middleware for Panicking {
    fn handle<'a>(&'a self, _task: AgentTask<'a>, _next: Next<'a>) -> AgentFuture<'a> {
        panic!("out of order")
    }
}

#[tokio::test]
async fn middleware_recovery_turns_a_panic_into_a_failure() {
    let (agent, _dir) = start(solo().with(Recovery).with(Panicking), vec![]);
    let failure = agent.chat("a").await.unwrap_err();
    assert!(matches!(&failure, AgentFailure::Panicked(text) if text == "out of order"), "{failure}");
}

#[tokio::test]
async fn middleware_timeout_stops_the_run() {
    let hanging = ScriptedAnswer { hang: true, ..text_answer("half") };
    let (agent, _dir) = start(solo().with(Timeout(Duration::from_millis(50))), vec![hanging]);
    let failure = agent.chat("a").await.unwrap_err();
    assert!(matches!(failure, AgentFailure::TimedOut(_)), "{failure}");
    assert_eq!(agent.session().settled().await.unwrap().outcome, RunOutcome::Aborted);
}

#[tokio::test]
async fn middleware_guardrail_asks_for_another_answer() {
    let check = |text: &str| if text.contains("please") { Ok(()) } else { Err("it is rude".to_owned()) };
    let answers = || vec![text_answer("no"), text_answer("no, please")];
    let (agent, _dir) = start(solo().with(OutputGuardrail::new(2, check)), answers());
    let AgentAnswer { text, turns, .. } = agent.chat("a").await.unwrap();
    assert_eq!((text.as_str(), turns), ("no, please", 2));
    let (agent, _dir) = start(solo().with(OutputGuardrail::new(1, check)), answers());
    let failure = agent.chat("a").await.unwrap_err();
    assert!(matches!(&failure, AgentFailure::Rejected(reason) if reason == "it is rude"), "{failure}");
}

#[tokio::test]
async fn agents_side_by_side_are_limited() {
    let tasks = json!([{"agent": "helper", "task": "a"}, {"agent": "other", "task": "b"}, {"agent": "helper", "task": "c"}]);
    let hanging = || ScriptedAnswer { hang: true, ..text_answer("slow") };
    let scripts = vec![
        ("main", vec![call("spawn_agents", json!({ "tasks": tasks })), text_answer("ok")]),
        ("helper", vec![hanging(), hanging()]),
        ("other", vec![hanging()]),
    ];
    let mut stage = stage(scripts, DelegationLimits { parallel: 2, ..DelegationLimits::default() });
    stage.agent.prompt("go", PromptOptions::default()).await.unwrap();
    let is_start = |event: &EventKind| match event {
        EventKind::AgentEvent { event, .. } => matches!(event.kind, EventKind::TurnStart).then_some(()),
        _ => None,
    };
    stage.event(is_start).await;
    stage.event(is_start).await;
    assert_eq!(stage.agent.running_agents().await.unwrap().len(), 2);
    stage.agent.abort().await.unwrap();
}

#[tokio::test]
async fn agents_stop_at_their_limits_of_usage() {
    let listing = || ScriptedAnswer {
        usage: Usage { output: Tokens(1_000_000), ..Usage::default() },
        ..call("list_agents", json!({}))
    };
    let scripts = || {
        vec![
            ("main", vec![delegate("frugal"), text_answer("ok")]),
            ("frugal", vec![listing(), text_answer("unreachable")]),
        ]
    };
    let mut stage = stage(scripts(), DelegationLimits::default());
    stage.run("go").await;
    let reason = "agent frugal ID returned no answer: cast: not sent: this task has used 1.0M tokens; the limit is 500k";
    assert!(
        stage.result().starts_with(&format!("result {reason}\n\n[agent frugal ID: ")),
        "{}",
        stage.result()
    );
    assert!(stage.result().contains(", 1.0M tokens, $1.00, "), "{}", stage.result());
    let limit = UsageLimit { cost: Some(Usd(0.25)), ..UsageLimit::default() };
    let mut stage = configured(scripts(), move |options| options.agent_limit = limit);
    stage.run("go").await;
    let reason = "cast: not sent: this session and its agents have cost $1.00; the limit is $0.25";
    assert!(stage.result().contains(reason), "{}", stage.result());
}

#[tokio::test]
async fn agents_in_the_background_end_with_their_session() {
    let hanging = ScriptedAnswer { hang: true, ..text_answer("half") };
    let background =
        call("delegate_to_agent", json!({ "agent": "helper", "task": "Do it.", "background": true }));
    let scripts = vec![("main", vec![background, text_answer("ok")]), ("helper", vec![hanging])];
    let mut stage = stage(scripts, DelegationLimits::default());
    stage.run("go").await;
    let agents = stage.agent.running_agents().await.unwrap();
    let child = stage.agent.running_agent(agents[0].start.agent_id.clone()).await.unwrap();
    let error = stage.agent.new_session().await.unwrap_err();
    assert!(matches!(error, AgentError::AgentsAtWork), "{error}");
    stage.agent.close().await.unwrap();
    assert!(matches!(child.snapshot().await, Err(AgentError::Closed)));
    let ends = Reader::open(stage.agent.reader().path().unwrap()).unwrap();
    let text = std::fs::read_to_string(ends.path().unwrap()).unwrap();
    assert!(text.contains("tiller.agent_end"), "the end is recorded: {text}");
}

#[tokio::test]
async fn agents_share_what_is_left_of_the_budget() {
    let tasks = json!([{ "agent": "helper", "task": "A" }, { "agent": "helper", "task": "B" }]);
    let spawn = call("spawn_agents", json!({ "tasks": tasks, "on_error": "collect" }));
    let listing = || ScriptedAnswer {
        usage: Usage { output: Tokens(1_000_000), ..Usage::default() },
        ..call("list_agents", json!({}))
    };
    let scripts =
        vec![("main", vec![spawn, text_answer("ok")]), ("helper", vec![listing(), listing(), listing()])];
    let mut stage = configured(scripts, |options| options.budget.session = Some(Usd(3.0)));
    stage.agent.prompt("go", PromptOptions::default()).await.unwrap();
    stage.event(|event| matches!(event, EventKind::ToolExecutionEnd { .. }).then_some(())).await;
    // The session's own next request needs the user's consent.
    stage.event(|event| matches!(event, EventKind::ElicitationRequested(_)).then_some(())).await;
    let cost = stage.agent.stats().await.unwrap().session.usage.cost.total;
    // Each agent may have one more request in progress when the limit is reached.
    assert!(cost.0 >= 3.0 && cost.0 <= 4.0, "{cost}");
    assert!(
        stage.result().contains("the agents that share the rest of the budget have cost"),
        "{}",
        stage.result()
    );
}

#[tokio::test]
async fn agents_of_agents_are_found_by_their_id() {
    let hanging = ScriptedAnswer { hang: true, ..text_answer("half") };
    let scripts = vec![
        ("main", vec![delegate("helper"), text_answer("ok")]),
        ("helper", vec![delegate("other")]),
        ("other", vec![hanging]),
    ];
    let mut stage = stage(scripts, DelegationLimits::default());
    stage.agent.prompt("go", PromptOptions::default()).await.unwrap();
    let nested = stage
        .event(|event| match event {
            EventKind::AgentEvent { event, .. } => match &event.kind {
                EventKind::AgentTaskStart(start) => Some(start.agent_id.clone()),
                _ => None,
            },
            _ => None,
        })
        .await;
    let found = stage.agent.running_agent(nested.clone()).await.unwrap();
    assert_eq!(found.reader().id(), &nested);
    assert!(matches!(stage.agent.running_agent("none".into()).await, Err(AgentError::NotFound(_))));
    stage.agent.abort().await.unwrap();
}

#[tokio::test]
async fn approval_mode_that_gets_stricter_reaches_agents_at_work() {
    let hanging = ScriptedAnswer { hang: true, ..text_answer("half") };
    let scripts = vec![("main", vec![delegate("helper"), text_answer("ok")]), ("helper", vec![hanging])];
    let mut stage = stage(scripts, DelegationLimits::default());
    stage.agent.prompt("go", PromptOptions::default()).await.unwrap();
    stage.agent_event(|event| matches!(event, EventKind::TurnStart)).await;
    let agents = stage.agent.running_agents().await.unwrap();
    let child = stage.agent.running_agent(agents[0].start.agent_id.clone()).await.unwrap();
    let error = child.set_approval(ApprovalMode::Auto).await.unwrap_err().to_string();
    assert_eq!(
        error,
        "an agent can't have a more permissive approval mode than the session that started it (`ask`)"
    );
    stage.agent.set_approval(ApprovalMode::ReadOnly).await.unwrap();
    while child.state().await.unwrap().state.approval != "read-only" {
        tokio::task::yield_now().await;
    }
    assert!(matches!(child.set_approval(ApprovalMode::Ask).await, Err(AgentError::LooserThanSession(_))));
    assert!(matches!(child.toggle_plan().await, Err(AgentError::LooserThanSession(_))));
    stage.agent.set_approval(ApprovalMode::Auto).await.unwrap();
    while child.set_approval(ApprovalMode::Auto).await.is_err() {
        tokio::task::yield_now().await;
    }
    stage.agent.abort().await.unwrap();
}

fn copy_dir(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_dir(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Copies the logs to another directory, as a crash at this moment would leave them, and returns the
/// session's path.
fn crashed(stage: &Fixture) -> (TempDir, PathBuf) {
    let dir = TempDir::new().unwrap();
    let logs = dir.path().canonicalize().unwrap().join("logs");
    copy_dir(&stage.dir.path().join("logs"), &logs);
    let name = stage.agent.reader().path().unwrap().file_name().unwrap().to_owned();
    (dir, logs.join(name))
}

/// Returns an expensive answer with this call.
fn dear_call(answer: ScriptedAnswer) -> ScriptedAnswer {
    ScriptedAnswer { usage: dear("").usage, ..answer }
}

#[tokio::test]
async fn interrupted_agents_cost_is_counted_once() {
    let hanging = ScriptedAnswer { hang: true, ..text_answer("half") };
    let scripts = vec![
        ("main", vec![delegate("helper")]),
        ("helper", vec![dear_call(delegate("other"))]),
        ("other", vec![dear_call(call("list_agents", json!({}))), hanging]),
    ];
    let mut stage = stage(scripts, DelegationLimits::default());
    stage.agent.prompt("go", PromptOptions::default()).await.unwrap();
    let mut nested_turns = 0;
    stage
        .event(|event| match event {
            EventKind::AgentEvent { name, event, .. } if name == "other" => {
                matches!(event.kind, EventKind::ToolExecutionEnd { .. }).then_some(())
            }
            _ => None,
        })
        .await;
    while nested_turns < 2 {
        nested_turns =
            stage.models.requests.lock().unwrap().iter().filter(|it| it.system.contains("[other]")).count();
        tokio::task::yield_now().await;
    }
    let id = stage.starts()[0]["agentId"].as_str().unwrap().to_owned();
    let (dir, log) = crashed(&stage);

    let resume = call("delegate_to_agent", json!({ "agent": "helper", "task": "Go on.", "resume": id }));
    let listing = call("list_agents", json!({}));
    let unused = || text_answer("unused");
    let scripts = vec![
        ("main", vec![unused(), listing, resume, text_answer("ok")]),
        ("helper", vec![unused(), dear("whole")]),
    ];
    let mut again = stage_in(dir, scripts, DelegationLimits::default(), Some(log));
    assert_eq!(again.agent.stats().await.unwrap().session.usage.cost.total, Usd(0.0), "opening only reads");
    assert_eq!(again.run("once more").await, RunOutcome::Completed);
    let ends = again.entries("tiller.agent_end");
    assert_eq!(ends.len(), 2, "{:?}", again.lines());
    assert_eq!(
        (ends[0]["error"].as_str(), &ends[1]["error"]),
        (Some("interrupted when tiller exited"), &Value::Null)
    );
    let totals = again.agent.stats().await.unwrap().session;
    assert_eq!(totals.usage.cost.total, Usd(3.0), "helper and other before the crash, helper after it");
    let lines = again.lines();
    assert!(
        lines.iter().any(|line| line.contains("helper (interrupted when tiller exited): Do it.")),
        "{lines:?}"
    );
}

#[tokio::test]
async fn agent_that_has_ended_can_still_delegate() {
    let scripts = vec![
        ("main", vec![delegate("helper"), text_answer("thanks")]),
        ("helper", vec![text_answer("done"), delegate("other"), text_answer("helped")]),
        ("other", vec![delegate("brief"), text_answer("deep")]),
    ];
    let mut stage = stage(scripts, DelegationLimits { depth: 2, ..DelegationLimits::default() });
    stage.run("go").await;
    let id = stage.agent.agent_tasks().await.unwrap()[0].start.agent_id.clone();
    let child = stage.registry.open_agent(&stage.agent, id).await.unwrap().session;
    child.prompt("Delegate.", PromptOptions::default()).await.unwrap();
    child.settled().await.unwrap();
    let lines = message_lines(&child.reader());
    assert!(lines.iter().any(|line| line.starts_with("result deep\n")), "{lines:?}");
    let nested = child.agent_tasks().await.unwrap()[0].start.path.clone().unwrap();
    let lines = message_lines(&Reader::open(&nested).unwrap());
    assert!(lines.iter().any(|line| line.contains("maximum delegation depth (2)")), "{lines:?}");
}

#[tokio::test]
async fn agent_that_has_ended_is_opened_and_its_cost_counted() {
    let scripts = vec![
        ("main", vec![delegate("helper"), text_answer("thanks")]),
        ("helper", vec![dear("It is done."), dear("It is red.")]),
    ];
    let mut stage = stage(scripts, DelegationLimits::default());
    stage.run("go").await;
    let tasks = stage.agent.agent_tasks().await.unwrap();
    let [task] = &tasks[..] else { panic!("{tasks:?}") };
    assert_eq!((task.start.name.as_str(), task.end.as_ref().unwrap().error.as_ref()), ("helper", None));
    let child = stage.registry.open_agent(&stage.agent, task.start.agent_id.clone()).await.unwrap().session;
    assert_eq!(message_lines(&child.reader()), ["user Do it.", "answer It is done. Stop"]);
    child.prompt("Which color?", PromptOptions::default()).await.unwrap();
    assert_eq!(child.settled().await.unwrap().outcome, RunOutcome::Completed);
    assert_eq!(message_lines(&child.reader()).last().unwrap(), "answer It is red. Stop");
    let counted = async {
        while stage.agent.stats().await.unwrap().session.usage.cost.total != Usd(2.0) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TIMEOUT, counted).await.expect("the cost is never counted");
    assert!(matches!(stage.agent.open_agent("none".into()).await, Err(AgentError::NotFound(_))));
}

fn listing() -> ScriptedAnswer {
    call("list_agents", json!({}))
}

#[tokio::test(start_paused = true)]
async fn agent_answers_at_its_limit_of_turns() {
    let scripts = vec![
        ("main", vec![delegate("brief"), text_answer("ok")]),
        ("brief", vec![listing(), listing(), text_answer("so far"), text_answer("unreachable")]),
    ];
    let mut stage = stage(scripts, DelegationLimits::default());
    stage.run("go").await;
    let result = stage.result();
    assert!(result.starts_with("result so far\n\n[agent brief ID: 3 turns, "), "{result}");
    assert!(result.ends_with(" s, turn limit reached]"), "{result}");
}

#[tokio::test]
async fn agent_gets_no_more_turns_than_its_session() {
    let scripts = vec![
        ("main", vec![delegate("brief"), text_answer("ok")]),
        ("brief", vec![listing(), text_answer("so far"), text_answer("unreachable")]),
    ];
    let mut stage = configured(scripts, |options| options.turn.max_turns = Some(1));
    stage.run("go").await;
    assert!(stage.result().starts_with("result so far\n\n[agent brief ID: 2 turns, "), "{}", stage.result());
}

#[tokio::test(start_paused = true)]
async fn agents_stop_at_the_limits_of_their_session() {
    let slowly = || ScriptedAnswer { delay_ms: 4_000, ..ScriptedAnswer { text: "hm".into(), ..listing() } };
    let scripts = || {
        vec![
            ("main", vec![delegate("helper"), text_answer("ok")]),
            ("helper", vec![slowly(), slowly(), slowly(), text_answer("unreachable")]),
        ]
    };
    let turns = UsageLimit { turns: Some(3), ..UsageLimit::default() };
    let time = UsageLimit { time: Some(Duration::from_secs(6)), ..UsageLimit::default() };
    for (limit, reason) in [
        (turns, "this session and its agents have made 3 requests; the limit is 3"),
        (time, "this session and its agents have worked for 6 s, which is the limit"),
    ] {
        let mut stage = configured(scripts(), move |options| options.agent_limit = limit);
        assert_eq!(stage.run("go").await, RunOutcome::Failed, "the session's own requests count, too");
        let expected = format!(
            "result agent helper ID returned no answer: cast: not sent: {reason}\n\n[agent helper ID: "
        );
        assert!(stage.result().starts_with(&expected), "{}", stage.result());
    }
}

#[tokio::test]
async fn limits_of_a_session_count_what_its_logs_have_used() {
    let scripts = vec![
        ("main", vec![delegate("helper"), text_answer("ok")]),
        ("helper", vec![dear_call(delegate("other")), text_answer("helped")]),
        ("other", vec![text_answer("deep")]),
    ];
    let mut stage = stage(scripts, DelegationLimits::default());
    stage.run("go").await;
    let path = stage.agent.reader().path().unwrap().to_owned();
    stage.agent.close().await.unwrap();
    let turns = UsageLimit { turns: Some(5), ..UsageLimit::default() };
    let tokens = UsageLimit { tokens: Some(Tokens(1_000_000)), ..UsageLimit::default() };
    let mut dir = stage.dir;
    for (limit, reason) in [
        (turns, "this session and its agents have made 5 requests; the limit is 5"),
        (tokens, "this session and its agents have used 1.0M tokens; the limit is 1.0M"),
    ] {
        let scripts = vec![("main", vec![])];
        let limits = DelegationLimits::default();
        let mut again = build(dir, scripts, limits, Some(path.clone()), move |it| it.agent_limit = limit);
        assert_eq!(again.run("more").await, RunOutcome::Failed);
        let reader = again.agent.reader();
        let (entries, _) = reader.branch(&reader.leaf().unwrap()).unwrap();
        let last = entries.iter().rev().find_map(|entry| entry.body.as_message().cloned()).unwrap();
        let Message::Assistant(answer) = &*last else { panic!("{last:?}") };
        let error = answer.error_message.as_deref().unwrap();
        assert!(error.starts_with(&format!("cast: not sent: {reason} → The settings agents.")), "{error}");
        again.agent.close().await.unwrap();
        dir = again.dir;
    }
}

#[tokio::test]
async fn limits_count_the_logs_before_an_agent_is_opened() {
    let scripts =
        vec![("main", vec![delegate("helper"), text_answer("ok")]), ("helper", vec![text_answer("helped")])];
    let mut stage = stage(scripts, DelegationLimits::default());
    stage.run("go").await;
    let path = stage.agent.reader().path().unwrap().to_owned();
    stage.agent.close().await.unwrap();
    let limit = UsageLimit { turns: Some(3), ..UsageLimit::default() };
    let again =
        build(stage.dir, vec![], DelegationLimits::default(), Some(path), move |it| it.agent_limit = limit);
    let [task] = &again.agent.agent_tasks().await.unwrap()[..] else { panic!("one task") };
    let child = again.registry.open_agent(&again.agent, task.start.agent_id.clone()).await.unwrap().session;
    child.prompt("more", PromptOptions::default()).await.unwrap();
    assert_eq!(child.settled().await.unwrap().outcome, RunOutcome::Failed);
    assert_eq!(again.models.requests.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn agent_of_the_original_is_not_continued_by_a_fork() {
    // The ids of twelve days have the same prefix.
    let beginning =
        stage(vec![], DelegationLimits::default()).agent.reader().id().to_string()[..4].to_owned();
    let resume =
        call("delegate_to_agent", json!({ "agent": "helper", "task": "Go on.", "resume": beginning }));
    let scripts = vec![
        ("main", vec![delegate("helper"), text_answer("ok"), resume, text_answer("Pity.")]),
        ("helper", vec![text_answer("helped"), text_answer("unused")]),
    ];
    let mut stage = stage(scripts, DelegationLimits::default());
    stage.run("go").await;
    stage.agent.clone_session().await.unwrap();
    stage.run("more").await;
    let lines = stage.lines();
    let result = lines.iter().rfind(|line| line.starts_with("result ")).unwrap();
    assert!(result.contains("belongs to the session that this one was forked from"), "{result}");
}

#[tokio::test(flavor = "multi_thread")]
async fn deltas_of_an_agent_precede_its_end() {
    let answer = "word ".repeat(4_000);
    let scripts = vec![
        ("main", vec![delegate("helper"), text_answer("ok")]),
        ("helper", vec![ScriptedAnswer { chunk: Some(20), ..text_answer(&answer) }]),
    ];
    let mut stage = configured(scripts, |options| options.agent_deltas = Switch::On);
    stage.run("go").await;
    let mut text = String::new();
    while let Some(Ok(event)) = stage.events.try_next() {
        if let EventKind::AgentEvent { event, .. } = &event.kind
            && let EventKind::MessageUpdate { assistant_message_event, .. } = &event.kind
            && let AssistantDelta::TextDelta { delta, .. } = assistant_message_event
        {
            text.push_str(delta);
        }
    }
    assert_eq!(text.len(), answer.len());
}

#[tokio::test]
async fn aborted_agents_of_agents_add_their_cost() {
    let hanging = ScriptedAnswer { hang: true, ..text_answer("half") };
    let scripts = vec![
        ("main", vec![delegate("helper"), text_answer("ok")]),
        ("helper", vec![dear_call(delegate("other")), text_answer("helped")]),
        ("other", vec![dear_call(call("list_agents", json!({}))), hanging]),
    ];
    let mut stage = stage(scripts, DelegationLimits::default());
    stage.agent.prompt("go", PromptOptions::default()).await.unwrap();
    stage
        .event(|event| match event {
            EventKind::AgentEvent { name, event, .. } => {
                (name == "other" && matches!(event.kind, EventKind::ToolExecutionEnd { .. })).then_some(())
            }
            _ => None,
        })
        .await;
    assert_eq!(stage.agent.state().await.unwrap().state.usage.cost.total, Usd(2.0), "both work");
    stage.agent.abort().await.unwrap();
    stage.agents_have_ended().await;
    assert_eq!(stage.agent.reader().usage().cost.total, Usd(2.0));
    let result = stage.result();
    assert!(result.contains("was stopped after 1 turn, 1.0M tokens, $1.00"), "{result}");
}

#[tokio::test]
async fn agents_of_agents_add_their_cost_once() {
    let scripts = vec![
        ("main", vec![delegate("helper"), text_answer("ok")]),
        ("helper", vec![dear_call(delegate("other")), text_answer("helped")]),
        ("other", vec![dear("deep")]),
    ];
    let mut stage = stage(scripts, DelegationLimits::default());
    stage.run("go").await;
    let child = PathBuf::from(stage.starts()[0]["path"].as_str().unwrap());
    assert_eq!(Reader::open(&child).unwrap().usage().cost.total, Usd(2.0));
    assert_eq!(stage.agent.reader().usage().cost.total, Usd(2.0));
}

/// Creates a session with an agent `helper`, whose agent `other` hangs in its first answer.
async fn nested() -> (Fixture, AgentSession) {
    let hanging = ScriptedAnswer { hang: true, ..text_answer("half") };
    let scripts = vec![
        ("main", vec![delegate("helper"), text_answer("ok")]),
        ("helper", vec![delegate("other"), text_answer("helped")]),
        ("other", vec![hanging, text_answer("steered")]),
    ];
    let mut stage = stage(scripts, DelegationLimits::default());
    stage.agent.prompt("go", PromptOptions::default()).await.unwrap();
    let id = stage
        .event(|event| match event {
            EventKind::AgentEvent { agent_id, name, event, .. } => (name == "other"
                && matches!(event.kind, EventKind::MessageStart { .. }))
            .then(|| agent_id.clone()),
            _ => None,
        })
        .await;
    let other = stage.agent.running_agent(id).await.unwrap();
    while other.snapshot().await.unwrap().in_progress.partial.is_none() {
        tokio::task::yield_now().await;
    }
    (stage, other)
}

fn log_of_helper(stage: &Fixture) -> Vec<String> {
    message_lines(&Reader::open(std::path::Path::new(stage.starts()[0]["path"].as_str().unwrap())).unwrap())
}

#[tokio::test]
async fn agent_of_an_agent_is_steered() {
    let (stage, other) = nested().await;
    other.steer_now("Hurry.", PromptOptions::default()).await.unwrap();
    assert_eq!(stage.agent.settled().await.unwrap().outcome, RunOutcome::Completed);
    let log = log_of_helper(&stage);
    assert!(log.iter().any(|line| line.starts_with("result steered")), "{log:?}");
    assert!(stage.result().starts_with("result helped"), "{}", stage.result());
}

#[tokio::test]
async fn agent_of_an_agent_is_aborted_alone() {
    let (stage, other) = nested().await;
    other.abort().await.unwrap();
    assert_eq!(stage.agent.settled().await.unwrap().outcome, RunOutcome::Completed);
    let log = log_of_helper(&stage);
    assert!(
        log.iter().any(
            |line| line.starts_with("result agent other ") && line.contains(": stopped\n\n[agent other ")
        ),
        "{log:?}"
    );
    assert!(stage.result().starts_with("result helped"), "{}", stage.result());
}

#[tokio::test]
async fn abort_reaches_agents_of_agents() {
    let (stage, other) = nested().await;
    stage.agent.abort().await.unwrap();
    stage.agents_have_ended().await;
    assert!(matches!(other.snapshot().await, Err(AgentError::Closed)));
    assert_eq!(stage.entries("tiller.agent_end")[0]["error"], "stopped");
    let helper = std::fs::read_to_string(stage.starts()[0]["path"].as_str().unwrap()).unwrap();
    assert_eq!(helper.matches("tiller.agent_end").count(), 1, "{helper}");
}

#[tokio::test(start_paused = true)]
async fn agents_side_by_side_are_at_most_four() {
    let tasks: Vec<Value> = (0..6).map(|_| json!({ "agent": "helper", "task": "a" })).collect();
    let slow = ScriptedAnswer { delay_ms: 1_000, ..text_answer("done") };
    let scripts = vec![
        ("main", vec![call("spawn_agents", json!({ "tasks": tasks })), text_answer("ok")]),
        ("helper", vec![slow]),
    ];
    let mut stage = stage(scripts, DelegationLimits::default());
    stage.run("go").await;
    assert_eq!(stage.result().matches("done").count(), 6, "{}", stage.result());
    let (mut at_work, mut most) = (0, 0);
    while let Some(Ok(event)) = stage.events.try_next() {
        match event.kind {
            EventKind::AgentTaskStart(_) => at_work += 1,
            EventKind::AgentTaskEnd(_) => at_work -= 1,
            _ => {}
        }
        most = most.max(at_work);
    }
    assert_eq!((at_work, most), (0, 4));
}

#[tokio::test]
async fn agent_spawned_at_a_depth_counts_from_there() {
    let scripts = vec![
        ("helper", vec![delegate("other"), text_answer("helped")]),
        ("other", vec![text_answer("deep")]),
    ];
    let (_, providers) = models(scripts);
    let registry = AgentRegistry::default();
    for name in ["helper", "other"] {
        registry.register(name, "", move || AgentSpec::new(name, "", format!("[{name}]")));
    }
    let (dir, limits) =
        (TempDir::new().unwrap(), DelegationLimits { depth: 2, ..DelegationLimits::default() });
    for (depth, expected) in [(1, "result deep"), (2, "maximum delegation depth (2) reached")] {
        let builder = SessionBuilder::new(providers.clone());
        let helper = registry.spawn("helper", SpawnOptions { depth, limits }, builder, dir.path()).unwrap();
        assert_eq!(helper.chat("go").await.unwrap().text, "helped");
        let lines = message_lines(&helper.session().reader());
        assert!(lines.iter().any(|line| line.contains(expected)), "{lines:?}");
    }
    let unknown =
        registry.spawn("nobody", SpawnOptions::default(), SessionBuilder::new(providers), dir.path());
    assert_eq!(unknown.err().unwrap().to_string(), "no agent named nobody");
}
