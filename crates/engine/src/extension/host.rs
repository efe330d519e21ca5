//! The extensions of a session: calling their hooks in order, and surviving them.

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
    CommandOutcome, Extension, ExtensionCommand, HookError, RequestChange, RequestContext, ResultChange,
};
use crate::resources::ResourcePaths;

/// Warnings that may wait before the session runs; more than that say nothing new.
const WARNINGS: usize = 64;

/// Time that one extension has to put its things away.
const FAREWELL: Duration = Duration::from_secs(1);

/// The extensions that a session is given, in order.
#[derive(Debug)]
pub struct Extensions {
    members: Vec<Arc<LoadedExtension>>,
    timeout: Duration,
    warn: Warn,
    heard: mpsc::Receiver<String>,
    /// Whether their tools were asked for.
    has_equipped: bool,
    newcomers: Newcomers,
}

/// Executables that would be extensions if tiller began now.
#[derive(Clone, Default)]
struct Newcomers {
    look: Option<Arc<dyn Fn() -> Vec<PathBuf> + Send + Sync>>,
    /// Those that were started.
    known: Vec<PathBuf>,
}

impl Newcomers {
    /// A sentence on each that was not started.
    fn told(&self) -> Vec<String> {
        let found = self.look.as_ref().map(|look| look()).unwrap_or_default();
        let told = |path: PathBuf| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            format!("extension {name} is new: it starts when tiller is started again: {}", path.display())
        };
        found.into_iter().filter(|path| !self.known.contains(path)).map(told).collect()
    }
}

impl std::fmt::Debug for Newcomers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.known).finish()
    }
}

/// Where extensions' troubles are told.
#[derive(Clone, Debug)]
pub(super) struct Warn(mpsc::Sender<String>);

impl Warn {
    pub(super) fn tell(&self, warning: String) {
        tracing::warn!("{warning}");
        // A full channel has enough to read already.
        let _ = self.0.try_send(warning);
    }
}

impl Default for Extensions {
    /// None yet, with 5 seconds for each hook.
    fn default() -> Self {
        Self::with_timeout(Duration::from_secs(5))
    }
}

impl Extensions {
    /// None yet. `timeout` is how long one extension may take over one hook.
    #[must_use]
    pub fn with_timeout(timeout: Duration) -> Self {
        let (warn, heard) = mpsc::channel(WARNINGS);
        Self {
            members: Vec::new(),
            timeout,
            warn: Warn(warn),
            heard,
            has_equipped: false,
            newcomers: Newcomers::default(),
        }
    }

    /// Adds an extension behind those there are.
    pub fn add(&mut self, extension: Arc<dyn Extension>) {
        self.members.push(Arc::new(LoadedExtension { extension, warned: AtomicU32::new(0) }));
    }

    /// Says where there are executables for extensions at any moment: those that were not started are told of when everything is
    /// read anew. `look` may read folders.
    pub fn look_out(&mut self, look: impl Fn() -> Vec<PathBuf> + Send + Sync + 'static) {
        self.newcomers.look = Some(Arc::new(look));
    }

    /// These executables are among them.
    pub(super) fn know(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        self.newcomers.known.extend(paths);
    }

    /// How long one extension may take over one hook.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Adds the extensions' folders of skills and templates to where these are looked for, and keeps templates from having the
    /// names of their commands.
    pub fn contribute(&self, sources: &mut ResourcePaths) {
        for member in &self.members {
            let place = |path| SearchPath { path, origin: ResourceOrigin::Extension, bounds: None };
            sources.skills.extend(member.extension.skills().into_iter().map(place));
            sources.templates.extend(member.extension.prompts().into_iter().map(place));
            sources.taken.extend(member.extension.commands().into_iter().map(|command| command.name));
        }
    }

    /// Sentences on commands that can't be reached: those whose name is among `taken`, or another extension's before.
    #[must_use]
    pub fn unreachable_commands(&self, taken: &[String]) -> Vec<String> {
        let mut found = Vec::new();
        let mut known: Vec<(String, &str)> = Vec::new();
        for member in &self.members {
            let extension = member.extension.name();
            for ExtensionCommand { name, .. } in member.extension.commands() {
                let other = known.iter().find(|(other, _)| *other == name).map(|(_, whose)| *whose);
                match other {
                    _ if taken.contains(&name) => found
                        .push(format!("extension {extension}: its command /{name} can't be typed on the screen: tiller has one of that name")),
                    Some(other) => found
                        .push(format!("extension {extension}: its command /{name} is left out: {other} has one of that name")),
                    None => known.push((name, extension)),
                }
            }
        }
        found
    }

