//! The context in which a command is judged: the directories in which it may run, as far as the command line
//! shows, with path resolution in them, its variables and the rules.

use std::path::{Component, Path, PathBuf};

use tiller_core::protected_path::{
    ProtectedPaths, Protection, follow_process_links, name_may_match, normalize,
};

use super::super::command_rules::CommandRules;
use super::super::shell::{Segment, WILDCARDS};
use super::arguments::{program, targets};
use super::variables::{TEMPORARY, Variable, sets_fixed};

/// Shell names of the home directory.
const HOME_NAMES: &[&str] = &["~", "$HOME", "${HOME}"];

/// Shell names of the current directory.
const CURRENT_NAMES: &[&str] = &["~+", "$PWD", "${PWD}"];

/// Prefix of a directory that the line doesn't show. Paths in it don't count as part of the working
/// directory.
const UNKNOWN: &str = "$";

/// The root of the file system, and directories that the system needs.
const SYSTEM_DIRS: &[&str] = &[
    "/",
    "/Applications",
    "/Library",
    "/System",
    "/Users",
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/lib64",
    "/opt",
    "/private",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/srv",
    "/sys",
    "/usr",
    "/usr/bin",
    "/usr/lib",
    "/var",
    "/var/lib",
];

/// Directories of links to anything that is open or running.
const LINK_DIRS: &[&str] = &["/proc", "/dev/fd"];

/// The directories that the paths of a command are relative to, and what else its judgement depends on.
#[derive(Clone, Copy)]
pub(in crate::policy) struct CommandContext<'a> {
    /// The working directory.
    pub(super) root: &'a Path,
    /// The target of the last `cd`.
    pub(super) current: &'a Path,
    /// Other directories where the command may run, because a `cd` may have failed or ended with its
    /// subshell.
    pub(super) visited: &'a [PathBuf],
    pub(super) protected: &'a ProtectedPaths,
    /// Directories outside the working directory that may be written to.
    pub(super) writable: &'a [PathBuf],
    /// True if commands run without approval because the sandbox contains them.
    pub(super) is_contained: bool,
    /// False for text that may not be a command; then unknown directories aren't reported.
    pub(super) is_certain: bool,
    /// True for words in quotes, whose wildcards the shell doesn't expand.
    pub(super) is_quoted: bool,
    /// The command's words with wildcards in quotes.
    pub(super) quoted: &'a [String],
    /// The variables that the line sets.
    pub(super) variables: &'a [Variable],
    /// The settings rules for the line's commands.
    pub(super) rules: CommandRules<'a>,
}

impl<'a> CommandContext<'a> {
    /// Creates the context of a line before any `cd`.
    pub(in crate::policy) fn new(root: &'a Path, protected: &'a ProtectedPaths) -> Self {
        Self {
            root,
            current: root,
            visited: &[],
            protected,
            writable: &[],
            is_contained: false,
            is_certain: true,
            is_quoted: false,
            quoted: &[],
            variables: &[],
            rules: CommandRules::default(),
        }
    }

    /// Sets the settings rules.
    pub(in crate::policy) fn with_rules(self, rules: CommandRules<'a>) -> Self {
        Self { rules, ..self }
    }

    /// Returns this context for text that may not be a command.
    pub(super) const fn with_uncertainty(self) -> Self {
        Self { is_certain: false, ..self }
    }

    /// Returns this context for words in quotes.
    pub(in crate::policy) const fn with_quotes(self) -> Self {
        Self { is_quoted: true, ..self }
    }

    /// Adds directories that may be written to.
    pub(in crate::policy) const fn with_writable(self, writable: &'a [PathBuf]) -> Self {
        Self { writable, ..self }
    }

    /// Sets whether commands run without approval because the sandbox contains them.
    pub(in crate::policy) const fn with_containment(self, is_contained: bool) -> Self {
        Self { is_contained, ..self }
    }

