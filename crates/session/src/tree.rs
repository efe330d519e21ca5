//! The tree of a session's entries, without bodies. Pure.

use tiller_core::id::EntryId;
use tiller_core::unit::UnixMs;

use super::entry_kind::EntryKind;
use super::line_scan::LineRole;

/// One entry in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeNode {
    /// The entry.
    pub id: EntryId,
    /// Position of the parent.
    pub parent: Option<usize>,
    /// The kind of entry.
    pub kind: EntryKind,
    /// The role, if it is a message.
    pub role: Option<LineRole>,
    /// The time at which it was written.
    pub timestamp: UnixMs,
}

impl TreeNode {
    /// Returns true for entries of the conversation, false for annotations and settings.
    #[must_use]
    pub fn is_conversation(&self) -> bool {
        match self.kind {
            EntryKind::Message => self.role != Some(LineRole::System),
            EntryKind::Compaction | EntryKind::BranchSummary | EntryKind::CustomMessage => true,
            EntryKind::ModelChange
            | EntryKind::ThinkingLevelChange
            | EntryKind::ContextEdit
            | EntryKind::Custom
            | EntryKind::Label
            | EntryKind::SessionInfo
            | EntryKind::Usage
            | EntryKind::Unknown => false,
        }
    }
}

/// All entries in file order; a parent comes before its children.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    nodes: Vec<TreeNode>,
    links: TreeLinks,
}

/// One row of a drawn tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeRow {
    /// Position of the entry.
    pub node: usize,
    /// The number of forks above it, which is the indentation depth.
    pub depth: usize,
    /// Position within its branch.
    pub branch: BranchMark,
    /// True if it is on the path to the leaf.
    pub on_path: bool,
}

/// Relation of a row to the row above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchMark {
    /// Continues the branch of the row above.
    Continues,
    /// Starts a branch that is not the last of its fork.
    Begins,
    /// Starts the last branch of its fork.
    BeginsLast,
}

impl Tree {
    /// Links nodes into a tree.
    #[must_use]
    pub fn new(nodes: Vec<TreeNode>) -> Self {
        let links = TreeLinks::new(nodes.len(), |at| Some(nodes[at].parent));
        Self { nodes, links }
    }

    /// The entries in file order.
    #[must_use]
    pub fn nodes(&self) -> &[TreeNode] {
        &self.nodes
    }

    /// Positions from the root to `leaf`.
    #[must_use]
    pub fn path(&self, leaf: &EntryId) -> Vec<usize> {
        let mut path: Vec<usize> = self.ancestry(Some(leaf)).collect();
        path.reverse();
        path
    }

    fn ancestry(&self, leaf: Option<&EntryId>) -> impl Iterator<Item = usize> {
        let start = leaf.and_then(|leaf| self.nodes.iter().rposition(|node| node.id == *leaf));
        std::iter::successors(start, |&at| self.nodes[at].parent)
    }

    /// Positions of the children of the entry at `position`.
    #[must_use]
    pub fn children(&self, position: usize) -> &[usize] {
        self.links.children(position)
    }

    /// The number of entries in the subtree of `id`, including itself.
    #[must_use]
    pub fn count_from(&self, id: &EntryId) -> usize {
        let Some(start) = self.nodes.iter().rposition(|node| node.id == *id) else { return 0 };
        let mut is_in_subtree = vec![false; self.nodes.len()];
        for at in start..self.nodes.len() {
            is_in_subtree[at] =
                at == start || self.nodes[at].parent.is_some_and(|parent| is_in_subtree[parent]);
        }
        is_in_subtree.iter().filter(|is_in_subtree| **is_in_subtree).count()
    }

    /// The number of branches: one for each entry without children.
    #[must_use]
    pub fn branch_count(&self) -> usize {
        (0..self.nodes.len()).filter(|at| self.children(*at).is_empty()).count()
    }

    /// Draws the entries for which `is_shown` is true as rows; the children of other entries move up to the
    /// nearest shown ancestor.
    #[must_use]
    pub fn rows(&self, leaf: Option<&EntryId>, is_shown: impl Fn(usize, &TreeNode) -> bool) -> Vec<TreeRow> {
        let visible = self.visible(&is_shown);
        let on_path = self.path_marks(leaf);
        let mut rows = Vec::new();
        // A stack instead of recursion: a session of 100,000 entries may be one long branch.
        let mut stack: Vec<(usize, usize, BranchMark)> = Vec::new();
        push_branches(&mut stack, visible.roots(), 0);
        while let Some((node, depth, branch)) = stack.pop() {
            rows.push(TreeRow { node, depth, branch, on_path: on_path[node] });
            push_branches(&mut stack, visible.children(node), depth);
        }
        rows
    }

    /// For every entry, true if it is on the path to `leaf`.
    #[must_use]
    pub fn path_marks(&self, leaf: Option<&EntryId>) -> Vec<bool> {
        let mut marks = vec![false; self.nodes.len()];
        for at in self.ancestry(leaf) {
            marks[at] = true;
        }
        marks
    }

