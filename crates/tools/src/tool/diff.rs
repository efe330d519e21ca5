//! The unified diff of a file change, for `details` and previews.

use std::time::Duration;

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};
use tiller_core::event::{FileChange, Preview};

use super::truncation::{OutputLimits, TruncationExtent};

/// Time limit of the search for the smallest diff.
const EFFORT: Duration = Duration::from_millis(300);

/// Limits of a diff in the log, which also contains the text in the call's arguments.
const LIMITS: OutputLimits = OutputLimits { max_lines: 2_000, max_chars: 100_000 };

/// A change to one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileDiff {
    unified: String,
    pub added: usize,
    pub removed: usize,
}

impl FileDiff {
    /// Compares two strings by lines.
    pub(super) fn new(path: &str, old: &str, new: &str) -> Self {
        // A line ends only with a newline, so that line numbers are those of the file; by default `similar`
        // would also split at a lone carriage return.
        let (old, new): (Vec<&str>, Vec<&str>) =
            (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
        let diff = TextDiff::configure().timeout(EFFORT).diff_slices(&old, &new);
        let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
        let (added, removed) = (count(ChangeTag::Insert), count(ChangeTag::Delete));
        let mut unified = unified(path, &diff);
        let head = LIMITS.head(&unified);
        if head.extent != TruncationExtent::Whole {
            // In a unified diff, a line that starts with a backslash is a remark.
            unified = format!("{}\n\\ diff truncated\n", head.text.trim_end());
        }
        Self { unified, added, removed }
    }

    /// Converts the diff to a preview.
    pub(super) fn preview(self, path: &str) -> Preview {
        let Self { unified, added, removed } = self;
        Preview::Change(FileChange { path: path.to_owned(), diff: unified, added, removed })
    }

    /// Returns `{diff, path, added, removed}`.
    pub(super) fn details(&self, path: &str) -> Value {
        json!({ "diff": self.unified, "path": path, "added": self.added, "removed": self.removed })
    }
}

fn unified(path: &str, diff: &TextDiff<'_, '_, str>) -> String {
    let mut unified = String::new();
    for hunk in diff.unified_diff().context_radius(3).iter_hunks() {
        if unified.is_empty() {
            unified.push_str(&format!("--- {path}\n+++ {path}\n"));
        }
        unified.push_str(&format!("{}\n", hunk.header()));
        for change in hunk.iter_changes() {
            unified.push_str(&format!("{}{}", change.tag(), change.value()));
            if !change.value().ends_with('\n') {
                unified.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    unified
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_diff_only_newline_ends_line() {
        let strange = "a\rb\u{2028}c\u{85}d\u{b}e\u{c}f\n";
        let diff = FileDiff::new("x", &format!("1\r\n{strange}3\r"), &format!("1\r\n{strange}4\r"));
        let end = "\\ No newline at end of file";
        let unified = format!("--- x\n+++ x\n@@ -1,3 +1,3 @@\n 1\r\n {strange}-3\r\n{end}\n+4\r\n{end}\n");
        assert_eq!(diff, FileDiff { unified, added: 1, removed: 1 });
    }

    #[test]
    fn file_diff_has_line_numbers_and_counts() {
        let diff = FileDiff::new("src/a.rs", "1\n2\n3\n", "1\ntwo\n2b\n3\n");
        let unified = "--- src/a.rs\n+++ src/a.rs\n@@ -1,3 +1,4 @@\n 1\n-2\n+two\n+2b\n 3\n";
        assert_eq!(diff, FileDiff { unified: unified.into(), added: 2, removed: 1 });
    }

    #[test]
    fn file_diff_very_long_is_cut_with_remark() {
        let diff = FileDiff::new("a", "", &"x\n".repeat(5_000));
        assert_eq!((diff.added, diff.unified.lines().count()), (5_000, 2_001));
        assert!(diff.unified.ends_with("+x\n\\ diff truncated\n"));
    }
}
