//! Servers for a test, and their events.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tiller_core::unit::Tokens;
use tiller_mcp::config::{ConfigOrigin, Endpoint, ServerConfig, StdioEndpoint};
use tiller_mcp::{LoginStorage, McpOptions, McpServers, UserPresence};
use tiller_tools::process::Runner;
use tiller_tools::tool::{
    ConnectedServers, ServedTool, ServerQuestion, Tool, ToolInvocation, ToolOutput, ToolProgress,
    ToolServerState, ToolServerStatus, ToolServersEvent,
};
use tokio::task::JoinHandle;

/// Longest wait for an event: then a test fails instead of hanging.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A large context window.
pub(crate) const WINDOW: Tokens = Tokens(1_000_000);

/// Logins in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemoryLogins(pub(crate) Arc<Mutex<BTreeMap<String, Value>>>);

impl LoginStorage for MemoryLogins {
    fn load(&self, url: &str) -> Result<Option<Value>, String> {
        Ok(self.0.lock().unwrap().get(url).cloned())
    }

    fn store(&self, url: &str, login: Option<Value>) -> Result<bool, String> {
        let mut logins = self.0.lock().unwrap();
        let before = match login {
            Some(login) => logins.insert(url.to_owned(), login),
            None => logins.remove(url),
        };
        Ok(before.is_some())
    }

    fn lock(&self) -> Result<Box<dyn Send>, String> {
        Ok(Box::new(()))
    }
}

/// The servers of a test.
pub(crate) struct TestServers {
    pub(crate) connected: ConnectedServers,
    dir: TempDir,
}

/// The configuration of the stdio server in a mode.
pub(crate) fn stdio(name: &str, mode: &str) -> ServerConfig {
    let endpoint = StdioEndpoint {
        command: env!("CARGO_BIN_EXE_mcp-test-server").into(),
        args: vec![mode.into()],
        env: vec![("TEST_VARIABLE".into(), "set".into())],
        cwd: None,
    };
    server(name, Endpoint::Stdio(endpoint))
}

pub(crate) fn server(name: &str, endpoint: Endpoint) -> ServerConfig {
    let origin = ConfigOrigin::Environment("MCP_SERVERS");
    ServerConfig { name: name.into(), origin, endpoint, summary: "test".into(), call_timeout: None }
}

pub(crate) fn options(dir: &Path) -> McpOptions {
    McpOptions {
        sandbox: None,
        networked: Vec::new(),
        runner: Runner::with_supervisor(env!("CARGO_BIN_EXE_mcp-supervisor")),
        cwd: dir.into(),
        secrets: vec!["TEST_VARIABLE".into()],
        start_timeout: TIMEOUT,
        list_timeout: TIMEOUT,
        call_timeout: TIMEOUT,
        search_threshold: 1.0,
        presence: UserPresence::Present,
        logins: Arc::new(MemoryLogins::default()),
    }
}

impl TestServers {
    pub(crate) fn start(configs: Vec<ServerConfig>) -> Self {
        Self::start_with(configs, |_| {})
    }

    pub(crate) fn start_with(configs: Vec<ServerConfig>, change: impl FnOnce(&mut McpOptions)) -> Self {
        let dir = TempDir::new().unwrap();
        let mut options = options(dir.path());
        change(&mut options);
        Self { connected: McpServers::start(configs, options), dir }
    }

    /// Waits for an event; returns the warnings before it.
    pub(crate) async fn wait_for(&mut self, expected: &ToolServersEvent) -> Vec<String> {
        let mut warnings = Vec::new();
        loop {
            let event = tokio::time::timeout(TIMEOUT, self.connected.events.recv()).await;
            match event.expect("the event never came").expect("the servers have ended") {
                event if event == *expected => return warnings,
                ToolServersEvent::Warning(warning) => warnings.push(warning),
                ToolServersEvent::Ready | ToolServersEvent::Listed | ToolServersEvent::Changed => {}
            }
        }
    }

    /// Waits for the next warning that is not about a single tool.
    pub(crate) async fn wait_for_failure(&mut self) -> String {
        loop {
            let event = tokio::time::timeout(TIMEOUT, self.connected.events.recv()).await;
            match event.expect("no warning came").expect("the servers have ended") {
                ToolServersEvent::Warning(warning) if !warning.contains("its tool ") => return warning,
                _ => {}
            }
        }
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.connected.servers.tools(WINDOW).iter().map(|served| served.tool.spec().name.clone()).collect()
    }

    pub(crate) fn tool(&self, name: &str) -> Arc<dyn Tool> {
        let tools = self.connected.servers.tools(WINDOW);
        let found = tools.into_iter().find(|served| served.tool.spec().name == name);
        found.map(|ServedTool { tool, .. }| tool).expect("there is such a tool")
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> ToolOutput {
        self.start_call(name, arguments).await.unwrap()
    }

    /// Starts a call; its output is awaited later.
    pub(crate) fn start_call(&self, name: &str, arguments: Value) -> JoinHandle<ToolOutput> {
        let tool = self.tool(name);
        tool.check(&arguments).unwrap();
        let progress = ToolProgress::new(|_| {});
        tokio::spawn(async move {
            let run = tool.run(ToolInvocation { arguments, progress });
            tokio::time::timeout(TIMEOUT, run).await.expect("the call never ended")
        })
    }

    /// Waits for the next question to the user.
    pub(crate) async fn question(&mut self) -> ServerQuestion {
        let question = tokio::time::timeout(TIMEOUT, self.connected.questions.recv()).await;
        question.expect("no question came").expect("the servers have ended")
    }

    pub(crate) fn status(&self) -> ToolServerStatus {
        self.connected.servers.status().remove(0)
    }

    pub(crate) fn failure(&self) -> String {
        match self.status().state {
            ToolServerState::Failed(reason) => reason,
            state => panic!("{state:?}"),
        }
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }
}

/// Waits until a condition holds. It depends on another process, so there is no event.
pub(crate) async fn until(condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, waiting).await.expect("it never happened");
}

/// A progress sink that keeps what it shows.
pub(crate) fn recording_progress() -> (ToolProgress, Arc<Mutex<Vec<String>>>) {
    let shown = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&shown);
    (ToolProgress::new(move |text| sink.lock().unwrap().push(text.text)), shown)
}
