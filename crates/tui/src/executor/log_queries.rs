//! Queries of the session log: parts of the path, and text search.

use std::collections::HashSet;
use std::sync::Arc;

use tiller_core::id::{CallId, EntryId};
use tiller_core::message::Message;
use tiller_core::tool_catalog::ToolCatalog;
use tiller_session::{BranchPoints, Entry, Reader, Section};

use crate::log_blocks::{BlockBuilder, PathContext};
use crate::message::TaskResult;
use crate::transcript::chunk::ENTRIES;
use crate::transcript::section::{LoadedPath, SectionRequest};
use crate::transcript_pane::lookup::{SearchHits, SearchJob, hits};

/// Minimum number of entries read before the first frame, usually more than a screen shows.
const MIN_FIRST: usize = 50;

/// Maximum number of entries after a part that are checked for the results of its calls.
const MAX_AHEAD: usize = 100;

/// Reads the newest part of the path to the leaf, and its context.
pub(crate) fn read_newest(reader: &Reader, tools: ToolCatalog) -> LoadedPath {
    let leaf = reader.leaf();
    let sections = leaf.as_ref().and_then(|leaf| reader.sections(leaf, ENTRIES).ok());
    let mut older = sections.unwrap_or_default();
    let mut section = older.pop();
    if let Some(last) = section.as_mut().filter(|last| last.count < MIN_FIRST) {
        last.count += older.pop().map_or(0, |section| section.count);
    }
    let points = leaf.map(|leaf| Arc::new(BranchPoints::read(reader, &leaf))).unwrap_or_default();
    let context = PathContext { points, tools };
    let mut newest = LoadedPath {
        older,
        section,
        ids: Vec::new(),
        builder: BlockBuilder::from_entries([], &context),
        context,
    };
    // One entry at a time, because all entries together with their blocks would take twice the memory.
    for id in newest.section.iter().flat_map(|section| ids(reader, section)) {
        if let Ok(entry) = reader.entry(&id) {
            newest.builder.push_entry(&entry);
            newest.ids.push(id);
        }
    }
    newest
}

/// Recounts the branch points after entries were hidden or shown.
pub(crate) fn count_branches(reader: &Reader, epoch: u64) -> TaskResult {
    let points = reader.leaf().map(|leaf| BranchPoints::read(reader, &leaf)).unwrap_or_default();
    TaskResult::BranchPoints { epoch, points: Arc::new(points) }
}

/// Reads a part of the path, and the following entries until its calls have their results.
pub(crate) fn read_part(reader: &Reader, wanted: SectionRequest) -> TaskResult {
    let entries = read(reader, &wanted.section);
    let mut ahead = wanted.ahead.as_ref().map(|section| ids(reader, section)).unwrap_or_default();
    ahead.truncate(MAX_AHEAD);
    let ahead = read_results(reader, &entries, &ahead);
    TaskResult::PartRead { wanted, entries, ahead }
}

/// Reads the entries after a part up to the next answer, until all its calls have their results.
fn read_results(reader: &Reader, entries: &[Entry], after: &[EntryId]) -> Vec<Entry> {
    let mut open = HashSet::new();
    let mut ahead = Vec::new();
    entries.iter().for_each(|entry| note_calls(&mut open, entry));
    for id in after {
        if open.is_empty() {
            break;
        }
        if let Ok(entry) = reader.entry(id) {
            let answers =
                matches!(entry.body.as_message().map(|message| &**message), Some(Message::Assistant(_)));
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
    match entry.body.as_message().map(|message| &**message) {
        Some(Message::Assistant(answer)) => open.extend(answer.tool_calls().map(|call| call.id.clone())),
        Some(Message::ToolResult(result)) => _ = open.remove(&result.tool_call_id),
        _ => {}
    }
}

/// Searches parts of the path; stops when `report` returns false.
pub(crate) fn search_log(reader: &Reader, lookup: &SearchJob, mut report: impl FnMut(SearchHits) -> bool) {
    /// Number of parts after which progress is reported even without hits.
    const PROGRESS_INTERVAL: usize = 20;
    let mut after = Vec::new();
    for (at, unseen) in lookup.parts.iter().enumerate() {
        let ids = ids(reader, &unseen.section);
        let entries = read_all(reader, &ids);
        let mut builder = BlockBuilder::from_entries(&entries, &lookup.context);
        builder.push_results(&read_results(reader, &entries, &after));
        after = ids;
        let hits = hits(&builder.blocks, &lookup.words);
        let is_last = at + 1 == lookup.parts.len();
        let reports = !hits.is_empty() || is_last || at % PROGRESS_INTERVAL == 0;
        if reports
            && !report(SearchHits { number: lookup.number, part: unseen.part, hits, is_complete: is_last })
        {
            return;
        }
    }
}

/// Returns the ids of a section; empty if the section no longer exists.
fn ids(reader: &Reader, section: &Section) -> Vec<EntryId> {
    reader.ids(section).unwrap_or_default()
}

fn read(reader: &Reader, section: &Section) -> Vec<Entry> {
    read_all(reader, &ids(reader, section))
}

/// Reads entries by id; skips damaged ones.
fn read_all(reader: &Reader, ids: &[EntryId]) -> Vec<Entry> {
    ids.iter().filter_map(|id| reader.entry(id).ok()).collect()
}
