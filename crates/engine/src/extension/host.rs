//! Runs the hooks of a session's extensions in order, and contains their failures.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tiller_core::message::ToolCall;
use tiller_files::search_path::{ResourceOrigin, SearchPath};
use tiller_tools::tool::{ToolOutput, ToolSource, Tools};
use tokio::sync::mpsc;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::timeout;

use super::{
    CallVerdict, CommandOutcome, Extension, ExtensionCommand, HookError, HookFuture, RequestChange,
    RequestContext, ResultChange,
};
use crate::resources::ResourcePaths;

/// Number of warnings that are buffered before the session runs; further warnings are dropped.
const WARNING_CAPACITY: usize = 64;

/// Time limit for the shutdown of one extension.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// The extensions of a session, in order.
#[derive(Debug)]
pub struct Extensions {
    members: Vec<Arc<LoadedExtension>>,
    timeout: Duration,
    warn: WarningSender,
    warnings: mpsc::Receiver<String>,
    /// True after `equip` has added their tools.
    has_added_tools: bool,
    new_executables: NewExecutables,
}

/// Finds executables that would be extensions if tiller were started now.
#[derive(Clone, Default)]
struct NewExecutables {
    find: Option<Arc<dyn Fn() -> Vec<PathBuf> + Send + Sync>>,
    /// Paths of the executables that were started.
    known: Vec<PathBuf>,
}

impl NewExecutables {
    /// Returns a sentence for each executable that wasn't started.
    fn announcements(&self) -> Vec<String> {
        let found = self.find.as_ref().map(|find| find()).unwrap_or_default();
        let notice = |path: PathBuf| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            format!("extension {name} is new; restart tiller to use it: {}", path.display())
        };
        found.into_iter().filter(|path| !self.known.contains(path)).map(notice).collect()
    }
}

impl std::fmt::Debug for NewExecutables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.known).finish()
    }
}

/// Channel for extensions' warnings.
#[derive(Clone, Debug)]
pub(super) struct WarningSender(mpsc::Sender<String>);

impl WarningSender {
    pub(super) fn send(&self, warning: String) {
        tracing::warn!("{warning}");
        // A full channel already holds enough warnings.
        let _ = self.0.try_send(warning);
    }
}

impl Default for Extensions {
    /// Returns an empty set with a timeout of 5 seconds per hook.
    fn default() -> Self {
        Self::with_timeout(Duration::from_secs(5))
    }
}

impl Extensions {
    /// Returns an empty set. `timeout` limits each call of a hook.
    #[must_use]
    pub fn with_timeout(timeout: Duration) -> Self {
        let (warn, later_warnings) = mpsc::channel(WARNING_CAPACITY);
        Self {
            members: Vec::new(),
            timeout,
            warn: WarningSender(warn),
            warnings: later_warnings,
            has_added_tools: false,
            new_executables: NewExecutables::default(),
        }
    }

    /// Adds an extension after the existing ones.
    pub fn add(&mut self, extension: Arc<dyn Extension>) {
        self.members.push(Arc::new(LoadedExtension { extension, reported: AtomicU32::new(0) }));
    }

    /// Sets the function that lists the executables of extensions. On reload, executables that weren't
    /// started are announced. `find` may read directories.
    pub fn watch_for_new(&mut self, find: impl Fn() -> Vec<PathBuf> + Send + Sync + 'static) {
        self.new_executables.find = Some(Arc::new(find));
    }

    /// Marks executables as started.
    pub(super) fn mark_started(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        self.new_executables.known.extend(paths);
    }

    /// Returns the time limit of a hook.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Adds the extensions' directories of skills and templates to the search paths, and reserves the names
    /// of their commands, so that templates can't use them.
    pub fn add_resource_paths(&self, sources: &mut ResourcePaths) {
        for member in &self.members {
            let search_path = |path| SearchPath { path, origin: ResourceOrigin::Extension, bounds: None };
            sources.skills.extend(member.extension.skills().into_iter().map(search_path));
            sources.templates.extend(member.extension.prompts().into_iter().map(search_path));
            sources
                .reserved_names
                .extend(member.extension.commands().into_iter().map(|command| command.name));
        }
    }

