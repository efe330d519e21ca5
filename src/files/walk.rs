//! Walking a folder as a developer sees it: what git ignores is left out, links aren't followed.
//!
//! Each folder is opened from the descriptor of the one above, so a folder that is swapped for a link meanwhile shows
//! nothing. Ignore files are read here and not by the `ignore` crate, which would open whatever has their name and read
//! it without a limit; matching is that crate's.

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

/// Deepest folder that is entered; each level holds a descriptor open.
const MAX_DEPTH: usize = 128;

/// Tells long work that its result is no longer wanted.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Asks the work to stop.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether to stop.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Whether files and folders whose names begin with a dot are walked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HiddenFiles {
    /// They are; `.git` is not.
    #[default]
    Included,
    /// They aren't.
    Skipped,
}

/// How to walk.
#[derive(Clone, Debug, Default)]
pub struct WalkOptions {
    /// Whether hidden files are walked.
    pub hidden: HiddenFiles,
    /// How many levels to list; all by default.
    pub max_depth: Option<usize>,
    /// Folders that are left out with everything beneath them.
    pub excluded: Vec<FileId>,
    /// Ends the walk when it is set.
    pub cancel: CancelFlag,
}

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A folder.
    Folder,
    /// A regular file.
    File,
    /// A link, pipe, device or socket.
    Other,
}

/// A file or folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The path from the folder that is walked.
    pub below: PathBuf,
    /// What it is.
    pub kind: EntryKind,
    /// When it last changed; the epoch where that isn't known.
    pub modified: SystemTime,
}

/// Walks a folder that is open and was found at `path`, depth first, in the order of names. What can't be read is left
/// out, as by `ls`.
#[must_use]
pub fn walk(folder: File, path: &Path, options: WalkOptions) -> Walk {
    let rules = Rules::above(path);
    let mut walk = Walk { path: path.to_owned(), rules, levels: Vec::new(), options };
    walk.enter(folder, PathBuf::new());
    walk
}

/// A walk; see [`walk`].
#[derive(Debug)]
pub struct Walk {
    path: PathBuf,
    rules: Rules,
    levels: Vec<Level>,
    options: WalkOptions,
}

/// A folder on the way to where the walk is.
#[derive(Debug)]
struct Level {
    folder: File,
    below: PathBuf,
    /// The entries still to come, the next one last.
    names: Vec<OsString>,
}

impl Iterator for Walk {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        while !self.options.cancel.is_set() {
            let level = self.levels.last_mut()?;
            let Some(name) = level.names.pop() else {
                self.levels.pop();
                self.rules.levels.pop();
                continue;
            };
            let below = level.below.join(&name);
            let Some((kind, modified)) = facts(&level.folder, &name) else { continue };
            if self.rules.ignore(&self.path.join(&below), kind) {
                continue;
            }
            if kind == EntryKind::Folder {
                match open_beneath::open_at(&level.folder, Path::new(&name), OFlag::O_DIRECTORY) {
                    Ok(folder) if self.is_excluded(&folder) => continue,
                    Ok(folder) if self.goes_deeper() => self.enter(folder, below.clone()),
                    Ok(_) | Err(_) => {}
                }
            }
            return Some(Entry { below, kind, modified });
        }
        None
    }
}

impl Walk {
    fn goes_deeper(&self) -> bool {
        self.levels.len() < self.options.max_depth.unwrap_or(MAX_DEPTH).min(MAX_DEPTH)
    }

    fn is_excluded(&self, folder: &File) -> bool {
        folder.metadata().is_ok_and(|metadata| self.options.excluded.contains(&FileId::from(&metadata)))
    }

    fn enter(&mut self, folder: File, below: PathBuf) {
        let Ok(mut names) = names_in(&folder) else { return };
        self.rules.levels.push(LevelRules::read(&folder, &self.path.join(&below), &names));
        names.retain(|name| {
            name != ".git"
                && (self.options.hidden == HiddenFiles::Included || !name.as_bytes().starts_with(b"."))
        });
        names.sort_by(|a, b| b.cmp(a));
        self.levels.push(Level { folder, below, names });
    }
}

