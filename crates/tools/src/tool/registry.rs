//! A session's tools, by name.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use serde_json::Value;
use tiller_core::tool_catalog::ToolCatalog;
use tiller_core::tool_spec::{Access, ToolSet, ToolSpec, ToolTraits};

use super::bash::BashTool;
use super::edit_file::EditFile;
use super::environment::ToolEnvironment;
use super::find_files::FindFiles;
use super::git::{GitAdd, GitBranch, GitCommit, GitDiff, GitLog, GitStatus};
use super::github::{GithubCreateComment, GithubGetIssue, GithubListIssues};
use super::grep::Grep;
use super::job::JobTool;
use super::job_table::JobTable;
use super::list_files::ListFiles;
use super::read_file::ReadFile;
use super::seen_files::{SeenFiles, SeenHashes};
use super::update_plan::UpdatePlan;
use super::web_fetch::WebFetch;
use super::write_file::WriteFile;
use super::{Tool, TypedTool, TypedToolAdapter};
use crate::process::Runner;
use crate::workspace::{FileAccess, Workspace};

/// The built-in tools, in the order in which the model sees them.
const BUILT_IN: &[BuiltInTool] = &[
    BuiltInTool::new::<ReadFile>(),
    BuiltInTool::new::<ListFiles>(),
    BuiltInTool::new::<FindFiles>(),
    BuiltInTool::new::<Grep>(),
    BuiltInTool::new::<EditFile>(),
    BuiltInTool::new::<WriteFile>(),
    BuiltInTool::new::<BashTool>(),
    BuiltInTool::new::<JobTool>(),
    BuiltInTool::new::<GitStatus>(),
    BuiltInTool::new::<GitDiff>(),
    BuiltInTool::new::<GitLog>(),
    BuiltInTool::new::<GitBranch>(),
    BuiltInTool::new::<GitAdd>(),
    BuiltInTool::new::<GitCommit>(),
    BuiltInTool::new::<GithubListIssues>(),
    BuiltInTool::new::<GithubGetIssue>(),
    BuiltInTool::new::<GithubCreateComment>(),
    BuiltInTool::new::<WebFetch>(),
    BuiltInTool::new::<UpdatePlan>(),
];

/// A row of the table of built-in tools.
struct BuiltInTool {
    name: &'static str,
    traits: ToolTraits,
    create: fn(&ToolEnvironment) -> Arc<dyn Tool>,
}

impl BuiltInTool {
    const fn new<T: TypedTool + for<'a> From<&'a ToolEnvironment>>() -> Self {
        Self {
            name: T::NAME,
            traits: T::TRAITS,
            create: |environment| Arc::new(TypedToolAdapter::new(T::from(environment))),
        }
    }
}

/// Returns the traits of the built-in tools, for code without a session.
#[must_use]
pub fn built_in_tools() -> ToolCatalog {
    static CATALOG: LazyLock<ToolCatalog> =
        LazyLock::new(|| BUILT_IN.iter().map(|tool| (tool.name.to_owned(), tool.traits)).collect());
    CATALOG.clone()
}

/// An error for an unknown tool name.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown tool `{name}`; available tools: {known}; tool sets: {sets}")]
pub struct UnknownTool {
    /// The unknown name.
    pub name: String,
    /// The existing names, separated by commas.
    pub known: String,
    /// The names of the sets, separated by commas.
    pub sets: String,
}

/// The origin of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolSource {
    /// tiller itself.
    BuiltIn,
    /// An extension, by its name.
    Extension(String),
    /// A server, by its name.
    Server(String),
    /// The program that embeds the session.
    Host,
}

impl std::fmt::Display for ToolSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built-in"),
            Self::Extension(name) => write!(f, "extension {name}"),
            Self::Server(name) => write!(f, "MCP server {name}"),
            Self::Host => f.write_str("provided by the host program"),
        }
    }
}

/// A session's tools, in the order in which the model sees them.
#[derive(Clone, Default)]
pub struct Tools {
    tools: Vec<ToolEntry>,
    specs: Arc<[ToolSpec]>,
    shared: SharedState,
}

/// State shared by the built-in tools and the session.
#[derive(Clone, Default)]
struct SharedState {
    /// The directories that the tools may access.
    workspace: Option<Workspace>,
    /// The tools' background jobs.
    jobs: JobTable,
    /// The environment that the tools were created from.
    environment: Option<Box<ToolEnvironment>>,
}