    /// Returns the context of a command on another machine, where relative paths lead to an unknown directory.
    pub(super) fn elsewhere(self) -> Self {
        Self { root: Path::new(UNKNOWN), current: Path::new(UNKNOWN), visited: &[], ..self }
    }

    /// Resolves the path argument of a tool call in the working directory.
    pub(in crate::policy) fn resolve_path(self, path: &str) -> PathBuf {
        follow_process_links(&self.resolve_from(self.root, path), self.root)
    }

    /// Lists the paths that a word may name.
    pub(in crate::policy) fn list_paths(word: &str) -> Vec<&str> {
        list_paths(word)
    }

    /// Returns the reason a write to a path needs approval, in any directory where the command may run.
    pub(in crate::policy) fn protection(self, path: &str) -> Option<Protection> {
        self.find_protection(path, |path| self.protected.find(path))
    }

    /// Does the same as [`protection`](Self::protection) for a word outside of quotes, whose wildcards the shell expands.
    pub(super) fn protection_of_pattern(self, path: &str) -> Option<Protection> {
        self.find_protection(path, |path| self.protected.find_match(path))
    }

    /// Returns the reason a startup file that a word names is protected.
    pub(super) fn find_startup_file(self, word: &str) -> Option<Protection> {
        let paths = list_paths(word).into_iter().flat_map(|path| self.resolve(path));
        paths.into_iter().find_map(|path| self.protected.find_startup_file(&path))
    }

    fn find_protection(self, path: &str, find: impl Fn(&Path) -> Option<Protection>) -> Option<Protection> {
        let direct_paths = Self { visited: &[], ..self }.resolve(path);
        direct_paths.iter().find_map(|path| find(path)).or_else(|| {
            // A `cd` into such a directory and out again doesn't write there.
            let is_local = |it: &Protection| [Protection::Git, Protection::Project].contains(it);
            let all_paths = self.resolve(path);
            all_paths.iter().filter_map(|path| find(path)).find(|it| !is_local(it))
        })
    }

    /// Returns true for a word that names a path in tiller's own directories, as a path or in an option, an
    /// address or a variable.
    pub(super) fn names_private(self, word: &str) -> bool {
        // `curl -d @FILE`
        let paths = list_paths(word).into_iter().flat_map(|path| [path, path.trim_start_matches('@')]);
        word.contains("TILLER_HOME")
            || paths.flat_map(|path| self.resolve(path)).any(|path| self.protected.is_private(&path))
    }

    /// Returns true for a word that may name files that the user didn't see when allowing an earlier command:
    /// secret files, files of an unknown user, link targets in `/proc`, and paths that leave a directory by
    /// `..`, because the directory may be a link.
    pub(in crate::policy) fn names_secret(self, word: &str) -> bool {
        list_paths(word).into_iter().any(|path| {
            let is_other_home = strip_other_home(path).is_some() && self.strip_home(path).is_none();
            is_other_home || leaves_dir(path) || self.resolve(path).iter().any(|path| self.is_secret(path))
        })
    }

    /// Returns true for a secret path. The working directory may be in a directory with secrets, or contain
    /// some; other paths in it are free.
    fn is_secret(self, path: &Path) -> bool {
        let path = normalize(path);
        let is_hidden = LINK_DIRS.iter().any(|dir| path.starts_with(dir));
        let is_protected =
            || self.protected.find(&path) == Some(Protection::Home) || self.protected.is_private(&path);
        is_hidden
            || self.is_credential(&path)
            || (self.protected.is_secret(&path) && (is_protected() || !path.starts_with(self.root)))
    }

    /// Returns true for the path of a file with keys or passwords.
    pub(super) fn is_credential(self, path: &Path) -> bool {
        match self.is_quoted {
            true => self.protected.is_quoted_credential(path),
            false => self.protected.is_credential(path),
        }
    }

