//! Search paths: the directories of the project, from the working directory up to its root, and of the user.

use std::path::{Path, PathBuf};

use tiller_files::git::up_to_repository;
use tiller_files::search_path::{ResourceOrigin, SearchPath};

use super::{ResourcePaths, Resources, is_inside};

impl ResourcePaths {
    /// Returns the default search paths for a working directory and a user, without the built-in resources.
    ///
    /// `config` is the user's directory for tiller; `home`, if any, contains `.agents/skills` and
    /// `.claude/agents`.
    #[must_use]
    pub fn usual(cwd: &Path, config: &Path, home: Option<&Path>) -> Self {
        let project = project_dirs(cwd);
        let root = project.last().cloned();
        let search_path = |path: PathBuf, origin| {
            let bounds = if origin == ResourceOrigin::Project { root.clone() } else { None };
            SearchPath { path, origin, bounds }
        };
        let mut skills = Vec::new();
        for dir in &project {
            for name in [".tiller/skills", ".agents/skills"] {
                skills.push(search_path(dir.join(name), ResourceOrigin::Project));
            }
        }
        skills.push(search_path(config.join("skills"), ResourceOrigin::User));
        skills.extend(home.map(|home| search_path(home.join(".agents/skills"), ResourceOrigin::User)));
        let prompts =
            project.iter().map(|dir| search_path(dir.join(".tiller/prompts"), ResourceOrigin::Project));
        let templates = prompts.chain([search_path(config.join("prompts"), ResourceOrigin::User)]).collect();
        let mut agents = Vec::new();
        for dir in &project {
            for name in [".tiller/agents", ".claude/agents"] {
                agents.push(search_path(dir.join(name), ResourceOrigin::Project));
            }
        }
        agents.push(search_path(config.join("agents"), ResourceOrigin::User));
        agents.extend(home.map(|home| search_path(home.join(".claude/agents"), ResourceOrigin::User)));
        let nearest_last = project.iter().rev().map(|dir| search_path(dir.clone(), ResourceOrigin::Project));
        let instructions =
            [search_path(config.to_owned(), ResourceOrigin::User)].into_iter().chain(nearest_last).collect();
        Self { skills, templates, agents, instructions, ..Self::default() }
    }
}

impl Resources {
    /// Returns the directories and files outside the working directory that tools must be able to read for
    /// the skills. Links of the user's skills may lead anywhere; the project's must stay inside the project,
    /// because anybody may have written them.
    #[must_use]
    pub fn readable(&self, cwd: &Path) -> Vec<PathBuf> {
        let root = project_dirs(cwd).pop().unwrap_or_else(|| cwd.to_owned());
        let mut dirs: Vec<PathBuf> = self.sources.built_in_skills.iter().cloned().collect();
        for search_path in &self.sources.skills {
            match search_path.origin {
                ResourceOrigin::Project if is_inside(&search_path.path, &root) => {
                    dirs.extend(search_path.path.canonicalize())
                }
                ResourceOrigin::Project => {}
                ResourceOrigin::Given
                | ResourceOrigin::User
                | ResourceOrigin::Extension
                | ResourceOrigin::BuiltIn => {
                    dirs.push(search_path.path.clone());
                }
            }
        }
        let linked = self.skills.iter().filter(|skill| skill.origin != ResourceOrigin::Project);
        dirs.extend(linked.filter_map(|skill| {
            let (real, dir) = (skill.path.canonicalize().ok()?, skill.dir().canonicalize().ok()?);
            let is_own_dir = skill.path.file_name().is_some_and(|name| name == "SKILL.md");
            Some(if is_own_dir { dir } else { real })
        }));
        dirs.sort();
        dirs.dedup();
        dirs
    }
}

