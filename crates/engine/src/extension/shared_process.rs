//! An extension's process, shared with the tools that it declared: start, end, and requests.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tiller_core::id::SessionId;
use tiller_tools::process::{Program, Runner};
use tiller_tools::tool::ToolProgress;
use tokio::time::timeout;

use super::HookError;
use super::host::WarningSender;
use super::protocol::{self, Declaration, PROTOCOL, ToProcess};
use super::transport::Transport;

/// A function that returns true while a program may be run; called before each start.
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
    /// The first session reported to the processes.
    pub session: SessionId,
    /// The processes' working directory.
    pub cwd: PathBuf,
    /// Names of environment variables withheld from the processes.
    pub withheld_variables: Vec<String>,
}

/// Makes Python scripts flush their output and write no cache. A project's files are trusted in their current
/// state, and a cache would change them.
const VARIABLES: [(&str, &str); 2] = [("PYTHONUNBUFFERED", "1"), ("PYTHONDONTWRITEBYTECODE", "1")];

/// State shared by a process and its tools.
pub(super) struct SharedProcess {
    pub(super) name: String,
    launch: Launch,
    options: ProcessOptions,
    pub(super) warn: WarningSender,
    limit: Duration,
    /// Locked only for reads and changes, never across an await.
    state: Mutex<ProcessState>,
}

#[derive(Clone, Default)]
pub(super) struct ProcessState {
    /// The process's latest declaration; `None` until it was first ready.
    pub(super) declared: Option<Arc<Declaration>>,
    pub(super) transport: Option<Arc<Transport>>,
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
    /// Reads the file's state; `None` if its metadata is unreadable.
    fn read(path: &Path) -> Option<Self> {
        let facts = path.metadata().ok()?;
        Some(Self { inode: facts.ino(), bytes: facts.len(), changed: (facts.mtime(), facts.mtime_nsec()) })
    }
}

impl SharedProcess {
    pub(super) fn new(
        launch: Launch,
        options: ProcessOptions,
        warn: WarningSender,
        limit: Duration,
    ) -> Arc<Self> {
        let name = launch.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Arc::new(Self { name, launch, options, warn, limit, state: Mutex::default() })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn state(&self) -> ProcessState {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut ProcessState)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Starts the process, or reports the error.
    pub(super) async fn start(&self) {
        // Read before the start, so that a change in between counts as a change.
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
    pub(super) async fn restart(&self) {
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
        let tools = |declared: Option<Arc<Declaration>>| -> Vec<String> {
            declared.iter().flat_map(|declared| &declared.tools).map(|tool| tool.name.clone()).collect()
        };
        if tools(before.declared) != tools(self.declared()) {
            let name = &self.name;
            self.warn.send(format!("extension {name} has changed its tools; restart tiller to use them"));
        }
    }

    /// Stops the process after the calls in progress have finished.
    pub(super) async fn stop(&self) {
        let mut transport = None;
        self.change(|state| transport = state.transport.take());
        if let Some(transport) = transport.and_then(Arc::into_inner) {
            transport.close().await;
            tracing::info!(extension = self.name, "extension stopped");
        }
    }

    async fn start_process(&self) -> Result<(Transport, Declaration), String> {
        if !(self.launch.permit)() {
            return Err("it has changed since it was trusted; restart tiller".to_owned());
        }
        let ProcessOptions { runner, session, cwd, withheld_variables: withheld, .. } = &self.options;
        let program = Program {
            path: self.launch.path.clone(),
            arguments: Vec::new(),
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
        // A guard with a typo in its only hook would review nothing, and nobody would notice.
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

    /// Sends a request if the process is running and has declared the hook.
    pub(super) async fn request_if_declared(
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

    pub(super) fn declared(&self) -> Option<Arc<Declaration>> {
        self.state().declared
    }

    /// Resolves declared paths relative to the executable's directory.
    pub(super) fn resolved(&self, paths: &[PathBuf]) -> Vec<PathBuf> {
        let dir = self.launch.path.parent().unwrap_or(&self.options.cwd);
        paths.iter().map(|path| dir.join(path)).collect()
    }
}
