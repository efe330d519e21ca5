//! The rows of the tree and the branch lines before them. Only rows where a branch starts are indented.

use tiller_session::tree::{BranchMark, TreeRow};

use super::model::TreeModel;

const NONE: u32 = u32::MAX;

/// Columns per branch level.
const LEVEL: usize = 3;

/// The rows; only visible ones are drawn.
#[derive(Debug, Default)]
pub(super) struct VisibleRows {
    rows: Vec<TreeRow>,
    /// For each row, the row where its branch starts; for a row where a branch starts, the start of the
    /// enclosing branch.
    within: Vec<u32>,
    /// For each entry, its row.
    at: Vec<u32>,
    /// The row of the current entry, or of its nearest visible ancestor.
    current: Option<usize>,
    /// True if no message precedes the first row.
    begins_session: bool,
}

impl VisibleRows {
    /// Creates the rows of the entries for which `shown` is true.
    pub(super) fn new(shape: &TreeModel, shown: impl Fn(usize) -> bool) -> Self {
        let rows = shape.tree.rows(shape.leaf(), |at, _| shown(at));
        let mut at = vec![NONE; shape.len()];
        for (position, row) in rows.iter().enumerate() {
            at[row.node] = index(position);
        }
        let row_of = |node: usize| at.get(node).filter(|row| **row != NONE).map(|row| *row as usize);
        let nearest = shape.current.and_then(|current| shape.nearest(current, |node| row_of(node).is_some()));
        let current = nearest.and_then(row_of);
        let above = rows.first().and_then(|row| shape.node(row.node).parent);
        let begins_session =
            above.is_none_or(|above| shape.nearest(above, |at| shape.node(at).is_conversation()).is_none());
        Self { within: within(&rows), rows, at, current, begins_session }
    }

