//! A worktree that is removed when it is no longer needed, even if the work in it is dropped.

use std::path::Path;

use tiller_core::delegated_task::TaskWorktree;
use tiller_tools::tool::{Worktree, WorktreeChanges};

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
        Some(TaskWorktree { branch: worktree.branch().to_owned(), base: worktree.base().to_owned() })
    }

    /// Commits all changes to the worktree's branch.
    pub(super) async fn commit(&self, message: &str) -> Result<WorktreeChanges, String> {
        match &self.0 {
            Some(worktree) => worktree.commit(message).await.map_err(|error| error.to_string()),
            None => Ok(WorktreeChanges::default()),
        }
    }

    /// Keeps the worktree.
    pub(super) fn keep(mut self) {
        self.0 = None;
    }

    /// Removes the worktree. Its changes must be committed.
    pub(super) async fn remove(mut self) -> Result<(), String> {
        match self.0.take() {
            Some(worktree) => worktree.remove().await.map_err(|error| error.to_string()),
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
            let committed = worktree.commit("Changes of a stopped agent").await;
            let removed = match committed {
                Ok(_) => worktree.remove().await,
                Err(error) => Err(error),
            };
            if let Err(error) = removed {
                tracing::warn!(%error, "a stopped agent's worktree can't be removed");
            }
        });
    }
}
