//! The draft. Unsent text is saved shortly after typing stops, so that little is lost in a crash.

mod store;

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::Instant;

use self::store::DraftLock;

/// Pause in typing after which the draft is saved.
const PAUSE: Duration = Duration::from_millis(700);

/// Maximum duration of continuous typing without a save.
const MAX_UNSAVED: Duration = Duration::from_secs(5);

/// Saves the unsent text.
#[derive(Debug, Default)]
pub(super) struct DraftSaver {
    /// The drafts' directory; `None` disables saving.
    dir: Option<PathBuf>,
    /// The text saved last.
    saved: String,
    /// Start and end of the typing that isn't saved yet.
    typing: Option<(Instant, Instant)>,
    /// The locked draft file of this process.
    lock: Option<DraftLock>,
    writing: Option<JoinHandle<Option<DraftLock>>>,
}

impl DraftSaver {
    pub(super) fn new(dir: Option<PathBuf>) -> Self {
        Self { dir, ..Self::default() }
    }

    /// Loads a draft left in this working directory, unless another process uses it.
    pub(super) fn load(&mut self, cwd: &Path) -> Option<String> {
        let (text, lock) = store::load(self.dir.as_deref()?, cwd)?;
        self.saved.clone_from(&text);
        self.lock = Some(lock);
        Some(text)
    }

    /// Records that the user typed.
    pub(super) fn note_typing(&mut self, now: Instant) {
        let started = self.typing.map_or(now, |(started, _)| started);
        self.typing = self.dir.is_some().then_some((started, now));
    }

    /// Returns the time of the next save, if there is unsaved text.
    pub(super) fn due(&self) -> Option<Instant> {
        self.typing.map(|(started, last)| (last + PAUSE).min(started + MAX_UNSAVED))
    }

    /// Saves the text on a blocking thread. Saves run one after the other.
    pub(super) fn save(&mut self, cwd: &Path, text: String) {
        self.typing = None;
        let Some(dir) = self.dir.clone().filter(|_| text != self.saved) else { return };
        self.saved.clone_from(&text);
        let (cwd, before, mut lock) = (cwd.to_owned(), self.writing.take(), self.lock.take());
        self.writing = Some(tokio::spawn(async move {
            if let Some(before) = before {
                lock = before.await.ok().flatten();
            }
            let write = move || store::save(&dir, &cwd, &text, lock);
            spawn_blocking(write).await.ok().flatten()
        }));
    }

    /// Waits until all saves are done.
    pub(super) async fn flush(&mut self) {
        if let Some(writing) = self.writing.take() {
            self.lock = writing.await.ok().flatten();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn draft_is_saved_after_a_pause_or_long_typing() {
        let dir = tempfile::tempdir().unwrap();
        let mut draft = DraftSaver::new(Some(dir.path().into()));
        assert_eq!(draft.due(), None);
        let started = Instant::now();
        draft.note_typing(started);
        assert_eq!(draft.due(), Some(started + PAUSE));
        draft.note_typing(started + PAUSE / 2);
        assert_eq!(draft.due(), Some(started + PAUSE + PAUSE / 2));
        draft.note_typing(started + MAX_UNSAVED);
        assert_eq!(draft.due(), Some(started + MAX_UNSAVED));

        draft.save(dir.path(), "half".into());
        draft.save(dir.path(), "half a thought".into());
        assert_eq!(draft.due(), None);
        draft.flush().await;
        let left = || store::load(dir.path(), dir.path());
        assert!(left().is_none(), "locked by this process");
        drop(draft.lock.take());
        let (text, lock) = left().unwrap();
        assert_eq!(text, "half a thought");
        assert!(store::save(dir.path(), dir.path(), "", Some(lock)).is_none());
        draft.save(dir.path(), "half a thought".into());
        draft.flush().await;
        assert!(left().is_none(), "a saved draft isn't written again");
        assert!(draft.lock.is_none());
    }

    #[test]
    fn draft_without_dir_is_never_due() {
        let mut draft = DraftSaver::new(None);
        draft.note_typing(Instant::now());
        assert_eq!(draft.due(), None);
    }
}
