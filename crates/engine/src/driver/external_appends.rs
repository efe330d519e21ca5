//! Entries that another program appended to the log of the session at hand: found before the next append, and told like one's own,
//! unless they are many.

use std::ops::Range;
use std::sync::Arc;

use serde_json::value::RawValue;
use tiller_core::event::{EventKind, SessionChange};
use tiller_session::Reader;
use tiller_session::tree::TreeNode;

/// How often others have appended to the log of the session at hand.
#[derive(Debug, Default)]
pub(super) struct ExternalAppends {
    times: usize,
    entries: usize,
}

impl ExternalAppends {
    /// Takes note that so many entries of others were found; whether that is to be said, and how. The first time is, and then whenever
    /// it has become ten times as often: two programs that write in turn would warn with every word.
    pub(super) fn word(&mut self, entries: usize) -> AppendNotice {
        (self.times, self.entries) = (self.times + 1, self.entries + entries);
        let is_power_of_ten = self.times == 10_usize.pow(self.times.ilog10());
        match self.times {
            1 => AppendNotice::AsItIs,
            times if is_power_of_ten => AppendNotice::Counted(format!(
                "it goes on so: {times} times by now, {} entries",
                self.entries
            )),
            _ => AppendNotice::Nothing,
        }
    }
}

/// What is said of entries of others.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AppendNotice {
    /// What the writer says of it.
    AsItIs,
    /// That, and this.
    Counted(String),
    Nothing,
}

/// Entries that are told one by one, about a screen of them. More would keep front ends busy with what nobody watched grow.
const MOST: usize = 50;

/// What to tell of the entries at these positions. A few that go on from where the session was are told one by one; if any of them
/// begins elsewhere the path is another one, and of many it is enough that they are there: then front ends have to read it anew.
pub(super) fn told(reader: &Reader, positions: Range<usize>) -> Vec<EventKind> {
    let tree = reader.tree();
    let nodes = tree.nodes().get(positions.clone()).unwrap_or_default();
    let changed = if !is_chain(nodes, positions.start) {
        Some(SessionChange::Leaf)
    } else if nodes.len() > MOST {
        Some(SessionChange::Grown)
    } else {
        None
    };
    if let Some(reason) = changed {
        return vec![EventKind::SessionChanged { reason, session_id: reader.id().clone() }];
    }
    let entry = |(at, node): (usize, &TreeNode)| {
        // What can't be read is told of by the log's findings.
        let line = String::from_utf8(reader.raw_line(at).ok()?).ok()?;
        let entry = Arc::from(RawValue::from_string(line.trim().to_owned()).ok()?);
        Some(EventKind::EntryAppended { entry_id: node.id.clone(), entry })
    };
    positions.zip(nodes).filter_map(entry).collect()
}

/// Whether each entry follows the one before it in the file.
fn is_chain(nodes: &[TreeNode], first: usize) -> bool {
    nodes.iter().zip(first..).all(|(node, at)| node.parent == at.checked_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_on_is_said_once_and_then_counted() {
        let mut others = ExternalAppends::default();
        let said: Vec<AppendNotice> = (0..100).map(|_| others.word(2)).collect();
        assert_eq!(said[0], AppendNotice::AsItIs);
        assert_eq!(said[9], AppendNotice::Counted("it goes on so: 10 times by now, 20 entries".into()));
        assert_eq!(said[99], AppendNotice::Counted("it goes on so: 100 times by now, 200 entries".into()));
        assert_eq!(said.iter().filter(|word| **word != AppendNotice::Nothing).count(), 3);
    }
}
