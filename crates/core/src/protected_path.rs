//! Protected paths, which no write may change without approval: git runs programs in `.git`; tiller runs
//! those in a trusted project's `.tiller` and `.mcp.json`; shells, logins and clients read startup and
//! credential files in the home directory; tiller's own directories hold its configuration, keys, sessions
//! and state. Pure: paths are compared as text, and links aren't followed.

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
    // Programs that run commands from these files.
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

/// Directories in the home directory, and files deeper in it, with all their content.
const HOME_DIRS: &[&str] = &[
    ".agents",
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
    ".claude",
    ".codex",
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
    ".pi",
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

/// Files and directories in the home directory that hold keys, passwords or sessions, with all their content.
const CREDENTIALS: &[&str] = &[
    ".aws",
    ".azure",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".config/anthropic",
    ".config/chromium",
    ".config/gcloud",
    ".config/gh",
    ".config/glab-cli",
    ".config/google-chrome",
    ".config/hub",
    ".config/op",
    ".config/rclone",
    ".config/sops",
    ".docker/config.json",
    ".env",
    ".gem/credentials",
    ".git-credentials",
    ".gnupg",
    ".gradle/gradle.properties",
    ".huggingface",
    ".cache/huggingface/token",
    ".kube",
    ".local/share/keyrings",
    ".m2/settings.xml",
    ".mozilla",
    ".my.cnf",
    ".netrc",
    ".npmrc",
    ".password-store",
    ".pgpass",
    ".pi/agent/auth.json",
    ".pypirc",
    ".s3cfg",
    ".ssh",
    ".subversion/auth",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    ".yarnrc.yml",
    "Library/Application Support/Google/Chrome",
    "Library/Keychains",
];

/// System files and directories with passwords and private keys, with all their content.
const SYSTEM_CREDENTIALS: &[&str] = &[
    "/etc/NetworkManager/system-connections",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/krb5.keytab",
    "/etc/master.passwd",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/ssh/ssh_host_dsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssl/private",
    "/etc/wireguard",
    "/run/secrets",
    "/var/run/secrets",
];

/// Directories with the home directories of other accounts, and the home directories of root.
const HOME_PARENTS: &[&str] = &["/Users", "/home"];
const ROOT_HOMES: &[&str] = &["/root", "/var/root"];

/// Endings of the names of environment files that are committed as an example.
const EXAMPLE_ENDINGS: &[&str] = &["defaults", "dist", "example", "sample", "schema", "template"];

/// Lists the protected startup and credential files and directories, relative to the home directory.
pub fn home_names() -> impl Iterator<Item = &'static str> {
    HOME_FILES.iter().chain(HOME_DIRS).copied()
}

/// The reason a path is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// A `.git`, or something in one: git runs its hooks and the programs that its configuration names.
    Git,
    /// A startup or credential file of the home directory.
    Home,
    /// tiller's own configuration, keys, sessions or state.
    Own,
    /// A project's `.mcp.json` or `.tiller`, or something in one: tiller runs the hooks, extensions and
    /// servers there.
    Project,
}

impl Protection {
    /// All reasons.
    pub const ALL: [Self; 4] = [Self::Git, Self::Home, Self::Own, Self::Project];

    /// Returns the reason for the user, as shown in the approval question.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Git => "writes to .git, where git may run files",
            Self::Home => "changes startup or credential files in your home directory",
            Self::Own => "accesses tiller's own configuration, keys or sessions",
            Self::Project => "changes what tiller runs in this project (.tiller, .mcp.json)",
        }
    }
}

/// The directories that determine the protected paths. All are absolute; a directory behind a link is listed
/// with both paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProtectedPaths {
    /// The home directory.
    pub homes: Vec<PathBuf>,
    /// The targets of links among the [startup and credential files](home_names), such as a repository of
    /// dotfiles.
    pub startup: Vec<PathBuf>,
    /// tiller's own directories.
    pub tiller_dirs: Vec<PathBuf>,
    /// Subdirectories of tiller's own directories that commands may read: skills, and the outputs of earlier
    /// commands.
    pub readable: Vec<PathBuf>,
}

