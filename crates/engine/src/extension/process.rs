//! Extensions in a process of their own: executables that speak JSON lines, as docs/extending.md describes.
//!
//! They start through the helper, so none outlives tiller, and without the variables that hold secrets. One that ends is no
//! opinion from then on, except about calls if it judges them, or if it never came to say whether it does.

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

use super::host::{Extensions, Warn};
use super::protocol::{self, Declared, PROTOCOL, ToProcess};
use super::remote_tool::RemoteTool;
use super::transport::Transport;
use super::{
    CallVerdict, CommandOutcome, EventDetail, Extension, ExtensionCommand, HookError, HookFuture,
    RequestChange, RequestContext, ResultChange,
};

/// Whether a program may still be run; asked each time before it is.
pub type Permit = Arc<dyn Fn() -> bool + Send + Sync>;

/// An executable to be an extension.
#[derive(Clone)]
pub struct Launch {
    /// The executable; its name without the ending is the extension's. Absolute.
    pub path: PathBuf,
    /// Whether it may be run.
    pub permit: Permit,
}

/// What all of them are started with.
#[derive(Clone)]
pub struct Surroundings {
    /// What starts them.
    pub runner: Runner,
    /// The session they are told of first.
    pub session: SessionId,
    /// Where they work.
    pub cwd: PathBuf,
    /// Names of the environment variables that they don't get.
    pub withheld: Vec<String>,
    /// Most that a result of their tools may hold.
    pub limits: OutputLimits,
}

/// What makes scripts answer at once and leave nothing beside themselves: the files of a project are trusted as they are, and a
/// cache would change them.
const VARIABLES: [(&str, &str); 2] = [("PYTHONUNBUFFERED", "1"), ("PYTHONDONTWRITEBYTECODE", "1")];

