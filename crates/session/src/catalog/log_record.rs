//! The catalog's record of a log, updated by reading lines from where the last scan ended.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use serde::{Deserialize, Serialize};
use tiller_core::json_error::without_position;
use tiller_core::message::Usage;
use tiller_core::skill_message::typed_skill;
use tiller_core::unit::{Tokens, UnixMs, Usd};
use tiller_files as files;

use super::extract::{self, EntryFact, ExtractedEntry};
use super::usage_table::LogUsage;
use crate::entry::Header;
use crate::fnv::fnv1a;

/// Maximum length of a parsed line, in bytes; a longer one is skipped.
const MAX_LINE: usize = 64 << 20;

/// Number of the first and of the last scanned bytes that are compared, to check that a log only grew.
const COMPARED_BYTES: u64 = 4 << 10;

/// Maximum stored length of the first prompt, in characters: more than any list shows.
const MAX_PROMPT_CHARS: usize = 1_000;

/// The record of a log, up to the last scanned line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct LogRecord {
    /// The scanned part of the log.
    #[serde(flatten)]
    pub(super) progress: ReadProgress,
    /// The reason the file is not a session; the other fields are then empty.
    pub(super) problem: Option<String>,
    pub(super) id: String,
    /// The directory in the header.
    header_cwd: String,
    /// The directory it was last used in.
    pub(super) cwd: String,
    pub(super) parent_session: Option<String>,
    /// The time at which the session was created.
    created: UnixMs,
    pub(super) name: Option<String>,
    pub(super) first_prompt: Option<String>,
    #[serde(flatten)]
    pub(super) totals: LogTotals,
    pub(super) last_activity: UnixMs,
    pub(super) model: Option<String>,
    pub(super) remote: Option<String>,
}

/// The scanned part of a log, with hashes to detect changes to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReadProgress {
    /// Number of scanned bytes.
    pub(super) upto: u64,
    /// Hash of the last scanned bytes, to check later that the log has only grown.
    tail: u64,
    /// Hash of the first bytes.
    head: u64,
}

/// Totals over a log's entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct LogTotals {
    pub(super) entries: usize,
    pub(super) messages: usize,
    pub(super) tokens: Tokens,
    pub(super) cost: Usd,
}

/// The searchable text of an entry, and the position of the entry's line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SearchText {
    pub(super) entry: String,
    /// Position of the entry, from 0.
    pub(super) position: usize,
    pub(super) offset: u64,
    pub(super) length: usize,
    pub(super) timestamp: UnixMs,
    pub(super) text: String,
}

#[derive(Debug, Default)]
pub(super) struct LogScan {
    pub(super) record: LogRecord,
    /// Searchable text of the scanned part.
    pub(super) texts: Vec<SearchText>,
    /// Usage in the scanned part, without entries that a fork copied.
    pub(super) usage: LogUsage,
    /// True if the scan started at the first byte: the file is new or was rewritten.
    pub(super) is_from_start: bool,
}

/// Scans a log from where `record` ends, or from the start if the log did more than grow.
pub(super) fn scan_log(path: &Path, record: Option<LogRecord>) -> io::Result<LogScan> {
    let mut file = files::open(path)?;
    let record = match record {
        Some(record) if record.problem.is_none() && record.is_beginning_of(&mut file)? => Some(record),
        _ => None,
    };
    let mut scan =
        LogScan { is_from_start: record.is_none(), record: record.unwrap_or_default(), ..LogScan::default() };
    file.seek(SeekFrom::Start(scan.record.progress.upto))?;
    let mut reader = BufReader::with_capacity(1 << 20, &mut file);
    let mut line = Vec::new();
    loop {
        let (count, closed) = next_line(&mut reader, &mut line)?;
        // An unclosed last line may still be incomplete; it counts after it is closed.
        if count == 0 || !scan.read_line(&line, count, closed) {
            break;
        }
    }
    (scan.record.progress.head, scan.record.progress.tail) = hash_ends(&mut file, scan.record.progress.upto)?;
    Ok(scan)
}

