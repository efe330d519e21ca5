//! What later entries say of earlier ones: the labels they bear, and which branches are hidden.

use std::collections::{HashMap, HashSet};

use tiller_core::id::EntryId;

use super::entry::{EntryBody, TillerEntry};
use super::reader::Reader;
use super::tree::Tree;

/// Labels and hidden branches, by the positions of the entries they are about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    labels: HashMap<usize, String>,
    hidden: HashSet<usize>,
}

impl Annotations {
    /// Reads the entries that may say something of others: labels, and facts of tiller's own.
    #[must_use]
    pub fn of(reader: &Reader, tree: &Tree) -> Self {
        let mut marks = Self::default();
        let told: Vec<(usize, EntryBody)> = reader
            .marking(tree)
            .into_iter()
            .filter_map(|position| Some((position, reader.body_at(tree, position)?)))
            .filter(|(_, body)| target(body).is_some())
            .collect();
        let wanted: HashSet<EntryId> = told.iter().filter_map(|(_, body)| target(body)).collect();
        if wanted.is_empty() {
            return marks;
        }
        let mut told = told.into_iter().peekable();
        let mut by_id: HashMap<&EntryId, usize> = HashMap::new();
        for (position, node) in tree.nodes().iter().enumerate() {
            if let Some((_, body)) = told.next_if(|(at, _)| *at == position) {
                marks.take(&body, |id| by_id.get(id).copied());
            }
            if wanted.contains(&node.id) {
                by_id.insert(&node.id, position);
            }
        }
        marks
    }

    fn take(&mut self, body: &EntryBody, position: impl Fn(&EntryId) -> Option<usize>) {
        if let EntryBody::Label { target_id, label } = body {
            if let Some(target) = position(target_id) {
                match label.as_ref().filter(|label| !label.is_empty()) {
                    Some(label) => drop(self.labels.insert(target, label.clone())),
                    None => drop(self.labels.remove(&target)),
                }
            }
        } else if let Some(TillerEntry::Hide { target_id, hidden }) = body.as_own()
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

    /// Whether an entry of a log has a label.
    pub fn has_label(reader: &Reader, id: &EntryId) -> bool {
        let tree = reader.tree();
        let position = tree.nodes().iter().position(|node| node.id == *id);
        position.is_some_and(|position| Self::of(reader, &tree).label(position).is_some())
    }

    /// Whether a branch was hidden at this very entry.
    #[must_use]
    pub fn is_hidden(&self, position: usize) -> bool {
        self.hidden.contains(&position)
    }

    /// For every entry that is out of the drawn tree the position of the one with which it was hidden: itself or one above
    /// it, of several the topmost. The path to the leaf is always in the tree, for another program may have gone on there.
    #[must_use]
    pub fn hidden_with(&self, tree: &Tree, leaf: Option<&EntryId>) -> Vec<Option<usize>> {
        let mut with: Vec<Option<usize>> = Vec::with_capacity(tree.nodes().len());
        for (position, node) in tree.nodes().iter().enumerate() {
            let above = node.parent.and_then(|parent| with[parent]);
            with.push(above.or_else(|| self.is_hidden(position).then_some(position)));
        }
        let on_path = tree.path_marks(leaf);
        with.iter().zip(on_path).map(|(with, on_path)| with.filter(|_| !on_path)).collect()
    }
}

/// The entry that another one says something of.
fn target(body: &EntryBody) -> Option<EntryId> {
    match body {
        EntryBody::Label { target_id, .. } => Some(target_id.clone()),
        body => match body.as_own()? {
            TillerEntry::Hide { target_id, .. } => Some(target_id),
            _ => None,
        },
    }
}
