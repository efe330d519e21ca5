//! Entries that another process appended to the active session's log. They are found before the next append.
//! If there are few, they are emitted like this process's own.

use std::ops::Range;

use serde::de::IgnoredAny;
use tiller_core::entry_line::EntryLine;
use tiller_core::event::{EventKind, SessionChange};
use tiller_session::Reader;
use tiller_session::tree::TreeNode;

/// Number of times that other processes have appended to the log.
#[derive(Debug, Default)]
pub(super) struct ExternalAppends {
    times: usize,
    entries: usize,
}

impl ExternalAppends {
    /// Records that another process appended entries, and returns the warning to emit. Warns the first time,
    /// and whenever the number of appends has grown tenfold, because two programs that write in turn would
    /// cause a warning at every entry.
    pub(super) fn warning(&mut self, entries: usize) -> AppendNotice {
        (self.times, self.entries) = (self.times + 1, self.entries + entries);
        let is_power_of_ten = self.times == 10_usize.pow(self.times.ilog10());
        match self.times {
            1 => AppendNotice::Plain,
            times if is_power_of_ten => {
                AppendNotice::Counted(format!("{times} times so far, {} entries", self.entries))
            }
            _ => AppendNotice::Silent,
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum AppendNotice {
    /// The writer's text.
    Plain,
    /// The writer's text with this addition.
    Counted(String),
    Silent,
}

/// Maximum number of entries that are emitted individually, about a screenful. More would keep front ends
/// busy with entries that nobody saw arrive.
const MAX_EVENTS: usize = 50;

/// Returns the events for the entries at these positions. If the entries are few and continue from the
/// current leaf, each has its own event. Otherwise the path has changed or there are too many entries: a
/// single event makes front ends reload.
pub(super) fn events(reader: &Reader, positions: Range<usize>) -> Vec<EventKind> {
    let tree = reader.tree();
    let nodes = tree.nodes().get(positions.clone()).unwrap_or_default();
    let changed = if !is_chain(nodes, positions.start) {
        Some(SessionChange::Leaf)
    } else if nodes.len() > MAX_EVENTS {
        Some(SessionChange::Grown)
    } else {
        None
    };
    if let Some(reason) = changed {
        return vec![EventKind::SessionChanged { reason, session_id: reader.id().clone() }];
    }
    let entry = |(at, node): (usize, &TreeNode)| {
        // The log's findings report unreadable lines.
        let line = String::from_utf8(reader.raw_line(at).ok()?).ok()?;
        serde_json::from_str::<IgnoredAny>(&line).ok()?;
        let entry = EntryLine::new(line.trim());
        Some(EventKind::EntryAppended { entry_id: node.id.clone(), entry })
    };
    positions.zip(nodes).filter_map(entry).collect()
}

/// Returns true if each entry's parent is the preceding entry in the file.
fn is_chain(nodes: &[TreeNode], first: usize) -> bool {
    nodes.iter().zip(first..).all(|(node, at)| node.parent == at.checked_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn append_notice_is_given_once_and_then_counted() {
        let mut appends = ExternalAppends::default();
        let notices: Vec<AppendNotice> = (0..100).map(|_| appends.warning(2)).collect();
        assert_eq!(notices[0], AppendNotice::Plain);
        assert_eq!(notices[9], AppendNotice::Counted("10 times so far, 20 entries".into()));
        assert_eq!(notices[99], AppendNotice::Counted("100 times so far, 200 entries".into()));
        assert_eq!(notices.iter().filter(|notice| **notice != AppendNotice::Silent).count(), 3);
    }
}
