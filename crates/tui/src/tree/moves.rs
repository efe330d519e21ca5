//! Folding, and movement by the tree's structure.

use std::collections::HashSet;

use super::TreeView;

impl TreeView {
    /// Folds the descendants of the entry at the cursor; if there is nothing to fold, goes to the start of
    /// its branch.
    pub(super) fn fold(&mut self) {
        let Some(node) = self.chosen() else { return };
        if self.has_child_rows(node) && self.search.found().is_none() {
            self.filters.folded.insert(node);
            self.arrange();
        } else {
            self.go_to_fork_point();
        }
    }

    /// Unfolds the descendants; if they aren't folded, moves to the first one.
    pub(super) fn unfold(&mut self) {
        match self.chosen() {
            Some(node) if self.filters.folded.remove(&node) => self.arrange(),
            Some(node) if self.has_child_rows(node) => self.step(1),
            Some(_) | None => {}
        }
    }

    /// Folds all branches without the cursor; if anything is folded, unfolds everything.
    pub(super) fn fold_others(&mut self) {
        let (Some(shape), Some(node)) = (&self.shape, self.chosen()) else { return };
        if self.filters.folded.is_empty() {
            let above: HashSet<usize> =
                std::iter::successors(Some(node), |at| shape.node(*at).parent).collect();
            let others = self.rows.branch_starts().map(|row| row.node);
            let others = others.filter(|at| !above.contains(at) && self.has_child_rows(*at));
            self.filters.folded = others.collect();
        } else {
            self.filters.folded.clear();
        }
        self.arrange();
    }

    /// Returns true if the next row is a descendant of an entry.
    fn has_child_rows(&self, node: usize) -> bool {
        let below = self.rows.row_of(node).and_then(|row| self.rows.get(row + 1));
        let (Some(shape), Some(below)) = (&self.shape, below) else { return false };
        shape.nearest(below.node, |at| at <= node) == Some(node)
    }

    pub(super) fn go_to_fork_point(&mut self) {
        if let Some(shape) = &self.shape {
            let row = self.rows.fork_above(shape, self.place.cursor.row);
            self.go_to(row);
        }
    }

    pub(super) fn go_to_leaf(&mut self) {
        let Some(shape) = &self.shape else { return };
        // Folded ancestors would hide it.
        let current = shape.current.unwrap_or(0);
        let above = std::iter::successors(Some(current), |at| shape.node(*at).parent);
        let unfolded = above.skip(1).filter(|at| self.filters.folded.remove(at)).count() > 0;
        self.place.node = current;
        if unfolded {
            self.arrange();
        }
        if let Some(shape) = &self.shape {
            let row = self.rows.nearest(shape, current);
            self.go_to(row);
        }
    }
}
