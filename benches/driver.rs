//! The engine's own cost: a turn in short and long sessions, and a long answer on its way to a front end.
//!
//! It first prints the figures of docs/embedding.md: CPU time of the whole process, including the provider and
//! the tool, which do next to nothing.
#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tiller::setting::SyncPolicy;

use divan::Bencher;
use futures_util::stream;
use nix::time::{ClockId, clock_gettime};
use serde_json::json;
use tempfile::TempDir;
use tiller::agent::{AgentSession, PromptOptions, SessionBuilder};
use tiller::event::EventKind;
use tiller::message::{
    AssistantBlock, AssistantMessage, Message, StopReason, ToolCall, ToolResultMessage, UserBlock,
    UserMessage,
};
use tiller::print::{self, PrintOutput};
use tiller::provider::catalog::assumed;
use tiller::provider::scripted::{ScriptedAnswer, ScriptedProvider};
use tiller::provider::{Provider, ProviderRegistry, ProviderStream, Request, StreamEvent};
use tiller::tool::{RunFuture, Tool, ToolInvocation, ToolOutput, Tools};
use tiller::tool_spec::{Access, ToolSpec, ToolTraits};
use tiller::unit::{Tokens, UnixMs};
use tokio::runtime::Runtime;

/// Deltas of the long answer.
const DELTAS: usize = 100_000;

/// Turns of one run: enough that the first one, which processes the history, weighs little.
const TURNS: usize = 1_000;

fn main() {
    for length in [10, 1_000, 10_000] {
        println!("a turn after {length} messages: {:?} of CPU", cost_of_a_turn(length));
    }
    for (name, output) in [("text", PrintOutput::Text), ("json", PrintOutput::Json)] {
        println!("{DELTAS} deltas printed as {name}: {:?} of CPU", cost_of_printing(output));
    }
    divan::main();
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// CPU time of this process so far.
fn cpu() -> Duration {
    Duration::from(clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).unwrap())
}

/// A provider that calls the tool a number of times, then ends. It reads the last message only.
struct Busy {
    left: std::sync::atomic::AtomicUsize,
}

impl Provider for Busy {
    fn name(&self) -> &str {
        "busy"
    }

    fn api(&self) -> &'static str {
        "busy"
    }

    fn stream(&self, _request: Request) -> ProviderStream {
        let remaining = self.left.fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
        // No usage, as with some servers: the engine has to estimate the context.
        let parts = if remaining == 0 {
            vec![StreamEvent::Text { block: 0, text: "done".into() }, StreamEvent::Finished(StopReason::Stop)]
        } else {
            let call = StreamEvent::Call {
                block: 0,
                id: format!("c{remaining}").as_str().into(),
                name: "nothing".into(),
            };
            // Each call differs, because the fifth identical call in a row needs the user's answer.
            let arguments =
                StreamEvent::Arguments { block: 0, json: format!("{{\"path\":\"{remaining}\"}}") };
            vec![call, arguments, StreamEvent::Finished(StopReason::ToolUse)]
        };
        Box::pin(stream::iter(parts.into_iter().map(Ok)))
    }
}

/// A tool that does nothing.
struct NoTool(ToolSpec);

impl NoTool {
    fn tools() -> Tools {
        let parameters = Arc::new(json!({"type": "object"}));
        let spec = ToolSpec {
            name: "nothing".into(),
            description: "Does nothing.".into(),
            parameters,
            traits: ToolTraits::new(Access::Reads),
        };
        Tools::new([Arc::new(Self(spec)) as Arc<dyn Tool>])
    }
}

impl Tool for NoTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn check(&self, _arguments: &serde_json::Value) -> Result<(), String> {
        Ok(())
    }

    fn run(&self, _invocation: ToolInvocation) -> RunFuture<'_> {
        Box::pin(std::future::ready(ToolOutput::text("nothing")))
    }
}

