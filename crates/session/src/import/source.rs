//! Access to a foreign log: scans its lines, reads a line again by position, and parses JSON with repairs.
//!
//! The file is opened read-only. A line longer than any real one is skipped without being read into memory.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tiller_files as files;

use super::warning::ImportWarnings;
use crate::error::{SessionError, io_error};

/// Maximum length of a line, in bytes: enough for a few dozen large images in one message.
const MAX_LINE: usize = 256 << 20;

/// A foreign log, open for reading.
#[derive(Debug)]
pub(super) struct SourceLog {
    /// The canonical path, if that can be determined.
    pub(super) path: PathBuf,
    file: File,
}

/// Position of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineSpan {
    /// Counted from 1.
    pub(super) number: u64,
    offset: u64,
    length: usize,
}

#[cfg(test)]
impl LineSpan {
    /// Creates a span with only a line number.
    pub(super) fn at(number: u64) -> Self {
        Self { number, offset: 0, length: 0 }
    }
}

/// A line during a scan.
pub(super) struct SourceLine<'a> {
    pub(super) span: LineSpan,
    /// The line without its newline.
    bytes: &'a [u8],
    too_long: bool,
}

impl<'a> SourceLine<'a> {
    /// Returns the trimmed line; `None` if it is too long.
    pub(super) fn bytes(&self) -> Option<&'a [u8]> {
        (!self.too_long).then(|| self.bytes.trim_ascii())
    }
}

impl SourceLog {
    pub(super) fn open(path: &Path) -> Result<Self, SessionError> {
        let file = files::open(path).map_err(io_error(path, "be opened"))?;
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Ok(Self { path, file })
    }

    /// Visits every line that isn't blank until the visitor returns false.
    pub(super) fn scan(&self, mut visit: impl FnMut(&SourceLine<'_>) -> bool) -> Result<(), SessionError> {
        let reader = FileCursor { file: &self.file, at: 0 };
        scan_lines(&mut BufReader::with_capacity(1 << 18, reader), MAX_LINE, &mut visit)
            .map_err(io_error(&self.path, "be read"))
    }

    /// Visits every line with its JSON object; adds a warning for a line without one.
    pub(super) fn objects(
        &self,
        warnings: &mut ImportWarnings,
        mut visit: impl FnMut(LineSpan, Option<Value>, &mut ImportWarnings) -> Result<(), SessionError>,
    ) -> Result<(), SessionError> {
        let mut failed = Ok(());
        self.scan(|line| {
            failed = visit(line.span, parse_object(line, warnings), warnings);
            failed.is_ok()
        })?;
        failed
    }

    /// Reads a line again.
    pub(super) fn value(&self, span: LineSpan) -> Result<Value, SessionError> {
        let mut bytes = vec![0; span.length];
        self.file.read_exact_at(&mut bytes, span.offset).map_err(io_error(&self.path, "be read again"))?;
        // It was readable before; if another program has rewritten it in the meantime, it is ignored.
        Ok(parse(bytes.trim_ascii()).map_or(Value::Null, |(value, _)| value))
    }
}

/// Parses a line's object; adds a warning if there is none.
fn parse_object(line: &SourceLine<'_>, warnings: &mut ImportWarnings) -> Option<Value> {
    let number = line.span.number;
    let Some(bytes) = line.bytes() else {
        warnings.add(number, "skipped lines, too long to be read");
        return None;
    };
    match parse(bytes) {
        Ok((value @ Value::Object(_), repaired)) => {
            if repaired {
                warnings.add(
                    number,
                    "lines with invalid UTF-8 or unpaired surrogates, read with replacement characters",
                );
            }
            Some(value)
        }
        Ok(_) | Err(_) => {
            warnings.add(number, "skipped unreadable lines");
            None
        }
    }
}

/// Parses JSON. Invalid UTF-8 and lone surrogates become U+FFFD; the flag is true if there were any.
pub(super) fn parse(bytes: &[u8]) -> serde_json::Result<(Value, bool)> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match serde_json::from_slice(bytes) {
        Ok(value) => Ok((value, false)),
        Err(error) if error.is_eof() => Err(error),
        Err(_) => serde_json::from_str(&repair_escapes(bytes)).map(|value| (value, true)),
    }
}

