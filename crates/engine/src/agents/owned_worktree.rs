//! A worktree that is removed when it is no longer needed, even if the work in it is dropped.

use std::path::Path;

use tiller_core::delegated_task::TaskWorktree;
use tiller_tools::tool::{Worktree, WorktreeChanges};

/// The message of the commit of a stopped agent's changes.
const STOPPED_COMMIT: &str = "Changes of a stopped agent";

/// An agent's worktree.
pub(super) struct OwnedWorktree(Option<Worktree>);

impl OwnedWorktree {
    pub(super) fn new(worktree: Worktree) -> Self {
        Self(Some(worktree))
    }

    pub(super) fn root(&self) -> &Path {
        self.0.as_ref().map_or(Path::new(""), Worktree::root)
    }

    /// Returns the worktree's record for the log.
    pub(super) fn describe(&self) -> Option<TaskWorktree> {
        let worktree = self.0.as_ref()?;
        Some(TaskWorktree {
            branch: worktree.branch().to_owned(),
            base: worktree.base().to_owned(),
            dir: Some(worktree.dir().to_owned()),
        })
    }

    /// Commits all changes to the worktree's branch.
    pub(super) async fn commit(&self, message: &str) -> Result<WorktreeChanges, String> {
        match &self.0 {
            Some(worktree) => worktree
                .commit(message)
                .await
                .map_err(|error| format!("its worktree {} is kept: {error}", worktree.dir().display())),
            None => Ok(WorktreeChanges::default()),
        }
    }

    /// Keeps the worktree.
    pub(super) fn keep(mut self) {
        self.0 = None;
    }

    /// Commits all changes and removes the worktree.
    pub(super) async fn release(self) -> Result<(), String> {
        match self.commit(STOPPED_COMMIT).await {
            Ok(_) => self.remove().await,
            Err(error) => {
                self.keep();
                Err(error)
            }
        }
    }

    /// Removes the worktree. Its changes must be committed.
    pub(super) async fn remove(mut self) -> Result<(), String> {
        match self.0.take() {
            Some(worktree) => {
                let dir = worktree.dir().to_owned();
                let removed = worktree.remove().await;
                removed.map_err(|error| format!("its worktree {} can't be removed: {error}", dir.display()))
            }
            None => Ok(()),
        }
    }
}

impl Drop for OwnedWorktree {
    fn drop(&mut self) {
        let (Some(worktree), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        runtime.spawn(async move {
            if let Err(error) = Self(Some(worktree)).release().await {
                tracing::warn!(%error, "a stopped agent's worktree remains");
            }
        });
    }
}
