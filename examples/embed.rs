//! A program that embeds tiller: it runs a prompt, steers it, forks the session, compacts it and prints its
//! cost.
//!
//! It uses a scripted model, so that it runs anywhere; a real one takes one line, see [`providers`]. Run it
//! with `cargo run --example embed`; docs/embedding.md explains it.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use tiller::agent::{AgentSession, EmbedError, PromptOptions, RunRequest, SessionBuilder, run};
use tiller::event::{AssistantDelta, EventKind};
use tiller::message::Message;
use tiller::process::{Runner, supervisor};
use tiller::provider::ProviderRegistry;
use tiller::provider::scripted::{ScriptedAnswer, ScriptedProvider};
use tiller::unit::Tokens;

fn main() -> ExitCode {
    // Commands run under a supervisor that ends them when this program dies. It is this program itself, started
    // again.
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == supervisor::NAME) {
        return supervisor::main(arguments);
    }
    match run_example() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn run_example() -> Result<(), Box<dyn std::error::Error>> {
    let runner = Runner::this_program()?;
    let dir = tempfile::tempdir()?;
    std::fs::write(dir.path().join("notes.txt"), "buy milk\n".repeat(300))?;
    for line in run_steps(dir.path(), runner).await? {
        println!("{line}");
    }
    Ok(())
}

/// The providers. With a key: `ProviderRegistry::with_keys([("anthropic", key.into())])`.
fn providers() -> ProviderRegistry {
    let script = [
        r#"{"calls": [{"name": "bash", "arguments": {"command": "cat notes.txt"}}]}"#,
        r#"{"when": "<conversation>", "text": "Milk is to be bought: du lait."}"#,
        r#"{"when": "in one word", "text": "Milk."}"#,
        r#"{"when": "and in French", "text": "Du lait."}"#,
        r#"{"text": "It is a note to buy milk."}"#,
        r#"{"text": "I'll look around.", "delay_ms": 20, "calls": [{"name": "list_files"}]}"#,
    ];
    let answers: Vec<ScriptedAnswer> =
        script.iter().map(|line| serde_json::from_str(line).expect("the script is well formed")).collect();
    let scripted = ScriptedProvider::new(answers);
    let facts = vec![scripted.facts()];
    let mut providers = ProviderRegistry::default();
    providers.add(Arc::new(scripted), facts);
    providers
}

/// Runs all steps; returns the lines to print.
pub(crate) async fn run_steps(work_dir: &Path, runner: Runner) -> Result<Vec<String>, EmbedError> {
    let mut lines = Vec::new();

    // `run`: one prompt, one result.
    let result =
        run(RunRequest::new("what is here? in one word", SessionBuilder::new(providers())), work_dir).await?;
    lines.push(format!("run: {}", result.text));

    // `AgentSession`: a session with a log and the bash tool, without approvals, keeping little when it is
    // compacted.
    let builder =
        SessionBuilder::new(providers()).log_dir(work_dir.join("logs")).commands(runner).approve_all();
    let builder = builder.configure(|options| options.compaction.keep = Some(Tokens(50)));
    let agent = builder.start(work_dir)?;
    let watcher = tokio::spawn(watch(agent.clone()));

    // A prompt returns when it is accepted. Messages sent while the agent works steer it, between two calls.
    agent.prompt("what is in notes.txt?", PromptOptions::default()).await?;
    agent.settled().await?;
    agent.prompt("and what else is here?", PromptOptions::default()).await?;
    agent.steer("say it in one word").await?;
    let settled = agent.settled().await?;
    lines.push(format!("steered: {:?} after {} messages", settled.outcome, settled.messages.len()));
    lines.push(format!("answer: {}", agent.last_answer_text().await?.unwrap_or_default()));

    // A fork is a new session with a part of this one's path: here all of it.
    let original = agent.reader();
    let leaf = original.leaf().expect("something was said");
    agent.fork(leaf).await?;
    agent.prompt("and in French?", PromptOptions::default()).await?;
    agent.settled().await?;
    lines.push(format!("fork: {}", agent.last_answer_text().await?.unwrap_or_default()));
    lines.push(format!("two logs: {} and {} entries", original.entry_count(), agent.reader().entry_count()));

    // A summary replaces the messages so far in the context; the log keeps them all.
    let compacted = agent.compact(Some("keep the translations".to_owned())).await?;
    let context = agent.state().await?.state.context.used;
    lines.push(format!("compacted: {} to {context} tokens", compacted.tokens_before));

    let stats = agent.stats().await?;
    lines.push(format!("spent: {} tokens, {}", stats.branch.usage.total(), stats.branch.usage.cost.total));

    // Closing stops the run, syncs the log and releases it.
    agent.close().await?;
    lines.push(format!("watched: {} pieces of answers", watcher.await.unwrap_or_default()));
    Ok(lines)
}

/// Follows the events of a session to its end; counts the deltas of answers.
async fn watch(agent: AgentSession) -> usize {
    let mut events = agent.subscribe();
    // The events end with the session, and the session with its last handle.
    drop(agent);
    let mut deltas = 0;
    while let Some(event) = events.next().await {
        // A slow reader misses events, never entries: those are in the log.
        let Ok(event) = event else { continue };
        match &event.kind {
            EventKind::MessageUpdate {
                assistant_message_event: AssistantDelta::TextDelta { .. }, ..
            } => deltas += 1,
            EventKind::ToolExecutionStart { tool_name, .. } => eprintln!("· {tool_name}"),
            EventKind::MessageEnd { message } => {
                if let Message::Assistant(answer) = &**message {
                    eprintln!("{}", answer.joined_text());
                }
            }
            _ => {}
        }
    }
    deltas
}
