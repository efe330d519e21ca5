//! Extensions that run as a process: executables that speak JSON lines, as docs/extending.md describes.
//!
//! They start through the helper, so none outlives tiller, and without the environment variables that hold secrets.
//! After its end a process counts as having no opinion, except about calls if it reviews them, or if it never
//! declared its hooks.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tiller_core::event::Event;
use tiller_core::id::SessionId;
use tiller_core::message::{Message, ToolCall};
use tiller_tools::process::{Program, Runner};
use tiller_tools::tool::{OutputLimits, Tool, ToolOutput, ToolProgress};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::host::{Extensions, WarningSender};
use super::protocol::{self, Declared, PROTOCOL, ToProcess};
use super::remote_tool::RemoteTool;
use super::transport::Transport;
use super::{
    CallVerdict, CommandOutcome, EventDetail, Extension, ExtensionCommand, HookError, HookFuture,
    RequestChange, RequestContext, ResultChange,
};

/// Returns whether a program may still be run; called before each start.
pub type StartPermission = Arc<dyn Fn() -> bool + Send + Sync>;

/// An extension's executable.
#[derive(Clone)]
pub struct Launch {
    /// Absolute path of the executable; its file stem is the extension's name.
    pub path: PathBuf,
    /// Permission to run it.
    pub permit: StartPermission,
}

/// Settings shared by all processes.
#[derive(Clone)]
pub struct ProcessOptions {
    /// Starts the processes.
    pub runner: Runner,
    /// The first session that is reported to them.
    pub session: SessionId,
    /// Their working directory.
    pub cwd: PathBuf,
    /// Names of environment variables that they don't get.
    pub withheld_variables: Vec<String>,
    /// Limits on the results of their tools.
    pub limits: OutputLimits,
}

/// Makes Python scripts flush their output and write no cache: a project's files are trusted as they are, and a
/// cache would change them.
const VARIABLES: [(&str, &str); 2] = [("PYTHONUNBUFFERED", "1"), ("PYTHONDONTWRITEBYTECODE", "1")];

impl Extensions {
    /// Starts executables in parallel, and adds them in order. One that can't be started or isn't ready in time is
    /// added, too: its hooks are unknown, so calls need approval. The warning says so.
    pub async fn start(&mut self, launches: Vec<Launch>, options: &ProcessOptions) {
        let (limit, warn) = (self.timeout(), self.warn());
        self.mark_started(launches.iter().map(|launch| launch.path.clone()));
        let mut starting = JoinSet::new();
        for (at, launch) in launches.into_iter().enumerate() {
            let inner = SharedProcess::new(launch, options.clone(), warn.clone(), limit);
            starting.spawn(async move {
                inner.start().await;
                (at, inner)
            });
        }
        let mut started = starting.join_all().await;
        started.sort_by_key(|(at, _)| *at);
        for (_, inner) in started {
            self.add(Arc::new(Process { inner }));
        }
    }
}

/// An extension that runs as a process.
struct Process {
    inner: Arc<SharedProcess>,
}

/// State shared by a process and its tools.
pub(super) struct SharedProcess {
    name: String,
    launch: Launch,
    options: ProcessOptions,
    warn: WarningSender,
    limit: Duration,
    /// Locked only for reads and changes, never across an await.
    state: Mutex<ProcessState>,
}

#[derive(Clone, Default)]
struct ProcessState {
    /// Its latest declaration; `None` until it was ready once.
    declared: Option<Arc<Declared>>,
    transport: Option<Arc<Transport>>,
    /// State of the executable when it was started.
    file: Option<FileState>,
}

/// Identifies a version of an executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    inode: u64,
    bytes: u64,
    /// Seconds and nanoseconds of the last modification.
    changed: (i64, i64),
}

impl FileState {
    /// Returns `None` if the file has no readable metadata.
    fn read(path: &Path) -> Option<Self> {
        let facts = path.metadata().ok()?;
        Some(Self { inode: facts.ino(), bytes: facts.len(), changed: (facts.mtime(), facts.mtime_nsec()) })
    }
}

