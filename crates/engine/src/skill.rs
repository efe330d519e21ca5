//! Skills: instructions for one kind of task, in a file that is read when the task comes up (the Agent Skills format,
//! agentskills.io/specification, November 2026).
//!
//! A skill is `NAME/SKILL.md` or, directly in a folder of skills, `NAME.md`. The caller chooses the
//! folders; the engine expands skills in prompts. A broken file leads to a problem report; if it was valid before, that
//! version stays. Begin with [`load`].

mod built_in;
mod parse;
mod walk;

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tiller_files::search_path::{self, ResourceOrigin, ResourceProblem, SearchPath};

pub use built_in::built_in;

/// Maximum bytes of a skill's file: 128 KiB are about 32,000 tokens, and the format recommends fewer than 5,000.
pub const MAX_BYTES: usize = 128 * 1024;

/// Most skills that are loaded.
pub(crate) const MAX_SKILLS: usize = 500;

/// A valid skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// Its name.
    pub name: String,
    /// Purpose and time of use, in one line.
    pub description: String,
    /// The instructions, without the front matter.
    pub body: Arc<str>,
    /// Absolute path of its file.
    pub path: PathBuf,
    /// Its origin.
    pub origin: ResourceOrigin,
    /// The permitted callers.
    pub invocation: SkillInvocation,
}

/// The callers of a skill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SkillInvocation {
    /// The user, and the model where it sees fit.
    #[default]
    Anyone,
    /// The user only: `disable-model-invocation: true`.
    UserOnly,
}

/// The loaded skills.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadedSkills {
    /// In order of precedence; names are unique.
    pub skills: Vec<Skill>,
    /// Problems of files.
    pub problems: Vec<ResourceProblem>,
    /// The folders that were read: a change in one of them requires a reload.
    pub folders: Vec<PathBuf>,
}

impl Skill {
    /// Returns the folder that paths in its body are relative to.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }
}

impl LoadedSkills {
    /// Adds the built-in skills. A user's skill takes precedence over a built-in one of the same name.
    pub(crate) fn add_built_in(&mut self, built_in: Self) {
        for skill in built_in.skills {
            if self.skills.iter().all(|other| other.name != skill.name) {
                self.skills.push(skill);
            }
        }
        self.problems.extend(built_in.problems);
    }
}

/// Loads the skills of search paths in order of precedence. A file that is broken now keeps its version from
/// `earlier`.
#[must_use]
pub fn load(search_paths: &[SearchPath], earlier: &[Skill]) -> LoadedSkills {
    let mut loader =
        SkillLoader { loaded: LoadedSkills::default(), names: HashMap::new(), seen: HashSet::new(), earlier };
    for search_path in search_paths {
        loader.load_path(search_path);
    }
    loader.loaded
}

struct SkillLoader<'a> {
    loaded: LoadedSkills,
    /// Position of each name in `skills`.
    names: HashMap<String, usize>,
    /// Files with symbolic links resolved, so that a file reached in two ways doesn't collide with itself.
    seen: HashSet<PathBuf>,
    earlier: &'a [Skill],
}

impl SkillLoader<'_> {
    fn load_path(&mut self, search_path: &SearchPath) {
        let walked = walk::walk(search_path);
        self.loaded.problems.extend(walked.problems);
        self.loaded.folders.extend(walked.folders);
        for file in walked.files {
            let real = file.path.canonicalize().unwrap_or_else(|_| file.path.clone());
            if self.seen.insert(real) {
                self.load_file(&file, search_path);
            }
        }
    }

    fn load_file(&mut self, file: &walk::SkillFile, search_path: &SearchPath) {
        let read = search_path.read(&file.path, MAX_BYTES);
        let bytes = match read {
            Ok(bytes) => bytes,
            // It was deleted while the folder was read.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.keep_earlier(&file.path, &error.to_string(), 0),
        };
        let state = search_path::content_hash(&bytes);
        match parse::parse(&bytes, file, search_path.origin) {
            Ok(parsed) => {
                let problem = |message| ResourceProblem { path: file.path.clone(), message, state };
                self.loaded.problems.extend(parsed.remarks.into_iter().map(problem));
                self.add(parsed.skill);
            }
            Err(reason) => self.keep_earlier(&file.path, &reason, state),
        }
    }

    /// Keeps the earlier version of a broken file, if there is one.
    fn keep_earlier(&mut self, path: &Path, reason: &str, state: u64) {
        let earlier = self.earlier.iter().find(|skill| skill.path == path).cloned();
        let message = match earlier {
            Some(_) => format!("{reason}; its previous version stays in use"),
            None => format!("skill not used: {reason}"),
        };
        self.loaded.problems.push(ResourceProblem { path: path.to_owned(), message, state });
        if let Some(skill) = earlier {
            self.add(skill);
        }
    }

    fn add(&mut self, skill: Skill) {
        if let Some(at) = self.names.get(&skill.name) {
            let first = self.loaded.skills[*at].path.display();
            let message = format!("skill `{}` not used: {first} has that name already", skill.name);
            return self.loaded.problems.push(ResourceProblem::new(skill.path, message));
        }
        if self.loaded.skills.len() >= MAX_SKILLS {
            let message = format!("skill not used: the limit of {MAX_SKILLS} skills is reached");
            return self.loaded.problems.push(ResourceProblem::new(skill.path, message));
        }
        self.names.insert(skill.name.clone(), self.loaded.skills.len());
        self.loaded.skills.push(skill);
    }
}

#[cfg(test)]
mod tests;