    /// These tools and those that the extensions add, for whoever wants to choose among all of them before the session begins.
    /// One whose name is taken is left out, and a sentence in `notices` says so.
    #[must_use]
    pub fn equip(&mut self, tools: Tools, notices: &mut Vec<String>) -> Tools {
        self.has_equipped = true;
        let mut equipped = tools;
        for member in &self.members {
            for tool in member.extension.tools() {
                let name = tool.spec().name.clone();
                if equipped.find(&name).is_some() {
                    let extension = member.extension.name();
                    notices.push(format!(
                        "extension {extension}: its tool {name} is left out: there is one of that name"
                    ));
                } else {
                    let source = ToolSource::Extension(member.extension.name().to_owned());
                    equipped = equipped.with_from(tool, source);
                }
            }
        }
        equipped
    }

    pub(super) fn warn(&self) -> Warn {
        self.warn.clone()
    }

    /// The tools with theirs, the extensions at work, and what they will be in trouble about. What they were in trouble about
    /// before goes to `notices`.
    pub(crate) fn join(
        mut self,
        tools: Tools,
        notices: &mut Vec<String>,
    ) -> (Tools, ExtensionHost, mpsc::Receiver<String>) {
        let tools = if self.has_equipped { tools } else { self.equip(tools, notices) };
        let Self { members, timeout, warn, mut heard, newcomers, .. } = self;
        notices.extend(std::iter::from_fn(|| heard.try_recv().ok()));
        (tools, ExtensionHost { members: members.into(), timeout, warn, newcomers }, heard)
    }
}

/// An extension and what the user was told of it.
pub(super) struct LoadedExtension {
    pub(super) extension: Arc<dyn Extension>,
    /// A bit for each kind of trouble with each hook.
    warned: AtomicU32,
}

impl std::fmt::Debug for LoadedExtension {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.extension.name())
    }
}

/// The extensions of a session at work. Clones are the same ones.
#[derive(Clone, Debug)]
pub(crate) struct ExtensionHost {
    members: Arc<[Arc<LoadedExtension>]>,
    timeout: Duration,
    warn: Warn,
    newcomers: Newcomers,
}

/// A hook, for warnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hook {
    BeforeAgentStart,
    TurnStart,
    TurnEnd,
    ToolCall,
    ToolResult,
    SessionEvent,
    Command,
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
        }
    }
}

/// What went wrong with a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    Slow,
    Crashed,
    Failed(HookError),
}

impl Trouble {
    const KINDS: u32 = 3;

    const fn kind(&self) -> u32 {
        match self {
            Self::Slow => 0,
            Self::Crashed => 1,
            Self::Failed(_) => 2,
        }
    }

    pub(super) fn text(&self, limit: Duration) -> String {
        match self {
            Self::Slow => format!("took longer than {} ms", limit.as_millis()),
            Self::Crashed => "crashed".to_owned(),
            Self::Failed(error) => format!("failed: {error}"),
        }
    }
}

/// At which request its hooks are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The first of a run.
    RunStart,
    /// A later one.
    Turn,
}

impl ExtensionHost {
    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub(super) fn members(&self) -> &[Arc<LoadedExtension>] {
        &self.members
    }

    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(super) fn warn(&self) -> &Warn {
        &self.warn
    }

