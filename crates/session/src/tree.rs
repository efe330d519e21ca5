//! The shape of a session: which entry follows which. Pure; what entries say is elsewhere.

use tiller_core::id::EntryId;
use tiller_core::unit::UnixMs;

use super::index::EntryKind;
use super::line_scan::LineRole;

/// One entry in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeNode {
    /// The entry.
    pub id: EntryId,
    /// Position of the entry it follows.
    pub parent: Option<usize>,
    /// What kind of entry.
    pub kind: EntryKind,
    /// Who speaks, if it is a message.
    pub role: Option<LineRole>,
    /// When it was written.
    pub timestamp: UnixMs,
}

impl TreeNode {
    /// Whether it was said by somebody, rather than noted by tiller.
    #[must_use]
    pub fn is_said(&self) -> bool {
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

/// All entries in the order of the file; a parent stands before its children.
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
    /// How many forks lie above it: the depth to draw it at.
    pub depth: usize,
    /// Whether it begins one of several branches.
    pub branch: BranchMark,
    /// Whether it lies on the path to the leaf.
    pub on_path: bool,
}

/// How a row hangs on the one above its branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchMark {
    /// It goes on from the row above.
    Continues,
    /// It begins a branch, and another one follows below.
    Begins,
    /// It begins the last branch of its fork.
    BeginsLast,
}

impl Tree {
    /// Links nodes into a tree.
    #[must_use]
    pub fn new(nodes: Vec<TreeNode>) -> Self {
        let links = TreeLinks::of(nodes.len(), |at| Some(nodes[at].parent));
        Self { nodes, links }
    }

    /// The entries, in the order of the file.
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

    /// Positions of the entries that follow the one at `position`.
    #[must_use]
    pub fn children(&self, position: usize) -> &[usize] {
        self.links.children(position)
    }

    /// How many entries there are from `id` on, itself and all that follows it.
    #[must_use]
    pub fn count_from(&self, id: &EntryId) -> usize {
        let Some(start) = self.nodes.iter().rposition(|node| node.id == *id) else { return 0 };
        let mut is_beneath = vec![false; self.nodes.len()];
        for at in start..self.nodes.len() {
            is_beneath[at] = at == start || self.nodes[at].parent.is_some_and(|parent| is_beneath[parent]);
        }
        is_beneath.iter().filter(|is_beneath| **is_beneath).count()
    }

    /// How many branches there are: entries that nothing follows.
    #[must_use]
    pub fn branch_count(&self) -> usize {
        (0..self.nodes.len()).filter(|at| self.children(*at).is_empty()).count()
    }

    /// The rows of a drawing that shows only the entries that `shown`, asked with each position, accepts; those left out hand
    /// their children on.
    #[must_use]
    pub fn rows(&self, leaf: Option<&EntryId>, shown: impl Fn(usize, &TreeNode) -> bool) -> Vec<TreeRow> {
        let visible = self.visible(&shown);
        let on_path = self.path_marks(leaf);
        let mut rows = Vec::new();
        // A stack instead of recursion: a session of 100,000 entries is one long branch.
        let mut stack: Vec<(usize, usize, BranchMark)> = Vec::new();
        push_branches(&mut stack, visible.roots(), 0);
        while let Some((node, depth, branch)) = stack.pop() {
            rows.push(TreeRow { node, depth, branch, on_path: on_path[node] });
            push_branches(&mut stack, visible.children(node), depth);
        }
        rows
    }

    /// For every entry whether it lies on the path to `leaf`.
    #[must_use]
    pub fn path_marks(&self, leaf: Option<&EntryId>) -> Vec<bool> {
        let mut marks = vec![false; self.nodes.len()];
        for at in self.ancestry(leaf) {
            marks[at] = true;
        }
        marks
    }

    fn visible(&self, shown: &impl Fn(usize, &TreeNode) -> bool) -> TreeLinks {
        // For each entry the nearest shown one at or above it; parents come first, so one pass is enough.
        let mut nearest: Vec<Option<usize>> = Vec::with_capacity(self.nodes.len());
        let mut follows = vec![None; self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate() {
            let above = node.parent.and_then(|parent| nearest[parent]);
            let is_shown = shown(at, node);
            follows[at] = is_shown.then_some(above);
            nearest.push(if is_shown { Some(at) } else { above });
        }
        TreeLinks::of(self.nodes.len(), |at| follows[at])
    }
}

/// Which entries follow each, one list after the other: two allocations for a tree of any size.
#[derive(Clone, Debug, Default)]
struct TreeLinks {
    /// Where the list of each begins; that of the roots is the last.
    begins: Vec<usize>,
    lists: Vec<usize>,
}

impl TreeLinks {
    /// Links `count` entries, each to the one that `follows` names, or to none; those for which it says nothing are left out.
    fn of(count: usize, follows: impl Fn(usize) -> Option<Option<usize>>) -> Self {
        let list = |at: usize| follows(at).map(|above| above.unwrap_or(count));
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
        Self { begins, lists }
    }

    fn children(&self, at: usize) -> &[usize] {
        match self.begins.get(at..at + 2) {
            Some(&[begin, end]) => &self.lists[begin..end],
            _ => &[],
        }
    }

    fn roots(&self) -> &[usize] {
        self.children(self.begins.len().saturating_sub(2))
    }
}

fn push_branches(stack: &mut Vec<(usize, usize, BranchMark)>, nodes: &[usize], depth: usize) {
    match nodes {
        [] => {}
        [only] => stack.push((*only, depth, BranchMark::Continues)),
        several => {
            for (place, node) in several.iter().enumerate().rev() {
                let last = place + 1 == several.len();
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

    fn drawn(
        tree: &Tree,
        leaf: &str,
        shown: impl Fn(usize, &TreeNode) -> bool,
    ) -> Vec<(usize, usize, BranchMark, bool)> {
        let rows = tree.rows(Some(&leaf.into()), shown);
        rows.into_iter().map(|row| (row.node, row.depth, row.branch, row.on_path)).collect()
    }

    #[test]
    fn branches_are_drawn_one_deeper_than_the_path_they_leave() {
        use BranchMark::{Begins, BeginsLast, Continues};
        let tree = tree(&[None, Some(0), Some(1), Some(0), Some(3)]);
        assert_eq!(
            drawn(&tree, "n4", |_, _| true),
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
    fn an_entry_that_is_not_shown_hands_its_children_on() {
        use BranchMark::{Begins, BeginsLast, Continues};
        let tree = tree(&[None, Some(0), Some(1), Some(1), Some(1)]);
        assert_eq!(
            drawn(&tree, "n2", |_, node| node.kind == EntryKind::Message),
            [(0, 0, Continues, true), (2, 1, Begins, true), (4, 1, BeginsLast, false)]
        );
    }

    #[test]
    fn a_long_branch_does_not_exhaust_the_stack() {
        let parents: Vec<Option<usize>> = (0..200_000_usize).map(|at| at.checked_sub(1)).collect();
        assert_eq!(tree(&parents).rows(None, |_, _| true).len(), 200_000);
    }
}