impl ProtectedPaths {
    /// Returns the reason writing to a path needs approval; `None` if it doesn't. The path is absolute and
    /// may contain `.` and `..`. Case is ignored, as in some file systems.
    ///
    /// ```
    /// use std::path::Path;
    /// use tiller_core::protected_path::{ProtectedPaths, Protection};
    ///
    /// let protected = ProtectedPaths { homes: vec!["/home/me".into()], ..ProtectedPaths::default() };
    /// let find = |path| protected.find(Path::new(path));
    /// assert_eq!(find("/home/me/work/../.bashrc"), Some(Protection::Home));
    /// assert_eq!(find("/home/me/work/.git/config"), Some(Protection::Git));
    /// assert_eq!(find("/home/me/work/.npmrc"), None);
    /// ```
    #[must_use]
    pub fn find(&self, path: &Path) -> Option<Protection> {
        // A `.git` that `..` leaves again counts, because it may be a link.
        if path.components().any(is_git) {
            return Some(Protection::Git);
        }
        let path = normalize(path);
        if is_in_any(&self.tiller_dirs, &path) {
            return Some(Protection::Own);
        }
        if self.is_startup(&path) {
            return Some(Protection::Home);
        }
        is_project_file(&path).then_some(Protection::Project)
    }

    /// Does the same as [`find`](Self::find) for a path with wildcards: it needs approval if the shell may insert the name
    /// of a protected path.
    #[must_use]
    pub fn find_match(&self, pattern: &Path) -> Option<Protection> {
        if let Some(protection) = self.find(pattern) {
            return Some(protection);
        }
        let may_be = |names: &[String], file: &str| {
            names.iter().any(|name| name_may_match(name.as_bytes(), file.as_bytes()))
        };
        if may_be(&folded_names(pattern), ".git") {
            return Some(Protection::Git);
        }
        let path = folded_names(&normalize(pattern));
        let inside = |dir: &PathBuf| {
            strip_matching_dir(&path, folded_names(&normalize(dir)).iter().map(String::as_str))
        };
        if self.tiller_dirs.iter().any(|dir| inside(dir).is_some()) {
            return Some(Protection::Own);
        }
        let mut in_homes = self.homes.iter().filter_map(inside);
        let is_in_home =
            in_homes.any(|rest| home_names().any(|name| strip_matching_dir(rest, names(name)).is_some()));
        if is_in_home || self.startup.iter().any(|dir| inside(dir).is_some()) {
            return Some(Protection::Home);
        }
        [".mcp.json", ".tiller"].iter().any(|file| may_be(&path, file)).then_some(Protection::Project)
    }

