//! A line of a diff.

use crate::Span;

/// A line of a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    /// The line's kind.
    pub kind: DiffKind,
    /// The line number in the old file, if the line is in it.
    pub old: Option<usize>,
    /// The line number in the new file, if the line is in it.
    pub new: Option<usize>,
    /// The text; changed words have their own role. For a gap, the reason the lines are missing, if known.
    pub spans: Vec<Span>,
}

/// The kind of a diff line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffKind {
    /// In both files.
    Same,
    /// In the old file.
    Removed,
    /// In the new file.
    Added,
    /// Omitted lines.
    Gap,
}

impl DiffLine {
    pub(super) fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }
}

/// Adjacent removed and added lines.
#[derive(Default)]
pub(super) struct ChangedLines {
    pub(super) removed: Vec<String>,
    pub(super) added: Vec<String>,
}
