//! Protected directories, tiller's own, which no tool may access regardless of the working directory.
//!
//! They are identified by their real path and by device and inode, since bind mounts and case-insensitive
//! file systems give a directory several paths. They are looked up at each use, because they may be created
//! at any time.

use std::path::{Path, PathBuf};

use tiller_files::{FileId, link_target, list_own_entries};

use super::links::resolve_links;

/// Absolute directories; they need not exist.
#[derive(Clone, Debug, Default)]
pub(super) struct ProtectedDirs(Vec<PathBuf>);

impl ProtectedDirs {
    pub(super) fn extend(&mut self, dirs: impl IntoIterator<Item = PathBuf>) {
        self.0.extend(dirs);
    }

    /// Returns true if a path with links resolved is one of the directories, is inside one, or is in the
    /// target of a link in one. The path need not exist.
    pub(super) fn contains(&self, real: &Path) -> bool {
        let ids = self.ids();
        self.real_paths().chain(self.link_targets()).any(|dir| real.starts_with(dir))
            || real.ancestors().any(|path| id_of(path).is_some_and(|id| ids.contains(&id)))
    }

    /// Returns true if a directory with links resolved contains none of the protected directories, so that it
    /// may be readable.
    pub(super) fn allow_reading(&self, real: &Path) -> bool {
        !self.real_paths().any(|dir| dir.starts_with(real))
    }

    /// Lists the identities of the directories, of the files directly in them and in `extensions`, and of the
    /// targets of links in them.
    pub(super) fn ids(&self) -> Vec<FileId> {
        self.0.iter().filter_map(|dir| id_of(dir)).chain(self.entry_ids()).collect()
    }

    fn real_paths(&self) -> impl Iterator<Item = PathBuf> {
        self.0.iter().map(|dir| resolve_links(Path::new("/"), dir).unwrap_or_else(|_| dir.clone()))
    }

    /// Iterates over the real paths of links in the directories.
    fn link_targets(&self) -> impl Iterator<Item = PathBuf> {
        list_own_entries(&self.0).filter_map(|path| link_target(&path))
    }

    /// Iterates over the identities of files and links; other directories are recognized by their path.
    fn entry_ids(&self) -> impl Iterator<Item = FileId> {
        let entries = list_own_entries(&self.0);
        entries.filter(|path| path.is_symlink() || path.is_file()).filter_map(|path| id_of(&path))
    }
}