    /// Returns true for a path that is or may be the working directory itself or a path outside it. Paths below a
    /// directory for temporary files don't count, unless the working directory is in one.
    pub(super) fn leads_out(self, path: &str) -> bool {
        self.resolve_deleted(path).is_none_or(|paths| {
            let temporary = |path: &PathBuf| {
                !self.root.starts_with(path) && TEMPORARY.iter().any(|dir| is_below(path, Path::new(dir)))
            };
            !paths.iter().all(|path| is_below(path, self.root) || temporary(path))
        })
    }

    /// Resolves a path, with or without final wildcards, from the target of a `cd`, which may fail, and from the
    /// working directory. Returns `None` if the path can't be resolved.
    fn resolve_deleted(self, path: &str) -> Option<[PathBuf; 2]> {
        let home = self.strip_home(path).filter(|_| !self.protected.homes.is_empty());
        let rest = home.unwrap_or_else(|| strip_current(path));
        let is_set = rest != path && sets_fixed(self.variables);
        let is_unknown = rest.contains('$') || (home.is_none() && rest.starts_with('~')) || is_set;
        let path = without_wildcards(path);
        (!is_unknown).then(|| [self.root, self.current].map(|dir| normalize(&self.resolve_from(dir, path))))
    }

    /// Returns true if a path, with or without final wildcards, is the root of the file system, a system directory or a
    /// home directory, or a pattern for one: `/u*`.
    pub(super) fn is_essential(self, path: &str) -> bool {
        let real = self.resolve_from(self.current, without_wildcards(path));
        let real = follow_process_links(&real, self.current);
        let path = self.resolve_from(self.current, path);
        let is_home = self.protected.homes.iter().any(|home| home.starts_with(&real));
        (is_home && real.is_absolute())
            || SYSTEM_DIRS.iter().any(|dir| real == Path::new(dir))
            || self.is_essential_pattern(&path)
    }

    /// Returns true for a pattern of paths that may match a system directory or a home directory.
    fn is_essential_pattern(self, path: &Path) -> bool {
        let pattern = normalize(path);
        let is_pattern = pattern.as_os_str().to_string_lossy().contains(WILDCARDS);
        let may_match = |dir: &Path| {
            let pairs = || pattern.components().zip(dir.components());
            let name = |it: Component<'_>| it.as_os_str().as_encoded_bytes().to_vec();
            pattern.components().count() == dir.components().count()
                && pairs().all(|(pattern, dir)| name_may_match(&name(pattern), &name(dir)))
        };
        let mut dirs =
            SYSTEM_DIRS.iter().map(Path::new).chain(self.protected.homes.iter().map(PathBuf::as_path));
        is_pattern && dirs.any(may_match)
    }

    /// Returns the target of a `cd`; `None` for other commands. `previous` is the directory before this one.
    pub(super) fn find_cd_target(self, segment: &Segment, previous: &Path) -> Option<PathBuf> {
        let (name, arguments) = program(&segment.words);
        let is_back = name == "popd" || arguments.iter().any(|word| word == "-");
        match name {
            "cd" | "popd" | "pushd" if is_back => Some(previous.to_owned()),
            "cd" | "pushd" => Some(self.enter(targets(arguments).next().map_or("~", String::as_str))),
            _ => None,
        }
    }

    /// Lists the directories where the command may run after a `cd`, whether it succeeds or fails.
    pub(super) fn list_cd_targets(self, segment: &Segment, previous: &Path) -> Vec<PathBuf> {
        let dirs = [self.current, self.root].into_iter().chain(self.visited.iter().map(PathBuf::as_path));
        let targets = dirs.filter_map(|current| Self { current, ..self }.find_cd_target(segment, previous));
        targets.chain([self.current.to_owned()]).collect()
    }

