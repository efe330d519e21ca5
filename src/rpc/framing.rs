//! Splits input into lines, only at LF.

use std::io::{ErrorKind, Read};

use memchr::memchr;
use tokio::sync::mpsc;

/// Maximum length of a line in bytes, enough for a prompt with a few large images.
const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

/// Size of a read in bytes.
const CHUNK: usize = 64 * 1024;

/// Capacity for waiting lines. Small, because each may be long; the client blocks when it is full.
const MAX_QUEUED_LINES: usize = 4;

/// A line of input without its line feed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FramedLine {
    /// A line within the limit.
    Complete(Vec<u8>),
    /// A line that exceeded the limit and was skipped.
    TooLong,
}

impl FramedLine {
    /// Returns the error text for a line that is too long.
    pub(super) fn too_long() -> String {
        format!("the line is longer than {} MiB", MAX_LINE_BYTES / 1024 / 1024)
    }
}

/// Starts a reader thread, because a blocking read of stdin can't be canceled.
pub(super) fn read(input: impl Read + Send + 'static) -> mpsc::Receiver<FramedLine> {
    let (sender, lines) = mpsc::channel(MAX_QUEUED_LINES);
    std::thread::spawn(move || read_lines(input, &sender));
    lines
}

fn read_lines(mut input: impl Read, sender: &mpsc::Sender<FramedLine>) {
    let mut framer = LineSplitter::new(MAX_LINE_BYTES);
    let mut chunk = vec![0; CHUNK];
    loop {
        let length = match input.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => {
                tracing::warn!(%error, "stdin can't be read anymore");
                break;
            }
        };
        let mut rest = &chunk[..length];
        while let Some(line) = framer.next(&mut rest) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    }
    if let Some(line) = framer.end() {
        let _ = sender.blocking_send(line);
    }
}

/// Splits bytes into lines.
struct LineSplitter {
    max_bytes: usize,
    line: Vec<u8>,
    is_too_long: bool,
}

impl LineSplitter {
    fn new(max_bytes: usize) -> Self {
        Self { max_bytes, line: Vec::new(), is_too_long: false }
    }

    /// Consumes bytes of `rest` up to the end of a line; returns `None` if the line isn't complete.
    fn next(&mut self, rest: &mut &[u8]) -> Option<FramedLine> {
        let end = memchr(b'\n', rest);
        let (piece, tail) = match end {
            Some(end) => (&rest[..end], &rest[end + 1..]),
            None => (*rest, &rest[rest.len()..]),
        };
        *rest = tail;
        if self.line.len() + piece.len() > self.max_bytes {
            (self.line, self.is_too_long) = (Vec::new(), true);
        }
        if !self.is_too_long {
            self.line.extend_from_slice(piece);
        }
        end.map(|_| self.take())
    }

    /// Returns the last line, if it has no line feed.
    fn end(&mut self) -> Option<FramedLine> {
        (self.is_too_long || !self.line.is_empty()).then(|| self.take())
    }

    fn take(&mut self) -> FramedLine {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_too_long) {
            return FramedLine::TooLong;
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        FramedLine::Complete(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splits `text`, fed in pieces of `size` bytes, into lines of at most ten bytes.
    fn lines(text: &str, size: usize) -> Vec<FramedLine> {
        let mut framer = LineSplitter::new(10);
        let mut lines = Vec::new();
        for mut piece in text.as_bytes().chunks(size) {
            while !piece.is_empty() {
                lines.extend(framer.next(&mut piece));
            }
        }
        lines.extend(framer.end());
        lines
    }

    fn complete_line(text: &str) -> FramedLine {
        FramedLine::Complete(text.into())
    }

    #[test]
    fn framer_only_line_feed_ends_a_line() {
        let text = "a\r\nb\u{2028}c\rd\u{85}\n\n\r\nend";
        let expected = ["a", "b\u{2028}c\rd\u{85}", "", "", "end"].map(complete_line);
        for size in 1..=text.len() {
            assert_eq!(lines(text, size), expected, "pieces of {size}");
        }
    }

    #[test]
    fn framer_too_long_line_is_skipped() {
        let text = "before\n12345678901\n1234567890\nafter";
        let expected = [
            complete_line("before"),
            FramedLine::TooLong,
            complete_line("1234567890"),
            complete_line("after"),
        ];
        for size in 1..=text.len() {
            assert_eq!(lines(text, size), expected, "pieces of {size}");
        }
        assert_eq!(lines("and one without an end", 3), [FramedLine::TooLong]);
    }
}
