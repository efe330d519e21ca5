//! Annotations that entries make to earlier ones: labels and hidden branches.

use std::collections::{HashMap, HashSet};

use tiller_core::id::EntryId;

use super::entry::{EntryBody, TillerEntry};
use super::reader::Reader;
use super::tree::Tree;

/// Labels and hidden branches, by the positions of their target entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    labels: HashMap<usize, String>,
    hidden: HashSet<usize>,
}

impl Annotations {
    /// Reads all labels and hidden branches of a log.
    #[must_use]
    pub fn read(reader: &Reader, tree: &Tree) -> Self {
        let mut annotations = Self::default();
        let bodies: Vec<(usize, EntryBody)> = reader
            .annotation_positions(tree)
            .into_iter()
            .filter_map(|position| Some((position, reader.body_at(tree, position)?)))
            .filter(|(_, body)| target(body).is_some())
            .collect();
        let targets: HashSet<EntryId> = bodies.iter().filter_map(|(_, body)| target(body)).collect();
        if targets.is_empty() {
            return annotations;
        }
        let mut bodies = bodies.into_iter().peekable();
        let mut by_id: HashMap<&EntryId, usize> = HashMap::new();
        for (position, node) in tree.nodes().iter().enumerate() {
            if let Some((_, body)) = bodies.next_if(|(at, _)| *at == position) {
                annotations.apply(&body, |id| by_id.get(id).copied());
            }
            if targets.contains(&node.id) {
                by_id.insert(&node.id, position);
            }
        }
        annotations
    }

    fn apply(&mut self, body: &EntryBody, position: impl Fn(&EntryId) -> Option<usize>) {
        if let EntryBody::Label { target_id, label } = body {
            if let Some(target) = position(target_id) {
                match label.as_ref().filter(|label| !label.is_empty()) {
                    Some(label) => drop(self.labels.insert(target, label.clone())),
                    None => drop(self.labels.remove(&target)),
                }
            }
        } else if let Some(TillerEntry::Hide { target_id, hidden }) = body.as_tiller()
            && let Some(target) = position(&target_id)
        {
            if hidden {
                self.hidden.insert(target)
            } else {
                self.hidden.remove(&target)
            };
        }
    }

    /// The label of the entry at a position.
    #[must_use]
    pub fn label(&self, position: usize) -> Option<&str> {
        self.labels.get(&position).map(String::as_str)
    }

    /// Returns true if an entry of a log has a label.
    pub fn has_label(reader: &Reader, id: &EntryId) -> bool {
        let tree = reader.tree();
        let position = tree.nodes().iter().position(|node| node.id == *id);
        position.is_some_and(|position| Self::read(reader, &tree).label(position).is_some())
    }

    /// Returns true if this entry itself was hidden, not an ancestor.
    #[must_use]
    pub fn is_hidden(&self, position: usize) -> bool {
        self.hidden.contains(&position)
    }

    /// Returns, for each hidden entry, the position of the entry that hides it: itself or its topmost hidden
    /// ancestor. The path to the leaf is never hidden, because another program may have continued there.
    #[must_use]
    pub fn hiding_ancestors(&self, tree: &Tree, leaf: Option<&EntryId>) -> Vec<Option<usize>> {
        let mut hiding_ancestors: Vec<Option<usize>> = Vec::with_capacity(tree.nodes().len());
        for (position, node) in tree.nodes().iter().enumerate() {
            let parent_state = node.parent.and_then(|parent| hiding_ancestors[parent]);
            hiding_ancestors.push(parent_state.or_else(|| self.is_hidden(position).then_some(position)));
        }
        let on_path = tree.path_marks(leaf);
        hiding_ancestors
            .iter()
            .zip(on_path)
            .map(|(hiding_ancestors, on_path)| hiding_ancestors.filter(|_| !on_path))
            .collect()
    }
}

/// Returns the target of an entry that labels or hides another.
fn target(body: &EntryBody) -> Option<EntryId> {
    match body {
        EntryBody::Label { target_id, .. } => Some(target_id.clone()),
        body => match body.as_tiller()? {
            TillerEntry::Hide { target_id, .. } => Some(target_id),
            _ => None,
        },
    }
}