    /// What the extensions make of a request, each seeing what those before it changed.
    pub(crate) async fn open(&self, moment: Moment, opening: RequestContext) -> RequestContext {
        let mut now = opening;
        let known = now.tools.clone();
        for member in self.members.iter() {
            let hooks: &[Hook] = match moment {
                Moment::RunStart => &[Hook::BeforeAgentStart, Hook::TurnStart],
                Moment::Turn => &[Hook::TurnStart],
            };
            for hook in hooks {
                let (extension, seen, hook) = (Arc::clone(&member.extension), now.clone(), *hook);
                let work = async move {
                    match hook {
                        Hook::BeforeAgentStart => extension.before_agent_start(&seen).await,
                        _ => extension.turn_start(&seen).await,
                    }
                };
                if let Ok(change) = self.attempt(member, hook, work).await {
                    self.change(&mut now, change, (member, hook), &known);
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
            let error = HookError::new(format!("there is no tool {}", unknown.join(", ")));
            self.note(member, hook, &Trouble::Failed(error));
        }
        opening.tools = tools;
    }

    /// What the extensions make of a result.
    pub(crate) async fn revise(&self, call: &ToolCall, output: ToolOutput) -> ToolOutput {
        let mut now = output;
        for member in self.members.iter() {
            let extension = Arc::clone(&member.extension);
            let (call, seen) = (call.clone(), now.clone());
            let work = async move { extension.tool_result(&call, &seen).await };
            if let Ok(ResultChange { content, is_error }) = self.attempt(member, Hook::ToolResult, work).await
            {
                now.content = content.unwrap_or(now.content);
                now.is_error = is_error.unwrap_or(now.is_error);
            }
        }
        now
    }

    /// Every command. Of several of one name the first counts.
    pub(crate) fn commands(&self) -> Vec<ExtensionCommand> {
        let mut commands: Vec<ExtensionCommand> = Vec::new();
        for command in self.members.iter().flat_map(|member| member.extension.commands()) {
            if commands.iter().all(|known| known.name != command.name) {
                commands.push(command);
            }
        }
        commands
    }

    /// Gives every extension that can't work any more, or is another one by now, another chance; tells of new ones.
    pub(crate) async fn reload(&self) {
        let mut chances = JoinSet::new();
        for member in self.members.iter() {
            let (extension, limit) = (Arc::clone(&member.extension), self.timeout * 2);
            chances.spawn(async move { timeout(limit, extension.reload()).await });
        }
        let newcomers = self.newcomers.clone();
        let told = spawn_blocking(move || newcomers.told()).await.unwrap_or_default();
        told.into_iter().for_each(|news| self.warn.tell(news));
        while chances.join_next().await.is_some() {}
    }

    /// Runs a command; `None` when no extension has one of that name.
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
            let asked = name.clone();
            task.spawn(async move { extension.run_command(&asked, &arguments).await });
            let trouble = match task.join_next().await {
                Some(Ok(Ok(outcome))) => return Ok(outcome),
                Some(Ok(Err(error))) => Trouble::Failed(error),
                Some(Err(_)) | None => Trouble::Crashed,
            };
            let text = trouble.text(Duration::ZERO);
            Err(format!("extension {}: {} /{name} {text}", member.extension.name(), Hook::Command.name()))
        })
    }

    /// Lets every extension put its things away.
    pub(crate) async fn close(&self) {
        let mut farewells = JoinSet::new();
        for member in self.members.iter() {
            let extension = Arc::clone(&member.extension);
            farewells.spawn(async move { timeout(FAREWELL, extension.close()).await });
        }
        while farewells.join_next().await.is_some() {}
    }

    /// Runs a hook in a task of its own, where it can neither panic into ours nor keep it waiting. The first trouble of a kind is
    /// told.
    pub(super) async fn attempt<T: Send + 'static>(
        &self,
        member: &LoadedExtension,
        hook: Hook,
        work: impl Future<Output = Result<T, HookError>> + Send + 'static,
    ) -> Result<T, Trouble> {
        let mut task = JoinSet::new();
        task.spawn(work);
        let trouble = match timeout(self.timeout, task.join_next()).await {
            Ok(Some(Ok(Ok(value)))) => return Ok(value),
            Ok(Some(Ok(Err(error)))) => Trouble::Failed(error),
            Ok(Some(Err(_)) | None) => Trouble::Crashed,
            Err(_) => Trouble::Slow,
        };
        self.note(member, hook, &trouble);
        Err(trouble)
    }

    fn note(&self, member: &LoadedExtension, hook: Hook, trouble: &Trouble) {
        let bit = 1 << (hook as u32 * Trouble::KINDS + trouble.kind());
        if member.warned.fetch_or(bit, Ordering::Relaxed) & bit != 0 {
            return;
        }
        let (name, hook, text) = (member.extension.name(), hook.name(), trouble.text(self.timeout));
        self.warn.tell(format!("extension {name}: {hook} {text}"));
    }
}
