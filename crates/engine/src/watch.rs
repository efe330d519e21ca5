//! File watcher: signals that watched files or directories may have changed.
//!
//! It watches directories and never files, because editors replace files. It watches each directory without
//! its descendants, because their number is unknown. A missing path is awaited in its nearest existing
//! ancestor. The watcher reads no files and doesn't coalesce changes: debouncing is up to the caller.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tiller_files::search_path::ResourceProblem;

/// The watcher can't be started: the limit of watches is reached, or the system doesn't support watching.
#[derive(Debug, thiserror::Error)]
#[error("can't watch files for changes")]
pub struct WatchError(#[from] notify::Error);

/// A watcher of files and directories; it stops when dropped. All watchers of a process share one inotify
/// instance, because Linux allows 128 per user by default, and a server may have more sessions.
pub struct FileWatcher {
    number: u64,
}

/// The system's watcher; `None` while it isn't needed. Locked before [`FOLLOWERS`].
static SYSTEM_WATCHER: Mutex<Option<RecommendedWatcher>> = Mutex::new(None);

/// The watchers of this process by number. The thread of the system's watcher locks it for each event, and
/// the system's watcher waits for that thread, so watches must not be added while it is locked.
static FOLLOWERS: Mutex<BTreeMap<u64, Follower>> = Mutex::new(BTreeMap::new());

/// The paths of a watcher and its callback.
struct Follower {
    changed: Arc<dyn Fn() + Send + Sync>,
    paths: BTreeSet<PathBuf>,
    /// The watched directories.
    dirs: BTreeSet<PathBuf>,
}

impl Follower {
    /// Returns true if a changed path is followed, lies in a followed path, or is an ancestor of a followed
    /// path.
    fn concerns(&self, changed: &Path) -> bool {
        self.paths.iter().any(|path| changed.starts_with(path) || path.starts_with(changed))
    }
}

impl FileWatcher {
    /// Starts a watcher that follows nothing. `changed` is called on the watcher's own thread and must not
    /// block.
    ///
    /// # Errors
    /// If the system can't provide a watcher.
    pub fn start(changed: impl Fn() + Send + Sync + 'static) -> Result<Self, WatchError> {
        let mut system = lock(&SYSTEM_WATCHER);
        if system.is_none() {
            *system = Some(notify::recommended_watcher(report)?);
        }
        let mut followers = lock(&FOLLOWERS);
        let number = followers.last_key_value().map_or(0, |(last, _)| last + 1);
        let (paths, dirs) = (BTreeSet::new(), BTreeSet::new());
        followers.insert(number, Follower { changed: Arc::new(changed), paths, dirs });
        Ok(Self { number })
    }

    /// Replaces the followed paths with these absolute paths. Returns the paths that can't be watched.
    pub fn follow<'a>(&mut self, paths: impl IntoIterator<Item = &'a PathBuf>) -> Vec<ResourceProblem> {
        let mut followed = BTreeSet::new();
        for path in paths {
            // Changes to a symbolic link's target are reported under its real path.
            followed.extend(path.canonicalize().ok());
            followed.insert(path.clone());
        }
        let dirs: BTreeSet<PathBuf> = followed.iter().flat_map(|path| watch_dirs(path)).collect();
        let mut system = lock(&SYSTEM_WATCHER);
        let Some(system) = system.as_mut() else { return Vec::new() };
        unwatch(system, self.replace(followed, dirs.clone()));
        let mut problems = Vec::new();
        // A directory that was replaced with another of the same name needs a new watch, so watches for known
        // directories are requested again.
        for dir in &dirs {
            if let Err(error) = system.watch(dir, RecursiveMode::NonRecursive) {
                problems.push(ResourceProblem::new(dir, format!("can't watch it for changes: {error}")));
            }
        }
        problems
    }

    /// Replaces the followed paths and watched directories; returns the directories that are no longer
    /// needed.
    fn replace(&self, paths: BTreeSet<PathBuf>, dirs: BTreeSet<PathBuf>) -> Vec<PathBuf> {
        let mut followers = lock(&FOLLOWERS);
        let Some(follower) = followers.get_mut(&self.number) else { return Vec::new() };
        follower.paths = paths;
        let mut unused = std::mem::replace(&mut follower.dirs, dirs);
        unused.retain(|dir| !followers.values().any(|follower| follower.dirs.contains(dir)));
        unused.into_iter().collect()
    }
}

