//! The cost of 100 concurrent agents: memory of each while it waits for its model, the time until the first and the
//! last of them finish 20 turns, and a frame of the TUI that shows the call with a line for each. It prints the figures
//! of docs/agents.md (`cargo bench --bench agents`).
#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

#[path = "support/off_screen.rs"]
mod off_screen;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tiller::agent::agents::{AgentRegistry, AgentSpec, Delegation, DelegationLimits};
use tiller::agent::{AgentSession, InFlight, PromptOptions, RunningCall, SessionBuilder};
use tiller::event::{Event, EventKind, ToolOutcome};
use tiller::message::{Message, UserBlock, UserMessage};
use tiller::provider::catalog::assumed;
use tiller::provider::scripted::{ScriptedAnswer, ScriptedProvider};
use tiller::provider::{Provider, ProviderRegistry, ProviderStream, Request};
use tiller::session::{EntryBody, Placement, SessionManager};

use off_screen::NOW;

/// Turns of each agent in the second part.
const TURNS: usize = 20;

fn main() {
    // `cargo test --benches` only checks that it builds and starts.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let count = if is_bench { 100 } else { 2 };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        rest(count).await;
        work(count).await;
    });
    for lines in [4, count] {
        println!("a frame with {lines} lines of agents: {:.0?}", frame(lines));
    }
}

/// Scripted models of the main session, which spawns the agents, and of these.
struct Models {
    agents: usize,
    main: ScriptedProvider,
    agent: ScriptedProvider,
    /// Requests of agents.
    requests: AtomicUsize,
}

impl Models {
    /// Creates models for a number of agents, which list the agents in each of these turns, or wait if there are none.
    fn new(agents: usize, turns: usize) -> Self {
        let answer = |answer: Value| serde_json::from_value::<ScriptedAnswer>(answer).unwrap();
        let call =
            |name: &str, arguments: Value| json!({ "calls": [{ "name": name, "arguments": arguments }] });
        let done = json!({ "text": "done" });
        let tasks = vec![json!({ "agent": "agent", "task": "Work." }); agents];
        let main = vec![call("spawn_agents", json!({ "tasks": tasks })), done.clone()];
        let agent = match turns {
            0 => vec![json!({ "text": "", "hang": true })],
            turns => std::iter::repeat_n(call("list_agents", json!({})), turns).chain([done]).collect(),
        };
        let provider = |script: Vec<Value>| ScriptedProvider::new(script.into_iter().map(answer).collect());
        Self { agents, main: provider(main), agent: provider(agent), requests: AtomicUsize::new(0) }
    }
}

impl Provider for Models {
    fn name(&self) -> &str {
        "bench"
    }

    fn api(&self) -> &'static str {
        "bench"
    }

    fn stream(&self, request: Request) -> ProviderStream {
        if !request.system.contains("[agent]") {
            return self.main.stream(request);
        }
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.agent.stream(request)
    }
}

fn session(model: &Arc<Models>, dir: &TempDir) -> AgentSession {
    let mut providers = ProviderRegistry::default();
    providers.add(Arc::clone(model) as Arc<dyn Provider>, vec![assumed("bench", "bench")]);
    let registry = AgentRegistry::default();
    registry.register("agent", "works", || AgentSpec::new("agent", "", "[agent]"));
    let limits = DelegationLimits { parallel: model.agents, ..DelegationLimits::default() };
    let builder = SessionBuilder::new(providers).approve_all().log_dir(dir.path().join("logs"));
    Delegation::new(registry, limits).equip(builder).start(dir.path()).unwrap()
}

/// Measures the memory of agents that wait for their model.
async fn rest(count: usize) {
    let dir = TempDir::new().unwrap();
    let model = Arc::new(Models::new(count, 0));
    let agent = session(&model, &dir);
    let before = resident_bytes();
    agent.prompt("Go.", PromptOptions::default()).await.unwrap();
    while model.requests.load(Ordering::Relaxed) < count {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // Their logs and handles are settled.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let each = resident_bytes().saturating_sub(before) / count;
    println!("{count} resting agents: {:.2} MB each", each as f64 / 1e6);
    agent.abort().await.unwrap();
}

/// Measures when agents that work side by side finish.
async fn work(count: usize) {
    let dir = TempDir::new().unwrap();
    let model = Arc::new(Models::new(count, TURNS));
    let agent = session(&model, &dir);
    let mut events = agent.subscribe();
    let start = Instant::now();
    agent.prompt("Go.", PromptOptions::default()).await.unwrap();
    let mut ends = Vec::new();
    while ends.len() < count {
        match events.next().await.unwrap() {
            Ok(event) if matches!(event.kind, EventKind::AgentTaskEnd(_)) => ends.push(start.elapsed()),
            Ok(_) => {}
            // The last ends are all that is missing then.
            Err(_) => {}
        }
    }
    let (first, last) = (ends[0], ends[count - 1]);
    let turns = (count * TURNS) as f64;
    println!(
        "{count} agents with {TURNS} turns each: the first ends after {first:.0?}, the last after {last:.0?}, {:.0} turns a second",
        turns / last.as_secs_f64()
    );
    agent.close().await.unwrap();
}

/// Returns the time of a frame after a change of the lines of agents.
fn frame(lines: usize) -> Duration {
    const FRAMES: u32 = 200;
    let dir = TempDir::new().unwrap();
    let manager = SessionManager::new(Placement::Flat(dir.path().to_owned()), dir.path().to_owned());
    let mut writer = manager.create(NOW);
    let message = Message::User(UserMessage::text("Go.", NOW));
    writer.append(EntryBody::message(Arc::new(message)), NOW).unwrap();
    let args = json!({ "tasks": [] });
    let call = RunningCall {
        id: "c1".into(),
        name: "spawn_agents".into(),
        arguments: args.clone(),
        since: NOW,
        partial: ToolOutcome::default(),
    };
    let live = InFlight { running_since: Some(NOW), calls: vec![call], ..InFlight::default() };
    let mut screen = off_screen::screen(writer.reader(), live);
    screen.draw(NOW);
    let start = Instant::now();
    for frame in 0..FRAMES {
        let text: Vec<String> =
            (0..lines).map(|line| format!("agent · {frame} turns · 12k tokens · {line}s · grep x")).collect();
        let content = vec![UserBlock::Text { text: text.join("\n") }];
        let kind = EventKind::ToolExecutionUpdate {
            tool_call_id: "c1".into(),
            tool_name: "spawn_agents".into(),
            args: args.clone(),
            partial_result: ToolOutcome { content, details: None },
        };
        screen.event(Arc::new(Event { kind, seq: u64::from(frame) + 1, time: NOW }), NOW);
        screen.draw(NOW);
    }
    start.elapsed() / FRAMES
}

/// Resident memory of this process.
fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: usize = status.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * 4_096
}
