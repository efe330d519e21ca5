//! One walk over the tree: calls and results, what compactions keep, and parents that come too late.

use std::collections::HashMap;

use tiller_core::id::CallId;

use super::{Check, Found, Known, Says};

/// When the walk came to an entry and when it left what lies beneath it: who lies beneath whom can be told from it.
pub(super) struct Times(Vec<(usize, usize)>);

impl Times {
    fn is_beneath(&self, entry: usize, above: usize) -> bool {
        let ((begun, _), (from, to)) = (self.0[entry], self.0[above]);
        from <= begun && begun < to
    }

    /// Tells of entries whose parent is not on an earlier line.
    pub(super) fn tell_orphans(self, check: &Check) -> Vec<(usize, String)> {
        let tell = |(position, parent): &(usize, tiller_core::id::EntryId)| {
            let what = match check.by_id.get(parent).map(|positions| positions.first) {
                None => format!("its parent {parent} is nowhere in the file; it is taken for a root"),
                Some(at) if at == *position => {
                    "it names itself as its parent; it is taken for a root".to_owned()
                }
                Some(at) => {
                    let line = check.entries[at].place.line;
                    let circle = if self.is_beneath(at, *position) { " and follows it in turn" } else { "" };
                    format!("its parent {parent} comes later, on line {line}{circle}; it is taken for a root")
                }
            };
            (*position, what)
        };
        check.orphans.iter().map(tell).collect()
    }
}

/// A call on the way from the root to where the walk is.
struct Open {
    /// Which of all calls.
    call: usize,
    /// The position of the first result on the way.
    result: Option<usize>,
}

/// A call of the whole file.
struct Made<'a> {
    by: usize,
    id: &'a CallId,
    wanted: bool,
    answered: bool,
}

#[derive(Default)]
struct Walk<'a> {
    /// How often each id stands on the way.
    on_path: Vec<usize>,
    open: HashMap<&'a CallId, Vec<Open>>,
    made: Vec<Made<'a>>,
}

/// Walks over all entries, and tells what it finds.
pub(super) fn walk(entries: &[Known], found: &mut Found) -> Times {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); entries.len()];
    let mut stack: Vec<Step> = Vec::new();
    for (at, entry) in entries.iter().enumerate().rev() {
        match entry.parent {
            Some(parent) => children[parent].push(at),
            None => stack.push(Step::Enter(at)),
        }
    }
    let mut walk = Walk { on_path: vec![0; entries.len()], ..Walk::default() };
    let (mut times, mut now) = (vec![(0, 0); entries.len()], 0);
    // A stack instead of recursion: a session of 100,000 entries is one long branch.
    while let Some(step) = stack.pop() {
        match step {
            Step::Enter(at) => {
                times[at].0 = now;
                now += 1;
                walk.enter(at, &entries[at], entries, found);
                stack.push(Step::Leave(at));
                stack.extend(children[at].iter().map(|child| Step::Enter(*child)));
            }
            Step::Leave(at) => {
                times[at].1 = now;
                walk.leave(at, &entries[at]);
            }
        }
    }
    walk.tell_unanswered(entries, found);
    Times(times)
}

enum Step {
    Enter(usize),
    Leave(usize),
}

impl<'a> Walk<'a> {
    fn enter(&mut self, at: usize, entry: &'a Known, entries: &[Known], found: &mut Found) {
        self.on_path[entry.name] += 1;
        match &entry.says {
            Says::Nothing => {}
            Says::Calls { ids, wanted } => {
                for id in ids {
                    self.open.entry(id).or_default().push(Open { call: self.made.len(), result: None });
                    self.made.push(Made { by: at, id, wanted: *wanted, answered: false });
                }
            }
            Says::Result(id) => match self.open.get_mut(id).and_then(|open| open.last_mut()) {
                None => found.error(
                    entry.place,
                    format!("the result of a call {id} that nobody made on its branch; no model gets it"),
                ),
                Some(Open { result: Some(first), .. }) => {
                    let line = entries[*first].place.line;
                    found.error(
                        entry.place,
                        format!("the call {id} has a result on line {line} already; a model gets only one"),
                    );
                }
                Some(open) => {
                    open.result = Some(at);
                    self.made[open.call].answered = true;
                }
            },
            Says::Keeps(kept, id) => {
                if kept.is_none_or(|kept| self.on_path[kept] == 0) {
                    let what = format!(
                        "keeps the entries from {id} on, which is not on its branch; nothing is kept"
                    );
                    found.error(entry.place, what);
                }
            }
        }
    }

    fn leave(&mut self, at: usize, entry: &'a Known) {
        self.on_path[entry.name] -= 1;
        match &entry.says {
            Says::Calls { ids, .. } => {
                for id in ids {
                    self.open.get_mut(id).and_then(Vec::pop);
                }
            }
            Says::Result(id) => {
                if let Some(open) = self.open.get_mut(id).and_then(|open| open.last_mut())
                    && open.result == Some(at)
                {
                    open.result = None;
                }
            }
            Says::Nothing | Says::Keeps(..) => {}
        }
    }

    fn tell_unanswered(&self, entries: &[Known], found: &mut Found) {
        for call in self.made.iter().filter(|call| call.wanted && !call.answered) {
            let what = format!("its call {} has no result; a model is told that it was interrupted", call.id);
            found.note(entries[call.by].place, what);
        }
    }
}
