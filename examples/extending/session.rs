//! A session in memory that is made of the three.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use tiller::agent::compaction::CompactionOptions;
use tiller::agent::extension::Extensions;
use tiller::agent::retry::RetryOptions;
use tiller::agent::turn::TurnOptions;
use tiller::agent::{
    AgentOptions, AgentSession, Audience, Choice, Parts, Resources, SyncPolicy, SystemPrompt,
};
use tiller::event::EventKind;
use tiller::message::{Message, ThinkingLevel, joined_text};
use tiller::policy::Policy;
use tiller::process::Runner;
use tiller::provider::Providers;
use tiller::session::{Placement, SessionError, SessionManager};
use tiller::tool::{OutputLimits, Tools};
use tiller::unit::Tokens;

use super::extension::Discretion;
use super::provider::Parrot;

/// Starts a session of the parrot, with the extension that brings the tool.
pub(crate) fn start(cwd: &Path) -> Result<AgentSession, SessionError> {
    let manager = SessionManager::new(Placement::Memory, cwd.to_owned());
    let mut providers = Providers::default();
    providers.add(Arc::new(Parrot), vec![Parrot::facts()]);
    let mut extensions = Extensions::default();
    extensions.add(Arc::new(Discretion));
    AgentSession::start(Parts {
        writer: manager.create(SystemTime::now().into()),
        model: providers.models().remove(0),
        manager,
        providers,
        thinking: ThinkingLevel::Off,
        choice: Choice::Caller,
        thinking_choice: Choice::Caller,
        // `Tools::built_in` has those that read files and run commands.
        tools: Tools::default(),
        extensions,
        // A program whose `main` hands over to `tiller::process::helper::main`; only commands need one.
        runner: Runner::with_helper("tiller"),
        system_prompt: SystemPrompt::default(),
        resources: Resources::default(),
        options: options(cwd),
    })
}

fn options(cwd: &Path) -> AgentOptions {
    AgentOptions {
        turn: TurnOptions::default(),
        retry: RetryOptions::default(),
        compaction: CompactionOptions::default(),
        sync: SyncPolicy::Never,
        max_tokens: Tokens(1_000),
        temperature: None,
        policy: Policy { root: cwd.to_owned(), ..Policy::default() },
        audience: Audience::Nobody,
        output: OutputLimits::default(),
        scratch: std::env::temp_dir().join("tiller-outputs"),
        mode: "example",
        remote: None,
    }
}

/// Says something, and waits for all that is said until the run is over, a line each.
pub(crate) async fn say(agent: &AgentSession, prompt: &str) -> Result<Vec<String>, String> {
    let mut events = agent.subscribe();
    agent.prompt(prompt, Default::default()).await.map_err(|error| error.to_string())?;
    let mut lines = Vec::new();
    while let Some(event) = events.next().await {
        match &event.map_err(|lagged| format!("{} events were missed", lagged.0))?.kind {
            EventKind::MessageEnd { message } => lines.extend(line(message)),
            EventKind::AgentSettled => break,
            _ => {}
        }
    }
    Ok(lines)
}

fn line(message: &Message) -> Option<String> {
    match message {
        Message::User(user) => Some(format!("you: {}", user.content.joined_text())),
        Message::Assistant(answer) if answer.tool_calls().next().is_some() => None,
        Message::Assistant(answer) => Some(format!("parrot: {}", answer.joined_text())),
        Message::ToolResult(result) => Some(format!("tool: {}", joined_text(&result.content))),
        _ => None,
    }
}
