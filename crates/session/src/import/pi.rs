//! The pi coding agent's logs: `<home>/agent/sessions/**/*.jsonl`.
//!
//! They have tiller's own format, so their lines are copied byte for byte under a new header. Only lines that
//! would damage the new log are changed: an unreadable line is dropped; a line with a missing parent or a
//! duplicate id gets another one; a line after the end of an earlier import becomes a child of that import's
//! last entry. Logs of versions 1 and 2 are migrated, and their entries written as version 3.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;
use tiller_core::id::EntryId;
use tiller_core::json_error::without_position;
use tiller_core::unit::UnixMs;

use super::conversion::ConversionContext;
use super::detect::SourceFormat;
use super::entry_builder::ConversionEnd;
use super::source::{SourceLine, SourceLog, parse, text};
use super::source_info::SourceInfo;
use super::warning::ImportWarnings;
use crate::entry::{Entry, EntryBody, Header, VERSION};
use crate::error::SessionError;
use crate::reader::Reader;

/// The metadata of a log.
#[derive(Debug)]
pub(super) struct PiPlan {
    pub(super) info: SourceInfo,
    version: u64,
}

impl PiPlan {
    pub(super) fn new(source: &SourceLog) -> Result<Self, SessionError> {
        let mut header = None;
        source.scan(|line| {
            header = line.bytes().and_then(|bytes| parse(bytes).ok()).map(|(value, _)| value);
            false
        })?;
        let invalid = |problem: String| SessionError::Import { path: source.path.clone(), line: 1, problem };
        let header: Header = serde_json::from_value(header.unwrap_or(Value::Null))
            .map_err(|error| invalid(format!("not a session header ({})", without_position(&error))))?;
        if header.version > VERSION {
            return Err(invalid(format!(
                "log version {} is newer than this tiller, which reads versions up to {VERSION}",
                header.version
            )));
        }
        let info = SourceInfo {
            origin: SourceFormat::Pi,
            session: header.id.to_string(),
            version: Some(header.version.to_string()),
            cwd: header.cwd,
            start: UnixMs::from_iso(&header.timestamp).unwrap_or_default(),
        };
        Ok(Self { info, version: header.version })
    }

    pub(super) fn convert(
        &self,
        context: &mut ConversionContext<'_, '_>,
    ) -> Result<ConversionEnd, SessionError> {
        let leaf = if self.version < VERSION { convert_old(context)? } else { convert(context)? };
        // Names are entries like any other.
        Ok(ConversionEnd { leaf, name: None })
    }
}

/// Converts a log of an older version through [`Reader`].
fn convert_old(context: &mut ConversionContext<'_, '_>) -> Result<Option<EntryId>, SessionError> {
    let reader = Reader::open(&context.source.path)?;
    for finding in reader.findings() {
        context.warnings.add(finding.line, "lines with problems");
    }
    let mut written = Ok(());
    let mut linker = EntryLinker::default();
    reader.visit(0, |entry| match entry {
        Ok(mut entry) if written.is_ok() => {
            linker.link(&mut entry, context.warnings, 1);
            entry.parent = context.builder.graft(entry.parent.take());
            written = context.builder.add_raw(entry, None);
        }
        Ok(_) => {}
        Err(finding) => context.warnings.add(finding.line, "skipped unreadable lines"),
    })?;
    written.map(|()| linker.last)
}

/// Copies lines unchanged where possible.
fn convert(context: &mut ConversionContext<'_, '_>) -> Result<Option<EntryId>, SessionError> {
    let mut written = Ok(());
    let (mut linker, mut first) = (EntryLinker::default(), true);
    context.source.scan(|line| {
        if !std::mem::take(&mut first) {
            written = convert_line(line, &mut linker, context);
        }
        written.is_ok()
    })?;
    written.map(|()| linker.last)
}

fn convert_line(
    line: &SourceLine<'_>,
    linker: &mut EntryLinker,
    context: &mut ConversionContext<'_, '_>,
) -> Result<(), SessionError> {
    let number = line.span.number;
    let Some(bytes) = line.bytes() else {
        context.warnings.add(number, "skipped lines, too long to be read");
        linker.gap = true;
        return Ok(());
    };
    let mut repaired = None;
    let read = parse_entry(bytes).or_else(|| {
        let (value, _) = parse(bytes).ok().filter(|(_, is_mended)| *is_mended)?;
        context
            .warnings
            .add(number, "lines with invalid UTF-8 or unpaired surrogates, read with replacement characters");
        parse_entry(repaired.insert(serde_json::to_vec(&value).ok()?))
    });
    let Some(mut entry) = read else {
        context.warnings.add(number, "skipped unreadable lines");
        linker.skip_line(bytes);
        return Ok(());
    };
    let (id, parent) = (entry.id.clone(), entry.parent.clone());
    linker.link(&mut entry, context.warnings, number);
    entry.parent = context.builder.graft(entry.parent.take());
    let bytes = repaired.as_deref().unwrap_or(bytes);
    if (&id, &parent) == (&entry.id, &entry.parent) {
        return context.builder.add_raw(entry, Some(bytes));
    }
    let rewritten = with_ids(bytes, &entry);
    context.builder.add_raw(entry, rewritten.as_deref())
}

