//! An in-memory copy of a log that another process writes and sends line by line.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use super::error::SessionError;
use super::line_scan::LineHead;
use super::lines::LogLine;
use super::log::Log;
use super::reader::{Reader, SharedLog};

/// An in-memory copy of another process's log. It is dropped with its last reader.
#[derive(Debug)]
pub struct MirrorLog {
    shared: Arc<SharedLog>,
}

impl MirrorLog {
    /// Creates a copy with these lines: the header and the entries so far, without their newlines. The file
    /// at `path` isn't read.
    ///
    /// # Errors
    /// If the first line isn't a session header.
    pub fn new<L: AsRef<[u8]>>(
        lines: impl IntoIterator<Item = L>,
        path: Option<PathBuf>,
    ) -> Result<Self, SessionError> {
        let log = Log::in_memory_at(path);
        let mut bytes = Vec::new();
        for line in lines {
            bytes.extend_from_slice(line.as_ref());
            bytes.push(b'\n');
        }
        log.append(&bytes)?;
        Ok(Self { shared: Arc::new(SharedLog::load(log, |_| Vec::new())?) })
    }

    /// Returns a reader of the copy.
    #[must_use]
    pub fn reader(&self) -> Reader {
        Reader { shared: Arc::clone(&self.shared) }
    }

    /// Appends an entry's line, unless the copy already has that entry: an entry may arrive both in the
    /// initial lines and as an event.
    ///
    /// # Errors
    /// Never in practice: writing to memory can't fail.
    pub fn append(&self, line: &[u8]) -> Result<(), SessionError> {
        let mut index = self.shared.index.write().unwrap_or_else(PoisonError::into_inner);
        if LineHead::parse(line).is_ok_and(|head| index.position(&head.id).is_some()) {
            return Ok(());
        }
        let offset = self.shared.log.length()?;
        self.shared.log.append(&[line, b"\n"].concat())?;
        let number = index.lines() + 1;
        index.add_line(&LogLine { bytes: line, number, offset, stored: offset, closed: true }, |_| true);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EntryBody, Placement, SessionManager};
    use tiller_core::unit::UnixMs;

    #[test]
    fn mirror_has_the_entries_and_appends_each_once() {
        let manager = SessionManager::new(Placement::Memory, "/work".into());
        let mut writer = manager.create(UnixMs(1));
        let empty = MirrorLog::new(writer.reader().lines().unwrap(), None).unwrap();
        assert_eq!((empty.reader().id(), empty.reader().entry_count()), (writer.reader().id(), 0));

        let prompt = serde_json::from_str(r#"{"role": "user", "content": "Hello", "timestamp": 2}"#).unwrap();
        writer.append(EntryBody::message(Arc::new(prompt)), UnixMs(2)).unwrap();
        let mirror = MirrorLog::new(writer.reader().lines().unwrap(), None).unwrap();
        let reader = mirror.reader();
        let named = EntryBody::SessionInfo { name: Some("b".to_owned()) };
        for appended in writer.append(named, UnixMs(3)).unwrap() {
            mirror.append(appended.line.get().as_bytes()).unwrap();
            mirror.append(appended.line.get().as_bytes()).unwrap();
        }
        assert_eq!(reader.entries().unwrap(), writer.reader().entries().unwrap());
        assert_eq!((reader.name(), reader.entry_count()), (Some("b".to_owned()), 2));
        assert_eq!(reader.leaf(), writer.reader().leaf());
    }

    #[test]
    fn mirror_without_a_header_is_refused() {
        let refused = |lines: &[&str]| MirrorLog::new(lines, None).unwrap_err().to_string();
        assert!(refused(&["{}"]).contains("not a session header"), "{}", refused(&["{}"]));
        assert!(refused(&[]).contains("the file is empty"), "{}", refused(&[]));
    }
}
