//! Resources: the files that people write for the model, namely skills, templates, agents and context files.
//!
//! [`ResourcePaths`] lists the search paths, [`Resources`] is the result of loading. It is immutable: a
//! reload creates a new value and replaces the old one in one step.

mod reloader;
mod search_paths;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tiller_files::search_path::{ResourceProblem, SearchPath};

use crate::agents::{self, AgentDefinition};
use crate::instructions::{self, Instructions};
use crate::skill::{self, Skill};
use crate::template::{self, BuiltIn, ReservedNames, Template};

pub(super) use reloader::{ReloadRequest, ReloadResult, ResourceReloader};

/// Search paths of skills, templates, agents and context files. The default is none.
///
/// Paths are searched in the order of their [`ResourceOrigin`](tiller_files::search_path::ResourceOrigin),
/// and in the given order for each origin, so more paths can be added at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourcePaths {
    /// Directories of skills, skill directories, and skill files.
    pub skills: Vec<SearchPath>,
    /// The directory where the built-in skills are written; `None` omits them.
    pub built_in_skills: Option<PathBuf>,
    /// Directories and files of templates.
    pub templates: Vec<SearchPath>,
    /// Use of the built-in templates.
    pub built_in_templates: BuiltIn,
    /// Directories and files of agents.
    pub agents: Vec<SearchPath>,
    /// Use of the built-in agents.
    pub built_in_agents: BuiltIn,
    /// Reserved names that templates can't have.
    pub reserved_names: Vec<String>,
    /// Directories of context files. The model reads the last ones last, and they take precedence.
    pub instructions: Vec<SearchPath>,
    /// Automatic reload on changes.
    pub watch: WatchMode,
}

/// Automatic reload when files change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchMode {
    /// Files are watched for changes.
    On,
    /// Reloads only on request.
    #[default]
    Off,
}

/// The loaded resources.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resources {
    sources: Arc<ResourcePaths>,
    skills: Vec<Skill>,
    templates: Vec<Template>,
    agents: Vec<AgentDefinition>,
    instructions: Vec<Instructions>,
    problems: Vec<ResourceProblem>,
    /// Files and directories whose change requires a reload.
    watched: BTreeSet<PathBuf>,
}

/// Number of resources of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// Number of skills.
    pub skills: usize,
    /// Number of templates.
    pub templates: usize,
    /// Number of context files.
    pub context_files: usize,
    /// Files with problems.
    pub problems: usize,
}

/// An agent slash command at the start of a prompt: a template, a skill or an extension command.
/// Front ends run the built-in commands ([`BuiltInCommand`](crate::slash_command::BuiltInCommand)).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCommand {
    /// The name without the slash: `review`, `skill:commit`.
    pub name: String,
    /// One-line description.
    pub description: String,
    /// Hint for the arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argument_hint: Option<String>,
    /// The kind of the command.
    pub source: CommandSource,
    /// The file that defines the command, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<PathBuf>,
}

/// The kind of a slash command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommandSource {
    /// An extension command.
    Extension,
    /// A template.
    Prompt,
    /// A skill.
    Skill,
}

impl Resources {
    /// Loads the resources. Reads files, so call it on a blocking thread.
    #[must_use]
    pub fn load(sources: ResourcePaths) -> Self {
        Self { sources: Arc::new(sources), ..Self::default() }.reloaded()
    }

    /// Reloads everything; if a file is invalid now, its earlier version is kept.
    #[must_use]
    pub fn reloaded(&self) -> Self {
        let sources = &self.sources;
        let mut skills = skill::load(&sort_by_precedence(&sources.skills), &self.skills);
        if let Some(dir) = &sources.built_in_skills {
            skills.add_built_in(skill::built_in(dir));
        }
        let templates = sort_by_precedence(&sources.templates);
        let reserved = ReservedNames { names: &sources.reserved_names };
        let templates = template::load(&templates, sources.built_in_templates, reserved, &self.templates);
        let has_built_in = sources.built_in_agents == BuiltIn::Included;
        let agents = agents::load(&sort_by_precedence(&sources.agents), has_built_in, &self.agents);
        let instructions = instructions::load(&sources.instructions, &self.instructions);
        let search_paths = sources.skills.iter().chain(&sources.templates).chain(&sources.agents);
        let paths = search_paths.map(|search_path| search_path.path.clone());
        let files = skills.skills.iter().map(|skill| &skill.path);
        let files = files.chain(templates.templates.iter().map(|template| &template.path));
        let files = files.chain(agents.definitions.iter().map(|agent| &agent.path));
        let mut watched: BTreeSet<PathBuf> =
            paths.chain(files.cloned()).filter(|path| path.is_absolute()).collect();
        watched.extend(skills.dirs.into_iter().chain(templates.dirs).chain(agents.dirs));
        watched.extend(sources.instructions.iter().flat_map(context_files));
        let problems = skills.problems.into_iter().chain(templates.problems).chain(agents.problems);
        let problems = problems.chain(instructions.problems);
        Self {
            sources: Arc::clone(sources),
            skills: skills.skills,
            templates: templates.templates,
            agents: agents.definitions,
            instructions: instructions.instructions,
            problems: problems.collect(),
            watched,
        }
    }

