//! Iteration over the lines of a log, regardless of their length.
//!
//! Lines are borrowed from the read buffer: only an incomplete line at its end is moved. The buffer grows to
//! the longest line and no further. A line over [`MAX_LINE`] is an error; otherwise a file without newlines
//! would fill memory.

use std::io::{self, Read};
use std::ops::ControlFlow;

/// Bytes per read; small enough to stay in the CPU cache.
const CHUNK: usize = 256 << 10;

/// Maximum length of a line, in bytes. The longest lines that tiller writes hold a few images, about 20 MB.
const MAX_LINE: usize = 256 << 20;

/// One line of a log with its position.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogLine<'a> {
    /// The line without its newline.
    pub(super) bytes: &'a [u8],
    /// Counted from 1.
    pub(super) number: u64,
    /// Offset of its first byte in the file as it is on disk.
    pub(super) offset: u64,
    /// Offset for reading it again: in the file, or in the migrated copy in memory.
    pub(super) stored: u64,
    /// True if a newline ends it.
    pub(super) closed: bool,
}

/// Visits the lines of `source` until the end, or until the visitor breaks. The first byte of `source` has
/// the offset `offset`, and its first line the number `number`.
pub(super) fn visit(
    source: impl Read,
    offset: u64,
    number: u64,
    visit: &mut impl FnMut(&LogLine<'_>) -> ControlFlow<()>,
) -> io::Result<()> {
    visit_limited(source, MAX_LINE, offset, number, visit)
}

fn visit_limited(
    mut source: impl Read,
    max_line: usize,
    mut offset: u64,
    mut number: u64,
    visit: &mut impl FnMut(&LogLine<'_>) -> ControlFlow<()>,
) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    let mut filled = 0;
    // Length of the prefix that contains no newline.
    let mut searched = 0;
    loop {
        if filled == buffer.len() {
            if filled >= max_line {
                let problem = format!("line {number} (byte {offset}) is longer than {} MiB", max_line >> 20);
                return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
            }
            buffer.resize(buffer.len() * 2, 0);
        }
        let count = read(&mut source, &mut buffer[filled..])?;
        if count == 0 {
            break;
        }
        filled += count;
        let mut start = 0;
        while let Some(length) = memchr::memchr(b'\n', &buffer[start.max(searched)..filled]) {
            let end = start.max(searched) + length;
            let line = LogLine { bytes: &buffer[start..end], number, offset, stored: offset, closed: true };
            if visit(&line).is_break() {
                return Ok(());
            }
            offset += (end + 1 - start) as u64;
            number += 1;
            start = end + 1;
        }
        buffer.copy_within(start..filled, 0);
        filled -= start;
        searched = filled;
        if buffer.len() > CHUNK && filled < CHUNK {
            buffer.truncate(CHUNK);
            buffer.shrink_to_fit();
        }
    }
    if filled > 0 {
        let line = LogLine { bytes: &buffer[..filled], number, offset, stored: offset, closed: false };
        // It is the last line, so the visitor's result doesn't matter.
        let _ = visit(&line);
    }
    Ok(())
}

fn read(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match source.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that returns few bytes at a time.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(buffer.len());
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn lines(text: &[u8], drip: usize) -> Vec<(Vec<u8>, u64, u64, bool)> {
        let mut lines = Vec::new();
        visit(Drip(text, drip), 0, 1, &mut |line: &LogLine<'_>| {
            lines.push((line.bytes.to_vec(), line.number, line.offset, line.closed));
            ControlFlow::Continue(())
        })
        .unwrap();
        lines
    }

    #[test]
    fn visit_any_read_size_gives_whole_lines() {
        let expected = vec![
            (b"one".to_vec(), 1, 0, true),
            (b"".to_vec(), 2, 4, true),
            (b"three".to_vec(), 3, 5, true),
            (b"fo".to_vec(), 4, 11, false),
        ];
        for drip in 1..16 {
            assert_eq!(lines(b"one\n\nthree\nfo", drip), expected, "{drip} bytes at a time");
        }
        assert_eq!(lines(b"", 9), []);
    }

    #[test]
    fn visit_endless_line_is_error() {
        let endless = io::Read::chain(&b"one\n"[..], io::repeat(b'x'));
        let mut count = 0;
        let visited = visit_limited(endless, 4 << 20, 0, 1, &mut |_: &LogLine<'_>| {
            count += 1;
            ControlFlow::Continue(())
        });
        assert_eq!(visited.unwrap_err().to_string(), "line 2 (byte 4) is longer than 4 MiB");
        assert_eq!(count, 1);
    }

    #[test]
    fn visit_line_longer_than_buffer_is_whole() {
        let long = vec![b'x'; CHUNK * 3 + 17];
        let text = [b"a\n", &long[..], b"\nb\n"].concat();
        let found = lines(&text, usize::MAX);
        assert_eq!(found.len(), 3);
        assert_eq!(found[1], (long.clone(), 2, 2, true));
        assert_eq!(found[2], (b"b".to_vec(), 3, 3 + long.len() as u64, true));
    }
}