    /// The row of the current entry, or of its nearest visible ancestor.
    pub(super) fn current(&self) -> Option<usize> {
        self.current
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn get(&self, row: usize) -> Option<&TreeRow> {
        self.rows.get(row)
    }

    /// The row of an entry.
    pub(super) fn row_of(&self, node: usize) -> Option<usize> {
        self.at.get(node).filter(|row| **row != NONE).map(|row| *row as usize)
    }

    /// Returns the row of an entry, or of its nearest visible ancestor, or the last row before it.
    pub(super) fn nearest(&self, shape: &TreeModel, node: usize) -> usize {
        let Some(last) = shape.len().checked_sub(1) else { return 0 };
        let above = shape.nearest(node.min(last), |at| self.row_of(at).is_some());
        let before = || self.rows.iter().rposition(|row| row.node <= node);
        above.and_then(|at| self.row_of(at)).or_else(before).unwrap_or(0)
    }

    /// Returns the row where the branch of this row starts.
    fn branch_of(&self, row: usize) -> Option<usize> {
        match self.rows.get(row)?.branch {
            BranchMark::Continues => self.around(row),
            BranchMark::Begins | BranchMark::BeginsLast => Some(row),
        }
    }

    fn around(&self, row: usize) -> Option<usize> {
        self.within.get(row).filter(|row| **row != NONE).map(|row| *row as usize)
    }

    /// Returns the row where the branch of this row forks off; row 0 if there is none.
    pub(super) fn fork_above(&self, shape: &TreeModel, row: usize) -> usize {
        let begins = self.branch_of(row).and_then(|begins| shape.node(self.rows[begins].node).parent);
        let fork = begins.and_then(|parent| shape.nearest(parent, |at| self.row_of(at).is_some()));
        fork.and_then(|at| self.row_of(at)).unwrap_or(0)
    }

    /// Returns the next row below where a branch starts.
    pub(super) fn branch_below(&self, row: usize) -> Option<usize> {
        (row + 1..self.len()).find(|at| self.rows[*at].branch != BranchMark::Continues)
    }

    /// Returns the next row above where a branch starts.
    pub(super) fn branch_above(&self, row: usize) -> Option<usize> {
        (0..row).rev().find(|at| self.rows[*at].branch != BranchMark::Continues)
    }

    /// Returns true if a branch starts at a row, including the trunk at the session's start.
    pub(super) fn begins(&self, row: usize) -> bool {
        let is_trunk = row == 0 && self.begins_session;
        self.get(row).is_some_and(|it| is_trunk || it.branch != BranchMark::Continues)
    }

    /// Returns the rows where a branch starts.
    pub(super) fn branch_starts(&self) -> impl Iterator<Item = &TreeRow> {
        self.rows.iter().filter(|row| row.branch != BranchMark::Continues)
    }

    /// Returns the branch lines before a row, at most `widest` columns: the innermost levels of a deep tree.
    pub(super) fn branch_prefix(&self, row: usize, widest: usize) -> String {
        let Some(TreeRow { branch, depth, .. }) = self.rows.get(row) else { return String::new() };
        let levels = (widest / LEVEL).max(1);
        let (own, is_begun) = match branch {
            BranchMark::Continues => ("", 0),
            BranchMark::Begins => ("├─ ", 1),
            BranchMark::BeginsLast => ("└─ ", 1),
        };
        let around = std::iter::successors(self.around(row), |row| self.around(*row));
        let signs = around.take(levels - is_begun).map(|row| match self.rows[row].branch {
            BranchMark::Begins => "│  ",
            BranchMark::BeginsLast | BranchMark::Continues => "   ",
        });
        let mut signs: Vec<&str> = signs.collect();
        if *depth > levels
            && let Some(outermost) = signs.last_mut()
        {
            *outermost = "⋯  ";
        }
        signs.into_iter().rev().chain([own]).collect()
    }
}

fn index(position: usize) -> u32 {
    u32::try_from(position).expect("a log has fewer than 2^32 entries")
}

fn within(rows: &[TreeRow]) -> Vec<u32> {
    // The rows where the enclosing branches start, outermost first.
    let mut around: Vec<u32> = Vec::new();
    let mut within = Vec::with_capacity(rows.len());
    for (position, row) in rows.iter().enumerate() {
        let begins = row.branch != BranchMark::Continues;
        around.truncate(row.depth - usize::from(begins));
        within.push(around.last().copied().unwrap_or(NONE));
        if begins {
            around.push(index(position));
        }
    }
    within
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(drawn: &[(usize, BranchMark)]) -> VisibleRows {
        let row = |(node, (depth, branch)): (usize, &(usize, BranchMark))| TreeRow {
            node,
            depth: *depth,
            branch: *branch,
            on_path: false,
        };
        let rows: Vec<TreeRow> = drawn.iter().enumerate().map(row).collect();
        VisibleRows {
            within: within(&rows),
            at: (0..rows.len()).map(index).collect(),
            rows,
            current: None,
            begins_session: true,
        }
    }

    #[test]
    fn tree_rows_branch_lines_continue() {
        use BranchMark::{Begins, BeginsLast, Continues};
        let rows = rows(&[
            (0, Continues),
            (1, Begins),
            (2, Begins),
            (2, BeginsLast),
            (2, Continues),
            (1, BeginsLast),
            (1, Continues),
        ]);
        let drawn: Vec<String> = (0..rows.len()).map(|row| rows.branch_prefix(row, 30)).collect();
        assert_eq!(drawn, ["", "├─ ", "│  ├─ ", "│  └─ ", "│     ", "└─ ", "   "]);
        assert_eq!(
            (rows.branch_below(0), rows.branch_below(3), rows.branch_above(3)),
            (Some(1), Some(5), Some(2))
        );
        assert_eq!(rows.branch_of(4), Some(3));
    }

    #[test]
    fn tree_rows_deep_lead_is_limited() {
        let drawn: Vec<_> = (1..=20).map(|depth| (depth, BranchMark::Begins)).collect();
        let rows = rows(&drawn);
        assert_eq!(rows.branch_prefix(2, 9), "│  │  ├─ ");
        assert_eq!(rows.branch_prefix(3, 9), "⋯  │  ├─ ");
        assert_eq!(rows.branch_prefix(19, 9), rows.branch_prefix(3, 9));
    }
}