/// The head of a line. It is parsed as strictly as in a session's own log, where the line will be.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EntryHead {
    id: EntryId,
    #[serde(default)]
    parent_id: Option<EntryId>,
    #[serde(default)]
    timestamp: Option<String>,
    #[serde(rename = "type")]
    _kind: String,
}

/// Parses an entry; `None` if any part is unreadable.
fn parse_entry(line: &[u8]) -> Option<Entry> {
    let head: EntryHead = serde_json::from_slice(line).ok()?;
    let body: EntryBody = serde_json::from_slice(line).ok()?;
    let timestamp = head.timestamp.as_deref().and_then(UnixMs::from_iso).unwrap_or_default();
    Some(Entry { id: head.id, parent: head.parent_id, timestamp, body })
}

/// Returns the line with another id and parent.
fn with_ids(line: &[u8], entry: &Entry) -> Option<Vec<u8>> {
    let mut value: Value = serde_json::from_slice(line).ok()?;
    let object = value.as_object_mut()?;
    object.insert("id".into(), entry.id.as_str().into());
    object.insert("parentId".into(), entry.parent.as_ref().map_or(Value::Null, |id| id.as_str().into()));
    serde_json::to_vec(&value).ok()
}

/// Assigns ids and parents in the new log.
#[derive(Default)]
struct EntryLinker {
    /// For each id, the entry in the new log: the newest one with that id, or the parent of a dropped one.
    by_id: HashMap<EntryId, Option<EntryId>>,
    /// The next suffix for each duplicate id; lower ones are taken.
    next_suffix: HashMap<EntryId, u64>,
    last: Option<EntryId>,
    /// True directly after an unreadable line.
    gap: bool,
}

impl EntryLinker {
    /// Gives an entry a unique id and an existing parent.
    fn link(&mut self, entry: &mut Entry, warnings: &mut ImportWarnings, line: u64) {
        entry.parent = match entry.parent.take() {
            None => None,
            Some(parent) => match self.by_id.get(&parent) {
                Some(target) => target.clone(),
                None if self.gap => {
                    warnings
                        .add(line, "parents lost with unreadable lines: the entry before becomes the parent");
                    self.last.clone()
                }
                None => {
                    warnings.add(line, "missing parents: a new branch starts");
                    None
                }
            },
        };
        self.gap = false;
        let duplicate = entry.id.clone();
        if self.by_id.contains_key(&duplicate) {
            warnings.add(line, "duplicate ids: replaced with new ones");
            entry.id = self.unused_id(&duplicate);
            self.by_id.insert(entry.id.clone(), Some(entry.id.clone()));
        }
        self.by_id.insert(duplicate, Some(entry.id.clone()));
        self.last = Some(entry.id.clone());
    }

    fn unused_id(&mut self, duplicate: &EntryId) -> EntryId {
        let next = self.next_suffix.entry(duplicate.clone()).or_insert(2);
        loop {
            let id = EntryId::new(format!("{duplicate}-{next}"));
            *next += 1;
            if !self.by_id.contains_key(&id) {
                return id;
            }
        }
    }

    /// Skips a line; if its ids can be read, its children become children of its parent.
    fn skip_line(&mut self, line: &[u8]) {
        self.gap = true;
        let Some((value, _)) = parse(line).ok() else { return };
        let Some(id) = text(&value, "id") else { return };
        let target = text(&value, "parentId").map(|parent| match self.by_id.get(&EntryId::new(parent)) {
            Some(target) => target.clone(),
            None => self.last.clone(),
        });
        self.by_id.entry(EntryId::new(id)).or_insert(target.flatten());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_entry_wrong_head_types_are_rejected() {
        let line = |head: &str| format!(r#"{{"type":"label","id":"a","targetId":"t"{head}}}"#);
        assert!(parse_entry(line("").as_bytes()).is_some());
        assert!(parse_entry(line(r#","parentId":null,"timestamp":"later","more":1E5"#).as_bytes()).is_some());
        for head in [r#","timestamp":7"#, r#","parentId":["p"]"#, r#","id":"again""#] {
            assert!(parse_entry(line(head).as_bytes()).is_none(), "{head}");
        }
    }
}
