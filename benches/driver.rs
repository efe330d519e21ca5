//! A long answer through the driver, from the provider's stream to a front end.
#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::sync::Arc;

use divan::Bencher;
use tempfile::TempDir;
use tiller::agent::compaction::CompactionOptions;
use tiller::agent::extension::Extensions;
use tiller::agent::retry::RetryOptions;
use tiller::agent::turn::TurnOptions;
use tiller::agent::{
    AgentOptions, AgentSession, Audience, Choice, Parts, PromptOptions, Resources, SyncPolicy, SystemPrompt,
};
use tiller::event::EventKind;
use tiller::message::ThinkingLevel;
use tiller::policy::{Asking, Mode, Policy};
use tiller::process::Runner;
use tiller::provider::Providers;
use tiller::provider::scripted::{Answer, Scripted};
use tiller::session::{Placement, SessionManager};
use tiller::tool::{OutputLimits, Tools};
use tiller::unit::{Tokens, UnixMs};

/// Pieces of the answer.
const DELTAS: usize = 100_000;

fn main() {
    divan::main();
}

fn parts(folder: &TempDir) -> Parts {
    let manager = SessionManager::new(Placement::Flat(folder.path().into()), folder.path().into());
    let script = Scripted::new(vec![Answer { text: "delta ".into(), repeat: DELTAS, ..Answer::default() }]);
    let mut providers = Providers::default();
    let facts = vec![script.facts()];
    providers.add(Arc::new(script), facts);
    Parts {
        writer: manager.create(UnixMs(1_795_231_018_249)),
        model: providers.models().remove(0),
        manager,
        providers,
        thinking: ThinkingLevel::Off,
        choice: Choice::Caller,
        thinking_choice: Choice::Caller,
        tools: Tools::new([]),
        extensions: Extensions::default(),
        runner: Runner::with_helper("unused"),
        system_prompt: SystemPrompt::default(),
        resources: Resources::default(),
        options: AgentOptions {
            turn: TurnOptions::default(),
            retry: RetryOptions::default(),
            compaction: CompactionOptions::default(),
            sync: SyncPolicy::Never,
            max_tokens: Tokens(8_192),
            temperature: None,
            policy: Policy { mode: Mode::default(), asking: Asking::User, root: folder.path().into() },
            audience: Audience::Nobody,
            output: OutputLimits::default(),
            scratch: folder.path().into(),
            mode: "bench",
            remote: None,
        },
    }
}

/// Says something and counts the pieces of the answer that a front end gets to see or is told it has missed.
async fn run(folder: &TempDir) -> u64 {
    let session = AgentSession::start(parts(folder)).unwrap();
    let mut events = session.subscribe();
    session.prompt("go", PromptOptions::default()).await.unwrap();
    let mut seen = 0;
    while let Some(event) = events.next().await {
        match event {
            Ok(event) if matches!(event.kind, EventKind::MessageUpdate { .. }) => seen += 1,
            Ok(event) if matches!(event.kind, EventKind::AgentSettled) => break,
            Ok(_) => {}
            Err(lagged) => seen += lagged.0,
        }
    }
    session.close().await.unwrap();
    seen
}

#[divan::bench(sample_count = 20)]
fn an_answer_of_100_000_pieces(bencher: Bencher) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    bencher.with_inputs(|| TempDir::new().unwrap()).bench_local_refs(|folder| {
        assert!(runtime.block_on(run(folder)) >= DELTAS as u64);
    });
}
