//! Branch points of a path: the entries where other branches start, and the number of these branches.
//!
//! Computed from the index alone, except for the few entries that hide others. A branch must have a row in
//! the tree view, which means a message: a name, a label or a move without messages isn't a branch.

use std::collections::HashMap;

use tiller_core::id::EntryId;

use super::annotations::Annotations;
use super::entry_kind::EntryKind;
use super::line_scan::LineRole;
use super::reader::Reader;
use super::tree::{Tree, TreeNode};

/// The branch points of a path, with the number of other branches at each. Hidden branches don't count, but a
/// point that has only hidden ones is kept, with the number 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchPoints {
    before: HashMap<EntryId, usize>,
    after: HashMap<EntryId, usize>,
}

/// A branch off the path.
struct OtherBranch {
    start: usize,
    /// The last row on the path before the branch; `None` if it starts at a root.
    departure: Option<usize>,
}

impl BranchPoints {
    /// Finds the branch points of the path to `leaf`; none if there is no such entry.
    #[must_use]
    pub fn read(reader: &Reader, leaf: &EntryId) -> Self {
        let tree = reader.tree();
        let branches = other_branches(&tree, leaf);
        if branches.is_empty() {
            return Self::default();
        }
        let hidden = Annotations::read(reader, &tree).hiding_ancestors(&tree, Some(leaf));
        Self::count(&tree, &tree.path(leaf), branches, |at| hidden[at].is_some())
    }

    fn count(
        tree: &Tree,
        path: &[usize],
        branches: Vec<OtherBranch>,
        is_hidden: impl Fn(usize) -> bool,
    ) -> Self {
        let rows: Vec<usize> = path.iter().copied().filter(|at| has_row(&tree.nodes()[*at])).collect();
        let before = std::iter::once(None).chain(rows.iter().copied().map(Some));
        let next: HashMap<Option<usize>, usize> = before.zip(rows.iter().copied()).collect();
        let mut points = Self::default();
        let Some(first) = path.first() else { return points };
        for OtherBranch { start, departure } in branches {
            let next = next.get(&departure).map(|at| &tree.nodes()[*at]);
            let summary = next.filter(|next| next.kind == EntryKind::BranchSummary);
            let count = match (summary, departure) {
                (Some(summary), _) => points.before.entry(summary.id.clone()),
                (None, Some(ancestor)) => points.after.entry(tree.nodes()[ancestor].id.clone()),
                (None, None) => points.before.entry(tree.nodes()[*first].id.clone()),
            };
            *count.or_default() += usize::from(!is_hidden(start));
        }
        points
    }

    /// Returns the number of other branches that start before an entry, if that is a branch point. Only the
    /// first entry of the path and branch summaries have such branches.
    #[must_use]
    pub fn before(&self, entry: &EntryId) -> Option<usize> {
        self.before.get(entry).copied()
    }

    /// Returns the number of other branches that start after an entry, if that is a branch point. Branches
    /// with a summary after the entry are counted before the summary instead.
    #[must_use]
    pub fn after(&self, entry: &EntryId) -> Option<usize> {
        self.after.get(entry).copied()
    }
}

/// Returns true for entries that have a row in the tree view while it hides tool results.
fn has_row(node: &TreeNode) -> bool {
    node.is_conversation() && node.role != Some(LineRole::ToolResult)
}

fn other_branches(tree: &Tree, leaf: &EntryId) -> Vec<OtherBranch> {
    let on_path = tree.path_marks(Some(leaf));
    // For each entry, the nearest entry with a row: itself or an ancestor; parents come first.
    let mut nearest: Vec<Option<usize>> = Vec::with_capacity(tree.nodes().len());
    let mut branches = Vec::new();
    for (at, node) in tree.nodes().iter().enumerate() {
        let ancestor = node.parent.and_then(|parent| nearest[parent]);
        let is_drawn = has_row(node);
        if is_drawn && !on_path[at] && ancestor.is_none_or(|ancestor| on_path[ancestor]) {
            branches.push(OtherBranch { start: at, departure: ancestor });
        }
        nearest.push(if is_drawn { Some(at) } else { ancestor });
    }
    branches
}

#[cfg(test)]
mod tests {
    use tiller_core::unit::UnixMs;

    use super::*;

    /// Creates a tree of entries with these parents and kinds; messages are the user's.
    fn tree(entries: &[(Option<usize>, EntryKind)]) -> Tree {
        let node = |(at, (parent, kind)): (usize, &(Option<usize>, EntryKind))| TreeNode {
            id: EntryId::new(format!("n{at}")),
            parent: *parent,
            kind: *kind,
            role: (*kind == EntryKind::Message).then_some(LineRole::User),
            timestamp: UnixMs(0),
        };
        Tree::new(entries.iter().enumerate().map(node).collect())
    }

    /// Formats the points of the path to the last entry: `>n0 2` for two branches after n0, `<n0 2` before
    /// it.
    fn points(tree: &Tree, hidden: &[usize]) -> Vec<String> {
        let leaf = tree.nodes().last().map(|node| node.id.clone()).unwrap();
        let points = BranchPoints::count(tree, &tree.path(&leaf), other_branches(tree, &leaf), |at| {
            hidden.contains(&at)
        });
        let before = points.before.iter().map(|(entry, count)| format!("<{entry} {count}"));
        let after = points.after.iter().map(|(entry, count)| format!(">{entry} {count}"));
        let mut points: Vec<String> = before.chain(after).collect();
        points.sort();
        points
    }

    use EntryKind::{BranchSummary, Custom, Label, Message};

    #[test]
    fn branch_points_count_branches_after_entry() {
        let mut entries = vec![(None, Message), (Some(0), Message), (Some(1), Message), (Some(0), Custom)];
        assert_eq!(points(&tree(&entries), &[]), [">n0 1"], "one has gone back there");
        entries.extend([(Some(3), Message), (Some(0), Custom), (Some(5), Message)]);
        assert_eq!(points(&tree(&entries), &[]), [">n0 2"], "and went on from there, and again");
    }

    #[test]
    fn branch_points_ignore_annotations() {
        let annotated = [(None, Message), (Some(0), Label), (Some(1), Custom), (Some(0), Message)];
        assert_eq!(points(&tree(&annotated), &[]), Vec::<String>::new());
        let behind = [(None, Message), (Some(0), Custom), (Some(1), Message), (Some(0), Message)];
        let two_children = behind.into_iter().chain([(Some(1), Message)]).collect::<Vec<_>>();
        assert_eq!(points(&tree(&two_children), &[]), [">n0 2"]);
    }

    #[test]
    fn branch_points_before_first_message_use_first_entry() {
        let entries = [(None, Custom), (Some(0), Message), (Some(0), Custom)];
        assert_eq!(points(&tree(&entries), &[]), ["<n0 1"]);
        let entries = [(None, Message), (None, Custom), (Some(1), Message)];
        assert_eq!(points(&tree(&entries), &[]), ["<n1 1"]);
    }

    #[test]
    fn branch_points_with_summary_are_at_summary() {
        let entries = [
            (None, Message),
            (Some(0), Message),
            (Some(0), BranchSummary),
            (Some(2), Message),
            (Some(2), Message),
        ];
        assert_eq!(points(&tree(&entries), &[]), ["<n2 1", ">n2 1"]);
    }

    #[test]
    fn branch_points_hidden_branches_count_zero() {
        let entries = [(None, Message), (Some(0), Message), (Some(0), Message), (Some(0), Message)];
        assert_eq!(points(&tree(&entries), &[1]), [">n0 1"]);
        assert_eq!(points(&tree(&entries), &[1, 2]), [">n0 0"]);
    }
}
