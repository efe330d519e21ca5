//! Partial reads of a log: the context of a leaf, usage, and tiller's own entries.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;
use tiller_core::id::{EntryId, QueueId};
use tiller_core::message::{Message, Usage};
use tiller_core::unit::Tokens;

use super::Reader;
use crate::context::{self, Projection, UnloadedContext};
use crate::entry::{Entry, EntryBody, QueueChange, TillerEntry};
use crate::entry_kind::EntryKind;
use crate::error::SessionError;
use crate::index::{Finding, Index};
use crate::line_scan::LineRole;

/// The head of an entry on a path. Paths are walked rather than collected: few entries of a long one matter.
#[derive(Clone, Copy)]
struct PathStep {
    position: usize,
    kind: EntryKind,
    role: Option<LineRole>,
}

impl PathStep {
    fn is_model(&self) -> bool {
        self.kind == EntryKind::ModelChange || self.role == Some(LineRole::Assistant)
    }
}

/// Loaded entries of a path by position, and findings for those that could not be read.
#[derive(Default)]
struct LoadedEntries {
    entries: BTreeMap<usize, Entry>,
    findings: Vec<Finding>,
}

impl Reader {
    /// Usage of all entries of the log, on every branch.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.shared.index().usage().clone()
    }

    /// Returns [`context::project`] of the path to `leaf`. Reads only the necessary entries: the newest
    /// compaction and the entries after its first kept one; of earlier entries, edits and the last model and
    /// thinking level. Damaged entries are returned as findings.
    ///
    /// # Errors
    /// If there is no entry `leaf`, or the file can't be read.
    pub fn projection(&self, leaf: &EntryId) -> Result<(Projection, Vec<Finding>), SessionError> {
        self.newest_projection(leaf, Tokens(u64::MAX))
    }

    /// Like [`Reader::projection`], with only the newest messages, up to the estimated size `size`; the
    /// others aren't read, but are summarized in [`Projection::unloaded`].
    ///
    /// # Errors
    /// If there is no entry `leaf`, or the file can't be read.
    pub fn newest_projection(
        &self,
        leaf: &EntryId,
        size: Tokens,
    ) -> Result<(Projection, Vec<Finding>), SessionError> {
        let leaf = self.position(leaf)?;
        let mut loaded = LoadedEntries::default();
        let first = self.load_compaction(leaf, &mut loaded)?;
        for position in self.positions_on_path(leaf, |step| step.kind == EntryKind::ContextEdit) {
            self.load_entry(position, &mut loaded)?;
        }
        let (first_position, unloaded) = self.load_newest(leaf, first, size, &mut loaded)?;
        let before = self.find_back(leaf, |step| step.position < first_position);
        self.load_last(before, PathStep::is_model, context::names_model, &mut loaded)?;
        let is_level = |step: &PathStep| step.kind == EntryKind::ThinkingLevelChange;
        self.load_last(before, is_level, |_| true, &mut loaded)?;
        replace_lost_first_kept(first_position, &mut loaded.entries);
        let first = unloaded.map(|_| loaded.entries.range(..first_position).count());
        let entries: Vec<Entry> = loaded.entries.into_values().collect();
        let mut projection = context::project_from(&entries, first);
        projection.unloaded = unloaded;
        // Entries were read from the end; restore file order.
        loaded.findings.sort_by_key(|finding| finding.byte);
        Ok((projection, loaded.findings))
    }

    /// Loads entries from `leaf` back to the position `first`, until their messages reach `size`. Returns the
    /// position of the oldest loaded entry, and a summary of the others.
    fn load_newest(
        &self,
        leaf: usize,
        first: usize,
        size: Tokens,
        loaded: &mut LoadedEntries,
    ) -> Result<(usize, Option<UnloadedContext>), SessionError> {
        let removed = removed_by_edits(loaded);
        let mut rest = self.positions_on_path(leaf, |step| step.position >= first);
        let (mut first_position, mut sum) = (leaf + 1, Tokens(0));
        while sum < size
            && let Some(position) = rest.pop()
        {
            self.load_entry(position, loaded)?;
            let entry = loaded.entries.get(&position).filter(|entry| !removed.contains(&entry.id));
            sum += entry.map_or(Tokens(0), context::estimate_entry);
            first_position = position;
        }
        let mut unloaded = UnloadedContext::default();
        for &position in &rest {
            let index = self.shared.index();
            let is_message = index.entries().kind_and_role(position).0.makes_message()
                && index.entries().id(position).is_none_or(|id| !removed.contains(&id));
            if let Some(entry) = index.entries().at(position).filter(|_| is_message) {
                unloaded.add(entry.length);
            }
        }
        if unloaded.messages > 0 {
            return Ok((first_position, Some(unloaded)));
        }
        for position in rest {
            self.load_entry(position, loaded)?;
        }
        Ok((first, None))
    }

    /// The first user message on the path to `leaf` that wasn't removed by an edit.
    ///
    /// # Errors
    /// If there is no entry `leaf`, or the file can't be read.
    pub fn first_user_message(&self, leaf: &EntryId) -> Result<Option<Arc<Message>>, SessionError> {
        let leaf = self.position(leaf)?;
        let (edits, _) =
            self.entries_at(self.positions_on_path(leaf, |step| step.kind == EntryKind::ContextEdit))?;
        for position in self.positions_on_path(leaf, |step| step.role == Some(LineRole::User)) {
            let Ok(message) = self.entry_or_finding(position)? else { continue };
            let edited: Vec<Entry> = std::iter::once(message).chain(edits.iter().cloned()).collect();
            if let Some(projected) = context::project(&edited).messages.pop() {
                return Ok(Some(projected.message));
            }
        }
        Ok(None)
    }

    /// The details of the branch summaries on the path to `leaf`, by entry.
    ///
    /// # Errors
    /// If there is no entry `leaf`, or the file can't be read.
    pub fn branch_details(&self, leaf: &EntryId) -> Result<HashMap<EntryId, Value>, SessionError> {
        let leaf = self.position(leaf)?;
        let (entries, _) =
            self.entries_at(self.positions_on_path(leaf, |step| step.kind == EntryKind::BranchSummary))?;
        let details = entries.into_iter().filter_map(|entry| match entry.body {
            EntryBody::BranchSummary { details, .. } => Some((entry.id, details?)),
            _ => None,
        });
        Ok(details.collect())
    }

    /// The part of the context at `leaf` that is abandoned by moving to `to`, or to before the first entry:
    /// the messages that aren't on the path to `to`. Damaged entries are omitted.
    ///
    /// # Errors
    /// If there is no such entry, or the file can't be read.
    pub fn abandoned_by(&self, leaf: &EntryId, to: Option<&EntryId>) -> Result<Projection, SessionError> {
        let common_path = to.map(|to| self.path_to(to)).transpose()?.unwrap_or_default();
        let (projection, _) = self.projection(leaf)?;
        Ok(projection.without(&common_path.iter().collect()))
    }

    /// tiller's own entries that are looked up later, in file order: queue changes and the messages that
    /// delivered queued ones, started `!` commands and their records, hidden branches, approvals. Damaged
    /// entries are returned as findings.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn tiller_entries(&self) -> Result<(Vec<Entry>, Vec<Finding>), SessionError> {
        let tiller_positions: Vec<usize> =
            self.shared.index().tiller_entries().iter().map(|&at| at as usize).collect();
        let (entries, findings) = self.entries_at(tiller_positions.iter().copied())?;
        let mut roles = Vec::new();
        if !queued_ids(&entries).is_empty() {
            // A program that copied the log may have moved the queue id within the line.
            roles.push(LineRole::User);
        }
        if entries.iter().any(|entry| matches!(entry.body.as_tiller(), Some(TillerEntry::Bash { .. }))) {
            roles.push(LineRole::BashExecution);
        }
        if roles.is_empty() {
            return Ok((entries, findings));
        }
        let first = tiller_positions.first().copied().unwrap_or_default();
        let message: Vec<usize> = {
            let index = self.shared.index();
            let message = index.entries().iter().enumerate().skip(first);
            message
                .filter(|(_, entry)| entry.role.is_some_and(|role| roles.contains(&role)))
                .map(|(at, _)| at)
                .collect()
        };
        let positions: BTreeSet<usize> = tiller_positions.into_iter().chain(message).collect();
        self.entries_at(positions)
    }

    /// Returns the entries of [`Reader::tiller_entries`] on the path to `leaf`.
    pub(crate) fn tiller_entries_to(&self, leaf: &EntryId) -> Result<Vec<Entry>, SessionError> {
        let path: BTreeSet<EntryId> = self.path_to(leaf)?.into_iter().collect();
        Ok(self.tiller_entries()?.0.into_iter().filter(|entry| path.contains(&entry.id)).collect())
    }

    /// Positions of the matching entries on the path to `leaf`, oldest first.
    fn positions_on_path(&self, leaf: usize, predicate: impl Fn(&PathStep) -> bool) -> Vec<usize> {
        let index = self.shared.index();
        let mut positions: Vec<usize> =
            steps_back(&index, leaf).filter(predicate).map(|step| step.position).collect();
        positions.reverse();
        positions
    }

    /// Returns the nearest matching entry at or above a position.
    fn find_back(&self, position: usize, predicate: impl Fn(&PathStep) -> bool) -> Option<usize> {
        steps_back(&self.shared.index(), position).find(predicate).map(|step| step.position)
    }

    fn parent_position(&self, position: usize) -> Option<usize> {
        self.shared.index().entries().parent(position)
    }

    /// Loads the newest readable compaction; returns the position of the first entry that it keeps, or else
    /// that of the first one after it.
    fn load_compaction(&self, leaf: usize, loaded: &mut LoadedEntries) -> Result<usize, SessionError> {
        let mut next = Some(leaf);
        let is_compaction = |step: &PathStep| step.kind == EntryKind::Compaction;
        while let Some(at) = next.and_then(|next| self.find_back(next, is_compaction)) {
            next = self.parent_position(at);
            self.load_entry(at, loaded)?;
            let Some(entry) = loaded.entries.get(&at) else { continue };
            let EntryBody::Compaction(compaction) = &entry.body else { continue };
            let index = self.shared.index();
            let is_first_kept = index.matches_id(compaction.first_kept_entry_id.as_str());
            let first_kept =
                next.and_then(|next_entry| index.ancestry(next_entry).find(|&at| is_first_kept(at)));
            let behind = || index.ancestry(leaf).take_while(|&behind| behind > at).last();
            return Ok(first_kept.or_else(behind).unwrap_or(at + 1));
        }
        Ok(0)
    }

    /// Loads the last matching entry at or above a position whose body is accepted.
    fn load_last(
        &self,
        from: Option<usize>,
        predicate: impl Fn(&PathStep) -> bool,
        accepts: impl Fn(&EntryBody) -> bool,
        loaded: &mut LoadedEntries,
    ) -> Result<(), SessionError> {
        let mut next = from;
        while let Some(at) = next.and_then(|next| self.find_back(next, &predicate)) {
            self.load_entry(at, loaded)?;
            match loaded.entries.get(&at) {
                Some(entry) if accepts(&entry.body) => return Ok(()),
                Some(_) => drop(loaded.entries.remove(&at)),
                None => {}
            }
            next = self.parent_position(at);
        }
        Ok(())
    }

    fn load_entry(&self, position: usize, loaded: &mut LoadedEntries) -> Result<(), SessionError> {
        if loaded.entries.contains_key(&position) {
            return Ok(());
        }
        match self.entry_or_finding(position)? {
            Ok(entry) => drop(loaded.entries.insert(position, entry)),
            Err(finding) if loaded.findings.contains(&finding) => {}
            Err(finding) => loaded.findings.push(finding),
        }
        Ok(())
    }
}