    /// Returns the directory that a path leads to from the current one.
    pub(super) fn enter(self, path: &str) -> PathBuf {
        let real = normalize(&self.resolve_from(self.current, path));
        let relative = strip_current(path);
        let is_home = self.strip_home(path).is_some() && !self.protected.homes.is_empty();
        let is_known = is_home || !(relative.starts_with('~') || relative.contains('$'));
        if is_known { real } else { Path::new(UNKNOWN).join(real.strip_prefix("/").unwrap_or(&real)) }
    }

    /// Resolves a path from every directory where the command may run, as written and without links to processes.
    pub(super) fn resolve(self, path: &str) -> Vec<PathBuf> {
        let visited = self.visited.iter().map(PathBuf::as_path);
        let dirs = [self.current, self.root].into_iter().chain(visited);
        let forms = dirs.flat_map(|dir| {
            let written = self.resolve_from(dir, path);
            let real = follow_process_links(&written, dir);
            let is_moved = real != normalize(&written);
            [written].into_iter().chain(is_moved.then_some(real))
        });
        forms.collect()
    }

    pub(super) fn resolve_from(self, dir: &Path, path: &str) -> PathBuf {
        let home = self.strip_home(path).and_then(|rest| Some(self.protected.homes.first()?.join(rest)));
        home.unwrap_or_else(|| match strip_other_home(path) {
            Some(rest) => Path::new("/home").join(rest),
            None => dir.join(strip_current(path)),
        })
    }

    /// Strips the home directory from the start of a path: `~/x`, `$HOME/x`, `${HOME}/x`, `~NAME/x`.
    pub(super) fn strip_home(self, path: &str) -> Option<&str> {
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        let is_own = |name: &str| {
            self.protected.homes.iter().filter_map(|home| home.file_name()).any(|home_name| home_name == name)
        };
        let is_home = HOME_NAMES.contains(&first) || first.strip_prefix('~').is_some_and(is_own);
        is_home.then(|| rest.trim_start_matches('/'))
    }
}

/// Removes the wildcards at the end of a path: `/tmp/?*/` and `/tmp/*` are all that is in `/tmp/`.
fn without_wildcards(path: &str) -> &str {
    let pattern = path.trim_end_matches('/');
    let dir = pattern.trim_end_matches(['*', '?']);
    if dir == pattern { path } else { dir }
}

fn is_below(path: &Path, dir: &Path) -> bool {
    path.starts_with(dir) && path != dir
}

/// Strips the `~` of a path in an account's home directory: `~NAME/x`.
fn strip_other_home(path: &str) -> Option<&str> {
    path.strip_prefix('~').filter(|name| name.starts_with(char::is_alphabetic))
}

/// Strips the name of the shell's current directory from the start of a path: `$PWD/x` is `x`.
pub(super) fn strip_current(path: &str) -> &str {
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    if CURRENT_NAMES.contains(&first) { rest.trim_start_matches('/') } else { path }
}

/// Lists the paths that a word may name: the word, its parts between `=`, `:` and `,`, and the text after the
/// letters of an option (`-C/x`, `-d@x`). Only `file:` addresses have a path.
pub(super) fn list_paths(word: &str) -> Vec<&str> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let mut paths = vec![word];
    paths.extend(word.strip_prefix('-').map(|rest| rest.trim_start_matches(is_letter)));
    let mut previous = "";
    for part in word.split(['=', ':', ',']) {
        match part.strip_prefix("//") {
            Some(address) if previous.to_ascii_lowercase().ends_with("file") => {
                paths.extend(address.find('/').map(|at| &address[at..]));
            }
            Some(_) if !previous.is_empty() => {}
            Some(_) | None => paths.push(part),
        }
        previous = part;
    }
    paths.retain(|path| !path.is_empty());
    paths
}

/// Returns true for a path with a `..` after a directory.
fn leaves_dir(path: &str) -> bool {
    let mut names = path.split('/').skip_while(|name| ["", ".", ".."].contains(name));
    names.any(|name| name == "..")
}