/// Returns the working directory and its ancestors up to the root of the repository, nearest first.
fn project_dirs(cwd: &Path) -> Vec<PathBuf> {
    up_to_repository(cwd).into_iter().map(Path::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn usual_project_ends_at_the_repository_root() {
        let dir = TempDir::new().unwrap();
        let inner = dir.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        assert_eq!(project_dirs(&inner), std::slice::from_ref(&inner));
        fs::write(dir.path().join("a/.git"), "gitdir: elsewhere").unwrap();
        assert_eq!(project_dirs(&inner), [inner.clone(), dir.path().join("a")]);
        let sources = ResourcePaths::usual(&inner, Path::new("/c"), Some(Path::new("/h")));
        let display = |paths: &[SearchPath]| -> Vec<String> {
            let path = |path: &SearchPath| path.path.display().to_string();
            paths.iter().map(path).map(|path| path.replace(dir.path().to_str().unwrap(), "")).collect()
        };
        assert_eq!(
            display(&sources.skills),
            [
                "/a/b/.tiller/skills",
                "/a/b/.agents/skills",
                "/a/.tiller/skills",
                "/a/.agents/skills",
                "/c/skills",
                "/h/.agents/skills"
            ]
        );
        assert_eq!(display(&sources.templates), ["/a/b/.tiller/prompts", "/a/.tiller/prompts", "/c/prompts"]);
        assert_eq!(
            display(&sources.agents),
            [
                "/a/b/.tiller/agents",
                "/a/b/.claude/agents",
                "/a/.tiller/agents",
                "/a/.claude/agents",
                "/c/agents",
                "/h/.claude/agents"
            ]
        );
        assert_eq!(display(&sources.instructions), ["/c", "/a", "/a/b"]);
    }

    #[test]
    fn readable_project_files_are_only_those_inside_it() {
        let dir = TempDir::new().unwrap();
        let (cwd, outside) = (dir.path().join("p"), dir.path().join("secret"));
        fs::create_dir_all(cwd.join(".tiller/prompts")).unwrap();
        fs::write(&outside, "hunter2").unwrap();
        symlink(&outside, cwd.join("AGENTS.md")).unwrap();
        symlink(&outside, cwd.join(".tiller/prompts/leak.md")).unwrap();
        fs::write(cwd.join("rules"), "Use tabs.").unwrap();
        symlink("rules", cwd.join("CLAUDE.md")).unwrap();
        let resources = Resources::load(ResourcePaths::usual(&cwd, &dir.path().join("c"), None));
        let messages: Vec<&str> =
            resources.problems().iter().map(|problem| problem.message.as_str()).collect();
        assert_eq!(
            messages,
            ["template ignored: it lies outside the project", "ignored: it lies outside the project"]
        );
        let texts: Vec<&str> = resources.instructions().iter().map(|found| found.text.as_str()).collect();
        assert_eq!((texts, resources.templates().len()), (vec!["Use tabs."], 0));
    }

    #[test]
    fn readable_only_user_links_may_lead_outside() {
        let dir = TempDir::new().unwrap();
        let (cwd, outside) = (dir.path().join("p"), dir.path().join("outside"));
        let skill = "---\nname: x\ndescription: y\n---\n";
        for path in
            [cwd.join(".tiller"), cwd.join(".agents/skills"), outside.join("x"), dir.path().join("c/skills")]
        {
            fs::create_dir_all(path).unwrap();
        }
        fs::write(outside.join("x/SKILL.md"), skill).unwrap();
        symlink(&outside, cwd.join(".tiller/skills")).unwrap();
        let sources = ResourcePaths::usual(&cwd, &dir.path().join("c"), None);
        let resources = Resources::load(sources.clone());
        assert_eq!(resources.skills(), []);
        assert_eq!(resources.problems()[0].message, "can't load skills: it lies outside the project");
        let real = |path: PathBuf| path.canonicalize().unwrap();
        let user = dir.path().join("c/skills");
        assert_eq!(resources.readable(&cwd), [user.clone(), real(cwd.join(".agents/skills"))]);
        fs::remove_file(cwd.join(".tiller/skills")).unwrap();
        symlink(outside.join("x"), user.join("x")).unwrap();
        let readable = Resources::load(sources).readable(&cwd);
        assert!(readable.contains(&real(outside.join("x"))), "{readable:?}");
    }
}
