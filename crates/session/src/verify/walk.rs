//! The walk over the tree: pairs calls with results, and checks compactions and parents.

use std::collections::HashMap;

use tiller_core::id::CallId;

use super::checked_entry::{CheckedEntry, EntryRelation};
use super::findings::Findings;

/// For each entry, the times at which the walk entered it and left its subtree, from which ancestry follows.
pub(super) struct VisitTimes(Vec<(usize, usize)>);

impl VisitTimes {
    pub(super) fn is_descendant(&self, entry: usize, ancestor: usize) -> bool {
        let ((entered, _), (from, to)) = (self.0[entry], self.0[ancestor]);
        from <= entered && entered < to
    }
}

/// A call on the path from the root to the current entry.
struct OpenCall {
    /// Index in `TreeWalk::calls`.
    call: usize,
    /// Position of its first result on the path.
    result: Option<usize>,
}

/// A call in the file.
struct IssuedCall<'a> {
    answer: usize,
    id: &'a CallId,
    needs_result: bool,
    has_result: bool,
}

#[derive(Default)]
struct TreeWalk<'a> {
    /// Number of occurrences of each id on the path.
    on_path: Vec<usize>,
    open_calls: HashMap<&'a CallId, Vec<OpenCall>>,
    calls: Vec<IssuedCall<'a>>,
}

/// Walks over all entries and collects findings.
pub(super) fn walk(entries: &[CheckedEntry], findings: &mut Findings) -> VisitTimes {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); entries.len()];
    let mut stack: Vec<WalkStep> = Vec::new();
    for (at, entry) in entries.iter().enumerate().rev() {
        match entry.parent {
            Some(parent) => children[parent].push(at),
            None => stack.push(WalkStep::Enter(at)),
        }
    }
    let mut walk = TreeWalk { on_path: vec![0; entries.len()], ..TreeWalk::default() };
    let (mut visits, mut now) = (vec![(0, 0); entries.len()], 0);
    // A stack instead of recursion: a session of 100,000 entries may be one long branch.
    while let Some(step) = stack.pop() {
        match step {
            WalkStep::Enter(at) => {
                visits[at].0 = now;
                now += 1;
                walk.enter(at, &entries[at], entries, findings);
                stack.push(WalkStep::Leave(at));
                stack.extend(children[at].iter().map(|child| WalkStep::Enter(*child)));
            }
            WalkStep::Leave(at) => {
                visits[at].1 = now;
                walk.leave(at, &entries[at]);
            }
        }
    }
    walk.report_unanswered(entries, findings);
    VisitTimes(visits)
}

enum WalkStep {
    Enter(usize),
    Leave(usize),
}

impl<'a> TreeWalk<'a> {
    fn enter(
        &mut self,
        at: usize,
        entry: &'a CheckedEntry,
        entries: &[CheckedEntry],
        findings: &mut Findings,
    ) {
        self.on_path[entry.first_with_id] += 1;
        match &entry.relation {
            EntryRelation::None => {}
            EntryRelation::Calls { ids, needs_results } => {
                for id in ids {
                    self.open_calls
                        .entry(id)
                        .or_default()
                        .push(OpenCall { call: self.calls.len(), result: None });
                    self.calls.push(IssuedCall {
                        answer: at,
                        id,
                        needs_result: *needs_results,
                        has_result: false,
                    });
                }
            }
            EntryRelation::Result(id) => {
                match self.open_calls.get_mut(id).and_then(|open_calls| open_calls.last_mut()) {
                    None => findings.error(
                        entry.location,
                        format!("result of call {id}, which is not on its branch; it is not sent to models"),
                    ),
                    Some(OpenCall { result: Some(first), .. }) => {
                        let line = entries[*first].location.line;
                        findings.error(
                            entry.location,
                            format!(
                                "call {id} already has a result on line {line}; models get only the first"
                            ),
                        );
                    }
                    Some(open_calls) => {
                        open_calls.result = Some(at);
                        self.calls[open_calls.call].has_result = true;
                    }
                }
            }
            EntryRelation::Compaction(kept, id) => {
                if kept.is_none_or(|kept| self.on_path[kept] == 0) {
                    let what = format!(
                        "keeps the entries starting with {id}, which is not on its branch; no entries are kept"
                    );
                    findings.error(entry.location, what);
                }
            }
        }
    }

    fn leave(&mut self, at: usize, entry: &'a CheckedEntry) {
        self.on_path[entry.first_with_id] -= 1;
        match &entry.relation {
            EntryRelation::Calls { ids, .. } => {
                for id in ids {
                    self.open_calls.get_mut(id).and_then(Vec::pop);
                }
            }
            EntryRelation::Result(id) => {
                if let Some(open_calls) =
                    self.open_calls.get_mut(id).and_then(|open_calls| open_calls.last_mut())
                    && open_calls.result == Some(at)
                {
                    open_calls.result = None;
                }
            }
            EntryRelation::None | EntryRelation::Compaction(..) => {}
        }
    }

    fn report_unanswered(&self, entries: &[CheckedEntry], findings: &mut Findings) {
        for call in self.calls.iter().filter(|call| call.needs_result && !call.has_result) {
            let what = format!("call {} has no result; models are informed that it was interrupted", call.id);
            findings.note(entries[call.answer].location, what);
        }
    }
}
