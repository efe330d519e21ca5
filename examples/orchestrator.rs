//! A session that delegates to two specialists. Run it with `cargo run --example orchestrator`; it uses a scripted
//! model, so that it runs anywhere. docs/agents.md explains agents.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tiller::agent::agents::{
    AgentRegistry, AgentSpec, Delegation, DelegationLimits, Logger, OutputGuardrail, Recovery, Timeout,
};
use tiller::agent::{EmbedError, PromptOptions, SessionBuilder};
use tiller::event::EventKind;
use tiller::provider::ProviderRegistry;
use tiller::provider::scripted::{ScriptedAnswer, ScriptedProvider};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    run_steps(dir.path()).await?.iter().for_each(|line| println!("{line}"));
    Ok(())
}

/// The providers. With a key: `ProviderRegistry::with_keys([("anthropic", key.into())])`.
fn providers() -> ProviderRegistry {
    let script = [
        r#"{"calls": [{"name": "delegate_to_agent", "arguments": {"agent": "researcher", "task": "FIND a fact"}}]}"#,
        r#"{"calls": [{"name": "delegate_to_agent", "arguments": {"agent": "poet", "task": "RHYME it"}}]}"#,
        r#"{"text": "The poem is done."}"#,
        r#"{"when": "FIND", "text": "An octopus has three hearts."}"#,
        r#"{"when": "RHYME", "text": "Three hearts."}"#,
        r#"{"when": "rejected", "text": "Three hearts beat slow\nin the deep below."}"#,
    ];
    let answers: Vec<ScriptedAnswer> =
        script.iter().map(|line| serde_json::from_str(line).expect("the script is well formed")).collect();
    let scripted = ScriptedProvider::new(answers);
    let facts = vec![scripted.facts()];
    let mut providers = ProviderRegistry::default();
    providers.add(Arc::new(scripted), facts);
    providers
}

/// Runs the session; returns the lines to print.
pub(crate) async fn run_steps(work_dir: &Path) -> Result<Vec<String>, EmbedError> {
    let registry = AgentRegistry::default();
    registry.register("researcher", "finds facts", || {
        AgentSpec::new("researcher", "", "You find facts.")
            .with(Logger)
            .with(Timeout(Duration::from_secs(60)))
    });
    registry.register("poet", "writes poems of two lines", || {
        let two_lines = |poem: &str| match poem.lines().count() {
            2 => Ok(()),
            count => Err(format!("a poem has two lines, not {count}")),
        };
        AgentSpec::new("poet", "", "You write poems.").with(Recovery).with(OutputGuardrail::new(2, two_lines))
    });
    let delegation = Delegation::new(registry, DelegationLimits::default());
    let session = delegation.equip(SessionBuilder::new(providers())).start(work_dir)?;
    let mut events = session.subscribe();
    session.prompt("A poem about an octopus, please.", PromptOptions::default()).await?;
    let mut lines = Vec::new();
    while let Some(Ok(event)) = events.next().await {
        match &event.kind {
            EventKind::AgentTaskStart(task) => lines.push(format!("{} starts: {}", task.name, task.task)),
            EventKind::ToolExecutionEnd { result, .. } => {
                let text = tiller::message::joined_text(&result.content);
                lines.push(text.lines().take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" / "));
            }
            EventKind::AgentSettled => break,
            _ => {}
        }
    }
    lines.extend(session.last_answer_text().await?);
    session.close().await?;
    Ok(lines)
}
