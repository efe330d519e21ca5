//! The cost of 100 concurrent agents: memory of each while it waits for its model, the time until the first and the
//! last of them finish 20 turns, and a frame of the TUI that shows the call with a line for each. It prints the figures
//! of docs/agents.md (`cargo bench --bench agents`).
#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

#[path = "support/off_screen.rs"]
mod off_screen;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::stream;
use serde_json::json;
use tempfile::TempDir;
use tiller::agent::agents::{AgentRegistry, AgentSpec, Delegation, DelegationLimits};
use tiller::agent::{AgentSession, InFlight, PromptOptions, RunningCall, SessionBuilder};
use tiller::event::{Event, EventKind, ToolOutcome};
use tiller::message::{Message, StopReason, UserBlock, UserMessage};
use tiller::provider::catalog::assumed;
use tiller::provider::{Provider, ProviderRegistry, ProviderStream, Request, StreamEvent};
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

/// A model whose main session spawns agents, which list the agents in each turn, or wait.
struct Model {
    agents: usize,
    turns: usize,
    /// Requests of agents that get no answer.
    waiting: AtomicUsize,
}

impl Provider for Model {
    fn name(&self) -> &str {
        "bench"
    }

    fn api(&self) -> &'static str {
        "bench"
    }

    fn stream(&self, request: Request) -> ProviderStream {
        let is_agent = request.system.contains("[agent]");
        let turn = request.messages.len() / 2;
        let call = |name: &str, arguments: String| {
            let id = format!("c{turn}");
            vec![
                Ok(StreamEvent::Call { block: 0, id: id.as_str().into(), name: name.into() }),
                Ok(StreamEvent::Arguments { block: 0, json: arguments }),
                Ok(StreamEvent::Finished(StopReason::ToolUse)),
            ]
        };
        let text = || {
            vec![
                Ok(StreamEvent::Text { block: 0, text: "done".into() }),
                Ok(StreamEvent::Finished(StopReason::Stop)),
            ]
        };
        let parts = match (is_agent, turn) {
            (false, 0) => {
                let tasks = vec![json!({ "agent": "agent", "task": "Work." }); self.agents];
                call("spawn_agents", json!({ "tasks": tasks }).to_string())
            }
            (true, turn) if turn < self.turns => call("list_agents", "{}".to_owned()),
            _ => text(),
        };
        if !is_agent || self.turns > 0 {
            return Box::pin(stream::iter(parts));
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Box::pin(stream::pending())
    }
}

fn session(model: &Arc<Model>, dir: &TempDir) -> AgentSession {
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
    let model = Arc::new(Model { agents: count, turns: 0, waiting: AtomicUsize::new(0) });
    let agent = session(&model, &dir);
    let before = resident_bytes();
    agent.prompt("Go.", PromptOptions::default()).await.unwrap();
    while model.waiting.load(Ordering::Relaxed) < count {
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
    let model = Arc::new(Model { agents: count, turns: TURNS, waiting: AtomicUsize::new(0) });
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