/// Ids of the entries whose last edit removes them from the context.
fn removed_by_edits(loaded: &LoadedEntries) -> HashSet<EntryId> {
    let mut removed = HashSet::new();
    for entry in loaded.entries.values() {
        if let EntryBody::ContextEdit { target_id, replacement } = &entry.body {
            match replacement {
                None => _ = removed.insert(target_id.clone()),
                Some(_) => _ = removed.remove(target_id),
            }
        }
    }
    removed
}

/// Walks from a position to the root.
fn steps_back(index: &Index, from: usize) -> impl Iterator<Item = PathStep> {
    index.ancestry(from).map(|position| {
        let (kind, role) = index.entries().kind_and_role(position);
        PathStep { position, kind, role }
    })
}

/// If the first kept entry is damaged, sets the next one in its place, so that the entries after it are kept.
fn replace_lost_first_kept(from: usize, entries: &mut BTreeMap<usize, Entry>) {
    let first = entries.range(from..).next().map(|(at, entry)| (*at, entry.id.clone()));
    let compaction = entries.values_mut().rev().find_map(|entry| match &mut entry.body {
        EntryBody::Compaction(compaction) => Some(compaction),
        _ => None,
    });
    if let (Some((at, id)), Some(compaction)) = (first, compaction)
        && at > from
        && compaction.first_kept_entry_id != id
    {
        compaction.first_kept_entry_id = id;
    }
}

/// Returns the ids of messages that were queued and neither removed nor delivered, in order.
pub(crate) fn queued_ids(entries: &[Entry]) -> Vec<QueueId> {
    let mut pending = Vec::new();
    for entry in entries {
        let removed = match (&entry.body, entry.body.as_tiller()) {
            (EntryBody::Message(message), _) => message.tiller_queue_id.clone(),
            (_, Some(TillerEntry::Queue(QueueChange::Remove { queue_id }))) => Some(queue_id),
            (_, Some(TillerEntry::Queue(QueueChange::Add { queue_id, .. }))) => {
                pending.push(queue_id);
                None
            }
            _ => None,
        };
        pending.retain(|id| Some(id) != removed.as_ref());
    }
    pending
}
