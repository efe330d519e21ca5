//! The pi coding agent's logs: `<home>/agent/sessions/**/*.jsonl`.
//!
//! They are of the format that tiller writes itself, so their lines are taken over byte for byte under a header of their
//! own, whatever else is in them. Only what would make the new log a damaged one is changed: a line that can't be read is
//! left out, and one that named a lost line as its parent, or an id that was taken, is written anew with another; so is
//! one that follows what an import ended with, which follows that import's fact instead. Logs of versions 1 and 2 are read as tiller reads them, and their entries written as version 3.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;
use tiller_core::id::EntryId;
use tiller_core::unit::UnixMs;

use super::source::{Line, Source, parse, text};
use super::warning::ImportWarnings;
use super::{About, End, SourceFormat, Work};
use crate::entry::{Entry, EntryBody, Header, VERSION};
use crate::error::SessionError;
use crate::reader::Reader;

/// What a log says of itself.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) about: About,
    version: u64,
}

impl Plan {
    pub(super) fn make(source: &Source) -> Result<Self, SessionError> {
        let mut header = None;
        source.scan(|line| {
            header = line.bytes().and_then(|bytes| parse(bytes).ok()).map(|(value, _)| value);
            false
        })?;
        let wrong = |what: String| SessionError::Foreign { path: source.path.clone(), line: 1, what };
        let header: Header = serde_json::from_value(header.unwrap_or(Value::Null))
            .map_err(|error| wrong(format!("not the header of a session ({error})")))?;
        if header.version > VERSION {
            return Err(wrong(format!(
                "version {} of the log is newer than this tiller, which knows up to {VERSION}",
                header.version
            )));
        }
        let about = About {
            origin: SourceFormat::Pi,
            session: header.id.to_string(),
            version: Some(header.version.to_string()),
            cwd: header.cwd,
            start: UnixMs::from_iso(&header.timestamp).unwrap_or_default(),
        };
        Ok(Self { about, version: header.version })
    }

    pub(super) fn convert(&self, work: &mut Work<'_, '_>) -> Result<End, SessionError> {
        let leaf = if self.version < VERSION { convert_old(work)? } else { convert(work)? };
        // Names are entries like any other.
        Ok(End { leaf, name: None })
    }
}

/// Entries as tiller reads them.
fn convert_old(work: &mut Work<'_, '_>) -> Result<Option<EntryId>, SessionError> {
    let reader = Reader::open(&work.source.path)?;
    for finding in reader.findings() {
        work.notes.add(finding.line, "lines that are not as they should be");
    }
    let mut written = Ok(());
    let mut place = Placing::default();
    reader.visit(0, |entry| match entry {
        Ok(mut entry) if written.is_ok() => {
            place.settle(&mut entry, work.notes, 1);
            entry.parent = work.sink.grafted(entry.parent.take());
            written = work.sink.put_as_is(entry, None);
        }
        Ok(_) => {}
        Err(finding) => work.notes.add(finding.line, "lines left out, not readable"),
    })?;
    written.map(|()| place.last)
}

/// Lines as they stand.
fn convert(work: &mut Work<'_, '_>) -> Result<Option<EntryId>, SessionError> {
    let mut written = Ok(());
    let (mut place, mut first) = (Placing::default(), true);
    work.source.scan(|line| {
        if !std::mem::take(&mut first) {
            written = take(line, &mut place, work);
        }
        written.is_ok()
    })?;
    written.map(|()| place.last)
}

fn take(line: &Line<'_>, place: &mut Placing, work: &mut Work<'_, '_>) -> Result<(), SessionError> {
    let number = line.span.number;
    let Some(bytes) = line.bytes() else {
        work.notes.add(number, "lines left out, too long to be read");
        place.gap = true;
        return Ok(());
    };
    let mut mended = None;
    let read = read(bytes).or_else(|| {
        let (value, _) = parse(bytes).ok().filter(|(_, is_mended)| *is_mended)?;
        work.notes.add(number, "lines with broken characters, read with a replacement character");
        read(mended.insert(serde_json::to_vec(&value).ok()?))
    });
    let Some(mut entry) = read else {
        work.notes.add(number, "lines left out, not readable");
        place.pass(bytes);
        return Ok(());
    };
    let (id, parent) = (entry.id.clone(), entry.parent.clone());
    place.settle(&mut entry, work.notes, number);
    entry.parent = work.sink.grafted(entry.parent.take());
    let bytes = mended.as_deref().unwrap_or(bytes);
    if (&id, &parent) == (&entry.id, &entry.parent) {
        return work.sink.put_as_is(entry, Some(bytes));
    }
    let anew = with_place(bytes, &entry);
    work.sink.put_as_is(entry, anew.as_deref())
}

