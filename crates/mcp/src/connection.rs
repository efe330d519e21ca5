//! The connection to one server. Its task restarts the server once if it ends, and reports failures.

mod announcements;
mod handshake;
mod optional_lists;
mod transport;

use std::convert::Infallible;
use std::future::pending;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::model::{ProtocolVersion, SubscriptionFilter};
use rmcp::service::{Peer, RoleClient, Subscription};
use tiller_tools::tool::{ProgramReview, ServerQuestion, ToolServersEvent};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::config::ConfigOrigin;
use crate::elicitation::ElicitationSender;
use crate::link::LivePeer;
use crate::options::McpOptions;
use crate::server::Server;
use crate::tool::{McpTool, ToolServer};
use transport::OpenConnection;

/// The task of a server.
pub(crate) struct Connection {
    pub(crate) server: Arc<Server>,
    pub(crate) options: Arc<McpOptions>,
    pub(crate) events: mpsc::Sender<ToolServersEvent>,
    pub(crate) questions: mpsc::Sender<ServerQuestion>,
    /// Number of servers that have neither started nor failed yet.
    pub(crate) starting: Arc<AtomicUsize>,
    /// Number of servers whose prompts and resources are awaited for the first time.
    pub(crate) unlisted: Arc<AtomicUsize>,
}

/// A server that responds, before its tools are published.
struct StartedServer {
    opened: OpenConnection,
    /// Changes of the list of tools, from before it was read.
    subscription: Option<Subscription>,
    tools: Vec<Arc<McpTool>>,
}

impl Connection {
    /// Runs until it is dropped. A failed server waits for the user to restart it.
    pub(crate) async fn run(self) {
        let mut is_listed = false;
        let mut started = self.start().await;
        if let Ok(started) = &started {
            self.publish(started);
        } else if let Err(reason) = &started {
            self.fail(reason.clone()).await;
        }
        if self.starting.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.emit(ToolServersEvent::Ready).await;
        }
        loop {
            if let Ok(first) = started {
                let reason = self.run_with_restart(first, &mut is_listed).await;
                self.fail(reason).await;
            }
            self.listed(&mut is_listed).await;
            self.server.restart.notified().await;
            self.server.restarting();
            started = self.start().await;
            match &started {
                Ok(started) => self.publish_change(started).await,
                Err(reason) => self.fail(reason.clone()).await,
            }
        }
    }

    /// Serves until the server has ended twice, or could not be restarted; returns the reason.
    async fn run_with_restart(&self, first: StartedServer, is_listed: &mut bool) -> String {
        let first_end = self.serve(first, is_listed).await;
        // Its tools stay offered, and calls wait for the new start.
        tracing::warn!(server = self.server.name(), "{first_end}; restarting it");
        match self.start().await {
            Ok(again) => {
                self.publish_change(&again).await;
                format!("{}; it was already restarted once", self.serve(again, is_listed).await)
            }
            Err(reason) => format!("{first_end}, and it could not be restarted: {reason}"),
        }
    }

    /// Counts the server as listed, once.
    async fn listed(&self, is_listed: &mut bool) {
        let is_first = !std::mem::replace(is_listed, true);
        if is_first && self.unlisted.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.emit(ToolServersEvent::Listed).await;
        }
    }

    async fn emit(&self, event: ToolServersEvent) {
        // Nobody listens after the session is closed.
        let _ = self.events.send(event).await;
    }

    async fn warn(&self, problem: String) {
        let warning = format!("MCP server {}: {problem}", self.server.name());
        self.emit(ToolServersEvent::Warning(warning)).await;
    }

    async fn fail(&self, reason: String) {
        self.server.fail(reason.clone());
        self.emit(ToolServersEvent::Changed).await;
        self.warn(reason).await;
    }

    fn asker(&self) -> ElicitationSender {
        ElicitationSender::new(self.server.name(), self.options.presence, self.questions.clone())
    }

    /// Connects and reads the list of tools, within the time limit.
    async fn start(&self) -> Result<StartedServer, String> {
        let limit = self.options.start_timeout;
        let review = self.reviewed_dir().map(ProgramReview::start);
        let attempt = async {
            let opened = transport::open(&self.server, &self.options, self.asker()).await?;
            let subscribed = timeout(self.options.list_timeout, subscribe(&opened.peer)).await;
            let tools = self.list_tools(&opened.peer).await?;
            Ok(StartedServer { opened, subscription: subscribed.ok().flatten(), tools })
        };
        let outcome = timeout(limit, attempt).await;
        if let Some(change) = review.and_then(|review| review.find_changes("it")) {
            self.warn(change).await;
        }
        let started =
            outcome.unwrap_or_else(|_| Err(format!("it was not ready within {} s", limit.as_secs_f64())));
        started.map_err(|reason| transport::explain_failure(reason, &self.server, &self.options))
    }

    fn tool_server(&self) -> ToolServer {
        ToolServer {
            name: self.server.name().to_owned(),
            call_timeout: self.server.config.call_timeout.unwrap_or(self.options.call_timeout),
            link: self.server.link(),
            reviewed: self.reviewed_dir().map(Path::to_owned),
        }
    }

    /// Returns the working directory of a server that the project configures.
    fn reviewed_dir(&self) -> Option<&Path> {
        let is_of_project = matches!(self.server.config.origin, ConfigOrigin::Project(_));
        is_of_project.then_some(self.options.cwd.as_path())
    }

    async fn list_tools(&self, peer: &Peer<RoleClient>) -> Result<Vec<Arc<McpTool>>, String> {
        let has_tools = peer.peer_info().is_some_and(|info| info.capabilities.tools.is_some());
        if !has_tools {
            return Ok(Vec::new());
        }
        let server = self.tool_server();
        let listed = peer.list_all_tools().await;
        let listed = listed.map_err(|error| format!("its tools can't be listed: {error}"))?;
        let mut tools: Vec<Arc<McpTool>> = Vec::with_capacity(listed.len());
        for declared in listed {
            let remote_name = declared.name.to_string();
            match McpTool::new(declared, server.clone()) {
                Ok(tool) if tools.iter().any(|known| known.name() == tool.name()) => {
                    self.warn(format!("its tool {remote_name} is skipped: duplicate name")).await;
                }
                Ok(tool) => tools.push(Arc::new(tool)),
                Err(error) => self.warn(format!("its tool {remote_name} is skipped: {error}")).await,
            }
        }
        Ok(tools)
    }

    fn publish(&self, started: &StartedServer) {
        let OpenConnection { peer, handler, .. } = &started.opened;
        let live = LivePeer {
            peer: peer.clone(),
            requests: handler.requests.clone(),
            asker: handler.asker.clone(),
            lists_changed: handler.lists_changed.clone(),
        };
        tracing::info!(server = self.server.name(), tools = started.tools.len(), "MCP server started");
        self.server.publish(live, version(peer), started.tools.clone());
    }

    async fn publish_change(&self, started: &StartedServer) {
        self.publish(started);
        self.emit(ToolServersEvent::Changed).await;
    }

    /// Follows the changes of a server's lists until it ends; returns the reason of its end.
    async fn serve(&self, mut started: StartedServer, is_listed: &mut bool) -> String {
        let mut lists = self.optional_lists(&started.opened.peer);
        loop {
            if lists.is_empty() {
                self.listed(is_listed).await;
            }
            let changed = started.opened.handler.lists_changed.clone();
            tokio::select! {
                biased;
                reason = started.opened.ended() => return reason,
                () = changed.wait_for_next() => {}
                never = drain(&mut started.subscription) => match never {},
                Some(read) = lists.next() => {
                    // The end of a server isn't a failure of its lists.
                    if !started.opened.peer.is_transport_closed() {
                        self.publish_list(read).await;
                    }
                    continue;
                }
            }
            let announced = changed.announced();
            // The next round notices a server that ends in the meantime.
            match timeout(self.options.start_timeout, self.list_tools(&started.opened.peer)).await {
                Ok(Ok(tools)) => {
                    started.tools = tools;
                    self.publish_change(&started).await;
                }
                Ok(Err(reason)) => self.warn(reason).await,
                Err(_) => self.warn("its tools can't be listed: no response".to_owned()).await,
            }
            changed.mark_read(announced);
            lists = self.optional_lists(&started.opened.peer);
        }
    }
}