    /// Returns the reason a path is protected if it is a startup file directly in the home directory, or a hook or the
    /// configuration of git, which programs have little reason to get.
    #[must_use]
    pub fn find_startup_file(&self, path: &Path) -> Option<Protection> {
        let is_run = |name: Option<Component<'_>>| {
            name.is_some_and(|it| ["config", "hooks"].contains(&&*fold_case(it)))
        };
        let mut names = path.components();
        if names.any(is_git) && is_run(names.next()) {
            return Some(Protection::Git);
        }
        let path = normalize(path);
        let is_file = |home: &PathBuf| {
            strip_dir(home, &path).is_some_and(|rest| HOME_FILES.iter().any(|name| begins_with(rest, name)))
        };
        (self.homes.iter().any(is_file) || is_in_any(&self.startup, &path)).then_some(Protection::Home)
    }

    fn is_startup(&self, path: &Path) -> bool {
        self.homes.iter().any(|home| is_protected_in(home, path)) || is_in_any(&self.startup, path)
    }

    /// Checks whether a path lies in tiller's own directories, which commands may not even read without
    /// approval.
    #[must_use]
    pub fn is_private(&self, path: &Path) -> bool {
        let path = normalize(path);
        is_in_any(&self.tiller_dirs, &path) && !is_in_any(&self.readable, &path)
    }

    /// Checks whether a path is a credential file of a home directory or the system or lies in a directory of them,
    /// is the environment of a process, which may have keys, or an [environment file](is_environment_file). Public keys
    /// don't count. A wildcard in the path matches any name that the shell may insert.
    #[must_use]
    pub fn is_credential(&self, path: &Path) -> bool {
        is_environment_file(&normalize(path)) || self.is_account_credential(path)
    }

    /// Does the same as [`is_credential`](Self::is_credential) for a path in quotes, whose wildcards only the program
    /// may expand: there, an environment file is one only if `.env` is written out.
    #[must_use]
    pub fn is_quoted_credential(&self, path: &Path) -> bool {
        let normal = normalize(path);
        let name = normal.components().next_back().map(fold_case);
        (is_environment_file(&normal) && name.is_some_and(|name| name.contains(".env")))
            || self.is_account_credential(path)
    }

    /// Checks whether a path is a credential file of a home directory, the system or a process.
    fn is_account_credential(&self, path: &Path) -> bool {
        let path = normalize(path);
        let is_public = path.extension().is_some_and(|extension| extension == "pub");
        let is_environment = path.starts_with("/proc")
            && path.file_name().is_some_and(|name| name_may_match(name.as_encoded_bytes(), b"environ"));
        if is_environment {
            return true;
        }
        let path = folded_names(&path);
        let is_inside = |path: &[String], name: &&str| strip_matching_dir(path, names(name)).is_some();
        SYSTEM_CREDENTIALS.iter().any(|name| is_inside(&path, name))
            || (!is_public
                && self.strip_homes(&path).any(|rest| CREDENTIALS.iter().any(|name| is_inside(rest, name))))
    }

    /// Strips a home directory, the user's own or another account's, from the beginning of a path.
    fn strip_homes<'a>(&'a self, path: &'a [String]) -> impl Iterator<Item = &'a [String]> {
        let own = self.homes.iter().filter_map(|home| {
            let home = folded_names(&normalize(home));
            strip_matching_dir(path, home.iter().map(String::as_str))
        });
        let others = HOME_PARENTS.iter().filter_map(|dir| strip_matching_dir(path, names(dir))?.get(1..));
        let of_root = ROOT_HOMES.iter().filter_map(|home| strip_matching_dir(path, names(home)));
        own.chain(others).chain(of_root)
    }

    /// Checks whether a directory contains credential files of a home directory, or is one of their directories. A
    /// wildcard matches any name that the shell may insert.
    #[must_use]
    pub fn holds_credentials(&self, dir: &Path) -> bool {
        let dir = folded_names(&normalize(dir));
        let is_above_home = |home: &PathBuf| {
            let home = folded_names(&normalize(home));
            dir.len() < home.len() && may_contain(&dir, home.iter().map(String::as_str))
        };
        self.homes.iter().any(is_above_home)
            || self
                .strip_homes(&dir)
                .any(|rest| CREDENTIALS.iter().any(|name| may_contain(rest, names(name))))
    }

    /// Returns true if a command that was allowed for another path must not read this one: it is protected
    /// (in the home directory, or in tiller's own directories), or contains such a path.
    #[must_use]
    pub fn is_secret(&self, path: &Path) -> bool {
        let path = normalize(path);
        let is_above = |dir: &Path| strip_dir(&path, &normalize(dir)).is_some();
        let holds_protected =
            |home: &PathBuf| is_above(home) || HOME_DIRS.iter().any(|dir| is_above(&home.join(dir)));
        (self.is_startup(&path) && !is_in_any(&self.readable, &path))
            || self.is_private(&path)
            || self.homes.iter().any(holds_protected)
            || self.tiller_dirs.iter().any(|dir| is_above(dir))
    }
}