fn id_of(path: &Path) -> Option<FileId> {
    path.metadata().ok().map(|metadata| FileId::from(&metadata))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use crate::workspace::{FileAccess, Workspace, WorkspaceError};

    use super::*;

    /// Creates a home directory with tiller's directories in it, and a workspace whose working directory is
    /// the home directory.
    fn home() -> (TempDir, PathBuf, Workspace) {
        let dir = TempDir::new().unwrap();
        let home = dir.path().canonicalize().unwrap();
        let (config, data) = (home.join(".config/tiller"), home.join(".local/share/tiller"));
        for dir in ["extensions", "skills/mine"] {
            fs::create_dir_all(config.join(dir)).unwrap();
        }
        fs::create_dir_all(data.join("sessions/--x--")).unwrap();
        for file in ["auth.json", ".env", "extensions/guard", "skills/mine/SKILL.md"] {
            fs::write(config.join(file), "old").unwrap();
        }
        fs::write(data.join("sessions/--x--/log.jsonl"), "old").unwrap();
        fs::write(home.join("project"), "mine").unwrap();
        let workspace = Workspace::new(&home).unwrap().with_readable(config.join("skills")).with_protected([
            config,
            data,
            home.join(".local/state/tiller"),
        ]);
        (dir, home, workspace)
    }

    fn is_refused(workspace: &Workspace, path: &str, access: FileAccess) -> bool {
        matches!(workspace.resolve(path, access), Err(WorkspaceError::Protected { .. }))
    }

    #[test]
    fn protected_dir_is_refused_by_every_name() {
        let (_dir, home, workspace) = home();
        symlink(home.join(".config"), home.join("config-link")).unwrap();
        symlink(".config/tiller", home.join("tiller-link")).unwrap();
        symlink(home.join(".config/tiller/auth.json"), home.join("file-link")).unwrap();
        symlink(home.join(".local/share/tiller/sessions"), home.join("logs")).unwrap();
        let names = [
            ".config/tiller",
            ".config/tiller/auth.json",
            ".config/tiller/.env",
            ".config/tiller/settings.json",
            ".config/tiller/trust.json",
            ".config/tiller/keybindings.json",
            ".config/tiller/models.json",
            ".config/tiller/extensions/guard",
            ".config/tiller/extensions/new",
            ".config/tiller/themes/new.json",
            ".config/tiller/prompts/new.md",
            ".config/tiller/a/new/directory/x",
            "./.config/./tiller/auth.json",
            ".config//tiller//auth.json",
            ".config/tiller/../tiller/auth.json",
            ".config/tiller/skills/../auth.json",
            "project/../.config/tiller/.env",
            "config-link/tiller/auth.json",
            "config-link/tiller/new",
            "tiller-link/auth.json",
            "tiller-link/extensions/guard",
            "tiller-link/skills/mine/../../auth.json",
            "file-link",
            "logs",
            "logs/--x--/log.jsonl",
            "logs/--y--/new.jsonl",
            ".local/share/tiller/sessions/--x--/log.jsonl",
            ".local/share/tiller/index.db",
            ".local/state/tiller/trust.json",
            ".local/state/tiller",
            ".local/state/tiller/drafts/new.json",
        ];
        for name in names {
            let absolute = home.join(name).display().to_string();
            for path in [name, &absolute] {
                for access in [FileAccess::Write, FileAccess::Read] {
                    assert!(is_refused(&workspace, path, access), "{path} {access:?}");
                }
            }
        }
        for path in [".config/tiller/skills/mine/SKILL.md", "tiller-link/skills/mine"] {
            assert!(is_refused(&workspace, path, FileAccess::Write), "{path}");
            assert!(workspace.resolve(path, FileAccess::Read).is_ok(), "{path}");
        }
        for path in ["project", ".config/other", ".local/share/other", ".config/tiller-notes"] {
            assert!(workspace.resolve(path, FileAccess::Write).is_ok(), "{path}");
        }
    }

    #[test]
    fn protected_dir_added_or_readable_stays_closed() {
        let (_dir, home, workspace) = home();
        let workspace = workspace
            .with_dir(home.join(".config/tiller"), FileAccess::Write)
            .with_readable(home.join(".config/tiller"))
            .with_readable(home.join(".config"))
            .with_readable(home.join(".local/share/tiller"));
        for path in [".config/tiller/auth.json", ".local/share/tiller/sessions/--x--/log.jsonl"] {
            assert!(is_refused(&workspace, path, FileAccess::Read), "{path}");
        }
    }

    #[test]
    fn protected_file_under_other_name_is_refused() {
        let (_dir, home, workspace) = home();
        for (at, file) in ["auth.json", ".env", "extensions/guard"].into_iter().enumerate() {
            let name = format!("hard-link-{at}");
            fs::hard_link(home.join(".config/tiller").join(file), home.join(&name)).unwrap();
            assert!(is_refused(&workspace, &name, FileAccess::Read), "{file}");
        }
        fs::hard_link(home.join("project"), home.join("mine-too")).unwrap();
        assert!(workspace.resolve("mine-too", FileAccess::Read).is_ok());
    }

    #[test]
    fn protected_dir_is_skipped_by_walk() {
        let (_dir, _home, workspace) = home();
        let root = workspace.resolve(".", FileAccess::Read).unwrap();
        let found: Vec<PathBuf> = workspace
            .walk(&root, tiller_files::walk::WalkOptions::default())
            .unwrap()
            .map(|entry| entry.relative_path)
            .collect();
        let expected = [".config", ".local", ".local/share", "project"].map(PathBuf::from);
        assert_eq!(found, expected);
        let skills = workspace.resolve(".config/tiller/skills", FileAccess::Read).unwrap();
        let found = workspace.walk(&skills, tiller_files::walk::WalkOptions::default()).unwrap().count();
        assert_eq!(found, 2, "the skill's directory and its file");
    }

    #[test]
    fn protected_file_that_is_link_protects_its_target() {
        let (_dir, home, workspace) = home();
        let dotfiles = home.join("dotfiles");
        fs::create_dir_all(dotfiles.join("skills/x")).unwrap();
        for (link, target) in [
            (".config/tiller/settings.json", "settings.json"),
            (".config/tiller/extensions/linked", "linked"),
            (".local/share/tiller/index.db", "index.db"),
        ] {
            fs::write(dotfiles.join(target), "old").unwrap();
            symlink(dotfiles.join(target), home.join(link)).unwrap();
            let path = format!("dotfiles/{target}");
            assert!(is_refused(&workspace, &path, FileAccess::Write), "{path}");
            assert!(is_refused(&workspace, &path, FileAccess::Read), "{path}");
        }
        fs::remove_dir_all(home.join(".config/tiller/skills")).unwrap();
        symlink(dotfiles.join("skills"), home.join(".config/tiller/skills")).unwrap();
        assert!(workspace.resolve("dotfiles/skills/x", FileAccess::Read).is_ok(), "skills may be read");
        assert!(is_refused(&workspace, "dotfiles/skills/x/SKILL.md", FileAccess::Write));
        let root = workspace.resolve("dotfiles", FileAccess::Read).unwrap();
        assert_eq!(workspace.walk(&root, tiller_files::walk::WalkOptions::default()).unwrap().count(), 0);
    }
}
