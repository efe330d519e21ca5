//! The last lines of a server's stderr, and the end of its process.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tiller_tools::process::{ExitStatus, PipedChild, ProcessError};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Number of lines that are kept.
const LINES: usize = 50;

/// Maximum length of a kept line, in bytes; the rest of a longer one is dropped.
const LINE_BYTES: usize = 500;

/// Size of the read buffer, in bytes.
const CHUNK: usize = 4 * 1024;

/// The last lines of a server's stderr, across its restarts. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct StderrTail {
    /// Locked only to push or copy, never across an await.
    lines: Arc<Mutex<VecDeque<String>>>,
}

impl StderrTail {
    /// Returns the lines, oldest first.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn push(&self, line: String) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    /// Reads stderr to its end, and returns a sentence about the end of the process.
    pub(crate) async fn follow(self, server: String, mut stderr: impl AsyncRead + Unpin) -> String {
        let (mut buffer, mut line) = (vec![0; CHUNK], Vec::new());
        let mut last = LastLines::default();
        while let Ok(count) = stderr.read(&mut buffer).await
            && count > 0
        {
            for byte in &buffer[..count] {
                match byte {
                    b'\n' => self.end_line(&server, &mut line, &mut last),
                    byte if line.len() < LINE_BYTES => line.push(*byte),
                    _ => {}
                }
            }
        }
        self.end_line(&server, &mut line, &mut last);
        let end = match PipedChild::end(&last.newest).map(|exit| exit.status) {
            Err(ProcessError::Lost) => return ProcessError::Lost.to_string(),
            Err(error) => error.to_string(),
            Ok(ExitStatus::Code(code)) => format!("it ended with exit code {code}"),
            Ok(ExitStatus::Signal(signal)) => format!("it was killed by signal {signal}"),
        };
        // The newest line is the supervisor's report.
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).pop_back();
        if last.before.is_empty() { end } else { format!("{end}; its last output: {}", last.before) }
    }

    fn end_line(&self, server: &str, line: &mut Vec<u8>, last: &mut LastLines) {
        let text = String::from_utf8_lossy(line.trim_ascii_end()).into_owned();
        line.clear();
        if !text.is_empty() {
            tracing::info!(server, "{text}");
            self.push(text.clone());
            last.before = std::mem::replace(&mut last.newest, text);
        }
    }
}

/// The two newest lines of one process.
#[derive(Debug, Default)]
struct LastLines {
    newest: String,
    before: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn stderr_tail_keeps_the_last_lines_without_the_report() {
        let noise: String = (0..60).map(|number| format!("line {number}\r\n\n")).collect();
        let tail = StderrTail::default();
        let report = "\ncode 3 leftovers 0\n";
        let text = format!("{noise}{}{report}", "x".repeat(LINE_BYTES + 9));
        let end = tail.clone().follow("s".into(), text.as_bytes()).await;
        let lines = tail.lines();
        assert_eq!((lines.len(), lines[0].as_str()), (LINES - 1, "line 12"));
        assert_eq!(lines[LINES - 2], "x".repeat(LINE_BYTES));
        assert!(end.starts_with("it ended with exit code 3; its last output: xxx"), "{end}");
    }
}