impl Extensions {
    /// Starts executables side by side, and adds them in their order. One that can't be started, or isn't ready in time, is
    /// added too: nobody knows what it was to guard, so calls are asked about. The warning says so.
    pub async fn start(&mut self, launches: Vec<Launch>, surroundings: &Surroundings) {
        let (limit, warn) = (self.timeout(), self.warn());
        self.know(launches.iter().map(|launch| launch.path.clone()));
        let mut starting = JoinSet::new();
        for (at, launch) in launches.into_iter().enumerate() {
            let inner = Inner::new(launch, surroundings.clone(), warn.clone(), limit);
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

/// An extension in a process of its own.
struct Process {
    inner: Arc<Inner>,
}

/// What a process and its tools share.
pub(super) struct Inner {
    name: String,
    launch: Launch,
    surroundings: Surroundings,
    warn: Warn,
    limit: Duration,
    /// Held only to look or to change it, never while anything is waited for.
    state: Mutex<State>,
}

#[derive(Clone, Default)]
struct State {
    /// What it said of itself last; `None` until it was ready once.
    declared: Option<Arc<Declared>>,
    link: Option<Arc<Transport>>,
    /// The executable as it was when it was started.
    file: Option<FileState>,
}

/// Tells an executable from what it was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    inode: u64,
    bytes: u64,
    /// Seconds and nanoseconds of its last change.
    changed: (i64, i64),
}

impl FileState {
    /// `None` where there is nothing to read it from.
    fn of(path: &Path) -> Option<Self> {
        let facts = path.metadata().ok()?;
        Some(Self { inode: facts.ino(), bytes: facts.len(), changed: (facts.mtime(), facts.mtime_nsec()) })
    }
}

impl Inner {
    fn new(launch: Launch, surroundings: Surroundings, warn: Warn, limit: Duration) -> Arc<Self> {
        let name = launch.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Arc::new(Self { name, launch, surroundings, warn, limit, state: Mutex::default() })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn limits(&self) -> OutputLimits {
        self.surroundings.limits
    }

    fn state(&self) -> State {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Starts it; says what is wrong if that doesn't work.
    async fn start(&self) {
        // Before it runs: what is changed meanwhile counts as changed.
        let file = FileState::of(&self.launch.path);
        match self.begin().await {
            Ok((link, declared)) => {
                let (extension, path) = (&self.name, self.launch.path.display());
                tracing::info!(extension, %path, tools = declared.tools.len(), "extension started");
                let (declared, link) = (Some(Arc::new(declared)), Some(Arc::new(link)));
                self.change(|state| *state = State { declared, link, file });
            }
            Err(why) => {
                let path = self.launch.path.display();
                let consequence = "tool calls are asked about until it runs, or is removed";
                self.warn.tell(format!(
                    "extension {} could not be started: {why}; {consequence}: {path}",
                    self.name
                ));
            }
        }
    }

    /// Starts it again if it has ended, or is another program by now.
    async fn restart(&self) {
        let before = self.state();
        let has_ended = before.link.is_none_or(|link| link.is_over());
        let has_changed = before.file != FileState::of(&self.launch.path);
        if has_ended {
            return self.start().await;
        }
        if !has_changed {
            return;
        }
        if !(self.launch.permit)() {
            let name = &self.name;
            return self.warn.tell(format!(
                "extension {name} has changed since it was trusted, and goes on as it was; start tiller again"
            ));
        }
        self.stop().await;
        self.start().await;
        let tools = |declared: Option<Arc<Declared>>| -> Vec<String> {
            declared.iter().flat_map(|declared| &declared.tools).map(|tool| tool.name.clone()).collect()
        };
        if tools(before.declared) != tools(self.declared()) {
            let name = &self.name;
            self.warn.tell(format!(
                "extension {name} has other tools now; they count when tiller is started again"
            ));
        }
    }

    /// Lets it end. Where somebody is still talking with it, it ends when they have.
    async fn stop(&self) {
        let mut link = None;
        self.change(|state| link = state.link.take());
        if let Some(link) = link.and_then(Arc::into_inner) {
            link.close().await;
            tracing::info!(extension = self.name, "extension stopped");
        }
    }

    async fn begin(&self) -> Result<(Transport, Declared), String> {
        if !(self.launch.permit)() {
            return Err("it has changed since it was trusted; start tiller again".to_owned());
        }
        let Surroundings { runner, session, cwd, withheld, .. } = &self.surroundings;
        let program = Program {
            path: self.launch.path.clone(),
            cwd: cwd.clone(),
            withheld: withheld.clone(),
            variables: VARIABLES.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        };
        let talk = runner.converse(&program).map_err(|error| error.to_string())?;
        let (link, declared) = Transport::open(&self.name, talk, self.warn.clone());
        let hello = ToProcess::Hello { protocol: PROTOCOL, tiller: env!("CARGO_PKG_VERSION"), session, cwd };
        let _ = link.tell(&hello).await;
        let declared = match timeout(self.limit, declared).await {
            Err(_) => return Err(format!("it was not ready within {} ms", self.limit.as_millis())),
            Ok(Ok(Ok(declared))) => declared,
            Ok(Ok(Err(how))) => return Err(how),
            Ok(Err(_)) => return Err("it ended".to_owned()),
        };
        if declared.protocol != PROTOCOL {
            let theirs = declared.protocol;
            return Err(format!("it speaks version {theirs} of the protocol, and tiller version {PROTOCOL}"));
        }
        // A guard with a slip in its only hook would judge nothing, and nobody would notice.
        match declared.unknown_hook() {
            Some(hook) => Err(format!("there is no hook `{hook}`; there are {}", protocol::HOOKS.join(", "))),
            None => Ok((link, declared)),
        }
    }

    /// Asks the process.
    pub(super) async fn ask(
        &self,
        hook: &'static str,
        params: Value,
        progress: Option<ToolProgress>,
    ) -> Result<Value, HookError> {
        match self.state().link {
            Some(link) => link.ask(hook, params, progress).await,
            None => Err(HookError::new("it is not running")),
        }
    }

    /// Asks the process if it wants to be asked and is there.
    async fn consult(&self, hook: &'static str, params: impl FnOnce() -> Value) -> Result<Value, HookError> {
        match self.state() {
            State { declared: Some(declared), link: Some(link), .. }
                if declared.has(hook) && !link.is_over() =>
            {
                link.ask(hook, params(), None).await
            }
            _ => Ok(Value::Null),
        }
    }

    fn declared(&self) -> Option<Arc<Declared>> {
        self.state().declared
    }

    /// A path that it named, from its own folder on.
    fn resolved(&self, paths: &[PathBuf]) -> Vec<PathBuf> {
        let folder = self.launch.path.parent().unwrap_or(&self.surroundings.cwd);
        paths.iter().map(|path| folder.join(path)).collect()
    }
}

impl Extension for Process {
    fn name(&self) -> &str {
        &self.inner.name
    }

    fn before_agent_start<'a>(&'a self, opening: &'a RequestContext) -> HookFuture<'a, RequestChange> {
        Box::pin(async move {
            let answer = self.inner.consult("before_agent_start", || protocol::opening(opening)).await?;
            protocol::opening_change(answer)
        })
    }

    fn turn_start<'a>(&'a self, opening: &'a RequestContext) -> HookFuture<'a, RequestChange> {
        Box::pin(async move {
            protocol::opening_change(self.inner.consult("turn_start", || protocol::opening(opening)).await?)
        })
    }

    fn turn_end<'a>(&'a self, answer: &'a Message, results: &'a [Arc<Message>]) -> HookFuture<'a, ()> {
        Box::pin(async move {
            match self.inner.state() {
                State { declared: Some(declared), link: Some(link), .. }
                    if declared.has("turn_end") && !link.is_over() =>
                {
                    link.tell(&ToProcess::TurnEnd { message: answer, tool_results: results }).await
                }
                _ => Ok(()),
            }
        })
    }

    fn tool_call<'a>(&'a self, call: &'a ToolCall) -> HookFuture<'a, CallVerdict> {
        Box::pin(async move {
            // Whoever never said what it is for may have been there to guard.
            match self.inner.declared() {
                Some(declared) if !declared.has("tool_call") => Ok(CallVerdict::Allow),
                _ => protocol::verdict(self.inner.ask("tool_call", protocol::call(call), None).await?),
            }
        })
    }

    fn tool_result<'a>(&'a self, call: &'a ToolCall, output: &'a ToolOutput) -> HookFuture<'a, ResultChange> {
        Box::pin(async move {
            protocol::result_change(
                self.inner.consult("tool_result", || protocol::result(call, output)).await?,
            )
        })
    }

    fn session_event<'a>(&'a self, event: &'a Event) -> HookFuture<'a, ()> {
        Box::pin(async move {
            match self.inner.state().link {
                Some(link) if !link.is_over() => link.tell(&ToProcess::Event { event }).await,
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
            Err(why) => {
                let (name, tool) = (&self.inner.name, &declared.name);
                self.inner.warn.tell(format!("extension {name}: its tool {tool} is left out: {why}"));
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
