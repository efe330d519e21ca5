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
    /// Locked only to replace or copy it, never across an await.
    offer: Mutex<ServerOffer>,
}

/// A running server's description of itself.
#[derive(Clone, Default)]
pub(crate) struct ServerOffer {
    /// Its name and version.
    pub(crate) version: String,
    pub(crate) tools: Vec<Arc<McpTool>>,
    pub(crate) prompts: Vec<Arc<McpPrompt>>,
    pub(crate) resources: Vec<ServedResource>,
}

impl Server {
    pub(crate) fn new(config: ServerConfig) -> Self {
        let (link, _) = watch::channel(LinkState::Starting);
        let (stderr, restart, offer) = (StderrTail::default(), Notify::new(), Mutex::default());
        Self { config, stderr, restart, link, offer }
    }

    pub(crate) fn name(&self) -> &str {
        &self.config.name
    }

    pub(crate) fn link(&self) -> Link {
        Link(self.link.subscribe())
    }

    pub(crate) fn restarting(&self) {
        self.link.send_replace(LinkState::Starting);
    }

    pub(crate) fn fail(&self, reason: String) {
        *self.offer() = ServerOffer::default();
        self.link.send_replace(LinkState::Failed(reason));
    }

    pub(crate) fn publish(&self, live: LivePeer, offer: ServerOffer) {
        *self.offer() = offer;
        self.link.send_replace(LinkState::Live(Arc::new(live)));
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

    /// Returns the resources of the server; they stay while it is restarted.
    pub(crate) fn resources(&self) -> Vec<ServedResource> {
        self.offer().resources.clone()
    }

    pub(crate) fn is_starting(&self) -> bool {
        matches!(*self.link.borrow(), LinkState::Starting)
    }

    fn offer(&self) -> MutexGuard<'_, ServerOffer> {
        self.offer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn status(&self) -> ToolServerStatus {
        let state = match &*self.link.borrow() {
            LinkState::Starting => ToolServerState::Starting,
            LinkState::Failed(reason) => ToolServerState::Failed(reason.clone()),
            LinkState::Live(_) => {
                let ServerOffer { version, tools, resources, .. } = self.offer().clone();
                let tools = tools.iter().map(|tool| summary(tool)).collect();
                let resources = resources.into_iter().filter(|resource| !resource.is_template);
                let resources = resources.map(|resource| resource.uri).collect();
                ToolServerState::Running { version, tools, resources }
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