/// Hashes the first and the last bytes of the part with this length.
fn hash_ends(file: &mut File, length: u64) -> io::Result<(u64, u64)> {
    let count = length.min(COMPARED_BYTES);
    Ok((hash(file, 0, count)?, hash(file, length - count, count)?))
}

fn hash(file: &mut File, start: u64, count: u64) -> io::Result<u64> {
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(count).read_to_end(&mut bytes)?;
    Ok(fnv1a(&bytes))
}

/// Reads the working directory in a log's header.
pub(super) fn header_cwd(path: &Path) -> Option<String> {
    let mut line = Vec::new();
    next_line(&mut BufReader::with_capacity(4 << 10, files::open(path).ok()?), &mut line).ok()?;
    header(&line).ok().map(|header| header.cwd)
}

/// Reads the id in a log's header.
pub(super) fn header_id(path: &Path) -> Option<String> {
    let mut line = Vec::new();
    next_line(&mut BufReader::with_capacity(4 << 10, files::open(path).ok()?), &mut line).ok()?;
    header(&line).ok().map(|header| header.id.as_str().to_owned())
}

fn header(line: &[u8]) -> serde_json::Result<Header> {
    Header::parse(line)
}

/// Reads a line without its newline; returns the number of bytes consumed, and true if there was a newline. A
/// line that is too long is returned empty.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<(u64, bool)> {
    line.clear();
    let (mut count, mut is_too_long) = (0, false);
    loop {
        let buffer = match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            buffer => buffer?,
        };
        let end = memchr::memchr(b'\n', buffer);
        let part = &buffer[..end.unwrap_or(buffer.len())];
        is_too_long |= line.len() + part.len() > MAX_LINE;
        if is_too_long {
            line.clear();
        } else {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        count += used as u64;
        if end.is_some() || used == 0 {
            return Ok((count, end.is_some()));
        }
    }
}

impl LogRecord {
    /// Returns true if the file still begins with the scanned bytes.
    fn is_beginning_of(&self, file: &mut File) -> io::Result<bool> {
        let ReadProgress { upto, tail, head } = self.progress;
        let is_there = upto > 0 && file.metadata()?.len() >= upto;
        Ok(is_there && hash_ends(file, upto)? == (head, tail))
    }

    fn read_header(&mut self, line: &[u8]) {
        match header(line) {
            Ok(header) => {
                self.id = header.id.as_str().to_owned();
                self.cwd.clone_from(&header.cwd);
                self.header_cwd = header.cwd;
                self.parent_session = header.parent_session;
                self.created = UnixMs::from_iso(&header.timestamp).unwrap_or_default();
                self.last_activity = self.created;
            }
            Err(_) if line.is_empty() => self.problem = Some("the file is empty".to_owned()),
            Err(error) => self.problem = Some(format!("not a session header ({})", without_position(&error))),
        }
    }

    /// Adds an entry to the totals and the fields for lists.
    fn add_entry(&mut self, entry: &ExtractedEntry) {
        self.totals.entries += 1;
        self.totals.messages += usize::from(entry.is_message);
        self.last_activity = entry.timestamp.unwrap_or(self.last_activity);
        if let Some(usage) = &entry.usage {
            self.totals.tokens += usage.total();
            self.totals.cost += usage.cost.total;
        }
        if entry.model.is_some() {
            self.model.clone_from(&entry.model);
        }
        match &entry.fact {
            EntryFact::Prompt { typed, text } if self.first_prompt.is_none() && !text.trim().is_empty() => {
                let typed = typed.clone().or_else(|| typed_skill(text));
                let text = typed.as_deref().unwrap_or(text);
                self.first_prompt = Some(text.chars().take(MAX_PROMPT_CHARS).collect());
            }
            EntryFact::Name(name) => self.name.clone_from(name),
            EntryFact::Run(run) => {
                self.cwd = run.cwd.clone().unwrap_or_else(|| self.header_cwd.clone());
                self.remote = run.remote.clone().or_else(|| self.remote.take());
            }
            EntryFact::Prompt { .. } | EntryFact::Text(_) | EntryFact::None => {}
        }
    }