fn names_in(folder: &File) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in open_beneath::entries_of(folder)?.iter() {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

fn facts(folder: &File, name: &OsStr) -> Option<(EntryKind, SystemTime)> {
    let facts = fstatat(folder, name, AtFlags::AT_SYMLINK_NOFOLLOW).ok()?;
    let kind = match SFlag::from_bits_truncate(facts.st_mode) & SFlag::S_IFMT {
        SFlag::S_IFDIR => EntryKind::Folder,
        SFlag::S_IFREG => EntryKind::File,
        _ => EntryKind::Other,
    };
    let since_epoch = Duration::from_secs(u64::try_from(facts.st_mtime).unwrap_or_default());
    Some((kind, SystemTime::UNIX_EPOCH + since_epoch))
}

/// What the ignore files from the repository's root down to the current folder say.
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
    /// `.git/info/exclude`, at a repository's root; what lies above it doesn't count for git.
    exclude: Option<Gitignore>,
}

impl Rules {
    /// The rules that hold for a folder before its own are read.
    fn above(path: &Path) -> Self {
        let mut above = git::up_to_repository(path);
        above.reverse();
        above.pop();
        let levels = above.into_iter().filter_map(|folder| {
            let opened = File::open(folder).ok()?;
            let names = [".git", ".gitignore", ".ignore"].map(OsString::from);
            Some(LevelRules::read(&opened, folder, &names))
        });
        let own = ignore::gitignore::gitconfig_excludes_path();
        let own = own.and_then(|path| read(&path, CONFIG_LIMIT).ok()).unwrap_or_default();
        Self { levels: levels.collect(), global: matcher(path, &own) }
    }

    /// Whether an entry of the current folder is ignored: `.ignore` decides before git's files, inner ones before outer.
    fn ignore(&self, path: &Path, kind: EntryKind) -> bool {
        let is_folder = kind == EntryKind::Folder;
        let mut git = Match::None;
        let mut exclude = Match::None;
        let mut in_repository = true;
        for level in self.levels.iter().rev() {
            match level.ignore.matched(path, is_folder) {
                Match::None => {}
                found => return found.is_ignore(),
            }
            if in_repository {
                git = git.or(level.git.matched(path, is_folder));
                if let Some(rules) = &level.exclude {
                    exclude = rules.matched(path, is_folder);
                    in_repository = false;
                }
            }
        }
        git.or(exclude).or(self.global.matched(path, is_folder)).is_ignore()
    }
}

impl LevelRules {
    /// Reads the ignore files of a folder in which there are these names.
    fn read(folder: &File, path: &Path, names: &[OsString]) -> Self {
        let has = |name: &str| names.iter().any(|other| other == name);
        let rules = |name: &str| {
            let bytes = if has(name) { read_beneath(folder, name) } else { None };
            matcher(path, &bytes.unwrap_or_default())
        };
        let exclude = has(".git").then(|| {
            let text = git::common_folder(&path.join(".git"))
                .and_then(|common| git::read_file(&common, "info/exclude"));
            matcher(path, text.unwrap_or_default().as_bytes())
        });
        Self { ignore: rules(".ignore"), git: rules(".gitignore"), exclude }
    }
}

/// An ignore file. As git does, one that is a link is passed over.
fn read_beneath(folder: &File, name: &str) -> Option<Vec<u8>> {
    let file = open_beneath::open_at(folder, Path::new(name), OFlag::O_RDONLY).ok()?;
    file.metadata().ok()?.is_file().then(|| read_limited(file, CONFIG_LIMIT).ok()).flatten()
}

fn matcher(folder: &Path, rules: &[u8]) -> Gitignore {
    if rules.is_empty() {
        return Gitignore::empty();
    }
    let mut builder = GitignoreBuilder::new(folder);
    for line in String::from_utf8_lossy(rules).trim_start_matches('\u{feff}').lines() {
        // A line that makes no sense is passed over, as by git.
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