/// A conversation of this many messages: prompts, calls and results in turn.
fn history(length: usize) -> Vec<Message> {
    let words = "what was said then, at some length ".repeat(6);
    let message = |at: usize| match at % 3 {
        0 => Message::User(UserMessage::text(&*words, UnixMs(1))),
        1 => {
            let call = ToolCall::from_streamed(
                format!("h{at}").as_str().into(),
                "nothing".into(),
                &json!({"path": words}).to_string(),
            );
            Message::Assistant(AssistantMessage {
                content: vec![AssistantBlock::ToolCall(call)],
                stop_reason: StopReason::ToolUse,
                ..AssistantMessage::default()
            })
        }
        _ => Message::ToolResult(ToolResultMessage {
            tool_call_id: format!("h{}", at - 1).as_str().into(),
            tool_name: "nothing".into(),
            content: vec![UserBlock::Text { text: words.clone() }],
            details: None,
            is_error: false,
            timestamp: UnixMs(1),
        }),
    };
    (0..length).map(message).collect()
}

fn busy_agent(dir: &Path, length: usize) -> AgentSession {
    let mut providers = ProviderRegistry::default();
    let remaining = std::sync::atomic::AtomicUsize::new(TURNS - 1);
    let mut facts = assumed("busy", "busy");
    // Never full, because compaction is not measured here.
    facts.window = Tokens(100_000_000);
    providers.add(Arc::new(Busy { left: remaining }), vec![facts]);
    let setup = SessionBuilder::new(providers).log_dir(dir).tools(NoTool::tools()).messages(history(length));
    setup.configure(|options| options.sync = SyncPolicy::Never).start(dir).unwrap()
}

/// CPU time of one turn in a session that starts with this many messages.
fn cost_of_a_turn(length: usize) -> Duration {
    let dir = TempDir::new().unwrap();
    runtime().block_on(async {
        let session = busy_agent(dir.path(), length);
        let before = cpu();
        session.prompt("go", PromptOptions::default()).await.unwrap();
        session.settled().await.unwrap();
        let spent = cpu() - before;
        session.close().await.unwrap();
        spent / u32::try_from(TURNS).unwrap()
    })
}

fn streaming_agent(dir: &TempDir) -> AgentSession {
    let script = ScriptedProvider::new(vec![ScriptedAnswer {
        text: "delta ".into(),
        repeat: DELTAS,
        ..ScriptedAnswer::default()
    }]);
    let mut providers = ProviderRegistry::default();
    let facts = vec![script.facts()];
    providers.add(Arc::new(script), facts);
    let setup = SessionBuilder::new(providers).log_dir(dir.path()).tools(Tools::new([]));
    setup.configure(|options| options.sync = SyncPolicy::Never).start(dir.path()).unwrap()
}

/// CPU time of a long answer, from the provider to the end of printing.
fn cost_of_printing(output: PrintOutput) -> Duration {
    let dir = TempDir::new().unwrap();
    runtime().block_on(async {
        let session = streaming_agent(&dir);
        let before = cpu();
        print::run(
            &session,
            ("go".to_owned(), PromptOptions::default()),
            output,
            &mut io::sink(),
            &mut io::sink(),
        )
        .await
        .unwrap();
        let spent = cpu() - before;
        session.close().await.unwrap();
        spent
    })
}

/// Sends a prompt, and counts the deltas that a front end receives or is reported to have missed.
async fn run(dir: &TempDir) -> u64 {
    let session = streaming_agent(dir);
    let mut events = session.subscribe();
    session.prompt("go", PromptOptions::default()).await.unwrap();
    let mut count = 0;
    while let Some(event) = events.next().await {
        match event {
            Ok(event) if matches!(event.kind, EventKind::MessageUpdate { .. }) => count += 1,
            Ok(event) if matches!(event.kind, EventKind::AgentSettled) => break,
            Ok(_) => {}
            Err(lagged) => count += lagged.0,
        }
    }
    session.close().await.unwrap();
    count
}

#[divan::bench(sample_count = 20)]
fn an_answer_of_100_000_pieces(bencher: Bencher) {
    let runtime = runtime();
    bencher.with_inputs(|| TempDir::new().unwrap()).bench_local_refs(|dir| {
        assert!(runtime.block_on(run(dir)) >= DELTAS as u64);
    });
}

#[divan::bench(args = [10, 10_000], sample_count = 5)]
fn a_thousand_turns(bencher: Bencher, length: usize) {
    let runtime = runtime();
    let session = || {
        let dir = TempDir::new().unwrap();
        let session = runtime.block_on(async { busy_agent(dir.path(), length) });
        (dir, session)
    };
    bencher.with_inputs(session).bench_local_refs(|(_dir, session)| {
        runtime.block_on(async {
            session.prompt("go", PromptOptions::default()).await.unwrap();
            session.settled().await.unwrap();
        });
    });
}
