//! The changes made in an agent's worktree, as its branch has them. Pure.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use tiller_core::counted::counted;

/// The changes made in a worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeChanges {
    /// The branch with the changes; `None` without changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Number of changed files.
    pub files: usize,
    /// Number of added lines.
    pub added: usize,
    /// Number of removed lines.
    pub removed: usize,
    /// The changes as a patch for `git apply`.
    #[serde(skip)]
    pub patch: Arc<[u8]>,
}

/// Sums up the output of `git diff --numstat -z`. Binary files count without lines.
pub(super) fn count(numstat: &str) -> WorktreeChanges {
    let mut changes = WorktreeChanges::default();
    for record in numstat.split('\0') {
        let mut fields = record.split('\t');
        let (Some(added), Some(removed)) = (fields.next(), fields.next()) else { continue };
        changes.files += 1;
        changes.added += added.parse::<usize>().unwrap_or(0);
        changes.removed += removed.parse::<usize>().unwrap_or(0);
    }
    changes
}

impl fmt::Display for WorktreeChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { files, added, removed, .. } = self;
        f.pad(&format!("{}, +{added} −{removed}", counted(*files, "file", "files")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_sums_over_files() {
        let changes = count("1\t2\ta.rs\x003\t0\tb.rs\0-\t-\tc.png\0");
        assert_eq!(changes.to_string(), "3 files, +4 −2");
    }
}
