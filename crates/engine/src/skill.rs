//! Skills: instructions for one kind of task, in a file that is read when needed (the Agent Skills format,
//! agentskills.io/specification, November 2026).
//!
//! A skill is `NAME/SKILL.md` or, directly in a directory of skills, `NAME.md`. The caller chooses the
//! directories; the engine expands skills in prompts. An invalid file is reported; if it was valid before,
//! its earlier version is kept. Start with [`load`].

mod built_in;
mod definition;
mod parse;
mod walk;

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use tiller_core::os_error::without_code;
use tiller_files::search_path::{self, ResourceProblem, SearchPath};

pub use built_in::built_in;
pub use definition::{LoadedSkills, MAX_BYTES, Skill, SkillInvocation};

/// Maximum number of loaded skills.
pub(crate) const MAX_SKILLS: usize = 500;

/// Loads the skills from search paths in order of precedence. If a file is invalid now, its version in
/// `earlier` is kept.
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
    /// Files with symbolic links resolved, so that a file reached in two ways doesn't conflict with itself.
    seen: HashSet<PathBuf>,
    earlier: &'a [Skill],
}

impl SkillLoader<'_> {
    fn load_path(&mut self, search_path: &SearchPath) {
        let walked = walk::walk(search_path);
        self.loaded.problems.extend(walked.problems);
        self.loaded.dirs.extend(walked.dirs);
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
            // The file was deleted while the directory was read.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.keep_earlier(&file.path, &without_code(&error.to_string()), 0),
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

    /// Keeps the earlier version of an invalid file, if there is one.
    fn keep_earlier(&mut self, path: &Path, reason: &str, state: u64) {
        let earlier = self.earlier.iter().find(|skill| skill.path == path).cloned();
        let message = match earlier {
            Some(_) => format!("{reason}; its previous version stays in use"),
            None => format!("skill ignored: {reason}"),
        };
        self.loaded.problems.push(ResourceProblem { path: path.to_owned(), message, state });
        if let Some(skill) = earlier {
            self.add(skill);
        }
    }

    fn add(&mut self, skill: Skill) {
        if let Some(at) = self.names.get(&skill.name) {
            let first = self.loaded.skills[*at].path.display();
            let message = format!("skill `{}` ignored: {first} already has that name", skill.name);
            return self.loaded.problems.push(ResourceProblem::new(skill.path, message));
        }
        if self.loaded.skills.len() >= MAX_SKILLS {
            let message = format!("skill ignored: the limit of {MAX_SKILLS} skills is reached");
            return self.loaded.problems.push(ResourceProblem::new(skill.path, message));
        }
        self.names.insert(skill.name.clone(), self.loaded.skills.len());
        self.loaded.skills.push(skill);
    }
}

#[cfg(test)]
mod tests;