/// Returns the name and version that a server reports.
fn version(peer: &Peer<RoleClient>) -> String {
    let info = peer.peer_info();
    let implementation = info.as_ref().and_then(|info| info.server_info.as_ref());
    implementation.map(|server| format!("{} {}", server.name, server.version)).unwrap_or_default()
}

/// Subscribes to changes of the lists of tools, prompts and resources. Servers of earlier protocol versions notify
/// without a subscription.
async fn subscribe(peer: &Peer<RoleClient>) -> Option<Subscription> {
    let info = peer.peer_info()?;
    let is_modern = info.protocol_version == ProtocolVersion::V_2026_07_28;
    let capabilities = &info.capabilities;
    let tools = capabilities.tools.as_ref().and_then(|tools| tools.list_changed) == Some(true);
    let prompts = capabilities.prompts.as_ref().and_then(|prompts| prompts.list_changed) == Some(true);
    let resources =
        capabilities.resources.as_ref().and_then(|resources| resources.list_changed) == Some(true);
    if !is_modern || !(tools || prompts || resources) {
        return None;
    }
    let mut filter = SubscriptionFilter::new();
    filter.tools_list_changed = tools.then_some(true);
    filter.prompts_list_changed = prompts.then_some(true);
    filter.resources_list_changed = resources.then_some(true);
    peer.listen(filter)
        .await
        .inspect_err(|error| tracing::warn!(%error, "can't watch an MCP server's tools"))
        .ok()
}

/// Discards the notifications of a subscription, which were counted where they were read.
async fn drain(subscription: &mut Option<Subscription>) -> Infallible {
    while let Some(open) = subscription {
        if !matches!(open.next().await, Ok(Some(_))) {
            *subscription = None;
        }
    }
    pending().await
}
