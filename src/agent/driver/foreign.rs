//! Entries that another program appended to the log of the session at hand: found before the next append, and told like one's own,
//! unless they are many.

use std::ops::Range;
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::event::{EventKind, SessionChange};
use crate::session::Reader;
use crate::session::tree::Node;

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
    let entry = |(at, node): (usize, &Node)| {
        // What can't be read is told of by the log's findings.
        let line = String::from_utf8(reader.raw_line(at).ok()?).ok()?;
        let entry = Arc::from(RawValue::from_string(line.trim().to_owned()).ok()?);
        Some(EventKind::EntryAppended { entry_id: node.id.clone(), entry })
    };
    positions.zip(nodes).filter_map(entry).collect()
}

/// Whether each entry follows the one before it in the file.
fn is_chain(nodes: &[Node], first: usize) -> bool {
    nodes.iter().zip(first..).all(|(node, at)| node.parent == at.checked_sub(1))
}
