//! Directory walks: files that git ignores are skipped, links aren't followed.
//!
//! Each directory is opened from the descriptor of its parent, so a directory that is replaced with a link in
//! the meantime lists nothing. This module reads the ignore files, because the `ignore` crate would open any
//! file of that name and read it without a limit; that crate does the matching.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use nix::fcntl::{AtFlags, OFlag};
use nix::sys::stat::{SFlag, fstatat};

use super::{CONFIG_LIMIT, FileId, git, open_beneath, read, read_limited};

/// Maximum depth; each level holds a descriptor open.
const MAX_DEPTH: usize = 128;

/// A flag that requests cancellation of long work.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Requests cancellation.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns true if cancellation was requested.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The treatment of files and directories whose names begin with a dot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HiddenFiles {
    /// Listed, except `.git`.
    #[default]
    Included,
    /// Skipped.
    Skipped,
}

/// The options of a walk.
#[derive(Clone, Debug, Default)]
pub struct WalkOptions {
    /// The treatment of hidden files.
    pub hidden: HiddenFiles,
    /// The number of levels to list; all by default.
    pub max_depth: Option<usize>,
    /// Files, and directories with all their content, to skip.
    pub excluded: Vec<FileId>,
    /// Ends the walk when set.
    pub cancel: CancelFlag,
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkEntryKind {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A link, pipe, device or socket.
    Other,
}

/// A listed file or directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkEntry {
    /// The path relative to the walked directory.
    pub relative_path: PathBuf,
    /// Its kind.
    pub kind: WalkEntryKind,
    /// The modification time, in whole seconds.
    pub modified: SystemTime,
}

/// Walks an open directory depth first, in the order of names. `path` is the directory's path. Unreadable
/// entries are skipped, as by `ls`.
#[must_use]
pub fn walk(dir: File, path: &Path, options: WalkOptions) -> FileWalk {
    let rules = Rules::for_ancestors_of(path);
    let mut walk = FileWalk { path: path.to_owned(), rules, levels: Vec::new(), options };
    walk.enter(dir, PathBuf::new());
    walk
}

/// A walk; see [`walk`].
#[derive(Debug)]
pub struct FileWalk {
    path: PathBuf,
    rules: Rules,
    levels: Vec<Level>,
    options: WalkOptions,
}

/// A directory that the walk has entered.
#[derive(Debug)]
struct Level {
    dir: File,
    below: PathBuf,
    /// The remaining entries, the next one last.
    names: Vec<OsString>,
}

impl Iterator for FileWalk {
    type Item = WalkEntry;

    fn next(&mut self) -> Option<WalkEntry> {
        while !self.options.cancel.is_set() {
            let level = self.levels.last_mut()?;
            let Some(name) = level.names.pop() else {
                self.levels.pop();
                self.rules.levels.pop();
                continue;
            };
            let below = level.below.join(&name);
            let Some((kind, modified, id)) = stat_entry(&level.dir, &name) else { continue };
            if self.options.excluded.contains(&id) || self.rules.ignore(&self.path.join(&below), kind) {
                continue;
            }
            if kind == WalkEntryKind::Directory && self.levels.len() < self.depth() {
                let level = self.levels.last()?;
                // A directory that can't be opened, or was swapped for a link, is listed but not entered.
                if let Ok(dir) = open_beneath::open_at(&level.dir, Path::new(&name), OFlag::O_DIRECTORY) {
                    self.enter(dir, below.clone());
                }
            }
            return Some(WalkEntry { relative_path: below, kind, modified });
        }
        None
    }
}

impl FileWalk {
    fn depth(&self) -> usize {
        self.options.max_depth.unwrap_or(MAX_DEPTH).min(MAX_DEPTH)
    }

    fn enter(&mut self, dir: File, below: PathBuf) {
        let Ok(mut names) = names_in(&dir) else { return };
        self.rules.levels.push(LevelRules::read(&dir, &self.path.join(&below), &names));
        names.retain(|name| {
            name != ".git"
                && (self.options.hidden == HiddenFiles::Included || !name.as_bytes().starts_with(b"."))
        });
        names.sort_by(|a, b| b.cmp(a));
        self.levels.push(Level { dir, below, names });
    }
}