    /// Returns a sentence for each command that is unreachable, because its name is in `reserved` or belongs
    /// to an earlier extension.
    #[must_use]
    pub fn unreachable_commands(&self, reserved: &[String]) -> Vec<String> {
        let mut found = Vec::new();
        let mut owners: Vec<(String, &str)> = Vec::new();
        for member in &self.members {
            let extension = member.extension.name();
            for ExtensionCommand { name, .. } in member.extension.commands() {
                let owner = owners.iter().find(|(command, _)| *command == name).map(|(_, owner)| *owner);
                match owner {
                    _ if reserved.contains(&name) => found
                        .push(format!("extension {extension}: its command /{name} is not available in the terminal UI: tiller has a command with that name")),
                    Some(owner) => found
                        .push(format!("extension {extension}: its command /{name} is ignored: {owner} has a command with that name")),
                    None => owners.push((name, extension)),
                }
            }
        }
        found
    }

    /// Adds the extensions' tools to a set, for callers that select among all tools before the session
    /// starts. Tools whose name is taken are omitted, with a notice in `notices`.
    #[must_use]
    pub fn add_tools(&mut self, tools: Tools, notices: &mut Vec<String>) -> Tools {
        self.has_added_tools = true;
        let mut equipped = tools;
        for member in &self.members {
            for tool in member.extension.tools() {
                let name = tool.spec().name.clone();
                if equipped.find(&name).is_some() {
                    let extension = member.extension.name();
                    notices.push(format!(
                        "extension {extension}: its tool {name} is ignored: there is already a tool with that name"
                    ));
                } else {
                    let source = ToolSource::Extension(member.extension.name().to_owned());
                    equipped = equipped.with_from(tool, source);
                }
            }
        }
        equipped
    }

    pub(super) fn warn(&self) -> WarningSender {
        self.warn.clone()
    }

    /// Joins the tools and starts the host. Also returns the receiver of later warnings; earlier warnings go
    /// to `notices`.
    pub(crate) fn join(
        mut self,
        tools: Tools,
        notices: &mut Vec<String>,
    ) -> (Tools, ExtensionHost, mpsc::Receiver<String>) {
        let tools = if self.has_added_tools { tools } else { self.add_tools(tools, notices) };
        let Self { members, timeout, warn, warnings: mut later_warnings, new_executables, .. } = self;
        notices.extend(std::iter::from_fn(|| later_warnings.try_recv().ok()));
        (tools, ExtensionHost { members: members.into(), timeout, warn, new_executables }, later_warnings)
    }
}

/// An extension and a record of the warnings about it.
pub(super) struct LoadedExtension {
    pub(super) extension: Arc<dyn Extension>,
    /// One bit for each kind of failure of each hook.
    reported: AtomicU32,
}

impl std::fmt::Debug for LoadedExtension {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.extension.name())
    }
}

/// The running extensions of a session. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct ExtensionHost {
    members: Arc<[Arc<LoadedExtension>]>,
    timeout: Duration,
    warn: WarningSender,
    new_executables: NewExecutables,
}

/// An extension that only guards the calls of an agent's session.
struct CallGuard(Arc<LoadedExtension>);

impl Extension for CallGuard {
    fn name(&self) -> &str {
        self.0.extension.name()
    }

    fn label(&self) -> String {
        self.0.extension.label()
    }

    fn hook_timeout(&self) -> Option<Duration> {
        self.0.extension.hook_timeout()
    }

    fn tool_call<'a>(&'a self, call: &'a ToolCall) -> HookFuture<'a, CallVerdict> {
        self.0.extension.tool_call(call)
    }

    fn tool_result<'a>(&'a self, call: &'a ToolCall, output: &'a ToolOutput) -> HookFuture<'a, ResultChange> {
        self.0.extension.tool_result(call, output)
    }
}

impl ExtensionHost {
    /// Returns the extensions for an agent session; they only guard its calls.
    pub(crate) fn guards(&self) -> Extensions {
        let mut guards = Extensions::with_timeout(self.timeout);
        for member in self.members.iter() {
            guards.add(Arc::new(CallGuard(Arc::clone(member))));
        }
        guards
    }
}