/// Checks whether a path is a file with environment variables for a project's programs, which may have keys: `.env`,
/// `.env.local`; not `.env.example`. A wildcard matches any name that the shell may insert, and `*.env` such files.
#[must_use]
pub fn is_environment_file(path: &Path) -> bool {
    const WILDCARDS: [char; 3] = ['*', '?', '['];
    let Some(name) = path.components().next_back().map(fold_case) else { return false };
    let is_own = |name: &str| {
        let ending = name.strip_prefix(".env.").map(|rest| rest.rsplit('.').next().unwrap_or(rest));
        let may_be = |file: &[u8]| name.contains(WILDCARDS) && name_may_match(name.as_bytes(), file);
        let is_named = name == ".env" || ending.is_some_and(|ending| !EXAMPLE_ENDINGS.contains(&ending));
        is_named || may_be(b".env") || may_be(b".env.local")
    };
    let after_wildcard = name.find(".env").filter(|at| name[..*at].contains(WILDCARDS));
    is_own(&name[after_wildcard.unwrap_or_default()..])
}

fn is_in_any(dirs: &[PathBuf], path: &Path) -> bool {
    dirs.iter().any(|dir| strip_dir(dir, path).is_some())
}

/// Strips a directory from the beginning of a path; `None` if the path isn't in it.
fn strip_dir<'a>(dir: &Path, path: &'a Path) -> Option<&'a Path> {
    let mut rest = path.components();
    let is_inside = normalize(dir)
        .components()
        .all(|name| rest.next().is_some_and(|part| fold_case(part) == fold_case(name)));
    is_inside.then_some(rest.as_path())
}

fn is_protected_in(home: &Path, path: &Path) -> bool {
    let Some(rest) = strip_dir(home, path) else { return false };
    home_names().any(|name| begins_with(rest, name))
}

/// Returns the names of a path without differences of case; `/` is the first one of an absolute path.
fn folded_names(path: &Path) -> Vec<String> {
    path.components().map(fold_case).collect()
}

/// Splits a path of the lists in this file.
fn names(path: &str) -> impl Iterator<Item = &str> {
    let root = path.starts_with('/').then_some("/");
    root.into_iter().chain(path.split('/').filter(|name| !name.is_empty()))
}

/// Strips a directory from the beginning of a path whose wildcards may match it.
fn strip_matching_dir<'a, 'n>(
    path: &'a [String],
    dir: impl Iterator<Item = &'n str>,
) -> Option<&'a [String]> {
    let mut rest = path;
    for name in dir {
        let (first, others) = rest.split_first()?;
        if !name_may_match(first.as_bytes(), name.as_bytes()) {
            return None;
        }
        rest = others;
    }
    Some(rest)
}

/// Returns true if a directory whose wildcards may match it is this path, or contains it.
fn may_contain<'n>(dir: &[String], mut path: impl Iterator<Item = &'n str>) -> bool {
    dir.iter().all(|part| path.next().is_some_and(|name| name_may_match(part.as_bytes(), name.as_bytes())))
}

/// Checks whether a shell may replace a pattern with a name of a file. Case is ignored. A wildcard matches no dot at the
/// beginning of a name. A set `[…]` matches any one character, and may end at any later `]`, because quotes are unknown
/// here; a variable or a substitution in it may contain its end and anything else.
#[must_use]
pub fn name_may_match(pattern: &[u8], name: &[u8]) -> bool {
    const WILDCARDS: &[u8] = b"*?[";
    if !pattern.iter().any(|c| WILDCARDS.contains(c)) {
        return pattern.eq_ignore_ascii_case(name);
    }
    if name.starts_with(b".") && !pattern.starts_with(b".") {
        return false;
    }
    // For each number of bytes of the pattern, the numbers of bytes of the name that they may match.
    let mut reachable = vec![vec![false; name.len() + 1]; pattern.len() + 1];
    reachable[0][0] = true;
    for (at, c) in pattern.iter().enumerate() {
        let rest = &pattern[at + 1..];
        for matched in 0..=name.len() {
            if !reachable[at][matched] {
                continue;
            }
            let ends = character_ends(name, matched);
            match c {
                b'*' => {
                    reachable[at + 1][matched..].fill(true);
                    break;
                }
                b'?' => ends.for_each(|end| reachable[at + 1][end] = true),
                b'[' if rest.iter().any(|c| b"$`".contains(c)) => return true,
                b'[' => {
                    // `[]` isn't a set.
                    let closing = (2..=rest.len()).filter(|length| rest[length - 1] == b']');
                    let lengths: Vec<usize> = closing.collect();
                    ends.for_each(|end| {
                        lengths.iter().for_each(|length| reachable[at + 1 + length][end] = true)
                    });
                }
                _ => {}
            }
            if name.get(matched).is_some_and(|own| own.eq_ignore_ascii_case(c)) {
                reachable[at + 1][matched + 1] = true;
            }
        }
    }
    let is_rest_empty = |at: usize| pattern[at..].iter().all(|c| b"*[".contains(c));
    (0..=pattern.len()).any(|at| reachable[at][name.len()] && is_rest_empty(at))
}

