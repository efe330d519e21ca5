//! The session's servers and the state of their tools; `tool_servers` changes it.

use std::collections::HashSet;
use std::sync::Arc;

use tiller_core::unit::Tokens;
use tiller_provider::ToolChoice;
use tiller_tools::tool::{PromptFuture, ServedPrompt, ServedResource, ToolServerStatus, ToolServers, Tools};

use crate::resource_mention::{ResourceMention, find_mentions};
use crate::turn::TurnNumber;

/// The servers and the state of their tools.
pub(super) struct ServedTools {
    pub(super) servers: Option<Arc<dyn ToolServers>>,
    /// The session's own tools.
    pub(super) base: Tools,
    /// False while servers are starting; requests wait until they have started.
    pub(super) is_ready: bool,
    pub(super) has_changed: bool,
    /// The context window that the tools were selected for.
    pub(super) window: Tokens,
    /// Tools that the user has disabled; they stay disabled when their server reconnects.
    pub(super) switched_off: HashSet<String>,
    /// The prompts last sent to front ends.
    pub(super) known_prompts: Vec<ServedPrompt>,
    /// The resources last sent to front ends.
    pub(super) known_resources: Vec<ServedResource>,
    pub(super) waiting_request: Option<(TurnNumber, ToolChoice)>,
}

impl ServedTools {
    pub(super) fn new(servers: Option<Arc<dyn ToolServers>>, base: Tools) -> Self {
        Self {
            is_ready: servers.is_none(),
            servers,
            base,
            has_changed: false,
            window: Tokens(0),
            switched_off: HashSet::new(),
            known_prompts: Vec::new(),
            known_resources: Vec::new(),
            waiting_request: None,
        }
    }

    pub(super) fn status(&self) -> Vec<ToolServerStatus> {
        self.servers.as_ref().map(|servers| servers.status()).unwrap_or_default()
    }

    pub(super) fn prompts(&self) -> Vec<ServedPrompt> {
        self.servers.as_ref().map(|servers| servers.prompts()).unwrap_or_default()
    }

    pub(super) fn resources(&self) -> Vec<ServedResource> {
        self.servers.as_ref().map(|servers| servers.resources()).unwrap_or_default()
    }

    /// Requests the text of the prompt that a command names; `None` if no server has it.
    pub(super) fn prompt(&self, command: &str, arguments: &str) -> Option<PromptFuture> {
        let servers = self.servers.as_ref().filter(|servers| servers.takes_command(command))?;
        Some(Arc::clone(servers).prompt_text(command.to_owned(), arguments.to_owned()))
    }

    /// Finds the resources that a text names.
    pub(super) fn resource_mentions(&self, text: &str) -> Vec<ResourceMention> {
        let Some(servers) = self.servers.as_ref().filter(|_| text.contains('@')) else { return Vec::new() };
        let names: Vec<String> = servers.status().into_iter().map(|status| status.name).collect();
        find_mentions(text, &names)
    }

    /// Requests the text of a resource.
    pub(super) fn resource(&self, mention: &ResourceMention) -> Option<PromptFuture> {
        let servers = Arc::clone(self.servers.as_ref()?);
        Some(servers.resource_text(mention.server.clone(), mention.uri.clone()))
    }

    pub(super) fn restart_failed(&self) {
        self.servers.iter().for_each(|servers| servers.restart_failed());
    }
}
