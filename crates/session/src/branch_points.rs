//! Where on a path other branches go on: how many, and between which entries.
//!
//! Told by the index alone, but for the few entries that hide others. A branch is what the drawn tree has a row for: something that was
//! said; a name, a label or a move that nothing follows is none.

use std::collections::HashMap;

use tiller_core::id::EntryId;

use super::annotations::Annotations;
use super::index::EntryKind;
use super::line_scan::LineRole;
use super::reader::Reader;
use super::tree::{Tree, TreeNode};

/// The branch points of a path, with the number of branches other than it; those that are hidden don't count, but a point all of whose
/// other branches are is still one, with none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchPoints {
    before: HashMap<EntryId, usize>,
    after: HashMap<EntryId, usize>,
}

/// An entry that begins another branch.
struct Other {
    begins: usize,
    /// What was said last on the path before it leaves that; `None` where it leaves nothing.
    leaves: Option<usize>,
}

impl BranchPoints {
    /// Those of the path to `leaf`; none when there is no such entry.
    #[must_use]
    pub fn of(reader: &Reader, leaf: &EntryId) -> Self {
        let tree = reader.tree();
        let others = others(&tree, leaf);
        if others.is_empty() {
            return Self::default();
        }
        let hidden = Annotations::of(reader, &tree).hidden_with(&tree, Some(leaf));
        Self::count(&tree, &tree.path(leaf), others, |at| hidden[at].is_some())
    }

    fn count(tree: &Tree, path: &[usize], others: Vec<Other>, is_hidden: impl Fn(usize) -> bool) -> Self {
        let said: Vec<usize> = path.iter().copied().filter(|at| has_row(&tree.nodes()[*at])).collect();
        let before = std::iter::once(None).chain(said.iter().copied().map(Some));
        let next: HashMap<Option<usize>, usize> = before.zip(said.iter().copied()).collect();
        let mut points = Self::default();
        let Some(first) = path.first() else { return points };
        for Other { begins, leaves } in others {
            let next = next.get(&leaves).map(|at| &tree.nodes()[*at]);
            let summary = next.filter(|next| next.kind == EntryKind::BranchSummary);
            let count = match (summary, leaves) {
                (Some(summary), _) => points.before.entry(summary.id.clone()),
                (None, Some(above)) => points.after.entry(tree.nodes()[above].id.clone()),
                (None, None) => points.before.entry(tree.nodes()[*first].id.clone()),
            };
            *count.or_default() += usize::from(!is_hidden(begins));
        }
        points
    }

    /// How many other branches go on from what stands before an entry, if that is a point: asked of the first entry of the path, and of
    /// the summary of a branch that was left.
    #[must_use]
    pub fn before(&self, entry: &EntryId) -> Option<usize> {
        self.before.get(entry).copied()
    }

    /// How many other branches go on from an entry, if it is a point and no summary follows it.
    #[must_use]
    pub fn after(&self, entry: &EntryId) -> Option<usize> {
        self.after.get(entry).copied()
    }
}

/// What the tree draws, where it draws no results of tools.
fn has_row(node: &TreeNode) -> bool {
    node.is_said() && node.role != Some(LineRole::ToolResult)
}

fn others(tree: &Tree, leaf: &EntryId) -> Vec<Other> {
    let on_path = tree.path_marks(Some(leaf));
    // For each entry the nearest at or above it that has a row; parents come first.
    let mut nearest: Vec<Option<usize>> = Vec::with_capacity(tree.nodes().len());
    let mut others = Vec::new();
    for (at, node) in tree.nodes().iter().enumerate() {
        let above = node.parent.and_then(|parent| nearest[parent]);
        let is_drawn = has_row(node);
        if is_drawn && !on_path[at] && above.is_none_or(|above| on_path[above]) {
            others.push(Other { begins: at, leaves: above });
        }
        nearest.push(if is_drawn { Some(at) } else { above });
    }
    others
}

#[cfg(test)]
mod tests {
    use tiller_core::unit::UnixMs;

    use super::*;

    /// Entries that follow others: said by the user or, where the kind is another one, noted.
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

    /// Each point of the path to the last entry: `>n0 2` where two branches go on after n0, `<n0 2` before it.
    fn points(tree: &Tree, hidden: &[usize]) -> Vec<String> {
        let leaf = tree.nodes().last().map(|node| node.id.clone()).unwrap();
        let points =
            BranchPoints::count(tree, &tree.path(&leaf), others(tree, &leaf), |at| hidden.contains(&at));
        let before = points.before.iter().map(|(entry, count)| format!("<{entry} {count}"));
        let after = points.after.iter().map(|(entry, count)| format!(">{entry} {count}"));
        let mut points: Vec<String> = before.chain(after).collect();
        points.sort();
        points
    }

    use EntryKind::{BranchSummary, Custom, Label, Message};

    #[test]
    fn a_point_is_where_others_go_on_from_whether_something_follows_on_the_path_or_not() {
        let mut entries = vec![(None, Message), (Some(0), Message), (Some(1), Message), (Some(0), Custom)];
        assert_eq!(points(&tree(&entries), &[]), [">n0 1"], "one has gone back there");
        entries.extend([(Some(3), Message), (Some(0), Custom), (Some(5), Message)]);
        assert_eq!(points(&tree(&entries), &[]), [">n0 2"], "and went on from there, and again");
    }

    #[test]
    fn what_is_only_noted_is_no_branch_and_branches_behind_notes_are_together() {
        let noted = [(None, Message), (Some(0), Label), (Some(1), Custom), (Some(0), Message)];
        assert_eq!(points(&tree(&noted), &[]), Vec::<String>::new());
        let behind = [(None, Message), (Some(0), Custom), (Some(1), Message), (Some(0), Message)];
        let twice = behind.into_iter().chain([(Some(1), Message)]).collect::<Vec<_>>();
        assert_eq!(points(&tree(&twice), &[]), [">n0 2"]);
    }

    #[test]
    fn before_the_first_message_the_path_begins_with_its_point() {
        let entries = [(None, Custom), (Some(0), Message), (Some(0), Custom)];
        assert_eq!(points(&tree(&entries), &[]), ["<n0 1"]);
        let entries = [(None, Message), (None, Custom), (Some(1), Message)];
        assert_eq!(points(&tree(&entries), &[]), ["<n1 1"]);
    }

    #[test]
    fn where_a_summary_stands_the_point_is_at_the_summary() {
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
    fn hidden_branches_do_not_count_but_keep_their_point() {
        let entries = [(None, Message), (Some(0), Message), (Some(0), Message), (Some(0), Message)];
        assert_eq!(points(&tree(&entries), &[1]), [">n0 1"]);
        assert_eq!(points(&tree(&entries), &[1, 2]), [">n0 0"]);
    }
}
