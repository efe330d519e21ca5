//! A skill, and the loaded skills.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tiller_files::search_path::{ResourceOrigin, ResourceProblem};

/// Maximum bytes of a skill's file: 128 KiB are about 32,000 tokens, and the format recommends fewer than 5,000.
pub const MAX_BYTES: usize = 128 * 1024;

/// A valid skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// The skill's name.
    pub name: String,
    /// One-line description: its purpose, and when to use it.
    pub description: String,
    /// The instructions, without the front matter.
    pub body: Arc<str>,
    /// Absolute path of the skill's file.
    pub path: PathBuf,
    /// The place where the skill was found.
    pub origin: ResourceOrigin,
    /// Invocation: by the user and the model, or by the user only.
    pub invocation: SkillInvocation,
}

/// Invocation of a skill: by the user and the model, or by the user only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SkillInvocation {
    /// By the user, and by the model on its own initiative.
    #[default]
    Anyone,
    /// By the user only: `disable-model-invocation: true`.
    UserOnly,
}

/// The loaded skills.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadedSkills {
    /// In order of precedence; names are unique.
    pub skills: Vec<Skill>,
    /// Problems with files.
    pub problems: Vec<ResourceProblem>,
    /// The directories that were read; a change in one of them requires a reload.
    pub dirs: Vec<PathBuf>,
}

impl Skill {
    /// Returns the directory that the body's relative paths start from.
    #[must_use]
    pub fn dir(&self) -> &Path {
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
