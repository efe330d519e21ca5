//! Finding the files of skills in a folder, within bounds.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tiller_files::OUTSIDE;
use tiller_files::search_path::{ResourceOrigin, ResourceProblem, SearchPath};

/// The file that makes a folder a skill.
const FILE: &str = "SKILL.md";

/// Folders beneath a place that are looked into: skills in groups of groups, and not somebody's whole disk.
const MAX_DEPTH: usize = 4;

/// Most folders of one place that are looked into.
const MAX_FOLDERS: usize = 1_000;

/// A file that should be a skill.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SkillFile {
    pub(super) path: PathBuf,
    /// The name that its place gives it.
    pub(super) name: String,
}

/// What there is in a place.
#[derive(Debug, Default)]
pub(super) struct Walked {
    pub(super) files: Vec<SkillFile>,
    pub(super) folders: Vec<PathBuf>,
    pub(super) problems: Vec<ResourceProblem>,
}

/// Looks into a place, which may be a skill, a folder of skills, or a file.
pub(super) fn walk(place: &SearchPath) -> Walked {
    let mut walk = Walk { place, walked: Walked::default(), seen: HashSet::new() };
    match fs::metadata(&place.path) {
        Ok(found) if found.is_dir() => walk.folder(&place.path, 0),
        Ok(_) => walk.file(&place.path),
        Err(error) if error.kind() == io::ErrorKind::NotFound && place.origin != ResourceOrigin::Given => {}
        Err(error) => walk.problem(&place.path, format!("no skills from here: {error}")),
    }
    walk.walked
}

struct Walk<'a> {
    place: &'a SearchPath,
    walked: Walked,
    /// Folders without links: a link to a folder above would never end.
    seen: HashSet<PathBuf>,
}

impl Walk<'_> {
    fn problem(&mut self, path: &Path, what: String) {
        self.walked.problems.push(ResourceProblem::new(path, what));
    }

    fn file(&mut self, path: &Path) {
        let folder = path.parent().unwrap_or(Path::new("/"));
        let is_skill_file = path.file_name().is_some_and(|name| name == FILE);
        let name = if is_skill_file { folder.file_name() } else { path.file_stem() };
        let name = name.unwrap_or_default().to_string_lossy().into_owned();
        self.walked.files.push(SkillFile { path: path.to_owned(), name });
        self.walked.folders.push(folder.to_owned());
    }

    fn folder(&mut self, path: &Path, depth: usize) {
        let Ok(real) = path.canonicalize() else { return };
        if !self.place.holds(path) {
            return self.problem(path, format!("no skills from here: {OUTSIDE}"));
        }
        if !self.seen.insert(real) {
            return;
        }
        if self.seen.len() > MAX_FOLDERS {
            if self.seen.len() == MAX_FOLDERS + 1 {
                self.problem(
                    path,
                    format!("not looked for skills: there are {MAX_FOLDERS} folders before it"),
                );
            }
            return;
        }
        self.walked.folders.push(path.to_owned());
        let own = path.join(FILE);
        if own.exists() {
            self.file(&own);
            return;
        }
        let entries = match entries(path) {
            Ok(entries) => entries,
            Err(error) => return self.problem(path, format!("no skills from here: {error}")),
        };
        for (path, name) in entries {
            if path.is_dir() {
                if depth < MAX_DEPTH && name != "node_modules" {
                    self.folder(&path, depth + 1);
                }
            } else if depth == 0 && is_skill(&name) {
                self.file(&path);
            }
        }
    }
}

/// Whether a file directly in a folder of skills is one; a README tells people of the folder.
fn is_skill(name: &str) -> bool {
    name.ends_with(".md") && !name.eq_ignore_ascii_case("readme.md")
}

/// What is in a folder and not hidden, by name.
fn entries(folder: &Path) -> io::Result<Vec<(PathBuf, String)>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            entries.push((entry.path(), name));
        }
    }
    entries.sort();
    Ok(entries)
}
