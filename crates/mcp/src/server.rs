//! One server: its configuration, its state, and its tools.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tiller_tools::tool::{ServedResource, ServedToolSummary, ToolServerState, ToolServerStatus};
use tokio::sync::{Notify, watch};

use crate::config::ServerConfig;
use crate::link::{Link, LinkState, LivePeer};
use crate::prompt::McpPrompt;
use crate::stderr_tail::StderrTail;
use crate::tool::McpTool;

/// A server of the session.
pub(crate) struct Server {
    pub(crate) config: ServerConfig,
    pub(crate) stderr: StderrTail,
    /// Wakes the connection of a failed server for another start.
    pub(crate) restart: Notify,
    link: watch::Sender<LinkState>,
    /// False while its first list of prompts is awaited.
    has_prompts: watch::Sender<bool>,
    /// Locked only to replace or copy it, never across an await.
    offer: Mutex<ServerListing>,
}

/// A running server's description of itself.
#[derive(Clone, Default)]
pub(crate) struct ServerListing {
    /// Its name and version.
    pub(crate) version: String,
    pub(crate) tools: Vec<Arc<McpTool>>,
    pub(crate) prompts: Vec<Arc<McpPrompt>>,
    pub(crate) resources: Vec<ServedResource>,
    pub(crate) templates: Vec<ServedResource>,
}

/// A server's list other than its tools.
pub(crate) enum OptionalList {
    Prompts(Vec<Arc<McpPrompt>>),
    Resources(Vec<ServedResource>),
    Templates(Vec<ServedResource>),
}

impl Server {
    pub(crate) fn new(config: ServerConfig) -> Self {
        let (link, _) = watch::channel(LinkState::Starting);
        let (stderr, restart, offer) = (StderrTail::default(), Notify::new(), Mutex::default());
        Self { config, stderr, restart, link, has_prompts: watch::Sender::new(false), offer }
    }

    pub(crate) fn name(&self) -> &str {
        &self.config.name
    }

    pub(crate) fn link(&self) -> Link {
        Link(self.link.subscribe())
    }

    pub(crate) fn restarting(&self) {
        self.has_prompts.send_replace(false);
        self.link.send_replace(LinkState::Starting);
    }

    pub(crate) fn fail(&self, reason: String) {
        *self.offer() = ServerListing::default();
        self.link.send_replace(LinkState::Failed(reason));
        self.prompts_read();
    }

    /// Publishes the tools; prompts and resources stay as they were.
    pub(crate) fn publish(&self, live: LivePeer, version: String, tools: Vec<Arc<McpTool>>) {
        let mut offer = self.offer();
        (offer.version, offer.tools) = (version, tools);
        drop(offer);
        self.link.send_replace(LinkState::Live(Arc::new(live)));
    }

    pub(crate) fn publish_list(&self, list: OptionalList) {
        let mut offer = self.offer();
        match list {
            OptionalList::Prompts(prompts) => offer.prompts = prompts,
            OptionalList::Resources(resources) => offer.resources = resources,
            OptionalList::Templates(templates) => offer.templates = templates,
        }
    }

    /// Ends the wait for the list of prompts: it is known, or won't come.
    pub(crate) fn prompts_read(&self) {
        self.has_prompts.send_replace(true);
    }

    /// Waits for the list of prompts, for a limited time.
    pub(crate) async fn wait_for_prompts(&self) {
        // This server holds the sender.
        let _ = self.has_prompts.subscribe().wait_for(|has_prompts| *has_prompts).await;
    }

    pub(crate) fn has_failed(&self) -> bool {
        matches!(*self.link.borrow(), LinkState::Failed(_))
    }

    /// Returns the tools of the server; they stay while it is restarted.
    pub(crate) fn tools(&self) -> Vec<Arc<McpTool>> {
        self.offer().tools.clone()
    }

    /// Returns the prompts of the server; they stay while it is restarted.
    pub(crate) fn prompts(&self) -> Vec<Arc<McpPrompt>> {
        self.offer().prompts.clone()
    }

    /// Returns the resources and templates of the server; they stay while it is restarted.
    pub(crate) fn resources(&self) -> Vec<ServedResource> {
        let offer = self.offer();
        [&*offer.resources, &*offer.templates].concat()
    }

    /// Returns whether it may still name prompts.
    pub(crate) fn is_starting(&self) -> bool {
        !*self.has_prompts.borrow()
    }

    fn offer(&self) -> MutexGuard<'_, ServerListing> {
        self.offer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn status(&self) -> ToolServerStatus {
        let state = match &*self.link.borrow() {
            LinkState::Starting => ToolServerState::Starting,
            LinkState::Failed(reason) => ToolServerState::Failed(reason.clone()),
            LinkState::Live(_) => {
                let ServerListing { version, tools, prompts, resources, templates } = self.offer().clone();
                let tools = tools.iter().map(|tool| summary(tool)).collect();
                let prompts = prompts.iter().map(|prompt| prompt.command.clone()).collect();
                let resources = resources.into_iter().chain(templates);
                let resources = resources.map(|resource| resource.uri).collect();
                ToolServerState::Running { version, tools, prompts, resources }
            }
        };
        ToolServerStatus {
            name: self.config.name.clone(),
            transport: self.config.endpoint.transport(),
            address: self.config.summary.clone(),
            origin: self.config.origin.to_string(),
            state,
            stderr: self.stderr.lines(),
        }
    }
}

fn summary(tool: &McpTool) -> ServedToolSummary {
    ServedToolSummary { name: tool.name().to_owned(), hints: tool.hints().to_vec() }
}
