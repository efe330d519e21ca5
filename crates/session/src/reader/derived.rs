//! What is derived from a log without reading all of it: the context of a leaf, the totals, tiller's own facts.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;
use tiller_core::id::{EntryId, QueueId};
use tiller_core::message::{Message, Usage};
use tiller_core::unit::Tokens;

use super::Reader;
use crate::context::{self, Projection, UnloadedContext};
use crate::entry::{Entry, EntryBody, QueueChange, TillerEntry};
use crate::error::SessionError;
use crate::index::{EntryKind, Finding, Index};
use crate::line_scan::LineRole;

/// An entry on a path, as far as its head tells. Paths are walked and not listed: of a long one few entries count.
#[derive(Clone, Copy)]
struct Step {
    position: usize,
    kind: EntryKind,
    role: Option<LineRole>,
}

impl Step {
    fn is_model(&self) -> bool {
        self.kind == EntryKind::ModelChange || self.role == Some(LineRole::Assistant)
    }
}

/// Entries of a path by their positions, and what could not be read.
#[derive(Default)]
struct Picked {
    entries: BTreeMap<usize, Entry>,
    findings: Vec<Finding>,
}

impl Reader {
    /// What all entries of the log cost, on every branch.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.shared.index().usage().clone()
    }

    /// What the path to `leaf` says: [`context::project`] of it. Only what counts is read: the newest compaction and what it
    /// kept, and before that the last word on model and thinking level and the edits. Damaged entries are left out and named.
    ///
    /// # Errors
    /// When there is no entry `leaf`, or the file can't be read.
    pub fn projection(&self, leaf: &EntryId) -> Result<(Projection, Vec<Finding>), SessionError> {
        self.newest_projection(leaf, Tokens(u64::MAX))
    }

    /// The same, with only the newest messages that come to at least this size by estimate; the rest is
    /// [`Projection::unloaded`] and not read.
    ///
    /// # Errors
    /// When there is no entry `leaf`, or the file can't be read.
    pub fn newest_projection(
        &self,
        leaf: &EntryId,
        size: Tokens,
    ) -> Result<(Projection, Vec<Finding>), SessionError> {
        let leaf = self.position(leaf)?;
        let mut picked = Picked::default();
        let first = self.pick_compaction(leaf, &mut picked)?;
        for position in self.on_path(leaf, |step| step.kind == EntryKind::ContextEdit) {
            self.pick(position, &mut picked)?;
        }
        let (from, unloaded) = self.pick_newest(leaf, first, size, &mut picked)?;
        let before = self.back_from(leaf, |step| step.position < from);
        self.pick_last(before, Step::is_model, context::names_model, &mut picked)?;
        let is_level = |step: &Step| step.kind == EntryKind::ThinkingLevelChange;
        self.pick_last(before, is_level, |_| true, &mut picked)?;
        keep_from(from, &mut picked.entries);
        let first = unloaded.map(|_| picked.entries.range(..from).count());
        let entries: Vec<Entry> = picked.entries.into_values().collect();
        let mut projection = context::project_from(&entries, first);
        projection.unloaded = unloaded;
        // In the order of the file, though it was read from the end.
        picked.findings.sort_by_key(|finding| finding.byte);
        Ok((projection, picked.findings))
    }

    /// Picks entries from `leaf` back to the position `first`, until their messages come to `size`. Answers with the position
    /// of the oldest that was picked, and with what was not.
    fn pick_newest(
        &self,
        leaf: usize,
        first: usize,
        size: Tokens,
        picked: &mut Picked,
    ) -> Result<(usize, Option<UnloadedContext>), SessionError> {
        let removed = removed_by_edits(picked);
        let mut rest = self.on_path(leaf, |step| step.position >= first);
        let (mut from, mut sum) = (leaf + 1, Tokens(0));
        while sum < size
            && let Some(position) = rest.pop()
        {
            self.pick(position, picked)?;
            let entry = picked.entries.get(&position).filter(|entry| !removed.contains(&entry.id));
            sum += entry.map_or(Tokens(0), context::size_of);
            from = position;
        }
        let mut unloaded = UnloadedContext::default();
        for &position in &rest {
            let index = self.shared.index();
            let is_message = index.entries().speaker(position).0.makes_message()
                && index.entries().id(position).is_none_or(|id| !removed.contains(&id));
            if let Some(entry) = index.entries().at(position).filter(|_| is_message) {
                unloaded.add(entry.length);
            }
        }
        if unloaded.messages > 0 {
            return Ok((from, Some(unloaded)));
        }
        for position in rest {
            self.pick(position, picked)?;
        }
        Ok((first, None))
    }

    /// The first thing that the user said on the path to `leaf` and that no edit took out; `None` when there is no such thing.
    ///
    /// # Errors
    /// When there is no entry `leaf`, or the file can't be read.
    pub fn first_said(&self, leaf: &EntryId) -> Result<Option<Arc<Message>>, SessionError> {
        let leaf = self.position(leaf)?;
        let (edits, _) = self.entries_at(self.on_path(leaf, |step| step.kind == EntryKind::ContextEdit))?;
        for position in self.on_path(leaf, |step| step.role == Some(LineRole::User)) {
            let Ok(said) = self.entry_or_finding(position)? else { continue };
            let edited: Vec<Entry> = std::iter::once(said).chain(edits.iter().cloned()).collect();
            if let Some(shown) = context::project(&edited).messages.pop() {
                return Ok(Some(shown.message));
            }
        }
        Ok(None)
    }

    /// The details of the summaries of other branches on the path to `leaf`, by entry.
    ///
    /// # Errors
    /// When there is no entry `leaf`, or the file can't be read.
    pub fn branch_details(&self, leaf: &EntryId) -> Result<HashMap<EntryId, Value>, SessionError> {
        let leaf = self.position(leaf)?;
        let (entries, _) =
            self.entries_at(self.on_path(leaf, |step| step.kind == EntryKind::BranchSummary))?;
        let details = entries.into_iter().filter_map(|entry| match entry.body {
            EntryBody::BranchSummary { details, .. } => Some((entry.id, details?)),
            _ => None,
        });
        Ok(details.collect())
    }

    /// What is left behind by going from `leaf` to `to`, or to before the first entry: what the context at the one says that is
    /// not on the path to the other. Damaged entries are left out.
    ///
    /// # Errors
    /// When there is no such entry, or the file can't be read.
    pub fn left_behind(&self, leaf: &EntryId, to: Option<&EntryId>) -> Result<Projection, SessionError> {
        let stays = to.map(|to| self.path_to(to)).transpose()?.unwrap_or_default();
        let (projection, _) = self.projection(leaf)?;
        Ok(projection.beyond(&stays.iter().collect()))
    }

    /// Tiller's own facts that are looked for later, in the order of the file: changes of the queue and the messages that delivered from
    /// it, `!` commands that began and their records, hidden branches, approvals. Damaged ones are named.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn own_facts(&self) -> Result<(Vec<Entry>, Vec<Finding>), SessionError> {
        let own: Vec<usize> = self.shared.index().own().iter().map(|&at| at as usize).collect();
        let (facts, findings) = self.entries_at(own.iter().copied())?;
        let mut roles = Vec::new();
        if !waiting(&facts).is_empty() {
            // A program that copied the log may have put a delivery's mark elsewhere in its line.
            roles.push(LineRole::User);
        }
        if facts.iter().any(|entry| matches!(entry.body.as_own(), Some(TillerEntry::Bash { .. }))) {
            roles.push(LineRole::BashExecution);
        }
        if roles.is_empty() {
            return Ok((facts, findings));
        }
        let first = own.first().copied().unwrap_or_default();
        let said: Vec<usize> = {
            let index = self.shared.index();
            let said = index.entries().iter().enumerate().skip(first);
            said.filter(|(_, entry)| entry.role.is_some_and(|role| roles.contains(&role)))
                .map(|(at, _)| at)
                .collect()
        };
        let all: BTreeSet<usize> = own.into_iter().chain(said).collect();
        self.entries_at(all)
    }

    /// Those of [`Reader::own_facts`] that stand on the path to `leaf`.
    pub(crate) fn own_facts_to(&self, leaf: &EntryId) -> Result<Vec<Entry>, SessionError> {
        let path: BTreeSet<EntryId> = self.path_to(leaf)?.into_iter().collect();
        Ok(self.own_facts()?.0.into_iter().filter(|fact| path.contains(&fact.id)).collect())
    }

    /// Positions of the wanted entries on the path to `leaf`, oldest first.
    fn on_path(&self, leaf: usize, wanted: impl Fn(&Step) -> bool) -> Vec<usize> {
        let index = self.shared.index();
        let mut positions: Vec<usize> =
            steps_back(&index, leaf).filter(wanted).map(|step| step.position).collect();
        positions.reverse();
        positions
    }

    /// The nearest wanted entry at a position or above it.
    fn back_from(&self, position: usize, wanted: impl Fn(&Step) -> bool) -> Option<usize> {
        steps_back(&self.shared.index(), position).find(wanted).map(|step| step.position)
    }

    fn above(&self, position: usize) -> Option<usize> {
        self.shared.index().entries().parent(position)
    }

    /// Picks the newest compaction that can be read; answers with the position of the first entry that it keeps, or that
    /// follows it.
    fn pick_compaction(&self, leaf: usize, picked: &mut Picked) -> Result<usize, SessionError> {
        let mut next = Some(leaf);
        let is_compaction = |step: &Step| step.kind == EntryKind::Compaction;
        while let Some(at) = next.and_then(|next| self.back_from(next, is_compaction)) {
            next = self.above(at);
            self.pick(at, picked)?;
            let Some(entry) = picked.entries.get(&at) else { continue };
            let EntryBody::Compaction(compaction) = &entry.body else { continue };
            let index = self.shared.index();
            let is_first_kept = index.bears(compaction.first_kept_entry_id.as_str());
            let kept = next.and_then(|above| index.ancestry(above).find(|&at| is_first_kept(at)));
            let behind = || index.ancestry(leaf).take_while(|&behind| behind > at).last();
            return Ok(kept.or_else(behind).unwrap_or(at + 1));
        }
        Ok(0)
    }

    /// Picks the last wanted entry up to a position that, once read, has something to say.
    fn pick_last(
        &self,
        upto: Option<usize>,
        wanted: impl Fn(&Step) -> bool,
        says: impl Fn(&EntryBody) -> bool,
        picked: &mut Picked,
    ) -> Result<(), SessionError> {
        let mut next = upto;
        while let Some(at) = next.and_then(|next| self.back_from(next, &wanted)) {
            self.pick(at, picked)?;
            match picked.entries.get(&at) {
                Some(entry) if says(&entry.body) => return Ok(()),
                Some(_) => drop(picked.entries.remove(&at)),
                None => {}
            }
            next = self.above(at);
        }
        Ok(())
    }

    fn pick(&self, position: usize, picked: &mut Picked) -> Result<(), SessionError> {
        if picked.entries.contains_key(&position) {
            return Ok(());
        }
        match self.entry_or_finding(position)? {
            Ok(entry) => drop(picked.entries.insert(position, entry)),
            Err(finding) if picked.findings.contains(&finding) => {}
            Err(finding) => picked.findings.push(finding),
        }
        Ok(())
    }
}