/// The part of a line that says where it hangs. Read as strictly as a session's own lines are, for that is what they
/// become.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    id: EntryId,
    #[serde(default)]
    parent_id: Option<EntryId>,
    #[serde(default)]
    timestamp: Option<String>,
    #[serde(rename = "type")]
    _kind: String,
}

/// The entry on a line, if all of it can be read.
fn read(line: &[u8]) -> Option<Entry> {
    let head: Head = serde_json::from_slice(line).ok()?;
    let body: EntryBody = serde_json::from_slice(line).ok()?;
    let timestamp = head.timestamp.as_deref().and_then(UnixMs::from_iso).unwrap_or_default();
    Some(Entry { id: head.id, parent: head.parent_id, timestamp, body })
}

/// The line with another id and parent.
fn with_place(line: &[u8], entry: &Entry) -> Option<Vec<u8>> {
    let mut value: Value = serde_json::from_slice(line).ok()?;
    let object = value.as_object_mut()?;
    object.insert("id".into(), entry.id.as_str().into());
    object.insert("parentId".into(), entry.parent.as_ref().map_or(Value::Null, |id| id.as_str().into()));
    serde_json::to_vec(&value).ok()
}

/// Where lines end up in the new log.
#[derive(Default)]
struct Placing {
    /// The entry that stands for each id by now: the newest of that id, or what a lost one followed.
    by_id: HashMap<EntryId, Option<EntryId>>,
    /// The number that each id gets next which was given again; lower ones are taken.
    next: HashMap<EntryId, u64>,
    last: Option<EntryId>,
    /// A line that could not be read stands directly before.
    gap: bool,
}

impl Placing {
    /// Gives an entry an id of its own and a parent that is there.
    fn settle(&mut self, entry: &mut Entry, notes: &mut ImportWarnings, line: u64) {
        entry.parent = match entry.parent.take() {
            None => None,
            Some(parent) => match self.by_id.get(&parent) {
                Some(stands) => stands.clone(),
                None if self.gap => {
                    notes.add(
                        line,
                        "parents lost with unreadable lines: the entry before is followed instead",
                    );
                    self.last.clone()
                }
                None => {
                    notes.add(line, "parents that are missing: a branch of its own begins");
                    None
                }
            },
        };
        self.gap = false;
        let given = entry.id.clone();
        if self.by_id.contains_key(&given) {
            notes.add(line, "ids that stand for an earlier entry too: another one is given");
            entry.id = self.another(&given);
            self.by_id.insert(entry.id.clone(), Some(entry.id.clone()));
        }
        self.by_id.insert(given, Some(entry.id.clone()));
        self.last = Some(entry.id.clone());
    }

    /// An id that is free, made of one that isn't.
    fn another(&mut self, given: &EntryId) -> EntryId {
        let next = self.next.entry(given.clone()).or_insert(2);
        loop {
            let id = EntryId::new(format!("{given}-{next}"));
            *next += 1;
            if !self.by_id.contains_key(&id) {
                return id;
            }
        }
    }

    /// Passes over a line; if its place can be read, what hangs on it hangs on its parent.
    fn pass(&mut self, line: &[u8]) {
        self.gap = true;
        let Some((value, _)) = parse(line).ok() else { return };
        let Some(id) = text(&value, "id") else { return };
        let stands = text(&value, "parentId").map(|parent| match self.by_id.get(&EntryId::new(parent)) {
            Some(stands) => stands.clone(),
            None => self.last.clone(),
        });
        self.by_id.entry(EntryId::new(id)).or_insert(stands.flatten());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_a_session_could_not_be_read_with_is_no_entry() {
        let line = |head: &str| format!(r#"{{"type":"label","id":"a","targetId":"t"{head}}}"#);
        assert!(read(line("").as_bytes()).is_some());
        assert!(read(line(r#","parentId":null,"timestamp":"later","more":1E5"#).as_bytes()).is_some());
        for head in [r#","timestamp":7"#, r#","parentId":["p"]"#, r#","id":"again""#] {
            assert!(read(line(head).as_bytes()).is_none(), "{head}");
        }
    }
}