/// Replaces invalid UTF-8 and lone surrogate escapes by U+FFFD.
fn repair_escapes(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut repaired = String::with_capacity(text.len());
    let mut rest: &str = &text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        repaired.push_str(before);
        let (replacement, length) = repair_escape(escape);
        repaired.push_str(&replacement);
        rest = &escape[length..];
    }
    repaired.push_str(rest);
    repaired
}

/// Repairs the escape at the start of `text`; returns the repaired text and the length of the original in
/// bytes.
fn repair_escape(text: &str) -> (Cow<'_, str>, usize) {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    match (unit(0), unit(6)) {
        (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (Cow::Borrowed(&text[..12]), 12),
        (Some(0xd800..=0xdfff), _) => (Cow::Borrowed("\\ufffd"), 6),
        _ => {
            // A backslash and the escaped character: `\\u` is not a Unicode escape.
            let length = text.chars().take(2).map(char::len_utf8).sum();
            (Cow::Borrowed(&text[..length]), length)
        }
    }
}

/// Returns the string under a key; `None` if the value has another type.
pub(super) fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}

/// Returns the array under a key; empty if the value has another type.
pub(super) fn items<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns true if the value under a key is `true`.
pub(super) fn flag(value: &Value, key: &str) -> bool {
    value.get(key) == Some(&Value::Bool(true))
}

/// Returns the count under a key; 0 if it is missing or has another type.
pub(super) fn count(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or(0)
}

fn scan_lines(
    reader: &mut impl BufRead,
    longest: usize,
    visit: &mut impl FnMut(&SourceLine<'_>) -> bool,
) -> io::Result<()> {
    let (mut buffer, mut offset, mut number) = (Vec::new(), 0_u64, 0_u64);
    loop {
        buffer.clear();
        let (length, count) = read_line(reader, longest, &mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        number += 1;
        let too_long = length > longest;
        let span = LineSpan { number, offset, length };
        let blank = !too_long && buffer.trim_ascii().is_empty();
        if !blank && !visit(&SourceLine { span, bytes: &buffer, too_long }) {
            return Ok(());
        }
        offset += count;
    }
}

/// Reads up to `longest` bytes of a line; returns the line's length without and with its newline.
fn read_line(reader: &mut impl BufRead, longest: usize, line: &mut Vec<u8>) -> io::Result<(usize, u64)> {
    let mut length = 0;
    loop {
        let chunk = match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            chunk => chunk?,
        };
        let newline = memchr::memchr(b'\n', chunk);
        let line_bytes = newline.unwrap_or(chunk.len());
        let copied_bytes = line_bytes.min(longest.saturating_sub(line.len()));
        line.extend_from_slice(&chunk[..copied_bytes]);
        length += line_bytes;
        let at_end = chunk.is_empty();
        reader.consume(line_bytes + usize::from(newline.is_some()));
        if newline.is_some() || at_end {
            return Ok((length, (length + usize::from(newline.is_some())) as u64));
        }
    }
}

/// A reader with its own position.
struct FileCursor<'a> {
    file: &'a File,
    at: u64,
}

impl io::Read for FileCursor<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_broken_characters_are_replaced() {
        let (value, repaired) = parse(br#"{"a":"\ud83d x \ud83e\udd80 \\ud83d \udd80"}"#).unwrap();
        assert_eq!((text(&value, "a"), repaired), (Some("\u{fffd} x \u{1f980} \\ud83d \u{fffd}"), true));
        let (value, repaired) = parse(b"{\"a\":\"caf\xe9\"}").unwrap();
        assert_eq!((text(&value, "a"), repaired), (Some("caf\u{fffd}"), true));
        assert!(!parse(br#"{"a":"\ud83e\udd80"}"#).unwrap().1);
        assert!(parse(br#"{"a":"\u00"#).is_err());
        assert!(parse("{\"a\":\"\\é".as_bytes()).is_err());
    }

    #[test]
    fn scan_lines_too_long_line_is_skipped() {
        let text = b"one\n\n1234567890\r\nlast";
        let mut lines = Vec::new();
        let mut reader = BufReader::with_capacity(3, &text[..]);
        scan_lines(&mut reader, 6, &mut |line| {
            lines.push((line.span.number, line.span.offset, line.bytes().map(<[u8]>::to_vec)));
            true
        })
        .unwrap();
        let expected = [(1, 0, Some(b"one".to_vec())), (3, 5, None), (4, 17, Some(b"last".to_vec()))];
        assert_eq!(lines, expected);
    }
}
