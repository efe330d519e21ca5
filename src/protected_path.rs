//! Paths that no write may reach without a question: git runs what is in `.git`, and shells, logins and clients read the
//! startup and credential files of the home directory. Pure: paths are compared by their letters, links aren't followed.

use std::path::{Component, Path, PathBuf};

/// Files directly in the home directory.
const HOME_FILES: &[&str] = &[
    // Shells, logins and terminals.
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".cshrc",
    ".env",
    ".envrc",
    ".inputrc",
    ".kshrc",
    ".login",
    ".logout",
    ".pam_environment",
    ".profile",
    ".screenrc",
    ".tcshrc",
    ".tmux.conf",
    ".xinitrc",
    ".xprofile",
    ".Xresources",
    ".xsession",
    ".xsessionrc",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    // Programs that run what these name.
    ".curlrc",
    ".emacs",
    ".gdbinit",
    ".gitconfig",
    ".hgrc",
    ".irbrc",
    ".lldbinit",
    ".npmrc",
    ".nvimrc",
    ".perltidyrc",
    ".pypirc",
    ".pythonrc",
    ".pythonrc.py",
    ".vimrc",
    ".wgetrc",
    ".yarnrc",
    ".yarnrc.yml",
    // Keys and passwords.
    ".git-credentials",
    ".my.cnf",
    ".netrc",
    ".pgpass",
    ".s3cfg",
];

/// Folders of the home directory, and files deeper in it; all that is beneath them counts.
const HOME_FOLDERS: &[&str] = &[
    ".aws",
    ".azure",
    ".bashrc.d",
    ".bundle",
    ".cargo/bin",
    ".cargo/config",
    ".cargo/config.toml",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".cargo/env",
    ".config",
    ".docker",
    ".emacs.d",
    ".gem",
    ".gnupg",
    ".gradle/gradle.properties",
    ".gradle/init.d",
    ".kube",
    ".local/bin",
    ".local/share/applications",
    ".local/share/systemd",
    ".m2/settings.xml",
    ".mozilla",
    ".nvm",
    ".oh-my-zsh",
    ".password-store",
    ".pyenv",
    ".rbenv",
    ".ssh",
    ".subversion",
    ".vim",
    "bin",
    "Library/Keychains",
    "Library/LaunchAgents",
    "Library/LaunchDaemons",
];

/// The reason why a path is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// A `.git`, or something in one: git runs its hooks and the programs that its configuration names.
    Git,
    /// A startup or credential file of the home directory.
    Home,
}

impl Protection {
    /// All reasons.
    pub const ALL: [Self; 2] = [Self::Git, Self::Home];

    /// The reason, for the user, as the question about a write gives it.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Git => "writes in .git, and git runs what is there",
            Self::Home => "changes startup or credential files in your home directory",
        }
    }

    /// Finds out why a path is protected; `None` if it isn't. The path is absolute and may have `.` and `..` in it; `homes` are
    /// the names of the home directory, absolute: with links in them and without. Case is ignored, as some file systems do.
    ///
    /// ```
    /// use std::path::{Path, PathBuf};
    /// use tiller::protected_path::Protection;
    ///
    /// let homes = [PathBuf::from("/home/me")];
    /// let find = |path| Protection::find(Path::new(path), &homes);
    /// assert_eq!(find("/home/me/work/../.bashrc"), Some(Protection::Home));
    /// assert_eq!(find("/home/me/work/.git/config"), Some(Protection::Git));
    /// assert_eq!(find("/home/me/work/.npmrc"), None);
    /// ```
    #[must_use]
    pub fn find(path: &Path, homes: &[PathBuf]) -> Option<Self> {
        // A `.git` that `..` leaves again counts: it may be a link.
        if path.components().any(|component| is_name(component, ".git")) {
            return Some(Self::Git);
        }
        let path = normalize(path);
        homes.iter().any(|home| is_protected_in(home, &path)).then_some(Self::Home)
    }
}

fn is_protected_in(home: &Path, path: &Path) -> bool {
    let mut beneath = path.components();
    let is_beneath = normalize(home)
        .components()
        .all(|name| beneath.next().is_some_and(|part| part.as_os_str().eq_ignore_ascii_case(name)));
    let beneath = beneath.as_path();
    let is_file = || {
        let mut names = beneath.components();
        let first = names.next();
        names.next().is_none()
            && first.is_some_and(|first| HOME_FILES.iter().any(|file| is_name(first, file)))
    };
    is_beneath && (is_file() || HOME_FOLDERS.iter().any(|folder| begins_with(beneath, folder)))
}

fn begins_with(path: &Path, folder: &str) -> bool {
    let mut parts = path.components();
    folder.split('/').all(|name| parts.next().is_some_and(|part| is_name(part, name)))
}

fn is_name(component: Component<'_>, name: &str) -> bool {
    component.as_os_str().eq_ignore_ascii_case(name)
}

/// A path with its `.` and `..` resolved by its letters alone.
#[must_use]
pub fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) | Component::Normal(_) => normal.push(component),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(path: &str) -> Option<Protection> {
        Protection::find(Path::new(path), &["/home/me".into(), "/mnt/me/".into()])
    }

    #[test]
    fn home_startup_and_credential_files_are_protected() {
        for path in HOME_FILES.iter().chain(HOME_FOLDERS) {
            assert_eq!(find(&format!("/home/me/{path}")), Some(Protection::Home), "{path}");
        }
        for folder in HOME_FOLDERS {
            assert_eq!(find(&format!("/home/me/{folder}/a/b")), Some(Protection::Home), "{folder}");
        }
        for path in [
            "/home/me/work/../.bashrc",
            "/home/me/./.BASHRC",
            "/mnt/me/.ssh/authorized_keys",
            "/home/other/../me/.zshrc",
            "/HOME/me/.profile",
            "/home/me/.config/systemd/user/x.service",
            "/../home/me/bin/ls",
        ] {
            assert_eq!(find(path), Some(Protection::Home), "{path}");
        }
    }

    #[test]
    fn home_other_files_and_projects_are_not_protected() {
        for path in [
            "/home/me",
            "/home",
            "/",
            "/home/me/notes.txt",
            "/home/me/.bashrc.txt",
            "/home/me/.bashrc/x",
            "/home/me/work/.npmrc",
            "/home/me/work/.config/x",
            "/home/me/work/bin/x",
            "/home/me/.cargo/registry/x",
            "/home/me/.local/share/tiller/x",
            "/home/me/.sshx",
            "/home/other/.bashrc",
            "/home/me2/.bashrc",
            "/tmp/.bashrc",
        ] {
            assert_eq!(find(path), None, "{path}");
        }
        assert_eq!(Protection::find(Path::new("/home/me/.bashrc"), &[]), None);
    }

    #[test]
    fn git_folders_are_protected() {
        for path in ["/w/.git", "/w/.GIT/config", "/w/.git/../x", "/home/me/.ssh/.git/x"] {
            assert_eq!(find(path), Some(Protection::Git), "{path}");
        }
        assert_eq!(find("/w/.gitignore"), None);
    }
}
