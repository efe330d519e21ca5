//! The session's shape as the tree needs it: links, labels, what is hidden, how large and how old branches are. No texts.

use std::collections::{HashMap, HashSet};

use tiller_core::id::{EntryId, SessionId};
use tiller_core::unit::UnixMs;
use tiller_session::annotations::Annotations;
use tiller_session::tree::{Tree, TreeNode};
use tiller_session::{LineRole, Reader};

/// Which entries have rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TreeFilter {
    /// What was said, without results of tools.
    #[default]
    NoTools,
    /// What the user said.
    User,
    /// What bears a label.
    Labelled,
    /// Every line of the log.
    All,
}

impl TreeFilter {
    /// The next one.
    pub(super) fn next(self) -> Self {
        match self {
            Self::NoTools => Self::User,
            Self::User => Self::Labelled,
            Self::Labelled => Self::All,
            Self::All => Self::NoTools,
        }
    }

    /// What it is called on the screen.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::NoTools => "without tools",
            Self::User => "user only",
            Self::Labelled => "labelled",
            Self::All => "all",
        }
    }

    /// Whether an entry has a row, if it isn't hidden.
    pub(super) fn takes(self, node: &TreeNode, label: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::Labelled => label.is_some(),
            Self::User => node.role == Some(LineRole::User),
            Self::NoTools => node.is_said() && node.role != Some(LineRole::ToolResult),
        }
    }
}

/// The session's shape at a moment.
#[derive(Debug)]
pub(crate) struct TreeModel {
    pub(super) session: SessionId,
    pub(super) tree: Tree,
    pub(super) marks: Annotations,
    /// For each entry that is hidden the one with which it was.
    pub(super) hidden_with: Vec<Option<usize>>,
    /// What was said last on the path in use: to go there changes nothing.
    pub(super) here: Option<usize>,
    branches: Vec<TreeBranch>,
}

/// What follows an entry, itself among it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TreeBranch {
    pub(super) entries: u32,
    /// When something happened there last.
    pub(super) newest: UnixMs,
    /// The newest answer there.
    pub(super) answer: Option<u32>,
}

impl TreeModel {
    /// Reads the shape from the log's index, and the few lines that label or hide something.
    pub(crate) fn of(reader: &Reader) -> Self {
        let tree = reader.tree();
        // The last entry of what was read: the log may have grown since.
        let leaf = tree.nodes().last().map(|node| node.id.clone());
        let marks = Annotations::of(reader, &tree);
        let hidden_with = marks.hidden_with(&tree, leaf.as_ref());
        let last = tree.nodes().len().checked_sub(1);
        let here =
            std::iter::successors(last, |at| tree.nodes()[*at].parent).find(|at| tree.nodes()[*at].is_said());
        let branches = branches(tree.nodes());
        Self { session: reader.id().clone(), tree, marks, hidden_with, here, branches }
    }

    /// How many entries there are.
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

    /// The entry at or above `at` for which `wanted` says yes.
    pub(super) fn nearest(&self, at: usize, wanted: impl Fn(usize) -> bool) -> Option<usize> {
        std::iter::successors(Some(at), |at| self.node(*at).parent).find(|at| wanted(*at))
    }

    /// For each of these, the entries beneath it that `counts` takes; one beneath another of them counts for the upper one.
    pub(super) fn kept_back(
        &self,
        these: &HashSet<usize>,
        counts: impl Fn(usize) -> bool,
    ) -> HashMap<usize, usize> {
        let mut kept_back = HashMap::new();
        let mut under: Vec<Option<usize>> = vec![None; if these.is_empty() { 0 } else { self.len() }];
        for at in 0..under.len() {
            let parent = self.node(at).parent;
            under[at] =
                parent.and_then(|parent| under[parent].or_else(|| these.contains(&parent).then_some(parent)));
            if let Some(upper) = under[at].filter(|_| counts(at)) {
                *kept_back.entry(upper).or_default() += 1;
            }
        }
        kept_back
    }

    /// For each entry whether it follows one of these.
    pub(super) fn beneath(&self, these: impl Iterator<Item = usize>) -> Vec<bool> {
        let (mut begins, mut beneath) = (vec![false; self.len()], vec![false; self.len()]);
        these.filter(|at| *at < self.len()).for_each(|at| begins[at] = true);
        for at in 0..self.len() {
            beneath[at] = self.node(at).parent.is_some_and(|parent| beneath[parent] || begins[parent]);
        }
        beneath
    }
}

/// For each entry what follows it: one pass from the end, because parents stand before their children.
fn branches(nodes: &[TreeNode]) -> Vec<TreeBranch> {
    let of = |(at, node): (usize, &TreeNode)| TreeBranch {
        entries: 1,
        newest: node.timestamp,
        answer: u32::try_from(at).ok().filter(|_| node.role == Some(LineRole::Assistant)),
    };
    let mut branches: Vec<TreeBranch> = nodes.iter().enumerate().map(of).collect();
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
    fn a_branch_is_as_large_and_as_new_as_what_follows() {
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
    fn the_filters_come_round_and_each_takes_its_own() {
        let all = [TreeFilter::NoTools, TreeFilter::User, TreeFilter::Labelled, TreeFilter::All];
        assert_eq!(
            all.map(TreeFilter::next),
            [TreeFilter::User, TreeFilter::Labelled, TreeFilter::All, TreeFilter::NoTools]
        );
        let result = node(0, None, LineRole::ToolResult);
        assert_eq!(all.map(|filter| filter.takes(&result, None)), [false, false, false, true]);
        let prompt = node(0, None, LineRole::User);
        assert_eq!(all.map(|filter| filter.takes(&prompt, Some("a"))), [true; 4]);
    }
}