impl Drop for FileWatcher {
    fn drop(&mut self) {
        let mut system = lock(&SYSTEM_WATCHER);
        let unused = self.replace(BTreeSet::new(), BTreeSet::new());
        let mut followers = lock(&FOLLOWERS);
        followers.remove(&self.number);
        let is_last = followers.is_empty();
        drop(followers);
        if is_last {
            *system = None;
        } else if let Some(system) = system.as_mut() {
            unwatch(system, unused);
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unwatch(system: &mut RecommendedWatcher, dirs: Vec<PathBuf>) {
    for dir in dirs {
        // The watch of a deleted directory is already gone.
        let _ = system.unwatch(&dir);
    }
}

/// Notifies the watchers that an event of the system concerns.
fn report(event: notify::Result<Event>) {
    match event {
        Ok(event) => {
            let followers = lock(&FOLLOWERS);
            let concerned = followers.values().filter(|follower| is_change(&event, follower));
            let concerned: Vec<_> = concerned.map(|follower| Arc::clone(&follower.changed)).collect();
            drop(followers);
            concerned.iter().for_each(|changed| changed());
        }
        Err(error) => tracing::warn!(%error, "a file change may have been missed"),
    }
}

fn is_change(event: &Event, follower: &Follower) -> bool {
    // Reading isn't a change; without this, reading the changed file would count as the next change.
    if matches!(event.kind, EventKind::Access(_)) {
        return false;
    }
    event.need_rescan() || event.paths.iter().any(|path| follower.concerns(path))
}

/// Returns the directories where changes to a path appear: the path itself if it is a directory, and its
/// nearest existing ancestor, where it is created and deleted.
fn watch_dirs(path: &Path) -> impl Iterator<Item = PathBuf> {
    let itself = path.is_dir().then(|| path.to_owned());
    let above = path.ancestors().skip(1).find(|dir| dir.is_dir()).map(Path::to_owned);
    itself.into_iter().chain(above)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    use tempfile::TempDir;

    use super::*;

    /// Timeout for a change to be reported.
    const TIMEOUT: Duration = Duration::from_secs(20);

    fn watch(paths: &[&Path]) -> (FileWatcher, Receiver<()>) {
        let (sender, changes) = channel();
        let mut watch = FileWatcher::start(move || _ = sender.send(())).unwrap();
        let paths: Vec<PathBuf> = paths.iter().map(|path| path.to_path_buf()).collect();
        assert_eq!(watch.follow(&paths), []);
        (watch, changes)
    }

    #[test]
    fn watcher_change_in_a_dir_is_reported() {
        let dir = TempDir::new().unwrap();
        let (_watch, changes) = watch(&[dir.path()]);
        fs::write(dir.path().join("file"), "x").unwrap();
        changes.recv_timeout(TIMEOUT).unwrap();
    }

    #[test]
    fn watcher_missing_dir_is_reported_when_created() {
        let dir = TempDir::new().unwrap();
        let (_watch, changes) = watch(&[&dir.path().join(".tiller/skills")]);
        fs::create_dir(dir.path().join(".tiller")).unwrap();
        changes.recv_timeout(TIMEOUT).unwrap();
    }

    #[test]
    fn watcher_change_of_a_links_target_is_reported() {
        let (dir, target_dir) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let (link, real) = (dir.path().join("AGENTS.md"), target_dir.path().join("real.md"));
        fs::write(&real, "x").unwrap();
        symlink(&real, &link).unwrap();
        let (_watch, changes) = watch(&[&link]);
        fs::write(&real, "y").unwrap();
        changes.recv_timeout(TIMEOUT).unwrap();
    }

    #[test]
    fn watcher_reads_and_neighbors_are_no_change() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("AGENTS.md");
        fs::write(&path, "x").unwrap();
        let (_watch, changes) = watch(&[&path]);
        fs::read(&path).unwrap();
        fs::write(dir.path().join("other.md"), "x").unwrap();
        fs::create_dir(dir.path().join("target")).unwrap();
        // Changes are reported in order: once the last one arrives, the others would have arrived.
        fs::write(&path, "y").unwrap();
        changes.recv_timeout(TIMEOUT).unwrap();
        let follower =
            Follower { changed: Arc::new(|| {}), paths: [path.clone()].into(), dirs: BTreeSet::new() };
        let event = |kind, path: &Path| Event::new(kind).add_path(path.to_owned());
        let other = dir.path().join("other.md");
        assert!(!is_change(&event(EventKind::Modify(notify::event::ModifyKind::Any), &other), &follower));
        assert!(!is_change(&event(EventKind::Access(notify::event::AccessKind::Any), &path), &follower));
        assert!(is_change(&event(EventKind::Create(notify::event::CreateKind::Any), dir.path()), &follower));
    }

    #[test]
    fn watcher_unfollowed_path_is_not_reported() {
        let (old, new) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let (mut watch, changes) = watch(&[old.path()]);
        watch.follow(&[new.path().to_owned()]);
        fs::write(old.path().join("file"), "x").unwrap();
        fs::write(new.path().join("file"), "x").unwrap();
        changes.recv_timeout(TIMEOUT).unwrap();
        let dirs = lock(&FOLLOWERS)[&watch.number].dirs.clone();
        assert!(!dirs.contains(old.path()) && dirs.contains(new.path()));
    }

    #[test]
    fn watcher_keeps_a_directory_that_another_one_follows() {
        let dir = TempDir::new().unwrap();
        let (first, _) = watch(&[dir.path()]);
        let (_second, changes) = watch(&[dir.path()]);
        drop(first);
        fs::write(dir.path().join("file"), "x").unwrap();
        changes.recv_timeout(TIMEOUT).unwrap();
    }

    #[test]
    fn watchers_of_a_process_share_one_instance() {
        let instances = || {
            let open = fs::read_dir("/proc/self/fd").unwrap().flatten();
            open.filter(|fd| fs::read_link(fd.path()).is_ok_and(|link| link.ends_with("anon_inode:inotify")))
                .count()
        };
        if !cfg!(target_os = "linux") {
            return;
        }
        let dirs: Vec<TempDir> = (0..200).map(|_| TempDir::new().unwrap()).collect();
        let _watchers: Vec<_> = dirs.iter().map(|dir| watch(&[dir.path()])).collect();
        assert_eq!(instances(), 1);
    }
}
