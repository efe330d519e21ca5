//! What is derived from a log without reading all of it: the context of a leaf, the totals, tiller's own facts.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;

use super::Reader;
use crate::id::{EntryId, QueueId};
use crate::message::{Message, Usage};
use crate::session::context::{self, Projection};
use crate::session::entry::{Entry, EntryBody, OwnFact, QueueChange};
use crate::session::error::SessionError;
use crate::session::head::Role;
use crate::session::index::{EntryKind, Finding};

/// An entry on a path, as far as its head tells.
#[derive(Clone, Copy)]
struct Step {
    position: u32,
    kind: EntryKind,
    role: Option<Role>,
}

impl Step {
    fn at(self) -> usize {
        self.position as usize
    }
}

/// Entries of a path by their place on it, and what could not be read.
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
        let path = self.steps(leaf)?;
        let mut picked = Picked::default();
        let from = self.pick_compaction(&path, &mut picked)?;
        let is_model =
            |step: &Step| step.kind == EntryKind::ModelChange || step.role == Some(Role::Assistant);
        self.pick_last(&path[..from], is_model, context::names_model, &mut picked)?;
        let is_level = |step: &Step| step.kind == EntryKind::ThinkingLevelChange;
        self.pick_last(&path[..from], is_level, |_| true, &mut picked)?;
        for (place, step) in path.iter().enumerate() {
            if place >= from || step.kind == EntryKind::ContextEdit {
                self.pick(&path, place, &mut picked)?;
            }
        }
        keep_from(from, &mut picked.entries);
        let entries: Vec<Entry> = picked.entries.into_values().collect();
        Ok((context::project(&entries), picked.findings))
    }

    /// The first thing that the user said on the path to `leaf` and that no edit took out; `None` when there is no such thing.
    ///
    /// # Errors
    /// When there is no entry `leaf`, or the file can't be read.
    pub fn first_said(&self, leaf: &EntryId) -> Result<Option<Arc<Message>>, SessionError> {
        let path = self.steps(leaf)?;
        let edits: Vec<usize> =
            path.iter().filter(|step| step.kind == EntryKind::ContextEdit).map(|step| step.at()).collect();
        let (edits, _) = self.entries_at(edits)?;
        for step in path.iter().filter(|step| step.role == Some(Role::User)) {
            let Ok(said) = self.entry_or_finding(step.at())? else { continue };
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
        let path = self.steps(leaf)?;
        let summaries = path.iter().filter(|step| step.kind == EntryKind::BranchSummary);
        let (entries, _) = self.entries_at(summaries.map(|step| step.at()))?;
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
            roles.push(Role::User);
        }
        if facts.iter().any(|entry| matches!(entry.body.as_own(), Some(OwnFact::Bash { .. }))) {
            roles.push(Role::BashExecution);
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
    pub(in crate::session) fn own_facts_to(&self, leaf: &EntryId) -> Result<Vec<Entry>, SessionError> {
        let path: BTreeSet<EntryId> = self.path_to(leaf)?.into_iter().collect();
        Ok(self.own_facts()?.0.into_iter().filter(|fact| path.contains(&fact.id)).collect())
    }

    fn steps(&self, leaf: &EntryId) -> Result<Vec<Step>, SessionError> {
        let index = self.shared.index();
        let step = |at: usize| {
            let (kind, role) = index.entries().speaker(at);
            Step { position: u32::try_from(at).unwrap_or(u32::MAX), kind, role }
        };
        Ok(index.path_of(index.position_of(leaf)?, step))
    }

    /// Picks the newest compaction that can be read; answers with the place of the first entry that it keeps, or that
    /// follows it.
    fn pick_compaction(&self, path: &[Step], picked: &mut Picked) -> Result<usize, SessionError> {
        for place in (0..path.len()).rev().filter(|&place| path[place].kind == EntryKind::Compaction) {
            self.pick(path, place, picked)?;
            let Some(entry) = picked.entries.get(&place) else { continue };
            let EntryBody::Compaction(compaction) = &entry.body else { continue };
            let index = self.shared.index();
            let is_first_kept = index.bears(compaction.first_kept_entry_id.as_str());
            let kept = path[..place].iter().rposition(|step| is_first_kept(step.at()));
            return Ok(kept.unwrap_or(place + 1));
        }
        Ok(0)
    }

    /// Picks the last step of a kind whose entry, once read, has something to say.
    fn pick_last(
        &self,
        path: &[Step],
        wanted: impl Fn(&Step) -> bool,
        says: impl Fn(&EntryBody) -> bool,
        picked: &mut Picked,
    ) -> Result<(), SessionError> {
        for place in (0..path.len()).rev().filter(|&place| wanted(&path[place])) {
            self.pick(path, place, picked)?;
            match picked.entries.get(&place) {
                Some(entry) if says(&entry.body) => return Ok(()),
                Some(_) => drop(picked.entries.remove(&place)),
                None => {}
            }
        }
        Ok(())
    }

    fn pick(&self, path: &[Step], place: usize, picked: &mut Picked) -> Result<(), SessionError> {
        if picked.entries.contains_key(&place) {
            return Ok(());
        }
        match self.entry_or_finding(path[place].at())? {
            Ok(entry) => drop(picked.entries.insert(place, entry)),
            Err(finding) if picked.findings.contains(&finding) => {}
            Err(finding) => picked.findings.push(finding),
        }
        Ok(())
    }
}

/// Should the first kept entry be damaged, those after it are kept all the same.
fn keep_from(from: usize, entries: &mut BTreeMap<usize, Entry>) {
    let first = entries.range(from..).next().map(|(place, entry)| (*place, entry.id.clone()));
    let compaction = entries.values_mut().rev().find_map(|entry| match &mut entry.body {
        EntryBody::Compaction(compaction) => Some(compaction),
        _ => None,
    });
    if let (Some((place, id)), Some(compaction)) = (first, compaction)
        && place > from
        && compaction.first_kept_entry_id != id
    {
        compaction.first_kept_entry_id = id;
    }
}

/// Messages that were queued, and neither taken back nor delivered, in their order.
pub(in crate::session) fn waiting(facts: &[Entry]) -> Vec<QueueId> {
    let mut waiting = Vec::new();
    for fact in facts {
        let gone = match (&fact.body, fact.body.as_own()) {
            (EntryBody::Message(said), _) => said.tiller_queue_id.clone(),
            (_, Some(OwnFact::Queue(QueueChange::Remove { queue_id }))) => Some(queue_id),
            (_, Some(OwnFact::Queue(QueueChange::Add { queue_id, .. }))) => {
                waiting.push(queue_id);
                None
            }
            _ => None,
        };
        waiting.retain(|id| Some(id) != gone.as_ref());
    }
    waiting
}
