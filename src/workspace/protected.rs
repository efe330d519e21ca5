//! Folders that no tool reaches, wherever the working directory lies: tiller's own.
//!
//! They are known by their real path and, since bind mounts and case-insensitive file systems give a folder several paths,
//! by device and inode. They are looked up at each use, because they may come to be at any time.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::follow;
use crate::files::FileId;

/// Absolute folders; they need not exist.
#[derive(Clone, Debug, Default)]
pub(super) struct ProtectedFolders(Vec<PathBuf>);

impl ProtectedFolders {
    pub(super) fn extend(&mut self, folders: impl IntoIterator<Item = PathBuf>) {
        self.0.extend(folders);
    }

    /// Whether a path without links is one of the folders or lies beneath one. It need not exist.
    pub(super) fn hold(&self, real: &Path) -> bool {
        let ids = self.ids();
        self.real().any(|folder| real.starts_with(folder))
            || real.ancestors().any(|path| id_of(path).is_some_and(|id| ids.contains(&id)))
    }

    /// Whether a path without links lies beneath one of the folders and neither is nor holds one.
    pub(super) fn hold_beneath(&self, real: &Path) -> bool {
        real.parent().is_some_and(|parent| self.hold(parent))
            && !self.real().any(|folder| folder.starts_with(real))
    }

    /// Whether this is a file directly in one of the folders, or in its `extensions`, under another name.
    pub(super) fn hold_by_hard_link(&self, metadata: &Metadata) -> bool {
        let is_linked = metadata.is_file() && metadata.nlink() > 1;
        is_linked && self.file_ids().any(|id| id == FileId::from(metadata))
    }

    /// The identities of those that exist.
    pub(super) fn ids(&self) -> Vec<FileId> {
        self.0.iter().filter_map(|folder| id_of(folder)).collect()
    }

    fn real(&self) -> impl Iterator<Item = PathBuf> {
        self.0.iter().map(|folder| follow(Path::new("/"), folder).unwrap_or_else(|_| folder.clone()))
    }

    fn file_ids(&self) -> impl Iterator<Item = FileId> {
        let folders = self.0.iter().flat_map(|folder| [folder.clone(), folder.join("extensions")]);
        let entries = folders.flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
        entries.filter_map(|entry| entry.metadata().ok()).map(|metadata| FileId::from(&metadata))
    }
}

fn id_of(path: &Path) -> Option<FileId> {
    path.metadata().ok().map(|metadata| FileId::from(&metadata))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use crate::workspace::{Purpose, Workspace, WorkspaceError};

    use super::*;

    /// A home with tiller's folders in it, and a workspace whose working directory is the home.
    fn home() -> (TempDir, PathBuf, Workspace) {
        let folder = TempDir::new().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let (config, data) = (home.join(".config/tiller"), home.join(".local/share/tiller"));
        for folder in ["extensions", "skills/mine"] {
            fs::create_dir_all(config.join(folder)).unwrap();
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
        (folder, home, workspace)
    }

    fn is_refused(workspace: &Workspace, path: &str, purpose: Purpose) -> bool {
        matches!(workspace.resolve(path, purpose), Err(WorkspaceError::Protected { .. }))
    }

    #[test]
    fn protected_folders_are_beyond_every_name() {
        let (_folder, home, workspace) = home();
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
            ".config/tiller/a/new/folder/x",
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
                for purpose in [Purpose::Write, Purpose::Read] {
                    assert!(is_refused(&workspace, path, purpose), "{path} {purpose:?}");
                }
            }
        }
        for path in [".config/tiller/skills/mine/SKILL.md", "tiller-link/skills/mine"] {
            assert!(is_refused(&workspace, path, Purpose::Write), "{path}");
            assert!(workspace.resolve(path, Purpose::Read).is_ok(), "{path}");
        }
        for path in ["project", ".config/other", ".local/share/other", ".config/tiller-notes"] {
            assert!(workspace.resolve(path, Purpose::Write).is_ok(), "{path}");
        }
    }

    #[test]
    fn protected_folder_added_or_made_readable_as_a_whole_stays_closed() {
        let (_folder, home, workspace) = home();
        let workspace = workspace
            .with_folder(home.join(".config/tiller"), Purpose::Write)
            .with_readable(home.join(".config/tiller"))
            .with_readable(home.join(".config"))
            .with_readable(home.join(".local/share/tiller"));
        for path in [".config/tiller/auth.json", ".local/share/tiller/sessions/--x--/log.jsonl"] {
            assert!(is_refused(&workspace, path, Purpose::Read), "{path}");
        }
    }

    #[test]
    fn protected_file_under_another_name_is_not_opened() {
        let (_folder, home, workspace) = home();
        for (at, file) in ["auth.json", ".env", "extensions/guard"].into_iter().enumerate() {
            let name = format!("hard-link-{at}");
            fs::hard_link(home.join(".config/tiller").join(file), home.join(&name)).unwrap();
            let resolved = workspace.resolve(&name, Purpose::Read).unwrap();
            assert!(workspace.open(&resolved).is_err(), "{file}");
        }
        fs::hard_link(home.join("project"), home.join("mine-too")).unwrap();
        let resolved = workspace.resolve("mine-too", Purpose::Read).unwrap();
        assert!(workspace.open(&resolved).is_ok());
    }

    #[test]
    fn walk_leaves_out_protected_folders() {
        let (_folder, _home, workspace) = home();
        let root = workspace.resolve(".", Purpose::Read).unwrap();
        let found: Vec<PathBuf> = workspace
            .walk(&root, crate::files::walk::WalkOptions::default())
            .unwrap()
            .map(|entry| entry.below)
            .collect();
        let expected = [".config", ".local", ".local/share", "project"].map(PathBuf::from);
        assert_eq!(found, expected);
        let skills = workspace.resolve(".config/tiller/skills", Purpose::Read).unwrap();
        let found = workspace.walk(&skills, crate::files::walk::WalkOptions::default()).unwrap().count();
        assert_eq!(found, 2, "the skill's folder and its file");
    }
}
