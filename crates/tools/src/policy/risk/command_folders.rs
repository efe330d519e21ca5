//! The folders that a command may run in and the meaning of its paths there, as far as its line tells.

use std::path::{Path, PathBuf};

use tiller_core::protected_path::{ProtectedPaths, Protection, normalize};

use super::super::shell::Segment;
use super::outside::Variable;
use super::{program, targets};

/// Names of the home directory in a shell.
const HOME_NAMES: &[&str] = &["~", "$HOME", "${HOME}"];

/// Names of the folder that a shell is in.
const HERE_NAMES: &[&str] = &["~+", "$PWD", "${PWD}"];

/// Stands before a folder that the line doesn't tell; nothing is beneath the working directory there.
const UNKNOWN: &str = "$";

/// Folders of links to anything that is open or running.
const LINK_FOLDERS: &[&str] = &["/proc", "/dev/fd"];

/// The folders that the paths of a command are relative to.
#[derive(Clone, Copy)]
pub(in crate::policy) struct CommandFolders<'a> {
    /// The working directory.
    pub(super) root: &'a Path,
    /// The folder that `cd` led to.
    pub(super) here: &'a Path,
    /// Every other folder that it may be in, because a `cd` may have failed or ended with its subshell.
    pub(super) visited: &'a [PathBuf],
    /// The protected folders.
    pub(super) protected: &'a ProtectedPaths,
    /// Folders beside the working directory that may be written to.
    pub(super) writable: &'a [PathBuf],
    /// The variables that its line sets.
    pub(super) variables: &'a [Variable],
}

impl<'a> CommandFolders<'a> {
    /// The working directory, before any `cd`.
    pub(in crate::policy) const fn new(root: &'a Path, protected: &'a ProtectedPaths) -> Self {
        Self { root, here: root, visited: &[], protected, writable: &[], variables: &[] }
    }

    /// The same with other folders that may be written to.
    pub(in crate::policy) const fn with_writable(self, writable: &'a [PathBuf]) -> Self {
        Self { writable, ..self }
    }

    /// Resolves the path of a tool's call in the working directory.
    pub(in crate::policy) fn resolve_path(self, path: &str) -> PathBuf {
        normalize(&self.resolve_from(self.root, path))
    }

    /// Lists the paths that a word may name.
    pub(in crate::policy) fn list_paths(word: &str) -> Vec<&str> {
        list_paths(word)
    }

    /// Finds out why writing to a path needs a question, wherever the command runs.
    pub(in crate::policy) fn protection(self, path: &str) -> Option<Protection> {
        let near = Self { visited: &[], ..self }.resolve(path);
        near.iter().find_map(|path| self.protected.find(path)).or_else(|| {
            // Going through a `.git` and out again is no write in it.
            let far = self.resolve(path);
            far.iter().filter_map(|path| self.protected.find(path)).find(|it| *it != Protection::Git)
        })
    }

    /// Checks whether a word names something in tiller's own folders, as a path or in an option, an address or a variable.
    pub(super) fn names_private(self, word: &str) -> bool {
        // `curl -d @FILE`
        let paths = list_paths(word).into_iter().flat_map(|path| [path, path.trim_start_matches('@')]);
        word.contains("TILLER_HOME")
            || paths.flat_map(|path| self.resolve(path)).any(|path| self.protected.is_private(&path))
    }

    /// Checks whether a word of a command may name files that the user didn't see when they allowed another one: secret ones, those
    /// of an unknown user, what `/proc` leads to, and what stands behind a folder that `..` leaves again, for it may be a link.
    pub(in crate::policy) fn names_secret(self, word: &str) -> bool {
        list_paths(word).into_iter().any(|path| {
            let is_other_home =
                path.strip_prefix('~').is_some_and(|name| name.starts_with(char::is_alphabetic))
                    && self.strip_home(path).is_none();
            is_other_home || leaves_folder(path) || self.resolve(path).iter().any(|path| self.is_secret(path))
        })
    }

    /// The working directory may lie in a folder that holds secrets, or hold some; all that is beneath it and isn't secret itself
    /// is free.
    fn is_secret(self, path: &Path) -> bool {
        let path = normalize(path);
        let is_hidden = LINK_FOLDERS.iter().any(|folder| path.starts_with(folder));
        let is_protected =
            || self.protected.find(&path) == Some(Protection::Home) || self.protected.is_private(&path);
        is_hidden || (self.protected.is_secret(&path) && (is_protected() || !path.starts_with(self.root)))
    }