    fn visible(&self, is_shown: &impl Fn(usize, &TreeNode) -> bool) -> TreeLinks {
        // For each entry, the nearest shown one: itself or an ancestor. Parents come first, so one pass is
        // enough.
        let mut nearest: Vec<Option<usize>> = Vec::with_capacity(self.nodes.len());
        let mut follows = vec![None; self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate() {
            let parent = node.parent.and_then(|parent| nearest[parent]);
            let is_shown = is_shown(at, node);
            follows[at] = is_shown.then_some(parent);
            nearest.push(if is_shown { Some(at) } else { parent });
        }
        TreeLinks::new(self.nodes.len(), |at| follows[at])
    }
}

/// The children of all entries in one list: two allocations for a tree of any size.
#[derive(Clone, Debug, Default)]
struct TreeLinks {
    /// The start of each entry's children in the list; the roots come last.
    starts: Vec<usize>,
    lists: Vec<usize>,
}

impl TreeLinks {
    /// Links `count` entries to the parents that `follows` returns: `Some(None)` for a root, `None` to omit
    /// the entry.
    fn new(count: usize, follows: impl Fn(usize) -> Option<Option<usize>>) -> Self {
        let list = |at: usize| follows(at).map(|parent| parent.unwrap_or(count));
        let mut ends = vec![0; count + 2];
        for at in (0..count).filter_map(list) {
            ends[at + 1] += 1;
        }
        for at in 1..ends.len() {
            ends[at] += ends[at - 1];
        }
        let (begins, mut next) = (ends.clone(), ends);
        let mut lists = vec![0; begins.last().copied().unwrap_or_default()];
        for at in 0..count {
            if let Some(list) = list(at) {
                lists[next[list]] = at;
                next[list] += 1;
            }
        }
        Self { starts: begins, lists }
    }

    fn children(&self, at: usize) -> &[usize] {
        match self.starts.get(at..at + 2) {
            Some(&[begin, end]) => &self.lists[begin..end],
            _ => &[],
        }
    }

    fn roots(&self) -> &[usize] {
        self.children(self.starts.len().saturating_sub(2))
    }
}

fn push_branches(stack: &mut Vec<(usize, usize, BranchMark)>, nodes: &[usize], depth: usize) {
    match nodes {
        [] => {}
        [only] => stack.push((*only, depth, BranchMark::Continues)),
        several => {
            for (position, node) in several.iter().enumerate().rev() {
                let last = position + 1 == several.len();
                stack.push((
                    *node,
                    depth + 1,
                    if last { BranchMark::BeginsLast } else { BranchMark::Begins },
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(parents: &[Option<usize>]) -> Tree {
        let node = |(at, parent): (usize, &Option<usize>)| TreeNode {
            id: EntryId::new(format!("n{at}")),
            parent: *parent,
            kind: if at % 2 == 0 { EntryKind::Message } else { EntryKind::Custom },
            role: None,
            timestamp: UnixMs(0),
        };
        Tree::new(parents.iter().enumerate().map(node).collect())
    }

    fn lines_of(
        tree: &Tree,
        leaf: &str,
        is_shown: impl Fn(usize, &TreeNode) -> bool,
    ) -> Vec<(usize, usize, BranchMark, bool)> {
        let rows = tree.rows(Some(&leaf.into()), is_shown);
        rows.into_iter().map(|row| (row.node, row.depth, row.branch, row.on_path)).collect()
    }

    #[test]
    fn rows_branches_are_one_deeper_than_their_path() {
        use BranchMark::{Begins, BeginsLast, Continues};
        let tree = tree(&[None, Some(0), Some(1), Some(0), Some(3)]);
        assert_eq!(
            lines_of(&tree, "n4", |_, _| true),
            [
                (0, 0, Continues, true),
                (1, 1, Begins, false),
                (2, 1, Continues, false),
                (3, 1, BeginsLast, true),
                (4, 1, Continues, true)
            ]
        );
        assert_eq!(tree.branch_count(), 2);
    }

    #[test]
    fn rows_hidden_entry_passes_children_up() {
        use BranchMark::{Begins, BeginsLast, Continues};
        let tree = tree(&[None, Some(0), Some(1), Some(1), Some(1)]);
        assert_eq!(
            lines_of(&tree, "n2", |_, node| node.kind == EntryKind::Message),
            [(0, 0, Continues, true), (2, 1, Begins, true), (4, 1, BeginsLast, false)]
        );
    }

    #[test]
    fn rows_long_branch_does_not_overflow_stack() {
        let parents: Vec<Option<usize>> = (0..200_000_usize).map(|at| at.checked_sub(1)).collect();
        assert_eq!(tree(&parents).rows(None, |_, _| true).len(), 200_000);
    }
}
