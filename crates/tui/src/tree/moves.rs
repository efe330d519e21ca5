//! Folding, and going about by the shape of the tree.

use std::collections::HashSet;

use super::TreeView;

impl TreeView {
    /// Folds what follows the entry under the cursor; where nothing is to be folded, goes to where its branch begins.
    pub(super) fn fold(&mut self) {
        let Some(node) = self.chosen() else { return };
        if self.has_rows_beneath(node) && self.search.found().is_none() {
            self.sieve.folded.insert(node);
            self.arrange();
        } else {
            self.go_to_fork_point();
        }
    }

    /// Unfolds what follows; where nothing is folded, goes on to it.
    pub(super) fn unfold(&mut self) {
        match self.chosen() {
            Some(node) if self.sieve.folded.remove(&node) => self.arrange(),
            Some(node) if self.has_rows_beneath(node) => self.step(1),
            Some(_) | None => {}
        }
    }

    /// Folds every branch in which the cursor isn't; when something is folded, unfolds everything.
    pub(super) fn fold_others(&mut self) {
        let (Some(shape), Some(node)) = (&self.shape, self.chosen()) else { return };
        if self.sieve.folded.is_empty() {
            let above: HashSet<usize> =
                std::iter::successors(Some(node), |at| shape.node(*at).parent).collect();
            let others = self.rows.beginnings().map(|row| row.node);
            let others = others.filter(|at| !above.contains(at) && self.has_rows_beneath(*at));
            self.sieve.folded = others.collect();
        } else {
            self.sieve.folded.clear();
        }
        self.arrange();
    }

    /// Whether the row below belongs to what follows an entry.
    fn has_rows_beneath(&self, node: usize) -> bool {
        let below = self.rows.row_of(node).and_then(|row| self.rows.get(row + 1));
        let (Some(shape), Some(below)) = (&self.shape, below) else { return false };
        shape.nearest(below.node, |at| at <= node) == Some(node)
    }

    pub(super) fn go_to_fork_point(&mut self) {
        if let Some(shape) = &self.shape {
            let row = self.rows.fork_above(shape, self.place.row);
            self.go_to(row);
        }
    }

    pub(super) fn go_to_leaf(&mut self) {
        let Some(shape) = &self.shape else { return };
        // What is folded above it would hide it.
        let here = shape.here.unwrap_or(0);
        let above = std::iter::successors(Some(here), |at| shape.node(*at).parent);
        let unfolded = above.skip(1).filter(|at| self.sieve.folded.remove(at)).count() > 0;
        self.place.node = here;
        if unfolded {
            self.arrange();
        }
        if let Some(shape) = &self.shape {
            let row = self.rows.nearest(shape, here);
            self.go_to(row);
        }
    }
}