/// A tool and its origin.
#[derive(Clone)]
struct ToolEntry {
    tool: Arc<dyn Tool>,
    source: ToolSource,
}

impl ToolEntry {
    fn name(&self) -> &str {
        &self.tool.spec().name
    }
}

impl std::fmt::Debug for Tools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl Tools {
    /// Creates a set of tools. A later tool replaces an earlier one of the same name, in its position.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        Self::with_source(tools, &ToolSource::Host)
    }

    fn with_source(tools: impl IntoIterator<Item = Arc<dyn Tool>>, source: &ToolSource) -> Self {
        Self::from_entries(tools.into_iter().map(|tool| ToolEntry { tool, source: source.clone() }))
    }

    fn from_entries(tools: impl IntoIterator<Item = ToolEntry>) -> Self {
        let mut unique: Vec<ToolEntry> = Vec::new();
        for tool in tools {
            match unique.iter_mut().find(|entry| entry.name() == tool.name()) {
                Some(entry) => *entry = tool,
                None => unique.push(tool),
            }
        }
        let specs = unique.iter().map(|entry| entry.tool.spec().clone()).collect();
        Self { tools: unique, specs, shared: SharedState::default() }
    }

    /// Creates the built-in tools that can work in the environment.
    #[must_use]
    pub fn built_in(environment: ToolEnvironment) -> Self {
        let offered = BUILT_IN.iter().filter(|tool| environment.has(tool.traits.set));
        let tools = offered.map(|tool| (tool.create)(&environment));
        let tools = Self::with_source(tools, &ToolSource::BuiltIn);
        let shared = SharedState {
            workspace: Some(environment.readable()),
            jobs: environment.jobs.clone(),
            environment: Some(Box::new(environment)),
        };
        Self { shared, ..tools }
    }

    /// Returns the same tools for another session. The built-in ones have their own background jobs, and no
    /// record of files that the model has seen.
    #[must_use]
    pub fn for_another_session(&self) -> Self {
        self.in_workspace(Workspace::for_another_session)
    }

    /// Returns the same tools for another session in another working directory, without the directories added
    /// to this one.
    #[must_use]
    pub fn at(&self, root: &Path) -> Self {
        self.in_workspace(|workspace| workspace.at(root))
    }

    fn in_workspace(&self, change: impl Fn(&Workspace) -> Workspace) -> Self {
        let Some(environment) = &self.shared.environment else {
            let shared = SharedState { jobs: JobTable::default(), ..self.shared.clone() };
            return Self { shared, ..self.clone() };
        };
        let (jobs, seen) = (JobTable::default(), SeenFiles::default());
        let workspace = change(&environment.workspace);
        let built_in = Self::built_in(ToolEnvironment { workspace, jobs, seen, ..(**environment).clone() });
        let entry = |entry: &ToolEntry| match built_in.entry(entry.name()) {
            Some(fresh) if entry.source == ToolSource::BuiltIn => fresh.clone(),
            _ => entry.clone(),
        };
        Self { shared: built_in.shared.clone(), ..Self::from_entries(self.tools.iter().map(entry)) }
    }

    /// Records the files that the model has seen in an earlier process, from the `details` of its compactions and
    /// results, oldest first, and clears all others. A file that has changed since then isn't overwritten unseen.
    pub fn restore_seen<'a>(&self, details: impl Iterator<Item = &'a Value>) {
        let Some(environment) = &self.shared.environment else { return };
        let workspace = environment.readable();
        let resolve = |path: &str| Some(workspace.resolve(path, FileAccess::Read).ok()?.path());
        let mut hashes = SeenHashes::default();
        details.for_each(|details| hashes.add(details));
        environment.seen.restore(hashes, resolve);
    }

    /// Returns a runner whose programs run in the sandbox for the tools' commands.
    #[must_use]
    pub fn sandboxed(&self, runner: &Runner) -> Runner {
        let profile = self
            .shared
            .environment
            .as_ref()
            .and_then(|environment| environment.sandbox.profile(&environment.workspace));
        profile.into_iter().fold(runner.clone(), Runner::with_sandbox)
    }

    /// Returns the tools.
    pub fn all(&self) -> impl Iterator<Item = Arc<dyn Tool>> {
        self.tools.iter().map(|entry| Arc::clone(&entry.tool))
    }

    /// Adds the tools of another set; they replace tools with the same names.
    #[must_use]
    pub fn replaced_by(self, others: &Self) -> Self {
        let shared = self.shared;
        Self { shared, ..Self::from_entries(self.tools.into_iter().chain(others.tools.iter().cloned())) }
    }

    /// Returns the directories that the built-in tools may access; `None` without built-in tools.
    #[must_use]
    pub fn workspace(&self) -> Option<&Workspace> {
        self.shared.workspace.as_ref()
    }

    /// Returns the background jobs of the built-in tools.
    #[must_use]
    pub fn jobs(&self) -> &JobTable {
        &self.shared.jobs
    }

    /// Adds a tool, or replaces the one with its name.
    #[must_use]
    pub fn with(self, tool: Arc<dyn Tool>) -> Self {
        self.with_from(tool, ToolSource::Host)
    }

    /// Adds a tool from another origin, or replaces the one with its name.
    #[must_use]
    pub fn with_from(self, tool: Arc<dyn Tool>, source: ToolSource) -> Self {
        let shared = self.shared;
        Self { shared, ..Self::from_entries(self.tools.into_iter().chain([ToolEntry { tool, source }])) }
    }

    /// Replaces the names of [sets](ToolSet), and beginnings of names such as `mcp__github__*`, with the names of their
    /// tools.
    #[must_use]
    pub fn expand_sets(&self, names: &[String]) -> Vec<String> {
        let expand = |name: &String| {
            let set = ToolSet::ALL.iter().find(|set| set.name() == *name);
            let is_meant = |spec: &ToolSpec| match (set, name.strip_suffix('*')) {
                (Some(set), _) => spec.traits.set == Some(*set),
                (None, Some(start)) => spec.name.starts_with(start),
                (None, None) => false,
            };
            let meant: Vec<String> =
                self.specs.iter().filter(|spec| is_meant(spec)).map(|spec| spec.name.clone()).collect();
            if meant.is_empty() && set.is_none() { vec![name.clone()] } else { meant }
        };
        names.iter().flat_map(expand).collect()
    }

    /// Adds tools at the end. A tool whose name is taken is omitted.
    #[must_use]
    pub fn with_others(self, others: impl IntoIterator<Item = (Arc<dyn Tool>, ToolSource)>) -> Self {
        let shared = self.shared;
        let mut tools = self.tools;
        for (tool, source) in others {
            let entry = ToolEntry { tool, source };
            if tools.iter().all(|known| known.name() != entry.name()) {
                tools.push(entry);
            }
        }
        Self { shared, ..Self::from_entries(tools) }
    }

    /// Selects the tools with these names, in this order.
    ///
    /// # Errors
    /// If no tool has one of the names.
    pub fn restrict(&self, names: &[String]) -> Result<Self, UnknownTool> {
        let tools: Result<Vec<_>, _> =
            names.iter().map(|name| self.entry(name).cloned().ok_or_else(|| self.unknown(name))).collect();
        Ok(Self { shared: self.shared.clone(), ..Self::from_entries(tools?) })
    }

    fn unknown(&self, name: &str) -> UnknownTool {
        let sets: Vec<&str> = ToolSet::ALL.iter().map(|set| set.name()).collect();
        let known = self.names().collect::<Vec<_>>().join(", ");
        UnknownTool { name: name.to_owned(), known, sets: sets.join(", ") }
    }

    /// Removes the tools that run programs, and the shell tools.
    #[must_use]
    pub fn without_programs(self) -> Self {
        let shared = self.shared;
        let runs_none =
            |traits: ToolTraits| traits.access != Access::Executes && traits.set != Some(ToolSet::Bash);
        let others = self.tools.into_iter().filter(|entry| runs_none(entry.tool.spec().traits));
        Self { shared, ..Self::from_entries(others) }
    }

    /// Returns the specifications for the model.
    #[must_use]
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        self.specs.clone()
    }

    /// Returns the traits of these tools and of all other built-in ones, because a log may have calls to any
    /// of them.
    #[must_use]
    pub fn catalog(&self) -> ToolCatalog {
        built_in_tools().with(self.specs.iter().map(|spec| (spec.name.clone(), spec.traits)))
    }

    /// Returns the tool with this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.entry(name).map(|entry| Arc::clone(&entry.tool))
    }

    /// Returns the origin of the tool with this name.
    #[must_use]
    pub fn source(&self, name: &str) -> Option<&ToolSource> {
        self.entry(name).map(|entry| &entry.source)
    }

    fn entry(&self, name: &str) -> Option<&ToolEntry> {
        self.tools.iter().find(|entry| entry.name() == name)
    }

    /// Iterates over the names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.specs.iter().map(|spec| spec.name.as_str())
    }
}
