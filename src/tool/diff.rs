//! What a change to a file looks like, for `details`.

use std::time::Duration;

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use super::truncation::{Extent, OutputLimits};
use crate::event::{FileChange, Preview};

/// How long to look for the smallest diff before taking a larger one.
const EFFORT: Duration = Duration::from_millis(300);

/// Most of a diff that goes into the log, beside the arguments that say the same.
const LIMITS: OutputLimits = OutputLimits { max_lines: 2_000, max_chars: 100_000 };

/// A change to one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileDiff {
    unified: String,
    pub added: usize,
    pub removed: usize,
}

impl FileDiff {
    /// Compares two texts by lines.
    pub(super) fn between(path: &str, old: &str, new: &str) -> Self {
        let diff = TextDiff::configure().timeout(EFFORT).diff_lines(old, new);
        let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
        let (added, removed) = (count(ChangeTag::Insert), count(ChangeTag::Delete));
        let mut unified = diff.unified_diff().context_radius(3).header(path, path).to_string();
        let kept = LIMITS.head(&unified);
        if kept.extent != Extent::Whole {
            // In a unified diff, a line that begins with a backslash is a remark.
            unified = format!("{}\n\\ the diff goes on\n", kept.text.trim_end());
        }
        Self { unified, added, removed }
    }

    /// The same for whoever is asked about it.
    pub(super) fn preview(self, path: &str) -> Preview {
        let Self { unified, added, removed } = self;
        Preview::Change(FileChange { path: path.to_owned(), diff: unified, added, removed })
    }

    /// `{diff, path, added, removed}`.
    pub(super) fn details(&self, path: &str) -> Value {
        json!({ "diff": self.unified, "path": path, "added": self.added, "removed": self.removed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_has_line_numbers_and_counts() {
        let diff = FileDiff::between("src/a.rs", "1\n2\n3\n", "1\ntwo\n2b\n3\n");
        let unified = "--- src/a.rs\n+++ src/a.rs\n@@ -1,3 +1,4 @@\n 1\n-2\n+two\n+2b\n 3\n";
        assert_eq!(diff, FileDiff { unified: unified.into(), added: 2, removed: 1 });
    }

    #[test]
    fn a_very_long_diff_is_cut_and_says_so() {
        let diff = FileDiff::between("a", "", &"x\n".repeat(5_000));
        assert_eq!((diff.added, diff.unified.lines().count()), (5_000, 2_001));
        assert!(diff.unified.ends_with("+x\n\\ the diff goes on\n"));
    }
}
