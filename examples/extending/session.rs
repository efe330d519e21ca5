//! A session in memory with all three.

use std::path::Path;
use std::sync::Arc;

use tiller::agent::extension::Extensions;
use tiller::agent::{AgentSession, EmbedError, SessionBuilder};
use tiller::event::EventKind;
use tiller::message::{Message, joined_text};
use tiller::provider::ProviderRegistry;
use tiller::tool::Tools;

use super::extension::Discretion;
use super::provider::Parrot;

/// Starts a session with the parrot, and with the extension that provides the tool.
pub(crate) fn start(cwd: &Path) -> Result<AgentSession, EmbedError> {
    let mut providers = ProviderRegistry::default();
    providers.add(Arc::new(Parrot), vec![Parrot::facts()]);
    let mut extensions = Extensions::default();
    extensions.add(Arc::new(Discretion));
    SessionBuilder::new(providers).tools(Tools::default()).extensions(extensions).start(cwd)
}

/// Sends a prompt, and returns the messages until the run's end, a line each.
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