    /// Returns true if the last added entry was copied by a fork: then it is older than its log.
    fn is_copied(&self) -> bool {
        self.parent_session.is_some() && self.last_activity < self.created
    }
}

impl LogScan {
    /// Adds the usage of an entry that the record already contains.
    fn add_usage(&mut self, entry: &ExtractedEntry) {
        let Some(usage) = entry.usage.as_ref().filter(|usage| **usage != Usage::default()) else { return };
        if !self.record.is_copied() {
            let model = entry.usage_model.as_ref().or(self.record.model.as_ref());
            self.usage.add(self.record.last_activity, model.map_or("", String::as_str), usage);
        }
    }

    /// Adds the next line; returns false to stop the scan.
    fn read_line(&mut self, line: &[u8], count: u64, closed: bool) -> bool {
        let offset = self.record.progress.upto;
        if offset == 0 {
            self.record.read_header(line);
        } else if let Some(entry) =
            extract::extract_entry(line).or_else(|| closed.then(|| extract::extract_head(line))?)
        {
            let (position, timestamp) = (self.record.totals.entries, entry.timestamp.unwrap_or_default());
            self.record.add_entry(&entry);
            self.add_usage(&entry);
            let (id, length) = (entry.id, line.len());
            if let Some(text) = entry.fact.into_search_text() {
                self.texts.push(SearchText { entry: id, position, offset, length, timestamp, text });
            }
        } else if !closed {
            return false;
        }
        self.record.progress.upto += count;
        self.record.problem.is_none()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    const HEADER: &str =
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-11-21T03:16:58.249Z","cwd":"/a"}"#;

    fn prompt(text: &str) -> String {
        format!(r#"{{"type":"message","id":"{text}","message":{{"role":"user","content":"{text}"}}}}"#)
    }

    fn texts(scan: &LogScan) -> Vec<(&str, usize)> {
        scan.texts.iter().map(|text| (text.text.as_str(), text.position)).collect()
    }

    fn file(text: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    #[test]
    fn scan_log_appended_lines_are_read_alone() {
        let mut file = file(&format!("{HEADER}\n{}\n", prompt("one")));
        let first = scan_log(file.path(), None).unwrap();
        assert_eq!((texts(&first), first.is_from_start), (vec![("one", 0)], true));
        write!(file, "{}\n{}", prompt("two"), &prompt("torn")[..30]).unwrap();
        let second = scan_log(file.path(), Some(first.record)).unwrap();
        assert_eq!((texts(&second), second.is_from_start), (vec![("two", 1)], false));
        assert_eq!((second.record.totals.entries, second.record.first_prompt.as_deref()), (2, Some("one")));
        writeln!(file, "{}", &prompt("torn")[30..]).unwrap();
        let third = scan_log(file.path(), Some(second.record)).unwrap();
        assert_eq!((texts(&third), third.is_from_start), (vec![("torn", 2)], false));
        let line = &fs::read(file.path()).unwrap()[usize::try_from(third.texts[0].offset).unwrap()..];
        assert_eq!(&line[..third.texts[0].length], prompt("torn").as_bytes());
    }

    #[test]
    fn scan_log_unclosed_last_line_counts_once() {
        let mut file = file(&format!("{HEADER}\n{}", prompt("one")));
        let first = scan_log(file.path(), None).unwrap();
        assert_eq!(first.record.totals.entries, 1);
        write!(file, "\n{}\n", prompt("two")).unwrap();
        let second = scan_log(file.path(), Some(first.record)).unwrap();
        assert_eq!((texts(&second), second.is_from_start), (vec![("two", 1)], false));
    }

    #[test]
    fn scan_log_rewritten_file_is_read_from_start() {
        let file = file(&format!("{HEADER}\n{}\n", prompt("one")));
        let first = scan_log(file.path(), None).unwrap();
        fs::write(file.path(), format!("{HEADER}\n{}\n{}\n", prompt("uno"), prompt("dos"))).unwrap();
        let second = scan_log(file.path(), Some(first.record)).unwrap();
        assert_eq!((texts(&second), second.is_from_start), (vec![("uno", 0), ("dos", 1)], true));
    }

    #[test]
    fn scan_log_rewritten_start_is_read_from_start() {
        let more = prompt(&"x".repeat(9_000));
        let file = file(&format!("{HEADER}\n{}\n{more}\n", prompt("one")));
        let first = scan_log(file.path(), None).unwrap();
        let (uno, dos) = (prompt("uno"), prompt("dos"));
        fs::write(file.path(), format!("{HEADER}\n{uno}\n{more}\n{dos}\n")).unwrap();
        let second = scan_log(file.path(), Some(first.record)).unwrap();
        assert_eq!((second.is_from_start, second.record.first_prompt.as_deref()), (true, Some("uno")));
    }

    #[test]
    fn record_template_prompt_is_the_typed_text() {
        let expanded = r#"{"type":"message","id":"x","message":{"role":"user","content":"Ask me.","tillerTyped":"/ask me"}}"#;
        let scan = scan_log(file(&format!("{HEADER}\n{expanded}\n")).path(), None).unwrap();
        assert_eq!(scan.record.first_prompt.as_deref(), Some("/ask me"));
    }

    #[test]
    fn record_prompt_without_text_is_not_first() {
        let picture = r#"{"type":"message","message":{"role":"user","content":[{"type":"image"}]}}"#;
        let file = file(&format!("{HEADER}\n{picture}\n{}\n{}\n", prompt(" "), prompt("what is this?")));
        let record = scan_log(file.path(), None).unwrap().record;
        assert_eq!((record.first_prompt.as_deref(), record.totals.entries), (Some("what is this?"), 3));
    }

    #[test]
    fn record_skill_prompt_shows_typed_text() {
        let text =
            tiller_core::skill_message::skill_message("tidy", "/s/tidy/SKILL.md", "Body.", "the parser");
        let line = serde_json::json!({"type": "message", "message": {"role": "user", "content": text}});
        let record = scan_log(file(&format!("{HEADER}\n{line}\n")).path(), None).unwrap().record;
        assert_eq!(record.first_prompt.as_deref(), Some("/skill:tidy the parser"));
    }

    #[test]
    fn record_cwd_is_that_of_last_run() {
        let run = |data: &str| format!(r#"{{"type":"custom","customType":"tiller.run","data":{data}}}"#);
        let moved = run(r#"{"mode":"tui","cwd":"/b","remote":"git@host:me/x.git"}"#);
        let mut file = file(&format!("{HEADER}\n{moved}\n"));
        let first = scan_log(file.path(), None).unwrap().record;
        assert_eq!((first.cwd.as_str(), first.remote.as_deref()), ("/b", Some("git@host:me/x.git")));
        writeln!(file, "{}", run(r#"{"mode":"tui"}"#)).unwrap();
        let back = scan_log(file.path(), Some(first)).unwrap().record;
        assert_eq!((back.cwd.as_str(), back.remote.as_deref()), ("/a", Some("git@host:me/x.git")));
    }

    #[test]
    fn scan_log_bad_header_names_the_problem() {
        let torn = file("{\"type\":\"sess\nmore\n");
        let scan = scan_log(torn.path(), None).unwrap();
        assert!(scan.record.problem.unwrap().starts_with("not a session header"));
    }
}
