//! The structure of a session for the tree: links, labels, hidden entries, size and age of branches. It has
//! no texts.

use std::collections::{HashMap, HashSet};

use tiller_core::id::{EntryId, SessionId};
use tiller_core::unit::UnixMs;
use tiller_session::annotations::Annotations;
use tiller_session::tree::{Tree, TreeNode};
use tiller_session::{LineRole, Reader};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TreeFilter {
    /// Messages without tool results.
    #[default]
    NoTools,
    /// User messages.
    User,
    /// Labeled entries.
    Labelled,
    /// Every entry of the log.
    All,
}

impl TreeFilter {
    pub(super) fn next(self) -> Self {
        match self {
            Self::NoTools => Self::User,
            Self::User => Self::Labelled,
            Self::Labelled => Self::All,
            Self::All => Self::NoTools,
        }
    }

    /// The name on the screen.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::NoTools => "without tool results",
            Self::User => "user messages",
            Self::Labelled => "labeled",
            Self::All => "all",
        }
    }

    /// Returns true if a visible entry has a row.
    pub(super) fn accepts(self, node: &TreeNode, label: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::Labelled => label.is_some(),
            Self::User => node.role == Some(LineRole::User),
            Self::NoTools => node.is_conversation() && node.role != Some(LineRole::ToolResult),
        }
    }
}

/// A snapshot of the session's structure.
#[derive(Debug)]
pub(crate) struct TreeModel {
    pub(super) session: SessionId,
    pub(super) tree: Tree,
    pub(super) marks: Annotations,
    /// For each hidden entry, the entry that hides it.
    pub(super) hiding_ancestors: Vec<Option<usize>>,
    /// The last message of the current path; going there changes nothing.
    pub(super) current: Option<usize>,
    branches: Vec<TreeBranch>,
}

/// The subtree of an entry, including itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TreeBranch {
    pub(super) entries: u32,
    /// Time of the newest entry.
    pub(super) newest: UnixMs,
    pub(super) answer: Option<u32>,
}

impl TreeModel {
    /// Reads the structure from the log's index, and the few entries that label or hide something.
    pub(crate) fn load(reader: &Reader) -> Self {
        let tree = reader.tree();
        // The last entry of this snapshot, because the log may have grown since.
        let leaf = tree.nodes().last().map(|node| node.id.clone());
        let marks = Annotations::read(reader, &tree);
        let hiding_ancestors = marks.hiding_ancestors(&tree, leaf.as_ref());
        let last = tree.nodes().len().checked_sub(1);
        let current = std::iter::successors(last, |at| tree.nodes()[*at].parent)
            .find(|at| tree.nodes()[*at].is_conversation());
        let branches = branches(tree.nodes());
        Self { session: reader.id().clone(), tree, marks, hiding_ancestors, current, branches }
    }

    pub(super) fn len(&self) -> usize {
        self.tree.nodes().len()
    }

    pub(super) fn node(&self, at: usize) -> &TreeNode {
        &self.tree.nodes()[at]
    }

    pub(super) fn leaf(&self) -> Option<&EntryId> {
        self.tree.nodes().last().map(|node| &node.id)
    }

    pub(super) fn branch(&self, at: usize) -> TreeBranch {
        self.branches[at]
    }

    /// The nearest entry at or above `at` for which `predicate` is true.
    pub(super) fn nearest(&self, at: usize, predicate: impl Fn(usize) -> bool) -> Option<usize> {
        std::iter::successors(Some(at), |at| self.node(*at).parent).find(|at| predicate(*at))
    }

    /// Counts the descendants of each of these entries for which `counts` is true. A descendant of several of
    /// them counts for the uppermost.
    pub(super) fn count_descendants(
        &self,
        these: &HashSet<usize>,
        counts: impl Fn(usize) -> bool,
    ) -> HashMap<usize, usize> {
        let mut count_descendants = HashMap::new();
        let mut counted_for: Vec<Option<usize>> = vec![None; if these.is_empty() { 0 } else { self.len() }];
        for at in 0..counted_for.len() {
            let parent = self.node(at).parent;
            counted_for[at] = parent
                .and_then(|parent| counted_for[parent].or_else(|| these.contains(&parent).then_some(parent)));
            if let Some(upper) = counted_for[at].filter(|_| counts(at)) {
                *count_descendants.entry(upper).or_default() += 1;
            }
        }
        count_descendants
    }

    /// Returns for each entry whether it is a descendant of one of these.
    pub(super) fn is_below_any(&self, these: impl Iterator<Item = usize>) -> Vec<bool> {
        let (mut begins, mut is_below_any) = (vec![false; self.len()], vec![false; self.len()]);
        these.filter(|at| *at < self.len()).for_each(|at| begins[at] = true);
        for at in 0..self.len() {
            is_below_any[at] =
                self.node(at).parent.is_some_and(|parent| is_below_any[parent] || begins[parent]);
        }
        is_below_any
    }
}

/// Computes the subtree of each entry in one pass from the end, because parents precede children.
fn branches(nodes: &[TreeNode]) -> Vec<TreeBranch> {
    let own = |(at, node): (usize, &TreeNode)| TreeBranch {
        entries: 1,
        newest: node.timestamp,
        answer: u32::try_from(at).ok().filter(|_| node.role == Some(LineRole::Assistant)),
    };
    let mut branches: Vec<TreeBranch> = nodes.iter().enumerate().map(own).collect();
    for at in (0..nodes.len()).rev() {
        let Some(parent) = nodes[at].parent else { continue };
        let (child, above) = (branches[at], &mut branches[parent]);
        above.entries = above.entries.saturating_add(child.entries);
        above.newest = above.newest.max(child.newest);
        above.answer = above.answer.max(child.answer);
    }
    branches
}

#[cfg(test)]
mod tests {
    use tiller_session::EntryKind;

    use super::*;

    fn node(at: usize, parent: Option<usize>, role: LineRole) -> TreeNode {
        let timestamp = UnixMs(i64::try_from(at).unwrap() * 10);
        TreeNode {
            id: EntryId::new(at.to_string()),
            parent,
            kind: EntryKind::Message,
            role: Some(role),
            timestamp,
        }
    }

    #[test]
    fn tree_model_branch_size_and_age() {
        let nodes = [
            node(0, None, LineRole::User),
            node(1, Some(0), LineRole::Assistant),
            node(2, Some(0), LineRole::Assistant),
            node(3, Some(1), LineRole::User),
        ];
        let found =
            branches(&nodes).iter().map(|one| (one.entries, one.newest.0, one.answer)).collect::<Vec<_>>();
        assert_eq!(found, [(4, 30, Some(2)), (2, 30, Some(1)), (1, 20, Some(2)), (1, 30, None)]);
    }

    #[test]
    fn tree_filters_cycle() {
        let all = [TreeFilter::NoTools, TreeFilter::User, TreeFilter::Labelled, TreeFilter::All];
        assert_eq!(
            all.map(TreeFilter::next),
            [TreeFilter::User, TreeFilter::Labelled, TreeFilter::All, TreeFilter::NoTools]
        );
        let result = node(0, None, LineRole::ToolResult);
        assert_eq!(all.map(|filter| filter.accepts(&result, None)), [false, false, false, true]);
        let prompt = node(0, None, LineRole::User);
        assert_eq!(all.map(|filter| filter.accepts(&prompt, Some("a"))), [true; 4]);
    }
}
