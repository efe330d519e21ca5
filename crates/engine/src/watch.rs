//! File watcher: signals that one of some files or directories may have changed.
//!
//! It watches directories and never files, because editors replace files; each directory without its descendants, because
//! their number is unknown. A missing path is awaited in its nearest existing ancestor. Nothing is read here, and
//! changes aren't coalesced: debouncing is up to the caller.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tiller_files::search_path::ResourceProblem;

/// The watcher can't be started: the limit of watches is reached, or the system has none.
#[derive(Debug, thiserror::Error)]
#[error("changes of files can't be watched")]
pub struct WatchError(#[from] notify::Error);

/// A watcher of files and directories; it stops when dropped.
pub struct FileWatcher {
    watcher: RecommendedWatcher,
    /// The watched directories.
    folders: BTreeSet<PathBuf>,
    followed: Arc<Mutex<Followed>>,
}

/// The followed paths; shared with the watcher's thread.
#[derive(Debug, Default)]
struct Followed {
    paths: BTreeSet<PathBuf>,
}

impl Followed {
    /// Returns whether a changed path is followed, lies in a followed path, or is an ancestor of one.
    fn concerns(&self, changed: &Path) -> bool {
        self.paths.iter().any(|path| changed.starts_with(path) || path.starts_with(changed))
    }
}

impl FileWatcher {
    /// Starts a watcher that follows nothing. `changed` is called on the watcher's own thread, and must not block.
    ///
    /// # Errors
    /// When the system can't provide a watcher.
    pub fn start(changed: impl Fn() + Send + 'static) -> Result<Self, WatchError> {
        let followed = Arc::new(Mutex::new(Followed::default()));
        let paths = Arc::clone(&followed);
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| match event {
            Ok(event) if is_change(&event, &paths) => changed(),
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "a change of a file may have been missed"),
        })?;
        Ok(Self { watcher, folders: BTreeSet::new(), followed })
    }

    /// Follows these absolute paths from now on, and no others. Returns the paths that can't be watched.
    pub fn follow<'a>(&mut self, paths: impl IntoIterator<Item = &'a PathBuf>) -> Vec<ResourceProblem> {
        let mut followed = BTreeSet::new();
        for path in paths {
            // Changes of a symbolic link's target are reported under its real path.
            followed.extend(path.canonicalize().ok());
            followed.insert(path.clone());
        }
        let folders: BTreeSet<PathBuf> = followed.iter().flat_map(|path| watch_folders(path)).collect();
        self.followed.lock().unwrap_or_else(PoisonError::into_inner).paths = followed;
        for unused in self.folders.difference(&folders) {
            // The watch of a deleted directory is gone already.
            let _ = self.watcher.unwatch(unused);
        }
        let mut problems = Vec::new();
        // A directory that was replaced with another of the same name needs a new watch, so known ones are requested
        // again, too.
        for folder in &folders {
            if let Err(error) = self.watcher.watch(folder, RecursiveMode::NonRecursive) {
                problems
                    .push(ResourceProblem::new(folder, format!("changes in it can't be watched: {error}")));
            }
        }
        self.folders = folders;
        problems
    }
}

fn is_change(event: &Event, followed: &Mutex<Followed>) -> bool {
    // Reading is no change; without this, reading the changed file would count as the next change.
    if matches!(event.kind, EventKind::Access(_)) {
        return false;
    }
    let followed = followed.lock().unwrap_or_else(PoisonError::into_inner);
    event.need_rescan() || event.paths.iter().any(|path| followed.concerns(path))
}

/// Returns the directories in which changes of a path appear: the path itself if it is a directory, and its nearest
/// existing ancestor, where it is created and deleted.
fn watch_folders(path: &Path) -> impl Iterator<Item = PathBuf> {
    let itself = path.is_dir().then(|| path.to_owned());
    let above = path.ancestors().skip(1).find(|folder| folder.is_dir()).map(Path::to_owned);
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
    const PATIENCE: Duration = Duration::from_secs(20);

    fn watch(paths: &[&Path]) -> (FileWatcher, Receiver<()>) {
        let (sender, changes) = channel();
        let mut watch = FileWatcher::start(move || _ = sender.send(())).unwrap();
        let paths: Vec<PathBuf> = paths.iter().map(|path| path.to_path_buf()).collect();
        assert_eq!(watch.follow(&paths), []);
        (watch, changes)
    }

    #[test]
    fn watcher_change_in_a_folder_is_reported() {
        let folder = TempDir::new().unwrap();
        let (_watch, changes) = watch(&[folder.path()]);
        fs::write(folder.path().join("file"), "x").unwrap();
        changes.recv_timeout(PATIENCE).unwrap();
    }

    #[test]
    fn watcher_missing_folder_is_reported_when_created() {
        let folder = TempDir::new().unwrap();
        let (_watch, changes) = watch(&[&folder.path().join(".tiller/skills")]);
        fs::create_dir(folder.path().join(".tiller")).unwrap();
        changes.recv_timeout(PATIENCE).unwrap();
    }

    #[test]
    fn watcher_change_of_a_links_target_is_reported() {
        let (folder, target_folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let (link, real) = (folder.path().join("AGENTS.md"), target_folder.path().join("real.md"));
        fs::write(&real, "x").unwrap();
        symlink(&real, &link).unwrap();
        let (_watch, changes) = watch(&[&link]);
        fs::write(&real, "y").unwrap();
        changes.recv_timeout(PATIENCE).unwrap();
    }

    #[test]
    fn watcher_reads_and_neighbors_are_no_change() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("AGENTS.md");
        fs::write(&path, "x").unwrap();
        let (_watch, changes) = watch(&[&path]);
        fs::read(&path).unwrap();
        fs::write(folder.path().join("other.md"), "x").unwrap();
        fs::create_dir(folder.path().join("target")).unwrap();
        // Changes are reported in order: once the last one arrives, the others would have arrived.
        fs::write(&path, "y").unwrap();
        changes.recv_timeout(PATIENCE).unwrap();
        let followed = Mutex::new(Followed { paths: [path.clone()].into() });
        let event = |kind, path: &Path| Event::new(kind).add_path(path.to_owned());
        let other = folder.path().join("other.md");
        assert!(!is_change(&event(EventKind::Modify(notify::event::ModifyKind::Any), &other), &followed));
        assert!(!is_change(&event(EventKind::Access(notify::event::AccessKind::Any), &path), &followed));
        assert!(is_change(
            &event(EventKind::Create(notify::event::CreateKind::Any), folder.path()),
            &followed
        ));
    }

    #[test]
    fn watcher_unfollowed_path_is_not_reported() {
        let (old, new) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let (mut watch, changes) = watch(&[old.path()]);
        watch.follow(&[new.path().to_owned()]);
        fs::write(old.path().join("file"), "x").unwrap();
        fs::write(new.path().join("file"), "x").unwrap();
        changes.recv_timeout(PATIENCE).unwrap();
        assert!(!watch.folders.contains(old.path()) && watch.folders.contains(new.path()));
    }
}
