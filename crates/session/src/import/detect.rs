//! Detection of a log's format from its content, and listing of logs below a directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::source::{self, SourceLog, text};
use crate::error::{SessionError, io_error};

/// Maximum number of lines to read.
const MAX_LINES: u64 = 200;

/// A program whose logs can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceFormat {
    /// Claude Code.
    Claude,
    /// Codex CLI.
    Codex,
    /// The pi coding agent.
    Pi,
}

impl SourceFormat {
    /// Its name on the command line and in the log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Pi => "pi",
        }
    }
}

/// Detects the format of a log; `None` for an empty file.
pub(super) fn detect(source: &SourceLog) -> Result<Option<SourceFormat>, SessionError> {
    let (mut format, mut lines) = (None, 0_u64);
    source.scan(|line| {
        lines += 1;
        format = line
            .bytes()
            .and_then(|bytes| source::parse(bytes).ok())
            .and_then(|(value, _)| detect_line(&value));
        format.is_none() && lines < MAX_LINES
    })?;
    match (format, lines) {
        (Some(origin), _) => Ok(Some(origin)),
        (None, 0) => Ok(None),
        (None, _) => Err(SessionError::Import {
            path: source.path.clone(),
            line: 1,
            problem: "not a Claude Code, Codex or pi log".into(),
        }),
    }
}

/// Detects the format from one line.
pub(super) fn detect_line(line: &Value) -> Option<SourceFormat> {
    let kind = text(line, "type")?;
    let has = |key: &str| line.get(key).is_some_and(|value| !value.is_null());
    match kind {
        "session" if has("id") && !has("payload") => Some(SourceFormat::Pi),
        "session_meta" | "response_item" | "event_msg" | "turn_context" | "compacted" if has("payload") => {
            Some(SourceFormat::Codex)
        }
        "user" | "assistant" | "system" | "attachment" | "progress" if has("uuid") || has("sessionId") => {
            Some(SourceFormat::Claude)
        }
        "summary" if has("leafUuid") => Some(SourceFormat::Claude),
        "file-history-snapshot" if has("messageId") => Some(SourceFormat::Claude),
        _ if text(line, "sessionId").is_some() => Some(SourceFormat::Claude),
        _ => None,
    }
}

/// Logs found below a directory.
#[derive(Debug, Default)]
pub struct FoundLogs {
    /// Every `.jsonl` file, sorted by path.
    pub logs: Vec<PathBuf>,
    /// Errors of directories that couldn't be listed completely.
    pub unlisted: Vec<SessionError>,
}

/// Finds `.jsonl` files below a directory. Links to directories are not followed; a directory that can't be
/// listed doesn't affect the others.
#[must_use]
pub fn find_logs(dir: &Path) -> FoundLogs {
    let (mut dirs, mut beneath) = (vec![dir.to_owned()], FoundLogs::default());
    while let Some(dir) = dirs.pop() {
        if let Err(error) = list(&dir, &mut dirs, &mut beneath.logs) {
            beneath.unlisted.push(io_error(&dir, "be listed")(error));
        }
    }
    beneath.logs.sort();
    beneath
}

fn list(dir: &Path, dirs: &mut Vec<PathBuf>, logs: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, entry.path());
        if kind.is_dir() {
            dirs.push(path);
        } else if path.extension().is_some_and(|extension| extension == "jsonl") && path.is_file() {
            logs.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn detect_line_knows_every_format() {
        let cases = [
            (json!({"type": "session", "version": 3, "id": "x", "cwd": "/"}), Some(SourceFormat::Pi)),
            (json!({"type": "session_meta", "payload": {"id": "x"}}), Some(SourceFormat::Codex)),
            (json!({"type": "event_msg", "payload": {"type": "task_started"}}), Some(SourceFormat::Codex)),
            (json!({"type": "user", "uuid": "u", "message": {}}), Some(SourceFormat::Claude)),
            (json!({"type": "queue-operation", "sessionId": "s"}), Some(SourceFormat::Claude)),
            (json!({"type": "summary", "summary": "S", "leafUuid": "u"}), Some(SourceFormat::Claude)),
            (json!({"type": "user", "text": "somebody else's"}), None),
            (json!({"type": "session_meta"}), None),
            (json!([1]), None),
        ];
        for (line, expected) in cases {
            assert_eq!(detect_line(&line), expected, "{line}");
        }
    }
}
