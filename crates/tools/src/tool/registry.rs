//! The tools of a session, by name.

use std::path::PathBuf;
use std::sync::Arc;

use tiller_core::message::ToolSpec;

use super::bash::{Bash, BashTimes};
use super::edit_file::EditFile;
use super::grep::Grep;
use super::list_files::ListFiles;
use super::read_file::ReadFile;
use super::write_file::WriteFile;
use super::{OutputLimits, Tool, TypedToolAdapter};
use crate::process::Runner;
use crate::workspace::Workspace;

/// What the built-in tools work with.
#[derive(Clone, Debug)]
pub struct ToolEnvironment {
    /// The files they may touch.
    pub workspace: Workspace,
    /// What starts commands.
    pub runner: Runner,
    /// Most that one result may hold.
    pub limits: OutputLimits,
    /// How long commands may take.
    pub bash: BashTimes,
    /// Folder for outputs that are over the limits; made when needed, readable by the tools.
    pub scratch: PathBuf,
}

impl ToolEnvironment {
    /// An environment with default limits and times.
    #[must_use]
    pub fn new(workspace: Workspace, runner: Runner, scratch: impl Into<PathBuf>) -> Self {
        let (limits, bash) = (OutputLimits::default(), BashTimes::default());
        Self { workspace, runner, limits, bash, scratch: scratch.into() }
    }
}

/// A name that no tool has.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("no tool is called `{name}`; there are {known}")]
pub struct UnknownTool {
    /// The name.
    pub name: String,
    /// The names there are.
    pub known: String,
}

/// Who a tool is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolSource {
    /// Tiller itself.
    BuiltIn,
    /// An extension, by its name.
    Extension(String),
    /// Whoever embeds the session.
    Given,
}

impl std::fmt::Display for ToolSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in"),
            Self::Extension(name) => write!(f, "extension {name}"),
            Self::Given => f.write_str("given by the host program"),
        }
    }
}

/// The tools of a session, in the order the model is told of them.
#[derive(Clone, Default)]
pub struct Tools {
    tools: Vec<Known>,
    specs: Arc<[ToolSpec]>,
    /// The folders that the built-in tools may reach.
    workspace: Option<Workspace>,
}

/// A tool and who it is from.
#[derive(Clone)]
struct Known {
    tool: Arc<dyn Tool>,
    source: ToolSource,
}

impl Known {
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
    /// These tools. Of several with one name the last counts, in the place of the first.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        Self::from(tools, &ToolSource::Given)
    }

    fn from(tools: impl IntoIterator<Item = Arc<dyn Tool>>, source: &ToolSource) -> Self {
        Self::of(tools.into_iter().map(|tool| Known { tool, source: source.clone() }))
    }

    fn of(tools: impl IntoIterator<Item = Known>) -> Self {
        let mut unique: Vec<Known> = Vec::new();
        for tool in tools {
            match unique.iter_mut().find(|known| known.name() == tool.name()) {
                Some(known) => *known = tool,
                None => unique.push(tool),
            }
        }
        let specs = unique.iter().map(|known| known.tool.spec().clone()).collect();
        Self { tools: unique, specs, workspace: None }
    }

    /// The built-in tools.
    #[must_use]
    pub fn built_in(environment: ToolEnvironment) -> Self {
        let ToolEnvironment { workspace, runner, limits, bash, scratch } = environment;
        let readable = workspace.clone().with_readable(&scratch);
        let cwd = workspace.root().to_owned();
        let tools: [Arc<dyn Tool>; 6] = [
            Arc::new(TypedToolAdapter::new(ReadFile { workspace: readable.clone(), limits })),
            Arc::new(TypedToolAdapter::new(ListFiles { workspace: readable.clone(), limits })),
            Arc::new(TypedToolAdapter::new(Grep { workspace: readable.clone(), limits })),
            Arc::new(TypedToolAdapter::new(EditFile { workspace: workspace.clone() })),
            Arc::new(TypedToolAdapter::new(WriteFile { workspace })),
            Arc::new(TypedToolAdapter::new(Bash { runner, cwd, limits, times: bash, scratch })),
        ];
        Self { workspace: Some(readable), ..Self::from(tools, &ToolSource::BuiltIn) }
    }

    /// The folders that the built-in tools may reach; `None` without such tools.
    #[must_use]
    pub fn workspace(&self) -> Option<&Workspace> {
        self.workspace.as_ref()
    }

    /// These and another one, which takes the place of one with its name.
    #[must_use]
    pub fn with(self, tool: Arc<dyn Tool>) -> Self {
        self.with_from(tool, ToolSource::Given)
    }

    /// The same of one that is from somebody else.
    #[must_use]
    pub fn with_from(self, tool: Arc<dyn Tool>, source: ToolSource) -> Self {
        let workspace = self.workspace;
        Self { workspace, ..Self::of(self.tools.into_iter().chain([Known { tool, source }])) }
    }

    /// Only the tools with these names, in this order.
    ///
    /// # Errors
    /// When there is no tool of a name.
    pub fn restrict(&self, names: &[String]) -> Result<Self, UnknownTool> {
        let tools: Result<Vec<_>, _> = names
            .iter()
            .map(|name| {
                let known = || self.names().collect::<Vec<_>>().join(", ");
                self.known(name).cloned().ok_or_else(|| UnknownTool { name: name.clone(), known: known() })
            })
            .collect();
        Ok(Self { workspace: self.workspace.clone(), ..Self::of(tools?) })
    }

    /// All but the tool of that name.
    #[must_use]
    pub fn without(self, name: &str) -> Self {
        let workspace = self.workspace;
        Self { workspace, ..Self::of(self.tools.into_iter().filter(|known| known.name() != name)) }
    }

    /// What the model is told of them.
    #[must_use]
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        self.specs.clone()
    }

    /// The tool of that name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.known(name).map(|known| Arc::clone(&known.tool))
    }

    /// Who the tool of that name is from.
    #[must_use]
    pub fn source(&self, name: &str) -> Option<&ToolSource> {
        self.known(name).map(|known| &known.source)
    }

    fn known(&self, name: &str) -> Option<&Known> {
        self.tools.iter().find(|known| known.name() == name)
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.specs.iter().map(|spec| spec.name.as_str())
    }
}