    /// Checks whether a path is, or may be, the working directory itself or something that doesn't lie beneath it. A `cd` may fail, so
    /// the path has to lie there from where `cd` leads and from where it began.
    pub(super) fn leads_out(self, path: &str) -> bool {
        if path.starts_with('~') || path.contains('$') {
            return true;
        }
        [self.root, self.here].into_iter().any(|from| {
            let real = normalize(&from.join(path.trim_end_matches('*')));
            real == self.root || !real.starts_with(self.root)
        })
    }

    /// The folder that the command leads to if it is a `cd`; `before` is the one before this.
    pub(super) fn find_cd_target(self, segment: &Segment, before: &Path) -> Option<PathBuf> {
        let (name, arguments) = program(&segment.words);
        let is_back = name == "popd" || arguments.iter().any(|word| word == "-");
        match name {
            "cd" | "popd" | "pushd" if is_back => Some(before.to_owned()),
            "cd" | "pushd" => Some(self.enter(targets(arguments).next().map_or("~", String::as_str))),
            _ => None,
        }
    }

    /// Lists the folders that a `cd` may lead to, and may not, from every folder that the command may be in.
    pub(super) fn list_cd_targets(self, segment: &Segment, before: &Path) -> Vec<PathBuf> {
        let from = [self.here, self.root].into_iter().chain(self.visited.iter().map(PathBuf::as_path));
        let targets = from.filter_map(|here| Self { here, ..self }.find_cd_target(segment, before));
        targets.chain([self.here.to_owned()]).collect()
    }

    fn enter(self, path: &str) -> PathBuf {
        let real = normalize(&self.resolve_from(self.here, path));
        let relative = strip_here(path);
        let is_home = self.strip_home(path).is_some() && !self.protected.homes.is_empty();
        let is_known = is_home || !(relative.starts_with('~') || relative.contains('$'));
        if is_known { real } else { Path::new(UNKNOWN).join(real.strip_prefix("/").unwrap_or(&real)) }
    }

    /// Resolves a path from every folder that the command may be in.
    pub(super) fn resolve(self, path: &str) -> Vec<PathBuf> {
        let visited = self.visited.iter().map(PathBuf::as_path);
        [self.here, self.root].into_iter().chain(visited).map(|from| self.resolve_from(from, path)).collect()
    }

    pub(super) fn resolve_from(self, from: &Path, path: &str) -> PathBuf {
        let home = self.strip_home(path).and_then(|rest| Some(self.protected.homes.first()?.join(rest)));
        home.unwrap_or_else(|| from.join(strip_here(path)))
    }

    /// The rest of a path that begins with the home directory: `~/x`, `$HOME/x`, `${HOME}/x`, `~NAME/x`.
    pub(super) fn strip_home(self, path: &str) -> Option<&str> {
        let (first, beneath) = path.split_once('/').unwrap_or((path, ""));
        let is_own = |name: &str| {
            self.protected.homes.iter().filter_map(|home| home.file_name()).any(|own| own == name)
        };
        let is_home = HOME_NAMES.contains(&first) || first.strip_prefix('~').is_some_and(is_own);
        is_home.then(|| beneath.trim_start_matches('/'))
    }
}

/// Removes the name of the folder that a shell is in from the beginning of a path: `$PWD/x` is `x`.
pub(super) fn strip_here(path: &str) -> &str {
    let (first, beneath) = path.split_once('/').unwrap_or((path, ""));
    if HERE_NAMES.contains(&first) { beneath.trim_start_matches('/') } else { path }
}

/// Lists the paths that a word may name: the word, its parts between `=`, `:` and `,`, and what stands behind the letters of an
/// option (`-C/x`, `-d@x`). Of addresses only those of files have a path.
pub(super) fn list_paths(word: &str) -> Vec<&str> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let mut paths = vec![word];
    paths.extend(word.strip_prefix('-').map(|rest| rest.trim_start_matches(is_letter)));
    let mut before = "";
    for part in word.split(['=', ':', ',']) {
        match part.strip_prefix("//") {
            Some(address) if before.to_ascii_lowercase().ends_with("file") => {
                paths.extend(address.find('/').map(|at| &address[at..]));
            }
            Some(_) if !before.is_empty() => {}
            Some(_) | None => paths.push(part),
        }
        before = part;
    }
    paths.retain(|path| !path.is_empty());
    paths
}

/// Checks whether `..` stands behind a folder in a path.
fn leaves_folder(path: &str) -> bool {
    let mut names = path.split('/').skip_while(|name| ["", ".", ".."].contains(name));
    names.any(|name| name == "..")
}
