//! Files that people write for the model, all together: skills, templates, context files.
//!
//! [`Sources`] says where they are looked for, [`Resources`] is what was found. A value of it never changes: when files do,
//! another one is made from it and takes its place in one step.

mod reloader;
mod search_paths;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use tiller_files::search_path::{ResourceProblem, SearchPath};

use crate::instructions::{self, Instructions};
use crate::skill::{self, Skill};
use crate::template::{self, BuiltIn, ReservedNames, Template};

pub(super) use reloader::{Read, ReloadRequest, ResourceReloader};

/// Where skills, templates and context files are looked for. The default is nowhere.
///
/// Places are taken in the order of their [`Origin`](tiller_files::resource::Origin), and within one in the order they stand here, so more
/// of them can be added at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourcePaths {
    /// Folders of skills, skills, and files of skills.
    pub skills: Vec<SearchPath>,
    /// The folder that the built-in skills are written to; `None` leaves them out.
    pub built_in_skills: Option<PathBuf>,
    /// Folders and files of templates.
    pub templates: Vec<SearchPath>,
    /// Whether the built-in templates are there.
    pub built_in_templates: BuiltIn,
    /// Names that templates may not have, because they mean something else.
    pub taken: Vec<String>,
    /// Folders of context files; what comes last is read last by the model, and counts most.
    pub instructions: Vec<SearchPath>,
    /// Whether changes are noticed by themselves.
    pub watching: WatchMode,
}

/// Whether changes of files are noticed by themselves, or only when somebody asks for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchMode {
    /// They are.
    On,
    /// Only when asked.
    #[default]
    Off,
}

/// What was found, as of one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    sources: Arc<ResourcePaths>,
    skills: Vec<Skill>,
    templates: Vec<Template>,
    instructions: Vec<Instructions>,
    problems: Vec<ResourceProblem>,
    /// Files and folders whose change may change the rest.
    watched: BTreeSet<PathBuf>,
}

/// How many there are of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// Skills.
    pub skills: usize,
    /// Templates.
    pub templates: usize,
    /// Context files.
    pub context_files: usize,
    /// Files that can't be used as they are.
    pub problems: usize,
}

/// Something that can be typed after a `/` at a prompt's beginning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SlashCommand {
    /// What is typed, without the slash: `review`, `skill:commit`.
    pub name: String,
    /// What it does, on one line.
    pub description: String,
    /// What may follow the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argument_hint: Option<String>,
    /// What it is.
    pub source: CommandSource,
    /// The file that it comes from, if it comes from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<PathBuf>,
}

/// What a slash command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CommandSource {
    /// An extension's command.
    Extension,
    /// A template.
    Prompt,
    /// A skill.
    Skill,
}

impl Resources {
    /// Reads what the sources hold. It reads files: use it where that may take its time.
    #[must_use]
    pub fn load(sources: ResourcePaths) -> Self {
        Self { sources: Arc::new(sources), ..Self::default() }.reloaded()
    }

    /// Reads everything anew; what is broken now stays as it is here.
    #[must_use]
    pub fn reloaded(&self) -> Self {
        let sources = &self.sources;
        let mut skills = skill::load(&in_order(&sources.skills), &self.skills);
        if let Some(folder) = &sources.built_in_skills {
            skills.add_built_in(skill::built_in(folder));
        }
        let places = in_order(&sources.templates);
        let taken = ReservedNames { names: &sources.taken };
        let templates = template::load(&places, sources.built_in_templates, taken, &self.templates);
        let instructions = instructions::load(&sources.instructions, &self.instructions);
        let paths = sources.skills.iter().chain(&sources.templates).map(|place| place.path.clone());
        let files = skills.skills.iter().map(|skill| &skill.path);
        let files = files.chain(templates.templates.iter().map(|template| &template.path));
        let mut watched: BTreeSet<PathBuf> =
            paths.chain(files.cloned()).filter(|path| path.is_absolute()).collect();
        watched.extend(skills.folders.into_iter().chain(templates.folders));
        watched.extend(sources.instructions.iter().flat_map(context_files));
        let problems = skills.problems.into_iter().chain(templates.problems).chain(instructions.problems);
        Self {
            sources: Arc::clone(sources),
            skills: skills.skills,
            templates: templates.templates,
            instructions: instructions.instructions,
            problems: problems.collect(),
            watched,
        }
    }

    /// The skills, in the order of precedence.
    #[must_use]
    pub fn skills(&self) -> &[Skill] {
        &self.skills
    }

    /// The templates, in the order of precedence.
    #[must_use]
    pub fn templates(&self) -> &[Template] {
        &self.templates
    }

    /// The context files, in the order in which the model reads them.
    #[must_use]
    pub fn instructions(&self) -> &[Instructions] {
        &self.instructions
    }

    /// What is wrong with files.
    #[must_use]
    pub fn problems(&self) -> &[ResourceProblem] {
        &self.problems
    }

    /// How many there are of each.
    #[must_use]
    pub fn inventory(&self) -> Inventory {
        Inventory {
            skills: self.skills.len(),
            templates: self.templates.len(),
            context_files: self.instructions.len(),
            problems: self.problems.len(),
        }
    }

    /// What can be typed after a `/`: templates, then skills as `skill:NAME`.
    #[must_use]
    pub fn slash_commands(&self) -> Vec<SlashCommand> {
        let prompts = self.templates.iter().map(|template| SlashCommand {
            name: template.name.clone(),
            description: template.description.clone(),
            argument_hint: template.argument_hint.clone(),
            source: CommandSource::Prompt,
            location: Some(template.path.clone()).filter(|path| path.is_absolute()),
        });
        let skills = self.skills.iter().map(|skill| SlashCommand {
            name: format!("skill:{}", skill.name),
            description: skill.description.clone(),
            argument_hint: None,
            source: CommandSource::Skill,
            location: Some(skill.path.clone()),
        });
        prompts.chain(skills).collect()
    }

    /// Problems that weren't there before.
    pub(super) fn problems_since<'a>(
        &'a self,
        before: &'a Self,
    ) -> impl Iterator<Item = &'a ResourceProblem> {
        self.problems.iter().filter(|problem| !before.problems.contains(problem))
    }

    /// Whether a model or a user would notice a difference.
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        self.skills == other.skills
            && self.templates == other.templates
            && self.instructions == other.instructions
    }
}

/// The places in the order of precedence.
fn in_order(places: &[SearchPath]) -> Vec<SearchPath> {
    let mut places = places.to_vec();
    places.sort_by_key(|place| place.origin);
    places
}

/// The files that may hold instructions in a folder.
fn context_files(folder: &SearchPath) -> impl Iterator<Item = PathBuf> {
    instructions::NAMES.map(|name| folder.path.join(name)).into_iter()
}

/// Whether a path lies beneath a folder, links followed; false for what doesn't exist.
fn is_beneath(path: &Path, folder: &Path) -> bool {
    match (path.canonicalize(), folder.canonicalize()) {
        (Ok(path), Ok(folder)) => path.starts_with(folder),
        _ => false,
    }
}