fn names_in(dir: &File) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in open_beneath::entries_of(dir)?.iter() {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

fn stat_entry(dir: &File, name: &OsStr) -> Option<(WalkEntryKind, SystemTime, FileId)> {
    let stat = fstatat(dir, name, AtFlags::AT_SYMLINK_NOFOLLOW).ok()?;
    let kind = match SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT {
        SFlag::S_IFDIR => WalkEntryKind::Directory,
        SFlag::S_IFREG => WalkEntryKind::File,
        _ => WalkEntryKind::Other,
    };
    let since_epoch = Duration::from_secs(u64::try_from(stat.st_mtime).unwrap_or_default());
    Some((kind, SystemTime::UNIX_EPOCH + since_epoch, FileId::from(&stat)))
}

/// The rules of the ignore files from the repository's root down to the current directory.
#[derive(Debug)]
struct Rules {
    /// Outermost first.
    levels: Vec<LevelRules>,
    /// The user's own rules for all repositories.
    global: Gitignore,
}

#[derive(Debug)]
struct LevelRules {
    /// `.ignore`.
    ignore: Gitignore,
    /// `.gitignore`.
    git: Gitignore,
    /// `.git/info/exclude`, at a repository's root; git ignores outer repositories' files.
    exclude: Option<Gitignore>,
}

impl Rules {
    /// Reads the rules of a directory's ancestors up to its repository's root; without a repository, of all
    /// ancestors.
    fn for_ancestors_of(path: &Path) -> Self {
        let top = git::root(path);
        let is_inside = |dir: &&Path| top.is_none_or(|top| dir.starts_with(top));
        let ancestors: Vec<&Path> = path.ancestors().skip(1).take_while(is_inside).collect();
        let levels = ancestors.into_iter().rev().filter_map(|dir| {
            let opened = open_beneath::open_root(dir).ok()?;
            let names = [".git", ".gitignore", ".ignore"].map(OsString::from);
            Some(LevelRules::read(&opened, dir, &names))
        });
        let global_excludes = ignore::gitignore::gitconfig_excludes_path();
        let global_excludes =
            global_excludes.and_then(|path| read(&path, CONFIG_LIMIT).ok()).unwrap_or_default();
        Self { levels: levels.collect(), global: parse_rules(path, &global_excludes) }
    }

    /// Checks whether an entry of the current directory is ignored: `.ignore` precedes git's files, inner
    /// directories precede outer ones.
    fn ignore(&self, path: &Path, kind: WalkEntryKind) -> bool {
        let is_dir = kind == WalkEntryKind::Directory;
        let mut git = Match::None;
        let mut exclude = Match::None;
        let mut in_repository = true;
        for level in self.levels.iter().rev() {
            match level.ignore.matched(path, is_dir) {
                Match::None => {}
                found => return found.is_ignore(),
            }
            if in_repository {
                git = git.or(level.git.matched(path, is_dir));
                if let Some(rules) = &level.exclude {
                    exclude = rules.matched(path, is_dir);
                    in_repository = false;
                }
            }
        }
        git.or(exclude).or(self.global.matched(path, is_dir)).is_ignore()
    }
}

impl LevelRules {
    /// Reads the ignore files of a directory that contains these names.
    fn read(dir: &File, path: &Path, names: &[OsString]) -> Self {
        let has = |name: &str| names.iter().any(|other| other == name);
        let rules = |name: &str| {
            let bytes = if has(name) { read_ignore_file(dir, name) } else { None };
            parse_rules(path, &bytes.unwrap_or_default())
        };
        let exclude = has(".git").then(|| {
            let text = git::common_dir(&path.join(".git"))
                .and_then(|common| git::read_file(&common, "info/exclude"));
            parse_rules(path, text.unwrap_or_default().as_bytes())
        });
        Self { ignore: rules(".ignore"), git: rules(".gitignore"), exclude }
    }
}

/// Reads an ignore file. A link is skipped, as git does with `.gitignore`.
fn read_ignore_file(dir: &File, name: &str) -> Option<Vec<u8>> {
    let file = open_beneath::open_at(dir, Path::new(name), OFlag::O_RDONLY).ok()?;
    file.metadata().ok()?.is_file().then(|| read_limited(file, CONFIG_LIMIT).ok()).flatten()
}

fn parse_rules(dir: &Path, rules: &[u8]) -> Gitignore {
    if rules.is_empty() {
        return Gitignore::empty();
    }
    let mut builder = GitignoreBuilder::new(dir);
    for line in String::from_utf8_lossy(rules).trim_start_matches('\u{feff}').lines() {
        // An invalid line is skipped, as by git.
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