/// Ids of the entries that the last edit of each took out of the context.
fn removed_by_edits(picked: &Picked) -> HashSet<EntryId> {
    let mut removed = HashSet::new();
    for entry in picked.entries.values() {
        if let EntryBody::ContextEdit { target_id, replacement } = &entry.body {
            match replacement {
                None => _ = removed.insert(target_id.clone()),
                Some(_) => _ = removed.remove(target_id),
            }
        }
    }
    removed
}

/// The entries at a position and above it.
fn steps_back(index: &Index, from: usize) -> impl Iterator<Item = Step> {
    index.ancestry(from).map(|position| {
        let (kind, role) = index.entries().speaker(position);
        Step { position, kind, role }
    })
}

/// Should the first kept entry be damaged, those after it are kept all the same.
fn keep_from(from: usize, entries: &mut BTreeMap<usize, Entry>) {
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

/// Messages that were queued, and neither taken back nor delivered, in their order.
pub(crate) fn waiting(facts: &[Entry]) -> Vec<QueueId> {
    let mut waiting = Vec::new();
    for fact in facts {
        let gone = match (&fact.body, fact.body.as_own()) {
            (EntryBody::Message(said), _) => said.tiller_queue_id.clone(),
            (_, Some(TillerEntry::Queue(QueueChange::Remove { queue_id }))) => Some(queue_id),
            (_, Some(TillerEntry::Queue(QueueChange::Add { queue_id, .. }))) => {
                waiting.push(queue_id);
                None
            }
            _ => None,
        };
        waiting.retain(|id| Some(id) != gone.as_ref());
    }
    waiting
}
