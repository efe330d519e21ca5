//! A thread that replaces files, directories and links with links that lead out of the working directory, and
//! restores them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// A path to swap.
#[derive(Clone, Debug)]
pub(super) struct Swap {
    /// The path; none of its parent directories is swapped.
    pub path: PathBuf,
    /// The target of the link that replaces it.
    pub target: PathBuf,
}

/// The thread; it ends when this is dropped.
pub(super) struct Swapper {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Swapper {
    /// Starts swapping; `aside` is an empty directory in the same file system for the replaced entries.
    pub(super) fn start(swaps: Vec<Swap>, aside: PathBuf) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let is_stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while !is_stopped.load(Ordering::Relaxed) {
                for (index, swap) in swaps.iter().enumerate() {
                    swap_out(swap, &aside.join(index.to_string()));
                }
                std::thread::yield_now();
                for (index, swap) in swaps.iter().enumerate() {
                    swap_in(swap, &aside.join(index.to_string()));
                }
                std::thread::yield_now();
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Replaces the path with the link. Does nothing if a tool has created a file there in the meantime.
fn swap_out(swap: &Swap, aside: &Path) {
    if !is_there(aside) && fs::rename(&swap.path, aside).is_ok() {
        let _ = symlink(&swap.target, &swap.path);
    }
}

/// Restores the original entry. If a tool creates a file there in the meantime, it is restored in the next
/// round.
fn swap_in(swap: &Swap, aside: &Path) {
    if is_there(aside) {
        // Neither follows a link.
        let _ = fs::remove_file(&swap.path).or_else(|_| fs::remove_dir_all(&swap.path));
        let _ = fs::rename(aside, &swap.path);
    }
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
