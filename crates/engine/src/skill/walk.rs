//! Bounded search for skill files in a directory.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tiller_core::os_error::without_code;
use tiller_files::OUTSIDE;
use tiller_files::search_path::{ResourceOrigin, ResourceProblem, SearchPath};

/// The file that makes a directory a skill.
const FILE: &str = "SKILL.md";

/// Maximum depth of the search: enough for groups of groups of skills, but not a whole disk.
const MAX_DEPTH: usize = 4;

/// Maximum number of directories searched for one path.
const MAX_DIRS: usize = 1_000;

/// A candidate for a skill file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SkillFile {
    pub(super) path: PathBuf,
    /// The name derived from the path.
    pub(super) name: String,
}

/// Result of a search.
#[derive(Debug, Default)]
pub(super) struct WalkResult {
    pub(super) files: Vec<SkillFile>,
    pub(super) dirs: Vec<PathBuf>,
    pub(super) problems: Vec<ResourceProblem>,
}

/// Searches a path, which may be a skill directory, a directory of skills, or a file.
pub(super) fn walk(search_path: &SearchPath) -> WalkResult {
    let mut walk = SkillWalk { search_path, result: WalkResult::default(), seen: HashSet::new() };
    match fs::metadata(&search_path.path) {
        Ok(found) if found.is_dir() => walk.dir(&search_path.path, 0),
        Ok(_) => walk.file(&search_path.path),
        Err(error)
            if error.kind() == io::ErrorKind::NotFound && search_path.origin != ResourceOrigin::Given => {}
        Err(error) => {
            let reason = without_code(&error.to_string());
            walk.problem(&search_path.path, format!("can't load skills: {reason}"));
        }
    }
    walk.result
}

struct SkillWalk<'a> {
    search_path: &'a SearchPath,
    result: WalkResult,
    /// Directories with symbolic links resolved; a link to a parent directory would cause an endless search.
    seen: HashSet<PathBuf>,
}

impl SkillWalk<'_> {
    fn problem(&mut self, path: &Path, message: String) {
        self.result.problems.push(ResourceProblem::new(path, message));
    }

    fn file(&mut self, path: &Path) {
        let dir = path.parent().unwrap_or(Path::new("/"));
        let is_skill_file = path.file_name().is_some_and(|name| name == FILE);
        let name = if is_skill_file { dir.file_name() } else { path.file_stem() };
        let name = name.unwrap_or_default().to_string_lossy().into_owned();
        self.result.files.push(SkillFile { path: path.to_owned(), name });
        self.result.dirs.push(dir.to_owned());
    }

    fn dir(&mut self, path: &Path, depth: usize) {
        let Ok(real) = path.canonicalize() else { return };
        if !self.search_path.contains(path) {
            return self.problem(path, format!("can't load skills: {OUTSIDE}"));
        }
        if !self.seen.insert(real) {
            return;
        }
        if self.seen.len() > MAX_DIRS {
            if self.seen.len() == MAX_DIRS + 1 {
                self.problem(
                    path,
                    format!("not searched for skills: the limit of {MAX_DIRS} directories is reached"),
                );
            }
            return;
        }
        self.result.dirs.push(path.to_owned());
        let skill_file = path.join(FILE);
        if skill_file.exists() {
            self.file(&skill_file);
            return;
        }
        let entries = match entries(path) {
            Ok(entries) => entries,
            Err(error) => {
                let reason = without_code(&error.to_string());
                return self.problem(path, format!("can't load skills: {reason}"));
            }
        };
        for (path, name) in entries {
            if path.is_dir() {
                if depth < MAX_DEPTH && name != "node_modules" {
                    self.dir(&path, depth + 1);
                }
            } else if depth == 0 && is_skill(&name) {
                self.file(&path);
            }
        }
    }
}

/// Returns true for a skill file directly in a directory of skills; a README describes the directory to
/// people.
fn is_skill(name: &str) -> bool {
    name.ends_with(".md") && !name.eq_ignore_ascii_case("readme.md")
}

/// Returns the non-hidden entries of a directory, sorted by name.
fn entries(dir: &Path) -> io::Result<Vec<(PathBuf, String)>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            entries.push((entry.path(), name));
        }
    }
    entries.sort();
    Ok(entries)
}
