//! Tests of the session log through its public API.
#![allow(clippy::unwrap_used, reason = "a helper of tests fails by panicking, as they do")]

mod catalog;
mod compatibility;
mod damage;
mod external_changes;
mod faults;
mod fixtures;
mod fork;
mod import;
mod lock;
mod mutated;
mod random;
mod session_dir;
mod tree;
mod verify;
mod writing;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use tiller_core::id::EntryId;
use tiller_core::message::{Content, Message, UserMessage};
use tiller_core::unit::UnixMs;
use tiller_session::context::{self, Projection};
use tiller_session::{Entry, EntryBody, Finding, Placement, Reader, SessionManager, Visibility, Writer};

/// 2026-11-21T03:16:58.249Z
const NOW: UnixMs = UnixMs(1_795_231_018_249);

/// The working directory of the sessions; it doesn't need to exist.
const CWD: &str = "/home/dev/project";

/// The header of a handwritten log.
const HEADER: &str = r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-11-21T03:16:58.249Z","cwd":"/home/dev/project"}"#;

/// A temporary session directory.
struct Sandbox {
    root: TempDir,
    manager: SessionManager,
}

impl Sandbox {
    fn new() -> Self {
        let root = TempDir::new().unwrap();
        let manager = SessionManager::new(Placement::ByDirectory(root.path().join("sessions")), CWD.into());
        Self { root, manager }
    }

    /// A manager of another working directory for the same directory.
    fn manager_of(&self, cwd: &str) -> SessionManager {
        SessionManager::new(Placement::ByDirectory(self.sessions()), cwd.into())
    }

    fn sessions(&self) -> PathBuf {
        self.root.path().join("sessions")
    }

    fn create(&self) -> Writer {
        self.manager.create(NOW)
    }

    /// Writes a log: the header and these lines.
    fn log(&self, lines: &[&str]) -> PathBuf {
        let lines: Vec<&str> = [HEADER].iter().chain(lines).copied().collect();
        self.file(&(lines.join("\n") + "\n"))
    }

    fn file(&self, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root.path().join("log.jsonl");
        fs::write(&path, text).unwrap();
        path
    }
}

/// The line of a user message.
fn line(id: &str, parent: Option<&str>, text: &str) -> String {
    let parent = serde_json::to_string(&parent).unwrap();
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-11-21T03:16:58.249Z","message":{{"role":"user","content":"{text}","timestamp":1}}}}"#
    )
}

fn user(text: &str) -> EntryBody {
    let message = UserMessage { content: Content::Text(text.into()), timestamp: NOW, typed: None };
    EntryBody::message(Arc::new(Message::User(message)))
}

/// Appends a user message and returns its id.
fn append_user(writer: &mut Writer, text: &str) -> EntryId {
    writer.append(user(text), NOW).unwrap().pop().unwrap().id
}

/// Text of a user message; empty for other messages.
fn text_of(message: &Message) -> String {
    match message {
        Message::User(user) => user.content.joined_text(),
        _ => String::new(),
    }
}

fn entries_of(reader: &Reader) -> Vec<Entry> {
    let (entries, damaged) = reader.entries().unwrap();
    assert_eq!(damaged, []);
    entries
}

fn projection(reader: &Reader) -> Projection {
    let path = reader.leaf().map(|leaf| reader.branch(&leaf).unwrap().0);
    context::project(&path.unwrap_or_default())
}

/// Texts of the user messages in the context.
fn texts(reader: &Reader) -> Vec<String> {
    projection(reader).messages.iter().map(|projected| text_of(&projected.message)).collect()
}

/// Lines and bytes of the findings.
fn positions(findings: &[Finding]) -> Vec<(u64, u64)> {
    findings.iter().map(|finding| (finding.line, finding.byte)).collect()
}

/// The only file in a directory, except lock notes.
fn only_file(dir: &Path) -> PathBuf {
    let mut entries: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.retain(|path| path.extension().is_none_or(|extension| extension != "lock"));
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries.remove(0)
}