    /// Returns the resources of an agent: all skills, or the named ones, and no templates. They aren't
    /// reloaded.
    pub(crate) fn for_agent(mut self, skills: Option<&[String]>) -> Self {
        let sources = ResourcePaths { watch: WatchMode::Off, ..(*self.sources).clone() };
        self.sources = Arc::new(sources);
        self.skills.retain(|skill| skills.is_none_or(|names| names.contains(&skill.name)));
        self.templates.clear();
        self
    }

    /// Returns the skills, in order of precedence.
    #[must_use]
    pub fn skills(&self) -> &[Skill] {
        &self.skills
    }

    /// Returns the templates, in order of precedence.
    #[must_use]
    pub fn templates(&self) -> &[Template] {
        &self.templates
    }

    /// Returns the definitions of agents, in order of precedence.
    #[must_use]
    pub fn agents(&self) -> &[AgentDefinition] {
        &self.agents
    }

    /// Returns the context files, in the order in which the model reads them.
    #[must_use]
    pub fn instructions(&self) -> &[Instructions] {
        &self.instructions
    }

    /// Returns the problems with files.
    #[must_use]
    pub fn problems(&self) -> &[ResourceProblem] {
        &self.problems
    }

    /// Returns the number of resources of each kind.
    #[must_use]
    pub fn inventory(&self) -> Inventory {
        Inventory {
            skills: self.skills.len(),
            templates: self.templates.len(),
            context_files: self.instructions.len(),
            problems: self.problems.len(),
        }
    }

    /// Returns the slash commands: templates, then skills as `skill:NAME`.
    #[must_use]
    pub fn slash_commands(&self) -> Vec<AgentCommand> {
        let prompts = self.templates.iter().map(|template| AgentCommand {
            name: template.name.clone(),
            description: template.description.clone(),
            argument_hint: template.argument_hint.clone(),
            source: CommandSource::Prompt,
            location: Some(template.path.clone()).filter(|path| path.is_absolute()),
        });
        let skills = self.skills.iter().map(|skill| AgentCommand {
            name: format!("skill:{}", skill.name),
            description: skill.description.clone(),
            argument_hint: None,
            source: CommandSource::Skill,
            location: Some(skill.path.clone()),
        });
        prompts.chain(skills).collect()
    }

    pub(super) fn new_problems<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a ResourceProblem> {
        self.problems.iter().filter(|problem| !before.problems.contains(problem))
    }

    /// Returns true if neither a model nor a user would notice a difference.
    pub(super) fn has_same_content(&self, other: &Self) -> bool {
        self.skills == other.skills
            && self.templates == other.templates
            && self.agents == other.agents
            && self.instructions == other.instructions
    }
}

/// Sorts the paths by precedence.
fn sort_by_precedence(paths: &[SearchPath]) -> Vec<SearchPath> {
    let mut paths = paths.to_vec();
    paths.sort_by_key(|path| path.origin);
    paths
}

/// Returns the possible context files of a directory.
fn context_files(dir: &SearchPath) -> impl Iterator<Item = PathBuf> {
    instructions::NAMES.map(|name| dir.path.join(name)).into_iter()
}

/// Returns true if a path lies in a directory after resolving symbolic links; false if either doesn't exist.
fn is_inside(path: &Path, dir: &Path) -> bool {
    match (path.canonicalize(), dir.canonicalize()) {
        (Ok(path), Ok(dir)) => path.starts_with(dir),
        _ => false,
    }
}
