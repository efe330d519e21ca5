//! What is read of the log: the path, part by part, and what is looked for in it.

use std::collections::HashSet;
use std::sync::Arc;

use crate::id::{CallId, EntryId};
use crate::message::Message;
use crate::session::{BranchPoints, Entry, Reader};
use crate::tui::app::Report;
use crate::tui::record::Stretch;
use crate::tui::search::{Found, Lookup, hits};
use crate::tui::transcript::Wanted;

/// Entries that are read before the first frame.
const FIRST: usize = 150;

/// The newest entries of the path to the leaf, the ids of those before them, and where other branches go on from it.
pub(in crate::tui) fn newest(reader: &Reader) -> (Vec<EntryId>, Vec<Entry>, Arc<BranchPoints>) {
    let Some(leaf) = reader.leaf() else { return Default::default() };
    let mut older = reader.path_to(&leaf).unwrap_or_default();
    let ids = older.split_off(older.len().saturating_sub(FIRST));
    (older, read(reader, &ids), Arc::new(BranchPoints::of(reader, &leaf)))
}

/// Where other branches go on from the path to the leaf, now that others are hidden than before.
pub(in crate::tui) fn count_branches(reader: &Reader, epoch: u64) -> Report {
    let points = reader.leaf().map(|leaf| BranchPoints::of(reader, &leaf)).unwrap_or_default();
    Report::BranchPoints { epoch, points: Arc::new(points) }
}

/// A part of the path, and of what follows it as much as it takes for its calls to have their results.
pub(in crate::tui) fn read_part(reader: &Reader, wanted: Wanted) -> Report {
    let entries = read(reader, &wanted.ids);
    let ahead = read_results(reader, &entries, &wanted.ahead);
    Report::Read { wanted, entries, ahead }
}

/// Of the entries after some others those that hold results of their calls, and what stands between.
fn read_results(reader: &Reader, entries: &[Entry], after: &[EntryId]) -> Vec<Entry> {
    let mut open = HashSet::new();
    let mut ahead = Vec::new();
    entries.iter().for_each(|entry| note_calls(&mut open, entry));
    for id in after {
        if open.is_empty() {
            break;
        }
        if let Ok(entry) = reader.entry(id) {
            let answers = matches!(entry.body.as_message().map(|said| &**said), Some(Message::Assistant(_)));
            if answers {
                break;
            }
            note_calls(&mut open, &entry);
            ahead.push(entry);
        }
    }
    ahead
}

fn note_calls(open: &mut HashSet<CallId>, entry: &Entry) {
    match entry.body.as_message().map(|said| &**said) {
        Some(Message::Assistant(answer)) => open.extend(answer.tool_calls().map(|call| call.id.clone())),
        Some(Message::ToolResult(result)) => _ = open.remove(&result.tool_call_id),
        _ => {}
    }
}

/// Looks through parts of the path for words, until the report isn't wanted any more.
pub(in crate::tui) fn look_up(reader: &Reader, lookup: &Lookup, mut report: impl FnMut(Found) -> bool) {
    /// Parts after which somebody is told even that there was nothing.
    const OFTEN: usize = 20;
    let mut after: &[EntryId] = &[];
    for (at, unseen) in lookup.parts.iter().enumerate() {
        let entries = read(reader, &unseen.ids);
        let mut stretch = Stretch::branching(&entries, &lookup.points);
        stretch.take_results(&read_results(reader, &entries, after));
        after = &unseen.ids;
        let hits = hits(&stretch.blocks, &lookup.words);
        let is_last = at + 1 == lookup.parts.len();
        let tells = !hits.is_empty() || is_last || at % OFTEN == 0;
        if tells && !report(Found { number: lookup.number, part: unseen.part, hits, is_last }) {
            return;
        }
    }
}

/// Entries by their ids; a damaged one costs only itself.
fn read(reader: &Reader, ids: &[EntryId]) -> Vec<Entry> {
    ids.iter().filter_map(|id| reader.entry(id).ok()).collect()
}
