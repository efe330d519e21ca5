//! Lines of input: LF ends one, and nothing else does.

use std::io::{ErrorKind, Read};

use memchr::memchr;
use tokio::sync::mpsc;

/// Longest line: a prompt with a few large images.
const LONGEST: usize = 64 * 1024 * 1024;

/// Bytes that are read at once.
const CHUNK: usize = 64 * 1024;

/// Lines that may wait. Few, because each may be long; whoever writes more waits.
const WAITING: usize = 4;

/// A line of input, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FramedLine {
    /// One that can be looked at.
    Whole(Vec<u8>),
    /// One that was longer than is taken, and passed over.
    TooLong,
}

impl FramedLine {
    /// What is said of a line that was too long.
    pub(super) fn too_long() -> String {
        format!("the line is longer than {} MiB", LONGEST / 1024 / 1024)
    }
}

/// Reads lines on a thread of their own, for a read of stdin can't be called off.
pub(super) fn read(input: impl Read + Send + 'static) -> mpsc::Receiver<FramedLine> {
    let (sender, lines) = mpsc::channel(WAITING);
    std::thread::spawn(move || pass_on(input, &sender));
    lines
}

fn pass_on(mut input: impl Read, sender: &mpsc::Sender<FramedLine>) {
    let mut framer = Framer::new(LONGEST);
    let mut chunk = vec![0; CHUNK];
    loop {
        let length = match input.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => {
                tracing::warn!(%error, "stdin can't be read any more");
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

/// Cuts bytes into lines.
struct Framer {
    longest: usize,
    line: Vec<u8>,
    is_too_long: bool,
}

impl Framer {
    fn new(longest: usize) -> Self {
        Self { longest, line: Vec::new(), is_too_long: false }
    }

    /// Takes bytes off `rest` up to the end of a line; `None` when that hasn't come yet.
    fn next(&mut self, rest: &mut &[u8]) -> Option<FramedLine> {
        let end = memchr(b'\n', rest);
        let (piece, tail) = match end {
            Some(end) => (&rest[..end], &rest[end + 1..]),
            None => (*rest, &rest[rest.len()..]),
        };
        *rest = tail;
        if self.line.len() + piece.len() > self.longest {
            (self.line, self.is_too_long) = (Vec::new(), true);
        }
        if !self.is_too_long {
            self.line.extend_from_slice(piece);
        }
        end.map(|_| self.take())
    }

    /// The last line, if it has no end of its own.
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
        FramedLine::Whole(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of `text`, fed in pieces of `size` bytes, none longer than ten.
    fn lines(text: &str, size: usize) -> Vec<FramedLine> {
        let mut framer = Framer::new(10);
        let mut lines = Vec::new();
        for mut piece in text.as_bytes().chunks(size) {
            while !piece.is_empty() {
                lines.extend(framer.next(&mut piece));
            }
        }
        lines.extend(framer.end());
        lines
    }

    fn whole(text: &str) -> FramedLine {
        FramedLine::Whole(text.into())
    }

    #[test]
    fn only_a_line_feed_ends_a_line_wherever_the_bytes_are_cut() {
        let text = "a\r\nb\u{2028}c\rd\u{85}\n\n\r\nend";
        let expected = ["a", "b\u{2028}c\rd\u{85}", "", "", "end"].map(whole);
        for size in 1..=text.len() {
            assert_eq!(lines(text, size), expected, "pieces of {size}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_costs_only_itself() {
        let text = "before\n12345678901\n1234567890\nafter";
        let expected = [whole("before"), FramedLine::TooLong, whole("1234567890"), whole("after")];
        for size in 1..=text.len() {
            assert_eq!(lines(text, size), expected, "pieces of {size}");
        }
        assert_eq!(lines("and one without an end", 3), [FramedLine::TooLong]);
    }
}