/// Returns the ends of the byte and of the UTF-8 character at an index of a name.
fn character_ends(name: &[u8], start: usize) -> impl Iterator<Item = usize> {
    let rest = name.get(start + 1..).filter(|_| start < name.len());
    let character = rest.map(|rest| start + 1 + rest.iter().take_while(|byte| *byte & 0xc0 == 0x80).count());
    rest.map(|_| start + 1).into_iter().chain(character)
}

fn begins_with(path: &Path, dir: &str) -> bool {
    let mut parts = path.components();
    dir.split('/').all(|name| parts.next().is_some_and(|part| is_name(part, name)))
}

fn is_name(component: Component<'_>, name: &str) -> bool {
    fold_case(component) == name.to_ascii_lowercase()
}

/// Returns a name without differences of case, as some file systems compare it: `ſ` equals `s`, and `ﬁ`
/// equals `fi`.
fn fold_case(component: Component<'_>) -> String {
    let name = component.as_os_str().to_string_lossy();
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    name.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

/// Returns true if some file system treats a name as `.git`. FAT and NTFS drop trailing dots and spaces and
/// have short names, a colon in NTFS starts the name of a stream, and HFS+ ignores some invisible characters.
fn is_git(component: Component<'_>) -> bool {
    [".git", "git~1"].contains(&&*equivalent_name(component))
}

/// Checks whether a path is, or lies in, a file or directory that configures tiller for a project.
fn is_project_file(path: &Path) -> bool {
    path.components().any(|name| [".mcp.json", ".tiller", "tiller~1"].contains(&&*equivalent_name(name)))
}

/// Normalizes a name as file systems do that treat different names as the same file.
fn equivalent_name(component: Component<'_>) -> String {
    let name = fold_case(component).replace(is_ignored_by_hfs, "");
    name.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']).to_owned()
}

/// Checks for the characters that HFS+ ignores, as `next_hfs_char` in git's `utf8.c` lists them (git 2.47).
const fn is_ignored_by_hfs(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

/// Resolves `.` and `..` in a path lexically, without following links.
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

/// Does the same as [`normalize`], and follows the links in `/proc` to the root directory and the working directory of a
/// process, which counts as one in `current`: `/proc/self/root/x` is `/x`, `/proc/self/cwd/x` is `x` in `current`. The
/// process may have any name. `/dev/fd` is in `/proc/self`.
#[must_use]
pub fn follow_process_links(path: &Path, current: &Path) -> PathBuf {
    let mut real = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(real.pop()),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) | Component::Normal(_) => real.push(component),
        }
        if real == Path::new("/dev/fd") {
            real = "/proc/self/fd".into();
        }
        let names = folded_names(&real);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (["/", "proc", _, link] | ["/", "proc", _, "task", _, link]) = names.as_slice() else { continue };
        if name_may_match(link.as_bytes(), b"root") {
            real = "/".into();
        } else if name_may_match(link.as_bytes(), b"cwd") {
            real = normalize(current);
        }
    }
    real
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follow_process_links_resolves_root_and_working_dir() {
        for (path, expected) in [
            ("/proc/self/root/home/me/x", "/home/me/x"),
            ("/proc/1/cwd/../x", "/home/me/x"),
            ("/proc/$$/task/1/root", "/"),
            ("/proc/thread-self/root/../dev/sda", "/dev/sda"),
            ("/dev/fd/../roo?/proc/self/cwd/x", "/home/me/work/x"),
            ("/proc/self/maps", "/proc/self/maps"),
            ("a/../proc/self/root", "proc/self/root"),
        ] {
            let real = follow_process_links(Path::new(path), Path::new("/home/me/work"));
            assert_eq!(real, Path::new(expected), "{path}");
        }
    }

    fn find(path: &str) -> Option<Protection> {
        let homes = vec!["/home/me".into(), "/mnt/me/".into()];
        ProtectedPaths { homes, ..ProtectedPaths::default() }.find(Path::new(path))
    }

    #[test]
    fn name_may_match_set_is_one_character() {
        for (pattern, name, matches) in [
            (".[x]", ".env", false),
            (".[dev]", ".env", false),
            (".[e]nv", ".env", true),
            (".[ex][nx]?", ".env", true),
            (".[a]e]nv", ".env", true),
            (".[[:alpha:]]nv", ".env", true),
            (".[]e]nv", ".env", true),
            (".[!e]*", ".env", true),
            (".[]nv", ".env", false),
            (".[e", ".env", false),
            (".[$X", ".env", true),
            (".e[n$X", ".env", true),
            (".x[n$X", ".env", false),
            ("x[y", "x[y", true),
            ("[é]x", "éx", true),
            ("?x", "éx", true),
            ("*v", ".env", false),
            (".*n*v*", ".env", true),
            (".ENV", ".env", true),
            (".env*", ".env", true),
        ] {
            assert_eq!(name_may_match(pattern.as_bytes(), name.as_bytes()), matches, "{pattern} {name}");
        }
    }

    #[test]
    fn find_match_pattern_for_protected_path_is_some() {
        let protected = ProtectedPaths {
            homes: vec!["/home/me".into()],
            tiller_dirs: vec!["/data/tiller".into()],
            ..ProtectedPaths::default()
        };
        let find = |path| protected.find_match(Path::new(path));
        for (path, expected) in [
            ("/w/.git/x", Some(Protection::Git)),
            ("/w/.g*", Some(Protection::Git)),
            ("/w/.gi?/hooks/x", Some(Protection::Git)),
            ("/w/.gi[t]/../x", Some(Protection::Git)),
            ("/w/.til*/settings.json", Some(Protection::Project)),
            ("/w/sub/.mcp.*", Some(Protection::Project)),
            ("/home/me/.bash*", Some(Protection::Home)),
            ("/home/me/.conf*/x", Some(Protection::Home)),
            ("/home/*/.ssh/x", Some(Protection::Home)),
            ("/home/me/b*", Some(Protection::Home)),
            ("/data/til*/x", Some(Protection::Own)),
            ("/w/*", None),
            ("/w/?git/x", None),
            ("/w/g*", None),
            ("/w/.github/*", None),
            ("/w/.gitig*", None),
            ("/home/me/*.txt", None),
            ("/home/me/work/*", None),
        ] {
            assert_eq!(find(path), expected, "{path}");
        }
    }

    #[test]
    fn find_home_startup_and_credential_file_is_home() {
        for path in HOME_FILES.iter().chain(HOME_DIRS) {
            assert_eq!(find(&format!("/home/me/{path}")), Some(Protection::Home), "{path}");
        }
        for dir in HOME_DIRS {
            assert_eq!(find(&format!("/home/me/{dir}/a/b")), Some(Protection::Home), "{dir}");
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
    fn find_name_of_other_file_systems_is_protected() {
        for name in [".git", ".GIT", ".git.", ".git ", ".git. .", "git~1", "GIT~1", ".g\u{200c}it"] {
            assert_eq!(find(&format!("/work/{name}/config")), Some(Protection::Git), "{name:?}");
        }
        assert_eq!(find("/work/.git::$INDEX_ALLOCATION/config"), Some(Protection::Git));
        for name in [".ſſh/config", ".conﬁg/x", ".\u{212a}ube/config"] {
            assert_eq!(find(&format!("/home/me/{name}")), Some(Protection::Home), "{name:?}");
        }
        for name in [".gitignore", ".github", "git", "x.git", ".gi", "git~2"] {
            assert_eq!(find(&format!("/work/{name}")), None, "{name:?}");
        }
    }

    #[test]
    fn find_other_file_or_project_is_none() {
        for path in [
            "/home/me",
            "/home",
            "/",
            "/home/me/notes.txt",
            "/home/me/.bashrc.txt",
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
        assert_eq!(ProtectedPaths::default().find(Path::new("/home/me/.bashrc")), None);
    }

    #[test]
    fn find_target_of_linked_startup_file_is_home() {
        let startup = vec!["/home/me/dot/zshrc".into(), "/home/me/dot/ssh".into()];
        let protected = ProtectedPaths { startup, ..ProtectedPaths::default() };
        for path in ["/home/me/dot/zshrc", "/home/me/dot/ssh/authorized_keys"] {
            assert_eq!(protected.find(Path::new(path)), Some(Protection::Home), "{path}");
            assert!(protected.is_secret(Path::new(path)), "{path}");
        }
        assert_eq!(protected.find(Path::new("/home/me/dot/notes")), None);
    }

    #[test]
    fn find_git_dir_is_git() {
        for path in ["/w/.git", "/w/.GIT/config", "/w/.git/../x", "/home/me/.ssh/.git/x"] {
            assert_eq!(find(path), Some(Protection::Git), "{path}");
        }
        assert_eq!(find("/w/.gitignore"), None);
    }

    #[test]
    fn find_project_configuration_of_tiller_is_project() {
        for path in [
            "/w/.tiller/hooks/check.sh",
            "/w/.tiller/settings.json",
            "/w/sub/.tiller",
            "/w/x/../.TILLER/extensions/guard",
            "/home/me/work/.mcp.json",
            "/w/.MCP.json",
        ] {
            assert_eq!(find(path), Some(Protection::Project), "{path}");
        }
        for path in ["/w/tiller/x", "/w/.tiller-x1", "/w/x.mcp.json", "/w/.tiller/../x"] {
            assert_eq!(find(path), None, "{path}");
        }
        let own = ProtectedPaths { tiller_dirs: vec!["/home/me/.tiller".into()], ..Default::default() };
        assert_eq!(own.find(Path::new("/home/me/.tiller/config/x")), Some(Protection::Own));
    }

    #[test]
    fn is_secret_path_that_is_in_or_holds_protected_is_true() {
        let protected = ProtectedPaths {
            startup: Vec::new(),
            homes: vec!["/home/me".into()],
            tiller_dirs: vec!["/home/me/.config/tiller".into(), "/data/tiller/".into()],
            readable: vec!["/home/me/.config/tiller/skills".into(), "/home/me/.agents/skills".into()],
        };
        for path in [
            "/",
            "/home",
            "/home/me",
            "/HOME/me",
            "/home/me/x/..",
            "/home/me/.ssh/x",
            "/home/me/.netrc",
            "/home/me/.config",
            "/home/me/.cargo",
            "/home/me/.local",
            "/home/me/Library",
            "/data",
            "/data/tiller",
            "/data/tiller/auth.json",
            "/home/me/.claude/settings.json",
        ] {
            assert!(protected.is_secret(Path::new(path)), "{path}");
        }
        for path in [
            "/home/me/work",
            "/home/me/.cargo/registry",
            "/home/other",
            "/etc",
            "/home/me/.config/tiller/skills/x",
            "/home/me/.agents/skills/x/SKILL.md",
        ] {
            assert!(!protected.is_secret(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn is_credential_key_or_password_file_is_true() {
        let homes = vec!["/home/me".into()];
        let protected = ProtectedPaths { homes, ..ProtectedPaths::default() };
        for path in [
            "/home/me/.ssh",
            "/home/me/.ssh/id_rsa",
            "/home/me/x/../.SSH/id_rsa",
            "/home/me/.s*/id_rsa",
            "/home/me/.*",
            "/home/me/.config/g?",
            "/home/me/.netrc",
            "/home/me/.config/gh/hosts.yml",
            "/home/me/.cargo/*",
            "/home/me/.docker/*",
            "/home/me/.config/*/hosts.yml",
            "/home/*/.ssh/id_rsa",
            "/*/m?/.ssh/*",
            "/home/me/.c*/cred*",
            "/home/me/.[s]sh/id_rsa",
            "/home/you/.ssh/x",
            "/root/.ssh/id_rsa",
            "/r*t/.aws/credentials",
            "/Users/you/Library/Keychains/x",
            "/proc/1/environ",
            "/proc/self/task/2/env*",
        ] {
            assert!(protected.is_credential(Path::new(path)), "{path}");
        }
        for path in [
            "/home/me/.ssh/id_rsa.pub",
            "/home/me/*.txt",
            "/proc/self/status",
            "/home/me/environ",
            "/home/me/.bashrc",
            "/home/me/work/.ssh/x",
            "/home/me/.config/nvim",
            "/home/you/notes",
            "/home/.ssh/x",
            "/srv/you/.ssh/x",
            "/home/me/*/id_rsa",
            "/home/me/*",
            "/home/me/.cargo/c*.txt",
            "/home/me/work/*",
        ] {
            assert!(!protected.is_credential(Path::new(path)), "{path}");
        }
        for (path, is_quoted_credential) in [
            ("/w/.env", true),
            ("/w/.env*", true),
            ("/w/*.env", true),
            ("/w/.*", false),
            ("/w/.[]", false),
            ("/w/.e*", false),
            ("/home/me/.ssh/*", true),
            ("/home/me/.*", true),
        ] {
            assert_eq!(protected.is_quoted_credential(Path::new(path)), is_quoted_credential, "{path}");
        }
        let holds = |path| protected.holds_credentials(Path::new(path));
        assert_eq!(["/", "/home/me", "/home/me/.config", "/home/*", "/home/me/.conf*"].map(holds), [true; 5]);
        assert_eq!(["/root", "/home/you", "/home/you/.config"].map(holds), [true; 3]);
        assert_eq!(["/home/me/work", "/home/you/work", "/srv"].map(holds), [false; 3]);
    }

    #[test]
    fn is_credential_of_system_or_project_is_true() {
        let protected = ProtectedPaths { homes: vec!["/home/me".into()], ..ProtectedPaths::default() };
        for path in [
            "/etc/shadow",
            "/etc/../etc/gshadow-",
            "/etc/shad*",
            "/etc/ssl/private/x.key",
            "/run/secrets/token",
            "/w/.env",
            "/w/sub/.env.local",
            "/w/.ENV.production",
            "/w/.env*",
            "/w/.e?v",
            "/w/.env.*",
            "/w/*.env",
            "/w/prod?.env.local",
            "/w/*.env*",
        ] {
            assert!(protected.is_credential(Path::new(path)), "{path}");
        }
        for path in [
            "/etc/passwd",
            "/etc/ssh/ssh_host_rsa_key.pub",
            "/etc/ssl/certs/x.pem",
            "/w/.env.example",
            "/w/.env.local.sample",
            "/w/.env/bin/activate",
            "/w/.environment",
            "/w/env",
            "/w/x.env",
            "/w/*.env.example",
            "/w/*.environment.ts",
            "/w/*",
        ] {
            assert!(!protected.is_credential(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn is_private_own_dir_except_readable_is_true() {
        let protected = ProtectedPaths {
            tiller_dirs: vec!["/home/me/.config/tiller".into(), "/data/tiller/".into()],
            readable: vec!["/home/me/.config/tiller/skills".into()],
            ..ProtectedPaths::default()
        };
        for (path, is_private) in [
            ("/home/me/.config/tiller", true),
            ("/home/me/.config/tiller/auth.json", true),
            ("/home/me/x/../.config/TILLER/.env", true),
            ("/data/tiller/sessions/x.jsonl", true),
            ("/home/me/.config/tiller/skills/../auth.json", true),
            ("/home/me/.config/tiller/skills/x/run.py", false),
        ] {
            assert_eq!(protected.find(Path::new(path)), Some(Protection::Own), "{path}");
            assert_eq!(protected.is_private(Path::new(path)), is_private, "{path}");
        }
        for path in ["/home/me/.config", "/home/me/.config/tiller-notes", "/data"] {
            assert_eq!(
                (protected.find(Path::new(path)), protected.is_private(Path::new(path))),
                (None, false)
            );
        }
    }
}
