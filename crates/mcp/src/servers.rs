//! The servers of a session: started in parallel, offered as tools.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tiller_core::unit::Tokens;
use tiller_tools::tool::{
    ConnectedServers, PromptFuture, ServedPrompt, ServedResource, ServedTool, ToolServerStatus, ToolServers,
    ToolServersEvent,
};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::config::ServerConfig;
use crate::connection::Connection;
use crate::options::McpOptions;
use crate::resource;
use crate::search::{self, FoundTools, SearchTool};
use crate::server::Server;
use crate::tool_name::tool_name;

/// Events that wait for the session; a server waits when it is full.
const EVENT_CAPACITY: usize = 64;

/// The MCP servers of a session.
pub struct McpServers {
    servers: Vec<Arc<Server>>,
    found: Arc<FoundTools>,
    search_threshold: f64,
    call_timeout: Duration,
    /// The connections. Locked only to drop them.
    _connections: Mutex<JoinSet<()>>,
}

impl McpServers {
    /// Starts the servers and returns immediately. Call it within a tokio runtime.
    #[must_use]
    pub fn start(configs: Vec<ServerConfig>, options: McpOptions) -> ConnectedServers {
        let (events, received) = mpsc::channel(EVENT_CAPACITY);
        let (questions, asked) = mpsc::channel(EVENT_CAPACITY);
        let (search_threshold, call_timeout) = (options.search_threshold, options.call_timeout);
        let [starting, unlisted] = [(); 2].map(|()| Arc::new(AtomicUsize::new(configs.len())));
        let options = Arc::new(options);
        let servers: Vec<Arc<Server>> =
            configs.into_iter().map(|config| Arc::new(Server::new(config))).collect();
        let mut connections = JoinSet::new();
        for server in &servers {
            let connection = Connection {
                server: Arc::clone(server),
                options: Arc::clone(&options),
                events: events.clone(),
                questions: questions.clone(),
                starting: Arc::clone(&starting),
                unlisted: Arc::clone(&unlisted),
            };
            connections.spawn(connection.run());
        }
        if servers.is_empty() {
            // The channel is new, so it has room.
            let _ = events.try_send(ToolServersEvent::Ready);
            let _ = events.try_send(ToolServersEvent::Listed);
        }
        let found = Arc::new(FoundTools::new(events));
        let hub =
            Self { servers, found, search_threshold, call_timeout, _connections: Mutex::new(connections) };
        ConnectedServers { servers: Arc::new(hub), events: received, questions: asked }
    }

    /// Returns the tools of all running servers. If several have one name, the first counts.
    fn all_tools(&self) -> Vec<ServedTool> {
        let mut tools: Vec<ServedTool> = Vec::new();
        for server in &self.servers {
            for tool in server.tools() {
                if tools.iter().all(|known| known.tool.spec().name != tool.name()) {
                    tools.push(ServedTool { tool, server: server.name().to_owned() });
                }
            }
        }
        tools
    }
}

impl ToolServers for McpServers {
    fn tools(&self, window: Tokens) -> Vec<ServedTool> {
        let all = self.all_tools();
        if !search::is_needed(&all, window, self.search_threshold) {
            return all;
        }
        let search = SearchTool::new(&all, Arc::clone(&self.found));
        let found = all.into_iter().filter(|served| self.found.contains(&served.tool.spec().name));
        let search = ServedTool { tool: Arc::new(search), server: search::SERVER.to_owned() };
        [search].into_iter().chain(found).collect()
    }

    fn status(&self) -> Vec<ToolServerStatus> {
        self.servers.iter().map(|server| server.status()).collect()
    }

    fn prompts(&self) -> Vec<ServedPrompt> {
        self.servers.iter().flat_map(|server| server.prompts()).map(|prompt| prompt.summary()).collect()
    }

    fn resources(&self) -> Vec<ServedResource> {
        self.servers.iter().flat_map(|server| server.resources()).collect()
    }

    fn takes_command(&self, command: &str) -> bool {
        self.servers.iter().any(|server| {
            server.prompts().iter().any(|prompt| prompt.command == command)
                || server.is_starting() && command.starts_with(&tool_name(server.name(), ""))
        })
    }

    fn prompt_text(self: Arc<Self>, command: String, arguments: String) -> PromptFuture {
        Box::pin(async move {
            let is_of = |server: &&Arc<Server>| command.starts_with(&tool_name(server.name(), ""));
            let server = self.servers.iter().find(is_of).ok_or("no MCP server has this prompt")?;
            let failed = |error: String| format!("MCP server {}: {error}", server.name());
            server.link().wait_until_live().await.map_err(failed)?;
            server.wait_for_prompts().await;
            let prompts = server.prompts();
            let prompt = prompts.iter().find(|prompt| prompt.command == command);
            let missing = || failed(format!("unknown prompt /{command}"));
            prompt.ok_or_else(missing)?.text(&arguments).await.map_err(failed)
        })
    }

    fn resource_text(self: Arc<Self>, server: String, uri: String) -> PromptFuture {
        Box::pin(async move {
            let server =
                self.servers.iter().find(|known| known.name() == server).ok_or("no such MCP server")?;
            let live = server.link().wait_until_live().await?;
            let limit = server.config.call_timeout.unwrap_or(self.call_timeout);
            resource::read(&live, uri, limit).await
        })
    }

    fn restart_failed(&self) {
        for server in self.servers.iter().filter(|server| server.has_failed()) {
            server.restart.notify_one();
        }
    }
}

impl Drop for McpServers {
    fn drop(&mut self) {
        self._connections.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
        for server in &self.servers {
            server.fail("the session is closed".to_owned());
        }
    }
}
