//! Session logs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};
use tempfile::TempDir;
use tiller_core::message::{Message, UserMessage};
use tiller_core::unit::UnixMs;
use tiller_session::context::{self, request_messages};
use tiller_session::entry::VERSION;
use tiller_session::tree::TreeNode;
use tiller_session::verify::verify;
use tiller_session::{EntryBody, Reader, SessionError, Writer};

/// 1 GiB: larger than any input.
const MAX_BYTES: u64 = 1 << 30;

/// Reads a session log and appends to it.
///
/// - Reading doesn't change the file. A log that can't be opened gives advice, and can't be written either.
/// - Every entry is in the tree, and is either readable or reported as damaged.
/// - The quick scan of a line's head gives the same result as parsing the whole line.
/// - A log without a finding in `verify` is read without one.
/// - Calls and results in the request messages of every path pair up.
/// - Appending keeps every byte of the log, and what was appended is read again.
///
/// # Panics
/// If a property doesn't hold.
pub fn session_log(data: &[u8]) {
    let dir = TempDir::new().unwrap();
    let path = write(&dir, "log.jsonl", data);
    let checked = verify(&path).expect("the file can be read");
    match Reader::open(&path) {
        Ok(reader) => {
            read_all(&reader, checked.findings.is_empty());
            assert_eq!(read(&path), data, "reading changed the file");
            let parsed = Reader::open(&write(&dir, "parsed.jsonl", &unscannable(data))).unwrap();
            assert_eq!(nodes(&parsed), nodes(&reader), "the quick scan differs from parsing");
            assert_eq!(parsed.usage(), reader.usage(), "the quick scan counts other tokens");
            append(&path, &reader);
        }
        Err(error) => {
            assert!(error.hint().is_some(), "no advice: {error}");
            assert!(Writer::open(&path).is_err(), "it can be written but not read");
            assert_eq!(read(&path), data, "reading changed the file");
        }
    }
}

fn read_all(reader: &Reader, is_clean: bool) {
    let (entries, damaged) = reader.entries().unwrap();
    assert_eq!(entries.len() + damaged.len(), reader.entry_count());
    if is_clean {
        assert_eq!((reader.findings(), damaged), (vec![], vec![]), "verify found nothing");
    }
    let tree = reader.tree();
    assert_eq!(tree.rows(reader.leaf().as_ref(), |_, _| true).len(), reader.entry_count());
    for node in tree.nodes() {
        let (projection, _) = reader.projection(&node.id).unwrap();
        let (branch, damaged) = reader.branch(&node.id).unwrap();
        if damaged.is_empty() {
            assert_eq!(projection, context::project(&branch), "to {}", node.id);
        }
        assert_paired(&request_messages(projection.messages.iter().map(|projected| &projected.message)));
    }
}

fn nodes(reader: &Reader) -> Vec<TreeNode> {
    reader.tree().nodes().to_vec()
}

/// The log with lines of the same content and length that the quick scan doesn't accept: `type` is their last key.
/// Lines that other keys or spellings could hide in stay as they are.
fn unscannable(data: &[u8]) -> Vec<u8> {
    let mut lines = data.split(|byte| *byte == b'\n');
    let header = lines.next().unwrap_or_default().to_vec();
    let lines = lines.map(|line| with_type_last(line).unwrap_or_else(|| line.to_vec()));
    std::iter::once(header).chain(lines).collect::<Vec<_>>().join(&b'\n')
}

fn with_type_last(line: &[u8]) -> Option<Vec<u8>> {
    let mut object: Map<String, Value> = serde_json::from_slice(line).ok()?;
    // Excludes duplicate keys, other number formats, escapes and blanks.
    if serde_json::to_vec(&object).ok()? != line {
        return None;
    }
    let kind = object.shift_remove("type")?;
    object.insert("type".into(), kind);
    serde_json::to_vec(&object).ok()
}

fn append(path: &Path, reader: &Reader) {
    let before = read(path);
    let mut writer = match Writer::open(path) {
        Ok(writer) => writer,
        Err(SessionError::Version { .. }) if reader.header().version > VERSION => return,
        Err(error) => panic!("it can be read but not written: {error}"),
    };
    let text = "appended";
    let message = Message::User(UserMessage::text(text, UnixMs(0)));
    let id = writer.append(EntryBody::message(Arc::new(message)), UnixMs(0)).unwrap().pop().unwrap().id;
    let log_path = writer.reader().path().unwrap().to_owned();
    drop(writer);
    let is_same = log_path == path;
    assert_eq!(is_same, reader.header().version == VERSION, "only older versions move to a new file");
    let after = read(path);
    assert!(if is_same { after.starts_with(&before) } else { after == before }, "bytes were lost");
    let reader = Reader::open(&log_path).unwrap();
    assert_eq!(reader.leaf().as_ref(), Some(&id));
    match reader.entry(&id).unwrap().body.as_message().map(AsRef::as_ref) {
        Some(Message::User(user)) => assert_eq!(user.content.joined_text(), text),
        other => panic!("appended a user message, read {other:?}"),
    }
}

/// Asserts that every call is followed by its result, in order, and that there are no other results.
pub(super) fn assert_paired(messages: &[Arc<Message>]) {
    let mut open = Vec::new();
    for message in messages {
        match &**message {
            Message::ToolResult(result) => {
                assert_eq!(open.first(), Some(&result.tool_call_id), "a result without its call");
                open.remove(0);
            }
            message => {
                assert!(open.is_empty(), "{open:?} have no result");
                if let Message::Assistant(answer) = message {
                    open.extend(answer.tool_calls().map(|call| call.id.clone()));
                }
            }
        }
    }
    assert!(open.is_empty(), "{open:?} have no result");
}

pub(super) fn write(dir: &TempDir, name: &str, data: &[u8]) -> PathBuf {
    let path = dir.path().join(name);
    std::fs::write(&path, data).unwrap();
    path
}

pub(super) fn read(path: &Path) -> Vec<u8> {
    tiller_files::read(path, MAX_BYTES).unwrap()
}