/// A hook, named in warnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hook {
    BeforeAgentStart,
    TurnStart,
    TurnEnd,
    ToolCall,
    ToolResult,
    SessionEvent,
    Command,
    SessionStart,
    PromptSubmit,
    RunEnd,
}

impl Hook {
    const fn name(self) -> &'static str {
        match self {
            Self::BeforeAgentStart => "before_agent_start",
            Self::TurnStart => "turn_start",
            Self::TurnEnd => "turn_end",
            Self::ToolCall => "tool_call",
            Self::ToolResult => "tool_result",
            Self::SessionEvent => "session_event",
            Self::Command => "command",
            Self::SessionStart => "session_start",
            Self::PromptSubmit => "prompt_submit",
            Self::RunEnd => "run_end",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HookFailure {
    TimedOut,
    Panicked,
    Failed(HookError),
}

impl HookFailure {
    const KINDS: u32 = 3;

    const fn kind(&self) -> u32 {
        match self {
            Self::TimedOut => 0,
            Self::Panicked => 1,
            Self::Failed(_) => 2,
        }
    }

    pub(super) fn text(&self, limit: Duration) -> String {
        match self {
            Self::TimedOut => format!("took longer than {} ms", limit.as_millis()),
            Self::Panicked => "crashed".to_owned(),
            Self::Failed(error) => format!("failed: {error}"),
        }
    }
}

/// The position of a request in its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestPosition {
    RunStart,
    Turn,
}

impl ExtensionHost {
    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub(super) fn members(&self) -> &[Arc<LoadedExtension>] {
        &self.members
    }

    /// Returns the time limit of an extension's hooks.
    pub(super) fn limit(&self, member: &LoadedExtension) -> Duration {
        member.extension.hook_timeout().unwrap_or(self.timeout)
    }

    pub(super) fn warn(&self) -> &WarningSender {
        &self.warn
    }

    /// Runs the hooks before a request, each on the result of the previous one.
    pub(crate) async fn review_request(
        &self,
        position: RequestPosition,
        opening: RequestContext,
    ) -> RequestContext {
        let mut now = opening;
        let tools = now.tools.clone();
        for member in self.members.iter() {
            let hooks: &[Hook] = match position {
                RequestPosition::RunStart => &[Hook::BeforeAgentStart, Hook::TurnStart],
                RequestPosition::Turn => &[Hook::TurnStart],
            };
            for hook in hooks {
                let (extension, context, hook) = (Arc::clone(&member.extension), now.clone(), *hook);
                let work = async move {
                    match hook {
                        Hook::BeforeAgentStart => extension.before_agent_start(&context).await,
                        _ => extension.turn_start(&context).await,
                    }
                };
                if let Ok(change) = self.run_hook(member, hook, work).await {
                    self.change(&mut now, change, (member, hook), &tools);
                }
            }
        }
        now
    }

    fn change(
        &self,
        opening: &mut RequestContext,
        change: RequestChange,
        (member, hook): (&LoadedExtension, Hook),
        known: &[String],
    ) {
        opening.prompt = change.prompt.unwrap_or_else(|| std::mem::take(&mut opening.prompt));
        opening.system = change.system.unwrap_or_else(|| std::mem::take(&mut opening.system));
        let Some(tools) = change.tools else { return };
        let (tools, unknown): (Vec<_>, Vec<_>) = tools.into_iter().partition(|name| known.contains(name));
        if !unknown.is_empty() {
            let error = HookError::new(format!("unknown tool {}", unknown.join(", ")));
            self.report_failure(member, hook, &HookFailure::Failed(error));
        }
        opening.tools = tools;
    }

    /// Runs the hooks on a result.
    pub(crate) async fn revise_result(&self, call: &ToolCall, output: ToolOutput) -> ToolOutput {
        let mut now = output;
        for member in self.members.iter() {
            let extension = Arc::clone(&member.extension);
            let (call, seen) = (call.clone(), now.clone());
            let work = async move { extension.tool_result(&call, &seen).await };
            if let Ok(ResultChange { content, is_error }) =
                self.run_hook(member, Hook::ToolResult, work).await
            {
                now.content = content.unwrap_or(now.content);
                now.is_error = is_error.unwrap_or(now.is_error);
            }
        }
        now
    }