impl SharedProcess {
    fn new(launch: Launch, options: ProcessOptions, warn: WarningSender, limit: Duration) -> Arc<Self> {
        let name = launch.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Arc::new(Self { name, launch, options, warn, limit, state: Mutex::default() })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn limits(&self) -> OutputLimits {
        self.options.limits
    }

    fn state(&self) -> ProcessState {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change(&self, change: impl FnOnce(&mut ProcessState)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Starts the process, or reports the error.
    async fn start(&self) {
        // Taken before the start, so that a change in between counts as a change.
        let file = FileState::read(&self.launch.path);
        match self.start_process().await {
            Ok((transport, declared)) => {
                let (extension, path) = (&self.name, self.launch.path.display());
                tracing::info!(extension, %path, tools = declared.tools.len(), "extension started");
                let (declared, transport) = (Some(Arc::new(declared)), Some(Arc::new(transport)));
                self.change(|state| *state = ProcessState { declared, transport, file });
            }
            Err(reason) => {
                let path = self.launch.path.display();
                let consequence = "tool calls need approval until it runs or is removed";
                self.warn.send(format!(
                    "extension {} could not be started: {reason}; {consequence}: {path}",
                    self.name
                ));
            }
        }
    }

    /// Restarts the process if it has ended or its executable has changed.
    async fn restart(&self) {
        let before = self.state();
        let has_ended = before.transport.is_none_or(|transport| transport.is_over());
        let has_changed = before.file != FileState::read(&self.launch.path);
        if has_ended {
            return self.start().await;
        }
        if !has_changed {
            return;
        }
        if !(self.launch.permit)() {
            let name = &self.name;
            return self.warn.send(format!(
                "extension {name} has changed since it was trusted; the old version runs until tiller is restarted"
            ));
        }
        self.stop().await;
        self.start().await;
        let tools = |declared: Option<Arc<Declared>>| -> Vec<String> {
            declared.iter().flat_map(|declared| &declared.tools).map(|tool| tool.name.clone()).collect()
        };
        if tools(before.declared) != tools(self.declared()) {
            let name = &self.name;
            self.warn.send(format!("extension {name} has changed its tools; restart tiller to use them"));
        }
    }

    /// Stops the process, after calls in progress have finished.
    async fn stop(&self) {
        let mut transport = None;
        self.change(|state| transport = state.transport.take());
        if let Some(transport) = transport.and_then(Arc::into_inner) {
            transport.close().await;
            tracing::info!(extension = self.name, "extension stopped");
        }
    }

    async fn start_process(&self) -> Result<(Transport, Declared), String> {
        if !(self.launch.permit)() {
            return Err("it has changed since it was trusted; restart tiller".to_owned());
        }
        let ProcessOptions { runner, session, cwd, withheld_variables: withheld, .. } = &self.options;
        let program = Program {
            path: self.launch.path.clone(),
            cwd: cwd.clone(),
            withheld: withheld.clone(),
            variables: VARIABLES.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        };
        let child = runner.start_piped(&program).map_err(|error| error.to_string())?;
        let (transport, declared) = Transport::open(&self.name, child, self.warn.clone());
        let hello = ToProcess::Hello { protocol: PROTOCOL, tiller: env!("CARGO_PKG_VERSION"), session, cwd };
        let _ = transport.notify(&hello).await;
        let declared = match timeout(self.limit, declared).await {
            Err(_) => return Err(format!("it was not ready within {} ms", self.limit.as_millis())),
            Ok(Ok(Ok(declared))) => declared,
            Ok(Ok(Err(end))) => return Err(end),
            Ok(Err(_)) => return Err("it ended".to_owned()),
        };
        if declared.protocol != PROTOCOL {
            let version = declared.protocol;
            return Err(format!("it uses protocol version {version}, tiller uses version {PROTOCOL}"));
        }
        // A guard with a typo in its only hook would review nothing, and no one would notice.
        match declared.unknown_hook() {
            Some(hook) => Err(format!("unknown hook `{hook}`; available: {}", protocol::HOOKS.join(", "))),
            None => Ok((transport, declared)),
        }
    }

    /// Sends a request to the process.
    pub(super) async fn ask(
        &self,
        hook: &'static str,
        params: Value,
        progress: Option<ToolProgress>,
    ) -> Result<Value, HookError> {
        match self.state().transport {
            Some(transport) => transport.ask(hook, params, progress).await,
            None => Err(HookError::new("it is not running")),
        }
    }

    /// Sends a request if the process runs and has declared the hook.
    async fn ask_if_declared(
        &self,
        hook: &'static str,
        params: impl FnOnce() -> Value,
    ) -> Result<Value, HookError> {
        match self.state() {
            ProcessState { declared: Some(declared), transport: Some(transport), .. }
                if declared.has(hook) && !transport.is_over() =>
            {
                transport.ask(hook, params(), None).await
            }
            _ => Ok(Value::Null),
        }
    }

    fn declared(&self) -> Option<Arc<Declared>> {
        self.state().declared
    }

    /// Resolves declared paths relative to the executable's folder.
    fn resolved(&self, paths: &[PathBuf]) -> Vec<PathBuf> {
        let folder = self.launch.path.parent().unwrap_or(&self.options.cwd);
        paths.iter().map(|path| folder.join(path)).collect()
    }
}

impl Extension for Process {
    fn name(&self) -> &str {
        &self.inner.name
    }

    fn before_agent_start<'a>(&'a self, opening: &'a RequestContext) -> HookFuture<'a, RequestChange> {
        Box::pin(async move {
            let answer = self
                .inner
                .ask_if_declared("before_agent_start", || protocol::request_params(opening))
                .await?;
            protocol::request_change(answer)
        })
    }

    fn turn_start<'a>(&'a self, opening: &'a RequestContext) -> HookFuture<'a, RequestChange> {
        Box::pin(async move {
            protocol::request_change(
                self.inner.ask_if_declared("turn_start", || protocol::request_params(opening)).await?,
            )
        })
    }

    fn turn_end<'a>(&'a self, answer: &'a Message, results: &'a [Arc<Message>]) -> HookFuture<'a, ()> {
        Box::pin(async move {
            match self.inner.state() {
                ProcessState { declared: Some(declared), transport: Some(transport), .. }
                    if declared.has("turn_end") && !transport.is_over() =>
                {
                    transport.notify(&ToProcess::TurnEnd { message: answer, tool_results: results }).await
                }
                _ => Ok(()),
            }
        })
    }

    fn tool_call<'a>(&'a self, call: &'a ToolCall) -> HookFuture<'a, CallVerdict> {
        Box::pin(async move {
            // A process without a declaration may have been a guard.
            match self.inner.declared() {
                Some(declared) if !declared.has("tool_call") => Ok(CallVerdict::Allow),
                _ => protocol::verdict(self.inner.ask("tool_call", protocol::call_params(call), None).await?),
            }
        })
    }

    fn tool_result<'a>(&'a self, call: &'a ToolCall, output: &'a ToolOutput) -> HookFuture<'a, ResultChange> {
        Box::pin(async move {
            protocol::result_change(
                self.inner.ask_if_declared("tool_result", || protocol::result_params(call, output)).await?,
            )
        })
    }

    fn session_event<'a>(&'a self, event: &'a Event) -> HookFuture<'a, ()> {
        Box::pin(async move {
            match self.inner.state().transport {
                Some(transport) if !transport.is_over() => {
                    transport.notify(&ToProcess::Event { event }).await
                }
                _ => Ok(()),
            }
        })
    }

    fn event_detail(&self) -> EventDetail {
        self.inner.declared().map_or(EventDetail::Nothing, |declared| declared.event_detail())
    }

    fn reload(&self) -> HookFuture<'_, ()> {
        Box::pin(async move {
            self.inner.restart().await;
            Ok(())
        })
    }

    fn close(&self) -> HookFuture<'_, ()> {
        Box::pin(async move {
            self.inner.stop().await;
            Ok(())
        })
    }

    fn commands(&self) -> Vec<ExtensionCommand> {
        self.inner.declared().map(|declared| declared.commands.clone()).unwrap_or_default()
    }

    fn run_command<'a>(&'a self, name: &'a str, arguments: &'a str) -> HookFuture<'a, CommandOutcome> {
        Box::pin(async move {
            let params = json!({"name": name, "arguments": arguments});
            protocol::command_outcome(self.inner.ask("command", params, None).await?)
        })
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let Some(declared) = self.inner.declared() else { return Vec::new() };
        let tool = |declared| match RemoteTool::new(declared, Arc::clone(&self.inner)) {
            Ok(tool) => Some(Arc::new(tool) as Arc<dyn Tool>),
            Err(error) => {
                let (name, tool) = (&self.inner.name, &declared.name);
                self.inner.warn.send(format!("extension {name}: its tool {tool} is left out: {error}"));
                None
            }
        };
        declared.tools.iter().filter_map(tool).collect()
    }

    fn skills(&self) -> Vec<PathBuf> {
        self.inner.declared().map(|declared| self.inner.resolved(&declared.skills)).unwrap_or_default()
    }

    fn prompts(&self) -> Vec<PathBuf> {
        self.inner.declared().map(|declared| self.inner.resolved(&declared.prompts)).unwrap_or_default()
    }
}
