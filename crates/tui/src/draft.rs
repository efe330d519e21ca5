//! What is being typed, kept a moment after the typing stops, so that a crash costs no more than that moment.

mod store;

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::Instant;

use self::store::DraftLock;

/// How long nothing is typed before the draft is kept.
const REST: Duration = Duration::from_millis(700);

/// How long typing without rest may go on before the draft is kept all the same.
const LONGEST: Duration = Duration::from_secs(5);

/// Keeps the draft.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// In which folder; `None` keeps none.
    folder: Option<PathBuf>,
    /// What was kept last.
    kept: String,
    /// When the typing that isn't kept yet began, and when it went on last.
    typing: Option<(Instant, Instant)>,
    /// The file that it is in, which is nobody else's.
    claim: Option<DraftLock>,
    writing: Option<JoinHandle<Option<DraftLock>>>,
}

impl Draft {
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        Self { folder, ..Self::default() }
    }

    /// A draft that was left in this working directory, unless another tiller is at it.
    pub(super) fn load(&mut self, cwd: &Path) -> Option<String> {
        let (text, claim) = store::take_up(self.folder.as_deref()?, cwd)?;
        self.kept.clone_from(&text);
        self.claim = Some(claim);
        Some(text)
    }

    /// Something was typed.
    pub(super) fn typed(&mut self, now: Instant) {
        let began = self.typing.map_or(now, |(began, _)| began);
        self.typing = self.folder.is_some().then_some((began, now));
    }

    /// When the draft is to be kept, if there is anything to keep.
    pub(super) fn due(&self) -> Option<Instant> {
        self.typing.map(|(began, last)| (last + REST).min(began + LONGEST))
    }

    /// Keeps it, on a thread that may block; one after the other.
    pub(super) fn keep(&mut self, cwd: &Path, text: String) {
        self.typing = None;
        let Some(folder) = self.folder.clone().filter(|_| text != self.kept) else { return };
        self.kept.clone_from(&text);
        let (cwd, before, mut claim) = (cwd.to_owned(), self.writing.take(), self.claim.take());
        self.writing = Some(tokio::spawn(async move {
            if let Some(before) = before {
                claim = before.await.ok().flatten();
            }
            let write = move || store::put(&folder, &cwd, &text, claim);
            spawn_blocking(write).await.ok().flatten()
        }));
    }

    /// Waits until all of it is kept.
    pub(super) async fn settle(&mut self) {
        if let Some(writing) = self.writing.take() {
            self.claim = writing.await.ok().flatten();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_draft_is_kept_when_typing_rests_or_goes_on_for_long() {
        let folder = tempfile::tempdir().unwrap();
        let mut draft = Draft::new(Some(folder.path().into()));
        assert_eq!(draft.due(), None);
        let began = Instant::now();
        draft.typed(began);
        assert_eq!(draft.due(), Some(began + REST));
        draft.typed(began + REST / 2);
        assert_eq!(draft.due(), Some(began + REST + REST / 2));
        draft.typed(began + LONGEST);
        assert_eq!(draft.due(), Some(began + LONGEST));

        draft.keep(folder.path(), "half".into());
        draft.keep(folder.path(), "half a thought".into());
        assert_eq!(draft.due(), None);
        draft.settle().await;
        let left = || store::take_up(folder.path(), folder.path());
        assert!(left().is_none(), "it is this one's");
        drop(draft.claim.take());
        let (text, claim) = left().unwrap();
        assert_eq!(text, "half a thought");
        assert!(store::put(folder.path(), folder.path(), "", Some(claim)).is_none());
        draft.keep(folder.path(), "half a thought".into());
        draft.settle().await;
        assert!(left().is_none(), "what is kept isn't written again");
        assert!(draft.claim.is_none());
    }

    #[test]
    fn without_a_folder_nothing_is_ever_due() {
        let mut draft = Draft::new(None);
        draft.typed(Instant::now());
        assert_eq!(draft.due(), None);
    }
}