    /// Returns all commands. If several have the same name, the first one wins.
    pub(crate) fn commands(&self) -> Vec<ExtensionCommand> {
        let mut commands: Vec<ExtensionCommand> = Vec::new();
        for command in self.members.iter().flat_map(|member| member.extension.commands()) {
            if commands.iter().all(|known| known.name != command.name) {
                commands.push(command);
            }
        }
        commands
    }

    /// Reloads the extensions, restarts those that have ended or changed, and announces new ones.
    pub(crate) async fn reload(&self) {
        let mut chances = JoinSet::new();
        for member in self.members.iter() {
            let (extension, limit) = (Arc::clone(&member.extension), self.timeout * 2);
            chances.spawn(async move { timeout(limit, extension.reload()).await });
        }
        let new_executables = self.new_executables.clone();
        let notices = spawn_blocking(move || new_executables.announcements()).await.unwrap_or_default();
        notices.into_iter().for_each(|announcement| self.warn.send(announcement));
        while chances.join_next().await.is_some() {}
    }

    /// Runs a command; `None` if no extension has a command of that name.
    pub(crate) fn command(
        &self,
        name: &str,
        arguments: &str,
    ) -> Option<impl Future<Output = Result<CommandOutcome, String>> + Send + 'static> {
        let has = |member: &&Arc<LoadedExtension>| {
            member.extension.commands().iter().any(|known| known.name == name)
        };
        let member = Arc::clone(self.members.iter().find(has)?);
        let (name, arguments) = (name.to_owned(), arguments.to_owned());
        Some(async move {
            let extension = Arc::clone(&member.extension);
            let mut task = JoinSet::new();
            let command_name = name.clone();
            task.spawn(async move { extension.run_command(&command_name, &arguments).await });
            let failure = match task.join_next().await {
                Some(Ok(Ok(outcome))) => return Ok(outcome),
                Some(Ok(Err(error))) => HookFailure::Failed(error),
                Some(Err(_)) | None => HookFailure::Panicked,
            };
            let text = failure.text(Duration::ZERO);
            Err(format!("extension {}: {} /{name} {text}", member.extension.name(), Hook::Command.name()))
        })
    }

    /// Shuts all extensions down.
    pub(crate) async fn close(&self) {
        let mut farewells = JoinSet::new();
        for member in self.members.iter() {
            let extension = Arc::clone(&member.extension);
            farewells.spawn(async move { timeout(SHUTDOWN_TIMEOUT, extension.close()).await });
        }
        while farewells.join_next().await.is_some() {}
    }

    /// Runs a hook in a separate task with a timeout, to contain panics and delays. The first failure of each
    /// kind is reported.
    pub(super) async fn run_hook<T: Send + 'static>(
        &self,
        member: &LoadedExtension,
        hook: Hook,
        work: impl Future<Output = Result<T, HookError>> + Send + 'static,
    ) -> Result<T, HookFailure> {
        let mut task = JoinSet::new();
        task.spawn(work);
        let failure = match timeout(self.limit(member), task.join_next()).await {
            Ok(Some(Ok(Ok(value)))) => return Ok(value),
            Ok(Some(Ok(Err(error)))) => HookFailure::Failed(error),
            Ok(Some(Err(_)) | None) => HookFailure::Panicked,
            Err(_) => HookFailure::TimedOut,
        };
        self.report_failure(member, hook, &failure);
        Err(failure)
    }

    fn report_failure(&self, member: &LoadedExtension, hook: Hook, failure: &HookFailure) {
        if matches!(failure, HookFailure::Failed(error) if error.is_shown) {
            return;
        }
        let bit = 1 << (hook as u32 * HookFailure::KINDS + failure.kind());
        if member.reported.fetch_or(bit, Ordering::Relaxed) & bit != 0 {
            return;
        }
        let (label, hook, text) = (member.extension.label(), hook.name(), failure.text(self.limit(member)));
        self.warn.send(format!("{label}: {hook} {text}"));
    }
}
